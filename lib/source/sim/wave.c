/* SPDX-License-Identifier: MIT */
/* Rates over time and their integrals, in closed form: no step size, no drift. */
#include "source/sim/sim.h"
#include <math.h>

#define NS 1e9L /* nanoseconds in a second */

/* Counts during the first `t` ns of a period. */
static long double part(const struct unc_wave *w, uint64_t t)
{
	const long double pi = 3.14159265358979323846264338327950288L;
	long double period = (long double)w->period_ns, at = (long double)t, a = w->a, b = w->b;
	long double high;

	switch (w->kind) {
	case UNC_WAVE_SINE:
		return (a * at + b * period * (1 - cosl(2 * pi * at / period)) / (2 * pi)) / NS;
	case UNC_WAVE_BURST:
		high = floorl(w->duty * period);
		return (at < high ? b * at : b * high + a * (at - high)) / NS;
	case UNC_WAVE_RAMP:
		return (a * at + (b - a) * at * at / (2 * period)) / NS;
	default:
		return a * at / NS;
	}
}

/* Counts from the beginning of the wave. The whole periods are multiplied, not added up. */
static long double whole(const struct unc_wave *w, uint64_t t)
{
	uint64_t periods;

	if (w->period_ns == 0)
		return part(w, t);
	periods = t / w->period_ns;
	return (long double)periods * part(w, w->period_ns) + part(w, t % w->period_ns);
}

long double unc_wave_integral(const struct unc_wave *w, uint64_t phase_ns, uint64_t t_ns)
{
	if (w->kind == UNC_WAVE_CONSTANT)
		return part(w, t_ns);
	return whole(w, phase_ns + t_ns) - whole(w, phase_ns);
}

/* FNV-1a over the bytes, then the finaliser of splitmix64 to spread them over all bits. */
double unc_sim_chance(uint64_t seed, const char *name, int cpu)
{
	uint64_t h = UINT64_C(0xcbf29ce484222325) ^ seed;

	for (const char *c = name; *c; c++)
		h = (h ^ (unsigned char)*c) * UINT64_C(0x100000001b3);
	h += UINT64_C(0x9e3779b97f4a7c15) * ((uint64_t)(unsigned)cpu + 1);
	h = (h ^ (h >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	h = (h ^ (h >> 27)) * UINT64_C(0x94d049bb133111eb);
	h ^= h >> 31;
	return (double)(h >> 11) * 0x1p-53;
}

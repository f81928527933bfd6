/* SPDX-License-Identifier: MIT */
/* The arithmetic of simulations. */
#ifndef UNC_SIM_H
#define UNC_SIM_H

#include <stdint.h>

enum unc_wave_kind {
	UNC_WAVE_CONSTANT, /* a */
	UNC_WAVE_SINE,     /* mean a, amplitude b */
	UNC_WAVE_BURST,    /* b for the first `duty` of each period, else a */
	UNC_WAVE_RAMP,     /* from a to b during each period, then a again */
};

/* A rate over time, in counts per second; never negative. */
struct unc_wave {
	enum unc_wave_kind kind;
	double a, b;
	double duty;
	uint64_t period_ns; /* not 0 unless constant */
};

/* Counts from time 0 to `t_ns`, exact but for rounding; `phase_ns` is how far into the wave time 0
 * is. Pure. */
long double unc_wave_integral(const struct unc_wave *w, uint64_t phase_ns, uint64_t t_ns);

/* 0 <= result < 1, the same on every machine. */
double unc_sim_chance(uint64_t seed, const char *name, int cpu);

/* "20ms": a positive number with one of ns us ms s min h. -EINVAL. */
int unc_sim_duration(const char *text, uint64_t *ns);

#endif

/* SPDX-License-Identifier: MIT */
/* Counters that are calculated: a simulation's rates, integrated over time. */
#define _GNU_SOURCE
#include "source/sim/sim.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/yaml-file.h"
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define NS 1e9L /* nanoseconds in a second */

struct sim_counter {
	const struct unc_sim_rate *rate; /* NULL: not open */
	uint64_t phase_ns;
	long double factor; /* of this instance */
	uint64_t counted;   /* at the latest reading, before start and width */
};

struct sim_source {
	struct unc_source base;
	const struct unc_sim *sim;
	struct sim_counter *counters;
	size_t count;
	uint64_t readings;
	bool enabled;
	uint64_t since_ns;   /* when it was enabled last */
	uint64_t stopped_ns; /* when it was disabled last */
	uint64_t elapsed_ns; /* enabled in all, before since_ns */

	/* The rates' events as one PMU encodes them: while counters of that PMU are opened. */
	const struct uncore_pmu *pmu;
	struct encoded {
		bool usable;
		struct unc_config config;
	} * encoded;
};

static struct sim_source *sim_of(struct unc_source *s)
{
	return (struct sim_source *)s; /* base is its first member */
}

/* With a step it is the time of the reading to come. */
static uint64_t sim_now(const struct sim_source *s)
{
	return s->sim->step_ns ? s->readings * s->sim->step_ns : unc_now_ns();
}

/* ---- rates over time: their integrals, in closed form: no step size, no drift ---------------- */

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

/* ---- opening ------------------------------------------------------------------------------- */

/* A rate whose event this PMU does not have is not for it: a pattern may span different PMUs. */
static int encode_rates(struct sim_source *s, const struct uncore_pmu *pmu, struct unc_error *e)
{
	for (size_t i = 0; s->pmu != pmu && i < s->sim->count; i++) {
		const struct unc_sim_rate *rate = &s->sim->rates[i];
		struct unc_encoding encoding = {.config = {.word = {0}}};
		struct unc_error why;
		int ret = -ENOENT;

		if (unc_pmu_matches(pmu, rate->pmu))
			ret = unc_pmu_encode(pmu, rate->event, &encoding, &why);
		if (ret == -ENOMEM)
			return unc_nomem(e);
		s->encoded[i] = (struct encoded){ret == 0, encoding.config};
	}
	s->pmu = pmu;
	return 0;
}

/* Why a counter cannot be opened: 0 or the errno. */
static int refusal(const struct sim_source *s, const struct unc_counter *plan,
		   const struct unc_sim_rate *rate, struct unc_error *why)
{
	const char *pmu = plan->pmu->name, *file = s->sim->file->name;

	if (!rate)
		return unc_fail(why, ENODEV,
				"the simulation %s has no rate for %s/%s/: add one to %s, or count "
				"something else",
				s->sim->name, pmu, plan->event, file);
	if (rate->refuse != 0)
		return unc_fail(
			why, rate->refuse,
			"%s/%s/ on CPU %d: the simulation refuses it with %s, as %s says in "
			"line %d",
			pmu, plan->event, plan->cpu, unc_errno_name(rate->refuse), file,
			rate->line);
	if (plan->snapshot)
		return unc_fail(why, EOPNOTSUPP,
				"%s/%s/ is a state and not a count, which a simulation cannot play",
				pmu, plan->event);
	return 0;
}

static int open_counter(struct sim_source *s, size_t i, struct unc_counter *plan,
			struct unc_error *e)
{
	struct sim_counter *c = &s->counters[i];
	const struct unc_sim_rate *rate = NULL;
	struct unc_error why = {""};
	uint64_t seed = s->sim->seed;
	int ret = encode_rates(s, plan->pmu, e);
	long double chance;
	const char *by;
	double phase;

	if (ret < 0)
		return ret;
	for (size_t k = 0; !rate && k < s->sim->count; k++)
		if (s->encoded[k].usable &&
		    memcmp(&s->encoded[k].config, &plan->config, sizeof(plan->config)) == 0)
			rate = &s->sim->rates[k];
	plan->error = refusal(s, plan, rate, &why);
	if (!rate || plan->error < 0) {
		plan->why = strdup(why.text);
		return plan->why ? 0 : unc_nomem(e);
	}
	plan->width = rate->width;
	c->rate = rate;
	if (rate->phase_kind != UNC_PHASE_FIXED) {
		by = rate->phase_kind == UNC_PHASE_NAMED ? rate->phase_name : plan->pmu->name;
		phase = unc_sim_chance(seed, by, plan->cpu);
	} else {
		phase = rate->phase;
	}
	c->phase_ns = (uint64_t)((long double)phase * (long double)rate->wave.period_ns);
	/* Another seed, or the instances that are ahead would be the busy ones. */
	chance = (long double)unc_sim_chance(~seed, plan->pmu->name, plan->cpu);
	c->factor = 1 + (long double)rate->spread * (2 * chance - 1);
	return 0;
}

static int sim_open(struct unc_source *source, struct unc_counter *counters, size_t count,
		    struct unc_names *notes, struct unc_error *e)
{
	struct sim_source *s = sim_of(source);
	bool opened = false;
	int ret;

	(void)notes;
	s->count = count;
	s->counters = calloc(count + 1, sizeof(*s->counters));
	s->encoded = calloc(s->sim->count + 1, sizeof(*s->encoded));
	if (!s->counters || !s->encoded)
		return unc_nomem(e);
	for (size_t i = 0; i < count; i++) {
		ret = open_counter(s, i, &counters[i], e);
		if (ret < 0)
			return ret;
		/* The kernel refuses these to the whole plan, so a simulation does. */
		ret = counters[i].error;
		if (ret == -EMFILE || ret == -ENFILE || ret == -ENOMEM ||
		    (!opened && (ret == -EACCES || ret == -EPERM)))
			return unc_fail(e, -ret, "%s", counters[i].why);
		opened = opened || ret == 0;
	}
	if (!opened && count != 0)
		return unc_fail(e, -counters[0].error, "%s", counters[0].why);
	return 0;
}

/* ---- counting ------------------------------------------------------------------------------ */

static int sim_enable(struct unc_source *source, struct unc_error *e)
{
	struct sim_source *s = sim_of(source);

	(void)e;
	if (s->enabled)
		return 0;
	s->enabled = true;
	s->since_ns = sim_now(s);
	if (s->sim->step_ns == 0 || s->readings == 0)
		return 0;
	/* With a step, counting starts at the reading before and stops at the one after: to
	 * read, start, and read again counts for one step. */
	s->since_ns -= s->sim->step_ns;
	if (s->since_ns < s->stopped_ns)
		s->since_ns = s->stopped_ns;
	return 0;
}

static int sim_disable(struct unc_source *source, struct unc_error *e)
{
	struct sim_source *s = sim_of(source);

	(void)e;
	if (!s->enabled)
		return 0;
	s->enabled = false;
	s->stopped_ns = sim_now(s);
	s->elapsed_ns += s->stopped_ns - s->since_ns;
	return 0;
}

static struct unc_reading read_counter(struct sim_counter *c, uint64_t elapsed_ns)
{
	const struct unc_sim_rate *r = c->rate;
	long double counted;
	uint64_t whole;

	if (!r)
		return (struct unc_reading){.lost = true};
	counted = (long double)r->running * c->factor *
		  unc_wave_integral(&r->wave, c->phase_ns, elapsed_ns);
	/* Rounding may make a wave step back by one where its rate is all but zero. */
	whole = (uint64_t)fmodl(floorl(fmaxl(counted, 0)), 0x1p64L);
	if ((int64_t)(whole - c->counted) > 0)
		c->counted = whole;
	return (struct unc_reading){
		.raw = (r->start + c->counted) & (UINT64_MAX >> (64 - r->width)),
		.enabled_ns = elapsed_ns,
		.running_ns = (uint64_t)((long double)r->running * (long double)elapsed_ns),
	};
}

static int sim_read(struct unc_source *source, struct unc_reading *into, uint64_t *now_ns,
		    struct unc_error *e)
{
	struct sim_source *s = sim_of(source);
	uint64_t now = sim_now(s);
	uint64_t elapsed = s->elapsed_ns + (s->enabled ? now - s->since_ns : 0);

	(void)e;
	for (size_t i = 0; i < s->count; i++)
		into[i] = read_counter(&s->counters[i], elapsed);
	s->readings++;
	*now_ns = now;
	return 0;
}

static void sim_close(struct unc_source *source)
{
	struct sim_source *s = sim_of(source);

	if (!source)
		return;
	free(s->counters);
	free(s->encoded);
	free(s);
}

static const struct unc_source_ops sim_ops = {
	.open = sim_open,
	.enable = sim_enable,
	.disable = sim_disable,
	.read = sim_read,
	.close = sim_close,
};

int unc_source_sim_new(struct unc_source **out, const struct unc_sim *sim)
{
	struct sim_source *s = calloc(1, sizeof(*s));

	if (!s)
		return -ENOMEM;
	s->base.ops = &sim_ops;
	s->base.simulated_time = sim->step_ns;
	s->sim = sim;
	*out = &s->base;
	return 0;
}

/* SPDX-License-Identifier: MIT */
/* A parsed simulation: which counter moves how fast. */
#ifndef UNC_SIM_H
#define UNC_SIM_H

#include "source/source.h"

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

enum unc_phase_kind {
	UNC_PHASE_PMU,   /* the same for all counters of one PMU and CPU */
	UNC_PHASE_NAMED, /* the same for all with that name and CPU */
	UNC_PHASE_FIXED,
};

/* One entry of `rates`. */
struct unc_sim_rate {
	const char *pmu, *event; /* of the file */
	struct unc_wave wave;
	double spread;
	enum unc_phase_kind phase_kind;
	const char *phase_name;
	double phase; /* share of the period */
	double running;
	uint64_t start;
	unsigned width;
	int refuse; /* an errno, 0: none */
	int line;   /* for sentences */
};

struct unc_yaml_file;

struct unc_sim {
	struct unc_yaml_file *file;
	const char *name, *machine;
	uint64_t seed;
	uint64_t step_ns; /* 0: by the clock */
	struct unc_sim_rate *rates;
	size_t count;
};

/* Fills everything of `sim` but step_ns from a file's text; `sim` takes the file over, also on
 * failure. -EBADMSG, -ENOMEM. */
int unc_sim_parse(struct unc_sim *sim, struct unc_yaml_file *file, struct unc_error *e);
/* Every rate must name an event of the machine. -EBADMSG with file:line:col. */
int unc_sim_check(const struct unc_sim *sim, const struct unc_root *root, struct unc_error *e);

/* "20ms": a positive number with one of ns us ms s min h. -EINVAL. */
int unc_sim_duration(const char *text, uint64_t *ns);

#endif

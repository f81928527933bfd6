/* SPDX-License-Identifier: MIT */
/* Lines: what a monitor reports. Each becomes one row of every sample. */
#ifndef UNC_LINES_H
#define UNC_LINES_H

#include "catalogue/catalogue.h"
#include "count/delta.h"
#include "count/plan.h"
#include "uncore.h"

/* One event of a line: the counters of all places that the line sums. Without boxes the i-th
 * counters of all events of a line are at one place. */
struct unc_line_event {
	const char *name; /* for sentences */
	size_t *counters; /* indices in the plan */
	size_t count;
	double scale; /* the kernel's .scale, where the data file asks for it; else 1 */
	bool always;  /* no movement over a long window means a stuck counter */
	bool shared;  /* one counter for all places of a box */
};

struct unc_line {
	const char *name, *family, *unit;  /* family NULL: an event */
	const struct unc_formula *formula; /* NULL: an event, whose value is its count */
	int socket, cpu;                   /* -1: summed */
	const struct uncore_pmu *pmu;      /* NULL: summed */
	const struct uncore_device *port;  /* NULL: of several places, or of none */
	const char *role, *filter;         /* NULL: not told; none */
	double ceiling;                    /* NaN: not known */
	double limit;         /* above the ceiling for links that go slower when idle; else NaN */
	double memory_peak;   /* for the formula; NaN: not known */
	const char *peak_why; /* NULL, or why the machine's is not */
	int absent;           /* a socket that should be in the sum and has no PMU; -1: none */
	bool snapshot;
	const struct unc_histogram *histogram; /* the value is the bin of a percentile; or NULL */
	unsigned per_mille;
	size_t left_out;      /* PMUs that should be in the sum and could not be planned */
	const char *left_why; /* of the first of them */
	char *lacks;          /* root ports that should be in it and are not, and why; NULL */
	struct unc_line_event *events;
	size_t event_count;
	/* A box is the places of one PMU and CPU: boxes[b] is the first of the b-th, and
	 * boxes[box_count] the end. NULL: no event is shared, and each place is a box of its own. */
	size_t *boxes;
	size_t box_count;
};

/* What happened between two sets of readings, as far as rows need it. */
struct unc_window {
	const struct unc_counter *counters;
	const struct unc_delta *deltas;
	uint64_t length_ns; /* by the clock */
};

/* Bytes that the reason of one row may take; a longer one is cut. */
#define UNC_REASON_ROOM 512

struct unc_arena;

/* Fills the row. Reasons are written into `reasons`. */
void unc_line_evaluate(const struct unc_line *line, const struct unc_window *window,
		       struct unc_arena *reasons, struct uncore_row *row);

/* Strings that live as long as a sample's rows; reused for the next ones. */
struct unc_arena {
	char *data;
	size_t len, room;
};

#endif

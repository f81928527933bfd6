/* SPDX-License-Identifier: MIT */
/* The state of a monitor: the requests (queries), the counters (plan), the output (rows). */
#ifndef UNC_MONITOR_H
#define UNC_MONITOR_H

#include "count/clocks.h"
#include "count/distribution.h"
#include "count/rows.h"
#include "object.h"

enum unc_monitor_state {
	UNC_MONITOR_NEW,          /* queries can be added */
	UNC_MONITOR_PLANNED,      /* no more queries can be added */
	UNC_MONITOR_OPEN,         /* counters are open, stopped */
	UNC_MONITOR_RUNNING,      /* `previous` is the beginning of the next interval */
	UNC_MONITOR_STOPPED,      /* its end could not be read: the next reading is its end */
	UNC_MONITOR_STOPPED_READ, /* `now` is its end */
	UNC_MONITOR_ENDED,        /* its end has been reported */
};

/* When a reading was taken. */
struct unc_moment {
	uint64_t ns;      /* CLOCK_MONOTONIC, or simulated */
	uint64_t wall_ns; /* CLOCK_REALTIME, or simulated */
};

struct uncore_monitor {
	struct uncore *machine;
	enum unc_monitor_state state;
	enum uncore_level level; /* how targets are split */
	unsigned levels;         /* further ones, a bit for each; for queries added from now on */
	bool extra;              /* these also have rows for a picture of the machine */
	bool by_port;            /* and only these, with rows of root ports */
	struct unc_filters filters;
	struct unc_query *queries;
	size_t query_count;
	struct unc_request_set *sets;
	size_t set_count;
	struct unc_names strings; /* that these point to, each once */
	struct unc_names notes;

	bool in_rounds;
	bool cheap;          /* devices are counted in the way that costs least */
	bool opened;         /* some counter, in this round or an earlier one */
	size_t round;        /* the current one, */
	size_t first, count; /* and its counters */
	struct unc_plan plan;
	struct unc_clocks clocks;
	struct unc_rows rows;

	/* The sources of the current round's counters, each with adjacent ones; 0: not open. */
	struct unc_part {
		struct unc_source *source;
		size_t first, count;
	} parts[UNC_SOURCE_KINDS];
	size_t part_count;
	struct uncore_reading *previous, *now; /* per counter */
	struct unc_delta *latest;              /* per counter: between the two; may be `interval` */
	struct unc_delta *interval, *total;    /* per counter: of the interval, of all of them */
	struct unc_past *past;                 /* per counter: what it did before */
	struct unc_delta *earlier;             /* totals of the rounds before; NULL: none */
	bool *marks;                           /* per counter: it is to be restarted */
	struct unc_moment begin, previous_at, now_at; /* of the start and of these readings */
	struct unc_moment interval_at;                /* when the interval began */
	size_t interval_count;
	bool interval_ended; /* its distributions are cleared at the next reading */

	double short_share;                           /* 0: no short samples */
	struct unc_distribution *distributions;       /* per row: of the interval; NULL: none */
	struct unc_distribution *distribution_totals; /* of all intervals */
	double *short_values;                         /* of the latest short sample, */
	size_t short_count;                           /* so many rows are shown in it; */
	uint64_t short_begin_ns;                      /* it ends with the latest reading */
};

#endif

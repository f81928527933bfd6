/* SPDX-License-Identifier: MIT */
/* A monitor's insides: what was asked (queries), what is counted (plan), what is reported (lines). */
#ifndef UNC_MONITOR_H
#define UNC_MONITOR_H

#include "count/lines.h"
#include "count/query.h"
#include "machine/event.h"
#include "object.h"

#define UNC_FILTER_CHOICES 16 /* of one kind, at once */
#define UNC_FILTER_ROOM 128   /* for one word of the user's */

/* A root port that the user named. */
struct unc_port_choice {
	const struct uncore_device *device; /* NULL: by the numbers in names of PMUs */
	uint64_t socket, rc, index;
};

struct unc_range {
	uint64_t base, mask; /* as struct unc_filter's {base} and {mask} */
};

/* What restricts the metrics added from now on. */
struct unc_filters {
	char *value[UNC_FILTERS]; /* as the user wrote it; NULL: none */
	uint64_t gpus;            /* bit n: GPU n */
	const struct uncore_device *device;
	struct unc_port_choice ports[UNC_FILTER_CHOICES];
	size_t port_count;
	struct unc_range ranges[UNC_FILTER_CHOICES];
	size_t range_count;
};

/* One way to restrict the events of a PMU on a CPU: it is a place of its own. */
struct unc_cut {
	const struct uncore_device *port; /* that it covers; NULL: several, or not known */
	char *terms;                      /* "src_rp_mask=0x1"; "": none */
};

struct unc_cuts {
	struct unc_cut *items;
	size_t count;
};

enum unc_monitor_state {
	UNC_MONITOR_NEW,          /* queries can be added */
	UNC_MONITOR_PLANNED,      /* as it was asked for, for good */
	UNC_MONITOR_OPEN,         /* counters are there, stopped */
	UNC_MONITOR_RUNNING,      /* `previous` is the beginning of the next interval */
	UNC_MONITOR_STOPPED,      /* its end could not be read: the next reading is its end */
	UNC_MONITOR_STOPPED_READ, /* `now` is its end */
	UNC_MONITOR_ENDED,        /* its end has been reported */
};

struct uncore_monitor {
	struct uncore *machine;
	enum unc_monitor_state state;
	enum uncore_level level;
	struct unc_filters filters;
	struct unc_query *queries;
	size_t query_count;
	struct unc_request_set *sets;
	size_t set_count, set_room;
	struct unc_names strings; /* that these point to, each once */
	struct unc_names notes;

	struct unc_plan plan;
	struct unc_line *lines;
	size_t line_count;

	struct unc_source *source;              /* NULL: not open */
	struct unc_reading *previous, *now;     /* per counter */
	struct unc_delta *interval, *total;     /* per counter: of the latest interval, of all */
	uint64_t begin_ns, previous_ns, now_ns; /* of the start and of these readings */
	size_t interval_count;
};

/* "from=cpu to=memory", or NULL without filters; the same pointer for the same text. -ENOMEM. */
int unc_filters_text(struct uncore_monitor *m, const char **out);
void unc_filters_finish(struct unc_filters *f);

/* How the filters and the level restrict the metric's events on this PMU and CPU: none at all when
 * it counts nothing of what is asked. -ENODEV with a sentence: it cannot be restricted so. */
int unc_monitor_cuts(struct uncore_monitor *m, const struct uncore_metric *metric,
		     const struct uncore_pmu *pmu, int cpu, struct unc_cuts *out,
		     struct unc_error *why);
void unc_cuts_finish(struct unc_cuts *c);
/* The root ports that the user names and this PMU counts: bit n for the n-th. */
unsigned unc_monitor_named(struct uncore_monitor *m, const struct uncore_pmu *pmu);

/* What became, in one metric, of the root ports that the user named. */
struct unc_named {
	unsigned counted;                    /* bit n: the n-th of them */
	const char *why[UNC_FILTER_CHOICES]; /* a PMU has it and cannot count it so; NULL */
};

/* The PMU counts its part of them, or (`refused`, else NULL) cannot. -ENOMEM. */
int unc_named_add(struct unc_named *named, struct uncore_monitor *m, const struct uncore_pmu *pmu,
		  const struct unc_error *refused);

/* Adds the root ports and sockets that belong to the query and are not counted. -ENOMEM. */
int unc_query_find_gaps(struct uncore_monitor *m, struct unc_query *q,
			const struct unc_named *named);

/* Makes plan and lines of all queries, once. */
int unc_monitor_plan(struct uncore_monitor *m);

/* Lines of all queries at the monitor's level, once the plan has served the requests. */
int unc_monitor_lines(struct uncore_monitor *m);
void unc_lines_free(struct unc_line *lines, size_t count);

#endif

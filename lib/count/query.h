/* SPDX-License-Identifier: MIT */
/* What was asked for: queries, where each of them counts, and the events requested for that. */
#ifndef UNC_QUERY_H
#define UNC_QUERY_H

#include "catalogue/catalogue.h"
#include "count/plan.h"

struct uncore_monitor;

/* Where a query counts: a PMU on one of its CPUs, or the part of it that a filter or a port selects. */
struct unc_target {
	const struct uncore_pmu *pmu;
	int cpu;
	const struct uncore_device *port; /* the only one in it; NULL: several, or not known */
	const char *terms;                /* that are laid over those of each event; "": none */
	size_t set, first; /* its requests: number of the set, and of the first event's in it */
};

/* What belongs to a row and is not counted, and why: the only form of it, from a query to its rows. */
enum unc_gap_what {
	UNC_GAP_PMU,    /* a PMU that cannot be counted, or not as asked */
	UNC_GAP_SOCKET, /* a socket without a PMU of the family */
	UNC_GAP_PORT,   /* a PCIe root port that no counter covers */
};

struct unc_gap {
	enum unc_gap_what what;
	const struct uncore_pmu *pmu;     /* UNC_GAP_PMU */
	const struct uncore_device *port; /* UNC_GAP_PORT */
	int socket;                       /* that it is on; -1: not known */
	const char *why;                  /* a sentence that names it; kept by the monitor */
};

/* The gaps of one query, each once, in the order in which they were found. */
struct unc_gaps {
	struct unc_gap *items;
	size_t count;
};

/* A metric of one family, or one event; with the filters that were set at that moment. */
struct unc_query {
	const struct uncore_metric *metric; /* NULL: an event, */
	const char *name, *unit;            /* which has these */
	bool snapshot;
	enum uncore_level level; /* at which its targets are split */
	unsigned levels;         /* of its rows: a bit for each */
	const char *filter;      /* "from=cpu to=memory"; NULL: none */
	bool silent;             /* its rows are not reported: another metric's value needs it */
	bool filtered; /* to some root ports or a device, so that a socket may have no part in it */
	double scales[UNC_METRIC_EVENTS]; /* the kernel's, where it is asked for; else 1 */
	size_t event_count;
	struct unc_target *targets;
	size_t target_count;
	struct unc_gaps gaps;
};

#define UNC_FILTER_CHOICES 16 /* of one kind, at once */

/* What one word of a filter stands for. */
struct unc_filter_choice {
	const struct uncore_device *device; /* or root port */
	uint64_t base, mask;                /* of addresses; GPUs: bit n of the mask is GPU n */
};

/* What the user gave to one kind of filter. */
struct unc_filter_value {
	const char *text; /* as it was written; NULL: not set */
	struct unc_filter_choice choices[UNC_FILTER_CHOICES];
	size_t count; /* 0 for words of data files */
};

/* What restricts the metrics added from now on. */
struct unc_filters {
	struct unc_filter_value values[UNC_FILTERS];
	const char *text; /* of all of them: "from=cpu to=memory"; NULL: none is set */
	bool picks;       /* only some root ports or one device are asked for */
};

/* The queries and sets before an addition, which is undone to there when it fails. */
struct unc_checkpoint {
	size_t queries, sets;
};

/* Adds a query with neither targets nor gaps; NULL when out of memory. Valid until the next one. */
struct unc_query *unc_monitor_query(struct uncore_monitor *m, size_t event_count);
/* True when filters restrict some event of the metric. */
bool unc_query_is_restrictable(const struct unc_query *q);
/* Adds a gap with this sentence, a root port only once. -ENOMEM. */
int unc_query_add_gap(struct uncore_monitor *m, struct unc_query *q, struct unc_gap gap,
		      const char *fmt, ...) __attribute__((format(printf, 4, 5)));
int unc_query_add_pmu_gap(struct uncore_monitor *m, struct unc_query *q,
			  const struct uncore_pmu *pmu, const char *why);
/* `why` NULL: no PMU of the family counts it. */
int unc_query_add_port_gap(struct uncore_monitor *m, struct unc_query *q,
			   const struct uncore_device *port, const char *why);
/* Adds the root ports and sockets that belong to a query without filters and are not counted. -ENOMEM. */
int unc_query_find_gaps(struct uncore_monitor *m, struct unc_query *q);

/* -EBUSY when the monitor is planned: nothing can be added then. */
int unc_monitor_refuse_planned(struct uncore_monitor *m);

void unc_monitor_roll_back(struct uncore_monitor *m, struct unc_checkpoint to);

/* The same text, kept as long as the monitor; NULL when out of memory. */
const char *unc_monitor_keep(struct uncore_monitor *m, const char *text);
/* Adds a note for the user, once. -ENOMEM. */
int unc_monitor_note(struct uncore_monitor *m, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

#endif

/* SPDX-License-Identifier: MIT */
/* Requests of the user (queries), the targets where each of them counts, the events requested
 * there, and the counters planned for these. */
#ifndef UNC_QUERY_H
#define UNC_QUERY_H

#include "catalogue/catalogue.h"
#include "source/source.h"

struct uncore_monitor;

/* Where a query counts: a PMU on one of its CPUs, or the part of it that a filter or a port
 * selects. */
struct unc_target {
	const struct uncore_pmu *pmu;
	int cpu;
	const struct uncore_device *port; /* the only root port in it; NULL: several, or unknown */
	const char *terms;                /* that replace or extend those of each event; "": none */
	const char *link;  /* "link 3": the only link in it; NULL: several, or none */
	size_t set, first; /* its requests: number of the set, and of the first event's in it */
};

/* A gap: a part of a row that is not counted, and why. It has the same form from a query to its
 * rows. */
enum unc_gap_what {
	UNC_GAP_PMU,    /* a PMU that cannot be counted, or not as requested */
	UNC_GAP_SOCKET, /* a socket without a PMU of the family */
	UNC_GAP_PORT,   /* a PCIe root port that no counter covers */
};

struct unc_gap {
	enum unc_gap_what what;
	const struct uncore_pmu *pmu;     /* UNC_GAP_PMU */
	const struct uncore_device *port; /* UNC_GAP_PORT */
	int socket;                       /* the gap is on this socket; -1: unknown, */
	bool elsewhere;                   /* but on none that has a CPU online */
	bool part;                        /* UNC_GAP_SOCKET: only of some of its dies */
	const char *why;                  /* a sentence that names it; kept by the monitor */
};

/* A metric of one family, or one event, with the filters that were set when it was added. */
struct unc_query {
	const struct uncore_metric *metric; /* NULL: an event */
	struct uncore_row_query shown;      /* what its rows show of it */
	bool snapshot;
	enum uncore_level level; /* at which its targets are split */
	unsigned levels;         /* of its rows: a bit for each */
	bool extra;    /* rows of further levels are marked: uncore_monitor_set_extra_rows() */
	bool silent;   /* its rows are not reported: only another metric needs its value */
	bool filtered; /* to some root ports or devices, so that a socket may have no part in it */
	uint64_t sockets;                 /* a bit for each socket that a filter selects; 0: all */
	bool in_nodes;                    /* a filter selects NUMA nodes */
	double scales[UNC_METRIC_EVENTS]; /* the kernel's, where the data file uses it; else 1 */
	size_t event_count;
	size_t input_count; /* its events, and the metric that it is divided by */
	struct unc_target *targets;
	size_t target_count;
	struct unc_gap *gaps; /* without duplicates, in the order of detection */
	size_t gap_count;
};

#define UNC_FILTER_CHOICES 64 /* of one kind, at once */

/* The meaning of one word of a filter. */
struct unc_filter_choice {
	const struct uncore_device *device; /* or root port */
	/* A device that counts itself and has no PCI function: `device` is a dummy. */
	const struct uncore_pmu *pmu;
	uint64_t base,
		mask; /* of addresses; GPUs, sockets: bit n of the mask is number n; NUMA nodes:
				base is the number */
};

/* The user's value of one kind of filter. */
struct unc_filter_value {
	const char *text; /* as it was written; NULL: not set */
	struct unc_filter_choice choices[UNC_FILTER_CHOICES];
	size_t count; /* 0 for words of data files */
};

/* The filters of metrics added from now on. */
struct unc_filters {
	struct unc_filter_value values[UNC_FILTER_KINDS];
	const char *text;   /* of all of them: "from=cpu to=memory"; NULL: none is set */
	const char *places; /* of "socket" and "node" only, which apply to events, too; NULL */
	bool restricts;     /* a filter of data files is set */
	bool picks;         /* only some root ports or devices are requested */
};

/* The numbers of queries and sets before an addition, to undo it when it fails. */
struct unc_checkpoint {
	size_t queries, sets;
};

/* Adds a query with neither targets nor gaps; NULL when out of memory. Valid until the next one. */
struct unc_query *unc_monitor_query(struct uncore_monitor *m, size_t event_count);
/* True when filters restrict some event of the metric. */
bool unc_query_is_restrictable(const struct unc_query *q);
/* Adds a gap. -ENOMEM. */
int unc_query_add_pmu_gap(struct uncore_monitor *m, struct unc_query *q,
			  const struct uncore_pmu *pmu, const char *why);
/* Adds a gap for a root port, once. `why` NULL: no PMU of the family counts it. -ENOMEM. */
int unc_query_add_port_gap(struct uncore_monitor *m, struct unc_query *q,
			   const struct uncore_device *port, const char *why);
/* Adds the root ports and sockets that belong to a query without filters and are not counted.
 * -ENOMEM. */
int unc_query_find_gaps(struct uncore_monitor *m, struct unc_query *q);

/* -EBUSY when the monitor is planned, since nothing can be added then. */
int unc_monitor_refuse_planned(struct uncore_monitor *m);

void unc_monitor_roll_back(struct uncore_monitor *m, struct unc_checkpoint to);

/* The same text, kept as long as the monitor; NULL when out of memory. */
const char *unc_monitor_keep(struct uncore_monitor *m, const char *text);
/* Adds a note for the user, once. -ENOMEM. */
int unc_monitor_note(struct uncore_monitor *m, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* ---- plan.c: which counters are opened ---- */

/* One event of a set. */
struct unc_request {
	const char *event; /* the text between the slashes; borrowed */
	struct unc_config config;
	uint32_t modifiers;
	bool snapshot;
	bool subtracted; /* in the formula */
	size_t round;
	size_t counter; /* index in the plan; filled by unc_plan_build */
};

/* Events of one PMU, counted from one CPU. */
struct unc_request_set {
	const struct uncore_pmu *pmu;
	int cpu;
	bool together; /* all its events are counted over the same time */
	bool strict;   /* it is an error if that is impossible */
	struct unc_request *requests;
	size_t count;
	int group;              /* number of its "{}" within one add; -1: none */
	size_t query;           /* of a metric: its number, from 1 on; 0: events */
	size_t part;            /* its number among the query's sets on this PMU and CPU */
	size_t round;           /* the last of its requests' */
	bool divisible, is_sum; /* of a metric: sets, or also events, may be in different rounds */
	bool plain;             /* of a metric without filters: as its data file has it */
};

struct unc_plan {
	struct uncore_counter *counters; /* ordered by round, source, CPU, PMU, set */
	size_t count;
	size_t set_count;
	size_t round_count;
};

/* Assigns each metric to the first round in which the PMUs have enough counters, and registers of
 * filters. If it needs more than a PMU has, each of its sets is assigned so, and each count of a
 * sum; if that does not help, it gets a separate round. Events are in the first round. `queries`:
 * the largest number of a query. -ENOMEM. */
int unc_plan_rounds(struct unc_request_set *sets, size_t count, size_t queries);

/* Plans all sets, and stores the counter of each request. Equal counters are opened once, and a set
 * that is part of a larger one needs no counters of its own. */
int unc_plan_build(struct unc_plan *out, struct unc_request_set *sets, size_t count);
void unc_plan_finish(struct unc_plan *p);

/* ---- encode.c: requests for the events of a target, and the rules for them ---- */

/* Requests the event at the target, in the set of its "{}" among those from `first_set` on, and
 * adds the target to the query. -ENOMEM. */
int unc_encode_event(struct uncore_monitor *m, struct unc_query *q, struct unc_target target,
		     const struct unc_event *event, const struct unc_encoding *encoding,
		     size_t first_set);

/* The same for all events of a metric. -ENODEV with a reason: one of them cannot be counted with
 * these terms. -EOPNOTSUPP: the target cannot be added up with the others. */
int unc_encode_metric(struct uncore_monitor *m, struct unc_query *q, struct unc_target target,
		      struct unc_error *why);

/* True when an event with this configuration sets each of the terms, as rules write them. */
bool unc_terms_are_set(const struct uncore_pmu *pmu, const struct unc_config *c,
		       const struct unc_names *terms);

bool unc_same_pmu(const struct unc_request_set *a, const struct unc_request_set *b);

/* Whether the hardware can count the events of the set at once, though not in one group. */
bool unc_rules_allow(const struct unc_request_set *set);

/* -EINVAL with a reason: the monitor's requests violate a rule of their PMU's family. -ENOMEM. */
int unc_rules_check(struct uncore_monitor *m);

/* ---- filters.c: what the user restricts metrics to ---- */

#define UNC_WORD_ROOM 128 /* of one word of a list */

/* Copies the next word of a comma-separated list. Returns 1, 0 at the end of the list, or
 * -EINVAL. */
int unc_next_word(const char **at, char *word);

/* The number of GPUs at the other end of the PMU's link; -1: unknown. */
int64_t unc_gpu_count(const struct uncore_pmu *pmu);
/* `gpus` has a bit for each. A GPU that the link does not have is refused, with the error `errnum`:
 * its bit may select another one. */
int unc_gpus_check(const struct uncore_pmu *pmu, uint64_t gpus, int errnum, struct unc_error *e);

/* ---- places.c ---- */

/* Whether the filters of places select the target: 1 or 0. -ENODEV with a reason: its place is not
 * known. */
int unc_filters_select(const struct uncore_monitor *m, const struct unc_target *t,
		       struct unc_error *why);
/* Whether they may select some target of the PMU, */
bool unc_filters_select_pmu(const struct uncore_monitor *m, const struct uncore_pmu *pmu);
/* and whether they may select something on the socket; -1: unknown. */
bool unc_filters_select_socket(const struct uncore_monitor *m, int socket);

/* ---- split.c ---- */

/* Splits a target by the filters and, for rows of root ports, by these, and encodes the query's
 * metric on each part. There is no part if the target counts nothing of the request. -ENODEV with a
 * reason: the target cannot be restricted by the filters. */
int unc_filters_encode(struct uncore_monitor *m, struct unc_query *q,
		       const struct unc_target *whole, struct unc_error *why);

/* The root ports, or devices below them, that the user names and this PMU counts: bit n for the
 * n-th. */
uint64_t unc_filters_requested_ports(struct uncore_monitor *m, const struct uncore_pmu *pmu);

#endif

/* SPDX-License-Identifier: MIT */
/* A monitor's insides: what was asked (items), what is counted (plan), what is reported (lines). */
#ifndef UNC_MONITOR_H
#define UNC_MONITOR_H

#include "count/lines.h"
#include "count/plan.h"
#include "machine/event.h"
#include "object.h"

/* Where one counter of an item's event is: the k-th event of a want. */
struct unc_ref {
	size_t want, event;
};

/* A root port that belongs to an item and is not counted. */
struct unc_lacking {
	const struct uncore_device *port;
	char *why; /* NULL: no PMU of the family counts it */
};

/* One thing the user asked for: a metric of one family, or one event. */
struct unc_item {
	char *name;                         /* of an event; a metric's name is the catalogue's */
	const struct uncore_metric *metric; /* NULL: an event */
	char *unit;                         /* events */
	double scale;                       /* events */
	bool snapshot;                      /* events */
	/* One per place: refs of all its events side by side. */
	struct unc_ref *refs; /* place p, event k: refs[p * event_count + k] */
	size_t place_count, place_room;
	size_t event_count;
	size_t left_out; /* PMUs that belong to it and could not be planned */
	char *left_why;  /* of the first of them */
	char *filter;    /* metrics: "from=cpu to=memory"; NULL: none */
	bool narrowed;   /* metrics: by its filter to some ports, so that sockets may lack it */
	struct unc_lacking *lacking;
	size_t lacking_count;
	double *scales; /* metrics: per event, the kernel's scale where the data file asks for it */
};

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
	struct unc_item *items;
	size_t item_count;
	struct unc_want *wants;
	size_t want_count, want_room;
	struct unc_names strings; /* event texts that wants point to, each once */
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

/* Adds a want without events; NULL when out of memory. Valid until the next one is added. */
struct unc_want *unc_monitor_want(struct uncore_monitor *m, const struct uncore_pmu *pmu, int cpu);
/* Adds an event to a want. `terms` is copied. -ENOMEM. */
int unc_monitor_wanted(struct uncore_monitor *m, struct unc_want *want, const char *terms,
		       const struct unc_encoding *encoding, uint32_t modifiers);
/* Adds an empty item and returns it; NULL when out of memory. */
struct unc_item *unc_monitor_item(struct uncore_monitor *m);
/* Adds something worth telling. -ENOMEM. */
int unc_monitor_note(struct uncore_monitor *m, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/* The same, of any length, unless it has been told. */
int unc_monitor_note_once(struct uncore_monitor *m, const char *note);
/* Notes a PMU that belongs to the item and cannot be counted: its rows are partial. */
int unc_item_leave_out(struct unc_item *item, const char *why);
/* Adds a place: `event_count` refs, copied. */
int unc_item_place(struct unc_item *item, const struct unc_ref *refs);
/* True when the i-th CPU of the PMU is not its first on that socket: events that count a whole
 * package are read once for each. */
bool unc_monitor_package_seen(const struct uncore_monitor *m, const struct uncore_pmu *pmu,
			      size_t i);
/* Forgets items and wants added since the counts were these (a failed add adds nothing). */
void unc_monitor_roll_back(struct uncore_monitor *m, size_t item_count, size_t want_count);

/* "from=cpu to=memory", or NULL without filters. -ENOMEM. */
int unc_filters_text(const struct unc_filters *f, char **out);
void unc_filters_finish(struct unc_filters *f);

/* How the filters and the level restrict the metric's events on this PMU and CPU: none at all when
 * it counts nothing of what is asked. -ENODEV with a sentence: it cannot be restricted so. */
int unc_monitor_cuts(struct uncore_monitor *m, const struct uncore_metric *metric,
		     const struct uncore_pmu *pmu, int cpu, struct unc_cuts *out,
		     struct unc_error *why);
void unc_cuts_finish(struct unc_cuts *c);
/* The event's terms on this PMU with those of a cut put over them; the caller's to free. -ENOMEM. */
int unc_cut_terms(const struct unc_cut *cut, const struct unc_event_def *event,
		  const struct uncore_pmu *pmu, char **out);

/* The root ports that the user names and this PMU counts: bit n for the n-th. */
unsigned unc_monitor_named(struct uncore_monitor *m, const struct uncore_pmu *pmu);

/* What became, in one metric, of the root ports that the user named. */
struct unc_named {
	unsigned counted;              /* bit n: the n-th of them */
	char *why[UNC_FILTER_CHOICES]; /* a PMU has it and cannot count it so; NULL */
};

/* The PMU counts its part of them, or (`refused`, else NULL) cannot. -ENOMEM. */
int unc_named_add(struct unc_named *named, struct uncore_monitor *m, const struct uncore_pmu *pmu,
		  const struct unc_error *refused);
/* The first sentence of a PMU that refused; NULL: none. */
const char *unc_named_why(const struct unc_named *named);
void unc_named_finish(struct unc_named *named);

/* Fills what the item lacks. -ENOMEM. */
int unc_item_lack(struct uncore_monitor *m, struct unc_item *item, const struct unc_named *named);
/* Tells what the item lacks of what the user named, each port once. -ENOMEM. */
int unc_item_note_lacking(struct uncore_monitor *m, const struct unc_item *item);
/* Appends "root port 0000:3a:00.0 is not counted: ...". */
void unc_lacking_text(const struct unc_item *item, const struct unc_lacking *l,
		      struct unc_text *to);
/* The same for those on the socket (-1: any), and for those whose socket is not known. */
void unc_item_lacking_text(const struct unc_item *item, int socket, struct unc_text *to);
void unc_item_forget_lacking(struct unc_item *item);

/* Makes plan and lines of all items, once. */
int unc_monitor_plan(struct uncore_monitor *m);

/* Lines of all items at the monitor's level, once the plan has placed the wants. */
int unc_monitor_lines(struct uncore_monitor *m);
void unc_lines_free(struct unc_line *lines, size_t count);

#endif

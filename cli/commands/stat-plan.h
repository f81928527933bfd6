/* SPDX-License-Identifier: MIT */
/* The request to count, from the options of `stat` or another command, and its plan. */
#ifndef CLI_STAT_PLAN_H
#define CLI_STAT_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli.h"
#include "commands/control.h"
#include "output/output.h"

#define STAT_FILTERS 16 /* room for the options of filters */
#define STAT_PRESETS 8  /* and for presets that are recorded together */

#define DELAY_FOREVER UINT64_MAX

struct stat_options;

/* One -e or -M, in the order of the command line. */
struct stat_query {
	const char *text;
	bool metric;
};

/* Receives the counts instead of an output. Its functions return exit codes. */
struct stat_recorder {
	void *context;
	bool to_file; /* it needs -o */
	/* The monitor is open. */
	int (*open)(void *context, const struct stat_options *o, struct uncore_monitor *m);
	/* It has been started, or has resumed. NULL: nothing is to be done. */
	int (*start)(void *context);
	/* An interval has ended. */
	int (*window)(void *context, const struct uncore_sample *sample);
	/* A short sample has ended within an interval. NULL: not needed. */
	void (*short_sample)(void *context);
	/* A command was received. After `disable` the interval has ended, and start() follows when
	 * counting is enabled again. *refused: why it cannot be done. NULL: not needed. */
	int (*control)(void *context, const struct control_request *q, const char **refused);
};

struct stat_options {
	struct stat_query *queries; /* none: the headline metrics */
	size_t query_count;
	const struct stat_recorder *recorder;        /* NULL: there is an output */
	const struct command *presets[STAT_PRESETS]; /* also to be recorded */
	size_t preset_count;
	const struct command *known_presets;       /* the table that has them */
	uint64_t rotate_size, rotate_age_ns, keep; /* of a recording; 0: none */
	uint64_t flight_ns;                        /* time kept in memory; 0: no flight recorder */
	const char *when;             /* the condition to write it; NULL: signals only */
	uint64_t after_ns;            /* the delay of writing */
	const struct command *preset; /* at least one of its patterns must be countable; or NULL */
	bool viewed;                  /* the preset is a view of the command's one */
	const char *device;           /* that the view is for; NULL: none */
	const struct uncore_device *port; /* its root port */
	enum uncore_level level;
	enum uncore_level default_level; /* without an option and in presets without one */
	struct stat_filter {
		const char *name;  /* the library's, and that of its option */
		const char *value; /* NULL: not given */
	} filters[STAT_FILTERS];
	bool filtered;            /* any of them is */
	uint64_t interval_ns;     /* 0: one window */
	uint64_t interval_count;  /* 0: no limit */
	uint64_t sample_ns;       /* length of short samples; 0: none */
	uint64_t above;           /* 0: stat_above() */
	uint64_t timeout_ns;      /* 0: none */
	uint64_t delay_ns;        /* DELAY_FOREVER: until --control enables counting */
	const char *control;      /* the channel of commands, or NULL */
	uint64_t repeat;          /* runs of the command */
	bool positional_interval; /* INTERVAL and not -I */
	const struct output *output;
	const char *separator;
	const char *file; /* NULL: standard output */
	bool append;
	const char *sort; /* NULL: the default of the output */
	bool summary;
	bool verbose;
	bool dry_run;
	bool ascii;
	bool tree;                    /* rows of all levels, from the machine to the port */
	uint64_t default_interval_ns; /* without an option; 0: one window */
	const char *cpu;              /* that the loop runs on; NULL: any */
	char **command;               /* NULL: none */
};

/* The per cent of the ceiling at which a burst begins. */
static inline uint64_t stat_above(const struct stat_options *o)
{
	return o->above ? o->above : 80;
}

/* Makes a monitor in which all queries are planned and nothing is opened. Returns an exit code. */
int stat_plan(struct cli *cli, const struct stat_options *o, struct uncore_monitor **out);
/* Prints its counters. Returns an exit code. */
int stat_dry_run(struct cli *cli, const struct stat_options *o, struct uncore_monitor *m);
/* Prints the monitor's notes from the first one on, on standard error: all with -v, filters or
 * events, else their number. */
void stat_print_notes(const struct stat_options *o, const struct uncore_monitor *m, size_t first);

/* Whether a total follows the intervals; a page always has one. */
bool stat_has_total(const struct stat_options *o);

#endif

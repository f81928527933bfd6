/* SPDX-License-Identifier: MIT */
/* What is to be counted, and when: from the options of `stat` or another command. */
#ifndef CLI_REQUEST_H
#define CLI_REQUEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cli.h"

#define REQUEST_FILTERS 16 /* room for the options of filters */
#define REQUEST_PRESETS 8  /* and for presets that are recorded together */

#define DELAY_FOREVER UINT64_MAX

struct request {
	/* One -e or -M, in the order of the command line. */
	struct request_query {
		const char *text;
		bool metric;
	} * queries; /* none: the headline metrics */
	size_t query_count;
	/* Also to be counted. */
	struct request_preset {
		const struct command *command;
		bool has_levels; /* `levels` replaces that of the request */
		unsigned levels;
	} presets[REQUEST_PRESETS];
	size_t preset_count;
	bool headline;                /* the headline metrics beside queries and presets, too */
	const struct command *preset; /* counting fails unless one of its patterns can be counted */
	bool viewed;                  /* the preset is a view of the command's one */
	struct request_filter {
		const char *name;  /* the library's, and that of its option */
		const char *value; /* NULL: not given */
	} filters[REQUEST_FILTERS];
	bool filtered;   /* any of them is */
	bool restricted; /* one that selects metrics, and not only places */
	enum uncore_level level;
	bool level_of_preset;            /* `level` is that of a preset, and not of an option */
	enum uncore_level default_level; /* without an option and in presets without one */
	unsigned levels; /* a bit for each level of rows that is shown; 0: only `level` */
	/* Without an option for the level, the level of devices that count themselves; 0: as
	 * others. */
	enum uncore_level device_level;
	/* With intervals of a second or more, devices are counted in the way that costs least. */
	bool cheap;
	/* Without queries, each recorded metric is shown at all levels that were recorded; or of
	 * the machine where that was recorded, and at the other levels where it was not. */
	bool as_recorded, as_whole;
	bool tree;          /* rows of all levels, from the machine to the port */
	bool overview;      /* also what the overview has behind the headline metrics; no notes */
	bool extra;         /* rows for a picture of the machine: uncore_monitor_set_extra_rows() */
	uint64_t sample_ns; /* length of short samples; 0: none */
	uint64_t above;     /* 0: 80, see request_above() */
	const char *condition, *exec; /* --when and --exec; NULL: not given */
	bool verbose;                 /* all notes are printed, and late intervals */
	bool rescan; /* as the next request: the machine has changed, and is scanned again before */
	bool undone; /* something is undone at the end: no signal ends the process before */
	/* Counting ends when the reader of standard output has gone, and not only with the next
	 * text for it. */
	bool ends_with_reader;
	struct schedule {
		uint64_t interval_ns;    /* 0: one window */
		uint64_t interval_count; /* 0: no limit */
		uint64_t timeout_ns;     /* 0: none */
		bool shared;             /* rounds have equal parts of timeout_ns */
		uint64_t delay_ns;       /* DELAY_FOREVER: until --control enables counting */
		uint64_t repeat;         /* runs of the command; 0: one */
		const char *control;     /* the channel of commands, or NULL */
		const char *cpu;         /* that the loop runs on; NULL: any */
		char **command;          /* NULL: none */
	} when;
};

/* The per cent of the ceiling at which a burst begins. */
static inline uint64_t request_above(const struct request *r)
{
	return r->above ? r->above : 80;
}

#endif

/* SPDX-License-Identifier: MIT */
/* Counting, for all commands that count: interval after interval, each for all sinks. */
#ifndef CLI_LOOP_H
#define CLI_LOOP_H

#include "loop/request.h"
#include "loop/sink.h"

/* Checks that the source can do what is requested, and plans it. `sinks` end with NULL. Returns an
 * exit code. */
int loop_plan(struct cli *cli, const struct request *request, struct sink *const *sinks,
	      struct uncore_monitor **out);

/* Counts with the planned monitor, which it frees, until the end that the request gives. Returns an
 * exit code: that of the command that was run, if it is not 0. */
int loop_run(struct cli *cli, const struct request *request, struct sink *const *sinks,
	     struct uncore_monitor *m);

/* ---- plan.c ---- */

/* Makes a monitor in which all queries are planned and nothing is opened. `rounds`: the metrics may
 * be counted one round after another. Returns an exit code. */
int plan_make(struct cli *cli, const struct request *request, bool rounds,
	      struct uncore_monitor **out);
/* Whether one of the patterns can be counted, with the filters of the request; NULL: without. */
bool plan_is_countable(struct cli *cli, const struct request *request, const char *metrics);
/* Leaves out presets of which nothing can be counted, with a note. If nothing else remains they
 * stay, and plan_make() says why. */
void plan_leave_out_presets(struct cli *cli, struct request *request);
/* Prints the monitor's notes from the first one on, on standard error: all with -v, filters or
 * events, else their number. */
void plan_print_notes(const struct request *request, const struct uncore_monitor *m, size_t first);

#endif

/* SPDX-License-Identifier: MIT */
/* From a request to a monitor. */
#ifndef CLI_PLAN_H
#define CLI_PLAN_H

#include "loop/request.h"

/* Makes a monitor in which all queries are planned and nothing is opened. `rounds`: the metrics may
 * be counted one round after another. Returns an exit code. */
int plan_make(struct cli *cli, const struct request *request, bool rounds,
	      struct uncore_monitor **out);
/* Prints the monitor's notes from the first one on, on standard error: all with -v, filters or
 * events, else their number. */
void plan_print_notes(const struct request *request, const struct uncore_monitor *m, size_t first);

#endif

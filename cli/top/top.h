/* SPDX-License-Identifier: MIT */
/* The screen of `uncore top`, if uncore is built with curses (UNCORE_TOP). */
#ifndef CLI_TOP_H
#define CLI_TOP_H

#include "loop/request.h"

struct top_start {
	bool ascii;
	const char *screen; /* to begin with; NULL: the one of the latest time */
	bool preset;        /* begins with the screen of the preset's first metric */
};

/* Counts the request, which must have `tree`, and shows it on the whole terminal until the user
 * ends it. If the terminal cannot show a screen, *shown is false without an error. */
int top_run(struct cli *cli, const struct request *request, const struct top_start *start,
	    bool *shown);

#endif

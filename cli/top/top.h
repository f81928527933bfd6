/* SPDX-License-Identifier: MIT */
/* The screen of `uncore top`; only there when uncore is built with curses (UNCORE_TOP). */
#ifndef CLI_TOP_H
#define CLI_TOP_H

#include "loop/request.h"

/* Counts on a screen that fills the terminal, until the user ends it: rows of request->tree.
 * `*shown` stays false without an error when the terminal cannot show one. */
int top_run(struct cli *cli, const struct request *request, bool ascii, bool *shown);

#endif

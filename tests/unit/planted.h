/* SPDX-License-Identifier: MIT */
/* Runs of `uncore verify` whose readings are planted, and their verdicts. Included after <cmocka.h>. */
#ifndef PLANTED_H
#define PLANTED_H

#include <string.h>

#include "verify/load.h"

static inline void add_cell(struct verify_run *run, const char *metric, const char *family,
			    int socket, int channel)
{
	struct verify_cell cell = {.socket = socket, .channel = channel};

	strcpy(cell.metric, metric);
	strcpy(cell.family, family);
	verify_add_cell(run, &cell);
}

/* The run as its report has it. */
static inline void read_back(struct verify_run *into, const struct verify_run *run)
{
	struct buffer text = {0};
	char why[VERIFY_WHY] = "";

	verify_put_run(&text, run);
	if (!verify_parse_run(into, text.data, why))
		fail_msg("%s", why);
	buffer_free(&text);
}

/* `fault` NULL: without a name. `sentence`: a part of the reason. */
static inline void expect_verdict(const struct verify_result *r, enum verify_verdict verdict,
				  const char *fault, const char *sentence)
{
	if (r->verdict != verdict || !strstr(r->reason, sentence) ||
	    (fault ? !r->fault || strcmp(r->fault, fault) != 0 : !!r->fault))
		fail_msg("%s: %s, %s: %s (%g +- %g)", r->cell->metric, verify_verdicts[r->verdict],
			 r->fault, r->reason, r->fit.slope, r->fit.error);
}

#endif

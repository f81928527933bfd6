/* SPDX-License-Identifier: MIT */
/* What clients may switch on and off while `serve` counts: presets and metrics that --choices
 * allows. The loop takes changes at the end of an interval. */
#ifndef CLI_CHOICES_H
#define CLI_CHOICES_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/cli.h"
#include "loop/request.h"

#define CHOICES_CHANGES 6 /* accepted in a minute, from all clients together */
#define CHOICES_BYTES 256 /* of the body of a request, at most */

struct choices;

/* Makes the choices of `list`: presets, metrics and patterns, separated by commas. They are counted
 * beside `base`, which is borrowed. The machine must be open. Returns an exit code. */
int choices_new(struct choices **out, struct cli *cli, const struct request *base,
		const char *list);
void choices_free(struct choices *c);

/* The choices and their states: uncore-serve(8), JSON. */
json_t *choices_document(struct choices *c); /* any thread may call it */

enum choices_answer {
	CHOICES_TAKEN,     /* it is counted, or no longer, after this interval */
	CHOICES_MALFORMED, /* the body is not {"choice": "NAME", "on": true} */
	CHOICES_UNKNOWN,   /* there is no such choice */
	CHOICES_TOO_MANY,  /* CHOICES_CHANGES were accepted in the last minute */
};

/* Takes the body of a request. Any thread may call it. */
enum choices_answer choices_ask(struct choices *c, const char *body, size_t len);

/* For the loop only: what is to be counted from now on; NULL: no change. It stays until the next
 * call. */
const struct request *choices_next(struct choices *c);
/* Then: it is counted now, or `why` it cannot be, so that the previous request is still counted. */
void choices_settle(struct choices *c, const char *why);

#endif

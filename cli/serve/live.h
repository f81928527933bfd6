/* SPDX-License-Identifier: MIT */
/* The intervals of the last minutes as server-sent events, which a browser reads by EventSource. */
#ifndef CLI_LIVE_H
#define CLI_LIVE_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/buffer.h"
#include "output/output.h"

struct live;

/* Borrows the machine. `whole`, for recordings: keeps all intervals, and joins several of them to
 * one window if there are many. */
struct live *live_new(struct uncore *machine, bool whole);
void live_free(struct live *l);

/* Adds an interval, which has the counts of `missed` further ones. */
void live_add(struct live *l, const struct frame *f, uint64_t missed);
void live_add_short_sample(struct live *l, const struct uncore_monitor *m);
/* Call when further intervals have the rows of another plan: readers begin anew with them. */
void live_change_plan(struct live *l);
/* Gives readers the event "choices", now and when they connect. Takes the document over. */
void live_set_choices(struct live *l, json_t *document);
/* Call after the last interval: readers get the end. */
void live_end(struct live *l);

/* How far a client has read. */
struct live_reader {
	struct event *event; /* being sent; NULL: none */
	size_t taken;        /* bytes of it that were sent */
	/* The latest ones that were sent. Each holds a reference. */
	struct event *start, *choices, *quality, *distributions;
	uint64_t number; /* of its next interval */
	bool ended;
};

/* Any thread may call the functions below. */

/* Initializes a reader. `last_event`: the id of the last interval that the client got from a
 * previous stream; NULL: it begins with the oldest interval that is kept. */
void live_read_from(struct live *l, struct live_reader *r, const char *last_event);
/* Copies the next bytes of its stream. Returns their number; 0: none until the next interval; -1:
 * the end. */
ssize_t live_read(struct live *l, struct live_reader *r, char *to, size_t room);
void live_reader_free(struct live *l, struct live_reader *r);

/* Adds the short samples of a row as a JSON document, or nothing if there are none. */
void live_put_short_samples(struct live *l, const char *row, struct buffer *to);
/* Adds the last interval as a JSON document, or nothing before the first one. */
void live_put_latest(struct live *l, struct buffer *to);

#endif

/* SPDX-License-Identifier: MIT */
/* The intervals of the last minutes, as events that a page follows (server-sent events, what a
 * browser's EventSource reads). */
#ifndef CLI_LIVE_H
#define CLI_LIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/buffer.h"
#include "output/output.h"

struct live;

/* `machine` is borrowed. `whole`: nothing is forgotten, and several intervals become one when there
 * are many: of a recording. */
struct live *live_new(struct uncore *machine, bool whole);
void live_free(struct live *l);

/* Adds an interval; `missed`: further intervals whose counts it has. */
void live_add(struct live *l, const struct uncore_sample *sample, uint64_t missed);
/* Adds the latest short sample. */
void live_add_short_sample(struct live *l, const struct uncore_monitor *m);
/* No interval follows. */
void live_end(struct live *l);

/* Where a client is. live_read_from() begins it. */
struct live_reader {
	struct event *event; /* that it takes; NULL: none */
	size_t taken;        /* bytes of it */
	/* That it has been told, with a reference of its own. */
	struct event *start, *quality, *distributions;
	uint64_t number; /* of its next interval */
	bool ended;
};

/* `last_event`: the id of the last interval that the client has, from a stream before; NULL: none,
 * and it begins with the oldest that is kept. */
void live_read_from(struct live *l, struct live_reader *r, const char *last_event);
/* The next bytes of its stream. 0: none until the next interval; -1: the end. For any thread. */
ssize_t live_read(struct live *l, struct live_reader *r, char *to, size_t room);
void live_reader_free(struct live *l, struct live_reader *r);

/* The short samples of a row that are kept, as a JSON document; "" when there is no such row or
 * none of it. For any thread. */
void live_put_short_samples(struct live *l, const char *row, struct buffer *to);
/* The last interval as a JSON document; "" before the first one. For any thread. */
void live_put_latest(struct live *l, struct buffer *to);

#endif

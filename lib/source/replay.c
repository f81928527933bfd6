/* SPDX-License-Identifier: MIT */
/* A source whose readings come from the caller, for example from a recording, instead of
 * hardware. */
#include "base/text.h"
#include "source/source.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct replay_source {
	struct unc_source is;
	struct uncore_reading **into; /* the caller's array, which it fills for each reading */
	size_t count;
};

static int fail(struct unc_error *e, int err, const char *why)
{
	return err == -ENOMEM ? unc_nomem(e) : unc_fail(e, -err, "%s", why);
}

static int replay_open(struct unc_source *source, struct uncore_counter *counters, size_t count,
		       struct unc_names *notes, struct unc_error *e)
{
	struct replay_source *s = (struct replay_source *)source;
	struct uncore_counter **each = calloc(count + 1, sizeof(struct uncore_counter *));
	const char *why = "";
	int r;

	(void)notes;
	source->own_time = true;
	s->into = calloc(count + 1, sizeof(struct uncore_reading *));
	s->count = count;
	for (size_t i = 0; each && i < count; i++)
		each[i] = &counters[i];
	r = each && s->into ? source->replay->open(source->replay->context, each, count, &why)
			    : -ENOMEM;
	free(each);
	if (r < 0)
		r = fail(e, r, why);
	/* The caller owns the sentences: copy them. */
	for (size_t i = 0; i < count; i++) {
		why = counters[i].why;
		counters[i].why = NULL;
		if (r == 0 && counters[i].error < 0)
			r = unc_counter_refuse(&counters[i], counters[i].error, why, e);
	}
	return r;
}

static int replay_read(struct unc_source *source, struct uncore_reading *into, uint64_t *now_ns,
		       struct unc_error *e)
{
	struct replay_source *s = (struct replay_source *)source;
	const char *why = "";
	int r;

	for (size_t i = 0; i < s->count; i++) {
		into[i] = (struct uncore_reading){0};
		s->into[i] = &into[i];
	}
	r = source->replay->read(source->replay->context, s->into, now_ns, &source->wall_ns, &why);
	return r < 0 ? fail(e, r, why) : r;
}

static void replay_close(struct unc_source *source)
{
	free(((struct replay_source *)source)->into);
	free(source);
}

const struct unc_source_ops unc_source_replay = {
	.size = sizeof(struct replay_source),
	.open = replay_open,
	.read = replay_read,
	.close = replay_close,
};

/* SPDX-License-Identifier: MIT */
/* Readings that the caller has, for example of a recording, in place of those of hardware. */
#include "base/text.h"
#include "source/source.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int fail(struct unc_error *e, int err, const char *why)
{
	return err == -ENOMEM ? unc_nomem(e) : unc_fail(e, -err, "%s", why);
}

static int replay_open(struct unc_source *source, struct uncore_counter *counters, size_t count,
		       struct unc_names *notes, struct unc_error *e)
{
	const char *why = "";
	int r;

	(void)notes;
	source->own_time = true;
	r = source->replay->open(source->replay->context, counters, count, &why);
	if (r < 0)
		r = fail(e, r, why);
	/* The sentences are the caller's. */
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
	const char *why = "";
	int r = source->replay->read(source->replay->context, into, now_ns, &source->wall_ns, &why);

	return r < 0 ? fail(e, r, why) : r;
}

static void replay_close(struct unc_source *source)
{
	free(source);
}

const struct unc_source_ops unc_source_replay = {
	.size = sizeof(struct unc_source),
	.open = replay_open,
	.read = replay_read,
	.close = replay_close,
};

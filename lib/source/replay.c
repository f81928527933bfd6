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

static int replay_open(struct unc_source *source, struct unc_counter *counters, size_t count,
		       struct unc_names *notes, struct unc_error *e)
{
	struct uncore_counter *shown = calloc(count + 1, sizeof(*shown));
	const char *why = "";
	int r;

	(void)notes;
	source->own_time = true;
	if (!shown)
		return unc_nomem(e);
	for (size_t i = 0; i < count; i++) {
		const struct unc_counter *c = &counters[i];

		shown[i] = (struct uncore_counter){.event = c->event,
						   .pmu = c->pmu,
						   .cpu = c->cpu,
						   .group = c->set,
						   .round = c->round,
						   .leader = i == 0 || c[-1].set != c->set,
						   .modifiers = c->modifiers,
						   .width = 64};
		memcpy(shown[i].config, c->config.word, sizeof(shown[i].config));
	}
	r = source->replay->open(source->replay->context, shown, count, &why);
	if (r < 0)
		r = fail(e, r, why);
	for (size_t i = 0; r == 0 && i < count; i++) {
		counters[i].width = shown[i].width;
		counters[i].most_per_s = shown[i].most_per_s;
		counters[i].error = shown[i].error;
		if (shown[i].error < 0 && !(counters[i].why = strdup(shown[i].why)))
			r = unc_nomem(e);
	}
	free(shown);
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

/* SPDX-License-Identifier: MIT */
/* Intervals of a recording, which end as fast as they can be read. */
#include <stdlib.h>

#include "base/replay.h"
#include "base/table.h"
#include "loop/ticker.h"

static const char *first_live(struct sink *const *sinks)
{
	for (; *sinks; sinks++)
		if ((*sinks)->live)
			return (*sinks)->live;
	return NULL;
}

/* Options that make no sense for a recording are usage errors. */
static int check(struct ticker *t, const struct request *request, struct sink *const *sinks)
{
	struct replay *replay = t->cli->replay;
	const struct schedule *when = &request->when;
	const char *wrong = when->command      ? "a COMMAND"
			    : when->timeout_ns ? "--timeout"
			    : when->delay_ns   ? "-D"
			    : when->control    ? "--control"
					       : first_live(sinks);
	uint64_t interval_ns = replay->interval_ns;
	const struct human h = human((double)interval_ns / 1e9, "s");

	replay->group_ns = when->interval_ns;
	if (wrong)
		cli_error("%s cannot be used with a recording; uncore report --begin and --end "
			  "select a part of it",
			  wrong);
	else if (when->interval_ns % interval_ns)
		cli_error("the recording has intervals of %s: -I must be a multiple of that",
			  h.text);
	else if (request->sample_ns && request->sample_ns != interval_ns)
		cli_error("the short samples of a recording are its intervals: use --sample %s%s",
			  h.number, h.unit);
	else if (replay->show && (when->interval_ns != interval_ns || request->sample_ns ||
				  sinks_need_total(sinks)))
		cli_error("--as-recorded prints each recorded interval: use -I %s%s, without a "
			  "total or short samples",
			  h.number, h.unit);
	else
		return CLI_OK;
	return CLI_USAGE;
}

static int start(struct ticker *t, bool again)
{
	(void)again;
	t->begun = false;
	return CLI_OK;
}

static enum wake wait_next(struct ticker *t)
{
	if (!t->begun)
		return WAKE_TICK;
	if (t->cli->replay->gap)
		return WAKE_RESUME;
	return t->cli->replay->more ? WAKE_TICK : WAKE_END;
}

static int took(struct ticker *t, const struct uncore_monitor *m, struct frame *f, bool total)
{
	struct replay *replay = t->cli->replay;
	int status;

	(void)m;
	t->begun = true;
	if (!f)
		return CLI_OK;
	f->missed = total ? replay->missed : replay->missed_now;
	if (!replay->show)
		return CLI_OK;
	t->recorded = cli_realloc(t->recorded, f->row_count + 1, sizeof(*t->recorded));
	status = replay->show(replay, f->sample, t->recorded);
	f->recorded = t->recorded;
	return status;
}

static bool has_parts(const struct ticker *t)
{
	return !t->request->when.interval_ns && t->cli->replay->region;
}

/* A session that was appended is a run of its own: nothing was counted between them. */
static bool begins(struct ticker *t, uint64_t runs)
{
	char from[DATE_ROOM], to[DATE_ROOM];
	const struct replay *replay = t->cli->replay;

	if (!runs || !replay->sessions)
		return !runs;
	cli_date(from, replay->wall_ns);
	cli_date(to, replay->next_wall_ns);
	cli_error("nothing was recorded from %s to %s", from, to);
	return true;
}

static void report(const struct ticker *t)
{
	uint64_t missed = t->cli->replay->missed;

	if (missed)
		cli_error(
			"%llu interval%s missed when this was recorded; the next interval has the "
			"counts of a missed one",
			(unsigned long long)missed, missed == 1 ? " was" : "s were");
}

static void close_ticker(struct ticker *t)
{
	free(t->recorded);
}

/* A recording has nothing to restore: a signal ends it at once, and open() has nothing to do. */
const struct ticker_kind replay_ticker = {
	.check = check,
	.start = start,
	.wait = wait_next,
	.took = took,
	.has_parts = has_parts,
	.begins = begins,
	.report = report,
	.close = close_ticker,
};

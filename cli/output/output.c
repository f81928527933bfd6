/* SPDX-License-Identifier: MIT */
/* What the outputs share. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "output/human.h"
#include "output/output.h"

void out_init(struct out *out, const struct out_ops *ops, const struct out_setup *setup,
	      struct buffer *to)
{
	*out = (struct out){.ops = ops, .setup = *setup, .to = to};
}

void out_free(struct out *out)
{
	table_free(&out->table);
	free(out->kept);
	buffer_free(&out->prefix);
	out->kept = NULL;
}

void out_begin(struct out *out, const struct out_frame *frame)
{
	out->frame = *frame;
	out->ops->begin(out);
}

void out_row(struct out *out, const struct uncore_row *row, double spread)
{
	out->ops->row(out, row, spread);
}

void out_end(struct out *out)
{
	out->ops->end(out);
	out->begun = true;
}

void out_sample(struct out *out, const struct out_frame *frame, const struct uncore_sample *sample)
{
	out_begin(out, frame);
	for (size_t i = 0; i < uncore_sample_count(sample); i++)
		out_row(out, uncore_sample_row(sample, i), NAN);
	out_end(out);
}

const char *out_kind(const struct uncore_row *row)
{
	return row->family ? "metric" : "event";
}

/* ---- outputs for people ---- */

void out_keep_begin(struct out *out)
{
	out->kept_count = 0;
}

void out_keep_row(struct out *out, const struct uncore_row *row, double spread)
{
	if (out->kept_count == out->kept_room) {
		out->kept_room = out->kept_room ? 2 * out->kept_room : 64;
		out->kept = cli_realloc(out->kept, out->kept_room, sizeof(*out->kept));
	}
	out->kept[out->kept_count++] = (struct out_kept){.row = row, .spread = spread};
}

/* All metrics of a run are restricted alike; events are not. */
static const char *filter_of(const struct out *out)
{
	for (size_t i = 0; i < out->kept_count; i++)
		if (out->kept[i].row->filter)
			return out->kept[i].row->filter;
	return NULL;
}

void out_text_header(struct out *out)
{
	char window[48];

	if (out->begun && (out->setup.intervals || out->frame.total))
		return;
	if (out->setup.simulated)
		buffer_printf(out->to, "SIMULATED by %s: these values are invented.\n",
			      out->setup.source);
	if (filter_of(out))
		buffer_printf(out->to, "Metrics are restricted by %s.\n", filter_of(out));
	if (out->setup.intervals)
		return;
	human_duration(window, sizeof(window), out->frame.window);
	if (out->frame.runs)
		buffer_printf(out->to, "Mean of %u runs, %s each", out->frame.runs, window);
	else
		buffer_printf(out->to, "Counted for %s", window);
	if (out->setup.command)
		buffer_printf(out->to, " of '%s'", out->setup.command);
	buffer_puts(out->to, "\n\n");
}

void out_text_time(struct out *out)
{
	if (!out->setup.intervals)
		return;
	buffer_puts(out->to, out->begun ? "\n" : "");
	if (out->frame.total)
		buffer_puts(out->to, "total\n");
	else
		buffer_printf(out->to, "%.6f s\n", out->frame.time);
}

bool out_same_place(const struct uncore_row *a, const struct uncore_row *b)
{
	return a->port == b->port && a->socket == b->socket && a->cpu == b->cpu && a->pmu == b->pmu;
}

static bool said_before(const struct out *out, size_t end, const char *reason)
{
	for (size_t i = 0; i < end; i++) {
		const char *said = out->kept[i].row->reason;

		if (said && strcmp(said, reason) == 0)
			return true;
	}
	return false;
}

void out_reasons(struct out *out, const struct uncore_row *place)
{
	double least = 1;

	for (size_t i = 0; i < out->kept_count; i++) {
		const struct uncore_row *row = out->kept[i].row;

		if (place && !out_same_place(row, place))
			continue;
		if (row->quality == UNCORE_SCALED && row->coverage < least)
			least = row->coverage;
		if (!row->reason || said_before(out, i, row->reason))
			continue;
		buffer_printf(out->to, "! %s is %s:\n", row->name,
			      uncore_quality_name(row->quality));
		buffer_wrap(out->to, 4, TABLE_WIDTH, row->reason);
	}
	if (least < 1)
		buffer_printf(out->to,
			      "~ scaled: the kernel shared the counters; each was counted for at "
			      "least %.3g %% of the time\n",
			      least * 100);
}

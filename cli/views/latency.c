/* SPDX-License-Identifier: MIT */
/* The three forms of a distribution of latencies. */
#include <math.h>
#include <stdio.h>

#include "output/human.h"
#include "output/json.h"
#include "output/table.h"
#include "views/latency.h"

#define BAR_WIDTH 50

/* What must not be taken for what it is not. */
static const char about[] =
	"Core clocks from the miss of the first data cache to the data, of sampled loads; not the "
	"average latency of memory: loads that hit, stores, prefetches and what devices do are not "
	"in it";

/* ---- text ------------------------------------------------------------------------------------ */

static void put_count_text(struct buffer *to, uint64_t count, const char *what)
{
	struct human h;

	human_value(&h, (double)count, "");
	buffer_printf(to, "%s %s", h.number, what);
}

static void put_missing(struct buffer *to, const char *what, uint64_t count)
{
	struct human h;

	human_value(&h, (double)count, "");
	if (count)
		buffer_printf(to, "%s: %s\n", what, h.number);
}

static void put_head(const struct latency_window *w, struct buffer *to)
{
	const struct uncore_latency_counts *c = uncore_latency_total(w->samples);
	const char *note = uncore_latency_note(w->samples);
	char window[48];

	if (isfinite(w->seconds)) {
		human_duration(window, sizeof(window), w->seconds);
		buffer_printf(to, "Sampled for %s, to %.3f s: ", window, w->time);
	} else {
		buffer_printf(to, "Recorded in %s: ", w->source);
	}
	put_count_text(to, c->samples, "ops, ");
	put_count_text(to, c->loads, "of them loads, ");
	put_count_text(to, c->used, "with a miss");
	if (w->least)
		buffer_printf(to, " of %u clocks or more", w->least);
	buffer_puts(to, "\n");
	put_missing(to, "loads without a latency (prefetches, uncached)", c->unusable);
	put_missing(to, "samples LOST for want of room", c->lost);
	put_missing(to, "times that the kernel held sampling back", c->throttled);
	put_missing(to, "records that make no sense", c->broken);
	if (c->coverage < 1)
		buffer_printf(to,
			      "sampled for %.3g %% of the time only: somebody else has IBS, too\n",
			      c->coverage * 100);
	if (note)
		buffer_printf(to, "%s\n", note);
}

static void put_rows(const struct latency_window *w, struct buffer *to)
{
	static const struct table_column columns[] = {
		{"DATA FROM", false}, {"SAMPLES", true},  {"SHARE", true},
		{"MEAN", true},       {"50 %", true},     {"90 %", true},
		{"99 %", true},       {"QUALITY", false}, {0},
	};
	double used = (double)uncore_latency_total(w->samples)->used;
	struct table t;

	table_init(&t, columns);
	for (size_t i = 0; i < uncore_latency_count(w->samples); i++) {
		const struct uncore_latency_row *row = uncore_latency_at(w->samples, i);
		struct human h;

		human_value(&h, (double)row->samples, "");
		table_cell(&t, "%s", row->source);
		table_cell(&t, "%s", h.number);
		table_cell(&t, "%.1f %%", 100 * (double)row->samples / used);
		table_cell(&t, "%.1f", row->mean);
		table_cell(&t, "<= %.0f", row->p50);
		table_cell(&t, "<= %.0f", row->p90);
		table_cell(&t, "<= %.0f", row->p99);
		table_cell(&t, "%s", uncore_quality_name(row->quality));
		table_end_row(&t, row->reason);
	}
	table_print(&t, to);
	table_free(&t);
}

/* A power of two to the next: the bins themselves would be too many lines. */
static uint64_t samples_from(const struct uncore_latency_row *row, uint64_t from)
{
	uint64_t samples = 0;

	for (size_t i = 0; i < UNCORE_LATENCY_BINS; i++)
		if (uncore_latency_bin(i) >= from && uncore_latency_bin(i) < 2 * from)
			samples += row->bins[i];
	return samples;
}

static void put_histogram(const struct uncore_latency_row *row, struct buffer *to)
{
	uint64_t first = 0, last = 0, most = 0;

	for (uint64_t from = 1; from <= 0x8000; from *= 2) {
		uint64_t samples = samples_from(row, from);

		if (samples && !first)
			first = from;
		if (samples)
			last = from;
		if (samples > most)
			most = samples;
	}
	buffer_printf(to, "\n%s\n", row->source);
	for (uint64_t from = first; from && from <= last; from *= 2) {
		uint64_t samples = samples_from(row, from);
		size_t width = (size_t)((double)samples / (double)most * BAR_WIDTH + 0.5);
		char range[48];

		snprintf(range, sizeof(range), "%llu-%llu", (unsigned long long)from,
			 (unsigned long long)(2 * from - 1));
		buffer_printf(to, "  %11s ", range);
		for (size_t i = 0; i < width; i++)
			buffer_puts(to, "#");
		buffer_spaces(to, BAR_WIDTH + 1 - width);
		buffer_printf(to, "%llu\n", (unsigned long long)samples);
	}
}

void latency_text(const struct latency_window *w, struct buffer *to)
{
	if (!w->first)
		buffer_puts(to, "\n");
	put_head(w, to);
	buffer_hang(to, 0, TABLE_WIDTH, "", about);
	buffer_puts(to, "\n");
	if (!uncore_latency_count(w->samples))
		buffer_puts(to, "No sampled load had such a miss.\n");
	put_rows(w, to);
	for (size_t i = 0; i < uncore_latency_count(w->samples); i++)
		put_histogram(uncore_latency_at(w->samples, i), to);
}

/* ---- CSV ------------------------------------------------------------------------------------- */

static void put_real(struct buffer *to, double value)
{
	char text[REAL_ROOM];

	text_real(text, value);
	buffer_printf(to, "%s,", text);
}

static void put_quoted(struct buffer *to, const char *text)
{
	buffer_puts(to, "\"");
	for (; *text; text++)
		buffer_printf(to, "%s%c", *text == '"' ? "\"" : "", *text);
	buffer_puts(to, "\"");
}

static void put_bins(const struct uncore_latency_row *row, struct buffer *to)
{
	const char *gap = "";

	for (size_t i = 0; i < UNCORE_LATENCY_BINS; i++) {
		if (!row->bins[i])
			continue;
		buffer_printf(to, "%s%llu-%llu:%llu", gap,
			      (unsigned long long)uncore_latency_bin(i),
			      (unsigned long long)uncore_latency_bin(i + 1) - 1,
			      (unsigned long long)row->bins[i]);
		gap = " ";
	}
}

void latency_csv(const struct latency_window *w, struct buffer *to)
{
	if (w->first)
		buffer_puts(to,
			    "time,interval,source,kind,name,samples,mean,p50,p90,p99,unit,quality,"
			    "lost,histogram,reason\n");
	for (size_t i = 0; i < uncore_latency_count(w->samples); i++) {
		const struct uncore_latency_row *row = uncore_latency_at(w->samples, i);

		put_real(to, w->time);
		put_real(to, w->seconds);
		put_quoted(to, w->source);
		buffer_puts(to, ",latency,");
		put_quoted(to, row->source);
		buffer_printf(to, ",%llu,", (unsigned long long)row->samples);
		put_real(to, row->mean);
		put_real(to, row->p50);
		put_real(to, row->p90);
		put_real(to, row->p99);
		buffer_printf(to, "cycles,%s,%llu,", uncore_quality_name(row->quality),
			      (unsigned long long)uncore_latency_total(w->samples)->lost);
		put_bins(row, to);
		buffer_puts(to, ",");
		if (row->reason)
			put_quoted(to, row->reason);
		buffer_puts(to, "\n");
	}
}

/* ---- JSON lines ------------------------------------------------------------------------------ */

static json_t *bins_json(const struct uncore_latency_row *row)
{
	json_t *bins = json_array();

	for (size_t i = 0; i < UNCORE_LATENCY_BINS; i++) {
		json_t *bin;

		if (!row->bins[i])
			continue;
		bin = json_object();
		json_put(bin, "from", json_count(uncore_latency_bin(i)));
		json_put(bin, "to", json_count(uncore_latency_bin(i + 1) - 1));
		json_put(bin, "samples", json_count(row->bins[i]));
		json_push(bins, bin);
	}
	return bins;
}

static json_t *row_json(const struct uncore_latency_row *row)
{
	json_t *object = json_object();

	json_put(object, "name", json_text(row->source));
	json_put(object, "samples", json_count(row->samples));
	json_put(object, "mean", json_number(row->mean));
	json_put(object, "p50", json_number(row->p50));
	json_put(object, "p90", json_number(row->p90));
	json_put(object, "p99", json_number(row->p99));
	json_put(object, "quality", json_text(uncore_quality_name(row->quality)));
	json_put(object, "reason", json_text(row->reason));
	json_put(object, "histogram", bins_json(row));
	return object;
}

void latency_json(const struct latency_window *w, struct buffer *to)
{
	const struct uncore_latency_counts *c = uncore_latency_total(w->samples);
	json_t *object = json_object(), *rows = json_array();

	json_put(object, "schema", json_integer(JSON_SCHEMA));
	json_put(object, "time", json_number(w->time));
	json_put(object, "interval", json_number(w->seconds));
	json_put(object, "source", json_text(w->source));
	json_put(object, "kind", json_text("latency"));
	json_put(object, "unit", json_text("cycles"));
	json_put(object, "about", json_text(about));
	json_put(object, "note", json_text(uncore_latency_note(w->samples)));
	json_put(object, "least", json_integer(w->least));
	json_put(object, "ops", json_count(c->samples));
	json_put(object, "loads", json_count(c->loads));
	json_put(object, "used", json_count(c->used));
	json_put(object, "unusable", json_count(c->unusable));
	json_put(object, "lost", json_count(c->lost));
	json_put(object, "throttled", json_count(c->throttled));
	json_put(object, "broken", json_count(c->broken));
	json_put(object, "coverage", json_number(c->coverage));
	for (size_t i = 0; i < uncore_latency_count(w->samples); i++)
		json_push(rows, row_json(uncore_latency_at(w->samples, i)));
	json_put(object, "rows", rows);
	json_print(object, JSON_COMPACT | (size_t)JSON_REAL_PRECISION(15), to);
}

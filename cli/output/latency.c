/* SPDX-License-Identifier: MIT */
#include "output/latency.h"

#include <math.h>
#include <stdio.h>

#define BAR_WIDTH 50

static const char about[] =
	"Core clocks from the miss of the first data cache to the data, of sampled loads; not the "
	"average latency of memory: loads that hit, stores, prefetches and DMA are not included";

/* ---- text ---- */

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
	const struct {
		uint64_t count;
		const char *what;
	} counts[] = {
		{c->samples, "ops, "}, {c->loads, "of them loads, "}, {c->used, "with a miss"}};
	const char *note = uncore_latency_note(w->samples);
	struct human h;

	if (isfinite(w->seconds)) {
		human_value(&h, w->seconds, "s");
		buffer_printf(to, "Sampled for %s, to %.3f s: ", h.text, w->time);
	} else {
		buffer_printf(to, "Recorded in %s: ", w->source);
	}
	for (size_t i = 0; i < sizeof(counts) / sizeof(*counts); i++) {
		human_value(&h, (double)counts[i].count, "");
		buffer_printf(to, "%s %s", h.number, counts[i].what);
	}
	if (w->least)
		buffer_printf(to, " of %u clocks or more", w->least);
	buffer_puts(to, "\n");
	put_missing(to, "loads without a latency (prefetches, uncached)", c->unusable);
	put_missing(to, "samples LOST because a buffer was full", c->lost);
	put_missing(to, "times that the kernel throttled sampling", c->throttled);
	put_missing(to, "invalid records", c->broken);
	if (c->coverage < 1)
		buffer_printf(
			to, "sampled for %.3g %% of the time only: another program uses IBS, too\n",
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

/* The samples from a power of two up to the next one: a line for each bin would be too many. */
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

static void print_text(const struct latency_window *w, struct buffer *to)
{
	if (!w->first)
		buffer_puts(to, "\n");
	put_head(w, to);
	buffer_wrap(to, 0, text_columns(), about);
	buffer_puts(to, "\n");
	if (!uncore_latency_count(w->samples))
		buffer_puts(to, "No sampled load had such a miss.\n");
	put_rows(w, to);
	for (size_t i = 0; i < uncore_latency_count(w->samples); i++)
		put_histogram(uncore_latency_at(w->samples, i), to);
}

/* ---- records: of each row for CSV, of each window where a record can contain lists ---- */

static void print_row(const struct latency_window *w, const struct uncore_latency_row *row,
		      struct out *out)
{
	auto_buffer bins = {0};

	for (size_t i = 0; row->bins && i < UNCORE_LATENCY_BINS; i++)
		if (row->bins[i])
			buffer_printf(&bins, "%s%llu-%llu:%llu", bins.len ? " " : "",
				      (unsigned long long)uncore_latency_bin(i),
				      (unsigned long long)uncore_latency_bin(i + 1) - 1,
				      (unsigned long long)row->bins[i]);
	out->output->record(
		out,
		RECORD({"time", value_real(w->time)}, {"interval", value_real(w->seconds)},
		       {"source", value_text(w->source)}, {"kind", value_text("latency")},
		       {"name", value_text(row->source)}, {"samples", value_count(row->samples)},
		       {"mean", value_real(row->mean)}, {"p50", value_real(row->p50)},
		       {"p90", value_real(row->p90)}, {"p99", value_real(row->p99)},
		       {"unit", value_text("cycles")},
		       {"quality", value_text(uncore_quality_name(row->quality))},
		       {"lost", value_count(uncore_latency_total(w->samples)->lost)},
		       {"histogram", value_text(bins.data)}, {"reason", value_text(row->reason)}));
}

static json_t *row_record(const struct uncore_latency_row *row)
{
	json_t *bins = json_array();

	for (size_t i = 0; i < UNCORE_LATENCY_BINS; i++)
		if (row->bins[i])
			json_push(bins, json_record(RECORD(
						{"from", value_count(uncore_latency_bin(i))},
						{"to", value_count(uncore_latency_bin(i + 1) - 1)},
						{"samples", value_count(row->bins[i])})));
	return json_record((const struct field[]){
		{"name", value_text(row->source)},
		{"samples", value_count(row->samples)},
		{"mean", value_real(row->mean)},
		{"p50", value_real(row->p50)},
		{"p90", value_real(row->p90)},
		{"p99", value_real(row->p99)},
		{"quality", value_text(uncore_quality_name(row->quality))},
		{"reason", value_text(row->reason)},
		{"histogram", value_json(bins)},
		{0},
	});
}

static void print_window(const struct latency_window *w, struct out *out)
{
	const struct uncore_latency_counts *c = uncore_latency_total(w->samples);
	json_t *rows = json_array();
	const struct field fields[] = {
		{"schema", value_count(JSON_SCHEMA)},
		{"time", value_real(w->time)},
		{"interval", value_real(w->seconds)},
		{"source", value_text(w->source)},
		{"kind", value_text("latency")},
		{"unit", value_text("cycles")},
		{"about", value_text(about)},
		{"note", value_text(uncore_latency_note(w->samples))},
		{"least", value_count(w->least)},
		{"ops", value_count(c->samples)},
		{"loads", value_count(c->loads)},
		{"used", value_count(c->used)},
		{"unusable", value_count(c->unusable)},
		{"lost", value_count(c->lost)},
		{"throttled", value_count(c->throttled)},
		{"broken", value_count(c->broken)},
		{"coverage", value_real(c->coverage)},
		{"rows", value_json(rows)},
		{0},
	};

	for (size_t i = 0; i < uncore_latency_count(w->samples); i++)
		json_push(rows, row_record(uncore_latency_at(w->samples, i)));
	out->output->record(out, fields);
}

void latency_print(const struct latency_window *w, struct out *out)
{
	static const struct uncore_latency_row none = {
		.mean = NAN,
		.p50 = NAN,
		.p90 = NAN,
		.p99 = NAN,
		.quality = UNCORE_UNAVAILABLE,
		.reason = "no sampled load had such a miss",
	};

	size_t count = uncore_latency_count(w->samples);

	if (!out->output->record)
		print_text(w, out->to);
	else if (out->output->document)
		print_window(w, out);
	else
		for (size_t i = 0; i < (count ? count : 1); i++)
			print_row(w, count ? uncore_latency_at(w->samples, i) : &none, out);
}

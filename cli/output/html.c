/* SPDX-License-Identifier: MIT */
/* A page with all of its data, style (web/page.css) and drawing (web/page.js), which loads nothing. A head, then each
 * window as JSON, and the last one as a table, too, which needs no script. It is written as it comes: what an early end
 * leaves is a page. Of a long run it does not become too large: after each MERGE_AFTER windows the next ones have twice as
 * many intervals. The second half of the time then still has MERGE_AFTER windows, more than a screen shows. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "output/output.h"

#define MERGE_AFTER 2000

/* Made by tools/embed.py. */
extern const char web_page_css[], web_page_js[];

/* The window that is written next. */
struct html {
	uint64_t written;       /* windows before it */
	uint64_t intervals;     /* in it */
	struct out_frame frame; /* of all of them */
	struct html_row {
		double value, rate;          /* means, or the sum of an event's counts; NaN: none */
		double seconds;              /* with a value */
		double least, most;          /* short sample, or interval */
		enum uncore_quality quality; /* the worst */
		char *reason;                /* of that */
	} * rows;
	size_t row_count;
};

/* As markup, or with `json` as text in a script, where no '<' may stand. */
static void put_escaped(struct buffer *to, const char *text, bool json)
{
	static const struct {
		char c;
		const char *markup, *json;
	} escapes[] = {{'<', "&lt;", "\\u003c"}, {'&', "&amp;", "&"}, {'"', "&quot;", "\""}};

	for (size_t len; *text; text += len) {
		len = strcspn(text, "<&\"");
		buffer_add(to, text, len);
		for (size_t i = 0; text[len] && i < sizeof(escapes) / sizeof(*escapes); i++)
			if (text[len] == escapes[i].c)
				buffer_puts(to, json ? escapes[i].json : escapes[i].markup);
		len += text[len] != '\0';
	}
}

static void put_cell(struct buffer *to, const char *begin, const char *text, const char *end)
{
	buffer_puts(to, begin);
	put_escaped(to, text ? text : "-", false);
	buffer_puts(to, end);
}

static void put_json(struct buffer *to, const char *kind, json_t *value)
{
	struct buffer text = {0};

	json_print(value, JSON_COMPACT | JSON_REAL_PRECISION(15), &text);
	buffer_printf(to, "<script type=\"application/json\" class=\"%s\">", kind);
	put_escaped(to, buffer_text(&text), true);
	buffer_puts(to, "</script>\n");
	buffer_free(&text);
}

void html_output_begin(struct out *out, json_t *about)
{
	const struct out_setup *s = &out->setup;
	struct buffer *to = out->to;
	const char *const facts[][2] = {{"host", s->host},
					{"CPU model", uncore_cpu_model(s->machine)},
					{"source", s->source},
					{"command", s->command_line},
					{"recorded by", s->recorded},
					{"uncore", uncore_version()}};

	to->records = true;
	out->html = cli_realloc(NULL, 1, sizeof(*out->html));
	*out->html = (struct html){0};
	buffer_printf(
		to,
		"<!DOCTYPE html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n"
		"<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
		"<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
		"style-src 'unsafe-inline'; script-src 'unsafe-inline'\">\n"
		"<title>uncore</title>\n<style>\n%s</style>\n<script>\n%s</script>\n<main>\n<h1>uncore</h1>\n",
		web_page_css, web_page_js);
	if (s->simulated)
		buffer_puts(to,
			    "<p class=\"simulated\">SIMULATED: no counter of this machine.</p>\n");
	buffer_puts(to, "<dl>\n");
	for (size_t i = 0; i < sizeof(facts) / sizeof(*facts); i++) {
		if (!facts[i][1])
			continue;
		put_cell(to, "<dt>", facts[i][0], "</dt>");
		put_cell(to, "<dd>", facts[i][1], "</dd>\n");
	}
	buffer_puts(to, "</dl>\n<noscript><p>Charts need JavaScript; the table of totals does not."
			"</p></noscript>\n<div id=\"charts\"></div>\n");
	put_json(to, "about", about);
}

/* Of an event, unless it is a state. */
static bool is_rate(const struct uncore_row *row)
{
	return !row->query.family && (isfinite(row->rate) || !isfinite(row->value));
}

/* What a row has in all windows. */
static json_t *row_record(const struct uncore_row *row)
{
	bool rate = is_rate(row);
	char unit[OUT_UNIT_ROOM];
	struct buffer place = {0};
	json_t *record;

	out_rate_unit(row, unit);
	out_place(&place, &row->place);
	record = json_record(RECORD(
		{"name", value_text(row->query.name)}, {"family", value_text(row->query.family)},
		{"unit", value_text(rate ? unit : row->query.unit)}, {"event", value_flag(rate)},
		{"place", value_text(place.data)}, {"role", value_text(row->place.role)},
		{"filter", value_text(row->query.filter)}, {"ceiling", value_real(row->ceiling)}));
	buffer_free(&place);
	return record;
}

static json_t *real(double value)
{
	return isfinite(value) ? json_real(value) : json_null();
}

static void merge_row(struct html_row *to, const struct out_row *from, double seconds)
{
	const struct uncore_row *row = from->row;
	const struct uncore_distribution *d = from->distribution;
	char unit[OUT_UNIT_ROOM];
	double scale = out_rate_unit(row, unit), rate = row->rate * scale;
	double shown = is_rate(row) ? rate : row->value;

	if (row->quality > to->quality) {
		free(to->reason);
		to->reason = row->reason ? cli_copy(row->reason) : NULL;
		to->quality = row->quality;
	}
	to->least = fmin(to->least, d ? d->least * scale : shown);
	to->most = fmax(to->most, d ? d->most * scale : shown);
	if (!isfinite(row->value))
		return;
	to->seconds += seconds;
	if (!isfinite(to->value)) {
		to->value = row->value;
		to->rate = rate;
		return;
	}
	to->value += is_rate(row) ? row->value : (row->value - to->value) * seconds / to->seconds;
	to->rate += (rate - to->rate) * seconds / to->seconds;
}

/* Begins the next window. */
static void clear(struct html *h, size_t row_count)
{
	for (size_t i = 0; i < h->row_count; i++)
		free(h->rows[i].reason);
	h->rows = cli_realloc(h->rows, row_count + 1, sizeof(*h->rows));
	h->row_count = row_count;
	h->intervals = 0;
	h->frame = (struct out_frame){0};
	for (size_t i = 0; i < row_count; i++)
		h->rows[i] = (struct html_row){NAN, NAN, 0, NAN, NAN, UNCORE_MEASURED, NULL};
}

void html_free(struct html *h)
{
	if (!h)
		return;
	clear(h, 0);
	free(h->rows);
	free(h);
}

/* Adds the rows of an interval to the window. */
static void merge(struct out *out)
{
	struct html *h = out->html;
	struct out_frame before = h->frame;

	h->intervals++;
	h->frame = out->frame;
	h->frame.window += before.window;
	h->frame.missed += before.missed;
	for (size_t i = 0; i < h->row_count; i++)
		merge_row(&h->rows[i], &out->rows[i], out->frame.window);
}

/* Rows that are not measured, with the reason; NULL: as in the window before, of which out->said has the text. */
static json_t *quality_of(struct out *out)
{
	json_t *list = json_array();
	struct buffer text = {0};
	bool same;

	for (size_t i = 0; i < out->html->row_count; i++) {
		const struct html_row *row = &out->html->rows[i];

		if (row->quality != UNCORE_MEASURED)
			json_push(list, json_pack("[I,s,o]", (json_int_t)i,
						  uncore_quality_name(row->quality),
						  json_text(row->reason)));
	}
	json_print(json_incref(list), JSON_COMPACT, &text);
	same = out->said.data && strcmp(out->said.data, text.data) == 0;
	buffer_free(&out->said);
	out->said = text;
	if (!same)
		return list;
	json_decref(list);
	return NULL;
}

static json_t *distribution_record(struct out *out, const struct out_row *row)
{
	struct field fields[OUT_FIELDS_ROOM] = {{0}};
	char unit[OUT_UNIT_ROOM];

	out_add_distribution(out, row->distribution, out_rate_unit(row->row, unit), fields);
	return json_record(fields);
}

/* With the rows in the first one, and the distributions in the last one, which has the rows of `out`. */
static void put_window(struct out *out, bool last)
{
	struct html *h = out->html;
	bool spread = h->intervals > 1 || (out->row_count && out->rows[0].distribution);
	json_t *rows = json_array(), *values = json_array(), *rates = json_array();
	json_t *least = json_array(), *most = json_array(), *distributions = json_array();
	json_t *quality = quality_of(out);
	json_t *window = json_record(RECORD(
		{"time", value_real(h->frame.time)}, {"interval", value_real(h->frame.window)},
		{"intervals", value_count(h->intervals)},
		{"wall_ns", value_count(h->frame.wall_ns)},
		{"missed", value_count(h->frame.missed)}, {"total", value_flag(h->frame.total)},
		{"values", value_json(values)}, {"rates", value_json(rates)}));

	for (size_t i = 0; i < h->row_count; i++) {
		if (!h->written)
			json_push(rows, row_record(out->rows[i].row));
		json_push(values, real(h->rows[i].value));
		json_push(rates, real(h->rows[i].rate));
		json_push(least, real(h->rows[i].least));
		json_push(most, real(h->rows[i].most));
		if (last && out->rows[i].distribution)
			json_push(distributions, distribution_record(out, &out->rows[i]));
	}
	if (!h->written++)
		json_object_set(window, "rows", rows);
	if (quality)
		json_object_set_new(window, "quality", quality);
	if (spread) {
		json_object_set(window, "least", least);
		json_object_set(window, "most", most);
	}
	if (last)
		json_object_set(window, "distributions", distributions);
	json_decref(rows);
	json_decref(least);
	json_decref(most);
	json_decref(distributions);
	put_json(out->to, "window", window);
	clear(h, out->row_count);
}

static void put_number(struct buffer *to, double value, const char *unit)
{
	struct human h;

	human_value(&h, value, unit);
	buffer_printf(to, "<td class=\"number\">%s ", h.number);
	put_cell(to, "", h.unit, "</td>");
}

static void put_totals(struct out *out)
{
	struct buffer *to = out->to;
	bool rates = false;

	for (size_t i = 0; i < out->row_count; i++)
		rates = rates || isfinite(out->rows[i].row->rate);
	buffer_printf(
		to,
		"<div class=\"wide\" tabindex=\"0\"><table id=\"totals\"><caption>Over %.3f s, to %s"
		"</caption>\n<tr><th>name</th><th>place</th><th>value</th>%s"
		"<th>quality</th></tr>\n",
		out->frame.window, out->date, rates ? "<th>rate</th>" : "");
	for (size_t i = 0; i < out->row_count; i++) {
		const struct uncore_row *row = out->rows[i].row;
		struct buffer place = {0}, note = {0};
		char unit[OUT_UNIT_ROOM];
		double scale = out_rate_unit(row, unit);

		out_place(&place, &row->place);
		if (row->reason)
			human_text(&note, row->reason);
		put_cell(to, "<tr><td>", row->query.name, "</td>");
		put_cell(to, "<td>", place.data, "</td>");
		put_number(to, row->value, row->query.unit);
		if (isfinite(row->rate))
			put_number(to, row->rate * scale, unit);
		else if (rates)
			buffer_puts(to, "<td></td>");
		put_cell(to, "<td>", uncore_quality_name(row->quality), note.len ? ": " : "");
		put_cell(to, "", buffer_text(&note), "</td></tr>\n");
		buffer_free(&place);
		buffer_free(&note);
	}
	buffer_puts(to, "</table></div>\n");
}

void html_output_window(struct out *out)
{
	struct html *h = out->html;
	bool last = out->frame.total || !out->setup.intervals;

	if (h->intervals && last)
		put_window(out, false);
	if (!h->intervals)
		clear(h, out->row_count);
	merge(out);
	if (last || h->intervals >> (h->written / MERGE_AFTER))
		put_window(out, last);
	if (last)
		put_totals(out);
}

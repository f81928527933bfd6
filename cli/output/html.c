/* SPDX-License-Identifier: MIT */
/* A page that contains its data, style (web/page.css) and scripts (web/page.js, map.js, words.js),
 * and loads nothing. It has a head, then each window as JSON, and the last window also as a
 * table, which needs no script. Each window is written at once, so that a run that is killed
 * leaves a page that can be read. After each MERGE_AFTER windows a window has twice as many
 * intervals, so that the page of a long run stays small. The second half of the time still has
 * MERGE_AFTER windows, which is more than a screen shows. */
#include <math.h>
#include <string.h>

#include "base/cli.h"
#include "output/output.h"
#include "output/windows.h"

#define MERGE_AFTER 2000

/* Made by tools/embed.py. */
extern const char web_map_js[], web_page_css[], web_page_js[], web_words_js[];

/* Escapes text for markup, or with `json` for a script element, in which '<' is not allowed. */
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
	auto_buffer text = {0};

	json_print(value, JSON_COMPACT | JSON_REAL_PRECISION(15), &text);
	buffer_printf(to, "<script type=\"application/json\" class=\"%s\">", kind);
	put_escaped(to, buffer_text(&text), true);
	buffer_puts(to, "</script>\n");
}

void html_output_begin(struct out *out, json_t *about)
{
	const struct out_setup *s = &out->setup;
	struct buffer *to = out->to;
	char cpu[CPU_ROOM];
	const char *const facts[][2] = {{"host", s->host},
					{"CPU", cli_cpu(s->machine, cpu)},
					{"source", s->source},
					{"command", s->command_line},
					{"recorded by", s->recorded},
					{"uncore", uncore_version()}};

	to->records = true;
	out->html.next = windows_new();
	buffer_printf(
		to,
		"<!DOCTYPE html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n"
		"<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
		"<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
		"style-src 'unsafe-inline'; script-src 'unsafe-inline'\">\n"
		"<title>uncore</title>\n<style>\n%s</style>\n<script>\n%s%s%s</script>\n<main>\n<h1>uncore</h1>\n",
		web_page_css, web_page_js, web_map_js, web_words_js);
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

/* Puts a window. The first one has the list of rows and the screen, and the last one the
 * distributions. */
static void put_window(struct out *out, bool last)
{
	json_t *quality = windows_quality(out->html.next, &out->html.quality);
	json_t *window = windows_take(out->html.next, out, last);

	if (!out->html.written++) {
		json_object_set_new(window, "rows", windows_rows(out));
		json_object_set_new(window, "screen", windows_screen(out));
	}
	if (quality)
		json_object_set_new(window, "quality", quality);
	put_json(out->to, "window", window);
}

static void put_number(struct buffer *to, double value, const char *unit)
{
	const struct human h = human(value, unit);

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
		auto_buffer place = {0}, note = {0};
		char unit[OUT_UNIT_ROOM];
		double scale = out_rate_unit(row, unit);

		if (row->extra)
			continue;
		out_place(&place, row->place);
		if (row->reason)
			human_text(&note, row->reason);
		put_cell(to, "<tr><td>", row->query->name, "</td>");
		put_cell(to, "<td>", place.data, "</td>");
		put_number(to, row->value, row->query->unit);
		if (isfinite(row->rate))
			put_number(to, row->rate * scale, unit);
		else if (rates)
			buffer_puts(to, "<td></td>");
		put_cell(to, "<td>", uncore_quality_name(row->quality), note.len ? ": " : "");
		put_cell(to, "", buffer_text(&note), "</td></tr>\n");
	}
	buffer_puts(to, "</table></div>\n");
}

void html_output_window(struct out *out)
{
	struct out_html *h = &out->html;
	bool last = out->frame.total || !out->setup.intervals;

	if (windows_intervals(h->next) && last)
		put_window(out, false);
	windows_add(h->next, out);
	if (last || windows_intervals(h->next) >> (h->written / MERGE_AFTER))
		put_window(out, last);
	if (last)
		put_totals(out);
}

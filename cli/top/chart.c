/* SPDX-License-Identifier: MIT */
/* The graph of one line: what arrives, what leaves and both, scaled to the ceiling. */
#include <math.h>

#include "base/cli.h"
#include "top/view.h"

#define AXIS_WIDTH 11
#define SERIES_MOST 3
#define WIDE 120 /* columns for all words of the title */

const struct view_range view_ranges[VIEW_RANGES] = {
	{"1min", 60}, {"5min", 300}, {"15min", 900}, {"30min", 1800}, {"60min", 3600}};

/* ---- values of a line ---- */

double chart_ceiling(const struct top_data *d, const struct screen_line *line)
{
	double most = NAN;

	for (int k = 0; k <= UNCORE_COLUMN_TOTAL; k++) {
		const struct uncore_row *row = data_row(d, line->rows[k]);

		if (row && row->ceiling > 0)
			most = fmax(most, row->ceiling);
	}
	return most;
}

static bool has_share(const struct top_data *d, const struct screen_line *line)
{
	return data_row(d, line->rows[UNCORE_COLUMN_SHARE]);
}

bool chart_is_limited(const struct top_data *d, const struct screen_line *line)
{
	return isfinite(chart_ceiling(d, line)) || has_share(d, line);
}

float chart_value(const struct top_data *d, const struct screen_line *line, unsigned ago,
		  unsigned per)
{
	float in = data_mean(d, line->rows[UNCORE_COLUMN_IN], ago, per),
	      out = data_mean(d, line->rows[UNCORE_COLUMN_OUT], ago, per);
	bool has_in = line->rows[UNCORE_COLUMN_IN] != SCREEN_NONE,
	     has_out = line->rows[UNCORE_COLUMN_OUT] != SCREEN_NONE;

	if (line->rows[UNCORE_COLUMN_TOTAL] != SCREEN_NONE)
		return data_mean(d, line->rows[UNCORE_COLUMN_TOTAL], ago, per);
	if (!has_in && !has_out)
		return data_mean(d, line->rows[UNCORE_COLUMN_LATENCY], ago, per);
	return !has_in ? out : !has_out ? in : in + out;
}

float chart_level(const struct top_data *d, const struct screen_line *line, double scale,
		  unsigned ago, unsigned per)
{
	double share = NAN;

	for (int k = 0; k <= UNCORE_COLUMN_TOTAL; k++) {
		const struct uncore_row *row = data_row(d, line->rows[k]);

		if (row && row->ceiling > 0)
			share = fmax(share, data_mean(d, line->rows[k], ago, per) / row->ceiling);
	}
	if (isfinite(share) || isfinite(chart_ceiling(d, line)))
		return (float)share;
	if (has_share(d, line))
		return data_mean(d, line->rows[UNCORE_COLUMN_SHARE], ago, per);
	return (float)(chart_value(d, line, ago, per) / scale);
}

void view_text(struct buffer *text, double value, const char *unit, enum units units, int width)
{
	const struct human h = human_in(value, unit, units);

	if ((int)text_width(h.text) > width && units != UNITS_RAW)
		buffer_printf(text, "%.4g M%s", value / 1e6, *unit == '1' ? unit + 1 : unit);
	else
		buffer_puts(text, h.text);
}

/* ---- what is drawn ---- */

struct series {
	size_t row, also; /* rows whose sum it is; SCREEN_NONE: no second one */
	const char *title;
	enum top_style style;
};

struct chart {
	struct series series[SERIES_MOST];
	size_t count;
	const char *title, *label, *detail, *unit; /* title: of the view, or "" */
	double ceiling;                            /* NaN: unknown */
	const struct screen_line *of; /* its share is drawn, divided as its traffic is; NULL */
};

static void add_series(struct chart *chart, const struct top_data *d, size_t row, size_t also,
		       const char *title, enum top_style style)
{
	if (row >= d->count || chart->count == SERIES_MOST)
		return;
	chart->series[chart->count++] = (struct series){row, also, title, style};
	chart->unit = data_row(d, row)->query->unit;
}

static void chart_of_line(struct chart *chart, const struct top_data *d,
			  const struct screen_line *line)
{
	static const enum top_style styles[] = {STYLE_IN, STYLE_OUT, STYLE_PLAIN};
	size_t in = line->rows[UNCORE_COLUMN_IN], out = line->rows[UNCORE_COLUMN_OUT];

	*chart = (struct chart){.title = uncore_view_title(line->view),
				.label = line->label,
				.detail = line->detail,
				.ceiling = chart_ceiling(d, line)};
	/* The sum of two directions has another ceiling than each of them. */
	if (line->rows[UNCORE_COLUMN_TOTAL] == SCREEN_NONE && in != SCREEN_NONE &&
	    out != SCREEN_NONE && !isfinite(chart->ceiling))
		add_series(chart, d, in, out, "TOTAL", STYLE_PLAIN);
	for (int k = UNCORE_COLUMN_TOTAL; k >= 0; k--)
		add_series(chart, d, line->rows[k], SCREEN_NONE,
			   uncore_view_column_title(line->view, (enum uncore_column)k), styles[k]);
	if (!chart->count)
		add_series(chart, d, line->rows[UNCORE_COLUMN_LATENCY], SCREEN_NONE, "LATENCY",
			   STYLE_PLAIN);
	if (!isfinite(chart->ceiling) && chart->count && has_share(d, line))
		chart->of = line;
}

static bool chart_of_row(struct chart *chart, const struct top_view *v)
{
	const struct top_model *m = &v->tree;
	const struct uncore_row *row = top_row(m, m->cursor);
	size_t top = top_metric(m, m->cursor);

	if (!row)
		return false;
	*chart = (struct chart){.title = "",
				.label = m->nodes[top].label,
				.detail = top == m->cursor ? "" : m->nodes[m->cursor].label,
				.ceiling = row->ceiling};
	if (m->nodes[m->cursor].is_share)
		chart->ceiling = 1;
	add_series(chart, &v->data, m->nodes[m->cursor].row, SCREEN_NONE, "VALUE", STYLE_PLAIN);
	return true;
}

static float value_of(const struct chart *chart, const struct top_data *d, const struct series *s,
		      unsigned ago, unsigned per)
{
	float value = data_mean(d, s->row, ago, per);

	if (s->also != SCREEN_NONE)
		value += data_mean(d, s->also, ago, per);
	if (chart->of && value != 0)
		value *= data_mean(d, chart->of->rows[UNCORE_COLUMN_SHARE], ago, per) /
			 chart_value(d, chart->of, ago, per);
	return value;
}

/* ---- drawing ---- */

/* The small letter that draws it without braille. */
static char mark_of(const struct series *s)
{
	return (char)(*s->title | 0x20);
}

/* "──READ" */
static void put_mark(struct buffer *text, const struct top_view *v, const struct series *s)
{
	const char mark[] = {mark_of(s), ' ', '\0'};

	buffer_printf(text, "%s%s", v->ascii ? mark : "──", s->title);
}

/* "──READ 40.00 GB/s" */
static void legend_text(struct buffer *text, const struct top_view *v, const struct series *s)
{
	struct uncore_row row = *data_row(&v->data, s->row);

	if (s->also != SCREEN_NONE)
		row.value += data_row(&v->data, s->also)->value;
	put_mark(text, v, s);
	buffer_printf(text, " %s", human_in(row.value, row.query->unit, v->units).text);
}

static void put_title(struct top_canvas *c, const struct top_view *v, const struct chart *chart,
		      int y, bool scaled)
{
	struct buffer legends[SERIES_MOST] = {{0}};
	auto_buffer right = {0};
	int end, x, left, legend = 0;

	canvas_head(c, y);
	if (chart->of)
		buffer_puts(&right, c->width < WIDE ? "of peak" : "as a share of the peak");
	else if (!scaled)
		buffer_puts(&right, c->width < WIDE ? "no ceiling" : "no ceiling: of its maximum");
	else
		buffer_printf(&right, "ceiling %s",
			      human_in(chart->ceiling, chart->unit, v->units).text);
	buffer_printf(&right, "  %s ", view_ranges[v->range].name);
	end = c->width - (int)text_width(right.data);
	canvas_text(c, end, y, c->width, STYLE_HEAD, right.data);
	for (size_t i = 0; i < chart->count; i++) {
		legend_text(&legends[i], v, &chart->series[i]);
		legend += 2 + (int)text_width(legends[i].data);
	}
	x = canvas_format(c, 0, y, end - 1, STYLE_HEAD, "%s%s%s", chart->title,
			  *chart->title ? ": " : "", chart->label);
	left = end - legend - x - 2;
	if (*chart->detail && left > 10)
		x = canvas_format(c, x, y, left, STYLE_HEAD, ", %s", chart->detail);
	for (size_t i = chart->count; i-- > 0; buffer_free(&legends[i])) {
		const struct series *s = &chart->series[i];
		int room = end - 1 - x - 2;

		/* A part of a number would be another one. */
		if ((int)text_width(legends[i].data) > room) {
			legends[i].len = 0;
			put_mark(&legends[i], v, s);
		}
		if ((int)text_width(legends[i].data) <= room)
			x = canvas_text(c, x + 2, y, room, s->style, legends[i].data);
	}
}

/* " -30 s ", " -5 min ", " now " */
static void put_time(struct buffer *text, unsigned ago)
{
	text->len = 0;
	if (!ago)
		buffer_puts(text, " now ");
	else if (ago < 120)
		buffer_printf(text, " -%u s ", ago);
	else if (ago % 60)
		buffer_printf(text, " -%u min %u s ", ago / 60, ago % 60);
	else
		buffer_printf(text, " -%u min ", ago / 60);
}

/* The times of both ends, and between them where there is room. */
static void put_times(struct top_canvas *c, const struct top_view *v,
		      const struct canvas_area *area, unsigned seconds)
{
	const int y = area->y + area->height, quarters = area->width >= 100 ? 4 : 2;
	int end = area->x;
	auto_buffer text = {0};

	for (int i = 0; i <= quarters; i++) {
		int width, x;

		put_time(&text, v->data.ago + seconds - seconds * (unsigned)i / (unsigned)quarters);
		width = (int)text_width(text.data);
		x = area->x + area->width * i / quarters - width * i / quarters;
		if (x < end || (i < quarters && x + width + 12 > area->x + area->width))
			continue;
		end = canvas_text(c, x, y, width, STYLE_FAINT, text.data) + 1;
	}
}

static void put_axes(struct top_canvas *c, const struct top_view *v, const struct chart *chart,
		     const struct canvas_area *area, double scale, unsigned seconds)
{
	const char *unit = chart->of ? "ratio" : chart->unit;
	const enum units units = v->units == UNITS_RAW ? UNITS_SI : v->units;
	auto_buffer text = {0};
	int bottom = area->y + area->height;

	for (int i = 0; i < area->height; i++)
		canvas_put(c, area->x - 1, area->y + i, c->ascii ? L'|' : L'│', STYLE_FAINT);
	for (int x = 0; x < area->width; x++)
		canvas_put(c, area->x + x, bottom, c->ascii ? L'-' : L'─', STYLE_FAINT);
	for (int i = 0; i < (area->height < 5 ? 1 : 2); i++) {
		text.len = 0;
		view_text(&text, i ? scale / 2 : scale, unit, units, AXIS_WIDTH - 1);
		canvas_right(c, area->x - 1, area->y + i * (area->height / 2), AXIS_WIDTH,
			     STYLE_FAINT, text.data);
	}
	canvas_right(c, area->x - 1, bottom - 1, AXIS_WIDTH, STYLE_FAINT, "0");
	put_times(c, v, area, seconds);
}

/* The graph of the selected line or row. False: nothing is selected. */
static bool choose(struct chart *chart, const struct top_view *v)
{
	if (!v->data.sample)
		return false;
	if (view_has_tree(v))
		return chart_of_row(chart, v);
	if (v->line >= v->data.screen.count)
		return false;
	chart_of_line(chart, &v->data, &v->data.screen.lines[v->line]);
	return chart->count;
}

/* What is above its ceiling is suspect, but must be visible. */
static double scale_of(const struct chart *chart, const float *values, size_t count)
{
	double scale = chart->of ? 1 : chart->ceiling > 0 ? chart->ceiling : 0;

	for (size_t i = 0; i < count; i++)
		scale = fmax(scale, values[i]);
	return scale;
}

void chart_draw(struct top_canvas *c, const struct top_view *v, int y, int height)
{
	const struct canvas_area area = {AXIS_WIDTH + 1, y + 1, c->width - AXIS_WIDTH - 2,
					 height - 2};
	const unsigned points = (unsigned)canvas_points(c, &area);
	const unsigned range = view_ranges[v->range].seconds;
	const unsigned per = range > points ? (range + points - 1) / points : 1; /* seconds */
	auto_free float *values = NULL;
	struct chart chart;
	double scale;

	if (!choose(&chart, v))
		return;
	values = cli_realloc(NULL, points * chart.count, sizeof(*values));
	for (unsigned i = 0; i < points * chart.count; i++)
		values[i] = value_of(&chart, &v->data, &chart.series[i / points],
				     (points - 1 - i % points) * range / points / per, per);
	scale = scale_of(&chart, values, points * chart.count);
	put_title(c, v, &chart, y, chart.ceiling > 0);
	put_axes(c, v, &chart, &area, scale, range);
	for (unsigned i = 0; i < points * chart.count; i++)
		values[i] /= (float)(scale > 0 ? scale : 1);
	for (size_t s = 0; s < chart.count; s++)
		canvas_plot(c, &area, values + s * points, mark_of(&chart.series[s]),
			    chart.series[s].style);
}

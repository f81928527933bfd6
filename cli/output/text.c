/* SPDX-License-Identifier: MIT */
/* Text for people: the parts that its outputs share, and the output `text`, a line for each row
 * with its value, unit, quality and reason. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/cli.h"
#include "output/output.h"
#include "output/screen.h"

/* ---- parts that text outputs share ---- */

void out_text_simulated(const struct uncore *u, struct buffer *to)
{
	if (uncore_is_simulated(u))
		buffer_printf(to, "SIMULATED by %s: not this machine.\n\n", uncore_source(u));
}

static void put_label(struct out *out)
{
	if (out->setup.simulated && !out->labelled)
		buffer_printf(out->to, "SIMULATED by %s: these values are invented.\n",
			      out->setup.source);
	out->labelled = true;
}

void out_text_rounds(struct out *out, size_t rounds, double seconds)
{
	put_label(out);
	buffer_printf(out->to, "Counting in %zu rounds of %s\n", rounds, human(seconds, "s").text);
	out->setup.lines_above += text_rows(out->to->data);
}

void out_text_header(struct out *out)
{
	const struct uncore_row_query *query = NULL;
	struct human window;

	if (out->begun && (out->setup.intervals || out->frame.total))
		return;
	put_label(out);
	/* All metrics of a run have the same filter, and events those of places in it. */
	for (size_t i = 0; i < out->row_count; i++)
		if (out->rows[i].row->query->filter && !(query && query->family))
			query = out->rows[i].row->query;
	if (query)
		buffer_printf(out->to, "%s are restricted by %s.\n",
			      query->family ? "Metrics" : "Events", query->filter);
	if (out->setup.intervals)
		return;
	window = human(out->frame.window, "s");
	if (out->frame.runs)
		buffer_printf(out->to, "Mean of %u runs, %s each", out->frame.runs, window.text);
	else
		buffer_printf(out->to, "Counted for %s", window.text);
	if (out->setup.command)
		buffer_printf(out->to, " of '%s'", out->setup.command);
	if (out->setup.timestamp)
		buffer_printf(out->to, ", until %s", out->date);
	buffer_puts(out->to, "\n\n");
}

void out_text_time(struct out *out)
{
	if (!out->setup.intervals)
		return;
	buffer_puts(out->to, out->begun ? "\n" : "");
	if (out->frame.total)
		buffer_puts(out->to, "total\n");
	else if (out->setup.timestamp)
		buffer_printf(out->to, "%s\n", out->date);
	else
		buffer_printf(out->to, "%.6f s\n", out->frame.time);
}

static const struct {
	const char *color, *mark;
} looks[] = {
	[UNCORE_MEASURED] = {"", ""},        [UNCORE_SCALED] = {COLOR_WARN, "~"},
	[UNCORE_SAMPLED] = {"", ""},         [UNCORE_PARTIAL] = {COLOR_BAD, "!"},
	[UNCORE_SUSPECT] = {COLOR_BAD, "!"}, [UNCORE_UNAVAILABLE] = {COLOR_DIM, ""},
};

const char *out_mark(enum uncore_quality quality)
{
	return looks[quality].mark;
}

void out_share(struct table *t, double share)
{
	if (isfinite(share))
		table_cell(t, "%s%.2f %%%s", share_color(share), share * 100, COLOR_END);
	else
		table_cell(t, "%s", "");
}

/* "6.400 G/s" */
static struct human human_frequency(double value)
{
	struct human h = human(value, "Hz");
	size_t len = strlen(h.unit), prefix = len > strlen("Hz") ? len - strlen("Hz") : 0;

	if (isfinite(value))
		snprintf(h.text, sizeof(h.text), "%s %.*s/s", h.number, prefix ? (int)prefix : 1,
			 prefix ? h.unit : "1");
	return h;
}

void out_value(struct table *t, const struct uncore_row *row)
{
	const char *color = row ? looks[row->quality].color : "";
	const char *mark = row ? out_mark(row->quality) : "";
	struct human h;

	if (!row) {
		table_cell(t, "%s", "");
		return;
	}
	h = strcmp(row->query->unit, "1/s") == 0 ? human_frequency(row->value)
						 : human(row->value, row->query->unit);
	table_cell(t, "%s%s%s%s%s", color, h.text, *mark ? " " : "", mark, *color ? COLOR_END : "");
}

bool out_same_query(const struct uncore_row *a, const struct uncore_row *b)
{
	return strcmp(a->query->name, b->query->name) == 0 &&
	       cli_same(a->query->family, b->query->family);
}

void out_table(const struct out *out, struct table *t, const struct table_column *columns)
{
	if (!t->columns)
		table_init(t, columns);
	t->steady = out->setup.intervals;
}

/* Whether texts are equal, apart from their numbers. */
static bool are_alike(const char *a, const char *b)
{
	static const char digits[] = "0123456789";

	while (*a && *b) {
		size_t m = strspn(a, digits), n = strspn(b, digits);

		if (!m != !n || (!m && *a != *b))
			return false;
		a += m ? m : 1;
		b += n ? n : 1;
	}
	return !*a && !*b;
}

/* Keeps the text. False: an equal one was printed before, apart from numbers. */
static bool is_new(struct out *out, const char *text)
{
	for (size_t at = 0; at < out->said.len; at += strlen(out->said.data + at) + 1)
		if (are_alike(out->said.data + at, text))
			return false;
	buffer_add(&out->said, text, strlen(text) + 1);
	return true;
}

void out_once(struct out *out, const char *text)
{
	if (is_new(out, text))
		buffer_wrap(out->to, 0, text_columns(), text);
}

void out_reasons(struct out *out, const struct uncore_row_place *place)
{
	double least = 1;

	for (size_t i = 0; i < out->row_count; i++) {
		const struct uncore_row *row = out->rows[i].row;
		auto_buffer reason = {0};

		if (place && !out_same_place(row->place, place))
			continue;
		if (row->quality == UNCORE_SCALED && row->counted->coverage < least)
			least = row->counted->coverage;
		if (!row->reason || !is_new(out, row->reason))
			continue;
		buffer_printf(out->to, "%s%s is %s:\n", row->quality > UNCORE_SCALED ? "! " : "",
			      row->query->name, uncore_quality_name(row->quality));
		human_text(&reason, row->reason);
		buffer_wrap(out->to, 4, text_columns(), reason.data);
	}
	if (least < 1)
		buffer_printf(out->to,
			      "~ scaled: the kernel multiplexed the counters; each was counted "
			      "for at "
			      "least %.3g %% of the time\n",
			      least * 100);
}

void out_place_cell(struct table *t, const struct uncore_row_place *place)
{
	auto_buffer text = {0};

	out_place(&text, place);
	table_cell(t, "%s", text.data);
}

/* ---- the output `text` ---- */

static const struct table_column columns[] = {
	{"TIME", TABLE_RIGHT},
	{"WINDOW", TABLE_RIGHT},
	{"NAME", TABLE_ALONE},
	{"PLACE", 0},
	{"VALUE", TABLE_RIGHT},
	{"UNIT", 0},
	{"SPREAD", 0},
	{"QUALITY", 0},
	{"RATE", TABLE_RIGHT},
	{"IN ALL", TABLE_RIGHT},
	{0},
};

/* Puts value, unit and spread. A percentile is known only as a bin of a histogram: its bounds are
 * printed. The spread of any other value is half the distance of its bounds. */
static void put_value(struct table *t, const struct uncore_row *row, double spread)
{
	const struct human value = human(row->value, row->query->unit);
	const struct human low = human(row->low, row->query->unit);

	if (isfinite(row->low) && !isfinite(row->high))
		table_cell(t, "%s %s", terminal_has_utf8() ? "≥" : ">=", low.number);
	else if (isfinite(row->low) && row->value >= row->high)
		table_cell(t, "%s%s%s to %s", low.number,
			   row->low != 0 && strcmp(low.unit, value.unit) != 0 ? " " : "",
			   row->low != 0 && strcmp(low.unit, value.unit) != 0 ? low.unit : "",
			   value.number);
	else
		table_cell(t, "%s", value.number);
	table_cell(t, "%s", value.unit);
	if (!isfinite(spread) && row->low < row->value && row->value < row->high)
		spread = (row->high - row->low) / 2 / fabs(row->value);
	if (isfinite(spread))
		table_cell(t, "%s %.2f %%", terminal_has_utf8() ? "±" : "+-", spread * 100);
	else
		table_cell(t, "%s", "");
}

/* Puts the rate of an event. */
static void put_rate(struct table *t, const struct uncore_row *row)
{
	char unit[60];

	if (!isfinite(row->rate)) {
		table_cell(t, "%s", "");
	} else if (*row->query->unit) {
		snprintf(unit, sizeof(unit), "%s/s", row->query->unit);
		table_cell(t, "%s", human(row->rate, strcmp(unit, "J/s") == 0 ? "W" : unit).text);
	} else {
		table_cell(t, "%s", human_frequency(row->rate).text);
	}
}

void out_amount(const struct out *out, struct table *t, const struct uncore_row *a,
		const struct uncore_row *b)
{
	static const char *const units[][2] = {{"B/s", "B"}, {"1/s", ""}, {"W", "J"}};
	double sum = a ? a->counted->amount : 0;
	const struct uncore_row *one = a ? a : b;

	if (b && b != a)
		sum += b->counted->amount;
	for (size_t i = 0; out->setup.command && i < sizeof(units) / sizeof(*units); i++) {
		if (!one || !isfinite(sum) || strcmp(one->query->unit, units[i][0]) != 0)
			continue;
		table_cell(t, "%s", human(sum, units[i][1]).text);
		return;
	}
	table_cell(t, "%s", "");
}

static void put_row(struct out *out, struct table *t, const struct out_row *kept, bool family,
		    bool repeated)
{
	const struct uncore_row *row = kept->row;
	struct buffer *cell = &out->cell;
	char text[120];
	const char *color;

	if (out->setup.intervals && t == &out->table) {
		snprintf(text, sizeof(text), "%.6f", out->frame.time);
		if (out->setup.timestamp)
			snprintf(text, sizeof(text), "%s", out->date);
		table_cell(t, "%s", out->frame.total ? "total" : text);
		table_cell(t, "%s", human(out->frame.window, "s").text);
	} else {
		table_cell(t, "%s", "");
		table_cell(t, "%s", "");
	}
	table_cell(t, "%s%s%s", family ? row->query->family : "", family ? "/" : "",
		   row->query->name);
	cell->len = 0;
	if (out->setup.level == UNCORE_LEVEL_SOCKET && out_is_everywhere(row->place))
		buffer_puts(cell, "socket unknown");
	else
		out_place(cell, row->place);
	if (row->place->role)
		buffer_printf(cell, ", %s", row->place->role);
	table_cell(t, "%s", buffer_text(cell));
	put_value(t, row, kept->spread);
	*text = '\0';
	if (isfinite(row->value) && row->counted->coverage < 1)
		snprintf(text, sizeof(text), " %.3g %%", row->counted->coverage * 100);
	color = looks[row->quality].color;
	table_cell(t, "%s%s%s%s", color, uncore_quality_name(row->quality), text,
		   *color ? COLOR_END : "");
	put_rate(t, row);
	out_amount(out, t, row, NULL);
	/* The note: the reason, or else the share of the ceiling. */
	cell->len = 0;
	if (row->reason)
		human_text(cell, row->reason);
	else if (isfinite(row->value / row->ceiling))
		buffer_printf(cell, "%.1f %% of %s", row->value / row->ceiling * 100,
			      human(row->ceiling, row->query->unit).text);
	table_end_row(t, repeated ? "(same reason)" : buffer_text(cell));
}

bool out_has_namesake(const struct out *out, const struct uncore_row *row)
{
	for (size_t k = 0; row->query->family && k < out->row_count; k++) {
		const struct uncore_row *other = out->rows[k].row;

		if (other->query->family && strcmp(other->query->name, row->query->name) == 0 &&
		    strcmp(other->query->family, row->query->family) != 0)
			return true;
	}
	return false;
}

void out_text_rows(struct out *out, struct table *t)
{
	const struct uncore_row *last = NULL;
	bool family = false; /* is printed, since another family has the name, too */

	out_table(out, t, columns);
	for (size_t i = 0; i < out->row_count; i++) {
		const struct uncore_row *row = out->rows[i].row;
		bool repeated = last && last->reason && row->reason &&
				strcmp(last->reason, row->reason) == 0;

		if (!last || !out_same_query(last, row))
			family = out_has_namesake(out, row);
		put_row(out, t, &out->rows[i], family, repeated);
		last = row;
	}
	table_print(t, out->to);
}

void text_output_window(struct out *out)
{
	out_text_header(out);
	out_text_rows(out, &out->table);
}

static bool is_in_clocks(const struct uncore_row *row, const struct uncore_row *seconds)
{
	size_t len = strlen(seconds->query->name);

	return strncmp(row->query->name, seconds->query->name, len) == 0 &&
	       strcmp(row->query->name + len, ".cycles") == 0 &&
	       out_same_place(row->place, seconds->place);
}

void out_choose_latencies(struct out *out)
{
	for (size_t i = 0; i < out->row_count; i++) {
		const struct uncore_row *row = out->rows[i].row;
		size_t other = 0;

		while (other < out->row_count && !is_in_clocks(out->rows[other].row, row))
			other++;
		if (other == out->row_count)
			continue;
		if (row->quality == UNCORE_SUSPECT ||
		    (!isfinite(row->value) && isfinite(out->rows[other].row->value)))
			other = i;
		memmove(out->rows + other, out->rows + other + 1,
			(--out->row_count - other) * sizeof(*out->rows));
		i -= other <= i; /* the row behind it is here now */
	}
}

static const struct uncore_row *row_at(const void *context, size_t i)
{
	return ((const struct out *)context)->rows[i].row;
}

struct screen_rows out_screen_rows(const struct out *out, const char *table)
{
	return (struct screen_rows){row_at, out, out->row_count, table};
}

/* SPDX-License-Identifier: MIT */
/* What people read: values with four significant digits and the prefix that suits them; aligned
 * columns, whose cells are kept until the table is printed, when their widths are known. */
#include "base/table.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cli.h"

/* ---- values ---- */

/* Units that take a prefix, and from which to which power of a thousand. */
static const struct {
	const char *unit;
	int least, most;
} scales[] = {
	{"B/s", 0, 4}, {"B", 0, 4},  {"Hz", 0, 3}, {"s", -3, 0},
	{"W", -2, 1},  {"J", -2, 2}, {"V", -1, 0}, {"1/s", 0, 0},
};

static const char *const prefixes[] = {"n", "µ", "m", "", "k", "M", "G", "T"};

/* Commas between groups of three digits of the whole part. */
static void group_digits(char *into, size_t size, const char *number)
{
	size_t sign = *number == '-';
	size_t whole = strcspn(number + sign, ".e");
	size_t at = 0;

	for (size_t i = 0; number[i] && at + 2 < size; i++) {
		size_t digit = i - sign;

		if (i > sign && digit < whole && (whole - digit) % 3 == 0)
			into[at++] = ',';
		into[at++] = number[i];
	}
	into[at] = '\0';
}

static void put_prefixed(struct human *h, double value, const char *unit)
{
	bool count = !*unit;
	const char *prefix = "";
	char plain[40];
	double size;
	int decimals;

	if (!isfinite(value))
		return;
	if (strcmp(unit, "ratio") == 0) {
		value *= 100;
		unit = "%";
	}
	for (size_t i = 0; i < sizeof(scales) / sizeof(scales[0]); i++) {
		int power = 0;

		if (strcmp(unit, scales[i].unit) != 0)
			continue;
		/* 999.96 would print as 1000.0: it belongs to the next prefix. */
		for (; power < scales[i].most && fabs(value) >= 999.95; power++)
			value /= 1000;
		for (; power > scales[i].least && fabs(value) < 0.99995 && value != 0; power--)
			value *= 1000;
		prefix = prefixes[power + 3];
	}
	size = fabs(value);
	decimals = size < 9.9995 ? 3 : size < 99.995 ? 2 : size < 10000 ? 1 : 0;
	if (count || value == 0)
		decimals = 0;
	if (count && size >= 1e18)
		snprintf(plain, sizeof(plain), "%.6g", value);
	else if (!count && (size >= 1e18 || (size < 0.0005 && size > 0)))
		snprintf(plain, sizeof(plain), "%.3g", value);
	else
		snprintf(plain, sizeof(plain), "%.*f", decimals, value);
	group_digits(h->number, sizeof(h->number), plain);
	snprintf(h->unit, sizeof(h->unit), "%s%s", prefix, unit);
}

struct human human_in(double value, const char *unit, enum units units)
{
	static const char *const binary[] = {"", "Ki", "Mi", "Gi", "Ti"};
	struct human h = {.number = "-"};
	size_t power = 0;

	if (units == UNITS_SI || !isfinite(value) || (units == UNITS_IEC && *unit != 'B')) {
		put_prefixed(&h, value, unit);
	} else if (units == UNITS_IEC) {
		for (; power < 4 && fabs(value) >= 1023.95; power++)
			value /= 1024;
		snprintf(h.number, sizeof(h.number), "%.*f",
			 fabs(value) < 9.9995   ? 3
			 : fabs(value) < 99.995 ? 2
						: 1,
			 value);
		snprintf(h.unit, sizeof(h.unit), "%s%s", binary[power], unit);
	} else {
		snprintf(h.number, sizeof(h.number), fabs(value) >= 1e5 ? "%.0f" : "%.5g", value);
		snprintf(h.unit, sizeof(h.unit), "%s", unit);
	}
	snprintf(h.text, sizeof(h.text), "%s%s%s", h.number, *h.unit ? " " : "", h.unit);
	return h;
}

static enum units default_units;

struct human human(double value, const char *unit)
{
	return human_in(value, unit, default_units);
}

void human_text(struct buffer *to, const char *text)
{
	static const char *const units[] = {"B/s", "Hz"};
	size_t len;

	while (*text) {
		size_t digits = strspn(text, "0123456789");
		const char *unit = NULL;

		for (size_t i = 0; digits && i < sizeof(units) / sizeof(*units); i++)
			if (text[digits] == ' ' &&
			    strncmp(text + digits + 1, units[i], strlen(units[i])) == 0)
				unit = units[i];
		if (unit) {
			buffer_puts(to, human(strtod(text, NULL), unit).text);
			len = digits + 1 + strlen(unit);
		} else {
			len = digits ? digits : strcspn(text, "0123456789");
			buffer_add(to, text, len);
		}
		text += len;
	}
}

bool human_set_units(const char *name)
{
	static const char *const names[] = {"si", "iec", "raw", NULL};
	const size_t i = cli_word(names, name);

	if (names[i])
		default_units = (enum units)i;
	return names[i];
}

/* ---- columns ---- */

void table_init(struct table *t, const struct table_column *columns)
{
	*t = (struct table){.columns = columns};
	while (columns[t->column_count].title)
		t->column_count++;
}

void table_free(struct table *t)
{
	buffer_free(&t->cells);
}

void table_cell(struct table *t, const char *fmt, ...)
{
	size_t start = t->cells.len;
	size_t width;
	va_list args;

	va_start(args, fmt);
	buffer_vprintf(&t->cells, fmt, args);
	va_end(args);
	/* Before its width is known. */
	if (t->cells.len > start)
		t->cells.len =
			start + cli_clean(t->cells.data + start, t->cells.len - start, TEXT_COLORS);
	buffer_add(&t->cells, "", 1);
	if (t->at == t->column_count) /* a note */
		return;
	width = text_width(t->cells.data + start);
	if (width > t->widths[t->at])
		t->widths[t->at] = width;
	t->at++;
}

void table_end_row(struct table *t, const char *note)
{
	while (t->at < t->column_count)
		table_cell(t, "%s", "");
	table_cell(t, "%s", note ? note : "");
	t->at = 0;
}

/* Appends one cell; `pending` collects the spaces of what was left out, so that no line ends in
 * spaces. Returns the columns used. */
static size_t put_cell(struct table *t, size_t i, const char *text, size_t *pending,
		       struct buffer *to)
{
	size_t width = text_width(text);
	size_t used = *pending;
	size_t fill;

	if (!t->shown[i])
		return 0;
	if (!width) {
		*pending += t->shown[i] + 2;
		return 0;
	}
	if (width > t->shown[i]) {
		/* Rows of the same name have it once. */
		if (!t->alone || strcmp(t->alone, text) != 0) {
			buffer_spaces(to, used);
			buffer_puts(to, text);
			buffer_puts(to, "\n");
		}
		t->alone = text;
		*pending = used + t->shown[i] + 2;
		return 0;
	}
	if (t->columns[i].traits & TABLE_ALONE)
		t->alone = NULL;
	fill = t->shown[i] - width;
	if (t->columns[i].traits & TABLE_RIGHT)
		used += fill;
	buffer_spaces(to, used);
	buffer_puts(to, text);
	*pending = ((t->columns[i].traits & TABLE_RIGHT) ? 0 : fill) + 2;
	return used + width;
}

/* Returns the cell behind the row. */
static const char *put_row(struct table *t, const char *cell, struct buffer *to)
{
	auto_buffer below = {0};
	bool hidden = false; /* columns are below */
	size_t pending = 0;
	size_t used = 0;

	for (size_t i = 0; i < t->column_count; i++, cell += strlen(cell) + 1) {
		bool last = i + 1 == t->column_count;

		if (last && t->flows && used + pending + text_width(cell) > text_columns())
			buffer_puts(&below, cell);
		else if (t->shown[i] || !*cell)
			used += put_cell(t, i, cell, &pending, to);
		else {
			buffer_printf(&below, "%s%s %s", below.len ? ", " : "", t->columns[i].title,
				      cell);
			hidden = true;
		}
	}
	/* `cell` is the note now. */
	if (*cell && !below.len && used + pending + text_width(cell) <= text_columns()) {
		buffer_spaces(to, pending);
		buffer_puts(to, cell);
		buffer_puts(to, "\n");
	} else {
		buffer_puts(to, "\n");
		if (hidden && *cell)
			buffer_printf(&below, "; %s", cell);
		if (below.len)
			buffer_wrap(to, 4, text_columns(), below.data);
		if (*cell && !hidden)
			buffer_wrap(to, 4, text_columns(), cell);
	}
	return cell + strlen(cell) + 1;
}

/* Takes from the columns with the trait, or from all but the first, from the last on, what does not
 * fit: a column goes below its row, or (TABLE_ALONE) is as narrow as its title. */
static void narrow(struct table *t, int trait, size_t *excess)
{
	for (size_t i = 0; i < t->column_count && *excess; i++) {
		size_t at = trait ? i : t->column_count - 1 - i, taken = t->shown[at] + 2;

		if (!t->shown[at] || (trait ? !(t->columns[at].traits & trait) : !at))
			continue;
		if (trait == TABLE_ALONE) {
			taken = t->shown[at] - strlen(t->columns[at].title);
			taken = taken < *excess ? taken : *excess;
		}
		t->shown[at] = trait == TABLE_ALONE ? t->shown[at] - taken : 0;
		*excess -= taken < *excess ? taken : *excess;
	}
}

/* Which columns go below, and how wide the one is that may have lines of its own. */
static void fit(struct table *t)
{
	static const int traits[] = {TABLE_BELOW, TABLE_ALONE, 0};
	size_t room = terminal_columns() + 2, total = 0;

	for (size_t i = 0; i < t->column_count; i++) {
		t->shown[i] = t->widths[i];
		total += t->widths[i] ? t->widths[i] + 2 : 0;
	}
	total = room > 2 && total > room ? total - room : 0;
	for (size_t i = 0; total && i < sizeof(traits) / sizeof(*traits); i++)
		narrow(t, traits[i], &total);
}

void table_print(struct table *t, struct buffer *to)
{
	const char *cell = t->cells.data;
	const char *end = t->cells.data + t->cells.len;

	if (!t->cells.len)
		return;
	for (size_t i = 0; i < t->column_count; i++) {
		const size_t least[] = {strlen(t->columns[i].title),
					t->steady ? (size_t)t->columns[i].traits >> 4 : 0};

		for (size_t k = 0; k < 2; k++)
			if (t->widths[i] && t->widths[i] < least[k])
				t->widths[i] = least[k];
	}
	fit(t);
	if (!t->titled) {
		size_t pending = 0;

		for (size_t i = 0; i < t->column_count; i++)
			put_cell(t, i, t->columns[i].title, &pending, to);
		buffer_puts(to, "\n");
		t->titled = true;
	}
	while (cell < end)
		cell = put_row(t, cell, to);
	t->cells.len = 0;
	t->alone = NULL;
}

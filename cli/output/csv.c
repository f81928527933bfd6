/* SPDX-License-Identifier: MIT */
/* CSV: one header line, always the same columns, an empty cell for an unknown value (RFC 4180). */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/cli.h"
#include "base/number.h"
#include "output/cells.h"
#include "output/output.h"

/* Puts a cell and the separator. The separator may be a control character, so that only the cell is
 * cleaned. */
static void put_text(struct out *out, const char *text)
{
	const char *separator = out->setup.separator;
	size_t start = out->to->len, len = 0;
	char *at;

	/* Most texts need neither quotation marks nor cleaning. */
	while (text[len] >= ' ' && text[len] < 0x7f && text[len] != '"' && text[len] != *separator)
		len++;
	if (!text[len] && !separator[1]) {
		at = buffer_more(out->to, len + 1);
		memcpy(at, text, len);
		at[len] = *separator;
		return;
	}
	if (!strpbrk(text, "\"\r\n") && !strstr(text, separator)) {
		buffer_puts(out->to, text);
	} else {
		buffer_puts(out->to, "\"");
		for (; *text; text++) {
			if (*text == '"')
				buffer_puts(out->to, "\"");
			buffer_add(out->to, text, 1);
		}
		buffer_puts(out->to, "\"");
	}
	if (out->to->len > start)
		out->to->len =
			start + cli_clean(out->to->data + start, out->to->len - start, "\n\t");
	buffer_puts(out->to, separator);
}

/* CSV has no column `schema`, which numbers the schema of JSON, and no column `simulated`: the
 * source begins with "SIMULATED". */
static bool is_column(const struct field *f)
{
	return *f->name != 's' ||
	       (strcmp(f->name, "schema") != 0 && strcmp(f->name, "simulated") != 0);
}

/* Unknown is an empty cell, and so is a list, for which CSV has no form. A number needs quotation
 * marks only if the separator can occur in it. */
static void put_number(struct out *out, const struct value *v)
{
	const char *separator = out->setup.separator;
	char *at = buffer_more(out->to, REAL_ROOM), number[REAL_ROOM];
	size_t len = 0;

	if (v->type == VALUE_REAL)
		len = text_real(at, v->real);
	else if (v->type == VALUE_COUNT)
		len = text_count(at, v->count);
	else if (v->type == VALUE_ID && v->id >= 0)
		len = text_count(at, (uint64_t)v->id);
	out->to->len -= REAL_ROOM;
	if (separator[1] || (*separator != ',' && strchr("0123456789+-.e", *separator))) {
		memcpy(number, at, len);
		number[len] = '\0';
		put_text(out, number);
		return;
	}
	at[len] = *separator;
	at[len + 1] = '\0';
	out->to->len += len + 1;
}

static void put_source(struct out *out, const char *text)
{
	char source[256];

	snprintf(source, sizeof(source), "SIMULATED %s", text);
	put_text(out, source);
}

void csv_output_put(struct out *out, const struct field *f)
{
	const struct value *v = &f->value;

	if (!is_column(f))
		return;
	if (out->names)
		put_text(out, f->name);
	else if (v->type == VALUE_FLAG)
		put_text(out, v->flag ? "true" : "false");
	else if (v->type != VALUE_TEXT || !v->text)
		put_number(out, v);
	else if (out->setup.simulated && strcmp(f->name, "source") == 0)
		put_source(out, v->text);
	else
		put_text(out, v->text);
}

static void end_line(struct out *out)
{
	out->to->len -= strlen(out->setup.separator);
	buffer_add(out->to, "\n", 1);
}

void csv_output_record(struct out *out, const struct field *fields)
{
	out->to->records = true;
	if (out->setup.header) {
		out->names = true;
		cells_print(out, fields);
		end_line(out);
		out->names = out->setup.header = false;
	}
	cells_print(out, fields);
	end_line(out);
}

/* ---- the output `csv=wide` ---- */

/* Appends the name of a column, "memory.read.bandwidth socket 0 channel 2 (B/s)", and a NUL. The
 * second of two equal names ends in " #2". */
static void put_column(const struct out *out, const struct uncore_row *row, struct buffer *to)
{
	size_t begin = to->len, len, equal = 1;
	const struct uncore_row_query *q = row->query;
	const struct value names = place_value(row->place, PLACE_NAMES);
	const char *const more[] = {row->place->role, q->filter, names.text};
	auto_buffer place = {0};
	bool everywhere = out_is_everywhere(row->place);

	out_place(&place, row->place);
	if (out_has_namesake(out, row))
		buffer_printf(to, "%s/", q->family);
	buffer_printf(to, "%s%s", q->name, everywhere ? "" : " ");
	/* Without commas, the names need no quotation marks. */
	for (char *c = place.data, *next; !everywhere && (next = strsep(&c, ","));)
		buffer_puts(to, next);
	for (size_t i = 0; i < sizeof(more) / sizeof(*more); i++)
		for (const char *c = more[i]; c && *c; c += strcspn(c, ","), c += strspn(c, ", "))
			buffer_printf(to, " %.*s", (int)strcspn(c, ","), c);
	buffer_printf(to, " (%s)", *q->unit ? q->unit : "count");
	len = to->len - begin;
	for (size_t at = 0; at < begin; at += strlen(to->data + at) + 1)
		equal += strncmp(to->data + at, to->data + begin, len) == 0 &&
			 (!to->data[at + len] || to->data[at + len + 1] == '#');
	if (equal > 1)
		buffer_printf(to, " #%zu", equal);
	buffer_add(to, "", 1);
}

/* A monitor has the same rows in all windows, so that the columns stay. The quality is the worst of
 * the known values. An empty cell is unavailable. */
void wide_output_window(struct out *out)
{
	const struct frame *frame = &out->frame;
	auto_buffer names = {0}, reason = {0};
	const struct uncore_row *worst;
	auto_free struct field *fields = NULL;
	size_t count, at = 0;

	if (!out->row_count)
		return;
	fields = cli_realloc(NULL, out->row_count + 10, sizeof(*fields));
	worst = out->rows[0].row;

	for (size_t i = 0; i < out->row_count; i++) {
		const struct uncore_row *row = out->rows[i].row;

		if (isfinite(row->value) &&
		    (!isfinite(worst->value) || row->quality > worst->quality))
			worst = row;
		if (out->setup.header)
			put_column(out, row, &names);
		else
			buffer_add(&names, "", 1);
	}
	if (worst->reason)
		buffer_printf(&reason, "%s: %s", worst->query->name, worst->reason);
	const struct field shared[] = {
		{"time", value_real(frame->time)},
		{"interval", value_real(frame->window)},
		{"source", value_text(out->setup.source)},
		{"date", value_text(out->date)},
		{"wall_ns", value_count(frame->wall_ns)},
		{"monotonic_ns", value_count(frame->monotonic_ns)},
		{"host", value_text(out->setup.host)},
		{"quality", value_text(uncore_quality_name(worst->quality))},
		{"reason", value_text(reason.data)},
	};
	count = sizeof(shared) / sizeof(*shared);
	memcpy(fields, shared, sizeof(shared));
	for (size_t i = 0; i < out->row_count; i++, at += strlen(names.data + at) + 1)
		fields[count++] =
			(struct field){names.data + at, value_real(out->rows[i].row->value)};
	fields[count] = (struct field){0};
	out->output->record(out, fields);
}

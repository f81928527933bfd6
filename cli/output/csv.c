/* SPDX-License-Identifier: MIT */
/* CSV: one header line, always the same columns, an empty cell for what is not known (RFC 4180). */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "output/output.h"

static const char *const columns[] = {
	"time",     "interval",  "total",   "source",     "kind",       "name",   "family",
	"socket",   "pmu",       "cpu",     "value",      "unit",       "rate",   "quality",
	"coverage", "instances", "count",   "enabled_ns", "running_ns", "reason", "role",
	"filter",   "port",      "ceiling", "low",        "high",
};

static void put_quoted(struct out *out, const char *text)
{
	buffer_puts(out->to, "\"");
	for (; *text; text++) {
		if (*text == '"')
			buffer_puts(out->to, "\"");
		buffer_add(out->to, text, 1);
	}
	buffer_puts(out->to, "\"");
}

/* One cell and the separator behind it; NULL is empty. */
static void put_text(struct out *out, const char *text)
{
	if (text && (strpbrk(text, "\"\r\n") || strstr(text, out->setup.separator)))
		put_quoted(out, text);
	else if (text)
		buffer_puts(out->to, text);
	buffer_puts(out->to, out->setup.separator);
}

/* The separator may be one of a number's characters. */
static void put_number(struct out *out, const char *text, size_t len)
{
	if (strpbrk(out->setup.separator, "+-.0123456789e")) {
		put_text(out, text);
		return;
	}
	buffer_add(out->to, text, len);
	buffer_puts(out->to, out->setup.separator);
}

static void put_real(struct out *out, double value)
{
	char text[REAL_ROOM];

	put_number(out, text, text_real(text, value));
}

static void put_count(struct out *out, bool known, uint64_t value)
{
	char text[COUNT_ROOM];

	put_number(out, text, known ? text_count(text, value) : (size_t)(*text = '\0'));
}

static void put_id(struct out *out, int id)
{
	put_count(out, id >= 0, (uint64_t)id);
}

static void end_line(struct out *out)
{
	out->to->len -= strlen(out->setup.separator);
	buffer_puts(out->to, "\n");
}

static void put_header(struct out *out)
{
	for (size_t i = 0; i < sizeof(columns) / sizeof(columns[0]); i++)
		put_text(out, columns[i]);
	end_line(out);
	out->setup.header = false;
}

/* The source of invented values says so in every line. */
static void put_source(struct out *out)
{
	char text[256];

	snprintf(text, sizeof(text), "%s%s", out->setup.simulated ? "SIMULATED " : "",
		 out->setup.source);
	put_text(out, text);
}

static void csv_begin(struct out *out)
{
	struct buffer *to = out->to;

	if (out->setup.header)
		put_header(out);
	out->prefix.len = 0;
	out->to = &out->prefix;
	put_real(out, out->frame.time);
	put_real(out, out->frame.window);
	put_text(out, out->frame.total ? "true" : "false");
	put_source(out);
	out->to = to;
}

static void csv_row(struct out *out, const struct uncore_row *row, double spread)
{
	bool counted = !row->family && isfinite(row->value);

	(void)spread;
	buffer_add(out->to, out->prefix.data, out->prefix.len);
	put_text(out, out_kind(row));
	put_text(out, row->name);
	put_text(out, row->family);
	put_id(out, row->socket);
	put_text(out, row->pmu ? uncore_pmu_name(row->pmu) : NULL);
	put_id(out, row->cpu);
	put_real(out, row->value);
	put_text(out, row->unit);
	put_real(out, row->rate);
	put_text(out, uncore_quality_name(row->quality));
	put_real(out, row->coverage);
	put_count(out, true, row->instances);
	put_count(out, counted, row->count);
	put_count(out, !row->family, row->enabled_ns);
	put_count(out, !row->family, row->running_ns);
	put_text(out, row->reason);
	put_text(out, row->role);
	put_text(out, row->filter);
	put_text(out, row->port ? row->port->address : NULL);
	put_real(out, row->ceiling);
	put_real(out, row->low);
	put_real(out, row->high);
	end_line(out);
}

static void csv_end(struct out *out)
{
	(void)out;
}

const struct out_ops out_csv = {"csv", csv_begin, csv_row, csv_end};

/* SPDX-License-Identifier: MIT */
/* What is pushed is made of the text that a scrape gets, so that both have the same series, values
 * and names. The names and values of labels need no other escapes in JSON than in OpenMetrics. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/number.h"
#include "serve/push/otlp.h"
#include "uncore.h"

/* What OpenTelemetry calls a unit. A collector that makes a name for Prometheus adds the word to
 * the name, except for words that stay in the name. */
static const struct unit {
	const char *word, *code;
	bool stays;
} units[] = {
	{"bytes_per_second", "By/s", false},
	{"per_second", "1/s", false},
	{"bytes", "By", false},
	{"seconds", "s", false},
	{"joules", "J", false},
	{"watts", "W", false},
	{"hertz", "Hz", false},
	{"ratio", "1", true},
	{"cycles", "{cycle}", true},
	{"", "", true},
};

struct span {
	const char *at;
	size_t len;
};

struct family {
	struct span name, help, unit;
	enum { COUNTER, GAUGE, SUMMARY, HISTOGRAM, INFO } type;
	bool open; /* it had a sample */
};

struct maker {
	struct buffer *to;
	struct family family;
	bool any;       /* a family before */
	bool any_point; /* of this family */
	uint64_t start_ns, now_ns;
	/* For a series with several lines. */
	struct span sum;
	struct buffer limits, counts;
	double below;
};

static bool is(struct span s, const char *text)
{
	return s.len == strlen(text) && s.len && memcmp(s.at, text, s.len) == 0;
}

static void put_span(struct buffer *to, struct span s)
{
	if (s.len)
		buffer_add(to, s.at, s.len);
}

static const struct unit *unit_of(struct span word)
{
	const struct unit *u = units;

	while (*u->word && !is(word, u->word))
		u++;
	return u;
}

/* ---- families ---- */

/* "uncore_memory_read_bytes" in bytes: "uncore.memory.read" in "By". */
static void put_head(struct maker *m)
{
	static const char *const types[] = {
		[COUNTER] = "\"sum\":{\"aggregationTemporality\":2,\"isMonotonic\":true,",
		[GAUGE] = "\"gauge\":{",
		[SUMMARY] = "\"summary\":{",
		[HISTOGRAM] = "\"histogram\":{\"aggregationTemporality\":2,",
		[INFO] = "\"sum\":{\"aggregationTemporality\":2,\"isMonotonic\":false,",
	};
	const struct family *f = &m->family;
	const struct unit *u = unit_of(f->unit);
	struct span name = f->name;
	size_t at;

	if (!u->stays)
		name.len -= 1 + strlen(u->word);
	buffer_puts(m->to, m->any ? ",{\"name\":\"" : "{\"name\":\"");
	at = m->to->len;
	put_span(m->to, name);
	buffer_puts(m->to, f->type == INFO ? "_info" : "");
	for (; at < m->to->len; at++)
		if (m->to->data[at] == '_')
			m->to->data[at] = '.';
	buffer_puts(m->to, "\",\"description\":\"");
	put_span(m->to, f->help);
	buffer_puts(m->to, "\",");
	if (*u->code)
		buffer_printf(m->to, "\"unit\":\"%s\",", u->code);
	buffer_printf(m->to, "%s\"dataPoints\":[", types[f->type]);
	m->any = m->family.open = true;
	m->any_point = false;
}

static void end_family(struct maker *m)
{
	if (m->family.open)
		buffer_puts(m->to, "]}}");
	m->family = (struct family){0};
}

/* "# HELP NAME TEXT", "# TYPE NAME TYPE", "# UNIT NAME UNIT", in this order. */
static void take_comment(struct maker *m, struct span line)
{
	static const char *const types[] = {"counter", "gauge", "summary", "histogram", "info"};
	const char *name = line.at + strlen("# HELP ");
	const char *end = line.len > strlen("# HELP ")
				  ? memchr(name, ' ', line.len - strlen("# HELP "))
				  : NULL;
	struct span text;

	if (!end)
		return;
	text = (struct span){end + 1, (size_t)(line.at + line.len - end - 1)};
	if (line.at[2] == 'H') {
		end_family(m);
		m->family.name = (struct span){name, (size_t)(end - name)};
		m->family.help = text;
	} else if (line.at[2] == 'U') {
		m->family.unit = text;
	} else {
		for (unsigned i = 0; i < sizeof(types) / sizeof(*types); i++)
			if (is(text, types[i]))
				m->family.type = i;
	}
}

/* ---- samples ---- */

/* name="value",... The quotes of the values are those of JSON. */
static void put_attributes(struct buffer *to, struct span labels)
{
	const char *at = labels.at, *end = labels.at + labels.len;
	bool any = false;

	buffer_puts(to, "\"attributes\":[");
	while (at < end) {
		const char *name = at, *value = memchr(at, '"', (size_t)(end - at));

		if (!value)
			break;
		for (at = value + 1; at < end && *at != '"'; at++)
			at += *at == '\\';
		at++;
		buffer_printf(to, "%s{\"key\":\"%.*s\",\"value\":{\"stringValue\":", any ? "," : "",
			      (int)(value - 1 - name), name);
		buffer_add(to, value, (size_t)(at - value));
		buffer_puts(to, "}}");
		any = true;
		at += at < end && *at == ',';
	}
	buffer_puts(to, "],");
}

static void begin_point(struct maker *m, struct span labels)
{
	buffer_puts(m->to, m->any_point ? ",{" : "{");
	m->any_point = true;
	if (labels.len)
		put_attributes(m->to, labels);
	if (m->family.type != GAUGE)
		buffer_printf(m->to, "\"startTimeUnixNano\":\"%" PRIu64 "\",", m->start_ns);
	buffer_printf(m->to, "\"timeUnixNano\":\"%" PRIu64 "\",", m->now_ns);
}

static double number_of(struct span s)
{
	char copy[REAL_ROOM] = "";

	memcpy(copy, s.at, s.len < sizeof(copy) ? s.len : sizeof(copy) - 1);
	return strtod(copy, NULL);
}

/* The count stands for 64 bits, which JSON has as a text. */
static void begin_sum(struct maker *m, struct span labels, double count)
{
	begin_point(m, labels);
	buffer_printf(m->to, "\"count\":\"%.0f\",\"sum\":", count);
	put_span(m->to, m->sum);
}

/* ..._sum comes first, then ..._count. */
static void take_summary(struct maker *m, struct span suffix, struct span labels, struct span value)
{
	if (is(suffix, "_sum")) {
		m->sum = value;
		return;
	}
	begin_sum(m, labels, number_of(value));
	buffer_puts(m->to, "}");
}

/* ..._bucket with `le` as its last label, then ..._sum and ..._count. The counts of OTLP are those
 * of each bucket alone. */
static void take_histogram(struct maker *m, struct span suffix, struct span labels,
			   struct span value)
{
	static const char last[] = ",le=\"";
	double count = number_of(value);
	const char *limit = memmem(labels.at, labels.len, last, strlen(last));

	if (is(suffix, "_sum")) {
		m->sum = value;
	} else if (is(suffix, "_count")) {
		begin_sum(m, labels, count);
		buffer_printf(m->to, ",\"bucketCounts\":[%s],\"explicitBounds\":[%s]}",
			      buffer_text(&m->counts), buffer_text(&m->limits));
		m->counts.len = m->limits.len = 0;
		m->below = 0;
	} else if (limit) {
		limit += strlen(last);
		buffer_printf(&m->counts, "%s\"%.0f\"", m->counts.len ? "," : "", count - m->below);
		m->below = count;
		if (*limit != '+')
			buffer_printf(&m->limits, "%s%.*s", m->limits.len ? "," : "",
				      (int)(labels.at + labels.len - 1 - limit), limit);
	}
}

/* NAME{LABELS} VALUE */
static void take_sample(struct maker *m, struct span line)
{
	const char *space = memrchr(line.at, ' ', line.len);
	const char *brace = memchr(line.at, '{', line.len);
	const char *end = brace ? brace : space;
	struct span suffix, labels = {"", 0}, value;

	if (!space || (size_t)(end - line.at) < m->family.name.len)
		return;
	value = (struct span){space + 1, (size_t)(line.at + line.len - space - 1)};
	suffix.at = line.at + m->family.name.len;
	suffix.len = (size_t)(end - suffix.at);
	if (brace)
		labels = (struct span){brace + 1, (size_t)(space - brace - 2)};
	/* JSON has no number for infinity and NaN. */
	if (!value.len || !strchr("-0123456789", *value.at) || is(value, "-inf"))
		return;
	if (!m->family.open)
		put_head(m);
	if (m->family.type == SUMMARY) {
		take_summary(m, suffix, labels, value);
	} else if (m->family.type == HISTOGRAM) {
		take_histogram(m, suffix, labels, value);
	} else {
		begin_point(m, labels);
		buffer_puts(m->to, "\"asDouble\":");
		put_span(m->to, value);
		buffer_puts(m->to, "}");
	}
}

void otlp_json(struct buffer *to, const struct buffer *text, const char *resource,
	       uint64_t start_ns, uint64_t now_ns)
{
	struct maker m = {.to = to, .start_ns = start_ns, .now_ns = now_ns};

	buffer_printf(to,
		      "{\"resourceMetrics\":[{\"resource\":%s,\"scopeMetrics\":[{\"scope\":"
		      "{\"name\":\"uncore\",\"version\":\"%s\"},\"metrics\":[",
		      resource, uncore_version());
	for (const char *at = text->data, *end;
	     (end = memchr(at, '\n', text->len - (size_t)(at - text->data))); at = end + 1) {
		struct span line = {at, (size_t)(end - at)};

		if (*at == '#')
			take_comment(&m, line);
		else if (m.family.name.len)
			take_sample(&m, line);
	}
	end_family(&m);
	buffer_puts(to, "]}]}]}");
	buffer_free(&m.limits);
	buffer_free(&m.counts);
}

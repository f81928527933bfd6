/* SPDX-License-Identifier: MIT */
/* A request of OTLP has the same series and values as the text that a scrape gets. Labels and help
 * need the same escapes in JSON as in OpenMetrics. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/cli.h"
#include "serve/push/otlp.h"

/* The codes of OpenTelemetry (UCUM) for the units at the end of a name. A collector that makes a
 * name for Prometheus adds the word to the name, except for words that stay in the name. */
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
	{"celsius", "Cel", false},
	{"ratio", "1", true},
	{"cycles", "{cycle}", true},
	{"", "", true},
};

struct maker {
	struct buffer *to;
	struct family_head family;
	bool open;      /* the family had a sample */
	bool any;       /* a family before had one */
	bool any_point; /* of this family */
	uint64_t start_ns, now_ns;
	/* For a series with several samples. */
	double sum;
	struct buffer limits, counts;
	double below;
};

static const struct unit *unit_of(const char *word)
{
	const struct unit *u = units;

	while (*u->word && strcmp(u->word, word) != 0)
		u++;
	return u;
}

/* ---- families ---- */

/* "uncore_memory_read_bytes" with the unit "bytes" becomes "uncore.memory.read" with "By". */
static void put_head(struct maker *m)
{
	static const char *const types[] = {
		[FAMILY_COUNTER] = "\"sum\":{\"aggregationTemporality\":2,\"isMonotonic\":true,",
		[FAMILY_GAUGE] = "\"gauge\":{",
		[FAMILY_SUMMARY] = "\"summary\":{",
		[FAMILY_HISTOGRAM] = "\"histogram\":{\"aggregationTemporality\":2,",
		[FAMILY_INFO] = "\"sum\":{\"aggregationTemporality\":2,\"isMonotonic\":false,",
	};
	const struct family_head *f = &m->family;
	const struct unit *u = unit_of(f->unit);
	size_t len = strlen(f->name) - (u->stays ? 0 : strlen(u->word) + 1), at;

	buffer_puts(m->to, m->any ? ",{\"name\":\"" : "{\"name\":\"");
	at = m->to->len;
	buffer_printf(m->to, "%.*s%s", (int)len, f->name, f->type == FAMILY_INFO ? "_info" : "");
	for (; at < m->to->len; at++)
		if (m->to->data[at] == '_')
			m->to->data[at] = '.';
	buffer_puts(m->to, "\",\"description\":\"");
	put_help(m->to, f->help, true);
	buffer_puts(m->to, "\",");
	if (*u->code)
		buffer_printf(m->to, "\"unit\":\"%s\",", u->code);
	buffer_printf(m->to, "%s\"dataPoints\":[", types[f->type]);
	m->any = m->open = true;
	m->any_point = false;
}

static void end_family(struct maker *m)
{
	if (m->open)
		buffer_puts(m->to, "]}}");
	m->open = false;
}

static void begin_family(void *context, const struct family_head *head)
{
	struct maker *m = context;

	end_family(m);
	m->family = *head;
}

/* ---- samples ---- */

/* Labels are name="value",... The quoted values are JSON strings already. */
static void put_attributes(struct buffer *to, const char *labels)
{
	buffer_puts(to, "\"attributes\":[");
	while (*labels) {
		const char *value = strchr(labels, '"'), *end = value + 1;

		while (*end != '"')
			end += 1 + (*end == '\\');
		end++;
		buffer_printf(to, "{\"key\":\"%.*s\",\"value\":{\"stringValue\":%.*s}}%s",
			      (int)(value - 1 - labels), labels, (int)(end - value), value,
			      *end ? "," : "");
		labels = end + (*end == ',');
	}
	buffer_puts(to, "],");
}

static void begin_point(struct maker *m, const char *labels)
{
	buffer_puts(m->to, m->any_point ? ",{" : "{");
	m->any_point = true;
	if (*labels)
		put_attributes(m->to, labels);
	if (m->family.type != FAMILY_GAUGE)
		buffer_printf(m->to, "\"startTimeUnixNano\":\"%" PRIu64 "\",", m->start_ns);
	buffer_printf(m->to, "\"timeUnixNano\":\"%" PRIu64 "\",", m->now_ns);
}

/* The limit is the last label, `le`. In OTLP the count of a bucket excludes the buckets below. */
static void take_bucket(struct maker *m, const char *labels, double count)
{
	static const char last[] = ",le=\"";
	const char *limit = strstr(labels, last) + strlen(last);

	buffer_printf(&m->counts, "%s\"%.0f\"", m->counts.len ? "," : "", count - m->below);
	m->below = count;
	if (*limit != '+')
		buffer_printf(&m->limits, "%s%.*s", m->limits.len ? "," : "",
			      (int)strcspn(limit, "\""), limit);
}

/* JSON of protobuf writes 64-bit numbers as strings. */
static void take_count(struct maker *m, const char *labels, double count)
{
	begin_point(m, labels);
	buffer_printf(m->to, "\"count\":\"%.0f\",\"sum\":%.15g", count, m->sum);
	if (m->family.type == FAMILY_HISTOGRAM)
		buffer_printf(m->to, ",\"bucketCounts\":[%s],\"explicitBounds\":[%s]",
			      buffer_text(&m->counts), buffer_text(&m->limits));
	buffer_puts(m->to, "}");
	m->counts.len = m->limits.len = 0;
	m->below = 0;
}

/* The samples of one series follow each other: ..._bucket, ..._sum, ..._count. */
static void take_sample(void *context, const char *suffix, const char *labels, double value)
{
	struct maker *m = context;

	/* JSON has no number for infinity and NaN. */
	if (!isfinite(value))
		return;
	if (!m->open)
		put_head(m);
	if (strcmp(suffix, "_bucket") == 0) {
		take_bucket(m, labels, value);
	} else if (strcmp(suffix, "_sum") == 0) {
		m->sum = value;
	} else if (strcmp(suffix, "_count") == 0) {
		take_count(m, labels, value);
	} else {
		begin_point(m, labels);
		buffer_printf(m->to, "\"asDouble\":%.15g}", value);
	}
}

void otlp_json(struct buffer *to, const char *resource, uint64_t start_ns,
	       const struct series_set *set, const struct uncore *u,
	       const struct exposition_self *self)
{
	struct maker m = {.to = to, .start_ns = start_ns, .now_ns = cli_clock_ns(CLOCK_REALTIME)};
	const struct family_writer w = {&m, begin_family, take_sample};

	buffer_printf(to,
		      "{\"resourceMetrics\":[{\"resource\":%s,\"scopeMetrics\":[{\"scope\":"
		      "{\"name\":\"uncore\",\"version\":\"%s\"},\"metrics\":[",
		      resource, uncore_version());
	exposition_write(&w, true, set, u, self);
	end_family(&m);
	buffer_puts(to, "]}]}]}");
	buffer_free(&m.limits);
	buffer_free(&m.counts);
}

/* SPDX-License-Identifier: MIT */
/* JSON lines: one object for each row, null for what is not known. */
#include <math.h>

#include "output/json.h"
#include "output/output.h"

/* jansson prints all numbers of an object with equally many digits. 15 are more than any quotient
 * here is worth, and print 0.1 as 0.1; a large whole number is a count and stays exact. */
static size_t precision(const struct uncore_row *row)
{
	bool whole = isfinite(row->value) && rint(row->value) == row->value;

	return (size_t)JSON_REAL_PRECISION(whole && fabs(row->value) >= 1e15 ? 17 : 15);
}

static void json_begin(struct out *out)
{
	(void)out;
}

/* What only an event has. */
static void put_counts(json_t *line, const struct uncore_row *row)
{
	bool event = !row->family;

	json_put(line, "count",
		 event && isfinite(row->value) ? json_count(row->count) : json_null());
	json_put(line, "enabled_ns", event ? json_count(row->enabled_ns) : json_null());
	json_put(line, "running_ns", event ? json_count(row->running_ns) : json_null());
}

static void json_row(struct out *out, const struct uncore_row *row, double spread)
{
	json_t *line = json_object();

	(void)spread;
	json_put(line, "schema", json_integer(JSON_SCHEMA));
	json_put(line, "time", json_number(out->frame.time));
	json_put(line, "interval", json_number(out->frame.window));
	json_put(line, "total", json_flag(out->frame.total));
	json_put(line, "source", json_text(out->setup.source));
	json_put(line, "simulated", json_flag(out->setup.simulated));
	json_put(line, "kind", json_text(out_kind(row)));
	json_put(line, "name", json_text(row->name));
	json_put(line, "family", json_text(row->family));
	json_put(line, "socket", json_id(row->socket));
	json_put(line, "pmu", json_text(row->pmu ? uncore_pmu_name(row->pmu) : NULL));
	json_put(line, "cpu", json_id(row->cpu));
	json_put(line, "value", json_number(row->value));
	json_put(line, "unit", json_text(row->unit));
	json_put(line, "rate", json_number(row->rate));
	json_put(line, "quality", json_text(uncore_quality_name(row->quality)));
	json_put(line, "coverage", json_number(row->coverage));
	json_put(line, "instances", json_count(row->instances));
	put_counts(line, row);
	json_put(line, "reason", json_text(row->reason));
	json_put(line, "role", json_text(row->role));
	json_put(line, "filter", json_text(row->filter));
	json_put(line, "port", json_text(row->port ? row->port->address : NULL));
	json_put(line, "ceiling", json_number(row->ceiling));
	json_put(line, "low", json_number(row->low));
	json_put(line, "high", json_number(row->high));
	json_print(line, JSON_COMPACT | precision(row), out->to);
}

static void json_end(struct out *out)
{
	(void)out;
}

const struct out_ops out_json = {"json", json_begin, json_row, json_end};

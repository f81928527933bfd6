/* SPDX-License-Identifier: MIT */
/* `uncore latency --by`: sampled loads by process, thread, symbol or page, as text and as
 * records. */
#include "commands/latency.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- text of keys ---- */

/* What the key is, in a column for each part. */
static void put_key(const struct uncore_latency_key *key, enum uncore_latency_by by,
		    struct table *t)
{
	if (key->rest) {
		table_cell(t, "other");
		for (int i = by == UNCORE_LATENCY_BY_PROCESS ? 1 : 2; i; i--)
			table_cell(t, "-");
		return;
	}
	table_cell(t, "%s", key->process[0] ? key->process : "?");
	if (by == UNCORE_LATENCY_BY_SYMBOL) {
		const char *object = key->object ? strrchr(key->object, '/') : NULL;

		table_cell(t, "%s", object ? object + 1 : key->object ? key->object : "?");
		if (key->symbol)
			table_cell(t, "%s", key->symbol);
		else
			table_cell(t, "+%#llx", (unsigned long long)key->offset);
		return;
	}
	table_cell(t, "%d", by == UNCORE_LATENCY_BY_THREAD ? key->tid : key->pid);
	if (by == UNCORE_LATENCY_BY_THREAD)
		table_cell(t, "%d", key->pid);
	if (by != UNCORE_LATENCY_BY_ADDRESS)
		return;
	if (key->node >= 0)
		table_cell(t, "%#llx (node %d)", (unsigned long long)key->page, key->node);
	else
		table_cell(t, "%#llx", (unsigned long long)key->page);
}

static void put_share(struct table *t, uint64_t part, uint64_t of)
{
	if (of)
		table_cell(t, "%.1f %%", 100 * (double)part / (double)of);
	else
		table_cell(t, "-");
}

#define KEY_NUMBERS                                                                             \
	{"SAMPLES", true}, {"SHARE", true}, {"LOCAL", true}, {"REMOTE", true}, {"CXL", true},   \
		{"MEAN", true}, {"99 %", true}, {"MOST FROM", TABLE_BELOW}, {"QUALITY", false}, \
	{                                                                                       \
		0                                                                               \
	}

void latency_put_keys(const struct latency_run *r, struct buffer *to)
{
	static const struct table_column columns[][13] = {
		[UNCORE_LATENCY_BY_PROCESS] = {{"PROCESS", false}, {"PID", true}, KEY_NUMBERS},
		[UNCORE_LATENCY_BY_THREAD] = {{"THREAD", false},
					      {"TID", true},
					      {"PID", true},
					      KEY_NUMBERS},
		[UNCORE_LATENCY_BY_SYMBOL] = {{"PROCESS", false},
					      {"OBJECT", false},
					      {"SYMBOL", false},
					      KEY_NUMBERS},
		[UNCORE_LATENCY_BY_ADDRESS] = {{"PROCESS", false},
					       {"PID", true},
					       {"PAGE", false},
					       KEY_NUMBERS},
	};
	const struct uncore_latency_counts *c = uncore_latency_total(r->samples);
	auto_table t = {0};

	table_init(&t, columns[r->o->key]);
	for (size_t i = 0; i < r->keys; i++) {
		const struct uncore_latency_key *key = uncore_latency_key_at(r->samples, i);

		put_key(key, r->o->key, &t);
		table_cell(&t, "%s", human((double)key->samples, "").number);
		put_share(&t, key->samples, c->used);
		put_share(&t, key->local, c->memory);
		put_share(&t, key->remote, c->memory);
		put_share(&t, key->extension, c->memory);
		table_cell(&t, "%.1f", key->mean);
		table_cell(&t, "<= %.0f", key->p99);
		table_cell(&t, "%s", key->source);
		table_cell(&t, "%s", uncore_quality_name(key->quality));
		table_end_row(&t, key->reason);
	}
	table_print(&t, to);
	buffer_puts(to, "\n");
	buffer_wrap(to, 0, text_columns(),
		    "SHARE is of all these loads; LOCAL, REMOTE and CXL are shares of all sampled "
		    "loads whose data came from memory");
	buffer_puts(to, "\n");
}

/* ---- records ---- */

/* Addresses as texts: numbers of JSON have no room for them. */
struct places {
	char text[24];
	const char *offset, *page;
};

static void set_places(struct places *at, const struct latency_run *r,
		       const struct uncore_latency_key *key)
{
	bool page = r->o->key == UNCORE_LATENCY_BY_ADDRESS;

	*at = (struct places){0};
	snprintf(at->text, sizeof(at->text), "%#llx",
		 (unsigned long long)(page ? key->page : key->offset));
	if (page && !key->rest)
		at->page = at->text;
	if (r->o->key == UNCORE_LATENCY_BY_SYMBOL && !key->rest)
		at->offset = at->text;
}

static void print_key_row(struct latency_run *r, const struct uncore_latency_key *key)
{
	struct places at;
	const struct uncore_latency_counts *c = uncore_latency_total(r->samples);

	set_places(&at, r, key);
	r->out.output->record(
		&r->out,
		RECORD({"time", value_real(r->time)}, {"interval", value_real(r->seconds)},
		       {"source", value_text(r->source)}, {"kind", value_text("latency-key")},
		       {"by", value_text(r->o->by)}, {"rest", value_flag(key->rest)},
		       {"pid", value_id(key->pid)}, {"tid", value_id(key->tid)},
		       {"process", value_text(key->process)}, {"object", value_text(key->object)},
		       {"symbol", value_text(key->symbol)}, {"offset", value_text(at.offset)},
		       {"page", value_text(at.page)}, {"node", value_id(key->node)},
		       {"samples", value_count(key->samples)}, {"used", value_count(c->used)},
		       {"memory", value_count(c->memory)}, {"local", value_count(key->local)},
		       {"remote", value_count(key->remote)}, {"cxl", value_count(key->extension)},
		       {"mean", value_real(key->mean)}, {"p99", value_real(key->p99)},
		       {"unit", value_text("cycles")}, {"name", value_text(key->source)},
		       {"quality", value_text(uncore_quality_name(key->quality))},
		       {"lost", value_count(c->lost)}, {"reason", value_text(key->reason)}));
}

json_t *latency_key_record(const struct latency_run *r, const struct uncore_latency_key *key)
{
	struct places at;

	set_places(&at, r, key);
	return json_record((const struct field[]){
		{"rest", value_flag(key->rest)},
		{"pid", value_id(key->pid)},
		{"tid", value_id(key->tid)},
		{"process", value_text(key->process)},
		{"object", value_text(key->object)},
		{"symbol", value_text(key->symbol)},
		{"offset", value_text(at.offset)},
		{"page", value_text(at.page)},
		{"node", value_id(key->node)},
		{"samples", value_count(key->samples)},
		{"local", value_count(key->local)},
		{"remote", value_count(key->remote)},
		{"cxl", value_count(key->extension)},
		{"mean", value_real(key->mean)},
		{"p99", value_real(key->p99)},
		{"name", value_text(key->source)},
		{"quality", value_text(uncore_quality_name(key->quality))},
		{"reason", value_text(key->reason)},
		{0},
	});
}

void latency_print_keys(struct latency_run *r)
{
	static const struct uncore_latency_key none = {
		.pid = -1,
		.tid = -1,
		.process = "",
		.node = -1,
		.mean = NAN,
		.p99 = NAN,
		.quality = UNCORE_UNAVAILABLE,
		.reason = "no sampled load had such a miss",
	};

	for (size_t i = 0; i < r->keys; i++)
		print_key_row(r, uncore_latency_key_at(r->samples, i));
	if (!r->keys)
		print_key_row(r, &none);
}

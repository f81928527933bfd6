/* SPDX-License-Identifier: MIT */
#include "record/owners.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/cli.h"
#include "output/owner.h"
#include "record/store.h"
#include "record/who.h"

static const struct {
	const char *name, *title;
	bool moves; /* its sum ranks the keys */
} metrics[] = {
	{OWNER_MOVED, "MEMORY", true},   {OWNER_LOCAL, "LOCAL", false},
	{OWNER_REMOTE, "REMOTE", false}, {OWNER_CACHE, "CACHE", false},
	{OWNER_READ, "READ", true},      {OWNER_WRITTEN, "WRITTEN", true},
	{OWNER_GPU, "GPU", false},       {OWNER_GPU_MEMORY, "GPU MEMORY", false},
};

#define METRICS ((int)(sizeof(metrics) / sizeof(*metrics)))

/* ---- reading ---- */

static void take_row(struct owner_row *o, sqlite3_stmt *s)
{
	const char *kind = store_text(s, 1);
	bool all = sqlite3_column_type(s, 6) == SQLITE_NULL;
	struct buffer label = {0};

	*o = (struct owner_row){.id = sqlite3_column_int64(s, 0),
				.key = cli_copy(store_text(s, 2)),
				.name = cli_copy(store_text(s, 3)),
				.family = cli_copy(store_text(s, 4)),
				.unit = cli_copy(store_text(s, 5)),
				.is_key = !cli_same(kind, OWNER_OTHER) && !cli_same(kind, "group"),
				.is_other = cli_same(kind, OWNER_OTHER)};
	buffer_printf(&label, "%s%s", o->is_key || o->is_other ? "" : "group ", o->key);
	o->label = label.data;
	o->place = (struct uncore_row_place){.socket = all ? -1 : sqlite3_column_int(s, 6),
					     .node = -1,
					     .channel = -1,
					     .cpu = -1};
	while (o->rank < METRICS && !cli_same(metrics[o->rank].name, o->name))
		o->rank++;
}

int owners_open(struct owners *o, struct recording *r)
{
	int64_t tables = 0;
	sqlite3_stmt *s;
	int code, err = store_number(r, "SELECT count(*) FROM sqlite_master WHERE name = 'who_row'",
				     0, &tables);

	if (!err && tables)
		err = store_prepare(
			r,
			"SELECT id, kind, coalesce(key, ''), coalesce(name, ''), "
			"coalesce(family, ''), coalesce(unit, ''), socket FROM who_row ORDER BY id",
			&s);
	if (err || !tables)
		return err;
	while ((code = sqlite3_step(s)) == SQLITE_ROW) {
		o->rows = cli_realloc(o->rows, o->count + 1, sizeof(*o->rows));
		take_row(&o->rows[o->count++], s);
	}
	return store_finish(r, s, code);
}

static int compare_ids(const void *a, const void *b)
{
	const struct owner_row *x = a, *y = b;

	return (x->id > y->id) - (x->id < y->id);
}

/* An interval of a row; columns of the statement of owners_add(). */
static void add_value(struct owners *o, sqlite3_stmt *s)
{
	const struct owner_row wanted = {.id = sqlite3_column_int64(s, 0)};
	struct owner_row *row =
		o->count ? bsearch(&wanted, o->rows, o->count, sizeof(*o->rows), compare_ids)
			 : NULL;
	double seconds = sqlite3_column_double(s, 2) / 1e9, value;

	if (!row)
		return;
	value = sqlite3_column_type(s, 3) == SQLITE_NULL ? NAN : sqlite3_column_double(s, 3);
	row->row.quality = store_quality(store_text(s, 4));
	row->row.reason = store_text(s, 5);
	statistics_add(&row->all, &row->row, value, seconds, (uint64_t)sqlite3_column_int64(s, 1));
	row->row.reason = NULL;
	if (isfinite(value) && row->place.socket < 0 && row->rank < METRICS &&
	    metrics[row->rank].moves)
		row->moved += value * seconds;
}

int owners_add(struct owners *o, struct recording *r, uint64_t begin_ns, uint64_t end_ns)
{
	sqlite3_stmt *s;
	int code, err;

	if (!o->count)
		return 0;
	err = store_prepare(r,
			    "SELECT v.key, t.wall_ns, t.interval_ns, " WHO_VALUES
			    " FROM who_tick t, json_each(t.row_values) v "
			    "WHERE t.wall_ns > ? AND t.wall_ns <= ?",
			    &s);
	if (err)
		return err;
	store_bind_count(s, 1, begin_ns);
	store_bind_count(s, 2, end_ns);
	while ((code = sqlite3_step(s)) == SQLITE_ROW)
		add_value(o, s);
	return store_finish(r, s, code);
}

/* ---- the order ---- */

static int compare_keys(const void *a, const void *b)
{
	const struct owner_row *x = a, *y = b;
	int order = x->is_key - y->is_key;

	return order ? order : strcmp(x->key, y->key);
}

static int compare_rows(const void *a, const void *b)
{
	const struct owner_row *x = a, *y = b;
	int order = x->is_other - y->is_other;

	if (!order)
		order = (x->moved < y->moved) - (x->moved > y->moved);
	if (!order)
		order = compare_keys(a, b);
	if (!order)
		order = x->rank - y->rank;
	return order ? order : x->place.socket - y->place.socket;
}

bool owners_is_same(const struct owner_row *a, const struct owner_row *b)
{
	return compare_keys(a, b) == 0;
}

/* Each row gets what all rows of its key moved. */
static void add_up(struct owners *o)
{
	for (size_t i = 0, end; i < o->count; i = end) {
		double moved = 0;

		for (end = i; end < o->count && owners_is_same(&o->rows[i], &o->rows[end]); end++)
			moved += o->rows[end].moved;
		for (size_t k = i; k < end; k++)
			o->rows[k].moved = moved;
	}
}

static void free_row(struct owner_row *row)
{
	statistics_free(&row->all);
	free(row->key);
	free(row->label);
	free(row->name);
	free(row->family);
	free(row->unit);
}

void owners_finish(struct owners *o)
{
	size_t kept = 0;

	for (size_t i = 0; i < o->count; i++) {
		if (o->rows[i].all.intervals || o->rows[i].all.missing)
			o->rows[kept++] = o->rows[i];
		else
			free_row(&o->rows[i]);
	}
	o->count = kept;
	if (!kept)
		return;
	qsort(o->rows, kept, sizeof(*o->rows), compare_keys);
	add_up(o);
	qsort(o->rows, kept, sizeof(*o->rows), compare_rows);
	for (size_t i = 0; i < kept; i++) {
		struct owner_row *row = &o->rows[i];

		row->title = row->rank < METRICS ? metrics[row->rank].title : row->name;
		row->query = (struct uncore_row_query){
			.name = row->name, .family = row->family, .unit = row->unit};
		*(row->is_key ? &row->place.tasks : &row->place.role) = row->key;
		row->row = (struct uncore_row){.query = &row->query,
					       .place = &row->place,
					       .value = NAN,
					       .low = NAN,
					       .high = NAN,
					       .ceiling = NAN,
					       .rate = NAN,
					       .weight = NAN};
	}
}

void owners_free(struct owners *o)
{
	for (size_t i = 0; i < o->count; i++)
		free_row(&o->rows[i]);
	free(o->rows);
	*o = (struct owners){0};
}

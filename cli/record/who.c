/* SPDX-License-Identifier: MIT */
#include "record/who.h"

#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <string.h>

#include "output/owner.h"
#include "record/store.h"

/* Reading the groups more often would cost more than it shows. */
#define SHORTEST_NS (100 * NS_PER_MS)

/* ---- the process ---- */

int record_who_open(struct record_who *w, const struct cli *cli, uint64_t interval_ns)
{
	return self_open_who(&w->self, cli, w->by,
			     interval_ns > SHORTEST_NS ? interval_ns : SHORTEST_NS, "-j");
}

static void finalize(struct record_who *w)
{
	sqlite3_finalize(w->find);
	sqlite3_finalize(w->put);
	w->find = w->put = NULL;
}

void record_who_close(struct record_who *w)
{
	finalize(w);
	self_close(&w->self);
	buffer_free(&w->values);
}

/* ---- the tables ---- */

/* clang-format off */
static const char schema[] =
	"CREATE TABLE IF NOT EXISTS who_row(id INTEGER PRIMARY KEY, kind TEXT, key TEXT, labels TEXT,"
	" name TEXT, family TEXT, unit TEXT, socket INTEGER);"
	"CREATE INDEX IF NOT EXISTS who_row_key ON who_row(key, name);"
	"CREATE TABLE IF NOT EXISTS who_tick(wall_ns INTEGER, monotonic_ns INTEGER, interval_ns INTEGER,"
	" row_values TEXT);"
	"CREATE INDEX IF NOT EXISTS who_tick_wall_ns ON who_tick(wall_ns);"
	"CREATE VIEW IF NOT EXISTS who AS"
	" SELECT strftime('%Y-%m-%dT%H:%M:%f', t.wall_ns / 1e9, 'unixepoch') || 'Z' AS time,"
	" t.wall_ns, t.monotonic_ns / 1e9 AS monotonic_s, t.interval_ns / 1e9 AS interval_s,"
	" r.kind, r.key, r.labels, r.name, r.family, r.socket, r.unit, " WHO_VALUES
	" FROM who_tick t, json_each(t.row_values) v JOIN who_row r ON r.id = v.key;";
/* clang-format on */

int record_who_begin(struct record_who *w, struct recording *r)
{
	int err = store_run(r, schema);

	if (!err)
		err = store_prepare(
			r,
			"SELECT id FROM who_row WHERE kind = ?1 AND key = ?2 AND name = ?3 AND socket IS ?4",
			&w->find);
	return err ? err
		   : store_prepare(
			     r,
			     "INSERT INTO who_row(kind, key, name, socket, labels, family, unit) "
			     "VALUES (?, ?, ?, ?, ?, ?, ?)",
			     &w->put);
}

static int store_tick(struct record_who *w, struct recording *r)
{
	int err;

	if (!w->values.len)
		return 0;
	buffer_puts(&w->values, "}");
	err = store_run_format(r, "INSERT INTO who_tick VALUES (%lld, %lld, %lld, %Q)",
			       (long long)w->wall_ns, (long long)w->monotonic_ns,
			       (long long)w->interval_ns, w->values.data);
	w->values.len = 0;
	return err;
}

int record_who_end(struct record_who *w, struct recording *r)
{
	int err = w->values.len ? store_begin_batch(r) : 0;

	if (!err)
		err = store_tick(w, r);
	finalize(w);
	return err;
}

/* ---- rows ---- */

static const char *text_of(const json_t *row, const char *name)
{
	return json_string_value(json_object_get(row, name));
}

static uint64_t count_of(const json_t *row, const char *name)
{
	return (uint64_t)json_integer_value(json_object_get(row, name));
}

static void put_label(void *context, const char *name, const char *text, size_t len)
{
	json_object_set_new(context, name, json_stringn_nocheck(text, len));
}

/* The id of a row, which is added when it is new. */
static int find_row(struct record_who *w, struct recording *r, const json_t *row, int64_t *id)
{
	const char *names = text_of(row, "names"), *role = text_of(row, "role");
	bool other = cli_same(role, OWNER_OTHER);
	const char *kind = other ? OWNER_OTHER : names ? w->by : "group";
	const json_t *socket = json_object_get(row, "socket");
	sqlite3_stmt *const both[] = {w->find, w->put};
	auto_free char *labels = NULL;
	json_t *object;
	int code, err;

	for (size_t i = 0; i < 2; i++) {
		store_bind_text(both[i], 1, kind);
		store_bind_text(both[i], 2, other ? OWNER_OTHER : names ? names : role);
		store_bind_text(both[i], 3, text_of(row, "name"));
		store_bind_id(both[i], 4,
			      json_is_integer(socket) ? (int)json_integer_value(socket) : -1);
	}
	code = sqlite3_step(w->find);
	*id = sqlite3_column_int64(w->find, 0);
	err = code == SQLITE_ROW || code == SQLITE_DONE ? 0 : store_sql_fail(r);
	sqlite3_reset(w->find);
	if (err || code == SQLITE_ROW)
		return err;
	object = json_object();
	owner_labels(w->by, role, names, put_label, object);
	labels = json_dumps(object, JSON_COMPACT);
	json_decref(object);
	store_bind_text(w->put, 5, labels);
	store_bind_text(w->put, 6, text_of(row, "family"));
	store_bind_text(w->put, 7, text_of(row, "unit"));
	err = store_put(r, w->put);
	*id = sqlite3_last_insert_rowid(r->db);
	return err;
}

/* An element of the object of values: "12":4.00001e+09, or "12":[null,"unavailable",3] */
static int put_value(struct record_who *w, struct recording *r, const json_t *row, int64_t id)
{
	const json_t *value = json_object_get(row, "value");
	const char *quality = text_of(row, "quality"), *reason = text_of(row, "reason");
	bool plain = !reason && cli_same(quality, uncore_quality_name(UNCORE_MEASURED));
	int64_t number = 0;
	int err = reason ? store_find_reason(r, reason, &number) : 0;

	buffer_printf(&w->values, "%c\"%lld\":%s", w->values.len ? ',' : '{', (long long)id,
		      plain ? "" : "[");
	store_put_number(&w->values, json_is_number(value) ? json_number_value(value) : NAN);
	if (!plain)
		buffer_printf(&w->values, ",\"%s\"", quality ? quality : "");
	if (number)
		buffer_printf(&w->values, ",%lld", (long long)number);
	buffer_puts(&w->values, plain ? "" : "]");
	return err;
}

static int add_row(struct record_who *w, struct recording *r, const json_t *row)
{
	uint64_t wall_ns = count_of(row, "wall_ns");
	int64_t id = 0;
	int err = 0;

	/* The others are of the whole machine, and are for comparison. */
	if (wall_ns < w->from_ns || !(text_of(row, "names") || text_of(row, "role")))
		return 0;
	if (wall_ns != w->wall_ns)
		err = store_tick(w, r);
	w->wall_ns = wall_ns;
	w->monotonic_ns = count_of(row, "monotonic_ns");
	w->interval_ns =
		(uint64_t)llround(1e9 * json_number_value(json_object_get(row, "interval")));
	err = err ? err : find_row(w, r, row, &id);
	return err ? err : put_value(w, r, row, id);
}

static int add_lines(struct record_who *w, struct recording *r)
{
	struct buffer *text = &w->self.text;
	char *line = text->data, *end = NULL;
	int err = store_begin_batch(r);

	while (!err && (end = memchr(line, '\n', text->len - (size_t)(line - text->data)))) {
		json_t *row = json_loadb(line, (size_t)(end - line), 0, NULL);

		err = row ? add_row(w, r, row)
			  : store_fail(r, -EPROTO, "--who: a row of 'uncore who' is no JSON");
		json_decref(row);
		line = end + 1;
		w->any = true;
	}
	text->len -= (size_t)(line - text->data);
	memmove(text->data, line, text->len);
	return err;
}

/* The rows that were read. */
static int add_read(struct record_who *w, struct recording *r)
{
	return w->self.text.len ? add_lines(w, r) : 0;
}

int record_who_take(struct record_who *w, struct recording *r)
{
	int err;

	if (!w->by || w->ended)
		return 0;
	self_read(&w->self);
	err = add_read(w, r);
	if (err || !self_has_ended(&w->self))
		return err;
	w->ended = true;
	if (w->any)
		cli_error("--who: the process 'uncore who' has ended with status %d: the "
			  "recording goes on without its rows",
			  w->self.status);
	return 0;
}

int record_who_finish(struct record_who *w, struct recording *r)
{
	int err = 0;

	if (w->by && !w->ended) {
		self_finish(&w->self);
		err = add_read(w, r);
	}
	return err ? err : record_who_end(w, r);
}

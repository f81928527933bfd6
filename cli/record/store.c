/* SPDX-License-Identifier: MIT */
/* Reading recordings, and functions that reading and writing share. */
#include "record/store.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cli.h"

#define MOST_ERRNO 4095

enum { /* of statements[], of a reader */
       NEXT_TICK,
       NEXT_REASON,
};

int store_fail(struct recording *r, int err, const char *fmt, ...)
{
	int len = snprintf(r->error, sizeof(r->error), "%s: ", r->path);
	va_list args;

	va_start(args, fmt);
	if (len > 0 && (size_t)len < sizeof(r->error))
		vsnprintf(r->error + len, sizeof(r->error) - (size_t)len, fmt, args);
	va_end(args);
	return err;
}

int store_sql_fail(struct recording *r)
{
	int code = sqlite3_errcode(r->db), system = sqlite3_system_errno(r->db);

	switch (code & 0xff) {
	case SQLITE_NOTADB:
		return store_fail(r, -EINVAL, "not a recording of uncore");
	case SQLITE_FULL:
		return store_fail(r, -ENOSPC, "the disk is full");
	case SQLITE_BUSY:
	case SQLITE_LOCKED:
		/* SQLite takes a missing lock service of a network file system for a lock. */
		if (system == ENOLCK)
			return store_fail(r, -ENOLCK, "its file system has no locks: %s",
					  strerror(ENOLCK));
		return store_fail(r, -EBUSY, "another process has locked it");
	case SQLITE_INTERRUPT:
		return store_fail(r, -EINTR, "interrupted");
	default:
		if (system)
			return store_fail(r, -system, "%s (%s)", strerror(system),
					  sqlite3_errmsg(r->db));
		return store_fail(r, -EIO, "%s", sqlite3_errmsg(r->db));
	}
}

int store_run(struct recording *r, const char *sql)
{
	return sqlite3_exec(r->db, sql, NULL, NULL, NULL) ? store_sql_fail(r) : 0;
}

int store_run_format(struct recording *r, const char *fmt, ...)
{
	va_list args;
	char *sql;
	int err;

	va_start(args, fmt);
	sql = sqlite3_vmprintf(fmt, args);
	va_end(args);
	err = sql ? store_run(r, sql) : -ENOMEM;
	sqlite3_free(sql);
	return err;
}

int store_prepare(struct recording *r, const char *sql, sqlite3_stmt **out)
{
	return sqlite3_prepare_v2(r->db, sql, -1, out, NULL) ? store_sql_fail(r) : 0;
}

int store_finish(struct recording *r, sqlite3_stmt *s, int code)
{
	int err = code == SQLITE_ROW || code == SQLITE_DONE ? 0 : store_sql_fail(r);

	sqlite3_finalize(s);
	return err;
}

int store_number(struct recording *r, const char *sql, int64_t otherwise, int64_t *out)
{
	sqlite3_stmt *s;
	int code, err = store_prepare(r, sql, &s);

	if (err)
		return err;
	code = sqlite3_step(s);
	*out = code == SQLITE_ROW && sqlite3_column_type(s, 0) != SQLITE_NULL
		       ? sqlite3_column_int64(s, 0)
		       : otherwise;
	return store_finish(r, s, code);
}

void store_bind_text(sqlite3_stmt *s, int column, const char *text)
{
	sqlite3_bind_text(s, column, text, -1, SQLITE_STATIC); /* NULL: null */
}

void store_bind_count(sqlite3_stmt *s, int column, uint64_t v)
{
	sqlite3_bind_int64(s, column, (sqlite3_int64)v);
}

void store_bind_id(sqlite3_stmt *s, int column, int id)
{
	if (id < 0)
		sqlite3_bind_null(s, column);
	else
		sqlite3_bind_int(s, column, id);
}

int store_put(struct recording *r, sqlite3_stmt *s)
{
	int code = sqlite3_step(s), err = code == SQLITE_DONE ? 0 : store_sql_fail(r);

	sqlite3_reset(s);
	return err;
}

/* A foreign file may have views, virtual tables, triggers or computed columns and indices that
 * never end or need much memory. Only these tables with plain columns are accepted, and no trigger;
 * other views are not read. Those of --who may be missing. */
#define RECORDED_TABLES 8
#define RECORDED_NAMES "'meta', 'session', 'counter', 'row', 'tick', 'quality', 'reason', 'mark'"
#define ALL_NAMES "(" RECORDED_NAMES ", 'who_row', 'who_tick')"
#define IS_PLAIN                                    \
	"(type = 'table' AND rootpage > 0 AND NOT " \
	"EXISTS (SELECT * FROM pragma_table_xinfo(s.name) WHERE hidden <> 0))"
static const char plain_tables[] =
	"SELECT count(*) FROM sqlite_master s WHERE name IN (" RECORDED_NAMES ") AND " IS_PLAIN;
static const char foreign_parts[] =
	"SELECT count(*) FROM sqlite_master s WHERE type = 'trigger' OR lower(name) IN " ALL_NAMES
	" AND (name NOT IN " ALL_NAMES " OR NOT " IS_PLAIN ") OR type = 'index'"
	" AND EXISTS (SELECT * FROM pragma_index_xinfo(s.name) WHERE cid = -2)";
/* Far above the snapshot, the largest text of a recording. */
#define LONGEST_VALUE (1 << 28)

int store_check(struct recording *r)
{
	int64_t id = 0, format = 0, tables = 0, foreign = 0;
	int err = store_number(r, "PRAGMA application_id", 0, &id);

	sqlite3_db_config(r->db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
	sqlite3_db_config(r->db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
	sqlite3_limit(r->db, SQLITE_LIMIT_LENGTH, LONGEST_VALUE);
	if (!err)
		err = store_number(r, "PRAGMA user_version", 0, &format);
	if (!err)
		err = store_number(r, plain_tables, 0, &tables);
	if (!err)
		err = store_number(r, foreign_parts, 0, &foreign);
	if (err)
		return err;
	if (id != RECORDING_ID)
		return store_fail(r, -EINVAL, "not a recording of uncore");
	if (format > RECORDING_FORMAT)
		return store_fail(r, -ENOTSUP,
				  "made by a newer version of uncore: its format is %lld, and this "
				  "version reads formats up to %d",
				  (long long)format, RECORDING_FORMAT);
	if (tables != RECORDED_TABLES || foreign)
		return store_fail(r, -EINVAL, "damaged: its tables are not those of a recording");
	return 0;
}

int store_read_counters(struct recording *r)
{
	bool damaged = false;
	sqlite3_stmt *s;
	int code, err = store_prepare(
			  r,
			  "SELECT pmu, event, cpu, config0, config1, config2, config3, "
			  "modifiers, group_number, leader, width, most_per_s, error, why "
			  "FROM counter ORDER BY id",
			  &s);

	if (err)
		return err;
	while ((code = sqlite3_step(s)) == SQLITE_ROW) {
		struct recorded_counter *c;

		r->counters = cli_realloc(r->counters, r->counter_count + 1, sizeof(*r->counters));
		c = &r->counters[r->counter_count++];
		*c = (struct recorded_counter){
			.pmu = cli_copy(store_text(s, 0)),
			.event = cli_copy(store_text(s, 1)),
			.cpu = sqlite3_column_int(s, 2),
			.modifiers = (uint32_t)sqlite3_column_int64(s, 7),
			.group = (size_t)sqlite3_column_int64(s, 8),
			.leader = sqlite3_column_int(s, 9) != 0,
			.width = (unsigned)sqlite3_column_int(s, 10),
			.most_per_s = sqlite3_column_double(s, 11),
			.error = sqlite3_column_int(s, 12),
			.why = cli_copy(store_text(s, 13)),
		};
		for (int i = 0; i < UNCORE_CONFIG_WORDS; i++)
			c->config[i] = (uint64_t)sqlite3_column_int64(s, 3 + i);
		damaged = damaged || !c->pmu || !c->event || c->error > 0 || c->error < -MOST_ERRNO;
	}
	err = store_finish(r, s, code);
	return damaged ? store_fail(r, -EBADMSG, "a counter is damaged") : err;
}

int store_open(struct recording *r, int flags)
{
	auto_buffer path = {0};

	/* SQLite has names that are no files (":memory:", "file:x?mode=memory"); those with a
	 * folder are. */
	buffer_printf(&path, "%s%s", *r->path == '/' ? "" : "./", r->path);
	/* One thread at a time uses a recording. */
	return sqlite3_open_v2(path.data, &r->db, flags | SQLITE_OPEN_NOMUTEX, NULL)
		       ? store_sql_fail(r)
		       : 0;
}

int recording_open(struct recording *r, const char *path)
{
	int err;

	*r = (struct recording){.path = cli_copy(path), .lock_fd = -1};
	err = store_open(r, SQLITE_OPEN_READONLY);
	if (err)
		return err;
	sqlite3_busy_timeout(r->db, 5000);
	err = store_check(r);
	if (!err)
		err = store_read_counters(r);
	if (err)
		return err;
	r->readings = cli_realloc(NULL, r->counter_count + 1, sizeof(*r->readings));
	memset(r->readings, 0, (r->counter_count + 1) * sizeof(*r->readings));
	err = store_prepare(r,
			    "SELECT id, monotonic_ns, wall_ns, interval_ns, row_values IS NULL, "
			    "readings FROM tick WHERE id >= ? ORDER BY id LIMIT 1",
			    &r->statements[NEXT_TICK]);
	return err ? err
		   : store_prepare(r, "SELECT text FROM reason WHERE id > ? ORDER BY id",
				   &r->statements[NEXT_REASON]);
}

int recording_meta(struct recording *r, const char *key, char **out)
{
	sqlite3_stmt *s;
	int code, err = store_prepare(
			  r,
			  "SELECT value FROM meta WHERE key = ?1 UNION ALL "
			  "SELECT command_line FROM session WHERE ?1 = 'command_line' LIMIT 1",
			  &s);

	if (err)
		return err;
	sqlite3_bind_text(s, 1, key, -1, SQLITE_STATIC);
	code = sqlite3_step(s);
	*out = code == SQLITE_ROW ? cli_copy(store_text(s, 0)) : NULL;
	if (code == SQLITE_ROW && !*out && sqlite3_column_type(s, 0) != SQLITE_NULL)
		code = SQLITE_NOMEM;
	return store_finish(r, s, code);
}

/* Loads reasons that were added since the last call. */
static int load_reasons(struct recording *r)
{
	sqlite3_stmt *s = r->statements[NEXT_REASON];
	int code;

	sqlite3_bind_int64(s, 1, (int64_t)r->reason_count);
	while ((code = sqlite3_step(s)) == SQLITE_ROW) {
		r->reasons = cli_realloc(r->reasons, r->reason_count + 1, sizeof(*r->reasons));
		r->reasons[r->reason_count++] = cli_copy(store_text(s, 0));
	}
	sqlite3_reset(s);
	return code == SQLITE_DONE ? 0 : store_sql_fail(r);
}

static int explain_readings(struct recording *r)
{
	for (size_t i = 0; i < r->counter_count; i++) {
		struct recorded_reading *one = &r->readings[i];
		int err = one->why > r->reason_count ? load_reasons(r) : 0;

		if (err)
			return err;
		if (one->why > r->reason_count)
			return -EBADMSG;
		one->reading.why = one->why ? r->reasons[one->why - 1] : NULL;
	}
	return 0;
}

int recording_next(struct recording *r, struct recording_tick *tick)
{
	sqlite3_stmt *s = r->statements[NEXT_TICK];
	const uint8_t *blob;
	size_t len;
	int code, err = 0;

	sqlite3_bind_int64(s, 1, (int64_t)r->next_tick);
	code = sqlite3_step(s);
	if (code != SQLITE_ROW) {
		sqlite3_reset(s);
		return code == SQLITE_DONE ? 0 : store_sql_fail(r);
	}
	*tick = (struct recording_tick){
		.number = (uint64_t)sqlite3_column_int64(s, 0),
		.monotonic_ns = (uint64_t)sqlite3_column_int64(s, 1),
		.wall_ns = (uint64_t)sqlite3_column_int64(s, 2),
		.interval_ns = (uint64_t)sqlite3_column_int64(s, 3),
		.start = sqlite3_column_int(s, 4) != 0,
	};
	blob = sqlite3_column_blob(s, 5);
	len = (size_t)sqlite3_column_bytes(s, 5);
	/* After a missing tick only a key can be decoded. Within a session the time must
	 * increase. */
	if ((tick->number != r->next_tick && !readings_are_key(blob, len)) ||
	    tick->number >= INT64_MAX || (!tick->start && tick->monotonic_ns < r->monotonic_ns))
		err = -EBADMSG;
	if (!err)
		err = readings_decode(r->readings, r->counter_count, blob, len);
	if (!err)
		err = explain_readings(r);
	sqlite3_reset(s);
	if (err == -EBADMSG)
		return store_fail(r, err, "the readings of tick %llu are damaged",
				  (unsigned long long)tick->number);
	r->next_tick = tick->number + 1;
	r->monotonic_ns = tick->monotonic_ns;
	return err ? err : 1;
}

int recording_go(struct recording *r, uint64_t number)
{
	uint64_t key = number / RECORDING_KEY * RECORDING_KEY;
	struct recording_tick tick;
	int err = 0;

	if (r->next_tick < key || r->next_tick > number) {
		r->next_tick = key;
		r->monotonic_ns = 0;
	}
	while (!err && r->next_tick < number) {
		err = recording_next(r, &tick);
		err = err > 0 ? 0 : err ? err : -EIO;
	}
	return err;
}

int recording_seek(struct recording *r, uint64_t wall_ns)
{
	int64_t number = 0;
	char sql[250];
	int err;

	/* A time between two sessions: goes to the later one. */
	snprintf(sql, sizeof(sql),
		 "WITH t(n) AS (SELECT max(id) FROM tick WHERE wall_ns <= %llu) SELECT coalesce("
		 "(SELECT id FROM tick WHERE id = (SELECT min(id) FROM tick, t WHERE id > n)"
		 " AND row_values IS NULL), n) FROM t",
		 (unsigned long long)(wall_ns > INT64_MAX ? INT64_MAX : wall_ns));
	err = wall_ns ? store_number(r, sql, 0, &number) : 0;
	return err ? err : recording_go(r, (uint64_t)number);
}

static void free_reasons(struct recording_reason *reasons, size_t count)
{
	for (size_t i = 0; reasons && i < count; i++)
		free(reasons[i].text);
	free(reasons);
}

void recording_close_file(struct recording *r)
{
	for (size_t i = 0; i < RECORDING_STATEMENTS; i++) {
		sqlite3_finalize(r->statements[i]);
		r->statements[i] = NULL;
	}
	sqlite3_close(r->db);
	r->db = NULL;
	/* Close the lock's descriptor last: closing it would release the locks of SQLite on the
	 * file. */
	if (r->lock_fd >= 0)
		close(r->lock_fd);
	r->lock_fd = -1;
}

void recording_close(struct recording *r)
{
	recording_close_file(r);
	for (size_t i = 0; r->counters && i < r->counter_count; i++) {
		free(r->counters[i].pmu);
		free(r->counters[i].event);
		free(r->counters[i].why);
	}
	for (size_t i = 0; i < r->reason_count; i++)
		free(r->reasons[i]);
	free_reasons(r->row_reasons, r->row_count);
	free_reasons(r->counter_reasons, r->counter_count);
	free(r->reasons);
	free(r->counters);
	free(r->readings);
	free(r->latest);
	free(r->blob);
	free(r->quality_text);
	free(r->latest_reason.text);
	buffer_free(&r->pending);
	buffer_free(&r->values);
	buffer_free(&r->quality);
	buffer_free(&r->distributions);
	free(r->path);
	*r = (struct recording){.lock_fd = -1};
}

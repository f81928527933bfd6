/* SPDX-License-Identifier: MIT */
/* Writing recordings: ticks in batches, each a transaction. */
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/cli.h"
#include "base/number.h"
#include "record/regions.h"
#include "record/store.h"

/* Shorter intervals are committed together, after this time at most. */
#define BATCH_NS NS_PER_S

enum { /* of statements[], of a writer */
       PUT_TICK,
       PUT_ROW,
       PUT_REASON,
       FIND_REASON, /* after the statement that adds it: see find_text() */
       PUT_QUALITY,
       FIND_QUALITY,
       SAME_ROW,
};

#define ROW_COLUMNS "(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"

static const char *const writing[RECORDING_STATEMENTS] = {
	[PUT_TICK] = "INSERT INTO tick VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
	[PUT_ROW] = "INSERT INTO row VALUES " ROW_COLUMNS,
	[PUT_REASON] = "INSERT OR IGNORE INTO reason(text) VALUES (?)",
	[FIND_REASON] = "SELECT id FROM reason WHERE text = ?",
	[PUT_QUALITY] = "INSERT OR IGNORE INTO quality(row_qualities) VALUES (?)",
	[FIND_QUALITY] = "SELECT id FROM quality WHERE row_qualities = ?",
	[SAME_ROW] = "SELECT 1 FROM row WHERE (id, name, family, unit, filter, socket, node, "
		     "channel, cpu, pmu, port, role, ceiling) IS " ROW_COLUMNS,
};

/* clang-format off */
static const char schema[] =
	"CREATE TABLE meta(key TEXT PRIMARY KEY, value TEXT) WITHOUT ROWID;"
	"CREATE TABLE session(first_tick INTEGER PRIMARY KEY, command_line TEXT, interval_ns INTEGER,"
	" sample_ns INTEGER, end TEXT);"
	"CREATE TABLE counter(id INTEGER PRIMARY KEY, pmu TEXT, event TEXT, cpu INTEGER,"
	" config0 INTEGER, config1 INTEGER, config2 INTEGER, config3 INTEGER, modifiers INTEGER,"
	" group_number INTEGER, leader INTEGER, width INTEGER, most_per_s REAL, error INTEGER, why TEXT);"
	"CREATE TABLE row(id INTEGER PRIMARY KEY, name TEXT, family TEXT, unit TEXT, filter TEXT,"
	" socket INTEGER, node INTEGER, channel INTEGER, cpu INTEGER, pmu TEXT, port TEXT, role TEXT,"
	" ceiling REAL);"
	"CREATE TABLE tick(id INTEGER PRIMARY KEY, monotonic_ns INTEGER, wall_ns INTEGER,"
	" interval_ns INTEGER, quality INTEGER REFERENCES quality(id), readings BLOB, row_values TEXT,"
	" distributions TEXT);"
	"CREATE INDEX tick_wall_ns ON tick(wall_ns);"
	"CREATE TABLE quality(id INTEGER PRIMARY KEY, row_qualities TEXT UNIQUE);"
	"CREATE TABLE reason(id INTEGER PRIMARY KEY, text TEXT UNIQUE);"
	"CREATE TABLE mark(wall_ns INTEGER, monotonic_ns INTEGER, text TEXT);"
	"CREATE INDEX mark_text ON mark(text);"
	"CREATE VIEW regions AS " REGIONS_SQL ";"
	"CREATE VIEW samples AS"
	" SELECT strftime('%Y-%m-%dT%H:%M:%f', t.wall_ns / 1e9, 'unixepoch') || 'Z' AS time,"
	" t.id AS tick, t.wall_ns, t.monotonic_ns / 1e9 AS monotonic_s, t.interval_ns / 1e9 AS interval_s,"
	" r.name, r.family, r.filter, r.socket, r.node, r.channel, r.cpu, r.pmu, r.port, r.role,"
	" v.value AS value, r.unit, r.ceiling,"
	" coalesce(json_extract(q.row_qualities, '$.\"' || r.id || '\"[0]'), 'measured') AS quality,"
	" (SELECT text FROM reason WHERE id ="
	"  json_extract(q.row_qualities, '$.\"' || r.id || '\"[1]')) AS reason"
	" FROM tick t, json_each(t.row_values) v JOIN row r ON r.id = v.key"
	" LEFT JOIN quality q ON q.id = t.quality;"
	"CREATE VIEW short_samples AS"
	" SELECT strftime('%Y-%m-%dT%H:%M:%f', t.wall_ns / 1e9, 'unixepoch') || 'Z' AS time,"
	" t.id AS tick, t.wall_ns, t.monotonic_ns / 1e9 AS monotonic_s, t.interval_ns / 1e9 AS interval_s,"
	" r.name, r.family, r.filter, r.socket, r.node, r.channel, r.cpu, r.pmu, r.port, r.role, r.unit,"
	" d.value ->> 0 AS samples, d.value ->> 1 AS mean, d.value ->> 2 AS min, d.value ->> 3 AS p50,"
	" d.value ->> 4 AS p90, d.value ->> 5 AS p99, d.value ->> 6 AS max,"
	" (d.value ->> 7) / 1e9 AS above_s, (d.value ->> 8) / 1e9 AS longest_burst_s,"
	" (d.value ->> 9) / 1e9 AS longest_burst_monotonic_s"
	" FROM tick t, json_each(t.distributions) d JOIN row r ON r.id = d.key"
	" WHERE d.type = 'array';";
/* clang-format on */

/* ---- binding: columns from 1 on ---- */

static void bind_text(sqlite3_stmt *s, int column, const char *text)
{
	sqlite3_bind_text(s, column, text, -1, SQLITE_STATIC); /* NULL: null */
}

static void bind_count(sqlite3_stmt *s, int column, uint64_t v)
{
	sqlite3_bind_int64(s, column, (sqlite3_int64)v);
}

/* Unknown numbers are -1. */
static void bind_id(sqlite3_stmt *s, int column, int id)
{
	if (id < 0)
		sqlite3_bind_null(s, column);
	else
		sqlite3_bind_int(s, column, id);
}

static int put(struct recording *r, sqlite3_stmt *s)
{
	int code = sqlite3_step(s), err = code == SQLITE_DONE ? 0 : store_sql_fail(r);

	sqlite3_reset(s);
	return err;
}

/* ---- a new file or session ---- */

const char *recording_network(const char *path)
{
	static const struct {
		uint32_t magic;
		const char *name;
	} systems[] = {
		{NFS_SUPER_MAGIC, "NFS"},   {0xff534d42, "CIFS"},     {0xfe534d42, "SMB2"},
		{SMB_SUPER_MAGIC, "SMB"},   {0x0bd00bd0, "Lustre"},   {FUSE_SUPER_MAGIC, "FUSE"},
		{V9FS_MAGIC, "9p"},         {0x47504653, "GPFS"},     {0x19830326, "BeeGFS"},
		{CEPH_SUPER_MAGIC, "Ceph"}, {AFS_SUPER_MAGIC, "AFS"}, {OCFS2_SUPER_MAGIC, "OCFS2"},
		{CODA_SUPER_MAGIC, "Coda"},
	};
	char *folder = cli_copy(path), *slash = strrchr(folder, '/');
	struct statfs st;
	int err;

	if (slash)
		slash[slash == folder] = '\0';
	err = statfs(path, &st) ? statfs(slash ? folder : ".", &st) : 0;
	free(folder);
	for (size_t i = 0; !err && i < sizeof(systems) / sizeof(*systems); i++)
		if ((uint32_t)st.f_type == systems[i].magic)
			return systems[i].name;
	return NULL;
}

/* The lock is released when the process ends, in any way. */
static int lock_file(struct recording *r, bool append, bool *exists)
{
	char head[16] = "";
	struct stat st;
	int err;

	r->lock_fd = open(r->path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
	r->created = r->lock_fd >= 0;
	if (r->lock_fd < 0)
		r->lock_fd = open(r->path, O_RDWR | O_CREAT | O_NONBLOCK | O_CLOEXEC, 0666);
	if (r->lock_fd < 0 || fstat(r->lock_fd, &st)) {
		err = -errno;
		return store_fail(r, err, "%s", strerror(-err));
	}
	if (!S_ISREG(st.st_mode))
		return store_fail(r, -EINVAL, "a recording must be a regular file");
	*exists = st.st_size > 0;
	if (*exists && (pread(r->lock_fd, head, sizeof(head), 0) != (ssize_t)sizeof(head) ||
			memcmp(head, "SQLite format 3", sizeof(head)) != 0))
		return store_fail(r, -EEXIST,
				  "the file exists and is no recording: it is not overwritten");
	/* On network file systems SQLite holds its own exclusive lock all the time, with which this
	 * lock could conflict. */
	if (!recording_network(r->path) && flock(r->lock_fd, LOCK_EX | LOCK_NB)) {
		if (errno == EWOULDBLOCK)
			return store_fail(r, -EBUSY, "another process records into this file");
		err = -errno;
		return store_fail(r, err, "it cannot be locked: %s", strerror(-err));
	}
	if (*exists && !append)
		return store_fail(
			r, -EEXIST,
			"the file exists: choose another one, or add to it with --append");
	return 0;
}

static int put_counters(struct recording *r, const struct uncore_monitor *m)
{
	sqlite3_stmt *s;
	int err = store_prepare(
		r, "INSERT INTO counter VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", &s);

	if (err)
		return err;
	for (size_t i = 0; !err && i < r->counter_count; i++) {
		const struct uncore_counter *c = uncore_monitor_counter_at(m, i);

		bind_count(s, 1, i);
		bind_text(s, 2, uncore_pmu_name(c->pmu));
		bind_text(s, 3, c->event);
		sqlite3_bind_int(s, 4, c->cpu);
		for (int k = 0; k < UNCORE_CONFIG_WORDS; k++)
			bind_count(s, 5 + k, c->config[k]);
		bind_count(s, 9, c->modifiers);
		bind_count(s, 10, c->group);
		sqlite3_bind_int(s, 11, c->leader);
		bind_count(s, 12, c->width);
		sqlite3_bind_double(s, 13, c->most_per_s);
		sqlite3_bind_int(s, 14, c->error);
		bind_text(s, 15, c->why);
		err = put(r, s);
	}
	sqlite3_finalize(s);
	return err;
}

/* An added session must have the counters of the recording. */
static int compare_counters(struct recording *r, const struct uncore_monitor *m)
{
	size_t count = r->counter_count;
	bool same;
	int err;

	r->counter_count = 0;
	err = store_read_counters(r);
	same = count == r->counter_count;
	for (size_t i = 0; !err && same && i < count; i++) {
		const struct uncore_counter *c = uncore_monitor_counter_at(m, i);
		const struct recorded_counter *old = &r->counters[i];

		same = strcmp(old->pmu, uncore_pmu_name(c->pmu)) == 0 && old->cpu == c->cpu &&
		       memcmp(old->config, c->config, sizeof(c->config)) == 0 &&
		       old->modifiers == c->modifiers;
	}
	if (!err && !same)
		err = store_fail(
			r, -EINVAL,
			"--append needs the counters of the recording, and these are others");
	return err;
}

static int put_meta(struct recording *r, const struct recording_head *head)
{
	sqlite3_stmt *s;
	int err = store_prepare(r, "INSERT INTO meta VALUES (?, ?)", &s);

	if (err)
		return err;
	for (const char *const *pair = head->meta; !err && *pair; pair += 2) {
		bind_text(s, 1, pair[0]);
		bind_text(s, 2, pair[1]);
		err = put(r, s);
	}
	sqlite3_finalize(s);
	return err;
}

/* Stores the share with the first session that has short samples. It is missing in older
 * recordings. */
static int put_above(struct recording *r, uint64_t above)
{
	if (!above)
		return 0;
	return store_run_format(r,
				"INSERT OR IGNORE INTO meta SELECT 'above', '%llu' "
				"WHERE NOT EXISTS (SELECT * FROM session WHERE sample_ns > 0)",
				(unsigned long long)above);
}

static int put_session(struct recording *r, const struct recording_head *head)
{
	sqlite3_stmt *s;
	int err = put_above(r, head->above);

	if (!err)
		err = store_prepare(r, "INSERT INTO session VALUES (?, ?, ?, ?, NULL)", &s);
	if (err)
		return err;
	bind_count(s, 1, r->next_tick);
	bind_text(s, 2, head->command_line);
	bind_count(s, 3, head->interval_ns);
	bind_count(s, 4, head->sample_ns);
	return store_finish(r, s, sqlite3_step(s));
}

/* One transaction: the file is either empty, or a complete recording without ticks. */
static int begin_file(struct recording *r, const struct recording_head *head)
{
	int err = store_run(r, "BEGIN IMMEDIATE");

	err = err ? err
		  : store_run_format(r, "PRAGMA application_id = %d; PRAGMA user_version = %d;",
				     RECORDING_ID, RECORDING_FORMAT);
	if (!err)
		err = store_run(r, schema);
	if (!err)
		err = put_meta(r, head);
	if (!err)
		err = put_counters(r, head->monitor);
	if (!err)
		err = put_session(r, head);
	/* For flight_trim(). */
	if (!err && head->in_memory)
		err = store_run(r, "CREATE INDEX tick_quality ON tick(quality) "
				   "WHERE quality IS NOT NULL");
	return err ? err : store_run(r, "COMMIT");
}

#define STEPS_BETWEEN_LOOKS 100000

/* Nothing is counted yet, and nothing would be lost: a signal that waits to end the command ends
 * the statement. */
static int stop_is_pending(void *context)
{
	sigset_t pending;

	(void)context;
	return sigpending(&pending) == 0 &&
	       (sigismember(&pending, SIGTERM) || sigismember(&pending, SIGINT));
}

int recording_resume(struct recording *r, const struct recording_head *head)
{
	/* A session without a tick is replaced by the next one. */
	int err = store_run(r, "DELETE FROM session WHERE first_tick > (SELECT max(id) FROM tick) "
			       "OR NOT EXISTS (SELECT * FROM tick)");

	r->next_tick = (r->next_tick + RECORDING_KEY - 1) / RECORDING_KEY * RECORDING_KEY;
	return err ? err : put_session(r, head);
}

static int begin_session(struct recording *r, const struct recording_head *head)
{
	int64_t last = -1, interval_ns = 0, above = 0;
	int err = store_check(r);

	if (!err)
		err = compare_counters(r, head->monitor);
	if (!err)
		err = store_number(r, "SELECT max(id) FROM tick", -1, &last);
	if (!err)
		err = store_number(r, "SELECT count(*) FROM row", 0, &r->old_row_count);
	err = err ? err
		  : store_number(r,
				 "SELECT interval_ns FROM session ORDER BY first_tick DESC LIMIT 1",
				 (int64_t)head->interval_ns, &interval_ns);
	err = err ? err
		  : store_number(r, "SELECT value FROM meta WHERE key = 'above'",
				 (int64_t)head->above, &above);
	if (!err && (uint64_t)interval_ns != head->interval_ns)
		err = store_fail(r, -EINVAL, "--append needs the interval of the recording (-I)");
	if (!err && head->above && (uint64_t)above != head->above)
		err = store_fail(r, -EINVAL,
				 "--append needs the share of the recording: --above %lld",
				 (long long)above);
	if (err)
		return err;
	r->next_tick = (uint64_t)(last + 1);
	return recording_resume(r, head);
}

static int create(struct recording *r, const char *path, const struct recording_head *head)
{
	size_t count = uncore_monitor_counter_count(head->monitor);
	bool exists = false, network = recording_network(path);
	int err;

	*r = (struct recording){
		.path = cli_copy(path), .lock_fd = -1, .interval_ns = head->interval_ns};
	err = head->in_memory ? 0 : lock_file(r, head->append, &exists);
	if (err)
		return err;
	if (head->in_memory)
		err = sqlite3_open_v2(":memory:", &r->db, SQLITE_OPEN_READWRITE, NULL)
			      ? store_sql_fail(r)
			      : 0;
	else
		err = store_open(r, SQLITE_OPEN_READWRITE);
	if (err)
		return err;
	sqlite3_progress_handler(r->db, STEPS_BETWEEN_LOOKS, stop_is_pending, NULL);
	sqlite3_extended_result_codes(r->db, 1);
	sqlite3_busy_timeout(r->db, 2000);
	r->readings = cli_realloc(NULL, count + 1, sizeof(*r->readings));
	r->latest = cli_realloc(NULL, count + 1, sizeof(*r->latest));
	r->blob = cli_realloc(NULL, READINGS_ROOM(count), 1);
	r->counter_count = count;
	r->reasons_left = head->in_memory ? RECORDING_REASONS : INT64_MAX;
	/* A tick of several kilobytes occupies whole pages: small pages waste little. */
	err = store_run(r, network ? "PRAGMA page_size = 1024; PRAGMA locking_mode = EXCLUSIVE;"
				     "PRAGMA journal_mode = TRUNCATE"
				   : "PRAGMA page_size = 1024; PRAGMA synchronous = NORMAL;"
				     "PRAGMA wal_autocheckpoint = 4000");
	if (!err)
		err = exists ? begin_session(r, head) : begin_file(r, head);
	/* The write-ahead log comes then, so that the machine is written once. It is opened before
	 * counting begins. */
	if (!err && !network)
		err = store_run(r, "PRAGMA journal_mode = WAL; SELECT 1 FROM row LIMIT 1");
	for (int i = 0; !err && i < RECORDING_STATEMENTS; i++)
		err = store_prepare(r, writing[i], &r->statements[i]);
	sqlite3_progress_handler(r->db, 0, NULL, NULL);
	if (err)
		return err;
	r->counter_reasons = cli_realloc(NULL, count + 1, sizeof(*r->counter_reasons));
	memset(r->counter_reasons, 0, (count + 1) * sizeof(*r->counter_reasons));
	return 0;
}

int recording_create(struct recording *r, const char *path, const struct recording_head *head)
{
	int err = create(r, path, head);

	/* A file that has only been begun would be no recording, and in the way of the next one. */
	if (err && r->created)
		unlink(path);
	return err;
}

/* ---- a tick ---- */

/* The id of a text in a table of distinct texts. 0: it is not in the table, and no more may be
 * added (`left`). */
static int find_text(struct recording *r, int putting, const char *text, int64_t *left, int64_t *id)
{
	sqlite3_stmt *s = r->statements[putting + 1];
	int code, err;

	if (*left) {
		bind_text(r->statements[putting], 1, text);
		err = put(r, r->statements[putting]);
		if (err)
			return err;
		*left -= sqlite3_changes(r->db);
	}
	bind_text(s, 1, text);
	code = sqlite3_step(s);
	*id = code == SQLITE_ROW ? sqlite3_column_int64(s, 0) : 0;
	err = code == SQLITE_ROW || code == SQLITE_DONE ? 0 : store_sql_fail(r);
	sqlite3_reset(s);
	return err;
}

/* The id of a reason, which seldom changes from one tick to the next. When it does, all rows often
 * get the same. */
static int reason_id(struct recording *r, struct recording_reason *latest, const char *text,
		     int64_t *left, uint32_t *id)
{
	int64_t found = 0;
	int err = 0;

	*id = 0;
	if (!text)
		return 0;
	if (latest->text && strcmp(latest->text, text) == 0) {
		*id = latest->id;
		return 0;
	}
	if (r->latest_reason.text && strcmp(r->latest_reason.text, text) == 0)
		found = r->latest_reason.id;
	else
		err = find_text(r, PUT_REASON, text, left, &found);
	if (found && found != r->latest_reason.id) {
		free(r->latest_reason.text);
		r->latest_reason = (struct recording_reason){cli_copy(text), (uint32_t)found};
	}
	free(latest->text);
	*latest = (struct recording_reason){err ? NULL : cli_copy(text), (uint32_t)found};
	*id = latest->id;
	return err;
}

/* Stores the monitor's latest readings in r->latest. */
static int take_readings(struct recording *r, const struct uncore_monitor *m)
{
	static const struct uncore_reading none = {.lost = true};
	int64_t left = INT64_MAX; /* a source has few reasons */
	int err = 0;

	for (size_t i = 0; !err && i < r->counter_count; i++) {
		const struct uncore_reading *now = uncore_monitor_reading_at(m, i);

		r->latest[i].reading = now ? *now : none;
		err = reason_id(r, &r->counter_reasons[i], r->latest[i].reading.why, &left,
				&r->latest[i].why);
		r->latest[i].reading.why = NULL; /* borrowed */
	}
	return err;
}

void store_bind_row(sqlite3_stmt *s, size_t number, const struct uncore_row *row)
{
	const struct uncore_row_place *p = row->place;

	bind_count(s, 1, number);
	bind_text(s, 2, row->query->name);
	bind_text(s, 3, row->query->family);
	bind_text(s, 4, row->query->unit);
	bind_text(s, 5, row->query->filter);
	bind_id(s, 6, p->socket);
	bind_id(s, 7, p->node);
	bind_id(s, 8, p->channel);
	bind_id(s, 9, p->cpu);
	bind_text(s, 10, p->pmu ? uncore_pmu_name(p->pmu) : NULL);
	bind_text(s, 11, p->port ? p->port->address : NULL);
	bind_text(s, 12, p->role);
	sqlite3_bind_double(s, 13, row->ceiling); /* NaN: null */
}

/* Adds a row of the session's first interval. In an added session it must equal the row of the
 * recording. */
static int put_row(struct recording *r, size_t number, const struct uncore_row *row)
{
	bool known = (int64_t)number < r->old_row_count;
	sqlite3_stmt *s = r->statements[known ? SAME_ROW : PUT_ROW];
	int code;

	r->row_reasons = cli_realloc(r->row_reasons, number + 1, sizeof(*r->row_reasons));
	r->row_reasons[r->row_count++] = (struct recording_reason){0};
	store_bind_row(s, number, row);
	if (!known)
		return put(r, s);
	code = sqlite3_step(s);
	sqlite3_reset(s);
	if (code == SQLITE_DONE)
		return store_fail(
			r, -EINVAL,
			"--append needs the metrics and places of the recording, and these are others");
	return code == SQLITE_ROW ? 0 : store_sql_fail(r);
}

static void put_number(struct buffer *to, double v)
{
	if (isfinite(v)) {
		char *text = buffer_more(to, REAL_ROOM);

		to->len -= REAL_ROOM - text_compact(text, v);
	} else {
		buffer_puts(to, "null");
	}
}

static void put_count(struct buffer *to, uint64_t v)
{
	char *text = buffer_more(to, COUNT_ROOM);

	to->len -= COUNT_ROOM - text_count(text, v);
}

/* An element of the object of qualities: "12":["suspect",3] */
static void put_quality(struct buffer *to, size_t row, enum uncore_quality quality, uint32_t reason)
{
	buffer_add(to, to->len ? ",\"" : "{\"", 2);
	put_count(to, row);
	buffer_add(to, "\":[\"", 4);
	buffer_puts(to, uncore_quality_name(quality));
	buffer_add(to, "\"", 1);
	if (reason) {
		buffer_add(to, ",", 1);
		put_count(to, reason);
	}
	buffer_add(to, "]", 1);
}

/* Puts null if there is no short sample; the last three numbers only if there is a ceiling. */
static void put_distribution(struct buffer *to, const struct uncore_distribution *d)
{
	const uint64_t times[] = {d->above_ns, d->burst_ns, d->burst_begin_ns};

	if (!d->samples) {
		buffer_puts(to, "null");
		return;
	}
	buffer_add(to, "[", 1);
	put_count(to, d->samples);
	for (const double *v =
		     (const double[]){d->mean, d->least, d->p50, d->p90, d->p99, d->most, NAN};
	     isfinite(*v); v++) {
		buffer_add(to, ",", 1);
		put_number(to, *v);
	}
	for (size_t i = 0; i < sizeof(times) / sizeof(*times) && isfinite(d->threshold); i++) {
		buffer_add(to, ",", 1);
		put_count(to, times[i]);
	}
	buffer_puts(to, "]");
}

/* Makes the arrays of the interval: element i belongs to row i. */
static int take_rows(struct recording *r, const struct uncore_sample *sample)
{
	int err = 0;

	r->values.len = r->quality.len = r->distributions.len = 0;
	for (size_t i = 0; !err && i < uncore_sample_count(sample); i++) {
		const struct uncore_row *row = uncore_sample_row(sample, i);
		const struct uncore_distribution *d = uncore_sample_distribution(sample, i);
		uint32_t reason;

		if (i == r->row_count)
			err = put_row(r, i, row);
		err = err ? err
			  : reason_id(r, &r->row_reasons[i], row->reason, &r->reasons_left,
				      &reason);
		if (err)
			return err;
		buffer_add(&r->values, i ? "," : "[", 1);
		put_number(&r->values, row->value);
		if (d)
			buffer_add(&r->distributions, i ? "," : "[", 1);
		if (d)
			put_distribution(&r->distributions, d);
		if (row->quality != UNCORE_MEASURED)
			put_quality(&r->quality, i, row->quality, reason);
	}
	buffer_puts(&r->values, r->values.len ? "]" : "[]");
	if (r->distributions.len)
		buffer_puts(&r->distributions, "]");
	return 0;
}

/* The id of the qualities, which seldom change: each text is stored once. 0: all rows are
 * measured. */
static int quality_id(struct recording *r, int64_t *id)
{
	int64_t left = INT64_MAX;
	int err = 0;

	*id = 0;
	if (!r->quality.len)
		return 0;
	buffer_puts(&r->quality, "}");
	if (!r->quality_text || strcmp(r->quality_text, r->quality.data) != 0) {
		err = find_text(r, PUT_QUALITY, r->quality.data, &left, &r->quality_id);
		free(r->quality_text);
		r->quality_text = err ? NULL : cli_copy(r->quality.data);
	}
	*id = r->quality_id;
	return err;
}

static void bind_buffer(sqlite3_stmt *s, int column, const struct buffer *b)
{
	if (b->len)
		sqlite3_bind_text(s, column, b->data, (int)b->len, SQLITE_STATIC);
	else
		sqlite3_bind_null(s, column);
}

/* Writes `readings` as the next tick. */
static int put_tick(struct recording *r, const struct recording_tick *tick,
		    const struct recorded_reading *readings, int64_t quality)
{
	bool key = r->next_tick % RECORDING_KEY == 0;
	sqlite3_stmt *s = r->statements[PUT_TICK];
	size_t len = readings_encode(r->blob, readings, key ? NULL : r->readings, r->counter_count);
	int err;

	bind_count(s, 1, r->next_tick);
	bind_count(s, 2, tick->monotonic_ns);
	bind_count(s, 3, tick->wall_ns);
	bind_count(s, 4, tick->interval_ns);
	if (quality)
		sqlite3_bind_int64(s, 5, quality);
	else
		sqlite3_bind_null(s, 5);
	sqlite3_bind_blob(s, 6, r->blob, (int)len, SQLITE_STATIC);
	bind_buffer(s, 7, &r->values);
	bind_buffer(s, 8, &r->distributions);
	err = put(r, s);
	r->next_tick += !err;
	return err;
}

static int begin_batch(struct recording *r)
{
	int err = r->in_batch ? 0 : store_run(r, "BEGIN");

	if (!err && !r->in_batch)
		r->batch_ns = cli_now_ns();
	r->in_batch = !err;
	return err;
}

int recording_start(struct recording *r, const struct uncore_monitor *m)
{
	int err = begin_batch(r);

	r->started = false;
	r->values.len = r->distributions.len = 0; /* the first tick has none */
	if (!err)
		err = take_readings(r, m);
	if (!err)
		memcpy(r->readings, r->latest, r->counter_count * sizeof(*r->readings));
	return err;
}

int recording_continue(struct recording *r, const struct recording *before)
{
	int64_t left = INT64_MAX;
	int err = begin_batch(r);

	for (size_t i = 0; !err && i < r->counter_count; i++) {
		const struct recorded_reading *last = &before->readings[i];

		r->readings[i].reading = last->reading;
		/* The ids of reasons are those of a file. */
		err = reason_id(r, &r->counter_reasons[i],
				last->why ? before->counter_reasons[i].text : NULL, &left,
				&r->readings[i].why);
	}
	return err;
}

int recording_add(struct recording *r, const struct uncore_monitor *m,
		  const struct uncore_sample *sample)
{
	uint64_t begin_ns = uncore_sample_begin_ns(sample), end_ns = uncore_sample_end_ns(sample);
	const struct recording_tick start = {.monotonic_ns = begin_ns,
					     .wall_ns = uncore_sample_begin_wall_ns(sample)};
	const struct recording_tick tick = {.monotonic_ns = end_ns,
					    .wall_ns = uncore_sample_end_wall_ns(sample),
					    .interval_ns = end_ns - begin_ns};
	struct recorded_reading *before;
	int64_t quality = 0;
	int err = begin_batch(r);

	r->batch_count++;
	if (!err && !r->started)
		err = put_tick(r, &start, r->readings, 0);
	r->started = true;
	if (!err)
		err = take_readings(r, m);
	if (!err)
		err = take_rows(r, sample);
	if (!err)
		err = quality_id(r, &quality);
	if (!err)
		err = put_tick(r, &tick, r->latest, quality);
	if (err)
		return err;
	before = r->readings;
	r->readings = r->latest;
	r->latest = before;
	return r->interval_ns >= NS_PER_S || cli_now_ns() - r->batch_ns >= BATCH_NS
		       ? recording_commit(r)
		       : 0;
}

int recording_mark(struct recording *r, uint64_t wall_ns, uint64_t monotonic_ns, const char *text)
{
	int err = store_run_format(r, "INSERT INTO mark VALUES (%lld, %lld, %Q)",
				   (long long)wall_ns, (long long)monotonic_ns, text);

	return err ? err : recording_commit(r);
}

int recording_copy_marks(struct recording *r, const char *path)
{
	return store_run_format(
		r,
		"ATTACH %Q AS old; INSERT INTO mark SELECT * FROM (SELECT * FROM old.mark "
		"ORDER BY rowid DESC LIMIT %d) ORDER BY rowid; DETACH old",
		path, RECORDING_MARKS);
}

int recording_commit(struct recording *r)
{
	int err = r->in_batch ? store_run(r, "COMMIT") : 0;

	r->in_batch = false;
	r->batch_count = err ? r->batch_count : 0;
	return err;
}

int recording_pause(struct recording *r, const char *end)
{
	int err = store_run_format(r,
				   "UPDATE session SET end = %Q WHERE first_tick = "
				   "(SELECT max(first_tick) FROM session)",
				   end);

	return err ? err : recording_commit(r);
}

int recording_end(struct recording *r, const char *end)
{
	int err = recording_pause(r, end);

	/* Makes one file, which can be read on a read-only file system. The log remains while other
	 * processes read it. */
	if (!err)
		sqlite3_exec(r->db, "PRAGMA journal_mode = DELETE", NULL, NULL, NULL);
	return err;
}

uint64_t recording_size(struct recording *r)
{
	int64_t pages = 0, size = 0;

	if (store_number(r, "PRAGMA page_count", 0, &pages) ||
	    store_number(r, "PRAGMA page_size", 0, &size))
		return 0;
	return (uint64_t)pages * (uint64_t)size;
}

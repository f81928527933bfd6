/* SPDX-License-Identifier: MIT */
/* Beginning recordings and sessions, and ending them. */
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <signal.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/cli.h"
#include "record/regions.h"
#include "record/store.h"

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

/* ---- a new file or session ---- */

const char *recording_network(const char *path)
{
	static const struct {
		uint32_t magic;
		const char *name;
	} systems[] = {
		{NFS_SUPER_MAGIC, "NFS"},   {0xff534d42, "CIFS"},     {0xfe534d42, "SMB2"},
		{SMB_SUPER_MAGIC, "SMB"},   {0x0bd00bd0, "Lustre"},   {0x65735546, "FUSE"},
		{V9FS_MAGIC, "9p"},         {0x47504653, "GPFS"},     {0x19830326, "BeeGFS"},
		{0x00c36400, "Ceph"},       {AFS_SUPER_MAGIC, "AFS"}, {OCFS2_SUPER_MAGIC, "OCFS2"},
		{CODA_SUPER_MAGIC, "Coda"},
	};
	auto_free char *folder = cli_copy(path);
	char *slash = strrchr(folder, '/');
	struct statfs st;
	int err;

	if (slash)
		slash[slash == folder] = '\0';
	err = statfs(path, &st) ? statfs(slash ? folder : ".", &st) : 0;
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

		store_bind_count(s, 1, i);
		store_bind_text(s, 2, uncore_pmu_name(c->pmu));
		store_bind_text(s, 3, c->event);
		sqlite3_bind_int(s, 4, c->cpu);
		for (int k = 0; k < UNCORE_CONFIG_WORDS; k++)
			store_bind_count(s, 5 + k, c->config[k]);
		store_bind_count(s, 9, c->modifiers);
		store_bind_count(s, 10, c->group);
		sqlite3_bind_int(s, 11, c->leader);
		store_bind_count(s, 12, c->width);
		sqlite3_bind_double(s, 13, c->most_per_s);
		sqlite3_bind_int(s, 14, c->error);
		store_bind_text(s, 15, c->why);
		err = store_put(r, s);
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
		store_bind_text(s, 1, pair[0]);
		store_bind_text(s, 2, pair[1]);
		err = store_put(r, s);
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
	store_bind_count(s, 1, r->next_tick);
	store_bind_text(s, 2, head->command_line);
	store_bind_count(s, 3, head->interval_ns);
	store_bind_count(s, 4, head->sample_ns);
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
	if (!err)
		err = store_prepare_ticks(r);
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

/* ---- marks, and the end ---- */

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
		"ATTACH %Q AS old; INSERT INTO mark SELECT * FROM old.mark WHERE rowid > "
		"(SELECT max(rowid) FROM old.mark) - %d ORDER BY rowid; DETACH old",
		path, RECORDING_MARKS);
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
	return (uint64_t)pages * (uint64_t)size + r->pending.len;
}

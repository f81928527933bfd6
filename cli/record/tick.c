/* SPDX-License-Identifier: MIT */
/* The ticks of a recording: in memory first, then inserted in batches, each a transaction. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/cli.h"
#include "base/number.h"
#include "record/store.h"

/* Shorter intervals are committed together, after this time at most. */
#define BATCH_NS NS_PER_S

/* As many ticks are inserted at once: few enough to take less than an interval. Divides
 * RECORDING_KEY, at which flight_trim() looks at all ticks. */
#define PENDING_TICKS 16

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

int store_prepare_ticks(struct recording *r)
{
	int err = 0;

	for (int i = 0; !err && i < RECORDING_STATEMENTS; i++)
		err = store_prepare(r, writing[i], &r->statements[i]);
	return err;
}

/* The id of a text in a table of distinct texts. 0: it is not in the table, and no more may be
 * added (`left`). */
static int find_text(struct recording *r, int putting, const char *text, int64_t *left, int64_t *id)
{
	sqlite3_stmt *s = r->statements[putting + 1];
	int code, err;

	if (*left) {
		store_bind_text(r->statements[putting], 1, text);
		err = store_put(r, r->statements[putting]);
		if (err)
			return err;
		*left -= sqlite3_changes(r->db);
	}
	store_bind_text(s, 1, text);
	code = sqlite3_step(s);
	*id = code == SQLITE_ROW ? sqlite3_column_int64(s, 0) : 0;
	err = code == SQLITE_ROW || code == SQLITE_DONE ? 0 : store_sql_fail(r);
	sqlite3_reset(s);
	return err;
}

int store_find_reason(struct recording *r, const char *text, int64_t *id)
{
	int64_t left = INT64_MAX;

	return find_text(r, PUT_REASON, text, &left, id);
}

/* The id of a reason, which seldom changes from one tick to the next. When it does, all rows often
 * get the same. */
static int reason_id(struct recording *r, struct recording_reason *latest, const char *text,
		     int64_t *left, uint32_t *id)
{
	int64_t found = 0;
	int err = 0;

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
		struct recorded_reading *into = &r->latest[i];

		into->reading = now ? *now : none;
		into->why = 0;
		if (into->reading.why)
			err = reason_id(r, &r->counter_reasons[i], into->reading.why, &left,
					&into->why);
		into->reading.why = NULL; /* borrowed */
	}
	return err;
}

void store_bind_row(sqlite3_stmt *s, size_t number, const struct uncore_row *row)
{
	const struct uncore_row_place *p = row->place;

	store_bind_count(s, 1, number);
	store_bind_text(s, 2, row->query->name);
	store_bind_text(s, 3, row->query->family);
	store_bind_text(s, 4, row->query->unit);
	store_bind_text(s, 5, row->query->filter);
	store_bind_id(s, 6, p->socket);
	store_bind_id(s, 7, p->node);
	store_bind_id(s, 8, p->channel);
	store_bind_id(s, 9, p->cpu);
	store_bind_text(s, 10, p->pmu ? uncore_pmu_name(p->pmu) : NULL);
	store_bind_text(s, 11, p->port ? p->port->address : NULL);
	store_bind_text(s, 12, p->role);
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
		return store_put(r, s);
	code = sqlite3_step(s);
	sqlite3_reset(s);
	if (code == SQLITE_DONE)
		return store_fail(
			r, -EINVAL,
			"--append needs the metrics and places of the recording, and these are others");
	return code == SQLITE_ROW ? 0 : store_sql_fail(r);
}

void store_put_number(struct buffer *to, double v)
{
	if (isfinite(v)) {
		char *text = buffer_more(to, REAL_ROOM);

		to->len -= REAL_ROOM - text_compact(text, v);
	} else {
		buffer_puts(to, "null");
	}
}

/* An element of the object of qualities: "12":["suspect",3] */
static void put_quality(struct buffer *to, size_t row, enum uncore_quality quality, uint32_t reason)
{
	buffer_add(to, to->len ? ",\"" : "{\"", 2);
	buffer_count(to, row);
	buffer_add(to, "\":[\"", 4);
	buffer_puts(to, uncore_quality_name(quality));
	buffer_add(to, "\"", 1);
	if (reason) {
		buffer_add(to, ",", 1);
		buffer_count(to, reason);
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
	buffer_count(to, d->samples);
	for (const double *v =
		     (const double[]){d->mean, d->least, d->p50, d->p90, d->p99, d->most, NAN};
	     isfinite(*v); v++) {
		buffer_add(to, ",", 1);
		store_put_number(to, *v);
	}
	for (size_t i = 0; i < sizeof(times) / sizeof(*times) && isfinite(d->threshold); i++) {
		buffer_add(to, ",", 1);
		buffer_count(to, times[i]);
	}
	buffer_puts(to, "]");
}

/* A value that was put, and where its text is. */
struct put {
	double value;
	size_t at, len;
};

/* The last row often has the same counters, and so the same value. */
static void put_value(struct buffer *to, double value, struct put *last)
{
	char *text;

	if (value == last->value) {
		text = buffer_more(to, last->len);
		memcpy(text, to->data + last->at, last->len);
		return;
	}
	last->value = value;
	last->at = to->len;
	store_put_number(to, value);
	last->len = to->len - last->at;
}

/* Makes the arrays of the interval: element i belongs to row i. */
static int take_rows(struct recording *r, const struct uncore_sample *sample)
{
	struct put last = {.value = NAN};
	int err = 0;

	r->values.len = r->quality.len = r->distributions.len = 0;
	for (size_t i = 0; !err && i < uncore_sample_count(sample); i++) {
		const struct uncore_row *row = uncore_sample_row(sample, i);
		const struct uncore_distribution *d = uncore_sample_distribution(sample, i);
		uint32_t reason = 0;

		if (i == r->row_count)
			err = put_row(r, i, row);
		if (!err && row->reason)
			err = reason_id(r, &r->row_reasons[i], row->reason, &r->reasons_left,
					&reason);
		if (err)
			return err;
		buffer_add(&r->values, i ? "," : "[", 1);
		put_value(&r->values, row->value, &last);
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

/* A tick in memory; its texts follow. */
struct pending {
	struct recording_tick tick;
	int64_t quality;                        /* 0: none */
	size_t readings, values, distributions; /* bytes; 0: none */
};

static void bind_part(sqlite3_stmt *s, int column, const char *text, size_t len)
{
	if (len)
		sqlite3_bind_text(s, column, text, (int)len, SQLITE_STATIC);
	else
		sqlite3_bind_null(s, column);
}

static int insert_tick(struct recording *r, const struct pending *p, const char *texts)
{
	sqlite3_stmt *s = r->statements[PUT_TICK];

	store_bind_count(s, 1, p->tick.number);
	store_bind_count(s, 2, p->tick.monotonic_ns);
	store_bind_count(s, 3, p->tick.wall_ns);
	store_bind_count(s, 4, p->tick.interval_ns);
	if (p->quality)
		sqlite3_bind_int64(s, 5, p->quality);
	else
		sqlite3_bind_null(s, 5);
	sqlite3_bind_blob(s, 6, texts, (int)p->readings, SQLITE_STATIC);
	bind_part(s, 7, texts + p->readings, p->values);
	bind_part(s, 8, texts + p->readings + p->values, p->distributions);
	return store_put(r, s);
}

/* Inserts the ticks that are in memory. Several at once cost little more than one, since code and
 * tables are then in the caches of the CPU. */
static int insert_pending(struct recording *r)
{
	const char *at = r->pending.data, *end = at + r->pending.len;
	struct pending p;
	int err = 0;

	for (; !err && r->pending.len && at < end; at += p.readings + p.values + p.distributions) {
		memcpy(&p, at, sizeof(p));
		at += sizeof(p);
		err = insert_tick(r, &p, at);
	}
	r->pending.len = 0;
	return err;
}

/* Writes `readings` as the next tick. */
static int put_tick(struct recording *r, const struct recording_tick *tick,
		    const struct recorded_reading *readings, int64_t quality)
{
	bool key = r->next_tick % RECORDING_KEY == 0;
	struct pending p = {
		.tick = *tick,
		.quality = quality,
		.readings = readings_encode(r->blob, readings, key ? NULL : r->readings,
					    r->counter_count),
		.values = r->values.len,
		.distributions = r->distributions.len,
	};

	p.tick.number = r->next_tick++;
	buffer_add(&r->pending, &p, sizeof(p));
	buffer_add(&r->pending, r->blob, p.readings);
	buffer_add(&r->pending, r->values.data, p.values);
	buffer_add(&r->pending, r->distributions.data, p.distributions);
	return r->next_tick % PENDING_TICKS == 0 ? insert_pending(r) : 0;
}

int store_begin_batch(struct recording *r)
{
	int err = r->in_batch ? 0 : store_run(r, "BEGIN");

	if (!err && !r->in_batch)
		r->batch_ns = cli_now_ns();
	r->in_batch = !err;
	return err;
}

int recording_start(struct recording *r, const struct uncore_monitor *m)
{
	int err = store_begin_batch(r);

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
	int err = store_begin_batch(r);

	for (size_t i = 0; !err && i < r->counter_count; i++) {
		const struct recorded_reading *last = &before->readings[i];

		r->readings[i].reading = last->reading;
		/* The ids of reasons are those of a file. */
		r->readings[i].why = 0;
		if (last->why && before->counter_reasons[i].text)
			err = reason_id(r, &r->counter_reasons[i], before->counter_reasons[i].text,
					&left, &r->readings[i].why);
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
	int err = store_begin_batch(r);

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

int recording_commit(struct recording *r)
{
	int err = insert_pending(r);

	if (!err && r->in_batch)
		err = store_run(r, "COMMIT");
	r->in_batch = false;
	r->batch_count = err ? r->batch_count : 0;
	return err;
}

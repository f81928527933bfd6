/* SPDX-License-Identifier: MIT */
/* --as-recorded: the values of metrics as the recorder computed them, instead of those of the
 * formulas of this version. */
#include "record/store.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/cli.h"

/* Parameters are numbered as in store_bind_row(). */
static const char find_row[] =
	"SELECT id FROM row WHERE name IS ?2 AND family IS ?3 AND filter IS ?5 AND socket IS ?6 AND node IS ?7"
	" AND channel IS ?8 AND cpu IS ?9 AND pmu IS ?10 AND port IS ?11 AND role IS ?12";
static const char find_values[] =
	"SELECT v.key, v.value,"
	" coalesce(json_extract(q.row_qualities, '$.\"' || v.key || '\"[0]'), 'measured'),"
	" (SELECT text FROM reason WHERE id = json_extract(q.row_qualities, '$.\"' || v.key || '\"[1]'))"
	" FROM tick t, json_each(t.row_values) v LEFT JOIN quality q ON q.id = t.quality WHERE t.id = ?";

static void free_reasons(struct shown *s)
{
	for (size_t i = 0; i < s->count; i++) {
		free(s->reasons[i]);
		s->reasons[i] = NULL;
	}
}

/* Finds the recorded row of each row of the sample. The rows are the same in all intervals of a
 * monitor. */
static int find_rows(struct shown *s, struct recording *file, const struct uncore_sample *sample)
{
	size_t count = uncore_sample_count(sample);
	sqlite3_stmt *find;
	int code = SQLITE_DONE, err = store_prepare(file, find_row, &find);

	if (err)
		return err;
	free_reasons(s);
	s->rows = cli_realloc(s->rows, count + 1, sizeof(*s->rows));
	s->reasons = cli_realloc(s->reasons, count + 1, sizeof(*s->reasons));
	memset(s->reasons, 0, (count + 1) * sizeof(*s->reasons));
	s->count = count;
	for (size_t i = 0; i < count && code != SQLITE_ERROR; i++) {
		store_bind_row(find, 0, uncore_sample_row(sample, i));
		code = sqlite3_step(find);
		s->rows[i] = code == SQLITE_ROW ? sqlite3_column_int64(find, 0) : -1;
		sqlite3_reset(find);
	}
	return store_finish(file, find, code);
}

enum uncore_quality store_quality(const char *name)
{
	enum uncore_quality q = UNCORE_MEASURED;

	while (q < UNCORE_UNAVAILABLE && (!name || strcmp(uncore_quality_name(q), name) != 0))
		q++;
	return q;
}

/* Stores one recorded value in all rows that show it. */
static void put_value(struct shown *s, sqlite3_stmt *found, struct uncore_row *rows)
{
	const char *reason = store_text(found, 3);

	for (size_t i = 0; i < s->count; i++) {
		if (s->rows[i] != sqlite3_column_int64(found, 0) || !rows[i].query->family)
			continue;
		rows[i].value = sqlite3_column_type(found, 1) == SQLITE_NULL
					? NAN
					: sqlite3_column_double(found, 1);
		rows[i].low = rows[i].high = NAN;
		rows[i].quality = store_quality(store_text(found, 2));
		free(s->reasons[i]);
		rows[i].reason = s->reasons[i] = cli_copy(reason);
	}
}

int shown_put(struct shown *s, struct recording *file, uint64_t tick,
	      const struct uncore_sample *sample, struct uncore_row *rows)
{
	sqlite3_stmt *found;
	int code, err = s->rows ? 0 : find_rows(s, file, sample);

	if (err)
		return err;
	free_reasons(s);
	for (size_t i = 0; i < s->count; i++) {
		rows[i] = *uncore_sample_row(sample, i);
		if (!rows[i].query->family) /* counts of events have no formula */
			continue;
		rows[i].value = rows[i].low = rows[i].high = NAN;
		rows[i].quality = UNCORE_UNAVAILABLE;
		rows[i].reason = "it was not shown when this was recorded";
	}
	err = store_prepare(file, find_values, &found);
	if (err)
		return err;
	sqlite3_bind_int64(found, 1, (int64_t)tick);
	while ((code = sqlite3_step(found)) == SQLITE_ROW)
		put_value(s, found, rows);
	return store_finish(file, found, code);
}

void shown_free(struct shown *s)
{
	free_reasons(s);
	free(s->reasons);
	free(s->rows);
	*s = (struct shown){0};
}

/* SPDX-License-Identifier: MIT */
/* The flight recorder: the latest ticks of a recording are kept in memory; and the condition on
 * which they are written. */
#include "record/flight.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "commands/options.h"
#include "record/store.h"

int flight_trim(struct recording *r, uint64_t before_ns)
{
	int64_t key = 0;
	char sql[250];
	int err;

	if (r->next_tick % RECORDING_KEY != 0)
		return 0;
	/* Both searches begin at the oldest tick, so that few ticks are read even if many are
	 * kept. */
	snprintf(sql, sizeof(sql),
		 "SELECT id FROM tick WHERE id %% %d = 0 AND id < (SELECT id FROM tick "
		 "WHERE monotonic_ns > %llu ORDER BY id LIMIT 1) ORDER BY id DESC LIMIT 1",
		 RECORDING_KEY, (unsigned long long)before_ns);
	err = store_number(r, sql, 0, &key);
	/* The latest quality may be deleted. */
	free(r->quality_text);
	r->quality_text = NULL;
	if (err)
		return err;
	return store_run_format(
		r,
		"DELETE FROM quality WHERE id IN (SELECT quality FROM tick WHERE id < %lld) AND "
		"NOT EXISTS (SELECT * FROM tick t WHERE t.quality = quality.id AND t.id >= %lld);"
		"DELETE FROM tick WHERE id < %lld;"
		"DELETE FROM session WHERE first_tick <"
		" (SELECT max(first_tick) FROM session WHERE first_tick <= %lld);"
		"DELETE FROM mark WHERE rowid <= (SELECT max(rowid) FROM mark) - %d",
		(long long)key, (long long)key, (long long)key, (long long)key, RECORDING_MARKS);
}

/* Makes the first remaining tick the start of its session. */
static const char make_start[] =
	"UPDATE tick SET row_values = NULL, distributions = NULL, quality = NULL, interval_ns = 0"
	" WHERE id = (SELECT min(id) FROM tick);"
	"DELETE FROM session WHERE first_tick <"
	" (SELECT max(first_tick) FROM session WHERE first_tick <= (SELECT min(id) FROM tick));"
	"UPDATE session SET first_tick = (SELECT min(id) FROM tick)"
	" WHERE first_tick < (SELECT min(id) FROM tick);"
	"UPDATE session SET end = 'flight' WHERE end IS NULL";

int flight_write(struct recording *r, const char *path)
{
	int err = recording_commit(r);

	if (!err)
		err = store_run(r, make_start);
	return err ? err : store_run_format(r, "VACUUM INTO %Q", path);
}

/* ---- the condition ---- */

bool trigger_parse(struct trigger *t, const char *text)
{
	static const struct argp none;
	struct argp_state state = {
		.root_argp = &none, .name = (char[]){"uncore record"}, .err_stream = stderr};
	char operator[3] = "", rest[40] = "";
	int length = 0;

	*t = (struct trigger){0};
	if (sscanf(text, " %255[^ <>] %2[<>=] %n", t->name, operator, & length) < 2 ||
	    operator[0] == '=' ||(operator[1] && operator[1] != '='))
		return false;
	t->below = operator[0] == '<';
	text += length;
	if (!cli_number(&text, &t->limit))
		return false;
	text += strspn(text, " ");
	t->share = *text == '%';
	if (t->share)
		t->limit /= 100;
	text += t->share;
	if (sscanf(text, " for %39s %n", rest, &length) == 1) {
		t->for_ns = cli_time(&state, "--when", rest, NS_PER_MS, 0);
		text += length;
	}
	return !*text;
}

static double limit_of(const struct trigger *t, const struct uncore_row *row)
{
	bool ratio = row->query->unit && strcmp(row->query->unit, "ratio") == 0;

	return !t->share ? t->limit : t->limit * (isnan(row->ceiling) && ratio ? 1 : row->ceiling);
}

int trigger_update(struct trigger *t, const struct uncore_sample *sample, bool *fired)
{
	uint64_t length_ns = uncore_sample_end_ns(sample) - uncore_sample_begin_ns(sample);
	size_t count = uncore_sample_count(sample), matching = 0;
	bool held = false, known = false;

	if (count > t->row_count) {
		t->held_ns = cli_realloc(t->held_ns, count, sizeof(*t->held_ns));
		memset(t->held_ns, 0, count * sizeof(*t->held_ns));
		t->row_count = count;
	}
	for (size_t i = 0; i < count; i++) {
		const struct uncore_row *row = uncore_sample_row(sample, i);
		double limit = limit_of(t, row);

		if (strcmp(row->query->name, t->name) != 0)
			continue;
		matching++;
		known = known || isfinite(limit);
		if (t->below ? row->value <= limit : row->value >= limit) /* not for NaN */
			t->held_ns[i] += length_ns;
		else
			t->held_ns[i] = 0;
		held = held || (t->held_ns[i] && t->held_ns[i] >= t->for_ns);
	}
	*fired = held && !t->held;
	t->held = held;
	return !matching ? -ENOENT : known ? 0 : -ENODATA;
}

void trigger_free(struct trigger *t)
{
	free(t->held_ns);
	t->held_ns = NULL;
}

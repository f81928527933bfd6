/* SPDX-License-Identifier: MIT */
/* The flight recorder: the latest ticks of a recording are kept in memory. */
#include <stdio.h>
#include <stdlib.h>

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

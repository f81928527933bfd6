/* SPDX-License-Identifier: MIT */
/* Regions of a recording, by SQL over its marks and ticks. */
#include "record/regions.h"

#include <errno.h>

#include "base/cli.h"
#include "output/output.h"
#include "record/store.h"

/* Rows region, b, e, first, last, covered: the complete intervals of each part of a region, between
 * ?2 and ?3. The ticks of a session are consecutive: the tick before the end of an interval is its
 * begin. */
#define PARTS_SQL                                                                          \
	"SELECT region, b, e, ended - 1 AS first, last,"                                   \
	" (SELECT sum(interval_ns) FROM tick WHERE id BETWEEN ended AND last) AS covered"  \
	" FROM (SELECT region, b, e,"                                                      \
	"  (SELECT id FROM tick WHERE id >"                                                \
	"    (SELECT id FROM tick WHERE wall_ns >= b ORDER BY wall_ns LIMIT 1)"            \
	"   AND row_values IS NOT NULL ORDER BY id LIMIT 1) AS ended,"                     \
	"  (SELECT id FROM tick WHERE wall_ns <= e ORDER BY wall_ns DESC LIMIT 1) AS last" \
	"  FROM (SELECT region, max(begin_wall_ns, ?2) AS b, min(end_wall_ns, ?3) AS e"    \
	"   FROM (" REGIONS_SQL ")"                                                        \
	"   WHERE (?1 IS NULL OR region = ?1) AND begin_wall_ns <= ?3 AND end_wall_ns >= ?2))"

static uint64_t column(sqlite3_stmt *s, int number)
{
	return (uint64_t)sqlite3_column_int64(s, number);
}

int region_find(struct recording *r, const char *text, uint64_t begin_ns, uint64_t end_ns,
		struct region *into)
{
	sqlite3_stmt *s;
	int code, err = store_prepare(r, PARTS_SQL " ORDER BY b", &s);

	*into = (struct region){0};
	if (err)
		return err;
	sqlite3_bind_text(s, 1, text, -1, SQLITE_STATIC);
	sqlite3_bind_int64(s, 2, (int64_t)begin_ns);
	sqlite3_bind_int64(s, 3, end_ns > INT64_MAX ? INT64_MAX : (int64_t)end_ns);
	while ((code = sqlite3_step(s)) == SQLITE_ROW) {
		uint64_t begin = column(s, 1), end = column(s, 2), covered = column(s, 5);

		into->times++;
		into->length_ns += end > begin ? end - begin : 0;
		into->covered_ns += covered;
		if (!covered)
			continue;
		into->parts = cli_realloc(into->parts, into->count + 1, sizeof(*into->parts));
		into->parts[into->count++] = (struct region_part){column(s, 3), column(s, 4)};
	}
	err = store_finish(r, s, code);
	if (err || into->times)
		return err;
	return store_fail(r, -ENOENT, "it has no region '%s' in this time", text);
}

int regions_list(struct recording *r, struct buffer *to)
{
	static const struct table_column columns[] = {
		{"REGION", TABLE_ALONE}, {"TIMES", TABLE_RIGHT},   {"BEGIN", 0},
		{"LENGTH", TABLE_RIGHT}, {"COVERED", TABLE_RIGHT}, {0},
	};
	char date[DATE_ROOM];
	auto_table t = {0};
	sqlite3_stmt *s;
	int code, err = store_prepare(
			  r,
			  "SELECT region, count(*), min(b), sum(e - b), sum(covered) FROM "
			  "(" PARTS_SQL ") GROUP BY region ORDER BY 3",
			  &s);

	if (err)
		return err;
	table_init(&t, columns);
	sqlite3_bind_int64(s, 2, 0);
	sqlite3_bind_int64(s, 3, INT64_MAX);
	while ((code = sqlite3_step(s)) == SQLITE_ROW) {
		double length = sqlite3_column_double(s, 3), covered = sqlite3_column_double(s, 4);

		cli_date(date, column(s, 2));
		table_cell(&t, "%s", store_text(s, 0));
		table_cell(&t, "%lld", (long long)sqlite3_column_int64(s, 1));
		table_cell(&t, "%s", date);
		table_cell(&t, "%s", human(length / 1e9, "s").text);
		table_cell(&t, "%.1f %%", length > 0 ? 100 * covered / length : 0);
		table_end_row(&t, NULL);
	}
	table_print(&t, to);
	return store_finish(r, s, code);
}

/* SPDX-License-Identifier: MIT */
/* Records whose cells are copied from earlier ones are the same as records of which each cell is made. */
#include "output/cells.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "output/output.h"

#include <cmocka.h>

#define ROWS 5
#define FIELDS 9
#define INTERVALS 4000

static size_t made;

static void put(struct out *out, const struct field *f)
{
	const struct value *v = &f->value;

	made++;
	buffer_printf(out->to, "%s=", f->name);
	if (v->type == VALUE_TEXT)
		buffer_puts(out->to, v->text ? v->text : "none");
	else if (v->type == VALUE_REAL)
		buffer_printf(out->to, "%.17g", v->real);
	else if (v->type == VALUE_COUNT)
		buffer_printf(out->to, "%llu", (unsigned long long)v->count);
	else if (v->type == VALUE_ID)
		buffer_printf(out->to, "%d", v->id);
	else if (v->type == VALUE_FLAG)
		buffer_puts(out->to, v->flag ? "yes" : "no");
	buffer_puts(out->to, ";");
}

/* The same numbers in each run (xorshift64). */
static uint64_t next(uint64_t below)
{
	static uint64_t state = 88172645463325252;

	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state % below;
}

static struct value any_value(char text[20])
{
	static const double reals[] = {0.0, -0.0, NAN, INFINITY, 1.5};

	switch (next(7)) {
	case 0: /* one place in memory for changing texts of changing lengths, as it is with reasons */
		memset(text, 'a', 19);
		text[next(19)] = '\0';
		return value_text(text);
	case 1:
		return value_text(next(2) ? "" : NULL);
	case 2:
		return value_real(reals[next(5)]);
	case 3:
		return value_count(next(3));
	case 4:
		return value_id((int)next(3) - 1);
	case 5:
		return value_flag(next(2));
	default:
		return value_none();
	}
}

static void print_and_compare(struct out *out, size_t row, const struct field *fields)
{
	struct buffer want = {0}, got = {0};

	out->to = &got;
	out->row = &out->rows[row];
	cells_print(out, fields, put);
	out->to = &want;
	out->row = NULL; /* no row: nothing is copied */
	cells_print(out, fields, put);
	assert_string_equal(got.data, want.data);
	assert_int_equal(got.len, want.len);
	buffer_free(&got);
	buffer_free(&want);
}

/* Few values, so that any may follow any other, and records of different lengths. */
static void any_record_is_the_same(void **state)
{
	static const char *const names[] = {"a", "b", "c", "d", "e", "f", "g", "h", "i"};
	static const struct uncore_row_query queries[2];
	static const struct uncore_row_place places[2];
	struct uncore_row shown[ROWS] = {{0}};
	struct out_row rows[ROWS] = {{0}};
	struct out out = {.rows = rows, .row_count = ROWS};
	struct field fields[ROWS][FIELDS + 1] = {{{0}}};
	char texts[ROWS][FIELDS][20];

	(void)state;
	for (int i = 0; i < INTERVALS; i++)
		for (size_t row = 0; row < ROWS; row++) {
			size_t count = i % 10 ? FIELDS : 1 + next(FIELDS);
			size_t query = next(5) / 4, place = next(5) / 4;

			shown[row] = (struct uncore_row){.query = &queries[query],
							 .place = &places[place]};
			rows[row].row = &shown[row];
			/* Only another query or place gives it another value. */
			fields[row][0] = (struct field){
				names[0], value_fixed(value_count(2 * query + place))};
			for (size_t k = 1; k < FIELDS; k++) {
				if (next(3) == 0)
					fields[row][k].value = any_value(texts[row][k]);
				fields[row][k].name = k < count ? names[k] : NULL;
			}
			print_and_compare(&out, row, fields[row]);
		}
	cells_free(out.cells, out.cell_count);
}

/* A cell of another name at the same place is another cell. */
static void names_matter(void **state)
{
	static const struct uncore_row shown;
	struct out_row row = {.row = &shown};
	struct out out = {.rows = &row, .row_count = 1};

	(void)state;
	print_and_compare(&out, 0, RECORD({"a", value_count(1)}));
	print_and_compare(&out, 0, RECORD({"b", value_count(1)}));
	cells_free(out.cells, out.cell_count);
}

static void what_has_not_changed_is_not_made(void **state)
{
	static const struct uncore_row shown;
	struct out_row rows[2] = {{.row = &shown}, {.row = &shown}};
	struct buffer text = {0};
	struct out out = {.rows = rows, .row_count = 2, .to = &text};

	(void)state;
	made = 0;
	for (uint64_t i = 0; i < 10; i++)
		for (size_t row = 0; row < 2; row++) {
			out.row = &rows[row];
			cells_print(&out,
				    RECORD({"name", value_text(row ? "b" : "a")},
					   {"time", value_count(i)}, {"id", value_id(-1)},
					   {"value", value_real((double)(10 * i + row))}),
				    put);
		}
	/* 10 times and 20 values; in the first interval two names and one id */
	assert_int_equal(made, 10 + 20 + 3);
	buffer_free(&text);
	cells_free(out.cells, out.cell_count);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(any_record_is_the_same),
		cmocka_unit_test(names_matter),
		cmocka_unit_test(what_has_not_changed_is_not_made),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

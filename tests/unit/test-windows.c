/* SPDX-License-Identifier: MIT */
/* Windows of several intervals, as pages have them. */
#include "output/windows.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "output/output.h"

#include <cmocka.h>

/* Adds an interval of a second to the window. */
static void add(struct windows *w, struct out *out, double value, enum uncore_quality quality,
		const char *reason)
{
	static const struct uncore_row_query query = {.name = "m", .family = "f", .unit = "B/s"};
	static const struct uncore_row_place place = {
		.socket = -1, .node = -1, .cpu = -1, .channel = -1};
	static const struct uncore_row_counted counted = {.coverage = 1};
	static struct uncore_row row;
	static struct out_row kept;

	row = (struct uncore_row){&query, &place,  &counted, value, NAN, NAN,  NAN,
				  NAN,    quality, reason,   0,     NAN, false};
	kept = (struct out_row){.row = &row, .spread = NAN};
	out->rows = &kept;
	out->row_count = 1;
	out->frame = (struct frame){.window = 1};
	windows_add(w, out);
}

/* The value of the only row, and its quality with the reason; "": measured. */
static double take(struct windows *w, struct out *out, char quality[80])
{
	struct buffer said = {0};
	json_t *list = windows_quality(w, &said), *window = windows_take(w, out, false);
	const json_t *values = json_object_get(window, "values"), *first = json_array_get(list, 0);
	double value = json_is_null(json_array_get(values, 0))
			       ? (double)NAN
			       : json_real_value(json_array_get(values, 0));

	snprintf(quality, 80, "%s%s%s", first ? json_string_value(json_array_get(first, 1)) : "",
		 first ? ": " : "", first ? json_string_value(json_array_get(first, 2)) : "");
	json_decref(list);
	json_decref(window);
	buffer_free(&said);
	return value;
}

static void a_mean_without_some_intervals_is_partial(void **state)
{
	struct windows *w = windows_new();
	struct out out = {0};
	char quality[80];

	(void)state;
	add(w, &out, 10, UNCORE_MEASURED, NULL);
	add(w, &out, NAN, UNCORE_UNAVAILABLE, "it was lost");
	add(w, &out, 20, UNCORE_MEASURED, NULL);
	assert_true(take(w, &out, quality) == 15);
	assert_string_equal(quality, "partial: it was lost");
	add(w, &out, NAN, UNCORE_UNAVAILABLE, "it was lost");
	assert_true(isnan(take(w, &out, quality)));
	assert_string_equal(quality, "unavailable: it was lost");
	add(w, &out, NAN, UNCORE_UNAVAILABLE, "it was lost");
	add(w, &out, 20, UNCORE_SUSPECT, "too much");
	assert_true(take(w, &out, quality) == 20);
	assert_string_equal(quality, "suspect: too much");
	add(w, &out, 0, UNCORE_MEASURED, NULL);
	assert_true(take(w, &out, quality) == 0);
	assert_string_equal(quality, "");
	windows_free(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_mean_without_some_intervals_is_partial),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}

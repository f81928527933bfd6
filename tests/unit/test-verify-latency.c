/* SPDX-License-Identifier: MIT */
/* `uncore verify`: the pointer chase. */
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "cli.h"
#include "verify/verify.h"

#define MIB ((size_t)1 << 20)

/* One line of each two is in the cycle, both kinds of them, and each once. */
static void the_chase_visits_each_line_once(void **s)
{
	struct verify_stream stream;
	struct verify_chase c;
	size_t count, odd = 0, ordered = 0;
	const char *first;
	char *seen;

	(void)s;
	assert_int_equal(verify_stream_open(&stream, -1, 6 * MIB, -1), 0);
	assert_int_equal(verify_chase_open(&c, &stream, -1), 0);
	count = stream.size / 128;
	seen = calloc(count, 1);
	assert_non_null(seen);
	first = c.at;
	for (size_t i = 0; i < count; i++) {
		size_t at = (size_t)(c.at - stream.base);
		const char *before = c.at;

		assert_true(at < stream.size && at % 64 == 0);
		assert_int_equal(seen[at / 128]++, 0);
		odd += at / 64 % 2;
		assert_int_equal(verify_chase_load(&c, 1, -1), 0);
		/* Steps that prefetchers could foresee. */
		ordered += c.at > before && c.at - before < 4096;
		/* The cycle does not close before all have been there. */
		assert_int_equal(c.at == first, i == count - 1);
	}
	assert_true(odd > count * 4 / 10 && odd < count * 6 / 10);
	assert_true(ordered < count / 100);
	free(seen);
	verify_stream_close(&stream);
}

/* The line after so many loads, found by following the addresses in the lines. */
static void the_chase_loads_exactly_so_many(void **s)
{
	static const size_t amounts[] = {0, 1, 255, 4096, 4097, 100003};
	struct verify_stream stream;
	struct verify_chase c;
	double loads = 0;

	(void)s;
	assert_int_equal(verify_stream_open(&stream, -1, 8 * MIB, -1), 0);
	assert_int_equal(verify_chase_open(&c, &stream, -1), 0);
	for (size_t i = 0; i < sizeof(amounts) / sizeof(*amounts); i++) {
		const struct verify_work work = verify_chase_work(&c);
		const char *expected = c.at;

		for (size_t k = 0; k < amounts[i]; k++)
			memcpy(&expected, expected, sizeof(expected));
		assert_int_equal(work.run(work.context, amounts[i], -1), 0);
		assert_ptr_equal(c.at, expected);
		loads += (double)amounts[i];
		assert_true(fabs(c.loads - loads) < 0.5);
	}
	/* From 0.1 ns, which no cache does, to 1 ms. */
	assert_true(c.ns / c.loads > 0.1 && c.ns / c.loads < 1e6);
	verify_stream_close(&stream);
}

static void a_signal_stops_the_chase(void **s)
{
	struct verify_stream stream;
	struct verify_chase c;
	int fds[2];

	(void)s;
	assert_int_equal(pipe(fds), 0);
	assert_int_equal(verify_stream_open(&stream, -1, 16 * MIB, -1), 0);
	assert_int_equal(verify_chase_open(&c, &stream, fds[0]), 0);
	assert_int_equal(write(fds[1], "x", 1), 1);
	/* It would take hours. */
	assert_int_equal(verify_chase_load(&c, (size_t)1 << 40, fds[0]), -EINTR);
	assert_int_equal(verify_chase_open(&c, &stream, fds[0]), -EINTR);
	verify_stream_close(&stream);
	close(fds[0]);
	close(fds[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_chase_visits_each_line_once),
		cmocka_unit_test(the_chase_loads_exactly_so_many),
		cmocka_unit_test(a_signal_stops_the_chase),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

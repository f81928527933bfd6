/* SPDX-License-Identifier: MIT */
/* The bytes that readings are in recordings. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "record/recording.h"

#define COUNT 37
#define TICKS 500

static uint64_t random_state = 1;

static uint64_t random_bits(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return random_state;
}

/* Any number of bits, so that small, large and extreme values occur; neighbours of 0 when they wrap. */
static uint64_t random_value(void)
{
	uint64_t v = random_bits() >> random_bits() % 64;

	switch (random_bits() % 8) {
	case 0:
		return 0;
	case 1:
		return UINT64_MAX;
	case 2:
		return 0 - v;
	default:
		return v;
	}
}

static void vary(struct recorded_reading *r, const struct recorded_reading *beside)
{
	struct uncore_reading *now = &r->reading;
	uint64_t step = random_value();

	now->raw += random_bits() % 4 ? random_value() : 0;
	if (beside && random_bits() % 2) { /* read together with the counter before */
		struct uncore_reading same = beside->reading;

		same.raw = now->raw;
		*now = same;
	} else {
		now->at_ns += step;
		now->enabled_ns += step;
		now->running_ns += random_bits() % 2 ? step : random_value();
		now->took_ns = random_value();
		now->uncertain_ns = random_value();
	}
	now->lost = random_bits() % 8 == 0;
	now->wrapped = random_bits() % 8 == 0;
	now->incomplete = random_bits() % 8 == 0;
	r->why = random_bits() % 8 ? 0 : (uint32_t)random_value();
}

static void assert_same(const struct recorded_reading *a, const struct recorded_reading *b)
{
	assert_int_equal(a->reading.raw, b->reading.raw);
	assert_int_equal(a->reading.enabled_ns, b->reading.enabled_ns);
	assert_int_equal(a->reading.running_ns, b->reading.running_ns);
	assert_int_equal(a->reading.at_ns, b->reading.at_ns);
	assert_int_equal(a->reading.took_ns, b->reading.took_ns);
	assert_int_equal(a->reading.uncertain_ns, b->reading.uncertain_ns);
	assert_int_equal(a->reading.lost, b->reading.lost);
	assert_int_equal(a->reading.wrapped, b->reading.wrapped);
	assert_int_equal(a->reading.incomplete, b->reading.incomplete);
	assert_null(b->reading.why);
	assert_int_equal(a->why, b->why);
}

static void decoding_reverses_encoding(void **state)
{
	struct recorded_reading now[COUNT] = {0}, before[COUNT] = {0}, decoded[COUNT];
	uint8_t bytes[READINGS_ROOM(COUNT)];

	(void)state;
	memset(decoded, 0x55, sizeof(decoded));
	for (int tick = 0; tick < TICKS; tick++) {
		bool key = tick % RECORDING_KEY == 0;
		size_t len;

		for (size_t i = 0; i < COUNT; i++)
			vary(&now[i], i ? &now[i - 1] : NULL);
		len = readings_encode(bytes, now, key ? NULL : before, COUNT);
		assert_in_range(len, COUNT + 1, sizeof(bytes));
		assert_int_equal(readings_are_key(bytes, len), key);
		assert_int_equal(readings_decode(decoded, COUNT, bytes, len), 0);
		for (size_t i = 0; i < COUNT; i++)
			assert_same(&now[i], &decoded[i]);
		memcpy(before, now, sizeof(now));
	}
}

static void extreme_values_fit_into_the_maximum_room(void **state)
{
	struct recorded_reading now[2] = {
		{{1ULL << 63, 1ULL << 63, 0, 1ULL << 63, UINT64_MAX, UINT64_MAX, true, true, NULL,
		  0, true},
		 UINT32_MAX},
		{{1ULL << 63, 0, 1ULL << 63, 0, UINT64_MAX, 0, true, true, NULL, 0, true},
		 UINT32_MAX},
	};
	struct recorded_reading decoded[2];
	uint8_t bytes[READINGS_ROOM(2)];
	size_t len = readings_encode(bytes, now, NULL, 2);

	(void)state;
	assert_in_range(len, 100, sizeof(bytes));
	assert_int_equal(readings_decode(decoded, 2, bytes, len), 0);
	assert_same(&now[0], &decoded[0]);
	assert_same(&now[1], &decoded[1]);
}

/* A group that is read at once, a second after the tick before, needs its times once. */
static void a_steady_group_is_small(void **state)
{
	struct recorded_reading before[COUNT] = {0}, now[COUNT] = {0};
	uint8_t bytes[READINGS_ROOM(COUNT)];

	(void)state;
	for (size_t i = 0; i < COUNT; i++) {
		before[i].reading = (struct uncore_reading){.raw = i << 40,
							    .enabled_ns = 5000000000,
							    .running_ns = 5000000000,
							    .at_ns = 77000000000,
							    .took_ns = 900};
		now[i].reading = before[i].reading;
		now[i].reading.raw += 1000000000; /* zigzag: 31 bits, 5 bytes */
		now[i].reading.enabled_ns += 1000000100;
		now[i].reading.running_ns += 1000000100;
		now[i].reading.at_ns += 1000000200;
	}
	assert_int_equal(readings_encode(bytes, now, before, COUNT), 1 + 5 + 5 + 2 + 1 + COUNT * 6);
	for (size_t i = 0; i < COUNT; i++)
		now[i].reading.raw = before[i].reading.raw;
	assert_int_equal(readings_encode(bytes, now, before, COUNT), 1 + 5 + 5 + 2 + 1 + COUNT * 1);
}

/* Without its last bytes, or with one more, it is not the readings of so many counters. */
static void other_lengths_are_refused(void **state)
{
	struct recorded_reading now[COUNT] = {0}, decoded[COUNT];
	uint8_t bytes[READINGS_ROOM(COUNT) + 1];
	size_t len;

	(void)state;
	for (size_t i = 0; i < COUNT; i++)
		vary(&now[i], NULL);
	len = readings_encode(bytes, now, NULL, COUNT);
	for (size_t part = 0; part < len; part++) {
		uint8_t *exact = malloc(part + !part); /* sanitizers see a read past its end */

		assert_non_null(exact);
		memcpy(exact, bytes, part);
		assert_int_equal(readings_decode(decoded, COUNT, exact, part), -EBADMSG);
		free(exact);
	}
	bytes[len] = 0;
	assert_int_equal(readings_decode(decoded, COUNT, bytes, len + 1), -EBADMSG);
	assert_int_equal(readings_decode(decoded, COUNT, bytes, len), 0);
}

static void malformed_encodings_are_refused(void **state)
{
	static const struct {
		uint8_t bytes[16];
		size_t len;
	} cases[] = {
		{{2, 0}, 2},    /* neither a key nor a difference */
		{{1, 0x80}, 2}, /* an unknown flag */
		{{1, 4, 0}, 3}, /* a running time without times */
		{{1, 1, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2}, 12}, /* 65 bits */
		{{1, 1, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0}, 13},
		{{1, 32, 0xff, 0xff, 0xff, 0xff, 0x10}, 7}, /* a sentence above 2^32 */
	};
	struct recorded_reading decoded[1];

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		assert_int_equal(readings_decode(decoded, 1, cases[i].bytes, cases[i].len),
				 -EBADMSG);
	assert_int_equal(readings_decode(decoded, 1, (const uint8_t[]){1, 0}, 2), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(decoding_reverses_encoding),
		cmocka_unit_test(extreme_values_fit_into_the_maximum_room),
		cmocka_unit_test(a_steady_group_is_small),
		cmocka_unit_test(other_lengths_are_refused),
		cmocka_unit_test(malformed_encodings_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

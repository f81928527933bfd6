/* SPDX-License-Identifier: MIT */
/* Numbers in the contents of files of devices: text, structures, lists of attributes. What is not there has a reason and
 * no number. */
#include "source/source.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define KEPT 77 /* a value that a failure leaves */

static const struct unc_device_layout metrics = {
	.file = "gpu_metrics", .size = 0, .version = 2, .binary = true};

/* The data in memory of exactly this length with a NUL behind it, so that the sanitizer finds what is read beyond. */
static const char *take_of(const struct unc_device_read *read,
			   const struct unc_device_layout *layout, const void *data, size_t len,
			   uint64_t *value)
{
	char *copy = malloc(len + 1);
	const char *why;

	assert_non_null(copy);
	memcpy(copy, data, len);
	copy[len] = '\0';
	*value = KEPT;
	why = unc_field_take(read, layout, copy, len, value);
	free(copy);
	assert_true(!why || *value == KEPT);
	return why;
}

static void has(const struct unc_device_read *read, const char *text, uint64_t expected)
{
	uint64_t value;

	assert_null(take_of(read, NULL, text, strlen(text), &value));
	assert_int_equal(value, expected);
}

static void lacks(const struct unc_device_read *read, const char *text, const char *words)
{
	uint64_t value;
	const char *why = take_of(read, NULL, text, strlen(text), &value);

	assert_non_null(why);
	assert_non_null(strstr(why, words));
}

static void test_text(void **state)
{
	struct unc_device_read first = {.column = 1}, third = {.column = 3};

	(void)state;
	has(&first, "0\n", 0);
	has(&first, "18446744073709551615\n", UINT64_MAX);
	has(&first, "  12 34\n56\n", 12);
	has(&third, "   91  2\t 7688 4\n", 7688);
	lacks(&first, "", "no number");
	lacks(&first, "\n5\n", "no number");
	lacks(&third, "1 2\n3\n", "no number");
	lacks(&first, "-1\n", "no number");
	lacks(&first, "1.5\n", "no number");
	lacks(&first, "18446744073709551616\n", "no number");
	lacks(&first, "00000000000000000000000000000000000000000000001\n", "no number");
	lacks(&first, "N/A (no PMA)\n", "N/A");
}

static void test_line(void **state)
{
	struct unc_device_read timeout = {.line = "Timeout", .column = 2},
			       third = {.line = "a", .column = 3};
	static const char errors[] = "RxErr 3\nTimeoutX 4\nTimeout 5\nTOTAL_ERR_COR 12";

	(void)state;
	has(&timeout, errors, 5);
	has(&timeout, "Timeout:\t6", 6);
	has(&third, "a 1 2\n", 2);
	lacks(&timeout, "RxErr 3\nTimeoutX 4\n", "no such line");
	lacks(&timeout, "", "no such line");
	lacks(&timeout, "Timeout", "no number");
	lacks(&timeout, "Timeout\n7\n", "no such line");
}

static void test_binary(void **state)
{
	static const unsigned char data[] = {0x01, 0x02, 0x03, 0x04, 0x05, 0x06,
					     0x07, 0x88, 0xff, 0xff, 0xff, 0xff};
	static const uint64_t expected[] = {
		0, 0x02, 0x0302, 0, 0x05040302, 0, 0, 0, 0xff88070605040302};
	uint64_t value;

	(void)state;
	for (unsigned bytes = 1; bytes <= 8; bytes *= 2) {
		struct unc_device_read read = {.file = "telem", .bytes = bytes, .at = 1};

		assert_null(take_of(&read, NULL, data, sizeof(data), &value));
		assert_int_equal(value, expected[bytes]);
		for (size_t len = 0; len <= sizeof(data); len++)
			assert_true(!take_of(&read, NULL, data, len, &value) == (len >= 1 + bytes));
	}
	for (unsigned at = 0; at <= 12; at++) {
		struct unc_device_read read = {.file = "telem", .bytes = 4, .at = at};
		const char *why = take_of(&read, NULL, data, sizeof(data), &value);

		assert_true(!why == (at < 8));
		assert_non_null(at < 8 ? "" : strstr(why, at == 8 ? "all bits" : "ends before"));
	}
}

static void test_halves(void **state)
{
	static const unsigned char data[] = {0x11, 0,    0,    0,    0xff, 0xff,
					     0xff, 0xff, 0xff, 0xff, 0xff, 0xff};
	struct unc_device_read up = {.bytes = 4, .at = 4, .high = 0, .has_high = true};
	struct unc_device_read ones = {.bytes = 4, .at = 8, .high = 4, .has_high = true};
	uint64_t value;

	(void)state;
	/* All bits of one half only are a number like others. */
	assert_null(take_of(&up, NULL, data, sizeof(data), &value));
	assert_int_equal(value, 0x11ffffffff);
	assert_non_null(strstr(take_of(&ones, NULL, data, sizeof(data), &value), "all bits"));
	assert_non_null(take_of(&up, NULL, data, 7, &value));
	up.high = 9;
	assert_non_null(take_of(&up, NULL, data, sizeof(data), &value));
}

static void test_values(void **state)
{
	unsigned char data[64];
	struct unc_device_read links = {.bytes = 8, .at = 8, .values = 4};
	uint64_t value;

	(void)state;
	memset(data, 0xff, sizeof(data));
	assert_non_null(strstr(take_of(&links, NULL, data, sizeof(data), &value), "all bits"));
	memset(data + 8, 0, 8);
	assert_null(take_of(&links, NULL, data, sizeof(data), &value));
	assert_int_equal(value, 0);
	for (size_t i = 0; i < 4; i++) {
		memset(data + 8 + 8 * i, 0, 8);
		data[8 + 8 * i] = (unsigned char)(i == 2 ? 0xff : i + 1);
		memset(data + 9 + 8 * i, i == 2 ? 0xff : 0, 7);
	}
	assert_null(take_of(&links, NULL, data, sizeof(data), &value));
	assert_int_equal(value, 1 + 2 + 4);
	assert_non_null(take_of(&links, NULL, data, 39, &value));
	assert_null(take_of(&links, NULL, data, 40, &value));
}

static void test_layout(void **state)
{
	struct unc_device_read read = {
		.file = "gpu_metrics", .versions = "1.3 1.8:12", .bytes = 4, .at = 8};
	struct unc_device_read other = {.file = "telem", .versions = "1.3", .bytes = 4, .at = 12};
	unsigned char data[16] = {12, 0, 1, 3, 0, 0, 0, 0, 5, 0, 0, 0, 6};
	char version[64];
	uint64_t value;

	(void)state;
	assert_true(unc_device_version(&metrics, (const char *)data, sizeof(data), version));
	assert_string_equal(version, "1.3:12");
	assert_true(unc_device_has_version(&read, version) &&
		    unc_device_has_version(&read, "1.8:12"));
	assert_false(unc_device_has_version(&read, "1.8:16") ||
		     unc_device_has_version(&read, "1.30:12"));
	assert_false(unc_device_version(&metrics, (const char *)data, 3, version));
	assert_null(take_of(&read, &metrics, data, sizeof(data), &value));
	assert_int_equal(value, 5);
	/* What is behind the structure does not belong to it, nor to it what is missing. */
	read.at = 9;
	assert_non_null(
		strstr(take_of(&read, &metrics, data, sizeof(data), &value), "ends before"));
	read.at = 8;
	assert_non_null(strstr(take_of(&read, &metrics, data, 11, &value), "ends before"));
	data[0] = 200;
	assert_null(take_of(&read, &metrics, data, sizeof(data), &value));
	data[3] = 4;
	assert_non_null(strstr(take_of(&read, &metrics, data, sizeof(data), &value), "version"));
	/* Another file of the device has no such head. */
	assert_null(take_of(&other, &metrics, data, sizeof(data), &value));
	assert_int_equal(value, 6);
}

static size_t add_attribute(unsigned char *data, size_t at, unsigned id, unsigned type,
			    unsigned count, uint64_t first)
{
	static const size_t sizes[] = {1, 1, 2, 2, 4, 4, 8, 8};
	uint64_t encoding = (uint64_t)8 << 24 | type << 20 | id << 10 | count;

	for (size_t i = 0; i < 8; i++)
		data[at++] = (unsigned char)(encoding >> 8 * i);
	for (unsigned k = 0; k < count; k++)
		for (size_t i = 0; i < sizes[type]; i++)
			data[at++] = (unsigned char)((first + k) >> 8 * i);
	return at;
}

static void test_attributes(void **state)
{
	unsigned char data[256] = {0, 0, 1, 9, 3};
	struct unc_device_read umc = {.file = "gpu_metrics", .attribute = 5, .has_attribute = true};
	struct unc_device_read read = {
		.file = "gpu_metrics", .attribute = 29, .has_attribute = true, .values = 8};
	size_t len = add_attribute(data, 8, 5, 2, 1, 0x1234);
	uint64_t value;

	(void)state;
	len = add_attribute(data, len, 29, 6, 3, 1000);
	len = add_attribute(data, len, 9, 4, 1, UINT32_MAX);
	data[0] = (unsigned char)len;
	assert_null(take_of(&umc, &metrics, data, len, &value));
	assert_int_equal(value, 0x1234);
	assert_null(take_of(&read, &metrics, data, len, &value));
	assert_int_equal(value, 1000 + 1001 + 1002);
	read.values = 2;
	read.index = 1;
	assert_null(take_of(&read, &metrics, data, len, &value));
	assert_int_equal(value, 1001 + 1002);
	read.index = 3;
	assert_non_null(strstr(take_of(&read, &metrics, data, len, &value), "fewer"));
	read.index = 0;
	read.attribute = 9;
	assert_non_null(strstr(take_of(&read, &metrics, data, len, &value), "all bits"));
	read.attribute = 30;
	assert_non_null(strstr(take_of(&read, &metrics, data, len, &value), "does not have"));
	/* Cut at each length, there is the number or the reason. */
	for (size_t cut = 0; cut < len; cut++) {
		read.attribute = 29;
		read.values = 1;
		assert_true(!take_of(&read, NULL, data, cut, &value) == (cut >= 8 + 10 + 8 + 24));
	}
	data[4] = 1; /* the list ends before it */
	assert_non_null(strstr(take_of(&read, NULL, data, len, &value), "does not have"));
	memset(data + 4, 0xff, 4); /* more attributes than the file has */
	read.attribute = 31;
	assert_non_null(strstr(take_of(&read, NULL, data, len, &value), "ends before"));
	data[8 + 2] = 0x80; /* type 8 */
	assert_non_null(strstr(take_of(&read, NULL, data, len, &value), "unknown type"));
}

static void test_version_text(void **state)
{
	const struct unc_device_layout guid = {.file = "guid"};
	const struct unc_device_read read = {.versions = "0x5e2f8210 0x5e2f8211"};
	char version[64], text[100];

	(void)state;
	assert_true(unc_device_version(&guid, "0x5e2f8211\n", 11, version));
	assert_string_equal(version, "0x5e2f8211");
	assert_true(unc_device_has_version(&read, version));
	assert_false(unc_device_version(&guid, "\n", 1, version));
	assert_false(unc_device_version(&guid, "", 0, version));
	memset(text, 'x', sizeof(text));
	text[sizeof(text) - 1] = '\0';
	assert_true(unc_device_version(&guid, text, sizeof(text) - 1, version));
	assert_int_equal(strlen(version), 63);
}

static void test_room(void **state)
{
	struct unc_device_read small = {.bytes = 8, .at = 264},
			       far = {.bytes = 8, .at = 4096, .values = 4},
			       high = {.bytes = 4, .at = 0, .high = 8000, .has_high = true};

	(void)state;
	assert_int_equal(unc_field_room(&small), 4096);
	assert_int_equal(unc_field_room(&far), 4096 + 32);
	assert_int_equal(unc_field_room(&high), 8004);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_text),       cmocka_unit_test(test_line),
		cmocka_unit_test(test_binary),     cmocka_unit_test(test_halves),
		cmocka_unit_test(test_values),     cmocka_unit_test(test_layout),
		cmocka_unit_test(test_attributes), cmocka_unit_test(test_version_text),
		cmocka_unit_test(test_room),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

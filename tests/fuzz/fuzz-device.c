/* SPDX-License-Identifier: MIT */
/* Files of devices. The first bytes choose where the number is, the rest is the file: a number in it does not change when
 * the file grows, and where there is none, there is a reason. */
#include "source/source.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define HEAD 4
#define KEPT 77

static void require(bool holds)
{
	if (!holds)
		abort();
}

/* In memory of its own, so that the sanitizer finds what is read beyond its end. */
static const char *take(const struct unc_device_read *read, const struct unc_device_layout *layout,
			const uint8_t *data, size_t len, uint64_t *value)
{
	char *copy = calloc(1, len + 1);
	const char *why;

	require(copy);
	memcpy(copy, data, len);
	*value = KEPT;
	why = unc_field_take(read, layout, copy, len, value);
	require(!why || *why);
	free(copy);
	return why;
}

static void check_version(const struct unc_device_layout *layout, const uint8_t *data, size_t len)
{
	char *copy = calloc(1, len + 1), version[64];
	struct unc_device_read read = {.versions = version};

	require(copy);
	memcpy(copy, data, len);
	if (unc_device_version(layout, copy, len, version)) {
		require(*version && strlen(version) < sizeof(version));
		/* Words of versions have no blanks. */
		require(strpbrk(version, " \t\v\f\r\n") || unc_device_has_version(&read, version));
	}
	free(copy);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct unc_device_layout layout = {.file = "metrics", .size = 0, .version = 2};
	struct unc_device_read read = {.file = "metrics"};
	uint64_t value, longer;
	const char *why;

	if (size < HEAD)
		return 0;
	switch (data[0] & 7) {
	case 0:
		read.column = 1u + data[1] % 8;
		break;
	case 1:
		read.line = data[2] & 1 ? "RxErr" : "a";
		read.column = 1u + data[1] % 8;
		break;
	case 2:
		read.has_attribute = true;
		read.attribute = data[1];
		read.index = data[2] % 16;
		read.values = data[3] % 16;
		break;
	case 3:
		read.bytes = 4;
		read.has_high = true;
		read.at = data[1];
		read.high = data[2];
		break;
	default:
		read.bytes = 1u << data[3] % 4;
		read.at = data[1] | (data[2] & 1u) << 8;
		read.values = data[2] >> 4;
	}
	layout.binary = data[0] & 8;
	read.versions = data[0] & 16 ? "1.3 1.6:384" : NULL;
	data += HEAD;
	size -= HEAD;
	check_version(&layout, data, size);
	why = take(&read, &layout, data, size, &value);
	require(!why || value == KEPT);
	if (!(read.bytes || read.has_attribute))
		return 0;
	for (size_t cut = size - (size > 16 ? 16 : size); cut < size; cut++)
		if (!take(&read, NULL, data, cut, &value))
			require(!take(&read, NULL, data, size, &longer) && value == longer);
	return 0;
}

/* SPDX-License-Identifier: MIT */
/* Readings of a recording: the first byte is the number of counters, the others are their readings. What can be decoded
 * is the same after it is encoded again. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "record/recording.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct recorded_reading zero[255];
	struct recorded_reading readings[255] = {0}, again[255] = {0};
	uint8_t bytes[READINGS_ROOM(255)];
	size_t count, len;

	if (!size)
		return 0;
	count = data[0];
	if (readings_decode(readings, count, data + 1, size - 1))
		return 0;
	len = readings_encode(bytes, readings, readings_are_key(data + 1, size - 1) ? NULL : zero,
			      count);
	if (readings_decode(again, count, bytes, len) ||
	    memcmp(readings, again, count * sizeof(*readings)) != 0)
		abort();
	return 0;
}

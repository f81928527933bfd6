/* SPDX-License-Identifier: MIT */
/* Packets of Arm's SPE. Whole recordings of SPE are among the inputs of fuzz-ibs.c. */
#include "ibs/spe.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	/* A copy, so that a read behind its end is seen. */
	uint8_t *copy = malloc(size + !size);
	struct unc_spe_record r;
	size_t at = 0, used;

	if (!copy)
		return 0;
	memcpy(copy, data, size);
	while ((used = unc_spe_take(copy + at, size - at, 0x413fd0c1, &r)) != 0) {
		if (used > size - at || r.of.source >= UNC_IBS_SOURCES)
			abort();
		at += used;
	}
	free(copy);
	return 0;
}

/* SPDX-License-Identifier: MIT */
/* A recording of perf (perf record -e ibs_op// --raw-samples): which of its bytes are ours. */
#ifndef UNC_IBS_FILE_H
#define UNC_IBS_FILE_H

#include "ibs/ibs.h"

struct unc_ibs_file {
	struct unc_ibs_layout layout; /* points into the bytes, as `records` does */
	const void *records;
	size_t size;
};

/* The bytes of a whole perf.data. -EBADMSG: another format, or no readable samples. */
int unc_ibs_file_parse(struct unc_ibs_file *out, const void *bytes, size_t size,
		       struct unc_error *e);

/* Parses a file and sums up its samples. */
int unc_ibs_file_read(struct unc_ibs *into, const char *path, struct unc_error *e);

#endif

/* SPDX-License-Identifier: MIT */
/* The keys of `uncore who` as labels of series and recordings. */
#ifndef CLI_OUTPUT_OWNER_H
#define CLI_OUTPUT_OWNER_H

#include <stddef.h>

#define OWNER_OTHER "other" /* the role of what no group has */

/* Metrics of its rows. */
#define OWNER_MOVED "group.memory.bandwidth"
#define OWNER_LOCAL "group.memory.local.bandwidth"
#define OWNER_REMOTE "group.memory.remote.bandwidth"
#define OWNER_CACHE "group.cache.occupancy"
#define OWNER_READ "task.storage.read.bandwidth"
#define OWNER_WRITTEN "task.storage.write.bandwidth"
#define OWNER_GPU "task.gpu.busy"
#define OWNER_GPU_MEMORY "task.gpu.memory"

/* Takes a label; the text is not terminated. */
typedef void owner_put(void *context, const char *name, const char *text, size_t len);

/* The labels of a row, the same for all rows of a key. `by` is the word of --by; `role` and `names`
 * are those of the row. */
void owner_labels(const char *by, const char *role, const char *names, owner_put *put,
		  void *context);

#endif

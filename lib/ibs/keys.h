/* SPDX-License-Identifier: MIT */
/* Sampled loads summed by a key: a process, thread, symbol or page. */
#ifndef UNC_IBS_KEYS_H
#define UNC_IBS_KEYS_H

#include "ibs/load.h"
#include "ibs/tasks.h"

/* Keys that are kept apart; the samples of further ones are summed in `rest`. */
#define UNC_KEYS_MOST ((size_t)1 << 14)

/* Memory's pages, by this many bits of an address. */
#define UNC_PAGE_BITS 12

/* All bytes are compared: it is set to zero before it is filled. */
struct unc_key {
	int pid, tid; /* -1: not a part of the key, or not known */
	char process[UNC_TASK_NAME];
	uint32_t object; /* number + 1; 0: not known */
	uint32_t symbol; /* 1: `place` is the address of a symbol in the object */
	uint64_t place;  /* in the object, or the address of an instruction or a page */
};

struct unc_key_sum {
	struct unc_key key;
	const char *symbol; /* of the object's names; NULL: no symbol */
	uint64_t samples, clocks;
	uint64_t by_source[UNC_IBS_SOURCES];
	uint32_t bins[UNCORE_LATENCY_BINS];
};

struct unc_keys {
	enum uncore_latency_by by;
	struct unc_key_sum **items;
	size_t count;
	void *tree; /* of the items, by key */
	struct unc_key_sum rest;
	uint64_t unknown; /* samples without this key's fields */
};

/* Adds a load; `tasks` know its names. -ENOMEM. */
int unc_keys_add(struct unc_keys *k, struct unc_tasks *tasks, const struct unc_load *load);
/* Sets all sums to 0. */
void unc_keys_clear(struct unc_keys *k);
void unc_keys_finish(struct unc_keys *k);
/* Adds the sums of one key to another. */
void unc_keys_merge(struct unc_key_sum *into, const struct unc_key_sum *from);

#endif

/* SPDX-License-Identifier: MIT */
/* Who has which group: the keys of all processes, and the groups that the busiest have in turn. */
#ifndef WHO_POOL_H
#define WHO_POOL_H

#include "base/cli.h"
#include "who/choose.h"
#include "who/keys.h"
#include "who/tasks.h"
#include "who/usage.h"

#define POOL_NO_KEY (SIZE_MAX - 1)

struct pool {
	struct cli *cli;
	enum who_by by;
	struct uncore_groups *groups; /* NULL: none are made, only chosen */
	size_t slot_count;
	size_t *owners; /* the key of each slot; SIZE_MAX: none */
	struct tasks tasks;
	struct usage *usage; /* is read with them; NULL: is not */
	struct who_key *keys;
	size_t key_count;
	char **ambiguous; /* labels that two keys would have at a time */
	size_t ambiguous_count;
	uint64_t interval; /* the number of the present one, from 1 on */
	size_t removed; /* groups that another program has removed, and that are not made again */
	bool changed;   /* others have made or removed groups since the scan */
};

/* What the groups of the pool do not have. */
struct pool_rest {
	size_t processes; /* without those of groups of others */
	size_t denied;    /* processes that cannot be read, and have no group */
	bool contained;   /* nor have those outside of this PID namespace */
	size_t busy;      /* keys that are busy, but had no group */
	size_t all_busy;
	double cpu, all_cpu; /* CPU time over time */
	size_t removed;      /* groups that another program has removed */
	bool changed; /* others have made or removed groups, which are not counted as such yet */
};

/* An exit code. */
int pool_open(struct pool *p, struct cli *cli, enum who_by by, size_t slots);
void pool_close(struct pool *p);
/* Reads the processes: what their keys used since the call before. An exit code. */
int pool_look(struct pool *p);
/* What the key that had the slot in this interval moved. */
void pool_measured(struct pool *p, size_t slot, double rate);
/* Gives the groups to keys for the next interval. An exit code. */
int pool_assign(struct pool *p);
/* The key that has the slot; NULL: none. */
const struct who_key *pool_owner(const struct pool *p, size_t slot);
/* What had no group in the interval that has ended, before pool_assign(). */
struct pool_rest pool_rest(const struct pool *p);

#endif

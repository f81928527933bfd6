/* SPDX-License-Identifier: MIT */
/* Which keys get one of the few groups for the next interval. */
#ifndef WHO_CHOOSE_H
#define WHO_CHOOSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A process, cgroup, unit, container, job or user. */
struct who_key {
	char *id, *label;
	/* In the latest window: */
	double cpu;    /* CPU time over time: 1 is a whole CPU */
	double faults; /* page faults per second */
	size_t processes;
	bool children;     /* a process of it has started others */
	bool own;          /* it is this process */
	bool elsewhere;    /* all its processes are in groups of others */
	bool joined;       /* it has processes that it had not when its group got its tasks */
	size_t outside;    /* of these, the ones that were not in the group before */
	bool unsettled;    /* it started more while its tasks were moved into the group */
	int slot;          /* -1: none */
	double rate;       /* what it moved when it had a group last; NaN: it never had one */
	uint64_t measured; /* the interval in which that was; 0: none */
};

/* Whether it may move much: it uses a share of a CPU, or takes pages. */
bool key_is_busy(const struct who_key *key);

/* Decides which keys have the slots in the next interval: sets `slot` of the keys. The keys that
 * moved most keep theirs. If there are more busy keys than slots, the others have the rest in
 * turn. */
void choose_slots(struct who_key *keys, size_t count, size_t slots);

#endif

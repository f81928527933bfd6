/* SPDX-License-Identifier: MIT */
/* What a task was called and had mapped, or which tasks ran on a CPU, in the order of time.
 * Questions take a logarithm of the number of events, whatever a recording has: many of one time,
 * backward, mappings over mappings. */
#ifndef UNC_HISTORY_H
#define UNC_HISTORY_H

#include "base/text.h"

/* As the kernel has them (TASK_COMM_LEN). */
#define UNC_TASK_NAME 16

enum unc_past_kind { UNC_PAST_NAME, UNC_PAST_PARENT, UNC_PAST_SWITCH, UNC_PAST_MAP };

struct unc_past {
	uint64_t time;
	uint32_t kind;
	uint32_t object; /* of a mapping; of a name: 1 if a program was started (exec) */
	/* Inside: numbers + 1 of events up to this one; 0: none. */
	uint32_t order; /* in which they came */
	uint32_t named; /* the last one that is no mapping */
	uint32_t ended; /* the last one that ended all mappings before it */
	union {
		char name[UNC_TASK_NAME];
		struct {
			int tid, pid;
			bool thread; /* of the same process */
		} parent;
		struct {
			int tid, pid; /* -1: not known */
		} runs;
		struct {
			uint64_t start, end, offset;
		} map;
	};
};

struct unc_history {
	struct unc_past *items; /* in the order of time and, of one time, as they came */
	size_t count;
	bool unsorted;
	/* The mappings among the first `indexed` events: a tree over the places between the bounds,
	 * with a list of events at each node. */
	size_t indexed;
	uint64_t *bounds;
	size_t bound_count;
	uint32_t *firsts; /* where in `lists` each node's begins */
	uint32_t *lists;
};

/* -ENOMEM. */
int unc_history_add(struct unc_history *h, const struct unc_past *event);
/* The name, parent or switch at this time, or with an address what was mapped there: the mapping,
 * or the parent that a process has its mappings from. NULL: not known. Borrowed until the next
 * call. */
const struct unc_past *unc_history_find(struct unc_history *h, uint64_t time,
					const uint64_t *address);
/* Drops all events but the last one. */
void unc_history_trim(struct unc_history *h);
void unc_history_finish(struct unc_history *h);

#endif

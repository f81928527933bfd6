/* SPDX-License-Identifier: MIT */
/* Processes and threads of sampled loads: their names, and what is mapped where, at the time of a
 * sample. From perf's records (COMM, FORK, MMAP, MMAP2), and on the running machine also from /proc
 * for tasks that ran before. */
#ifndef UNC_TASKS_H
#define UNC_TASKS_H

#include "ibs/history.h"
#include "ibs/symbols.h"
#include "machine/root.h"

#include <linux/perf_event.h>

/* The process under which the kernel's own mappings are recorded. */
#define UNC_TASK_KERNEL (-1)

/* Limits; what is beyond is counted in `dropped`. */
#define UNC_TASKS_MOST ((size_t)1 << 17)
#define UNC_TASK_EVENTS_MOST ((size_t)1 << 20)
#define UNC_OBJECTS_MOST ((size_t)1 << 13)

/* A file that is mapped, or a part of the kernel. */
struct unc_object {
	const char *path; /* or "[kernel]", "[anonymous]" ... */
	uint32_t number;
	uint64_t inode;
	unsigned char build_id[UNC_BUILD_ID_MOST];
	size_t build_id_size;
	bool read; /* `symbols` are tried, once */
	struct unc_symbols symbols;
};

struct unc_tasks {
	/* Set by the caller: */
	const struct unc_root *root; /* of /proc, and of files with symbols; NULL: none */
	bool live;                   /* the tasks are those of the running machine */
	int64_t newest; /* files modified later (seconds) are not those recorded; 0: any */
	/* Inside: */
	void *tree; /* of the tasks, by tid */
	size_t count;
	struct unc_object **objects;
	size_t object_count;
	void *object_tree;
	size_t events;
	uint64_t symbols_used; /* of UNC_SYMBOLS_MOST */
	/* Results: */
	uint64_t dropped; /* records for which there was no room */
	uint64_t refused; /* processes whose maps may not be read */
	uint64_t changed; /* objects whose file is not the recorded one */
	uint64_t large;   /* objects with more symbols than there is room for */
};

/* Adds a record; other kinds than those above are ignored. `size`: of the payload, without the
 * fields of the sample at its end. `time` 0: before all samples. -ENOMEM. */
int unc_tasks_add(struct unc_tasks *t, const struct perf_event_header *h, const char *payload,
		  size_t size, uint64_t time);
void unc_tasks_finish(struct unc_tasks *t);
/* Between two intervals: drops all if half of the room is used, and the tasks are those of the
 * running machine, where /proc has the tasks that still run. */
void unc_tasks_trim(struct unc_tasks *t);

/* The name of a thread (of the process, if it is the first one); "" if it is not known. Borrowed
 * until the next call. */
const char *unc_tasks_name(struct unc_tasks *t, int tid, uint64_t time);
/* The process of a thread that a record has named, or that runs; -1: not known. */
int unc_tasks_process(struct unc_tasks *t, int tid);
/* What is mapped at the address: the object's number and the place in it. False: not known. */
bool unc_tasks_map(struct unc_tasks *t, int pid, uint64_t address, uint64_t time, uint32_t *object,
		   uint64_t *offset);
/* The symbol at this place of an object; NULL: not known. *start: its address in the object. `pid`:
 * a process that has mapped it. */
const char *unc_tasks_symbol(struct unc_tasks *t, int pid, uint32_t object, uint64_t offset,
			     uint64_t *start);
/* The NUMA node of a page of a process that runs; -1: not known. */
int unc_tasks_node(const struct unc_tasks *t, int pid, uint64_t address);

#endif

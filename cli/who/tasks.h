/* SPDX-License-Identifier: MIT */
/* The processes of /proc: what each has used since the scan before. */
#ifndef WHO_TASKS_H
#define WHO_TASKS_H

#include <dirent.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PROCESS_NAME 64

struct process {
	int pid; /* first: tasks_find() */
	int parent;
	uint64_t start;  /* ticks since boot: another process of this id has another one */
	uint64_t cpu;    /* ticks */
	uint64_t waited; /* ticks of its children that have ended */
	uint64_t faults;
	uint64_t waited_faults; /* of its children that have ended and that it waited for */
	double cpu_share;       /* of one CPU, since the scan before; 0 in the first one */
	double fault_rate;      /* per second */
	bool children;          /* children have ended since then */
	bool is_new;            /* it was not there then */
	bool renamed;           /* it had another name then: it runs another program */
	bool is_kernel;         /* a thread of the kernel */
	unsigned scans;         /* that have found it */
	char name[PROCESS_NAME];
	/* For the caller: */
	size_t key;  /* number of its key; SIZE_MAX: none */
	bool placed; /* it was there when its key's group got tasks */
};

struct tasks {
	int proc; /* the directory */
	int own;  /* the id of this process there; 0: it is another machine's */
	double ticks_per_s;
	struct process *items; /* ordered by id */
	size_t count;
	size_t denied;  /* processes that the latest scan could not read for want of rights */
	bool contained; /* others may be outside of this process' PID namespace */
	uint64_t at_ns; /* of the latest scan; 0: none yet */
	double seconds; /* since the scan before */
	uint64_t scans;
};

/* Opens /proc below the root (NULL: that of this machine). An exit code. */
int tasks_open(struct tasks *t, const char *root);
void tasks_close(struct tasks *t);
/* Reads all processes. One that ends meanwhile is left out. */
void tasks_scan(struct tasks *t);
struct process *tasks_find(const struct tasks *t, int pid);
/* Adds the ids of the threads of a process to an array that the caller frees. */
void tasks_threads(const struct tasks *t, int pid, int **ids, size_t *count);
/* Opens a directory of the process, "fd". NULL: it cannot be read. */
DIR *tasks_directory(const struct tasks *t, int pid, const char *name);
/* The process of a thread; 0: it has ended. */
int tasks_process_of(const struct tasks *t, int thread);

struct buffer;
/* Adds the text of a file of the process, "cgroup"; false: it has ended. */
bool tasks_read(const struct tasks *t, int pid, const char *file, struct buffer *into);

#endif

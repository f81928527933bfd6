/* SPDX-License-Identifier: MIT */
/* A run of `uncore verify` on this machine, and what its files give each other. */
#ifndef CLI_VERIFY_RUN_H
#define CLI_VERIFY_RUN_H

#include <sched.h>

#include "cli.h"
#include "verify/verify.h"
#include "verify/witness.h"

#define MIB (1ull << 20)

struct verify_options {
	const char *show, *file, *metrics; /* NULL: all */
	const char *read, *write;          /* what devices move; NULL: nothing */
	bool nice;
	uint64_t time_ns; /* 0: as much as is needed */
	uint64_t memory;  /* 0: any */
	const struct output *output;
};

struct node {
	int id, socket, cpu; /* without CPUs: those of the nearest node */
	bool bare;           /* it has memory and no CPUs */
	uint64_t room;       /* free memory; 0: too little, nothing is judged by its own */
	uint64_t memory;     /* of its stream */
	uint64_t memory_all; /* of the stream that all of its CPUs read */
};

struct device;

/* Counters that are multiplexed on purpose, after all others: reads and writes of memory beside other metrics. */
struct multiplexing {
	const char *family; /* of all of them */
	size_t others;
	uint64_t turn_ns, round_ns;
	bool runs;
};

struct verify {
	struct cli *cli;
	const struct verify_options *o;
	struct verify_run run;
	struct node *nodes;
	size_t node_count;
	struct device *devices;
	size_t device_count;
	uint64_t free; /* the least of the nodes */
	bool assumed;  /* the size of its caches */
	bool moves;    /* it judges something that data have to be moved for */
	bool counts;   /* its monitor has metrics */
	struct witnesses witnesses;
	struct uncore_monitor *monitor;
	struct uncore_sample *sample;
	size_t *rows;       /* of each cell in the sample, up to: */
	size_t counted_end; /* cell; the rest are witnesses */
	bool read_failed;   /* the machine has the sentence */
	bool left_out;      /* a series failed */
	struct multiplexing multiplexing;
	struct signals signals;
	cpu_set_t cpus;   /* before it was pinned */
	uint64_t time_ns; /* of all passes */
	uint64_t round_ns, end_ns;
	size_t series_left; /* of all passes, at most */
	unsigned loads;     /* that metrics need, a bit for each */
};

/* The nodes with memory. The last CPU of each: interrupts and the first programs use the first ones. */
void nodes_find(struct verify *v);
/* How much of it each stream takes. An exit code. */
int nodes_find_memory(struct verify *v);

/* At least five times the caches, but at most a quarter of what is free and what was asked for (0: any), in whole huge
 * pages. `parts` of them are taken at once. */
uint64_t node_memory(uint64_t asked, uint64_t cache, uint64_t room, uint64_t parts);

bool node_is_first_of_socket(const struct verify *v, const struct node *n);
/* The first node of the next socket, or NULL. */
const struct node *node_far(const struct verify *v, const struct node *n);

/* ---- schedule.c ---- */

#define SERIES_REPEATS 3 /* of each amount */
/* Beside its rounds a series has half a round to find the amount. */
#define SERIES_ROUNDS (SERIES_REPEATS * VERIFY_AMOUNTS + 1)
#define MULTIPLEXED_PART 10 /* of the time */

/* What is done with a node in a pass. */
enum task {
	TASK_PEAK,
	TASK_STREAMS,
	TASK_CHASES,
	TASK_SPIN,
	TASK_FILES,
	TASKS,
};

/* How many series it has at most; `first`: in the first pass. */
size_t series_of_task(const struct verify *v, enum task task, const struct node *n, bool first);
size_t series_of_passes(const struct verify *v, size_t passes);
/* Whether a part of the time is for counters that are multiplexed on purpose. */
bool schedule_multiplexes(const struct verify *v);
/* The time that was asked for, or at least 30 s and what so many passes need. An exit code. */
int schedule_time(struct verify *v, size_t passes);

/* ---- the passes: plan.c, passes.c, pass.c, peak.c, multiplexing.c ---- */

/* plan.c: the metrics that the hardware has, and that are asked for. An exit code. */
int passes_plan(struct verify *v);

/* passes.c: how long they take, then all series of all passes. An exit code. */
int passes_time(struct verify *v);
int passes_run(struct verify *v);

/* pass.c: opens the counters of a pass: its cells are the run's from its first one on. An exit code, and that of ending it with 0
 * or the error that ends all. */
int pass_start(struct verify *v);
int pass_end(struct verify *v, int err);
/* An error of the node's series is a note, and others go on. 0, or the error if it ends all: a signal, or counters that
 * cannot be read. */
int pass_leave_out(struct verify *v, const struct node *n, int err);
/* Multiplexed counts of the metric are judged, too. */
bool pass_multiplexes(const char *metric);
/* A cell of it has to count something of the load: */
bool pass_needs(const struct verify_run *run, enum verify_load load, bool far);
/* Of rounds of the last series that was added: */
int pass_read_cells(void *verify, struct verify_reading *into);
void pass_show_round(void *verify, size_t done, size_t all);
/* The CPU of this thread. 0 or a negative errno, as below. */
int pass_pin(int cpu);
int pass_open_stream(struct verify *v, const struct node *n, size_t size,
		     struct verify_stream *stream);
struct verify_series *pass_add_series(struct verify *v, enum verify_load load, const struct node *n,
				      const struct node *mover);

/* peak.c: how many CPUs of the socket may be used, and for how long they read all at once. */
size_t peak_cpus(const struct verify *v, int socket);
uint64_t peak_ns(const struct verify *v);
/* In the first pass, which counts memory. */
void peak_add_cells(struct verify *v);
/* All nodes of the socket of its first one. */
int peak_read_socket(struct verify *v, const struct node *n);

/* multiplexing.c: how many others it takes until the kernel multiplexes. False: it never does, or each round would be too
 * short for its turns. */
bool multiplexing_find(struct verify *v, uint64_t time_ns);
/* The near streams of the first node with memory once more. An exit code. */
int multiplexing_run(struct verify *v);

#endif

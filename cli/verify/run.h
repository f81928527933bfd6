/* SPDX-License-Identifier: MIT */
/* A run of `uncore verify` on this machine: the state that its files share. */
#ifndef CLI_VERIFY_RUN_H
#define CLI_VERIFY_RUN_H

#include <sched.h>

#include "cli.h"
#include "verify/verify.h"
#include "verify/witness.h"

#define MIB (1ull << 20)

struct verify_options {
	const char *show, *file, *metrics; /* NULL: all */
	const char *read, *write;          /* file and directory for devices, or NULL */
	bool nice;
	uint64_t time_ns; /* 0: the default */
	uint64_t memory;  /* 0: any */
	const struct output *output;
};

struct node {
	int id, socket, cpu; /* without CPUs: socket and CPU of the nearest node */
	bool bare;           /* it has memory and no CPUs */
	uint64_t room;       /* free memory; 0: too little, its memory is not judged */
	uint64_t memory;     /* of its stream */
	uint64_t memory_all; /* of the stream that all of its CPUs read */
};

struct device;

struct verify {
	struct cli *cli;
	const struct verify_options *o;
	struct verify_run run;
	struct node *nodes;
	size_t node_count;
	struct device *devices;
	size_t device_count;
	uint64_t free; /* the smallest free memory of a node */
	bool assumed;  /* the size of the caches is an assumption */
	bool moves;    /* data must be moved for some metric */
	bool counts;   /* its monitor has metrics */
	struct witnesses witnesses;
	struct uncore_monitor *monitor;
	struct uncore_sample *sample;
	size_t *rows;       /* of each cell the row of the sample, up to: */
	size_t counted_end; /* cell; the rest are witnesses */
	bool read_failed;   /* the machine has the error */
	bool left_out;      /* a series failed */
	struct signals signals;
	struct cli_cpus cpus; /* of this thread before it was pinned */
	uint64_t time_ns;     /* of all passes */
	uint64_t round_ns, end_ns;
	size_t series_left; /* of all passes, at most */
	unsigned loads;     /* that the metrics need, a bit for each */
};

/* Finds the nodes with memory, and the last CPU of each: interrupts and other programs use the
 * first ones more. */
void nodes_find(struct verify *v);
/* Sets the size of the streams of each node. Returns an exit code. */
int nodes_find_memory(struct verify *v);

/* The size of a stream: five times the caches, but at most a quarter of the free memory, and at
 * most the requested size (0: any), in whole huge pages. `parts` streams share the limits. */
uint64_t node_memory(uint64_t asked, uint64_t cache, uint64_t room, uint64_t parts);

/* How many of a socket have memory and CPUs of their own. */
uint64_t nodes_of_socket(const struct verify *v, int socket);
bool node_is_first_of_socket(const struct verify *v, const struct node *n);
/* The first node of the next socket, or NULL. */
const struct node *node_far(const struct verify *v, const struct node *n);

/* ---- schedule.c ---- */

#define SERIES_REPEATS 3 /* of each amount */
/* Besides its rounds, a series needs half a round to find the amount. */
#define SERIES_ROUNDS (SERIES_REPEATS * VERIFY_AMOUNTS + 1)

/* The tasks of a pass for each node. */
enum task {
	TASK_PEAK,
	TASK_STREAMS,
	TASK_CHASES,
	TASK_SPIN,
	TASK_FILES,
	TASKS,
};

/* The largest number of series of the task; `first`: in the first pass. */
size_t series_of_task(const struct verify *v, enum task task, const struct node *n, bool first);
size_t series_of_passes(const struct verify *v, size_t passes);
/* Sets the time: the requested one, or 30 s, or the time that so many passes need if that is more.
 * Returns an exit code. */
int schedule_time(struct verify *v, size_t passes);

/* ---- the passes: plan.c, passes.c, pass.c, peak.c ---- */

/* plan.c: adds the requested metrics that this machine can count. Returns an exit code. */
int passes_plan(struct verify *v);

/* passes.c: sets the time of the passes; runs all series of all passes. Return an exit code. */
int passes_time(struct verify *v);
int passes_run(struct verify *v);

/* pass.c: pass_start() opens the counters of a pass, and adds its cells to the run from first_cell
 * on. pass_end() ends it with 0 or an error. Both return an exit code. */
int pass_start(struct verify *v);
int pass_end(struct verify *v, int err);
/* Turns an error of the node's series into a note, so that other series go on, and returns 0.
 * Returns errors that end the run: a signal, or counters that cannot be read. */
int pass_leave_out(struct verify *v, const struct node *n, int err);
/* Whether a cell of the pass must count data of the load. */
bool pass_needs(const struct verify_run *run, enum verify_load load, bool far);
/* Callbacks of the rounds of the latest series: */
int pass_read_cells(void *verify, struct verify_reading *into);
void pass_show_round(void *verify, size_t done, size_t all);
/* Pins this thread to the CPU. Returns 0 or a negative errno, as the next one does. */
int pass_pin(int cpu);
/* On the CPU of the node. */
int pass_open_stream(struct verify *v, const struct node *n, size_t size,
		     struct verify_stream *stream);
struct verify_series *pass_add_series(struct verify *v, enum verify_load load, const struct node *n,
				      const struct node *mover);

/* peak.c: the number of usable CPUs of the socket, and the time for which they read together. */
size_t peak_cpus(const struct verify *v, int socket);
uint64_t peak_ns(const struct verify *v);
/* Adds the cells of the peak to the first pass, which counts memory. */
void peak_add_cells(struct verify *v);
/* Reads all nodes of the socket. `n` is the first one. */
int peak_read_socket(struct verify *v, const struct node *n);

#endif

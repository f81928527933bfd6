/* SPDX-License-Identifier: MIT */
/* A run of `uncore verify` on this machine: what is counted while loads run, and when. */
#ifndef CLI_VERIFY_MEASURE_H
#define CLI_VERIFY_MEASURE_H

#include <sched.h>

#include "base/cli.h"
#include "verify/load.h"

#define MIB (1ull << 20)

struct verify_options {
	const char *show, *file, *metrics; /* NULL: all */
	const char *read, *write;          /* file and directory for devices, or NULL */
	const char *gpus;                  /* addresses, or "all"; NULL: none */
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

/* ---- witnesses: measure-witness.c ---- */

/* Energy by the driver intel_rapl: it reads the registers of the PMU `power`, but converts units
 * and handles wraps by itself. The files of AMD CPUs have the same names. */
struct powercap {
	struct powercap_zone *zones; /* domains of packages and dies */
	size_t count;
	double limit; /* the largest one of a package, in watts; 0: unknown */
};

/* Finds the zones below `root` ("" is this machine) that can be read; only root can read them. */
void powercap_find(struct powercap *p, const char *root);
void powercap_free(struct powercap *p);
/* Whether all dies of the package have the domain ("package", "core", "dram", "psys"). `package` is
 * the kernel's number, as in the names of zones (physical_package_id). */
bool powercap_has(const struct powercap *p, const char *domain, int package);
/* Joules since the previous call, of all dies; NaN: not all of them could be read. */
double powercap_take(struct powercap *p, const char *domain, int package);

/* Values that are read together with the counters and must be equal. Each is a cell of the run. */
struct witnesses {
	const struct uncore *u;
	struct powercap powercap;
	struct witness *items;
	size_t count;
};

/* `root`: "" is this machine. `u`: NULL: sockets have the numbers of packages. */
void witnesses_open(struct witnesses *w, const struct uncore *u, const char *root);
void witnesses_close(struct witnesses *w);
/* Adds the witnesses of the run's cells from first_cell on, and reads them for the first time. */
void witnesses_begin(struct witnesses *w, struct verify_run *run);
/* Their values since the previous reading; `into` begins with the run's first_cell. */
void witnesses_read(struct witnesses *w, const struct verify_run *run, struct verify_reading *into);

/* ---- the run ---- */

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

/* Functions that return `int` return an exit code and have printed the error. */

/* ---- measure-nodes.c ---- */

/* Finds the nodes with memory, and the last CPU of each: interrupts and other programs use the
 * first ones more. */
void nodes_find(struct verify *v);
/* Sets the size of the streams of each node. */
int nodes_find_memory(struct verify *v);
/* The size of a stream: five times the caches, but at most a quarter of the free memory, and at
 * most the requested size (0: any), in whole huge pages. `parts` streams share the limits. */
uint64_t node_memory(uint64_t asked, uint64_t cache, uint64_t room, uint64_t parts);
/* The memory of a node that is available without displacing that of other programs. */
uint64_t node_free(int node);
bool node_is_first_of_socket(const struct verify *v, const struct node *n);
/* The first node of the next socket, or NULL. */
const struct node *node_far(const struct verify *v, const struct node *n);

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
	TASK_GPUS,
	TASKS,
};

/* The largest number of series of the task; `first`: in the first pass. */
#define GPU_SERIES 6 /* of each GPU; one of them are copies within the GPU: */
#define GPU_COPY_ROUND (1200 * NS_PER_MS)
#define GPU_COPY_TIME (12 * NS_PER_S)
size_t series_of_task(const struct verify *v, enum task task, const struct node *n, bool first);
size_t series_of_passes(const struct verify *v, size_t passes);
/* Sets the time: the requested one, or 30 s, or the time that so many passes need if that is
 * more. */
int schedule_time(struct verify *v, size_t passes);

/* ---- load-file.c ---- */

/* Opens the files of --read and --write, checks that they support O_DIRECT, and finds their
 * devices. Starts the processes for the GPUs; if that fails, a note is printed. */
int devices_open(struct verify *v);
void devices_close(struct verify *v);

/* ---- measure-plan.c: a pass counts metrics for which the hardware has counters at once ---- */

/* Adds the requested metrics that this machine can count. */
int passes_plan(struct verify *v);
/* Their number, at least 1. */
size_t passes_count(const struct verify *v);

/* ---- measure-passes.c ---- */

/* Runs all series of all passes. */
int passes_run(struct verify *v);
/* For the peak of memory: the number of usable CPUs of the socket, and the time for which they read
 * together. */
size_t peak_cpus(const struct verify *v, int socket);
uint64_t peak_ns(const struct verify *v);

#endif

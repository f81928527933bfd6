/* SPDX-License-Identifier: MIT */
/* The loads: each does exactly a known amount of work. And rounds of a load, which are read with
 * the counters. */
#ifndef CLI_VERIFY_LOAD_H
#define CLI_VERIFY_LOAD_H

#include <limits.h>

#define HUGE_PAGE ((size_t)2 << 20)
#define NODES_MOST 1024

#include "verify/verify.h"

/* Functions with a `stop_fd` stop early with -EINTR when it is readable; -1: never. */

struct verify_work {
	void *context;
	int (*run)(void *context, size_t amount, int stop_fd);
	size_t unit;  /* amounts are multiples of it; a quarter of an amount, too */
	size_t least; /* the largest amount is at least that */
	size_t most;  /* and at most that; 0: any */
};

/* ---- one CPU: load-cpu.c ---- */

/* Memory of one node, larger than the caches. Moves use it as a ring: each line is used again only
 * after all others. */
struct verify_stream {
	char *map, *base;
	size_t map_size, size;
	size_t at;             /* where the next move begins */
	int node;              /* -1: the machine has one only, nothing is bound */
	enum verify_load load; /* of verify_stream_work() */
};

int verify_stream_open(struct verify_stream *s, int node, size_t size, int stop_fd);
void verify_stream_close(struct verify_stream *s);
/* Moves exactly so many bytes, a multiple of 64: stores that bypass the caches, or loads. */
int verify_stream_move(struct verify_stream *s, enum verify_load load, size_t bytes, int stop_fd);
/* The moves as work: VERIFY_READ or VERIFY_WRITE. */
struct verify_work verify_stream_work(struct verify_stream *s, enum verify_load load);
/* The number of its pages that are on other nodes. */
int verify_stream_elsewhere(const struct verify_stream *s, size_t *pages);

/* A pointer chase: loads from a stream's memory of one of every two lines, in a random order that
 * is a single cycle. Each load needs the result of the previous one, so that the CPU's clock
 * measures the latency of memory. */
struct verify_chase {
	const char *at;   /* the next line to load, which has the address of the one after it */
	double loads, ns; /* number so far, and their time on this CPU */
};
#define VERIFY_CHASE_STEP ((size_t)128) /* bytes of memory for each line */

/* Uses the whole memory of the stream. */
int verify_chase_open(struct verify_chase *c, struct verify_stream *s, int stop_fd);
/* Makes exactly so many loads, one after another. */
int verify_chase_load(void *chase, size_t loads, int stop_fd);
struct verify_work verify_chase_work(struct verify_chase *c);
/* Arithmetic that draws power, until the thread has used the amount, in nanoseconds of CPU time. */
struct verify_work verify_spin_work(void);
/* `stop_fd` is readable. */
bool verify_stopped(int stop_fd);
/* The next random number (xorshift). The state must not be 0. */
uint64_t verify_random(uint64_t *state);

/* ---- rounds: load-rounds.c ---- */

struct verify_pace {
	uint64_t round_ns;
	unsigned repeats; /* of each amount */
	int stop_fd;
	void *context; /* argument of the functions: */
	/* Reads all counters: their counts since the previous reading, in the order of the
	 * cells. */
	int (*read)(void *context, struct verify_reading *into);
	void (*show)(void *context, size_t done, size_t all); /* NULL: not shown */
};

#define VERIFY_AMOUNTS 4u /* 0, 1/4, 1/2, 1 */

/* Finds the amount that takes half a round, and does none, a quarter, a half and all of it in
 * random order. Returns 0, -EINTR or the error of run() or read(). */
int verify_rounds(struct verify_series *series, const struct verify_work *work,
		  const struct verify_pace *pace);

/* CPUs of a socket that load at once. */
struct verify_reader {
	int cpu;
	struct verify_stream part; /* a part of an open stream; not to be closed */
};

struct verify_ceiling {
	size_t cell; /* of the peak: a reading is the amount that the peak allows */
	double peak; /* bytes per second */
	struct verify_reader *readers;
	size_t count;
};

/* All readers load in `repeats` consecutive rounds of `round_ns`. */
int verify_ceiling_rounds(struct verify_series *series, const struct verify_ceiling *ceiling,
			  const struct verify_pace *pace);

/* ---- a device: load-file.c ---- */

#define DISK_MOST 16
#define DISK_WHY 160

/* The PCI devices that move the data of a block device. */
struct disk {
	char name[64];                 /* of the block device: nvme0n1p2 */
	char path[PATH_MAX];           /* its directory in sysfs */
	size_t parts;                  /* the number of its disks: above 1 for RAID */
	char addresses[DISK_MOST][32]; /* their PCI devices, each once */
	size_t count;
};

/* Finds the disks of the block device with these numbers, through partitions, device-mapper, md and
 * NVMe multipath. `sys` is the mount point of sysfs. False: `why` has the reason. */
bool disk_find(struct disk *into, const char *sys, unsigned major, unsigned minor,
	       char why[DISK_WHY]);
/* Bytes read or written so far, by the kernel's count; negative: unknown. */
double disk_moved(const struct disk *d, bool written);

/* ---- a GPU: load-gpu.c ---- */

#define GPU_WHY 200

/* A process that has loaded the library of a GPU's vendor, so that a crash, a hang or the exit
 * handlers of that library do not affect this process. */
struct gpu {
	int child, socket; /* child 0: none */
	size_t size;       /* bytes of host memory, and of each of two buffers in the GPU */
	size_t elsewhere;  /* pages of the host memory that are not on its node */
	/* What the next runs do: VERIFY_GPU_READ, _WRITE or _BOTH; and the bytes of a copy. */
	enum verify_load load;
	size_t copy;
	double bytes, busy_ns; /* copied so far in one direction, and in which time */
	uint64_t patience_ns;  /* to wait for an answer */
	struct gpu_steady *steady;
	char why[GPU_WHY]; /* what failed */
};

/* Starts the process, before this one has threads. `node`: of the host memory; -1: any. False:
 * `why` has the reason. */
bool gpu_prepare(struct gpu *g, const char *address, bool amd, int node, size_t size,
		 uint64_t patience_ns);
void gpu_close(struct gpu *g);
/* Copies by the copy engines of the GPU. -EIO: `why` has the reason, and the process has ended. */
struct verify_work gpu_work(struct gpu *g, enum verify_load load, size_t copy);
/* Rounds of copies within the GPU at constant rates, since its memory is counted as a mean over a
 * time that does not begin and end exactly with a round. */
int gpu_steady_rounds(struct verify_series *s, struct gpu *g, const struct verify_pace *pace);

/* Data of a file with O_DIRECT: its device writes memory when the file is read, and reads memory
 * when it is written. */
struct device {
	enum verify_load load; /* VERIFY_GPU_READ: a GPU, and then all of its loads */
	/* A file or block device; a directory for a temporary file; the address of a GPU. */
	const char *path;
	struct gpu gpu;
	int fd;        /* -1: none */
	uint64_t size; /* the used bytes */
	struct disk disk;
	/* For the first of several disks; port NULL: a device of the chip. */
	const struct uncore_device *pci, *port;
	int socket, node;
	uint64_t at, done; /* offset of the next transfer; bytes so far */
	double before;     /* bytes of the disk when the series began; negative: unknown */
	char *memory; /* DEVICE_MEMORY, used as a ring; set before the functions below are called */
};
#define DEVICE_MEMORY ((size_t)2 << 20)

/* Writes the whole temporary file, so that later writes change it in place. */
int device_fill(struct device *d, int stop_fd);
/* Before and after a series. */
struct verify_work device_begin(struct device *d);
/* Bytes that the disk moved for each byte of the file; 0: unknown. */
double device_end(const struct device *d);

#endif

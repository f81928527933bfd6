/* SPDX-License-Identifier: MIT */
/* `uncore verify`: moves known amounts of data, and judges the counters by what they count of them.
 * Loads (load.h) are run and read (measure.h), and their readings are judged (judge.h) and printed.
 * All of these share this header. The code from readings to verdicts needs no machine. */
#ifndef CLI_VERIFY_H
#define CLI_VERIFY_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buffer.h"

/* The load of a series: what its rounds do. */
enum verify_load {
	VERIFY_READ,       /* loads from memory, in bytes */
	VERIFY_WRITE,      /* stores to memory, in bytes */
	VERIFY_SPIN,       /* a busy CPU, in nanoseconds */
	VERIFY_CHASE,      /* loads from memory, each of which depends on the previous one */
	VERIFY_FILE_READ,  /* of a file: its device writes memory, in bytes */
	VERIFY_FILE_WRITE, /* of a file: its device reads memory, in bytes */
	VERIFY_READ_ALL,   /* loads from memory by all CPUs of its socket at once, in bytes */
	VERIFY_GPU_READ,   /* copies of a GPU, in bytes: it reads memory of the host, */
	VERIFY_GPU_WRITE,  /* writes it, */
	VERIFY_GPU_BOTH,   /* reads and writes as much at once, */
	VERIFY_GPU_COPY,   /* or copies within its own memory */
	VERIFY_LOADS,
};
#define VERIFY_MEMORY_LOADS (1u << VERIFY_READ | 1u << VERIFY_WRITE | 1u << VERIFY_CHASE)
#define VERIFY_GPU_LOADS                                                          \
	(1u << VERIFY_GPU_READ | 1u << VERIFY_GPU_WRITE | 1u << VERIFY_GPU_BOTH | \
	 1u << VERIFY_GPU_COPY)

/* ---- readings: report.c ---- */

struct verify_expectation;

/* An alternative meaning of a metric in doubt: the correct value is its value times the factor. */
struct verify_alternative {
	double factor;
	char title[80];
};
#define VERIFY_ALTERNATIVES 4

/* A cell: the metric and place of a row of the monitor, or a witness, which measures the same in
 * another way and has its name as the family. */
struct verify_cell {
	char metric[48], family[64];
	const struct verify_expectation *expected; /* of the metric, set by verify_add_cell() */
	struct verify_alternative alternatives[VERIFY_ALTERNATIVES];
	size_t alternative_count; /* 0: there is no doubt */
	int socket;               /* -1: all of them */
	int channel;              /* -1: the whole socket */
	bool both_ends; /* traffic between sockets is counted on both: UNCORE_REMOTE_BOTH_ENDS */
	/* The address of a root port, or the name of a PMU whose devices are behind no known port.
	 * "": the whole socket, as with channel -1. VERIFY_GPUS: the address of the GPU. */
	char port[48];
};

/* The reading of one cell in one round. */
struct verify_reading {
	double amount;   /* bytes, ns; NaN: a counter was missing or did not run all the time */
	double seconds;  /* in which its counters ran */
	double requests; /* of a latency: the requests that took these ns */
};

/* The rounds of one CPU, node and load. */
struct verify_series {
	enum verify_load load;
	int node, socket; /* of the memory */
	int cpu, cpu_socket;
	bool bare;                 /* the node has no CPUs of its own */
	double memory;             /* size of the stream in bytes */
	double load_ns;            /* of a chase: the time of a load; else 0 */
	int cpus;                  /* of VERIFY_READ_ALL: their number */
	size_t elsewhere;          /* pages on other nodes */
	char device[32], port[48]; /* of a file or GPU: PCI addresses; "": none */
	double disk;       /* bytes that the disk moved for each byte of the file; 0: unknown */
	double copy, rate; /* of a GPU: bytes of a copy; bytes per second while it copied */
	size_t first_cell, cell_count; /* the cells that were counted in its rounds */
	size_t round_count;
	double *moved;                   /* in each round, in the load's unit */
	struct verify_reading *readings; /* for each round one of each cell */
};

struct verify_run {
	char version[32], date[16]; /* of uncore; when it ran */
	double cache;               /* bytes of the last-level caches of a socket; 0: not known */
	double caches;              /* likewise, of the caches of all levels */
	double transfers;    /* million per second, of the slowest memory module; 0: unknown */
	bool rated;          /* their configured speed is not known */
	bool hinted;         /* stores bypass the caches only by a hint: STNP of Arm */
	double limit;        /* power limit of a package in watts; 0: unknown */
	char hypervisor[32]; /* of a virtual machine; "": none */
	int *split;          /* nodes with CPUs of several sockets */
	size_t split_count;
	struct verify_cell *cells; /* the cells of a pass are consecutive */
	size_t cell_count;
	size_t first_cell; /* of the series that are added next */
	struct verify_series *series;
	size_t series_count;
};

void verify_run_free(struct verify_run *run);
/* Notes a node whose memory may belong to several sockets. */
void verify_add_split(struct verify_run *run, int node);
bool verify_is_split(const struct verify_run *run, int node);
void verify_add_cell(struct verify_run *run, const struct verify_cell *cell);
/* Adds a copy of the series, with the cells from the run's first_cell to the last one. */
struct verify_series *verify_add_series(struct verify_run *run, const struct verify_series *series);
/* Returns the readings of the new round, to be filled in: one for each cell of the series. */
struct verify_reading *verify_add_round(struct verify_series *series, double moved);
/* NULL: the cell was not counted in this series. */
const struct verify_reading *verify_reading_of(const struct verify_series *s, size_t round,
					       size_t cell);

/* The readings as an entry of a snapshot. */
void verify_put_run(struct buffer *to, const struct verify_run *run);
/* Parses such a text. False: `why` has the reason. */
#define VERIFY_WHY 120
bool verify_parse_run(struct verify_run *run, const char *text, char why[VERIFY_WHY]);

/* ---- what is expected: judge-expect.c ---- */

/* Metrics of one group count the same data: data that one metric lacks may be counted by another
 * one. */
enum verify_group {
	VERIFY_MEMORY,    /* controllers */
	VERIFY_LINKS,     /* between sockets */
	VERIFY_AGENTS,    /* home agents: by the socket of the request */
	VERIFY_FABRIC,    /* between caches and controllers */
	VERIFY_POWER,     /* energy */
	VERIFY_CLOCKS,    /* cycles */
	VERIFY_LATENCIES, /* of reads that go to memory */
	VERIFY_QUEUES,    /* the part of that time in a controller's queue; only if named */
	VERIFY_DEVICES,   /* traffic of devices (DMA), and of CPUs to and from devices */
	VERIFY_LOOKUPS,   /* look-ups of devices in last-level caches (DDIO) */
	VERIFY_GPUS,      /* what a GPU counts itself */
	VERIFY_CEILINGS,  /* the peak of memory */
	VERIFY_GROUPS,
};

/* A node has memory of one kind. The kernel does not report which; one kind may be a cache of
 * another. */
enum verify_memory {
	VERIFY_DRAM,
	VERIFY_PACKAGE, /* on the CPU's package, HBM */
	VERIFY_CXL,
};

/* The peak of a socket's memory is judged as if it were a metric. Sets metric and family of the
 * peak of uncore_memory_get(): "memory.peak", "SMBIOS". */
#define VERIFY_PEAK "memory.peak"
void verify_name_peak(const char *from, struct verify_cell *into);

/* The look-ups of devices that hit the last-level cache. */
#define VERIFY_WRITES_FOUND "pcie.inbound.write.llc.hit.bandwidth"
#define VERIFY_READS_FOUND "pcie.inbound.read.llc.hit.bandwidth"

struct verify_expectation {
	const char *metric;
	const char *name; /* of its counts: "reads" */
	enum verify_group group;
	enum verify_memory memory;            /* VERIFY_MEMORY: of which kind */
	unsigned char where[2][VERIFY_LOADS]; /* near, far: a socket, or 0 */
	/* A witness, which measures the same as a metric of `family`, in another way. */
	struct {
		const char *family;
		const char *name;   /* the family of its own cells; NULL: there is no witness */
		const char *domain; /* of powercap; NULL: not a witness of power */
	} witness;
};

/* The words for a load in outputs. */
struct verify_load_words {
	const char *name; /* in reports and tables: "read" */
	const char *unit; /* of the amounts: "B", or the word of a count */
	const char *does; /* verb, with the node as subject: "reads" */
};
extern const struct verify_load_words verify_load_words[VERIFY_LOADS];

extern const struct verify_expectation verify_expectations[]; /* the last one has no metric */
const struct verify_expectation *verify_expectation(const char *metric);
/* Whether this load judges it; `far`: from a CPU of another socket. */
bool verify_expects(const struct verify_expectation *e, enum verify_load load, bool far);
/* The socket that must count all data of the series; -1: none. */
int verify_socket_of(const struct verify_series *s, const struct verify_expectation *e);
/* Whether the cell must count all data of the series; if not, it must count nothing. */
bool verify_is_expected(const struct verify_series *s, const struct verify_cell *c);
bool verify_is_far(const struct verify_series *s);

/* Whether the cell is that of a witness. */
bool verify_is_witness(const struct verify_cell *c);

/* counted = slope x moved + rate x seconds */
struct verify_fit {
	double slope, error; /* its standard error */
	double rate;         /* of other programs, in bytes (ns ...) per second */
	size_t count;        /* of rounds */
};

/* Least squares. False: too few rounds, or all of them moved the same amount. */
bool verify_fit(struct verify_fit *into, const double *moved, const double *seconds,
		const double *counted, size_t count);

/* ---- verdicts: judge.c ---- */

/* The worst verdict is the last one. */
enum verify_verdict {
	VERIFY_PROVED,
	VERIFY_UNKNOWN,
	VERIFY_OFF,
	VERIFY_VERDICTS,
};
extern const char *const verify_verdicts[]; /* "proved", "cannot tell", "off" */

struct verify_result {
	const struct verify_series *series;
	const struct verify_cell *cell;
	/* The judged socket; if it has no cell of the metric, `cell` is of another one. */
	int socket;
	struct verify_fit fit; /* NaN: none */
	double moved;          /* bytes or loads in all rounds that were used */
	/* For a channel: 1 is an even share. For look-ups: the share of hits. Else NaN. */
	double share;
	/* The counted value and the known one, if `fit` has the ratio of these. Else NaN. */
	double value, known;
	const char *unit, *basis; /* of both; the source of `known` */
	double requests; /* of a latency: requests that are counted for each load; else NaN */
	double latency;  /* of a latency: ns of each request; NaN: none */
	enum verify_verdict verdict;
	const char *fault; /* its short name; NULL: no known fault */
	char reason[240];  /* "": none */
};

/* For each series, metric and family a result for the socket that must count it, then results for
 * its channels. Returns their number. The caller frees `*out`, which borrows from the run. */
size_t verify_judge(const struct verify_run *run, struct verify_result **out);

/* The worst verdict. If there is no result: cannot tell. */
enum verify_verdict verify_overall(const struct verify_result *results, size_t count);

/* ---- output: print.c ---- */

struct output;

void verify_print(const struct verify_run *run, const struct verify_result *results, size_t count,
		  const struct output *output, struct buffer *to);
/* The same as comments of a snapshot. */
void verify_print_comments(const struct verify_run *run, const struct verify_result *results,
			   size_t count, struct buffer *to);

/* ---- reports that are kept, or that --root names: proof.c ---- */

struct cli;

/* Reads the report at `path`. Returns NULL, or an error (possibly in `why`), and then `into` is
 * empty. */
const char *proof_read(struct verify_run *into, const char *path, char why[VERIFY_WHY]);

/* Replaces the report that is kept for doctor and explain, unless `tells` is false (all verdicts
 * are 'cannot tell') and there is one. A reader finds either the old report or the new one. A
 * failure is printed as a note. */
void kept_write(const struct cli *cli, const struct buffer *report, bool tells);

extern const struct proofs verify_proofs; /* of commands/proofs.h */

#endif

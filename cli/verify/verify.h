/* SPDX-License-Identifier: MIT */
/* `uncore verify`: known amounts of data are moved, and the counters are judged by what they say. Its files share
 * this header; from readings to verdicts nothing needs a machine. */
#ifndef CLI_VERIFY_H
#define CLI_VERIFY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "output/buffer.h"

/* What is done in the rounds of a series. */
enum verify_load {
	VERIFY_READ,       /* loads from memory, in bytes */
	VERIFY_WRITE,      /* stores to memory, in bytes */
	VERIFY_SPIN,       /* a busy CPU, in nanoseconds */
	VERIFY_CHASE,      /* loads from memory, each of which needs the one before */
	VERIFY_FILE_READ,  /* of a file: its device writes memory, in bytes */
	VERIFY_FILE_WRITE, /* of a file: its device reads memory, in bytes */
	VERIFY_READ_ALL,   /* loads from memory by all CPUs of its socket at once, in bytes */
	VERIFY_LOADS,
};

/* Does exactly the amount that is asked for. Stops early with -EINTR when `stop_fd` is readable; -1: never. */
struct verify_work {
	void *context;
	int (*run)(void *context, size_t amount, int stop_fd);
	size_t unit;  /* amounts are multiples of it; a quarter of an amount, too */
	size_t least; /* the largest amount is at least that */
	size_t most;  /* and at most that; 0: any */
};

/* ---- moving: stream.c ---- */

/* Memory of one node, larger than the caches. Moves go round in it, so that a line is not used again before all
 * others. */
struct verify_stream {
	char *map, *base;
	size_t map_size, size;
	size_t at; /* where the next move begins */
	int node;  /* -1: the machine has one only, nothing is bound */
};

/* All of these stop early with -EINTR when `stop_fd` is readable; -1: never. */
int verify_stream_open(struct verify_stream *s, int node, size_t size, int stop_fd);
void verify_stream_close(struct verify_stream *s);
/* Moves exactly so many bytes, a multiple of 64: stores that pass the caches, or loads. */
int verify_stream_move(struct verify_stream *s, enum verify_load load, size_t bytes, int stop_fd);
/* That as work, of VERIFY_READ or VERIFY_WRITE. */
struct verify_work verify_stream_work(struct verify_stream *s, enum verify_load load);
bool verify_stopped(int stop_fd);
/* The number of its pages that lie on other nodes. */
int verify_stream_elsewhere(const struct verify_stream *s, size_t *pages);

/* ---- even traffic: steady.c ---- */

struct verify_steady {
	double share; /* of the time in which data are moved */
	uint64_t until_ns;
	uint64_t turn_ns; /* of a multiplexed counter */
	/* What came of it: */
	size_t moved;     /* bytes */
	uint64_t away_ns; /* another program had the CPU, for a good part of a turn at once */
};
int verify_steady_move(struct verify_stream *s, enum verify_load load, struct verify_steady *t,
		       int stop_fd);

/* ---- a busy CPU: spin.c ---- */

/* Arithmetic that draws power, until the thread has had so many nanoseconds of CPU time. */
struct verify_work verify_spin_work(void);
/* Of this thread: not the time in which other programs have the CPU. */
uint64_t verify_cpu_ns(void);

/* ---- chasing: chase.c ---- */

/* Loads from a stream's memory: one line of each two, in a random order that is one cycle over all of them. */
struct verify_chase {
	const char *at;   /* what is loaded next; the address behind it is there */
	double loads, ns; /* so far, and how long they took on this CPU */
};

/* Takes the whole of the memory. -EINTR as above. */
int verify_chase_open(struct verify_chase *c, struct verify_stream *s, int stop_fd);
/* Loads exactly so many lines, one after another. */
int verify_chase_load(struct verify_chase *c, size_t loads, int stop_fd);
struct verify_work verify_chase_work(struct verify_chase *c);
#define VERIFY_CHASE_STEP ((size_t)128) /* bytes of memory for each line */

/* ---- readings: report.c ---- */

/* What a metric in doubt may count: its value is right by the factor. */
struct verify_alternative {
	double factor;
	char title[80];
};
#define VERIFY_ALTERNATIVES 4

/* What a row of the monitor covers, or a witness: it reads the same in another way, and its family has its name. */
struct verify_cell {
	char metric[48], family[64];
	struct verify_alternative alternatives[VERIFY_ALTERNATIVES];
	size_t alternative_count; /* 0: there is no doubt */
	int socket;               /* -1: all of them */
	int channel;              /* -1: the whole socket */
	bool both_ends; /* what passes between sockets is counted on both: UNCORE_REMOTE_BOTH_ENDS */
	/* The address of a root port, or the name of a PMU with devices behind no known port. "":
	 * the whole socket, too. */
	char port[48];
};

/* Of one cell in one round. */
struct verify_reading {
	double amount;  /* bytes; ns of a latency; NaN: not measured all the time on all counters */
	double seconds; /* that its counters ran */
	double requests; /* of a latency: that these ns are of */
};

/* The rounds of one CPU, node and load. */
struct verify_series {
	enum verify_load load;
	int node, socket; /* of the memory */
	int cpu, cpu_socket;
	bool bare;                 /* the node has no CPUs of its own */
	double memory;             /* size of the stream in bytes */
	double load_ns;            /* of a chase: how long a load took; else 0 */
	unsigned cpus;             /* of VERIFY_READ_ALL: how many */
	size_t elsewhere;          /* pages on other nodes */
	char device[32], port[48]; /* of a file: PCI addresses; "": none */
	double disk; /* of each byte of the file, what the kernel says that the disk moved; 0: not known */
	double coverage; /* of multiplexed counters, those of the memory's socket; 0: they were not */
	size_t first_cell, cell_count; /* that were counted meanwhile */
	size_t round_count;
	double *moved;                   /* in each round, in the load's unit */
	struct verify_reading *readings; /* round after round, of each the cells */
};

struct verify_run {
	char version[32], date[16]; /* of uncore; when it ran */
	double cache;               /* bytes of the last-level caches of a socket; 0: not known */
	double caches;              /* likewise, of the caches of all levels */
	double transfers;    /* million per second, of the slowest memory module; 0: not known */
	bool rated;          /* their configured speed is not known */
	bool hinted;         /* that stores pass the caches is a hint: STNP of Arm */
	double limit;        /* watts that a package may draw; 0: not known */
	char hypervisor[32]; /* of a virtual machine; "": none */
	int *split;          /* nodes with CPUs of several sockets */
	size_t split_count;
	struct verify_cell *cells; /* what is counted together stands together */
	size_t cell_count;
	size_t first_cell; /* of the series that are added next */
	struct verify_series *series;
	size_t series_count;
};

void verify_run_free(struct verify_run *run);
/* A node whose memory may be of several sockets. */
void verify_add_split(struct verify_run *run, int node);
bool verify_is_split(const struct verify_run *run, int node);
void verify_add_cell(struct verify_run *run, const struct verify_cell *cell);
/* A copy of it, of the cells from the run's first one to the last that was added. */
struct verify_series *verify_add_series(struct verify_run *run, const struct verify_series *series);
/* The readings of the round, to be filled in: one of each of the series' cells. */
struct verify_reading *verify_add_round(struct verify_series *series, double moved);
/* NULL: the cell was not counted in this series. */
const struct verify_reading *verify_reading_of(const struct verify_series *s, size_t round,
					       size_t cell);

/* The readings as an entry of a snapshot. */
void verify_put_run(struct buffer *to, const struct verify_run *run);
/* From such a text. False: `why` has the reason. */
#define VERIFY_WHY 120
bool verify_parse_run(struct verify_run *run, const char *text, char why[VERIFY_WHY]);

/* ---- rounds: rounds.c ---- */

struct verify_pace {
	uint64_t round_ns;
	unsigned repeats; /* of each amount */
	int stop_fd;
	void *context; /* of these: */
	/* Reads all counters: what they counted since the reading before, in the order of the cells. */
	int (*read)(void *context, struct verify_reading *into);
	void (*show)(void *context, size_t done, size_t all); /* NULL: not shown */
};

#define VERIFY_AMOUNTS 4u /* 0, 1/4, 1/2, 1 */

/* Does 0, a quarter, a half and all of the amount that half a round has time for, in random order. Returns 0, -EINTR or
 * what run() or read() returned. */
int verify_rounds(struct verify_series *series, const struct verify_work *work,
		  const struct verify_pace *pace);
/* The next number of a state that is not 0: xorshift. */
uint64_t verify_random(uint64_t *state);
/* -EINTR: `stop_fd` is readable. */
int verify_sleep_until(uint64_t then_ns, int stop_fd);

/* ---- all CPUs of a socket: ceiling.c ---- */

/* The peak of a socket's memory is judged as if it were a metric. */
#define VERIFY_PEAK "memory.peak"

struct verify_reader {
	int cpu;
	struct verify_stream part; /* of a stream, which is its own and stays open */
};

struct verify_ceiling {
	size_t cell; /* of the peak: its readings are what it has room for */
	double peak; /* bytes per second */
	struct verify_reader *readers;
	size_t count;
};

/* All of them load at once, in rounds of `round_ns` one right after the other, `repeats` of them. */
int verify_ceiling_rounds(struct verify_series *series, const struct verify_ceiling *ceiling,
			  const struct verify_pace *pace);
/* The names of a peak that uncore_memory_get() has from there: "memory.peak", "SMBIOS". */
void verify_name_peak(const char *from, struct verify_cell *into);

/* ---- what is expected: expect.c ---- */

/* Metrics of one group share the same data: what one lacks may be in the other. */
enum verify_group {
	VERIFY_MEMORY,    /* controllers */
	VERIFY_LINKS,     /* between sockets */
	VERIFY_AGENTS,    /* home agents: by whom */
	VERIFY_FABRIC,    /* between caches and controllers */
	VERIFY_POWER,     /* energy */
	VERIFY_CLOCKS,    /* cycles */
	VERIFY_LATENCIES, /* of reads that go to memory */
	VERIFY_QUEUES,    /* the part of it in a controller's queue; on request only */
	VERIFY_DEVICES,   /* what devices move, and CPUs to and from them */
	VERIFY_LOOKUPS,   /* last-level caches: what devices look for in them (DDIO) */
	VERIFY_CEILINGS,  /* the peak of memory */
	VERIFY_GROUPS,
};

/* A node has memory of one kind, and the kernel does not say which; one may be a cache of another. */
enum verify_memory {
	VERIFY_DRAM,
	VERIFY_PACKAGE, /* on the CPU's package, HBM */
	VERIFY_CXL,
};

/* Of what devices write and read, what the last-level cache has. */
#define VERIFY_WRITES_FOUND "pcie.inbound.write.llc.hit.bandwidth"
#define VERIFY_READS_FOUND "pcie.inbound.read.llc.hit.bandwidth"

struct verify_expectation {
	const char *metric;
	const char *name; /* of what it counts */
	enum verify_group group;
	enum verify_memory memory;            /* VERIFY_MEMORY: of which kind */
	unsigned char where[2][VERIFY_LOADS]; /* near, far: a socket, or 0 */
};

/* What is printed of a load. */
struct verify_load_words {
	const char *name; /* in reports and tables: "read" */
	const char *unit; /* of the amounts: "B", or the word of a count */
	const char *does; /* what its node does: "reads" */
};
extern const struct verify_load_words verify_load_words[VERIFY_LOADS];

const struct verify_expectation *verify_expectation_at(size_t i); /* NULL: there are no more */
const struct verify_expectation *verify_expectation(const char *metric);

/* Whether it is judged by this load, from a CPU of another socket. */
bool verify_expects(const struct verify_expectation *e, enum verify_load load, bool far);
/* The socket that has to count everything that the series moves; -1: none. */
int verify_socket_of(const struct verify_series *s, const struct verify_expectation *e);
/* Whether the cell has to count it; if not, it has to count nothing. */
bool verify_is_expected(const struct verify_series *s, const struct verify_cell *c);
bool verify_is_far(const struct verify_series *s);
/* Its amounts are ns of requests. */
bool verify_is_latency(const struct verify_expectation *e);

/* What reads the same as a metric of this family, in another way. */
struct verify_witness {
	const char *metric, *family;
	const char *name;   /* the family of its own cells */
	const char *domain; /* of powercap; NULL: it is not that */
};
const struct verify_witness *verify_witness(const char *metric); /* NULL: nothing does */
bool verify_is_witness(const struct verify_cell *c);

/* ---- fit: fit.c ---- */

/* counted = slope x moved + rate x seconds */
struct verify_fit {
	double slope, error; /* its standard error */
	double rate;         /* what others moved, in bytes (ns ...) per second */
	size_t count;        /* of rounds */
};

/* Least squares. False: there are too few rounds, or all of them moved as much. */
bool verify_fit(struct verify_fit *into, const double *moved, const double *seconds,
		const double *counted, size_t count);

/* ---- verdicts: verdict.c ---- */

enum verify_verdict {
	VERIFY_PROVED,
	VERIFY_OFF,
	VERIFY_UNKNOWN,
};
extern const char *const verify_verdicts[]; /* "proved", "off", "cannot tell" */

struct verify_result {
	const struct verify_series *series;
	const struct verify_cell *cell;
	int socket;            /* that is judged; not the cell's if it has no cell of this metric */
	struct verify_fit fit; /* NaN: none */
	double moved;          /* bytes or loads in all rounds that count */
	/* Of a channel: of an even share. Of look-ups: what the cache had. Else NaN. */
	double share;
	/* Where `fit` has the ratio of two values that must be equal: what is counted and what is known. Else NaN. */
	double value, known;
	const char *unit, *basis; /* of these; from where it is known */
	double requests;          /* of a latency: counted for each load, else NaN */
	double latency;           /* ns of such a request; NaN: none */
	enum verify_verdict verdict;
	const char *fault; /* its short name; NULL: none that is known */
	char reason[240];  /* "": none */
};

/* For each series, metric and family the socket that has to count it, then the channels of that. Returns their number; `out` is the
 * caller's to free and borrows from the run. */
size_t verify_judge(const struct verify_run *run, struct verify_result **out);

/* Of all: one that is off, else one that cannot be told, or nothing to judge. */
enum verify_verdict verify_overall(const struct verify_result *results, size_t count);

/* ---- output: print.c ---- */

struct output;

void verify_print(const struct verify_run *run, const struct verify_result *results, size_t count,
		  const struct output *output, struct buffer *to);
/* The same as comments of a snapshot. */
void verify_print_comments(const struct verify_run *run, const struct verify_result *results,
			   size_t count, struct buffer *to);

#endif

/* SPDX-License-Identifier: MIT */
/* Shared by all commands: exit codes, global options, the opened machine, errors, signals. */
#ifndef CLI_H
#define CLI_H

#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "uncore.h"

struct replay; /* base/replay.h */
struct buffer; /* base/buffer.h */

/* A function that returns `int status` returns one of these and has printed the error. */
enum cli_exit {
	CLI_OK = 0,
	CLI_RUNTIME = 1, /* also, without a message: standard output is a closed pipe */
	CLI_USAGE = 2,
	CLI_UNAVAILABLE = 3, /* this machine cannot count that */
	CLI_DENIED = 4,      /* permission */
	CLI_NOT_EXECUTABLE = 126,
	CLI_NOT_FOUND = 127,
	CLI_SIGNAL = 128, /* plus the signal that killed the command */
};

/* Receives the records of each interval instead of a file. */
struct cli_collector {
	void *context;
	int (*take)(void *context, uint64_t wall_ns, struct buffer *text); /* an exit code */
	bool later; /* not the first recording that has intervals */
	/* The first one's output file, and the line before its records, or NULL. */
	const char *file;
	bool append;
	char *header;
};

/* CPUs by number, as many as the library reads: cpu_set_t alone ends at 1,023, and the kernel then
 * refuses to write into it on larger machines. */
struct cli_cpus {
	cpu_set_t parts[64];
};

/* Which part of a recording is read; NULL: all of it. */
struct cli_part {
	const char *begin, *end; /* a date in ISO 8601, or +DURATION from the beginning */
	const char *region;      /* the text of its mark */
	bool as_recorded;        /* the recorded values, and not those of this version */
};

struct cli {
	char *command_line;             /* all of it, quoted for a shell */
	const struct command *command;  /* NULL: none was named */
	const struct command *commands; /* all of them, to complete a command line; NULL: run it */
	const struct command *presets;  /* all commands, too: those with metrics are presets */
	struct uncore *u;
	const char *root;   /* NULL: "/" */
	const char *source; /* NULL: "kernel" */
	const struct cli_part
		*part; /* of the recording that is the source; NULL: `source` has it */
	bool resctrl;  /* the source is resctrl */
	const char **data;
	size_t data_count;
	const char *perfmon; /* directory of the vendors' JSON; NULL: the names built in */
	double memory_peak;  /* 0: that of the machine is used */
	bool program;        /* registers may be written */
	/* While options of a file are read: those of the command line before the command, which
	 * they do not replace. */
	const struct cli *given;
	bool configured; /* options of a file were read: later ones replace them */
	/* Inherited settings, which a command gets back: SIGPIPE, SIGXFSZ, and the CPUs before
	 * --bind-cpu. */
	struct sigaction pipe, file_size;
	struct cli_cpus cpus;
	bool pinned;
	/* Receives the records when several recordings are read; NULL: they are written. */
	struct cli_collector *collector;
	struct replay *replay; /* the recording that is the source; NULL: none */
	/* Opens one; NULL: uncore was built without SQLite. An exit code. */
	int (*open_replay)(struct replay **out, struct uncore *u, const char *spec,
			   const struct cli_part *part);
	const struct proofs *proofs; /* what verify has proved: commands/proofs.h */
	/* By which cli_open() makes one of the machine; NULL: it makes none. */
	int (*take_snapshot)(struct uncore *u, char **out);
	char *snapshot;
};

struct command {
	const char *name;
	const char *doc; /* one line */
	int (*run)(struct cli *cli, int argc, char **argv);
	/* Presets, which are `stat` with metrics already named; NULL and 0 for others. */
	const char *metrics;     /* comma list of patterns */
	const char *which;       /* these in words, for its help */
	const char *output;      /* its output for people; NULL: text */
	enum uncore_level level; /* unless an option sets another */
	bool recorded;           /* `record` without metrics counts it, too */
	/* A preset with other metrics, which an option of this one selects: `name` is the option,
	 * `doc` its help. */
	const struct command *view;
	const char *device; /* what the option names, "PORT"; NULL: it names nothing */
	/* Options of stat that do not suit the metrics, and are not in the help: "gpu port". */
	const char *without;
};

/* ---- the machine of the global options: machine.c ---- */

/* Makes it; cli_open() scans it, too. */
int cli_prepare(struct cli *cli);
int cli_open(struct cli *cli);

/* A subject such as "memory", which is the name of no metric, stands for "memory.*". The caller
 * frees the pattern. */
char *cli_pattern(const struct uncore *u, const char *text);

/* Whether the source is a recording, which need not be open yet. */
bool cli_replays(const struct cli *cli);
/* The host where the counts are from; NULL: unknown, or a simulation. */
const char *cli_host(const struct cli *cli);
/* Frees the machine and its source. */
void cli_close(struct cli *cli);

/* Whether the family (which may be NULL) has a metric of the list: "pcie.*,else,cxl.*". */
bool cli_has_metric(const struct uncore *u, const char *family, const char *list);

/* Prints the fixes for PMUs that are missing on this machine, if there are any: of those for these
 * metrics ("pcie.*,cxl.*"; NULL: all), or else what keeps all PMUs from being counted. */
void cli_advise(struct cli *cli, const char *metrics);

/* ---- perfmon.c ---- */

/* Adds the vendor's events for this CPU from a directory, in the format of
 * uncore_set_vendor_events(). Returns an exit code. */
int perfmon_read(const struct uncore *u, const char *directory, struct buffer *to);

/* ---- what all files use: cli.c ---- */

/* The one place where a negative errno becomes an exit code. */
int cli_exit_code(int err);

/* Prints the machine's error for `err`; returns its exit code. */
int cli_fail(const struct cli *cli, int err);

/* "uncore: ..." and a newline on standard error. */
void cli_error(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* The same, and returns the exit code. */
#define cli_failure(status, ...) (cli_error(__VA_ARGS__), (status))
/* Sets what is called before anything is printed there, as of a screen that must be left first;
 * NULL: nothing. */
void cli_before_error(void (*call)(void));
/* Shows on a terminal what the command is doing. The next error or output, or cli_waited(), removes
 * it. */
void cli_wait(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void cli_waited(void);

/* Replaces invalid UTF-8 and characters that control a terminal or hide text by '?', since names of
 * a machine's files may have them. Characters in `kept` stay. Works in place; returns the new
 * length. */
size_t cli_clean(char *text, size_t len, const char *kept);

#define NS_PER_MS 1000000ULL
#define NS_PER_S 1000000000ULL

/* The time of a clock, and that of CLOCK_MONOTONIC. */
uint64_t cli_clock_ns(clockid_t clock);
uint64_t cli_now_ns(void);
uint64_t cli_ns_of(struct timespec time);
struct timespec cli_time_of(uint64_t ns);
/* ISO 8601 with milliseconds, in UTC. */
#define DATE_ROOM 40
void cli_date(char into[DATE_ROOM], uint64_t wall_ns);
/* Sleeps until this time of CLOCK_MONOTONIC. Returns -EINTR if `stop_fd` becomes readable
 * before. */
int cli_sleep_until(uint64_t then_ns, int stop_fd);

/* Sets the monitor that is freed when memory runs out, which restores the registers that it has
 * written; NULL: none. */
void cli_set_running(struct uncore_monitor *m);

/* The metric of a row; NULL: the row is of an event. */
const struct uncore_metric *cli_metric(const struct uncore *u, const struct uncore_row_query *of);

/* Where a screen shows a metric: uncore_view_find(). */
struct view_cell {
	const struct uncore_view *view; /* NULL: no screen shows it */
	enum uncore_column column;
	unsigned rank;
	int number;
};
struct view_cell cli_view_cell(struct uncore *u, const char *metric);

/* realloc() that ends the command with a message when memory runs out. */
void *cli_realloc(void *old, size_t count, size_t size);
/* The same for an array that only this function has made: with room for one more than `count`. The
 * room doubles. */
void *cli_grow(void *old, size_t count, size_t size);

/* A local pointer to memory that is freed where its block ends. */
#define auto_free __attribute__((cleanup(cli_free_local)))
void cli_free_local(void *pointer);

/* A copy, which the caller frees; NULL for NULL. */
char *cli_copy(const char *text);

/* --bind-cpu: pins the thread that waits, computes and prints, so that it does not migrate. Returns
 * an exit code. */
int cli_pin(struct cli *cli, const char *text);

static inline bool cli_cpus_has(const struct cli_cpus *c, int cpu)
{
	return cpu >= 0 && CPU_ISSET_S((size_t)cpu, sizeof(*c), c->parts);
}

static inline void cli_cpus_add(struct cli_cpus *c, int cpu)
{
	CPU_SET_S((size_t)cpu, sizeof(*c), c->parts);
}

/* "sockets unknown" when a CPU online has none. */
#define SOCKETS_ROOM 32
const char *cli_sockets(const struct uncore *u, char into[static SOCKETS_ROOM]);
bool cli_has_unnumbered(const struct uncore *u);
/* NUMA nodes with CPUs, of all sockets: firmware can divide each socket into several (NPS of AMD,
 * SNC of Intel). */
size_t cli_node_count(const struct uncore *u);
/* "Intel Xeon Platinum 8480+, Sapphire Rapids", or the model. */
#define CPU_ROOM 128
const char *cli_cpu(struct uncore *u, char into[static CPU_ROOM]);

/* For qsort() and bsearch(), of ints or of structs that begin with one. */
int cli_compare_ints(const void *a, const void *b);

/* Whether both texts are equal, or both are NULL. */
bool cli_same(const char *a, const char *b);

/* The index of the word in a list that ends with NULL; the index of the NULL if it is not in the
 * list. */
size_t cli_word(const char *const *words, const char *word);

/* How many characters of the text are an unsigned decimal number such as 12, 1.5 or .5; 0: there is
 * none. */
size_t cli_number_length(const char *text);
/* Reads an unsigned decimal number such as 1.5 or 2e9, and moves `text` behind it. False: the text
 * begins with something else, such as nan, inf or 0x10, or the number is too large for a double. */
bool cli_number(const char **text, double *into);

/* Matches a pattern, ignoring case: a shell pattern, or any part of the text. */
bool cli_matches(const char *pattern, const char *text);

/* ---- signals as file descriptors, so that nothing is interrupted and left half done ---- */

struct signals {
	int stop_fd;   /* readable: a signal that ends counting */
	int child_fd;  /* readable: SIGCHLD */
	sigset_t stop; /* the signals of stop_fd */
	sigset_t old;  /* mask to give to a command */
};

/* Blocks SIGINT, SIGTERM, SIGHUP and SIGCHLD and makes them readable. With `all` also the other
 * signals that would end the process, so that registers and the terminal can be restored before it
 * ends. Returns an exit code. */
int signals_open(struct signals *s, bool all);
void signals_close(struct signals *s);

/* The signals since the last call. */
struct signals_seen {
	int stop;      /* the signal that ends counting; 0: none */
	bool personal; /* sent to this process by another one, not typed at the terminal */
	bool child;    /* a child has ended */
};
struct signals_seen signals_take(struct signals *s);

/* ---- the commands, each in the file of its name ---- */

int cmd_overview(struct cli *cli, int argc, char **argv);
int cmd_list(struct cli *cli, int argc, char **argv);
int cmd_topo(struct cli *cli, int argc, char **argv);
int cmd_stat(struct cli *cli, int argc, char **argv);
int cmd_top(struct cli *cli, int argc, char **argv);
int cmd_explain(struct cli *cli, int argc, char **argv);
int cmd_doctor(struct cli *cli, int argc, char **argv);
int cmd_latency(struct cli *cli, int argc, char **argv);
int cmd_snapshot(struct cli *cli, int argc, char **argv);
int cmd_report(struct cli *cli, int argc, char **argv);
int cmd_diff(struct cli *cli, int argc, char **argv);
int cmd_record(struct cli *cli, int argc, char **argv);
int cmd_mark(struct cli *cli, int argc, char **argv);
int cmd_verify(struct cli *cli, int argc, char **argv);
int cmd_who(struct cli *cli, int argc, char **argv);
int cmd_serve(struct cli *cli, int argc, char **argv);
int cmd_demo_block(struct cli *cli, int argc, char **argv);

#endif

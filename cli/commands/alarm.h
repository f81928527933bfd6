/* SPDX-License-Identifier: MIT */
/* --when CONDITION --exec COMMAND: a command that is run when a metric passes a limit. */
#ifndef CLI_ALARM_H
#define CLI_ALARM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/buffer.h"
#include "base/cli.h"
#include "loop/request.h"
#include "loop/sink.h"

/* 'memory.bandwidth > 80 % for 20ms': true when it holds for at least one row of that name. */
struct trigger {
	char name[256];
	bool below; /* < in place of > */
	bool share; /* the limit is a share of the ceiling */
	double limit;
	char number[32]; /* the limit as it was written, */
	char unit[16];   /* and its unit, "GB/s"; "": none */
	uint64_t for_ns; /* without a break; 0: one interval */
	/* Private: */
	uint64_t *held_ns; /* for each row, the time for which the comparison has held */
	size_t row_count;
	bool held;
	size_t row; /* the first row for which it has become true */
};

/* False: the text is not a condition. An invalid TIME ends the process. */
bool trigger_parse(struct trigger *t, const char *text);
/* Whether the planned rows can meet the condition: one has that name, a ceiling where the condition
 * needs one, and values in that unit. Prints why not, and what would work; returns an exit code. */
int trigger_check(struct trigger *t, struct cli *cli, const struct uncore_monitor *m);
/* `*fired`: the condition has become true with this interval. -ENOENT: there is no such row.
 * -ENODATA: none of them has a ceiling. */
int trigger_update(struct trigger *t, const struct uncore_sample *sample, bool *fired);
void trigger_free(struct trigger *t);

/* Prints that a text is not a condition; returns the exit code. */
int trigger_refuse(const char *text);
/* Prints why trigger_update() has failed; returns the exit code. */
int trigger_fail(const struct trigger *t, int err);

/* A sink that runs the command once each time when the condition becomes true. It is not waited for
 * before the loop has ended, and what it prints is read, and repeated on standard error, at the end
 * of each interval. */
struct alarm {
	struct sink sink;
	/* Private: */
	struct cli *cli;
	const struct request *request;
	struct trigger trigger;
	pid_t pid; /* 0: it does not run */
	int out;   /* its output; -1: none */
	uint64_t number;
	struct buffer said;
	size_t dropped; /* bytes of its output that were too many */
};

/* Makes the sink of a request with --exec. Returns an exit code. */
int alarm_init(struct alarm *a, struct cli *cli, const struct request *request);

#endif

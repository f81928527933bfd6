/* SPDX-License-Identifier: MIT */
/* The command that is counted: a process is forked first and executes it when counting has begun. */
#ifndef CLI_CHILD_H
#define CLI_CHILD_H

#include <stdbool.h>
#include <sys/types.h>

#include "cli.h"

struct child {
	pid_t pid;  /* 0: none, or it has been waited for */
	int go;     /* a byte into it lets the command start; closing it ends the child */
	int failed; /* gives the errno of a failed exec; end of file when it went well */
	int status; /* as an exit code, once it has ended */
};

/* Forks a child that waits for child_release(), with signals as we found them. Returns an exit
 * code. */
int child_prepare(struct child *c, char **command, const struct signals *signals,
		  const struct cli *cli);

/* Lets it execute `name`. Returns 126 or 127, with a sentence, when that fails. */
int child_release(struct child *c, const char *name);

/* Looks whether it has ended; with `wait` until it has. */
bool child_ended(struct child *c, bool wait);

void child_signal(const struct child *c, int sig);

/* Ends a child that was not released; frees. */
void child_close(struct child *c);

#endif

/* SPDX-License-Identifier: MIT */
/* The command that is counted: a process is forked first and executes it when counting has
 * begun. */
#ifndef CLI_CHILD_H
#define CLI_CHILD_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/cli.h"

struct child {
	pid_t pid;  /* 0: none, or it has been waited for */
	int go;     /* writing a byte starts the command; closing it ends the child */
	int failed; /* has the errno of a failed exec; end of file after success */
	int status; /* as an exit code, once it has ended */
};

/* Forks a child that waits for child_release(), with the inherited signal settings. Returns an exit
 * code. */
int child_prepare(struct child *c, char **command, const struct signals *signals,
		  const struct cli *cli);

/* Lets it execute `name`. Returns 126 or 127, with a sentence, when that fails. */
int child_release(struct child *c, const char *name);

/* Whether it has ended; with `wait` waits for the end. */
bool child_ended(struct child *c, bool wait);

void child_signal(const struct child *c, int sig);

/* Ends a child that was not released; frees. */
void child_close(struct child *c);

#endif

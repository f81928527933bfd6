/* SPDX-License-Identifier: MIT */
/* Signals as file descriptors: Ctrl-C, termination, the end of the command. */
#ifndef CLI_SIGNALS_H
#define CLI_SIGNALS_H

#include <signal.h>
#include <stdbool.h>

struct signals {
	int stop_fd;   /* readable: a signal that ends counting */
	int child_fd;  /* readable: SIGCHLD */
	sigset_t stop; /* those of stop_fd */
	sigset_t old;  /* mask to give to a command */
};

/* Blocks SIGINT, SIGTERM, SIGHUP and SIGCHLD and makes them readable. Returns an exit code. */
int signals_open(struct signals *s);
/* Adds all other signals that would end the process at once, so that registers can be restored before it
 * ends. Returns an exit code. */
int signals_take_all(struct signals *s);
void signals_close(struct signals *s);

/* What has happened since the last call. */
struct signals_seen {
	int stop;      /* the signal that ends counting; 0: none */
	bool personal; /* sent to this process by another one, not typed at the terminal */
	bool child;    /* a child has ended */
};
struct signals_seen signals_take(struct signals *s);

#endif

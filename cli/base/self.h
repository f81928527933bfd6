/* SPDX-License-Identifier: MIT */
/* Another process of this command, whose output is read while this one goes on: `uncore who`, which
 * has rights and a duty of its own. It ends when this process has closed the pipe or has ended, in
 * any way, if it looks for that (struct request, `ends_with_reader`). */
#ifndef CLI_SELF_H
#define CLI_SELF_H

#include "base/buffer.h"
#include "base/cli.h"

struct self {
	pid_t pid;          /* 0: none, or it has ended */
	int fd;             /* its output; -1: none; 0: it was never started */
	int status;         /* its exit code, once it has ended */
	struct buffer text; /* that was read */
};

struct self_start {
	const char *const *args; /* its command and options; end with NULL */
	const sigset_t *mask;    /* its signal mask; NULL: the present one */
	bool errors;             /* standard error goes the same way as its output */
	int columns;             /* of its tables; 0: those of the terminal */
};

/* Starts it for the machine of this one, which is open. Ctrl-C reaches only this one. False: it
 * cannot be started, for the reason of errno. */
bool self_open(struct self *s, const struct cli *cli, const struct self_start *start);
/* Starts `uncore who --by` for the option --who, with "-j" or "--textfile=-" as `output`. An exit
 * code: its own one if it ends at once, since groups cannot be made; its sentence is on standard
 * error. */
int self_open_who(struct self *s, const struct cli *cli, const char *by, uint64_t interval_ns,
		  const char *output);
/* Adds what it has written to `text`, without waiting. False: nothing new. */
bool self_read(struct self *s);
/* Whether it has ended, and self_read() has read all that it wrote. */
bool self_has_ended(struct self *s);
/* Asks it to end, and reads what it writes until then. */
void self_finish(struct self *s);
/* The exit code for an end that was too early. */
int self_failure(const struct self *s);
/* Ends it, and waits for that. Accepts one that was not started. */
void self_close(struct self *s);

#endif

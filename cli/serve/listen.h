/* SPDX-License-Identifier: MIT */
/* The socket that `serve` listens on, and the rights that the process keeps. */
#ifndef CLI_LISTEN_H
#define CLI_LISTEN_H

#include <stdbool.h>

struct listener {
	int fd;
	char name[160];          /* for people: "http://127.0.0.1:9065/metrics" */
	char path[108];          /* of a socket in the file system; "": none */
	int remover, remover_fd; /* the child that removes it; 0: none */
	bool is_local;           /* other machines cannot reach it */
};

/* Binds and listens; http.h has the forms of an address. Of systemd's socket `address` is not used.
 * `tls` is for the name. Returns an exit code; fd is -1 after an error. */
int listener_open(struct listener *l, const char *address, bool tls);
void listener_close(struct listener *l);
/* Removes the socket in the file system. */
void listener_remove(struct listener *l);

/* Sends a state to the systemd that started this process; does nothing without one. */
void notify_systemd(const char *state);

/* Makes a process of root one of `user`, a name or number, with no capability but CAP_PERFMON,
 * before any thread is started. NULL: user 65534. Does nothing when the process is not root's.
 * Returns an exit code. */
int rights_drop(const char *user);

#endif

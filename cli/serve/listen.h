/* SPDX-License-Identifier: MIT */
/* The socket that `serve` listens on, and the privileges that the process keeps. */
#ifndef CLI_LISTEN_H
#define CLI_LISTEN_H

#include <netinet/in.h>
#include <stdbool.h>
#include <sys/socket.h>
#include <sys/un.h>

union address {
	struct sockaddr any;
	struct sockaddr_in in;
	struct sockaddr_in6 in6;
	struct sockaddr_un un;
	struct sockaddr_storage room;
};

struct listener {
	int fd;
	char name[160];          /* for people: "http://127.0.0.1:9065/metrics" */
	char path[108];          /* of a socket in the file system; "": none */
	int remover, remover_fd; /* the child that removes the path; 0: none */
	bool is_local;           /* other machines cannot reach it */
};

/* Binds and listens. `address` has a form of http.h, and is not used if systemd passes a socket.
 * `tls` is for the name. Returns an exit code; fd is -1 after an error. */
int listener_open(struct listener *l, const char *address, bool tls);
void listener_close(struct listener *l);
/* Removes the socket in the file system. */
void listener_remove(struct listener *l);

/* Sends a state to systemd if it started this process. */
void notify_systemd(const char *state);

/* Makes root another user (a name or number; NULL: 65534) without capabilities except CAP_PERFMON.
 * Call before threads are started. Does nothing for other users. Returns an exit code. */
int rights_drop(const char *user);

#endif

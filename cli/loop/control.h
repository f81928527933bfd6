/* SPDX-License-Identifier: MIT */
/* Commands that a loop takes while it counts: through a FIFO or descriptor, as perf's --control,
 * and from `uncore mark` through a socket. No function here waits for the other end. */
#ifndef CLI_CONTROL_H
#define CLI_CONTROL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/un.h>

#define CONTROL_ROOM 4096 /* of a line; a pipe takes as much at once */

enum control_command {
	CONTROL_UNKNOWN,
	CONTROL_ENABLE,
	CONTROL_DISABLE,
	CONTROL_PING,
	CONTROL_STOP,
	CONTROL_SNAPSHOT,
	CONTROL_MARK,
};

struct control_request {
	enum control_command command;
	const char *text;               /* behind it, clean UTF-8 without a newline */
	uint64_t wall_ns, monotonic_ns; /* when it was sent, if known */
	struct sockaddr_un from;        /* the client that waits for an answer; */
	socklen_t from_len;             /* 0: the other end of ack_fd */
};

struct control {
	int fd, ack_fd, socket; /* -1: none */
	bool own;               /* the first two were opened here */
	bool discard;           /* the rest of a line that was too long */
	unsigned refused;       /* a bit for each command whose refusal was printed */
	/* Lines that were read; control_next() has returned the first `taken` bytes. */
	char lines[CONTROL_ROOM];
	size_t len, taken;
	char datagram[CONTROL_ROOM]; /* of the socket; */
	size_t datagram_len;         /* 0: none waits */
	struct control_request request, datagram_request;
};

/* `spec`: fifo:CTL[,ACK] or fd:N[,N]; NULL: none. An exit code. */
int control_open(struct control *c, const char *spec);
/* Also receives commands for the recording into this file. A failure to make the socket is
 * ignored. */
void control_listen(struct control *c, const char *file);
void control_close(struct control *c);

/* Reads commands, after a descriptor has become readable. */
void control_receive(struct control *c);
/* The next command that was read, valid until the next call; NULL: none. Each must be answered. */
const struct control_request *control_next(struct control *c);
/* Answers a command. `refused` NULL: it was done. Else the reason, which is printed once for each
 * command. */
void control_answer(struct control *c, const struct control_request *q, const char *refused);

/* Sends a command to the process that records into this file, and waits for the answer. Prints
 * errors; returns an exit code. */
int control_send(const char *file, const char *command);

#endif

/* SPDX-License-Identifier: MIT */
/* The library's end of the process `uncore-nvml`: it is started, asked, and left. */
#ifndef UNC_NVML_CHILD_H
#define UNC_NVML_CHILD_H

#include "source/nvml/protocol.h"

struct unc_nvml_child {
	int fd;          /* its socket; -1: there is no process */
	int pid;         /* also after its end; 0: unknown, or waited for */
	uint32_t number; /* of the latest request */
	struct unc_nvml_answer answer;
};

/* Starts the process. Returns 0, or a negative errno with a sentence. The program gets no child
 * that it would have to wait for, and its signals stay as they are. The process ends when the
 * socket is closed. */
int unc_nvml_start(struct unc_nvml_child *c, struct unc_error *why);

/* Closes the socket, if it is open, and waits a moment for the end of the process if that is a
 * child of this program: it is one where the program gets processes without a parent, as the first
 * one of a container does. */
void unc_nvml_leave(struct unc_nvml_child *c);

/* Sends a request, which gets a number. False: the process has ended. */
bool unc_nvml_send(struct unc_nvml_child *c, struct unc_nvml_request *q);

/* Receives the answer to the latest request. 1, 0: it has not come up to this time
 * (CLOCK_MONOTONIC), -EPIPE: the process has ended. */
int unc_nvml_receive(struct unc_nvml_child *c, uint64_t until_ns);

/* The sentence for a status of an item, and its errno. */
const char *unc_nvml_reason(int status, int *err);

#endif

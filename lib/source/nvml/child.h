/* SPDX-License-Identifier: MIT */
/* The library's end of the process `uncore-nvml`: it is started, asked, and left. */
#ifndef UNC_NVML_CHILD_H
#define UNC_NVML_CHILD_H

#include "base/text.h"
#include "source/nvml/protocol.h"

/* Starts the process. Its socket, or a negative errno with a sentence. The program gets no child
 * that it would have to wait for, and its signals stay as they are. The process ends when the
 * socket is closed. */
int unc_nvml_start(struct unc_error *why);

/* Waits a moment for a process whose socket is closed, if it is a child of this program: it is one
 * where the program gets processes without a parent, as the first one of a container does. False:
 * it has not ended yet. */
bool unc_nvml_reap(int pid);

/* Sends a request. False: the process has ended. */
bool unc_nvml_send(int fd, const struct unc_nvml_request *q);

/* Receives the next answer. 1, 0: there is none up to this time (CLOCK_MONOTONIC), -EPIPE: the
 * process has ended. */
int unc_nvml_receive(int fd, struct unc_nvml_answer *into, uint64_t until_ns);

/* The sentence for a status of an item, and its errno. */
const char *unc_nvml_reason(int status, int *err);

#endif

/* SPDX-License-Identifier: MIT */
/* Whom a process belongs to: its cgroup, systemd unit, container or job, by /proc/PID/cgroup. */
#ifndef WHO_KEYS_H
#define WHO_KEYS_H

#include "base/buffer.h"

enum who_by { BY_PROCESS, BY_CGROUP, BY_UNIT, BY_CONTAINER, BY_JOB, BY_USER };

/* The words of --by, in that order; ends with NULL. */
extern const char *const who_by_words[];

/* Finds the key in the text of /proc/PID/cgroup, of version 1, 2 or both. `id` is the same for all
 * processes of one key, and for no others; `label` is for people. False, and nothing is added: the
 * process has no such key. Not for processes and users. Pure. */
bool key_find(enum who_by by, const char *cgroups, struct buffer *id, struct buffer *label);

#endif

/* SPDX-License-Identifier: MIT */
/* Whether this process may count for the whole machine, as far as /proc shows. */
#ifndef UNC_PERMISSION_H
#define UNC_PERMISSION_H

#include "machine/root.h"

struct unc_permission {
	bool level_known;       /* false: the file cannot be read here */
	long level;             /* kernel.perf_event_paranoid */
	bool admin;             /* CAP_SYS_ADMIN is in effect */
	const char *held;       /* "CAP_PERFMON" or "CAP_SYS_ADMIN", in effect; NULL: neither */
	bool in_user_namespace; /* whose capabilities do not reach perf events */
	bool filtered;          /* a seccomp filter checks its system calls */
	bool before_perfmon;    /* Linux older than 5.8, which has no CAP_PERFMON */
};

/* What cannot be read is taken as absent. */
void unc_permission_read(struct unc_permission *out, const struct unc_root *root);

/* False also when nothing is known. True is no promise: a filter or a security module may refuse. */
bool unc_permission_granted(const struct unc_permission *p);

/* Levels above 2 are distributions' own, and their kernels differ: some accept CAP_PERFMON there,
 * others (Debian's) CAP_SYS_ADMIN only. True when that decides: only opening a counter
 * shows it. */
bool unc_permission_doubtful(const struct unc_permission *p);

/* The reason why counting for the whole machine fails or may fail, and the command that changes it;
 * nothing where it should work. `refused`: the kernel has refused. */
void unc_permission_advise(const struct unc_permission *p, bool refused, struct unc_text *why,
			   struct unc_text *fix);

#endif

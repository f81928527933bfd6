/* SPDX-License-Identifier: MIT */
/* Findings of `doctor`: what adds them, each in its file. */
#ifndef UNC_FINDINGS_H
#define UNC_FINDINGS_H

#include "object.h"

/* A finding while its texts grow. */
struct unc_draft {
	enum uncore_verdict verdict;
	const char *subject;
	struct unc_text found, why, fix;
};

/* Takes the texts of the draft; -ENOMEM. */
int unc_finding_add(struct uncore *u, struct unc_draft *draft);

/* links.c: PCIe links that are slower or narrower than both ends permit, and errors that the kernel
 * or a driver has counted. Reads the same files whatever it finds. This and those below return 0 or
 * a negative errno. */
int unc_links_check(struct uncore *u);
/* groups.c: the groups of resctrl. */
int unc_groups_check(struct uncore *u);
/* sampled.c: what samples loads, or why Arm's CPUs do not. */
int unc_sampled_check(struct uncore *u);
/* answers.c: what NVIDIA's library said of the GPUs of a snapshot. */
int unc_answers_check(struct uncore *u);
/* Asks the library, and adds a file for each GPU: its model, and for each event whether it is
 * counted. Nothing on a machine that is not the running one, unless its files are counted. */
void unc_answers_add(struct uncore *u, struct unc_tree *tree);

#endif

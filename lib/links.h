/* SPDX-License-Identifier: MIT */
/* The health of PCIe links: findings of `doctor`. */
#ifndef UNC_LINKS_H
#define UNC_LINKS_H

#include "object.h"

/* A finding while its texts grow. */
struct unc_draft {
	enum uncore_verdict verdict;
	const char *subject;
	struct unc_text found, why, fix;
};

/* Takes the texts of a draft; a negative errno. */
typedef int unc_add_finding(struct uncore *u, struct unc_draft *draft);

/* Adds links that are slower or narrower than both ends permit, and errors that the kernel or a
 * driver has counted. Reads the same files whatever it finds. Returns 0 or a negative errno. */
int unc_links_check(struct uncore *u, unc_add_finding *add);

/* The same for the groups of resctrl: groups.c. */
int unc_groups_check(struct uncore *u, unc_add_finding *add);
/* The same for what samples loads on Arm: sampled.c. */
int unc_sampled_check(struct uncore *u, unc_add_finding *add);

#endif

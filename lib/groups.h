/* SPDX-License-Identifier: MIT */
/* Groups of resctrl that this process makes: what groups.c and group-tasks.c share. */
#ifndef UNC_GROUPS_H
#define UNC_GROUPS_H

#include "object.h"

#define UNC_MON_GROUPS UNC_RESCTRL "/mon_groups"

/* A task in a group of others. */
struct unc_other_task {
	int id;
	size_t group; /* index of its name */
};

struct uncore_groups {
	struct uncore *machine;
	struct unc_slot *slots;
	size_t count, wanted;
	const char *limit;             /* why no more are wanted; NULL: all are */
	bool by_task;                  /* /proc says of each task which group it is in */
	struct unc_other_task *others; /* ordered by id */
	size_t other_count;
	struct unc_names names;   /* of groups of others at the latest look, */
	struct unc_names scanned; /* and at the scan */
};

/* Whether the group of that name is one of ours. */
bool unc_groups_is_own(const struct uncore_groups *g, const char *name);
/* Makes the group again that another program has removed. Its owner's next interval begins anew.
 * -ENOENT: it cannot be made yet, or another group has its name. */
int unc_groups_make_again(struct uncore_groups *g, size_t i);
/* The sentence for an error of writing. */
int unc_groups_refuse(struct unc_error *e, int err, const char *what);

#endif

/* SPDX-License-Identifier: MIT */
/* The PMUs of a tree, for tests that need no catalogue. Included after <cmocka.h>. */
#ifndef SCAN_H
#define SCAN_H

#include "machine/pmu.h"
#include "tree.h"

struct scan {
	struct unc_root *root;
	struct unc_topology topology;
	struct unc_pmus pmus;
	struct unc_error error;
};

static inline void scan_close(struct scan *s)
{
	unc_pmus_finish(&s->pmus);
	unc_topology_finish(&s->topology);
	unc_root_free(s->root);
}

/* 0, or the error of reading the PMUs; the sentence is in s->error. */
static inline int scan_try(struct scan *s, const char *dir)
{
	*s = (struct scan){0};
	if (unc_root_open(&s->root, dir, &s->error) ||
	    unc_topology_read(&s->topology, s->root, &s->error))
		fail_msg("%s", s->error.text);
	return unc_pmus_read(&s->pmus, s->root, &s->topology, &s->error);
}

static inline void scan_open(struct scan *s, const char *dir)
{
	if (scan_try(s, dir))
		fail_msg("%s", s->error.text);
}

/* A machine of tests/machines. */
static inline void scan_machine(struct scan *s, const char *name)
{
	char dir[1024];

	scan_open(s, tree_machine(name, dir, sizeof(dir)));
}

/* NULL: no PMU of exactly this name. */
static inline const struct uncore_pmu *scan_find(const struct scan *s, const char *name)
{
	for (size_t i = 0; i < s->pmus.count; i++)
		if (strcmp(s->pmus.items[i].name, name) == 0)
			return &s->pmus.items[i];
	return NULL;
}

static inline const struct uncore_pmu *scan_pmu(const struct scan *s, const char *name)
{
	const struct uncore_pmu *p = scan_find(s, name);

	if (!p)
		fail_msg("there is no %s", name);
	return p;
}

#endif

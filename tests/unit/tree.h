/* SPDX-License-Identifier: MIT */
/* Machines for tests: those of tests/machines, and small ones written to a new directory. */
#ifndef TREE_H
#define TREE_H

#include <ftw.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#ifndef TEST_SOURCE_ROOT
#define TEST_SOURCE_ROOT "."
#endif

#define TREE_PMU "sys/bus/event_source/devices/"

struct tree {
	char dir[256];
};

/* A test cannot go on without its input. */
static inline void tree_require(bool ok, const char *what)
{
	if (!ok) {
		perror(what);
		abort();
	}
}

static inline void tree_make(struct tree *t)
{
	const char *tmp = getenv("TMPDIR");

	snprintf(t->dir, sizeof(t->dir), "%s/uncore-test-XXXXXX", tmp ? tmp : "/tmp");
	tree_require(mkdtemp(t->dir), t->dir);
}

static inline int tree_remove_one(const char *path, const struct stat *st, int flag,
				  struct FTW *ftw)
{
	(void)st;
	(void)flag;
	(void)ftw;
	return remove(path);
}

static inline void tree_remove(struct tree *t)
{
	tree_require(nftw(t->dir, tree_remove_one, 16, FTW_DEPTH | FTW_PHYS) == 0, t->dir);
}

/* The full path, whose directories are there then. */
static inline void tree_path(const struct tree *t, const char *path, char *full, size_t room)
{
	snprintf(full, room, "%s/%s", t->dir, path);
	for (char *at = full + strlen(t->dir) + 1; (at = strchr(at, '/')); at++) {
		*at = '\0';
		mkdir(full, 0755);
		*at = '/';
	}
}

static inline void tree_put_bytes(const struct tree *t, const char *path, const char *data,
				  size_t len)
{
	char full[1024];
	FILE *f;

	tree_path(t, path, full, sizeof(full));
	f = fopen(full, "wb");
	tree_require(f && fwrite(data, 1, len, f) == len && fclose(f) == 0, full);
}

static inline void tree_link(const struct tree *t, const char *path, const char *target)
{
	char full[1024];

	tree_path(t, path, full, sizeof(full));
	tree_require(symlink(target, full) == 0, full);
}

static inline void tree_put(const struct tree *t, const char *path, const char *text)
{
	tree_put_bytes(t, path, text, strlen(text));
}

/* A file of a PMU. */
static inline void tree_pmu(const struct tree *t, const char *pmu, const char *file,
			    const char *text)
{
	char path[600];

	snprintf(path, sizeof(path), TREE_PMU "%s/%s", pmu, file);
	tree_put(t, path, text);
}

/* A file of what the kernel says of one CPU. */
static inline void tree_cpu(const struct tree *t, int cpu, const char *file, const char *text)
{
	char path[200];

	snprintf(path, sizeof(path), "sys/devices/system/cpu/cpu%d/topology/%s", cpu, file);
	tree_put(t, path, text);
}

/* A file or directory of the sources. */
static inline const char *tree_source(const char *path, char *into, size_t room)
{
	const char *source = getenv("UNCORE_SOURCE_ROOT");

	snprintf(into, room, "%s/%s", source ? source : TEST_SOURCE_ROOT, path);
	return into;
}

/* The file of a machine of tests/machines. */
static inline const char *tree_machine(const char *name, char *into, size_t room)
{
	char path[200];

	snprintf(path, sizeof(path), "tests/machines/%s.txt", name);
	return tree_source(path, into, room);
}

/* ---- powercap, as the driver intel_rapl makes it ---- */

static inline void put_zone(const struct tree *t, const char *zone, const char *name,
			    const char *energy)
{
	char path[128];

	snprintf(path, sizeof(path), "sys/class/powercap/%s/name", zone);
	tree_put(t, path, name);
	snprintf(path, sizeof(path), "sys/class/powercap/%s/energy_uj", zone);
	tree_put(t, path, energy);
	snprintf(path, sizeof(path), "sys/class/powercap/%s/max_energy_range_uj", zone);
	tree_put(t, path, "262143328850\n");
}

/* Two packages, one of them with two dies. */
static inline void make_zones(struct tree *t)
{
	tree_make(t);
	put_zone(t, "intel-rapl:0", "package-0-die-0\n", "1000000\n");
	put_zone(t, "intel-rapl:1", "package-0-die-1\n", "262143000000\n");
	put_zone(t, "intel-rapl:2", "package-1\n", "5000000\n");
	put_zone(t, "intel-rapl:0:0", "dram\n", "7000000\n");
	put_zone(t, "intel-rapl:1:0", "dram\n", "7000000\n");
	put_zone(t, "intel-rapl:2:0", "core\n", "7000000\n");
	put_zone(t, "intel-rapl:3", "psys\n", "7000000\n");
	put_zone(t, "intel-rapl-mmio:0", "package-0\n", "99000000\n");
	tree_put(t, "sys/class/powercap/intel-rapl:2/constraint_0_max_power_uw", "205000000\n");
	tree_put(t, "sys/class/powercap/intel-rapl:2/constraint_1_max_power_uw", "0\n");
}

#endif

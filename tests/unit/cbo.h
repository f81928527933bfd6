/* SPDX-License-Identifier: MIT */
/* The cache boxes of Xeon E5 v2 as a model of their MSRs. Included once, after <cmocka.h>, by a test that
 * wraps pread64 and pwrite64. */
#ifndef TEST_CBO_H
#define TEST_CBO_H

#include <errno.h>
#include <sys/types.h>

#include "block.h"

#define CPUS 4
#define BOX_CTL 0xd04
#define CTL 0xd10
#define FILTER 0xd14
#define CTR 0xd16
#define FILTER1 0xd1a
#define FRZ (1u << 8)
#define EN (1u << 22)
#define MASK ((UINT64_C(1) << 44) - 1)
#define HALF (MASK >> 1)

static uint64_t msr[CPUS][0x1000];
static unsigned writes;
static unsigned slow_us; /* so long a box takes to be let go */
static int fail_at;      /* the MSR that cannot be read */
static int stuck_at;     /* and the one that cannot be written */
static int fail_from;    /* and all from this one on; 0: none */
static int away_at;      /* the one that reads as all ones, once */
static bool deaf;        /* an overflow freezes nothing, and boxes */
static unsigned
	reads_in_step; /* count a step in so many readings of registers; 0: at count() only */
static int
	counts_at; /* all boxes count 5000 steps when this box of the first socket is unfrozen, once */

static unsigned reads;

static inline void count(uint64_t n);

ssize_t __real_pread64(int fd, void *into, size_t room, off_t offset);
ssize_t __wrap_pread64(int fd, void *into, size_t room, off_t offset);
ssize_t __real_pwrite64(int fd, const void *from, size_t room, off_t offset);
ssize_t __wrap_pwrite64(int fd, const void *from, size_t room, off_t offset);

/* The CPU whose MSRs a descriptor is; -1: none. */
static inline int cpu_of(int fd)
{
	char link[64], path[400] = "";
	int cpu = -1;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	if (readlink(link, path, sizeof(path) - 1) > 0 && strstr(path, "/dev/cpu/"))
		sscanf(strstr(path, "/dev/cpu/"), "/dev/cpu/%d/msr", &cpu);
	return cpu;
}

ssize_t __wrap_pread64(int fd, void *into, size_t room, off_t offset)
{
	int cpu = cpu_of(fd);

	if (cpu < 0)
		return __real_pread64(fd, into, room, offset);
	assert_int_equal(room, 8);
	if (offset == fail_at || (fail_from && offset >= fail_from)) {
		errno = EIO;
		return -1;
	}
	if (reads_in_step && ++reads % reads_in_step == 0)
		count(1);
	memcpy(into, &msr[cpu][offset], 8);
	if (offset == away_at) {
		memset(into, 0xff, 8);
		away_at = 0;
	}
	return 8;
}

ssize_t __wrap_pwrite64(int fd, const void *from, size_t room, off_t offset)
{
	int cpu = cpu_of(fd);

	if (cpu < 0)
		return __real_pwrite64(fd, from, room, offset);
	assert_int_equal(room, 8);
	writes++;
	if (offset == stuck_at) {
		errno = EIO;
		return -1;
	}
	memcpy(&msr[cpu][offset], from, 8);
	/* rst_ctrs and rst_ctrl. */
	for (off_t k = 0; offset >= BOX_CTL && (offset - BOX_CTL) % 0x20 == 0 && k < 4; k++) {
		if (msr[cpu][offset] & 2)
			msr[cpu][offset - BOX_CTL + CTR + k] = 0;
		if (msr[cpu][offset] & 1)
			msr[cpu][offset - BOX_CTL + CTL + k] = 0;
	}
	if (offset >= BOX_CTL && (offset - BOX_CTL) % 0x20 == 0)
		msr[cpu][offset] &= ~UINT64_C(3);
	if (slow_us && offset == BOX_CTL && !(msr[cpu][offset] & FRZ))
		block_wait_us(slow_us);
	if (counts_at && cpu == 0 && offset == counts_at && !(msr[cpu][offset] & FRZ)) {
		counts_at = 0;
		count(5000);
	}
	return 8;
}

/* One step of a box: its counters with an event and enabled go on by the event's code. Whether one of
 * them overflowed. */
static inline bool step_box(int cpu, unsigned box)
{
	bool overflow = false;

	for (unsigned k = 0; k < 4 && !(msr[cpu][box] & FRZ); k++) {
		uint64_t ctl = msr[cpu][box - BOX_CTL + CTL + k];
		uint64_t *ctr = &msr[cpu][box - BOX_CTL + CTR + k];
		uint64_t next = *ctr + (ctl & 0xff);

		if (!(ctl & EN))
			continue;
		overflow = overflow || next > MASK;
		*ctr = next & MASK;
	}
	return overflow;
}

/* `n` steps of every box that is not frozen. An overflow freezes all those of its socket that obey. */
static inline void count(uint64_t n)
{
	for (int cpu = 0; cpu < CPUS; cpu++)
		for (uint64_t step = 0; step < n; step++) {
			bool overflow = false;

			for (unsigned box = BOX_CTL; box < BOX_CTL + 15 * 0x20; box += 0x20)
				overflow |= step_box(cpu, box);
			for (unsigned box = BOX_CTL; box < BOX_CTL + 15 * 0x20; box += 0x20)
				if (overflow && !deaf && msr[cpu][box] & 3u << 16)
					msr[cpu][box] |= FRZ;
		}
}

/* Two sockets; MSRs with something in them. */
static inline struct block *fresh(void)
{
	static const int sockets[] = {0, 0, 1, 1};
	static struct block b;

	block_make(&b);
	machine_cpus(&b.tree, sockets, CPUS);
	machine_cpuinfo(&b.tree, 62, "");
	for (int cpu = 0; cpu < CPUS; cpu++) {
		char path[64];

		snprintf(path, sizeof(path), "dev/cpu/%d/msr", cpu);
		tree_put(&b.tree, path, "");
		for (size_t i = 0; i < 0x1000; i++)
			msr[cpu][i] = 0x20000 + 0x100 * i + (size_t)cpu;
		for (size_t box = 0; box < 15; box++)
			msr[cpu][BOX_CTL + 0x20 * box] = 3 << 16;
	}
	writes = 0;
	fail_at = fail_from = stuck_at = away_at = counts_at = 0;
	slow_us = reads_in_step = 0;
	deaf = false;
	must(&b, uncore_set_root(b.u, b.tree.dir));
	must(&b, uncore_set_source(b.u, "regs:intel-ivt-cbo"));
	return &b;
}

static inline void scan(struct block *b, bool program)
{
	uncore_monitor_free(b->m);
	b->m = NULL;
	must(b, uncore_set_program(b->u, program));
	must(b, uncore_scan(b->u));
}

#endif

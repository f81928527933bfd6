/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The guest's disk. DMA of QEMU's devices does not pass the plugin: a program in the guest rings the doorbell with the
 * bytes that the kernel says the disk has read or written (traffic disk). They are counted by the I/O stack that the disk
 * is at, in the part of its root port, and by the caches, a share of them as hits: line n by slice n mod slices.
 */
#include "pmon.h"

#define LINE 64

/* [0]: what the disk read from memory, [1]: what it wrote to it. */
static uint64_t moved[2];

static struct place {
	unsigned socket, stack, port;
} right, place; /* where it is, and where it is counted */

static uint64_t found = 1000; /* thousandths */

void disk_at(unsigned socket, unsigned stack, unsigned port)
{
	right = place = (struct place){socket, stack, port};
}

void disk_restart(void)
{
	place = right;
	found = 1000;
}

void disk_set_port(unsigned stack, unsigned port)
{
	place.stack = stack;
	place.port = port;
}

void disk_set_found(uint64_t thousandths)
{
	found = thousandths;
}

void disk_move(uint64_t bytes, bool writes_memory)
{
	moved[writes_memory] += bytes;
}

uint64_t disk_of_stack(const struct real *r)
{
	if (r->socket != place.socket || r->instance != place.stack ||
	    !(r->ports >> place.port & 1))
		return 0;
	return (r->reads ? moved[0] : 0) + (r->writes ? moved[1] : 0);
}

static uint64_t of_slice(uint64_t lines, unsigned slice, unsigned slices)
{
	return (lines + slices - 1 - slice) / slices;
}

uint64_t disk_of_slice(const struct real *r, unsigned slices)
{
	uint64_t lines = ((r->reads ? moved[0] : 0) + (r->writes ? moved[1] : 0)) / LINE;
	uint64_t hits = lines * found / 1000;

	if (r->socket != place.socket || r->instance >= slices)
		return 0;
	return LINE * ((r->found & REAL_HITS ? of_slice(hits, r->instance, slices) : 0) +
		       (r->found & REAL_MISSES ? of_slice(lines - hits, r->instance, slices) : 0));
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Pages of registers in the window, and which unit they belong to. */
#include "nvidia.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_PAGES 1024

static struct {
	const struct page_ops *ops;
	void *unit;
	unsigned index;
} pages[MAX_PAGES];

void pages_claim(uint32_t base, unsigned n, const struct page_ops *ops, void *unit)
{
	for (unsigned i = 0; i < n; i++) {
		uint32_t page = base / PAGE + i;

		if (page >= MAX_PAGES || pages[page].ops) {
			fprintf(stderr, "pmon: page %#x of the window is taken or beyond it\n",
				page * PAGE);
			exit(1);
		}
		pages[page].ops = ops;
		pages[page].unit = unit;
		pages[page].index = i;
	}
}

/* Registers need not be aligned to their size. */
uint32_t get32(uint32_t at)
{
	uint32_t value;

	memcpy(&value, (const char *)pmon_window + at, sizeof(value));
	return value;
}

uint64_t get64(uint32_t at)
{
	uint64_t value;

	memcpy(&value, (const char *)pmon_window + at, sizeof(value));
	return value;
}

void put32(uint32_t at, uint32_t value)
{
	memcpy((char *)pmon_window + at, &value, sizeof(value));
}

void put64(uint32_t at, uint64_t value)
{
	memcpy((char *)pmon_window + at, &value, sizeof(value));
}

int nvidia_window_init(void)
{
	if (pmon_window_size >= MAX_PAGES * PAGE)
		return 0;
	fprintf(stderr, "pmon: model %s needs a window of %u bytes\n", pmon_config.model,
		MAX_PAGES * PAGE);
	return -1;
}

void nvidia_window_load(uint64_t offset, unsigned size)
{
	uint64_t page = offset / PAGE;

	(void)size;
	if (page < MAX_PAGES && pages[page].ops)
		pages[page].ops->load(pages[page].unit, pages[page].index, offset % PAGE);
}

void nvidia_window_store(uint64_t offset, unsigned size)
{
	uint64_t page = offset / PAGE;

	if (page < MAX_PAGES && pages[page].ops)
		pages[page].ops->store(pages[page].unit, pages[page].index, offset % PAGE, size);
}

/* SPDX-License-Identifier: MIT */
/* An ELF file, and the same bytes as a list of the kernel's symbols. */
#include "ibs/symbols.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Every symbol is found at its address, and has a name. */
static void check(const struct unc_symbols *s)
{
	uint64_t address = 0;

	for (size_t i = 0; i < s->count; i++) {
		const struct unc_symbol *found = unc_symbols_find(s, s->items[i].start);

		if (i && s->items[i].start < s->items[i - 1].start)
			abort();
		if (!found || found->start != s->items[i].start ||
		    strlen(unc_symbols_name(s, found)) > s->names_size)
			abort();
	}
	for (uint64_t offset = 0; offset < 0x4000; offset += 0x10)
		if (unc_symbols_address(s, offset, &address))
			unc_symbols_find(s, address);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	/* A copy, so that a read behind its end is seen. */
	char *copy = malloc(size + 1);
	struct unc_bytes from = {.fd = -1, .bytes = copy, .size = size};
	struct unc_symbols s = {0};

	if (!copy)
		return 0;
	memcpy(copy, data, size);
	if (unc_symbols_read(&s, &from) == 0) {
		check(&s);
		unc_symbols_finish(&s);
	}
	copy[size] = '\0';
	if (unc_symbols_kernel(&s, copy, size) == 0) {
		check(&s);
		unc_symbols_finish(&s);
	}
	return 0;
}

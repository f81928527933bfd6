/* SPDX-License-Identifier: MIT */
/* Names of functions: from an ELF file of 64 bits, or from /proc/kallsyms. A reader of its own,
 * since libelf would be a dependency of each program that uses the library. */
#ifndef UNC_SYMBOLS_H
#define UNC_SYMBOLS_H

#include "base/text.h"

/* A longer build id is cut off: the kernel records no more. */
#define UNC_BUILD_ID_MOST 20
/* Programs have four or five. */
#define UNC_SEGMENTS_MOST 64
/* Bytes that are read or allocated for the symbols of all files together. */
#define UNC_SYMBOLS_MOST ((uint64_t)512 << 20)

struct unc_symbols {
	struct unc_symbol {
		uint64_t start, size;
		uint32_t name;  /* its position in `names` */
		uint32_t flags; /* inside */
	} * items;              /* in the order of `start` */
	size_t count;
	char *names; /* ends with a NUL */
	size_t names_size;
	/* The parts of the file that are loaded, by place in the file. */
	struct unc_segment {
		uint64_t offset, size, address;
	} * segments;
	size_t segment_count;
	unsigned char build_id[UNC_BUILD_ID_MOST];
	size_t build_id_size; /* 0: the file says none */
};

/* Bytes of a file that is open, or in memory if `fd` is -1. */
struct unc_bytes {
	int fd;
	const char *bytes;
	uint64_t size;
	uint64_t *used; /* of UNC_SYMBOLS_MOST; NULL: this file has all of it */
};

/* Reads .symtab, otherwise .dynsym. A function without a size ends with the next one or its
 * section. A file without symbols is no fault. -EBADMSG: no ELF file of 64 bits, little-endian, or
 * one that makes no sense. -EFBIG: more than UNC_SYMBOLS_MOST. -ENOMEM. */
int unc_symbols_read(struct unc_symbols *out, const struct unc_bytes *from);
/* Parses text like that of /proc/kallsyms, and takes it over, also on failure. Addresses that the
 * kernel hides (0) give no symbols. A function ends where any other symbol begins; the last one of
 * the kernel or of a module, with its page. `text` has `size` bytes and a NUL behind them.
 * -ENOMEM. */
int unc_symbols_kernel(struct unc_symbols *out, char *text, size_t size);
void unc_symbols_finish(struct unc_symbols *s);

/* The address of a place in the file; false: it is not loaded. */
bool unc_symbols_address(const struct unc_symbols *s, uint64_t offset, uint64_t *address);
/* The symbol that contains the address; NULL: none. */
const struct unc_symbol *unc_symbols_find(const struct unc_symbols *s, uint64_t address);
const char *unc_symbols_name(const struct unc_symbols *s, const struct unc_symbol *symbol);

#endif

/* SPDX-License-Identifier: MIT */
/* Memory modules from the SMBIOS structure table. Offsets are those of DSP0134 3.7. */
#include "machine/memory.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define MODULES_MOST 1024

enum {
	TYPE_MEMORY_ARRAY = 16,  /* 7.17 */
	TYPE_MEMORY_DEVICE = 17, /* 7.18 */
	TYPE_END = 127,          /* 7.45 */
	HEADER = 4,              /* type, length, handle */
};

/* ---- modules ---- */

/* 7.18.2; the names are those of dmi_memory_id(8). */
static const char *const kinds[] = {
	[0x01] = "Other",  [0x02] = "Unknown",
	[0x03] = "DRAM",   [0x04] = "EDRAM",
	[0x05] = "VRAM",   [0x06] = "SRAM",
	[0x07] = "RAM",    [0x08] = "ROM",
	[0x09] = "Flash",  [0x0a] = "EEPROM",
	[0x0b] = "FEPROM", [0x0c] = "EPROM",
	[0x0d] = "CDRAM",  [0x0e] = "3DRAM",
	[0x0f] = "SDRAM",  [0x10] = "SGRAM",
	[0x11] = "RDRAM",  [0x12] = "DDR",
	[0x13] = "DDR2",   [0x14] = "DDR2 FB-DIMM",
	[0x18] = "DDR3",   [0x19] = "FBD2",
	[0x1a] = "DDR4",   [0x1b] = "LPDDR",
	[0x1c] = "LPDDR2", [0x1d] = "LPDDR3",
	[0x1e] = "LPDDR4", [0x1f] = "Logical non-volatile device",
	[0x20] = "HBM",    [0x21] = "HBM2",
	[0x22] = "DDR5",   [0x23] = "LPDDR5",
	[0x24] = "HBM3",
};

#define KINDS (sizeof(kinds) / sizeof(*kinds))

const char *unc_module_kind(uint8_t kind)
{
	return kind < KINDS && kinds[kind] ? kinds[kind] : "Unknown";
}

uint8_t unc_module_kind_of(const char *name)
{
	for (size_t i = 0; i < KINDS; i++)
		if (kinds[i] && strcmp(kinds[i], name) == 0)
			return (uint8_t)i;
	return 0;
}

bool unc_module_is_dram(uint8_t kind)
{
	return kind != 0x05 && kind != 0x06 && !(kind >= 0x08 && kind <= 0x0c) && kind != 0x1f;
}

void unc_modules_finish(struct unc_modules *m)
{
	free(m->items);
	*m = (struct unc_modules){0};
}

int unc_modules_add(struct unc_modules *m, const struct unc_module *one, struct unc_error *e)
{
	struct unc_module *items;

	if (m->count == MODULES_MOST)
		return unc_fail(e, EBADMSG, "more than %d memory modules", MODULES_MOST);
	items = reallocarray(m->items, m->count + 1, sizeof(*items));
	if (!items)
		return unc_nomem(e);
	m->items = items;
	items[m->count++] = *one;
	return 0;
}

/* ---- structures ---- */

struct structure {
	const uint8_t *data;
	size_t len; /* of the formatted part, without the texts behind it */
};

struct table {
	const uint8_t *data;
	size_t len, at;
	struct unc_error *e;
};

static int fail_at(const struct table *t, const char *what)
{
	return unc_fail(t->e, EBADMSG, "the structure at byte %zu of the SMBIOS table %s", t->at,
			what);
}

/* 1: *s is the next one; 0: end; -EBADMSG. */
static int next_structure(struct table *t, struct structure *s)
{
	size_t left = t->len - t->at, end;

	if (!left)
		return 0;
	s->data = t->data + t->at;
	if (left < HEADER || s->data[1] > left)
		return fail_at(t, "is cut off");
	s->len = s->data[1];
	if (s->len < HEADER)
		return fail_at(t, "is shorter than its header");
	if (s->data[0] == TYPE_END)
		return 0;
	for (end = s->len; end + 1 < left && (s->data[end] || s->data[end + 1]);)
		end++;
	if (end + 1 >= left)
		return fail_at(t, "has texts without an end");
	t->at += end + 2;
	return 1;
}

/* A little-endian number; 0 when an older version of the structure does not have it. */
static unsigned number_at(const struct structure *s, size_t offset, size_t size)
{
	unsigned value = 0;

	for (size_t i = size; i-- > 0 && offset + size <= s->len;)
		value = value << 8 | s->data[offset + i];
	return value;
}

/* ---- memory ---- */

/* Arrays by their handle: which are not the sockets' own memory. */
struct arrays {
	uint8_t others[65536 / 8];
};

static void note_array(struct arrays *a, const struct structure *s)
{
	unsigned handle = number_at(s, 2, 2);
	unsigned location = number_at(s, 4, 1), use = number_at(s, 5, 1);

	if (use != 3 || location == 0xa4) /* system memory; a CXL card */
		a->others[handle / 8] |= (uint8_t)(1u << handle % 8);
}

/* A speed of 16 bits, or in the 32 bits that later versions have for larger ones. */
static unsigned speed_at(const struct structure *s, size_t offset, size_t extended)
{
	unsigned speed = number_at(s, offset, 2);

	return speed == 0xffff ? number_at(s, extended, 4) & 0x7fffffff : speed;
}

static int add_device(const struct arrays *a, const struct structure *s, struct unc_modules *out,
		      struct unc_error *e)
{
	unsigned array = number_at(s, 4, 2), width = number_at(s, 0x0a, 2);
	unsigned technology = number_at(s, 0x28, 1);
	struct unc_module m = {
		.present = number_at(s, 0x0c, 2) != 0,
		.kind = (uint8_t)number_at(s, 0x12, 1),
		.width = width == 0xffff ? 0 : width,
		.rated = speed_at(s, 0x15, 0x54),
		.configured = speed_at(s, 0x20, 0x58),
	};

	/* 5 to 7: NVDIMM-F, NVDIMM-P, Optane, which have DRAM beside them on their channels */
	if (a->others[array / 8] & 1u << array % 8 || !unc_module_is_dram(m.kind) ||
	    (technology >= 5 && technology <= 7))
		return 0;
	return unc_modules_add(out, &m, e);
}

int unc_modules_smbios(struct unc_modules *out, const uint8_t *data, size_t len,
		       struct unc_error *e)
{
	struct table t = {.data = data, .len = len, .e = e};
	struct arrays arrays = {{0}};
	struct unc_modules modules = {0};
	struct structure s = {NULL, 0};
	int r;

	while ((r = next_structure(&t, &s)) == 1)
		if (s.data[0] == TYPE_MEMORY_ARRAY)
			note_array(&arrays, &s);
	t.at = 0;
	while (r == 0 && next_structure(&t, &s) == 1)
		if (s.data[0] == TYPE_MEMORY_DEVICE)
			r = add_device(&arrays, &s, &modules, e);
	if (r < 0) {
		unc_modules_finish(&modules);
		return r;
	}
	*out = modules;
	return 0;
}

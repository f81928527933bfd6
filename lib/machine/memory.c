/* SPDX-License-Identifier: MIT */
/* The peak of a machine's memory, channels x transfers x width, from its SMBIOS table or udev. Offsets are
 * those of DSP0134 3.7. */
#include "machine/memory.h"
#include "base/text.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define TABLE "sys/firmware/dmi/tables/DMI"
#define TABLE_MOST ((size_t)1 << 20)
#define UDEV "run/udev/data/+dmi:id"
#define UDEV_KEY "E:MEMORY_DEVICE_"
#define MODULES_MOST 1024
#define KINDS (sizeof(kinds) / sizeof(*kinds))

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
	struct unc_module *added;

	if (m->count == MODULES_MOST)
		return unc_fail(e, EBADMSG, "more than %d memory modules", MODULES_MOST);
	added = unc_append(&m->items, &m->count, sizeof(*added));
	if (!added)
		return unc_nomem(e);
	*added = *one;
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

/* ---- udev ---- */

static void take_property(struct unc_module *m, const char *key, const char *value)
{
	uint64_t number = 0;
	bool is_size = strcmp(key, "SIZE") == 0;

	if (unc_parse_u64(value, &number) < 0 || number > UINT32_MAX)
		number = is_size; /* a size in bytes may be larger */
	if (number == 0xffff)     /* a larger speed, which udev does not have */
		number = 0;
	if (is_size)
		m->present = number != 0;
	else if (strcmp(key, "DATA_WIDTH") == 0)
		m->width = (unsigned)number;
	else if (strcmp(key, "SPEED_MTS") == 0)
		m->rated = (unsigned)number;
	else if (strcmp(key, "CONFIGURED_SPEED_MTS") == 0)
		m->configured = (unsigned)number;
	else if (strcmp(key, "TYPE") == 0)
		m->kind = unc_module_kind_of(value);
	else if (strcmp(key, "MEMORY_TECHNOLOGY") == 0 &&
		 (strncmp(value, "Intel", 5) == 0 || strncmp(value, "NVDIMM-F", 8) == 0 ||
		  strncmp(value, "NVDIMM-P", 8) == 0))
		m->kind = unc_module_kind_of("Logical non-volatile device");
}

/* "E:MEMORY_DEVICE_12_DATA_WIDTH=64"; other lines are skipped. */
static int take_line(struct unc_modules *all, char *line, struct unc_error *e)
{
	char *value = strchr(line, '='), *key;
	unsigned long index;
	int r = 0;

	if (strncmp(line, UDEV_KEY, strlen(UDEV_KEY)) != 0 || !value)
		return 0;
	*value++ = '\0';
	line += strlen(UDEV_KEY);
	index = strtoul(line, &key, 10);
	if (!unc_is_digit(*line) || *key != '_')
		return 0;
	while (r == 0 && all->count <= index)
		r = unc_modules_add(all, &(struct unc_module){0}, e);
	if (r == 0)
		take_property(&all->items[index], key + 1, value);
	return r;
}

int unc_modules_udev(struct unc_modules *out, char *text, struct unc_error *e)
{
	struct unc_modules all = {0};
	size_t kept = 0;
	char *line;
	int r = 0;

	while (r == 0 && (line = strsep(&text, "\n")))
		r = take_line(&all, line, e);
	if (r < 0) {
		unc_modules_finish(&all);
		return r;
	}
	for (size_t i = 0; i < all.count; i++)
		if (unc_module_is_dram(all.items[i].kind))
			all.items[kept++] = all.items[i];
	all.count = kept;
	*out = all;
	return 0;
}

/* ---- the peak ---- */

/* Bits for error correction are no data, even where firmware includes them. */
static unsigned data_width(const struct unc_module *m)
{
	return m->width == 72 || m->width == 80 ? 64 : m->width;
}

/* Firmware before SMBIOS 3.2 may give the clock, of which each cycle has two transfers; no module
 * runs at just half of its rated speed. */
static double transfers(const struct unc_module *m)
{
	double configured = m->configured;

	if (m->rated && configured * 2 > m->rated * 0.99 && configured * 2 < m->rated * 1.01)
		return m->rated;
	return m->configured ? configured : m->rated;
}

/*
 * Channels of a socket that have a module. The kernel shows a PMU for each channel; each channel has
 * equally many modules, or a part of the channels one each, as vendors require. Without such PMUs only
 * a single module is clear.
 */
static int count_channels(size_t modules, size_t sockets, size_t pmus, unsigned *out,
			  struct unc_error *e)
{
	size_t each = modules / sockets;

	if (modules % sockets)
		return unc_fail(e, ENODATA,
				"the %zu memory modules are not evenly spread over %zu sockets",
				modules, sockets);
	if (!pmus && each > 1)
		return unc_fail(e, ENODATA,
				"no PMU for each memory channel shows which of the %zu modules of "
				"a socket share a channel",
				each);
	if (pmus && each % pmus && pmus % each)
		return unc_fail(e, ENODATA,
				"the %zu modules of a socket are not evenly spread over its %zu "
				"memory channels",
				each, pmus);
	*out = (unsigned)(pmus && pmus < each ? pmus : each);
	return 0;
}

int unc_memory_peak(struct uncore_memory *out, const struct unc_modules *m, size_t sockets,
		    size_t channel_pmus, struct unc_error *e)
{
	struct uncore_memory found = {.from = out->from};
	const struct unc_module *first = NULL;
	int r;

	for (size_t i = 0; i < m->count; i++) {
		const struct unc_module *one = &m->items[i];

		if (!one->present)
			continue;
		first = first ? first : one;
		if (one->kind != first->kind)
			return unc_fail(e, ENODATA, "the modules are of different kinds (%s, %s)",
					unc_module_kind(first->kind), unc_module_kind(one->kind));
		if (!one->width || data_width(one) != data_width(first))
			return unc_fail(e, ENODATA,
					one->width ? "the modules are of different widths"
						   : "the width of a module is not known");
		if (transfers(one) <= 0)
			return unc_fail(e, ENODATA, "the speed of a module is not known");
		if (!found.modules++ || transfers(one) < found.transfers)
			found.transfers = transfers(one);
		found.rated = found.rated || !one->configured;
	}
	if (!first)
		return unc_fail(e, ENODATA, "the firmware lists no memory module");
	r = count_channels(found.modules, sockets, channel_pmus, &found.channels, e);
	if (r < 0)
		return r;
	found.peak = found.channels * (data_width(first) / 8.0) * found.transfers * 1e6;
	*out = found;
	return 0;
}

static int read_udev(struct unc_modules *out, const struct unc_root *root, int denied,
		     struct unc_error *e)
{
	char *text = NULL;
	int r = unc_root_read(root, UDEV, &text);

	if (r == -ENOMEM)
		return unc_nomem(e);
	if (r == 0)
		r = unc_modules_udev(out, text, e);
	free(text);
	if (r == 0 && out->count)
		return 0;
	return unc_fail(e, ENODATA, "%s, and udev has no record of the modules (%s)",
			denied == -EACCES ? "only root may read the SMBIOS table (" TABLE ")"
					  : "there is no SMBIOS table (" TABLE ")",
			UDEV);
}

int unc_memory_read(struct uncore_memory *out, const struct unc_root *root, size_t sockets,
		    size_t channel_pmus, struct unc_error *e)
{
	struct uncore_memory found = {.from = "SMBIOS"};
	struct unc_modules modules = {0};
	char *table = NULL;
	size_t len = 0;
	int r = unc_root_read_bytes(root, TABLE, TABLE_MOST, &table, &len);

	if (r == -ENOMEM)
		return unc_nomem(e);
	if (r < 0) {
		found.from = "udev";
		r = read_udev(&modules, root, r, e);
	} else {
		r = unc_modules_smbios(&modules, (const uint8_t *)table, len, e);
		free(table);
	}
	if (r == 0)
		r = unc_memory_peak(&found, &modules, sockets, channel_pmus, e);
	unc_modules_finish(&modules);
	if (r == 0)
		*out = found;
	return r;
}

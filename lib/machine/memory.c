/* SPDX-License-Identifier: MIT */
/* The peak of a machine's memory, channels x transfers x width, from its SMBIOS table or udev, whose offsets are
 * those of DSP0134 3.7; or of AMD's driver hsmp. */
#include "machine/topology.h"

#include <math.h>

#define TABLE "sys/firmware/dmi/tables/DMI"
#define TABLE_MOST ((size_t)1 << 20)
#define UDEV "run/udev/data/+dmi:id"
#define UDEV_KEY "E:MEMORY_DEVICE_"
#define HSMP "sys/devices/platform/AMDI0097:%02zx/%s" /* of each socket */
#define MODULES_MOST 1024
#define KINDS (sizeof(kinds) / sizeof(*kinds))

enum {
	TYPE_MEMORY_ARRAY = 16,  /* 7.17 */
	TYPE_MEMORY_DEVICE = 17, /* 7.18 */
	TYPE_END = 127,          /* 7.45 */
	HEADER = 4,              /* type, length, handle */
	NON_VOLATILE = 0x1f,     /* a memory type, 7.18.2 */
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
	[0x1e] = "LPDDR4", [NON_VOLATILE] = "Logical non-volatile device",
	[0x20] = "HBM",    [0x21] = "HBM2",
	[0x22] = "DDR5",   [0x23] = "LPDDR5",
	[0x24] = "HBM3",
};

const char *unc_module_kind(uint8_t kind)
{
	return kind < KINDS && kinds[kind] ? kinds[kind] : "Unknown";
}

bool unc_module_is_dram(uint8_t kind)
{
	return kind != 0x05 && kind != 0x06 && !(kind >= 0x08 && kind <= 0x0c) &&
	       kind != NON_VOLATILE;
}

void unc_modules_finish(struct unc_modules *m)
{
	free(m->items);
	*m = (struct unc_modules){0};
}

/* ---- SMBIOS ---- */

struct table {
	const uint8_t *data;
	size_t len;
	const uint8_t *at; /* the current structure */
	size_t size;       /* of its formatted part, without the texts behind it */
	size_t next;
};

/* 1: there is another structure; 0: end; -EBADMSG. */
static int next_structure(struct table *t, struct unc_error *e)
{
	size_t left = t->len - t->next, end;
	const char *wrong;

	t->at = t->data + t->next;
	if (!left)
		return 0;
	if (left < HEADER || t->at[1] > left) {
		wrong = "is cut off";
	} else if (t->at[1] < HEADER) {
		wrong = "is shorter than its header";
	} else if (t->at[0] == TYPE_END) {
		return 0;
	} else {
		for (end = t->at[1]; end + 1 < left && (t->at[end] || t->at[end + 1]);)
			end++;
		wrong = end + 1 < left ? NULL : "has texts without an end";
		t->size = t->at[1];
	}
	if (wrong)
		return unc_fail(e, EBADMSG, "the structure at byte %zu of the SMBIOS table %s",
				t->next, wrong);
	t->next += end + 2;
	return 1;
}

/* A little-endian number; 0 when an older version of the structure does not have it. */
static unsigned number_at(const struct table *t, size_t offset, size_t size)
{
	unsigned value = 0;

	for (size_t i = size; i-- > 0 && offset + size <= t->size;)
		value = value << 8 | t->at[offset + i];
	return value;
}

/* A speed of 16 bits, or in the 32 bits that later versions have for larger ones. */
static unsigned speed_at(const struct table *t, size_t offset, size_t extended)
{
	unsigned speed = number_at(t, offset, 2);

	return speed == 0xffff ? number_at(t, extended, 4) & 0x7fffffff : speed;
}

int unc_modules_smbios(struct unc_modules *out, const uint8_t *data, size_t len,
		       struct unc_error *e)
{
	uint8_t others[65536 / 8] = {0}; /* by handle: arrays that are not the sockets' memory */
	struct table t = {.data = data, .len = len};
	struct unc_modules modules = {0};
	int r;

	while ((r = next_structure(&t, e)) == 1) {
		unsigned handle = number_at(&t, 2, 2);
		bool is_cxl_card = number_at(&t, 4, 1) == 0xa4;
		bool is_system_memory = number_at(&t, 5, 1) == 3;

		if (t.at[0] == TYPE_MEMORY_ARRAY && (!is_system_memory || is_cxl_card))
			others[handle / 8] |= (uint8_t)(1u << handle % 8);
	}
	t.next = 0;
	while (r == 0 && next_structure(&t, e) == 1) {
		unsigned array = number_at(&t, 4, 2), width = number_at(&t, 0x0a, 2);
		uint8_t kind = (uint8_t)number_at(&t, 0x12, 1);
		unsigned technology = number_at(&t, 0x28, 1);
		const struct unc_module m = {.present = number_at(&t, 0x0c, 2) != 0,
					     .kind = kind,
					     .width = width == 0xffff ? 0 : width,
					     .rated = speed_at(&t, 0x15, 0x54),
					     .configured = speed_at(&t, 0x20, 0x58)};

		/* 5 to 7: NVDIMM-F, NVDIMM-P, Optane, which have DRAM beside them on their channels */
		if (t.at[0] != TYPE_MEMORY_DEVICE || others[array / 8] & 1u << array % 8 ||
		    !unc_module_is_dram(kind) || (technology >= 5 && technology <= 7))
			continue;
		if (UNC_ADD(&modules.items, &modules.count, &m) < 0)
			r = unc_nomem(e);
	}
	if (r < 0)
		unc_modules_finish(&modules);
	else
		*out = modules;
	return r;
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
	else if (strcmp(key, "MEMORY_TECHNOLOGY") == 0 &&
		 (strncmp(value, "Intel", 5) == 0 || strncmp(value, "NVDIMM-F", 8) == 0 ||
		  strncmp(value, "NVDIMM-P", 8) == 0))
		m->kind = NON_VOLATILE;
	else if (strcmp(key, "TYPE") == 0)
		for (size_t i = m->kind = 0; i < KINDS; i++)
			if (kinds[i] && strcmp(kinds[i], value) == 0)
				m->kind = (uint8_t)i;
}

int unc_modules_udev(struct unc_modules *out, char *text, struct unc_error *e)
{
	struct unc_modules all = {0};
	size_t kept = 0;
	char *line, *key, *value;
	int r = 0;

	/* "E:MEMORY_DEVICE_12_DATA_WIDTH=64" */
	while (r == 0 && (line = strsep(&text, "\n"))) {
		const char *number = line + strlen(UDEV_KEY);
		unsigned long index;

		value = strchr(line, '=');
		if (!value || strncmp(line, UDEV_KEY, strlen(UDEV_KEY)) != 0 ||
		    !unc_is_digit(*number))
			continue;
		*value++ = '\0';
		index = strtoul(number, &key, 10);
		if (*key != '_')
			continue;
		if (index >= MODULES_MOST)
			r = unc_fail(e, EBADMSG, "more than %d memory modules", MODULES_MOST);
		while (r == 0 && all.count <= index)
			if (!unc_append(&all.items, &all.count, sizeof(*all.items)))
				r = unc_nomem(e);
		if (r == 0)
			take_property(&all.items[index], key + 1, value);
	}
	for (size_t i = 0; i < all.count; i++)
		if (unc_module_is_dram(all.items[i].kind))
			all.items[kept++] = all.items[i];
	all.count = kept;
	if (r < 0)
		unc_modules_finish(&all);
	else
		*out = all;
	return r;
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

int unc_memory_peak(struct uncore_memory *out, const struct unc_modules *m, size_t sockets,
		    size_t channel_pmus, struct unc_error *e)
{
	struct uncore_memory found = {.from = out->from, .used = out->used};
	const struct unc_module *first = NULL;
	size_t each;

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
	/*
	 * Channels of a socket that have a module. The kernel shows a PMU for each channel; each
	 * channel has equally many modules, or a part of the channels one each, as vendors require.
	 * Without such PMUs only a single module is clear.
	 */
	each = found.modules / sockets;
	if (found.modules % sockets)
		return unc_fail(e, ENODATA,
				"the %zu memory modules are not evenly spread over %zu sockets",
				found.modules, sockets);
	if (!channel_pmus && each > 1)
		return unc_fail(e, ENODATA,
				"no PMU for each memory channel shows which of the %zu modules of "
				"a socket share a channel",
				each);
	if (channel_pmus && each % channel_pmus && channel_pmus % each)
		return unc_fail(e, ENODATA,
				"the %zu modules of a socket are not evenly spread over its %zu "
				"memory channels",
				each, channel_pmus);
	found.channels = (unsigned)(channel_pmus && channel_pmus < each ? channel_pmus : each);
	found.peak = found.channels * (data_width(first) / 8.0) * found.transfers * 1e6;
	*out = found;
	return 0;
}

/* ---- the driver hsmp of AMD ---- */

static double hsmp_value(const struct unc_root *root, size_t socket, const char *file)
{
	double value = NAN;
	uint64_t number;
	char *text;

	if (unc_root_read_line(root, UNC_PATH(HSMP, socket, file), &text) < 0)
		return NAN;
	if (unc_parse_u64(text, &number) == 0)
		value = (double)number;
	free(text);
	return value;
}

/* Both numbers are rounded, so that channels are not quite whole. */
static bool is_whole(double channels, size_t least, size_t most)
{
	double whole = round(channels);

	return fabs(channels - whole) < 0.1 && whole >= (double)least && whole <= (double)most;
}

/* Fills `used`, and the peak unless the modules gave one. The kernel's manual says GB/s of both, its header Gbit/s: the
 * unit is the one that makes whole channels, as many as have modules or at most as many as have a PMU. */
static int read_hsmp(struct uncore_memory *m, const struct unc_root *root, size_t sockets,
		     size_t channel_pmus, struct unc_error *e)
{
	double most = hsmp_value(root, 0, "ddr_max_bw"), mhz = hsmp_value(root, 0, "mclk_input");
	double channels = most * 1e3 / (mhz * 2 * 8), peak, used = 0;
	size_t least = m->channels ? m->channels : 1;
	size_t limit = m->channels ? m->channels : channel_pmus;
	bool bytes = is_whole(channels, least, limit), bits = is_whole(channels / 8, least, limit);
	double unit = bytes ? 1e9 : 1e9 / 8;

	if (isnan(most) || isnan(mhz))
		return -ENODATA;
	if (bytes == bits) {
		if (!m->channels)
			unc_error_append(
				e, "; the driver hsmp has a peak (ddr_max_bw), but %s",
				bytes ? "it may be in GB/s or in Gbit/s"
				: channel_pmus
					? "it is no whole number of channels that this machine has"
					: "no PMU for each memory channel shows its unit");
		return -ENODATA;
	}
	channels = round(bytes ? channels : channels / 8);
	peak = channels * 8 * 2 * mhz * 1e6;
	for (size_t i = 0; i < sockets; i++)
		used += hsmp_value(root, i, "ddr_utilised_bw_input") * unit;
	m->used = used <= (double)sockets * (peak + unit) ? used : NAN;
	if (m->channels)
		return 0;
	m->from = "hsmp, unit inferred";
	m->transfers = 2 * mhz;
	m->channels = (unsigned)channels;
	m->peak = peak;
	return 0;
}

int unc_memory_read(struct uncore_memory *out, const struct unc_root *root, size_t sockets,
		    size_t channel_pmus, struct unc_error *e)
{
	struct uncore_memory found = {.from = "SMBIOS", .used = NAN};
	struct unc_modules modules = {0};
	char *text = NULL;
	size_t len = 0;
	int r = unc_root_read_bytes(root, TABLE, TABLE_MOST, &text, &len);
	const char *table = r == -EACCES ? "only root may read the SMBIOS table (" TABLE ")"
					 : "there is no SMBIOS table (" TABLE ")";

	if (r == 0) {
		r = unc_modules_smbios(&modules, (const uint8_t *)text, len, e);
	} else if (r != -ENOMEM) {
		found.from = "udev";
		r = unc_root_read(root, UDEV, &text);
		if (r == 0)
			r = unc_modules_udev(&modules, text, e);
		if (r != -ENOMEM && !modules.count)
			r = unc_fail(e, ENODATA,
				     "%s, and udev has no record of the modules (" UDEV ")", table);
	}
	free(text);
	if (r == -ENOMEM)
		return unc_nomem(e);
	if (r == 0)
		r = unc_memory_peak(&found, &modules, sockets, channel_pmus, e);
	unc_modules_finish(&modules);
	if (read_hsmp(&found, root, sockets, channel_pmus, e) == 0)
		r = 0;
	if (r == 0)
		*out = found;
	return r;
}

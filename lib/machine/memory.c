/* SPDX-License-Identifier: MIT */
/* The peak of a machine's memory: channels x transfers x width. The sources are its SMBIOS table
 * (offsets by DSP0134 3.7), udev's copy of it, and AMD's driver hsmp. */
#include "machine/topology.h"

#include <math.h>

#define TABLE "sys/firmware/dmi/tables/DMI"
#define TABLE_MOST ((size_t)1 << 20)
#define ENTRIES "sys/firmware/dmi/entries" /* the table in parts, also in kernels before 4.2 */
#define UDEV "run/udev/data/+dmi:id"
#define UDEV_KEY "E:MEMORY_DEVICE_"
#define HSMP "sys/devices/platform/AMDI0097:%02zx/%s" /* one for each socket */
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

/* Memory types, 7.18.2, with the names of dmi_memory_id(8). `slowest` is the lowest limit of the
 * type in JEDEC JESD79F, JESD79-2F, JESD79-3F, JESD79-4D and JESD79-5C. `fastest` is above the
 * speed of all modules that are sold. No module that is sold is rated below `sold`, though modules
 * can run at lower speeds. */
static const struct {
	const char *name;
	unsigned slowest, fastest; /* MT/s; 0: unknown */
	unsigned sold;             /* the lowest rating */
} kinds[] = {
	[0x01] = {"Other", 0, 0, 0},
	[0x02] = {"Unknown", 0, 0, 0},
	[0x03] = {"DRAM", 0, 0, 0},
	[0x04] = {"EDRAM", 0, 0, 0},
	[0x05] = {"VRAM", 0, 0, 0},
	[0x06] = {"SRAM", 0, 0, 0},
	[0x07] = {"RAM", 0, 0, 0},
	[0x08] = {"ROM", 0, 0, 0},
	[0x09] = {"Flash", 0, 0, 0},
	[0x0a] = {"EEPROM", 0, 0, 0},
	[0x0b] = {"FEPROM", 0, 0, 0},
	[0x0c] = {"EPROM", 0, 0, 0},
	[0x0d] = {"CDRAM", 0, 0, 0},
	[0x0e] = {"3DRAM", 0, 0, 0},
	[0x0f] = {"SDRAM", 0, 0, 0},
	[0x10] = {"SGRAM", 0, 0, 0},
	[0x11] = {"RDRAM", 0, 0, 0},
	[0x12] = {"DDR", 200, 600, 0},
	[0x13] = {"DDR2", 400, 1300, 0},
	[0x14] = {"DDR2 FB-DIMM", 400, 1300, 0},
	[0x18] = {"DDR3", 800, 3200, 1066},
	[0x19] = {"FBD2", 400, 1300, 0},
	[0x1a] = {"DDR4", 1600, 5400, 1866},
	[0x1b] = {"LPDDR", 0, 0, 0},
	[0x1c] = {"LPDDR2", 0, 0, 0},
	[0x1d] = {"LPDDR3", 0, 0, 0},
	[0x1e] = {"LPDDR4", 0, 0, 0},
	[NON_VOLATILE] = {"Logical non-volatile device", 0, 0, 0},
	[0x20] = {"HBM", 0, 0, 0},
	[0x21] = {"HBM2", 0, 0, 0},
	[0x22] = {"DDR5", 3200, 13000, 4000},
	[0x23] = {"LPDDR5", 0, 0, 0},
	[0x24] = {"HBM3", 0, 0, 0},
};

const char *unc_module_kind(uint8_t kind)
{
	return kind < KINDS && kinds[kind].name ? kinds[kind].name : "Unknown";
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
	size_t size;       /* size of its formatted part, without the texts that follow */
	size_t next;
};

/* Goes to the next structure. Returns 1, 0 at the end, or -EBADMSG. The sentence does not depend on
 * earlier structures, since a snapshot does not have all of them. */
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
	if (wrong && left < HEADER)
		return unc_fail(e, EBADMSG, "the last structure of the SMBIOS table %s", wrong);
	if (wrong)
		return unc_fail(e, EBADMSG,
				"the SMBIOS structure with handle 0x%02x%02x (type %u) %s",
				t->at[3], t->at[2], t->at[0], wrong);
	t->next += end + 2;
	return 1;
}

/* A little-endian number; 0 if the structure's version is too old to have it. */
static unsigned number_at(const struct table *t, size_t offset, size_t size)
{
	unsigned value = 0;

	for (size_t i = size; i-- > 0 && offset + size <= t->size;)
		value = value << 8 | t->at[offset + i];
	return value;
}

/* A speed of 16 bits, or of the 32 bits that later versions have for greater speeds. */
static unsigned speed_at(const struct table *t, size_t offset, size_t extended)
{
	unsigned speed = number_at(t, offset, 2);

	return speed == 0xffff ? number_at(t, extended, 4) & 0x7fffffff : speed;
}

/* Reads the text whose number (from 1; 0: none) is at the offset. Texts follow the formatted part;
 * next_structure() has checked that they end. */
static void text_at(const struct table *t, size_t offset, char text[UNC_LOCATOR_ROOM])
{
	const char *at = (const char *)t->at + t->size;
	unsigned number = number_at(t, offset, 1);

	for (unsigned i = 1; i < number && *at; i++)
		at += strlen(at) + 1;
	snprintf(text, UNC_LOCATOR_ROOM, "%s", number ? at : "");
}

int unc_modules_smbios(struct unc_modules *out, const uint8_t *data, size_t len,
		       struct unc_error *e)
{
	/* A bit for each handle of an array that is not system memory. */
	uint8_t others[65536 / 8] = {0};
	struct table t = {.data = data, .len = len};
	struct unc_modules modules = {0};
	int r;

	while ((r = next_structure(&t, e)) == 1) {
		unsigned handle = number_at(&t, 2, 2);
		bool is_cxl_card = number_at(&t, 4, 1) == 0xa4;
		bool is_system_memory = number_at(&t, 5, 1) == 3;

		if (t.at[0] == TYPE_MEMORY_ARRAY && (!is_system_memory || is_cxl_card))
			others[handle / 8] |= (uint8_t)(1u << handle % 8);
		else if (t.at[0] == TYPE_MEMORY_ARRAY)
			modules.slots += number_at(&t, 0x0d, 2);
	}
	t.next = 0;
	while (r == 0 && next_structure(&t, e) == 1) {
		unsigned array = number_at(&t, 4, 2), width = number_at(&t, 0x0a, 2);
		uint8_t kind = (uint8_t)number_at(&t, 0x12, 1);
		unsigned technology = number_at(&t, 0x28, 1);
		struct unc_module m = {.present = number_at(&t, 0x0c, 2) != 0,
				       .kind = kind,
				       .width = width == 0xffff ? 0 : width,
				       .rated = speed_at(&t, 0x15, 0x54),
				       .configured = speed_at(&t, 0x20, 0x58)};

		/* 5 to 7: NVDIMM-F, NVDIMM-P, Optane; their channels have DRAM, too */
		if (t.at[0] != TYPE_MEMORY_DEVICE || others[array / 8] & 1u << array % 8 ||
		    !unc_module_is_dram(kind) || (technology >= 5 && technology <= 7))
			continue;
		text_at(&t, 0x10, m.locator);
		text_at(&t, 0x11, m.bank);
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
		number = is_size; /* only a size in bytes may be larger */
	if (number == 0xffff)     /* udev does not have the extended speed */
		number = 0;
	if (is_size)
		m->present = number != 0;
	else if (strcmp(key, "DATA_WIDTH") == 0)
		m->width = (unsigned)number;
	else if (strcmp(key, "SPEED_MTS") == 0)
		m->rated = (unsigned)number;
	else if (strcmp(key, "CONFIGURED_SPEED_MTS") == 0)
		m->configured = (unsigned)number;
	else if (strcmp(key, "LOCATOR") == 0)
		snprintf(m->locator, sizeof(m->locator), "%s", value);
	else if (strcmp(key, "BANK_LOCATOR") == 0)
		snprintf(m->bank, sizeof(m->bank), "%s", value);
	else if (strcmp(key, "MEMORY_TECHNOLOGY") == 0 &&
		 (strncmp(value, "Intel", 5) == 0 || strncmp(value, "NVDIMM-F", 8) == 0 ||
		  strncmp(value, "NVDIMM-P", 8) == 0))
		m->kind = NON_VOLATILE;
	else if (strcmp(key, "TYPE") == 0)
		for (size_t i = m->kind = 0; i < KINDS; i++)
			if (kinds[i].name && strcmp(kinds[i].name, value) == 0)
				m->kind = (uint8_t)i;
}

int unc_modules_udev(struct unc_modules *out, char *text, struct unc_error *e)
{
	struct unc_modules all = {0};
	size_t kept = 0;
	char *line, *key, *value;
	int r = 0;

	/* Lines such as "E:MEMORY_DEVICE_12_DATA_WIDTH=64". */
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

/* ---- the sockets of modules ---- */

#define PLACES_MOST 64

/* The number after one of the words: "P2-DIMMA1" and the word P give 2. -1: there is none. */
static int number_after(const char *text, const char *const *words)
{
	for (const char *at = text; *at; at++) {
		size_t len = strspn(at, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ");
		const char *digits = at + len + strspn(at + len, " _-.:");
		uint64_t number;

		for (size_t i = 0; len && words[i]; i++)
			if (strlen(words[i]) == len && strncasecmp(words[i], at, len) == 0 &&
			    unc_take_digits(&digits, 10, 2, &number))
				return (int)number;
		at += len ? len - 1 : 0;
	}
	return -1;
}

static int by_word(const struct unc_module *m, const char *const *words)
{
	int number = number_after(m->locator, words);

	return number < 0 ? number_after(m->bank, words) : number;
}

static int by_processor(const struct unc_module *m)
{
	return by_word(m, (const char *const[]){"P", "CPU", "PROC", "PROCESSOR", "SOCKET", NULL});
}

static int by_node(const struct unc_module *m)
{
	return by_word(m, (const char *const[]){"NODE", NULL});
}

/* The letter of "A1" or "DIMM_B12". In Dell's names it is the processor, in others the channel. */
static int by_letter(const struct unc_module *m)
{
	const char *at = m->locator;
	uint64_t number;
	int letter;

	if (strncasecmp(at, "DIMM", 4) == 0)
		at += 4 + strspn(at + 4, " _-");
	letter = *at >= 'A' && *at <= 'Z' ? *at++ - 'A' : -1;
	return letter >= 0 && unc_take_digits(&at, 10, 2, &number) && !*at ? letter : -1;
}

enum spread { SPREAD_UNKNOWN, SPREAD_EVEN, SPREAD_UNEVEN };

/* How the modules are spread over sockets, by a part of the slots' names with one value for each
 * socket. A table may list only the slots with a module: a processor that it does not name then has
 * no module. */
static enum spread spread_by_name(const struct unc_modules *m, size_t sockets,
				  int (*place)(const struct unc_module *))
{
	size_t slots[PLACES_MOST] = {0}, modules[PLACES_MOST] = {0}, named = 0;
	bool equal = true;

	for (size_t i = 0; i < m->count; i++) {
		int at = place(&m->items[i]);

		if (at < 0 || at >= PLACES_MOST)
			return SPREAD_UNKNOWN;
		named += !slots[at]++;
		modules[at] += m->items[i].present;
	}
	for (size_t at = 0, first = PLACES_MOST; at < PLACES_MOST; at++) {
		if (slots[at] && first == PLACES_MOST)
			first = at;
		equal = equal && (!slots[at] || modules[at] == modules[first]);
	}
	if (named < sockets && named)
		return SPREAD_UNEVEN;
	return named != sockets ? SPREAD_UNKNOWN : equal ? SPREAD_EVEN : SPREAD_UNEVEN;
}

/* How the modules are spread over sockets, by their order: firmware lists the slots of one socket
 * after those of another. If all slots are listed, a pattern that repeats means an even spread. */
static enum spread spread_by_order(const struct unc_modules *m, size_t sockets)
{
	bool even = m->count % sockets == 0, all_present = true;

	for (size_t i = 0; even && i < m->count; i++) {
		even = m->items[i].present == m->items[i % (m->count / sockets)].present;
		all_present = all_present && m->items[i].present;
	}
	return even && (!all_present || m->slots == m->count) ? SPREAD_EVEN : SPREAD_UNKNOWN;
}

static enum spread spread_over(const struct unc_modules *m, size_t sockets)
{
	static int (*const places[])(const struct unc_module *) = {by_processor, by_node,
								   by_letter};
	enum spread spread = sockets == 1 ? SPREAD_EVEN : SPREAD_UNKNOWN;
	/* If not all slots are listed, the letters may be channels of one socket, even if there are
	 * as many as sockets. So letters are then not used. */
	size_t count = sizeof(places) / sizeof(*places) - (m->slots > m->count);

	for (size_t i = 0; !spread && i < count; i++)
		spread = spread_by_name(m, sockets, places[i]);
	if (!spread)
		spread = spread_by_order(m, sockets);
	return spread;
}

/* ---- the channels of modules ---- */

#define CHANNELS_MOST 128
/* A channel has no more modules than this. If it seems to have more, the names mean something
 * else. */
#define SLOTS_OF_CHANNEL 3

/* The channel by the name of a slot; -1: unknown. "P0 CHANNEL A", "ChannelB-DIMM0": the letter or
 * number after the word. "DIMM_A1", "P1-DIMMB2": the letter. */
static int named_channel(const struct unc_module *m, bool *by_word)
{
	const char *at = strcasestr(m->bank, "channel"), *digits;
	uint64_t number;

	if (!at)
		at = strcasestr(m->locator, "channel");
	*by_word = at;
	if (at) {
		digits = at += 7 + strspn(at + 7, " _-.:");
		if (unc_take_digits(&digits, 10, 2, &number))
			return (int)number;
		return *at >= 'A' && *at <= 'Z' && ((at[1] | 0x20) < 'a' || (at[1] | 0x20) > 'z')
			       ? *at - 'A'
			       : -1;
	}
	at = strcasestr(m->locator, "dimm");
	at = at ? at + 4 + strspn(at + 4, " _-") : "";
	digits = at + 1;
	if (*at < 'A' || *at > 'Z' || !unc_take_digits(&digits, 10, 1, &number) || *digits)
		return -1;
	return *at - 'A';
}

/* How many channels have a module, by the names of the slots; 0: unknown. */
static size_t channels_by_name(const struct unc_modules *m, size_t sockets)
{
	struct {
		int processor, node, channel;
		size_t slots, modules;
	} met[CHANNELS_MOST];
	size_t count = 0, used = 0;
	bool all_by_word = true;

	for (size_t i = 0; i < m->count; i++) {
		const struct unc_module *one = &m->items[i];
		int processor = by_processor(one), node = by_node(one);
		bool by_word;
		int channel = named_channel(one, &by_word);
		size_t k = 0;

		while (k < count && (met[k].processor != processor || met[k].node != node ||
				     met[k].channel != channel))
			k++;
		if (channel < 0 || k == CHANNELS_MOST)
			return 0;
		if (k == count) {
			met[count].processor = processor;
			met[count].node = node;
			met[count].channel = channel;
			met[count].slots = met[count].modules = 0;
			count++;
		}
		used += one->present && !met[k].modules;
		met[k].modules += one->present;
		if (++met[k].slots > SLOTS_OF_CHANNEL)
			return 0;
		all_by_word = all_by_word && by_word;
	}
	/* In Dell's names the letter is the processor, which has many slots. */
	if (!all_by_word && ((sockets > 1 && count == sockets) || m->slots > m->count))
		return 0;
	return used;
}

/* ---- the peak ---- */

/* The width without bits for error correction, which some firmware includes. */
static unsigned data_width(const struct unc_module *m)
{
	return m->width == 72 || m->width == 80 ? 64 : m->width;
}

/* The transfers in a second; NaN: unknown. Firmware before SMBIOS 3.2, and some later firmware,
 * gives the clock, which has two transfers in each cycle. A value below the slowest speed of the
 * type is a clock. */
static double transfers(const struct unc_module *m)
{
	double speed = m->configured ? m->configured : m->rated;
	unsigned slowest = m->kind < KINDS ? kinds[m->kind].slowest : 0;
	unsigned fastest = m->kind < KINDS ? kinds[m->kind].fastest : 0;
	bool is_half = speed * 2 > m->rated * 0.99 && speed * 2 < m->rated * 1.01;

	/* A rating may be a clock, too: 1600 for DDR4-3200. Such a value may be either. */
	if (slowest && speed >= slowest && speed < kinds[m->kind].sold &&
	    m->rated < kinds[m->kind].sold)
		return NAN;
	/* A value of half the rating may be a clock, or the speed of a module that runs at half. If
	 * `fastest` is unknown, any value that differs from the rating may be either. */
	if (m->rated && speed >= slowest && (is_half || (!fastest && (unsigned)speed != m->rated)))
		return NAN;
	if (m->rated && is_half)
		speed = m->rated;
	else if (slowest && speed < slowest)
		speed *= 2;
	return fastest && (speed < slowest || speed > fastest) ? NAN : speed;
}

/* Checks whether the modules show the peak. Returns 0, or why they do not. */
static int check_modules(const struct unc_modules *m, struct uncore_memory *found,
			 const struct unc_module **out, struct unc_error *e)
{
	const struct unc_module *first = NULL;

	for (size_t i = 0; i < m->count; i++) {
		const struct unc_module *one = &m->items[i];
		const char *kind = unc_module_kind(one->kind);
		double speed = transfers(one);

		if (!one->present)
			continue;
		if (!first)
			first = one;
		if (one->kind != first->kind)
			return unc_fail(e, ENODATA, "the modules are of different kinds (%s, %s)",
					unc_module_kind(first->kind), kind);
		if (!one->width || data_width(one) != data_width(first))
			return unc_fail(e, ENODATA,
					one->width ? "the modules are of different widths"
						   : "the width of a module is not known");
		if (!one->configured && !one->rated)
			return unc_fail(e, ENODATA, "the speed of a module is not known");
		if (isnan(speed))
			return unc_fail(
				e, ENODATA,
				"the firmware says %u MT/s of a %s module, and nothing shows whether "
				"that is its speed or its clock",
				one->configured ? one->configured : one->rated, kind);
		if (!found->modules++ || speed < found->transfers)
			found->transfers = speed;
		found->rated = found->rated || !one->configured;
	}
	if (!first)
		return unc_fail(e, ENODATA, "the firmware lists no memory module");
	*out = first;
	return 0;
}

int unc_memory_peak(struct uncore_memory *out, const struct unc_modules *m, size_t sockets,
		    size_t channel_pmus, struct unc_error *e)
{
	struct uncore_memory found = {.from = out->from, .used = out->used};
	const struct unc_module *first = NULL;
	enum spread spread;
	size_t each, named = channel_pmus ? channels_by_name(m, sockets) : 0;
	int r = check_modules(m, &found, &first, e);

	if (r < 0)
		return r;
	/*
	 * The channels of a socket that have a module. The kernel shows a PMU for each channel.
	 * Vendors require that each channel has the same number of modules, or that some channels
	 * have one each. Without such PMUs only a single module is clear.
	 */
	each = found.modules / sockets;
	spread = found.modules % sockets ? SPREAD_UNEVEN : spread_over(m, sockets);
	if (spread != SPREAD_EVEN)
		return unc_fail(
			e, ENODATA,
			spread == SPREAD_UNEVEN
				? "the %zu memory modules are not evenly spread over %zu sockets"
				: "the firmware does not say how the %zu memory modules are "
				  "spread over %zu sockets",
			found.modules, sockets);
	if (!channel_pmus && each > 1)
		return unc_fail(e, ENODATA,
				"no PMU for each memory channel shows which of the %zu modules of "
				"a socket share a channel",
				each);
	if (named && named % sockets == 0 && named / sockets <= channel_pmus)
		each = named / sockets;
	else if (channel_pmus && each % channel_pmus && channel_pmus % each)
		return unc_fail(e, ENODATA,
				"the %zu modules of a socket are not evenly spread over its %zu "
				"memory channels",
				each, channel_pmus);
	found.channels = (unsigned)(channel_pmus && channel_pmus < each ? channel_pmus : each);
	found.peak = found.channels * (data_width(first) / 8.0) * found.transfers * 1e6;
	*out = found;
	return 0;
}

/* ---- AMD's driver hsmp ---- */

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

/* True if this may be a whole number of channels. Both numbers are rounded, so it is not exact. */
static bool is_whole(double channels, size_t least, size_t most)
{
	double whole = round(channels);

	return fabs(channels - whole) < 0.1 && whole >= (double)least && whole <= (double)most;
}

/* Sets `used`, and the peak unless the modules gave one. The kernel's manual says that both numbers
 * are GB/s, its header Gbit/s. The right unit is the one that gives a whole number of channels: the
 * number with modules, or otherwise at most the number with a PMU. */
static int read_hsmp(struct uncore_memory *m, const struct unc_root *root, size_t sockets,
		     size_t channel_pmus, struct unc_error *e)
{
	double most = hsmp_value(root, 0, "ddr_max_bw"), mhz = hsmp_value(root, 0, "mclk_input");
	double channels = most * 1e3 / (mhz * 2 * 8), peak, used = 0, unit;
	size_t least = m->channels ? m->channels : 1;
	size_t limit = m->channels ? m->channels : channel_pmus;
	bool bytes, bits;

	if (isnan(most) || isnan(mhz))
		return -ENODATA;
	bytes = is_whole(channels, least, limit);
	bits = is_whole(channels / 8, least, limit);
	unit = bytes ? 1e9 : 1e9 / 8;
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

/* Appends a file to the bytes. Returns -ENOMEM, or an error of reading. */
static int append_file(const struct unc_root *root, const char *path, char **bytes, size_t *len)
{
	char *more = NULL, *all;
	size_t size;
	int r = unc_root_read_bytes(root, path, TABLE_MOST, &more, &size);

	if (r < 0)
		return r;
	all = realloc(*bytes, *len + size + 1);
	if (all) {
		memcpy(all + *len, more, size);
		*bytes = all;
		*len += size;
	}
	free(more);
	return all ? 0 : -ENOMEM;
}

/* Appends a file with one structure. */
static int append_entry(const struct unc_root *root, const char *name, char **bytes, size_t *len,
			struct unc_error *e)
{
	size_t before = *len;
	int r = append_file(root, UNC_PATH(ENTRIES "/%s/raw", name), bytes, len);
	struct table one;

	if (r < 0)
		return r;
	one = (struct table){.data = (const uint8_t *)*bytes + before, .len = *len - before};
	r = next_structure(&one, e);
	if (r < 0)
		unc_error_append(e, " (" ENTRIES "/%s/raw)", name);
	return r < 0 ? r : 0;
}

/* Reads the table, or otherwise the files of the driver dmi-sysfs: one for each array of memory,
 * and one for each module. Returns -EBADMSG if one of these is broken. */
static int read_table(const struct unc_root *root, char **bytes, size_t *len, struct unc_error *e)
{
	struct unc_names names = {0};
	int r = append_file(root, TABLE, bytes, len);

	if (r != -ENOENT || unc_root_list(root, ENTRIES, &names) < 0)
		return r;
	for (size_t i = 0; i < names.count && (r == 0 || r == -ENOENT) && *len < TABLE_MOST; i++)
		if (unc_glob_matches("1[67]-*", names.items[i]))
			r = append_entry(root, names.items[i], bytes, len, e);
	unc_names_finish(&names);
	return r;
}

int unc_memory_read(struct uncore_memory *out, const struct unc_root *root, size_t sockets,
		    size_t channel_pmus, struct unc_error *e)
{
	struct uncore_memory found = {.from = "SMBIOS", .used = NAN};
	struct unc_modules modules = {0};
	char *text = NULL;
	size_t len = 0;
	int r = read_table(root, &text, &len, e);
	const char *table = r == -EACCES ? "only root may read the SMBIOS table (" TABLE ")"
					 : "there is no SMBIOS table (" TABLE ")";

	if (r == 0) {
		r = unc_modules_smbios(&modules, (const uint8_t *)text, len, e);
	} else if (r != -ENOMEM && r != -EBADMSG) {
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

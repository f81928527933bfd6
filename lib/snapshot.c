/* SPDX-License-Identifier: MIT */
/* What a snapshot of a machine holds: all that a scan and the commands read, without what names one
 * machine or its user. */
#include "findings.h"
#include "hide.h"
#include "object.h"

#define PMUS "sys/bus/event_source/devices"

/* ---- omitted data ---- */

/* Removes the part of the contents from `at` to `next`, or keeps it behind what was kept before. */
static void keep_part(struct unc_entry *e, size_t at, size_t next, bool keep, size_t *kept)
{
	if (!keep)
		return;
	memmove(e->data + *kept, e->data + at, next - at);
	*kept += next - at;
}

static size_t line_end(const struct unc_entry *e, size_t at)
{
	const char *newline = memchr(e->data + at, '\n', e->len - at);

	return newline ? (size_t)(newline + 1 - e->data) : e->len;
}

/* "identification = 01ABCD" of s390 is the machine's serial number. */
static void hide_identification(char *text)
{
	static const char key[] = "identification";

	while ((text = strstr(text, key))) {
		text += strlen(key);
		for (text += strspn(text, " \t:="); unc_digit_value(*text) >= 0; text++)
			*text = '0';
	}
}

/* The first CPU, and the lines that are read, which old Arm kernels print behind the last CPU: what
 * is read ends somewhere in another CPU, and some boards have a serial number there. */
static void clean_cpuinfo(struct unc_entry *e)
{
	const char *read[UNC_CPUINFO_LINES];
	size_t count, kept = 0, next;
	bool first = true;

	hide_identification(e->data);
	count = unc_cpuinfo_lines(e->data, read);
	for (size_t at = 0; at < e->len; at = next) {
		const char *line = e->data + at;
		bool keep = first && strncmp(line, "Serial", 6) != 0;

		next = line_end(e, at);
		first = first && *line != '\n';
		for (size_t i = 0; i < count; i++)
			keep |= read[i] == line;
		keep_part(e, at, next, keep && *line != '\n', &kept);
	}
	e->len = kept;
}

/* The others have serial numbers, and names of partitions and guests. */
static bool is_hypervisor(const char *line, size_t len)
{
	return len >= 20 && memcmp(line, "VM00 Control Program", 20) == 0;
}

/* A line of a memory module, unless it is a serial number or an asset tag. */
static bool is_memory(const char *line, size_t len)
{
	return strncmp(line, "E:MEMORY_", 9) == 0 && !memmem(line, len, "SERIAL", 6) &&
	       !memmem(line, len, "ASSET", 5);
}

/* A driver of PMUs in the list of built-in drivers. */
static bool is_pmu_driver(const char *line, size_t len)
{
	return memmem(line, len, "/perf/", 6) || memmem(line, len, "/events/", 8) ||
	       memmem(line, len, "pmu", 3);
}

/* What kind of device it is. Others have addresses (NVME_TRADDR), serial numbers and names. */
static bool is_kind(const char *line, size_t len)
{
	static const char *const kept[] = {
		"DRIVER=",    "DEVTYPE=", "MODALIAS=", "PCI_",   "OF_COMP",
		"INTERFACE=", "IFINDEX=", "MAJOR=",    "MINOR=", "DEVNAME="};

	for (size_t i = 0; i < sizeof(kept) / sizeof(*kept); i++)
		if (strncmp(line, kept[i], strlen(kept[i])) == 0)
			return len > 0;
	return false;
}

static void keep_lines(struct unc_entry *e, bool (*keep)(const char *line, size_t len))
{
	size_t kept = 0, next;

	for (size_t at = 0; at < e->len; at = next) {
		next = line_end(e, at);
		keep_part(e, at, next, keep(e->data + at, next - at), &kept);
	}
	e->len = kept;
}

static void clean_partition(struct unc_entry *e)
{
	if (strncmp(e->data, "full", 4) != 0)
		memset(e->data, '-', e->len);
}

/* The device serial number, often made of a MAC address: an extended capability with id 3 and eight
 * bytes (PCI Express 5.0, 7.9.3). Those behind the headers are a list. */
static void clean_config(struct unc_entry *e)
{
	unsigned char *config = (unsigned char *)e->data;

	for (size_t at = 0x100, i = 0; at >= 0x100 && at + 12 <= e->len && i < 480; i++) {
		if (config[at] == 3 && !config[at + 1])
			memset(config + at + 4, 0, 8);
		at = ((size_t)config[at + 3] << 4 | config[at + 2] >> 4) & ~(size_t)3;
	}
}

/* Keeps the part of a broken SMBIOS structure that shows the fault: its type, length and handle,
 * which the error names. Returns the bytes behind it. */
static unsigned char *break_structure(unsigned char *kept, const unsigned char *at, size_t left)
{
	unsigned char head[4] = {0};
	bool is_cut = left >= sizeof(head) && at[1] > left;

	if (left < sizeof(head)) {
		memset(kept, 0, left);
		return kept + left;
	}
	memcpy(head, at, sizeof(head));
	head[1] = is_cut ? 255 : head[1] < 4 ? head[1] : 4;
	memcpy(kept, head, sizeof(head));
	if (head[1] == 4 && left > 4) /* texts without an end */
		kept[4] = '-';
	return kept + 4 + (head[1] == 4 && left > 4);
}

/* Keeps arrays and modules of memory (16, 17) and the end (127), without their texts, which are
 * serial numbers, asset tags and the like; but with the names of a module's slot and bank (at 0x10
 * and 0x11). */
static void clean_smbios(struct unc_entry *e)
{
	unsigned char *at = (unsigned char *)e->data, *end = at + e->len, *kept = at, *next;

	for (; end > at; at = next) {
		unsigned char type = at[0], text = 1;
		size_t left = (size_t)(end - at);
		bool has_place = type == 17 && left > 1 && at[1] > 0x11;
		bool broken = left < 4 || at[1] < 4 || at[1] > left;

		for (next = at + (broken ? 0 : at[1]); end - next >= 2 && (next[0] || next[1]);
		     next++) {
			if (broken)
				break;
			if (!next[0])
				text++;
			else if (!has_place || (text != at[0x10] && text != at[0x11]))
				next[0] = '-';
		}
		if (broken || (end - next < 2 && type != 127)) {
			kept = break_structure(kept, at, left);
			break;
		}
		next = end - next >= 2 ? next + 2 : end;
		if (type != 16 && type != 17 && type != 127)
			continue;
		memmove(kept, at, (size_t)(next - at));
		kept += next - at;
		if (type == 127)
			break;
	}
	e->len = (size_t)(kept - (unsigned char *)e->data);
}

/* Reduces the config space of the chip's devices, which is read for root buses and the speed of
 * links, to the part for all users and the registers that were read. Others may identify the
 * chip. */
static void clean_chip(struct unc_tree *t, const struct unc_bus_registers *r, unsigned speed)
{
	const struct {
		size_t first, size;
	} kept[] = {{0, 64},        {r->sad, 4},          {r->valid, 4},
		    {r->buses, 16}, {r->upper_buses, 16}, {r->kind.offset, 4},
		    {speed, 4}};

	for (size_t i = 0; i < t->count; i++) {
		struct unc_entry *e = &t->entries[i];
		bool is_bridge = e->len > 14 && (e->data[14] & 0x7f) == 1;

		if (e->kind != UNC_FILE || is_bridge || !unc_glob_matches("*/config", e->path))
			continue;
		for (size_t at = 0; at < e->len; at++) {
			bool keep = false;

			for (size_t k = 0; k < sizeof(kept) / sizeof(*kept); k++)
				keep |= at - kept[k].first < kept[k].size;
			if (!keep)
				e->data[at] = '\0';
		}
	}
}

/* Keeps the version of binary files of devices, and sets what they count to 0. */
static void clean_layouts(const struct uncore *u, struct unc_tree *t)
{
	for (size_t i = 0; i < u->pmus.count; i++) {
		const struct unc_device_layout *layout = u->pmus.items[i].layout;
		const char *name = layout ? strrchr(layout->file, '/') : NULL;

		name = name ? name + 1 : layout ? layout->file : NULL;
		for (size_t k = 0; name && layout->binary && k < t->count; k++) {
			struct unc_entry *e = &t->entries[k];
			size_t least =
				layout->size > layout->version ? layout->size : layout->version;

			if (e->kind == UNC_FILE && e->len > least + 2 &&
			    unc_glob_matches(UNC_PATH("*/%s", name), e->path))
				memset(e->data + least + 2, 0, e->len - least - 2);
		}
	}
}

/* Files about this process and its user, and names of the machine. */
#define LEFT_OUT                                                                        \
	"proc/self* proc/[0-9]* */hostname */serial* *_serial *uuid *asset_tag */wwid " \
	"*/address"

static const struct {
	const char *path; /* a glob */
	void (*clean)(struct unc_entry *e);
	bool (*keep)(const char *line, size_t len);
} rules[] = {
	{"proc/cpuinfo", clean_cpuinfo, NULL},
	{"proc/sysinfo", NULL, is_hypervisor},
	{"*/ibm,partition-name", clean_partition, NULL},
	{"run/udev/data/*", NULL, is_memory},
	{"*/uevent", NULL, is_kind},
	{"*/config", clean_config, NULL},
	{"*/modules.builtin", NULL, is_pmu_driver},
	{"*/DMI", clean_smbios, NULL},
	{"sys/firmware/dmi/entries/*/raw", clean_smbios, NULL},
};

/* Sets the comment, which may contain paths. */
static void put_fault(struct unc_tree *t, struct unc_hidden *hidden, const char *text)
{
	if (!*text)
		return;
	if (unc_names_add(&t->strings, text) < 0) {
		t->failed = true;
		return;
	}
	t->fault = t->strings.items[t->strings.count - 1];
	unc_hide(hidden, t->strings.items[t->strings.count - 1], strlen(text));
}

static void clean(struct unc_tree *t, const char *fault, bool hides)
{
	struct unc_hidden hidden = {0};
	size_t kept = 0;

	for (size_t i = 0; i < t->count; i++) {
		struct unc_entry *e = &t->entries[i];

		if (unc_globs_match(LEFT_OUT, e->path))
			continue;
		for (size_t k = 0; k < sizeof(rules) / sizeof(*rules); k++) {
			if (e->kind != UNC_FILE || !unc_glob_matches(rules[k].path, e->path))
				continue;
			if (rules[k].clean)
				rules[k].clean(e);
			else
				keep_lines(e, rules[k].keep);
		}
		if (hides) {
			unc_hide(&hidden, e->path, strlen(e->path));
			unc_hide(&hidden, e->data, e->len);
		}
		t->entries[kept++] = *e;
	}
	t->count = kept;
	put_fault(t, &hidden, fault);
	t->failed |= hidden.failed;
	unc_names_finish(&hidden.seen);
}

/* ---- what is read ---- */

/* All files of a directory of PMUs, also those without a reader today: a bug report may be about
 * them. */
static void read_pmus(const struct unc_root *root, const char *dir, int depth)
{
	struct unc_names names = {0};
	char *data;
	size_t len;

	if (depth > 3 || unc_root_list(root, dir, &names) < 0)
		return;
	for (size_t i = 0; i < names.count; i++) {
		const char *name = names.items[i], *path = UNC_PATH("%s/%s", dir, name);

		/* At depth 0 the names are PMUs: that of RAPL is "power". */
		if (depth > 0 &&
		    unc_globs_match("device driver power subsystem uevent firmware_node*", name))
			continue;
		if (unc_root_read_bytes(root, path, 1 << 16, &data, &len) == 0)
			free(data);
		else
			read_pmus(root, path, depth + 1);
	}
	unc_names_finish(&names);
}

/* Addresses of devices, for families that can count by them. */
static void read_resources(const struct uncore *u)
{
	bool needed = false;
	char *text;

	for (size_t i = 0; i < u->pmus.count; i++) {
		const struct unc_family *f = u->pmus.items[i].family;

		needed = needed || (f && f->filters[UNC_FILTER_ADDRESS].title);
	}
	for (size_t i = 0; needed && i < u->pci.count; i++) {
		if (u->pci.devices[i].shown.is_bridge)
			continue;
		if (unc_root_read(u->root,
				  UNC_PATH("sys/bus/pci/devices/%s/resource",
					   u->pci.devices[i].shown.address),
				  &text) == 0)
			free(text);
	}
}

/* The versions of devices' files, and which events they have. */
static void read_devices(const struct uncore *u)
{
	struct unc_error ignored;

	for (size_t i = 0; i < u->pmus.count; i++)
		for (size_t k = 0; k < u->pmus.items[i].def_count; k++)
			if (u->pmus.items[i].source != UNC_SOURCE_KERNEL)
				unc_device_lacks(&u->pmus.items[i], &u->pmus.items[i].defs[k],
						 &ignored);
}

/* The offset of the register with the speed of links; 0: there is none. */
static unsigned read_speeds(struct uncore *u)
{
	unsigned offset = 0;

	for (size_t i = 0; i < u->pmus.count; i++) {
		const struct uncore_pmu *pmu = &u->pmus.items[i];

		for (size_t k = 0; pmu->family && pmu->family->speed && k < pmu->cpus.count; k++) {
			uncore_pmu_link_speed(u, pmu, pmu->cpus.ids[k], NULL);
			offset = pmu->family->speed->offset;
		}
	}
	return offset;
}

enum purpose { TO_SHOW, WITH_ANSWERS, TO_RECORD };

static int make_snapshot(struct uncore *u, enum purpose purpose, char **out)
{
	static const struct unc_bus_registers none;

	struct unc_tree tree = {0};
	struct unc_text text = {0};
	struct unc_permission permission;
	unsigned speed = 0;
	int r;

	unc_root_record(u->root, &tree);
	r = uncore_scan(u);
	unc_permission_read(&permission, u->root);
	read_pmus(u->root, PMUS, 0);
	if (r == 0) {
		r = unc_machine_pci(u);
		read_resources(u);
		read_devices(u);
		speed = read_speeds(u);
		uncore_memory_get(u);
		if (r == 0)
			r = unc_diagnose_read(u);
	} else if (r != -EBUSY && !u->error.exhausted) {
		/* A machine that cannot be scanned is worth a bug report, too: what was read up to
		 * there stays. */
		u->error = u->scan_error;
		if (tree.count)
			r = 0;
	}
	unc_root_record(u->root, NULL);
	if (r == 0) {
		if (purpose == WITH_ANSWERS)
			unc_answers_add(u, &tree);
		unc_tree_sort(&tree);
		clean(&tree, u->scan_error.text, purpose != TO_RECORD);
		clean_layouts(u, &tree);
		if (u->ports.buses.rule || speed)
			clean_chip(&tree,
				   u->ports.buses.rule ? &u->ports.buses.rule->registers : &none,
				   speed);
		unc_tree_sort(&tree); /* hidden names have another order */
		unc_snapshot_print(&tree, &text);
		r = tree.failed || text.failed ? unc_nomem(&u->error) : 0;
	}
	unc_tree_finish(&tree);
	if (r == 0)
		*out = unc_text_take(&text);
	unc_text_finish(&text);
	return r;
}

int uncore_snapshot(struct uncore *u, char **out)
{
	return make_snapshot(u, TO_SHOW, out);
}

int uncore_snapshot_with_answers(struct uncore *u, char **out)
{
	return make_snapshot(u, WITH_ANSWERS, out);
}

int uncore_snapshot_to_record(struct uncore *u, char **out)
{
	return make_snapshot(u, TO_RECORD, out);
}

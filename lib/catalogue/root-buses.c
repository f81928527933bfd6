/* SPDX-License-Identifier: MIT */
/* Finds root buses of I/O stacks from config space. The kernel shows 64 bytes of it to all users,
 * and the rest to root. */
#include "catalogue/catalogue.h"

#define CPU_BUSES 32
#define FOR_ALL_USERS 64 /* bytes of config space */

/* ---- registers ---- */

/* Reads words of config space. Returns -EACCES if only root can read them, -ENODEV or -ENOMEM. */
static int read_words(const struct unc_device *d, unsigned offset, size_t count, uint32_t *out,
		      struct unc_error *why)
{
	unsigned char *config = NULL;
	size_t end = offset + count * 4, len = 0;
	int r = unc_pci_config(d, end, &config, &len);

	if (r == -ENOMEM)
		return r;
	for (size_t i = 0; len == end && i < count; i++)
		out[i] = unc_pci_word(config + offset + i * 4);
	free(config);
	if (len == end && count == 1 && *out == UINT32_MAX)
		return unc_fail(why, ENODEV,
				"the register 0x%x of %s, for root buses, reads as all ones",
				offset, d->shown.address);
	if (len == end)
		return 0;
	if (len <= FOR_ALL_USERS)
		return unc_fail(why, EACCES,
				"mapping needs root: only root can read the registers of %s that "
				"name root buses; run 'uncore topo --learn' as root once, or use a "
				"snapshot that root took",
				d->shown.address);
	return unc_fail(why, ENODEV,
			"the kernel reads only %zu bytes of the config space of %s (no ECAM), and "
			"the registers that name root buses are behind them",
			len, d->shown.address);
}

/* The next device with the rule's vendor and this id, from *at on; NULL: there is none. */
static const struct unc_device *next_device(const struct unc_root_buses *b, unsigned id, size_t *at)
{
	while (*at < b->pci->count) {
		const struct unc_device *d = &b->pci->devices[(*at)++];

		if (d->shown.vendor == b->rule->vendor && d->shown.device == id)
			return d;
	}
	return NULL;
}

static int add_bus(struct unc_root_buses *b, uint64_t address, uint32_t sad, unsigned number)
{
	const struct unc_root_bus bus = {.segment = (unsigned)(address >> 16),
					 .bus = address >> 8 & 0xff,
					 .package = sad & 15,
					 .number = number};

	return UNC_ADD(&b->items, &b->count, &bus);
}

/* Reads all buses that a device names. They are in its segment. */
static int read_device(struct unc_root_buses *b, const struct unc_device *d, struct unc_error *why)
{
	const struct unc_bus_registers *at = &b->rule->registers;
	uint32_t valid, sad, words[CPU_BUSES / 4] = {0};
	const struct unc_device *named = NULL;
	int r;

	if (!at->valid) {
		r = read_words(d, at->sad, 1, &sad, why);
		return r < 0 ? r : add_bus(b, d->address, sad, sad >> 4 & 7);
	}
	r = read_words(d, at->valid, 1, &valid, why);
	if (r == 0)
		r = read_words(d, at->buses, 4, words, why);
	if (r == 0)
		r = read_words(d, at->upper_buses, 4, words + 4, why);
	for (unsigned i = 0; r == 0 && i < CPU_BUSES; i++) {
		uint64_t first = d->address >> 16 << 16 | (words[i / 4] >> i % 4 * 8 & 0xff) << 8;

		if (!(valid >> i & 1))
			continue;
		/* The register with the package belongs to device 0 on the first of the buses. */
		if (!named) {
			named = unc_pci_device(b->pci, first);
			if (!named)
				return unc_fail(
					why, ENODEV,
					"there is no device %04llx:%02llx:00.0, which names its "
					"package",
					(unsigned long long)first >> 16,
					(unsigned long long)first >> 8 & 0xff);
			r = read_words(named, at->sad, 1, &sad, why);
		}
		if (r == 0)
			r = add_bus(b, first, sad, i);
	}
	return r;
}

static int check_kind(const struct unc_root_buses *b, struct unc_error *why)
{
	uint64_t kinds = 0;

	for (size_t i = 0; i < b->rule->stack_count; i++)
		kinds |= b->rule->stacks[i].kinds ? b->rule->stacks[i].kinds : UINT64_MAX;
	return b->kind < 64 && kinds >> b->kind & 1
		       ? 0
		       : unc_fail(why, ENODEV, "the kind of die %u has no map", b->kind);
}

static int read_all(struct unc_root_buses *b, struct unc_error *why)
{
	const struct unc_port_rule *rule = b->rule;
	const struct unc_device *d;
	uint32_t word;
	size_t at = 0;
	int r = 0;

	while (r == 0 && (d = next_device(b, rule->id, &at)))
		r = read_device(b, d, why);
	if (r == 0 && !b->count)
		return unc_fail(why, ENODEV, "no device %04x:%04x names root buses", rule->vendor,
				rule->id);
	if (r < 0 || !rule->registers.kind.id)
		return r;
	at = 0;
	d = next_device(b, rule->registers.kind.id, &at);
	if (!d)
		return unc_fail(why, ENODEV,
				"there is no device %04x:%04x, which names the kind of die",
				rule->vendor, rule->registers.kind.id);
	r = read_words(d, rule->registers.kind.offset, 1, &word, why);
	if (r == 0)
		b->kind = (unsigned)((word & rule->registers.kind.bits) >>
				     __builtin_ctzll(rule->registers.kind.bits));
	return r < 0 ? r : check_kind(b, why);
}

/* ---- the file for other users ---- */

#define PATH UNC_ROOT_BUSES_DIR "/" UNC_ROOT_BUSES_FILE

struct kept_buses {
	const char *cpu;
	uint64_t bridges;
	unsigned kind;
	struct unc_root_bus *items;
	size_t count;
	bool end; /* the file has its last line, so it is not truncated */
};

#define KEPT(member) UNC_AT(struct kept_buses, member)
#define BUS(member) UNC_AT(struct unc_root_bus, member)

static const struct unc_field bus_fields[] = {
	UNC_FIELD("!segment", NUMBER, BUS(segment), .most = UINT16_MAX),
	UNC_FIELD("!bus", NUMBER, BUS(bus), .most = UINT8_MAX),
	UNC_FIELD("!socket", NUMBER, BUS(package), .most = 15),
	UNC_FIELD("!number", NUMBER, BUS(number), .most = 31),
	UNC_END,
};

static const struct unc_field kept_fields[] = {
	UNC_FIELD("!cpu", TEXT, KEPT(cpu)),
	UNC_FIELD("!bridges", NUMBER, KEPT(bridges)),
	UNC_FIELD("!kind", NUMBER, KEPT(kind), .most = 63),
	UNC_FIELD("!buses", LIST, UNC_LIST(struct kept_buses, items, count),
		  .of = UNC_SHAPE(struct unc_root_bus, bus_fields)),
	UNC_FIELD("!end", BOOL, KEPT(end)),
	UNC_END,
};

/* A hash of the bridges on root buses: FNV-1a, by words. If it differs, the file was written for
 * other hardware or other bus numbers. */
static uint64_t bridges_hash(const struct unc_pci *pci)
{
	uint64_t hash = 0xcbf29ce484222325;

	for (size_t i = 0; i < pci->count; i++) {
		const struct unc_device *d = &pci->devices[i];

		if (!d->shown.is_bridge || d->shown.parent || d->address >> 16 > UINT16_MAX)
			continue;
		hash = (hash ^ d->address) * 0x100000001b3;
		hash = (hash ^ (d->shown.vendor << 16 | d->shown.device)) * 0x100000001b3;
	}
	return hash;
}

/* Reads the file. Returns -ENOENT if it does not exist. */
static int read_kept(struct unc_root_buses *b, struct unc_error *why)
{
	const struct unc_pci *pci = b->pci;
	static const char *const links[] = {UNC_ROOT_BUSES_DIR, PATH};
	struct unc_reader reader = {.e = why};
	struct kept_buses kept = {0};
	struct unc_yaml_file *file = NULL;
	char *text;
	int r;

	for (size_t i = 0; i < sizeof(links) / sizeof(*links); i++) {
		if (unc_root_link(pci->root, links[i], &text) == 0) {
			free(text);
			return unc_fail(why, ENODEV,
					"/%s is a symbolic link, which is not followed", links[i]);
		}
		if (!unc_root_is_trusted(pci->root, links[i]))
			return unc_fail(why, ENODEV,
					"mapping needs root: /" PATH " is not used, because others "
					"than root own /%s or can write to it; run 'uncore topo "
					"--learn' as root again",
					links[i]);
	}
	r = unc_root_read(pci->root, PATH, &text);
	if (r == -ENOENT || r == -ENOMEM)
		return r;
	if (r < 0)
		return unc_fail(why, -r,
				"mapping needs root: /" PATH " cannot be read: %s; run 'uncore "
				"topo --learn' as root again",
				unc_errno_text(r));
	r = unc_yaml_parse(&file, "/" PATH, text, strlen(text), why);
	free(text);
	if (r < 0)
		return r;
	reader.file = file;
	r = unc_fill(&reader, file->root, UNC_SHAPE(struct kept_buses, kept_fields), &kept);
	if (r == 0 &&
	    (strcmp(kept.cpu, pci->topology->cpu_model) != 0 || kept.bridges != bridges_hash(pci)))
		r = unc_fail(
			why, ENODEV,
			"mapping needs root: the PCI bridges or the CPU are not those for which "
			"/" PATH " was written; run 'uncore topo --learn' as root again");
	b->kind = kept.kind;
	if (r == 0)
		r = check_kind(b, why);
	for (size_t i = 0; r == 0 && i < kept.count; i++)
		r = UNC_ADD(&b->items, &b->count, &kept.items[i]);
	unc_yaml_free(file);
	return r;
}

void unc_root_buses_print(const struct unc_root_buses *b, struct unc_text *to)
{
	unc_text_add(
		to,
		"# Root buses of the I/O stacks of this machine, from registers that only root can "
		"read.\n# Written by 'uncore topo --learn'.\n"
		"cpu: %s\nbridges: 0x%llx\nkind: %u\nbuses:\n",
		b->pci->topology->cpu_model, (unsigned long long)bridges_hash(b->pci), b->kind);
	for (size_t i = 0; i < b->count; i++)
		unc_text_add(to, "  - {segment: %u, bus: 0x%02x, socket: %u, number: %u}\n",
			     b->items[i].segment, b->items[i].bus, b->items[i].package,
			     b->items[i].number);
	unc_text_add(to, "end: true\n");
}

int unc_root_buses_read(struct unc_root_buses *b, const struct unc_port_rule *rule,
			struct unc_error *why)
{
	struct unc_error other = {0};
	int r;

	if (!b->rule) {
		b->rule = rule;
		b->error = read_all(b, &b->why);
		if (b->error < 0) {
			free(b->items);
			b->items = NULL;
			b->count = 0;
		}
		r = b->error == -EACCES ? read_kept(b, &other) : -ENOENT;
		b->kept = r == 0;
		if (b->kept || r == -ENOMEM)
			b->error = r;
		else if (r != -ENOENT)
			unc_error_put(&b->why, false, "%s", other.text);
	}
	if (b->error == 0 || b->error == -ENOMEM)
		return b->error;
	return unc_fail(why, ENODEV, "%s", b->why.text);
}

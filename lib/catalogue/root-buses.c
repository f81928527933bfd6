/* SPDX-License-Identifier: MIT */
/* Root buses of I/O stacks from config space. The kernel shows 64 bytes of it to all users and the rest to root. */
#include "catalogue/root-buses.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define CPU_BUSES 32
#define FOR_ALL_USERS 64 /* bytes of config space */

/* ---- registers ---- */

/* -EACCES: only root can read them. -ENODEV, -ENOMEM. */
static int read_words(const struct unc_device *d, unsigned offset, size_t count, uint32_t *out,
		      struct unc_error *why)
{
	unsigned char *config = NULL;
	size_t end = offset + count * 4, len = 0;
	int r = unc_pci_config(d, end, &config, &len);

	if (r == -ENOMEM)
		return r;
	for (size_t i = 0; len == end && i < count; i++) {
		const unsigned char *at = config + offset + i * 4;

		out[i] = at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 |
			 (uint32_t)at[3] << 24;
	}
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
				"name root buses; use a snapshot that root took",
				d->shown.address);
	return unc_fail(why, ENODEV,
			"the kernel reads only %zu bytes of the config space of %s (no ECAM), and "
			"the registers that name root buses are behind them",
			len, d->shown.address);
}

/* The next device with the rule's vendor and this id, from *at on; NULL: none is left. */
static const struct unc_device *
next_device(const struct unc_pci *pci, const struct unc_port_rule *rule, unsigned id, size_t *at)
{
	while (*at < pci->count) {
		const struct unc_device *d = &pci->devices[(*at)++];

		if (d->shown.vendor == rule->vendor && d->shown.device == id)
			return d;
	}
	return NULL;
}

static int add_bus(struct unc_root_buses *b, uint64_t first, uint32_t sad, unsigned number)
{
	struct unc_root_bus *bus = unc_append(&b->items, &b->count, sizeof(*bus));

	if (!bus)
		return -ENOMEM;
	*bus = (struct unc_root_bus){.first = first, .package = (int)(sad & 15), .number = number};
	return 0;
}

/* The register with the package is that of device 0 on the first bus that another one names. */
static int read_package(const struct unc_root_buses *b, const struct unc_pci *pci, uint64_t first,
			uint32_t *sad, struct unc_error *why)
{
	for (size_t i = 0; i < pci->count; i++)
		if (pci->devices[i].address == first)
			return read_words(&pci->devices[i], b->rule->registers.sad, 1, sad, why);
	return unc_fail(why, ENODEV,
			"there is no device %04llx:%02llx:00.0, which names its package",
			(unsigned long long)first >> 16, (unsigned long long)first >> 8 & 0xff);
}

/* All buses that a device names, which are in its segment. */
static int read_device(struct unc_root_buses *b, const struct unc_pci *pci,
		       const struct unc_device *d, struct unc_error *why)
{
	const struct unc_bus_registers *at = &b->rule->registers;
	uint32_t valid, sad, words[CPU_BUSES / 4] = {0};
	bool known = false; /* the package */
	int r;

	if (!at->valid) {
		r = read_words(d, at->sad, 1, &sad, why);
		return r < 0 ? r : add_bus(b, d->address & ~(uint64_t)0xff, sad, sad >> 4 & 7);
	}
	r = read_words(d, at->valid, 1, &valid, why);
	if (r == 0)
		r = read_words(d, at->buses, 4, words, why);
	if (r == 0 && at->upper_buses)
		r = read_words(d, at->upper_buses, 4, words + 4, why);
	for (unsigned i = 0; r == 0 && i < CPU_BUSES; i++) {
		uint64_t first = d->address >> 16 << 16 | (words[i / 4] >> i % 4 * 8 & 0xff) << 8;

		if (!(valid >> i & 1))
			continue;
		if (!known)
			r = read_package(b, pci, first, &sad, why);
		known = true;
		if (r == 0)
			r = add_bus(b, first, sad, i);
	}
	return r;
}

static int read_all(struct unc_root_buses *b, const struct unc_pci *pci, struct unc_error *why)
{
	const struct unc_port_rule *rule = b->rule;
	const struct unc_device *d;
	uint32_t word;
	size_t at = 0;
	int r = 0;

	while (r == 0 && (d = next_device(pci, rule, rule->id, &at)))
		r = read_device(b, pci, d, why);
	if (r == 0 && !b->count)
		return unc_fail(why, ENODEV, "no device %04x:%04x names root buses", rule->vendor,
				rule->id);
	if (r < 0 || !rule->registers.kind.id)
		return r;
	at = 0;
	d = next_device(pci, rule, rule->registers.kind.id, &at);
	if (!d)
		return unc_fail(why, ENODEV,
				"there is no device %04x:%04x, which names the kind of die",
				rule->vendor, rule->registers.kind.id);
	r = read_words(d, rule->registers.kind.offset, 1, &word, why);
	if (r == 0)
		b->kind = (unsigned)((word & rule->registers.kind.bits) >>
				     __builtin_ctzll(rule->registers.kind.bits));
	return r;
}

int unc_root_buses_read(struct unc_root_buses *b, const struct unc_pci *pci,
			const struct unc_port_rule *rule, struct unc_error *why)
{
	if (b->rule != rule) {
		free(b->items);
		*b = (struct unc_root_buses){.rule = rule};
		b->error = read_all(b, pci, &b->why);
		if (b->error < 0)
			b->count = 0;
	}
	if (b->error == 0 || b->error == -ENOMEM)
		return b->error;
	return unc_fail(why, ENODEV, "%s", b->why.text);
}

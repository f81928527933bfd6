/* SPDX-License-Identifier: MIT */
/* The ways to narrow one PMU: to the root ports, or to the device, that the user lets through. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "count/cuts.h"

#define BARS 6
#define RESOURCE_MEM 0x200 /* in a device's `resource` file: memory, not I/O ports */

/* ---- root ports ---- */

static bool has_bit(const struct unc_port *port)
{
	return port->index >= 0 && port->index < 64;
}

/* Once, however often the user names it. */
static void add_port(struct unc_cutter *x, const struct unc_port *port)
{
	struct unc_way way = {.port = port->device};

	if (has_bit(port)) {
		way.kinds = 1U << UNC_FILTER_PORT;
		way.ports = (uint64_t)1 << port->index;
	}
	for (size_t i = 0; i < x->way_count; i++)
		if (x->ways[i].port == way.port && x->ways[i].ports == way.ports)
			return;
	x->ways[x->way_count++] = way;
}

/* All that the PMU counts. Where it could tell ports apart and this one has no number, more than the
 * port is behind it: an I/O stack has functions without a root port, too. */
static void add_whole(struct unc_cutter *x)
{
	bool is_port = x->port_count == 1 &&
		       (has_bit(&x->ports[0]) || !x->family->filters[UNC_FILTER_PORT].title);

	x->ways[x->way_count++] = (struct unc_way){.port = is_port ? x->ports[0].device : NULL};
}

static const struct unc_port *find_port(const struct unc_cutter *x,
					const struct uncore_device *device)
{
	for (size_t i = 0; i < x->port_count; i++)
		if (x->ports[i].device == device)
			return &x->ports[i];
	return NULL;
}

/* "SOCKET:RC:INDEX": by the PMU's name, also where no port is known (then without a device). */
static bool by_numbers(const struct unc_cutter *x, const struct unc_port_choice *choice,
		       struct unc_port *port)
{
	uint64_t socket = UINT64_MAX, rc = UINT64_MAX;
	bool numbered = false;

	for (size_t i = 0; i < x->family->pattern_count; i++) {
		const char *pattern = x->family->patterns[i].name;

		if (!unc_pattern_matches(pattern, x->pmu->name))
			continue;
		unc_pattern_value(pattern, x->pmu->name, "socket", &socket);
		unc_pattern_value(pattern, x->pmu->name, "rc", &rc);
	}
	if (socket != choice->socket || rc != choice->rc)
		return false;
	*port = (struct unc_port){.index = (int)choice->index};
	for (size_t i = 0; i < x->port_count; i++) {
		if (x->ports[i].index == port->index) {
			*port = x->ports[i];
			return true;
		}
		numbered = numbered || has_bit(&x->ports[i]);
	}
	return !numbered; /* where numbers are known, this is none of them */
}

/* One number for several ports, where the user does not want one each. */
static void merge_ports(struct unc_cutter *x)
{
	const char *terms = x->family->filters[UNC_FILTER_PORT].terms;

	if (x->m->level == UNCORE_LEVEL_PORT || strstr(terms, "{index}"))
		return;
	for (; x->way_count > 1; x->way_count--) {
		x->ways[0].ports |= x->ways[x->way_count - 1].ports;
		x->ways[0].port = NULL;
	}
}

/* Adds the port of a choice by numbers, which has a row of its own whatever is known of it. */
static int add_numbered(struct unc_cutter *x, const struct unc_port_choice *choice)
{
	struct unc_port port;

	if (!by_numbers(x, choice, &port))
		return 0;
	if (!port.device)
		port.device = unc_ports_numbered(x->m->machine, choice->socket, choice->rc,
						 choice->index);
	if (!port.device)
		return unc_nomem(x->why);
	add_port(x, &port);
	return 0;
}

/* A PMU that cannot tell its ports apart serves when all of them are asked for. */
static int ways_of_ports(struct unc_cutter *x)
{
	const struct unc_filters *f = x->filters;
	bool by_address = false;

	for (size_t i = 0; i < f->port_count; i++) {
		const struct unc_port_choice *choice = &f->ports[i];
		const struct unc_port *found = find_port(x, choice->device);
		int r = choice->device ? 0 : add_numbered(x, choice);

		if (r < 0)
			return r;
		if (found)
			add_port(x, found);
		by_address = by_address || choice->device;
	}
	if (!x->way_count)
		return by_address && x->unknown ? -ENODEV : 0;
	if (x->apart) {
		merge_ports(x);
		return 0;
	}
	if (!x->family->filters[UNC_FILTER_PORT].title &&
	    (x->unknown || x->way_count < x->port_count))
		return unc_cut_refuse(x, UNC_FILTER_PORT);
	if (x->way_count < x->port_count)
		return unc_fail(x->why, ENODEV,
				"%s counts %zu root ports, and which bit of its filter is whose is "
				"not known",
				x->pmu->name, x->port_count);
	x->way_count = 0;
	add_whole(x);
	return 0;
}

static int ways_of_level(struct unc_cutter *x)
{
	if (x->unknown) {
		int r = unc_monitor_note_once(x->m, x->why->text);

		if (r < 0)
			return r;
	}
	for (size_t i = 0; x->apart && x->restricted && i < x->port_count; i++)
		add_port(x, &x->ports[i]);
	if (!x->way_count)
		add_whole(x);
	return 0;
}

/* ---- a device ---- */

static bool is_behind(const struct uncore_device *d, const struct uncore_device *bridge)
{
	for (d = d->parent; d; d = d->parent)
		if (d == bridge)
			return true;
	return false;
}

/* The devices that are counted with the asked one, by address and the kernel's names: those behind it
 * where it is a part of a switch, or the others. Returns how many there are. */
static size_t list_counted(const struct unc_cutter *x, bool behind, struct unc_text *to)
{
	const struct uncore_device *asked = x->filters->device, *port = x->ways[0].port;
	const struct uncore *u = x->m->machine;
	size_t count = 0;

	for (size_t i = 0; i < uncore_device_count(u); i++) {
		const struct uncore_device *d = uncore_device_at(u, i);

		if (d == asked || d->is_bridge || !d->port || !find_port(x, d->port) ||
		    (port && d->port != port) || is_behind(d, asked) != behind)
			continue;
		unc_text_add(to, "%s%s", count++ ? ", " : "", d->address);
		if (d->names)
			unc_text_add(to, " (%s)", d->names);
	}
	return count;
}

/* What is counted is more than the device: its port, or all ports of the PMU. */
static int note_sharing(struct unc_cutter *x)
{
	const struct uncore_device *port = x->ways[0].port;
	struct unc_text text = {0}, behind = {0}, others = {0};
	int r;

	unc_text_add(&text, "%s: what is counted for %s", x->family->name,
		     x->filters->device->address);
	if (list_counted(x, true, &behind))
		unc_text_add(&text, ", with %s behind it,", behind.data);
	unc_text_add(&text, " is %s%s", port ? "root port " : "",
		     port ? port->address : x->pmu->name);
	if (list_counted(x, false, &others))
		unc_text_add(&text, ", which it shares with %s", others.data);
	r = text.failed || behind.failed || others.failed ? unc_nomem(x->why)
							  : unc_monitor_note_once(x->m, text.data);
	unc_text_finish(&text);
	unc_text_finish(&behind);
	unc_text_finish(&others);
	return r;
}

/* The memory behind the device's BARs, one way for each; none where its addresses are not told. */
static void ways_of_bars(struct unc_cutter *x)
{
	const struct uncore_device *d = x->filters->device;
	char path[128], *text, *rest, *line;
	uint64_t numbers[3]; /* first, last, flags */

	snprintf(path, sizeof(path), "sys/bus/pci/devices/%s/resource", d->address);
	if (unc_root_read(x->m->machine->root, path, &text) < 0)
		return;
	rest = text;
	for (size_t i = 0; i < BARS && (line = strsep(&rest, "\n")); i++) {
		size_t n = 0;

		while (n < 3 && line && unc_parse_u64(strsep(&line, " "), &numbers[n]) == 0)
			n++;
		if (n < 3 || !(numbers[2] & RESOURCE_MEM) || numbers[1] <= numbers[0])
			continue;
		x->ways[x->way_count++] = (struct unc_way){
			.port = d->port,
			.kinds = 1U << UNC_FILTER_ADDRESS,
			.range = {.base = numbers[0], .mask = ~(numbers[1] - numbers[0])},
		};
	}
	free(text);
}

/* The narrowest filter that the family has. */
static int ways_of_device(struct unc_cutter *x)
{
	const struct uncore_device *d = x->filters->device;
	const struct unc_port *port = find_port(x, d->port);
	struct unc_pci_address a;
	bool has_domain;

	if (x->unknown)
		return -ENODEV;
	if (!port)
		return 0;
	if (x->family->filters[UNC_FILTER_DEVICE].title && !d->is_bridge &&
	    unc_pci_parse(d->address, &a, &has_domain)) {
		x->ways[x->way_count++] = (struct unc_way){
			.port = d->port,
			.kinds = 1U << UNC_FILTER_DEVICE,
			.bdf = (uint64_t)(a.bus << 8 | a.device << 3 | a.function)};
		return 0;
	}
	if (x->family->filters[UNC_FILTER_ADDRESS].title && !d->is_bridge)
		ways_of_bars(x);
	if (x->way_count)
		return 0;
	if (x->apart)
		add_port(x, port);
	else
		add_whole(x);
	return x->ways[0].port == d ? 0 : note_sharing(x);
}

/* ---- all of them ---- */

static int find_ports(struct unc_cutter *x, int cpu)
{
	const struct unc_filter *f = &x->family->filters[UNC_FILTER_PORT];
	int r = unc_ports_of(x->m->machine, x->pmu, cpu, &x->ports, &x->port_count, x->why);

	x->unknown = r < 0;
	x->apart = f->terms;
	for (size_t i = 0; i < x->port_count; i++)
		x->apart = x->apart && has_bit(&x->ports[i]);
	return r == -ENOMEM ? r : 0;
}

int unc_find_ways(struct unc_cutter *x, int cpu)
{
	bool narrow = x->filters->device || x->filters->port_count;
	bool per_port = x->m->level == UNCORE_LEVEL_PORT;
	int r = narrow || per_port ? find_ports(x, cpu) : 0;

	if (r < 0)
		return r;
	x->ways = calloc(x->port_count + UNC_FILTER_CHOICES + BARS, sizeof(*x->ways));
	if (!x->ways)
		return unc_nomem(x->why);
	if (x->filters->device)
		return ways_of_device(x);
	if (narrow)
		return ways_of_ports(x);
	if (per_port)
		return ways_of_level(x);
	add_whole(x);
	return 0;
}

unsigned unc_monitor_named(struct uncore_monitor *m, const struct uncore_pmu *pmu)
{
	unsigned named = 0;

	for (size_t c = 0; c < pmu->cpus.count; c++) {
		struct unc_error ignored;
		struct unc_cutter x = {.m = m, .family = pmu->family, .pmu = pmu, .why = &ignored};

		find_ports(&x, pmu->cpus.ids[c]);
		for (size_t i = 0; i < m->filters.port_count; i++) {
			const struct unc_port_choice *choice = &m->filters.ports[i];
			struct unc_port port;

			if (choice->device ? find_port(&x, choice->device) != NULL
					   : by_numbers(&x, choice, &port))
				named |= 1U << i;
		}
	}
	return named;
}

/* SPDX-License-Identifier: MIT */
/* PCIe root ports and the PMUs that count them. */
#include "catalogue/ports.h"
#include "object.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- what a PMU says of itself ---- */

/* The text of a file of the PMU, or a reason why not: one of the two is NULL, both without memory. */
static char *read_file(struct unc_place *place, const char *file)
{
	struct unc_text why = {0};
	char *text;
	int err = unc_pmu_attribute(place->pmu, file, &text);

	if (err == 0)
		return text;
	unc_text_add(&why, "%s has no file '%s', which would name its root ports", place->pmu->name,
		     file);
	place->why = err == -ENOMEM ? NULL : unc_text_take(&why);
	unc_text_finish(&why);
	return NULL;
}

static int no_sense(struct unc_place *place, const char *file, const char *text)
{
	struct unc_text why = {0};

	unc_text_add(&why, "%s: its file '%s' has '%.40s', which names no root port",
		     place->pmu->name, file, text);
	place->why = unc_text_take(&why);
	return place->why ? 0 : -ENOMEM;
}

void unc_die_file(struct unc_text *to, const char *name, int die)
{
	const char *brace = strchr(name, '{');

	if (brace)
		unc_text_add(to, "%.*s%d%s", (int)(brace - name), name, die,
			     strchr(brace, '}') + 1);
	else
		unc_text_add(to, "%s", name);
}

/* "0000:3a": the root bus of one die; of that every device may be a root port. */
static int read_root_bus(struct unc_place *place, const struct unc_topology *t)
{
	struct unc_text file = {0}, device = {0};
	struct unc_pci_address bus;
	bool has_domain;
	char *text;
	int err = 0;

	unc_die_file(&file, place->rule->attribute, unc_topology_die(t, place->cpu));
	text = file.failed ? NULL : read_file(place, file.data);
	if (text)
		unc_text_add(&device, "%s:00.0", text);
	if (!text || device.failed) {
		err = place->why ? 0 : -ENOMEM;
	} else if (unc_pci_parse(device.data, &bus, &has_domain) && has_domain) {
		place->first = unc_pci_number(&bus);
		place->last = place->first | 0xff;
	} else {
		err = no_sense(place, file.data, text);
	}
	free(text);
	unc_text_finish(&file);
	unc_text_finish(&device);
	return err;
}

static int read_bound(struct unc_place *place, const char *file, uint64_t *out)
{
	char *text = read_file(place, file);
	int err = text || place->why ? 0 : -ENOMEM;

	if (text && unc_parse_u64(text, out) < 0)
		err = no_sense(place, file, text);
	free(text);
	return err;
}

/* What the family's first name tells of a root port, this PMU's name must tell, too: a kernel that does
 * not know the part gives it a name without. */
static int check_name(struct unc_place *place)
{
	const char *full = place->pmu->family->patterns[0].name;
	struct unc_text why = {0}, word = {0};

	for (size_t i = 0; !why.len && i < place->rule->field_count; i++) {
		unc_text_finish(&word);
		unc_text_add(&word, "{%s}", place->rule->fields[i].word);
		if (word.data && strstr(full, word.data) && !strstr(place->pattern, word.data))
			unc_text_add(&why, "the name of %s does not tell its %s, as %s would",
				     place->pmu->name, word.data, full);
	}
	why.failed |= word.failed;
	unc_text_finish(&word);
	if (!why.len && !why.failed)
		return 0;
	place->why = unc_text_take(&why);
	return place->why ? 0 : -ENOMEM;
}

static int resolve(struct unc_place *place, const struct unc_topology *t)
{
	const struct unc_port_rule *rule = place->rule;
	int err;

	switch (rule->kind) {
	case UNC_PORTS_ATTRIBUTE:
		return read_root_bus(place, t);
	case UNC_PORTS_NAME:
		unc_pattern_value(place->pattern, place->pmu->name, "sbdf", &place->first);
		place->last = place->first;
		return 0;
	case UNC_PORTS_RANGE:
		err = read_bound(place, rule->min, &place->first);
		return err || place->why ? err : read_bound(place, rule->max, &place->last);
	case UNC_PORTS_UNKNOWN:
		place->why = strdup(rule->why);
		return place->why ? 0 : -ENOMEM;
	case UNC_PORTS_DVSEC:
		return check_name(place);
	case UNC_PORTS_SOCKET:
		break;
	}
	return 0;
}

/* ---- what a root port says of itself ---- */

struct config {
	unsigned char *bytes;
	size_t len;
};

static const struct unc_port_field *find_field(const struct unc_port_rule *rule, const char *word)
{
	for (size_t i = 0; i < rule->field_count; i++)
		if (strcmp(rule->fields[i].word, word) == 0)
			return &rule->fields[i];
	return NULL;
}

/* Offset of the capability; 0: it is not there, or lacks a field. */
static size_t find_dvsec(const struct unc_port_rule *rule, const struct config *c)
{
	size_t length = 0, at = unc_pci_dvsec(c->bytes, c->len, rule->vendor, rule->id, &length);

	for (size_t i = 0; at && i < rule->field_count; i++)
		if (rule->fields[i].offset >= length || at + rule->fields[i].offset >= c->len)
			return 0;
	return at;
}

static int field_value(const struct unc_port_rule *rule, const struct config *c, size_t at,
		       const char *word)
{
	const struct unc_port_field *field = find_field(rule, word);

	return field ? c->bytes[at + field->offset] : -1;
}

/* The port's numbers are those that stand in the PMU's name. */
static bool names_pmu(const struct unc_place *place, const struct config *c, size_t at)
{
	const struct unc_port_rule *rule = place->rule;

	for (size_t i = 0; i < rule->field_count; i++) {
		uint64_t own = c->bytes[at + rule->fields[i].offset], wanted = own;

		unc_pattern_value(place->pattern, place->pmu->name, rule->fields[i].word, &wanted);
		if (own != wanted)
			return false;
	}
	return true;
}

static void number_port(struct uncore_device *d, const struct unc_port_rule *rule,
			const struct config *c, size_t at)
{
	d->rc_socket = field_value(rule, c, at, "socket");
	d->rc = field_value(rule, c, at, "rc");
	d->index = field_value(rule, c, at, "port");
}

static bool in_range(const struct unc_place *place, const struct unc_device *d, int *index)
{
	uint64_t number = unc_pci_number(&d->address);
	const struct unc_port_rule *rule = place->rule;
	unsigned at = d->address.device - rule->first; /* huge below the first */

	if (at < rule->count && !(rule->except && strcmp(rule->except, place->pmu->name) == 0))
		*index = (int)at;
	return number >= place->first && number <= place->last;
}

/* True when the PMU counts the port; *index is its number there. */
static bool counts(struct unc_place *place, struct unc_device *d, const struct config *c,
		   int *index)
{
	const struct unc_port_rule *rule = place->rule;
	size_t at;

	*index = -1;
	if (place->why)
		return false;
	if (rule->kind == UNC_PORTS_SOCKET)
		return d->shown.socket >= 0 && d->shown.socket == place->socket;
	if (rule->kind != UNC_PORTS_DVSEC)
		return in_range(place, d, index);
	at = find_dvsec(rule, c);
	if (!at)
		return false;
	number_port(&d->shown, rule, c, at);
	*index = d->shown.index;
	return names_pmu(place, c, at);
}

/* ---- the machine ---- */

/* A place for each CPU from which a PMU with rules is counted. */
static int add_places(struct uncore *u, const struct uncore_pmu *pmu)
{
	struct unc_ports *p = &u->ports;
	const struct unc_family *f = pmu->family;
	struct unc_place *grown;
	int err = 0;

	grown = reallocarray(p->places, p->place_count + pmu->cpus.count, sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	p->places = grown;
	for (size_t i = 0; err == 0 && i < pmu->cpus.count; i++) {
		struct unc_place *place = &p->places[p->place_count++];

		*place = (struct unc_place){
			.pmu = pmu,
			.cpu = pmu->cpus.ids[i],
			.socket = unc_topology_socket(&u->topology, pmu->cpus.ids[i]),
		};
		for (size_t k = 0; k < f->pattern_count; k++)
			if (unc_pattern_matches(f->patterns[k].name, pmu->name))
				place->pattern = f->patterns[k].name;
		place->rule = &f->ports;
		err = resolve(place, &u->topology);
	}
	return err;
}

static int add_found(struct unc_ports *p, size_t place, const struct unc_port *port)
{
	if (p->found_count == p->room) {
		size_t room = p->room ? p->room * 2 : 64;
		struct unc_found *grown = reallocarray(p->found, room, sizeof(*grown));

		if (!grown)
			return -ENOMEM;
		p->found = grown;
		p->room = room;
	}
	p->found[p->found_count++] = (struct unc_found){place, *port};
	p->places[place].port_count++;
	return 0;
}

/* Why no PMU counts it, in one sentence. */
static const char *why_unknown(struct uncore *u, const struct unc_device *d, const struct config *c)
{
	const struct unc_place *dvsec = NULL, *broken = NULL;
	struct unc_text why = {0};
	const char *kept;

	for (size_t i = 0; i < u->ports.place_count; i++) {
		const struct unc_place *place = &u->ports.places[i];

		if (place->why && !broken)
			broken = place;
		else if (!place->why && place->rule->kind == UNC_PORTS_DVSEC)
			dvsec = place;
	}
	if (u->ports.place_count && d->address.domain > UINT16_MAX)
		unc_text_add(&why, "a driver made its segment (VMD) and does not say which root "
				   "port it is behind");
	else if (dvsec && c->len < 0x100)
		unc_text_add(&why, "the part of its config space that names its PMU cannot be "
				   "read without root");
	else if (d->shown.rc >= 0)
		unc_text_add(&why, "there is no PMU of socket %d, root complex %d",
			     d->shown.rc_socket, d->shown.rc);
	else if (dvsec)
		unc_text_add(&why, "it has no capability (DVSEC %04x:%x) that names its PMU",
			     dvsec->rule->vendor, dvsec->rule->id);
	else if (broken)
		unc_text_add(&why, "%s", broken->why);
	else if (u->ports.place_count)
		unc_text_add(&why, "no PMU says that it counts this root port");
	else
		unc_text_add(&why, "no PMU here is known to count single root ports");
	kept = why.failed ? NULL : unc_pci_keep(&u->pci, why.data);
	u->pci.no_memory |= !kept;
	unc_text_finish(&why);
	return kept;
}

static bool reads_config(const struct unc_ports *p)
{
	for (size_t i = 0; i < p->place_count; i++)
		if (p->places[i].rule->kind == UNC_PORTS_DVSEC)
			return true;
	return false;
}

static int match_port(struct uncore *u, struct unc_device *d, bool with_config)
{
	struct unc_ports *p = &u->ports;
	struct config c = {0};
	size_t before = p->found_count;
	int err = 0;

	if (with_config && unc_pci_config(d, UNC_PCI_CONFIG, &c.bytes, &c.len) == 0)
		p->needs_root |= c.len < 0x100;
	for (size_t i = 0; err == 0 && i < p->place_count; i++) {
		struct unc_port port = {.device = &d->shown};

		if (!counts(&p->places[i], d, &c, &port.index))
			continue;
		err = add_found(p, i, &port);
		if (port.index >= 0)
			d->shown.index = port.index;
	}
	if (err == 0 && p->found_count == before)
		d->shown.unknown = why_unknown(u, d, &c);
	free(c.bytes);
	return err;
}

/* Gives each port its PMUs, each once, and each place its ports. */
static int list_found(struct unc_ports *p)
{
	size_t count = 0;

	p->pmus = calloc(p->found_count + 1, sizeof(*p->pmus));
	p->ports = calloc(p->found_count + 1, sizeof(*p->ports));
	if (!p->pmus || !p->ports)
		return -ENOMEM;
	for (size_t i = 0; i < p->place_count; i++) {
		p->places[i].first_port = count;
		count += p->places[i].port_count;
		p->places[i].port_count = 0; /* counted again below */
	}
	count = 0;
	for (size_t i = 0; i < p->found_count; i++) {
		struct unc_place *place = &p->places[p->found[i].place];
		struct unc_device *d = (struct unc_device *)p->found[i].port.device;

		p->ports[place->first_port + place->port_count++] = p->found[i].port;
		if (!d->pmu_count)
			d->pmus = &p->pmus[count];
		else if (d->pmus[d->pmu_count - 1] == place->pmu)
			continue;
		p->pmus[count++] = place->pmu;
		d->pmu_count++;
	}
	return 0;
}

static int load(struct uncore *u)
{
	bool with_config;
	int err = unc_pci_read(&u->pci, u->root, &u->topology);

	for (size_t i = 0; err == 0 && i < u->pmus.count; i++)
		if (u->pmus.items[i].family && u->pmus.items[i].family->has_ports)
			err = add_places(u, &u->pmus.items[i]);
	with_config = reads_config(&u->ports);
	for (size_t i = 0; err == 0 && i < u->pci.count; i++)
		if (u->pci.devices[i].shown.is_port)
			err = match_port(u, &u->pci.devices[i], with_config);
	if (err == 0)
		err = u->pci.no_memory ? -ENOMEM : list_found(&u->ports);
	return err;
}

int unc_ports_load(struct uncore *u)
{
	if (u->pci.root || !u->scanned)
		return 0;
	if (load(u) == 0)
		return 0;
	unc_ports_finish(&u->ports);
	unc_pci_finish(&u->pci);
	return unc_nomem(&u->error);
}

/* What no int can hold is the number of no PMU. */
static int small(uint64_t number)
{
	return number > INT_MAX ? -1 : (int)number;
}

const struct uncore_device *unc_ports_numbered(struct uncore *u, uint64_t socket, uint64_t rc,
					       uint64_t index)
{
	const uint64_t numbers[] = {socket, rc, index};
	struct unc_numbered *n = u->ports.numbered;

	while (n && memcmp(n->numbers, numbers, sizeof(numbers)) != 0)
		n = n->next;
	if (n)
		return &n->device.shown;
	n = calloc(1, sizeof(*n));
	if (!n)
		return NULL;
	memcpy(n->numbers, numbers, sizeof(numbers));
	snprintf(n->address, sizeof(n->address), "%llu:%llu:%llu", (unsigned long long)socket,
		 (unsigned long long)rc, (unsigned long long)index);
	n->device.shown = (struct uncore_device){
		.address = n->address,
		.port = &n->device.shown,
		.is_port = true,
		.is_bridge = true,
		.node = -1,
		.socket = -1,
		.speed = NAN,
		.max_speed = NAN,
		.link_rate = NAN,
		.max_rate = NAN,
		.rc_socket = small(socket),
		.rc = small(rc),
		.index = small(index),
	};
	n->next = u->ports.numbered;
	u->ports.numbered = n;
	return &n->device.shown;
}

void unc_ports_finish(struct unc_ports *p)
{
	while (p->numbered) {
		struct unc_numbered *next = p->numbered->next;

		free(p->numbered);
		p->numbered = next;
	}
	for (size_t i = 0; i < p->place_count; i++)
		free(p->places[i].why);
	free(p->places);
	free(p->found);
	free(p->ports);
	free(p->pmus);
	*p = (struct unc_ports){0};
}

int unc_ports_of(struct uncore *u, const struct uncore_pmu *pmu, int cpu,
		 const struct unc_port **ports, size_t *count, struct unc_error *why)
{
	const struct unc_ports *p = &u->ports;
	const struct unc_place *place = NULL;
	int err = unc_ports_load(u);

	if (err)
		return err;
	for (size_t i = 0; i < p->place_count && !place; i++)
		if (p->places[i].pmu == pmu && p->places[i].cpu == cpu)
			place = &p->places[i];
	if (!place)
		return unc_fail(why, ENODEV, "it is not known which root ports %s counts",
				pmu->name);
	if (place->why)
		return unc_fail(why, ENODEV, "%s", place->why);
	if (place->rule->kind == UNC_PORTS_DVSEC && !place->port_count)
		return unc_fail(why, ENODEV,
				p->needs_root ? "only root can read which root ports %s counts"
					      : "no root port says that %s counts it",
				pmu->name);
	*ports = &p->ports[place->first_port];
	*count = place->port_count;
	return 0;
}

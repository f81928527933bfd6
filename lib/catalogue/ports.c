/* SPDX-License-Identifier: MIT */
/* PCIe root ports and the PMUs that count them; the other ends and the speeds of links. */
#include "catalogue/catalogue.h"

#include <math.h>

/* A root port whose address is unknown. */
struct unc_numbered_port {
	struct unc_numbered_port *next;
	struct unc_device device;
	char address[64]; /* "SOCKET:RC:INDEX" */
};

/* ---- the root ports by a PMU's name and files ---- */

#define FILE_ROOM 128

/* The name of a PMU's file, with the number of the CPU's die for {die}. Returns -ENODEV if this
 * number is unknown. */
static int die_file(char to[FILE_ROOM], const char *name, const struct unc_topology *t, int cpu,
		    struct unc_error *why)
{
	const char *brace = strchr(name, '{');
	int die = unc_topology_die(t, cpu);

	if (brace && die < 0)
		return unc_fail(
			why, ENODEV,
			"it is not known which of the kernel's files '%.*sN' belongs to CPU %d: %s",
			(int)(brace - name), name, cpu,
			unc_topology_socket(t, cpu) < 0 ? "its package is not known"
							: "CPUs are offline");
	if (brace)
		snprintf(to, FILE_ROOM, "%.*s%d%s", (int)(brace - name), name, die,
			 strchr(brace, '}') + 1);
	else
		snprintf(to, FILE_ROOM, "%s", name);
	return 0;
}

/* Reads a file of the PMU, which names `what`. The caller frees the text. */
static int read_file(const struct uncore_pmu *pmu, const char *file, const char *what, char **text,
		     struct unc_error *why)
{
	int r = unc_pmu_attribute(pmu, file, text);

	return r == 0 || r == -ENOMEM
		       ? r
		       : unc_fail(why, ENODEV, "%s has no file '%s', which would name its %s",
				  pmu->name, file, what);
}

/* Reads the first and last address of the root ports from a file. The file has a root bus
 * ("0000:3a"), on which any device may be a root port, or one address as a number. */
static int read_addresses(struct unc_port_instance *x, const char *name,
			  const struct unc_topology *t, bool bus, struct unc_error *why)
{
	char file[FILE_ROOM], *text;
	int r = die_file(file, name, t, x->cpu, why);

	if (r == 0)
		r = read_file(x->pmu, file, "root ports", &text, why);
	if (r < 0)
		return r;
	if (bus && unc_pci_parse_bus(text, &x->first))
		x->last = x->first | 0xff;
	else if (bus || unc_parse_u64(text, &x->last) < 0)
		r = unc_fail(why, ENODEV, "%s: its file '%s' has '%.40s', which names no root port",
			     x->pmu->name, file, text);
	free(text);
	return r;
}

/* Finds the stack of the map that has the PMU's number, and the root bus of this stack in the PMU's
 * socket. */
static int find_stack(struct unc_port_instance *x, struct unc_root_buses *buses,
		      struct unc_error *why)
{
	const struct unc_port_rule *rule = x->rule;
	const struct uncore_cpu *cpu = unc_topology_cpu(buses->pci->topology, x->cpu);
	uint64_t unit = UINT64_MAX;
	int r = unc_root_buses_read(buses, rule, why);

	unc_pattern_value(x->pmu->pattern, x->pmu->name, "stack", &unit);
	for (size_t i = 0; r == 0 && i < rule->stack_count; i++) {
		const struct unc_stack *s = &rule->stacks[i];

		if (s->unit != unit || (s->kinds && !(s->kinds >> buses->kind & 1)))
			continue;
		for (size_t k = 0; k < buses->count; k++) {
			const struct unc_root_bus *bus = &buses->items[k];

			if (bus->number != s->bus || !cpu || (int)bus->package != cpu->package)
				continue;
			x->first = (uint64_t)bus->segment << 16 | bus->bus << 8;
			x->last = x->first | 0xff;
			if (s->numbers.count)
				x->numbers = s->numbers;
			x->doubt = s->doubt ? s->doubt : rule->doubt;
			return 0;
		}
		return unc_fail(why, ENODEV, "CPU bus %u of socket %d, that of %s, is not in use",
				s->bus, x->socket, x->pmu->name);
	}
	return r < 0 ? r
		     : unc_fail(why, ENODEV, "%s is not in the map of this CPU's I/O stacks",
				x->pmu->name);
}

/* Finds the range of the PMU's root ports. Returns -ENODEV if they are unknown. */
static int resolve(struct unc_port_instance *x, struct unc_root_buses *buses, struct unc_error *why)
{
	const struct unc_port_rule *rule = x->rule;
	const char *full = x->pmu->family->patterns[0].name;
	const struct unc_topology *t = buses->pci->topology;
	char word[80];
	int r;

	switch (rule->kind) {
	case UNC_PORTS_CONFIG:
		return find_stack(x, buses, why);
	case UNC_PORTS_ATTRIBUTE:
		return read_addresses(x, rule->attribute, t, true, why);
	case UNC_PORTS_NAME:
		unc_pattern_value(x->pmu->pattern, x->pmu->name, "sbdf", &x->first);
		x->last = x->first;
		return 0;
	case UNC_PORTS_RANGE:
		r = read_addresses(x, rule->min, t, false, why);
		x->first = x->last;
		return r < 0 ? r : read_addresses(x, rule->max, t, false, why);
	case UNC_PORTS_UNKNOWN:
		return unc_fail(why, ENODEV, "%s", rule->why);
	case UNC_PORTS_DVSEC:
		/* This PMU's name must have each word that the family's first name has. A kernel
		 * that does not know the part gives the PMU a name without them. */
		for (size_t i = 0; i < rule->field_count; i++) {
			snprintf(word, sizeof(word), "{%s}", rule->fields[i].word);
			if (strstr(full, word) && !strstr(x->pmu->pattern, word))
				return unc_fail(why, ENODEV,
						"the name of %s does not contain its %s, as in %s",
						x->pmu->name, word, full);
		}
		return 0;
	case UNC_PORTS_SOCKET:
		break;
	}
	return 0;
}

/* Adds an instance for each CPU from which a PMU with a rule for ports is counted. */
static int add_instances(struct unc_ports *p, const struct uncore_pmu *pmu)
{
	const struct unc_family *f = pmu->family;

	for (size_t i = 0; i < pmu->cpus.count; i++) {
		struct unc_port_instance *x =
			unc_append(&p->instances, &p->instance_count, sizeof(*x));
		struct unc_error why;
		int r;

		if (!x)
			return -ENOMEM;
		x->pmu = pmu;
		x->cpu = pmu->cpus.ids[i];
		x->socket = unc_counted_socket(pmu, p->buses.pci->topology, x->cpu);
		x->rule = f->ports;
		x->doubt = x->rule->doubt;
		if (!x->rule->except || strcmp(x->rule->except, pmu->name) != 0)
			x->numbers = x->rule->numbers;
		r = resolve(x, &p->buses, &why);
		if (r == -ENODEV)
			x->why = strdup(why.text);
		if (r == -ENOMEM || (r < 0 && !x->why))
			return -ENOMEM;
	}
	return 0;
}

/* ---- the PMU by a root port's config space ---- */

struct config {
	unsigned char *bytes;
	size_t len;
};

/* Reads the port's numbers from its capability, if it has one. Returns true if they are those in
 * the PMU's name. */
static bool dvsec_names_pmu(const struct unc_port_instance *x, struct uncore_device *d,
			    const struct config *c)
{
	const struct unc_topology *t = unc_device(d)->pci->topology;
	const struct unc_port_rule *rule = x->rule;
	size_t length = 0, at = unc_pci_dvsec(c->bytes, c->len, rule->vendor, rule->id, &length);
	bool same = true;

	for (size_t i = 0; at && i < rule->field_count; i++)
		if (rule->fields[i].offset >= length || at + rule->fields[i].offset >= c->len)
			at = 0;
	if (!at)
		return false;
	d->rc_socket = d->rc = d->index = -1;
	for (size_t i = 0; i < rule->field_count; i++) {
		const struct unc_port_field *field = &rule->fields[i];
		uint64_t own = c->bytes[at + field->offset], expected = own;

		if (strcmp(field->word, "socket") == 0)
			d->rc_socket = (int)own;
		else if (strcmp(field->word, "rc") == 0)
			d->rc = (int)own;
		else if (strcmp(field->word, "port") == 0)
			d->index = (int)own;
		unc_pattern_value(x->pmu->pattern, x->pmu->name, field->word, &expected);
		/* The driver takes the number in the name from a NUMA node of the socket (linux
		 * drivers/perf/arm_cspmu/nvidia_cspmu.c, nv_cspmu_format_name()). */
		if (strcmp(field->word, "socket") == 0 && expected <= INT_MAX) {
			int socket = unc_topology_node_socket(t, (int)expected);

			expected = socket < 0 ? expected : (uint64_t)socket;
		}
		same = same && own == expected;
	}
	return same;
}

/* True if the PMU counts the port; *index is the port's number in the PMU's filter. */
static bool counts(const struct unc_port_instance *x, struct unc_device *d, const struct config *c,
		   int *index)
{
	const struct unc_port_rule *rule = x->rule;
	/* Below `first` this wraps to a large number. */
	unsigned nth = (d->address >> 3 & 31) - x->numbers.first;
	/* A driver (VMD) may make a segment for a port of the bus with the driver's device. */
	uint64_t bus = (d->maker ? d->maker : d)->address & ~UINT64_C(0xff);
	uint64_t address = bus | (d->address & 0xff);

	*index = -1;
	if (x->why)
		return false;
	if (rule->kind == UNC_PORTS_SOCKET)
		return d->shown.socket >= 0 && d->shown.socket == x->socket;
	if (rule->kind == UNC_PORTS_DVSEC) {
		if (!dvsec_names_pmu(x, &d->shown, c))
			return false;
		*index = d->shown.index;
		return true;
	}
	if (nth < x->numbers.count)
		*index = (int)(x->numbers.part + nth);
	return address >= x->first && address <= x->last;
}

/* Why no PMU counts the port, in one sentence. */
static const char *why_unknown(const struct unc_ports *p, const struct unc_device *d,
			       const struct config *c)
{
	const struct unc_port_instance *dvsec = NULL, *broken = NULL;
	struct unc_error why;

	for (size_t i = 0; i < p->instance_count; i++) {
		const struct unc_port_instance *x = &p->instances[i];

		if (x->why && !broken)
			broken = x;
		else if (!x->why && x->rule->kind == UNC_PORTS_DVSEC)
			dvsec = x;
	}
	if (unc_dies_explain(&p->dies, d->pci->topology, d->address, &why))
		return unc_pci_keep(d->pci, why.text);
	if (!p->instance_count)
		unc_fail(&why, ENODEV, "no PMU here is known to count single root ports");
	else if (d->address >> 16 > UINT16_MAX && !d->maker)
		unc_fail(
			&why, ENODEV,
			"a driver made its segment (VMD), and neither its path nor a link 'domain' "
			"says on which root bus it is");
	else if (dvsec && c->len < 0x100)
		unc_fail(&why, ENODEV,
			 "the part of its config space that names its PMU cannot be read without "
			 "root");
	else if (d->shown.rc >= 0)
		unc_fail(&why, ENODEV, "there is no PMU of socket %d, root complex %d",
			 d->shown.rc_socket, d->shown.rc);
	else if (dvsec)
		unc_fail(&why, ENODEV, "it has no capability (DVSEC %04x:%x) that names its PMU",
			 dvsec->rule->vendor, dvsec->rule->id);
	else if (p->buses.count)
		unc_fail(&why, ENODEV, "its root bus is that of no I/O stack with a PMU");
	else if (broken)
		unc_fail(&why, ENODEV, "%s", broken->why);
	else
		unc_fail(&why, ENODEV, "no PMU names this root port");
	return unc_pci_keep(d->pci, why.text);
}

/* ---- matching ---- */

/* Observed on Skylake: 10000:00:00.0 to 03.0 are the ports 1A to 1D (spdk, issue 1155). */
#define VMD_DOUBT                                                                                     \
	"the port is behind VMD: its I/O stack is known, but no document says that ports keep their " \
	"numbers there"

/* Finds the instances that count the port. */
static int match_port(struct unc_ports *p, struct unc_device *d, bool with_config)
{
	struct config c = {0};
	bool found = false;
	int index, r = 0;

	if (with_config && unc_pci_config(d, UNC_PCI_CONFIG, &c.bytes, &c.len) == 0)
		p->needs_root |= c.len < 0x100;
	for (size_t i = 0; r == 0 && i < p->instance_count; i++) {
		struct unc_port_instance *x = &p->instances[i];
		struct unc_port port = {.device = &d->shown};

		if (!counts(x, d, &c, &index))
			continue;
		port.index = index;
		found = true;
		if (index >= 0)
			d->shown.index = index;
		d->shown.doubt = x->doubt;
		if (d->maker && !d->shown.doubt)
			d->shown.doubt = index < 0 ? NULL : VMD_DOUBT;
		if (d->shown.socket < 0)
			d->shown.socket = x->socket;
		r = UNC_ADD(&x->ports, &x->port_count, &port);
		if (d->pmu_count && p->pmus[p->pmu_count - 1] == x->pmu)
			continue; /* the same PMU, counted from another CPU */
		if (r == 0)
			r = UNC_ADD(&p->pmus, &p->pmu_count, &x->pmu);
		d->pmu_count += r == 0;
	}
	if (!found)
		d->shown.unknown = why_unknown(p, d, &c);
	free(c.bytes);
	return r;
}

int unc_ports_load(struct unc_ports *out, struct unc_topology *t, struct unc_pci *pci,
		   const struct unc_pmus *pmus)
{
	struct unc_ports p = {.buses.pci = pci};
	bool with_config = false;
	int r = unc_dies_load(&p.dies, t, pci, pmus);

	for (size_t i = 0; r == 0 && i < pmus->count; i++)
		if (pmus->items[i].family && pmus->items[i].family->ports)
			r = add_instances(&p, &pmus->items[i]);
	for (size_t i = 0; r == 0 && i < p.instance_count; i++)
		with_config |= p.instances[i].rule->kind == UNC_PORTS_DVSEC;
	for (size_t i = 0; r == 0 && i < pci->count; i++)
		if (pci->devices[i].shown.is_port)
			r = match_port(&p, &pci->devices[i], with_config);
	if (r < 0) {
		unc_ports_finish(&p);
		return -ENOMEM;
	}
	for (size_t i = 0, at = 0; i < pci->count; at += pci->devices[i++].pmu_count)
		pci->devices[i].pmus = p.pmus ? &p.pmus[at] : NULL;
	*out = p;
	return 0;
}

int unc_ports_of(const struct unc_ports *p, const struct uncore_pmu *pmu, int cpu,
		 const struct unc_port **ports, size_t *count, struct unc_error *why)
{
	const struct unc_port_instance *x = NULL;

	for (size_t i = 0; i < p->instance_count && !x; i++)
		if (p->instances[i].pmu == pmu && p->instances[i].cpu == cpu)
			x = &p->instances[i];
	if (!x)
		return unc_fail(why, ENODEV,
				unc_yaml_get(pmu->family->file->root, "ports")
					? "it is not known which root ports %s counts"
					: "%s does not distinguish root ports",
				pmu->name);
	if (x->why)
		return unc_fail(why, ENODEV, "%s", x->why);
	if (x->rule->kind == UNC_PORTS_DVSEC && !x->port_count)
		return unc_fail(why, ENODEV,
				p->needs_root ? "only root can read which root ports %s counts"
					      : "no root port names %s",
				pmu->name);
	*ports = x->ports;
	*count = x->port_count;
	return 0;
}

void unc_ports_finish(struct unc_ports *p)
{
	while (p->numbered) {
		struct unc_numbered_port *next = p->numbered->next;

		free(p->numbered);
		p->numbered = next;
	}
	for (size_t i = 0; i < p->instance_count; i++) {
		free(p->instances[i].why);
		free(p->instances[i].ports);
	}
	free(p->instances);
	free(p->pmus);
	free(p->buses.items);
	free(p->dies.items);
	*p = (struct unc_ports){0};
}

/* ---- root ports by their numbers ---- */

const struct uncore_device *unc_ports_numbered(struct unc_ports *p, uint64_t socket, uint64_t rc,
					       uint64_t index)
{
	struct unc_numbered_port *n = p->numbered;
	char address[sizeof(n->address)];

	snprintf(address, sizeof(address), "%llu:%llu:%llu", (unsigned long long)socket,
		 (unsigned long long)rc, (unsigned long long)index);
	while (n && strcmp(n->address, address) != 0)
		n = n->next;
	if (n)
		return &n->device.shown;
	n = calloc(1, sizeof(*n));
	if (!n)
		return NULL;
	memcpy(n->address, address, sizeof(address));
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
		/* No PMU has a number that does not fit into an int. */
		.rc_socket = socket > INT_MAX ? -1 : (int)socket,
		.rc = rc > INT_MAX ? -1 : (int)rc,
		.index = index > INT_MAX ? -1 : (int)index,
	};
	n->next = p->numbered;
	p->numbered = n;
	return &n->device.shown;
}

/* ---- the other ends of links ---- */

int unc_ports_peer(struct unc_pci *pci, const struct uncore_pmu *pmu, int cpu,
		   struct uncore_peer *out, struct unc_error *e)
{
	const struct unc_topology *t = pci->topology;
	const struct unc_family *f = pmu->family;
	struct uncore_peer peer = {.socket = -1};
	const struct unc_die *other = NULL;
	const char *die;
	uint64_t number;
	char file[FILE_ROOM], *text;
	int r;

	if (!f || (!f->peer && !f->role_attribute))
		return unc_fail(e, ENODEV, "the driver of %s does not name the other end",
				pmu->name);
	r = die_file(file, f->peer ? f->peer : f->role_attribute, t, cpu, e);
	if (r == 0)
		r = read_file(pmu, file, "other end", &text, e);
	if (r < 0)
		return r == -ENOMEM ? unc_nomem(e) : r;
	/* "upi_1,die_1": on the die with this number. */
	die = strrchr(text, '_');
	if (die && die - text >= 3 && strncmp(die - 3, "die", 3) == 0 &&
	    unc_parse_u64(die + 1, &number) == 0 && number <= INT32_MAX)
		other = unc_topology_numbered_die(t, (int)number);
	if (other)
		peer.socket = other->socket;
	peer.text = unc_pci_keep(pci, text);
	free(text);
	if (!peer.text)
		return unc_nomem(e);
	*out = peer;
	return 0;
}

/* ---- the speed of links ---- */

/* Reads the register of a function of the device. Returns -EACCES, -ENODEV or -ENOMEM. */
static int read_speed(const struct unc_pci *pci, uint64_t address,
		      const struct unc_speed_rule *rule, double *speed, struct unc_error *e)
{
	const struct unc_device *d = unc_pci_device(pci, address);
	unsigned char *config = NULL;
	const char *text = NULL;
	size_t len = 0, at = rule->offset;
	uint64_t value = 0, transfers;
	int r;

	if (!d)
		return unc_fail(e, ENODEV,
				"the device that has the speed of the link has no function %u",
				rule->function);
	r = unc_pci_config(d, at + 4, &config, &len);
	if (r == -ENOMEM)
		return unc_nomem(e);
	if (len == at + 4)
		value = unc_pci_word(config + at);
	free(config);
	if (len < at + 4)
		return unc_fail(e, EACCES, "only root can read the speed of the link from %s",
				d->shown.address);
	value = (value & rule->bits) >> __builtin_ctzll(rule->bits);
	if (value < rule->transfers.count)
		text = rule->transfers.items[value];
	if (!text || unc_parse_u64(text, &transfers) < 0)
		return unc_fail(e, ENODEV, "the speed of the link has no known value in %s: %llu",
				d->shown.address, (unsigned long long)value);
	*speed = (double)transfers / 1000;
	return 0;
}

/* If the kernel does not show which socket a device is in, the devices of all sockets must give the
 * same speed. */
int unc_ports_speed(const struct unc_pci *pci, const struct uncore_pmu *pmu, int cpu, double *speed,
		    const char **doubt, struct unc_error *e)
{
	int socket = unc_counted_socket(pmu, pci->topology, cpu), r;
	const struct unc_family *f = pmu->family;
	const struct unc_speed_rule *rule = f ? f->speed : NULL;
	uint64_t link = UINT64_MAX;
	double found = 0, other;

	if (rule)
		unc_pattern_value(pmu->pattern, pmu->name, "link", &link);
	if (!rule || link > 31)
		return unc_fail(e, ENODEV, "no register with the speed of %s is known", pmu->name);
	for (size_t i = 0; i < pci->count; i++) {
		const struct unc_device *d = &pci->devices[i];

		if (d->shown.vendor != rule->vendor || d->shown.device != rule->id ||
		    (d->address >> 3 & 31) != rule->first + link ||
		    (d->shown.socket >= 0 && d->shown.socket != socket))
			continue;
		r = read_speed(pci, (d->address & ~UINT64_C(7)) | rule->function, rule, &other, e);
		if (r < 0)
			return r;
		if (found > 0 && (other < found || other > found))
			return unc_fail(e, ENODEV, "the links of the sockets have several speeds");
		found = other;
	}
	if (!(found > 0))
		return unc_fail(e, ENODEV, "there is no device %04x:%04x for %s", rule->vendor,
				rule->id, pmu->name);
	*speed = found;
	*doubt = rule->doubt;
	return 0;
}

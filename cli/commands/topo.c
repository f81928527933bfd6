/* SPDX-License-Identifier: MIT */
/* `uncore topo`: sockets, memory, PCIe and links, and the PMUs that count them. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/writer.h"
#include "commands/documents.h"
#include "commands/options.h"
#include "output/devices.h"
#include "output/output.h"
#include "output/pmus.h"

#define BELOW_ROOM 16 /* devices shown below one bridge; virtual functions can be hundreds */
#define DEEPEST 8     /* bridges below bridges are indented up to here */
#define UNKNOWN (-1)  /* a socket */
#define OFFLINE (-2)  /* CPUs of any socket: x86 does not tell of which */

/* ---- which PMUs and root ports belong together ---- */

/* The n-th CPU from which the PMU counts something of the socket; -1: there are fewer. */
static int nth_cpu(const struct uncore *u, const struct uncore_pmu *pmu, int socket, size_t n)
{
	for (size_t i = 0; i < uncore_pmu_cpu_count(pmu); i++)
		if (uncore_pmu_socket(u, pmu, uncore_pmu_cpu_at(pmu, i)) == socket && n-- == 0)
			return uncore_pmu_cpu_at(pmu, i);
	return -1;
}

static int cpu_of(const struct uncore *u, const struct uncore_pmu *pmu, int socket)
{
	return nth_cpu(u, pmu, socket, 0);
}

static bool belongs(const struct uncore_cpu *cpu, int socket)
{
	return cpu->online ? cpu->socket == socket : socket == OFFLINE;
}

/* CPUs online, or with `nodes` their NUMA nodes, of a socket: ascending, each once; the caller's to
 * free. */
static int *ids_of(const struct uncore *u, int socket, bool nodes, size_t *count)
{
	int *ids = cli_realloc(NULL, uncore_cpu_count(u) + 1, sizeof(*ids));
	size_t all = 0;

	for (size_t i = 0; i < uncore_cpu_count(u); i++) {
		const struct uncore_cpu *cpu = uncore_cpu_at(u, i);
		int id = nodes ? cpu->node : cpu->id;

		if (belongs(cpu, socket) && id >= 0)
			ids[all++] = id;
	}
	*count = pmus_sort_ids(ids, all);
	return ids;
}

struct place {
	const struct uncore *u;
	int socket;
};

/* PMUs of channels; on a machine without those, PMUs that count memory traffic. Caches and links
 * have only latencies of memory. */
static bool counts_memory(const struct uncore_pmu *pmu, const void *place)
{
	const struct place *p = place;

	if (cpu_of(p->u, pmu, p->socket) < 0)
		return false;
	for (size_t i = 0; i < uncore_pmu_count(p->u); i++)
		if (uncore_pmu_is_memory(uncore_pmu_at(p->u, i)))
			return uncore_pmu_is_memory(pmu);
	return cli_has_metric(p->u, uncore_pmu_family(pmu), "memory.*bandwidth");
}

static bool counts_link(const struct uncore_pmu *pmu, const void *place)
{
	const struct place *p = place;

	return cpu_of(p->u, pmu, p->socket) >= 0 &&
	       cli_has_metric(p->u, uncore_pmu_family(pmu), "link.*");
}

static unsigned segment_of(const struct uncore_device *d)
{
	return (unsigned)strtoul(d->address, NULL, 16);
}

static unsigned bus_of(const struct uncore_device *d)
{
	return (unsigned)strtoul(strchr(d->address, ':') + 1, NULL, 16);
}

/* Root ports of one root complex, counted by the same PMUs; where root complexes are not known,
 * ports of one root bus. */
static bool same_complex(const struct uncore_device *a, const struct uncore_device *b)
{
	size_t count = uncore_device_pmu_count(a);

	if (a->socket != b->socket || a->rc != b->rc || a->rc_socket != b->rc_socket ||
	    segment_of(a) != segment_of(b) || (a->rc < 0 && bus_of(a) != bus_of(b)) ||
	    count != uncore_device_pmu_count(b))
		return false;
	for (size_t i = 0; i < count; i++)
		if (uncore_device_pmu_at(a, i) != uncore_device_pmu_at(b, i))
			return false;
	return cli_same(a->unknown, b->unknown);
}

/* ---- text: a tree by socket ---- */

static void put_ids(const struct uncore *u, int socket, bool nodes, const char *what,
		    struct buffer *to)
{
	size_t count;
	auto_free int *ids = ids_of(u, socket, nodes, &count);

	if (count)
		buffer_printf(to, "%s%s ", what, count == 1 ? "" : "s");
	pmus_ranges(ids, count, to);
}

static void socket_line(const struct uncore *u, int socket, struct buffer *to)
{
	if (socket == UNKNOWN)
		buffer_puts(to, "socket unknown");
	else
		buffer_printf(to, "socket %d", socket);
	put_ids(u, socket, false, ": CPU", to);
	put_ids(u, socket, true, ", NUMA node", to);
	for (size_t i = 0; i < uncore_device_count(u); i++) {
		const struct uncore_device *d = uncore_device_at(u, i);

		if (d->socket != socket || d->rc_socket < 0)
			continue;
		if (d->rc_socket != socket)
			buffer_printf(to, ", number %d in names of PMUs", d->rc_socket);
		break;
	}
	buffer_puts(to, "\n");
}

static void hang(struct buffer *to, const char *label, struct buffer *text)
{
	buffer_puts(to, label);
	buffer_wrap(to, 10, text_columns(), buffer_text(text));
	buffer_free(text);
}

/* "6 memory channels", "4 memory ports of the mesh": the words before "of" are in the plural. */
static void put_count(struct buffer *to, size_t n, const char *what)
{
	const char *of = strstr(what, " of ");
	size_t head = of ? (size_t)(of - what) : strlen(what);

	buffer_printf(to, "%zu %.*s%s%s", n, (int)head, what, n == 1 ? "" : "s", what + head);
}

/* The driver registers PMUs without a look at the hardware, and which have none is not known. */
static bool may_lack(const struct uncore_pmu *p)
{
	const struct uncore_driver *driver = uncore_pmu_driver(p);

	return driver && strcmp(driver->without_hardware, "possible") == 0 && !driver->absent;
}

/* "6 memory channels: uncore_imc_{0-5}". A PMU of two dies of the socket counts two. */
static void channel_lines(const struct uncore *u, int socket, struct pmus p, struct buffer *to)
{
	for (size_t n; p.count; p.items += n, p.count -= n) {
		const char *family = uncore_pmu_family(p.items[0]);
		struct buffer text = {0};
		size_t alike, units = 0;

		for (n = 0; n < p.count && strcmp(uncore_pmu_family(p.items[n]), family) == 0; n++)
			for (size_t k = 0; nth_cpu(u, p.items[n], socket, k) >= 0; k++)
				units++;
		buffer_puts(&text, may_lack(p.items[0]) ? "at most " : "");
		put_count(&text, units, uncore_pmu_instance(p.items[0]));
		for (size_t i = 0; i < n; i += alike) {
			alike = pmus_alike(&p, i);
			alike = alike < n - i ? alike : n - i;
			buffer_puts(&text, i ? ", " : ": ");
			pmus_name(&p, i, alike, &text);
		}
		hang(to, "  memory", &text);
	}
}

/* "peak 307.2 GB/s: 8 channels, 4800 MT/s (SMBIOS)" */
static void peak_line(struct uncore *u, struct buffer *to)
{
	const struct uncore_memory *m = uncore_memory_get(u);
	struct buffer text = {0};

	if (isfinite(m->peak))
		buffer_printf(&text, "peak %s", human(m->peak, "B/s").text);
	else
		buffer_puts(&text, "peak unknown");
	if (m->channels)
		buffer_printf(&text, ", %u channel%s%s", m->channels, m->channels == 1 ? "" : "s",
			      m->modules ? " with a module" : "");
	if (isfinite(m->transfers))
		buffer_printf(&text, ", %.0f MT/s%s", m->transfers, m->rated ? " rated" : "");
	if (m->from)
		buffer_printf(&text, " (%s)", m->from);
	if (m->why)
		buffer_printf(&text, ": %s", m->why);
	if (isfinite(m->used))
		buffer_printf(&text, "; %s in use (hsmp)", human(m->used, "B/s").text);
	hang(to, "  memory", &text);
}

/* How many PMUs count memory of the socket; -1: of an unknown one. */
static size_t count_memory(const struct uncore *u, int socket)
{
	auto_pmus p;

	pmus_select(&p, u, counts_memory, &(struct place){u, socket});
	return p.count;
}

/* The number of channels is not known where each PMU counts a whole socket. */
static void memory_lines(const struct uncore *u, int socket, struct buffer *to)
{
	struct buffer text = {0};
	auto_pmus p;

	pmus_select(&p, u, counts_memory, &(struct place){u, socket});
	if (p.count && uncore_pmu_is_memory(p.items[0])) {
		channel_lines(u, socket, p, to);
	} else {
		buffer_puts(&text, "channels unknown; ");
		for (size_t i = 0; i < p.count; i++)
			buffer_printf(&text, "%s%s", i ? ", " : "counted together by ",
				      uncore_pmu_name(p.items[i]));
		if (!p.count)
			buffer_puts(&text, count_memory(u, -1)
						   ? "the sockets of the PMUs that count memory "
						     "are unknown"
						   : "no PMU counts them");
		hang(to, "  memory", &text);
	}
}

static bool is_absent(const struct uncore_pmu *pmu, const void *u)
{
	(void)u;
	return uncore_pmu_absent(pmu);
}

/* PMUs without hardware, which no other line has. */
static void absent_lines(const struct uncore *u, struct buffer *to)
{
	auto_pmus p;

	pmus_select(&p, u, is_absent, u);
	for (size_t i = 0, n; (n = pmus_alike(&p, i)); i += n) {
		auto_buffer text = {0};

		pmus_name(&p, i, n, &text);
		buffer_printf(&text, " (this machine has no such %s)",
			      uncore_pmu_instance(p.items[i]));
		buffer_printf(to, "%sPMUs without hardware:", i ? "" : "\n");
		buffer_wrap(to, 4, text_columns(), text.data);
	}
}

/* False when the other end is not known. */
static bool put_peer(struct uncore *u, const struct uncore_pmu *pmu, int cpu, struct buffer *to)
{
	const char *role = uncore_pmu_role(pmu);
	const struct uncore_peer *peer = uncore_pmu_peer(u, pmu, cpu);

	if (!peer && !role)
		return false;
	if (peer && peer->socket >= 0)
		buffer_printf(to, "socket %d", peer->socket);
	else
		buffer_puts(to, role ? role : peer->text);
	if (peer && (peer->socket >= 0 || role))
		buffer_printf(to, " (%s)", peer->text);
	return true;
}

/* In MT/s; 0: unknown. */
static long link_speed(struct uncore *u, const struct uncore_pmu *pmu, int socket,
		       const char **doubt)
{
	double speed = uncore_pmu_link_speed(u, pmu, cpu_of(u, pmu, socket), doubt);

	return isnan(speed) ? 0 : lround(speed * 1000);
}

/* PMUs that are alike, and whose other ends are not known, are one line. Returns how many. */
static size_t link_line(struct uncore *u, const struct pmus *p, size_t first, int socket,
			struct buffer *to)
{
	size_t alike = pmus_alike(p, first), n = 0;
	auto_buffer peer = {0}, text = {0};
	const char *doubt;
	long speed = link_speed(u, p->items[first], socket, &doubt);

	while (n < alike && link_speed(u, p->items[first + n], socket, NULL) == speed &&
	       !put_peer(u, p->items[first + n], cpu_of(u, p->items[first + n], socket), &peer))
		n++;
	if (n) {
		peer.len = 0;
		uncore_pmu_peer(u, p->items[first], cpu_of(u, p->items[first], socket));
		buffer_printf(&peer, "unknown (%s)", uncore_error(u));
	}
	pmus_name(p, first, n ? n : 1, &text);
	buffer_printf(&text, " to %s", buffer_text(&peer));
	if (speed)
		buffer_printf(&text, ", %g GT/s", (double)speed / 1000);
	if (doubt)
		buffer_printf(&text, " (suspect: %s)", doubt);
	hang(to, "  link", &text);
	return n ? n : 1;
}

static void link_lines(struct uncore *u, int socket, struct buffer *to)
{
	const char *last = NULL;
	auto_pmus p;

	pmus_select(&p, u, counts_link, &(struct place){u, socket});
	for (size_t i = 0; i < p.count;)
		i += link_line(u, &p, i, socket, to);
	for (size_t i = 0; i < p.count; i++) {
		const char *bug = uncore_pmu_kernel_bug(p.items[i]);
		auto_buffer text = {0};

		if (bug && bug != last) {
			buffer_printf(&text, "suspect: %s", bug);
			hang(to, "  link", &text);
		}
		last = bug;
	}
}

struct self {
	const struct uncore *u;
	const struct uncore_device *device;
};

static bool counts_itself(const struct uncore_pmu *pmu, const void *self)
{
	const struct self *s = self;

	return uncore_pmu_device(s->u, pmu) == s->device;
}

static bool is_counted(const struct uncore *u, const struct uncore_device *d)
{
	auto_pmus p;

	pmus_select(&p, u, counts_itself, &(struct self){u, d});
	return p.count;
}

static void device_line(const struct uncore *u, const struct uncore_device *d, size_t depth,
			struct buffer *to)
{
	auto_buffer text = {0};
	size_t indent = 4 + 2 * (depth < DEEPEST ? depth : DEEPEST);
	auto_pmus p;

	device_text(&text, d);
	pmus_select(&p, u, counts_itself, &(struct self){u, d});
	for (size_t i = 0; i < p.count; i++)
		buffer_printf(&text, "%s%s",
			      i ? ", " : "; counts itself: ", uncore_pmu_name(p.items[i]));
	buffer_wrap(to, indent, text_columns(), buffer_text(&text));
}

/* Devices are ordered by address: those below a bridge come after it. */
static void tree_below(const struct uncore *u, size_t bridge, size_t depth, struct buffer *to)
{
	const struct uncore_device *above = uncore_device_at(u, bridge);
	size_t shown = 0, more = 0;

	for (size_t i = bridge + 1; i < uncore_device_count(u); i++) {
		const struct uncore_device *d = uncore_device_at(u, i);

		if (d->parent != above)
			continue;
		if (shown == BELOW_ROOM && !d->is_bridge) {
			more++;
			continue;
		}
		device_line(u, d, depth, to);
		if (d->is_bridge)
			tree_below(u, i, depth + 1, to);
		else
			shown++;
	}
	if (more) {
		buffer_spaces(to, 4 + 2 * (depth < DEEPEST ? depth : DEEPEST));
		buffer_printf(to, "and %zu more\n", more);
	}
}

/* "root complex 1, segment 0002: counted by ..." or "root bus 0000:3a: ..." */
static void complex_line(const struct uncore_device *port, struct buffer *to)
{
	auto_buffer text = {0};

	if (port->rc < 0)
		buffer_printf(to, "  root bus %04x:%02x", segment_of(port), bus_of(port));
	else
		buffer_printf(to, "  root complex %d, segment %04x", port->rc, segment_of(port));
	buffer_puts(to, "\n");
	if (port->unknown)
		buffer_printf(&text, "no PMU: %s", port->unknown);
	for (size_t i = 0; i < uncore_device_pmu_count(port); i++)
		buffer_printf(&text, "%s%s", i ? ", " : "counted by ",
			      uncore_pmu_name(uncore_device_pmu_at(port, i)));
	if (port->doubt)
		buffer_printf(&text, "; suspect: %s", port->doubt);
	buffer_wrap(to, 4, text_columns(), buffer_text(&text));
}

static void complex_lines(const struct uncore *u, int socket, struct buffer *to)
{
	const struct uncore_device *last = NULL;
	char link[LINK_ROOM];

	for (size_t i = 0; i < uncore_device_count(u); i++) {
		const struct uncore_device *d = uncore_device_at(u, i);

		if (!d->is_port || d->socket != socket)
			continue;
		if (!last || !same_complex(last, d))
			complex_line(d, to);
		last = d;
		link_of_text(link, sizeof(link), d);
		buffer_printf(to, "    %s  ", d->address);
		if (d->index >= 0)
			buffer_printf(to, "port %d  ", d->index);
		buffer_printf(to, "%s\n", link);
		tree_below(u, i, 1, to);
	}
}

/* Devices of the chip itself, or of a guest: only those with a name of the kernel are printed, and
 * devices that count themselves; others are counted. */
static void inner_lines(const struct uncore *u, int socket, struct buffer *to)
{
	size_t more = 0;
	bool begun = false;

	for (size_t i = 0; i < uncore_device_count(u); i++) {
		const struct uncore_device *d = uncore_device_at(u, i);

		if (d->port || d->is_bridge || d->socket != socket)
			continue;
		if (!d->names && !is_counted(u, d)) {
			more++;
			continue;
		}
		if (!begun)
			buffer_puts(to, "  below no root port\n");
		begun = true;
		device_line(u, d, 0, to);
	}
	if (more && begun)
		buffer_printf(to, "    and %zu without a name\n", more);
	else if (more)
		buffer_printf(to, "  below no root port: %zu device%s without a name\n", more,
			      more == 1 ? "" : "s");
}

static void socket_lines(struct uncore *u, int socket, struct buffer *to)
{
	auto_buffer below = {0};

	bool has_cpus = socket != UNKNOWN || cli_has_unnumbered(u);

	if (has_cpus || count_memory(u, socket))
		memory_lines(u, socket, &below);
	if (has_cpus)
		peak_line(u, &below);
	link_lines(u, socket, &below);
	complex_lines(u, socket, &below);
	inner_lines(u, socket, &below);
	if (below.len) {
		buffer_puts(to, to->len ? "\n" : "");
		socket_line(u, socket, to);
		buffer_add(to, below.data, below.len);
	}
}

static void topo_text(struct uncore *u, struct buffer *to)
{
	auto_buffer offline = {0}, sockets = {0};

	out_text_simulated(u, to);
	for (size_t i = 0; i < uncore_socket_count(u); i++)
		socket_lines(u, uncore_socket_at(u, i), &sockets);
	socket_lines(u, UNKNOWN, &sockets);
	put_ids(u, OFFLINE, false, "\noffline: CPU", &offline);
	put_ids(u, OFFLINE, true, ", NUMA node", &offline);
	buffer_add(to, sockets.data, sockets.len);
	buffer_add(to, offline.data, offline.len);
	buffer_puts(to, offline.len ? "\n" : "");
	absent_lines(u, to);
	if (!uncore_device_count(u))
		buffer_puts(to, "\nno PCI devices\n");
}

/* ---- documents: flat lists that refer to each other by socket, PMU and address ---- */

static json_t *ids_json(const struct uncore *u, int socket, bool nodes)
{
	json_t *array = json_array();
	size_t count;
	auto_free int *ids = ids_of(u, socket, nodes, &count);

	for (size_t i = 0; i < count; i++)
		json_push(array, json_integer(ids[i]));
	return array;
}

static json_t *add_cpus(json_t *to, const struct uncore *u, int socket)
{
	json_add(to, RECORD({"cpus", value_json(ids_json(u, socket, false))},
			    {"nodes", value_json(ids_json(u, socket, true))}));
	return to;
}

/* 0 is an unknown number. */
static struct value known_count(uint64_t count)
{
	return count ? value_count(count) : value_none();
}

/* A PMU where it counts one socket. */
static json_t *pmu_record(const struct uncore_pmu *pmu, int socket, int cpu)
{
	return json_record(RECORD({"pmu", value_text(uncore_pmu_name(pmu))},
				  {"family", value_text(uncore_pmu_family(pmu))},
				  {"socket", value_id(socket)}, {"cpu", value_id(cpu)}));
}

static json_t *peak_record(struct uncore *u)
{
	const struct uncore_memory *m = uncore_memory_get(u);

	return json_record((const struct field[]){
		{"peak", value_real(m->peak)},
		{"channels", known_count(m->channels)},
		{"modules", known_count(m->modules)},
		{"transfers", value_real(m->transfers)},
		{"rated", value_flag(m->rated)},
		{"from", value_text(m->from)},
		{"used", value_real(m->used)},
		{"unknown", value_text(m->why)},
		{0},
	});
}

static void push_pmus(json_t *memory, json_t *links, struct uncore *u, int socket)
{
	auto_pmus p;

	pmus_select(&p, u, counts_memory, &(struct place){u, socket});
	for (size_t i = 0; i < p.count; i++)
		for (size_t k = 0; nth_cpu(u, p.items[i], socket, k) >= 0; k++) {
			json_t *record =
				pmu_record(p.items[i], socket, nth_cpu(u, p.items[i], socket, k));

			json_add(record,
				 RECORD({"instance", value_text(uncore_pmu_instance(p.items[i]))}));
			json_push(memory, record);
		}
	pmus_free(&p);
	pmus_select(&p, u, counts_link, &(struct place){u, socket});
	for (size_t i = 0; i < p.count; i++) {
		int cpu = cpu_of(u, p.items[i], socket);
		json_t *record = pmu_record(p.items[i], socket, cpu);
		const struct uncore_peer *peer = uncore_pmu_peer(u, p.items[i], cpu);
		const char *doubt;
		long speed;

		json_add(record,
			 RECORD({"role", value_text(uncore_pmu_role(p.items[i]))},
				{"peer", value_text(peer ? peer->text : NULL)},
				{"peer_socket", value_id(peer ? peer->socket : -1)},
				{"unknown", value_text(peer ? NULL : uncore_error(u))},
				{"kernel_bug", value_text(uncore_pmu_kernel_bug(p.items[i]))}));
		speed = link_speed(u, p.items[i], socket, &doubt);
		json_add(record,
			 RECORD({"transfers", speed ? value_count((uint64_t)speed) : value_id(-1)},
				{"doubt", value_text(doubt)}));
		json_push(links, record);
	}
}

/* Words of the kernel's names. */
static json_t *names_json(const char *names)
{
	json_t *array = json_array();
	auto_free char *copy = cli_copy(names);
	char *rest = copy, *word;

	while (copy && (word = strsep(&rest, " ")))
		json_push(array, json_text(word));
	return array;
}

static struct value address(const struct uncore_device *d)
{
	return value_text(d ? d->address : NULL);
}

static json_t *device_record(const struct uncore *u, const struct uncore_device *d)
{
	json_t *pmus = json_array();
	const struct field link[] = {
		{"speed", value_real(d->speed)},         {"width", known_count(d->width)},
		{"max_speed", value_real(d->max_speed)}, {"max_width", known_count(d->max_width)},
		{"rate", value_real(d->link_rate)},      {0},
	};
	auto_pmus p;

	pmus_select(&p, u, counts_itself, &(struct self){u, d});
	for (size_t i = 0; i < p.count; i++)
		json_push(pmus, json_text(uncore_pmu_name(p.items[i])));

	return json_record((const struct field[]){
		{"address", address(d)},
		{"vendor", value_json(json_hex(d->vendor))},
		{"device", value_json(json_hex(d->device))},
		{"class", value_json(json_hex(d->class_code))},
		{"name", value_text(device_name(d))},
		{"driver", value_text(d->driver)},
		{"names", value_json(names_json(d->names))},
		{"parent", address(d->parent)},
		{"root_port", address(d->port)},
		{"bridge", value_flag(d->is_bridge)},
		{"node", value_id(d->node)},
		{"socket", value_id(d->socket)},
		{"link", value_json(json_record(link))},
		{"pmus", value_json(pmus)},
		{0},
	});
}

static json_t *port_record(const struct uncore_device *d)
{
	json_t *pmus = json_array();
	const struct field fields[] = {
		{"address", address(d)},
		{"segment", value_count(segment_of(d))},
		{"bus", value_count(bus_of(d))},
		{"socket", value_id(d->socket)},
		{"pmu_socket", value_id(d->rc_socket)},
		{"root_complex", value_id(d->rc)},
		{"index", value_id(d->index)},
		{"pmus", value_json(pmus)},
		{"unknown", value_text(d->unknown)},
		{"doubt", value_text(d->doubt)},
		{0},
	};

	for (size_t i = 0; i < uncore_device_pmu_count(d); i++)
		json_push(pmus, json_text(uncore_pmu_name(uncore_device_pmu_at(d, i))));
	return json_record(fields);
}

json_t *topo_document(struct uncore *u)
{
	json_t *sockets = json_array(), *memory = json_array(), *links = json_array();
	json_t *ports = json_array(), *devices = json_array();
	const struct field fields[] = {
		{"sockets", value_json(sockets)},
		{"offline", value_json(add_cpus(json_object(), u, OFFLINE))},
		{"memory", value_json(memory)},
		{"memory_peak", value_json(peak_record(u))},
		{"links", value_json(links)},
		{"root_ports", value_json(ports)},
		{"devices", value_json(devices)},
		{0},
	};

	for (size_t i = 0; i < uncore_socket_count(u) + cli_has_unnumbered(u); i++) {
		int socket = i < uncore_socket_count(u) ? uncore_socket_at(u, i) : UNKNOWN;

		json_push(sockets,
			  add_cpus(json_record(RECORD({"id", value_id(socket)})), u, socket));
		if (socket != UNKNOWN)
			push_pmus(memory, links, u, socket);
	}
	push_pmus(memory, links, u, UNKNOWN);
	for (size_t i = 0; i < uncore_device_count(u); i++) {
		const struct uncore_device *d = uncore_device_at(u, i);

		if (d->is_port)
			json_push(ports, port_record(d));
		json_push(devices, device_record(u, d));
	}
	return json_document(u, fields);
}

struct topo_options {
	const struct output *output; /* NULL: text */
	bool learn;
};

static const struct cli_option options[] = {
	{"learn", NULL,
	 "As root: store which root buses the PMUs count, for other users, in "
	 "/var/lib/uncore/root-buses.yaml",
	 0, 1, OPTION_FLAG, offsetof(struct topo_options, learn)},
	{0},
};

int cmd_topo(struct cli *cli, int argc, char **argv)
{
	static const struct cli_syntax syntax = {
		.doc = "Shows how this machine is connected: sockets, memory channels, root ports "
		       "with their links and the devices below them, links between sockets and to "
		       "GPUs; and which PMU counts each.\vNothing is counted. On some machines "
		       "only root can read which PMU counts a root port.",
		.options = options,
		.outputs = OUTPUTS_DOCUMENTS,
		.outputs_group = 1,
		.outputs_at = offsetof(struct topo_options, output),
	};
	struct topo_options o = {0};
	struct buffer text = {0};
	const char *file;
	size_t len;
	int status, err;

	cli_parse(cli, &syntax, &o, argc, argv);
	status = cli_open(cli);
	if (status)
		return status;
	if (o.learn) {
		err = uncore_learn(cli->u, &file);
		if (err)
			return cli_fail(cli, err);
		len = cli->root ? strlen(cli->root) : 0;
		while (len && cli->root[len - 1] == '/')
			len--;
		buffer_printf(&text, "written: %.*s%s\n", (int)len, len ? cli->root : "", file);
	} else if (o.output) {
		o.output->document(topo_document(cli->u), &text);
	} else {
		topo_text(cli->u, &text);
	}
	return writer_print(&text);
}

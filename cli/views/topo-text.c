/* SPDX-License-Identifier: MIT */
/* `uncore topo` for people: a tree by socket. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "output/human.h"
#include "output/table.h"
#include "views/links.h"
#include "views/topo.h"

#define BELOW_ROOM 16 /* devices shown below one bridge; virtual functions can be hundreds */
#define DEEPEST 8     /* bridges below bridges are indented up to here */

static void end_text(struct buffer *b)
{
	buffer_add(b, "", 1);
}

/* ---- what the socket has ---- */

static void put_ids(struct buffer *to, const char *what, int *ids, size_t count)
{
	if (count) {
		buffer_puts(to, what);
		pmus_ranges(ids, count, to);
	}
	free(ids);
}

static void socket_line(const struct uncore *u, int socket, struct buffer *to)
{
	size_t count;
	int *ids = topo_cpus(u, socket, &count);

	buffer_printf(to, "socket %d", socket);
	put_ids(to, count == 1 ? ": CPU " : ": CPUs ", ids, count);
	ids = topo_nodes(u, socket, &count);
	put_ids(to, count == 1 ? ", NUMA node " : ", NUMA nodes ", ids, count);
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
	end_text(text);
	buffer_hang(to, 10, TABLE_WIDTH, label, text->data);
	buffer_free(text);
}

/* How many PMUs from `first` on are of its family. */
static size_t of_one_family(const struct pmus *p, size_t first)
{
	const char *family = uncore_pmu_family(p->items[first]);
	size_t n = 1;

	while (first + n < p->count && strcmp(uncore_pmu_family(p->items[first + n]), family) == 0)
		n++;
	return n;
}

/* "6 memory channels", "4 memory ports of the mesh": what stands before "of" is in the plural. */
static void put_count(struct buffer *to, size_t n, const char *what)
{
	const char *of = strstr(what, " of ");
	size_t head = of ? (size_t)(of - what) : strlen(what);

	buffer_printf(to, "%zu %.*s%s%s", n, (int)head, what, n == 1 ? "" : "s", what + head);
}

/* "6 memory channels: uncore_imc_{0-5}" */
static void channel_lines(struct pmus p, struct buffer *to)
{
	for (size_t n; p.count; p.items += n, p.count -= n) {
		struct buffer text = {0};
		size_t alike;

		n = of_one_family(&p, 0);
		put_count(&text, n, uncore_pmu_instance(p.items[0]));
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
	struct human peak;

	if (isfinite(m->peak)) {
		human_value(&peak, m->peak, "B/s");
		buffer_printf(&text, "peak %s %s", peak.number, peak.unit);
	} else {
		buffer_puts(&text, "peak unknown");
	}
	if (m->channels)
		buffer_printf(&text, ", %u channel%s with a module", m->channels,
			      m->channels == 1 ? "" : "s");
	if (isfinite(m->transfers))
		buffer_printf(&text, ", %.0f MT/s%s", m->transfers, m->rated ? " rated" : "");
	if (m->from)
		buffer_printf(&text, " (%s)", m->from);
	if (m->why)
		buffer_printf(&text, ": %s", m->why);
	hang(to, "  memory", &text);
}

/* PMUs of whole sockets do not tell how many channels there are. */
static void memory_lines(const struct uncore *u, int socket, struct buffer *to)
{
	struct buffer text = {0};
	struct pmus p;

	topo_select(&p, u, socket, topo_counts_memory);
	if (p.count && topo_is_memory(p.items[0])) {
		channel_lines(p, to);
	} else {
		buffer_puts(&text, "channels unknown; ");
		for (size_t i = 0; i < p.count; i++)
			buffer_printf(&text, "%s%s", i ? ", " : "counted together by ",
				      uncore_pmu_name(p.items[i]));
		buffer_puts(&text, p.count ? "" : "no PMU counts them");
		hang(to, "  memory", &text);
	}
	pmus_free(&p);
}

/* False: nothing tells. */
static bool put_peer(struct uncore *u, const struct uncore_pmu *pmu, int cpu, struct buffer *to)
{
	const char *role = uncore_pmu_role(pmu);
	struct uncore_peer peer = {0};
	int err = uncore_pmu_peer(u, pmu, cpu, &peer);

	if (err && !role)
		return false;
	if (!err && peer.socket >= 0)
		buffer_printf(to, "socket %d", peer.socket);
	else
		buffer_puts(to, role ? role : peer.text);
	if (!err && (peer.socket >= 0 || role))
		buffer_printf(to, " (%s)", peer.text);
	return true;
}

/* Those that are alike and of which nothing tells are one line. Returns how many. */
static size_t link_line(struct uncore *u, const struct pmus *p, size_t first, int socket,
			struct buffer *to)
{
	size_t alike = pmus_alike(p, first), n = 0;
	struct buffer peer = {0}, text = {0};

	while (n < alike &&
	       !put_peer(u, p->items[first + n], topo_cpu(u, p->items[first + n], socket), &peer))
		n++;
	if (n) {
		peer.len = 0;
		uncore_pmu_peer(u, p->items[first], topo_cpu(u, p->items[first], socket),
				&(struct uncore_peer){0});
		buffer_printf(&peer, "unknown (%s)", uncore_error(u));
	}
	pmus_name(p, first, n ? n : 1, &text);
	buffer_printf(&text, " to %.*s", (int)peer.len, peer.data);
	hang(to, "  link", &text);
	buffer_free(&peer);
	return n ? n : 1;
}

static void link_lines(struct uncore *u, int socket, struct buffer *to)
{
	struct pmus p;

	topo_select(&p, u, socket, topo_counts_link);
	for (size_t i = 0; i < p.count;)
		i += link_line(u, &p, i, socket, to);
	pmus_free(&p);
}

/* ---- PCI ---- */

static void device_line(const struct uncore_device *d, size_t depth, struct buffer *to)
{
	struct buffer text = {0};
	size_t indent = 4 + 2 * (depth < DEEPEST ? depth : DEEPEST);

	ports_device(&text, d);
	end_text(&text);
	buffer_wrap(to, indent, TABLE_WIDTH, text.data);
	buffer_free(&text);
}

/* Devices come in the order of their addresses, so that a bridge's are found behind it. */
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
		device_line(d, depth, to);
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

static void port_lines(const struct uncore *u, size_t i, struct buffer *to)
{
	const struct uncore_device *port = uncore_device_at(u, i);
	char link[LINK_ROOM];

	ports_link_of(link, sizeof(link), port);
	buffer_printf(to, "    %s  ", port->address);
	if (port->index >= 0)
		buffer_printf(to, "port %d  ", port->index);
	buffer_printf(to, "%s\n", link);
	tree_below(u, i, 1, to);
}

/* "root complex 1, segment 0002: counted by ..." or "root bus 0000:3a: ..." */
static void complex_line(const struct uncore_device *port, struct buffer *to)
{
	struct buffer text = {0};

	if (port->rc < 0)
		buffer_printf(to, "  root bus %04x:%02x", topo_segment(port), topo_bus(port));
	else
		buffer_printf(to, "  root complex %d, segment %04x", port->rc, topo_segment(port));
	buffer_puts(to, "\n");
	if (port->unknown)
		buffer_printf(&text, "no PMU: %s", port->unknown);
	for (size_t i = 0; i < uncore_device_pmu_count(port); i++)
		buffer_printf(&text, "%s%s", i ? ", " : "counted by ",
			      uncore_pmu_name(uncore_device_pmu_at(port, i)));
	end_text(&text);
	buffer_wrap(to, 4, TABLE_WIDTH, text.data);
	buffer_free(&text);
}

static bool is_port_of(const struct uncore_device *d, int socket)
{
	return d->is_port && d->socket == socket;
}

static void complex_lines(const struct uncore *u, int socket, struct buffer *to)
{
	const struct uncore_device *last = NULL;

	for (size_t i = 0; i < uncore_device_count(u); i++) {
		const struct uncore_device *d = uncore_device_at(u, i);

		if (!is_port_of(d, socket))
			continue;
		if (!last || !topo_same_complex(last, d))
			complex_line(d, to);
		port_lines(u, i, to);
		last = d;
	}
}

/* Part of the chip: only those that the kernel has names for are of interest. */
static void inner_lines(const struct uncore *u, int socket, struct buffer *to)
{
	size_t more = 0;
	bool begun = false;

	for (size_t i = 0; i < uncore_device_count(u); i++) {
		const struct uncore_device *d = uncore_device_at(u, i);

		if (d->port || d->is_bridge || d->socket != socket)
			continue;
		if (!d->names) {
			more++;
			continue;
		}
		if (!begun)
			buffer_puts(to, "  below no root port\n");
		begun = true;
		device_line(d, 0, to);
	}
	if (more && begun)
		buffer_printf(to, "    and %zu without a name\n", more);
	else if (more)
		buffer_printf(to, "  below no root port: %zu device%s without a name\n", more,
			      more == 1 ? "" : "s");
}

static void socket_lines(struct uncore *u, int socket, struct buffer *to)
{
	socket_line(u, socket, to);
	memory_lines(u, socket, to);
	peak_line(u, to);
	link_lines(u, socket, to);
	complex_lines(u, socket, to);
	inner_lines(u, socket, to);
}

void topo_text(struct uncore *u, struct buffer *to)
{
	struct buffer unknown = {0};

	if (uncore_is_simulated(u))
		buffer_printf(to, "SIMULATED by %s: not this machine.\n\n", uncore_source(u));
	for (size_t i = 0; i < uncore_socket_count(u); i++) {
		if (i)
			buffer_puts(to, "\n");
		socket_lines(u, uncore_socket_at(u, i), to);
	}
	if (!uncore_socket_count(u) || uncore_socket_at(u, 0) >= 0) {
		complex_lines(u, -1, &unknown);
		inner_lines(u, -1, &unknown);
	}
	if (unknown.len)
		buffer_puts(to, "\nsocket unknown\n");
	buffer_add(to, unknown.data, unknown.len);
	buffer_free(&unknown);
	if (!uncore_device_count(u))
		buffer_puts(to, "\nno PCI devices\n");
}

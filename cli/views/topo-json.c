/* SPDX-License-Identifier: MIT */
/* `uncore topo --json`: flat lists that refer to each other by socket, PMU and address. */
#include <stdlib.h>
#include <string.h>

#include "output/json.h"
#include "views/topo.h"

/* Takes the ids over. */
static json_t *ids_json(int *ids, size_t count)
{
	json_t *array = json_array();

	for (size_t i = 0; i < count; i++)
		json_push(array, json_integer(ids[i]));
	free(ids);
	return array;
}

static json_t *socket_json(const struct uncore *u, int socket)
{
	json_t *object = json_object();
	size_t count;
	int *ids = topo_cpus(u, socket, &count);

	json_put(object, "id", json_id(socket));
	json_put(object, "cpus", ids_json(ids, count));
	ids = topo_nodes(u, socket, &count);
	json_put(object, "nodes", ids_json(ids, count));
	return object;
}

/* A PMU where it counts one socket. */
static json_t *pmu_json(const struct uncore *u, const struct uncore_pmu *pmu, int socket)
{
	json_t *object = json_object();

	json_put(object, "pmu", json_text(uncore_pmu_name(pmu)));
	json_put(object, "family", json_text(uncore_pmu_family(pmu)));
	json_put(object, "socket", json_id(socket));
	json_put(object, "cpu", json_id(topo_cpu(u, pmu, socket)));
	return object;
}

static json_t *peak_json(struct uncore *u)
{
	const struct uncore_memory *m = uncore_memory_get(u);
	json_t *object = json_object();

	json_put(object, "peak", json_number(m->peak));
	json_put(object, "channels", m->channels ? json_integer(m->channels) : json_null());
	json_put(object, "modules", m->modules ? json_count(m->modules) : json_null());
	json_put(object, "transfers", json_number(m->transfers));
	json_put(object, "rated", json_flag(m->rated));
	json_put(object, "from", json_text(m->from));
	json_put(object, "unknown", json_text(m->why));
	return object;
}

static void push_memory(json_t *array, const struct uncore *u, int socket)
{
	struct pmus p;

	topo_select(&p, u, socket, topo_counts_memory);
	for (size_t i = 0; i < p.count; i++) {
		json_t *object = pmu_json(u, p.items[i], socket);

		json_put(object, "instance", json_text(uncore_pmu_instance(p.items[i])));
		json_push(array, object);
	}
	pmus_free(&p);
}

static void push_links(json_t *array, struct uncore *u, int socket)
{
	struct pmus p;

	topo_select(&p, u, socket, topo_counts_link);
	for (size_t i = 0; i < p.count; i++) {
		json_t *object = pmu_json(u, p.items[i], socket);
		struct uncore_peer peer = {.socket = -1};
		int err = uncore_pmu_peer(u, p.items[i], topo_cpu(u, p.items[i], socket), &peer);

		json_put(object, "role", json_text(uncore_pmu_role(p.items[i])));
		json_put(object, "peer", json_text(peer.text));
		json_put(object, "peer_socket", json_id(peer.socket));
		json_put(object, "unknown", json_text(err ? uncore_error(u) : NULL));
		json_push(array, object);
	}
	pmus_free(&p);
}

/* ---- PCI ---- */

static json_t *lanes_json(unsigned width)
{
	return width ? json_integer(width) : json_null();
}

static json_t *link_json(const struct uncore_device *d)
{
	json_t *object = json_object();

	json_put(object, "speed", json_number(d->speed));
	json_put(object, "width", lanes_json(d->width));
	json_put(object, "max_speed", json_number(d->max_speed));
	json_put(object, "max_width", lanes_json(d->max_width));
	json_put(object, "rate", json_number(d->link_rate));
	return object;
}

/* Words of the kernel's names. */
static json_t *names_json(const char *names)
{
	json_t *array = json_array();
	char *copy = names ? strdup(names) : NULL, *rest = copy, *word;

	while (copy && (word = strsep(&rest, " ")))
		json_push(array, json_text(word));
	free(copy);
	return array;
}

static json_t *address_json(const struct uncore_device *d)
{
	return json_text(d ? d->address : NULL);
}

static json_t *device_json(const struct uncore_device *d)
{
	json_t *object = json_object();

	json_put(object, "address", address_json(d));
	json_put(object, "vendor", json_hex(d->vendor));
	json_put(object, "device", json_hex(d->device));
	json_put(object, "class", json_hex(d->class_code));
	json_put(object, "name", json_text(uncore_device_name(d)));
	json_put(object, "driver", json_text(d->driver));
	json_put(object, "names", names_json(d->names));
	json_put(object, "parent", address_json(d->parent));
	json_put(object, "root_port", address_json(d->port));
	json_put(object, "bridge", json_flag(d->is_bridge));
	json_put(object, "node", json_id(d->node));
	json_put(object, "socket", json_id(d->socket));
	json_put(object, "link", link_json(d));
	return object;
}

static json_t *port_json(const struct uncore_device *d)
{
	json_t *object = json_object();
	json_t *pmus = json_array();

	for (size_t i = 0; i < uncore_device_pmu_count(d); i++)
		json_push(pmus, json_text(uncore_pmu_name(uncore_device_pmu_at(d, i))));
	json_put(object, "address", address_json(d));
	json_put(object, "segment", json_integer(topo_segment(d)));
	json_put(object, "bus", json_integer(topo_bus(d)));
	json_put(object, "socket", json_id(d->socket));
	json_put(object, "pmu_socket", json_id(d->rc_socket));
	json_put(object, "root_complex", json_id(d->rc));
	json_put(object, "index", json_id(d->index));
	json_put(object, "pmus", pmus);
	json_put(object, "unknown", json_text(d->unknown));
	return object;
}

static void put_devices(json_t *topo, const struct uncore *u)
{
	json_t *ports = json_array(), *devices = json_array();

	for (size_t i = 0; i < uncore_device_count(u); i++) {
		const struct uncore_device *d = uncore_device_at(u, i);

		if (d->is_port)
			json_push(ports, port_json(d));
		json_push(devices, device_json(d));
	}
	json_put(topo, "root_ports", ports);
	json_put(topo, "devices", devices);
}

void topo_json(struct uncore *u, struct buffer *to)
{
	json_t *topo = json_header(u);
	json_t *sockets = json_array(), *memory = json_array(), *links = json_array();

	for (size_t i = 0; i < uncore_socket_count(u); i++) {
		json_push(sockets, socket_json(u, uncore_socket_at(u, i)));
		push_memory(memory, u, uncore_socket_at(u, i));
		push_links(links, u, uncore_socket_at(u, i));
	}
	json_put(topo, "sockets", sockets);
	json_put(topo, "memory", memory);
	json_put(topo, "memory_peak", peak_json(u));
	json_put(topo, "links", links);
	put_devices(topo, u);
	json_print(topo, JSON_INDENT(2), to);
}

/* SPDX-License-Identifier: MIT */
#include "record/machines.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/cli.h"
#include "base/table.h"

#define UNKNOWN "unknown"

void facts_add(struct facts *f, const char *name, const char *fmt, ...)
{
	char value[400];
	va_list args;

	va_start(args, fmt);
	vsnprintf(value, sizeof(value), fmt, args);
	va_end(args);
	f->items = cli_realloc(f->items, f->count + 1, sizeof(*f->items));
	f->items[f->count++] = (struct fact){cli_copy(name), cli_copy(value)};
}

static void add_memory(struct facts *f, struct uncore *u)
{
	const struct uncore_memory *m = uncore_memory_get(u);

	facts_add(f, "memory speed", isfinite(m->transfers) ? "%.0f MT/s%s" : UNKNOWN, m->transfers,
		  m->rated ? " (rated)" : "");
	facts_add(f, "memory channels", m->channels ? "%u for each socket" : UNKNOWN, m->channels);
	facts_add(f, "memory modules", m->modules ? "%zu" : UNKNOWN, m->modules);
}

/* The link of each device behind a root port. */
static void add_links(struct facts *f, const struct uncore *u)
{
	for (size_t i = 0; i < uncore_device_count(u); i++) {
		const struct uncore_device *d = uncore_device_at(u, i);
		char name[100];

		if (d->is_bridge || !d->port || d->port == d)
			continue;
		snprintf(name, sizeof(name), "PCIe %s", d->address);
		facts_add(f, name, d->width ? "%04x:%04x%s%.*s, %g GT/s x%u" : "%04x:%04x%s%.*s",
			  d->vendor, d->device, d->names ? " " : "",
			  d->names ? (int)strcspn(d->names, " ") : 0, d->names ? d->names : "",
			  d->speed, d->width);
	}
}

void facts_read(struct facts *f, struct uncore *u)
{
	const char *kernel = uncore_kernel(u), *firmware = uncore_firmware(u);
	const char *hypervisor = uncore_hypervisor(u);
	size_t sockets = uncore_socket_count(u), nodes = cli_node_count(u);
	char cpu[CPU_ROOM], count[SOCKETS_ROOM];

	facts_add(f, "CPU", "%s", cli_cpu(u, cpu));
	facts_add(f, "stepping", uncore_cpu_stepping(u) < 0 ? UNKNOWN : "%d",
		  uncore_cpu_stepping(u));
	facts_add(f, "sockets", "%s, %zu CPUs", cli_sockets(u, count), uncore_cpu_count(u));
	facts_add(f, "hypervisor", "%s", hypervisor ? hypervisor : "none");
	facts_add(f, "kernel", "%s", kernel ? kernel : UNKNOWN);
	facts_add(f, "BIOS", "%s", firmware ? firmware : UNKNOWN);
	facts_add(f, "NUMA nodes", sockets && nodes ? "%g for each socket" : UNKNOWN,
		  sockets ? (double)nodes / (double)sockets : 0);
	add_memory(f, u);
	add_links(f, u);
}

void facts_free(struct facts *f)
{
	for (size_t i = 0; i < f->count; i++) {
		free(f->items[i].name);
		free(f->items[i].value);
	}
	free(f->items);
	*f = (struct facts){0};
}

static const char *value_of(const struct facts *f, const char *name)
{
	for (size_t i = 0; i < f->count; i++)
		if (strcmp(f->items[i].name, name) == 0)
			return f->items[i].value;
	return NULL;
}

/* Calls for each fact of A, then for each one that only B has. */
static void for_each(const struct facts *a, const struct facts *b,
		     void (*call)(void *context, const char *name, const char *in_a,
				  const char *in_b),
		     void *context)
{
	for (size_t i = 0; i < a->count; i++)
		call(context, a->items[i].name, a->items[i].value, value_of(b, a->items[i].name));
	for (size_t i = 0; i < b->count; i++)
		if (!value_of(a, b->items[i].name))
			call(context, b->items[i].name, NULL, b->items[i].value);
}

struct printed {
	struct table table;
	struct buffer same, unknown;
	size_t same_links;
};

static void put_fact(void *context, const char *name, const char *in_a, const char *in_b)
{
	struct printed *p = context;
	struct buffer *list = in_a && strcmp(in_a, UNKNOWN) == 0 ? &p->unknown : &p->same;

	if (!cli_same(in_a, in_b)) {
		table_cell(&p->table, "%s", name);
		table_cell(&p->table, "%s", in_a ? in_a : "none");
		table_cell(&p->table, "%s", in_b ? in_b : "none");
		table_end_row(&p->table, NULL);
	} else if (strncmp(name, "PCIe ", 5) == 0) {
		p->same_links++;
	} else {
		buffer_printf(list, "%s%s", list->len ? ", " : "", name);
	}
}

void facts_print(const struct facts *a, const struct facts *b, struct buffer *to)
{
	static const struct table_column columns[] = {
		{"MACHINE", 0}, {"A", TABLE_ALONE}, {"B", 0}, {NULL, 0}};
	struct printed p = {0};

	table_init(&p.table, columns);
	for_each(a, b, put_fact, &p);
	if (p.same_links)
		buffer_printf(&p.same, "%s%zu PCIe link%s", p.same.len ? ", " : "", p.same_links,
			      p.same_links == 1 ? "" : "s");
	table_print(&p.table, to);
	if (p.same.len) {
		buffer_puts(to, "Same:");
		buffer_wrap(to, 6, text_columns(), p.same.data);
	}
	if (p.unknown.len) {
		buffer_puts(to, "Unknown of both:");
		buffer_wrap(to, 6, text_columns(), p.unknown.data);
	}
	buffer_puts(to, "\n");
	table_free(&p.table);
	buffer_free(&p.same);
	buffer_free(&p.unknown);
}

static void push_fact(void *context, const char *name, const char *in_a, const char *in_b)
{
	json_push(context, json_record(RECORD({"name", value_text(name)}, {"a", value_text(in_a)},
					      {"b", value_text(in_b)},
					      {"differs", value_flag(!cli_same(in_a, in_b))})));
}

json_t *facts_document(const struct facts *a, const struct facts *b)
{
	json_t *list = json_array();

	for_each(a, b, push_fact, list);
	return list;
}

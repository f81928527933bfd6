/* SPDX-License-Identifier: MIT */
/* The devices of a register block on this machine, and the PMUs that their instances are. */
#include "base/text.h"
#include "source/regs/regs.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct finder {
	struct unc_regs *r;
	const struct unc_root *root;
	const struct unc_topology *topology;
	struct unc_error *e;
};

/* ---- devices ---- */

/* NULL: out of memory, which has been said. `path` is copied. */
static struct unc_regs_device *add_device(const struct finder *f, const char *path)
{
	struct unc_regs *r = f->r;
	struct unc_regs_device *grown =
		reallocarray(r->devices, r->device_count + 1, sizeof(*grown));
	char *copy = strdup(path);

	if (grown)
		r->devices = grown;
	if (!grown || !copy) {
		free(copy);
		unc_nomem(f->e);
		return NULL;
	}
	r->devices[r->device_count] = (struct unc_regs_device){.path = copy, .cpu = -1};
	return &r->devices[r->device_count++];
}

/* The number in a small file; `otherwise` when there is none. */
static uint64_t read_number(const struct finder *f, const char *dir, const char *file,
			    uint64_t otherwise)
{
	char path[640];
	uint64_t value;

	snprintf(path, sizeof(path), "%s/%s", dir, file);
	return unc_root_read_u64(f->root, path, &value) < 0 ? otherwise : value;
}

/* A device with this address, or with these ids: "10ee:9038". */
static int add_pci(const struct finder *f, const char *dir, const char *address)
{
	const char *text = f->r->map.text;
	uint64_t node = read_number(f, dir, "numa_node", UINT64_MAX);
	struct unc_regs_device *d;
	char ids[48], path[600];
	size_t same = 0;

	snprintf(ids, sizeof(ids), "%04llx:%04llx",
		 (unsigned long long)read_number(f, dir, "vendor", UINT64_MAX),
		 (unsigned long long)read_number(f, dir, "device", UINT64_MAX));
	while (text[same] && unc_lower(text[same]) == ids[same])
		same++;
	if ((text[same] || ids[same]) && strcmp(address, text) != 0)
		return 0;
	if (f->r->space == UNC_SPACE_PCI)
		snprintf(path, sizeof(path), "%s/config", dir);
	else
		snprintf(path, sizeof(path), "%s/resource%llu", dir,
			 (unsigned long long)f->r->map.index);
	d = add_device(f, path);
	if (!d)
		return -ENOMEM;
	/* Its CPU is the first one online of its node. */
	for (size_t i = f->topology->cpu_count; i-- > 0;)
		if (f->topology->cpus[i].online && f->topology->cpus[i].node >= 0 &&
		    (uint64_t)f->topology->cpus[i].node == node)
			d->cpu = f->topology->cpus[i].id;
	return 0;
}

/* The device of this name, or whose driver has it. */
static int add_uio(const struct finder *f, const char *dir, const char *uio)
{
	unsigned long long map = f->r->map.index;
	char path[600], *name = NULL;
	struct unc_regs_device *d;
	bool found;

	snprintf(path, sizeof(path), "%s/name", dir);
	unc_root_read_line(f->root, path, &name);
	found = strcmp(uio, f->r->map.text) == 0 || (name && strcmp(name, f->r->map.text) == 0);
	free(name);
	if (!found)
		return 0;
	snprintf(path, sizeof(path), "dev/%s", uio);
	d = add_device(f, path);
	if (!d)
		return -ENOMEM;
	snprintf(path, sizeof(path), "%s/maps/map%llu", dir, map);
	/* A device without the map has none of its bytes. */
	d->length = read_number(f, path, "size", 1);
	d->offset = map * (uint64_t)sysconf(_SC_PAGESIZE) + read_number(f, path, "offset", 0);
	return 0;
}

/* Calls `add` for each device of a directory. */
static int find_in(const struct finder *f, const char *parent,
		   int (*add)(const struct finder *f, const char *dir, const char *name))
{
	struct unc_names names = {0};
	int err = unc_root_list(f->root, parent, &names) == -ENOMEM ? unc_nomem(f->e) : 0;

	for (size_t i = 0; err == 0 && i < names.count; i++) {
		char dir[300];

		snprintf(dir, sizeof(dir), "%s/%s", parent, names.items[i]);
		err = add(f, dir, names.items[i]);
	}
	unc_names_finish(&names);
	return err;
}

/* "PATH" or "PATH@OFFSET". A relative path is the caller's, who does not know our root. */
static int add_where(const struct finder *f, const char *where)
{
	const char *mark = strrchr(where, '@');
	char *path = mark ? strndup(where, (size_t)(mark - where)) : strdup(where);
	struct unc_regs_device *d = NULL;
	uint64_t offset = 0;
	char *whole;

	if (!path)
		return unc_nomem(f->e);
	if (mark && unc_parse_u64(mark + 1, &offset) < 0) {
		free(path);
		return unc_fail(
			f->e, EINVAL,
			"'%s' is not a valid offset: decimal or 0x hexadecimal; behind a path "
			"with an @ of its own write @0",
			mark + 1);
	}
	whole = unc_root_is_live(f->root) ? realpath(path, NULL) : NULL;
	d = add_device(f, whole ? whole : path);
	free(whole);
	free(path);
	if (!d)
		return -ENOMEM;
	d->offset = offset;
	return 0;
}

static int find_devices(const struct finder *f)
{
	const struct unc_regs_map *m = &f->r->map;
	struct unc_regs_device *d;

	if (f->r->where)
		return add_where(f, f->r->where);
	switch (f->r->space == UNC_SPACE_MSR ? UNC_MAP_FILE : m->kind) {
	case UNC_MAP_PCI:
		return find_in(f, "sys/bus/pci/devices", add_pci);
	case UNC_MAP_UIO:
		return find_in(f, "sys/class/uio", add_uio);
	case UNC_MAP_FILE:
		return add_device(f, m->text ? m->text : "MSRs") ? 0 : -ENOMEM;
	case UNC_MAP_MEMORY:
		d = add_device(f, "dev/mem");
		if (d)
			d->offset = m->physical;
		return d ? 0 : -ENOMEM;
	case UNC_MAP_NONE:
		break;
	}
	return unc_fail(f->e, EINVAL,
			"the block %s does not say where it is: add ',at=PATH' to the source, or a "
			"'map' to the file",
			f->r->name);
}

/* Registers are aligned. */
static int check_alignment(const struct finder *f)
{
	const struct unc_regs *r = f->r;

	for (size_t i = 0; i < r->device_count && r->space != UNC_SPACE_MSR; i++)
		if (r->devices[i].offset % r->bytes)
			return unc_fail(
				f->e, EINVAL,
				"%s: it would begin at byte 0x%llx of %s, and registers of %u "
				"bits begin at multiples of %u",
				r->name, (unsigned long long)r->devices[i].offset,
				r->devices[i].path, r->bytes * 8, r->bytes);
	return 0;
}

/* ---- PMUs ---- */

/* MSRs belong to a socket: one CPU of each reads them. Other devices are read by a CPU of their node. */
static int set_cpus(const struct finder *f, const struct unc_regs_device *d, struct uncore_pmu *p)
{
	const struct unc_topology *t = f->topology;

	p->cpus.ids = calloc(t->cpu_count + 1, sizeof(*p->cpus.ids));
	if (!p->cpus.ids)
		return -ENOMEM;
	p->has_mask = true;
	if (f->r->space != UNC_SPACE_MSR && d->cpu >= 0) {
		p->cpus.ids[p->cpus.count++] = d->cpu;
		return 0;
	}
	for (size_t i = 0; i < t->cpu_count; i++) {
		bool seen = false;

		for (size_t k = 0; k < p->cpus.count; k++)
			seen = seen || f->r->space != UNC_SPACE_MSR ||
			       unc_topology_socket(t, p->cpus.ids[k]) == t->cpus[i].socket;
		if (t->cpus[i].online && !seen)
			p->cpus.ids[p->cpus.count++] = t->cpus[i].id;
	}
	return 0;
}

/* A term for some bits of a configuration word; `format` as the kernel would write it. */
static int add_term(struct uncore_pmu *p, const char *name, int word, uint64_t bits)
{
	struct uncore_term *grown = reallocarray(p->terms, p->term_count + 1, sizeof(*p->terms));
	struct unc_text format = {0};

	if (!grown)
		return -ENOMEM;
	p->terms = grown;
	unc_text_add(&format, "config%.0d:", word);
	for (int low = 0, high; low < 64; low = high + 1) {
		high = low;
		if (!(bits >> low & 1))
			continue;
		while (high < 63 && bits >> (high + 1) & 1)
			high++;
		unc_text_add(&format, "%s%d", format.data[format.len - 1] == ':' ? "" : ",", low);
		if (high > low)
			unc_text_add(&format, "-%d", high);
	}
	p->terms[p->term_count++] =
		(struct uncore_term){.name = name,
				     .format = unc_names_take(&p->strings, unc_text_take(&format)),
				     .word = word,
				     .bits = bits};
	return p->terms[p->term_count - 1].format ? 0 : -ENOMEM;
}

/* The document's name of a field, and the one that the kernel's driver would have for it. */
static int add_field(struct uncore_pmu *p, const struct unc_regs_field *f, int word, unsigned shift)
{
	static const char *const usual[] = {[UNC_PURPOSE_EVENT] = "event",
					    [UNC_PURPOSE_UMASK] = "umask",
					    [UNC_PURPOSE_EDGE] = "edge",
					    [UNC_PURPOSE_THRESHOLD] = "thresh",
					    [UNC_PURPOSE_FILTER] = NULL};

	if (f->access != UNC_ACCESS_RW || f->purpose == UNC_PURPOSE_ENABLE)
		return 0;
	if (usual[f->purpose] && strcmp(usual[f->purpose], f->name) != 0 &&
	    add_term(p, usual[f->purpose], word, f->bits << shift) < 0)
		return -ENOMEM;
	return add_term(p, f->name, word, f->bits << shift);
}

/* Terms of programmable counters. */
static int add_select_terms(const struct unc_regs *r, struct uncore_pmu *p)
{
	int err = 0;

	for (size_t i = 0; err == 0 && i < r->select.count; i++)
		err = add_field(p, &r->select.fields[i], UNC_REGS_SELECT_WORD, 0);
	for (size_t i = 0; i < r->control_count; i++) {
		const struct unc_regs_control *c = &r->controls[i];

		for (size_t k = 0; err == 0 && k < c->count; k++)
			if (c->fields[k].purpose == UNC_PURPOSE_FILTER)
				err = add_field(p, &c->fields[k], UNC_REGS_FILTER_WORD,
						c->filter ? 32 : 0);
	}
	if (err == 0 && r->overflow)
		err = add_term(p, "after", UNC_REGS_AFTER_WORD,
			       UINT64_MAX >> (64 - unc_regs_narrowest(r)));
	return err;
}

/* Each counter that is not programmable is an event; its configuration is its number from 1. */
static int set_events(const struct unc_regs *r, struct uncore_pmu *p)
{
	int err = r->select.at ? add_select_terms(r, p) : 0;

	p->aliases = calloc(r->count, sizeof(*p->aliases));
	if (err < 0 || !p->aliases || add_term(p, "counter", UNC_REGS_COUNTER_WORD, 0xffff) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < r->count; i++) {
		bool bytes = r->counters[i].role == UNC_ROLE_BYTES;
		struct uncore_alias *a = &p->aliases[p->alias_count];
		struct unc_text terms = {0};

		if (r->counters[i].programmable)
			continue;
		p->alias_count++;
		unc_text_add(&terms, "counter=%zu", i + 1);
		a->scale = 1;
		a->name = r->counters[i].name;
		a->terms = unc_names_take(&p->strings, unc_text_take(&terms));
		a->unit = bytes ? "B" : NULL;
		if (!a->terms)
			return -ENOMEM;
	}
	return 0;
}

static int add_pmu(const struct finder *f, struct unc_pmus *pmus, size_t unit)
{
	struct uncore_pmu *p = &pmus->items[pmus->count++];
	const char *pattern = f->r->pmu;
	size_t before = strcspn(pattern, "{");
	struct unc_text name = {0};

	unc_text_add(&name, "%.*s%zu%s", (int)before, pattern, unit, strchr(pattern, '}') + 1);
	p->name = unc_text_take(&name);
	p->root = f->root;
	p->error = f->e;
	p->unit = unit;
	p->loaded = true;
	if (!p->name || set_cpus(f, &f->r->devices[unit / f->r->instances], p) < 0 ||
	    set_events(f->r, p) < 0)
		return unc_nomem(f->e);
	return 0;
}

/* The same numbers are other registers of another CPU. */
static int check_model(const struct finder *f)
{
	const char *cpu = f->topology->cpu_model;

	if (!f->r->models || unc_has_word(f->r->models, cpu))
		return 0;
	return unc_fail(
		f->e, ENODEV,
		"%s: %s: it is in the CPU models %s only, and this one is %s; elsewhere its "
		"registers are something else",
		f->r->name, f->r->title, f->r->models, cpu);
}

int unc_regs_scan(struct unc_regs *r, const struct unc_root *root,
		  const struct unc_topology *topology, struct unc_pmus *out, struct unc_error *e)
{
	struct finder f = {.r = r, .root = root, .topology = topology, .e = e};
	struct unc_pmus pmus = {0};
	int err;

	unc_regs_forget_devices(r);
	err = check_model(&f);
	if (err == 0)
		err = find_devices(&f);
	if (err == 0)
		err = check_alignment(&f);
	if (err < 0)
		return err;
	if (!r->device_count)
		return unc_fail(e, ENODEV, "%s: there is no device '%s' on this machine", r->name,
				r->map.text);
	pmus.items = calloc(r->device_count * r->instances, sizeof(*pmus.items));
	if (!pmus.items)
		return unc_nomem(e);
	for (size_t i = 0; err == 0 && i < r->device_count * r->instances; i++)
		err = add_pmu(&f, &pmus, i);
	if (err < 0)
		unc_pmus_finish(&pmus);
	else
		*out = pmus;
	return err;
}

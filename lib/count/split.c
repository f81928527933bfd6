/* SPDX-License-Identifier: MIT */
/* How filters split a PMU on one of its CPUs into parts, each with terms to lay over those of events. */
#include "count/split.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "count/monitor.h"

#define BARS 6
#define RESOURCE_MEM 0x200 /* in a device's `resource` file: memory, not I/O ports */

int unc_next_word(const char **at, char *word)
{
	size_t len = strcspn(*at, ",");

	if (!**at)
		return 0;
	if (!len || len >= UNC_WORD_ROOM || ((*at)[len] && !(*at)[len + 1]))
		return -EINVAL;
	memcpy(word, *at, len);
	word[len] = '\0';
	*at += len + ((*at)[len] == ',');
	return 1;
}

/* ---- terms of a part ---- */

/* What the words in braces of a data file's terms come to. */
struct numbers {
	uint64_t mask, bdf, base;
};

static int put_term(struct unc_splitter *x, struct unc_part *part, const char *name, uint64_t value)
{
	size_t i = 0;

	while (i < part->term_count && strcmp(part->terms[i].name, name) != 0)
		i++;
	if (i == UNC_PART_TERMS)
		return unc_fail(x->why, ENODEV, "more than %d terms would restrict %s",
				UNC_PART_TERMS, x->pmu->name);
	if (i == part->term_count) {
		snprintf(part->terms[i].name, sizeof(part->terms[i].name), "%s", name);
		part->terms[i].value = 0;
		part->term_count++;
	}
	part->terms[i].value |= value;
	return 0;
}

static int put_terms(struct unc_splitter *x, struct unc_part *part, const char *terms,
		     struct numbers n)
{
	const struct {
		const char *word;
		uint64_t value;
	} braces[] = {{"{mask}", n.mask},
		      {"{index}", n.mask ? (uint64_t)__builtin_ctzll(n.mask) : 0},
		      {"{bdf}", n.bdf},
		      {"{base}", n.base}};
	struct unc_assignment a;
	int r = 0;

	while (r == 0 && unc_assignment_next(&terms, &a) == 1) {
		uint64_t value = 0;
		bool known = unc_parse_u64(a.value, &value) == 0;

		for (size_t i = 0; i < sizeof(braces) / sizeof(*braces); i++)
			if (strcmp(a.value, braces[i].word) == 0) {
				value = braces[i].value;
				known = true;
			}
		r = known ? put_term(x, part, a.name, value)
			  : unc_fail(x->why, ENODEV, "%s: '%s=%s' has no value", x->family->name,
				     a.name, a.value);
	}
	return r;
}

int unc_add_part(struct unc_splitter *x, struct unc_parts *out, const struct unc_part *part)
{
	struct unc_part *items = unc_grow(out->items, out->count, sizeof(*items));

	if (!items)
		return unc_nomem(x->why);
	out->items = items;
	items[out->count++] = *part;
	return 0;
}

/* A part with the terms of one more filter. */
static int add_restricted(struct unc_splitter *x, struct unc_parts *out,
			  const struct unc_part *from, const struct uncore_device *port,
			  enum unc_filter_kind kind, struct numbers n)
{
	struct unc_part part = *from;
	int r = put_terms(x, &part, x->family->filters[kind].terms, n);

	part.port = port;
	return r < 0 ? r : unc_add_part(x, out, &part);
}

/* ---- words, GPUs, addresses ---- */

int unc_refuse_kind(const struct unc_splitter *x, enum unc_filter_kind kind)
{
	bool any = false;

	unc_fail(x->why, ENODEV, "the PMUs of %s cannot be restricted by '%s'", x->family->name,
		 unc_filter_words[kind].name);
	for (size_t i = 0; i < UNC_FILTERS; i++) {
		if (!x->family->filters[i].title)
			continue;
		unc_error_append(x->why, "%s%s", any ? ", " : "; they can by ",
				 unc_filter_words[i].name);
		any = true;
	}
	return -ENODEV;
}

int unc_split_by_words(struct unc_splitter *x, enum unc_filter_kind kind,
		       const struct unc_part *from, struct unc_parts *out)
{
	const struct unc_filter *f = &x->family->filters[kind];
	const char *at = x->filters->values[kind].text;
	struct unc_part part = *from;
	char word[UNC_WORD_ROOM];
	int r = 0;

	while (r == 0 && unc_next_word(&at, word) == 1) {
		size_t i = 0;

		while (i < f->value_count && strcmp(f->values[i].name, word) != 0)
			i++;
		if (i < f->value_count) {
			r = put_terms(x, &part, f->values[i].text, (struct numbers){0});
			continue;
		}
		r = unc_fail(x->why, ENODEV, "the PMUs of %s know no %s=%s; they know ",
			     x->family->name, unc_filter_words[kind].name, word);
		for (i = 0; i < f->value_count; i++)
			unc_error_append(x->why, "%s%s", i ? ", " : "", f->values[i].name);
	}
	return r < 0 ? r : unc_add_part(x, out, &part);
}

/* Ranges of addresses are one part each. */
int unc_split_by_choices(struct unc_splitter *x, enum unc_filter_kind kind,
			 const struct unc_part *from, struct unc_parts *out)
{
	const struct unc_filter_value *value = &x->filters->values[kind];
	int r = 0;

	for (size_t i = 0; r == 0 && i < value->count; i++)
		r = add_restricted(x, out, from, from->port, kind,
				   (struct numbers){.mask = value->choices[i].mask,
						    .base = value->choices[i].base});
	return r;
}

/* A GPU that the link does not have is refused: its bit may select another one. */
int unc_split_by_gpus(struct unc_splitter *x, enum unc_filter_kind kind,
		      const struct unc_part *from, struct unc_parts *out)
{
	const char *counted = x->family->filters[kind].count, *file = x->family->role_attribute;
	int last = 63 - __builtin_clzll(x->filters->values[kind].choices[0].mask);
	struct unc_assignment a = {0};
	uint64_t count = 0;
	char *text = NULL;
	const char *at;

	if (!counted || !file || unc_pmu_attribute(x->pmu, file, &text) < 0)
		return unc_split_by_choices(x, kind, from, out);
	at = text;
	if (unc_assignment_next(&at, &a) == 1 && strcmp(a.name, counted) == 0)
		unc_parse_u64(a.value, &count);
	free(text);
	if ((uint64_t)last < count)
		return unc_split_by_choices(x, kind, from, out);
	unc_fail(x->why, ENODEV, "GPU %d: the link of %s has ", last, x->pmu->name);
	if (count > 1)
		unc_error_append(x->why, "%llu GPUs, 0 to %llu", (unsigned long long)count,
				 (unsigned long long)count - 1);
	else
		unc_error_append(x->why, count ? "one GPU, 0" : "no GPU");
	if (!count && x->pmu->role)
		unc_error_append(x->why, " at its other end, but %s", x->pmu->role);
	return -ENODEV;
}

/* ---- root ports ---- */

static bool has_bit(const struct unc_port *port)
{
	return port->index >= 0 && port->index < 64;
}

int unc_splitter_ports(struct unc_splitter *x, int cpu)
{
	int r = unc_machine_ports_of(x->m->machine, x->pmu, cpu, &x->ports, &x->port_count, x->why);

	x->ports_unknown = r < 0;
	x->separable = x->family->filters[UNC_FILTER_PORT].terms;
	for (size_t i = 0; i < x->port_count; i++)
		x->separable = x->separable && has_bit(&x->ports[i]);
	return r == -ENOMEM ? r : 0;
}

static const struct unc_port *find_port(const struct unc_splitter *x,
					const struct uncore_device *device)
{
	for (size_t i = 0; i < x->port_count; i++)
		if (x->ports[i].device == device)
			return &x->ports[i];
	return NULL;
}

/* True when the PMU counts the root port that the user names. One of which only the numbers are known is
 * found by the PMU's name, unless that PMU's ports are known by their numbers: then it is another port. */
static bool find_named(const struct unc_splitter *x, const struct uncore_device *device,
		       struct unc_port *port)
{
	const struct unc_port *known = find_port(x, device);
	uint64_t socket = UINT64_MAX, rc = UINT64_MAX;

	*port = known ? *known : (struct unc_port){device, device->index};
	if (known || unc_device(device)->pci)
		return known;
	for (size_t i = 0; i < x->port_count; i++)
		if (has_bit(&x->ports[i]))
			return false;
	for (size_t i = 0; i < x->family->pattern_count; i++) {
		const char *pattern = x->family->patterns[i].name;

		if (!unc_pattern_matches(pattern, x->pmu->name))
			continue;
		unc_pattern_value(pattern, x->pmu->name, "socket", &socket);
		unc_pattern_value(pattern, x->pmu->name, "rc", &rc);
	}
	return device->rc_socket >= 0 && device->rc >= 0 && socket == (uint64_t)device->rc_socket &&
	       rc == (uint64_t)device->rc;
}

/* All that the PMU counts. Where it could distinguish ports and this one has no number, more than the
 * port is behind it: an I/O stack has functions without a root port, too. */
static int add_whole(struct unc_splitter *x, const struct unc_part *from, struct unc_parts *out)
{
	struct unc_part part = *from;

	if (x->port_count == 1 &&
	    (has_bit(&x->ports[0]) || !x->family->filters[UNC_FILTER_PORT].title))
		part.port = x->ports[0].device;
	return unc_add_part(x, out, &part);
}

static int add_port(struct unc_splitter *x, const struct unc_part *from,
		    const struct unc_port *port, struct unc_parts *out)
{
	return add_restricted(x, out, from, port->device, UNC_FILTER_PORT,
			      (struct numbers){.mask = (uint64_t)1 << port->index});
}

/* A row for each root port, when no port or device is asked for. */
int unc_split_by_level(struct unc_splitter *x, enum unc_filter_kind kind,
		       const struct unc_part *from, struct unc_parts *out)
{
	int r = 0;

	(void)kind;
	if (x->ports_unknown)
		r = unc_monitor_note(x->m, "%s", x->why->text);
	if (r == 0 && !(x->separable && x->restrictable && x->port_count))
		return add_whole(x, from, out);
	for (size_t i = 0; r == 0 && i < x->port_count; i++)
		r = add_port(x, from, &x->ports[i], out);
	return r;
}

/* A PMU that cannot distinguish its ports can be used when all of them are selected. */
int unc_split_by_ports(struct unc_splitter *x, enum unc_filter_kind kind,
		       const struct unc_part *from, struct unc_parts *out)
{
	const struct unc_filter_value *value = &x->filters->values[kind];
	const char *terms = x->family->filters[kind].terms;
	struct unc_port found[UNC_FILTER_CHOICES];
	struct numbers all = {0};
	size_t count = 0;
	bool by_address = false;
	int r = 0;

	for (size_t i = 0; i < value->count; i++) {
		const struct uncore_device *device = value->choices[i].device;
		size_t k = 0;

		by_address = by_address || unc_device(device)->pci;
		if (!find_named(x, device, &found[count]))
			continue;
		while (found[k].device != device)
			k++;
		count += k == count; /* each once */
	}
	if (!count) /* it may be among those not known */
		return by_address && x->ports_unknown ? -ENODEV : 0;
	if (!x->separable && !x->ports_unknown && count >= x->port_count)
		return add_whole(x, from, out);
	if (!x->separable && !terms)
		return unc_refuse_kind(x, kind);
	if (!x->separable)
		return unc_fail(x->why, ENODEV,
				"%s counts %zu root ports, and which bit of its filter is whose is "
				"not known",
				x->pmu->name, x->port_count);
	if (count == 1 || x->m->level == UNCORE_LEVEL_PORT || strstr(terms, "{index}")) {
		for (size_t i = 0; r == 0 && i < count; i++)
			r = add_port(x, from, &found[i], out);
		return r;
	}
	for (size_t i = 0; i < count; i++)
		all.mask |= (uint64_t)1 << found[i].index;
	return add_restricted(x, out, from, NULL, kind, all);
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
static size_t list_counted(const struct unc_splitter *x, const struct uncore_device *asked,
			   const struct uncore_device *port, bool behind, struct unc_text *to)
{
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

/* What is counted is more than the device: its port, or (NULL) all ports of the PMU. */
static int note_sharing(struct unc_splitter *x, const struct uncore_device *device,
			const struct uncore_device *port)
{
	struct unc_text behind = {0}, others = {0};
	bool has_behind = list_counted(x, device, port, true, &behind);
	bool has_others = list_counted(x, device, port, false, &others);
	int r;

	if (behind.failed || others.failed)
		r = unc_nomem(x->why);
	else
		r = unc_monitor_note(x->m, "%s: what is counted for %s%s%s%s is %s%s%s%s",
				     x->family->name, device->address, has_behind ? ", with " : "",
				     has_behind ? behind.data : "", has_behind ? " behind it," : "",
				     port ? "root port " : "", port ? port->address : x->pmu->name,
				     has_others ? ", which it shares with " : "",
				     has_others ? others.data : "");
	unc_text_finish(&behind);
	unc_text_finish(&others);
	return r;
}

/* The memory behind the device's BARs, one part for each; none where its addresses are unknown. */
static int split_by_bars(struct unc_splitter *x, const struct uncore_device *d,
			 const struct unc_part *from, struct unc_parts *out)
{
	char path[128], *text, *rest, *line;
	uint64_t numbers[3]; /* first, last, flags */
	int r = 0;

	snprintf(path, sizeof(path), "sys/bus/pci/devices/%s/resource", d->address);
	if (unc_root_read(x->m->machine->root, path, &text) < 0)
		return 0;
	rest = text;
	for (size_t i = 0; r == 0 && i < BARS && (line = strsep(&rest, "\n")); i++) {
		size_t n = 0;

		while (n < 3 && line && unc_parse_u64(strsep(&line, " "), &numbers[n]) == 0)
			n++;
		if (n == 3 && numbers[2] & RESOURCE_MEM && numbers[1] > numbers[0])
			r = add_restricted(x, out, from, d->port, UNC_FILTER_ADDRESS,
					   (struct numbers){.base = numbers[0],
							    .mask = ~(numbers[1] - numbers[0])});
	}
	free(text);
	return r;
}

/* By the narrowest filter that the family has. */
int unc_split_by_device(struct unc_splitter *x, enum unc_filter_kind kind,
			const struct unc_part *from, struct unc_parts *out)
{
	const struct uncore_device *d = x->filters->values[kind].choices[0].device;
	const struct unc_port *port = find_port(x, d->port);
	size_t before = out->count;
	struct unc_pci_address a;
	bool has_domain;
	int r = 0;

	if (x->ports_unknown)
		return -ENODEV;
	if (!port)
		return 0;
	if (x->family->filters[kind].title && !d->is_bridge &&
	    unc_pci_parse(d->address, &a, &has_domain))
		return add_restricted(
			x, out, from, d->port, kind,
			(struct numbers){
				.bdf = (uint64_t)(a.bus << 8 | a.device << 3 | a.function)});
	if (x->family->filters[UNC_FILTER_ADDRESS].title && !d->is_bridge)
		r = split_by_bars(x, d, from, out);
	if (r < 0 || out->count > before)
		return r;
	r = x->separable ? add_port(x, from, port, out) : add_whole(x, from, out);
	if (r < 0 || out->items[before].port == d)
		return r;
	return note_sharing(x, d, out->items[before].port);
}

unsigned unc_filters_named(struct uncore_monitor *m, const struct uncore_pmu *pmu)
{
	const struct unc_filter_value *value = &m->filters.values[UNC_FILTER_PORT];
	unsigned named = 0;

	for (size_t c = 0; c < pmu->cpus.count; c++) {
		struct unc_error ignored;
		struct unc_splitter x = {
			.m = m, .family = pmu->family, .pmu = pmu, .why = &ignored};
		struct unc_port port;

		unc_splitter_ports(&x, pmu->cpus.ids[c]);
		for (size_t i = 0; i < value->count; i++)
			if (find_named(&x, value->choices[i].device, &port))
				named |= 1U << i;
	}
	return named;
}

/* SPDX-License-Identifier: MIT */
/* Filters split a PMU on one of its CPUs into parts, each with terms that replace or extend those
 * of events. A part is passed from filter to filter: each splits it further and passes on the
 * parts. After the last filter a part is encoded. */
#include "count/monitor.h"

#define PART_TERMS 32
#define BARS 6
#define RESOURCE_MEM 0x200 /* in a device's `resource` file: memory, not I/O ports */

/* One target being split. */
struct splitter {
	struct uncore_monitor *m;
	struct unc_query *query;
	const struct unc_target *target;
	const struct unc_family *family;
	const struct uncore_pmu *pmu;
	struct unc_error *why;
	const struct unc_port *ports; /* that the PMU counts */
	size_t port_count;
	bool ports_unknown; /* `why` says why */
	bool separable;     /* the family's filter can distinguish its ports */
	bool restrictable;  /* some event of the metric can be restricted */
};

struct part {
	const struct uncore_device
		*port; /* the only root port in it; NULL: several, or not known */
	struct {
		char name[64];
		uint64_t value;
	} terms[PART_TERMS];
	size_t term_count;
	enum unc_filter_kind next; /* the filter that it goes to */
};

/* Applies the remaining filters to the part, and encodes the resulting parts. -ENODEV with a
 * reason: they cannot restrict the PMU. */
static int pass_on(struct splitter *x, struct part *part);

/* The numbers for the words in braces of a data file's terms. */
struct numbers {
	uint64_t mask, bdf, base;
};

/* Adds terms to the part; values of the same term are ORed. */
static int put_terms(struct splitter *x, struct part *part, const char *terms, struct numbers n)
{
	const struct {
		const char *word;
		uint64_t value;
	} braces[] = {{"{mask}", n.mask},
		      {"{index}", n.mask ? (uint64_t)__builtin_ctzll(n.mask) : 0},
		      {"{bdf}", n.bdf},
		      {"{base}", n.base}};
	struct unc_assignment a;

	while (unc_assignment_next(&terms, &a) == 1) {
		uint64_t value = 0;
		size_t k = 0;

		unc_parse_u64(a.value, &value);
		for (size_t i = 0; i < sizeof(braces) / sizeof(*braces); i++)
			if (strcmp(a.value, braces[i].word) == 0)
				value = braces[i].value;
		while (k < part->term_count && strcmp(part->terms[k].name, a.name) != 0)
			k++;
		if (k == PART_TERMS)
			return unc_fail(x->why, ENODEV, "more than %d terms would restrict %s",
					PART_TERMS, x->pmu->name);
		if (k == part->term_count) {
			snprintf(part->terms[k].name, sizeof(part->terms[k].name), "%s", a.name);
			part->term_count++;
		}
		part->terms[k].value |= value;
	}
	return 0;
}

/* Passes on a part with the terms of one more filter. */
static int restrict_part(struct splitter *x, const struct part *from,
			 const struct uncore_device *port, enum unc_filter_kind kind,
			 struct numbers n)
{
	struct part part = *from;
	int r = put_terms(x, &part, x->family->filters[kind].terms, n);

	part.port = port;
	return r < 0 ? r : pass_on(x, &part);
}

/* ---- words, GPUs, addresses ---- */

static int refuse_kind(const struct splitter *x, enum unc_filter_kind kind)
{
	bool any = false;

	unc_fail(x->why, ENODEV, "the PMUs of %s cannot be restricted by '%s'", x->family->name,
		 unc_filter_words[kind].name);
	for (size_t i = 0; i < UNC_FILTERS; i++) {
		const struct unc_filter *f = &x->family->filters[i];
		const char *terms = f->value_count ? f->values[0].text : f->terms;

		/* A link without a GPU does not have the filter of GPUs, or refuses each number of
		 * one. */
		if (!f->title || (terms && !unc_pmu_has_terms(x->pmu, terms)) ||
		    (i == UNC_FILTER_GPU && unc_gpu_count(x->pmu) == 0))
			continue;
		unc_error_append(x->why, "%s%s", any ? ", " : "; they can by ",
				 unc_filter_words[i].name);
		any = true;
	}
	return -ENODEV;
}

static int split_by_words(struct splitter *x, enum unc_filter_kind kind, const struct part *from)
{
	const struct unc_filter *f = &x->family->filters[kind];
	const char *at = x->m->filters.values[kind].text;
	struct part part = *from;
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
	return r < 0 ? r : pass_on(x, &part);
}

/* Each range of addresses is one part. */
static int split_by_choices(struct splitter *x, enum unc_filter_kind kind, const struct part *from)
{
	const struct unc_filter_value *value = &x->m->filters.values[kind];
	int r = 0;

	for (size_t i = 0; r == 0 && i < value->count; i++)
		r = restrict_part(x, from, from->port, kind,
				  (struct numbers){.mask = value->choices[i].mask,
						   .base = value->choices[i].base});
	return r;
}

static int split_by_gpus(struct splitter *x, enum unc_filter_kind kind, const struct part *from)
{
	uint64_t gpus = x->m->filters.values[kind].choices[0].mask;
	int r = unc_gpus_check(x->pmu, gpus, ENODEV, x->why);

	return r < 0 ? r : split_by_choices(x, kind, from);
}

/* ---- root ports ---- */

static bool has_bit(const struct unc_port *port)
{
	return port->index >= 0 && port->index < 64;
}

static int find_ports(struct splitter *x, int cpu)
{
	int r = unc_machine_ports_of(x->m->machine, x->pmu, cpu, &x->ports, &x->port_count, x->why);

	x->ports_unknown = r < 0;
	x->separable = x->family->filters[UNC_FILTER_PORT].terms;
	for (size_t i = 0; i < x->port_count; i++)
		x->separable = x->separable && has_bit(&x->ports[i]);
	return r == -ENODEV ? 0 : r;
}

static const struct unc_port *find_port(const struct splitter *x,
					const struct uncore_device *device)
{
	for (size_t i = 0; i < x->port_count; i++)
		if (x->ports[i].device == device)
			return &x->ports[i];
	return NULL;
}

/* Whether the PMU counts the root port that the user names. A port of which only the numbers are
 * known is found by the PMU's name, unless the ports of this PMU are known by their numbers, since
 * the port then belongs to another PMU. */
static bool is_requested(const struct splitter *x, const struct uncore_device *device,
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
	unc_pattern_value(x->pmu->pattern, x->pmu->name, "socket", &socket);
	unc_pattern_value(x->pmu->pattern, x->pmu->name, "rc", &rc);
	return device->rc_socket >= 0 && device->rc >= 0 && socket == (uint64_t)device->rc_socket &&
	       rc == (uint64_t)device->rc;
}

/* Passes on the whole PMU. If the PMU could distinguish ports and this port has no number, the PMU
 * counts more than the port: an I/O stack also has functions without a root port. */
static int pass_whole(struct splitter *x, const struct part *from)
{
	struct part part = *from;

	if (x->port_count == 1 &&
	    (has_bit(&x->ports[0]) || !x->family->filters[UNC_FILTER_PORT].title))
		part.port = x->ports[0].device;
	return pass_on(x, &part);
}

static int pass_port(struct splitter *x, const struct part *from, const struct unc_port *port)
{
	return restrict_part(x, from, port->device, UNC_FILTER_PORT,
			     (struct numbers){.mask = (uint64_t)1 << port->index});
}

/* Makes a part for each root port, if no port or device is requested. */
static int split_by_level(struct splitter *x, const struct part *from)
{
	int r = 0;

	if (x->ports_unknown)
		r = unc_monitor_note(x->m, "%s", x->why->text);
	if (r == 0 && !(x->separable && x->restrictable && x->port_count))
		return pass_whole(x, from);
	for (size_t i = 0; r == 0 && i < x->port_count; i++)
		r = pass_port(x, from, &x->ports[i]);
	return r;
}

/* The bits of the term by which the filter selects ports, as the events have it without a
 * filter. */
static uint64_t all_parts(const struct splitter *x)
{
	const char *terms = x->family->filters[UNC_FILTER_PORT].terms, *own;
	struct unc_assignment a, b;
	uint64_t mask = 0;

	while (terms && unc_assignment_next(&terms, &a) == 1) {
		own = x->query->metric->events[0]->terms;
		while (own && strcmp(a.value, "{mask}") == 0 && unc_assignment_next(&own, &b) == 1)
			if (strcmp(a.name, b.name) == 0)
				unc_parse_u64(b.value, &mask);
	}
	return mask;
}

/* Makes a part for each selectable part of the PMU, with or without a known root port. */
static int split_by_parts(struct splitter *x, const struct part *from)
{
	struct uncore *u = x->m->machine;
	uint64_t socket = (uint64_t)unc_topology_socket(&u->topology, x->target->cpu), number = 0;
	uint64_t mask = x->restrictable ? all_parts(x) : 0;
	int r = 0;

	if (!mask)
		return pass_whole(x, from);
	unc_pattern_value(x->pmu->pattern, x->pmu->name, "stack", &number);
	for (unsigned i = 0; r == 0 && i < 64; i++) {
		struct unc_port port = {.index = (int)i};

		if (!(mask >> i & 1))
			continue;
		port.device = unc_ports_numbered(&u->ports, socket, number, i);
		r = port.device ? pass_port(x, from, &port) : unc_nomem(x->why);
	}
	return r;
}

static int refuse_ports(struct splitter *x)
{
	struct unc_text list = {0};
	int r;

	for (size_t i = 0; i < x->port_count; i++)
		unc_text_add(&list, "%s%s", i ? ", " : "", x->ports[i].device->address);
	r = list.failed
		    ? unc_nomem(x->why)
		    : unc_fail(x->why, ENODEV,
			       "%s counts the root ports %s together: which bit of its filter is "
			       "whose is not known",
			       x->pmu->name, list.data);
	unc_text_finish(&list);
	return r;
}

/* A PMU that cannot distinguish its ports can be used when all of them are selected. */
static int split_by_ports(struct splitter *x, enum unc_filter_kind kind, const struct part *from)
{
	const struct unc_filter_value *value = &x->m->filters.values[kind];
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
		if (!is_requested(x, device, &found[count]))
			continue;
		while (found[k].device != device)
			k++;
		count += k == count; /* each once */
	}
	if (!count) /* it may be among those not known */
		return by_address && x->ports_unknown ? -ENODEV : 0;
	if (!x->separable && !x->ports_unknown && count >= x->port_count)
		return pass_whole(x, from);
	if (!x->separable && !terms)
		return refuse_kind(x, kind);
	if (!x->separable)
		return refuse_ports(x);
	if (count == 1 || x->m->level == UNCORE_LEVEL_PORT || strstr(terms, "{index}")) {
		for (size_t i = 0; r == 0 && i < count; i++)
			r = pass_port(x, from, &found[i]);
		return r;
	}
	for (size_t i = 0; i < count; i++)
		all.mask |= (uint64_t)1 << found[i].index;
	return restrict_part(x, from, NULL, kind, all);
}

/* ---- devices ---- */

static bool is_among(const struct unc_filter_value *value, const struct uncore_device *device)
{
	for (size_t i = 0; i < value->count; i++)
		if (value->choices[i].device == device)
			return true;
	return false;
}

/* Lists the devices that are counted together with the requested one, by address and the kernel's
 * names: the devices behind it, if it is a part of a switch, or the others. Returns their
 * number. */
static size_t list_counted(const struct splitter *x, const struct uncore_device *asked,
			   const struct uncore_device *port, bool behind, struct unc_text *to)
{
	const struct uncore *u = x->m->machine;
	size_t count = 0;

	for (size_t i = 0; i < uncore_device_count(u); i++) {
		const struct uncore_device *d = uncore_device_at(u, i), *above = d->parent;

		while (above && above != asked)
			above = above->parent;
		if (d == asked || is_among(&x->m->filters.values[UNC_FILTER_DEVICE], d) ||
		    d->is_bridge || !d->port || !find_port(x, d->port) ||
		    (port && d->port != port) || (above != NULL) != behind)
			continue;
		unc_text_add(to, "%s%s", count++ ? ", " : "", d->address);
		if (d->names)
			unc_text_add(to, " (%s)", d->names);
	}
	return count;
}

/* Adds a note that more than the device is counted: its port, or (NULL) all ports of the PMU. */
static int note_sharing(struct splitter *x, const struct uncore_device *device,
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

/* The memory of the device's BARs, as ranges of addresses; 0: its addresses are unknown. */
static size_t find_bars(const struct splitter *x, const struct uncore_device *d,
			struct numbers bars[static BARS])
{
	char path[128], *text, *rest, *line;
	uint64_t numbers[3]; /* first, last, flags */
	size_t count = 0;

	snprintf(path, sizeof(path), "sys/bus/pci/devices/%s/resource", d->address);
	if (unc_root_read(x->m->machine->root, path, &text) < 0)
		return 0;
	rest = text;
	for (size_t i = 0; i < BARS && (line = strsep(&rest, "\n")); i++) {
		size_t n = 0;

		while (n < 3 && line && unc_parse_u64(strsep(&line, " "), &numbers[n]) == 0)
			n++;
		if (n == 3 && numbers[2] & RESOURCE_MEM && numbers[1] > numbers[0])
			bars[count++] = (struct numbers){.base = numbers[0],
							 .mask = ~(numbers[1] - numbers[0])};
	}
	free(text);
	return count;
}

/* Whether the PMU has several of the requested devices, and all devices below this root port are
 * requested: it then counts the port, as the hardware has one filter of devices. */
static bool is_port_requested(const struct splitter *x, const struct uncore_device *port)
{
	const struct uncore *u = x->m->machine;
	const struct unc_filter_value *value = &x->m->filters.values[UNC_FILTER_DEVICE];
	size_t count = 0;

	for (size_t i = 0; i < value->count; i++)
		count += find_port(x, value->choices[i].device->port) != NULL;
	for (size_t i = 0; i < uncore_device_count(u); i++) {
		const struct uncore_device *d = uncore_device_at(u, i);

		if (d->port == port && !d->is_bridge && !is_among(value, d))
			return false;
	}
	return count > 1;
}

/* Makes parts for the device alone, by the narrowest filter that the family has. Returns 0 if it
 * can only be counted with its root port. `only_ask`: makes none. */
static int split_alone(struct splitter *x, const struct uncore_device *d, const struct part *from,
		       bool only_ask)
{
	const struct unc_filter *filters = x->family->filters;
	struct numbers bars[BARS];
	size_t count = 0;
	int r = 0;

	if (d->is_bridge || is_port_requested(x, d->port))
		return 0;
	if (filters[UNC_FILTER_DEVICE].title && !only_ask)
		r = restrict_part(x, from, d->port, UNC_FILTER_DEVICE,
				  (struct numbers){.bdf = unc_device(d)->address & 0xffff});
	if (filters[UNC_FILTER_DEVICE].title)
		return r < 0 ? r : 1;
	if (filters[UNC_FILTER_ADDRESS].title)
		count = find_bars(x, d, bars);
	for (size_t i = 0; r == 0 && i < count && !only_ask; i++)
		r = restrict_part(x, from, d->port, UNC_FILTER_ADDRESS, bars[i]);
	return r < 0 ? r : count > 0;
}

/* Passes on the root port of the device, or the whole PMU. */
static int split_with_port(struct splitter *x, const struct uncore_device *d,
			   const struct part *from)
{
	size_t targets = x->query->target_count;
	int r = x->separable ? pass_port(x, from, find_port(x, d->port)) : pass_whole(x, from);

	if (r < 0 || x->query->targets[targets].port == d)
		return r;
	return note_sharing(x, d, x->query->targets[targets].port);
}

/* Devices that can only be counted with their root port come first: it is counted once, and other
 * devices below it are in it. */
static int split_by_devices(struct splitter *x, enum unc_filter_kind kind, const struct part *from)
{
	const struct unc_filter_value *value = &x->m->filters.values[kind];
	const struct uncore_device *ports[UNC_FILTER_CHOICES];
	size_t count = 0;
	int r = 0;

	if (x->ports_unknown)
		return -ENODEV;
	for (size_t i = 0; r >= 0 && i < 2 * value->count; i++) {
		bool alone = i >= value->count;
		size_t choice = alone ? i - value->count : i, k = 0;
		const struct uncore_device *d = value->choices[choice].device;

		if (!find_port(x, d->port) || split_alone(x, d, from, true) != alone)
			continue;
		while (k < count && ports[k] != d->port && x->separable)
			k++;
		if (k < count)
			continue;
		if (!alone)
			ports[count++] = d->port;
		r = alone ? split_alone(x, d, from, false) : split_with_port(x, d, from);
	}
	return r < 0 ? r : 0;
}

/* ---- the metric on all parts ---- */

static int (*const splits[])(struct splitter *x, enum unc_filter_kind kind,
			     const struct part *from) = {
	[UNC_FILTER_FROM] = split_by_words,      [UNC_FILTER_TO] = split_by_words,
	[UNC_FILTER_GPU] = split_by_gpus,        [UNC_FILTER_LINK] = split_by_words,
	[UNC_FILTER_PORT] = split_by_ports,      [UNC_FILTER_DEVICE] = split_by_devices,
	[UNC_FILTER_ADDRESS] = split_by_choices,
};
_Static_assert(sizeof(splits) / sizeof(*splits) == UNC_FILTERS, "each kind splits");

static int pass_on(struct splitter *x, struct part *part)
{
	const struct unc_filters *filters = &x->m->filters;
	struct unc_target target = *x->target;
	struct unc_text text = {0};

	while (part->next < UNC_FILTERS) {
		enum unc_filter_kind kind = part->next++;

		if (filters->values[kind].text)
			return splits[kind](x, kind, part);
		if (kind == UNC_FILTER_PORT && x->m->level == UNCORE_LEVEL_PART)
			return split_by_parts(x, part);
		if (kind == UNC_FILTER_PORT && x->m->level == UNCORE_LEVEL_PORT && !filters->picks)
			return split_by_level(x, part);
	}
	for (size_t k = 0; k < part->term_count; k++)
		unc_text_add(&text, "%s%s=0x%llx", k ? "," : "", part->terms[k].name,
			     (unsigned long long)part->terms[k].value);
	target.port = part->port;
	target.terms = text.failed ? NULL : unc_monitor_keep(x->m, text.len ? text.data : "");
	unc_text_finish(&text);
	return target.terms ? unc_encode_metric(x->m, x->query, target, x->why) : unc_nomem(x->why);
}

/* Makes a part for each link that a device may have, if all events of the metric can be of one. */
static int encode_links(struct uncore_monitor *m, struct unc_query *q,
			const struct unc_target *whole, struct unc_error *why)
{
	unsigned links = m->level == UNCORE_LEVEL_PART ? whole->pmu->family->links : 0;
	int r = 0;

	for (size_t k = 0; k < q->event_count; k++) {
		const struct unc_event_def *event = q->metric->events[k];
		bool some = false;

		for (size_t i = 0; i < event->read_count; i++)
			some |= unc_device_read_has_links(&event->reads[i]);
		links = some ? links : 0;
	}
	if (!links)
		return unc_encode_metric(m, q, *whole, why);
	for (unsigned i = 0; r == 0 && i < links; i++) {
		struct unc_target one = *whole;

		one.terms = unc_monitor_keep(m, UNC_PATH(UNC_LINKS_TERM "=0x%llx", 1ull << i));
		one.link = unc_monitor_keep(m, UNC_PATH("link %u", i));
		r = one.terms && one.link ? unc_encode_metric(m, q, one, why) : unc_nomem(why);
	}
	return r;
}

/* Whether the filters "port" and "device" name the device, or a bridge above it. */
static bool is_picked(struct uncore_monitor *m, const struct uncore_pmu *pmu)
{
	const struct unc_filter_value *values = m->filters.values;
	const struct uncore_device *own = NULL;
	bool picked = false;

	for (size_t i = 0; i < values[UNC_FILTER_DEVICE].count; i++)
		picked |= values[UNC_FILTER_DEVICE].choices[i].pmu == pmu;
	if (pmu->pci)
		uncore_device_find(m->machine, pmu->pci, &own);
	for (const struct uncore_device *d = own; d && !picked; d = d->parent)
		picked = is_among(&values[UNC_FILTER_DEVICE], d) ||
			 is_among(&values[UNC_FILTER_PORT], d);
	return picked;
}

int unc_filters_encode(struct uncore_monitor *m, struct unc_query *q,
		       const struct unc_target *whole, struct unc_error *why)
{
	const struct unc_filter_value *values = m->filters.values;
	struct splitter x = {.m = m,
			     .query = q,
			     .target = whole,
			     .family = q->metric->family,
			     .pmu = whole->pmu,
			     .why = why,
			     .restrictable = unc_query_is_restrictable(q)};
	struct part all = {.port = NULL};
	int r = 0;

	for (size_t i = 0; i < UNC_FILTERS; i++)
		if (values[i].text && !x.family->filters[i].title && !unc_filter_words[i].picks)
			return refuse_kind(&x, (enum unc_filter_kind)i);
	/* A device counts itself, and nothing of it but links is separate. */
	if (unc_pmu_is_own(x.pmu))
		return m->filters.picks && !is_picked(m, x.pmu) ? 0
								: encode_links(m, q, whole, why);
	if (m->filters.restricts && !x.restrictable)
		return unc_fail(why, ENODEV, "%s/%s is the same for all: no filter restricts it",
				x.family->name, q->metric->name);
	if (m->filters.picks || m->level == UNCORE_LEVEL_PORT || m->level == UNCORE_LEVEL_PART)
		r = find_ports(&x, whole->cpu);
	return r < 0 ? r : pass_on(&x, &all);
}

uint64_t unc_filters_requested_ports(struct uncore_monitor *m, const struct uncore_pmu *pmu)
{
	const struct unc_filter_value *ports = &m->filters.values[UNC_FILTER_PORT];
	const struct unc_filter_value *devices = &m->filters.values[UNC_FILTER_DEVICE];
	uint64_t requested = 0;

	for (size_t c = 0; c < pmu->cpus.count; c++) {
		struct unc_error ignored;
		struct splitter x = {.m = m, .family = pmu->family, .pmu = pmu, .why = &ignored};
		struct unc_port port;

		find_ports(&x, pmu->cpus.ids[c]);
		for (size_t i = 0; i < ports->count; i++)
			if (is_requested(&x, ports->choices[i].device, &port))
				requested |= (uint64_t)1 << i;
		for (size_t i = 0; i < devices->count; i++)
			if (find_port(&x, devices->choices[i].device->port))
				requested |= (uint64_t)1 << i;
	}
	return requested;
}

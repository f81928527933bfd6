/* SPDX-License-Identifier: MIT */
/* What the user lets through, as terms of one PMU: a cut for each place that it makes of it. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "monitor.h"
#include "ports.h"

#define TERMS 32
#define BARS 6
#define RESOURCE_MEM 0x200 /* in a device's `resource` file: memory, not I/O ports */

/* One way to narrow the PMU: to some of its ports, to a device, to a range. */
struct way {
	const struct uncore_device *port; /* that it covers; NULL: several, or not known */
	unsigned kinds;                   /* bit n: the filter n is used */
	uint64_t ports, bdf;
	struct unc_range range;
};

struct term {
	char name[64];
	uint64_t value;
};

/* One PMU and CPU being restricted. */
struct cutter {
	struct uncore_monitor *m;
	const struct unc_filters *filters;
	const struct unc_family *family;
	const struct uncore_pmu *pmu;
	struct unc_error *why;
	const struct unc_port *ports; /* that the PMU counts */
	size_t port_count;
	bool unknown;     /* which they are is not known; `why` says why */
	bool apart;       /* its filter can tell them apart */
	bool restricted;  /* some event of the metric can be */
	struct way *ways; /* room for each port, each choice of the user and each BAR */
	size_t way_count;
};

/* ---- what a family cannot do ---- */

static int no_filter(const struct cutter *x, size_t kind)
{
	bool any = false;

	unc_fail(x->why, ENODEV, "the PMUs of %s cannot be restricted by '%s'", x->family->name,
		 unc_filter_names[kind]);
	for (size_t i = 0; i < UNC_FILTERS; i++) {
		if (!x->family->filters[i].title)
			continue;
		unc_error_append(x->why, "%s%s", any ? ", " : "; they can by ",
				 unc_filter_names[i]);
		any = true;
	}
	return -ENODEV;
}

static int no_word(const struct cutter *x, size_t kind, const char *word)
{
	const struct unc_filter *f = &x->family->filters[kind];

	unc_fail(x->why, ENODEV, "the PMUs of %s know no %s=%s; they know ", x->family->name,
		 unc_filter_names[kind], word);
	for (size_t i = 0; i < f->value_count; i++)
		unc_error_append(x->why, "%s%s", i ? ", " : "", f->values[i].name);
	return -ENODEV;
}

static bool is_given(const struct unc_filters *f, size_t kind)
{
	return f->value[kind];
}

/* Ports and devices pick PMUs where they cannot restrict them; what else is given must be there. */
static int check_family(struct cutter *x, const struct uncore_metric *metric)
{
	bool any = false;

	for (size_t k = 0; k < unc_formula_name_count(metric->formula); k++)
		x->restricted = x->restricted || !metric->events[k]->unfiltered;
	for (size_t i = 0; i < UNC_FILTERS; i++) {
		any = any || is_given(x->filters, i);
		if (is_given(x->filters, i) && i != UNC_FILTER_PORT && i != UNC_FILTER_DEVICE &&
		    !x->family->filters[i].title)
			return no_filter(x, i);
	}
	if (any && !x->restricted)
		return unc_fail(x->why, ENODEV, "%s/%s is the same for all: no filter restricts it",
				x->family->name, metric->name);
	return 0;
}

/* ---- terms ---- */

static int put_term(struct cutter *x, struct term *terms, size_t *count, const char *name,
		    uint64_t value)
{
	size_t i = 0;

	while (i < *count && strcmp(terms[i].name, name) != 0)
		i++;
	if (i == TERMS)
		return unc_fail(x->why, ENODEV, "more than %d terms would restrict %s", TERMS,
				x->pmu->name);
	if (i == *count) {
		terms[i] = (struct term){.value = 0};
		snprintf(terms[i].name, sizeof(terms[i].name), "%s", name);
		++*count;
	}
	terms[i].value |= value;
	return 0;
}

/* What a term of the data file comes to: a number, or one of the filter's words. */
static uint64_t term_value(const struct cutter *x, const struct way *way, size_t kind,
			   const char *text)
{
	uint64_t mask = kind == UNC_FILTER_GPU    ? x->filters->gpus
			: kind == UNC_FILTER_PORT ? way->ports
						  : way->range.mask;
	uint64_t number = 0;

	if (strcmp(text, "{mask}") == 0)
		return mask;
	if (strcmp(text, "{index}") == 0)
		return (uint64_t)__builtin_ctzll(mask);
	if (strcmp(text, "{bdf}") == 0)
		return way->bdf;
	if (strcmp(text, "{base}") == 0)
		return way->range.base;
	unc_parse_u64(text, &number); /* checked with the data file */
	return number;
}

static int put_terms(struct cutter *x, const struct way *way, size_t kind, const char *text,
		     struct term *terms, size_t *count)
{
	struct unc_assignment a;
	int r = 0;

	while (r == 0 && unc_assignment_next(&text, &a) == 1)
		r = put_term(x, terms, count, a.name, term_value(x, way, kind, a.value));
	return r;
}

static int put_words(struct cutter *x, const struct way *way, size_t kind, struct term *terms,
		     size_t *count)
{
	const struct unc_filter *f = &x->family->filters[kind];
	char word[UNC_FILTER_ROOM];
	int r = 0;

	for (const char *at = x->filters->value[kind]; r == 0 && *at;) {
		size_t len = strcspn(at, ","), i = 0;

		snprintf(word, sizeof(word), "%.*s", (int)len, at);
		while (i < f->value_count && strcmp(f->values[i].name, word) != 0)
			i++;
		r = i == f->value_count ? no_word(x, kind, word)
					: put_terms(x, way, kind, f->values[i].text, terms, count);
		at += len + (at[len] == ',');
	}
	return r;
}

static int add_cut(struct cutter *x, const struct way *way, struct unc_cuts *out)
{
	struct unc_cut *cut = &out->items[out->count];
	struct term terms[TERMS];
	struct unc_text text = {0};
	size_t count = 0;
	int r = 0;

	for (size_t i = 0; r == 0 && i < UNC_FILTERS; i++) {
		const struct unc_filter *f = &x->family->filters[i];

		if (f->values && is_given(x->filters, i))
			r = put_words(x, way, i, terms, &count);
		else if (f->terms && way->kinds & 1U << i)
			r = put_terms(x, way, i, f->terms, terms, &count);
	}
	if (r < 0)
		return r;
	for (size_t i = 0; i < count; i++)
		unc_text_add(&text, "%s%s=0x%llx", i ? "," : "", terms[i].name,
			     (unsigned long long)terms[i].value);
	cut->port = way->port;
	cut->terms = unc_text_take(&text);
	out->count++;
	return cut->terms ? 0 : unc_nomem(x->why);
}

/* ---- ways: root ports ---- */

static bool has_bit(const struct unc_port *port)
{
	return port->index >= 0 && port->index < 64;
}

/* Once, however often the user names it. */
static void add_port(struct cutter *x, const struct unc_port *port)
{
	struct way way = {.port = port->device};

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
static void add_whole(struct cutter *x)
{
	bool is_port = x->port_count == 1 &&
		       (has_bit(&x->ports[0]) || !x->family->filters[UNC_FILTER_PORT].title);

	x->ways[x->way_count++] = (struct way){.port = is_port ? x->ports[0].device : NULL};
}

static const struct unc_port *find_port(const struct cutter *x, const struct uncore_device *device)
{
	for (size_t i = 0; i < x->port_count; i++)
		if (x->ports[i].device == device)
			return &x->ports[i];
	return NULL;
}

/* "SOCKET:RC:INDEX": by the PMU's name, also where no port is known. */
static bool by_numbers(const struct cutter *x, const struct unc_port_choice *choice,
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
static void merge_ports(struct cutter *x)
{
	const char *terms = x->family->filters[UNC_FILTER_PORT].terms;

	if (x->m->level == UNCORE_LEVEL_PORT || strstr(terms, "{index}"))
		return;
	for (; x->way_count > 1; x->way_count--) {
		x->ways[0].ports |= x->ways[x->way_count - 1].ports;
		x->ways[0].port = NULL;
	}
}

/* A PMU that cannot tell its ports apart serves when all of them are asked for. */
static int ways_of_ports(struct cutter *x)
{
	const struct unc_filters *f = x->filters;

	for (size_t i = 0; i < f->port_count; i++) {
		const struct unc_port_choice *choice = &f->ports[i];
		const struct unc_port *found = find_port(x, choice->device);
		struct unc_port port;

		if (choice->device && x->unknown)
			return -ENODEV;
		if (choice->device ? found != NULL : by_numbers(x, choice, &port))
			add_port(x, choice->device ? found : &port);
	}
	if (!x->way_count)
		return 0;
	if (x->apart) {
		merge_ports(x);
		return 0;
	}
	if (!x->family->filters[UNC_FILTER_PORT].title &&
	    (x->unknown || x->way_count < x->port_count))
		return no_filter(x, UNC_FILTER_PORT);
	if (x->way_count < x->port_count)
		return unc_fail(x->why, ENODEV,
				"%s counts %zu root ports, and which bit of its filter is whose is "
				"not known",
				x->pmu->name, x->port_count);
	x->way_count = 0;
	add_whole(x);
	return 0;
}

static int ways_of_level(struct cutter *x)
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

/* ---- ways: a device ---- */

/* What is counted is more than the device: its port, or all ports of the PMU. */
static int note_sharing(struct cutter *x)
{
	const struct uncore_device *d = x->filters->device, *port = x->ways[0].port;
	const struct uncore *u = x->m->machine;
	struct unc_text text = {0};
	size_t others = 0;
	int r;

	unc_text_add(&text, "%s: what is counted for %s is ", x->family->name, d->address);
	unc_text_add(&text, "%s%s", port ? "root port " : "", port ? port->address : x->pmu->name);
	for (size_t i = 0; i < uncore_device_count(u); i++) {
		const struct uncore_device *other = uncore_device_at(u, i);

		if (other == d || other->is_bridge || !other->port || !find_port(x, other->port) ||
		    (port && other->port != port))
			continue;
		unc_text_add(&text, "%s%s", others++ ? ", " : ", which it shares with ",
			     other->address);
	}
	r = text.failed ? -ENOMEM : unc_monitor_note_once(x->m, text.data);
	unc_text_finish(&text);
	return r;
}

/* The memory behind the device's BARs, one way for each; none where its addresses are not told. */
static void ways_of_bars(struct cutter *x)
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
		x->ways[x->way_count++] = (struct way){
			.port = d->port,
			.kinds = 1U << UNC_FILTER_ADDRESS,
			.range = {.base = numbers[0], .mask = ~(numbers[1] - numbers[0])},
		};
	}
	free(text);
}

/* The narrowest filter that the family has. */
static int ways_of_device(struct cutter *x)
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
		x->ways[x->way_count++] =
			(struct way){.port = d->port,
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

/* ---- all of it ---- */

static int find_ports(struct cutter *x, int cpu)
{
	const struct unc_filter *f = &x->family->filters[UNC_FILTER_PORT];
	int r = unc_ports_of(x->m->machine, x->pmu, cpu, &x->ports, &x->port_count, x->why);

	x->unknown = r < 0;
	x->apart = f->terms;
	for (size_t i = 0; i < x->port_count; i++)
		x->apart = x->apart && has_bit(&x->ports[i]);
	return r == -ENOMEM ? r : 0;
}

static int find_ways(struct cutter *x, int cpu)
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

static int add_cuts(struct cutter *x, struct unc_cuts *out)
{
	const struct unc_filters *f = x->filters;
	size_t ranges = f->range_count ? f->range_count : 1;
	int r = 0;

	out->items = calloc(x->way_count * ranges + 1, sizeof(*out->items));
	if (!out->items)
		return unc_nomem(x->why);
	for (size_t i = 0; r == 0 && i < x->way_count * ranges; i++) {
		struct way way = x->ways[i / ranges];

		if (f->gpus)
			way.kinds |= 1U << UNC_FILTER_GPU;
		if (f->range_count) {
			way.kinds |= 1U << UNC_FILTER_ADDRESS;
			way.range = f->ranges[i % ranges];
		}
		r = add_cut(x, &way, out);
	}
	return r;
}

int unc_monitor_cuts(struct uncore_monitor *m, const struct uncore_metric *metric,
		     const struct uncore_pmu *pmu, int cpu, struct unc_cuts *out,
		     struct unc_error *why)
{
	struct cutter x = {
		.m = m, .filters = &m->filters, .family = metric->family, .pmu = pmu, .why = why};
	struct unc_cuts cuts = {0};
	int r = check_family(&x, metric);

	if (r == 0)
		r = find_ways(&x, cpu);
	if (r == 0)
		r = add_cuts(&x, &cuts);
	free(x.ways);
	if (r < 0) {
		unc_cuts_finish(&cuts);
		return r;
	}
	*out = cuts;
	return 0;
}

void unc_cuts_finish(struct unc_cuts *c)
{
	for (size_t i = 0; i < c->count; i++)
		free(c->items[i].terms);
	free(c->items);
	*c = (struct unc_cuts){0};
}

static bool has_term(const char *terms, const char *name)
{
	struct unc_assignment a;

	while (unc_assignment_next(&terms, &a) == 1)
		if (strcmp(a.name, name) == 0)
			return true;
	return false;
}

int unc_cut_terms(const struct unc_cut *cut, const struct unc_event_def *event,
		  const struct uncore_pmu *pmu, char **out)
{
	const char *terms = unc_event_terms(event, pmu);
	struct unc_assignment a;
	struct unc_text text = {0};

	if (event->unfiltered || !*cut->terms) {
		*out = strdup(terms);
		return *out ? 0 : -ENOMEM;
	}
	while (unc_assignment_next(&terms, &a) == 1)
		if (!has_term(cut->terms, a.name))
			unc_text_add(&text, a.has_value ? "%s=%s," : "%s,", a.name, a.value);
	unc_text_add(&text, "%s", cut->terms);
	*out = unc_text_take(&text);
	return *out ? 0 : -ENOMEM;
}

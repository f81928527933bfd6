/* SPDX-License-Identifier: MIT */
/* What the user lets through: words and numbers, checked when they are given. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "count/monitor.h"

/* One filter being set. */
struct setter {
	struct uncore_monitor *m;
	enum unc_filter_kind kind;
	struct unc_filters *into;
};

static int refuse(const struct setter *x, const char *word, const char *expected)
{
	return unc_fail(&x->m->machine->error, EINVAL, "%s: '%s' is no %s",
			unc_filter_names[x->kind], word, expected);
}

static int too_many(const struct setter *x)
{
	return unc_fail(&x->m->machine->error, EINVAL, "%s: more than %d are given",
			unc_filter_names[x->kind], UNC_FILTER_CHOICES);
}

/* The words of this filter, of families on this machine or of all. -ENOMEM. */
static int known_words(const struct setter *x, bool here, struct unc_names *words)
{
	const struct unc_catalogue *c = &x->m->machine->catalogue;
	int r = 0;

	for (size_t i = 0; i < c->family_count; i++) {
		const struct unc_filter *f = &c->families[i]->filters[x->kind];

		for (size_t k = 0; r == 0 && k < f->value_count; k++)
			if ((!here || c->families[i]->pmu_count) &&
			    !unc_names_has(words, f->values[k].name))
				r = unc_names_add(words, f->values[k].name);
	}
	return r;
}

/* A word of some family. Which families have it is seen when metrics are added. */
static int take_word(struct setter *x, const char *word)
{
	struct unc_error *e = &x->m->machine->error;
	struct unc_names words = {0};
	int r = known_words(x, true, &words);

	if (r == 0 && !words.count)
		r = known_words(x, false, &words);
	if (r < 0)
		r = unc_nomem(e);
	else if (words.count && !unc_names_has(&words, word)) {
		r = unc_fail(e, EINVAL, "%s: '%s' is none of ", unc_filter_names[x->kind], word);
		for (size_t i = 0; i < words.count; i++)
			unc_error_append(e, "%s%s", i ? ", " : "", words.items[i]);
	}
	unc_names_finish(&words);
	return r;
}

static int take_gpu(struct setter *x, const char *word)
{
	uint64_t number;

	if (unc_parse_u64(word, &number) < 0 || number > 63)
		return refuse(x, word, "number of a GPU: 0, 1 ...");
	x->into->gpus |= (uint64_t)1 << number;
	return 0;
}

/* "SOCKET:RC:INDEX", as PMUs number them; false: something else. */
static bool take_numbers(const char *word, struct unc_port_choice *into)
{
	char copy[UNC_FILTER_ROOM], *rest = copy;
	uint64_t *const numbers[] = {&into->socket, &into->rc, &into->index};

	snprintf(copy, sizeof(copy), "%s", word);
	for (size_t i = 0; i < 3; i++) {
		const char *number = strsep(&rest, ":");

		if (!number || unc_parse_u64(number, numbers[i]) < 0)
			return false;
	}
	return !rest && into->index < 64;
}

static int take_port(struct setter *x, const char *word)
{
	struct unc_port_choice *port = &x->into->ports[x->into->port_count];
	struct unc_error *e = &x->m->machine->error;
	int r;

	if (x->into->port_count == UNC_FILTER_CHOICES)
		return too_many(x);
	*port = (struct unc_port_choice){.device = NULL};
	if (!take_numbers(word, port)) {
		r = uncore_device_find(x->m->machine, word, &port->device);
		if (r < 0) {
			unc_error_append(e, "; a root port is given by its address or as "
					    "SOCKET:RC:INDEX");
			return r;
		}
		if (!port->device->is_port)
			return unc_fail(e, EINVAL,
					"%s is no root port, but below %s: use the filter 'device'",
					port->device->address,
					port->device->port ? port->device->port->address : "none");
	}
	x->into->port_count++;
	return 0;
}

static int take_device(struct setter *x, const char *word)
{
	struct unc_error *e = &x->m->machine->error;
	const struct uncore_device *device;
	int r;

	if (x->into->device)
		return unc_fail(e, EINVAL, "device: one at a time");
	r = uncore_device_find(x->m->machine, word, &device);
	if (r < 0)
		return r;
	if (!device->port)
		return unc_fail(e, ENODEV,
				"%s is below no root port: what it moves is not counted by port",
				device->address);
	x->into->device = device;
	return 0;
}

/* "4096", "64K", "1G": K, M, G, T are powers of 1024. */
static int parse_size(const char *text, uint64_t *out)
{
	static const char units[] = "KMGT";
	char digits[UNC_FILTER_ROOM];
	size_t len = strlen(text);
	const char *unit = len ? strchr(units, text[len - 1]) : NULL;
	unsigned shift = unit ? 10 * (unsigned)(unit - units + 1) : 0;

	snprintf(digits, sizeof(digits), "%s", text);
	if (unit)
		digits[len - 1] = '\0';
	if (unc_parse_u64(digits, out) < 0 || (*out << shift) >> shift != *out)
		return -EINVAL;
	*out <<= shift;
	return 0;
}

static int take_range(struct setter *x, const char *word)
{
	struct unc_range *range = &x->into->ranges[x->into->range_count];
	char copy[UNC_FILTER_ROOM], *size_text = copy;
	const char *base_text;
	uint64_t base, size;

	if (x->into->range_count == UNC_FILTER_CHOICES)
		return too_many(x);
	snprintf(copy, sizeof(copy), "%s", word);
	base_text = strsep(&size_text, "/");
	if (!size_text || unc_parse_u64(base_text, &base) < 0 || parse_size(size_text, &size) < 0)
		return refuse(x, word, "range of addresses, BASE/SIZE, such as 0x4000000000/64K");
	if (!size || size & (size - 1) || base & (size - 1))
		return refuse(x, word,
			      "range that the hardware can match: its size must be a power of two, "
			      "and its base a multiple of the size");
	*range = (struct unc_range){.base = base, .mask = ~(size - 1)};
	for (const struct unc_range *other = x->into->ranges; other < range; other++)
		if (!((other->base ^ base) & other->mask & range->mask))
			return refuse(x, word,
				      "range of its own: it overlaps another, and would be counted "
				      "twice");
	x->into->range_count++;
	return 0;
}

/* Every word of a list that commas separate. */
static int take_list(struct setter *x, const char *value)
{
	static int (*const take[UNC_FILTERS])(struct setter *, const char *) = {
		[UNC_FILTER_FROM] = take_word,     [UNC_FILTER_TO] = take_word,
		[UNC_FILTER_GPU] = take_gpu,       [UNC_FILTER_LINK] = take_word,
		[UNC_FILTER_PORT] = take_port,     [UNC_FILTER_DEVICE] = take_device,
		[UNC_FILTER_ADDRESS] = take_range,
	};
	char word[UNC_FILTER_ROOM];

	for (const char *at = value;; at++) {
		size_t len = strcspn(at, ",");
		int r;

		if (!len || len >= sizeof(word))
			return refuse(x, value, "list of words that commas separate");
		memcpy(word, at, len);
		word[len] = '\0';
		r = take[x->kind](x, word);
		if (r < 0)
			return r;
		at += len;
		if (!*at)
			return 0;
	}
}

static bool has(const struct setter *x, enum unc_filter_kind kind)
{
	return kind == x->kind || x->into->value[kind];
}

/* A device has one port and addresses of its own. */
static int check_exclusions(const struct setter *x)
{
	static const enum unc_filter_kind others[] = {UNC_FILTER_PORT, UNC_FILTER_ADDRESS};

	for (size_t i = 0; i < 2; i++)
		if (has(x, UNC_FILTER_DEVICE) && has(x, others[i]))
			return unc_fail(&x->m->machine->error, EINVAL,
					"the filters 'device' and '%s' exclude each other",
					unc_filter_names[others[i]]);
	return 0;
}

static void reset(struct unc_filters *f, enum unc_filter_kind kind)
{
	switch (kind) {
	case UNC_FILTER_GPU:
		f->gpus = 0;
		break;
	case UNC_FILTER_PORT:
		f->port_count = 0;
		break;
	case UNC_FILTER_DEVICE:
		f->device = NULL;
		break;
	case UNC_FILTER_ADDRESS:
		f->range_count = 0;
		break;
	default:
		break;
	}
}

static int find_kind(struct uncore_monitor *m, const char *name, enum unc_filter_kind *out)
{
	struct unc_error *e = &m->machine->error;

	for (size_t i = 0; i < UNC_FILTERS; i++)
		if (strcmp(unc_filter_names[i], name) == 0) {
			*out = (enum unc_filter_kind)i;
			return 0;
		}
	unc_fail(e, EINVAL, "there is no filter '%s'; there are", name);
	for (size_t i = 0; i < UNC_FILTERS; i++)
		unc_error_append(e, "%s %s", i ? "," : "", unc_filter_names[i]);
	return -EINVAL;
}

int uncore_monitor_set_filter(struct uncore_monitor *m, const char *kind, const char *value)
{
	struct unc_filters next = m->filters;
	struct setter x = {.m = m, .into = &next};
	char *copy = NULL;
	int r = find_kind(m, kind, &x.kind);

	if (r < 0)
		return r;
	reset(&next, x.kind);
	if (value) {
		r = take_list(&x, value);
		if (r == 0)
			r = check_exclusions(&x);
		if (r < 0)
			return r;
		copy = strdup(value);
		if (!copy)
			return unc_nomem(&m->machine->error);
	}
	free(m->filters.value[x.kind]);
	next.value[x.kind] = copy;
	m->filters = next;
	return 0;
}

int unc_filters_text(struct uncore_monitor *m, const char **out)
{
	struct unc_text text = {0};

	for (size_t i = 0; i < UNC_FILTERS; i++)
		if (m->filters.value[i])
			unc_text_add(&text, "%s%s=%s", text.len ? " " : "", unc_filter_names[i],
				     m->filters.value[i]);
	*out = text.len ? unc_monitor_keep(m, text.data) : NULL;
	if (text.failed || (text.len && !*out)) {
		unc_text_finish(&text);
		return unc_nomem(&m->machine->error);
	}
	unc_text_finish(&text);
	return 0;
}

void unc_filters_finish(struct unc_filters *f)
{
	for (size_t i = 0; i < UNC_FILTERS; i++)
		free(f->value[i]);
}

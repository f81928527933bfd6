/* SPDX-License-Identifier: MIT */
/*
 * Filters. Each kind has one row in `selectors`: how a word of the user's is checked when it is given,
 * and how what was given splits a target when metrics are added (split.c).
 */
#include "count/filters.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "count/monitor.h"
#include "count/split.h"

/* One filter being set. */
struct setter {
	struct uncore_monitor *m;
	struct unc_error *e;
	enum unc_filter_kind kind;
	struct unc_filter_value *into;
};

/* ---- words of the user ---- */

static int refuse_word(const struct setter *x, const char *word, const char *expected)
{
	return unc_fail(x->e, EINVAL, "%s: '%s' is not a valid %s", unc_filter_words[x->kind].name,
			word, expected);
}

/* Room for what a word stands for; NULL: there are too many. */
static struct unc_filter_choice *next_choice(const struct setter *x)
{
	if (x->into->count < UNC_FILTER_CHOICES)
		return &x->into->choices[x->into->count];
	unc_fail(x->e, EINVAL, "%s: more than %d are given", unc_filter_words[x->kind].name,
		 UNC_FILTER_CHOICES);
	return NULL;
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
static int check_word(struct setter *x, const char *word)
{
	struct unc_names words = {0};
	int r = known_words(x, true, &words);

	if (r == 0 && !words.count)
		r = unc_catalogue_complete(&x->m->machine->catalogue, &x->m->machine->error);
	if (r == 0 && !words.count)
		r = known_words(x, false, &words);
	if (r < 0)
		r = unc_nomem(x->e);
	else if (words.count && !unc_names_has(&words, word)) {
		r = unc_fail(x->e, EINVAL, "%s: '%s' is not one of ",
			     unc_filter_words[x->kind].name, word);
		for (size_t i = 0; i < words.count; i++)
			unc_error_append(x->e, "%s%s", i ? ", " : "", words.items[i]);
	}
	unc_names_finish(&words);
	return r;
}

static int check_gpu(struct setter *x, const char *word)
{
	uint64_t number;

	if (unc_parse_u64(word, &number) < 0 || number > 63)
		return refuse_word(x, word, "number of a GPU: 0, 1 ...");
	x->into->choices[0].mask |= (uint64_t)1 << number;
	x->into->count = 1;
	return 0;
}

/* "SOCKET:RC:INDEX", as PMUs number root ports; false: something else. */
static bool parse_numbers(const char *word, uint64_t *numbers)
{
	char copy[UNC_WORD_ROOM], *rest = copy;

	snprintf(copy, sizeof(copy), "%s", word);
	for (size_t i = 0; i < 3; i++) {
		const char *number = strsep(&rest, ":");

		if (!number || unc_parse_u64(number, &numbers[i]) < 0)
			return false;
	}
	return !rest && numbers[2] < 64;
}

/* The root port with these numbers, or one that stands for it; NULL: out of memory. */
static const struct uncore_device *find_numbered(struct uncore *u, const uint64_t *numbers)
{
	for (size_t i = 0; i < uncore_device_count(u); i++) {
		const struct uncore_device *d = uncore_device_at(u, i);

		if (d->is_port && d->rc >= 0 && (uint64_t)d->rc_socket == numbers[0] &&
		    (uint64_t)d->rc == numbers[1] && (uint64_t)d->index == numbers[2])
			return d;
	}
	return unc_ports_numbered(&u->ports, numbers[0], numbers[1], numbers[2]);
}

static int check_port(struct setter *x, const char *word)
{
	struct unc_filter_choice *choice = next_choice(x);
	const struct uncore_device *d;
	uint64_t numbers[3];

	if (!choice)
		return -EINVAL;
	if (parse_numbers(word, numbers)) {
		d = find_numbered(x->m->machine, numbers);
		if (!d)
			return unc_nomem(x->e);
	} else {
		int r = uncore_device_find(x->m->machine, word, &d);

		if (r < 0) {
			unc_error_append(x->e, "; a root port is given by its address or as "
					       "SOCKET:RC:INDEX");
			return r;
		}
	}
	if (!d->is_port)
		return unc_fail(x->e, EINVAL,
				"%s is not a root port, but below %s: use the filter 'device'",
				d->address, d->port ? d->port->address : "none");
	choice->device = d;
	x->into->count++;
	return 0;
}

static int check_device(struct setter *x, const char *word)
{
	const struct uncore_device *d;
	int r;

	if (x->into->count)
		return unc_fail(x->e, EINVAL, "device: one at a time");
	r = uncore_device_find(x->m->machine, word, &d);
	if (r < 0)
		return r;
	if (!d->port)
		return unc_fail(x->e, ENODEV,
				"%s is below no root port: what it moves is not counted by port",
				d->address);
	x->into->choices[x->into->count++].device = d;
	return 0;
}

/* "4096", "64K", "1G": K, M, G, T are powers of 1024. */
static int parse_size(const char *text, uint64_t *out)
{
	static const char units[] = "KMGT";
	char digits[UNC_WORD_ROOM];
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

static int check_range(struct setter *x, const char *word)
{
	struct unc_filter_choice *range = next_choice(x);
	char copy[UNC_WORD_ROOM], *size_text = copy;
	const char *base_text;
	uint64_t base, size;

	if (!range)
		return -EINVAL;
	snprintf(copy, sizeof(copy), "%s", word);
	base_text = strsep(&size_text, "/");
	if (!size_text || unc_parse_u64(base_text, &base) < 0 || parse_size(size_text, &size) < 0)
		return refuse_word(x, word,
				   "range of addresses, BASE/SIZE, such as 0x4000000000/64K");
	if (!size || size & (size - 1) || base & (size - 1))
		return refuse_word(
			x, word,
			"range that the hardware can match: its size must be a power of two, "
			"and its base a multiple of the size");
	*range = (struct unc_filter_choice){.base = base, .mask = ~(size - 1)};
	for (const struct unc_filter_choice *other = x->into->choices; other < range; other++)
		if (!((other->base ^ base) & other->mask & range->mask))
			return refuse_word(
				x, word,
				"range of its own: it overlaps another, and would be counted "
				"twice");
	x->into->count++;
	return 0;
}

/* ---- the kinds ---- */

static const struct selector {
	int (*check)(struct setter *x, const char *word);
	unc_split *split;
	bool picks;        /* among PMUs, where it cannot restrict them */
	unsigned excludes; /* bit n: kind n */
} selectors[] = {
	[UNC_FILTER_FROM] = {.check = check_word, .split = unc_split_by_words},
	[UNC_FILTER_TO] = {.check = check_word, .split = unc_split_by_words},
	[UNC_FILTER_GPU] = {.check = check_gpu, .split = unc_split_by_gpus},
	[UNC_FILTER_LINK] = {.check = check_word, .split = unc_split_by_words},
	[UNC_FILTER_PORT] = {.check = check_port, .split = unc_split_by_ports, .picks = true},
	/* A device has one port and addresses of its own. */
	[UNC_FILTER_DEVICE] = {.check = check_device,
			       .split = unc_split_by_device,
			       .picks = true,
			       .excludes = 1U << UNC_FILTER_PORT | 1U << UNC_FILTER_ADDRESS},
	[UNC_FILTER_ADDRESS] = {.check = check_range, .split = unc_split_by_choices},
};
_Static_assert(sizeof(selectors) / sizeof(*selectors) == UNC_FILTERS, "a kind has no selector");

/* ---- setting them ---- */

static int check_list(struct setter *x, const char *list)
{
	const char *at = list;
	char word[UNC_WORD_ROOM];
	int r, words = 0;

	while ((r = unc_next_word(&at, word)) == 1) {
		r = selectors[x->kind].check(x, word);
		if (r < 0)
			return r;
		words++;
	}
	if (r < 0 || !words)
		return refuse_word(x, list, "list of words that commas separate");
	return 0;
}

static int check_exclusions(const struct setter *x)
{
	for (size_t i = 0; i < UNC_FILTERS; i++)
		for (size_t k = 0; k < UNC_FILTERS; k++)
			if (selectors[i].excludes & 1U << k &&
			    (i == x->kind || x->m->filters.values[i].text) &&
			    (k == x->kind || x->m->filters.values[k].text))
				return unc_fail(x->e, EINVAL,
						"the filters '%s' and '%s' exclude each other",
						unc_filter_words[i].name, unc_filter_words[k].name);
	return 0;
}

static int no_such_kind(struct unc_error *e, const char *name)
{
	unc_fail(e, EINVAL, "there is no filter '%s'; there are", name);
	for (size_t i = 0; i < UNC_FILTERS; i++)
		unc_error_append(e, "%s %s", i ? "," : "", unc_filter_words[i].name);
	return -EINVAL;
}

/* The text of all filters, and whether they pick root ports. */
static int describe(struct uncore_monitor *m, struct unc_filters *f)
{
	struct unc_text text = {0};

	f->picks = false;
	for (size_t i = 0; i < UNC_FILTERS; i++) {
		if (!f->values[i].text)
			continue;
		unc_text_add(&text, "%s%s=%s", text.len ? " " : "", unc_filter_words[i].name,
			     f->values[i].text);
		f->picks = f->picks || selectors[i].picks;
	}
	f->text = text.len && !text.failed ? unc_monitor_keep(m, text.data) : NULL;
	if (text.failed || (text.len && !f->text)) {
		unc_text_finish(&text);
		return unc_nomem(&m->machine->error);
	}
	unc_text_finish(&text);
	return 0;
}

int uncore_monitor_set_filter(struct uncore_monitor *m, const char *kind, const char *value)
{
	struct unc_filter_value next = {0};
	struct unc_filters filters;
	struct setter x = {.m = m, .e = &m->machine->error, .into = &next};
	int r = unc_monitor_refuse_planned(m);

	if (r < 0)
		return r;
	while (x.kind < UNC_FILTERS && strcmp(unc_filter_words[x.kind].name, kind) != 0)
		x.kind++;
	if (x.kind == UNC_FILTERS)
		return no_such_kind(x.e, kind);
	if (value) {
		r = check_list(&x, value);
		if (r == 0)
			r = check_exclusions(&x);
		if (r < 0)
			return r;
		next.text = unc_monitor_keep(m, value);
		if (!next.text)
			return unc_nomem(x.e);
	}
	filters = m->filters;
	filters.values[x.kind] = next;
	r = describe(m, &filters);
	if (r == 0)
		m->filters = filters;
	return r;
}

/* ---- applying them ---- */

/* Kinds that pick PMUs need no filter of the family; what else is given must be there. */
static int check_family(struct unc_splitter *x, const struct uncore_metric *metric)
{
	bool any = false;

	for (size_t k = 0; k < metric->formula->names.count; k++)
		x->restrictable = x->restrictable || !metric->events[k]->unfiltered;
	for (size_t i = 0; i < UNC_FILTERS; i++) {
		if (!x->filters->values[i].text)
			continue;
		any = true;
		if (!selectors[i].picks && !x->family->filters[i].title)
			return unc_refuse_kind(x, (enum unc_filter_kind)i);
	}
	if (any && !x->restrictable)
		return unc_fail(x->why, ENODEV, "%s/%s is the same for all: no filter restricts it",
				x->family->name, metric->name);
	return 0;
}

/* Puts in the place of each part what the filter makes of it. */
static int split_all(struct unc_splitter *x, unc_split *split, enum unc_filter_kind kind,
		     struct unc_parts *parts)
{
	struct unc_parts out = {0};
	int r = 0;

	for (size_t i = 0; r == 0 && i < parts->count; i++)
		r = split(x, kind, &parts->items[i], &out);
	free(parts->items);
	*parts = out;
	return r;
}

/* The parts as targets, with their terms as text. */
static int make_targets(const struct unc_splitter *x, const struct unc_parts *parts,
			const struct unc_target *whole, struct unc_target **out)
{
	struct unc_target *targets = calloc(parts->count + 1, sizeof(*targets));
	bool failed = !targets;

	for (size_t i = 0; !failed && i < parts->count; i++) {
		const struct unc_part *part = &parts->items[i];
		struct unc_text text = {0};

		for (size_t k = 0; k < part->term_count; k++)
			unc_text_add(&text, "%s%s=0x%llx", k ? "," : "", part->terms[k].name,
				     (unsigned long long)part->terms[k].value);
		targets[i] = *whole;
		targets[i].port = part->port;
		targets[i].terms = unc_monitor_keep(x->m, text.len ? text.data : "");
		failed = text.failed || !targets[i].terms;
		unc_text_finish(&text);
	}
	if (failed) {
		free(targets);
		return unc_nomem(x->why);
	}
	*out = targets;
	return 0;
}

int unc_filters_split(struct uncore_monitor *m, const struct uncore_metric *metric,
		      const struct unc_target *whole, struct unc_target **out, size_t *count,
		      struct unc_error *why)
{
	struct unc_splitter x = {.m = m,
				 .filters = &m->filters,
				 .family = metric->family,
				 .pmu = whole->pmu,
				 .why = why};
	bool picks = m->filters.picks, by_port = m->level == UNCORE_LEVEL_PORT;
	struct unc_part all = {.port = NULL};
	struct unc_parts parts = {0};
	int r = check_family(&x, metric);

	if (r == 0 && (picks || by_port))
		r = unc_splitter_ports(&x, whole->cpu);
	if (r == 0)
		r = unc_add_part(&x, &parts, &all);
	for (size_t i = 0; r == 0 && i < UNC_FILTERS; i++) {
		if (m->filters.values[i].text)
			r = split_all(&x, selectors[i].split, (enum unc_filter_kind)i, &parts);
		else if (i == UNC_FILTER_PORT && by_port && !picks)
			r = split_all(&x, unc_split_by_level, UNC_FILTER_PORT, &parts);
	}
	if (r == 0)
		r = make_targets(&x, &parts, whole, out);
	if (r == 0)
		*count = parts.count;
	free(parts.items);
	return r;
}

/* SPDX-License-Identifier: MIT */
/* The description of a register block: its clock and its histogram. */
#include "base/text.h"
#include "source/regs/parse.h"

#include <errno.h>
#include <string.h>

/* Whole cycles below are exact in a double. */
#define LAST_MOST 0x1p53

int unc_regs_parse_clock(const struct unc_regs_parser *p)
{
	static const char *const keys[] = {"hz", "counter", NULL};
	const struct unc_yaml *node = unc_yaml_get(p->file->root, "clock");
	const char *counter = NULL;
	struct unc_regs *r = p->r;

	if (!node)
		return 0;
	if (node->kind == UNC_YAML_TEXT && strcmp(node->text, "host") == 0) {
		r->host_clock = true;
		return 0;
	}
	if (node->kind != UNC_YAML_MAP || !node->count)
		return unc_yaml_fail(p->file, node, p->e,
				     "the value of 'clock' must be 'host', or a map of 'hz', "
				     "'counter' or both");
	if (unc_yaml_check(p->file, node, keys, p->e) < 0 ||
	    unc_regs_positive(p, node, "hz", &r->hz) < 0 ||
	    unc_yaml_text(p->file, node, "hz", &r->clock_hz, p->e) < 0 ||
	    unc_yaml_text(p->file, node, "counter", &counter, p->e) < 0)
		return -EBADMSG;
	for (size_t i = 0; counter && i < r->count; i++)
		if (strcmp(r->counters[i].name, counter) == 0)
			r->clock = &r->counters[i];
	if (counter && !r->clock)
		return unc_yaml_fail(p->file, unc_yaml_get(node, "counter"), p->e,
				     "'%s' is no counter of this block", counter);
	return 0;
}

/* Lower bounds that are written out. */
static int parse_listed(const struct unc_regs_parser *p, const struct unc_yaml *list,
			struct unc_histogram *h)
{
	if (unc_yaml_expect(p->file, list, UNC_YAML_LIST, p->e) < 0)
		return -EBADMSG;
	if (list->count != h->count)
		return unc_yaml_fail(p->file, list, p->e, "%zu bounds for %zu bins", list->count,
				     h->count);
	for (size_t k = 0; k < h->count; k++) {
		const struct unc_yaml *one = &list->children[k];
		uint64_t bound;

		if (unc_yaml_expect(p->file, one, UNC_YAML_TEXT, p->e) < 0)
			return -EBADMSG;
		if (unc_parse_u64(one->text, &bound) < 0 || (double)bound >= LAST_MOST ||
		    (k && (double)bound <= h->lower[k - 1]))
			return unc_yaml_fail(p->file, one, p->e,
					     "bounds are whole cycles, each larger than the one "
					     "before");
		h->lower[k] = (double)bound;
	}
	return 0;
}

/* Bounds by a rule: 0, first, first + step ...; or 0, first, 2 * first, 4 * first ... */
static int parse_rule(const struct unc_regs_parser *p, const struct unc_yaml *node, bool linear)
{
	static const char *const keys[] = {"!first", "step", NULL};
	static const uint64_t bounds[] = {1, 1 << 20};
	struct unc_histogram *h = &p->r->histogram;
	uint64_t first = 0, step = 0;

	if (unc_yaml_check(p->file, node, keys, p->e) < 0 ||
	    unc_regs_number(p, node, "first", bounds, &first) < 0 ||
	    unc_regs_number(p, node, "step", bounds, &step) < 0)
		return -EBADMSG;
	if (step && !linear)
		return unc_yaml_fail(p->file, unc_yaml_get(node, "step"), p->e,
				     "bounds that double have no step");
	for (size_t k = 1; k < h->count; k++)
		h->lower[k] = linear ? (double)(first + (k - 1) * (step ? step : first))
				     : (double)(first << (k - 1));
	return 0;
}

int unc_regs_parse_histogram(const struct unc_regs_parser *p)
{
	static const char *const keys[] = {"linear", "exponential", "listed", "!last", NULL};
	const struct unc_yaml *node = unc_yaml_get(p->file->root, "histogram"), *rule = NULL;
	struct unc_histogram *h = &p->r->histogram;
	size_t rules = 0;
	int r = 0;

	if (!node)
		return 0;
	if (unc_yaml_check(p->file, node, keys, p->e) < 0 ||
	    unc_regs_positive(p, node, "last", &h->last) < 0)
		return -EBADMSG;
	for (size_t i = 0; i < p->r->count; i++)
		h->count += p->r->counters[i].role == UNC_ROLE_BIN;
	if (h->count < 2 || h->count > UNC_HISTOGRAM_BINS)
		return unc_yaml_fail(p->file, node, p->e,
				     "a histogram has 2 to %d counters with the role 'bin', and "
				     "here are %zu",
				     UNC_HISTOGRAM_BINS, h->count);
	for (size_t i = 0; i < 3; i++)
		if (unc_yaml_get(node, keys[i])) {
			rule = unc_yaml_get(node, keys[i]);
			rules++;
		}
	if (rules != 1)
		return unc_yaml_fail(
			p->file, node, p->e,
			"a histogram needs exactly one of: linear, exponential, listed");
	r = strcmp(rule->key, "listed") == 0
		    ? parse_listed(p, rule, h)
		    : parse_rule(p, rule, strcmp(rule->key, "linear") == 0);
	if (r == 0 && h->last >= LAST_MOST)
		r = unc_yaml_fail(p->file, unc_yaml_get(node, "last"), p->e,
				  "no latency has so many cycles: less than 2^53");
	if (r == 0 && h->last < h->lower[h->count - 1])
		r = unc_yaml_fail(p->file, unc_yaml_get(node, "last"), p->e,
				  "what stands for the last bin lies below it");
	p->r->has_histogram = true;
	return r;
}

/* SPDX-License-Identifier: MIT */
/* The description of a register block: its clock and its histogram. */
#include "base/text.h"
#include "source/regs/parse.h"

#include <errno.h>
#include <string.h>

/* Whole cycles below are exact in a double. */
#define LAST_MOST 0x1p53

/* ---- clock ---- */

static int read_counter(const struct unc_reader *r, const struct unc_yaml *node, void *into)
{
	struct unc_regs *block = into;

	for (size_t i = 0; i < block->count; i++)
		if (strcmp(block->counters[i].name, node->text) == 0)
			block->clock = &block->counters[i];
	return block->clock
		       ? 0
		       : unc_reader_fail(r, node, "'%s' is no counter of this block", node->text);
}

static int keep_hz(const struct unc_reader *r, const struct unc_yaml *node, void *into)
{
	(void)r;
	((struct unc_regs *)into)->clock_hz = node->text;
	return 0;
}

static const struct unc_field clock_fields[] = {
	UNC_FIELD("hz", DOUBLE, UNC_AT(struct unc_regs, hz), .range = &unc_regs_positive,
		  .check = keep_hz),
	UNC_FIELD("counter", TEXT, .check = read_counter),
	UNC_END,
};

int unc_regs_read_clock(const struct unc_reader *r, const struct unc_yaml *node, void *into)
{
	static const struct unc_shape shape = {.fields = clock_fields};
	struct unc_regs *block = into;

	block->host_clock = node->kind == UNC_YAML_TEXT && strcmp(node->text, "host") == 0;
	if (block->host_clock)
		return 0;
	if (node->kind != UNC_YAML_MAP || !node->count)
		return unc_reader_fail(r, node,
				       "the value of 'clock' must be 'host', or a map of 'hz', "
				       "'counter' or both");
	return unc_fill(r, node, &shape, block);
}

/* ---- histogram ---- */

/* Lower bounds that are written out. */
static int read_listed(const struct unc_reader *r, const struct unc_yaml *list, void *into)
{
	struct unc_histogram *h = into;

	if (unc_reader_expect(r, list, UNC_YAML_LIST) < 0)
		return -EBADMSG;
	if (list->count != h->count)
		return unc_reader_fail(r, list, "%zu bounds for %zu bins", list->count, h->count);
	for (size_t k = 0; k < h->count; k++) {
		const struct unc_yaml *one = &list->children[k];
		uint64_t bound;

		if (unc_reader_expect(r, one, UNC_YAML_TEXT) < 0)
			return -EBADMSG;
		if (unc_parse_u64(one->text, &bound) < 0 || (double)bound >= LAST_MOST ||
		    (k && (double)bound <= h->lower[k - 1]))
			return unc_reader_fail(r, one,
					       "bounds are whole cycles, each larger than the one "
					       "before");
		h->lower[k] = (double)bound;
	}
	return 0;
}

struct steps {
	uint64_t first, step;
};

static const struct unc_field steps_fields[] = {
	UNC_FIELD("!first", NUMBER, UNC_AT(struct steps, first), .least = 1, .most = 1 << 20),
	UNC_FIELD("step", NUMBER, UNC_AT(struct steps, step), .least = 1, .most = 1 << 20),
	UNC_END,
};

static const struct unc_shape steps_shape = {.fields = steps_fields};

/* 0, first, first + step ... */
static int read_linear(const struct unc_reader *r, const struct unc_yaml *map, void *into)
{
	struct unc_histogram *h = into;
	struct steps s = {0};
	int err = unc_fill(r, map, &steps_shape, &s);

	for (size_t k = 1; err == 0 && k < h->count; k++)
		h->lower[k] = (double)(s.first + (k - 1) * (s.step ? s.step : s.first));
	return err;
}

/* 0, first, 2 * first, 4 * first ... */
static int read_exponential(const struct unc_reader *r, const struct unc_yaml *map, void *into)
{
	struct unc_histogram *h = into;
	struct steps s = {0};
	int err = unc_fill(r, map, &steps_shape, &s);

	if (err == 0 && s.step)
		err = unc_reader_fail(r, unc_yaml_get(map, "step"),
				      "bounds that double have no step");
	for (size_t k = 1; err == 0 && k < h->count; k++)
		h->lower[k] = (double)(s.first << (k - 1));
	return err;
}

static int check_last(const struct unc_reader *r, const struct unc_yaml *node, void *into)
{
	const struct unc_histogram *h = into;

	if (h->last >= LAST_MOST)
		return unc_reader_fail(r, node, "no latency has so many cycles: less than 2^53");
	if (h->last < h->lower[h->count - 1])
		return unc_reader_fail(r, node, "what stands for the last bin lies below it");
	return 0;
}

static const struct unc_field histogram_fields[] = {
	UNC_FIELD("linear", ANY, .check = read_linear),
	UNC_FIELD("exponential", ANY, .check = read_exponential),
	UNC_FIELD("listed", ANY, .check = read_listed),
	UNC_FIELD("!last", DOUBLE, UNC_AT(struct unc_histogram, last), .range = &unc_regs_positive,
		  .check = check_last),
	UNC_END,
};

int unc_regs_read_histogram(const struct unc_reader *r, const struct unc_yaml *node, void *into)
{
	static const struct unc_shape shape = {.fields = histogram_fields};
	struct unc_regs *block = into;
	struct unc_histogram *h = &block->histogram;
	int rules = 0;

	for (size_t i = 0; i < block->count; i++)
		h->count += block->counters[i].role == UNC_ROLE_BIN;
	if (h->count < 2 || h->count > UNC_HISTOGRAM_BINS)
		return unc_reader_fail(r, node,
				       "a histogram has 2 to %d counters with the role 'bin', and "
				       "here are %zu",
				       UNC_HISTOGRAM_BINS, h->count);
	for (size_t i = 0; i < 3; i++)
		rules += unc_yaml_get(node, histogram_fields[i].key) != NULL;
	if (rules != 1 && node->kind == UNC_YAML_MAP && unc_yaml_get(node, "last"))
		return unc_reader_fail(
			r, node, "a histogram needs exactly one of: linear, exponential, listed");
	block->has_histogram = true;
	return unc_fill(r, node, &shape, h);
}

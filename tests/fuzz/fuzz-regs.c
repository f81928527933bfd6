/* SPDX-License-Identifier: MIT */
/* Register blocks: what is accepted is safe to read with; what is not has one sentence with its
 * place. */
#include "catalogue/catalogue.h"
#include "source/regs/regs.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds)
{
	if (!holds)
		abort();
}

static void check_inside(const struct unc_regs *r, uint64_t offset)
{
	uint64_t last = offset + (r->instances - 1) * r->stride;

	if (r->space == UNC_SPACE_MSR)
		require(last <= UINT32_MAX);
	else
		require(offset % r->bytes == 0 && last + r->bytes <= r->size);
}

static void check_counter(const struct unc_regs *r, const struct unc_regs_counter *c)
{
	require(c->name && *c->name && c->title && *c->title);
	require(c->width >= 1 && c->width <= (c->split ? 64 : r->bytes * 8));
	check_inside(r, c->offset);
	if (c->split)
		check_inside(r, c->high);
	for (const struct unc_regs_counter *other = r->counters; other < c; other++)
		require(strcmp(other->name, c->name) != 0);
}

static void check_histogram(const struct unc_histogram *h)
{
	double counts[UNC_HISTOGRAM_BINS] = {0};
	double low, high;
	size_t bin;

	require(h->count >= 2 && h->count <= UNC_HISTOGRAM_BINS);
	require(!unc_histogram_percentile(counts, h->count, 500, &bin));
	for (size_t k = 0; k < h->count; k++) {
		counts[k] = 1;
		require(k == 0 || h->lower[k] > h->lower[k - 1]);
		require(h->value[k] >= 0);
		unc_histogram_bounds(h, k, &low, &high);
		require(high >= low || k + 1 == h->count);
	}
	require(unc_histogram_percentile(counts, h->count, 999, &bin) && bin == h->count - 1);
}

/* Roles that were accepted make metrics. */
static void check_family(const struct unc_regs *r)
{
	struct unc_family *f = NULL;
	struct unc_error e = {0};

	if (unc_regs_family(&f, r, "unknown", &e) < 0)
		abort();
	require(!f || f->event_count == r->count);
	unc_family_free(f);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct unc_yaml_file *file = NULL;
	struct unc_regs *r = NULL;
	struct unc_error e = {0};
	int err = unc_yaml_parse(&file, "fuzz.yaml", (const char *)data, size, &e);

	if (!err)
		err = unc_regs_parse(&r, file, &e);
	if (err) {
		require(err == -EBADMSG && !r);
		require(strncmp(e.text, "fuzz.yaml:", 10) == 0);
		return 0;
	}
	require(!e.text[0]);
	require(r->count >= 1 && r->instances >= 1 && (r->instances == 1 || r->stride));
	for (size_t i = 0; i < r->count; i++)
		check_counter(r, &r->counters[i]);
	if (r->histogram.count)
		check_histogram(&r->histogram);
	check_family(r);
	unc_regs_free(r);
	return 0;
}

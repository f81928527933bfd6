/* SPDX-License-Identifier: MIT */
/* The bins of a block's histogram: their bounds and values, from its file or from registers. */
#include "base/text.h"
#include "source/regs/source.h"

#include <errno.h>
#include <float.h>

/* Whole cycles below are exact in a double. */
#define LAST_MOST 0x1p53

/* ---- the file ---- */

/* A list of cycles, one for each bin; bounds are whole, and each larger than the one before. */
static int read_cycles(const struct unc_reader *r, const struct unc_yaml *list, size_t count,
		       bool whole, double *into)
{
	if (unc_reader_expect(r, list, UNC_YAML_LIST) < 0)
		return -EBADMSG;
	if (list->count != count)
		return unc_reader_fail(r, list, "%zu %s for %zu bins", list->count,
				       whole ? "bounds" : "values", count);
	for (size_t k = 0; k < count; k++) {
		const struct unc_yaml *at = &list->children[k];
		uint64_t cycles = 0;
		double value = 0;

		if (unc_reader_expect(r, at, UNC_YAML_TEXT) < 0)
			return -EBADMSG;
		if (whole ? unc_parse_u64(at->text, &cycles) < 0
			  : unc_parse_double(at->text, &value) < 0)
			value = -1;
		value += (double)cycles;
		if (!(value >= 0) || value >= LAST_MOST || (whole && k && value <= into[k - 1]))
			return unc_reader_fail(
				r, at,
				whole ? "bounds are whole cycles, each larger than the one before"
				      : "a bin has a value from 0 to 2^53 cycles");
		into[k] = value;
	}
	return 0;
}

static const struct unc_bounds cycles = {DBL_TRUE_MIN, LAST_MOST - 1,
					 "more than 0 and less than 2^53"};

static const struct unc_field histogram_fields[] = {
	UNC_FIELD("listed", ANY),
	UNC_FIELD("thresholds", NUMBER, UNC_AT(struct unc_regs, thresholds),
		  .most = UNC_REGS_OFFSET_MOST),
	UNC_FIELD("|last", DOUBLE, UNC_AT(struct unc_regs, last), .range = &cycles),
	UNC_FIELD("|values", ANY),
	UNC_END,
};

uint64_t unc_regs_threshold(const struct unc_regs *r, size_t k)
{
	return r->thresholds + (k - 1) * (r->space == UNC_SPACE_MSR ? 1 : r->bytes);
}

/* The values of bins for which the file has none, from their bounds. False: `last` lies below its bin. */
static bool set_middles(struct unc_regs *r)
{
	struct unc_histogram *h = &r->histogram;

	for (size_t k = 0; r->last > 0 && k < h->count; k++)
		h->value[k] = k + 1 < h->count ? (h->lower[k] + h->lower[k + 1]) / 2 : r->last;
	return !(r->last > 0) || r->last >= h->lower[h->count - 1];
}

int unc_regs_read_bins(const struct unc_reader *r, const struct unc_yaml *node, void *into)
{
	static const struct unc_shape shape = {.fields = histogram_fields};
	const struct unc_yaml *list = unc_yaml_get(node, "listed");
	const struct unc_yaml *values = unc_yaml_get(node, "values");
	const struct unc_yaml *last = unc_yaml_get(node, "last");
	struct unc_regs *block = into;
	struct unc_histogram *h = &block->histogram;

	for (size_t i = 0; i < block->count; i++)
		h->count += block->counters[i].role == UNC_ROLE_BIN;
	if (h->count < 2 || h->count > UNC_HISTOGRAM_BINS)
		return unc_reader_fail(r, node,
				       "a histogram has 2 to %d counters with the role 'bin', and "
				       "here are %zu",
				       UNC_HISTOGRAM_BINS, h->count);
	block->thresholds_at = unc_yaml_get(node, "thresholds");
	block->bounds_written = list && block->thresholds_at;
	for (size_t k = 0; k < h->count; k++)
		h->lower[k] = (double)k; /* until a scan reads them */
	if (unc_fill(r, node, &shape, block) < 0)
		return -EBADMSG;
	if (!list && !block->thresholds_at)
		return unc_reader_fail(r, node, "a histogram needs 'listed' or 'thresholds'");
	if (list && read_cycles(r, list, h->count, true, h->lower) < 0)
		return -EBADMSG;
	if (list && block->thresholds_at && block->bytes == 4 &&
	    h->lower[h->count - 1] > UINT32_MAX)
		return unc_reader_fail(r, list, "a register has 32 bits here");
	if (values)
		return read_cycles(r, values, h->count, false, h->value);
	if (!set_middles(block) && list)
		return unc_reader_fail(r, last, "the value for the last bin is below its bound");
	return 0;
}

/* ---- registers ---- */

int unc_regs_read_thresholds(struct unc_regs *r, const struct unc_root *root,
			     const struct unc_pmus *pmus, struct unc_error *e)
{
	struct unc_histogram *h = &r->histogram;
	struct unc_error *wrong = &r->bins_refused;
	int err = 0;

	for (size_t i = 0; err == 0 && i < pmus->count; i++) {
		const struct uncore_pmu *p = &pmus->items[i];
		const struct unc_counter c = {.pmu = p, .cpu = p->cpus.count ? p->cpus.ids[0] : 0};
		struct unc_regs_io io;

		err = unc_regs_io_open(&io, r, root, &c, false, e);
		for (size_t k = 1; err == 0 && k < h->count; k++) {
			uint64_t value = 0;

			err = unc_regs_io_load(&io, unc_regs_threshold(r, k), &value);
			if (err < 0)
				unc_fail(e, -err, "%s: the threshold of bin %zu cannot be read: %s",
					 p->name, k, unc_errno_text(err));
			else if (i && (double)value != h->lower[k])
				err = unc_fail(
					wrong, EINVAL,
					"%s: the threshold of bin %zu is %llu, and that of %s "
					"is %llu: the bins of all must be the same",
					p->name, k, (unsigned long long)value, pmus->items[0].name,
					(unsigned long long)h->lower[k]);
			else if (value >> 53 || (double)value <= h->lower[k - 1])
				err = unc_fail(
					wrong, EINVAL,
					"%s: the thresholds of its bins do not ascend: %llu is "
					"that of bin %zu; they may not be set yet",
					p->name, (unsigned long long)value, k);
			h->lower[k] = (double)value;
		}
		unc_regs_io_close(&io);
	}
	if (err == 0 && !set_middles(r))
		err = unc_fail(wrong, EINVAL,
			       "%s: 'last' lies below the last bin, which begins at %llu", r->name,
			       (unsigned long long)h->lower[h->count - 1]);
	if (!wrong->text[0])
		return err;
	for (size_t k = 0; k < h->count; k++)
		h->lower[k] = (double)k;
	return 0;
}

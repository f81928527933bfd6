/* SPDX-License-Identifier: MIT */
/* What the outputs share. */
#include "out.h"

#include <math.h>
#include <stdlib.h>

void out_init(struct out *out, const struct out_ops *ops, const struct out_setup *setup,
	      struct buffer *to)
{
	*out = (struct out){.ops = ops, .setup = *setup, .to = to};
}

void out_free(struct out *out)
{
	table_free(&out->table);
	free(out->kept);
	buffer_free(&out->prefix);
	out->kept = NULL;
}

void out_begin(struct out *out, const struct out_frame *frame)
{
	out->frame = *frame;
	out->ops->begin(out);
}

void out_row(struct out *out, const struct uncore_row *row, double spread)
{
	out->ops->row(out, row, spread);
}

void out_end(struct out *out)
{
	out->ops->end(out);
	out->begun = true;
}

void out_sample(struct out *out, const struct out_frame *frame, const struct uncore_sample *sample)
{
	out_begin(out, frame);
	for (size_t i = 0; i < uncore_sample_count(sample); i++)
		out_row(out, uncore_sample_row(sample, i), NAN);
	out_end(out);
}

const char *out_kind(const struct uncore_row *row)
{
	return row->family ? "metric" : "event";
}

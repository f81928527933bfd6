/* SPDX-License-Identifier: MIT */
/* The caller's buffer of rows. */
#include "count/sample.h"

#include <errno.h>
#include <stdlib.h>

int uncore_sample_new(struct uncore_sample **out)
{
	struct uncore_sample *s = calloc(1, sizeof(*s));

	if (!s)
		return -ENOMEM;
	*out = s;
	return 0;
}

void uncore_sample_free(struct uncore_sample *s)
{
	if (!s)
		return;
	free(s->rows);
	free(s->reasons.data);
	free(s);
}

int unc_sample_reserve(struct uncore_sample *s, size_t count)
{
	struct uncore_row *rows;
	char *data;

	if (count <= s->room)
		return 0;
	rows = reallocarray(s->rows, count, sizeof(*rows));
	if (!rows)
		return -ENOMEM;
	s->rows = rows;
	data = reallocarray(s->reasons.data, count, UNC_REASON_ROOM);
	if (!data)
		return -ENOMEM;
	s->reasons.data = data;
	s->reasons.room = count * UNC_REASON_ROOM;
	s->room = count;
	s->count = 0; /* what it held points to reasons that have moved */
	return 0;
}

size_t uncore_sample_count(const struct uncore_sample *s)
{
	return s->count;
}

const struct uncore_row *uncore_sample_row(const struct uncore_sample *s, size_t i)
{
	return &s->rows[i];
}

uint64_t uncore_sample_begin_ns(const struct uncore_sample *s)
{
	return s->begin.ns;
}

uint64_t uncore_sample_end_ns(const struct uncore_sample *s)
{
	return s->end.ns;
}

uint64_t uncore_sample_begin_wall_ns(const struct uncore_sample *s)
{
	return s->begin.wall_ns;
}

uint64_t uncore_sample_end_wall_ns(const struct uncore_sample *s)
{
	return s->end.wall_ns;
}

const char *uncore_quality_name(enum uncore_quality quality)
{
	static const char *const names[] = {
		[UNCORE_MEASURED] = "measured", [UNCORE_SCALED] = "scaled",
		[UNCORE_SAMPLED] = "sampled",   [UNCORE_PARTIAL] = "partial",
		[UNCORE_SUSPECT] = "suspect",   [UNCORE_UNAVAILABLE] = "unavailable",
	};

	if ((size_t)quality >= sizeof(names) / sizeof(*names))
		return "unknown";
	return names[quality];
}

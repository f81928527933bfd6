/* SPDX-License-Identifier: MIT */
#include "record/statistics.h"

#include <math.h>
#include <stdlib.h>

#include "base/cli.h"

#define KEPT 16384 /* values of a row; of longer recordings every second, fourth, ... */

static void keep(struct statistics *s, double value)
{
	s->stride = s->stride ? s->stride : 1;
	if (s->intervals % s->stride)
		return;
	if (s->count == KEPT) {
		for (size_t i = 0; i < KEPT / 2; i++)
			s->values[i] = s->values[2 * i];
		s->count = KEPT / 2;
		s->stride *= 2;
		if (s->intervals % s->stride)
			return;
	}
	s->values = cli_grow(s->values, s->count, sizeof(*s->values));
	s->values[s->count++] = value;
}

void statistics_add(struct statistics *s, const struct uncore_row *row, double value, double weight,
		    uint64_t wall_ns)
{
	if (row->quality > s->quality) {
		s->quality = row->quality;
		free(s->reason);
		s->reason = cli_copy(row->reason);
	}
	s->doubtful += row->quality == UNCORE_PARTIAL || row->quality == UNCORE_SUSPECT;
	if (!isfinite(value)) {
		s->missing++;
		return;
	}
	keep(s, value);
	if (!s->intervals || value > s->most) {
		s->most = value;
		s->most_ns = wall_ns;
	}
	s->sum += value * weight;
	s->weight += weight;
	s->intervals++;
}

static int compare_values(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* The nearest rank: the smallest value that is not below the share `p` of all. */
static double percentile(const struct statistics *s, double p)
{
	size_t rank = (size_t)ceil(p * (double)s->count);

	return s->count ? s->values[rank ? rank - 1 : 0] : NAN;
}

void statistics_finish(struct statistics *s)
{
	if (s->count)
		qsort(s->values, s->count, sizeof(*s->values), compare_values);
	s->p50 = percentile(s, 0.5);
	s->p99 = percentile(s, 0.99);
	s->most = s->intervals ? s->most : NAN;
}

double statistics_mean(const struct statistics *s)
{
	return s->weight > 0 ? s->sum / s->weight : s->intervals ? s->p50 : NAN;
}

void statistics_free(struct statistics *s)
{
	free(s->values);
	free(s->reason);
}

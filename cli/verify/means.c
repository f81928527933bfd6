/* SPDX-License-Identifier: MIT */
/* Cells whose mean is compared with a known value. */
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "verify/judge.h"

bool judge_mean_rounds(struct judged *j)
{
	const struct verify_series *s = j->series;
	size_t count = 0;

	for (size_t i = 0; i < s->round_count; i++)
		count += isfinite(verify_reading_of(s, i, j->own)->amount) ? 1 : 0;
	j->result->fit = (struct verify_fit){NAN, NAN, NAN, count};
	return judge_few_rounds(j, count);
}

double judge_mean(const struct judged *j, size_t cell, double *seconds)
{
	double amount = 0, time = 0;

	for (size_t i = 0; i < j->series->round_count; i++) {
		const struct verify_reading *r = verify_reading_of(j->series, i, cell);

		if (!r || !isfinite(r->amount) || !isfinite(r->seconds))
			continue;
		amount += r->amount;
		time += r->seconds;
	}
	if (seconds)
		*seconds = time;
	return time > 0 ? amount / time : NAN;
}

size_t judge_witness(const struct judged *j)
{
	const struct verify_cell *own = &j->run->cells[j->own];
	const struct verify_witness *w = verify_witness(own->metric);
	const size_t first = j->series->first_cell;

	if (!w || strcmp(own->family, w->family) != 0)
		return SIZE_MAX;
	for (size_t i = first; i < first + j->series->cell_count; i++) {
		const struct verify_cell *c = &j->run->cells[i];

		if (strcmp(c->family, w->name) == 0 && strcmp(c->metric, own->metric) == 0 &&
		    c->socket == own->socket && isfinite(judge_mean(j, i, NULL)))
			return i;
	}
	return SIZE_MAX;
}

void judge_compare(struct judged *j, double value, double known, double error, const char *unit,
		   const char *basis)
{
	struct verify_result *r = j->result;

	r->value = value;
	r->known = known;
	r->unit = unit;
	r->basis = basis;
	if (known > 0) {
		r->fit.slope = value / known;
		r->fit.error = error;
	}
}

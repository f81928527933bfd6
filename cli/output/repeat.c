/* SPDX-License-Identifier: MIT */
/* Means over runs. The spread is the standard error of the mean, divided by the mean, as in perf
 * stat -r. It is the uncertainty of the mean, and not the difference between single runs. */
#include "output/repeat.h"

#include <math.h>
#include <stdlib.h>

#include "base/cli.h"

static bool same_row(const struct uncore_row *a, const struct uncore_row *b)
{
	return out_same_place(a->place, b->place) && a->place->role == b->place->role &&
	       out_same_query(a, b);
}

/* The row of earlier runs, or a new one. Runs have the same rows in the same order, so that the row
 * is tried first that has the index `hint`. */
static struct repeat_row *find(struct repeat *r, const struct uncore_row *row, size_t hint)
{
	struct repeat_row *new;

	if (hint < r->count && same_row(&r->rows[hint]->row, row))
		return r->rows[hint];
	for (size_t i = 0; i < r->count; i++)
		if (same_row(&r->rows[i]->row, row))
			return r->rows[i];
	r->rows = cli_realloc(r->rows, r->count + 1, sizeof(*r->rows));
	new = r->rows[r->count++] = cli_realloc(NULL, 1, sizeof(*new));
	*new = (struct repeat_row){
		.row = *row, .query = *row->query, .place = *row->place, .counted = *row->counted};
	new->row.query = &new->query;
	new->row.place = &new->place;
	new->row.counted = &new->counted;
	new->query.name = cli_copy(row->query->name);
	new->query.family = cli_copy(row->query->family);
	new->query.unit = cli_copy(row->query->unit);
	new->query.filter = cli_copy(row->query->filter);
	new->row.reason = NULL;
	new->row.low = new->row.high = NAN; /* bounds are valid for one run only */
	return new;
}

/* The mean with a further value, of `count` in all. */
static double mean_with(double mean, double value, unsigned count)
{
	return count == 1 ? value : mean + (value - mean) / count;
}

static void add_value(struct repeat_row *into, const struct uncore_row *row)
{
	double delta = row->value - into->mean;

	if (!into->values++)
		into->worst = row->quality;
	/* The value of a percentile is one of its bounds, and that of a rate lies between them. The
	 * bins of several runs reach from the beginning of the lowest to the end of the highest. */
	if (isfinite(row->low) && (!isfinite(row->high) || row->value >= row->high)) {
		into->bin = true;
		into->open |= !isfinite(row->high);
		into->row.low = fmin(into->row.low, row->low);
		into->row.high = fmax(into->row.high, row->high);
	}
	into->mean += delta / into->values;
	into->row.rate = mean_with(into->row.rate, row->rate, into->values);
	into->counted.amount = mean_with(into->counted.amount, row->counted->amount, into->values);
	into->m2 += delta * (row->value - into->mean);
	if (row->quality > into->worst)
		into->worst = row->quality;
	if (into->values == 1 || row->counted->coverage < into->counted.coverage)
		into->counted.coverage = row->counted->coverage;
}

void repeat_add(struct repeat *r, const struct frame *f)
{
	r->runs++;
	r->time = f->time;
	r->seconds += f->window;
	for (size_t i = 0; i < f->row_count; i++) {
		const struct uncore_row *row = frame_row(f, i);
		struct repeat_row *into = find(r, row, i);

		if (isfinite(row->value))
			add_value(into, row);
		else if (!into->values && row->quality > into->worst)
			into->worst = row->quality;
		if (row->reason && (!into->row.reason || row->quality > into->told)) {
			free((char *)into->row.reason);
			into->row.reason = cli_copy(row->reason);
			into->told = row->quality;
		}
	}
}

static double spread(const struct repeat_row *row)
{
	double n = row->values;

	if (row->values < 2 || row->mean == 0 || row->bin)
		return NAN;
	return sqrt(row->m2 / (n - 1) / n) / fabs(row->mean);
}

static void finish(struct repeat_row *row, unsigned runs)
{
	struct buffer reason = {0};

	row->row.value = row->values ? row->mean : NAN;
	if (row->open)
		row->row.high = NAN;
	if (row->bin)
		row->row.value = row->open ? row->row.low : row->row.high;
	row->row.quality = row->worst;
	if (row->values == runs || !row->values)
		return;
	/* A mean over fewer runs than the head gives is partial. A scaled value may be above the
	 * true one, so that such a mean is suspect. */
	buffer_printf(&reason, "no value in %u of %u runs: %s", runs - row->values, runs,
		      row->row.reason ? row->row.reason : "");
	free((char *)row->row.reason);
	row->row.reason = reason.data;
	if (row->row.quality < UNCORE_PARTIAL)
		row->row.quality =
			row->row.quality == UNCORE_SCALED ? UNCORE_SUSPECT : UNCORE_PARTIAL;
}

void repeat_print(struct repeat *r, struct out *out)
{
	struct frame frame = {.time = r->time, .runs = r->runs};

	if (!r->runs)
		return;
	frame.window = r->seconds / r->runs;
	for (size_t i = 0; i < r->count; i++) {
		finish(r->rows[i], r->runs);
		out_row(out,
			(struct out_row){.row = &r->rows[i]->row, .spread = spread(r->rows[i])});
	}
	out_print(out, &frame);
	for (size_t i = 0; i < r->count; i++) {
		free((char *)r->rows[i]->query.name);
		free((char *)r->rows[i]->query.family);
		free((char *)r->rows[i]->query.unit);
		free((char *)r->rows[i]->query.filter);
		free((char *)r->rows[i]->row.reason);
		free(r->rows[i]);
	}
	free(r->rows);
	*r = (struct repeat){0};
}

/* SPDX-License-Identifier: MIT */
#include "top/data.h"

#include <math.h>
#include <stdlib.h>

#include "base/cli.h"

#define SLOT_SIZE (sizeof(float) + 1)
#define QUIET_SAMPLES 10     /* until a line is idle */
#define MEAN_SAMPLES 5       /* of the mean that lines are sorted by */
#define STANDING_CHANGE 1.25 /* of this mean, which may change the order */

static const struct uncore_row *row_at(const void *context, size_t i)
{
	const struct top_data *d = context;

	return d->past ? &d->past[i] : uncore_sample_row(d->sample, i);
}

const struct uncore_row *data_row(const struct top_data *d, size_t row)
{
	return row < d->count ? row_at(d, row) : NULL;
}

static size_t place(const struct top_data *d, size_t row, uint64_t slot)
{
	return row * d->seconds + slot % d->seconds;
}

static void begin(struct top_data *d)
{
	d->count = uncore_sample_count(d->sample);
	d->rows = (struct screen_rows){.at = row_at, .context = d, .count = d->count};
	screen_make(&d->screen, d->machine, &d->rows);
	d->seconds = DATA_SECONDS;
	if (d->count * d->seconds * SLOT_SIZE > DATA_ROOM)
		d->seconds = (unsigned)(DATA_ROOM / SLOT_SIZE / d->count) + 1;
	d->values = cli_realloc(NULL, d->count * d->seconds + 1, sizeof(*d->values));
	d->qualities = cli_realloc(NULL, d->count * d->seconds + 1, 1);
	d->lines = cli_realloc(NULL, d->screen.count + 1, sizeof(*d->lines));
	for (size_t i = 0; i < d->screen.count; i++)
		d->lines[i] = (struct data_line){{NAN, NAN}, {NAN, NAN}, QUIET_SAMPLES};
	/* The first sample sets only the second of its end. */
	d->first = uncore_sample_end_ns(d->sample) / NS_PER_S;
	d->slot = d->first - 1;
}

/* A sample that covers several seconds is the value of each of them; of several samples in a second
 * it has the mean, and the worst quality. */
static void keep(struct top_data *d, size_t i, uint64_t slot)
{
	const struct uncore_row *row = uncore_sample_row(d->sample, i);
	float *now = &d->values[place(d, i, slot)], value = (float)row->value;
	unsigned char *quality = &d->qualities[place(d, i, slot)];

	if (!d->mixed || row->quality > *quality)
		*quality = (unsigned char)row->quality;
	if (d->mixed) {
		if (isfinite(value))
			*now = isfinite(*now) ? *now + (value - *now) / (float)(d->mixed + 1)
					      : value;
		return;
	}
	for (uint64_t s = d->slot + 1; s < slot; s++) {
		if (slot - s >= d->seconds)
			continue;
		d->values[place(d, i, s)] = value;
		d->qualities[place(d, i, s)] = (unsigned char)row->quality;
	}
	*now = value;
}

void data_follow(struct data_standing *s, double value)
{
	if (!isfinite(value))
		return;
	s->mean = isfinite(s->mean) ? s->mean + (value - s->mean) / MEAN_SAMPLES : value;
	if (!isfinite(s->value) || s->mean > s->value * STANDING_CHANGE ||
	    s->mean < s->value / STANDING_CHANGE)
		s->value = s->mean;
}

static void keep_lines(struct top_data *d)
{
	for (size_t i = 0; i < d->screen.count; i++) {
		const struct screen_line *line = &d->screen.lines[i];

		data_follow(&d->lines[i].traffic, screen_traffic(line, &d->rows));
		data_follow(&d->lines[i].share, screen_share(line, &d->rows));
		d->lines[i].quiet = screen_is_idle(line, &d->rows) ? d->lines[i].quiet + 1 : 0;
	}
}

bool data_is_idle(const struct top_data *d, size_t line)
{
	return d->lines[line].quiet >= QUIET_SAMPLES;
}

void data_take(struct top_data *d, struct uncore *machine, const struct uncore_sample *sample)
{
	uint64_t slot = uncore_sample_end_ns(sample) / NS_PER_S;

	data_show(d, 0);
	d->machine = machine;
	d->sample = sample;
	if (!d->values)
		begin(d);
	if (slot < d->slot) { /* a session of a recording after a restart of the machine */
		d->first = slot;
		d->slot = slot - 1;
	}
	d->mixed = slot == d->slot ? d->mixed + 1 : 0;
	d->step = slot > d->slot && slot - d->slot < d->seconds ? (unsigned)(slot - d->slot) : 1;
	/* More seconds than are kept need not be filled. */
	if (slot > d->slot + d->seconds)
		d->slot = slot - d->seconds;
	for (size_t i = 0; i < d->count; i++)
		keep(d, i, slot);
	d->slot = slot;
	keep_lines(d);
	d->wall_ns = uncore_sample_end_wall_ns(sample);
	d->window = (double)(uncore_sample_end_ns(sample) - uncore_sample_begin_ns(sample)) / 1e9;
}

void data_free(struct top_data *d)
{
	screen_free(&d->screen);
	free(d->values);
	free(d->qualities);
	free(d->past);
	free(d->lines);
	*d = (struct top_data){0};
}

/* ---- back in time ---- */

static uint64_t most_ago(const struct top_data *d)
{
	uint64_t kept = d->slot - d->first;

	return kept < d->seconds ? kept : d->seconds - 1;
}

void data_show(struct top_data *d, long ago)
{
	uint64_t slot;

	free(d->past);
	d->past = NULL;
	d->ago = 0;
	if (ago <= 0 || !d->sample)
		return;
	d->ago = (uint64_t)ago < most_ago(d) ? (unsigned)ago : (unsigned)most_ago(d);
	if (!d->ago)
		return;
	slot = d->slot - d->ago;
	d->past = cli_realloc(NULL, d->count + 1, sizeof(*d->past));
	for (size_t i = 0; i < d->count; i++) {
		d->past[i] = *uncore_sample_row(d->sample, i);
		d->past[i].value = d->values[place(d, i, slot)];
		d->past[i].quality = (enum uncore_quality)d->qualities[place(d, i, slot)];
		d->past[i].reason = NULL;
	}
}

uint64_t data_wall_ns(const struct top_data *d)
{
	return d->wall_ns - d->ago * NS_PER_S;
}

float data_mean(const struct top_data *d, size_t row, unsigned ago, unsigned per)
{
	/* Columns begin at multiples of `per`, so that a value stays in its column while the
	 * columns move. */
	uint64_t shown = d->slot - d->ago, column = shown / per, first;
	float sum = 0;
	unsigned count = 0;

	if (row >= d->count || ago > column)
		return NAN;
	first = (column - ago) * per;
	for (uint64_t s = first; s < first + per && s <= shown; s++) {
		float value;

		if (s < d->first || d->slot - s >= d->seconds)
			continue;
		value = d->values[place(d, row, s)];
		if (!isfinite(value))
			continue;
		sum += value;
		count++;
	}
	return count ? sum / (float)count : NAN;
}

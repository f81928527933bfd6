/* SPDX-License-Identifier: MIT */
/* The statistics of `uncore diff`. */
#include "record/compare.h"

#include <math.h>

#define MOST_BLOCKS 32
#define LEAST_BLOCKS 8
/* The largest correlation of block means for which blocks are long enough; the rest of it increases
 * the error. */
#define INDEPENDENT 0.3
/* With a larger correlation of the fewest blocks the series is too short for its variations. */
#define UNSTEADY 0.6

/* The quantile of Student's distribution from that of the normal distribution: an expansion,
 * accurate to 1 % from 3 degrees of freedom on. */
static double student(double z, double freedom)
{
	double z3 = z * z * z, z5 = z3 * z * z, z7 = z5 * z * z;

	return z + (z3 + z) / (4 * freedom) +
	       (5 * z5 + 16 * z3 + 3 * z) / (96 * freedom * freedom) +
	       (3 * z7 + 19 * z5 + 17 * z3 - 15 * z) / (384 * freedom * freedom * freedom);
}

static double weight_of(const struct values *v, size_t i)
{
	return v->weights ? v->weights[i] : 1;
}

/* The mean of `count` values from `first` on, and the sum of their weights. */
static double mean_of(const struct values *v, size_t first, size_t count, double *weight)
{
	double sum = 0;

	*weight = 0;
	for (size_t i = first; i < first + count; i++) {
		if (weight_of(v, i) > 0)
			sum += v->values[i] * weight_of(v, i);
		*weight += weight_of(v, i);
	}
	return *weight > 0 ? sum / *weight : (double)NAN;
}

/* The standard deviation of the values around the mean. */
static double deviation_of(const struct values *v, double mean, double weight)
{
	double sum = 0;

	for (size_t i = 0; i < v->count; i++)
		sum += weight_of(v, i) * (v->values[i] - mean) * (v->values[i] - mean);
	return v->count > 1 && weight > 0
		       ? sqrt(sum / weight * (double)v->count / (double)(v->count - 1))
		       : 0;
}

static void describe(struct series *s, const struct values *v)
{
	size_t count = v->count, length = (count + MOST_BLOCKS - 1) / MOST_BLOCKS, blocks;
	double means[MOST_BLOCKS], weights[MOST_BLOCKS], mean, weight, sum, correlation;

	*s = (struct series){0};
	s->mean = mean_of(v, 0, count, &weight);
	s->deviation = deviation_of(v, s->mean, weight);
	if (count < COMPARE_LEAST)
		return;
	for (;; length *= 2) {
		size_t first = count % length; /* left out: the least typical ones */

		blocks = count / length;
		for (size_t i = 0; i < blocks; i++)
			means[i] = mean_of(v, first + i * length, length, &weights[i]);
		mean = mean_of(&(struct values){means, weights, blocks}, 0, blocks, &weight);
		/* What each block adds to the error of the mean */
		sum = correlation = 0;
		for (size_t i = 0; i < blocks; i++) {
			means[i] = weights[i] > 0 ? (means[i] - mean) * weights[i] / weight *
							    (double)blocks
						  : 0;
			sum += means[i] * means[i];
		}
		for (size_t i = 0; i + 1 < blocks; i++)
			correlation += means[i] * means[i + 1];
		/* Corrects the bias of an estimate from few blocks. */
		correlation = sum > 0 ? correlation / sum + 1 / (double)blocks : 0;
		if (correlation <= INDEPENDENT || blocks / 2 < LEAST_BLOCKS)
			break;
	}
	s->correlation = fmax(0, correlation);
	correlation = fmin(s->correlation, 0.8);
	s->variance =
		sum / (double)(blocks - 1) / (double)blocks * (1 + correlation) / (1 - correlation);
	s->freedom = fmax(2, (double)(blocks - 1) * (1 - correlation) / (1 + correlation));
}

void compare_series(struct comparison *c, const struct values *a, const struct values *b)
{
	double difference, variance, freedom, scale, deviation;

	*c = (struct comparison){.verdict = VERDICT_UNKNOWN};
	describe(&c->a, a);
	describe(&c->b, b);
	difference = c->b.mean - c->a.mean;
	variance = c->a.variance + c->b.variance;
	scale = fabs(c->a.mean);
	deviation = sqrt(variance);
	c->change = scale > 0 ? difference / scale : (double)NAN;
	c->error = (double)NAN;
	if (a->count < COMPARE_LEAST || b->count < COMPARE_LEAST) {
		c->reason = "fewer than 20 intervals have a value";
		return;
	}
	freedom = variance > 0 ? variance * variance /
					 (c->a.variance * c->a.variance / c->a.freedom +
					  c->b.variance * c->b.variance / c->b.freedom)
			       : 1;
	c->error = scale > 0 ? student(1.959964, freedom) * deviation / scale : (double)NAN;
	if (c->a.correlation > UNSTEADY || c->b.correlation > UNSTEADY)
		c->reason =
			"the values vary too slowly for the length of the recording: record longer";
	else if (fabs(difference) > student(2.575829, freedom) * deviation &&
		 fabs(difference) > 1e-12 * scale)
		c->verdict = VERDICT_CHANGED;
	else if (difference == 0 || (scale > 0 && c->error <= COMPARE_RESOLUTION))
		c->verdict = VERDICT_SAME;
	else
		c->reason = "the noise is above 10 %: record longer";
	if (c->reason)
		c->verdict = VERDICT_UNKNOWN;
}

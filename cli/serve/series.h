/* SPDX-License-Identifier: MIT */
/* Rows as series of Prometheus: names, labels, and sums of all intervals since the start. */
#ifndef CLI_SERIES_H
#define CLI_SERIES_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buffer.h"
#include "uncore.h"

#define QUALITIES (UNCORE_UNAVAILABLE + 1)

enum series_kind {
	SERIES_COUNTER, /* what was counted */
	SERIES_MEAN,  /* the sum of value x weight, and of the weights: requests, cycles, seconds */
	SERIES_GAUGE, /* of the last interval */
};

/* Buckets of a histogram of short samples. The limits are those of bins of the library, so that
 * each sample is in its bucket; and they are the same on all machines, so that histograms can be
 * added. */
struct series_buckets {
	const char *unit;    /* that the histogram's name ends with, or "" */
	int lowest, octaves; /* limits: 2^lowest to 2^(lowest + octaves), */
	int bins;            /* each so many bins above the one before */
};

/* Series of one name. */
struct series_family {
	char *name;       /* without _total, _sum and _count */
	const char *unit; /* which the name ends with, or "" */
	char *help;
	char *ceiling; /* name of the gauge of the ceilings; NULL: no such gauge */
	char *histogram, *histogram_help; /* of the short samples */
	const struct series_buckets *buckets;
	enum series_kind kind;
	size_t first, last; /* of its series */
};

struct series {
	size_t family, next; /* SERIES_NONE: the last one */
	size_t row;          /* of the sample; SERIES_NONE: the present plan has no such row */
	char *labels;        /* family="intel-imc",socket="0", escaped */
	char *problem;  /* why it is suspect or not counted, if that was known before; else NULL */
	bool has_value; /* it has had one */
	double sum, weight;
	double value, ceiling; /* of the last interval; NaN: none */
	double coverage;
	double seconds[QUALITIES]; /* how long it had each quality */
	uint64_t *samples; /* of each bucket, and above the last limit; NULL: no short samples */
	double sample_sum; /* of their values */
};

#define SERIES_NONE SIZE_MAX

/* `name="value"`, after a comma when there is a label before. Escapes the value. */
void put_label(struct buffer *to, const char *name, const char *value);
void put_label_number(struct buffer *to, const char *name, long value);

struct series_set {
	struct series_family *families;
	struct series *series;
	size_t family_count, series_count;
	size_t row_count; /* of the sample */
	bool has_ports;   /* some have the label port */
	/* Sums over the intervals. */
	double seconds;
	size_t intervals, missed;
};

/* The limits of the buckets, and the value of one of them. */
size_t series_limit_count(const struct series_buckets *b);
double series_limit(const struct series_buckets *b, size_t i);

/* Adds the rows of an interval of `interval_ns` (0: unknown), which is longer when ticks were
 * missed. */
void series_add(struct series_set *set, const struct uncore *u, const struct uncore_sample *sample,
		uint64_t interval_ns);
void series_free(struct series_set *set);

#endif

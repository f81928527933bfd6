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
	SERIES_COUNTER, /* exports the counted amount */
	/* Exports the sum of value x weight, and the sum of the weights: requests, cycles,
	 * seconds. */
	SERIES_MEAN,
	SERIES_GAUGE, /* exports the value of the last interval */
};

/* Buckets of a histogram of short samples. Their limits are limits of bins of the library, so that
 * no bin is in two buckets. All machines have the same limits, so that histograms can be added. */
struct series_buckets {
	const char *unit;    /* the end of the histogram's name, or "" */
	int lowest, octaves; /* the limits are 2^lowest to 2^(lowest + octaves) */
	int bins;            /* bins in each bucket */
};

/* All series with one name. */
struct series_family {
	char *name;       /* without _total, _sum and _count */
	const char *unit; /* the end of the name, or "" */
	char *help;
	char *ceiling;                    /* name of the gauge of the ceilings; NULL: no ceilings */
	char *histogram, *histogram_help; /* of the short samples */
	const struct series_buckets *buckets;
	enum series_kind kind;
	size_t first, last; /* its series, linked by `next` */
};

struct series {
	size_t family, next; /* SERIES_NONE: the last one */
	size_t row;          /* of the sample; SERIES_NONE: the present plan has no such row */
	char *labels;        /* family="intel-imc",socket="0", escaped */
	char *problem;  /* why it is suspect or not counted, if that was known before; else NULL */
	bool has_value; /* an interval had a value */
	double sum, weight;
	double value, ceiling;     /* of the last interval; NaN: none */
	double coverage;           /* of the last interval */
	double seconds[QUALITIES]; /* of the intervals with each quality */
	uint64_t *samples; /* number in each bucket, and above all; NULL: no short samples */
	double sample_sum; /* of the values of short samples */
};

#define SERIES_NONE SIZE_MAX

/* Adds `name="value"`, after a comma if there is a label before it. Escapes the value. */
void put_label(struct buffer *to, const char *name, const char *value);
void put_label_number(struct buffer *to, const char *name, long value);

struct series_set {
	struct series_family *families;
	struct series *series;
	size_t family_count, series_count;
	size_t row_count; /* of the sample */
	bool complete;    /* further rows get no series: clients have switched them on */
	bool has_ports;   /* some series have the label `port` */
	bool has_devices; /* and some the label `device` */
	double seconds;   /* of all intervals */
	size_t intervals, missed;
};

/* The number of limits of the buckets, and one of the limits. */
size_t series_limit_count(const struct series_buckets *b);
double series_limit(const struct series_buckets *b, size_t i);

/* Adds the rows of an interval. If it is longer than `interval_ns` (0: unknown), ticks were
 * missed. */
void series_add(struct series_set *set, const struct uncore *u, const struct uncore_sample *sample,
		uint64_t interval_ns);
/* Call when further intervals have the rows of another plan. Rows that had no series before get
 * none, so that no sum counts anything twice. */
void series_change_plan(struct series_set *set);
void series_free(struct series_set *set);

#endif

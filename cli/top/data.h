/* SPDX-License-Identifier: MIT */
/* What `uncore top` shows: the rows of the latest interval or, scrolled back, of an earlier one,
 * and the values of each row in each second of the last hour. */
#ifndef CLI_TOP_DATA_H
#define CLI_TOP_DATA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "output/screen.h"
#include "uncore.h"

#define DATA_SECONDS 3600            /* kept of each row, */
#define DATA_ROOM ((size_t)64 << 20) /* or less: all of them take at most so many bytes */

/* The value that lines are sorted by. It follows the mean of the last samples where this has
 * changed by more than a quarter, so that lines keep their places. Begins with NaN. */
struct data_standing {
	double mean, value;
};
void data_follow(struct data_standing *s, double value);

struct data_line {
	struct data_standing traffic, share;
	unsigned quiet; /* idle samples since the last other one */
};

struct top_data {
	struct uncore *machine;
	const struct uncore_sample *sample; /* NULL: there was none yet */
	size_t count;                       /* rows */
	struct screen_rows rows;            /* of the interval that is shown */
	struct screen screen;
	unsigned seconds;         /* kept of each row */
	float *values;            /* of each row a ring with a value for each second; NaN: none */
	unsigned char *qualities; /* in the same places */
	uint64_t first, slot;     /* the seconds of the first and the latest sample, by its clock */
	unsigned mixed;           /* earlier samples in this second */
	struct data_line *lines;  /* as many as the screen has */
	unsigned step;            /* seconds from the sample before to the latest one, at least 1 */
	uint64_t wall_ns;         /* of the end of the latest sample; */
	double window;            /* its length in seconds */
	unsigned ago; /* seconds before the latest sample that are shown; 0: it is shown */
	struct uncore_row *past; /* the rows of then */
};

/* Takes a sample. The first one makes the lines, and later ones must have the same rows. */
void data_take(struct top_data *d, struct uncore *machine, const struct uncore_sample *sample);
void data_free(struct top_data *d);

/* Shows the values of so many seconds ago, or of the first second. */
void data_show(struct top_data *d, long ago);
const struct uncore_row *data_row(const struct top_data *d, size_t row);
/* When the interval that is shown ended. */
uint64_t data_wall_ns(const struct top_data *d);

/* Whether the line has been idle in each of the last ten samples, or since the first one. */
bool data_is_idle(const struct top_data *d, size_t line);

/* The mean of a row in a column of a graph that has `per` seconds; `ago` 0 is the column of the
 * interval that is shown. NaN: no value. */
float data_mean(const struct top_data *d, size_t row, unsigned ago, unsigned per);

#endif

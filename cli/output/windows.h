/* SPDX-License-Identifier: MIT */
/* Windows of rows for web/page.js: a list of the rows, then lists of their values. */
#ifndef CLI_WINDOWS_H
#define CLI_WINDOWS_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

struct buffer;
struct out;

/* The window that is made next, of one or several intervals. */
struct windows;
struct windows *windows_new(void);
void windows_free(struct windows *w);
/* The number of intervals in it. */
uint64_t windows_intervals(const struct windows *w);

/* Adds the rows of an interval. */
void windows_add(struct windows *w, const struct out *out);
/* Returns the window, and begins the next one. out->rows must be those of its last interval.
 * `distributions`: it also has their distributions. */
json_t *windows_take(struct windows *w, struct out *out, bool distributions);
/* Call before windows_take(): returns the rows of the window that are not measured, each with
 * quality and reason. NULL: they are those of the window before, whose text is in `said`. */
json_t *windows_quality(const struct windows *w, struct buffer *said);
/* The distributions of short samples, in the order of the rows. */
json_t *windows_distributions(struct out *out);
/* Rounds to six digits: charts and tables show fewer, and the text is half as long. */
double windows_round(double value);
/* The list of rows, with what is the same in all windows. */
json_t *windows_rows(const struct out *out);
/* What a person sees of the machine: screen_document() of these rows. */
json_t *windows_screen(const struct out *out);

#endif

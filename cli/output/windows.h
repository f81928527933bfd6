/* SPDX-License-Identifier: MIT */
/* Windows of rows as web/page.js takes them: a list of the rows, then lists of their values. */
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
/* So many intervals are in it. */
uint64_t windows_intervals(const struct windows *w);

/* Adds the rows of an interval. */
void windows_add(struct windows *w, const struct out *out);
/* The window; out->rows are those of its last interval. Their distributions are in it with
 * `distributions`. The next window is empty then. */
json_t *windows_take(struct windows *w, struct out *out, bool distributions);
/* Its rows that are not measured, each with quality and reason; before windows_take(). NULL: as in
 * the window before, of which `said` has the text. */
json_t *windows_quality(const struct windows *w, struct buffer *said);
/* Distributions of the rows' short samples, in the order of the rows. */
json_t *windows_distributions(struct out *out);
/* What the rows have in all windows. */
json_t *windows_rows(const struct out *out);

#endif

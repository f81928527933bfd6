/* SPDX-License-Identifier: MIT */
/* The counters of a line by box: those of the places of one PMU and CPU. */
#ifndef UNC_LINE_BOXES_H
#define UNC_LINE_BOXES_H

#include "count/lines.h"

/* A ratio must not divide by places that its numerator lacks, nor by a clock that they share when
 * one of them is missing: it counts a box with all its events or not at all. */
bool unc_line_needs_whole_boxes(const struct unc_line *line);
size_t unc_line_box_count(const struct unc_line *line);
/* Position of the first counter of event `k` in a box; that of the next box is the end. */
size_t unc_line_box_begin(const struct unc_line *line, size_t k, size_t box);
/* The box of the counter of event `k` at this position. */
size_t unc_line_box_of(const struct unc_line *line, size_t k, size_t position);
/* The first counter of a box without a value; SIZE_MAX: all have one. */
size_t unc_line_bad_in_box(const struct unc_line *line, const struct unc_window *window,
			   size_t box);

#endif

/* SPDX-License-Identifier: MIT */
/* The counters of a line by PMU and CPU. */
#include "count/line-boxes.h"

bool unc_line_needs_whole_boxes(const struct unc_line *line)
{
	if (!line->formula || !unc_formula_is_ratio(line->formula))
		return false;
	for (size_t k = 1; k < line->event_count && !line->boxes; k++)
		if (line->events[k].count != line->events[0].count)
			return false;
	return true;
}

size_t unc_line_box_count(const struct unc_line *line)
{
	return line->boxes ? line->box_count : line->events[0].count;
}

size_t unc_line_box_begin(const struct unc_line *line, size_t k, size_t box)
{
	return line->boxes && !line->events[k].shared ? line->boxes[box] : box;
}

size_t unc_line_box_of(const struct unc_line *line, size_t k, size_t position)
{
	size_t low = 0, high = unc_line_box_count(line);

	while (high - low > 1) {
		size_t middle = low + (high - low) / 2;

		if (unc_line_box_begin(line, k, middle) <= position)
			low = middle;
		else
			high = middle;
	}
	return low;
}

size_t unc_line_bad_in_box(const struct unc_line *line, const struct unc_window *window, size_t box)
{
	for (size_t k = 0; k < line->event_count; k++)
		for (size_t i = unc_line_box_begin(line, k, box);
		     i < unc_line_box_begin(line, k, box + 1); i++)
			if (window->deltas[line->events[k].counters[i]].state != UNC_COUNTED)
				return line->events[k].counters[i];
	return SIZE_MAX;
}

/* SPDX-License-Identifier: MIT */
/* Counts of the same data at other places: all of them, if two places are swapped, or a part. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "verify/judge.h"

static bool is_same_place(const struct verify_cell *a, const struct verify_cell *b)
{
	return a->socket == b->socket && strcmp(a->port, b->port) == 0;
}

struct judge_places judge_find_all(const struct judged *j, const struct judge_view *view)
{
	const struct verify_cell *own = &j->run->cells[j->own];
	struct judge_places found = {0};

	for (size_t i = 0; i < j->run->cell_count; i++) {
		const struct verify_cell *c = &j->run->cells[i];
		bool metric = strcmp(c->metric, own->metric) == 0, place = is_same_place(c, own);
		struct verify_fit fit;

		if ((metric && place) || !view->count(j, i, &fit) || !view->is_all(j, &fit))
			continue;
		*(metric ? &found.place : place ? &found.kind : &found.both) = c;
	}
	return found;
}

struct judge_part judge_find_part(const struct judged *j, const struct judge_view *view,
				  double least, double error_most)
{
	struct judge_part most = {0};

	for (size_t i = 0; i < j->run->cell_count; i++) {
		struct verify_fit fit;
		bool noisy, part;

		if (!view->count(j, i, &fit))
			continue;
		noisy = fit.error > error_most;
		part = fit.slope > least + (noisy ? 4 : 2) * fit.error;
		if (part && fit.slope > judge_yield(j, &fit)) {
			if (fit.slope <= most.fit.slope)
				continue;
			most.cell = &j->run->cells[i];
			most.fit = fit;
		} else if ((part || noisy) && !most.noisy) {
			most.noisy = &j->run->cells[i];
			most.noise = fmax(0, fit.slope) + 2 * fit.error;
		}
	}
	return most;
}

bool judge_is_noisy(struct judged *j, const struct judge_part *part, double whole,
		    const char *place)
{
	char socket[32];

	if (part->cell || !part->noisy)
		return false;
	snprintf(socket, sizeof(socket), "socket %d", part->noisy->socket);
	judge_conclude(
		j, VERIFY_UNKNOWN, "busy",
		"up to %.1f %% of it may be counted as %s of %s, too: other programs move too much "
		"there for a verdict",
		part->noise / whole * 100, verify_expectation(part->noisy->metric)->name,
		place ? place : socket);
	return true;
}

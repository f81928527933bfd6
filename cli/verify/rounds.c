/* SPDX-License-Identifier: MIT */
/* Rounds of a series: all are equally long, whatever amount they move, so that the fit can separate
 * the traffic of other programs. */
#include <stdlib.h>

#include "cli.h"
#include "verify/verify.h"

#define STEPS 16 /* units between two readings of the clock while the amount is searched */

/* Finds the amount that takes half a round. */
static int find_amount(const struct verify_work *work, const struct verify_pace *pace,
		       size_t *amount)
{
	const size_t step = STEPS * work->unit;
	uint64_t begin, now, half = pace->round_ns / 2;
	size_t done = 0;
	int err = 0;

	now = begin = cli_now_ns();
	for (; !err && now - begin < half && !(work->most && done >= work->most);
	     now = cli_now_ns(), done += step)
		err = work->run(work->context, step, pace->stop_fd);
	/* The last step may have been long. */
	done = (size_t)((double)done * (double)half / (double)(now - begin ? now - begin : 1));
	done = work->most && done > work->most ? work->most : done;
	*amount = (done > work->least ? done : work->least) / work->unit * work->unit;
	return err;
}

uint64_t verify_random(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

static void shuffle(unsigned *order, unsigned count)
{
	uint64_t state = cli_now_ns() | 1;

	for (unsigned i = 0; i < count; i++)
		order[i] = i % VERIFY_AMOUNTS;
	for (unsigned i = count; i > 1; i--) {
		const unsigned k = (unsigned)((verify_random(&state) >> 32) % i);
		const unsigned swapped = order[i - 1];

		order[i - 1] = order[k];
		order[k] = swapped;
	}
}

int verify_rounds(struct verify_series *series, const struct verify_work *work,
		  const struct verify_pace *pace)
{
	static const unsigned quarters[VERIFY_AMOUNTS] = {0, 1, 2, 4};
	const unsigned count = pace->repeats * VERIFY_AMOUNTS;
	unsigned *order = cli_realloc(NULL, count, sizeof(*order));
	struct verify_reading *unused = cli_realloc(NULL, series->cell_count, sizeof(*unused));
	size_t amount = 0;
	int err = find_amount(work, pace, &amount);

	shuffle(order, count);
	err = err ? err : pace->read(pace->context, unused);
	for (unsigned i = 0; !err && i < count; i++) {
		const size_t part = amount / 4 * quarters[order[i]];
		const uint64_t end = cli_now_ns() + pace->round_ns;

		if (pace->show)
			pace->show(pace->context, i, count);
		err = work->run(work->context, part, pace->stop_fd);
		err = err ? err : cli_sleep_until(end, pace->stop_fd);
		if (!err)
			err = pace->read(pace->context, verify_add_round(series, (double)part));
	}
	free(unused);
	free(order);
	return err;
}

/* SPDX-License-Identifier: MIT */
/* Traffic at a constant rate, so that each multiplexed counter counts its share of it. */
#include <errno.h>
#include <poll.h>
#include <time.h>

#include "cli.h"
#include "verify/verify.h"

#define PIECE ((size_t)4 << 10) /* at most a microsecond, much shorter than a time slice */
/* Busy waiting would slow down a hardware thread of the same core that rotates the counters. */
#define PAUSE_NS 20000

int verify_steady_move(struct verify_stream *s, enum verify_load load, struct verify_steady *t,
		       int stop_fd)
{
	const struct timespec pause = {.tv_nsec = PAUSE_NS};
	struct pollfd fd = {.fd = stop_fd, .events = POLLIN};
	double busy = 0, idle = 0;
	uint64_t then;
	int err = 0;

	t->moved = t->away_ns = 0;
	for (uint64_t now = cli_now_ns(); !err && now < t->until_ns; now = then) {
		bool due = t->share > 0 && busy <= t->share * (busy + idle);

		if (due)
			err = verify_stream_move(s, load, PIECE, stop_fd);
		else if (ppoll(&fd, 1, &pause, NULL) > 0)
			err = -EINTR;
		t->moved += due && !err ? PIECE : 0;
		then = cli_now_ns();
		/* It is not balanced by a pause, which would be as long. */
		if (then - now > t->turn_ns / 4)
			t->away_ns += then - now;
		else
			*(due ? &busy : &idle) += (double)(then - now);
	}
	return err;
}

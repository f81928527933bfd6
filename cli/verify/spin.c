/* SPDX-License-Identifier: MIT */
/* A busy CPU, whose power and clocks differ from those of an idle one. */
#include <errno.h>
#include <poll.h>

#include "cli.h"
#include "verify/verify.h"

#define UNIT 4000                     /* ns; a quarter of it is a whole number, too */
#define LEAST (4 * (size_t)NS_PER_MS) /* several updates of energy counters, which are 1 ms apart */
#define CHAINS 8                      /* of independent multiplications */
#define STEPS 64    /* of each chain between two readings of the clock: less than a microsecond */
#define LOOK 100000 /* ns between two checks for signals */

uint64_t verify_cpu_ns(void)
{
	return cli_clock_ns(CLOCK_THREAD_CPUTIME_ID);
}

bool verify_stopped(int stop_fd)
{
	struct pollfd fd = {.fd = stop_fd, .events = POLLIN};

	return poll(&fd, 1, 0) > 0;
}

static void multiply(void)
{
	double x[CHAINS];

	for (unsigned i = 0; i < CHAINS; i++)
		x[i] = 1 + i / 8.0;
	for (unsigned step = 0; step < STEPS; step++)
		for (unsigned i = 0; i < CHAINS; i++)
			x[i] = x[i] * 0.999999 + 1e-6;
	/* Makes the compiler compute all of them. */
	__asm__ volatile("" : : "r"(x) : "memory");
}

static int spin(void *context, size_t amount, int stop_fd)
{
	const uint64_t end = verify_cpu_ns() + amount;
	uint64_t now = verify_cpu_ns(), look = now;

	(void)context;
	for (; now < end; now = verify_cpu_ns()) {
		if (now >= look && verify_stopped(stop_fd))
			return -EINTR;
		look = now >= look ? now + LOOK : look;
		multiply();
	}
	return 0;
}

struct verify_work verify_spin_work(void)
{
	return (struct verify_work){.run = spin, .unit = UNIT, .least = LEAST};
}

/* SPDX-License-Identifier: MIT */
/* What /-/healthy and /-/ready tell: the loop writes it, and threads of the HTTP server read it. */
#ifndef CLI_HEALTH_H
#define CLI_HEALTH_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct health {
	_Atomic uint64_t until_ns; /* the next interval must have ended by then (cli_now_ns()); 0:
				      there is no such time */
	atomic_bool ready;         /* an interval has ended, or a recording was read */
};

#endif

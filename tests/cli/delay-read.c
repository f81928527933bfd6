/* SPDX-License-Identifier: MIT */
/* LD_PRELOAD for late.bats: some reads of perf events take milliseconds longer, before or after the kernel
 * is asked. DELAY_READ_PER_CENT: how many. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

static void delay(void)
{
	static __thread unsigned seed;
	const char *per_cent = getenv("DELAY_READ_PER_CENT");

	if (!seed)
		seed = (unsigned)gettid();
	if (rand_r(&seed) % 100 < atoi(per_cent ? per_cent : "25"))
		usleep((useconds_t)(rand_r(&seed) % 6000));
}

ssize_t read(int fd, void *into, size_t size)
{
	ssize_t got;

	if (size < 4 * sizeof(long))
		return syscall(SYS_read, fd, into, size);
	delay();
	got = syscall(SYS_read, fd, into, size);
	delay();
	return got;
}

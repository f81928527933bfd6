/* SPDX-License-Identifier: MIT */
/* LD_PRELOAD for late.bats: some reads of perf events take milliseconds longer, before or after the kernel
 * is asked. DELAY_READ_PER_CENT: how many; DELAY_READ_US: the longest delay. For kernel-bugs.bats: with ADD_AT_READS each read of an event adds all
 * that was counted so far, as the driver of AMD's IOMMUs does it. For intervals.bats: STEP_CLOCK
 * moves clocks at the fifth tick, as if the machine had been suspended for 100 s ("suspend") or the wall clock been set back by an
 * hour ("set"). For record.bats FILE_SYSTEM is the magic number of all file systems. For serve-access.bats
 * CRYPT_LOG is a file that gets a line for each call of crypt_rn() with its setting, which takes CRYPT_SECONDS longer. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

static void delay(void)
{
	static __thread unsigned seed;
	const char *per_cent = getenv("DELAY_READ_PER_CENT"), *most = getenv("DELAY_READ_US");

	if (!seed)
		seed = (unsigned)gettid();
	if (rand_r(&seed) % 100 < atoi(per_cent ? per_cent : "25"))
		usleep((useconds_t)(rand_r(&seed) % atoi(most ? most : "6000")));
}

/* A reading of a group: number of events, two times, and the counts. */
static void add(int fd, uint64_t *words)
{
	static uint64_t sums[64][4];

	if (fd >= 64 || words[0] > 4)
		abort();
	for (uint64_t i = 0; i < words[0]; i++)
		words[3 + i] = sums[fd][i] += words[3 + i];
}

int statfs(const char *path, struct statfs *into)
{
	const char *magic = getenv("FILE_SYSTEM");

	(void)path;
	memset(into, 0, sizeof(*into));
	into->f_type = strtol(magic ? magic : "0", NULL, 0);
	return 0;
}

ssize_t read(int fd, void *into, size_t size)
{
	ssize_t got;

	if (size < 4 * sizeof(long))
		return syscall(SYS_read, fd, into, size);
	if (!getenv("ADD_AT_READS"))
		delay();
	got = syscall(SYS_read, fd, into, size);
	if (!getenv("ADD_AT_READS"))
		delay();
	else if (got == (ssize_t)size)
		add(fd, into);
	return got;
}

/* Only the ticks of the command ask for BOOTTIME: at the start, and then at each tick. */
int clock_gettime(clockid_t id, struct timespec *into)
{
	static int ticks;
	const char *step = getenv("STEP_CLOCK");
	long got = syscall(SYS_clock_gettime, id, into);

	ticks += id == CLOCK_BOOTTIME;
	if (!step || got || ticks < 5)
		return (int)got;
	if (strcmp(step, "suspend") == 0)
		into->tv_sec += id == CLOCK_MONOTONIC ? 0 : 100;
	else
		into->tv_sec -= id == CLOCK_REALTIME ? 3600 : 0;
	return 0;
}

char *crypt_rn(const char *phrase, const char *setting, void *data, int size);
char *crypt_rn(const char *phrase, const char *setting, void *data, int size)
{
	const char *log = getenv("CRYPT_LOG"), *seconds = getenv("CRYPT_SECONDS");
	char *(*real)(const char *, const char *, void *, int);
	/* A module loads it, so that RTLD_NEXT does not find it. */
	void *library = dlopen("libcrypt.so.1", RTLD_NOW);
	void *function = library ? dlsym(library, "crypt_rn") : NULL;
	FILE *file = log ? fopen(log, "ae") : NULL;

	memcpy(&real, &function, sizeof(real));
	if (file) {
		fprintf(file, "%s\n", setting);
		fclose(file);
	}
	if (seconds)
		sleep((unsigned)atoi(seconds));
	return real ? real(phrase, setting, data, size) : NULL;
}

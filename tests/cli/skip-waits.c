/* SPDX-License-Identifier: MIT */
/* LD_PRELOAD for simulations with a step, whose counts do not depend on the clock: the command does not
 * wait for its timers. When nothing is ready and a timer ends within a minute, the clocks are moved to
 * its end, and the other timers of the call with them. So intervals begin, end and are late as in real
 * time. A run that has started another program waits in real time. */
#define _GNU_SOURCE
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#define NS_PER_S 1000000000
#define LONGEST_NS (60LL * NS_PER_S)

static int64_t skipped_ns; /* by which the clocks are ahead */
static bool forked;

static void has_forked(void)
{
	forked = true;
}

__attribute__((constructor)) static void begin(void)
{
	unsetenv("LD_PRELOAD");
	pthread_atfork(NULL, has_forked, NULL);
}

static int64_t ns_of(struct timespec t)
{
	return (int64_t)t.tv_sec * NS_PER_S + t.tv_nsec;
}

static struct timespec time_of(int64_t ns)
{
	return (struct timespec){.tv_sec = ns / NS_PER_S, .tv_nsec = ns % NS_PER_S};
}

int clock_gettime(clockid_t id, struct timespec *into)
{
	int got = (int)syscall(SYS_clock_gettime, id, into);

	if (got == 0 && (id == CLOCK_MONOTONIC || id == CLOCK_BOOTTIME || id == CLOCK_REALTIME))
		*into = time_of(ns_of(*into) + skipped_ns);
	return got;
}

int timerfd_settime(int fd, int flags, const struct itimerspec *to, struct itimerspec *before)
{
	struct itimerspec real = *to;

	if ((flags & TFD_TIMER_ABSTIME) && ns_of(to->it_value) > skipped_ns)
		real.it_value = time_of(ns_of(to->it_value) - skipped_ns);
	return (int)syscall(SYS_timerfd_settime, fd, flags, &real, before);
}

/* What is left of a timer; 0: it is no timer, or not set. */
static int64_t left_ns(int fd, struct itimerspec *timer)
{
	if (fd < 0 || syscall(SYS_timerfd_gettime, fd, timer))
		return 0;
	return ns_of(timer->it_value);
}

static void skip(const struct pollfd *fds, nfds_t count)
{
	struct itimerspec timer;
	int64_t least = INT64_MAX;

	for (nfds_t i = 0; i < count; i++) {
		int64_t left = left_ns(fds[i].fd, &timer);

		least = left && left < least ? left : least;
	}
	if (least > LONGEST_NS)
		return;
	skipped_ns += least;
	for (nfds_t i = 0; i < count; i++) {
		int64_t left = left_ns(fds[i].fd, &timer);

		if (!left)
			continue;
		timer.it_value = time_of(left > least ? left - least : 1);
		syscall(SYS_timerfd_settime, fds[i].fd, 0, &timer, NULL);
	}
}

int poll(struct pollfd *fds, nfds_t count, int timeout_ms)
{
	static const struct timespec now;
	struct timespec timeout = time_of((int64_t)timeout_ms * 1000000);
	long ready;

	if (timeout_ms < 0 && !forked) {
		ready = syscall(SYS_ppoll, fds, count, &now, NULL, 0);
		if (ready)
			return (int)ready;
		skip(fds, count);
	}
	return (int)syscall(SYS_ppoll, fds, count, timeout_ms < 0 ? NULL : &timeout, NULL, 0);
}

int ppoll(struct pollfd *fds, nfds_t count, const struct timespec *timeout, const sigset_t *mask)
{
	struct timespec left = timeout ? *timeout : (struct timespec){0};

	if (timeout && !forked && ns_of(left) <= LONGEST_NS) {
		skipped_ns += ns_of(left);
		left = time_of(0);
	}
	return (int)syscall(SYS_ppoll, fds, count, timeout ? &left : NULL, mask, sizeof(uint64_t));
}

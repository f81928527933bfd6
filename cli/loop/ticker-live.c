/* SPDX-License-Identifier: MIT */
/* Intervals of the clock, and all that may end or interrupt them: signals, the command that is
 * counted, --timeout, --control. */
#include <poll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "loop/ticker.h"

static int open_ticker(struct ticker *t)
{
	const struct schedule *when = &t->request->when;
	/* Registers that were written are restored before the process ends. */
	int status = signals_open(&t->signals, t->cli->program || t->request->undone);

	if (status)
		return status;
	t->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	return ticks_open(&t->ticks, when->interval_ns, t->request->sample_ns, t->request->verbose);
}

static int start(struct ticker *t, bool again)
{
	uint64_t timeout_ns = t->request->when.timeout_ns;
	int status = ticks_start(&t->ticks);

	if (status || again)
		return status;
	t->end_ns = t->ticks.grid_ns + timeout_ns;
	return timer_arm(t->timer_fd, timeout_ns ? t->end_ns : 0, 0);
}

/* True when counting ends. The command gets Ctrl-C from the terminal, as uncore does; a signal that
 * was sent to uncore alone is passed on to it. Counting ends when the command ends. */
static bool take_signals(struct ticker *t)
{
	struct signals_seen seen = signals_take(&t->signals);

	if (seen.stop)
		t->stopped = true;
	if (!t->request->when.command)
		return seen.stop != 0;
	if (seen.stop && seen.personal)
		child_signal(&t->child, seen.stop);
	return child_ended(&t->child, false);
}

static enum wake wait_next(struct ticker *t)
{
	struct pollfd fds[] = {
		{.fd = t->signals.stop_fd, .events = POLLIN},
		{.fd = t->signals.child_fd, .events = POLLIN},
		{.fd = t->timer_fd, .events = POLLIN},
		{.fd = t->ticks.fd, .events = POLLIN},
		{.fd = t->control.fd, .events = POLLIN},
		{.fd = t->control.socket, .events = POLLIN},
		{.fd = t->request->ends_with_reader ? STDOUT_FILENO : -1}, /* POLLERR */
	};
	const struct schedule *when = &t->request->when;
	enum tick tick;

	for (;;) {
		if (poll(fds, sizeof(fds) / sizeof(fds[0]), -1) < 0)
			continue;
		if ((fds[0].revents || fds[1].revents) && take_signals(t))
			return WAKE_STOP;
		if (fds[6].revents)
			return WAKE_STOP;
		tick = fds[3].revents ? ticks_take(&t->ticks) : TICK_NONE;
		if (fds[2].revents && timer_expirations(t->timer_fd))
			return WAKE_TIMER;
		/* A timeout at the end of an interval ends counting: no further, nearly empty
		 * interval. */
		if (tick == TICK_INTERVAL && when->timeout_ns &&
		    t->ticks.grid_ns + t->ticks.passed * when->interval_ns >= t->end_ns)
			return WAKE_TIMER;
		if (tick)
			return tick == TICK_SAMPLE ? WAKE_SAMPLE : WAKE_TICK;
		if (fds[4].revents || fds[5].revents)
			return WAKE_CONTROL;
	}
}

/* Simulated time does not go on while nothing is read, so no interval is missed. */
static int took(struct ticker *t, const struct uncore_monitor *m, struct frame *f, bool total)
{
	if (f && f->wall_ns != f->monotonic_ns)
		f->missed = total ? t->ticks.missed : t->ticks.missed_now;
	if (f)
		t->ticks.missed_now = 0;
	if (!total && t->ticks.verbose)
		ticks_read(&t->ticks, m);
	return CLI_OK;
}

static bool has_parts(const struct ticker *t)
{
	return !t->request->when.interval_ns && t->request->when.control;
}

static bool begins(struct ticker *t, uint64_t runs)
{
	return !t->stopped && runs < (t->request->when.repeat ? t->request->when.repeat : 1);
}

static void report(const struct ticker *t)
{
	ticks_report(&t->ticks);
}

static void close_ticker(struct ticker *t)
{
	ticks_close(&t->ticks);
	if (t->timer_fd >= 0)
		close(t->timer_fd);
	signals_close(&t->signals);
}

const struct ticker_kind live_ticker = {
	.open = open_ticker,
	.start = start,
	.wait = wait_next,
	.took = took,
	.has_parts = has_parts,
	.begins = begins,
	.report = report,
	.close = close_ticker,
};

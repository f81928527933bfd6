/* SPDX-License-Identifier: MIT */
/* Counting: one window, window after window, or run after run of a command. */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "commands/child.h"
#include "commands/repeat.h"
#include "commands/stat.h"
#include "signals.h"

struct run {
	struct cli *cli;
	const struct stat_options *o;
	struct uncore_monitor *monitor;
	struct uncore_sample *sample;
	struct writer writer;
	struct out out;
	struct buffer command; /* its words, for the header */
	struct signals signals;
	struct child child;
	struct repeat repeat;
	int tick_fd;       /* timers: every interval, */
	int timer_fd;      /* and once: the delay, then the timeout */
	uint64_t begin_ns; /* of the first window */
	uint64_t grid_ns;  /* of this run: when its first interval began, */
	uint64_t ticks;    /* and how many have ended */
	uint64_t late;     /* ticks that we came to more than half an interval after them */
	uint64_t missed;   /* ticks that had passed when we came to an earlier one */
	uint64_t windows;
	bool stopped;       /* by the user: no further run */
	int command_status; /* the first that is not 0 */
};

enum wake {
	WAKE_TICK,  /* an interval is over */
	WAKE_TIMER, /* the delay or the timeout is over */
	WAKE_STOP,  /* the user or the end of the command */
};

/* Absolute deadlines: however long printing takes, the grid stays where it was. */
static void arm(int fd, uint64_t first_ns, uint64_t every_ns)
{
	struct itimerspec spec = {
		.it_value = {(time_t)(first_ns / NS_PER_S), (long)(first_ns % NS_PER_S)},
		.it_interval = {(time_t)(every_ns / NS_PER_S), (long)(every_ns % NS_PER_S)},
	};

	timerfd_settime(fd, TFD_TIMER_ABSTIME, &spec, NULL);
}

static uint64_t expirations(int fd)
{
	uint64_t n;

	return read(fd, &n, sizeof(n)) == (ssize_t)sizeof(n) ? n : 0;
}

/* `n` ticks have passed: the first of them is the one that was waited for. */
static void judge_tick(struct run *r, uint64_t n)
{
	uint64_t due = r->grid_ns + (r->ticks + 1) * r->o->interval_ns, now = cli_now_ns();
	uint64_t late_ns = now > due ? now - due : 0;

	r->missed += n - 1;
	if (n == 1 && late_ns <= r->o->interval_ns / 2)
		return;
	r->late++;
	if (r->o->verbose)
		cli_error("interval %llu is late by %.1f ms (intervals missed: %llu)",
			  (unsigned long long)r->windows + 1, (double)late_ns / 1e6,
			  (unsigned long long)n - 1);
}

static enum wake take_tick(struct run *r)
{
	uint64_t n = expirations(r->tick_fd);

	if (n)
		judge_tick(r, n);
	r->ticks += n;
	/* A timeout at the end of an interval ends counting: no further, nearly empty interval. */
	if (r->o->timeout_ns && r->ticks * r->o->interval_ns >= r->o->timeout_ns)
		return WAKE_TIMER;
	return WAKE_TICK;
}

/* True when counting is to end. A command gets Ctrl-C from the terminal as we do; what was sent to
 * us alone is handed on. It decides what it does then, and counting ends with it. */
static bool take_signals(struct run *r)
{
	struct signals_seen seen = signals_take(&r->signals);

	if (seen.stop)
		r->stopped = true;
	if (!r->o->command)
		return seen.stop != 0;
	if (seen.stop && seen.personal)
		child_signal(&r->child, seen.stop);
	return child_ended(&r->child, false);
}

static enum wake wait_next(struct run *r)
{
	struct pollfd fds[] = {
		{.fd = r->signals.stop_fd, .events = POLLIN},
		{.fd = r->signals.child_fd, .events = POLLIN},
		{.fd = r->timer_fd, .events = POLLIN},
		{.fd = r->tick_fd, .events = POLLIN},
	};

	for (;;) {
		if (poll(fds, sizeof(fds) / sizeof(fds[0]), -1) < 0)
			continue;
		if ((fds[0].revents || fds[1].revents) && take_signals(r))
			return WAKE_STOP;
		if (fds[2].revents && expirations(r->timer_fd))
			return WAKE_TIMER;
		if (fds[3].revents)
			return take_tick(r);
	}
}

static void print_sample(struct run *r, bool total)
{
	uint64_t begin_ns = uncore_sample_begin_ns(r->sample);
	uint64_t end_ns = uncore_sample_end_ns(r->sample);
	struct out_frame frame = {.total = total};

	/* A simulated machine begins anew in every run. */
	if (!r->windows || begin_ns < r->begin_ns)
		r->begin_ns = begin_ns;
	frame.time = (double)(end_ns - r->begin_ns) / 1e9;
	frame.window = (double)(end_ns - begin_ns) / 1e9;
	if (r->o->repeat > 1 && r->o->output->window)
		repeat_add(&r->repeat, r->sample, frame.time);
	else
		out_sample(&r->out, &frame, r->sample);
}

/* The window that ends now, or the total of all. */
static int print_window(struct run *r, bool total)
{
	int err = total ? uncore_monitor_total(r->monitor, r->sample)
			: uncore_monitor_read(r->monitor, r->sample);

	if (err)
		return cli_fail(r->cli, err);
	print_sample(r, total);
	r->windows += !total;
	return writer_flush(&r->writer);
}

/* Windows until the end; the last one is as long as it came to be. Nothing is stopped before it is
 * read: the window would be longer than what was counted in it. */
static int count_windows(struct run *r)
{
	enum wake wake = WAKE_TICK;
	int status = CLI_OK, err;

	while (!status && wake == WAKE_TICK) {
		wake = wait_next(r);
		status = print_window(r, false);
		if (r->o->command && wake == WAKE_TIMER)
			child_signal(&r->child, SIGTERM); /* as perf does at the timeout */
		if (r->o->interval_count && r->windows == r->o->interval_count)
			break;
	}
	if (!status && r->o->summary)
		status = print_window(r, true);
	/* Registers that were written are restored here, so that a failure of that can be reported. */
	err = r->cli->program ? uncore_monitor_stop(r->monitor) : 0;
	err = err ? cli_fail(r->cli, err) : CLI_OK;
	return status ? status : err;
}

/* True when the delay passed undisturbed. */
static bool wait_delay(struct run *r)
{
	arm(r->timer_fd, cli_now_ns() + r->o->delay_ns, 0);
	if (wait_next(r) == WAKE_TIMER)
		return true;
	cli_error("the end came before the delay (-D) was over: nothing was counted");
	return false;
}

static int start(struct run *r)
{
	int err = uncore_monitor_start(r->monitor);
	uint64_t now = cli_now_ns();

	if (err)
		return cli_fail(r->cli, err);
	r->ticks = 0;
	r->grid_ns = now;
	arm(r->tick_fd, r->o->interval_ns ? now + r->o->interval_ns : 0, r->o->interval_ns);
	arm(r->timer_fd, r->o->timeout_ns ? now + r->o->timeout_ns : 0, 0);
	return CLI_OK;
}

/* Counting starts just before the command does, or, with a delay, while it runs. */
static int count(struct run *r)
{
	const struct stat_options *o = r->o;
	int err = uncore_monitor_open(r->monitor), status = CLI_OK;

	if (err)
		return cli_fail(r->cli, err);
	if (!r->windows)
		stat_notes(o, r->monitor);
	if (!o->delay_ns)
		status = start(r);
	if (!status && o->command)
		status = child_release(&r->child, o->command[0]);
	if (!status && o->delay_ns) {
		if (!wait_delay(r))
			return CLI_OK;
		status = start(r);
	}
	return status ? status : count_windows(r);
}

/* The command may outlive counting: its end is ours, and so is its status. */
static void wait_for_command(struct run *r)
{
	struct pollfd fds[] = {
		{.fd = r->signals.stop_fd, .events = POLLIN},
		{.fd = r->signals.child_fd, .events = POLLIN},
	};

	while (!child_ended(&r->child, false)) {
		poll(fds, 2, -1);
		take_signals(r);
	}
	if (!r->command_status)
		r->command_status = r->child.status;
}

/* The command is forked first, and executed when counting has begun. */
static int run_command(struct run *r)
{
	int status;

	r->child = (struct child){.go = -1, .failed = -1};
	status = child_prepare(&r->child, r->o->command, &r->signals, r->cli);
	if (!status)
		status = count(r);
	if (r->child.go < 0) /* it was released */
		wait_for_command(r);
	child_close(&r->child);
	return status;
}

static int open_run(struct run *r)
{
	const struct stat_options *o = r->o;
	struct out_setup setup = {.machine = r->cli->u,
				  .source = uncore_source(r->cli->u),
				  .simulated = uncore_is_simulated(r->cli->u),
				  .intervals = o->interval_ns > 0,
				  .separator = o->separator};
	int status = writer_open(&r->writer, o->file, o->append);

	for (char **word = o->command; word && *word; word++)
		buffer_printf(&r->command, "%s%s", word == o->command ? "" : " ", *word);
	buffer_add(&r->command, "", 1);
	setup.header = r->writer.empty;
	r->writer.exact = o->output->record; /* for programs: each record is cleaned by itself */
	setup.command = o->command ? r->command.data : NULL;
	out_init(&r->out, o->output, &setup, &r->writer.text);
	if (!status)
		status = signals_open(&r->signals);
	if (!status && r->cli->program)
		status = signals_take_all(&r->signals);
	if (status)
		return status;
	r->writer.signal_fd = r->signals.stop_fd;
	r->writer.piece = o->interval_ns ? "interval" : "result";
	r->tick_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	r->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	if (r->tick_fd < 0 || r->timer_fd < 0) {
		cli_error("cannot make timers: %s", strerror(errno));
		return CLI_RUNTIME;
	}
	return uncore_sample_new(&r->sample) ? cli_fail(r->cli, -ENOMEM) : CLI_OK;
}

static void report_late_ticks(const struct run *r)
{
	unsigned long long late = r->late, missed = r->missed;
	const char *verb = late == 1 ? " was" : "s were";

	if (missed)
		cli_error("%llu interval%s late by more than half an interval, and %llu interval%s "
			  "missed; the next interval has the counts of a missed one",
			  late, verb, missed, missed == 1 ? " was" : "s were");
	else
		cli_error("%llu interval%s late by more than half an interval, and none was missed",
			  late, verb);
}

int stat_run(struct cli *cli, const struct stat_options *o, struct uncore_monitor *m)
{
	struct run r = {.cli = cli,
			.o = o,
			.monitor = m,
			.tick_fd = -1,
			.timer_fd = -1,
			.signals = {.stop_fd = -1, .child_fd = -1}};
	int status = open_run(&r);

	for (uint64_t i = 0; !status && i < o->repeat && !r.stopped; i++) {
		if (i)
			status = stat_plan(cli, o, &r.monitor);
		if (!status)
			status = o->command ? run_command(&r) : count(&r);
		uncore_monitor_free(r.monitor);
		r.monitor = NULL;
	}
	if (o->repeat > 1)
		repeat_print(&r.repeat, &r.out);
	if (writer_flush(&r.writer) && !status)
		status = r.writer.status;
	if (r.late)
		report_late_ticks(&r);
	if (writer_close(&r.writer) && !status)
		status = r.writer.status;
	if (r.tick_fd >= 0)
		close(r.tick_fd);
	if (r.timer_fd >= 0)
		close(r.timer_fd);
	signals_close(&r.signals);
	uncore_monitor_free(r.monitor);
	uncore_sample_free(r.sample);
	out_free(&r.out);
	buffer_free(&r.command);
	/* Ctrl-C is how monitoring without a command ends: that is success, 0. */
	return r.command_status ? r.command_status : status;
}

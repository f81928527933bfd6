/* SPDX-License-Identifier: MIT */
/* The ticks of a loop that counts. Deadlines are absolute: the time of reading and printing does
 * not move the grid. A missed tick loses no counts, because the next reading has them. */
#include "loop/ticks.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "base/cli.h"
#include "base/table.h"

#define OCTAVE 16 /* bins */

/* ---- histograms of times ---- */

static void spread_add(struct spread *s, uint64_t ns)
{
	size_t octave = ns < OCTAVE ? 0 : 60 - (size_t)__builtin_clzll(ns);

	s->bins[octave * OCTAVE + (octave ? (ns >> (octave - 1)) % OCTAVE : ns)]++;
	s->count++;
	if (ns > s->most_ns)
		s->most_ns = ns;
}

/* The upper end of the bin, which is at most 6 % too large. */
static double spread_ns(const struct spread *s, double share)
{
	uint64_t below = 0;
	size_t i = 0;
	double ns;

	while (i + 1 < SPREAD_BINS && (double)(below += s->bins[i]) < share * (double)s->count)
		i++;
	ns = i < OCTAVE ? (double)i : (double)((OCTAVE + i % OCTAVE + 1) << (i / OCTAVE - 1)) - 1;
	return ns < (double)s->most_ns ? ns : (double)s->most_ns;
}

/* "p50 52.1 µs, p99 104 µs, max 1.20 ms" */
static void spread_text(const struct spread *s, struct buffer *to)
{
	const double ns[] = {spread_ns(s, 0.5), spread_ns(s, 0.99), (double)s->most_ns};
	static const char *const names[] = {"p50", ", p99", ", max"};

	for (size_t i = 0; i < sizeof(ns) / sizeof(*ns); i++)
		buffer_printf(to, "%s %s", names[i], human(ns[i] / 1e9, "s").text);
}

/* ---- clocks ---- */

/* Reports that the machine was suspended (MONOTONIC stops then, BOOTTIME does not), and that the
 * wall clock was set. NTP slews that clock by at most half a thousandth. The first call in a run
 * only stores the times. */
static void check_clocks(struct ticks *t, uint64_t now)
{
	int64_t boot = (int64_t)cli_clock_ns(CLOCK_BOOTTIME);
	int64_t wall = (int64_t)cli_clock_ns(CLOCK_REALTIME);
	uint64_t took = cli_now_ns() - now;
	int64_t suspended = boot - (int64_t)now, slack;

	if (took > NS_PER_MS)
		return; /* preempted between reading two clocks: the next tick compares again */
	wall -= boot;
	slack = (int64_t)(10 * NS_PER_MS + (now - t->checked_ns) / 1000);
	if (t->checked_ns && suspended - t->suspended_ns > slack)
		cli_error("the machine was suspended for %.1f s, in which nothing was counted: no "
			  "interval has this time",
			  (double)(suspended - t->suspended_ns) / 1e9);
	if (t->checked_ns && llabs(wall - t->wall_ns) > slack)
		cli_error("the wall clock was set by %+.3f s: dates follow it, the lengths of "
			  "intervals do not",
			  (double)(wall - t->wall_ns) / 1e9);
	t->suspended_ns = suspended;
	t->wall_ns = wall;
	t->checked_ns = now;
}

/* ---- ticks ---- */

int timer_arm(int fd, uint64_t first_ns, uint64_t every_ns)
{
	struct itimerspec spec = {
		.it_value = cli_time_of(first_ns),
		.it_interval = cli_time_of(every_ns),
	};

	if (timerfd_settime(fd, TFD_TIMER_ABSTIME, &spec, NULL) == 0)
		return CLI_OK;
	return cli_failure(CLI_RUNTIME, "cannot set timers: %s", strerror(errno));
}

uint64_t timer_expirations(int fd)
{
	uint64_t n;

	return read(fd, &n, sizeof(n)) == (ssize_t)sizeof(n) ? n : 0;
}

int ticks_open(struct ticks *t, uint64_t interval_ns, uint64_t sample_ns, bool verbose)
{
	*t = (struct ticks){.interval_ns = interval_ns, .sample_ns = sample_ns, .verbose = verbose};
	t->fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	if (t->fd >= 0)
		return CLI_OK;
	return cli_failure(CLI_RUNTIME, "cannot make timers: %s", strerror(errno));
}

void ticks_close(struct ticks *t)
{
	if (t->fd >= 0)
		close(t->fd);
	t->fd = -1;
}

int ticks_start(struct ticks *t)
{
	uint64_t every_ns = t->sample_ns ? t->sample_ns : t->interval_ns;

	t->passed = t->samples = t->missed_now = t->checked_ns = 0;
	t->grid_ns = cli_now_ns();
	check_clocks(t, t->grid_ns);
	return timer_arm(t->fd, every_ns ? t->grid_ns + every_ns : 0, every_ns);
}

enum tick ticks_take(struct ticks *t)
{
	uint64_t n = timer_expirations(t->fd), now = cli_now_ns(), due, late_ns;

	if (!n)
		return TICK_NONE;
	due = t->grid_ns +
	      (t->sample_ns ? (t->samples + 1) * t->sample_ns : (t->passed + 1) * t->interval_ns);
	if (t->verbose)
		spread_add(&t->wakeups, now > due ? now - due : 0);
	check_clocks(t, now);
	if (t->sample_ns) {
		t->samples += n;
		t->all_samples += n;
		t->merged += n - 1;
		n = t->interval_ns ? t->samples / (t->interval_ns / t->sample_ns) - t->passed : 0;
		if (!n)
			return TICK_SAMPLE;
	}
	/* `n` intervals have passed; the loop waited for the first one. */
	due = t->grid_ns + (t->passed + 1) * t->interval_ns;
	late_ns = now > due ? now - due : 0;
	t->passed += n;
	t->missed += n - 1;
	t->missed_now = n - 1;
	t->windows++;
	if (n == 1 && late_ns <= t->interval_ns / 2)
		return TICK_INTERVAL;
	t->late++;
	if (t->verbose)
		cli_error("interval %" PRIu64 " is late by %.1f ms (intervals missed: %" PRIu64 ")",
			  t->windows, (double)late_ns / 1e6, n - 1);
	return TICK_INTERVAL;
}

void ticks_read(struct ticks *t, const struct uncore_monitor *m)
{
	uint64_t first = UINT64_MAX, last = 0;

	for (size_t i = 0; i < uncore_monitor_counter_count(m); i++) {
		const struct uncore_reading *r = uncore_monitor_reading_at(m, i);

		if (!r || r->lost || !r->at_ns)
			continue;
		first = r->at_ns < first ? r->at_ns : first;
		last = r->at_ns > last ? r->at_ns : last;
	}
	if (last)
		spread_add(&t->skews, last - first);
}

/* One line, which programs can read, too: see uncore-stat(1). */
static void report_times(const struct ticks *t)
{
	auto_buffer text = {0};

	buffer_printf(&text, "%" PRIu64 " ticks: woken up late by ", t->wakeups.count);
	spread_text(&t->wakeups, &text);
	if (t->skews.count) {
		buffer_puts(&text, "; first to last counter read within ");
		spread_text(&t->skews, &text);
	}
	cli_error("%.*s", (int)text.len, text.data);
}

void ticks_report(const struct ticks *t)
{
	const char *verb = t->late == 1 ? " was" : "s were";

	if (t->verbose && t->wakeups.count)
		report_times(t);
	if (t->missed)
		cli_error("%" PRIu64 " interval%s late by more than half an interval, and %" PRIu64
			  " interval%s missed; the next interval has the counts of a missed one",
			  t->late, verb, t->missed, t->missed == 1 ? " was" : "s were");
	else if (t->late)
		cli_error("%" PRIu64
			  " interval%s late by more than half an interval, and none was missed",
			  t->late, verb);
	if (t->merged)
		cli_error("%" PRIu64 " of %" PRIu64
			  " short samples were late and were merged into longer ones; no count is "
			  "lost",
			  t->merged, t->all_samples);
}

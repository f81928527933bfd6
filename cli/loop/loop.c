/* SPDX-License-Identifier: MIT */
/* Counting with a planned monitor: one window, window after window, or run after run of a
 * command. */
#include "loop/loop.h"

#include <errno.h>
#include <stdlib.h>

#include "base/table.h"
#include "loop/ticker.h"

struct loop {
	struct cli *cli;
	const struct request *request;
	struct request planned; /* what the monitor counts: `request`, or another one of a sink */
	struct sink *const *sinks;
	struct ticker ticker;
	struct uncore_monitor *monitor;
	struct uncore_sample **rounds; /* the latest of each */
	size_t round_room, round, round_count;
	bool started, enabled; /* counting; it may be disabled and enabled again */
	uint64_t begin_ns;     /* of the first window */
	uint64_t windows;
	size_t notes;       /* of the monitor, printed or counted so far */
	bool prints_notes;  /* false: a sink shows them itself */
	bool has_total;     /* a sink needs the total of all windows */
	bool has_parts;     /* the one window without intervals */
	int command_status; /* the first that is not 0 */
};

/* Only one window of a known length can be counted again for other metrics. */
static bool has_rounds(const struct request *request, struct sink *const *sinks)
{
	const struct schedule *when = &request->when;

	if (when->command || when->control || request->tree || sinks_need_total(sinks))
		return false;
	for (; *sinks; sinks++)
		if (!(*sinks)->rounds)
			return false;
	return when->interval_ns ? when->interval_count == 1 : when->timeout_ns;
}

/* ---- windows ---- */

/* The window that ends now, or the total of all. */
static int take_window(struct loop *l, bool total)
{
	struct uncore_sample *sample = l->rounds[l->round];
	int err = total ? uncore_monitor_total(l->monitor, sample)
			: uncore_monitor_read(l->monitor, sample),
	    status;
	uint64_t begin_ns = uncore_sample_begin_ns(sample), end_ns = uncore_sample_end_ns(sample);
	struct frame f = {.sample = sample,
			  .row_count = uncore_sample_count(sample),
			  .window = (double)(end_ns - begin_ns) / 1e9,
			  .wall_ns = uncore_sample_end_wall_ns(sample),
			  .monotonic_ns = end_ns,
			  .total = total && l->has_total,
			  .round = l->round,
			  .round_count = l->round_count};

	if (err)
		return cli_fail(l->cli, err);
	for (; l->prints_notes && l->notes < uncore_monitor_note_count(l->monitor); l->notes++)
		cli_error("note: %s", uncore_monitor_note_at(l->monitor, l->notes));
	/* A simulated machine begins anew in every run. */
	if (!l->windows || begin_ns < l->begin_ns)
		l->begin_ns = begin_ns;
	f.time = (double)(end_ns - l->begin_ns) / 1e9;
	status = l->ticker.kind->took(&l->ticker, l->monitor, &f, total);
	if (status)
		return status;
	l->windows += !total;
	for (struct sink *const *s = l->sinks; !status && *s; s++)
		if (!f.total || (*s)->total)
			status = (*s)->take((*s)->context, &f);
	return status;
}

/* Without intervals there is one window, which may have several parts: it is printed in the end, as
 * their total. */
static int end_window(struct loop *l)
{
	int err;

	if (!l->has_parts)
		return take_window(l, false);
	err = uncore_monitor_read(l->monitor, l->rounds[l->round]);
	return err ? cli_fail(l->cli, err)
		   : l->ticker.kind->took(&l->ticker, l->monitor, NULL, true);
}

static int take_short_sample(struct loop *l)
{
	int err = uncore_monitor_short_sample(l->monitor);

	if (err)
		return cli_fail(l->cli, err);
	for (struct sink *const *s = l->sinks; *s; s++)
		if ((*s)->short_sample)
			(*s)->short_sample((*s)->context);
	return l->ticker.kind->took(&l->ticker, l->monitor, NULL, false);
}

/* ---- beginning, and commands ---- */

/* One window that takes a second or more prints nothing before its end. */
static void show_wait(const struct loop *l)
{
	const struct schedule *when = &l->request->when;
	struct human window;

	if (when->interval_ns || when->command || when->timeout_ns < NS_PER_S)
		return;
	window = human((double)when->timeout_ns / 1e9, "s");
	if (l->round_count > 1)
		cli_wait("counting for %s, round %zu of %zu", window.text, l->round + 1,
			 l->round_count);
	else
		cli_wait("counting for %s", window.text);
}

/* Begins to count, or goes on after it was disabled. */
static int start(struct loop *l)
{
	bool again = l->started;
	int err = again ? uncore_monitor_resume(l->monitor) : uncore_monitor_start(l->monitor);
	int status = err ? cli_fail(l->cli, err) : CLI_OK;

	for (struct sink *const *s = l->sinks; !status && *s; s++)
		if ((*s)->start)
			status = (*s)->start((*s)->context, again);
	if (status)
		return status;
	l->started = l->enabled = true;
	if (!again)
		show_wait(l);
	return l->ticker.kind->start(&l->ticker, again);
}

/* Gives a command to the sinks that take commands. */
static int command_sinks(struct loop *l, const struct control_request *q, const char **refused)
{
	int status = CLI_OK;
	bool taken = false;

	for (struct sink *const *s = l->sinks; !status && *s; s++)
		if ((*s)->control) {
			taken = true;
			status = (*s)->control((*s)->context, q, refused);
		}
	if (!taken && q->command > CONTROL_STOP)
		*refused = "snapshot and mark are for uncore record";
	return status;
}

/* What came through --control, and from `uncore mark`. */
static int obey(struct loop *l, enum wake *wake)
{
	struct control *control = &l->ticker.control;
	const struct control_request *q;
	int status = CLI_OK;

	control_receive(control);
	while (!status && (q = control_next(control))) {
		const char *refused = q->command == CONTROL_UNKNOWN ? "" : NULL;
		bool disables = q->command == CONTROL_DISABLE && l->enabled;

		if (q->command == CONTROL_ENABLE && !l->enabled)
			status = start(l);
		/* The counters go on; these counts are in no interval and no total. */
		if (disables) {
			timer_arm(l->ticker.ticks.fd, 0, 0);
			l->enabled = false;
			status = end_window(l);
		}
		if (q->command == CONTROL_STOP)
			*wake = WAKE_TIMER;
		if (!status && (disables || q->command > CONTROL_STOP))
			status = command_sinks(l, q, &refused);
		if (!status)
			control_answer(control, q, refused);
	}
	return status;
}

/* ---- runs ---- */

/* One turn of the loop. */
static int take_wake(struct loop *l, enum wake *wake)
{
	int status = CLI_OK;

	if (*wake == WAKE_SAMPLE)
		return take_short_sample(l);
	if (*wake == WAKE_RESUME)
		return start(l);
	if (*wake == WAKE_CONTROL)
		status = obey(l, wake);
	else if (*wake == WAKE_TIMER && !l->started)
		status = start(l), *wake = WAKE_CONTROL;
	if (!status && *wake != WAKE_CONTROL && *wake != WAKE_END && l->enabled)
		status = end_window(l);
	if (l->request->when.command && *wake == WAKE_TIMER)
		child_signal(&l->ticker.child, SIGTERM); /* as perf does at the timeout */
	return status;
}

/* ---- another request ---- */

/* Counts with this monitor from now on, in place of the one that counted until now. */
static int change_monitor(struct loop *l, struct uncore_monitor *m)
{
	int err, status = CLI_OK;

	cli_set_running(m);
	uncore_monitor_free(l->monitor);
	l->monitor = m;
	l->notes = uncore_monitor_note_count(m);
	err = uncore_monitor_open(m);
	if (!err)
		err = uncore_monitor_start(m);
	if (err)
		return cli_fail(l->cli, err);
	for (struct sink *const *s = l->sinks; !status && *s; s++) {
		if ((*s)->opened)
			status = (*s)->opened((*s)->context, m);
		if (!status && (*s)->start)
			status = (*s)->start((*s)->context, true);
	}
	return status ? status : l->ticker.kind->start(&l->ticker, true);
}

/* A monitor borrows from the scan: it ends before the machine is scanned again. */
static int scan_again(struct loop *l, const struct sink *s, const struct request *next)
{
	struct uncore_monitor *m = NULL;
	int err, status;

	cli_set_running(NULL);
	uncore_monitor_free(l->monitor);
	l->monitor = NULL;
	err = uncore_scan(l->cli->u);
	status = err ? cli_fail(l->cli, err) : plan_make(l->cli, next, false, &m);
	if (!status)
		status = change_monitor(l, m);
	if (!status)
		s->planned_again(s->context, NULL);
	return status;
}

/* Plans the next request while the present one still counts, since a plan can fail. If the
 * counters do not open, those of the present request are opened again. */
static int plan_again(struct loop *l, const struct sink *s, const struct request *next)
{
	struct uncore_monitor *m;
	auto_free char *why = NULL;
	int status;

	if (next->rescan)
		return scan_again(l, s, next);
	if (plan_make(l->cli, next, false, &m)) {
		why = cli_copy(uncore_error(l->cli->u));
		s->planned_again(s->context, why);
		return CLI_OK;
	}
	status = change_monitor(l, m);
	if (!status) {
		l->planned = *next;
		s->planned_again(s->context, NULL);
		return CLI_OK;
	}
	why = cli_copy(uncore_error(l->cli->u));
	s->planned_again(s->context, why);
	status = plan_make(l->cli, &l->planned, false, &m);
	return status ? status : change_monitor(l, m);
}

/* Windows until the end; the last one may be shorter. Counters are read before they are stopped:
 * the window would be longer than the time counted in it. */
static int count_windows(struct loop *l)
{
	uint64_t count = l->request->when.interval_count;
	uint64_t most = count ? l->windows + count : UINT64_MAX;
	enum wake wake = WAKE_TICK;
	int status = CLI_OK, err;

	while (!status && wake <= WAKE_RESUME && l->windows < most) {
		wake = l->ticker.kind->wait(&l->ticker);
		status = take_wake(l, &wake);
		for (struct sink *const *s = l->sinks; !status && *s; s++) {
			const struct request *next = NULL;

			if ((*s)->next_request && wake == WAKE_TICK && l->enabled)
				next = (*s)->next_request((*s)->context);
			if (next)
				status = plan_again(l, *s, next);
		}
	}
	if (!status && !l->started)
		cli_error("the run ended before the delay (-D) was over: nothing was counted");
	else if (!status && (l->has_total || l->has_parts))
		status = take_window(l, true);
	/* Registers that were written are restored here, so that a failure of that can be
	 * reported. */
	err = l->cli->program && l->started ? uncore_monitor_stop(l->monitor) : 0;
	err = err ? cli_fail(l->cli, err) : CLI_OK;
	return status ? status : err;
}

/* Counting starts just before the command does, or, with a delay, while it runs. */
static int count(struct loop *l)
{
	const struct schedule *when = &l->request->when;
	size_t notes = l->round ? uncore_monitor_note_count(l->monitor) : 0;
	int err = uncore_monitor_open(l->monitor), status = CLI_OK;
	bool at_once = !when->delay_ns || l->round;

	if (err)
		return cli_fail(l->cli, err);
	if ((!l->windows || l->round) && l->prints_notes)
		plan_print_notes(l->request, l->monitor, notes);
	l->notes = uncore_monitor_note_count(l->monitor);
	for (struct sink *const *s = l->sinks; !status && *s; s++)
		if ((*s)->opened)
			status = (*s)->opened((*s)->context, l->monitor);
	l->started = l->enabled = false;
	if (!status && at_once)
		status = start(l);
	if (!status && when->command)
		status = child_release(&l->ticker.child, when->command[0]);
	if (!status && !at_once && when->delay_ns != DELAY_FOREVER)
		status = timer_arm(l->ticker.timer_fd, cli_now_ns() + when->delay_ns, 0);
	return status ? status : count_windows(l);
}

/* The command is forked first, and executed when counting has begun. It may outlive counting: its
 * end is ours, and so is its status. */
static int run_command(struct loop *l)
{
	struct ticker *t = &l->ticker;
	int status;

	t->child = (struct child){.go = -1, .failed = -1};
	status = child_prepare(&t->child, l->request->when.command, &t->signals, l->cli);
	if (!status)
		status = count(l);
	control_close(&t->control); /* nothing can be commanded any more */
	timer_arm(t->ticks.fd, 0, 0);
	timer_arm(t->timer_fd, 0, 0);
	if (t->child.go < 0) { /* it was released */
		while (!child_ended(&t->child, false))
			t->kind->wait(t);
		if (!l->command_status)
			l->command_status = t->child.status;
	}
	child_close(&t->child);
	return status;
}

static int begin_rounds(struct loop *l)
{
	const struct schedule *when = &l->request->when;
	uint64_t window_ns = when->interval_ns ? when->interval_ns : UINT64_MAX;
	int status = CLI_OK;

	if (when->timeout_ns && when->timeout_ns < window_ns)
		window_ns = when->timeout_ns;
	l->round_count = uncore_monitor_round_count(l->monitor);
	for (struct sink *const *s = l->sinks; !status && *s; s++)
		if ((*s)->begin_rounds)
			status = (*s)->begin_rounds((*s)->context, l->round_count,
						    (double)window_ns / 1e9);
	return status;
}

/* Metrics for which the PMUs have too few counters at once are counted one round after another. */
static int count_rounds(struct loop *l)
{
	int status = begin_rounds(l), err = CLI_OK;

	do {
		if (l->round_room <= l->round) {
			l->rounds = cli_realloc(l->rounds, l->round + 1, sizeof(*l->rounds));
			l->rounds[l->round] = NULL;
			if (uncore_sample_new(&l->rounds[l->round_room++]))
				status = cli_fail(l->cli, -ENOMEM);
		}
		if (!status)
			status = l->request->when.command ? run_command(l) : count(l);
	} while (!status && !l->ticker.stopped && uncore_monitor_next_round(l->monitor) > 0 &&
		 ++l->round);
	for (struct sink *const *s = l->sinks; !err && *s; s++)
		if ((*s)->end_run)
			err = (*s)->end_run((*s)->context);
	if (l->ticker.stopped && l->round + 1 < l->round_count)
		cli_error("ended in round %zu of %zu, after a part of it: metrics of later rounds "
			  "were not counted",
			  l->round + 1, l->round_count);
	return status ? status : err;
}

/* ---- the loop ---- */

static void init_ticker(struct ticker *t, struct cli *cli, const struct request *request,
			struct sink *const *sinks)
{
	*t = (struct ticker){.kind = cli->replay ? &replay_ticker : &live_ticker,
			     .cli = cli,
			     .request = request,
			     .ticks = {.fd = -1},
			     .timer_fd = -1,
			     .signals = {.stop_fd = -1, .child_fd = -1}};
	for (; *sinks; sinks++)
		if ((*sinks)->ticker) {
			t->kind = (*sinks)->ticker;
			t->context = (*sinks)->context;
		}
}

int loop_plan(struct cli *cli, const struct request *request, struct sink *const *sinks,
	      struct uncore_monitor **out)
{
	struct ticker ticker;
	int status = CLI_OK;

	init_ticker(&ticker, cli, request, sinks);
	if (ticker.kind->check)
		status = ticker.kind->check(&ticker, request, sinks);
	for (struct sink *const *s = sinks; !status && *s; s++)
		if ((*s)->check)
			status = (*s)->check((*s)->context);
	return status ? status : plan_make(cli, request, has_rounds(request, sinks), out);
}

static int open_all(struct loop *l)
{
	struct control *control = &l->ticker.control;
	const char *cpu = l->request->when.cpu;
	int status = control_open(control, l->request->when.control);

	for (struct sink *const *s = l->sinks; !status && *s; s++)
		if ((*s)->file)
			control_listen(control, (*s)->file);
	if (!status && cpu)
		status = cli_pin(l->cli, cpu);
	for (struct sink *const *s = l->sinks; !status && *s; s++)
		if ((*s)->open)
			status = (*s)->open((*s)->context);
	if (!status && l->ticker.kind->open)
		status = l->ticker.kind->open(&l->ticker);
	for (struct sink *const *s = l->sinks; *s; s++)
		(*s)->stop_fd = l->ticker.signals.stop_fd;
	return status;
}

static int end_all(struct loop *l, int status)
{
	int err;

	for (struct sink *const *s = l->sinks; *s; s++) {
		err = (*s)->end ? (*s)->end((*s)->context) : CLI_OK;
		if (!status)
			status = err;
		(*s)->stop_fd = -1;
	}
	cli_waited();
	if (l->ticker.kind->report)
		l->ticker.kind->report(&l->ticker);
	control_close(&l->ticker.control);
	l->ticker.kind->close(&l->ticker);
	uncore_monitor_free(l->monitor);
	for (size_t i = 0; i < l->round_room; i++)
		uncore_sample_free(l->rounds[i]);
	free(l->rounds);
	return status;
}

static bool begins(struct loop *l, uint64_t runs)
{
	return l->ticker.kind->begins ? l->ticker.kind->begins(&l->ticker, runs) : !runs;
}

int loop_run(struct cli *cli, const struct request *request, struct sink *const *sinks,
	     struct uncore_monitor *m)
{
	const size_t rounds = uncore_monitor_round_count(m);
	struct request own = *request;
	struct loop l = {.cli = cli,
			 .request = &own,
			 .planned = *request,
			 .sinks = sinks,
			 .monitor = m,
			 .prints_notes = true,
			 .has_total = sinks_need_total(sinks)};
	int status;

	if (own.when.shared && rounds > 1)
		own.when.timeout_ns /= rounds;
	request = &own;
	for (struct sink *const *s = sinks; *s; s++)
		l.prints_notes = l.prints_notes && !(*s)->notes;
	init_ticker(&l.ticker, cli, request, sinks);
	l.has_parts = l.ticker.kind->has_parts && l.ticker.kind->has_parts(&l.ticker);
	status = open_all(&l);
	for (uint64_t runs = 0; !status && begins(&l, runs); runs++) {
		if (runs)
			status = plan_make(cli, request, has_rounds(request, sinks), &l.monitor);
		cli_set_running(l.monitor);
		if (!status)
			status = count_rounds(&l);
		cli_set_running(NULL);
		uncore_monitor_free(l.monitor);
		l.monitor = NULL;
	}
	status = end_all(&l, status);
	return l.command_status ? l.command_status : status;
}

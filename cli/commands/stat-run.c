/* SPDX-License-Identifier: MIT */
/* Counting with a planned monitor: one window, window after window, or run after run of a command. */
#include <errno.h>
#include <math.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/timerfd.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "commands/child.h"
#include "commands/control.h"
#include "commands/repeat.h"
#include "commands/stat-run.h"
#include "commands/ticks.h"
#include "output/writer.h"
#include "recording/replay.h"

/* ---- the run ---- */

struct run {
	struct cli *cli;
	const struct stat_options *o;
	struct uncore_monitor *monitor;
	struct uncore_sample **rounds; /* the latest of each */
	size_t round_room, round, round_count;
	struct writer writer;
	struct utsname uts; /* its name is in rows */
	struct out out;
	struct buffer command; /* its words, for the header */
	struct signals signals;
	struct child child;
	struct repeat repeat;
	struct ticks ticks;
	struct control control;
	bool started, enabled;       /* counting; it may be disabled and enabled again */
	int timer_fd;                /* expires once: the delay, then the timeout, */
	uint64_t end_ns;             /* which is then */
	uint64_t begin_ns;           /* of the first window */
	struct uncore_row *recorded; /* those of this window, with --as-recorded */
	uint64_t windows;
	size_t notes;       /* of the monitor, printed or counted so far */
	bool stopped;       /* by the user: no further run */
	int command_status; /* the first that is not 0 */
};

enum wake {
	WAKE_TICK,    /* an interval is over */
	WAKE_SAMPLE,  /* a short sample is over */
	WAKE_CONTROL, /* a command came */
	WAKE_TIMER,   /* the delay or the timeout is over */
	WAKE_STOP,    /* the user or the end of the command */
};

/* True when counting ends. The command gets Ctrl-C from the terminal, as uncore does; a signal that was sent to uncore alone is
 * passed on to it. Counting ends when the command ends. */
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
		{.fd = r->ticks.fd, .events = POLLIN},
		{.fd = r->control.fd, .events = POLLIN},
		{.fd = r->control.socket, .events = POLLIN},
	};
	const struct stat_options *o = r->o;
	enum tick tick;

	if (r->cli->replay)
		return WAKE_TICK;
	for (;;) {
		if (poll(fds, sizeof(fds) / sizeof(fds[0]), -1) < 0)
			continue;
		if ((fds[0].revents || fds[1].revents) && take_signals(r))
			return WAKE_STOP;
		tick = fds[3].revents ? ticks_take(&r->ticks) : TICK_NONE;
		if (fds[2].revents && timer_expirations(r->timer_fd))
			return WAKE_TIMER;
		/* A timeout at the end of an interval ends counting: no further, nearly empty interval. */
		if (tick == TICK_INTERVAL && o->timeout_ns &&
		    r->ticks.grid_ns + r->ticks.passed * o->interval_ns >= r->end_ns)
			return WAKE_TIMER;
		if (tick)
			return tick == TICK_SAMPLE ? WAKE_SAMPLE : WAKE_TICK;
		if (fds[4].revents || fds[5].revents)
			return WAKE_CONTROL;
	}
}

static bool is_collected(const struct run *r)
{
	return r->cli->collector && r->o->output->record;
}

/* The header of CSV comes before the records of all recordings. */
static int collect(struct run *r, uint64_t wall_ns)
{
	struct cli_collector *c = r->cli->collector;
	struct buffer *text = &r->writer.text;
	char *line = !c->header && r->writer.empty && !r->o->output->document
			     ? memchr(text->data, '\n', text->len)
			     : NULL;
	size_t len = line ? (size_t)(line + 1 - text->data) : 0;

	if (len) {
		c->header = cli_realloc(NULL, len + 1, 1);
		memcpy(c->header, text->data, len);
		c->header[len] = '\0';
		memmove(text->data, text->data + len, text->len - len);
		text->len -= len;
	}
	return c->take(c->context, wall_ns, text);
}

/* Gives the rows of a window to the output. */
static int add_rows(struct run *r, const struct uncore_sample *sample)
{
	struct replay *replay = r->cli->replay;
	bool shown = replay && replay->show;
	size_t count = uncore_sample_count(sample);
	int status = CLI_OK;

	if (shown) {
		r->recorded = cli_realloc(r->recorded, count + 1, sizeof(*r->recorded));
		status = replay->show(replay, sample, r->recorded);
	}
	for (size_t i = 0; !status && i < count; i++)
		out_row(&r->out,
			(struct out_row){.sample = shown ? NULL : sample,
					 .index = i,
					 .row = shown ? &r->recorded[i]
						      : uncore_sample_row(sample, i),
					 .distribution = uncore_sample_distribution(sample, i),
					 .spread = NAN});
	return status;
}

/* The window that ends now, or the total of all. */
static int print_window(struct run *r, bool total)
{
	struct uncore_sample *sample = r->rounds[r->round];
	int err = total ? uncore_monitor_total(r->monitor, sample)
			: uncore_monitor_read(r->monitor, sample);
	uint64_t begin_ns = uncore_sample_begin_ns(sample), end_ns = uncore_sample_end_ns(sample);
	struct out_frame frame = {.window = (double)(end_ns - begin_ns) / 1e9,
				  .wall_ns = uncore_sample_end_wall_ns(sample),
				  .monotonic_ns = end_ns,
				  .total = total && stat_has_total(r->o)};

	if (err)
		return cli_fail(r->cli, err);
	for (; r->notes < uncore_monitor_note_count(r->monitor); r->notes++)
		cli_error("note: %s", uncore_monitor_note_at(r->monitor, r->notes));
	/* Simulated time does not go on while nothing is read, so no interval is missed. */
	if (r->cli->replay)
		frame.missed = total ? r->cli->replay->missed : r->cli->replay->missed_now;
	else if (frame.wall_ns != end_ns)
		frame.missed = total ? r->ticks.missed : r->ticks.missed_now;
	if (!r->cli->replay && !total)
		ticks_read(&r->ticks, r->monitor);
	r->ticks.missed_now = 0;
	if (r->o->recorder) {
		r->windows++;
		return r->o->recorder->window(r->o->recorder->context, sample);
	}
	/* A simulated machine begins anew in every run. */
	if (!r->windows || begin_ns < r->begin_ns)
		r->begin_ns = begin_ns;
	frame.time = (double)(end_ns - r->begin_ns) / 1e9;
	if (r->o->repeat > 1 && r->o->output->window) {
		repeat_add(&r->repeat, sample, frame.time);
	} else {
		err = add_rows(r, sample);
		if (err)
			return err;
		if (!r->round) /* the length of a round, which the last one may not reach */
			r->out.frame = frame;
		/* A table has the rows of all rounds. */
		if (r->o->output->record || r->round_count == 1)
			out_print(&r->out, &frame);
	}
	r->windows += !total;
	if (is_collected(r))
		return collect(r, frame.wall_ns);
	return writer_flush(&r->writer);
}

/* One window that takes a second or more prints nothing before its end. */
static void show_wait(const struct run *r)
{
	struct human window;

	if (r->o->interval_ns || r->o->command || r->o->timeout_ns < NS_PER_S)
		return;
	human_value(&window, (double)r->o->timeout_ns / 1e9, "s");
	if (r->round_count > 1)
		cli_wait("counting for %s, round %zu of %zu", window.text, r->round + 1,
			 r->round_count);
	else
		cli_wait("counting for %s", window.text);
}

/* Begins to count, or goes on after it was disabled. */
static int start(struct run *r)
{
	const struct replay *replay = r->cli->replay;
	const struct cli_collector *collector = r->cli->collector;
	const struct stat_recorder *recorder = r->o->recorder;
	char date[OUT_DATE_ROOM];
	bool again = r->started;
	int err = again ? uncore_monitor_resume(r->monitor) : uncore_monitor_start(r->monitor),
	    status;

	if (err)
		return cli_fail(r->cli, err);
	if (recorder && recorder->start && (err = recorder->start(recorder->context)))
		return err;
	r->started = r->enabled = true;
	/* A simulation has a label already. */
	if (replay && !again && !r->o->output->record && !r->out.setup.simulated) {
		out_date(date, replay->wall_ns);
		buffer_printf(&r->writer.text, "%s%s: recorded on %s from %s on\n",
			      r->windows || (collector && collector->later) ? "\n" : "",
			      r->out.setup.source, replay->host ? replay->host : "an unknown host",
			      date);
	}
	if (replay)
		return CLI_OK;
	status = ticks_start(&r->ticks);
	if (status || again)
		return status;
	r->end_ns = r->ticks.grid_ns + r->o->timeout_ns;
	show_wait(r);
	return timer_arm(r->timer_fd, r->o->timeout_ns ? r->end_ns : 0, 0);
}

/* Without intervals there is one window, which may have several parts: it is printed in the end, as their total. */
static bool has_parts(const struct run *r)
{
	const struct replay *replay = r->cli->replay;

	return !r->o->interval_ns && (r->o->control || (replay && replay->region));
}

static int end_window(struct run *r)
{
	int err;

	if (!has_parts(r))
		return print_window(r, false);
	err = uncore_monitor_read(r->monitor, r->rounds[r->round]);
	return err ? cli_fail(r->cli, err) : CLI_OK;
}

/* What came through --control, and from `uncore mark`. */
static int obey(struct run *r, enum wake *wake)
{
	const struct stat_recorder *recorder = r->o->recorder;
	const struct control_request *q;
	int status = CLI_OK;

	control_receive(&r->control);
	while (!status && (q = control_next(&r->control))) {
		const char *refused = q->command == CONTROL_UNKNOWN ? "" : NULL;
		bool changes =
			(q->command == CONTROL_DISABLE && r->enabled) || q->command > CONTROL_STOP;

		if (q->command == CONTROL_ENABLE && !r->enabled)
			status = start(r);
		/* The counters go on; these counts are in no interval and no total. */
		if (q->command == CONTROL_DISABLE && r->enabled) {
			timer_arm(r->ticks.fd, 0, 0);
			r->enabled = false;
			status = end_window(r);
		}
		if (q->command == CONTROL_STOP)
			*wake = WAKE_TIMER;
		if (!status && changes && recorder && recorder->control)
			status = recorder->control(recorder->context, q, &refused);
		else if (q->command > CONTROL_STOP)
			refused = "snapshot and mark are for uncore record";
		if (!status)
			control_answer(&r->control, q, refused);
	}
	return status;
}

/* Windows until the end; the last one may be shorter. Counters are read before they are stopped: the window would be longer
 * than the time counted in it. */
static int count_windows(struct run *r)
{
	uint64_t most = r->o->interval_count ? r->windows + r->o->interval_count : UINT64_MAX;
	enum wake wake = WAKE_TICK;
	int status = CLI_OK, err;

	while (!status && wake <= WAKE_CONTROL && r->windows < most) {
		wake = wait_next(r);
		if (wake == WAKE_SAMPLE) {
			err = uncore_monitor_short_sample(r->monitor);
			ticks_read(&r->ticks, r->monitor);
			status = err ? cli_fail(r->cli, err) : CLI_OK;
			if (!err && r->o->recorder && r->o->recorder->short_sample)
				r->o->recorder->short_sample(r->o->recorder->context);
			continue;
		}
		if (wake == WAKE_CONTROL)
			status = obey(r, &wake);
		else if (wake == WAKE_TIMER && !r->started)
			status = start(r), wake = WAKE_CONTROL;
		if (!status && wake != WAKE_CONTROL && r->enabled)
			status = end_window(r);
		if (!status && r->cli->replay && r->cli->replay->gap)
			status = start(r);
		else if (r->cli->replay && !r->cli->replay->more)
			wake = WAKE_STOP;
		if (r->o->command && wake == WAKE_TIMER)
			child_signal(&r->child, SIGTERM); /* as perf does at the timeout */
	}
	if (!status && !r->started)
		cli_error("the run ended before the delay (-D) was over: nothing was counted");
	else if (!status && (stat_has_total(r->o) || has_parts(r)))
		status = print_window(r, true);
	/* Registers that were written are restored here, so that a failure of that can be reported. */
	err = r->cli->program && r->started ? uncore_monitor_stop(r->monitor) : 0;
	err = err ? cli_fail(r->cli, err) : CLI_OK;
	return status ? status : err;
}

/* Counting starts just before the command does, or, with a delay, while it runs. */
static int count(struct run *r)
{
	const struct stat_options *o = r->o;
	size_t notes = r->round ? uncore_monitor_note_count(r->monitor) : 0;
	int err = uncore_monitor_open(r->monitor), status = CLI_OK;
	bool at_once = !o->delay_ns || r->round;

	if (err)
		return cli_fail(r->cli, err);
	if (!r->windows || r->round)
		stat_print_notes(o, r->monitor, notes);
	r->notes = uncore_monitor_note_count(r->monitor);
	if (o->recorder && (status = o->recorder->open(o->recorder->context, o, r->monitor)))
		return status;
	r->started = r->enabled = false;
	if (at_once)
		status = start(r);
	if (!status && o->command)
		status = child_release(&r->child, o->command[0]);
	if (!status && !at_once && o->delay_ns != DELAY_FOREVER)
		status = timer_arm(r->timer_fd, cli_now_ns() + o->delay_ns, 0);
	return status ? status : count_windows(r);
}

/* The command is forked first, and executed when counting has begun. It may outlive counting: its end is ours, and so is its
 * status. */
static int run_command(struct run *r)
{
	int status;

	r->child = (struct child){.go = -1, .failed = -1};
	status = child_prepare(&r->child, r->o->command, &r->signals, r->cli);
	if (!status)
		status = count(r);
	control_close(&r->control); /* nothing can be commanded any more */
	timer_arm(r->ticks.fd, 0, 0);
	timer_arm(r->timer_fd, 0, 0);
	if (r->child.go < 0) { /* it was released */
		while (!child_ended(&r->child, false))
			wait_next(r);
		if (!r->command_status)
			r->command_status = r->child.status;
	}
	child_close(&r->child);
	return status;
}

/* Metrics for which the PMUs have too few counters at once are counted one round after another. */
static int count_rounds(struct run *r)
{
	uint64_t window_ns = r->o->interval_ns ? r->o->interval_ns : UINT64_MAX;
	int status = CLI_OK;

	if (r->o->timeout_ns && r->o->timeout_ns < window_ns)
		window_ns = r->o->timeout_ns;
	r->round_count = uncore_monitor_round_count(r->monitor);
	if (r->round_count > 1 && r->o->output->window) {
		out_text_rounds(&r->out, r->round_count, (double)window_ns / 1e9);
		status = writer_flush(&r->writer);
	}
	do {
		if (r->round_room <= r->round) {
			r->rounds = cli_realloc(r->rounds, r->round + 1, sizeof(*r->rounds));
			r->rounds[r->round] = NULL;
			if (uncore_sample_new(&r->rounds[r->round_room++]))
				status = cli_fail(r->cli, -ENOMEM);
		}
		if (!status)
			status = r->o->command ? run_command(r) : count(r);
	} while (!status && !r->stopped && uncore_monitor_next_round(r->monitor) > 0 && ++r->round);
	if (r->out.row_count)
		out_print(&r->out, &r->out.frame);
	if (r->stopped && r->round + 1 < r->round_count)
		cli_error("ended in round %zu of %zu, after a part of it: metrics of later rounds "
			  "were not counted",
			  r->round + 1, r->round_count);
	return status;
}

static int open_run(struct run *r)
{
	const struct stat_options *o = r->o;
	const struct replay *replay = r->cli->replay;
	struct cli_collector *collector = r->cli->collector;
	struct uncore *u = r->cli->u;
	bool later = collector && collector->later, titled = is_collected(r) && collector->header;
	int err, status = writer_open(&r->writer, o->recorder ? NULL : o->file, o->append || later);

	if (collector && !later) {
		collector->file = o->file;
		collector->append = true;
	}

	for (char **word = o->command; word && *word; word++)
		buffer_printf(&r->command, "%s%s", word == o->command ? "" : " ", *word);
	buffer_add(&r->command, "", 1);
	r->writer.exact = o->output->record; /* for programs: each record is cleaned by itself */
	r->out = (struct out){.output = o->output,
			      .setup = {.machine = u,
					.source = uncore_source(u),
					.simulated = uncore_is_simulated(u),
					.intervals = o->interval_ns > 0,
					.level = o->level,
					.sort = o->sort,
					.host = replay ? replay->host
						: uncore_is_simulated(u) || uname(&r->uts)
							? NULL
							: r->uts.nodename,
					.separator = o->separator,
					.header = r->writer.empty && !titled,
					.command_line = r->cli->command_line,
					.recorded = replay ? replay->command_line : NULL,
					.command = o->command ? r->command.data : NULL,
					.port = o->port},
			      .to = &r->writer.text};
	if (!status && !o->recorder && o->output->begin) {
		err = uncore_diagnose(u);
		if (err)
			return cli_fail(r->cli, err);
		o->output->begin(&r->out,
				 json_record(RECORD({"topology", value_json(topo_document(u))},
						    {"findings", value_json(doctor_document(u))})));
	}
	/* A recording has nothing to restore: a signal ends it at once. */
	if (!status && !replay)
		status = signals_open(&r->signals);
	if (!status && r->cli->program && !replay)
		status = signals_take_all(&r->signals);
	if (status)
		return status;
	r->writer.signal_fd = r->signals.stop_fd;
	r->writer.piece = o->interval_ns ? "interval" : "result";
	r->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	return ticks_open(&r->ticks, o->interval_ns, o->sample_ns, o->verbose);
}

/* Options that make no sense for a recording are usage errors. */
static int begin_replay(struct cli *cli, const struct stat_options *o)
{
	const char *wrong = o->command                            ? "a COMMAND"
			    : o->timeout_ns                       ? "--timeout"
			    : o->delay_ns                         ? "-D"
			    : o->control                          ? "--control"
			    : o->recorder && o->recorder->to_file ? "record"
								  : NULL;
	uint64_t interval_ns = cli->replay->interval_ns;
	struct human h;

	cli->replay->group_ns = o->interval_ns;
	human_value(&h, (double)interval_ns / 1e9, "s");
	if (wrong)
		cli_error("%s cannot be used with a recording; uncore report --begin and --end "
			  "select a part of it",
			  wrong);
	else if (o->interval_ns % interval_ns)
		cli_error("the recording has intervals of %s: -I must be a multiple of that",
			  h.text);
	else if (o->sample_ns && o->sample_ns != interval_ns)
		cli_error("the short samples of a recording are its intervals: use --sample %s%s",
			  h.number, h.unit);
	else if (cli->replay->show &&
		 (o->interval_ns != interval_ns || o->sample_ns || stat_has_total(o)))
		cli_error("--as-recorded prints each recorded interval: use -I %s%s, without a "
			  "total or short samples",
			  h.number, h.unit);
	else if (cli->collector && (o->output->begin || (o->output->record && o->output->window)))
		cli_error("--%s shows one recording: other recordings may have other columns",
			  o->output->name);
	else
		return CLI_OK;
	return CLI_USAGE;
}

/* A session that was appended is a run of its own: nothing was counted between them. */
static bool begin_session(const struct run *r)
{
	char from[OUT_DATE_ROOM], to[OUT_DATE_ROOM];
	const struct replay *replay = r->cli->replay;

	if (!replay || !replay->sessions)
		return false;
	out_date(from, replay->wall_ns);
	out_date(to, replay->next_wall_ns);
	cli_error("nothing was recorded from %s to %s", from, to);
	return true;
}

int stat_run(struct cli *cli, const struct stat_options *o)
{
	struct stat_options own;
	struct run r = {.cli = cli,
			.o = o,
			.ticks = {.fd = -1},
			.timer_fd = -1,
			.signals = {.stop_fd = -1, .child_fd = -1}};
	int status;

	if (cli->replay && cli->replay->show && !o->interval_ns) {
		own = *o;
		own.interval_ns = cli->replay->interval_ns;
		o = r.o = &own;
	}
	status = cli->replay ? begin_replay(cli, o) : CLI_OK;
	if (!status)
		status = stat_plan(cli, o, &r.monitor);
	if (status)
		return status;
	if (o->dry_run) {
		status = stat_dry_run(cli, o, r.monitor);
		uncore_monitor_free(r.monitor);
		return status;
	}
	status = control_open(&r.control, o->control);
	if (!status && o->recorder && o->recorder->to_file)
		control_listen(&r.control, o->file);
	if (!status && o->cpu)
		status = cli_pin(cli, o->cpu);
	if (!status)
		status = open_run(&r);
	for (uint64_t i = 0; !status && !r.stopped && (i < o->repeat || begin_session(&r)); i++) {
		if (i)
			status = stat_plan(cli, o, &r.monitor);
		cli_set_running(r.monitor);
		if (!status)
			status = count_rounds(&r);
		cli_set_running(NULL);
		uncore_monitor_free(r.monitor);
		r.monitor = NULL;
	}
	if (o->repeat > 1)
		repeat_print(&r.repeat, &r.out);
	if (writer_flush(&r.writer) && !status)
		status = r.writer.status;
	cli_waited();
	ticks_report(&r.ticks);
	if (cli->replay && cli->replay->missed)
		cli_error(
			"%llu interval%s missed when this was recorded; the next interval has the "
			"counts of a missed one",
			(unsigned long long)cli->replay->missed,
			cli->replay->missed == 1 ? " was" : "s were");
	if (writer_close(&r.writer) && !status)
		status = r.writer.status;
	ticks_close(&r.ticks);
	control_close(&r.control);
	if (r.timer_fd >= 0)
		close(r.timer_fd);
	signals_close(&r.signals);
	uncore_monitor_free(r.monitor);
	for (size_t i = 0; i < r.round_room; i++)
		uncore_sample_free(r.rounds[i]);
	free(r.recorded);
	free(r.rounds);
	out_free(&r.out);
	buffer_free(&r.command);
	if (!status)
		status = r.out.status;
	/* Ctrl-C is how monitoring without a command ends: that is success, 0. */
	return r.command_status ? r.command_status : status;
}

/* SPDX-License-Identifier: MIT */
/* Counting: from queries to a planned monitor, which --dry-run prints; then one window, window after window,
 * or run after run of a command. */
#include <errno.h>
#include <math.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/timerfd.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "commands/child.h"
#include "commands/control.h"
#include "commands/repeat.h"
#include "commands/stat.h"
#include "commands/ticks.h"
#include "output/writer.h"
#include "recording/replay.h"

/* The share of the ceiling that makes a burst. */
#define DEFAULT_ABOVE 0.8

/* ---- the plan ---- */

/* Nothing that was asked for can be counted here: prints why and the fixes. */
static int nothing_here(struct cli *cli, const char *why)
{
	cli_error("%s", why);
	cli_advise(cli);
	return CLI_UNAVAILABLE;
}

static int add_queries(struct cli *cli, const struct stat_options *o, struct uncore_monitor *m)
{
	for (size_t i = 0; i < o->query_count; i++) {
		const struct stat_query *q = &o->queries[i];
		char *list = cli_copy(q->text), *rest = list, *pattern;
		int err = q->metric ? 0 : uncore_monitor_add_events(m, list);

		while (q->metric && !err && (pattern = strsep(&rest, ",")))
			err = uncore_monitor_add_metrics(m, pattern);
		free(list);
		if (err == -ENODEV && q->metric)
			return nothing_here(cli, uncore_error(cli->u));
		if (err)
			return cli_fail(cli, err);
	}
	return CLI_OK;
}

/* At least one pattern of a preset must be countable: a machine may have none of the metrics of another,
 * and the catalogue may not know any yet. Patterns behind "else" are for machines that have none of
 * those before it. */
static int add_any(struct cli *cli, struct uncore_monitor *m, const char *list, const char *title)
{
	char *copy = cli_copy(list);
	char why[1024] = "";
	char *rest = copy;
	char *pattern;
	bool added = false;
	bool known = false; /* to the catalogue */
	int err = 0;

	while ((pattern = strsep(&rest, ","))) {
		if (strcmp(pattern, "else") == 0 && added)
			break;
		if (strcmp(pattern, "else") == 0)
			continue;
		err = uncore_monitor_add_metrics(m, pattern);
		added = added || !err;
		if (err && err != -ENODEV && err != -ENOENT)
			break;
		if (!*why || (err == -ENODEV && !known))
			snprintf(why, sizeof(why), "%s", uncore_error(cli->u));
		known = known || err == -ENODEV;
		err = 0;
	}
	free(copy);
	if (err)
		return cli_fail(cli, err);
	if (added)
		return CLI_OK;
	if (known)
		return nothing_here(cli, why);
	cli_error("the catalogue has no metrics %s yet (%s); events can be counted by name: uncore "
		  "list events",
		  list, title);
	return CLI_UNAVAILABLE;
}

/* What a first look shows: the few metrics that the catalogue names for it. A machine with none of them
 * has so few that all are shown, and so does a filter, which selects by itself. */
static int add_headline(struct cli *cli, const struct stat_options *o, struct uncore_monitor *m)
{
	bool added = false;
	char name[256];

	for (unsigned place = 1; !o->filtered && place <= 9; place++) {
		for (size_t i = 0; i < uncore_metric_count(cli->u); i++) {
			const struct uncore_metric *metric = uncore_metric_at(cli->u, i);
			int err;

			if (uncore_metric_headline(metric) != place ||
			    uncore_metric_missing(metric))
				continue;
			snprintf(name, sizeof(name), "%s/%s", uncore_metric_family(metric),
				 uncore_metric_name(metric));
			err = uncore_monitor_add_metrics(m, name);
			if (err)
				return cli_fail(cli, err);
			added = true;
		}
	}
	return added ? CLI_OK : add_any(cli, m, "*", "every metric");
}

/* What was recorded, with the filters of then. */
static int add_recorded(struct cli *cli, const struct stat_options *o, struct uncore_monitor *m)
{
	const struct replay *replay = cli->replay;
	bool added = false;

	for (size_t i = 0; i < replay->query_count; i++) {
		const struct replay_query *q = &replay->queries[i];
		int err = q->metric ? uncore_monitor_add_metrics(m, q->text)
				    : uncore_monitor_add_events(m, q->text);

		if (err == -ENOMEM)
			return cli_fail(cli, err);
		if (err && o->verbose)
			cli_error("%s was recorded and is left out: %s", q->text,
				  uncore_error(cli->u));
		added = added || !err;
	}
	return added ? CLI_OK : add_headline(cli, o, m);
}

/* The filters of a recording, "from=cpu to=memory", for what was recorded: others have other counters. */
static int set_recorded_filter(struct uncore_monitor *m, const char *text)
{
	char *copy = cli_copy(text), *rest = copy, *word;
	int err = 0;

	while (!err && (word = strsep(&rest, " "))) {
		char *value = strchr(word, '=');

		if (!value)
			continue;
		*value++ = '\0';
		err = uncore_monitor_set_filter(m, word, value);
	}
	free(copy);
	return err;
}

/* Prints the monitor's notes from the first one on, on standard error: all with -v, filters or events, else their
 * number. */
static void print_notes(const struct stat_options *o, const struct uncore_monitor *m, size_t first)
{
	size_t count = uncore_monitor_note_count(m) - first;
	bool all = o->verbose || o->filtered; /* notes tell what filters could not include */

	/* Events are the user's own choice: what the data files know of them belongs on the screen. */
	for (size_t i = 0; i < o->query_count; i++)
		all |= !o->queries[i].metric;
	if (count && !all)
		cli_error("%zu note%s; -v prints %s", count, count == 1 ? "" : "s",
			  count == 1 ? "it" : "them");
	for (size_t i = 0; all && i < count; i++)
		cli_error("note: %s", uncore_monitor_note_at(m, first + i));
}

/* The total follows the intervals: a page has it in any case. */
static bool has_total(const struct stat_options *o)
{
	return o->summary || (o->output->begin && o->interval_ns);
}

/* Only one window of a known length can be counted again for other metrics. */
static bool has_rounds(const struct stat_options *o)
{
	if (o->recorder || o->command || o->control || has_total(o) || o->tree ||
	    (o->output->record && o->output->window))
		return false;
	return o->interval_ns ? o->interval_count == 1 : o->timeout_ns;
}

static int add_all(struct cli *cli, const struct stat_options *o, struct uncore_monitor *m,
		   enum uncore_level level)
{
	int err = uncore_monitor_set_level(m, level), status = CLI_OK;

	/* Of several levels those above the one that was asked for, or all; nodes only when asked for. */
	for (int i = 0; !err && !o->tree && i < (o->level ? (int)o->level : 32); i++)
		if (o->output->levels >> i & 1 && i != UNCORE_LEVEL_NODE)
			err = uncore_monitor_add_level(m, (enum uncore_level)i);
	/* Channels have numbers on their socket. Links and caches come with the ports. */
	if (!err && o->tree && level == UNCORE_LEVEL_MACHINE)
		err = uncore_monitor_add_level(m, UNCORE_LEVEL_CHANNEL);
	if (!err && o->tree && level == UNCORE_LEVEL_MACHINE)
		err = uncore_monitor_add_level(m, UNCORE_LEVEL_SOCKET);
	if (err)
		status = cli_fail(cli, err);
	else if (o->preset)
		status = add_any(cli, m, o->preset->metrics, o->preset->doc);
	else if (!o->query_count && !o->preset_count)
		status = cli->replay ? add_recorded(cli, o, m) : add_headline(cli, o, m);
	return status ? status : add_queries(cli, o, m);
}

/* Each preset as the command of its name counts it, so that a recording has the counters of that command. */
static int add_presets(struct cli *cli, const struct stat_options *o, struct uncore_monitor *m)
{
	int status = CLI_OK;

	for (size_t i = 0; !status && i < o->preset_count; i++) {
		const struct command *preset = o->presets[i];
		struct stat_options one = *o;

		one.preset = preset;
		/* Levels of a table that shows the whole machine are those of the recording. */
		if (preset->level != UNCORE_LEVEL_MACHINE && preset->output)
			one.output = output_find(preset->output);
		one.level = o->level ? o->level : preset->level ? preset->level : o->default_level;
		one.query_count = 0;
		status = add_all(cli, &one, m, one.level);
	}
	return status;
}

int stat_plan(struct cli *cli, const struct stat_options *o, struct uncore_monitor **out)
{
	struct uncore_monitor *m = NULL;
	int status = CLI_OK;
	/* The metrics of a preset fit together: it leaves out what is `apart`, in rounds, too. */
	bool first = !o->preset || o->viewed;
	int err = uncore_monitor_new(&m, cli->u);

	bool rounds = has_rounds(o) && !cli->replay;
	const char *filter =
		cli->replay && cli->replay->query_count && !o->filtered && !o->query_count
			? cli->replay->queries[0].filter
			: NULL;

	if (!err && first && rounds)
		err = uncore_monitor_set_rounds(m);
	if (!err && o->sample_ns)
		err = uncore_monitor_set_short_samples(m, o->above ? (double)o->above / 100
								   : DEFAULT_ABOVE);
	for (size_t i = 0; !err && i < STAT_FILTERS; i++)
		if (o->filters[i].value)
			err = uncore_monitor_set_filter(m, o->filters[i].name, o->filters[i].value);
	if (!err && filter)
		err = set_recorded_filter(m, filter);
	status = err ? cli_fail(cli, err) : add_presets(cli, o, m);
	status = status    ? status
		 : o->tree ? add_all(cli, o, m, UNCORE_LEVEL_MACHINE)
			   : add_all(cli, o, m, o->level ? o->level : o->default_level);
	if (!status && o->tree)
		status = add_all(cli, o, m, UNCORE_LEVEL_PORT);
	if (!status) {
		err = !first && rounds ? uncore_monitor_set_rounds(m) : 0;
		err = err ? err : uncore_monitor_plan(m);
		status = err ? cli_fail(cli, err) : CLI_OK;
	}
	if (!status)
		*out = m;
	else
		uncore_monitor_free(m);
	return status;
}

/* ---- --dry-run: every planned counter ---- */

/* "0x304 0x0 0x3b": up to the last word that is not zero. */
static void config_text(const struct uncore_counter *c, char *into, size_t size)
{
	size_t last = UNCORE_CONFIG_WORDS - 1;
	size_t at = 0;

	while (last && !c->config[last])
		last--;
	*into = '\0';
	for (size_t i = 0; i <= last; i++)
		at += (size_t)snprintf(into + at, size - at, "%s0x%llx", i ? " " : "",
				       (unsigned long long)c->config[i]);
}

static void text_row(struct table *t, const struct uncore_counter *c, bool rounds)
{
	char config[UNCORE_CONFIG_WORDS * 20];

	config_text(c, config, sizeof(config));
	table_cell(t, "%s", c->event);
	table_cell(t, "%s", uncore_pmu_name(c->pmu));
	table_cell(t, "%u", uncore_pmu_type(c->pmu));
	table_cell(t, "%s", config);
	table_cell(t, "%d", c->cpu);
	table_cell(t, "%zu", c->group);
	table_cell(t, "%s", c->leader ? "leader" : "");
	if (rounds)
		table_cell(t, "%zu", c->round + 1);
	table_end_row(t, NULL);
}

static void print_record(struct out *out, const struct uncore_counter *c)
{
	const struct field fields[] = {
		{"schema", value_count(JSON_SCHEMA)},
		{"source", value_text(out->setup.source)},
		{"simulated", value_flag(out->setup.simulated)},
		{"kind", value_text("counter")},
		{"event", value_text(c->event)},
		{"pmu", value_text(uncore_pmu_name(c->pmu))},
		{"type", value_count(uncore_pmu_type(c->pmu))},
		{"config", value_json(json_hex_list(c->config, UNCORE_CONFIG_WORDS))},
		{"cpu", value_id(c->cpu)},
		{"group", value_count(c->group)},
		{"leader", value_flag(c->leader)},
		{"round", value_count(c->round)},
		{0},
	};

	out->output->record(out, fields);
}

static int dry_run(struct cli *cli, const struct stat_options *o, struct uncore_monitor *m)
{
	bool rounds = uncore_monitor_round_count(m) > 1;
	const struct table_column columns[] = {
		{"EVENT", TABLE_ALONE}, {"PMU", false},
		{"TYPE", true},         {"CONFIG", false},
		{"CPU", true},          {"GROUP", true},
		{"LEADER", false},      {rounds ? "ROUND" : NULL, true},
		{NULL, false},
	};
	struct writer w;
	struct out out = {.output = o->output,
			  .setup = {.source = uncore_source(cli->u),
				    .simulated = uncore_is_simulated(cli->u)},
			  .to = &w.text};
	int status;

	print_notes(o, m, 0);
	status = writer_open(&w, o->recorder ? NULL : o->file, o->append);
	table_init(&out.table, columns);
	if (!status && !o->output->record && out.setup.simulated)
		buffer_printf(&w.text, "SIMULATED by %s: no counter of this machine.\n",
			      out.setup.source);
	for (size_t i = 0; !status && i < uncore_monitor_counter_count(m); i++) {
		if (o->output->record)
			print_record(&out, uncore_monitor_counter_at(m, i));
		else
			text_row(&out.table, uncore_monitor_counter_at(m, i), rounds);
	}
	table_print(&out.table, &w.text);
	if (!status)
		status = writer_flush(&w);
	out_free(&out);
	uncore_monitor_free(m);
	return writer_close(&w) ? w.status : status;
}

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
	bool started, enabled; /* counting; it may be disabled and enabled again */
	int timer_fd;          /* expires once: the delay, then the timeout, */
	uint64_t end_ns;       /* which is then */
	uint64_t begin_ns;     /* of the first window */
	uint64_t windows;
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
	char *line = !c->later && !c->header && !r->o->output->document
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
				  .total = total && has_total(r->o)};

	if (err)
		return cli_fail(r->cli, err);
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
		for (size_t i = 0; i < uncore_sample_count(sample); i++)
			out_row(&r->out,
				(struct out_row){.sample = sample,
						 .index = i,
						 .row = uncore_sample_row(sample, i),
						 .distribution =
							 uncore_sample_distribution(sample, i),
						 .spread = NAN});
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

/* Of a simulation its label says enough. */
static void put_origin(struct run *r)
{
	const struct replay *replay = r->cli->replay;
	char date[OUT_DATE_ROOM];

	if (r->o->output->record || r->out.setup.simulated)
		return;
	out_date(date, replay->wall_ns);
	buffer_printf(&r->writer.text, "%s%s: recorded on %s from %s on\n",
		      r->windows || (r->cli->collector && r->cli->collector->later) ? "\n" : "",
		      r->out.setup.source, replay->host ? replay->host : "an unknown host", date);
}

/* One window that takes a second or more prints nothing before its end. */
static void show_wait(const struct run *r)
{
	struct human window;

	if (r->o->interval_ns || r->o->command || r->o->timeout_ns < NS_PER_S)
		return;
	human_value(&window, (double)r->o->timeout_ns / 1e9, "s");
	if (r->round_count > 1)
		cli_wait("counting for %s %s, round %zu of %zu", window.number, window.unit,
			 r->round + 1, r->round_count);
	else
		cli_wait("counting for %s %s", window.number, window.unit);
}

/* Begins to count, or goes on after it was disabled. */
static int start(struct run *r)
{
	bool again = r->started;
	int err = again ? uncore_monitor_resume(r->monitor) : uncore_monitor_start(r->monitor);

	if (err)
		return cli_fail(r->cli, err);
	if (r->o->recorder && (err = r->o->recorder->start(r->o->recorder->context)))
		return err;
	r->started = r->enabled = true;
	if (r->cli->replay && !again)
		put_origin(r);
	if (r->cli->replay)
		return CLI_OK;
	ticks_start(&r->ticks);
	if (again)
		return CLI_OK;
	r->end_ns = r->ticks.grid_ns + r->o->timeout_ns;
	timer_arm(r->timer_fd, r->o->timeout_ns ? r->end_ns : 0, 0);
	show_wait(r);
	return CLI_OK;
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

/* The counters go on, but what they count is in no interval and no total. */
static int disable(struct run *r)
{
	timer_arm(r->ticks.fd, 0, 0);
	r->enabled = false;
	return end_window(r);
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
		if (q->command == CONTROL_DISABLE && r->enabled)
			status = disable(r);
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

static int take_sample(struct run *r)
{
	int err = uncore_monitor_short_sample(r->monitor);

	ticks_read(&r->ticks, r->monitor);
	return err ? cli_fail(r->cli, err) : CLI_OK;
}

/* Windows until the end; the last one is as long as it came to be. Nothing is stopped before it is
 * read: the window would be longer than what was counted in it. */
static int count_windows(struct run *r)
{
	uint64_t most = r->o->interval_count ? r->windows + r->o->interval_count : UINT64_MAX;
	enum wake wake = WAKE_TICK;
	int status = CLI_OK, err;

	while (!status && wake <= WAKE_CONTROL && r->windows < most) {
		wake = wait_next(r);
		if (wake == WAKE_SAMPLE) {
			status = take_sample(r);
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
	else if (!status && (has_total(r->o) || has_parts(r)))
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
		print_notes(o, r->monitor, notes);
	if (o->recorder && (status = o->recorder->open(o->recorder->context, o, r->monitor)))
		return status;
	r->started = r->enabled = false;
	if (at_once)
		status = start(r);
	if (!status && o->command)
		status = child_release(&r->child, o->command[0]);
	if (!at_once && o->delay_ns != DELAY_FOREVER)
		timer_arm(r->timer_fd, cli_now_ns() + o->delay_ns, 0);
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
	control_close(&r->control); /* nothing can be commanded any more */
	if (r->child.go < 0)        /* it was released */
		wait_for_command(r);
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
		cli_error(
			"ended in round %zu of %zu, after a part of it: metrics of later rounds were not "
			"counted",
			r->round + 1, r->round_count);
	return status;
}

/* What an output has before its windows. */
static int begin_output(struct run *r)
{
	struct uncore *u = r->cli->u;
	int err = uncore_diagnose(u);

	if (err)
		return cli_fail(r->cli, err);
	r->o->output->begin(&r->out,
			    json_record(RECORD({"topology", value_json(topo_document(u))},
					       {"findings", value_json(doctor_document(u))})));
	return CLI_OK;
}

static int open_run(struct run *r)
{
	const struct stat_options *o = r->o;
	struct cli_collector *collector = r->cli->collector;
	bool later = collector && collector->later;
	int status = writer_open(&r->writer, o->recorder ? NULL : o->file, o->append || later);

	if (collector && !later) {
		collector->file = o->file;
		collector->append = true;
	}

	for (char **word = o->command; word && *word; word++)
		buffer_printf(&r->command, "%s%s", word == o->command ? "" : " ", *word);
	buffer_add(&r->command, "", 1);
	r->writer.exact = o->output->record; /* for programs: each record is cleaned by itself */
	r->out = (struct out){.output = o->output,
			      .setup = {.machine = r->cli->u,
					.source = uncore_source(r->cli->u),
					.simulated = uncore_is_simulated(r->cli->u),
					.intervals = o->interval_ns > 0,
					.level = o->level,
					.sort = o->sort,
					.host = r->cli->replay ? r->cli->replay->host
						: uncore_is_simulated(r->cli->u) || uname(&r->uts)
							? NULL
							: r->uts.nodename,
					.separator = o->separator,
					.header = r->writer.empty && !(later && is_collected(r)),
					.command_line = r->cli->command_line,
					.recorded = r->cli->replay ? r->cli->replay->command_line
								   : NULL,
					.command = o->command ? r->command.data : NULL,
					.port = o->port},
			      .to = &r->writer.text};
	if (!status && !o->recorder && o->output->begin)
		status = begin_output(r);
	/* Of a recording nothing is left behind: a signal ends it at once. */
	if (!status && !r->cli->replay)
		status = signals_open(&r->signals);
	if (!status && r->cli->program && !r->cli->replay)
		status = signals_take_all(&r->signals);
	if (status)
		return status;
	r->writer.signal_fd = r->signals.stop_fd;
	r->writer.piece = o->interval_ns ? "interval" : "result";
	r->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	return ticks_open(&r->ticks, o->interval_ns, o->sample_ns, o->verbose);
}

int stat_pin(struct cli *cli, const char *text)
{
	unsigned long number = strtoul(text, NULL, 10);
	cpu_set_t one;

	if (!*text || text[strspn(text, "0123456789")] || number >= CPU_SETSIZE) {
		cli_error("--cpu: '%s' is not a number of a CPU", text);
		return CLI_USAGE;
	}
	CPU_ZERO(&one);
	CPU_SET(number, &one);
	cli->pinned = sched_getaffinity(0, sizeof(cli->cpus), &cli->cpus) == 0;
	if (cli->pinned && sched_setaffinity(0, sizeof(one), &one) == 0)
		return CLI_OK;
	cli_error("--cpu: CPU %lu cannot be used: %s", number, strerror(errno));
	return CLI_USAGE;
}

/* Options that make no sense for a recording are usage errors. */
static int begin_replay(struct cli *cli, const struct stat_options *o)
{
	const char *wrong = o->command      ? "a COMMAND"
			    : o->timeout_ns ? "--timeout"
			    : o->delay_ns   ? "-D"
			    : o->control    ? "--control"
			    : o->recorder   ? "record"
					    : NULL;
	uint64_t interval_ns = cli->replay->interval_ns;
	struct human h;

	cli->replay->group_ns = o->interval_ns;
	human_value(&h, (double)interval_ns / 1e9, "s");
	if (wrong)
		cli_error("%s is for counting, which the recording has behind it; uncore report "
			  "--begin and --end choose a part of it",
			  wrong);
	else if (o->interval_ns % interval_ns)
		cli_error("the recording has intervals of %s %s: -I must be a multiple of that",
			  h.number, h.unit);
	else if (o->sample_ns && o->sample_ns != interval_ns)
		cli_error("the short samples of a recording are its intervals: --sample %s%s",
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

static void report_missed(const struct replay *replay)
{
	if (replay && replay->missed)
		cli_error(
			"%llu interval%s missed when this was recorded; the next interval has the "
			"counts of a missed one",
			(unsigned long long)replay->missed,
			replay->missed == 1 ? " was" : "s were");
}

int stat_run(struct cli *cli, const struct stat_options *o)
{
	struct run r = {.cli = cli,
			.o = o,
			.ticks = {.fd = -1},
			.timer_fd = -1,
			.signals = {.stop_fd = -1, .child_fd = -1}};
	int status = cli->replay ? begin_replay(cli, o) : CLI_OK;

	if (!status)
		status = stat_plan(cli, o, &r.monitor);
	if (status)
		return status;
	if (o->dry_run)
		return dry_run(cli, o, r.monitor);
	status = control_open(&r.control, o->control);
	if (!status && o->recorder && o->recorder->to_file)
		control_listen(&r.control, o->file);
	if (!status && o->cpu)
		status = stat_pin(cli, o->cpu);
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
	report_missed(cli->replay);
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
	free(r.rounds);
	out_free(&r.out);
	buffer_free(&r.command);
	if (!status)
		status = r.out.status;
	/* Ctrl-C is how monitoring without a command ends: that is success, 0. */
	return r.command_status ? r.command_status : status;
}

/* SPDX-License-Identifier: MIT */
/* `uncore record`: counting as stat does it, into recordings that are rotated. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "commands/alarm.h"
#include "commands/stat.h"
#include "loop/loop.h"
#include "record/recording.h"
#include "record/who.h"

struct record {
	struct stat_options stat; /* first: the offsets of its options are from there */
	struct {
		const char *path;
		bool append;
		uint64_t rotate_size, rotate_age_ns, keep; /* 0: none */
		uint64_t flight_ns; /* time kept in memory; 0: no flight recorder */
		uint64_t after_ns;  /* the delay of writing */
	} o;
	struct cli *cli;
	const struct uncore_monitor *monitor;
	struct record_who who;
	struct recording file;
	struct recording_head head;
	const char *meta[20];
	char memory_peak[40];
	bool open, append, failed;
	bool paused;                    /* a session has ended, and the next has not begun */
	uint64_t wall_ns, monotonic_ns; /* of the latest tick */
	struct trigger trigger;
	struct buffer devices;       /* metrics of devices that are recorded by default */
	const char *why;             /* why the flight recorder must write, */
	uint64_t trigger_ns;         /* since then */
	uint64_t begin_ns;           /* of this file: its first interval */
	uint64_t intervals, rotated; /* in all files */
};

static volatile sig_atomic_t asked; /* SIGUSR2 requests to write the intervals in memory */

static void ask(int sig)
{
	asked = sig;
}

static int fail(struct record *r)
{
	r->failed = true;
	cli_error("%s", r->file.error);
	return CLI_RUNTIME;
}

static int create(struct record *r)
{
	int err;

	r->head.append = r->append;
	r->append = false; /* the files after it are new */
	err = recording_create(&r->file, r->o.path, &r->head);
	r->open = true;
	r->begin_ns = UINT64_MAX;
	if (!err && r->who.by)
		err = record_who_begin(&r->who, &r->file);
	if (!err)
		return CLI_OK;
	fail(r);
	return err == -EEXIST ? CLI_USAGE : CLI_RUNTIME;
}

static int open_record(void *context, const struct uncore_monitor *m)
{
	struct record *r = context;
	const struct request *request = &r->stat.request;
	const char *network = r->o.flight_ns ? NULL : recording_network(r->o.path);
	const char **pair = r->meta;
	bool simulated = uncore_is_simulated(r->cli->u);

	r->monitor = m;
	r->append = r->o.append;
	if (network)
		cli_error("note: %s is on %s, where file locks may not exclude other writers; no "
			  "other process can read it before recording ends",
			  r->o.path, network);
	*pair++ = "uncore";
	*pair++ = uncore_version();
	*pair++ = "host";
	*pair++ = cli_host(r->cli);
	*pair++ = "source";
	*pair++ = uncore_source(r->cli->u);
	*pair++ = "simulated";
	*pair++ = simulated ? "1" : "0";
	*pair++ = "snapshot";
	*pair++ = r->cli->snapshot;
	if (r->cli->memory_peak > 0) {
		snprintf(r->memory_peak, sizeof(r->memory_peak), "%.17g", r->cli->memory_peak);
		*pair++ = "memory_peak";
		*pair++ = r->memory_peak;
	}
	r->head = (struct recording_head){.meta = r->meta,
					  .command_line = r->cli->command_line,
					  .interval_ns = request->when.interval_ns,
					  .sample_ns = request->sample_ns,
					  .above = request->sample_ns ? request_above(request) : 0,
					  .in_memory = r->o.flight_ns > 0,
					  .monitor = m};
	return create(r);
}

/* Renames a recording, or removes it (`to` is NULL), with its log, which exists while another
 * process reads it. The file may be missing, since the user may have moved it. */
static int move_file(const char *from, const char *to)
{
	static const char *const parts[] = {"-wal", "-shm", ""};
	auto_buffer old = {0}, new = {0};
	int err = 0;

	for (size_t i = 0; !err && i < sizeof(parts) / sizeof(*parts); i++) {
		old.len = new.len = 0;
		buffer_printf(&old, "%s%s", from, parts[i]);
		buffer_printf(&new, "%s%s", to ? to : "", parts[i]);
		err = to ? rename(old.data, new.data) : unlink(old.data);
		err = err && errno != ENOENT ? -errno : 0;
	}
	return err ? cli_failure(CLI_RUNTIME, "%s: cannot be renamed: %s", from, strerror(-err))
		   : CLI_OK;
}

/* Renames FILE.N to FILE.N+1, and FILE to FILE.1. Only --keep removes files. */
static int shift_files(const struct record *r)
{
	auto_buffer from = {0}, to = {0};
	uint64_t last = 1;
	int status = CLI_OK;

	for (;; last++) {
		to.len = 0;
		buffer_printf(&to, "%s.%llu", r->o.path, (unsigned long long)last);
		if (access(to.data, F_OK))
			break;
	}
	for (; !status && last; last--) {
		from.len = to.len = 0;
		buffer_printf(&to, "%s.%llu", r->o.path, (unsigned long long)last);
		if (last > 1)
			buffer_printf(&from, "%s.%llu", r->o.path, (unsigned long long)last - 1);
		else
			buffer_puts(&from, r->o.path);
		status = move_file(from.data, r->o.keep && last > r->o.keep ? NULL : to.data);
	}
	return status;
}

/* Whether the file is full: the next interval belongs into a new one. */
static bool is_due(struct record *r)
{
	if (r->o.flight_ns || r->begin_ns == UINT64_MAX)
		return false;
	return (r->o.rotate_age_ns && r->monotonic_ns - r->begin_ns >= r->o.rotate_age_ns) ||
	       (r->o.rotate_size && recording_size(&r->file) >= r->o.rotate_size);
}

/* Begins a new file when there is an interval for it, so that no file is without one. The last
 * readings of a file are also the first ones of the next file. */
static int rotate(struct record *r)
{
	auto_buffer name = {0};
	struct recording before;
	int err = record_who_end(&r->who, &r->file), status;

	if (!err)
		err = recording_end(&r->file, r->paused ? "disabled" : "rotated");
	if (err) {
		r->intervals -= r->file.batch_count;
		return fail(r);
	}
	recording_close_file(&r->file);
	before = r->file;
	r->open = false;
	r->rotated++;
	status = shift_files(r);
	if (!status)
		status = create(r);
	buffer_printf(&name, "%s.1", r->o.path);
	if (!status && access(name.data, F_OK) == 0 && recording_copy_marks(&r->file, name.data))
		status = fail(r);
	if (!status && recording_continue(&r->file, &before))
		status = fail(r);
	recording_close(&before);
	return status;
}

static int start_record(void *context, bool again)
{
	struct record *r = context;
	int status = CLI_OK;

	(void)again;
	if (r->paused && is_due(r))
		status = rotate(r);
	else if (r->paused && recording_resume(&r->file, &r->head))
		status = fail(r);
	r->paused = false;
	r->who.from_ns = cli_clock_ns(CLOCK_REALTIME);
	return status ? status : recording_start(&r->file, r->monitor) ? fail(r) : CLI_OK;
}

/* Writes the intervals in memory; an older file is renamed. */
static int write_flight(struct record *r, const char *why)
{
	int status = r->rotated ? shift_files(r) : CLI_OK;

	if (status)
		return status;
	if (flight_write(&r->file, r->o.path))
		return fail(r);
	r->rotated++;
	r->why = NULL;
	cli_error("%s: written (%s)", r->o.path, why);
	return CLI_OK;
}

static int fly(struct record *r, const struct uncore_sample *sample)
{
	uint64_t end_ns = uncore_sample_end_ns(sample), keep_ns = r->o.flight_ns;
	bool fired = false, by_signal = asked != 0;
	int err = r->stat.request.condition ? trigger_update(&r->trigger, sample, &fired) : 0;

	asked = 0;
	if (err) {
		r->failed = true;
		return trigger_fail(&r->trigger, err);
	}
	if (!r->why && (fired || by_signal)) {
		r->why = fired ? r->stat.request.condition : "SIGUSR2";
		r->trigger_ns = end_ns;
	}
	keep_ns += r->why ? end_ns - r->trigger_ns : 0;
	if (flight_trim(&r->file, end_ns > keep_ns ? end_ns - keep_ns : 0))
		return fail(r);
	return r->why && end_ns - r->trigger_ns >= r->o.after_ns ? write_flight(r, r->why) : CLI_OK;
}

static int add_window(void *context, const struct frame *f)
{
	struct record *r = context;
	int status = is_due(r) ? rotate(r) : CLI_OK;

	if (status)
		return status;
	if (r->begin_ns == UINT64_MAX)
		r->begin_ns = uncore_sample_begin_ns(f->sample);
	if (record_who_take(&r->who, &r->file))
		return fail(r);
	if (r->who.ended && !r->who.any)
		return self_failure(&r->who.self);
	r->wall_ns = f->wall_ns;
	r->monotonic_ns = f->monotonic_ns;
	r->intervals++;
	if (recording_add(&r->file, r->monitor, f->sample)) {
		r->intervals -= r->file.batch_count;
		return fail(r);
	}
	return r->o.flight_ns ? fly(r, f->sample) : CLI_OK;
}

static int control_record(void *context, const struct control_request *q, const char **refused)
{
	struct record *r = context;
	/* In a simulation with steps the time is that of its readings. */
	bool stepped = uncore_is_simulated(r->cli->u) &&
		       strstr(uncore_source(r->cli->u), ",step=") != NULL;
	int err = 0;

	if (q->command == CONTROL_DISABLE) {
		err = recording_pause(&r->file, "disabled");
		r->paused = true;
	} else if (q->command == CONTROL_MARK) {
		err = recording_mark(&r->file, stepped ? r->wall_ns : q->wall_ns,
				     stepped ? r->monotonic_ns : q->monotonic_ns, q->text);
	} else if (!r->o.flight_ns) {
		*refused = "snapshot needs --flight: without it everything is written";
	} else if (!r->intervals) {
		*refused = "snapshot: no interval has ended yet";
	} else {
		return write_flight(r, "snapshot");
	}
	return err ? fail(r) : CLI_OK;
}

/* A file without an interval would be no recording, and in the way of the next one. */
static void remove_empty(const struct record *r)
{
	move_file(r->o.path, NULL);
	cli_error("%s: nothing was recorded: no interval has ended", r->o.path);
}

static int end_record(struct record *r, int status)
{
	int err = 0;

	if (r->why && !status && !r->failed)
		status = write_flight(r, r->why);
	/* After an error the committed data are kept. */
	if (r->open && !r->failed)
		err = record_who_finish(&r->who, &r->file);
	if (r->open && !r->failed && !err)
		err = recording_end(&r->file, r->paused ? "disabled" : "complete");
	if (err) {
		r->intervals -= r->file.batch_count;
		status = fail(r);
	}
	if (r->open && r->file.created && !r->intervals && !r->failed)
		remove_empty(r);
	else if (r->open && !r->o.flight_ns && (r->intervals || !r->failed))
		cli_error("%s: recorded %llu interval%s in %llu file%s", r->o.path,
			  (unsigned long long)r->intervals, r->intervals == 1 ? "" : "s",
			  (unsigned long long)r->rotated + 1, r->rotated ? "s" : "");
	record_who_close(&r->who);
	if (r->open)
		recording_close(&r->file);
	trigger_free(&r->trigger);
	return status;
}

static void say_interrupted(int sig)
{
	static const char text[] =
		"uncore: ended by a signal before counting began: nothing was recorded\n";
	ssize_t n = write(STDERR_FILENO, text, sizeof(text) - 1);

	(void)n;
	signal(sig, SIG_DFL);
	raise(sig); /* when this function returns */
}

/* Before the loop blocks signals, the machine is scanned, which may take seconds. There is no
 * file yet. */
static void prepare_signals(void)
{
	static const int stops[] = {SIGINT, SIGTERM, SIGHUP};
	const struct sigaction action = {.sa_handler = say_interrupted};
	struct sigaction old;

	for (size_t i = 0; i < sizeof(stops) / sizeof(*stops); i++)
		if (sigaction(stops[i], NULL, &old) == 0 && old.sa_handler == SIG_DFL)
			sigaction(stops[i], &action, NULL);
}

/* Chooses the default presets that this machine can count. */
static void choose_presets(struct cli *cli, struct stat_options *o)
{
	for (const struct command *c = cli->presets; c->name; c++)
		if (c->recorded && plan_is_countable(cli, NULL, c->metrics))
			stat_add_preset(o, c);
}

/* Whether the screen shows another metric in place of this one, of the same family. */
static bool is_hidden(struct uncore *u, const struct uncore_metric *metric,
		      const struct view_cell *cell)
{
	for (size_t i = 0; i < uncore_metric_count_here(u); i++) {
		const struct uncore_metric *other = uncore_metric_at(u, i);
		struct view_cell at;

		if (uncore_metric_missing(other) ||
		    !cli_same(uncore_metric_family(other), uncore_metric_family(metric)))
			continue;
		at = cli_view_cell(u, uncore_metric_name(other));
		if (at.view == cell->view && at.column == cell->column && at.rank < cell->rank)
			return true;
	}
	return false;
}

/* Devices that count themselves take no counters of a PMU: all that a screen shows of them is
 * recorded. */
static void choose_devices(struct record *r)
{
	struct uncore *u = r->cli->u;
	struct request *request = &r->stat.request;

	for (size_t i = 0; i < uncore_metric_count_here(u); i++) {
		const struct uncore_metric *metric = uncore_metric_at(u, i);
		struct view_cell cell;

		if (!uncore_metric_is_of_device(metric) || uncore_metric_missing(metric))
			continue;
		cell = cli_view_cell(u, uncore_metric_name(metric));
		if (!cell.view || is_hidden(u, metric, &cell))
			continue;
		buffer_printf(&r->devices, "%s%s/%s", r->devices.len ? "," : "",
			      uncore_metric_family(metric), uncore_metric_name(metric));
	}
	if (!r->devices.len)
		return;
	request->queries = cli_realloc(NULL, 1, sizeof(*request->queries));
	request->queries[request->query_count++] = (struct request_query){r->devices.data, true};
}

/* Checks and prepares --flight and --when before counting. */
static int prepare_flight(struct record *r)
{
	const struct sigaction action = {.sa_handler = ask, .sa_flags = SA_RESTART};
	const struct request *request = &r->stat.request;

	if ((request->condition && !request->exec && !r->o.flight_ns) ||
	    (r->o.after_ns && !r->o.flight_ns))
		cli_error("--when needs --flight or --exec, and --after needs --flight");
	else if (r->o.flight_ns && (r->o.append || r->o.rotate_size || r->o.rotate_age_ns))
		cli_error("--flight excludes --append, --rotate-size and --rotate-age");
	else if (r->o.flight_ns && r->who.by)
		cli_error("--flight and --who exclude each other");
	else if (request->condition && !trigger_parse(&r->trigger, request->condition))
		return trigger_refuse(request->condition);
	else if (r->o.flight_ns && access(r->o.path, F_OK) == 0)
		cli_error("%s: the file exists: choose another one", r->o.path);
	else
		return r->o.flight_ns && sigaction(SIGUSR2, &action, NULL) ? CLI_RUNTIME : CLI_OK;
	return CLI_USAGE;
}

static void check(void *into, struct argp_state *state)
{
	const struct record *r = into;

	if (!r->o.path)
		argp_error(state, "a recording needs a file: -o FILE");
}

static const char doc[] =
	"Records the readings of counters, and the values of metrics and events, into a file: an "
	"SQLite database, one interval after another (1 s).\v"
	"PRESET selects the metrics of mem, pcie, link, cache, power or matrix. Without PRESET, -M and "
	"-e: those of mem, pcie, link "
	"and power that this machine has, and what a screen shows of its devices. Recording ends with Ctrl-C, "
	"SIGTERM, --timeout, COUNT intervals or COMMAND.";

int cmd_record(struct cli *cli, int argc, char **argv)
{
#define AT(member) offsetof(struct record, o.member)
	static const struct cli_option more[] = {
		{NULL, NULL, "What to count (default: mem, pcie, link and power):", 0, 1, 0, 0},
		{"output", "FILE", "The recording, a file that does not exist yet", 'o', 4,
		 OPTION_TEXT, AT(path)},
		{"append", NULL, "Add to FILE, a recording of the same counters", 0, 4, OPTION_FLAG,
		 AT(append)},
		{"rotate-size", "SIZE", "Begin a new file at this size (100MB)", 0, 4, OPTION_SIZE,
		 AT(rotate_size)},
		{"rotate-age", "TIME", "Begin a new file after this time (1h)", 0, 4, OPTION_TIME,
		 AT(rotate_age_ns)},
		{"keep", "N", "Keep the latest N renamed files, FILE.1 to FILE.N", 0, 4,
		 OPTION_COUNT, AT(keep)},
		{"flight", "TIME",
		 "Keep the last TIME in memory; write it at SIGUSR2, or when the condition of "
		 "--when is met",
		 0, 4, OPTION_TIME, AT(flight_ns)},
		{"after", "TIME",
		 "With --flight: write the file TIME after the signal or the condition", 0, 4,
		 OPTION_TIME, AT(after_ns)},
		{"who", "KEY",
		 "Also the rows of `uncore who` by KEY: process, cgroup, unit, container, job or user",
		 0, 1, OPTION_TEXT, offsetof(struct record, who.by)},
		{0},
	};
	static const struct cli_syntax syntax = {
		.doc = doc,
		.args = "[FILE] [PRESET ...] [INTERVAL [COUNT]] [-- COMMAND ...]",
		.options = more,
		.check = check};
	struct record r = {.cli = cli,
			   .stat = {.known_presets = cli->presets,
				    .file = &r.o.path,
				    .takes_condition = true,
				    .default_interval_ns = NS_PER_S,
				    .print.output = output_find("text")}};
	struct request *request = &r.stat.request;
	struct sink sink = {.context = &r,
			    .live = "record",
			    .opened = open_record,
			    .start = start_record,
			    .take = add_window,
			    .control = control_record};
	int status;

	stat_parse(cli, &r.stat, &syntax, argc, argv);
	r.stat.trigger = r.o.flight_ns && request->condition ? &r.trigger : NULL;
	cli->take_snapshot = uncore_snapshot_to_record;
	sink.file = r.o.path;
	status = prepare_flight(&r);
	prepare_signals();
	if (!status)
		status = cli_open(cli);
	/* Levels of rows that need no further counters. */
	request->levels = 1u << UNCORE_LEVEL_MACHINE | 1u << UNCORE_LEVEL_CHANNEL;
	if (!status && uncore_socket_count(cli->u) > 1)
		request->levels |= 1u << UNCORE_LEVEL_SOCKET;
	if (!status && !request->preset_count && !request->query_count) {
		choose_presets(cli, &r.stat);
		choose_devices(&r);
	}
	if (!status && r.who.by && !r.stat.dry_run)
		status = record_who_open(&r.who, cli, request->when.interval_ns);
	if (!status)
		status = stat_count(cli, &r.stat, &sink);
	status = end_record(&r, status);
	free(request->queries);
	buffer_free(&r.devices);
	return status;
}

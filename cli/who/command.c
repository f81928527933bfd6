/* SPDX-License-Identifier: MIT */
/* `uncore who`: groups of resctrl for the processes, cgroups, units, containers or jobs that may
 * move most, until it ends. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/writer.h"
#include "commands/options.h"
#include "loop/loop.h"
#include "who/who.h"

/* The least use is measured over this time before the first groups are given away. */
#define FIRST_WINDOW_NS (250 * NS_PER_MS)
/* More groups are seldom needed, and reading each takes an interrupt on a CPU of each cache. */
#define DEFAULT_GROUPS 32
#define MOST_GROUPS 1024
/* For so long ids of removed groups are waited for. */
#define WAIT_NS (3 * NS_PER_S)
#define PAUSE_NS (100 * NS_PER_MS)

#define WHO_GROUPS OWNER_MOVED "," OWNER_LOCAL "," OWNER_REMOTE "," OWNER_CACHE
#define WHO_DISKS WHO_DISKS_READ "," WHO_DISKS_WRITTEN

struct who_options {
	const char *by, *textfile;
	uint64_t interval_ns, count, top, groups;
	bool dry_run, clean, verbose, io;
	struct print_options print;
	enum who_by kind;
};

static const char who_doc[] =
	"Shows which processes, cgroups, systemd units, containers, jobs or users move data "
	"between the last-level caches and memory, and how much of the caches they fill. The "
	"kernel's resctrl counts that for groups of tasks.\v"
	"Makes groups in /sys/fs/resctrl/mon_groups, named uncore-PID-NUMBER, moves tasks into "
	"them, and removes them at the end: this command changes the machine. Tasks in groups of "
	"others stay there. What was killed with SIGKILL leaves its groups; the next run removes "
	"them, or --clean.";

#define AT(member) offsetof(struct who_options, member)

static const struct cli_option options[] = {
	{NULL, NULL, "What is shown:", 0, 1, 0, 0},
	{"by", "KEY", "process (default), cgroup, unit, container, job or user", 'b', 1,
	 OPTION_TEXT, AT(by)},
	{"top", "N", "Only the N that move most; the others are one line", 0, 1, OPTION_COUNT,
	 AT(top)},
	{"io", NULL,
	 "Also what processes read from and write to storage, and how they use GPUs. Without "
	 "resctrl only this is shown",
	 0, 1, OPTION_FLAG, AT(io)},
	{NULL, NULL, "When, and with what:", 0, 2, 0, 0},
	{"interval", "TIME", "Print every TIME (milliseconds, or with a unit; default 1s)", 'I', 2,
	 OPTION_INTERVAL, AT(interval_ns)},
	{"count", "N", "End after N intervals", 'n', 2, OPTION_COUNT, AT(count)},
	{"groups", "N", "Make at most N groups (default 32, and one id stays free)", 0, 2,
	 OPTION_COUNT, AT(groups)},
	{"dry-run", NULL, "Show which groups would be made, and for whom; make none", 0, 2,
	 OPTION_FLAG, AT(dry_run)},
	{"clean", NULL, "Remove groups that killed processes of uncore have left, and end", 0, 2,
	 OPTION_FLAG, AT(clean)},
	{NULL, NULL, "Output:", 0, 4, 0, 0},
	{"output", "FILE", "Write to FILE instead of standard output", 'o', 4, OPTION_TEXT,
	 AT(print.file)},
	{"textfile", "FILE",
	 "Write sums for node_exporter's textfile collector to FILE (.prom), in place of a table",
	 0, 4, OPTION_TEXT, AT(textfile)},
	{"timestamp", NULL, "Print dates instead of the time since the start", 0, 4, OPTION_FLAG,
	 AT(print.timestamp)},
	{"verbose", NULL, "Print all notes", 'v', 4, OPTION_FLAG, AT(verbose)},
	{0},
};

#define PROM ".prom"

/* The sums are written to standard output. */
static bool is_piped(const struct who_options *o)
{
	return o->textfile && strcmp(o->textfile, "-") == 0;
}

static void check(void *into, struct argp_state *state)
{
	struct who_options *o = into;
	size_t kind = o->by ? cli_word(who_by_words, o->by) : BY_PROCESS;

	if (!who_by_words[kind])
		argp_error(state,
			   "--by %s: it is not process, cgroup, unit, container, job or user",
			   o->by);
	o->kind = (enum who_by)kind;
	/* Those have columns or charts for the rows of the first interval. */
	if (o->print.output && (o->print.output->begin || o->print.output->window))
		argp_error(state,
			   "who has other rows in each interval: it prints text, --json or --csv");
	if (is_piped(o) && (o->print.output || o->print.file))
		argp_error(state, "--textfile - excludes other outputs");
	if (o->textfile && !is_piped(o) &&
	    (strlen(o->textfile) < strlen(PROM) ||
	     strcmp(o->textfile + strlen(o->textfile) - strlen(PROM), PROM) != 0))
		argp_error(state,
			   "--textfile: '%s' does not end in .prom: node_exporter reads no other "
			   "files",
			   o->textfile);
	if ((o->dry_run || o->clean) && (o->print.output || o->print.file || o->textfile))
		argp_error(state,
			   "--dry-run and --clean print text to standard output: they exclude "
			   "other outputs");
	if (o->groups > MOST_GROUPS)
		argp_error(state, "--groups: at most %d", MOST_GROUPS);
}

/* ---- groups end with the process, however it ends ---- */

static struct uncore_groups *made;

static void remove_groups(void)
{
	uncore_groups_free(made);
	made = NULL;
}

/* ---- the sink ---- */

static struct sink *print_of(void *context)
{
	return &((struct who *)context)->print.sink;
}

static int open_sink(void *context)
{
	return print_of(context)->open(print_of(context)->context);
}

/* Groups that others make and remove are scanned no more often than this. */
#define RESCAN_NS (5 * NS_PER_S)

/* Counts with another monitor from now on. */
static int opened(void *context, const struct uncore_monitor *m)
{
	struct who *w = context;

	w->monitor = (struct uncore_monitor *)m;
	w->scanned_ns = cli_now_ns();
	return CLI_OK;
}

static const struct request *next_request(void *context)
{
	struct who *w = context;

	return w->pool.changed && cli_now_ns() - w->scanned_ns >= RESCAN_NS ? &w->request : NULL;
}

static void planned_again(void *context, const char *why)
{
	(void)context;
	(void)why;
}

/* The groups get their tasks before it is printed, which may take long. */
static int take(void *context, const struct frame *f)
{
	struct who *w = context;
	struct frame made_frame = *f;
	int status = pool_look(&w->pool), err;

	if (status)
		return status;
	w->rest = pool_rest(&w->pool);
	who_make_rows(w, f);
	status = pool_assign(&w->pool);
	if (!status && (err = uncore_monitor_begin_groups(w->monitor)) < 0)
		status = cli_fail(w->cli, err);
	if (!status && w->textfile.path)
		status = who_textfile_add(w, f);
	if (status || w->silent)
		return status;
	made_frame.recorded = w->rows;
	made_frame.row_count = w->row_count;
	made_frame.origins = w->origins;
	w->print.sink.stop_fd = w->sink.stop_fd;
	return print_of(w)->take(print_of(w)->context, &made_frame);
}

static int end(void *context)
{
	return print_of(context)->end(print_of(context)->context);
}

/* ---- counting ---- */

/* Chooses by a short time, and gives the groups to the first ones. */
static int begin(struct pool *p, int stop_fd)
{
	int status = pool_look(p);

	if (!status)
		cli_sleep_until(cli_now_ns() + FIRST_WINDOW_NS, stop_fd);
	if (!status)
		status = pool_look(p);
	return status ? status : pool_assign(p);
}

static int count_all(struct who *w, const struct who_options *o, int stop_fd)
{
	/* A file of sums has nothing of the controllers, which need a permission of their own. */
	static const struct command plain = {.metrics = WHO_GROUPS},
				    compared = {.metrics = WHO_GROUPS ",and," WHO_CONTROLLERS},
				    all = {.metrics = WHO_GROUPS ",and," WHO_CONTROLLERS
								 ",and," WHO_DISKS},
				    io = {.metrics = WHO_DISKS ",else,*"};
	const struct command *metrics = !w->pool.groups ? &io
					: w->silent     ? &plain
					: w->usage      ? &all
							: &compared;
	w->request = (struct request){
		.preset = metrics,
		.viewed = true,
		.default_level = UNCORE_LEVEL_MACHINE,
		.levels = w->pool.groups && uncore_socket_count(w->cli->u) > 1
				  ? 1u << UNCORE_LEVEL_SOCKET
				  : 0,
		.rescan = true,
		.ends_with_reader = !o->print.file && (!w->silent || is_piped(o)),
		.undone = true,
		.verbose = o->verbose,
		.when = {.interval_ns = o->interval_ns, .interval_count = o->count}};
	struct uncore_monitor *m = NULL;
	struct sink *sinks[] = {&w->sink, NULL};
	int status;

	w->sink = (struct sink){.context = w,
				.stop_fd = -1,
				.open = open_sink,
				.opened = opened,
				.take = take,
				.next_request = next_request,
				.planned_again = planned_again,
				.end = end};
	print_init(&w->print, w->cli, &w->request, &o->print);
	status = loop_plan(w->cli, &w->request, sinks, &m);
	if (!status)
		status = begin(&w->pool, stop_fd);
	if (!status)
		status = loop_run(w->cli, &w->request, sinks, m);
	else
		uncore_monitor_free(m);
	return print_close(&w->print, status);
}

/* Makes the groups. The ids of groups that were removed just before are not free at once: the
 * kernel looks every second. Returns 0 or an error of uncore_groups_new(). */
static int make_groups(struct cli *cli, const struct who_options *o, int stop_fd)
{
	uint64_t until_ns = cli_now_ns() + WAIT_NS;
	bool told = !o->verbose;

	for (;;) {
		int err = made ? 0 : uncore_groups_new(&made, cli->u, o->groups);

		if (!err)
			err = uncore_groups_grow(made);
		if (!err || (err < 0 && err != -EBUSY) || cli_now_ns() >= until_ns)
			return err < 0 ? err : 0;
		if (!told)
			cli_error("note: waits up to %d s: %s", (int)(WAIT_NS / NS_PER_S),
				  made ? uncore_groups_limit(made) : uncore_error(cli->u));
		told = true;
		if (cli_sleep_until(cli_now_ns() + PAUSE_NS, stop_fd))
			return err < 0 ? err : 0;
	}
}

/* Whether what remains without groups is shown: where no groups can be made on this machine, or the
 * user asks for more than groups. Another machine's processes are not known. */
static bool remains(const struct cli *cli, const struct who_options *o, int err)
{
	bool running = !cli->root && cli_same(uncore_source(cli->u), "kernel");

	return running && (o->io || err == -ENODEV || err == -EOPNOTSUPP) && err != -ENOMEM;
}

static void note_groups(const struct cli *cli, const struct who_options *o, int err)
{
	if (err)
		cli_error("note: %s. Without groups only storage and GPUs are shown; on AMD and "
			  "Arm 'uncore latency --ibs (Arm: --spe) --by process --from memory' "
			  "samples loads",
			  uncore_error(cli->u));
	else if (uncore_groups_count(made) < o->groups && o->verbose)
		cli_error("note: %zu groups were made: %s", uncore_groups_count(made),
			  uncore_groups_limit(made));
}

/* Makes the groups, and opens what reads the processes. An exit code. */
static int open_all(struct who *w, const struct who_options *o, struct usage *usage, int stop_fd)
{
	struct cli *cli = w->cli;
	int err = make_groups(cli, o, stop_fd), status;

	if (err && !remains(cli, o, err))
		return cli_fail(cli, err);
	status = pool_open(&w->pool, cli, o->kind, err ? 0 : uncore_groups_count(made));
	if (status)
		return err ? cli_fail(cli, err) : status;
	note_groups(cli, o, err);
	w->pool.groups = made;
	if (o->io || err) {
		usage_open(usage, cli->u, cli->root);
		w->usage = w->pool.usage = usage;
	}
	err = uncore_scan(cli->u);
	return err ? cli_fail(cli, err) : CLI_OK;
}

/* Signals wait from here on until the groups are removed. */
static int run(struct cli *cli, const struct who_options *o)
{
	struct who w = {.cli = cli,
			.by = o->kind,
			.top = o->top,
			.pool.tasks.proc = -1,
			.textfile.path = o->textfile,
			.silent = o->textfile && o->print.output == &who_table};
	struct signals signals;
	struct usage usage = {0};
	int status = signals_open(&signals, true);

	if (status)
		return status;
	atexit(remove_groups);
	status = open_all(&w, o, &usage, signals.stop_fd);
	if (!status)
		status = count_all(&w, o, signals.stop_fd);
	remove_groups();
	who_textfile_end(&w.textfile);
	pool_close(&w.pool);
	usage_close(&usage);
	free(w.rows);
	free(w.places);
	free(w.sums);
	free(w.origins);
	buffer_free(&w.other);
	buffer_free(&w.reason);
	signals_close(&signals);
	return status;
}

/* ---- without groups ---- */

static void put_found(void *context, const char *name)
{
	buffer_printf(context, "%s\n", name);
}

static int clean(struct cli *cli, const struct who_options *o)
{
	auto_buffer text = {0};
	int count = uncore_groups_clean(cli->u, o->dry_run, put_found, &text);

	if (count < 0)
		return cli_fail(cli, count);
	if (count)
		buffer_printf(&text, "%d group%s of processes that have ended %s.\n", count,
			      count == 1 ? "" : "s", o->dry_run ? "would be removed" : "removed");
	else
		buffer_puts(&text, "No group of an ended process is left.\n");
	return writer_print(&text);
}

static int dry_run(struct cli *cli, const struct who_options *o)
{
	static const struct table_column columns[] = {
		{"GROUP", 0}, {"WHO", 0}, {"PROCESSES", TABLE_RIGHT}, {"CPU", TABLE_RIGHT}, {0}};
	auto_buffer text = {0};
	auto_table t = {0};
	struct pool pool;
	size_t most, slots;
	int err = uncore_groups_most(cli->u, &most), status;

	if (err)
		return cli_fail(cli, err);
	slots = most < o->groups ? most : (size_t)o->groups;
	status = pool_open(&pool, cli, o->kind, slots);
	if (!status)
		status = begin(&pool, -1);
	table_init(&t, columns);
	for (size_t i = 0; !status && i < slots; i++) {
		const struct who_key *k = pool_owner(&pool, i);

		table_cell(&t, "uncore-PID-%zu", i);
		table_cell(&t, "%s", k ? k->label : "-");
		table_cell(&t, "%zu", k ? k->processes : 0);
		table_cell(&t, "%.0f %%", k ? 100 * k->cpu : 0);
		table_end_row(&t, NULL);
	}
	table_print(&t, &text);
	buffer_puts(&text,
		    "Tasks in groups of others stay there, also those of processes above.\n");
	pool_close(&pool);
	return status ? status : writer_print(&text);
}

int cmd_who(struct cli *cli, int argc, char **argv)
{
	static const struct cli_syntax syntax = {.doc = who_doc,
						 .options = options,
						 .outputs = OUTPUTS_RECORDS,
						 .outputs_group = 4,
						 .outputs_at = AT(print.output),
						 .check = check};
	struct who_options o = {
		.interval_ns = NS_PER_S, .groups = DEFAULT_GROUPS, .print.separator = ","};
	int status;

	cli_parse(cli, &syntax, &o, argc, argv);
	if (!o.print.output)
		o.print.output = &who_table;
	status = cli_prepare(cli);
	if (status)
		return status;
	if (o.clean)
		return clean(cli, &o);
	return o.dry_run ? dry_run(cli, &o) : run(cli, &o);
}

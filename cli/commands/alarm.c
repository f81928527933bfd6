/* SPDX-License-Identifier: MIT */
#include "commands/alarm.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/rights.h"
#include "commands/options.h"
#include "output/place.h"

#define SHELL "/bin/sh"
#define SAID_ROOM 4096 /* bytes of output that are repeated */
#define UNIT_BEGINS "abcdfghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ\302"
#define LAST_WAIT_NS (5 * NS_PER_S) /* after the loop, for a command that still runs */

extern char **environ;

/* ---- the condition ---- */

bool trigger_parse(struct trigger *t, const char *text)
{
	static const struct argp none;
	struct argp_state state = {
		.root_argp = &none, .name = (char[]){"uncore"}, .err_stream = stderr};
	char operator[3] = "", rest[40] = "";
	const char *begin;
	int length = 0;

	*t = (struct trigger){0};
	if (sscanf(text, " %255[^ <>] %2[<>=] %n", t->name, operator, & length) < 2 ||
	    operator[0] == '=' ||(operator[1] && operator[1] != '='))
		return false;
	t->below = operator[0] == '<';
	text += length;
	begin = text;
	if (!cli_number(&text, &t->limit))
		return false;
	snprintf(t->number, sizeof(t->number), "%.*s", (int)(text - begin), begin);
	text += strspn(text, " ");
	t->share = *text == '%';
	if (t->share)
		t->limit /= 100;
	text += t->share;
	/* A letter, but not the begin of an exponent */
	if (!t->share && strncmp(text, "for ", 4) != 0 && strcspn(text, UNIT_BEGINS) == 0 &&
	    *text && sscanf(text, "%15s%n", t->unit, &length) == 1)
		text += length;
	if (sscanf(text, " for %39s %n", rest, &length) == 1) {
		t->for_ns = cli_time(&state, "for", rest, 0, 0);
		text += length;
	}
	return !*text;
}

/* ---- whether it can be met ---- */

/* Numbers without a unit that are unlikely in the base unit of a metric. */
static const struct likely {
	const char *unit;
	double least, most; /* of likely numbers; 0 is always likely */
	const char *with;   /* what the user probably means */
} likely[] = {
	{"B/s", 1e6, INFINITY, "GB/s"},
	{"Hz", 1e6, INFINITY, "GHz"},
	{"s", 0, 0.1, "ns"},
	{"ratio", 0, 1, "%"},
	{"", 0, 0, ""},
};

/* No planned row has this name: adding the metric says why not, or that -M is needed. */
static int refuse_name(const struct trigger *t, struct cli *cli)
{
	struct uncore_monitor *m = NULL;
	int err = uncore_monitor_new(&m, cli->u);

	if (!err)
		err = uncore_monitor_add_metrics(m, t->name);
	uncore_monitor_free(m);
	if (err == -ENOMEM)
		return cli_fail(cli, err);
	if (err)
		return cli_failure(err == -ENODEV ? CLI_UNAVAILABLE : CLI_USAGE, "--when: %s",
				   uncore_error(cli->u));
	return cli_failure(CLI_USAGE, "--when: '%s' is not among what is counted: add -M %s",
			   t->name, t->name);
}

/* The last row is for other units. */
static const struct likely *likely_in(const char *unit)
{
	const struct likely *l = likely;

	while (*l->unit && strcmp(l->unit, unit) != 0)
		l++;
	return l;
}

/* A metric of this machine that is the share itself: it stands in the share's column of the view
 * that has the metric. NULL: no view has it. */
static const char *find_share(struct cli *cli, const char *name)
{
	const struct uncore_view *view = cli_view_cell(cli->u, name).view;

	for (size_t i = 0; view && i < uncore_metric_count(cli->u); i++) {
		const struct uncore_metric *metric = uncore_metric_at(cli->u, i);
		struct view_cell cell = cli_view_cell(cli->u, uncore_metric_name(metric));

		if (!uncore_metric_missing(metric) && cell.view == view &&
		    cell.column == UNCORE_COLUMN_SHARE)
			return uncore_metric_name(metric);
	}
	return NULL;
}

static int refuse_share(const struct trigger *t, struct cli *cli, const char *unit, const char *why)
{
	const char *share = find_share(cli, t->name);
	const char sign = t->below ? '<' : '>';
	auto_buffer text = {0};

	buffer_printf(&text, "--when: no row of '%s' has a ceiling, which %% needs: write ",
		      t->name);
	if (share)
		buffer_printf(&text, "'%s %c %s%%' or ", share, sign, t->number);
	buffer_printf(&text, "a value, '%s %c 40%s'", t->name, sign, likely_in(unit)->with);
	if (why)
		buffer_printf(&text,
			      "; --memory-peak 307.2GB/s sets the ceiling of memory for each "
			      "socket: %s",
			      why);
	return cli_failure(CLI_USAGE, "%s", text.data);
}

/* Whether the limit is in the unit of the rows; changes it to the base unit. */
static int check_unit(struct trigger *t, const char *unit)
{
	const double factor = *t->unit ? cli_unit(t->unit, unit) : 1;
	const struct likely *l = likely_in(unit);
	bool unlikely = *l->unit && !*t->unit && t->limit != 0 &&
			(t->limit < l->least || t->limit > l->most);

	if (unlikely || isnan(factor))
		return cli_failure(CLI_USAGE,
				   "--when: '%s' has values in %s, and '%s%s' is not a likely one: "
				   "write '%s %c %s%s'",
				   t->name, *unit ? unit : "counts", t->number, t->unit, t->name,
				   t->below ? '<' : '>', t->number, *l->with ? l->with : unit);
	t->limit *= factor;
	return CLI_OK;
}

int trigger_check(struct trigger *t, struct cli *cli, const struct uncore_monitor *m)
{
	const char *unit = NULL, *why = NULL, *one;
	bool limited = false;

	for (size_t i = 0; i < uncore_monitor_row_count(m); i++) {
		const struct uncore_row_query *query = uncore_monitor_row_query_at(m, i);

		if (strcmp(query->name, t->name) != 0)
			continue;
		unit = query->unit ? query->unit : "";
		limited |= isfinite(uncore_monitor_row_ceiling_at(m, i, &one)) ||
			   strcmp(unit, "ratio") == 0;
		why = one ? one : why;
	}
	if (!unit)
		return refuse_name(t, cli);
	if (t->share)
		return limited ? CLI_OK : refuse_share(t, cli, unit, why);
	return check_unit(t, unit);
}

/* ---- while counting ---- */

static double limit_of(const struct trigger *t, const struct uncore_row *row)
{
	bool ratio = row->query->unit && strcmp(row->query->unit, "ratio") == 0;

	return !t->share ? t->limit : t->limit * (isnan(row->ceiling) && ratio ? 1 : row->ceiling);
}

int trigger_update(struct trigger *t, const struct uncore_sample *sample, bool *fired)
{
	uint64_t length_ns = uncore_sample_end_ns(sample) - uncore_sample_begin_ns(sample);
	size_t count = uncore_sample_count(sample), matching = 0;
	bool held = false, known = false;

	if (count > t->row_count) {
		t->held_ns = cli_realloc(t->held_ns, count, sizeof(*t->held_ns));
		memset(t->held_ns, 0, count * sizeof(*t->held_ns));
		t->row_count = count;
	}
	for (size_t i = 0; i < count; i++) {
		const struct uncore_row *row = uncore_sample_row(sample, i);
		double limit = limit_of(t, row);

		if (strcmp(row->query->name, t->name) != 0)
			continue;
		matching++;
		known = known || isfinite(limit);
		if (t->below ? row->value <= limit : row->value >= limit) /* not for NaN */
			t->held_ns[i] += length_ns;
		else
			t->held_ns[i] = 0;
		if (held || !t->held_ns[i] || t->held_ns[i] < t->for_ns)
			continue;
		held = true;
		t->row = i;
	}
	*fired = held && !t->held;
	t->held = held;
	return !matching ? -ENOENT : known ? 0 : -ENODATA;
}

void trigger_free(struct trigger *t)
{
	free(t->held_ns);
	t->held_ns = NULL;
}

int trigger_refuse(const char *text)
{
	return cli_failure(
		CLI_USAGE,
		"--when: '%s' is not METRIC > VALUE or METRIC < VALUE, optionally with "
		"%% (of the ceiling) or a unit, and 'for TIME'; VALUE is 80%%, 40GB/s or 1.5e9",
		text);
}

int trigger_fail(const struct trigger *t, int err)
{
	return cli_failure(CLI_USAGE,
			   err == -ENOENT ? "--when: no row of '%s' is counted"
					  : "--when: no row of '%s' has a ceiling, which %% needs; "
					    "--memory-peak sets the ceiling of memory",
			   t->name);
}

/* ---- the command ---- */

/* Reads what the command has printed, without waiting. */
static void take_output(struct alarm *a)
{
	char part[1024];
	ssize_t n;

	while (a->out >= 0 && (n = read(a->out, part, sizeof(part))) > 0) {
		size_t room = SAID_ROOM > a->said.len ? SAID_ROOM - a->said.len : 0;
		size_t kept = (size_t)n < room ? (size_t)n : room;

		buffer_add(&a->said, part, kept);
		a->dropped += (size_t)n - kept;
	}
}

static void report_end(struct alarm *a, int status)
{
	char *rest, *line;

	buffer_add(&a->said, "", 1);
	for (rest = a->said.data; (line = strsep(&rest, "\n"));)
		if (*line)
			cli_error("--exec %llu: %s", (unsigned long long)a->number, line);
	if (a->dropped)
		cli_error("--exec %llu: %zu further bytes of its output are left out",
			  (unsigned long long)a->number, a->dropped);
	if (WIFSIGNALED(status))
		cli_error("--exec %llu: the command was ended by signal %d",
			  (unsigned long long)a->number, WTERMSIG(status));
	else
		cli_error("--exec %llu: the command ended with status %d",
			  (unsigned long long)a->number, WEXITSTATUS(status));
	a->said.len = a->dropped = 0;
}

/* Whether the command has ended, which is then reported. */
static bool has_ended(struct alarm *a)
{
	int status = 0;
	pid_t pid;

	if (!a->pid)
		return true;
	take_output(a);
	pid = waitpid(a->pid, &status, WNOHANG);
	if (pid == 0)
		return false;
	take_output(a);
	close(a->out);
	a->out = -1;
	a->pid = 0;
	report_end(a, pid < 0 ? 0 : status);
	return true;
}

/* The environment of the command: ours, and what has happened. Made before fork(), since the child
 * of a process with threads may not allocate memory. */
static char **make_environment(const struct alarm *a, const struct frame *f, struct buffer *text)
{
	const struct uncore_row *row = uncore_sample_row(f->sample, a->trigger.row);
	size_t count = 0, added = 0, starts[8];
	auto_buffer place = {0};
	char date[DATE_ROOM], **all;

	out_place(&place, row->place);
	if (row->place->role)
		buffer_printf(&place, ", %s", row->place->role);
	cli_date(date, f->wall_ns);
#define ADD(...) \
	(starts[added++] = text->len, buffer_printf(text, __VA_ARGS__), buffer_add(text, "", 1))
	ADD("UNCORE_METRIC=%s", row->query->name);
	ADD("UNCORE_PLACE=%s", place.data);
	ADD("UNCORE_VALUE=%.17g", row->value);
	ADD("UNCORE_UNIT=%s", row->query->unit);
	ADD("UNCORE_QUALITY=%s", uncore_quality_name(row->quality));
	ADD("UNCORE_DATE=%s", date);
	ADD("UNCORE_CONDITION=%s", a->request->condition);
#undef ADD
	while (environ[count])
		count++;
	all = cli_realloc(NULL, count + added + 1, sizeof(*all));
	for (size_t i = 0; i < added; i++)
		all[i] = text->data + starts[i];
	memcpy(all + added, environ, (count + 1) * sizeof(*all));
	return all;
}

/* In the child: has the inherited signals and CPUs, and no input. */
static void run(const struct alarm *a, int output, char **environment)
{
	char *const words[] = {(char[]){"sh"}, (char[]){"-c"}, (char *)a->request->exec, NULL};
	int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
	sigset_t none;

	dup2(null, STDIN_FILENO);
	dup2(output, STDOUT_FILENO);
	dup2(output, STDERR_FILENO);
	sigaction(SIGPIPE, &a->cli->pipe, NULL);
	sigaction(SIGXFSZ, &a->cli->file_size, NULL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	if (a->cli->pinned)
		sched_setaffinity(0, sizeof(a->cli->cpus), a->cli->cpus.parts);
	rights_restore_environment(environment);
	execve(SHELL, words, environment);
	_exit(errno == ENOENT ? CLI_NOT_FOUND : CLI_NOT_EXECUTABLE);
}

static void start(struct alarm *a, const struct frame *f)
{
	auto_buffer text = {0};
	auto_free char **environment = make_environment(a, f, &text);
	int ends[2] = {-1, -1};

	if (pipe2(ends, O_CLOEXEC) == 0 && fcntl(ends[0], F_SETFL, O_NONBLOCK) == 0)
		a->pid = fork();
	else
		a->pid = -1;
	if (a->pid == 0)
		run(a, ends[1], environment);
	if (a->pid < 0)
		cli_error("--exec: the command cannot be started: %s", strerror(errno));
	else
		cli_error("--exec %llu: '%s' is true (%s, %s): the command is started",
			  (unsigned long long)++a->number, a->request->condition,
			  strchr(environment[1], '=') + 1, strchr(environment[2], '=') + 1);
	if (ends[1] >= 0)
		close(ends[1]);
	if (a->pid < 0 && ends[0] >= 0)
		close(ends[0]);
	a->out = a->pid < 0 ? -1 : ends[0];
	a->pid = a->pid < 0 ? 0 : a->pid;
}

/* ---- the sink ---- */

static int take(void *context, const struct frame *f)
{
	struct alarm *a = context;
	bool ended = has_ended(a), fired = false;
	int err = trigger_update(&a->trigger, f->sample, &fired);

	if (err)
		return trigger_fail(&a->trigger, err);
	if (fired && !ended)
		cli_error("--exec: '%s' is true again while the command still runs: it is not "
			  "started again",
			  a->request->condition);
	else if (fired)
		start(a, f);
	return CLI_OK;
}

/* Counting has ended: waits a while for a command that still runs. */
static int end(void *context)
{
	struct alarm *a = context;
	uint64_t until_ns = cli_now_ns() + LAST_WAIT_NS;

	while (!has_ended(a) && cli_now_ns() < until_ns)
		cli_sleep_until(cli_now_ns() + 10 * NS_PER_MS, -1);
	if (a->pid) {
		cli_error("--exec %llu: the command still runs, and is not waited for",
			  (unsigned long long)a->number);
		close(a->out);
	}
	buffer_free(&a->said);
	trigger_free(&a->trigger);
	return CLI_OK;
}

int alarm_init(struct alarm *a, struct cli *cli, const struct request *request)
{
	*a = (struct alarm){.sink = {.context = a, .live = "--exec", .take = take, .end = end},
			    .cli = cli,
			    .request = request,
			    .out = -1};
	if (!trigger_parse(&a->trigger, request->condition))
		return trigger_refuse(request->condition);
	if (access(SHELL, X_OK))
		return cli_failure(CLI_USAGE, "--exec: commands cannot run here: " SHELL ": %s",
				   strerror(errno));
	return CLI_OK;
}

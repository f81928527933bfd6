/* SPDX-License-Identifier: MIT */
/* `uncore latency`: mean latencies as counted, or with --ibs how those of sampled loads are spread. */
#include <math.h>
#include <poll.h>
#include <time.h>

#include "commands/stat.h"
#include "parse.h"
#include "signals.h"
#include "views/latency.h"

#define COLLECT_NS (100 * NS_PER_MS)

enum { KEY_IBS = 0x100, KEY_LEAST, KEY_INPUT, KEY_INTERVAL_COUNT, KEY_TIMEOUT, KEY_CSV };

static const struct argp_option options[] = {
	{"ibs", KEY_IBS, NULL, 0, "Sample loads with AMD's IBS, and print their distribution", 1},
	{"min-latency", KEY_LEAST, "CYCLES", 0, "With --ibs: only latencies of CYCLES or more", 1},
	{"input", KEY_INPUT, "FILE", 0,
	 "With --ibs: samples of perf record -e ibs_op// --raw-samples", 1},
	{"interval-print", 'I', "TIME", 0,
	 "Print every TIME: 100 (milliseconds), 100ms, 1s; at least 1ms", 2},
	{"interval-count", KEY_INTERVAL_COUNT, "N", 0, "End after N intervals", 2},
	{"timeout", KEY_TIMEOUT, "TIME", 0, "End after TIME (milliseconds, or with a unit)", 2},
	{"csv", KEY_CSV, NULL, 0, "CSV with a header line", 3},
	{"json", 'j', NULL, 0, "JSON lines", 3},
	{0},
};

struct parser {
	struct cli *cli;
	struct stat_options stat; /* when, and in which form */
	bool ibs;
	uint64_t least; /* core clocks; 0: any */
	const char *input;
};

/* ---- options --------------------------------------------------------------------------------- */

static uint64_t number(struct argp_state *state, const char *what, const char *text,
		       const char *(*parse)(const char *, uint64_t *))
{
	uint64_t n = 0;
	const char *wrong = parse(text, &n);

	if (wrong)
		argp_error(state, "%s: '%s' %s", what, text, wrong);
	return n;
}

static const char *parse_time(const char *text, uint64_t *ns)
{
	const char *wrong = parse_duration(text, NS_PER_MS, ns);

	return !wrong && *ns < NS_PER_MS ? "is shorter than 1 ms" : wrong;
}

static void check(const struct parser *p, struct argp_state *state)
{
	if (!p->ibs && (p->least || p->input))
		argp_error(state, "--min-latency and --input are for --ibs");
	if (p->least > 65535)
		argp_error(state, "--min-latency: latencies are 65535 cycles at most");
	if (p->input && (p->stat.interval_ns || p->stat.timeout_ns))
		argp_error(state, "--input has its own time: without -I and --timeout");
	if (p->stat.interval_count && !p->stat.interval_ns)
		argp_error(state, "--interval-count needs an interval: -I");
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct parser *p = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = p->cli;
		return 0;
	case KEY_IBS:
		p->ibs = true;
		return 0;
	case KEY_LEAST:
		p->least = number(state, "--min-latency", arg, parse_count);
		return 0;
	case KEY_INPUT:
		p->input = arg;
		return 0;
	case 'I':
		p->stat.interval_ns = number(state, "-I", arg, parse_time);
		return 0;
	case KEY_INTERVAL_COUNT:
		p->stat.interval_count = number(state, "--interval-count", arg, parse_count);
		return 0;
	case KEY_TIMEOUT:
		p->stat.timeout_ns = number(state, "--timeout", arg, parse_time);
		return 0;
	case KEY_CSV:
		stat_set_output(state, &p->stat, &out_csv);
		return 0;
	case 'j':
		stat_set_output(state, &p->stat, &out_json);
		return 0;
	case ARGP_KEY_ARG:
		argp_error(state, "'%s': latency takes no arguments", arg);
		return 0;
	case ARGP_KEY_END:
		check(p, state);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

/* ---- sampling -------------------------------------------------------------------------------- */

struct run {
	const struct parser *p;
	struct uncore_latency *samples;
	struct signals signals;
	struct writer writer;
	uint64_t begin_ns, window_ns; /* when sampling began, and this window */
	uint64_t windows;
};

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * NS_PER_S + (uint64_t)t.tv_nsec;
}

static int print_window(struct run *r, uint64_t now)
{
	const struct parser *p = r->p;
	const struct latency_window w = {
		.samples = r->samples,
		.source = p->input ? p->input : "ibs",
		.time = p->input ? NAN : (double)(now - r->begin_ns) / 1e9,
		.seconds = p->input ? NAN : (double)(now - r->window_ns) / 1e9,
		.least = (unsigned)p->least,
		.first = r->windows++ == 0,
	};
	latency_print *print = p->stat.output == &out_csv    ? latency_csv
			       : p->stat.output == &out_json ? latency_json
							     : latency_text;

	print(&w, &r->writer.text);
	r->window_ns = now;
	uncore_latency_clear(r->samples);
	return writer_flush(&r->writer);
}

/* Sleeps until then, or a signal; true: the user wants to stop. */
static bool wait_until(struct run *r, uint64_t then_ns)
{
	struct pollfd fd = {.fd = r->signals.stop_fd, .events = POLLIN};
	uint64_t now = now_ns();
	struct timespec rest = {0};

	if (then_ns > now)
		rest = (struct timespec){.tv_sec = (time_t)((then_ns - now) / NS_PER_S),
					 .tv_nsec = (long)((then_ns - now) % NS_PER_S)};
	return ppoll(&fd, 1, &rest, NULL) > 0 && signals_take(&r->signals).stop;
}

static int sample(struct run *r)
{
	const struct stat_options *o = &r->p->stat;
	uint64_t end, tick;
	int status = CLI_OK;
	int err = uncore_latency_start(r->samples);

	r->begin_ns = r->window_ns = now_ns();
	end = o->timeout_ns ? r->begin_ns + o->timeout_ns : UINT64_MAX;
	tick = o->interval_ns ? r->begin_ns + o->interval_ns : end;
	while (!err && !status) {
		uint64_t next = now_ns() + COLLECT_NS;
		bool last = wait_until(r, next < tick ? next : tick);
		uint64_t now = now_ns();

		err = uncore_latency_collect(r->samples);
		last = last || now >= end;
		if (err || (!last && now < tick))
			continue;
		status = print_window(r, now);
		while (tick <= now && !last)
			tick += o->interval_ns;
		tick = tick < end ? tick : end;
		if (last || (o->interval_count && r->windows == o->interval_count))
			break;
	}
	return err ? cli_fail(r->p->cli, err) : status;
}

static int run(const struct parser *p)
{
	struct run r = {.p = p, .signals = {.stop_fd = -1, .child_fd = -1}};
	struct uncore *u = p->cli->u;
	int err = p->input ? uncore_latency_open_file(&r.samples, u, p->input, (unsigned)p->least)
			   : uncore_latency_open(&r.samples, u, (unsigned)p->least);
	int status = err ? cli_fail(p->cli, err) : writer_open(&r.writer, NULL, false);

	if (!status)
		status = signals_open(&r.signals);
	r.writer.signal_fd = r.signals.stop_fd;
	if (!status)
		status = p->input ? print_window(&r, 0) : sample(&r);
	if (!err && writer_close(&r.writer) && !status)
		status = r.writer.status;
	signals_close(&r.signals);
	uncore_latency_free(r.samples);
	return status;
}

int cmd_latency(struct cli *cli, int argc, char **argv)
{
	static const struct argp_child children[] = {{&cli_globals, 0, "Everywhere:", 90}, {0}};
	static const struct argp argp = {
		.options = options,
		.parser = parse_option,
		.doc = "Prints the mean latencies that this machine's counters give or, with --ibs, "
		       "how the latencies of sampled loads are distributed, by what "
		       "answered.\vCounts once for one second unless -I or --timeout say "
		       "otherwise.",
		.children = children,
	};
	struct stat_what what = {.text = "*.latency", .metric = true};
	struct parser p = {.cli = cli, .stat = {.repeat = 1, .separator = ","}};
	int status;

	argp_parse(&argp, argc, argv, ARGP_NO_HELP, NULL, &p);
	if (!p.stat.interval_ns && !p.stat.timeout_ns)
		p.stat.timeout_ns = NS_PER_S;
	if (p.ibs) {
		status = cli_open(cli);
		return status ? status : run(&p);
	}
	p.stat.what = &what;
	p.stat.what_count = 1;
	if (!p.stat.output)
		p.stat.output = &out_text;
	return stat_main(cli, &p.stat);
}

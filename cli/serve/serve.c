/* SPDX-License-Identifier: MIT */
/* `uncore serve`: a sink of the loop of stat. It adds each interval to sums, which HTTP clients
 * get. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/cli.h"
#include "base/replay.h"
#include "commands/documents.h"
#include "commands/options.h"
#include "commands/stat.h"
#include "loop/loop.h"
#include "serve/choices.h"
#include "serve/exposition.h"
#include "serve/http.h"
#include "serve/listen.h"
#include "serve/live.h"
#include "serve/push/otlp.h"
#include "serve/series.h"
#include "serve/who.h"

#define CONFIG "/etc/uncore/serve.conf"
#define CONFIG_MOST (1u << 20) /* bytes */
/* Prometheus seldom scrapes more often, and each write of a file is a write to the disk. */
#define TEXTFILE_NS (15 * NS_PER_S)
#define OTLP_NS (60 * NS_PER_S) /* OpenTelemetry's default */
#define CLOSE_SECONDS 10
#define BLOCKED_NS (10 * NS_PER_S) /* beyond three intervals */
#define LINKS_NS (15 * NS_PER_S)   /* between two readings of the speeds of links */
#define LISTEN "127.0.0.1:9065"    /* no other exporter: Prometheus' list begins at 9100 */

/* A file for the textfile collector of node_exporter. */
struct textfile {
	const char *path;     /* NULL: none */
	uint64_t interval_ns; /* shortest time between two writes */
	uint64_t written_ns;  /* the last attempt; 0: none yet */
	bool exists;          /* it was written */
	bool failed;          /* the last attempt failed, and this was reported */
};

struct serve {
	struct stat_options o; /* first, since offsets of its options begin there */
	struct http_setup http_setup;
	const char *user, *config;
	const char *choices; /* of --choices; NULL: none */
	const char *port;    /* of --port: a port to listen on, or root ports */
	char listen[32];     /* its address */
	struct cli *cli;
	struct http *http;
	struct series_set series;
	struct exposition_self self;
	struct serve_who who;
	struct live *live;
	struct health health;
	uint64_t links_ns; /* when the speeds of links were read */
	const struct uncore_monitor *monitor;
	bool running;
	struct buffer machine;
	struct http_page pages[8];
	struct textfile textfile;
	const char *otlp_url; /* NULL: none */
	struct otlp *otlp;
	uint64_t otlp_interval_ns, otlp_ns; /* otlp_ns: the last push */
	char *config_text;                  /* options point into it */
};

/* ---- the sink of the loop ---- */

static void publish(struct serve *s)
{
	uint64_t begin_ns = cli_now_ns();
	struct http_counts counts;
	struct buffer text = {0};

	if (!s->http)
		return;
	counts = http_counts(s->http);
	s->self.scrapes = counts.scrapes;
	s->self.refused = counts.refused;
	s->self.cut = counts.cut;
	for (int i = 0; i < HTTP_TEXTS; i++) {
		exposition_put(&text, i == HTTP_OPENMETRICS, false, &s->series, s->cli->u,
			       &s->self);
		http_publish(s->http, (enum http_text)i, &text);
	}
	s->self.text_seconds += (double)(cli_now_ns() - begin_ns) / 1e9;
}

/* Replaces the file as a whole, so that a reader gets the old text or the new one. Reports only the
 * first of several errors. */
static int write_textfile(struct textfile *t, const struct buffer *text)
{
	auto_buffer temporary = {0};
	int error;

	/* The collector reads only *.prom. */
	buffer_printf(&temporary, "%s.new", t->path);
	error = buffer_replace(text, AT_FDCWD, temporary.data, t->path, 0644, false);
	t->written_ns = cli_now_ns();
	t->exists |= !error;
	if (error && !t->failed)
		cli_error("--textfile: cannot write %s: %s%s", t->path, strerror(error),
			  error == EACCES || error == EPERM
				  ? "; its directory must be writable for the user of --user"
				  : "");
	else if (!error && t->failed)
		cli_error("--textfile: %s is written again", t->path);
	t->failed = error != 0;
	if (!error)
		return CLI_OK;
	return error == EACCES || error == EPERM ? CLI_DENIED : CLI_RUNTIME;
}

/* Whether to push now: at the first interval, and later if the next interval would be too late. */
static bool is_due(const struct serve *s, uint64_t last_ns, uint64_t interval_ns)
{
	return s->series.intervals <= 1 ||
	       cli_now_ns() + s->o.request.when.interval_ns / 2 >= last_ns + interval_ns;
}

/* `last`, at the end of the process: OTLP gets what was counted after the last push. */
static int push(struct serve *s, bool last)
{
	struct buffer text = {0};
	int status = CLI_OK;

	if (s->textfile.path && !last &&
	    is_due(s, s->textfile.written_ns, s->textfile.interval_ns)) {
		exposition_put(&text, false, true, &s->series, s->cli->u, &s->self);
		status = write_textfile(&s->textfile, &text);
		buffer_free(&text);
	}
#ifdef UNCORE_OTLP
	if (s->otlp && s->series.intervals &&
	    (last || is_due(s, s->otlp_ns, s->otlp_interval_ns))) {
		s->otlp_ns = cli_now_ns();
		otlp_publish(s->otlp, &s->series, s->cli->u, &s->self);
	}
#endif
	return status;
}

/* Three intervals and the delay (-D): the time in which one must end. 0: there is no such time. */
static uint64_t patience_ns(const struct serve *s, uint64_t delay_ns)
{
	const struct schedule *o = &s->o.request.when;
	bool endless = o->delay_ns == DELAY_FOREVER || o->control || s->cli->replay;

	return endless ? 0 : 3 * o->interval_ns + delay_ns;
}

/* Each interval resets the watchdog of systemd. Its time must be longer than an interval and the
 * delay, else systemd would end the service. */
static void notify_ready(const struct serve *s)
{
	const char *unit = getenv("WATCHDOG_USEC");
	uint64_t unit_us = unit ? strtoull(unit, NULL, 10) : 0;
	uint64_t us = patience_ns(s, s->o.request.when.delay_ns) / 1000;
	char text[64] = "READY=1";

	if (unit_us && (!us || us > unit_us))
		snprintf(text, sizeof(text), "READY=1\nWATCHDOG_USEC=%" PRIu64, us);
	notify_systemd(text);
}

static void expect_interval(struct serve *s, uint64_t delay_ns)
{
	uint64_t ns = patience_ns(s, delay_ns);

	atomic_store(&s->health.until_ns, ns ? cli_now_ns() + ns + BLOCKED_NS : 0);
}

/* A recording has no /metrics. */
static void show_address(const struct serve *s)
{
	const char *address = http_address(s->http);
	bool unix_socket = strncmp(address, "unix:", strlen("unix:")) == 0;
	int root = (int)(strlen(address) - (unix_socket ? 0 : strlen("metrics")));

	cli_error("listening on %.*s", s->cli->replay ? root : (int)strlen(address), address);
#ifdef UNCORE_DASHBOARD
	if (!unix_socket && !s->cli->replay)
		cli_error("the page for browsers is %.*s", root, address);
#endif
}

static int open_serve(void *context, const struct uncore_monitor *m)
{
	struct serve *s = context;
	int status;

	s->monitor = m;
	if (s->running) /* a recording with another session */
		return CLI_OK;
	/* A file that cannot be written ends the command only here; later it is reported. */
	status = push(s, false);
	if (!s->cli->replay)
		publish(s);
	expect_interval(s, s->o.request.when.delay_ns);
	if (!status && s->http)
		status = http_start(s->http);
#ifdef UNCORE_OTLP
	if (!status && s->otlp)
		status = otlp_start(s->otlp);
#endif
	if (status)
		return status;
	s->running = true;
	if (s->http)
		show_address(s);
	if (s->textfile.path)
		cli_error("writing %s", s->textfile.path);
	if (s->otlp_url)
		cli_error("pushing to %s", s->otlp_url);
	notify_ready(s);
	return CLI_OK;
}

static void add_short_sample(void *context)
{
	struct serve *s = context;

	if (s->http)
		live_add_short_sample(s->live, s->monitor);
}

/* A link that was idle when the process started may have been slow to save power. */
static void update_links(struct serve *s, uint64_t now_ns)
{
	if (!s->series.has_ports || now_ns < s->links_ns + LINKS_NS)
		return;
	uncore_device_update_links(s->cli->u);
	s->links_ns = now_ns;
}

static int add_window(void *context, const struct frame *f)
{
	struct serve *s = context;
	/* In a simulation only readings advance the time. */
	bool real = f->monotonic_ns != f->wall_ns;
	bool first = !s->series.intervals;
	uint64_t missed = s->series.missed;
	int status;

	if (s->cli->replay) {
		live_add(s->live, f, f->missed);
		return CLI_OK;
	}
	status = serve_who_take(&s->who);
	if (status)
		return status;
	series_add(&s->series, s->cli->u, f->sample, real ? s->o.request.when.interval_ns : 0);
	update_links(s, f->monotonic_ns);
	publish(s);
	if (s->http) {
		live_add_short_sample(s->live, s->monitor);
		live_add(s->live, f, s->series.missed - missed);
		http_wake(s->http);
	}
	push(s, false);
	expect_interval(s, 0);
	atomic_store(&s->health.ready, true);
	notify_systemd("WATCHDOG=1");
	if (first)
		cli_error("%zu series of %zu names", s->series.series_count,
			  s->series.family_count);
	return CLI_OK;
}

static const struct request *next_request(void *context)
{
	struct serve *s = context;

	return s->http_setup.choices ? choices_next(s->http_setup.choices) : NULL;
}

static void tell_choices(struct serve *s)
{
	live_set_choices(s->live, choices_document(s->http_setup.choices));
}

static void planned_again(void *context, const char *why)
{
	struct serve *s = context;

	choices_settle(s->http_setup.choices, why);
	if (!why) {
		series_change_plan(&s->series);
		live_change_plan(s->live);
	}
	tell_choices(s);
	http_wake(s->http);
}

/* ---- options ---- */

#define AT(member) offsetof(struct serve, member)
static const struct cli_option more[] = {
	{NULL, NULL, "What to count (default: the headline metrics of each socket):", 0, 1, 0, 0},
	{NULL, NULL, "Server:", 0, 5, 0, 0},
	{"listen", "ADDRESS", "ADDRESS:PORT (" LISTEN "), or unix:PATH", 0, 5, OPTION_TEXT,
	 AT(http_setup.listen)},
	{"port", "PORT",
	 "Listen on this port of 127.0.0.1; or only these PCIe root ports: addresses, or "
	 "SOCKET:RC:INDEX",
	 0, 5, OPTION_TEXT, AT(port)},
	{"host", "LIST", "Further names of this machine that clients may use", 0, 5, OPTION_TEXT,
	 AT(http_setup.hosts)},
	{"web-config", "FILE", "TLS and passwords, in the format of Prometheus' exporters", 0, 5,
	 OPTION_TEXT, AT(http_setup.web_config)},
	{"insecure", NULL, "Let other machines connect without TLS or passwords", 0, 5, OPTION_FLAG,
	 AT(http_setup.insecure)},
	{"user", "NAME", "If started by root: run as this user (65534)", 0, 5, OPTION_TEXT,
	 AT(user)},
	{"choices", "LIST", "Presets and metrics that clients may switch on and off for the page",
	 0, 5, OPTION_TEXT, AT(choices)},
	{"who", "KEY",
	 "Also the sums of `uncore who` by KEY: process, cgroup, unit, container, job or user", 0,
	 5, OPTION_TEXT, AT(who.by)},
	{"textfile", "FILE",
	 "Write FILE, which ends in .prom, for node_exporter's textfile collector", 0, 5,
	 OPTION_TEXT, AT(textfile.path)},
	{"textfile-interval", "TIME", "Shortest time between two writes (15s)", 0, 5,
	 OPTION_INTERVAL, AT(textfile.interval_ns)},
	{"otlp", "URL", "Push to a collector of OpenTelemetry: http://HOST:4318", 0, 5, OPTION_TEXT,
	 AT(otlp_url)},
	{"otlp-interval", "TIME", "Shortest time between two pushes (60s)", 0, 5, OPTION_INTERVAL,
	 AT(otlp_interval_ns)},
	{"config", "FILE", "File of options, one in each line (" CONFIG ", if it exists)", 0, 5,
	 OPTION_TEXT, AT(config)},
	{0},
};

static const char doc[] =
	"Counts continuously, and serves a page for browsers and, at /metrics, sums since the "
	"start in the formats of Prometheus.\v"
	"PRESET selects the metrics of mem, pcie, link, cache, power or matrix. Without PRESET, -M and "
	"-e: the headline metrics of each socket. Ends with SIGTERM or Ctrl-C.";

/* A root port has an address: a number alone is a port of TCP. */
static void check(void *into, struct argp_state *state)
{
	struct serve *s = into;

	if (!s->port)
		return;
	if (s->port[strspn(s->port, "0123456789")]) {
		*stat_filter(&s->o, "port") = s->port;
	} else {
		if (s->http_setup.listen && !s->cli->configured)
			argp_error(state, "--port and --listen exclude each other");
		snprintf(s->listen, sizeof(s->listen), "127.0.0.1:%.10s", s->port);
		s->http_setup.listen = s->listen;
	}
	/* An option of the command line replaces that of the file. */
	s->port = NULL;
}

static void parse(struct serve *s, int argc, char **argv)
{
	static const struct cli_syntax syntax = {
		.doc = doc, .args = "[PRESET ...]", .options = more, .check = check};

	stat_parse(s->cli, &s->o, &syntax, argc, argv);
}

/* Finds --config before the options are parsed: options of the file are parsed first, so that those
 * of the command line replace them. */
static const char *find_config(int argc, char **argv)
{
	static const char name[] = "--config";

	for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++) {
		if (strcmp(argv[i], name) == 0)
			return i + 1 < argc ? argv[i + 1] : NULL;
		if (strncmp(argv[i], name, strlen(name)) == 0 && argv[i][strlen(name)] == '=')
			return argv[i] + strlen(name) + 1;
	}
	return NULL;
}

static int read_config(struct serve *s, const char *path)
{
	struct buffer text = {0};
	const char *why = buffer_read_file(&text, path ? path : CONFIG, CONFIG_MOST);

	s->config_text = text.data;
	if (!why || (!path && errno == ENOENT))
		return CLI_OK;
	cli_error("%s: %s", path ? path : CONFIG, why);
	return CLI_RUNTIME;
}

/* A line has an option or argument as on the command line, then a space and its value. Usage errors
 * name the line. */
static void parse_config(struct serve *s, const char *path)
{
	char *rest = s->config_text, *line, *end;
	auto_buffer name = {0};

	for (int number = 1; rest && (line = strsep(&rest, "\n")); number++) {
		char *words[4] = {NULL};

		line += strspn(line, " \t");
		for (end = line + strlen(line); end > line && strchr(" \t\r", end[-1]);)
			*--end = '\0';
		if (!*line || *line == '#')
			continue;
		name.len = 0;
		buffer_printf(&name, "%s:%d", path ? path : CONFIG, number);
		words[0] = name.data;
		words[1] = strsep(&line, " \t");
		words[2] = line ? line + strspn(line, " \t") : NULL;
		parse(s, words[2] ? 3 : 2, words);
	}
}

/* There is no port if the sums are pushed and no option is about a port. */
static bool has_port(const struct serve *s)
{
	const struct http_setup *h = &s->http_setup;

	return h->listen || h->hosts || s->choices || h->web_config || h->insecure ||
	       getenv("LISTEN_FDS") || !(s->textfile.path || s->otlp_url);
}

static bool ends_in_prom(const char *path)
{
	size_t len = strlen(path);

	return len > 5 && strcmp(path + len - 5, ".prom") == 0 && path[len - 6] != '/';
}

static int take_options(struct serve *s, int argc, char **argv)
{
	const char *config = s->cli->commands ? NULL : find_config(argc, argv);
	const struct cli given = *s->cli;
	int status = s->cli->commands ? CLI_OK : read_config(s, config);

	if (status)
		return status;
	s->cli->given = &given;
	parse_config(s, config);
	s->cli->given = NULL;
	s->cli->configured = s->config_text;
	s->o.default_interval_ns = NS_PER_S;
	s->o.request.cheap = true;
	s->o.request.device_level = UNCORE_LEVEL_INSTANCE;
	s->textfile.interval_ns = TEXTFILE_NS;
	s->otlp_interval_ns = OTLP_NS;
	parse(s, argc, argv);
	if (!s->http_setup.listen && has_port(s))
		s->http_setup.listen = LISTEN;
#ifdef UNCORE_DASHBOARD
	s->o.request.extra = s->http_setup.listen;
#endif
	if (s->config && s->config != config)
		cli_error("--config must be written in full");
	else if (s->o.request.when.command)
		cli_error("serve cannot run a command");
	else if (s->choices && s->o.request.condition)
		cli_error("--choices and --when exclude each other");
	else if (s->choices && cli_replays(s->cli))
		cli_error("--choices cannot be used with a recording");
	else if (s->textfile.path && !ends_in_prom(s->textfile.path))
		cli_error("--textfile: '%s' does not end in .prom: node_exporter reads no other "
			  "files",
			  s->textfile.path);
	else if ((s->textfile.path || s->otlp_url) && cli_replays(s->cli))
		cli_error("--textfile and --otlp cannot be used with a recording");
	else if (s->who.by && cli_replays(s->cli))
		cli_error("--who cannot be used with a recording");
#ifndef UNCORE_OTLP
	else if (s->otlp_url)
		cli_error("--otlp: uncore was built without libcurl");
#endif
	else
		return CLI_OK;
	return CLI_USAGE;
}

/* ---- the command ---- */

/* Reads what only root can read, before rights_drop(). */
static void describe_machine(struct serve *s)
{
	struct uncore *u = s->cli->u;
	const char *hypervisor = uncore_hypervisor(u);
	char cpu[CPU_ROOM];

	uncore_memory_get(u);
	uncore_device_count(u);
	put_label(&s->self.machine, "cpu_model", uncore_cpu_model(u));
	put_label(&s->self.machine, "cpu_name", cli_cpu(u, cpu));
	if (!cli_has_unnumbered(u))
		put_label_number(&s->self.machine, "sockets", (long)uncore_socket_count(u));
	put_label(&s->self.machine, "source", uncore_source(u));
	put_label(&s->self.machine, "simulated", uncore_is_simulated(u) ? "true" : "false");
	if (hypervisor)
		put_label(&s->self.machine, "hypervisor", hypervisor);
}

/* The document of /api/v1/machine, from which the page shows the machine. */
static int put_machine(struct serve *s)
{
	struct uncore *u = s->cli->u;
	int err = uncore_diagnose(u);
	char cpu[CPU_ROOM];
	json_t *page;

	if (err)
		return cli_fail(s->cli, err);
	page = json_document(
		u, RECORD({"version", value_text(uncore_version())},
			  {"host", value_text(cli_host(s->cli))},
			  {"cpu_model", value_text(uncore_cpu_model(u))},
			  {"cpu_name", value_text(cli_cpu(u, cpu))},
			  {"command_line", value_text(s->cli->command_line)},
			  {"interval", value_real((double)s->o.request.when.interval_ns / 1e9)}));
	json_object_update_new(page, machine_document(u));
	json_print(page, JSON_COMPACT, &s->machine);
	return CLI_OK;
}

/* tools/embed.py makes these of the files in web/. */
extern const char web_live_html[], web_live_js[], web_map_js[], web_page_css[], web_page_js[],
	web_words_js[];

static void add_pages(struct serve *s)
{
	const struct http_page pages[] = {
		{"/api/v1/machine", "application/json", s->machine.data},
#ifdef UNCORE_DASHBOARD
		{"/", "text/html; charset=utf-8", web_live_html},
		{"/live.js", "text/javascript; charset=utf-8", web_live_js},
		{"/map.js", "text/javascript; charset=utf-8", web_map_js},
		{"/words.js", "text/javascript; charset=utf-8", web_words_js},
		{"/page.js", "text/javascript; charset=utf-8", web_page_js},
		{"/page.css", "text/css; charset=utf-8", web_page_css},
#endif
	};

	_Static_assert(sizeof(pages) < sizeof(s->pages), "the last one is empty");
	memcpy(s->pages, pages, sizeof(pages));
}

static int open_http(struct serve *s)
{
	int status = put_machine(s);

	s->live = live_new(s->cli->u, s->cli->replay != NULL);
	if (!status && s->choices)
		status = choices_new(&s->http_setup.choices, s->cli, &s->o.request, s->choices);
	if (s->http_setup.choices)
		tell_choices(s);
	add_pages(s);
	s->http_setup.live = s->live;
	s->http_setup.health = &s->health;
	s->http_setup.pages = s->pages;
	return status ? status : http_open(&s->http, &s->http_setup);
}

static int prepare(struct serve *s)
{
	const char *source = uncore_source(s->cli->u);
	const struct replay *replay = s->cli->replay;
	int status;

	/* The intervals of a recording may not fit into those of the default. */
	if (replay && s->o.request.when.interval_ns == NS_PER_S && NS_PER_S % replay->interval_ns)
		s->o.request.when.interval_ns = replay->interval_ns;
	describe_machine(s);
	s->self.start_seconds = (double)cli_clock_ns(CLOCK_REALTIME) / 1e9;
	status = s->http_setup.listen ? open_http(s) : CLI_OK;
#ifdef UNCORE_OTLP
	if (!status && s->otlp_url)
		status = otlp_open(&s->otlp, s->otlp_url);
#endif
	if (!status && s->who.by) {
		s->self.who = &s->who;
		status = serve_who_open(&s->who, s->cli, s->o.request.when.interval_ns);
	}
	/* Only root can open the devices of registers. */
	if (!status && (strncmp(source, "regs:", 5) != 0 || s->user))
		status = rights_drop(s->user);
	return status;
}

/* The whole recording was read. Clients can look at it until a signal comes. */
static int show_recording(struct serve *s)
{
	struct signals signals = {.stop_fd = -1, .child_fd = -1};
	int status = signals_open(&signals, false);
	struct pollfd stop = {.fd = signals.stop_fd, .events = POLLIN};

	live_end(s->live);
	atomic_store(&s->health.ready, true);
	http_wake(s->http);
	while (!status && poll(&stop, 1, -1) < 1)
		;
	signals_close(&signals);
	return status;
}

/* Ends the process if a thread waits forever, such as for a file of a lost network server. */
static void give_up(int signal)
{
	static const char text[] = "uncore: a thread did not end in time\n";

	(void)signal;
	if (write(STDERR_FILENO, text, sizeof(text) - 1) < 0)
		_exit(CLI_RUNTIME);
	_exit(CLI_RUNTIME);
}

static void close_serve(struct serve *s)
{
	const struct sigaction action = {.sa_handler = give_up};
	sigset_t alarms;

	sigemptyset(&alarms);
	sigaddset(&alarms, SIGALRM);
	sigaction(SIGALRM, &action, NULL);
	sigprocmask(SIG_UNBLOCK, &alarms, NULL);
	alarm(CLOSE_SECONDS);
	/* After the end of the process its values would look like counters that do not increase. */
	if (s->textfile.exists)
		unlink(s->textfile.path);
#ifdef UNCORE_OTLP
	otlp_close(s->otlp);
#endif
	http_close(s->http);
	serve_who_close(&s->who);
	alarm(0);
}

int cmd_serve(struct cli *cli, int argc, char **argv)
{
	struct serve s = {.cli = cli,
			  .o = {.known_presets = cli->presets,
				.port_from = 1000,
				.request.default_level = UNCORE_LEVEL_SOCKET,
				.print.output = output_find("text")}};
	struct sink sink = {.context = &s,
			    .opened = open_serve,
			    .take = add_window,
			    .next_request = next_request,
			    .planned_again = planned_again,
			    .short_sample = add_short_sample};
	int status;

	status = take_options(&s, argc, argv);
	if (!status)
		status = cli_open(cli);
	if (!status)
		plan_leave_out_presets(cli, &s.o.request);
	if (!status && !s.o.dry_run)
		status = prepare(&s);
	if (!status)
		status = stat_count(cli, &s.o, &sink);
	if (!status && s.running && cli->replay)
		status = show_recording(&s);
	push(&s, true);
	close_serve(&s);
	live_free(s.live);
	choices_free(s.http_setup.choices);
	buffer_free(&s.machine);
	series_free(&s.series);
	buffer_free(&s.self.machine);
	free(s.config_text);
	free(s.o.request.queries);
	return status;
}

/* SPDX-License-Identifier: MIT */
/* The command `uncore verify`: its options, its announcements, and the output of the verdicts. */
#include <errno.h>
#include <libgen.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "base/writer.h"
#include "commands/options.h"
#include "output/output.h"
#include "verify/measure.h"

/* Binds an abstract socket address as a lock, which the kernel releases when the process ends in
 * any way. Returns a descriptor, or -1. */
static int take_lock(void)
{
	static const char name[] = "uncore-verify";
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	memcpy(address.sun_path + 1, name, sizeof(name));
	if (fd >= 0 &&
	    bind(fd, (struct sockaddr *)&address,
		 (socklen_t)(offsetof(struct sockaddr_un, sun_path) + sizeof(name))) == 0)
		return fd;
	if (fd >= 0 && errno == EADDRINUSE)
		cli_error("another uncore verify is running: the two would disturb each other");
	else
		cli_error("cannot check whether another uncore verify is running: %s",
			  strerror(errno));
	if (fd >= 0)
		close(fd);
	return -1;
}

static void announce(const struct verify *v)
{
	const char *hypervisor = uncore_hypervisor(v->cli->u);
	const bool moves = v->loads & VERIFY_MEMORY_LOADS;
	auto_buffer cpus = {0};
	uint64_t memory = 0, memory_all = 0; /* the most of a node, of a socket */
	size_t peak = 0;                     /* the most CPUs of a socket */

	for (size_t i = 0; i < v->node_count; i++) {
		const struct node *n = &v->nodes[i];
		const size_t count = peak_cpus(v, n->socket);
		uint64_t sum = 0;

		for (const struct node *other = v->nodes; other < v->nodes + v->node_count; other++)
			sum += other->socket == n->socket && !other->bare ? other->memory_all : 0;
		memory = n->memory > memory ? n->memory : memory;
		memory_all = sum > memory_all ? sum : memory_all;
		peak = count > peak ? count : peak;
		buffer_printf(&cpus, "%s%d", i ? ", " : "", n->cpu);
	}
	if (moves)
		cli_error("verify moves data for about %.0f s with CPU %s, on one node after "
			  "another; it takes up to %s of memory (%s are free)",
			  (double)v->time_ns / 1e9, cpus.data,
			  human_in((double)memory, "B", UNITS_IEC).text,
			  human_in((double)v->free, "B", UNITS_IEC).text);
	else if (v->counts)
		cli_error("verify %s CPU %s, for about %.0f s in all",
			  v->loads & 1u << VERIFY_SPIN ? "runs computations on" : "moves data with",
			  cpus.data, (double)v->time_ns / 1e9);
	if (v->loads & 1u << VERIFY_READ_ALL)
		cli_error("verify reads with all CPUs of a socket together (%zu), for %.1f s on "
			  "each socket, from up to %s of memory: it may slow down other programs",
			  peak, (double)peak_ns(v) / 1e9,
			  human_in((double)memory_all, "B", UNITS_IEC).text);
	if (v->assumed && moves)
		cli_error("note: the kernel does not report the size of the caches: 256 MiB are "
			  "assumed");
	if (hypervisor)
		cli_error("note: this is a virtual machine (%s): its nodes may differ from those "
			  "of the hardware, and counters may include other virtual machines",
			  hypervisor);
}

/* Checks before data are moved that the file can be written. */
static int check_file(const char *file)
{
	auto_free char *copy = cli_copy(file);
	struct stat st;

	if (!file || strcmp(file, "-") == 0)
		return CLI_OK;
	if (stat(file, &st) == 0 && S_ISDIR(st.st_mode))
		errno = EISDIR;
	else if (access(file, W_OK) == 0 ||
		 (errno == ENOENT && access(dirname(copy), W_OK | X_OK) == 0))
		return CLI_OK;
	return cli_failure(CLI_RUNTIME, "cannot open '%s' for writing: %s", file, strerror(errno));
}

/* Writes the file of --output, and keeps a report on this machine. */
static int write_report(const struct verify *v, const struct verify_result *results, size_t count)
{
	const char *snapshot = v->cli->snapshot, *rest = strchr(snapshot, '\n'), *end = NULL;
	auto_buffer text = {.records = true};
	bool tells = false;

	/* The comments follow the first line, which names the format. */
	buffer_add(&text, snapshot, rest ? (size_t)(rest - snapshot) + 1 : strlen(snapshot));
	verify_print_comments(&v->run, results, count, &text);
	rest = rest ? rest + 1 : "";
	/* Nothing follows the last line, "# end". */
	end = strrchr(rest, '#');
	buffer_add(&text, rest, end ? (size_t)(end - rest) : strlen(rest));
	verify_put_run(&text, &v->run);
	buffer_puts(&text, end ? end : "");
	/* A report on some metrics does not replace one on all metrics. */
	for (size_t i = 0; i < count; i++)
		tells = tells || results[i].verdict != VERIFY_UNKNOWN;
	if (!v->o->metrics)
		kept_write(v->cli, &text, tells);
	return v->o->file ? writer_save(v->o->file, &text) : CLI_OK;
}

/* Judges the readings, prints the verdicts, and writes a report if `write`. */
static int judge(const struct verify *v, bool write)
{
	static const int exit_codes[] = {[VERIFY_PROVED] = CLI_OK,
					 [VERIFY_OFF] = CLI_RUNTIME,
					 [VERIFY_UNKNOWN] = CLI_UNAVAILABLE};
	auto_free struct verify_result *results = NULL;
	size_t count = verify_judge(&v->run, &results);
	struct buffer text = {0};
	int status = write ? write_report(v, results, count) : CLI_OK;

	verify_print(&v->run, results, count, v->o->output, &text);
	if (writer_print(&text) || status)
		return CLI_RUNTIME;
	status = exit_codes[verify_overall(results, count)];
	return !status && v->left_out ? CLI_UNAVAILABLE : status;
}

static int show(struct cli *cli, const struct verify_options *o)
{
	struct verify v = {.cli = cli, .o = o};
	char why[VERIFY_WHY];
	const char *wrong = proof_read(&v.run, o->show, why);
	int status = wrong ? cli_failure(CLI_USAGE, "%s: %s", o->show, wrong) : judge(&v, false);

	verify_run_free(&v.run);
	return status;
}

static int count_and_judge(struct verify *v)
{
	const struct uncore_memory *memory = uncore_memory_get(v->cli->u);
	const char *hypervisor = uncore_hypervisor(v->cli->u);
	time_t now = time(NULL);
	struct tm day;
	int status = check_file(v->o->file);

	if (!status)
		status = passes_plan(v);
	if (status)
		return status;
	nodes_find(v);
	status = v->loads & (VERIFY_MEMORY_LOADS | 1u << VERIFY_READ_ALL) ? nodes_find_memory(v)
									  : CLI_OK;
	if (!status)
		status = devices_open(v);
	if (!status)
		status = schedule_time(v, passes_count(v));
	witnesses_open(&v->witnesses, v->cli->u, "");
	v->run.transfers = isfinite(memory->transfers) ? memory->transfers : 0;
	v->run.rated = memory->rated;
	v->run.limit = v->witnesses.powercap.limit;
	snprintf(v->run.hypervisor, sizeof(v->run.hypervisor), "%s", hypervisor ? hypervisor : "");
	snprintf(v->run.version, sizeof(v->run.version), "%s", uncore_version());
	strftime(v->run.date, sizeof(v->run.date), "%Y-%m-%d", gmtime_r(&now, &day));
	if (!status)
		status = signals_open(&v->signals, false);
	if (status)
		return status;
	announce(v);
	/* Lowers the priority of this thread only: other threads read the counters. */
	if (v->o->nice)
		setpriority(PRIO_PROCESS, 0, 19);
	status = passes_run(v);
	/* Writing may wait for a reader. Nothing needs to be restored any more, so that signals may
	 * end the process at once. */
	uncore_monitor_free(v->monitor);
	v->monitor = NULL;
	signals_close(&v->signals);
	sigprocmask(SIG_SETMASK, &v->signals.old, NULL);
	return status ? status : judge(v, true);
}

static int run(struct cli *cli, const struct verify_options *o)
{
	struct verify v = {.cli = cli, .o = o, .signals = {.stop_fd = -1, .child_fd = -1}};
	int lock = take_lock(), status = lock < 0 ? CLI_RUNTIME : cli_open(cli);

	sched_getaffinity(0, sizeof(v.cpus), v.cpus.parts);
	if (!status)
		status = count_and_judge(&v);
	signals_close(&v.signals);
	uncore_monitor_free(v.monitor);
	uncore_sample_free(v.sample);
	witnesses_close(&v.witnesses);
	verify_run_free(&v.run);
	devices_close(&v);
	free(v.nodes);
	free(v.rows);
	if (lock >= 0)
		close(lock);
	return status;
}

#define AT(member) offsetof(struct verify_options, member)

static void check(void *into, struct argp_state *state)
{
	const struct verify_options *o = into;

	if (o->show && (o->file || o->metrics || o->nice || o->time_ns || o->memory || o->read ||
			o->write || o->gpus))
		argp_error(
			state,
			"--show judges an existing report: options for a new run are not possible");
	if (o->memory && o->memory < 2 * MIB)
		argp_error(state, "--memory: at least 2MiB");
	if (o->output && o->output->window)
		argp_error(state, "--csv=wide and --html show counters over time, not verdicts");
}

int cmd_verify(struct cli *cli, int argc, char **argv)
{
	static const struct cli_option options[] = {
		{"metrics", "METRICS",
		 "Judge only METRICS: names and patterns, separated by commas (default: all that "
		 "verify can judge)",
		 'M', 1, OPTION_TEXT, AT(metrics)},
		{"time", "TIME",
		 "Take about TIME in all: 1m, 90s (default: 30s, or more if the series need it)", 0,
		 1, OPTION_INTERVAL, AT(time_ns)},
		{"memory", "SIZE", "Use at most SIZE of memory (default: five times the caches)", 0,
		 1, OPTION_SIZE, AT(memory)},
		{"read", "FILE",
		 "Also read FILE, or a block device, with O_DIRECT, and judge the counters of its "
		 "disk",
		 0, 1, OPTION_TEXT, AT(read)},
		{"write", "DIR",
		 "Also write a temporary file in DIR, and judge the counters of its disk", 0, 1,
		 OPTION_TEXT, AT(write)},
		{"gpu", "ADDRESS",
		 "Also copy data to, from and within this GPU (a PCI address, several separated by "
		 "commas, or 'all'), and judge the counters of its link and memory",
		 0, 1, OPTION_TEXT, AT(gpus)},
		{"nice", NULL, "Run with the lowest priority", 0, 1, OPTION_FLAG, AT(nice)},
		{"output", "FILE",
		 "Write a report with all readings; --root reads it as a snapshot", 'o', 1,
		 OPTION_TEXT, AT(file)},
		{"show", "FILE", "Judge the readings of a report; no data are moved", 0, 1,
		 OPTION_TEXT, AT(show)},
		{0},
	};
	static const struct cli_syntax syntax = {
		.doc = "Moves known amounts of data to and from each NUMA node, and compares the "
		       "counters of memory and links with them. Judges the counters of clocks and "
		       "energy by a busy CPU and, with --read, --write or --gpu, those of PCIe "
		       "by the data of a disk or GPU.\vExit status: 0 all verdicts are 'proved', 1 one is 'off' "
		       "(or an error), 3 one is 'cannot tell', or there is nothing to verify.",
		.options = options,
		.outputs = OUTPUTS_RECORDS,
		.outputs_group = 2,
		.outputs_at = AT(output),
		.check = check,
	};
	struct verify_options o = {0};

	cli_parse(cli, &syntax, &o, argc, argv);
	if (o.show)
		return show(cli, &o);
	if (cli->root || cli_replays(cli) || (cli->source && strncmp(cli->source, "sim:", 4) == 0))
		return cli_failure(
			CLI_USAGE,
			"verify needs the counters of this machine: %s does not count data "
			"that are moved here",
			cli->source ? cli->source : cli->root);
	cli->take_snapshot = uncore_snapshot;
	return run(cli, &o);
}

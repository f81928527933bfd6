/* SPDX-License-Identifier: MIT */
/* `uncore verify`: the command. What it uses of the machine, and the monitor that it judges. */
#include <errno.h>
#include <fnmatch.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "options.h"
#include "output/output.h"
#include "output/writer.h"
#include "verify/kept.h"
#include "verify/verify.h"

#define MIB (1ull << 20)
#define FREE_LEAST (256 * MIB)  /* with less nothing is begun */
#define MEMORY_LEAST (64 * MIB) /* of a stream */
#define CACHE_UNKNOWN (256 * MIB)
#define CACHES 4  /* a stream is so many times larger than the caches */
#define REPEATS 3 /* of each amount */
/* Beside its rounds a series has half a round to find the amount. */
#define ROUNDS (REPEATS * VERIFY_AMOUNTS + 1)
#define ROUND_LEAST (20 * NS_PER_MS)

struct verify_options {
	const char *show, *file, *metrics; /* NULL: all */
	bool nice;
	uint64_t time_ns, memory; /* 0: the default */
	const struct output *output;
};

struct node {
	int id, socket, cpu;
	uint64_t memory; /* of its stream */
};

struct verify {
	struct cli *cli;
	const struct verify_options *o;
	struct verify_run run;
	struct node *nodes;
	size_t node_count;
	uint64_t free; /* the least of the nodes */
	bool assumed;  /* the size of its caches */
	struct uncore_monitor *monitor;
	struct uncore_sample *sample;
	size_t *rows;     /* of each cell in the sample */
	bool read_failed; /* the machine has the sentence */
	struct signals signals;
	cpu_set_t cpus; /* before it was pinned */
	uint64_t round_ns, end_ns;
	size_t series_left; /* of all passes */
};

/* ---- the machine ---- */

/* The number behind a label of /proc/meminfo or of a node's, in bytes. */
static uint64_t meminfo(const char *path, const char *label)
{
	struct buffer text = {0};
	const char *at = buffer_read(&text, path) ? NULL : strstr(buffer_text(&text), label);
	uint64_t kib = at ? strtoull(at + strlen(label), NULL, 10) : 0;

	buffer_free(&text);
	return kib << 10;
}

/* What can be had on that node without pushing other programs' memory out. */
static uint64_t free_memory(int node)
{
	uint64_t all = meminfo("/proc/meminfo", "MemAvailable:"), own;
	char path[64];

	snprintf(path, sizeof(path), "/sys/devices/system/node/node%d/meminfo", node);
	own = meminfo(path, "MemFree:") + meminfo(path, "Inactive(file):");
	return access(path, R_OK) == 0 && own < all ? own : all;
}

/* Bytes of the last-level cache of a CPU, if it is the first CPU that shares it. */
static uint64_t cache_of(int cpu)
{
	for (int index = 4; index >= 0; index--) {
		struct buffer size = {0}, shared = {0};
		char path[96];
		uint64_t bytes = 0;
		bool found;

		snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu%d/cache/index%d/size",
			 cpu, index);
		found = buffer_read(&size, path) == 0;
		snprintf(path, sizeof(path),
			 "/sys/devices/system/cpu/cpu%d/cache/index%d/shared_cpu_list", cpu, index);
		if (found &&
		    (buffer_read(&shared, path) || strtol(buffer_text(&shared), NULL, 10) == cpu))
			bytes = strtoull(buffer_text(&size), NULL, 10) << 10;
		buffer_free(&size);
		buffer_free(&shared);
		if (found)
			return bytes;
	}
	return 0;
}

static uint64_t cache_of_socket(const struct uncore *u, int socket)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < uncore_cpu_count(u); i++) {
		const struct uncore_cpu *c = uncore_cpu_at(u, i);

		sum += c->online && c->socket == socket ? cache_of(c->id) : 0;
	}
	return sum;
}

/* The last CPU of each node: interrupts and the first programs use the first ones. */
static void find_nodes(struct verify *v)
{
	const struct uncore *u = v->cli->u;

	for (size_t i = 0; i < uncore_cpu_count(u); i++) {
		const struct uncore_cpu *c = uncore_cpu_at(u, i);
		int id = c->node < 0 ? 0 : c->node;
		size_t at = 0;

		if (!c->online || c->id >= CPU_SETSIZE || !CPU_ISSET((size_t)c->id, &v->cpus))
			continue;
		while (at < v->node_count && v->nodes[at].id != id)
			at++;
		if (at == v->node_count)
			v->nodes = cli_realloc(v->nodes, ++v->node_count, sizeof(*v->nodes));
		v->nodes[at] = (struct node){.id = id, .socket = c->socket, .cpu = c->id};
	}
}

static int find_memory(struct verify *v)
{
	v->free = UINT64_MAX;
	for (size_t i = 0; i < v->node_count; i++) {
		struct node *n = &v->nodes[i];
		uint64_t cache = cache_of_socket(v->cli->u, n->socket), room = free_memory(n->id);

		if (room < FREE_LEAST) {
			cli_error("node %d has %llu MiB of free memory: verify needs 256 MiB",
				  n->id, (unsigned long long)(room / MIB));
			return CLI_UNAVAILABLE;
		}
		/* Some kernels do not know: reads that a cache answers would look like a fault. */
		v->assumed |= !cache;
		cache = cache ? cache : CACHE_UNKNOWN;
		v->run.cache = fmax(v->run.cache, (double)cache);
		n->memory = CACHES * cache > MEMORY_LEAST ? CACHES * cache : MEMORY_LEAST;
		n->memory = (n->memory < room / 4 ? n->memory : room / 4) / (2 * MIB) * (2 * MIB);
		if (v->o->memory && v->o->memory < n->memory)
			n->memory = v->o->memory / (2 * MIB) * (2 * MIB);
		v->free = room < v->free ? room : v->free;
	}
	return CLI_OK;
}

/* An address of its own, which the kernel takes back however the process ends. A descriptor, or negative. */
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
		cli_error("another uncore verify is running: each would be noise to the other");
	else
		cli_error("cannot see whether another uncore verify is running: %s",
			  strerror(errno));
	if (fd >= 0)
		close(fd);
	return -1;
}

/* ---- the monitor ---- */

static bool is_chosen(const struct verify *v, const char *metric)
{
	struct buffer list = {0};
	bool chosen = !v->o->metrics;
	char *rest, *pattern;

	buffer_puts(&list, chosen ? "" : v->o->metrics);
	rest = list.data;
	while (!chosen && (pattern = strsep(&rest, ",")))
		chosen = fnmatch(pattern, metric, 0) == 0;
	buffer_free(&list);
	return chosen;
}

static int add_metrics(struct verify *v, bool *added, char *why, size_t room)
{
	const struct verify_expectation *e;
	bool chosen = false;

	for (size_t i = 0; (e = verify_expectation_at(i)); i++) {
		int err;

		if (!is_chosen(v, e->metric))
			continue;
		chosen = true;
		err = uncore_monitor_add_metrics(v->monitor, e->metric);
		if (err && err != -ENODEV)
			return cli_fail(v->cli, err);
		*added = *added || !err;
		if (err && !*why)
			snprintf(why, room, "%s", uncore_error(v->cli->u));
	}
	if (chosen)
		return CLI_OK;
	cli_error("--metrics '%s': verify can judge memory.{read,write}.bandwidth, "
		  "link.{out,in}.bandwidth, memory.{local,from.remote}.{read,write}.bandwidth and "
		  "fabric.memory.{read,write}.bandwidth",
		  v->o->metrics);
	return CLI_USAGE;
}

/* Metrics that have no room in the hardware beside others come in another pass: what is multiplexed is not judged. */
static int make_monitor(struct verify *v)
{
	struct cli *cli = v->cli;
	char why[400] = "";
	bool added = false;
	int err = uncore_monitor_new(&v->monitor, cli->u), status;

	err = err ? err : uncore_monitor_set_level(v->monitor, UNCORE_LEVEL_CHANNEL);
	err = err ? err : uncore_monitor_add_level(v->monitor, UNCORE_LEVEL_SOCKET);
	err = err ? err : uncore_monitor_set_rounds(v->monitor);
	if (err)
		return cli_fail(cli, err);
	status = add_metrics(v, &added, why, sizeof(why));
	if (status)
		return status;
	if (!added) {
		cli_error("there is nothing to verify: verify needs PMUs of memory channels or "
			  "controllers that count what is read and written: %s",
			  why);
		cli_advise(cli);
		return CLI_UNAVAILABLE;
	}
	err = uncore_monitor_plan(v->monitor);
	return err ? cli_fail(cli, err) : CLI_OK;
}

/* Opens the counters of a pass; the rows of sockets and channels are the cells. */
static int start_pass(struct verify *v)
{
	int err = v->sample ? 0 : uncore_sample_new(&v->sample);

	err = err ? err : uncore_monitor_open(v->monitor);
	err = err ? err : uncore_monitor_start(v->monitor);
	err = err ? err : uncore_monitor_read(v->monitor, v->sample);
	if (err)
		return cli_fail(v->cli, err);
	v->run.first_cell = v->run.cell_count;
	for (size_t i = 0; i < uncore_sample_count(v->sample); i++) {
		const struct uncore_row *row = uncore_sample_row(v->sample, i);
		struct verify_cell cell = {.socket = row->place.socket,
					   .channel = row->place.channel};

		/* A PMU that has no number among the channels is in its socket. */
		if (!row->query.family || !verify_expectation(row->query.name) ||
		    (row->place.pmu && row->place.channel < 0))
			continue;
		snprintf(cell.metric, sizeof(cell.metric), "%s", row->query.name);
		snprintf(cell.family, sizeof(cell.family), "%s", row->query.family);
		v->rows = cli_realloc(v->rows, v->run.cell_count + 1, sizeof(*v->rows));
		v->rows[v->run.cell_count] = i;
		verify_add_cell(&v->run, &cell);
	}
	return CLI_OK;
}

/* A cell of this pass has to count something of it. */
static bool is_needed(const struct verify_run *run, enum verify_direction direction, bool far)
{
	for (size_t i = run->first_cell; i < run->cell_count; i++)
		if (verify_expects(verify_expectation(run->cells[i].metric), direction, far))
			return true;
	return false;
}

/* Counts, and not rates of the interval: a metric's value is made with its counters' own time. A suspect row is what
 * is to be judged; one that was multiplexed, or lacks counters, tells nothing. */
static int read_cells(void *context, struct verify_reading *into)
{
	struct verify *v = context;
	int err = uncore_monitor_read(v->monitor, v->sample);

	v->read_failed = err;
	for (size_t i = v->run.first_cell; !err && i < v->run.cell_count; i++, into++) {
		const struct uncore_row *row = uncore_sample_row(v->sample, v->rows[i]);
		bool whole = (row->quality == UNCORE_MEASURED || row->quality == UNCORE_SUSPECT) &&
			     !(row->counted.coverage < 0.999);

		*into = (struct verify_reading){NAN, row->counted.seconds};
		if (whole)
			into->bytes = row->value * row->counted.seconds;
	}
	return err;
}

/* ---- moving ---- */

static void show_round(void *context, size_t done, size_t all)
{
	const struct verify *v = context;
	const struct verify_series *s = &v->run.series[v->run.series_count - 1];
	uint64_t now = cli_now_ns();

	cli_wait("node %d, %s%s: round %zu of %zu, %llu s left", s->node,
		 verify_is_far(s) ? "far " : "", s->direction == VERIFY_READ ? "reads" : "writes",
		 done + 1, all,
		 (unsigned long long)(v->end_ns > now ? (v->end_ns - now) / NS_PER_S + 1 : 0));
}

static int pin(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET((size_t)cpu, &set);
	return sched_setaffinity(0, sizeof(set), &set) ? -errno : 0;
}

/* Containers forbid to bind memory. With one node there is no other place. */
static int open_stream(struct verify *v, const struct node *n, struct verify_stream *stream)
{
	int err = verify_stream_open(stream, n->id, n->memory, v->signals.stop_fd);

	if ((err == -EPERM || err == -ENOSYS) && v->node_count == 1)
		err = verify_stream_open(stream, -1, n->memory, v->signals.stop_fd);
	return err;
}

/* The rounds of one direction, in their part of the time that is left. Where getting memory took long, rounds are not much
 * shorter for that. */
static int move(struct verify *v, const struct node *n, const struct node *mover,
		struct verify_stream *stream, enum verify_direction direction)
{
	uint64_t now = cli_now_ns(), rest = v->end_ns > now ? v->end_ns - now : 0;
	uint64_t least_ns = v->round_ns / 2;
	uint64_t round_ns = rest / (v->series_left ? v->series_left : 1) / ROUNDS;
	const struct verify_pace pace = {.round_ns = round_ns > least_ns ? round_ns : least_ns,
					 .repeats = REPEATS,
					 .stop_fd = v->signals.stop_fd,
					 .context = v,
					 .read = read_cells,
					 .show = show_round};
	struct verify_series *s =
		verify_add_series(&v->run, &(struct verify_series){.direction = direction,
								   .node = n->id,
								   .socket = n->socket,
								   .cpu = mover->cpu,
								   .cpu_socket = mover->socket,
								   .memory = (double)n->memory});
	size_t before = 0, after = 0;
	int err = pin(mover->cpu);

	v->series_left -= v->series_left > 0;
	err = err ? err : verify_stream_elsewhere(stream, &before);
	err = err ? err : verify_rounds(s, stream, &pace);
	err = err ? err : verify_stream_elsewhere(stream, &after);
	s->elsewhere = before > after ? before : after;
	return err;
}

/* The first node of the next socket, or NULL. */
static const struct node *far_node(const struct verify *v, const struct node *n)
{
	const struct node *next = NULL, *first = NULL;

	for (size_t i = 0; i < v->node_count; i++) {
		const struct node *other = &v->nodes[i];

		if (other->socket != n->socket && (!first || other->socket < first->socket))
			first = other;
		if (other->socket > n->socket && (!next || other->socket < next->socket))
			next = other;
	}
	return next ? next : first;
}

static int move_node(struct verify *v, const struct node *n)
{
	const struct node *movers[] = {n, far_node(v, n)};
	struct verify_stream stream = {0};
	int err = pin(n->cpu);

	cli_wait("node %d: getting memory", n->id);
	err = err ? err : open_stream(v, n, &stream);
	/* Caches have a part of what the kernel has zeroed. */
	err = err ? err
		  : verify_stream_move(&stream, VERIFY_WRITE, stream.size, v->signals.stop_fd);
	for (unsigned far = 0; far < 2 && movers[far]; far++)
		for (unsigned d = 0; !err && d < VERIFY_DIRECTIONS; d++)
			if (is_needed(&v->run, (enum verify_direction)d, far))
				err = move(v, n, movers[far], &stream, (enum verify_direction)d);
	verify_stream_close(&stream);
	sched_setaffinity(0, sizeof(v->cpus), &v->cpus);
	return err;
}

/* How many series a pass has at most. */
static size_t series_of_pass(const struct verify *v)
{
	const size_t each = VERIFY_DIRECTIONS;
	size_t count = 0;

	for (size_t i = 0; i < v->node_count; i++)
		count += far_node(v, &v->nodes[i]) ? 2 * each : each;
	return count;
}

static int move_pass(struct verify *v)
{
	int status = start_pass(v), err = 0;

	if (status)
		return status;
	for (size_t i = 0; !err && i < v->node_count; i++)
		err = move_node(v, &v->nodes[i]);
	cli_waited();
	if (err == -EINTR) {
		cli_error("stopped before the end: nothing is judged");
		return CLI_SIGNAL + signals_take(&v->signals).stop;
	}
	if (v->read_failed)
		return cli_fail(v->cli, err);
	if (err)
		cli_error("cannot move data: %s", strerror(-err));
	return err ? cli_exit_code(err) : CLI_OK;
}

static int move_all(struct verify *v)
{
	size_t passes = uncore_monitor_round_count(v->monitor);
	size_t series = series_of_pass(v) * (passes ? passes : 1);
	int status, more;

	v->round_ns = v->o->time_ns / (series ? series : 1) / ROUNDS;
	if (v->round_ns < ROUND_LEAST) {
		cli_error("--time: %zu series of rounds need at least %.0f s", series,
			  ceil((double)(series * ROUNDS * ROUND_LEAST) / 1e9));
		return CLI_USAGE;
	}
	v->end_ns = cli_now_ns() + v->o->time_ns;
	do {
		/* Series that this pass does not need leave their time to the others. */
		v->series_left = series_of_pass(v) * passes--;
		status = move_pass(v);
		more = status ? 0 : uncore_monitor_next_round(v->monitor);
	} while (more > 0);
	return more < 0 ? cli_fail(v->cli, more) : status;
}

/* ---- before and after ---- */

static void announce(const struct verify *v)
{
	const char *hypervisor = uncore_hypervisor(v->cli->u);
	struct buffer cpus = {0};
	uint64_t memory = 0;
	struct human used, room;

	for (size_t i = 0; i < v->node_count; i++) {
		memory = v->nodes[i].memory > memory ? v->nodes[i].memory : memory;
		buffer_printf(&cpus, "%s%d", i ? ", " : "", v->nodes[i].cpu);
	}
	human_value_in(&used, (double)memory, "B", UNITS_IEC);
	human_value_in(&room, (double)v->free, "B", UNITS_IEC);
	cli_error("verify moves data for about %.0f s with CPU %s, on one node after another; it "
		  "takes up to %s %s of memory (%s %s are free)",
		  (double)v->o->time_ns / 1e9, cpus.data, used.number, used.unit, room.number,
		  room.unit);
	if (v->assumed)
		cli_error("note: the kernel does not say how large the caches are: 256 MiB are "
			  "assumed");
	if (hypervisor)
		cli_error(
			"note: this is a virtual machine (%s): its nodes need not be those of the "
			"hardware, and other machines may be counted, too",
			hypervisor);
	buffer_free(&cpus);
}

/* Writes the file that was asked for, and keeps one on this machine. */
static int write_report(const struct verify *v, const struct verify_result *results, size_t count)
{
	const char *snapshot = v->cli->snapshot, *rest = strchr(snapshot, '\n');
	struct buffer text = {.records = true};
	struct writer w;
	int status = CLI_OK;

	/* Behind the first line, which is the format's. */
	buffer_add(&text, snapshot, rest ? (size_t)(rest - snapshot) + 1 : strlen(snapshot));
	verify_print_comments(&v->run, results, count, &text);
	buffer_puts(&text, rest ? rest + 1 : "");
	verify_put_run(&text, &v->run);
	/* It would say less than the last one of all metrics. */
	if (!v->o->metrics)
		kept_write(v->cli, &text);
	if (v->o->file)
		status = writer_open(&w, v->o->file, false);
	if (v->o->file && !status) {
		w.text.records = true;
		buffer_add(&w.text, text.data, text.len);
		status = writer_close(&w);
	}
	buffer_free(&text);
	return status;
}

static int exit_status(enum verify_verdict verdict)
{
	return verdict == VERIFY_PROVED ? CLI_OK
	       : verdict == VERIFY_OFF  ? CLI_RUNTIME
					: CLI_UNAVAILABLE;
}

/* Judges what was read, prints it and writes the report unless it comes out of one. */
static int judge(const struct verify *v, bool write)
{
	struct verify_result *results;
	size_t count = verify_judge(&v->run, &results);
	struct buffer text = {0};
	int status = write ? write_report(v, results, count) : CLI_OK;

	verify_print(&v->run, results, count, v->o->output, &text);
	status = writer_print(&text) || status ? CLI_RUNTIME : CLI_OK;
	if (!status)
		status = exit_status(verify_overall(results, count));
	free(results);
	return status;
}

static int show(struct cli *cli, const struct verify_options *o)
{
	struct verify v = {.cli = cli, .o = o};
	struct buffer text = {0};
	char why[VERIFY_WHY];
	int err = buffer_read(&text, o->show), status;

	if (err) {
		cli_error("%s: %s", o->show, strerror(err));
		status = cli_exit_code(-err);
	} else if (!verify_parse_run(&v.run, buffer_text(&text), why)) {
		cli_error("%s: %s", o->show, why);
		status = CLI_USAGE;
	} else {
		status = judge(&v, false);
	}
	verify_run_free(&v.run);
	buffer_free(&text);
	return status;
}

static int count_and_judge(struct verify *v)
{
	time_t now = time(NULL);
	struct tm day;
	int status = make_monitor(v);

	if (status)
		return status;
	find_nodes(v);
	status = find_memory(v);
	snprintf(v->run.version, sizeof(v->run.version), "%s", uncore_version());
	strftime(v->run.date, sizeof(v->run.date), "%Y-%m-%d", gmtime_r(&now, &day));
	status = status ? status : signals_open(&v->signals);
	if (status)
		return status;
	announce(v);
	/* Only this thread: others read the counters. */
	if (v->o->nice)
		setpriority(PRIO_PROCESS, 0, 19);
	status = move_all(v);
	return status ? status : judge(v, true);
}

static int run(struct cli *cli, const struct verify_options *o)
{
	struct verify v = {.cli = cli, .o = o, .signals = {.stop_fd = -1, .child_fd = -1}};
	int lock = take_lock(), status = lock < 0 ? CLI_RUNTIME : cli_open(cli);

	sched_getaffinity(0, sizeof(v.cpus), &v.cpus);
	status = status ? status : count_and_judge(&v);
	signals_close(&v.signals);
	uncore_monitor_free(v.monitor);
	uncore_sample_free(v.sample);
	verify_run_free(&v.run);
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

	if (o->show && (o->file || o->metrics || o->nice || o->time_ns || o->memory))
		argp_error(state, "--show moves nothing: it stands alone");
	if (o->memory && o->memory < 2 * MIB)
		argp_error(state, "--memory: at least 2MiB");
	if (o->output && o->output->window)
		argp_error(state, "--csv=wide and --html show counters over time, not verdicts");
}

int cmd_verify(struct cli *cli, int argc, char **argv)
{
	static const struct cli_option options[] = {
		{"metrics", "METRICS",
		 "Judge METRICS only: names and patterns with commas between them (default: all "
		 "that verify knows)",
		 'M', 1, OPTION_TEXT, AT(metrics)},
		{"time", "TIME", "Take about TIME in all: 1m, 30s (default)", 0, 1, OPTION_INTERVAL,
		 AT(time_ns)},
		{"memory", "SIZE", "Take at most SIZE of memory (default: four times the caches)",
		 0, 1, OPTION_SIZE, AT(memory)},
		{"nice", NULL, "Give way to other programs", 0, 1, OPTION_FLAG, AT(nice)},
		{"output", "FILE", "Write a report with all readings, which --root takes, too", 'o',
		 1, OPTION_TEXT, AT(file)},
		{"show", "FILE", "Judge the readings of a report; nothing is moved", 0, 1,
		 OPTION_TEXT, AT(show)},
		{0},
	};
	static const struct cli_syntax syntax = {
		.doc = "Moves known amounts of data to and from each NUMA node, and judges the "
		       "counters of memory and links by what they say.\vExit status: 0 all are proved, 1 "
		       "one is off (or an error), 3 it cannot be told, or there is nothing to "
		       "verify.",
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
	if (cli->root || cli_replays(cli) ||
	    (cli->source && strncmp(cli->source, "sim:", 4) == 0)) {
		cli_error("verify moves data on this machine: %s does not count it",
			  cli->source ? cli->source : cli->root);
		return CLI_USAGE;
	}
	o.time_ns = o.time_ns ? o.time_ns : 30 * NS_PER_S;
	cli->takes_snapshot = true;
	return run(cli, &o);
}

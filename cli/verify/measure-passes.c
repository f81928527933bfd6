/* SPDX-License-Identifier: MIT */
/* The passes: each counts some metrics, whose rows are its cells, and runs the series of all
 * nodes. */
#include <errno.h>
#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "verify/measure.h"

/* A tenth of the time for all sockets, but a minimum of rounds for each. */
#define PEAK_ROUND (100 * NS_PER_MS)
#define PEAK_PART 10
#define PEAK_ROUNDS_LEAST 3
#define PEAK_ROUNDS_MOST 20

#define SMALL_COPY ((size_t)64 << 20) /* of a GPU */

/* ---- cells ---- */

/* The cell of a row. False: the row has no cell, or counts no data that CPUs move. A PMU without a
 * number among the channels is in its socket. A device that counts itself has its own address in
 * place of a port's. */
static bool cell_of(struct uncore *u, const struct uncore_row *row, struct verify_cell *cell)
{
	const struct uncore_pmu *pmu = row->place->pmu;
	const bool own = pmu && uncore_pmu_is_device(pmu);
	const struct uncore_device *port = own ? uncore_pmu_device(u, pmu) : row->place->port;
	const struct uncore_alternative *a;
	const struct uncore_metric *m;

	if (!row->query->family || !verify_expectation(row->query->name) ||
	    !(port || !pmu || row->place->channel >= 0))
		return false;
	m = cli_metric(u, row->query);
	if (!m || uncore_metric_remote_data(m) == UNCORE_REMOTE_NONE)
		return false;
	*cell = (struct verify_cell){.socket = row->place->socket,
				     .channel = row->place->channel,
				     .both_ends = uncore_metric_remote_data(m) ==
						  UNCORE_REMOTE_BOTH_ENDS};
	snprintf(cell->metric, sizeof(cell->metric), "%s", row->query->name);
	snprintf(cell->family, sizeof(cell->family), "%s", row->query->family);
	if (port)
		snprintf(cell->port, sizeof(cell->port), "%s", port->address);
	for (size_t i = 0; cell->channel < 0 && i < VERIFY_ALTERNATIVES &&
			   (a = uncore_metric_alternative_at(m, i));
	     i++) {
		struct verify_alternative *to = &cell->alternatives[cell->alternative_count++];

		to->factor = a->factor;
		snprintf(to->title, sizeof(to->title), "%s", a->title);
	}
	return true;
}

/* The peak is counted in the first pass, together with memory. */
static void add_peak_cells(struct verify *v)
{
	struct verify_cell cell = {.channel = -1};

	if (v->run.first_cell || !(v->loads & 1u << VERIFY_READ_ALL))
		return;
	verify_name_peak(uncore_memory_get(v->cli->u)->from, &cell);
	for (size_t i = 0; i < v->node_count; i++) {
		cell.socket = v->nodes[i].socket;
		if (node_is_first_of_socket(v, &v->nodes[i]))
			verify_add_cell(&v->run, &cell);
	}
}

/* Opens the counters of a pass; the rows of sockets, channels and ports are the cells. */
static int start_pass(struct verify *v)
{
	int err = v->sample ? 0 : uncore_sample_new(&v->sample);

	if (!err && v->counts) {
		err = uncore_monitor_open(v->monitor);
		if (!err)
			err = uncore_monitor_start(v->monitor);
		if (!err)
			err = uncore_monitor_read(v->monitor, v->sample);
	}
	if (err)
		return cli_fail(v->cli, err);
	v->run.first_cell = v->run.cell_count;
	for (size_t i = 0; i < uncore_sample_count(v->sample); i++) {
		struct verify_cell cell;

		if (!cell_of(v->cli->u, uncore_sample_row(v->sample, i), &cell))
			continue;
		v->rows = cli_realloc(v->rows, v->run.cell_count + 1, sizeof(*v->rows));
		v->rows[v->run.cell_count] = i;
		verify_add_cell(&v->run, &cell);
	}
	v->counted_end = v->run.cell_count;
	witnesses_begin(&v->witnesses, &v->run);
	add_peak_cells(v);
	return CLI_OK;
}

/* A cell of this pass must count data of the load. */
static bool needs(const struct verify_run *run, enum verify_load load, bool far)
{
	for (size_t i = run->first_cell; i < run->cell_count; i++)
		if (verify_expects(run->cells[i].expected, load, far))
			return true;
	return false;
}

/* A latency without requests has no value, but its amount is 0: all of its counters ran, and the
 * first one of the formula, which counts the waiting time, is 0. */
static bool is_idle(const struct uncore_sample *sample, size_t row)
{
	const size_t instances = uncore_sample_row(sample, row)->counted->instances;
	const size_t count = uncore_sample_input_count(sample, row);

	for (size_t i = 0; i < count; i++) {
		const struct uncore_input *input = uncore_sample_input_at(sample, row, i);

		if (input->counters != instances || input->running_ns != input->enabled_ns)
			return false;
	}
	return count && !uncore_sample_input_at(sample, row, 0)->count;
}

/* A suspect row is used, since it may be the fault to be found. A row that was multiplexed or lacks
 * counters is not. */
static int read_cells(void *context, struct verify_reading *into)
{
	struct verify *v = context;
	int err = v->counts ? uncore_monitor_read(v->monitor, v->sample) : 0;

	v->read_failed = err;
	if (!err)
		witnesses_read(&v->witnesses, &v->run, into);
	for (size_t i = v->run.first_cell; !err && i < v->counted_end; i++, into++) {
		const struct uncore_row *row = uncore_sample_row(v->sample, v->rows[i]);
		const enum verify_group group = v->run.cells[i].expected->group;
		bool whole = (row->quality == UNCORE_MEASURED || row->quality == UNCORE_SUSPECT) &&
			     !(row->counted->coverage < 0.999);

		/* A rate would not do: it is over the time of each counter, and no data were moved
		 * while counters were read. A mean is multiplied by its weight to give the sum. */
		*into = (struct verify_reading){.amount = NAN, .seconds = row->counted->seconds};
		if (whole)
			into->amount = isfinite(row->weight) ? row->value * row->weight
							     : row->counted->amount;
		if (group != VERIFY_LATENCIES && group != VERIFY_QUEUES)
			continue;
		/* The amount is the ns of requests. */
		if (whole) {
			into->amount *= 1e9;
			into->requests = row->weight;
		} else if (!isfinite(row->value) && is_idle(v->sample, v->rows[i])) {
			into->amount = 0;
		}
	}
	return err;
}

/* ---- series ---- */

static void show_round(void *context, size_t done, size_t all)
{
	const struct verify *v = context;
	const struct verify_series *s = &v->run.series[v->run.series_count - 1];
	uint64_t now = cli_now_ns();

	cli_wait("node %d, %s%s: round %zu of %zu, %llu s left", s->node,
		 verify_is_far(s) ? "far " : "", verify_load_words[s->load].name, done + 1, all,
		 (unsigned long long)(v->end_ns > now ? (v->end_ns - now) / NS_PER_S + 1 : 0));
}

static int pin(int cpu)
{
	struct cli_cpus one = {0};

	cli_cpus_add(&one, cpu);
	return sched_setaffinity(0, sizeof(one), one.parts) ? -errno : 0;
}

static struct verify_series *add_series(struct verify *v, enum verify_load load,
					const struct node *n, const struct node *mover)
{
	return verify_add_series(&v->run, &(struct verify_series){.load = load,
								  .node = n->id,
								  .socket = n->socket,
								  .cpu = mover->cpu,
								  .bare = n->bare,
								  .cpu_socket = mover->socket});
}

/* Containers may forbid binding memory. With one node it is not needed. */
static int open_stream(struct verify *v, const struct node *n, size_t size,
		       struct verify_stream *stream)
{
	int err = pin(n->cpu);

	if (!err)
		err = verify_stream_open(stream, n->id, size, v->signals.stop_fd);
	if ((err == -EPERM || err == -ENOSYS) && v->node_count == 1)
		err = verify_stream_open(stream, -1, size, v->signals.stop_fd);
	return err;
}

static struct verify_pace begin_series(struct verify *v, uint64_t round_ns, unsigned repeats)
{
	v->series_left -= v->series_left > 0;
	return (struct verify_pace){.round_ns = round_ns,
				    .repeats = repeats,
				    .stop_fd = v->signals.stop_fd,
				    .context = v,
				    .read = read_cells,
				    .show = show_round};
}

/* The rounds of one series, in its share of the time that is left, but not less than half of the
 * planned length, if preparations took long. */
static int run_series(struct verify *v, struct verify_series *s, const struct verify_work *work)
{
	uint64_t now = cli_now_ns(), rest = v->end_ns > now ? v->end_ns - now : 0;
	uint64_t least_ns = v->round_ns / 2;
	uint64_t round_ns = rest / (v->series_left ? v->series_left : 1) / SERIES_ROUNDS;
	const struct verify_pace pace =
		begin_series(v, round_ns > least_ns ? round_ns : least_ns, SERIES_REPEATS);

	return verify_rounds(s, work, &pace);
}

static int run_on_stream(struct verify *v, struct verify_series *s,
			 const struct verify_stream *stream, const struct verify_work *work)
{
	int err = pin(s->cpu);

	s->memory = (double)stream->size;
	if (!err)
		err = run_series(v, s, work);
	if (!err)
		err = verify_stream_elsewhere(stream, &s->elsewhere);
	s->round_count = err ? 0 : s->round_count;
	return err;
}

static int run_load(struct verify *v, const struct node *n, const struct node *mover,
		    enum verify_load load, struct verify_stream *stream, struct verify_chase *chase)
{
	const struct verify_work work =
		load == VERIFY_CHASE ? verify_chase_work(chase) : verify_stream_work(stream, load);
	struct verify_series *s = add_series(v, load, n, mover);
	int err;

	chase->loads = chase->ns = 0;
	err = run_on_stream(v, s, stream, &work);
	s->load_ns = chase->loads > 0 ? chase->ns / chase->loads : 0;
	return err;
}

/* Loads of the node's memory by its own CPU and by one of another socket. A chase prepares the
 * memory; other loads first remove the lines from the caches that the kernel has just zeroed. */
static int run_loads(struct verify *v, const struct node *n, const enum verify_load *loads,
		     size_t count)
{
	const struct node *movers[] = {n, node_far(v, n)};
	const int stop_fd = v->signals.stop_fd;
	const bool chases = *loads == VERIFY_CHASE;
	struct verify_stream stream = {0};
	struct verify_chase chase = {0};
	bool needed = false;
	int err;

	for (size_t i = 0; i < 2 * count; i++)
		needed = needed || needs(&v->run, loads[i / 2], i % 2);
	if (!needed)
		return 0;
	cli_wait("node %d: getting memory", n->id);
	err = open_stream(v, n, n->memory, &stream);
	if (!err)
		err = chases ? verify_chase_open(&chase, &stream, stop_fd)
			     : verify_stream_move(&stream, VERIFY_WRITE, stream.size, stop_fd);
	for (unsigned far = 0; far < 2 && movers[far]; far++) {
		/* Skylake and later store in memory whether another socket may have a line, so that
		 * the first far read of a line also writes: all lines are read once before. */
		if (!err && far && !chases && needs(&v->run, VERIFY_READ, true)) {
			err = pin(movers[far]->cpu);
			err = err ? err
				  : verify_stream_move(&stream, VERIFY_READ, stream.size, stop_fd);
		}
		for (size_t i = 0; !err && i < count; i++)
			if (needs(&v->run, loads[i], far))
				err = run_load(v, n, movers[far], loads[i], &stream, &chase);
	}
	verify_stream_close(&stream);
	return err;
}

static int move_node(struct verify *v, const struct node *n)
{
	return run_loads(v, n, (const enum verify_load[]){VERIFY_READ, VERIFY_WRITE}, 2);
}

static int chase_node(struct verify *v, const struct node *n)
{
	return run_loads(v, n, (const enum verify_load[]){VERIFY_CHASE}, 1);
}

/* A busy CPU, once for each socket: clocks and energy are not counted by node. */
static int spin_node(struct verify *v, const struct node *n)
{
	const struct verify_work work = verify_spin_work();
	int err;

	if (!needs(&v->run, VERIFY_SPIN, false))
		return 0;
	err = pin(n->cpu);
	return err ? err : run_series(v, add_series(v, VERIFY_SPIN, n, n), &work);
}

/* Only the device moves data; the CPU waits for it. */
static int move_file(struct verify *v, const struct node *n, struct device *d,
		     struct verify_stream *stream)
{
	struct verify_work work;
	struct verify_series *s;
	int err;

	d->memory = stream->base;
	err = d->load == VERIFY_FILE_WRITE ? device_fill(d, v->signals.stop_fd) : 0;
	if (err)
		return err;
	s = add_series(v, d->load, n, n);
	snprintf(s->device, sizeof(s->device), "%s", d->pci->address);
	snprintf(s->port, sizeof(s->port), "%s", d->port ? d->port->address : "");
	work = device_begin(d);
	err = run_on_stream(v, s, stream, &work);
	s->disk = device_end(d);
	return err;
}

/* The files of the options, each with the node of its device. */
static int move_files(struct verify *v, const struct node *n)
{
	struct verify_stream stream = {0};
	int err = 0;

	for (size_t i = 0; !err && i < v->device_count; i++) {
		struct device *d = &v->devices[i];

		if (d->node != n->id || d->load == VERIFY_GPU_READ ||
		    !needs(&v->run, d->load, false))
			continue;
		err = open_stream(v, n, DEVICE_MEMORY, &stream);
		if (!err)
			err = move_file(v, n, d, &stream);
		verify_stream_close(&stream);
	}
	return err;
}

/* ---- copies of GPUs ---- */

/* The first series takes a fixed time, and the others share the rest. The sizes of packets are
 * found by the next two, and judged by the others. */
static const struct {
	enum verify_load load;
	unsigned parts; /* of the GPU's memory, in a copy; 0: a small one */
} copies[GPU_SERIES] = {
	{VERIFY_GPU_COPY, 1}, {VERIFY_GPU_READ, 1}, {VERIFY_GPU_WRITE, 1},
	{VERIFY_GPU_BOTH, 2}, {VERIFY_GPU_READ, 0}, {VERIFY_GPU_WRITE, 0},
};

static int run_copies(struct verify *v, const struct node *n, struct device *d, size_t i)
{
	struct verify_series *s = add_series(v, copies[i].load, n, n);
	struct gpu *g = &d->gpu;
	const size_t size = copies[i].parts ? g->size / copies[i].parts : SMALL_COPY;
	const struct verify_work work = gpu_work(g, s->load, size);
	int err;

	snprintf(s->device, sizeof(s->device), "%s", d->pci->address);
	snprintf(s->port, sizeof(s->port), "%s", d->port ? d->port->address : "");
	s->memory = (double)g->size;
	s->elsewhere = g->elsewhere;
	s->copy = (double)size;
	if (s->load == VERIFY_GPU_COPY) {
		const struct verify_pace pace = begin_series(v, GPU_COPY_ROUND, 1);

		err = gpu_steady_rounds(s, g, &pace);
	} else {
		err = run_series(v, s, &work);
	}
	s->rate = g->busy_ns > 0 ? g->bytes / g->busy_ns * 1e9 : 0;
	s->round_count = err ? 0 : s->round_count;
	return err;
}

/* The GPUs of the options, each with the node of its device. A GPU that fails is left out. */
static int move_gpus(struct verify *v, const struct node *n)
{
	for (size_t i = 0; i < v->device_count * GPU_SERIES; i++) {
		struct device *d = &v->devices[i / GPU_SERIES];
		const size_t k = i % GPU_SERIES;
		int err;

		if (d->load != VERIFY_GPU_READ || d->node != n->id || !d->gpu.child ||
		    !needs(&v->run, copies[k].load, false))
			continue;
		err = pin(n->cpu);
		err = err ? err : run_copies(v, n, d, k);
		if (err && (d->gpu.child || v->read_failed))
			return err;
		if (!err)
			continue;
		cli_error("note: --gpu %s: %s: its verdicts are left out", d->path, d->gpu.why);
		v->left_out = true;
	}
	return 0;
}

/* ---- all CPUs of a socket read its memory together ---- */

static bool is_reader(const struct verify *v, const struct uncore_cpu *c)
{
	return c->online && cli_cpus_has(&v->cpus, c->id);
}

size_t peak_cpus(const struct verify *v, int socket)
{
	size_t count = 0;

	for (size_t i = 0; i < uncore_cpu_count(v->cli->u); i++) {
		const struct uncore_cpu *c = uncore_cpu_at(v->cli->u, i);

		count += is_reader(v, c) && c->socket == socket;
	}
	return count;
}

/* The number of rounds of one socket. */
static unsigned peak_rounds(const struct verify *v)
{
	uint64_t sockets = 0, rounds;

	for (size_t i = 0; i < v->node_count; i++)
		sockets += node_is_first_of_socket(v, &v->nodes[i]);
	rounds = v->time_ns / PEAK_PART / (sockets ? sockets : 1) / PEAK_ROUND;
	rounds = rounds > PEAK_ROUNDS_MOST ? PEAK_ROUNDS_MOST : rounds;
	return rounds > PEAK_ROUNDS_LEAST ? (unsigned)rounds : PEAK_ROUNDS_LEAST;
}

uint64_t peak_ns(const struct verify *v)
{
	return (peak_rounds(v) + 1) * PEAK_ROUND;
}

/* Gives each CPU of the node an equal part of its memory. */
static void add_readers(const struct verify *v, const struct node *n,
			const struct verify_stream *stream, struct verify_ceiling *c)
{
	const struct uncore *u = v->cli->u;
	const size_t first = c->count;
	size_t count, size;

	for (size_t i = 0; i < uncore_cpu_count(u); i++) {
		const struct uncore_cpu *cpu = uncore_cpu_at(u, i);

		if (is_reader(v, cpu) && cpu->socket == n->socket &&
		    (cpu->node < 0 ? 0 : cpu->node) == n->id)
			c->readers[c->count++].cpu = cpu->id;
	}
	count = c->count - first;
	size = count ? stream->size / count / 64 * 64 : 0; /* lines */
	for (size_t i = first; i < c->count; i++)
		c->readers[i].part =
			(struct verify_stream){.base = stream->base + (i - first) * size,
					       .size = size,
					       .node = stream->node};
}

static int read_all(struct verify *v, struct verify_series *s, const struct verify_ceiling *c,
		    const struct verify_stream *streams, size_t count)
{
	const struct verify_pace pace = begin_series(v, PEAK_ROUND, peak_rounds(v));
	int err = verify_ceiling_rounds(s, c, &pace);

	s->cpus = (int)c->count;
	for (size_t i = 0; !err && i < count; i++) {
		size_t pages;

		err = verify_stream_elsewhere(&streams[i], &pages);
		s->elsewhere += err ? 0 : pages;
		s->memory += (double)streams[i].size;
	}
	s->round_count = err ? 0 : s->round_count;
	return err;
}

static int read_socket(struct verify *v, const struct node *n)
{
	auto_free struct verify_stream *streams = NULL;
	struct verify_ceiling c = {.cell = v->run.first_cell,
				   .peak = uncore_memory_get(v->cli->u)->peak};
	size_t count = 0;
	int err = 0;

	if (!needs(&v->run, VERIFY_READ_ALL, false))
		return 0;
	streams = cli_realloc(NULL, v->node_count, sizeof(*streams));
	c.readers = cli_realloc(NULL, peak_cpus(v, n->socket), sizeof(*c.readers));
	while (strcmp(v->run.cells[c.cell].metric, VERIFY_PEAK) != 0 ||
	       v->run.cells[c.cell].socket != n->socket)
		c.cell++;
	cli_wait("socket %d: getting memory", n->socket);
	for (const struct node *at = n; !err && at < v->nodes + v->node_count; at++) {
		if (at->socket != n->socket || at->bare || !at->room)
			continue;
		err = open_stream(v, at, at->memory_all, &streams[count]);
		if (!err)
			add_readers(v, at, &streams[count++], &c);
	}
	if (!err)
		err = pin(n->cpu);
	if (!err)
		err = read_all(v, add_series(v, VERIFY_READ_ALL, n, n), &c, streams, count);
	while (count > 0)
		verify_stream_close(&streams[--count]);
	free(c.readers);
	return err;
}

/* ---- passes ---- */

/* The tasks of a pass for each node, if its cells need them. */
static int (*const runs[TASKS])(struct verify *v, const struct node *n) = {
	[TASK_PEAK] = read_socket, [TASK_STREAMS] = move_node, [TASK_CHASES] = chase_node,
	[TASK_SPIN] = spin_node,   [TASK_FILES] = move_files,  [TASK_GPUS] = move_gpus,
};

/* An error of a node's series is a note, so that other series go on, unless it is a signal, or
 * counters cannot be read. */
static int run_task(struct verify *v, enum task task, struct node *n)
{
	const size_t most = series_of_task(v, task, n, !v->run.first_cell), left = v->series_left;
	int err = most ? runs[task](v, n) : 0;

	/* Later series get the time of series that the pass does not need. */
	v->series_left = left > most ? left - most : 0;
	if (!err || err == -EINTR || v->read_failed)
		return err;
	/* It would fail in every pass. */
	if (task == TASK_STREAMS || task == TASK_CHASES)
		n->room = 0;
	cli_error("note: node %d: cannot move data: %s: its verdicts are left out", n->id,
		  strerror(-err));
	v->left_out = true;
	return 0;
}

static int run_pass(struct verify *v)
{
	int status = start_pass(v), err = 0;

	if (status)
		return status;
	for (size_t i = 0; i < v->node_count; i++)
		for (enum task t = 0; !err && t < TASKS; t++)
			err = run_task(v, t, &v->nodes[i]);
	sched_setaffinity(0, sizeof(v->cpus), v->cpus.parts);
	cli_waited();
	if (err == -EINTR)
		return cli_failure(CLI_SIGNAL + signals_take(&v->signals).stop,
				   "stopped before the end: nothing is judged");
	return err ? cli_fail(v->cli, err) : CLI_OK;
}

int passes_run(struct verify *v)
{
	int status, more;

	v->series_left = series_of_passes(v, passes_count(v));
	v->round_ns = v->time_ns / (v->series_left ? v->series_left : 1) / SERIES_ROUNDS;
	v->end_ns = cli_now_ns() + v->time_ns;
	do {
		status = run_pass(v);
		more = status || !v->counts ? 0 : uncore_monitor_next_round(v->monitor);
	} while (more > 0);
	return more < 0 ? cli_fail(v->cli, more) : status;
}

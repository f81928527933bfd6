/* SPDX-License-Identifier: MIT */
/* The monitor that is judged, pass after pass, and the series of each pass. */
#include "verify/run.h"

#include <errno.h>
#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "options.h"
#include "verify/device.h"

/* ---- cells ---- */

static const struct uncore_metric *metric_of(const struct uncore *u, const struct uncore_row *row)
{
	for (size_t i = 0; i < uncore_metric_count(u); i++) {
		const struct uncore_metric *m = uncore_metric_at(u, i);

		if (strcmp(uncore_metric_name(m), row->query.name) == 0 &&
		    strcmp(uncore_metric_family(m), row->query.family) == 0)
			return m;
	}
	return NULL;
}

/* What the catalogue says of its metric. False: it counts nothing of what CPUs move. */
static bool describe_cell(struct verify_cell *cell, const struct uncore_metric *m)
{
	const struct uncore_alternative *a;

	if (!m || uncore_metric_remote_data(m) == UNCORE_REMOTE_NONE)
		return false;
	cell->both_ends = uncore_metric_remote_data(m) == UNCORE_REMOTE_BOTH_ENDS;
	for (size_t i = 0; cell->channel < 0 && i < VERIFY_ALTERNATIVES &&
			   (a = uncore_metric_alternative_at(m, i));
	     i++) {
		struct verify_alternative *to = &cell->alternatives[cell->alternative_count++];

		to->factor = a->factor;
		snprintf(to->title, sizeof(to->title), "%s", a->title);
	}
	return true;
}

/* The cell of a row. False: the row has no cell. A PMU without a number among the channels is in its socket. */
static bool cell_of(const struct uncore *u, const struct uncore_row *row, struct verify_cell *cell)
{
	const struct verify_expectation *e =
		row->query.family ? verify_expectation(row->query.name) : NULL;
	const struct uncore_device *port = row->place.port;

	if (!e)
		return false;
	*cell = (struct verify_cell){.socket = row->place.socket, .channel = row->place.channel};
	snprintf(cell->metric, sizeof(cell->metric), "%s", row->query.name);
	snprintf(cell->family, sizeof(cell->family), "%s", row->query.family);
	if (port)
		snprintf(cell->port, sizeof(cell->port), "%s", port->address);
	return (port || !row->place.pmu || row->place.channel >= 0) &&
	       describe_cell(cell, metric_of(u, row));
}

static int start_counting(struct verify *v)
{
	int err = v->sample ? 0 : uncore_sample_new(&v->sample);

	if (!v->counts)
		return err;
	err = err ? err : uncore_monitor_open(v->monitor);
	err = err ? err : uncore_monitor_start(v->monitor);
	return err ? err : uncore_monitor_read(v->monitor, v->sample);
}

/* Opens the counters of a pass; the rows of sockets, channels and ports are the cells. */
int pass_start(struct verify *v)
{
	int err = start_counting(v);

	if (err)
		return cli_fail(v->cli, err);
	v->run.first_cell = v->run.cell_count;
	for (size_t i = 0; i < uncore_sample_count(v->sample); i++) {
		struct verify_cell cell;

		if (!cell_of(v->cli->u, uncore_sample_row(v->sample, i), &cell) ||
		    (v->multiplexing.runs && !multiplexing_is_judged(cell.metric)))
			continue;
		v->rows = cli_realloc(v->rows, v->run.cell_count + 1, sizeof(*v->rows));
		v->rows[v->run.cell_count] = i;
		verify_add_cell(&v->run, &cell);
	}
	v->counted_end = v->run.cell_count;
	witnesses_begin(&v->witnesses, &v->run);
	peak_add_cells(v);
	return CLI_OK;
}

/* A cell of this pass has to count something of it. */
bool pass_needs(const struct verify_run *run, enum verify_load load, bool far)
{
	for (size_t i = run->first_cell; i < run->cell_count; i++)
		if (verify_expects(verify_expectation(run->cells[i].metric), load, far))
			return true;
	return false;
}

/* Counts, and not rates: these are over the time of each counter, and nothing was moved while they were read. A mean is its
 * sum again. */
static double amount_of(const struct uncore_row *row)
{
	return isfinite(row->weight) ? row->value * row->weight : row->counted.amount;
}

/* A latency without requests has no value, and is nothing all the same: all of its counters ran, and the first one of the
 * formula, which is of time, has counted nothing. */
static bool is_idle(const struct uncore_sample *sample, size_t row)
{
	const size_t instances = uncore_sample_row(sample, row)->counted.instances;
	const struct uncore_input *inputs;
	size_t count;

	inputs = uncore_sample_inputs(sample, row, &count);
	for (size_t i = 0; i < count; i++)
		if (inputs[i].counters != instances || inputs[i].running_ns != inputs[i].enabled_ns)
			return false;
	return count && !inputs[0].count;
}

static void read_latency(const struct uncore_sample *sample, size_t at, bool whole,
			 struct verify_reading *into)
{
	const struct uncore_row *row = uncore_sample_row(sample, at);

	if (whole) {
		into->amount = amount_of(row) * 1e9;
		into->requests = row->weight;
	} else if (!isfinite(row->value) && is_idle(sample, at)) {
		into->amount = 0;
	}
}

/* A suspect row is what is to be judged; one that was multiplexed, or lacks counters, tells nothing. */
int pass_read_cells(void *context, struct verify_reading *into)
{
	struct verify *v = context;
	int err = v->counts ? uncore_monitor_read(v->monitor, v->sample) : 0;

	v->read_failed = err;
	if (!err)
		witnesses_read(&v->witnesses, &v->run, into);
	for (size_t i = v->run.first_cell; !err && i < v->counted_end; i++, into++) {
		const struct uncore_row *row = uncore_sample_row(v->sample, v->rows[i]);
		bool whole = (row->quality == UNCORE_MEASURED || row->quality == UNCORE_SUSPECT) &&
			     !(row->counted.coverage < 0.999);

		*into = (struct verify_reading){.amount = NAN, .seconds = row->counted.seconds};
		if (verify_is_latency(verify_expectation(v->run.cells[i].metric)))
			read_latency(v->sample, v->rows[i], whole, into);
		else if (whole)
			into->amount = amount_of(row);
	}
	return err;
}

/* ---- series ---- */

void pass_show_round(void *context, size_t done, size_t all)
{
	const struct verify *v = context;
	const struct verify_series *s = &v->run.series[v->run.series_count - 1];
	uint64_t now = cli_now_ns();

	cli_wait("node %d, %s%s%s: round %zu of %zu, %llu s left", s->node,
		 v->multiplexing.runs ? "multiplexed " : "", verify_is_far(s) ? "far " : "",
		 verify_load_words[s->load].name, done + 1, all,
		 (unsigned long long)(v->end_ns > now ? (v->end_ns - now) / NS_PER_S + 1 : 0));
}

int pass_pin(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET((size_t)cpu, &set);
	return sched_setaffinity(0, sizeof(set), &set) ? -errno : 0;
}

/* The rounds of one series, in their part of the time that is left. Where getting ready took long, rounds are not much
 * shorter for that. */
static int run_series(struct verify *v, struct verify_series *s, const struct verify_work *work)
{
	uint64_t now = cli_now_ns(), rest = v->end_ns > now ? v->end_ns - now : 0;
	uint64_t least_ns = v->round_ns / 2;
	uint64_t round_ns = rest / (v->series_left ? v->series_left : 1) / SERIES_ROUNDS;
	const struct verify_pace pace = {.round_ns = round_ns > least_ns ? round_ns : least_ns,
					 .repeats = SERIES_REPEATS,
					 .stop_fd = v->signals.stop_fd,
					 .context = v,
					 .read = pass_read_cells,
					 .show = pass_show_round};

	v->series_left -= v->series_left > 0;
	return verify_rounds(s, work, &pace);
}

struct verify_series *pass_add_series(struct verify *v, enum verify_load load, const struct node *n,
				      const struct node *mover)
{
	return verify_add_series(&v->run, &(struct verify_series){.load = load,
								  .node = n->id,
								  .socket = n->socket,
								  .cpu = mover->cpu,
								  .bare = n->bare,
								  .cpu_socket = mover->socket});
}

/* ---- streams ---- */

/* Containers forbid to bind memory. With one node there is no other place. */
int pass_open_stream(struct verify *v, const struct node *n, size_t size,
		     struct verify_stream *stream)
{
	int err = verify_stream_open(stream, n->id, size, v->signals.stop_fd);

	if ((err == -EPERM || err == -ENOSYS) && v->node_count == 1)
		err = verify_stream_open(stream, -1, size, v->signals.stop_fd);
	return err;
}

static int run_on_stream(struct verify *v, struct verify_series *s,
			 const struct verify_stream *stream, const struct verify_work *work)
{
	size_t before = 0, after = 0;
	int err = pass_pin(s->cpu);

	s->memory = (double)stream->size;
	err = err ? err : verify_stream_elsewhere(stream, &before);
	err = err ? err : run_series(v, s, work);
	err = err ? err : verify_stream_elsewhere(stream, &after);
	s->elsewhere = before > after ? before : after;
	s->round_count = err ? 0 : s->round_count;
	return err;
}

static int move(struct verify *v, const struct node *n, const struct node *mover,
		struct verify_stream *stream, enum verify_load load)
{
	const struct verify_work work = verify_stream_work(stream, load);

	return run_on_stream(v, pass_add_series(v, load, n, mover), stream, &work);
}

static int chase(struct verify *v, const struct node *n, const struct node *mover,
		 const struct verify_stream *stream, struct verify_chase *c)
{
	const struct verify_work work = verify_chase_work(c);
	struct verify_series *s = pass_add_series(v, VERIFY_CHASE, n, mover);
	int err;

	c->loads = c->ns = 0;
	err = run_on_stream(v, s, stream, &work);
	s->load_ns = c->loads > 0 ? c->ns / c->loads : 0;
	return err;
}

/* Skylake and later keep in memory whether another socket may have a line: its first read there writes that. One pass over all
 * lines, so that reads that are counted write nothing. */
static int touch_from_far(struct verify *v, const struct node *mover, struct verify_stream *stream)
{
	int err = pass_pin(mover->cpu);

	return err ? err
		   : verify_stream_move(stream, VERIFY_READ, stream->size, v->signals.stop_fd);
}

static int move_node(struct verify *v, const struct node *n)
{
	static const enum verify_load loads[] = {VERIFY_READ, VERIFY_WRITE};
	const struct node *movers[] = {n, node_far(v, n)};
	struct verify_stream stream = {0};
	bool needed = false;
	int err;

	for (unsigned far = 0; far < 2; far++)
		needed = needed || pass_needs(&v->run, VERIFY_READ, far) ||
			 pass_needs(&v->run, VERIFY_WRITE, far);
	if (!needed)
		return 0;
	err = pass_pin(n->cpu);
	cli_wait("node %d: getting memory", n->id);
	err = err ? err : pass_open_stream(v, n, n->memory, &stream);
	/* Caches have a part of what the kernel has zeroed. */
	err = err ? err
		  : verify_stream_move(&stream, VERIFY_WRITE, stream.size, v->signals.stop_fd);
	for (unsigned far = 0; far < 2 && movers[far]; far++) {
		if (!err && far && pass_needs(&v->run, VERIFY_READ, true))
			err = touch_from_far(v, movers[far], &stream);
		for (unsigned i = 0; !err && i < 2; i++)
			if (pass_needs(&v->run, loads[i], far))
				err = move(v, n, movers[far], &stream, loads[i]);
	}
	verify_stream_close(&stream);
	return err;
}

/* ---- a busy CPU ---- */

/* Of each socket: clocks and energy are not counted by node. */
static int spin_node(struct verify *v, const struct node *n)
{
	const struct verify_work work = verify_spin_work();
	int err;

	if (!pass_needs(&v->run, VERIFY_SPIN, false))
		return 0;
	err = pass_pin(n->cpu);
	return err ? err : run_series(v, pass_add_series(v, VERIFY_SPIN, n, n), &work);
}

/* ---- chases ---- */

static int chase_node(struct verify *v, const struct node *n)
{
	const struct node *movers[] = {n, node_far(v, n)};
	struct verify_stream stream = {0};
	struct verify_chase c;
	int err;

	if (!pass_needs(&v->run, VERIFY_CHASE, false) && !pass_needs(&v->run, VERIFY_CHASE, true))
		return 0;
	err = pass_pin(n->cpu);
	cli_wait("node %d: getting memory", n->id);
	err = err ? err : pass_open_stream(v, n, n->memory, &stream);
	err = err ? err : verify_chase_open(&c, &stream, v->signals.stop_fd);
	for (unsigned far = 0; far < 2 && movers[far]; far++)
		if (!err && pass_needs(&v->run, VERIFY_CHASE, far))
			err = chase(v, n, movers[far], &stream, &c);
	verify_stream_close(&stream);
	return err;
}

/* ---- devices ---- */

/* The CPU of the node only waits. */
static int move_file(struct verify *v, const struct node *n, struct device *d,
		     struct verify_stream *stream)
{
	struct verify_work work;
	struct verify_series *s;
	int err =
		d->load == VERIFY_FILE_WRITE ? device_fill(d, stream->base, v->signals.stop_fd) : 0;

	if (err)
		return err;
	s = pass_add_series(v, d->load, n, n);
	snprintf(s->device, sizeof(s->device), "%s", d->pci->address);
	snprintf(s->port, sizeof(s->port), "%s", d->port ? d->port->address : "");
	work = device_begin(d, stream->base);
	err = run_on_stream(v, s, stream, &work);
	s->disk = device_end(d);
	return err;
}

/* What was named, with its own node. */
static int move_files(struct verify *v, const struct node *n)
{
	struct verify_stream stream = {0};
	int err = 0;

	for (size_t i = 0; !err && i < v->device_count; i++) {
		struct device *d = &v->devices[i];

		if (d->node != n->id || !pass_needs(&v->run, d->load, false))
			continue;
		err = pass_pin(n->cpu);
		err = err ? err : pass_open_stream(v, n, DEVICE_MEMORY, &stream);
		err = err ? err : move_file(v, n, d, &stream);
		verify_stream_close(&stream);
	}
	return err;
}

/* ---- passes ---- */

/* What is done with each node in a pass, if its cells need it. */
static int (*const runs[TASKS])(struct verify *v, const struct node *n) = {
	[TASK_PEAK] = peak_read_socket, [TASK_STREAMS] = move_node, [TASK_CHASES] = chase_node,
	[TASK_SPIN] = spin_node,        [TASK_FILES] = move_files,
};

/* Series that it does not need leave their time to later ones. */
static int run_task(struct verify *v, enum task task, struct node *n)
{
	const size_t most = series_of_task(v, task, n, !v->run.first_cell), left = v->series_left;
	int err = most ? runs[task](v, n) : 0;

	v->series_left = left > most ? left - most : 0;
	/* It would fail in each pass. */
	if (err && (task == TASK_STREAMS || task == TASK_CHASES))
		n->room = 0;
	return pass_leave_out(v, n, err);
}

int pass_leave_out(struct verify *v, const struct node *n, int err)
{
	if (!err || err == -EINTR || v->read_failed)
		return err;
	cli_error("note: node %d: cannot move data: %s: what they would tell is left out", n->id,
		  strerror(-err));
	v->left_out = true;
	return 0;
}

int pass_end(struct verify *v, int err)
{
	sched_setaffinity(0, sizeof(v->cpus), &v->cpus);
	cli_waited();
	if (err == -EINTR) {
		cli_error("stopped before the end: nothing is judged");
		return CLI_SIGNAL + signals_take(&v->signals).stop;
	}
	return err ? cli_fail(v->cli, err) : CLI_OK;
}

static int run_pass(struct verify *v)
{
	int status = pass_start(v), err = 0;

	if (status)
		return status;
	for (size_t i = 0; i < v->node_count; i++)
		for (enum task t = 0; !err && t < TASKS; t++)
			err = run_task(v, t, &v->nodes[i]);
	return pass_end(v, err);
}

static size_t passes_of(const struct verify *v)
{
	const size_t passes = uncore_monitor_round_count(v->monitor);

	return passes ? passes : 1;
}

int passes_time(struct verify *v)
{
	return schedule_time(v, passes_of(v));
}

int passes_run(struct verify *v)
{
	uint64_t part_ns = v->time_ns / MULTIPLEXED_PART;
	bool multiplexed = schedule_multiplexes(v) && multiplexing_find(v, part_ns);
	uint64_t time_ns = v->time_ns - (multiplexed ? part_ns : 0);
	int status, more;

	v->series_left = series_of_passes(v, passes_of(v));
	v->round_ns = time_ns / (v->series_left ? v->series_left : 1) / SERIES_ROUNDS;
	v->end_ns = cli_now_ns() + time_ns;
	do {
		status = run_pass(v);
		more = status || !v->counts ? 0 : uncore_monitor_next_round(v->monitor);
	} while (more > 0);
	if (more < 0)
		return cli_fail(v->cli, more);
	return status || !multiplexed ? status : multiplexing_run(v);
}

/* SPDX-License-Identifier: MIT */
/* The cells of a pass, and functions for all of its series. */
#include "verify/run.h"

#include <errno.h>
#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>

/* ---- cells ---- */

/* Adds the catalogue's data on the metric. False: it does not count data that CPUs move. */
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

/* The cell of a row. False: the row has no cell. A PMU without a number among the channels is in
 * its socket. */
static bool cell_of(const struct uncore *u, const struct uncore_row *row, struct verify_cell *cell)
{
	const struct verify_expectation *e =
		row->query->family ? verify_expectation(row->query->name) : NULL;
	const struct uncore_device *port = row->place->port;

	if (!e)
		return false;
	*cell = (struct verify_cell){.socket = row->place->socket, .channel = row->place->channel};
	snprintf(cell->metric, sizeof(cell->metric), "%s", row->query->name);
	snprintf(cell->family, sizeof(cell->family), "%s", row->query->family);
	if (port)
		snprintf(cell->port, sizeof(cell->port), "%s", port->address);
	return (port || !row->place->pmu || row->place->channel >= 0) &&
	       describe_cell(cell, cli_metric(u, row->query));
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

		if (!cell_of(v->cli->u, uncore_sample_row(v->sample, i), &cell))
			continue;
		v->rows = cli_realloc(v->rows, v->run.cell_count + 1, sizeof(*v->rows));
		v->rows[v->run.cell_count] = i;
		verify_add_cell(&v->run, &cell);
	}
	v->counted_end = v->run.cell_count;
	witnesses_begin(&v->witnesses, &v->run);
	return CLI_OK;
}

/* A cell of this pass must count data of the load. */
bool pass_needs(const struct verify_run *run, enum verify_load load, bool far)
{
	for (size_t i = run->first_cell; i < run->cell_count; i++)
		if (verify_expects(verify_expectation(run->cells[i].metric), load, far))
			return true;
	return false;
}

/* The count of a row. A rate would not do: it is over the time of each counter, and no data were
 * moved while counters were read. A mean is multiplied by its weight to give the sum. */
static double amount_of(const struct uncore_row *row)
{
	return isfinite(row->weight) ? row->value * row->weight : row->counted->amount;
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

/* A suspect row is used, since it may be the fault to be found. A row that was multiplexed or lacks
 * counters is not. */
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
			     !(row->counted->coverage < 0.999);

		*into = (struct verify_reading){.amount = NAN, .seconds = row->counted->seconds};
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

	cli_wait("node %d, %s%s: round %zu of %zu, %llu s left", s->node,
		 verify_is_far(s) ? "far " : "", verify_load_words[s->load].name, done + 1, all,
		 (unsigned long long)(v->end_ns > now ? (v->end_ns - now) / NS_PER_S + 1 : 0));
}

int pass_pin(int cpu)
{
	struct cli_cpus one = {0};

	cli_cpus_add(&one, cpu);
	return sched_setaffinity(0, sizeof(one), one.parts) ? -errno : 0;
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

/* Containers may forbid binding memory. With one node it is not needed. */
int pass_open_stream(struct verify *v, const struct node *n, size_t size,
		     struct verify_stream *stream)
{
	int err = pass_pin(n->cpu);

	err = err ? err : verify_stream_open(stream, n->id, size, v->signals.stop_fd);
	if ((err == -EPERM || err == -ENOSYS) && v->node_count == 1)
		err = verify_stream_open(stream, -1, size, v->signals.stop_fd);
	return err;
}

/* ---- its end ---- */

int pass_leave_out(struct verify *v, const struct node *n, int err)
{
	if (!err || err == -EINTR || v->read_failed)
		return err;
	cli_error("note: node %d: cannot move data: %s: its verdicts are left out", n->id,
		  strerror(-err));
	v->left_out = true;
	return 0;
}

int pass_end(struct verify *v, int err)
{
	sched_setaffinity(0, sizeof(v->cpus), v->cpus.parts);
	cli_waited();
	if (err == -EINTR) {
		cli_error("stopped before the end: nothing is judged");
		return CLI_SIGNAL + signals_take(&v->signals).stop;
	}
	return err ? cli_fail(v->cli, err) : CLI_OK;
}

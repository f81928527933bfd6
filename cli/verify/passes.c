/* SPDX-License-Identifier: MIT */
/* The series of each pass, pass after pass. */
#include "verify/run.h"

#include <stdio.h>

#include "verify/device.h"

/* ---- series ---- */

/* The rounds of one series, in its share of the time that is left, but not less than half of the
 * planned length, if preparations took long. */
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

/* ---- streams ---- */

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

/* Skylake and later store in memory whether another socket may have a line, so that the first far
 * read of a line also writes. This reads all lines once before far reads are counted. */
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
	cli_wait("node %d: getting memory", n->id);
	err = pass_open_stream(v, n, n->memory, &stream);
	/* Removes lines from the caches that the kernel has just zeroed. */
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

/* Once for each socket: clocks and energy are not counted by node. */
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
	cli_wait("node %d: getting memory", n->id);
	err = pass_open_stream(v, n, n->memory, &stream);
	err = err ? err : verify_chase_open(&c, &stream, v->signals.stop_fd);
	for (unsigned far = 0; far < 2 && movers[far]; far++)
		if (!err && pass_needs(&v->run, VERIFY_CHASE, far))
			err = chase(v, n, movers[far], &stream, &c);
	verify_stream_close(&stream);
	return err;
}

/* ---- devices ---- */

/* Only the device moves data; the CPU waits for it. */
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

/* The files of the options, each with the node of its device. */
static int move_files(struct verify *v, const struct node *n)
{
	struct verify_stream stream = {0};
	int err = 0;

	for (size_t i = 0; !err && i < v->device_count; i++) {
		struct device *d = &v->devices[i];

		if (d->node != n->id || !pass_needs(&v->run, d->load, false))
			continue;
		err = pass_open_stream(v, n, DEVICE_MEMORY, &stream);
		err = err ? err : move_file(v, n, d, &stream);
		verify_stream_close(&stream);
	}
	return err;
}

/* ---- passes ---- */

/* The tasks of a pass for each node, if its cells need them. */
static int (*const runs[TASKS])(struct verify *v, const struct node *n) = {
	[TASK_PEAK] = peak_read_socket, [TASK_STREAMS] = move_node, [TASK_CHASES] = chase_node,
	[TASK_SPIN] = spin_node,        [TASK_FILES] = move_files,
};

/* Later series get the time of series that the pass does not need. */
static int run_task(struct verify *v, enum task task, struct node *n)
{
	const size_t most = series_of_task(v, task, n, !v->run.first_cell), left = v->series_left;
	int err = most ? runs[task](v, n) : 0;

	v->series_left = left > most ? left - most : 0;
	/* It would fail in every pass. */
	if (err && (task == TASK_STREAMS || task == TASK_CHASES))
		n->room = 0;
	return pass_leave_out(v, n, err);
}

static int run_pass(struct verify *v)
{
	int status = pass_start(v), err = 0;

	if (status)
		return status;
	peak_add_cells(v);
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
	int status, more;

	v->series_left = series_of_passes(v, passes_of(v));
	v->round_ns = v->time_ns / (v->series_left ? v->series_left : 1) / SERIES_ROUNDS;
	v->end_ns = cli_now_ns() + v->time_ns;
	do {
		status = run_pass(v);
		more = status || !v->counts ? 0 : uncore_monitor_next_round(v->monitor);
	} while (more > 0);
	return more < 0 ? cli_fail(v->cli, more) : status;
}

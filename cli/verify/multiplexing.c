/* SPDX-License-Identifier: MIT */
/* Series with multiplexed counters: reads and writes of memory are counted together with so many
 * other metrics of the same PMUs that the kernel has to multiplex them, while data are moved
 * evenly. */
#include "verify/run.h"

#include <math.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#define OTHERS_MOST 32 /* the most metrics besides reads and writes */
#define ROTATIONS 20   /* the fewest time slices of a round, of which a counter gets some */
#define COVERAGE_MOST 0.9
#define INTERVAL_USUAL_MS 4u /* the kernel's default, where its file is missing */
#define ROUNDS ((size_t)2 * VERIFY_AMOUNTS)
#define TRIES (2 * ROUNDS) /* rounds without even traffic are not used */
/* The largest parts of a round without traffic: counters are read between two rounds, and other
 * programs have the CPU. */
#define GAP_MOST 0.1
#define AWAY_MOST 0.02

/* ---- the monitor ---- */

static bool is_countable(const struct uncore_metric *m, const char *family)
{
	return !uncore_metric_missing(m) && strcmp(uncore_metric_family(m), family) == 0;
}

/* Adds reads and writes of memory (`judged`), or `others` other metrics of the family. Returns
 * their number, or a negative errno. */
static int add_metrics(const struct verify *v, struct uncore_monitor *m, bool judged)
{
	const struct multiplexing *x = &v->multiplexing;
	const struct uncore *u = v->cli->u;
	size_t count = 0;
	int err = 0;

	for (size_t i = 0; i < uncore_metric_count(u) && !err; i++) {
		const struct uncore_metric *metric = uncore_metric_at(u, i);
		struct buffer name = {0};

		if (!is_countable(metric, x->family) ||
		    pass_multiplexes(uncore_metric_name(metric)) != judged ||
		    (!judged && count == x->others))
			continue;
		buffer_printf(&name, "%s/%s", x->family, uncore_metric_name(metric));
		err = uncore_monitor_add_metrics(m, name.data);
		buffer_free(&name);
		count++;
	}
	return err ? err : (int)count;
}

/* NULL: they cannot be counted together, or the family has too few other metrics. */
static struct uncore_monitor *make_monitor(const struct verify *v)
{
	struct uncore_monitor *m = NULL;
	int err = uncore_monitor_new(&m, v->cli->u), count;

	err = err ? err : uncore_monitor_set_level(m, UNCORE_LEVEL_SOCKET);
	count = err ? err : add_metrics(v, m, true);
	count = count < 0 ? count : add_metrics(v, m, false);
	if (count >= 0 && (size_t)count == v->multiplexing.others && uncore_monitor_plan(m) == 0)
		return m;
	uncore_monitor_free(m);
	return NULL;
}

/* The longest time slice of its PMUs. */
static uint64_t turn_of(const struct uncore_monitor *m)
{
	unsigned long most = INTERVAL_USUAL_MS;

	for (size_t i = 0; i < uncore_monitor_counter_count(m); i++) {
		const struct uncore_counter *c = uncore_monitor_counter_at(m, i);
		struct buffer text = {0};
		int error =
			buffer_read(&text,
				    "/sys/bus/event_source/devices/%s/perf_event_mux_interval_ms",
				    uncore_pmu_name(c->pmu));
		unsigned long own = error ? 0 : strtoul(buffer_text(&text), NULL, 10);

		most = own > most ? own : most;
		buffer_free(&text);
	}
	return most * NS_PER_MS;
}

/* Whether the kernel multiplexes all judged counters. This is measured, since the kernel may have
 * counters that the plan does not know, such as fixed ones. */
static bool is_multiplexed(const struct verify *v, struct uncore_monitor *m)
{
	struct pollfd fd = {.fd = v->signals.stop_fd, .events = POLLIN};
	struct uncore_sample *sample = NULL;
	double most = 0;
	int err = uncore_sample_new(&sample);

	err = err ? err : uncore_monitor_open(m);
	err = err ? err : uncore_monitor_start(m);
	if (!err && poll(&fd, 1, (int)(ROTATIONS * v->multiplexing.turn_ns / NS_PER_MS)) == 0)
		err = uncore_monitor_read(m, sample);
	for (size_t i = 0; !err && i < uncore_sample_count(sample); i++) {
		const struct uncore_row *row = uncore_sample_row(sample, i);

		if (pass_multiplexes(row->query->name))
			most = fmax(most, row->counted->coverage);
	}
	uncore_sample_free(sample);
	return most > 0 && most < COVERAGE_MOST;
}

/* Finds the smallest number of other metrics. */
static bool find_others(struct verify *v)
{
	struct multiplexing *x = &v->multiplexing;

	for (x->others = 1; x->others <= OTHERS_MOST; x->others++) {
		struct uncore_monitor *m = make_monitor(v);
		bool time, found;

		x->turn_ns = m ? turn_of(m) : 0;
		time = m && x->round_ns >= ROTATIONS * x->turn_ns;
		found = time && is_multiplexed(v, m);
		uncore_monitor_free(m);
		if (found || !time)
			return found;
	}
	return false;
}

bool multiplexing_find(struct verify *v, uint64_t time_ns)
{
	const struct uncore *u = v->cli->u;
	struct multiplexing *x = &v->multiplexing;

	x->round_ns = time_ns / 2 / TRIES; /* two series: reads and writes */
	for (size_t i = 0; i < uncore_metric_count(u); i++) {
		const struct uncore_metric *m = uncore_metric_at(u, i);

		x->family = uncore_metric_family(m);
		if (pass_multiplexes(uncore_metric_name(m)) && is_countable(m, x->family) &&
		    find_others(v))
			return true;
	}
	return false;
}

/* ---- the series ---- */

/* Reads the cells; a multiplexed value is extrapolated to the whole round. `coverage` gets the mean
 * of the socket's cells. */
static int read_cells(struct verify *v, const struct verify_series *s, struct verify_reading *into,
		      double *coverage)
{
	size_t count = 0;
	double sum = 0;
	int err = uncore_monitor_read(v->monitor, v->sample);

	v->read_failed = err;
	for (size_t i = v->run.first_cell; !err && i < v->counted_end; i++, into++) {
		const struct uncore_row *row = uncore_sample_row(v->sample, v->rows[i]);
		bool known = row->quality <= UNCORE_SCALED || row->quality == UNCORE_SUSPECT;

		*into = (struct verify_reading){.amount = known ? row->value * row->counted->seconds
								: NAN,
						.seconds = row->counted->seconds};
		if (v->run.cells[i].socket != s->socket || !(row->counted->coverage > 0))
			continue;
		sum += row->counted->coverage;
		count++;
	}
	*coverage = count ? sum / (double)count : 0;
	return err;
}

/* The time slices of a counter represent the whole round only if data were moved evenly for all the
 * time in which it was enabled. */
static bool is_even(const struct verify_reading *readings, size_t count,
		    const struct verify_steady *traffic, uint64_t round_ns)
{
	for (size_t i = 0; i < count; i++)
		if (readings[i].seconds > (double)round_ns / 1e9 * (1 + GAP_MOST))
			return false;
	return (double)traffic->away_ns <= AWAY_MOST * (double)round_ns;
}

/* Each amount twice, in opposite order, so that a drift affects all amounts. */
static int run_rounds(struct verify *v, struct verify_series *s, struct verify_stream *stream)
{
	static const double shares[ROUNDS] = {0.25, 1, 0, 0.5, 0.5, 0, 1, 0.25};
	const uint64_t round_ns = v->multiplexing.round_ns;
	struct verify_reading *readings = cli_realloc(NULL, s->cell_count, sizeof(*readings));
	double coverage, sum = 0;
	size_t tries = 0;
	int err = read_cells(v, s, readings, &coverage);

	while (!err && s->round_count < ROUNDS && tries++ < TRIES) {
		struct verify_steady traffic = {.share = shares[s->round_count],
						.until_ns = cli_now_ns() + round_ns,
						.turn_ns = v->multiplexing.turn_ns};

		pass_show_round(v, s->round_count, ROUNDS);
		err = verify_steady_move(stream, s->load, &traffic, v->signals.stop_fd);
		err = err ? err : read_cells(v, s, readings, &coverage);
		if (err || !is_even(readings, s->cell_count, &traffic, round_ns))
			continue;
		memcpy(verify_add_round(s, (double)traffic.moved), readings,
		       s->cell_count * sizeof(*readings));
		sum += coverage;
	}
	s->coverage = s->round_count ? sum / (double)s->round_count : 0;
	free(readings);
	return err;
}

static int run_series(struct verify *v, const struct node *n)
{
	static const enum verify_load loads[] = {VERIFY_READ, VERIFY_WRITE};
	struct verify_stream stream = {0};
	int err = pass_open_stream(v, n, n->memory, &stream);

	err = err ? err
		  : verify_stream_move(&stream, VERIFY_WRITE, stream.size, v->signals.stop_fd);
	for (unsigned i = 0; !err && i < 2; i++) {
		struct verify_series *s;

		if (!pass_needs(&v->run, loads[i], false))
			continue;
		s = pass_add_series(v, loads[i], n, n);
		s->memory = (double)n->memory;
		err = run_rounds(v, s, &stream);
		err = err ? err : verify_stream_elsewhere(&stream, &s->elsewhere);
		s->round_count = err ? 0 : s->round_count;
	}
	verify_stream_close(&stream);
	return err;
}

int multiplexing_run(struct verify *v)
{
	const struct node *n = v->nodes;

	while (n < v->nodes + v->node_count && !n->room)
		n++;
	if (n == v->nodes + v->node_count)
		return CLI_OK;
	uncore_monitor_free(v->monitor);
	uncore_sample_free(v->sample);
	v->sample = NULL;
	v->monitor = make_monitor(v);
	v->multiplexing.runs = true;
	/* Without it the other verdicts are still printed. */
	if (!v->monitor || pass_start(v))
		return CLI_OK;
	return pass_end(v, pass_leave_out(v, n, run_series(v, n)));
}

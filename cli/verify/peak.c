/* SPDX-License-Identifier: MIT */
/* All CPUs of a socket read its memory together: the cells and series of the peak of memory. */
#include "verify/run.h"

#include <stdlib.h>
#include <string.h>

/* A tenth of the time for all sockets, but a minimum of rounds for each. */
#define PEAK_ROUND (100 * NS_PER_MS)
#define PEAK_PART 10
#define PEAK_ROUNDS_LEAST 3
#define PEAK_ROUNDS_MOST 20

void peak_add_cells(struct verify *v)
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

static int count_elsewhere(const struct verify_stream *streams, size_t count, size_t *pages)
{
	size_t sum = 0, part;
	int err = 0;

	for (size_t i = 0; !err && i < count; i++) {
		err = verify_stream_elsewhere(&streams[i], &part);
		sum += err ? 0 : part;
	}
	*pages = sum > *pages ? sum : *pages;
	return err;
}

static int read_all(struct verify *v, struct verify_series *s, const struct verify_ceiling *c,
		    const struct verify_stream *streams, size_t count)
{
	const struct verify_pace pace = {.round_ns = PEAK_ROUND,
					 .repeats = peak_rounds(v),
					 .stop_fd = v->signals.stop_fd,
					 .context = v,
					 .read = pass_read_cells,
					 .show = pass_show_round};
	int err = count_elsewhere(streams, count, &s->elsewhere);

	s->cpus = (unsigned)c->count;
	for (size_t i = 0; i < count; i++)
		s->memory += (double)streams[i].size;
	v->series_left -= v->series_left > 0;
	err = err ? err : verify_ceiling_rounds(s, c, &pace);
	err = err ? err : count_elsewhere(streams, count, &s->elsewhere);
	s->round_count = err ? 0 : s->round_count;
	return err;
}

static size_t peak_cell(const struct verify_run *run, int socket)
{
	size_t i = run->first_cell;

	while (strcmp(run->cells[i].metric, VERIFY_PEAK) != 0 || run->cells[i].socket != socket)
		i++;
	return i;
}

int peak_read_socket(struct verify *v, const struct node *n)
{
	struct verify_stream *streams;
	struct verify_ceiling c;
	size_t count = 0;
	int err = 0;

	if (!pass_needs(&v->run, VERIFY_READ_ALL, false))
		return 0;
	streams = cli_realloc(NULL, v->node_count, sizeof(*streams));
	c = (struct verify_ceiling){.cell = peak_cell(&v->run, n->socket),
				    .peak = uncore_memory_get(v->cli->u)->peak,
				    .readers = cli_realloc(NULL, peak_cpus(v, n->socket),
							   sizeof(*c.readers))};
	cli_wait("socket %d: getting memory", n->socket);
	for (const struct node *at = n; !err && at < v->nodes + v->node_count; at++) {
		if (at->socket != n->socket || at->bare || !at->room)
			continue;
		err = pass_open_stream(v, at, at->memory_all, &streams[count]);
		if (!err)
			add_readers(v, at, &streams[count++], &c);
	}
	err = err ? err : pass_pin(n->cpu);
	err = err ? err
		  : read_all(v, pass_add_series(v, VERIFY_READ_ALL, n, n), &c, streams, count);
	while (count > 0)
		verify_stream_close(&streams[--count]);
	free(streams);
	free(c.readers);
	return err;
}

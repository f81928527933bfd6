/* SPDX-License-Identifier: MIT */
/* The number of series and the time that they need, which are known before data are moved. */
#include <math.h>

#include "verify/device.h"
#include "verify/run.h"

#define TIME_USUAL (30 * NS_PER_S)
#define ROUND_LEAST (20 * NS_PER_MS)

/* The largest numbers for each node. */
static const struct {
	size_t near, far; /* series by its own CPU, and by one of another socket */
	bool of_socket;   /* once for each socket, with its first node */
	bool own;         /* not of nodes without CPUs */
	bool memory;      /* only of nodes with free memory */
	unsigned loads;   /* a bit for each; no series if no metric needs any of them */
} tasks[TASKS] = {
	[TASK_PEAK] = {1, 0, .of_socket = true, .loads = 1u << VERIFY_READ_ALL},
	[TASK_STREAMS] = {2, 2, .memory = true, .loads = 1u << VERIFY_READ | 1u << VERIFY_WRITE},
	[TASK_CHASES] = {1, 1, .own = true, .memory = true, .loads = 1u << VERIFY_CHASE},
	[TASK_SPIN] = {1, 0, .of_socket = true, .loads = 1u << VERIFY_SPIN},
	[TASK_FILES] = {0, 0, .loads = 1u << VERIFY_FILE_READ | 1u << VERIFY_FILE_WRITE},
};

static size_t files_of(const struct verify *v, const struct node *n)
{
	size_t count = 0;

	for (size_t i = 0; i < v->device_count; i++)
		count += v->devices[i].node == n->id;
	return count;
}

size_t series_of_task(const struct verify *v, enum task task, const struct node *n, bool first)
{
	if (!(v->loads & tasks[task].loads) ||
	    (tasks[task].of_socket && !node_is_first_of_socket(v, n)) ||
	    (tasks[task].own && n->bare) || (tasks[task].memory && !n->room) ||
	    (task == TASK_PEAK && (!first || !nodes_of_socket(v, n->socket))))
		return 0;
	if (task == TASK_FILES)
		return files_of(v, n);
	return tasks[task].near + (node_far(v, n) ? tasks[task].far : 0);
}

size_t series_of_passes(const struct verify *v, size_t passes)
{
	size_t first = 0, later = 0;

	for (size_t i = 0; i < v->node_count; i++)
		for (enum task t = 0; t < TASKS; t++) {
			first += series_of_task(v, t, &v->nodes[i], true);
			later += series_of_task(v, t, &v->nodes[i], false);
		}
	return first + (passes - 1) * later;
}

int schedule_time(struct verify *v, size_t passes)
{
	const size_t series = series_of_passes(v, passes);
	const uint64_t need = series * SERIES_ROUNDS * ROUND_LEAST;

	v->time_ns = v->o->time_ns;
	if (!v->time_ns)
		v->time_ns = need > TIME_USUAL ? need : TIME_USUAL;
	if (v->time_ns >= need)
		return CLI_OK;
	cli_error("--time: %zu series of rounds need at least %.0f s", series,
		  ceil((double)need / 1e9));
	return CLI_USAGE;
}

/* SPDX-License-Identifier: MIT */
/* The NUMA nodes of this machine: the CPU that moves their data, and the size of their streams. And
 * the number of their series and the time that these need, which are known before data are
 * moved. */
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "verify/measure.h"

#define FREE_LEAST (256 * MIB)  /* a node with less is left out */
#define MEMORY_LEAST (64 * MIB) /* of a stream */
#define CACHE_UNKNOWN (256 * MIB)
#if defined(__x86_64__)
#define HINTED false
#else
#define HINTED true /* stores bypass the caches only by a hint */
#endif
/* The size of a stream relative to the caches. With four times the caches, they could answer half
 * of the loads of a chase, which uses half of the memory: that would look like a fault that counts
 * every second load. */
#define CACHES 5
#define TIME_USUAL (30 * NS_PER_S)
#define ROUND_LEAST (20 * NS_PER_MS)

/* The number behind a label of /proc/meminfo or of a node's, in bytes. */
static uint64_t meminfo(const char *path, const char *label)
{
	auto_buffer text = {0};
	const char *at = buffer_read(&text, "%s", path) ? NULL : strstr(buffer_text(&text), label);

	return at ? strtoull(at + strlen(label), NULL, 10) << 10 : 0;
}

uint64_t node_free(int node)
{
	uint64_t all = meminfo("/proc/meminfo", "MemAvailable:"), own;
	char path[64];

	snprintf(path, sizeof(path), "/sys/devices/system/node/node%d/meminfo", node);
	own = meminfo(path, "MemFree:") + meminfo(path, "Inactive(file):");
	return access(path, R_OK) == 0 && own < all ? own : all;
}

struct caches {
	uint64_t last, all; /* of the last level, and of all levels */
};

/* Each cache counts once, with the first CPU that shares it. */
static struct caches caches_of_socket(const struct uncore *u, int socket)
{
	struct caches sum = {0, 0};

	for (size_t i = 0; i < uncore_cpu_count(u); i++) {
		const struct uncore_cpu *c = uncore_cpu_at(u, i);
		bool last = c->online && c->socket == socket;

		for (int index = last ? 4 : -1; index >= 0; index--) {
			static const char folder[] = "/sys/devices/system/cpu";
			auto_buffer size = {0}, shared = {0};
			uint64_t bytes;

			buffer_read(&size, "%s/cpu%d/cache/index%d/size", folder, c->id, index);
			buffer_read(&shared, "%s/cpu%d/cache/index%d/shared_cpu_list", folder,
				    c->id, index);
			bytes = shared.len && strtol(shared.data, NULL, 10) != c->id
					? 0
					: strtoull(buffer_text(&size), NULL, 10) << 10;
			sum.last += last ? bytes : 0;
			sum.all += bytes;
			last = last && !size.len;
		}
	}
	return sum;
}

/* Reads a file of a node; false: there is no such node. */
static bool read_node(int id, const char *file, struct buffer *into)
{
	return buffer_read(into, "/sys/devices/system/node/node%d/%s", id, file) == 0;
}

/* The nearest node with CPUs that may be used; NULL: none. A distance for each node there is, in
 * the order of their ids. */
static const struct node *nearest(const struct verify *v, int id)
{
	const struct node *found = NULL;
	auto_buffer text = {0};
	long least = LONG_MAX;
	const char *at = read_node(id, "distance", &text) ? buffer_text(&text) : "";

	for (int other = 0; other < NODES_MOST; other++) {
		auto_buffer unused = {0};
		const struct node *n = v->nodes;
		char *end;
		long distance;

		if (!read_node(other, "cpulist", &unused))
			continue;
		distance = strtol(at, &end, 10);
		if (end == at)
			break;
		at = end;
		while (n < v->nodes + v->node_count && (n->id != other || n->bare))
			n++;
		if (n < v->nodes + v->node_count && distance < least) {
			least = distance;
			found = n;
		}
	}
	return found;
}

/* Nodes without CPUs (CXL, HBM besides DRAM): a CPU of the nearest node moves their data. */
static void find_bare_nodes(struct verify *v)
{
	for (int id = 0; id < NODES_MOST; id++) {
		auto_buffer cpus = {0};
		bool bare = read_node(id, "cpulist", &cpus) && (!cpus.len || *cpus.data == '\n');
		const struct node *near = bare ? nearest(v, id) : NULL;
		struct node node;

		if (!near || node_free(id) < FREE_LEAST)
			continue;
		node = *near;
		node.id = id;
		node.bare = true;
		v->nodes = cli_realloc(v->nodes, ++v->node_count, sizeof(*v->nodes));
		v->nodes[v->node_count - 1] = node;
	}
}

void nodes_find(struct verify *v)
{
	const struct uncore *u = v->cli->u;

	for (size_t i = 0; i < uncore_cpu_count(u); i++) {
		const struct uncore_cpu *c = uncore_cpu_at(u, i);
		int id = c->node < 0 ? 0 : c->node;
		size_t at = 0;

		if (!c->online || !cli_cpus_has(&v->cpus, c->id))
			continue;
		while (at < v->node_count && v->nodes[at].id != id)
			at++;
		if (at == v->node_count)
			v->nodes = cli_realloc(v->nodes, ++v->node_count, sizeof(*v->nodes));
		else if (v->nodes[at].socket != c->socket)
			verify_add_split(&v->run, id);
		v->nodes[at] = (struct node){.id = id, .socket = c->socket, .cpu = c->id};
	}
	find_bare_nodes(v);
}

uint64_t node_memory(uint64_t asked, uint64_t cache, uint64_t room, uint64_t parts)
{
	const uint64_t own = asked ? asked / parts : room;
	const uint64_t most = (own < room / 4 ? own : room / 4) / HUGE_PAGE * HUGE_PAGE;
	uint64_t memory = CACHES * cache / parts;

	memory = memory > MEMORY_LEAST ? memory : MEMORY_LEAST;
	memory = (memory + HUGE_PAGE - 1) / HUGE_PAGE * HUGE_PAGE;
	memory = memory < most ? memory : most;
	return memory > HUGE_PAGE ? memory : HUGE_PAGE;
}

/* How many of a socket have memory and CPUs of their own. */
static uint64_t nodes_of_socket(const struct verify *v, int socket)
{
	uint64_t count = 0;

	for (size_t i = 0; i < v->node_count; i++)
		count += v->nodes[i].socket == socket && !v->nodes[i].bare && v->nodes[i].room;
	return count;
}

bool node_is_first_of_socket(const struct verify *v, const struct node *n)
{
	for (const struct node *before = v->nodes; before < n; before++)
		if (before->socket == n->socket)
			return false;
	return true;
}

const struct node *node_far(const struct verify *v, const struct node *n)
{
	const struct node *far = NULL;

	/* As unsigned numbers the distances of lower sockets are larger than those of higher
	 * ones. */
	for (const struct node *other = v->nodes; other < v->nodes + v->node_count; other++)
		if (other->socket != n->socket &&
		    (!far ||
		     (unsigned)(other->socket - n->socket) < (unsigned)(far->socket - n->socket)))
			far = other;
	return far;
}

int nodes_find_memory(struct verify *v)
{
	v->free = UINT64_MAX;
	v->run.hinted = HINTED;
	/* The CPUs of nodes with too little memory still move the data of other nodes, and spin. */
	for (size_t i = 0; i < v->node_count; i++) {
		const uint64_t room = node_free(v->nodes[i].id);

		v->nodes[i].room = room < FREE_LEAST ? 0 : room;
		if (room < FREE_LEAST)
			cli_error("note: node %d has %llu MiB of free memory, and verify needs 256 "
				  "MiB: its memory is not judged",
				  v->nodes[i].id, (unsigned long long)(room / MIB));
		else if (room < v->free)
			v->free = room;
	}
	if (v->free == UINT64_MAX)
		return cli_failure(CLI_UNAVAILABLE, "no node has enough free memory");
	for (size_t i = 0; i < v->node_count; i++) {
		struct node *n = &v->nodes[i];
		struct caches caches = caches_of_socket(v->cli->u, n->socket);
		uint64_t cache = caches.last, all, parts = nodes_of_socket(v, n->socket);

		if (!n->room)
			continue;
		/* If the size is unknown, 0 would be wrong: reads that hit a cache would look like
		 * a fault. */
		v->assumed |= !cache;
		cache = cache ? cache : CACHE_UNKNOWN;
		v->run.cache = fmax(v->run.cache, (double)cache);
		all = caches.all > cache ? caches.all : cache;
		v->run.caches = fmax(v->run.caches, (double)all);
		n->memory = node_memory(v->o->memory, cache, n->room, 1);
		/* The nodes that are read at once share what is enough for the caches. */
		n->memory_all = node_memory(v->o->memory, all, n->room, parts ? parts : 1);
	}
	return CLI_OK;
}

/* ---- series ---- */

/* The largest numbers for each node; of files and GPUs for each of them. */
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
	[TASK_FILES] = {1, 0, .loads = 1u << VERIFY_FILE_READ | 1u << VERIFY_FILE_WRITE},
	[TASK_GPUS] = {GPU_SERIES, 0, .loads = VERIFY_GPU_LOADS},
};

size_t series_of_task(const struct verify *v, enum task task, const struct node *n, bool first)
{
	const bool gpus = task == TASK_GPUS;
	size_t devices = 0;

	if (!(v->loads & tasks[task].loads) ||
	    (tasks[task].of_socket && !node_is_first_of_socket(v, n)) ||
	    (tasks[task].own && n->bare) || (tasks[task].memory && !n->room) ||
	    (task == TASK_PEAK && (!first || !nodes_of_socket(v, n->socket))))
		return 0;
	if (task != TASK_FILES && !gpus)
		return tasks[task].near + (node_far(v, n) ? tasks[task].far : 0);
	for (size_t i = 0; i < v->device_count; i++)
		devices += v->devices[i].node == n->id &&
			   gpus == (v->devices[i].load == VERIFY_GPU_READ);
	return devices * tasks[task].near;
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
	uint64_t need = series * SERIES_ROUNDS * ROUND_LEAST;

	for (size_t i = 0; i < v->device_count; i++)
		if (v->devices[i].load == VERIFY_GPU_READ && v->loads & 1u << VERIFY_GPU_COPY)
			need += GPU_COPY_TIME;
	v->time_ns = v->o->time_ns;
	if (!v->time_ns)
		v->time_ns = need > TIME_USUAL ? need : TIME_USUAL;
	if (v->time_ns >= need)
		return CLI_OK;
	return cli_failure(CLI_USAGE, "--time: %zu series of rounds need at least %.0f s", series,
			   ceil((double)need / 1e9));
}

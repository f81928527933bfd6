/* SPDX-License-Identifier: MIT */
/* What is known without a machine: the data that each metric must count of a load, which a CPU
 * moves to or from memory of its own socket or of another one; and the fit of counts to known
 * amounts. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "verify/verify.h"

enum { NONE, HOME, MOVER }; /* the socket of the memory, and that of the CPU */

/* Where the data of a load are counted, near and far; elsewhere they are not. */
#define COUNTED(load, near, far) .where[0][load] = (near), .where[1][load] = (far)
#define READS(near, far) COUNTED(VERIFY_READ, near, far)
#define WRITES(near, far) COUNTED(VERIFY_WRITE, near, far)
#define CHASES(near, far) COUNTED(VERIFY_CHASE, near, far)
#define FAR(reads, writes) READS(NONE, reads), WRITES(NONE, writes)
#define BUSY COUNTED(VERIFY_SPIN, HOME, NONE)
#define CROWDS COUNTED(VERIFY_READ_ALL, HOME, NONE)
/* Data of a device are always near: the device and the memory are of one socket. */
#define BY_GPU(load) COUNTED(VERIFY_GPU_##load, HOME, NONE)
#define DEVICE_WRITES COUNTED(VERIFY_FILE_READ, HOME, NONE), BY_GPU(WRITE), BY_GPU(BOTH)
#define DEVICE_READS COUNTED(VERIFY_FILE_WRITE, HOME, NONE), BY_GPU(READ), BY_GPU(BOTH)
#define GPU_LINK BY_GPU(READ), BY_GPU(WRITE), BY_GPU(BOTH)
#define NOTHING COUNTED(VERIFY_FILE_READ, NONE, NONE)
#define POWERCAP(domain) .witness = {"power", "powercap", domain}

/* In the order in which they are judged. Links carry only data that are moved between sockets. */
const struct verify_expectation verify_expectations[] = {
	{"memory.read.bandwidth", "reads", VERIFY_MEMORY, VERIFY_DRAM, READS(HOME, HOME)},
	{"memory.write.bandwidth", "writes", VERIFY_MEMORY, VERIFY_DRAM, WRITES(HOME, HOME)},
	{"memory.package.read.bandwidth", "reads", VERIFY_MEMORY, VERIFY_PACKAGE,
	 READS(HOME, HOME)},
	{"memory.package.write.bandwidth", "writes", VERIFY_MEMORY, VERIFY_PACKAGE,
	 WRITES(HOME, HOME)},
	{"memory.cxl.read.bandwidth", "reads", VERIFY_MEMORY, VERIFY_CXL, READS(HOME, HOME)},
	{"memory.cxl.write.bandwidth", "writes", VERIFY_MEMORY, VERIFY_CXL, WRITES(HOME, HOME)},
	{"link.out.bandwidth", "data sent", VERIFY_LINKS, 0, FAR(HOME, MOVER)},
	{"link.in.bandwidth", "data received", VERIFY_LINKS, 0, FAR(MOVER, HOME)},
	{"memory.local.read.bandwidth", "local reads", VERIFY_AGENTS, 0, READS(HOME, NONE)},
	{"memory.local.write.bandwidth", "local writes", VERIFY_AGENTS, 0, WRITES(HOME, NONE)},
	{"memory.from.remote.read.bandwidth", "reads by other sockets", VERIFY_AGENTS, 0,
	 READS(NONE, HOME)},
	{"memory.from.remote.write.bandwidth", "writes by other sockets", VERIFY_AGENTS, 0,
	 WRITES(NONE, HOME)},
	{"fabric.memory.read.bandwidth", "reads", VERIFY_FABRIC, 0, READS(HOME, HOME)},
	{"fabric.memory.write.bandwidth", "writes", VERIFY_FABRIC, 0, WRITES(HOME, HOME)},
	{"memory.clock.frequency", "cycles of memory", VERIFY_CLOCKS, 0, BUSY},
	{"clock.tsc.frequency", "ticks", VERIFY_CLOCKS, 0, BUSY, .witness = {"msr", "rdtsc", NULL}},
	{"power.package", "energy of the package", VERIFY_POWER, 0, BUSY, POWERCAP("package")},
	{"power.cores", "energy of the cores", VERIFY_POWER, 0, BUSY, POWERCAP("core")},
	{"power.memory", "energy of the memory", VERIFY_POWER, 0, BUSY, POWERCAP("dram")},
	{"power.platform", "energy of the platform", VERIFY_POWER, 0, BUSY, POWERCAP("psys")},
	/* Counted where reads miss the caches. memory.read.latency includes far reads on some
	 * machines only, so that it is not expected of these. */
	{"cache.miss.latency", "loads", VERIFY_LATENCIES, 0, CHASES(MOVER, MOVER)},
	{"memory.read.latency", "loads", VERIFY_LATENCIES, 0, CHASES(HOME, NONE)},
	{"memory.local.read.latency", "local loads", VERIFY_LATENCIES, 0, CHASES(HOME, NONE)},
	{"memory.remote.read.latency", "loads from other sockets", VERIFY_LATENCIES, 0,
	 CHASES(NONE, MOVER)},
	{"dram.read.queue.latency", "loads", VERIFY_QUEUES, 0, CHASES(HOME, HOME)},
	{"pcie.inbound.write.bandwidth", "writes of devices", VERIFY_DEVICES, 0, DEVICE_WRITES},
	{"pcie.inbound.read.bandwidth", "reads of devices", VERIFY_DEVICES, 0, DEVICE_READS},
	{"pcie.outbound.write.bandwidth", "writes of CPUs to devices", VERIFY_DEVICES, 0, NOTHING},
	{"pcie.outbound.read.bandwidth", "reads of CPUs from devices", VERIFY_DEVICES, 0, NOTHING},
	{"pcie.inbound.write.llc.bandwidth", "writes of devices", VERIFY_LOOKUPS, 0, DEVICE_WRITES},
	{"pcie.inbound.read.llc.bandwidth", "reads of devices", VERIFY_LOOKUPS, 0, DEVICE_READS},
	/* There is no reference for the hits: they are printed, but not judged. */
	{VERIFY_WRITES_FOUND, "writes of devices", VERIFY_LOOKUPS, 0, NOTHING},
	{VERIFY_READS_FOUND, "reads of devices", VERIFY_LOOKUPS, 0, NOTHING},
	{"device.pcie.received.bandwidth", "packets received", VERIFY_GPUS, 0, GPU_LINK},
	{"device.pcie.transmitted.bandwidth", "packets sent", VERIFY_GPUS, 0, GPU_LINK},
	{"device.pcie.inbound.read.bandwidth", "reads of the GPU", VERIFY_GPUS, 0, GPU_LINK},
	{"device.pcie.inbound.write.bandwidth", "writes of the GPU", VERIFY_GPUS, 0, GPU_LINK},
	{"device.memory.bandwidth", "data of the GPU's memory", VERIFY_GPUS, 0, BY_GPU(COPY)},
	{VERIFY_PEAK, "peak of memory", VERIFY_CEILINGS, 0, CROWDS},
	{0},
};

const struct verify_load_words verify_load_words[VERIFY_LOADS] = {
	[VERIFY_READ] = {"read", "B", "reads"},
	[VERIFY_WRITE] = {"write", "B", "writes"},
	[VERIFY_SPIN] = {"spin", "ns", "is busy"},
	[VERIFY_CHASE] = {"chase", "loads", "loads"},
	[VERIFY_FILE_READ] = {"file-read", "B", "reads of a file"},
	[VERIFY_FILE_WRITE] = {"file-write", "B", "writes to a file"},
	[VERIFY_READ_ALL] = {"read-all", "B", "reads with all CPUs"},
	[VERIFY_GPU_READ] = {"gpu-read", "B", "reads of a GPU"},
	[VERIFY_GPU_WRITE] = {"gpu-write", "B", "writes of a GPU"},
	[VERIFY_GPU_BOTH] = {"gpu-both", "B", "reads and writes of a GPU"},
	[VERIFY_GPU_COPY] = {"gpu-copy", "B", "copies within a GPU"},
};

const struct verify_expectation *verify_expectation(const char *metric)
{
	const struct verify_expectation *e = verify_expectations;

	while (e->metric && strcmp(e->metric, metric) != 0)
		e++;
	return e->metric ? e : NULL;
}

bool verify_expects(const struct verify_expectation *e, enum verify_load load, bool far)
{
	/* Links must not count near data, which is also judged. */
	return e->where[far || e->group == VERIFY_LINKS][load] != NONE;
}

int verify_socket_of(const struct verify_series *s, const struct verify_expectation *e)
{
	unsigned char where = e->where[verify_is_far(s)][s->load];

	/* It is unknown which agents and which part of the mesh serve a node without CPUs. */
	if (where == NONE || (s->bare && e->group != VERIFY_MEMORY))
		return -1;
	return where == HOME ? s->socket : s->cpu_socket;
}

bool verify_is_expected(const struct verify_series *s, const struct verify_cell *c)
{
	int socket = verify_socket_of(s, c->expected);

	if (c->expected->group == VERIFY_GPUS)
		return socket >= 0 && strcmp(c->port, s->device) == 0;
	return socket >= 0 && !verify_is_witness(c) &&
	       (!*c->port || strcmp(c->port, s->port) == 0) &&
	       (c->socket < 0 || c->socket == socket ||
		(c->both_ends && c->socket == s->cpu_socket));
}

bool verify_is_far(const struct verify_series *s)
{
	return s->cpu_socket != s->socket;
}

bool verify_is_witness(const struct verify_cell *c)
{
	const char *witness = c->expected->witness.name;

	return witness && strcmp(c->family, witness) == 0;
}

void verify_name_peak(const char *from, struct verify_cell *into)
{
	bool of_user = strcmp(from, "the user") == 0;

	snprintf(into->metric, sizeof(into->metric), "%s", VERIFY_PEAK);
	snprintf(into->family, sizeof(into->family), "%.*s", of_user ? 4 : (int)strcspn(from, " ,"),
		 of_user ? "user" : from);
}

/* ---- least squares: the moved amount, and the time for the traffic of other programs ---- */

/* The largest value, by which the values are scaled before they are squared. */
static double largest(const double *values, size_t count)
{
	double most = 0;

	for (size_t i = 0; i < count; i++)
		most = fmax(most, fabs(values[i]));
	return most;
}

bool verify_fit(struct verify_fit *into, const double *moved, const double *seconds,
		const double *counted, size_t count)
{
	double xmost = largest(moved, count), tmost = largest(seconds, count);
	double xx = 0, xt = 0, tt = 0, xy = 0, ty = 0, rest = 0, det, b, c;

	if (count < 4 || xmost <= 0 || tmost <= 0)
		return false;
	for (size_t i = 0; i < count; i++) {
		double x = moved[i] / xmost, t = seconds[i] / tmost, y = counted[i] / xmost;

		xx += x * x;
		xt += x * t;
		tt += t * t;
		xy += x * y;
		ty += t * y;
	}
	det = xx * tt - xt * xt;
	/* Amounts in proportion to time cannot be distinguished from the traffic of other
	 * programs. */
	if (det <= 1e-3 * xx * tt)
		return false;
	b = (xy * tt - ty * xt) / det;
	c = (ty * xx - xy * xt) / det;
	for (size_t i = 0; i < count; i++) {
		double r = (counted[i] - b * moved[i]) / xmost - c * seconds[i] / tmost;

		rest += r * r;
	}
	*into = (struct verify_fit){.slope = b,
				    .error = sqrt(rest / (double)(count - 2) * tt / det),
				    .rate = c * xmost / tmost,
				    .count = count};
	return true;
}

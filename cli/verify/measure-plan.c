/* SPDX-License-Identifier: MIT */
/* The metrics to be judged: all that this machine has, or those of --metrics. */
#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <string.h>

#include "base/buffer.h"
#include "verify/measure.h"

static bool is_chosen(const struct verify *v, const struct verify_expectation *e)
{
	auto_free char *list = cli_copy(v->o->metrics);
	char *rest = list, *pattern;
	bool chosen = !list && e->group != VERIFY_QUEUES;

	while (!chosen && (pattern = strsep(&rest, ",")))
		chosen = fnmatch(pattern, e->metric, 0) == 0;
	return chosen;
}

static bool is_of_devices(const struct verify_expectation *e)
{
	return e->group == VERIFY_DEVICES || e->group == VERIFY_LOOKUPS || e->group == VERIFY_GPUS;
}

/* Adds all metrics of one root port, then those of the next one. In an Intel stack each port needs
 * all four counters (two counters can count two of the events, the other two the others), so that a
 * round has one port of each stack. Several ports at once would be multiplexed. */
static int add_ports(struct verify *v)
{
	const struct uncore *u = v->cli->u;
	const struct verify_expectation *e;
	int err = 0;

	for (size_t i = 0; !err && i < uncore_device_count(u); i++) {
		const struct uncore_device *d = uncore_device_at(u, i);

		if (!d->is_port || !uncore_device_pmu_count(d))
			continue;
		err = uncore_monitor_set_filter(v->monitor, "port", d->address);
		if (!err)
			err = uncore_monitor_set_level(v->monitor, UNCORE_LEVEL_PORT);
		for (e = verify_expectations; !err && e->metric; e++)
			if (e->group == VERIFY_DEVICES) {
				err = uncore_monitor_add_metrics(v->monitor, e->metric);
				err = err == -ENODEV ? 0 : err;
			}
	}
	if (!err)
		err = uncore_monitor_set_filter(v->monitor, "port", NULL);
	return err ? cli_fail(v->cli, err) : CLI_OK;
}

/* A metric of a stack is counted together with its other metrics, see add_ports(). */
static bool is_chosen_with(const struct verify *v, const struct verify_expectation *e)
{
	const struct verify_expectation *other = verify_expectations;
	bool chosen = is_chosen(v, e);

	for (; e->group == VERIFY_DEVICES && !chosen && other->metric; other++)
		chosen = other->group == VERIFY_DEVICES && is_chosen(v, other);
	return chosen;
}

/* What is counted: nodes and CPUs, the file that is read, the one that is written, GPUs, and what
 * must only count nothing. */
enum subject { NODES, READ_FILE, WRITTEN_FILE, GPUS, OTHERS, SUBJECTS };

struct missing {
	char why[SUBJECTS][400]; /* of the first metric that the machine lacks; "": none */
	const char *no_peak;     /* why the peak of memory is not judged */
};

static enum subject subject_of(const struct verify_expectation *e)
{
	if (!is_of_devices(e))
		return NODES;
	return e->group == VERIFY_GPUS                       ? GPUS
	       : verify_expects(e, VERIFY_FILE_READ, false)  ? READ_FILE
	       : verify_expects(e, VERIFY_FILE_WRITE, false) ? WRITTEN_FILE
							     : OTHERS;
}

static void note_missing(struct missing *missing, enum subject subject, const char *why)
{
	if (!*missing->why[subject])
		snprintf(missing->why[subject], sizeof(missing->why[subject]), "%s", why);
}

static int add_metric(struct verify *v, const struct verify_expectation *e, struct missing *missing)
{
	const bool devices = is_of_devices(e), gpus = e->group == VERIFY_GPUS;
	const struct uncore_memory *memory = uncore_memory_get(v->cli->u);
	int err;

	/* The peak needs no counters. */
	if (e->group == VERIFY_CEILINGS) {
		v->loads |= memory->peak > 0 ? 1u << VERIFY_READ_ALL : 0;
		missing->no_peak = memory->peak > 0 ? NULL : memory->why;
		if (missing->no_peak)
			note_missing(missing, NODES, memory->why);
		return CLI_OK;
	}
	/* Only memory has channels. */
	err = uncore_monitor_set_level(v->monitor, gpus      ? UNCORE_LEVEL_INSTANCE
						   : devices ? UNCORE_LEVEL_SOCKET
							     : UNCORE_LEVEL_CHANNEL);
	if (!err && !gpus)
		err = uncore_monitor_add_level(v->monitor, UNCORE_LEVEL_SOCKET);
	if (!err)
		err = uncore_monitor_add_metrics(v->monitor, e->metric);
	/* The catalogue may have no family of GPUs. */
	if (err && err != -ENODEV && !(gpus && err == -ENOENT))
		return cli_fail(v->cli, err);
	if (err)
		note_missing(missing, subject_of(e), uncore_error(v->cli->u));
	v->counts = v->counts || !err;
	for (unsigned load = 0; !err && load < VERIFY_LOADS; load++)
		if (verify_expects(e, load, false) || verify_expects(e, load, true))
			v->loads |= 1u << load;
	return CLI_OK;
}

static int add_metrics(struct verify *v, struct missing *missing)
{
	const bool files = v->o->read || v->o->write, devices = files || v->o->gpus;
	bool chosen = false, without = false, stacks = false;
	auto_buffer names = {0};
	int status = CLI_OK;

	for (const struct verify_expectation *e = verify_expectations; !status && e->metric; e++) {
		buffer_printf(&names, "%s%s", names.len ? ", " : "", e->metric);
		if (!is_chosen_with(v, e))
			continue;
		if (is_of_devices(e) && !(e->group == VERIFY_GPUS ? !!v->o->gpus : devices)) {
			without = true;
			continue;
		}
		chosen = true;
		stacks = stacks || e->group == VERIFY_DEVICES;
		status = add_metric(v, e, missing);
	}
	if (!status && stacks)
		status = add_ports(v);
	if (status || chosen)
		return status;
	return cli_failure(
		CLI_USAGE, "--metrics '%s': %s%s", v->o->metrics,
		without ? "counters of devices need --read FILE, --write DIRECTORY or --gpu ADDRESS"
			: "verify can judge ",
		without ? "" : names.data);
}

/* Metrics that the hardware lacks are left out, but there must be one for each requested file, or
 * for nodes or GPUs. Without a metric of GPUs, only these are left out. */
static int check_missing(struct verify *v, const struct missing *missing)
{
	for (enum subject s = READ_FILE; s <= WRITTEN_FILE; s++) {
		const enum verify_load load = s == READ_FILE ? VERIFY_FILE_READ : VERIFY_FILE_WRITE;
		const char *option = s == READ_FILE ? "--read" : "--write";

		if (!(s == READ_FILE ? v->o->read : v->o->write) || v->loads & 1u << load)
			continue;
		if (!*missing->why[s])
			return cli_failure(CLI_USAGE,
					   "--metrics '%s': none of them counts the data of %s",
					   v->o->metrics, option);
		cli_error("%s: nothing counts the data of its device: this needs PMUs of PCIe, or "
			  "of the caches that devices use: %s",
			  option, missing->why[s]);
		cli_advise(v->cli, NULL);
		return CLI_UNAVAILABLE;
	}
	v->left_out = v->o->gpus && !(v->loads & VERIFY_GPU_LOADS);
	if (v->left_out)
		cli_error("note: --gpu: nothing here counts the data of a GPU%s%s",
			  *missing->why[GPUS] ? ": " : "", missing->why[GPUS]);
	if (v->loads)
		return CLI_OK;
	cli_error("there is nothing to verify: verify needs PMUs of memory channels or controllers "
		  "that count reads and writes, or of clocks or energy: %s",
		  missing->why[NODES]);
	cli_advise(v->cli, NULL);
	return CLI_UNAVAILABLE;
}

/* Metrics for which the hardware has no free counters are counted in another pass, so that nothing
 * is multiplexed. */
int passes_plan(struct verify *v)
{
	struct cli *cli = v->cli;
	struct missing missing = {.no_peak = NULL};
	int err = uncore_monitor_new(&v->monitor, cli->u), status;

	if (!err)
		err = uncore_monitor_set_rounds(v->monitor);
	if (err)
		return cli_fail(cli, err);
	status = add_metrics(v, &missing);
	if (!status)
		status = check_missing(v, &missing);
	if (status)
		return status;
	if (!(v->loads & VERIFY_MEMORY_LOADS) && *missing.why[NODES])
		cli_error("note: neither memory nor links can be verified here: %s",
			  missing.why[NODES]);
	if (missing.no_peak)
		cli_error("note: the peak of memory is not judged: %s", missing.no_peak);
	err = v->counts ? uncore_monitor_plan(v->monitor) : 0;
	return err ? cli_fail(cli, err) : CLI_OK;
}

size_t passes_count(const struct verify *v)
{
	const size_t passes = uncore_monitor_round_count(v->monitor);

	return passes ? passes : 1;
}

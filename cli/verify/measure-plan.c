/* SPDX-License-Identifier: MIT */
/* The metrics to be judged: all that this machine has, or those of --metrics. */
#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <string.h>

#include "output/buffer.h"
#include "verify/measure.h"

#define MOVED (1u << VERIFY_READ | 1u << VERIFY_WRITE | 1u << VERIFY_CHASE)

static bool is_chosen(const struct verify *v, const struct verify_expectation *e)
{
	struct buffer list = {0};
	bool chosen = !v->o->metrics && e->group != VERIFY_QUEUES;
	char *rest, *pattern;

	buffer_puts(&list, v->o->metrics ? v->o->metrics : "");
	rest = list.data;
	while (!chosen && (pattern = strsep(&rest, ",")))
		chosen = fnmatch(pattern, e->metric, 0) == 0;
	buffer_free(&list);
	return chosen;
}

static bool is_of_devices(const struct verify_expectation *e)
{
	return e->group == VERIFY_DEVICES || e->group == VERIFY_LOOKUPS;
}

/* Only memory has channels. */
static int set_levels(struct verify *v, const struct verify_expectation *e)
{
	const enum uncore_level level =
		is_of_devices(e) ? UNCORE_LEVEL_SOCKET : UNCORE_LEVEL_CHANNEL;
	int err = uncore_monitor_set_level(v->monitor, level);

	return err ? err : uncore_monitor_add_level(v->monitor, UNCORE_LEVEL_SOCKET);
}

/* Adds all metrics of one root port, then those of the next one. In an Intel stack each port needs
 * all four counters (two counters can count two of the events, the other two the others), so that a
 * round has one port of each stack. Several ports at once would be multiplexed. */
static int add_port(struct verify *v, const struct uncore_device *port)
{
	const struct verify_expectation *e;
	int err = uncore_monitor_set_filter(v->monitor, "port", port->address);

	err = err ? err : uncore_monitor_set_level(v->monitor, UNCORE_LEVEL_PORT);
	for (size_t i = 0; !err && (e = verify_expectation_at(i)); i++) {
		if (e->group != VERIFY_DEVICES)
			continue;
		err = uncore_monitor_add_metrics(v->monitor, e->metric);
		err = err == -ENODEV ? 0 : err;
	}
	return err;
}

static int add_ports(struct verify *v)
{
	const struct uncore *u = v->cli->u;
	int err = 0;

	for (size_t i = 0; !err && i < uncore_device_count(u); i++) {
		const struct uncore_device *d = uncore_device_at(u, i);

		if (d->is_port && uncore_device_pmu_count(d))
			err = add_port(v, d);
	}
	err = err ? err : uncore_monitor_set_filter(v->monitor, "port", NULL);
	return err ? cli_fail(v->cli, err) : CLI_OK;
}

/* A metric of a stack is counted together with its other metrics, see add_port(). */
static bool is_chosen_with(const struct verify *v, const struct verify_expectation *e)
{
	const struct verify_expectation *other;
	bool chosen = is_chosen(v, e);

	for (size_t i = 0;
	     !chosen && e->group == VERIFY_DEVICES && (other = verify_expectation_at(i)); i++)
		chosen = other->group == VERIFY_DEVICES && is_chosen(v, other);
	return chosen;
}

/* Subjects of which each requested one must have a metric, else there is nothing to verify: nodes
 * and CPUs, the file that is read, and the one that is written. */
enum subject { NODES, READ_FILE, WRITTEN_FILE, SUBJECTS };

/* For each subject, whether a metric was added, and why the first one was not. */
struct added {
	bool any[SUBJECTS];
	char why[SUBJECTS][400];
	const char *no_peak; /* why the peak of memory is not judged */
};

/* The subject of a metric; SUBJECTS: it must only count nothing. */
static enum subject subject_of(const struct verify_expectation *e)
{
	if (!is_of_devices(e))
		return NODES;
	return verify_expects(e, VERIFY_FILE_READ, false)    ? READ_FILE
	       : verify_expects(e, VERIFY_FILE_WRITE, false) ? WRITTEN_FILE
							     : SUBJECTS;
}

/* The peak needs no counters. */
static int add_peak(struct verify *v, struct added *added)
{
	const struct uncore_memory *memory = uncore_memory_get(v->cli->u);

	if (memory->peak > 0) {
		added->any[NODES] = true;
		v->loads |= 1u << VERIFY_READ_ALL;
		return CLI_OK;
	}
	added->no_peak = memory->why;
	if (!*added->why[NODES])
		snprintf(added->why[NODES], sizeof(added->why[NODES]), "%s", memory->why);
	return CLI_OK;
}

static int add_metric(struct verify *v, const struct verify_expectation *e, struct added *added)
{
	const enum subject subject = subject_of(e);
	int err;

	if (e->group == VERIFY_CEILINGS)
		return add_peak(v, added);
	err = set_levels(v, e);
	err = err ? err : uncore_monitor_add_metrics(v->monitor, e->metric);
	if (err && err != -ENODEV)
		return cli_fail(v->cli, err);
	v->counts = v->counts || !err;
	for (unsigned load = 0; !err && load < VERIFY_LOADS; load++)
		if (verify_expects(e, load, false) || verify_expects(e, load, true))
			v->loads |= 1u << load;
	if (subject == SUBJECTS)
		return CLI_OK;
	added->any[subject] = added->any[subject] || !err;
	if (err && !*added->why[subject])
		snprintf(added->why[subject], sizeof(added->why[subject]), "%s",
			 uncore_error(v->cli->u));
	return CLI_OK;
}

static int refuse_metrics(const struct verify *v, bool without_file)
{
	const struct verify_expectation *e;
	struct buffer names = {0};

	for (size_t i = 0; (e = verify_expectation_at(i)); i++)
		buffer_printf(&names, "%s%s", i ? ", " : "", e->metric);
	if (without_file)
		cli_error(
			"--metrics '%s': counters of devices need --read FILE or --write DIRECTORY",
			v->o->metrics);
	else
		cli_error("--metrics '%s': verify can judge %s", v->o->metrics, names.data);
	buffer_free(&names);
	return CLI_USAGE;
}

static int add_metrics(struct verify *v, struct added *added)
{
	const bool devices = v->o->read || v->o->write;
	const struct verify_expectation *e;
	bool chosen = false, without = false, stacks = false;
	int status = CLI_OK;

	for (size_t i = 0; !status && (e = verify_expectation_at(i)); i++) {
		if (!is_chosen_with(v, e))
			continue;
		if (!devices && is_of_devices(e)) {
			without = true;
			continue;
		}
		chosen = true;
		stacks = stacks || e->group == VERIFY_DEVICES;
		status = add_metric(v, e, added);
	}
	if (!status && stacks)
		status = add_ports(v);
	v->moves = v->loads & MOVED;
	return chosen || status ? status : refuse_metrics(v, without);
}

static int check_file(const struct verify *v, const struct added *added, enum subject subject)
{
	const char *option = subject == READ_FILE ? "--read" : "--write";

	if (added->any[subject])
		return CLI_OK;
	if (!*added->why[subject]) {
		cli_error("--metrics '%s': none of them counts the data of %s", v->o->metrics,
			  option);
		return CLI_USAGE;
	}
	cli_error("%s: nothing counts the data of its device: this needs PMUs of PCIe, or of the "
		  "caches that devices use: %s",
		  option, added->why[subject]);
	cli_advise(v->cli, NULL);
	return CLI_UNAVAILABLE;
}

/* Metrics that the hardware lacks are left out, but each requested subject must have one. */
static int check_added(const struct verify *v, const struct added *added)
{
	int status = v->o->read ? check_file(v, added, READ_FILE) : CLI_OK;

	if (!status && v->o->write)
		status = check_file(v, added, WRITTEN_FILE);
	if (status || v->o->read || v->o->write || added->any[NODES])
		return status;
	cli_error("there is nothing to verify: verify needs PMUs of memory channels or controllers "
		  "that count reads and writes, or of clocks or energy: %s",
		  added->why[NODES]);
	cli_advise(v->cli, NULL);
	return CLI_UNAVAILABLE;
}

/* Metrics for which the hardware has no free counters are counted in another pass, so that nothing
 * is multiplexed. */
int passes_plan(struct verify *v)
{
	struct cli *cli = v->cli;
	struct added added = {.any = {false}};
	int err = uncore_monitor_new(&v->monitor, cli->u), status;

	err = err ? err : uncore_monitor_set_rounds(v->monitor);
	if (err)
		return cli_fail(cli, err);
	status = add_metrics(v, &added);
	status = status ? status : check_added(v, &added);
	if (status)
		return status;
	if (!v->moves && *added.why[NODES])
		cli_error("note: neither memory nor links can be verified here: %s",
			  added.why[NODES]);
	if (added.no_peak)
		cli_error("note: the peak of memory is not judged: %s", added.no_peak);
	err = v->counts ? uncore_monitor_plan(v->monitor) : 0;
	return err ? cli_fail(cli, err) : CLI_OK;
}

size_t passes_count(const struct verify *v)
{
	const size_t passes = uncore_monitor_round_count(v->monitor);

	return passes ? passes : 1;
}

/* SPDX-License-Identifier: MIT */
/* Text of `pcie --ends`: what a root port counts beside what the devices below it count themselves.
 * It is no struct view, since a line has rows of several places. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/cli.h"
#include "output/devices.h"
#include "output/output.h"

#define AGREE 0.02     /* of the port; descriptors and completions are part of its traffic */
#define IDLE 1e6       /* B/s at both ends, below which a ratio says nothing */
#define OTHERS_SHOWN 3 /* devices without counts that are named */

/* The traffic of one kind at the two ends: the first row of the port, or of a PMU that counts several
 * ports. */
struct pair {
	const struct uncore_row *port;
	double device;   /* the sum of the devices that count themselves */
	size_t devices;  /* their number */
	bool switched;   /* one of them is behind a switch */
	bool incomplete; /* one of them has no value */
	char names[80];  /* of these devices */
};

/* Whether the place counts the root port. */
static bool counts(const struct uncore_row_place *place, const struct uncore_device *port)
{
	bool found = place->port == port;

	for (size_t i = 0; !place->port && i < uncore_device_pmu_count(port); i++)
		found |= uncore_device_pmu_at(port, i) == place->pmu;
	return found;
}

static const struct uncore_device *device_of(const struct out *out, const struct uncore_row *row)
{
	return row->place->pmu ? uncore_pmu_device(out->setup.machine, row->place->pmu) : NULL;
}

/* Adds what the devices below count of this traffic. */
static void add_devices(const struct out *out, struct pair *p)
{
	for (size_t i = 0; i < out->row_count; i++) {
		const struct uncore_row *row = out->rows[i].row;
		const struct uncore_device *d = device_of(out, row);
		size_t len = strlen(p->names);

		if (!d || !d->port || !cli_same(row->query->at_port, p->port->query->name) ||
		    !counts(p->port->place, d->port))
			continue;
		if (isfinite(row->value))
			p->device += row->value;
		p->incomplete |= !isfinite(row->value);
		p->switched |= d->parent != d->port;
		p->devices++;
		snprintf(p->names + len, sizeof(p->names) - len, "%s%s", len ? ", " : "",
			 uncore_pmu_name(row->place->pmu));
	}
}

/* The devices below the port that do not count themselves; "": none. */
static void put_others(struct buffer *to, const struct out *out, const struct pair *p)
{
	const struct uncore *u = out->setup.machine;
	size_t shown = 0;

	for (size_t i = 0; i < uncore_device_count(u) && shown < OTHERS_SHOWN; i++) {
		const struct uncore_device *d = uncore_device_at(u, i);
		bool counted = d->is_bridge || !d->port || !counts(p->port->place, d->port);

		for (size_t k = 0; !counted && k < out->row_count; k++)
			counted = device_of(out, out->rows[k].row) == d;
		if (!counted)
			buffer_printf(to, "%s%s", shown++ ? ", " : "",
				      d->names ? d->names : d->address);
	}
}

static void put_verdict(struct buffer *to, const struct out *out, const struct pair *p)
{
	double port = p->port->value;
	auto_buffer others = {0};

	if (!isfinite(port) || p->incomplete) {
		buffer_puts(to, "cannot tell: one end has no value");
		return;
	}
	if (port < IDLE && p->device < IDLE) {
		buffer_puts(to, "idle");
		return;
	}
	if (fabs(p->device - port) <= AGREE * port) {
		buffer_puts(to, "agree");
		return;
	}
	put_others(&others, out, p);
	if (p->device > port && p->switched)
		buffer_puts(to, "device more: peer-to-peer traffic below the switch");
	else if (p->device > port)
		buffer_puts(to, "device more: small packets, or one of them is wrong");
	else if (others.len)
		buffer_printf(to, "port more: other devices below it (%s)", others.data);
	else
		buffer_puts(to, "port more: descriptors and other traffic of the device, or one of "
				"them is wrong");
}

static void put_pair(struct out *out, const struct pair *p)
{
	const struct uncore_row_place *place = p->port->place;
	struct table *t = &out->table;
	auto_buffer verdict = {0};
	struct human rate;

	put_verdict(&verdict, out, p);
	if (place->port)
		table_cell(t, "%s", place->port->address);
	else
		out_place_cell(t, place);
	table_cell(t, "%s", strstr(p->port->query->name, ".read.") ? "read" : "write");
	out_value(t, p->port);
	human_value(&rate, p->device, "B/s");
	table_cell(t, "%s", rate.text);
	if (p->port->value > 0)
		table_cell(t, "%.3f", p->device / p->port->value);
	else
		table_cell(t, "-");
	table_cell(t, "%s", p->names);
	table_end_row(t, verdict.data);
}

void ends_output_window(struct out *out)
{
	static const struct table_column columns[] = {{"PORT", 0},
						      {"DIRECTION", 0},
						      {"AT THE PORT", TABLE_RIGHT | TABLE_RATE},
						      {"AT THE DEVICES", TABLE_RIGHT},
						      {"RATIO", TABLE_RIGHT},
						      {"DEVICES", 0},
						      {NULL, 0}};
	size_t pairs = 0, devices = 0;

	out_text_header(out);
	out_text_time(out);
	out_table(out, &out->table, columns);
	for (size_t i = 0; i < out->row_count; i++) {
		struct pair p = {.port = out->rows[i].row};

		devices += p.port->query->at_port != NULL;
		if (p.port->query->at_port || !(p.port->place->port || p.port->place->pmu))
			continue;
		add_devices(out, &p);
		if (p.devices)
			put_pair(out, &p);
		pairs += p.devices > 0;
	}
	table_print(&out->table, out->to);
	if (!pairs)
		buffer_puts(out->to,
			    devices ? "No device that counts itself is below a root port that is "
				      "counted: there is nothing to compare.\n"
				    : "No device here counts itself.\n");
	else
		out_once(out, "RATIO: devices / port. The port also counts descriptors and "
			      "completions.");
	out_reasons(out, NULL);
}

/* SPDX-License-Identifier: MIT */
#include "serve/exposition.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/cli.h"
#include "serve/who.h"

/* ---- the text formats ---- */

struct text {
	struct buffer *to;
	bool openmetrics;
	const char *name; /* of the latest family */
};

/* The types of families in OpenMetrics and in the older format. */
static const struct type {
	const char *name, *plain;
	/* The end of sample names, and in the older format of the family's name, too. NULL:
	 * several. */
	const char *suffix;
} types[] = {
	[FAMILY_COUNTER] = {"counter", "counter", "_total"},
	[FAMILY_GAUGE] = {"gauge", "gauge", ""},
	[FAMILY_SUMMARY] = {"summary", "summary", NULL},
	[FAMILY_HISTOGRAM] = {"histogram", "histogram", NULL},
	[FAMILY_INFO] = {"info", "gauge", "_info"},
};

void put_help(struct buffer *to, const char *help, bool quoted)
{
	for (; *help; help++) {
		if (*help == '\\' || (quoted && *help == '"'))
			buffer_puts(to, "\\");
		buffer_add(to, help, 1);
	}
}

static void put_text_family(void *context, const struct family_head *f)
{
	struct text *text = context;
	const struct type *t = &types[f->type];
	const char *suffix = text->openmetrics || !t->suffix ? "" : t->suffix;

	text->name = f->name;
	buffer_printf(text->to, "# HELP %s%s ", f->name, suffix);
	put_help(text->to, f->help, text->openmetrics);
	buffer_printf(text->to, "\n# TYPE %s%s %s\n", f->name, suffix,
		      text->openmetrics ? t->name : t->plain);
	if (text->openmetrics && *f->unit)
		buffer_printf(text->to, "# UNIT %s %s\n", f->name, f->unit);
}

static void put_text_sample(void *context, const char *suffix, const char *labels, double value)
{
	const struct text *text = context;

	buffer_printf(text->to, *labels ? "%s%s{%s} %.15g\n" : "%s%s%s %.15g\n", text->name, suffix,
		      labels, value);
}

/* ---- families ---- */

static void put_family(const struct family_writer *w, enum family_type type, const char *name,
		       const char *unit, const char *help)
{
	w->family(w->context, &(struct family_head){type, name, unit, help});
}

static void put_sample(const struct family_writer *w, const char *suffix, const char *labels,
		       double value)
{
	w->sample(w->context, suffix, labels, value);
}

static void put_one(const struct family_writer *w, enum family_type type, const char *name,
		    const char *unit, const char *help, double value)
{
	put_family(w, type, name, unit, help);
	put_sample(w, types[type].suffix, "", value);
}

/* ---- the series ---- */

static void put_metric(const struct family_writer *w, const struct series_set *set,
		       const struct series_family *f)
{
	static const enum family_type kinds[] = {[SERIES_COUNTER] = FAMILY_COUNTER,
						 [SERIES_MEAN] = FAMILY_SUMMARY,
						 [SERIES_GAUGE] = FAMILY_GAUGE};

	put_family(w, kinds[f->kind], f->name, f->unit, f->help);
	for (size_t i = f->first; i != SERIES_NONE; i = set->series[i].next) {
		const struct series *s = &set->series[i];

		if (!s->has_value || (f->kind == SERIES_GAUGE && isnan(s->value)))
			continue;
		if (f->kind == SERIES_MEAN) {
			put_sample(w, "_sum", s->labels, s->sum);
			put_sample(w, "_count", s->labels, s->weight);
		} else {
			put_sample(w, types[kinds[f->kind]].suffix, s->labels,
				   f->kind == SERIES_GAUGE ? s->value : s->sum);
		}
	}
}

/* A bucket has the number of samples up to its limit, so that it includes those below. */
static void put_buckets(const struct family_writer *w, const struct series_family *f,
			const struct series *s)
{
	size_t limits = series_limit_count(f->buckets);
	auto_buffer labels = {0};
	double below = 0;

	for (size_t i = 0; i <= limits; i++) {
		double limit = series_limit(f->buckets, i);

		below += (double)s->samples[i];
		labels.len = 0;
		buffer_printf(&labels, "%s,le=\"", s->labels);
		/* OpenMetrics writes 1 as 1.0. */
		if (i < limits)
			buffer_printf(&labels, "%.15g%s\"", limit, limit == 1 ? ".0" : "");
		else
			buffer_puts(&labels, "+Inf\"");
		put_sample(w, "_bucket", labels.data, below);
	}
	put_sample(w, "_sum", s->labels, s->sample_sum);
	put_sample(w, "_count", s->labels, below);
}

static void put_histogram(const struct family_writer *w, const struct series_set *set,
			  const struct series_family *f)
{
	bool any = false;

	for (size_t i = f->first; i != SERIES_NONE; i = set->series[i].next) {
		if (!set->series[i].samples)
			continue;
		if (!any)
			put_family(w, FAMILY_HISTOGRAM, f->histogram, f->buckets->unit,
				   f->histogram_help);
		any = true;
		put_buckets(w, f, &set->series[i]);
	}
}

static void put_ceilings(const struct family_writer *w, const struct series_set *set,
			 const struct series_family *f)
{
	bool any = false;

	for (size_t i = f->first; i != SERIES_NONE; i = set->series[i].next) {
		const struct series *s = &set->series[i];

		if (!isfinite(s->ceiling))
			continue;
		if (!any)
			put_family(w, FAMILY_GAUGE, f->ceiling, "bytes_per_second",
				   "Upper limit of the rate.");
		any = true;
		put_sample(w, "", s->labels, s->ceiling);
	}
}

static void put_qualities(const struct family_writer *w, const struct series_set *set)
{
	auto_buffer labels = {0};

	put_family(w, FAMILY_GAUGE, "uncore_coverage_ratio", "ratio",
		   "Share of the last interval in which the series was counted.");
	for (size_t i = 0; i < set->series_count; i++) {
		const struct series *s = &set->series[i];

		labels.len = 0;
		buffer_printf(&labels, "series=\"%s\",%s", set->families[s->family].name,
			      s->labels);
		put_sample(w, "", labels.data, s->coverage);
	}
	put_family(w, FAMILY_COUNTER, "uncore_quality_seconds", "seconds",
		   "Time for which the values of the series had this quality.");
	for (size_t i = 0; i < set->series_count; i++) {
		const struct series *s = &set->series[i];

		for (int q = 0; q < QUALITIES; q++) {
			if (s->seconds[q] == 0)
				continue;
			labels.len = 0;
			buffer_printf(&labels, "series=\"%s\",%s,quality=\"%s\"",
				      set->families[s->family].name, s->labels,
				      uncore_quality_name((enum uncore_quality)q));
			put_sample(w, "_total", labels.data, s->seconds[q]);
		}
	}
}

/* An alert can leave out series with a problem that was known before. */
static void put_problems(const struct family_writer *w, const struct series_set *set)
{
	auto_buffer labels = {0};

	put_family(w, FAMILY_INFO, "uncore_known_problem", "",
		   "The series is suspect or not counted for a reason that was known before.");
	for (size_t i = 0; i < set->series_count; i++) {
		const struct series *s = &set->series[i];

		if (!s->problem)
			continue;
		labels.len = 0;
		buffer_printf(&labels, "series=\"%s\",%s", set->families[s->family].name,
			      s->labels);
		put_label(&labels, "reason", s->problem);
		put_sample(w, "_info", labels.data, 1);
	}
}

/* ---- devices ---- */

/* Those below a root port, which their label then names; with `named` others that have names. */
static void put_devices(const struct family_writer *w, const struct uncore *u, bool named)
{
	auto_buffer labels = {0};
	char number[20];

	put_family(w, FAMILY_INFO, "uncore_pcie_device", "",
		   "A device, and the root port above it.");
	for (size_t i = 0; i < uncore_device_count(u); i++) {
		const struct uncore_device *d = uncore_device_at(u, i);

		if (d->is_bridge || (!d->port && !(named && d->names)))
			continue;
		labels.len = 0;
		if (d->port)
			put_label(&labels, "port", d->port->address);
		put_label(&labels, "address", d->address);
		snprintf(number, sizeof(number), "%04x:%04x", d->vendor, d->device);
		put_label(&labels, "id", number);
		if (d->driver)
			put_label(&labels, "driver", d->driver);
		if (d->names)
			put_label(&labels, "names", d->names);
		put_sample(w, "_info", labels.data, 1);
	}
}

/* The rate of the link below each root port: the present one, or the highest one (`most`). */
static void put_links(const struct family_writer *w, const struct uncore *u, bool most)
{
	const char *name = most ? "uncore_pcie_link_max_bytes_per_second"
				: "uncore_pcie_link_bytes_per_second";
	auto_buffer labels = {0};

	put_family(w, FAMILY_GAUGE, name, "bytes_per_second",
		   most ? "Rate of the link below the port for each direction, at its best."
			: "Rate of the link below the port for each direction, as negotiated.");
	for (size_t i = 0; i < uncore_device_count(u); i++) {
		const struct uncore_device *d = uncore_device_at(u, i);
		double rate = most ? d->max_rate : d->link_rate;

		if (!d->is_port || !isfinite(rate))
			continue;
		labels.len = 0;
		put_label(&labels, "port", d->address);
		put_sample(w, "", labels.data, rate);
	}
}

/* ---- the server itself ---- */

/* The second number of statm is in pages, see proc(5). 0: unknown. */
static double resident_bytes(void)
{
	auto_buffer text = {0};
	const char *second =
		buffer_read(&text, "/proc/self/statm") ? NULL : strchr(buffer_text(&text), ' ');
	double pages = second ? strtod(second, NULL) : 0;

	return pages * (double)sysconf(_SC_PAGESIZE);
}

static void put_counting(const struct family_writer *w, const struct series_set *set)
{
	put_one(w, FAMILY_COUNTER, "uncore_intervals", "", "Intervals that were counted.",
		(double)set->intervals);
	/* Counters of series begin with the first interval. If this one began before, a rate over a
	 * restart would be divided by time in which nothing was counted. */
	if (set->intervals)
		put_one(w, FAMILY_COUNTER, "uncore_interval_seconds", "seconds",
			"Time from the start to the end of the last interval: "
			"all counters are sums over it.",
			set->seconds);
	put_one(w, FAMILY_COUNTER, "uncore_missed_ticks", "",
		"Ends of intervals that were missed; the next interval has their counts.",
		(double)set->missed);
	put_one(w, FAMILY_GAUGE, "uncore_series", "",
		"Rows that are counted, each with its series.", (double)set->series_count);
}

static void put_process(const struct family_writer *w, const struct exposition_self *self)
{
	double resident = resident_bytes();

	put_one(w, FAMILY_COUNTER, "uncore_exposition_seconds", "seconds",
		"Time taken to make the texts that scrapes get.", self->text_seconds);
	put_one(w, FAMILY_COUNTER, "uncore_scrapes", "",
		"Requests that were answered with this text.", (double)self->scrapes);
	put_one(w, FAMILY_COUNTER, "uncore_refused_requests", "",
		"Requests with an unknown path, method or host.", (double)self->refused);
	put_one(w, FAMILY_COUNTER, "uncore_cut_connections", "",
		"Connections that were ended because the client was too slow.", (double)self->cut);
	put_one(w, FAMILY_COUNTER, "process_cpu_seconds", "seconds", "CPU time of the process.",
		(double)cli_clock_ns(CLOCK_PROCESS_CPUTIME_ID) / 1e9);
	if (resident > 0)
		put_one(w, FAMILY_GAUGE, "process_resident_memory_bytes", "bytes",
			"Resident memory of the process.", resident);
	put_one(w, FAMILY_GAUGE, "process_start_time_seconds", "seconds",
		"Start of the process since 1970.", self->start_seconds);
}

void exposition_write(const struct family_writer *w, bool pushed, const struct series_set *set,
		      const struct uncore *u, const struct exposition_self *self)
{
	auto_buffer version = {0};

	put_label(&version, "version", uncore_version());
	put_family(w, FAMILY_INFO, "uncore_build", "", "The program.");
	put_sample(w, "_info", version.data, 1);
	put_family(w, FAMILY_INFO, "uncore_machine", "",
		   "The machine, and the source of the counts.");
	put_sample(w, "_info", buffer_text(&self->machine), 1);
	for (size_t i = 0; i < set->family_count; i++)
		put_metric(w, set, &set->families[i]);
	for (size_t i = 0; i < set->family_count; i++)
		if (set->families[i].ceiling)
			put_ceilings(w, set, &set->families[i]);
	for (size_t i = 0; i < set->family_count; i++)
		put_histogram(w, set, &set->families[i]);
	if (set->has_ports || set->has_devices)
		put_devices(w, u, set->has_devices);
	if (set->has_ports) {
		put_links(w, u, false);
		put_links(w, u, true);
	}
	if (set->series_count) {
		put_qualities(w, set);
		put_problems(w, set);
	}
	if (self->who)
		serve_who_put(w, self->who);
	put_counting(w, set);
	if (!pushed)
		put_process(w, self);
}

void exposition_put(struct buffer *to, bool openmetrics, bool pushed, const struct series_set *set,
		    const struct uncore *u, const struct exposition_self *self)
{
	struct text text = {.to = to, .openmetrics = openmetrics};
	const struct family_writer w = {&text, put_text_family, put_text_sample};

	exposition_write(&w, pushed, set, u, self);
	if (openmetrics)
		buffer_puts(to, "# EOF\n");
}

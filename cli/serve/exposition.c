/* SPDX-License-Identifier: MIT */
#include "serve/exposition.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/cli.h"

/* ---- families ---- */

struct writer_of {
	struct buffer *to;
	bool openmetrics;
};

/* The type of a family, and what OpenMetrics and the older format call it. */
static const struct type {
	const char *name, *plain;
	const char *suffix; /* of its samples; the older format has it in the family's name, too */
} types[] = {
	{"counter", "counter", "_total"}, {"gauge", "gauge", ""},     {"summary", "summary", NULL},
	{"histogram", "histogram", NULL}, {"info", "gauge", "_info"},
};

enum type_of { COUNTER, GAUGE, SUMMARY, HISTOGRAM, INFO };

/* Lines before the samples of a family. `unit` ends its name, or is "". */
static void put_family(const struct writer_of *w, enum type_of type, const char *name,
		       const char *unit, const char *help)
{
	const struct type *t = &types[type];
	const char *suffix = w->openmetrics || !t->suffix ? "" : t->suffix;

	buffer_printf(w->to, "# HELP %s%s ", name, suffix);
	for (; *help; help++) {
		if (*help == '\\' || (w->openmetrics && *help == '"'))
			buffer_puts(w->to, "\\");
		buffer_add(w->to, help, 1);
	}
	buffer_printf(w->to, "\n# TYPE %s%s %s\n", name, suffix,
		      w->openmetrics ? t->name : t->plain);
	if (w->openmetrics && *unit)
		buffer_printf(w->to, "# UNIT %s %s\n", name, unit);
}

/* Labels may be in two parts. */
static void put_sample(const struct writer_of *w, const char *name, const char *suffix,
		       const char *labels, double value)
{
	buffer_puts(w->to, name);
	buffer_puts(w->to, suffix);
	if (*labels) {
		buffer_puts(w->to, "{");
		buffer_puts(w->to, labels);
		buffer_puts(w->to, "}");
	}
	buffer_printf(w->to, " %.15g\n", value);
}

static void put_one(const struct writer_of *w, enum type_of type, const char *name,
		    const char *unit, const char *help, double value)
{
	put_family(w, type, name, unit, help);
	put_sample(w, name, types[type].suffix, "", value);
}

/* ---- the series ---- */

static void put_metric(const struct writer_of *w, const struct series_set *set,
		       const struct series_family *f)
{
	static const enum type_of kinds[] = {
		[SERIES_COUNTER] = COUNTER, [SERIES_MEAN] = SUMMARY, [SERIES_GAUGE] = GAUGE};

	put_family(w, kinds[f->kind], f->name, f->unit, f->help);
	for (size_t i = f->first; i != SERIES_NONE; i = set->series[i].next) {
		const struct series *s = &set->series[i];

		if (!s->has_value || (f->kind == SERIES_GAUGE && isnan(s->value)))
			continue;
		if (f->kind == SERIES_GAUGE)
			put_sample(w, f->name, "", s->labels, s->value);
		else if (f->kind == SERIES_COUNTER)
			put_sample(w, f->name, "_total", s->labels, s->sum);
		else
			put_sample(w, f->name, "_sum", s->labels, s->sum);
		if (f->kind == SERIES_MEAN)
			put_sample(w, f->name, "_count", s->labels, s->weight);
	}
}

/* The samples of one series up to each limit, and all of them. */
static void put_buckets(const struct writer_of *w, const struct series_family *f,
			const struct series *s)
{
	size_t limits = series_limit_count(f->buckets);
	struct buffer labels = {0};
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
		put_sample(w, f->histogram, "_bucket", labels.data, below);
	}
	put_sample(w, f->histogram, "_sum", s->labels, s->sample_sum);
	put_sample(w, f->histogram, "_count", s->labels, below);
	buffer_free(&labels);
}

static void put_histogram(const struct writer_of *w, const struct series_set *set,
			  const struct series_family *f)
{
	bool any = false;

	for (size_t i = f->first; i != SERIES_NONE; i = set->series[i].next) {
		if (!set->series[i].samples)
			continue;
		if (!any)
			put_family(w, HISTOGRAM, f->histogram, f->buckets->unit, f->histogram_help);
		any = true;
		put_buckets(w, f, &set->series[i]);
	}
}

static void put_ceilings(const struct writer_of *w, const struct series_set *set,
			 const struct series_family *f)
{
	bool any = false;

	for (size_t i = f->first; i != SERIES_NONE; i = set->series[i].next) {
		const struct series *s = &set->series[i];

		if (!isfinite(s->ceiling))
			continue;
		if (!any)
			put_family(w, GAUGE, f->ceiling, "bytes_per_second",
				   "Upper limit of the rate.");
		any = true;
		put_sample(w, f->ceiling, "", s->labels, s->ceiling);
	}
}

/* Whether each series was counted, and how far its values can be trusted. */
static void put_qualities(const struct writer_of *w, const struct series_set *set)
{
	struct buffer labels = {0};

	put_family(w, GAUGE, "uncore_coverage_ratio", "ratio",
		   "Share of the last interval in which the series was counted.");
	for (size_t i = 0; i < set->series_count; i++) {
		const struct series *s = &set->series[i];

		labels.len = 0;
		buffer_printf(&labels, "series=\"%s\",%s", set->families[s->family].name,
			      s->labels);
		put_sample(w, "uncore_coverage_ratio", "", labels.data, s->coverage);
	}
	put_family(w, COUNTER, "uncore_quality_seconds", "seconds",
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
			put_sample(w, "uncore_quality_seconds", "_total", labels.data,
				   s->seconds[q]);
		}
	}
	buffer_free(&labels);
}

/* Suspect values and gaps that are no news. */
static void put_problems(const struct writer_of *w, const struct series_set *set)
{
	struct buffer labels = {0};

	put_family(w, INFO, "uncore_known_problem", "",
		   "The series is suspect or not counted for a reason that was known before.");
	for (size_t i = 0; i < set->series_count; i++) {
		const struct series *s = &set->series[i];

		if (!s->problem)
			continue;
		labels.len = 0;
		buffer_printf(&labels, "series=\"%s\",%s", set->families[s->family].name,
			      s->labels);
		put_label(&labels, "reason", s->problem);
		put_sample(w, "uncore_known_problem", "_info", labels.data, 1);
	}
	buffer_free(&labels);
}

/* ---- devices ---- */

static void put_devices(const struct writer_of *w, const struct uncore *u)
{
	struct buffer labels = {0};
	char number[20];

	put_family(w, INFO, "uncore_pcie_device", "", "A device below the root port of its label.");
	for (size_t i = 0; i < uncore_device_count(u); i++) {
		const struct uncore_device *d = uncore_device_at(u, i);

		if (!d->port || d->is_bridge)
			continue;
		labels.len = 0;
		put_label(&labels, "port", d->port->address);
		put_label(&labels, "address", d->address);
		snprintf(number, sizeof(number), "%04x:%04x", d->vendor, d->device);
		put_label(&labels, "id", number);
		if (d->driver)
			put_label(&labels, "driver", d->driver);
		if (d->names)
			put_label(&labels, "names", d->names);
		put_sample(w, "uncore_pcie_device", "_info", labels.data, 1);
	}
	buffer_free(&labels);
}

/* The rate of the link below each root port: as it is now, or at most. */
static void put_links(const struct writer_of *w, const struct uncore *u, bool most)
{
	const char *name = most ? "uncore_pcie_link_max_bytes_per_second"
				: "uncore_pcie_link_bytes_per_second";
	struct buffer labels = {0};

	put_family(w, GAUGE, name, "bytes_per_second",
		   most ? "Rate of the link below the port for each direction, at its best."
			: "Rate of the link below the port for each direction, as negotiated.");
	for (size_t i = 0; i < uncore_device_count(u); i++) {
		const struct uncore_device *d = uncore_device_at(u, i);
		double rate = most ? d->max_rate : d->link_rate;

		if (!d->is_port || !isfinite(rate))
			continue;
		labels.len = 0;
		put_label(&labels, "port", d->address);
		put_sample(w, name, "", labels.data, rate);
	}
	buffer_free(&labels);
}

/* ---- the server itself ---- */

/* The second number of the file, in pages; 0: unknown. */
static double resident_bytes(void)
{
	struct buffer text = {0};
	const char *second =
		buffer_read(&text, "/proc/self/statm") ? NULL : strchr(buffer_text(&text), ' ');
	double pages = second ? strtod(second, NULL) : 0;

	buffer_free(&text);
	return pages * (double)sysconf(_SC_PAGESIZE);
}

static void put_counting(const struct writer_of *w, const struct series_set *set)
{
	put_one(w, COUNTER, "uncore_intervals", "", "Intervals that were counted.",
		(double)set->intervals);
	/*
	 * Not before the counters, which begin with the first interval: a rate over a new start
	 * would have this sample and none of theirs.
	 */
	if (set->intervals)
		put_one(w, COUNTER, "uncore_interval_seconds", "seconds",
			"Time from the start to the end of the last interval: "
			"all counters are sums over it.",
			set->seconds);
	put_one(w, COUNTER, "uncore_missed_ticks", "",
		"Ends of intervals that were missed; the next interval has their counts.",
		(double)set->missed);
	put_one(w, GAUGE, "uncore_series", "", "Rows that are counted, each with its series.",
		(double)set->series_count);
}

static void put_process(const struct writer_of *w, const struct exposition_self *self)
{
	double resident = resident_bytes();

	put_one(w, COUNTER, "uncore_exposition_seconds", "seconds",
		"Time taken to make the texts that scrapes get.", self->text_seconds);
	put_one(w, COUNTER, "uncore_scrapes", "", "Requests that were answered with this text.",
		(double)self->scrapes);
	put_one(w, COUNTER, "uncore_refused_requests", "",
		"Requests with an unknown path, method or host.", (double)self->refused);
	put_one(w, COUNTER, "uncore_cut_connections", "",
		"Connections that were ended because the client was too slow.", (double)self->cut);
	put_one(w, COUNTER, "process_cpu_seconds", "seconds", "CPU time of the process.",
		(double)cli_clock_ns(CLOCK_PROCESS_CPUTIME_ID) / 1e9);
	if (resident > 0)
		put_one(w, GAUGE, "process_resident_memory_bytes", "bytes",
			"Resident memory of the process.", resident);
	put_one(w, GAUGE, "process_start_time_seconds", "seconds",
		"Start of the process since 1970.", self->start_seconds);
}

void exposition_put(struct buffer *to, bool openmetrics, bool pushed, const struct series_set *set,
		    const struct uncore *u, const struct exposition_self *self)
{
	const struct writer_of w = {to, openmetrics};
	struct buffer version = {0};

	put_label(&version, "version", uncore_version());
	put_family(&w, INFO, "uncore_build", "", "The program.");
	put_sample(&w, "uncore_build", "_info", version.data, 1);
	put_family(&w, INFO, "uncore_machine", "", "The machine, and the source of the counts.");
	put_sample(&w, "uncore_machine", "_info", buffer_text(&self->machine), 1);
	for (size_t i = 0; i < set->family_count; i++)
		put_metric(&w, set, &set->families[i]);
	for (size_t i = 0; i < set->family_count; i++)
		if (set->families[i].ceiling)
			put_ceilings(&w, set, &set->families[i]);
	for (size_t i = 0; i < set->family_count; i++)
		put_histogram(&w, set, &set->families[i]);
	if (set->has_ports) {
		put_devices(&w, u);
		put_links(&w, u, false);
		put_links(&w, u, true);
	}
	if (set->series_count) {
		put_qualities(&w, set);
		put_problems(&w, set);
	}
	put_counting(&w, set);
	if (!pushed)
		put_process(&w, self);
	if (openmetrics)
		buffer_puts(to, "# EOF\n");
	buffer_free(&version);
}

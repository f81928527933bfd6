/* SPDX-License-Identifier: MIT */
#include "serve/series.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/cli.h"
#include "output/place.h"

/* ---- names ---- */

#define SUM(what) ", " what " since the start"
#define MEAN ", of which sum by count is the mean"
#define STATE " in the last interval"

/* The exported form of a metric, by its unit. Rates are exported as counters, and quotients as
 * sums, so that a scrape has all that was counted since the previous scrape. */
static const struct naming {
	const char *unit;   /* of the library */
	const char *ending; /* of the metric's name, which is replaced by: */
	const char *suffix; /* of the series' name */
	enum series_kind kind;
	const char *help; /* follows the metric's title */
	struct series_buckets buckets;
} namings[] = {
	{"B/s",
	 ".bandwidth",
	 "bytes",
	 SERIES_COUNTER,
	 SUM("in bytes"),
	 {"bytes_per_second", 28, 12, 16}},
	{"1/s", ".rate", "", SERIES_COUNTER, SUM("their number"), {"per_second", 10, 24, 64}},
	{"Hz", ".frequency", "cycles", SERIES_COUNTER, SUM("its cycles"), {"hertz", 28, 5, 16}},
	{"W", "", "joules", SERIES_COUNTER, SUM("in joules"), {"watts", 0, 10, 32}},
	{"s", "", "seconds", SERIES_MEAN, MEAN, {"seconds", -26, 10, 16}},
	{"ratio", ".ratio", "ratio", SERIES_MEAN, MEAN, {"ratio", -6, 6, 16}},
	{"cycle", ".cycles", "cycles", SERIES_MEAN, MEAN, {"cycles", 4, 8, 16}},
	{"1/cycle", "", "", SERIES_MEAN, MEAN, {"", -7, 8, 32}},
	{"count", ".count", "", SERIES_MEAN, MEAN, {"", -4, 12, 32}},
	{"°C", "", "celsius", SERIES_GAUGE, STATE, {"celsius", 4, 3, 8}},
	{"B", "", "bytes", SERIES_GAUGE, STATE, {"bytes", 20, 20, 32}},
	{"event", "", "", SERIES_COUNTER, SUM("in their unit"), {"per_second", 0, 40, 64}},
	{"state", "", "", SERIES_GAUGE, STATE, {"", 0, 40, 64}},
	{"", "", "", SERIES_GAUGE, STATE, {"", 0, 40, 64}}, /* others */
};

static const struct naming *naming_of(const struct uncore_row *row)
{
	const char *unit = row->query->unit;
	const struct naming *n = namings;

	if (!row->query->family)
		unit = isnan(row->rate) && !isnan(row->value) ? "state" : "event";
	while (*n->unit && strcmp(n->unit, unit) != 0)
		n++;
	return n;
}

/* "memory.read.bandwidth" becomes "uncore_memory_read_bytes" with the suffix "bytes". `between` and
 * the suffix may be "". */
static char *metric_name(const char *metric, const struct naming *n, const char *between,
			 const char *suffix)
{
	struct buffer name = {0};
	size_t len = strlen(metric), ending = strlen(n->ending);

	if (len >= ending && strcmp(metric + len - ending, n->ending) == 0)
		len -= ending;
	buffer_printf(&name, "uncore_%.*s%s%s%s", (int)len, metric, between, *suffix ? "_" : "",
		      suffix);
	for (char *c = name.data; *c; c++)
		if (*c == '.' || *c == '-')
			*c = '_';
	return name.data;
}

/* SERIES_NONE: the set is complete without it. */
static size_t find_family(struct series_set *set, const struct uncore *u,
			  const struct uncore_row *row)
{
	const struct naming *n = naming_of(row);
	bool event = !row->query->family;
	bool state = event && n->kind == SERIES_GAUGE;
	const char *metric = state ? "event.state" : event ? "events" : row->query->name;
	char *name = metric_name(metric, n, "", n->suffix);
	const struct uncore_metric *m = cli_metric(u, row->query);
	const char *title = event ? "Counts of events"
			    : m   ? uncore_metric_title(m)
				  : row->query->name;
	struct buffer help = {0}, ceiling = {0}, histogram_help = {0};
	size_t i = 0;

	while (i < set->family_count && strcmp(set->families[i].name, name) != 0)
		i++;
	if (i < set->family_count || set->complete) {
		free(name);
		return i < set->family_count ? i : SERIES_NONE;
	}
	buffer_printf(&help, "%s%s.", title, n->help);
	buffer_printf(&histogram_help, "%s, means of short samples since the start.", title);
	/* A counter has no ceiling, but its rate has. */
	if (!event && strcmp(n->suffix, "bytes") == 0 && n->kind == SERIES_COUNTER)
		buffer_printf(&ceiling, "%.*sceiling_bytes_per_second",
			      (int)(strlen(name) - strlen("bytes")), name);
	set->families = cli_realloc(set->families, set->family_count + 1, sizeof(*set->families));
	set->families[set->family_count++] = (struct series_family){
		.name = name,
		.unit = n->suffix,
		.help = help.data,
		.ceiling = ceiling.data,
		.histogram_help = histogram_help.data,
		.histogram = metric_name(metric, n, "_sample_mean", n->buckets.unit),
		.buckets = &n->buckets,
		.kind = n->kind,
		.first = SERIES_NONE,
		.last = SERIES_NONE};
	return i;
}

/* ---- labels ---- */

void put_label(struct buffer *to, const char *name, const char *value)
{
	auto_free char *copy = cli_copy(value);
	size_t len = cli_clean(copy, strlen(copy), "\n");

	buffer_printf(to, "%s%s=\"", to->len ? "," : "", name);
	for (size_t i = 0; i < len; i++) {
		if (copy[i] == '\n')
			buffer_puts(to, "\\n");
		else if (copy[i] == '\\' || copy[i] == '"')
			buffer_printf(to, "\\%c", copy[i]);
		else
			buffer_add(to, &copy[i], 1);
	}
	buffer_puts(to, "\"");
}

void put_label_number(struct buffer *to, const char *name, long value)
{
	buffer_printf(to, "%s%s=\"%ld\"", to->len ? "," : "", name, value);
}

/* A PMU that is read from one CPU of each socket does not belong to that CPU. */
static bool is_per_cpu(const struct uncore *u, const struct uncore_row_place *place)
{
	return place->cpu >= 0 && place->pmu &&
	       uncore_pmu_cpu_count(place->pmu) > uncore_socket_count(u);
}

static void put_place(struct buffer *to, const struct uncore *u,
		      const struct uncore_row_place *place)
{
	for (int i = 0; i < PLACE_COUNT; i++) {
		const struct place_member *m = &place_members[i];
		const char *name = m->label ? m->label(place) : m->name;
		struct value v = place_value(place, (enum place_index)i);

		if (m->follows || (i == PLACE_CPU && !is_per_cpu(u, place)))
			continue;
		if (v.type == VALUE_TEXT && v.text)
			put_label(to, name, v.text);
		else if (v.type == VALUE_ID && v.id >= 0)
			put_label_number(to, name, v.id);
	}
}

static char *labels_of(const struct uncore *u, const struct uncore_row *row)
{
	struct buffer to = {0};

	if (row->query->family) {
		put_label(&to, "family", row->query->family);
	} else {
		put_label(&to, "event", row->query->name);
		if (*row->query->unit)
			put_label(&to, "unit", row->query->unit);
	}
	put_place(&to, u, row->place);
	if (row->query->filter)
		put_label(&to, "filter", row->query->filter);
	return to.data;
}

/* ---- rows to series ---- */

/* A problem of all intervals: nothing counts the row, this kernel has a bug, or the documents leave
 * a doubt. */
static char *known_problem(const struct uncore *u, const struct uncore_row *row)
{
	const struct uncore_metric *m = row->query->family ? cli_metric(u, row->query) : NULL;
	const char *why = NULL;

	if (isnan(row->value) && !row->counted->instances)
		why = row->reason;
	if (!why && m)
		why = uncore_metric_kernel_bug(m);
	if (!why && m)
		why = uncore_metric_doubt(m);
	if (!why && row->place->port)
		why = row->place->port->doubt;
	return why ? cli_copy(why) : NULL;
}

/* The series of a row. A previous plan may have made it. SERIES_NONE: none, and the set is
 * complete. */
static size_t find_series(struct series_set *set, const struct uncore *u,
			  const struct uncore_row *row)
{
	size_t family = find_family(set, u, row), i;
	struct series_family *f;
	char *labels;

	if (family == SERIES_NONE)
		return SERIES_NONE;
	f = &set->families[family];
	labels = labels_of(u, row);
	i = f->first;
	while (i != SERIES_NONE && strcmp(set->series[i].labels, labels) != 0)
		i = set->series[i].next;
	if (i != SERIES_NONE || set->complete) {
		free(labels);
		return i;
	}
	set->has_ports |= row->place->port != NULL;
	set->has_devices |= row->place->device != NULL;
	i = set->series_count++;
	set->series = cli_realloc(set->series, set->series_count, sizeof(*set->series));
	set->series[i] = (struct series){.family = family,
					 .next = SERIES_NONE,
					 .row = SERIES_NONE,
					 .labels = labels,
					 .problem = known_problem(u, row),
					 .value = NAN,
					 .ceiling = NAN};
	if (f->first == SERIES_NONE)
		f->first = i;
	else
		set->series[f->last].next = i;
	f->last = i;
	return i;
}

static void find_rows(struct series_set *set, const struct uncore *u,
		      const struct uncore_sample *sample)
{
	set->row_count = uncore_sample_count(sample);
	for (size_t i = 0; i < set->series_count; i++)
		set->series[i].row = SERIES_NONE;
	for (size_t i = 0; i < set->row_count; i++) {
		const struct uncore_row *row = uncore_sample_row(sample, i);
		size_t series;

		if (row->extra)
			continue;
		series = find_series(set, u, row);

		/* The same metric at two levels may have the same row twice. */
		if (series != SERIES_NONE && set->series[series].row == SERIES_NONE)
			set->series[series].row = i;
	}
}

void series_change_plan(struct series_set *set)
{
	set->complete = set->intervals > 0;
	set->row_count = SERIES_NONE;
}

static void add_value(struct series *s, enum series_kind kind, const struct uncore_row *row,
		      double seconds)
{
	double counted = isnan(row->counted->seconds) ? seconds : row->counted->seconds, weight;

	s->value = row->value;
	if (isnan(row->value) || (kind == SERIES_COUNTER && row->value < 0))
		return;
	s->has_value = true;
	if (kind == SERIES_COUNTER)
		s->sum += !row->query->family           ? row->value
			  : isnan(row->counted->amount) ? row->value * counted
							: row->counted->amount;
	if (kind != SERIES_MEAN)
		return;
	weight = isnan(row->weight) ? counted : row->weight;
	s->sum += row->value * weight;
	s->weight += weight;
}

size_t series_limit_count(const struct series_buckets *b)
{
	return (size_t)(b->octaves * UNCORE_BINS_PER_OCTAVE / b->bins) + 1;
}

double series_limit(const struct series_buckets *b, size_t i)
{
	return exp2(b->lowest + (double)i * b->bins / UNCORE_BINS_PER_OCTAVE);
}

/* Adds the short samples of an interval to those of all intervals. */
static void add_short_samples(struct series *s, const struct series_buckets *b,
			      const struct uncore_distribution *d)
{
	size_t limits = series_limit_count(b);

	if (!s->samples) {
		s->samples = cli_realloc(NULL, limits + 1, sizeof(*s->samples));
		memset(s->samples, 0, (limits + 1) * sizeof(*s->samples));
	}
	if (!d->samples)
		return;
	s->sample_sum += d->mean * (double)d->samples;
	s->samples[0] += d->zero_samples;
	for (size_t i = 0; i < d->bin_count; i++) {
		/* Bins from the lowest limit to the upper limit of this bin. */
		long above = d->first_bin + (long)i - (long)b->lowest * UNCORE_BINS_PER_OCTAVE;
		size_t bucket =
			above <= 0 ? 0 : ((size_t)above + (size_t)b->bins - 1) / (size_t)b->bins;

		s->samples[bucket < limits ? bucket : limits] += d->bins[i];
	}
}

static void add_row(struct series_set *set, struct series *s, const struct uncore_sample *sample,
		    double seconds)
{
	const struct uncore_row *row = uncore_sample_row(sample, s->row);
	const struct uncore_distribution *d = uncore_sample_distribution(sample, s->row);

	if (d)
		add_short_samples(s, set->families[s->family].buckets, d);
	add_value(s, set->families[s->family].kind, row, seconds);
	s->ceiling = row->ceiling;
	s->coverage = row->counted->coverage;
	s->seconds[row->quality] += seconds;
}

void series_add(struct series_set *set, const struct uncore *u, const struct uncore_sample *sample,
		uint64_t interval_ns)
{
	uint64_t length_ns = uncore_sample_end_ns(sample) - uncore_sample_begin_ns(sample);
	double seconds = (double)length_ns / 1e9;

	if (set->row_count != uncore_sample_count(sample))
		find_rows(set, u, sample);
	for (size_t i = 0; i < set->series_count; i++)
		if (set->series[i].row != SERIES_NONE)
			add_row(set, &set->series[i], sample, seconds);
	set->seconds += seconds;
	set->intervals++;
	if (interval_ns && length_ns > interval_ns + interval_ns / 2)
		set->missed += (length_ns + interval_ns / 2) / interval_ns - 1;
}

void series_free(struct series_set *set)
{
	for (size_t i = 0; i < set->family_count; i++) {
		free(set->families[i].name);
		free(set->families[i].help);
		free(set->families[i].ceiling);
		free(set->families[i].histogram);
		free(set->families[i].histogram_help);
	}
	for (size_t i = 0; i < set->series_count; i++) {
		free(set->series[i].labels);
		free(set->series[i].problem);
		free(set->series[i].samples);
	}
	free(set->families);
	free(set->series);
	*set = (struct series_set){0};
}

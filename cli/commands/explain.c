/* SPDX-License-Identifier: MIT */
/* `uncore explain`: which counters, which formula, from which document; and the equivalent perf
 * command. */
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/buffer.h"
#include "base/writer.h"
#include "commands/documents.h"
#include "commands/guess.h"
#include "commands/options.h"
#include "commands/proofs.h"
#include "output/output.h"
#include "output/pmus.h"

struct explain_options {
	const char *metric;
	const struct output *output;
};

/* ---- the perf line ---- */

/* Length of the name that perf takes for this PMU, or for several that are alike: "uncore_imc" of
 * "uncore_imc_0". */
static size_t stem_of(const struct uncore_pmu *pmu, bool several)
{
	const char *name = uncore_pmu_name(pmu);
	size_t stem = several ? pmu_stem(name) : 0;

	return stem ? stem : strlen(name);
}

static bool same_pmu(const struct uncore_metric_event *a, const struct uncore_metric_event *b)
{
	size_t stem = stem_of(a->pmu, a->pmu_count > 1);

	return stem == stem_of(b->pmu, b->pmu_count > 1) &&
	       strncmp(uncore_pmu_name(a->pmu), uncore_pmu_name(b->pmu), stem) == 0;
}

/* True for the first event of its kind of PMU. */
static bool opens_group(const struct uncore_metric *m, size_t i)
{
	const struct uncore_metric_event *event = uncore_metric_event_at(m, i);

	for (size_t k = 0; k < i; k++) {
		const struct uncore_metric_event *before = uncore_metric_event_at(m, k);

		if (before->pmu && same_pmu(before, event))
			return false;
	}
	return true;
}

static bool is_of_family(const struct uncore_pmu *pmu, const void *family)
{
	return cli_same(uncore_pmu_family(pmu), family);
}

/* The events of this event's kind of PMU, on the PMUs that perf finds by the name. Only on one PMU
 * they are a group: perf makes one of all PMUs, which the kernel refuses. */
static void put_events(const struct uncore_metric *m, size_t first, const char *name, size_t len,
		       struct buffer *to)
{
	const struct uncore_metric_event *leader = uncore_metric_event_at(m, first);
	auto_buffer events = {0};
	size_t count = 0;

	for (size_t i = first; i < uncore_metric_event_count(m); i++) {
		const struct uncore_metric_event *event = uncore_metric_event_at(m, i);

		if (event->pmu && same_pmu(leader, event))
			buffer_printf(&events, "%s%.*s/%s,name=%s/", count++ ? "," : "", (int)len,
				      name, event->terms, event->name);
	}
	buffer_printf(to, leader->pmu_count == 1 && count > 1 ? " -e '{%s}'" : " -e '%s'",
		      events.data);
}

/* The equal `perf stat` line. Nothing without events, and nothing for registers and devices, which
 * have no PMU that perf could open. */
static void put_perf(const struct uncore *u, const struct uncore_metric *m, struct buffer *to)
{
	auto_pmus p = {0};

	if (strncmp(uncore_source(u), "regs:", 5) == 0 || uncore_metric_is_of_device(m))
		return;
	pmus_select(&p, u, is_of_family, uncore_metric_family(m));
	for (size_t i = 0; i < uncore_metric_event_count(m); i++) {
		const struct uncore_metric_event *event = uncore_metric_event_at(m, i);

		if (!event->pmu || !opens_group(m, i))
			continue;
		buffer_puts(to, to->len ? "" : "perf stat -a");
		if (event->pmu_count == 1 || event->pmu_count != p.count) {
			put_events(m, i, uncore_pmu_name(event->pmu),
				   stem_of(event->pmu, event->pmu_count > 1), to);
			continue;
		}
		/* PMUs of two sockets may differ within the name, "nvidia_pcie_pmu_1_rc_0". */
		for (size_t k = 0; k < p.count; k++)
			if (pmus_begin_stem(&p, k))
				put_events(m, i, uncore_pmu_name(p.items[k]),
					   stem_of(p.items[k], true), to);
	}
	if (to->len)
		buffer_puts(to, " -- sleep 1");
}

/* ---- what decides a doubt ---- */

#define DECIDE_NS 100000000

static json_t *decider_record(const struct uncore_row *row, const char *name, const char *reason)
{
	return json_record((const struct field[]){
		{"name", value_text(name)},
		{"value", row ? value_real(row->value) : value_none()},
		{"unit", value_text(row ? row->query->unit : NULL)},
		{"quality", value_text(row ? uncore_quality_name(row->quality) : "unavailable")},
		{"reason", value_text(row ? row->reason : reason)},
		{0},
	});
}

/* The metrics that decide whether a doubt holds, counted for a moment. */
static json_t *deciders(struct uncore *u, const struct uncore_metric *m)
{
	const struct timespec moment = {.tv_nsec = DECIDE_NS};
	struct uncore_monitor *monitor = NULL;
	struct uncore_sample *sample = NULL;
	json_t *array = json_array();
	const char *name;
	int err;

	if (!uncore_metric_decider(m, 0))
		return array;
	err = uncore_monitor_new(&monitor, u);
	for (size_t i = 0; !err && (name = uncore_metric_decider(m, i)); i++)
		err = uncore_monitor_add_metrics(monitor, name);
	if (!err)
		err = uncore_monitor_plan(monitor);
	if (!err)
		err = uncore_monitor_open(monitor);
	if (!err)
		err = uncore_monitor_start(monitor);
	if (!err)
		err = uncore_sample_new(&sample);
	if (!err) {
		nanosleep(&moment, NULL);
		err = uncore_monitor_read(monitor, sample);
	}
	for (size_t i = 0; !err && i < uncore_sample_count(sample); i++)
		json_push(array, decider_record(uncore_sample_row(sample, i),
						uncore_sample_row(sample, i)->query->name, NULL));
	for (size_t i = 0; err && (name = uncore_metric_decider(m, i)); i++)
		json_push(array, decider_record(NULL, name, uncore_error(u)));
	uncore_monitor_free(monitor);
	uncore_sample_free(sample);
	return array;
}

/* ---- text ---- */

static void field(struct buffer *to, const char *name, const char *text)
{
	buffer_printf(to, "  %-9s ", name);
	buffer_puts(to, text ? text : "-");
	buffer_puts(to, "\n");
}

/* A long text is wrapped with a hanging indent. */
static void sentence(struct buffer *to, const char *name, const char *text)
{
	if (!text)
		return;
	buffer_printf(to, "  %s ", name);
	buffer_wrap(to, 12, text_columns(), text);
}

/* Where the first device has the event; others have it below their own directories. */
static void device_event_text(const struct uncore_metric_event *event, struct buffer *to)
{
	const char *directory = uncore_pmu_directory(event->pmu);
	auto_buffer text = {0};

	buffer_printf(&text, "%s/%s/ is ", uncore_pmu_name(event->pmu), event->name);
	if (directory)
		buffer_printf(&text, "in /%s: ", directory);
	buffer_puts(&text, event->where);
	if (event->pmu_count > 1)
		buffer_printf(&text, "; %zu devices have it", event->pmu_count);
	sentence(to, "", text.data);
}

static void event_text(const struct uncore_metric_event *event, struct buffer *to)
{
	static const char *const words[UNCORE_CONFIG_WORDS] = {"config", "config1", "config2",
							       "config3"};
	const char *name = event->pmu ? uncore_pmu_name(event->pmu) : "";
	auto_buffer text = {0};
	size_t begin;

	buffer_printf(&text, "%s: %s", event->name, event->title ? event->title : "");
	sentence(to, "event", text.data);
	text.len = 0;
	begin = to->len;
	for (size_t i = 0; i < UNCORE_CONFIG_WORDS; i++)
		if (!i || event->config[i])
			buffer_printf(&text, "%s%s=0x%llx", i ? " " : "", words[i],
				      (unsigned long long)event->config[i]);
	if (event->pmu_count > 1)
		buffer_printf(&text, "  on %zu PMUs from %s on\n", event->pmu_count, name);
	else
		buffer_printf(&text, "  on %s\n", name);
	if (event->pmu && event->where) {
		device_event_text(event, to);
	} else if (event->pmu) {
		buffer_printf(to, "%12s%.*s/%s/", "",
			      (int)stem_of(event->pmu, event->pmu_count > 1), name, event->terms);
		if (to->len - begin + text.len >= text_columns())
			buffer_printf(to, "\n%12s%s", "", text.data);
		else
			buffer_printf(to, "  %s", text.data);
	} else {
		sentence(to, "", "no PMU of this machine counts it");
	}
	sentence(to, "", event->evidence);
}

static void perf_text(const struct uncore *u, const struct uncore_metric *m, struct buffer *to)
{
	auto_buffer perf = {0};

	put_perf(u, m, &perf);
	if (!perf.len)
		return;
	field(to, "perf", perf.data);
	sentence(to, "",
		 "To compute the metric, put perf's counts into the formula, adding up counts of "
		 "the same name; 'seconds' is perf's elapsed time.");
	if (strstr(uncore_metric_formula(m), "source_count("))
		sentence(to, "",
			 "source_count(x) is the number of counters of x: perf stat -A prints each "
			 "of them.");
}

static void alternatives_text(const struct uncore_metric *m, struct buffer *to)
{
	const struct uncore_alternative *a;

	for (size_t i = 0; (a = uncore_metric_alternative_at(m, i)); i++) {
		auto_buffer text = {0};

		buffer_printf(&text, "x %g: %s (%s)", a->factor, a->title, a->evidence);
		sentence(to, "may be", text.data);
	}
}

static void deciders_text(struct uncore *u, const struct uncore_metric *m, struct buffer *to)
{
	json_t *array = deciders(u, m);

	for (size_t i = 0; i < json_array_size(array); i++) {
		const json_t *one = json_array_get(array, i);
		const json_t *value = json_object_get(one, "value");
		const char *unit = json_string_value(json_object_get(one, "unit"));
		const char *reason = json_string_value(json_object_get(one, "reason"));
		auto_buffer text = {0};

		buffer_printf(
			&text, "%s is %s, %s%s%s", json_string_value(json_object_get(one, "name")),
			json_is_number(value) ? human(json_number_value(value), unit).text : "-",
			json_string_value(json_object_get(one, "quality")), reason ? ": " : "",
			reason ? reason : "");
		sentence(to, "", text.data);
	}
	json_decref(array);
}

/* ---- what a data file states in words about a driver of the kernel ---- */

/* The sentence for a word of a data file. The last entry has no word: it is for all other words,
 * and puts the word between `text` and `rest`. */
struct sentence {
	const char *word, *text, *rest;
};

static const struct sentence counts[] = {
	{"unknown", "It is unknown what one PMU counts.", NULL},
	{NULL, "One PMU counts one ", "."},
};

static const struct sentence cpus[] = {
	{"near", "A CPU of the cpumask is where the hardware is.", NULL},
	{"reader",
	 "A CPU of the cpumask only reads: it does not show the socket and NUMA node of the hardware.",
	 NULL},
	{"node",
	 "A CPU of the cpumask only reads: the hardware is in the NUMA node of the PMU's device.",
	 NULL},
	{NULL, "Whether a CPU of the cpumask is where the hardware is, is ", "."},
};

static const struct sentence each[] = {
	{"cpu", "Each CPU of the cpumask has a register of its own.", NULL},
	{"machine", "Any CPU of the cpumask reads the same register, and one is counted.", NULL},
	{"unknown", "It is unknown which CPUs of the cpumask read the same register.", NULL},
	{NULL,
	 "One CPU of the cpumask is counted where several read the same register: all of one ",
	 "."},
};

static const struct sentence hardware[] = {
	{"never", "Every PMU has its hardware.", NULL},
	{"possible", "PMUs may be registered for hardware that is absent or not populated.", NULL},
	{NULL, "Whether PMUs may be registered for hardware that is absent or not populated, is ",
	 "."},
};

static const struct sentence numbers[] = {
	{"none", "Names have no number of a unit.", NULL},
	{"unknown", "It is unknown within what the number in a name is unique.", NULL},
	{NULL, "The number in a name is unique within the ", "."},
};

static void put_fact(struct buffer *to, const struct sentence *s, const char *word)
{
	while (s->word && strcmp(s->word, word) != 0)
		s++;
	buffer_printf(to, "%s%s%s%s", to->len ? " " : "", s->text, s->word ? "" : word,
		      s->word ? "" : s->rest);
}

static void driver_text(const struct uncore_driver *d, struct buffer *to)
{
	put_fact(to, counts, d->counts);
	put_fact(to, cpus, d->cpu);
	put_fact(to, each, d->each);
	put_fact(to, hardware, d->without_hardware);
	if (d->absent)
		buffer_printf(to, " Units %s have none%s%s%s%s.", d->absent,
			      d->where ? " where there is " : "", d->where ? d->where : "",
			      d->unless ? " unless there is " : "", d->unless ? d->unless : "");
	put_fact(to, numbers, d->number);
	if (d->pmus)
		buffer_printf(to, " (PMUs %s)", d->pmus);
}

static void drivers_text(const struct uncore_metric *m, struct buffer *to)
{
	const struct uncore_driver *d;

	for (size_t i = 0; (d = uncore_metric_driver_at(m, i)); i++) {
		auto_buffer text = {0};

		if (uncore_metric_is_of_device(m))
			buffer_puts(&text, "Each device counts itself, and no PMU of the kernel "
					   "is read.");
		else
			driver_text(d, &text);
		sentence(to, "driver", text.data);
		sentence(to, "", d->evidence);
	}
}

/* ---- text of metrics ---- */

void explain_text(const struct cli *cli, const struct uncore_metric **metrics, size_t count,
		  struct buffer *to)
{
	struct uncore *u = cli->u;
	struct proof *proof = cli->proofs->find(cli);

	out_text_simulated(u, to);
	for (size_t i = 0; i < count; i++) {
		const struct uncore_metric *m = metrics[i];
		auto_buffer verified = {0};

		buffer_printf(to, "%s%s:", i ? "\n" : "", uncore_metric_name(m));
		buffer_wrap(to, 4, text_columns(), uncore_metric_title(m));
		field(to, "family", uncore_metric_family(m));
		field(to, "unit", uncore_metric_unit(m));
		sentence(to, "formula", *uncore_metric_formula(m) ? uncore_metric_formula(m) : "-");
		sentence(to, "evidence", uncore_metric_evidence(m));
		cli->proofs->text(proof, uncore_metric_name(m), uncore_metric_family(m), &verified);
		sentence(to, "verified", verified.data);
		sentence(to, "missing", uncore_metric_missing(m));
		sentence(to, "suspect", uncore_metric_kernel_bug(m));
		sentence(to, "kernel", uncore_metric_kernel_note(m));
		sentence(to, "doubt", uncore_metric_doubt(m));
		alternatives_text(m, to);
		deciders_text(u, m, to);
		for (size_t k = 0; k < uncore_metric_event_count(m); k++)
			event_text(uncore_metric_event_at(m, k), to);
		perf_text(u, m, to);
		drivers_text(m, to);
	}
	cli->proofs->free(proof);
}

/* ---- documents ---- */

static json_t *driver_records(const struct uncore_metric *m)
{
	json_t *array = json_array();
	const struct uncore_driver *d;

	for (size_t i = 0; (d = uncore_metric_driver_at(m, i)); i++)
		json_push(array, json_record((const struct field[]){
					 {"pmus", value_text(d->pmus)},
					 {"counts", value_text(d->counts)},
					 {"cpu", value_text(d->cpu)},
					 {"each", value_text(d->each)},
					 {"without_hardware", value_text(d->without_hardware)},
					 {"absent", value_text(d->absent)},
					 {"where", value_text(d->where)},
					 {"unless", value_text(d->unless)},
					 {"number", value_text(d->number)},
					 {"evidence", value_text(d->evidence)},
					 {0},
				 }));
	return array;
}

static json_t *event_record(const struct uncore_metric_event *event)
{
	json_t *config = json_array();
	const struct field fields[] = {
		{"name", value_text(event->name)},
		{"title", value_text(event->title)},
		{"terms", value_text(event->terms)},
		{"pmu", value_text(event->pmu ? uncore_pmu_name(event->pmu) : NULL)},
		{"pmu_count", value_count(event->pmu_count)},
		{"config", value_json(config)},
		{"evidence", value_text(event->evidence)},
		{"where", value_text(event->where)},
		{0},
	};

	for (size_t i = 0; i < UNCORE_CONFIG_WORDS; i++)
		json_push(config, event->pmu ? json_hex(event->config[i]) : json_null());
	return json_record(fields);
}

static json_t *metric_record(const struct cli *cli, const struct uncore_metric *m,
			     const struct proof *proof)
{
	struct uncore *u = cli->u;
	json_t *metric = json_metric(m);
	json_t *events = json_array();
	auto_buffer perf = {0};

	for (size_t i = 0; i < uncore_metric_event_count(m); i++)
		json_push(events, event_record(uncore_metric_event_at(m, i)));
	put_perf(u, m, &perf);
	json_add(metric,
		 RECORD({"events", value_json(events)}, {"perf", value_text(perf.data)},
			{"deciders", value_json(deciders(u, m))},
			{"drivers", value_json(driver_records(m))},
			{"verified", value_json(cli->proofs->record(proof, uncore_metric_name(m),
								    uncore_metric_family(m)))}));
	return metric;
}

/* ---- events ---- */

static bool names_event(const char *pattern, const char *pmu, const char *alias)
{
	auto_buffer text = {0};

	buffer_printf(&text, "%s/%s/", pmu, alias);
	return fnmatch(pattern, text.data, 0) == 0;
}

/* An event of `count` PMUs that are alike from `first` on. */
static json_t *named_event(const char *pmu, const struct uncore_pmu *first, size_t count,
			   const struct uncore_alias *alias, bool by_perf)
{
	auto_buffer perf = {0};

	if (by_perf && !alias->where)
		buffer_printf(&perf, "perf stat -a -e '%s/%s,name=%s/' -- sleep 1", pmu,
			      alias->evidence ? alias->terms : alias->name, alias->name);
	return json_record((struct field[]){
		{"name", value_text(alias->name)},
		{"title", value_text(alias->title)},
		{"pmu", value_text(pmu)},
		{"pmu_count", value_count(count)},
		{"family", value_text(uncore_pmu_family(first))},
		{"unit", value_text(alias->unit)},
		{"terms", value_text(alias->terms)},
		{"evidence", value_text(alias->evidence)},
		{"perf", value_text(perf.data)},
		{"where", value_text(alias->where)},
		{0},
	});
}

/* The pattern has the common name of PMUs that are alike, or that of the first. */
static json_t *named_events(const struct uncore *u, const char *pattern)
{
	bool by_perf = strncmp(uncore_source(u), "regs:", 5) != 0;
	json_t *array = json_array();
	auto_pmus p;

	pmus_select(&p, u, NULL, NULL);
	for (size_t i = 0, n; (n = pmus_alike(&p, i)); i += n) {
		const struct uncore_pmu *pmu = p.items[i];
		auto_buffer name = {0};

		pmus_short_name(&p, i, n, &name);
		for (size_t k = 0; k < uncore_pmu_alias_count(pmu); k++) {
			const struct uncore_alias *alias = uncore_pmu_alias_at(pmu, k);

			if (names_event(pattern, name.data, alias->name) ||
			    names_event(pattern, uncore_pmu_name(pmu), alias->name))
				json_push(array, named_event(name.data, pmu, n, alias, by_perf));
		}
	}
	return array;
}

static void named_events_text(const struct uncore *u, const json_t *array, struct buffer *to)
{
	out_text_simulated(u, to);
	for (size_t i = 0; i < json_array_size(array); i++) {
		const json_t *event = json_array_get(array, i);
		const char *title = json_string_value(json_object_get(event, "title"));

		buffer_printf(to, "%s%s/%s/:", i ? "\n" : "",
			      json_string_value(json_object_get(event, "pmu")),
			      json_string_value(json_object_get(event, "name")));
		buffer_wrap(to, 4, text_columns(), title ? title : "the driver's event");
		for (size_t k = 0; k < 6; k++) {
			static const char *const keys[] = {"family", "unit",     "terms",
							   "where",  "evidence", "perf"};
			const char *text = json_string_value(json_object_get(event, keys[k]));
			bool code = k == 2 && json_is_string(json_object_get(event, "where"));

			if (text && *text && !code)
				sentence(to, keys[k], text);
		}
	}
}

/* ---- when there is nothing to explain ---- */

/* Points to metrics of this machine about the same subject: the first word, such as "memory". */
static void say_related(const struct uncore *u, const char *asked)
{
	int subject = (int)strcspn(asked, ".*?[");

	for (size_t i = 0; i < uncore_metric_count(u); i++) {
		const struct uncore_metric *m = uncore_metric_at(u, i);
		const char *name = uncore_metric_name(m);

		if (uncore_metric_missing(m) || strncmp(name, asked, (size_t)subject) != 0 ||
		    name[subject] != '.')
			continue;
		cli_error("related metrics of this machine: uncore list metrics '%.*s.*'", subject,
			  asked);
		return;
	}
}

/* Families are neighbours in the list of metrics. */
static void say_families(const struct uncore *u, const char *pattern)
{
	const char *last = NULL;
	auto_buffer text = {0};

	for (size_t i = 0; i < uncore_metric_count(u); i++) {
		const struct uncore_metric *m = uncore_metric_at(u, i);

		if (!uncore_metric_matches(m, pattern) ||
		    (last && strcmp(last, uncore_metric_family(m)) == 0))
			continue;
		buffer_printf(&text, "%s%s", last ? ", " : "", uncore_metric_family(m));
		last = uncore_metric_family(m);
	}
	cli_error("families that have it (explain FAMILY/%s): %s", pattern, buffer_text(&text));
}

/* The reason, or the nearest names, is the error of the library when such a metric is to be
 * counted. */
static int not_here(struct cli *cli, const char *pattern, bool event)
{
	struct uncore_monitor *m = NULL;
	int err = uncore_monitor_new(&m, cli->u);
	int status;

	if (!err)
		err = event ? uncore_monitor_add_events(m, pattern)
			    : uncore_monitor_add_metrics(m, pattern);
	uncore_monitor_free(m);
	status = err ? cli_fail(cli, err) : CLI_UNAVAILABLE;
	if (!err && event)
		cli_error("%s: neither the driver nor the catalogue has an event of this name; "
			  "uncore stat --dry-run -e shows what its terms are",
			  pattern);
	else if (!err)
		cli_error("%s: this machine does not have it", pattern);
	if (status == CLI_UNAVAILABLE && !event) {
		say_related(cli->u, pattern);
		say_families(cli->u, pattern);
	}
	return status;
}

static int explain_event(struct cli *cli, const struct explain_options *o)
{
	json_t *array = named_events(cli->u, o->metric);
	bool found = json_array_size(array);
	struct buffer text = {0};

	if (found && o->output)
		o->output->document(
			json_document(cli->u, RECORD({"events", value_json(json_incref(array))})),
			&text);
	else if (found)
		named_events_text(cli->u, array, &text);
	json_decref(array);
	return found ? writer_print(&text) : not_here(cli, o->metric, true);
}

static json_t *metric_records(const struct cli *cli, const struct uncore_metric **metrics,
			      size_t count)
{
	json_t *array = json_array();
	struct proof *proof = cli->proofs->find(cli);

	for (size_t i = 0; i < count; i++)
		json_push(array, metric_record(cli, metrics[i], proof));
	cli->proofs->free(proof);
	return array;
}

static int explain(struct cli *cli, const struct explain_options *o)
{
	size_t all = uncore_metric_count_here(cli->u), count = 0, here = 0;
	auto_free const struct uncore_metric **metrics = NULL;
	struct buffer text = {0};

	for (size_t i = 0; i < all; i++)
		here += uncore_metric_matches(uncore_metric_at(cli->u, i), o->metric) &&
			uncore_metric_event_count(uncore_metric_at(cli->u, i));
	if (!here)
		all = uncore_metric_count(cli->u);
	metrics = cli_realloc(NULL, all, sizeof(*metrics));
	/* Metrics of this machine; when there are none, metrics of the family that the pattern
	 * names. */
	for (size_t i = 0; i < all; i++) {
		const struct uncore_metric *m = uncore_metric_at(cli->u, i);

		if (uncore_metric_matches(m, o->metric) &&
		    (uncore_metric_event_count(m) || (!here && strchr(o->metric, '/'))))
			metrics[count++] = m;
	}
	if (count && o->output)
		o->output->document(
			json_document(cli->u, RECORD({"metrics", value_json(metric_records(
									 cli, metrics, count))})),
			&text);
	else if (count)
		explain_text(cli, metrics, count, &text);
	return count ? writer_print(&text) : not_here(cli, o->metric, false);
}

int cmd_explain(struct cli *cli, int argc, char **argv)
{
	static const struct cli_syntax syntax = {
		.args = "METRIC",
		.no_args = "a metric is missing; 'uncore list metrics' lists them",
		.doc = "Shows how a metric is calculated: formula, events with their encoding on "
		       "this machine, evidence, and the equivalent perf command.\vMETRIC is a "
		       "name, a shell "
		       "pattern, optionally after FAMILY/. Only metrics of this machine are shown; "
		       "with FAMILY/ also those of other machines. PMU/EVENT/ is an event that the "
		       "driver or the catalogue names.",
		.outputs = OUTPUTS_DOCUMENTS,
		.outputs_at = offsetof(struct explain_options, output),
		.second = " is one argument too many",
		.argument_at = offsetof(struct explain_options, metric),
	};
	struct explain_options o = {0};
	char *pattern;
	int status;

	cli_parse(cli, &syntax, &o, argc, argv);
	if (guess_meaning(o.metric) && !o.output)
		return guess_explain(o.metric);
	status = cli_open(cli);
	if (status)
		return status;
	if (*o.metric && o.metric[strlen(o.metric) - 1] == '/')
		return explain_event(cli, &o);
	o.metric = pattern = cli_pattern(cli->u, o.metric);
	status = explain(cli, &o);
	free(pattern);
	return status;
}

/* SPDX-License-Identifier: MIT */
/* `uncore list`: the PMUs of this machine, their named events, and metrics. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/writer.h"
#include "commands/options.h"
#include "output/output.h"
#include "output/pmus.h"

#define ASSOCIATED_ROOM 40

enum { LIST_PMUS = 1, LIST_EVENTS = 2, LIST_METRICS = 4 }; /* bits, in the order of `sections` */

/* A word of the pattern. */
struct word {
	const char *text;
	const struct uncore_words *known; /* NULL: not a word of the catalogue */
	bool found, free; /* matches something; need not match, like "is" and "my" beside others */
};

struct list_options {
	unsigned kinds;
	struct buffer pattern; /* empty: all */
	struct word *words;    /* all of them must match */
	size_t count;
	const struct output *output;
	bool all; /* metrics that cannot be counted here, and the vendor's events, too */
};

static const struct cli_option options[] = {
	{"all", NULL,
	 "Also list metrics that cannot be counted here, with the reason, and all of the vendor's "
	 "events",
	 0, 1, OPTION_FLAG, offsetof(struct list_options, all)},
	{0},
};

/* [KIND] [PATTERN...]: a first word that is not a kind belongs to the pattern. */
static void take_argument(void *into, char *arg, struct argp_state *state)
{
	static const char *const kinds[] = {"pmus", "events", "metrics", NULL};
	struct list_options *o = into;
	size_t kind = cli_word(kinds, arg);

	(void)state;
	if (!o->kinds && !o->pattern.len && kinds[kind])
		o->kinds = 1U << kind;
	else
		buffer_printf(&o->pattern, "%s%s", o->pattern.len ? " " : "", arg);
}

/* ---- what the pattern selects ---- */

/* Splits the pattern. */
static void find_words(struct uncore *u, struct list_options *o)
{
	char *rest = o->pattern.data, *text;
	bool several = rest && strchr(rest, ' '), any = false;

	o->words = cli_realloc(NULL, o->pattern.len + 1, sizeof(*o->words));
	while ((text = strsep(&rest, " \t\n"))) {
		const struct uncore_words *known = uncore_words_find(u, text);
		size_t len = strlen(text);

		/* "writes?" in a question is not a shell pattern. */
		while (several && len && strchr("?!,.", text[len - 1]))
			text[--len] = '\0';
		if (!len)
			continue;
		o->words[o->count++] = (struct word){text, known, false, known && !known->names};
		any |= !o->words[o->count - 1].free;
	}
	if (!o->count && o->pattern.len) /* marks only: no name has one character */
		o->words[o->count++] = (struct word){.text = "?"};
	for (size_t i = 0; i < o->count; i++)
		o->words[i].free &= any;
}

/* The word, or a pattern that stands for it, matches one of the texts, which NULL ends. */
static bool word_matches(const struct word *w, const char *const *texts)
{
	char pattern[40];
	int n;

	for (; *texts; texts++) {
		if (cli_matches(w->text, *texts))
			return true;
		for (const char *at = w->known ? w->known->names : NULL;
		     at && sscanf(at, "%39s%n", pattern, &n) == 1; at += n)
			if (cli_matches(pattern, *texts))
				return true;
	}
	return false;
}

static bool takes(const struct list_options *o, const char *const *texts)
{
	bool all = true;

	for (size_t i = 0; i < o->count; i++) {
		bool matches = o->words[i].free || word_matches(&o->words[i], texts);

		o->words[i].found |= matches;
		all &= matches;
	}
	return all;
}

static bool takes_pmu(const struct uncore_pmu *pmu, const void *arg)
{
	const char *alias = uncore_pmu_alias(pmu);
	const char *family = uncore_pmu_family(pmu);

	return takes(arg, (const char *[]){uncore_pmu_name(pmu), alias ? alias : "",
					   family ? family : "", NULL});
}

/* By its name, or written as an event: "pmu/alias/". */
static bool takes_event(const struct list_options *o, const struct uncore_pmu *pmu,
			const struct uncore_alias *event)
{
	auto_buffer text = {0};

	if (!o->count)
		return true;
	buffer_printf(&text, "%s/%s/", uncore_pmu_name(pmu), event->name);
	return takes(o, (const char *[]){event->name, text.data, NULL});
}

static bool takes_metric(const struct list_options *o, const struct uncore_metric *m)
{
	if (!o->all && uncore_metric_missing(m))
		return false;
	if (o->count == 1 && uncore_metric_matches(m, o->words[0].text)) /* a name of before, too */
		return true;
	return takes(o, (const char *[]){uncore_metric_name(m), uncore_metric_family(m),
					 uncore_metric_title(m), NULL});
}

/* Those of other machines are the last. */
static size_t metric_count(const struct uncore *u, const struct list_options *o)
{
	return o->all ? uncore_metric_count(u) : uncore_metric_count_here(u);
}

/* ---- text: PMUs whose names differ only in their number are one line ---- */

/* The CPUs whose traffic the PMUs count, as far as the driver says, each list once. */
static void associated_cell(struct table *t, const struct pmus *p, size_t first, size_t count)
{
	auto_buffer text = {0};
	const char *last = "";

	for (size_t i = first; i < first + count; i++) {
		const char *cpus = uncore_pmu_associated_cpus(p->items[i]);

		if (!cpus || strcmp(cpus, last) == 0)
			continue;
		buffer_printf(&text, "%s%s", text.len ? "," : "", cpus);
		last = cpus;
	}
	table_cell(t, "%s", text.len > ASSOCIATED_ROOM ? "..." : buffer_text(&text));
}

static void add_pmus(const struct uncore *u, const struct list_options *o, struct table *t)
{
	auto_pmus p;

	pmus_select(&p, u, takes_pmu, o);
	for (size_t i = 0, n; (n = pmus_alike(&p, i)); i += n) {
		const struct uncore_pmu *pmu = p.items[i];
		const char *alias = uncore_pmu_alias(pmu), *family = uncore_pmu_family(pmu);
		const char *identifier = pmus_mixed(&p, i) ? uncore_pmu_identifier(pmu) : NULL;
		auto_buffer name = {0}, cpus = {0};

		if (!family)
			family = uncore_pmu_is_core(pmu) ? "(not uncore)" : "-";
		pmus_name(&p, i, n, &name);
		pmus_cpus(&p, i, n, &cpus);
		table_cell(t, "%s", name.data);
		table_cell(t, "%zu", n);
		if (uncore_pmu_is_device(pmu)) {
			table_cell(t, "-");
			table_cell(t, "-");
		} else {
			table_cell(t, n > 1 ? "%u..." : "%u", uncore_pmu_type(pmu));
			table_cell(t, "%s", buffer_text(&cpus));
		}
		/* PMUs of one name may belong to several families. */
		table_cell(t, "%s%s%s", family, identifier ? ", identifier " : "",
			   identifier ? identifier : "");
		table_cell(t, "%s", alias && n == 1 ? alias : "");
		associated_cell(t, &p, i, n);
		table_end_row(t, NULL);
	}
}

static bool has_alias(const struct uncore_pmu *pmu, const char *name)
{
	for (size_t i = 0; i < uncore_pmu_alias_count(pmu); i++)
		if (strcmp(uncore_pmu_alias_at(pmu, i)->name, name) == 0)
			return true;
	return false;
}

/* Named events, and the vendor's behind them: thousands, so only with a pattern. */
static size_t event_count(const struct list_options *o, const struct uncore_pmu *pmu)
{
	return uncore_pmu_alias_count(pmu) +
	       (o->count || o->all ? uncore_pmu_vendor_event_count(pmu) : 0);
}

/* *vendor: it is one of the vendor's. */
static const struct uncore_alias *event_at(const struct uncore_pmu *pmu, size_t i, bool *vendor)
{
	const size_t aliases = uncore_pmu_alias_count(pmu);

	*vendor = i >= aliases;
	return *vendor ? uncore_pmu_vendor_event_at(pmu, i - aliases) : uncore_pmu_alias_at(pmu, i);
}

static void event_row(struct table *t, const char *pmu, const struct uncore_alias *event,
		      const char *from)
{
	/* The vendor's own words, which are there with --perfmon. */
	const char *title = event->title && !event->evidence ? event->title : "";
	auto_buffer text = {0};

	buffer_printf(&text, "%s%s%s", event->where ? event->where : event->terms,
		      *title ? "  " : "", title);
	table_cell(t, "%s/%s/", pmu, event->name);
	table_cell(t, "%s", event->unit ? event->unit : "");
	table_cell(t, "%s", from);
	table_end_row(t, text.data);
}

/* Events of PMUs that are alike, under their common name; an event that only a later one has, under
 * its own name. */
static void events_alike(struct table *t, const struct list_options *o, const struct pmus *p,
			 size_t first, size_t count)
{
	for (size_t i = first; i < first + count; i++) {
		const struct uncore_pmu *pmu = p->items[i];
		const size_t events = i > first ? uncore_pmu_alias_count(pmu) : event_count(o, pmu);
		auto_buffer name = {0};
		bool vendor;

		pmus_short_name(p, i, i == first ? count : 1, &name);
		for (size_t k = 0; k < events; k++) {
			const struct uncore_alias *event = event_at(pmu, k, &vendor);

			if ((i == first || !has_alias(p->items[first], event->name)) &&
			    takes_event(o, pmu, event))
				event_row(t, name.data, event,
					  vendor            ? "vendor"
					  : event->evidence ? uncore_pmu_family(pmu)
							    : "driver");
		}
		for (size_t k = 0; i == first && k < uncore_pmu_term_count(pmu); k++) {
			const struct uncore_term *term = uncore_pmu_term_at(pmu, k);

			if (!term->values || !takes(o, (const char *[]){term->name, NULL}))
				continue;
			table_cell(t, "%s/...,%s=.../", name.data, term->name);
			table_cell(t, "%s", "");
			table_cell(t, "%s", uncore_pmu_family(pmu));
			table_end_row(t, term->values);
		}
	}
}

static void add_events(const struct uncore *u, const struct list_options *o, struct table *t)
{
	auto_pmus p;

	pmus_select(&p, u, NULL, NULL);
	for (size_t i = 0, n; (n = pmus_alike(&p, i)); i += n)
		events_alike(t, o, &p, i, n);
}

static void add_metrics(const struct uncore *u, const struct list_options *o, struct table *t)
{
	t->flows = true;
	for (size_t i = 0; i < metric_count(u, o); i++) {
		const struct uncore_metric *m = uncore_metric_at(u, i);

		if (!takes_metric(o, m))
			continue;
		table_cell(t, "%s", uncore_metric_name(m));
		table_cell(t, "%s", uncore_metric_unit(m));
		table_cell(t, "%s", uncore_metric_family(m));
		table_cell(t, "%s", uncore_metric_title(m));
		table_end_row(t, uncore_metric_missing(m));
	}
}

static const struct {
	struct table_column columns[8];
	void (*add)(const struct uncore *u, const struct list_options *o, struct table *t);
} sections[] = {
	{{{"PMU", false},
	  {"COUNT", true},
	  {"TYPE", true},
	  {"CPUS", false},
	  {"FAMILY", false},
	  {"ALIAS", false},
	  {"ASSOCIATED", false}},
	 add_pmus},
	{{{"EVENT", false}, {"UNIT", false}, {"FROM", false}}, add_events},
	{{{"METRIC", false}, {"UNIT", false}, {"FAMILY", false}, {"TITLE", false}}, add_metrics},
};

/* False when nothing was found. */
static bool list_text(const struct uncore *u, const struct list_options *o, struct buffer *to)
{
	bool found = false;

	for (unsigned n = sizeof(sections) / sizeof(sections[0]), k = 0; k < n; k++) {
		unsigned i = o->count ? n - 1 - k : k; /* a search is rather for a metric */
		auto_table t = {0};

		if (!(o->kinds & 1U << i))
			continue;
		table_init(&t, sections[i].columns);
		sections[i].add(u, o, &t);
		if (t.cells.len && !found)
			out_text_simulated(u, to);
		else if (t.cells.len)
			buffer_puts(to, "\n");
		found = found || t.cells.len;
		table_print(&t, to);
	}
	return found;
}

/* ---- documents: every PMU, term, alias, cap and metric, nothing merged ---- */

static json_t *cpus(const struct uncore_pmu *pmu)
{
	json_t *array = json_array();
	size_t count = uncore_pmu_is_device(pmu) ? 0 : uncore_pmu_cpu_count(pmu);

	for (size_t i = 0; i < count; i++)
		json_push(array, json_integer(uncore_pmu_cpu_at(pmu, i)));
	return array;
}

static json_t *caps(const struct uncore_pmu *pmu)
{
	json_t *object = json_object();

	for (size_t i = 0; i < uncore_pmu_cap_count(pmu); i++) {
		const struct uncore_cap *cap = uncore_pmu_cap_at(pmu, i);

		json_add(object, RECORD({cap->name, value_text(cap->value)}));
	}
	return object;
}

static json_t *terms(const struct uncore_pmu *pmu)
{
	json_t *array = json_array();

	for (size_t i = 0; i < uncore_pmu_term_count(pmu); i++) {
		const struct uncore_term *term = uncore_pmu_term_at(pmu, i);
		const struct field fields[] = {
			{"name", value_text(term->name)},
			{"format", value_text(term->format)},
			{"word", value_id(term->word)},
			{"bits", term->word < 0 ? value_none() : value_json(json_hex(term->bits))},
			{"values", value_text(term->values)},
			{0},
		};

		json_push(array, json_record(fields));
	}
	return array;
}

/* Matching events; all of the PMU's own when PMUs are listed and the pattern selects this one. */
static json_t *events(const struct list_options *o, const struct uncore_pmu *pmu, bool all)
{
	json_t *array = json_array();
	bool vendor;

	for (size_t i = 0; i < event_count(o, pmu); i++) {
		const struct uncore_alias *event = event_at(pmu, i, &vendor);
		const struct field fields[] = {
			{"name", value_text(event->name)},
			{"terms", value_text(event->terms)},
			{"unit", value_text(event->unit)},
			{"scale", value_real(event->scale)},
			{"per_package", value_flag(event->per_package)},
			{"snapshot", value_flag(event->snapshot)},
			{"title", value_text(event->title)},
			{"evidence", value_text(vendor ? "linux pmu-events" : event->evidence)},
			{"where", value_text(event->where)},
			{0},
		};

		if ((all && !vendor) || takes_event(o, pmu, event))
			json_push(array, json_record(fields));
	}
	return array;
}

static json_t *pmu_record(const struct uncore_pmu *pmu, json_t *matching)
{
	return json_record((const struct field[]){
		{"name", value_text(uncore_pmu_name(pmu))},
		{"type",
		 uncore_pmu_is_device(pmu) ? value_none() : value_count(uncore_pmu_type(pmu))},
		{"alias", value_text(uncore_pmu_alias(pmu))},
		{"identifier", value_text(uncore_pmu_identifier(pmu))},
		{"family", value_text(uncore_pmu_family(pmu))},
		{"core", value_flag(uncore_pmu_is_core(pmu))},
		{"cpus", value_json(cpus(pmu))},
		{"associated_cpus", value_text(uncore_pmu_associated_cpus(pmu))},
		{"caps", value_json(caps(pmu))},
		{"terms", value_json(terms(pmu))},
		{"events", value_json(matching)},
		{0},
	});
}

static json_t *pmus(const struct uncore *u, const struct list_options *o)
{
	json_t *array = json_array();

	for (size_t i = 0; i < uncore_pmu_count(u); i++) {
		const struct uncore_pmu *pmu = uncore_pmu_at(u, i);
		bool named = (o->kinds & LIST_PMUS) && takes_pmu(pmu, o);
		json_t *matching = events(o, pmu, named);

		if (named || ((o->kinds & LIST_EVENTS) && json_array_size(matching)))
			json_push(array, pmu_record(pmu, matching));
		else
			json_decref(matching);
	}
	return array;
}

static json_t *metrics(const struct uncore *u, const struct list_options *o)
{
	json_t *array = json_array();

	for (size_t i = 0; i < metric_count(u, o); i++)
		if (takes_metric(o, uncore_metric_at(u, i)))
			json_push(array, json_metric(uncore_metric_at(u, i)));
	return array;
}

static json_t *machine(struct uncore *u)
{
	char cpu[CPU_ROOM];
	json_t *sockets = json_array();

	for (size_t i = 0; i < uncore_socket_count(u); i++)
		json_push(sockets, json_integer(uncore_socket_at(u, i)));
	if (cli_has_unnumbered(u))
		json_push(sockets, json_null());
	return json_record(RECORD({"cpu_model", value_text(uncore_cpu_model(u))},
				  {"hypervisor", value_text(uncore_hypervisor(u))},
				  {"cpus", value_count(uncore_cpu_count(u))},
				  {"sockets", value_json(sockets)},
				  {"cpu_name", value_text(cli_cpu(u, cpu))}));
}

/* False when nothing was found. */
static bool list_document(struct uncore *u, const struct list_options *o, struct buffer *to)
{
	json_t *list = json_document(u, RECORD({"machine", value_json(machine(u))}));
	bool found = false;

	if (o->kinds & (LIST_PMUS | LIST_EVENTS)) {
		json_t *array = pmus(u, o);

		found = json_array_size(array) > 0;
		json_add(list, RECORD({"pmus", value_json(array)}));
	}
	if (o->kinds & LIST_METRICS) {
		json_t *array = metrics(u, o);

		found = found || json_array_size(array) > 0;
		json_add(list, RECORD({"metrics", value_json(array)}));
	}
	o->output->document(list, to);
	return found;
}

static int report_nothing(const struct list_options *o, int status)
{
	auto_buffer lacking = {0};

	if (!o->count) {
		cli_error("there is nothing to list on this machine; 'uncore doctor' prints why");
		return status;
	}
	for (size_t i = 0; i < o->count; i++)
		if (!o->words[i].found)
			buffer_printf(&lacking, "%s'%s'", lacking.len ? ", " : "",
				      o->words[i].text);
	cli_error("nothing here matches %s%s",
		  lacking.len ? lacking.data : "all words of the pattern at once",
		  o->all ? "" : "; --all searches the metrics of other machines, too");
	return status ? status : CLI_RUNTIME;
}

int cmd_list(struct cli *cli, int argc, char **argv)
{
	static const struct cli_syntax syntax = {
		.args = "[pmus|events|metrics] [PATTERN ...]",
		.doc = "Lists the PMUs of this machine, their named events, and the metrics that "
		       "can be counted.\vPATTERN is a shell pattern, a part of a name, or a common "
		       "term: llc, xgmi, nic. Of several, all must match.",
		.options = options,
		.outputs = OUTPUTS_DOCUMENTS,
		.outputs_group = 1,
		.outputs_at = offsetof(struct list_options, output),
		.argument = take_argument,
	};
	struct list_options o = {0};
	struct buffer text = {0};
	auto_buffer see = {0};
	bool found;
	int status;

	cli_parse(cli, &syntax, &o, argc, argv);
	if (!o.kinds)
		o.kinds = LIST_PMUS | LIST_EVENTS | LIST_METRICS;
	status = cli_open(cli);
	if (status)
		return status;
	find_words(cli->u, &o);
	found = o.output ? list_document(cli->u, &o, &text) : list_text(cli->u, &o, &text);
	for (size_t i = 0; i < o.count && found && !o.output; i++)
		if (o.words[i].known && o.words[i].known->see)
			buffer_printf(&see, "%s%s", see.len ? "; " : "", o.words[i].known->see);
	if (see.len)
		buffer_printf(&text, "\nSee also: %s\n", see.data);
	status = writer_print(&text);
	if (!found)
		status = report_nothing(&o, status);
	free(o.words);
	buffer_free(&o.pattern);
	return status;
}

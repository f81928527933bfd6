/* SPDX-License-Identifier: MIT */
/* Reads vendors' names of events: the text of data/names. */
#include "machine/pmu.h"

static int by_name(const void *a, const void *b)
{
	return strverscmp(((const struct uncore_alias *)a)->name,
			  ((const struct uncore_alias *)b)->name);
}

/* ---- the text ---- */

/* True if `n` is in the range ("85", "0-4"). Moves *at behind it. */
static bool range_has(const char **at, unsigned long n)
{
	char *end;
	unsigned long low = strtoul(*at, &end, 10), high = low;

	if (*end == '-')
		high = strtoul(end + 1, &end, 10);
	*at = end;
	return low <= n && n <= high;
}

/* True if `cpu` describes this CPU: "intel/6/85/0-4" is a model with steppings from 0 to 4. */
static bool is_this_cpu(const struct unc_topology *t, const char *cpu)
{
	const char *model = strrchr(t->cpu_model, '/');
	size_t len = model ? (size_t)(model + 1 - t->cpu_model) : 0;

	if (!len || strncmp(cpu, t->cpu_model, len) != 0)
		return false;
	cpu += len;
	if (!range_has(&cpu, strtoul(model + 1, NULL, 10)))
		return false;
	return *cpu++ != '/' || range_has(&cpu, (unsigned long)t->stepping);
}

/* "NAME CPU...". Models after that of this CPU are newer, and left out. */
static void add_model(struct unc_vendor_reader *r, char *line)
{
	const char *name = strsep(&line, " "), *cpu;

	if (r->here || !name || r->model_count == UNC_VENDOR_MODELS)
		return;
	r->models[r->model_count++] = name;
	while ((cpu = strsep(&line, " ")))
		if (is_this_cpu(r->topology, cpu))
			r->here = UINT64_C(1) << (r->model_count - 1);
}

/* "UNIT NAME...": the next events. */
static void begin_unit(struct unc_vendor_reader *r, char *line)
{
	const char *model;

	r->pmu = strsep(&line, " ");
	r->base = NULL;
	r->of_models = 0;
	while ((model = strsep(&line, " ")))
		for (size_t i = 0; i < r->model_count; i++)
			if (strcmp(model, r->models[i]) == 0)
				r->of_models |= UINT64_C(1) << i;
}

bool unc_vendor_next(struct unc_vendor_reader *r)
{
	char *line, *word, *title;

	while ((line = strsep(&r->text, "\n"))) {
		word = strsep(&line, " ");
		if (*word == '.' || *word == '=') {
			if (!r->of_models || !r->base)
				continue;
			title = line ? strchr(line, '\t') : NULL;
			if (title)
				*title++ = '\0';
			r->title = title;
			r->rest = *word == '=' ? "" : word;
			r->umask = line ? strsep(&line, " ") : "0";
			r->terms = line ? line : "";
			return true;
		}
		if (*word == '#' || !line)
			continue;
		if (strcmp(word, "model") == 0) {
			add_model(r, line);
		} else if (strcmp(word, "pmu") == 0) {
			begin_unit(r, line);
		} else {
			r->base = word;
			r->event = line;
		}
	}
	return false;
}

const char *unc_vendor_text(const struct unc_topology *t)
{
	for (size_t i = 0; i < unc_embedded_names_count; i++) {
		const struct unc_file *f = &unc_embedded_names[i];
		size_t len = strlen(f->name);

		if (strncmp(t->cpu_model, f->name, len) == 0 && t->cpu_model[len] == '/')
			return f->text;
	}
	return "";
}

/* ---- the names of this CPU's events ---- */

/* The events of PMUs of this name, also of several parts of the text. NULL: out of memory. */
static struct unc_vendor_unit *find_unit(struct unc_vendor *v, const char *pmu)
{
	struct unc_vendor_unit *unit;

	for (size_t i = v->count; i-- > 0;)
		if (strcmp(v->units[i].pmu, pmu) == 0)
			return &v->units[i];
	unit = unc_append(&v->units, &v->count, sizeof(*unit));
	if (unit)
		unit->pmu = unc_names_take(&v->strings, strdup(pmu));
	return unit && unit->pmu ? unit : NULL;
}

static int add_event(struct unc_vendor *v, const struct unc_vendor_reader *r)
{
	struct unc_vendor_unit *unit = find_unit(v, r->pmu);
	struct uncore_alias *added =
		unit ? unc_append(&unit->events, &unit->count, sizeof(*added)) : NULL;
	struct unc_text name = {0}, text = {0};

	if (!added)
		return -ENOMEM;
	unc_text_add(&name, "%s%s", r->base, r->rest);
	unc_text_add(&text, "event=0x%s", r->event);
	if (strcmp(r->umask, "0") != 0)
		unc_text_add(&text, ",umask=0x%s", r->umask);
	if (*r->terms)
		unc_text_add(&text, ",%s", r->terms);
	added->scale = 1;
	added->name = unc_names_take(&v->strings, unc_text_take(&name));
	added->terms = unc_names_take(&v->strings, unc_text_take(&text));
	added->title = r->title ? unc_names_take(&v->strings, strdup(r->title)) : NULL;
	return added->name && added->terms ? 0 : -ENOMEM;
}

void unc_vendor_finish(struct unc_vendor *v)
{
	for (size_t i = 0; i < v->count; i++)
		free(v->units[i].events);
	free(v->units);
	v->units = NULL;
	v->count = 0;
	unc_names_finish(&v->strings);
}

int unc_vendor_load(struct unc_vendor *v, const char *text)
{
	char *copy = strdup(text ? text : unc_vendor_text(v->topology));
	struct unc_vendor_reader reader = {.topology = v->topology, .text = copy};
	int r = copy ? 0 : -ENOMEM;

	unc_vendor_finish(v);
	while (r == 0 && unc_vendor_next(&reader))
		if (reader.of_models & reader.here)
			r = add_event(v, &reader);
	free(copy);
	for (size_t i = 0; r == 0 && i < v->count; i++)
		qsort(v->units[i].events, v->units[i].count, sizeof(struct uncore_alias), by_name);
	if (r < 0)
		unc_vendor_finish(v);
	v->loaded = r == 0;
	return r;
}

/* SPDX-License-Identifier: MIT */
/* Parses vendors' names of events: the text of data/names. */
#include "machine/pmu.h"

static int by_name(const void *a, const void *b)
{
	return strverscmp(((const struct uncore_alias *)a)->name,
			  ((const struct uncore_alias *)b)->name);
}

/* The state of the parser. Its texts point into the lines. */
struct parser {
	struct unc_vendor *v;
	const char *model;            /* the file's name for this CPU's model */
	struct unc_vendor_unit *unit; /* NULL: the next events are for other models */
	const char *base;             /* the first part of the next names; NULL: none yet */
	const char *event;
};

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

bool unc_vendor_is_cpu(const struct unc_topology *t, const char *cpu)
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

static int begin_unit(struct parser *p, const char *name, char *models)
{
	struct unc_vendor *v = p->v;
	const char *model;

	p->unit = NULL;
	p->base = NULL;
	while ((model = strsep(&models, " ")) && strcmp(model, p->model) != 0)
		;
	for (size_t i = 0; model && i < v->count; i++)
		if (strcmp(v->units[i].pmu, name) == 0)
			p->unit = &v->units[i];
	if (!model || p->unit)
		return 0;
	p->unit = unc_append(&v->units, &v->count, sizeof(*p->unit));
	if (p->unit)
		p->unit->pmu = unc_names_take(&v->strings, strdup(name));
	return p->unit && p->unit->pmu ? 0 : -ENOMEM;
}

/* Adds the event of a line ".REST UMASK TERMS". */
static int add_event(struct parser *p, const char *rest, char *codes)
{
	char *title = codes ? strchr(codes, '\t') : NULL;
	const char *umask, *terms;
	struct uncore_alias *added = unc_append(&p->unit->events, &p->unit->count, sizeof(*added));
	struct unc_text name = {0}, text = {0};

	if (title)
		*title++ = '\0';
	umask = strsep(&codes, " ");
	terms = codes;
	unc_text_add(&name, "%s%s", p->base, *rest == '=' ? "" : rest);
	unc_text_add(&text, "event=0x%s", p->event);
	if (umask && strcmp(umask, "0") != 0)
		unc_text_add(&text, ",umask=0x%s", umask);
	if (terms && *terms)
		unc_text_add(&text, ",%s", terms);
	if (added) {
		added->scale = 1;
		added->name = unc_names_take(&p->v->strings, unc_text_take(&name));
		added->terms = unc_names_take(&p->v->strings, unc_text_take(&text));
		added->title = title ? unc_names_take(&p->v->strings, strdup(title)) : NULL;
	}
	unc_text_finish(&name);
	unc_text_finish(&text);
	return added && added->name && added->terms ? 0 : -ENOMEM;
}

static int add_line(struct parser *p, char *line)
{
	char *word = strsep(&line, " "), *next, *cpu;

	if (*word == '#' || !*word || (!line && *word != '=' && *word != '.'))
		return 0;
	if (strcmp(word, "model") == 0 || strcmp(word, "pmu") == 0) {
		next = strsep(&line, " ");
		if (*word == 'p' && next)
			return begin_unit(p, next, line);
		while ((cpu = strsep(&line, " ")))
			if (next && unc_vendor_is_cpu(p->v->topology, cpu))
				p->model = next;
		return 0;
	}
	if (*word == '.' || *word == '=')
		return p->unit && p->base ? add_event(p, word, line) : 0;
	p->base = word;
	p->event = line;
	return 0;
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

int unc_vendor_load(struct unc_vendor *v, const char *text)
{
	struct parser p = {.v = v, .model = ""};
	char *copy, *rest, *line;
	int r;

	unc_vendor_finish(v);
	copy = rest = strdup(text ? text : unc_vendor_text(v->topology));
	r = copy ? 0 : -ENOMEM;
	while (r == 0 && (line = strsep(&rest, "\n")))
		r = add_line(&p, line);
	free(copy);
	for (size_t i = 0; r == 0 && i < v->count; i++)
		if (v->units[i].count)
			qsort(v->units[i].events, v->units[i].count, sizeof(struct uncore_alias),
			      by_name);
	if (r < 0)
		unc_vendor_finish(v);
	v->loaded = r == 0;
	return r;
}

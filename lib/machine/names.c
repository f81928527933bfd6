/* SPDX-License-Identifier: MIT */
/* Vendors' names of events: the text of data/names. */
#include "machine/pmu.h"

static int by_name(const void *a, const void *b)
{
	return strverscmp(((const struct uncore_alias *)a)->name,
			  ((const struct uncore_alias *)b)->name);
}

/* Where a parser is. Its texts are parts of the lines. */
struct parser {
	struct unc_vendor *v;
	const char *model;            /* the name of this CPU's */
	struct unc_vendor_unit *unit; /* NULL: the next events are of other models */
	const char *base;             /* of the names; NULL: none yet */
	const char *event;
};

/* "85", "0-4": whether it has `n`. *at is moved behind it. */
static bool range_has(const char **at, unsigned long n)
{
	char *end;
	unsigned long low = strtoul(*at, &end, 10), high = low;

	if (*end == '-')
		high = strtoul(end + 1, &end, 10);
	*at = end;
	return low <= n && n <= high;
}

/* "intel/6/85/0-4": this CPU, with a stepping from 0 to 4. */
static bool is_cpu(const struct unc_topology *t, const char *cpu)
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

/* ".REST UMASK TERMS" */
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
			if (next && is_cpu(p->v->topology, cpu))
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

/* The vendor's names of the library. */
static const char *embedded_text(const struct unc_topology *t)
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
	copy = rest = strdup(text ? text : embedded_text(v->topology));
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

/* ---- codes that earlier CPUs have for other events ---- */

#define MODELS 64
#define SHOWN_NAMES 3

/* An event of the PMU's kind. */
struct code {
	const char *base, *rest; /* of its name: "UNC_M_CAS_COUNT", ".RD" */
	uint64_t event, umask;
	uint64_t models; /* a bit for each that has it, in the order of the file */
};

struct codes {
	struct code *items;
	size_t count;
	const char *models[MODELS]; /* from the oldest to this CPU's */
	size_t model_count;
	uint64_t here; /* the bit of this CPU's; 0: not known */
};

/* The bits of the models of a line that are not newer than this CPU. */
static uint64_t bits_of_models(const struct codes *c, char *line)
{
	uint64_t bits = 0;
	const char *model;

	while ((model = strsep(&line, " ")))
		for (size_t i = 0; i < c->model_count; i++)
			if (strcmp(model, c->models[i]) == 0)
				bits |= UINT64_C(1) << i;
	return bits;
}

static void add_model(struct codes *c, const struct unc_topology *t, char *line)
{
	const char *name = strsep(&line, " "), *cpu;

	if (c->here || !name || c->model_count == MODELS)
		return;
	c->models[c->model_count++] = name;
	while ((cpu = strsep(&line, " ")))
		if (is_cpu(t, cpu))
			c->here = UINT64_C(1) << (c->model_count - 1);
}

/* All events of the PMU's kind, of this CPU and older ones. The names are parts of `text`, which is cut. */
static int read_codes(struct codes *c, const struct uncore_pmu *p, char *text)
{
	const char *base = NULL, *event = "";
	uint64_t models = 0;
	char *line;

	while ((line = strsep(&text, "\n"))) {
		char *word = strsep(&line, " ");
		struct code code;

		if (strcmp(word, "model") == 0) {
			add_model(c, p->vendor->topology, line);
		} else if (strcmp(word, "pmu") == 0) {
			word = strsep(&line, " ");
			models = unc_pmu_name_matches(p->name, word) ? bits_of_models(c, line) : 0;
			base = NULL;
		} else if (*word != '.' && *word != '=') {
			base = *word && line ? word : NULL;
			event = line;
		} else if (models && base) {
			code = (struct code){.base = base,
					     .rest = *word == '=' ? "" : word,
					     .event = strtoull(event, NULL, 16),
					     .umask = line ? strtoull(line, NULL, 16) : 0,
					     .models = models};
			if (UNC_ADD(&c->items, &c->count, &code) < 0)
				return -ENOMEM;
		}
	}
	return 0;
}

/* The value of a term in the configuration; false: the PMU has no such term. */
static bool value_of(const struct uncore_pmu *p, const struct unc_config *config, const char *name,
		     uint64_t *value)
{
	const struct uncore_term *t = unc_pmu_term(p, name);
	unsigned bit = 0;

	*value = 0;
	for (uint64_t left = t && t->word >= 0 ? t->bits : 0; left; left &= left - 1, bit++)
		if (config->word[t->word] & left & -left)
			*value |= UINT64_C(1) << bit;
	return bit;
}

static bool same_name(const struct code *a, const struct code *b)
{
	return strcmp(a->base, b->base) == 0 && strcmp(a->rest, b->rest) == 0;
}

/* "event=0x5,umask=0xcf": what counts the event of an older CPU on this one, by its name, or by one that has a
 * longer base ("UNC_M_CAS_COUNT_SCH0.RD"). */
static const struct code *found_here(const struct codes *c, const struct code *old)
{
	const struct code *like = NULL;

	for (const struct code *k = c->items; k < c->items + c->count; k++) {
		if (!(k->models & c->here))
			continue;
		if (same_name(k, old))
			return k;
		if (!like && strncmp(k->base, old->base, strlen(old->base)) == 0 &&
		    strcmp(k->rest, old->rest) == 0)
			like = k;
	}
	return like;
}

/* "UNC_M_CAS_COUNT.WR on ivt hsx (here event=0x4,umask=0x30)" */
static void add_old(struct unc_text *to, const struct codes *c, const struct code *old,
		    uint64_t models)
{
	const struct code *now = found_here(c, old);

	unc_text_add(to, "%s%s on", old->base, old->rest);
	for (size_t i = 0; i < c->model_count; i++)
		if (models >> i & 1)
			unc_text_add(to, " %s", c->models[i]);
	if (now)
		unc_text_add(to, " (here%s%s event=0x%llx,umask=0x%llx)",
			     same_name(now, old) ? "" : " ", same_name(now, old) ? "" : now->base,
			     (unsigned long long)now->event, (unsigned long long)now->umask);
}

static void describe(struct unc_text *to, const struct codes *c, uint64_t event, uint64_t umask)
{
	const struct code *here = NULL, *with_umask = NULL;
	uint64_t same = c->here, done = 0;
	size_t shown = 0;

	for (const struct code *k = c->items; k < c->items + c->count; k++) {
		if (k->event != event || !(k->models & c->here))
			continue;
		if (k->umask == umask && !here)
			here = k;
		if (k->umask != umask && !with_umask)
			with_umask = k;
	}
	/* Older CPUs on which one of the names of the code is a name of it here. */
	for (const struct code *k = c->items; k < c->items + c->count; k++) {
		if (k->event != event || k->umask != umask || !(k->models & c->here))
			continue;
		for (const struct code *o = c->items; o < c->items + c->count; o++)
			if (o->event == event && o->umask == umask && same_name(k, o))
				same |= o->models;
	}
	for (size_t i = c->count; i-- > 0 && shown < SHOWN_NAMES;) {
		const struct code *k = &c->items[i];
		uint64_t models = 0;

		if (k->event != event || k->umask != umask)
			continue;
		for (const struct code *o = c->items; o < c->items + c->count; o++)
			if (o->event == event && o->umask == umask && same_name(k, o))
				models |= o->models & ~same & ~done;
		if (!models)
			continue;
		if (!shown++ && here)
			unc_text_add(to, "is %s%s on this CPU; it is ", here->base, here->rest);
		else if (shown == 1)
			unc_text_add(to, "is not in the vendor's list for this CPU; it is ");
		else
			unc_text_add(to, ", ");
		add_old(to, c, k, models);
		done |= models;
	}
	if (!shown && !here && !umask && with_umask)
		unc_text_add(to,
			     "has no umask: the vendor's list for this CPU has the event only with "
			     "one, such as umask=0x%llx, %s%s",
			     (unsigned long long)with_umask->umask, with_umask->base,
			     with_umask->rest);
}

int unc_vendor_describe(const struct uncore_pmu *p, const struct unc_config *config, char **out)
{
	struct unc_text text = {0};
	struct codes c = {0};
	uint64_t event, umask;
	char *copy;
	int r;

	*out = NULL;
	if (!p->vendor || !value_of(p, config, "event", &event))
		return 0;
	value_of(p, config, "umask", &umask);
	copy = strdup(embedded_text(p->vendor->topology));
	r = copy ? read_codes(&c, p, copy) : -ENOMEM;
	if (r == 0 && c.here && c.count)
		describe(&text, &c, event, umask);
	if (text.len)
		*out = unc_text_take(&text);
	r = text.failed || (r == 0 && text.len && !*out) ? -ENOMEM : r;
	unc_text_finish(&text);
	free(c.items);
	free(copy);
	return r;
}

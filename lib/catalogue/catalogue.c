/* SPDX-License-Identifier: MIT */
/* The set of families: built-in ones, and directories whose files replace families of the same
 * name. Also their PMUs, and their metrics. */
#include "catalogue/catalogue.h"

void unc_catalogue_finish(struct unc_catalogue *c)
{
	for (size_t i = 0; i < c->family_count; i++)
		unc_family_free(c->families[i]);
	free(c->families);
	free(c->metrics);
	unc_yaml_free(c->words_file);
	unc_yaml_free(c->views_file);
	unc_yaml_free(c->cpus_file);
	*c = (struct unc_catalogue){0};
}

/* Inserts the family, in the order of names. */
int unc_catalogue_add(struct unc_catalogue *c, struct unc_family *f, struct unc_error *e)
{
	size_t at = 0;

	while (at < c->family_count && strcmp(c->families[at]->name, f->name) < 0)
		at++;
	if (at < c->family_count && strcmp(c->families[at]->name, f->name) == 0) {
		unc_family_free(c->families[at]);
		c->families[at] = f;
		return 0;
	}
	if (!unc_append(&c->families, &c->family_count, sizeof(*c->families))) {
		unc_family_free(f);
		return unc_nomem(e);
	}
	memmove(&c->families[at + 1], &c->families[at],
		(c->family_count - 1 - at) * sizeof(*c->families));
	c->families[at] = f;
	return 0;
}

static int add_file(struct unc_catalogue *c, struct unc_yaml_file *file, struct unc_error *e)
{
	struct unc_family *f;
	int r = unc_family_parse(&f, file, c->cpu_model, e);

	return r < 0 ? r : unc_catalogue_add(c, f, e);
}

/* The pattern that the PMU has; NULL: none of them. */
static const struct unc_pattern *recognise(const struct unc_pattern *patterns, size_t count,
					   const struct uncore_pmu *pmu)
{
	for (size_t i = 0; i < count; i++)
		/* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): none has a count of 0 */
		if (unc_pattern_matches(patterns[i].name, pmu->name) &&
		    (!patterns[i].identifier ||
		     (pmu->identifier &&
		      unc_pattern_matches(patterns[i].identifier, pmu->identifier))))
			return &patterns[i];
	return NULL;
}

/* A machine's PMUs and the names of its CPU. */
struct here {
	const struct unc_pmus *pmus;
	const char *cpu_model;
};

/* The family may have one of the PMUs. */
static bool has_one_of(const struct unc_index *index, void *context)
{
	const struct here *here = context;
	const struct unc_pmus *pmus = here->pmus;

	if (!index->everywhere && !unc_has_one_of(index->cpus, here->cpu_model))
		return false;
	for (size_t i = 0; i < pmus->count; i++)
		if (recognise(index->pmus, index->count, &pmus->items[i]))
			return true;
	return false;
}

int unc_catalogue_add_built_in(struct unc_catalogue *c, unc_wanted *wanted, void *context,
			       struct unc_error *e)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < unc_embedded_data_count; i++) {
		const struct unc_file *f = &unc_embedded_data[i];
		const struct unc_index *index = &unc_embedded_index[i];
		struct unc_yaml_file *file = NULL;
		bool needed = true;

		for (size_t k = 0; k < c->family_count; k++)
			needed &= strcmp(c->families[k]->name, index->family) != 0;
		if (!needed || (wanted && !wanted(index, context)))
			continue;
		r = unc_yaml_parse(&file, f->name, f->text, f->len, e);
		if (r == 0)
			r = add_file(c, file, e);
	}
	return r;
}

int unc_catalogue_load(struct unc_catalogue *c, const char *dir, struct unc_error *e)
{
	struct unc_names files = {0};
	struct unc_root *root = NULL;
	int r = unc_root_open_dir(&root, dir, NULL);

	if (r == 0)
		r = unc_root_list(root, "", &files);
	unc_root_free(root);
	if (r == -ENOMEM)
		return unc_nomem(e);
	if (r < 0)
		return unc_fail(e, -r, "%s: cannot read the directory of data files: %s", dir,
				unc_errno_text(r));
	for (size_t i = 0; r == 0 && i < files.count; i++) {
		struct unc_text path = {0};
		struct unc_yaml_file *file = NULL;

		if (*files.items[i] == '.' || !unc_glob_matches("*.yaml", files.items[i]))
			continue;
		unc_text_add(&path, "%s/%s", dir, files.items[i]);
		r = path.failed ? unc_nomem(e) : unc_yaml_load(&file, path.data, e);
		if (r == 0)
			r = add_file(c, file, e);
		unc_text_finish(&path);
	}
	unc_names_finish(&files);
	return r;
}

/* The device at the other end of a PMU; NULL: its file does not have it, or has a word that the
 * family does not know. */
static const char *role_of(const struct unc_family *f, const struct uncore_pmu *pmu)
{
	const char *role = f->role;
	char *text;

	if (!f->role_attribute || unc_pmu_attribute(pmu, f->role_attribute, &text) < 0)
		return role;
	for (size_t i = 0; !role && i < f->role_count; i++)
		if (strncmp(text, f->roles[i].name, strlen(f->roles[i].name)) == 0)
			role = f->roles[i].text;
	free(text);
	return role;
}

/* Adds the metrics of families that are here, or those of the others. */
static int add_metrics(struct unc_catalogue *c, bool here, struct unc_error *e)
{
	for (size_t i = 0; i < c->family_count; i++) {
		const struct unc_family *f = c->families[i];

		for (size_t k = 0; (f->pmu_count > 0) == here && k < f->metric_count; k++) {
			const struct uncore_metric *metric = &f->metrics[k];

			if (UNC_ADD(&c->metrics, &c->metric_count, &metric) < 0)
				return unc_nomem(e);
		}
	}
	return 0;
}

/* Gives the PMU what its family says of it. */
static void join(struct uncore_pmu *pmu, const struct unc_family *f,
		 const struct unc_pattern *pattern)
{
	pmu->family = f;
	pmu->pattern = pattern->name;
	pmu->role = pmu->role ? pmu->role : role_of(f, pmu);
	pmu->defs = f->events;
	pmu->def_count = f->event_count;
	pmu->named_terms = f->named_terms;
	pmu->named_term_count = f->named_term_count;
	if (f->registers) {
		pmu->register_bits = f->registers->bits;
		pmu->register_halves = f->registers->halves;
	}
	for (size_t b = 0; b < f->bug_count; b++)
		pmu->adds_at_reads |= f->bugs[b].adds_at_reads;
}

/* The PCI function of a PMU that belongs to one. -ENOMEM. */
static int find_function(struct uncore_pmu *pmu, const struct unc_family *f,
			 const struct unc_pattern *pattern)
{
	const char *slash = pattern->device ? strrchr(pattern->device, '/') : NULL;
	struct unc_text text = {0};
	uint64_t at = UINT64_MAX;

	if (slash && unc_root_exists(pmu->root, pattern->device))
		unc_text_add(&text, "%s", slash + 1);
	if (unc_pattern_value(pattern->name, pmu->name, "pci", &at) && at != UINT64_MAX)
		unc_text_add(&text, "%04x:%02x:%02x.%x", (unsigned)(at >> 16),
			     (unsigned)(at >> 8 & 0xff), (unsigned)(at >> 3 & 0x1f),
			     (unsigned)(at & 7));
	if (!text.len)
		return 0;
	pmu->pci = unc_yaml_keep(f->file, unc_text_take(&text));
	return pmu->pci ? 0 : -ENOMEM;
}

int unc_catalogue_match(struct unc_catalogue *c, struct unc_pmus *pmus, struct unc_error *e)
{
	struct here here = {pmus, c->cpu_model};
	int r = unc_catalogue_add_built_in(c, has_one_of, &here, e);

	for (size_t i = 0; r == 0 && i < c->family_count; i++) {
		struct unc_family *f = c->families[i];

		for (size_t k = 0; r == 0 && k < pmus->count; k++) {
			struct uncore_pmu *pmu = &pmus->items[k];
			const struct unc_pattern *pattern = NULL;

			if (unc_pmu_is_device(pmu))
				pattern = pmu->family == f ? f->patterns : NULL;
			else if (!pmu->family && f->on_this_cpu)
				pattern = recognise(f->patterns, f->pattern_count, pmu);
			if (!pattern)
				continue;
			join(pmu, f, pattern);
			if (!unc_pmu_is_device(pmu) && find_function(pmu, f, pattern) < 0)
				r = unc_nomem(e);
			if (r == 0 && UNC_ADD(&f->pmus, &f->pmu_count, &pmu) < 0)
				r = unc_nomem(e);
		}
		if (r == 0 && f->pmu_count && unc_family_find_bugs(f, c->kernel) < 0)
			r = unc_nomem(e);
	}
	if (r == 0)
		r = add_metrics(c, true, e);
	c->here_count = c->metric_count;
	return r;
}

int unc_catalogue_complete(struct unc_catalogue *c, struct unc_error *e)
{
	int r = c->complete ? 0 : unc_catalogue_add_built_in(c, NULL, NULL, e);

	if (r == 0 && !c->complete)
		r = add_metrics(c, false, e);
	c->complete |= r == 0;
	return r;
}

/* ---- events and metrics on PMUs ---- */

const char *unc_event_terms(const struct unc_event_def *event, const struct uncore_pmu *pmu)
{
	const struct uncore_alias *alias = NULL;

	if (event->other_model || unc_device_lacks(pmu, event, NULL))
		return NULL;
	if (event->alias)
		alias = unc_pmu_alias(pmu, event->alias);
	if (alias && !alias->evidence)
		return event->alias;
	if (event->kernel_scale)
		return NULL; /* without the alias there is no scale, and the value would be wrong */
	return event->terms;
}

int unc_event_encode(const struct unc_event_def *event, const struct uncore_pmu *pmu,
		     struct unc_encoding *out, struct unc_error *e)
{
	const char *terms = unc_event_terms(event, pmu);

	if (!terms && unc_device_lacks(pmu, event, e))
		return -ENODEV;
	if (!terms)
		return unc_fail(e, ENODEV, "%s does not have the event '%s'", pmu->name,
				event->alias ? event->alias : event->name);
	return unc_pmu_encode(pmu, terms, out, e) < 0 ? -ENODEV : 0;
}

/* The same without a look at other PMUs. *lacks: it has no term that an event needs. */
static int metric_alone(const struct uncore_metric *m, const struct uncore_pmu *pmu, bool *lacks,
			struct unc_error *e)
{
	struct unc_encoding encoding;
	int r = 0;

	if (!m->formula)
		return -ENODEV;
	if (pmu->broken)
		return unc_fail(e, EBADMSG, "%s", pmu->broken);
	for (size_t i = 0; i < m->formula->names.count; i++) {
		const char *terms = unc_event_terms(m->events[i], pmu);

		if (!terms)
			return -ENODEV;
		if (r == 0 && unc_event_encode(m->events[i], pmu, &encoding, e) < 0)
			r = -EBADMSG;
		/* A PMU without a term of the event, or with a narrower one, has other events. For
		 * example, the kernel gives such a name to parts that it does not know. A PMU
		 * without any term lacks files. */
		*lacks = r < 0 && terms != m->events[i]->alias && unc_pmu_load(pmu) == 0 &&
			 pmu->term_count && !unc_pmu_has_terms(pmu, terms);
		if (*lacks)
			return -ENODEV;
	}
	if (r == 0 && !pmu->cpus.count)
		return unc_fail(e, ENXIO, "%s has no CPU to be counted from: its cpumask is empty",
				pmu->name);
	return r;
}

/* Whether a PMU of the same kind, which its name shows, counts the metric. */
static bool sibling_counts(const struct uncore_metric *m, const struct uncore_pmu *pmu)
{
	const struct unc_family *f = m->family;
	bool lacks;

	for (size_t i = 0; i < f->pmu_count; i++)
		if (f->pmus[i]->pattern == pmu->pattern &&
		    metric_alone(m, f->pmus[i], &lacks, NULL) == 0)
			return true;
	return false;
}

int unc_metric_on(const struct uncore_metric *m, const struct uncore_pmu *pmu, struct unc_error *e)
{
	bool lacks = false;
	int r = metric_alone(m, pmu, &lacks, e);

	/* Then it is no other kind: a file is missing, and a sum without it would be wrong. */
	return lacks && sibling_counts(m, pmu) ? -EBADMSG : r;
}

const char *uncore_metric_missing(const struct uncore_metric *m)
{
	struct uncore_metric *known = (struct uncore_metric *)m;
	const struct unc_family *f = m->family;
	struct unc_error why = {0};
	struct unc_encoding encoding;

	if (m->checked)
		return m->missing;
	for (size_t i = 0; i < f->pmu_count; i++) {
		int r = unc_metric_on(m, f->pmus[i], NULL);

		known->checked = r == 0 || r == -ENXIO;
		if (m->checked)
			return NULL;
	}
	if (!f->on_this_cpu)
		unc_fail(&why, ENODEV, "%s: not for this CPU model", f->title);
	else if (!f->pmu_count && f->source != UNC_SOURCE_KERNEL)
		unc_fail(&why, ENODEV, "%s: this machine has none that count", f->title);
	else if (!f->pmu_count)
		unc_fail(&why, ENODEV, "no PMU named %s on this machine", f->patterns[0].name);
	else if (!m->formula)
		unc_fail(&why, ENODEV, "no formula for this CPU model%s%s",
			 m->otherwise ? ": " : "", m->otherwise ? m->otherwise : "");
	else
		for (size_t i = 0; !why.text[0] && i < m->formula->names.count; i++)
			unc_event_encode(m->events[i], f->pmus[0], &encoding, &why);
	known->missing = unc_yaml_keep(f->file, strdup(why.text));
	known->checked = m->missing;
	return m->missing ? m->missing : "out of memory";
}

const char *uncore_metric_name(const struct uncore_metric *m)
{
	return m->name;
}

const char *uncore_metric_title(const struct uncore_metric *m)
{
	return m->title;
}

const char *uncore_metric_unit(const struct uncore_metric *m)
{
	return m->unit;
}

const char *uncore_metric_family(const struct uncore_metric *m)
{
	return m->family->name;
}

bool uncore_metric_matches(const struct uncore_metric *m, const char *pattern)
{
	const char *slash = strchr(pattern, '/');
	size_t len = slash ? (size_t)(slash - pattern) : 0;
	char name[128];
	int n;

	if (slash && (strlen(m->family->name) != len || memcmp(m->family->name, pattern, len) != 0))
		return false;
	pattern = slash ? slash + 1 : pattern;
	for (const char *at = m->formerly; at && sscanf(at, "%127s%n", name, &n) == 1; at += n)
		if (unc_glob_matches(pattern, name))
			return true;
	return unc_glob_matches(pattern, m->name);
}

unsigned uncore_metric_headline(const struct uncore_metric *m)
{
	return m->headline;
}

bool uncore_metric_in_overview(const struct uncore_metric *m)
{
	return m->overview;
}

const char *uncore_metric_finding_why(const struct uncore_metric *m)
{
	return m->finding.why;
}

const char *uncore_metric_finding_fix(const struct uncore_metric *m)
{
	return m->finding.fix;
}

enum uncore_remote_data uncore_metric_remote_data(const struct uncore_metric *m)
{
	return m->remote_data;
}

const char *uncore_metric_formula(const struct uncore_metric *m)
{
	return m->text ? m->text : "";
}

const char *uncore_metric_evidence(const struct uncore_metric *m)
{
	return m->evidence;
}

const char *uncore_metric_doubt(const struct uncore_metric *m)
{
	return m->doubt;
}

const struct uncore_alternative *uncore_metric_alternative_at(const struct uncore_metric *m,
							      size_t i)
{
	return i < m->alternative_count ? &m->alternatives[i] : NULL;
}

const char *uncore_metric_decider(const struct uncore_metric *m, size_t i)
{
	for (size_t k = 0; m->unless && k < m->unless->names.count; k++) {
		const char *name = m->unless->names.items[k];

		if (strchr(name, '.') && strcmp(name, "memory.transfers") != 0 && i-- == 0)
			return name;
	}
	return NULL;
}

const char *uncore_metric_kernel_bug(const struct uncore_metric *m)
{
	return unc_family_bug(m->family, true);
}

bool uncore_metric_is_of_device(const struct uncore_metric *m)
{
	return m->family->source != UNC_SOURCE_KERNEL;
}

const char *uncore_metric_kernel_note(const struct uncore_metric *m)
{
	return unc_family_bug(m->family, false);
}

size_t uncore_metric_event_count(const struct uncore_metric *m)
{
	const struct unc_family *f = m->family;
	size_t count = m->formula && f->pmu_count ? m->formula->names.count : 0;
	struct uncore_metric_event *shown = m->shown;

	if (shown || !count)
		return count;
	shown = unc_yaml_keep(f->file, calloc(count, sizeof(*shown)));
	for (size_t i = 0; shown && i < count; i++) {
		const struct unc_event_def *event = m->events[i];

		shown[i].name = event->name;
		shown[i].title = event->title;
		shown[i].evidence = event->evidence;
		shown[i].where = event->where;
		for (size_t k = 0; k < f->pmu_count; k++) {
			struct unc_encoding encoding;

			if (unc_event_encode(event, f->pmus[k], &encoding, NULL) < 0)
				continue;
			if (shown[i].pmu_count++)
				continue;
			shown[i].pmu = f->pmus[k];
			shown[i].terms = unc_event_terms(event, f->pmus[k]);
			memcpy(shown[i].config, encoding.config.word, sizeof(shown[i].config));
		}
	}
	((struct uncore_metric *)m)->shown = shown;
	return shown ? count : 0;
}

const struct uncore_metric_event *uncore_metric_event_at(const struct uncore_metric *m, size_t i)
{
	return i < uncore_metric_event_count(m) ? &m->shown[i] : NULL;
}

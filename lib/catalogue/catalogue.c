/* SPDX-License-Identifier: MIT */
/* The set of families: built in, and directories in which a file replaces a family of its name. */
#include "catalogue/catalogue.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/embedded.h"

/* {sbdf} is a PCI address as the kernel writes it into names: hexadecimal, without zeros. */
bool unc_pattern_value(const char *pattern, const char *name, const char *word, uint64_t *value)
{
	while (*pattern) {
		if (*pattern == '{') {
			size_t len = strcspn(++pattern, "}");
			unsigned base = strncmp(pattern, "sbdf}", 5) == 0 ? 16 : 10;
			const char *start = name;
			uint64_t number = 0;

			while (unc_digit_value(*name) >= 0 && unc_digit_value(*name) < (int)base)
				number = number * base + (unsigned)unc_digit_value(*name++);
			if (!pattern[len] || name == start)
				return false;
			if (word && strlen(word) == len && memcmp(pattern, word, len) == 0)
				*value = number;
			pattern += len + 1;
		} else if (*pattern == '*' && !pattern[1]) {
			return true;
		} else if (*pattern++ != *name++) {
			return false;
		}
	}
	return !*name;
}

bool unc_pattern_matches(const char *pattern, const char *name)
{
	return unc_pattern_value(pattern, name, NULL, NULL);
}

void unc_catalogue_finish(struct unc_catalogue *c)
{
	for (size_t i = 0; i < c->family_count; i++)
		unc_family_free(c->families[i]);
	free(c->families);
	free(c->metrics);
	*c = (struct unc_catalogue){0};
}

/* Families stay ordered by name. */
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

static int add_file(struct unc_catalogue *c, struct unc_yaml_file *file, const char *cpu_model,
		    struct unc_error *e)
{
	struct unc_family *f;
	int r = unc_family_parse(&f, file, cpu_model, e);

	return r < 0 ? r : unc_catalogue_add(c, f, e);
}

static bool has_family(const struct unc_catalogue *c, const char *name)
{
	for (size_t i = 0; i < c->family_count; i++)
		if (strcmp(c->families[i]->name, name) == 0)
			return true;
	return false;
}

static bool pattern_has(const char *name, const char *identifier, const struct uncore_pmu *pmu)
{
	return unc_pattern_matches(name, pmu->name) &&
	       (!identifier ||
		(pmu->identifier && unc_pattern_matches(identifier, pmu->identifier)));
}

static bool index_has(const struct unc_index *index, const struct unc_pmus *pmus)
{
	for (size_t i = 0; i < index->count; i++)
		for (size_t k = 0; k < pmus->count; k++)
			if (pattern_has(index->pmus[2 * i], index->pmus[2 * i + 1],
					&pmus->items[k]))
				return true;
	return false;
}

/* Parses the built-in families that no file has replaced: families that may have PMUs among `pmus`, or
 * (NULL) all. */
static int load_embedded(struct unc_catalogue *c, const struct unc_pmus *pmus, struct unc_error *e)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < unc_embedded_data_count; i++) {
		const struct unc_file *f = &unc_embedded_data[i];
		const struct unc_index *index = &unc_embedded_index[i];
		struct unc_yaml_file *file = NULL;

		if (has_family(c, index->family) || (pmus && !index_has(index, pmus)))
			continue;
		r = unc_yaml_parse(&file, f->name, f->text, f->len, e);
		if (r == 0)
			r = add_file(c, file, c->cpu_model, e);
	}
	return r;
}

static bool is_yaml(const char *name)
{
	size_t len = strlen(name);

	return name[0] != '.' && len > 5 && strcmp(name + len - 5, ".yaml") == 0;
}

static int list_yaml(const char *dir, struct unc_names *out, struct unc_error *e)
{
	DIR *d = opendir(dir);
	struct dirent *entry;
	int r = 0;

	if (!d)
		return unc_fail(e, errno, "%s: cannot read the directory of data files: %s", dir,
				unc_errno_text(errno));
	while (r == 0 && (entry = readdir(d)))
		if (is_yaml(entry->d_name))
			r = unc_names_add(out, entry->d_name);
	closedir(d);
	unc_names_sort(out);
	return r < 0 ? unc_nomem(e) : 0;
}

static int load_dir(struct unc_catalogue *c, const char *dir, const char *cpu_model,
		    struct unc_error *e)
{
	struct unc_names files = {0};
	int r = list_yaml(dir, &files, e);

	for (size_t i = 0; r == 0 && i < files.count; i++) {
		struct unc_text path = {0};
		struct unc_yaml_file *file = NULL;

		unc_text_add(&path, "%s/%s", dir, files.items[i]);
		r = path.failed ? unc_nomem(e) : unc_yaml_load(&file, path.data, e);
		if (r == 0)
			r = add_file(c, file, cpu_model, e);
		unc_text_finish(&path);
	}
	unc_names_finish(&files);
	return r;
}

int unc_catalogue_load(struct unc_catalogue *out, const struct unc_names *dirs,
		       const char *cpu_model, struct unc_error *e)
{
	struct unc_catalogue c = {.cpu_model = cpu_model};
	int r = 0;

	for (size_t i = 0; r == 0 && i < dirs->count; i++)
		r = load_dir(&c, dirs->items[i], cpu_model, e);
	if (r < 0) {
		unc_catalogue_finish(&c);
		return r;
	}
	*out = c;
	return 0;
}

static bool family_has(const struct unc_family *f, const struct uncore_pmu *pmu)
{
	for (size_t i = 0; f->on_this_cpu && i < f->pattern_count; i++)
		if (pattern_has(f->patterns[i].name, f->patterns[i].identifier, pmu))
			return true;
	return false;
}

/* What is at the other end of a PMU; NULL: its file does not say, or not in a word of the family. */
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

static int match_family(struct unc_family *f, struct unc_pmus *pmus)
{
	f->pmus = calloc(pmus->count + 1, sizeof(*f->pmus));
	if (!f->pmus)
		return -ENOMEM;
	for (size_t i = 0; i < pmus->count; i++) {
		if (pmus->items[i].family || !family_has(f, &pmus->items[i]))
			continue;
		pmus->items[i].family = f;
		pmus->items[i].role = role_of(f, &pmus->items[i]);
		f->pmus[f->pmu_count++] = &pmus->items[i];
	}
	return 0;
}

/* Adds the metrics of families that are here, or of the others. */
static int add_metrics(struct unc_catalogue *c, bool here, struct unc_error *e)
{
	for (size_t i = 0; i < c->family_count; i++) {
		const struct unc_family *f = c->families[i];

		for (size_t k = 0; (f->pmu_count > 0) == here && k < f->metric_count; k++) {
			const struct uncore_metric **metric =
				unc_append(&c->metrics, &c->metric_count, sizeof(*metric));

			if (!metric)
				return unc_nomem(e);
			*metric = &f->metrics[k];
		}
	}
	return 0;
}

int unc_catalogue_match(struct unc_catalogue *c, struct unc_pmus *pmus, struct unc_error *e)
{
	int r = load_embedded(c, pmus, e);

	for (size_t i = 0; r == 0 && i < c->family_count; i++)
		if (match_family(c->families[i], pmus) < 0)
			r = unc_nomem(e);
	return r < 0 ? r : add_metrics(c, true, e);
}

int unc_catalogue_complete(struct unc_catalogue *c, struct unc_error *e)
{
	int r = c->complete ? 0 : load_embedded(c, NULL, e);

	if (r == 0 && !c->complete)
		r = add_metrics(c, false, e);
	c->complete |= r == 0;
	return r;
}

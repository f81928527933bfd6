/* SPDX-License-Identifier: MIT */
/* PMUs of the machine: found at once; their terms, aliases and caps, read at first use; perf's rule for which
 * PMUs a name selects; the public getters. */
#include "machine/pmu.h"
#include "base/text.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEVICES "sys/bus/event_source/devices"
#define PATH_ROOM 640 /* a PMU, a directory in it, and a file in that; names have up to 255 bytes */
#define LONGEST_UNIT 31
#define PREFIX "uncore_"
#define SHORTEST_HEX 3       /* "cpum_cf" and "amd_df" are whole names */
#define FIRST_DYNAMIC_TYPE 6 /* below are the kernel's own, software and CPU */

/* ---- finding ---- */

int unc_pmu_attribute(const struct uncore_pmu *p, const char *name, char **out)
{
	char path[PATH_ROOM];

	snprintf(path, sizeof(path), DEVICES "/%s/%s", p->name, name);
	return unc_root_read_line(p->root, path, out);
}

/* A file that need not be there. */
static int read_optional(const struct uncore_pmu *p, const char *name, char **out)
{
	int err = unc_pmu_attribute(p, name, out);

	if (err == 0 && !**out) {
		free(*out);
		*out = NULL;
	}
	return err == -ENOMEM ? err : 0;
}

static int read_type(struct uncore_pmu *p, struct unc_error *e)
{
	uint64_t type;
	char *text;
	int err = unc_pmu_attribute(p, "type", &text);

	if (err == -ENOMEM)
		return unc_nomem(e);
	if (err)
		return unc_fail(e, EBADMSG, DEVICES "/%s/type cannot be read", p->name);
	err = unc_parse_u64(text, &type);
	if (err || type > UINT32_MAX)
		err = unc_fail(e, EBADMSG,
			       DEVICES "/%s/type: '%.100s' is not a valid number as PMUs have one",
			       p->name, text);
	else
		p->type = (uint32_t)type;
	free(text);
	return err;
}

/* Cores have `cpus`; a PMU without either file counts on every online CPU. */
static int read_mask(struct uncore_pmu *p, const struct unc_topology *topology, struct unc_error *e)
{
	static const char *const files[] = {"cpumask", "cpus"};
	char path[PATH_ROOM];
	int err;

	for (size_t i = 0; !p->has_mask && i < 2; i++) {
		snprintf(path, sizeof(path), DEVICES "/%s/%s", p->name, files[i]);
		err = unc_cpulist_read(&p->cpus, p->root, path, e);
		if (err == -ENOMEM || err == -EBADMSG)
			return err;
		p->has_mask = err == 0;
		p->is_core |= p->has_mask && i == 1;
	}
	if (p->has_mask)
		return 0;
	p->cpus.ids = malloc((topology->cpu_count + 1) * sizeof(*p->cpus.ids));
	if (!p->cpus.ids)
		return unc_nomem(e);
	for (size_t i = 0; i < topology->cpu_count; i++)
		if (topology->cpus[i].online)
			p->cpus.ids[p->cpus.count++] = topology->cpus[i].id;
	return 0;
}

static int read_pmu(struct uncore_pmu *p, const struct unc_topology *topology, struct unc_error *e)
{
	int err = read_type(p, e);

	if (err)
		return err;
	/* Software, tracepoint, raw CPU and breakpoint events have fixed types, probes have not. */
	p->is_core = p->type < FIRST_DYNAMIC_TYPE || strcmp(p->name, "kprobe") == 0 ||
		     strcmp(p->name, "uprobe") == 0;
	err = read_mask(p, topology, e);
	if (err)
		return err;
	if (read_optional(p, "alias", &p->alias) < 0 ||
	    read_optional(p, "identifier", &p->identifier) < 0)
		return unc_nomem(e);
	return 0;
}

static void free_terms(struct uncore_pmu *p)
{
	for (size_t i = 0; i < p->term_count; i++) {
		free((char *)p->terms[i].name);
		free((char *)p->terms[i].format);
	}
	for (size_t i = 0; i < p->alias_count; i++) {
		free((char *)p->aliases[i].name);
		free((char *)p->aliases[i].terms);
		free((char *)p->aliases[i].unit);
	}
	for (size_t i = 0; i < p->cap_count; i++) {
		free((char *)p->caps[i].name);
		free((char *)p->caps[i].value);
	}
	free(p->terms);
	free(p->aliases);
	free(p->caps);
	p->terms = NULL;
	p->aliases = NULL;
	p->caps = NULL;
	p->term_count = p->alias_count = p->cap_count = 0;
}

static void finish_pmu(struct uncore_pmu *p)
{
	free_terms(p);
	free(p->name);
	free(p->alias);
	free(p->identifier);
	free(p->broken);
	unc_cpulist_finish(&p->cpus);
	*p = (struct uncore_pmu){0};
}

/* A PMU whose module was removed since the directory was listed is no PMU any more. */
static bool is_gone(const struct unc_root *root, const char *name)
{
	char path[PATH_ROOM];

	snprintf(path, sizeof(path), DEVICES "/%s", name);
	return !unc_root_exists(root, path);
}

static int set_broken(struct uncore_pmu *p, struct unc_error *e)
{
	unc_cpulist_finish(&p->cpus);
	p->broken = strdup(e->text);
	e->text[0] = '\0';
	return p->broken ? 0 : unc_nomem(e);
}

int unc_pmus_read(struct unc_pmus *out, const struct unc_root *root,
		  const struct unc_topology *topology, struct unc_error *error)
{
	struct unc_pmus pmus = {0};
	struct unc_names names = {0};
	int err = unc_root_list(root, DEVICES, &names);

	if (err == -ENOENT || err == -ENOTDIR)
		err = 0;
	else if (err)
		return unc_fail(error, -err, "the directory " DEVICES " cannot be read");
	pmus.items = calloc(names.count + 1, sizeof(*pmus.items));
	if (!pmus.items) {
		unc_names_finish(&names);
		return unc_nomem(error);
	}
	for (size_t i = 0; err == 0 && i < names.count; i++) {
		struct uncore_pmu *p = &pmus.items[pmus.count++];

		p->root = root;
		p->error = error;
		p->name = strdup(names.items[i]);
		err = p->name ? read_pmu(p, topology, error) : unc_nomem(error);
		if (err == -EBADMSG && is_gone(root, names.items[i])) {
			finish_pmu(&pmus.items[--pmus.count]);
			err = 0;
		} else if (err == -EBADMSG) {
			err = set_broken(p, error);
		}
	}
	unc_names_finish(&names);
	if (err) {
		unc_pmus_finish(&pmus);
		return err;
	}
	*out = pmus;
	return 0;
}

void unc_pmus_finish(struct unc_pmus *p)
{
	for (size_t i = 0; i < p->count; i++)
		finish_pmu(&p->items[i]);
	free(p->items);
	*p = (struct unc_pmus){0};
}

/* ---- loading ---- */

/* A file of format/, events/ or caps/. 1: read; 0: no file, or one that just went away. Writes a
 * sentence for -ENOMEM only. */
static int try_member(const struct uncore_pmu *p, const char *dir, const char *name, char **out)
{
	char path[PATH_ROOM];
	int err;

	snprintf(path, sizeof(path), DEVICES "/%s/%s/%s", p->name, dir, name);
	err = unc_root_read_line(p->root, path, out);
	if (err == -ENOMEM)
		return unc_nomem(p->error);
	if (err == -ENOENT || err == -EISDIR || err == -ENODEV)
		return 0;
	return err ? err : 1;
}

/* The same of a file that the PMU cannot be used without. */
static int read_member(const struct uncore_pmu *p, const char *dir, const char *name, char **out)
{
	int r = try_member(p, dir, name, out);

	if (r >= 0 || r == -ENOMEM)
		return r;
	return unc_fail(p->error, EBADMSG, DEVICES "/%s/%s/%s cannot be read%s", p->name, dir, name,
			r == -EACCES ? ": permission denied" : "");
}

static int add_term(struct uncore_pmu *p, const struct unc_names *all, const char *name)
{
	struct uncore_term *term;
	char *format;
	int r;

	if (!p->terms && !(p->terms = calloc(all->count, sizeof(*term))))
		return unc_nomem(p->error);
	r = read_member(p, "format", name, &format);
	if (r <= 0)
		return r;
	term = &p->terms[p->term_count++];
	term->format = format;
	term->name = strdup(name);
	if (unc_format_parse(format, &term->word, &term->bits) < 0)
		term->word = -1;
	return term->name ? 0 : unc_nomem(p->error);
}

/* They describe the PMU, and no count depends on them. */
static int add_cap(struct uncore_pmu *p, const struct unc_names *all, const char *name)
{
	struct uncore_cap *cap;
	char *value;
	int r;

	if (!p->caps && !(p->caps = calloc(all->count, sizeof(*cap))))
		return unc_nomem(p->error);
	r = try_member(p, "caps", name, &value);
	if (r <= 0)
		return r == -ENOMEM ? r : 0;
	cap = &p->caps[p->cap_count++];
	cap->value = value;
	cap->name = strdup(name);
	return cap->name ? 0 : unc_nomem(p->error);
}

static const char *const side_suffixes[] = {".scale", ".unit", ".per-pkg", ".snapshot"};

#define SIDES (sizeof(side_suffixes) / sizeof(*side_suffixes))

static int compare_names(const void *a, const void *b)
{
	return strverscmp(*(char *const *)a, *(char *const *)b);
}

static bool in_list(const struct unc_names *names, const char *name)
{
	return names->count &&
	       bsearch(&name, names->items, names->count, sizeof(*names->items), compare_names);
}

/* Event names may have dots: only a known suffix of an event that exists makes a side file. */
static bool is_side_file(const struct unc_names *names, const char *name)
{
	size_t len = strlen(name);

	for (size_t i = 0; i < SIDES; i++) {
		size_t suffix = strlen(side_suffixes[i]);
		char stem[256];

		if (len <= suffix || len >= sizeof(stem) ||
		    strcmp(name + len - suffix, side_suffixes[i]) != 0)
			continue;
		memcpy(stem, name, len - suffix);
		stem[len - suffix] = '\0';
		return in_list(names, stem);
	}
	return false;
}

/* Some kernels wrote "MiB" with its quotation marks into the file. */
static char *unquote(char *text)
{
	size_t len = strlen(text);

	if (len >= 2 && (text[0] == '"' || text[0] == '\'') && text[len - 1] == text[0]) {
		text[len - 1] = '\0';
		text++;
	}
	return unc_trim(text);
}

/* What one file beside an event says of it. Without the right scale and unit a value would be wrong:
 * the scale becomes NaN, and only the use of the alias an error. */
static int add_side(const struct uncore_pmu *p, struct uncore_alias *alias, const char *suffix)
{
	bool is_scale = strcmp(suffix, ".scale") == 0;
	char file[300], *text = NULL;
	const char *value = "";
	int r;

	snprintf(file, sizeof(file), "%s%s", alias->name, suffix);
	r = try_member(p, "events", file, &text);
	if (r == 0 || r == -ENOMEM)
		return r;
	if (r > 0)
		value = unquote(text);
	if (strcmp(suffix, ".per-pkg") == 0)
		alias->per_package = true;
	else if (strcmp(suffix, ".snapshot") == 0)
		alias->snapshot = true;
	else if (r < 0 || (is_scale && unc_parse_double(value, &alias->scale) < 0))
		alias->scale = NAN;
	else if (!is_scale && *value && !(alias->unit = strndup(value, LONGEST_UNIT)))
		r = unc_nomem(p->error);
	free(text);
	return r == -ENOMEM ? r : 0;
}

static int add_alias(struct uncore_pmu *p, const struct unc_names *all, const char *name)
{
	struct uncore_alias *alias;
	char *terms;
	int r;

	if (is_side_file(all, name))
		return 0;
	if (!p->aliases && !(p->aliases = calloc(all->count, sizeof(*alias))))
		return unc_nomem(p->error);
	r = read_member(p, "events", name, &terms);
	if (r <= 0)
		return r;
	alias = &p->aliases[p->alias_count++];
	alias->scale = 1;
	alias->terms = terms;
	alias->name = strdup(name);
	if (!alias->name)
		return unc_nomem(p->error);
	for (size_t i = 0; r >= 0 && i < SIDES; i++) {
		char file[300];

		snprintf(file, sizeof(file), "%s%s", name, side_suffixes[i]);
		r = in_list(all, file) ? add_side(p, alias, side_suffixes[i]) : 0;
	}
	return r;
}

/* `add` takes all names of a directory of the PMU, and one of them; no such directory: no names. */
static int load_members(struct uncore_pmu *p, const char *dir,
			int (*add)(struct uncore_pmu *, const struct unc_names *, const char *))
{
	struct unc_names names = {0};
	char path[PATH_ROOM];
	int r;

	snprintf(path, sizeof(path), DEVICES "/%s/%s", p->name, dir);
	r = unc_root_list(p->root, path, &names);
	if (r == -ENOENT || r == -ENOTDIR)
		return 0;
	if (r < 0)
		return r == -ENOMEM ? unc_nomem(p->error)
				    : unc_fail(p->error, EBADMSG, "the directory %s cannot be read",
					       path);
	for (size_t i = 0; r >= 0 && i < names.count; i++)
		r = add(p, &names, names.items[i]);
	unc_names_finish(&names);
	return r < 0 ? r : 0;
}

int unc_pmu_load(const struct uncore_pmu *pmu)
{
	struct uncore_pmu *p = (struct uncore_pmu *)pmu; /* reading late is no change */
	int err;

	if (p->broken)
		return unc_fail(p->error, EBADMSG, "%s", p->broken);
	if (p->loaded)
		return 0;
	err = load_members(p, "format", add_term);
	if (!err)
		err = load_members(p, "events", add_alias);
	if (!err)
		err = load_members(p, "caps", add_cap);
	if (err)
		free_terms(p);
	p->loaded = !err;
	return err;
}

/* ---- terms and aliases by name ---- */

static bool same_ignoring_case(const char *a, const char *b)
{
	while (*a && unc_lower(*a) == unc_lower(*b)) {
		a++;
		b++;
	}
	return unc_lower(*a) == unc_lower(*b);
}

/* The entry of an array whose structures begin with their name; the case matters only between several. */
static const void *find_named(const void *items, size_t count, size_t size, const char *name)
{
	const char *item = items, *near = NULL;

	for (size_t i = 0; i < count; i++, item += size) {
		const char *own = *(const char *const *)(const void *)item;

		if (strcmp(own, name) == 0)
			return item;
		if (!near && same_ignoring_case(own, name))
			near = item;
	}
	return near;
}

const struct uncore_term *unc_pmu_term(const struct uncore_pmu *p, const char *name)
{
	return unc_pmu_load(p) < 0 ? NULL
				   : find_named(p->terms, p->term_count, sizeof(*p->terms), name);
}

const struct uncore_alias *unc_pmu_alias(const struct uncore_pmu *p, const char *name)
{
	return unc_pmu_load(p) < 0
		       ? NULL
		       : find_named(p->aliases, p->alias_count, sizeof(*p->aliases), name);
}

/* ---- names of PMUs ---- */

/* Length of the name without "_12" or "_ff001000" at its end. */
static size_t stem_length(const char *name)
{
	size_t len = strlen(name), at = len;
	bool decimal = true;

	while (at && unc_digit_value(name[at - 1]) >= 0) {
		at--;
		decimal = decimal && unc_is_digit(name[at]);
	}
	if (at < 2 || name[at - 1] != '_' || at == len)
		return len;
	return decimal || len - at >= SHORTEST_HEX ? at - 1 : len;
}

static bool matches(const char *name, const char *pattern)
{
	size_t len = strlen(pattern);

	if (strcmp(name, pattern) == 0)
		return true;
	if (strpbrk(pattern, "*?["))
		return unc_glob_matches(pattern, name);
	return len && len == stem_length(name) && memcmp(name, pattern, len) == 0;
}

bool unc_pmu_name_matches(const char *name, const char *pattern)
{
	size_t prefix = strlen(PREFIX);

	if (matches(name, pattern))
		return true;
	return strncmp(name, PREFIX, prefix) == 0 && matches(name + prefix, pattern);
}

bool unc_pmu_matches(const struct uncore_pmu *p, const char *pattern)
{
	return unc_pmu_name_matches(p->name, pattern) ||
	       (p->alias && unc_pmu_name_matches(p->alias, pattern));
}

/* ---- getters ---- */

const char *uncore_pmu_name(const struct uncore_pmu *p)
{
	return p->name;
}

uint32_t uncore_pmu_type(const struct uncore_pmu *p)
{
	return p->type;
}

const char *uncore_pmu_alias(const struct uncore_pmu *p)
{
	return p->alias;
}

const char *uncore_pmu_broken(const struct uncore_pmu *p)
{
	return p->broken;
}

const char *uncore_pmu_identifier(const struct uncore_pmu *p)
{
	return p->identifier;
}

const char *uncore_pmu_role(const struct uncore_pmu *p)
{
	return p->role;
}

bool uncore_pmu_is_core(const struct uncore_pmu *p)
{
	return p->is_core;
}

size_t uncore_pmu_cpu_count(const struct uncore_pmu *p)
{
	return p->cpus.count;
}

int uncore_pmu_cpu_at(const struct uncore_pmu *p, size_t i)
{
	return p->cpus.ids[i];
}

size_t uncore_pmu_term_count(const struct uncore_pmu *p)
{
	return unc_pmu_load(p) < 0 ? 0 : p->term_count;
}

const struct uncore_term *uncore_pmu_term_at(const struct uncore_pmu *p, size_t i)
{
	return &p->terms[i];
}

size_t uncore_pmu_alias_count(const struct uncore_pmu *p)
{
	return unc_pmu_load(p) < 0 ? 0 : p->alias_count;
}

const struct uncore_alias *uncore_pmu_alias_at(const struct uncore_pmu *p, size_t i)
{
	return &p->aliases[i];
}

size_t uncore_pmu_cap_count(const struct uncore_pmu *p)
{
	return unc_pmu_load(p) < 0 ? 0 : p->cap_count;
}

const struct uncore_cap *uncore_pmu_cap_at(const struct uncore_pmu *p, size_t i)
{
	return &p->caps[i];
}

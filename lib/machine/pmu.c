/* SPDX-License-Identifier: MIT */
/* PMUs of the machine. They are found at once; their terms, aliases and caps are read at first use.
 * Also perf's rule for which PMUs a name selects, and the public getters. */
#include "machine/pmu.h"

#include <math.h>

#define DEVICES "sys/bus/event_source/devices"
#define LONGEST_UNIT 31
#define PREFIX "uncore_"
#define SHORTEST_HEX 3       /* "cpum_cf" and "amd_df" are whole names */
#define FIRST_DYNAMIC_TYPE 6 /* lower types are the kernel's fixed ones, software and CPU */

/* ---- finding ---- */

int unc_pmu_attribute(const struct uncore_pmu *p, const char *name, char **out)
{
	return unc_root_read_line(p->root, UNC_PATH(DEVICES "/%s/%s", p->name, name), out);
}

/* The text of an optional file; NULL: it does not exist, or is empty. */
static char *read_optional(const struct uncore_pmu *p, const char *name)
{
	char *text;

	if (unc_pmu_attribute(p, name, &text) < 0)
		return NULL;
	if (*text)
		return text;
	free(text);
	return NULL;
}

static int read_pmu(struct uncore_pmu *p, const struct unc_topology *topology, struct unc_error *e)
{
	static const char *const masks[] = {"cpumask", "cpus"};
	uint64_t type = 0;
	char *text;
	int err = 0;

	if (unc_pmu_attribute(p, "type", &text) < 0)
		return unc_fail(e, EBADMSG, DEVICES "/%s/type cannot be read", p->name);
	if (unc_parse_u64(text, &type) < 0 || type > UINT32_MAX)
		err = unc_fail(e, EBADMSG,
			       DEVICES "/%s/type: '%.100s' is not a valid number as PMUs have one",
			       p->name, text);
	free(text);
	if (err)
		return err;
	p->type = (uint32_t)type;
	/* Software, tracepoint, raw CPU and breakpoint events have fixed types; probes do not. */
	p->is_core = p->type < FIRST_DYNAMIC_TYPE || strcmp(p->name, "kprobe") == 0 ||
		     strcmp(p->name, "uprobe") == 0;
	for (size_t i = 0; !p->has_mask && i < 2; i++) {
		err = unc_cpulist_read(&p->cpus, p->root,
				       UNC_PATH(DEVICES "/%s/%s", p->name, masks[i]), e);
		if (err == -ENOMEM || err == -EBADMSG)
			return err;
		p->has_mask = err == 0;
		p->is_core |= p->has_mask && i == 1; /* PMUs of cores have `cpus` */
	}
	/* A PMU without either file counts on every online CPU. */
	if (!p->has_mask && !(p->cpus.ids = calloc(topology->cpu_count + 1, sizeof(int))))
		return unc_nomem(e);
	for (size_t i = 0; !p->has_mask && i < topology->cpu_count; i++)
		if (topology->cpus[i].online)
			p->cpus.ids[p->cpus.count++] = topology->cpus[i].id;
	p->alias = read_optional(p, "alias");
	p->identifier = read_optional(p, "identifier");
	return 0;
}

static void free_members(struct uncore_pmu *p)
{
	free(p->terms);
	free(p->aliases);
	free(p->caps);
	unc_names_finish(&p->strings);
	p->terms = NULL;
	p->aliases = NULL;
	p->caps = NULL;
	p->term_count = p->alias_count = p->cap_count = 0;
}

void unc_pmu_finish(struct uncore_pmu *p)
{
	free_members(p);
	free(p->name);
	free(p->alias);
	free(p->identifier);
	free(p->associated);
	free(p->version);
	free(p->broken);
	unc_cpulist_finish(&p->cpus);
	unc_names_finish(&p->fixed);
	*p = (struct uncore_pmu){0};
}

int unc_pmus_read(struct unc_pmus *out, const struct unc_root *root,
		  const struct unc_topology *topology, struct unc_error *error)
{
	struct unc_pmus pmus = {0};
	struct unc_names names = {0};
	int err = unc_root_list(root, DEVICES, &names);

	if (err && err != -ENOENT && err != -ENOTDIR)
		return unc_fail(error, -err, "the directory " DEVICES " cannot be read");
	pmus.items = calloc(names.count + 1, sizeof(*pmus.items));
	pmus.vendor = calloc(1, sizeof(*pmus.vendor));
	err = pmus.items && pmus.vendor ? 0 : unc_nomem(error);
	if (pmus.vendor)
		pmus.vendor->topology = topology;
	for (size_t i = 0; err == 0 && i < names.count; i++) {
		struct uncore_pmu *p = &pmus.items[pmus.count++];

		p->root = root;
		p->vendor = pmus.vendor;
		p->error = error;
		p->name = names.items[i];
		names.items[i] = NULL;
		err = read_pmu(p, topology, error);
		if (err != -EBADMSG)
			continue;
		if (unc_root_still_has(root, UNC_PATH(DEVICES "/%s", p->name))) {
			unc_cpulist_finish(&p->cpus);
			p->broken = strdup(error->text);
			err = p->broken ? 0 : unc_nomem(error);
		} else { /* its module was removed after the directory was listed */
			unc_pmu_finish(p);
			pmus.count--;
			err = 0;
		}
		if (err == 0)
			error->text[0] = '\0';
	}
	unc_names_finish(&names);
	if (err)
		unc_pmus_finish(&pmus);
	else
		*out = pmus;
	return err;
}

static int compare_names(const void *a, const void *b)
{
	return strverscmp(((const struct uncore_pmu *)a)->name,
			  ((const struct uncore_pmu *)b)->name);
}

int unc_pmus_join(struct unc_pmus *p, struct unc_pmus *more)
{
	struct uncore_pmu *all = reallocarray(p->items, p->count + more->count + 1, sizeof(*all));

	if (!all)
		return -ENOMEM;
	p->items = all;
	for (size_t i = 0; i < more->count; i++)
		all[p->count++] = more->items[i];
	qsort(all, p->count, sizeof(*all), compare_names);
	free(more->items);
	*more = (struct unc_pmus){0};
	return 0;
}

void unc_pmus_finish(struct unc_pmus *p)
{
	for (size_t i = 0; i < p->count; i++)
		unc_pmu_finish(&p->items[i]);
	free(p->items);
	if (p->vendor)
		unc_vendor_finish(p->vendor);
	free(p->vendor);
	*p = (struct unc_pmus){0};
}

bool unc_pmu_has_cpu(const struct uncore_pmu *p, int cpu)
{
	for (size_t i = 0; i < unc_pmu_mask(p); i++)
		if (p->cpus.ids[i] == cpu)
			return true;
	return false;
}

/* ---- loading ---- */

/* Adds a file of format/, events/ or caps/. `text` is NULL if it cannot be read. Returns -EBADMSG
 * if the PMU cannot be used without it, or -ENOMEM. */
typedef int add_member(struct uncore_pmu *p, const char *name, char *text);

static int add_term(struct uncore_pmu *p, const char *name, char *text)
{
	struct uncore_term term = {.name = name, .format = text};

	if (!text)
		return -EBADMSG;
	if (unc_format_parse(text, &term.word, &term.bits) < 0)
		term.word = -1;
	return UNC_ADD(&p->terms, &p->term_count, &term);
}

/* Adds a capability. It describes the PMU; no count depends on it. */
static int add_cap(struct uncore_pmu *p, const char *name, char *text)
{
	const struct uncore_cap cap = {.name = name, .value = text};

	return text ? UNC_ADD(&p->caps, &p->cap_count, &cap) : 0;
}

/* Adds an event, or a file beside one. Names of events may have dots. So a file is a side file only
 * if it has a known suffix and its event exists, which is listed before it. A value without the
 * right scale and unit would be wrong. The scale then becomes NaN, and only the use of the alias is
 * an error. */
static int add_event(struct uncore_pmu *p, const char *name, char *text)
{
	enum { SCALE, UNIT, PER_PACKAGE, SNAPSHOT, SUFFIXES };
	static const char *const suffixes[] = {".scale", ".unit", ".per-pkg", ".snapshot"};
	const char *suffix = strrchr(name, '.');
	struct uncore_alias added = {.name = name, .terms = text, .scale = 1}, *alias = NULL;
	size_t side = SCALE, len = text ? strlen(text) : 0;

	while (side < SUFFIXES && !(suffix && strcmp(suffix, suffixes[side]) == 0))
		side++;
	for (size_t k = p->alias_count; side < SUFFIXES && !alias && k-- > 0;)
		if (strncmp(p->aliases[k].name, name, (size_t)(suffix - name)) == 0 &&
		    !p->aliases[k].name[suffix - name])
			alias = &p->aliases[k];
	if (!alias)
		return text ? UNC_ADD(&p->aliases, &p->alias_count, &added) : -EBADMSG;
	/* Some kernels wrote "MiB" with the quotation marks into the file. */
	if (len >= 2 && (text[0] == '"' || text[0] == '\'') && text[len - 1] == text[0]) {
		text[len - 1] = '\0';
		text = unc_trim(text + 1);
	}
	if (side == SNAPSHOT) {
		alias->snapshot = true;
	} else if (side == PER_PACKAGE) {
		alias->per_package = true;
	} else if (!text || (side == SCALE && unc_parse_double(text, &alias->scale) < 0)) {
		alias->scale = NAN;
	} else if (side == UNIT && *text) {
		text[strnlen(text, LONGEST_UNIT)] = '\0';
		alias->unit = text;
	}
	return 0;
}

/* Reads a directory. If it does not exist, the PMU has no such members. */
static int load_members(struct uncore_pmu *p, const char *dir, add_member *add)
{
	const char *path = UNC_PATH(DEVICES "/%s/%s", p->name, dir), *file, *name;
	struct unc_names names = {0};
	char *text;
	int err = unc_root_list(p->root, path, &names), r = err == -ENOMEM ? err : 0;

	if (err && err != -ENOMEM && err != -ENOENT && err != -ENOTDIR)
		return unc_fail(p->error, EBADMSG, "the directory %s cannot be read", path);
	for (size_t i = 0; r == 0 && i < names.count; i++) {
		file = UNC_PATH("%s/%s", path, names.items[i]);
		err = unc_root_read_line(p->root, file, &text);
		if (err == -ENOENT || err == -EISDIR || err == -ENODEV)
			continue; /* it was removed meanwhile */
		if (err == 0 && !unc_names_take(&p->strings, text))
			err = -ENOMEM;
		name = err == -ENOMEM ? NULL : unc_names_take(&p->strings, strdup(names.items[i]));
		r = name ? add(p, name, err ? NULL : text) : -ENOMEM;
		if (r == -EBADMSG)
			unc_fail(p->error, EBADMSG, "%s cannot be read%s", file,
				 err == -EACCES ? ": permission denied" : "");
	}
	unc_names_finish(&names);
	return r == -ENOMEM ? unc_nomem(p->error) : r;
}

/* Adds the family's events under its own names, unless the driver has an event or term of the same
 * name. As in metrics, the driver's scale is used only if the family asks for it. */
static int add_defs(struct uncore_pmu *p)
{
	for (size_t i = 0; i < p->def_count; i++) {
		const struct unc_event_def *def = &p->defs[i];
		const struct uncore_alias *own = def->alias ? unc_pmu_alias(p, def->alias) : NULL;
		struct uncore_alias alias = {.terms = def->terms, .scale = 1};
		bool driver = own && !own->evidence;
		struct unc_error why = {0};

		if (def->other_model || unc_pmu_alias(p, def->name) || unc_pmu_term(p, def->name))
			continue;
		if (def->has && unc_device_lacks(p, def, NULL))
			continue;
		if (!driver &&
		    (def->kernel_scale || !def->terms || !unc_pmu_has_terms(p, def->terms)))
			continue;
		if (driver)
			alias = *own;
		if (!def->kernel_scale) {
			alias.scale = 1;
			alias.unit = NULL;
		}
		alias.name = def->name;
		alias.snapshot = alias.snapshot || def->state;
		alias.title = def->title;
		alias.evidence = def->evidence;
		alias.where = def->where;
		if (unc_device_lacks(p, def, &why))
			alias.where = unc_names_take(&p->strings, strdup(why.text));
		if (UNC_ADD(&p->aliases, &p->alias_count, &alias) < 0)
			return unc_nomem(p->error);
	}
	return 0;
}

/* Adds the family's terms whose values have names, if the driver has the terms that they stand for
 * and no term of the same name. */
static int add_named_terms(struct uncore_pmu *p)
{
	for (size_t k = 0; k < p->named_term_count; k++) {
		const struct unc_named_term *t = &p->named_terms[k];
		struct uncore_term term = {.name = t->name, .word = -1};
		struct unc_text values = {0};

		if (unc_pmu_term(p, t->name) || !unc_pmu_has_terms(p, t->values->text))
			continue;
		for (size_t i = 0; i < t->value_count; i++)
			unc_text_add(&values, "%s%s", i ? " " : "", t->values[i].name);
		term.values = unc_names_take(&p->strings, unc_text_take(&values));
		if (!term.values || UNC_ADD(&p->terms, &p->term_count, &term) < 0)
			return unc_nomem(p->error);
	}
	return 0;
}

int unc_pmu_load(const struct uncore_pmu *pmu)
{
	static const struct {
		const char *dir;
		add_member *add;
	} members[] = {{"format", add_term}, {"events", add_event}, {"caps", add_cap}};
	/* Reading at first use is not a change for the caller. */
	struct uncore_pmu *p = (struct uncore_pmu *)pmu;
	int err = 0;

	if (p->broken)
		return unc_fail(p->error, EBADMSG, "%s", p->broken);
	if (p->loaded)
		return 0;
	for (size_t i = 0; !err && !p->no_files && i < 3; i++)
		err = load_members(p, members[i].dir, members[i].add);
	p->loaded = !err; /* the code below looks up terms and aliases */
	if (!err)
		err = add_defs(p);
	if (!err)
		err = add_named_terms(p);
	if (err)
		free_members(p);
	p->loaded = !err;
	return err;
}

/* ---- terms and aliases by name ---- */

/* Finds an entry of an array whose structures begin with their name. Case matters only if several
 * match. */
static const void *find_named(const void *items, size_t count, size_t size, const char *name)
{
	const char *item = items, *near = NULL;

	for (size_t i = 0; i < count; i++, item += size) {
		const char *own = *(const char *const *)(const void *)item;
		size_t same = 0;

		if (strcmp(own, name) == 0)
			return item;
		while (own[same] && unc_lower(own[same]) == unc_lower(name[same]))
			same++;
		if (!near && !own[same] && !name[same])
			near = item;
	}
	return near;
}

const struct uncore_term *unc_pmu_term(const struct uncore_pmu *p, const char *name)
{
	return unc_pmu_load(p) < 0 ? NULL
				   : find_named(p->terms, p->term_count, sizeof(*p->terms), name);
}

bool unc_pmu_has_terms(const struct uncore_pmu *p, const char *list)
{
	struct unc_assignment a;

	while (unc_assignment_next(&list, &a) == 1) {
		const struct uncore_term *term = unc_pmu_term(p, a.name);
		uint64_t value = 0, word = 0;

		unc_parse_u64(a.value, &value);
		if (!term || (term->word >= 0 && unc_format_put(term->bits, value, &word) < 0))
			return false;
	}
	return true;
}

const struct uncore_alias *unc_pmu_alias(const struct uncore_pmu *p, const char *name)
{
	return unc_pmu_load(p) < 0
		       ? NULL
		       : find_named(p->aliases, p->alias_count, sizeof(*p->aliases), name);
}

const struct uncore_alias *unc_pmu_vendor_events(const struct uncore_pmu *p, size_t *count)
{
	struct unc_vendor *v = p->vendor;

	*count = 0;
	if (v && !v->loaded && unc_vendor_load(v, NULL) < 0)
		unc_nomem(p->error);
	for (size_t i = 0; v && i < v->count; i++) {
		if (!unc_pmu_name_matches(p->name, v->units[i].pmu))
			continue;
		*count = v->units[i].count;
		return v->units[i].events;
	}
	return NULL;
}

const struct uncore_alias *unc_pmu_event(const struct uncore_pmu *p, const char *name)
{
	const struct uncore_alias *found = unc_pmu_alias(p, name), *events;
	size_t count;

	if (found)
		return found;
	events = unc_pmu_vendor_events(p, &count);
	return find_named(events, count, sizeof(*events), name);
}

const char *unc_pmu_named_value(const struct uncore_pmu *p, const char *term, const char *value,
				bool *joined)
{
	for (size_t k = 0; k < p->named_term_count; k++) {
		const struct unc_named_term *t = &p->named_terms[k];
		const struct unc_word *found = NULL;

		if (strcmp(t->name, term) == 0)
			found = find_named(t->values, t->value_count, sizeof(*t->values), value);
		if (!found)
			continue;
		*joined = t->joined;
		return found->text;
	}
	return NULL;
}

/* ---- names of PMUs ---- */

/* Length of the name without a suffix "_12" or "_ff001000". */
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

bool unc_pmu_name_matches(const char *name, const char *pattern)
{
	size_t len = strlen(pattern), prefix = strlen(PREFIX);
	bool glob = strpbrk(pattern, "*?[");

	for (;; name += prefix) {
		if (strcmp(name, pattern) == 0 ||
		    (glob ? unc_glob_matches(pattern, name)
			  : len && len == stem_length(name) && memcmp(name, pattern, len) == 0))
			return true;
		if (strncmp(name, PREFIX, prefix) != 0)
			return false;
	}
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

const char *uncore_pmu_absent(const struct uncore_pmu *p)
{
	return p->absent;
}

const char *uncore_pmu_broken(const struct uncore_pmu *p)
{
	return p->broken;
}

const char *uncore_pmu_identifier(const struct uncore_pmu *p)
{
	return p->identifier;
}

const char *uncore_pmu_associated_cpus(const struct uncore_pmu *pmu)
{
	/* Reading at first use is not a change for the caller. */
	struct uncore_pmu *p = (struct uncore_pmu *)pmu;

	if (!p->associated_read && p->root) {
		p->associated_read = true;
		p->associated = read_optional(p, "associated_cpus");
	}
	return p->associated;
}

int unc_pmu_socket(const struct uncore_pmu *pmu, const struct unc_topology *t)
{
	struct unc_cpulist listed = {0};
	const struct unc_cpulist *cpus = &pmu->cpus;
	const char *text = cpus->count ? NULL : uncore_pmu_associated_cpus(pmu);
	int socket = -1;

	if (text && unc_cpulist_parse(text, &listed) == 0)
		cpus = &listed;
	for (size_t i = 0; i < cpus->count; i++) {
		int other = unc_topology_socket(t, cpus->ids[i]);

		if (other < 0 || (i && other != socket)) {
			socket = -1;
			break;
		}
		socket = other;
	}
	unc_cpulist_finish(&listed);
	return socket;
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

size_t uncore_pmu_vendor_event_count(const struct uncore_pmu *p)
{
	size_t count;

	unc_pmu_vendor_events(p, &count);
	return count;
}

const struct uncore_alias *uncore_pmu_vendor_event_at(const struct uncore_pmu *p, size_t i)
{
	size_t count;

	return &unc_pmu_vendor_events(p, &count)[i];
}

size_t uncore_pmu_cap_count(const struct uncore_pmu *p)
{
	return unc_pmu_load(p) < 0 ? 0 : p->cap_count;
}

const struct uncore_cap *uncore_pmu_cap_at(const struct uncore_pmu *p, size_t i)
{
	return &p->caps[i];
}

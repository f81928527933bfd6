/* SPDX-License-Identifier: MIT */
/* Simulations: finding one by its name, and the machine it plays. */
#include "base/text.h"
#include "base/yaml-file.h"
#include "machine/embedded.h"
#include "source/sim/sim.h"
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#define SUFFIX ".yaml"

static bool is_path(const char *spec)
{
	size_t len = strlen(spec), suffix = strlen(SUFFIX);

	return strchr(spec, '/') || (len > suffix && strcmp(spec + len - suffix, SUFFIX) == 0);
}

/* Built-in files are called NAME.yaml. */
static const struct unc_file *built_in(const char *name)
{
	size_t len = strlen(name);

	for (size_t i = 0; i < unc_embedded_sims_count; i++) {
		const struct unc_file *f = &unc_embedded_sims[i];

		if (strncmp(f->name, name, len) == 0 && strcmp(f->name + len, SUFFIX) == 0)
			return f;
	}
	return NULL;
}

static int add_built_in_names(struct unc_names *names)
{
	for (size_t i = 0; i < unc_embedded_sims_count; i++) {
		char *name = strdup(unc_embedded_sims[i].name);
		int ret;

		if (!name)
			return -ENOMEM;
		name[strlen(name) - strlen(SUFFIX)] = '\0';
		ret = unc_names_add(names, name);
		free(name);
		if (ret < 0)
			return ret;
	}
	return 0;
}

static int no_such_sim(const char *name, struct unc_error *e)
{
	struct unc_names names = {0};
	const char *near;
	int ret;

	if (add_built_in_names(&names) < 0) {
		unc_names_finish(&names);
		return unc_nomem(e);
	}
	near = unc_nearest(name, (const char *const *)names.items, names.count);
	ret = unc_fail(e, ENOENT, "there is no simulation '%s'", name);
	if (near)
		unc_error_append(e, " (did you mean '%s'?)", near);
	unc_error_append(e, "; built in are");
	for (size_t i = 0; i < names.count; i++)
		unc_error_append(e, "%s %s", i ? "," : "", names.items[i]);
	unc_error_append(e, "; a file of your own is given by its path, ending in " SUFFIX);
	unc_names_finish(&names);
	return ret;
}

/* ---- the machine --------------------------------------------------------------------------- */

static const struct unc_file *built_in_machine(const char *name)
{
	for (size_t i = 0; i < unc_embedded_machines_count; i++)
		if (strcmp(unc_embedded_machines[i].name, name) == 0)
			return &unc_embedded_machines[i];
	return NULL;
}

/* `machine` relative to the directory of the file that names it; NULL when out of memory. */
static char *beside(const char *file, const char *machine)
{
	const char *slash = strrchr(file, '/');
	struct unc_text path = {0};

	if (slash && machine[0] != '/')
		unc_text_add(&path, "%.*s", (int)(slash + 1 - file), file);
	unc_text_add(&path, "%s", machine);
	return unc_text_take(&path);
}

static int open_machine(struct unc_root **root, const struct unc_sim *sim, const char *machine,
			bool from_disk, struct unc_error *e)
{
	const struct unc_file *f = strchr(machine, '/') ? NULL : built_in_machine(machine);
	const struct unc_yaml *at = unc_yaml_get(sim->file->root, "machine");
	struct unc_error why = {""};
	char *dir;
	int ret;

	if (f)
		return unc_root_open_text(root, f->name, f->text, f->len, e);
	if (!from_disk)
		return unc_yaml_fail(sim->file, at, e, "there is no built-in machine '%s'",
				     machine);
	dir = beside(sim->file->name, machine);
	if (!dir)
		return unc_nomem(e);
	ret = unc_root_open(root, dir, &why);
	if (ret == -ENOENT || ret == -ENOTDIR)
		ret = unc_yaml_fail(
			sim->file, at, e,
			"'%s' is neither a built-in machine nor a directory or snapshot (%s)",
			machine, dir);
	else if (ret < 0)
		ret = unc_fail(e, -ret, "%s", why.text);
	free(dir);
	return ret;
}

/* ---- the name ------------------------------------------------------------------------------ */

/* Cuts ",step=..." off `spec`. */
static int take_options(char *spec, uint64_t *step_ns, struct unc_error *e)
{
	char *comma = strrchr(spec, ',');
	const char *value;

	if (!comma || !strchr(comma, '='))
		return 0;
	value = strchr(comma, '=') + 1;
	if (strncmp(comma, ",step=", strlen(",step=")) != 0)
		return unc_fail(e, EINVAL,
				"a simulation has no option '%s'; it has step=DURATION, as in "
				"t410,step=20ms",
				comma + 1);
	if (unc_sim_duration(value, step_ns) < 0)
		return unc_fail(e, EINVAL, "step must be a duration such as 20ms or 1s, not '%s'",
				value);
	*comma = '\0';
	return 0;
}

static int load_file(struct unc_yaml_file **file, const char *spec, bool from_disk,
		     struct unc_error *e)
{
	const struct unc_file *f;

	if (from_disk)
		return unc_yaml_load(file, spec, e);
	f = built_in(spec);
	if (!f)
		return no_such_sim(spec, e);
	return unc_yaml_parse(file, f->name, f->text, f->len, e);
}

static int load(struct unc_sim *sim, char *spec, struct unc_root **root, struct unc_error *e)
{
	struct unc_yaml_file *file = NULL;
	struct unc_root *opened = NULL;
	const char *machine = NULL;
	bool from_disk;
	int ret;

	ret = take_options(spec, &sim->step_ns, e);
	if (ret < 0)
		return ret;
	from_disk = is_path(spec);
	ret = load_file(&file, spec, from_disk, e);
	if (ret == 0)
		ret = unc_sim_parse(sim, file, &machine, e);
	if (ret == 0)
		ret = open_machine(&opened, sim, machine, from_disk, e);
	if (ret < 0)
		return ret;
	ret = unc_sim_check(sim, opened, e);
	if (ret < 0)
		unc_root_free(opened);
	else
		*root = opened;
	return ret;
}

int unc_sim_load(struct unc_sim **out, const char *spec, struct unc_root **root,
		 struct unc_error *e)
{
	struct unc_sim *sim = calloc(1, sizeof(*sim));
	char *copy = strdup(spec);
	int ret;

	ret = sim && copy ? load(sim, copy, root, e) : unc_nomem(e);
	free(copy);
	if (ret < 0)
		unc_sim_free(sim);
	else
		*out = sim;
	return ret;
}

void unc_sim_free(struct unc_sim *sim)
{
	if (!sim)
		return;
	free(sim->rates);
	unc_yaml_free(sim->file);
	free(sim);
}

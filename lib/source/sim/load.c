/* SPDX-License-Identifier: MIT */
/* Simulations: finding one by its name, and the machine it plays. */
#include "base/fill.h"
#include "base/text.h"
#include "machine/embedded.h"
#include "source/sim/sim.h"
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

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

static int open_machine(struct unc_root **root, const struct unc_sim *sim, bool from_disk,
			struct unc_error *e)
{
	const struct unc_reader r = {.file = sim->file, .e = e};
	const char *machine = sim->machine;
	const struct unc_file *f = strchr(machine, '/') ? NULL : built_in_machine(machine);
	const struct unc_yaml *at = unc_yaml_get(sim->file->root, "machine");
	struct unc_error why = {""};
	char *dir;
	int ret;

	if (f)
		return unc_root_open_text(root, f->name, f->text, f->len, e);
	if (!from_disk)
		return unc_reader_fail(&r, at, "there is no built-in machine '%s'", machine);
	dir = beside(sim->file->name, machine);
	if (!dir)
		return unc_nomem(e);
	ret = unc_root_open(root, dir, &why);
	if (ret == -ENOENT || ret == -ENOTDIR)
		ret = unc_reader_fail(
			&r, at,
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

static int load(struct unc_sim *sim, char *spec, struct unc_root **root, struct unc_error *e)
{
	struct unc_yaml_file *file = NULL;
	struct unc_root *opened = NULL;
	int ret;

	ret = take_options(spec, &sim->step_ns, e);
	if (ret < 0)
		return ret;
	ret = unc_load_named(&file, spec, unc_embedded_sims, unc_embedded_sims_count, "simulation",
			     e);
	if (ret == 0)
		ret = unc_sim_parse(sim, file, e);
	if (ret == 0)
		ret = open_machine(&opened, sim, unc_is_path(spec), e);
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

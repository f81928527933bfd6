/* SPDX-License-Identifier: MIT */
/* Files named by the user: built-in ones by NAME, others by their path. */
#include "machine/embedded.h"
#include "base/text.h"
#include "base/yaml-file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define SUFFIX ".yaml"

bool unc_is_path(const char *spec)
{
	size_t len = strlen(spec), suffix = strlen(SUFFIX);

	return strchr(spec, '/') || (len > suffix && strcmp(spec + len - suffix, SUFFIX) == 0);
}

static int fail_unknown(const char *name, const struct unc_file *files, size_t count,
			const char *what, struct unc_error *e)
{
	struct unc_names names = {0};
	const char *near;
	int r = 0;

	for (size_t i = 0; r == 0 && i < count; i++) {
		char *one = strndup(files[i].name, strlen(files[i].name) - strlen(SUFFIX));

		r = one ? unc_names_add(&names, one) : -ENOMEM;
		free(one);
	}
	if (r < 0) {
		unc_names_finish(&names);
		return unc_nomem(e);
	}
	near = unc_nearest(name, (const char *const *)names.items, names.count);
	unc_fail(e, ENOENT, "there is no %s '%s'", what, name);
	if (near)
		unc_error_append(e, " (did you mean '%s'?)", near);
	unc_error_append(e, "; built in are");
	for (size_t i = 0; i < names.count; i++)
		unc_error_append(e, "%s %s", i ? "," : "", names.items[i]);
	unc_error_append(e, "; a file of your own is given by its path, ending in " SUFFIX);
	unc_names_finish(&names);
	return -ENOENT;
}

int unc_load_named(struct unc_yaml_file **out, const char *spec, const struct unc_file *files,
		   size_t count, const char *what, struct unc_error *e)
{
	size_t len = strlen(spec);

	if (unc_is_path(spec))
		return unc_yaml_load(out, spec, e);
	for (size_t i = 0; i < count; i++)
		if (strncmp(files[i].name, spec, len) == 0 &&
		    strcmp(files[i].name + len, SUFFIX) == 0)
			return unc_yaml_parse(out, files[i].name, files[i].text, files[i].len, e);
	return fail_unknown(spec, files, count, what, e);
}

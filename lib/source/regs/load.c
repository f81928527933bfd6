/* SPDX-License-Identifier: MIT */
/* Register blocks: finding one by its name. */
#include "base/text.h"
#include "machine/embedded.h"
#include "source/regs/regs.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define SUFFIX ".yaml"

static bool is_path(const char *spec)
{
	size_t len = strlen(spec), suffix = strlen(SUFFIX);

	return strchr(spec, '/') || (len > suffix && strcmp(spec + len - suffix, SUFFIX) == 0);
}

static int no_such_block(const char *name, struct unc_error *e)
{
	unc_fail(e, ENOENT, "there is no register block '%s'; built in are", name);
	for (size_t i = 0; i < unc_embedded_blocks_count; i++) {
		const char *file = unc_embedded_blocks[i].name;

		unc_error_append(e, "%s %.*s", i ? "," : "", (int)(strlen(file) - strlen(SUFFIX)),
				 file);
	}
	unc_error_append(e, "; a file of your own is given by its path, ending in " SUFFIX);
	return -ENOENT;
}

static int load_file(struct unc_yaml_file **file, const char *spec, struct unc_error *e)
{
	size_t len = strlen(spec);

	if (is_path(spec))
		return unc_yaml_load(file, spec, e);
	for (size_t i = 0; i < unc_embedded_blocks_count; i++) {
		const struct unc_file *f = &unc_embedded_blocks[i];

		if (strncmp(f->name, spec, len) == 0 && strcmp(f->name + len, SUFFIX) == 0)
			return unc_yaml_parse(file, f->name, f->text, f->len, e);
	}
	return no_such_block(spec, e);
}

int unc_regs_load(struct unc_regs **out, const char *spec, struct unc_error *e)
{
	const char *at = strstr(spec, ",at=");
	struct unc_yaml_file *file = NULL;
	struct unc_regs *r = NULL;
	char *name = at ? strndup(spec, (size_t)(at - spec)) : strdup(spec);
	int err = name ? load_file(&file, name, e) : unc_nomem(e);

	free(name);
	if (err == 0)
		err = unc_regs_parse(&r, file, e);
	if (err < 0 || !r)
		return err;
	if (at && (r->space == UNC_SPACE_MSR || !at[4])) {
		err = unc_fail(e, EINVAL,
			       at[4] ? "%s: MSRs are read from their CPU; there is no other place"
				     : "%s: 'at=' must be followed by a path",
			       spec);
	} else if (at) {
		r->where = strdup(at + 4);
		err = r->where ? 0 : unc_nomem(e);
	}
	if (err < 0)
		unc_regs_free(r);
	else
		*out = r;
	return err;
}

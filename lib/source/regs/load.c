/* SPDX-License-Identifier: MIT */
/* Register blocks: finding one by its name. */
#include "base/error.h"
#include "machine/embedded.h"
#include "source/regs/regs.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int unc_regs_load(struct unc_regs **out, const char *spec, struct unc_error *e)
{
	const char *at = strstr(spec, ",at=");
	struct unc_yaml_file *file = NULL;
	struct unc_regs *r = NULL;
	char *name = at ? strndup(spec, (size_t)(at - spec)) : strdup(spec);
	int err = name ? unc_load_named(&file, name, unc_embedded_blocks, unc_embedded_blocks_count,
					"register block", e)
		       : unc_nomem(e);

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

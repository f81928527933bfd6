/* SPDX-License-Identifier: MIT */
/* Values in the description of a register block. */
#include "base/ascii.h"
#include "source/regs/parse.h"

#include <float.h>
#include <string.h>

const struct unc_bounds unc_regs_positive = {DBL_TRUE_MIN, DBL_MAX, "more than 0"};

int unc_regs_check_line(const struct unc_reader *r, const struct unc_yaml *node, void *into)
{
	(void)into;
	for (const char *c = node->text; *c || c == node->text; c++)
		if ((unsigned char)*c < ' ' || *c == 0x7f)
			return unc_reader_fail(
				r, node, "the value of '%s' must be one line of text", node->key);
	return 0;
}

bool unc_regs_is_name(const char *s, const char *others)
{
	if (*s < 'a' || *s > 'z')
		return false;
	for (; *s; s++)
		if (!(*s >= 'a' && *s <= 'z') && !unc_is_digit(*s) && !strchr(others, *s))
			return false;
	return true;
}

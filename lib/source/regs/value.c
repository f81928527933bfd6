/* SPDX-License-Identifier: MIT */
/* Values in the description of a register block. */
#include "base/ascii.h"
#include "source/regs/parse.h"

#include <errno.h>
#include <string.h>

int unc_regs_word(const struct unc_regs_parser *p, const struct unc_yaml *map, const char *key,
		  const char *const *words, unsigned *out)
{
	const char *text = NULL;

	if (unc_yaml_text(p->file, map, key, &text, p->e) < 0)
		return -EBADMSG;
	if (!text)
		return 0;
	for (unsigned i = 0; words[i]; i++)
		if (strcmp(words[i], text) == 0) {
			*out = i;
			return 0;
		}
	unc_yaml_fail(p->file, unc_yaml_get(map, key), p->e, "the value of '%s' cannot be '%s'",
		      key, text);
	for (unsigned i = 0; words[i]; i++)
		unc_error_append(p->e, "%s%s", i ? ", " : "; expected one of: ", words[i]);
	return -EBADMSG;
}

int unc_regs_number(const struct unc_regs_parser *p, const struct unc_yaml *map, const char *key,
		    const uint64_t bounds[2], uint64_t *out)
{
	if (unc_yaml_u64(p->file, map, key, out, p->e) < 0)
		return -EBADMSG;
	if (!unc_yaml_get(map, key) || (*out >= bounds[0] && *out <= bounds[1]))
		return 0;
	return unc_yaml_fail(p->file, unc_yaml_get(map, key), p->e,
			     "the value of '%s' must be from %llu to %llu", key,
			     (unsigned long long)bounds[0], (unsigned long long)bounds[1]);
}

int unc_regs_positive(const struct unc_regs_parser *p, const struct unc_yaml *map, const char *key,
		      double *out)
{
	if (unc_yaml_double(p->file, map, key, out, p->e) < 0)
		return -EBADMSG;
	if (!unc_yaml_get(map, key) || *out > 0)
		return 0;
	return unc_yaml_fail(p->file, unc_yaml_get(map, key), p->e,
			     "the value of '%s' must be more than 0", key);
}

int unc_regs_line(const struct unc_regs_parser *p, const struct unc_yaml *map, const char *key,
		  const char **out)
{
	const struct unc_yaml *node = unc_yaml_get(map, key);

	if (unc_yaml_text(p->file, map, key, out, p->e) < 0)
		return -EBADMSG;
	if (!node)
		return 0;
	for (const char *c = node->text; *c || c == node->text; c++)
		if ((unsigned char)*c < ' ' || *c == 0x7f)
			return unc_yaml_fail(p->file, node, p->e,
					     "the value of '%s' must be one line of text", key);
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

int unc_regs_name(const struct unc_regs_parser *p, const struct unc_yaml *map, const char *key,
		  const char *others, const char **out)
{
	const struct unc_yaml *node = unc_yaml_get(map, key);

	if (unc_regs_line(p, map, key, out) < 0)
		return -EBADMSG;
	if (!node || unc_regs_is_name(*out, others))
		return 0;
	return unc_yaml_fail(p->file, node, p->e,
			     "'%s' is no name: lower case letters and digits%s%s", *out,
			     *others ? ", and one of " : "", others);
}

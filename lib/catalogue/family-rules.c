/* SPDX-License-Identifier: MIT */
/* Data files: what the hardware excludes. */
#include "catalogue/family-parse.h"

static int read_except(const struct unc_reader *r, const struct unc_yaml *node, void *into)
{
	const struct unc_family_parser *p = r->context;
	struct unc_rule *rule = into;

	rule->except = unc_family_event(p->family, node->text);
	return rule->except ? 0
			    : unc_reader_fail(r, node, "'%s' is not an event of this family",
					      node->text);
}

/* A combination has at least two terms. */
static int check_two(const struct unc_reader *r, const struct unc_yaml *node, void *into)
{
	return ((struct unc_rule *)into)->terms.count >= 2
		       ? 0
		       : unc_reader_fail(r, node, "'%s' needs at least 2 terms", node->key);
}

#define NAMES(key, member, ...)                                \
	UNC_FIELD(key, NAMES, UNC_AT(struct unc_rule, member), \
		  .what = "format terms such as src_bdf src_bdf_en", __VA_ARGS__)
#define WHY                                                    \
	UNC_FIELD("!why", TEXT, UNC_AT(struct unc_rule, why)), \
		UNC_FIELD("!evidence", TEXT, UNC_AT(struct unc_rule, evidence)), UNC_END
#define DIFFERENT                                                                            \
	NAMES("when", when, .check = NULL), UNC_FIELD("except", TEXT, .check = read_except), \
		NAMES("inherit", inherit, .check = NULL), WHY

static const struct unc_field never[] = {NAMES("!never", terms, .check = check_two), WHY};
static const struct unc_field needs[] = {NAMES("!needs", terms, .check = check_two), WHY};
static const struct unc_field needs_one[] = {NAMES("!needs_one", terms, .check = NULL), WHY};
static const struct unc_field same[] = {NAMES("!same", terms, .check = NULL), DIFFERENT};
static const struct unc_field at_most[] = {UNC_FIELD("!at_most", NUMBER,
						     UNC_AT(struct unc_rule, most), .least = 1,
						     .most = UNC_RULE_MOST),
					   NAMES("!of", terms, .check = NULL), DIFFERENT};

static const struct unc_field *const kinds[] = {
	[UNC_RULE_NEVER] = never, [UNC_RULE_NEEDS] = needs,     [UNC_RULE_NEEDS_ONE] = needs_one,
	[UNC_RULE_SAME] = same,   [UNC_RULE_AT_MOST] = at_most, NULL,
};

static int finish_rule(const struct unc_reader *r, const struct unc_yaml *map, void *into)
{
	struct unc_rule *rule = into;

	(void)r;
	(void)map;
	if (rule->kind == UNC_RULE_SAME)
		rule->most = 1;
	return 0;
}

const struct unc_shape unc_rule_shape = {.variants = kinds,
					 .variant = offsetof(struct unc_rule, kind),
					 .size = sizeof(struct unc_rule),
					 .check = finish_rule};

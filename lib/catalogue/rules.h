/* SPDX-License-Identifier: MIT */
/* What the hardware of a family excludes, checked on what is planned before anything is opened. */
#ifndef UNC_RULES_H
#define UNC_RULES_H

#include "base/text.h"

#define UNC_RULE_MOST 64 /* of at_most */

enum unc_rule_kind {
	UNC_RULE_NEVER,     /* all terms set in one event */
	UNC_RULE_NEEDS,     /* the first term set without all others */
	UNC_RULE_NEEDS_ONE, /* none of the terms set */
	UNC_RULE_AT_MOST,   /* more different values of the terms on one PMU and CPU than `most` */
};

/* A term is "set" when its bits are not all zero. */
struct unc_rule {
	enum unc_rule_kind kind;
	struct unc_names terms;
	struct unc_names when;    /* only for events that set all of these */
	struct unc_names inherit; /* an event of a "{}" that sets none of these has its leader's */
	size_t most;
	const struct unc_event_def *except; /* exempt; NULL: none */
	const char *why, *evidence;
};

void unc_rules_free(struct unc_rule *rules, size_t count);

struct unc_want;
struct unc_error;

/* -EINVAL with a sentence: what is wanted breaks a rule of its PMU's family. */
int unc_rules_check(const struct unc_want *wants, size_t count, struct unc_error *e);

#endif

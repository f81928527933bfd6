/* SPDX-License-Identifier: MIT */
/* perf's event syntax, as text: no machine is needed to parse it. Fuzzed. */
#ifndef UNC_EVENT_H
#define UNC_EVENT_H

#include "base/text.h"

struct unc_event {
	char *text;         /* as written, "uncore_imc/event=4/" with its modifier */
	char *pmu;          /* before the first slash; NULL: a bare alias name */
	char *terms;        /* between the slashes, or the bare name */
	uint32_t modifiers; /* UNC_MOD_*, the group's own included */
	int group;          /* -1: none; else the number of its "{}" in the list, from 0 */
	size_t pos;         /* byte offset in the list, for messages */
};

enum {
	UNC_MOD_USER = 1u << 0,        /* u */
	UNC_MOD_KERNEL = 1u << 1,      /* k */
	UNC_MOD_HV = 1u << 2,          /* h */
	UNC_MOD_NO_IDLE = 1u << 3,     /* I: exclude_idle */
	UNC_MOD_GUEST = 1u << 4,       /* G */
	UNC_MOD_HOST = 1u << 5,        /* H */
	UNC_MOD_PINNED = 1u << 6,      /* D */
	UNC_MOD_EXCLUSIVE = 1u << 7,   /* e */
	UNC_MOD_WEAK = 1u << 8,        /* W: a group that may be split */
	UNC_MOD_SAMPLE_READ = 1u << 9, /* S: no meaning for counting */
	UNC_MOD_BPF = 1u << 10,        /* b */
	UNC_MOD_PRECISE = 1u << 11,    /* p, P: no meaning for counting */
};

struct unc_events {
	struct unc_event *items;
	size_t count;
	size_t group_count;
};

/* Parses a list. -EINVAL with a sentence that shows the text and marks the column. At most 4096
 * events. perf's commas inside slashes, spaces around commas and braces, "{a,b}:W", "a/b/:u" and
 * "a/b/u" are taken; a group in a group, an empty group or an empty event are errors. */
int unc_events_parse(const char *text, struct unc_events *out, struct unc_error *e);
void unc_events_finish(struct unc_events *l);

#endif

/* SPDX-License-Identifier: MIT */
/* perf's event syntax: "{pmu/terms/modifiers,alias:modifiers}:modifiers,..." as text. */
#include "machine/event.h"
#include "base/text.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define MOST_EVENTS 4096
#define SHOWN 72                  /* characters of the list in a sentence */
#define MODIFIERS "ukhIGHDeWSbpP" /* in the order of UNC_MOD_*; 'P' is another 'p' */

struct parser {
	const char *text, *at;
	int group; /* open now; -1: none */
	struct unc_events list;
	struct unc_error *e;
};

/* Appends the text around `at`, with a mark below it. */
static int show_mistake(const struct parser *p, const char *at)
{
	size_t pos = (size_t)(at - p->text), begin = pos > SHOWN / 2 ? pos - SHOWN / 2 : 0, n = 0;
	char shown[SHOWN + 1];

	for (; n < SHOWN && p->text[begin + n]; n++) {
		char c = p->text[begin + n];

		shown[n] = c >= ' ' && c <= '~' ? c : '?';
	}
	shown[n] = '\0';
	unc_error_append(p->e, "\n  %s%s%s\n  %*s^", begin ? "..." : "", shown,
			 p->text[begin + n] ? "..." : "", (int)(pos - begin + (begin ? 3 : 0)), "");
	return -EINVAL;
}

#define fail_at(p, at, ...)                                                                        \
	(unc_error_put((p)->e, false, "event list, column %zu: ", (size_t)((at) - (p)->text) + 1), \
	 unc_error_append((p)->e, __VA_ARGS__), show_mistake(p, at))

static void skip_spaces(struct parser *p)
{
	p->at += strspn(p->at, UNC_SPACES);
}

/* ---- modifiers ---- */

/* After ':' there must be one; after a slash there may. Each once, but for "ppp". */
static int take_modifiers(struct parser *p, bool after_slash, uint32_t *out)
{
	bool colon = *p->at == ':', letters = colon || after_slash;
	const char *begin = p->at += colon, *found;

	for (; letters && *p->at; p->at++) {
		found = strchr(MODIFIERS, *p->at == 'P' ? 'p' : *p->at);
		if (!found)
			break;
		if (*out >> (found - MODIFIERS) & 1 && *found != 'p')
			return fail_at(p, p->at, "the modifier '%c' is given twice", *p->at);
		*out |= 1u << (found - MODIFIERS);
	}
	if (colon && p->at == begin)
		return fail_at(p, p->at, "expected modifiers after ':', some of " MODIFIERS);
	if (!*p->at || strchr(",}" UNC_SPACES, *p->at))
		return 0;
	if (*p->at == '{')
		return fail_at(p, p->at, "expected a comma before '{'");
	if (colon)
		return fail_at(p, p->at, "expected modifiers, some of " MODIFIERS);
	return fail_at(p, p->at,
		       "expected a comma, modifiers (some of " MODIFIERS ") or the end; or does an "
		       "event before this lack its closing slash?");
}

/* ---- one event ---- */

static int take_name(struct parser *p)
{
	const char *begin = p->at, *colon;

	p->at += strcspn(p->at, ",{}/" UNC_SPACES);
	/* A colon ends the bare name of an event; in front of a slash it is part of a PMU's. */
	colon = memchr(begin, ':', (size_t)(p->at - begin));
	if (*p->at != '/' && colon)
		p->at = colon;
	if (p->at == begin)
		return fail_at(p, p->at, "expected an event, such as pmu/term=value/");
	for (const char *c = begin; c < p->at; c++)
		if (*c == '\'' || *c == '=' || *c < ' ' || *c > '~')
			return fail_at(p, c,
				       *c == '=' ? "terms need a PMU: pmu/term=value/"
						 : "this character cannot be part of a name");
	return 0;
}

static int take_event(struct parser *p)
{
	const char *name = p->at, *name_end, *end;
	bool has_pmu, quoted = false;
	uint32_t modifiers = 0;
	struct unc_event *ev;

	if (p->list.count == MOST_EVENTS)
		return fail_at(p, p->at, "more than %d events", MOST_EVENTS);
	if (take_name(p) < 0)
		return -EINVAL;
	name_end = p->at;
	has_pmu = *p->at == '/';
	if (has_pmu) {
		/* A slash between quotation marks does not end the terms. */
		for (p->at++; *p->at && (quoted || *p->at != '/'); p->at++)
			quoted ^= *p->at == '\'';
		if (!*p->at && quoted)
			return fail_at(p, p->at, "a closing quotation mark is missing");
		if (!*p->at)
			return fail_at(p, p->at, "the closing slash is missing: write %.80s/",
				       name);
		p->at++;
	}
	end = p->at;
	if (take_modifiers(p, has_pmu, &modifiers) < 0)
		return -EINVAL;
	ev = unc_append(&p->list.items, &p->list.count, sizeof(*ev));
	if (!ev)
		return unc_nomem(p->e);
	ev->group = p->group;
	ev->pos = (size_t)(name - p->text);
	ev->modifiers = modifiers;
	ev->text = strndup(name, (size_t)(p->at - name));
	/* Nothing between the slashes is all bits zero, as in perf. */
	ev->terms = has_pmu ? strndup(name_end + 1, (size_t)(end - name_end - 2))
			    : strndup(name, (size_t)(name_end - name));
	ev->pmu = has_pmu ? strndup(name, (size_t)(name_end - name)) : NULL;
	return ev->text && ev->terms && (ev->pmu || !has_pmu) ? 0 : unc_nomem(p->e);
}

/* ---- groups and the list ---- */

static int take_group(struct parser *p)
{
	const char *open = p->at;
	size_t first = p->list.count;
	uint32_t modifiers = 0;
	int r;

	p->group = (int)p->list.group_count++;
	do {
		p->at++;
		skip_spaces(p);
		if (*p->at == '{')
			return fail_at(p, p->at, "a group cannot be part of a group");
		if (*p->at == '}' && first == p->list.count)
			return fail_at(p, p->at, "a group needs at least one event");
		r = take_event(p);
		if (r < 0)
			return r;
		skip_spaces(p);
	} while (*p->at == ',');
	if (!*p->at)
		return fail_at(p, open, "this '{' is not closed");
	if (*p->at != '}')
		return fail_at(p, p->at, "expected a comma or '}'");
	p->group = -1;
	p->at++;
	r = take_modifiers(p, false, &modifiers);
	/* Modifiers of a group hold for each of its events. */
	for (size_t i = first; r == 0 && i < p->list.count; i++)
		p->list.items[i].modifiers |= modifiers;
	return r;
}

int unc_events_parse(const char *text, struct unc_events *out, struct unc_error *e)
{
	struct parser p = {.text = text, .at = text, .group = -1, .e = e};
	size_t name;
	int r = 0;

	skip_spaces(&p);
	if (!*p.at)
		r = unc_fail(e, EINVAL,
			     "the event list is empty; expected an event such as pmu/term=value/");
	for (bool more = r == 0; more; p.at++) {
		skip_spaces(&p);
		/* perf lets a group have a name, "name{a,b}", and does not use it. */
		name = strcspn(p.at, ",{}/:" UNC_SPACES);
		if (p.at[name] == '{')
			p.at += name;
		r = *p.at == '{' ? take_group(&p) : take_event(&p);
		skip_spaces(&p);
		if (r == 0 && *p.at && *p.at != ',')
			r = fail_at(&p, p.at, "expected a comma or the end of the list");
		more = r == 0 && *p.at;
	}
	if (r < 0)
		unc_events_finish(&p.list);
	else
		*out = p.list;
	return r;
}

void unc_events_finish(struct unc_events *l)
{
	for (size_t i = 0; i < l->count; i++) {
		free(l->items[i].text);
		free(l->items[i].pmu);
		free(l->items[i].terms);
	}
	free(l->items);
	*l = (struct unc_events){0};
}

/* SPDX-License-Identifier: MIT */
/* perf's event syntax: "{pmu/terms/modifiers,alias:modifiers}:modifiers,..." as text. */
#include "machine/event.h"
#include "base/text.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_EVENTS 4096
#define SHOWN 72 /* characters of the list in a sentence */
#define SPACES " \t\n\v\f\r"
#define MODIFIERS "ukhIGHDeWSbpP" /* in the order of UNC_MOD_*; 'P' is another 'p' */

struct parser {
	const char *text, *at;
	int group; /* open now; -1: none */
	struct unc_events list;
	struct unc_error *e;
};

static int fail_at(const struct parser *p, const char *at, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* Shows the text around `at` with a mark below it. */
static int fail_at(const struct parser *p, const char *at, const char *fmt, ...)
{
	size_t pos = (size_t)(at - p->text), begin = pos > SHOWN / 2 ? pos - SHOWN / 2 : 0;
	char why[512], shown[SHOWN + 1];
	va_list args;
	size_t n = 0;

	if (!p->e)
		return -EINVAL;
	va_start(args, fmt);
	vsnprintf(why, sizeof(why), fmt, args);
	va_end(args);
	while (n < SHOWN && p->text[begin + n]) {
		char c = p->text[begin + n];

		shown[n++] = c >= ' ' && c <= '~' ? c : '?';
	}
	shown[n] = '\0';
	return unc_fail(p->e, EINVAL, "event list, column %zu: %s\n  %s%s%s\n  %*s^", pos + 1, why,
			begin ? "..." : "", shown, p->text[begin + n] ? "..." : "",
			(int)(pos - begin + (begin ? 3 : 0)), "");
}

static void skip_spaces(struct parser *p)
{
	p->at += strspn(p->at, SPACES);
}

/* ---- modifiers ---- */

/* Letters until something else; each once, but for "ppp". */
static int take_letters(struct parser *p, uint32_t *out)
{
	const char *found;

	for (; *p->at && (found = strchr(MODIFIERS, *p->at == 'P' ? 'p' : *p->at)); p->at++) {
		uint32_t bit = 1u << (found - MODIFIERS);

		if (*out & bit && bit != UNC_MOD_PRECISE)
			return fail_at(p, p->at, "the modifier '%c' is given twice", *p->at);
		*out |= bit;
	}
	return 0;
}

/* After ':' there must be one; after a slash there may. */
static int take_modifiers(struct parser *p, bool after_slash, uint32_t *out)
{
	bool colon = *p->at == ':';
	const char *begin = p->at += colon;

	if ((colon || after_slash) && take_letters(p, out) < 0)
		return -EINVAL;
	if (colon && p->at == begin)
		return fail_at(p, p->at, "expected modifiers after ':', some of " MODIFIERS);
	if (!*p->at || strchr(",}" SPACES, *p->at))
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

	p->at += strcspn(p->at, ",{}/" SPACES);
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

/* What is between the slashes; a slash between quotation marks is not one. */
static int take_terms(struct parser *p, const char *name)
{
	bool quoted = false;

	for (p->at++; *p->at && (quoted || *p->at != '/'); p->at++)
		quoted ^= *p->at == '\'';
	if (!*p->at && quoted)
		return fail_at(p, p->at, "a closing quotation mark is missing");
	if (!*p->at)
		return fail_at(p, p->at, "the closing slash is missing: write %.80s/", name);
	p->at++;
	return 0;
}

static char *copy(const char *begin, const char *end)
{
	return strndup(begin, (size_t)(end - begin));
}

static int take_event(struct parser *p)
{
	const char *name = p->at, *name_end, *end;
	struct unc_event *ev;
	uint32_t modifiers = 0;
	bool has_pmu;
	int r;

	if (p->list.count == MOST_EVENTS)
		return fail_at(p, p->at, "more than %d events", MOST_EVENTS);
	r = take_name(p);
	name_end = p->at;
	has_pmu = r == 0 && *p->at == '/';
	if (has_pmu)
		r = take_terms(p, name);
	end = p->at;
	if (r == 0)
		r = take_modifiers(p, has_pmu, &modifiers);
	if (r < 0)
		return r;
	ev = unc_append(&p->list.items, &p->list.count, sizeof(*ev));
	if (!ev)
		return unc_nomem(p->e);
	*ev = (struct unc_event){
		.group = p->group, .pos = (size_t)(name - p->text), .modifiers = modifiers};
	ev->text = copy(name, p->at);
	/* Nothing between the slashes is all bits zero, as in perf. */
	ev->terms = has_pmu ? copy(name_end + 1, end - 1) : copy(name, name_end);
	ev->pmu = has_pmu ? copy(name, name_end) : NULL;
	return ev->text && ev->terms && (ev->pmu || !has_pmu) ? 0 : unc_nomem(p->e);
}

/* ---- groups and the list ---- */

/* Modifiers of a group hold for each of its events. */
static int close_group(struct parser *p, size_t first)
{
	uint32_t modifiers = 0;
	int r;

	p->group = -1;
	p->at++;
	r = take_modifiers(p, false, &modifiers);
	for (size_t i = first; r == 0 && i < p->list.count; i++)
		p->list.items[i].modifiers |= modifiers;
	return r;
}

static int take_group(struct parser *p)
{
	const char *open = p->at++;
	size_t first = p->list.count;

	p->group = (int)p->list.group_count++;
	for (;; p->at++) {
		int r;

		skip_spaces(p);
		if (*p->at == '{')
			return fail_at(p, p->at, "a group cannot be part of a group");
		if (*p->at == '}' && first == p->list.count)
			return fail_at(p, p->at, "a group needs at least one event");
		r = take_event(p);
		if (r < 0)
			return r;
		skip_spaces(p);
		if (*p->at == '}')
			return close_group(p, first);
		if (!*p->at)
			return fail_at(p, open, "this '{' is not closed");
		if (*p->at != ',')
			return fail_at(p, p->at, "expected a comma or '}'");
	}
}

static int take_list(struct parser *p)
{
	skip_spaces(p);
	if (!*p->at)
		return unc_fail(
			p->e, EINVAL,
			"the event list is empty; expected an event such as pmu/term=value/");
	for (;; p->at++) {
		size_t name;
		int r;

		skip_spaces(p);
		/* perf lets a group have a name, "name{a,b}", and does not use it. */
		name = strcspn(p->at, ",{}/:" SPACES);
		if (p->at[name] == '{')
			p->at += name;
		r = *p->at == '{' ? take_group(p) : take_event(p);
		if (r < 0)
			return r;
		skip_spaces(p);
		if (!*p->at)
			return 0;
		if (*p->at != ',')
			return fail_at(p, p->at, "expected a comma or the end of the list");
	}
}

int unc_events_parse(const char *text, struct unc_events *out, struct unc_error *e)
{
	struct parser p = {.text = text, .at = text, .group = -1, .e = e};
	int r = take_list(&p);

	if (r < 0) {
		unc_events_finish(&p.list);
		return r;
	}
	*out = p.list;
	return 0;
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

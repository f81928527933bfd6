/* SPDX-License-Identifier: MIT */
/* perf's event syntax: "{pmu/terms/modifiers,alias:modifiers}:modifiers,..." as text. */
#include "machine/event.h"

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
	const char *text;
	size_t pos;
	int group; /* open now; -1: none */
	struct unc_events list;
	size_t room;
	struct unc_error *e;
};

struct span {
	size_t begin, end;
};

/* ---- sentences ---- */

static int fail_at(const struct parser *p, size_t pos, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* Shows the text around `pos` with a mark below it. */
static int fail_at(const struct parser *p, size_t pos, const char *fmt, ...)
{
	size_t begin = pos > SHOWN / 2 ? pos - SHOWN / 2 : 0;
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

/* ---- steps ---- */

static char current(const struct parser *p)
{
	return p->text[p->pos];
}

static void skip_spaces(struct parser *p)
{
	p->pos += strspn(p->text + p->pos, SPACES);
}

static char *copy(const struct parser *p, struct span s)
{
	return strndup(p->text + s.begin, s.end - s.begin);
}

static bool is_empty(struct span s)
{
	return s.begin == s.end;
}

static uint32_t modifier_bit(char c)
{
	const char *at = strchr(MODIFIERS, c == 'P' ? 'p' : c);

	return 1u << (at - MODIFIERS);
}

static bool is_modifier(char c)
{
	return c && strchr(MODIFIERS, c);
}

/* Letters until something else; each once, but for "ppp". */
static int take_modifiers(struct parser *p, uint32_t *out)
{
	for (; is_modifier(current(p)); p->pos++) {
		uint32_t bit = modifier_bit(current(p));

		if (*out & bit && bit != UNC_MOD_PRECISE)
			return fail_at(p, p->pos, "the modifier '%c' is given twice", current(p));
		*out |= bit;
	}
	return 0;
}

static bool ends_item(char c)
{
	return !c || strchr(",}" SPACES, c);
}

/* After ':' there must be one; after a slash there may. */
static int take_modifier_part(struct parser *p, bool after_slash, uint32_t *out)
{
	bool colon = current(p) == ':';
	size_t begin;

	p->pos += colon;
	begin = p->pos;
	if ((colon || after_slash) && take_modifiers(p, out) < 0)
		return -EINVAL;
	if (colon && p->pos == begin)
		return fail_at(p, p->pos, "expected modifiers after ':', some of " MODIFIERS);
	if (ends_item(current(p)))
		return 0;
	if (current(p) == '{')
		return fail_at(p, p->pos, "expected a comma before '{'");
	if (colon)
		return fail_at(p, p->pos, "expected modifiers, some of " MODIFIERS);
	return fail_at(p, p->pos,
		       "expected a comma, modifiers (some of " MODIFIERS ") or the end; or does an "
		       "event before this lack its closing slash?");
}

/* ---- one event ---- */

static int check_name(const struct parser *p, struct span name)
{
	for (size_t i = name.begin; i < name.end; i++) {
		char c = p->text[i];

		if (c == '\'' || c == '=' || c < ' ' || c > '~')
			return fail_at(p, i,
				       c == '=' ? "terms need a PMU: pmu/term=value/"
						: "this character cannot be part of a name");
	}
	return 0;
}

static int take_name(struct parser *p, struct span *name)
{
	const char *stop = strcspn(p->text + p->pos, ",{}/" SPACES) + p->text + p->pos;
	const char *colon;

	name->begin = p->pos;
	name->end = (size_t)(stop - p->text);
	/* A colon ends the bare name of an event; in front of a slash it is part of a PMU's. */
	colon = memchr(p->text + p->pos, ':', name->end - name->begin);
	if (*stop != '/' && colon)
		name->end = (size_t)(colon - p->text);
	p->pos = name->end;
	if (is_empty(*name))
		return fail_at(p, p->pos, "expected an event, such as pmu/term=value/");
	return check_name(p, *name);
}

/* What stands between the slashes; a slash between quotation marks is not one. */
static int take_terms(struct parser *p, struct span name, struct span *terms)
{
	bool quoted = false;

	terms->begin = ++p->pos;
	for (; current(p) && (quoted || current(p) != '/'); p->pos++)
		quoted ^= current(p) == '\'';
	terms->end = p->pos;
	if (!current(p) && quoted)
		return fail_at(p, p->pos, "a closing quotation mark is missing");
	if (!current(p))
		return fail_at(p, p->pos, "the closing slash is missing: write %.80s/",
			       p->text + name.begin);
	p->pos++;
	return 0;
}

static struct unc_event *add_event(struct parser *p)
{
	size_t room = p->room ? p->room * 2 : 8;
	struct unc_event *items;

	if (p->list.count == p->room) {
		items = reallocarray(p->list.items, room, sizeof(*items));
		if (!items)
			return NULL;
		p->list.items = items;
		p->room = room;
	}
	p->list.items[p->list.count] = (struct unc_event){.group = p->group};
	return &p->list.items[p->list.count++];
}

/* `terms` NULL: a bare name. Nothing between the slashes is all bits zero, as in perf. */
static int store_event(struct parser *p, struct span name, const struct span *terms,
		       uint32_t modifiers)
{
	struct unc_event *ev = add_event(p);
	struct span all = {name.begin, p->pos};

	if (!ev)
		return unc_nomem(p->e);
	ev->pos = name.begin;
	ev->modifiers = modifiers;
	ev->text = copy(p, all);
	ev->terms = copy(p, terms ? *terms : name);
	if (terms)
		ev->pmu = copy(p, name);
	if (!ev->text || !ev->terms || (terms && !ev->pmu))
		return unc_nomem(p->e);
	return 0;
}

static int take_event(struct parser *p)
{
	struct span name, terms = {0, 0};
	uint32_t modifiers = 0;
	bool has_pmu;
	int r;

	if (p->list.count == MOST_EVENTS)
		return fail_at(p, p->pos, "more than %d events", MOST_EVENTS);
	r = take_name(p, &name);
	has_pmu = r == 0 && current(p) == '/';
	if (has_pmu)
		r = take_terms(p, name, &terms);
	if (r == 0)
		r = take_modifier_part(p, has_pmu, &modifiers);
	return r < 0 ? r : store_event(p, name, has_pmu ? &terms : NULL, modifiers);
}

/* ---- groups and the list ---- */

/* Modifiers of a group hold for each of its events. */
static int close_group(struct parser *p, size_t first)
{
	uint32_t modifiers = 0;
	int r;

	p->group = -1;
	p->pos++;
	r = take_modifier_part(p, false, &modifiers);
	for (size_t i = first; r == 0 && i < p->list.count; i++)
		p->list.items[i].modifiers |= modifiers;
	return r;
}

static int take_group(struct parser *p)
{
	size_t open = p->pos++, first = p->list.count;

	p->group = (int)p->list.group_count++;
	for (;;) {
		int r;

		skip_spaces(p);
		if (current(p) == '{')
			return fail_at(p, p->pos, "a group cannot be part of a group");
		if (current(p) == '}' && first == p->list.count)
			return fail_at(p, p->pos, "a group needs at least one event");
		r = take_event(p);
		if (r < 0)
			return r;
		skip_spaces(p);
		if (current(p) == '}')
			return close_group(p, first);
		if (!current(p))
			return fail_at(p, open, "this '{' is not closed");
		if (current(p) != ',')
			return fail_at(p, p->pos, "expected a comma or '}'");
		p->pos++;
	}
}

/* perf lets a group have a name, "name{a,b}", and makes no use of it. */
static void skip_group_name(struct parser *p)
{
	size_t len = strcspn(p->text + p->pos, ",{}/:" SPACES);

	if (p->text[p->pos + len] == '{')
		p->pos += len;
}

static int take_list(struct parser *p)
{
	skip_spaces(p);
	if (!current(p))
		return unc_fail(
			p->e, EINVAL,
			"the event list is empty; expected an event such as pmu/term=value/");
	for (;;) {
		int r;

		skip_spaces(p);
		skip_group_name(p);
		r = current(p) == '{' ? take_group(p) : take_event(p);
		if (r < 0)
			return r;
		skip_spaces(p);
		if (!current(p))
			return 0;
		if (current(p) != ',')
			return fail_at(p, p->pos, "expected a comma or the end of the list");
		p->pos++;
	}
}

int unc_events_parse(const char *text, struct unc_events *out, struct unc_error *e)
{
	struct parser p = {.text = text, .group = -1, .e = e};
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

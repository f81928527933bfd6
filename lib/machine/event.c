/* SPDX-License-Identifier: MIT */
/* perf's event syntax: "{pmu/terms/modifiers,alias:modifiers}:modifiers,..." as text, and the terms
 * of one event as configuration words. */
#include "machine/pmu.h"

#include <math.h>

#define MOST_EVENTS 4096
#define SHOWN 72                  /* characters of the list that a sentence shows */
#define MODIFIERS "ukhIGHDeWSbpP" /* in the order of UNC_MOD_*; 'P' means the same as 'p' */

struct parser {
	const char *text, *at;
	int group; /* the open group; -1: none */
	struct unc_events list;
	struct unc_error *e;
};

/* Appends the text around `at`, with a mark below the mistake. */
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

/* Reads modifiers. After ':' there must be one; after a slash there may be. Only 'p' may be
 * repeated ("ppp"). */
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
	/* A colon ends the bare name of an event. Before a slash it belongs to the name of a
	 * PMU. */
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
	/* No terms between the slashes means that all bits are zero, as in perf. */
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
	/* Modifiers of a group apply to each of its events. */
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
		/* perf accepts a name of a group, "name{a,b}", and ignores it. */
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

/* ---- the text between the slashes, as configuration words ---- */

#define LISTED 20 /* names that a sentence lists at most */
#define TRACKED 256
#define HIGHEST_CPU 65535

struct encoder {
	const struct uncore_pmu *pmu;
	const char *user; /* the user's list of terms */
	/* The alias whose terms are being put; NULL: the user's terms. */
	const struct uncore_alias *alias;
	unsigned number; /* number of the current assignment, from 1 */
	/* For each term, by index: the number of the user's assignment that set it; 0: none. */
	unsigned given[TRACKED];
	/* For one list: bits that are set, and bits that have a value. */
	struct unc_config words, mask;
	struct unc_encoding out;
	struct unc_error *e;
};

/* ---- sentences ---- */

/* Begins the sentence. Blames the kernel for a mistake in an alias, and the user for others. */
static int blame(const struct encoder *x)
{
	if (x->alias)
		return unc_fail(x->e, EBADMSG, "%s: its event '%s' is '%.100s': ", x->pmu->name,
				x->alias->name, x->alias->terms);
	return unc_fail(x->e, EINVAL, "%s/%.100s/: ", x->pmu->name, x->user);
}

#define refuse(x, ...) \
	(blame(x), unc_error_append((x)->e, __VA_ARGS__), (x)->alias ? -EBADMSG : -EINVAL)

static void add_list(struct unc_error *e, const char *what, const char *const *names, size_t count)
{
	unc_error_append(e, count ? "; its %s: " : "; it has no %s", what);
	for (size_t i = 0; i < count && i < LISTED; i++)
		unc_error_append(e, "%s%s", i ? ", " : "", names[i]);
	if (count > LISTED)
		unc_error_append(e, " and %zu more", count - LISTED);
}

/* Refuses an unknown name, and lists the known ones. */
static int refuse_unknown(const struct encoder *x, const char *name, bool terms, bool events)
{
	const struct uncore_pmu *p = x->pmu;
	size_t term_count = terms ? p->term_count : 0, count = term_count, len = strlen(name);

	const struct uncore_alias *vendor;
	const char **names;
	size_t vendor_count;
	int err;

	for (size_t i = 0; terms && i < p->fixed.count; i++)
		if (strncmp(p->fixed.items[i], name, len) == 0 && p->fixed.items[i][len] == ':')
			return refuse(x, "no event can set the field %s", p->fixed.items[i]);
	err = refuse(x, "it has no %s%s%s '%s'", terms ? "term" : "", terms && events ? " or " : "",
		     events ? "event" : "", name);
	if (!x->e)
		return err;
	names = calloc(p->term_count + p->alias_count + 1, sizeof(*names));
	if (!names)
		return unc_nomem(x->e);
	for (size_t i = 0; i < term_count; i++)
		names[i] = p->terms[i].name;
	for (size_t i = 0; events && i < p->alias_count; i++)
		names[count++] = p->aliases[i].name;
	if (!unc_error_suggest(x->e, name, names, sizeof(*names), count) && events) {
		vendor = unc_pmu_vendor_events(p, &vendor_count);
		unc_error_suggest(x->e, name, vendor, sizeof(*vendor), vendor_count);
	}
	if (terms)
		add_list(x->e, "terms", names, term_count);
	if (events)
		add_list(x->e, "events", names + term_count, count - term_count);
	free(names);
	return err;
}

/* ---- words that all PMUs accept ---- */

/* The number of "config" (0) to "config3" (3); -1: another name. */
static int config_word(const char *name)
{
	if (strncmp(name, "config", 6) != 0)
		return -1;
	if (!name[6])
		return 0;
	return name[6] >= '1' && name[6] <= '3' && !name[7] ? name[6] - '0' : -1;
}

static bool is_built_in(const char *name)
{
	return config_word(name) >= 0 || strcmp(name, "name") == 0 || strcmp(name, "cpu") == 0 ||
	       strcmp(name, "metric-id") == 0;
}

/* The digits of perf's raw codes, "r1a" or "r0x1a", both hexadecimal; NULL: no raw code. In perf
 * the code may begin with a letter. Here it must begin with a digit: on a PMU without an event
 * "read" this name is a mistake, not the code 0xead. */
static const char *raw_digits(const struct encoder *x, const struct unc_assignment *a)
{
	const char *digits = a->name + 1;

	if (a->has_value || a->name[0] != 'r' || !unc_is_digit(*digits))
		return NULL;
	if (digits[0] == '0' && digits[1] == 'x')
		digits += 2;
	if (!*digits || digits[strspn(digits, "0123456789abcdefABCDEF")] ||
	    unc_pmu_term(x->pmu, a->name) || unc_pmu_alias(x->pmu, a->name))
		return NULL;
	return digits;
}

/* ---- values ---- */

static int read_number(const struct encoder *x, const struct unc_assignment *a, uint64_t *out)
{
	int err;

	if (!a->has_value)
		return refuse(x, "'%s' needs a value: %s=NUMBER", a->name, a->name);
	err = unc_parse_u64(a->value, out);
	if (err == -ERANGE)
		return refuse(x, "the value of '%s', %s, is wider than 64 bits", a->name, a->value);
	if (err)
		return refuse(x,
			      "the value of '%s', '%s', is not a number; write decimal, or "
			      "hexadecimal with 0x",
			      a->name, a->value);
	return 0;
}

static int put_built_in(struct encoder *x, const struct unc_assignment *a)
{
	uint64_t cpu = 0;
	int err;

	if (strcmp(a->name, "metric-id") == 0)
		return 0;
	if (strcmp(a->name, "name") == 0) {
		if (!a->has_value)
			return refuse(x, "'name' needs a value: name=TEXT");
		snprintf(x->out.name, sizeof(x->out.name), "%s", a->value);
		return 0;
	}
	err = read_number(x, a, &cpu);
	if (err)
		return err;
	if (cpu > HIGHEST_CPU)
		return refuse(x, "there is no CPU %s", a->value);
	x->out.cpu = (int)cpu;
	return 0;
}

static int put_term(struct encoder *x, const struct unc_assignment *a,
		    const struct uncore_term *term)
{
	size_t i = (size_t)(term - x->pmu->terms);
	uint64_t value = 1, placed = 0;
	int width = __builtin_popcountll(term->bits), err = 0;

	if (term->word < 0)
		return refuse(x,
			      "the term '%s' cannot be used: its format '%.100s' is not understood",
			      term->name, term->format);
	/* Tools differ in what a term given twice means: one uses the last value, another adds
	 * both. */
	if (!x->alias && i < TRACKED) {
		if (x->given[i] && x->given[i] != x->number)
			return refuse(x, "the term '%s' is given twice", term->name);
		x->given[i] = x->number;
	}
	if (a->has_value)
		err = read_number(x, a, &value);
	if (err)
		return err;
	if (unc_format_put(term->bits, value, &placed) == 0) {
		x->words.word[term->word] |= placed;
		x->mask.word[term->word] |= term->bits;
		return 0;
	}
	return refuse(x,
		      "the value 0x%llx is too wide for the term '%s', which has %d bit%s (%s): "
		      "the largest is 0x%llx",
		      (unsigned long long)value, term->name, width, width == 1 ? "" : "s",
		      term->format, (1ULL << width) - 1);
}

/* Puts the terms that names stand for: "opc=RFO", "state=M+E". The bits of several names add up. */
static int put_named(struct encoder *x, const struct unc_assignment *a,
		     const struct uncore_term *named)
{
	char names[sizeof(a->value)], *rest = names, *name;
	int r = 0;

	snprintf(names, sizeof(names), "%s", a->has_value ? a->value : "");
	while ((name = strsep(&rest, "+"))) {
		bool joined = true;
		const char *at = unc_pmu_named_value(x->pmu, named->name, name, &joined);
		struct unc_assignment set;

		if (!at)
			return refuse(x, "the term '%s' has no value '%s'; it has: %s", named->name,
				      name, named->values);
		if (name != names && !joined)
			return refuse(x, "the term '%s' takes one value, not several joined by +",
				      named->name);
		while (r == 0 && unc_assignment_next(&at, &set) == 1) {
			const struct uncore_term *term = unc_pmu_term(x->pmu, set.name);

			r = term ? put_term(x, &set, term)
				 : refuse(x, "'%s=%s' needs the term '%s', which the driver lacks",
					  named->name, name, set.name);
		}
	}
	return r;
}

/* ---- aliases ---- */

/* The alias that an assignment of the user names, by a bare name or by event=NAME. A name that is
 * also a term is the term. */
static const struct uncore_alias *alias_meant(const struct encoder *x,
					      const struct unc_assignment *a)
{
	uint64_t number;

	if (is_built_in(a->name))
		return NULL;
	if (!a->has_value)
		return unc_pmu_term(x->pmu, a->name) ? NULL : unc_pmu_event(x->pmu, a->name);
	if (strcmp(a->name, "event") != 0 || unc_parse_u64(a->value, &number) != -EINVAL)
		return NULL;
	return unc_pmu_event(x->pmu, a->value);
}

/* Checks a placeholder "name=?" in an alias: a later term of the user must replace it. */
static int check_placeholder(struct encoder *x, const struct unc_assignment *placeholder)
{
	const struct uncore_alias *alias = x->alias;
	const char *at = x->user;
	struct unc_assignment a;

	while (unc_assignment_next(&at, &a) == 1)
		if (a.has_value && strcmp(a.name, placeholder->name) == 0)
			return 0;
	x->alias = NULL; /* the mistake is the user's */
	return refuse(x, "the event '%s' needs a value for '%s': write %s/%s,%s=VALUE/",
		      alias->name, placeholder->name, x->pmu->name, alias->name, placeholder->name);
}

/* Refuses an alias whose files give no valid scale: its value would be wrong. */
static int refuse_scale(const struct encoder *x)
{
	static const char *const suffixes[] = {".unit", ".scale"};
	const char *name = x->alias->name;
	char file[300], *text = NULL;
	int r = 0;

	for (int i = 0; i < 2 && (r == 0 || r == -ENOENT); i++) {
		free(text);
		text = NULL;
		snprintf(file, sizeof(file), "events/%s%s", name, suffixes[i]);
		r = unc_pmu_attribute(x->pmu, file, &text);
	}
	if (r < 0)
		r = refuse(x, "sys/bus/event_source/devices/%s/%s cannot be read: %s", x->pmu->name,
			   file, unc_errno_text(r));
	else
		r = refuse(
			x,
			"sys/bus/event_source/devices/%s/%s: '%.100s' is not a valid number such as "
			"6.1035e-5",
			x->pmu->name, file, text);
	free(text);
	return r;
}

/* ---- lists ---- */

/* Puts one assignment. `words`: only assignments that set a whole word; otherwise only the
 * others. */
static int put(struct encoder *x, const struct unc_assignment *a, bool words)
{
	const char *raw = raw_digits(x, a);
	int word = raw ? 0 : config_word(a->name);
	const struct uncore_term *term;
	char number[80];

	if (words != (word >= 0))
		return 0;
	if (x->alias && strcmp(a->value, "?") == 0)
		return check_placeholder(x, a);
	if (word >= 0)
		x->mask.word[word] = UINT64_MAX;
	if (raw) {
		snprintf(number, sizeof(number), "0x%s", raw);
		return unc_parse_u64(number, &x->words.word[0])
			       ? refuse(x, "the code %s is wider than 64 bits", a->name)
			       : 0;
	}
	if (word >= 0)
		return read_number(x, a, &x->words.word[word]);
	if (!x->alias && alias_meant(x, a))
		return 0; /* the alias's terms were put before */
	if (is_built_in(a->name))
		return put_built_in(x, a);
	term = unc_pmu_term(x->pmu, a->name);
	if (!term)
		return refuse_unknown(x, a->name, true, !a->has_value && !x->alias);
	if (a->has_value && strcmp(a->name, "event") == 0 && !x->alias && !unc_is_digit(*a->value))
		return refuse_unknown(x, a->value, false, true);
	return term->values ? put_named(x, a, term) : put_term(x, a, term);
}

/* Puts a list. Whole words come first, so that the order of the text does not matter. Bits of a
 * list add up, as in perf: terms may overlap. */
static int put_list(struct encoder *x, const char *text)
{
	struct unc_assignment a;
	int r = 0;

	for (int pass = 0; pass < 2; pass++) {
		const char *at = text;

		while ((r = unc_assignment_next(&at, &a)) == 1) {
			x->number++;
			r = put(x, &a, pass == 0);
			if (r < 0)
				return r;
		}
		if (r < 0)
			return refuse(x, "at '%.40s': expected a list such as term=1,term=0x2", at);
	}
	for (int i = 0; i < 4; i++) {
		x->out.config.word[i] &= ~x->mask.word[i];
		x->out.config.word[i] |= x->words.word[i];
	}
	x->words = x->mask = (struct unc_config){0};
	return 0;
}

int unc_pmu_encode(const struct uncore_pmu *p, const char *terms, struct unc_encoding *out,
		   struct unc_error *e)
{
	struct encoder x = {.pmu = p, .user = terms, .e = e, .out = {.cpu = -1}};
	const struct uncore_alias *found;
	struct unc_assignment a;
	const char *at = terms;
	int r = unc_pmu_load(p);

	if (r < 0) {
		if (e && e != p->error && p->error)
			*e = *p->error;
		return r;
	}
	while ((r = unc_assignment_next(&at, &a)) == 1) {
		found = alias_meant(&x, &a);
		if (found && x.out.alias)
			return refuse(&x,
				      "'%s' and '%s' are both events; only one can be counted here",
				      x.out.alias->name, found->name);
		if (found)
			x.out.alias = found;
	}
	if (r < 0)
		return refuse(&x, "at '%.40s': expected a list such as term=1,term=0x2 or an event",
			      at);
	if (x.out.alias) {
		x.alias = x.out.alias;
		if (isnan(x.alias->scale))
			r = refuse_scale(&x);
		/* Without terms the event with the number 0 would be counted. */
		else if (!*x.alias->terms)
			r = refuse(&x, "sys/bus/event_source/devices/%s/events/%s is empty",
				   x.pmu->name, x.alias->name);
		else
			r = put_list(&x, x.alias->terms);
		x.alias = NULL;
	}
	if (r == 0)
		r = put_list(&x, terms);
	if (r == 0)
		*out = x.out;
	return r;
}

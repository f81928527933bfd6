/* SPDX-License-Identifier: MIT */
/* The description of a register block: what is written, and only when the user says so. */
#include "base/text.h"
#include "source/regs/parse.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

const struct unc_regs_field *unc_regs_field(const struct unc_regs_control *c,
					    enum unc_field_purpose purpose)
{
	for (size_t i = 0; i < c->count; i++)
		if (c->fields[i].purpose == purpose)
			return &c->fields[i];
	return NULL;
}

unsigned unc_regs_narrowest(const struct unc_regs *r)
{
	unsigned width = 64;

	for (size_t i = 0; i < r->count; i++)
		if (r->counters[i].programmable && r->counters[i].width < width)
			width = r->counters[i].width;
	return width;
}

const struct unc_regs_field *unc_regs_find_field(const struct unc_regs *r,
						 enum unc_field_purpose purpose,
						 const struct unc_regs_control **control)
{
	for (size_t i = 0; i < r->control_count; i++) {
		const struct unc_regs_field *f = unc_regs_field(&r->controls[i], purpose);

		if (!f)
			continue;
		*control = &r->controls[i];
		return f;
	}
	return NULL;
}

/* "8", "24-31", "0-7,21": bits of a register. */
static int parse_bits(const struct unc_regs_parser *p, const struct unc_yaml *map, const char *key,
		      uint64_t *out)
{
	const struct unc_yaml *node = unc_yaml_get(map, key);
	const char *text = NULL;
	char format[80];
	int word;

	if (unc_yaml_text(p->file, map, key, &text, p->e) < 0)
		return -EBADMSG;
	if (!text)
		return 0;
	snprintf(format, sizeof(format), "config:%s", text);
	if (strlen(text) > 60 || unc_format_parse(format, &word, out) < 0)
		return unc_yaml_fail(p->file, node, p->e,
				     "'%s' are no bits such as 8, 24-31 or 0-7,21", text);
	if (p->r->bytes == 4 && *out >> 32)
		return unc_yaml_fail(p->file, node, p->e, "a register has 32 bits here");
	return 0;
}

static int parse_field(const struct unc_regs_parser *p, const struct unc_yaml *node,
		       struct unc_regs_control *c)
{
	static const char *const keys[] = {"!bits", "access", "use", NULL};
	static const char *const accesses[] = {"RW", "RO", "WO", NULL};
	static const char *const purposes[] = {"none",  "freeze", "frozen",    "enable", "event",
					       "umask", "edge",   "threshold", "filter", NULL};
	struct unc_yaml key = {.line = node->key_line, .col = node->key_col};
	struct unc_regs_field *f = &c->fields[c->count];
	unsigned access = UNC_ACCESS_RW, purpose = UNC_PURPOSE_NONE;

	if (c->count == UNC_REGS_FIELDS)
		return unc_yaml_fail(p->file, &key, p->e, "a register has at most %d fields",
				     UNC_REGS_FIELDS);
	if (!unc_regs_is_name(node->key, "_"))
		return unc_yaml_fail(p->file, &key, p->e, "'%s' is no name of a field", node->key);
	if (unc_yaml_check(p->file, node, keys, p->e) < 0 ||
	    parse_bits(p, node, "bits", &f->bits) < 0 ||
	    unc_regs_word(p, node, "access", accesses, &access) < 0 ||
	    unc_regs_word(p, node, "use", purposes, &purpose) < 0)
		return -EBADMSG;
	for (size_t i = 0; i < c->count; i++)
		if (f->bits & c->fields[i].bits)
			return unc_yaml_fail(p->file, unc_yaml_get(node, "bits"), p->e,
					     "'%s' overlaps '%s'", node->key, c->fields[i].name);
	f->name = node->key;
	f->access = (enum unc_regs_access)access;
	f->purpose = (enum unc_field_purpose)purpose;
	if (purpose != UNC_PURPOSE_NONE && purpose != UNC_PURPOSE_FILTER &&
	    unc_regs_field(c, f->purpose))
		return unc_yaml_fail(p->file, unc_yaml_get(node, "use"), p->e,
				     "'%s' has this use already",
				     unc_regs_field(c, f->purpose)->name);
	if (purpose != UNC_PURPOSE_NONE &&
	    (access == UNC_ACCESS_RO) != (purpose == UNC_PURPOSE_FROZEN))
		return unc_yaml_fail(p->file, unc_yaml_get(node, "use"), p->e,
				     "only 'frozen' is read, and the others are written");
	c->count++;
	return 0;
}

static int parse_control(const struct unc_regs_parser *p, const struct unc_yaml *node,
			 struct unc_regs_control *c)
{
	static const char *const keys[] = {"!offset", "ones", "!fields", NULL};
	static const char *const select_keys[] = {"ones", "!fields", NULL};
	static const uint64_t any[] = {0, UINT64_C(1) << 32};
	const struct unc_yaml *fields;
	bool select = c == &p->r->select;

	*c = (struct unc_regs_control){.name = node->key, .filter = -1, .at = node};
	if (unc_yaml_check(p->file, node, select ? select_keys : keys, p->e) < 0 ||
	    unc_regs_number(p, node, "offset", any, &c->offset) < 0 ||
	    parse_bits(p, node, "ones", &c->ones) < 0)
		return -EBADMSG;
	fields = unc_yaml_get(node, "fields");
	if (unc_yaml_expect(p->file, fields, UNC_YAML_MAP, p->e) < 0)
		return -EBADMSG;
	for (size_t i = 0; i < fields->count; i++)
		if (parse_field(p, &fields->children[i], c) < 0)
			return -EBADMSG;
	for (size_t i = 0; i < c->count; i++) {
		enum unc_field_purpose purpose = c->fields[i].purpose;

		if (purpose == UNC_PURPOSE_NONE ||
		    select == (purpose >= UNC_PURPOSE_ENABLE && purpose <= UNC_PURPOSE_THRESHOLD))
			continue;
		return unc_yaml_fail(p->file, fields, p->e,
				     "'%s' has no such use in the control register of %s",
				     c->fields[i].name, select ? "a counter" : "a whole instance");
	}
	return 0;
}

/* One field of an instance freezes it, and one says that it is frozen. */
static int check_one_each(const struct unc_regs_parser *p)
{
	static const enum unc_field_purpose purposes[] = {UNC_PURPOSE_FREEZE, UNC_PURPOSE_FROZEN};

	for (size_t i = 0; i < p->r->control_count; i++)
		for (size_t k = 0; k < 2; k++) {
			const struct unc_regs_control *c = &p->r->controls[i], *first = c;
			const struct unc_regs_field *f =
				unc_regs_find_field(p->r, purposes[k], &first);

			if (f && first != c && unc_regs_field(c, purposes[k]))
				return unc_yaml_fail(p->file, c->at, p->e,
						     "'%s' of '%s' has the use of its '%s' already",
						     f->name, first->name,
						     unc_regs_field(c, purposes[k])->name);
		}
	return 0;
}

/* Two registers of 32 bits make the word of the filter. */
static int number_filters(const struct unc_regs_parser *p)
{
	int next = 0;

	for (size_t i = 0; i < p->r->control_count; i++) {
		struct unc_regs_control *c = &p->r->controls[i];

		if (!unc_regs_field(c, UNC_PURPOSE_FILTER))
			continue;
		if (next == 2)
			return unc_yaml_fail(p->file, c->at, p->e,
					     "an instance has at most two registers of filters");
		for (size_t k = 0; k < c->count; k++)
			if (c->fields[k].bits >> 32)
				return unc_yaml_fail(p->file, c->at, p->e,
						     "a filter's register has 32 bits");
		c->filter = next++;
	}
	return 0;
}

static int parse_only(const struct unc_regs_parser *p, const struct unc_yaml *list)
{
	static const char *const keys[] = {"!event", "!counters", NULL};

	if (!list)
		return 0;
	if (unc_yaml_expect(p->file, list, UNC_YAML_LIST, p->e) < 0)
		return -EBADMSG;
	for (size_t i = 0; i < list->count; i++) {
		struct unc_regs_only *o = &p->r->only[p->r->only_count];

		if (p->r->only_count == UNC_REGS_ONLY)
			return unc_yaml_fail(p->file, &list->children[i], p->e,
					     "at most %d events are listed", UNC_REGS_ONLY);
		if (unc_yaml_check(p->file, &list->children[i], keys, p->e) < 0 ||
		    unc_yaml_u64(p->file, &list->children[i], "event", &o->event, p->e) < 0 ||
		    parse_bits(p, &list->children[i], "counters", &o->counters) < 0)
			return -EBADMSG;
		p->r->only_count++;
	}
	return 0;
}

/* The kernel's driver of the same box: both would write the same registers. */
static int parse_kernel(const struct unc_regs_parser *p, const struct unc_yaml *map)
{
	static const char *const keys[] = {"!pmu", "!module", NULL};

	if (!map)
		return 0;
	if (unc_yaml_check(p->file, map, keys, p->e) < 0 ||
	    unc_regs_line(p, map, "pmu", &p->r->kernel_pmu) < 0)
		return -EBADMSG;
	return unc_regs_line(p, map, "module", &p->r->kernel_module);
}

int unc_regs_parse_controls(const struct unc_regs_parser *p)
{
	const struct unc_yaml *root = p->file->root, *map = unc_yaml_get(root, "control");
	const struct unc_yaml *select = unc_yaml_get(root, "counter_control");
	static const char *const effects[] = {"wraps", "freezes", "freezes-all", NULL};
	unsigned effect = 0;

	if (map && unc_yaml_expect(p->file, map, UNC_YAML_MAP, p->e) < 0)
		return -EBADMSG;
	if (map && map->count > UNC_REGS_CONTROLS)
		return unc_yaml_fail(p->file, map, p->e, "at most %d control registers",
				     UNC_REGS_CONTROLS);
	for (size_t i = 0; map && i < map->count; i++)
		if (parse_control(p, &map->children[i], &p->r->controls[p->r->control_count++]) < 0)
			return -EBADMSG;
	if (select && parse_control(p, select, &p->r->select) < 0)
		return -EBADMSG;
	if (unc_regs_word(p, root, "overflow", effects, &effect) < 0 || check_one_each(p) < 0 ||
	    number_filters(p) < 0 || parse_only(p, unc_yaml_get(root, "only")) < 0)
		return -EBADMSG;
	p->r->overflow_freezes = effect >= 1;
	p->r->overflow_freezes_all = effect == 2;
	return parse_kernel(p, unc_yaml_get(root, "kernel"));
}

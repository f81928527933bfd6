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
static int read_bits(const struct unc_reader *r, const struct unc_yaml *node, uint64_t *out)
{
	const struct unc_regs *block = r->context;
	char format[80];
	int word;

	snprintf(format, sizeof(format), "config:%s", node->text);
	if (strlen(node->text) > 60 || unc_format_parse(format, &word, out) < 0)
		return unc_reader_fail(r, node, "'%s' are no bits such as 8, 24-31 or 0-7,21",
				       node->text);
	if (block->bytes == 4 && *out >> 32)
		return unc_reader_fail(r, node, "a register has 32 bits here");
	return 0;
}

/* ---- fields of a register ---- */

static int read_field_bits(const struct unc_reader *r, const struct unc_yaml *node, void *into)
{
	return read_bits(r, node, &((struct unc_regs_field *)into)->bits);
}

static const struct unc_field field_fields[] = {
	UNC_FIELD("!bits", TEXT, .check = read_field_bits),
	UNC_FIELD("access", WORD, UNC_AT(struct unc_regs_field, access),
		  .words = (const char *const[]){"RW", "RO", "WO", NULL}),
	UNC_FIELD("use", WORD, UNC_AT(struct unc_regs_field, purpose),
		  .words = (const char *const[]){"none", "freeze", "frozen", "enable", "event",
						 "umask", "edge", "threshold", "filter", NULL}),
	UNC_END,
};

static int read_field(const struct unc_reader *r, const struct unc_yaml *node,
		      struct unc_regs_control *c)
{
	static const struct unc_shape shape = {.fields = field_fields};
	struct unc_regs_field *f = &c->fields[c->count];
	const struct unc_regs_field *same;

	if (c->count == UNC_REGS_FIELDS)
		return unc_reader_fail_key(r, node, "a register has at most %d fields",
					   UNC_REGS_FIELDS);
	if (!unc_regs_is_name(node->key, "_"))
		return unc_reader_fail_key(r, node, "'%s' is no name of a field", node->key);
	f->name = node->key;
	if (unc_fill(r, node, &shape, f) < 0)
		return -EBADMSG;
	for (size_t i = 0; i < c->count; i++)
		if (f->bits & c->fields[i].bits)
			return unc_reader_fail(r, unc_yaml_get(node, "bits"), "'%s' overlaps '%s'",
					       node->key, c->fields[i].name);
	same = unc_regs_field(c, f->purpose);
	if (f->purpose != UNC_PURPOSE_NONE && f->purpose != UNC_PURPOSE_FILTER && same)
		return unc_reader_fail(r, unc_yaml_get(node, "use"), "'%s' has this use already",
				       same->name);
	if (f->purpose != UNC_PURPOSE_NONE &&
	    (f->access == UNC_ACCESS_RO) != (f->purpose == UNC_PURPOSE_FROZEN))
		return unc_reader_fail(r, unc_yaml_get(node, "use"),
				       "only 'frozen' is read, and the others are written");
	c->count++;
	return 0;
}

/* ---- registers ---- */

static int read_ones(const struct unc_reader *r, const struct unc_yaml *node, void *into)
{
	return read_bits(r, node, &((struct unc_regs_control *)into)->ones);
}

static int read_fields(const struct unc_reader *r, const struct unc_yaml *map, void *into)
{
	const struct unc_regs *block = r->context;
	struct unc_regs_control *c = into;
	bool select = c == &block->select;
	int err = unc_reader_expect(r, map, UNC_YAML_MAP);

	for (size_t i = 0; err == 0 && i < map->count; i++)
		err = read_field(r, &map->children[i], c);
	for (size_t i = 0; err == 0 && i < c->count; i++) {
		enum unc_field_purpose purpose = c->fields[i].purpose;

		if (purpose != UNC_PURPOSE_NONE &&
		    select != (purpose >= UNC_PURPOSE_ENABLE && purpose <= UNC_PURPOSE_THRESHOLD))
			err = unc_reader_fail(r, map,
					      "'%s' has no such use in the control register of %s",
					      c->fields[i].name,
					      select ? "a counter" : "a whole instance");
	}
	return err;
}

static const struct unc_field control_fields[] = {
	UNC_FIELD("!offset", NUMBER, UNC_AT(struct unc_regs_control, offset),
		  .most = UNC_REGS_OFFSET_MOST),
	UNC_FIELD("ones", TEXT, .check = read_ones),
	UNC_FIELD("!fields", ANY, .check = read_fields),
	UNC_END,
};

static int read_control(const struct unc_reader *r, const struct unc_yaml *node,
			const struct unc_field *fields, struct unc_regs_control *c)
{
	*c = (struct unc_regs_control){.name = node->key, .filter = -1, .at = node};
	return unc_fill(r, node, &(struct unc_shape){.fields = fields}, c);
}

int unc_regs_read_controls(const struct unc_reader *r, const struct unc_yaml *map, void *into)
{
	struct unc_regs *block = into;
	int err = unc_reader_expect(r, map, UNC_YAML_MAP);

	if (err == 0 && map->count > UNC_REGS_CONTROLS)
		err = unc_reader_fail(r, map, "at most %d control registers", UNC_REGS_CONTROLS);
	for (size_t i = 0; err == 0 && i < map->count; i++)
		err = read_control(r, &map->children[i], control_fields,
				   &block->controls[block->control_count++]);
	return err;
}

/* The one that each programmable counter has; where it is, the counters say. */
int unc_regs_read_select(const struct unc_reader *r, const struct unc_yaml *map, void *into)
{
	return read_control(r, map, &control_fields[1], &((struct unc_regs *)into)->select);
}

int unc_regs_check_controls(const struct unc_reader *r)
{
	static const enum unc_field_purpose purposes[] = {UNC_PURPOSE_FREEZE, UNC_PURPOSE_FROZEN};
	struct unc_regs *block = r->context;
	int filters = 0;

	for (size_t i = 0; i < block->control_count; i++) {
		struct unc_regs_control *c = &block->controls[i];

		/* One field of an instance freezes it, and one says that it is frozen. */
		for (size_t k = 0; k < 2; k++) {
			const struct unc_regs_control *first = c;
			const struct unc_regs_field *own = unc_regs_field(c, purposes[k]), *f;

			f = unc_regs_find_field(block, purposes[k], &first);
			if (own && first != c)
				return unc_reader_fail(
					r, c->at, "'%s' of '%s' has the use of its '%s' already",
					f->name, first->name, own->name);
		}
		if (!unc_regs_field(c, UNC_PURPOSE_FILTER))
			continue;
		/* Two registers of 32 bits make the word of the filter. */
		if (filters == 2)
			return unc_reader_fail(r, c->at,
					       "an instance has at most two registers of filters");
		for (size_t k = 0; k < c->count; k++)
			if (c->fields[k].bits >> 32)
				return unc_reader_fail(r, c->at, "a filter's register has 32 bits");
		c->filter = filters++;
	}
	return 0;
}

/* ---- what goes with them ---- */

int unc_regs_read_overflow(const struct unc_reader *r, const struct unc_yaml *node, void *into)
{
	static const char *const effects[] = {"wraps", "freezes", "freezes-all", NULL};
	static const struct unc_field word = UNC_FIELD(NULL, WORD, .words = effects);
	struct unc_regs *block = into;
	unsigned effect = 0;
	int err = unc_fill_value(r, node, &word, &effect);

	block->overflow_freezes = effect >= 1;
	block->overflow_freezes_all = effect == 2;
	return err;
}

static int read_only_counters(const struct unc_reader *r, const struct unc_yaml *node, void *into)
{
	return read_bits(r, node, &((struct unc_regs_only *)into)->counters);
}

static const struct unc_field only_fields[] = {
	UNC_FIELD("!event", NUMBER, UNC_AT(struct unc_regs_only, event)),
	UNC_FIELD("!counters", TEXT, .check = read_only_counters),
	UNC_END,
};

int unc_regs_read_only(const struct unc_reader *r, const struct unc_yaml *list, void *into)
{
	static const struct unc_shape shape = {.fields = only_fields};
	struct unc_regs *block = into;
	int err = unc_reader_expect(r, list, UNC_YAML_LIST);

	if (err == 0 && list->count > UNC_REGS_ONLY)
		err = unc_reader_fail(r, &list->children[UNC_REGS_ONLY],
				      "at most %d events are listed", UNC_REGS_ONLY);
	for (; err == 0 && block->only_count < list->count; block->only_count++)
		err = unc_fill(r, &list->children[block->only_count], &shape,
			       &block->only[block->only_count]);
	return err;
}

/* The kernel's driver of the same block: both would write the same registers. */
static const struct unc_field kernel_fields[] = {
	UNC_FIELD("!pmu", TEXT, UNC_AT(struct unc_regs, kernel_pmu), .check = unc_regs_check_line),
	UNC_FIELD("!module", TEXT, UNC_AT(struct unc_regs, kernel_module),
		  .check = unc_regs_check_line),
	UNC_END,
};

int unc_regs_read_kernel(const struct unc_reader *r, const struct unc_yaml *map, void *into)
{
	return unc_fill(r, map, &(struct unc_shape){.fields = kernel_fields}, into);
}

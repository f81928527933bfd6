/* SPDX-License-Identifier: MIT */
/* The description of a register block: what is written, and only when the user says so. */
#include "source/regs/parse.h"

#include <errno.h>
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

static int check_register(const struct unc_reader *r, const struct unc_yaml *at, uint64_t bits)
{
	const struct unc_regs *block = r->context;

	return block->bytes == 4 && bits >> 32
		       ? unc_reader_fail(r, at, "a register has 32 bits here")
		       : 0;
}

static int finish_field(const struct unc_reader *r, const struct unc_yaml *node, void *into)
{
	struct unc_regs_field *f = into;

	f->name = node->key;
	if (unc_reader_check_name(r, node, node->key, "_", "name of a field") < 0)
		return -EBADMSG;
	if (f->purpose != UNC_PURPOSE_NONE &&
	    (f->access == UNC_ACCESS_RO) != (f->purpose == UNC_PURPOSE_FROZEN))
		return unc_reader_fail(r, unc_yaml_get(node, "use"),
				       "only 'frozen' is read, and the others are written");
	return check_register(r, unc_yaml_get(node, "bits"), f->bits);
}

#define FIELD(member) UNC_AT(struct unc_regs_field, member)

static const struct unc_field field_fields[] = {
	UNC_FIELD("!bits", BITS, FIELD(bits)),
	UNC_FIELD("access", WORD, FIELD(access),
		  .words = (const char *const[]){"RW", "RO", "WO", NULL}),
	UNC_FIELD("use", WORD, FIELD(purpose),
		  .words = (const char *const[]){"none", "freeze", "frozen", "enable", "event",
						 "umask", "edge", "threshold", "filter", NULL}),
	UNC_END,
};

static const struct unc_shape field = {
	.fields = field_fields, .size = sizeof(struct unc_regs_field), .check = finish_field};

/* Fields of one register: apart from each other, and each use once, but for filters. */
static int check_fields(const struct unc_reader *r, const struct unc_yaml *map, void *into)
{
	const struct unc_regs *block = r->context;
	const struct unc_regs_control *c = into;
	bool select = c == &block->select;

	for (size_t i = 0; i < c->count; i++) {
		const struct unc_regs_field *f = &c->fields[i];
		const struct unc_yaml *node = &map->children[i];

		for (const struct unc_regs_field *before = c->fields; before < f; before++)
			if (f->bits & before->bits)
				return unc_reader_fail(r, unc_yaml_get(node, "bits"),
						       "'%s' overlaps '%s'", f->name, before->name);
		if (f->purpose == UNC_PURPOSE_NONE)
			continue;
		if (f->purpose != UNC_PURPOSE_FILTER && unc_regs_field(c, f->purpose) != f)
			return unc_reader_fail(r, unc_yaml_get(node, "use"),
					       "'%s' has this use already",
					       unc_regs_field(c, f->purpose)->name);
		if (select !=
		    (f->purpose >= UNC_PURPOSE_ENABLE && f->purpose <= UNC_PURPOSE_THRESHOLD))
			return unc_reader_fail(r, map,
					       "'%s' has no such use in the control register of %s",
					       f->name, select ? "a counter" : "a whole instance");
	}
	return 0;
}

static int finish_control(const struct unc_reader *r, const struct unc_yaml *map, void *into)
{
	struct unc_regs_control *c = into;

	c->name = map->key;
	c->filter = -1;
	c->at = map;
	return check_register(r, unc_yaml_get(map, "ones"), c->ones);
}

#define CONTROL(member) UNC_AT(struct unc_regs_control, member)

static const struct unc_field control_fields[] = {
	UNC_FIELD("!offset", NUMBER, CONTROL(offset), .most = UNC_REGS_OFFSET_MOST),
	UNC_FIELD("ones", BITS, CONTROL(ones)),
	UNC_FIELD("!fields", NAMED, UNC_LIST(struct unc_regs_control, fields, count), .of = &field,
		  .most = 64, .check = check_fields),
	UNC_END,
};

const struct unc_shape unc_regs_control_shape = {
	.fields = control_fields, .size = sizeof(struct unc_regs_control), .check = finish_control};

/* The offset of a counter's own register is with the counter. */
const struct unc_shape unc_regs_select_shape = {.fields = &control_fields[1],
						.check = finish_control};

int unc_regs_check_controls(const struct unc_reader *r, const struct unc_yaml *map, void *into)
{
	static const enum unc_field_purpose purposes[] = {UNC_PURPOSE_FREEZE, UNC_PURPOSE_FROZEN};
	struct unc_regs *block = into;
	int filters = 0;

	(void)map;
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

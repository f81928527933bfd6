/* SPDX-License-Identifier: MIT */
/* Data files: which PCIe root ports a PMU counts. */
#include "catalogue/family-parse.h"

#include <errno.h>
#include <string.h>

static int read_fields(const struct unc_reader *r, const struct unc_yaml *fields, void *into)
{
	struct unc_port_rule *rule = into;
	size_t room = sizeof(rule->fields) / sizeof(*rule->fields);

	if (unc_reader_expect(r, fields, UNC_YAML_MAP) < 0)
		return -EBADMSG;
	if (!unc_yaml_get(fields, "port") || fields->count > room)
		return unc_reader_fail(r, fields, "expected 1 to %zu fields, one of them 'port'",
				       room);
	for (; rule->field_count < fields->count; rule->field_count++) {
		struct unc_port_field *field = &rule->fields[rule->field_count];
		const struct unc_field offset = UNC_FIELD(
			NULL, NUMBER, UNC_AT(struct unc_port_field, offset), .most = 0xfff);

		field->word = fields->children[rule->field_count].key;
		if (unc_fill_value(r, &fields->children[rule->field_count], &offset, field) < 0)
			return -EBADMSG;
	}
	return 0;
}

/* The device number, which has 5 bits. */
static int read_index(const struct unc_reader *r, const struct unc_yaml *node, void *into)
{
	(void)r;
	(void)node;
	((struct unc_port_rule *)into)->count = 32;
	return 0;
}

static int check_name(const struct unc_reader *r, const struct unc_yaml *node, void *into)
{
	const struct unc_family *f = ((struct unc_family_parser *)r->context)->family;

	(void)into;
	for (size_t i = 0; i < f->pattern_count; i++)
		if (!strstr(f->patterns[i].name, "{sbdf}"))
			return unc_reader_fail(r, node, "there is no {sbdf} in '%s'",
					       f->patterns[i].name);
	return 0;
}

static int finish_rule(const struct unc_reader *r, const struct unc_yaml *map, void *into)
{
	const struct unc_yaml *index = unc_yaml_get(map, "index");
	struct unc_family_parser *p = r->context;
	struct unc_port_rule *rule = into;

	if (!index)
		rule->count = 0;
	/* An index is a claim about the hardware. */
	if (index && !unc_yaml_get(map, "evidence"))
		return unc_reader_fail(r, index, "an index needs 'evidence'");
	if (p->holds && !p->family->ports)
		p->family->ports = rule;
	p->holds = true;
	return 0;
}

#define RULE(member) UNC_AT(struct unc_port_rule, member)
#define WORD(key, word, ...) \
	UNC_FIELD(key, TEXT, .words = (const char *const[]){word, NULL}, __VA_ARGS__)
#define COMMON \
	UNC_FIELD("when", TEXT, .check = unc_family_when), UNC_FIELD("evidence", TEXT), UNC_END

static const struct unc_field id_fields[] = {
	UNC_FIELD("!vendor", NUMBER, RULE(vendor), .most = UINT16_MAX),
	UNC_FIELD("!id", NUMBER, RULE(id), .most = UINT16_MAX),
	UNC_END,
};

static const struct unc_shape id = {.fields = id_fields};

static const struct unc_field dvsec[] = {
	UNC_FIELD("!dvsec", MAP, .of = &id),
	UNC_FIELD("!fields", ANY, .check = read_fields),
	COMMON,
};

static const struct unc_field attribute[] = {
	UNC_FIELD("!attribute", TEXT, RULE(attribute), .check = unc_family_file),
	WORD("index", "device", .check = read_index),
	UNC_FIELD("first", NUMBER, RULE(first), .most = 31),
	UNC_FIELD("count", NUMBER, RULE(count), .most = 32),
	UNC_FIELD("except", TEXT, RULE(except)),
	COMMON,
};

static const struct unc_field name[] = {
	WORD("!name", "sbdf", .check = check_name),
	COMMON,
};

static const struct unc_field range_fields[] = {
	UNC_FIELD("!min", TEXT, RULE(min)),
	UNC_FIELD("!max", TEXT, RULE(max)),
	UNC_END,
};

static const struct unc_shape bounds = {.fields = range_fields};

static const struct unc_field range[] = {
	UNC_FIELD("!range", MAP, .of = &bounds),
	COMMON,
};

static const struct unc_field socket[] = {
	WORD("!socket", "true", .check = NULL),
	UNC_FIELD("when", TEXT, .check = unc_family_when),
	UNC_FIELD("!evidence", TEXT),
	UNC_END,
};

static const struct unc_field unknown[] = {
	UNC_FIELD("!unknown", TEXT, RULE(why)),
	COMMON,
};

static const struct unc_field *const kinds[] = {
	[UNC_PORTS_DVSEC] = dvsec,
	[UNC_PORTS_ATTRIBUTE] = attribute,
	[UNC_PORTS_NAME] = name,
	[UNC_PORTS_RANGE] = range,
	[UNC_PORTS_SOCKET] = socket,
	[UNC_PORTS_UNKNOWN] = unknown,
	NULL,
};

const struct unc_shape unc_port_shape = {.variants = kinds,
					 .variant = offsetof(struct unc_port_rule, kind),
					 .size = sizeof(struct unc_port_rule),
					 .check = finish_rule};

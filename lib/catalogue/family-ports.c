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

static int check_device(const struct unc_reader *r, const struct unc_yaml *node, void *into)
{
	if (strcmp(node->text, "device") != 0)
		return unc_reader_fail(
			r, node, "'%s': the only index is 'device', the device number", node->text);
	((struct unc_port_rule *)into)->count = 32;
	return 0;
}

/* An index is a claim about the hardware: it needs evidence. */
static int check_index(const struct unc_reader *r, const struct unc_yaml *map, void *into)
{
	const struct unc_yaml *index = unc_yaml_get(map, "index");

	if (!index)
		((struct unc_port_rule *)into)->count = 0;
	if (!index || unc_yaml_get(map, "evidence"))
		return 0;
	return unc_reader_fail(r, index, "an index needs 'evidence'");
}

static int check_attribute(const struct unc_reader *r, const struct unc_yaml *node, void *into)
{
	(void)into;
	return unc_family_die_file(r, node);
}

static int check_name(const struct unc_reader *r, const struct unc_yaml *node, void *into)
{
	const struct unc_family *f = ((struct unc_family_parser *)r->context)->family;

	(void)into;
	if (strcmp(node->text, "sbdf") != 0)
		return unc_reader_fail(r, node, "'%s': the only word for an address is 'sbdf'",
				       node->text);
	for (size_t i = 0; i < f->pattern_count; i++)
		if (!strstr(f->patterns[i].name, "{sbdf}"))
			return unc_reader_fail(r, node, "there is no {sbdf} in '%s'",
					       f->patterns[i].name);
	return 0;
}

static int check_socket(const struct unc_reader *r, const struct unc_yaml *node, void *into)
{
	(void)into;
	if (node->kind == UNC_YAML_TEXT && strcmp(node->text, "true") == 0)
		return 0;
	return unc_reader_fail(r, node, "expected true: all root ports of the PMU's socket");
}

#define RULE(member) UNC_AT(struct unc_port_rule, member)
#define COMMON UNC_FIELD("when", ANY), UNC_FIELD("evidence", TEXT), UNC_END

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
	UNC_FIELD("!attribute", TEXT, RULE(attribute), .check = check_attribute),
	UNC_FIELD("index", TEXT, .check = check_device),
	UNC_FIELD("first", NUMBER, RULE(first), .most = 31),
	UNC_FIELD("count", NUMBER, RULE(count), .most = 32),
	UNC_FIELD("except", TEXT, RULE(except)),
	COMMON,
};

static const struct unc_field name[] = {
	UNC_FIELD("!name", TEXT, .check = check_name),
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
	UNC_FIELD("!socket", ANY, .check = check_socket),
	UNC_FIELD("when", ANY),
	UNC_FIELD("!evidence", TEXT),
	UNC_END,
};

static const struct unc_field unknown[] = {
	UNC_FIELD("!unknown", TEXT, RULE(why)),
	COMMON,
};

/* The kinds of rules, each known by its first key. */
static const struct unc_shape kinds[] = {
	[UNC_PORTS_DVSEC] = {.fields = dvsec},
	[UNC_PORTS_ATTRIBUTE] = {.fields = attribute, .check = check_index},
	[UNC_PORTS_NAME] = {.fields = name},
	[UNC_PORTS_RANGE] = {.fields = range},
	[UNC_PORTS_SOCKET] = {.fields = socket},
	[UNC_PORTS_UNKNOWN] = {.fields = unknown},
};

int unc_family_ports(const struct unc_reader *r, const struct unc_yaml *list, void *into)
{
	const size_t count = sizeof(kinds) / sizeof(*kinds);
	struct unc_family *f = into;
	int err = unc_reader_expect(r, list, UNC_YAML_LIST);

	for (size_t i = 0; err == 0 && i < list->count; i++) {
		const struct unc_yaml *node = &list->children[i],
				      *when = unc_yaml_get(node, "when");
		struct unc_port_rule rule = {0};
		bool holds = true;
		size_t kind = 0;

		err = unc_reader_expect(r, node, UNC_YAML_MAP);
		if (err < 0)
			return err;
		while (kind < count && !unc_yaml_get(node, kinds[kind].fields[0].key + 1))
			kind++;
		if (kind == count)
			return unc_reader_fail(r, node,
					       "expected one of 'dvsec', 'attribute', 'name', "
					       "'range', 'socket', 'unknown'");
		rule.kind = (unsigned)kind;
		err = unc_fill(r, node, &kinds[kind], &rule);
		if (err == 0 && when)
			err = unc_family_models_hold(r, when, &holds);
		if (holds && !f->has_ports)
			f->ports = rule;
		f->has_ports |= holds;
	}
	return err;
}

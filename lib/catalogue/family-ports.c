/* SPDX-License-Identifier: MIT */
/* Data files: which PCIe root ports a PMU counts. */
#include "catalogue/family.h"

#include <errno.h>
#include <string.h>

/* A number of at most `most`; *out stays as it was when the key is absent. */
static int parse_number(const struct unc_family_parser *p, const struct unc_yaml *map,
			const char *key, uint64_t most, unsigned *out)
{
	uint64_t value = *out;

	if (unc_yaml_u64(p->file, map, key, &value, p->e) < 0)
		return -EBADMSG;
	if (value > most)
		return unc_yaml_fail(p->file, unc_yaml_get(map, key), p->e,
				     "'%s' is more than %#x, the most for '%s'",
				     unc_yaml_get(map, key)->text, (unsigned)most, key);
	*out = (unsigned)value;
	return 0;
}

static int parse_fields(const struct unc_family_parser *p, const struct unc_yaml *fields,
			struct unc_port_rule *rule)
{
	size_t room = sizeof(rule->fields) / sizeof(*rule->fields);

	if (unc_yaml_expect(p->file, fields, UNC_YAML_MAP, p->e) < 0)
		return -EBADMSG;
	if (!unc_yaml_get(fields, "port") || fields->count > room)
		return unc_yaml_fail(p->file, fields, p->e,
				     "expected 1 to %zu fields, one of them 'port'", room);
	for (; rule->field_count < fields->count; rule->field_count++) {
		struct unc_port_field *field = &rule->fields[rule->field_count];

		field->word = fields->children[rule->field_count].key;
		if (parse_number(p, fields, field->word, 0xfff, &field->offset) < 0)
			return -EBADMSG;
	}
	return 0;
}

static int parse_dvsec(const struct unc_family_parser *p, const struct unc_yaml *node,
		       struct unc_port_rule *rule)
{
	static const char *const keys[] = {"!dvsec", "!fields", "when", "evidence", NULL};
	static const char *const id_keys[] = {"!vendor", "!id", NULL};
	const struct unc_yaml *dvsec = unc_yaml_get(node, "dvsec");

	if (unc_yaml_check(p->file, node, keys, p->e) < 0 ||
	    unc_yaml_check(p->file, dvsec, id_keys, p->e) < 0 ||
	    parse_number(p, dvsec, "vendor", UINT16_MAX, &rule->vendor) < 0 ||
	    parse_number(p, dvsec, "id", UINT16_MAX, &rule->id) < 0)
		return -EBADMSG;
	return parse_fields(p, unc_yaml_get(node, "fields"), rule);
}

/* An index is a claim about the hardware: it needs evidence. */
static int parse_index(const struct unc_family_parser *p, const struct unc_yaml *node,
		       struct unc_port_rule *rule)
{
	const char *index = NULL;

	if (unc_family_text(p, node, "index", &index) < 0 ||
	    parse_number(p, node, "first", 31, &rule->first) < 0)
		return -EBADMSG;
	if (!index)
		return 0;
	if (strcmp(index, "device") != 0)
		return unc_yaml_fail(p->file, unc_yaml_get(node, "index"), p->e,
				     "'%s': the only index is 'device', the device number", index);
	if (!unc_yaml_get(node, "evidence"))
		return unc_yaml_fail(p->file, unc_yaml_get(node, "index"), p->e,
				     "an index needs 'evidence'");
	rule->count = 32;
	return parse_number(p, node, "count", 32, &rule->count);
}

/* The name of a file of the PMU, with or without {die}. */
static int parse_die_file(const struct unc_family_parser *p, const struct unc_yaml *map,
			  const char *key, const char **out)
{
	const char *brace;

	if (unc_family_text(p, map, key, out) < 0)
		return -EBADMSG;
	brace = strchr(*out, '{');
	if (brace && (strncmp(brace, "{die}", 5) != 0 || strchr(brace + 1, '{')))
		return unc_yaml_fail(p->file, unc_yaml_get(map, key), p->e,
				     "'%s': the only word in braces is {die}", *out);
	return 0;
}

static int parse_attribute(const struct unc_family_parser *p, const struct unc_yaml *node,
			   struct unc_port_rule *rule)
{
	static const char *const keys[] = {"!attribute", "index", "first",    "count",
					   "except",     "when",  "evidence", NULL};

	if (unc_yaml_check(p->file, node, keys, p->e) < 0 ||
	    parse_die_file(p, node, "attribute", &rule->attribute) < 0 ||
	    unc_family_text(p, node, "except", &rule->except) < 0)
		return -EBADMSG;
	return parse_index(p, node, rule);
}

static int parse_name(const struct unc_family_parser *p, const struct unc_yaml *node,
		      struct unc_port_rule *rule)
{
	static const char *const keys[] = {"!name", "when", "evidence", NULL};
	const char *word;

	(void)rule;
	if (unc_yaml_check(p->file, node, keys, p->e) < 0 ||
	    unc_family_text(p, node, "name", &word) < 0)
		return -EBADMSG;
	if (strcmp(word, "sbdf") != 0)
		return unc_yaml_fail(p->file, unc_yaml_get(node, "name"), p->e,
				     "'%s': the only word for an address is 'sbdf'", word);
	for (size_t i = 0; i < p->family->pattern_count; i++)
		if (!strstr(p->family->patterns[i].name, "{sbdf}"))
			return unc_yaml_fail(p->file, unc_yaml_get(node, "name"), p->e,
					     "there is no {sbdf} in '%s'",
					     p->family->patterns[i].name);
	return 0;
}

static int parse_range(const struct unc_family_parser *p, const struct unc_yaml *node,
		       struct unc_port_rule *rule)
{
	static const char *const keys[] = {"!range", "when", "evidence", NULL};
	static const char *const range_keys[] = {"!min", "!max", NULL};
	const struct unc_yaml *range = unc_yaml_get(node, "range");

	if (unc_yaml_check(p->file, node, keys, p->e) < 0 ||
	    unc_yaml_check(p->file, range, range_keys, p->e) < 0 ||
	    unc_family_text(p, range, "min", &rule->min) < 0 ||
	    unc_family_text(p, range, "max", &rule->max) < 0)
		return -EBADMSG;
	return 0;
}

static int parse_socket(const struct unc_family_parser *p, const struct unc_yaml *node,
			struct unc_port_rule *rule)
{
	static const char *const keys[] = {"!socket", "when", "!evidence", NULL};
	bool all = false;

	(void)rule;
	if (unc_yaml_check(p->file, node, keys, p->e) < 0 ||
	    unc_yaml_bool(p->file, node, "socket", &all, p->e) < 0)
		return -EBADMSG;
	if (!all)
		return unc_yaml_fail(p->file, unc_yaml_get(node, "socket"), p->e,
				     "expected true: all root ports of the PMU's socket");
	return 0;
}

static int parse_unknown(const struct unc_family_parser *p, const struct unc_yaml *node,
			 struct unc_port_rule *rule)
{
	static const char *const keys[] = {"!unknown", "when", "evidence", NULL};

	if (unc_yaml_check(p->file, node, keys, p->e) < 0)
		return -EBADMSG;
	return unc_family_text(p, node, "unknown", &rule->why);
}

/* Fills *rule; *holds is false when it is for other CPU models. */
static int parse_rule(const struct unc_family_parser *p, const struct unc_yaml *node,
		      struct unc_port_rule *rule, bool *holds)
{
	static const struct {
		const char *key;
		int (*parse)(const struct unc_family_parser *, const struct unc_yaml *,
			     struct unc_port_rule *);
	} kinds[] = {
		[UNC_PORTS_DVSEC] = {"dvsec", parse_dvsec},
		[UNC_PORTS_ATTRIBUTE] = {"attribute", parse_attribute},
		[UNC_PORTS_NAME] = {"name", parse_name},
		[UNC_PORTS_RANGE] = {"range", parse_range},
		[UNC_PORTS_SOCKET] = {"socket", parse_socket},
		[UNC_PORTS_UNKNOWN] = {"unknown", parse_unknown},
	};
	const struct unc_yaml *when;
	const char *evidence;

	if (unc_yaml_expect(p->file, node, UNC_YAML_MAP, p->e) < 0 ||
	    unc_family_text(p, node, "evidence", &evidence) < 0)
		return -EBADMSG;
	when = unc_yaml_get(node, "when");
	*holds = true;
	if (when && unc_family_models_hold(p, when, holds) < 0)
		return -EBADMSG;
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
		if (!unc_yaml_get(node, kinds[i].key))
			continue;
		rule->kind = (unsigned int)i;
		return kinds[i].parse(p, node, rule);
	}
	return unc_yaml_fail(p->file, node, p->e,
			     "expected one of 'dvsec', 'attribute', 'name', 'range', 'socket', "
			     "'unknown'");
}

int unc_family_peer(struct unc_family_parser *p, const struct unc_yaml *node)
{
	return node ? parse_die_file(p, p->file->root, "peer", &p->family->peer) : 0;
}

int unc_family_ports(struct unc_family_parser *p, const struct unc_yaml *node)
{
	struct unc_family *f = p->family;

	if (!node)
		return 0;
	if (unc_yaml_expect(p->file, node, UNC_YAML_LIST, p->e) < 0)
		return -EBADMSG;
	for (size_t i = 0; i < node->count; i++) {
		struct unc_port_rule rule = {0};
		bool holds;

		if (parse_rule(p, &node->children[i], &rule, &holds) < 0)
			return -EBADMSG;
		if (holds && !f->has_ports)
			f->ports = rule;
		f->has_ports |= holds;
	}
	return 0;
}

/* SPDX-License-Identifier: MIT */
/* Reads one data file: checks it strictly, and keeps the parts for one CPU model. */
#include "catalogue/catalogue.h"

/* How many events a PMU counts at once if the family does not give this number. Most have at least
 * these. */
#define COUNTERS 4

static void finish_metric(struct uncore_metric *m)
{
	unc_formula_free(m->formula);
	unc_formula_free(m->unless);
}

void unc_family_free(struct unc_family *f)
{
	if (!f)
		return;
	for (size_t i = 0; i < f->metric_count; i++)
		finish_metric(&f->metrics[i]);
	free(f->pmus);
	unc_yaml_free(f->file);
	free(f);
}

/* ---- values that several parts use ---- */

/* Offsets of fields. */
#define FAMILY(member) UNC_AT(struct unc_family, member)
#define FAMILY_LIST(member, number) UNC_LIST(struct unc_family, member, number)
#define PORTS(member) UNC_AT(struct unc_port_rule, member)
#define EVENT(member) UNC_AT(struct unc_event_def, member)
#define METRIC(member) UNC_AT(struct uncore_metric, member)

/* Checks the name of a file of the PMU, with or without {die}. */
static int check_file(const struct unc_reader *r, const struct unc_yaml *node, void *into)
{
	const char *brace = strchr(node->text, '{');

	(void)into;
	if (strchr(node->text, '/'))
		return unc_reader_fail(r, node, "'%s' is not the name of a file of the PMU",
				       node->text);
	if (brace && (strncmp(brace, "{die}", 5) != 0 || strchr(brace + 1, '{')))
		return unc_reader_fail(r, node, "'%s': the only word in braces is {die}",
				       node->text);
	return 0;
}

/* ---- PMUs, CPU models, roles ---- */

static const struct unc_field pattern_fields[] = {
	UNC_FIELD("!name", TEXT, UNC_AT(struct unc_pattern, name)),
	UNC_FIELD("identifier", TEXT, UNC_AT(struct unc_pattern, identifier)),
	UNC_FIELD("device", TEXT, UNC_AT(struct unc_pattern, device), .check = unc_device_path),
	UNC_END,
};

static int check_models(const struct unc_reader *r, const struct unc_yaml *map, void *into)
{
	struct unc_family *f = into;

	f->on_this_cpu = f->everywhere; /* the names are then only used by `when` */
	for (size_t i = 0; i < f->model_count; i++) {
		if (!strchr(f->models[i].text, '/'))
			return unc_reader_fail(r, &map->children[i],
					       "'%s' is not a valid CPU model such as intel/6/143",
					       f->models[i].text);
		if (!f->everywhere && unc_has_one_of(f->models[i].text, f->cpu_model))
			f->on_this_cpu = f->names_this_cpu = true;
	}
	return 0;
}

static int check_expectation(const struct unc_reader *r, const struct unc_yaml *map, void *into)
{
	const struct unc_yaml *models = unc_yaml_get(map, "models");
	struct unc_expectation *expectation = into;

	/* Without models or a path, only the module remains, and these keys would limit nothing. */
	if (!models && !unc_yaml_get(map, "path") &&
	    (unc_yaml_get(map, "since") || unc_yaml_get(map, "flag")))
		return unc_reader_fail(r, map, "'since' and 'flag' need 'models' or 'path'");
	expectation->on_this_cpu = models && !expectation->other_model;
	return 0;
}

static const struct unc_field expectation_fields[] = {
	UNC_FIELD("models", TEXT, .check = unc_family_when),
	UNC_FIELD("path", TEXT, UNC_AT(struct unc_expectation, path)),
	UNC_FIELD("flag", TEXT, UNC_AT(struct unc_expectation, flag)),
	UNC_FIELD("!module", TEXT, UNC_AT(struct unc_expectation, module)),
	UNC_FIELD("since", TEXT, UNC_AT(struct unc_expectation, since)),
	UNC_END,
};

struct counters_case {
	bool other_model;
	unsigned counters;
};

/*
 * Fills `item` with the first of the cases that is for this CPU. Keys that this case does not have
 * keep their values. Cases for other models are also checked. If all cases are for other models,
 * `item` is `other_model`.
 */
static int fill_cases(const struct unc_reader *r, const struct unc_yaml *map,
		      const struct unc_yaml *cases, const struct unc_shape *shape, void *item)
{
	const struct unc_yaml *beside;
	union {
		bool other_model;
		struct counters_case counters;
		struct unc_event_def event;
		struct uncore_metric metric;
	} before, one;
	bool *other_model = item;
	int err = unc_reader_expect(r, cases, UNC_YAML_LIST);

	/* Evidence and headline may be given once for all cases. */
	for (const struct unc_field *key = shape->fields; err == 0 && key->key; key++) {
		beside = unc_yaml_get(map, key->key + (*key->key == '!'));
		if (beside && strcmp(beside->key, "evidence") != 0 &&
		    strcmp(beside->key, "headline") != 0)
			err = unc_reader_fail_key(r, beside,
						  "'%s' stands beside 'cases': put it into them",
						  beside->key);
	}
	if (err == 0 && !cases->count)
		err = unc_reader_fail(r, cases, "'%s' has no case", cases->key);
	memcpy(&before, item, shape->size);
	*other_model = true;
	for (size_t i = 0; err == 0 && i < cases->count; i++) {
		memcpy(&one, &before, shape->size);
		err = unc_fill(r, &cases->children[i], shape, &one);
		if (err == 0 && *other_model && !one.other_model)
			memcpy(item, &one, shape->size);
		else if (shape->size == sizeof(struct uncore_metric))
			finish_metric(&one.metric);
	}
	return err;
}

/* Reads a number, or the number of the first case for this CPU. */
static int read_counters(const struct unc_reader *r, const struct unc_yaml *node, void *into)
{
	static const struct unc_field one =
		UNC_FIELD(NULL, NUMBER, FAMILY(counters), .most = UNC_RULE_MOST);
	static const struct unc_field fields[] = {
		UNC_FIELD("!when", TEXT, .check = unc_family_when),
		UNC_FIELD("!counters", NUMBER, UNC_AT(struct counters_case, counters),
			  .most = UNC_RULE_MOST),
		UNC_END,
	};
	static const struct unc_shape shape = {.fields = fields,
					       .size = sizeof(struct counters_case)};
	struct unc_family *f = into;
	struct counters_case c = {.counters = f->counters};
	int err;

	if (node->kind != UNC_YAML_LIST)
		return unc_fill_value(r, node, &one, into);
	err = fill_cases(r, node, node, &shape, &c);
	f->counters = c.counters;
	return err;
}

static const struct unc_field role_fields[] = {
	UNC_FIELD("!attribute", TEXT, FAMILY(role_attribute), .check = check_file),
	UNC_FIELD("!values", WORDS, FAMILY_LIST(roles, role_count)),
	UNC_END,
};

static int read_role(const struct unc_reader *r, const struct unc_yaml *node, void *into)
{
	static const struct unc_shape by_attribute = {.fields = role_fields};
	static const struct unc_field by_text = UNC_FIELD(NULL, TEXT, FAMILY(role));

	if (node->kind != UNC_YAML_TEXT)
		return unc_fill(r, node, &by_attribute, into);
	return unc_fill_value(r, node, &by_text, into);
}

/* ---- NUMA nodes ---- */

/* The choices are in the order of enum unc_node_kind. */
static const struct unc_field node_fields[] = {
	UNC_FIELD("|cpu", TEXT, .words = (const char *const[]){"true", NULL}),
	UNC_FIELD("|order", TEXT, .words = (const char *const[]){"true", NULL}),
	UNC_FIELD("|units", NAMES, UNC_AT(struct unc_node_rule, units), .what = "numbers of nodes",
		  .numbers = true),
	UNC_FIELD("when", TEXT, .check = unc_family_when),
	UNC_FIELD("!evidence", TEXT),
	UNC_END,
};

/* ---- registers ---- */

static const struct unc_field counter_register_fields[] = {
	UNC_FIELD("!bits", NUMBER, UNC_AT(struct unc_register, bits), .least = 32, .most = 63),
	UNC_FIELD("halves", BOOL, UNC_AT(struct unc_register, halves)),
	UNC_FIELD("when", TEXT, .check = unc_family_when),
	UNC_FIELD("!evidence", TEXT),
	UNC_END,
};

/* ---- root ports ---- */

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

static int check_sbdf(const struct unc_reader *r, const struct unc_yaml *node, void *into)
{
	const struct unc_family *f = r->context;

	(void)into;
	for (size_t i = 0; i < f->pattern_count; i++)
		if (!strstr(f->patterns[i].name, "{sbdf}"))
			return unc_reader_fail(r, node, "there is no {sbdf} in '%s'",
					       f->patterns[i].name);
	return 0;
}

static const struct unc_field id_fields[] = {
	UNC_FIELD("!vendor", NUMBER, PORTS(vendor), .most = UINT16_MAX),
	UNC_FIELD("!id", NUMBER, PORTS(id), .most = UINT16_MAX),
	UNC_END,
};

static const struct unc_field range_fields[] = {
	UNC_FIELD("!min", TEXT, PORTS(min)),
	UNC_FIELD("!max", TEXT, PORTS(max)),
	UNC_END,
};

#define REGISTER(name, member, ...) \
	UNC_FIELD(name, NUMBER, PORTS(registers.member), .most = 0xffc, __VA_ARGS__)

static const struct unc_field kind_fields[] = {
	UNC_FIELD("!id", NUMBER, PORTS(registers.kind.id), .least = 1, .most = UINT16_MAX),
	REGISTER("!offset", kind.offset),
	UNC_FIELD("!bits", BITS, PORTS(registers.kind.bits)),
	UNC_END,
};

static const struct unc_field register_fields[] = {
	UNC_FIELD("!vendor", NUMBER, PORTS(vendor), .most = UINT16_MAX),
	UNC_FIELD("!id", NUMBER, PORTS(id), .most = UINT16_MAX),
	REGISTER("!sad", sad),
	REGISTER("valid", valid, .with = "buses"),
	REGISTER("buses", buses, .with = "valid"),
	REGISTER("!upper_buses", upper_buses, .with = "buses"),
	UNC_FIELD("kind", MAP, .of = UNC_SHAPE(struct unc_port_rule, kind_fields)),
	UNC_END,
};

static const struct unc_field stack_fields[] = {
	UNC_FIELD("!bus", NUMBER, UNC_AT(struct unc_stack, bus), .most = 31),
	UNC_FIELD("!unit", NUMBER, UNC_AT(struct unc_stack, unit), .most = UINT16_MAX),
	UNC_FIELD("kinds", BITS, UNC_AT(struct unc_stack, kinds)),
	UNC_FIELD("first", NUMBER, UNC_AT(struct unc_stack, numbers.first), .most = 31),
	UNC_FIELD("count", NUMBER, UNC_AT(struct unc_stack, numbers.count), .most = 32),
	UNC_FIELD("part", NUMBER, UNC_AT(struct unc_stack, numbers.part), .most = 31),
	UNC_FIELD("doubt", TEXT, UNC_AT(struct unc_stack, doubt)),
	UNC_END,
};

/* The choices are in the order of enum unc_port_kind. */
static const struct unc_field port_fields[] = {
	UNC_FIELD("|dvsec", MAP, .of = UNC_SHAPE(struct unc_port_rule, id_fields)),
	UNC_FIELD("!fields", ANY, .with = "dvsec", .check = read_fields),
	UNC_FIELD("|attribute", TEXT, PORTS(attribute), .check = check_file),
	UNC_FIELD("|config", MAP, .of = UNC_SHAPE(struct unc_port_rule, register_fields)),
	UNC_FIELD("!stacks", LIST, UNC_LIST(struct unc_port_rule, stacks, stack_count),
		  .with = "config", .of = UNC_SHAPE(struct unc_stack, stack_fields), .least = 1),
	UNC_FIELD("index", TEXT, .with = "attribute config",
		  .words = (const char *const[]){"device", NULL}),
	UNC_FIELD("first", NUMBER, PORTS(numbers.first), .with = "attribute config", .most = 31),
	UNC_FIELD("count", NUMBER, PORTS(numbers.count), .with = "attribute config", .most = 32),
	UNC_FIELD("except", TEXT, PORTS(except), .with = "attribute"),
	UNC_FIELD("|name", TEXT, .words = (const char *const[]){"sbdf", NULL}, .check = check_sbdf),
	UNC_FIELD("|range", MAP, .of = UNC_SHAPE(struct unc_port_rule, range_fields)),
	UNC_FIELD("|socket", TEXT, .words = (const char *const[]){"true", NULL}),
	UNC_FIELD("|unknown", TEXT, PORTS(why)),
	UNC_FIELD("doubt", TEXT, PORTS(doubt)),
	UNC_FIELD("when", TEXT, .check = unc_family_when),
	UNC_FIELD("evidence", TEXT),
	UNC_END,
};

static int finish_port_rule(const struct unc_reader *r, const struct unc_yaml *map, void *into)
{
	const struct unc_yaml *index = unc_yaml_get(map, "index");
	struct unc_port_rule *rule = into;

	if (!index)
		rule->numbers.count = 0;
	else if (!unc_yaml_get(map, "count"))
		rule->numbers.count = 32; /* a device number has 5 bits */
	/* These are claims about the hardware, which need evidence. */
	if ((index || rule->kind == UNC_PORTS_SOCKET || rule->kind == UNC_PORTS_CONFIG) &&
	    !unc_yaml_get(map, "evidence"))
		return unc_reader_fail(r, index ? index : map,
				       "the key 'evidence' is missing here");
	return 0;
}

/* ---- the speed of links ---- */

#define SPEED(member) UNC_AT(struct unc_speed_rule, member)

static const struct unc_field speed_fields[] = {
	UNC_FIELD("!vendor", NUMBER, SPEED(vendor), .most = UINT16_MAX),
	UNC_FIELD("!id", NUMBER, SPEED(id), .most = UINT16_MAX),
	UNC_FIELD("!first", NUMBER, SPEED(first), .most = 31),
	UNC_FIELD("!function", NUMBER, SPEED(function), .most = 7),
	UNC_FIELD("!offset", NUMBER, SPEED(offset), .most = 0xffc),
	UNC_FIELD("!bits", BITS, SPEED(bits)),
	UNC_FIELD("!transfers", NAMES, SPEED(transfers), .what = "MT/s", .numbers = true),
	UNC_FIELD("doubt", TEXT, SPEED(doubt)),
	UNC_FIELD("when", TEXT, .check = unc_family_when),
	UNC_FIELD("!evidence", TEXT),
	UNC_END,
};

/* ---- events ---- */

static int check_alias(const struct unc_reader *r, const struct unc_yaml *value, void *into)
{
	if (strpbrk(value->text, "=,"))
		return unc_reader_fail(
			r, value, "'%s' is not a valid alias, which is one name of the kernel's",
			value->text);
	return unc_family_terms(r, value, into);
}

/* Checks an event, or one of its cases. */
static int check_encoded(const struct unc_reader *r, const struct unc_yaml *map, void *into)
{
	const struct unc_yaml *alias = unc_yaml_get(map, "alias");
	const struct unc_yaml *scale = unc_yaml_get(map, "scale");

	if (unc_yaml_get(map, "cases") || ((const struct unc_event_def *)into)->reads)
		return 0;
	if (!alias && !unc_yaml_get(map, "terms"))
		return unc_reader_fail(r, map, "an event needs 'alias', 'terms' or 'cases'");
	if (!alias && ((const struct unc_event_def *)into)->kernel_scale)
		return unc_reader_fail(r, scale ? scale : map,
				       "the kernel's scale belongs to an alias, and %s has none",
				       scale ? "the event" : "this case");
	return 0;
}

static const struct unc_field event_case_fields[] = {
	UNC_FIELD("when", TEXT, .check = unc_family_when),
	UNC_FIELD("alias", TEXT, EVENT(alias), .check = check_alias),
	UNC_FIELD("terms", TEXT, EVENT(terms), .check = unc_family_terms),
	UNC_FIELD("evidence", TEXT, EVENT(evidence)),
	UNC_END,
};

static const struct unc_shape event_case = {
	.fields = event_case_fields, .size = sizeof(struct unc_event_def), .check = check_encoded};

static int finish_event(const struct unc_reader *r, const struct unc_yaml *map, void *into)
{
	const struct unc_yaml *cases = unc_yaml_get(map, "cases");
	struct unc_event_def *event = into;
	int err = 0;

	event->name = map->key;
	if (unc_formula_reserves(map->key))
		return unc_reader_fail_key(
			r, map, "'%s' is not a valid event name: formulas have this word",
			map->key);
	if (unc_reader_check_name(r, map, map->key, "_", "event name") < 0)
		return -EBADMSG;
	if (event->reads)
		return unc_device_event(r, map, event);
	if (((const struct unc_family *)r->context)->source != UNC_SOURCE_KERNEL)
		return unc_reader_fail(r, map, "an event of a device needs 'read'");
	if (cases)
		err = fill_cases(r, map, cases, &event_case, event);
	return err < 0 ? err : check_encoded(r, map, into);
}

static const struct unc_field event_fields[] = {
	UNC_FIELD("!title", TEXT, EVENT(title)),
	UNC_FIELD("alias", TEXT, EVENT(alias), .check = check_alias),
	UNC_FIELD("terms", TEXT, EVENT(terms), .check = unc_family_terms),
	UNC_FIELD("cases", ANY),
	UNC_FIELD("has", TEXT, EVENT(has), .check = unc_device_path),
	UNC_FIELD("optional", BOOL, EVENT(optional)),
	UNC_FIELD("read", ANY, .check = unc_device_reads),
	UNC_FIELD("state", BOOL, EVENT(state), .with = "read"),
	UNC_FIELD("saturates", NUMBER, EVENT(saturates), .with = "read", .least = 8, .most = 64),
	UNC_FIELD("bits", NUMBER, EVENT(bits), .with = "read", .least = 8, .most = 63),
	/* Applies the kernel's .scale of the alias. Other factors are in formulas. */
	UNC_FIELD("scale", WORD, EVENT(kernel_scale),
		  .words = (const char *const[]){"", "kernel", NULL}, .what = "scale"),
	UNC_FIELD("always", BOOL, EVENT(always)),
	/* For clocks: the filters of the family do not restrict them. */
	UNC_FIELD("filter", WORD, EVENT(unfiltered),
		  .words = (const char *const[]){"", "none", NULL}, .what = "filter of an event"),
	UNC_FIELD("!evidence", TEXT, EVENT(evidence)),
	UNC_END,
};

/* ---- metrics ---- */

static int parse_formula(const struct unc_reader *r, const struct unc_yaml *node,
			 struct unc_formula **out)
{
	struct unc_error why;
	size_t pos = 0;
	int err;

	if (unc_reader_expect(r, node, UNC_YAML_TEXT) < 0)
		return -EBADMSG;
	err = unc_formula_parse(out, node->text, &pos, &why);
	if (err == -ENOMEM)
		return unc_nomem(r->e);
	if (err < 0)
		return unc_reader_fail_in(r, node, pos, "formula: %s", why.text);
	if ((*out)->names.count > UNC_METRIC_EVENTS)
		return unc_reader_fail(r, node, "the formula names more than %d events",
				       UNC_METRIC_EVENTS);
	return 0;
}

static int read_formula(const struct unc_reader *r, const struct unc_yaml *node, void *into)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyz0123456789_.";
	const struct unc_family *f = r->context;
	struct uncore_metric *m = into;
	const struct unc_names *names;
	int err = parse_formula(r, node, &m->formula);

	m->text = node->text;
	if (err < 0)
		return err;
	names = &m->formula->names;
	m->events = unc_yaml_keep(r->file, calloc(names->count + 1, sizeof(*m->events)));
	if (!m->events)
		return unc_nomem(r->e);
	for (size_t i = 0; i < names->count; i++) {
		const char *name = names->items[i], *at = node->text;
		size_t n = 0;

		m->events[i] = unc_family_event(f, name);
		if (m->events[i])
			continue;
		for (; n != strlen(name) || memcmp(at, name, n) != 0; n = strspn(at, letters)) {
			at += n;
			at += strcspn(at, letters);
		}
		unc_reader_fail_in(r, node, at - node->text, "'%s' is not an event of this family",
				   name);
		if (f->event_count)
			unc_error_suggest(r->e, name, &f->events->name, sizeof(*f->events),
					  f->event_count);
		return -EBADMSG;
	}
	return names->count ? 0 : unc_reader_fail(r, node, "the formula names no event");
}

/* Reads the condition under which there is no doubt: a formula of events of the metric, and of
 * other metrics. */
static int read_unless(const struct unc_reader *r, const struct unc_yaml *node, void *into)
{
	struct uncore_metric *m = into;
	int err = parse_formula(r, node, &m->unless);

	if (err < 0)
		return err;
	for (size_t i = 0; i < m->unless->names.count; i++) {
		const char *name = m->unless->names.items[i];

		if (!strchr(name, '.') && !(m->formula && unc_names_has(&m->formula->names, name)))
			return unc_reader_fail(r, node, "'%s' is not an event of the formula",
					       name);
	}
	return 0;
}

/* The range of factors by which a formula with a doubt may be wrong. */
static const struct unc_bounds factors = {1e-3, 1e3, "a number from 0.001 to 1000"};

static const struct unc_field alternative_fields[] = {
	UNC_FIELD("!factor", DOUBLE, UNC_AT(struct uncore_alternative, factor), .range = &factors),
	UNC_FIELD("!title", TEXT, UNC_AT(struct uncore_alternative, title)),
	UNC_FIELD("!evidence", TEXT, UNC_AT(struct uncore_alternative, evidence)),
	UNC_END,
};

/* The keys of a doubt, of a metric and of its cases. */
#define DOUBT                                                                              \
	UNC_FIELD("doubt", TEXT, METRIC(doubt)),                                           \
		UNC_FIELD("unless", ANY, .with = "doubt", .check = read_unless),           \
		UNC_FIELD("each_pmu", BOOL, METRIC(each_pmu), .with = "unless"),           \
		UNC_FIELD("withheld", BOOL, METRIC(withheld), .with = "unless"),           \
		UNC_FIELD("alternatives", LIST,                                            \
			  UNC_LIST(struct uncore_metric, alternatives, alternative_count), \
			  .of = UNC_SHAPE(struct uncore_alternative, alternative_fields),  \
			  .least = 2, .with = "doubt")

static const struct unc_field metric_case_fields[] = {
	UNC_FIELD("when", TEXT, .check = unc_family_when),
	UNC_FIELD("!formula", ANY, .check = read_formula),
	UNC_FIELD("headline", NUMBER, METRIC(headline), .most = 9),
	UNC_FIELD("apart", TEXT, METRIC(separate)),
	DOUBT,
	UNC_FIELD("evidence", TEXT, METRIC(evidence)),
	UNC_END,
};

static const struct unc_shape metric_case = {.fields = metric_case_fields,
					     .size = sizeof(struct uncore_metric)};

/* What people read: which rows are sums of what. */
static int describe_addition(const struct unc_reader *r, struct uncore_metric *m)
{
	struct unc_text text = {0};

	if (m->add != UNC_ADD_VALUES || !m->formula)
		return 0;
	unc_text_add(&text, "sum over PMUs of: %s", m->text);
	m->text = unc_yaml_keep(r->file, unc_text_take(&text));
	return m->text ? 0 : unc_nomem(r->e);
}

/* Counts that are divided neither by a time nor by other counts grow with the interval. */
static int check_unit(const struct unc_reader *r, const struct unc_yaml *map,
		      const struct uncore_metric *m)
{
	static const char *const amounts[] = {"B", "J", "packet", "s", "cycle", NULL};
	const struct unc_formula *f = m->formula;
	bool grows = f && !f->timed && !f->ratio && f->names.count;

	for (size_t i = 0; grows && i < f->names.count; i++)
		grows = !m->events[i]->state;
	for (size_t i = 0; grows && amounts[i]; i++)
		grows = strcmp(m->unit, amounts[i]) != 0;
	return grows ? unc_reader_fail(r, unc_yaml_get(map, "unit"),
				       "the unit is %s, and '%s' grows with the interval: divide "
				       "by 'seconds'",
				       m->unit, m->text)
		     : 0;
}

static int check_metric(const struct unc_reader *r, const struct unc_yaml *map, void *into)
{
	const struct unc_yaml *cases = unc_yaml_get(map, "cases");
	const char *s = map->key;
	struct uncore_metric *m = into;
	int err = 0;

	m->family = r->context;
	m->name = s;
	if (!m->cell && strncmp(s, "matrix.", 7) == 0)
		m->cell = s + 7;
	if (*s < 'a' || *s > 'z' || !strchr(s, '.') || strstr(s, "..") || s[strlen(s) - 1] == '.' ||
	    s[strspn(s, "abcdefghijklmnopqrstuvwxyz0123456789_.")])
		return unc_reader_fail_key(
			r, map,
			"'%s' is not a valid metric name: lower case words joined by "
			"dots, such as memory.read.bandwidth",
			s);
	if (m->ceiling && strcmp(m->unit, "B/s") != 0)
		return unc_reader_fail(r, unc_yaml_get(map, "ceiling"),
				       "a ceiling is one of B/s, and the unit is %s", m->unit);
	if (cases)
		err = fill_cases(r, map, cases, &metric_case, m);
	else if (!m->formula)
		err = unc_reader_fail(r, map, "a metric needs 'formula' or 'cases'");
	if (err == 0)
		err = check_unit(r, map, m);
	return err < 0 ? err : describe_addition(r, m);
}

static const struct unc_field finding_fields[] = {
	UNC_FIELD("!why", TEXT, UNC_AT(struct unc_metric_finding, why)),
	UNC_FIELD("!fix", TEXT, UNC_AT(struct unc_metric_finding, fix)),
	UNC_END,
};

static const struct unc_shape finding = {.fields = finding_fields};

static const struct unc_field metric_fields[] = {
	UNC_FIELD("!title", TEXT, METRIC(title)),
	UNC_FIELD("!unit", TEXT, METRIC(unit),
		  .words = (const char *const[]){"B/s", "Hz", "s", "ratio", "1/s", "1/cycle",
						 "count", "W", "J", "B", "cycle", "B/cycle",
						 "packet", "°C", NULL},
		  .what = "unit"),
	UNC_FIELD("formerly", TEXT, METRIC(formerly)),
	UNC_FIELD("formula", ANY, .check = read_formula),
	UNC_FIELD("cases", ANY),
	UNC_FIELD("otherwise", TEXT, METRIC(otherwise), .with = "cases"),
	UNC_FIELD("headline", NUMBER, METRIC(headline), .least = 1, .most = 9),
	UNC_FIELD("overview", BOOL, METRIC(overview)),
	UNC_FIELD("finding", MAP, METRIC(finding), .of = &finding),
	UNC_FIELD("apart", TEXT, METRIC(separate)),
	UNC_FIELD("ceiling", WORD, METRIC(ceiling),
		  .words =
			  (const char *const[]){[UNC_CEILING_NONE] = "",
						[UNC_CEILING_MEMORY] = "memory",
						[UNC_CEILING_PORT] = "port",
						[UNC_CEILING_LINK] = "link",
						NULL},
		  .what = "ceiling"),
	UNC_FIELD("add", WORD, METRIC(add),
		  .words =
			  (const char *const[]){[UNC_ADD_UNSAID] = "",
						[UNC_ADD_COUNTS] = "counts",
						[UNC_ADD_VALUES] = "values",
						NULL},
		  .what = "add"),
	UNC_FIELD("remote_data", WORD, METRIC(remote_data),
		  .words = (const char *const[]){[UNCORE_REMOTE_BY_NAME] = "",
						 [UNCORE_REMOTE_BOTH_ENDS] = "both-ends",
						 [UNCORE_REMOTE_NONE] = "none",
						 NULL},
		  .what = "remote_data"),
	UNC_FIELD("at_port", TEXT, METRIC(at_port)),
	UNC_FIELD("cell", TEXT, METRIC(cell)),
	DOUBT,
	UNC_FIELD("over", TEXT, METRIC(over)),
	UNC_FIELD("!evidence", TEXT, METRIC(evidence)),
	UNC_END,
};

/* ---- the whole file ---- */

/* In the order of enum unc_pmu_place. */
static const char *const places[] = {
	"channel",        "subchannel", "controller", "mesh-port", "package-controller",
	"package-memory", "socket",     "cluster",    "slice",     "cache",
	"agent",          "fabric",     "stack",      "port",      "link",
	"device",         "power",      "cpu",        "block",     NULL,
};

const char *unc_place_name(enum unc_pmu_place place)
{
	return places[place];
}

static const struct unc_field family_fields[] = {
	UNC_FIELD("!family", TEXT, FAMILY(name)),
	UNC_FIELD("!title", TEXT, FAMILY(title)),
	UNC_FIELD("!instance", TEXT, FAMILY(instance)),
	UNC_FIELD("!place", WORD, FAMILY(place), .words = places),
	UNC_FIELD("|pmus", LIST, FAMILY_LIST(patterns, pattern_count),
		  .of = UNC_SHAPE(struct unc_pattern, pattern_fields), .least = 1),
	UNC_FIELD("|devices", LIST, FAMILY_LIST(devices, device_count),
		  .of = &unc_device_rule_shape, .least = 1),
	UNC_FIELD("!source", WORD, FAMILY(source), .with = "devices",
		  .words = (const char *const[]){[UNC_SOURCE_KERNEL] = "",
						 [UNC_SOURCE_FILES] = "files",
						 [UNC_SOURCE_NVML] = "nvml",
						 NULL},
		  .what = "source"),
	UNC_FIELD("layout", ANY, .with = "devices", .check = unc_device_layout),
	UNC_FIELD("runtime_status", TEXT, FAMILY(runtime_status), .with = "devices",
		  .check = unc_device_path),
	UNC_FIELD("links", NUMBER, FAMILY(links), .with = "devices", .least = 1, .most = 64),
	UNC_FIELD("each_function", BOOL, FAMILY(each_function), .with = "devices"),
	UNC_FIELD("needs", WORDS, FAMILY_LIST(needs, need_count), .with = "devices"),
	UNC_FIELD("not_in_guests", TEXT, FAMILY(not_in_guests), .with = "devices"),
	UNC_FIELD("everywhere", BOOL, FAMILY(everywhere)),
	UNC_FIELD("models", WORDS, FAMILY_LIST(models, model_count), .check = check_models),
	UNC_FIELD("expect", LIST, FAMILY_LIST(expectations, expectation_count),
		  .of = UNC_SHAPE(struct unc_expectation, expectation_fields,
				  .check = check_expectation)),
	UNC_FIELD("counters", ANY, .check = read_counters),
	UNC_FIELD("each_socket", BOOL, FAMILY(each_socket)),
	UNC_FIELD("role", ANY, .check = read_role),
	UNC_FIELD("filters", MAP, .of = &unc_filters_shape),
	UNC_FIELD("ports", LIST, FAMILY_LIST(ports, port_count),
		  .of = UNC_SHAPE(struct unc_port_rule, port_fields,
				  .choice = offsetof(struct unc_port_rule, kind), .drops = true,
				  .check = finish_port_rule)),
	UNC_FIELD("speed", LIST, FAMILY_LIST(speed, speed_count),
		  .of = UNC_SHAPE(struct unc_speed_rule, speed_fields, .drops = true)),
	UNC_FIELD("nodes", LIST, FAMILY_LIST(node_rules, node_rule_count),
		  .of = UNC_SHAPE(struct unc_node_rule, node_fields,
				  .choice = offsetof(struct unc_node_rule, kind), .drops = true)),
	UNC_FIELD("registers", LIST, FAMILY_LIST(registers, register_count),
		  .of = UNC_SHAPE(struct unc_register, counter_register_fields, .drops = true)),
	UNC_FIELD("!events", NAMED, FAMILY_LIST(events, event_count),
		  .of = UNC_SHAPE(struct unc_event_def, event_fields, .check = finish_event)),
	UNC_FIELD("terms", LIST, FAMILY_LIST(named_terms, named_term_count),
		  .of = &unc_named_term_shape),
	UNC_FIELD("rules", LIST, FAMILY_LIST(rules, rule_count), .of = &unc_rule_shape),
	UNC_FIELD("kernel_bugs", LIST, FAMILY_LIST(bugs, bug_count), .of = &unc_kernel_bug_shape),
	UNC_FIELD("drivers", LIST, FAMILY_LIST(drivers, driver_count), .of = &unc_driver_shape),
	UNC_FIELD("!metrics", NAMED, FAMILY_LIST(metrics, metric_count),
		  .of = UNC_SHAPE(struct uncore_metric, metric_fields, .check = check_metric)),
	UNC_FIELD("peer", TEXT, FAMILY(peer), .check = check_file),
	UNC_END,
};

int unc_family_parse(struct unc_family **out, struct unc_yaml_file *file, const char *cpu_model,
		     struct unc_error *e)
{
	struct unc_family *f = calloc(1, sizeof(*f));
	struct unc_reader r = {.file = file, .e = e, .context = f};
	int err;

	if (!f) {
		unc_yaml_free(file);
		return unc_nomem(e);
	}
	f->file = file;
	f->cpu_model = cpu_model;
	f->on_this_cpu = true;
	/* A device counts all at once. */
	f->counters = unc_yaml_get(file->root, "devices") ? 0 : COUNTERS;
	err = unc_fill(&r, file->root, UNC_SHAPE(struct unc_family, family_fields), f);
	/* Devices are found by their files; sentences name them by this. */
	if (err == 0 && f->device_count) {
		f->patterns = unc_yaml_keep(file, calloc(1, sizeof(*f->patterns)));
		f->pattern_count = f->patterns ? 1 : 0;
		err = f->patterns ? 0 : unc_nomem(e);
	}
	if (err == 0 && f->device_count)
		f->patterns->name = f->devices->name;
	if (err < 0)
		unc_family_free(f);
	else
		*out = f;
	return err;
}

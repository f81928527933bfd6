/* SPDX-License-Identifier: MIT */
/* Data files: what can restrict a family's events. */
#include "base/text.h"
#include "catalogue/family-parse.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

const struct unc_filter_word unc_filter_words[UNC_FILTERS] = {
	[UNC_FILTER_FROM] = {"from", NULL},
	[UNC_FILTER_TO] = {"to", NULL},
	[UNC_FILTER_GPU] = {"gpu", "{mask}"},
	[UNC_FILTER_LINK] = {"link", NULL},
	[UNC_FILTER_PORT] = {"port", "{mask} {index}"},
	[UNC_FILTER_DEVICE] = {"device", "{bdf}"},
	[UNC_FILTER_ADDRESS] = {"address", "{base} {mask}"},
};

/* Terms with values: numbers, and with `allowed` (at least one of) its words. */
static int check_terms(const struct unc_reader *r, const struct unc_yaml *node, const char *allowed)
{
	const char *at = node->text;
	struct unc_assignment a;
	bool any = !allowed;
	uint64_t number;

	if (unc_family_terms(r, node, NULL) < 0)
		return -EBADMSG;
	while (unc_assignment_next(&at, &a) == 1) {
		bool word = allowed && a.value[0] == '{' && unc_has_word(allowed, a.value);

		any = any || word;
		if (!word && unc_parse_u64(a.value, &number) < 0)
			return unc_reader_fail(
				r, node, "'%s=%s': the value of a filter's term is a number%s%s",
				a.name, a.value, allowed ? ", or one of " : "",
				allowed ? allowed : "");
	}
	return any ? 0
		   : unc_reader_fail(r, node, "no term takes what the user gives: one of %s",
				     allowed);
}

/* A filter has the terms of each of its values, or terms with words in braces. */
static int check_filter(const struct unc_reader *r, const struct unc_yaml *map, void *into)
{
	const struct unc_filter *filters = ((struct unc_family *)into)->filters;
	size_t kind = 0;

	while (strcmp(unc_filter_words[kind].name, map->key) != 0)
		kind++;
	if (unc_filter_words[kind].braces)
		return check_terms(r, unc_yaml_get(map, "terms"), unc_filter_words[kind].braces);
	for (size_t i = 0; i < filters[kind].value_count; i++) {
		const struct unc_yaml *value = &unc_yaml_get(map, "values")->children[i];

		if (value->key[strspn(value->key, "abcdefghijklmnopqrstuvwxyz0123456789_")])
			return unc_reader_fail_key(
				r, value,
				"'%s' is not a valid value of a filter: lower case "
				"letters, digits and _",
				value->key);
		if (check_terms(r, value, NULL) < 0)
			return -EBADMSG;
	}
	return 0;
}

static const struct unc_field with_values_fields[] = {
	UNC_FIELD("!title", TEXT, UNC_AT(struct unc_filter, title)),
	UNC_FIELD("!values", WORDS, UNC_LIST(struct unc_filter, values, value_count)),
	UNC_END,
};

static const struct unc_field with_terms_fields[] = {
	UNC_FIELD("!title", TEXT, UNC_AT(struct unc_filter, title)),
	UNC_FIELD("!terms", TEXT, UNC_AT(struct unc_filter, terms), .check = unc_family_terms),
	UNC_END,
};

static const struct unc_field with_count_fields[] = {
	UNC_FIELD("!title", TEXT, UNC_AT(struct unc_filter, title)),
	UNC_FIELD("!terms", TEXT, UNC_AT(struct unc_filter, terms), .check = unc_family_terms),
	UNC_FIELD("count", TEXT, UNC_AT(struct unc_filter, count)),
	UNC_END,
};

static const struct unc_shape with_values = {.fields = with_values_fields};
static const struct unc_shape with_terms = {.fields = with_terms_fields};
static const struct unc_shape with_count = {.fields = with_count_fields};

#define FILTER(key, number, shape)                                                      \
	UNC_FIELD(key, MAP, UNC_AT(struct unc_family, filters[number]), .of = &(shape), \
		  .check = check_filter)

static const struct unc_field filter_fields[] = {
	FILTER("from", UNC_FILTER_FROM, with_values),
	FILTER("to", UNC_FILTER_TO, with_values),
	FILTER("gpu", UNC_FILTER_GPU, with_count),
	FILTER("link", UNC_FILTER_LINK, with_values),
	FILTER("port", UNC_FILTER_PORT, with_terms),
	FILTER("device", UNC_FILTER_DEVICE, with_terms),
	FILTER("address", UNC_FILTER_ADDRESS, with_terms),
	UNC_END,
};

_Static_assert(sizeof(filter_fields) / sizeof(*filter_fields) == UNC_FILTERS + 1,
	       "each kind of filter has a row in filter_fields");

const struct unc_shape unc_filters_shape = {.fields = filter_fields};

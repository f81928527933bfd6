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
		bool word = allowed && a.value[0] == '{' && unc_family_word_in(allowed, a.value);

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

static int check_values(const struct unc_reader *r, const struct unc_yaml *map, void *into)
{
	(void)into;
	for (size_t i = 0; i < map->count; i++) {
		const struct unc_yaml *value = &map->children[i];

		if (value->key[strspn(value->key, "abcdefghijklmnopqrstuvwxyz0123456789_")])
			return unc_reader_fail_key(r, value,
						   "'%s' is no value of a filter: lower case "
						   "letters, digits and _",
						   value->key);
		if (check_terms(r, value, NULL) < 0)
			return -EBADMSG;
	}
	return 0;
}

static const struct unc_field with_values_fields[] = {
	UNC_FIELD("!title", TEXT, UNC_AT(struct unc_filter, title)),
	UNC_FIELD("!values", WORDS, UNC_LIST(struct unc_filter, values, value_count),
		  .check = check_values),
	UNC_END,
};

static const struct unc_shape with_values = {.fields = with_values_fields};

static const struct unc_field with_terms_fields[] = {
	UNC_FIELD("!title", TEXT, UNC_AT(struct unc_filter, title)),
	UNC_FIELD("!terms", TEXT, UNC_AT(struct unc_filter, terms)),
	UNC_END,
};

static const struct unc_shape with_terms = {.fields = with_terms_fields};

int unc_family_filters(const struct unc_reader *r, const struct unc_yaml *map, void *into)
{
	struct unc_field fields[UNC_FILTERS + 1] = {0};
	const struct unc_shape filters = {.fields = fields};
	int err;

	for (size_t i = 0; i < UNC_FILTERS; i++)
		fields[i] = (struct unc_field){
			.key = unc_filter_words[i].name,
			.kind = UNC_FIELD_MAP,
			.offset = offsetof(struct unc_family, filters) +
				  i * sizeof(struct unc_filter),
			.size = sizeof(struct unc_filter),
			.of = unc_filter_words[i].braces ? &with_terms : &with_values,
		};
	err = unc_fill(r, map, &filters, into);
	for (size_t i = 0; err == 0 && i < UNC_FILTERS; i++) {
		const struct unc_yaml *filter = unc_yaml_get(map, unc_filter_words[i].name);

		if (filter && unc_filter_words[i].braces)
			err = check_terms(r, unc_yaml_get(filter, "terms"),
					  unc_filter_words[i].braces);
	}
	return err;
}

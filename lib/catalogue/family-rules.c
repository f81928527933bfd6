/* SPDX-License-Identifier: MIT */
/* Reads the parts of data files that restrict the events of a family: filters, rules of the
 * hardware, bugs of kernels. */
#include "catalogue/catalogue.h"

int unc_family_terms(const struct unc_reader *r, const struct unc_yaml *value, void *into)
{
	const char *at = value->text;
	struct unc_assignment a;
	int more;

	(void)into;
	while ((more = unc_assignment_next(&at, &a)) == 1)
		if (strncmp(a.name, "config", 6) == 0)
			return unc_reader_fail(
				r, value, "'%s': write format terms, not raw configuration words",
				a.name);
	if (more < 0)
		return unc_reader_fail(
			r, value, "'%s' is not a valid list of terms such as event=0x04,umask=0x03",
			value->text);
	return 0;
}

int unc_family_when(const struct unc_reader *r, const struct unc_yaml *node, void *into)
{
	const struct unc_family *f = r->context;
	bool *other_model = into;

	*other_model = true;
	for (const char *at = node->text; *at; at += strspn(at, " ")) {
		size_t n = strcspn(at, " "), i = 0;

		while (i < f->model_count &&
		       (strncmp(f->models[i].name, at, n) != 0 || strlen(f->models[i].name) != n))
			i++;
		if (i == f->model_count)
			return unc_reader_fail_in(r, node, at - node->text,
						  "'%.*s' is not a model of this file's 'models'",
						  (int)n, at);
		*other_model &= !unc_has_one_of(f->models[i].text, f->cpu_model);
		at += n;
	}
	return 0;
}

const struct unc_event_def *unc_family_event(const struct unc_family *f, const char *name)
{
	for (size_t i = 0; i < f->event_count; i++)
		if (strcmp(f->events[i].name, name) == 0)
			return &f->events[i];
	return NULL;
}

/* ---- filters ---- */

const struct unc_filter_word unc_filter_words[] = {
	[UNC_FILTER_FROM] = {"from", NULL, false},
	[UNC_FILTER_TO] = {"to", NULL, false},
	[UNC_FILTER_GPU] = {"gpu", "{mask}", false},
	[UNC_FILTER_LINK] = {"link", NULL, false},
	[UNC_FILTER_PORT] = {"port", "{mask} {index}", true},
	[UNC_FILTER_DEVICE] = {"device", "{bdf}", true},
	[UNC_FILTER_ADDRESS] = {"address", "{base} {mask}", false},
	[UNC_FILTER_SOCKET] = {"socket", NULL, false},
	[UNC_FILTER_NODE] = {"node", NULL, false},
};
_Static_assert(sizeof(unc_filter_words) / sizeof(*unc_filter_words) == UNC_FILTER_KINDS,
	       "each kind of filter has a name");

/* Checks terms with values. Values are numbers or, with `allowed`, its words, of which there must
 * be at least one. */
static int check_filter_terms(const struct unc_reader *r, const struct unc_yaml *node,
			      const char *allowed)
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

/* Checks that a filter has either terms for each of its values, or terms with words in braces. */
static int check_filter(const struct unc_reader *r, const struct unc_yaml *map, void *into)
{
	const struct unc_filter *filter = into;
	const struct unc_filter_word *word = unc_filter_words;
	const struct unc_yaml *wrong;

	while (strcmp(word->name, map->key) != 0)
		word++;
	wrong = unc_yaml_get(map, word->braces ? "values" : "terms");
	if (!wrong && word != &unc_filter_words[UNC_FILTER_GPU])
		wrong = unc_yaml_get(map, "count");
	if (wrong)
		return unc_reader_fail_key(r, wrong, "'%s' is not a key of the filter '%s'",
					   wrong->key, map->key);
	if (!filter->values && !filter->terms)
		return unc_reader_fail(r, map, "the key '%s' is missing in '%s'",
				       word->braces ? "terms" : "values", map->key);
	if (word->braces)
		return check_filter_terms(r, unc_yaml_get(map, "terms"), word->braces);
	for (size_t i = 0; i < filter->value_count; i++) {
		const struct unc_yaml *value = &unc_yaml_get(map, "values")->children[i];

		if (unc_reader_check_name(r, value, value->key, "_", "value of a filter") < 0)
			return -EBADMSG;
		if (check_filter_terms(r, value, NULL) < 0)
			return -EBADMSG;
	}
	return 0;
}

static const struct unc_field filter_keys[] = {
	UNC_FIELD("!title", TEXT, UNC_AT(struct unc_filter, title)),
	UNC_FIELD("values", WORDS, UNC_LIST(struct unc_filter, values, value_count)),
	UNC_FIELD("terms", TEXT, UNC_AT(struct unc_filter, terms), .check = unc_family_terms),
	UNC_FIELD("count", TEXT, UNC_AT(struct unc_filter, count)),
	UNC_END,
};

static const struct unc_shape filter = {.fields = filter_keys, .check = check_filter};

#define FILTER(key, kind) \
	UNC_FIELD(key, MAP, UNC_AT(struct unc_family, filters[kind]), .of = &filter)

static const struct unc_field filter_fields[] = {
	FILTER("from", UNC_FILTER_FROM),       FILTER("to", UNC_FILTER_TO),
	FILTER("gpu", UNC_FILTER_GPU),         FILTER("link", UNC_FILTER_LINK),
	FILTER("port", UNC_FILTER_PORT),       FILTER("device", UNC_FILTER_DEVICE),
	FILTER("address", UNC_FILTER_ADDRESS), UNC_END,
};

_Static_assert(sizeof(filter_fields) / sizeof(*filter_fields) == UNC_FILTERS + 1,
	       "each kind of filter has a row in filter_fields");

const struct unc_shape unc_filters_shape = {.fields = filter_fields};

/* ---- terms whose values have names ---- */

static const struct unc_field named_term_fields[] = {
	UNC_FIELD("!term", TEXT, UNC_AT(struct unc_named_term, name)),
	UNC_FIELD("models", TEXT, .check = unc_family_when),
	UNC_FIELD("joined", BOOL, UNC_AT(struct unc_named_term, joined)),
	UNC_FIELD("!title", TEXT, UNC_AT(struct unc_named_term, title)),
	UNC_FIELD("!evidence", TEXT, UNC_AT(struct unc_named_term, evidence)),
	UNC_FIELD("!values", WORDS, UNC_LIST(struct unc_named_term, values, value_count)),
	UNC_END,
};

static int finish_named_term(const struct unc_reader *r, const struct unc_yaml *map, void *into)
{
	const struct unc_yaml *values = unc_yaml_get(map, "values");

	(void)into;
	for (size_t i = 0; i < values->count; i++)
		if (check_filter_terms(r, &values->children[i], NULL) < 0)
			return -EBADMSG;
	return unc_reader_check_name(r, unc_yaml_get(map, "term"), unc_yaml_get(map, "term")->text,
				     "_", "term");
}

const struct unc_shape unc_named_term_shape = {.fields = named_term_fields,
					       .size = sizeof(struct unc_named_term),
					       .drops = true,
					       .check = finish_named_term};

/* ---- rules ---- */

static int read_except(const struct unc_reader *r, const struct unc_yaml *node, void *into)
{
	struct unc_rule *rule = into;

	rule->except = unc_family_event(r->context, node->text);
	return rule->except ? 0
			    : unc_reader_fail(r, node, "'%s' is not an event of this family",
					      node->text);
}

/* A combination needs at least two terms. If no term needs another, one is enough that has a value:
 * "event=0x100000000". */
static int check_combination(const struct unc_reader *r, const struct unc_yaml *node, void *into)
{
	const struct unc_names *terms = &((struct unc_rule *)into)->terms;
	bool needs = strcmp(node->key, "needs") == 0;

	if (terms->count >= 2 || (!needs && terms->count && strchr(terms->items[0], '=')))
		return 0;
	return unc_reader_fail(r, node, "'%s' needs at least 2 terms", node->key);
}

#define NAMES(key, member, ...)                                \
	UNC_FIELD(key, NAMES, UNC_AT(struct unc_rule, member), \
		  .what = "format terms such as src_bdf src_bdf_en", __VA_ARGS__)

/* The choices are in the order of enum unc_rule_kind. */
static const struct unc_field rule_fields[] = {
	NAMES("|never", terms, .check = check_combination, .values = true),
	NAMES("|needs", terms, .check = check_combination, .values = true),
	NAMES("|needs_one", terms, .check = NULL),
	NAMES("|note", terms, .check = check_combination, .values = true),
	NAMES("|group_same", terms, .check = NULL),
	NAMES("|same", terms, .check = NULL),
	UNC_FIELD("|at_most", NUMBER, UNC_AT(struct unc_rule, most), .least = 1,
		  .most = UNC_RULE_MOST),
	NAMES("!of", terms, .with = "at_most"),
	NAMES("when", when, .with = "same at_most"),
	UNC_FIELD("except", TEXT, .with = "same at_most", .check = read_except),
	NAMES("inherit", inherit, .with = "same at_most"),
	UNC_FIELD("models", TEXT, .check = unc_family_when),
	UNC_FIELD("without", TEXT, UNC_AT(struct unc_rule, without)),
	UNC_FIELD("!why", TEXT, UNC_AT(struct unc_rule, why)),
	UNC_FIELD("!evidence", TEXT, UNC_AT(struct unc_rule, evidence)),
	UNC_END,
};

const struct unc_shape unc_rule_shape = {
	.fields = rule_fields,
	.size = sizeof(struct unc_rule),
	.drops = true,
	.choice = offsetof(struct unc_rule, kind),
};

/* ---- bugs of kernels ---- */

/* Checks a version. `fixed` may have several, in ascending order; the last is for all other
 * branches. */
static int check_versions(const struct unc_reader *r, const struct unc_yaml *node, void *into)
{
	const char *at = node->text, *before = NULL;
	bool several = strcmp(node->key, "fixed") == 0;
	size_t length = 0;

	(void)into;
	for (; *at; before = at, at += length, at += strspn(at, " ")) {
		length = strspn(at, "0123456789");
		if (!length || at[length] != '.' || !unc_is_digit(at[length + 1]))
			break;
		length = strspn(at, "0123456789.");
		if (at[length] && at[length] != ' ')
			break;
		if (before && (!several || strverscmp(before, at) >= 0))
			break;
	}
	return length && !*at
		       ? 0
		       : unc_reader_fail(
				 r, node, "'%s' is not a valid kernel version such as 6.11%s",
				 node->text,
				 several ? ", or several from the oldest to the newest" : "");
}

#define SIGN_AT(member) UNC_AT(struct unc_kernel_bug, shown.member)

static const struct unc_field sign_fields[] = {
	UNC_FIELD("|pmus", TEXT, SIGN_AT(pmus)),
	UNC_FIELD("|file", TEXT, SIGN_AT(file)),
	UNC_FIELD("|missing", TEXT, SIGN_AT(missing)),
	UNC_FIELD("is", TEXT, SIGN_AT(is), .with = "file"),
	UNC_FIELD("lacks", TEXT, SIGN_AT(lacks), .with = "file"),
	UNC_END,
};

static const struct unc_field kernel_bug_fields[] = {
	UNC_FIELD("!title", TEXT, UNC_AT(struct unc_kernel_bug, title)),
	UNC_FIELD("models", TEXT, .check = unc_family_when),
	UNC_FIELD("since", TEXT, UNC_AT(struct unc_kernel_bug, since), .check = check_versions),
	UNC_FIELD("fixed", TEXT, UNC_AT(struct unc_kernel_bug, fixed), .check = check_versions),
	UNC_FIELD("effect", WORD, UNC_AT(struct unc_kernel_bug, effect),
		  .words = (const char *const[]){"counts", "missing", "note", NULL},
		  .what = "effect"),
	UNC_FIELD("shown", MAP, .of = UNC_SHAPE(struct unc_kernel_bug, sign_fields)),
	UNC_FIELD("terms", NAMES, UNC_AT(struct unc_kernel_bug, terms), .values = true,
		  .what = "format terms such as src_bdf umask>0xff"),
	UNC_FIELD("equal_counts", BOOL, UNC_AT(struct unc_kernel_bug, equal_counts)),
	UNC_FIELD("adds_at_reads", BOOL, UNC_AT(struct unc_kernel_bug, adds_at_reads)),
	UNC_FIELD("!evidence", TEXT, UNC_AT(struct unc_kernel_bug, evidence)),
	UNC_END,
};

const struct unc_shape unc_kernel_bug_shape = {
	.fields = kernel_bug_fields, .size = sizeof(struct unc_kernel_bug), .drops = true};

/* The length of "6.12." at the start of a version. */
static size_t branch_length(const char *version)
{
	size_t major = strcspn(version, ".");

	return version[major] ? major + 1 + strspn(version + major + 1, "0123456789") : major;
}

char *unc_kernel_fix(const struct unc_kernel_bug *bug, const char *kernel)
{
	const char *best = bug->fixed;
	size_t branch = branch_length(kernel);

	for (const char *at = best; at && *at; at += strspn(at, " ")) {
		best = at;
		if (branch_length(at) == branch && strncmp(at, kernel, branch) == 0)
			break;
		at += strcspn(at, " ");
	}
	return best ? strndup(best, strcspn(best, " ")) : NULL;
}

bool unc_kernel_is_patched(const char *kernel)
{
	size_t version = strspn(kernel, "0123456789.");

	return kernel[version] == '-' && unc_is_digit(kernel[version + 1]);
}

/* Kernels with other suffixes ("5.15.152-velinux") may have such corrections, too. */
static bool is_named(const char *kernel)
{
	size_t version = strspn(kernel, "0123456789.");

	return kernel[version] == '-' && strncmp(kernel + version, "-rc", 3) != 0;
}

enum sign { SIGN_UNKNOWN, SIGN_SHOWN, SIGN_ABSENT };

static enum sign sign_on(const struct unc_bug_sign *s, const struct uncore_pmu *pmu)
{
	const char *file = s->file ? s->file : s->missing;
	bool shown;
	char *text;
	int r;

	if (s->pmus)
		return unc_glob_matches(s->pmus, pmu->name) ? SIGN_SHOWN : SIGN_ABSENT;
	r = unc_pmu_attribute(pmu, file, &text);
	if (r < 0)
		return s->missing && r == -ENOENT ? SIGN_SHOWN : SIGN_UNKNOWN;
	shown = !s->missing &&
		(s->is ? unc_glob_matches(s->is, text) : !unc_glob_matches(s->lacks, text));
	free(text);
	return shown ? SIGN_SHOWN : SIGN_ABSENT;
}

/* Whether files of the PMUs show the bug. One PMU is enough, even if others do not show it. */
static enum sign find_sign(const struct unc_family *f, const struct unc_kernel_bug *bug)
{
	const struct unc_bug_sign *s = &bug->shown;
	enum sign found = SIGN_UNKNOWN;

	for (size_t i = 0;
	     (s->pmus || s->file || s->missing) && found != SIGN_SHOWN && i < f->pmu_count; i++) {
		enum sign here = sign_on(s, f->pmus[i]);

		if (here)
			found = here;
	}
	return found;
}

/* Sets the bug's text if this kernel has it or may have it. If corrections are known only for
 * stable branches, newer branches may have the correction. */
static int find_bug(const struct unc_family *f, struct unc_kernel_bug *bug, const char *kernel)
{
	enum sign sign = find_sign(f, bug);
	char *fix = unc_kernel_fix(bug, kernel);
	size_t branch = branch_length(kernel);
	struct unc_text text = {0};
	bool has = !bug->since || strverscmp(kernel, bug->since) >= 0;
	bool perhaps = bug->fixed && unc_kernel_is_patched(kernel);

	if (bug->fixed && !fix)
		return -ENOMEM;
	if (fix && branch_length(fix) == branch && strncmp(fix, kernel, branch) == 0) {
		has = has && strverscmp(kernel, fix) < 0;
	} else if (bug->fixed) {
		bool is_stable = fix[branch_length(fix)]; /* "6.12.34" */

		has = has && (is_stable || strverscmp(kernel, fix) < 0);
		perhaps |= is_stable && strverscmp(kernel, bug->fixed) >= 0;
	}
	free(fix);
	if (sign) {
		has = sign == SIGN_SHOWN;
		perhaps = false;
	}
	if (!has || bug->text)
		return 0;
	unc_text_add(&text,
		     perhaps || (bug->fixed && is_named(kernel) && !sign)
			     ? "kernel %s may have a bug: %s"
			     : "a bug of kernel %s: %s",
		     kernel, bug->title);
	if (bug->equal_counts)
		unc_text_add(&text, "; counts of PMUs that differ by more than an eighth show that "
				    "it is fixed");
	bug->suspect = bug->effect == UNC_BUG_COUNTS && !perhaps;
	bug->text = unc_yaml_keep(f->file, unc_text_take(&text));
	return bug->text ? 0 : -ENOMEM;
}

int unc_family_find_bugs(struct unc_family *f, const char *kernel)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < f->bug_count && *kernel; i++)
		r = find_bug(f, &f->bugs[i], kernel);
	return r;
}

const char *unc_family_bug(const struct unc_family *f, bool suspect)
{
	for (size_t i = 0; i < f->bug_count; i++)
		if (f->bugs[i].text && f->bugs[i].suspect == suspect && !f->bugs[i].terms.count &&
		    f->bugs[i].effect != UNC_BUG_MISSING)
			return f->bugs[i].text;
	return NULL;
}

/* SPDX-License-Identifier: MIT */
/* The set of families: built in, overridden by directories, matched to PMUs. */
#include "catalogue/catalogue.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/data-file.h"
#include "base/formula.h"
#include "helpers.h"

static const struct unc_names no_dirs;

static const struct unc_family *find(const struct unc_catalogue *c, const char *name)
{
	for (size_t i = 0; i < c->family_count; i++)
		if (strcmp(c->families[i]->name, name) == 0)
			return c->families[i];
	return NULL;
}

static struct unc_catalogue load(const struct unc_names *dirs, const char *model)
{
	struct unc_catalogue c = {.cpu_model = model, .kernel = ""};
	struct unc_error e = {0};

	for (size_t i = 0; i < dirs->count; i++)
		if (unc_catalogue_load(&c, dirs->items[i], &e) < 0)
			fail_msg("%s: %s", model, e.text);
	return c;
}

static struct unc_catalogue load_all(const struct unc_names *dirs, const char *model)
{
	struct unc_catalogue c = load(dirs, model);
	struct unc_error e = {0};

	if (unc_catalogue_complete(&c, &e) < 0)
		fail_msg("%s: %s", model, e.text);
	return c;
}

/* A family without events, with one metric name for each PMU name. */
static void put_family(const struct tree *t, const char *file, const char *family,
		       const char *title)
{
	char text[512];

	snprintf(text, sizeof(text),
		 "family: %s\ntitle: %s\ninstance: x\nplace: link\npmus:\n  - name: toy_{n}\n"
		 "events:\n  a: {title: x, terms: event=1, evidence: x}\n"
		 "metrics:\n  toy.rate: {title: x, unit: 1/s, formula: a / seconds, evidence: x}\n",
		 family, title);
	tree_put(t, file, text);
}

/* ---- built in --------------------------------------------------------------------------------- */

static void every_data_file_is_built_in(void **state)
{
	struct unc_catalogue c = load_all(&no_dirs, "unknown");

	(void)state;
	assert_true(c.family_count > 0);
	assert_int_equal(c.family_count, unc_embedded_data_count);
	for (size_t i = 0; i < c.family_count; i++) {
		char name[128];

		/* data/NAME.yaml holds the family NAME. */
		snprintf(name, sizeof(name), "%.*s", (int)strcspn(unc_embedded_data[i].name, "."),
			 unc_embedded_data[i].name);
		assert_non_null(find(&c, name));
		if (i)
			assert_true(strcmp(c.families[i - 1]->name, c.families[i]->name) < 0);
	}
	unc_catalogue_finish(&c);
}

static bool is_sum_of_counts(const struct unc_yaml *formula)
{
	struct unc_formula *f;
	bool sum;

	assert_int_equal(unc_formula_parse(&f, formula->text, NULL, NULL), 0);
	sum = f->sum;
	unc_formula_free(f);
	return sum;
}

/* Whether a formula of the metric, of whatever CPU, is no sum of counts, while its unit adds up. */
static bool needs_add(const struct unc_yaml *metric)
{
	static const char *const units[] = {"B/s", "W", "J", "B", "1/s"};
	const struct unc_yaml *unit = unc_yaml_get(metric, "unit"),
			      *one = unc_yaml_get(metric, "formula"),
			      *cases = unc_yaml_get(metric, "cases");
	bool adds = false, sum = !one || is_sum_of_counts(one);

	for (size_t n = 0; unit && n < sizeof(units) / sizeof(*units); n++)
		adds |= strcmp(unit->text, units[n]) == 0;
	for (size_t i = 0; cases && i < cases->count; i++)
		sum &= is_sum_of_counts(unc_yaml_get(&cases->children[i], "formula"));
	return adds && !sum;
}

/* Rows of several PMUs add up counts before the formula is evaluated. The sum of values is another
 * one if the formula is no sum of counts, so that the data file must say which of them is right. */
static void metrics_that_are_no_sum_of_counts_say_what_is_added_up(void **state)
{
	size_t decided = 0, with_cases = 0;

	(void)state;
	for (size_t i = 0; i < unc_embedded_data_count; i++) {
		const struct unc_file *f = &unc_embedded_data[i];
		struct unc_yaml_file *file;
		const struct unc_yaml *metrics;

		assert_int_equal(unc_yaml_parse(&file, f->name, f->text, f->len, NULL), 0);
		metrics = unc_yaml_get(file->root, "metrics");
		for (size_t k = 0; metrics && k < metrics->count; k++) {
			const struct unc_yaml *metric = &metrics->children[k];

			with_cases += unc_yaml_get(metric, "cases") != NULL;
			if (!needs_add(metric))
				continue;
			decided++;
			if (!unc_yaml_get(metric, "add"))
				fail_msg("%s of %s needs 'add'", metric->key, f->name);
		}
		unc_yaml_free(file);
	}
	assert_true(decided > 0 && with_cases > 10);
}

/* A pattern of words.yaml stands for something: a metric, a family or the names of its PMUs. */
static bool is_name_of(const struct unc_catalogue *c, const char *pattern)
{
	for (size_t i = 0; i < c->family_count; i++) {
		const struct unc_family *f = c->families[i];

		if (unc_glob_matches(pattern, f->name))
			return true;
		for (size_t k = 0; k < f->metric_count; k++)
			if (unc_glob_matches(pattern, f->metrics[k].name))
				return true;
		for (size_t k = 0; k < f->pattern_count; k++)
			if (unc_glob_matches(pattern, f->patterns[k].name))
				return true;
	}
	return false;
}

/* The first view of the table that has the metric. */
static size_t find_in_table(const struct unc_catalogue *c, const char *table, const char *metric)
{
	enum uncore_column column;
	unsigned rank;
	size_t i = 0;
	int number;

	while (i < c->view_count &&
	       !(strcmp(uncore_view_table(&c->views[i]), table) == 0 &&
		 uncore_view_has(&c->views[i], metric, &column, &rank, &number)))
		i++;
	return i;
}

/* The number of its metrics. */
static size_t check_column(const struct unc_catalogue *c, size_t view, int k)
{
	const struct unc_view_column *column = unc_view_column(&c->views[view], k);
	const char *at = column ? column->metrics : NULL, *screen = c->views[view].screen;
	enum uncore_column found;
	char name[64], *brace;
	unsigned rank = 0, at_rank;
	int n, number;

	for (; at && sscanf(at, "%63s%n", name, &n) == 1; at += n) {
		brace = strstr(name, "{n}");
		if (brace)
			memcpy(brace, "0", 1);
		if (brace)
			memmove(brace + 1, brace + 3, strlen(brace + 3) + 1);
		if (!is_name_of(c, name))
			fail_msg("views.yaml: no metric is named %s", name);
		assert_true(uncore_view_has(&c->views[view], name, &found, &at_rank, &number));
		if ((int)found != k || at_rank != rank++ || number != (brace ? 0 : -1) ||
		    find_in_table(c, uncore_view_table(&c->views[view]), name) != view)
			fail_msg("views.yaml: %s is there twice", name);
		if (screen)
			assert_ptr_equal(unc_catalogue_find_view(c, name), &c->views[view]);
	}
	return rank;
}

/* A metric of views.yaml exists, and stands in one column of one view of a table, and of a
 * screen. */
static void views_have_metrics(void **state)
{
	struct unc_catalogue c = load_all(&no_dirs, "unknown");
	size_t metrics = 0;

	(void)state;
	assert_int_equal(unc_catalogue_load_views(&c, NULL), 0);
	assert_true(c.view_count > 5);
	for (size_t i = 0; i < c.view_count; i++) {
		const struct uncore_view *view = &c.views[i];

		assert_true(!view->screen != !view->table);
		assert_true(UNCORE_COLUMN_MORE + view->more_count <= UNCORE_TABLE_COLUMNS);
		for (int k = 0; k < UNCORE_TABLE_COLUMNS; k++)
			metrics += check_column(&c, i, k);
	}
	assert_true(metrics > 30);
	assert_null(unc_catalogue_find_view(&c, "memory.bandwidths"));
	assert_null(unc_catalogue_find_view(&c, "link.x.in.bandwidth"));
	unc_catalogue_finish(&c);
}

/* Each model of cpus.yaml is there once. */
static void cpus_have_names(void **state)
{
	struct unc_catalogue c = load_all(&no_dirs, "intel/6/85 intel/6/85/7");
	char model[64];
	int n;

	(void)state;
	assert_string_equal(unc_catalogue_cpu(&c), "Cascade Lake");
	for (size_t i = 0; i < c.cpu_count; i++)
		for (const char *at = c.cpus[i].text; sscanf(at, "%63s%n", model, &n) == 1;
		     at += n) {
			c.cpu_model = model;
			assert_string_equal(unc_catalogue_cpu(&c), c.cpus[i].name);
		}
	c.cpu_model = "intel/6/1";
	assert_null(unc_catalogue_cpu(&c));
	unc_catalogue_finish(&c);
}

static void words_stand_for_names(void **state)
{
	struct unc_catalogue c = load_all(&no_dirs, "unknown");
	const struct uncore_words *found = unc_catalogue_words(&c, "LLC?");
	char word[64];
	int n;

	(void)state;
	assert_true(c.word_count > 20);
	assert_non_null(found);
	assert_true(unc_has_word(found->names, "cache.*"));
	assert_null(unc_catalogue_words(&c, "giraffe"));
	assert_null(unc_catalogue_words(&c, ""));
	assert_null(unc_catalogue_words(&c, "a-word-that-is-longer-than-all-of-the-list"));
	assert_null(unc_catalogue_words(&c, "the")->names);
	for (size_t i = 0; i < c.word_count; i++) {
		/* No second entry has the word, and it is written as it is compared. */
		for (const char *at = c.words[i].words; sscanf(at, "%63s%n", word, &n) == 1;
		     at += n)
			if (unc_catalogue_words(&c, word) != &c.words[i])
				fail_msg("words.yaml: %s", word);
		for (const char *at = c.words[i].names; at && sscanf(at, "%63s%n", word, &n) == 1;
		     at += n)
			if (!is_name_of(&c, word))
				fail_msg("words.yaml: nothing is named %s", word);
		/* No longer than the command has room for. */
		assert_true(strlen(word) < 32);
	}
	unc_catalogue_finish(&c);
}

/* Parses a built-in family on a CPU of this model. */
static void load_family(const struct unc_file *f, const char *model)
{
	struct unc_error e = {0};
	struct unc_yaml_file *file;
	struct unc_family *family;

	assert_int_equal(unc_yaml_parse(&file, f->name, f->text, f->len, NULL), 0);
	if (unc_family_parse(&family, file, model, &e) < 0)
		fail_msg("%s: %s", model, e.text);
	assert_true(family->on_this_cpu);
	unc_family_free(family);
}

/* Each family on each CPU of its `models`; on others it is as in every_data_file_is_built_in(). */
static void families_load_for_every_model_they_name(void **state)
{
	size_t count = 0;

	(void)state;
	for (size_t i = 0; i < unc_embedded_data_count; i++) {
		const struct unc_file *f = &unc_embedded_data[i];
		struct unc_yaml_file *file;
		const struct unc_yaml *map;

		assert_int_equal(unc_yaml_parse(&file, f->name, f->text, f->len, NULL), 0);
		map = unc_yaml_get(file->root, "models");
		for (size_t k = 0; map && k < map->count; k++) {
			char model[64];
			int n;

			for (const char *at = map->children[k].text;
			     sscanf(at, "%63s%n", model, &n) == 1; at += n) {
				load_family(f, model);
				count++;
			}
		}
		unc_yaml_free(file);
	}
	assert_true(count >= 13); /* the generations of Intel servers alone */
}

/* ---- directories ------------------------------------------------------------------------------ */

static void a_directory_adds_and_replaces(void **state)
{
	struct unc_names dirs = {0};
	struct unc_catalogue c;
	struct tree first, second;
	size_t built_in;

	(void)state;
	tree_make(&first);
	tree_make(&second);
	put_family(&first, "any-name.yaml", "msr", "from the first");
	put_family(&first, "toy.yaml", "toy", "from the first");
	put_family(&second, "toy.yaml", "toy", "from the second");
	tree_put(&second, "README", "no data file");
	tree_put(&second, ".hidden.yaml", "no data file");
	tree_put(&second, ".yaml", "no data file");
	tree_put(&second, "old.yaml~", "no data file");
	assert_int_equal(unc_names_add(&dirs, first.dir), 0);
	c = load_all(&no_dirs, "unknown");
	built_in = c.family_count;
	assert_null(find(&c, "toy"));
	unc_catalogue_finish(&c);

	c = load_all(&dirs, "unknown");
	assert_int_equal(c.family_count, built_in + 1);
	assert_string_equal(find(&c, "msr")->title, "from the first");
	assert_string_equal(find(&c, "msr")->metrics[0].name, "toy.rate");
	assert_string_equal(find(&c, "toy")->title, "from the first");
	for (size_t i = 1; i < c.family_count; i++)
		assert_true(strcmp(c.families[i - 1]->name, c.families[i]->name) < 0);
	unc_catalogue_finish(&c);

	/* The later directory wins. */
	assert_int_equal(unc_names_add(&dirs, second.dir), 0);
	c = load_all(&dirs, "unknown");
	assert_int_equal(c.family_count, built_in + 1);
	assert_string_equal(find(&c, "toy")->title, "from the second");
	assert_string_equal(find(&c, "msr")->title, "from the first");
	unc_catalogue_finish(&c);
	unc_names_finish(&dirs);
	tree_remove(&first);
	tree_remove(&second);
}

static void an_empty_directory_changes_nothing(void **state)
{
	struct unc_names dirs = {0};
	struct unc_catalogue c;
	struct tree t;

	(void)state;
	tree_make(&t);
	assert_int_equal(unc_names_add(&dirs, t.dir), 0);
	c = load_all(&dirs, "unknown");
	assert_int_equal(c.family_count, unc_embedded_data_count);
	unc_catalogue_finish(&c);
	unc_names_finish(&dirs);
	tree_remove(&t);
}

/* The load fails with this errno and a sentence that begins with the directory and has `told`. */
static void assert_load_fails(const char *dir, int err, const char *told)
{
	struct unc_catalogue c = {.cpu_model = "unknown", .kernel = ""};
	struct unc_error e = {0};

	assert_int_equal(unc_catalogue_load(&c, dir, &e), -err);
	assert_memory_equal(e.text, dir, strlen(dir));
	assert_contains(e.text, told);
	unc_catalogue_finish(&c);
}

static void a_broken_file_is_named_with_its_place(void **state)
{
	struct tree t;

	(void)state;
	tree_make(&t);
	put_family(&t, "a-good-one.yaml", "toy", "x");
	tree_put(&t, "bad.yaml", "family: bad\ntitle: x\ninstanc: x\n");
	assert_load_fails(t.dir, EBADMSG, "/bad.yaml:3:1: unknown key 'instanc'");
	tree_put(&t, "bad.yaml", "family: [\n");
	assert_load_fails(t.dir, EBADMSG, "/bad.yaml:2:1: ");
	tree_put(&t, "bad.yaml", "");
	assert_load_fails(t.dir, EBADMSG, "/bad.yaml:1:1: the file is empty");
	tree_remove(&t);
}

static void a_directory_that_cannot_be_read(void **state)
{
	char path[600];
	struct tree t;

	(void)state;
	tree_make(&t);
	snprintf(path, sizeof(path), "%s/none", t.dir);
	assert_load_fails(path, ENOENT, "cannot read the directory of data files");
	tree_put(&t, "file", "x");
	snprintf(path, sizeof(path), "%s/file", t.dir);
	assert_load_fails(path, ENOTDIR, "cannot read the directory of data files");
	/* A directory that is called like a file. */
	tree_put(&t, "sub.yaml/x", "x");
	assert_load_fails(t.dir, EISDIR, "/sub.yaml");
	tree_remove(&t);
}

/* ---- matching --------------------------------------------------------------------------------- */

/* PMUs that have been read already, without terms. */
static struct uncore_pmu pmu(const char *name, const char *identifier)
{
	return (struct uncore_pmu){
		.name = (char *)name, .identifier = (char *)identifier, .loaded = true};
}

static void pmus_find_their_family(void **state)
{
	struct uncore_pmu items[] = {
		pmu("msr", NULL),
		pmu("nvidia_ucf_pmu_0", "2cf2036b"),
		pmu("nvidia_uncore_pmu_3", "2cf2036b"), /* known by what it is */
		pmu("nvidia_uncore_pmu_4", "1090036b"), /* something else */
		pmu("nvidia_uncore_pmu_5", NULL),       /* does not say */
		pmu("uncore_imc_0", NULL),
		pmu("uncore_imc_1", NULL),
		pmu("uncore_imc_free_running_0", NULL),
	};
	static const char *const families[] = {"msr", "nvidia-t410-ucf", "nvidia-t410-ucf", NULL,
					       NULL,  "intel-imc",       "intel-imc",       NULL};
	struct unc_pmus pmus = {.items = items, .count = COUNT(items)};
	struct unc_catalogue c = load(&no_dirs, "intel/6/85");

	(void)state;
	assert_int_equal(unc_catalogue_match(&c, &pmus, NULL), 0);
	for (size_t i = 0; i < COUNT(items); i++) {
		if (!families[i])
			assert_null(items[i].family);
		else
			assert_string_equal(items[i].family->name, families[i]);
	}
	assert_int_equal(find(&c, "intel-imc")->pmu_count, 2);
	assert_ptr_equal(find(&c, "intel-imc")->pmus[0], &items[5]);
	assert_ptr_equal(find(&c, "intel-imc")->pmus[1], &items[6]);
	assert_int_equal(find(&c, "nvidia-t410-ucf")->pmu_count, 2);
	assert_int_equal(unc_catalogue_complete(&c, NULL), 0);
	assert_int_equal(find(&c, "power")->pmu_count, 0);
	unc_catalogue_finish(&c);
}

/* On a CPU that the family does not know, formulas and encodings would be guesses. */
static void an_unknown_cpu_model_leaves_its_pmus_without_family(void **state)
{
	struct uncore_pmu items[] = {pmu("msr", NULL), pmu("uncore_imc_0", NULL)};
	struct unc_pmus pmus = {.items = items, .count = COUNT(items)};
	struct unc_catalogue c = load(&no_dirs, "intel/6/999");

	(void)state;
	assert_int_equal(unc_catalogue_match(&c, &pmus, NULL), 0);
	assert_null(items[1].family);
	assert_non_null(items[0].family);
	unc_catalogue_finish(&c);
}

/* The CPU models that the family names, the paths that show its hardware, and its drivers. */
static void assert_same_hardware(const struct unc_index *index, const struct unc_family *f)
{
	struct unc_text cpus = {0}, paths = {0}, modules = {0};

	for (size_t i = 0; i < f->model_count; i++)
		unc_text_add(&cpus, "%s%s", i ? " " : "", f->models[i].text);
	for (size_t i = 0; i < f->expectation_count; i++) {
		const struct unc_expectation *x = &f->expectations[i];

		if (x->path)
			unc_text_add(&paths, "%s%s", paths.data ? " " : "", x->path);
		if (!modules.data || !unc_has_word(modules.data, x->module))
			unc_text_add(&modules, "%s%s", modules.data ? " " : "", x->module);
	}
	assert_string_equal(index->cpus, cpus.data ? cpus.data : "");
	assert_string_equal(index->paths, paths.data ? paths.data : "");
	unc_text_finish(&cpus);
	assert_string_equal(index->modules, modules.data ? modules.data : "");
	unc_text_finish(&paths);
	unc_text_finish(&modules);
}

/* What the build has made of the files, by the reader of the files. */
static void the_index_agrees_with_the_data_files(void **state)
{
	struct unc_catalogue c = load_all(&no_dirs, "unknown");

	(void)state;
	for (size_t i = 0; i < unc_embedded_data_count; i++) {
		const struct unc_index *index = &unc_embedded_index[i];
		const struct unc_family *f = find(&c, index->family);

		assert_non_null(f);
		assert_string_equal(f->file->name, unc_embedded_data[i].name);
		assert_int_equal(f->source == UNC_SOURCE_KERNEL, !*index->devices);
		for (size_t k = 0; k < f->device_count; k++)
			assert_non_null(strstr(index->devices, f->devices[k].directories));
		if (f->source != UNC_SOURCE_KERNEL)
			continue;
		assert_int_equal(index->everywhere, f->everywhere || !f->model_count);
		assert_int_equal(f->pattern_count, index->count);
		for (size_t k = 0; k < index->count; k++) {
			assert_string_equal(f->patterns[k].name, index->pmus[k].name);
			assert_int_equal(!f->patterns[k].identifier, !index->pmus[k].identifier);
			if (index->pmus[k].identifier)
				assert_string_equal(f->patterns[k].identifier,
						    index->pmus[k].identifier);
		}
		assert_same_hardware(index, f);
	}
	unc_catalogue_finish(&c);
}

static void only_files_of_present_pmus_are_parsed(void **state)
{
	struct uncore_pmu items[] = {pmu("msr", NULL)};
	struct unc_pmus pmus = {.items = items, .count = COUNT(items)};
	struct unc_catalogue c = load(&no_dirs, "intel/6/85");

	(void)state;
	assert_int_equal(c.family_count, 0);
	assert_int_equal(unc_catalogue_match(&c, &pmus, NULL), 0);
	assert_int_equal(c.family_count, 1);
	assert_string_equal(items[0].family->name, "msr");
	unc_catalogue_finish(&c);
}

static void metrics_of_present_pmus_come_first(void **state)
{
	struct uncore_pmu items[] = {pmu("power", NULL), pmu("uncore_imc_0", NULL)};
	struct unc_pmus pmus = {.items = items, .count = COUNT(items)};
	struct unc_catalogue c = load(&no_dirs, "intel/6/85");
	size_t all = 0, i = 0;

	(void)state;
	assert_int_equal(unc_catalogue_match(&c, &pmus, NULL), 0);
	assert_int_equal(c.metric_count,
			 find(&c, "intel-imc")->metric_count + find(&c, "power")->metric_count);
	for (int twice = 0; twice < 2; twice++)
		assert_int_equal(unc_catalogue_complete(&c, NULL), 0);
	for (size_t f = 0; f < c.family_count; f++)
		all += c.families[f]->metric_count;
	assert_int_equal(c.metric_count, all);
	for (const char *const *name = (const char *const[]){"intel-imc", "power", NULL}; *name;
	     name++) {
		const struct unc_family *f = find(&c, *name);

		for (size_t k = 0; k < f->metric_count; k++)
			assert_ptr_equal(c.metrics[i++], &f->metrics[k]);
	}
	for (; i < all; i++)
		assert_int_equal(c.metrics[i]->family->pmu_count, 0);
	unc_catalogue_finish(&c);
}

static void the_first_family_by_name_gets_a_pmu_that_two_match(void **state)
{
	struct uncore_pmu items[] = {pmu("toy_0", NULL), pmu("toy_1", NULL)};
	struct unc_pmus pmus = {.items = items, .count = COUNT(items)};
	struct unc_names dirs = {0};
	struct unc_catalogue c;
	struct tree t;

	(void)state;
	tree_make(&t);
	put_family(&t, "1.yaml", "toy-b", "x");
	put_family(&t, "2.yaml", "toy-a", "x");
	assert_int_equal(unc_names_add(&dirs, t.dir), 0);
	c = load(&dirs, "unknown");
	assert_int_equal(unc_catalogue_match(&c, &pmus, NULL), 0);
	assert_string_equal(items[0].family->name, "toy-a");
	assert_string_equal(items[1].family->name, "toy-a");
	assert_int_equal(find(&c, "toy-a")->pmu_count, 2);
	assert_int_equal(find(&c, "toy-b")->pmu_count, 0);
	unc_catalogue_finish(&c);
	unc_names_finish(&dirs);
	tree_remove(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_data_file_is_built_in),
		cmocka_unit_test(metrics_that_are_no_sum_of_counts_say_what_is_added_up),
		cmocka_unit_test(words_stand_for_names),
		cmocka_unit_test(views_have_metrics),
		cmocka_unit_test(cpus_have_names),
		cmocka_unit_test(families_load_for_every_model_they_name),
		cmocka_unit_test(a_directory_adds_and_replaces),
		cmocka_unit_test(an_empty_directory_changes_nothing),
		cmocka_unit_test(a_broken_file_is_named_with_its_place),
		cmocka_unit_test(a_directory_that_cannot_be_read),
		cmocka_unit_test(pmus_find_their_family),
		cmocka_unit_test(an_unknown_cpu_model_leaves_its_pmus_without_family),
		cmocka_unit_test(the_index_agrees_with_the_data_files),
		cmocka_unit_test(only_files_of_present_pmus_are_parsed),
		cmocka_unit_test(metrics_of_present_pmus_come_first),
		cmocka_unit_test(the_first_family_by_name_gets_a_pmu_that_two_match),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}

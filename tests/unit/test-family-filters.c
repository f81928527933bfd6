/* SPDX-License-Identifier: MIT */
/* Data files: roles, filters and ceilings, and where the mistakes in them are. */
#include "catalogue/catalogue.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "helpers.h"

/* A family with these lines in its frame (from line 5 on), its event and its metric. */
struct lines {
	const char *frame, *event, *metric;
};

static int parse(struct unc_family **out, const struct lines *l, struct unc_error *e)
{
	struct unc_yaml_file *file;
	char text[2048];
	int len = snprintf(
		text, sizeof(text),
		"family: a\ntitle: b\ninstance: c\npmus: [{name: d}]\n%s"
		"events:\n  e: {title: t, terms: event=1, evidence: x%s}\n"
		"metrics:\n  a.b: {title: t, unit: %s, formula: e / seconds, evidence: x}\nplace: link\n",
		l->frame ? l->frame : "", l->event ? l->event : "", l->metric ? l->metric : "B/s");
	int r = unc_yaml_parse(&file, "f.yaml", text, (size_t)len, e);

	assert_true(len > 0 && (size_t)len < sizeof(text));
	return r < 0 ? r : unc_family_parse(out, file, "unknown", e);
}

static struct unc_family *must_parse(struct lines l)
{
	struct unc_family *f = NULL;
	struct unc_error e = {0};

	if (parse(&f, &l, &e) < 0)
		fail_msg("%s", e.text);
	return f;
}

static void assert_word(const struct unc_word *word, const char *name, const char *text)
{
	assert_string_equal(word->name, name);
	assert_string_equal(word->text, text);
}

static void without_the_keys(void **state)
{
	struct unc_family *f = must_parse((struct lines){0});

	(void)state;
	assert_false(f->each_socket || f->events[0].unfiltered);
	assert_null(f->role);
	assert_null(f->role_attribute);
	assert_int_equal(f->metrics[0].ceiling, UNC_CEILING_NONE);
	assert_int_equal(uncore_metric_remote_data(&f->metrics[0]), UNCORE_REMOTE_BY_NAME);
	for (size_t i = 0; i < UNC_FILTERS; i++)
		assert_null(f->filters[i].title);
	unc_family_free(f);
}

static void with_the_keys(void **state)
{
	struct unc_family *f = must_parse((
		struct lines){"each_socket: true\n"
			      "role: {attribute: peer, values: {nr_gpu: GPU, nr_cpu: CPU socket}}\n"
			      "filters:\n"
			      "  address: {title: T5, terms: 'on=0x1,b={base},m={mask}'}\n"
			      "  from: {title: T0, values: {cpu: src=0x1, device: 'dev=2,x=3'}}\n"
			      "  link: {title: T6, values: {port0: port=0x1}}\n"
			      "  gpu: {title: T2, terms: 'gpu_mask={mask}'}\n"
			      "  port: {title: T3, terms: 'port={index}'}\n"
			      "  device: {title: T4, terms: 'bdf={bdf},en=1'}\n",
			      ", filter: none", "B/s, ceiling: port, remote_data: none"});

	(void)state;
	assert_true(f->each_socket && f->events[0].unfiltered);
	assert_int_equal(f->metrics[0].ceiling, UNC_CEILING_PORT);
	assert_int_equal(uncore_metric_remote_data(&f->metrics[0]), UNCORE_REMOTE_NONE);
	assert_null(f->role);
	assert_string_equal(f->role_attribute, "peer");
	assert_int_equal(f->role_count, 2);
	assert_word(&f->roles[0], "nr_gpu", "GPU");
	assert_word(&f->roles[1], "nr_cpu", "CPU socket");
	assert_string_equal(f->filters[UNC_FILTER_FROM].title, "T0");
	assert_null(f->filters[UNC_FILTER_FROM].terms);
	assert_int_equal(f->filters[UNC_FILTER_FROM].value_count, 2);
	assert_word(&f->filters[UNC_FILTER_FROM].values[0], "cpu", "src=0x1");
	assert_word(&f->filters[UNC_FILTER_FROM].values[1], "device", "dev=2,x=3");
	assert_null(f->filters[UNC_FILTER_TO].title);
	assert_word(&f->filters[UNC_FILTER_LINK].values[0], "port0", "port=0x1");
	assert_string_equal(f->filters[UNC_FILTER_GPU].terms, "gpu_mask={mask}");
	assert_string_equal(f->filters[UNC_FILTER_PORT].terms, "port={index}");
	assert_string_equal(f->filters[UNC_FILTER_DEVICE].terms, "bdf={bdf},en=1");
	assert_string_equal(f->filters[UNC_FILTER_ADDRESS].terms, "on=0x1,b={base},m={mask}");
	unc_family_free(f);
	f = must_parse((struct lines){"role: CXL memory\n", NULL,
				      "B/s, ceiling: memory, remote_data: both-ends"});
	assert_string_equal(f->role, "CXL memory");
	assert_null(f->role_attribute);
	assert_int_equal(f->metrics[0].ceiling, UNC_CEILING_MEMORY);
	assert_int_equal(uncore_metric_remote_data(&f->metrics[0]), UNCORE_REMOTE_BOTH_ENDS);
	unc_family_free(f);
}

static void mistakes(void **state)
{
	static const struct {
		struct lines lines;
		const char *sentence;
	} all[] = {
		{{"each_socket: often\n", NULL, NULL}, "f.yaml:5:14: "},
		{{"role: ''\n", NULL, NULL}, "f.yaml:5:7: the value of 'role' is empty"},
		{{"role: [a]\n", NULL, NULL}, "f.yaml:5:7: the value of 'role' must be a map"},
		{{"role: {attribute: peer}\n", NULL, NULL},
		 "f.yaml:5:7: the key 'values' is missing in 'role'"},
		{{"role: {attribute: a/b, values: {x: y}}\n", NULL, NULL},
		 "f.yaml:5:19: 'a/b' is not the name of a file of the PMU"},
		{{"role: {attribute: a, values: {}}\n", NULL, NULL},
		 "f.yaml:5:30: 'values' is empty"},
		{{"role: {attribute: a, values: {x: [y]}}\n", NULL, NULL},
		 "f.yaml:5:34: the value of 'x' must be text, not a list"},
		{{"filters: from\n", NULL, NULL},
		 "f.yaml:5:10: the value of 'filters' must be a map"},
		{{"filters:\n  form: {title: t}\n", NULL, NULL},
		 "f.yaml:6:3: unknown key 'form' (did you mean from?); expected one of: from, to, "
		 "gpu, link, port, device, address"},
		{{"filters:\n  from: {title: t}\n", NULL, NULL},
		 "f.yaml:6:9: the key 'values' is missing in 'from'"},
		{{"filters:\n  to: {title: t, terms: a=1}\n", NULL, NULL},
		 "f.yaml:6:18: 'terms' is not a key of the filter 'to'"},
		{{"filters:\n  gpu: {title: t, values: {a: b=1}}\n", NULL, NULL},
		 "f.yaml:6:19: 'values' is not a key of the filter 'gpu'"},
		{{"filters:\n  from: {title: t, values: {}}\n", NULL, NULL},
		 "f.yaml:6:28: 'values' is empty"},
		{{"filters:\n  from: {title: t, values: {a b: c=1}}\n", NULL, NULL},
		 "f.yaml:6:29: 'a b' is not a valid value of a filter"},
		{{"filters:\n  from: {title: t, values: {a: b}}\n", NULL, NULL},
		 "f.yaml:6:32: 'b=': the value of a filter's term is a number"},
		{{"filters:\n  from: {title: t, values: {a: config1=1}}\n", NULL, NULL},
		 "f.yaml:6:32: 'config1': write format terms"},
		{{"filters:\n  gpu: {title: t, terms: 'a={bdf}'}\n", NULL, NULL},
		 "f.yaml:6:26: 'a={bdf}': the value of a filter's term is a number, or one of {mask}"},
		{{"filters:\n  port: {title: t, terms: a=1}\n", NULL, NULL},
		 "f.yaml:6:27: no term takes what the user gives: one of {mask} {index}"},
		{{"filters:\n  device: {title: t, terms: 'a={bdf'}\n", NULL, NULL},
		 "f.yaml:6:29: 'a={bdf': "},
		{{"filters:\n  device: {title: t, terms: 'a={bdf},'}\n", NULL, NULL},
		 "f.yaml:6:29: 'a={bdf},' is not a valid list of terms"},
		{{"filters:\n  device: {terms: 'a={bdf}'}\n", NULL, NULL},
		 "f.yaml:6:11: the key 'title' is missing in 'device'"},
		{{NULL, ", filter: all", NULL},
		 "f.yaml:6:54: 'all' is not a valid filter of an event; expected one of: none"},
		{{NULL, NULL, "B/s, ceiling: sky"},
		 "f.yaml:8:39: 'sky' is not a valid ceiling; expected one of: memory, port"},
		{{NULL, NULL, "B/s, remote_data: here"},
		 "f.yaml:8:43: 'here' is not a valid remote_data; expected one of: both-ends, none"},
		{{NULL, NULL, "Hz, ceiling: port"},
		 "f.yaml:8:38: a ceiling is one of B/s, and the unit is Hz"},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(all); i++) {
		struct unc_family *f = (struct unc_family *)&f; /* must stay as it is */
		struct unc_error e = {0};
		int r = parse(&f, &all[i].lines, &e);

		if (r != -EBADMSG || strncmp(e.text, all[i].sentence, strlen(all[i].sentence)) != 0)
			fail_msg("%d '%s', expected '%s'", r, e.text, all[i].sentence);
		assert_ptr_equal(f, &f);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(without_the_keys),
		cmocka_unit_test(with_the_keys),
		cmocka_unit_test(mistakes),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: MIT */
/* Data files: what a good one becomes on each CPU model, and where the mistakes of a bad one are. */
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

#define SKX "intel/6/85"
#define SPR "intel/6/143"
#define EMR "intel/6/207"

/* An entry of `drivers` up to line 28. */
#define DRIVER(more)                                                                    \
	"place: channel\ndrivers:\n  - counts: channel\n    cpu: near\n    each: cpu\n" \
	"    without_hardware: never\n" more

/* A valid file, line by line: a test replaces one of them. */
static const char *const good[] = {
	"family: imc",                        /* 1 */
	"title: Memory controllers",          /* 2 */
	"instance: channel",                  /* 3 */
	"pmus:",                              /* 4 */
	"  - name: uncore_imc_{channel}",     /* 5 */
	"models:",                            /* 6 */
	"  skx: intel/6/85",                  /* 7 */
	"  spr: intel/6/143 intel/6/207",     /* 8 */
	"expect:",                            /* 9 */
	"  - models: skx spr",                /* 10 */
	"    module: intel_uncore",           /* 11 */
	"events:",                            /* 12 */
	"  cas_rd:",                          /* 13 */
	"    title: reads of 64 bytes",       /* 14 */
	"    terms: event=0x04,umask=0x03",   /* 15 */
	"    evidence: the manual",           /* 16 */
	"metrics:",                           /* 17 */
	"  memory.read.bandwidth:",           /* 18 */
	"    title: Read bandwidth",          /* 19 */
	"    unit: B/s",                      /* 20 */
	"    formula: cas_rd * 64 / seconds", /* 21 */
	"    evidence: arithmetic",           /* 22 */
	"place: channel",                     /* 23 */
};

static int parse(struct unc_family **out, const char *text, const char *model, struct unc_error *e)
{
	struct unc_yaml_file *file;
	int r = unc_yaml_parse(&file, "f.yaml", text, strlen(text), e);

	return r < 0 ? r : unc_family_parse(out, file, model, e);
}

/* The valid file with one line replaced by another, by several or (NULL) by none. */
static char *changed(size_t line, const char *by)
{
	struct unc_text t = {0};
	char *text;

	for (size_t i = 0; i < COUNT(good); i++)
		if (i + 1 != line)
			unc_text_add(&t, "%s\n", good[i]);
		else if (by)
			unc_text_add(&t, "%s\n", by);
	text = unc_text_take(&t);
	assert_non_null(text);
	return text;
}

static struct unc_family *must_parse(size_t line, const char *by, const char *model)
{
	char *text = changed(line, by);
	struct unc_family *f = NULL;
	struct unc_error e = {0};

	if (parse(&f, text, model, &e) < 0)
		fail_msg("%s", e.text);
	free(text);
	return f;
}

/* One change to the valid file, and the beginning of the sentence it gets. */
struct mistake {
	size_t line;
	const char *by;
	const char *sentence;
};

static void assert_mistakes(const struct mistake *mistakes, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		char *text = changed(mistakes[i].line, mistakes[i].by);
		struct unc_family *f = (struct unc_family *)&f; /* must stay as it is */
		struct unc_error e = {0};
		int r = parse(&f, text, SKX, &e);

		if (r != -EBADMSG ||
		    strncmp(e.text, mistakes[i].sentence, strlen(mistakes[i].sentence)) != 0)
			fail_msg("line %zu '%s': %d '%s', expected '%s'", mistakes[i].line,
				 mistakes[i].by ? mistakes[i].by : "", r, e.text,
				 mistakes[i].sentence);
		assert_ptr_equal(f, &f);
		free(text);
	}
}

/* ---- good files ------------------------------------------------------------------------------- */

static void a_valid_file(void **state)
{
	struct unc_family *f = must_parse(0, NULL, SKX);
	const struct uncore_metric *m;

	(void)state;
	assert_string_equal(f->name, "imc");
	assert_string_equal(f->title, "Memory controllers");
	assert_string_equal(f->instance, "channel");
	assert_int_equal(f->place, UNC_PLACE_CHANNEL);
	assert_true(f->on_this_cpu);
	assert_int_equal(f->pattern_count, 1);
	assert_string_equal(f->patterns[0].name, "uncore_imc_{channel}");
	assert_null(f->patterns[0].identifier);
	assert_int_equal(f->expectation_count, 1);
	assert_true(f->expectations[0].on_this_cpu);
	assert_string_equal(f->expectations[0].module, "intel_uncore");
	assert_null(f->expectations[0].path);
	assert_null(f->expectations[0].since);
	assert_int_equal(f->event_count, 1);
	assert_string_equal(f->events[0].name, "cas_rd");
	assert_string_equal(f->events[0].title, "reads of 64 bytes");
	assert_string_equal(f->events[0].terms, "event=0x04,umask=0x03");
	assert_string_equal(f->events[0].evidence, "the manual");
	assert_null(f->events[0].alias);
	assert_false(f->events[0].kernel_scale || f->events[0].always || f->events[0].other_model);
	assert_int_equal(f->metric_count, 1);
	m = &f->metrics[0];
	assert_ptr_equal(m->family, f);
	assert_string_equal(m->name, "memory.read.bandwidth");
	assert_string_equal(m->title, "Read bandwidth");
	assert_string_equal(m->unit, "B/s");
	assert_string_equal(m->text, "cas_rd * 64 / seconds");
	assert_string_equal(m->evidence, "arithmetic");
	assert_int_equal(m->formula->names.count, 1);
	assert_ptr_equal(m->events[0], &f->events[0]);
	unc_family_free(f);
	unc_family_free(NULL);
}

static void the_smallest_file(void **state)
{
	static const char text[] = "family: a\ntitle: b\ninstance: c\npmus: [{name: d}]\n"
				   "events: {}\nmetrics: {}\nplace: link\n";
	struct unc_family *f = NULL;

	(void)state;
	assert_int_equal(parse(&f, text, "unknown", NULL), 0);
	assert_true(f->on_this_cpu); /* without models: on every CPU */
	assert_false(f->everywhere);
	assert_int_equal(f->expectation_count + f->event_count + f->metric_count, 0);
	unc_family_free(f);
}

static void every_optional_key(void **state)
{
	struct unc_family *f = must_parse(15,
					  "    alias: cas_count_read\n"
					  "    terms: event=4\n"
					  "    scale: kernel\n"
					  "    always: true",
					  SKX);

	(void)state;
	assert_string_equal(f->events[0].alias, "cas_count_read");
	assert_string_equal(f->events[0].terms, "event=4");
	assert_true(f->events[0].kernel_scale);
	assert_true(f->events[0].always);
	unc_family_free(f);
	f = must_parse(5, "  - name: a_{n}\n    identifier: 2cf2*\n  - name: b", SKX);
	assert_int_equal(f->pattern_count, 2);
	assert_string_equal(f->patterns[0].identifier, "2cf2*");
	assert_string_equal(f->patterns[1].name, "b");
	unc_family_free(f);
	f = must_parse(11, "    path: sys/bus/x*\n    since: 6.12\n    module: m", SKX);
	assert_string_equal(f->expectations[0].path, "sys/bus/x*");
	assert_string_equal(f->expectations[0].since, "6.12");
	unc_family_free(f);
	f = must_parse(15, "    terms: event=4\n    always: false", SKX);
	assert_false(f->events[0].always);
	unc_family_free(f);
	f = must_parse(3, "instance: CPU\neverywhere: true", SKX);
	assert_true(f->everywhere);
	unc_family_free(f);
	f = must_parse(3, "instance: CPU\neverywhere: false", SKX);
	assert_false(f->everywhere);
	unc_family_free(f);
}

static void every_unit_of_the_list(void **state)
{
	static const char *const units[] = {"B/s",     "Hz",    "s", "ratio", "1/s",
					    "1/cycle", "count", "W", "J",     "B"};

	(void)state;
	for (size_t i = 0; i < COUNT(units); i++) {
		char line[64];
		struct unc_family *f;

		snprintf(line, sizeof(line), "    unit: %s", units[i]);
		f = must_parse(20, line, SKX);
		assert_string_equal(f->metrics[0].unit, units[i]);
		unc_family_free(f);
	}
}

static void models_restrict_the_family(void **state)
{
	static const struct {
		const char *model;
		bool here;
	} cases[] = {
		{SKX, true},          {SPR, true},
		{EMR, true},          {"intel/6/8", false},
		{"intel", false},     {"intel/6/143 intel/6/143/8", true},
		{"amd/25/17", false}, {"unknown", false},
		{"", false},          {"intel/6/855", false},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct unc_family *f = must_parse(0, NULL, cases[i].model);

		if (f->on_this_cpu != cases[i].here)
			fail_msg("'%s'", cases[i].model);
		assert_int_equal(f->expectations[0].on_this_cpu, cases[i].here);
		unc_family_free(f);
	}
}

/* ---- cases ------------------------------------------------------------------------------------ */

#define EVENT_CASES                \
	"    cases:\n"             \
	"      - when: skx\n"      \
	"        terms: event=1\n" \
	"      - when: spr skx\n"  \
	"        alias: read\n"    \
	"        terms: event=2\n" \
	"        evidence: another one"

static void an_event_has_the_first_case_that_holds(void **state)
{
	struct unc_family *f = must_parse(15, EVENT_CASES, SKX);

	(void)state;
	assert_string_equal(f->events[0].terms, "event=1"); /* the second would hold too */
	assert_null(f->events[0].alias);
	assert_string_equal(f->events[0].evidence, "the manual");
	unc_family_free(f);
	f = must_parse(15, EVENT_CASES, EMR); /* a model of two CPUs */
	assert_string_equal(f->events[0].terms, "event=2");
	assert_string_equal(f->events[0].alias, "read");
	assert_string_equal(f->events[0].evidence, "another one");
	assert_false(f->events[0].other_model);
	unc_family_free(f);
	f = must_parse(15, EVENT_CASES, "amd/25/17");
	assert_true(f->events[0].other_model);
	assert_null(f->events[0].terms);
	unc_family_free(f);
}

static void a_case_without_when_is_for_the_rest(void **state)
{
	static const char cases[] = "    cases:\n      - when: skx\n        terms: event=1\n"
				    "      - terms: event=2";
	struct unc_family *f = must_parse(15, cases, SKX);

	(void)state;
	assert_string_equal(f->events[0].terms, "event=1");
	unc_family_free(f);
	f = must_parse(15, cases, "amd/25/17");
	assert_string_equal(f->events[0].terms, "event=2");
	unc_family_free(f);
}

#define METRIC_CASES                                \
	"    cases:\n"                              \
	"      - when: spr\n"                       \
	"        formula: cas_rd * 128 / seconds\n" \
	"        evidence: its own"

static void a_metric_has_the_first_case_that_holds(void **state)
{
	struct unc_family *f = must_parse(21, METRIC_CASES, SPR);

	(void)state;
	assert_string_equal(f->metrics[0].text, "cas_rd * 128 / seconds");
	assert_string_equal(f->metrics[0].evidence, "its own");
	unc_family_free(f);
	f = must_parse(21, METRIC_CASES, SKX);
	assert_null(f->metrics[0].text);
	assert_null(f->metrics[0].formula);
	assert_string_equal(f->metrics[0].evidence, "arithmetic");
	unc_family_free(f);
}

/* The CPU is a Skylake throughout: mistakes in what is for others are found all the same. */
#define COUNTER_CASES \
	"instance: a\ncounters: [{when: skx, counters: 2}, {when: skx spr, counters: 5}]"

static void counters_are_those_of_the_first_case_that_holds(void **state)
{
	static const struct {
		const char *by, *model;
		unsigned counters;
	} cases[] = {
		{COUNTER_CASES, SKX, 2},         {COUNTER_CASES, EMR, 5},
		{COUNTER_CASES, "amd/25/17", 4}, /* as without the key */
		{"instance: a", SKX, 4},         {"instance: a\ncounters: 0", SKX, 0},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct unc_family *f = must_parse(3, cases[i].by, cases[i].model);

		assert_int_equal(f->counters, cases[i].counters);
		unc_family_free(f);
	}
}

static void cases_for_other_models_are_checked_too(void **state)
{
	static const struct mistake mistakes[] = {
		{15,
		 "    cases:\n      - when: skx\n        terms: event=1\n"
		 "      - when: spr\n        terms: event=1,,",
		 "f.yaml:19:16: 'event=1,,' is not a valid list"},
		{15,
		 "    cases:\n      - when: skx\n        terms: event=1\n"
		 "      - when: spr\n        terms: config=1",
		 "f.yaml:19:16: 'config': write format terms"},
		{15,
		 "    cases:\n      - when: skx\n        terms: event=1\n"
		 "      - when: spr\n        evidence: none",
		 "f.yaml:18:9: an event needs 'alias', 'terms' or 'cases'"},
		{15,
		 "    cases:\n      - when: skx\n        terms: event=1\n"
		 "      - when: spr\n        terms: event=1\n        evidence: []",
		 "f.yaml:20:19: the value of 'evidence' must be text, not a list"},
		{21,
		 "    cases:\n      - when: skx\n        formula: cas_rd\n"
		 "      - when: spr\n        formula: cas_rd +",
		 "f.yaml:25:26: formula: "},
		{21,
		 "    cases:\n      - when: skx\n        formula: cas_rd\n"
		 "      - when: spr\n        formula: 2 * cas_rdd",
		 "f.yaml:25:22: 'cas_rdd' is not an event of this family (did you mean cas_rd?)"},
		{21, "    cases:\n      - when: skx\n        formula: cas_rd\n      - when: spr",
		 "f.yaml:24:9: the key 'formula' is missing here"},
		{21,
		 "    cases:\n      - when: skx\n        formula: cas_rd\n"
		 "      - when: spr xyz\n        formula: cas_rd",
		 "f.yaml:24:19: 'xyz' is not a model of this file's 'models'"},
	};

	(void)state;
	assert_mistakes(mistakes, COUNT(mistakes));
}

/* ---- mistakes --------------------------------------------------------------------------------- */

static void mistakes_of_keys(void **state)
{
	static const struct mistake mistakes[] = {
		{2, NULL, "f.yaml:1:1: the key 'title' is missing here"},
		{23, NULL, "f.yaml:1:1: the key 'place' is missing here"},
		{23, "place: memory channel",
		 "f.yaml:23:8: the value of 'place' cannot be 'memory channel'; expected one of: "
		 "channel, subchannel, controller, mesh-port, package-controller, package-memory, "},
		{3, "instance: a\neverywere: true",
		 "f.yaml:4:1: unknown key 'everywere' (did you mean everywhere?)"},
		{4, "pmu:", "f.yaml:4:1: unknown key 'pmu' (did you mean pmus?)"},
		{5, "  - xname: x", "f.yaml:5:5: unknown key 'xname' (did you mean name?)"},
		{5, "  - identifier: x", "f.yaml:5:5: the key 'name' is missing here"},
		{10, "  - model: skx", "f.yaml:10:5: unknown key 'model' (did you mean models?)"},
		{11, "    since: 6.1", "f.yaml:10:5: the key 'module' is missing here"},
		{14, NULL, "f.yaml:14:5: the key 'title' is missing in 'cas_rd'"},
		{15, "    terms: event=1\n    Title: x", "f.yaml:16:5: unknown key 'Title'"},
		{16, NULL, "f.yaml:14:5: the key 'evidence' is missing in 'cas_rd'"},
		{20, NULL, "f.yaml:19:5: the key 'unit' is missing in 'memory.read.bandwidth'"},
		{21, NULL, "f.yaml:19:5: a metric needs 'formula' or 'cases'"},
		{22, NULL, "f.yaml:19:5: the key 'evidence' is missing in 'memory.read.bandwidth'"},
		{22, "    evidence: x\n    scale: 2", "f.yaml:23:5: unknown key 'scale'"},
		{23, DRIVER("    number: die\n    evidence: x\n  - counts: channel"),
		 "f.yaml:31:5: the key 'cpu' is missing here"},
		{23, "place: channel\ndrivers:\n  - counts: channel\n    cpu: near",
		 "f.yaml:25:5: the key 'each' is missing here"},
		{23, DRIVER("    number: cpu\n    evidence: x"),
		 "f.yaml:29:13: the value of 'number' cannot be 'cpu'; expected one of: unknown, "
		 "die, package, machine, none"},
		{23, DRIVER("    number: die"), "f.yaml:25:5: the key 'evidence' is missing here"},
		{23, DRIVER("    number: die\n    evidence: x\n    absent: 2 b"),
		 "f.yaml:31:15: '2 b' is not a valid list of numbers of units"},
		{23, DRIVER("    number: die\n    evidence: x\n    unless: uncore_ha_1"),
		 "f.yaml:31:5: unknown key 'unless'; expected one of: when, pmus"},
		{23, DRIVER("    number: die\n    evidence: x\n    when: icx"),
		 "f.yaml:31:11: 'icx' is not a model of this file's 'models'"},
		{15, "    terms: event=1\n    terms: event=2",
		 "f.yaml:16:5: the key 'terms' is here twice"},
		{17, "  cas_rd:\n    title: x\n    terms: event=1\n    evidence: x\nmetrics:",
		 "f.yaml:17:3: the key 'cas_rd' is here twice; first on line 13"},
	};

	(void)state;
	assert_mistakes(mistakes, COUNT(mistakes));
}

static void mistakes_of_kind(void **state)
{
	static const struct mistake mistakes[] = {
		{1, "family: [imc]", "f.yaml:1:9: the value of 'family' must be text, not a list"},
		{2, "title: {a: b}", "f.yaml:2:8: the value of 'title' must be text, not a map"},
		{3, "instance: a\neverywhere: yes",
		 "f.yaml:4:13: the value of 'everywhere' must be true or false, not 'yes'"},
		{3, "instance: a\neverywhere: [true]",
		 "f.yaml:4:13: the value of 'everywhere' must be text, not a list"},
		{5, "  name: x", "f.yaml:5:3: the value of 'pmus' must be a list, not a map"},
		{5, "  - uncore_imc_0",
		 "f.yaml:5:5: expected a map (keys and values) here, not text"},
		{5, "  - name: [x]", "f.yaml:5:11: the value of 'name' must be text, not a list"},
		{7, "  skx: [intel/6/85]",
		 "f.yaml:7:8: the value of 'skx' must be text, not a list"},
		{10, "  - models: [skx]",
		 "f.yaml:10:13: the value of 'models' must be text, not a list"},
		{15, "    terms: [event]",
		 "f.yaml:15:12: the value of 'terms' must be text, not a list"},
		{15, "    terms: event=1\n    always: yes",
		 "f.yaml:16:13: the value of 'always' must be true or false, not 'yes'"},
		{15, "    cases: {when: skx}",
		 "f.yaml:15:12: the value of 'cases' must be a list, not a map"},
		{15, "    cases:\n      - event=1",
		 "f.yaml:16:9: expected a map (keys and values) here, not text"},
		{23,
		 "place: channel\nterms:\n  - term: opc\n    title: t\n    evidence: e\n    values: {}",
		 "f.yaml:28:13: 'values' is empty"},
		{23,
		 "place: channel\nterms:\n  - term: opc\n    title: t\n    evidence: e\n    values: {RFO: config=1}",
		 "f.yaml:28:19: 'config': write format terms"},
		{23,
		 "place: channel\nterms:\n  - term: opc\n    title: t\n    evidence: e\n    values: {RFO: umask=x}",
		 "f.yaml:28:19: 'umask=x': the value of a filter's term is a number"},
		{21, "    formula:\n      - cas_rd",
		 "f.yaml:22:7: the value of 'formula' must be text, not a list"},
	};

	(void)state;
	assert_mistakes(mistakes, COUNT(mistakes));
}

static void empty_values_and_cases_are_refused(void **state)
{
	static const struct mistake mistakes[] = {
		{1, "family: ''", "f.yaml:1:9: the value of 'family' is empty"},
		{2, "title: \"\"", "f.yaml:2:8: the value of 'title' is empty"},
		{5, "  - name: ''", "f.yaml:5:11: the value of 'name' is empty"},
		{11, "    module: ''", "f.yaml:11:13: the value of 'module' is empty"},
		{15, "    terms: ''", "f.yaml:15:12: the value of 'terms' is empty"},
		{15, "    alias: ''", "f.yaml:15:12: the value of 'alias' is empty"},
		{23, "place: channel\nregisters: [{bits: 64, evidence: none}]", "f.yaml:24:20: "},
		{23, "place: channel\nregisters: [{bits: 48}]", "f.yaml:24:13: "},
		{23, "place: channel\nregisters: [{bits: 48, halves: 2, evidence: none}]",
		 "f.yaml:24:32: "},
		{23, "place: channel\ncounters: []", "f.yaml:24:11: 'counters' has no case"},
		{23, "place: channel\ncounters: [{when: xyz, counters: 2}]",
		 "f.yaml:24:19: 'xyz' is not a model of this file's 'models'"},
		{15, "    cases: []", "f.yaml:15:12: 'cases' has no case"},
		{15, "    cases:\n      - when: ''\n        terms: event=1",
		 "f.yaml:16:15: the value of 'when' is empty"},
		{16, "    evidence: ''", "f.yaml:16:15: the value of 'evidence' is empty"},
		{21, "    formula: ''", "f.yaml:21:14: formula: "},
		{22, "    evidence: ''", "f.yaml:22:15: the value of 'evidence' is empty"},
		{22, "    evidence: '  '", "f.yaml:22:15: the value of 'evidence' is empty"},
	};

	(void)state;
	assert_mistakes(mistakes, COUNT(mistakes));
}

static void a_family_without_pmus(void **state)
{
	struct unc_family *f = NULL;
	struct unc_error e;

	(void)state;
	assert_int_equal(parse(&f,
			       "family: a\ntitle: b\ninstance: c\npmus: []\n"
			       "events: {}\nmetrics: {}\nplace: link\n",
			       SKX, &e),
			 -EBADMSG);
	assert_string_equal(e.text, "f.yaml:4:7: 'pmus' is empty");
}

static void mistakes_of_names(void **state)
{
	static const struct mistake mistakes[] = {
		{13, "  CAS_rd:", "f.yaml:13:3: 'CAS_rd' is not a valid event name"},
		{13, "  cas-rd:", "f.yaml:13:3: 'cas-rd' is not a valid event name"},
		{13, "  0cas:", "f.yaml:13:3: '0cas' is not a valid event name"},
		{13, "  seconds:", "f.yaml:13:3: 'seconds' is not a valid event name"},
		{13, "  source_count:", "f.yaml:13:3: 'source_count' is not a valid event name"},
		{18, "  bandwidth:", "f.yaml:18:3: 'bandwidth' is not a valid metric name"},
		{18, "  Memory.read:", "f.yaml:18:3: 'Memory.read' is not a valid metric name"},
		{18, "  memory..read:", "f.yaml:18:3: 'memory..read' is not a valid metric name"},
		{18, "  memory.:", "f.yaml:18:3: 'memory.' is not a valid metric name"},
		{18, "  .memory:", "f.yaml:18:3: '.memory' is not a valid metric name"},
		{18, "  memory/read.x:", "f.yaml:18:3: 'memory/read.x' is not a valid metric name"},
		{20, "    unit: GB/s",
		 "f.yaml:20:11: 'GB/s' is not a valid unit; expected one of: B/s, Hz"},
		{20, "    unit: b/s", "f.yaml:20:11: 'b/s' is not a valid unit"},
		{20, "    unit: ''", "f.yaml:20:11: "},
	};

	(void)state;
	assert_mistakes(mistakes, COUNT(mistakes));
}

static void mistakes_of_models(void **state)
{
	static const struct mistake mistakes[] = {
		{7, "  skx: 85", "f.yaml:7:8: '85' is not a valid CPU model such as intel/6/143"},
		{7, "  clx: intel/6/85",
		 "f.yaml:10:13: 'skx' is not a model of this file's 'models'"},
		{10, "  - models: skx sprr", "f.yaml:10:17: 'sprr' is not a model"},
		{10, "  - since: 6.1", "f.yaml:10:5: 'since' and 'flag' need 'models' or 'path'"},
		{15, "    cases:\n      - when: skx intel/6/85\n        terms: event=1",
		 "f.yaml:16:19: 'intel/6/85' is not a model"},
	};

	(void)state;
	assert_mistakes(mistakes, COUNT(mistakes));
}

static void when_needs_models(void **state)
{
	static const char text[] = "family: a\ntitle: b\ninstance: c\npmus: [{name: d}]\n"
				   "expect:\n  - models: skx\n    module: m\n"
				   "events: {}\nmetrics: {}\nplace: link\n";
	struct unc_family *f = NULL;
	struct unc_error e;

	(void)state;
	assert_int_equal(parse(&f, text, SKX, &e), -EBADMSG);
	assert_string_equal(e.text, "f.yaml:6:13: 'skx' is not a model of this file's 'models'");
}

static void mistakes_of_encodings(void **state)
{
	static const struct mistake mistakes[] = {
		{15, NULL, "f.yaml:14:5: an event needs 'alias', 'terms' or 'cases'"},
		{15, "    terms: config=0x304",
		 "f.yaml:15:12: 'config': write format terms, not raw configuration words"},
		{15, "    terms: event=4,config1=1", "f.yaml:15:12: 'config1': write format terms"},
		{15, "    terms: event=4,,umask=1",
		 "f.yaml:15:12: 'event=4,,umask=1' is not a valid list"},
		{15, "    terms: =4", "f.yaml:15:12: '=4' is not a valid list of terms such as"},
		{15, "    alias: event=4", "f.yaml:15:12: 'event=4' is not a valid alias"},
		{15, "    alias: a,b", "f.yaml:15:12: 'a,b' is not a valid alias"},
		{15, "    terms: event=4\n    cases:\n      - terms: event=5",
		 "f.yaml:15:5: 'terms' stands beside 'cases'"},
		{15, "    terms: event=4\n    when: skx", "f.yaml:16:5: unknown key 'when'"},
		{15, "    alias: a\n    scale: 64",
		 "f.yaml:16:12: '64' is not a valid scale; expected one of: kernel"},
		{15, "    terms: event=4\n    scale: kernel",
		 "f.yaml:16:12: the kernel's scale belongs to an alias"},
		{15,
		 "    scale: kernel\n    cases:\n      - when: skx\n        alias: a\n"
		 "      - when: spr\n        terms: event=4",
		 "f.yaml:19:9: the kernel's scale belongs to an alias, and this case has none"},
	};

	(void)state;
	assert_mistakes(mistakes, COUNT(mistakes));
}

static void mistakes_of_formulas(void **state)
{
	static const struct mistake mistakes[] = {
		/* the column is that of the mistake in the file: 14 and the offset */
		{21, "    formula: cas_rd * * 64", "f.yaml:21:23: formula: "},
		{21, "    formula: cas_rd * (64", "f.yaml:21:26: formula: "},
		{21, "    formula: cas_rd ? 64", "f.yaml:21:21: formula: "},
		{21, "    formula: 64 * cas_wr / seconds",
		 "f.yaml:21:19: 'cas_wr' is not an event of this family (did you mean cas_rd?)"},
		{21, "    formula: cas_rd + cas_rd_ + zzzzzz",
		 "f.yaml:21:23: 'cas_rd_' is not an event of this family (did you mean cas_rd?)"},
		{21, "    formula: cas_rd + zzzzzz",
		 "f.yaml:21:23: 'zzzzzz' is not an event of this family"},
		{21, "    formula: source_count(x)", "f.yaml:21:27: 'x' is not an event"},
		{21, "    formula: 64 / seconds", "f.yaml:21:14: the formula names no event"},
		{21, "    formula: 64 * max(0, cas_rd - 1)",
		 "f.yaml:20:11: the unit is B/s, and '64 * max(0, cas_rd - 1)' grows with the "
		 "interval: divide by 'seconds'"},
		{21, "    formula: cas_rd\n    cases:\n      - formula: cas_rd",
		 "f.yaml:21:5: 'formula' stands beside 'cases'"},
		/* where the file is not written as it is read, the scalar's beginning */
		{21, "    formula: \"cas_rd * *\"", "f.yaml:21:14: formula: "},
		{21, "    formula: >\n      cas_rd\n      * *", "f.yaml:21:14: formula: "},
		{21, "    formula: cas_rd *\n      * 64", "f.yaml:21:14: formula: "},
	};

	(void)state;
	assert_mistakes(mistakes, COUNT(mistakes));
}

static void a_formula_of_too_many_events(void **state)
{
	(void)state;
	for (int count = UNC_METRIC_EVENTS; count <= UNC_METRIC_EVENTS + 1; count++) {
		struct unc_text t = {0};
		struct unc_family *f = NULL;
		struct unc_error e = {0};

		unc_text_add(
			&t,
			"family: a\ntitle: b\ninstance: c\npmus: [{name: d}]\nplace: link\nevents:\n");
		for (int i = 0; i < count; i++)
			unc_text_add(&t, "  e%d: {title: x, terms: event=%d, evidence: x}\n", i, i);
		unc_text_add(&t, "metrics:\n  a.b:\n    title: x\n    unit: s\n"
				 "    evidence: x\n    formula: e0");
		for (int i = 1; i < count; i++)
			unc_text_add(&t, " + e%d", i);
		unc_text_add(&t, "\n");
		if (count == UNC_METRIC_EVENTS)
			assert_int_equal(parse(&f, t.data, SKX, &e), 0);
		else
			assert_int_equal(parse(&f, t.data, SKX, &e), -EBADMSG);
		unc_family_free(f);
		unc_text_finish(&t);
	}
}

static void a_file_that_is_no_map(void **state)
{
	struct unc_family *f = NULL;
	struct unc_error e;

	(void)state;
	assert_int_equal(parse(&f, "- a\n- b\n", SKX, &e), -EBADMSG);
	assert_contains(e.text, "f.yaml:1:1: expected a map");
	assert_int_equal(parse(&f, "just text\n", SKX, &e), -EBADMSG);
	assert_contains(e.text, "f.yaml:1:1: expected a map");
	assert_null(f);
}

/* ---- names of PMUs ---------------------------------------------------------------------------- */

static void patterns(void **state)
{
	static const struct {
		const char *pattern, *name;
		bool matches;
	} cases[] = {
		{"msr", "msr", true},
		{"msr", "msr2", false},
		{"msr", "ms", false},
		{"uncore_imc_{channel}", "uncore_imc_0", true},
		{"uncore_imc_{channel}", "uncore_imc_17", true},
		{"uncore_imc_{channel}", "uncore_imc_", false},
		{"uncore_imc_{channel}", "uncore_imc", false},
		{"uncore_imc_{channel}", "uncore_imc_a", false},
		{"uncore_imc_{channel}", "uncore_imc_1_2", false},
		{"uncore_imc_{channel}", "uncore_imc_free_running_0", false},
		{"nvidia_pcie_pmu_{socket}_rc_{rc}", "nvidia_pcie_pmu_1_rc_12", true},
		{"nvidia_pcie_pmu_{socket}_rc_{rc}", "nvidia_pcie_pmu_1_rc_", false},
		{"nvidia_pcie_pmu_{socket}_rc_{rc}", "nvidia_pcie_pmu_1", false},
		{"2cf2*", "2cf2036b", true},
		{"2cf2*", "2cf2", true},
		{"2cf2*", "2cf1036b", false},
		{"*", "anything", true},
		{"a*b", "a*b", true}, /* a star inside is a star */
		{"a*b", "axb", false},
		{"x_{n", "x_1", false},
		{"", "", true},
		{"", "a", false},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++)
		if (unc_pattern_matches(cases[i].pattern, cases[i].name) != cases[i].matches)
			fail_msg("'%s' '%s'", cases[i].pattern, cases[i].name);
}

/* ---- root ports --------------------------------------------------------------------------------- */

#define PORTS "instance: c\nports:\n"
#define DVSEC PORTS "  - dvsec: {vendor: 0x10de, id: 0x4}\n"

static void every_kind_of_ports(void **state)
{
	struct unc_family *f =
		must_parse(3, DVSEC "    fields: {port: 0xe, rc: 15}\n    evidence: x", SKX);

	(void)state;
	assert_non_null(f->ports);
	assert_int_equal(f->ports->kind, UNC_PORTS_DVSEC);
	assert_int_equal(f->ports->vendor, 0x10de);
	assert_int_equal(f->ports->id, 4);
	assert_int_equal(f->ports->field_count, 2);
	assert_string_equal(f->ports->fields[1].word, "rc");
	assert_int_equal(f->ports->fields[1].offset, 15);
	unc_family_free(f);
	f = must_parse(3, PORTS "  - attribute: die{die}", SKX);
	assert_int_equal(f->ports->kind, UNC_PORTS_ATTRIBUTE);
	assert_string_equal(f->ports->attribute, "die{die}");
	assert_int_equal(f->ports->numbers.count, 0);
	unc_family_free(f);
	f = must_parse(3, PORTS "  - range: {min: a, max: b}", SKX);
	assert_int_equal(f->ports->kind, UNC_PORTS_RANGE);
	assert_string_equal(f->ports->max, "b");
	unc_family_free(f);
	f = must_parse(5, "  - name: dwc_{sbdf}\nports: [{name: sbdf}]", SKX);
	assert_int_equal(f->ports->kind, UNC_PORTS_NAME);
	unc_family_free(f);
	f = must_parse(3, PORTS "  - {socket: true, evidence: x}", SKX);
	assert_int_equal(f->ports->kind, UNC_PORTS_SOCKET);
	unc_family_free(f);
	f = must_parse(3, PORTS "  - {unknown: nothing tells}", SKX);
	assert_int_equal(f->ports->kind, UNC_PORTS_UNKNOWN);
	assert_string_equal(f->ports->why, "nothing tells");
	unc_family_free(f);
}

static void the_first_rule_that_holds(void **state)
{
	static const char rules[] = PORTS "  - {attribute: a, when: spr, index: device, first: 2, "
					  "count: 4, evidence: x}\n"
					  "  - {attribute: b, when: skx}\n  - {attribute: c}";
	static const char *const models[] = {SPR, SKX};

	(void)state;
	for (int i = 0; i < 2; i++) {
		struct unc_family *f = must_parse(3, rules, models[i]);

		assert_string_equal(f->ports->attribute, i ? "b" : "a");
		assert_int_equal(f->ports->numbers.first, i ? 0 : 2);
		assert_int_equal(f->ports->numbers.count, i ? 0 : 4);
		unc_family_free(f);
	}
}

static void mistakes_of_ports(void **state)
{
	static const struct mistake mistakes[] = {
		{3, "instance: c\nports: x", "f.yaml:4:8: the value of 'ports' must be a list"},
		{3, PORTS "  - x", "f.yaml:5:5: expected a map"},
		{3, PORTS "  - {when: skx}",
		 "f.yaml:5:5: expected exactly one of: dvsec, attribute, config, name, range, socket, unknown"},
		{3, "instance: c\npeer: 'a{b}'", "f.yaml:4:7: 'a{b}': the only word in braces"},
		{3, PORTS "  - {socket: false, evidence: x}",
		 "f.yaml:5:14: the value of 'socket' cannot be 'false'; expected one of: true"},
		{3, PORTS "  - {socket: true}", "f.yaml:5:5: the key 'evidence' is missing here"},
		{3, PORTS "  - {unknown: ''}", "f.yaml:5:15: the value of 'unknown' is empty"},
		{3, PORTS "  - {attribute: a, when: x}", "f.yaml:5:26: 'x' is not a model"},
		{3, PORTS "  - {attribute: a, name: b}",
		 "f.yaml:5:20: 'name' and 'attribute' exclude each other"},
		{3, PORTS "  - {attribute: 'a{b}'}",
		 "f.yaml:5:17: 'a{b}': the only word in braces is {die}"},
		{3, PORTS "  - {attribute: 'a{die}{die}'}", "f.yaml:5:17: 'a{die}{die}': the only"},
		{3, PORTS "  - {attribute: ''}", "f.yaml:5:17: the value of 'attribute' is empty"},
		{3, PORTS "  - {attribute: a, index: bus, evidence: x}",
		 "f.yaml:5:27: the value of 'index' cannot be 'bus'; expected one of: device"},
		{3, PORTS "  - {attribute: a, index: device}",
		 "f.yaml:5:27: the key 'evidence' is missing here"},
		{3, PORTS "  - {attribute: a, index: device, evidence: x, count: 33}",
		 "f.yaml:5:55: the value of 'count' must be from 0 to 32"},
		{3, PORTS "  - {attribute: a, first: -1}", "f.yaml:5:27: "},
		{3, PORTS "  - {config: {vendor: 1, id: 2, sad: 3}, evidence: x}",
		 "f.yaml:5:5: the key 'stacks' is missing here"},
		{3, PORTS "  - {config: {vendor: 1, id: 2, sad: 3, buses: 4}, stacks: []}",
		 "f.yaml:5:41: unknown key 'buses'"},
		{3, PORTS "  - {config: {vendor: 1, id: 2, sad: 3}, stacks: []}",
		 "f.yaml:5:50: 'stacks' is empty"},
		{3, PORTS "  - {config: {vendor: 1, id: 2, sad: 3}, stacks: [{bus: 32, unit: 0}]}",
		 "f.yaml:5:57: the value of 'bus' must be from 0 to 31"},
		{3, PORTS "  - {config: {vendor: 1, id: 2, sad: 3}, stacks: [{bus: 1, unit: 0}]}",
		 "f.yaml:5:5: the key 'evidence' is missing here"},
		{3, PORTS "  - {attribute: a, stacks: []}", "f.yaml:5:20: unknown key 'stacks'"},
		{3, PORTS "  - {name: bdf}",
		 "f.yaml:5:12: the value of 'name' cannot be 'bdf'; expected one of: sbdf"},
		{3, PORTS "  - {name: sbdf}",
		 "f.yaml:5:12: there is no {sbdf} in 'uncore_imc_{channel}'"},
		{3, PORTS "  - {range: {min: a}}", "f.yaml:5:13: the key 'max' is missing in '"},
		{3, PORTS "  - {range: a}", "f.yaml:5:13: the value of 'range' must be a map"},
		{3, PORTS "  - {dvsec: {vendor: 1, id: 2}}",
		 "f.yaml:5:5: the key 'fields' is missing here"},
		{3, PORTS "  - {dvsec: {vendor: 0x10000, id: 2}, fields: {port: 1}}",
		 "f.yaml:5:22: the value of 'vendor' must be from 0 to 65535"},
		{3, DVSEC "    fields: {rc: 1}",
		 "f.yaml:6:13: expected 1 to 8 fields, one of them"},
		{3, DVSEC "    fields: {port: x}", "f.yaml:6:20: "},
		{3, DVSEC "    fields: {port: 1, b: 2, c: 3, d: 4, e: 5, f: 6, g: 7, h: 8, i: 9}",
		 "f.yaml:6:13: expected 1 to 8 fields"},
	};

	(void)state;
	assert_mistakes(mistakes, COUNT(mistakes));
}

static void numbers_in_names(void **state)
{
	uint64_t value = 7;

	(void)state;
	assert_true(unc_pattern_value("a_{x}_rc_{y}", "a_12_rc_3", "y", &value));
	assert_int_equal(value, 3);
	assert_true(unc_pattern_value("a_{x}_rc_{y}", "a_12_rc_3", "x", &value));
	assert_int_equal(value, 12);
	assert_true(unc_pattern_value("a_{x}", "a_5", "xx", &value));
	assert_int_equal(value, 12); /* as it was */
	assert_true(unc_pattern_value("dwc_{sbdf}", "dwc_a1f08", "sbdf", &value));
	assert_int_equal(value, 0xa1f08);
	assert_false(unc_pattern_matches("dwc_{x}", "dwc_a1f08"));
	assert_false(unc_pattern_matches("dwc_{sbdf}", "dwc_"));
	assert_false(unc_pattern_matches("dwc_{sbdf", "dwc_1"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_valid_file),
		cmocka_unit_test(the_smallest_file),
		cmocka_unit_test(every_optional_key),
		cmocka_unit_test(every_unit_of_the_list),
		cmocka_unit_test(models_restrict_the_family),
		cmocka_unit_test(an_event_has_the_first_case_that_holds),
		cmocka_unit_test(a_case_without_when_is_for_the_rest),
		cmocka_unit_test(a_metric_has_the_first_case_that_holds),
		cmocka_unit_test(cases_for_other_models_are_checked_too),
		cmocka_unit_test(mistakes_of_keys),
		cmocka_unit_test(mistakes_of_kind),
		cmocka_unit_test(empty_values_and_cases_are_refused),
		cmocka_unit_test(a_family_without_pmus),
		cmocka_unit_test(counters_are_those_of_the_first_case_that_holds),
		cmocka_unit_test(mistakes_of_names),
		cmocka_unit_test(mistakes_of_models),
		cmocka_unit_test(when_needs_models),
		cmocka_unit_test(mistakes_of_encodings),
		cmocka_unit_test(mistakes_of_formulas),
		cmocka_unit_test(a_formula_of_too_many_events),
		cmocka_unit_test(a_file_that_is_no_map),
		cmocka_unit_test(patterns),
		cmocka_unit_test(every_kind_of_ports),
		cmocka_unit_test(the_first_rule_that_holds),
		cmocka_unit_test(mistakes_of_ports),
		cmocka_unit_test(numbers_in_names),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}

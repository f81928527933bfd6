/* SPDX-License-Identifier: MIT */
/* Register blocks: what a good description becomes, and where the mistakes of a bad one are. */
#include "base/data-file.h"
#include "source/regs/regs.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "helpers.h"

/* A valid file, line by line: a test replaces one of them. */
static const char *const good[] = {
	"block: engine",                           /* 1 */
	"title: DMA engine",                       /* 2 */
	"instance: engine",                        /* 3 */
	"evidence: its manual",                    /* 4 */
	"pmu: engine_{engine}",                    /* 5 */
	"space: mmio",                             /* 6 */
	"access: 32",                              /* 7 */
	"size: 0x200",                             /* 8 */
	"count: 2",                                /* 9 */
	"stride: 0x100",                           /* 10 */
	"window: free-running",                    /* 11 */
	"quantity: dma",                           /* 12 */
	"clock: {hz: 250e6, counter: active_cnt}", /* 13 */
	"counters:",                               /* 14 */
	"  active_cnt:",                           /* 15 */
	"    title: cycles",                       /* 16 */
	"    low: 0x10",                           /* 17 */
	"    high: 0x14",                          /* 18 */
	"    width: 48",                           /* 19 */
	"    role: active",                        /* 20 */
	"  byte_cnt:",                             /* 21 */
	"    title: payload",                      /* 22 */
	"    offset: 0x18",                        /* 23 */
	"    width: 32",                           /* 24 */
	"    role: bytes",                         /* 25 */
	"    per_second: 8e9",                     /* 26 */
	"  bin_{n}:",                              /* 27 */
	"    title: latency, {n}",                 /* 28 */
	"    offset: 0x20",                        /* 29 */
	"    count: 3",                            /* 30 */
	"    width: 32",                           /* 31 */
	"    role: bin",                           /* 32 */
	"    per_second: 250e6",                   /* 33 */
	"histogram:",                              /* 34 */
	"  listed: [0, 16, 32]",                   /* 35 */
	"  last: 40",                              /* 36 */
};

/* The lines with one (0: none) replaced by another, by several or (NULL) by none. */
static int parse_lines(struct unc_regs **out, const char *const *lines, size_t count, size_t line,
		       const char *by, struct unc_error *e)
{
	struct unc_yaml_file *file;
	struct unc_text t = {0};
	char *text;
	int r;

	for (size_t i = 1; i <= count; i++)
		if (i != line)
			unc_text_add(&t, "%s\n", lines[i - 1]);
		else if (by)
			unc_text_add(&t, "%s\n", by);
	text = unc_text_take(&t);
	assert_non_null(text);
	r = unc_yaml_parse(&file, "b.yaml", text, strlen(text), e);
	free(text);
	return r < 0 ? r : unc_regs_parse(out, file, e);
}

static int parse(struct unc_regs **out, size_t line, const char *by, struct unc_error *e)
{
	return parse_lines(out, good, COUNT(good), line, by, e);
}

/* The sentence for lines with one replaced begins with a place and has a part. */
struct mistake {
	size_t line;
	const char *by, *where, *what;
};

static void check_mistakes(const struct mistake *cases, size_t count, const char *const *lines,
			   size_t line_count)
{
	for (size_t i = 0; i < count; i++) {
		struct unc_error e = {0};
		struct unc_regs *r = NULL;
		int err = parse_lines(&r, lines, line_count, cases[i].line, cases[i].by, &e);

		if (err != -EBADMSG || r)
			fail_msg("line %zu '%s' is taken", cases[i].line, cases[i].by);
		if (strncmp(e.text, cases[i].where, strlen(cases[i].where)) != 0)
			print_error("line %zu '%s': %s\n", cases[i].line, cases[i].by, e.text);
		assert_contains(e.text, cases[i].where);
		assert_contains(e.text, cases[i].what);
	}
}

static struct unc_regs *must(size_t line, const char *by)
{
	struct unc_error e = {0};
	struct unc_regs *r = NULL;

	if (parse(&r, line, by, &e) < 0)
		fail_msg("%s", e.text);
	return r;
}

static void test_good(void **state)
{
	struct unc_regs *r = must(0, NULL);
	const struct unc_regs_counter *c = r->counters;

	(void)state;
	assert_string_equal(r->name, "engine");
	assert_int_equal(r->space, UNC_SPACE_MMIO);
	assert_int_equal(r->window, UNC_WINDOW_FREE);
	assert_int_equal(r->bytes, 4);
	assert_int_equal(r->size, 0x200);
	assert_int_equal(r->instances, 2);
	assert_int_equal(r->stride, 0x100);
	assert_close(r->hz, 250e6);
	assert_int_equal(r->count, 5);
	assert_true(c[0].split && c[0].offset == 0x10 && c[0].high == 0x14 && c[0].width == 48);
	assert_close(c[0].per_cycle, 1);
	assert_true(!c[1].split && c[1].offset == 0x18 && c[1].role == UNC_ROLE_BYTES);
	assert_close(c[0].most_per_s, 250e6);
	assert_close(c[1].most_per_s, 8e9);
	assert_string_equal(c[4].name, "bin_2");
	assert_string_equal(c[4].title, "latency, 2");
	assert_int_equal(c[4].offset, 0x28);
	assert_int_equal(r->histogram.count, 3);
	assert_close(r->histogram.lower[2], 32);
	unc_regs_free(r);
}

static void test_bounds(void **state)
{
	static const struct {
		const char *rule;
		double lower[3];
	} cases[] = {
		{"  listed: [5, 6, 100]\n  last: 200", {5, 6, 100}},
		{"  listed: [0, 8, 16]\n  last: 20", {0, 8, 16}},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct unc_error e = {0};
		struct unc_yaml_file *file;
		struct unc_text t = {0};
		struct unc_regs *r;
		char *text;

		for (size_t k = 0; k < 34; k++)
			unc_text_add(&t, "%s\n", good[k]);
		unc_text_add(&t, "%s\n", cases[i].rule);
		text = unc_text_take(&t);
		assert_int_equal(unc_yaml_parse(&file, "b.yaml", text, strlen(text), &e), 0);
		free(text);
		if (unc_regs_parse(&r, file, &e) < 0)
			fail_msg("%s", e.text);
		for (size_t k = 0; k < 3; k++)
			assert_close(r->histogram.lower[k], cases[i].lower[k]);
		unc_regs_free(r);
	}
}

static void test_maps(void **state)
{
	static const struct {
		const char *map, *file, *pci;
		uint64_t bar;
	} cases[] = {
		{"map: {file: /dev/shm/pmon}", "/dev/shm/pmon", NULL, 0},
		{"map: {file: dev/mem@0xfed00000}", "dev/mem@0xfed00000", NULL, 0},
		{"map: {pci: \"10ee:9038\", bar: 2}", NULL, "10ee:9038", 2},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		char lines[100];
		struct unc_regs *r;

		snprintf(lines, sizeof(lines), "%s\n%s", good[5], cases[i].map);
		r = must(6, lines);
		assert_string_equal(r->map_file ? r->map_file : r->map_pci,
				    cases[i].file ? cases[i].file : cases[i].pci);
		assert_int_equal(!r->map_file, !cases[i].file);
		assert_int_equal(r->bar, cases[i].bar);
		unc_regs_free(r);
	}
}

/* What is known of a counter's speed: in a cycle, in a second, or both. */
static void test_speeds(void **state)
{
	static const struct {
		const char *says;
		double most_per_s;
	} cases[] = {
		{"    per_cycle: 32", 8e9},
		{"    per_second: 5e9", 5e9},
		{"    per_cycle: 32\n    per_second: 9e9", 8e9},
		{"    per_cycle: 32\n    per_second: 7e9", 7e9},
	};
	struct unc_regs *r;

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		r = must(26, cases[i].says);
		assert_close(r->counters[0].most_per_s, 250e6);
		assert_close(r->counters[1].most_per_s, cases[i].most_per_s);
		unc_regs_free(r);
	}
	/* The counter of the clock counts cycles, too. */
	r = must(20, "    role: none");
	assert_close(r->counters[0].most_per_s, 250e6);
	unc_regs_free(r);
}

/* A clock may be the host's, or a counter, with or without its frequency. */
static void test_clocks(void **state)
{
	struct unc_regs *r = must(13, "clock: host");

	(void)state;
	assert_true(r->host_clock && !r->clock && !(r->hz > 0));
	unc_regs_free(r);
	r = must(13, "clock: {counter: active_cnt}");
	assert_ptr_equal(r->clock, &r->counters[0]);
	unc_regs_free(r);
}

static void test_mistakes(void **state)
{
	static const struct mistake cases[] = {
		{1, "blocks: engine", "b.yaml:1:1", "unknown key 'blocks'"},
		{1, "block: The Engine", "b.yaml:1:8", "is not a valid name"},
		{2, "title: ''", "b.yaml:2:8", "is empty"},
		{2, "title: \"a\\nb\"", "b.yaml:2:8", "one line"},
		{4, NULL, "b.yaml:1:1", "'evidence' is missing"},
		{5, "pmu: engine", "b.yaml:5:6", "one {word}"},
		{5, "pmu: engine_{a}_{b}", "b.yaml:5:6", "one {word}"},
		{6, "space: mmio\nmodels: 62", "b.yaml:7:9", "'62' is not a valid CPU model"},
		{6, "space: mmio\nmodels: intel/6/62  xeon", "b.yaml:7:9",
		 "'xeon' is not a valid CPU"},
		{6, "space: mmio\nmodels: ''", "b.yaml:7:9", "is empty"},
		{6, "space: io", "b.yaml:6:8", "expected one of: mmio, pci, msr"},
		{6, "space: msr", "b.yaml:8:7", "'size' is for maps"},
		{6, "space: pci\nmap: {memory: 1}", "b.yaml:7:7", "unknown key 'memory'"},
		{6, "space: mmio\nmap: {bar: 1}", "b.yaml:7:6", "exactly one of: file, pci"},
		{6, "space: mmio\nmap: {file: a, pci: b}", "b.yaml:7:16", "exclude each other"},
		{6, "space: mmio\nmap: {file: a, bar: 1}", "b.yaml:7:21", "BAR"},
		{6, "space: mmio\nmap: {pci: a, bar: 6}", "b.yaml:7:20", "from 0 to 5"},
		{7, "access: 16", "b.yaml:7:9", "from 32 to 64"},
		{7, "access: 48", "b.yaml:7:9", "32 or 64"},
		{7, "access: 64", "b.yaml:18:11", "one read is of 64"},
		{8, NULL, "b.yaml:1:1", "needs the key 'size'"},
		{8, "size: 0x128", "b.yaml:29:13", "beyond the map: it ends at 0x12c in the last"},
		{10, NULL, "b.yaml:9:8", "need a 'stride'"},
		{10, "stride: 0xfe", "b.yaml:10:9", "not aligned to its 4 bytes"},
		{10, "stride: 0x10", "b.yaml:10:9", "of another"},
		{11, "window: mirror", "b.yaml:11:9",
		 "free-running, freeze, read-to-clear, snapshot, write-to-clear"},
		{11, "window: snapshot", "b.yaml:11:9", "needs a field with 'use: latch'"},
		{11, "window: write-to-clear", "b.yaml:11:9", "needs a field with 'use: clear'"},
		{11, "window: read-to-clear", "b.yaml:18:11", "reading clears them"},
		{12, NULL, "b.yaml:1:1", "'quantity'"},
		{13, NULL, "b.yaml:24:11", "missing clock for a rate of 'byte_cnt'"},
		{13, "clock: {hz: 250e6}", "b.yaml:25:11", "only with all cycles"},
		{13, "clock: {hz: 0}", "b.yaml:13:13", "more than 0"},
		{13, "clock: {hz: fast}", "b.yaml:13:13", "a number"},
		{13, "clock: {counter: ticks}", "b.yaml:13:18", "is not a counter of this block"},
		{13, "clock: 1e9", "b.yaml:13:8", "'host', or a map"},
		{15, "  Active:", "b.yaml:15:3", "is not a valid name of a counter"},
		{15, "  a123456789b123456789c123456789d123456789e123456789f123456789g123:",
		 "b.yaml:15:3", "at most 63 lower case letters"},
		{17, NULL, "b.yaml:16:5", "'low' and 'high'"},
		{17, "    low: 0x12", "b.yaml:17:10", "not aligned"},
		{17, "    low: 0x18", "b.yaml:23:13", "'byte_cnt' overlaps 'active_cnt' (line 17)"},
		{17, "    low: 0x10\n    offset: 0x10", "b.yaml:16:5", "needs 'offset', or"},
		{19, "    width: 65", "b.yaml:19:12", "from 1 to 64"},
		{19, "    width: 32", "b.yaml:19:12", "needs no halves"},
		{20, "    role: works", "b.yaml:20:11", "expected one of: none, active"},
		{23, "    offset: 0x200", "b.yaml:23:13", "beyond the map"},
		{23, "    offset: 0x20", "b.yaml:29:13", "overlaps"},
		{24, "    width: 48", "b.yaml:24:12", "do not fit into one read"},
		{25, "    role: active", "b.yaml:25:11", "has this role already"},
		{25, "    role: bytes\n    packet_bytes: 64", "b.yaml:26:19",
		 "only a counter of packets"},
		{26, NULL, "b.yaml:24:12", "32 bits may wrap"},
		{26, "    per_second: 0", "b.yaml:26:17", "more than 0"},
		{33, NULL, "b.yaml:31:12", "'bin_0'"},
		{27, "  bin:", "b.yaml:27:3", "{n} in its name"},
		{30, "    count: 300", "b.yaml:30:12", "from 1 to 256"},
		{30, "    count: 1", "b.yaml:35:3", "here are 1"},
		{35, "  listed: [0, 16]", "b.yaml:35:11", "2 bounds for 3 bins"},
		{35, "  listed: [0, 16, 16]", "b.yaml:35:19", "larger than the one before"},
		{35, NULL, "b.yaml:35:3", "needs 'listed' or 'thresholds'"},
		{36, NULL, "b.yaml:35:3", "exactly one of: last, values"},
		{35, "  listed: [0, 16, 32]\n  thresholds: 0x18", "b.yaml:36:15",
		 "overlaps 'byte_cnt'"},
		{35, "  listed: [0, 16, 0x100000000]\n  thresholds: 0x40", "b.yaml:35:11",
		 "a register has 32 bits here"},
		{36, "  values: [1, 2]", "b.yaml:36:11", "2 values for 3 bins"},
		{36, "  values: [1, 2, -3]", "b.yaml:36:18", "from 0 to 2^53"},
		{36, "  last: 1e300", "b.yaml:36:9", "less than 2^53"},
		{36, "  last: 20", "b.yaml:36:9", "is below its bound"},
	};

	(void)state;
	check_mistakes(cases, COUNT(cases), good, COUNT(good));
}

/* A block with programmable counters, line by line. */
static const char *const programmable[] = {
	"block: box",                                                           /* 1 */
	"title: Box",                                                           /* 2 */
	"instance: box",                                                        /* 3 */
	"evidence: its manual",                                                 /* 4 */
	"pmu: box_{n}",                                                         /* 5 */
	"space: msr",                                                           /* 6 */
	"window: freeze",                                                       /* 7 */
	"kernel: {pmu: box_*, module: box}",                                    /* 8 */
	"control:",                                                             /* 9 */
	"  ctl:",                                                               /* 10 */
	"    offset: 0x10",                                                     /* 11 */
	"    ones: 16-17",                                                      /* 12 */
	"    fields:",                                                          /* 13 */
	"      frz: {bits: 8, use: freeze}",                                    /* 14 */
	"      sts: {bits: 9, access: RO, use: frozen}",                        /* 15 */
	"  flt:",                                                               /* 16 */
	"    offset: 0x11",                                                     /* 17 */
	"    fields: {f: {bits: 0-4, use: filter}}",                            /* 18 */
	"counter_control:",                                                     /* 19 */
	"  fields:",                                                            /* 20 */
	"    ev: {bits: '0-7,21', use: event}",                                 /* 21 */
	"overflow: freezes",                                                    /* 22 */
	"only: [{event: 1, counters: 0-1}]",                                    /* 23 */
	"counters:",                                                            /* 24 */
	"  c{n}: {title: t, count: 4, offset: 0x20, control: 0x30, width: 44}", /* 25 */
};

static void test_programmable(void **state)
{
	const struct unc_regs_field *freeze;
	struct unc_error e = {0};
	struct unc_regs *r = NULL;

	(void)state;
	if (parse_lines(&r, programmable, COUNT(programmable), 0, NULL, &e) < 0)
		fail_msg("%s", e.text);
	freeze = r->use[UNC_PURPOSE_FREEZE];
	assert_int_equal(freeze->bits, 0x100);
	assert_int_equal(freeze->in->ones, 0x30000);
	assert_int_equal(freeze->in->read_only, 0x200);
	assert_int_equal(r->use[UNC_PURPOSE_FILTER]->bits, 0x1f);
	assert_int_equal(r->use[UNC_PURPOSE_FILTER]->in->filter, 0);
	assert_int_equal(r->select.fields[0].bits, 0x2000ff);
	assert_int_equal(r->only[0].counters, 3);
	assert_int_equal(r->overflow, UNC_OVERFLOW_FREEZES);
	assert_true(r->counters[3].programmable);
	assert_int_equal(r->counters[3].control, 0x33);
	assert_string_equal(r->kernel_module, "box");
	unc_regs_free(r);
}

static void test_programmable_mistakes(void **state)
{
	static const struct mistake cases[] = {
		{7, "window: free-running", "b.yaml:7:9", "need 'window: freeze'"},
		{8, "kernel: {pmu: box_*}", "b.yaml:8:9", "'module' is missing"},
		{11, "    offset: 0x31", "b.yaml:25:53", "'c1' overlaps 'ctl' (line 11)"},
		{12, "    ones: 70", "b.yaml:12:11", "not bits"},
		{14, "      frz: {bits: 8}", "b.yaml:7:9", "'use: freeze'"},
		{14, "      frz: {bits: 8, use: halt}", "b.yaml:14:27", "expected one of"},
		{14, "      frz: {bits: 8, use: enable}", "b.yaml:14:7", "no such use"},
		{14, "      frz: {bits: 8, use: freeze, access: RO}", "b.yaml:14:27", "are read"},
		{15, "      sts: {bits: 7-8, access: RO}", "b.yaml:15:19", "overlaps 'frz'"},
		{15, "      sts: {bits: 9, use: freeze}", "b.yaml:15:27", "this use already"},
		{18, "    fields: {f: {bits: 0-40, use: filter}}", "b.yaml:18:24", "32 bits"},
		{18, "    fields: {f: {bits: 3, use: freeze}}", "b.yaml:18:32",
		 "'frz' has this use"},
		{19, "x:", "b.yaml:19:1", "unknown key"},
		{21, "    ev: {bits: 0-7}", "b.yaml:20:3", "'use: event'"},
		{21, "    ev: {bits: 0-7, use: freeze}", "b.yaml:21:5", "no such use"},
		{22, "overflow: stops", "b.yaml:22:11", "wraps, freezes, freezes-all"},
		{25, "  c: {title: t, offset: 0x20, control: 0x30, width: 44, role: bytes}",
		 "b.yaml:25:40", "no role"},
	};

	(void)state;
	check_mistakes(cases, COUNT(cases), programmable, COUNT(programmable));
}

/* Bins without bounds have no meaning. */
static void test_no_histogram(void **state)
{
	struct unc_yaml_file *file;
	struct unc_error e = {0};
	struct unc_text t = {0};
	struct unc_regs *r;
	char *text;

	(void)state;
	for (size_t i = 0; i < 33; i++)
		unc_text_add(&t, "%s\n", good[i]);
	text = unc_text_take(&t);
	assert_int_equal(unc_yaml_parse(&file, "b.yaml", text, strlen(text), &e), 0);
	free(text);
	assert_int_equal(unc_regs_parse(&r, file, &e), -EBADMSG);
	assert_contains(e.text, "b.yaml:32:11: bins need bounds");
}

static void test_msr(void **state)
{
	static const char text[] =
		"block: cbo\ntitle: Cbo\ninstance: slice\nevidence: e\n"
		"pmu: uncore_cbox_{slice}\nspace: msr\ncount: 15\nstride: 0x20\n"
		"window: free-running\ncounters:\n  ctr{n}:\n    title: counter\n"
		"    offset: 0xd16\n    count: 4\n    width: 44\n";
	struct unc_yaml_file *file;
	struct unc_error e = {0};
	struct unc_regs *r;

	(void)state;
	assert_int_equal(unc_yaml_parse(&file, "b.yaml", text, strlen(text), &e), 0);
	if (unc_regs_parse(&r, file, &e) < 0)
		fail_msg("%s", e.text);
	assert_int_equal(r->count, 4);
	assert_int_equal(r->counters[3].offset, 0xd19);
	assert_int_equal(r->bytes, 8);
	unc_regs_free(r);
}

/* Each built-in description, and what its file is called. */
static void test_built_in(void **state)
{
	(void)state;
	assert_true(unc_embedded_blocks_count > 0);
	for (size_t i = 0; i < unc_embedded_blocks_count; i++) {
		struct unc_error e = {0};
		struct unc_regs *r;
		char name[64];

		snprintf(name, sizeof(name), "%.*s", (int)strcspn(unc_embedded_blocks[i].name, "."),
			 unc_embedded_blocks[i].name);
		if (unc_regs_load(&r, name, &e) < 0)
			fail_msg("%s", e.text);
		assert_string_equal(r->name, name);
		assert_true(r->count > 0);
		unc_regs_free(r);
	}
}

static void test_load(void **state)
{
	struct unc_error e = {0};
	struct unc_regs *r = NULL;

	(void)state;
	if (unc_regs_load(&r, "generic-pmon,at=/dev/shm/x", &e) < 0)
		fail_msg("%s", e.text);
	assert_string_equal(r->name, "generic-pmon");
	assert_string_equal(r->where, "/dev/shm/x");
	unc_regs_free(r);
	r = NULL;
	assert_int_equal(unc_regs_load(&r, "generic", &e), -ENOENT);
	assert_contains(e.text, "generic-pmon");
	assert_int_equal(unc_regs_load(&r, "./none.yaml", &e), -ENOENT);
	assert_int_equal(unc_regs_load(&r, "generic-pmon,at=", &e), -EINVAL);
	assert_null(r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_good),
		cmocka_unit_test(test_bounds),
		cmocka_unit_test(test_maps),
		cmocka_unit_test(test_speeds),
		cmocka_unit_test(test_clocks),
		cmocka_unit_test(test_mistakes),
		cmocka_unit_test(test_no_histogram),
		cmocka_unit_test(test_programmable),
		cmocka_unit_test(test_programmable_mistakes),
		cmocka_unit_test(test_msr),
		cmocka_unit_test(test_built_in),
		cmocka_unit_test(test_load),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}

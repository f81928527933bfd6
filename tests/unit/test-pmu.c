/* SPDX-License-Identifier: MIT */
/* PMUs found and loaded, and which of them a name means. */
#include "machine/pmu.h"

#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

#include "scan.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static int setup(void **state)
{
	struct tree *t = calloc(1, sizeof(*t));

	tree_require(t, "memory");
	tree_make(t);
	tree_put(t, "sys/devices/system/cpu/present", "0-5\n");
	tree_put(t, "sys/devices/system/cpu/online", "0-3,5\n");
	*state = t;
	return 0;
}

static int teardown(void **state)
{
	tree_remove(*state);
	free(*state);
	return 0;
}

/* The numbers are those of `find`, not of this library. */
static void machines_of_the_repository(void **state)
{
	static const struct {
		const char *name;
		size_t pmus, terms, aliases, caps;
	} cases[] = {
		{"amd-zen4-1socket", 16, 34, 1, 0},       {"intel-icx-1socket", 62, 305, 113, 0},
		{"intel-ivt-1socket", 20, 162, 14, 0},    {"intel-skx-1socket", 48, 327, 123, 0},
		{"intel-spr-1socket", 63, 304, 93, 0},    {"nvidia-grace-1socket", 5, 13, 102, 4},
		{"nvidia-t410-1socket", 17, 102, 104, 4},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		size_t terms = 0, aliases = 0, caps = 0;
		struct scan s;

		scan_machine(&s, cases[i].name);
		assert_int_equal(s.pmus.count, cases[i].pmus);
		for (size_t k = 0; k < s.pmus.count; k++) {
			const struct uncore_pmu *p = &s.pmus.items[k];

			assert_false(p->loaded);
			assert_true(uncore_pmu_cpu_count(p) > 0);
			terms += uncore_pmu_term_count(p);
			aliases += uncore_pmu_alias_count(p);
			caps += uncore_pmu_cap_count(p);
			for (size_t n = 0; n < p->term_count; n++)
				assert_true(uncore_pmu_term_at(p, n)->word >= 0);
		}
		assert_string_equal(s.error.text, "");
		assert_int_equal(terms, cases[i].terms);
		assert_int_equal(aliases, cases[i].aliases);
		assert_int_equal(caps, cases[i].caps);
		scan_close(&s);
	}
}

static void a_pmu_of_sapphire_rapids(void **state)
{
	const struct uncore_alias *alias;
	const struct uncore_pmu *p;
	struct scan s;

	(void)state;
	scan_machine(&s, "intel-spr-1socket");
	p = scan_pmu(&s, "uncore_imc_0");
	assert_int_equal(uncore_pmu_type(p), 60);
	assert_string_equal(uncore_pmu_name(p), "uncore_imc_0");
	assert_string_equal(uncore_pmu_alias(p), "uncore_type_6_0");
	assert_null(uncore_pmu_identifier(p));
	assert_false(uncore_pmu_is_core(p));
	assert_true(p->has_mask);
	assert_int_equal(uncore_pmu_cpu_count(p), 1);
	assert_int_equal(uncore_pmu_cpu_at(p, 0), 0);
	alias = unc_pmu_alias(p, "cas_count_read");
	assert_string_equal(alias->terms, "event=0x05,umask=0xcf");
	assert_string_equal(alias->unit, "MiB");
	assert_true(alias->scale == 6.103515625e-5);
	assert_false(alias->per_package);
	assert_false(alias->snapshot);
	alias = unc_pmu_alias(p, "clockticks");
	assert_null(alias->unit);
	assert_true(alias->scale == 1);
	assert_string_equal(unc_pmu_term(p, "umask")->format, "config:8-15,32-55");
	assert_int_equal(unc_pmu_term(p, "umask")->bits, 0xffffff0000ff00);
	assert_null(unc_pmu_term(p, "cas_count_read"));
	assert_null(unc_pmu_alias(p, "umask"));
	assert_true(unc_pmu_matches(p, "uncore_type_6_0"));
	assert_true(unc_pmu_matches(p, "uncore_type_6"));
	assert_true(unc_pmu_matches(p, "type_6"));
	assert_true(unc_pmu_matches(p, "imc"));
	assert_false(unc_pmu_matches(p, "uncore_type_5"));
	scan_close(&s);
}

static void pmus_of_tegra410(void **state)
{
	const struct uncore_pmu *p;
	struct scan s;
	char *text;

	(void)state;
	scan_machine(&s, "nvidia-t410-1socket");
	p = scan_pmu(&s, "nvidia_nvlink_c2c_pmu_0");
	assert_string_equal(uncore_pmu_identifier(p), "NVDA2023");
	assert_int_equal(unc_pmu_attribute(p, "peer", &text), 0);
	assert_string_equal(text, "nr_gpu=2");
	free(text);
	text = NULL;
	assert_int_equal(unc_pmu_attribute(p, "none", &text), -ENOENT);
	assert_null(text);
	p = scan_pmu(&s, "armv8_pmuv3_0");
	assert_true(uncore_pmu_is_core(p));
	assert_true(p->has_mask);
	assert_int_equal(uncore_pmu_cpu_count(p), 4);
	assert_int_equal(uncore_pmu_cap_count(p), 4);
	assert_string_equal(uncore_pmu_cap_at(p, 2)->name, "slots");
	assert_string_equal(uncore_pmu_cap_at(p, 2)->value, "0x00000000");
	scan_close(&s);
}

static size_t count_matches(const struct scan *s, const char *pattern)
{
	size_t count = 0;

	for (size_t i = 0; i < s->pmus.count; i++)
		count += unc_pmu_matches(&s->pmus.items[i], pattern);
	return count;
}

static void names_mean_pmus(void **state)
{
	static const struct {
		const char *machine, *pattern;
		size_t count;
	} cases[] = {
		{"nvidia-t410-1socket", "nvidia_pcie_pmu_0_rc", 6},
		{"nvidia-t410-1socket", "nvidia_pcie_pmu_0_rc_3", 1},
		{"nvidia-t410-1socket", "nvidia_pcie_pmu_0", 0},
		{"nvidia-t410-1socket", "nvidia_pcie_pmu", 0},
		{"nvidia-t410-1socket", "nvidia_pcie_*pmu_0_rc_[0-2]", 6},
		{"nvidia-t410-1socket", "nvidia_ucf_pmu", 1},
		{"nvidia-grace-1socket", "nvidia_pcie_pmu_0", 1},
		{"nvidia-grace-1socket", "nvidia_pcie_pmu", 1},
		{"nvidia-grace-1socket", "nvidia_pcie_pmu_0_rc", 0},
		{"nvidia-grace-1socket", "nvidia_nvlink_c2c?_pmu_0", 2},
		{"intel-icx-1socket", "uncore_imc", 12},
		{"intel-icx-1socket", "imc", 12},
		{"intel-icx-1socket", "uncore_imc_free_running", 4},
		{"intel-icx-1socket", "imc_free_running", 4},
		{"intel-icx-1socket", "uncore_imc*", 16},
		{"intel-icx-1socket", "imc_1", 1},
		{"intel-icx-1socket", "uncore_im", 0},
		{"intel-icx-1socket", "uncore_", 0},
		{"intel-icx-1socket", "uncore_pcu", 1},
		{"intel-icx-1socket", "pcu", 1},
		{"intel-icx-1socket", "*", 62},
		{"intel-icx-1socket", "", 0},
		{"amd-zen4-1socket", "amd_umc", 12},
		{"amd-zen4-1socket", "amd", 0},
		{"amd-zen4-1socket", "amd_df", 1},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct scan s;
		size_t count;

		scan_machine(&s, cases[i].machine);
		count = count_matches(&s, cases[i].pattern);
		if (count != cases[i].count)
			fail_msg("%s on %s: %zu", cases[i].pattern, cases[i].machine, count);
		scan_close(&s);
	}
}

static void the_rule_of_names(void **state)
{
	static const struct {
		const char *name, *pattern;
		bool matches;
	} cases[] = {
		{"uncore_imc_0", "uncore_imc_0", true},
		{"uncore_imc_12", "uncore_imc", true},
		{"uncore_imc_12", "uncore_imc_1", false},
		{"uncore_imc_free_running_0", "uncore_imc", false},
		{"arm_dmc620_10008c000", "arm_dmc620", true},
		{"mrvl_ddr_pmu_87e1b0000000", "mrvl_ddr_pmu", true},
		{"smmuv3_pmcg_ffFF12", "smmuv3_pmcg", true},
		{"cpum_cf", "cpum", false}, /* two digits are no address */
		{"x_abc", "x", true},
		{"x_12", "x", true},
		{"x12", "x", false},
		{"x_", "x", false},
		{"_12", "", false},
		{"imc_0", "uncore_imc_0", false},
		{"uncore_uncore_a", "uncore_a", true},
		{"cxl_pmu_mem0.0", "cxl_pmu_mem0", false},
		{"cxl_pmu_mem0.0", "cxl_pmu_mem*", true},
		{"abc", "a*c", true},
		{"abc", "*b*", true},
		{"abc", "a?", false},
		{"abc", "a[b]c", true},
		{"abc", "a[!b]c", false},
		{"abc", "a[^x]c", true},
		{"a]c", "a[]]c", true},
		{"a-c", "a[x-]c", true},
		{"abc", "a[a-c]c", true},
		{"a[c", "a[c", true},
		{"a[cd", "a[c*", true},
		{"a*c", "a\\*c*", true},
		{"abc", "a\\*c*", false},
		{"abcbd", "a*bd", true},
		{"abcbd", "a*b", false},
		{"abc", "***", true},
		{"abc", "abc*", true},
		{"abc", "abc?", false},
		{"uncore_imc_3", "im*", true},
		{"x_1", "[!", false},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++)
		if (unc_pmu_name_matches(cases[i].name, cases[i].pattern) != cases[i].matches)
			fail_msg("'%s' and '%s'", cases[i].name, cases[i].pattern);
}

/* What takes fnmatch() for ever. */
static void a_glob_of_many_stars_is_quick(void **state)
{
	char name[256], pattern[256];

	(void)state;
	memset(name, 'a', 255);
	name[255] = '\0';
	for (size_t i = 0; i < 254; i += 2)
		memcpy(pattern + i, "a*", 2);
	memcpy(pattern + 254, "b", 2);
	assert_false(unc_pmu_name_matches(name, pattern));
}

static void masks_and_kinds(void **state)
{
	static const struct {
		const char *name, *type, *file, *mask;
		bool is_core, has_mask;
		size_t cpus;
	} cases[] = {
		{"uncore_a_2", "20\n", "cpumask", "0,5\n", false, true, 2},
		{"uncore_a_10", "21", "cpumask", "\n", false, true, 0},
		{"armv9", "22\n", "cpus", "0-3\n", true, true, 4},
		{"msr", "23\n", NULL, NULL, false, false, 5}, /* online: 0-3,5 */
		{"software", "1\n", NULL, NULL, true, false, 5},
		{"tracepoint", "2\n", NULL, NULL, true, false, 5},
		{"cpu", "4\n", NULL, NULL, true, false, 5},
		{"breakpoint", "5\n", NULL, NULL, true, false, 5},
		{"kprobe", "6\n", NULL, NULL, true, false, 5},
		{"uprobe", "7\n", NULL, NULL, true, false, 5},
		{"highest", "4294967295\n", "cpumask", "3\n", false, true, 1},
	};
	const struct tree *t = *state;
	struct scan s;

	for (size_t i = 0; i < COUNT(cases); i++) {
		tree_pmu(t, cases[i].name, "type", cases[i].type);
		if (cases[i].file)
			tree_pmu(t, cases[i].name, cases[i].file, cases[i].mask);
	}
	scan_open(&s, t->dir);
	assert_int_equal(s.pmus.count, COUNT(cases));
	for (size_t i = 0; i < COUNT(cases); i++) {
		const struct uncore_pmu *p = scan_pmu(&s, cases[i].name);

		assert_int_equal(p->is_core, cases[i].is_core);
		assert_int_equal(p->has_mask, cases[i].has_mask);
		assert_int_equal(p->cpus.count, cases[i].cpus);
		assert_int_equal(uncore_pmu_term_count(p), 0);
		assert_int_equal(uncore_pmu_alias_count(p), 0);
		assert_int_equal(uncore_pmu_cap_count(p), 0);
	}
	assert_int_equal(scan_pmu(&s, "msr")->cpus.ids[4], 5);
	assert_int_equal(scan_pmu(&s, "highest")->type, UINT32_MAX);
	assert_string_equal(s.pmus.items[8].name, "uncore_a_2");
	assert_string_equal(s.pmus.items[9].name, "uncore_a_10");
	scan_close(&s);
}

static void no_pmu_is_no_error(void **state)
{
	const struct tree *t = *state;
	struct scan s;

	scan_open(&s, t->dir);
	assert_int_equal(s.pmus.count, 0);
	scan_close(&s);
}

static void broken_pmus_say_so(void **state)
{
	static const struct {
		const char *file, *text, *says;
	} cases[] = {
		{"type", "", "devices/uncore_x_0/type: '' is not a valid number"},
		{"type", "abc\n", "devices/uncore_x_0/type: 'abc' is not a valid number"},
		{"type", "-1\n", "devices/uncore_x_0/type: '-1' is not a valid number"},
		{"type", "4294967296\n",
		 "devices/uncore_x_0/type: '4294967296' is not a valid number"},
		{"cpumask", "ff\n", "devices/uncore_x_0/cpumask: 'ff' is not a valid list of CPUs"},
		{"cpus", "0-\n", "devices/uncore_x_0/cpus: '0-' is not a valid list of CPUs"},
		{NULL, NULL, "devices/uncore_x_0/type cannot be read"},
	};
	struct tree *t = *state;

	for (size_t i = 0; i < COUNT(cases); i++) {
		struct scan s;

		tree_remove(t);
		tree_make(t);
		tree_put(t, "sys/devices/system/cpu/present", "0\n");
		tree_pmu(t, "uncore_a_0", "type", "10\n");
		if (cases[i].file) {
			tree_pmu(t, "uncore_x_0", "type", "10\n");
			tree_pmu(t, "uncore_x_0", cases[i].file, cases[i].text);
		} else {
			tree_pmu(t, "uncore_x_0", "cpumask", "0\n");
		}
		/* The other one is as good as ever. */
		assert_int_equal(scan_try(&s, t->dir), 0);
		assert_int_equal(s.pmus.count, 2);
		assert_null(uncore_pmu_broken(&s.pmus.items[0]));
		if (!strstr(uncore_pmu_broken(&s.pmus.items[1]), cases[i].says))
			fail_msg("%s", uncore_pmu_broken(&s.pmus.items[1]));
		assert_int_equal(s.pmus.items[1].cpus.count, 0);
		assert_int_equal(unc_pmu_load(&s.pmus.items[1]), -EBADMSG);
		scan_close(&s);
	}
}

static void two_hundred_pmus(void **state)
{
	const struct tree *t = *state;
	struct scan s;
	char name[64];

	for (int i = 0; i < 200; i++) {
		snprintf(name, sizeof(name), "uncore_cha_%d", i);
		tree_pmu(t, name, "type", "33\n");
		tree_pmu(t, name, "cpumask", "0\n");
	}
	scan_open(&s, t->dir);
	assert_int_equal(s.pmus.count, 200);
	for (int i = 0; i < 200; i++) {
		snprintf(name, sizeof(name), "uncore_cha_%d", i);
		assert_string_equal(s.pmus.items[i].name, name);
	}
	assert_int_equal(count_matches(&s, "uncore_cha"), 200);
	scan_close(&s);
}

static void terms_of_all_kinds(void **state)
{
	static const struct {
		const char *name, *format;
		int word;
		uint64_t bits;
	} cases[] = {
		{"event", "config:0-7,32-37\n", 0, 0x3f000000ff},
		{"whole", "config2\n", 2, UINT64_MAX},
		{"inv", "config:23\n", 0, 0x800000},
		{"thresh", "config:23-32\n", 0, 0x1ff800000}, /* overlaps inv */
		{"third", "config3:0-3\n", 3, 0xf},
		{"odd", "attr:5-7\n", -1, 0},
	};
	const struct tree *t = *state;
	const struct uncore_pmu *p;
	struct scan s;

	tree_pmu(t, "x", "type", "10\n");
	for (size_t i = 0; i < COUNT(cases); i++) {
		char file[40];

		snprintf(file, sizeof(file), "format/%s", cases[i].name);
		tree_pmu(t, "x", file, cases[i].format);
	}
	scan_open(&s, t->dir);
	p = scan_pmu(&s, "x");
	assert_int_equal(uncore_pmu_term_count(p), COUNT(cases));
	for (size_t i = 0; i < COUNT(cases); i++) {
		assert_int_equal(unc_pmu_term(p, cases[i].name)->word, cases[i].word);
		assert_int_equal(unc_pmu_term(p, cases[i].name)->bits, cases[i].bits);
	}
	assert_ptr_equal(unc_pmu_term(p, "Thresh"), unc_pmu_term(p, "thresh"));
	assert_null(unc_pmu_term(p, "thres"));
	assert_string_equal(uncore_pmu_term_at(p, 0)->name, "event");
	assert_string_equal(uncore_pmu_term_at(p, 5)->name, "whole");
	scan_close(&s);
}

static void aliases_of_all_kinds(void **state)
{
	static const struct {
		const char *file, *text;
	} files[] = {
		{"read", "event=0x4"}, /* without a newline */
		{"read.scale", "\"6.1e-5\"\n"},
		{"read.unit", "\"MiB\"\n"},
		{"raw", "config=0x1f\n"},
		{"lane", "event=1,lane=?\n"},
		{"lane.snapshot", "1\n"},
		{"lane.per-pkg", "1"},
		{"read.all", "event=0x5\n"}, /* an event, not a file beside "read" */
		{"read.all.scale", "2.5\n"},
		{"alone.unit", "event=7\n"}, /* nothing to stand beside: an event too */
		{"long", "event=8\n"},
		{"long.unit", "0123456789012345678901234567890123456789\n"},
		{"plain.scale.x", "event=9\n"},
		{"empty", "event=10\n"},
		{"empty.unit", "\n"},
	};
	static const struct uncore_alias want[] = {
		{"alone.unit", "event=7", NULL, 1, false, false, NULL, NULL, NULL},
		{"empty", "event=10", NULL, 1, false, false, NULL, NULL, NULL},
		{"lane", "event=1,lane=?", NULL, 1, true, true, NULL, NULL, NULL},
		{"long", "event=8", "0123456789012345678901234567890", 1, false, false, NULL, NULL,
		 NULL},
		{"plain.scale.x", "event=9", NULL, 1, false, false, NULL, NULL, NULL},
		{"raw", "config=0x1f", NULL, 1, false, false, NULL, NULL, NULL},
		{"read", "event=0x4", "MiB", 6.1e-5, false, false, NULL, NULL, NULL},
		{"read.all", "event=0x5", NULL, 2.5, false, false, NULL, NULL, NULL},
	};
	const struct tree *t = *state;
	const struct uncore_pmu *p;
	struct scan s;

	tree_pmu(t, "x", "type", "10\n");
	for (size_t i = 0; i < COUNT(files); i++) {
		char file[40];

		snprintf(file, sizeof(file), "events/%s", files[i].file);
		tree_pmu(t, "x", file, files[i].text);
	}
	scan_open(&s, t->dir);
	p = scan_pmu(&s, "x");
	assert_int_equal(uncore_pmu_alias_count(p), COUNT(want));
	for (size_t i = 0; i < COUNT(want); i++) {
		const struct uncore_alias *a = uncore_pmu_alias_at(p, i);

		assert_string_equal(a->name, want[i].name);
		assert_string_equal(a->terms, want[i].terms);
		assert_string_equal(a->unit ? a->unit : "-", want[i].unit ? want[i].unit : "-");
		assert_true(a->scale == want[i].scale);
		assert_int_equal(a->per_package, want[i].per_package);
		assert_int_equal(a->snapshot, want[i].snapshot);
	}
	assert_ptr_equal(unc_pmu_alias(p, "READ"), unc_pmu_alias(p, "read"));
	scan_close(&s);
}

static void broken_members_say_so(void **state)
{
	const struct tree *t = *state;
	const struct uncore_pmu *p;
	struct scan s;

	tree_pmu(t, "x", "type", "10\n");
	tree_pmu(t, "x", "format/event", "config:0-7\n");
	tree_put_bytes(t, TREE_PMU "x/events/read", "a\0b", 3);
	scan_open(&s, t->dir);
	p = scan_pmu(&s, "x");
	assert_int_equal(unc_pmu_load(p), -EBADMSG);
	assert_non_null(strstr(s.error.text, "devices/x/events/read cannot be read"));
	assert_int_equal(uncore_pmu_alias_count(p), 0);
	assert_int_equal(uncore_pmu_term_count(p), 0);
	assert_null(unc_pmu_alias(p, "read"));
	/* Nothing of the failure is kept. */
	tree_pmu(t, "x", "events/read", "event=1");
	assert_int_equal(unc_pmu_load(p), 0);
	assert_int_equal(uncore_pmu_alias_count(p), 1);
	assert_int_equal(uncore_pmu_term_count(p), 1);
	scan_close(&s);
}

/* What describes one event, or the PMU, spoils nothing else. NUL bytes: no text, so unreadable. */
static void broken_side_files_spoil_their_event_only(void **state)
{
	static const char *const spoiled[] = {"huge", "much", "nameless", "unreadable"};
	const struct tree *t = *state;
	const struct uncore_pmu *p;
	struct scan s;

	tree_pmu(t, "x", "type", "10\n");
	tree_pmu(t, "x", "format/event", "config:0-7\n");
	tree_pmu(t, "x", "events/good", "event=1");
	tree_pmu(t, "x", "events/good.scale", "2");
	tree_put_bytes(t, TREE_PMU "x/events/good.per-pkg", "\0", 1);
	tree_put_bytes(t, TREE_PMU "x/events/good.snapshot", "\0", 1);
	for (size_t i = 0; i < COUNT(spoiled); i++) {
		char file[64];

		snprintf(file, sizeof(file), "events/%s", spoiled[i]);
		tree_pmu(t, "x", file, "event=2");
	}
	tree_pmu(t, "x", "events/huge.scale", "1e999");
	tree_pmu(t, "x", "events/much.scale", "much");
	tree_pmu(t, "x", "events/nameless.scale", "2");
	tree_put_bytes(t, TREE_PMU "x/events/nameless.unit", "\0", 1);
	tree_put_bytes(t, TREE_PMU "x/events/unreadable.scale", "\0", 1);
	tree_put_bytes(t, TREE_PMU "x/caps/bad", "\0", 1);
	tree_pmu(t, "x", "caps/good", "1\n");
	scan_open(&s, t->dir);
	p = scan_pmu(&s, "x");
	assert_int_equal(unc_pmu_load(p), 0);
	assert_int_equal(uncore_pmu_alias_count(p), 1 + COUNT(spoiled));
	assert_true(unc_pmu_alias(p, "good")->scale == 2);
	assert_true(unc_pmu_alias(p, "good")->per_package);
	assert_true(unc_pmu_alias(p, "good")->snapshot);
	for (size_t i = 0; i < COUNT(spoiled); i++)
		assert_true(isnan(unc_pmu_alias(p, spoiled[i])->scale));
	assert_int_equal(uncore_pmu_cap_count(p), 1);
	assert_string_equal(uncore_pmu_cap_at(p, 0)->name, "good");
	assert_string_equal(s.error.text, "");
	scan_close(&s);
}

static void loading_happens_once(void **state)
{
	const struct tree *t = *state;
	const struct uncore_pmu *p;
	struct scan s;

	tree_pmu(t, "x", "type", "10\n");
	tree_pmu(t, "x", "format/event", "config:0-7\n");
	scan_open(&s, t->dir);
	p = scan_pmu(&s, "x");
	tree_pmu(t, "x", "format/umask", "config:8-15\n");
	assert_int_equal(uncore_pmu_term_count(p), 2);
	tree_pmu(t, "x", "format/late", "config:16\n");
	assert_int_equal(uncore_pmu_term_count(p), 2);
	scan_close(&s);
}

#define ON_A_TREE(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(machines_of_the_repository),
		cmocka_unit_test(a_pmu_of_sapphire_rapids),
		cmocka_unit_test(pmus_of_tegra410),
		cmocka_unit_test(names_mean_pmus),
		cmocka_unit_test(the_rule_of_names),
		cmocka_unit_test(a_glob_of_many_stars_is_quick),
		ON_A_TREE(masks_and_kinds),
		ON_A_TREE(no_pmu_is_no_error),
		ON_A_TREE(broken_pmus_say_so),
		ON_A_TREE(two_hundred_pmus),
		ON_A_TREE(terms_of_all_kinds),
		ON_A_TREE(aliases_of_all_kinds),
		ON_A_TREE(broken_members_say_so),
		ON_A_TREE(broken_side_files_spoil_their_event_only),
		ON_A_TREE(loading_happens_once),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}

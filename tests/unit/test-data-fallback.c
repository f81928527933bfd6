/* SPDX-License-Identifier: MIT */
/*
 * NVIDIA's PMUs on kernels that do not know the part: nvidia_uncore_pmu_N, with the terms event, filter
 * and filter2 and no alias but `cycles` (nvidia_cspmu.c, generic_pmu_format_attrs), told apart by
 * PMIIDR, the file `identifier`. The machines are made from the real ones. What the filters must be
 * was written from the driver: the default that it sets for each part.
 */
#include <ctype.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "data.h"

#define CYCLES UINT64_C(0x100000000)

/* Parts of the driver's table: what it sets when nothing is asked for. */
static const struct part {
	const char *identifier, *family;
	uint64_t filter, filter2;
} parts[] = {
	{"2cf20", "nvidia-t410-ucf", 0xf07, 0},     /* NV_UCF_FILTER_DEFAULT */
	{"10301", "nvidia-t410-pcie", 0xff, 0x1f},  /* NV_PCIE_V2_FILTER{,2}_DEFAULT */
	{"10700", "nvidia-t410-pcie-tgt", 0, 0xff}, /* NV_PCIE_TGT_FILTER2_DEFAULT */
	{"2cf00", "nvidia-grace-scf", 0, 0},        /* it has none */
	{"10300", "nvidia-grace-pcie", 0x3ff, 0},   /* NV_PCIE_FILTER_ID_MASK */
	{"10500", "nvidia-grace-c2c", 0x3, 0},      /* NV_NVL_C2C_FILTER_ID_MASK */
	{"10400", "nvidia-grace-c2c", 0x3, 0},      /* the same */
	{"10600", "nvidia-grace-cnvlink", 0xf, 0},  /* NV_CNVL_FILTER_ID_MASK */
	/* The driver in NVIDIA's Jetson kernel: */
	{"2cf10", "nvidia-thor-ucf", 0x1f, 0},       /* NV_UCF_FILTER_ID_MASK */
	{"10800", "nvidia-thor-io", 0x1ffff, 0},     /* NV_UPHY_FILTER_ID_MASK */
	{"10e00", "nvidia-thor-vision", 0xfffff, 0}, /* NV_VISION_FILTER_ID_MASK */
	{"10d00", "nvidia-thor-display", 0x1, 0},    /* NV_DISPLAY_FILTER_ID_MASK */
	{"10a00", "nvidia-thor-gpu", 0x1, 0},        /* NV_UCF_GPU_FILTER_ID_MASK */
};

static const struct part *part_of(const char *identifier)
{
	for (size_t i = 0; i < COUNT(parts); i++)
		if (strncmp(parts[i].identifier, identifier, 5) == 0)
			return &parts[i];
	return NULL;
}

/* A PMU as the fallback of the driver registers it; kernels before 6.19 have no filter2. */
static void put_fallback(const struct tree *t, size_t number, const char *identifier, bool filter2)
{
	char name[64], type[16];

	snprintf(name, sizeof(name), "nvidia_uncore_pmu_%zu", number);
	snprintf(type, sizeof(type), "%zu\n", 40 + number);
	tree_pmu(t, name, "type", type);
	tree_pmu(t, name, "cpumask", "0\n");
	tree_pmu(t, name, "identifier", identifier);
	tree_pmu(t, name, "format/event", "config:0-32\n");
	tree_pmu(t, name, "format/filter", "config1:0-31\n");
	if (filter2)
		tree_pmu(t, name, "format/filter2", "config2:0-31\n");
	tree_pmu(t, name, "events/cycles", "event=0x100000000\n");
}

/* Every PMU of a real tree that has a PMIIDR, under its fallback name. */
static size_t make_fallback(struct tree *t, const char *machine, bool filter2)
{
	struct unc_names names;
	struct unc_root *root;
	char path[600];
	size_t count = 0;

	tree_make(t);
	machine_cpus(t, (const int[]){0}, 1);
	assert_int_equal(unc_root_open(&root, tree_machine(machine, path, sizeof(path)), NULL), 0);
	assert_int_equal(unc_root_list(root, TREE_PMU, &names), 0);
	for (size_t i = 0; i < names.count; i++) {
		char *identifier;

		if (strncmp(names.items[i], "nvidia_", 7) != 0)
			continue;
		snprintf(path, sizeof(path), TREE_PMU "%s/identifier", names.items[i]);
		assert_int_equal(unc_root_read_line(root, path, &identifier), 0);
		if (isdigit((unsigned char)identifier[0]))
			put_fallback(t, count++, identifier, filter2);
		free(identifier);
	}
	unc_names_finish(&names);
	unc_root_free(root);
	return count;
}

/* How the event is encoded on the first PMU that has it; false: none has. */
static bool encoded(const struct unc_family *f, const struct unc_event_def *event,
		    struct unc_encoding *out)
{
	for (size_t i = 0; i < f->pmu_count; i++)
		if (unc_event_encode(event, f->pmus[i], out, NULL) == 0)
			return true;
	return false;
}

/* The same event code as by its name, and beside it what the driver would have set. */
static void assert_event(const struct part *part, const struct unc_family *known,
			 const struct unc_family *fallback, size_t i)
{
	const struct unc_event_def *event = &known->events[i];
	struct unc_encoding named, raw;
	bool clock = strcmp(event->name, "cycles") == 0;

	assert_true(encoded(known, event, &named));
	if (!event->alias) { /* with filters that the fallback has no names for */
		assert_false(encoded(fallback, &fallback->events[i], &raw));
		return;
	}
	if (!encoded(fallback, &fallback->events[i], &raw))
		fail_msg("%s: %s", known->name, event->name);
	/* The cycle counter has a number of its own in each driver. */
	if (raw.config.word[0] != (clock ? CYCLES : named.config.word[0]))
		fail_msg("%s: %s: 0x%llx", known->name, event->name,
			 (unsigned long long)raw.config.word[0]);
	assert_int_equal(raw.config.word[1], clock ? 0 : part->filter);
	assert_int_equal(raw.config.word[2], clock ? 0 : part->filter2);
}

static const struct unc_family *family_of(const struct uncore *u, const char *name)
{
	assert_true(uncore_metric_count(u) > 0); /* parses all families */
	for (size_t i = 0; i < u->catalogue.family_count; i++)
		if (strcmp(u->catalogue.families[i]->name, name) == 0)
			return u->catalogue.families[i];
	fail_msg("no family %s", name);
	return NULL;
}

/* Every event and metric of the part, but for those with filters, is there as under its name. */
static void parts_are_known_by_their_identifier(void **state)
{
	static const char *const machines[] = {"nvidia-t410-1socket", "nvidia-grace-1socket",
					       "nvidia-thor"};

	(void)state;
	for (size_t m = 0; m < COUNT(machines); m++) {
		struct uncore *known = scan_fixture(machines[m]), *u;
		struct tree t;
		size_t count = make_fallback(&t, machines[m], true), found = 0;

		u = scan(t.dir);
		for (size_t i = 0; i < COUNT(parts); i++) {
			const struct unc_family *k = family_of(known, parts[i].family);
			const struct unc_family *f = family_of(u, parts[i].family);

			assert_int_equal(f->pmu_count, k->pmu_count);
			if (i == 0 || f != family_of(u, parts[i - 1].family))
				found += f->pmu_count;
			for (size_t e = 0; f->pmu_count && e < k->event_count; e++)
				assert_event(&parts[i], k, f, e);
		}
		assert_int_equal(found, count);
		uncore_free(u);
		uncore_free(known);
		tree_remove(&t);
	}
}

/* What is known by its identifier is here; what it lacks there is no fault of the machine. */
static void nothing_is_missing(void **state)
{
	size_t found = 0;
	struct uncore *u;
	struct tree t;

	(void)state;
	make_fallback(&t, "nvidia-t410-1socket", true);
	u = scan(t.dir);
	assert_int_equal(uncore_diagnose(u), 0);
	for (size_t i = 0; i < uncore_finding_count(u); i++) {
		const struct uncore_finding *f = uncore_finding_at(u, i);

		if (strncmp(f->subject, "nvidia-", 7) == 0) {
			assert_int_equal(f->verdict, UNCORE_VERDICT_OK);
			found++;
		}
	}
	assert_int_equal(found, 3);
	uncore_free(u);
	tree_remove(&t);
}

/* Of Grace's links between sockets there is no tree. */
static void a_part_without_a_tree(void **state)
{
	struct unc_encoding raw;
	const struct unc_family *f;
	struct uncore *u;
	struct tree t;

	(void)state;
	tree_make(&t);
	machine_cpus(&t, (const int[]){0}, 1);
	put_fallback(&t, 0, "1060036b\n", true);
	put_fallback(&t, 1, "1090036b\n", true); /* no part that is known */
	put_fallback(&t, 2, "2cf2136b\n", true); /* a revision that is not */
	u = scan(t.dir);
	f = family_of(u, "nvidia-grace-cnvlink");
	assert_int_equal(f->pmu_count, 1);
	for (size_t i = 0; i < f->event_count; i++) {
		assert_true(encoded(f, &f->events[i], &raw));
		if (strcmp(f->events[i].name, "cycles") != 0)
			assert_int_equal(raw.config.word[1], part_of("10600")->filter);
	}
	assert_null(uncore_pmu_family(uncore_pmu_at(u, 1)));
	assert_null(uncore_pmu_family(uncore_pmu_at(u, 2)));
	uncore_free(u);
	tree_remove(&t);
}

/* Without the second filter nobody knows what the first alone lets through: no value, and why. */
static void a_kernel_without_the_second_filter(void **state)
{
	static const char *const lacking[][2] = {
		{"nvidia-t410-pcie", "pcie.inbound.read.bandwidth"},
		{"nvidia-t410-pcie-tgt", "pcie.outbound.write.requests"},
	};
	struct uncore *u;
	struct tree t;

	(void)state;
	make_fallback(&t, "nvidia-t410-1socket", false);
	u = scan(t.dir);
	for (size_t i = 0; i < COUNT(lacking); i++)
		assert_contains(uncore_metric_missing(find(u, lacking[i][0], lacking[i][1])),
				"filter2");
	assert_null(uncore_metric_missing(find(u, "nvidia-t410-ucf", "memory.read.bandwidth")));
	uncore_free(u);
	tree_remove(&t);
}

/* Kernels that look at the product only take Tegra410's for Grace's, which has other events. */
static void tegra410_under_graces_names(void **state)
{
	static const struct {
		const char *pmu, *identifier, *family, *metric;
	} cases[] = {
		{"nvidia_scf_pmu_0", "2cf2036b\n", "nvidia-t410-ucf", "memory.read.bandwidth"},
		{"nvidia_pcie_pmu_0", "1030136b\n", "nvidia-t410-pcie",
		 "pcie.inbound.read.bandwidth"},
	};
	struct uncore *u;
	struct tree t;

	(void)state;
	tree_make(&t);
	machine_cpus(&t, (const int[]){0}, 1);
	for (size_t i = 0; i < COUNT(cases); i++) {
		tree_pmu(&t, cases[i].pmu, "type", i ? "31\n" : "30\n");
		tree_pmu(&t, cases[i].pmu, "cpumask", "0\n");
		tree_pmu(&t, cases[i].pmu, "identifier", cases[i].identifier);
		tree_pmu(&t, cases[i].pmu, "format/event", "config:0-32\n");
		tree_pmu(&t, cases[i].pmu, "events/cmem_rd_data", "event=0x1a5\n");
		tree_pmu(&t, cases[i].pmu, "events/rd_bytes_loc", "event=0x0\n");
		tree_pmu(&t, cases[i].pmu, "events/cycles", "event=0x100000000\n");
	}
	tree_pmu(&t, "nvidia_pcie_pmu_0", "format/root_port", "config1:0-9\n");
	u = scan(t.dir);
	assert_int_equal(family_of(u, "nvidia-grace-scf")->pmu_count, 0);
	assert_int_equal(family_of(u, "nvidia-grace-pcie")->pmu_count, 0);
	for (size_t i = 0; i < COUNT(cases); i++)
		assert_contains(uncore_metric_missing(find(u, cases[i].family, cases[i].metric)),
				"filter");
	uncore_free(u);
	tree_remove(&t);
}

static bool names_cycles(const struct uncore_metric *m)
{
	for (size_t i = 0; i < uncore_metric_event_count(m); i++)
		if (strcmp(uncore_metric_event_at(m, i)->name, "cycles") == 0)
			return true;
	return false;
}

/* A PMU without a cycle counter (PMCFGR.CC) shows no alias, and would count event 0 for event 0x100000000. */
static void a_part_without_a_cycle_counter(void **state)
{
	size_t lacking = 0, there = 0;
	struct uncore *u;
	struct tree t;

	(void)state;
	tree_make(&t);
	machine_cpus(&t, (const int[]){0}, 1);
	for (size_t i = 0; i < COUNT(parts); i++)
		put_fallback(&t, i, parts[i].identifier, true);
	for (size_t i = 0; i < COUNT(parts); i++) {
		char path[600];

		snprintf(path, sizeof(path), "%s/" TREE_PMU "nvidia_uncore_pmu_%zu/events/cycles",
			 t.dir, i);
		assert_int_equal(remove(path), 0);
	}
	u = scan(t.dir);
	for (size_t i = 0; i < uncore_metric_count(u); i++) {
		const struct uncore_metric *m = uncore_metric_at(u, i);
		const char *missing = uncore_metric_missing(m);

		if (strncmp(uncore_metric_family(m), "nvidia-", 7) != 0)
			continue;
		if (names_cycles(m)) {
			assert_non_null(missing);
			if (!strstr(missing, "pcie_rp_1")) /* filters by name come first */
				assert_contains(missing, "does not have the event 'cycles'");
			lacking++;
		}
		there += !missing;
	}
	assert_true(lacking > 20);
	assert_true(there > 50);
	uncore_free(u);
	tree_remove(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_part_without_a_cycle_counter),
		cmocka_unit_test(parts_are_known_by_their_identifier),
		cmocka_unit_test(nothing_is_missing),
		cmocka_unit_test(a_part_without_a_tree),
		cmocka_unit_test(a_kernel_without_the_second_filter),
		cmocka_unit_test(tegra410_under_graces_names),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}

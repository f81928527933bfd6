/* SPDX-License-Identifier: MIT */
/* The recorded Tegra410 with root ports of the test's own, for tests of filters and of rows by port.
 * Included after <cmocka.h>; the linker replaces what tests/meson.build lists for them. */
#ifndef FILTERED_H
#define FILTERED_H

#include <errno.h>

#include "helpers.h"
#include "object.h"

/* ---- devices: the linker sends the library's calls here (--wrap) ------------------------------- */

/* Root complex 4 has three root ports, a switch with two devices behind the second, and two devices
 * behind the last of them; of root complex 5
 * the one port has no number; those of 3 are not known, and the others have none.
 * One port is counted by no PMU. */
static struct unc_pci pci; /* they are real, not only numbers */

static struct unc_device devices[] = {
	{.pci = &pci,
	 .shown = {.rc = 4,
		   .index = 0,
		   .address = "0005:00:00.0",
		   .is_port = true,
		   .is_bridge = true,
		   .link_rate = 63e9}},
	{.pci = &pci,
	 .shown = {.rc = 4,
		   .index = 1,
		   .address = "0005:40:00.0",
		   .is_port = true,
		   .is_bridge = true,
		   .link_rate = NAN}},
	{.pci = &pci,
	 .shown = {.rc = 4,
		   .index = 2,
		   .address = "0005:c0:00.0",
		   .is_port = true,
		   .is_bridge = true,
		   .link_rate = 31.5e9}},
	{.pci = &pci,
	 .shown = {.rc = -1, .index = -1, .address = "0005:c1:01.1", .port = &devices[2].shown}},
	{.pci = &pci,
	 .shown = {.rc = -1, .index = -1, .address = "0005:c2:00.0", .port = &devices[2].shown}},
	{.pci = &pci,
	 .shown = {.rc = -1,
		   .index = -1,
		   .address = "0006:00:00.0",
		   .is_port = true,
		   .is_bridge = true,
		   .link_rate = NAN}},
	{.pci = &pci,
	 .shown = {.rc = -1, .index = -1, .address = "0006:01:00.0", .port = &devices[5].shown}},
	{.pci = &pci, .shown = {.rc = -1, .index = -1, .address = "0007:00:00.0"}},
	{.pci = &pci,
	 .shown = {.rc = -1,
		   .index = -1,
		   .address = "0005:41:00.0",
		   .is_bridge = true,
		   .parent = &devices[1].shown,
		   .port = &devices[1].shown}},
	{.pci = &pci,
	 .shown = {.rc = -1,
		   .index = -1,
		   .address = "0005:42:00.0",
		   .is_bridge = true,
		   .parent = &devices[8].shown,
		   .port = &devices[1].shown}},
	{.pci = &pci,
	 .shown = {.rc = -1,
		   .index = -1,
		   .address = "0005:42:01.0",
		   .is_bridge = true,
		   .parent = &devices[8].shown,
		   .port = &devices[1].shown}},
	{.pci = &pci,
	 .shown = {.rc = -1,
		   .index = -1,
		   .address = "0005:43:00.0",
		   .parent = &devices[9].shown,
		   .port = &devices[1].shown,
		   .names = "mlx5_0 eth0"}},
	{.pci = &pci,
	 .shown = {.rc = -1,
		   .index = -1,
		   .address = "0005:44:00.0",
		   .parent = &devices[10].shown,
		   .port = &devices[1].shown}},
	{.pci = &pci,
	 .shown = {.rc = -1,
		   .index = -1,
		   .address = "10000:00:02.0",
		   .is_port = true,
		   .is_bridge = true,
		   .socket = -1,
		   .link_rate = NAN,
		   .unknown = "a driver made its segment"}},
};

size_t __wrap_uncore_device_count(const struct uncore *u);
const struct uncore_device *__wrap_uncore_device_at(const struct uncore *u, size_t i);
int __wrap_uncore_device_find(struct uncore *u, const char *name, const struct uncore_device **out);
int __wrap_unc_machine_ports_of(struct uncore *u, const struct uncore_pmu *pmu, int cpu,
				const struct unc_port **ports, size_t *count,
				struct unc_error *why);

size_t __wrap_uncore_device_count(const struct uncore *u)
{
	(void)u;
	return COUNT(devices);
}

const struct uncore_device *__wrap_uncore_device_at(const struct uncore *u, size_t i)
{
	(void)u;
	return &devices[i].shown;
}

int __wrap_uncore_device_find(struct uncore *u, const char *name, const struct uncore_device **out)
{
	for (size_t i = 0; i < COUNT(devices); i++) {
		if (strcmp(devices[i].shown.address, name) != 0)
			continue;
		unc_pci_parse(name, &devices[i].address);
		if (devices[i].shown.is_port)
			devices[i].shown.port = &devices[i].shown;
		*out = &devices[i].shown;
		return 0;
	}
	return unc_fail(&u->error, ENOENT, "there is no PCI device '%s'", name);
}

int __wrap_unc_machine_ports_of(struct uncore *u, const struct uncore_pmu *pmu, int cpu,
				const struct unc_port **ports, size_t *count, struct unc_error *why)
{
	static const struct unc_port of_4[] = {
		{&devices[0].shown, 0}, {&devices[1].shown, 1}, {&devices[2].shown, 2}};
	static const struct unc_port of_5 = {&devices[5].shown, -1};
	const char *rc = strstr(pmu->name, "_rc_");

	(void)u;
	(void)cpu;
	if (rc && rc[4] == '3')
		return unc_fail(why, ENODEV, "the ports of %s are hidden", pmu->name);
	*ports = rc && rc[4] == '5' ? &of_5 : of_4;
	*count = rc && rc[4] == '4' ? 3 : rc && rc[4] == '5';
	return 0;
}

/* ---- a machine -------------------------------------------------------------------------------- */

struct stage {
	struct uncore *u;
	struct uncore_monitor *m;
	struct uncore_sample *s;
	struct tree tree;
};

#define ok(s, call) ok_at(s, call, __FILE__, __LINE__)

static inline void ok_at(const struct stage *s, int r, const char *file, int line)
{
	if (r == 0)
		return;
	print_error("%d: %s\n", r, uncore_error(s->u));
	_fail(file, line);
}

/* The recorded Tegra410, or a simulation on it with these rates. */
static inline void begin(struct stage *s, enum uncore_level level, const char *rates)
{
	char path[1100], text[4096];

	tree_make(&s->tree);
	assert_int_equal(uncore_new(&s->u), 0);
	if (rates) {
		snprintf(text, sizeof(text), "sim: test\nmachine: t410\nrates:\n%s", rates);
		tree_put(&s->tree, "sim.yaml", text);
		snprintf(path, sizeof(path), "sim:%s/sim.yaml,step=1s", s->tree.dir);
		ok(s, uncore_set_source(s->u, path));
	} else {
		ok(s,
		   uncore_set_root(s->u, tree_machine("nvidia-t410-1socket", path, sizeof(path))));
	}
	tree_source("tests/families", path, sizeof(path));
	ok(s, uncore_add_data(s->u, path));
	ok(s, uncore_scan(s->u));
	ok(s, uncore_monitor_new(&s->m, s->u));
	ok(s, uncore_monitor_set_level(s->m, level));
	ok(s, uncore_sample_new(&s->s));
}

static inline void end(struct stage *s)
{
	uncore_sample_free(s->s);
	uncore_monitor_free(s->m);
	uncore_free(s->u);
	tree_remove(&s->tree);
}

/* "KIND=VALUE", several separated by spaces. */
static inline int set_filters(struct stage *s, const char *filters)
{
	char copy[1024], *rest = copy, *kind;
	int r = 0;

	snprintf(copy, sizeof(copy), "%s", filters);
	while (r == 0 && (kind = strsep(&rest, " "))) {
		char *value = strchr(kind, '=');

		*value = '\0';
		r = uncore_monitor_set_filter(s->m, kind, value + 1);
	}
	return r;
}

struct counter {
	const char *pmu, *event;
	uint64_t config[3];
};

static inline void assert_plan(const struct stage *s, const struct counter *all, size_t count)
{
	ok(s, uncore_monitor_plan(s->m));
	for (size_t i = 0; i < uncore_monitor_counter_count(s->m); i++) {
		const struct uncore_counter *c;

		c = uncore_monitor_counter_at(s->m, i);
		if (i >= count)
			fail_msg("counter %zu too many: %s/%s/", i, uncore_pmu_name(c->pmu),
				 c->event);
		assert_string_equal(uncore_pmu_name(c->pmu), all[i].pmu);
		assert_string_equal(c->event, all[i].event);
		for (size_t k = 0; k < 3; k++)
			assert_int_equal(c->config[k], all[i].config[k]);
	}
	assert_int_equal(uncore_monitor_counter_count(s->m), count);
}

#define RC4 "nvidia_pcie_pmu_0_rc_4"
#define RC5 "nvidia_pcie_pmu_0_rc_5"
#define TGT4 "nvidia_pcie_tgt_pmu_0_rc_4"
#define TGT5 "nvidia_pcie_tgt_pmu_0_rc_5"
#define READS "pcie.inbound.read.bandwidth"
#define CYCLES UINT64_C(0x100000000)

#endif

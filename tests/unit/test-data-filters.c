/* SPDX-License-Identifier: MIT */
/*
 * Filters of NVIDIA's families: that each sets the bits which the driver gives that meaning
 * (nvidia_cspmu.c, nvidia_t410_c2c_pmu.c: format attributes), and that clocks are not filtered.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "data.h"

#define T410 "nvidia-t410-1socket"
#define GRACE "nvidia-grace-1socket"
#define THOR "nvidia-thor"

/* A filter, what stands for its words in braces (or its value), and the bits that must be set. */
static const struct filtered {
	const char *machine, *family;
	enum unc_filter_kind kind;
	const char *value, *mask;
	uint64_t words[3];
} filtered[] = {
	{T410, "nvidia-t410-ucf", UNC_FILTER_FROM, "device", NULL, {0, 1 << 0, 0}},
	{T410, "nvidia-t410-ucf", UNC_FILTER_FROM, "cpu", NULL, {0, 1 << 1, 0}},
	{T410, "nvidia-t410-ucf", UNC_FILTER_FROM, "remote", NULL, {0, 1 << 2, 0}},
	{T410, "nvidia-t410-ucf", UNC_FILTER_TO, "memory", NULL, {0, 1 << 8, 0}},
	{T410, "nvidia-t410-ucf", UNC_FILTER_TO, "gpu", NULL, {0, 1 << 9, 0}},
	{T410, "nvidia-t410-ucf", UNC_FILTER_TO, "cxl", NULL, {0, 1 << 10, 0}},
	{T410, "nvidia-t410-ucf", UNC_FILTER_TO, "remote", NULL, {0, 1 << 11, 0}},
	{T410, "nvidia-t410-pcie", UNC_FILTER_TO, "memory", NULL, {0, 0, 1 << 0}},
	{T410, "nvidia-t410-pcie", UNC_FILTER_TO, "gpu", NULL, {0, 0, 1 << 1}},
	{T410, "nvidia-t410-pcie", UNC_FILTER_TO, "device", NULL, {0, 0, 1 << 2}},
	{T410, "nvidia-t410-pcie", UNC_FILTER_TO, "cxl", NULL, {0, 0, 1 << 3}},
	{T410, "nvidia-t410-pcie", UNC_FILTER_TO, "remote", NULL, {0, 0, 1 << 4}},
	{T410, "nvidia-t410-pcie", UNC_FILTER_PORT, "0xa5", "0xa5", {0, 0xa5, 0}},
	/* 27:01.1, and bit 24. */
	{T410, "nvidia-t410-pcie", UNC_FILTER_DEVICE, "0x2709", NULL, {0, 0x12709 << 8, 0}},
	{T410, "nvidia-t410-pcie-tgt", UNC_FILTER_PORT, "0xa5", "0xa5", {0xa5 << 3, 0, 0}},
	{T410,
	 "nvidia-t410-pcie-tgt",
	 UNC_FILTER_ADDRESS,
	 "0x10000",
	 "0xffffffffffffff00",
	 {1 << 11, 0x10000, UINT64_C(0xffffffffffffff00)}},
	{T410, "nvidia-t410-nvlink-c2c", UNC_FILTER_GPU, "0x2", "0x2", {0, 0x2, 0}},
	{GRACE, "nvidia-grace-pcie", UNC_FILTER_PORT, "0x201", "0x201", {0, 0x201, 0}},
	{GRACE, "nvidia-grace-c2c", UNC_FILTER_LINK, "port0", NULL, {0, 1 << 0, 0}},
	{GRACE, "nvidia-grace-c2c", UNC_FILTER_LINK, "port1", NULL, {0, 1 << 1, 0}},
	/* The driver in NVIDIA's Jetson kernel sets sources and targets as soon as one is named. */
	{THOR, "nvidia-thor-ucf", UNC_FILTER_FROM, "cpu", NULL, {0, 1 << 1 | 3 << 3, 0}},
	{THOR, "nvidia-thor-ucf", UNC_FILTER_FROM, "device", NULL, {0, 1 << 0 | 3 << 3, 0}},
	{THOR, "nvidia-thor-ucf", UNC_FILTER_FROM, "remote", NULL, {0, 1 << 2 | 3 << 3, 0}},
	{THOR, "nvidia-thor-io", UNC_FILTER_FROM, "pcie1", NULL, {0, 1 << 0, 0}},
	{THOR, "nvidia-thor-io", UNC_FILTER_FROM, "pcie2", NULL, {0, 1 << 1, 0}},
	{THOR, "nvidia-thor-io", UNC_FILTER_FROM, "pcie3", NULL, {0, 1 << 2, 0}},
	{THOR, "nvidia-thor-io", UNC_FILTER_FROM, "pcie4", NULL, {0, 1 << 3, 0}},
	{THOR, "nvidia-thor-io", UNC_FILTER_FROM, "pcie5", NULL, {0, 1 << 4, 0}},
	{THOR, "nvidia-thor-io", UNC_FILTER_FROM, "xusb", NULL, {0, 0x3f << 5, 0}},
	{THOR, "nvidia-thor-io", UNC_FILTER_FROM, "mgbe0", NULL, {0, 1 << 11, 0}},
	{THOR, "nvidia-thor-io", UNC_FILTER_FROM, "mgbe1", NULL, {0, 1 << 12, 0}},
	{THOR, "nvidia-thor-io", UNC_FILTER_FROM, "mgbe2", NULL, {0, 1 << 13, 0}},
	{THOR, "nvidia-thor-io", UNC_FILTER_FROM, "mgbe3", NULL, {0, 1 << 14, 0}},
	{THOR, "nvidia-thor-io", UNC_FILTER_FROM, "eqos", NULL, {0, 1 << 15, 0}},
	{THOR, "nvidia-thor-io", UNC_FILTER_FROM, "ufs", NULL, {0, 1 << 16, 0}},
	{THOR, "nvidia-thor-vision", UNC_FILTER_FROM, "vi0", NULL, {0, 0x3 << 0, 0}},
	{THOR, "nvidia-thor-vision", UNC_FILTER_FROM, "vi1", NULL, {0, 0x3 << 2, 0}},
	{THOR, "nvidia-thor-vision", UNC_FILTER_FROM, "isp0", NULL, {0, 0xf << 4, 0}},
	{THOR, "nvidia-thor-vision", UNC_FILTER_FROM, "isp1", NULL, {0, 0xf << 8, 0}},
	{THOR, "nvidia-thor-vision", UNC_FILTER_FROM, "vic", NULL, {0, 0x3 << 12, 0}},
	{THOR, "nvidia-thor-vision", UNC_FILTER_FROM, "pva", NULL, {0, 0x3f << 14, 0}},
};

static const struct unc_family *family_of(const struct uncore *u, const char *name)
{
	for (int all = 0; all < 2; all++) {
		for (size_t i = 0; i < u->catalogue.family_count; i++)
			if (strcmp(u->catalogue.families[i]->name, name) == 0)
				return u->catalogue.families[i];
		assert_true(uncore_metric_count(u) > 0); /* parses those without PMUs, too */
	}
	fail_msg("no family %s", name);
	return NULL;
}

/* The filter's terms with {mask} from the mask and every other word from the value. */
static void terms_of(const struct filtered *x, const struct unc_filter *f, char *into, size_t room)
{
	size_t at = 0;

	for (size_t i = 0; i < f->value_count; i++)
		if (strcmp(f->values[i].name, x->value) == 0) {
			snprintf(into, room, "%s", f->values[i].text);
			return;
		}
	assert_non_null(f->terms);
	for (const char *c = f->terms; *c; c++) {
		assert_true(at + 32 < room);
		if (*c != '{') {
			into[at++] = *c;
			continue;
		}
		at += (size_t)snprintf(into + at, room - at, "%s",
				       strncmp(c, "{mask}", 6) == 0 ? x->mask : x->value);
		c = strchr(c, '}');
	}
	into[at] = '\0';
}

static void filters_set_the_drivers_bits(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(filtered); i++) {
		const struct filtered *x = &filtered[i];
		struct uncore *u = scan_fixture(x->machine);
		const struct unc_family *f = family_of(u, x->family);
		struct unc_encoding found;
		char terms[200];

		assert_non_null(f->filters[x->kind].title);
		terms_of(x, &f->filters[x->kind], terms, sizeof(terms));
		assert_int_equal(unc_pmu_encode(f->pmus[0], terms, &found, NULL), 0);
		for (size_t w = 0; w < COUNT(x->words); w++)
			if (found.config.word[w] != x->words[w])
				fail_msg("%s %s: word %zu is 0x%llx", x->family, terms, w,
					 (unsigned long long)found.config.word[w]);
		uncore_free(u);
	}
}

/* Every value of every filter is in the table above; a link without a tree is looked at as text. */
static void every_filter_is_tested(void **state)
{
	static const char *const machines[] = {T410, GRACE, THOR};
	size_t values = 0;

	(void)state;
	for (size_t m = 0; m < COUNT(machines); m++) {
		struct uncore *u = scan_fixture(machines[m]);

		for (size_t i = 0; i < u->catalogue.family_count; i++) {
			const struct unc_family *f = u->catalogue.families[i];

			for (size_t k = 0; f->pmu_count && k < UNC_FILTERS; k++)
				values += f->filters[k].terms ? 1 : f->filters[k].value_count;
		}
		if (m == 1) {
			const struct unc_filter *from =
				&family_of(u, "nvidia-grace-cnvlink")->filters[UNC_FILTER_FROM];

			assert_int_equal(from->value_count, 4);
			assert_string_equal(from->values[3].name, "socket3");
			assert_string_equal(from->values[3].text, "rem_socket=0x8");
			assert_string_equal(
				family_of(u, "nvidia-t410-nvclink")->filters[UNC_FILTER_GPU].terms,
				"gpu_mask={mask}");
		}
		uncore_free(u);
	}
	assert_int_equal(values, COUNT(filtered));
}

/* Clocks are the same whoever asks, and the pairs of the matrix have their filters. */
static void clocks_are_not_filtered(void **state)
{
	struct uncore *u = scan_fixture(T410);

	(void)state;
	assert_true(uncore_metric_count(u) > 0); /* parses all families */
	for (size_t i = 0; i < u->catalogue.family_count; i++) {
		const struct unc_family *f = u->catalogue.families[i];
		bool filters = false;

		for (size_t k = 0; k < UNC_FILTERS; k++)
			filters = filters || f->filters[k].title;
		for (size_t e = 0;
		     strncmp(f->name, "nvidia-", 7) == 0 && filters && e < f->event_count; e++) {
			const struct unc_event_def *event = &f->events[e];
			bool fixed = strstr(event->name, "cycles") || !event->alias;

			if (event->unfiltered != fixed)
				fail_msg("%s: %s", f->name, event->name);
		}
	}
	uncore_free(u);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(filters_set_the_drivers_bits),
		cmocka_unit_test(every_filter_is_tested),
		cmocka_unit_test(clocks_are_not_filtered),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}

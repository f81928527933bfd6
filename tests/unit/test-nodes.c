/* SPDX-License-Identifier: MIT */
/* The NUMA node that a PMU counts, by the rules of its family, where a socket has several nodes. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "toy.h"

/* Two sockets of two nodes of two CPUs: node n has CPUs 2n and 2n + 1, and socket s has nodes 2s and 2s + 1. */
static void make(struct toy *t, const char *pmus, const char *masks, const char *rule,
		 bool one_node, const char *dies)
{
	char text[900], rates[600] = "";

	toy_make(t, TOY_RATES);
	machine_cpus(&t->tree, (const int[]){0, 0, 0, 0, 1, 1, 1, 1}, 8);
	for (int node = 0; node < (one_node ? 2 : 4); node++) {
		char path[100], list[30];
		int count = one_node ? 4 : 2;

		snprintf(path, sizeof(path), "sys/devices/system/node/node%d/cpulist", node);
		snprintf(list, sizeof(list), "%d-%d\n", node * count, (node + 1) * count - 1);
		tree_put(&t->tree, path, list);
	}
	for (int cpu = 0; dies && cpu < 8; cpu++)
		tree_cpu(&t->tree, cpu, "die_id", (const char[]){dies[cpu], '\n', '\0'});
	/* The i-th counts 2^i each second. */
	for (int i = 0; pmus[i]; i++) {
		char name[20], type[20];

		snprintf(name, sizeof(name), "chan_%c", pmus[i]);
		snprintf(type, sizeof(type), "%d\n", 50 + i);
		machine_pmu(&t->tree, name, type, masks);
		snprintf(rates + strlen(rates), sizeof(rates) - strlen(rates),
			 "  - {pmu: %s, event: event=1, constant: %d}\n", name, 1 << i);
	}
	snprintf(text, sizeof(text), "sim: toy\nmachine: .\nrates:\n%s", rates);
	tree_put(&t->tree, "sim.yaml", text);
	snprintf(text, sizeof(text),
		 "family: toy-chan\ntitle: t\ninstance: i\nplace: channel\n"
		 "pmus: [{name: 'chan_*'}]\n%s"
		 "events: {data: {title: t, terms: event=1, evidence: x}}\nmetrics:\n"
		 "  x.rate: {title: t, unit: 1/s, formula: data / seconds, evidence: x}\n",
		 rule);
	tree_put(&t->tree, "data/chan.yaml", text);
	toy_begin(t, UNCORE_LEVEL_NODE);
	toy_ok(t, uncore_monitor_add_metrics(t->m, "toy-chan/x.rate"));
	toy_start(t);
	toy_ok(t, uncore_monitor_read(t->m, t->s));
}

#define RULE(what) "nodes: [{" what ", evidence: x}]\n"
#define DRIVER(cpu, number)                     \
	"drivers: [{counts: channel, cpu: " cpu \
	", each: die, without_hardware: never, number: " number ", evidence: x}]\n"

/* The row of a node; NaN: the one of a socket, whose nodes are not known. */
static void assert_row(const struct uncore_row *row, int socket, int node, double value)
{
	assert_int_equal(row->place->socket, socket);
	assert_int_equal(row->place->node, isnan(value) ? -1 : node);
	if (isnan(value)) {
		assert_int_equal(row->quality, UNCORE_UNAVAILABLE);
		assert_contains(row->reason,
				"has several NUMA nodes, and it is not known which of them chan_");
	} else if (row->value > value || row->value < value) {
		fail_msg("node %d: %g", node, row->value);
	}
}

static void values_of_nodes(void **state)
{
	static const struct {
		const char *pmus, *masks, *rule;
		bool one_node;
		double nodes[4];  /* NaN: not known; 0: no row */
		const char *dies; /* of each CPU; NULL: none are told */
	} cases[] = {
		/* PMUs 0 to 3 count 1, 2, 4 and 8 */
		{"0123", "0,4\n", RULE("units: 1 0 0 1"), false, {6, 9, 6, 9}, NULL},
		{"0123", "0,4\n", RULE("units: 0 1 1 1"), false, {1, 14, 1, 14}, NULL},
		{"3210", "0,4\n", RULE("units: 1 0 0 0"), false, {7, 8, 7, 8}, NULL},
		{"0123", "0,4\n", RULE("order: true"), false, {3, 12, 3, 12}, NULL},
		{"012345", "0,4\n", RULE("order: true"), false, {7, 56, 7, 56}, NULL},
		{"01", "0,4\n", RULE("order: true"), false, {1, 2, 1, 2}, NULL},
		/* units that the list has and that are not there: fused off */
		{"013", "0,4\n", RULE("units: 1 0 0 1"), false, {2, 5, 2, 5}, NULL},
		/* of three nodes, more units than the list has, an odd number, no number */
		{"0123", "0,4\n", RULE("units: 0 1 2 2"), false, {NAN, 0, NAN, 0}, NULL},
		{"0123", "0,4\n", RULE("units: 0 0 0 0"), false, {NAN, 0, NAN, 0}, NULL},
		{"01234", "0,4\n", RULE("units: 1 0 0 1"), false, {NAN, 0, NAN, 0}, NULL},
		{"8", "0,4\n", RULE("units: 1 0 0 1"), false, {NAN, 0, NAN, 0}, NULL},
		{"012", "0,4\n", RULE("order: true"), false, {NAN, 0, NAN, 0}, NULL},
		{"ab", "0,4\n", RULE("order: true"), false, {NAN, 0, NAN, 0}, NULL},
		{"0123", "0,4\n", "", false, {NAN, 0, NAN, 0}, NULL},
		/* counted from a CPU of each node: that of the CPU */
		{"01", "0,2,4,6\n", RULE("cpu: true"), false, {3, 3, 3, 3}, NULL},
		{"01", "1,7\n", RULE("cpu: true"), false, {3, 0, 0, 3}, NULL},
		/* a CPU of each die counts what is of this die, which is a node of its own, or is not */
		{"01", "0,2,4,6\n", DRIVER("near", "die"), false, {3, 3, 3, 3}, "00110011"},
		{"01", "0,2,4,6\n", DRIVER("near", "die"), false, {NAN, 0, NAN, 0}, "01010101"},
		{"01", "0,2,4,6\n", DRIVER("near", "die"), false, {NAN, 0, NAN, 0}, "00000000"},
		{"01", "0,4\n", DRIVER("near", "package"), false, {NAN, 0, NAN, 0}, "00110011"},
		/* sockets of one node need no rule */
		{"012", "0,4\n", "", true, {7, 7, 0, 0}, NULL},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		size_t at = 0;
		struct toy t;

		make(&t, cases[i].pmus, cases[i].masks, cases[i].rule, cases[i].one_node,
		     cases[i].dies);
		for (int node = 0; node < 4; node++) {
			double value = cases[i].nodes[node];

			if (!isnan(value) && !(value > 0))
				continue;
			assert_true(at < uncore_sample_count(t.s));
			assert_row(uncore_sample_row(t.s, at++),
				   cases[i].one_node ? node : node / 2, node, value);
		}
		assert_int_equal(uncore_sample_count(t.s), at);
		toy_end(&t);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(values_of_nodes)};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}

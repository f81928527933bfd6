/* SPDX-License-Identifier: MIT */
/* `uncore verify` of energy and clocks: planted faults and their names, and what is read beside the counters. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/cli.h"
#include "helpers.h"
#include "planted.h"
#include "tree.h"
#include "verify/measure.h"

#define ROUNDS 12
#define ROUND 0.5 /* seconds */
#define HALF 0.25 /* seconds of a busy CPU, at most */

/* ---- a machine whose counters are planted ---- */

struct planted {
	const char *metric, *family;
	double idle, busy; /* per second, and what a busy CPU adds */
	double noise;      /* of these, from round to round */
	double factor;     /* of what is counted */
	double witness;    /* of what the witness reads; 0: there is none */
	double transfers, limit;
	bool rated, virtual;
};

static void make_run(struct verify_run *run, const struct planted *p)
{
	static const double parts[4] = {0, 0.25, 0.5, 1};
	struct verify_series *s;

	*run = (struct verify_run){.version = "0.1.0",
				   .date = "2026-12-01",
				   .transfers = p->transfers,
				   .rated = p->rated,
				   .limit = p->limit};
	strcpy(run->hypervisor, p->virtual ? "an unknown hypervisor" : "");
	add_cell(run, p->metric, p->family, 0, -1);
	if (p->witness > 0)
		add_cell(run, p->metric, verify_expectation(p->metric)->witness.name, 0, -1);
	s = verify_add_series(run, &(struct verify_series){.load = VERIFY_SPIN});
	for (int i = 0; i < ROUNDS; i++) {
		double seconds = ROUND + 0.001 * uniform(), busy = HALF * parts[i % 4];
		double amount = p->idle * seconds * (1 + p->noise * normal()) + p->busy * busy;
		struct verify_reading *r = verify_add_round(s, busy * 1e9);

		r[0] = (struct verify_reading){.amount = amount * p->factor, .seconds = seconds};
		if (p->witness > 0)
			r[1] = (struct verify_reading){.amount = amount * p->witness,
						       .seconds = seconds + 0.0001};
	}
}

struct expected {
	struct planted planted;
	enum verify_verdict verdict;
	const char *fault;    /* NULL: without a name */
	const char *sentence; /* a part of the reason */
};

/* The verdict is the same after a report. */
static void expect(const struct expected *e)
{
	struct verify_result *results;
	struct verify_run run, back;

	make_run(&run, &e->planted);
	read_back(&back, &run);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(verify_judge(i ? &back : &run, &results), 1);
		expect_verdict(results, e->verdict, e->fault, e->sentence);
		free(results);
	}
	verify_run_free(&run);
	verify_run_free(&back);
}

/* ---- energy ---- */

#define PACKAGE .metric = "power.package", "power", 40, 8, 0.005

static void energy_is_proved_by_powercap_only(void **s)
{
	static const struct expected all[] = {
		{{PACKAGE, 1, 1, 0, 250}, VERIFY_PROVED, NULL, "powercap: 4"},
		{{PACKAGE, 1, 1.008}, VERIFY_PROVED, NULL, "W more when a CPU is busy"},
		{{PACKAGE, 1, 0}, VERIFY_UNKNOWN, NULL, "the unit cannot be checked"},
		{{.metric = "power.cores", "power", 5, 8, 0.01, 1, 1},
		 VERIFY_PROVED,
		 NULL,
		 "powercap: "},
		/* powercap has that of one core. */
		{{.metric = "power.cores", "amd-power-core", 5, 8, 0.01, 1, 1},
		 VERIFY_UNKNOWN,
		 NULL,
		 "the unit cannot be checked"},
		/* A busy CPU needs no memory. */
		{{.metric = "power.memory", "power", 3, 0, 0.01, 1, 1},
		 VERIFY_PROVED,
		 NULL,
		 "powercap: 3.0"},
		{{.metric = "power.platform", "power", 60, 9, 0.01, 1, 1},
		 VERIFY_PROVED,
		 NULL,
		 "powercap: "},
	};

	(void)s;
	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
		expect(&all[i]);
}

static void units_of_energy_are_named(void **s)
{
	static const struct expected all[] = {
		{{PACKAGE, 1e6, 1},
		 VERIFY_OFF,
		 "unit of energy",
		 "microjoules are taken for joules"},
		{{PACKAGE, 1e-6, 1}, VERIFY_OFF, "unit of energy", "joules are taken for micro"},
		{{PACKAGE, 1e3, 1},
		 VERIFY_OFF,
		 "unit of energy",
		 "millijoules are taken for joules"},
		{{PACKAGE, 2, 1}, VERIFY_OFF, "double", "two dies or packages are added up"},
		{{PACKAGE, 0.5, 1}, VERIFY_OFF, "unit of energy", "2^-1 times powercap"},
		{{PACKAGE, 16384, 1}, VERIFY_OFF, "unit of energy", "2^14 times powercap"},
		{{PACKAGE, 4, 1}, VERIFY_OFF, "unit of energy", "2^2 times powercap"},
		{{.metric = "power.memory", "power", 3, 0, 0.01, 4, 1},
		 VERIFY_OFF,
		 "unit of energy",
		 "4 times too much: memory has units of 15.3 uJ"},
		{{.metric = "power.memory", "power", 3, 0, 0.01, 0.25, 1},
		 VERIFY_OFF,
		 "unit of energy",
		 "4 times too little: memory has units of 61 uJ"},
		{{PACKAGE, 0.9, 1}, VERIFY_OFF, NULL, "the factor is 0.9"},
		{{PACKAGE, 1.02, 1}, VERIFY_OFF, NULL, "the factor is 1.0"},
		{{PACKAGE, 0, 1}, VERIFY_OFF, "nothing", "nothing is counted"},
		/* Without powercap only what cannot be is off. */
		{{PACKAGE, 1e6, 0, 0, 250},
		 VERIFY_OFF,
		 "unit of energy",
		 "limit of the package is 250.0 W"},
		{{PACKAGE, 16, 0, 0, 250}, VERIFY_UNKNOWN, NULL, "or the limit is wrong"},
		{{PACKAGE, 0, 0}, VERIFY_OFF, "nothing", "every package uses energy"},
	};

	(void)s;
	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
		expect(&all[i]);
}

static void energy_without_conclusion(void **s)
{
	static const struct expected all[] = {
		{{PACKAGE, 0, 0, .virtual = true},
		 VERIFY_UNKNOWN,
		 NULL,
		 "in a virtual machine (an unknown hypervisor) energy is often not counted"},
		{{.metric = "power.memory", "power", 3, 0, 0, 0, 0},
		 VERIFY_UNKNOWN,
		 NULL,
		 "not all CPUs have"},
		/* As much, whatever the CPU does: that of another machine, or of many. */
		{{.metric = "power.package", "power", 40, 0, 0.001, 1, 1},
		 VERIFY_UNKNOWN,
		 NULL,
		 "adds only"},
		{{.metric = "power.package", "power", 400, 8, 0.3, 1, 1},
		 VERIFY_UNKNOWN,
		 NULL,
		 "adds only"},
	};

	(void)s;
	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
		expect(&all[i]);
}

static void fifty_clean_machines_are_proved(void **s)
{
	(void)s;
	for (int i = 0; i < 50; i++)
		expect(&(struct expected){
			{.metric = "power.package", "power", 10 + 6.0 * i, 5, 0.002, 1, 1, 0, 400},
			VERIFY_PROVED,
			NULL,
			"powercap: "});
}

/* ---- clocks ---- */

#define DCLK .metric = "memory.clock.frequency", "intel-imc"

static void clocks_of_memory_are_half_of_the_transfers(void **s)
{
	static const struct expected all[] = {
		{{DCLK, 2.4e9, 0, 0, 1, 0, 4800},
		 VERIFY_PROVED,
		 NULL,
		 "modules at 4800 MT/s, difference 0.0"},
		{{DCLK, 1.46666e9, 0, 0, 1, 0, 2933},
		 VERIFY_PROVED,
		 NULL,
		 "modules at 2933 MT/s, difference 0.01 %"},
		/* Spread spectrum. */
		{{DCLK, 2.4e9, 0, 0, 0.9955, 0, 4800}, VERIFY_PROVED, NULL, "difference 0.45 %"},
		{{DCLK, 2.4e9, 0, 0, 0.993, 0, 4800}, VERIFY_OFF, NULL, "the factor is 0.9930"},
		{{DCLK, 2.4e9, 0, 0, 1.0025, 0, 4800}, VERIFY_OFF, NULL, "the factor is 1.0025"},
		{{DCLK, 2.4e9, 0, 0, 2, 0, 4800}, VERIFY_OFF, "clock double", "twice the clock"},
		{{DCLK, 2.4e9, 0, 0, 0.5, 0, 4800}, VERIFY_OFF, "clock half", "HCLK"},
		{{DCLK, 2.4e9, 0, 0, 4, 0, 4800},
		 VERIFY_OFF,
		 "clock times 4",
		 "four times the clock"},
		{{DCLK, 2.4e9, 0, 0, 0.25, 0, 4800}, VERIFY_OFF, "clock quarter", "gear 4"},
		/* It stops in half of the idle time. */
		{{DCLK, 1.2e9, 1.2e9, 0, 1, 0, 4800},
		 VERIFY_PROVED,
		 NULL,
		 "on an idle machine 1.200 GHz"},
		{{DCLK, 1.2e9, 0.6e9, 0, 1, 0, 4800},
		 VERIFY_UNKNOWN,
		 NULL,
		 "the clock stops while"},
		{{DCLK, 2.4e9, 0, 0.5, 1, 0, 4800}, VERIFY_UNKNOWN, NULL, "varies too much"},
		{{DCLK, 2.4e9, 0, 0, 1, 0, 0}, VERIFY_UNKNOWN, NULL, "is unknown"},
		{{DCLK, 2e9, 0, 0, 1, 0, 4800, .rated = true},
		 VERIFY_UNKNOWN,
		 NULL,
		 "may run slower"},
		{{DCLK, 2.4e9, 0, 0, 1, 0, 4800, .rated = true},
		 VERIFY_PROVED,
		 NULL,
		 "modules rated 4800"},
		{{DCLK, 2.4e9, 0, 0, 2, 0, 4800, .rated = true},
		 VERIFY_OFF,
		 "clock double",
		 "rated"},
	};

	(void)s;
	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
		expect(&all[i]);
}

static void ticks_are_those_of_the_instruction(void **s)
{
	static const struct expected all[] = {
		{{.metric = "clock.tsc.frequency", "msr", 2.6e9, 0, 0, 1, 1},
		 VERIFY_PROVED,
		 NULL,
		 "RDTSC: 2.599 GHz, difference 0.02 %"},
		{{.metric = "clock.tsc.frequency", "msr", 2.6e9, 0, 0, 1.002, 1},
		 VERIFY_OFF,
		 NULL,
		 "1.002"},
		{{.metric = "clock.tsc.frequency", "msr", 2.6e9, 0, 0, 8, 1},
		 VERIFY_OFF,
		 "added",
		 "ticks of 8 CPUs"},
		{{.metric = "clock.tsc.frequency", "msr", 2.6e9, 0, 0, 0, 1},
		 VERIFY_OFF,
		 "nothing",
		 "nothing"},
		{{.metric = "clock.tsc.frequency", "msr", 2.6e9, 0, 0, 1, 0},
		 VERIFY_UNKNOWN,
		 NULL,
		 "not read for comparison"},
	};

	(void)s;
	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
		expect(&all[i]);
}

/* ---- reports ---- */

static void facts_are_read_and_mistakes_refused(void **s)
{
	static const char *const mistakes[] = {"modules 4800",    "modules 4800 fast",
					       "modules x rated", "limit",
					       "limit -1",        "limit 5 W",
					       "hypervisor "};
	struct verify_run run;
	char why[VERIFY_WHY] = "", text[200];

	(void)s;
	assert_true(verify_parse_run(
		&run,
		"uncore/verify:\n\tversion 1\n\tmodules 2933.5 rated\n\tlimit 205.5\n"
		"\thypervisor an unknown hypervisor\n",
		why));
	assert_true(run.rated && fabs(run.transfers - 2933.5) < 1e-9 &&
		    fabs(run.limit - 205.5) < 1e-9);
	assert_string_equal(run.hypervisor, "an unknown hypervisor");
	verify_run_free(&run);
	for (size_t i = 0; i < sizeof(mistakes) / sizeof(*mistakes); i++) {
		snprintf(text, sizeof(text), "uncore/verify:\n\t%s\n", mistakes[i]);
		assert_false(verify_parse_run(&run, text, why));
		assert_string_equal(why, "line 2: not a line of a report");
	}
}

/* ---- witnesses ---- */

static void witnesses_are_cells_beside_the_counters(void **s)
{
	struct verify_run run = {0};
	struct witnesses w;
	struct verify_reading r[6] = {{.amount = 0}};
	struct tree t;

	(void)s;
	make_zones(&t);
	add_cell(&run, "memory.read.bandwidth", "intel-imc", 0, -1);
	add_cell(&run, "power.package", "power", 0, -1);
	add_cell(&run, "power.cores", "amd-power-core", 0, -1);
	add_cell(&run, "power.cores", "power", 0, -1); /* the first package has no such domain */
	witnesses_open(&w, NULL, t.dir);
	witnesses_begin(&w, &run);
	assert_int_equal(run.cell_count, 5);
	assert_string_equal(run.cells[4].family, "powercap");
	assert_string_equal(run.cells[4].metric, "power.package");
	tree_put(&t, "sys/class/powercap/intel-rapl:0/energy_uj", "3000000\n");
	usleep(1000);
	witnesses_read(&w, &run, r);
	assert_true(fabs(r[4].amount - 2) < 1e-9);
	assert_true(r[4].seconds > 0.001 && r[4].seconds < 60);
	assert_true(r[3].seconds <= 0 && r[5].seconds <= 0);
	witnesses_close(&w);
	verify_run_free(&run);
	tree_remove(&t);
}

#ifdef __x86_64__
/* The ticks of this machine go on at one speed. */
static void ticks_are_read(void **s)
{
	struct verify_run run = {0};
	struct witnesses w;
	struct verify_reading r[2];
	double first = 0;

	(void)s;
	add_cell(&run, "clock.tsc.frequency", "msr", 0, -1);
	witnesses_open(&w, NULL, "/nowhere");
	witnesses_begin(&w, &run);
	assert_int_equal(run.cell_count, 2);
	assert_string_equal(run.cells[1].family, "rdtsc");
	for (int i = 0; i < 3; i++) {
		usleep(50000);
		witnesses_read(&w, &run, r);
		first = i ? first : r[1].amount / r[1].seconds;
		assert_true(first > 1e8 && first < 1e10);
		assert_true(fabs(r[1].amount / r[1].seconds / first - 1) < 0.001);
	}
	witnesses_close(&w);
	verify_run_free(&run);
}
#endif

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(energy_is_proved_by_powercap_only),
		cmocka_unit_test(units_of_energy_are_named),
		cmocka_unit_test(energy_without_conclusion),
		cmocka_unit_test(fifty_clean_machines_are_proved),
		cmocka_unit_test(clocks_of_memory_are_half_of_the_transfers),
		cmocka_unit_test(ticks_are_those_of_the_instruction),
		cmocka_unit_test(facts_are_read_and_mistakes_refused),
		cmocka_unit_test(witnesses_are_cells_beside_the_counters),
#ifdef __x86_64__
		cmocka_unit_test(ticks_are_read),
#endif
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: MIT */
/* Programming: the cache boxes of Xeon E5 v2 over a model of their MSRs; what was written is put
 * back. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "cbo.h"
#include "count/monitor.h"
#include "source/regs/regs.h"

/* What an event counted. A box that stood still for most of a window, because its reader had to wait for
 * a CPU, says so: that is no fault here. */
static void assert_counted(const struct block *b, const char *name, double count)
{
	const struct uncore_row *row = block_row(b, name);

	if (row->quality != UNCORE_MEASURED &&
	    !(row->reason && strstr(row->reason, "was counted for")))
		fail_msg("%s is %s: %s", name, uncore_quality_name(row->quality), row->reason);
	assert_close(row->value, count);
}

/* A total over more than the time until its box stopped. */
static void assert_stopped(const struct block *b, const char *name, double count)
{
	const struct uncore_row *row = block_row(b, name);

	assert_int_equal(row->quality, UNCORE_PARTIAL);
	assert_contains(row->reason, "counted");
	assert_close(row->value, count);
}

static void test_terms(void **state)
{
	const struct uncore_counter *c;
	struct block *b = fresh();

	(void)state;
	scan(b, true);
	assert_int_equal(uncore_pmu_count(b->u), 15);
	must(b, uncore_monitor_new(&b->m, b->u));
	must(b, uncore_monitor_add_events(
			b->m, "uncore_cbox_3/ev_sel=0x35,umask=3,edge_det=1,thresh=2,tid_en=1,"
			      "filter_opc=0x182,filter_state=1,after=7/"));
	must(b, uncore_monitor_plan(b->m));
	c = uncore_monitor_counter_at(b->m, 0);
	assert_int_equal(c->config[0], 0x35 | 3 << 8 | 1 << 18 | 2u << 24 | 1 << 19);
	assert_int_equal(c->config[1], UINT64_C(0x182) << 52 | 1 << 17);
	assert_int_equal(c->config[2], 7);
	assert_string_equal(uncore_pmu_family(c->pmu), "intel-cbox");
	uncore_monitor_free(b->m);
	b->m = NULL;
	must(b, uncore_monitor_new(&b->m, b->u));
	must(b, uncore_monitor_add_events(b->m, "cbox_3/event=0x35,edge=1,thresh=2/"));
	must(b, uncore_monitor_plan(b->m));
	c = uncore_monitor_counter_at(b->m, 0);
	assert_int_equal(c->config[0], 0x35 | 1 << 18 | 2u << 24);
	block_remove(b);
}

/* The vendor's names are those of the boxes that the kernel drives: codes of linux pmu-events, ivytown. */
static void test_vendor_names(void **state)
{
	const struct uncore_counter *c;
	struct block *b = fresh();

	(void)state;
	scan(b, true);
	must(b, uncore_monitor_new(&b->m, b->u));
	must(b,
	     uncore_monitor_add_events(b->m, "uncore_cbox_3/UNC_C_LLC_LOOKUP.DATA_READ,state=M/"));
	must(b, uncore_monitor_plan(b->m));
	c = uncore_monitor_counter_at(b->m, 0);
	assert_int_equal(c->config[0], 0x34 | 3 << 8);
	assert_int_equal(c->config[1], 8 << 17);
	uncore_monitor_free(b->m);
	b->m = NULL;
	must(b, uncore_monitor_new(&b->m, b->u));
	must(b, uncore_monitor_add_events(b->m, "UNC_C_CLOCKTICKS"));
	must(b, uncore_monitor_plan(b->m));
	assert_int_equal(uncore_monitor_counter_count(b->m), 2 * 15);
	block_remove(b);
}

/* A field of the manual that is no term: the error says what sets it. */
static void test_fixed_fields(void **state)
{
	static const struct {
		const char *term, *why;
	} cases[] = {
		{"rst=1", "no event can set the field rst: it is write-only; counters are cleared "
			  "with rst_ctrs and rst_ctrl"},
		{"en=1", "no event can set the field en: it is set when counting needs it"},
		{"frz", "no event can set the field frz: it is set when counting needs it"},
		{"rest=1", "it has no term 'rest'"},
	};
	struct block *b = fresh();

	(void)state;
	scan(b, true);
	for (size_t i = 0; i < COUNT(cases); i++) {
		char event[80];

		snprintf(event, sizeof(event), "uncore_cbox_0/event=3,%s/", cases[i].term);
		uncore_monitor_free(b->m);
		b->m = NULL;
		must(b, uncore_monitor_new(&b->m, b->u));
		assert_int_equal(uncore_monitor_add_events(b->m, event), -EINVAL);
		assert_contains(uncore_error(b->u), cases[i].why);
	}
	block_remove(b);
}

/* Counts on both sockets, over several readings; afterwards every register is as before but for the
 * counters of nobody. */
static void test_count_and_restore(void **state)
{
	static uint64_t before[CPUS][0x1000];
	struct block *b = fresh();

	(void)state;
	scan(b, true);
	memcpy(before, msr, sizeof(msr));
	must(b, block_start(b, "uncore_cbox_1/event=0x36,filter_opc=0x182/,"
			       "uncore_cbox_1/event=0x02/,uncore_cbox_2/event=0x05/"));
	assert_int_equal(msr[0][FILTER1 + 0x20], 0x182u << 20);
	assert_int_equal(msr[2][FILTER + 0x20], 0);
	assert_int_equal(msr[0][CTL + 0x20], 0x36 | EN);
	assert_int_equal(msr[0][BOX_CTL + 0x20], 3 << 16);
	for (int i = 1; i <= 3; i++) {
		count(10);
		block_read(b);
		assert_counted(b, "uncore_cbox_1/event=0x36,filter_opc=0x182/", 2 * 10 * 0x36);
		assert_counted(b, "uncore_cbox_1/event=0x02/", 2 * 10 * 2);
		assert_counted(b, "uncore_cbox_2/event=0x05/", 2 * 10 * 5);
	}
	assert_int_equal(msr[0][BOX_CTL + 0x20] & FRZ, 0);
	uncore_monitor_free(b->m);
	b->m = NULL;
	assert_memory_equal(before, msr, sizeof(msr));
	block_remove(b);
}

/* Two opcodes, and one filter for each box: one after another. */
static void test_rounds(void **state)
{
	struct block *b = fresh();
	const struct uncore_row *row;

	(void)state;
	scan(b, true);
	must(b, uncore_monitor_new(&b->m, b->u));
	must(b, uncore_monitor_set_rounds(b->m));
	must(b, uncore_monitor_add_metrics(b->m, "pcie.inbound.read.bandwidth"));
	must(b, uncore_monitor_plan(b->m));
	assert_int_equal(uncore_monitor_round_count(b->m), 2);
	for (int round = 0; round < 2; round++) {
		must(b, uncore_monitor_open(b->m));
		must(b, uncore_monitor_start(b->m));
		assert_int_equal(msr[0][FILTER1], (round ? 0x1e4u : 0x19eu) << 20);
		count(round ? 100 : 10);
		block_read(b);
		assert_int_equal(uncore_sample_count(b->s), round);
		assert_int_equal(uncore_monitor_next_round(b->m), !round);
	}
	row = block_row(b, "pcie.inbound.read.bandwidth");
	assert_int_equal(row->quality, UNCORE_MEASURED);
	assert_string_equal(row->reason,
			    "its parts were counted one after another, in rounds 1 to 2");
	assert_close(row->counted->amount, 2 * 15 * 0x35 * (10 + 100) * 64);
	block_remove(b);
}

/* An event gets a counter that can count it, also when another has to go elsewhere for that. */
static void test_places(void **state)
{
	struct block *b = fresh();

	(void)state;
	scan(b, true);
	must(b, block_start(b, "uncore_cbox_0/event=3/,uncore_cbox_0/event=0x35/,"
			       "uncore_cbox_0/event=0x36/,uncore_cbox_0/event=0x1b/"));
	assert_int_equal(msr[0][CTL] & 0xff, 0x36);
	assert_int_equal(msr[0][CTL + 1] & 0xff, 0x35);
	assert_true((msr[0][CTL + 2] & 0xff) == 0x1b || (msr[0][CTL + 3] & 0xff) == 0x1b);
	must(b, block_start(b, "uncore_cbox_0/event=3/,uncore_cbox_0/event=4/,"
			       "uncore_cbox_0/event=0x1b/,uncore_cbox_0/event=0x1c/"));
	count(10);
	block_read(b);
	assert_counted(b, "uncore_cbox_0/event=3/", 2 * 10 * 3);
	assert_counted(b, "uncore_cbox_0/event=4/", 2 * 10 * 4);
	assert_counted(b, "uncore_cbox_0/event=0x1b/", 2 * 10 * 0x1b);
	assert_counted(b, "uncore_cbox_0/event=0x1c/", 2 * 10 * 0x1c);
	block_remove(b);
}

/* What somebody left in the filters of a box chooses nothing; what another counter wants stays. */
static void test_filters_without_owner_are_cleared(void **state)
{
	struct block *b = fresh();
	uint64_t left[] = {msr[2][FILTER + 0x20], msr[2][FILTER1 + 0x20]};

	(void)state;
	scan(b, true);
	assert_true(left[0] && left[1]);
	must(b, block_start(b, "uncore_cbox_1/event=0x35,umask=8/"));
	assert_int_equal(msr[2][FILTER + 0x20], 0);
	assert_int_equal(msr[2][FILTER1 + 0x20], 0);
	must(b, block_start(b, "uncore_cbox_1/event=3/,uncore_cbox_1/event=0x35,filter_opc=0x182/,"
			       "uncore_cbox_1/event=5/"));
	assert_int_equal(msr[2][FILTER1 + 0x20], 0x182u << 20);
	uncore_monitor_free(b->m);
	b->m = NULL;
	assert_int_equal(msr[2][FILTER + 0x20], left[0]);
	assert_int_equal(msr[2][FILTER1 + 0x20], left[1]);
	block_remove(b);
}

/* The box stops at N events, all counters of it at one moment, and stays so. */
static void test_after(void **state)
{
	struct block *b = fresh();

	(void)state;
	scan(b, true);
	must(b, block_start(b, "uncore_cbox_0/event=1,after=1000/,uncore_cbox_0/event=3/"));
	count(400);
	block_read(b);
	assert_counted(b, "uncore_cbox_0/event=1,after=1000/", 2 * 400);
	count(5000);
	block_read(b);
	assert_counted(b, "uncore_cbox_0/event=1,after=1000/", 2 * 600);
	/* From then on it does not count, which is not the same as 0. */
	for (int i = 0; i < 2; i++) {
		count(100);
		block_read(b);
		block_assert_none(b, "uncore_cbox_0/event=1,after=1000/",
				  "has reached its number of events");
	}
	block_total(b);
	assert_stopped(b, "uncore_cbox_0/event=1,after=1000/", 2 * 1000);
	assert_stopped(b, "uncore_cbox_0/event=3/", 2 * 3000);
	block_remove(b);
}

/* Boxes that do not freeze: many events above the number, or few that go on. What was counted is not what was
 * asked for, and is no value; so are the other boxes of the socket. */
static void test_after_in_vain(void **state)
{
	static const uint64_t steps[] = {20000, 1100};
	struct block *b = fresh();

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		scan(b, true);
		must(b, block_start(b, "uncore_cbox_2/event=1,after=1000/,uncore_cbox_2/event=3/,"
				       "uncore_cbox_5/event=7/"));
		deaf = true;
		count(400);
		block_read(b);
		assert_counted(b, "uncore_cbox_2/event=1,after=1000/", 2 * 400);
		reads_in_step = i ? 500 : 0;
		count(steps[i]);
		block_read(b);
		block_assert_none(b, "uncore_cbox_2/event=1,after=1000/", "did not freeze");
		block_assert_none(b, "uncore_cbox_2/event=3/", "did not freeze");
		block_assert_none(b, "uncore_cbox_5/event=7/", "did not freeze");
		block_total(b);
		assert_stopped(b, "uncore_cbox_2/event=1,after=1000/", 2 * 400);
		deaf = false;
		reads_in_step = 0;
	}
	block_remove(b);
}

/* N events that the counter has no room for are refused, however they are written. */
static void test_after_too_many(void **state)
{
	struct block *b = fresh();

	(void)state;
	scan(b, true);
	must(b, block_start(b, "uncore_cbox_0/event=1,after=0xfffffffffff/"));
	uncore_monitor_free(b->m);
	b->m = NULL;
	must(b, uncore_monitor_new(&b->m, b->u));
	assert_int_equal(uncore_monitor_add_events(b->m,
						   "uncore_cbox_0/event=1,after=0x100000000000/"),
			 -EINVAL);
	assert_contains(uncore_error(b->u), "44");
	assert_true(block_start(b, "uncore_cbox_0/event=1,config2=0x100000000000/") < 0);
	assert_contains(uncore_error(b->u), "of 44 bits");
	block_remove(b);
}

/* So do the other boxes of the socket, whether they are read before it or after it. */
static void test_after_all(void **state)
{
	static const char events[] = "uncore_cbox_2/event=1,after=1000/,uncore_cbox_0/event=3/,"
				     "uncore_cbox_5/event=7/";
	static const uint64_t steps[] = {400, 600};
	struct block *b = fresh();

	(void)state;
	scan(b, true);
	must(b, block_start(b, events));
	for (size_t i = 0; i < 2; i++) {
		count(i ? 5000 : 400);
		block_read(b);
		assert_counted(b, "uncore_cbox_0/event=3/", 2 * 3 * (double)steps[i]);
		assert_counted(b, "uncore_cbox_5/event=7/", 2 * 7 * (double)steps[i]);
	}
	count(5000);
	block_read(b);
	block_assert_none(b, "uncore_cbox_0/event=3/", "has reached its number of events");
	block_assert_none(b, "uncore_cbox_5/event=7/", "has reached its number of events");
	/* Without such an event they go on by themselves. */
	must(b, block_start(b, "uncore_cbox_0/event=3/,uncore_cbox_5/event=7/"));
	count(5);
	block_read(b);
	assert_counted(b, "uncore_cbox_5/event=7/", 2 * 7 * 5);
	assert_int_equal(msr[0][BOX_CTL] & FRZ, 0);
	block_remove(b);
}

/* Boxes that one of them may stop are read in any order: none is let go before all have been. */
static void test_after_any_order(void **state)
{
	struct block *b = fresh();
	struct unc_regs_source *s;

	(void)state;
	scan(b, true);
	must(b, block_start(b, "uncore_cbox_2/event=1,after=1000/,uncore_cbox_5/event=7/"));
	s = (struct unc_regs_source *)b->m->parts[0].source;
	s->into = b->m->previous;
	unc_regs_read_instance(s, 1);
	assert_int_equal(msr[0][BOX_CTL + 5 * 0x20] & FRZ, FRZ);
	block_read(b);
	assert_int_equal(msr[0][BOX_CTL + 5 * 0x20] & FRZ, 0);
	block_remove(b);
}

/* The trigger reaches its events as soon as it is unfrozen: no box of its socket is unfrozen after that. */
static void test_after_while_unfreezing(void **state)
{
	struct block *b = fresh();

	(void)state;
	scan(b, true);
	must(b, block_start(b, "uncore_cbox_2/event=1,after=1000/,uncore_cbox_0/event=3/,"
			       "uncore_cbox_5/event=7/"));
	counts_at = BOX_CTL + 2 * 0x20;
	for (int i = 0; i < 3; i++) {
		block_read(b);
		count(5000);
	}
	block_total(b);
	assert_stopped(b, "uncore_cbox_2/event=1,after=1000/", 2 * 1000);
	assert_stopped(b, "uncore_cbox_0/event=3/", 2 * 3000);
	assert_stopped(b, "uncore_cbox_5/event=7/", 2 * 7000);
	block_remove(b);
}

/* Two boxes are triggers, and the one that is unfrozen first has frozen the socket before the other is unfrozen:
 * that one is frozen again. */
static void test_after_in_two_instances(void **state)
{
	struct block *b = fresh();

	(void)state;
	scan(b, true);
	must(b,
	     block_start(b, "uncore_cbox_2/event=1,after=1000/,uncore_cbox_5/event=1,after=1000/,"
			    "uncore_cbox_2/event=3/"));
	counts_at = BOX_CTL + 5 * 0x20;
	for (int i = 0; i < 3; i++) {
		block_read(b);
		assert_int_equal(msr[0][BOX_CTL + 2 * 0x20] & FRZ, FRZ);
		count(5000);
	}
	assert_int_equal(counts_at, 0);
	block_total(b);
	assert_stopped(b, "uncore_cbox_5/event=1,after=1000/", 2 * 1000);
	assert_stopped(b, "uncore_cbox_2/event=3/", 3000); /* of the other socket only */
	block_remove(b);
}

/* What happens before the start is not among the N events. */
static void test_frozen_until_start(void **state)
{
	struct block *b = fresh();

	(void)state;
	scan(b, true);
	must(b, uncore_monitor_new(&b->m, b->u));
	must(b, uncore_monitor_add_events(b->m, "uncore_cbox_0/event=1,after=120/"));
	must(b, uncore_monitor_open(b->m));
	count(100);
	must(b, uncore_monitor_start(b->m));
	count(500);
	block_read(b);
	assert_counted(b, "uncore_cbox_0/event=1,after=120/", 2 * 120);
	block_remove(b);
}

/* Half-way to its end a counter is set back, so that it never freezes its box; when it did all the
 * same, there is no value. */
static void test_overflow(void **state)
{
	struct block *b = fresh();

	(void)state;
	scan(b, true);
	must(b, block_start(b, "uncore_cbox_0/event=3/"));
	msr[0][CTR + 3] += HALF + 5;
	msr[2][CTR + 3] += 5;
	block_wait_us(10000000); /* no counter is so fast that it needs less time */
	block_read(b);
	assert_counted(b, "uncore_cbox_0/event=3/", (double)(HALF + 10));
	assert_int_equal(msr[0][CTR + 3], 0);
	count(7);
	block_read(b);
	assert_counted(b, "uncore_cbox_0/event=3/", 2 * 7 * 3);
	stuck_at = CTR + 3; /* it cannot be set back, and does overflow */
	msr[0][CTR + 3] = MASK - 10;
	block_wait_us(20000000);
	block_read(b);
	msr[0][CTR + 3] = 3;
	block_read(b);
	assert_contains(block_row(b, "uncore_cbox_0/event=3/")->reason, "overflowed");
	count(7);
	block_read(b);
	count(7);
	block_read(b);
	assert_counted(b, "uncore_cbox_0/event=3/", 2 * 7 * 3);
	stuck_at = 0;
	block_remove(b);
}

/* Somebody else sets a counter, which is no overflow: one interval is suspect, and so is the total. */
static void test_set_back(void **state)
{
	static const char *const events[] = {"uncore_cbox_0/event=3/",
					     "uncore_cbox_0/event=3,after=0x90000000000/"};
	struct block *b = fresh();

	(void)state;
	scan(b, true);
	for (size_t i = 0; i < 2; i++) {
		must(b, block_start(b, events[i]));
		count(50);
		block_read(b);
		assert_counted(b, events[i], 2 * 50 * 3);
		msr[0][CTR + 3] = 5;
		block_read(b);
		assert_int_equal(block_row(b, events[i])->quality, UNCORE_SUSPECT);
		assert_contains(block_row(b, events[i])->reason,
				"another program writes these registers");
		count(7);
		block_read(b);
		assert_counted(b, events[i], 2 * 7 * 3);
		block_total(b);
		assert_int_equal(block_row(b, events[i])->quality, UNCORE_SUSPECT);
	}
	block_remove(b);
}

static void test_refused(void **state)
{
	struct block *b = fresh();
	char path[300], aside[300];

	(void)state;
	scan(b, true);
	assert_int_equal(block_start(b, "uncore_cbox_0/event=1,edge_det=1/"), -EINVAL);
	assert_contains(uncore_error(b->u), "add thresh=1");
	must(b, block_start(b, "uncore_cbox_0/event=1,edge_det=1,thresh=1/"));
	/* Only two counters know this event, and only one the other. */
	must(b, block_start(b, "uncore_cbox_0/event=0x36/,uncore_cbox_0/event=0x35/,"
			       "uncore_cbox_0/event=0x35,umask=8/"));
	block_read(b);
	assert_contains(block_row(b, "uncore_cbox_0/event=0x35,umask=8/")->reason, "is free");
	assert_counted(b, "uncore_cbox_0/event=0x35/", 0);
	must(b, block_start(b, "uncore_cbox_0/event=0x35,filter_opc=1/,"
			       "uncore_cbox_0/event=0x35,filter_opc=2/"));
	block_read(b);
	assert_contains(block_row(b, "uncore_cbox_0/event=0x35,filter_opc=2/")->reason,
			"one filter");
	/* Nothing is written without leave. */
	scan(b, false);
	writes = 0;
	assert_int_equal(block_start(b, "uncore_cbox_0/event=1/"), -EACCES);
	assert_contains(uncore_error(b->u), "--program");
	assert_int_equal(writes, 0);
	/* Nor beside the kernel's driver. */
	scan(b, true);
	tree_pmu(&b->tree, "uncore_cbox_2", "type", "20\n");
	assert_int_equal(block_start(b, "uncore_cbox_0/event=1/"), -EBUSY);
	assert_contains(uncore_error(b->u), "rmmod intel_uncore");
	assert_contains(uncore_error(b->u), "without --source");
	assert_int_equal(writes, 0);
	/* Nor when nobody can tell whether it is there. */
	snprintf(path, sizeof(path), "%s/sys/bus/event_source/devices", b->tree.dir);
	snprintf(aside, sizeof(aside), "%s/aside", b->tree.dir);
	assert_int_equal(rename(path, aside), 0);
	tree_put(&b->tree, "sys/bus/event_source/devices", "");
	assert_int_equal(block_start(b, "uncore_cbox_0/event=1/"), -ENOTDIR);
	assert_contains(uncore_error(b->u), "nothing is written");
	assert_int_equal(writes, 0);
	block_remove(b);
}

/* config= may set any bit, and some must not be 1. */
static void test_reserved_bits(void **state)
{
	static const char *const events[] = {
		"uncore_cbox_0/config=0x800035/",             /* reserved */
		"uncore_cbox_0/config=0x400035/",             /* the enable bit */
		"uncore_cbox_0/config=0x35,config1=0x10000/", /* between the fields of the filter */
	};
	struct block *b = fresh();

	(void)state;
	scan(b, true);
	for (size_t i = 0; i < 3; i++) {
		assert_int_equal(block_start(b, events[i]), -EINVAL);
		assert_contains(uncore_error(b->u), "are reserved");
	}
	assert_int_equal(writes, 0);
	must(b, block_start(b, "uncore_cbox_0/config=0x0835,config1=0x20000/"));
	block_remove(b);
}

/* What another has left counting is reset while the box is used, and put back; the bits that must be 1 are
 * so also then. */
static void test_reset(void **state)
{
	struct block *b = fresh();

	(void)state;
	scan(b, true);
	msr[0][BOX_CTL] = 0;
	msr[0][CTL] = EN | 7;
	msr[0][CTR] = MASK - 3;
	must(b, block_start(b, "uncore_cbox_0/event=5/"));
	assert_int_equal(msr[0][CTL], 0);
	assert_int_equal(msr[0][CTR], 0);
	count(10); /* the counter that was left would have frozen the box */
	block_read(b);
	assert_counted(b, "uncore_cbox_0/event=5/", 2 * 10 * 5);
	uncore_monitor_free(b->m);
	b->m = NULL;
	assert_int_equal(msr[0][BOX_CTL], 3 << 16);
	assert_int_equal(msr[0][CTL], EN | 7);
	assert_int_equal(msr[0][CTR], MASK - 3);
	block_remove(b);
}

/* A counter that cannot be read: the box is let go all the same, and put back. */
static void test_released_on_failure(void **state)
{
	static uint64_t before[CPUS][0x1000];
	unsigned before_writes;
	struct block *b = fresh();

	(void)state;
	scan(b, true);
	memcpy(before, msr, sizeof(msr));
	must(b, block_start(b, "uncore_cbox_0/event=3/"));
	fail_at = CTR + 3;
	block_read(b);
	block_assert_none(b, "uncore_cbox_0/event=3/", "Input/output error");
	assert_int_equal(msr[0][BOX_CTL] & FRZ, 0);
	fail_at = 0;
	uncore_monitor_free(b->m);
	b->m = NULL;
	assert_memory_equal(before, msr, sizeof(msr));
	/* While it is programmed: what was done until then is undone. */
	before_writes = writes;
	fail_at = CTL + 0x20 + 3;
	assert_int_equal(block_start(b, "uncore_cbox_0/event=3/,uncore_cbox_1/event=3/"), -EIO);
	assert_contains(uncore_error(b->u), "cannot be programmed");
	assert_int_equal(writes, before_writes); /* everything is checked first */
	fail_at = 0;
	assert_memory_equal(before, msr, sizeof(msr));
	block_remove(b);
}

/* All ones in more bits than a counter has are no count, and counting goes on after them. */
static void test_away_once(void **state)
{
	const struct uncore_row *row;
	struct block *b = fresh();

	(void)state;
	scan(b, true);
	must(b, block_start(b, "uncore_cbox_0/event=3/"));
	count(10);
	away_at = CTR + 3;
	block_read(b);
	assert_int_equal(away_at, 0);
	row = block_row(b, "uncore_cbox_0/event=3/");
	assert_int_equal(row->quality, UNCORE_PARTIAL);
	assert_contains(row->reason, "all ones");
	block_read(b);
	count(10);
	block_read(b);
	assert_counted(b, "uncore_cbox_0/event=3/", 2 * 10 * 3);
	block_remove(b);
}

/* When a box was let go is no more certain than how long that took. */
static void test_uncertain(void **state)
{
	struct block *b = fresh();

	(void)state;
	scan(b, true);
	must(b, block_start(b, "uncore_cbox_0/event=3/"));
	block_read(b);
	assert_true(b->m->previous[0].uncertain_ns < 10000000);
	slow_us = 40000;
	block_read(b);
	assert_true(b->m->previous[0].uncertain_ns >= 20000000);
	block_remove(b);
}

/* Stopping puts the registers back and tells which one stays changed; the end can still be read. */
static void test_stop_reports_failures(void **state)
{
	static uint64_t before[CPUS][0x1000];
	struct block *b = fresh();

	(void)state;
	scan(b, true);
	memcpy(before, msr, sizeof(msr));
	must(b, block_start(b, "uncore_cbox_0/event=3/,uncore_cbox_1/event=3/"));
	count(10);
	must(b, uncore_monitor_stop(b->m));
	assert_memory_equal(before, msr, sizeof(msr));
	count(10);
	block_read(b);
	assert_counted(b, "uncore_cbox_1/event=3/", 2 * 10 * 3);
	must(b, block_start(b, "uncore_cbox_0/event=3/,uncore_cbox_1/event=3/"));
	count(10);
	stuck_at = CTL + 3;
	assert_int_equal(uncore_monitor_stop(b->m), -EIO);
	assert_contains(uncore_error(b->u),
			"uncore_cbox_0 on CPU 0: the register 0xd13 was written");
	assert_contains(uncore_error(b->u), "stays changed");
	for (int cpu = 0; cpu < CPUS; cpu++)
		msr[cpu][CTL + 3] = before[cpu][CTL + 3];
	assert_memory_equal(before, msr, sizeof(msr));
	block_read(b);
	assert_counted(b, "uncore_cbox_0/event=3/", 2 * 10 * 3);
	block_remove(b);
}

/* A processor with ten cores has ten boxes, whatever the description has room for. */
static void test_missing_instances(void **state)
{
	const struct uncore_row *row;
	struct block *b = fresh();

	(void)state;
	scan(b, true);
	fail_from = BOX_CTL + 10 * 0x20;
	must(b, block_start(b, "uncore_cbox/event=3/"));
	count(10);
	block_read(b);
	row = block_row(b, "uncore_cbox/event=3/");
	assert_int_equal(row->quality, UNCORE_PARTIAL);
	assert_contains(row->reason, "10 of 30 missing: uncore_cbox_10 on CPU 0");
	assert_contains(row->reason, "no such cache slice");
	assert_close(row->value, 2 * 10 * 10 * 3);
	/* Not one of them at all. */
	fail_from = BOX_CTL;
	assert_int_equal(block_start(b, "uncore_cbox/event=3/"), -ENODEV);
	block_remove(b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_terms),
		cmocka_unit_test(test_vendor_names),
		cmocka_unit_test(test_fixed_fields),
		cmocka_unit_test(test_count_and_restore),
		cmocka_unit_test(test_rounds),
		cmocka_unit_test(test_places),
		cmocka_unit_test(test_filters_without_owner_are_cleared),
		cmocka_unit_test(test_after),
		cmocka_unit_test(test_after_in_vain),
		cmocka_unit_test(test_after_too_many),
		cmocka_unit_test(test_after_all),
		cmocka_unit_test(test_after_any_order),
		cmocka_unit_test(test_after_while_unfreezing),
		cmocka_unit_test(test_after_in_two_instances),
		cmocka_unit_test(test_frozen_until_start),
		cmocka_unit_test(test_overflow),
		cmocka_unit_test(test_set_back),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_reserved_bits),
		cmocka_unit_test(test_reset),
		cmocka_unit_test(test_released_on_failure),
		cmocka_unit_test(test_away_once),
		cmocka_unit_test(test_uncertain),
		cmocka_unit_test(test_stop_reports_failures),
		cmocka_unit_test(test_missing_instances),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}

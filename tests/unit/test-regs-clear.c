/* SPDX-License-Identifier: MIT */
/* Registers that are changed by who reads them: counters that reading clears, and two at once. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "block.h"

#define HEAD                                                                                        \
	"block: test\ntitle: Test\ninstance: unit\nevidence: none\npmu: test_{unit}\nspace: mmio\n" \
	"size: 0x1000\n"

static struct block *fresh(void)
{
	static struct block b;

	block_make(&b);
	must(&b, uncore_set_program(b.u, true));
	return &b;
}

/* A note of the monitor's has this in it. */
static bool noted(const struct block *b, const char *text)
{
	for (size_t i = 0; i < uncore_monitor_note_count(b->m); i++)
		if (strstr(uncore_monitor_note_at(b->m, i), text))
			return true;
	return false;
}

/* Several adds between two reads, or none: nothing is lost, and the map is left at 0. */
static void test_read_to_clear(void **state)
{
	struct block *b = fresh();

	(void)state;
	must(b, block_use(b, HEAD "access: 32\nwindow: read-to-clear\ncounters:\n"
				  "  c: {title: c, offset: 0, width: 32}\n"
				  "  d: {title: c, offset: 4, width: 32}\n"));
	block_set32(b, 0, 1000);
	must(b, block_start(b, "test_0/c/"));
	assert_int_equal(*(volatile uint32_t *)b->map, 0);
	for (uint32_t i = 1; i <= 5; i++) {
		block_set32(b, 0, 0xfffffff0 + i);
		block_set32(b, 4, 77);
		block_read(b);
		block_assert(b, "test_0/c/", 0xfffffff0 + i);
	}
	block_total(b);
	block_assert(b, "test_0/c/", 5.0 * 0xfffffff0 + 15);
	/* What nobody asked for is not cleared. */
	assert_int_equal(*(volatile uint32_t *)(b->map + 4), 77);
	block_remove(b);
}

/* Two groups, as those of two metrics, share an event: its register is read once, and both have it. */
static void test_cleared_for_two_groups(void **state)
{
	struct block *b = fresh();
	size_t rows = 0;

	(void)state;
	must(b, block_use(b, HEAD "access: 32\nwindow: read-to-clear\ncounters:\n"
				  "  c: {title: c, offset: 0, width: 32}\n"
				  "  d: {title: c, offset: 4, width: 32}\n"
				  "  e: {title: c, offset: 8, width: 32}\n"));
	must(b, block_start(b, "{test_0/c/,test_0/d/},{test_0/c/,test_0/e/}"));
	block_set32(b, 0, 1000);
	block_set32(b, 4, 20);
	block_set32(b, 8, 3);
	block_read(b);
	for (size_t i = 0; i < uncore_sample_count(b->s); i++) {
		const struct uncore_row *row = uncore_sample_row(b->s, i);

		if (strcmp(row->query->name, "test_0/c/") != 0)
			continue;
		rows++;
		assert_int_equal(row->quality, UNCORE_MEASURED);
		assert_close(row->value, 1000);
	}
	assert_true(rows > 0);
	block_assert(b, "test_0/d/", 20);
	block_assert(b, "test_0/e/", 3);
	block_remove(b);
}

/* A counter that is full is a count while another register answers. A device that was gone for a while has
 * counted nothing by that. */
static void test_cleared_when_full(void **state)
{
	struct block *b = fresh();

	(void)state;
	must(b, block_use(b, HEAD "access: 32\nwindow: read-to-clear\ncounters:\n"
				  "  c: {title: c, offset: 0, width: 32}\n"
				  "  d: {title: c, offset: 4, width: 24}\n"));
	must(b, block_start(b, "test_0/c/,test_0/d/"));
	block_set32(b, 0, UINT32_MAX);
	block_set32(b, 4, 5);
	block_read(b);
	block_assert(b, "test_0/c/", UINT32_MAX);
	block_assert(b, "test_0/d/", 5);
	block_set32(b, 4, UINT32_MAX);
	block_set32(b, 0, UINT32_MAX);
	block_read(b);
	block_assert_none(b, "test_0/c/", "the device is gone");
	block_assert_none(b, "test_0/d/", "the device is gone");
	block_set32(b, 0, 1);
	block_set32(b, 4, 0);
	block_read(b);
	block_set32(b, 0, 2);
	block_read(b);
	block_assert(b, "test_0/c/", 2);
	block_total(b);
	assert_close(block_row(b, "test_0/c/")->value, 0x1p32 + 1);
	block_remove(b);
}

/* All ones in more bits than the counter has are no count, though another register answers. */
static void test_cleared_when_away(void **state)
{
	struct block *b = fresh();

	(void)state;
	must(b, block_use(b, HEAD "access: 32\nwindow: read-to-clear\ncounters:\n"
				  "  c: {title: c, offset: 0, width: 24}\n"
				  "  d: {title: c, offset: 4, width: 24}\n"));
	must(b, block_start(b, "test_0/c/,test_0/d/"));
	block_set32(b, 0, UINT32_MAX);
	block_set32(b, 4, 3);
	block_read(b);
	block_assert_none(b, "test_0/c/", "all ones");
	block_assert(b, "test_0/d/", 3);
	block_remove(b);
}

/* A file that the source or a description names stays as it is without --program. */
static void test_cleared_by_mistake(void **state)
{
#define CLEARED HEAD "access: 32\nwindow: read-to-clear\n"
#define ONE "counters:\n  c: {title: c, offset: 0, width: 32}\n"
	struct block *b = fresh();
	char named[700], spec[400];

	(void)state;
	must(b, uncore_set_program(b->u, false));
	block_set32(b, 0, 7);
	must(b, block_use(b, CLEARED ONE));
	assert_int_equal(block_start(b, "test_0/c/"), -EACCES);
	assert_contains(uncore_error(b->u), "with --program only");
	assert_int_equal(*(volatile uint32_t *)b->map, 7);
	uncore_monitor_free(b->m);
	b->m = NULL;
	snprintf(named, sizeof(named), CLEARED "map: {file: '%s'}\n" ONE, b->map_path);
	tree_put(&b->tree, "named.yaml", named);
	snprintf(spec, sizeof(spec), "regs:%s/named.yaml", b->tree.dir);
	must(b, uncore_set_source(b->u, spec));
	must(b, uncore_scan(b->u));
	assert_int_equal(block_start(b, "test_0/c/"), -EACCES);
	assert_contains(uncore_error(b->u), "with --program only");
	assert_int_equal(*(volatile uint32_t *)b->map, 7);
	uncore_monitor_free(b->m);
	b->m = NULL;
	must(b, uncore_set_program(b->u, true));
	must(b, uncore_scan(b->u));
	must(b, block_start(b, "test_0/c/"));
	assert_int_equal(*(volatile uint32_t *)b->map, 0);
	block_remove(b);
}

/* What cannot be cleared in a plain file would be counted again at each reading. */
static void test_cleared_in_no_file(void **state)
{
	struct block *b = fresh();

	(void)state;
	must(b, block_use(b, "block: test\ntitle: Test\ninstance: unit\nevidence: none\n"
			     "pmu: test_{unit}\nspace: pci\nsize: 256\nwindow: read-to-clear\n"
			     "counters:\n  c: {title: c, offset: 0, width: 32}\n"));
	assert_int_equal(block_start(b, "test_0/c/"), -EINVAL);
	assert_contains(uncore_error(b->u), "is a plain file, where reading clears nothing");
	block_remove(b);
}

/* What may have overflowed between two readings is no value, however much was read. */
static void test_cleared_too_late(void **state)
{
	struct block *b = fresh();

	(void)state;
	must(b, block_use(b, HEAD "access: 32\nwindow: read-to-clear\nclock: {hz: 1e6}\n"
				  "quantity: dma\ncounters:\n"
				  "  act: {title: c, offset: 0, width: 17, role: active}\n"
				  "  any: {title: c, offset: 4, width: 17}\n"));
	must(b, block_start(b, "test_0/act/,test_0/any/"));
	block_wait_us(1000);
	block_set32(b, 0, 100);
	block_read(b);
	block_assert(b, "test_0/act/", 100);
	block_wait_us(140000); /* 2^17 us are 131 ms */
	block_set32(b, 0, 17);
	block_set32(b, 4, 18);
	block_read(b);
	block_assert_none(b, "test_0/act/", "may have overflowed");
	block_assert(b, "test_0/any/", 18);
	block_wait_us(1000);
	block_set32(b, 0, 3);
	block_read(b);
	block_assert(b, "test_0/act/", 3);
	/* Nobody knows by how much too little was counted in all. */
	block_total(b);
	block_assert_none(b, "test_0/act/", "may have overflowed between two readings");
	block_assert(b, "test_0/any/", 18);
	block_remove(b);
}

/* Who else reads the same file. */
static struct block *second(const struct block *b)
{
	static struct block other;

	other = (struct block){.tree = b->tree};
	strcpy(other.map_path, b->map_path);
	if (uncore_new(&other.u) || uncore_sample_new(&other.s))
		abort();
	must(&other, uncore_set_program(other.u, true));
	return &other;
}

static void forget(struct block *b)
{
	uncore_monitor_free(b->m);
	uncore_sample_free(b->s);
	uncore_free(b->u);
}

static void test_cleared_by_two(void **state)
{
	static const char text[] = HEAD "access: 32\nwindow: read-to-clear\ncount: 2\n"
					"stride: 0x100\ncounters:\n"
					"  c: {title: c, offset: 0, width: 32}\n"
					"  d: {title: c, offset: 4, width: 32}\n";
	struct block *b = fresh(), *other = second(b);

	(void)state;
	must(b, block_use(b, text));
	must(b, block_start(b, "test_0/c/,test_1/c/"));
	must(other, block_use(other, text));
	block_set32(b, 0, 7);
	assert_int_equal(block_start(other, "test_0/c/"), -EBUSY);
	assert_contains(uncore_error(other->u),
			"another process or monitor counts with this register");
	must(other, block_start(other, "test_1/d/"));
	block_read(b);
	block_assert(b, "test_0/c/", 7);
	uncore_monitor_free(b->m);
	b->m = NULL;
	must(other, block_start(other, "test_0/c/"));
	forget(other);
	block_remove(b);
}

#define FROZEN_BLOCK                                                          \
	HEAD "access: 32\nwindow: freeze\ncontrol:\n"                         \
	     "  ctl: {offset: 0x80, fields: {frz: {bits: 0, use: freeze}}}\n" \
	     "counters:\n  c: {title: c, offset: 0, width: 32}\n"

/* An instance whose status does not confirm the freeze has no value, and the others have. */
static void test_freeze_unconfirmed(void **state)
{
	struct block *b = fresh();

	(void)state;
	must(b, block_use(b, HEAD "access: 32\nwindow: freeze\ncount: 2\nstride: 0x100\ncontrol:\n"
				  "  ctl: {offset: 0x80, fields: {frz: {bits: 0, use: freeze}}}\n"
				  "  sts: {offset: 0x84, fields: {st: {bits: 0, access: RO, use: "
				  "frozen}}}\n"
				  "counters:\n  c: {title: c, offset: 0, width: 32}\n"));
	block_set32(b, 0x84, 1);
	must(b, block_start(b, "test_0/c/,test_1/c/"));
	block_set32(b, 0, 5);
	block_read(b);
	assert_close(block_row(b, "test_0/c/")->value, 5);
	block_assert_none(b, "test_1/c/", "its status did not confirm");
	assert_int_equal(*(volatile uint32_t *)(b->map + 0x180), 0);
	block_set32(b, 0x184, 1);
	block_read(b);
	block_set32(b, 0x100, 7);
	block_read(b);
	assert_close(block_row(b, "test_1/c/")->value, 7);
	block_remove(b);
}

/* What a control bit clears is added up. */
static void test_write_to_clear(void **state)
{
	struct block *b = fresh();

	(void)state;
	must(b,
	     block_use(b, HEAD "access: 32\nwindow: write-to-clear\ncontrol:\n"
			       "  ctl: {offset: 0x80, ones: 8, fields: {clr: {bits: 3, access: WO, "
			       "use: clear}}}\n"
			       "counters:\n  c: {title: c, offset: 0, width: 32}\n"));
	block_set32(b, 0, 1000);
	must(b, block_start(b, "test_0/c/"));
	for (uint32_t n = 10; n > 7; n--) {
		block_set32(b, 0, n); /* as if it had been 0 before */
		block_read(b);
		block_assert(b, "test_0/c/", n);
	}
	assert_int_equal(*(volatile uint32_t *)(b->map + 0x80), 1 << 8);
	block_total(b);
	block_assert(b, "test_0/c/", 27);
	block_remove(b);
}

static struct block *cleared_block;
static bool clears;

static void clear_at_once(void)
{
	volatile uint32_t *at = (volatile uint32_t *)cleared_block->map;

	if (!clears || !(at[0x80 / 4] & 8))
		return;
	at[0x80 / 4] &= ~8u;
	at[0] = 0;
}

/* A clear that is not confirmed in time loses the interval after it, whether the counter was cleared later or
 * not at all; then it is cleared again. */
static void test_clear_missed_once(void **state)
{
	struct block *b = fresh();

	(void)state;
	must(b, block_use(b, HEAD "access: 32\nwindow: write-to-clear\ncontrol:\n"
				  "  ctl: {offset: 0x80, fields: {clr: {bits: 3, use: clear}}}\n"
				  "counters:\n  c: {title: c, offset: 0, width: 32}\n"));
	cleared_block = b;
	block_hardware = clear_at_once;
	clears = true;
	must(b, block_start(b, "test_0/c/"));
	for (uint32_t i = 0; i < 2; i++) {
		clears = false;
		block_set32(b, 0, 10);
		block_read(b);
		block_assert(b, "test_0/c/", 10);
		clears = true;
		block_wait_us(500000);
		block_set32(b, 0, i ? 15 : 5);
		block_read(b);
		block_assert_none(b, "test_0/c/", "the block did not confirm");
		for (uint32_t n = 7; n > 5; n--) {
			block_wait_us(1000);
			block_set32(b, 0, n);
			block_read(b);
			block_assert(b, "test_0/c/", n);
			assert_true(block_row(b, "test_0/c/")->counted->seconds < 0.1);
		}
	}
	block_total(b);
	assert_int_equal(block_row(b, "test_0/c/")->quality, UNCORE_PARTIAL);
	assert_close(block_row(b, "test_0/c/")->value, 2 * (10 + 7 + 6));
	block_hardware = NULL;
	block_remove(b);
}

/* A block that somebody else has frozen counts nothing, which is not 0. */
static void test_frozen_by_another(void **state)
{
	struct block *b = fresh();

	(void)state;
	must(b, uncore_set_program(b->u, false));
	must(b, block_use(b, FROZEN_BLOCK));
	block_set32(b, 0x80, 1);
	must(b, block_start(b, "test_0/c/"));
	assert_true(noted(b, "test_0 on CPU 0 (1 of 1) was found frozen"));
	block_read(b);
	block_assert_none(b, "test_0/c/", "is frozen by another program");
	block_set32(b, 0x80, 0);
	block_read(b);
	block_set32(b, 0, 5);
	block_read(b);
	block_assert(b, "test_0/c/", 5);
	/* What is all ones is gone. */
	memset((void *)b->map, 0xff, BLOCK_SIZE);
	block_read(b);
	block_assert_none(b, "test_0/c/", "the device is gone");
	block_remove(b);
}

/* What stops its block does so somewhere between two readings: counts are right, rates are not known. */
static void test_stopped_between(void **state)
{
	const struct uncore_row *row;
	struct block *b = fresh();

	(void)state;
	must(b,
	     block_use(b, HEAD
		       "access: 32\nwindow: freeze\nclock: host\nquantity: dma\noverflow: freezes\n"
		       "control:\n  ctl: {offset: 0x80, fields: {frz: {bits: 0, use: freeze}}}\n"
		       "counter_control: {fields: {ev: {bits: 0-7, use: event}}}\n"
		       "counters:\n  n: {title: c, offset: 0, width: 32, control: 0x40}\n"
		       "  act: {title: c, offset: 8, width: 32, role: bytes, per_second: 1e9}\n"));
	must(b, uncore_monitor_new(&b->m, b->u));
	must(b, uncore_monitor_add_events(b->m, "test_0/ev=1,after=100/"));
	must(b, uncore_monitor_add_metrics(b->m, "*"));
	must(b, uncore_monitor_open(b->m));
	must(b, uncore_monitor_start(b->m));
	for (uint32_t i = 0; i < 2; i++) {
		block_wait_us(20000);
		block_set32(b, 0, i ? 3 : 0u - 40);
		block_set32(b, 8, 1000 * (i + 1));
		block_read(b);
		block_assert(b, "test_0/ev=1,after=100/", i ? 43 : 60);
		row = block_row(b, "test_0/ev=1,after=100/");
		assert_true(i ? isnan(row->rate) : row->rate > 0);
		row = block_row(b, "dma.bandwidth");
		assert_int_equal(row->quality, i ? UNCORE_PARTIAL : UNCORE_MEASURED);
	}
	assert_contains(row->reason, "an unknown part of");
	block_read(b);
	block_total(b);
	row = block_row(b, "dma.bandwidth");
	assert_true(row->low < row->value && row->high > 1.5 * row->value);
	block_remove(b);
}

/* A reader that was killed leaves it so. */
static void test_found_frozen(void **state)
{
	struct block *b = fresh();

	(void)state;
	must(b, block_use(b, FROZEN_BLOCK));
	must(b, block_start(b, "test_0/c/"));
	assert_false(noted(b, "frozen"));
	uncore_monitor_free(b->m);
	b->m = NULL;
	block_set32(b, 0x80, 1);
	must(b, block_start(b, "test_0/c/"));
	assert_true(noted(b, "frozen again afterwards"));
	block_set32(b, 0, 5);
	block_read(b);
	block_assert(b, "test_0/c/", 5);
	uncore_monitor_free(b->m);
	b->m = NULL;
	assert_int_equal(*(volatile uint32_t *)(b->map + 0x80), 1);
	block_remove(b);
}

/* The file ends while its counters are counted: no signal, and what cannot be put back is told. */
static void test_cut_short(void **state)
{
	struct block *b = fresh();

	(void)state;
	must(b, block_use(b, FROZEN_BLOCK));
	must(b, block_start(b, "test_0/c/"));
	block_read(b);
	assert_int_equal(truncate(b->map_path, BLOCK_SIZE - 1), 0);
	block_read(b);
	block_assert_none(b, "test_0/c/", "No such device");
	assert_int_equal(truncate(b->map_path, 0), 0);
	block_read(b);
	block_assert_none(b, "test_0/c/", "No such device");
	assert_int_equal(uncore_monitor_stop(b->m), -ENODEV);
	assert_contains(uncore_error(b->u), "0x80 was written and could not be put back");
	uncore_monitor_free(b->m);
	b->m = NULL;
	assert_int_equal(truncate(b->map_path, BLOCK_SIZE), 0);
	must(b, block_start(b, "test_0/c/"));
	assert_int_equal(truncate(b->map_path, 0), 0);
	block_remove(b);
}

/* The second one would find the block frozen by the first, and leave it so. */
static void test_frozen_by_two(void **state)
{
	struct block *b = fresh(), *other = second(b);

	(void)state;
	must(b, block_use(b, FROZEN_BLOCK));
	must(b, block_start(b, "test_0/c/"));
	must(other, block_use(other, FROZEN_BLOCK));
	assert_int_equal(block_start(other, "test_0/c/"), -EBUSY);
	assert_contains(uncore_error(other->u),
			"another process or monitor counts with its registers");
	uncore_monitor_free(other->m);
	other->m = NULL;
	must(other, uncore_set_program(other->u, false));
	must(other, uncore_scan(other->u));
	must(other, block_start(other, "test_0/c/"));
	forget(other);
	block_remove(b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_read_to_clear),
		cmocka_unit_test(test_cleared_for_two_groups),
		cmocka_unit_test(test_cleared_when_full),
		cmocka_unit_test(test_cleared_when_away),
		cmocka_unit_test(test_cleared_by_mistake),
		cmocka_unit_test(test_cleared_in_no_file),
		cmocka_unit_test(test_cleared_too_late),
		cmocka_unit_test(test_cleared_by_two),
		cmocka_unit_test(test_frozen_by_two),
		cmocka_unit_test(test_frozen_by_another),
		cmocka_unit_test(test_freeze_unconfirmed),
		cmocka_unit_test(test_write_to_clear),
		cmocka_unit_test(test_clear_missed_once),
		cmocka_unit_test(test_stopped_between),
		cmocka_unit_test(test_found_frozen),
		cmocka_unit_test(test_cut_short),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: MIT */
/* Packets of SPE, by hand. That whole recordings are read as by perf is check-spe.py's work. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "helpers.h"
#include "ibs/spe.h"

#define NEOVERSE_N1 UINT64_C(0x413fd0c1)

/* A load in the kernel that missed, of thread 258; its data came from memory. */
static const unsigned char load[] = {
	0xb0, 0x34, 0x12, 0x00, 0x08, 0x00, 0x80, 0xff, 0xa0, /* instruction, EL1 */
	0x64, 0x02, 0x01, 0x00, 0x00,                         /* context */
	0x49, 0x00,                                           /* a load */
	0x52, 0x0e, 0x02, /* events, with L1 refill and LLC miss */
	0x98, 0x2c, 0x01, /* 300 clocks */
	0x99, 0x07, 0x00, /* until issue */
	0xb2, 0x08, 0x10, 0x00, 0x00, 0x00, 0x7f, 0x00, 0xab, /* data, with a tag */
	0x43, 0x0e,                                           /* source */
	0x00, 0x00,                                           /* padding */
	0x71, 0x08, 0x07, 0x06, 0x05, 0x04, 0x03, 0x02, 0x01, /* time */
};

static void a_load(void **state)
{
	struct unc_spe_record r;

	(void)state;
	assert_int_equal(unc_spe_take(load, sizeof(load), NEOVERSE_N1, &r), sizeof(load));
	assert_true(r.load && r.miss && r.latency && r.timed && r.context && !r.broken);
	assert_int_equal(r.of.has, UNC_LOAD_IP | UNC_LOAD_ADDRESS);
	assert_true(r.of.ip == UINT64_C(0xffff800008001234));
	assert_true(r.of.address == UINT64_C(0x7f0000001008));
	assert_int_equal(r.of.latency, 300);
	assert_int_equal(r.of.tid, 258);
	assert_int_equal(r.of.source, UNC_IBS_LOCAL_DRAM);
	assert_true(r.of.time == UINT64_C(0x0102030405060708));
	/* Another model's data sources mean something else. */
	assert_int_equal(unc_spe_take(load, sizeof(load), 0, &r), sizeof(load));
	assert_int_equal(r.of.source, UNC_IBS_UNKNOWN);
	assert_true(r.miss);
}

static void records_that_are_cut_off(void **state)
{
	struct unc_spe_record r;

	(void)state;
	for (size_t size = 0; size < sizeof(load); size++) {
		unsigned char *cut = malloc(size + !size);

		assert_non_null(cut);
		memcpy(cut, load, size);
		assert_int_equal(unc_spe_take(cut, size, NEOVERSE_N1, &r), 0);
		free(cut);
	}
}

static void each_source(void **state)
{
	static const struct {
		unsigned char value;
		enum unc_ibs_source source;
		bool miss;
	} sources[] = {
		{0x0, UNC_IBS_UNKNOWN, false},     {0x8, UNC_IBS_L2, true},
		{0x9, UNC_IBS_CORE, true},         {0xa, UNC_IBS_CLUSTER, true},
		{0xb, UNC_IBS_SYSTEM_CACHE, true}, {0xc, UNC_IBS_PEER_CLUSTER, true},
		{0xd, UNC_IBS_OTHER_SOCKET, true}, {0xe, UNC_IBS_LOCAL_DRAM, true},
		{0xf, UNC_IBS_UNKNOWN, true},      {0x5, UNC_IBS_UNKNOWN, true},
	};
	struct unc_spe_record r;

	(void)state;
	for (size_t i = 0; i < COUNT(sources); i++) {
		const unsigned char bytes[] = {0x49, 0x00, 0x43, sources[i].value, 0x01};

		assert_int_equal(unc_spe_take(bytes, sizeof(bytes), NEOVERSE_N1, &r), 5);
		assert_int_equal(r.of.source, sources[i].source);
		assert_int_equal(r.miss, sources[i].miss);
		assert_false(r.latency);
	}
}

static void what_is_no_load(void **state)
{
	static const unsigned char store[] = {0x49, 0x01, 0x01}, branch[] = {0x4a, 0x00, 0x01},
				   vector[] = {0x49, 0x04, 0x01};
	struct unc_spe_record r;

	(void)state;
	assert_int_equal(unc_spe_take(store, 3, NEOVERSE_N1, &r), 3);
	assert_false(r.load);
	assert_int_equal(unc_spe_take(branch, 3, NEOVERSE_N1, &r), 3);
	assert_false(r.load);
	assert_int_equal(unc_spe_take(vector, 3, NEOVERSE_N1, &r), 3);
	assert_true(r.load);
}

static void bytes_that_are_no_packet(void **state)
{
	struct unc_spe_record r;

	(void)state;
	/* An extended header is one of an address or a counter only. */
	assert_int_equal(unc_spe_take("\x20\x42\x01", 3, NEOVERSE_N1, &r), 1);
	assert_true(r.broken);
	assert_int_equal(unc_spe_take("\x20\x98\x05\x00\x01", 5, NEOVERSE_N1, &r), 5);
	assert_true(!r.broken && r.latency);
	/* Another counter than the total one. */
	assert_int_equal(unc_spe_take("\x21\x98\x05\x00\x01", 5, NEOVERSE_N1, &r), 5);
	assert_false(r.latency);
	assert_int_equal(unc_spe_take("\x00\x00\xff", 3, NEOVERSE_N1, &r), 3);
	assert_true(r.broken);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_load),
		cmocka_unit_test(records_that_are_cut_off),
		cmocka_unit_test(each_source),
		cmocka_unit_test(what_is_no_load),
		cmocka_unit_test(bytes_that_are_no_packet),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}

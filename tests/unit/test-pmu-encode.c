/* SPDX-License-Identifier: MIT */
/* Terms and aliases as configuration words. Expected words are written by hand from the drivers'
 * formats, never by the code under test. */
#include "machine/pmu.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

#include "scan.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* ---- the examples of the kernel's document on Tegra410 ---- */

struct word_case {
	const char *pmu, *terms;
	uint64_t config, config1, config2;
};

static const struct {
	const char *list;
	size_t count;
	struct word_case events[3];
} examples[] = {
	{"nvidia_ucf_pmu_0/event=0x0/", 1, {{"nvidia_ucf_pmu_0", "event=0x0", 0, 0, 0}}},
	/* src_loc_cpu bit 1, dst_loc_cmem bit 8 */
	{"nvidia_ucf_pmu_0/event=0x0,src_loc_cpu=0x1,dst_loc_cmem=0x1/",
	 1,
	 {{"nvidia_ucf_pmu_0", NULL, 0, 0x102, 0}}},
	/* src_loc_noncpu bit 0, dst_rem bit 11 */
	{"nvidia_ucf_pmu_1/event=0x0,src_loc_noncpu=0x1,dst_rem=0x1/",
	 1,
	 {{"nvidia_ucf_pmu_1", NULL, 0, 0x801, 0}}},
	{"nvidia_pcie_pmu_0_rc_0/event=0x0,src_rp_mask=0x1/",
	 1,
	 {{"nvidia_pcie_pmu_0_rc_0", NULL, 0, 0x1, 0}}},
	{"nvidia_pcie_pmu_0_rc_1/event=0x1,src_rp_mask=0x3,dst_loc_cmem=0x1/",
	 1,
	 {{"nvidia_pcie_pmu_0_rc_1", NULL, 0x1, 0x3, 0x1}}},
	{"nvidia_pcie_pmu_1_rc_2/event=0x2,src_rp_mask=0x1/",
	 1,
	 {{"nvidia_pcie_pmu_1_rc_2", NULL, 0x2, 0x1, 0}}},
	{"nvidia_pcie_pmu_1_rc_3/event=0x3,src_rp_mask=0x3,dst_loc_cmem=0x1/",
	 1,
	 {{"nvidia_pcie_pmu_1_rc_3", NULL, 0x3, 0x3, 0x1}}},
	/* src_bdf bits 8-23, src_bdf_en bit 24 */
	{"nvidia_pcie_pmu_0_rc_4/event=0x4,src_bdf=0x0180,src_bdf_en=0x1/",
	 1,
	 {{"nvidia_pcie_pmu_0_rc_4", NULL, 0x4, 0x1018000, 0}}},
	/* dst_rp_mask config bits 3-10 */
	{"nvidia_pcie_tgt_pmu_0_rc_0/event=0x0,dst_rp_mask=0x3/",
	 1,
	 {{"nvidia_pcie_tgt_pmu_0_rc_0", NULL, 0x18, 0, 0}}},
	/* dst_addr_en config bit 11 */
	{"nvidia_pcie_tgt_pmu_0_rc_1/event=0x1,dst_addr_base=0x10000,dst_addr_mask=0xFFF00,"
	 "dst_addr_en=0x1/",
	 1,
	 {{"nvidia_pcie_tgt_pmu_0_rc_1", NULL, 0x801, 0x10000, 0xfff00}}},
	{"{nvidia_cmem_latency_pmu_0/rd_req/,nvidia_cmem_latency_pmu_0/rd_cum_outs/,"
	 "nvidia_cmem_latency_pmu_0/cycles/}",
	 3,
	 {{"nvidia_cmem_latency_pmu_0", "rd_req", 0x1, 0, 0},
	  {"nvidia_cmem_latency_pmu_0", "rd_cum_outs", 0x2, 0, 0},
	  {"nvidia_cmem_latency_pmu_0", "cycles", 0x0, 0, 0}}},
	{"nvidia_nvlink_c2c_pmu_0/in_rd_req/",
	 1,
	 {{"nvidia_nvlink_c2c_pmu_0", "in_rd_req", 0x2, 0, 0}}},
	{"nvidia_nvlink_c2c_pmu_0/in_rd_cum_outs,gpu_mask=0x1/",
	 1,
	 {{"nvidia_nvlink_c2c_pmu_0", NULL, 0x1, 0x1, 0}}},
	{"nvidia_nvlink_c2c_pmu_0/in_rd_cum_outs,gpu_mask=0x2/",
	 1,
	 {{"nvidia_nvlink_c2c_pmu_0", NULL, 0x1, 0x2, 0}}},
	{"nvidia_nvlink_c2c_pmu_0/out_rd_req/", 1, {{"nvidia_nvlink_c2c_pmu_0", NULL, 0x6, 0, 0}}},
	{"nvidia_nvlink_c2c_pmu_0/out_rd_cum_outs,gpu_mask=0x1/",
	 1,
	 {{"nvidia_nvlink_c2c_pmu_0", NULL, 0x5, 0x1, 0}}},
	{"nvidia_nvlink_c2c_pmu_0/out_rd_cum_outs,gpu_mask=0x2/",
	 1,
	 {{"nvidia_nvlink_c2c_pmu_0", NULL, 0x5, 0x2, 0}}},
	{"nvidia_nvclink_pmu_0/in_rd_req/", 1, {{"nvidia_nvclink_pmu_0", NULL, 0x2, 0, 0}}},
	{"nvidia_nvclink_pmu_0/out_rd_req/", 1, {{"nvidia_nvclink_pmu_0", NULL, 0x6, 0, 0}}},
	{"{nvidia_nvdlink_pmu_0/in_rd_req/,nvidia_nvdlink_pmu_0/in_rd_cum_outs/}",
	 2,
	 {{"nvidia_nvdlink_pmu_0", "in_rd_req", 0x2, 0, 0},
	  {"nvidia_nvdlink_pmu_0", "in_rd_cum_outs", 0x1, 0, 0}}},
};

/* What the tree of tests/machines lacks: the second socket, and NV-CLink to a CPU. */
static void put_second_socket(const struct tree *t)
{
	static const struct {
		const char *pmu, *file, *text;
	} files[] = {
		{"nvidia_ucf_pmu_1", "type", "40\n"},
		{"nvidia_ucf_pmu_1", "format/event", "config:0-32\n"},
		{"nvidia_ucf_pmu_1", "format/src_loc_noncpu", "config1:0\n"},
		{"nvidia_ucf_pmu_1", "format/dst_rem", "config1:11\n"},
		{"nvidia_pcie_pmu_1_rc_2", "type", "41\n"},
		{"nvidia_pcie_pmu_1_rc_2", "format/event", "config:0-32\n"},
		{"nvidia_pcie_pmu_1_rc_2", "format/src_rp_mask", "config1:0-7\n"},
		{"nvidia_pcie_pmu_1_rc_3", "type", "42\n"},
		{"nvidia_pcie_pmu_1_rc_3", "format/event", "config:0-32\n"},
		{"nvidia_pcie_pmu_1_rc_3", "format/src_rp_mask", "config1:0-7\n"},
		{"nvidia_pcie_pmu_1_rc_3", "format/dst_loc_cmem", "config2:0\n"},
		{"nvidia_nvclink_pmu_0", "type", "43\n"},
		{"nvidia_nvclink_pmu_0", "peer", "nr_cpu=1\n"},
		{"nvidia_nvclink_pmu_0", "format/event", "config:0-3\n"},
		{"nvidia_nvclink_pmu_0", "events/in_rd_req", "event=0x2\n"},
		{"nvidia_nvclink_pmu_0", "events/out_rd_req", "event=0x6\n"},
	};

	tree_put(t, "sys/devices/system/cpu/present", "0-7\n");
	for (size_t i = 0; i < COUNT(files); i++)
		tree_pmu(t, files[i].pmu, files[i].file, files[i].text);
}

static void check_words(const struct uncore_pmu *p, const char *terms, const struct word_case *want)
{
	struct unc_encoding enc;
	struct unc_error e = {0};

	if (unc_pmu_encode(p, terms, &enc, &e))
		fail_msg("%s", e.text);
	if (enc.config.word[0] != want->config || enc.config.word[1] != want->config1 ||
	    enc.config.word[2] != want->config2 || enc.config.word[3])
		fail_msg("%s/%s/: %#llx %#llx %#llx %#llx", p->name, terms,
			 (unsigned long long)enc.config.word[0],
			 (unsigned long long)enc.config.word[1],
			 (unsigned long long)enc.config.word[2],
			 (unsigned long long)enc.config.word[3]);
}

static void examples_of_the_document(void **state)
{
	struct scan first, second;
	struct tree t;

	(void)state;
	assert_int_equal(COUNT(examples), 20);
	tree_make(&t);
	put_second_socket(&t);
	scan_machine(&first, "nvidia-t410-1socket");
	scan_open(&second, t.dir);
	for (size_t i = 0; i < COUNT(examples); i++) {
		struct unc_events list = {0};
		struct unc_error e = {0};

		if (unc_events_parse(examples[i].list, &list, &e))
			fail_msg("%s", e.text);
		assert_int_equal(list.count, examples[i].count);
		assert_int_equal(list.group_count, examples[i].list[0] == '{');
		for (size_t k = 0; k < list.count; k++) {
			const struct word_case *want = &examples[i].events[k];
			const struct uncore_pmu *p = scan_find(&first, want->pmu);

			assert_string_equal(list.items[k].pmu, want->pmu);
			assert_int_equal(list.items[k].group, list.group_count ? 0 : -1);
			if (want->terms)
				assert_string_equal(list.items[k].terms, want->terms);
			check_words(p ? p : scan_pmu(&second, want->pmu), list.items[k].terms,
				    want);
		}
		unc_events_finish(&list);
	}
	scan_close(&first);
	scan_close(&second);
	tree_remove(&t);
}

/* ---- other machines of the repository ---- */

static void split_fields(void **state)
{
	static const struct {
		const char *machine;
		struct word_case words;
	} cases[] = {
		{"intel-spr-1socket", {"uncore_imc_0", "cas_count_read", 0xcf05, 0, 0}},
		{"intel-spr-1socket",
		 {"uncore_cha_3", "event=0x35,umask=0xc817fe01", 0xc817fe00000135, 0, 0}},
		{"intel-icx-1socket",
		 {"uncore_iio_0", "event=0x83,umask=0x04,ch_mask=0x1,fc_mask=0x7", 0x7001000000483,
		  0, 0}},
		{"intel-skx-1socket",
		 {"uncore_iio_0", "event=0x83,umask=0x04,ch_mask=0x1,fc_mask=0x7", 0x701000000483,
		  0, 0}},
		{"intel-skx-1socket",
		 {"uncore_cha_0", "event=0x35,umask=0x15,config1=0x3b00000000", 0x1535,
		  0x3b00000000, 0}},
		{"intel-ivt-1socket", {"uncore_qpi_0", "event=0x102,umask=0x08", 0x200802, 0, 0}},
		{"intel-ivt-1socket",
		 {"uncore_cbox_0", "event=0x35,umask=0x3,filter_opc=0x182", 0x335,
		  0x1820000000000000, 0}},
		{"amd-zen4-1socket", {"amd_df", "event=0x71f,umask=0xffe", 0x70f00fe1f, 0, 0}},
		{"amd-zen4-1socket", {"msr", "tsc", 0, 0, 0}},
		{"nvidia-grace-1socket", {"nvidia_scf_pmu_0", "cycles", 0x100000000, 0, 0}},
		{"nvidia-grace-1socket",
		 {"nvidia_pcie_pmu_0", "rd_bytes_rem,root_port=0x3ff", 1, 0x3ff, 0}},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct scan s;

		scan_machine(&s, cases[i].machine);
		check_words(scan_pmu(&s, cases[i].words.pmu), cases[i].words.terms,
			    &cases[i].words);
		scan_close(&s);
	}
}

/* ---- a PMU with everything ---- */

static struct scan odd;
static struct tree odd_tree;

static const struct {
	const char *file, *text;
} odd_files[] = {
	{"type", "50\n"},
	{"format/event", "config:0-7\n"},
	{"format/umask", "config:8-15\n"},
	{"format/edge", "config:18\n"},
	{"format/inv", "config:23\n"},
	{"format/thresh", "config:23-32\n"},
	{"format/filter", "config1:0-15\n"},
	{"format/match", "config2\n"},
	{"format/lane", "config3:0-3\n"},
	{"format/both", "config:33\n"},
	{"format/strange", "attr:0-3\n"},
	{"events/read", "event=0x04,umask=0x03"},
	{"events/write", "event=0x04,umask=0x0c"},
	{"events/both", "event=0x77\n"},
	{"events/raw", "config=0x1234,config1=7\n"},
	{"events/lane_up", "event=0x9,lane=?\n"},
	{"events/whole", "config1=?,event=2\n"},
	{"events/flag", "event=3,edge\n"},
	{"events/bad_term", "event=3,none=1\n"},
	{"events/bad_value", "event=0x100\n"},
	{"events/bad_text", "event=\n"},
	{"events/nested", "read,edge\n"},
};

static int make_odd(void **state)
{
	(void)state;
	tree_make(&odd_tree);
	tree_put(&odd_tree, "sys/devices/system/cpu/present", "0-1\n");
	for (size_t i = 0; i < COUNT(odd_files); i++)
		tree_pmu(&odd_tree, "uncore_odd_0", odd_files[i].file, odd_files[i].text);
	scan_open(&odd, odd_tree.dir);
	return 0;
}

static int remove_odd(void **state)
{
	(void)state;
	scan_close(&odd);
	tree_remove(&odd_tree);
	return 0;
}

static void words_of_terms(void **state)
{
	static const struct {
		const char *terms;
		uint64_t words[4];
	} cases[] = {
		{"event=1", {0x1}},
		{"event=0x1F,umask=0XfF", {0xff1f}},
		{"event=010", {10}}, /* decimal, as in perf */
		{" event = 1 , umask = 2 ", {0x201}},
		{"EVENT=1", {0x1}},
		{"edge", {0x40000}},
		{"edge=0", {0}},
		{"edge,event=2", {0x40002}},
		{"match=0xffffffffffffffff", {0, 0, UINT64_MAX}},
		{"lane=15", {0, 0, 0, 15}},
		{"filter=0xffff,event=1", {1, 0xffff}},
		{"config=0x10", {0x10}},
		{"config=1,config1=2,config2=3,config3=4", {1, 2, 3, 4}},
		{"r304", {0x304}},
		{"r0x1aF", {0x1af}},
		{"r1a,edge", {0x4001a}},
		/* Bits add up, whatever the order of writing. */
		{"event=0x22,config=0xff11", {0xff33}},
		{"config=0xff11,event=0x22", {0xff33}},
		{"config1=0xf0000,filter=1", {0, 0xf0001}},
		{"config=1,config=2", {2}},
		{"thresh=2,inv=1", {0x1800000}},
		{"inv=1,thresh=2", {0x1800000}},
		/* Aliases, and what the user adds or changes. */
		{"read", {0x304}},
		{"READ", {0x304}},
		{"event=read", {0x304}},
		{"read,umask=0x0c", {0xc04}},
		{"umask=0x0c,read", {0xc04}},
		{"read,edge,filter=3", {0x40304, 3}},
		{"raw", {0x1234, 7}},
		{"raw,config1=8", {0x1234, 8}},
		{"raw,event=0xff", {0x12ff, 7}},
		{"raw,event=0", {0x1200, 7}},
		{"flag", {0x40003}},
		{"flag,edge=0", {0x3}},
		{"lane_up,lane=3", {0x9, 0, 0, 3}},
		{"lane=0xf,lane_up", {0x9, 0, 0, 15}},
		{"whole,config1=5", {2, 5}},
		/* A name that is a term and an event is the term; the event takes event=. */
		{"both", {0x200000000}},
		{"event=both", {0x77}},
		{"both=1,event=both", {0x200000077}},
		/* Words that are for the reader. */
		{"event=1,name=x.y:z", {1}},
		{"event=1,name='a, b',metric-id=foo", {1}},
		{"event=1,cpu=1", {1}},
	};
	const struct uncore_pmu *p = scan_pmu(&odd, "uncore_odd_0");

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct unc_encoding enc;
		struct unc_error e = {0};

		if (unc_pmu_encode(p, cases[i].terms, &enc, &e))
			fail_msg("%s", e.text);
		for (int w = 0; w < 4; w++)
			if (enc.config.word[w] != cases[i].words[w])
				fail_msg("%s: config%d %#llx", cases[i].terms, w,
					 (unsigned long long)enc.config.word[w]);
	}
}

static void what_else_is_said(void **state)
{
	const struct uncore_pmu *p = scan_pmu(&odd, "uncore_odd_0");
	struct unc_encoding enc;

	(void)state;
	assert_int_equal(unc_pmu_encode(p, "event=1", &enc, NULL), 0);
	assert_null(enc.alias);
	assert_string_equal(enc.name, "");
	assert_int_equal(enc.cpu, -1);
	assert_int_equal(unc_pmu_encode(p, "read,name='my reads',cpu=0x1", &enc, NULL), 0);
	assert_string_equal(enc.alias->name, "read");
	assert_string_equal(enc.name, "my reads");
	assert_int_equal(enc.cpu, 1);
	assert_int_equal(unc_pmu_encode(p, "event=both", &enc, NULL), 0);
	assert_string_equal(enc.alias->name, "both");
}

static const struct {
	const char *terms;
	int err;
	const char *says;
} mistakes[] = {
	{"evnt=1", -EINVAL, "it has no term 'evnt' (did you mean event?); its terms: both, edge"},
	{"rad", -EINVAL, "it has no term or event 'rad' (did you mean raw or read?)"},
	{"qqqqqqqq", -EINVAL, "no term or event 'qqqqqqqq'; its terms: both, edge, event, filter"},
	{"qqqqqqqq", -EINVAL, "; its events: bad_term, bad_text"},
	{"config4=1", -EINVAL, "it has no term 'config4'"},
	{"event=0x100", -EINVAL,
	 "the value 0x100 is too wide for the term 'event', which has 8 bits (config:0-7): the "
	 "largest is 0xff"},
	{"edge=2", -EINVAL,
	 "the value 0x2 is too wide for the term 'edge', which has 1 bit (config:18): the largest "
	 "is 0x1"},
	{"thresh=0x400", -EINVAL, "which has 10 bits (config:23-32): the largest is 0x3ff"},
	{"umask=0x10000000000000000", -EINVAL, "wider than 64 bits"},
	{"umask=x", -EINVAL, "the value of 'umask', 'x', is not a number"},
	{"umask=-1", -EINVAL, "the value of 'umask', '-1', is not a number"},
	{"umask=1k", -EINVAL, "is not a number"},
	{"event=reed", -EINVAL, "it has no event 'reed' (did you mean read?)"},
	{"umask=", -EINVAL, "expected a list such as term=1"},
	{"event=1,,umask=1", -EINVAL, "expected a list such as term=1"},
	{"event=1,", -EINVAL, "expected a list such as term=1"},
	{"event=1 umask=2", -EINVAL, "expected a list such as term=1"},
	{"event=1,event=2", -EINVAL, "the term 'event' is given twice"},
	{"event=1,EVENT=1", -EINVAL, "the term 'event' is given twice"},
	{"read,write", -EINVAL, "'read' and 'write' are both events"},
	{"read,read", -EINVAL, "'read' and 'read' are both events"},
	{"read,event=write", -EINVAL, "'read' and 'write' are both events"},
	{"strange=1", -EINVAL,
	 "the term 'strange' cannot be used: its format 'attr:0-3' is not understood"},
	{"config", -EINVAL, "'config' needs a value"},
	{"config1=zz", -EINVAL, "is not a number"},
	{"name", -EINVAL, "'name' needs a value"},
	{"event=1,cpu", -EINVAL, "'cpu' needs a value"},
	{"event=1,cpu=70000", -EINVAL, "there is no CPU 70000"},
	{"r12345678901234567", -EINVAL, "wider than 64 bits"},
	{"event=1,period=1000", -EINVAL, "it has no term 'period'"},
	{"lane_up", -EINVAL,
	 "the event 'lane_up' needs a value for 'lane': write uncore_odd_0/lane_up,lane=VALUE/"},
	{"lane_up,lane", -EINVAL, "needs a value for 'lane'"},
	{"lane_up,lane=?", -EINVAL, "the value of 'lane', '?', is not a number"},
	{"lane_up,lane=16", -EINVAL, "too wide for the term 'lane'"},
	{"whole", -EINVAL, "needs a value for 'config1'"},
	{"bad_term", -EBADMSG,
	 "uncore_odd_0: its event 'bad_term' is 'event=3,none=1': it has no term 'none'"},
	{"bad_value", -EBADMSG, "its event 'bad_value' is 'event=0x100': the value 0x100"},
	{"bad_text", -EBADMSG, "its event 'bad_text' is 'event=': at 'event='"},
	{"nested", -EBADMSG, "its event 'nested' is 'read,edge': it has no term 'read'"},
};

static void mistakes_are_explained(void **state)
{
	const struct uncore_pmu *p = scan_pmu(&odd, "uncore_odd_0");

	(void)state;
	for (size_t i = 0; i < COUNT(mistakes); i++) {
		struct unc_encoding enc = {.cpu = 77};
		struct unc_error e = {0};
		const char *terms = mistakes[i].terms;

		if (unc_pmu_encode(p, terms, &enc, &e) != mistakes[i].err)
			fail_msg("'%s' gave another error: %s", terms, e.text);
		if (!strstr(e.text, mistakes[i].says))
			fail_msg("'%s': %s", terms, e.text);
		assert_non_null(strstr(e.text, "uncore_odd_0"));
		assert_int_equal(enc.cpu, 77);
		assert_int_equal(unc_pmu_encode(p, terms, &enc, NULL), mistakes[i].err);
	}
}

static void mistakes_on_a_real_machine(void **state)
{
	static const struct {
		const char *pmu, *terms, *says;
	} cases[] = {
		{"nvidia_pcie_pmu_0_rc_0", "event=0,src_rp_mask=0x100",
		 "nvidia_pcie_pmu_0_rc_0/event=0,src_rp_mask=0x100/: the value 0x100 is too wide "
		 "for the term 'src_rp_mask', which has 8 bits (config1:0-7): the largest is 0xff"},
		{"nvidia_pcie_tgt_pmu_0_rc_0", "event=8", "which has 3 bits (config:0-2)"},
		{"nvidia_ucf_pmu_0", "mem_bytes_rdd", "did you mean mem_bytes_rd"},
		{"nvidia_ucf_pmu_0", "evnt=0", "did you mean event?"},
		{"nvidia_ucf_pmu_0", "src_loc_cpu=1,nothing", "slc_wb"},
		{"nvidia_nvdlink_pmu_0", "in_rd_req,gpu_mask=1", "it has no term 'gpu_mask'"},
	};
	struct scan s;

	(void)state;
	scan_machine(&s, "nvidia-t410-1socket");
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct unc_encoding enc;
		struct unc_error e = {0};

		assert_int_equal(unc_pmu_encode(scan_pmu(&s, cases[i].pmu), cases[i].terms, &enc,
						&e),
				 -EINVAL);
		if (!strstr(e.text, cases[i].says))
			fail_msg("%s", e.text);
	}
	scan_close(&s);
}

/* Grace has 33 events in one PMU: a sentence names some and counts the rest. */
static void long_lists_are_cut(void **state)
{
	const struct uncore_pmu *p;
	struct unc_encoding enc;
	struct unc_error e;
	char rest[40];
	struct scan s;

	(void)state;
	scan_machine(&s, "nvidia-grace-1socket");
	p = scan_pmu(&s, "nvidia_scf_pmu_0");
	assert_true(uncore_pmu_alias_count(p) > 20);
	assert_int_equal(unc_pmu_encode(p, "qqqqqqqq", &enc, &e), -EINVAL);
	snprintf(rest, sizeof(rest), " and %zu more", uncore_pmu_alias_count(p) - 20);
	assert_non_null(strstr(e.text, rest));
	scan_close(&s);
}

/* The sentence of a load that fails is passed on. */
static void a_pmu_that_cannot_be_read(void **state)
{
	struct unc_encoding enc;
	struct unc_error e = {0};
	struct tree t;
	struct scan s;

	(void)state;
	tree_make(&t);
	tree_put(&t, "sys/devices/system/cpu/present", "0\n");
	tree_pmu(&t, "x", "type", "10\n");
	tree_pmu(&t, "x", "events/a", "event=1\n");
	tree_put_bytes(&t, TREE_PMU "x/events/b", "\0", 1);
	scan_open(&s, t.dir);
	assert_int_equal(unc_pmu_encode(&s.pmus.items[0], "a", &enc, &e), -EBADMSG);
	assert_non_null(strstr(e.text, "devices/x/events/b cannot be read"));
	scan_close(&s);
	tree_remove(&t);
}

/* Nothing but the use of such an event is a mistake, also where terms of the user replace it all. */
static void an_alias_without_a_scale(void **state)
{
	static const char *const good[] = {"fine", "event=1", "event=fine"};
	static const struct {
		const char *terms, *says;
	} bad[] = {
		{"much", "x: its event 'much' is 'event=2': sys/bus/event_source/devices/x/events/"
			 "much.scale: '?' is not a valid number such as 6.1035e-5"},
		{"event=much", "events/much.scale: '?' is not a valid number"},
		{"MUCH,event=3", "events/much.scale: '?' is not a valid number"},
		{"emptied",
		 "x: its event 'emptied' is '': sys/bus/event_source/devices/x/events/emptied is "
		 "empty"},
		{"sealed", "devices/x/events/sealed.scale cannot be read: Bad message"},
		{"nameless", "devices/x/events/nameless.unit cannot be read: Bad message"},
	};
	struct unc_encoding enc;
	struct unc_error e = {0};
	const struct uncore_pmu *p;
	struct tree t;
	struct scan s;

	(void)state;
	tree_make(&t);
	tree_put(&t, "sys/devices/system/cpu/present", "0\n");
	tree_pmu(&t, "x", "type", "10\n");
	tree_pmu(&t, "x", "format/event", "config:0-7\n");
	tree_pmu(&t, "x", "events/fine", "event=1\n");
	tree_pmu(&t, "x", "events/much", "event=2\n");
	tree_pmu(&t, "x", "events/much.scale", "?\n");
	tree_pmu(&t, "x", "events/much.unit", "MiB\n");
	tree_pmu(&t, "x", "events/emptied", "\n");
	tree_pmu(&t, "x", "events/sealed", "event=3\n");
	tree_put_bytes(&t, TREE_PMU "x/events/sealed.scale", "\0", 1);
	tree_pmu(&t, "x", "events/nameless", "event=4\n");
	tree_pmu(&t, "x", "events/nameless.scale", "2\n");
	tree_put_bytes(&t, TREE_PMU "x/events/nameless.unit", "\0", 1);
	scan_open(&s, t.dir);
	p = &s.pmus.items[0];
	for (size_t i = 0; i < COUNT(good); i++)
		assert_int_equal(unc_pmu_encode(p, good[i], &enc, &e), 0);
	for (size_t i = 0; i < COUNT(bad); i++) {
		assert_int_equal(unc_pmu_encode(p, bad[i].terms, &enc, NULL), -EBADMSG);
		assert_int_equal(unc_pmu_encode(p, bad[i].terms, &enc, &e), -EBADMSG);
		if (!strstr(e.text, bad[i].says))
			fail_msg("%s: %s", bad[i].terms, e.text);
	}
	scan_close(&s);
	tree_remove(&t);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(examples_of_the_document),
		cmocka_unit_test(split_fields),
		cmocka_unit_test(words_of_terms),
		cmocka_unit_test(what_else_is_said),
		cmocka_unit_test(mistakes_are_explained),
		cmocka_unit_test(mistakes_on_a_real_machine),
		cmocka_unit_test(long_lists_are_cut),
		cmocka_unit_test(a_pmu_that_cannot_be_read),
		cmocka_unit_test(an_alias_without_a_scale),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, make_odd, remove_odd);
}

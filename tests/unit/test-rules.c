/* SPDX-License-Identifier: MIT */
/* What hardware excludes: refused with its sentence before anything is opened, and nothing else is.
 * For Tegra410 the expectations come from pcie_v2_pmu_validate_event() and
 * pcie_tgt_pmu_validate_event() of the kernel's nvidia_cspmu.c. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "catalogue/catalogue.h"
#include "data.h"

#define PCIE "nvidia_pcie_pmu_0_rc_4"
#define OTHER "nvidia_pcie_pmu_0_rc_2"
#define TARGET "nvidia_pcie_tgt_pmu_0_rc_4"
#define BDF ",src_bdf=0x2709,src_bdf_en=1"
#define BDF_2 ",src_bdf=0x0108,src_bdf_en=1"

/* What is asked for, and a part of the sentence; NULL: it is allowed. */
struct asked {
	const char *events, *metric, *sentence;
};

static void assert_asked(struct uncore *u, const struct asked *a)
{
	struct uncore_monitor *m;
	int r;

	assert_int_equal(uncore_monitor_new(&m, u), 0);
	if ((a->events && uncore_monitor_add_events(m, a->events) < 0) ||
	    (a->metric && uncore_monitor_add_metrics(m, a->metric) < 0))
		fail_msg("%s: %s", a->events, uncore_error(u));
	r = uncore_monitor_plan(m);
	if (!a->sentence && r < 0)
		fail_msg("%s: %s", a->events, uncore_error(u));
	if (a->sentence) {
		if (r != -EINVAL || !strstr(uncore_error(u), a->sentence))
			fail_msg("%s: %d '%s', not '%s'", a->events, r, uncore_error(u),
				 a->sentence);
		assert_int_equal(uncore_monitor_counter_count(m), 0);
		assert_int_equal(uncore_monitor_open(m), -EINVAL);
		assert_contains(uncore_error(u), a->sentence);
	}
	uncore_monitor_free(m);
}

static void assert_all(const char *machine, const struct asked *asked, size_t count)
{
	struct uncore *u = scan_fixture(machine);

	for (size_t i = 0; i < count; i++)
		assert_asked(u, &asked[i]);
	uncore_free(u);
}

/* ---- Tegra410, inbound ------------------------------------------------------------------------ */

static void a_device_and_a_root_port_exclude_each_other(void **state)
{
	static const struct asked asked[] = {
		{PCIE "/rd_bytes,src_rp_mask=0x1" BDF "/", NULL,
		 PCIE ": 'rd_bytes,src_rp_mask=0x1" BDF
		      "' sets each of src_rp_mask, src_bdf_en: a root port and a device"},
		{PCIE "/config=0,config1=0x1270901/", NULL,
		 "'config=0,config1=0x1270901' sets each of src_rp_mask, src_bdf_en"},
		{PCIE "/rd_bytes,src_rp_mask=0x1/", NULL, NULL},
		{PCIE "/rd_bytes" BDF "/", NULL, NULL},
		/* Different root ports, each with a counter of its own. */
		{PCIE "/rd_bytes,src_rp_mask=0x1/," PCIE "/rd_bytes,src_rp_mask=0x2/," PCIE
		      "/rd_bytes/",
		 NULL, NULL},
	};

	(void)state;
	assert_all("nvidia-t410-1socket", asked, COUNT(asked));
}

static void a_device_needs_its_enable(void **state)
{
	static const struct asked asked[] = {
		{PCIE "/rd_bytes,src_bdf=0x2709/", NULL,
		 PCIE ": 'rd_bytes,src_bdf=0x2709' sets src_bdf without src_bdf_en: the device"},
		{PCIE "/rd_bytes,src_bdf=0x2709,src_rp_mask=0x1/", NULL,
		 "sets src_bdf without src_bdf_en"},
		{PCIE "/rd_bytes,src_bdf_en=1/", NULL, NULL}, /* 00:00.0 */
	};

	(void)state;
	assert_all("nvidia-t410-1socket", asked, COUNT(asked));
}

static void one_device_for_each_root_complex(void **state)
{
	static const struct asked asked[] = {
		{PCIE "/rd_bytes" BDF "/," PCIE "/wr_bytes" BDF_2 "/", NULL,
		 PCIE ": 'rd_bytes" BDF "' and 'wr_bytes" BDF_2
		      "' differ in src_bdf, src_bdf_en: the PMU has one device filter"},
		{"{" PCIE "/rd_bytes" BDF "/," PCIE "/wr_bytes" BDF_2 "/}", NULL, "differ in"},
		{PCIE "/rd_bytes" BDF "/," PCIE "/wr_bytes" BDF "/", NULL, NULL},
		{PCIE "/rd_bytes" BDF "/," OTHER "/wr_bytes" BDF_2 "/", NULL, NULL},
		/* Beside one that is not filtered, and beside metrics that are not. */
		{PCIE "/rd_bytes" BDF "/," PCIE "/wr_bytes/", NULL,
		 PCIE ": 'rd_bytes" BDF "' and 'wr_bytes' differ in"},
		{PCIE "/rd_bytes" BDF "/", "pcie.inbound.read.latency", "differ in src_bdf"},
		{PCIE "/rd_bytes" BDF "/", "pcie.outbound.*", NULL},
	};

	(void)state;
	assert_all("nvidia-t410-1socket", asked, COUNT(asked));
}

static void a_sibling_inherits_the_device(void **state)
{
	static const struct asked asked[] = {
		{"{" PCIE "/rd_bytes" BDF "/," PCIE "/wr_bytes/}", NULL, NULL},
		{"{" PCIE "/rd_bytes" BDF "/," PCIE "/wr_bytes,dst_rem=1/}", NULL, NULL},
		/* With a root port of its own it does not, and neither does a leader. */
		{"{" PCIE "/rd_bytes" BDF "/," PCIE "/wr_bytes,src_rp_mask=1/}", NULL, "differ in"},
		{"{" PCIE "/wr_bytes/," PCIE "/rd_bytes" BDF "/}", NULL, "differ in"},
		/* A counter that inherits does not serve who wants all devices. */
		{"{" PCIE "/rd_bytes" BDF "/," PCIE "/wr_bytes/}," PCIE "/wr_bytes/", NULL,
		 "differ in"},
		/* Where a group may be split it is not sure to inherit. */
		{"{" PCIE "/rd_bytes" BDF "/," PCIE "/wr_bytes/}:W", NULL, "differ in"},
	};

	(void)state;
	assert_all("nvidia-t410-1socket", asked, COUNT(asked));
}

static void cycles_are_exempt(void **state)
{
	static const struct asked asked[] = {
		{PCIE "/rd_bytes" BDF "/," PCIE "/cycles/", NULL, NULL},
		{PCIE "/cycles/," PCIE "/rd_bytes" BDF "/", NULL, NULL},
		{PCIE "/rd_bytes" BDF "/," PCIE "/cycles" BDF_2 "/", NULL, NULL},
		{PCIE "/rd_bytes" BDF "/," PCIE "/event=0x100000000/", NULL, NULL},
		{"{" PCIE "/rd_bytes" BDF "/," PCIE "/cycles/}", NULL, NULL},
		{PCIE "/rd_bytes" BDF "/", "pcie.clock.frequency", NULL},
		/* The driver compares siblings with their leader, be it the clock. */
		{"{" PCIE "/cycles/," PCIE "/rd_bytes" BDF "/}", NULL,
		 "'cycles' and 'rd_bytes" BDF "' differ in"},
	};

	(void)state;
	assert_all("nvidia-t410-1socket", asked, COUNT(asked));
}

/* ---- Tegra410, outbound ----------------------------------------------------------------------- */

#define RANGE(n) \
	TARGET "/rd_bytes,dst_addr_base=0x" n "0000,dst_addr_mask=0xffff0000,dst_addr_en=1/"
#define RANGES                                                                                \
	RANGE("1")                                                                            \
	"," RANGE("2") "," RANGE("3") "," RANGE("4") "," RANGE("5") "," RANGE("6") "," RANGE( \
		"7") "," RANGE("8")

static void eight_address_ranges(void **state)
{
	static const struct asked asked[] = {
		{RANGES, NULL, NULL},
		{RANGES "," RANGE("9"), NULL,
		 TARGET ": 'rd_bytes,dst_addr_base=0x90000,dst_addr_mask=0xffff0000,dst_addr_en=1' "
			"is one too many for 8 different values of dst_addr_base, dst_addr_mask: "
			"the PMU has eight address filters"},
		/* The same range for several events, the clock, no range, another PMU: no slot. */
		{RANGES "," TARGET
			"/wr_bytes,dst_addr_base=0x80000,dst_addr_mask=0xffff0000,dst_addr_en=1/",
		 NULL, NULL},
		{RANGES "," TARGET "/wr_bytes/," TARGET
			"/cycles,dst_addr_base=0x90000,dst_addr_mask=0xffff0000,dst_addr_en=1/",
		 NULL, NULL},
		{RANGES ",nvidia_pcie_tgt_pmu_0_rc_2/rd_bytes,dst_addr_base=0x90000,dst_addr_en=1/",
		 "pcie.outbound.*", NULL},
		/* Another mask is another range. */
		{RANGES "," TARGET
			"/wr_bytes,dst_addr_base=0x80000,dst_addr_mask=0xfffff000,dst_addr_en=1/",
		 NULL, "one too many"},
	};

	(void)state;
	assert_all("nvidia-t410-1socket", asked, COUNT(asked));
}

static void an_address_needs_its_enable(void **state)
{
	static const struct asked asked[] = {
		{TARGET "/rd_bytes,dst_addr_base=0x10000/", NULL,
		 "sets dst_addr_base without dst_addr_en"},
		{TARGET "/rd_bytes,dst_addr_mask=0x10000,dst_rp_mask=1/", NULL,
		 "sets dst_addr_mask without dst_addr_en"},
		{TARGET "/rd_bytes,dst_addr_en=1/", NULL, NULL}, /* every address */
		{TARGET "/rd_bytes,dst_addr_base=0x1,dst_addr_en=1,dst_rp_mask=1/", NULL, NULL},
	};

	(void)state;
	assert_all("nvidia-t410-1socket", asked, COUNT(asked));
}

/* ---- other machines --------------------------------------------------------------------------- */

/* What these allow, or the kernel does by turns. */
static void nothing_else_is_refused(void **state)
{
	static const struct asked grace[] = {
		{"nvidia_pcie_pmu_0/rd_bytes_loc,root_port=1/,nvidia_pcie_pmu_0/rd_bytes_loc,root_"
		 "port=2/",
		 "*", NULL},
	};
	static const struct asked skx[] = {
		{"uncore_cha_0/event=0x35,umask=0x21,filter_opc0=1/,uncore_cha_0/"
		 "event=0x35,umask=0x21,filter_opc0=2/",
		 "*", NULL},
	};

	(void)state;
	assert_all("nvidia-grace-1socket", grace, COUNT(grace));
	assert_all("intel-skx-1socket", skx, COUNT(skx));
}

/* ---- Intel ------------------------------------------------------------------------------------ */

#define TOR "uncore_cha_0/event=0x35,umask=0x21,filter_opc0="
#define CBO "uncore_cbox_0/event=0x35,umask=0x01,"

/* As Intel's manual has it for Cbo, and the driver for filters (uncore_snbep.c: *_cbox_filter_mask,
 * skx_cha_filter_mask, snbep_pcu_get_constraint). */
static void rules_of_intel(void **state)
{
	static const struct asked skx[] = {
		{"uncore_imc_0/event=0x04,umask=0x03,edge=1/", NULL,
		 "uncore_imc_0: 'event=0x04,umask=0x03,edge=1' sets edge without thresh"},
		{"uncore_imc_0/event=0x04,umask=0x03,edge=1,thresh=1/", NULL, NULL},
		{"uncore_upi_0/event=0x02,umask=0xf,edge=1/", NULL, "sets edge without thresh"},
		{"uncore_cha_0/event=0x34,filter_tid=3/", NULL,
		 "sets each of filter_tid, tid_en=0, event=0x34|0x35|0x36: the hardware looks"},
		{"uncore_cha_0/event=0x38,umask=1,filter_tid=3/", NULL, NULL},
		{"uncore_cha_0/event=0x34,filter_tid=3,tid_en=1/", NULL, NULL},
		{"uncore_iio_0/event=0x83,umask=4/", NULL, "without ch_mask, fc_mask: ch_mask"},
		{"uncore_iio_0/event=0xc1,umask=4,ch_mask=1/", NULL, "without ch_mask, fc_mask"},
		{"uncore_iio_0/config=0x484/", NULL, "without ch_mask, fc_mask"},
		{"uncore_iio_0/event=0x83,umask=4,ch_mask=1,fc_mask=7/", NULL, NULL},
		{"uncore_iio_0/event=0x01/", NULL, NULL},
		/* At the same time; by turns it is allowed. */
		{"{" TOR "0x202/," TOR "0x200/}", NULL, "differ in filter_rem, "},
		{"{" TOR "0x202,filter_loc=1/," TOR "0x202,filter_rem=1/}", NULL, "differ in"},
		{"{" TOR "0x202/,uncore_cha_0/event=0x01/}", NULL, NULL},
		{"{" TOR "0x202/," TOR "0x200/}:W", NULL, NULL},
		{TOR "0x202/," TOR "0x200/", NULL, NULL},
		{"{" TOR "0x202/,uncore_cha_1/event=0x35,filter_opc0=1/}:W", NULL, NULL},
	};
	static const struct asked ivt[] = {
		{CBO "filter_tid=0x1e/", NULL, "sets filter_tid without tid_en"},
		{"{" CBO "filter_opc=0x182/," CBO "filter_opc=0x19e/}", NULL,
		 "differ in filter_opc: a box has one filter register for opcodes"},
		{"{" CBO "filter_opc=0x182/,uncore_cbox_0/event=0x35,umask=0x48,filter_nid=1/}",
		 NULL, NULL},
		{"{uncore_pcu/event=0xb,filter_band0=12/,uncore_pcu/event=0xb,filter_band0=20/}",
		 NULL, "differ in filter_band0"},
		{"{uncore_pcu/event=0xb,filter_band0=12/,uncore_pcu/event=0xc,filter_band1=20/}",
		 NULL, NULL},
	};

	static const struct asked spr[] = {
		{"uncore_cha_0/event=0x34,filter_tid=3/", NULL, "sets filter_tid without tid_en"},
	};

	(void)state;
	assert_all("intel-skx-1socket", skx, COUNT(skx));
	assert_all("intel-ivt-1socket", ivt, COUNT(ivt));
	assert_all("intel-spr-1socket", spr, COUNT(spr));
}

/* Counted, with a note: once for all PMUs, on these models only, and not for metrics. */
static const struct {
	const char *machine, *events, *metric, *note;
} noted[] = {
	/* What counts nothing without a filter, by Intel's descriptions of the events. */
	{"intel-ivt-1socket", "uncore_cbox_0/event=0x34,umask=0x3/", NULL,
	 "without a state none is"},
	{"intel-ivt-1socket", "UNC_C_LLC_LOOKUP.DATA_READ", NULL, "without a state none is"},
	{"intel-ivt-1socket", "uncore_cbox_0/UNC_C_LLC_LOOKUP.DATA_READ,state=M+E/", NULL, NULL},
	{"intel-ivt-1socket", "uncore_cbox_0/event=0x34,umask=0x2,state=M/", NULL,
	 "without bit 0 of umask"},
	{"intel-ivt-1socket", "uncore_cbox_0/event=0x34,umask=0x41,state=M/", NULL,
	 "a bit for each node"},
	{"intel-ivt-1socket", "uncore_cbox_0/event=0x34,umask=0x41,state=M,filter_nid=1/", NULL,
	 NULL},
	{"intel-ivt-1socket", "UNC_C_TOR_INSERTS.OPCODE", NULL,
	 "no request has the opcode 0; add opc="},
	{"intel-ivt-1socket", "UNC_C_TOR_OCCUPANCY.MISS_OPCODE", NULL,
	 "no request has the opcode 0"},
	{"intel-ivt-1socket", "uncore_cbox_0/UNC_C_TOR_INSERTS.MISS_OPCODE,opc=DRd/", NULL, NULL},
	{"intel-ivt-1socket", "UNC_C_TOR_INSERTS.NID_ALL", NULL, "a bit for each node"},
	{"intel-ivt-1socket", "uncore_cbox_0/UNC_C_TOR_INSERTS.NID_ALL,filter_nid=1/", NULL, NULL},
	{"intel-ivt-1socket", "UNC_C_TOR_INSERTS.ALL", NULL, NULL},
	{"intel-ivt-1socket", "UNC_C_LLC_VICTIMS.NID", NULL, "a bit for each node"},
	{"intel-ivt-1socket", "UNC_C_LLC_VICTIMS.M_STATE", NULL, NULL},
	{"intel-skx-1socket", "uncore_imc/config=0x0f04/", NULL, NULL},
	{"intel-icx-1socket", "uncore_imc/config=0x0f04/", NULL,
	 "uncore_imc/config=0x0f04/ is UNC_M_CAS_COUNT.RD on this CPU; it is "
	 "UNC_M_CAS_COUNT.ALL on snbep ivt hsx bdde bdx skx clx (here "
	 "event=0x4,umask=0x3f)"},
	{"intel-icx-1socket", "uncore_imc/event=0x04,umask=0x0c/", NULL,
	 "is not in the vendor's list for this CPU; it is UNC_M_CAS_COUNT.WR on snbep ivt "
	 "hsx bdde bdx skx clx (here event=0x4,umask=0x30)"},
	{"intel-icx-1socket", "uncore_imc/event=0x04,umask=0x03/", NULL,
	 "UNC_M_CAS_COUNT.RD on snbep ivt hsx bdde bdx skx clx (here event=0x4,umask=0xf)"},
	{"intel-icx-1socket", "uncore_imc/event=0x04/", NULL, "has no umask"},
	{"intel-icx-1socket", "uncore_imc/event=0x04,umask=0x3f/", NULL, NULL},
	/* By a name it is what is asked for. */
	{"intel-icx-1socket", "uncore_imc/cas_count_read/", NULL, NULL},
	{"intel-icx-1socket", "UNC_M_CAS_COUNT.RD", NULL, NULL},
	{"intel-icx-1socket", NULL, "memory.read.bandwidth", NULL},
	{"intel-icx-1socket", "uncore_m2m/event=0x37,umask=0x01/", NULL,
	 "UNC_M2M_IMC_READS.NORMAL on skx clx (here event=0x37,umask=0x701)"},
	{"intel-spr-1socket", "uncore_imc/config=0x0f04/", NULL,
	 "UNC_M_CAS_COUNT.ALL on snbep ivt hsx bdde bdx skx clx (here "
	 "event=0x5,umask=0xff)"},
	{"intel-spr-1socket", "uncore_imc/r304/", NULL, "(here event=0x5,umask=0xcf)"},
	{"intel-spr-1socket", "uncore_imc/config=0xc04/", NULL, "(here event=0x5,umask=0xf0)"},
	{"intel-spr-1socket", "uncore_imc/r101/", NULL,
	 "is UNC_M_CLOCKTICKS on this CPU; it is UNC_M_ACT_COUNT.RD on"},
	{"intel-spr-1socket", "uncore_imc/r201/", NULL, "it is UNC_M_ACT_COUNT.WR on"},
	{"intel-spr-1socket", "uncore_imc/event=0x05,umask=0xcf/", NULL, NULL},
	{"intel-skx-1socket", "UNC_CHA_LLC_LOOKUP.DATA_READ", NULL,
	 "'UNC_CHA_LLC_LOOKUP.DATA_READ' sets event=0x34, filter_state=0: lookups are"},
	{"intel-skx-1socket", "uncore_cha/UNC_CHA_LLC_LOOKUP.DATA_READ,filter_state=0xf1/", NULL,
	 NULL},
	{"nvidia-t410-1socket", TARGET "/rd_bytes,dst_rp_mask=1,dst_addr_en=1/", NULL,
	 "sets dst_rp_mask, dst_addr_en: root ports restrict"},
	{"nvidia-t410-1socket", TARGET "/rd_bytes,dst_addr_en=1/", NULL, NULL},
};

static void notes(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(noted); i++) {
		struct uncore *u = scan_fixture(noted[i].machine);
		struct asked asked = {noted[i].events, noted[i].metric, NULL};
		struct uncore_monitor *m;

		assert_asked(u, &asked);
		assert_int_equal(uncore_monitor_new(&m, u), 0);
		assert_int_equal(asked.events ? uncore_monitor_add_events(m, asked.events)
					      : uncore_monitor_add_metrics(m, asked.metric),
				 0);
		assert_int_equal(uncore_monitor_plan(m), 0);
		assert_int_equal(uncore_monitor_note_count(m), noted[i].note ? 1 : 0);
		if (noted[i].note)
			assert_contains(uncore_monitor_note_at(m, 0), noted[i].note);
		uncore_monitor_free(m);
		uncore_free(u);
	}
}

#define HEAD                                                      \
	"family: %s\ntitle: t\ninstance: i\npmus: [{name: %s}]\n" \
	"events: {a: {title: t, terms: event=1, evidence: e}}\nmetrics: {}\n"

#define TAIL "place: link\n"

/* A family of one PMU of the t410 tree with one rule. */
static struct uncore *scan_rule(const struct tree *t, const char *rule)
{
	char text[1024], path[600];
	struct uncore *u;

	snprintf(text, sizeof(text), HEAD "rules:\n  - {%s, why: so it is, evidence: e}\n" TAIL,
		 "a-toy", PCIE, rule);
	tree_put(t, "a.yaml", text);
	assert_int_equal(uncore_new(&u), 0);
	if (uncore_set_root(u, tree_machine("nvidia-t410-1socket", path, sizeof(path))) < 0 ||
	    uncore_add_data(u, t->dir) < 0 || uncore_scan(u) < 0)
		fail_msg("%s", uncore_error(u));
	return u;
}

static void rules_of_other_kinds(void **state)
{
	static const struct {
		const char *rule;
		struct asked asked;
	} cases[] = {
		{"needs_one: src_rp_mask src_bdf",
		 {PCIE "/rd_bytes/", NULL,
		  PCIE ": 'rd_bytes' sets none of src_rp_mask, src_bdf: so it is"}},
		{"needs_one: src_rp_mask src_bdf", {PCIE "/rd_bytes,src_bdf=1/", NULL, NULL}},
		/* Without `inherit` every event has its own value, if it is 0. */
		{"same: src_rp_mask",
		 {"{" PCIE "/rd_bytes,src_rp_mask=1/," PCIE "/wr_bytes/}", NULL, "differ in"}},
		{"same: src_rp_mask, when: src_rp_mask",
		 {PCIE "/rd_bytes,src_rp_mask=1/," PCIE "/wr_bytes/", NULL, NULL}},
		{"same: src_rp_mask, except: a",
		 {PCIE "/rd_bytes,src_rp_mask=1/," PCIE "/event=1/", NULL, NULL}},
		{"at_most: 2, of: event",
		 {PCIE "/event=1/," PCIE "/event=2/," PCIE "/event=3/", NULL,
		  "'event=3' is one too many for 2 different values of event: so it is"}},
		/* A term that the PMU does not have is set nowhere. */
		{"never: src_rp_mask of_another_kernel",
		 {PCIE "/rd_bytes,src_rp_mask=1/", NULL, NULL}},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct tree t;
		struct uncore *u;

		tree_make(&t);
		u = scan_rule(&t, cases[i].rule);
		assert_asked(u, &cases[i].asked);
		uncore_free(u);
		tree_remove(&t);
	}
}

/* ---- data files ------------------------------------------------------------------------------- */

static int parse(struct unc_family **out, const char *rules, struct unc_error *e)
{
	struct unc_yaml_file *file;
	char text[1024];
	int r;

	snprintf(text, sizeof(text), HEAD "%s" TAIL, "f", "p", rules);
	r = unc_yaml_parse(&file, "f.yaml", text, strlen(text), e);
	return r < 0 ? r : unc_family_parse(out, file, "unknown", e);
}

static void what_a_rule_becomes(void **state)
{
	struct unc_family *f;
	const struct unc_rule *r;

	(void)state;
	assert_int_equal(parse(&f,
			       "rules:\n  - {never: x y_2, why: w, evidence: e}\n"
			       "  - {at_most: 8, of: z, when: v, except: a, inherit: x y, why: w, "
			       "evidence: e}\n",
			       NULL),
			 0);
	assert_int_equal(f->rule_count, 2);
	r = f->rules;
	assert_int_equal(r->kind, UNC_RULE_NEVER);
	assert_int_equal(r->terms.count, 2);
	assert_string_equal(r->terms.items[1], "y_2");
	assert_string_equal(r->why, "w");
	r++;
	assert_int_equal(r->kind, UNC_RULE_AT_MOST);
	assert_int_equal(r->most, 8);
	assert_string_equal(r->terms.items[0], "z");
	assert_string_equal(r->when.items[0], "v");
	assert_ptr_equal(r->except, f->events);
	assert_int_equal(r->inherit.count, 2);
	unc_family_free(f);
}

/* Line 7 is "rules:". */
static void mistakes(void **state)
{
	static const struct {
		const char *rules, *sentence;
	} cases[] = {
		{"rules: none\n", "f.yaml:7:8: the value of 'rules' must be a list, not text"},
		{"rules:\n  - x\n", "f.yaml:8:5: expected a map"},
		{"rules:\n  - why: w\n    evidence: e\n", "f.yaml:8:5: expected exactly one of"},
		{"rules:\n  - never: a b\n    evidence: e\n",
		 "f.yaml:8:5: the key 'why' is missing here"},
		{"rules:\n  - never: a b\n    why: w\n",
		 "f.yaml:8:5: the key 'evidence' is missing here"},
		{"rules:\n  - never: a\n    why: w\n    evidence: e\n",
		 "f.yaml:8:12: 'never' needs at least 2 terms"},
		{"rules:\n  - never: a b,c\n    why: w\n    evidence: e\n",
		 "f.yaml:8:14: 'a b,c' is not a valid list of format terms"},
		{"rules:\n  - group_same: a=1\n    why: w\n    evidence: e\n",
		 "f.yaml:8:17: 'a=1' is not a valid list of format terms"},
		{"rules:\n  - needs: a=q b\n    why: w\n    evidence: e\n",
		 "f.yaml:8:12: 'a=q b' is not a valid list of format terms"},
		{"rules:\n  - note: a b\n    models: x\n    why: w\n    evidence: e\n",
		 "f.yaml:9:13: 'x' is not a model of this file's 'models'"},
		{"rules:\n  - never: a b\n    needs: a b\n    why: w\n    evidence: e\n",
		 "f.yaml:9:5: 'needs' and 'never' exclude each other"},
		{"rules:\n  - never: a b\n    when: a\n    why: w\n    evidence: e\n",
		 "f.yaml:9:5: unknown key 'when'"},
		{"rules:\n  - same: a\n    except: b\n    why: w\n    evidence: e\n",
		 "f.yaml:9:13: 'b' is not an event of this family"},
		{"rules:\n  - same: a\n    why: ''\n    evidence: e\n",
		 "f.yaml:9:10: the value of 'why' is empty"},
		{"rules:\n  - at_most: 0\n    of: a\n    why: w\n    evidence: e\n",
		 "f.yaml:8:14: the value of 'at_most' must be from 1 to 64"},
		{"rules:\n  - at_most: 65\n    of: a\n    why: w\n    evidence: e\n",
		 "f.yaml:8:14: the value of 'at_most' must be from 1 to 64"},
		{"rules:\n  - at_most: 2\n    why: w\n    evidence: e\n",
		 "f.yaml:8:5: the key 'of' is missing here"},
		{"kernel_bugs:\n  - title: t\n", "f.yaml:8:5: the key 'evidence' is missing here"},
		{"kernel_bugs:\n  - since: 6.x\n    title: t\n    evidence: e\n",
		 "f.yaml:8:12: '6.x' is not a valid kernel version such as 6.11"},
		{"kernel_bugs:\n  - fixed: 7\n    title: t\n    evidence: e\n",
		 "f.yaml:8:12: '7' is not a valid kernel version such as 6.11"},
		{"kernel_bugs:\n  - since: 6.1 6.2\n    title: t\n    evidence: e\n",
		 "f.yaml:8:12: '6.1 6.2' is not a valid kernel version such as 6.11"},
		{"kernel_bugs:\n  - fixed: 6.12.3 6.1.9\n    title: t\n    evidence: e\n",
		 "f.yaml:8:12: '6.12.3 6.1.9' is not a valid kernel version such as 6.11, or several "
		 "from the oldest to the newest"},
		{"kernel_bugs:\n  - terms: a>\n    title: t\n    evidence: e\n",
		 "f.yaml:8:12: 'a>' is not a valid list of format terms"},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct unc_family *f = NULL;
		struct unc_error e = {0};

		if (parse(&f, cases[i].rules, &e) != -EBADMSG ||
		    strncmp(e.text, cases[i].sentence, strlen(cases[i].sentence)) != 0)
			fail_msg("'%s', not '%s'", e.text, cases[i].sentence);
		assert_null(f);
	}
}

/* ---- bugs of kernels -------------------------------------------------------------------------- */

static void which_kernels_have_a_bug(void **state)
{
	static const struct {
		const char *range, *kernel;
		enum { NONE, NOTE, SUSPECT } is;
	} cases[] = {
		{"", "5.10.0-30-amd64", SUSPECT},
		{"", "", NONE}, /* not known: nothing is said */
		{"since: 6.11, ", "6.9.12", NONE},
		{"since: 6.11, ", "6.11.0-rc1", SUSPECT},
		{"since: 6.11, ", "6.11", SUSPECT},
		{"since: 6.11, ", "10.2.1", SUSPECT},
		{"fixed: 7.4, ", "7.3.99-generic", SUSPECT},
		{"fixed: 7.4, ", "7.4.0", NONE},
		{"since: 6.11, fixed: 6.12.9, ", "6.12.8+deb13-amd64", SUSPECT},
		{"since: 6.11, fixed: 6.12.9, ", "6.12.9+deb13-amd64", NONE},
		{"since: 6.11, fixed: 6.12.9, ", "6.12.10", NONE},
		/* Nothing is known of newer branches. */
		{"since: 6.11, fixed: 6.12.9, ", "6.11.4", SUSPECT},
		{"since: 6.11, fixed: 6.12.9, ", "6.13.1", NOTE},
		{"fixed: 6.1.188 6.12.64, ", "6.6.50", NOTE},
		{"fixed: 6.1.135 6.12.25 6.15, ", "6.1.134", SUSPECT},
		{"fixed: 6.1.135 6.12.25 6.15, ", "6.1.135", NONE},
		{"fixed: 6.1.135 6.12.25 6.15, ", "6.2.16", SUSPECT},
		{"fixed: 6.1.135 6.12.25 6.15, ", "6.12.25", NONE},
		{"fixed: 6.1.135 6.12.25 6.15, ", "6.13.9", SUSPECT},
		{"fixed: 6.1.135 6.12.25 6.15, ", "6.15.0", NONE},
		{"fixed: 6.1.135 6.12.25 6.15, ", "7.0", NONE},
		/* A distribution may have the correction. */
		{"fixed: 6.1.135 6.12.25 6.15, ", "6.1.0-44-amd64", NOTE},
		{"fixed: 6.1.135 6.12.25 6.15, ", "5.14.0-503.el9.x86_64", NOTE},
		{"fixed: 6.1.135 6.12.25 6.15, ", "6.17.0-5-generic", NONE},
		{"effect: note, fixed: 7.4, ", "7.3.99", NOTE},
		{"effect: missing, fixed: 7.4, ", "7.3.99", NONE}, /* the PMU is here */
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct unc_family *f;
		const char *suspect, *note;
		char text[200];

		snprintf(text, sizeof(text), "kernel_bugs:\n  - {title: t, %sevidence: e}\n",
			 cases[i].range);
		assert_int_equal(parse(&f, text, NULL), 0);
		assert_int_equal(unc_family_find_bugs(f, cases[i].kernel), 0);
		assert_int_equal(unc_family_find_bugs(f, cases[i].kernel), 0); /* once more */
		suspect = unc_family_bug(f, true);
		note = unc_family_bug(f, false);
		if (!!suspect != (cases[i].is == SUSPECT) || !!note != (cases[i].is == NOTE))
			fail_msg("'%s' and '%s'", cases[i].range, cases[i].kernel);
		if (suspect || note)
			assert_contains(suspect ? suspect : note, cases[i].kernel);
		unc_family_free(f);
	}
}

/* The version of this machine's branch, else the newest. */
static void which_version_has_the_correction(void **state)
{
	static const char *const cases[][3] = {
		{"6.1.135 6.12.25 6.15", "6.1.2", "6.1.135"},
		{"6.1.135 6.12.25 6.15", "6.12.0-1", "6.12.25"},
		{"6.1.135 6.12.25 6.15", "6.10.3", "6.15"},
		{"6.1.135 6.12.25 6.15", "5.4", "6.15"},
		{"6.1.135", "6", "6.1.135"},
		{NULL, "6.1.2", NULL},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		const struct unc_kernel_bug bug = {.fixed = cases[i][0]};
		char *fix = unc_kernel_fix(&bug, cases[i][1]);

		if (cases[i][2])
			assert_string_equal(fix, cases[i][2]);
		else
			assert_null(fix);
		free(fix);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_device_and_a_root_port_exclude_each_other),
		cmocka_unit_test(a_device_needs_its_enable),
		cmocka_unit_test(one_device_for_each_root_complex),
		cmocka_unit_test(a_sibling_inherits_the_device),
		cmocka_unit_test(cycles_are_exempt),
		cmocka_unit_test(eight_address_ranges),
		cmocka_unit_test(an_address_needs_its_enable),
		cmocka_unit_test(rules_of_intel),
		cmocka_unit_test(notes),
		cmocka_unit_test(nothing_else_is_refused),
		cmocka_unit_test(rules_of_other_kinds),
		cmocka_unit_test(what_a_rule_becomes),
		cmocka_unit_test(mistakes),
		cmocka_unit_test(which_kernels_have_a_bug),
		cmocka_unit_test(which_version_has_the_correction),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}

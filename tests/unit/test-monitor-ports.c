/* SPDX-License-Identifier: MIT */
/* One row for each root port. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "filtered.h"

#define VMD "root port 10000:00:02.0 is not counted: a driver made its segment"
#define RATE(pmu, event, rate) "  - {pmu: '" pmu "', event: '" event "', constant: " rate "}\n"
/* Rates of each port on its own, of two together, and of all. All have one clock. */
#define RATES                                                           \
	RATE("nvidia_pcie_pmu_*", "cycles", "2e9")                      \
	RATE("nvidia_pcie_pmu_*", "rd_bytes,src_rp_mask=0x1", "1e9")    \
	RATE("nvidia_pcie_pmu_*", "rd_bytes,src_rp_mask=0x2", "2e9")    \
	RATE("nvidia_pcie_pmu_*", "rd_bytes,src_rp_mask=0x4", "40e9")   \
	RATE("nvidia_pcie_pmu_*", "rd_bytes,src_rp_mask=0x3", "3e9")    \
	RATE("nvidia_pcie_pmu_*", "rd_bytes", "9e9")                    \
	RATE("nvidia_pcie_pmu_*", "rd_req,src_rp_mask=0x1", "1e6")      \
	RATE("nvidia_pcie_pmu_*", "rd_req,src_rp_mask=0x2", "2e6")      \
	RATE("nvidia_pcie_pmu_*", "rd_req,src_rp_mask=0x4", "4e6")      \
	RATE("nvidia_pcie_pmu_*", "rd_req,src_rp_mask=0xff", "9e6")     \
	RATE("nvidia_pcie_pmu_*", "rd_cum_outs,src_rp_mask=0x1", "1e9") \
	RATE("nvidia_pcie_pmu_*", "rd_cum_outs,src_rp_mask=0x2", "8e9") \
	RATE("nvidia_pcie_pmu_*", "rd_cum_outs,src_rp_mask=0x4", "2e9") \
	RATE("nvidia_pcie_pmu_*", "rd_cum_outs", "9e9")

struct expected {
	const char *pmu, *port;
	double value, ceiling;
	enum uncore_quality quality;
};

static void assert_rows(const struct stage *s, const struct expected *all, size_t count)
{
	for (size_t i = 0; i < uncore_sample_count(s->s); i++) {
		const struct uncore_row *row = uncore_sample_row(s->s, i);

		if (i >= count)
			fail_msg("too many rows");
		assert_string_equal(row->place->pmu ? uncore_pmu_name(row->place->pmu) : "",
				    all[i].pmu);
		assert_string_equal(row->place->port ? row->place->port->address : "", all[i].port);
		assert_int_equal(isnan(row->value), isnan(all[i].value));
		if (!isnan(row->value))
			assert_close(row->value, all[i].value);
		assert_true(isnan(all[i].ceiling) ? isnan(row->ceiling)
						  : row->ceiling == all[i].ceiling);
		assert_int_equal(row->quality, all[i].quality);
	}
	assert_int_equal(uncore_sample_count(s->s), count);
}

static void play(struct stage *s, enum uncore_level level, const char *filters, const char *metric)
{
	begin(s, level, RATES);
	if (filters)
		ok(s, set_filters(s, filters));
	ok(s, uncore_monitor_add_metrics(s->m, metric));
	ok(s, uncore_monitor_open(s->m));
	ok(s, uncore_monitor_start(s->m));
	ok(s, uncore_monitor_read(s->m, s->s));
}

/* Where ports are not known, one row for the PMU; what is over its link is not believed. */
static void a_row_for_each_port(void **state)
{
	static const struct expected bandwidth[] = {
		{"nvidia_pcie_pmu_0_rc_0", "", 9e9, NAN, UNCORE_MEASURED},
		{"nvidia_pcie_pmu_0_rc_1", "", 9e9, NAN, UNCORE_MEASURED},
		{"nvidia_pcie_pmu_0_rc_2", "", 9e9, NAN, UNCORE_MEASURED},
		{"nvidia_pcie_pmu_0_rc_3", "", 9e9, NAN, UNCORE_MEASURED},
		{RC4, "0005:00:00.0", 1e9, 63e9, UNCORE_MEASURED},
		{RC4, "0005:40:00.0", 2e9, NAN, UNCORE_MEASURED},
		{RC4, "0005:c0:00.0", 40e9, 31.5e9, UNCORE_SUSPECT},
		{RC5, "", 9e9, NAN, UNCORE_MEASURED},
		{"", "10000:00:02.0", NAN, NAN, UNCORE_UNAVAILABLE},
	};
	struct stage s;

	(void)state;
	play(&s, UNCORE_LEVEL_PORT, NULL, READS);
	assert_rows(&s, bandwidth, COUNT(bandwidth));
	assert_string_equal(uncore_sample_row(s.s, 6)->reason,
			    "40000000000 B/s are more than the ceiling of 31500000000 B/s");
	assert_null(uncore_sample_row(s.s, 6)->query->filter);
	assert_string_equal(uncore_sample_row(s.s, 8)->reason, VMD);
	assert_int_equal(uncore_monitor_note_count(s.m), 1);
	assert_string_equal(uncore_monitor_note_at(s.m, 0),
			    "the ports of nvidia_pcie_pmu_0_rc_3 are hidden");
	end(&s);
}

/* The rows of ports add up to the sums before them. A sum without a filter does not report missing ports. */
static void sums_beside_ports(void **state)
{
	static const double sums[] = {88e9, 88e9}; /* machine, socket 0 */
	struct stage s;

	(void)state;
	begin(&s, UNCORE_LEVEL_PORT, RATES);
	ok(&s, uncore_monitor_add_level(s.m, UNCORE_LEVEL_MACHINE));
	ok(&s, uncore_monitor_add_level(s.m, UNCORE_LEVEL_SOCKET));
	ok(&s, uncore_monitor_add_metrics(s.m, READS));
	ok(&s, uncore_monitor_open(s.m));
	ok(&s, uncore_monitor_start(s.m));
	ok(&s, uncore_monitor_read(s.m, s.s));
	for (size_t i = 0; i < COUNT(sums); i++) {
		const struct uncore_row *row = uncore_sample_row(s.s, i);

		assert_null(row->place->pmu);
		assert_int_equal(row->place->socket, (int)i - 1);
		assert_int_equal(row->quality, UNCORE_MEASURED);
		assert_close(row->value, sums[i]);
	}
	end(&s);
}

/* Each port's latency with its own requests, and one clock: 1000, 4000 and 500 cycles of 0.5 ns. */
static void ratios_for_each_port(void **state)
{
	static const struct expected latency[] = {
		{RC4, "0005:00:00.0", 500e-9, NAN, UNCORE_MEASURED},
		{RC4, "0005:40:00.0", 2000e-9, NAN, UNCORE_MEASURED},
		{RC4, "0005:c0:00.0", 250e-9, NAN, UNCORE_MEASURED},
	};
	static const struct expected rate[] = {
		{RC4, "0005:40:00.0", 1e-3, NAN, UNCORE_MEASURED},
	};
	static const struct expected clock[] = {
		{RC4, "", 2e9, NAN, UNCORE_MEASURED},
	};
	struct stage s;

	(void)state;
	play(&s, UNCORE_LEVEL_PORT, "port=0:4:0,0:4:1,0005:c0:00.0", "pcie.inbound.read.latency");
	assert_rows(&s, latency, COUNT(latency));
	assert_string_equal(uncore_sample_row(s.s, 0)->query->filter,
			    "port=0:4:0,0:4:1,0005:c0:00.0");
	for (size_t i = 0; i < 3; i++)
		assert_int_equal(uncore_sample_row(s.s, i)->counted->instances, 1);
	end(&s);
	play(&s, UNCORE_LEVEL_PORT, "port=0005:40:00.0", "pcie.inbound.read.requests.per.cycle");
	assert_rows(&s, rate, COUNT(rate));
	end(&s);
	play(&s, UNCORE_LEVEL_PORT, NULL, "pcie.clock.frequency");
	assert_int_equal(uncore_sample_count(s.s), 6);
	assert_string_equal(uncore_pmu_name(uncore_sample_row(s.s, 4)->place->pmu), clock[0].pmu);
	assert_close(uncore_sample_row(s.s, 4)->value, clock[0].value);
	end(&s);
}

/* Named twice, or by two names, it is counted once. */
static void a_port_named_twice(void **state)
{
	static const struct expected one[] = {{RC4, "0005:00:00.0", 1e9, 63e9, UNCORE_MEASURED}};
	struct stage s;

	(void)state;
	play(&s, UNCORE_LEVEL_PORT, "port=0005:00:00.0,0:4:0,0:4:0", READS);
	assert_rows(&s, one, 1);
	assert_int_equal(uncore_sample_row(s.s, 0)->counted->instances, 1);
	end(&s);
}

/* Ports whose address nobody knows: each has its own row, and they are one in the sum. */
static void ports_by_numbers_only(void **state)
{
	static const struct expected each[] = {
		{"nvidia_pcie_pmu_0_rc_3", "0:3:0", 1e9, NAN, UNCORE_MEASURED},
		{"nvidia_pcie_pmu_0_rc_3", "0:3:1", 2e9, NAN, UNCORE_MEASURED},
	};
	static const struct expected sum[] = {{"", "", 3e9, NAN, UNCORE_MEASURED}};
	const struct uncore_device *port;
	struct stage s;

	(void)state;
	play(&s, UNCORE_LEVEL_PORT, "port=0:3:0,0:3:1,0:3:0", READS);
	assert_rows(&s, each, COUNT(each));
	port = uncore_sample_row(s.s, 1)->place->port;
	assert_int_equal(port->rc_socket, 0);
	assert_int_equal(port->rc, 3);
	assert_int_equal(port->index, 1);
	assert_int_equal(uncore_device_pmu_count(port), 0);
	end(&s);
	play(&s, UNCORE_LEVEL_MACHINE, "port=0:3:0,0:3:1", READS);
	assert_rows(&s, sum, COUNT(sum));
	end(&s);
}

#define NONE "root port 0:9:1 is not counted: no PMU of nvidia-t410-pcie counts it"

/* They have rows of their own, or the sum lacks them; either way a note names each once. */
static void ports_that_no_pmu_counts(void **state)
{
	static const struct expected each[] = {
		{RC4, "0005:00:00.0", 1e9, 63e9, UNCORE_MEASURED},
		{"", "10000:00:02.0", NAN, NAN, UNCORE_UNAVAILABLE},
		{"", "0:9:1", NAN, NAN, UNCORE_UNAVAILABLE},
	};
	static const struct expected sum[] = {{"", "", 1e9, NAN, UNCORE_PARTIAL}};
	static const enum uncore_level singles[] = {UNCORE_LEVEL_INSTANCE, UNCORE_LEVEL_PORT};
	static const char ports[] = "port=10000:00:02.0,0005:00:00.0,0:9:1,10000:00:02.0";
	struct stage s;

	(void)state;
	for (size_t i = 0; i < COUNT(singles); i++) {
		play(&s, singles[i], ports, READS);
		assert_rows(&s, each, COUNT(each));
		assert_string_equal(uncore_sample_row(s.s, 1)->reason, VMD);
		assert_string_equal(uncore_sample_row(s.s, 2)->reason, NONE);
		assert_int_equal(uncore_sample_row(s.s, 2)->counted->instances, 0);
		end(&s);
	}
	for (int level = UNCORE_LEVEL_MACHINE; level <= UNCORE_LEVEL_SOCKET; level++) {
		play(&s, (enum uncore_level)level, ports, READS);
		assert_rows(&s, sum, COUNT(sum));
		assert_string_equal(uncore_sample_row(s.s, 0)->reason, VMD "; " NONE);
		assert_int_equal(uncore_monitor_note_count(s.m), 2);
		assert_string_equal(uncore_monitor_note_at(s.m, 0), VMD);
		assert_string_equal(uncore_monitor_note_at(s.m, 1), NONE);
		end(&s);
	}
}

/* Two ports of one PMU in one row are one number of the hardware. */
static void ports_together(void **state)
{
	static const struct expected machine[] = {{"", "", 3e9, NAN, UNCORE_MEASURED}};
	static const struct expected one[] = {{"", "0005:00:00.0", 1e9, 63e9, UNCORE_MEASURED}};
	struct stage s;

	(void)state;
	play(&s, UNCORE_LEVEL_MACHINE, "port=0005:00:00.0,0005:40:00.0", READS);
	assert_rows(&s, machine, 1);
	assert_int_equal(uncore_sample_row(s.s, 0)->counted->instances, 1);
	end(&s);
	play(&s, UNCORE_LEVEL_MACHINE, "port=0005:00:00.0", READS);
	assert_rows(&s, one, 1);
	end(&s);
}

/* Two ranges of one PMU are two numbers, and one clock: 3e6 requests in 1e9 cycles, not in 2e9. */
static void parts_of_a_pmu_share_its_clock(void **state)
{
	static const char rates[] = RATE("nvidia_pcie_tgt_pmu_*", "cycles", "1e9") RATE(
		"nvidia_pcie_tgt_pmu_*",
		"rd_req,dst_addr_en=1,dst_addr_base=0,dst_addr_mask=0xfffffffffffff000", "1e6")
		RATE("nvidia_pcie_tgt_pmu_*",
		     "rd_req,dst_addr_en=1,dst_addr_base=0x1000,dst_addr_mask=0xfffffffffffff000",
		     "2e6");
	struct stage s;

	(void)state;
	for (int level = UNCORE_LEVEL_MACHINE; level <= UNCORE_LEVEL_PORT; level++) {
		begin(&s, (enum uncore_level)level, rates);
		ok(&s, set_filters(&s, "address=0/4K,0x1000/4K"));
		ok(&s, uncore_monitor_add_metrics(s.m, "pcie.outbound.read.requests.per.cycle"));
		ok(&s, uncore_monitor_open(s.m));
		ok(&s, uncore_monitor_start(s.m));
		ok(&s, uncore_monitor_read(s.m, s.s));
		assert_int_equal(uncore_sample_row(s.s, 0)->quality, UNCORE_MEASURED);
		assert_close(uncore_sample_row(s.s, 0)->value, 3e-3);
		end(&s);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_row_for_each_port),
		cmocka_unit_test(sums_beside_ports),
		cmocka_unit_test(ratios_for_each_port),
		cmocka_unit_test(a_port_named_twice),
		cmocka_unit_test(ports_by_numbers_only),
		cmocka_unit_test(ports_that_no_pmu_counts),
		cmocka_unit_test(ports_together),
		cmocka_unit_test(parts_of_a_pmu_share_its_clock),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}

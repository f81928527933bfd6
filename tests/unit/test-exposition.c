/* SPDX-License-Identifier: MIT */
/* From rows, as a monitor gives them, to the lines that Prometheus reads. The form of the lines is that of
 * https://prometheus.io/docs/instrumenting/exposition_formats/ and of OpenMetrics 1.0. */
#include "serve/exposition.h"
#include "serve/who.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include "base/cli.h"
#include "helpers.h"
#include "machine/pmu.h"

#define SECOND UINT64_C(1000000000)
#define MOST 8

/* ---- a sample --------------------------------------------------------------------------------- */

/* What the sample shows that these calls get. */
static struct {
	struct uncore_row rows[MOST];
	struct uncore_row_query queries[MOST];
	struct uncore_row_place places[MOST];
	struct uncore_row_counted counted[MOST];
	const struct uncore_distribution *distributions[MOST];
	size_t count;
	uint64_t begin_ns, end_ns;
	const struct uncore_device *devices;
	size_t device_count;
	const char *doubt; /* of each metric */
} shown;

size_t __wrap_uncore_sample_count(const struct uncore_sample *s);
const struct uncore_row *__wrap_uncore_sample_row(const struct uncore_sample *s, size_t i);
const struct uncore_distribution *__wrap_uncore_sample_distribution(const struct uncore_sample *s,
								    size_t i);
uint64_t __wrap_uncore_sample_begin_ns(const struct uncore_sample *s);
uint64_t __wrap_uncore_sample_end_ns(const struct uncore_sample *s);
size_t __wrap_uncore_socket_count(const struct uncore *u);
size_t __wrap_uncore_device_count(const struct uncore *u);
const struct uncore_device *__wrap_uncore_device_at(const struct uncore *u, size_t i);
const char *__wrap_uncore_pmu_place(const struct uncore_pmu *pmu);
const struct uncore_metric *__wrap_cli_metric(const struct uncore *u,
					      const struct uncore_row_query *of);
const char *__wrap_uncore_metric_title(const struct uncore_metric *m);
const char *__wrap_uncore_metric_doubt(const struct uncore_metric *m);
const char *__wrap_uncore_metric_kernel_bug(const struct uncore_metric *m);

size_t __wrap_uncore_sample_count(const struct uncore_sample *s)
{
	(void)s;
	return shown.count;
}

const struct uncore_row *__wrap_uncore_sample_row(const struct uncore_sample *s, size_t i)
{
	(void)s;
	return &shown.rows[i];
}

const struct uncore_distribution *__wrap_uncore_sample_distribution(const struct uncore_sample *s,
								    size_t i)
{
	(void)s;
	return shown.distributions[i];
}

uint64_t __wrap_uncore_sample_begin_ns(const struct uncore_sample *s)
{
	(void)s;
	return shown.begin_ns;
}

uint64_t __wrap_uncore_sample_end_ns(const struct uncore_sample *s)
{
	(void)s;
	return shown.end_ns;
}

size_t __wrap_uncore_socket_count(const struct uncore *u)
{
	(void)u;
	return 2;
}

size_t __wrap_uncore_device_count(const struct uncore *u)
{
	(void)u;
	return shown.device_count;
}

const struct uncore_device *__wrap_uncore_device_at(const struct uncore *u, size_t i)
{
	(void)u;
	return &shown.devices[i];
}

/* The number in the name of box_4 is that of a controller. */
const char *__wrap_uncore_pmu_place(const struct uncore_pmu *pmu)
{
	return strcmp(pmu->name, "box_4") == 0 ? "controller" : "channel";
}

/* The metric of any row is the name of it. */
const struct uncore_metric *__wrap_cli_metric(const struct uncore *u,
					      const struct uncore_row_query *of)
{
	(void)u;
	return (const void *)of->name;
}

const char *__wrap_uncore_metric_title(const struct uncore_metric *m)
{
	return strcmp((const void *)m, "memory.latency") == 0 ? "Latency \\ of \"loads\"" : "Title";
}

const char *__wrap_uncore_metric_doubt(const struct uncore_metric *m)
{
	(void)m;
	return shown.doubt;
}

const char *__wrap_uncore_metric_kernel_bug(const struct uncore_metric *m)
{
	(void)m;
	return NULL;
}

static void begin(uint64_t begin_ns, uint64_t length_ns)
{
	memset(&shown, 0, sizeof(shown));
	shown.begin_ns = begin_ns;
	shown.end_ns = begin_ns + length_ns;
}

/* A row of the whole machine, counted all the time. */
static struct uncore_row *add(const char *name, const char *family, const char *unit, double value)
{
	size_t i = shown.count++;

	shown.queries[i] = (struct uncore_row_query){.name = name, .family = family, .unit = unit};
	shown.places[i] =
		(struct uncore_row_place){.socket = -1, .node = -1, .cpu = -1, .channel = -1};
	shown.counted[i] = (struct uncore_row_counted){
		.instances = 1, .coverage = 1, .seconds = NAN, .amount = NAN};
	shown.rows[i] = (struct uncore_row){.query = &shown.queries[i],
					    .place = &shown.places[i],
					    .counted = &shown.counted[i],
					    .value = value,
					    .ceiling = NAN,
					    .rate = NAN,
					    .weight = NAN};
	return &shown.rows[i];
}

static void show(struct series_set *set, uint64_t interval_ns)
{
	series_add(set, NULL, NULL, interval_ns);
}

/* The text of all, which is to be freed. */
static char *text_of(const struct series_set *set, bool openmetrics)
{
	struct exposition_self self = {.scrapes = 3, .refused = 4, .cut = 5};
	struct buffer text = {0};

	put_label(&self.machine, "host", "h");
	exposition_put(&text, openmetrics, false, set, NULL, &self);
	buffer_free(&self.machine);
	return text.data;
}

static void assert_line(const char *text, const char *line)
{
	char whole[600];

	snprintf(whole, sizeof(whole), "\n%s\n", line);
	assert_contains(text, whole);
}

/* The families of another process keep their names, labels and values; in OpenMetrics the name of a
 * counter has no "_total". */
static void sums_of_who(void **state)
{
	static const char sums[] =
		"# HELP uncore_who_memory_bytes_total Bytes moved.\n"
		"# TYPE uncore_who_memory_bytes_total counter\n"
		"uncore_who_memory_bytes_total{kind=\"other\"} 1.5\n"
		"uncore_who_memory_bytes_total{process=\"a } \\\"b\\\\\",pid=\"7\"} 4e+09\n"
		"# HELP uncore_who_without_group Keys.\n"
		"# TYPE uncore_who_without_group gauge\n"
		"uncore_who_without_group 3\n";
	struct serve_who who = {0};
	struct exposition_self self = {.who = &who};
	struct series_set set = {0};
	struct buffer plain = {0}, open = {0}, ended = {0};

	(void)state;
	buffer_puts(&who.text, sums);
	exposition_put(&plain, false, false, &set, NULL, &self);
	exposition_put(&open, true, false, &set, NULL, &self);
	assert_contains(plain.data,
			"# TYPE uncore_who_memory_bytes_total counter\n"
			"uncore_who_memory_bytes_total{kind=\"other\"} 1.5\n"
			"uncore_who_memory_bytes_total{process=\"a } \\\"b\\\\\",pid=\"7\"} "
			"4000000000\n");
	assert_contains(open.data, "# HELP uncore_who_memory_bytes Bytes moved.\n"
				   "# TYPE uncore_who_memory_bytes counter\n"
				   "# UNIT uncore_who_memory_bytes bytes\n"
				   "uncore_who_memory_bytes_total{kind=\"other\"} 1.5\n");
	assert_line(open.data, "uncore_who_without_group 3");
	assert_line(plain.data, "uncore_who_up 1");
	who.ended = true;
	who.text.len = 0;
	*who.text.data = '\0';
	exposition_put(&ended, false, false, &set, NULL, &self);
	assert_line(ended.data, "uncore_who_up 0");
	assert_null(strstr(ended.data, "uncore_who_memory"));
	buffer_free(&who.text);
	buffer_free(&plain);
	buffer_free(&open);
	buffer_free(&ended);
}

/* ---- sums ------------------------------------------------------------------------------------- */

/* Two intervals of 2 s with the same row. */
static void sums_of_two_intervals(void **state)
{
	static const struct {
		const char *unit;
		double value, seconds, amount, weight;
		double sum, weights; /* of both */
		enum series_kind kind;
	} cases[] = {
		/* the counted amount: counters were on for different times, so that it is not the rate x time */
		{"B/s", 300, 1, 200, NAN, 400, 0, SERIES_COUNTER},
		{"B/s", 300, 1, 0, NAN, 0, 0, SERIES_COUNTER},
		{"B/s", 300, 0.5, NAN, NAN, 300, 0, SERIES_COUNTER}, /* 300/s for 0.5 s, twice */
		{"1/s", 300, NAN, NAN, NAN, 1200, 0, SERIES_COUNTER},
		{"W", 10, 2, NAN, NAN, 40, 0, SERIES_COUNTER},
		{"B/s", -1, 1, 200, NAN, 0, 0, SERIES_COUNTER}, /* a counter does not fall */
		{"s", 4, 1, NAN, 10, 80, 20, SERIES_MEAN},      /* 10 requests of 4 s, twice */
		{"s", 4, 0.5, NAN, NAN, 4, 1, SERIES_MEAN},
		{"ratio", 0.25, NAN, NAN, NAN, 1, 4, SERIES_MEAN},
		{"count", -3, 1, NAN, NAN, -6, 2, SERIES_MEAN},
		{"B", 7, 1, NAN, NAN, 0, 0, SERIES_GAUGE},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct series_set set = {0};

		for (uint64_t n = 0; n < 2; n++) {
			begin(50 * SECOND + n * 2 * SECOND, 2 * SECOND);
			add("x", "f", cases[i].unit, cases[i].value)->weight = cases[i].weight;
			shown.counted[0].seconds = cases[i].seconds;
			shown.counted[0].amount = cases[i].amount;
			show(&set, 2 * SECOND);
		}
		assert_int_equal(set.series_count, 1);
		assert_int_equal(set.families[0].kind, cases[i].kind);
		assert_close(set.series[0].sum, cases[i].sum);
		assert_close(set.series[0].weight, cases[i].weights);
		assert_close(set.series[0].value, cases[i].value);
		assert_int_equal(set.series[0].has_value,
				 cases[i].kind != SERIES_COUNTER || cases[i].value >= 0);
		assert_close(set.seconds, 4);
		assert_close(set.series[0].seconds[UNCORE_MEASURED], 4);
		assert_int_equal(set.intervals, 2);
		assert_int_equal(set.missed, 0);
		series_free(&set);
	}
}

/* An event is its count, whatever the time. Without a value there is nothing to add. */
static void sums_of_events(void **state)
{
	struct series_set set = {0};

	(void)state;
	for (uint64_t n = 0; n < 3; n++) {
		begin(n * SECOND, SECOND);
		add("imc/a/", NULL, "MiB", n == 1 ? NAN : 5)->rate = n == 1 ? NAN : 10;
		add("imc/state/", NULL, "", (double)n); /* without a rate: a state */
		if (n == 1)
			shown.rows[0].quality = UNCORE_UNAVAILABLE;
		show(&set, 0);
	}
	assert_close(set.series[0].sum, 10);
	assert_close(set.series[0].seconds[UNCORE_MEASURED], 2);
	assert_close(set.series[0].seconds[UNCORE_UNAVAILABLE], 1);
	assert_string_equal(set.series[0].labels, "event=\"imc/a/\",unit=\"MiB\"");
	assert_string_equal(set.series[1].labels, "event=\"imc/state/\"");
	assert_int_equal(set.families[set.series[1].family].kind, SERIES_GAUGE);
	assert_string_equal(set.families[set.series[1].family].name, "uncore_event_state");
	assert_close(set.series[1].value, 2);
	series_free(&set);
}

/* An interval of more than one and a half has missed ticks. */
static void missed_ticks(void **state)
{
	static const struct {
		uint64_t length_ns;
		size_t missed;
	} cases[] = {{1000, 0}, {1500, 0}, {1501, 1}, {2000, 1}, {2499, 1}, {2500, 2}, {10000, 9}};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct series_set set = {0};

		begin(77 * SECOND, cases[i].length_ns);
		add("x", "f", "B/s", 1);
		show(&set, 0);
		assert_int_equal(set.missed, 0);
		show(&set, 1000);
		assert_int_equal(set.missed, cases[i].missed);
		show(&set, 1000);
		assert_int_equal(set.missed, 2 * cases[i].missed);
		series_free(&set);
	}
}

/* ---- names and labels ------------------------------------------------------------------------- */

static void labels_of_places(void **state)
{
	static int cpus[] = {0, 1, 2, 3};
	static struct uncore_pmu each_cpu = {.name = (char *)"box_1", .cpus = {cpus, 4}},
				 each_socket = {.name = (char *)"box_2", .cpus = {cpus, 2}},
				 controller = {.name = (char *)"box_4", .cpus = {cpus, 2}},
				 disk = {.name = (char *)"nvme0", .cpus = {cpus, 1}};
	static const struct uncore_device function = {.address = "0000:38:00.0"};
	static const struct uncore_device port = {.address = "0000:17:00.0", .doubt = "maybe"};
	static const struct {
		struct uncore_row_place place;
		const char *labels; /* behind the family */
	} cases[] = {
		{{-1, -1, -1, NULL, NULL, NULL, -1, NULL, NULL}, ""},
		{{0, -1, -1, NULL, NULL, NULL, -1, NULL, NULL}, ",socket=\"0\""},
		{{1, 0, -1, NULL, NULL, NULL, -1, NULL, NULL}, ",socket=\"1\",node=\"0\""},
		{{0, -1, -1, &each_socket, NULL, NULL, 0, NULL, NULL},
		 ",socket=\"0\",channel=\"0\",pmu=\"box_2\""},
		{{0, -1, -1, &controller, NULL, NULL, 3, NULL, NULL},
		 ",socket=\"0\",controller=\"3\",pmu=\"box_4\""},
		{{1, -1, 2, &each_socket, NULL, NULL, -1, NULL, NULL},
		 ",socket=\"1\",pmu=\"box_2\""},
		{{-1, -1, 0, &each_cpu, NULL, NULL, -1, NULL, NULL}, ",pmu=\"box_1\",cpu=\"0\""},
		{{-1, -1, -1, &each_cpu, NULL, NULL, -1, NULL, NULL}, ",pmu=\"box_1\""},
		{{-1, -1, -1, NULL, &port, "GPU", -1, NULL, NULL},
		 ",port=\"0000:17:00.0\",role=\"GPU\""},
		{{0, -1, 0, &disk, NULL, NULL, -1, &function, NULL},
		 ",socket=\"0\",pmu=\"nvme0\",device=\"0000:38:00.0\""},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct series_set set = {0};
		char labels[200];

		begin(0, SECOND);
		add("x", "f", "B/s", 1);
		shown.places[0] = cases[i].place;
		shown.queries[0].filter = "to=a\\b \"c\"\nd";
		show(&set, SECOND);
		snprintf(labels, sizeof(labels),
			 "family=\"f\"%s,filter=\"to=a\\\\b \\\"c\\\"\\nd\"", cases[i].labels);
		assert_string_equal(set.series[0].labels, labels);
		assert_int_equal(set.has_ports, cases[i].place.port != NULL);
		assert_true(cli_same(set.series[0].problem, cases[i].place.port ? "maybe" : NULL));
		series_free(&set);
	}
}

/* Rates are named as what they count, and so are means as what they are of. */
static void names_by_unit(void **state)
{
	static const struct {
		const char *metric, *unit, *name, *histogram;
	} cases[] = {
		{"memory.read.bandwidth", "B/s", "uncore_memory_read_bytes",
		 "uncore_memory_read_sample_mean_bytes_per_second"},
		{"upi.idle.cycles.rate", "1/s", "uncore_upi_idle_cycles",
		 "uncore_upi_idle_cycles_sample_mean_per_second"},
		{"a-b.frequency", "Hz", "uncore_a_b_cycles", "uncore_a_b_sample_mean_hertz"},
		{"package.power", "W", "uncore_package_power_joules",
		 "uncore_package_power_sample_mean_watts"},
		{"memory.latency", "s", "uncore_memory_latency_seconds",
		 "uncore_memory_latency_sample_mean_seconds"},
		{"llc.hit.ratio", "ratio", "uncore_llc_hit_ratio",
		 "uncore_llc_hit_sample_mean_ratio"},
		{"rate", "1/s", "uncore_rate", "uncore_rate_sample_mean_per_second"},
		{"other", "furlong", "uncore_other", "uncore_other_sample_mean"},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct series_set set = {0};

		begin(0, SECOND);
		add(cases[i].metric, "f", cases[i].unit, 1);
		show(&set, SECOND);
		assert_string_equal(set.families[0].name, cases[i].name);
		assert_string_equal(set.families[0].histogram, cases[i].histogram);
		series_free(&set);
	}
}

/* A row that is there twice is one series, and so is one of a later plan; two places are two. */
static void rows_find_their_series(void **state)
{
	struct series_set set = {0};

	(void)state;
	for (int n = 0; n < 3; n++) {
		begin(0, SECOND);
		if (n == 2)
			add("y", "f", "B/s", 1000);
		add("x", "f", "B/s", 1);
		add("x", "f", "B/s", 1);
		add("x", "f", "B/s", 10);
		shown.places[shown.count - 1].socket = 0;
		add("x", "f", "B/s", 100);
		shown.places[shown.count - 1].socket = 1;
		show(&set, SECOND);
		assert_int_equal(set.series_count, n == 2 ? 4 : 3);
	}
	assert_close(set.series[0].sum, 3);
	assert_close(set.series[1].sum, 30);
	assert_close(set.series[2].sum, 300);
	assert_close(set.series[3].sum, 1000);
	assert_int_equal(set.family_count, 2);
	assert_int_equal(set.families[0].first, 0);
	assert_int_equal(set.series[0].next, 1);
	assert_int_equal(set.series[1].next, 2);
	assert_int_equal(set.series[2].next, SERIES_NONE);
	assert_int_equal(set.families[1].first, 3);
	series_free(&set);
}

/* ---- short samples ---------------------------------------------------------------------------- */

/* Limits of B/s: 2^28, 2^28.5 ... 2^40. A bin of the library ends at 2^(n/32). */
static void buckets_of_bins(void **state)
{
	static const struct {
		int bin;
		size_t bucket;
	} cases[] = {
		{0, 0},        {800, 0},          {28 * 32, 0}, {28 * 32 + 1, 1}, {912, 1},
		{913, 2},      {928, 2},          {929, 3},     {1264, 23},       {1265, 24},
		{40 * 32, 24}, {40 * 32 + 1, 25}, {2000, 25},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		const uint64_t bins[] = {5, 0, 2};
		const struct uncore_distribution d = {.samples = 10,
						      .mean = 1.5,
						      .zero_samples = 3,
						      .first_bin = cases[i].bin - 2,
						      .bin_count = 3,
						      .bins = bins},
						 none = {.mean = NAN};
		uint64_t above = 0;
		struct series_set set = {0};

		begin(0, SECOND);
		add("x", "f", "B/s", 1);
		shown.distributions[0] = &none;
		show(&set, SECOND);
		shown.distributions[0] = &d;
		show(&set, SECOND);
		show(&set, SECOND);
		assert_int_equal(series_limit_count(set.families[0].buckets), 25);
		assert_close(series_limit(set.families[0].buckets, 0), 268435456);
		assert_close(series_limit(set.families[0].buckets, 2), 536870912);
		assert_close(series_limit(set.families[0].buckets, 24), 1099511627776);
		assert_close(set.series[0].sample_sum, 30);
		for (size_t k = cases[i].bucket; k <= 25; k++)
			above += set.series[0].samples[k];
		assert_in_range(set.series[0].samples[cases[i].bucket], 4, 20);
		assert_true(above == 4 || above == 14 || above == 20);
		for (size_t k = above = 0; k <= 25; k++)
			above += set.series[0].samples[k];
		assert_int_equal(above, 20);
		series_free(&set);
	}
}

static void a_histogram(void **state)
{
	/* In 2^(895/32) to 2^28: 1; above that: 2; above 2^40: 4. */
	static uint64_t bins[28 * 32 + 12 * 32 + 2 - 895];
	struct series_set set = {0};
	struct uncore_distribution d = {.samples = 10,
					.mean = 100,
					.zero_samples = 3,
					.first_bin = 896,
					.bin_count = COUNT(bins),
					.bins = bins};
	char *text;

	(void)state;
	bins[0] = 1;
	bins[1] = 2;
	bins[COUNT(bins) - 2] = 4;
	begin(0, SECOND);
	add("memory.bandwidth", "f", "B/s", 1);
	add("y", "f", "ratio", 1);
	shown.distributions[0] = &d;
	show(&set, SECOND);
	text = text_of(&set, true);
#define H "uncore_memory_sample_mean_bytes_per_second"
	assert_line(text, "# HELP " H " Title, means of short samples since the start.");
	assert_line(text, "# TYPE " H " histogram");
	assert_line(text, "# UNIT " H " bytes_per_second");
	assert_line(text, H "_bucket{family=\"f\",le=\"268435456\"} 4");
	assert_line(text, H "_bucket{family=\"f\",le=\"379625062.497006\"} 6");
	assert_line(text, H "_bucket{family=\"f\",le=\"1099511627776\"} 6");
	assert_line(text, H "_bucket{family=\"f\",le=\"+Inf\"} 10");
	assert_line(text, H "_sum{family=\"f\"} 1000");
	assert_line(text, H "_count{family=\"f\"} 10");
	assert_null(strstr(text, "uncore_y_sample_mean"));
	free(text);
	series_free(&set);
}

/* ---- texts ------------------------------------------------------------------------------------ */

static void make_three_kinds(struct series_set *set)
{
	for (int n = 0; n < 2; n++) {
		begin(0, SECOND);
		add("memory.bandwidth", "f", "B/s", 20)->ceiling = 100;
		add("memory.latency", "f", "s", 4)->weight = 10;
		add("llc.size", "f", "B", n ? 8 : 3);
		add("never", "f", "B", NAN)->quality = UNCORE_UNAVAILABLE;
		shown.rows[3].reason = "no PMU";
		shown.counted[3].instances = 0;
		shown.counted[1].coverage = 0.5;
		shown.rows[1].quality = UNCORE_SCALED;
		show(set, SECOND);
	}
}

static void openmetrics(void **state)
{
	static const char *const lines[] = {
		"# TYPE uncore_machine info",
		"uncore_machine_info{host=\"h\"} 1",
		"# HELP uncore_memory_bytes Title, in bytes since the start.",
		"# TYPE uncore_memory_bytes counter",
		"# UNIT uncore_memory_bytes bytes",
		"uncore_memory_bytes_total{family=\"f\"} 40",
		"# HELP uncore_memory_latency_seconds Latency \\\\ of \\\"loads\\\", of which sum by count is the mean.",
		"# TYPE uncore_memory_latency_seconds summary",
		"uncore_memory_latency_seconds_sum{family=\"f\"} 80",
		"uncore_memory_latency_seconds_count{family=\"f\"} 20",
		"# TYPE uncore_llc_size_bytes gauge",
		"uncore_llc_size_bytes{family=\"f\"} 8",
		"# TYPE uncore_memory_ceiling_bytes_per_second gauge",
		"uncore_memory_ceiling_bytes_per_second{family=\"f\"} 100",
		"uncore_coverage_ratio{series=\"uncore_memory_bytes\",family=\"f\"} 1",
		"uncore_coverage_ratio{series=\"uncore_memory_latency_seconds\",family=\"f\"} 0.5",
		"uncore_quality_seconds_total{series=\"uncore_memory_bytes\",family=\"f\",quality=\"measured\"} 2",
		"uncore_quality_seconds_total{series=\"uncore_memory_latency_seconds\",family=\"f\",quality=\"scaled\"} 2",
		"uncore_known_problem_info{series=\"uncore_never_bytes\",family=\"f\",reason=\"no PMU\"} 1",
		"# TYPE uncore_intervals counter",
		"uncore_intervals_total 2",
		"uncore_interval_seconds_total 2",
		"uncore_missed_ticks_total 0",
		"uncore_series 4",
		"uncore_scrapes_total 3",
		"uncore_refused_requests_total 4",
		"uncore_cut_connections_total 5",
	};
	static const char *const never[] = {"uncore_never_bytes{", "uncore_llc_size_ceiling",
					    "quality=\"suspect\"", "uncore_pcie"};
	struct series_set set = {0};
	char *text;

	(void)state;
	make_three_kinds(&set);
	text = text_of(&set, true);
	for (size_t i = 0; i < COUNT(lines); i++)
		assert_line(text, lines[i]);
	for (size_t i = 0; i < COUNT(never); i++)
		assert_null(strstr(text, never[i]));
	assert_string_equal(text + strlen(text) - strlen("\n# EOF\n"), "\n# EOF\n");
	free(text);
	series_free(&set);
}

/* The older format has the ending of counters in their names, no units, and no end. */
static void plain_text(void **state)
{
	struct series_set set = {0};
	char *text;

	(void)state;
	make_three_kinds(&set);
	text = text_of(&set, false);
	assert_line(text, "# TYPE uncore_machine_info gauge");
	assert_line(text, "# TYPE uncore_memory_bytes_total counter");
	assert_line(text, "# TYPE uncore_memory_latency_seconds summary");
	assert_line(text, "# HELP uncore_memory_latency_seconds Latency \\\\ of \"loads\", "
			  "of which sum by count is the mean.");
	assert_null(strstr(text, "# UNIT"));
	assert_null(strstr(text, "# EOF"));
	free(text);
	series_free(&set);
}

/* Intervals of exactly a second are times, too; a doubt is told once for each series. */
static void problems_and_one_second(void **state)
{
	struct series_set set = {0};
	char *text;

	(void)state;
	begin(0, SECOND);
	shown.doubt = "in doubt";
	add("x", "f", "B/s", 1)->quality = UNCORE_SUSPECT;
	show(&set, SECOND);
	text = text_of(&set, true);
	assert_line(text, "uncore_quality_seconds_total{series=\"uncore_x_bytes\",family=\"f\","
			  "quality=\"suspect\"} 1");
	assert_line(text, "uncore_known_problem_info{series=\"uncore_x_bytes\",family=\"f\","
			  "reason=\"in doubt\"} 1");
	assert_null(strstr(text, "quality=\"measured\""));
	free(text);
	series_free(&set);
}

/* Its time comes with the counters: a sample before theirs would be a part of a rate that theirs lacks. */
static void nothing_before_the_first_interval(void **state)
{
	struct series_set set = {0};
	char *text;

	(void)state;
	text = text_of(&set, true);
	assert_line(text, "uncore_intervals_total 0");
	assert_null(strstr(text, "uncore_interval_seconds_total"));
	free(text);
	begin(0, SECOND);
	add("x", "f", "B/s", 1);
	show(&set, SECOND);
	text = text_of(&set, true);
	assert_line(text, "uncore_interval_seconds_total 1");
	free(text);
	series_free(&set);
}

/* A root port with two devices, one of them a bridge; a device without a port; a port without a link. */
static void devices_of_ports(void **state)
{
	static struct uncore_device devices[] = {
		{.address = "0:1",
		 .is_port = true,
		 .is_bridge = true,
		 .link_rate = 4e9,
		 .max_rate = 8e9},
		{.address = "1:0",
		 .vendor = 0x15b3,
		 .device = 0x21,
		 .driver = "mlx5",
		 .names = "eth0"},
		{.address = "2:0", .is_bridge = true, .link_rate = 1e9, .max_rate = 1e9},
		{.address = "3:0", .link_rate = 1e9, .max_rate = 1e9},
		{.address = "4:0",
		 .is_port = true,
		 .is_bridge = true,
		 .link_rate = NAN,
		 .max_rate = 2e9},
	};
	struct series_set set = {0};
	char *text;

	(void)state;
	devices[0].port = devices[1].port = devices[2].port = &devices[0];
	devices[4].port = &devices[4];
	begin(0, SECOND);
	shown.devices = devices;
	shown.device_count = COUNT(devices);
	add("pcie.bandwidth", "f", "B/s", 1);
	shown.places[0].port = &devices[0];
	show(&set, SECOND);
	text = text_of(&set, true);
	assert_line(text, "uncore_pcie_device_info{port=\"0:1\",address=\"1:0\",id=\"15b3:0021\","
			  "driver=\"mlx5\",names=\"eth0\"} 1");
	assert_line(text, "uncore_pcie_link_bytes_per_second{port=\"0:1\"} 4000000000");
	assert_line(text, "uncore_pcie_link_max_bytes_per_second{port=\"0:1\"} 8000000000");
	assert_line(text, "uncore_pcie_link_max_bytes_per_second{port=\"4:0\"} 2000000000");
	assert_null(strstr(text, "uncore_pcie_link_bytes_per_second{port=\"4:0\"}"));
	assert_null(strstr(text, "port=\"3:0\""));
	assert_null(strstr(text, "address=\"3:0\""));
	assert_null(strstr(text, "address=\"2:0\""));
	free(text);
	series_free(&set);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sums_of_two_intervals),
		cmocka_unit_test(sums_of_events),
		cmocka_unit_test(missed_ticks),
		cmocka_unit_test(labels_of_places),
		cmocka_unit_test(names_by_unit),
		cmocka_unit_test(rows_find_their_series),
		cmocka_unit_test(buckets_of_bins),
		cmocka_unit_test(a_histogram),
		cmocka_unit_test(openmetrics),
		cmocka_unit_test(plain_text),
		cmocka_unit_test(problems_and_one_second),
		cmocka_unit_test(nothing_before_the_first_interval),
		cmocka_unit_test(devices_of_ports),
		cmocka_unit_test(sums_of_who),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}

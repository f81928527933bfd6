/* SPDX-License-Identifier: MIT */
/* `uncore verify` with GPUs: their copies by a stand-in for CUDA, what becomes of its faults, and verdicts on what an
 * H100 and an H200 counted of known copies. As `test-verify-gpu copy ADDRESS` it copies with a real GPU. */
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "planted.h"
#include "tree.h"
#include "verify/measure.h"

#define GPU "0000:17:00.0"
#define OTHER "0000:65:00.0"
#define HIP "libamdhip64.so.6"

/* ---- copies ---- */

static int no_counters(void *context, struct verify_reading *into)
{
	(void)context, (void)into;
	return 0;
}

/* In a process of its own, since the path of libraries is read when one starts. */
static int copy_all(const char *address, bool amd, size_t size, uint64_t patience_ns,
		    uint64_t round_ns)
{
	static const enum verify_load loads[] = {VERIFY_GPU_READ, VERIFY_GPU_WRITE,
						 VERIFY_GPU_BOTH};
	const struct verify_pace pace = {
		.round_ns = round_ns, .repeats = 1, .stop_fd = -1, .read = no_counters};
	struct verify_series s = {.load = VERIFY_GPU_COPY};
	struct gpu g;

	if (!gpu_prepare(&g, address, amd, 0, size, patience_ns)) {
		printf("not opened: %s\n", g.why);
		return 0;
	}
	printf("opened, %zu pages elsewhere\n", g.elsewhere);
	for (size_t i = 0; i < 3; i++) {
		struct verify_work work = gpu_work(&g, loads[i], g.size / 2);
		const size_t bytes = 3 * work.unit;
		int err = work.run(work.context, bytes, -1);

		if (err) {
			printf("failed: %s\n", g.why);
			gpu_close(&g);
			return 0;
		}
		printf("%s %.0f at %.1f GB/s\n", verify_load_words[loads[i]].name, g.bytes,
		       g.bytes / g.busy_ns);
	}
	if (gpu_steady_rounds(&s, &g, &pace))
		printf("failed: %s\n", g.why);
	for (size_t i = 0; i < s.round_count; i++)
		printf("gpu-copy %.0f\n", s.moved[i]);
	free(s.moved);
	free(s.readings);
	gpu_close(&g);
	return 0;
}

/* What the process prints with this library in its path, and this fault. */
static char *copied_with(const struct tree *t, const char *library, const char *fault,
			 const char *address)
{
	static char text[4096];
	char command[2048];
	size_t len;
	FILE *f;

	snprintf(
		command, sizeof(command),
		"rm -f %s/lib*; test -z '%s' || ln -s $UNCORE_BUILD_ROOT/tests/cuda/%s %s/%s; "
		"LD_LIBRARY_PATH=%s UNCORE_CUDA_FAULT='%s' UNCORE_CUDA_GPU=" GPU
		" UNCORE_CUDA_LOG=%s/log timeout 60 $UNCORE_BUILD_ROOT/tests/test-verify-gpu short "
		"%s",
		t->dir, library, library, t->dir, strcmp(library, HIP) == 0 ? HIP : "libcuda.so.1",
		t->dir, fault, t->dir, address);
	f = popen(command, "r"); /* NOLINT(cert-env33-c): this program itself */
	assert_non_null(f);
	len = fread(text, 1, sizeof(text) - 1, f);
	text[len] = '\0';
	assert_int_equal(pclose(f), 0);
	return text;
}

static void copies_of(const char *library, const char *address)
{
	static const char kinds[][4] = {"h2d", "d2h", "d2d"};
	unsigned long long sums[3] = {0}, bytes, begin, end, steady = 0;
	const unsigned long long unit = 64ull << 20, size = 128ull << 20;
	unsigned rounds = 0;
	char path[300], kind[8];
	struct tree t;
	char *text, *line;
	double moved;
	FILE *f;

	tree_make(&t);
	text = copied_with(&t, library, "", address);
	if (!strstr(text, "opened, 0 pages elsewhere\ngpu-read 201326592 at ") ||
	    !strstr(text, "gpu-write 201326592 at ") || !strstr(text, "gpu-both 201326592 at "))
		fail_msg("%s", text);
	for (line = text; (line = strstr(line, "gpu-copy ")); line++, rounds++) {
		moved = strtod(line + strlen("gpu-copy "), NULL);
		/* Levels 4, 0, 2, 1, 0, 4, 1, 2. */
		assert_true(rounds == 1 || rounds == 4 ? moved <= 0 : moved > 0);
		steady += (unsigned long long)moved;
	}
	assert_int_equal(rounds, 8);
	snprintf(path, sizeof(path), "%s/log", t.dir);
	f = fopen(path, "r");
	assert_non_null(f);
	while (fscanf(f, "%7s %llu %llu %llu", kind, &bytes, &begin, &end) == 4) {
		assert_true(end - begin == bytes / 50);
		for (size_t i = 0; i < 3; i++)
			sums[i] += strcmp(kind, kinds[i]) == 0 ? bytes : 0;
	}
	fclose(f);
	/* The preparation, and two runs in each direction. */
	assert_int_equal(sums[0], size + 6 * unit);
	assert_int_equal(sums[1], size + 6 * unit);
	assert_true(sums[2] >= size + steady);
	tree_remove(&t);
}

static void known_bytes_are_copied(void **state)
{
	(void)state;
	copies_of("libcuda.so.1", GPU);
	copies_of(HIP, GPU " amd");
}

static void faults_of_the_library_are_reported(void **state)
{
	static const struct {
		const char *library, *fault, *address, *says;
	} cases[] = {
		{"", "", GPU,
		 "not opened: the library cannot be loaded: libcuda.so.1: cannot open"},
		{"libcuda-old.so", "", GPU,
		 "not opened: its library libcuda.so.1 has no cuMemHostRegister_v2"},
		{"libcuda.so.1", "no device", GPU,
		 "not opened: cuInit failed: CUDA_ERROR_NO_DEVICE, 100"},
		{"libcuda.so.1", "", OTHER,
		 "not opened: cuDeviceGetByPCIBusId failed: CUDA_ERROR_INVALID_DEVICE, 101"},
		{"libcuda.so.1", "exit", GPU,
		 "not opened: its vendor's library ended the process: status 0"},
		{"libcuda.so.1", "hang at once", GPU,
		 "not opened: its vendor's library did not return within 5 s"},
		{"libcuda.so.1", "crash", GPU,
		 "opened, 0 pages elsewhere\nfailed: its vendor's library crashed: signal 6"},
		{"libcuda.so.1", "hang", GPU,
		 "opened, 0 pages elsewhere\nfailed: its vendor's library did not return within "},
	};
	struct tree t;

	(void)state;
	tree_make(&t);
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		const char *text =
			copied_with(&t, cases[i].library, cases[i].fault, cases[i].address);

		if (!strstr(text, cases[i].says))
			fail_msg("'%s': %s", cases[i].fault, text);
	}
	tree_remove(&t);
}

/* ---- what real GPUs counted: driver 580.159.04, PCIe of generation 5 with 16 lanes, in a virtual machine ---- */

#define MIB_512 536870912.0
#define MIB_64 67108864.0

/* What was copied, and counted: received, transmitted. */
struct row {
	enum verify_load load;
	unsigned series; /* its number */
	double moved, seconds, received, transmitted;
};

/* H100: counts of NVML fields 198 and 197, summed from polls of 20 to 70 ms. */
#define IDLE(load, series)                              \
	{                                               \
		load, series, 0, 1.000, 866544, 1326256 \
	}
static const struct row h100[] = {
	IDLE(VERIFY_GPU_READ, 0),
	{VERIFY_GPU_READ, 0, 200 * MIB_512, 1.955, 115764618076, 10069016084},
	{VERIFY_GPU_READ, 0, 200 * MIB_512, 1.949, 115764602696, 10069009716},
	{VERIFY_GPU_READ, 0, 200 * MIB_512, 1.958, 115764140412, 10068364024},
	{VERIFY_GPU_READ, 0, 200 * MIB_512, 1.961, 115763505760, 10067557576},
	{VERIFY_GPU_READ, 0, 200 * MIB_512, 1.952, 115763414852, 10067437216},
	IDLE(VERIFY_GPU_WRITE, 1),
	IDLE(VERIFY_GPU_WRITE, 1),
	{VERIFY_GPU_WRITE, 1, 200 * MIB_512, 1.952, 1561344, 117442932468},
	{VERIFY_GPU_WRITE, 1, 200 * MIB_512, 1.949, 1543844, 117442915804},
	IDLE(VERIFY_GPU_BOTH, 2),
	IDLE(VERIFY_GPU_BOTH, 2),
	{VERIFY_GPU_BOTH, 2, 100 * MIB_512, 1.181, 57882546116, 63755181096},
	{VERIFY_GPU_BOTH, 2, 100 * MIB_512, 1.181, 57882546116, 63755181096},
	IDLE(VERIFY_GPU_READ, 3),
	IDLE(VERIFY_GPU_READ, 3),
	{VERIFY_GPU_READ, 3, 200 * MIB_64, 0.246, 14470630780, 1258676204},
	{VERIFY_GPU_READ, 3, 200 * MIB_64, 0.246, 14470630780, 1258676204},
};

/* H200: the rate of copies, and counts relative to the copied bytes, which are printed with five digits. */
#define H200(load, series, rate, window, rx, tx)                                                 \
	{                                                                                        \
		(load), (series), (rate)*1e9 * (window), (window), (rx) * (rate)*1e9 * (window), \
			(tx) * (rate)*1e9 * (window)                                             \
	}
static const struct row h200[] = {
	H200(VERIFY_GPU_READ, 0, 55.378, 2.501, 1.07814, 0.09378),
	H200(VERIFY_GPU_READ, 0, 28.535, 2.502, 1.07816, 0.09380),
	H200(VERIFY_GPU_READ, 0, 10.772, 2.492, 1.07821, 0.09388),
	H200(VERIFY_GPU_READ, 0, 55.391, 2.501, 1.07814, 0.09378),
	H200(VERIFY_GPU_WRITE, 1, 55.270, 2.506, 0.00001, 1.09377),
	H200(VERIFY_GPU_WRITE, 1, 28.482, 2.488, 0.00003, 1.09380),
	H200(VERIFY_GPU_WRITE, 1, 10.765, 2.544, 0.00008, 1.09388),
	H200(VERIFY_GPU_WRITE, 1, 10.765, 2.544, 0.00008, 1.09388),
	H200(VERIFY_GPU_READ, 2, 28.583, 2.498, 1.07816, 0.09380),
	H200(VERIFY_GPU_READ, 2, 10.773, 2.492, 1.07821, 0.09388),
	H200(VERIFY_GPU_READ, 2, 28.583, 2.498, 1.07816, 0.09380),
	H200(VERIFY_GPU_READ, 2, 10.773, 2.492, 1.07821, 0.09388),
};

enum { RECEIVED, TRANSMITTED, METRICS };
static const char *const metrics[METRICS] = {"device.pcie.received.bandwidth",
					     "device.pcie.transmitted.bandwidth"};

#define ANY 99u

/* Counts of one metric in one series (ANY: all) are multiplied by the factor. */
struct fault {
	unsigned metric, series;
	double factor;
	bool swapped, other; /* the directions; the GPUs */
	double noise;        /* of other programs, bytes per second in every other round */
};

static void make_run(struct verify_run *run, const struct row *rows, size_t count,
		     const struct fault *fault)
{
	struct verify_series *s = NULL;
	struct verify_run planted = {.version = "0.1.0", .date = "2026-12-01"};

	for (unsigned m = 0; m < 2 * METRICS; m++) {
		add_cell(&planted, metrics[m / 2], "nvidia-gpu", 0, -1);
		strcpy(planted.cells[m].port, m % 2 ? OTHER : GPU);
	}
	for (size_t i = 0; i < count; i++) {
		const struct row *r = &rows[i];
		double counts[METRICS] = {r->received, r->transmitted};
		struct verify_reading *into;

		if (!i || r->series != rows[i - 1].series)
			s = verify_add_series(&planted, &(struct verify_series){
								.load = r->load,
								.copy = MIB_512,
								.rate = 55e9,
								.device = GPU,
							});
		into = verify_add_round(s, r->moved);
		for (unsigned m = 0; m < METRICS; m++) {
			double counted = counts[fault->swapped ? !m : m];

			if (fault->metric == m &&
			    (fault->series == ANY || fault->series == r->series))
				counted *= fault->factor;
			counted += i % 2 ? fault->noise * r->seconds : 0;
			into[2 * m + fault->other] =
				(struct verify_reading){counted, r->seconds, 0};
			into[2 * m + !fault->other] = (struct verify_reading){1000, r->seconds, 0};
		}
	}
	read_back(run, &planted);
	verify_run_free(&planted);
}

/* The number of verdicts, by metric. */
struct tally {
	size_t of[METRICS][VERIFY_VERDICTS];
	char said[2000];
};

static struct tally judge(const struct row *rows, size_t count, const struct fault *fault)
{
	struct tally t = {0};
	struct verify_result *results;
	struct verify_run run;
	size_t all;

	make_run(&run, rows, count, fault);
	all = verify_judge(&run, &results);
	for (size_t i = 0; i < all; i++) {
		const struct verify_result *r = &results[i];
		const size_t len = strlen(t.said);

		t.of[strcmp(r->cell->metric, metrics[RECEIVED]) != 0][r->verdict]++;
		assert_string_equal(r->cell->port, GPU);
		snprintf(t.said + len, sizeof(t.said) - len, "%s %s %s: %s: %s\n",
			 verify_load_words[r->series->load].name, r->cell->metric,
			 verify_verdicts[r->verdict], r->fault ? r->fault : "", r->reason);
	}
	free(results);
	verify_run_free(&run);
	return t;
}
#define JUDGE(rows, ...) judge(rows, sizeof(rows) / sizeof(*(rows)), &(struct fault){__VA_ARGS__})

static void expect_tally(const struct tally *t, unsigned metric, size_t proved, size_t off,
			 size_t unknown)
{
	if (t->of[metric][VERIFY_PROVED] != proved || t->of[metric][VERIFY_OFF] != off ||
	    t->of[metric][VERIFY_UNKNOWN] != unknown)
		fail_msg("%s", t->said);
}

static void expect_said(const struct tally *t, const char *sentence)
{
	if (!strstr(t->said, sentence))
		fail_msg("'%s' is not in:\n%s", sentence, t->said);
}

static void counts_of_real_gpus_are_proved(void **state)
{
	struct tally t = JUDGE(h100, .factor = 1);

	(void)state;
	/* What a GPU receives while it writes is no line. */
	expect_tally(&t, RECEIVED, 3, 0, 0);
	expect_tally(&t, TRANSMITTED, 4, 0, 0);
	expect_said(&t, "gpu-read "
			"device.pcie.received.bandwidth proved: : 1.0781 B for each byte "
			"(completions of 256 B)");
	expect_said(&t,
		    "gpu-both device.pcie.transmitted.bandwidth proved: : 1.1875 B for each byte "
		    "(read requests of 256 B, writes of 256 B)");
	t = JUDGE(h200, .factor = 1);
	expect_tally(&t, RECEIVED, 2, 0, 0);
	expect_tally(&t, TRANSMITTED, 3, 0, 0);
}

static void one_percent_is_off(void **state)
{
	static const double factors[] = {1.01, 0.99};

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		for (unsigned series = 0; series < 4; series++)
			for (unsigned m = 0; m < METRICS; m++) {
				const bool nothing = m == RECEIVED && series == 1;
				struct tally t = JUDGE(h100, .metric = m, .series = series,
						       .factor = factors[i]);

				/* Without sizes from the first series others cannot be judged. */
				if (t.of[m][VERIFY_OFF] != !nothing || t.of[!m][VERIFY_OFF])
					fail_msg("series %u, factor %g: %s", series, factors[i],
						 t.said);
			}
		for (unsigned m = 0; m < METRICS; m++) {
			struct tally t =
				JUDGE(h100, .metric = m, .series = ANY, .factor = factors[i]);

			expect_said(&t,
				    factors[i] > 1 ? "1.0 % too much for" : "1.0 % too little for");
			assert_int_equal(t.of[m][VERIFY_PROVED], 0);
			t = JUDGE(h200, .metric = m, .series = ANY, .factor = factors[i]);
			assert_int_equal(t.of[m][VERIFY_PROVED], 0);
			assert_true(t.of[m][VERIFY_OFF] >= 1);
		}
	}
}

static void faults_are_named(void **state)
{
	struct tally t = JUDGE(h100, .factor = 1, .swapped = true);

	(void)state;
	expect_said(&t, "gpu-read device.pcie.received.bandwidth off: directions swapped");
	expect_said(&t, "gpu-write device.pcie.received.bandwidth off: directions swapped");
	t = JUDGE(h100, .factor = 1, .other = true);
	expect_said(&t, "off: other device: 107.8 % of the data of " GPU " is counted at " OTHER);
	t = JUDGE(h100, .metric = RECEIVED, .series = ANY, .factor = 256 / 276.0);
	expect_said(&t, "off: payload: the payload is counted without headers");
	t = JUDGE(h100, .metric = TRANSMITTED, .series = ANY, .factor = 0);
	expect_said(&t, "gpu-write device.pcie.transmitted.bandwidth off: nothing");
	t = JUDGE(h100, .metric = TRANSMITTED, .series = 2, .factor = 1.024);
	expect_said(
		&t,
		"1.2160 B for each byte: 2.40 % too much (1.1875 expected, read requests of 256 B, writes of 256 B)");
	/* Completions of 128 bytes, and of 64 and 128. */
	t = JUDGE(h100, .metric = RECEIVED, .series = ANY, .factor = 148 / 128.0 * 256 / 276);
	expect_tally(&t, RECEIVED, 3, 0, 0);
	expect_said(&t, "completions of 128 B");
	t = JUDGE(h100, .metric = RECEIVED, .series = ANY, .factor = 1.23 / 1.078125);
	expect_tally(&t, RECEIVED, 0, 0, 3);
	expect_said(&t, "cannot tell: mixed");
	t = JUDGE(h100, .factor = 1, .noise = 20e9);
	expect_said(&t, "cannot tell: busy: counts of the same amount vary");
	assert_int_equal(t.of[RECEIVED][VERIFY_OFF] + t.of[TRANSMITTED][VERIFY_OFF], 0);
}

/* ---- its root port: the payload, as of a disk ---- */

#define PORT "0000:16:00.0"
#define NEXT_PORT "0000:16:02.0"

/* In each round the port counts what was moved, at `port`, in the own direction or the other one. */
static size_t judge_port(const char *port, bool swapped, const char **fault)
{
	static const enum verify_load loads[] = {VERIFY_GPU_READ, VERIFY_GPU_WRITE};
	struct verify_run run = {0};
	struct verify_result *results;
	size_t all, proved = 0;

	for (unsigned m = 0; m < 4; m++) {
		add_cell(&run,
			 m / 2 ? "pcie.inbound.write.bandwidth" : "pcie.inbound.read.bandwidth",
			 "intel-iio", 0, -1);
		strcpy(run.cells[m].port, m % 2 ? NEXT_PORT : PORT);
	}
	for (size_t k = 0; k < 2; k++) {
		struct verify_series *s = verify_add_series(
			&run,
			&(struct verify_series){.load = loads[k], .device = GPU, .port = PORT});

		for (unsigned i = 0; i < 12; i++) {
			const double moved = i % 4 * 1e9;
			struct verify_reading *r = verify_add_round(s, moved);

			for (unsigned m = 0; m < 4; m++) {
				const bool own = (m / 2 == k) != swapped &&
						 strcmp(run.cells[m].port, port) == 0;

				r[m] = (struct verify_reading){own ? moved + 1e5 : 1e5, 0.2, 0};
			}
		}
	}
	all = verify_judge(&run, &results);
	assert_int_equal(all, 2);
	*fault = results[0].fault;
	for (size_t i = 0; i < all; i++) {
		proved += results[i].verdict == VERIFY_PROVED;
		assert_string_equal(results[i].cell->port, PORT);
	}
	free(results);
	verify_run_free(&run);
	return proved;
}

static void root_ports_are_judged_by_the_same_bytes(void **state)
{
	const char *fault;

	(void)state;
	assert_int_equal(judge_port(PORT, false, &fault), 2);
	assert_int_equal(judge_port(PORT, true, &fault), 0);
	assert_string_equal(fault, "directions swapped");
	assert_int_equal(judge_port(NEXT_PORT, false, &fault), 0);
	assert_string_equal(fault, "other port");
}

/* H200: the share of its memory's 4.8143 TB/s by GPM, at three rates of copies. */
static double memory_slope(double factor, enum verify_verdict *verdict)
{
	static const double rows[][3] = {{2101.99e9, 2.499, 0.872670},
					 {1040.57e9, 2.501, 0.431838},
					 {353.45e9, 2.503, 0.146990},
					 {353.45e9, 2.503, 0.146990}};
	struct verify_run run = {0};
	struct verify_result *results;
	struct verify_series *s;
	double slope;

	add_cell(&run, "device.memory.bandwidth", "nvidia-gpu", 0, -1);
	strcpy(run.cells[0].port, GPU);
	s = verify_add_series(&run,
			      &(struct verify_series){.load = VERIFY_GPU_COPY, .device = GPU});
	for (size_t i = 0; i < 4; i++)
		*verify_add_round(s, rows[i][0] * rows[i][1]) = (struct verify_reading){
			factor * rows[i][2] * 4.8143e12 * rows[i][1], rows[i][1], 0};
	assert_int_equal(verify_judge(&run, &results), 1);
	slope = results[0].value;
	*verdict = results[0].verdict;
	free(results);
	verify_run_free(&run);
	return slope;
}

static void memory_counts_each_copied_byte_twice(void **state)
{
	enum verify_verdict verdict;

	(void)state;
	assert_true(fabs(memory_slope(1, &verdict) - 2) < 0.01);
	assert_int_equal(verdict, VERIFY_PROVED);
	memory_slope(1.01, &verdict);
	assert_int_equal(verdict, VERIFY_OFF);
	memory_slope(0.99, &verdict);
	assert_int_equal(verdict, VERIFY_OFF);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(known_bytes_are_copied),
		cmocka_unit_test(faults_of_the_library_are_reported),
		cmocka_unit_test(counts_of_real_gpus_are_proved),
		cmocka_unit_test(one_percent_is_off),
		cmocka_unit_test(faults_are_named),
		cmocka_unit_test(root_ports_are_judged_by_the_same_bytes),
		cmocka_unit_test(memory_counts_each_copied_byte_twice),
	};

	const char *fault = getenv("UNCORE_CUDA_FAULT");

	if (argc > 2 && strcmp(argv[1], "short") == 0)
		return copy_all(argv[2], argc > 3, 128 * MIB,
				(fault && strncmp(fault, "hang", 4) == 0 ? 5 : 30) * NS_PER_S,
				200 * NS_PER_MS);
	if (argc > 2)
		return copy_all(argv[2], argc > 3, 512 * MIB, 30 * NS_PER_S, NS_PER_S);
	return cmocka_run_group_tests(tests, NULL, NULL);
}

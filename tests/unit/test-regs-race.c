/* SPDX-License-Identifier: MIT */
/* Readings beside a block that moves, in a process of its own (uncore demo-block): no torn value, no
 * lost count, wraps at all widths, one moment for all counters that are frozen. UNCORE_RACE_READS says
 * how many values are read from halves; make test reads fewer than the 10^8 of the suite `long`. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>

#include <cmocka.h>

#include "block.h"
#include "count/monitor.h"

#define COUNTERS 9
#define EVENTS                                                                         \
	"demo_0/active_cnt/,demo_0/busy_cnt/,demo_0/idle_cnt/,demo_0/byte_cnt/,"       \
	"demo_0/hist_bin_0/,demo_0/hist_bin_1/,demo_0/hist_bin_2/,demo_0/hist_bin_3/," \
	"demo_0/hist_bin_4/"
#define WINDOWS 100000

static const char *const names[COUNTERS] = {"active_cnt", "busy_cnt",   "idle_cnt",
					    "byte_cnt",   "hist_bin_0", "hist_bin_1",
					    "hist_bin_2", "hist_bin_3", "hist_bin_4"};

struct demo {
	struct block b; /* its map is the demo's */
	pid_t pid;
	FILE *out;
	uint64_t made[COUNTERS];
};

/* Starts uncore demo-block with these options and a machine that reads it. */
static void demo_start(struct demo *d, char **options)
{
	char line[700], spec[400], dir[300];
	char *argv[16] = {getenv("UNCORE"), (char *)"demo-block", dir};
	int ends[2], fd;

	block_make(&d->b);
	snprintf(dir, sizeof(dir), "%s/demo", d->b.tree.dir);
	snprintf(d->b.map_path, sizeof(d->b.map_path), "%s/demo/map", d->b.tree.dir);
	for (size_t i = 0; options[i]; i++)
		argv[3 + i] = options[i];
	if (!argv[0] || pipe(ends) < 0)
		fail_msg("UNCORE must name the command");
	d->pid = fork();
	if (d->pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGTERM); /* a test that fails leaves nothing behind */
		dup2(ends[1], 1);
		close(ends[0]);
		close(ends[1]);
		execv(argv[0], argv);
		_exit(127);
	}
	close(ends[1]);
	d->out = fdopen(ends[0], "r");
	if (!d->out || !fgets(line, sizeof(line), d->out))
		fail_msg("%s demo-block does not start", argv[0]);
	munmap((void *)d->b.map, BLOCK_SIZE);
	fd = open(d->b.map_path, O_RDWR);
	d->b.map = mmap(NULL, BLOCK_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	assert_ptr_not_equal(d->b.map, MAP_FAILED);
	snprintf(spec, sizeof(spec), "regs:%s/block.yaml", dir);
	must(&d->b, uncore_set_source(d->b.u, spec));
	must(&d->b, uncore_set_program(d->b.u, true));
}

/* Ends it and takes what it made. */
static void demo_stop(struct demo *d)
{
	char line[300], name[64];
	unsigned long long made;
	size_t known = 0;
	int status;

	kill(d->pid, SIGTERM);
	while (fgets(line, sizeof(line), d->out))
		if (sscanf(line,
			   "{\"schema\":1,\"kind\":\"made\",\"event\":\"%63[a-z0-9_]\","
			   "\"made\":%llu}",
			   name, &made) == 2)
			for (size_t i = 0; i < COUNTERS; i++)
				if (strcmp(names[i], name) == 0) {
					d->made[i] = made;
					known++;
				}
	fclose(d->out);
	assert_int_equal(waitpid(d->pid, &status, 0), d->pid);
	assert_int_equal(status, 0);
	assert_int_equal(known, COUNTERS);
}

/* The number in the plan of one of EVENTS. */
static size_t counter(const struct demo *d, size_t i)
{
	size_t at = 0;

	while (strcmp(d->b.m->plan.counters[at].event, names[i]) != 0)
		at++;
	return at;
}

/* The latest reading of one of EVENTS. */
static uint64_t raw(const struct demo *d, size_t i)
{
	size_t at = counter(d, i);

	if (d->b.m->previous[at].lost)
		fail_msg("%s: %s", names[i], d->b.m->previous[at].why);
	return d->b.m->previous[at].raw;
}

/* What has been counted of one of EVENTS. */
static uint64_t total(const struct demo *d, size_t i)
{
	return d->b.m->total[counter(d, i)].count;
}

/* ---- halves ---- */

static uint64_t now_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec;
}

/* The map read as a careless reader does: whether there is a value that is no step of the block's. */
static bool torn_by_hand(const struct demo *d)
{
	bool torn = false;

	for (uint64_t end = now_s() + 30; !torn && now_s() < end;) {
		uint64_t low = *(volatile uint32_t *)d->b.map;
		uint64_t high = *(volatile uint32_t *)(d->b.map + 4);

		torn = (high << 32 | low) % UINT32_MAX != 0;
	}
	return torn;
}

static void test_halves(void **state)
{
	static char *options[] = {(char *)"--halves", (char *)"--carries", NULL};
	const char *wanted = getenv("UNCORE_RACE_READS");
	uint64_t reads = wanted ? strtoull(wanted, NULL, 10) : 300000, values = 0, steps = 0,
		 last = 0;
	uint64_t end = now_s() + 60;
	struct demo d;

	(void)state;
	demo_start(&d, options);
	must(&d.b, uncore_scan(d.b.u));
	must(&d.b, block_start(&d.b, EVENTS));
	if (sysconf(_SC_NPROCESSORS_ONLN) > 1)
		assert_true(torn_by_hand(&d));
	/* Also until the block has had some time on a CPU. */
	while (values < reads || (steps < 1000 && now_s() < end)) {
		block_read(&d.b);
		for (size_t i = 0; i < COUNTERS; i++)
			if (raw(&d, i) % UINT32_MAX != 0)
				fail_msg("%s is torn: %#llx", names[i],
					 (unsigned long long)raw(&d, i));
		steps += raw(&d, 0) != last;
		last = raw(&d, 0);
		values += COUNTERS;
	}
	demo_stop(&d);
	assert_true(steps > 100);
	print_message("# %llu values from halves, %llu times with new steps; not one torn\n",
		      (unsigned long long)values, (unsigned long long)steps);
	block_remove(&d.b);
}

/* ---- read-to-clear ---- */

#define STOPS 100

struct result {
	volatile bool enough; /* it was stopped often enough */
	bool done;
	bool late; /* a register may have overflowed: the machine stood still for seconds */
	uint64_t totals[COUNTERS];
	uint64_t windows;
};

static bool is_late(const struct demo *d)
{
	const struct uncore_reading *r = d->b.m->previous;

	for (size_t i = 0; i < COUNTERS; i++)
		if (r[i].wrapped)
			return true;
	return false;
}

/* A reader in a process of its own: every interval, or some, then a last look when the block is still. */
static void read_cleared(struct demo *d, struct result *r, uint64_t bytes)
{
	uint64_t end = now_s() + 60;

	must(&d->b, uncore_scan(d->b.u));
	must(&d->b, block_start(&d->b, EVENTS));
	for (; r->windows < WINDOWS || ((!r->enough || raw(d, 3) < bytes) && now_s() < end);
	     r->windows++) {
		block_read(&d->b);
		if (r->enough && r->windows >= WINDOWS)
			usleep(200); /* what is left is to wait for the bytes */
		r->late = is_late(d);
		if (r->late)
			_exit(0);
	}
	for (size_t i = 0; i < COUNTERS; i++)
		r->totals[i] = raw(d, i);
	r->done = true;
	_exit(0);
}

/* Stopped at any moment, between two registers or within a reading: the sum is what the block made. */
static bool check_cleared(const char *width, const char *rate, uint64_t bytes)
{
	char *options[] = {(char *)"--window",
			   (char *)"read-to-clear",
			   (char *)"--width",
			   (char *)width,
			   (char *)"--rate",
			   (char *)rate,
			   NULL};
	struct result *r =
		mmap(NULL, sizeof(*r), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	unsigned stops = 0, seed = 1;
	struct demo d;
	bool late;
	int status;
	pid_t reader;

	demo_start(&d, options);
	reader = fork();
	if (reader == 0)
		read_cleared(&d, r, bytes);
	while (waitpid(reader, &status, WNOHANG) == 0) {
		usleep((useconds_t)(rand_r(&seed) % 20000));
		kill(reader, SIGSTOP);
		assert_int_equal(waitpid(reader, &status, WUNTRACED), reader);
		if (!WIFSTOPPED(status))
			break;
		r->enough = ++stops >= STOPS;
		usleep((useconds_t)(rand_r(&seed) % 5000));
		kill(reader, SIGCONT);
	}
	late = r->late;
	assert_true(late || (r->done && status == 0 && r->windows >= WINDOWS && stops >= STOPS));
	demo_stop(&d);
	assert_true(late || d.made[3] >= bytes);
	for (size_t i = 0; i < COUNTERS && !late; i++)
		assert_int_equal(r->totals[i] + *(volatile uint64_t *)(d.b.map + 8 * i), d.made[i]);
	print_message("# %llu windows of %s bits, stopped %u times: %s\n",
		      (unsigned long long)r->windows, width, stops,
		      late ? "too late to know" : "nothing lost");
	munmap(r, sizeof(*r));
	block_remove(&d.b);
	return !late;
}

/* 32 bits of bytes are full after two seconds, and are added up beyond that. */
static void test_read_to_clear(void **state)
{
	(void)state;
	assert_true(check_cleared("64", "1000000000", 0));
	/* That a machine stood still for two seconds is said, and no fault: then once more. */
	for (int i = 0; i < 3; i++)
		if (check_cleared("32", "20000000", UINT64_C(1) << 33))
			return;
	fail_msg("the machine stood still each time");
}

/* ---- wraps ---- */

/* 32 bits of bytes go round in 44 s: a machine that is stopped for seconds misses no wrap. */
static void check_wraps(const char *width, bool halves)
{
	char *options[] = {(char *)"--wait",
			   (char *)"--rate",
			   (char *)"1000000",
			   (char *)"--below",
			   (char *)"100",
			   (char *)"--width",
			   (char *)width,
			   halves ? (char *)"--halves" : NULL,
			   NULL};
	unsigned wrapped = 0;
	struct demo d;

	demo_start(&d, options);
	must(&d.b, uncore_scan(d.b.u));
	must(&d.b, block_start(&d.b, EVENTS));
	kill(d.pid, SIGUSR1);
	for (uint64_t end = now_s() + 60; total(&d, 4) <= 100 && now_s() < end;) {
		usleep(10000);
		block_read(&d.b);
	}
	demo_stop(&d);
	block_read(&d.b);
	for (size_t i = 0; i < COUNTERS; i++) {
		assert_int_equal(total(&d, i), d.made[i]);
		wrapped += d.made[i] > 100;
	}
	assert_true(wrapped >= 5);
	block_remove(&d.b);
}

static void test_wraps(void **state)
{
	(void)state;
	check_wraps("32", false);
	check_wraps("36", false);
	check_wraps("44", false);
	check_wraps("48", false);
	check_wraps("48", true);
}

/* ---- freeze ---- */

/* What the block makes of so many cycles. */
static uint64_t share(uint64_t cycles, uint64_t part, uint64_t of)
{
	return cycles / of * part + cycles % of * part / of;
}

static void check_frozen(const struct demo *d, uint64_t cycles)
{
	assert_int_equal(raw(d, 3), cycles * 96);
	assert_int_equal(raw(d, 0), share(cycles, 18, 25));
	assert_int_equal(raw(d, 1), share(cycles, 6, 25));
	assert_int_equal(raw(d, 2), share(cycles, 1, 25));
	assert_int_equal(raw(d, 4), share(cycles, 180, 125000));
	assert_int_equal(raw(d, 8), share(cycles, 1, 125000));
}

#define CONTROL 0x100
#define FREEZE 1u
#define FROZEN 2u          /* the block's own */
#define OTHERS 0xabcd0000u /* bits that mean nothing to the block */

/* The control register as counting leaves it. */
static uint32_t control_after(struct demo *d)
{
	uncore_monitor_free(d->b.m);
	d->b.m = NULL;
	return *(volatile uint32_t *)(d->b.map + CONTROL) & ~FROZEN;
}

/* All counters of one reading are those of one number of cycles. A block that gets no CPU for too long
 * does not answer, and that is no reading. The block is left as it was found: frozen, or not. */
static void test_freeze(void **state)
{
	static char *options[] = {(char *)"--window", (char *)"freeze", NULL};
	uint64_t last = 0;
	unsigned moved = 0;
	struct demo d;

	(void)state;
	demo_start(&d, options);
	must(&d.b, uncore_set_program(d.b.u, true));
	must(&d.b, uncore_scan(d.b.u));
	block_set32(&d.b, CONTROL, OTHERS | FREEZE);
	must(&d.b, block_start(&d.b, EVENTS));
	for (uint64_t end = now_s() + 60; moved < 100 && now_s() < end;) {
		block_read(&d.b);
		if (d.b.m->previous[0].lost)
			continue;
		check_frozen(&d, raw(&d, 3) / 96);
		moved += raw(&d, 3) > last;
		last = raw(&d, 3);
	}
	assert_true(moved >= 10);
	assert_int_equal(control_after(&d), OTHERS | FREEZE);
	block_set32(&d.b, CONTROL, OTHERS);
	must(&d.b, block_start(&d.b, EVENTS));
	block_read(&d.b);
	assert_int_equal(control_after(&d), OTHERS);
	demo_stop(&d);
	assert_true(d.made[3] >= last);
	block_remove(&d.b);
}

int main(void)
{
	const struct CMUnitTest all[] = {
		cmocka_unit_test(test_halves),
		cmocka_unit_test(test_read_to_clear),
		cmocka_unit_test(test_wraps),
		cmocka_unit_test(test_freeze),
	};
	const struct CMUnitTest halves[] = {cmocka_unit_test(test_halves)};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return getenv("UNCORE_RACE_READS") ? cmocka_run_group_tests(halves, NULL, NULL)
					   : cmocka_run_group_tests(all, NULL, NULL);
}

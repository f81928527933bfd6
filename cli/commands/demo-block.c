/* SPDX-License-Identifier: MIT */
/* `uncore demo-block`: a register block that is a file, moved as hardware would move it. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/json.h"
#include "base/writer.h"
#include "commands/options.h"

#define MAP_SIZE 4096
#define CONTROL 0x100
#define FREEZE 1u
#define FROZEN 2u

#define CLEAR 4u

static const struct {
	const char *name, *fields; /* of the control register; NULL: no such register */
} windows[] = {
	{"free-running", NULL},
	{"freeze", "      freeze: {bits: 0, use: freeze}\n"
		   "      frozen: {bits: 1, access: RO, use: frozen}\n"},
	{"read-to-clear", NULL},
	{"snapshot", "      latch: {bits: 0, use: latch}\n"
		     "      latched: {bits: 1, access: RO, use: latched}\n"},
	{"write-to-clear", "      freeze: {bits: 0, use: freeze}\n"
			   "      frozen: {bits: 1, access: RO, use: frozen}\n"
			   "      clear: {bits: 2, use: clear}\n"},
};
enum { FREE, FROZEN_READ, CLEARED, LATCHED, WRITTEN, WINDOWS };

/* The counters, in the order of their registers, each a share of the cycles: of several in one
 * cycle at most so many. */
static const struct {
	const char *name, *role, *title;
	uint64_t share, of, per_cycle;
} counters[] = {
	{"active_cnt", "active", "cycles in which data moved", 18, 25, 1},
	{"busy_cnt", "busy", "cycles in which data was ready and the receiver was not", 6, 25, 1},
	{"idle_cnt", "idle", "cycles without any data", 1, 25, 1},
	{"byte_cnt", "bytes", "payload bytes", 96, 1, 96},
	{"hist_bin_0", "bin", "transactions of 0 to 15 cycles", 180, 125000, 1},
	{"hist_bin_1", "bin", "transactions of 16 to 31 cycles", 90, 125000, 1},
	{"hist_bin_2", "bin", "transactions of 32 to 63 cycles", 20, 125000, 1},
	{"hist_bin_3", "bin", "transactions of 64 to 127 cycles", 4, 125000, 1},
	{"hist_bin_4", "bin", "transactions of 128 cycles and more", 1, 125000, 1},
};

#define COUNTERS (sizeof(counters) / sizeof(counters[0]))

struct demo {
	const char *asked; /* the directory as the user named it; NULL: one for temporary files */
	char *dir;         /* its full path, once it is made */
	int dir_fd;
	const char *window_name;
	int window;
	uint64_t width, rate, below, timeout_ns;
	bool halves, carries, wait;
	char *map;
	uint64_t made[COUNTERS], cleared[COUNTERS];
	struct signals signals;
};

#define AT(member) offsetof(struct demo, member)

static const struct cli_option options[] = {
	{"window", "KIND", "free-running, freeze, snapshot, read-to-clear or write-to-clear", 0, 1,
	 OPTION_TEXT, AT(window_name)},
	{"width", "BITS", "Bits of the counters, after which they wrap (64)", 0, 1, OPTION_COUNT,
	 AT(width)},
	{"halves", NULL, "Each counter in two registers of 32 bits", 0, 1, OPTION_FLAG, AT(halves)},
	{"rate", "N", "Cycles in each second (1000000000)", 0, 1, OPTION_COUNT, AT(rate)},
	{"below", "N", "Begin N below the wrap", 0, 1, OPTION_COUNT, AT(below)},
	{"carries", NULL, "Carry into the high half at each step", 0, 1, OPTION_FLAG, AT(carries)},
	{"wait", NULL, "Count only after SIGUSR1", 0, 1, OPTION_FLAG, AT(wait)},
	{"timeout", "TIME", "End after TIME (milliseconds, or with a unit)", 0, 1, OPTION_PERF_TIME,
	 AT(timeout_ns)},
	{0},
};

static void check(void *into, struct argp_state *state)
{
	struct demo *d = into;

	while (d->window_name && d->window < WINDOWS &&
	       strcmp(windows[d->window].name, d->window_name) != 0)
		d->window++;
	if (d->window == WINDOWS)
		argp_error(state,
			   "--window: '%s' is not one of free-running, freeze, read-to-clear, "
			   "snapshot, write-to-clear",
			   d->window_name);
	if (d->width > 64)
		argp_error(state, "--width: a counter has at most 64 bits");
	if (d->halves && (d->width <= 32 || d->window == CLEARED))
		argp_error(
			state,
			"--halves needs counters of more than 32 bits that reading does not clear");
	if (d->carries && (d->width != 64 || d->window != FREE))
		argp_error(state, "--carries needs free-running counters of 64 bits");
}

/* ---- the files ---- */

static void describe(const struct demo *d, struct buffer *to)
{
	buffer_printf(
		to,
		"block: demo\ntitle: A block in a file, moved by uncore demo-block\n"
		"instance: port\nplace: port\nevidence: uncore-demo-block(1)\npmu: demo_{port}\n"
		"space: mmio\naccess: %d\nsize: %d\nwindow: %s\nquantity: demo\n"
		"map: {file: '%s/map'}\nclock: {hz: %llu}\n",
		d->halves ? 32 : 64, MAP_SIZE, windows[d->window].name, d->dir,
		(unsigned long long)d->rate);
	if (windows[d->window].fields)
		buffer_printf(to, "control:\n  ctl:\n    offset: %d\n    fields:\n%s", CONTROL,
			      windows[d->window].fields);
	buffer_puts(to, "histogram: {listed: [0, 16, 32, 64, 128], last: 160}\ncounters:\n");
	for (size_t i = 0; i < COUNTERS; i++) {
		buffer_printf(to, "  %s: {title: '%s', role: %s, width: %llu, per_cycle: %llu, ",
			      counters[i].name, counters[i].title, counters[i].role,
			      (unsigned long long)d->width,
			      (unsigned long long)counters[i].per_cycle);
		if (d->halves)
			buffer_printf(to, "low: %zu, high: %zu}\n", 8 * i, 8 * i + 4);
		else
			buffer_printf(to, "offset: %zu}\n", 8 * i);
	}
}

static int fail(const char *path)
{
	return cli_failure(CLI_RUNTIME, "%s: %s", path, strerror(errno));
}

/* A directory of its own: what others have put into one that exists is neither followed nor
 * changed. */
static int make_directory(struct demo *d)
{
	const char *temporary = getenv("XDG_RUNTIME_DIR");
	char path[4000];
	struct stat st;

	snprintf(path, sizeof(path), "%s/uncore-block-XXXXXX", temporary ? temporary : "/tmp");
	if (d->asked ? mkdir(d->asked, 0755) < 0 : !mkdtemp(path))
		return fail(d->asked ? d->asked : path);
	d->dir = realpath(d->asked ? d->asked : path, NULL);
	if (!d->dir)
		return fail(d->asked ? d->asked : path);
	d->dir_fd = open(d->dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (d->dir_fd < 0 || fstat(d->dir_fd, &st) < 0)
		return fail(d->dir);
	if (st.st_uid == geteuid() && !strchr(d->dir, '\''))
		return CLI_OK;
	return cli_failure(CLI_USAGE, "%s: the directory cannot be used: %s", d->dir,
			   st.st_uid == geteuid() ? "its path contains a quotation mark"
						  : "it is another user's");
}

static int make_file(const struct demo *d, const char *name)
{
	return openat(d->dir_fd, name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
}

static int make_files(struct demo *d)
{
	struct writer w = {
		.name = "block.yaml", .piece = "file", .signal_fd = -1, .own = true, .exact = true};
	int status = make_directory(d), fd = status ? -1 : make_file(d, "map");
	void *map = MAP_FAILED;

	if (status)
		return status;
	if (fd >= 0 && ftruncate(fd, MAP_SIZE) == 0)
		map = mmap(NULL, MAP_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (map == MAP_FAILED)
		status = fail("map");
	else
		d->map = map;
	if (fd >= 0)
		close(fd);
	if (status)
		return status;
	w.fd = make_file(d, w.name);
	if (w.fd < 0)
		return fail(w.name);
	describe(d, &w.text);
	return writer_close(&w);
}

static void remove_files(struct demo *d)
{
	if (d->map)
		munmap(d->map, MAP_SIZE);
	if (d->dir_fd >= 0) {
		unlinkat(d->dir_fd, "map", 0);
		unlinkat(d->dir_fd, "block.yaml", 0);
		close(d->dir_fd);
	}
	if (d->dir)
		rmdir(d->dir);
	free(d->dir);
}

/* ---- moving ---- */

static uint64_t mask(const struct demo *d)
{
	return UINT64_MAX >> (64 - d->width);
}

/* Both halves change at one moment, as in hardware: a carry is never seen half-way. */
static void put(const struct demo *d, size_t i, uint64_t value)
{
	__atomic_store_n((uint64_t *)(d->map + 8 * i), value & mask(d), __ATOMIC_RELEASE);
}

/* What a reader has taken is gone; what comes at that moment is not lost. */
static void add(const struct demo *d, size_t i, uint64_t more)
{
	uint64_t *at = (uint64_t *)(d->map + 8 * i);
	uint64_t old = __atomic_load_n(at, __ATOMIC_RELAXED);

	while (more && !__atomic_compare_exchange_n(at, &old, (old + more) & mask(d), false,
						    __ATOMIC_SEQ_CST, __ATOMIC_RELAXED))
		;
}

static void move_to(struct demo *d, uint64_t cycles)
{
	for (size_t i = 0; i < COUNTERS; i++) {
		uint64_t made = cycles / counters[i].of * counters[i].share +
				cycles % counters[i].of * counters[i].share / counters[i].of;

		if (d->window == CLEARED)
			add(d, i, made - d->made[i]);
		else if (d->window != LATCHED || !cycles)
			put(d, i, made - d->cleared[i] - d->below);
		d->made[i] = made;
	}
}

/* All counters are the same multiple of 2^32 - 1, so that each step carries, and halves of
 * different steps never fit together. Steps leave a reader the time to look twice. */
static void carry(struct demo *d, uint64_t steps)
{
	uint64_t end = cli_now_ns() + 300;

	for (size_t i = 0; i < COUNTERS; i++) {
		d->made[i] = steps * UINT32_MAX;
		put(d, i, d->made[i]);
	}
	while (cli_now_ns() < end)
		;
}

/* Does what the bits of the control register say, and then sets the status bit or clears what is
 * done. True while it is frozen. */
static bool obey(struct demo *d)
{
	uint32_t *control = (uint32_t *)(d->map + CONTROL);
	uint32_t seen = __atomic_load_n(control, __ATOMIC_ACQUIRE);

	if (!windows[d->window].fields)
		return false;
	for (size_t i = 0;
	     d->window == LATCHED && (seen & (FREEZE | FROZEN)) == FREEZE && i < COUNTERS; i++)
		put(d, i, d->made[i] - d->below);
	for (size_t i = 0; d->window == WRITTEN && seen & CLEAR && i < COUNTERS; i++) {
		d->cleared[i] = d->made[i] - d->below;
		put(d, i, 0);
	}
	if (d->window == WRITTEN && seen & CLEAR)
		__atomic_fetch_and(control, ~CLEAR, __ATOMIC_SEQ_CST);
	else if (seen & FREEZE)
		__atomic_compare_exchange_n(control, &seen, seen | FROZEN, false, __ATOMIC_SEQ_CST,
					    __ATOMIC_RELAXED);
	return seen & FREEZE && d->window != LATCHED;
}

/* Cycles are those of the time that was not frozen. */
static void move(struct demo *d)
{
	uint64_t begin = cli_now_ns(), last = begin, counted = 0, steps = 0;

	for (uint64_t turns = 1;; turns++) {
		uint64_t now = cli_now_ns();

		if (!obey(d))
			counted += now - last;
		last = now;
		if (d->carries)
			carry(d, ++steps);
		else
			move_to(d, counted / NS_PER_S * d->rate +
					   counted % NS_PER_S * d->rate / NS_PER_S);
		if (turns % 1024 == 0 && signals_take(&d->signals).stop)
			return;
		if (d->timeout_ns && now - begin >= d->timeout_ns)
			return;
	}
}

static int run(struct demo *d)
{
	const struct timespec step = {.tv_nsec = 10000000};
	struct buffer text = {0};
	sigset_t start;
	bool stopped = false;
	int status;

	sigemptyset(&start);
	sigaddset(&start, SIGUSR1);
	sigprocmask(SIG_BLOCK, &start, NULL);
	status = signals_open(&d->signals, false);
	if (!status)
		status = make_files(d);
	if (!status) {
		move_to(d, 0);
		buffer_printf(&text, "uncore --source regs:%s/block.yaml%s stat -I 100ms\n", d->dir,
			      d->window == FREE ? "" : " --program");
		status = writer_print(&text);
	}
	while (!status && d->wait && !stopped && sigtimedwait(&start, NULL, &step) != SIGUSR1)
		stopped = signals_take(&d->signals).stop;
	if (!status && !stopped)
		move(d);
	remove_files(d);
	signals_close(&d->signals);
	for (size_t i = 0; !status && i < COUNTERS; i++)
		json_print(json_record(RECORD({"schema", value_count(JSON_SCHEMA)},
					      {"kind", value_text("made")},
					      {"event", value_text(counters[i].name)},
					      {"made", value_count(d->made[i])})),
			   JSON_COMPACT, &text);
	return status ? status : writer_print(&text);
}

int cmd_demo_block(struct cli *cli, int argc, char **argv)
{
	static const struct cli_syntax syntax = {
		.args = "[DIRECTORY]",
		.doc = "Simulates a register block in a file, for trying and testing the source "
		       "regs.\vMakes DIRECTORY (without one: a temporary directory) with the files "
		       "map and block.yaml, prints the command that reads them, and runs until "
		       "Ctrl-C. Then it removes them and prints what it has counted.",
		.options = options,
		.second = " is one argument too many",
		.argument_at = AT(asked),
		.check = check,
	};
	struct demo d = {.dir_fd = -1, .width = 64, .rate = NS_PER_S};

	cli_parse(cli, &syntax, &d, argc, argv);
	return run(&d);
}

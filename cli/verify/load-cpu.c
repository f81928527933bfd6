/* SPDX-License-Identifier: MIT */
/* The loads of one CPU: streams between it and the memory of one node, bypassing the caches;
 * pointer chases; and computations, since power and clocks of a busy CPU differ from those of an
 * idle one. */
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cli.h"
#include "verify/load.h"

#define LINE 64u
#define POPULATE ((size_t)16 << 20) /* bytes between two checks for signals */

/* For series: the unit, and the least for the largest amount. A quarter of the unit is a whole
 * number of lines, loads or nanoseconds. */
#define STREAM_UNIT ((size_t)4 << 10)
#define STREAM_LEAST ((size_t)4 << 20)
#define CHASE_UNIT ((size_t)1 << 10)
#define CHASE_LEAST ((size_t)1 << 14)
#define SPIN_UNIT 4000
#define SPIN_LEAST (4 * (size_t)NS_PER_MS) /* several updates of energy counters, 1 ms apart */

/* Between two checks for signals. */
#define STREAM_CHUNK ((size_t)1 << 20) /* 0.1 ms */
#define CHASE_CHUNK ((size_t)1 << 12)  /* loads, about 0.4 ms */
#define CHASE_SWAPS ((size_t)1 << 16)
#define SPIN_LOOK 100000 /* ns */

#define SPIN_CHAINS 8 /* of independent multiplications */
#define SPIN_STEPS 64 /* of each chain between two readings of the clock: less than a microsecond */

/* Not in all headers. */
#define BIND 2            /* MPOL_BIND */
#define STRICT 1          /* MPOL_MF_STRICT */
#define POPULATE_WRITE 23 /* MADV_POPULATE_WRITE, Linux 5.14 */

/* CPU time of this thread, without the time in which other programs have the CPU. */
static uint64_t cpu_ns(void)
{
	return cli_clock_ns(CLOCK_THREAD_CPUTIME_ID);
}

bool verify_stopped(int stop_fd)
{
	struct pollfd fd = {.fd = stop_fd, .events = POLLIN};

	return poll(&fd, 1, 0) > 0;
}

uint64_t verify_random(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

/* ---- instructions: store and load lines; follow pointers; and what completes them ---- */

/* Uses all loaded data, so that the compiler keeps the loads. */
#define USED(constraint, x) __asm__ volatile("" : : constraint(x))

#ifndef __aarch64__
static void load_plain(const char *p, size_t bytes)
{
	uint64_t x = 0;

	for (size_t at = 0; at < bytes; at += sizeof(x))
		x ^= *(const volatile uint64_t *)(const void *)(p + at);
	USED("r", x);
}

static const char *follow_plain(const char *at, size_t loads)
{
	for (; loads; loads--)
		at = *(const char *const volatile *)at;
	return at;
}

#endif

#ifdef __x86_64__
#include <immintrin.h>

__attribute__((target("avx512f"))) static void store_512(char *p, size_t bytes)
{
	__m512i x = _mm512_set1_epi8(7);

	for (char *end = p + bytes; p < end; p += LINE)
		_mm512_stream_si512((void *)p, x);
}

static void store_128(char *p, size_t bytes)
{
	__m128i x = _mm_set1_epi8(7);

	for (char *end = p + bytes; p < end; p += LINE)
#pragma GCC unroll 4
		for (unsigned at = 0; at < LINE; at += 16)
			_mm_stream_si128((void *)(p + at), x);
}

/* In ordinary memory MOVNTDQA is an ordinary load. Emulations can distinguish it from the loads of
 * other programs. */
__attribute__((target("sse4.1"))) static void load_128(char *p, size_t bytes)
{
	__m128i x = _mm_setzero_si128();

	for (char *end = p + bytes; p < end; p += LINE)
#pragma GCC unroll 4
		for (unsigned at = 0; at < LINE; at += 16)
			x = _mm_xor_si128(x, _mm_stream_load_si128((void *)(p + at)));
	USED("x", x);
}

__attribute__((target("sse4.1"))) static const char *follow_128(const char *at, size_t loads)
{
	for (; loads; loads--) {
		__m128i x = _mm_stream_load_si128((void *)(uintptr_t)at);

		at = (const char *)_mm_cvtsi128_si64(x);
	}
	return at;
}

static void store_lines(char *p, size_t bytes)
{
	if (__builtin_cpu_supports("avx512f"))
		store_512(p, bytes);
	else
		store_128(p, bytes);
}

static void load_lines(char *p, size_t bytes)
{
	if (__builtin_cpu_supports("sse4.1"))
		load_128(p, bytes);
	else
		load_plain(p, bytes);
}

/* Non-temporal stores may still be in write-combining buffers of the CPU. */
static void drain(void)
{
	_mm_sfence();
}

static const char *follow(const char *at, size_t loads)
{
	return __builtin_cpu_supports("sse4.1") ? follow_128(at, loads) : follow_plain(at, loads);
}

static void flush_line(char *p)
{
	_mm_clflush(p);
}

#elif defined(__aarch64__)

static void store_lines(char *p, size_t bytes)
{
	for (char *end = p + bytes; p < end; p += LINE)
		__asm__ volatile("stnp q0, q1, [%0]\n\tstnp q0, q1, [%0, #32]"
				 :
				 : "r"(p)
				 : "memory");
}

static void load_lines(char *p, size_t bytes)
{
	for (char *end = p + bytes; p < end; p += LINE)
		__asm__ volatile("ldnp q0, q1, [%0]\n\tldnp q2, q3, [%0, #32]"
				 :
				 : "r"(p)
				 : "memory", "v0", "v1", "v2", "v3");
}

static void drain(void)
{
	__asm__ volatile("dsb sy" : : : "memory");
}

static const char *follow(const char *at, size_t loads)
{
	for (; loads; loads--) {
		const char *rest;

		__asm__ volatile("ldnp %0, %1, [%2]" : "=&r"(at), "=&r"(rest) : "r"(at) : "memory");
	}
	return at;
}

static void flush_line(char *p)
{
	__asm__ volatile("dc civac, %0" : : "r"(p) : "memory");
}

#else

static void store_lines(char *p, size_t bytes)
{
	for (size_t at = 0; at < bytes; at += sizeof(uint64_t))
		*(volatile uint64_t *)(void *)(p + at) = 7;
}

static void drain(void)
{
	__sync_synchronize();
}

static void flush_line(char *p)
{
	(void)p;
}

#define load_lines load_plain
#define follow follow_plain
#endif

/* ---- streams ---- */

static int bind_node(const struct verify_stream *s)
{
	const size_t bits = 8 * sizeof(unsigned long);
	unsigned long mask[NODES_MOST / (8 * sizeof(unsigned long))] = {0};

	if (s->node < 0)
		return 0;
	if (s->node >= NODES_MOST)
		return -EINVAL;
	mask[(size_t)s->node / bits] = 1ul << (size_t)s->node % bits;
	if (syscall(SYS_mbind, s->base, s->size, BIND, mask, NODES_MOST + 1, STRICT))
		return -errno;
	return 0;
}

/* Populates all pages now: the kernel zeroes a page at its first use, which would be further
 * traffic during the rounds. */
static int populate(const struct verify_stream *s, int stop_fd)
{
	for (size_t at = 0, part; at < s->size; at += part) {
		part = s->size - at < POPULATE ? s->size - at : POPULATE;
		if (verify_stopped(stop_fd))
			return -EINTR;
		if (madvise(s->base + at, part, POPULATE_WRITE) == 0)
			continue;
		if (errno != EINVAL)
			return -errno;
		memset(s->base + at, 1, part);
	}
	return 0;
}

int verify_stream_open(struct verify_stream *s, int node, size_t size, int stop_fd)
{
	int err;

	*s = (struct verify_stream){.node = node,
				    .size = (size + HUGE_PAGE - 1) / HUGE_PAGE * HUGE_PAGE};
	s->map_size = s->size + HUGE_PAGE;
	s->map =
		mmap(NULL, s->map_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (s->map == MAP_FAILED) {
		s->map = NULL;
		return -errno;
	}
	s->base = s->map + (HUGE_PAGE - (uintptr_t)s->map % HUGE_PAGE) % HUGE_PAGE;
	/* Without huge pages small ones are used; their page-table walks are little traffic. */
	madvise(s->base, s->size, MADV_HUGEPAGE);
	err = bind_node(s);
	if (!err)
		err = populate(s, stop_fd);
	if (err)
		verify_stream_close(s);
	return err;
}

void verify_stream_close(struct verify_stream *s)
{
	if (s->map)
		munmap(s->map, s->map_size);
	*s = (struct verify_stream){0};
}

int verify_stream_move(struct verify_stream *s, enum verify_load load, size_t bytes, int stop_fd)
{
	while (bytes) {
		size_t part = bytes < STREAM_CHUNK ? bytes : STREAM_CHUNK;

		if (verify_stopped(stop_fd))
			return -EINTR;
		part = part < s->size - s->at ? part : s->size - s->at;
		if (load == VERIFY_WRITE)
			store_lines(s->base + s->at, part);
		else
			load_lines(s->base + s->at, part);
		s->at = (s->at + part) % s->size;
		bytes -= part;
	}
	drain();
	return 0;
}

static int move(void *stream, size_t bytes, int stop_fd)
{
	struct verify_stream *s = stream;

	return verify_stream_move(s, s->load, bytes, stop_fd);
}

struct verify_work verify_stream_work(struct verify_stream *s, enum verify_load load)
{
	s->load = load;
	return (struct verify_work){
		.context = s, .run = move, .unit = STREAM_UNIT, .least = STREAM_LEAST};
}

int verify_stream_elsewhere(const struct verify_stream *s, size_t *pages)
{
	enum { MOST = 4096 };
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);
	void *at[MOST];
	int node[MOST];

	*pages = 0;
	if (s->node < 0)
		return 0;
	for (size_t done = 0; done < s->size;) {
		size_t count = 0;

		for (; count < MOST && done < s->size; count++, done += page)
			at[count] = s->base + done;
		if (syscall(SYS_move_pages, 0, count, at, NULL, node, 0) < 0)
			return -errno;
		for (size_t i = 0; i < count; i++)
			*pages += node[i] != s->node;
	}
	return 0;
}

/* ---- chases ---- */

/* The i-th line, one of every two neighbours: prefetchers may fetch the other one with it, whose
 * own load would then hit a cache. Which of the two is random, since this bit of the address may
 * select the channel. */
static const char **line_of(const struct verify_stream *s, size_t i)
{
	const size_t side = (size_t)((uint64_t)i * 0x9e3779b97f4a7c15u >> 63);

	return (const char **)(void *)(s->base + i * VERIFY_CHASE_STEP + side * LINE);
}

int verify_chase_open(struct verify_chase *c, struct verify_stream *s, int stop_fd)
{
	const size_t count = s->size / VERIFY_CHASE_STEP;
	uint64_t state = 88172645463325252u;

	*c = (struct verify_chase){.at = (const char *)line_of(s, 0)};
	for (size_t i = 0; i < count; i++)
		*line_of(s, i) = (const char *)line_of(s, i);
	/* Sattolo's shuffle, in the lines themselves: the result is always a single cycle. */
	for (size_t i = count - 1; i > 0; i--) {
		const char **a = line_of(s, i), **b, *swapped = *a;

		if (i % CHASE_SWAPS == 0 && verify_stopped(stop_fd))
			return -EINTR;
		b = line_of(s, (size_t)((verify_random(&state) >> 16) % i));
		*a = *b;
		*b = swapped;
	}
	/* The lines that were linked last are still in the caches. */
	for (size_t at = 0; at < s->size; at += LINE) {
		if (at % (CHASE_SWAPS * LINE) == 0 && verify_stopped(stop_fd))
			return -EINTR;
		flush_line(s->base + at);
	}
	__sync_synchronize();
	return 0;
}

int verify_chase_load(void *chase, size_t loads, int stop_fd)
{
	struct verify_chase *c = chase;
	const uint64_t begin = cpu_ns();

	for (size_t rest = loads, part; rest; rest -= part) {
		part = rest < CHASE_CHUNK ? rest : CHASE_CHUNK;
		if (verify_stopped(stop_fd))
			return -EINTR;
		c->at = follow(c->at, part);
	}
	c->ns += (double)(cpu_ns() - begin);
	c->loads += (double)loads;
	return 0;
}

struct verify_work verify_chase_work(struct verify_chase *c)
{
	return (struct verify_work){
		.context = c, .run = verify_chase_load, .unit = CHASE_UNIT, .least = CHASE_LEAST};
}

/* ---- computations ---- */

static int spin(void *context, size_t amount, int stop_fd)
{
	const uint64_t end = cpu_ns() + amount;
	uint64_t now = cpu_ns(), look = now;
	double x[SPIN_CHAINS];

	(void)context;
	for (unsigned i = 0; i < SPIN_CHAINS; i++)
		x[i] = 1 + i / 8.0;
	for (; now < end; now = cpu_ns()) {
		if (now >= look && verify_stopped(stop_fd))
			return -EINTR;
		look = now >= look ? now + SPIN_LOOK : look;
		for (unsigned step = 0; step < SPIN_STEPS; step++)
			for (unsigned i = 0; i < SPIN_CHAINS; i++)
				x[i] = x[i] * 0.999999 + 1e-6;
		/* Makes the compiler compute all of them. */
		__asm__ volatile("" : : "r"(x) : "memory");
	}
	return 0;
}

struct verify_work verify_spin_work(void)
{
	return (struct verify_work){.run = spin, .unit = SPIN_UNIT, .least = SPIN_LEAST};
}

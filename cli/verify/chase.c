/* SPDX-License-Identifier: MIT */
/* A pointer chase: each load needs the result of the previous one, so that the CPU's clock measures
 * the latency of memory. */
#include <errno.h>

#include "verify/verify.h"

#define LINE 64u
#define UNIT ((size_t)1 << 10)  /* loads; a quarter of it is a whole number, too */
#define LEAST ((size_t)1 << 14) /* of the largest amount of a series */
#define CHUNK ((size_t)1 << 12) /* loads between two checks for signals: about 0.4 ms */
#define SWAPS ((size_t)1 << 16) /* likewise */

/* ---- instructions ---- */

#ifdef __x86_64__
#include <immintrin.h>

/* In ordinary memory MOVNTDQA is an ordinary load. Emulations can distinguish it from the loads of
 * other programs. */
__attribute__((target("sse4.1"))) static const char *follow_128(const char *at, size_t loads)
{
	for (; loads; loads--) {
		__m128i x = _mm_stream_load_si128((void *)(uintptr_t)at);

		at = (const char *)_mm_cvtsi128_si64(x);
	}
	return at;
}

static const char *follow_plain(const char *at, size_t loads)
{
	for (; loads; loads--)
		at = *(const char *const volatile *)at;
	return at;
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

static const char *follow(const char *at, size_t loads)
{
	for (; loads; loads--)
		at = *(const char *const volatile *)at;
	return at;
}

static void flush_line(char *p)
{
	(void)p;
}

#endif

/* ---- the cycle ---- */

/* The i-th line, one of every two neighbours: prefetchers may fetch the other one with it, whose
 * own load would then hit a cache. Which of the two is random, since this bit of the address may
 * select the channel. */
static const char **line_of(const struct verify_stream *s, size_t i)
{
	const size_t side = (size_t)((uint64_t)i * 0x9e3779b97f4a7c15u >> 63);

	return (const char **)(void *)(s->base + i * VERIFY_CHASE_STEP + side * LINE);
}

/* Sattolo's shuffle, in the lines themselves: the result is always a single cycle. */
static int link_lines(const struct verify_stream *s, int stop_fd)
{
	const size_t count = s->size / VERIFY_CHASE_STEP;
	uint64_t state = 88172645463325252u;

	for (size_t i = 0; i < count; i++)
		*line_of(s, i) = (const char *)line_of(s, i);
	for (size_t i = count - 1; i > 0; i--) {
		const char **a = line_of(s, i), **b, *swapped = *a;

		if (i % SWAPS == 0 && verify_stopped(stop_fd))
			return -EINTR;
		b = line_of(s, (size_t)((verify_random(&state) >> 16) % i));
		*a = *b;
		*b = swapped;
	}
	return 0;
}

/* The lines that were linked last are still in the caches. */
static int flush(const struct verify_stream *s, int stop_fd)
{
	for (size_t at = 0; at < s->size; at += LINE) {
		if (at % (SWAPS * LINE) == 0 && verify_stopped(stop_fd))
			return -EINTR;
		flush_line(s->base + at);
	}
	__sync_synchronize();
	return 0;
}

int verify_chase_open(struct verify_chase *c, struct verify_stream *s, int stop_fd)
{
	int err = link_lines(s, stop_fd);

	*c = (struct verify_chase){.at = (const char *)line_of(s, 0)};
	return err ? err : flush(s, stop_fd);
}

/* ---- loads ---- */

int verify_chase_load(struct verify_chase *c, size_t loads, int stop_fd)
{
	const uint64_t begin = verify_cpu_ns();

	for (size_t rest = loads, part; rest; rest -= part) {
		part = rest < CHUNK ? rest : CHUNK;
		if (verify_stopped(stop_fd))
			return -EINTR;
		c->at = follow(c->at, part);
	}
	c->ns += (double)(verify_cpu_ns() - begin);
	c->loads += (double)loads;
	return 0;
}

static int work_loads(void *chase, size_t loads, int stop_fd)
{
	return verify_chase_load(chase, loads, stop_fd);
}

struct verify_work verify_chase_work(struct verify_chase *c)
{
	return (struct verify_work){.context = c, .run = work_loads, .unit = UNIT, .least = LEAST};
}

/* SPDX-License-Identifier: MIT */
/* Moves a known number of bytes between a CPU and the memory of one node, bypassing the caches. */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "verify/verify.h"

#define LINE 64u
#define HUGE_PAGE ((size_t)2 << 20)
#define CHUNK ((size_t)1 << 20)     /* moved between two checks for signals: 0.1 ms */
#define UNIT ((size_t)4 << 10)      /* a quarter of it has whole lines */
#define LEAST ((size_t)4 << 20)     /* of the largest amount of a series */
#define POPULATE ((size_t)16 << 20) /* likewise */

/* Not in all headers. */
#define BIND 2            /* MPOL_BIND */
#define STRICT 1          /* MPOL_MF_STRICT */
#define POPULATE_WRITE 23 /* MADV_POPULATE_WRITE, Linux 5.14 */
#define MOST_NODES 1024

/* Uses all loaded data, so that the compiler keeps the loads. */
#define USED(constraint, x) __asm__ volatile("" : : constraint(x))

/* ---- instructions ---- */

#ifdef __x86_64__
#include <immintrin.h>

__attribute__((target("avx512f"))) static void store_512(char *p, size_t bytes)
{
	__m512i x = _mm512_set1_epi8(7);

	for (char *end = p + bytes; p < end; p += LINE)
		_mm512_stream_si512((void *)p, x);
}

__attribute__((target("avx512f"))) static void load_512(char *p, size_t bytes)
{
	__m512i x = _mm512_setzero_si512();

	for (char *end = p + bytes; p < end; p += LINE)
		x = _mm512_xor_si512(x, _mm512_stream_load_si512((void *)p));
	USED("v", x);
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

static void load_plain(char *p, size_t bytes)
{
	__m128i x = _mm_setzero_si128();

	for (char *end = p + bytes; p < end; p += LINE)
#pragma GCC unroll 4
		for (unsigned at = 0; at < LINE; at += 16)
			x = _mm_xor_si128(x, *(volatile __m128i *)(void *)(p + at));
	USED("x", x);
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
	if (__builtin_cpu_supports("avx512f"))
		load_512(p, bytes);
	else if (__builtin_cpu_supports("sse4.1"))
		load_128(p, bytes);
	else
		load_plain(p, bytes);
}

/* Non-temporal stores may still be in write-combining buffers of the CPU. */
static void drain(void)
{
	_mm_sfence();
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

#else

static void store_lines(char *p, size_t bytes)
{
	for (size_t at = 0; at < bytes; at += sizeof(uint64_t))
		*(volatile uint64_t *)(void *)(p + at) = 7;
}

static void load_lines(char *p, size_t bytes)
{
	uint64_t x = 0;

	for (size_t at = 0; at < bytes; at += sizeof(uint64_t))
		x ^= *(volatile uint64_t *)(void *)(p + at);
	USED("r", x);
}

static void drain(void)
{
	__sync_synchronize();
}

#endif

/* ---- memory ---- */

static int bind_node(const struct verify_stream *s)
{
	const size_t bits = 8 * sizeof(unsigned long);
	unsigned long mask[MOST_NODES / (8 * sizeof(unsigned long))] = {0};

	if (s->node < 0)
		return 0;
	if (s->node >= MOST_NODES)
		return -EINVAL;
	mask[(size_t)s->node / bits] = 1ul << (size_t)s->node % bits;
	return syscall(SYS_mbind, s->base, s->size, BIND, mask, MOST_NODES + 1, STRICT) ? -errno
											: 0;
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
	err = err ? err : populate(s, stop_fd);
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
		size_t part = bytes < CHUNK ? bytes : CHUNK;

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

static int work_reads(void *stream, size_t bytes, int stop_fd)
{
	return verify_stream_move(stream, VERIFY_READ, bytes, stop_fd);
}

static int work_writes(void *stream, size_t bytes, int stop_fd)
{
	return verify_stream_move(stream, VERIFY_WRITE, bytes, stop_fd);
}

struct verify_work verify_stream_work(struct verify_stream *s, enum verify_load load)
{
	return (struct verify_work){.context = s,
				    .run = load == VERIFY_WRITE ? work_writes : work_reads,
				    .unit = UNIT,
				    .least = LEAST};
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

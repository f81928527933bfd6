/* SPDX-License-Identifier: MIT */
/* A stand-in for CUDA's driver library. Copies move nothing and take their bytes / 50 GB/s; each
 * stream copies one after another. UNCORE_CUDA_LOG names a file to which each copy is appended:
 * "h2d BYTES BEGIN END", in nanoseconds of CLOCK_MONOTONIC. UNCORE_CUDA_FAULT names a fault. The
 * library has one GPU, at UNCORE_CUDA_GPU. */
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define BYTES_PER_NS 50
#define NS_PER_S 1000000000ull
#define STREAMS 8
#define BASE 0x700000000000ull /* of memory in the GPU */

/* CUresult */
enum { OK = 0, INVALID_VALUE = 1, NO_DEVICE = 100, INVALID_DEVICE = 101 };

int cuInit(unsigned flags);
int cuDeviceGetByPCIBusId(int *device, const char *address);
int cuDevicePrimaryCtxRetain(void **context, int device);
int cuCtxSetCurrent(void *context);
int cuMemAlloc_v2(uint64_t *into, size_t bytes);
int cuMemHostRegister_v2(void *memory, size_t bytes, unsigned flags);
int cuStreamCreate(void **into, unsigned flags);
int cuMemcpyHtoDAsync_v2(uint64_t to, const void *from, size_t bytes, void *stream);
int cuMemcpyDtoHAsync_v2(void *to, uint64_t from, size_t bytes, void *stream);
int cuMemcpyDtoDAsync_v2(uint64_t to, uint64_t from, size_t bytes, void *stream);
int cuStreamSynchronize(void *stream);
int cuGetErrorName(int error, const char **into);

static uint64_t busy_until[STREAMS], allocated;
static unsigned stream_count, copies;
static const char *pinned;
static size_t pinned_size;

static bool fault(const char *name)
{
	const char *value = getenv("UNCORE_CUDA_FAULT");

	return value && strcmp(value, name) == 0;
}

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * NS_PER_S + (uint64_t)t.tv_nsec;
}

static int copy(const char *kind, size_t bytes, void *stream)
{
	const char *path = getenv("UNCORE_CUDA_LOG");
	const uint64_t now = now_ns();
	uint64_t *until = stream, begin = *until > now ? *until : now;
	char line[120];
	int fd, len;

	/* The first three copies are those of the preparation. */
	if (++copies > 3 && fault("crash"))
		abort();
	if (copies > 3 && fault("hang"))
		pause();
	*until = begin + bytes / BYTES_PER_NS;
	fd = path ? open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600) : -1;
	if (fd < 0)
		return OK;
	len = snprintf(line, sizeof(line), "%s %zu %llu %llu\n", kind, bytes,
		       (unsigned long long)begin, (unsigned long long)*until);
	if (write(fd, line, (size_t)len) != len)
		abort();
	close(fd);
	return OK;
}

static bool is_host(const void *at, size_t bytes)
{
	const char *p = at;

	return pinned && p >= pinned && p + bytes <= pinned + pinned_size;
}

static bool is_gpu(uint64_t at, size_t bytes)
{
	return at >= BASE && at + bytes <= BASE + allocated;
}

int cuInit(unsigned flags)
{
	if (fault("exit"))
		exit(0);
	return flags ? INVALID_VALUE : fault("no device") ? NO_DEVICE : OK;
}

int cuDeviceGetByPCIBusId(int *device, const char *address)
{
	const char *own = getenv("UNCORE_CUDA_GPU");

	*device = 0;
	return own && strcmp(own, address) == 0 ? OK : INVALID_DEVICE;
}

int cuDevicePrimaryCtxRetain(void **context, int device)
{
	if (fault("hang at once"))
		pause();
	*context = &busy_until;
	return device ? INVALID_VALUE : OK;
}

int cuCtxSetCurrent(void *context)
{
	return context == &busy_until ? OK : INVALID_VALUE;
}

int cuMemAlloc_v2(uint64_t *into, size_t bytes)
{
	*into = BASE + allocated;
	allocated += bytes;
	return OK;
}

#ifndef OLD
int cuMemHostRegister_v2(void *memory, size_t bytes, unsigned flags)
{
	pinned = memory;
	pinned_size = bytes;
	return flags > 1 ? INVALID_VALUE : OK;
}
#endif

int cuStreamCreate(void **into, unsigned flags)
{
	if (stream_count == STREAMS || flags > 1)
		return INVALID_VALUE;
	*into = &busy_until[stream_count++];
	return OK;
}

int cuMemcpyHtoDAsync_v2(uint64_t to, const void *from, size_t bytes, void *stream)
{
	return is_gpu(to, bytes) && is_host(from, bytes) ? copy("h2d", bytes, stream)
							 : INVALID_VALUE;
}

int cuMemcpyDtoHAsync_v2(void *to, uint64_t from, size_t bytes, void *stream)
{
	return is_host(to, bytes) && is_gpu(from, bytes) ? copy("d2h", bytes, stream)
							 : INVALID_VALUE;
}

int cuMemcpyDtoDAsync_v2(uint64_t to, uint64_t from, size_t bytes, void *stream)
{
	return is_gpu(to, bytes) && is_gpu(from, bytes) ? copy("d2d", bytes, stream)
							: INVALID_VALUE;
}

int cuStreamSynchronize(void *stream)
{
	const uint64_t *until = stream;

	for (uint64_t now = now_ns(); now < *until; now = now_ns()) {
		const uint64_t rest = *until - now;
		const struct timespec pause = {(time_t)(rest / NS_PER_S), (long)(rest % NS_PER_S)};

		nanosleep(&pause, NULL);
	}
	return OK;
}

int cuGetErrorName(int error, const char **into)
{
	*into = error == NO_DEVICE        ? "CUDA_ERROR_NO_DEVICE"
		: error == INVALID_DEVICE ? "CUDA_ERROR_INVALID_DEVICE"
					  : "CUDA_ERROR_INVALID_VALUE";
	return OK;
}

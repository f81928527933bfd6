/* SPDX-License-Identifier: MIT */
/* A stand-in for HIP, by the functions of the one for CUDA. */
#include <stddef.h>
#include <stdint.h>

int cuInit(unsigned flags);
int cuDeviceGetByPCIBusId(int *device, const char *address);
int cuMemAlloc_v2(uint64_t *into, size_t bytes);
int cuMemHostRegister_v2(void *memory, size_t bytes, unsigned flags);
int cuStreamCreate(void **into, unsigned flags);
int cuMemcpyHtoDAsync_v2(uint64_t to, const void *from, size_t bytes, void *stream);
int cuMemcpyDtoHAsync_v2(void *to, uint64_t from, size_t bytes, void *stream);
int cuMemcpyDtoDAsync_v2(uint64_t to, uint64_t from, size_t bytes, void *stream);
int cuStreamSynchronize(void *stream);

int hipInit(unsigned flags);
int hipDeviceGetByPCIBusId(int *device, const char *address);
int hipSetDevice(int device);
int hipMalloc(void **into, size_t bytes);
int hipHostRegister(void *memory, size_t bytes, unsigned flags);
int hipStreamCreateWithFlags(void **into, unsigned flags);
int hipMemcpyAsync(void *to, const void *from, size_t bytes, int direction, void *stream);
int hipStreamSynchronize(void *stream);

int hipInit(unsigned flags)
{
	return cuInit(flags);
}

int hipDeviceGetByPCIBusId(int *device, const char *address)
{
	return cuDeviceGetByPCIBusId(device, address);
}

int hipSetDevice(int device)
{
	return device;
}

int hipMalloc(void **into, size_t bytes)
{
	uint64_t address = 0;
	int status = cuMemAlloc_v2(&address, bytes);

	*into = (void *)(uintptr_t)address;
	return status;
}

int hipHostRegister(void *memory, size_t bytes, unsigned flags)
{
	return cuMemHostRegister_v2(memory, bytes, flags);
}

int hipStreamCreateWithFlags(void **into, unsigned flags)
{
	return cuStreamCreate(into, flags);
}

int hipMemcpyAsync(void *to, const void *from, size_t bytes, int direction, void *stream)
{
	if (direction == 1)
		return cuMemcpyHtoDAsync_v2((uintptr_t)to, from, bytes, stream);
	if (direction == 2)
		return cuMemcpyDtoHAsync_v2(to, (uintptr_t)from, bytes, stream);
	return direction == 3 ? cuMemcpyDtoDAsync_v2((uintptr_t)to, (uintptr_t)from, bytes, stream)
			      : 1;
}

int hipStreamSynchronize(void *stream)
{
	return cuStreamSynchronize(stream);
}

/* SPDX-License-Identifier: MIT */
/* NVIDIA's library libnvidia-ml.so.1: the functions that are used, loaded when the process starts.
 * The declarations follow its documented interface (NVML API Reference), which is the same for all
 * drivers: a structure's members keep their places, and numbers keep their meaning. */
#ifndef UNC_NVML_VENDOR_H
#define UNC_NVML_VENDOR_H

#include <stddef.h>
#include <stdint.h>

/* What its functions return. */
enum {
	NVML_OK = 0,
	NVML_NOT_SUPPORTED = 3,
	NVML_NOT_FOUND = 6,
	NVML_FUNCTION_NOT_FOUND = 13,
	NVML_GPU_LOST = 15,
};

/* Fields. */
enum {
	NVML_PCIE_TX_BYTES = 197, /* 32 bits, of packets with their headers */
	NVML_PCIE_RX_BYTES = 198,
};
#define NVML_ALL_LINKS UINT32_MAX
/* The links of a GPU that drivers from 610 on know; earlier ones know 18. */
#define NVML_MOST_LINKS 36

/* What is at the other end of a link. */
#define NVML_REMOTE_GPU 0
#define NVML_REMOTE_SWITCH 2

/* Metrics of GPM. */
enum {
	NVML_GPM_MEMORY_SHARE = 10, /* per cent of the memory's greatest bandwidth */
	NVML_GPM_PCIE_TX = 20,      /* MiB/s */
	NVML_GPM_PCIE_RX = 21,
};

#define NVML_MEMORY_CLOCK 2
#define NVML_VGPU_GUEST 2

typedef struct nvml_device *nvml_device; /* its type is not known, only that it is a pointer */

struct nvml_field {
	uint32_t id, scope;
	int64_t at_us; /* CLOCK_REALTIME */
	int64_t took_us;
	int32_t type, status;
	union {
		double real;
		uint32_t u32;
		uint64_t u64;
		int64_t s64;
		int32_t s32;
		uint16_t u16;
	} value;
};

struct nvml_gpm_support {
	uint32_t version, supported;
};

/* The library accepts requests for fewer metrics; more are never asked for at once. */
#define NVML_GPM_MOST 333

struct nvml_gpm_metric {
	uint32_t id;
	int32_t status;
	double value;
	char *short_name, *long_name, *unit;
};

struct nvml_gpm_request {
	uint32_t version, count;
	void *from, *to;
	struct nvml_gpm_metric metrics[NVML_GPM_MOST];
};

_Static_assert(sizeof(struct nvml_field) == 40, "the library's structure");
_Static_assert(offsetof(struct nvml_gpm_request, metrics) == 24, "the library's structure");
_Static_assert(sizeof(struct nvml_gpm_metric) == 40, "the library's structure");

struct nvml_pci {
	char old_id[16];
	uint32_t domain, bus, device, ids, subsystem;
	char id[32];
};

_Static_assert(sizeof(struct nvml_pci) == 68, "the library's structure");

#define NVML_NOT_AVAILABLE UINT64_MAX /* memory of a process that is not known */

struct nvml_process {
	uint32_t pid;
	uint64_t memory;                 /* bytes */
	uint32_t gpu_part, compute_part; /* of a GPU that is partitioned */
};

/* What a process did in a period of sampling, of 1/6 s to 1 s. */
struct nvml_process_sample {
	uint32_t pid;
	uint64_t at_us;                          /* CLOCK_REALTIME */
	uint32_t busy, memory, encoder, decoder; /* per cent of the time */
};

_Static_assert(sizeof(struct nvml_process) == 24, "the library's structure");
_Static_assert(sizeof(struct nvml_process_sample) == 32, "the library's structure");

/* Members are NULL if the driver does not have them. */
struct nvml {
	int (*init)(void);
	int (*handle)(const char *pci, nvml_device *out);
	int (*fields)(nvml_device, int count, struct nvml_field *);
	int (*link_generation)(nvml_device, unsigned *);
	int (*most_generation)(nvml_device, unsigned *); /* of the GPU and its slot, */
	int (*gpu_generation)(nvml_device, unsigned *);  /* and of the GPU alone */
	int (*most_lanes)(nvml_device, unsigned *);
	int (*most_clock)(nvml_device, int clock, unsigned *mhz);
	int (*memory_width)(nvml_device, unsigned *bits);
	int (*virtualization)(nvml_device, int *mode);
	int (*mig)(nvml_device, unsigned *now, unsigned *pending);
	int (*link_state)(nvml_device, unsigned link, int *active);
	int (*link_remote)(nvml_device, unsigned link, struct nvml_pci *);
	int (*link_remote_type)(nvml_device, unsigned link, int *type);
	int (*gpm_support)(nvml_device, struct nvml_gpm_support *);
	int (*gpm_alloc)(void **sample);
	int (*gpm_sample)(nvml_device, void *sample);
	int (*gpm_metrics)(struct nvml_gpm_request *);
	int (*compute_processes)(nvml_device, unsigned *count, struct nvml_process *);
	int (*graphics_processes)(nvml_device, unsigned *count, struct nvml_process *);
	int (*process_samples)(nvml_device, struct nvml_process_sample *, unsigned *count,
			       unsigned long long since_us);
};

/* Loads the library and initializes it. 0, a number of the library, or UNC_NVML_NO_LIBRARY with the
 * reason in `why`. */
int nvml_load(struct nvml *n, char *why, size_t room);

#endif

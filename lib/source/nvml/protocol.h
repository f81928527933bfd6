/* SPDX-License-Identifier: MIT */
/* The messages between the library and `uncore-nvml`, the process that uses NVIDIA's library. It is
 * a process of its own, so that an error of the vendor's library ends or delays only the counts of
 * its GPUs. One message is one packet of a socket; the library asks and the process answers. Both
 * are of one build. */
#ifndef UNC_NVML_PROTOCOL_H
#define UNC_NVML_PROTOCOL_H

#include "source/source.h"

#define UNC_NVML_PROGRAM "uncore-nvml"
/* The descriptor of the process's end of the socket. */
#define UNC_NVML_SOCKET 3
/* A packet of so many values fits into the buffer of a socket, which Linux limits to 208 KiB. */
#define UNC_NVML_MOST_ITEMS 2048
/* The links of a GPU that can be counted one by one. */
#define UNC_NVML_MOST_LINKS 18

enum unc_nvml_verb {
	UNC_NVML_PROBE,     /* reads each item once: which of them does the GPU have? */
	UNC_NVML_OPEN,      /* begins to count these items; only once */
	UNC_NVML_READ,      /* reads the open items */
	UNC_NVML_PROCESSES, /* lists the processes that use the GPU of the only item */
};

/* Reasons why an item has no value, beside the numbers of the vendor's library. */
enum unc_nvml_status {
	UNC_NVML_OK = 0,
	UNC_NVML_NO_LIBRARY = 10000,
	UNC_NVML_EMPTY,  /* it gave no value, and no error */
	UNC_NVML_MIG,    /* the GPU is partitioned */
	UNC_NVML_VGPU,   /* the GPU is a part that a hypervisor gives */
	UNC_NVML_NAN,    /* its firmware had no value of this time */
	UNC_NVML_FROZEN, /* its firmware gave 0 while the GPU's counter moved */
	UNC_NVML_NO_LINK,
	UNC_NVML_LINK_DOWN, /* the link is not active, though others are */
	UNC_NVML_NO_SAMPLE, /* of a process, in too short a time to say that it was idle */
};

/* What is read: a field, a metric of GPM, or a call (enum unc_nvml_call). */
struct unc_nvml_item {
	char pci[16];
	uint16_t field, gpm;
	uint8_t links; /* enum unc_nvml_links, if it is not one link: */
	uint8_t link;  /* its number + 1; 0: none */
	uint8_t call;
};

struct unc_nvml_request {
	uint32_t verb, number, count;
	struct unc_nvml_item items[UNC_NVML_MOST_ITEMS];
};

struct unc_nvml_value {
	int32_t status;
	/* The readings of a narrow counter that came so late that it may have wrapped unseen, and
	 * the time of the latest; 0 ns: the counter was reset. Of a sum over links: how often it
	 * became one of other links. */
	uint32_t late;
	uint64_t late_ns;
	uint64_t raw, at_ns, took_ns, uncertain_ns;
	uint64_t enabled_ns; /* of a sum of means: the time that they cover */
	uint64_t polls;      /* readings of a narrow counter so far, which the GPU counts, too */
	bool is_mean;
	double most_per_s; /* what a narrow counter can count; 0: unknown */
	char peer[16];     /* the other end of the link; "": unknown */
};

/* A process that uses a GPU. */
struct unc_nvml_process {
	int32_t pid;
	int32_t memory_status, busy_status;
	uint64_t memory; /* bytes */
	double busy;     /* share of the time since the latest sample before */
};

struct unc_nvml_answer {
	uint32_t number, count;
	int32_t status; /* of the library */
	int32_t pid;    /* of the process; without a question it sends an answer with this only */
	int32_t gpu;    /* for UNC_NVML_PROCESSES: why there are none */
	char text[180]; /* for UNC_NVML_NO_LIBRARY: the reason */
	union {
		struct unc_nvml_value values[UNC_NVML_MOST_ITEMS];
		struct unc_nvml_process processes[UNC_NVML_MOST_ITEMS];
	};
};

_Static_assert(sizeof(struct unc_nvml_process) <= sizeof(struct unc_nvml_value),
	       "packets have the size of values");

/* What `uncore-nvml` does. The command calls it if it is started with this name. */
int unc_nvml_main(int argc, char **argv);

/* ---- sum.c; pure ---- */

struct unc_nvml_sum {
	double most_per_s; /* it cannot count faster; not 0 */
	uint64_t total;
	uint32_t last; /* the latest reading, */
	uint64_t at_ns;
	bool begun; /* if there was one */
	/* How often the total became uncertain, and the time between the two readings at the latest
	 * time; 0: the counter had moved further than it can in that time. */
	uint32_t late;
	uint64_t late_ns;
};

/* For how long the counter is unique: it cannot wrap twice in this time. */
uint64_t unc_nvml_sum_unique_ns(double most_per_s);

/* Adds a reading. Its time may not be before that of the one before. */
void unc_nvml_sum_add(struct unc_nvml_sum *s, uint32_t value, uint64_t at_ns);

/* The bytes per second of one direction of a PCIe link; that of the widest link of any GPU if
 * `generation` or `lanes` is 0 or unknown. */
double unc_nvml_link_rate(unsigned generation, unsigned lanes);

#endif

/* SPDX-License-Identifier: MIT */
/* What is known of each process without groups: bytes of storage in /proc/PID/io, the clients of
 * GPU drivers in /proc/PID/fdinfo, and the processes that NVIDIA's library lists. */
#ifndef WHO_USAGE_H
#define WHO_USAGE_H

#include "base/buffer.h"
#include "who/tasks.h"

/* What a process used since the look before. */
struct used {
	bool known;     /* its bytes could be read at both looks, or it is new */
	bool denied;    /* they may not be read */
	bool inherited; /* it has waited for processes whose last bytes are in it */
	uint64_t read, written;
	size_t gpu_clients;  /* of GPU drivers; of these, */
	size_t busy, memory; /* those whose time, and those whose memory, is known */
	double gpu_busy;     /* time of engines over time: 2 is two engines all the time */
	uint64_t gpu_memory; /* bytes now */
	bool sampled;        /* their time is a mean of samples */
	const char *gpu_why; /* of those whose time or memory is unknown; NULL: of the usual kind */
};

struct usage {
	struct uncore *machine; /* whose GPUs are asked for their processes; NULL: none are */
	struct io *items, *old; /* of the processes, in the order of struct tasks */
	size_t count, old_count;
	struct client *clients, *old_clients;
	size_t client_count, old_client_count;
	bool has_gpus;
	uint64_t looks;
	/* In the latest interval: */
	size_t lost;   /* processes that ended, for which none waited: their last bytes */
	size_t denied; /* processes whose bytes may not be read */
	bool told;     /* why processes of GPUs are not shown */
	double seconds;
	uint64_t at_ns;
};

/* `machine`: its GPUs are asked, too; it is used until usage_close(). */
void usage_open(struct usage *u, struct uncore *machine, const char *root);
void usage_close(struct usage *u);
/* Reads what the processes have used, after a scan of them. */
void usage_look(struct usage *u, const struct tasks *t);
/* What the process with this index used. */
struct used usage_of(const struct usage *u, size_t i);

/* ---- clients.c: linux Documentation/gpu/drm-usage-stats.rst ---- */

#define CLIENT_ENGINES 12

struct client {
	char device[32];
	uint64_t id;
	int pid; /* the first process that has it */
	uint64_t at_ns;
	struct engine {
		char name[20];
		uint64_t busy_ns, cycles, total_cycles;
		bool has_time, has_total; /* busy_ns; total_cycles */
	} engines[CLIENT_ENGINES];
	size_t engine_count;
	bool has_memory, has_busy; /* the driver says so; and at the look before, too */
	uint64_t memory;           /* bytes */
	double busy;               /* time of engines over time, since the look before */
	bool sampled;
	const char *why; /* its time or memory is unknown; NULL: of the usual kind */
};

/* Reads the text of a file of fdinfo. False: it is of no client. Pure. */
bool client_parse(const char *text, struct client *into);
/* What the engines did since then; a count that went back stays as it was. Pure. */
void client_compare(struct client *c, const struct client *old);
/* Whether an entry of /proc/PID/fd is of such a device, "/dev/dri/". */
bool client_is_of(DIR *fds, const char *name, const char *device);
/* Adds a client, unless there is one of this id. */
void clients_add(struct usage *u, const struct client *c);
/* Adds the clients that the process has and no other one before. */
void clients_read(struct usage *u, const struct tasks *t, const struct process *p,
		  struct buffer *text);

/* ---- nvidia.c ---- */

/* Adds a client for each process that uses a GPU of NVIDIA. */
void nvidia_read(struct usage *u, const struct tasks *t);

#endif

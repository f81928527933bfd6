/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Emulated PMON hardware inside QEMU: what the parts of the plugin tell each other.
 *
 * There is one truth: the traffic clock, in whole ticks. A counter that is on and not frozen grows
 * by weight x ticks. The clock moves when a program in the guest rings the doorbell, or at a rate
 * that the program has set. So a test knows what every counter must have counted.
 */
#ifndef RIG_PMON_H
#define RIG_PMON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct qemu_plugin_insn;
struct qemu_plugin_tb;
struct qemu_plugin_register;

/* ---- traffic.c: the clock ------------------------------------------------------------------ */

uint64_t traffic_now(void); /* ticks since QEMU started */
void traffic_step(uint64_t ticks);
void traffic_rate(uint64_t ticks_per_s);
void traffic_ramp(uint64_t ticks_per_s, uint64_t ms); /* linear, from the rate of now */

/* ---- real.c: what the guest's own instructions move ------------------------------------------ */

/* Channels of memory, ports of the mesh to them, home agents of addresses, links. */
/* And of the disk: I/O stacks, and slices of the last-level cache. */
enum real_kind {
	REAL_NONE,
	REAL_MEMORY,
	REAL_PORT,
	REAL_HOME,
	REAL_LINK,
	REAL_STACK,
	REAL_SLICE,
	REAL_KINDS
};

/* Whose loads or stores: of CPUs of the counter's socket to its memory, of other CPUs to its
 * memory, of its CPUs to other memory. */
enum { REAL_LOCAL = 1, REAL_FROM_REMOTE = 2, REAL_HERE = 3, REAL_TO_REMOTE = 4 };
enum { REAL_HITS = 1, REAL_MISSES = 2 };

/* What a counter counts of it. */
struct real {
	enum real_kind kind;
	unsigned socket, instance; /* the channel, port, agent or link */
	unsigned halves;           /* of a channel: bit 0, bit 1 */
	unsigned per_line;         /* counts */
	unsigned reads, writes;    /* whose; of a link, if not 0, what it receives and sends */
	unsigned ports, found;     /* of a stack: parts, a bit each; of a slice: which of it */
};

/* A socket has a channel, port, agent or link with this number. */
void real_unit(enum real_kind kind, unsigned instance);

void real_look(struct qemu_plugin_insn *insn); /* what it moves is counted */
uint64_t real_total(const struct real *r);     /* counts so far */
bool real_counts(const struct real *r); /* is this so now? Otherwise the traffic clock counts */
uint64_t real_background(void);         /* thousandths of the traffic clock's on top */

/* `value`: of REAL_SCALE socket | unit << 8 | thousandths << 32, 255 for all; otherwise see
 * guest/traffic.c. */
enum real_setting {
	REAL_ON,
	REAL_BACKGROUND,
	REAL_CACHE,
	REAL_ALLOCATE,
	REAL_FAULTY, /* the kind that those below are for */
	REAL_SWAPPED,
	REAL_TURNED,
	REAL_AS_READS,
	REAL_AS_REMOTE,
	REAL_STRAY,
	REAL_SCALE,
	REAL_DISK,       /* bytes x 2 + 1 if they were written to memory */
	REAL_DISK_PORT,  /* where the disk is counted: stack | port << 8 */
	REAL_DISK_FOUND, /* thousandths that the caches have */
	REAL_SETTINGS
};
void real_set(enum real_setting what, uint64_t value);

/* ---- disk.c: what the guest's disk moves ------------------------------------------------------ */

/* Where it is: the socket, I/O stack and part of its root port. */
void disk_at(unsigned socket, unsigned stack, unsigned port);
void disk_restart(void); /* without faults */
void disk_set_port(unsigned stack, unsigned port);
void disk_set_found(uint64_t thousandths);
void disk_move(uint64_t bytes, bool writes_memory);
/* Bytes so far. */
uint64_t disk_of_stack(const struct real *r);
uint64_t disk_of_slice(const struct real *r, unsigned slices);

/* ---- rdt.c: whose it is that they move -------------------------------------------------------- */

int rdt_init(void);
/* A CPU has moved so many bytes, whose home is its own node or not. */
void rdt_moved(unsigned cpu, unsigned size, bool store, bool near);
/* True when the register is one of these. */
bool rdt_rdmsr(unsigned cpu, uint32_t msr, uint64_t *value);
bool rdt_wrmsr(unsigned cpu, uint32_t msr, uint64_t value);
void rdt_cpuid(uint32_t leaf, uint32_t sub, uint32_t r[4]);

/* What the counters answer from now on. */
enum { RDT_COUNTS, RDT_UNAVAILABLE, RDT_ERROR };
void rdt_answer(uint64_t word);

/* ---- box.c: counters that share a freeze --------------------------------------------------- */

#define BOX_COUNTERS 40

struct counter {
	uint64_t value;
	uint64_t weight; /* per tick */
	unsigned width;  /* bits */
	bool on;
	bool saturates; /* at the end of its range it stays there and sets `overflow` */
	bool overflow;
	struct real real;
	uint64_t real_seen; /* of real_total(), as of the box's tick */
};

struct box {
	unsigned n;
	bool frozen;
	uint64_t tick; /* the counters are right as of this tick */
	/* When a counter of one of them overflows, all boxes with this number freeze; 0: none does. */
	unsigned together;
	struct counter ctr[BOX_COUNTERS];
};

/* Makes `box` known, with `n` counters of `width` bits, all off. It must live on. */
void box_init(struct box *box, unsigned n, unsigned width);

/* Brings the counters up to the present tick. To be called before anything in `box` changes. */
void box_advance(struct box *box);

/* From now on the box freezes together with others, see struct box. */
void box_freeze_together(struct box *box, unsigned together);

/* What the counter counts when traffic is real. To be called when the box has been advanced. */
void counter_real(struct counter *c, const struct real *real);

/* All boxes: brings them up to now; has them count real traffic from now on. */
void boxes_advance(void);
void boxes_restart(void);

/* Every counter of every box to 2^width - `below`, as if it were about to wrap. */
void boxes_preset(uint64_t below);

/* What an event counts per tick. `select`: all bits that choose what is counted but `event`. */
uint64_t pmon_weight(unsigned socket, unsigned instance, uint64_t event, uint64_t select);

/* ---- plugin.c ------------------------------------------------------------------------------- */

struct pmon_config {
	char model[32];
	unsigned cpus, sockets, nodes; /* NUMA nodes of each socket */
	uint64_t ram;                  /* bytes, of all sockets */
	uint64_t ram_at;               /* its first address */
	char window[256];              /* the file of the register window, or empty */
	/* RMIDs of the last-level caches, 0: they have no monitoring; bits of their counters, and counters
	 * that the kernel assigns, 0: each RMID has its own. */
	unsigned rmids, mbm_bits, mbm_cntrs;
};

extern struct pmon_config pmon_config;

unsigned pmon_socket(unsigned cpu);
unsigned pmon_node(unsigned cpu); /* of all sockets' */
void pmon_count_write(void);      /* the guest has written a control or counter register */

/* From now on the guest's non-temporal loads and stores are seen, or no longer. */
void pmon_watch_real(bool watch);
bool pmon_watches_real(void);

/* To be called after a counter was read, without the lock: some reads take long, when the guest has asked for it. */
void pmon_stall(void);

/* Runs a doorbell command; the result goes back to the guest. */
uint64_t pmon_doorbell(uint64_t command, uint64_t argument);

/*
 * Guest CPUs are threads: every callback of a model runs under this lock. It must be given back
 * before qemu_plugin_set_pc(), which does not return.
 */
void pmon_lock(void);
void pmon_unlock(void);

uint64_t reg_read(struct qemu_plugin_register *reg);
void reg_write(struct qemu_plugin_register *reg, uint64_t value);

/* ---- models ---------------------------------------------------------------------------------- */

struct pmon_model {
	const char *name;
	int (*init)(void); /* 0, or -1 after a message on stderr */
	/* x86: true when the register is the model's own; otherwise QEMU does what it always does. */
	bool (*rdmsr)(unsigned cpu, uint32_t msr, uint64_t *value);
	bool (*wrmsr)(unsigned cpu, uint32_t msr, uint64_t value);
	bool (*rdpmc)(unsigned cpu, uint32_t index, uint64_t *value);
	/* Changes QEMU's answer: eax ebx ecx edx. */
	void (*cpuid)(uint32_t leaf, uint32_t sub, uint32_t r[4]);
	/* The last-level cache of a CPU, by a number that no other has; NULL: each socket has one. */
	unsigned (*cache)(unsigned cpu);
	unsigned cache_size; /* bytes, if not 16 MiB */
	/* A register of the local APIC, by its offset. */
	bool (*apic_read)(uint32_t reg, uint32_t *value);
	/* Configuration space by ports CF8/CFC; bdf = bus << 8 | device << 3 | function. */
	bool (*pci_read)(uint32_t bdf, unsigned offset, unsigned size, uint32_t *value);
	bool (*pci_write)(uint32_t bdf, unsigned offset, unsigned size, uint32_t value);
	/* The register window: before a load of the kernel from it, after a store to it. */
	void (*window_load)(uint64_t offset, unsigned size);
	void (*window_store)(uint64_t offset, unsigned size);
};

extern const struct pmon_model *pmon_model;   /* the one in use */
#define PMON_WINDOW_X86 UINT64_C(0x100000000) /* where QEMU puts the NVDIMM: RAM ends below */

extern void *pmon_window; /* the mapped window, or NULL */
extern size_t pmon_window_size;

/* Weak: a model whose file is not built is not there. */
#define RIG_MODEL(name) extern const struct pmon_model name __attribute__((weak))
RIG_MODEL(model_ivt);
RIG_MODEL(model_skx);
RIG_MODEL(model_icx);
RIG_MODEL(model_spr);
RIG_MODEL(model_gnr);
RIG_MODEL(model_amd);
RIG_MODEL(model_t410);
RIG_MODEL(model_t410min);
RIG_MODEL(model_grace);

/* ---- instruction sets ------------------------------------------------------------------------ */

void x86_vcpu_init(unsigned vcpu);
void x86_translate(struct qemu_plugin_tb *tb, void *data);
void arm64_vcpu_init(unsigned vcpu) __attribute__((weak));
void arm64_translate(struct qemu_plugin_tb *tb, void *data) __attribute__((weak));

#define RIG_MAX_CPUS 64

#endif

/* SPDX-License-Identifier: MIT */
/* The machine: what was scanned, and from where. */
#ifndef UNC_MACHINE_H
#define UNC_MACHINE_H

#include "catalogue/catalogue.h"
#include "source/regs/regs.h"

/* A directory, and what it has. */
struct unc_listing {
	char *dir;
	struct unc_names names;
};

struct unc_findings {
	struct uncore_finding *items;
	size_t count;
	struct unc_names strings; /* what the items point to */
	struct unc_listing *listings;
	size_t listing_count;
	bool failed; /* out of memory: a list is missing */
};

struct uncore {
	struct unc_error error;
	struct unc_root *root;
	char *source;                     /* where counts come from, as the user named it, */
	const struct unc_source_ops *ops; /* and what it is; */
	struct unc_sim *sim;              /* its simulation, */
	struct unc_regs *regs;            /* its register block, */
	struct uncore_replay replay;      /* its readings; without functions: none */
	bool program;                     /* registers may be written */
	struct unc_names data_dirs;

	struct unc_topology topology;
	struct unc_pmus pmus;
	struct unc_catalogue catalogue;
	struct unc_pci pci;      /* read at first use, */
	struct unc_ports ports;  /* and this with it */
	struct uncore_peer peer; /* that was asked for last */
	struct unc_findings findings;
	struct uncore_memory memory; /* read at first use */
	bool memory_known;
	struct unc_error memory_why;
	double memory_peak;              /* the user's; 0: none */
	struct uncore_groups *groups;    /* made below its root; NULL: none */
	struct unc_processes *processes; /* of GPUs; NULL: no call has asked */
	bool scanned;
	struct unc_error scan_error; /* why the last scan failed; no text: it did not */
	size_t monitors; /* existing ones: they borrow from the scan, so another is refused */
};

/* Reads the files that uncore_diagnose() reads, without parsing families: for a snapshot. */
int unc_diagnose_read(struct uncore *u);
/* Reads the PCI devices, and which PMUs count them, at first use. -ENOMEM; -EMFILE and -ENFILE
 * until the next scan. */
int unc_machine_pci(struct uncore *u);
/* Appends the names by which devices count themselves to the error. */
void unc_machine_list_counting(struct uncore *u);
/* unc_ports_of() of this machine; or an error of unc_machine_pci(). */
int unc_machine_ports_of(struct uncore *u, const struct uncore_pmu *pmu, int cpu,
			 const struct unc_port **ports, size_t *count, struct unc_error *why);

/* Adds the PMUs of all groups of resctrl, those of this process with their slots: groups.c. */
int unc_groups_scan(struct uncore_groups *g, struct unc_pmus *pmus);

/* False: one source counts everything that there is: a simulation, a recording, a register block or
 * resctrl. */
bool unc_machine_has_sources(const struct uncore *u);
/* A source of this kind for counters of a monitor. */
int unc_machine_source(struct uncore *u, enum unc_source_kind kind, struct unc_source **out);

/* Bytes per second that the memory of a socket, of the machine (`socket` -1), or of one memory
 * channel can transfer at most; NaN: not known, and uncore_memory_get() has the reason. */
double unc_ceiling_memory(struct uncore *u, int socket, bool one_channel);

void unc_findings_finish(struct unc_findings *f);

void unc_processes_free(struct unc_processes *p);

#endif

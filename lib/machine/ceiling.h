/* SPDX-License-Identifier: MIT */
/* What memory can move at most: modules as the firmware tells them, their channels, the peak. */
#ifndef UNC_CEILING_H
#define UNC_CEILING_H

#include "base/error.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct uncore;

/* Bytes per second, of a socket, of the machine (`socket` -1), or of one memory channel; NaN: not
 * known, and uncore_memory_get() says why. */
double unc_ceiling_memory(struct uncore *u, int socket, bool one_channel);

/* One place for a memory module. */
struct unc_module {
	bool present;
	uint8_t kind;               /* memory type of SMBIOS */
	char locator[64], bank[64]; /* as printed on the board, or as the firmware likes it */
	unsigned width;             /* of the data, in bits; 0: not told */
	unsigned rated, configured; /* MT/s; 0: not told */
};

struct unc_modules {
	struct unc_module *items;
	size_t count;
};

/* "DDR5" */
const char *unc_module_kind(uint8_t kind);
/* The kind of that name; 0: none. */
uint8_t unc_module_kind_of(const char *name);
/* False for ROM, persistent memory and the like, which may be listed among the modules. */
bool unc_module_is_dram(uint8_t kind);
void unc_modules_finish(struct unc_modules *m);
/* Adds a place. -ENOMEM; -EBADMSG: more than any machine has. */
int unc_modules_add(struct unc_modules *m, const struct unc_module *one, struct unc_error *e);
/* A locator, with what cannot be printed replaced. */
void unc_module_name(char into[static 64], const char *from, size_t len);

/* From the SMBIOS structure table (DSP0134, 7.17 and 7.18). -EBADMSG: broken; -ENOMEM. Fuzzed. */
int unc_modules_smbios(struct unc_modules *out, const uint8_t *data, size_t len,
		       struct unc_error *e);
/* From udev's record of the device dmi/id, where dmi_memory_id(8) has put them. */
int unc_modules_udev(struct unc_modules *out, const char *text, struct unc_error *e);

struct unc_channels {
	size_t modules;
	unsigned channels; /* per socket */
	unsigned width;    /* of one, in bits */
	double transfers;  /* MT/s, of the slowest module */
	bool rated;        /* which is what the modules can; what they do is not told */
};

/* Counts channels. `pmus`: channels of a socket that the kernel has PMUs for; 0: not known.
 * -ENODATA: it remains unclear, and the sentence says why. */
int unc_modules_channels(const struct unc_modules *m, size_t sockets, size_t pmus,
			 struct unc_channels *out, struct unc_error *e);

#endif

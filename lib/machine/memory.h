/* SPDX-License-Identifier: MIT */
/* Memory modules as the firmware describes them, and how much they can transfer. */
#ifndef UNC_MEMORY_H
#define UNC_MEMORY_H

#include "machine/root.h"
#include "uncore.h"

/* One slot for a memory module. */
struct unc_module {
	bool present;
	uint8_t kind;               /* memory type of SMBIOS, 7.18.2 */
	unsigned width;             /* of the data, in bits; 0: not known */
	unsigned rated, configured; /* MT/s; 0: not known */
};

struct unc_modules {
	struct unc_module *items;
	size_t count;
};

/* From the SMBIOS structure table (DSP0134, 7.17 and 7.18). -EBADMSG: broken; -ENOMEM. Fuzzed. */
int unc_modules_smbios(struct unc_modules *out, const uint8_t *data, size_t len,
		       struct unc_error *e);
/* From udev's record of the device dmi/id, where dmi_memory_id(8) of systemd has put what it reads of
 * the SMBIOS table, which only root may read. Overwrites the text. */
int unc_modules_udev(struct unc_modules *out, char *text, struct unc_error *e);
void unc_modules_finish(struct unc_modules *m);

/* "DDR5" */
const char *unc_module_kind(uint8_t kind);
/* False for ROM, persistent memory and the like, which may be listed among the modules. */
bool unc_module_is_dram(uint8_t kind);

/* The peak of one socket. `channel_pmus`: memory channels of a socket that have a PMU each; 0: not
 * known. -ENODATA: the peak is not known, and the sentence gives the reason. */
int unc_memory_peak(struct uncore_memory *out, const struct unc_modules *m, size_t sockets,
		    size_t channel_pmus, struct unc_error *e);

/* The same of the modules of this machine, or else of the driver hsmp. -ENODATA, -EBADMSG, -ENOMEM; the memory used is
 * read then, too. */
int unc_memory_read(struct uncore_memory *out, const struct unc_root *root, size_t sockets,
		    size_t channel_pmus, struct unc_error *e);

#endif

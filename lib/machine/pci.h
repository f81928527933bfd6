/* SPDX-License-Identifier: MIT */
/* PCI devices from sysfs: what they are, which bridge they are below, and their links. */
#ifndef UNC_PCI_H
#define UNC_PCI_H

#include "machine/topology.h"

struct unc_device {
	struct uncore_device shown; /* first: a pointer to it is a pointer to this */
	/* Its number: domain (segment) << 16 | bus << 8 | device << 3 | function. The domain has more than 16
	 * bits behind Intel's VMD. */
	uint64_t address;
	struct unc_pci *pci;
	const struct uncore_pmu *const *pmus; /* of a root port: the PMUs that count it */
	size_t pmu_count;
};

struct unc_pci {
	const struct unc_root *root;
	const struct unc_topology *topology;
	struct unc_device *devices; /* ordered by address */
	size_t count;
	struct unc_error *error;  /* of the machine, for lack of memory while something is kept */
	struct unc_names strings; /* texts that the devices point to */
};

/* Devices below sys/bus/pci/devices; none at all is no error. -ENOMEM; or `error` and the root are exhausted, and
 * something is missing. Devices point into `out`, so that it must stay where it is. */
int unc_pci_read(struct unc_pci *out, const struct unc_root *root, const struct unc_topology *t,
		 struct unc_error *error);
void unc_pci_finish(struct unc_pci *p);

/* A copy that lives as long as the devices; NULL: out of memory. */
const char *unc_pci_keep(struct unc_pci *p, const char *text);

/* "0000:17:00.0", "17:00.0" (*has_domain is false then). */
bool unc_pci_parse(const char *text, uint64_t *out, bool *has_domain);

/* By address ("0000:17:00.0", "17:00.0") or by one of the kernel's names ("nvme0"). -ENOENT; -EINVAL:
 * devices of two segments have this address. */
int unc_pci_find(const struct unc_pci *p, const char *name, const struct uncore_device **out,
		 struct unc_error *e);

static inline const struct unc_device *unc_device(const struct uncore_device *d)
{
	return (const struct unc_device *)d;
}

/* At most the first `max` bytes of the config space. The kernel shows 64 of them to all users, and
 * the rest to root. */
#define UNC_PCI_CONFIG 4096
int unc_pci_config(const struct unc_device *d, size_t max, unsigned char **out, size_t *len);
/* Offset of a capability of config space, of which `len` bytes could be read; 0: it has none. */
size_t unc_pci_capability(const unsigned char *config, size_t len, unsigned id);
/* Offset of a vendor's own capability (DVSEC), and its length. */
size_t unc_pci_dvsec(const unsigned char *config, size_t len, unsigned vendor, unsigned id,
		     size_t *length);

#endif

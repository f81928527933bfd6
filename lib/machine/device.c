/* SPDX-License-Identifier: MIT */
/* PCI devices, for the callers of the library. */
#include "object.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

size_t uncore_device_count(const struct uncore *u)
{
	/* Read at first use, as the contents of a PMU are. */
	return unc_ports_load((struct uncore *)u) < 0 ? 0 : u->pci.count;
}

const struct uncore_device *uncore_device_at(const struct uncore *u, size_t i)
{
	return &u->pci.devices[i].shown;
}

const char *uncore_device_name(const struct uncore_device *d)
{
	struct unc_pci *p = unc_device(d)->pci;

	if (!p)
		return NULL; /* only its numbers are known */
	unc_pci_name(p);
	return p->device_names ? p->device_names[unc_device(d) - p->devices] : NULL;
}

size_t uncore_device_pmu_count(const struct uncore_device *d)
{
	return unc_device(d)->pmu_count;
}

const struct uncore_pmu *uncore_device_pmu_at(const struct uncore_device *d, size_t i)
{
	return unc_device(d)->pmus[i];
}

/* ---- finding ---- */

static bool word_of(const char *words, const char *word)
{
	size_t len = strlen(word);

	for (const char *at = words; at && len && (at = strstr(at, word)); at += len)
		if ((at == words || at[-1] == ' ') && (at[len] == ' ' || !at[len]))
			return true;
	return false;
}

/* Addresses and the kernel's names, to offer the nearest. */
static int not_found(struct uncore *u, const char *name)
{
	struct unc_names all = {0};
	struct unc_text near = {0};
	int err = 0;

	for (size_t i = 0; i < u->pci.count && err == 0; i++) {
		const struct uncore_device *d = uncore_device_at(u, i);
		char *names = d->names ? strdup(d->names) : NULL, *rest = names, *word;

		err = unc_names_add(&all, d->address);
		while (err == 0 && (word = strsep(&rest, " ")))
			err = unc_names_add(&all, word);
		free(names);
	}
	if (unc_suggest(&near, name, (const char *const *)all.items, all.count) && near.data)
		err = unc_fail(&u->error, ENOENT, "there is no PCI device '%s' (did you mean %s?)",
			       name, near.data);
	else
		err = unc_fail(&u->error, ENOENT,
			       "there is no PCI device '%s' on this machine, which has %zu; "
			       "'uncore topo' shows them",
			       name, u->pci.count);
	unc_names_finish(&all);
	unc_text_finish(&near);
	return err;
}

/* Without a segment: that of segment 0, or the only one. */
static int find_address(struct uncore *u, const char *name, const struct unc_pci_address *a,
			bool has_domain, const struct uncore_device **out)
{
	const struct unc_device *found = NULL;
	uint64_t wanted = unc_pci_number(a);

	for (size_t i = 0; i < u->pci.count; i++) {
		const struct unc_device *d = &u->pci.devices[i];
		uint64_t number = unc_pci_number(&d->address);

		if (number == wanted) {
			*out = &d->shown;
			return 0;
		}
		if (has_domain || (number & 0xffff) != wanted)
			continue;
		if (found)
			return unc_fail(&u->error, EINVAL,
					"there are %s and %s: write the address in full",
					found->shown.address, d->shown.address);
		found = d;
	}
	if (!found)
		return not_found(u, name);
	*out = &found->shown;
	return 0;
}

int uncore_device_find(struct uncore *u, const char *name, const struct uncore_device **out)
{
	struct unc_pci_address address;
	bool has_domain;
	int err;

	if (!u->scanned)
		return unc_fail(&u->error, EINVAL,
				"the machine is not scanned: uncore_scan() first");
	err = unc_ports_load(u);
	if (err)
		return err;
	if (unc_pci_parse(name, &address, &has_domain))
		return find_address(u, name, &address, has_domain, out);
	for (size_t i = 0; i < u->pci.count; i++)
		if (word_of(u->pci.devices[i].shown.names, name)) {
			*out = &u->pci.devices[i].shown;
			return 0;
		}
	return not_found(u, name);
}

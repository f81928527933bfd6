/* SPDX-License-Identifier: MIT */
/* Vendors' names of events, by CPU model, from data/names, whose format tools/make-names describes. */
#ifndef UNC_NAMES_H
#define UNC_NAMES_H

#include "machine/topology.h"

/* The events of PMUs of one name. */
struct unc_vendor_unit {
	const char *pmu;             /* without the number */
	struct uncore_alias *events; /* ordered by strverscmp of name */
	size_t count;
};

struct unc_vendor;

/* `topology` is borrowed. -ENOMEM. */
int unc_vendor_new(struct unc_vendor **out, const struct unc_topology *topology);
void unc_vendor_free(struct unc_vendor *v);
/* Takes these names, in the format of data/names, for those of the library. -ENOMEM. */
int unc_vendor_set(struct unc_vendor *v, const char *text);
/* Parsed at the first call. None: `v` is NULL, or there are no names for this CPU. -ENOMEM. */
int unc_vendor_units(struct unc_vendor *v, const struct unc_vendor_unit **units, size_t *count);

#endif

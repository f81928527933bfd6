/* SPDX-License-Identifier: MIT */
/* Why something that belongs to an answer is not in it. The only form of it, from a query to its rows. */
#ifndef UNC_GAP_H
#define UNC_GAP_H

#include "uncore.h"

enum unc_gap_what {
	UNC_GAP_PMU,    /* a PMU that cannot be counted, or not as asked */
	UNC_GAP_SOCKET, /* a socket without a PMU of the family */
	UNC_GAP_PORT,   /* a PCIe root port that no counter covers */
};

struct unc_gap {
	enum unc_gap_what what;
	const struct uncore_device *port; /* UNC_GAP_PORT */
	int socket;                       /* that it is on; -1: not known */
	const char *why;                  /* a sentence that names it; kept by the monitor */
};

/* The gaps of one query, each once, in the order in which they were found. */
struct unc_gaps {
	struct unc_gap *items;
	size_t count;
};

#endif

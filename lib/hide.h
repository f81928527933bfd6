/* SPDX-License-Identifier: MIT */
/* What a snapshot hides in its texts. */
#ifndef UNC_HIDE_H
#define UNC_HIDE_H

#include "base/text.h"

/* All-zero at first. */
struct unc_hidden {
	struct unc_names seen; /* the digits of addresses, in the order of their numbers */
	bool failed;           /* out of memory */
};

/* Replaces each address and UUID in the text by its number, in place. */
void unc_hide(struct unc_hidden *h, char *text, size_t len);

#endif

/* SPDX-License-Identifier: MIT */
/* What NVIDIA's library says of GPUs, in a snapshot: no file of the machine has it. */
#ifndef UNC_ANSWERS_H
#define UNC_ANSWERS_H

#include "links.h"
#include "object.h"

/* Asks the library, and adds a file for each GPU: its model, and for each event whether it is
 * counted. Nothing on a machine that is not the running one, unless its files are counted. */
void unc_answers_add(struct uncore *u, struct unc_tree *tree);
/* Adds a finding for each GPU with such a file. Returns 0 or a negative errno. */
int unc_answers_check(struct uncore *u, unc_add_finding *add);

#endif

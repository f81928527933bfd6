/* SPDX-License-Identifier: MIT */
/* A finding in text, for `uncore doctor` and the overview. */
#ifndef CLI_DOCTOR_H
#define CLI_DOCTOR_H

#include "cli.h"
#include "output/buffer.h"

void doctor_finding(const struct uncore_finding *f, struct buffer *to);

#endif

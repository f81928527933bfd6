/* SPDX-License-Identifier: MIT */
/* Facts about the kernel's drivers: sentences and records. */
#ifndef CLI_DRIVERS_H
#define CLI_DRIVERS_H

#include <jansson.h>

#include "base/buffer.h"
#include "uncore.h"

/* The facts as sentences. */
void driver_text(const struct uncore_driver *d, struct buffer *to);

/* A record of each entry that is for PMUs of the metric. */
json_t *driver_records(const struct uncore_metric *m);

#endif

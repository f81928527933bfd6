/* SPDX-License-Identifier: MIT */
/* Facts about the kernel's drivers, which a data file states in words, as sentences and as
 * records. */
#ifndef CLI_DRIVERS_H
#define CLI_DRIVERS_H

#include <jansson.h>

#include "base/buffer.h"
#include "uncore.h"

void driver_text(const struct uncore_driver *d, struct buffer *to);

/* A record for each driver whose PMUs count the metric. */
json_t *driver_records(const struct uncore_metric *m);

#endif

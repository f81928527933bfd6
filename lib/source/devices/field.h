/* SPDX-License-Identifier: MIT */
/* A number in the contents of a file of a device. Pure; fuzzed. */
#ifndef UNC_FIELD_H
#define UNC_FIELD_H

#include "machine/pmu.h"

/* Takes the number that `read` describes from the contents of its file, which a NUL follows.
 * `layout`: of the device; NULL: it has only one. NULL, or why there is no number: a
 * constant; *value is then untouched. */
const char *unc_field_take(const struct unc_device_read *read,
			   const struct unc_device_layout *layout, const char *data, size_t len,
			   uint64_t *value);

/* How many bytes of the file are needed. */
size_t unc_field_room(const struct unc_device_read *read);

#endif

/* SPDX-License-Identifier: MIT */
/* Names of error numbers: strerror() would follow the locale. */
#ifndef UNC_ERRNO_NAME_H
#define UNC_ERRNO_NAME_H

/* "EINVAL" for EINVAL or -EINVAL; "an unknown error" for one that opening a counter never gives. */
const char *unc_errno_name(int err);
/* EINVAL for "EINVAL"; 0 for no such name. */
int unc_errno_number(const char *name);

#endif

/* SPDX-License-Identifier: MIT */
/* Shell patterns of names. Pure. */
#ifndef UNC_GLOB_H
#define UNC_GLOB_H

#include <stdbool.h>

/* '*', '?', "[a-z]", "[!a]" and a backslash before any of them, on the whole name, byte by byte. */
bool unc_glob_matches(const char *pattern, const char *name);

#endif

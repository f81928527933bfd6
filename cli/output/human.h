/* SPDX-License-Identifier: MIT */
/* A value for people: "12.34" "GB/s". */
#ifndef CLI_HUMAN_H
#define CLI_HUMAN_H

#include <stddef.h>

struct human {
	char number[40];
	char unit[32];
};

/* Chooses the prefix: B/s becomes GB/s (1e9), s becomes ns, ratio becomes %; a plain count ("") and
 * units of the kernel keep theirs and get thousands separators. "-" when not finite. */
void human_value(struct human *h, double value, const char *unit);

/* "100.0 ms" */
void human_duration(char *text, size_t size, double seconds);

#endif

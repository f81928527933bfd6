/* SPDX-License-Identifier: MIT */
/* Numbers as text, by integer arithmetic: printing them with printf would take most of the time of
 * an interval. */
#ifndef CLI_NUMBER_H
#define CLI_NUMBER_H

#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"

#define COUNT_ROOM 24
#define REAL_ROOM 40

/* All write a NUL at the end, and return the length without it. */
size_t text_count(char into[COUNT_ROOM], uint64_t value);
void buffer_count(struct buffer *to, uint64_t value);
/* A whole number as it is, a large one to a millionth, a smaller one with 15 digits; "" when it is
 * not finite. */
size_t text_real(char into[REAL_ROOM], double value);
/* The text of "%.*g" with 2 to 17 digits. */
size_t text_digits(char into[REAL_ROOM], double value, int digits);
/* A finite number with six digits in the fewest characters: 15e8 for 1.5e+09. */
size_t text_compact(char into[REAL_ROOM], double value);

#endif

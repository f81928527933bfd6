/* SPDX-License-Identifier: MIT */
/* Classes of characters. Those of <ctype.h> depend on the locale. */
#ifndef UNC_ASCII_H
#define UNC_ASCII_H

#include <stdbool.h>

static inline bool unc_is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static inline bool unc_is_space(char c)
{
	return c == ' ' || (c >= '\t' && c <= '\r');
}

static inline char unc_lower(char c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

/* The value of a hexadecimal digit; -1: another character. */
static inline int unc_digit_value(char c)
{
	c = unc_lower(c);
	if (unc_is_digit(c))
		return c - '0';
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

#endif

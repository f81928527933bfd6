/* SPDX-License-Identifier: MIT */
/* Strict numbers: no sign, no exponent, nothing behind the unit. */
#include "parse.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define YEAR_NS (366ULL * 86400 * NS_PER_S)

struct unit {
	const char *name; /* NULL ends a table */
	double size;
};

/* Length of "digits", "digits.digits", ".digits"; 0 when there is none. */
static size_t number_length(const char *text)
{
	size_t whole = strspn(text, "0123456789");
	size_t fraction;

	if (text[whole] != '.')
		return whole;
	fraction = strspn(text + whole + 1, "0123456789");
	return whole + fraction ? whole + 1 + fraction : 0;
}

bool parse_looks_numeric(const char *text)
{
	return number_length(text) > 0;
}

/* Finds the unit behind a number; its size, or 0. */
static double unit_size(const char *text, const struct unit *units)
{
	for (; units->name; units++)
		if (strcmp(text, units->name) == 0)
			return units->size;
	return 0;
}

const char *parse_duration(const char *text, uint64_t plain_ns, uint64_t *ns)
{
	static const struct unit units[] = {
		{"ns", 1},  {"us", 1e3},   {"µs", 1e3},   {"ms", 1e6},
		{"s", 1e9}, {"min", 60e9}, {"h", 3600e9}, {NULL, 0},
	};
	size_t len = number_length(text);
	double unit = text[len] ? unit_size(text + len, units) : (double)plain_ns;
	double value = strtod(text, NULL) * unit;

	if (!len)
		return "is not a duration; write 100ms, 1s or 0.5s";
	if (unit == 0)
		return "does not end in a unit of time (ns, us, ms, s, min, h)";
	if (value > (double)YEAR_NS)
		return "is longer than a year";
	if (value < 1)
		return "must be more than zero";
	*ns = (uint64_t)(value + 0.5);
	return NULL;
}

const char *parse_rate(const char *text, double *bytes_per_second)
{
	static const struct unit units[] = {
		{"B/s", 1},          {"kB/s", 1e3},         {"MB/s", 1e6},
		{"GB/s", 1e9},       {"TB/s", 1e12},        {"KiB/s", 0x400},
		{"MiB/s", 0x100000}, {"GiB/s", 0x40000000}, {"TiB/s", 0x10000000000},
		{NULL, 0},
	};
	size_t len = number_length(text);
	double unit = unit_size(text + len + (text[len] == ' '), units);
	double value = strtod(text, NULL) * unit;

	if (!len)
		return "is not a rate; write 307.2GB/s";
	if (unit == 0)
		return "does not end in a unit of rates (B/s, kB/s, MB/s, GB/s, TB/s, KiB/s, "
		       "MiB/s, GiB/s, TiB/s)";
	if (!(value > 0))
		return "must be more than zero";
	if (value > 1e18)
		return "is more than any memory can move";
	*bytes_per_second = value;
	return NULL;
}

const char *parse_count(const char *text, uint64_t *count)
{
	size_t len = strspn(text, "0123456789");

	if (!len || text[len])
		return "is not a whole number";
	if (len > 10 || strtoull(text, NULL, 10) > 1000000000)
		return "is more than a thousand million";
	if (strtoull(text, NULL, 10) == 0)
		return "must be at least 1";
	*count = strtoull(text, NULL, 10);
	return NULL;
}

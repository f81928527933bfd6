/* SPDX-License-Identifier: MIT */
/* Strict numbers: no sign, no exponent, nothing behind the unit. */
#include "parse.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define YEAR_NS (366ULL * 86400 * NS_PER_S)

static const struct {
	const char *name;
	uint64_t ns;
} units[] = {
	{"ns", 1},       {"us", 1000},           {"µs", 1000},           {"ms", NS_PER_MS},
	{"s", NS_PER_S}, {"min", 60 * NS_PER_S}, {"h", 3600 * NS_PER_S},
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

const char *parse_duration(const char *text, uint64_t plain_ns, uint64_t *ns)
{
	size_t len = number_length(text);
	uint64_t unit = text[len] ? 0 : plain_ns;
	double value;

	if (!len)
		return "is not a duration; write 100ms, 1s or 0.5s";
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++)
		if (strcmp(text + len, units[i].name) == 0)
			unit = units[i].ns;
	if (!unit)
		return "does not end in a unit of time (ns, us, ms, s, min, h)";
	value = strtod(text, NULL) * (double)unit;
	if (value > (double)YEAR_NS)
		return "is longer than a year";
	if (value < 1)
		return "must be more than zero";
	*ns = (uint64_t)(value + 0.5);
	return NULL;
}

const char *parse_rate(const char *text, double *bytes_per_second)
{
	static const struct {
		const char *name;
		double bytes;
	} rates[] = {
		{"B/s", 1},           {"kB/s", 1e3},           {"MB/s", 1e6},
		{"GB/s", 1e9},        {"TB/s", 1e12},          {"KiB/s", 1024.0},
		{"MiB/s", 1048576.0}, {"GiB/s", 1073741824.0}, {"TiB/s", 1099511627776.0},
	};
	size_t len = number_length(text);
	const char *unit = text + len + (text[len] == ' ');
	double value = strtod(text, NULL);

	if (!len)
		return "is not a rate; write 307.2GB/s";
	for (size_t i = 0; i < sizeof(rates) / sizeof(rates[0]); i++) {
		if (strcmp(unit, rates[i].name) != 0)
			continue;
		if (!(value * rates[i].bytes > 0))
			return "must be more than zero";
		if (value * rates[i].bytes > 1e18)
			return "is more than any memory can move";
		*bytes_per_second = value * rates[i].bytes;
		return NULL;
	}
	return "does not end in a unit of rates (B/s, kB/s, MB/s, GB/s, TB/s, KiB/s, MiB/s, GiB/s, "
	       "TiB/s)";
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

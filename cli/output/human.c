/* SPDX-License-Identifier: MIT */
/* Four significant digits and the prefix that suits the value. */
#include "output/human.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Units that take a prefix, and from which to which power of a thousand. */
static const struct {
	const char *unit;
	int least, most;
} scales[] = {
	{"B/s", 0, 4}, {"B", 0, 4},  {"Hz", 0, 3}, {"s", -3, 0},
	{"W", -2, 1},  {"J", -2, 2}, {"V", -1, 0}, {"1/s", 0, 0},
};

static const char *const prefixes[] = {"n", "µ", "m", "", "k", "M", "G", "T"};

/* Commas between groups of three digits of the whole part. */
static void group_digits(char *into, size_t size, const char *number)
{
	size_t sign = *number == '-';
	size_t whole = strcspn(number + sign, ".e");
	size_t at = 0;

	for (size_t i = 0; number[i] && at + 2 < size; i++) {
		size_t digit = i - sign;

		if (i > sign && digit < whole && (whole - digit) % 3 == 0)
			into[at++] = ',';
		into[at++] = number[i];
	}
	into[at] = '\0';
}

static void put_number(struct human *h, double value)
{
	double size = fabs(value);
	int decimals = size < 9.9995 ? 3 : size < 99.995 ? 2 : size < 10000 ? 1 : 0;
	char plain[40];

	if (value == 0)
		decimals = 0;
	if (size >= 1e18 || (size < 0.0005 && size > 0))
		snprintf(plain, sizeof(plain), "%.3g", value);
	else
		snprintf(plain, sizeof(plain), "%.*f", decimals, value);
	group_digits(h->number, sizeof(h->number), plain);
}

static void put_count(struct human *h, double value)
{
	char plain[40];

	snprintf(plain, sizeof(plain), fabs(value) < 1e18 ? "%.0f" : "%.6g", value);
	group_digits(h->number, sizeof(h->number), plain);
}

static void put_scaled(struct human *h, double value, size_t scale)
{
	int power = 0;

	/* 999.96 would print as 1000.0: it belongs to the next prefix. */
	while (power < scales[scale].most && fabs(value) >= 999.95) {
		value /= 1000;
		power++;
	}
	while (power > scales[scale].least && fabs(value) < 0.99995 && value != 0) {
		value *= 1000;
		power--;
	}
	put_number(h, value);
	snprintf(h->unit, sizeof(h->unit), "%s%s", prefixes[power + 3], scales[scale].unit);
}

void human_value(struct human *h, double value, const char *unit)
{
	snprintf(h->number, sizeof(h->number), "-");
	snprintf(h->unit, sizeof(h->unit), "%s", "");
	if (!isfinite(value))
		return;
	if (!*unit) {
		put_count(h, value);
		return;
	}
	if (strcmp(unit, "ratio") == 0) {
		put_number(h, value * 100);
		snprintf(h->unit, sizeof(h->unit), "%%");
		return;
	}
	for (size_t i = 0; i < sizeof(scales) / sizeof(scales[0]); i++) {
		if (strcmp(unit, scales[i].unit) == 0) {
			put_scaled(h, value, i);
			return;
		}
	}
	put_number(h, value);
	snprintf(h->unit, sizeof(h->unit), "%s", unit);
}

void human_duration(char *text, size_t size, double seconds)
{
	struct human h;

	human_value(&h, seconds, "s");
	snprintf(text, size, "%s %s", h.number, h.unit);
}

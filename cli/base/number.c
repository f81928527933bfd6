/* SPDX-License-Identifier: MIT */
#include "base/number.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SIX 6                          /* digits of a compact number */
#define FRACTION_BITS 52               /* of a double, behind the first bit, which is not stored */
#define LEAST_EXPONENT (-4)            /* with %g: smaller numbers are printed with an exponent */
#define LARGEST 18446744073709551615.0 /* rounded to 2^64, the first that no integer holds */
#define SMALLEST 1e-14 /* its product with a power of ten needs no more than 128 bits */

/* Compilers for 32 bits have no type for a product: printf prints there. */
#ifdef __SIZEOF_INT128__
__extension__ typedef unsigned __int128 wide;
#define HAS_WIDE true
#else
typedef uint64_t wide;
#define HAS_WIDE false
#endif

static const uint64_t tens[] = {1,
				10,
				100,
				1000,
				10000,
				100000,
				1000000,
				10000000,
				100000000,
				1000000000,
				10000000000,
				100000000000,
				1000000000000,
				10000000000000,
				100000000000000,
				1000000000000000,
				10000000000000000,
				100000000000000000,
				1000000000000000000,
				10000000000000000000u};
#define MOST_TENS ((int)(sizeof(tens) / sizeof(*tens)) - 1)

/* Two digits at a time, which halves the number of divisions; those of 32 bits are cheaper. */
static void put_digits(char *into, size_t len, uint64_t value)
{
	static const char pairs[] = "00010203040506070809101112131415161718192021222324"
				    "25262728293031323334353637383940414243444546474849"
				    "50515253545556575859606162636465666768697071727374"
				    "75767778798081828384858687888990919293949596979899";

	uint32_t low;

	for (; value > UINT32_MAX; value /= 100, len -= 2)
		memcpy(into + len - 2, pairs + value % 100 * 2, 2);
	for (low = (uint32_t)value; len > 1; low /= 100, len -= 2)
		memcpy(into + len - 2, pairs + (size_t)(low % 100) * 2, 2);
	if (len)
		*into = (char)('0' + low % 10);
}

/* The logarithm of a power of two: 1233 / 4096 is that of 2. It is right or one too low. */
static int tens_of(int power)
{
	return power * 1233 >> 12;
}

size_t text_count(char into[COUNT_ROOM], uint64_t value)
{
	size_t len;

	if (value < 10) { /* most exponents */
		into[0] = (char)('0' + value);
		into[1] = '\0';
		return 1;
	}
	len = (size_t)tens_of(63 - __builtin_clzll(value)) + 1;
	len += value >= tens[len];
	put_digits(into, len, value);
	into[len] = '\0';
	return len;
}

void buffer_count(struct buffer *to, uint64_t value)
{
	char *at = buffer_more(to, COUNT_ROOM);

	to->len -= COUNT_ROOM - text_count(at, value);
}

/* A number of so many digits, the first of which is not 0: d.ddd x 10^exponent. */
struct decimal {
	uint64_t digits;
	int exponent;
};

/* The quotient m x 2^shift / 10^power, and how its remainder compares with the half of the divisor:
 * less, equal or more than 0. All is exact: m has 53 bits, and the number is below 2^64. */
static uint64_t divide(uint64_t m, int shift, int power, int *rest)
{
	uint64_t low = shift < 0 ? m & ((UINT64_C(1) << -shift) - 1) : 0;
	uint64_t whole = shift < 0 ? m >> -shift : m << shift, half = tens[power] / 2;
	uint64_t left = whole % tens[power];

	*rest = left != half ? (left < half ? -1 : 1) : low ? 1 : 0;
	return whole / tens[power];
}

/* The same for m x 2^shift x 10^power, which is below 2^64: the divisor is the power of two. */
static uint64_t multiply(uint64_t m, int shift, int power, int *rest)
{
	wide product = (wide)m * tens[power], half, left;

	*rest = -1;
	if (shift >= 0)
		return (uint64_t)(product << shift);
	half = (wide)1 << (-shift - 1);
	left = product & (2 * half - 1);
	*rest = left != half ? (left < half ? -1 : 1) : 0;
	return (uint64_t)(product >> -shift);
}

/* Rounds as printf does: to the nearest, and from the middle to an even digit. False: the number is
 * too large or too small for integers. */
static bool round_to(struct decimal *d, double size, int count)
{
	uint64_t bits, m;
	int shift, power, rest = -1;

	if (!HAS_WIDE || !(size >= SMALLEST && size < LARGEST))
		return false;
	memcpy(&bits, &size, sizeof(bits));
	shift = (int)(bits >> FRACTION_BITS) - 1023 - FRACTION_BITS;
	m = (bits & ((UINT64_C(1) << FRACTION_BITS) - 1)) | UINT64_C(1) << FRACTION_BITS;
	d->exponent = tens_of(shift + FRACTION_BITS);
	for (int i = 0; i < 2; i++, d->exponent++) {
		power = count - 1 - d->exponent;
		if (power > MOST_TENS)
			return false;
		d->digits = power < 0 ? divide(m, shift, -power, &rest)
				      : multiply(m, shift, power, &rest);
		if (d->digits < tens[count])
			break;
	}
	d->digits += rest > 0 || (rest == 0 && d->digits % 2);
	if (d->digits < tens[count])
		return d->digits >= tens[count - 1];
	d->digits /= 10;
	d->exponent++;
	return true;
}

/* Removes zeros at the end; one digit remains. */
static size_t trim(const char *digits, size_t len)
{
	while (len > 1 && digits[len - 1] == '0')
		len--;
	return len;
}

/* Behind the digits: the exponent in two digits, as all of these numbers have. */
static size_t put_exponent(char *into, int exponent)
{
	into[0] = 'e';
	into[1] = exponent < 0 ? '-' : '+';
	put_digits(into + 2, 2, (uint64_t)abs(exponent));
	return 4;
}

size_t text_digits(char into[REAL_ROOM], double value, int digits)
{
	char all[COUNT_ROOM], *at = into;
	struct decimal d;
	size_t len, whole, zeros;

	if (!round_to(&d, fabs(value), digits))
		return value == 0 && !signbit(value)
			       ? text_count(into, 0)
			       : (size_t)snprintf(into, REAL_ROOM, "%.*g", digits, value);
	put_digits(all, (size_t)digits, d.digits);
	len = trim(all, (size_t)digits);
	if (value < 0)
		*at++ = '-';
	if (d.exponent < 0 && d.exponent >= LEAST_EXPONENT) {
		zeros = (size_t)-d.exponent;
		memcpy(at, "0.000", zeros + 1);
		memcpy(at + zeros + 1, all, len);
		at += zeros + 1 + len;
	} else {
		bool fixed = d.exponent >= 0 && d.exponent < digits;

		whole = fixed ? (size_t)d.exponent + 1 : 1;
		memcpy(at, all, whole); /* with zeros that were at the end */
		at += whole;
		if (len > whole) {
			*at++ = '.';
			memcpy(at, all + whole, len - whole);
			at += len - whole;
		}
		if (!fixed)
			at += put_exponent(at, d.exponent);
	}
	*at = '\0';
	return (size_t)(at - into);
}

/* By printf, for numbers that are too large or too small for integers. */
static void round_with_printf(struct decimal *d, double size)
{
	char text[REAL_ROOM]; /* 1.23456e+09 */

	snprintf(text, sizeof(text), "%.*e", SIX - 1, size);
	d->digits = (uint64_t)(text[0] - '0') * tens[SIX - 1] + strtoul(text + 2, NULL, 10);
	d->exponent = (int)strtol(text + SIX + 2, NULL, 10);
}

size_t text_compact(char into[REAL_ROOM], double value)
{
	double size = fabs(value);
	struct decimal d;
	size_t len = 0;

	if (size < 1e6 && size >= 1e-3)
		return text_digits(into, value, SIX);
	if (!round_to(&d, size, SIX))
		round_with_printf(&d, size);
	for (d.exponent -= SIX - 1; d.digits && d.digits % 10 == 0; d.digits /= 10)
		d.exponent++;
	if (value < 0 && d.digits)
		into[len++] = '-';
	len += text_count(into + len, d.digits);
	if (!d.digits || !d.exponent)
		return len;
	into[len++] = 'e';
	if (d.exponent < 0)
		into[len++] = '-';
	return len + text_count(into + len, (uint64_t)abs(d.exponent));
}

/* Up to six decimals without zeros at their end. */
static size_t put_decimals(char *into, uint64_t millionths)
{
	size_t len = 0;

	if (millionths) {
		into[0] = '.';
		put_digits(into + 1, 6, millionths);
		len = 1 + trim(into + 1, 6);
	}
	into[len] = '\0';
	return len;
}

size_t text_real(char into[REAL_ROOM], double value)
{
	double size = fabs(value), millionths;
	size_t len = 0;
	int64_t whole;

	*into = '\0';
	if (!isfinite(value))
		return 0;
	if (size >= 1e15)
		return text_digits(into, value, 15);
	whole = (int64_t)size;
	millionths = (size - (double)whole) * 1e6;
	if (whole < 1000 && millionths > 0)
		return text_digits(into, value, 15);
	millionths = rint(millionths);
	if (millionths >= 1e6) {
		whole++;
		millionths = 0;
	}
	if (value < 0)
		into[len++] = '-';
	len += text_count(into + len, (uint64_t)whole);
	return len + put_decimals(into + len, (uint64_t)(int64_t)millionths);
}

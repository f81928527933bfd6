/* SPDX-License-Identifier: MIT */
/* Addresses and UUIDs in the texts of a snapshot: each is replaced by a number, which is the same
 * in all texts and as long as the address. */
#include "hide.h"

#define ADDRESS 12 /* digits; the GUIDs of InfiniBand have more */
#define NUMBER 4   /* digits of the number that replaces one */

static size_t count_digits(const char *at, const char *end)
{
	size_t n = 0;

	while (at + n < end && unc_digit_value(at[n]) >= 0)
		n++;
	return n;
}

/* The digits at the end of a name are an address: "enx0123456789ab", also in a longer name. Behind
 * "0x" they are a number. */
static size_t name_length(const char *text, const char *at, const char *end)
{
	size_t n = count_digits(at, end);
	char letter = at - text >= 2 ? unc_lower(at[-2]) : ' ';

	return n >= ADDRESS && letter >= 'a' && letter <= 'z' && at[-1] == 'x' ? n : 0;
}

/* Groups of two digits, "0c:42:a1:12:34:56", or of four, as InfiniBand's "0c42:a103:0012:3456". */
static size_t groups_length(const char *at, const char *end)
{
	size_t width = count_digits(at, end), len = width, count = 1;
	char between = at + len < end ? at[len] : ' ';

	if ((width != 2 && width != 4) || (between != ':' && between != '-'))
		return 0;
	for (; at + len < end && at[len] == between; count++) {
		if (count_digits(at + len + 1, end) != width)
			break;
		len += 1 + width;
	}
	return count >= (width == 2 ? 6 : 4) ? len : 0;
}

/* A UUID: Hyper-V makes those of network interfaces from their addresses. */
static size_t uuid_length(const char *at, const char *end)
{
	static const size_t widths[] = {8, 4, 4, 4, 12};
	size_t len = 0;

	for (size_t i = 0; i < sizeof(widths) / sizeof(*widths); i++) {
		if (i && (at + len >= end || at[len++] != '-'))
			return 0;
		if (count_digits(at + len, end) != widths[i])
			return 0;
		len += widths[i];
	}
	return len;
}

/* The number of an address, from 1 on in the order of appearance. */
static size_t number_of(struct unc_hidden *h, const char *digits)
{
	for (size_t i = 0; i < h->seen.count; i++)
		if (strcmp(h->seen.items[i], digits) == 0)
			return i + 1;
	if (unc_names_add(&h->seen, digits) < 0)
		h->failed = true;
	return h->seen.count;
}

/* Replaces the digits of an address. Those of a number, as in the snapshot of a snapshot, stay. */
static void replace(struct unc_hidden *h, char *at, size_t len)
{
	struct unc_text digits = {0};
	size_t number;

	for (size_t i = 0; i < len; i++)
		if (unc_digit_value(at[i]) >= 0)
			unc_text_add(&digits, "%c", unc_lower(at[i]));
	h->failed |= digits.failed;
	if (!digits.failed && strspn(digits.data, "0") + NUMBER < digits.len) {
		number = number_of(h, digits.data);
		for (size_t i = len; i-- > 0;)
			if (unc_digit_value(at[i]) >= 0) {
				at[i] = "0123456789abcdef"[number % 16];
				number /= 16;
			}
	}
	unc_text_finish(&digits);
}

void unc_hide(struct unc_hidden *h, char *text, size_t len)
{
	char *end = text + len;

	for (char *at = text; at < end; at++) {
		size_t n = name_length(text, at, end);

		n = n ? n : groups_length(at, end);
		n = n ? n : uuid_length(at, end);
		if (n)
			replace(h, at, n);
		n = n ? n : count_digits(at, end);
		at += n;
	}
}

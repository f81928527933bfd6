/* SPDX-License-Identifier: MIT */
/* Text: the sentence of an error, growing buffers and arrays, numbers without the locale, names,
 * lists of CPUs, terms. Included by all other headers of the library, also for the headers of the C
 * library below. */
#ifndef UNC_TEXT_H
#define UNC_TEXT_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the sentence that goes with a negative errno ---- */

struct unc_error {
	char text[2048];
	int exhausted; /* ENOMEM after unc_nomem(): what was found since then may be incomplete */
};

/* Writes the sentence and is -err. `e` may be NULL. Usage: return unc_fail(e, EINVAL, "..."). That
 * it is not 0 can be seen here, by a reader and by a static analyzer. */
#define unc_fail(e, err, ...) unc_negative((unc_error_put((e), false, __VA_ARGS__), (err)))
/* Appends to the sentence that is there (for hints and context). */
#define unc_error_append(e, ...) unc_error_put((e), true, __VA_ARGS__)

/* Truncates, never overflows. */
void unc_error_put(struct unc_error *e, bool append, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

static inline int unc_negative(int err)
{
	return -err;
}

/* The usual sentence for -ENOMEM. */
static inline int unc_nomem(struct unc_error *e)
{
	if (e)
		e->exhausted = ENOMEM;
	return unc_fail(e, ENOMEM, "out of memory");
}

/* "No such file or directory" for ENOENT or -ENOENT, in no locale; never NULL. */
const char *unc_errno_text(int err);
/* "EINVAL" for EINVAL or -EINVAL; "an unknown error". */
const char *unc_errno_name(int err);
/* -EINVAL for "EINVAL"; 0 for no such name. */
int unc_errno_number(const char *name);

/* ---- text ---- */

/* White space in the C locale. */
#define UNC_SPACES " \t\n\v\f\r"

/* Classes of characters. Those of <ctype.h> depend on the locale. */
bool unc_is_digit(char c);
char unc_lower(char c);
/* The value of a hexadecimal digit; -1: another character. */
int unc_digit_value(char c);

/* A growing string. All-zero is an empty one. After a failed allocation `failed` stays set and
 * further appends do nothing, so that only the end needs a check. */
struct unc_text {
	char *data; /* NUL-terminated, or NULL while empty */
	size_t len, room;
	bool failed;
};

void unc_text_add(struct unc_text *t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* The string, owned by the caller now ("" rather than NULL when empty); NULL when out of memory. */
char *unc_text_take(struct unc_text *t);
void unc_text_finish(struct unc_text *t);

/* Adds an entry of `size` bytes, all zero, to an array that begins as NULL and grows by nothing
 * else. `array` is the address of the pointer to its entries, which may move. The new entry; NULL:
 * out of memory. */
void *unc_append(void *array, size_t *count, size_t size);

/* How many entries of an array are not above the key. Each has `size` bytes and begins with a
 * uint64_t, by which they ascend. */
size_t unc_count_up_to(const void *items, size_t count, size_t size, uint64_t key);

/* A hash of the bytes: FNV-1a. Its value never changes, since recordings have it. */
static inline uint64_t unc_hash(const void *bytes, size_t size)
{
	const unsigned char *at = (const unsigned char *)bytes;
	uint64_t h = UINT64_C(0xcbf29ce484222325);

	for (size_t i = 0; i < size; i++)
		h = (h ^ at[i]) * UINT64_C(0x100000001b3);
	return h;
}

/* Adds a copy of an entry to such an array. -ENOMEM. */
#define UNC_ADD(array, count, entry) unc_add(array, count, entry, sizeof(*(entry)))
int unc_add(void *array, size_t *count, const void *entry, size_t size);

/* Reads to the end of the file, but no more than `max` bytes; a NUL follows. -ENOMEM, and errors of
 * read(2). */
int unc_read_fd(int fd, size_t max, char **out, size_t *len);

/* A list of strings, each owned. All-zero is empty. */
struct unc_names {
	char **items;
	size_t count;
};

int unc_names_add(struct unc_names *n, const char *name); /* copies; -ENOMEM */
/* Takes over `name`, also on failure, and returns it. NULL: out of memory, or `name` is NULL. */
const char *unc_names_take(struct unc_names *n, char *name);
bool unc_names_has(const struct unc_names *n, const char *name);
void unc_names_sort(struct unc_names *n); /* by strverscmp: imc_2 before imc_10 */
void unc_names_finish(struct unc_names *n);

/* Whole string, decimal or 0x-hexadecimal, no sign, no spaces. -EINVAL, -ERANGE. */
int unc_parse_u64(const char *text, uint64_t *out);
/* Takes digits of base 10 or 16, at most `most` of them, from the text; how many. */
size_t unc_take_digits(const char **text, unsigned base, size_t most, uint64_t *out);
/* Takes a PCI function, "0000:03:00.0" or with another character instead of the colons, as the
 * number that {sbdf} has: domain << 16 | bus << 8 | device << 3 | function. */
bool unc_take_function(const char **text, char between, uint64_t *out);
/* The number behind the prefix of a name: 12 in "cpu12"; -1: another name, or more than `most`. */
int unc_number_after(const char *name, const char *prefix, int most);
/* For qsort(): ascending. */
int unc_compare_ints(const void *a, const void *b);
/* Whole string as a finite C-locale number. -EINVAL, -ERANGE. */
int unc_parse_double(const char *text, double *out);
/* The unsigned number at the start of `text`; *end is what follows it, which may not be a letter, a
 * digit, '_' or '.'. Neither hexadecimal nor inf nor nan. -EINVAL, -ERANGE. */
int unc_scan_double(const char *text, const char **end, double *out);

/* True when a pattern such as "nvidia_pcie_pmu_{socket}_rc_{rc}" describes the name. *value is then
 * the number that stands for {word}, and as it was without such a word. {sbdf} is a PCI address as
 * the kernel writes it into names: hexadecimal, without zeros; {pci} is one with underscores,
 * "0000_03_00.0", and has the same number. */
bool unc_pattern_value(const char *pattern, const char *name, const char *word, uint64_t *value);
#define unc_pattern_matches(pattern, name) unc_pattern_value(pattern, name, NULL, NULL)

/* '*', '?', "[a-z]", "[!a]" and a backslash before any of them, on the whole name, byte by byte. */
bool unc_glob_matches(const char *pattern, const char *name);
/* Whether one of these, separated by blanks, matches the name. `globs` may be NULL. */
bool unc_globs_match(const char *globs, const char *name);

/* Appends the names nearest to `typed`: " (did you mean imc_0, imc_1 or imc_2?)" (at most 3, only
 * near ones). False, and nothing appended, when none is near. `names` is the first of `count`
 * pointers to text, each `stride` bytes behind the one before. */
bool unc_error_suggest(struct unc_error *e, const char *typed, const void *names, size_t stride,
		       size_t count);

/* The value of the first line "key : value" or "key=value", and its length up to the end of the
 * line; NULL: there is no such line. */
const char *unc_find_value(const char *text, const char *key, size_t *len);

/* Whether the first line of the text has the word between blanks. */
bool unc_has_word(const char *text, const char *word);
/* One of the words in a list. */
bool unc_has_one_of(const char *text, const char *words);

/* Removes white space at both ends, in place; returns its argument's first kept character. */
char *unc_trim(char *text);

/* ---- format.c: lists of CPUs, `format/`, values into bits, aliases. Pure; fuzzed ---- */

/* The kernel's lists of numbers: "0-3,8". */
struct unc_cpulist {
	int *ids; /* ascending, no duplicates */
	size_t count;
};

/* An empty text is an empty list. -EINVAL: anything else than a list, ids over 65535; -ENOMEM. */
int unc_cpulist_parse(const char *text, struct unc_cpulist *out);
/* The kernel's masks: "00000001,ffffffff" are 0-32. -EINVAL: anything else, ids over 65535;
 * -ENOMEM. */
int unc_cpumap_parse(const char *text, struct unc_cpulist *out);
bool unc_cpulist_has(const struct unc_cpulist *l, int cpu);
void unc_cpulist_finish(struct unc_cpulist *l);

struct unc_config {
	uint64_t word[4];
};

/* "8", "24-31", "0-7,21"; with `reversed` also "7-0". -EINVAL. */
int unc_bits_parse(const char *text, bool reversed, uint64_t *bits);

/* "config1:0-7,21" -> word 1 and its bits. "config1" alone is the whole word. Decimal bit numbers
 * 0..63, ranges ascending or reversed; overlap is allowed. -EINVAL. */
int unc_format_parse(const char *text, int *word, uint64_t *bits);

/* Puts `value` into the bits, lowest listed bit first, as perf does; replaces what those bits held.
 * -ERANGE (nothing written) when it is wider than the field. */
int unc_format_put(uint64_t bits, uint64_t value, uint64_t *word);

/* One "name", "name=value" or "name=?" of a term list. */
struct unc_assignment {
	char name[64];
	char value[128]; /* "" when there was no '=' */
	bool has_value;
};

/* Takes the next assignment from a comma-separated list and moves *text past it and its comma. 1:
 * one was taken, 0: end of list, -EINVAL: not an assignment (empty name or value, name or value too
 * long, nothing after a comma, ...). White space around names and values is ignored. A value may
 * be between single quotation marks, and then contain anything else. */
int unc_assignment_next(const char **text, struct unc_assignment *out);

#endif

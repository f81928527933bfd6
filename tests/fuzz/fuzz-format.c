/* SPDX-License-Identifier: MIT */
/* The texts of a PMU, one per line of the input: the format of its term "x", its event "it", the
 * terms of a user, a PMU's name, a name that may mean it. */
#include "machine/pmu.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds)
{
	if (!holds)
		abort();
}

static void check_format(const char *text, struct uncore_term *term)
{
	uint64_t word = 0, all;
	int width;

	term->format = text;
	if (unc_format_parse(text, &term->word, &term->bits) < 0) {
		term->word = -1;
		return;
	}
	require(term->word >= 0 && term->word <= 3 && term->bits);
	width = __builtin_popcountll(term->bits);
	all = UINT64_MAX >> (64 - width);
	require(unc_format_put(term->bits, all, &word) == 0 && word == term->bits);
	require(unc_format_put(term->bits, 1, &word) == 0);
	require(word == (term->bits & -term->bits));
	require(width == 64 || unc_format_put(term->bits, all + 1, &word) == -ERANGE);
	require(unc_format_put(term->bits, 0, &word) == 0 && word == 0);
}

static void check_assignments(const char *text)
{
	const char *at = text, *before = text;
	struct unc_assignment a;
	int r;

	while ((r = unc_assignment_next(&at, &a)) == 1) {
		require(at > before && a.name[0]);
		require(a.has_value == (a.value[0] != '\0'));
		before = at;
	}
	require(r == 0 || (r == -EINVAL && at == before));
}

static void check_encoding(struct uncore_term *x, const char *alias_terms, const char *user)
{
	struct uncore_term terms[] = {
		{"both", "config:40", 0, 1ULL << 40, NULL},
		{"event", "config:0-7,32-37", 0, 0x3f000000ff, NULL},
		{"filter", "config1", 1, UINT64_MAX, NULL},
		*x,
	};
	struct uncore_alias aliases[] = {
		{"both", "event=1", NULL, 1, false, false, NULL, NULL, NULL},
		{"it", alias_terms, "MiB", 0.5, false, false, NULL, NULL, NULL},
		{"read", "event=4", NULL, 1, false, false, NULL, NULL, NULL},
	};
	struct uncore_pmu pmu = {
		.name = (char[]){"fuzz_0"},
		.loaded = true,
		.terms = terms,
		.term_count = 4,
		.aliases = aliases,
		.alias_count = 3,
	};
	struct unc_encoding enc = {.cpu = 77}, again = {.cpu = 77};
	struct unc_error e = {0};
	int err = unc_pmu_encode(&pmu, user, &enc, &e);

	require(err == unc_pmu_encode(&pmu, user, &again, NULL));
	if (err) {
		require((err == -EINVAL || err == -EBADMSG) && strstr(e.text, "fuzz_0"));
		require(enc.cpu == 77 && again.cpu == 77);
		return;
	}
	require(memcmp(&enc.config, &again.config, sizeof(enc.config)) == 0);
	require(enc.alias == again.alias && strcmp(enc.name, again.name) == 0);
	require(enc.cpu >= -1 && enc.cpu <= 65535);
}

static void check_names(const char *name, const char *pattern)
{
	bool matches = unc_pmu_name_matches(name, pattern);

	require(unc_pmu_name_matches(name, name));
	require(unc_pmu_name_matches(name, "*"));
	/* fnmatch() must agree where it has no extras, and is not for ever at it. */
	if (strncmp(name, "uncore_", 7) != 0 && !strpbrk(pattern, "[\\") &&
	    strpbrk(pattern, "*?") && strlen(pattern) < 12)
		require(matches == (fnmatch(pattern, name, 0) == 0 || strcmp(name, pattern) == 0));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1), *lines[5], *rest = text;
	struct uncore_term x = {.name = "x"};

	require(text != NULL);
	memcpy(text, data, size);
	text[size] = '\0';
	for (int i = 0; i < 5; i++) {
		lines[i] = rest;
		rest += strcspn(rest, "\n");
		if (*rest)
			*rest++ = '\0';
	}
	check_format(lines[0], &x);
	check_assignments(lines[1]);
	check_assignments(lines[2]);
	check_encoding(&x, lines[1], lines[2]);
	check_names(lines[3], lines[4]);
	free(text);
	return 0;
}

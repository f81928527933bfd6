/* SPDX-License-Identifier: MIT */
/* Formulas: what parses evaluates to a finite number or to none; what does not has a place. */
#include "base/formula.h"
#include "base/text.h"

#include <errno.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds)
{
	if (!holds)
		abort();
}

/* Inputs of all kinds, different for each name and round. */
static struct unc_formula_input input_at(size_t i)
{
	static const double values[] = {0, 1, -1, 3.5, 1e300, 1e-300, INFINITY, NAN, -0.0, 64};
	const size_t count = sizeof(values) / sizeof(*values);

	return (struct unc_formula_input){
		.value = values[i % count],
		.sources = values[(i / 3) % count],
		.known = i % 7 != 3,
	};
}

static void check_value(const struct unc_formula *f)
{
	static const double seconds[] = {1, 0, -2, NAN, INFINITY};
	size_t count = f->names.count;
	struct unc_formula_input *in = calloc(count + 1, sizeof(*in));

	require(in != NULL);
	for (size_t round = 0; round < 10; round++) {
		double value = -7, again = -7;
		bool any;

		for (size_t i = 0; i < count; i++)
			in[i] = input_at(i * 3 + round);
		any = unc_formula_eval(f, in, seconds[round % 5], &value, NULL);
		require(isfinite(value));
		require(any || value == -7.0);
		require(any == unc_formula_eval(f, in, seconds[round % 5], &again, NULL));
		require(!any || value == again);
	}
	free(in);
}

static void check_names(const struct unc_formula *f)
{
	for (size_t i = 0; i < f->names.count; i++) {
		const char *name = f->names.items[i];

		require((name[0] >= 'a' && name[0] <= 'z') || name[0] == '_');
		require(strspn(name, "abcdefghijklmnopqrstuvwxyz_0123456789.") == strlen(name));
		for (size_t j = 0; j < i; j++)
			require(strcmp(name, f->names.items[j]) != 0);
	}
}

/* The same in parentheses is the same formula, unless it is then too deep or too long. */
static void check_in_parentheses(const struct unc_formula *f, const char *text)
{
	struct unc_formula *again = NULL;
	struct unc_error e = {0};
	struct unc_text t = {0};
	char *copy;

	unc_text_add(&t, "(%s)", text);
	copy = unc_text_take(&t);
	require(copy != NULL);
	if (unc_formula_parse(&again, copy, NULL, &e) == 0) {
		require(again->names.count == f->names.count);
		require(again->ratio == f->ratio);
		unc_formula_free(again);
	} else {
		require(strstr(e.text, "too deeply") || strstr(e.text, "longer than"));
	}
	free(copy);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1);
	struct unc_formula *f = NULL;
	struct unc_error e = {0};
	size_t pos = SIZE_MAX;
	int err;

	require(text != NULL);
	memcpy(text, data, size);
	text[size] = '\0';
	err = unc_formula_parse(&f, text, &pos, &e);
	if (err) {
		require(err == -EINVAL && !f && e.text[0]);
		require(pos <= strlen(text));
	} else {
		require(pos == SIZE_MAX);
		check_names(f);
		check_value(f);
		check_in_parentheses(f, text);
		unc_formula_free(f);
	}
	free(text);
	return 0;
}

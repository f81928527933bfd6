/* SPDX-License-Identifier: MIT */
/* Evaluates formulas for check-formula.py. Each line of the input is
 * "expression;name=value:sources,...;seconds", where a value "none" is not known. Each line of the
 * output is "value ratio name,..." with "none" for no value and 1 for a ratio, or "error POSITION". */
#include "base/formula.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_NAMES 64

/* The input of one name, from "a=1:8,b=none:2". */
static struct unc_formula_input find_input(const char *list, const char *name)
{
	struct unc_formula_input in = {0};
	size_t len = strlen(name);
	char *end;

	while (strncmp(list, name, len) != 0 || list[len] != '=') {
		list = strchr(list, ',');
		if (!list) {
			fprintf(stderr, "no input for '%s'\n", name);
			exit(EXIT_FAILURE);
		}
		list++;
	}
	list += len + 1;
	in.known = strncmp(list, "none", 4) != 0;
	in.value = in.known ? strtod(list, &end) : 0;
	in.sources = strtod(strchr(list, ':') + 1, &end);
	return in;
}

static void print_result(const struct unc_formula *f, const char *inputs, double seconds)
{
	struct unc_formula_input in[MAX_NAMES];
	size_t count = f->names.count;
	double value;

	for (size_t i = 0; i < count && i < MAX_NAMES; i++)
		in[i] = find_input(inputs, f->names.items[i]);
	if (count <= MAX_NAMES && unc_formula_eval(f, in, seconds, &value, NULL))
		printf("%.17g", value);
	else
		printf("none");
	printf(" %d ", f->ratio);
	for (size_t i = 0; i < count; i++)
		printf("%s%s", i ? "," : "", f->names.items[i]);
	printf("\n");
}

int main(void)
{
	char *line = NULL, *inputs, *seconds;
	size_t room = 0;

	while (getline(&line, &room, stdin) > 0) {
		struct unc_formula *f = NULL;
		size_t pos = 0;

		inputs = strchr(line, ';');
		seconds = inputs ? strchr(inputs + 1, ';') : NULL;
		if (!seconds) {
			fprintf(stderr, "not understood: %s", line);
			return EXIT_FAILURE;
		}
		*inputs++ = '\0';
		*seconds++ = '\0';
		if (unc_formula_parse(&f, line, &pos, NULL))
			printf("error %zu\n", pos);
		else
			print_result(f, inputs, strtod(seconds, NULL));
		unc_formula_free(f);
	}
	free(line);
	return EXIT_SUCCESS;
}

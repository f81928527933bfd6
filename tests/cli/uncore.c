/* SPDX-License-Identifier: MIT */
/* The command as the suites call it. Most command lines run without sanitizers, which take four times as long. A sample of them
 * runs with sanitizers, one of UNCORE_SANITIZE, as do all command lines of a suite with UNCORE_AT_ONCE. The sample of one
 * of 16 is a part of that of one of 8.
 * In calls of `expect` simulations with a step do not wait: skip-waits.c.
 *
 *   UNCORE_PLAIN, UNCORE_BUILT   the command without sanitizers, and with them
 *   UNCORE_SANITIZE              a number, or all
 *   UNCORE_SKIP_WAITS            in calls that may skip waits, the library that does it */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SAMPLE 16 /* one of so many, without UNCORE_SANITIZE */

static const char *variable(const char *name)
{
	const char *value = getenv(name);

	return value ? value : "";
}

/* FNV-1a. */
static uint32_t hash(uint32_t sum, const char *word)
{
	for (; *word; word++)
		sum = (sum ^ (unsigned char)*word) * 16777619;
	return sum;
}

/* The same in each run: paths, which differ from run to run, do not count. */
static bool is_in_sample(char **argv)
{
	uint32_t sum = hash(2166136261, variable("BATS_TEST_NAME"));
	long of = strtol(variable("UNCORE_SANITIZE"), NULL, 10);

	for (char **arg = argv + 1; *arg; arg++)
		if (!strchr(*arg, '/'))
			sum = hash(sum, *arg);
	return (sum >> 16) % (of > 0 ? of : SAMPLE) == 0;
}

static bool has_step(char **argv)
{
	for (char **arg = argv + 1; *arg; arg++)
		if (strncmp(*arg, "sim:", strlen("sim:")) == 0 && strstr(*arg, ",step="))
			return true;
	return false;
}

static void skip_waits(void)
{
	char options[512];

	snprintf(options, sizeof(options), "%s:verify_asan_link_order=0", variable("ASAN_OPTIONS"));
	setenv("ASAN_OPTIONS", options, 1);
	setenv("LD_PRELOAD", variable("UNCORE_SKIP_WAITS"), 1);
}

int main(int argc, char **argv)
{
	bool all = strcmp(variable("UNCORE_SANITIZE"), "all") == 0;

	(void)argc;
	argv[0] = getenv(all || *variable("UNCORE_AT_ONCE") || is_in_sample(argv) ? "UNCORE_BUILT"
										  : "UNCORE_PLAIN");
	if (!argv[0])
		return EXIT_FAILURE;
	if (*variable("UNCORE_SKIP_WAITS") && !*variable("LD_PRELOAD") && has_step(argv))
		skip_waits();
	execv(argv[0], argv);
	perror(argv[0]);
	return 127;
}

/* SPDX-License-Identifier: MIT */
/* The command as the suites call it: built without sanitizers, which take several times as long. Each command line is
 * noted for `sanitized`, which runs it once more with sanitizers. A command line that cannot be run again later runs
 * with sanitizers here: one in or with a temporary directory, and all of a suite with UNCORE_AT_ONCE. Those in
 * sanitized-covered.txt reach no branch that the others do not, and run without, except with UNCORE_SANITIZE=all.
 *
 *   UNCORE_PLAIN, UNCORE_BUILT   the command without sanitizers, and with them
 *   UNCORE_RECORD                where command lines are noted: number of arguments, directory,
 *                                arguments, each ending in a NUL
 *   UNCORE_CASE                  tells runs of a command line with different files apart
 *   UNCORE_COVERAGE              of tools/sanitized-lines: what runs at once is UNCORE_COVERAGE/uncore, and
 *                                UNCORE_COVERAGE/lines/KEY gets its branches */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Directories that have another name in each run, or on each machine; the inner ones first. */
static const char *const directories[] = {
	"BATS_TEST_TMPDIR",  "BATS_FILE_TMPDIR",   "BATS_RUN_TMPDIR",
	"UNCORE_BUILD_ROOT", "UNCORE_SOURCE_ROOT",
};

static const char *variable(const char *name)
{
	const char *value = getenv(name);

	return value ? value : "";
}

/* FNV-1a of a word, with numbers in place of the directories. */
static uint32_t hash(uint32_t sum, const char *word)
{
	for (const char *c = word; *c;) {
		unsigned byte = (unsigned char)*c;
		size_t len = 1;

		for (unsigned i = 0; *c == '/' && i < sizeof(directories) / sizeof(*directories);
		     i++) {
			const char *directory = variable(directories[i]);

			if (*directory && strncmp(c, directory, strlen(directory)) == 0) {
				byte = 256 + i;
				len = strlen(directory);
				break;
			}
		}
		sum = (sum ^ byte) * 16777619;
		c += len;
	}
	return sum * 16777619; /* the NUL at its end */
}

/* Of a command line in sanitized-covered.txt. The same one has other files in another test. */
static void make_key(char key[9], const char *where, char **argv)
{
	uint32_t sum = hash(2166136261, variable("BATS_TEST_FILENAME"));

	sum = hash(sum, variable("BATS_TEST_NAME"));
	sum = hash(sum, variable("UNCORE_CASE"));
	sum = hash(sum, where);
	for (char **arg = argv + 1; *arg; arg++)
		sum = hash(sum, *arg);
	snprintf(key, 9, "%08x", sum);
}

static bool is_covered(const char *key)
{
	char path[4096], line[256];
	bool found = false;
	FILE *f;

	snprintf(path, sizeof(path), "%s/tests/cli/sanitized-covered.txt",
		 variable("UNCORE_SOURCE_ROOT"));
	f = fopen(path, "re");
	while (f && !found && fgets(line, sizeof(line), f))
		found = *line != '#' && strstr(line, key);
	if (f)
		fclose(f);
	return found;
}

static bool runs_at_once(const char *where, char **argv)
{
	const char *temporary = variable("BATS_RUN_TMPDIR");
	bool names = *variable("UNCORE_AT_ONCE") || (*temporary && strstr(where, temporary));

	for (char **arg = argv + 1; *arg; arg++)
		names |= *temporary && strstr(*arg, temporary);
	return names;
}

static void note(const char *where, int argc, char **argv)
{
	FILE *f = fopen(variable("UNCORE_RECORD"), "ae");

	if (!f) {
		perror(variable("UNCORE_RECORD"));
		exit(EXIT_FAILURE);
	}
	fprintf(f, "%d%c%s%c", argc - 1, 0, where, 0);
	for (char **arg = argv + 1; *arg; arg++)
		fprintf(f, "%s%c", *arg, 0);
	fclose(f);
}

/* The command that counts branches. Its start is the time of an empty file, and what it says of its files is in
 * another. */
static char *measured(const char *directory, const char *key)
{
	char path[4096], options[16384];
	static char command[4096];
	FILE *f;

	snprintf(path, sizeof(path), "%s/lines/%s", directory, key);
	mkdir(path, 0777);
	chmod(path, 0777); /* servers become somebody else */
	snprintf(options, sizeof(options),
		 "%s:detect_leaks=0:log_path=%s/log:coverage=1:coverage_dir=%s",
		 variable("ASAN_OPTIONS"), path, path);
	setenv("ASAN_OPTIONS", options, 1);
	snprintf(path + strlen(path), sizeof(path) - strlen(path), "/start.%d", (int)getpid());
	f = fopen(path, "we");
	if (f)
		fclose(f);
	snprintf(command, sizeof(command), "%s/uncore", directory);
	return command;
}

int main(int argc, char **argv)
{
	char *command = getenv("UNCORE_PLAIN"), *where = get_current_dir_name(), key[9];

	if (!where)
		return EXIT_FAILURE;
	if (runs_at_once(where, argv)) {
		make_key(key, where, argv);
		if (*variable("UNCORE_COVERAGE"))
			command = measured(variable("UNCORE_COVERAGE"), key);
		else if (strcmp(variable("UNCORE_SANITIZE"), "all") == 0 || !is_covered(key))
			command = getenv("UNCORE_BUILT");
	} else {
		note(where, argc, argv);
	}
	free(where);
	if (!command)
		return EXIT_FAILURE;
	argv[0] = command;
	execv(command, argv);
	perror(command);
	return 127;
}

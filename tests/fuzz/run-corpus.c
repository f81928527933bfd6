/* SPDX-License-Identifier: MIT */
/* Runs a fuzz target once over each file of a directory, or each line of a file: what libFuzzer's main does for
 * `target FILE...`, for builds without it. In lines there are \n, \t, \\ and \xNN; a line that begins with # is a
 * comment. */
#include <dirent.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The buffer is exactly as large as the file, so that a read past its end is found. */
static bool run_file(const char *path)
{
	FILE *f = fopen(path, "rb");
	uint8_t *data = NULL;
	long size = -1;
	bool ok = false;

	if (f && fseek(f, 0, SEEK_END) == 0)
		size = ftell(f);
	if (size >= 0 && fseek(f, 0, SEEK_SET) == 0)
		data = malloc((size_t)size);
	if (size == 0 || (data && fread(data, (size_t)size, 1, f) == 1)) {
		LLVMFuzzerTestOneInput(data, (size_t)size);
		ok = true;
	} else {
		perror(path);
	}
	free(data);
	if (f)
		fclose(f);
	return ok;
}

/* The bytes that a line stands for, in its place: their number, -1 when it is not written as it should. */
static ssize_t decode(char *line)
{
	static const char names[] = "nt\\", bytes[] = "\n\t\\";
	char *to = line;

	for (const char *from = line; *from; to++) {
		const char *name;
		unsigned byte;

		if (*from != '\\') {
			*to = *from++;
		} else if (from[1] && (name = strchr(names, from[1]))) {
			*to = bytes[name - names];
			from += 2;
		} else if (from[1] == 'x' && strspn(from + 2, "0123456789abcdef") >= 2 &&
			   sscanf(from + 2, "%2x", &byte) == 1) {
			*to = (char)byte;
			from += 4;
		} else {
			return -1;
		}
	}
	return to - line;
}

static bool run_lines(FILE *f, size_t *count)
{
	char *line = NULL;
	size_t room = 0;
	bool ok = true;

	while (ok && getline(&line, &room, f) > 0) {
		uint8_t *data;
		ssize_t len;

		if (*line == '#')
			continue;
		line[strcspn(line, "\n")] = '\0';
		len = decode(line);
		data = len < 0 ? NULL : malloc((size_t)len + !len);
		ok = data;
		if (!ok)
			fprintf(stderr, "not an input: %s\n", line);
		else
			LLVMFuzzerTestOneInput(memcpy(data, line, (size_t)len), (size_t)len);
		free(data);
		++*count;
	}
	free(line);
	fclose(f);
	return ok;
}

static bool run_directory(const char *dir, size_t *count)
{
	DIR *d = opendir(dir);
	FILE *lines = d ? NULL : fopen(dir, "rb");
	struct dirent *entry;
	bool ok = true;

	if (lines)
		return run_lines(lines, count);

	if (!d) {
		perror(dir);
		return false;
	}
	while ((entry = readdir(d))) {
		char path[4096];

		if (entry->d_name[0] == '.')
			continue;
		snprintf(path, sizeof(path), "%s/%s", dir, entry->d_name);
		ok &= run_file(path);
		++*count;
	}
	closedir(d);
	return ok;
}

int main(int argc, char **argv)
{
	size_t count = 0;
	bool ok = argc > 1;

	for (int i = 1; i < argc; i++)
		ok &= run_directory(argv[i], &count);
	printf("%zu inputs\n", count);
	return ok && count > 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

/* SPDX-License-Identifier: MIT */
/* --perfmon: the vendors' own JSON of events, Intel's perfmon repository or Linux's pmu-events, in
 * the text form that the library takes (tools/make-names). */
#include <dirent.h>
#include <errno.h>
#include <jansson.h>
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/cli.h"

#define LONGEST_PATH 4096
#define LONGEST_TITLE 300
#define LONGEST_PATTERN 200
#define LARGEST_FILE ((size_t)64 << 20)

/* "GenuineIntel-6-55-[01234]"; without a stepping it is for all. 1: it fits, 0; -EINVAL: no such
 * pattern. Compiling nests as the parentheses do, and multiplies by repetitions, which no mapfile
 * has. */
static int fits(const char *pattern, const char *cpu)
{
	regmatch_t match;
	regex_t regex;
	bool found;

	if (strlen(pattern) > LONGEST_PATTERN || strchr(pattern, '{') ||
	    regcomp(&regex, pattern, REG_EXTENDED))
		return -EINVAL;
	found = regexec(&regex, cpu, 1, &match, 0) == 0 && match.rm_so == 0 &&
		(!cpu[match.rm_eo] || cpu[match.rm_eo] == '-');
	regfree(&regex);
	return found;
}

/* A number of the JSON, which are texts: "0x01", "0,1" (the first), "na" (0). */
static unsigned long long number(const json_t *event, const char *key)
{
	const char *text = json_string_value(json_object_get(event, key));

	return text ? strtoull(text, NULL, 0) : 0;
}

static void put_unit(const char *unit, struct buffer *to)
{
	static const char *const names[][2] = {
		{"CBO", "uncore_cbox"},   {"SBO", "uncore_sbox"}, {"QPI LL", "uncore_qpi"},
		{"UPI LL", "uncore_upi"}, {"L3PMC", "amd_l3"},    {"DFPMC", "amd_df"},
		{"UMCPMC", "amd_umc"},
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (strcasecmp(names[i][0], unit) == 0) {
			buffer_printf(to, "pmu %s user\n", names[i][1]);
			return;
		}
	buffer_puts(to, "pmu uncore_");
	for (; *unit; unit++)
		buffer_printf(to, "%c",
			      *unit >= 'A' && *unit <= 'Z' ? *unit - 'A' + 'a'
			      : *unit == ' '               ? '_'
							   : *unit);
	buffer_puts(to, " user\n");
}

static void put_event(const json_t *event, struct buffer *to)
{
	static const char *const masks[][2] = {
		{"PortMask", "ch_mask"},        {"FCMask", "fc_mask"},
		{"RdWrMask", "rdwrmask"},       {"SliceId", "sliceid"},
		{"EnAllSlices", "enallslices"}, {"EnAllCores", "enallcores"},
		{"ThreadMask", "threadmask"},
	};
	const char *name = json_string_value(json_object_get(event, "EventName"));
	const char *unit = json_string_value(json_object_get(event, "Unit"));
	const char *kind = json_string_value(json_object_get(event, "CounterType"));
	const char *filter = json_string_value(json_object_get(event, "Filter"));
	const char *title = json_string_value(json_object_get(event, "BriefDescription"));
	unsigned long long umask = number(event, "UMask");
	const char *comma = "";

	/* Free-running counters are events of the driver's. */
	if (!name || !unit || strpbrk(name, " \t\n") || strncmp(unit, "cpu", 3) == 0 ||
	    (kind && strcmp(kind, "FREERUN") == 0))
		return;
	if (umask <= 0xff)
		umask |= number(event, "UMaskExt") << 8;
	put_unit(unit, to);
	buffer_printf(to, "%s %llx\n= %llx ", name,
		      number(event, "EventCode") | number(event, "ExtSel") << 8, umask);
	for (size_t i = 0; i < sizeof(masks) / sizeof(*masks); i++) {
		unsigned long long mask = number(event, masks[i][0]);

		if (mask)
			buffer_printf(to, "%s%s=0x%llx", comma, masks[i][1], mask);
		comma = mask ? "," : comma;
	}
	if (filter && strchr(filter, '=') && !strpbrk(filter, " ["))
		buffer_printf(to, "%s%s", comma, filter);
	buffer_puts(to, "\t");
	for (size_t i = 0; title && title[i] && i < LONGEST_TITLE; i++)
		buffer_add(to, title[i] == '\n' ? " " : &title[i], 1);
	buffer_puts(to, "\n");
}

/* Intel's files have the events below "Events", Linux's are a list of them. */
static int add_file(const char *path, struct buffer *to)
{
	auto_buffer text = {0};
	const char *refused = buffer_read_file(&text, path, LARGEST_FILE);
	json_error_t error;
	json_t *file;
	const json_t *events;

	if (refused)
		return cli_failure(CLI_RUNTIME, "%s: %s", path, refused);
	file = json_loadb(buffer_text(&text), text.len, 0, &error);
	if (!file)
		return cli_failure(CLI_RUNTIME, "%s:%d:%d: %s", path, error.line, error.column,
				   error.text);
	events = json_is_array(file) ? file : json_object_get(file, "Events");
	for (size_t i = 0; i < json_array_size(events); i++)
		put_event(json_array_get(events, i), to);
	json_decref(file);
	return CLI_OK;
}

/* All files of a directory whose names end so. */
static int add_directory(const char *directory, struct buffer *to)
{
	DIR *dir = opendir(directory);
	const struct dirent *entry;
	char path[LONGEST_PATH];
	int status = CLI_OK;

	if (!dir)
		return cli_failure(CLI_RUNTIME, "--perfmon: %s: %s", directory, strerror(errno));
	while (!status && (entry = readdir(dir))) {
		const char *end = strrchr(entry->d_name, '.');

		snprintf(path, sizeof(path), "%s/%s", directory, entry->d_name);
		if (end && strcmp(end, ".json") == 0)
			status = add_file(path, to);
	}
	closedir(dir);
	return status;
}

/* What mapfile.csv names for this CPU: files of Intel's, a directory of Linux's. */
static int add_mapped(char *map, const char *directory, const char *cpu, struct buffer *to)
{
	char path[LONGEST_PATH] = "", *line;
	int status = CLI_OK;

	for (int number = 1; !status && (line = strsep(&map, "\n")); number++) {
		char *rest = line, *pattern = strsep(&rest, ","), *kind;
		int fit;

		strsep(&rest, ",");
		snprintf(path, sizeof(path), "%s/%s", directory, rest ? strsep(&rest, ",") : "");
		kind = rest ? strsep(&rest, ",\r") : NULL;
		fit = kind ? fits(pattern, cpu) : 0;
		if (fit < 0)
			return cli_failure(CLI_RUNTIME,
					   "%s/mapfile.csv:%d: '%.40s' is no pattern of CPU models",
					   directory, number, pattern);
		if (fit && strncmp(kind, "uncore", 6) == 0)
			status = add_file(path, to);
		else if (fit && strcmp(kind, "core") == 0 && !strstr(path, ".json"))
			break; /* the first that fits */
		*path = '\0';
	}
	return status || !*path ? status : add_directory(path, to);
}

int perfmon_read(const struct uncore *u, const char *directory, struct buffer *to)
{
	const char *model = uncore_cpu_model(u), *family = strchr(model, '/');
	char path[LONGEST_PATH], cpu[64] = "", *end = NULL;
	unsigned long number = family ? strtoul(family + 1, &end, 10) : 0;
	auto_buffer map = {0};
	const char *refused;
	size_t head;
	int status;

	/* "GenuineIntel-6-8F-8", as mapfile.csv has its patterns. */
	if (end && *end == '/')
		snprintf(cpu, sizeof(cpu), "%s-%lu-%lX-%X",
			 strncmp(model, "intel/", 6) == 0 ? "GenuineIntel" : "AuthenticAMD", number,
			 strtoul(end + 1, NULL, 10), (unsigned)uncore_cpu_stepping(u));
	buffer_printf(to, "model user %s\n", model);
	head = to->len;
	snprintf(path, sizeof(path), "%s/mapfile.csv", directory);
	refused = buffer_read_file(&map, path, LARGEST_FILE);
	if (refused && errno == ENOENT)
		status = add_directory(directory, to);
	else if (refused)
		return cli_failure(CLI_RUNTIME, "--perfmon: %s: %s", path, refused);
	else
		status = map.data ? add_mapped(map.data, directory, cpu, to) : CLI_OK;
	if (status || to->len > head)
		return status;
	return cli_failure(CLI_UNAVAILABLE, "--perfmon: %s has no uncore events for this CPU (%s)",
			   directory, *cpu ? cpu : uncore_cpu_model(u));
}

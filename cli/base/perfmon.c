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

static void put_unit(const char *unit, FILE *to)
{
	static const char *const names[][2] = {
		{"CBO", "uncore_cbox"},   {"SBO", "uncore_sbox"}, {"QPI LL", "uncore_qpi"},
		{"UPI LL", "uncore_upi"}, {"L3PMC", "amd_l3"},    {"DFPMC", "amd_df"},
		{"UMCPMC", "amd_umc"},
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (strcasecmp(names[i][0], unit) == 0) {
			fprintf(to, "pmu %s user\n", names[i][1]);
			return;
		}
	fputs("pmu uncore_", to);
	for (; *unit; unit++)
		fprintf(to, "%c",
			*unit >= 'A' && *unit <= 'Z' ? *unit - 'A' + 'a'
			: *unit == ' '               ? '_'
						     : *unit);
	fputs(" user\n", to);
}

static void put_event(const json_t *event, FILE *to)
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
	fprintf(to, "%s %llx\n= %llx ", name,
		number(event, "EventCode") | number(event, "ExtSel") << 8, umask);
	for (size_t i = 0; i < sizeof(masks) / sizeof(*masks); i++) {
		unsigned long long mask = number(event, masks[i][0]);

		if (mask)
			fprintf(to, "%s%s=0x%llx", comma, masks[i][1], mask);
		comma = mask ? "," : comma;
	}
	if (filter && strchr(filter, '=') && !strpbrk(filter, " ["))
		fprintf(to, "%s%s", comma, filter);
	fputs("\t", to);
	for (size_t i = 0; title && title[i] && i < LONGEST_TITLE; i++)
		fprintf(to, "%c", title[i] == '\n' ? ' ' : title[i]);
	fputs("\n", to);
}

/* Intel's files have the events below "Events", Linux's are a list of them. */
static int add_file(const char *path, FILE *to, char *why)
{
	auto_buffer text = {0};
	const char *refused = buffer_read_file(&text, path, LARGEST_FILE);
	json_error_t error;
	json_t *file = refused ? NULL : json_loadb(text.data ? text.data : "", text.len, 0, &error);
	const json_t *events = json_is_array(file) ? file : json_object_get(file, "Events");

	if (refused)
		snprintf(why, PERFMON_WHY, "%s: %s", path, refused);
	else if (!file)
		snprintf(why, PERFMON_WHY, "%s:%d:%d: %s", path, error.line, error.column,
			 error.text);
	for (size_t i = 0; i < json_array_size(events); i++)
		put_event(json_array_get(events, i), to);
	if (!file)
		return CLI_RUNTIME;
	json_decref(file);
	return CLI_OK;
}

/* All files of a directory whose names end so. */
static int add_directory(const char *directory, FILE *to, char *why)
{
	DIR *dir = opendir(directory);
	const struct dirent *entry;
	char path[LONGEST_PATH];
	int status = CLI_OK;

	if (!dir) {
		snprintf(why, PERFMON_WHY, "--perfmon: %s: %s", directory, strerror(errno));
		return CLI_RUNTIME;
	}
	while (!status && (entry = readdir(dir))) {
		const char *end = strrchr(entry->d_name, '.');

		snprintf(path, sizeof(path), "%s/%s", directory, entry->d_name);
		if (end && strcmp(end, ".json") == 0)
			status = add_file(path, to, why);
	}
	closedir(dir);
	return status;
}

/* What mapfile.csv names for this CPU: files of Intel's, a directory of Linux's. */
static int add_mapped(char *map, const char *directory, const char *cpu, FILE *to, char *why)
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
		if (fit < 0) {
			snprintf(why, PERFMON_WHY,
				 "%s/mapfile.csv:%d: '%.40s' is no pattern of CPU models",
				 directory, number, pattern);
			return CLI_RUNTIME;
		}
		if (fit && strncmp(kind, "uncore", 6) == 0)
			status = add_file(path, to, why);
		else if (fit && strcmp(kind, "core") == 0 && !strstr(path, ".json"))
			break; /* the first that fits */
		*path = '\0';
	}
	return status || !*path ? status : add_directory(path, to, why);
}

int perfmon_read(const struct uncore *u, const char *directory, char **text, char *why)
{
	const char *model = uncore_cpu_model(u), *family = strchr(model, '/');
	char path[LONGEST_PATH], cpu[64] = "", *end = NULL;
	unsigned long number = family ? strtoul(family + 1, &end, 10) : 0;
	size_t len = 0, head;
	FILE *to = open_memstream(text, &len);
	auto_buffer map = {0};
	const char *refused;
	int status, failed;

	if (!to) {
		snprintf(why, PERFMON_WHY, "out of memory");
		return CLI_RUNTIME;
	}
	/* "GenuineIntel-6-8F-8", as mapfile.csv has its patterns. */
	if (end && *end == '/')
		snprintf(cpu, sizeof(cpu), "%s-%lu-%lX-%X",
			 strncmp(model, "intel/", 6) == 0 ? "GenuineIntel" : "AuthenticAMD", number,
			 strtoul(end + 1, NULL, 10), (unsigned)uncore_cpu_stepping(u));
	fprintf(to, "model user %s\n", model);
	fflush(to);
	head = len;
	snprintf(path, sizeof(path), "%s/mapfile.csv", directory);
	refused = buffer_read_file(&map, path, LARGEST_FILE);
	if (refused && errno == ENOENT) {
		status = add_directory(directory, to, why);
	} else if (refused) {
		snprintf(why, PERFMON_WHY, "--perfmon: %s: %s", path, refused);
		status = CLI_RUNTIME;
	} else {
		status = map.data ? add_mapped(map.data, directory, cpu, to, why) : CLI_OK;
	}
	failed = ferror(to);
	if (fclose(to) || failed) {
		snprintf(why, PERFMON_WHY, "out of memory");
		return CLI_RUNTIME;
	}
	if (!status && len == head) {
		snprintf(why, PERFMON_WHY, "--perfmon: %s has no uncore events for this CPU (%s)",
			 directory, *cpu ? cpu : uncore_cpu_model(u));
		status = CLI_UNAVAILABLE;
	}
	return status;
}

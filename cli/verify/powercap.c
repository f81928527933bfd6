/* SPDX-License-Identifier: MIT */
#include "verify/powercap.h"

#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "output/buffer.h"

#define FOLDER "/sys/class/powercap"
#define ZONE "intel-rapl:" /* "intel-rapl:0" is a package, "intel-rapl:0:1" a part of it */
#define CONSTRAINTS 3

struct powercap_zone {
	char domain[16];
	int package;
	char *folder;
	double last, range; /* microjoules; the value after which the counter wraps to 0 */
	double limit;       /* watts; 0: unknown */
};

/* The number in a file; NaN: it cannot be read. */
static double number_of(const char *folder, const char *file)
{
	struct buffer text = {0};
	double value = NAN;
	char *end;

	if (buffer_read(&text, "%s/%s", folder, file) == 0) {
		value = strtod(buffer_text(&text), &end);
		value = end == buffer_text(&text) ? (double)NAN : value;
	}
	buffer_free(&text);
	return value;
}

/* "package-0", "package-0-die-1", "core", "psys", "psys-1": the word, and the number if it has
 * one. */
static bool read_name(const char *folder, char domain[16], int *number)
{
	struct buffer text = {0};
	bool found = buffer_read(&text, "%s/name", folder) == 0;

	if (found) {
		const char *name = buffer_text(&text), *rest;

		snprintf(domain, 16, "%.*s", (int)strcspn(name, "-\n"), name);
		rest = name + strlen(domain);
		*number = *rest == '-' ? (int)strtol(rest + 1, NULL, 10) : -1;
	}
	buffer_free(&text);
	return found;
}

static double limit_of(const char *folder)
{
	double most = 0;

	for (int i = 0; i < CONSTRAINTS; i++) {
		char file[40];

		snprintf(file, sizeof(file), "constraint_%d_max_power_uw", i);
		most = fmax(most, number_of(folder, file) / 1e6);
	}
	return most;
}

/* The number of a part is that of its package, whose directory has the name without the last
 * number. */
static void add_zone(struct powercap *p, const char *folder)
{
	struct powercap_zone z = {.last = number_of(folder, "energy_uj"),
				  .range = number_of(folder, "max_energy_range_uj"),
				  .limit = limit_of(folder)};
	const char *first = strchr(folder, ':'), *second = first ? strchr(first + 1, ':') : NULL;
	char unused[16];

	if (!isfinite(z.last) || !read_name(folder, z.domain, &z.package))
		return;
	if (second) {
		char *package = cli_copy(folder);

		package[second - folder] = '\0';
		if (!read_name(package, unused, &z.package))
			z.package = -1;
		free(package);
	}
	/* The name for the first package has no number. */
	z.package = z.package < 0 ? 0 : z.package;
	z.folder = cli_copy(folder);
	p->zones = cli_realloc(p->zones, p->count + 1, sizeof(*p->zones));
	p->zones[p->count++] = z;
}

void powercap_find(struct powercap *p, const char *root)
{
	struct buffer path = {0};
	const struct dirent *entry;
	DIR *folder;

	*p = (struct powercap){0};
	buffer_printf(&path, "%s" FOLDER, root);
	folder = opendir(path.data);
	while (folder && (entry = readdir(folder))) {
		struct buffer zone = {0};

		if (strncmp(entry->d_name, ZONE, strlen(ZONE)) != 0)
			continue;
		buffer_printf(&zone, "%s/%s", path.data, entry->d_name);
		add_zone(p, zone.data);
		buffer_free(&zone);
	}
	if (folder)
		closedir(folder);
	buffer_free(&path);
}

void powercap_free(struct powercap *p)
{
	for (size_t i = 0; i < p->count; i++)
		free(p->zones[i].folder);
	free(p->zones);
	*p = (struct powercap){0};
}

static bool is_of(const struct powercap_zone *z, const char *domain, int package)
{
	return strcmp(z->domain, domain) == 0 && z->package == package;
}

bool powercap_has(const struct powercap *p, const char *domain, int package)
{
	for (size_t i = 0; i < p->count; i++)
		if (is_of(&p->zones[i], domain, package))
			return true;
	return false;
}

double powercap_take(struct powercap *p, const char *domain, int package)
{
	double sum = powercap_has(p, domain, package) ? 0 : NAN;

	for (size_t i = 0; i < p->count; i++) {
		struct powercap_zone *z = &p->zones[i];
		double now;

		if (!is_of(z, domain, package))
			continue;
		now = number_of(z->folder, "energy_uj");
		sum += (now < z->last ? now + z->range - z->last : now - z->last) / 1e6;
		z->last = now;
	}
	return sum;
}

double powercap_limit(const struct powercap *p)
{
	double most = 0;

	for (size_t i = 0; i < p->count; i++)
		most = fmax(most,
			    strcmp(p->zones[i].domain, "package") == 0 ? p->zones[i].limit : 0);
	return most;
}

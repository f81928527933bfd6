/* SPDX-License-Identifier: MIT */
/* Witnesses: values that are read together with the counters, from powercap and by RDTSC. */
#include <glob.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "verify/measure.h"

/* ---- powercap ---- */

#define CONSTRAINTS 3

struct powercap_zone {
	char domain[16];
	int package;
	char *folder;
	double last, range; /* microjoules; the value after which the counter wraps to 0 */
};

/* The number in a file; NaN: it cannot be read. */
static double number_of(const char *folder, const char *file)
{
	auto_buffer text = {0};
	double value;
	char *end;

	if (buffer_read(&text, "%s/%s", folder, file))
		return NAN;
	value = strtod(buffer_text(&text), &end);
	return end == buffer_text(&text) ? (double)NAN : value;
}

/* "package-0", "package-0-die-1", "core", "psys", "psys-1": the word, and the number if it has
 * one. */
static bool read_name(const char *folder, char domain[16], int *number)
{
	auto_buffer text = {0};
	const char *name, *rest;

	if (buffer_read(&text, "%s/name", folder))
		return false;
	name = buffer_text(&text);
	snprintf(domain, 16, "%.*s", (int)strcspn(name, "-\n"), name);
	rest = name + strlen(domain);
	*number = *rest == '-' ? (int)strtol(rest + 1, NULL, 10) : -1;
	return true;
}

/* The number of a part is that of its package, whose directory has the name without the last
 * number. */
static void add_zone(struct powercap *p, const char *folder)
{
	struct powercap_zone z = {.last = number_of(folder, "energy_uj"),
				  .range = number_of(folder, "max_energy_range_uj")};
	const char *first = strchr(folder, ':'), *second = first ? strchr(first + 1, ':') : NULL;
	char unused[16];

	if (!isfinite(z.last) || !read_name(folder, z.domain, &z.package))
		return;
	for (int i = 0; i < CONSTRAINTS && strcmp(z.domain, "package") == 0; i++) {
		char file[40];

		snprintf(file, sizeof(file), "constraint_%d_max_power_uw", i);
		p->limit = fmax(p->limit, number_of(folder, file) / 1e6);
	}
	if (second) {
		auto_free char *package = cli_copy(folder);

		package[second - folder] = '\0';
		if (!read_name(package, unused, &z.package))
			z.package = -1;
	}
	/* The name for the first package has no number. */
	z.package = z.package < 0 ? 0 : z.package;
	z.folder = cli_copy(folder);
	p->zones = cli_realloc(p->zones, p->count + 1, sizeof(*p->zones));
	p->zones[p->count++] = z;
}

void powercap_find(struct powercap *p, const char *root)
{
	auto_buffer pattern = {0};
	glob_t g;

	*p = (struct powercap){0};
	/* "intel-rapl:0" is a package, "intel-rapl:0:1" a part of it. */
	buffer_printf(&pattern, "%s/sys/class/powercap/intel-rapl:*", root);
	if (glob(pattern.data, GLOB_NOSORT, NULL, &g) == 0) {
		for (size_t i = 0; i < g.gl_pathc; i++)
			add_zone(p, g.gl_pathv[i]);
		globfree(&g);
	}
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

/* ---- the time-stamp counter ---- */

#define NEAR_NS 2000 /* between the clock readings around RDTSC; else it is repeated */
#define TRIES 10

static uint64_t raw_ns(void)
{
	return cli_clock_ns(CLOCK_MONOTONIC_RAW);
}

#ifdef __x86_64__
#include <x86intrin.h>

#define HAS_TICKS true
static uint64_t rdtsc(void)
{
	uint64_t ticks;

	_mm_lfence();
	ticks = __rdtsc();
	_mm_lfence();
	return ticks;
}
#else
#define HAS_TICKS false
static uint64_t rdtsc(void)
{
	return 0;
}
#endif

/* The ticks at the time that `ns` gets. */
static uint64_t read_ticks(uint64_t *ns)
{
	uint64_t ticks = 0, before = 0, after = NEAR_NS;

	for (int i = 0; i < TRIES && after - before >= NEAR_NS; i++) {
		before = raw_ns();
		ticks = rdtsc();
		after = raw_ns();
	}
	*ns = before + (after - before) / 2;
	return ticks;
}

/* ---- witnesses ---- */

struct witness {
	size_t cell; /* of its own */
	int package; /* the kernel's number of the cell's socket */
	const char *domain;
	uint64_t ns; /* of the last reading, CLOCK_MONOTONIC_RAW */
	uint64_t ticks;
};

void witnesses_open(struct witnesses *w, const struct uncore *u, const char *root)
{
	*w = (struct witnesses){.u = u};
	powercap_find(&w->powercap, root);
}

void witnesses_close(struct witnesses *w)
{
	powercap_free(&w->powercap);
	free(w->items);
	*w = (struct witnesses){0};
}

/* The seconds, and joules or ticks, since the previous reading. */
static struct verify_reading take(struct witnesses *w, struct witness *of)
{
	const struct witness before = *of;
	double amount;

	if (of->domain) {
		amount = powercap_take(&w->powercap, of->domain, of->package);
		of->ns = raw_ns();
	} else {
		of->ticks = read_ticks(&of->ns);
		amount = (double)(of->ticks - before.ticks);
	}
	return (struct verify_reading){.amount = amount,
				       .seconds = (double)(of->ns - before.ns) / 1e9};
}

void witnesses_begin(struct witnesses *w, struct verify_run *run)
{
	const size_t end = run->cell_count;

	w->count = 0;
	for (size_t i = run->first_cell; i < end; i++) {
		struct verify_cell cell = run->cells[i];
		const struct verify_expectation *e = cell.expected;
		struct witness of = {.cell = run->cell_count,
				     .package = cell.socket,
				     .domain = e->witness.domain};

		if (!e->witness.name || cell.channel >= 0 ||
		    strcmp(cell.family, e->witness.family) != 0)
			continue;
		for (size_t k = w->u ? uncore_cpu_count(w->u) : 0; k-- > 0;) {
			const struct uncore_cpu *cpu = uncore_cpu_at(w->u, k);

			if (cpu->socket == cell.socket && cpu->package >= 0)
				of.package = cpu->package;
		}
		if (of.domain ? !powercap_has(&w->powercap, of.domain, of.package) : !HAS_TICKS)
			continue;
		take(w, &of);
		snprintf(cell.family, sizeof(cell.family), "%s", e->witness.name);
		verify_add_cell(run, &cell);
		w->items = cli_realloc(w->items, w->count + 1, sizeof(*w->items));
		w->items[w->count++] = of;
	}
}

void witnesses_read(struct witnesses *w, const struct verify_run *run, struct verify_reading *into)
{
	for (size_t i = 0; i < w->count; i++) {
		const size_t cell = w->items[i].cell;

		into[cell - run->first_cell] = take(w, &w->items[i]);
	}
}

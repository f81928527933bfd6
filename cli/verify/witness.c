/* SPDX-License-Identifier: MIT */
#include "verify/witness.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"

#define NEAR_NS 2000 /* between the clock readings around RDTSC; else it is repeated */
#define TRIES 10

static uint64_t raw_ns(void)
{
	return cli_clock_ns(CLOCK_MONOTONIC_RAW);
}

/* ---- the time-stamp counter ---- */

#ifdef __x86_64__
#include <immintrin.h>

/* The ticks at the time that `ns` gets. */
static uint64_t read_ticks(uint64_t *ns)
{
	uint64_t ticks = 0;

	for (int i = 0; i < TRIES; i++) {
		uint64_t before = raw_ns(), after;

		_mm_lfence();
		ticks = __rdtsc();
		_mm_lfence();
		after = raw_ns();
		*ns = before + (after - before) / 2;
		if (after - before < NEAR_NS)
			break;
	}
	return ticks;
}
#define HAS_TICKS true
#else
static uint64_t read_ticks(uint64_t *ns)
{
	*ns = raw_ns();
	return 0;
}
#define HAS_TICKS false
#endif

/* ---- all of them ---- */

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

static int package_of(const struct uncore *u, int socket)
{
	for (size_t i = 0; u && i < uncore_cpu_count(u); i++)
		if (uncore_cpu_at(u, i)->socket == socket && uncore_cpu_at(u, i)->package >= 0)
			return uncore_cpu_at(u, i)->package;
	return socket;
}

void witnesses_begin(struct witnesses *w, struct verify_run *run)
{
	const size_t end = run->cell_count;

	w->count = 0;
	for (size_t i = run->first_cell; i < end; i++) {
		struct verify_cell cell = run->cells[i];
		const struct verify_witness *known = verify_witness(cell.metric);
		struct witness of = {.cell = run->cell_count};

		if (!known || cell.channel >= 0 || strcmp(cell.family, known->family) != 0)
			continue;
		of.domain = known->domain;
		of.package = package_of(w->u, cell.socket);
		if (of.domain ? !powercap_has(&w->powercap, of.domain, of.package) : !HAS_TICKS)
			continue;
		take(w, &of);
		snprintf(cell.family, sizeof(cell.family), "%s", known->name);
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

/* SPDX-License-Identifier: MIT */
/* Counters of PCIe and of caches, by the data of a device: all data must be counted at its root
 * port and socket, and none at others. Memory controllers are not judged by them, since caches hold
 * a part (DDIO). */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "verify/judge.h"

/* Limits of the kernel's own count of the disk: with less, a part came from elsewhere; with more,
 * other programs or the file system moved data, too. */
#define DISK_LEAST 0.98
#define DISK_MOST 1.05

/* ---- places: sockets, or root ports ---- */

/* Each pass has its own cells. A series of the same device and direction in another pass is used
 * for the cells of that pass. */
static bool fit_elsewhere(const struct judged *j, size_t cell, struct verify_fit *fit)
{
	for (size_t i = 0; i < j->run->series_count; i++) {
		const struct verify_series *s = &j->run->series[i];

		if (s->load != j->series->load || strcmp(s->device, j->series->device) != 0 ||
		    cell < s->first_cell || cell - s->first_cell >= s->cell_count)
			continue;
		judge_fit(s, cell, false, fit);
		return isfinite(fit->slope);
	}
	return false;
}

/* Names the place by its socket if only that differs: counters of two sockets may be mistaken for
 * those of one port. */
static void name_place(char *into, size_t room, const struct judged *j, const struct verify_cell *c)
{
	if (!*c->port || (strcmp(c->port, j->cell->port) == 0 && c->socket != j->cell->socket))
		snprintf(into, room, "socket %d", c->socket);
	else
		snprintf(into, room, strchr(c->port, ':') ? "root port %s" : "%s", c->port);
}

/* Whether the cell is another place of the same kind and family, which must not count the data. */
static bool count_there(const struct judged *j, size_t cell, struct verify_fit *into)
{
	const struct verify_cell *c = &j->run->cells[cell];

	return c->expected->group == j->expected->group && c->channel < 0 &&
	       strcmp(c->family, j->cell->family) == 0 && !*c->port == !*j->cell->port &&
	       strcmp(c->metric, VERIFY_WRITES_FOUND) != 0 &&
	       strcmp(c->metric, VERIFY_READS_FOUND) != 0 && !verify_is_expected(j->series, c) &&
	       fit_elsewhere(j, cell, into);
}

static const struct judge_view others = {count_there, judge_is_all};

/* A port without a known PMU has a row without values. */
static bool check_counted(struct judged *j)
{
	return *j->cell->port && !j->fit->count &&
	       judge_unknown(
		       j, NULL,
		       "no PMU is known that counts root port %s, or its counters were never free",
		       j->cell->port);
}

static bool check_disk(struct judged *j)
{
	double disk = j->series->disk;

	if (disk <= 0 || (disk >= DISK_LEAST && disk <= DISK_MOST))
		return false;
	return judge_unknown(
		j, disk < DISK_LEAST ? "not by the disk" : "busy",
		"by the kernel's count the disk moved %.1f %% of the data: %s", disk * 100,
		disk < DISK_LEAST ? "the rest is in a cache, or was compressed"
				  : "other programs use the disk, or its file system moves more");
}

static bool check_place(struct judged *j)
{
	const struct judge_places found = judge_find_all(j, &others);
	const struct verify_cell *at = found.place  ? found.place
				       : found.kind ? found.kind
						    : found.both;
	const char *name = j->expected->name;
	bool port = at && strcmp(at->port, j->cell->port) != 0;
	char where[80];

	if (!judge_is_nothing(j) || !at)
		return false;
	name_place(where, sizeof(where), j, at);
	if (found.place)
		return judge_off(j, port ? "other port" : "other socket",
				 "the data of %s are counted at %s", j->series->device, where);
	if (found.kind)
		return judge_off(j, "directions swapped", "%s are counted as %s", name,
				 at->expected->name);
	return judge_off(j, port ? "other port and direction" : "other socket and direction",
			 "%s are counted as %s at %s", name, at->expected->name, where);
}

static bool check_astray(struct judged *j)
{
	const struct judge_part part =
		judge_find_part(j, &others, judge_limits(j)->astray, JUDGE_PART_ERROR);
	const struct verify_cell *at = part.cell ? part.cell : part.noisy;
	char where[80];

	if (!at)
		return false;
	name_place(where, sizeof(where), j, at);
	if (!part.cell)
		return judge_is_own_all(j) && judge_is_noisy(j, &part, 1, where);
	return judge_off(j, "astray", "%.1f %% of the data of %s is counted as %s at %s%s",
			 part.fit.slope * 100, j->series->device, part.cell->expected->name, where,
			 judge_is_own_all(j) ? ", too" : "");
}

/* Units that counters have: bytes, words of 4, beats of 32, lines of 64. */
static bool check_units(struct judged *j)
{
	static const struct judge_factor known[] = {
		{2, "double", NULL,
		 "counted twice: two PMUs count the same, or 32 bytes are taken for 64"},
		{0.5, "half", NULL,
		 "half of it is counted: one of two PMUs is missing, or 64 bytes are taken for 32"},
		{4, "units", NULL, "4 times too much: bytes are taken for units of 4 bytes"},
		{0.25, "units", NULL, "4 times too little: units of 4 bytes are taken for bytes"},
		{8, "units", NULL, "8 times too much: units of 4 bytes are taken for 32"},
		{0.125, "units", NULL, "8 times too little: units of 32 bytes are taken for 4"},
		{16, "units", NULL,
		 "16 times too much: units of 4 bytes are taken for lines of 64"},
		{0.0625, "units", NULL,
		 "16 times too little: lines of 64 bytes are taken for units of 4"},
		{32, "units", NULL, "32 times too much: bytes are taken for units of 32 bytes"},
		{0.03125, "units", NULL,
		 "32 times too little: units of 32 bytes are taken for bytes"},
		{64, "units", NULL, "64 times too much: bytes are taken for lines of 64"},
		{0.015625, "units", NULL,
		 "64 times too little: lines of 64 bytes are taken for bytes"},
		{0, NULL, NULL, NULL},
	};
	const struct judge_factor *f =
		judge_find_factor(known, j->slope, JUDGE_FACTOR, j->tolerance, INFINITY);

	/* Small factors are within the limits of "nothing is counted", so that the error must be
	 * small. */
	return f && j->tolerance <= f->factor / 4 && judge_off(j, f->fault, "%s", f->sentence);
}

/* Adds the share of hits, a property of the machine, without a verdict. */
static bool check_lookups(struct judged *j)
{
	const bool writes = strstr(j->expected->metric, ".write.");
	struct verify_fit fit;

	if (judge_yielding(j))
		return true;
	judge_slope(j);
	for (size_t i = 0; i < j->run->cell_count && j->result->verdict == VERIFY_PROVED; i++) {
		const struct verify_cell *c = &j->run->cells[i];

		if (strcmp(c->metric, writes ? VERIFY_WRITES_FOUND : VERIFY_READS_FOUND) != 0 ||
		    c->socket != j->cell->socket || strcmp(c->family, j->cell->family) != 0 ||
		    !fit_elsewhere(j, i, &fit) || fit.error > JUDGE_ERROR_MOST)
			continue;
		j->result->share = fit.slope;
		return judge_proved(j, "DDIO: the last-level cache had %.1f %% of what %s %s",
				    fit.slope * 100, j->series->device, writes ? "wrote" : "read");
	}
	return true;
}

judge_check *const device_checks[] = {
	check_counted, judge_rounds, check_disk,     judge_quiet, check_place,
	check_units,   check_astray, judge_yielding, judge_slope, NULL,
};

judge_check *const lookup_checks[] = {
	judge_rounds, check_disk,   judge_quiet,   check_place,
	check_units,  check_astray, check_lookups, NULL,
};

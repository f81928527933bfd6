/* SPDX-License-Identifier: MIT */
/* The rows of an interval. The kernel's count of the default group contains its monitor groups: the
 * pool's, and perhaps others. Here it becomes the rest, "other". */
#include <math.h>

#include "who/who.h"

/* The uncertainty of a difference that makes no row suspect, as a share of the larger count. */
#define NEGLIGIBLE 0.02

/* Whether the row is of a monitor group of the default group: "/uncore-12-0", "/web". */
static bool is_part(const struct uncore_row *row)
{
	return row->place->role && row->place->role[0] == '/' && row->place->role[1];
}

static bool is_default(const struct uncore_row *row)
{
	return cli_same(row->place->role, "/");
}

/* The slot of a row; -1: it is of another group. */
static int slot_of(const struct who *w, const struct uncore_row *row)
{
	for (size_t i = 0; row->place->tasks && i < w->pool.slot_count; i++)
		if (cli_same(uncore_groups_name(w->pool.groups, i), row->place->role + 1))
			return (int)i;
	return -1;
}

const char who_started[] = "processes that it started are in it, until the end of the interval in "
			   "which they began";

const char who_outside[] = "processes of it began outside of its group, and were moved into it at "
			   "the end of the interval";

const char who_contained[] =
	"this command is in a container with a PID namespace of its own (no hostPID), and "
	"processes outside of it have no rows";

/* Begins one more reason. */
static struct buffer *next_reason(struct who *w)
{
	if (w->reason.len)
		buffer_puts(&w->reason, "; ");
	return &w->reason;
}

static void describe_busy(struct who *w)
{
	const struct pool_rest *rest = &w->rest;
	const char *limit = w->pool.groups ? uncore_groups_limit(w->pool.groups) : NULL;

	buffer_printf(next_reason(w),
		      "%zu of %zu busy %s had no group in this interval, with %.0f %% of the CPU "
		      "time: ",
		      rest->busy, rest->all_busy,
		      w->by == BY_PROCESS ? "processes" : who_by_words[w->by],
		      rest->all_cpu > 0 ? 100 * rest->cpu / rest->all_cpu : 0);
	if (rest->removed)
		buffer_printf(&w->reason,
			      "another program has removed %zu group%s of uncore, which cannot be "
			      "made again yet",
			      rest->removed, rest->removed == 1 ? "" : "s");
	else
		buffer_printf(&w->reason, "they have %zu groups in turn, as %s", w->pool.slot_count,
			      limit ? limit : "--groups allows no more");
}

static void describe_rest(struct who *w)
{
	const struct pool_rest *rest = &w->rest;

	w->other.len = w->reason.len = 0;
	buffer_printf(&w->other, "%zu process%s and the kernel", rest->processes,
		      rest->processes == 1 ? "" : "es");
	if (rest->changed)
		buffer_puts(
			next_reason(w),
			"others have made or removed groups, which are not counted as such yet");
	if (rest->contained)
		buffer_puts(next_reason(w), who_contained);
	if (rest->denied)
		buffer_printf(next_reason(w),
			      "%zu process%s cannot be read in /proc, and what %s in it",
			      rest->denied, rest->denied == 1 ? "" : "es",
			      rest->denied == 1 ? "it moves is" : "they move is");
	if (rest->busy)
		describe_busy(w);
}

/* Both counts of remote traffic are read one after another. That of a group with local traffic
 * alone is uncertain, but small beside all that the group moved. */
static bool is_negligible(const struct frame *f, const struct uncore_row *row)
{
	if (!cli_same(row->query->name, OWNER_REMOTE) || row->quality != UNCORE_SUSPECT)
		return false;
	for (size_t i = 0; i < uncore_sample_count(f->sample); i++) {
		const struct uncore_row *all = uncore_sample_row(f->sample, i);

		if (cli_same(all->query->name, OWNER_MOVED) && all->quality == UNCORE_MEASURED &&
		    all->place->socket == row->place->socket &&
		    cli_same(all->place->role, row->place->role))
			return row->high - row->low <= NEGLIGIBLE * all->value;
	}
	return false;
}

/* What the default group has without its monitor groups. They are read at slightly different times:
 * a difference below 0 is 0. */
static void subtract(struct who *w, const struct frame *f, struct uncore_row *row,
		     struct uncore_row_place *place)
{
	const struct uncore_row all = *row;
	size_t unknown = 0;

	for (size_t i = 0; i < uncore_sample_count(f->sample); i++) {
		const struct uncore_row *part = uncore_sample_row(f->sample, i);

		if (part->query != all.query && !cli_same(part->query->name, all.query->name))
			continue;
		if (!is_part(part) || part->place->socket != all.place->socket)
			continue;
		if (part->place->tasks && !*part->place->tasks)
			continue; /* it had no tasks */
		if (isnan(part->value))
			unknown++;
		else
			row->value -= part->value;
		if (part->quality > row->quality && !isnan(part->value) &&
		    !is_negligible(f, part)) {
			row->quality = part->quality;
			row->reason = part->reason;
		}
	}
	row->value = row->value < 0 ? 0 : row->value;
	row->low = row->high = row->rate = row->weight = NAN;
	*place = *all.place;
	place->role = OWNER_OTHER;
	place->tasks = w->other.data;
	row->place = place;
	if (row->quality < UNCORE_PARTIAL && unknown && !w->rest.changed) {
		row->quality = UNCORE_PARTIAL;
		row->reason = "it contains what groups without a count moved";
	}
	if (row->quality < UNCORE_PARTIAL && w->reason.len) {
		row->quality = UNCORE_PARTIAL;
		row->reason = w->reason.data;
	}
}

static void add_row(struct who *w, const struct frame *f, size_t index)
{
	const struct uncore_row *from = uncore_sample_row(f->sample, index);
	int slot = slot_of(w, from);
	const struct who_key *owner = slot < 0 ? NULL : pool_owner(&w->pool, (size_t)slot);
	struct uncore_row *row;

	if (slot >= 0 && !*from->place->tasks)
		return; /* it had no tasks */
	row = &w->rows[w->row_count];
	*row = *from;
	if (is_negligible(f, from)) {
		row->quality = UNCORE_MEASURED;
		row->reason = NULL;
	}
	if (owner && owner->outside && row->quality < UNCORE_PARTIAL) {
		row->quality = UNCORE_PARTIAL;
		row->reason = who_outside;
	}
	if (owner && owner->children && !row->reason)
		row->reason = who_started;
	w->origins[w->row_count] = is_default(from) ? SIZE_MAX : index;
	if (is_default(from))
		subtract(w, f, row, &w->places[w->row_count]);
	w->row_count++;
}

/* Without groups nothing else is counted on purpose. */
static bool is_of_disks(const struct uncore_row *row)
{
	return cli_same(row->query->name, WHO_DISKS_READ) ||
	       cli_same(row->query->name, WHO_DISKS_WRITTEN);
}

void who_make_rows(struct who *w, const struct frame *f)
{
	size_t count = uncore_sample_count(f->sample), most = count + who_used_most(w);
	const char *measure = OWNER_CACHE; /* on Arm there is nothing else */

	if (w->row_room < most) {
		w->row_room = most;
		w->rows = cli_realloc(w->rows, most, sizeof(*w->rows));
		w->places = cli_realloc(w->places, most, sizeof(*w->places));
		w->origins = cli_realloc(w->origins, most, sizeof(*w->origins));
	}
	for (size_t i = 0; i < count; i++)
		if (cli_same(uncore_sample_row(f->sample, i)->query->name, OWNER_MOVED))
			measure = OWNER_MOVED;
	w->row_count = 0;
	describe_rest(w);
	for (size_t i = 0; i < count; i++) {
		const struct uncore_row *row = uncore_sample_row(f->sample, i);
		int slot = slot_of(w, row);

		if (slot >= 0 && row->place->socket < 0 && cli_same(row->query->name, measure))
			pool_measured(&w->pool, (size_t)slot, row->value);
		if (w->pool.groups || is_of_disks(row))
			add_row(w, f, i);
	}
	if (w->usage)
		who_add_used(w);
}

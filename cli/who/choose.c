/* SPDX-License-Identifier: MIT */
#include "who/choose.h"

#include <math.h>
#include <stdlib.h>

#include "base/cli.h"

/* A key that uses less CPU time than this, and takes fewer pages than 10 MB/s, can move little. */
#define BUSY_CPU 0.009 /* a tick of 10 ms in a second, and some jitter */
#define BUSY_FAULTS 2560
/* This process is hardly what anybody looks for. */
#define BUSY_OWN_CPU 0.1
/* Another key gets a slot only if it moved so many times more: two equal ones do not alternate. */
#define CLEARLY_MORE 1.25
/* The share of the slots that other keys get in turn, while some key was never measured, and
 * then. */
#define SHARE_AT_FIRST 0.75
#define SHARE_LATER 0.25

bool key_is_busy(const struct who_key *key)
{
	if (key->own)
		return key->cpu >= BUSY_OWN_CPU;
	return !key->elsewhere && (key->cpu >= BUSY_CPU || key->faults >= BUSY_FAULTS);
}

static double known_rate(const struct who_key *key)
{
	return isnan(key->rate) ? -1 : key->slot >= 0 ? key->rate * CLEARLY_MORE : key->rate;
}

/* What was measured longest ago first; of these, what uses most CPU time. */
static int compare_turns(const void *a, const void *b)
{
	const struct who_key *x = *(struct who_key *const *)a, *y = *(struct who_key *const *)b;

	if (x->measured != y->measured)
		return x->measured < y->measured ? -1 : 1;
	if (x->cpu != y->cpu)
		return x->cpu > y->cpu ? -1 : 1;
	return x->faults > y->faults ? -1 : x->faults < y->faults ? 1 : 0;
}

/* What moved most first. */
static int compare_rates(const void *a, const void *b)
{
	const struct who_key *x = *(struct who_key *const *)a, *y = *(struct who_key *const *)b;
	double p = known_rate(x), q = known_rate(y);

	return p > q ? -1 : p < q ? 1 : compare_turns(a, b);
}

/* How many slots change hands in turn. */
static size_t turns_of(struct who_key *const *busy, size_t count, size_t slots)
{
	bool unknown = false;
	size_t turns;

	if (count <= slots)
		return 0;
	for (size_t i = 0; i < count; i++)
		unknown |= !busy[i]->measured;
	turns = (size_t)((double)slots * (unknown ? SHARE_AT_FIRST : SHARE_LATER));
	return turns ? turns : 1;
}

/* The next slot that is not taken. */
static int free_slot(bool *taken, size_t slots)
{
	for (size_t i = 0; i < slots; i++)
		if (!taken[i]) {
			taken[i] = true;
			return (int)i;
		}
	return -1;
}

/* Gives slots to the first `count` of the keys that are wanted. A key that has one keeps it, and so
 * does an idle one as long as no other needs it. */
static void give_slots(struct who_key *keys, size_t key_count, struct who_key *const *wanted,
		       size_t count, size_t slots)
{
	auto_free bool *taken = cli_realloc(NULL, slots, sizeof(*taken));
	size_t left = slots - count;

	for (size_t i = 0; i < slots; i++)
		taken[i] = false;
	for (size_t i = 0; i < count; i++)
		if (wanted[i]->slot >= 0)
			taken[wanted[i]->slot] = true;
	for (size_t i = 0; i < key_count; i++) {
		struct who_key *k = &keys[i];
		bool is_wanted = false;

		for (size_t w = 0; w < count; w++)
			is_wanted |= wanted[w] == k;
		if (k->slot < 0 || is_wanted)
			continue;
		if (left && k->processes && !k->elsewhere && !key_is_busy(k))
			taken[k->slot] = true, left--;
		else
			k->slot = -1;
	}
	for (size_t i = 0; i < count; i++)
		if (wanted[i]->slot < 0)
			wanted[i]->slot = free_slot(taken, slots);
}

void choose_slots(struct who_key *keys, size_t count, size_t slots)
{
	auto_free struct who_key **busy = cli_realloc(NULL, count + 1, sizeof(*busy));
	size_t found = 0, kept, turns;

	for (size_t i = 0; i < count; i++)
		if (key_is_busy(&keys[i]))
			busy[found++] = &keys[i];
	turns = turns_of(busy, found, slots);
	kept = slots - turns;
	qsort(busy, found, sizeof(*busy), compare_rates);
	if (found > kept)
		qsort(busy + kept, found - kept, sizeof(*busy), compare_turns);
	give_slots(keys, count, busy, found < slots ? found : slots, slots);
}

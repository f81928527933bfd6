/* SPDX-License-Identifier: MIT */
/* Sums of sampled loads by key. */
#include "ibs/keys.h"

#include <search.h>

static int compare_keys(const void *a, const void *b)
{
	return memcmp(a, b, sizeof(struct unc_key));
}

/* The sum of the key, which is new; NULL: no memory. */
static struct unc_key_sum *add_key(struct unc_keys *k, const struct unc_key *key,
				   const char *symbol)
{
	struct unc_key_sum *sum = calloc(1, sizeof(*sum));

	if (!sum)
		return NULL;
	sum->key = *key;
	sum->symbol = symbol;
	if (UNC_ADD(&k->items, &k->count, &sum) < 0) {
		free(sum);
		return NULL;
	}
	if (!tsearch(sum, &k->tree, compare_keys)) {
		k->count--;
		free(sum);
		return NULL;
	}
	return sum;
}

/* The instruction's function. Processes with the same name count together. */
static void set_symbol(struct unc_key *key, struct unc_tasks *tasks, const struct unc_load *load,
		       const char **name)
{
	uint32_t object;
	uint64_t offset, start;

	key->place = load->ip;
	if (!unc_tasks_map(tasks, load->pid, load->ip, load->time, &object, &offset))
		return;
	key->object = object + 1;
	key->place = offset;
	*name = unc_tasks_symbol(tasks, load->pid, object, offset, &start);
	if (!*name)
		return;
	key->symbol = 1;
	key->place = start;
}

/* False: the sample has not the fields that the key is made of. */
static bool make_key(enum uncore_latency_by by, struct unc_tasks *tasks,
		     const struct unc_load *load, struct unc_key *key, const char **symbol)
{
	bool of_thread = by == UNCORE_LATENCY_BY_THREAD;

	memset(key, 0, sizeof(*key));
	key->pid = key->tid = -1;
	if (!(load->has & UNC_LOAD_TASK))
		return false;
	snprintf(key->process, sizeof(key->process), "%s",
		 unc_tasks_name(tasks, of_thread ? load->tid : load->pid, load->time));
	if (by == UNCORE_LATENCY_BY_SYMBOL) {
		if (load->has & UNC_LOAD_IP)
			set_symbol(key, tasks, load, symbol);
		return load->has & UNC_LOAD_IP;
	}
	key->pid = load->pid;
	if (of_thread)
		key->tid = load->tid;
	if (by == UNCORE_LATENCY_BY_ADDRESS) {
		key->place = load->address >> UNC_PAGE_BITS << UNC_PAGE_BITS;
		return load->has & UNC_LOAD_ADDRESS;
	}
	return true;
}

int unc_keys_add(struct unc_keys *k, struct unc_tasks *tasks, const struct unc_load *load)
{
	struct unc_key_sum *sum = &k->rest, **found;
	const char *symbol = NULL;
	struct unc_key key;

	if (!make_key(k->by, tasks, load, &key, &symbol)) {
		k->unknown++;
	} else {
		found = tfind(&key, &k->tree, compare_keys);
		if (found)
			sum = *found;
		else if (k->count < UNC_KEYS_MOST)
			sum = add_key(k, &key, symbol);
	}
	if (!sum)
		return -ENOMEM;
	sum->samples++;
	sum->clocks += load->latency;
	sum->by_source[load->source]++;
	sum->bins[unc_ibs_bin(load->latency)]++;
	return 0;
}

void unc_keys_clear(struct unc_keys *k)
{
	tdestroy(k->tree, free);
	k->tree = NULL;
	k->count = 0;
	k->unknown = 0;
	k->rest = (struct unc_key_sum){0};
}

void unc_keys_finish(struct unc_keys *k)
{
	tdestroy(k->tree, free);
	free(k->items);
}

void unc_keys_merge(struct unc_key_sum *into, const struct unc_key_sum *from)
{
	into->samples += from->samples;
	into->clocks += from->clocks;
	for (size_t i = 0; i < UNC_IBS_SOURCES; i++)
		into->by_source[i] += from->by_source[i];
	for (size_t i = 0; i < UNCORE_LATENCY_BINS; i++)
		into->bins[i] += from->bins[i];
}

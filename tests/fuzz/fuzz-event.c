/* SPDX-License-Identifier: MIT */
/* Event lists: every event that is taken stands in the list as written, and means the same alone. */
#include "machine/pmu.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds)
{
	if (!holds)
		abort();
}

static bool same(const char *a, const char *b)
{
	return a && b ? strcmp(a, b) == 0 : a == b;
}

static void check_event(const struct unc_events *l, const struct unc_event *ev, const char *list)
{
	require(ev->pos < strlen(list));
	require(strncmp(list + ev->pos, ev->text, strlen(ev->text)) == 0);
	require(ev->text[0] && (ev->pmu || ev->terms[0]));
	require(ev->group >= -1 && ev->group < (int)l->group_count);
	if (ev->pmu) {
		size_t len = strlen(ev->pmu);

		require(len > 0 && strncmp(ev->text, ev->pmu, len) == 0 && ev->text[len] == '/');
		require(strncmp(ev->text + len + 1, ev->terms, strlen(ev->terms)) == 0);
	} else {
		require(strncmp(ev->text, ev->terms, strlen(ev->terms)) == 0);
	}
}

/* The modifiers of its group are the only difference. */
static void check_alone(const struct unc_event *ev)
{
	struct unc_events alone = {0};

	require(unc_events_parse(ev->text, &alone, NULL) == 0);
	require(alone.count == 1 && alone.group_count == 0);
	require(same(alone.items[0].pmu, ev->pmu));
	require(same(alone.items[0].terms, ev->terms));
	require(same(alone.items[0].text, ev->text));
	require((alone.items[0].modifiers & ~ev->modifiers) == 0);
	require(ev->group >= 0 || alone.items[0].modifiers == ev->modifiers);
	unc_events_finish(&alone);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *list = malloc(size + 1);
	struct unc_error e = {0};
	struct unc_events l = {0};
	size_t end = 0;
	int err;

	require(list != NULL);
	memcpy(list, data, size);
	list[size] = '\0';
	err = unc_events_parse(list, &l, &e);
	if (err) {
		require(err == -EINVAL && e.text[0] && !l.items);
	} else {
		require(l.count > 0);
		for (size_t i = 0; i < l.count; i++) {
			require(l.items[i].pos >= end);
			end = l.items[i].pos + strlen(l.items[i].text);
			check_event(&l, &l.items[i], list);
			check_alone(&l.items[i]);
		}
	}
	unc_events_finish(&l);
	free(list);
	return 0;
}

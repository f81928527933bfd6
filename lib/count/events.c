/* SPDX-License-Identifier: MIT */
/* Events the user wrote, resolved to PMUs, CPUs and configuration words. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "count/monitor.h"

/* One call of uncore_monitor_add_events(). */
struct adder {
	struct uncore_monitor *m;
	struct unc_error *e;
	const struct unc_event *event; /* being resolved */
	size_t first_item;             /* of this event */
	size_t first_want;             /* of this call */
};

static bool is_candidate(const struct unc_event *ev, const struct uncore_pmu *pmu)
{
	if (ev->pmu)
		return unc_pmu_matches(pmu, ev->pmu);
	return unc_pmu_alias(pmu, ev->terms);
}

static bool same_unit(const char *a, const char *b)
{
	return strcmp(a ? a : "", b ? b : "") == 0;
}

/* The item of this event for values of one unit and scale: PMUs that differ in these are not added
 * up. Index, or -ENOMEM. */
static int find_item(struct adder *a, const struct unc_encoding *enc, size_t *index)
{
	double scale = enc->alias ? enc->alias->scale : 1;
	const char *unit = enc->alias ? enc->alias->unit : NULL;
	bool snapshot = enc->alias && enc->alias->snapshot;
	struct unc_item *item;

	for (size_t i = a->first_item; i < a->m->item_count; i++) {
		item = &a->m->items[i];
		if (item->scale == scale && same_unit(item->unit, unit) &&
		    item->snapshot == snapshot) {
			*index = i;
			return 0;
		}
	}
	item = unc_monitor_item(a->m);
	if (!item)
		return -ENOMEM;
	item->name = strdup(enc->name[0] ? enc->name : a->event->text);
	item->unit = strdup(unit ? unit : "");
	item->scale = scale;
	item->snapshot = snapshot;
	item->event_count = 1;
	if (!item->name || !item->unit)
		return unc_nomem(a->e);
	*index = a->m->item_count - 1;
	return 0;
}

/* The want that this event joins on a PMU and CPU: its group's, or one of its own. */
static struct unc_want *find_want(struct adder *a, const struct uncore_pmu *pmu, int cpu)
{
	struct uncore_monitor *m = a->m;
	struct unc_want *want;

	if (a->event->group >= 0)
		for (size_t i = a->first_want; i < m->want_count; i++)
			if (m->wants[i].group == a->event->group && m->wants[i].pmu == pmu &&
			    m->wants[i].cpu == cpu)
				return &m->wants[i];
	want = unc_monitor_want(m, pmu, cpu);
	if (want && a->event->group >= 0) {
		want->group = a->event->group;
		want->together = true;
		want->strict = !(a->event->modifiers & UNC_MOD_WEAK);
	}
	return want;
}

static int add_place(struct adder *a, const struct uncore_pmu *pmu, int cpu,
		     const struct unc_encoding *enc)
{
	struct unc_want *want;
	struct unc_ref ref;
	size_t item = 0;
	int r = find_item(a, enc, &item);

	if (r < 0)
		return r;
	want = find_want(a, pmu, cpu);
	if (!want)
		return -ENOMEM;
	r = unc_monitor_wanted(a->m, want, a->event->terms, enc, a->event->modifiers);
	if (r < 0)
		return r;
	ref.want = (size_t)(want - a->m->wants);
	ref.event = want->count - 1;
	return unc_item_place(&a->m->items[item], &ref) < 0 ? unc_nomem(a->e) : 0;
}

static int add_on_pmu(struct adder *a, const struct uncore_pmu *pmu, const struct unc_encoding *enc)
{
	bool per_package = enc->alias && enc->alias->per_package;

	for (size_t i = 0; i < pmu->cpus.count; i++) {
		int r = 0;

		if (enc->cpu >= 0 && pmu->cpus.ids[i] != enc->cpu)
			continue;
		if (per_package && enc->cpu < 0 && unc_monitor_package_seen(a->m, pmu, i))
			continue;
		r = add_place(a, pmu, pmu->cpus.ids[i], enc);
		if (r < 0)
			return r;
	}
	return 0;
}

/* What names like `wanted` there are: of PMUs, or (for a bare word) of their events. */
static int suggest(struct adder *a, const char *wanted, bool events)
{
	const struct unc_pmus *pmus = &a->m->machine->pmus;
	struct unc_names names = {0};
	struct unc_text near = {0};
	int r = 0;

	for (size_t i = 0; r == 0 && i < pmus->count; i++) {
		const struct uncore_pmu *pmu = &pmus->items[i];

		if (pmu->is_core)
			continue;
		if (!events)
			r = unc_names_add(&names, pmu->name);
		for (size_t k = 0; events && r == 0 && k < uncore_pmu_alias_count(pmu); k++)
			if (!unc_names_has(&names, uncore_pmu_alias_at(pmu, k)->name))
				r = unc_names_add(&names, uncore_pmu_alias_at(pmu, k)->name);
	}
	if (r == 0 && unc_suggest(&near, wanted, (const char *const *)names.items, names.count) &&
	    near.data)
		unc_error_append(a->e, " (did you mean %s?)", near.data);
	else
		for (size_t i = 0; !events && i < names.count && i < 8; i++)
			unc_error_append(a->e, "%s%s", i ? ", " : "; it has ", names.items[i]);
	if (!near.data && a->m->machine->topology.hypervisor[0])
		unc_error_append(a->e, " (a guest of %s: those of the host are not passed on)",
				 a->m->machine->topology.hypervisor);
	unc_text_finish(&near);
	unc_names_finish(&names);
	return r;
}

/* The sentence for an event that no PMU here answers to. */
static int no_such_pmu(struct adder *a)
{
	int r;

	if (a->event->pmu) {
		unc_fail(a->e, ENODEV, "%.200s: this machine has no PMU named '%.80s'",
			 a->event->text, a->event->pmu);
		r = suggest(a, a->event->pmu, false);
	} else {
		unc_fail(a->e, ENODEV,
			 "%.200s: no PMU of this machine has an event of this name; events of a "
			 "PMU are written pmu/event/, and core events are not counted here",
			 a->event->text);
		r = suggest(a, a->event->terms, true);
	}
	return r < 0 ? unc_nomem(a->e) : -ENODEV;
}

/* PMUs of the event's own kind that cannot be counted: its rows are not the whole. */
static int leave_out(struct adder *a, size_t count, const struct unc_error *why)
{
	for (size_t i = a->first_item; i < a->m->item_count; i++)
		for (size_t n = 0; n < count; n++)
			if (unc_item_leave_out(&a->m->items[i], why->text) < 0)
				return unc_nomem(a->e);
	return 0;
}

enum outcome {
	ADDED,     /* or the whole call failed */
	FAILED,    /* this PMU cannot be counted */
	ELSEWHERE, /* it is not counted from the CPU that the event names */
};

/* A PMU that the name means: counted, or why not. */
static int try_pmu(struct adder *a, const struct uncore_pmu *pmu, struct unc_error *why,
		   enum outcome *outcome)
{
	struct unc_encoding enc;
	int r = unc_pmu_encode(pmu, a->event->terms, &enc, why);

	*outcome = FAILED;
	if (r < 0)
		return r;
	if (!pmu->cpus.count)
		return unc_fail(why, ENODEV,
				"%s has no CPU to be counted from: its cpumask is empty",
				pmu->name);
	if (enc.cpu >= 0 && !unc_cpulist_has(&pmu->cpus, enc.cpu)) {
		*outcome = ELSEWHERE;
		return unc_fail(why, EINVAL, "%s: %s is not counted from CPU %d", a->event->text,
				pmu->name, enc.cpu);
	}
	*outcome = ADDED;
	return add_on_pmu(a, pmu, &enc);
}

/* A glob may span PMUs of different kinds, of which only some have the event. */
static bool is_glob(const struct unc_event *ev)
{
	return !ev->pmu || strpbrk(ev->pmu, "*?[");
}

/* On every PMU that answers to the name; where that fails on some of them, on the others. A `cpu=`
 * picks, as in perf: each PMU that is counted from that CPU. */
static int add_event(struct adder *a)
{
	const struct unc_pmus *pmus = &a->m->machine->pmus;
	size_t added = 0, failed = 0;
	struct unc_error first = {0};
	int error = 0;

	a->first_item = a->m->item_count;
	for (size_t i = 0; i < pmus->count; i++) {
		struct unc_error why = {0};
		enum outcome outcome;
		int r;

		if (!is_candidate(a->event, &pmus->items[i]))
			continue;
		r = try_pmu(a, &pmus->items[i], &why, &outcome);
		if (outcome == ADDED && r < 0)
			return r;
		added += outcome == ADDED;
		if ((outcome == FAILED && !failed++) || (outcome == ELSEWHERE && !error)) {
			first = why;
			error = r;
		}
	}
	if (!added)
		return error ? unc_fail(a->e, -error, "%s", first.text) : no_such_pmu(a);
	if (!failed)
		return 0;
	error = unc_monitor_note(a->m, "left out: %s", first.text);
	return error < 0 || is_glob(a->event) ? error : leave_out(a, failed, &first);
}

/* True when some PMU has only a part of the group's events. */
static bool is_split(const struct adder *a, const struct unc_events *list, int group)
{
	size_t members = 0;

	for (size_t i = 0; i < list->count; i++)
		members += list->items[i].group == group;
	for (size_t i = a->first_want; i < a->m->want_count; i++)
		if (a->m->wants[i].group == group && a->m->wants[i].count < members)
			return true;
	return false;
}

static int note_split_groups(struct adder *a, const struct unc_events *list)
{
	int r = 0;

	for (size_t g = 0; r == 0 && g < list->group_count; g++)
		if (is_split(a, list, (int)g))
			r = unc_monitor_note(
				a->m, "a {} group names events of different PMUs; the kernel "
				      "groups only events of one PMU, so each PMU has its own "
				      "group");
	return r;
}

static int refuse_when_planned(struct uncore_monitor *m)
{
	if (m->state == UNC_MONITOR_NEW)
		return 0;
	return unc_fail(&m->machine->error, EBUSY,
			"the monitor is planned already: add everything before");
}

int uncore_monitor_add_events(struct uncore_monitor *m, const char *text)
{
	struct adder a = {.m = m, .e = &m->machine->error, .first_want = m->want_count};
	size_t items = m->item_count;
	struct unc_events list;
	int r = refuse_when_planned(m);

	if (r == 0)
		r = unc_events_parse(text, &list, a.e);
	if (r < 0)
		return r;
	for (size_t i = 0; r == 0 && i < list.count; i++) {
		a.event = &list.items[i];
		r = add_event(&a);
	}
	if (r == 0)
		r = note_split_groups(&a, &list);
	if (r < 0)
		unc_monitor_roll_back(m, items, a.first_want);
	unc_events_finish(&list);
	return r;
}

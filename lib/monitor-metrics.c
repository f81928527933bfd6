/* SPDX-License-Identifier: MIT */
/* Metrics the user named, resolved to the events of their family's PMUs. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "glob.h"
#include "monitor.h"

/* "memory.*", or "intel-imc/memory.*". The cells of a matrix are many and say together what others
 * say in one row: whoever wants everything does not mean them. */
static bool matches(const struct uncore_metric *metric, const char *pattern)
{
	const char *slash = strchr(pattern, '/');
	const char *name = slash ? slash + 1 : pattern;
	size_t len = slash ? (size_t)(slash - pattern) : 0;

	if (slash && (strlen(metric->family->name) != len ||
		      memcmp(metric->family->name, pattern, len) != 0))
		return false;
	if (*name && strchr("*?[", *name) && strncmp(metric->name, "matrix.", 7) == 0)
		return false;
	return unc_glob_matches(name, metric->name);
}

static bool has_metric(const struct uncore_monitor *m, const struct uncore_metric *metric)
{
	for (size_t i = 0; i < m->item_count; i++)
		if (m->items[i].metric == metric)
			return true;
	return false;
}

/* True when an event of the metric counts the whole package. */
static bool is_per_package(const struct uncore_metric *metric, const struct uncore_pmu *pmu)
{
	for (size_t k = 0; k < unc_formula_name_count(metric->formula); k++) {
		struct unc_encoding enc;

		if (unc_event_encode(metric->events[k], pmu, &enc, NULL) == 0 && enc.alias &&
		    enc.alias->per_package)
			return true;
	}
	return false;
}

/* One scale serves all places of an item: two would have to be applied before the sum. */
static int take_scale(struct uncore_monitor *m, struct unc_item *item, size_t k,
		      const struct unc_encoding *enc)
{
	double scale = enc->alias ? enc->alias->scale : 1;

	if (item->place_count && item->scales[k] != scale)
		return unc_fail(&m->machine->error, EOPNOTSUPP,
				"%s: the PMUs have different scales for '%s' and cannot be added "
				"up; count them one by one with events",
				item->metric->name, item->metric->events[k]->name);
	item->scales[k] = scale;
	return 0;
}

/* One PMU and CPU: a want with all events of the metric, and the item's place. */
static int add_place(struct uncore_monitor *m, struct unc_item *item, const struct uncore_pmu *pmu,
		     int cpu)
{
	const struct uncore_metric *metric = item->metric;
	struct unc_ref refs[UNC_METRIC_EVENTS];
	struct unc_want *want = unc_monitor_want(m, pmu, cpu);

	if (!want)
		return -ENOMEM;
	want->together = item->event_count > 1 && unc_formula_is_ratio(metric->formula);
	for (size_t k = 0; k < item->event_count; k++) {
		struct unc_encoding enc;
		int r = unc_event_encode(metric->events[k], pmu, &enc, &m->machine->error);

		if (r < 0)
			return r;
		if (metric->events[k]->kernel_scale)
			r = take_scale(m, item, k, &enc);
		if (r < 0)
			return r;
		r = unc_monitor_wanted(m, want, unc_event_terms(metric->events[k], pmu), &enc, 0);
		if (r < 0)
			return r;
		refs[k] = (struct unc_ref){.want = m->want_count - 1, .event = k};
	}
	return unc_item_place(item, refs) < 0 ? unc_nomem(&m->machine->error) : 0;
}

static int add_on_pmu(struct uncore_monitor *m, struct unc_item *item, const struct uncore_pmu *pmu)
{
	bool per_package = is_per_package(item->metric, pmu);

	for (size_t i = 0; i < pmu->cpus.count; i++) {
		int r = 0;

		if (!per_package || !unc_monitor_package_seen(m, pmu, i))
			r = add_place(m, item, pmu, pmu->cpus.ids[i]);
		if (r < 0)
			return r;
	}
	return 0;
}

static int add_metric(struct uncore_monitor *m, const struct uncore_metric *metric)
{
	const struct unc_family *f = metric->family;
	struct unc_item *item = unc_monitor_item(m);

	if (!item)
		return -ENOMEM;
	item->metric = metric;
	item->event_count = unc_formula_name_count(metric->formula);
	item->scales = calloc(item->event_count, sizeof(*item->scales));
	if (!item->scales)
		return unc_nomem(&m->machine->error);
	for (size_t k = 0; k < item->event_count; k++)
		item->scales[k] = 1;
	for (size_t i = 0; i < f->pmu_count; i++) {
		struct unc_error why = {0};
		int r = 0;

		if (unc_metric_broken_on(metric, f->pmus[i], &why))
			r = unc_item_leave_out(item, why.text);
		else if (unc_metric_on(metric, f->pmus[i]))
			r = add_on_pmu(m, item, f->pmus[i]);
		if (r < 0)
			return r == -ENOMEM ? unc_nomem(&m->machine->error) : r;
	}
	if (!item->place_count)
		return unc_fail(&m->machine->error, ENODEV, "%s: %s", metric->name,
				item->left_why ? item->left_why : "no PMU here has its events");
	/* One by one the PMUs have rows of their own, and this one has none to say it. */
	return item->left_out
		       ? unc_monitor_note(m, "%s: left out: %s", metric->name, item->left_why)
		       : 0;
}

static int no_such_metric(const struct uncore_monitor *m, const char *pattern)
{
	const struct unc_catalogue *c = &m->machine->catalogue;
	struct unc_error *e = &m->machine->error;
	const char **names = calloc(c->metric_count + 1, sizeof(*names));
	const char *slash = strchr(pattern, '/');
	struct unc_text near = {0};

	if (!names)
		return unc_nomem(e);
	for (size_t i = 0; i < c->metric_count; i++)
		names[i] = c->metrics[i]->name;
	unc_fail(e, ENOENT, "no metric of the catalogue is named '%s'", pattern);
	if (unc_suggest(&near, slash ? slash + 1 : pattern, names, c->metric_count) && near.data)
		unc_error_append(e, " (did you mean %s?)", near.data);
	unc_text_finish(&near);
	free(names);
	return -ENOENT;
}

/* Why the first metric of this name is missing among those of families that ought to work here:
 * whose PMUs are there, else (`here` false) whose data file names this CPU model. NULL: none. */
static const char *first_reason(const struct uncore_monitor *m, const char *pattern, bool here)
{
	const struct unc_catalogue *c = &m->machine->catalogue;

	for (size_t i = 0; i < c->metric_count; i++) {
		const struct unc_family *f = c->metrics[i]->family;

		if (matches(c->metrics[i], pattern) &&
		    (here ? f->pmu_count > 0 : f->names_this_cpu))
			return uncore_metric_missing(c->metrics[i]);
	}
	return NULL;
}

/* Metrics of this name exist, but not one of them can be counted here. */
static int none_here(const struct uncore_monitor *m, const char *pattern)
{
	struct unc_error *e = &m->machine->error;
	const char *why = first_reason(m, pattern, true);

	unc_fail(e, ENODEV, "%s: nothing on this machine can count it", pattern);
	if (!why && m->machine->topology.hypervisor[0]) {
		unc_error_append(e,
				 ". It is a guest of %s: the counters outside the cores belong to "
				 "the host, and their drivers stay out of guests",
				 m->machine->topology.hypervisor);
		return -ENODEV;
	}
	if (!why)
		why = first_reason(m, pattern, false);
	unc_error_append(e, ": %s",
			 why ? why
			     : "the catalogue has it for other PMUs than those of this machine");
	return -ENODEV;
}

int uncore_monitor_add_metrics(struct uncore_monitor *m, const char *pattern)
{
	const struct unc_catalogue *c = &m->machine->catalogue;
	size_t items = m->item_count, wants = m->want_count;
	bool known = false, here = false;

	if (m->planned)
		return unc_fail(&m->machine->error, EBUSY,
				"the monitor is planned already: add everything before");
	for (size_t i = 0; i < c->metric_count; i++) {
		const struct uncore_metric *metric = c->metrics[i];
		int r;

		if (!matches(metric, pattern))
			continue;
		known = true;
		if (uncore_metric_missing(metric))
			continue;
		here = true;
		if (has_metric(m, metric))
			continue;
		r = add_metric(m, metric);
		if (r < 0) {
			unc_monitor_roll_back(m, items, wants);
			return r;
		}
	}
	if (!known)
		return no_such_metric(m, pattern);
	return here ? 0 : none_here(m, pattern);
}

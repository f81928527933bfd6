/* SPDX-License-Identifier: MIT */
/* Metrics the user named, resolved to the events of their family's PMUs. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/glob.h"
#include "count/monitor.h"

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

static bool has_metric(const struct uncore_monitor *m, const struct uncore_metric *metric,
		       const char *filter)
{
	for (size_t i = 0; i < m->item_count; i++)
		if (m->items[i].metric == metric &&
		    strcmp(m->items[i].filter ? m->items[i].filter : "", filter) == 0)
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

/* An event of the metric, with a cut's terms put over its own, joins the latest want. */
static int add_event(struct uncore_monitor *m, struct unc_item *item, size_t k,
		     const struct unc_cut *cut, struct unc_error *why)
{
	const struct unc_event_def *event = item->metric->events[k];
	struct unc_want *want = &m->wants[m->want_count - 1];
	struct unc_encoding enc;
	char *terms;
	int r = unc_cut_terms(cut, event, want->pmu, &terms);

	if (r < 0)
		return unc_nomem(why);
	r = unc_pmu_encode(want->pmu, terms, &enc, why) < 0 ? -ENODEV : 0;
	if (r == 0 && event->kernel_scale)
		r = take_scale(m, item, k, &enc);
	if (r == 0)
		r = unc_monitor_wanted(m, want, terms, &enc, 0);
	free(terms);
	return r;
}

/* One PMU and CPU, or a part of what it counts: a want with all events of the metric, and the
 * item's place. */
static int add_place(struct uncore_monitor *m, struct unc_item *item, const struct uncore_pmu *pmu,
		     int cpu, const struct unc_cut *cut, struct unc_error *why)
{
	struct unc_ref refs[UNC_METRIC_EVENTS];
	struct unc_want *want = unc_monitor_want(m, pmu, cpu);

	if (!want)
		return -ENOMEM;
	want->port = cut->port;
	want->together = item->event_count > 1 && unc_formula_is_ratio(item->metric->formula);
	for (size_t k = 0; k < item->event_count; k++) {
		int r = add_event(m, item, k, cut, why);

		if (r < 0)
			return r;
		refs[k] = (struct unc_ref){.want = m->want_count - 1, .event = k};
	}
	return unc_item_place(item, refs) < 0 ? unc_nomem(why) : 0;
}

/* -ENODEV with `why`: it cannot be restricted as asked. */
static int add_on_cpu(struct uncore_monitor *m, struct unc_item *item, const struct uncore_pmu *pmu,
		      int cpu, struct unc_error *why)
{
	struct unc_cuts cuts;
	int r = unc_monitor_cuts(m, item->metric, pmu, cpu, &cuts, why);

	if (r < 0)
		return r;
	for (size_t i = 0; r == 0 && i < cuts.count; i++)
		r = add_place(m, item, pmu, cpu, &cuts.items[i], why);
	unc_cuts_finish(&cuts);
	return r;
}

static int add_on_pmu(struct uncore_monitor *m, struct unc_item *item, const struct uncore_pmu *pmu,
		      struct unc_error *why)
{
	bool per_package = is_per_package(item->metric, pmu);
	size_t places = item->place_count, wants = m->want_count;

	for (size_t i = 0; i < pmu->cpus.count; i++) {
		int r = 0;

		if (!per_package || !unc_monitor_package_seen(m, pmu, i))
			r = add_on_cpu(m, item, pmu, pmu->cpus.ids[i], why);
		if (r == 0)
			continue;
		item->place_count = places;
		unc_monitor_roll_back(m, m->item_count, wants);
		return r;
	}
	return 0;
}

/* The item with what its metric needs before it has places. */
static struct unc_item *new_item(struct uncore_monitor *m, const struct uncore_metric *metric)
{
	struct unc_item *item = unc_monitor_item(m);

	if (!item)
		return NULL;
	item->metric = metric;
	item->event_count = unc_formula_name_count(metric->formula);
	item->scales = calloc(item->event_count, sizeof(*item->scales));
	item->narrowed = m->filters.device || m->filters.port_count;
	if (!item->scales || unc_filters_text(&m->filters, &item->filter) < 0) {
		unc_nomem(&m->machine->error);
		return NULL;
	}
	for (size_t k = 0; k < item->event_count; k++)
		item->scales[k] = 1;
	return item;
}

static int note_unfit(struct uncore_monitor *m, const struct unc_error *why)
{
	struct unc_error note;

	unc_fail(&note, ENODEV, "left out: %s", why->text);
	return unc_monitor_note_once(m, note.text);
}

/* One PMU of the family. -ENODEV with `why`: it cannot be counted, or not so. */
static int try_pmu(struct uncore_monitor *m, struct unc_item *item, const struct uncore_pmu *pmu,
		   struct unc_named *named, struct unc_error *why)
{
	bool counted = false;
	int r = 0;

	if (unc_metric_broken_on(item->metric, pmu, why)) {
		r = unc_item_leave_out(item, why->text);
	} else if (unc_metric_on(item->metric, pmu)) {
		r = add_on_pmu(m, item, pmu, why);
		counted = r == 0;
	} else {
		return 0;
	}
	if (r < 0 && r != -ENODEV)
		return r;
	return unc_named_add(named, m, pmu, counted ? NULL : why) < 0 ? -ENOMEM : r;
}

/* Nothing of the metric can be counted, or not so: the sentence that says most. */
static int fail_metric(struct uncore_monitor *m, const struct unc_item *item,
		       const struct unc_named *named, const struct unc_error *unfit)
{
	struct unc_error *e = &m->machine->error;
	struct unc_text lacking = {0};
	int r;

	for (size_t i = 0; i < item->lacking_count && !lacking.len; i++)
		if (item->lacking[i].why)
			unc_item_lacking_text(item, -1, &lacking);
	if (lacking.failed)
		r = unc_nomem(e);
	else if (unc_named_why(named))
		r = unc_fail(e, ENODEV, "%s", unc_named_why(named));
	else if (lacking.len)
		r = unc_fail(e, ENODEV, "%s", lacking.data);
	else if (unfit->text[0])
		r = unc_fail(e, ENODEV, "%s", unfit->text);
	else if (item->narrowed)
		r = unc_fail(e, ENODEV, "no PMU of %s counts what '%s' names here",
			     item->metric->family->name, item->filter);
	else
		r = unc_fail(e, ENODEV, "%s: %s", item->metric->name,
			     item->left_why ? item->left_why : "no PMU here has its events");
	unc_text_finish(&lacking);
	return r;
}

/* What is told of a metric that is counted. */
static int note_metric(struct uncore_monitor *m, const struct unc_item *item,
		       const struct unc_error *unfit)
{
	/* What the user named is found, so it is not where nobody knows. */
	if (unfit->text[0] && !item->narrowed && note_unfit(m, unfit) < 0)
		return -ENOMEM;
	if (unc_item_note_lacking(m, item) < 0)
		return -ENOMEM;
	/* One by one the PMUs have rows of their own, and this one has none to say it. */
	return item->left_out
		       ? unc_monitor_note(m, "%s: left out: %s", item->metric->name, item->left_why)
		       : 0;
}

/* On every PMU of the family; on the others where one of them cannot be counted, or not so. */
static int add_metric(struct uncore_monitor *m, const struct uncore_metric *metric)
{
	const struct unc_family *f = metric->family;
	struct unc_item *item = new_item(m, metric);
	struct unc_named named = {0};
	struct unc_error unfit = {0};
	int r = item ? 0 : -ENOMEM;

	for (size_t i = 0; r == 0 && i < f->pmu_count; i++) {
		struct unc_error why = {0};

		r = try_pmu(m, item, f->pmus[i], &named, &why);
		if (r == -ENODEV) {
			if (!unfit.text[0])
				unfit = why;
			r = 0;
		}
	}
	if (r == 0)
		r = unc_item_lack(m, item, &named);
	if (r == -ENOMEM)
		unc_nomem(&m->machine->error);
	else if (r == 0)
		r = item->place_count ? note_metric(m, item, &unfit)
				      : fail_metric(m, item, &named, &unfit);
	unc_named_finish(&named);
	return r;
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

/* One of those that match: added, or (`unfit` says why) not, since the filters do not suit it. */
static int try_metric(struct uncore_monitor *m, const struct uncore_metric *metric,
		      struct unc_error *unfit)
{
	size_t items = m->item_count, wants = m->want_count;
	char *filter;
	int r = unc_filters_text(&m->filters, &filter);

	if (r < 0)
		return unc_nomem(&m->machine->error);
	if (!has_metric(m, metric, filter ? filter : ""))
		r = add_metric(m, metric);
	if (r == -ENODEV && filter) {
		unc_monitor_roll_back(m, items, wants);
		if (!unfit->text[0])
			*unfit = m->machine->error;
		r = note_unfit(m, &m->machine->error);
	}
	free(filter);
	return r;
}

int uncore_monitor_add_metrics(struct uncore_monitor *m, const char *pattern)
{
	const struct unc_catalogue *c = &m->machine->catalogue;
	size_t items = m->item_count, wants = m->want_count;
	struct unc_error unfit = {0};
	bool known = false, here = false;

	if (m->state != UNC_MONITOR_NEW)
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
		r = try_metric(m, metric, &unfit);
		if (r < 0) {
			unc_monitor_roll_back(m, items, wants);
			return r;
		}
	}
	if (!known)
		return no_such_metric(m, pattern);
	if (here && m->item_count == items && unfit.text[0])
		return unc_fail(&m->machine->error, ENODEV, "%s", unfit.text);
	return here ? 0 : none_here(m, pattern);
}

/* SPDX-License-Identifier: MIT */
/* A metric on this machine: its events encoded, and why it cannot be counted when it cannot. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "catalogue/catalogue.h"

const char *unc_event_terms(const struct unc_event_def *event, const struct uncore_pmu *pmu)
{
	if (event->absent)
		return NULL;
	if (event->alias && unc_pmu_alias(pmu, event->alias))
		return event->alias;
	if (event->kernel_scale)
		return NULL; /* without the alias there is no scale, and the value would be wrong */
	return event->terms;
}

int unc_event_encode(const struct unc_event_def *event, const struct uncore_pmu *pmu,
		     struct unc_encoding *out, struct unc_error *e)
{
	const char *terms = unc_event_terms(event, pmu);

	if (!terms)
		return unc_fail(e, ENODEV, "%s does not have the event '%s'", pmu->name,
				event->alias ? event->alias : event->name);
	return unc_pmu_encode(pmu, terms, out, e) < 0 ? -ENODEV : 0;
}

bool unc_metric_on(const struct uncore_metric *m, const struct uncore_pmu *pmu)
{
	struct unc_encoding encoding;

	if (!m->formula)
		return false;
	for (size_t i = 0; i < m->formula->names.count; i++)
		if (unc_event_encode(m->events[i], pmu, &encoding, NULL) < 0)
			return false;
	return true;
}

/* False where the PMU lacks a term that the event needs: then it has other events, as a PMU has under a
 * name that the kernel gives to parts it does not know. */
static bool has_terms(const struct unc_event_def *event, const struct uncore_pmu *pmu)
{
	const char *at = unc_event_terms(event, pmu);
	struct unc_assignment a;

	if (!at || at == event->alias || unc_pmu_load(pmu) < 0)
		return at;
	while (unc_assignment_next(&at, &a) == 1)
		if (!unc_pmu_term(pmu, a.name))
			return false;
	return true;
}

bool unc_metric_broken_on(const struct uncore_metric *m, const struct uncore_pmu *pmu,
			  struct unc_error *e)
{
	struct unc_encoding encoding;

	if (!m->formula)
		return false;
	if (pmu->broken) {
		unc_fail(e, EBADMSG, "%s", pmu->broken);
		return true;
	}
	for (size_t i = 0; i < m->formula->names.count; i++)
		if (!has_terms(m->events[i], pmu))
			return false;
	for (size_t i = 0; i < m->formula->names.count; i++)
		if (unc_event_encode(m->events[i], pmu, &encoding, e) < 0)
			return true;
	if (pmu->cpus.count)
		return false;
	unc_fail(e, ENODEV, "%s has no CPU to be counted from: its cpumask is empty", pmu->name);
	return true;
}

static bool is_here(const struct uncore_metric *m)
{
	for (size_t i = 0; i < m->family->pmu_count; i++)
		if (unc_metric_on(m, m->family->pmus[i]))
			return true;
	return false;
}

/* The sentence why no PMU here has all events; NULL when out of memory. */
static char *work_out_missing(const struct uncore_metric *m)
{
	const struct unc_family *f = m->family;
	struct unc_text why = {0};
	struct unc_error e = {0};
	struct unc_encoding encoding;

	if (!f->on_this_cpu)
		unc_text_add(&why, "%s: not for this CPU model", f->title);
	else if (!f->pmu_count)
		unc_text_add(&why, "no PMU named %s on this machine", f->patterns[0].name);
	else if (!m->formula)
		unc_text_add(&why, "no formula for this CPU model");
	else
		for (size_t i = 0; !e.text[0] && i < m->formula->names.count; i++)
			unc_event_encode(m->events[i], f->pmus[0], &encoding, &e);
	if (e.text[0])
		unc_text_add(&why, "%s", e.text);
	return unc_text_take(&why);
}

const char *uncore_metric_missing(const struct uncore_metric *m)
{
	struct uncore_metric *known = (struct uncore_metric *)m;

	if (m->checked)
		return m->missing;
	if (!is_here(m)) {
		known->missing = work_out_missing(m);
		if (!m->missing)
			return "out of memory";
	}
	known->checked = true;
	return m->missing;
}

const char *uncore_metric_name(const struct uncore_metric *m)
{
	return m->name;
}

const char *uncore_metric_title(const struct uncore_metric *m)
{
	return m->title;
}

const char *uncore_metric_unit(const struct uncore_metric *m)
{
	return m->unit;
}

const char *uncore_metric_family(const struct uncore_metric *m)
{
	return m->family->name;
}

const char *uncore_metric_formula(const struct uncore_metric *m)
{
	return m->text ? m->text : "";
}

const char *uncore_metric_evidence(const struct uncore_metric *m)
{
	return m->evidence;
}

static struct uncore_metric_event describe(const struct uncore_metric *m, size_t i)
{
	const struct unc_event_def *event = m->events[i];
	struct uncore_metric_event out = {
		.name = event->name, .title = event->title, .evidence = event->evidence};

	for (size_t k = 0; k < m->family->pmu_count; k++) {
		struct unc_encoding encoding;

		if (unc_event_encode(event, m->family->pmus[k], &encoding, NULL) < 0)
			continue;
		if (!out.pmu) {
			out.pmu = m->family->pmus[k];
			out.terms = unc_event_terms(event, out.pmu);
			memcpy(out.config, encoding.config.word, sizeof(out.config));
		}
		out.pmu_count++;
	}
	return out;
}

size_t uncore_metric_event_count(const struct uncore_metric *m)
{
	struct uncore_metric_event **shown = &((struct uncore_metric *)m)->shown;
	size_t count = m->formula && m->family->pmu_count ? m->formula->names.count : 0;

	if (*shown || !count)
		return count;
	*shown = calloc(count, sizeof(**shown));
	for (size_t i = 0; *shown && i < count; i++)
		(*shown)[i] = describe(m, i);
	return *shown ? count : 0;
}

const struct uncore_metric_event *uncore_metric_event_at(const struct uncore_metric *m, size_t i)
{
	return i < uncore_metric_event_count(m) ? &m->shown[i] : NULL;
}

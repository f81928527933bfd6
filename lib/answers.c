/* SPDX-License-Identifier: MIT */
/* What NVIDIA's library says of GPUs, in a snapshot: no file of the machine has it. */
#include "findings.h"

#include <stdlib.h>
#include <string.h>

static bool has_answers(const struct uncore_pmu *pmu)
{
	return pmu->source == UNC_SOURCE_NVML && pmu->pci;
}

/* A file of the kernel's driver, which also has the GPU's UUID. */
static void add_model(const struct unc_root *root, const char *pci, struct unc_text *to)
{
	char *text = NULL;
	const char *model;
	size_t len = 0;

	if (unc_root_read(root, UNC_PATH("proc/driver/nvidia/gpus/%s/information", pci), &text) < 0)
		return;
	model = unc_find_value(text, "Model", &len);
	if (model)
		unc_text_add(to, "model: %.*s\n", (int)len, model);
	free(text);
}

/* The counter of a GPU's event, of a monitor that was planned; NULL: the GPU does not have it. */
static const struct uncore_counter *counter_of(const struct uncore_monitor *m,
					       const struct uncore_pmu *pmu, const char *event,
					       const struct uncore_reading **reading)
{
	for (size_t i = 0; m && i < uncore_monitor_counter_count(m); i++) {
		const struct uncore_counter *c = uncore_monitor_counter_at(m, i);
		const struct unc_event_def *def = c->pmu == pmu ? unc_device_event_of(c) : NULL;

		*reading = uncore_monitor_reading_at(m, i);
		if (def && strcmp(def->name, event) == 0)
			return c;
	}
	return NULL;
}

/* Adds the line of an event: "counted", the value of one that describes the GPU, or the reason
 * after an exclamation mark. */
static void add_answer(const struct uncore_monitor *m, const struct uncore_pmu *pmu,
		       const struct unc_event_def *event, const char *error, struct unc_text *to)
{
	const struct uncore_reading *reading = NULL;
	const struct uncore_counter *c = error ? NULL : counter_of(m, pmu, event->name, &reading);
	const char *why = error ? error : !c ? "unknown" : c->error ? c->why : NULL;
	size_t len = strlen(pmu->name);

	if (why && strncmp(why, pmu->name, len) == 0 && why[len] == ':')
		why += len + 1 + strspn(why + len + 1, " ");
	unc_text_add(to, "%s: ", event->name);
	if (why)
		unc_text_add(to, "! %s\n", why);
	else if (event->state && event->reads->call && reading && !reading->lost)
		unc_text_add(to, "%llu\n", (unsigned long long)reading->raw);
	else
		unc_text_add(to, "counted\n");
}

/* Opens all events of all GPUs: the library is asked once. Returns 0 or a negative errno. */
static int ask(struct uncore *u, struct uncore_monitor **m)
{
	size_t added = 0;
	int r = uncore_monitor_new(m, u);

	for (size_t i = 0; i < u->pmus.count; i++) {
		const struct uncore_pmu *pmu = &u->pmus.items[i];

		for (size_t k = 0; r == 0 && has_answers(pmu) && k < pmu->def_count; k++) {
			r = uncore_monitor_add_events(*m, UNC_PATH("%s/%s/", pmu->name,
								   pmu->defs[k].name));
			added++;
		}
	}
	if (r == 0 && added)
		r = uncore_monitor_open(*m);
	return r == 0 && added ? uncore_monitor_start(*m) : r;
}

void unc_answers_add(struct uncore *u, struct unc_tree *tree)
{
	struct uncore_monitor *m = NULL;
	struct unc_text error = {0};

	if (!unc_root_is_live(u->root) && u->ops != &unc_source_files)
		return;
	if (ask(u, &m) < 0)
		unc_text_add(&error, "%s", uncore_error(u));
	for (size_t i = 0; i < u->pmus.count; i++) {
		const struct uncore_pmu *pmu = &u->pmus.items[i];
		struct unc_text text = {0};

		if (!has_answers(pmu))
			continue;
		add_model(u->root, pmu->pci, &text);
		for (size_t k = 0; k < pmu->def_count; k++)
			add_answer(m, pmu, &pmu->defs[k], error.data, &text);
		tree->failed |= text.failed;
		if (text.len && !text.failed)
			unc_tree_add(tree, UNC_FILE, UNC_PATH(UNC_ANSWERS "/%s", pmu->pci),
				     text.data, text.len);
		unc_text_finish(&text);
	}
	uncore_monitor_free(m);
	tree->failed |= error.failed;
	unc_text_finish(&error);
}

/* The reason why an event is not counted, by the line of the file, and its length; NULL: it is
 * counted. */
static const char *find_reason(const char *text, const char *event, size_t *len)
{
	const char *answer = unc_find_value(text, event, len);

	if (!answer || *len < 2 || strncmp(answer, "! ", 2) != 0)
		return NULL;
	*len -= 2;
	return answer + 2;
}

/* Adds each reason once, behind the events that have it. */
static void add_reasons(const struct uncore_pmu *pmu, const char *text, struct unc_text *to)
{
	for (size_t i = 0; i < pmu->def_count; i++) {
		size_t len = 0, other = 0;
		const char *why = find_reason(text, pmu->defs[i].name, &len), *at;
		bool first = why;

		for (size_t k = 0; first && k < i; k++) {
			at = find_reason(text, pmu->defs[k].name, &other);
			first = !at || other != len || memcmp(at, why, len) != 0;
		}
		if (!first)
			continue;
		unc_text_add(to, "%s%s", to->len ? "; " : "", pmu->defs[i].name);
		for (size_t k = i + 1; k < pmu->def_count; k++) {
			at = find_reason(text, pmu->defs[k].name, &other);
			if (at && other == len && memcmp(at, why, len) == 0)
				unc_text_add(to, ", %s", pmu->defs[k].name);
		}
		unc_text_add(to, ": %.*s", (int)len, why);
	}
}

/* Describes the GPU by the lines of its file. */
static void describe(const struct uncore_pmu *pmu, const char *text, struct unc_draft *d)
{
	size_t len = 0, counted = 0;
	const char *model = unc_find_value(text, "model", &len), *peak;

	if (model)
		unc_text_add(&d->found, "%.*s; ", (int)len, model);
	for (size_t i = 0; i < pmu->def_count; i++)
		counted += unc_find_value(text, pmu->defs[i].name, &len) &&
			   !find_reason(text, pmu->defs[i].name, &len);
	add_reasons(pmu, text, &d->why);
	unc_text_add(&d->found,
		     "NVIDIA's library gave %zu of %zu counts when the snapshot was made", counted,
		     pmu->def_count);
	peak = unc_find_value(text, "memory_peak", &len);
	if (peak && *peak != '!')
		unc_text_add(&d->found, "; its memory transfers at most %llu GB/s",
			     strtoull(peak, NULL, 10) / 1000000000);
}

int unc_answers_check(struct uncore *u)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < u->pmus.count; i++) {
		const struct uncore_pmu *pmu = &u->pmus.items[i];
		struct unc_draft d = {.verdict = UNCORE_VERDICT_NOTE, .subject = pmu->name};
		char *text = unc_device_answers(pmu);

		if (text) {
			describe(pmu, text, &d);
			r = unc_finding_add(u, &d);
		}
		free(text);
	}
	return r;
}

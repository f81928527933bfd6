/* SPDX-License-Identifier: MIT */
/* Every metric of every family, on every CPU model of the data files: its events fit into the counters
 * and filters of a PMU, or it is a sum that is counted in rounds, or it is listed here. */
#include <regex.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/data-file.h"
#include "data.h"

/* A quotient whose events have several opcodes, and a box has one filter: the kernel multiplexes them,
 * and a register block refuses them. */
static const struct {
	const char *family, *metric;
} multiplexed[] = {
	{"intel-cbox", "pcie.inbound.write.llc.hit.ratio"},
	{"intel-cbox", "pcie.inbound.write.llc.miss.ratio"},
	{"intel-cha", "pcie.inbound.write.llc.hit.ratio"},
	{"intel-cha", "pcie.inbound.write.llc.miss.ratio"},
	{"intel-cha", "memory.local.read.ratio"},
	{"intel-cha", "memory.remote.read.ratio"},
};

/* The value of a term in "event=0x35,filter_opc=0x182", 0 if it is not set. */
static uint64_t term_of(const char *terms, const char *name)
{
	struct unc_assignment a;

	while (unc_assignment_next(&terms, &a) == 1)
		if (strcmp(a.name, name) == 0)
			return a.has_value ? strtoull(a.value, NULL, 0) : 1;
	return 0;
}

static bool applies(const struct unc_rule *rule, const char *terms)
{
	for (size_t i = 0; i < rule->terms.count; i++)
		if (term_of(terms, rule->terms.items[i]))
			return true;
	return false;
}

/* Whether filters of the two events exclude each other. */
static bool conflict(const struct unc_family *f, const char *a, const char *b)
{
	for (size_t r = 0; r < f->rule_count; r++) {
		const struct unc_rule *rule = &f->rules[r];

		if (rule->kind != UNC_RULE_GROUP || rule->other_model || !applies(rule, a) ||
		    !applies(rule, b))
			continue;
		for (size_t i = 0; i < rule->terms.count; i++)
			if (term_of(a, rule->terms.items[i]) != term_of(b, rule->terms.items[i]))
				return true;
	}
	return false;
}

static bool fits(const struct uncore_metric *m)
{
	const struct unc_family *f = m->family;
	size_t count = m->formula->names.count;
	const char *terms[UNC_METRIC_EVENTS];

	for (size_t i = 0; i < count; i++) {
		terms[i] = m->events[i]->terms;
		for (size_t k = 0; terms[i] && k < i; k++)
			if (terms[k] && conflict(f, terms[i], terms[k]))
				return false;
	}
	return !f->counters || count <= f->counters;
}

static bool is_listed(const struct uncore_metric *m)
{
	for (size_t i = 0; i < COUNT(multiplexed); i++)
		if (strcmp(m->family->name, multiplexed[i].family) == 0 &&
		    strcmp(m->name, multiplexed[i].metric) == 0)
			return true;
	return false;
}

static bool is_this(const struct unc_index *index, void *context)
{
	return index == context;
}

/* A family as it is on one CPU model. */
static void load(struct unc_catalogue *c, size_t file, const char *model)
{
	*c = (struct unc_catalogue){.cpu_model = model, .kernel = ""};
	assert_int_equal(
		unc_catalogue_add_built_in(c, is_this, (void *)&unc_embedded_index[file], NULL), 0);
	assert_int_equal(c->family_count, 1);
}

/* The CPU models that a data file names, each once, and one that it does not name: for all others the
 * family is the same. */
static void find_models(struct unc_names *models, size_t file)
{
	regex_t model;
	regmatch_t found;

	assert_int_equal(regcomp(&model, "(intel|amd)/[0-9]+/[0-9]+", REG_EXTENDED), 0);
	for (const char *at = unc_embedded_data[file].text; !regexec(&model, at, 1, &found, 0);
	     at += found.rm_eo) {
		char name[40];

		snprintf(name, sizeof(name), "%.*s", (int)(found.rm_eo - found.rm_so),
			 at + found.rm_so);
		if (!unc_names_has(models, name))
			assert_int_equal(unc_names_add(models, name), 0);
	}
	regfree(&model);
	assert_int_equal(unc_names_add(models, "unknown"), 0);
}

/* How many metrics have room at once, are sums counted in rounds, and are listed. */
static void count_metrics(const struct unc_family *f, const char *model, size_t counts[3])
{
	for (size_t k = 0; k < f->metric_count; k++) {
		const struct uncore_metric *m = &f->metrics[k];

		if (!m->formula)
			continue;
		if (fits(m))
			counts[0]++;
		else if (m->formula->sum && !m->histogram && !m->over && !m->unless)
			counts[1]++;
		else if (is_listed(m))
			counts[2]++;
		else
			fail_msg("%s: %s/%s", model, f->name, m->name);
	}
}

static void every_metric_has_room(void **state)
{
	size_t counts[3] = {0}, most = 0;

	(void)state;
	for (size_t file = 0; file < unc_embedded_data_count; file++) {
		struct unc_names models = {0};

		find_models(&models, file);
		most = models.count > most ? models.count : most;
		for (size_t i = 0; i < models.count; i++) {
			struct unc_catalogue c;

			load(&c, file, models.items[i]);
			count_metrics(c.families[0], models.items[i], counts);
			unc_catalogue_finish(&c);
		}
		unc_names_finish(&models);
	}
	assert_true(most > 40);
	assert_true(counts[0] > 2000);
	assert_int_equal(counts[1], 42);
	assert_int_equal(counts[2], 10);
}

/* Of a link of QPI or UPI: linux arch/x86/events/intel/uncore_snbep.c, num_counters of
 * snbep_uncore_qpi, hswep_uncore_qpi, skx_uncore_upi and icx_uncore_upi. */
#define LINK_COUNTERS 4

/* The events of the default metrics of links, if the share is one of them. */
static bool find_link_events(const struct unc_family *f, struct unc_names *events)
{
	bool share = false;

	for (size_t k = 0; k < f->metric_count; k++)
		share |= f->metrics[k].headline == 5 &&
			 strcmp(f->metrics[k].name, "link.out.utilization") == 0;
	for (size_t k = 0; share && k < f->metric_count; k++) {
		const struct uncore_metric *m = &f->metrics[k];

		if (m->headline != 5 || !m->formula)
			continue;
		for (size_t e = 0; e < m->formula->names.count; e++)
			if (!unc_names_has(events, m->events[e]->name))
				assert_int_equal(unc_names_add(events, m->events[e]->name), 0);
	}
	return share;
}

/* The events of the default metrics of links fit into their counters: their share costs no
 * multiplexing. */
static void links_have_room_for_their_share(void **state)
{
	size_t shares = 0;

	(void)state;
	for (size_t file = 0; file < unc_embedded_data_count; file++) {
		struct unc_names models = {0};

		find_models(&models, file);
		for (size_t i = 0; i < models.count; i++) {
			struct unc_names events = {0};
			struct unc_catalogue c;

			load(&c, file, models.items[i]);
			shares += find_link_events(c.families[0], &events);
			if (events.count > LINK_COUNTERS)
				fail_msg("%s: %s: %zu events", models.items[i], c.families[0]->name,
					 events.count);
			unc_names_finish(&events);
			unc_catalogue_finish(&c);
		}
		unc_names_finish(&models);
	}
	assert_true(shares > 10);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_metric_has_room),
		cmocka_unit_test(links_have_room_for_their_share),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}

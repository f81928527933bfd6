/* SPDX-License-Identifier: MIT */
/* Which PMUs, events and metrics a pattern of `uncore list` means. */
#include "views/list.h"

bool list_takes_pmu(const struct list_options *o, const struct uncore_pmu *pmu)
{
	const char *alias = uncore_pmu_alias(pmu);
	const char *family = uncore_pmu_family(pmu);

	return !o->pattern || cli_matches(o->pattern, uncore_pmu_name(pmu)) ||
	       (alias && cli_matches(o->pattern, alias)) ||
	       (family && cli_matches(o->pattern, family));
}

/* As its name, or as it is written: "pmu/alias/". */
bool list_takes_alias(const struct list_options *o, const struct uncore_pmu *pmu,
		      const struct uncore_alias *alias)
{
	struct buffer text = {0};
	bool takes;

	if (!o->pattern || cli_matches(o->pattern, alias->name))
		return true;
	buffer_printf(&text, "%s/%s/", uncore_pmu_name(pmu), alias->name);
	buffer_add(&text, "", 1);
	takes = cli_matches(o->pattern, text.data);
	buffer_free(&text);
	return takes;
}

bool list_takes_metric(const struct list_options *o, const struct uncore_metric *metric)
{
	if (!o->all && uncore_metric_missing(metric))
		return false;
	return !o->pattern || cli_matches(o->pattern, uncore_metric_name(metric)) ||
	       cli_matches(o->pattern, uncore_metric_family(metric)) ||
	       cli_matches(o->pattern, uncore_metric_title(metric));
}

/* SPDX-License-Identifier: MIT */
/* From queries to a planned monitor. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/buffer.h"
#include "base/replay.h"
#include "loop/loop.h"

/* This machine has a metric of this name, if perhaps not as the filters want it. */
static bool has_metric(const struct uncore *u, const char *pattern)
{
	for (size_t i = 0; i < uncore_metric_count_here(u); i++)
		if (uncore_metric_matches(uncore_metric_at(u, i), pattern) &&
		    !uncore_metric_missing(uncore_metric_at(u, i)))
			return true;
	return false;
}

bool plan_is_countable(struct cli *cli, const struct request *request, const char *metrics)
{
	auto_free char *copy = cli_copy(metrics);
	char *rest = copy, *pattern;
	struct uncore_monitor *m = NULL;
	int err = uncore_monitor_new(&m, cli->u);
	bool found = false;

	for (size_t i = 0; !err && request && i < REQUEST_FILTERS; i++)
		if (request->filters[i].value)
			err = uncore_monitor_set_filter(m, request->filters[i].name,
							request->filters[i].value);
	while (!err && !found && (pattern = strsep(&rest, ",")))
		found = has_metric(cli->u, pattern) && uncore_monitor_add_metrics(m, pattern) == 0;
	uncore_monitor_free(m);
	return found;
}

void plan_leave_out_presets(struct cli *cli, struct request *request)
{
	struct request kept = *request;
	auto_buffer left = {0};

	kept.preset_count = 0;
	for (size_t i = 0; i < request->preset_count; i++)
		if (plan_is_countable(cli, request, request->presets[i].command->metrics))
			kept.presets[kept.preset_count++] = request->presets[i];
		else
			buffer_printf(&left, " %s", request->presets[i].command->name);
	if (left.len && (kept.preset_count || kept.query_count)) {
		cli_error("note: presets that %s are left out:%s",
			  request->filtered ? "cannot be counted with these filters"
					    : "nothing here counts",
			  left.data);
		*request = kept;
	}
}

/* The commands that can count in place of this one: itself without its filters or its view, and
 * presets with its filters. */
static void put_alternatives(struct cli *cli, const struct request *request, const char *metrics,
			     struct buffer *to)
{
	static const char *const begins[] = {"; this works here: ", ", "};
	const struct command *own = cli->command;
	size_t count = 0;

	if (request->filtered && request->preset && plan_is_countable(cli, NULL, metrics)) {
		const char *name = request->preset->name;

		buffer_printf(to, "%suncore %s", begins[!!count++], own->name);
		if (strcmp(own->name, name) != 0)
			buffer_printf(to, own->view ? " --%s" : " %s", name);
	}
	for (const struct command *c = cli->presets; c && c->name; c++) {
		if (!c->metrics || c == request->preset || (!request->filtered && c != own) ||
		    !plan_is_countable(cli, request, c->metrics))
			continue;
		buffer_printf(to, "%suncore %s", begins[!!count++], c->name);
		for (size_t i = 0; i < REQUEST_FILTERS; i++)
			if (request->filters[i].value)
				buffer_printf(to, " --%s %s", request->filters[i].name,
					      request->filters[i].value);
	}
	for (size_t i = 0; request->filtered && count < 2 && i < REQUEST_FILTERS; i++) {
		const struct request_filter *filter = &request->filters[i];
		const struct uncore_words *words =
			filter->value ? uncore_words_find(cli->u, filter->name) : NULL;

		if (words && words->see && !(count && strstr(to->data, words->see)))
			buffer_printf(to, "%s%s", begins[!!count++], words->see);
	}
}

/* None of the metrics can be counted here: prints why, and what works or, where the reason has
 * none, the fixes for missing PMUs. */
static int nothing_here(struct cli *cli, const struct request *request, const char *metrics,
			const char *why)
{
	auto_buffer text = {0};

	buffer_puts(&text, why);
	if (!cli->replay)
		put_alternatives(cli, request, metrics, &text);
	cli_error("%s", text.data);
	if (!strstr(why, "Fix: ") && text.len == strlen(why))
		cli_advise(cli, metrics);
	return CLI_UNAVAILABLE;
}

static int set_levels(const struct request *request, struct uncore_monitor *m,
		      enum uncore_level level)
{
	int err = uncore_monitor_set_level(m, level);

	/* All levels of the output, or those above the level of the option; nodes only with their
	 * option. */
	for (int i = 0; !err && !request->tree && i < (request->level ? (int)request->level : 32);
	     i++)
		if (request->levels >> i & 1 && i != UNCORE_LEVEL_NODE)
			err = uncore_monitor_add_level(m, (enum uncore_level)i);
	/* Channels have numbers on their socket. Links and caches come with the ports. */
	if (!err && request->tree && level == UNCORE_LEVEL_MACHINE &&
	    !(err = uncore_monitor_add_level(m, UNCORE_LEVEL_CHANNEL)))
		err = uncore_monitor_add_level(m, UNCORE_LEVEL_SOCKET);
	return err;
}

/* Whether all metrics of this machine that match are of devices that count themselves. */
static bool is_of_devices(const struct uncore *u, const char *pattern)
{
	bool any = false;

	for (size_t i = 0; i < uncore_metric_count_here(u); i++) {
		const struct uncore_metric *metric = uncore_metric_at(u, i);

		if (!uncore_metric_matches(metric, pattern) || uncore_metric_missing(metric))
			continue;
		if (!uncore_metric_is_of_device(metric))
			return false;
		any = true;
	}
	return any;
}

static int add_pattern(const struct cli *cli, const struct request *request,
		       struct uncore_monitor *m, enum uncore_level level, const char *pattern)
{
	bool each = request->device_level && (!request->level || request->level_of_preset) &&
		    is_of_devices(cli->u, pattern);
	int err = each ? uncore_monitor_set_level(m, request->device_level) : 0;

	if (!err)
		err = uncore_monitor_add_metrics(m, pattern);
	if (!err && each)
		err = set_levels(request, m, level);
	return err;
}

/* Whether it is a subject is asked only if no metric has the name: that needs all families. */
static int add_metrics(const struct cli *cli, const struct request *request,
		       struct uncore_monitor *m, enum uncore_level level, const char *text)
{
	int err = add_pattern(cli, request, m, level, text);
	auto_free char *pattern = err == -ENOENT ? cli_pattern(cli->u, text) : NULL;

	return pattern && strcmp(pattern, text) != 0 ? add_pattern(cli, request, m, level, pattern)
						     : err;
}

static int add_queries(struct cli *cli, const struct request *request, struct uncore_monitor *m,
		       enum uncore_level level)
{
	for (size_t i = 0; i < request->query_count; i++) {
		const struct request_query *q = &request->queries[i];
		auto_free char *list = cli_copy(q->text);
		char *rest = list, *pattern;
		int err = q->metric ? 0 : uncore_monitor_add_events(m, list);

		while (q->metric && !err && (pattern = strsep(&rest, ",")))
			err = add_metrics(cli, request, m, level, pattern);
		if (err == -ENODEV && q->metric)
			return nothing_here(cli, request, q->text, uncore_error(cli->u));
		if (err)
			return cli_fail(cli, err);
	}
	return CLI_OK;
}

/* The position of the first of the patterns, which `|` separates, that the metric matches. */
static const char *first_match(const struct uncore_metric *metric, const char *patterns)
{
	auto_free char *list = cli_copy(patterns);
	char *rest = list, *one;

	while (!uncore_metric_missing(metric) && (one = strsep(&rest, "|")))
		if (uncore_metric_matches(metric, one))
			return patterns + (one - list);
	return NULL;
}

/* Adds for each family the metrics of the first pattern that it has: "a.*|b.*". */
static int add_first(struct cli *cli, const struct request *request, struct uncore_monitor *m,
		     enum uncore_level level, const char *patterns)
{
	const struct uncore *u = cli->u;
	bool added = false;

	for (size_t i = 0; i < uncore_metric_count_here(u); i++) {
		const struct uncore_metric *metric = uncore_metric_at(u, i);
		const char *at = first_match(metric, patterns);
		auto_buffer name = {0};
		bool later = false;
		int err;

		for (size_t k = 0; at && !later && k < uncore_metric_count_here(u); k++) {
			const struct uncore_metric *other = uncore_metric_at(u, k);
			const char *before = first_match(other, patterns);

			later = before && before < at &&
				strcmp(uncore_metric_family(other), uncore_metric_family(metric)) ==
					0;
		}
		if (!at || later)
			continue;
		buffer_printf(&name, "%s/%s", uncore_metric_family(metric),
			      uncore_metric_name(metric));
		err = add_metrics(cli, request, m, level, name.data);
		if (err && err != -ENODEV)
			return err;
		added |= !err;
	}
	return added ? 0 : -ENODEV;
}

/* At least one pattern of a preset must be countable: a machine may have none of the metrics of
 * another. Patterns behind "else" are for machines that have none of those before it, patterns
 * behind "and" for all machines, and patterns behind "|" for families that have none before it.
 * If none is countable, the reason is that of a metric that the machine has, of the last of
 * these lists, which is the most general. */
static int add_any(struct cli *cli, const struct request *request, struct uncore_monitor *m,
		   enum uncore_level level, const char *list)
{
	auto_free char *copy = cli_copy(list);
	char *rest = copy, *pattern, *absent = NULL, why[1024] = "";
	bool added = false, failed = false, specific = false, skip = false;
	int err = 0;

	while (!failed && (pattern = strsep(&rest, ","))) {
		const bool has = has_metric(cli->u, pattern), either = strchr(pattern, '|');

		if (strcmp(pattern, "else") == 0 || strcmp(pattern, "and") == 0) {
			skip = *pattern == 'e' && added;
			specific = false;
			continue;
		}
		if (!skip && !has && !either && !*why && !absent)
			absent = pattern; /* why: needs all families */
		if (skip || (!has && !either))
			continue;
		err = either ? add_first(cli, request, m, level, pattern)
			     : add_metrics(cli, request, m, level, pattern);
		added |= !err;
		failed = err && err != -ENODEV && err != -ENOENT;
		if (!err || ((*why || absent) && (specific || !has)))
			continue;
		specific = has;
		absent = NULL;
		snprintf(why, sizeof(why), "%s", uncore_error(cli->u));
	}
	if (!added && !failed && absent && add_metrics(cli, request, m, level, absent))
		snprintf(why, sizeof(why), "%s", uncore_error(cli->u));
	if (failed)
		return cli_fail(cli, err);
	return added ? CLI_OK : nothing_here(cli, request, list, why);
}

/* What a first look shows: the few metrics that the catalogue names for it. A machine with none of
 * them has so few that all are shown, and so does a filter that selects metrics by itself. */
static int add_headline(struct cli *cli, const struct request *request, struct uncore_monitor *m,
			enum uncore_level level)
{
	bool added = false;
	char name[256];

	/* Those of the overview take no counters of the others. */
	for (unsigned place = 1; !request->restricted && place <= (request->overview ? 10 : 9);
	     place++) {
		for (size_t i = 0; i < uncore_metric_count_here(cli->u); i++) {
			const struct uncore_metric *metric = uncore_metric_at(cli->u, i);
			int err;

			if (uncore_metric_missing(metric) ||
			    (place <= 9 ? uncore_metric_headline(metric) != place
					: uncore_metric_headline(metric) ||
						  !uncore_metric_in_overview(metric)))
				continue;
			snprintf(name, sizeof(name), "%s/%s", uncore_metric_family(metric),
				 uncore_metric_name(metric));
			err = add_metrics(cli, request, m, level, name);
			if (err && (place <= 9 || err != -ENODEV))
				return cli_fail(cli, err);
			added |= !err;
		}
	}
	return added ? CLI_OK : add_any(cli, request, m, level, "*");
}

/* At other levels it may have other counters, which were not recorded. */
static int set_recorded_levels(struct uncore_monitor *m, unsigned levels)
{
	bool set = false;
	int err = 0;

	for (int i = 0; !err && i < 32; i++) {
		if (!(levels >> i & 1))
			continue;
		err = set ? uncore_monitor_add_level(m, (enum uncore_level)i)
			  : uncore_monitor_set_level(m, (enum uncore_level)i);
		set = true;
	}
	return err;
}

/* What was recorded, with the filters of then. */
static int add_recorded(struct cli *cli, const struct request *request, struct uncore_monitor *m,
			enum uncore_level level)
{
	const struct replay *replay = cli->replay;
	bool added = false;

	for (size_t i = 0; i < replay->query_count; i++) {
		const struct replay_query *q = &replay->queries[i];
		bool whole = request->as_whole && q->levels >> UNCORE_LEVEL_MACHINE & 1;
		unsigned levels = whole ? 1u << UNCORE_LEVEL_MACHINE : q->levels;
		int err = request->as_recorded || request->as_whole ? set_recorded_levels(m, levels)
								    : 0;

		if (err)
			return cli_fail(cli, err);
		/* Whole PMUs have other counters than the ports that were recorded: their sum would
		 * lack some of them. */
		if (request->tree && level == UNCORE_LEVEL_MACHINE &&
		    q->levels >> UNCORE_LEVEL_PORT & 1 &&
		    !(q->levels >> UNCORE_LEVEL_MACHINE & 1)) {
			added = true; /* with the ports */
			continue;
		}
		err = q->metric ? add_metrics(cli, request, m, level, q->text)
				: uncore_monitor_add_events(m, q->text);

		if (err == -ENOMEM)
			return cli_fail(cli, err);
		if (err && request->verbose)
			cli_error("%s was recorded and is left out: %s", q->text,
				  uncore_error(cli->u));
		added = added || !err;
	}
	return added ? CLI_OK : add_headline(cli, request, m, level);
}

/* The filters of a recording, "from=cpu to=memory": with others its counters would not be found. */
static int set_recorded_filter(struct uncore_monitor *m, const char *text)
{
	auto_free char *copy = cli_copy(text);
	char *rest = copy, *word;
	int err = 0;

	while (!err && (word = strsep(&rest, " "))) {
		char *value = strchr(word, '=');

		if (!value)
			continue;
		*value++ = '\0';
		err = uncore_monitor_set_filter(m, word, value);
	}
	return err;
}

void plan_print_notes(const struct request *request, const struct uncore_monitor *m, size_t first)
{
	size_t count = uncore_monitor_note_count(m) - first;
	bool all = request->verbose ||
		   request->filtered; /* notes tell what filters could not include */

	/* Events are the user's own choice: what the data files know of them belongs on the
	 * screen. */
	for (size_t i = 0; i < request->query_count; i++)
		all |= !request->queries[i].metric;
	/* With all levels, many notes only say that a metric has no row at one of them. */
	if (count && !all && !request->tree && !(request->overview && !request->query_count))
		cli_error("%zu note%s; -v prints %s", count, count == 1 ? "" : "s",
			  count == 1 ? "it" : "them");
	for (size_t i = 0; all && i < count; i++)
		cli_error("note: %s", uncore_monitor_note_at(m, first + i));
}

static int add_all(struct cli *cli, const struct request *request, struct uncore_monitor *m,
		   enum uncore_level level)
{
	int err = set_levels(request, m, level), status = CLI_OK;

	if (err)
		status = cli_fail(cli, err);
	else if (request->preset)
		status = add_any(cli, request, m, level, request->preset->metrics);
	else if (request->headline || (!request->query_count && !request->preset_count))
		status = cli->replay ? add_recorded(cli, request, m, level)
				     : add_headline(cli, request, m, level);
	return status ? status : add_queries(cli, request, m, level);
}

/* Each preset as the command of its name counts it, so that a recording has the counters of that
 * command. */
static int add_presets(struct cli *cli, const struct request *request, struct uncore_monitor *m)
{
	int status = CLI_OK;

	for (size_t i = 0; !status && i < request->preset_count; i++) {
		const struct command *preset = request->presets[i].command;
		struct request one = *request;

		one.preset = preset;
		if (request->presets[i].has_levels)
			one.levels = request->presets[i].levels;
		one.level_of_preset = !request->level;
		one.level = request->level  ? request->level
			    : preset->level ? preset->level
					    : request->default_level;
		one.query_count = 0;
		status = add_all(cli, &one, m, one.level);
	}
	return status;
}

/* A recording has the counters of root ports, and seldom those of all ports of a PMU. */
static int add_extra_of_recording(struct cli *cli, const struct request *request,
				  struct uncore_monitor *m)
{
	struct request ports = *request;
	int err = uncore_monitor_set_extra_rows(m, true), status;

	if (err)
		return cli_fail(cli, err);
	ports.level = UNCORE_LEVEL_PORT;
	ports.levels = 0;
	ports.as_recorded = ports.as_whole = false;
	for (size_t i = 0; i < ports.preset_count; i++)
		ports.presets[i].has_levels = false;
	status = add_presets(cli, &ports, m);
	return status ? status : add_all(cli, &ports, m, UNCORE_LEVEL_PORT);
}

int plan_make(struct cli *cli, const struct request *request, bool rounds,
	      struct uncore_monitor **out)
{
	const struct replay *replay = cli->replay;
	struct uncore_monitor *m = NULL;
	/* The metrics of a preset, and those of a first look, fit together: they leave out what is
	 * `apart`, in rounds, too. */
	bool first =
		request->preset ? request->viewed : request->query_count || request->preset_count;
	int err = uncore_monitor_new(&m, cli->u), status = CLI_OK;

	rounds = rounds && !replay;
	if (!err && first && rounds)
		err = uncore_monitor_set_rounds(m);
	if (!err && request->cheap && request->when.interval_ns >= NS_PER_S && !request->sample_ns)
		err = uncore_monitor_set_cheap(m);
	if (!err && request->extra && !request->sample_ns && !replay)
		err = uncore_monitor_set_extra_rows(m, false);
	if (!err && request->sample_ns)
		err = uncore_monitor_set_short_samples(m, (double)request_above(request) / 100);
	for (size_t i = 0; !err && i < REQUEST_FILTERS; i++)
		if (request->filters[i].value)
			err = uncore_monitor_set_filter(m, request->filters[i].name,
							request->filters[i].value);
	if (!err && replay && replay->query_count && !request->filtered && !request->query_count)
		err = set_recorded_filter(m, replay->queries[0].filter);
	status = err ? cli_fail(cli, err) : add_presets(cli, request, m);
	if (!status && request->tree)
		status = add_all(cli, request, m, UNCORE_LEVEL_MACHINE);
	if (!status)
		status = add_all(cli, request, m,
				 request->tree    ? UNCORE_LEVEL_PORT
				 : request->level ? request->level
						  : request->default_level);
	if (!status && replay && request->extra && !request->sample_ns)
		status = add_extra_of_recording(cli, request, m);
	if (!status && !first && rounds)
		err = uncore_monitor_set_rounds(m);
	if (!status && !err)
		err = uncore_monitor_plan(m);
	if (!status && err)
		status = cli_fail(cli, err);
	if (!status)
		*out = m;
	else
		uncore_monitor_free(m);
	return status;
}

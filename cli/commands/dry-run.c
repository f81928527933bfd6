/* SPDX-License-Identifier: MIT */
/* --dry-run: prints every planned counter. */
#include "base/writer.h"
#include "commands/stat.h"
#include "loop/plan.h"

static void text_row(struct table *t, const struct uncore_counter *c, bool rounds)
{
	size_t words = UNCORE_CONFIG_WORDS;
	auto_buffer config = {0};

	while (words > 1 && !c->config[words - 1])
		words--;
	for (size_t i = 0; i < words; i++)
		buffer_printf(&config, "%s0x%llx", i ? " " : "", (unsigned long long)c->config[i]);
	table_cell(t, "%s", c->event);
	table_cell(t, "%s", uncore_pmu_name(c->pmu));
	table_cell(t, "%u", uncore_pmu_type(c->pmu));
	table_cell(t, "%s", config.data);
	table_cell(t, "%d", c->cpu);
	table_cell(t, "%zu", c->group);
	table_cell(t, "%s", c->leader ? "leader" : "");
	if (rounds)
		table_cell(t, "%zu", c->round + 1);
	table_end_row(t, NULL);
}

static void print_record(struct out *out, const struct uncore_counter *c)
{
	const struct field fields[] = {
		{"schema", value_count(JSON_SCHEMA)},
		{"source", value_text(out->setup.source)},
		{"simulated", value_flag(out->setup.simulated)},
		{"kind", value_text("counter")},
		{"event", value_text(c->event)},
		{"pmu", value_text(uncore_pmu_name(c->pmu))},
		{"type", value_count(uncore_pmu_type(c->pmu))},
		{"config", value_json(json_hex_list(c->config, UNCORE_CONFIG_WORDS))},
		{"cpu", value_id(c->cpu)},
		{"group", value_count(c->group)},
		{"leader", value_flag(c->leader)},
		{"round", value_count(c->round)},
		{0},
	};

	out->output->record(out, fields);
}

int stat_dry_run(struct cli *cli, const struct stat_options *o, const struct uncore_monitor *m)
{
	bool rounds = uncore_monitor_round_count(m) > 1;
	const struct table_column columns[] = {
		{"EVENT", TABLE_ALONE}, {"PMU", false},
		{"TYPE", true},         {"CONFIG", false},
		{"CPU", true},          {"GROUP", true},
		{"LEADER", false},      {rounds ? "ROUND" : NULL, true},
		{NULL, false},
	};
	struct writer w;
	struct out out = {.output = o->print.output,
			  .setup = {.source = uncore_source(cli->u),
				    .simulated = uncore_is_simulated(cli->u)},
			  .to = &w.text};
	int status;

	plan_print_notes(&o->request, m, 0);
	status = writer_open(&w, o->print.file, o->print.append);
	table_init(&out.table, columns);
	if (!status && !o->print.output->record && out.setup.simulated)
		buffer_printf(&w.text, "SIMULATED by %s: no counter of this machine.\n",
			      out.setup.source);
	for (size_t i = 0; !status && i < uncore_monitor_counter_count(m); i++) {
		if (o->print.output->record)
			print_record(&out, uncore_monitor_counter_at(m, i));
		else
			text_row(&out.table, uncore_monitor_counter_at(m, i), rounds);
	}
	table_print(&out.table, &w.text);
	out_free(&out);
	return writer_close(&w) ? w.status : status;
}

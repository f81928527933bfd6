/* SPDX-License-Identifier: MIT */
/* `uncore` alone: what machine this is, what it can count, and a second of it. */

#include <math.h>

#include "base/table.h"
#include "base/terminal.h"
#include "base/writer.h"
#include "commands/documents.h"
#include "commands/stat.h"
#include "output/pmus.h"

#define OTHERS "PMUs    , 99 more in 'uncore list'"
#define FULL_ROWS 40 /* of a terminal that has room for all families */

/* The CPU by its name, sockets, hypervisor. */
static void cpu_line(struct uncore *u, struct buffer *to)
{
	size_t cpus = uncore_cpu_count(u);
	const char *hypervisor = uncore_hypervisor(u);
	char sockets[SOCKETS_ROOM], cpu[CPU_ROOM];

	buffer_printf(to, "CPU     %s, %s, %zu CPU%s", cli_cpu(u, cpu), cli_sockets(u, sockets),
		      cpus, cpus == 1 ? "" : "s");
	if (hypervisor)
		buffer_printf(to, ", a virtual machine under %s", hypervisor);
	if (uncore_is_simulated(u))
		buffer_printf(to, ", SIMULATED by %s", uncore_source(u));
	buffer_puts(to, "\n");
}

static void memory_line(struct uncore *u, struct buffer *to)
{
	const struct uncore_memory *m = uncore_memory_get(u);

	if (!isfinite(m->peak))
		return;
	buffer_printf(to, "Memory  peak of %s for each socket", human(m->peak, "B/s").text);
	if (m->channels && isfinite(m->transfers))
		buffer_printf(to, ": %u channels, %.0f MT/s", m->channels, m->transfers);
	buffer_printf(to, " (from %s)\n", m->from);
}

static bool is_uncore(const struct uncore_pmu *pmu, const void *arg)
{
	(void)arg;
	return !uncore_pmu_is_core(pmu);
}

/* How many PMUs each family has. On a low terminal it is one line, with as many families as it has
 * room for. */
static void pmu_line(const struct uncore *u, struct buffer *to)
{
	size_t others = 0, devices = 0, more = 0, room = SIZE_MAX;
	auto_buffer families = {0};
	auto_pmus p;

	if (terminal_rows() && terminal_rows() < FULL_ROWS)
		room = text_columns() > sizeof(OTHERS) ? text_columns() - sizeof(OTHERS) : 0;
	pmus_select(&p, u, is_uncore, NULL);
	for (size_t i = 0; i < p.count; i++) {
		const char *family = uncore_pmu_family(p.items[i]);
		size_t count = 0, earlier = 0;

		for (size_t k = 0; k < p.count && family; k++) {
			bool same = cli_same(uncore_pmu_family(p.items[k]), family);

			count += same;
			earlier += same && k < i;
		}
		devices += uncore_pmu_is_device(p.items[i]);
		others += !family;
		if (!family || earlier)
			continue;
		if (more || families.len + strlen(family) + sizeof(", (99)") > room) {
			more++;
			continue;
		}
		buffer_printf(&families, "%s%s", families.len ? ", " : "", family);
		if (count > 1)
			buffer_printf(&families, " (%zu)", count);
	}
	if (more)
		buffer_printf(&families,
			      families.len ? ", %zu more in 'uncore list'"
					   : "%zu families in 'uncore list'",
			      more);
	else if (others)
		buffer_printf(&families, "%s%zu without metrics", families.len ? "; " : "", others);
	if (p.count == devices)
		buffer_puts(&families, families.len ? "; no PMU outside the cores" : "none");
	buffer_puts(to, "PMUs   ");
	buffer_wrap(to, 8, text_columns(), families.data);
}

/* Missing or denied PMUs, and the next command. CLI_DENIED: some are denied, even if devices were
 * counted. */
static int findings(struct cli *cli, struct buffer *to)
{
	int err = uncore_diagnose(cli->u), status = CLI_OK;

	if (err)
		return cli_fail(cli, err);
	for (size_t i = 0, count = uncore_finding_count(cli->u); i < count; i++) {
		const struct uncore_finding *f = uncore_finding_at(cli->u, i);
		const struct uncore_finding *next =
			i + 1 < count ? uncore_finding_at(cli->u, i + 1) : NULL;

		if (f->verdict != UNCORE_VERDICT_DENIED && f->verdict != UNCORE_VERDICT_MISSING)
			continue;
		buffer_puts(to, to->len ? "" : "\n");
		doctor_finding(f, next, to);
		if (f->verdict == UNCORE_VERDICT_DENIED)
			status = CLI_DENIED;
	}
	return status;
}

static int measure(struct cli *cli, size_t lines_above)
{
	struct stat_options o = {.request.when.timeout_ns = cli_replays(cli) ? 0 : NS_PER_S,
				 .request.when.shared = true,
				 /* A recording has the levels that were recorded. */
				 .request.extra = !cli_replays(cli),
				 .request.tree = cli_replays(cli),
				 .request.overview = true,
				 .print = {.output = output_find("screens"),
					   .separator = ",",
					   .lines_above = lines_above}};

	for (size_t i = 0; i < uncore_metric_count_here(cli->u); i++)
		if (!uncore_metric_missing(uncore_metric_at(cli->u, i)))
			return stat_run(cli, &o);
	return CLI_UNAVAILABLE;
}

int cmd_overview(struct cli *cli, int argc, char **argv)
{
	struct buffer text = {0};
	int status = cli_open(cli), also, err;
	size_t lines = 0;

	(void)argc;
	(void)argv;
	if (status)
		return status;
	cpu_line(cli->u, &text);
	memory_line(cli->u, &text);
	pmu_line(cli->u, &text);
	lines = text_rows(buffer_text(&text));
	status = writer_print(&text);
	if (status)
		return status;
	status = measure(cli, lines);
	also = findings(cli, &text);
	if (text.len && (err = writer_print(&text)))
		return err;
	return status ? status : also;
}

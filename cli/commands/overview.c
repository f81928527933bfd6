/* SPDX-License-Identifier: MIT */
/* `uncore` alone: what machine this is, what it can count, and a second of it. */

#include "base/writer.h"
#include "commands/documents.h"
#include "commands/stat.h"
#include "output/pmus.h"

static void machine_line(const struct uncore *u, struct buffer *to)
{
	size_t cpus = uncore_cpu_count(u);
	const char *hypervisor = uncore_hypervisor(u);
	char sockets[SOCKETS_ROOM];

	buffer_printf(to, "CPU %s, %s, %zu CPU%s", uncore_cpu_model(u), cli_sockets(u, sockets),
		      cpus, cpus == 1 ? "" : "s");
	if (hypervisor)
		buffer_printf(to, ", a virtual machine under %s", hypervisor);
	if (uncore_is_simulated(u))
		buffer_printf(to, ", SIMULATED by %s", uncore_source(u));
	buffer_puts(to, "\n");
}

static bool is_uncore(const struct uncore_pmu *pmu, const void *arg)
{
	(void)arg;
	return !uncore_pmu_is_core(pmu);
}

/* How many PMUs the family of this one has; 0: none, or an earlier PMU is of the same family. */
static size_t family_size(const struct pmus *p, size_t i)
{
	size_t count = 0;

	for (size_t k = 0; k < p->count && uncore_pmu_family(p->items[i]); k++) {
		if (!cli_same(uncore_pmu_family(p->items[k]), uncore_pmu_family(p->items[i])))
			continue;
		if (k < i)
			return 0;
		count++;
	}
	return count;
}

static void put_list(struct buffer *to, const char *label, struct buffer *list)
{
	if (list->len) {
		buffer_puts(to, label);
		buffer_wrap(to, 6, text_columns(), list->data);
	}
	buffer_free(list);
}

/* "8 of intel-imc", each family once; and the PMUs that no family describes, by name. */
static void pmu_lines(const struct uncore *u, struct buffer *to)
{
	struct buffer families = {0}, others = {0};
	auto_pmus p;

	pmus_select(&p, u, is_uncore, NULL);
	for (size_t i = 0, n; (n = pmus_alike(&p, i)); i += n) {
		const char *family = uncore_pmu_family(p.items[i]);
		size_t size = family_size(&p, i);

		if (size)
			buffer_printf(&families, "%s%zu of %s", families.len ? ", " : "", size,
				      family);
		if (family)
			continue;
		buffer_puts(&others, others.len ? ", " : "");
		pmus_name(&p, i, n, &others);
	}
	if (!p.count)
		buffer_puts(to, "No PMU outside the cores.\n");
	put_list(to, "PMUs:", &families);
	put_list(to, "PMUs without metrics:", &others);
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

static int measure(struct cli *cli)
{
	struct stat_options o = {.request.when.timeout_ns = cli_replays(cli) ? 0 : NS_PER_S,
				 .request.tree = true,
				 .print = {.output = output_find("screens"), .separator = ","}};

	for (size_t i = 0; i < uncore_metric_count(cli->u); i++)
		if (!uncore_metric_missing(uncore_metric_at(cli->u, i)))
			return stat_run(cli, &o);
	return CLI_UNAVAILABLE;
}

int cmd_overview(struct cli *cli, int argc, char **argv)
{
	struct buffer text = {0};
	int status = cli_open(cli), also, err;

	(void)argc;
	(void)argv;
	if (status)
		return status;
	machine_line(cli->u, &text);
	pmu_lines(cli->u, &text);
	status = writer_print(&text);
	if (status)
		return status;
	status = measure(cli);
	also = findings(cli, &text);
	if (text.len && (err = writer_print(&text)))
		return err;
	return status ? status : also;
}

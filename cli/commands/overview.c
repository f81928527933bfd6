/* SPDX-License-Identifier: MIT */
/* `uncore` alone: what machine this is, what it can count, and a second of it. */
#include <string.h>

#include "commands/stat.h"
#include "output/writer.h"
#include "views/pmus.h"

static void machine_line(const struct uncore *u, struct buffer *to)
{
	size_t sockets = uncore_socket_count(u);
	size_t cpus = uncore_cpu_count(u);
	const char *hypervisor = uncore_hypervisor(u);

	buffer_printf(to, "CPU %s, %zu socket%s, %zu CPU%s", uncore_cpu_model(u), sockets,
		      sockets == 1 ? "" : "s", cpus, cpus == 1 ? "" : "s");
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

static const char *family_of(const struct pmus *p, size_t i)
{
	const char *family = uncore_pmu_family(p->items[i]);

	return family ? family : "";
}

/* How many PMUs the family of this one has; 0 when an earlier PMU is of the same family. */
static size_t family_size(const struct pmus *p, size_t i)
{
	size_t count = 0;

	for (size_t k = 0; k < p->count; k++) {
		if (strcmp(family_of(p, k), family_of(p, i)) != 0)
			continue;
		if (k < i)
			return 0;
		count++;
	}
	return count;
}

/* "8 of intel-imc", each family once. */
static void put_families(const struct pmus *p, struct buffer *to)
{
	for (size_t i = 0; i < p->count; i++) {
		size_t count = *family_of(p, i) ? family_size(p, i) : 0;

		if (count)
			buffer_printf(to, "%s%zu of %s", to->len ? ", " : "", count,
				      family_of(p, i));
	}
}

/* The PMUs that no family describes, by name. */
static void put_others(const struct pmus *p, struct buffer *to)
{
	for (size_t i = 0, n; i < p->count; i += n) {
		n = pmus_alike(p, i);
		if (*family_of(p, i))
			continue;
		buffer_puts(to, to->len ? ", " : "");
		pmus_name(p, i, n, to);
	}
}

static void pmu_lines(const struct uncore *u, struct buffer *to)
{
	struct buffer families = {0};
	struct buffer others = {0};
	struct pmus p;

	pmus_select(&p, u, is_uncore, NULL);
	put_families(&p, &families);
	put_others(&p, &others);
	if (!p.count)
		buffer_puts(to, "No PMU outside the cores.\n");
	if (families.len)
		buffer_hang(to, 6, text_columns(), "PMUs:", families.data);
	if (others.len)
		buffer_hang(to, 6, text_columns(), "PMUs without metrics:", others.data);
	buffer_free(&families);
	buffer_free(&others);
	pmus_free(&p);
}

/* Missing or denied PMUs, and the next command. */
static int findings(struct cli *cli, struct buffer *to)
{
	int err = uncore_diagnose(cli->u);

	if (err)
		return cli_fail(cli, err);
	for (size_t i = 0; i < uncore_finding_count(cli->u); i++) {
		const struct uncore_finding *f = uncore_finding_at(cli->u, i);

		if (f->verdict != UNCORE_VERDICT_DENIED && f->verdict != UNCORE_VERDICT_MISSING)
			continue;
		buffer_puts(to, to->len ? "" : "\n");
		doctor_finding(f, to);
	}
	return CLI_OK;
}

static int print(struct buffer *b)
{
	return b->len ? writer_print(b) : CLI_OK;
}

/* True when there is a metric that can be planned. */
static bool has_metrics(const struct uncore *u)
{
	for (size_t i = 0; i < uncore_metric_count(u); i++)
		if (!uncore_metric_missing(uncore_metric_at(u, i)))
			return true;
	return false;
}

static int measure(struct cli *cli)
{
	struct stat_options o = {.timeout_ns = cli_replays(cli) ? 0 : NS_PER_S,
				 .repeat = 1,
				 .output = output_find("text"),
				 .separator = ","};

	if (uncore_socket_count(cli->u) > 1)
		o.level = UNCORE_LEVEL_SOCKET;
	return stat_run(cli, &o);
}

int cmd_overview(struct cli *cli, int argc, char **argv)
{
	struct buffer text = {0};
	int status = cli_open(cli);
	int also;

	(void)argc;
	(void)argv;
	if (status)
		return status;
	machine_line(cli->u, &text);
	pmu_lines(cli->u, &text);
	status = print(&text);
	if (status)
		return status;
	status = has_metrics(cli->u) ? measure(cli) : CLI_UNAVAILABLE;
	also = findings(cli, &text);
	if (!also)
		also = print(&text);
	return status ? status : also;
}

/* SPDX-License-Identifier: MIT */
/* `uncore stat` and the presets, which are `stat` with metrics already named. */
#include "commands/stat.h"

/* One row for each preset: this is the only place of the command that names metrics. */
const struct preset cli_presets[] = {
	{"mem", "memory.*", "Memory traffic, latency and utilization", "text", 0},
	{"pcie",
	 "pcie.inbound.read.bandwidth,pcie.inbound.write.bandwidth,"
	 "pcie.outbound.read.bandwidth,pcie.outbound.write.bandwidth,"
	 "pcie.inbound.read.latency,else,pcie.in.bandwidth,pcie.out.bandwidth",
	 "PCIe traffic by root port and device", "ports", UNCORE_LEVEL_PORT},
	{"link", "link.*", "Traffic between sockets and to accelerators", "text", 0},
	{"cache", "cache.*,fabric.*", "System-level caches and the fabric", "text", 0},
	{"matrix", "matrix.*", "Memory traffic by source and target", "matrix", 0},
};

const size_t cli_preset_count = sizeof(cli_presets) / sizeof(cli_presets[0]);

int stat_main(struct cli *cli, const struct stat_options *o)
{
	struct uncore_monitor *m = NULL;
	int status = cli_open(cli);

	if (!status)
		status = stat_plan(cli, o, &m);
	if (status)
		return status;
	if (!o->dry_run)
		return stat_run(cli, o, m);
	if (o->filtered)
		stat_notes(o, m);
	status = stat_dry_run(cli, o, m);
	uncore_monitor_free(m);
	return status;
}

int cmd_preset(struct cli *cli, const struct preset *preset, int argc, char **argv)
{
	struct stat_options o;
	int status;

	stat_options_parse(&o, cli, preset, argc, argv);
	status = stat_main(cli, &o);
	stat_options_free(&o);
	return status;
}

int cmd_stat(struct cli *cli, int argc, char **argv)
{
	return cmd_preset(cli, NULL, argc, argv);
}

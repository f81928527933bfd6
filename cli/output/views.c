/* SPDX-License-Identifier: MIT */
/* The views: tables of `mem` and `link`. A new one is an entry here and a row of `outputs`. */
#include "output/output.h"
#include "output/view.h"

static void memory_legend(struct out *out, bool ceiling, bool busy)
{
	const struct uncore_memory *m = uncore_memory_get(out->setup.machine);
	struct buffer text = {0};
	struct human peak;

	human_value(&peak, m->peak, "B/s");
	if (ceiling) {
		buffer_printf(&text, "OF PEAK: of %s for each socket (from %s).", peak.text,
			      m->from);
		out_once(out, text.data);
	}
	if (busy)
		out_once(out,
			 ceiling ? "Channels: share of the time in which the data bus was busy."
				 : "OF PEAK: share of the time in which the memory's data bus "
				   "was busy.");
	buffer_free(&text);
}

/* A line for each memory channel (or NUMA node), socket and the machine. */
const struct view memory_view = {
	.metrics = {"memory.read.bandwidth", "memory.write.bandwidth", "memory.bandwidth",
		    "memory.utilization", "memory.read.latency"},
	.columns = {{"PLACE", 0},
		    {"READ", TABLE_RIGHT | TABLE_RATE},
		    {"WRITE", TABLE_RIGHT | TABLE_RATE},
		    {"TOTAL", TABLE_RIGHT | TABLE_RATE},
		    {"OF PEAK", TABLE_RIGHT},
		    {"LATENCY", TABLE_RIGHT | TABLE_BELOW | TABLE_TIME}},
	.clocks = "memory.read.latency.cycles",
	.peak = 3,
	.legend = memory_legend,
};

static void links_legend(struct out *out, bool ceiling, bool busy)
{
	(void)ceiling;
	if (busy)
		out_once(out, "OF PEAK: share of what the links can send, headers and credits "
			      "included.");
}

/* A line for each link, socket and the machine. */
const struct view links_view = {
	.metrics = {"link.out.bandwidth", "link.in.bandwidth", "link.out.utilization"},
	.columns = {{"PLACE", 0},
		    {"OUT", TABLE_RIGHT | TABLE_RATE},
		    {"IN", TABLE_RIGHT | TABLE_RATE},
		    {"OF PEAK", TABLE_RIGHT}},
	.peak = 2,
	.hides_single = true,
	.legend = links_legend,
};

/* SPDX-License-Identifier: MIT */
/* A register block as a family: its counters are the events, and their roles make the metrics. What
 * is made is the text of a data file, so that formulas, rows and explanations are those of all. */
#include "catalogue/regs-family.h"
#include "base/text.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Parts of formulas, worked out for one block. A block that cannot tell one lacks the metrics made of it. */
enum part {
	PART_ACTIVE,
	PART_BUSY,
	PART_TOTAL, /* all cycles: active + busy + idle, or the clock's counter */
	PART_CLOCK,
	PART_FREQUENCY,
	PART_AMOUNT, /* bytes */
	PART_PACKETS,
	PART_RATE, /* what an amount is multiplied by to become a rate */
	PART_BINS, /* the sum of all */
	PART_MEAN, /* latency in cycles */
	PARTS,
	PART_NONE = PARTS,
};

static const struct {
	const char *name, *unit;
	enum part first;
	const char *between; /* the two parts, or behind the first */
	enum part second;
	unsigned per_mille; /* this percentile of the bins, whose sum is the formula; 0: none */
	const char *title;
} metrics[] = {
	{"cycles", "cycle", PART_TOTAL, "", PART_NONE, 0, "Cycles of the window"},
	{"utilization", "ratio", PART_ACTIVE, " / ", PART_TOTAL, 0,
	 "Share of the cycles in which data moved"},
	{"backpressure", "ratio", PART_BUSY, " / ", PART_TOTAL, 0,
	 "Share of the cycles in which data was ready and had to wait"},
	{"clock.frequency", "Hz", PART_CLOCK, " / seconds", PART_NONE, 0, "Clock of the block"},
	{"bandwidth", "B/s", PART_AMOUNT, " ", PART_RATE, 0, "Throughput of payload"},
	{"bytes_per_cycle", "B/cycle", PART_AMOUNT, " / ", PART_TOTAL, 0, "Payload in each cycle"},
	{"packets", "packet", PART_PACKETS, "", PART_NONE, 0, "Packets of the window"},
	{"packets.rate", "1/s", PART_PACKETS, " ", PART_RATE, 0, "Packets in each second"},
	{"latency.packets", "packet", PART_BINS, "", PART_NONE, 0,
	 "Transactions whose latency was measured"},
	{"latency.cycles", "cycle", PART_MEAN, "", PART_NONE, 0,
	 "Mean latency, by the middles of the bins"},
	{"latency", "s", PART_MEAN, " / ", PART_FREQUENCY, 0,
	 "Mean latency, by the middles of the bins"},
	{"latency.p50", "cycle", PART_BINS, "", PART_NONE, 500,
	 "Bin of the latency's percentile 50"},
	{"latency.p90", "cycle", PART_BINS, "", PART_NONE, 900,
	 "Bin of the latency's percentile 90"},
	{"latency.p99", "cycle", PART_BINS, "", PART_NONE, 990,
	 "Bin of the latency's percentile 99"},
	{"latency.p99.9", "cycle", PART_BINS, "", PART_NONE, 999,
	 "Bin of the latency's percentile 99.9"},
};

#define METRICS (sizeof(metrics) / sizeof(*metrics))

/* ---- parts ---- */

static const char *name_of(const struct unc_regs *r, enum unc_regs_role role)
{
	const struct unc_regs_counter *c = unc_regs_role(r, role);

	return c ? c->name : "";
}

/* Two of the three do not add up to all cycles. The rate is over the block's own time when it keeps one:
 * cycles of a known frequency, or cycles whose frequency a counter of the clock tells. */
static void work_out_cycles(struct unc_text parts[PARTS], const struct unc_regs *r)
{
	const char *clock = r->clock ? r->clock->name : NULL;
	struct unc_text *total = &parts[PART_TOTAL], *rate = &parts[PART_RATE];
	bool all = unc_regs_all_cycles(r);

	if (all)
		unc_text_add(total, "(%s + %s + %s)", name_of(r, UNC_ROLE_ACTIVE),
			     name_of(r, UNC_ROLE_BUSY), name_of(r, UNC_ROLE_IDLE));
	else if (clock)
		unc_text_add(total, "%s", clock);
	if (r->hz > 0 && total->len)
		unc_text_add(rate, "/ %s * %s", clock ? clock : total->data, r->clock_hz);
	else if (clock && all)
		unc_text_add(rate, "/ %s * (%s / seconds)", total->data, clock);
	else
		unc_text_add(rate, "/ seconds");
	if (clock)
		unc_text_add(&parts[PART_CLOCK], "%s", clock);
	if (r->hz > 0)
		unc_text_add(&parts[PART_FREQUENCY], "%s", r->clock_hz);
	else if (clock)
		unc_text_add(&parts[PART_FREQUENCY], "(%s / seconds)", clock);
}

static void work_out_traffic(struct unc_text parts[PARTS], const struct unc_regs *r)
{
	const struct unc_regs_counter *bytes = unc_regs_role(r, UNC_ROLE_BYTES);
	const struct unc_regs_counter *packets = unc_regs_role(r, UNC_ROLE_PACKETS);

	unc_text_add(&parts[PART_ACTIVE], "%s", name_of(r, UNC_ROLE_ACTIVE));
	unc_text_add(&parts[PART_BUSY], "%s", name_of(r, UNC_ROLE_BUSY));
	unc_text_add(&parts[PART_PACKETS], "%s", name_of(r, UNC_ROLE_PACKETS));
	if (bytes)
		unc_text_add(&parts[PART_AMOUNT], "%s", bytes->name);
	else if (packets && packets->packet_bytes > 0)
		unc_text_add(&parts[PART_AMOUNT], "%s * %s", packets->name,
			     unc_yaml_get(packets->at, "packet_bytes")->text);
}

/* What stands for a bin, exactly: bounds are whole, so that a middle is whole or a half, and for the last
 * bin the file has it. */
static void add_middle(struct unc_text *to, const struct unc_regs *r, size_t bin)
{
	const struct unc_yaml *histogram = unc_yaml_get(r->file->root, "histogram");
	const struct unc_histogram *h = &r->histogram;
	unsigned long long twice;

	if (bin + 1 == h->count) {
		unc_text_add(to, "%s", unc_yaml_get(histogram, "last")->text);
		return;
	}
	twice = (unsigned long long)(2 * unc_histogram_middle(h, bin));
	unc_text_add(to, "%llu%s", twice / 2, twice % 2 ? ".5" : "");
}

/* The mean weighs each bin with what stands for it. */
static void work_out_bins(struct unc_text parts[PARTS], const struct unc_regs *r)
{
	struct unc_text *mean = &parts[PART_MEAN], *bins = &parts[PART_BINS];
	size_t bin = 0;

	if (!r->has_histogram)
		return;
	unc_text_add(mean, "(");
	for (size_t i = 0; i < r->count; i++) {
		if (r->counters[i].role != UNC_ROLE_BIN)
			continue;
		unc_text_add(mean, "%s", bin ? " + " : "");
		add_middle(mean, r, bin);
		unc_text_add(mean, " * %s", r->counters[i].name);
		unc_text_add(bins, "%s%s", bin ? " + " : "", r->counters[i].name);
		bin++;
	}
	unc_text_add(mean, ") / (%s)", bins->data ? bins->data : "");
}

/* ---- the text of a data file ---- */

/* Single quotation marks are doubled in YAML. */
static void add_quoted(struct unc_text *t, const char *text)
{
	unc_text_add(t, "'");
	for (; *text; text++)
		unc_text_add(t, "%s%c", *text == '\'' ? "'" : "", *text);
	unc_text_add(t, "'");
}

static void add_metrics(struct unc_text *yaml, const struct unc_regs *r,
			const struct unc_text parts[PARTS])
{
	size_t before = yaml->len;

	for (size_t i = 0; i < METRICS; i++) {
		enum part first = metrics[i].first, second = metrics[i].second;

		if (!parts[first].len || (second != PART_NONE && !parts[second].len))
			continue;
		unc_text_add(yaml, "  %s.%s:\n    title: ", r->quantity, metrics[i].name);
		add_quoted(yaml, metrics[i].title);
		unc_text_add(yaml, "\n    unit: %s\n    formula: '%s%s%s'\n    evidence: ",
			     metrics[i].unit, parts[first].data, metrics[i].between,
			     second == PART_NONE ? "" : parts[second].data);
		add_quoted(yaml, r->evidence);
		unc_text_add(yaml, "\n");
	}
	if (yaml->len == before)
		unc_text_add(yaml, "  {}\n");
}

static void write_family(struct unc_text *yaml, const struct unc_regs *r,
			 const struct unc_text parts[PARTS])
{
	unc_text_add(yaml, "family: %s\ntitle: ", r->name);
	add_quoted(yaml, r->title);
	unc_text_add(yaml, "\ninstance: ");
	add_quoted(yaml, r->instance);
	unc_text_add(yaml, "\nplace: block\npmus:\n  - name: ");
	add_quoted(yaml, r->pmu);
	unc_text_add(yaml, "\neverywhere: true\nevents:\n");
	for (size_t i = 0; i < r->count; i++) {
		unc_text_add(yaml, "  %s:\n    title: ", r->counters[i].name);
		add_quoted(yaml, r->counters[i].title);
		unc_text_add(yaml, "\n    alias: %s\n    evidence: ", r->counters[i].name);
		add_quoted(yaml, r->evidence);
		unc_text_add(yaml, "\n");
	}
	unc_text_add(yaml, "metrics:\n");
	add_metrics(yaml, r, parts);
}

/* Percentiles are no formulas: what theirs add up is looked at bin by bin. */
static void mark_percentiles(struct unc_family *f, const struct unc_regs *r)
{
	for (size_t i = 0; r->has_histogram && i < f->metric_count; i++)
		for (size_t k = 0; k < METRICS; k++)
			if (metrics[k].per_mille &&
			    strcmp(f->metrics[i].name + strlen(r->quantity) + 1, metrics[k].name) ==
				    0) {
				f->metrics[i].histogram = &r->histogram;
				f->metrics[i].per_mille = metrics[k].per_mille;
			}
}

static bool has_roles(const struct unc_regs *r)
{
	for (size_t i = 0; i < r->count; i++)
		if (r->counters[i].role != UNC_ROLE_NONE)
			return true;
	return false;
}

int unc_regs_family(struct unc_family **out, const struct unc_regs *r, const char *cpu_model,
		    struct unc_error *e)
{
	struct unc_text parts[PARTS] = {0}, yaml = {0};
	struct unc_yaml_file *file = NULL;
	struct unc_family *f = NULL;
	int err = 0;

	*out = NULL;
	if (!has_roles(r))
		return 0;
	work_out_cycles(parts, r);
	work_out_traffic(parts, r);
	work_out_bins(parts, r);
	write_family(&yaml, r, parts);
	for (size_t i = 0; i < PARTS; i++) {
		yaml.failed |= parts[i].failed;
		unc_text_finish(&parts[i]);
	}
	if (yaml.failed)
		err = unc_nomem(e);
	if (err == 0)
		err = unc_yaml_parse(&file, r->file->name, yaml.data, yaml.len, e);
	if (err == 0)
		err = unc_family_parse(&f, file, cpu_model, e);
	unc_text_finish(&yaml);
	if (err < 0 || !f)
		return err;
	mark_percentiles(f, r);
	*out = f;
	return 0;
}

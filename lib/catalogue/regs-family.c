/* SPDX-License-Identifier: MIT */
/* A register block as a family: its counters are the events, and their roles make the metrics. What
 * is made is the text of a data file, so that formulas, rows and explanations are those of all. */
#include "catalogue/regs-family.h"
#include "base/text.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
	unsigned per_mille;
	const char *name;
} percentiles[] = {{500, "p50"}, {900, "p90"}, {990, "p99"}, {999, "p99.9"}};

#define PERCENTILES (sizeof(percentiles) / sizeof(*percentiles))

/* Formulas of a block; "" for what it cannot tell. */
struct terms {
	const struct unc_regs *r;
	struct unc_text total;      /* all cycles: active + busy + idle, or the clock's counter */
	struct unc_text per_second; /* what an amount is multiplied by to become a rate */
	struct unc_text mean;       /* latency in cycles */
	struct unc_text bins;       /* all of them */
	struct unc_text yaml;
};

static const char *name_of(const struct unc_regs *r, enum unc_regs_role role)
{
	const struct unc_regs_counter *c = unc_regs_role(r, role);

	return c ? c->name : NULL;
}

static bool is_there(const struct unc_text *t)
{
	return t->len;
}

/* Single quotation marks are doubled in YAML. */
static void add_quoted(struct unc_text *t, const char *text)
{
	unc_text_add(t, "'");
	for (; *text; text++)
		unc_text_add(t, "%s%c", *text == '\'' ? "'" : "", *text);
	unc_text_add(t, "'");
}

/* Two of the three do not add up to all cycles, and what is divided by them is no rate. */
static void work_out_cycles(struct terms *t)
{
	const struct unc_regs *r = t->r;

	if (unc_regs_all_cycles(r))
		unc_text_add(&t->total, "(%s + %s + %s)", name_of(r, UNC_ROLE_ACTIVE),
			     name_of(r, UNC_ROLE_BUSY), name_of(r, UNC_ROLE_IDLE));
	else if (r->clock)
		unc_text_add(&t->total, "%s", r->clock->name);
}

/* Over the block's own time when it keeps one: cycles of a known frequency, or cycles whose frequency
 * a counter of the clock tells. */
static void work_out_rate(struct terms *t)
{
	const struct unc_regs *r = t->r;

	if (r->hz > 0 && is_there(&t->total))
		unc_text_add(&t->per_second, "/ %s * %s", r->clock ? r->clock->name : t->total.data,
			     r->clock_hz);
	else if (r->clock && unc_regs_all_cycles(r))
		unc_text_add(&t->per_second, "/ %s * (%s / seconds)", t->total.data,
			     r->clock->name);
	else
		unc_text_add(&t->per_second, "/ seconds");
}

static void add_event(struct terms *t, const struct unc_regs_counter *c)
{
	unc_text_add(&t->yaml, "  %s:\n    title: ", c->name);
	add_quoted(&t->yaml, c->title);
	unc_text_add(&t->yaml, "\n    alias: %s\n    evidence: ", c->name);
	add_quoted(&t->yaml, t->r->evidence);
	unc_text_add(&t->yaml, "\n");
}

static void add_metric(struct terms *t, const char *name, const char *unit, const char *title,
		       struct unc_text *formula)
{
	const char *text = formula->data;

	unc_text_add(&t->yaml, "  %s.%s:\n    title: ", t->r->quantity, name);
	add_quoted(&t->yaml, title);
	unc_text_add(&t->yaml, "\n    unit: %s\n    formula: ", unit);
	add_quoted(&t->yaml, text ? text : "");
	unc_text_add(&t->yaml, "\n    evidence: ");
	add_quoted(&t->yaml, t->r->evidence);
	unc_text_add(&t->yaml, "\n");
	unc_text_finish(formula);
}

static void add_cycle_metrics(struct terms *t)
{
	const char *active = name_of(t->r, UNC_ROLE_ACTIVE), *busy = name_of(t->r, UNC_ROLE_BUSY);
	struct unc_text f = {0};

	if (is_there(&t->total)) {
		unc_text_add(&f, "%s", t->total.data);
		add_metric(t, "cycles", "cycle", "Cycles of the window", &f);
	}
	if (is_there(&t->total) && active) {
		unc_text_add(&f, "%s / %s", active, t->total.data);
		add_metric(t, "utilization", "ratio", "Share of the cycles in which data moved",
			   &f);
	}
	if (is_there(&t->total) && busy) {
		unc_text_add(&f, "%s / %s", busy, t->total.data);
		add_metric(t, "backpressure", "ratio",
			   "Share of the cycles in which data was ready and had to wait", &f);
	}
	if (t->r->clock) {
		unc_text_add(&f, "%s / seconds", t->r->clock->name);
		add_metric(t, "clock.frequency", "Hz", "Clock of the block", &f);
	}
}

static void add_traffic_metrics(struct terms *t)
{
	const struct unc_regs_counter *bytes = unc_regs_role(t->r, UNC_ROLE_BYTES);
	const struct unc_regs_counter *packets = unc_regs_role(t->r, UNC_ROLE_PACKETS);
	struct unc_text amount = {0}, f = {0};

	if (bytes)
		unc_text_add(&amount, "%s", bytes->name);
	else if (packets && packets->packet_bytes > 0)
		unc_text_add(&amount, "%s * %s", packets->name,
			     unc_yaml_get(packets->at, "packet_bytes")->text);
	if (is_there(&amount)) {
		unc_text_add(&f, "%s %s", amount.data, t->per_second.data);
		add_metric(t, "bandwidth", "B/s", "Throughput of payload", &f);
	}
	if (is_there(&amount) && is_there(&t->total)) {
		unc_text_add(&f, "%s / %s", amount.data, t->total.data);
		add_metric(t, "bytes_per_cycle", "B/cycle", "Payload in each cycle", &f);
	}
	if (packets) {
		unc_text_add(&f, "%s", packets->name);
		add_metric(t, "packets", "packet", "Packets of the window", &f);
		unc_text_add(&f, "%s %s", packets->name, t->per_second.data);
		add_metric(t, "packets.rate", "1/s", "Packets in each second", &f);
	}
	unc_text_finish(&amount);
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
static void work_out_bins(struct terms *t)
{
	struct unc_text weighed = {0};
	size_t bin = 0;

	for (size_t i = 0; i < t->r->count; i++) {
		const struct unc_regs_counter *c = &t->r->counters[i];

		if (c->role != UNC_ROLE_BIN)
			continue;
		unc_text_add(&weighed, "%s", bin ? " + " : "");
		add_middle(&weighed, t->r, bin);
		unc_text_add(&weighed, " * %s", c->name);
		unc_text_add(&t->bins, "%s%s", bin ? " + " : "", c->name);
		bin++;
	}
	unc_text_add(&t->mean, "(%s) / (%s)", weighed.data, t->bins.data);
	t->mean.failed |= weighed.failed || t->bins.failed;
	unc_text_finish(&weighed);
}

static void add_latency_metrics(struct terms *t)
{
	struct unc_text f = {0};

	work_out_bins(t);
	unc_text_add(&f, "%s", t->bins.data);
	add_metric(t, "latency.packets", "packet", "Transactions whose latency was measured", &f);
	unc_text_add(&f, "%s", t->mean.data);
	add_metric(t, "latency.cycles", "cycle", "Mean latency, by the middles of the bins", &f);
	if (t->r->hz > 0)
		unc_text_add(&f, "%s / %s", t->mean.data, t->r->clock_hz);
	else if (t->r->clock)
		unc_text_add(&f, "%s / (%s / seconds)", t->mean.data, t->r->clock->name);
	if (is_there(&f))
		add_metric(t, "latency", "s", "Mean latency, by the middles of the bins", &f);
	for (size_t i = 0; i < PERCENTILES; i++) {
		char name[32], title[64];

		snprintf(name, sizeof(name), "latency.%s", percentiles[i].name);
		snprintf(title, sizeof(title), "Bin of the latency's percentile %s",
			 percentiles[i].name + 1);
		unc_text_add(&f, "%s", t->bins.data);
		add_metric(t, name, "cycle", title, &f);
	}
}

static void write_family(struct terms *t)
{
	const struct unc_regs *r = t->r;
	size_t before;

	unc_text_add(&t->yaml, "family: %s\ntitle: ", r->name);
	add_quoted(&t->yaml, r->title);
	unc_text_add(&t->yaml, "\ninstance: ");
	add_quoted(&t->yaml, r->instance);
	unc_text_add(&t->yaml, "\nplace: block\npmus:\n  - name: ");
	add_quoted(&t->yaml, r->pmu);
	unc_text_add(&t->yaml, "\neverywhere: true\nevents:\n");
	for (size_t i = 0; i < r->count; i++)
		add_event(t, &r->counters[i]);
	unc_text_add(&t->yaml, "metrics:\n");
	before = t->yaml.len;
	work_out_cycles(t);
	work_out_rate(t);
	add_cycle_metrics(t);
	add_traffic_metrics(t);
	if (r->has_histogram)
		add_latency_metrics(t);
	if (t->yaml.len == before)
		unc_text_add(&t->yaml, "  {}\n");
}

/* Percentiles are no formulas: what theirs add up is looked at bin by bin. */
static void mark_percentiles(struct unc_family *f, const struct unc_regs *r)
{
	for (size_t i = 0; r->has_histogram && i < f->metric_count; i++) {
		const char *name = strrchr(f->metrics[i].name, 'p');

		for (size_t k = 0; name && k < PERCENTILES; k++)
			if (strcmp(name, percentiles[k].name) == 0) {
				f->metrics[i].histogram = &r->histogram;
				f->metrics[i].per_mille = percentiles[k].per_mille;
			}
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
	struct terms t = {.r = r};
	struct unc_yaml_file *file = NULL;
	struct unc_family *f = NULL;
	int err = 0;

	*out = NULL;
	if (!has_roles(r))
		return 0;
	write_family(&t);
	if (t.yaml.failed || t.total.failed || t.per_second.failed || t.mean.failed ||
	    t.bins.failed)
		err = unc_nomem(e);
	if (err == 0)
		err = unc_yaml_parse(&file, r->file->name, t.yaml.data, t.yaml.len, e);
	if (err == 0)
		err = unc_family_parse(&f, file, cpu_model, e);
	unc_text_finish(&t.total);
	unc_text_finish(&t.per_second);
	unc_text_finish(&t.mean);
	unc_text_finish(&t.bins);
	unc_text_finish(&t.yaml);
	if (err < 0 || !f)
		return err;
	mark_percentiles(f, r);
	*out = f;
	return 0;
}

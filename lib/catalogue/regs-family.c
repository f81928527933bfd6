/* SPDX-License-Identifier: MIT */
/* Makes a family of a register block: its counters are the events, and their roles give the
 * metrics. The result is the text of a data file, so that formulas, rows and explanations work as
 * for other families. */
#include "catalogue/catalogue.h"
#include "source/regs/regs.h"

#include <math.h>

/* Parts of formulas for one block. A metric exists only if the block has all parts of its formula.
 * The first parts are the counters with the roles of the same numbers. */
enum part {
	PART_ACTIVE = UNC_ROLE_ACTIVE,
	PART_BUSY = UNC_ROLE_BUSY,
	PART_IDLE = UNC_ROLE_IDLE,
	PART_AMOUNT = UNC_ROLE_BYTES,
	PART_PACKETS = UNC_ROLE_PACKETS,
	PART_TOTAL = UNC_ROLES, /* all cycles: active + busy + idle, or the clock's counter */
	PART_CLOCK,             /* cycles from a counter that never stops, or all cycles */
	PART_FREQUENCY,
	PART_RATE, /* the factor that makes a rate of an amount */
	PART_BINS, /* the sum of all bins */
	PART_MEAN, /* mean latency in cycles */
	PART_NONE, /* the empty part, which every block has */
	PARTS,
};

#define PERCENTILE(name, percent, per_mille)                                                 \
	{name,                                                                               \
	 "cycle",                                                                            \
	 PART_BINS,                                                                          \
	 "",                                                                                 \
	 PART_NONE,                                                                          \
	 per_mille,                                                                          \
	 "Percentile " percent " of the latency: the first bin up to which " percent         \
	 " % of the transactions were counted; its value is the bin's last cycle, or the "   \
	 "first one of the open last bin"},                                                  \
	{                                                                                    \
		name ".time", "s", PART_BINS, " / ", PART_FREQUENCY, per_mille,              \
			"Percentile " percent " of the latency as time: its bin as in " name \
			", whose cycles are divided by the frequency of the clock"           \
	}

static const struct {
	const char *name, *unit;
	enum part first;
	const char *between; /* text between the two parts, or after the first */
	enum part second;
	/* This percentile of the bins, of which the formula is the sum; 0: none. */
	unsigned per_mille;
	const char *title;
} metrics[] = {
	{"cycles", "cycle", PART_TOTAL, "", PART_NONE, 0, "Cycles of the window"},
	{"utilization", "ratio", PART_ACTIVE, " / ", PART_TOTAL, 0,
	 "Share of the cycles in which data moved"},
	{"backpressure", "ratio", PART_BUSY, " / ", PART_TOTAL, 0,
	 "Share of the cycles in which data was ready and had to wait"},
	{"idle", "ratio", PART_IDLE, " / ", PART_TOTAL, 0, "Share of the cycles without data"},
	{"clock.frequency", "Hz", PART_CLOCK, " / seconds", PART_NONE, 0, "Clock of the block"},
	{"bandwidth", "B/s", PART_AMOUNT, " ", PART_RATE, 0, "Throughput of payload"},
	{"bytes_per_cycle", "B/cycle", PART_AMOUNT, " / ", PART_TOTAL, 0, "Payload in each cycle"},
	{"packets", "packet", PART_PACKETS, "", PART_NONE, 0, "Packets of the window"},
	{"packets.rate", "1/s", PART_PACKETS, " ", PART_RATE, 0, "Packets in each second"},
	{"latency.packets", "packet", PART_BINS, "", PART_NONE, 0,
	 "Transactions whose latency was measured"},
	{"latency.cycles", "cycle", PART_MEAN, "", PART_NONE, 0,
	 "Mean latency, by the values of the bins"},
	{"latency", "s", PART_MEAN, " / ", PART_FREQUENCY, 0,
	 "Mean latency, by the values of the bins"},
	PERCENTILE("latency.p50", "50", 500),
	PERCENTILE("latency.p90", "90", 900),
	PERCENTILE("latency.p99", "99", 990),
	PERCENTILE("latency.p99.9", "99.9", 999),
};

#define METRICS (sizeof(metrics) / sizeof(*metrics))

/* Makes the parts. A rate uses the block's own time if it has one: cycles of a known frequency, or
 * cycles whose frequency a counter of the clock gives. */
static void work_out_parts(struct unc_text parts[PARTS], const struct unc_regs *r)
{
	const struct unc_regs_counter *const *roles = r->roles, *packets = roles[UNC_ROLE_PACKETS];
	const char *clock = r->clock ? r->clock->name : NULL;
	struct unc_text *total = &parts[PART_TOTAL], *rate = &parts[PART_RATE];

	for (size_t role = UNC_ROLE_ACTIVE; role <= UNC_ROLE_PACKETS; role++)
		if (roles[role])
			unc_text_add(&parts[role], "%s", roles[role]->name);
	if (!roles[UNC_ROLE_BYTES] && packets && packets->packet_bytes > 0)
		unc_text_add(&parts[PART_AMOUNT], "%s * %s", packets->name,
			     unc_yaml_get(packets->at, "packet_bytes")->text);
	if (r->all_cycles)
		unc_text_add(total, "(%s + %s + %s)", roles[UNC_ROLE_ACTIVE]->name,
			     roles[UNC_ROLE_BUSY]->name, roles[UNC_ROLE_IDLE]->name);
	else if (clock)
		unc_text_add(total, "%s", clock);
	if (r->hz > 0 && total->len)
		unc_text_add(rate, "/ %s * %s", clock ? clock : total->data, r->clock_hz);
	else if (clock && r->all_cycles)
		unc_text_add(rate, "/ %s * (%s / seconds)", total->data, clock);
	else
		unc_text_add(rate, "/ seconds");
	if (clock || r->all_cycles)
		unc_text_add(&parts[PART_CLOCK], "%s", clock ? clock : total->data);
	if (r->hz > 0)
		unc_text_add(&parts[PART_FREQUENCY], "%s", r->clock_hz);
	else if (clock)
		unc_text_add(&parts[PART_FREQUENCY], "(%s / seconds)", clock);
	unc_text_add(&parts[PART_NONE], "%s", "");
}

/* Makes the sum and the mean of the bins. The mean weighs each bin with its value, exactly: the
 * file's value, or the middle of its bounds, which are whole, so that the middle is whole or a
 * half. */
static void work_out_bins(struct unc_text *mean, struct unc_text *bins, const struct unc_regs *r)
{
	const struct unc_yaml *histogram = unc_yaml_get(r->file->root, "histogram");
	const struct unc_yaml *values = histogram ? unc_yaml_get(histogram, "values") : NULL;
	size_t bin = 0;

	for (size_t i = 0; i < r->count; i++) {
		unsigned long long twice;

		if (r->counters[i].role != UNC_ROLE_BIN)
			continue;
		twice = (unsigned long long)(2 * r->histogram.value[bin]);
		unc_text_add(mean, "%s", bin ? " + " : "(");
		if (values)
			unc_text_add(mean, "%s", values->children[bin].text);
		else if (bin + 1 == r->histogram.count)
			unc_text_add(mean, "%s", unc_yaml_get(histogram, "last")->text);
		else
			unc_text_add(mean, "%llu%s", twice / 2, twice % 2 ? ".5" : "");
		unc_text_add(mean, " * %s", r->counters[i].name);
		unc_text_add(bins, "%s%s", bin++ ? " + " : "(", r->counters[i].name);
	}
	if (bin)
		unc_text_add(bins, ")");
	if (bin)
		unc_text_add(mean, ") / %s", bins->data);
}

/* Adds a line with a key and its text in single quotation marks. In YAML such marks inside the text
 * are doubled. */
static void add_line(struct unc_text *yaml, const char *key, const char *text)
{
	unc_text_add(yaml, "%s: '", key);
	for (; *text; text++)
		unc_text_add(yaml, "%s%c", *text == '\'' ? "'" : "", *text);
	unc_text_add(yaml, "'\n");
}

/* Writes the text of a data file. Sets `made` for the metrics of the family. */
static void write_family(struct unc_text *yaml, const struct unc_regs *r,
			 const struct unc_text parts[PARTS], bool made[METRICS])
{
	static const char *const places[] = {"block", "port", "link", "device"};
	bool any = false;

	unc_text_add(yaml, "family: %s\n", r->name);
	add_line(yaml, "title", r->title);
	add_line(yaml, "instance", r->instance);
	unc_text_add(yaml, "place: %s\npmus:\n", places[r->place]);
	add_line(yaml, "  - name", r->pmu);
	unc_text_add(yaml, "everywhere: true\ncounters: 0\nevents:\n");
	for (const struct unc_regs_counter *c = r->counters; c < r->counters + r->count; c++) {
		unc_text_add(yaml, "  %s:\n    alias: %s\n", c->name, c->name);
		add_line(yaml, "    title", c->title);
		add_line(yaml, "    evidence", r->evidence);
	}
	unc_text_add(yaml, "metrics:\n");
	for (size_t i = 0; i < METRICS; i++) {
		const char *first = parts[metrics[i].first].data;
		const char *second = parts[metrics[i].second].data;

		made[i] = first && second;
		any = any || made[i];
		if (!made[i])
			continue;
		unc_text_add(yaml, "  %s.%s:\n    unit: %s\n    formula: '%s%s%s'\n", r->quantity,
			     metrics[i].name, metrics[i].unit, first, metrics[i].between, second);
		add_line(yaml, "    title", metrics[i].title);
		add_line(yaml, "    evidence", r->evidence);
	}
	/* The table of the histogram: a metric for each bin. It needs all bins, since it is a share
	 * of them. */
	for (size_t k = 0; k < r->histogram.count; k++) {
		const double *from = &r->histogram.lower[k];
		struct unc_text range = {0};

		unc_text_add(&range, "%llu", (unsigned long long)from[0]);
		if (r->bins_refused.text[0])
			; /* without bounds a bin only has its number */
		else if (k + 1 < r->histogram.count)
			unc_text_add(&range, "_to_%llu", (unsigned long long)from[1] - 1);
		else
			unc_text_add(&range, "_up");
		unc_text_add(yaml, "  %s.latency.bin.%s:\n    unit: packet\n    formula: '%s'\n",
			     r->quantity, range.data, parts[PART_BINS].data);
		unc_text_add(yaml,
			     "    title: Transactions with a latency of %s cycles, and their "
			     "share of all\n",
			     range.data);
		add_line(yaml, "    evidence", r->evidence);
		yaml->failed |= range.failed;
		unc_text_finish(&range);
	}
	if (!any)
		unc_text_add(yaml, "  {}\n");
}

/* True if the counter is the clock, or one of several that add up to all cycles. */
static bool counts_cycles(const struct unc_regs *r, const struct unc_regs_counter *c)
{
	if (r->clock)
		return c == r->clock;
	return r->all_cycles && c->role >= UNC_ROLE_ACTIVE && c->role <= UNC_ROLE_IDLE;
}

/* Sets the events that count cycles. If their sum differs from the frequency, values computed with
 * the frequency are wrong. Events that the formula does not name are counted with its events. */
static int set_clock(struct unc_family *f, struct uncore_metric *m, const struct unc_regs *r,
		     struct unc_error *e)
{
	struct unc_names *names = &m->formula->names;
	const struct unc_event_def **events;

	events = unc_yaml_keep(f->file, calloc(UNC_METRIC_EVENTS, sizeof(*events)));
	if (!events)
		return unc_nomem(e);
	m->clock_hz = r->hz;
	for (const struct unc_regs_counter *c = r->counters; c < r->counters + r->count; c++)
		if (r->hz > 0 && counts_cycles(r, c) && !unc_names_has(names, c->name) &&
		    unc_names_add(names, c->name) < 0)
			return unc_nomem(e);
	for (size_t k = 0; k < names->count; k++) {
		events[k] = unc_family_event(f, names->items[k]);
		for (const struct unc_regs_counter *c = r->counters; c < r->counters + r->count;
		     c++)
			if (counts_cycles(r, c) && strcmp(c->name, names->items[k]) == 0)
				m->clock_events |= UINT64_C(1) << k;
	}
	m->events = events;
	return 0;
}

/* Adds a text such as "hist_bin_1 (16 to 31 cycles)". */
static void add_bin(struct unc_text *to, const struct uncore_metric *m, const struct unc_regs *r,
		    size_t bin)
{
	double low, high;

	unc_histogram_bounds(&r->histogram, bin, &low, &high);
	unc_text_add(to, "%s", m->events[bin]->name);
	if (r->bins_refused.text[0])
		return;
	unc_text_add(to, " (%llu", (unsigned long long)low);
	if (isnan(high))
		unc_text_add(to, " cycles or more)");
	else
		unc_text_add(to, " to %llu cycles)", (unsigned long long)high);
}

/* Percentiles and bins are no formulas. Describes their value, in place of the sum from which it is
 * taken. */
static int describe_histogram(struct unc_family *f, struct uncore_metric *m,
			      const struct unc_regs *r, struct unc_error *e)
{
	const char *bins_end = strchr(m->text, ')');
	struct unc_text text = {0};
	char *kept;

	if (m->per_mille) {
		unc_text_add(&text, "the bin of percentile %u", m->per_mille / 10);
		if (m->per_mille % 10)
			unc_text_add(&text, ".%u", m->per_mille % 10);
		for (size_t k = 0; k < r->histogram.count; k++) {
			unc_text_add(&text, "%s", k ? ", " : " among ");
			add_bin(&text, m, r, k);
		}
		if (bins_end && bins_end[1])
			unc_text_add(&text, "; its bounds%s", bins_end + 1);
	} else {
		add_bin(&text, m, r, m->bin);
		unc_text_add(&text, "; its share is %s / %s", m->events[m->bin]->name, m->text);
	}
	kept = unc_yaml_keep(f->file, unc_text_take(&text));
	m->text = kept;
	return kept ? 0 : unc_nomem(e);
}

int unc_regs_family(struct unc_family **out, const struct unc_regs *r, const char *cpu_model,
		    struct unc_error *e)
{
	struct unc_text parts[PARTS] = {0}, yaml = {0};
	struct unc_yaml_file *file = NULL;
	struct unc_family *f = NULL;
	bool made[METRICS];
	size_t metric = 0;
	int err;

	*out = NULL;
	if (!r->has_roles)
		return 0;
	work_out_parts(parts, r);
	work_out_bins(&parts[PART_MEAN], &parts[PART_BINS], r);
	write_family(&yaml, r, parts, made);
	for (size_t i = 0; i < PARTS; i++) {
		yaml.failed |= parts[i].failed;
		unc_text_finish(&parts[i]);
	}
	err = yaml.failed ? unc_nomem(e)
			  : unc_yaml_parse(&file, r->file->name, yaml.data, yaml.len, e);
	unc_text_finish(&yaml);
	if (err == 0)
		err = unc_family_parse(&f, file, cpu_model, e);
	if (err < 0)
		return err;
	for (size_t i = 0; i < METRICS && err == 0; i++) {
		struct uncore_metric *m = &f->metrics[metric];

		if (!made[i])
			continue;
		metric++;
		m->per_mille = metrics[i].per_mille;
		if (m->per_mille)
			m->histogram = &r->histogram;
		if (metrics[i].second == PART_RATE || metrics[i].second == PART_FREQUENCY ||
		    metrics[i].first == PART_CLOCK)
			err = set_clock(f, m, r, e);
	}
	for (size_t k = 0; k < r->histogram.count; k++, metric++) {
		f->metrics[metric].histogram = &r->histogram;
		f->metrics[metric].bin = k;
	}
	for (size_t i = 0; i < metric && err == 0; i++)
		if (f->metrics[i].histogram)
			err = describe_histogram(f, &f->metrics[i], r, e);
	if (err < 0) {
		unc_family_free(f);
		return err;
	}
	*out = f;
	return 0;
}

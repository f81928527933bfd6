/* SPDX-License-Identifier: MIT */
/* Verdicts as a table and as records. */
#include <math.h>
#include <string.h>

#include "output/output.h"
#include "verify/verify.h"

/* Of one metric. */
static bool has_families(const struct verify_run *run)
{
	for (size_t i = 1; i < run->cell_count; i++)
		if (!verify_is_witness(&run->cells[i]) &&
		    strcmp(run->cells[i].family, run->cells[0].family) != 0 &&
		    strcmp(run->cells[i].metric, run->cells[0].metric) == 0)
			return true;
	return false;
}

static void put_place(struct buffer *to, const struct verify_run *run,
		      const struct verify_result *r)
{
	const struct verify_cell *c = r->cell;

	if (r->socket < 0)
		buffer_puts(to, "all sockets");
	else
		buffer_printf(to, "socket %d", r->socket);
	if (c->channel >= 0)
		buffer_printf(to, ", channel %d", c->channel);
	if (*c->port)
		buffer_printf(to, strchr(c->port, ':') ? ", port %s" : ", %s", c->port);
	if (has_families(run))
		buffer_printf(to, " (%s)", c->family);
}

/* Appends the range of the channels to the verdict on their socket; their results follow that of
 * the socket. */
static void put_channels(struct buffer *to, const struct verify_result *r, size_t count)
{
	double least = INFINITY, most = -INFINITY;

	for (size_t i = 1; r->verdict != VERIFY_UNKNOWN && i < count && r[i].cell->channel >= 0;
	     i++) {
		least = fmin(least, r[i].share);
		most = fmax(most, r[i].share);
	}
	if (isfinite(least) && isfinite(most))
		buffer_printf(to, "%schannels' shares %.3f to %.3f", to->len ? "; " : "", least,
			      most);
}

/* Puts the times of request and load before the reason of the verdict. */
static void put_latency(struct buffer *to, const struct verify_result *r)
{
	struct human took, load;

	if (!isfinite(r->latency) || r->cell->channel >= 0)
		return;
	human_value(&took, r->latency * 1e-9, "s");
	human_value(&load, r->series->load_ns * 1e-9, "s");
	buffer_printf(to, "%s of the %s that a load took, %.2f requests each%s", took.text,
		      load.text, r->requests, *r->reason ? "; " : "");
}

static void put_moved(struct table *t, const struct verify_result *r)
{
	const char *unit = verify_load_words[r->series->load].unit;
	struct human moved;

	/* Nanoseconds are printed as seconds. */
	if (strcmp(unit, "ns") == 0)
		human_value(&moved, r->moved / 1e9, "s");
	else
		human_value(&moved, r->moved, unit);
	table_cell(t, "%s", moved.text);
}

/* For bytes the factor, for a latency its time. */
static void put_counted(struct table *t, const struct verify_result *r)
{
	if (!isfinite(r->fit.slope)) {
		table_cell(t, "-");
		table_cell(t, "-");
	} else if (isfinite(r->latency)) {
		table_cell(t, "%.1f ns", r->latency);
		table_cell(t, "±%.1f ns", fabs(r->fit.error / r->requests));
	} else {
		table_cell(t, "%.4f", r->fit.slope);
		table_cell(t, isfinite(r->fit.error) ? "±%.4f" : "-", r->fit.error);
	}
}

/* The length without the unit: "memory.read" of a bandwidth. */
static int length_of_name(const char *metric)
{
	static const char unit[] = ".bandwidth";
	size_t len = strlen(metric), end = sizeof(unit) - 1;

	return (int)(len > end && strcmp(metric + len - end, unit) == 0 ? len - end : len);
}

static void put_row(struct table *t, const struct verify_run *run, const struct verify_result *r,
		    const char *note)
{
	struct buffer place = {0};

	put_place(&place, run, r);
	table_cell(t, "%d", r->series->node);
	table_cell(t, "%s%s", verify_is_far(r->series) ? "far " : "",
		   verify_load_words[r->series->load].name);
	table_cell(t, "%.*s", length_of_name(r->cell->metric), r->cell->metric);
	table_cell(t, "%s", buffer_text(&place));
	put_moved(t, r);
	put_counted(t, r);
	table_cell(t, "%s", verify_verdicts[r->verdict]);
	table_end_row(t, *note ? note : NULL);
	buffer_free(&place);
}

/* Nodes without CPUs whose memory no counter counts. */
static void put_uncounted(struct buffer *to, const struct verify_run *run,
			  const struct verify_result *results, size_t count)
{
	for (size_t i = 0, last = run->series_count; i < run->series_count; i++) {
		const struct verify_series *s = &run->series[i];
		bool judged = false;

		for (size_t k = 0; k < count; k++)
			judged |= results[k].series->node == s->node;
		if (!s->bare || judged || (last < i && run->series[last].node == s->node))
			continue;
		buffer_printf(to, "node %d has no CPUs, and no counter here counts its memory\n",
			      s->node);
		last = i;
	}
}

static void put_text(const struct verify_run *run, const struct verify_result *results,
		     size_t count, struct buffer *to)
{
	static const struct table_column columns[] = {
		{"NODE", TABLE_RIGHT},  {"DIRECTION", 0},       {"METRIC", 0},
		{"PLACE", 0},           {"MOVED", TABLE_RIGHT}, {"COUNTED", TABLE_RIGHT},
		{"ERROR", TABLE_RIGHT}, {"VERDICT", 0},         {NULL, 0},
	};
	size_t tally[VERIFY_UNKNOWN + 1] = {0};
	bool known = false, peak = false;
	bool told = true; /* the socket of the next channels has a verdict */
	bool latencies = false;
	struct table t;

	table_init(&t, columns);
	for (size_t i = 0; i < count; i++) {
		const struct verify_result *r = &results[i];
		struct buffer note = {0};

		tally[r->verdict]++;
		known = known || (r->unit && r->series->load == VERIFY_SPIN);
		peak = peak || r->series->load == VERIFY_READ_ALL;
		latencies = latencies || isfinite(r->latency);
		put_latency(&note, r);
		buffer_puts(&note, r->reason);
		if (r->cell->channel < 0) {
			told = r->verdict != VERIFY_UNKNOWN;
			put_channels(&note, r, count - i);
		}
		/* Channels that are proved are only in the range. */
		if (r->cell->channel < 0 || (told && r->verdict != VERIFY_PROVED))
			put_row(&t, run, r, buffer_text(&note));
		buffer_free(&note);
	}
	table_print(&t, to);
	table_free(&t);
	put_uncounted(to, run, results, count);
	buffer_printf(to, "%s%zu proved, %zu off, %zu cannot tell", count ? "\n" : "",
		      tally[VERIFY_PROVED], tally[VERIFY_OFF], tally[VERIFY_UNKNOWN]);
	buffer_printf(
		to,
		" (on %s, by uncore %s). COUNTED: counted bytes for each byte that was moved%s.\n",
		run->date, run->version, latencies ? ", or the time of a request" : "");
	if (known)
		buffer_puts(to,
			    "For clocks and power: the counted value divided by the known one.\n");
	if (peak)
		buffer_puts(to, "For the peak: the best stream divided by the peak.\n");
}

static void put_record(struct out *out, const struct verify_run *run, const struct verify_result *r)
{
	const struct verify_cell *c = r->cell;
	const struct field fields[] = {
		{"schema", value_count(JSON_SCHEMA)},
		{"source", value_text("verify")},
		{"simulated", value_flag(false)},
		{"kind", value_text("verdict")},
		{"date", value_text(run->date)},
		{"name", value_text(c->metric)},
		{"family", value_text(c->family)},
		{"node", value_id(r->series->node)},
		{"cpu", value_id(r->series->cpu)},
		{"far", value_flag(verify_is_far(r->series))},
		{"direction", value_text(verify_load_words[r->series->load].name)},
		{"socket", value_id(r->socket)},
		{"channel", value_id(c->channel)},
		{"rounds", value_count(r->fit.count)},
		{"moved", value_real(r->moved)},
		{"counted", value_real(r->fit.slope)},
		{"error", value_real(r->fit.error)},
		{"others", value_real(r->fit.rate)},
		{"share", value_real(r->share)},
		{"verdict", value_text(verify_verdicts[r->verdict])},
		{"fault", value_text(r->fault)},
		{"reason", value_text(*r->reason ? r->reason : NULL)},
		{"value", value_real(r->value)},
		{"known", value_real(r->known)},
		{"unit", value_text(r->unit)},
		{"basis", value_text(r->basis)},
		{"requests", value_real(r->requests)},
		{"latency_ns", value_real(r->latency)},
		{"load_ns", value_real(r->series->load_ns > 0 ? r->series->load_ns : NAN)},
		{"port", value_text(*c->port ? c->port : NULL)},
		{"device", value_text(*r->series->device ? r->series->device : NULL)},
		{0},
	};

	out->output->record(out, fields);
}

void verify_print(const struct verify_run *run, const struct verify_result *results, size_t count,
		  const struct output *output, struct buffer *to)
{
	struct out out = {.output = output, .setup = {.separator = ",", .header = true}, .to = to};

	if (!output)
		put_text(run, results, count, to);
	for (size_t i = 0; output && i < count; i++)
		put_record(&out, run, &results[i]);
	out_free(&out);
}

void verify_print_comments(const struct verify_run *run, const struct verify_result *results,
			   size_t count, struct buffer *to)
{
	struct buffer text = {0};
	char *rest, *line;

	put_text(run, results, count, &text);
	rest = text.data;
	while ((line = strsep(&rest, "\n")))
		if (*line || rest) {
			buffer_puts(to, *line ? "# " : "#");
			for (; *line; line++)
				buffer_add(to, (unsigned char)*line < 0x80 ? line : "",
					   (unsigned char)*line < 0x80);
			buffer_puts(to, "\n");
		}
	buffer_free(&text);
}

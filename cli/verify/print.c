/* SPDX-License-Identifier: MIT */
/* Verdicts as a table and as records. */
#include <math.h>
#include <string.h>

#include "output/output.h"
#include "verify/verify.h"

/* Whether a metric has cells of several families. */
static bool has_families(const struct verify_run *run)
{
	const struct verify_cell *c = run->cells;

	for (size_t i = 1; i < run->cell_count; i++)
		if (!verify_is_witness(&c[i]) && strcmp(c[i].family, c->family) != 0 &&
		    c[i].expected == c->expected)
			return true;
	return false;
}

/* The times of request and load, the reason of the verdict, and for a socket with a verdict the
 * range of its channels, whose results follow. */
static void put_note(struct buffer *to, const struct verify_result *r, size_t count)
{
	const bool socket = r->cell->channel < 0;
	double least = INFINITY, most = -INFINITY;

	if (isfinite(r->latency) && socket)
		buffer_printf(to, "%s of the %s that a load took, %.2f requests each%s",
			      human(r->latency * 1e-9, "s").text,
			      human(r->series->load_ns * 1e-9, "s").text, r->requests,
			      *r->reason ? "; " : "");
	buffer_puts(to, r->reason);
	if (!socket || r->verdict == VERIFY_UNKNOWN)
		return;
	for (size_t i = 1; i < count && r[i].cell->channel >= 0; i++) {
		least = fmin(least, r[i].share);
		most = fmax(most, r[i].share);
	}
	if (isfinite(least) && isfinite(most))
		buffer_printf(to, "%schannels' shares %.3f to %.3f", to->len ? "; " : "", least,
			      most);
}

static void put_row(struct table *t, const struct verify_run *run, const struct verify_result *r,
		    const char *note)
{
	static const char ending[] = ".bandwidth"; /* a unit, which is left out */
	const struct verify_cell *c = r->cell;
	const struct verify_load_words *words = &verify_load_words[r->series->load];
	const bool ns = strcmp(words->unit, "ns") == 0; /* printed as seconds */
	size_t len = strlen(c->metric), end = sizeof(ending) - 1;
	auto_buffer place = {0};

	if (len > end && strcmp(c->metric + len - end, ending) == 0)
		len -= end;
	if (c->expected->group == VERIFY_GPUS)
		buffer_printf(&place, "device %s", c->port);
	else if (r->socket < 0)
		buffer_puts(&place, "all sockets");
	else
		buffer_printf(&place, "socket %d", r->socket);
	if (c->channel >= 0)
		buffer_printf(&place, ", channel %d", c->channel);
	if (*c->port && c->expected->group != VERIFY_GPUS)
		buffer_printf(&place, strchr(c->port, ':') ? ", port %s" : ", %s", c->port);
	if (has_families(run))
		buffer_printf(&place, " (%s)", c->family);
	table_cell(t, "%d", r->series->node);
	table_cell(t, "%s%s", verify_is_far(r->series) ? "far " : "", words->name);
	table_cell(t, "%.*s", (int)len, c->metric);
	table_cell(t, "%s", buffer_text(&place));
	table_cell(t, "%s", human(ns ? r->moved / 1e9 : r->moved, ns ? "s" : words->unit).text);
	if (isfinite(r->latency) && isfinite(r->fit.slope)) {
		table_cell(t, "%.1f ns", r->latency);
		table_cell(t, "±%.1f ns", fabs(r->fit.error / r->requests));
	} else { /* the factor */
		table_cell(t, isfinite(r->fit.slope) ? "%.4f" : "-", r->fit.slope);
		table_cell(t, isfinite(r->fit.slope) && isfinite(r->fit.error) ? "±%.4f" : "-",
			   r->fit.error);
	}
	table_cell(t, "%s", verify_verdicts[r->verdict]);
	table_end_row(t, *note ? note : NULL);
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
	size_t tally[VERIFY_VERDICTS] = {0};
	bool known = false, peak = false, latencies = false, gpus = false;
	bool told = true; /* the socket of the next channels has a verdict */
	auto_table t = {0};

	table_init(&t, columns);
	for (size_t i = 0; i < count; i++) {
		const struct verify_result *r = &results[i];
		auto_buffer note = {0};

		tally[r->verdict]++;
		known = known || (r->unit && r->series->load == VERIFY_SPIN);
		peak = peak || r->series->load == VERIFY_READ_ALL;
		gpus = gpus || r->cell->expected->group == VERIFY_GPUS;
		latencies = latencies || isfinite(r->latency);
		put_note(&note, r, count - i);
		if (r->cell->channel < 0)
			told = r->verdict != VERIFY_UNKNOWN;
		/* Channels that are proved are only in the range. */
		if (r->cell->channel < 0 || (told && r->verdict != VERIFY_PROVED))
			put_row(&t, run, r, buffer_text(&note));
	}
	table_print(&t, to);
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
	if (gpus)
		buffer_puts(to, "For what a GPU counts itself: the counted bytes divided by those "
				"that its packets have.\n");
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
		{"port",
		 value_text(*c->port && c->expected->group != VERIFY_GPUS ? c->port : NULL)},
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
	auto_buffer text = {0};
	char *rest, *line;

	put_text(run, results, count, &text);
	rest = text.data;
	while ((line = strsep(&rest, "\n")) && (*line || rest)) {
		buffer_puts(to, *line ? "# " : "#");
		for (; *line; line++) /* ASCII only */
			buffer_add(to, line, (unsigned char)*line < 0x80);
		buffer_puts(to, "\n");
	}
}

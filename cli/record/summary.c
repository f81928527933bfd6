/* SPDX-License-Identifier: MIT */
/* `uncore report FILE`: the mean, p50, p99 and maximum of each metric and place over the recorded
 * intervals, and when the maximum was. */
#include "record/summary.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/replay.h"
#include "base/writer.h"
#include "commands/options.h"
#include "loop/loop.h"
#include "output/output.h"
#include "output/screen.h"
#include "record/owners.h"

#define LINES_SHOWN 10   /* of a view */
#define REASONS_SHOWN 10 /* of all rows */
#define WORD "summary"

/* The sum of a bandwidth over the ports or PMUs of a machine of which no total was recorded. */
struct sum {
	struct uncore_row row;
	struct uncore_row_place place;
	size_t first;  /* the number of its first row */
	size_t values; /* of its rows, in this interval */
};

struct summary {
	const struct output *output; /* NULL: text */
	struct cli *cli;
	bool more;
	struct statistics *all; /* of the rows, then of the sums, then of the owners */
	size_t count;           /* of all, */
	size_t row_count;       /* of rows, */
	size_t own_count;       /* and of both without the owners */
	struct owners owners;   /* what `uncore who` counted */
	/* The times that were read, one for each session or part of a region. */
	struct span {
		uint64_t begin_ns, end_ns;
	} * spans;
	size_t span_count;
	struct sum *sums;
	size_t *sum_of;                     /* of each row, the number of its sum; SIZE_MAX: none */
	const struct uncore_sample *sample; /* the latest: its rows have the names and places */
	uint64_t intervals, missed, begin_ns, end_ns, longest_stride;
	double seconds;
};

/* ---- intervals ---- */

static void add_row(struct statistics *s, const struct uncore_row *row, const struct frame *f)
{
	double value = row->query->family ? row->value : row->rate * out_rate_scale(row);

	statistics_add(s, row, value, isfinite(row->weight) ? row->weight : f->window, f->wall_ns);
}

static const struct uncore_row *row_of(const struct summary *s, size_t i)
{
	return i < s->row_count   ? uncore_sample_row(s->sample, i)
	       : i < s->own_count ? &s->sums[i - s->row_count].row
				  : &s->owners.rows[i - s->own_count].row;
}

/* ---- sums ---- */

/* Whether the row is of one of several parts that can be added up. */
static bool is_part(const struct uncore_row *row)
{
	const struct uncore_row_place *place = row->place;

	return row->query->family && !row->extra && strcmp(row->query->unit, "B/s") == 0 &&
	       !place->role && (place->port || (place->pmu && !uncore_pmu_is_device(place->pmu)));
}

/* The other parts, and 0 if the machine has a row. */
static size_t count_parts(const struct uncore_sample *sample, size_t i)
{
	const struct uncore_row *row = uncore_sample_row(sample, i);
	size_t parts = 0;

	for (size_t k = 0; k < uncore_sample_count(sample); k++) {
		const struct uncore_row *other = uncore_sample_row(sample, k);

		if (other->extra || !out_same_query(other, row))
			continue;
		if (out_is_everywhere(other->place))
			return 0;
		parts += k != i && is_part(other);
	}
	return parts;
}

static void make_sums(struct summary *s, const struct uncore_sample *sample)
{
	size_t count = uncore_sample_count(sample), sums = 0;

	s->sum_of = cli_realloc(NULL, count + 1, sizeof(*s->sum_of));
	s->sums = cli_realloc(NULL, count + 1, sizeof(*s->sums));
	for (size_t i = 0; i < count; i++) {
		const struct uncore_row *row = uncore_sample_row(sample, i);
		size_t k = 0;

		s->sum_of[i] = SIZE_MAX;
		if (!is_part(row) || !count_parts(sample, i))
			continue;
		while (k < sums &&
		       !out_same_query(uncore_sample_row(sample, s->sums[k].first), row))
			k++;
		s->sum_of[i] = k;
		s->sums[k].first = k == sums ? i : s->sums[k].first;
		sums += k == sums;
	}
	s->row_count = count;
	s->own_count = s->count = count + sums;
}

/* The values of the sums in this interval. */
static void add_up(struct summary *s, const struct frame *f)
{
	for (size_t k = 0; k < s->count - s->row_count; k++) {
		struct sum *sum = &s->sums[k];

		sum->row = *frame_row(f, sum->first);
		sum->place = (struct uncore_row_place){
			.socket = -1, .node = -1, .channel = -1, .cpu = -1, .role = "sum"};
		sum->row.place = &sum->place;
		sum->row.value = NAN;
		sum->values = 0;
		sum->row.ceiling = sum->row.weight = NAN;
		sum->row.quality = UNCORE_MEASURED;
		sum->row.reason = NULL;
	}
	for (size_t i = 0; i < s->row_count; i++) {
		const struct uncore_row *row = frame_row(f, i);
		struct sum *sum = s->sum_of[i] == SIZE_MAX ? NULL : &s->sums[s->sum_of[i]];
		bool missing = !isfinite(row->value);
		enum uncore_quality quality = missing ? UNCORE_PARTIAL : row->quality;

		if (!sum)
			continue;
		if (!missing)
			sum->row.value = row->value + (sum->values++ ? sum->row.value : 0);
		if (quality <= sum->row.quality)
			continue;
		sum->row.quality = quality;
		sum->row.reason = missing ? "a part of the sum has no value" : row->reason;
	}
	for (size_t k = 0; k < s->count - s->row_count; k++)
		if (!s->sums[k].values)
			s->sums[k].row.quality = UNCORE_UNAVAILABLE;
}

static void add_span(struct summary *s, uint64_t begin_ns, uint64_t end_ns)
{
	struct span *last = s->span_count ? &s->spans[s->span_count - 1] : NULL;

	/* The clock may have been set by a little. */
	if (last && begin_ns < last->end_ns + (end_ns - begin_ns) / 2) {
		last->end_ns = end_ns;
		return;
	}
	s->spans = cli_realloc(s->spans, s->span_count + 1, sizeof(*s->spans));
	s->spans[s->span_count++] = (struct span){begin_ns, end_ns};
}

/* A short last interval of a session is left out: its values are imprecise. */
static int take(void *context, const struct frame *f)
{
	struct summary *s = context;

	if (!s->all) {
		make_sums(s, f->sample);
		s->all = cli_realloc(NULL, s->count + 1, sizeof(*s->all));
		memset(s->all, 0, (s->count + 1) * sizeof(*s->all));
		s->begin_ns = uncore_sample_begin_wall_ns(f->sample);
	}
	if (uncore_sample_count(f->sample) != s->row_count)
		return cli_failure(CLI_RUNTIME,
				   "the sessions of the recording have different rows: "
				   "report the time of one with --begin and --end");
	s->sample = f->sample;
	s->end_ns = f->wall_ns;
	add_span(s, uncore_sample_begin_wall_ns(f->sample), f->wall_ns);
	s->seconds += f->window;
	s->missed += f->missed;
	if (s->intervals && f->window < (double)s->cli->replay->interval_ns / 2e9)
		return CLI_OK;
	s->intervals++;
	add_up(s, f);
	for (size_t i = 0; i < s->count; i++)
		add_row(&s->all[i], i < s->row_count ? frame_row(f, i) : row_of(s, i), f);
	return CLI_OK;
}

static void finish(struct summary *s)
{
	for (size_t i = 0; i < s->count; i++) {
		statistics_finish(&s->all[i]);
		if (s->all[i].stride > s->longest_stride)
			s->longest_stride = s->all[i].stride;
	}
}

/* The rows of `uncore who`, from another connection to the file: "replay:FILE". */
static int add_owners(struct summary *s)
{
	const char *file = s->cli->source + strlen("replay:");
	struct recording r;
	int err = recording_open(&r, file);

	if (!err)
		err = owners_open(&s->owners, &r);
	for (size_t i = 0; !err && i < s->span_count; i++)
		err = owners_add(&s->owners, &r, s->spans[i].begin_ns, s->spans[i].end_ns);
	if (err)
		cli_error("%s", r.error);
	recording_close(&r);
	owners_finish(&s->owners);
	s->count += s->owners.count;
	s->all = cli_realloc(s->all, s->count + 1, sizeof(*s->all));
	for (size_t i = s->own_count; i < s->count; i++) {
		s->all[i] = s->owners.rows[i - s->own_count].all;
		s->owners.rows[i - s->own_count].all = (struct statistics){0};
	}
	return err ? CLI_RUNTIME : CLI_OK;
}

/* ---- records ---- */

static void print_record(const struct summary *s, struct out *out, size_t i)
{
	const struct uncore_row *row = row_of(s, i);
	const struct statistics *one = &s->all[i];
	char unit[OUT_UNIT_ROOM], date[DATE_ROOM];
	struct field fields[OUT_FIELDS_ROOM] = {
		{"schema", value_count(JSON_SCHEMA)},
		{"source", value_text(out->setup.source)},
		{"simulated", value_flag(out->setup.simulated)},
		{"kind", value_text(WORD)},
		{"host", value_text(out->setup.host)},
		{"name", value_text(row->query->name)},
		{"family", value_text(row->query->family)},
		{"filter", value_text(row->query->filter)},
		{"socket", place_value(row->place, PLACE_SOCKET)},
		{"node", place_value(row->place, PLACE_NODE)},
		{"channel", place_value(row->place, PLACE_CHANNEL)},
		{"port", place_value(row->place, PLACE_PORT)},
		{"role", place_value(row->place, PLACE_ROLE)},
		{"pmu", place_value(row->place, PLACE_PMU)},
		{"cpu", place_value(row->place, PLACE_CPU)},
		{"unit", value_text(unit)},
		{"mean", value_real(statistics_mean(one))},
		{"p50", value_real(one->p50)},
		{"p99", value_real(one->p99)},
		{"max", value_real(one->most)},
		{"max_date", value_text(one->intervals ? date : NULL)},
		{"max_wall_ns", one->intervals ? value_count(one->most_ns) : value_none()},
		{"ceiling", value_real(row->ceiling)},
		{"intervals", value_count(one->intervals)},
		{"missing", value_count(one->missing)},
		{"doubtful", value_count(one->doubtful)},
		{"quality", value_text(uncore_quality_name(one->quality))},
		{"reason", value_text(one->reason)},
	};

	out_rate_unit(row, unit);
	cli_date(date, one->most_ns);
	place_add(row->place, fields);
	out->output->record(out, fields);
}

/* ---- text ---- */

static const struct uncore_row *shown_at(const void *rows, size_t i)
{
	return &((const struct uncore_row *)rows)[i];
}

/* The rows of the screen: with the mean as value, or the maximum. The caller frees them. */
static struct uncore_row *show_rows(const struct summary *s, bool most)
{
	struct uncore_row *rows = cli_realloc(NULL, s->own_count + 1, sizeof(*rows));

	for (size_t i = 0; i < s->own_count; i++) {
		rows[i] = *row_of(s, i);
		rows[i].value = most ? s->all[i].most : statistics_mean(&s->all[i]);
		rows[i].quality = s->all[i].quality;
		rows[i].reason = s->all[i].reason;
	}
	return rows;
}

/* The statistics of one row. The date is in the head if all intervals are of one day. */
static void put_statistics(struct table *t, const struct summary *s, size_t i, const char *label,
			   const char *title)
{
	const struct statistics *one = &s->all[i];
	struct uncore_row row = *row_of(s, i);
	char unit[OUT_UNIT_ROOM], begin[DATE_ROOM], end[DATE_ROOM], date[DATE_ROOM];
	struct uncore_row_query query = *row.query;
	bool one_day;

	out_rate_unit(&row, unit);
	query.unit = unit;
	row.query = &query;
	row.value = statistics_mean(one);
	row.quality = one->quality;
	cli_date(begin, s->begin_ns);
	cli_date(end, s->end_ns);
	cli_date(date, one->most_ns);
	one_day = strncmp(begin, end, strlen("2026-11-22")) == 0;
	table_cell(t, "%s", label);
	table_cell(t, "%s", title);
	out_value(t, &row);
	table_cell(t, "%s", human(one->p50, unit).text);
	table_cell(t, "%s", human(one->p99, unit).text);
	table_cell(t, "%s", human(one->most, unit).text);
	out_share(t, row.ceiling > 0 ? one->most / row.ceiling : NAN);
	if (one->intervals && one_day)
		table_cell(t, "%.12s", date + strlen("2026-11-22T"));
	else
		table_cell(t, "%.19s", one->intervals ? date : "-");
	table_end_row(t, NULL);
}

static void begin_table(struct table *t, struct table_column columns[9], const char *title)
{
	static const struct table_column all[] = {{"", 0},
						  {"MEAN", TABLE_RIGHT},
						  {"P50", TABLE_RIGHT | TABLE_BELOW},
						  {"P99", TABLE_RIGHT},
						  {"MAX", TABLE_RIGHT},
						  {"OF PEAK", TABLE_RIGHT},
						  {"MAX AT", 0},
						  {0}};

	columns[0] = (struct table_column){title, 0};
	memcpy(columns + 1, all, sizeof(all));
	table_init(t, columns);
}

/* Channels have one column only: the sum of both directions, if there is one. */
static void put_line(struct table *t, const struct summary *s, const struct screen_line *line)
{
	static const enum uncore_column order[] = {UNCORE_COLUMN_TOTAL, UNCORE_COLUMN_IN,
						   UNCORE_COLUMN_OUT, UNCORE_COLUMN_SHARE,
						   UNCORE_COLUMN_LATENCY};
	auto_buffer label = {0};

	buffer_printf(&label, "%*s%s", 2 * (int)line->depth, "", line->label);
	for (size_t k = 0; k < sizeof(order) / sizeof(*order); k++) {
		const char *title = uncore_view_column_title(line->view, order[k]);

		if (line->rows[order[k]] == SCREEN_NONE)
			continue;
		put_statistics(t, s, line->rows[order[k]], label.data, title ? title : "");
		*label.data = '\0'; /* once */
		if (line->kind == SCREEN_CHANNEL)
			break;
	}
}

/* Whether any column of the line has a value in any interval. */
static bool has_value(const struct summary *s, const struct screen_line *line)
{
	bool found = false;

	for (size_t k = 0; k < UNCORE_COLUMNS; k++)
		found |= line->rows[k] != SCREEN_NONE && s->all[line->rows[k]].intervals;
	return found;
}

/* The lines of the view that begins at `first`; returns the number of the line behind them. */
static size_t put_view(struct buffer *to, const struct summary *s, const struct screen *screen,
		       size_t first, const struct screen_rows *means,
		       const struct screen_rows *maxima)
{
	const struct uncore_view *view = screen->lines[first].view;
	auto_free size_t *shown = cli_realloc(NULL, screen->count, sizeof(*shown));
	size_t count = 0, idle = 0, empty = 0, end = first, more;
	struct table_column columns[9];
	auto_table t = {0};

	for (; end < screen->count && screen->lines[end].view == view; end++) {
		bool quiet = !screen_is_sum(&screen->lines[end]) &&
			     screen_is_idle(&screen->lines[end], maxima);
		const bool counted = has_value(s, &screen->lines[end]);

		idle += quiet && !screen_is_double(screen, end);
		empty += !quiet && !counted;
		if (!quiet && counted)
			shown[count++] = end;
	}
	screen_sort(screen, means, shown, count);
	more = count > LINES_SHOWN ? count - LINES_SHOWN : 0;
	begin_table(&t, columns, uncore_view_title(view));
	for (size_t i = 0; i < count - more; i++)
		put_line(&t, s, &screen->lines[shown[i]]);
	buffer_puts(to, "\n");
	if (!count)
		buffer_printf(to, "%s\n", uncore_view_title(view));
	table_print(&t, to);
	if (more)
		buffer_printf(to, "  %zu more: -j, --csv or a view such as pcie prints all\n",
			      more);
	if (idle)
		buffer_printf(to, "  %zu idle in all intervals\n", idle);
	if (empty)
		buffer_printf(to, "  %zu without a value\n", empty);
	return end;
}

/* Whether the machine has a row of the same metric or event. */
static bool has_whole(const struct summary *s, const struct uncore_row *row)
{
	for (size_t i = 0; i < s->count; i++) {
		const struct uncore_row *other = row_of(s, i);

		if (out_is_everywhere(other->place) && out_same_query(other, row))
			return true;
	}
	return false;
}

/* Metrics that no view has, and events: of the machine, or else of all places that counted. */
static void put_others(struct buffer *to, const struct summary *s)
{
	struct table_column columns[9];
	auto_table t = {0};
	size_t idle = 0;

	begin_table(&t, columns, "Other");
	for (size_t i = 0; i < s->own_count; i++) {
		const struct uncore_row *row = row_of(s, i);
		auto_buffer place = {0};

		if (cli_view_cell(s->cli->u, row->query->name).view ||
		    (!out_is_everywhere(row->place) && has_whole(s, row)))
			continue;
		if (!out_is_everywhere(row->place) && !(s->all[i].most > 0)) {
			idle++;
			continue;
		}
		if (!out_is_everywhere(row->place))
			out_place(&place, row->place);
		if (row->place->role)
			buffer_printf(&place, "%s%s", place.len ? ", " : "", row->place->role);
		put_statistics(&t, s, i, row->query->name, place.len ? place.data : "");
	}
	if (t.cells.len)
		buffer_puts(to, "\n");
	table_print(&t, to);
	if (idle)
		buffer_printf(to, "  %zu idle in all intervals\n", idle);
}

/* Who moved it: the keys that moved most, what no group had, and groups of others. */
static void put_owners(struct buffer *to, const struct summary *s)
{
	const struct owner_row *before = NULL, *one;
	size_t keys = 0, more = 0;
	struct table_column columns[9];
	auto_table t = {0};

	begin_table(&t, columns, "Who");
	for (size_t i = 0; i < s->owners.count; i++) {
		one = &s->owners.rows[i];
		if (one->place.socket >= 0 || !(s->all[s->own_count + i].most > 0))
			continue;
		if (!before || !owners_is_same(before, one)) {
			more += one->is_key && keys >= LINES_SHOWN;
			keys += one->is_key;
		}
		if (!one->is_key || keys <= LINES_SHOWN)
			put_statistics(&t, s, s->own_count + i,
				       before && owners_is_same(before, one) ? "" : one->label,
				       one->title);
		before = one;
	}
	if (before)
		buffer_puts(to, "\n");
	table_print(&t, to);
	if (more)
		buffer_printf(to, "  %zu more: -j or --csv prints all\n", more);
}

/* A latency, or a ratio, is unavailable where nothing moves. */
static bool needs_reason(const struct summary *s, size_t i)
{
	struct view_cell cell;

	if (!s->all[i].reason)
		return false;
	if (s->all[i].quality != UNCORE_UNAVAILABLE)
		return s->all[i].quality >= UNCORE_SCALED;
	cell = cli_view_cell(s->cli->u, row_of(s, i)->query->name);
	return cell.view && cell.column <= UNCORE_COLUMN_TOTAL;
}

static bool said_before(const struct summary *s, size_t i)
{
	for (size_t k = 0; k < i; k++)
		if (!row_of(s, k)->extra && cli_same(s->all[k].reason, s->all[i].reason))
			return true;
	return false;
}

/* Each reason once, with the first row that has it. */
static void put_reasons(struct buffer *to, const struct summary *s)
{
	size_t shown = 0, more = 0;

	for (size_t i = 0; i < s->count; i++) {
		const struct statistics *one = &s->all[i];
		const struct uncore_row *row = row_of(s, i);
		auto_buffer place = {0};

		if (row->extra || !needs_reason(s, i) || said_before(s, i))
			continue;
		more += shown == REASONS_SHOWN;
		if (shown == REASONS_SHOWN)
			continue;
		out_place(&place, row->place);
		buffer_printf(to,
			      "%s%s, %s: %s, %llu of %llu intervals partial or suspect, %llu "
			      "without a value: ",
			      shown++ ? "" : "\n", row->query->name, place.data,
			      uncore_quality_name(one->quality), (unsigned long long)one->doubtful,
			      (unsigned long long)s->intervals, (unsigned long long)one->missing);
		human_text(to, one->reason);
		buffer_puts(to, "\n");
	}
	if (more)
		buffer_printf(to, "%zu more reasons: -j prints all\n", more);
}

static void put_head(struct buffer *to, const struct summary *s)
{
	char begin[DATE_ROOM], end[DATE_ROOM], sockets[SOCKETS_ROOM], cpu[CPU_ROOM];
	const struct replay *replay = s->cli->replay;
	const char *host = cli_host(s->cli);
	size_t doubtful = 0, missing = 0, rows = 0;

	for (size_t i = 0; i < s->count; i++) {
		if (row_of(s, i)->extra)
			continue;
		rows++;
		doubtful += s->all[i].doubtful > 0;
		missing += s->all[i].intervals == 0;
	}
	cli_date(begin, s->begin_ns);
	cli_date(end, s->end_ns);
	if (uncore_is_simulated(s->cli->u))
		buffer_printf(to, "SIMULATED by %s: these values are invented.\n",
			      uncore_source(s->cli->u));
	buffer_printf(to, "Machine   %s%s%s, %s\n", host ? host : "", host ? ": " : "",
		      cli_cpu(s->cli->u, cpu), cli_sockets(s->cli->u, sockets));
	buffer_printf(to, "Recorded  %s to %s", begin, end);
	buffer_printf(to, ", %s in %llu intervals of %s, %llu missed\n",
		      human(s->seconds, "s").text, (unsigned long long)s->intervals,
		      human((double)replay->interval_ns / 1e9, "s").text,
		      (unsigned long long)s->missed);
	buffer_printf(to,
		      "Quality   %zu rows: %zu with partial or suspect values, %zu without any\n",
		      rows, doubtful, missing);
	if (s->longest_stride > 1)
		buffer_printf(to, "P50, P99  of one in %llu intervals\n",
			      (unsigned long long)s->longest_stride);
}

static void print_text(const struct summary *s, struct buffer *to)
{
	auto_free struct uncore_row *mean = show_rows(s, false), *most = show_rows(s, true);
	const struct screen_rows means = {.at = shown_at, .context = mean, .count = s->own_count},
				 maxima = {.at = shown_at, .context = most, .count = s->own_count};
	struct screen screen;

	buffer_puts(to, s->more ? "\n" : "");
	put_head(to, s);
	screen_make(&screen, s->cli->u, &means);
	for (size_t i = 0; i < screen.count;)
		i = put_view(to, s, &screen, i, &means, &maxima);
	screen_free(&screen);
	put_others(to, s);
	put_owners(to, s);
	put_reasons(to, s);
}

/* ---- the command ---- */

/* After the last session, while the rows are there. */
static int print(void *context)
{
	struct summary *s = context;
	struct buffer text = {0};
	struct out out = {.output = s->output,
			  .setup = {.source = uncore_source(s->cli->u),
				    .simulated = uncore_is_simulated(s->cli->u),
				    .host = cli_host(s->cli),
				    .separator = ",",
				    .header = !s->more},
			  .to = &text};
	int status;

	if (!s->intervals || s->cli->replay->sessions)
		return CLI_OK;
	status = add_owners(s);
	if (status)
		return status;
	finish(s);
	for (size_t i = 0; s->output && i < s->count; i++)
		if (!row_of(s, i)->extra)
			print_record(s, &out, i);
	if (!s->output)
		print_text(s, &text);
	out_free(&out);
	return writer_print(&text);
}

bool summary_is_meant(int argc, char *const *argv)
{
	static const char *const own[] = {"-j", "--json", "--csv", "--help", NULL};

	for (int i = 0; i < argc; i++)
		if (!own[cli_word(own, argv[i])] && !(*argv[i] == '-' && cli_is_global(argv[i])))
			return false;
	return true;
}

int summary_run(struct cli *cli, bool more, int argc, char **argv)
{
	static const struct cli_syntax syntax = {
		.doc = "Prints the mean, p50, p99 and maximum of each metric and place over the "
		       "recorded intervals, and when the maximum was.",
		.outputs = OUTPUTS_RECORDS,
		.outputs_group = 1,
		.outputs_at = offsetof(struct summary, output),
	};
	struct summary s = {.cli = cli, .more = more};
	struct sink sink = {.context = &s, .notes = true, .take = take, .end_run = print};
	struct sink *const sinks[] = {&sink, NULL};
	struct request request = {.as_recorded = true, .extra = true};
	struct uncore_monitor *m;
	int status;

	cli_parse(cli, &syntax, &s, argc, argv);
	if (s.output && !s.output->record)
		return cli_failure(CLI_USAGE, "a summary is text, JSON or CSV");
	status = cli_open(cli);
	if (!status) {
		request.when.interval_ns = cli->replay->interval_ns;
		status = loop_plan(cli, &request, sinks, &m);
	}
	if (!status)
		status = loop_run(cli, &request, sinks, m);
	for (size_t i = 0; i < s.count; i++)
		statistics_free(&s.all[i]);
	free(s.all);
	free(s.spans);
	owners_free(&s.owners);
	free(s.sums);
	free(s.sum_of);
	return status;
}

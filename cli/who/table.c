/* SPDX-License-Identifier: MIT */
/* The table of `uncore who`: the keys that have a group, then what no group has, then groups of
 * others, then how their sum compares with what the memory controllers count. */
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "who/who.h"

#define STARTED " *" /* the mark of a key whose row contains what it started */
#define SOCKETS 8    /* with columns of their own */
/* The sum and the controllers differ by at least that much of it before the text says why. */
#define DIFFERENT 0.02

static const struct table_column columns[] = {
	{"WHO", TABLE_ALONE},
	{"MEMORY", TABLE_RIGHT | TABLE_RATE},
	{"SHARE", TABLE_RIGHT},
	{"LOCAL", TABLE_RIGHT | TABLE_RATE},
	{"REMOTE", TABLE_RIGHT | TABLE_RATE},
	{"CACHE", TABLE_RIGHT | TABLE_TIME},
	{"READ", TABLE_RIGHT | TABLE_RATE},
	{"WRITTEN", TABLE_RIGHT | TABLE_RATE},
	{"GPU", TABLE_RIGHT},
	{"GPU MEMORY", TABLE_RIGHT | TABLE_TIME},
	{"SOCKET 0", TABLE_RIGHT | TABLE_BELOW | TABLE_RATE},
	{"SOCKET 1", TABLE_RIGHT | TABLE_BELOW | TABLE_RATE},
	{"SOCKET 2", TABLE_RIGHT | TABLE_BELOW | TABLE_RATE},
	{"SOCKET 3", TABLE_RIGHT | TABLE_BELOW | TABLE_RATE},
	{"SOCKET 4", TABLE_RIGHT | TABLE_BELOW | TABLE_RATE},
	{"SOCKET 5", TABLE_RIGHT | TABLE_BELOW | TABLE_RATE},
	{"SOCKET 6", TABLE_RIGHT | TABLE_BELOW | TABLE_RATE},
	{"SOCKET 7", TABLE_RIGHT | TABLE_BELOW | TABLE_RATE},
	{0},
};

enum column { MOVED, LOCAL, REMOTE, CACHE, READ, WRITTEN, GPU, GPU_MEMORY, COLUMNS };

static const char *const metrics[] = {[MOVED] = OWNER_MOVED,   [LOCAL] = OWNER_LOCAL,
				      [REMOTE] = OWNER_REMOTE, [CACHE] = OWNER_CACHE,
				      [READ] = OWNER_READ,     [WRITTEN] = OWNER_WRITTEN,
				      [GPU] = OWNER_GPU,       [GPU_MEMORY] = OWNER_GPU_MEMORY};

enum kind { OWN, OTHER, FOREIGN };

struct line {
	const char *role;
	const char *tasks; /* NULL: a group of others */
	enum kind kind;
	bool started; /* what its processes have started is in it */
	const struct uncore_row *cells[COLUMNS], *sockets[SOCKETS];
};

static struct line *find_line(struct line *lines, size_t *count, const struct uncore_row *row)
{
	const struct uncore_row_place *place = row->place;
	struct line *line = lines;

	/* What a key used without a group is in the line of its group. */
	for (; line < lines + *count; line++)
		if (place->role ? cli_same(line->role, place->role)
				: line->kind == OWN && cli_same(line->tasks, place->tasks))
			return line;
	(*count)++;
	*line = (struct line){.role = place->role,
			      .tasks = place->tasks,
			      .kind = cli_same(place->role, OWNER_OTHER) ? OTHER
				      : place->tasks                     ? OWN
									 : FOREIGN};
	return line;
}

static struct line *make_lines(const struct out *out, size_t *count)
{
	struct line *lines = cli_realloc(NULL, out->row_count, sizeof(*lines));

	*count = 0;
	for (size_t i = 0; i < out->row_count; i++) {
		const struct uncore_row *row = out->rows[i].row;
		int socket = row->place->socket;
		struct line *line;

		if (!row->place->role && !row->place->tasks)
			continue;
		line = find_line(lines, count, row);
		line->started |= row->reason == who_started;
		for (int m = 0; socket < 0 && m < COLUMNS; m++)
			if (cli_same(row->query->name, metrics[m]))
				line->cells[m] = row;
		if (socket >= 0 && socket < SOCKETS && cli_same(row->query->name, OWNER_MOVED))
			line->sockets[socket] = row;
	}
	return lines;
}

static double value_of(const struct line *line, enum column column)
{
	const struct uncore_row *row = line->cells[column];

	return row && isfinite(row->value) ? row->value : 0;
}

/* NaN: there are rows, and none has a value. *partial: some have none, or not all. */
static double sum_of_column(const struct line *lines, size_t count, enum column column,
			    bool *partial)
{
	size_t rows = 0, known = 0;
	double sum = 0;

	for (size_t i = 0; i < count; i++) {
		const struct uncore_row *row = lines[i].cells[column];

		rows += row != NULL;
		known += row && isfinite(row->value);
		sum += value_of(&lines[i], column);
		*partial |= row && row->quality >= UNCORE_PARTIAL;
	}
	return rows && !known ? NAN : sum;
}

/* What moved, or else what fills the cache; -1: not known. */
static double weight_of(const struct line *line)
{
	const struct uncore_row *row = line->cells[MOVED] ? line->cells[MOVED] : line->cells[CACHE];

	return row && isfinite(row->value) ? row->value : -1;
}

static int compare_lines(const void *a, const void *b)
{
	const struct line *x = a, *y = b;
	double p = weight_of(x), q = weight_of(y), s = value_of(x, READ) + value_of(x, WRITTEN),
	       t = value_of(y, READ) + value_of(y, WRITTEN);

	if (x->kind != y->kind)
		return x->kind < y->kind ? -1 : 1;
	if (p != q)
		return p > q ? -1 : 1;
	if (s != t)
		return s > t ? -1 : 1;
	s = value_of(x, GPU);
	t = value_of(y, GPU);
	if (s != t)
		return s > t ? -1 : 1;
	return x->role && y->role ? strcmp(x->role, y->role)
				  : strcmp(x->tasks ? x->tasks : "", y->tasks ? y->tasks : "");
}

/* Whether all bytes of the line are known. Those of "other" lack what has its own line. */
static bool is_complete(const struct line *line)
{
	const struct uncore_row *row = line->cells[MOVED];

	return !row ||
	       (isfinite(row->value) && (line->kind == OTHER || row->reason == who_outside ||
					 row->quality != UNCORE_PARTIAL));
}

/* All that groups moved. A monitor group in the default group, "/web", was taken off that and is
 * added again; one in a control group, "batch/db", is contained in that. *unknown: groups whose
 * bytes are not known. */
static double sum_of(const struct line *lines, size_t count, size_t *unknown)
{
	double sum = 0;

	*unknown = 0;
	for (size_t i = 0; i < count; i++) {
		if (lines[i].kind == FOREIGN && strchr(lines[i].role + 1, '/'))
			continue;
		sum += lines[i].cells[MOVED] && isfinite(lines[i].cells[MOVED]->value)
			       ? lines[i].cells[MOVED]->value
			       : 0;
		*unknown += !is_complete(&lines[i]);
	}
	return sum;
}

static void put_line(struct table *t, const struct line *line, double sum)
{
	const struct uncore_row *moved = line->cells[MOVED];

	if (line->kind == OTHER)
		table_cell(t, "other: %s", line->tasks);
	else if (line->kind == OWN)
		table_cell(t, "%s%s", line->tasks, line->started ? STARTED : "");
	else
		table_cell(t, "group %s", line->role);
	out_value(t, moved);
	out_share(t, moved && sum > 0 ? moved->value / sum : NAN);
	for (int i = LOCAL; i < COLUMNS; i++)
		out_value(t, line->cells[i]);
	for (int i = 0; i < SOCKETS; i++)
		out_value(t, line->sockets[i]);
	table_end_row(t, NULL);
}

/* Lines that --top leaves out are one. */
static void put_rest(struct table *t, const struct line *lines, size_t count, double sum)
{
	struct uncore_row_query query = {.name = OWNER_MOVED, .unit = "B/s"};
	struct uncore_row row = {.query = &query, .quality = UNCORE_MEASURED};

	for (size_t i = 0; i < count; i++) {
		if (weight_of(&lines[i]) > 0)
			row.value += weight_of(&lines[i]);
		if (!is_complete(&lines[i]))
			row.quality = UNCORE_PARTIAL;
	}
	if (row.quality == UNCORE_PARTIAL && row.value <= 0)
		row.value = NAN;
	table_cell(t, lines->role ? "%zu more with groups" : "%zu more", count);
	out_value(t, lines->cells[MOVED] ? &row : NULL);
	out_share(t, lines->cells[MOVED] && sum > 0 ? row.value / sum : NAN);
	for (int i = LOCAL; i < COLUMNS; i++) {
		bool partial = false;

		query = (struct uncore_row_query){.name = metrics[i], .unit = "B/s"};
		row.value = sum_of_column(lines, count, (enum column)i, &partial);
		row.quality = partial ? UNCORE_PARTIAL : UNCORE_MEASURED;
		out_value(t, (i == READ || i == WRITTEN) && row.value > 0 ? &row : NULL);
	}
	table_end_row(t, NULL);
}

static void explain_difference(struct buffer *text, double sum, double counted)
{
	if (counted > sum * (1 + DIFFERENT))
		buffer_printf(text,
			      ": %s more, which devices moved, or caches and the firmware "
			      "without a task",
			      human(counted - sum, "B/s").text);
	else if (sum > counted * (1 + DIFFERENT))
		buffer_printf(
			text,
			": %s less, which came from caches of other sockets or from memory that "
			"these controllers do not have",
			human(sum - counted, "B/s").text);
}

/* What the memory controllers count in the same interval. */
static void compare_controllers(struct out *out, double sum, size_t unknown)
{
	double counted = NAN;
	auto_buffer text = {0};

	for (size_t i = 0; i < out->row_count; i++) {
		const struct uncore_row *row = out->rows[i].row;

		if (row->place->role || row->place->socket >= 0 || row->place->pmu ||
		    !cli_same(row->query->name, WHO_CONTROLLERS) || !isfinite(row->value))
			continue;
		counted = isnan(counted) ? row->value : counted + row->value;
	}
	if (isnan(counted) && !unknown) {
		out_once(out,
			 "The memory controllers cannot be counted here, so that the sum of the "
			 "groups is not compared with them.");
		return;
	}
	buffer_printf(&text, "All groups %s", unknown && sum <= 0 ? "-" : human(sum, "B/s").text);
	if (isfinite(counted))
		buffer_printf(&text, ", memory controllers %s", human(counted, "B/s").text);
	if (unknown)
		buffer_printf(&text, ": %zu of the groups %s no count, so that the sum is partial",
			      unknown, unknown == 1 ? "has" : "have");
	else
		explain_difference(&text, sum, counted);
	buffer_puts(&text, ".");
	buffer_wrap(out->to, 0, text_columns(), text.data);
}

/* What disks count in the same interval; NaN: they have no counters. */
static double counted_by_disks(const struct out *out, const char *name)
{
	double sum = NAN;

	for (size_t i = 0; i < out->row_count; i++) {
		const struct uncore_row *row = out->rows[i].row;

		if (row->place->socket < 0 && !row->place->pmu && !row->place->tasks &&
		    cli_same(row->query->name, name) && isfinite(row->value))
			sum = isnan(sum) ? row->value : sum + row->value;
	}
	return sum;
}

static void compare_disks(struct out *out, const struct line *lines, size_t count)
{
	bool partial = false;
	double read = sum_of_column(lines, count, READ, &partial),
	       written = sum_of_column(lines, count, WRITTEN, &partial),
	       disks_read = counted_by_disks(out, WHO_DISKS_READ),
	       disks_written = counted_by_disks(out, WHO_DISKS_WRITTEN);
	auto_buffer text = {0};

	buffer_printf(&text,
		      partial ? "The processes that can be read have read %s and written %s"
			      : "All processes read %s and wrote %s",
		      human(read, "B/s").text, human(written, "B/s").text);
	if (isfinite(disks_read) || isfinite(disks_written))
		buffer_printf(&text, ", disks read %s and wrote %s", human(disks_read, "B/s").text,
			      human(disks_written, "B/s").text);
	buffer_puts(&text, ".");
	buffer_wrap(out->to, 0, text_columns(), text.data);
	out_once(out,
		 "A process has written when its data is in the page cache, or on the disk with "
		 "O_DIRECT. Disks count when the kernel writes.");
}

/* The reason of measured rows is a note on their mark. */
static void put_started(struct who *w, struct out *out, const struct line *lines, size_t count)
{
	bool started = false;

	for (size_t i = 0; i < count; i++)
		started |= lines[i].started;
	if (started)
		out_once(out,
			 "* with processes that it started, until the end of the interval in which "
			 "they began");
	for (size_t i = 0; i < w->row_count; i++)
		if (w->rows[i].reason == who_started)
			w->rows[i].reason = NULL;
}

/* Sockets without a column. */
static void note_sockets(struct out *out)
{
	bool more = false;

	for (size_t i = 0; i < out->row_count; i++)
		more |= out->rows[i].row->place->tasks &&
			out->rows[i].row->place->socket >= SOCKETS;
	if (more)
		buffer_printf(out->to, "Sockets from %d on have no column; -j prints their rows.\n",
			      SOCKETS);
}

static void put_window(struct out *out)
{
	struct who *w = (struct who *)((char *)out - offsetof(struct who, print.out));
	size_t count, own = 0, shown;
	auto_free struct line *lines = make_lines(out, &count);
	size_t unknown;
	double sum = sum_of(lines, count, &unknown);

	out_text_header(out);
	out_text_time(out);
	out_table(out, &out->table, columns);
	out->table.titled = false; /* each interval has other lines */
	if (count)
		qsort(lines, count, sizeof(*lines), compare_lines);
	while (own < count && lines[own].kind == OWN)
		own++;
	shown = w->top && w->top < own ? (size_t)w->top : own;
	for (size_t i = 0; i < shown; i++)
		put_line(&out->table, &lines[i], unknown ? NAN : sum);
	if (shown < own)
		put_rest(&out->table, lines + shown, own - shown, unknown ? NAN : sum);
	for (size_t i = own; i < count; i++)
		put_line(&out->table, &lines[i], unknown ? NAN : sum);
	table_print(&out->table, out->to);
	note_sockets(out);
	if (!own)
		buffer_printf(out->to,
			      w->pool.groups ? "No %s was busy.\n"
					     : "No %s read or wrote anything.\n",
			      who_by_words[w->by]);
	put_started(w, out, lines, own);
	if (w->pool.groups)
		compare_controllers(out, sum, unknown);
	if (w->usage)
		compare_disks(out, lines, count);
	out_reasons(out, NULL);
}

const struct output who_table = {.name = "text", .window = put_window};

/* SPDX-License-Identifier: MIT */
/* The readings of a run, in memory and as an entry of a snapshot, which --root ignores. */
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cli.h"
#include "verify/verify.h"

#define ENTRY "uncore/verify:"
#define VERSION 2
#define UNENDED 1 /* the version without a last line */
#define END "end" /* the last line: a report without it is truncated */
/* More than any machine has. The time to judge a report grows with the product. 16 nodes have some
 * 70 series in each pass. */
#define CELLS_MOST 2048
#define SERIES_MOST 1024
#define TOO_MANY "more places than a machine can have"
#define BARE " bare" /* the node has no CPUs */
#define BOTH_ENDS " both-ends"

/* ---- in memory ---- */

void verify_run_free(struct verify_run *run)
{
	for (size_t i = 0; i < run->series_count; i++) {
		free(run->series[i].moved);
		free(run->series[i].readings);
	}
	free(run->series);
	free(run->cells);
	free(run->split);
	*run = (struct verify_run){0};
}

bool verify_is_split(const struct verify_run *run, int node)
{
	for (size_t i = 0; i < run->split_count; i++)
		if (run->split[i] == node)
			return true;
	return false;
}

void verify_add_split(struct verify_run *run, int node)
{
	if (verify_is_split(run, node))
		return;
	run->split = cli_realloc(run->split, run->split_count + 1, sizeof(*run->split));
	run->split[run->split_count++] = node;
}

void verify_add_cell(struct verify_run *run, const struct verify_cell *cell)
{
	run->cells = cli_realloc(run->cells, run->cell_count + 1, sizeof(*run->cells));
	run->cells[run->cell_count] = *cell;
	run->cells[run->cell_count++].expected = verify_expectation(cell->metric);
}

struct verify_series *verify_add_series(struct verify_run *run, const struct verify_series *series)
{
	struct verify_series *s;

	run->series = cli_realloc(run->series, run->series_count + 1, sizeof(*run->series));
	s = &run->series[run->series_count++];
	*s = *series;
	s->first_cell = run->first_cell;
	s->cell_count = run->cell_count - run->first_cell;
	return s;
}

struct verify_reading *verify_add_round(struct verify_series *series, double moved)
{
	const size_t cells = series->cell_count, rounds = series->round_count++;

	series->moved = cli_realloc(series->moved, rounds + 1, sizeof(*series->moved));
	series->readings =
		cli_realloc(series->readings, (rounds + 1) * cells, sizeof(*series->readings));
	series->moved[rounds] = moved;
	for (size_t i = 0; i < cells; i++)
		series->readings[rounds * cells + i] =
			(struct verify_reading){.amount = NAN, .seconds = NAN};
	return series->readings + rounds * cells;
}

const struct verify_reading *verify_reading_of(const struct verify_series *s, size_t round,
					       size_t cell)
{
	if (cell < s->first_cell || cell - s->first_cell >= s->cell_count)
		return NULL;
	return &s->readings[round * s->cell_count + cell - s->first_cell];
}

/* ---- as text ---- */

static void put_series(struct buffer *to, const struct verify_series *s)
{
	buffer_printf(to, "\tseries %s node %d socket %d cpu %d of %d memory %.0f elsewhere %zu%s",
		      verify_load_words[s->load].name, s->node, s->socket, s->cpu, s->cpu_socket,
		      s->memory, s->elsewhere, s->bare ? BARE : "");
	if (s->load_ns > 0)
		buffer_printf(to, " ns %.3f", s->load_ns);
	if (s->cpus)
		buffer_printf(to, " cpus %d", s->cpus);
	if (*s->device)
		buffer_printf(to, " device %s port %s disk %.6f", s->device,
			      *s->port ? s->port : "-", s->disk);
	if (s->copy > 0)
		buffer_printf(to, " copy %.0f rate %.0f", s->copy, s->rate);
	buffer_puts(to, "\n");
	for (size_t i = 0; i < s->round_count; i++) {
		buffer_printf(to, "\tround %.0f", s->moved[i]);
		for (size_t k = 0; k < s->cell_count; k++) {
			const struct verify_reading *r = &s->readings[i * s->cell_count + k];

			if (!isfinite(r->amount) || !isfinite(r->seconds))
				buffer_puts(to, " -");
			else if (fabs(r->amount) < 1e6) /* joules have fractions */
				buffer_printf(to, " %.10g@%.9f", r->amount, r->seconds);
			else
				buffer_printf(to, " %.0f@%.9f", r->amount, r->seconds);
			if (isfinite(r->amount) && r->requests > 0)
				buffer_printf(to, "/%.0f", r->requests);
		}
		buffer_puts(to, "\n");
	}
}

static void put_cells(struct buffer *to, const struct verify_run *run, size_t from, size_t end)
{
	for (; from < end; from++) {
		const struct verify_cell *c = &run->cells[from];

		buffer_printf(to, "\tcell %s %s socket %d channel %d%s", c->metric, c->family,
			      c->socket, c->channel, c->both_ends ? BOTH_ENDS : "");
		if (*c->port)
			buffer_printf(to, " port %s", c->port);
		buffer_puts(to, "\n");
		for (size_t i = 0; i < c->alternative_count; i++)
			buffer_printf(to, "\talternative %.9g %s\n", c->alternatives[i].factor,
				      c->alternatives[i].title);
	}
}

/* Cells come before the first series that counted them. */
void verify_put_run(struct buffer *to, const struct verify_run *run)
{
	size_t done = 0;

	buffer_printf(to, ENTRY "\n\tversion %d\n\tuncore %s\n\tdate %s\n\tcache %.0f\n", VERSION,
		      run->version, run->date, run->cache);
	/* Unknown facts are left out. */
	if (run->transfers > 0)
		buffer_printf(to, "\tmodules %.3f %s\n", run->transfers,
			      run->rated ? "rated" : "configured");
	if (run->hinted)
		buffer_puts(to, "\tstores hinted\n");
	for (size_t i = 0; i < run->split_count; i++)
		buffer_printf(to, "\tsplit node %d\n", run->split[i]);
	if (run->caches > 0)
		buffer_printf(to, "\tcaches %.0f\n", run->caches);
	if (run->limit > 0)
		buffer_printf(to, "\tlimit %.3f\n", run->limit);
	if (*run->hypervisor)
		buffer_printf(to, "\thypervisor %s\n", run->hypervisor);
	for (size_t i = 0; i < run->series_count; i++) {
		const struct verify_series *s = &run->series[i];
		const size_t end = s->first_cell + s->cell_count;

		put_cells(to, run, done, end);
		done = end > done ? end : done;
		put_series(to, s);
	}
	put_cells(to, run, done, run->cell_count);
	buffer_puts(to, "\t" END "\n");
}

/* ---- from text ---- */

static const char *take_round(struct verify_run *run, const char *text)
{
	struct verify_series *s;
	struct verify_reading *r;
	double moved;

	if (!run->series_count)
		return "a round without a series";
	if (!cli_number(&text, &moved))
		return "a round without its amount";
	s = &run->series[run->series_count - 1];
	r = verify_add_round(s, moved);
	for (size_t i = 0; i < s->cell_count; i++) {
		if (strncmp(text, " -", 2) == 0 && (!text[2] || text[2] == ' ')) {
			text += 2;
			continue;
		}
		if (*text++ != ' ' || !cli_number(&text, &r[i].amount) || *text++ != '@' ||
		    !cli_number(&text, &r[i].seconds) ||
		    (*text == '/' && (text++, !cli_number(&text, &r[i].requests))))
			return "a round needs a reading of each cell: AMOUNT@SECONDS, or -";
	}
	return *text ? "a round has more readings than there are cells" : NULL;
}

static bool take_label(const char **text, const char *label)
{
	size_t len = strlen(label);

	if (strncmp(*text, label, len) != 0)
		return false;
	*text += len;
	return true;
}

/* A word of less than `room` characters. */
static bool take_word(const char **text, char *into, size_t room)
{
	size_t len = strcspn(*text, " ");

	if (!len || len >= room)
		return false;
	memcpy(into, *text, len);
	into[len] = '\0';
	*text += len;
	return true;
}

/* The number of a socket, node, CPU ..., or -1. */
static bool take_id(const char **text, const char *label, int *into)
{
	char *end;
	long id;

	if (!take_label(text, label))
		return false;
	id = strtol(*text, &end, 10);
	if (end == *text || id < -1 || id > INT_MAX)
		return false;
	*into = (int)id;
	*text = end;
	return true;
}

static const char *take_series(struct verify_run *run, const char *text)
{
	struct verify_series s = {0};
	char load[16] = "";
	double elsewhere = 0;

	take_word(&text, load, sizeof(load));
	while (s.load < VERIFY_LOADS && strcmp(load, verify_load_words[s.load].name) != 0)
		s.load++;
	if (s.load == VERIFY_LOADS || !take_id(&text, " node ", &s.node) ||
	    !take_id(&text, " socket ", &s.socket) || !take_id(&text, " cpu ", &s.cpu) ||
	    !take_id(&text, " of ", &s.cpu_socket) || !take_label(&text, " memory ") ||
	    !cli_number(&text, &s.memory) || !take_label(&text, " elsewhere ") ||
	    !cli_number(&text, &elsewhere) || elsewhere > 1e15)
		return "not a series";
	s.elsewhere = (size_t)elsewhere;
	s.bare = take_label(&text, BARE);
	if ((take_label(&text, " ns ") && !cli_number(&text, &s.load_ns)) ||
	    (take_id(&text, " cpus ", &s.cpus) && s.cpus < 1) ||
	    (take_label(&text, " device ") &&
	     (!take_word(&text, s.device, sizeof(s.device)) || !take_label(&text, " port ") ||
	      !take_word(&text, s.port, sizeof(s.port)) || !take_label(&text, " disk ") ||
	      !cli_number(&text, &s.disk))) ||
	    (take_label(&text, " copy ") &&
	     (!cli_number(&text, &s.copy) || !take_label(&text, " rate ") ||
	      !cli_number(&text, &s.rate))))
		return "not a series";
	if (strcmp(s.port, "-") == 0)
		*s.port = '\0';
	if (take_label(&text, " coverage "))
		return "multiplexed counters, which this uncore cannot judge";
	if (*text)
		return "not a series";
	if (run->first_cell == run->cell_count)
		return "a series without cells";
	if (run->series_count == SERIES_MOST)
		return TOO_MANY;
	verify_add_series(run, &s);
	return NULL;
}

/* A cell after a series begins a new pass: the next cells are counted together with it, in other
 * series. */
static const char *take_cell(struct verify_run *run, const char *text)
{
	const struct verify_series *last =
		run->series_count ? &run->series[run->series_count - 1] : NULL;
	struct verify_cell c = {0};

	if (!take_word(&text, c.metric, sizeof(c.metric)) || !take_label(&text, " ") ||
	    !take_word(&text, c.family, sizeof(c.family)) ||
	    !take_id(&text, " socket ", &c.socket) || !take_id(&text, " channel ", &c.channel))
		return "not a cell";
	c.both_ends = take_label(&text, BOTH_ENDS);
	if ((take_label(&text, " port ") && !take_word(&text, c.port, sizeof(c.port))) || *text)
		return "not a cell";
	if (!verify_expectation(c.metric))
		return "a metric that this uncore cannot judge";
	if (run->cell_count == CELLS_MOST)
		return TOO_MANY;
	if (last && last->first_cell + last->cell_count == run->cell_count)
		run->first_cell = run->cell_count;
	verify_add_cell(run, &c);
	return NULL;
}

static const char *take_alternative(struct verify_run *run, const char *text)
{
	struct verify_cell *c = run->cell_count ? &run->cells[run->cell_count - 1] : NULL;
	struct verify_alternative *a;

	if (!c || c->alternative_count == VERIFY_ALTERNATIVES)
		return "an alternative without a cell, or one too many";
	a = &c->alternatives[c->alternative_count++];
	if (!cli_number(&text, &a->factor) || !(a->factor > 0) || !take_label(&text, " ") ||
	    !*text || strlen(text) >= sizeof(a->title))
		return "an alternative needs a factor and a title";
	snprintf(a->title, sizeof(a->title), "%s", text);
	return NULL;
}

static bool take_fact(struct verify_run *run, const char *line)
{
	char speed[16];
	int node;

	if (take_label(&line, "uncore "))
		return take_word(&line, run->version, sizeof(run->version));
	if (take_label(&line, "date "))
		return take_word(&line, run->date, sizeof(run->date));
	if (take_label(&line, "cache "))
		return cli_number(&line, &run->cache);
	if (take_label(&line, "modules "))
		return cli_number(&line, &run->transfers) && take_label(&line, " ") &&
		       take_word(&line, speed, sizeof(speed)) && !*line &&
		       ((run->rated = strcmp(speed, "rated") == 0) ||
			strcmp(speed, "configured") == 0);
	if (take_id(&line, "split node ", &node)) {
		verify_add_split(run, node);
		return !*line;
	}
	if (strcmp(line, "stores hinted") == 0)
		return run->hinted = true;
	if (take_label(&line, "caches "))
		return cli_number(&line, &run->caches) && !*line;
	if (take_label(&line, "limit "))
		return cli_number(&line, &run->limit) && !*line;
	if (!take_label(&line, "hypervisor ") || !*line)
		return false;
	snprintf(run->hypervisor, sizeof(run->hypervisor), "%s", line);
	return true;
}

/* Returns NULL, or an error. */
static const char *take_line(struct verify_run *run, const char *line, bool *whole)
{
	int version;

	if (take_label(&line, "round "))
		return take_round(run, line);
	if (take_label(&line, "series "))
		return take_series(run, line);
	if (take_label(&line, "cell "))
		return take_cell(run, line);
	if (take_label(&line, "alternative "))
		return take_alternative(run, line);
	if (take_id(&line, "version ", &version)) {
		*whole = version == UNENDED;
		return version == VERSION || version == UNENDED
			       ? NULL
			       : "written by a later uncore, which this one cannot read";
	}
	if (strcmp(line, END) == 0)
		*whole = true;
	else if (!take_fact(run, line))
		return "not a line of a report";
	return NULL;
}

bool verify_parse_run(struct verify_run *run, const char *text, char why[VERIFY_WHY])
{
	char *copy = cli_copy(text), *rest = copy, *line;
	const char *wrong = NULL;
	bool inside = false, found = false, whole = false;
	size_t number = 0;

	*run = (struct verify_run){0};
	while (!wrong && (line = strsep(&rest, "\n"))) {
		number++;
		inside = inside ? *line == '\t' : strcmp(line, ENTRY) == 0;
		if (inside && *line == '\t')
			wrong = take_line(run, line + 1, &whole);
		found = found || inside;
	}
	if (!wrong && found && !whole)
		wrong = "the report is truncated: its last line, 'end', is missing";
	if (wrong)
		snprintf(why, VERIFY_WHY, "line %zu: %s", number, wrong);
	else if (!found)
		snprintf(why, VERIFY_WHY, "not a report of uncore verify: it has no readings");
	free(copy);
	if (wrong || !found)
		verify_run_free(run);
	return !wrong && found;
}

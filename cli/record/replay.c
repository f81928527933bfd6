/* SPDX-License-Identifier: MIT */
/* Recordings as a source: the readings of a file for the counters that a monitor has planned. */
#include "record/replay.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/cli.h"
#include "base/table.h"
#include "record/regions.h"
#include "record/store.h"

#define NOT_RECORDED SIZE_MAX
#define HALF (UINT64_C(1) << 32) /* what the upper half of a register counts */
#define NAMED 8                  /* recorded names that a sentence lists */

struct replay_file {
	struct recording recording;
	char *source;     /* its name: "replay:FILE" */
	size_t *places;   /* of the monitor's counters among the recorded ones */
	unsigned *halves; /* of each: the bits of a register that is read in two halves; 0: none */
	uint64_t *last;   /* of each: the latest count */
	size_t count;     /* of them */
	uint64_t begin_ns, end_ns; /* wall clock; 0 and UINT64_MAX: all */
	struct region region;      /* no parts: all */
	size_t part;               /* the part that is read */
	/* The loaded tick, which read_counters() returns next. */
	struct recording_tick tick;
	bool loaded; /* there is one */
	bool any;    /* intervals were read */
	int err;     /* why none is loaded */
	/* For this session: */
	bool begun;
	bool continued;   /* the latest reading did not end an interval */
	uint64_t grid_ns; /* monotonic time of its first reading */
	uint64_t number;  /* of the latest tick that was returned */
	struct shown shown;
	char why[RECORDING_ERROR + 200];
};

/* ---- times ---- */

/* "2026-11-22T23:50:32.5Z", "2026-11-22 23:50". Without a zone it is UTC, as in outputs. */
static bool parse_date(const char *text, uint64_t *ns)
{
	static const char *const forms[] = {"%Y-%m-%dT%H:%M:%S", "%Y-%m-%d %H:%M:%S",
					    "%Y-%m-%dT%H:%M", "%Y-%m-%d %H:%M", "%Y-%m-%d"};
	const char *end = NULL;
	struct tm tm = {0};
	double fraction = 0;
	int64_t seconds;
	struct tm day;

	for (size_t i = 0; !end && i < sizeof(forms) / sizeof(*forms); i++) {
		tm = (struct tm){0};
		end = strptime(text, forms[i], &tm);
	}
	if (!end)
		return false;
	day = tm; /* which timegm() changes to March 3 if it is February 31 */
	timegm(&day);
	if (day.tm_mday != tm.tm_mday)
		return false;
	if (*end == '.') {
		fraction = strtod(end, NULL);
		end += cli_number_length(end);
	}
	if (*end)
		end = strptime(end, "%z", &tm);
	seconds = -tm.tm_gmtoff;
	seconds += timegm(&tm);
	if (!end || *end || seconds < 0)
		return false;
	*ns = (uint64_t)seconds * NS_PER_S + (uint64_t)(fraction * 1e9);
	return true;
}

/* A date, or "+10min" from the beginning of the recording. */
static int parse_time(struct replay_file *f, const char *option, const char *text, uint64_t *ns)
{
	int64_t first = 0;

	if (*text != '+' && parse_date(text, ns))
		return CLI_OK;
	if (*text != '+' || uncore_duration_parse(text + 1, NS_PER_S, ns))
		return cli_failure(CLI_USAGE,
				   "%s: '%s' is not a time of a recording: write "
				   "2026-11-22T23:50:32Z, or +10min from its begin",
				   option, text);
	if (store_number(&f->recording, "SELECT wall_ns FROM tick ORDER BY id LIMIT 1", 0, &first))
		return cli_failure(CLI_RUNTIME, "%s", f->recording.error);
	*ns += (uint64_t)first;
	return CLI_OK;
}

/* ---- counters ---- */

static bool has_pmu(void *context, const char *pmu)
{
	const struct recording *recorded = &((const struct replay *)context)->file->recording;

	for (size_t i = 0; i < recorded->counter_count; i++)
		if (strcmp(recorded->counters[i].pmu, pmu) == 0)
			return true;
	return false;
}

/* Finds the recorded counter of a planned one. Each is used once; if fewer were recorded than are
 * planned, these share one. */
static size_t find_counter(const struct replay_file *f, const struct uncore_counter *c, bool *used)
{
	const char *pmu = uncore_pmu_name(c->pmu);
	size_t found = NOT_RECORDED;

	for (size_t i = 0; i < f->recording.counter_count; i++) {
		const struct recorded_counter *old = &f->recording.counters[i];

		if (old->cpu != c->cpu || old->modifiers != c->modifiers ||
		    memcmp(old->config, c->config, sizeof(c->config)) != 0 ||
		    strcmp(old->pmu, pmu) != 0 || (found != NOT_RECORDED && used[i]))
			continue;
		found = i;
		if (!used[i])
			break;
	}
	if (found != NOT_RECORDED)
		used[found] = true;
	return found;
}

/* Whether counts of ports were recorded without those of the whole PMU. */
static bool is_by_port(const struct replay_query *q)
{
	return q->levels >> UNCORE_LEVEL_PORT & 1 && !(q->levels >> UNCORE_LEVEL_MACHINE & 1);
}

static const char *why_missing(const struct replay *r, const struct uncore_counter *c)
{
	for (size_t i = 0; i < r->query_count; i++) {
		const char *slash = strchr(r->queries[i].text, '/'),
			   *family = uncore_pmu_family(c->pmu);
		size_t length = slash ? (size_t)(slash - r->queries[i].text) : 0;

		if (slash && family && is_by_port(&r->queries[i]) && strlen(family) == length &&
		    strncmp(family, r->queries[i].text, length) == 0)
			return "it is not in the recording, which has each port: --per-port";
	}
	return "it is not in the recording";
}

/* "it is not in the recording, which has memory.bandwidth, ..." */
static void list_recorded(const struct replay *r, char *into, size_t size)
{
	size_t at = (size_t)snprintf(into, size, "%s has no counter of these; it has",
				     r->file->recording.path);

	for (size_t i = 0; i < r->query_count && i < NAMED && at < size; i++)
		at += (size_t)snprintf(into + at, size - at, "%s %s%s", i ? "," : "",
				       r->queries[i].text,
				       is_by_port(&r->queries[i]) ? " (--per-port)" : "");
	if (r->query_count > NAMED && at < size)
		snprintf(into + at, size - at, " and %zu more", r->query_count - NAMED);
}

/* Loads the next tick, unless it is after the requested time. */
static void load(struct replay *r)
{
	struct replay_file *f = r->file;
	const struct region *region = &f->region;
	int err = recording_next(&f->recording, &f->tick);

	r->gap = false;
	f->loaded = err > 0 && (r->region || f->tick.wall_ns <= f->end_ns);
	if (f->loaded && r->region && f->tick.number > region->parts[f->part].last) {
		f->loaded = r->gap = ++f->part < region->count;
		if (r->gap)
			err = recording_go(&f->recording, region->parts[f->part].first);
		if (r->gap && !err)
			err = recording_next(&f->recording, &f->tick);
	}
	f->err = err < 0 ? err : 0;
	r->sessions = f->loaded && f->tick.start && !r->gap;
	r->more = f->err || (f->loaded && !f->tick.start && !r->gap);
	r->next_wall_ns = f->tick.wall_ns;
}

static int load_first(struct replay *r)
{
	struct replay_file *f = r->file;
	int err;

	f->part = 0;
	err = r->region ? recording_go(&f->recording, f->region.parts[0].first)
			: recording_seek(&f->recording, f->begin_ns);
	if (err)
		return err;
	load(r);
	return f->err;
}

static int open_counters(void *context, struct uncore_counter *const *counters, size_t count,
			 const char **why)
{
	struct replay *r = context;
	struct replay_file *f = r->file;
	auto_free bool *used = cli_realloc(NULL, f->recording.counter_count + 1, sizeof(*used));
	size_t found = 0;
	int err = 0;

	memset(used, 0, (f->recording.counter_count + 1) * sizeof(*used));
	*why = f->why;
	f->places = cli_realloc(f->places, count + 1, sizeof(*f->places));
	f->halves = cli_realloc(f->halves, count + 1, sizeof(*f->halves));
	f->last = cli_realloc(f->last, count + 1, sizeof(*f->last));
	f->count = count;
	for (size_t i = 0; i < count; i++) {
		size_t place = find_counter(f, counters[i], used);
		const struct recorded_counter *old;

		f->places[i] = place;
		f->halves[i] = counters[i]->register_halves ? counters[i]->register_bits : 0;
		f->last[i] = 0;
		if (place == NOT_RECORDED) {
			counters[i]->error = -ENODEV;
			counters[i]->why = why_missing(r, counters[i]);
			continue;
		}
		found++;
		old = &f->recording.counters[place];
		counters[i]->width = old->width;
		counters[i]->most_per_s = old->most_per_s;
		counters[i]->error = old->error;
		counters[i]->why = old->error && !old->why ? strerror(-old->error) : old->why;
	}
	if (!found) {
		list_recorded(r, f->why, sizeof(f->why));
		return -ENODEV;
	}
	if (!r->sessions)
		err = load_first(r);
	f->begun = false;
	shown_free(&f->shown);
	if (err)
		snprintf(f->why, sizeof(f->why), "%s", f->recording.error);
	return err;
}

/* ---- readings ---- */

/* The number of the interval of a tick, from the first reading on. A late tick belongs to the
 * interval that ends when it was due. */
static uint64_t group_of(const struct replay *r, const struct recording_tick *tick)
{
	uint64_t since = tick->monotonic_ns - r->file->grid_ns;

	if (!r->group_ns)
		return 0;
	if (r->group_ns <= r->interval_ns)
		return tick->number;
	since = since > r->interval_ns / 2 ? since - r->interval_ns / 2 : 0;
	return since / r->group_ns;
}

static void count_missed(struct replay *r, bool begins)
{
	uint64_t missed = (r->file->tick.interval_ns + r->interval_ns / 4) / r->interval_ns;

	missed = missed ? missed - 1 : 0;
	r->missed_now = (begins ? 0 : r->missed_now) + missed;
	r->missed += missed;
}

/*
 * A register that is read in two halves while it carries seems to have counted 2^32 more. The next
 * reading, which is loaded, takes that back, modulo the register's width. (Recorders now read again
 * at once; older ones did not.)
 */
static void mend_torn(struct replay_file *f, struct uncore_reading *const *readings)
{
	for (size_t i = 0; i < f->count; i++) {
		uint64_t rise = readings[i]->raw - f->last[i], round, next;

		if (readings[i]->lost)
			continue;
		f->last[i] = readings[i]->raw;
		if (!f->halves[i] || rise < HALF || !f->loaded ||
		    f->recording.readings[f->places[i]].reading.lost)
			continue;
		round = UINT64_C(1) << f->halves[i];
		next = f->recording.readings[f->places[i]].reading.raw - readings[i]->raw;
		if (next < round && next + HALF >= round)
			f->last[i] = readings[i]->raw -= HALF;
	}
}

/* The error of a file that may be one of several: one that has just begun, or is of another
 * time. */
static int no_intervals(struct replay *r, const char **why)
{
	struct replay_file *f = r->file;
	bool limited = f->begin_ns || f->end_ns != UINT64_MAX;

	r->empty = !f->any;
	snprintf(f->why, sizeof(f->why), "%s: the recording has no intervals%s", f->recording.path,
		 limited ? " in this time" : "");
	*why = f->why;
	return -ENODATA;
}

static int read_counters(void *context, struct uncore_reading *const *into, uint64_t *monotonic_ns,
			 uint64_t *wall_ns, const char **why)
{
	static const struct uncore_reading none = {.lost = true,
						   .why = "it is not in the recording"};
	struct replay *r = context;
	struct replay_file *f = r->file;
	struct recording_tick now = f->tick;
	bool first = !f->begun || r->gap;

	*why = f->err ? f->recording.error : "the recording has no more intervals";
	if (!f->err && !f->loaded && first)
		return no_intervals(r, why);
	if (f->err || !f->loaded || (now.start && !first))
		return f->err ? f->err : -ENODATA;
	for (size_t i = 0; i < f->count; i++)
		*into[i] = f->places[i] == NOT_RECORDED
				   ? none
				   : f->recording.readings[f->places[i]].reading;
	*monotonic_ns = now.monotonic_ns;
	*wall_ns = r->wall_ns = now.wall_ns;
	f->number = now.number;
	f->begun = true;
	f->any |= !first;
	if (first)
		f->grid_ns = now.monotonic_ns;
	else
		count_missed(r, !f->continued);
	load(r);
	mend_torn(f, into);
	if (first && !r->more)
		return no_intervals(r, why);
	f->continued = !first && r->more && !f->err && group_of(r, &now) == group_of(r, &f->tick);
	return f->continued;
}

static int show(struct replay *r, const struct uncore_sample *sample, struct uncore_row *rows)
{
	struct replay_file *f = r->file;

	return shown_put(&f->shown, &f->recording, f->number, sample, rows)
		       ? cli_failure(CLI_RUNTIME, "%s", f->recording.error)
		       : CLI_OK;
}

/* ---- the file ---- */

/* Rows of the level of ports are of a PMU where it does not count ports separately. Those of the
 * level of channels are of a socket where no channel is counted. */
static unsigned levels_of(sqlite3_stmt *s)
{
	static const enum uncore_level levels[] = {UNCORE_LEVEL_PORT,     UNCORE_LEVEL_CHANNEL,
						   UNCORE_LEVEL_INSTANCE, UNCORE_LEVEL_NODE,
						   UNCORE_LEVEL_SOCKET,   UNCORE_LEVEL_MACHINE};
	unsigned found = 0;

	for (int i = 0; i < (int)(sizeof(levels) / sizeof(*levels)); i++)
		if (sqlite3_column_int(s, 3 + i))
			found |= 1u << levels[i];
	if (found >> UNCORE_LEVEL_PORT & 1)
		found &= ~(1u << UNCORE_LEVEL_INSTANCE);
	return found;
}

/* Reads the recorded metrics and events, each once, in the order of the rows. */
static int read_queries(struct replay *r)
{
	struct recording *file = &r->file->recording;
	sqlite3_stmt *s;
	int code, err = store_prepare(
			  file,
			  "SELECT coalesce(family || '/', '') || name, filter, family IS NOT NULL,"
			  " max(port IS NOT NULL), max(port IS NULL AND channel IS NOT NULL),"
			  " max(port IS NULL AND channel IS NULL"
			  "  AND (pmu IS NOT NULL OR cpu IS NOT NULL)),"
			  " max(coalesce(port, channel, pmu, cpu) IS NULL AND node IS NOT NULL),"
			  " max(coalesce(port, channel, pmu, cpu, node) IS NULL"
			  "  AND socket IS NOT NULL),"
			  " max(coalesce(port, channel, pmu, cpu, node, socket) IS NULL) "
			  "FROM row WHERE name IS NOT NULL GROUP BY 1 ORDER BY min(id)",
			  &s);

	if (err)
		return err;
	while ((code = sqlite3_step(s)) == SQLITE_ROW) {
		r->queries = cli_realloc(r->queries, r->query_count + 1, sizeof(*r->queries));
		r->queries[r->query_count++] = (struct replay_query){
			.text = cli_copy(store_text(s, 0)),
			.filter = cli_copy(store_text(s, 1)),
			.metric = sqlite3_column_int(s, 2) != 0,
			.levels = levels_of(s),
		};
	}
	return store_finish(file, s, code);
}

/* The recorded interval. In a simulation with steps, where both clocks are equal, it is that of the
 * readings and not that of the recorder. */
static int read_interval(struct replay *r)
{
	int64_t ns = 0;
	int err = store_number(&r->file->recording,
			       "SELECT coalesce((SELECT interval_ns FROM (SELECT * FROM tick WHERE"
			       " row_values IS NOT NULL ORDER BY id LIMIT 1)"
			       " WHERE wall_ns = monotonic_ns),"
			       " (SELECT interval_ns FROM session ORDER BY first_tick LIMIT 1))",
			       0, &ns);

	if (!err && ns <= 0)
		err = store_fail(&r->file->recording, -ENODATA, "it has no interval");
	r->interval_ns = (uint64_t)ns;
	return err;
}

/* PMUs that the source has made, of registers and of groups of resctrl, are in no snapshot: the
 * file has their values only. */
static int refuse_made_pmus(struct recording *file, const char *path)
{
	auto_free char *source = NULL;
	int64_t who = 0;
	int err = recording_meta(file, "source", &source);
	bool made = source && (strncmp(source, "regs:", 5) == 0 || strcmp(source, "resctrl") == 0);

	if (!err && made)
		err = store_number(file, "SELECT count(*) FROM sqlite_master WHERE name = 'who'", 0,
				   &who);
	if (err)
		return cli_failure(CLI_RUNTIME, "%s", file->error);
	if (!made)
		return CLI_OK;
	return cli_failure(
		CLI_UNAVAILABLE,
		"%s: recordings of %s cannot be computed again; the recorded values are in "
		"its view samples%s: sqlite3 -header %s "
		"'SELECT time, name, pmu, value, unit, quality FROM samples'",
		path, source, who ? ", those of --who in its view who" : "", path);
}

static int set_source(struct replay *r, struct uncore *u)
{
	struct recording *file = &r->file->recording;
	auto_free char *snapshot = NULL, *peak = NULL, *simulated = NULL;
	struct uncore_replay source = {.size = sizeof(source),
				       .name = r->file->source,
				       .context = r,
				       .open = open_counters,
				       .read = read_counters,
				       .has = has_pmu};
	int err = read_interval(r);

	if (!err)
		err = recording_meta(file, "snapshot", &snapshot);
	if (!err)
		err = recording_meta(file, "memory_peak", &peak);
	if (!err)
		err = recording_meta(file, "simulated", &simulated);
	if (!err)
		err = read_queries(r);
	if (err)
		return cli_failure(CLI_RUNTIME, "%s", file->error);
	source.snapshot = snapshot ? snapshot : "";
	source.simulated = simulated && strcmp(simulated, "0") != 0;
	if (uncore_set_replay(u, &source))
		return cli_failure(CLI_RUNTIME, "%s", uncore_error(u));
	if (peak && strtod(peak, NULL) > 0)
		uncore_set_memory_peak(u, strtod(peak, NULL));
	return CLI_OK;
}

enum { AS_RECORDED, BEGIN, END, REGION, OPTIONS };

static const char *const options[] = {",as-recorded", ",begin=", ",end=", ",region="};

/* The last option of the text; NULL: none. Only the text of a region may have commas. */
static char *find_option(char *spec, size_t *option)
{
	char *last = NULL;

	for (size_t i = 0; i < OPTIONS; i++)
		for (char *at = spec; (at = strstr(at, options[i])); at++) {
			bool whole = i != AS_RECORDED || !at[strlen(options[i])];

			if (whole && (i == REGION || !last || at > last))
				last = at, *option = i;
		}
	return last;
}

/* Cuts the options off "FILE,begin=TIME,region=TEXT". A file of the whole name has none. */
static void cut_options(char *spec, struct cli_part *part)
{
	const char *values[OPTIONS] = {NULL};
	size_t option = 0;
	char *at;

	while (access(spec, F_OK) && (at = find_option(spec, &option))) {
		values[option] = at + strlen(options[option]);
		*at = '\0';
	}
	*part = (struct cli_part){.begin = values[BEGIN],
				  .end = values[END],
				  .region = values[REGION],
				  .as_recorded = values[AS_RECORDED] != NULL};
}

/* Finds the region, and prints the share of it that complete intervals cover. */
static int take_region(struct replay *r, const char *text)
{
	struct replay_file *f = r->file;
	struct region *region = &f->region;
	struct human length;
	int err = region_find(&f->recording, text, f->begin_ns, f->end_ns, region);

	r->region = true;
	r->empty = err == -ENOENT || (!err && !region->count);
	if (err == -ENOENT)
		return cli_failure(CLI_USAGE, "%s; uncore report --regions lists them",
				   f->recording.error);
	if (err)
		return cli_failure(CLI_RUNTIME, "%s", f->recording.error);
	length = human((double)region->length_ns / 1e9, "s");
	if (!region->count)
		return cli_failure(CLI_UNAVAILABLE,
				   "%s: region '%s' has no complete interval: it lasts %s, and an "
				   "interval %s",
				   f->recording.path, text, length.text,
				   human((double)r->interval_ns / 1e9, "s").text);
	cli_error("region '%s': %llu time%s, %s in all, of which complete intervals cover %.1f %%",
		  text, (unsigned long long)region->times, region->times == 1 ? "" : "s",
		  length.text, 100 * (double)region->covered_ns / (double)region->length_ns);
	return CLI_OK;
}

static void close_replay(struct replay *r)
{
	for (size_t i = 0; i < r->query_count; i++) {
		free(r->queries[i].text);
		free(r->queries[i].filter);
	}
	recording_close(&r->file->recording);
	free(r->queries);
	free(r->host);
	free(r->command_line);
	free(r->file->source);
	free(r->file->places);
	free(r->file->halves);
	free(r->file->last);
	shown_free(&r->file->shown);
	free(r->file->region.parts);
	free(r->file);
	free(r);
}

int replay_open(struct replay **out, struct uncore *u, const char *spec,
		const struct cli_part *part)
{
	struct replay *r = cli_realloc(NULL, 1, sizeof(*r));
	struct replay_file *f = cli_realloc(NULL, 1, sizeof(*f));
	auto_free char *path = cli_copy(spec);
	struct buffer source = {0};
	struct cli_part own = {0};
	int status = CLI_OK;

	if (!part) {
		cut_options(path, &own);
		part = &own;
	}
	*f = (struct replay_file){.end_ns = UINT64_MAX};
	*r = (struct replay){
		.file = f, .show = part->as_recorded ? show : NULL, .close = close_replay};
	*out = r;
	buffer_printf(&source, "replay:%s", path);
	f->source = source.data;
	if (recording_open(&f->recording, path))
		return cli_failure(CLI_RUNTIME, "%s", f->recording.error);
	if (part->begin)
		status = parse_time(f, "begin", part->begin, &f->begin_ns);
	if (!status && part->end)
		status = parse_time(f, "end", part->end, &f->end_ns);
	if (!status)
		status = refuse_made_pmus(&f->recording, path);
	if (!status)
		status = set_source(r, u);
	if (!status && part->region)
		status = take_region(r, part->region);
	if (!status && (recording_meta(&f->recording, "host", &r->host) ||
			recording_meta(&f->recording, "command_line", &r->command_line)))
		return cli_failure(CLI_RUNTIME, "%s", f->recording.error);
	return status;
}

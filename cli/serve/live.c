/* SPDX-License-Identifier: MIT */
/* One thread adds intervals, and others send them. Events count their references, so that a slow
 * client keeps the event that is being sent. It does not get the windows that are dropped
 * meanwhile. */
#include "serve/live.h"

#include <inttypes.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cli.h"
#include "output/windows.h"

/* Limits of what is kept. */
#define KEPT_WINDOWS 600u
#define KEPT_BYTES (4u << 20)  /* of windows */
#define SHORT_BYTES (4u << 20) /* of short samples */
#define SHORT_SAMPLES 20000u   /* that a client gets of a row */
#define ROWS_UNKNOWN SIZE_MAX
#define WHOLE_WINDOWS 2000u /* of a recording, after which windows get twice as many intervals */

struct event {
	unsigned users;
	size_t len, json; /* length of the text; offset of its document */
	char text[];
};

struct live {
	/* Used by the thread that adds. */
	struct out out;
	struct windows *next;
	size_t row_count; /* of all windows */
	bool whole;
	uint64_t begin_ns;     /* of the first interval */
	struct buffer said;    /* the document of `quality` */
	pthread_mutex_t lock;  /* protects what follows */
	char run[32];          /* names the run in ids, which a restarted server must not reuse */
	unsigned plans;        /* that have followed the first one */
	char before[32];       /* the run of the plan before; "": this is the first plan */
	struct event *start;   /* describes the rows; NULL: nothing was added yet */
	struct event *choices; /* what clients may switch on; NULL: nothing */
	struct event *quality; /* of the last window */
	struct event *distributions; /* of the last window; NULL: no short samples, or no reader */
	struct live_window {
		struct event *values, *quality;
	} * windows;
	size_t count, room;
	uint64_t first; /* the number of windows[0] */
	size_t readers;
	bool ended;
	struct shorts {
		/* Rings of `room` samples. `next` is written next, and then the oldest one. */
		uint64_t *ends; /* in ns since begin_ns; the next sample begins there */
		float *values;  /* of each sample those of all rows */
		size_t rows, room, next;
		uint64_t count;  /* of all samples that were added */
		uint64_t latest; /* end */
	} shorts;                /* the latest samples */
};

/* ---- events ---- */

/* Makes an event of a document, and frees that. `id`: NULL for none. */
static struct event *new_event(const char *name, const char *id, json_t *document)
{
	auto_buffer text = {0};
	struct event *e;
	size_t json;

	buffer_printf(&text, "event: %s\n", name);
	if (id)
		buffer_printf(&text, "id: %s\n", id);
	buffer_puts(&text, "data: ");
	json = text.len;
	json_print(document, JSON_COMPACT | JSON_REAL_PRECISION(15), &text);
	buffer_puts(&text, "\n"); /* an empty line ends the event */
	e = cli_realloc(NULL, sizeof(*e) + text.len, 1);
	*e = (struct event){.users = 1, .len = text.len, .json = json};
	memcpy(e->text, text.data, text.len);
	return e;
}

static struct event *use(struct event *e)
{
	if (e)
		e->users++;
	return e;
}

static void drop(struct event **e)
{
	if (*e && !--(*e)->users)
		free(*e);
	*e = NULL;
}

static void replace(struct event **e, struct event *by)
{
	drop(e);
	*e = by;
}

/* A new reference to `now`, which is the reader's latest one of its kind from now on. */
static struct event *give(struct event **latest, struct event *now)
{
	replace(latest, use(now));
	return use(now);
}

/* ---- adding ---- */

struct live *live_new(struct uncore *machine, bool whole)
{
	struct live *l = cli_realloc(NULL, 1, sizeof(*l));

	/* The output html has the bins of distributions. */
	*l = (struct live){.out = {.output = output_find("html"), .setup = {.machine = machine}},
			   .next = windows_new(),
			   .whole = whole,
			   .lock = PTHREAD_MUTEX_INITIALIZER};
	return l;
}

/* Drops the `count` oldest windows. Call with the lock held, or without readers. */
static void forget(struct live *l, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		drop(&l->windows[i].values);
		drop(&l->windows[i].quality);
	}
	l->count -= count;
	l->first += count;
	if (count)
		memmove(l->windows, l->windows + count, l->count * sizeof(*l->windows));
}

void live_free(struct live *l)
{
	if (!l)
		return;
	forget(l, l->count);
	free(l->windows);
	drop(&l->start);
	drop(&l->choices);
	drop(&l->quality);
	drop(&l->distributions);
	buffer_free(&l->said);
	windows_free(l->next);
	free(l->shorts.ends);
	free(l->shorts.values);
	out_free(&l->out);
	free(l);
}

/* Describes the rows and their metrics. */
static json_t *start_document(struct live *l)
{
	struct uncore *u = l->out.setup.machine;
	json_t *metrics = json_array();

	for (size_t i = 0; i < uncore_metric_count(u); i++) {
		const struct uncore_metric *m = uncore_metric_at(u, i);
		bool shown = false;

		for (size_t k = 0; k < l->out.row_count && !shown; k++) {
			const struct uncore_row *row = l->out.rows[k].row;

			shown = row->query->family &&
				strcmp(row->query->family, uncore_metric_family(m)) == 0 &&
				strcmp(row->query->name, uncore_metric_name(m)) == 0;
		}
		if (shown)
			json_push(metrics, json_metric(m));
	}
	return json_record(RECORD(
		{"schema", value_count(JSON_SCHEMA)}, {"run", value_text(l->run)},
		{"continues", value_text(*l->before ? l->before : NULL)},
		{"live", value_flag(!l->whole)}, {"rows", value_json(windows_rows(&l->out))},
		{"screen", value_json(windows_screen(&l->out))}, {"metrics", value_json(metrics)}));
}

static void shorten(json_t *list)
{
	json_t *value;
	size_t i;

	json_array_foreach(list, i, value)
	{
		if (json_is_real(value))
			json_real_set(value, windows_round(json_real_value(value)));
	}
}

static json_t *window_document(struct live *l)
{
	static const char *const lists[] = {"values", "rates", "least", "most"};
	json_t *window = windows_take(l->next, &l->out, false);

	for (size_t i = 0; i < sizeof(lists) / sizeof(*lists); i++)
		shorten(json_object_get(window, lists[i]));
	return window;
}

/* Windows with the same quality share its event. */
static size_t kept_bytes(const struct live *l)
{
	size_t bytes = 0;

	for (size_t i = 0; i < l->count; i++) {
		const struct live_window *w = &l->windows[i];

		bytes += w->values->len;
		if (!i || w->quality != w[-1].quality)
			bytes += w->quality->len;
	}
	return bytes;
}

/* Call with the lock held. */
static void add_window(struct live *l, struct event *values)
{
	if (l->count == l->room) {
		l->room = l->room ? 2 * l->room : 64;
		l->windows = cli_realloc(l->windows, l->room, sizeof(*l->windows));
	}
	l->windows[l->count++] = (struct live_window){values, use(l->quality)};
	while (!l->whole && l->count > 1 && (l->count > KEPT_WINDOWS || kept_bytes(l) > KEPT_BYTES))
		forget(l, 1);
}

/* Begins again with the first interval of these rows, since earlier windows have other rows. */
static void begin(struct live *l, const struct uncore_sample *sample)
{
	struct event *start;

	l->begin_ns = uncore_sample_begin_ns(sample);
	l->row_count = l->out.row_count;
	buffer_free(&l->said); /* the event of the quality has numbers of rows */
	pthread_mutex_lock(&l->lock);
	snprintf(l->run, sizeof(l->run), "%" PRIx64 ".%u", uncore_sample_end_wall_ns(sample),
		 l->plans);
	forget(l, l->count);
	l->first = 0;
	pthread_mutex_unlock(&l->lock);
	start = new_event("start", NULL, start_document(l));
	pthread_mutex_lock(&l->lock);
	replace(&l->start, start);
	pthread_mutex_unlock(&l->lock);
}

void live_change_plan(struct live *l)
{
	pthread_mutex_lock(&l->lock);
	snprintf(l->before, sizeof(l->before), "%s", l->run);
	l->plans++;
	l->shorts.count = l->shorts.next = 0;
	pthread_mutex_unlock(&l->lock);
	l->row_count = ROWS_UNKNOWN;
}

void live_set_choices(struct live *l, json_t *document)
{
	struct event *choices = new_event("choices", NULL, document);

	pthread_mutex_lock(&l->lock);
	replace(&l->choices, choices);
	pthread_mutex_unlock(&l->lock);
}

static void end_window(struct live *l, bool watched)
{
	json_t *quality = windows_quality(l->next, &l->said);
	struct event *qualities = quality ? new_event("quality", NULL, quality) : NULL;
	struct event *values, *distributions = NULL;
	char id[48];

	if (watched && l->out.row_count && l->out.rows[0].distribution)
		distributions = new_event("distributions", NULL, windows_distributions(&l->out));
	/* Without the lock, since only this thread changes the numbers. */
	snprintf(id, sizeof(id), "%s-%" PRIu64, l->run, l->first + l->count);
	values = new_event("window", id, window_document(l));
	pthread_mutex_lock(&l->lock);
	if (qualities)
		replace(&l->quality, qualities);
	replace(&l->distributions, distributions);
	add_window(l, values);
	pthread_mutex_unlock(&l->lock);
}

void live_add(struct live *l, const struct frame *f, uint64_t missed)
{
	bool watched;

	l->out.row_count = 0;
	for (size_t i = 0; i < f->row_count; i++)
		out_row(&l->out,
			(struct out_row){.row = frame_row(f, i),
					 .distribution = uncore_sample_distribution(f->sample, i),
					 .spread = NAN});
	if (!l->start || l->row_count != f->row_count)
		begin(l, f->sample);
	/* If the machine was restarted during a recording, its clock began again. */
	if (uncore_sample_begin_ns(f->sample) < l->begin_ns)
		l->begin_ns = uncore_sample_begin_ns(f->sample);
	l->out.frame = *f;
	l->out.frame.time = (double)(f->monotonic_ns - l->begin_ns) / 1e9;
	l->out.frame.missed = missed;
	windows_add(l->next, &l->out);
	pthread_mutex_lock(&l->lock);
	watched = l->readers;
	pthread_mutex_unlock(&l->lock);
	if (!l->whole || windows_intervals(l->next) >> (l->first + l->count) / WHOLE_WINDOWS)
		end_window(l, watched);
}

void live_end(struct live *l)
{
	if (windows_intervals(l->next))
		end_window(l, false);
	pthread_mutex_lock(&l->lock);
	l->ended = true;
	pthread_mutex_unlock(&l->lock);
}

/* Allocates rings of SHORT_BYTES. Call with the lock held. */
static void make_room(struct shorts *s, size_t rows)
{
	if (s->rows == rows)
		return;
	free(s->ends);
	free(s->values);
	*s = (struct shorts){.rows = rows,
			     .room = SHORT_BYTES / (rows * sizeof(float) + sizeof(*s->ends)) + 1};
	s->ends = cli_realloc(NULL, s->room, sizeof(*s->ends));
	s->values = cli_realloc(NULL, s->room * rows, sizeof(*s->values));
}

/* `values` NULL: a gap. Call with the lock held. */
static void add_short_sample(struct shorts *s, uint64_t end, const double *values)
{
	s->ends[s->next] = end;
	for (size_t i = 0; i < s->rows; i++)
		s->values[s->next * s->rows + i] = values ? (float)values[i] : NAN;
	s->latest = end;
	s->next = (s->next + 1) % s->room;
	s->count++;
}

void live_add_short_sample(struct live *l, const struct uncore_monitor *m)
{
	struct shorts *s = &l->shorts;
	const double *values;
	uint64_t begin_ns, end_ns;
	size_t rows = uncore_monitor_short_values(m, &values, &begin_ns, &end_ns);

	/* Before the end of the first interval the rows are unknown. */
	if (!rows || rows != l->row_count)
		return;
	pthread_mutex_lock(&l->lock);
	make_room(s, rows);
	/* Counting was disabled after the latest sample. */
	if (s->count && begin_ns - l->begin_ns != s->latest)
		add_short_sample(s, begin_ns - l->begin_ns, NULL);
	add_short_sample(s, end_ns - l->begin_ns, values);
	pthread_mutex_unlock(&l->lock);
}

/* ---- reading ---- */

void live_read_from(struct live *l, struct live_reader *r, const char *last_event)
{
	const char *number = last_event ? strrchr(last_event, '-') : NULL;

	*r = (struct live_reader){0};
	pthread_mutex_lock(&l->lock);
	l->readers++;
	if (number && strlen(l->run) == (size_t)(number - last_event) &&
	    strncmp(l->run, last_event, strlen(l->run)) == 0)
		r->number = strtoull(number + 1, NULL, 10) + 1;
	pthread_mutex_unlock(&l->lock);
}

/* The reader's next event, as a new reference; NULL: none. */
static struct event *next_event(struct live *l, struct live_reader *r)
{
	const struct live_window *w;

	if (!l->start)
		return NULL;
	if (r->start != l->start) {
		if (r->start) /* the rows have changed, and the numbers begin again */
			r->number = 0;
		return give(&r->start, l->start);
	}
	if (r->choices != l->choices)
		return give(&r->choices, l->choices);
	if (r->number < l->first)
		r->number = l->first;
	if (r->number >= l->first + l->count) {
		if (!l->distributions || r->distributions == l->distributions)
			return NULL;
		return give(&r->distributions, l->distributions);
	}
	w = &l->windows[r->number - l->first];
	if (r->quality != w->quality)
		return give(&r->quality, w->quality);
	r->number++;
	return use(w->values);
}

ssize_t live_read(struct live *l, struct live_reader *r, char *to, size_t room)
{
	static const char end[] = "event: end\ndata: {}\n\n";
	ssize_t len = 0;

	pthread_mutex_lock(&l->lock);
	if (!r->event) {
		r->event = next_event(l, r);
		r->taken = 0;
	}
	if (r->event) {
		size_t left = r->event->len - r->taken, n = left < room ? left : room;

		memcpy(to, r->event->text + r->taken, n);
		r->taken += n;
		if (n == left)
			drop(&r->event);
		len = (ssize_t)n;
	} else if (l->ended && (r->ended || room < sizeof(end) - 1)) {
		len = -1;
	} else if (l->ended) {
		r->ended = true;
		len = (ssize_t)(sizeof(end) - 1);
		memcpy(to, end, sizeof(end) - 1);
	}
	pthread_mutex_unlock(&l->lock);
	return len;
}

void live_reader_free(struct live *l, struct live_reader *r)
{
	pthread_mutex_lock(&l->lock);
	l->readers--;
	drop(&r->event);
	drop(&r->start);
	drop(&r->choices);
	drop(&r->quality);
	drop(&r->distributions);
	pthread_mutex_unlock(&l->lock);
}

/* Adds the document of an event without the bracket that closes it, so that members can follow. */
static void put_document(struct buffer *to, const char *before, const struct event *e,
			 const char *after)
{
	buffer_puts(to, before);
	buffer_add(to, e->text + e->json, e->len - e->json - strlen("}\n\n"));
	buffer_puts(to, after);
}

void live_put_latest(struct live *l, struct buffer *to)
{
	pthread_mutex_lock(&l->lock);
	if (l->count) {
		put_document(to, "", l->start, "");
		put_document(to, ",\"quality\":", l->quality, "]");
		put_document(to, ",\"window\":", l->windows[l->count - 1].values, "}}\n");
	}
	pthread_mutex_unlock(&l->lock);
}

/* Copies the latest samples of a row, at most SHORT_SAMPLES, the oldest first. Returns their
 * number. */
static size_t copy_short_samples(struct live *l, size_t row, uint64_t *ends, float *values)
{
	const struct shorts *s = &l->shorts;
	size_t kept = 0, count;

	pthread_mutex_lock(&l->lock);
	if (row < s->rows)
		kept = s->count < s->room ? (size_t)s->count : s->room;
	count = kept < SHORT_SAMPLES ? kept : SHORT_SAMPLES;
	for (size_t i = 0; i < count; i++) {
		size_t at = (s->next + s->room - count + i) % s->room;

		ends[i] = s->ends[at];
		values[i] = s->values[at * s->rows + row];
	}
	pthread_mutex_unlock(&l->lock);
	return count;
}

void live_put_short_samples(struct live *l, const char *row, struct buffer *to)
{
	char *end = NULL;
	unsigned long number = row ? strtoul(row, &end, 10) : 0;
	json_t *ends, *values;
	size_t count = 0;
	auto_free uint64_t *times = cli_realloc(NULL, SHORT_SAMPLES, sizeof(*times));
	auto_free float *numbers = cli_realloc(NULL, SHORT_SAMPLES, sizeof(*numbers));

	if (row && *row && !*end)
		count = copy_short_samples(l, number, times, numbers);
	if (count) {
		ends = json_array();
		values = json_array();
		for (size_t i = 0; i < count; i++) {
			json_push(ends, json_real((double)times[i] / 1e9));
			json_push(values, isfinite(numbers[i]) ? json_real((double)numbers[i])
							       : json_null());
		}
		shorten(values);
		json_print(json_record(RECORD({"schema", value_count(JSON_SCHEMA)},
					      {"row", value_count(number)},
					      {"ends", value_json(ends)},
					      {"values", value_json(values)})),
			   JSON_COMPACT | JSON_REAL_PRECISION(15), to);
	}
}

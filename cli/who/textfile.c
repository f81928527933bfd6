/* SPDX-License-Identifier: MIT */
/* The sums of each key as a file for node_exporter's textfile collector. A sum grows while the key
 * has a group, and stays while it has none: sums never go back. Their number is bounded. */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "who/who.h"

/* A key without a row for so long has no series any more. */
#define KEPT_NS (300 * NS_PER_S)

static const struct series {
	const char *metric, *name, *type, *help;
} all[WHO_SUMS] = {
	{OWNER_MOVED, "uncore_who_memory_bytes_total", "counter",
	 "Bytes moved between the last-level caches and memory while the key had a group."},
	{OWNER_LOCAL, "uncore_who_memory_local_bytes_total", "counter",
	 "The part in memory of the same NUMA node."},
	{OWNER_REMOTE, "uncore_who_memory_remote_bytes_total", "counter",
	 "The part in memory of other NUMA nodes."},
	{OWNER_CACHE, "uncore_who_cache_bytes", "gauge", "Bytes in the last-level caches."},
	{OWNER_READ, "uncore_who_storage_read_bytes_total", "counter", "Bytes read from storage."},
	{OWNER_WRITTEN, "uncore_who_storage_written_bytes_total", "counter",
	 "Bytes written to storage."},
	{OWNER_GPU, "uncore_who_gpu_seconds_total", "counter", "Time of GPU engines."},
	{OWNER_GPU_MEMORY, "uncore_who_gpu_memory_bytes", "gauge", "Memory of GPU buffers."},
};

static bool is_gauge(size_t series)
{
	return *all[series].type == 'g';
}

/* ---- labels ---- */

static void put_label(void *context, const char *name, const char *text, size_t len)
{
	struct buffer *to = context;

	buffer_printf(to, "%s%s=\"", to->len ? "," : "", name);
	for (size_t i = 0; i < len; i++) {
		if (text[i] == '\\' || text[i] == '"')
			buffer_puts(to, "\\");
		buffer_add(to, &text[i], 1);
	}
	buffer_puts(to, "\"");
}

/* ---- sums ---- */

/* The owner with these labels. A new one takes the place of the one whose last row is oldest;
 * NULL: all have a row in this interval. */
static struct who_owner *owner_of(struct who_textfile *t, const char *labels, uint64_t now_ns)
{
	struct who_owner *oldest = NULL;

	for (size_t i = 0; i < t->owner_count; i++) {
		struct who_owner *o = &t->owners[i];

		if (strcmp(o->labels, labels) == 0)
			return o;
		if (o->seen_ns != now_ns && (!oldest || o->seen_ns < oldest->seen_ns))
			oldest = o;
	}
	if (t->owner_count < WHO_OWNERS) {
		t->owners = cli_realloc(t->owners, t->owner_count + 1, sizeof(*t->owners));
		oldest = &t->owners[t->owner_count++];
		oldest->labels = NULL;
	}
	if (!oldest)
		return NULL;
	free(oldest->labels);
	*oldest = (struct who_owner){.labels = cli_copy(labels)};
	return oldest;
}

/* What a row counted in the interval: bytes, or seconds of engines. The rest of the default
 * group has no amount of its own. */
static double amount_of(const struct uncore_row *row)
{
	const struct uncore_row_counted *c = row->counted;

	return isfinite(c->amount) && !cli_same(row->place->role, OWNER_OTHER)
		       ? c->amount
		       : row->value * c->seconds;
}

/* An interval counts once, for whichever of its sums. A gauge has no value while it is suspect. */
static void add_partial(struct who_owner *o, const struct uncore_row *row, uint64_t now_ns)
{
	if (row->quality < UNCORE_PARTIAL || !isfinite(row->value) || o->partial_ns == now_ns)
		return;
	o->partial += row->counted->seconds;
	o->partial_ns = now_ns;
}

static void add_row(struct who_textfile *t, enum who_by by, const struct uncore_row *row,
		    uint64_t now_ns)
{
	auto_buffer labels = {0};
	struct who_owner *o;
	size_t series = 0;

	while (series < WHO_SUMS && !cli_same(all[series].metric, row->query->name))
		series++;
	if (series == WHO_SUMS || row->place->socket >= 0 ||
	    !(row->place->role || row->place->tasks))
		return;
	owner_labels(who_by_words[by], row->place->role, row->place->tasks, put_label, &labels);
	o = owner_of(t, labels.data, now_ns);
	if (!o) {
		t->left_out++;
		return;
	}
	o->seen_ns = now_ns;
	o->has[series] |= isfinite(row->value);
	if (!is_gauge(series))
		add_partial(o, row, now_ns);
	if (is_gauge(series))
		o->sums[series] = row->quality < UNCORE_SUSPECT ? row->value : NAN;
	else if (isfinite(amount_of(row)))
		o->sums[series] += amount_of(row);
	if (series == 0 && isfinite(row->value))
		o->measured += row->counted->seconds;
}

/* A gauge is of the last interval only. */
static void begin_interval(struct who_textfile *t)
{
	t->left_out = 0;
	for (size_t i = 0; i < t->owner_count; i++)
		for (size_t s = 0; s < WHO_SUMS; s++)
			if (is_gauge(s))
				t->owners[i].sums[s] = NAN;
}

static void drop_old(struct who_textfile *t, uint64_t now_ns)
{
	size_t kept = 0;

	for (size_t i = 0; i < t->owner_count; i++) {
		if (t->owners[i].seen_ns + KEPT_NS < now_ns)
			free(t->owners[i].labels);
		else
			t->owners[kept++] = t->owners[i];
	}
	t->owner_count = kept;
}

/* ---- the file ---- */

static void put_head(struct buffer *to, const char *name, const char *type, const char *help)
{
	buffer_printf(to, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

static void put_all(const struct who *w, struct buffer *to)
{
	const struct who_textfile *t = &w->textfile;

	for (size_t s = 0; s < WHO_SUMS; s++) {
		bool begun = false;

		for (size_t i = 0; i < t->owner_count; i++) {
			const struct who_owner *o = &t->owners[i];

			if (!o->has[s] || !isfinite(o->sums[s]))
				continue;
			if (!begun)
				put_head(to, all[s].name, all[s].type, all[s].help);
			begun = true;
			buffer_printf(to, "%s{%s} %.17g\n", all[s].name, o->labels, o->sums[s]);
		}
	}
	put_head(to, "uncore_who_measured_seconds_total", "counter",
		 "Time in which the key had a group.");
	for (size_t i = 0; i < t->owner_count; i++)
		if (t->owners[i].measured > 0)
			buffer_printf(to, "uncore_who_measured_seconds_total{%s} %.9g\n",
				      t->owners[i].labels, t->owners[i].measured);
	put_head(to, "uncore_who_partial_seconds_total", "counter",
		 "Time in which a value of the key was partial or suspect.");
	for (size_t i = 0; i < t->owner_count; i++)
		buffer_printf(to, "uncore_who_partial_seconds_total{%s} %.9g\n",
			      t->owners[i].labels, t->owners[i].partial);
	put_head(to, "uncore_who_without_group", "gauge",
		 "Busy keys that had no group in the last interval.");
	buffer_printf(to, "uncore_who_without_group %zu\n", w->pool.groups ? w->rest.busy : 0);
	put_head(to, "uncore_who_left_out", "gauge",
		 "Values of the last interval without a series: there are too many keys.");
	buffer_printf(to, "uncore_who_left_out %zu\n", t->left_out);
}

/* For a program that reads standard output: a line ends each interval. */
static int pipe_text(struct buffer *text)
{
	buffer_puts(text, "# EOF\n");
	if (fwrite(text->data, 1, text->len, stdout) == text->len && fflush(stdout) == 0)
		return CLI_OK;
	return errno == EPIPE ? CLI_RUNTIME
			      : cli_failure(CLI_RUNTIME, "--textfile: standard output: %s",
					    strerror(errno));
}

int who_textfile_add(struct who *w, const struct frame *f)
{
	struct who_textfile *t = &w->textfile;
	auto_buffer text = {0}, temporary = {0};
	int error;

	begin_interval(t);
	for (size_t i = 0; i < w->row_count; i++)
		add_row(t, w->by, &w->rows[i], f->monotonic_ns);
	drop_old(t, f->monotonic_ns);
	put_all(w, &text);
	if (strcmp(t->path, "-") == 0)
		return pipe_text(&text);
	buffer_printf(&temporary, "%s.new", t->path); /* the collector reads only *.prom */
	error = buffer_replace(&text, AT_FDCWD, temporary.data, t->path, 0644, false);
	t->exists |= !error;
	return error ? cli_failure(CLI_RUNTIME, "--textfile: cannot write %s: %s", t->path,
				   strerror(error))
		     : CLI_OK;
}

/* After the end of the process its values would look like counters that do not increase. */
void who_textfile_end(struct who_textfile *t)
{
	if (t->exists)
		unlink(t->path);
	for (size_t i = 0; i < t->owner_count; i++)
		free(t->owners[i].labels);
	free(t->owners);
	*t = (struct who_textfile){0};
}

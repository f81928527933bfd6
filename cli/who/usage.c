/* SPDX-License-Identifier: MIT */
/* Bytes of storage by process. The kernel adds what a process read and wrote to the process that
 * waits for its end (linux kernel/exit.c, wait_task_zombie()): there, what was counted for it
 * before must not be counted again. */
#include "who/usage.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cli.h"

#define DEEPEST 64 /* parents of a process that ended */

struct bytes {
	uint64_t read, written, cancelled;
};

/* A process, with its sums since it began. */
struct io {
	int pid; /* first: find() */
	int parent;
	uint64_t start;
	uint64_t waited; /* changes when a child has ended that it waited for */
	bool has_bytes, denied;
	struct bytes sum;
	struct bytes ended;   /* counted before for processes that it waited for since then */
	const struct io *old; /* NULL: it was not there */
	struct used used;
};

void usage_open(struct usage *u, struct uncore *machine, const char *root)
{
	auto_buffer path = {0};

	buffer_printf(&path, "%s/sys/class/drm", root ? root : "");
	*u = (struct usage){.machine = machine, .has_gpus = access(path.data, F_OK) == 0};
}

void usage_close(struct usage *u)
{
	free(u->items);
	free(u->old);
	free(u->clients);
	free(u->old_clients);
	*u = (struct usage){0};
}

static struct io *find(struct io *items, size_t count, int pid)
{
	return count ? bsearch(&pid, items, count, sizeof(*items), cli_compare_ints) : NULL;
}

/* ---- reading ---- */

/* "read_bytes: 4096"; false: there is no such line. */
static bool number_of(const char *text, const char *name, uint64_t *into)
{
	const char *line = strstr(text, name);
	char *end;

	/* "read_bytes" is no part of another name, but "write_bytes" is one of
	 * "cancelled_write_bytes". */
	while (line && line != text && line[-1] != '\n')
		line = strstr(line + 1, name);
	if (!line)
		return false;
	line += strlen(name);
	*into = strtoull(line, &end, 10);
	return end != line;
}

static void read_bytes(const struct tasks *t, struct io *io, struct buffer *text)
{
	text->len = 0;
	errno = 0;
	if (!tasks_read(t, io->pid, "io", text)) {
		io->denied = errno == EACCES || errno == EPERM;
		return;
	}
	io->has_bytes = number_of(buffer_text(text), "read_bytes:", &io->sum.read) &&
			number_of(buffer_text(text), "write_bytes:", &io->sum.written) &&
			number_of(buffer_text(text), "cancelled_write_bytes:", &io->sum.cancelled);
}

/* ---- processes that ended ---- */

/* What the process has more than before, without what was counted for its children. */
static bool has_more(const struct io *io, const struct bytes *than)
{
	const struct bytes *now = &io->sum, *old = &io->old->sum, *ended = &io->ended;

	return now->read - old->read >= ended->read + than->read &&
	       now->written - old->written >= ended->written + than->written &&
	       now->cancelled - old->cancelled >= ended->cancelled + than->cancelled;
}

/* Whether the process has waited for one that ended with this sum. */
static bool inherit(struct io *heir, const struct bytes *sum)
{
	if (!heir || !heir->old || !heir->has_bytes || !heir->old->has_bytes ||
	    heir->waited == heir->old->waited || !has_more(heir, sum))
		return false;
	heir->used.inherited = true;
	heir->ended.read += sum->read;
	heir->ended.written += sum->written;
	heir->ended.cancelled += sum->cancelled;
	return true;
}

/* The process now, if it is the same one. */
static struct io *still_there(struct usage *u, const struct io *old)
{
	struct io *io = old ? find(u->items, u->count, old->pid) : NULL;

	return io && io->start == old->start ? io : NULL;
}

/* The nearest parent that lives, or init where parents ended, too. */
static void settle_ended(struct usage *u, const struct io *ended)
{
	const struct io *parent = ended;
	struct io *heir = NULL;

	for (int i = 0; parent && !heir && i < DEEPEST; i++) {
		parent = find(u->old, u->old_count, parent->parent);
		heir = still_there(u, parent);
	}
	if (!inherit(heir, &ended->sum) && !inherit(find(u->items, u->count, 1), &ended->sum))
		u->lost++;
}

/* ---- the difference ---- */

static void take_difference(struct io *io)
{
	const struct bytes none = {0}, *old = io->old ? &io->old->sum : &none;
	uint64_t written = io->sum.written - old->written - io->ended.written;
	uint64_t cancelled = io->sum.cancelled - old->cancelled - io->ended.cancelled;

	io->used.known = io->has_bytes && (!io->old || io->old->has_bytes);
	io->used.denied = io->denied;
	if (!io->used.known)
		return;
	io->used.read = io->sum.read - old->read - io->ended.read;
	/* It may have removed what others had written. */
	io->used.written = written > cancelled ? written - cancelled : 0;
}

static void make_items(struct usage *u, const struct tasks *t)
{
	auto_buffer text = {0};

	u->items = cli_realloc(NULL, t->count + 1, sizeof(*u->items));
	u->count = t->count;
	for (size_t i = 0; i < t->count; i++) {
		const struct process *p = &t->items[i];
		struct io *io = &u->items[i];

		*io = (struct io){.pid = p->pid,
				  .parent = p->parent,
				  .start = p->start,
				  .waited = p->waited_faults};
		if (p->is_kernel)
			continue;
		read_bytes(t, io, &text);
		u->denied += io->denied;
		io->old = find(u->old, u->old_count, io->pid);
		if (io->old && io->old->start != io->start)
			io->old = NULL;
		if (u->has_gpus)
			clients_read(u, t, p, &text);
	}
}

static void add_clients(struct usage *u)
{
	for (size_t i = 0; i < u->client_count; i++) {
		const struct client *c = &u->clients[i];
		struct io *io = find(u->items, u->count, c->pid);

		if (!io)
			continue;
		io->used.gpu_clients++;
		io->used.busy += c->has_busy;
		io->used.memory += c->has_memory;
		io->used.gpu_busy += c->has_busy ? c->busy : 0;
		io->used.gpu_memory += c->memory;
		io->used.sampled |= c->sampled;
		io->used.gpu_why = c->why ? c->why : io->used.gpu_why;
	}
}

void usage_look(struct usage *u, const struct tasks *t)
{
	uint64_t now_ns = cli_now_ns();

	free(u->old);
	free(u->old_clients);
	u->old = u->items;
	u->old_count = u->count;
	u->old_clients = u->clients;
	u->old_client_count = u->client_count;
	u->clients = NULL;
	u->client_count = u->lost = u->denied = 0;
	u->seconds = u->looks ? (double)(now_ns - u->at_ns) / 1e9 : 0;
	u->at_ns = now_ns;
	make_items(u, t);
	nvidia_read(u, t);
	for (size_t i = 0; i < u->old_count; i++)
		if (u->old[i].has_bytes && !still_there(u, &u->old[i]))
			settle_ended(u, &u->old[i]);
	for (size_t i = 0; u->looks && i < u->count; i++)
		take_difference(&u->items[i]);
	add_clients(u);
	u->looks++;
}

struct used usage_of(const struct usage *u, size_t i)
{
	return u->items[i].used;
}

/* SPDX-License-Identifier: MIT */
/* Clients of GPU drivers: each open file of a device has counts in its file of fdinfo, as linux
 * Documentation/gpu/drm-usage-stats.rst describes them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cli.h"
#include "who/usage.h"

static struct engine *find_engine(const struct client *c, const char *name, size_t len)
{
	for (size_t i = 0; i < c->engine_count; i++)
		if (strlen(c->engines[i].name) == len && memcmp(c->engines[i].name, name, len) == 0)
			return (struct engine *)&c->engines[i];
	return NULL;
}

/* The engine of that name, which is added; NULL: there are too many. */
static struct engine *engine_of(struct client *c, const char *name, size_t len)
{
	struct engine *e = find_engine(c, name, len);

	if (e || c->engine_count == CLIENT_ENGINES || len >= sizeof(e->name))
		return e;
	e = &c->engines[c->engine_count++];
	*e = (struct engine){0};
	memcpy(e->name, name, len);
	return e;
}

/* "1024 KiB" in bytes. */
static uint64_t bytes_of(const char *text)
{
	static const struct {
		const char *name;
		int shift;
	} units[] = {{"KiB", 10}, {"MiB", 20}, {"GiB", 30}};
	char *end;
	uint64_t value = strtoull(text, &end, 10);

	end += strspn(end, " \t");
	for (size_t i = 0; i < sizeof(units) / sizeof(*units); i++)
		if (strncmp(end, units[i].name, 3) == 0)
			return value << units[i].shift;
	return value;
}

/* Buffers in memory, by region. "memory" is the older name of "resident". */
enum memory { RESIDENT, OLDER, TOTAL, MEMORIES };

/* A line "drm-NAME: VALUE", from NAME on. */
static void parse_line(struct client *c, const char *name, size_t len, const char *value,
		       uint64_t memory[MEMORIES], bool has[MEMORIES])
{
	static const char *const memories[] = {"resident-", "memory-", "total-"};
	static const struct {
		const char *begin;
		size_t at;
	} counts[] = {{"engine-", offsetof(struct engine, busy_ns)},
		      {"total-cycles-", offsetof(struct engine, total_cycles)},
		      {"cycles-", offsetof(struct engine, cycles)}};

	if (strncmp(name, "engine-capacity-", strlen("engine-capacity-")) == 0)
		return;
	for (size_t i = 0; i < sizeof(counts) / sizeof(*counts); i++) {
		size_t skip = strlen(counts[i].begin);
		struct engine *e;

		if (len <= skip || memcmp(name, counts[i].begin, skip) != 0)
			continue;
		e = engine_of(c, name + skip, len - skip);
		if (!e)
			return;
		*(uint64_t *)((char *)e + counts[i].at) = strtoull(value, NULL, 10);
		e->has_time |= i == 0;
		e->has_total |= i == 1;
		return;
	}
	for (int i = 0; i < MEMORIES; i++)
		if (len > strlen(memories[i]) &&
		    memcmp(name, memories[i], strlen(memories[i])) == 0) {
			memory[i] += bytes_of(value);
			has[i] = true;
		}
}

bool client_parse(const char *text, struct client *into)
{
	uint64_t memory[MEMORIES] = {0};
	bool has[MEMORIES] = {false}, found = false;

	*into = (struct client){0};
	for (const char *line = text; *line; line += *line ? 1 : 0) {
		size_t len = strcspn(line, ":\n"), rest = strcspn(line, "\n");
		const char *value = line + len + (line[len] == ':');

		value += strspn(value, " \t");
		if (len > 4 && memcmp(line, "drm-", 4) == 0 && len < rest) {
			if (len == 8 && memcmp(line, "drm-pdev", 8) == 0)
				snprintf(into->device, sizeof(into->device), "%.*s",
					 (int)strcspn(value, " \t\n"), value);
			else if (len == 13 && memcmp(line, "drm-client-id", 13) == 0)
				into->id = strtoull(value, NULL, 10), found = true;
			else
				parse_line(into, line + 4, len - 4, value, memory, has);
		}
		line += rest;
	}
	into->has_memory = has[RESIDENT] || has[OLDER] || has[TOTAL];
	into->memory = has[RESIDENT] ? memory[RESIDENT]
		       : has[OLDER]  ? memory[OLDER]
				     : memory[TOTAL];
	return found;
}

static uint64_t keep_larger(uint64_t *now, uint64_t old)
{
	if (*now < old)
		*now = old;
	return *now - old;
}

void client_compare(struct client *c, const struct client *old)
{
	double seconds = (double)(c->at_ns - old->at_ns) / 1e9;

	c->busy = 0;
	c->has_busy = seconds > 0 && c->engine_count;
	for (size_t i = 0; i < c->engine_count; i++) {
		const struct engine none = {.has_total = false};
		struct engine *e = &c->engines[i];
		const struct engine *o = find_engine(old, e->name, strlen(e->name));
		uint64_t busy_ns, cycles, total;

		/* Some drivers leave out an engine that was never used: it has run since then. */
		if (!o && !e->has_total)
			o = &none;
		if (!o || !(e->has_time || e->has_total)) {
			c->has_busy = false;
			continue;
		}
		busy_ns = keep_larger(&e->busy_ns, o->busy_ns);
		cycles = keep_larger(&e->cycles, o->cycles);
		total = keep_larger(&e->total_cycles, o->total_cycles);
		/* The driver's own clock is the better divisor; some have only one of them. */
		if (total)
			c->busy += (double)cycles / (double)total;
		else if (seconds > 0)
			c->busy += (double)busy_ns / 1e9 / seconds;
	}
}

/* ---- files ---- */

static const struct client *find_client(const struct client *items, size_t count,
					const struct client *c)
{
	for (size_t i = 0; i < count; i++)
		if (items[i].id == c->id && strcmp(items[i].device, c->device) == 0)
			return &items[i];
	return NULL;
}

/* A file descriptor can be shared: each client is counted once. */
void clients_add(struct usage *u, const struct client *c)
{
	if (find_client(u->clients, u->client_count, c))
		return;
	u->clients = cli_grow(u->clients, u->client_count, sizeof(*u->clients));
	u->clients[u->client_count++] = *c;
}

bool client_is_of(DIR *fds, const char *name, const char *device)
{
	char target[32] = "";

	return readlinkat(dirfd(fds), name, target, sizeof(target) - 1) > 0 &&
	       strncmp(target, device, strlen(device)) == 0;
}

void clients_read(struct usage *u, const struct tasks *t, const struct process *p,
		  struct buffer *text)
{
	DIR *fds = tasks_directory(t, p->pid, "fd");
	const struct client *old;
	char path[64];

	for (struct dirent *d; fds && (d = readdir(fds));) {
		struct client c;

		if (!client_is_of(fds, d->d_name, "/dev/dri/") &&
		    !client_is_of(fds, d->d_name, "/dev/accel/"))
			continue;
		snprintf(path, sizeof(path), "fdinfo/%.20s", d->d_name);
		text->len = 0;
		if (!tasks_read(t, p->pid, path, text) || !client_parse(buffer_text(text), &c))
			continue;
		c.pid = p->pid;
		c.at_ns = cli_now_ns();
		old = find_client(u->old_clients, u->old_client_count, &c);
		if (old)
			client_compare(&c, old);
		clients_add(u, &c);
	}
	if (fds)
		closedir(fds);
}

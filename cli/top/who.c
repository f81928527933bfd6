/* SPDX-License-Identifier: MIT */
#include "top/who.h"

#include <stdio.h>
#include <string.h>

static const char *const keys[] = {"process", "cgroup", "unit", "container", "job", "user"};

#define KEYS (sizeof(keys) / sizeof(*keys))

bool who_open(struct top_who *w, const struct cli *cli, const sigset_t *old, uint64_t interval_ns,
	      int columns)
{
	char interval[32];
	const char *const args[] = {"who", "--color", "never", "--by", keys[w->by % KEYS],
				    "-I",  interval,  NULL};

	who_close(w);
	snprintf(interval, sizeof(interval), "%llums",
		 (unsigned long long)(interval_ns / NS_PER_MS));
	w->open = self_open(&w->self, cli,
			    &(struct self_start){
				    .args = args, .mask = old, .errors = true, .columns = columns});
	return w->open;
}

void who_close(struct top_who *w)
{
	self_close(&w->self);
	w->open = false;
	w->begun = false;
	buffer_free(&w->notes);
}

/* Where the first or the latest interval begins: at a line "1.000624 s". NULL: none has begun. */
static char *interval_in(char *text, bool latest)
{
	char *found = NULL;

	for (char *line = text; line && *line && (latest || !found); line = strchr(line, '\n')) {
		size_t digits;

		line += *line == '\n';
		digits = strspn(line, "0123456789.");
		if (digits && strncmp(line + digits, " s\n", 3) == 0)
			found = line;
	}
	return found;
}

/* Messages come before the first interval, and stay on the screen. */
static void keep_latest(struct top_who *w)
{
	struct buffer *text = &w->self.text;
	char *first = interval_in(text->data, false), *latest = interval_in(text->data, true);
	size_t before = latest ? (size_t)(latest - text->data) : 0;

	if (!before)
		return;
	if (!w->begun)
		buffer_add(&w->notes, text->data, (size_t)(first - text->data));
	w->begun = true;
	memmove(text->data, latest, text->len - before + 1);
	text->len -= before;
}

char *who_read(struct top_who *w)
{
	struct buffer shown = {0};

	if (!w->open || !self_read(&w->self))
		return NULL;
	keep_latest(w);
	buffer_printf(
		&shown,
		"By %s; b: other keys. While this screen is open, another process may make groups of "
		"tasks (resctrl). Esc ends it and removes them.\n\n%s%s",
		keys[w->by % KEYS], buffer_text(&w->notes), buffer_text(&w->self.text));
	return shown.data;
}

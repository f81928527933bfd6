/* SPDX-License-Identifier: MIT */
/* What `uncore top` remembers: lines of NAME VALUE. */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cli.h"
#include "top/view.h"

#define FILE_NAME "top"
#define SIZE_MOST 4096 /* of a file that is read */

static const char *const sorts[] = {"order", "traffic", "share", "name", NULL};
static const char *const units[] = {"si", "iec", "raw", NULL};
static const char *const switches[] = {"hide", "show", NULL};

/* The directory, which is created with `make`. False: the environment names none. */
static bool find_directory(struct buffer *path, bool make)
{
	const char *config = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");

	/* A relative path is invalid by the XDG Base Directory Specification. */
	if (config && *config == '/')
		buffer_puts(path, config);
	else if (home && *home == '/')
		buffer_printf(path, "%s/.config", home);
	else
		return false;
	if (make)
		mkdir(path->data, 0700);
	buffer_puts(path, "/uncore");
	if (make)
		mkdir(path->data, 0700);
	return true;
}

/* The number of the word in a list; `otherwise` if it is not in it. */
static size_t number_of(const char *const *words, const char *word, size_t otherwise)
{
	size_t i = cli_word(words, word);

	return words[i] ? i : otherwise;
}

static void take_line(struct top_view *v, const char *name, const char *value)
{
	if (strcmp(name, "screen") == 0) {
		v->screen = number_of(v->screens.names, value, v->screen);
	} else if (strcmp(name, "sort") == 0) {
		v->sort = (enum top_sort)number_of(sorts, value, v->sort);
	} else if (strcmp(name, "idle") == 0) {
		v->idle = number_of(switches, value, v->idle);
	} else if (strcmp(name, "units") == 0) {
		v->units = (enum units)number_of(units, value, v->units);
	} else if (strcmp(name, "range") == 0) {
		for (size_t i = 0; i < VIEW_RANGES; i++)
			if (strcmp(view_ranges[i].name, value) == 0)
				v->range = i;
	}
}

void settings_load(struct top_view *v)
{
	auto_buffer path = {0}, text = {0};
	char *rest, *line;

	if (!find_directory(&path, false))
		return;
	buffer_puts(&path, "/" FILE_NAME);
	if (buffer_read_file(&text, path.data, SIZE_MOST))
		return;
	rest = text.data;
	while ((line = strsep(&rest, "\n"))) {
		char *value = strchr(line, ' ');

		if (!value)
			continue;
		*value++ = '\0';
		take_line(v, line, value);
	}
}

void settings_save(const struct top_view *v)
{
	auto_buffer path = {0}, text = {0}, temporary = {0};

	if (!find_directory(&path, true))
		return;
	buffer_printf(&text, "screen %s\nsort %s\nidle %s\nrange %s\nunits %s\n",
		      v->screens.names[v->screen], sorts[v->sort], switches[v->idle],
		      view_ranges[v->range].name, units[v->units]);
	buffer_printf(&temporary, "%s/." FILE_NAME ".%d", path.data, (int)getpid());
	buffer_puts(&path, "/" FILE_NAME);
	buffer_replace(&text, AT_FDCWD, temporary.data, path.data, 0644, false);
}

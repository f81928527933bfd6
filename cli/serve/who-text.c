/* SPDX-License-Identifier: MIT */
/* The text of `who --textfile` as families. */
#include <stdlib.h>
#include <string.h>

#include "serve/exposition.h"
#include "serve/who.h"

static bool ends_in(const char *name, const char *end)
{
	size_t len = strlen(name);

	return len >= strlen(end) && strcmp(name + len - strlen(end), end) == 0;
}

/* "# HELP NAME TEXT" and "# TYPE NAME TYPE". In OpenMetrics the name of a counter has no
 * "_total". `name` keeps it for the samples. */
static void put_head(const struct family_writer *to, char *help, const char *type,
		     struct buffer *name)
{
	size_t len = strcspn(help, " ");
	bool counter = ends_in(type, " counter");

	name->len = 0;
	buffer_add(name, help, counter ? len - strlen("_total") : len);
	to->family(to->context,
		   &(struct family_head){.type = counter ? FAMILY_COUNTER : FAMILY_GAUGE,
					 .name = name->data,
					 .unit = ends_in(name->data, "_bytes")     ? "bytes"
						 : ends_in(name->data, "_seconds") ? "seconds"
										   : "",
					 .help = help + len + (help[len] == ' ')});
}

/* NAME{LABELS} VALUE */
static void put_sample(const struct family_writer *to, char *line)
{
	char *open = strchr(line, '{'), *close = strrchr(line, '}'), *value = strrchr(line, ' ');
	char none[] = "", *labels = open && close ? open + 1 : none;

	if (!value)
		return;
	if (labels != none)
		*open = *close = '\0';
	*value = '\0';
	to->sample(to->context, ends_in(line, "_total") ? "_total" : "", labels,
		   strtod(value + 1, NULL));
}

void serve_who_put(const struct family_writer *to, const struct serve_who *w)
{
	static const char help_word[] = "# HELP ", type_word[] = "# TYPE ";
	auto_free char *copy = cli_copy(buffer_text(&w->text));
	auto_buffer name = {0};
	char *rest = copy, *line, *help = NULL;

	to->family(to->context, &(struct family_head){FAMILY_GAUGE, "uncore_who_up", "",
						      "1: the process of --who counts; 0: it has "
						      "ended, and its series, too."});
	to->sample(to->context, "", "", !w->ended);
	while ((line = strsep(&rest, "\n"))) {
		if (strncmp(line, help_word, strlen(help_word)) == 0)
			help = line + strlen(help_word);
		else if (help && strncmp(line, type_word, strlen(type_word)) == 0)
			put_head(to, help, line, &name);
		else if (help && *line)
			put_sample(to, line);
	}
}

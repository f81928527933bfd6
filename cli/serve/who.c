/* SPDX-License-Identifier: MIT */
#include "serve/who.h"

#include <stdlib.h>
#include <string.h>

#include "serve/exposition.h"

#define END "# EOF\n"

/* ---- the process ---- */

int serve_who_open(struct serve_who *w, const struct cli *cli, uint64_t interval_ns)
{
	return self_open_who(&w->self, cli, w->by, interval_ns, "--textfile=-");
}

int serve_who_take(struct serve_who *w)
{
	struct buffer *text = &w->self.text;
	char *end;

	if (!w->by || w->ended)
		return CLI_OK;
	self_read(&w->self);
	/* Each interval has a text; only the latest one counts. */
	while (text->len && (end = strstr(text->data, END))) {
		w->text.len = 0;
		buffer_add(&w->text, text->data, (size_t)(end - text->data));
		end += strlen(END);
		text->len -= (size_t)(end - text->data);
		memmove(text->data, end, text->len + 1);
	}
	if (!self_has_ended(&w->self))
		return CLI_OK;
	w->ended = true;
	if (!w->text.len)
		return self_failure(&w->self);
	cli_error("--who: the process 'uncore who' has ended with status %d: its series end until "
		  "this one is started again",
		  w->self.status);
	buffer_free(&w->text);
	return CLI_OK;
}

void serve_who_close(struct serve_who *w)
{
	self_close(&w->self);
	buffer_free(&w->text);
}

/* ---- its text as families ---- */

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

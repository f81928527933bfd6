/* SPDX-License-Identifier: MIT */
#include "serve/who.h"

#include <string.h>

#define END "# EOF\n"

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

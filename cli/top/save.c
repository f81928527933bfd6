/* SPDX-License-Identifier: MIT */
/* Files that keys write: the screen as text, and its rows as CSV. */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/cli.h"
#include "base/number.h"
#include "top/view.h"

/* An existing file stays. */
static void write_file(struct top_view *v, const struct buffer *text, const char *suffix)
{
	time_t now = time(NULL);
	struct tm tm;
	char date[32], name[64];
	size_t done = 0;
	ssize_t n = 0;
	int fd, err;

	if (!localtime_r(&now, &tm) || !strftime(date, sizeof(date), "%Y%m%d-%H%M%S", &tm))
		return;
	snprintf(name, sizeof(name), "uncore-top-%s%s", date, suffix);
	fd = open(name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
	while (fd >= 0 && done < text->len && n >= 0) {
		n = write(fd, text->data + done, text->len - done);
		done += n > 0 ? (size_t)n : 0;
	}
	err = errno;
	if (fd >= 0 && close(fd) < 0 && n >= 0) {
		n = -1;
		err = errno;
	}
	if (fd >= 0 && n < 0)
		unlink(name);
	if (fd < 0 || n < 0)
		snprintf(v->said, sizeof(v->said), "%s: %s", name, strerror(err));
	else
		snprintf(v->said, sizeof(v->said), "Written: %s", name);
}

void save_screen(struct top_view *v, const struct top_canvas *c)
{
	auto_buffer text = {0};

	canvas_save(c, &text);
	write_file(v, &text, ".txt");
}

/* ---- CSV ---- */

/* Each cell ends in a comma, and the last one's becomes the end of the line. */
static void put_cell(struct buffer *to, const char *text)
{
	if (!text[strcspn(text, ",\"\r\n")]) {
		buffer_printf(to, "%s,", text);
		return;
	}
	for (buffer_puts(to, "\""); *text; text++)
		buffer_add(to, *text == '"' ? "\"\"" : text, *text == '"' ? 2 : 1);
	buffer_puts(to, "\",");
}

static void put_number(struct buffer *to, double value)
{
	char text[REAL_ROOM];

	text_real(text, value);
	put_cell(to, text);
}

static void put_row_end(struct buffer *to, enum uncore_quality quality, const char *reason)
{
	put_cell(to, uncore_quality_name(quality));
	put_cell(to, reason ? reason : "");
	to->data[to->len - 1] = '\n';
}

static void put_line(struct buffer *to, const struct top_view *v, const struct screen_line *line)
{
	const struct uncore_row *first = NULL;
	enum uncore_quality quality;
	const char *reason;

	put_cell(to, uncore_view_title(line->view));
	put_cell(to, line->label);
	put_cell(to, line->detail);
	for (int k = 0; k < UNCORE_COLUMNS; k++) {
		const struct uncore_row *row =
			screen_row(line, &v->data.rows, (enum uncore_column)k);

		first = first ? first : row;
		put_number(to, k == UNCORE_COLUMN_SHARE ? screen_share(line, &v->data.rows)
			       : row                    ? row->value
							: NAN);
	}
	put_cell(to, first ? first->query->unit : "");
	quality = screen_quality(line, &v->data.rows, &reason);
	put_row_end(to, quality, reason);
}

static void put_node(struct buffer *to, const struct top_model *m, size_t node)
{
	const struct uncore_row *row = top_row(m, node);
	size_t top = top_metric(m, node);

	if (!row)
		return;
	put_cell(to, m->nodes[top].label);
	put_cell(to, top == node ? "all" : m->nodes[node].label);
	put_number(to, row->value);
	put_number(to, row->ceiling);
	put_cell(to, row->query->unit);
	put_row_end(to, row->quality, row->reason);
}

void save_rows(struct top_view *v, int height)
{
	struct layout l = view_layout(v, height);
	auto_buffer text = {0};

	if (!v->data.sample)
		return;
	if (view_has_tree(v)) {
		buffer_puts(&text, "name,place,value,ceiling,unit,quality,reason\n");
		for (size_t i = v->first;
		     i < v->tree.line_count && i < v->first + (size_t)l.list_height - 1; i++)
			put_node(&text, &v->tree, v->tree.lines[i]);
	} else {
		buffer_puts(&text, "view,place,detail,in,out,total,share,latency,unit,quality,"
				   "reason\n");
		for (size_t i = v->first;
		     i < v->entry_count && i < v->first + (size_t)l.list_height; i++)
			if (v->entries[i].kind == ENTRY_LINE)
				put_line(&text, v, &v->data.screen.lines[v->entries[i].line]);
	}
	write_file(v, &text, ".csv");
}

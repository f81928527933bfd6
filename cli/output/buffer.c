/* SPDX-License-Identifier: MIT */
/* Growing text, and where it is written: whole pieces; a full disk is reported, a closed pipe is not.
 * The process never calls setlocale(), so printf and strtod are those of "C". */
#include "output/buffer.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli.h"

#define STALL_MS 2000 /* patience with a reader that does not read, once the user wants to stop */

void buffer_free(struct buffer *b)
{
	free(b->data);
	*b = (struct buffer){0};
}

static void reserve(struct buffer *b, size_t more)
{
	size_t room = b->room ? b->room : 256;

	more++; /* the NUL */
	if (b->room - b->len >= more)
		return;
	while (room - b->len < more)
		room *= 2;
	b->data = cli_realloc(b->data, room, 1);
	b->room = room;
}

void buffer_add(struct buffer *b, const void *data, size_t len)
{
	if (!len)
		return;
	reserve(b, len);
	memcpy(b->data + b->len, data, len);
	b->len += len;
	b->data[b->len] = '\0';
}

const char *buffer_text(const struct buffer *b)
{
	return b->len ? b->data : "";
}

void buffer_puts(struct buffer *b, const char *text)
{
	buffer_add(b, text, strlen(text));
}

void buffer_vprintf(struct buffer *b, const char *fmt, va_list args)
{
	va_list again;
	int len;

	va_copy(again, args);
	len = vsnprintf(NULL, 0, fmt, again);
	va_end(again);
	if (len < 0)
		return;
	reserve(b, (size_t)len);
	vsnprintf(b->data + b->len, (size_t)len + 1, fmt, args);
	b->len += (size_t)len;
}

void buffer_printf(struct buffer *b, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	buffer_vprintf(b, fmt, args);
	va_end(args);
}

void buffer_spaces(struct buffer *b, size_t count)
{
	if (!count)
		return;
	reserve(b, count);
	memset(b->data + b->len, ' ', count);
	b->len += count;
	b->data[b->len] = '\0';
}

void buffer_wrap(struct buffer *b, size_t indent, size_t width, const char *text)
{
	buffer_hang(b, indent, width, "", text);
}

void buffer_hang(struct buffer *b, size_t indent, size_t width, const char *label, const char *text)
{
	size_t column = text_width(label);
	bool begun = false; /* this line has a word */

	buffer_puts(b, label);
	for (text += strspn(text, " \n"); *text; text += strspn(text, " \n")) {
		size_t len = strcspn(text, " \n");
		size_t gap;

		if (begun && column + 1 + len > width) {
			buffer_puts(b, "\n");
			column = 0;
			begun = false;
		}
		gap = begun || column >= indent ? column > 0 : indent - column;
		buffer_spaces(b, gap);
		buffer_add(b, text, len);
		column += gap + len;
		begun = true;
		text += len;
	}
	buffer_puts(b, "\n");
}

/* Not with printf, which would take most of the time of printing a sample. */
size_t text_count(char into[COUNT_ROOM], uint64_t value)
{
	char digits[COUNT_ROOM];
	size_t len = 0;

	do
		digits[len++] = (char)('0' + value % 10);
	while (value /= 10);
	for (size_t i = 0; i < len; i++)
		into[i] = digits[len - 1 - i];
	into[len] = '\0';
	return len;
}

/* Up to six decimals without zeros at their end. */
static size_t text_decimals(char *into, uint64_t millionths)
{
	size_t len = 7;

	into[0] = '.';
	for (size_t i = 6; i > 0; i--, millionths /= 10)
		into[i] = (char)('0' + millionths % 10);
	while (into[len - 1] == '0')
		len--;
	if (len == 1)
		len = 0;
	into[len] = '\0';
	return len;
}

size_t text_real(char into[REAL_ROOM], double value)
{
	double size = fabs(value), whole = floor(size), millionths = rint((size - whole) * 1e6);
	size_t len = 0;

	*into = '\0';
	if (!isfinite(value))
		return 0;
	if (size >= 1e15 || (size < 1e3 && whole < size))
		return (size_t)snprintf(into, REAL_ROOM, "%.15g", value);
	if (millionths >= 1e6) {
		whole += 1;
		millionths = 0;
	}
	if (value < 0)
		into[len++] = '-';
	len += text_count(into + len, (uint64_t)whole);
	return len + text_decimals(into + len, (uint64_t)millionths);
}

size_t text_width(const char *text)
{
	size_t width = 0;

	for (; *text; text++)
		width += ((unsigned char)*text & 0xc0) != 0x80;
	return width;
}

/* ---- writing ---- */

static bool is_regular(int fd, off_t *size)
{
	struct stat st;

	if (fstat(fd, &st) || !S_ISREG(st.st_mode))
		return false;
	*size = st.st_size;
	return true;
}

int writer_open(struct writer *w, const char *file, bool append)
{
	off_t size = 0;

	*w = (struct writer){.name = "standard output",
			     .piece = "result",
			     .fd = STDOUT_FILENO,
			     .signal_fd = -1,
			     .empty = true};
	if (!file || strcmp(file, "-") == 0)
		return CLI_OK;
	w->name = file;
	w->own = true;
	w->fd = open(file, O_WRONLY | O_CREAT | O_CLOEXEC | (append ? O_APPEND : O_TRUNC), 0666);
	if (w->fd < 0) {
		w->status = CLI_RUNTIME;
		cli_error("cannot open '%s' for writing: %s", file, strerror(errno));
		return w->status;
	}
	w->empty = !is_regular(w->fd, &size) || size == 0;
	return CLI_OK;
}

/* A reader that has stopped reading does not delay Ctrl-C. `regular`: writing does not wait for a reader. */
static int write_all(const struct writer *w, bool regular, size_t *done)
{
	struct pollfd fds[] = {
		{.fd = w->fd, .events = POLLOUT},
		{.fd = w->signal_fd, .events = POLLIN},
	};

	while (*done < w->text.len) {
		size_t len = w->text.len - *done;
		ssize_t n;

		/* What may be written at once: a pipe that polls writable takes PIPE_BUF bytes. */
		if (!regular && len > PIPE_BUF)
			len = PIPE_BUF;
		if (!regular && poll(fds, 2, -1) < 0)
			return -errno;
		if (!regular && !fds[0].revents && poll(fds, 1, STALL_MS) <= 0)
			return -ETIMEDOUT;
		n = write(w->fd, w->text.data + *done, len);
		if (n < 0 && errno != EINTR && errno != EAGAIN)
			return -errno;
		if (n > 0)
			*done += (size_t)n;
	}
	return 0;
}

/* Takes the part of a line at the end of the file away again. */
static void cut_partial_line(const struct writer *w, size_t done)
{
	const char *newline = done ? memrchr(w->text.data, '\n', done) : NULL;
	size_t whole = newline ? (size_t)(newline + 1 - w->text.data) : 0;
	off_t at = lseek(w->fd, 0, SEEK_CUR);
	off_t size;

	/* Only when the end of the file is what was written here: others may write to it, too. */
	if (at < 0 || whole == done || !is_regular(w->fd, &size) || at != size)
		return;
	at -= (off_t)(done - whole);
	if (ftruncate(w->fd, at) == 0)
		lseek(w->fd, at, SEEK_SET);
}

int writer_flush(struct writer *w)
{
	off_t size = 0;
	size_t done = 0;
	int err;

	if (w->status || !w->text.len)
		return w->status;
	if (!w->exact)
		w->text.len = cli_clean(w->text.data, w->text.len, "\n\t");
	err = write_all(w, is_regular(w->fd, &size), &done);
	if (err) {
		cut_partial_line(w, done);
		w->status = CLI_RUNTIME;
		if (err == -ETIMEDOUT)
			cli_error("%s: its reader has stopped reading", w->name);
		else if (err != -EPIPE)
			cli_error("%s: %s; written before: %llu complete %s%s", w->name,
				  strerror(-err), (unsigned long long)w->flushes, w->piece,
				  w->flushes == 1 ? "" : "s");
	} else {
		w->flushes++;
	}
	w->text.len = 0;
	return w->status;
}

int writer_close(struct writer *w)
{
	buffer_free(&w->text);
	if (w->own && w->fd >= 0 && close(w->fd) && !w->status) {
		cli_error("%s: %s", w->name, strerror(errno));
		w->status = CLI_RUNTIME;
	}
	w->fd = -1;
	return w->status;
}

int writer_print(struct buffer *b)
{
	struct writer w;

	writer_open(&w, NULL, false);
	w.text = *b;
	writer_flush(&w);
	*b = (struct buffer){0};
	return writer_close(&w);
}

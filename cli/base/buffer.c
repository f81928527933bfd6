/* SPDX-License-Identifier: MIT */
/* Growing text. The process never calls setlocale(), so printf and strtod are those of "C". */
#include "base/buffer.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cli.h"

void buffer_free(struct buffer *b)
{
	free(b->data);
	*b = (struct buffer){0};
}

/* For calls that are not inlined. */
extern char *buffer_more(struct buffer *b, size_t len);
extern void buffer_add(struct buffer *b, const void *data, size_t len);

void buffer_grow(struct buffer *b, size_t len)
{
	size_t room = b->room ? b->room : 256;

	while (room - b->len <= len)
		room *= 2;
	b->data = cli_realloc(b->data, room, 1);
	b->room = room;
}

int buffer_read(struct buffer *b, const char *fmt, ...)
{
	auto_buffer path = {0};
	const char *why;
	va_list args;

	va_start(args, fmt);
	buffer_vprintf(&path, fmt, args);
	va_end(args);
	why = buffer_read_file(b, buffer_text(&path), SIZE_MAX);
	return why ? (errno ? errno : EINVAL) : 0;
}

const char *buffer_read_file(struct buffer *b, const char *path, size_t most)
{
	/* Not to wait for a writer of a FIFO. */
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	const char *why = fd < 0 ? strerror(errno) : NULL;
	struct stat st;
	char piece[4096];
	ssize_t n = 1;

	if (fd < 0)
		return why;
	errno = 0;
	if (fstat(fd, &st))
		why = strerror(errno);
	else if (!S_ISREG(st.st_mode))
		why = "not a regular file";
	for (size_t len = 0; !why && n; len += (size_t)n) {
		n = read(fd, piece, sizeof(piece));
		if (n < 0)
			why = strerror(errno);
		else if (len + (size_t)n > most)
			why = "too large";
		else
			buffer_add(b, piece, (size_t)n);
		if (why)
			break;
	}
	close(fd);
	return why;
}

int buffer_replace(const struct buffer *b, int dir, const char *temporary, const char *name,
		   mode_t mode, bool sync)
{
	int fd, error;

	/* Nothing is written through a link that another user made. */
	unlinkat(dir, temporary, 0);
	fd = openat(dir, temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
	if (fd < 0)
		return errno;
	/* Whatever the umask says. */
	error = fchmod(fd, mode) ? errno : 0;
	for (size_t done = 0; !error && done < b->len;) {
		ssize_t n = write(fd, b->data + done, b->len - done);

		error = n < 0 && errno != EINTR ? errno : 0;
		done += n > 0 ? (size_t)n : 0;
	}
	if (!error && sync && fsync(fd))
		error = errno;
	if (close(fd) && !error)
		error = errno;
	if (!error && renameat(dir, temporary, dir, name))
		error = errno;
	if (error)
		unlinkat(dir, temporary, 0);
	return error;
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
	vsnprintf(buffer_more(b, (size_t)len), (size_t)len + 1, fmt, args);
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
	if (count)
		memset(buffer_more(b, count), ' ', count);
}

void buffer_wrap(struct buffer *b, size_t indent, size_t width, const char *text)
{
	const char *newline = b->len ? memrchr(b->data, '\n', b->len) : NULL;
	size_t column = text_width(newline ? newline + 1 : buffer_text(b));
	bool begun = false; /* this line has a word */

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

const char *share_color(double share)
{
	return share >= SHARE_BAD ? COLOR_BAD : share >= SHARE_WARN ? COLOR_WARN : COLOR_GOOD;
}

size_t text_width(const char *text)
{
	size_t width = 0;

	for (; *text; text++)
		width += ((unsigned char)*text & 0xc0) != 0x80 && !strchr(TEXT_COLORS, *text);
	return width;
}

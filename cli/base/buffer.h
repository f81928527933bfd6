/* SPDX-License-Identifier: MIT */
/* Text in memory: an output is collected here and written whole, never line by line. */
#ifndef CLI_BUFFER_H
#define CLI_BUFFER_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/types.h>

struct buffer {
	char *data; /* ends in a NUL behind `len`; NULL: nothing was added yet */
	size_t len;
	size_t room;
	bool records; /* it is for programs: not fitted to a terminal */
};

void buffer_free(struct buffer *b);
/* A text that is freed where its block ends. */
#define auto_buffer __attribute__((cleanup(buffer_free))) struct buffer
/* Makes room for so many more characters. */
void buffer_grow(struct buffer *b, size_t len);

/* Where so many characters are to be put: they are part of the text now. */
inline char *buffer_more(struct buffer *b, size_t len)
{
	char *more;

	if (b->room - b->len <= len) /* with the NUL */
		buffer_grow(b, len);
	more = b->data + b->len;
	b->len += len;
	more[len] = '\0';
	return more;
}

inline void buffer_add(struct buffer *b, const void *data, size_t len)
{
	if (len)
		memcpy(buffer_more(b, len), data, len);
}

void buffer_puts(struct buffer *b, const char *text);
void buffer_printf(struct buffer *b, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void buffer_vprintf(struct buffer *b, const char *fmt, va_list args)
	__attribute__((format(printf, 2, 0)));
/* Adds the file of that path. Returns 0 or its errno. */
int buffer_read(struct buffer *b, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Adds a file that the user names. One that is no regular file (a FIFO, a device) could block the
 * caller for good, or never end: it is refused, as one of more than `most` bytes. Returns NULL or
 * why not, with errno of a failed system call, else 0. */
const char *buffer_read_file(struct buffer *b, const char *path, size_t most);
/* Replaces the file of that name below `dir` (or AT_FDCWD): a reader finds the old text or the
 * new one. It gets the mode, whatever the umask says. It is made as `temporary`, in place of one
 * that a killed process has left, and stored safely before that with `sync`. Returns 0 or an
 * errno. */
int buffer_replace(const struct buffer *b, int dir, const char *temporary, const char *name,
		   mode_t mode, bool sync);
/* The text; "" when there is none. */
const char *buffer_text(const struct buffer *b);
void buffer_spaces(struct buffer *b, size_t count);

/* Words of `text`, broken so that no line passes `width` columns, each line after `indent` spaces;
 * ends with a newline. What the buffer already has of the first line is a label: the paragraph
 * hangs behind it. */
void buffer_wrap(struct buffer *b, size_t indent, size_t width, const char *text);

/* Characters that begin and end a coloured text; writer_flush() makes the terminal's sequences of
 * them, or removes them. text_width() does not count them. */
#define COLOR_END "\1"
#define COLOR_GOOD "\2" /* little load */
#define COLOR_WARN "\3" /* scaled, much load */
#define COLOR_BAD "\4"  /* not to be trusted, at the limit */
#define COLOR_DIM "\5"  /* no value */
#define TEXT_COLORS "\1\2\3\4\5"

/* The shares of a ceiling from which on a place has the colour of much load, and of the limit: in
 * tables, in top and on the pages. */
#define SHARE_WARN 0.5
#define SHARE_BAD 0.8
/* COLOR_GOOD, COLOR_WARN or COLOR_BAD. */
const char *share_color(double share);

/* Columns a UTF-8 text takes on a terminal, for the texts we print: one per character. */
size_t text_width(const char *text);

#endif

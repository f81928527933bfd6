/* SPDX-License-Identifier: MIT */
/* Text in memory: an output is collected here and written whole, never line by line. */
#ifndef CLI_BUFFER_H
#define CLI_BUFFER_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buffer {
	char *data; /* ends in a NUL behind `len`; NULL: nothing was added yet */
	size_t len;
	size_t room;
};

void buffer_free(struct buffer *b);
void buffer_add(struct buffer *b, const void *data, size_t len);
void buffer_puts(struct buffer *b, const char *text);
void buffer_printf(struct buffer *b, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void buffer_vprintf(struct buffer *b, const char *fmt, va_list args)
	__attribute__((format(printf, 2, 0)));
/* The text; "" when there is none. */
const char *buffer_text(const struct buffer *b);
void buffer_spaces(struct buffer *b, size_t count);

/* Words of `text`, broken so that no line passes `width` columns, each line after `indent` spaces;
 * ends with a newline. */
void buffer_wrap(struct buffer *b, size_t indent, size_t width, const char *text);

/* The same behind a label that is padded to `indent` columns: a hanging paragraph. */
void buffer_hang(struct buffer *b, size_t indent, size_t width, const char *label,
		 const char *text);

/* Numbers as text, NUL-terminated; the length. */
#define COUNT_ROOM 24
#define REAL_ROOM 40
size_t text_count(char into[COUNT_ROOM], uint64_t value);
/* A whole number as it is, a large one to a millionth, a smaller one with 15 digits; "" when it is
 * not finite. */
size_t text_real(char into[REAL_ROOM], double value);

/* Columns a UTF-8 text takes on a terminal, for the texts we print: one per character. */
size_t text_width(const char *text);

/* Where results go: standard output or a file. */
struct writer {
	struct buffer text; /* filled by the outputs, emptied by writer_flush() */
	const char *name;   /* for sentences */
	const char *piece;  /* what a flush writes, for sentences: "interval" */
	int fd;
	int signal_fd;    /* readable when the user wants to stop; -1: none */
	bool own;         /* the file is ours to close */
	bool exact;       /* the text is written as it is: it is clean, or no terminal shows it */
	bool empty;       /* nothing had been written to it before: a CSV header is due */
	uint64_t flushes; /* that went through */
	int status;       /* of the first failure; nothing is written after it */
};

/* `file` NULL or "-": standard output. Truncates without `append`. Returns an exit code. */
int writer_open(struct writer *w, const char *file, bool append);

/* Cleans and writes the text; on failure prints why (nothing for a closed pipe) and cuts a regular file back to
 * its last whole line. Returns an exit code. */
int writer_flush(struct writer *w);

int writer_close(struct writer *w);

/* Opens standard output, flushes the text of `b` and frees it: for commands that print once. */
int writer_print(struct buffer *b);

#endif

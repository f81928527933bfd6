/* SPDX-License-Identifier: MIT */
/* Where results go: standard output or a file, which is compressed when its name ends in .zst. */
#ifndef CLI_WRITER_H
#define CLI_WRITER_H

#include "base/buffer.h"

struct writer {
	struct buffer text; /* filled by the outputs, emptied by writer_flush() */
	const char *name;   /* for sentences */
	const char *piece;  /* what a flush writes, for sentences: "interval" */
	int fd;
	int signal_fd;    /* readable when the user wants to stop; -1: none */
	bool own;         /* close it at the end */
	bool regular;     /* writing to it does not wait for a reader */
	bool ended;       /* nothing follows */
	bool exact;       /* the text is written as it is: it is clean, or no terminal shows it */
	bool empty;       /* nothing had been written to it before: a CSV header is due */
	uint64_t flushes; /* that were successful */
	int status;       /* of the first failure; nothing is written after it */
	struct ZSTD_CCtx_s *packer; /* NULL: the text is written as it is */
	struct buffer packed;       /* the compressed text */
};

/* `file` NULL or "-": standard output. Truncates without `append`. Returns an exit code. */
int writer_open(struct writer *w, const char *file, bool append);

/* Cleans and writes the text; on failure prints why (nothing for a closed pipe) and cuts a regular
 * file back to its last whole line, unless it is compressed. Returns an exit code. */
int writer_flush(struct writer *w);

/* Flushes, too. The status of the first failure, as an exit code. */
int writer_close(struct writer *w);

/* Writes the text as a whole: a regular file is replaced when all is written, so that an error,
 * such as a full disk, leaves an old one as it was and none that is cut. Standard output for "-";
 * links, FIFOs, devices and files of others are written in place. Returns an exit code. */
int writer_save(const char *file, const struct buffer *text);

/* Whether writer_print() pages what is longer than the terminal; it does. */
void writer_set_pager(bool on);

/* Opens standard output, flushes the text of `b` and frees it: for commands that print once. */
int writer_print(struct buffer *b);

#endif

/* SPDX-License-Identifier: MIT */
/* Where text is written: whole pieces; a full disk is reported, a closed pipe is not. */
#include "output/writer.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli.h"
#include "output/terminal.h"

#define STALL_MS 2000 /* patience with a reader that does not read, once the user wants to stop */

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

/* Clean, and fitted to the terminal unless it is for programs. */
static void prepare(struct writer *w)
{
	w->text.len =
		cli_clean(w->text.data, w->text.len, w->text.records ? "\n\t" : "\n\t" TEXT_COLORS);
	if (!w->text.records)
		terminal_fit(&w->text);
}

int writer_flush(struct writer *w)
{
	off_t size = 0;
	size_t done = 0;
	int err;

	if (w->status || !w->text.len)
		return w->status;
	if (!w->exact)
		prepare(w);
	cli_waited();
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
	writer_flush(w);
	buffer_free(&w->text);
	if (w->own && w->fd >= 0 && close(w->fd) && !w->status) {
		cli_error("%s: %s", w->name, strerror(errno));
		w->status = CLI_RUNTIME;
	}
	w->fd = -1;
	return w->status;
}

static bool paged = true;

void writer_set_pager(bool on)
{
	paged = on;
}

/* Of more lines than the terminal has, through a pager as git does it. True when that has shown it. */
static bool show_paged(struct buffer *text)
{
	const char *pager = getenv("UNCORE_PAGER"), *term = getenv("TERM");
	size_t rows = terminal_rows(), lines = 0;
	struct sigaction old, ignore = {.sa_handler = SIG_IGN};
	FILE *f;
	int status;

	for (size_t i = 0; i < text->len; i++)
		lines += text->data[i] == '\n';
	if (!pager)
		pager = getenv("PAGER");
	if (!pager)
		pager = "less 2>/dev/null";
	if (!paged || !rows || lines < rows || !*pager || strcmp(pager, "cat") == 0 || !term ||
	    strcmp(term, "dumb") == 0)
		return false;
	setenv("LESS", "FRX", 0);
	f = popen(pager, "we"); /* NOLINT(cert-env33-c): the user's own command */
	if (!f)
		return false;
	/* Ctrl-C is for the pager. */
	sigaction(SIGINT, &ignore, &old);
	fwrite(text->data, 1, text->len, f);
	status = pclose(f);
	sigaction(SIGINT, &old, NULL);
	/* The shell has not found it. */
	return status < 0 || WEXITSTATUS(status) != 127;
}

int writer_print(struct buffer *b)
{
	struct writer w;

	writer_open(&w, NULL, false);
	w.text = *b;
	w.exact = !w.text.records;
	if (w.exact)
		prepare(&w);
	if (w.exact && show_paged(&w.text))
		w.text.len = 0;
	*b = (struct buffer){0};
	return writer_close(&w);
}

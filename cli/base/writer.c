/* SPDX-License-Identifier: MIT */
/* Where text is written: whole pieces, to a file *.zst compressed; a full disk is reported, a
 * closed pipe is not. */
#include "base/writer.h"

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
#ifdef UNCORE_ZSTD
#include <zstd.h>
#endif

#include "base/cli.h"
#include "base/terminal.h"

#define STALL_MS 2000 /* patience with a reader that does not read, once the user wants to stop */

static bool is_regular(int fd, off_t *size)
{
	struct stat st;

	if (fstat(fd, &st) || !S_ISREG(st.st_mode))
		return false;
	*size = st.st_size;
	return true;
}

/* ---- zstd: one frame for each run, of which every flush ends a block ---- */

#ifdef UNCORE_ZSTD
/* Behind a frame without an end, as a killed run leaves it, nothing could be read. */
static bool has_whole_frames(const char *file)
{
	char packed[0x4000], text[0x4000];
	ZSTD_DCtx *d = ZSTD_createDCtx();
	int fd = open(file, O_RDONLY | O_CLOEXEC);
	size_t left = 0;
	ssize_t n = -1;

	while (d && !ZSTD_isError(left) && (n = read(fd, packed, sizeof(packed))) > 0) {
		ZSTD_inBuffer in = {packed, (size_t)n, 0};
		ZSTD_outBuffer out = {text, sizeof(text), 0};

		for (; !ZSTD_isError(left) && (in.pos < in.size || out.pos == out.size);) {
			out.pos = 0;
			left = ZSTD_decompressStream(d, &out, &in);
		}
	}
	ZSTD_freeDCtx(d);
	if (fd >= 0)
		close(fd);
	return n == 0 && left == 0;
}

static int open_packer(struct writer *w, bool append)
{
	struct stat st;

	if (append && stat(w->name, &st) == 0 && S_ISREG(st.st_mode) && st.st_size > 0 &&
	    !has_whole_frames(w->name))
		return cli_failure(
			CLI_RUNTIME,
			"cannot append to '%s': it is not a complete zstd file; 'zstd -dc' prints "
			"its complete intervals",
			w->name);
	w->packer = ZSTD_createCCtx();
	if (!w->packer || ZSTD_isError(ZSTD_CCtx_setParameter(w->packer, ZSTD_c_checksumFlag, 1)))
		return cli_failure(CLI_RUNTIME, "%s: out of memory", w->name);
	return CLI_OK;
}

static int pack(struct writer *w)
{
	ZSTD_inBuffer in = {w->text.data, w->text.len, 0};
	char part[0x4000];
	size_t left;

	w->packed.len = 0;
	do {
		ZSTD_outBuffer out = {part, sizeof(part), 0};

		left = ZSTD_compressStream2(w->packer, &out, &in,
					    w->ended ? ZSTD_e_end : ZSTD_e_flush);
		if (ZSTD_isError(left))
			return -ENOMEM;
		buffer_add(&w->packed, part, out.pos);
	} while (left);
	return 0;
}

static void close_packer(struct writer *w)
{
	ZSTD_freeCCtx(w->packer);
	w->packer = NULL;
	buffer_free(&w->packed);
}
#else
static int open_packer(struct writer *w, bool append)
{
	(void)append;
	return cli_failure(CLI_RUNTIME, "cannot write '%s': this build has no zstd", w->name);
}

static int pack(struct writer *w)
{
	(void)w;
	return 0;
}

static void close_packer(struct writer *w)
{
	(void)w;
}
#endif

/* ---- files ---- */

int writer_open(struct writer *w, const char *file, bool append)
{
	bool own = file && strcmp(file, "-") != 0;
	size_t len;
	off_t size = 0;

	*w = (struct writer){.name = own ? file : "standard output",
			     .piece = "result",
			     .fd = own ? -1 : STDOUT_FILENO,
			     .signal_fd = -1,
			     .own = own,
			     .empty = true};
	len = strlen(w->name);
	if (len > 4 && strcmp(w->name + len - 4, ".zst") == 0)
		w->status = open_packer(w, append);
	if (w->status)
		return w->status;
	if (own)
		w->fd = open(file, O_WRONLY | O_CREAT | O_CLOEXEC | (append ? O_APPEND : O_TRUNC),
			     0666);
	if (w->fd < 0) {
		w->status = cli_failure(CLI_RUNTIME, "cannot open '%s' for writing: %s", file,
					strerror(errno));
		close_packer(w);
		return w->status;
	}
	w->regular = is_regular(w->fd, &size);
	w->empty = !own || !w->regular || size == 0;
	return CLI_OK;
}

/* A reader that has stopped reading does not delay Ctrl-C. */
static int write_all(const struct writer *w, const struct buffer *text, size_t *done)
{
	struct pollfd fds[] = {
		{.fd = w->fd, .events = POLLOUT},
		{.fd = w->signal_fd, .events = POLLIN},
	};

	while (*done < text->len) {
		size_t len = text->len - *done;
		ssize_t n;

		/* What may be written at once: a pipe that polls writable takes PIPE_BUF bytes. */
		if (!w->regular && len > PIPE_BUF)
			len = PIPE_BUF;
		if (!w->regular && poll(fds, 2, -1) < 0)
			return -errno;
		if (!w->regular && !fds[0].revents && poll(fds, 1, STALL_MS) <= 0)
			return -ETIMEDOUT;
		n = write(w->fd, text->data + *done, len);
		if (n < 0 && errno != EINTR && errno != EAGAIN)
			return -errno;
		if (n > 0)
			*done += (size_t)n;
	}
	return 0;
}

/* Takes the part of a line at the end of the file away again. The part of a block that is
 * compressed does no harm. */
static void cut_partial_line(const struct writer *w, size_t done)
{
	const char *newline = done ? memrchr(w->text.data, '\n', done) : NULL;
	size_t whole = newline ? (size_t)(newline + 1 - w->text.data) : 0;
	off_t at = lseek(w->fd, 0, SEEK_CUR);
	off_t size;

	/* Only when the end of the file is what was written here: others may write to it, too. */
	if (w->packer || at < 0 || whole == done || !is_regular(w->fd, &size) || at != size)
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
	const struct buffer *text = w->packer ? &w->packed : &w->text;
	size_t done = 0;
	int err;

	/* A file without text stays empty: the next run puts a header there. */
	if (w->status || (!w->text.len && !(w->ended && w->packer && w->flushes)))
		return w->status;
	if (!w->exact && w->text.len)
		prepare(w);
	cli_waited();
	err = w->packer ? pack(w) : 0;
	if (!err)
		err = write_all(w, text, &done);
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
	w->ended = true;
	writer_flush(w);
	buffer_free(&w->text);
	close_packer(w);
	if (w->own && w->fd >= 0 && close(w->fd) && !w->status) {
		cli_error("%s: %s", w->name, strerror(errno));
		w->status = CLI_RUNTIME;
	}
	w->fd = -1;
	return w->status;
}

/* The mode that a file gets; 0: it is not to be replaced. */
static mode_t mode_of(const char *file)
{
	mode_t mask = umask(0);
	struct stat st;

	umask(mask);
	if (strcmp(file, "-") == 0)
		return 0;
	if (lstat(file, &st))
		return errno == ENOENT ? 0666 & ~mask : 0;
	if (!S_ISREG(st.st_mode) || st.st_uid != geteuid() || st.st_nlink != 1 ||
	    access(file, W_OK))
		return 0;
	return st.st_mode & 0777;
}

int writer_save(const char *file, const struct buffer *text)
{
	auto_buffer temporary = {0};
	mode_t mode = mode_of(file);
	struct writer w;
	int error = EBUSY, status;

	buffer_printf(&temporary, "%s.new.%d", file, (int)getpid());
	if (mode)
		error = buffer_replace(text, AT_FDCWD, temporary.data, file, mode, false);
	if (!error)
		return CLI_OK;
	/* A file may be writable in a directory that is not, or a mount. */
	if (mode && error != EBUSY && error != EACCES && error != EPERM && error != EROFS)
		return cli_failure(CLI_RUNTIME, "cannot write '%s': %s", file, strerror(error));
	status = writer_open(&w, file, false);
	if (status)
		return status;
	w.text.records = true;
	buffer_add(&w.text, text->data, text->len);
	return writer_close(&w);
}

static bool paged = true;

void writer_set_pager(bool on)
{
	paged = on;
}

/* Shows a text of more lines than the terminal has through a pager, as git does it. True when the
 * pager has shown it. */
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

/* SPDX-License-Identifier: MIT */
#include "serve/textfile.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli.h"

static int write_all(int fd, const struct buffer *text)
{
	size_t done = 0;

	while (done < text->len) {
		ssize_t n = write(fd, text->data + done, text->len - done);

		if (n < 0 && errno != EINTR)
			return errno;
		done += n > 0 ? (size_t)n : 0;
	}
	return 0;
}

/* The new file has a name that the collector does not read (*.prom). The file of a process that was killed is
 * replaced, and nothing is written through a link that another user made. */
static int replace(const char *path, const struct buffer *text)
{
	struct buffer temporary = {0};
	int fd, error = 0;

	buffer_printf(&temporary, "%s.new", path);
	unlink(temporary.data);
	fd = open(temporary.data, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
	if (fd < 0) {
		error = errno;
	} else {
		/* Whatever the umask says: node_exporter is another user. */
		if (fchmod(fd, 0644))
			error = errno;
		if (!error)
			error = write_all(fd, text);
		if (close(fd) && !error)
			error = errno;
		if (!error && rename(temporary.data, path))
			error = errno;
		if (error)
			unlink(temporary.data);
	}
	buffer_free(&temporary);
	return error;
}

int textfile_write(struct textfile *t, const struct buffer *text)
{
	int error = replace(t->path, text);

	t->written_ns = cli_now_ns();
	t->exists |= !error;
	if (error && !t->failed)
		cli_error("--textfile: cannot write %s: %s%s", t->path, strerror(error),
			  error == EACCES || error == EPERM
				  ? "; its directory must be writable for the user of --user"
				  : "");
	else if (!error && t->failed)
		cli_error("--textfile: %s is written again", t->path);
	t->failed = error != 0;
	if (!error)
		return CLI_OK;
	return error == EACCES || error == EPERM ? CLI_DENIED : CLI_RUNTIME;
}

void textfile_remove(const struct textfile *t)
{
	if (t->exists)
		unlink(t->path);
}

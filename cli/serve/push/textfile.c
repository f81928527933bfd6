/* SPDX-License-Identifier: MIT */
#include "serve/push/textfile.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/cli.h"

int textfile_write(struct textfile *t, const struct buffer *text)
{
	struct buffer temporary = {0};
	int error;

	/* The collector reads only *.prom. */
	buffer_printf(&temporary, "%s.new", t->path);
	error = buffer_replace(text, AT_FDCWD, temporary.data, t->path, false);
	buffer_free(&temporary);
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

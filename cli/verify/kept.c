/* SPDX-License-Identifier: MIT */
#include "verify/kept.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "cli.h"
#include "output/buffer.h"

#define SYSTEM "/var/lib/uncore" /* else systemd's STATE_DIRECTORY */

/* The name of the file. Reports on registers and on PMUs of the kernel are separate. NULL: no
 * report is kept. */
static const char *name_of(const struct cli *cli)
{
	if (cli->root || cli->resctrl)
		return NULL;
	if (!cli->source || strcmp(cli->source, "kernel") == 0)
		return "verified.uncore";
	return strncmp(cli->source, "regs:", 5) == 0 ? "verified-regs.uncore" : NULL;
}

static bool is_absolute(const char *path)
{
	return path && *path == '/';
}

/* Machines may share a home directory, which therefore has a directory for each machine. False:
 * unknown. */
static bool user_directory(struct buffer *to)
{
	const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
	struct utsname machine;

	if (uname(&machine) || !*machine.nodename || *machine.nodename == '.' ||
	    strchr(machine.nodename, '/'))
		return false;
	if (is_absolute(state))
		buffer_printf(to, "%s/uncore/%s", state, machine.nodename);
	else if (is_absolute(home))
		buffer_printf(to, "%s/.local/state/uncore/%s", home, machine.nodename);
	return to->len;
}

bool kept_path(const struct cli *cli, bool of_system, struct buffer *to)
{
	const char *name = name_of(cli), *state = getenv("STATE_DIRECTORY");

	if (!name)
		return false;
	if (of_system)
		buffer_puts(to, is_absolute(state) ? state : SYSTEM);
	if (of_system || user_directory(to))
		buffer_printf(to, "/%s", name);
	return true;
}

/* Makes the directory; for a user also those above it. */
static int make_directory(const char *path, bool of_system)
{
	char *copy = cli_copy(path);

	for (char *end = copy; !of_system && (end = strchr(end + 1, '/'));) {
		*end = '\0';
		mkdir(copy, 0700);
		*end = '/';
	}
	free(copy);
	return mkdir(path, of_system ? 0755 : 0700) && errno != EEXIST ? -errno : 0;
}

/* Opens a directory that belongs to this user and that no other user can write to. */
static int open_directory(const char *path, bool of_system)
{
	int err = make_directory(path, of_system), fd;
	struct stat st;

	if (err)
		return err;
	fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) == 0 && st.st_uid == geteuid() && !(st.st_mode & (S_IWGRP | S_IWOTH)))
		return fd;
	close(fd);
	return -EPERM;
}

void kept_write(const struct cli *cli, const struct buffer *report, bool tells)
{
	bool of_system = geteuid() == 0;
	struct buffer path = {0}, temporary = {0};
	char *name;
	int dir, err;

	if (!kept_path(cli, of_system, &path))
		return;
	if (!path.len) {
		cli_error(
			"note: the report is not kept on this machine: neither XDG_STATE_HOME nor "
			"HOME is set, or there is no host name");
		return;
	}
	if (!tells && access(path.data, F_OK) == 0) {
		cli_error("note: the last report is kept on this machine, since all verdicts of "
			  "this one are 'cannot tell': %s",
			  path.data);
		buffer_free(&path);
		return;
	}
	name = strrchr(path.data, '/');
	*name++ = '\0';
	dir = open_directory(path.data, of_system);
	buffer_printf(&temporary, ".%s.%d", name, (int)getpid());
	err = dir < 0 ? -dir : buffer_replace(report, dir, temporary.data, name, true);
	if (dir >= 0)
		close(dir);
	if (err)
		cli_error("note: the report is not kept on this machine, for doctor and explain: "
			  "%s/%s: %s",
			  path.data, name, strerror(err));
	else
		cli_error("note: the report is kept on this machine, for doctor and explain: %s/%s",
			  path.data, name);
	buffer_free(&temporary);
	buffer_free(&path);
}

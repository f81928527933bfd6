/* SPDX-License-Identifier: MIT */
#include "top/who.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static const char *const keys[] = {"process", "cgroup", "unit", "container", "job", "user"};

#define KEYS (sizeof(keys) / sizeof(*keys))

/* In the child. */
static void execute(const struct top_who *w, const struct cli *cli, const char *interval, int out,
		    int columns)
{
	const char *args[16] = {"uncore",           "who", "--color", "never", "--by",
				keys[w->by % KEYS], "-I",  interval};
	size_t count = 8;
	char width[16];

	if (cli->root) {
		args[count++] = "--root";
		args[count++] = cli->root;
	}
	if (cli->source) {
		args[count++] = "--source";
		args[count++] = cli->source;
	}
	snprintf(width, sizeof(width), "%d", columns);
	setenv("COLUMNS", width, 1);
	if (dup2(out, STDOUT_FILENO) < 0 || dup2(out, STDERR_FILENO) < 0)
		_exit(CLI_RUNTIME);
	execv("/proc/self/exe", (char *const *)args);
	_exit(CLI_NOT_EXECUTABLE);
}

bool who_open(struct top_who *w, const struct cli *cli, const sigset_t *old, uint64_t interval_ns,
	      int columns)
{
	char interval[32];
	int ends[2];

	who_close(w);
	if (pipe2(ends, O_CLOEXEC) != 0)
		return false;
	snprintf(interval, sizeof(interval), "%llums",
		 (unsigned long long)(interval_ns / NS_PER_MS));
	w->pid = fork();
	if (w->pid == 0) {
		sigaction(SIGPIPE, &cli->pipe, NULL);
		sigprocmask(SIG_SETMASK, old, NULL);
		execute(w, cli, interval, ends[1], columns);
	}
	close(ends[1]);
	w->fd = ends[0];
	fcntl(w->fd, F_SETFL, O_NONBLOCK);
	if (w->pid < 0) {
		close(w->fd);
		w->pid = 0;
	}
	return w->pid > 0;
}

void who_close(struct top_who *w)
{
	if (w->pid > 0) {
		kill(w->pid, SIGTERM);
		kill(w->pid, SIGCONT);
		/* What it still writes goes nowhere, so that it does not wait. */
		if (w->fd >= 0)
			close(w->fd);
		while (waitpid(w->pid, NULL, 0) < 0 && errno == EINTR)
			;
	}
	w->pid = 0;
	w->begun = false;
	buffer_free(&w->notes);
	buffer_free(&w->text);
}

/* Where the first or the latest interval begins: at a line "1.000624 s". NULL: none has begun. */
static char *interval_in(char *text, bool latest)
{
	char *found = NULL;

	for (char *line = text; line && *line && (latest || !found); line = strchr(line, '\n')) {
		size_t digits;

		line += *line == '\n';
		digits = strspn(line, "0123456789.");
		if (digits && strncmp(line + digits, " s\n", 3) == 0)
			found = line;
	}
	return found;
}

/* Messages come before the first interval, and stay on the screen. */
static void keep_latest(struct top_who *w)
{
	char *first = interval_in(w->text.data, false), *latest = interval_in(w->text.data, true);
	size_t before = latest ? (size_t)(latest - w->text.data) : 0;

	if (!before)
		return;
	if (!w->begun)
		buffer_add(&w->notes, w->text.data, (size_t)(first - w->text.data));
	w->begun = true;
	memmove(w->text.data, latest, w->text.len - before + 1);
	w->text.len -= before;
}

char *who_read(struct top_who *w)
{
	struct buffer shown = {0};
	bool any = false;
	ssize_t got;

	do {
		size_t len = w->text.len;
		char *at = buffer_more(&w->text, 4096);

		got = read(w->fd, at, 4096);
		w->text.len = len + (got > 0 ? (size_t)got : 0);
		w->text.data[w->text.len] = '\0';
		any |= got > 0;
	} while (got > 0);
	if (got == 0) {
		close(w->fd);
		w->fd = -1;
	}
	if (!any)
		return NULL;
	keep_latest(w);
	buffer_printf(
		&shown,
		"By %s; b: other keys. While this screen is open, another process may make groups of "
		"tasks (resctrl). Esc ends it and removes them.\n\n%s%s",
		keys[w->by % KEYS], buffer_text(&w->notes), buffer_text(&w->text));
	return shown.data;
}

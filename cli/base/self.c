/* SPDX-License-Identifier: MIT */
#include "base/self.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define MOST_ARGS 24
/* For so long it is waited for an end at once: where groups cannot be made, it ends in some
 * milliseconds. */
#define BEGIN_MS 500
/* An interval of many groups should fit, so that the writer does not wait for this process. */
#define PIPE_BYTES (1 << 20)

/* In the child. */
static void execute(const struct cli *cli, const struct self_start *start, int out)
{
	const char *args[MOST_ARGS + 6] = {"uncore"};
	size_t count = 1;
	char width[16];

	if (cli->root) {
		args[count++] = "--root";
		args[count++] = cli->root;
	}
	/* Other sources are of the running machine, and so are its processes. */
	if (cli->source && (uncore_is_simulated(cli->u) || cli_replays(cli))) {
		args[count++] = "--source";
		args[count++] = cli->source;
	}
	for (size_t i = 0; i < MOST_ARGS && start->args[i]; i++)
		args[count++] = start->args[i];
	snprintf(width, sizeof(width), "%d", start->columns);
	if (start->columns)
		setenv("COLUMNS", width, 1);
	/* Not in the foreground of the terminal, whose Ctrl-C is for the first process. */
	setpgid(0, 0);
	if (dup2(out, STDOUT_FILENO) < 0 || (start->errors && dup2(out, STDERR_FILENO) < 0))
		_exit(CLI_RUNTIME);
	execv("/proc/self/exe", (char *const *)args);
	_exit(CLI_NOT_EXECUTABLE);
}

bool self_open(struct self *s, const struct cli *cli, const struct self_start *start)
{
	int ends[2];

	*s = (struct self){.fd = -1};
	if (pipe2(ends, O_CLOEXEC))
		return false;
	s->pid = fork();
	if (s->pid == 0) {
		sigaction(SIGPIPE, &cli->pipe, NULL);
		sigaction(SIGXFSZ, &cli->file_size, NULL);
		if (start->mask)
			sigprocmask(SIG_SETMASK, start->mask, NULL);
		execute(cli, start, ends[1]);
	}
	close(ends[1]);
	s->fd = ends[0];
	fcntl(s->fd, F_SETFL, O_NONBLOCK);
	fcntl(s->fd, F_SETPIPE_SZ, PIPE_BYTES); /* without the right to that it stays smaller */
	if (s->pid > 0)
		return true;
	s->pid = 0;
	close(s->fd);
	s->fd = -1;
	return false;
}

bool self_read(struct self *s)
{
	bool any = false;
	ssize_t got = -1;

	while (s->fd >= 0 && got) {
		size_t len = s->text.len;
		char *at = buffer_more(&s->text, 0x10000);

		got = read(s->fd, at, 0x10000);
		s->text.len = len + (got > 0 ? (size_t)got : 0);
		s->text.data[s->text.len] = '\0';
		any |= got > 0;
		if (got < 0 && errno != EINTR)
			return any;
	}
	if (s->fd >= 0)
		close(s->fd);
	s->fd = -1;
	return any;
}

static void wait_for(struct self *s)
{
	int status;
	pid_t pid;

	do {
		pid = s->pid > 0 ? waitpid(s->pid, &status, 0) : 0;
	} while (pid < 0 && errno == EINTR);
	if (!pid)
		return;
	s->pid = 0;
	s->status = pid < 0               ? CLI_RUNTIME
		    : WIFSIGNALED(status) ? CLI_SIGNAL + WTERMSIG(status)
					  : WEXITSTATUS(status);
}

bool self_has_ended(struct self *s)
{
	if (s->fd < 0) /* it has closed its output */
		wait_for(s);
	return s->fd < 0;
}

int self_failure(const struct self *s)
{
	return s->status ? s->status : CLI_RUNTIME;
}

int self_open_who(struct self *s, const struct cli *cli, const char *by, uint64_t interval_ns,
		  const char *output)
{
	char interval[32];
	const char *const args[] = {"who", "--by", by, "-I", interval, output, NULL};
	struct pollfd readable = {.events = POLLIN};

	snprintf(interval, sizeof(interval), "%" PRIu64 "ns", interval_ns);
	if (!self_open(s, cli, &(struct self_start){.args = args}))
		return cli_failure(CLI_RUNTIME, "--who: cannot start 'uncore who': %s",
				   strerror(errno));
	readable.fd = s->fd;
	poll(&readable, 1, BEGIN_MS);
	self_read(s);
	return self_has_ended(s) ? self_failure(s) : CLI_OK;
}

static void ask_to_end(const struct self *s)
{
	if (s->pid <= 0)
		return;
	kill(s->pid, SIGTERM); /* fails if this process has given up root */
	kill(s->pid, SIGCONT);
}

void self_finish(struct self *s)
{
	ask_to_end(s);
	fcntl(s->fd, F_SETFL, 0);
	self_read(s);
}

void self_close(struct self *s)
{
	/* What it still writes goes nowhere, so that it does not wait. */
	if (s->fd > 0)
		close(s->fd);
	s->fd = -1;
	ask_to_end(s);
	wait_for(s);
	buffer_free(&s->text);
}

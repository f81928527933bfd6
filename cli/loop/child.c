/* SPDX-License-Identifier: MIT */
/* fork and exec with a gate between them, so that counting starts just before the command does. */
#include "loop/child.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/rights.h"

/* In the child: waits at the gate, then becomes the command. */
static void run(int gate, int failed, char **command)
{
	ssize_t n;
	char byte;
	int err;

	do {
		n = read(gate, &byte, 1);
	} while (n < 0 && errno == EINTR);
	if (n != 1)
		_exit(CLI_OK);
	rights_restore_environment(environ);
	execvp(command[0], command);
	err = errno;
	n = write(failed, &err, sizeof(err));
	_exit(n > 0 && err == ENOENT ? CLI_NOT_FOUND : CLI_NOT_EXECUTABLE);
}

int child_prepare(struct child *c, char **command, const struct signals *signals,
		  const struct cli *cli)
{
	int gate[2] = {-1, -1};
	int failed[2] = {-1, -1};

	if (pipe2(gate, O_CLOEXEC) == 0 && pipe2(failed, O_CLOEXEC) == 0)
		c->pid = fork();
	else
		c->pid = -1;
	if (c->pid == 0) {
		close(gate[1]);
		sigaction(SIGPIPE, &cli->pipe, NULL);
		sigaction(SIGXFSZ, &cli->file_size, NULL);
		sigprocmask(SIG_SETMASK, &signals->old, NULL);
		if (cli->pinned)
			sched_setaffinity(0, sizeof(cli->cpus), cli->cpus.parts);
		run(gate[0], failed[1], command);
	}
	c->go = gate[1];
	c->failed = failed[0];
	if (c->pid < 0)
		cli_error("cannot start '%s': %s", command[0], strerror(errno));
	if (gate[0] >= 0)
		close(gate[0]);
	if (failed[1] >= 0)
		close(failed[1]);
	return c->pid < 0 ? CLI_RUNTIME : CLI_OK;
}

int child_release(struct child *c, const char *name)
{
	ssize_t n = write(c->go, "g", 1);
	int err;

	if (n != 1)
		cli_error("cannot start '%s': %s", name, strerror(errno));
	close(c->go);
	c->go = -1;
	do {
		n = read(c->failed, &err, sizeof(err));
	} while (n < 0 && errno == EINTR);
	if (n != (ssize_t)sizeof(err))
		return CLI_OK;
	cli_error("cannot execute '%s': %s", name, strerror(err));
	return err == ENOENT ? CLI_NOT_FOUND : CLI_NOT_EXECUTABLE;
}

bool child_ended(struct child *c, bool wait)
{
	pid_t pid;
	int status;

	if (c->pid <= 0)
		return true;
	do {
		pid = waitpid(c->pid, &status, wait ? 0 : WNOHANG);
	} while (pid < 0 && errno == EINTR);
	if (pid == 0)
		return false;
	c->pid = 0;
	if (pid < 0)
		c->status = CLI_RUNTIME;
	else if (WIFSIGNALED(status))
		c->status = CLI_SIGNAL + WTERMSIG(status);
	else
		c->status = WEXITSTATUS(status);
	return true;
}

void child_signal(const struct child *c, int sig)
{
	if (c->pid > 0)
		kill(c->pid, sig);
}

void child_close(struct child *c)
{
	if (c->go >= 0)
		close(c->go);
	if (c->failed >= 0)
		close(c->failed);
	c->go = -1;
	c->failed = -1;
	if (c->pid > 0)
		child_ended(c, true);
}

/* SPDX-License-Identifier: MIT */
/* Signals through signalfd: nothing is interrupted, so nothing is left half done. */
#include "signals.h"

#include <errno.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "cli.h"

int signals_open(struct signals *s)
{
	sigset_t stop, child;

	sigemptyset(&stop);
	sigaddset(&stop, SIGINT);
	sigaddset(&stop, SIGTERM);
	sigaddset(&stop, SIGHUP);
	sigemptyset(&child);
	sigaddset(&child, SIGCHLD);
	/* Ignored by the parent, it would take the command's exit status away. */
	signal(SIGCHLD, SIG_DFL);
	sigprocmask(SIG_BLOCK, &stop, &s->old);
	sigprocmask(SIG_BLOCK, &child, NULL);
	s->stop_fd = signalfd(-1, &stop, SFD_CLOEXEC | SFD_NONBLOCK);
	s->child_fd = signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK);
	if (s->stop_fd >= 0 && s->child_fd >= 0)
		return CLI_OK;
	cli_error("cannot wait for signals: %s", strerror(errno));
	return CLI_RUNTIME;
}

void signals_close(struct signals *s)
{
	if (s->stop_fd >= 0)
		close(s->stop_fd);
	if (s->child_fd >= 0)
		close(s->child_fd);
	s->stop_fd = -1;
	s->child_fd = -1;
}

struct signals_seen signals_take(struct signals *s)
{
	struct signals_seen seen = {0};
	struct signalfd_siginfo info;

	while (read(s->child_fd, &info, sizeof(info)) == (ssize_t)sizeof(info))
		seen.child = true;
	while (read(s->stop_fd, &info, sizeof(info)) == (ssize_t)sizeof(info)) {
		seen.stop = (int)info.ssi_signo;
		seen.personal = info.ssi_code <= 0; /* SI_USER, SI_QUEUE, SI_TKILL */
	}
	return seen;
}

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
	sigset_t child;

	sigemptyset(&s->stop);
	sigaddset(&s->stop, SIGINT);
	sigaddset(&s->stop, SIGTERM);
	sigaddset(&s->stop, SIGHUP);
	sigemptyset(&child);
	sigaddset(&child, SIGCHLD);
	/* Where the parent ignored it, the exit status of the command would be lost. */
	signal(SIGCHLD, SIG_DFL);
	sigprocmask(SIG_BLOCK, &s->stop, &s->old);
	sigprocmask(SIG_BLOCK, &child, NULL);
	s->stop_fd = signalfd(-1, &s->stop, SFD_CLOEXEC | SFD_NONBLOCK);
	s->child_fd = signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK);
	if (s->stop_fd >= 0 && s->child_fd >= 0)
		return CLI_OK;
	cli_error("cannot wait for signals: %s", strerror(errno));
	return CLI_RUNTIME;
}

/* True when the default action ends the process, except for faults of its own (SIGSEGV ...). */
static bool ends_process(int sig)
{
	static const int others[] = {SIGQUIT, SIGABRT, SIGALRM, SIGUSR1, SIGUSR2,  SIGVTALRM,
				     SIGPROF, SIGXCPU, SIGIO,   SIGPWR,  SIGSTKFLT};

	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		if (others[i] == sig)
			return true;
	return sig >= SIGRTMIN && sig <= SIGRTMAX;
}

static bool is_ignored(int sig)
{
	struct sigaction now;

	return sigaction(sig, NULL, &now) < 0 || now.sa_handler == SIG_IGN;
}

int signals_take_all(struct signals *s)
{
	for (int sig = 1; sig <= SIGRTMAX; sig++)
		if (ends_process(sig) && !is_ignored(sig))
			sigaddset(&s->stop, sig);
	sigprocmask(SIG_BLOCK, &s->stop, NULL);
	if (signalfd(s->stop_fd, &s->stop, 0) >= 0)
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

/* Ctrl-C, Ctrl-\ and a closed terminal reach the command, too; other signals reach only uncore. */
static bool is_personal(const struct signalfd_siginfo *info)
{
	if (info->ssi_code <= 0) /* SI_USER, SI_QUEUE, SI_TKILL */
		return true;
	return info->ssi_signo != SIGINT && info->ssi_signo != SIGQUIT && info->ssi_signo != SIGHUP;
}

struct signals_seen signals_take(struct signals *s)
{
	struct signals_seen seen = {0};
	struct signalfd_siginfo info;

	while (read(s->child_fd, &info, sizeof(info)) == (ssize_t)sizeof(info))
		seen.child = true;
	while (read(s->stop_fd, &info, sizeof(info)) == (ssize_t)sizeof(info)) {
		seen.stop = (int)info.ssi_signo;
		seen.personal = is_personal(&info);
	}
	return seen;
}

/* SPDX-License-Identifier: MIT */
#include "source/nvml/child.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

/* How long the end of a process is waited for. It ends at once with its socket. */
#define REAP_MS 100

extern char **environ;

/* ---- starting ---- */

/* The descriptors of the process: a socket, and nothing to read or write. It closes all others. The
 * socket is first, since its number may be that of another. */
static int set_files(posix_spawn_file_actions_t *files, int fd)
{
	int r = posix_spawn_file_actions_adddup2(files, fd, UNC_NVML_SOCKET);

	for (int i = 0; r == 0 && i < 3; i++)
		r = posix_spawn_file_actions_addopen(files, i, "/dev/null", O_RDWR, 0);
	return r;
}

/* It gets no signal of the terminal: an interrupted program still reads its counters. */
static int set_signals(posix_spawnattr_t *attr)
{
	sigset_t none, all;
	int r;

	sigemptyset(&none);
	sigfillset(&all);
	r = posix_spawnattr_setsigmask(attr, &none);
	if (r == 0)
		r = posix_spawnattr_setsigdefault(attr, &all);
	if (r == 0)
		r = posix_spawnattr_setflags(attr, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF |
							   POSIX_SPAWN_SETSID);
	return r;
}

/* Runs the program, and waits for the end of the process in which it begins. A positive errno. */
static int run(const char *path, int fd)
{
	char name[] = UNC_NVML_PROGRAM, *argv[] = {name, NULL};
	posix_spawn_file_actions_t files;
	posix_spawnattr_t attr;
	int r = posix_spawn_file_actions_init(&files), status;
	pid_t pid;

	if (r != 0)
		return r;
	r = posix_spawnattr_init(&attr);
	if (r == 0) {
		r = set_files(&files, fd);
		if (r == 0)
			r = set_signals(&attr);
		if (r == 0)
			r = posix_spawn(&pid, path, &files, &attr, argv, environ);
		posix_spawnattr_destroy(&attr);
	}
	posix_spawn_file_actions_destroy(&files);
	/* The program may have waited for it already, or ignore ends of children: ECHILD. */
	while (r == 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return r;
}

#ifdef UNC_NVML_IN_COMMAND
static int run_program(int fd, struct unc_error *why)
{
	int r = run("/proc/self/exe", fd);

	return r ? unc_fail(why, r, "%s cannot be started: %s", UNC_NVML_PROGRAM, unc_errno_text(r))
		 : 0;
}
#else
/* The program is where the modules are, or beside the library. */
static int run_program(int fd, struct unc_error *why)
{
	static const char *const places[] = {"uncore/" UNC_NVML_PROGRAM, UNC_NVML_PROGRAM};
	static const char here;
	char path[PATH_MAX] = "";
	int r = ENOENT;
	Dl_info info;
	size_t n;

	if (!dladdr(&here, &info) || !info.dli_fname || !strchr(info.dli_fname, '/'))
		return unc_fail(why, ENOENT,
				"the directory of libuncore is unknown, so that %s "
				"cannot be found",
				UNC_NVML_PROGRAM);
	n = (size_t)(strrchr(info.dli_fname, '/') - info.dli_fname);
	for (size_t i = 0; (r == ENOENT || r == ENOTDIR) && i < 2; i++) {
		snprintf(path, sizeof(path), "%.*s/%s", (int)n, info.dli_fname, places[i]);
		r = run(path, fd);
	}
	return r ? unc_fail(why, r, "%s cannot be started: %s", path, unc_errno_text(r)) : 0;
}
#endif

int unc_nvml_start(struct unc_nvml_child *c, struct unc_error *why)
{
	int ends[2], r;

	c->fd = -1;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0) {
		r = errno;
		return unc_fail(why, r, "no socket for %s: %s", UNC_NVML_PROGRAM,
				unc_errno_text(r));
	}
	r = run_program(ends[1], why);
	close(ends[1]);
	if (r == 0)
		c->fd = ends[0];
	else
		close(ends[0]);
	return r;
}

void unc_nvml_leave(struct unc_nvml_child *c)
{
	const struct timespec moment = {.tv_nsec = 1000000};
	pid_t r;

	if (c->fd >= 0)
		close(c->fd);
	c->fd = -1;
	r = c->pid > 0 ? waitpid(c->pid, NULL, WNOHANG) : -1;
	for (int i = 0; r == 0 && i < REAP_MS; i++) {
		nanosleep(&moment, NULL);
		r = waitpid(c->pid, NULL, WNOHANG);
	}
	if (r != 0)
		c->pid = 0;
}

/* ---- asking ---- */

bool unc_nvml_send(struct unc_nvml_child *c, struct unc_nvml_request *q)
{
	size_t size = offsetof(struct unc_nvml_request, items[q->count]);
	ssize_t sent;

	q->number = ++c->number;
	do
		sent = send(c->fd, q, size, MSG_NOSIGNAL | MSG_DONTWAIT);
	while (sent < 0 && errno == EINTR);
	return sent == (ssize_t)size;
}

int unc_nvml_receive(struct unc_nvml_child *c, uint64_t until_ns)
{
	struct unc_nvml_answer *a = &c->answer;

	for (;;) {
		uint64_t now_ns = unc_now_ns();
		struct pollfd ready = {.fd = c->fd, .events = POLLIN};
		int left_ms = now_ns < until_ns ? (int)((until_ns - now_ns + 999999) / 1000000) : 0;
		int r = poll(&ready, 1, left_ms);
		ssize_t got;

		if (r == 0)
			return 0;
		if (r < 0 && errno == EINTR)
			continue;
		got = recv(c->fd, a, sizeof(*a), MSG_DONTWAIT);
		if (got < 0 && (errno == EINTR || errno == EAGAIN))
			continue;
		if (got < (ssize_t)offsetof(struct unc_nvml_answer, values) ||
		    a->count > UNC_NVML_MOST_ITEMS ||
		    got != (ssize_t)offsetof(struct unc_nvml_answer, values[a->count]))
			return -EPIPE;
		c->pid = a->pid;
		if (a->number == c->number)
			return 1;
	}
}

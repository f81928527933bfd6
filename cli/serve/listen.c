/* SPDX-License-Identifier: MIT */
#include "serve/listen.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <netdb.h>
#include <pwd.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cli.h"

#define SYSTEMD_FD 3
#define NO_USER 65534   /* user and group that own no files */
#define MOST_FILES 1024 /* open descriptors at the start are below this */
#define WAITING 128     /* connections that are not accepted yet */
/* The kernel memory that a client costs which does not read. Connections inherit it. */
#define SEND_BYTES 65536

#ifndef CAP_PERFMON
#define CAP_PERFMON 38
#endif

/* ---- addresses ---- */

static bool is_local(const union address *a)
{
	const struct in6_addr *in6 = &a->in6.sin6_addr;

	if (a->any.sa_family == AF_INET)
		return ntohl(a->in.sin_addr.s_addr) >> 24 == 127;
	if (a->any.sa_family == AF_INET6 && IN6_IS_ADDR_V4MAPPED(in6))
		return in6->s6_addr[12] == 127;
	return a->any.sa_family == AF_UNIX ||
	       (a->any.sa_family == AF_INET6 && IN6_IS_ADDR_LOOPBACK(in6));
}

static void set_name(struct listener *l, const union address *a, bool tls)
{
	const char *scheme = tls ? "https" : "http";
	char text[INET6_ADDRSTRLEN] = "";

	if (a->any.sa_family == AF_INET6)
		snprintf(l->name, sizeof(l->name), "%s://[%s]:%d/metrics", scheme,
			 inet_ntop(AF_INET6, &a->in6.sin6_addr, text, sizeof(text)),
			 ntohs(a->in6.sin6_port));
	else if (a->any.sa_family == AF_INET)
		snprintf(l->name, sizeof(l->name), "%s://%s:%d/metrics", scheme,
			 inet_ntop(AF_INET, &a->in.sin_addr, text, sizeof(text)),
			 ntohs(a->in.sin_port));
	else
		snprintf(l->name, sizeof(l->name), "unix:%s", a->un.sun_path);
}

static int fail(const char *address, int error)
{
	cli_error("--listen: cannot listen on %s: %s%s", address, strerror(error),
		  error == EADDRINUSE
			  ? "; another program has this port, or uncore serve runs already"
			  : "");
	return error == EACCES || error == EPERM ? CLI_DENIED : CLI_RUNTIME;
}

/* ADDRESS:PORT, [ADDRESS]:PORT, :PORT */
static int parse_address(const char *text, union address *a, socklen_t *length)
{
	const struct addrinfo hints = {.ai_socktype = SOCK_STREAM,
				       .ai_flags = AI_PASSIVE | AI_NUMERICSERV};
	const char *colon = strrchr(text, ':');
	size_t length_of_host = colon ? (size_t)(colon - text) : 0;
	struct addrinfo *found = NULL;
	char host[256];
	int err;

	if (!colon || length_of_host >= sizeof(host) || !colon[1] ||
	    colon[1 + strspn(colon + 1, "0123456789")] || strtoul(colon + 1, NULL, 10) > 65535) {
		cli_error("--listen: '%s' is not ADDRESS:PORT or unix:PATH", text);
		return CLI_USAGE;
	}
	if (length_of_host > 1 && text[0] == '[' && colon[-1] == ']') {
		text++;
		length_of_host -= 2;
	}
	memcpy(host, text, length_of_host);
	host[length_of_host] = '\0';
	err = getaddrinfo(*host ? host : NULL, colon + 1, &hints, &found);
	if (err) {
		cli_error("--listen: '%s': %s", host, gai_strerror(err));
		return CLI_USAGE;
	}
	memcpy(a, found->ai_addr, found->ai_addrlen);
	*length = found->ai_addrlen;
	freeaddrinfo(found);
	return CLI_OK;
}

/* A killed process leaves its socket in the file system, and bind() would fail. */
static void remove_stale(const union address *a, socklen_t length)
{
	struct stat st;
	int fd;

	if (lstat(a->un.sun_path, &st) || !S_ISSOCK(st.st_mode))
		return;
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd >= 0 && connect(fd, &a->any, length) && errno == ECONNREFUSED)
		unlink(a->un.sun_path);
	if (fd >= 0)
		close(fd);
}

static int set_capability(unsigned which);

/* After rights_drop() this process cannot remove the socket that root has bound. A child does it
 * when the pipe from this process closes, whatever signal ends this process. The child stays root,
 * but has only the capability to remove a file. */
static void start_remover(struct listener *l)
{
	struct stat mine, now;
	int ends[2];
	char byte;

	if (geteuid() != 0 || lstat(l->path, &mine) || pipe2(ends, O_CLOEXEC))
		return;
	l->remover = fork();
	if (l->remover != 0) {
		close(ends[0]);
		l->remover_fd = ends[1];
		return;
	}
	signal(SIGINT, SIG_IGN);
	signal(SIGTERM, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
	/* Other programs may wait until all copies of a pipe are closed. */
	for (int fd = 0; fd < MOST_FILES; fd++)
		if (fd != ends[0])
			close(fd);
	prctl(PR_SET_NAME, "uncore-socket");
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	set_capability(CAP_DAC_OVERRIDE);
	while (read(ends[0], &byte, 1) < 0 && errno == EINTR)
		;
	if (lstat(l->path, &now) == 0 && now.st_ino == mine.st_ino && now.st_dev == mine.st_dev)
		unlink(l->path);
	_exit(0);
}

static int bind_address(struct listener *l, const char *text, const union address *a,
			socklen_t length)
{
	const int on = 1, bytes = SEND_BYTES;
	bool named = a->any.sa_family == AF_UNIX;
	int error = 0;

	l->fd = socket(a->any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (l->fd < 0)
		return fail(text, errno);
	if (named)
		remove_stale(a, length);
	else
		setsockopt(l->fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	setsockopt(l->fd, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof(bytes));
	if (bind(l->fd, &a->any, length))
		error = errno;
	else if (named)
		snprintf(l->path, sizeof(l->path), "%s", a->un.sun_path);
	if (!error && listen(l->fd, WAITING))
		error = errno;
	if (!error && named)
		start_remover(l);
	return error ? fail(text, error) : CLI_OK;
}

static int number_of_socket(int fd, int option)
{
	int value = -1;
	socklen_t length = sizeof(value);

	return getsockopt(fd, SOL_SOCKET, option, &value, &length) ? -1 : value;
}

/* Takes the socket that systemd passes, see sd_listen_fds(3). *fd is -1 without one. */
static int take_systemd(int *fd)
{
	const char *id = getenv("LISTEN_PID"), *count = getenv("LISTEN_FDS"), *wrong = NULL;
	int domain = number_of_socket(SYSTEMD_FD, SO_DOMAIN);

	*fd = -1;
	if (!id || !count || strtol(id, NULL, 10) != getpid())
		return CLI_OK;
	if (strcmp(count, "1") != 0)
		wrong = "there must be one ListenStream=";
	else if (domain < 0)
		wrong = "it is no socket";
	else if (domain != AF_INET && domain != AF_INET6 && domain != AF_UNIX)
		wrong = "it is neither of TCP nor of the file system";
	else if (number_of_socket(SYSTEMD_FD, SO_TYPE) != SOCK_STREAM)
		wrong = "it has no connections: ListenStream= makes one that has";
	else if (number_of_socket(SYSTEMD_FD, SO_ACCEPTCONN) != 1)
		wrong = "it does not listen: Accept=no is needed";
	if (wrong) {
		cli_error("the socket of systemd (LISTEN_FDS=%s): %s", count, wrong);
		return CLI_USAGE;
	}
	*fd = SYSTEMD_FD;
	return CLI_OK;
}

/* See sd_notify(3). */
void notify_systemd(const char *state)
{
	const char *path = getenv("NOTIFY_SOCKET");
	struct sockaddr_un un = {.sun_family = AF_UNIX};
	size_t length = path ? strlen(path) : 0;
	int fd;

	if (!length || length >= sizeof(un.sun_path))
		return;
	memcpy(un.sun_path, path, length);
	if (path[0] == '@')
		un.sun_path[0] = '\0';
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return;
	/* A failure is ignored, since each interval sends a state. */
	sendto(fd, state, strlen(state), MSG_NOSIGNAL, (const struct sockaddr *)&un,
	       (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length));
	close(fd);
}

int listener_open(struct listener *l, const char *text, bool tls)
{
	union address a = {0};
	socklen_t length = sizeof(a.un);
	int status = take_systemd(&l->fd);
	bool taken = status || l->fd >= 0;

	if (!taken && strncmp(text, "unix:", 5) == 0) {
		a.un.sun_family = AF_UNIX;
		if (strlen(text + 5) >= sizeof(a.un.sun_path) || !text[5]) {
			cli_error("--listen: the path of a socket has 1 to %zu bytes",
				  sizeof(a.un.sun_path) - 1);
			return CLI_USAGE;
		}
		memcpy(a.un.sun_path, text + 5, strlen(text + 5));
	} else if (!taken) {
		status = parse_address(text, &a, &length);
	}
	if (!status && !taken)
		status = bind_address(l, text, &a, length);
	length = sizeof(a);
	if (!status && getsockname(l->fd, &a.any, &length))
		status = fail("the socket of systemd", errno);
	l->is_local = is_local(&a);
	if (!status)
		set_name(l, &a, tls);
	else
		listener_close(l);
	return status;
}

void listener_close(struct listener *l)
{
	if (l->fd >= 0)
		close(l->fd);
	l->fd = -1;
}

void listener_remove(struct listener *l)
{
	if (l->path[0])
		unlink(l->path);
	if (l->remover <= 0)
		return;
	close(l->remover_fd);
	waitpid(l->remover, NULL, 0);
	l->remover = 0;
}

/* ---- rights ---- */

/* libc has it, but no header declares it. */
int capset(cap_user_header_t header, const cap_user_data_t data);

/* Drops all other capabilities. */
static int set_capability(unsigned which)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[2] = {{0}};

	data[which / 32].effective = data[which / 32].permitted = 1u << which % 32;
	return capset(&header, data);
}

static int find_user(const char *name, uid_t *uid, gid_t *gid)
{
	const struct passwd *user = name ? getpwnam(name) : NULL;
	unsigned long number = name ? strtoul(name, NULL, 10) : NO_USER;

	if (user) {
		*uid = user->pw_uid;
		*gid = user->pw_gid;
		return CLI_OK;
	}
	if (name && (!*name || name[strspn(name, "0123456789")] || number >= UINT32_MAX)) {
		cli_error("--user: there is no user '%s'", name);
		return CLI_USAGE;
	}
	*uid = *gid = (uid_t)number;
	return CLI_OK;
}

int rights_drop(const char *name)
{
	uid_t uid;
	gid_t gid;
	int status;

	if (geteuid() != 0)
		return CLI_OK;
	status = find_user(name, &uid, &gid);
	if (status || uid == 0)
		return status;
	/* CAP_PERFMON came with Linux 5.8. */
	if (prctl(PR_CAPBSET_READ, CAP_PERFMON) < 0) {
		cli_error("this kernel has no CAP_PERFMON: counting goes on as root");
		return CLI_OK;
	}
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_KEEPCAPS, 1) ||
	    setgroups(0, NULL) || setresgid(gid, gid, gid) || setresuid(uid, uid, uid) ||
	    set_capability(CAP_PERFMON)) {
		cli_error("--user: cannot become user %u with CAP_PERFMON alone: %s", uid,
			  strerror(errno));
		return CLI_DENIED;
	}
	return CLI_OK;
}

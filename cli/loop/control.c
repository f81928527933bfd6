/* SPDX-License-Identifier: MIT */
/* Commands for a loop that counts: both ends. */
#include "loop/control.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/cli.h"

#define ANSWER_S 30 /* how long `uncore mark` waits */

/* perf sends the NUL, too, and programs written for it may compare with that. */
static const char done[] = "ack\n";

static const struct {
	const char *name;
	enum control_command command;
} words[] = {
	{"enable", CONTROL_ENABLE}, {"disable", CONTROL_DISABLE},   {"ping", CONTROL_PING},
	{"stop", CONTROL_STOP},     {"snapshot", CONTROL_SNAPSHOT}, {"mark", CONTROL_MARK},
};

/* ---- the channels ---- */

/* Opens for reading and writing: a FIFO without a writer then has no end of file, and open() does
 * not wait. */
static int open_fifo(const char *path)
{
	struct stat st;
	int fd = -1;

	if (stat(path, &st) == 0 && !S_ISFIFO(st.st_mode)) {
		cli_error("--control: %s is not a FIFO", path);
		return -1;
	}
	fd = open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		cli_error("--control: %s cannot be opened: %s%s", path, strerror(errno),
			  errno == ENOENT ? "; mkfifo makes it" : "");
	return fd;
}

static int find_descriptor(const char *text)
{
	char *end;
	long fd = strtol(text, &end, 10);

	if (*text >= '0' && *text <= '9' && !*end && fd <= INT_MAX && fcntl((int)fd, F_GETFD) >= 0)
		return (int)fd;
	cli_error("--control: '%s' is not the number of an open descriptor", text);
	return -1;
}

int control_open(struct control *c, const char *spec)
{
	int (*find)(const char *text) = open_fifo;
	auto_free char *paths = NULL;
	char *ack;

	*c = (struct control){.fd = -1, .ack_fd = -1, .socket = -1};
	if (!spec)
		return CLI_OK;
	c->own = strncmp(spec, "fifo:", 5) == 0;
	if (!c->own && strncmp(spec, "fd:", 3) != 0)
		return cli_failure(CLI_USAGE,
				   "--control: '%s' is neither fifo:CTL[,ACK] nor fd:N[,N]", spec);
	if (!c->own)
		find = find_descriptor;
	paths = cli_copy(strchr(spec, ':') + 1);
	ack = strchr(paths, ',');
	if (ack)
		*ack++ = '\0';
	c->fd = find(paths);
	if (c->fd >= 0 && ack)
		c->ack_fd = find(ack);
	return c->fd < 0 || (ack && c->ack_fd < 0) ? CLI_USAGE : CLI_OK;
}

/* Makes the address from the folder's device and inode and a hash of the file's name. So it stays
 * valid when the file is rotated, and exists before the file does. It is an abstract socket: it has
 * no path, and the kernel removes it when the process ends. */
static int find_address(const char *file, struct sockaddr_un *to, socklen_t *len)
{
	char path[PATH_MAX], folder[PATH_MAX];
	uint64_t hash = UINT64_C(0xcbf29ce484222325); /* FNV-1a */
	struct stat st;

	if (!realpath(file, path) && snprintf(path, sizeof(path), "%s", file) >= (int)sizeof(path))
		return -ENAMETOOLONG;
	memcpy(folder, path, sizeof(folder));
	if (stat(dirname(folder), &st))
		return -errno;
	for (const char *at = basename(path); *at; at++)
		hash = (hash ^ (unsigned char)*at) * UINT64_C(0x100000001b3);
	*to = (struct sockaddr_un){.sun_family = AF_UNIX};
	*len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1);
	*len += (socklen_t)snprintf(to->sun_path + 1, sizeof(to->sun_path) - 1,
				    "uncore-record:%llx:%llx:%llx", (unsigned long long)st.st_dev,
				    (unsigned long long)st.st_ino, (unsigned long long)hash);
	return 0;
}

void control_listen(struct control *c, const char *file)
{
	static const int on = 1;
	struct sockaddr_un address;
	socklen_t len;

	if (find_address(file, &address, &len))
		return;
	c->socket = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (c->socket < 0)
		return;
	setsockopt(c->socket, SOL_SOCKET, SO_TIMESTAMPNS, &on, sizeof(on));
	if (setsockopt(c->socket, SOL_SOCKET, SO_PASSCRED, &on, sizeof(on)) == 0 &&
	    bind(c->socket, (struct sockaddr *)&address, len) == 0)
		return;
	cli_error("uncore mark will not reach this recording: %s",
		  errno == EADDRINUSE ? "another process has the address for it" : strerror(errno));
	close(c->socket);
	c->socket = -1;
}

/* ---- requests ---- */

/* Room for what the kernel attests of a message: the sender and the time. */
union ancillary {
	struct cmsghdr align;
	char room[CMSG_SPACE(sizeof(struct ucred)) + CMSG_SPACE(sizeof(struct timespec))];
};

/* The user who has sent the message; -1: the kernel does not say. */
static uid_t take_ancillary(struct msghdr *message, uint64_t *sent_ns)
{
	uid_t sender = (uid_t)-1;

	for (struct cmsghdr *c = CMSG_FIRSTHDR(message); c; c = CMSG_NXTHDR(message, c)) {
		struct ucred who;
		struct timespec when;

		if (c->cmsg_level != SOL_SOCKET)
			continue;
		if (c->cmsg_type == SCM_CREDENTIALS) {
			memcpy(&who, CMSG_DATA(c), sizeof(who));
			sender = who.uid;
		} else if (c->cmsg_type == SCM_TIMESTAMPNS && sent_ns) {
			memcpy(&when, CMSG_DATA(c), sizeof(when));
			*sent_ns = cli_ns_of(when);
		}
	}
	return sender;
}

/* One datagram is one command. */
static void receive_datagram(struct control *c)
{
	struct control_request *q = &c->datagram_request;
	union ancillary ancillary;
	struct iovec part = {c->datagram, sizeof(c->datagram) - 1};
	struct msghdr message = {.msg_name = &q->from,
				 .msg_namelen = sizeof(q->from),
				 .msg_iov = &part,
				 .msg_iovlen = 1,
				 .msg_control = &ancillary,
				 .msg_controllen = sizeof(ancillary)};
	ssize_t len = c->socket < 0 ? -1 : recvmsg(c->socket, &message, MSG_CMSG_CLOEXEC);
	uint64_t now_ns = cli_clock_ns(CLOCK_REALTIME);
	uid_t sender;

	if (len <= 0)
		return;
	q->from_len = message.msg_namelen;
	q->wall_ns = now_ns;
	sender = take_ancillary(&message, &q->wall_ns);
	if (sender == geteuid() || sender == 0)
		c->datagram_len = (size_t)len;
	else
		control_answer(c, q, "only the user who records can send commands");
	if (q->wall_ns > now_ns)
		q->wall_ns = now_ns; /* the clock was set meanwhile */
	q->monotonic_ns = cli_now_ns() - (now_ns - q->wall_ns);
}

static void receive_lines(struct control *c)
{
	struct pollfd readable = {.fd = c->fd, .events = POLLIN};
	ssize_t len;

	/* A descriptor that was inherited may block. */
	if (c->fd < 0 || poll(&readable, 1, 0) <= 0)
		return;
	len = read(c->fd, c->lines + c->len, sizeof(c->lines) - 1 - c->len);
	c->request = (struct control_request){.wall_ns = cli_clock_ns(CLOCK_REALTIME),
					      .monotonic_ns = cli_now_ns()};
	if (len > 0) {
		c->len += (size_t)len;
	} else if (len == 0 || (errno != EAGAIN && errno != EINTR)) {
		if (len < 0)
			cli_error("--control: cannot be read: %s", strerror(errno));
		if (c->own)
			close(c->fd);
		c->fd = -1;
		if (c->len) /* what has no newline ends here */
			c->lines[c->len++] = '\n';
	}
}

void control_receive(struct control *c)
{
	receive_datagram(c);
	receive_lines(c);
}

/* "mark TEXT\n" */
static void parse(struct control_request *q, char *line, size_t len)
{
	size_t name;

	while (len && strchr(" \t\r\n", line[len - 1]))
		len--;
	len = cli_clean(line, len, "\t");
	line[len] = '\0';
	line += strspn(line, " \t");
	name = strcspn(line, " \t");
	q->command = CONTROL_UNKNOWN;
	q->text = line + name + strspn(line + name, " \t");
	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
		if (strlen(words[i].name) == name && strncmp(words[i].name, line, name) == 0)
			q->command = words[i].command;
	/* Only a mark has a text. */
	if (q->command == CONTROL_MARK ? !*q->text : *q->text != '\0')
		q->command = CONTROL_UNKNOWN;
	if (q->command == CONTROL_UNKNOWN)
		q->text = line;
}

/* As perf: a NUL ends a line, too. */
static char *find_end(char *line, size_t len)
{
	char *newline = memchr(line, '\n', len),
	     *nul = memchr(line, '\0', newline ? (size_t)(newline - line) : len);

	return nul ? nul : newline;
}

const struct control_request *control_next(struct control *c)
{
	char *line, *end;

	if (c->datagram_len) {
		parse(&c->datagram_request, c->datagram, c->datagram_len);
		c->datagram_len = 0;
		return &c->datagram_request;
	}
	while ((end = find_end(line = c->lines + c->taken, c->len - c->taken))) {
		bool rest = c->discard;

		c->taken += (size_t)(end - line) + 1;
		c->discard = false;
		if (rest || line[strspn(line, " \t\r")] == *end)
			continue;
		parse(&c->request, line, (size_t)(end - line));
		return &c->request;
	}
	c->len -= c->taken;
	memmove(c->lines, c->lines + c->taken, c->len);
	c->taken = 0;
	if (c->len == sizeof(c->lines) - 1) {
		if (!c->discard)
			cli_error("--control: a line is longer than %d bytes, and is left out",
				  CONTROL_ROOM - 2);
		c->discard = true;
		c->len = 0;
	}
	return NULL;
}

void control_answer(struct control *c, const struct control_request *q, const char *refused)
{
	struct pollfd writable = {.fd = c->ack_fd, .events = POLLOUT};
	char text[1000];

	if (refused)
		snprintf(text, sizeof(text), "%s", refused);
	if (refused && q->command == CONTROL_UNKNOWN && q->text) {
		int at = snprintf(text, sizeof(text),
				  "unknown command '%.100s'; commands:", q->text);

		for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
			at += snprintf(text + at, sizeof(text) - (size_t)at, "%s %s%s",
				       i ? "," : "", words[i].name,
				       words[i].command == CONTROL_MARK ? " TEXT" : "");
	}
	/* A process that does not read has no answer. */
	if (q->from_len)
		sendto(c->socket, refused ? text : done, refused ? strlen(text) : sizeof(done),
		       MSG_DONTWAIT | MSG_NOSIGNAL, (const struct sockaddr *)&q->from, q->from_len);
	else if (!refused && c->ack_fd >= 0 && poll(&writable, 1, 0) > 0 &&
		 write(c->ack_fd, done, sizeof(done)) < 0 && errno != EAGAIN && errno != EINTR)
		c->ack_fd = -1;
	if (refused && !q->from_len && !(c->refused >> q->command & 1))
		cli_error("--control: %s", text);
	if (refused && !q->from_len)
		c->refused |= 1u << q->command;
}

void control_close(struct control *c)
{
	/* A process that still waits is answered. */
	for (receive_datagram(c); c->datagram_len; receive_datagram(c)) {
		c->datagram_len = 0;
		control_answer(c, &c->datagram_request, "the recording has ended");
	}
	if (c->socket >= 0)
		close(c->socket);
	if (c->own && c->fd >= 0)
		close(c->fd);
	if (c->own && c->ack_fd >= 0)
		close(c->ack_fd);
	c->fd = c->ack_fd = c->socket = -1;
}

/* ---- the other end: uncore mark ---- */

/* Sends a text, and receives the answer. The address has no owner, so that any user may have taken
 * it before the recorder: an answer counts only from root and this user, for root also from the
 * owner of the recording. -EPERM: it is from another user. */
static int exchange(int fd, const char *file, const char *text, struct buffer *answer)
{
	char room[1000];
	union ancillary ancillary;
	struct iovec part = {room, sizeof(room) - 1};
	struct msghdr message = {.msg_iov = &part,
				 .msg_iovlen = 1,
				 .msg_control = &ancillary,
				 .msg_controllen = sizeof(ancillary)};
	struct stat st;
	ssize_t len;
	uid_t sender;

	if (send(fd, text, strlen(text), MSG_NOSIGNAL) < 0)
		return -errno;
	len = recvmsg(fd, &message, MSG_CMSG_CLOEXEC);
	if (len < 0)
		return -errno;
	sender = take_ancillary(&message, NULL);
	if (sender != 0 && sender != geteuid() &&
	    (geteuid() != 0 || stat(file, &st) || sender != st.st_uid))
		return -EPERM;
	room[len] = '\0';
	answer->len = 0;
	buffer_printf(answer, "%s", room);
	return 0;
}

/* A ping first: a process of another user must not get the text. */
int control_send(const char *file, const char *command)
{
	static const struct timeval patience = {.tv_sec = ANSWER_S};
	static const int on = 1;
	const struct sockaddr_un any = {.sun_family = AF_UNIX};
	struct sockaddr_un address;
	auto_buffer answer = {0};
	socklen_t len = 0;
	bool recorded;
	int err = find_address(file, &address, &len), fd = -1;

	if (!err) {
		fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
		err = fd < 0 ? -errno : 0;
	}
	/* Bound to any address, to which the answer goes. */
	if (!err && (setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience)) ||
		     setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience)) ||
		     setsockopt(fd, SOL_SOCKET, SO_PASSCRED, &on, sizeof(on)) ||
		     bind(fd, (const struct sockaddr *)&any, sizeof(any.sun_family)) ||
		     connect(fd, (const struct sockaddr *)&address, len)))
		err = -errno;
	if (!err)
		err = exchange(fd, file, "ping", &answer);
	if (!err)
		err = exchange(fd, file, command, &answer);
	if (fd >= 0)
		close(fd);
	recorded = !err && answer.data && strcmp(answer.data, done) == 0;
	if (err == -ECONNREFUSED)
		cli_error("%s: no process of this host records into it", file);
	else if (err == -EAGAIN)
		cli_error("%s: its recorder has not answered in %d s", file, ANSWER_S);
	else if (err == -EPERM)
		cli_error(
			"%s: the process that answers for its recorder is another user's: nothing is sent to it",
			file);
	else if (err)
		cli_error("%s: %s", file, strerror(-err));
	else if (!recorded)
		cli_error("%s: %s", file, answer.data);
	return recorded ? CLI_OK : CLI_RUNTIME;
}

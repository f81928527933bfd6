/* SPDX-License-Identifier: MIT */
/* Connections: their list, their deadlines, and the streams of intervals that some of them get. */
#include <poll.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "base/cli.h"
#include "serve/server.h"

#define PIECE_BYTES 8192 /* that libmicrohttpd asks a stream for at once */
#define LOOK_NS (2 * NS_PER_S)

struct connection *connection_of(struct MHD_Connection *connection)
{
	return MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT)
		->socket_context;
}

void connection_set_deadline(struct http *h, struct MHD_Connection *connection, uint64_t ns)
{
	struct connection *c = connection_of(connection);

	pthread_mutex_lock(&h->lock);
	c->deadline_ns = cli_now_ns() + ns;
	c->text = NULL;
	if (ns == IDLE_NS)
		c->check = NOT_CHECKED;
	pthread_mutex_unlock(&h->lock);
}

void connection_notify(void *context, struct MHD_Connection *connection, void **socket_context,
		       enum MHD_ConnectionNotificationCode code)
{
	struct http *h = context;
	struct connection *c = *socket_context;

	pthread_mutex_lock(&h->lock);
	if (code == MHD_CONNECTION_NOTIFY_STARTED) {
		*socket_context = c = cli_realloc(NULL, 1, sizeof(*c));
		*c = (struct connection){
			.next = h->connections,
			.link = &h->connections,
			.mhd = connection,
			.fd = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD)
				      ->connect_fd,
			.deadline_ns = cli_now_ns() + HEADERS_NS};
		if (c->next)
			c->next->link = &c->next;
		h->connections = c;
	} else { /* its file descriptor is still open */
		*c->link = c->next;
		if (c->next)
			c->next->link = c->link;
		free(c);
	}
	pthread_mutex_unlock(&h->lock);
}

void connection_completed(void *context, struct MHD_Connection *connection, void **request,
			  enum MHD_RequestTerminationCode code)
{
	(void)request, (void)code;
	connection_set_deadline(context, connection, IDLE_NS);
}

static void cut(struct http *h, struct connection *c)
{
	shutdown(c->fd, SHUT_RDWR);
	c->deadline_ns = UINT64_MAX;
	c->text = NULL;
	h->counts.cut++;
}

void connections_cut_slow(struct http *h)
{
	uint64_t now = cli_now_ns();

	pthread_mutex_lock(&h->lock);
	for (struct connection *c = h->connections; c; c = c->next)
		if (now > c->deadline_ns)
			cut(h, c);
	pthread_mutex_unlock(&h->lock);
}

void connections_cut_oldest(struct http *h)
{
	const struct connection *oldest = NULL;
	const struct MHD_Response *text;

	for (struct connection *c = h->connections; c; c = c->next)
		if (c->text && (!oldest || c->deadline_ns < oldest->deadline_ns))
			oldest = c;
	text = oldest ? oldest->text : NULL;
	for (struct connection *c = h->connections; c && text; c = c->next)
		if (c->text == text)
			cut(h, c);
}

/* ---- streams ---- */

/* Between two intervals its connection is suspended: libmicrohttpd does not poll it. */
struct stream {
	struct http *http;
	struct connection *connection;
	const struct server *server;
	struct live_reader reader;
	bool waits; /* its connection is suspended */
	bool left;  /* its client has closed the connection */
};

/* A new configuration may have other passwords, so that clients must connect again. */
static bool is_over(const struct stream *s)
{
	return s->http->stopping || s->left || s->server != s->http->servers;
}

static ssize_t read_stream(void *context, uint64_t position, char *to, size_t room)
{
	struct stream *s = context;
	struct http *h = s->http;
	struct connection *c = s->connection;
	ssize_t len = -1;

	(void)position;
	pthread_mutex_lock(&h->lock);
	if (!is_over(s))
		len = live_read(h->setup.live, &s->reader, to, room);
	/* The deadline is for all events that are ready, and not for each piece of them. */
	if (!len) {
		s->waits = true;
		c->deadline_ns = UINT64_MAX;
		MHD_suspend_connection(c->mhd);
	} else if (c->deadline_ns == UINT64_MAX) {
		c->deadline_ns = cli_now_ns() + ANSWER_NS;
	}
	pthread_mutex_unlock(&h->lock);
	return len < 0 ? MHD_CONTENT_READER_END_OF_STREAM : len;
}

static void free_stream(void *context)
{
	struct stream *s = context;

	pthread_mutex_lock(&s->http->lock);
	s->connection->stream = NULL;
	pthread_mutex_unlock(&s->http->lock);
	live_reader_free(s->http->setup.live, &s->reader);
	free(s);
}

/* The server of a connection, which may be one that was replaced. Call with the lock held. */
static const struct server *server_of(const struct http *h, struct MHD_Connection *connection)
{
	const union MHD_ConnectionInfo *info =
		MHD_get_connection_info(connection, MHD_CONNECTION_INFO_DAEMON);
	const struct server *s = h->servers;

	while (s && s->daemon != info->daemon)
		s = s->next;
	return s;
}

struct MHD_Response *stream_response(struct http *h, struct MHD_Connection *connection)
{
	struct stream *s = cli_realloc(NULL, 1, sizeof(*s));
	struct MHD_Response *response;

	*s = (struct stream){.http = h, .connection = connection_of(connection)};
	live_read_from(h->setup.live, &s->reader,
		       MHD_lookup_connection_value(connection, MHD_HEADER_KIND, "Last-Event-ID"));
	pthread_mutex_lock(&h->lock);
	s->server = server_of(h, connection);
	s->connection->stream = s;
	pthread_mutex_unlock(&h->lock);
	response = MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, PIECE_BYTES, read_stream, s,
						     free_stream);
	if (!response)
		free_stream(s);
	else /* the next stream may have to be one of a newer server */
		MHD_add_response_header(response, MHD_HTTP_HEADER_CONNECTION, "close");
	return response;
}

static void resume(struct stream *s)
{
	if (s->waits)
		MHD_resume_connection(s->connection->mhd);
	s->waits = false;
}

void streams_wake(struct http *h)
{
	for (struct connection *c = h->connections; c; c = c->next)
		if (c->stream)
			resume(c->stream);
}

void streams_end_left(struct http *h)
{
	if (cli_now_ns() < h->looked_ns + LOOK_NS)
		return;
	h->looked_ns = cli_now_ns();
	pthread_mutex_lock(&h->lock);
	for (struct connection *c = h->connections; c; c = c->next) {
		struct pollfd fd = {.fd = c->fd, .events = POLLRDHUP};

		if (!c->stream || !c->stream->waits || poll(&fd, 1, 0) < 1)
			continue;
		c->stream->left = true;
		resume(c->stream);
	}
	pthread_mutex_unlock(&h->lock);
}

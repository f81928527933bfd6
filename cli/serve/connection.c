/* SPDX-License-Identifier: MIT */
/* The list of connections, and their deadlines. */
#include <stdlib.h>
#include <sys/socket.h>

#include "base/cli.h"
#include "serve/server.h"

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

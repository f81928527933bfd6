/* SPDX-License-Identifier: MIT */
/* The HTTP server, with libmicrohttpd: one thread, limits, and deadlines for each connection. */
#include "serve/http.h"

#include <ctype.h>
#include <errno.h>
#include <microhttpd.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "cli.h"
#include "serve/listen.h"

#define CONNECTIONS 512u           /* in all, */
#define CONNECTIONS_OF_ADDRESS 64u /* and of one address */
#define REQUEST_BYTES 16384u       /* memory of a connection: its headers */
/* A client may take so long for the headers of its first request, to take the answer, and to finish the headers of the
 * next request on the same connection. Prometheus scrapes at least once a minute. */
#define HEADERS_NS (5 * NS_PER_S)
#define ANSWER_NS (30 * NS_PER_S)
#define IDLE_NS (90 * NS_PER_S)

struct connection {
	struct connection *next, **link; /* of the list */
	int fd;
	uint64_t deadline_ns;
};

struct http {
	struct listener listener;
	const char *hosts;
	struct utsname uts;
	struct MHD_Daemon *daemon;
	pthread_t thread;
	bool running;
	int stop_fd;
	struct connection *connections; /* of the thread */
	pthread_mutex_t lock;           /* for what follows */
	struct MHD_Response *texts[HTTP_TEXTS];
	struct http_counts counts;
};

/* ---- what a request may ask for ---- */

static const struct {
	const char *path;
	enum http_text plain, openmetrics;
} paths[] = {
	{"/metrics", HTTP_METRICS, HTTP_OPENMETRICS},
};

static const char *const types[HTTP_TEXTS] = {
	[HTTP_METRICS] = "text/plain; version=0.0.4; charset=utf-8",
	[HTTP_OPENMETRICS] = "application/openmetrics-text; version=1.0.0; charset=utf-8",
};

/* The preference of one range of an Accept header, which ends at `end`; 1 without a q. */
static double preference(const char *range, const char *end)
{
	for (const char *p = range; (p = memchr(p, ';', (size_t)(end - p)));) {
		p++;
		p += strspn(p, " \t");
		if ((*p == 'q' || *p == 'Q') && p[1] == '=')
			return strtod(p + 2, NULL);
	}
	return 1;
}

/* True when the client wants OpenMetrics 1.0 at least as much as plain text. */
static bool prefers_openmetrics(const char *accept)
{
	static const char om[] = "application/openmetrics-text", plain[] = "text/plain";
	double q_om = 0, q_plain = 0, q;

	while (accept && *accept) {
		const char *end = accept + strcspn(accept, ","), *version;

		accept += strspn(accept, " \t");
		if (accept > end)
			break;
		q = preference(accept, end);
		version = memmem(accept, (size_t)(end - accept), "version=", 8);
		if (strncasecmp(accept, om, strlen(om)) == 0 &&
		    (!version || strncmp(version + 8, "1.0", 3) == 0))
			q_om = q > q_om ? q : q_om;
		else if (strncasecmp(accept, plain, strlen(plain)) == 0)
			q_plain = q > q_plain ? q : q_plain;
		accept = end + (*end == ',');
	}
	return q_om > 0 && q_om >= q_plain;
}

/* A page of another origin can reach this server through a name of its own that it lets point here (DNS rebinding).
 * Addresses, localhost, the name of this machine and names that the user gives are no such names. */
static bool is_known_host(const struct http *h, const char *host)
{
	size_t len = host ? strcspn(host, host[0] == '[' ? "]" : ":") : 0;
	const char *known = h->hosts;

	if (!host || host[0] == '[' || strspn(host, "0123456789.") == len)
		return true;
	if (len == strlen("localhost") && strncasecmp(host, "localhost", len) == 0)
		return true;
	if (len == strlen(h->uts.nodename) && strncasecmp(host, h->uts.nodename, len) == 0)
		return true;
	for (; known && *known; known += *known == ',') {
		size_t length = strcspn(known, ",");

		if (len == length && strncasecmp(host, known, len) == 0)
			return true;
		known += length;
	}
	return false;
}

static enum MHD_Result answer_error(struct http *h, struct MHD_Connection *connection,
				    unsigned code, const char *text)
{
	struct MHD_Response *response = MHD_create_response_from_buffer(
		strlen(text), (void *)(uintptr_t)text, MHD_RESPMEM_PERSISTENT);
	enum MHD_Result result;

	pthread_mutex_lock(&h->lock);
	h->counts.refused++;
	pthread_mutex_unlock(&h->lock);
	if (!response)
		return MHD_NO;
	MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, "text/plain");
	MHD_add_response_header(response, MHD_HTTP_HEADER_CONNECTION, "close");
	if (code == MHD_HTTP_METHOD_NOT_ALLOWED)
		MHD_add_response_header(response, MHD_HTTP_HEADER_ALLOW, "GET, HEAD");
	result = MHD_queue_response(connection, code, response);
	MHD_destroy_response(response);
	return result;
}

static enum MHD_Result answer_text(struct http *h, struct MHD_Connection *connection,
				   enum http_text which)
{
	enum MHD_Result result = MHD_NO;

	pthread_mutex_lock(&h->lock);
	if (h->texts[which]) {
		/* The answer has a reference of its own. */
		result = MHD_queue_response(connection, MHD_HTTP_OK, h->texts[which]);
		h->counts.scrapes++;
	}
	pthread_mutex_unlock(&h->lock);
	return result;
}

/* NOLINTNEXTLINE(readability-function-size): the parameters are libmicrohttpd's */
static enum MHD_Result answer(void *context, struct MHD_Connection *connection, const char *path,
			      const char *method, const char *version, const char *upload,
			      size_t *upload_size, void **request)
{
	const union MHD_ConnectionInfo *info =
		MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
	struct connection *c = info ? info->socket_context : NULL;
	struct http *h = context;
	const char *accept =
		MHD_lookup_connection_value(connection, MHD_HEADER_KIND, MHD_HTTP_HEADER_ACCEPT);

	(void)version, (void)upload, (void)upload_size, (void)request;
	if (c)
		c->deadline_ns = cli_now_ns() + ANSWER_NS;
	if (strcmp(method, MHD_HTTP_METHOD_GET) != 0 && strcmp(method, MHD_HTTP_METHOD_HEAD) != 0)
		return answer_error(h, connection, MHD_HTTP_METHOD_NOT_ALLOWED,
				    "only GET and HEAD\n");
	if (!is_known_host(h, MHD_lookup_connection_value(connection, MHD_HEADER_KIND,
							  MHD_HTTP_HEADER_HOST)))
		return answer_error(h, connection, MHD_HTTP_MISDIRECTED_REQUEST,
				    "the Host header has a name that is not this machine's; "
				    "uncore serve --host NAME allows it\n");
	for (size_t i = 0; i < sizeof(paths) / sizeof(*paths); i++)
		if (strcmp(path, paths[i].path) == 0)
			return answer_text(h, connection,
					   prefers_openmetrics(accept) ? paths[i].openmetrics
								       : paths[i].plain);
	return answer_error(h, connection, MHD_HTTP_NOT_FOUND, "not found; there is /metrics\n");
}

/* ---- connections ---- */

static void note_connection(void *context, struct MHD_Connection *connection, void **socket_context,
			    enum MHD_ConnectionNotificationCode code)
{
	struct http *h = context;
	struct connection *c = *socket_context;
	const union MHD_ConnectionInfo *info;

	if (code == MHD_CONNECTION_NOTIFY_STARTED) {
		info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
		c = info ? calloc(1, sizeof(*c)) : NULL;
		if (!c)
			return;
		*c = (struct connection){.next = h->connections,
					 .link = &h->connections,
					 .fd = info->connect_fd,
					 .deadline_ns = cli_now_ns() + HEADERS_NS};
		if (c->next)
			c->next->link = &c->next;
		h->connections = c;
		*socket_context = c;
	} else if (c) {
		*c->link = c->next;
		if (c->next)
			c->next->link = c->link;
		free(c);
		*socket_context = NULL;
	}
}

static void note_completed(void *context, struct MHD_Connection *connection, void **request,
			   enum MHD_RequestTerminationCode code)
{
	const union MHD_ConnectionInfo *info =
		MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
	struct connection *c = info ? info->socket_context : NULL;

	(void)context, (void)request, (void)code;
	if (c)
		c->deadline_ns = cli_now_ns() + IDLE_NS;
}

/* The library's own timeout begins anew with each byte: a slow client would stay for ever. */
static void cut_slow(struct http *h)
{
	uint64_t now = cli_now_ns(), cut = 0;

	for (struct connection *c = h->connections; c; c = c->next)
		if (now > c->deadline_ns) {
			shutdown(c->fd, SHUT_RDWR);
			c->deadline_ns = UINT64_MAX;
			cut++;
		}
	pthread_mutex_lock(&h->lock);
	h->counts.cut += cut;
	pthread_mutex_unlock(&h->lock);
}

/* Malformed requests are the client's error, and as many as it likes: they are not logged. */
__attribute__((format(printf, 2, 0))) static void ignore_message(void *context, const char *fmt,
								 va_list args)
{
	(void)context, (void)fmt, (void)args;
}

static void *run(void *context)
{
	struct http *h = context;
	const union MHD_DaemonInfo *info = MHD_get_daemon_info(h->daemon, MHD_DAEMON_INFO_EPOLL_FD);
	struct pollfd fds[] = {
		{.fd = info->epoll_fd, .events = POLLIN},
		{.fd = h->stop_fd, .events = POLLIN},
	};

	while (!(fds[1].revents & POLLIN)) {
		MHD_UNSIGNED_LONG_LONG wait_ms = 1000;

		/* Never for ever: after the limit of connections was reached, MHD_run() alone listens again. */
		if (MHD_get_timeout(h->daemon, &wait_ms) != MHD_YES || wait_ms > 1000)
			wait_ms = 1000;
		poll(fds, 2, (int)wait_ms);
		MHD_run(h->daemon);
		cut_slow(h);
	}
	return NULL;
}

/* ---- opening and closing ---- */

int http_open(struct http **out, const struct http_setup *setup)
{
	struct http *h = cli_realloc(NULL, 1, sizeof(*h));
	int status;

	*h = (struct http){.hosts = setup->hosts, .stop_fd = -1, .lock = PTHREAD_MUTEX_INITIALIZER};
	uname(&h->uts);
	status = listener_open(&h->listener, setup->listen, setup->insecure);
	if (status)
		http_close(h);
	else
		*out = h;
	return status;
}

static int fail(const char *what)
{
	cli_error("cannot start the HTTP server: %s: %s", what, strerror(errno));
	return CLI_RUNTIME;
}

int http_start(struct http *h)
{
	const struct MHD_OptionItem options[] = {
		{MHD_OPTION_LISTEN_SOCKET, h->listener.fd, NULL},
		{MHD_OPTION_CONNECTION_LIMIT, CONNECTIONS, NULL},
		{MHD_OPTION_PER_IP_CONNECTION_LIMIT, CONNECTIONS_OF_ADDRESS, NULL},
		{MHD_OPTION_CONNECTION_MEMORY_LIMIT, REQUEST_BYTES, NULL},
		{MHD_OPTION_STRICT_FOR_CLIENT, 1, NULL},
		{MHD_OPTION_END, 0, NULL},
	};
	sigset_t all, old;
	int err;

	h->stop_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (h->stop_fd < 0)
		return fail("eventfd");
	h->daemon = MHD_start_daemon(MHD_USE_EPOLL | MHD_USE_ERROR_LOG, 0, NULL, NULL, answer, h,
				     MHD_OPTION_EXTERNAL_LOGGER, ignore_message, NULL,
				     MHD_OPTION_NOTIFY_CONNECTION, note_connection, h,
				     MHD_OPTION_NOTIFY_COMPLETED, note_completed, h,
				     MHD_OPTION_ARRAY, options, MHD_OPTION_END);
	if (!h->daemon)
		return fail("libmicrohttpd");
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	err = pthread_create(&h->thread, NULL, run, h);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	h->running = !err;
	errno = err;
	return err ? fail("its thread") : CLI_OK;
}

void http_close(struct http *h)
{
	if (!h)
		return;
	if (h->running) {
		eventfd_write(h->stop_fd, 1);
		pthread_join(h->thread, NULL);
	}
	if (h->daemon)
		MHD_stop_daemon(h->daemon); /* closes the listening socket, too */
	else
		listener_close(&h->listener);
	listener_remove(&h->listener);
	for (size_t i = 0; i < HTTP_TEXTS; i++)
		if (h->texts[i])
			MHD_destroy_response(h->texts[i]);
	if (h->stop_fd >= 0)
		close(h->stop_fd);
	free(h);
}

const char *http_address(const struct http *h)
{
	return h->listener.name;
}

void http_publish(struct http *h, enum http_text which, struct buffer *text)
{
	struct MHD_Response *response =
		MHD_create_response_from_buffer(text->len, text->data, MHD_RESPMEM_MUST_FREE);
	struct MHD_Response *old;

	if (!response) { /* out of memory: the text before stays */
		buffer_free(text);
		return;
	}
	*text = (struct buffer){0};
	MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, types[which]);
	MHD_add_response_header(response, "X-Content-Type-Options", "nosniff");
	pthread_mutex_lock(&h->lock);
	old = h->texts[which];
	h->texts[which] = response;
	pthread_mutex_unlock(&h->lock);
	if (old)
		MHD_destroy_response(old);
}

struct http_counts http_counts(struct http *h)
{
	struct http_counts counts;

	pthread_mutex_lock(&h->lock);
	counts = h->counts;
	pthread_mutex_unlock(&h->lock);
	return counts;
}

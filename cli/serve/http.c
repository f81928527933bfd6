/* SPDX-License-Identifier: MIT */
/* The HTTP server, with libmicrohttpd: one thread, limits, and deadlines for each connection. */
#include "serve/http.h"

#include <errno.h>
#include <fcntl.h>
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
#include "serve/web-config.h"

#define CONNECTIONS 512u           /* in all, */
#define CONNECTIONS_OF_ADDRESS 64u /* and of one address */
#define REQUEST_BYTES 16384u       /* memory of a connection: its headers */
/* A client may take so long for the headers of its first request, to take the answer, and to finish the headers of the
 * next request on the same connection. Prometheus scrapes at least once a minute. */
#define HEADERS_NS (5 * NS_PER_S)
#define ANSWER_NS (30 * NS_PER_S)
#define IDLE_NS (90 * NS_PER_S)
/* Texts that were replaced are kept for the clients that still take them: so many bytes, and twice the latest text. */
#define HELD_BYTES (1 << 20)

/* What responses are made of. */
struct text {
	struct http *http;
	char *data;
	size_t len;
};

/* Whether the password of a request is right: bcrypt takes so long that it is not done in the thread of the answers. */
enum check { NOT_CHECKED, ASKED, RIGHT, WRONG };

struct connection {
	struct connection *next, **link; /* of the list */
	struct MHD_Connection *mhd;
	int fd;
	uint64_t deadline_ns;
	const struct MHD_Response *text; /* which it takes; NULL: none */
	enum check check;
	char *authorization; /* that is to be checked: the connection is suspended */
};

/* One for each version of the web configuration: the old ones stay until their clients have gone. */
struct server {
	struct server *next;
	struct MHD_Daemon *daemon;
	struct web_config *web;
	int fd;               /* of its own, for the same socket */
	uint64_t replaced_ns; /* since when it accepts no more clients */
};

struct http {
	struct http_setup setup;
	struct listener listener;
	struct utsname uts;
	pthread_t thread;
	bool running;
	int wake_fd;             /* of the thread */
	struct web_config *seen; /* the latest; it has errors if no server has it */
	uint64_t changed_ns;     /* when a change of its files was seen; 0: none */
	pthread_mutex_t lock;    /* for what follows */
	bool stopping;
	struct server *servers; /* the latest first */
	struct connection *connections;
	struct MHD_Response *texts[HTTP_TEXTS];
	size_t held_bytes; /* of all texts that are not freed */
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

/* A page of another origin can reach this server through a name of its own that it lets point here (DNS rebinding),
 * but it has no password and no certificate for it. Addresses, localhost, the name of this machine and names that the
 * user gives are no such names. */
static bool is_known_host(struct http *h, const char *host)
{
	bool closed;
	size_t len = host ? strcspn(host, host[0] == '[' ? "]" : ":") : 0;
	const char *known = h->setup.hosts;

	pthread_mutex_lock(&h->lock);
	closed = web_is_closed(h->servers->web);
	pthread_mutex_unlock(&h->lock);
	if (closed || !host || host[0] == '[' || strspn(host, "0123456789.") == len)
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

static struct connection *connection_of(struct MHD_Connection *connection)
{
	const union MHD_ConnectionInfo *info =
		MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);

	return info ? info->socket_context : NULL;
}

/* When a request begins to be answered, and when it has ended. */
static void set_deadline(struct http *h, struct MHD_Connection *connection, uint64_t ns)
{
	struct connection *c = connection_of(connection);

	pthread_mutex_lock(&h->lock);
	if (c) {
		c->deadline_ns = cli_now_ns() + ns;
		c->text = NULL;
		if (ns == IDLE_NS)
			c->check = NOT_CHECKED;
	}
	pthread_mutex_unlock(&h->lock);
}

/* With the lock. */
static void add_headers(const struct http *h, struct MHD_Response *response)
{
	const struct web_config *web = h->servers ? h->servers->web : h->seen;

	for (size_t i = 0; i < WEB_HEADERS; i++)
		if (web->headers[i])
			MHD_add_response_header(response, web_header_name(i), web->headers[i]);
	/* Clients of an old server change to the latest one. */
	if (h->servers && h->servers->next)
		MHD_add_response_header(response, MHD_HTTP_HEADER_CONNECTION, "close");
}

static enum MHD_Result answer_error(struct http *h, struct MHD_Connection *connection,
				    unsigned code, const char *text)
{
	struct MHD_Response *response = MHD_create_response_from_buffer(
		strlen(text), (void *)(uintptr_t)text, MHD_RESPMEM_PERSISTENT);
	enum MHD_Result result;

	if (!response)
		return MHD_NO;
	pthread_mutex_lock(&h->lock);
	h->counts.refused++;
	add_headers(h, response);
	pthread_mutex_unlock(&h->lock);
	MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, "text/plain");
	MHD_add_response_header(response, MHD_HTTP_HEADER_CONNECTION, "close");
	if (code == MHD_HTTP_METHOD_NOT_ALLOWED)
		MHD_add_response_header(response, MHD_HTTP_HEADER_ALLOW, "GET, HEAD");
	if (code == MHD_HTTP_UNAUTHORIZED)
		MHD_add_response_header(response, MHD_HTTP_HEADER_WWW_AUTHENTICATE,
					"Basic realm=\"uncore\", charset=\"UTF-8\"");
	result = MHD_queue_response(connection, code, response);
	MHD_destroy_response(response);
	return result;
}

static enum MHD_Result answer_text(struct http *h, struct MHD_Connection *connection,
				   enum http_text which)
{
	struct connection *c = connection_of(connection);
	enum MHD_Result result = MHD_NO;

	pthread_mutex_lock(&h->lock);
	if (h->texts[which]) {
		/* The answer has a reference of its own. */
		result = MHD_queue_response(connection, MHD_HTTP_OK, h->texts[which]);
		h->counts.scrapes++;
		if (c)
			c->text = h->texts[which];
	}
	pthread_mutex_unlock(&h->lock);
	return result;
}

/* ---- who may ask ---- */

static bool has_certificate(struct http *h, struct MHD_Connection *connection)
{
	const union MHD_ConnectionInfo *info =
		MHD_get_connection_info(connection, MHD_CONNECTION_INFO_GNUTLS_SESSION);
	bool has;

	pthread_mutex_lock(&h->lock);
	has = web_has_certificate(h->servers->web, info ? info->tls_session : NULL);
	pthread_mutex_unlock(&h->lock);
	return has;
}

/* *wait: it is not known yet. The connection is suspended, and this is called again when the thread knows. */
static bool has_password(struct http *h, struct MHD_Connection *connection, bool *wait)
{
	const char *authorization = MHD_lookup_connection_value(connection, MHD_HEADER_KIND,
								MHD_HTTP_HEADER_AUTHORIZATION);
	struct connection *c = connection_of(connection);
	const struct web_config *web;
	bool right;

	pthread_mutex_lock(&h->lock);
	web = h->servers->web;
	right = !web->user_count || (c && c->check == RIGHT) ||
		(authorization && web_is_known(web, authorization));
	if (!right && authorization && c && c->check == NOT_CHECKED && !h->stopping) {
		*wait = true;
		c->check = ASKED;
		c->authorization = cli_copy(authorization);
		MHD_suspend_connection(connection);
		eventfd_write(h->wake_fd, 1);
	}
	pthread_mutex_unlock(&h->lock);
	return right;
}

/* Checks the password that waits longest. False: none does. */
static bool check_password(struct http *h)
{
	struct connection *longest = NULL;
	struct web_config *web = h->servers->web;
	char *authorization;
	size_t user = 0;
	bool right;

	pthread_mutex_lock(&h->lock);
	for (struct connection *c = h->connections; c; c = c->next)
		if (c->check == ASKED)
			longest = c;
	pthread_mutex_unlock(&h->lock);
	if (!longest)
		return false;
	authorization = longest->authorization;
	right = !h->stopping && web_check(web, authorization, &user);
	pthread_mutex_lock(&h->lock);
	if (right)
		web_remember(web, authorization, user);
	longest->check = right ? RIGHT : WRONG;
	longest->authorization = NULL;
	pthread_mutex_unlock(&h->lock);
	/* Suspended, it has stayed. */
	MHD_resume_connection(longest->mhd);
	free(authorization);
	return true;
}

/* NOLINTNEXTLINE(readability-function-size): the parameters are libmicrohttpd's */
static enum MHD_Result answer(void *context, struct MHD_Connection *connection, const char *path,
			      const char *method, const char *version, const char *upload,
			      size_t *upload_size, void **request)
{
	struct http *h = context;
	bool wait = false, first = !*request;
	const char *accept =
		MHD_lookup_connection_value(connection, MHD_HEADER_KIND, MHD_HTTP_HEADER_ACCEPT);

	(void)version, (void)upload, (void)upload_size;
	set_deadline(h, connection, ANSWER_NS);
	if (!has_certificate(h, connection))
		return answer_error(h, connection, MHD_HTTP_FORBIDDEN,
				    "a certificate of the client is needed\n");
	if (!has_password(h, connection, &wait))
		return wait ? MHD_YES
			    : answer_error(h, connection, MHD_HTTP_UNAUTHORIZED,
					   "a user and password are needed\n");
	if (strcmp(method, MHD_HTTP_METHOD_GET) != 0 && strcmp(method, MHD_HTTP_METHOD_HEAD) != 0)
		return answer_error(h, connection, MHD_HTTP_METHOD_NOT_ALLOWED,
				    "only GET and HEAD\n");
	if (!is_known_host(h, MHD_lookup_connection_value(connection, MHD_HEADER_KIND,
							  MHD_HTTP_HEADER_HOST)))
		return answer_error(h, connection, MHD_HTTP_MISDIRECTED_REQUEST,
				    "the Host header has a name that is not this machine's; "
				    "uncore serve --host NAME allows it\n");
	for (size_t i = 0; i < sizeof(paths) / sizeof(*paths); i++) {
		if (strcmp(path, paths[i].path) != 0)
			continue;
		/* After an answer to the first of two calls the library would close the connection. */
		*request = h;
		if (first)
			return MHD_YES;
		return answer_text(h, connection,
				   prefers_openmetrics(accept) ? paths[i].openmetrics
							       : paths[i].plain);
	}
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
		pthread_mutex_lock(&h->lock);
		*c = (struct connection){.next = h->connections,
					 .link = &h->connections,
					 .mhd = connection,
					 .fd = info->connect_fd,
					 .deadline_ns = cli_now_ns() + HEADERS_NS};
		if (c->next)
			c->next->link = &c->next;
		h->connections = c;
		pthread_mutex_unlock(&h->lock);
		*socket_context = c;
	} else if (c) {
		/* The file descriptor is still open. */
		pthread_mutex_lock(&h->lock);
		*c->link = c->next;
		if (c->next)
			c->next->link = c->link;
		pthread_mutex_unlock(&h->lock);
		free(c);
		*socket_context = NULL;
	}
}

static void note_completed(void *context, struct MHD_Connection *connection, void **request,
			   enum MHD_RequestTerminationCode code)
{
	(void)request, (void)code;
	set_deadline(context, connection, IDLE_NS);
}

static void cut(struct http *h, struct connection *c)
{
	shutdown(c->fd, SHUT_RDWR);
	c->deadline_ns = UINT64_MAX;
	c->text = NULL;
	h->counts.cut++;
}

/* The library's own timeout begins anew with each byte: a slow client would stay for ever. */
static void cut_slow(struct http *h)
{
	uint64_t now = cli_now_ns();

	pthread_mutex_lock(&h->lock);
	for (struct connection *c = h->connections; c; c = c->next)
		if (now > c->deadline_ns)
			cut(h, c);
	pthread_mutex_unlock(&h->lock);
}

/* Clients that take the text which is the oldest. */
static void cut_oldest(struct http *h)
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

/* Malformed requests are the client's error, and as many as it likes: they are not logged. */
__attribute__((format(printf, 2, 0))) static void ignore_message(void *context, const char *fmt,
								 va_list args)
{
	(void)context, (void)fmt, (void)args;
}

/* ---- the servers ---- */

static bool start_server(struct http *h, struct web_config *web)
{
	const struct MHD_OptionItem tls[] = {
		{MHD_OPTION_HTTPS_MEM_CERT, 0, web->certificate.text},
		{MHD_OPTION_HTTPS_MEM_KEY, 0, web->key.text},
		{MHD_OPTION_HTTPS_PRIORITIES, 0, web->priorities},
		{web->client_ca.text ? MHD_OPTION_HTTPS_MEM_TRUST : MHD_OPTION_END, 0,
		 web->client_ca.text},
		{MHD_OPTION_END, 0, NULL},
	};
	struct server *s = cli_realloc(NULL, 1, sizeof(*s));
	int fd = fcntl(h->listener.fd, F_DUPFD_CLOEXEC, 0);
	const struct MHD_OptionItem options[] = {
		{MHD_OPTION_LISTEN_SOCKET, fd, NULL},
		{MHD_OPTION_CONNECTION_LIMIT, CONNECTIONS, NULL},
		{MHD_OPTION_PER_IP_CONNECTION_LIMIT, CONNECTIONS_OF_ADDRESS, NULL},
		{MHD_OPTION_CONNECTION_MEMORY_LIMIT, REQUEST_BYTES, NULL},
		{MHD_OPTION_STRICT_FOR_CLIENT, 1, NULL},
		{web->key.path ? MHD_OPTION_ARRAY : MHD_OPTION_END, 0, (void *)(uintptr_t)tls},
		{MHD_OPTION_END, 0, NULL},
	};

	*s = (struct server){.next = h->servers, .web = web, .fd = fd};
	/* Until the list has it, its clients wait. */
	pthread_mutex_lock(&h->lock);
	/* Not epoll: with it the library misses that a client is gone when the end comes with data. */
	s->daemon = MHD_start_daemon(
		MHD_USE_POLL_INTERNAL_THREAD | MHD_USE_ERROR_LOG | MHD_ALLOW_SUSPEND_RESUME |
			(web->key.path ? MHD_USE_TLS : 0),
		0, NULL, NULL, answer, h, MHD_OPTION_EXTERNAL_LOGGER, ignore_message, NULL,
		MHD_OPTION_NOTIFY_CONNECTION, note_connection, h, MHD_OPTION_NOTIFY_COMPLETED,
		note_completed, h, MHD_OPTION_ARRAY, options, MHD_OPTION_END);
	if (s->daemon)
		h->servers = s;
	pthread_mutex_unlock(&h->lock);
	if (s->daemon)
		return true;
	close(fd);
	free(s);
	if (web->key.path)
		cli_error("%s: TLS does not start: key_file is not the key of cert_file, or one of "
			  "the files is damaged",
			  web->file.path);
	else
		cli_error("the HTTP server does not start");
	return false;
}

static void stop_server(struct server *s)
{
	MHD_stop_daemon(s->daemon); /* closes its socket, too, if it was not replaced */
	if (s->replaced_ns)
		close(s->fd);
	web_free(s->web);
	free(s);
}

/* A client finds a new connection before it loses the old one. */
static void stop_old(struct http *h)
{
	for (struct server **link = &h->servers->next, *s; (s = *link);) {
		const union MHD_DaemonInfo *info =
			MHD_get_daemon_info(s->daemon, MHD_DAEMON_INFO_CURRENT_CONNECTIONS);

		if (info->num_connections || cli_now_ns() < s->replaced_ns + HEADERS_NS) {
			link = &s->next;
			continue;
		}
		pthread_mutex_lock(&h->lock);
		*link = s->next;
		pthread_mutex_unlock(&h->lock);
		stop_server(s);
	}
}

/* Whether other machines can reach a server that asks for no credentials, or through a connection that all can read. */
static int check_open(const struct http *h, const struct web_config *web)
{
	if (h->listener.is_local || h->setup.insecure || (web->key.path && web_is_closed(web)))
		return CLI_OK;
	cli_error("--listen: other machines reach %s, and without --web-config FILE with TLS and "
		  "passwords all of them can read the numbers; --insecure allows that",
		  h->listener.name);
	return CLI_USAGE;
}

/* Files are read half a second after they have changed: they may be written in several pieces. */
static void read_changes(struct http *h)
{
	struct server *old = h->servers;
	struct web_config *web;
	int status;

	if (!web_changed(h->seen)) {
		h->changed_ns = 0;
		return;
	}
	if (!h->changed_ns)
		h->changed_ns = cli_now_ns();
	if (cli_now_ns() < h->changed_ns + NS_PER_S / 2)
		return;
	status = web_read(&web, h->setup.web_config);
	if (!status)
		status = check_open(h, web);
	if (!status && !start_server(h, web))
		status = CLI_RUNTIME;
	if (h->seen != old->web)
		web_free(h->seen);
	h->seen = web;
	h->changed_ns = 0;
	if (!status) {
		MHD_quiesce_daemon(old->daemon);
		old->replaced_ns = cli_now_ns();
	}
	cli_error("%s: %s", h->setup.web_config,
		  status ? "the configuration before stays in use"
			 : "the new configuration is in use");
}

/* The thread beside that of the answers. */
static void *run(void *context)
{
	struct http *h = context;
	struct pollfd wake = {.fd = h->wake_fd, .events = POLLIN};
	bool more = false;
	eventfd_t count;

	while (!h->stopping) {
		if (poll(&wake, 1, more ? 0 : 500) > 0)
			eventfd_read(h->wake_fd, &count);
		more = check_password(h);
		cut_slow(h);
		read_changes(h);
		stop_old(h);
	}
	return NULL;
}

/* ---- opening and closing ---- */

int http_open(struct http **out, const struct http_setup *setup)
{
	struct http *h = cli_realloc(NULL, 1, sizeof(*h));
	int status;

	*h = (struct http){.setup = *setup,
			   .listener.fd = -1,
			   .wake_fd = -1,
			   .lock = PTHREAD_MUTEX_INITIALIZER};
	uname(&h->uts);
	status = web_read(&h->seen, setup->web_config);
	if (!status)
		status = listener_open(&h->listener, setup->listen, h->seen->key.path);
	if (!status)
		status = check_open(h, h->seen);
	if (status)
		http_close(h);
	else
		*out = h;
	return status;
}

int http_start(struct http *h)
{
	sigset_t all, old;
	bool started;

	h->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	started = h->wake_fd >= 0 && start_server(h, h->seen);
	h->running = started && !pthread_create(&h->thread, NULL, run, h);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (started && !h->running)
		cli_error("the thread of the HTTP server does not start");
	return h->running ? CLI_OK : CLI_RUNTIME;
}

void http_close(struct http *h)
{
	if (!h)
		return;
	if (h->running) {
		pthread_mutex_lock(&h->lock);
		h->stopping = true;
		pthread_mutex_unlock(&h->lock);
		eventfd_write(h->wake_fd, 1);
		pthread_join(h->thread, NULL);
		while (check_password(h))
			;
	}
	if (!h->servers || h->seen != h->servers->web)
		web_free(h->seen);
	for (struct server *s; (s = h->servers);) {
		h->servers = s->next;
		stop_server(s);
	}
	listener_close(&h->listener);
	listener_remove(&h->listener);
	for (size_t i = 0; i < HTTP_TEXTS; i++)
		if (h->texts[i])
			MHD_destroy_response(h->texts[i]);
	if (h->wake_fd >= 0)
		close(h->wake_fd);
	free(h);
}

const char *http_address(const struct http *h)
{
	return h->listener.name;
}

static void free_text(void *context)
{
	struct text *text = context;

	pthread_mutex_lock(&text->http->lock);
	text->http->held_bytes -= text->len;
	pthread_mutex_unlock(&text->http->lock);
	free(text->data);
	free(text);
}

void http_publish(struct http *h, enum http_text which, struct buffer *buffer)
{
	struct text *text = cli_realloc(NULL, 1, sizeof(*text));
	struct MHD_Response *response, *old;

	*text = (struct text){h, buffer->data, buffer->len};
	*buffer = (struct buffer){0};
	response = MHD_create_response_from_buffer_with_free_callback_cls(text->len, text->data,
									  free_text, text);
	if (response)
		MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, types[which]);
	pthread_mutex_lock(&h->lock);
	if (response)
		add_headers(h, response);
	h->held_bytes += text->len;
	if (h->held_bytes > HELD_BYTES + text->len * 2 * HTTP_TEXTS)
		cut_oldest(h);
	old = response ? h->texts[which] : NULL;
	if (response)
		h->texts[which] = response;
	pthread_mutex_unlock(&h->lock);
	if (old)
		MHD_destroy_response(old);
	if (!response) /* out of memory: the text before stays */
		free_text(text);
}

struct http_counts http_counts(struct http *h)
{
	struct http_counts counts;

	pthread_mutex_lock(&h->lock);
	counts = h->counts;
	pthread_mutex_unlock(&h->lock);
	return counts;
}

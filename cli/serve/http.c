/* SPDX-License-Identifier: MIT */
/* Starts and stops the servers (libmicrohttpd), and replaces them when the web configuration
 * changes. */
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/cli.h"
#include "serve/server.h"

#define CONNECTIONS 2048u
#define CONNECTIONS_OF_ADDRESS 64u
#define REQUEST_BYTES 16384u /* memory of a connection, for the headers of its request */

/* Malformed requests are not logged: a client could fill the log with them. */
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
	/* A client of the new server waits for the lock until the server is in the list. */
	pthread_mutex_lock(&h->lock);
	/* Not epoll: with it libmicrohttpd does not see that a client has closed the connection if
	 * data arrive with the end. */
	s->daemon = MHD_start_daemon(
		MHD_USE_POLL_INTERNAL_THREAD | MHD_USE_ERROR_LOG | MHD_ALLOW_SUSPEND_RESUME |
			(web->key.path ? MHD_USE_TLS : 0),
		0, NULL, NULL, answer, h, MHD_OPTION_EXTERNAL_LOGGER, ignore_message, NULL,
		MHD_OPTION_NOTIFY_CONNECTION, connection_notify, h, MHD_OPTION_NOTIFY_COMPLETED,
		connection_completed, h, MHD_OPTION_ARRAY, options, MHD_OPTION_END);
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

/* Call after its daemon was stopped. MHD_stop_daemon() closes the socket, unless the server was
 * replaced. */
static void free_server(struct server *s)
{
	if (s->replaced_ns)
		close(s->fd);
	web_free(s->web);
	free(s);
}

/* Stops replaced servers without connections, but not before HEADERS_NS, so that no client loses a
 * connection that it has just made. */
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
		MHD_stop_daemon(s->daemon);
		free_server(s);
	}
}

/* Refuses to serve other machines without credentials, or over a connection that is not
 * encrypted. */
static int check_open(const struct http *h, const struct web_config *web)
{
	if (h->listener.is_local || h->setup.insecure || (web->key.path && web_is_closed(web)))
		return CLI_OK;
	cli_error("--listen: other machines can reach %s, and can read the values unless "
		  "--web-config FILE has TLS and passwords; --insecure allows that",
		  h->listener.name);
	return CLI_USAGE;
}

/* Reads changed files half a second after the change, since a program may write them in several
 * pieces. */
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
		http_wake(h);
	}
	cli_error("%s: %s", h->setup.web_config,
		  status ? "the previous configuration stays in use"
			 : "the new configuration is in use");
}

/* The thread that does what has no event in libmicrohttpd. */
static void *run(void *context)
{
	struct http *h = context;
	struct pollfd wake = {.fd = h->wake_fd, .events = POLLIN};
	eventfd_t count;

	while (!h->stopping) {
		if (poll(&wake, 1, 500) > 0)
			eventfd_read(h->wake_fd, &count);
		connections_cut_slow(h);
		streams_end_left(h);
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
			   .lock = PTHREAD_MUTEX_INITIALIZER,
			   .asked = PTHREAD_COND_INITIALIZER};
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

/* Connections and counters need a descriptor each. If the limit cannot be raised, connections
 * beyond it are refused. */
static void raise_file_limit(void)
{
	const rlim_t enough = 2 * (rlim_t)CONNECTIONS;
	struct rlimit files;

	if (getrlimit(RLIMIT_NOFILE, &files) || files.rlim_cur >= enough)
		return;
	files.rlim_cur = files.rlim_max < enough ? files.rlim_max : enough;
	setrlimit(RLIMIT_NOFILE, &files);
}

int http_start(struct http *h)
{
	sigset_t all, old;
	bool started;

	raise_file_limit();
	h->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	started = h->wake_fd >= 0 && start_server(h, h->seen);
	h->running = started && passwords_start(h) && !pthread_create(&h->thread, NULL, run, h);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (started && !h->running)
		cli_error("the thread of the HTTP server does not start");
	return h->running ? CLI_OK : CLI_RUNTIME;
}

void http_close(struct http *h)
{
	if (!h)
		return;
	listener_remove(&h->listener);
	pthread_mutex_lock(&h->lock);
	h->stopping = true;
	streams_wake(h);
	pthread_mutex_unlock(&h->lock);
	if (h->running) {
		eventfd_write(h->wake_fd, 1);
		pthread_join(h->thread, NULL);
	}
	passwords_stop(h);
	if (!h->servers || h->seen != h->servers->web)
		web_free(h->seen);
	/* Threads of one server use the list of all, so that all stop before any is freed. */
	for (struct server *s = h->servers; s; s = s->next)
		MHD_stop_daemon(s->daemon);
	for (struct server *s; (s = h->servers);) {
		h->servers = s->next;
		free_server(s);
	}
	listener_close(&h->listener);
	texts_free(h);
	if (h->wake_fd >= 0)
		close(h->wake_fd);
	free(h);
}

const char *http_address(const struct http *h)
{
	return h->listener.name;
}

void http_wake(struct http *h)
{
	pthread_mutex_lock(&h->lock);
	streams_wake(h);
	pthread_mutex_unlock(&h->lock);
}

struct http_counts http_counts(struct http *h)
{
	struct http_counts counts;

	pthread_mutex_lock(&h->lock);
	counts = h->counts;
	pthread_mutex_unlock(&h->lock);
	return counts;
}

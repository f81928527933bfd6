/* SPDX-License-Identifier: MIT */
/* Shared by the files of the HTTP server: http.c runs the servers, connection.c keeps their
 * clients and sends them intervals, password.c checks passwords, answer.c answers requests, and
 * text.c holds the texts. */
#ifndef CLI_SERVER_H
#define CLI_SERVER_H

#include <microhttpd.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/utsname.h>

#include "serve/access/web-config.h"
#include "serve/http.h"
#include "serve/listen.h"

/* Deadlines of a connection: for the headers of the first request and then for a body, for the
 * answer, and for the headers of the next request. Prometheus scrapes at least once a minute. */
#define HEADERS_NS (5 * NS_PER_S)
#define ANSWER_NS (30 * NS_PER_S)
#define IDLE_NS (90 * NS_PER_S)

/* The password of a request. ASKED: the thread of password.c has not checked it yet. */
enum check { NOT_CHECKED, ASKED, RIGHT, WRONG };

/* Clients by address, since wrong passwords are counted for each address. */
#define ORIGINS 1024
#define ORIGIN_BYTES 8
struct origin {
	unsigned char address[ORIGIN_BYTES];
	unsigned waiting;  /* passwords not yet checked */
	unsigned failures; /* wrong passwords */
	uint64_t seen_ns;
};

struct connection {
	struct connection *next, **link; /* in the list of http */
	struct MHD_Connection *mhd;
	int fd;
	uint64_t deadline_ns;
	const struct MHD_Response *text; /* that is being sent; NULL: none */
	enum check check;
	char *authorization; /* while it is ASKED, and the connection is suspended */
	struct origin *origin;
	struct stream *stream; /* NULL: it gets no intervals */
	char body[CHOICES_BYTES];
	size_t body_len; /* of a request that has one */
};

/* One for each version of the web configuration. An old server stays until its clients have
 * gone. */
struct server {
	struct server *next;
	struct MHD_Daemon *daemon;
	struct web_config *web;
	int fd;               /* a duplicate of the listener's */
	uint64_t replaced_ns; /* when it stopped to accept clients; 0: it is the latest */
};

struct http {
	struct http_setup setup;
	struct listener listener;
	struct utsname uts;
	pthread_t thread, checker; /* run() of http.c, and of password.c */
	bool running, checks;      /* whether these were started */
	int wake_fd;               /* an eventfd that wakes `thread` */
	struct web_config *seen;   /* that was read last; no server has it if it has errors */
	uint64_t changed_ns;       /* when its files were first seen to differ; 0: they do not */
	uint64_t looked_ns;        /* when streams_end_left() looked last */
	atomic_bool stopping;
	pthread_mutex_t lock; /* protects what follows */
	pthread_cond_t asked; /* signals a password to be checked, or `stopping` */
	struct origin origins[ORIGINS];
	struct server *servers; /* the latest first */
	struct connection *connections;
	struct http_answer {
		struct MHD_Response *plain;      /* NULL: nothing was published */
		struct MHD_Response *compressed; /* NULL: no client has asked for it */
		const char *data;
		size_t len;
	} texts[HTTP_TEXTS];
	size_t held_bytes;     /* of all texts that are not freed yet */
	size_t document_bytes; /* of all documents that are not freed yet */
	struct http_counts counts;
};

/* ---- answer.c ---- */

/* libmicrohttpd calls it for each request. */
enum MHD_Result answer(void *context, struct MHD_Connection *connection, const char *path,
		       const char *method, const char *version, const char *upload,
		       size_t *upload_size, void **request);

/* ---- text.c ---- */

/* Adds the headers of the web configuration. Call with the lock held. */
void response_add_headers(const struct http *h, struct MHD_Response *response);

/* The latest text; NULL: none was published. Call with the lock held; the lock is released while a
 * text is compressed. */
struct MHD_Response *text_response(struct http *h, enum http_text which, bool compressed);
void texts_free(struct http *h);
/* Makes a response of a document, which it takes over. NULL: clients have not read too many bytes
 * of other documents yet, or memory ran out. */
struct MHD_Response *document_response(struct http *h, struct buffer *document);

/* ---- connection.c ---- */

/* libmicrohttpd calls these when a connection begins or ends, and when a request has ended. */
void connection_notify(void *context, struct MHD_Connection *connection, void **socket_context,
		       enum MHD_ConnectionNotificationCode code);
void connection_completed(void *context, struct MHD_Connection *connection, void **request,
			  enum MHD_RequestTerminationCode code);

struct connection *connection_of(struct MHD_Connection *connection);
/* Sets how long the client may take for its next step. IDLE_NS: a request has ended. */
void connection_set_deadline(struct http *h, struct MHD_Connection *connection, uint64_t ns);
/* Closes connections past their deadline. libmicrohttpd restarts its own timeout at each byte, so
 * that a slow client would never time out. */
void connections_cut_slow(struct http *h);
/* Closes the connections to which the oldest text is sent. Call with the lock held. */
void connections_cut_oldest(struct http *h);

/* A response that sends the intervals that are kept, then each interval when it ends. NULL: memory
 * ran out. */
struct MHD_Response *stream_response(struct http *h, struct MHD_Connection *connection);
/* Lets streams go on: an interval was added, or the streams end. Call with the lock held. */
void streams_wake(struct http *h);
/* Ends streams whose clients have gone. libmicrohttpd does not look at suspended connections. */
void streams_end_left(struct http *h);

/* ---- password.c ---- */

bool passwords_start(struct http *h);
/* Refuses the passwords that are not checked yet. Call after `stopping` is set. */
void passwords_stop(struct http *h);
/* Suspends the connection until its password is checked. Call with the lock held. */
void password_ask(struct http *h, struct connection *c, const char *authorization);

#endif

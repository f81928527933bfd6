/* SPDX-License-Identifier: MIT */
/* What the files of the HTTP server share: http.c the servers, connection.c their clients,
 * password.c whether they may ask, answer.c what they get, stream.c the intervals, one after
 * another. */
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

/* A client may take so long for the headers of its first request, to take the answer, and to finish
 * the headers of the next request on the same connection. Prometheus scrapes at least once a
 * minute. */
#define HEADERS_NS (5 * NS_PER_S)
#define ANSWER_NS (30 * NS_PER_S)
#define IDLE_NS (90 * NS_PER_S)
/* Whether the password of a request is right. */
enum check { NOT_CHECKED, ASKED, RIGHT, WRONG };

/* Where passwords come from. */
#define ORIGINS 1024
#define ORIGIN_BYTES 8
struct origin {
	unsigned char address[ORIGIN_BYTES];
	unsigned waiting;  /* passwords that are to be checked, */
	unsigned failures; /* and wrong ones */
	uint64_t seen_ns;
};

struct connection {
	struct connection *next, **link; /* of the list */
	struct MHD_Connection *mhd;
	int fd;
	uint64_t deadline_ns;
	const struct MHD_Response *text; /* which it takes; NULL: none */
	enum check check;
	/* The password that is to be checked: the connection is suspended. */
	char *authorization;
	struct origin *origin;
	struct stream *stream; /* of intervals, which it takes; NULL: none */
};

/* One for each version of the web configuration: the old ones stay until their clients have
 * gone. */
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
	pthread_t thread, checker; /* checker: of passwords */
	bool running, checks;
	int wake_fd;             /* of the thread */
	struct web_config *seen; /* the latest; it has errors if no server has it */
	uint64_t changed_ns;     /* when a change of its files was seen; 0: none */
	uint64_t looked_ns;      /* when streams_end_left() did so */
	atomic_bool stopping;
	pthread_mutex_t lock; /* for what follows */
	pthread_cond_t asked; /* there is a password to be checked, or the end */
	struct origin origins[ORIGINS];
	struct server *servers; /* the latest first */
	struct connection *connections;
	struct http_answer {
		struct MHD_Response *plain;      /* NULL: nothing was published */
		struct MHD_Response *compressed; /* NULL: no client has asked for it */
		const char *data;
		size_t len;
	} texts[HTTP_TEXTS];
	size_t held_bytes;     /* of all texts that are not freed, */
	size_t document_bytes; /* and of documents */
	struct http_counts counts;
};

/* ---- answer.c ---- */

/* libmicrohttpd's handler of requests. */
enum MHD_Result answer(void *context, struct MHD_Connection *connection, const char *path,
		       const char *method, const char *version, const char *upload,
		       size_t *upload_size, void **request);

/* ---- text.c ---- */

/* Adds those of the web configuration. With the lock. */
void response_add_headers(const struct http *h, struct MHD_Response *response);

/* The text that was published last, NULL without one. With the lock, which it may release
 * meanwhile. */
struct MHD_Response *text_response(struct http *h, enum http_text which, bool compressed);
void texts_free(struct http *h);
/* Takes a document over that one client asked for. NULL: clients that do not read have too much
 * already, or out of memory. */
struct MHD_Response *document_response(struct http *h, struct buffer *document);

/* ---- connection.c ---- */

/* libmicrohttpd's notifications. */
void connection_notify(void *context, struct MHD_Connection *connection, void **socket_context,
		       enum MHD_ConnectionNotificationCode code);
void connection_completed(void *context, struct MHD_Connection *connection, void **request,
			  enum MHD_RequestTerminationCode code);

struct connection *connection_of(struct MHD_Connection *connection);
/* When a request begins to be answered, and when it has ended. */
void connection_set_deadline(struct http *h, struct MHD_Connection *connection, uint64_t ns);
/* Closes connections past their deadline. libmicrohttpd restarts its own timeout at each byte, so a
 * slow client would never time out. */
void connections_cut_slow(struct http *h);
/* Closes the connections that receive the oldest text. Call with the lock held. */
void connections_cut_oldest(struct http *h);

/* ---- password.c ---- */

bool passwords_start(struct http *h);
/* After `stopping`: waiting ones are refused. */
void passwords_stop(struct http *h);
/* Suspends the connection until its password was checked. With the lock. */
void password_ask(struct http *h, struct connection *c, const char *authorization);

/* ---- stream.c ---- */

/* The intervals that are kept, then each one when it ends. NULL: out of memory. */
struct MHD_Response *stream_response(struct http *h, struct MHD_Connection *connection);
/* There is an interval, or they are over. With the lock. */
void streams_wake(struct http *h);
/* Ends those whose clients have gone: the library does not look at them between two intervals. */
void streams_end_left(struct http *h);

#endif

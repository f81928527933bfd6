/* SPDX-License-Identifier: MIT */
/* The HTTP server of `serve`: a thread that hands out texts which the loop made. It never reads a
 * counter. */
#ifndef CLI_HTTP_H
#define CLI_HTTP_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buffer.h"
#include "serve/live.h"

struct http;

/* The texts at the known paths. */
enum http_text {
	HTTP_METRICS,     /* /metrics, Prometheus' text format */
	HTTP_OPENMETRICS, /* the same in OpenMetrics, for clients that prefer it */
	HTTP_TEXTS,
};

/* A text that does not change. */
struct http_page {
	const char *path, *type, *text;
};

struct http_setup {
	const char
		*listen;   /* ADDRESS:PORT, [ADDRESS]:PORT, :PORT for all addresses, or unix:PATH */
	const char *hosts; /* further names in the Host header, separated by commas; or NULL */
	const char *web_config;        /* file of TLS, passwords and headers; or NULL */
	bool insecure;                 /* other machines may connect without TLS and a password */
	struct live *live;             /* at /api/v1/stream and /api/v1/values */
	const struct http_page *pages; /* read from http_start() on; the last one has no path */
};

/* Binds the socket, or takes the one of systemd (LISTEN_FDS); clients wait until http_start().
 * Returns an exit code. */
int http_open(struct http **out, const struct http_setup *setup);
/* Starts the thread, which blocks all signals. Returns an exit code. */
int http_start(struct http *h);
/* Ends the thread and all connections, and removes a socket in the file system. NULL: nothing. */
void http_close(struct http *h);

/* What the server listens on, for people: "http://127.0.0.1:9065/metrics". */
const char *http_address(const struct http *h);
/* Replaces a text: requests from now on get this one. Takes the text over and leaves the buffer
 * empty. */
void http_publish(struct http *h, enum http_text which, struct buffer *text);

/* An interval was added to the setup's `live`. */
void http_wake(struct http *h);

struct http_counts {
	uint64_t scrapes; /* answered with a text */
	uint64_t refused; /* with an error: unknown path, method or host, no credentials */
	uint64_t cut;     /* connections ended because they were too slow */
};
struct http_counts http_counts(struct http *h);

#endif

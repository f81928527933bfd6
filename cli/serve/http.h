/* SPDX-License-Identifier: MIT */
/* The HTTP server of `serve`. Its threads send texts that the loop made, and never read a
 * counter. */
#ifndef CLI_HTTP_H
#define CLI_HTTP_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/buffer.h"
#include "serve/choices.h"
#include "serve/live.h"

struct http;

/* The texts at the known paths. */
enum http_text {
	HTTP_METRICS,     /* /metrics, Prometheus' text format */
	HTTP_OPENMETRICS, /* /metrics in OpenMetrics, for clients that prefer it */
	HTTP_TEXTS,
};

/* A text that does not change while the server runs. */
struct http_page {
	const char *path, *type, *text;
};

/* What /-/healthy and /-/ready tell: the loop writes it, and threads of the server read it. */
struct health {
	/* The next interval must have ended by then (cli_now_ns()); 0: there is no such time. */
	_Atomic uint64_t until_ns;
	atomic_bool ready; /* an interval has ended, or a recording was read */
};

struct http_setup {
	/* ADDRESS:PORT, [ADDRESS]:PORT, :PORT for all addresses, or unix:PATH. */
	const char *listen;
	const char *hosts;      /* further names in the Host header, separated by commas; or NULL */
	const char *web_config; /* file of TLS, passwords and headers; or NULL */
	bool insecure;          /* other machines may connect without TLS or passwords */
	const struct health *health;   /* at /-/healthy and /-/ready */
	struct live *live;             /* at /api/v1/stream, values and samples */
	struct choices *choices;       /* at /api/v1/choices; NULL: none */
	const struct http_page *pages; /* read from http_start() on; the last one has no path */
};

/* Binds the socket, or takes the socket of systemd (LISTEN_FDS). Clients wait until http_start().
 * Returns an exit code. */
int http_open(struct http **out, const struct http_setup *setup);
/* Starts the threads, which block all signals. Returns an exit code. */
int http_start(struct http *h);
/* Ends the threads and all connections, and removes a socket in the file system. Accepts NULL. */
void http_close(struct http *h);

/* What the server listens on, for people: "http://127.0.0.1:9065/metrics". */
const char *http_address(const struct http *h);
/* Replaces a text for requests from now on. Takes the text over and leaves the buffer empty. */
void http_publish(struct http *h, enum http_text which, struct buffer *text);

/* Call after an interval was added to the `live` of the setup: streams send it. */
void http_wake(struct http *h);

struct http_counts {
	uint64_t scrapes; /* requests answered with a text of /metrics */
	uint64_t refused; /* requests answered with an error */
	uint64_t cut;     /* connections closed because the client was too slow */
};
struct http_counts http_counts(struct http *h);

#endif

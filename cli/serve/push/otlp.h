/* SPDX-License-Identifier: MIT */
/* Sums pushed to a collector of OpenTelemetry: OTLP/HTTP, in JSON. */
#ifndef CLI_OTLP_H
#define CLI_OTLP_H

#include <stdint.h>

#include "serve/exposition.h"

struct otlp;

/* Loads libcurl, and reads OpenTelemetry's environment variables for credentials and attributes.
 * Returns an exit code. */
int otlp_open(struct otlp **out, const char *url);
/* Starts the thread that sends. Returns an exit code. */
int otlp_start(struct otlp *o);
/* Sends the series as they are now. A request that has not been sent is dropped: the later one has
 * the same sums and more. */
void otlp_publish(struct otlp *o, const struct series_set *set, const struct uncore *u,
		  const struct exposition_self *self);
/* Sends the last request if the collector answers, and ends the thread. Accepts NULL. */
void otlp_close(struct otlp *o);

/* Adds a request. Its sums began at `start_ns`; `resource` is the JSON of its attributes. */
void otlp_json(struct buffer *to, const char *resource, uint64_t start_ns,
	       const struct series_set *set, const struct uncore *u,
	       const struct exposition_self *self);

#endif

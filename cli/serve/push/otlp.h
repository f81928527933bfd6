/* SPDX-License-Identifier: MIT */
/* Sums pushed to a collector of OpenTelemetry: OTLP/HTTP, in JSON. */
#ifndef CLI_OTLP_H
#define CLI_OTLP_H

#include <stdint.h>

#include "base/buffer.h"

struct otlp;

/* Loads libcurl, and reads the variables of the environment that OpenTelemetry has for credentials
 * and attributes. Returns an exit code. */
int otlp_open(struct otlp **out, const char *url);
/* Starts the thread that sends. Returns an exit code. */
int otlp_start(struct otlp *o);
/* Sends this text, of OpenMetrics, in place of one that has not been sent: sums lose nothing by
 * that. Takes the text over and leaves the buffer empty. */
void otlp_publish(struct otlp *o, struct buffer *text);
/* Sends the last text if the collector answers, and ends the thread. NULL: nothing. */
void otlp_close(struct otlp *o);

/* OpenMetrics as a request of OTLP: all samples of the text, whose sums began at `start_ns`.
 * `resource` is the JSON of its attributes. */
void otlp_json(struct buffer *to, const struct buffer *text, const char *resource,
	       uint64_t start_ns, uint64_t now_ns);

#endif

/* SPDX-License-Identifier: MIT */
/* The lines of --control, in pieces whose length is the first byte: each is given as one command, clean and whole. And the
 * same bytes as a datagram of `uncore mark`. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/cli.h"
#include "loop/control.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What the command needs beside: it is not called. */
int perfmon_read(const struct uncore *u, const char *directory, struct buffer *to)
{
	(void)u, (void)directory, (void)to;
	return -1;
}

static void take_all(struct control *c)
{
	const struct control_request *q;

	while ((q = control_next(c))) {
		size_t len = strlen(q->text);
		char *copy = cli_copy(q->text);

		if (strchr(q->text, '\n') || cli_clean(copy, len, "\t") != len ||
		    strcmp(copy, q->text) != 0 ||
		    (q->command == CONTROL_MARK ? !len : q->command && len))
			abort();
		free(copy);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct control c;
	size_t piece = size ? data[0] + 1u : 0;

	c = (struct control){.fd = -1, .ack_fd = -1, .socket = -1};
	for (size_t at = 1, len; at < size; at += len) {
		size_t room = sizeof(c.lines) - 1 - c.len;

		len = size - at < piece ? size - at : piece;
		len = len < room ? len : room;
		memcpy(c.lines + c.len, data + at, len);
		c.len += len;
		take_all(&c);
		if (c.len >= sizeof(c.lines) - 1 || c.taken)
			abort();
	}
	c.datagram_len = size < sizeof(c.datagram) - 1 ? size : sizeof(c.datagram) - 1;
	memcpy(c.datagram, data, c.datagram_len);
	take_all(&c);
	return 0;
}

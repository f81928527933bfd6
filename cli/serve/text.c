/* SPDX-License-Identifier: MIT */
/* The texts that the loop publishes. */
#include <stdlib.h>

#include "cli.h"
#include "serve/server.h"

/* Texts that were replaced are kept for the clients that still take them: so many bytes, and twice the latest text. */
#define HELD_BYTES (1 << 20)

static const char *const types[HTTP_TEXTS] = {
	[HTTP_METRICS] = "text/plain; version=0.0.4; charset=utf-8",
	[HTTP_OPENMETRICS] = "application/openmetrics-text; version=1.0.0; charset=utf-8",
};

/* What a response is made of. */
struct text {
	struct http *http;
	char *data;
	size_t len;
};

void response_add_headers(const struct http *h, struct MHD_Response *response)
{
	const struct web_config *web = h->servers ? h->servers->web : h->seen;

	for (size_t i = 0; i < WEB_HEADERS; i++)
		if (web->headers[i])
			MHD_add_response_header(response, web_header_name(i), web->headers[i]);
	/* Clients of an old server change to the latest one. */
	if (h->servers && h->servers->next)
		MHD_add_response_header(response, MHD_HTTP_HEADER_CONNECTION, "close");
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

/* Takes `data` over. NULL: out of memory. With the lock. */
static struct MHD_Response *hold(struct http *h, char *data, size_t len)
{
	struct text *text = cli_realloc(NULL, 1, sizeof(*text));
	struct MHD_Response *response =
		MHD_create_response_from_buffer_with_free_callback_cls(len, data, free_text, text);

	*text = (struct text){h, data, len};
	if (!response) {
		free(data);
		free(text);
		return NULL;
	}
	h->held_bytes += len;
	return response;
}

static struct MHD_Response *new_response(struct http *h, enum http_text which, char *data,
					 size_t len)
{
	struct MHD_Response *response = hold(h, data, len);

	if (!response)
		return NULL;
	MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, types[which]);
	response_add_headers(h, response);
	return response;
}

struct MHD_Response *text_response(struct http *h, enum http_text which)
{
	return h->texts[which];
}

void http_publish(struct http *h, enum http_text which, struct buffer *text)
{
	struct MHD_Response *response, *old = NULL;

	pthread_mutex_lock(&h->lock);
	response = new_response(h, which, text->data, text->len);
	if (h->held_bytes > HELD_BYTES + text->len * 2 * HTTP_TEXTS)
		connections_cut_oldest(h);
	if (response) { /* else the text before stays */
		old = h->texts[which];
		h->texts[which] = response;
	}
	pthread_mutex_unlock(&h->lock);
	*text = (struct buffer){0};
	if (old)
		MHD_destroy_response(old);
}

void texts_free(struct http *h)
{
	for (size_t i = 0; i < HTTP_TEXTS; i++)
		if (h->texts[i])
			MHD_destroy_response(h->texts[i]);
}

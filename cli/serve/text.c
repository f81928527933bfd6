/* SPDX-License-Identifier: MIT */
/* Responses of libmicrohttpd: the texts that the loop publishes, plain or compressed, and documents
 * made for one request. */
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "base/cli.h"
#include "serve/server.h"

#define DOCUMENT_BYTES (32u << 20) /* limit of documents that are being sent */
/* Texts that were replaced are kept while they are sent. Above this, and twice the latest texts,
 * the clients of the oldest text are cut. */
#define HELD_BYTES (1 << 20)

static const char *const types[HTTP_TEXTS] = {
	[HTTP_METRICS] = "text/plain; version=0.0.4; charset=utf-8",
	[HTTP_OPENMETRICS] = "application/openmetrics-text; version=1.0.0; charset=utf-8",
};

struct text {
	struct http *http;
	char *data;
	size_t len;
	size_t *held; /* bytes of all texts of its kind, in `http` */
};

void response_add_headers(const struct http *h, struct MHD_Response *response)
{
	const struct web_config *web = h->servers ? h->servers->web : h->seen;

	for (size_t i = 0; i < WEB_HEADERS; i++)
		if (web->headers[i])
			MHD_add_response_header(response, web_header_name(i), web->headers[i]);
	/* While there is a replaced server, its clients must connect to the latest one. */
	if (h->servers && h->servers->next)
		MHD_add_response_header(response, MHD_HTTP_HEADER_CONNECTION, "close");
}

static void free_text(void *context)
{
	struct text *text = context;

	pthread_mutex_lock(&text->http->lock);
	*text->held -= text->len;
	pthread_mutex_unlock(&text->http->lock);
	free(text->data);
	free(text);
}

/* Takes `data` over. NULL: memory ran out. Call with the lock held. */
static struct MHD_Response *hold(struct http *h, char *data, size_t len, size_t *held)
{
	struct text *text = cli_realloc(NULL, 1, sizeof(*text));
	struct MHD_Response *response =
		MHD_create_response_from_buffer_with_free_callback_cls(len, data, free_text, text);

	*text = (struct text){h, data, len, held};
	if (!response) {
		free(data);
		free(text);
		return NULL;
	}
	*held += len;
	return response;
}

static struct MHD_Response *new_response(struct http *h, enum http_text which, char *data,
					 size_t len)
{
	struct MHD_Response *response = hold(h, data, len, &h->held_bytes);

	if (!response)
		return NULL;
	MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, types[which]);
	MHD_add_response_header(response, MHD_HTTP_HEADER_VARY, "Accept, Accept-Encoding");
	response_add_headers(h, response);
	return response;
}

/* Compresses by gzip at its fastest level. NULL: memory ran out. */
static char *compress_text(const char *data, size_t len, size_t *compressed)
{
	z_stream z = {.next_in = (Bytef *)(uintptr_t)data, .avail_in = (uInt)len};
	char *to = NULL;

	if (len > UINT32_MAX / 2 || deflateInit2(&z, 1, Z_DEFLATED, 16 + MAX_WBITS, 8, 0) != Z_OK)
		return NULL;
	z.avail_out = (uInt)deflateBound(&z, len);
	to = cli_realloc(NULL, z.avail_out, 1);
	z.next_out = (Bytef *)to;
	deflate(&z, Z_FINISH);
	*compressed = z.total_out;
	deflateEnd(&z);
	return to;
}

/* Releases the lock while it compresses, since the loop that counts needs the lock. */
static void add_compressed(struct http *h, enum http_text which)
{
	struct http_answer *a = &h->texts[which];
	const struct MHD_Response *plain = a->plain;
	size_t len = a->len, compressed_len = 0;
	char *copy = cli_realloc(NULL, len + 1, 1), *data;

	memcpy(copy, a->data, len);
	pthread_mutex_unlock(&h->lock);
	data = compress_text(copy, len, &compressed_len);
	free(copy);
	pthread_mutex_lock(&h->lock);
	/* Meanwhile the text may have been replaced, or compressed for another client. */
	if (!data || a->plain != plain || a->compressed) {
		free(data);
		return;
	}
	a->compressed = new_response(h, which, data, compressed_len);
	if (a->compressed)
		MHD_add_response_header(a->compressed, MHD_HTTP_HEADER_CONTENT_ENCODING, "gzip");
}

struct MHD_Response *text_response(struct http *h, enum http_text which, bool compressed)
{
	struct http_answer *a = &h->texts[which];

	if (compressed && a->plain && !a->compressed)
		add_compressed(h, which);
	return compressed && a->compressed ? a->compressed : a->plain;
}

static void free_answer(struct http_answer *a)
{
	if (a->plain)
		MHD_destroy_response(a->plain);
	if (a->compressed)
		MHD_destroy_response(a->compressed);
}

void http_publish(struct http *h, enum http_text which, struct buffer *text)
{
	struct http_answer old = {0}, *a = &h->texts[which];
	struct MHD_Response *response;

	pthread_mutex_lock(&h->lock);
	response = new_response(h, which, text->data, text->len);
	if (h->held_bytes > HELD_BYTES + text->len * 2 * HTTP_TEXTS)
		connections_cut_oldest(h);
	if (response) { /* else the text before stays */
		old = *a;
		*a = (struct http_answer){.plain = response, .data = text->data, .len = text->len};
	}
	pthread_mutex_unlock(&h->lock);
	*text = (struct buffer){0};
	free_answer(&old);
}

struct MHD_Response *document_response(struct http *h, struct buffer *document)
{
	struct MHD_Response *response = NULL;

	pthread_mutex_lock(&h->lock);
	if (h->document_bytes + document->len > DOCUMENT_BYTES)
		buffer_free(document);
	else
		response = hold(h, document->data, document->len, &h->document_bytes);
	pthread_mutex_unlock(&h->lock);
	*document = (struct buffer){0};
	return response;
}

void texts_free(struct http *h)
{
	for (size_t i = 0; i < HTTP_TEXTS; i++)
		free_answer(&h->texts[i]);
}

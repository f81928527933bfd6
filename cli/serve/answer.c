/* SPDX-License-Identifier: MIT */
/* Answers requests: checks whether the client may read, and sends what the path names. */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/cli.h"
#include "serve/server.h"

/* Versions of libmicrohttpd have several names for it. */
#define CONTENT_TOO_LARGE 413

/* ---- headers ---- */

/* The page loads nothing from other servers, and no other page can embed it. */
#define PAGE_POLICY                                                                     \
	"default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; " \
	"img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

static const char *header(struct MHD_Connection *connection, const char *name)
{
	return MHD_lookup_connection_value(connection, MHD_HEADER_KIND, name);
}

/* The preference (q; 1 without one) of a name in a list such as "text/plain;q=0.5, *"; 0: it is not
 * there. `version`: entries with another version do not count; NULL: all do. */
static double preference(const char *list, const char *name, const char *version)
{
	double most = 0;

	for (const char *end; list && *list; list = end + (*end == ',')) {
		bool matches;
		double q = 1;

		end = list + strcspn(list, ",");
		list += strspn(list, " \t");
		matches = strncasecmp(list, name, strlen(name)) == 0 &&
			  strchr(",; \t", list[strlen(name)]);
		while (matches && (list = memchr(list, ';', (size_t)(end - list)))) {
			list += 1 + strspn(list + 1, " \t");
			if (strncasecmp(list, "q=", 2) == 0)
				q = strtod(list + 2, NULL);
			else if (version && strncasecmp(list, "version=", 8) == 0)
				matches = strncmp(list + 8, version, strlen(version)) == 0;
		}
		most = matches && q > most ? q : most;
	}
	return most;
}

/* Whether the client wants OpenMetrics 1.0 at least as much as plain text. */
static bool prefers_openmetrics(const char *accept)
{
	double openmetrics = preference(accept, "application/openmetrics-text", "1.0");

	return openmetrics > 0 && openmetrics >= preference(accept, "text/plain", NULL);
}

static bool is_word(const char *word, size_t length, const char *text, size_t len)
{
	return len == length && strncasecmp(text, word, len) == 0;
}

/* A page of another origin could read values if its own name resolves to this machine (DNS
 * rebinding). Addresses, localhost, this machine's name and those of --host cannot be used for
 * that. A server that needs credentials is safe, since such a page has none. */
static bool is_known_host(struct http *h, const char *host)
{
	bool closed;
	size_t len = host ? strcspn(host, host[0] == '[' ? "]" : ":") : 0;
	const char *known = h->setup.hosts;

	pthread_mutex_lock(&h->lock);
	closed = web_is_closed(h->servers->web);
	pthread_mutex_unlock(&h->lock);
	if (closed || !host || host[0] == '[' || strspn(host, "0123456789.") == len)
		return true;
	for (size_t length; known && *known; known += length + (known[length] == ',')) {
		length = strcspn(known, ",");
		if (is_word(known, length, host, len))
			return true;
	}
	return is_word("localhost", strlen("localhost"), host, len) ||
	       is_word(h->uts.nodename, strlen(h->uts.nodename), host, len);
}

static struct MHD_Response *constant_response(const char *text)
{
	return MHD_create_response_from_buffer(strlen(text), (void *)(uintptr_t)text,
					       MHD_RESPMEM_PERSISTENT);
}

/* Queues and frees a response; NULL: memory ran out. */
static enum MHD_Result answer_with(struct http *h, struct MHD_Connection *connection, unsigned code,
				   struct MHD_Response *response, const char *type)
{
	const bool good = code == MHD_HTTP_OK || code == MHD_HTTP_ACCEPTED;
	enum MHD_Result result;

	if (!response)
		return MHD_NO;
	pthread_mutex_lock(&h->lock);
	h->counts.refused += !good;
	response_add_headers(h, response);
	pthread_mutex_unlock(&h->lock);
	MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, type);
	if (good)
		MHD_add_response_header(response, MHD_HTTP_HEADER_CACHE_CONTROL, "no-cache");
	else
		MHD_add_response_header(response, MHD_HTTP_HEADER_CONNECTION, "close");
	/* If the web configuration has a policy, too, browsers apply both. */
	if (strncmp(type, "text/html", strlen("text/html")) == 0)
		MHD_add_response_header(response, "Content-Security-Policy", PAGE_POLICY);
	if (code == MHD_HTTP_METHOD_NOT_ALLOWED)
		MHD_add_response_header(response, MHD_HTTP_HEADER_ALLOW, "GET, HEAD");
	if (code == MHD_HTTP_TOO_MANY_REQUESTS)
		MHD_add_response_header(response, MHD_HTTP_HEADER_RETRY_AFTER, "60");
	if (code == MHD_HTTP_UNAUTHORIZED)
		MHD_add_response_header(response, MHD_HTTP_HEADER_WWW_AUTHENTICATE,
					"Basic realm=\"uncore\", charset=\"UTF-8\"");
	result = MHD_queue_response(connection, code, response);
	MHD_destroy_response(response);
	return result;
}

static enum MHD_Result answer_error(struct http *h, struct MHD_Connection *connection,
				    unsigned code, const char *text)
{
	return answer_with(h, connection, code, constant_response(text), "text/plain");
}

/* Sends a document that was made for this request. */
static enum MHD_Result answer_document(struct http *h, struct MHD_Connection *connection,
				       struct buffer *text, unsigned code)
{
	struct MHD_Response *response = document_response(h, text);

	return response ? answer_with(h, connection, code, response, "application/json")
			: answer_error(h, connection, MHD_HTTP_SERVICE_UNAVAILABLE,
				       "too many clients do not read\n");
}

static enum MHD_Result answer_text(struct http *h, struct MHD_Connection *connection,
				   enum http_text which)
{
	const char *encodings = header(connection, MHD_HTTP_HEADER_ACCEPT_ENCODING);
	enum MHD_Result result = MHD_NO;
	struct MHD_Response *text;

	pthread_mutex_lock(&h->lock);
	text = text_response(h, which, preference(encodings, "gzip", NULL) > 0);
	if (text) {
		/* Takes a reference, so that http_publish() may drop the text. */
		result = MHD_queue_response(connection, MHD_HTTP_OK, text);
		h->counts.scrapes++;
		connection_of(connection)->text = text;
	}
	pthread_mutex_unlock(&h->lock);
	return !text ? answer_error(h, connection, MHD_HTTP_NOT_FOUND,
				    "this server shows a recording and has no /metrics\n")
		     : result;
}

/* ---- access ---- */

static bool has_certificate(struct http *h, struct MHD_Connection *connection)
{
	const union MHD_ConnectionInfo *info =
		MHD_get_connection_info(connection, MHD_CONNECTION_INFO_GNUTLS_SESSION);
	bool has;

	pthread_mutex_lock(&h->lock);
	/* There is no session without TLS. */
	has = web_has_certificate(h->servers->web, info ? info->tls_session : NULL);
	pthread_mutex_unlock(&h->lock);
	return has;
}

/* *wait: the password is not checked yet. The connection is suspended, and libmicrohttpd calls
 * answer() again after the check. */
static bool has_password(struct http *h, struct MHD_Connection *connection, bool *wait)
{
	const char *authorization = header(connection, MHD_HTTP_HEADER_AUTHORIZATION);
	struct connection *c = connection_of(connection);
	const struct web_config *web;
	bool right;

	pthread_mutex_lock(&h->lock);
	web = h->servers->web;
	right = !web->user_count || c->check == RIGHT ||
		(authorization && web_is_known(web, authorization));
	if (!right && authorization && c->check == NOT_CHECKED && !h->stopping) {
		*wait = true;
		password_ask(h, c, authorization);
	}
	pthread_mutex_unlock(&h->lock);
	return right;
}

/* ---- requests ---- */

static enum MHD_Result count_body(void *context, enum MHD_ValueKind kind, const char *name,
				  const char *value)
{
	unsigned *bodies = context;

	(void)kind;
	if (strcasecmp(name, MHD_HTTP_HEADER_TRANSFER_ENCODING) == 0)
		*bodies += 2;
	else if (strcasecmp(name, MHD_HTTP_HEADER_CONTENT_LENGTH) == 0)
		*bodies += !value || strcmp(value, "0") != 0 ? 2 : 1;
	return MHD_YES;
}

/* 0 or 1: it has no body; 2: it has one, whose length one header gives. If two headers give it, a
 * proxy may see another end of it, and take the rest for another request (request smuggling). */
static unsigned bodies_of(struct MHD_Connection *connection)
{
	unsigned bodies = 0;

	MHD_get_connection_values(connection, MHD_HEADER_KIND, count_body, &bodies);
	return bodies;
}

/* ---- choices ---- */

/* Whether the request can be one of a page of another site (CSRF). Browsers send Origin with each
 * POST. */
static bool is_foreign(struct MHD_Connection *connection)
{
	const char *host = header(connection, MHD_HTTP_HEADER_HOST);
	const char *origin = header(connection, MHD_HTTP_HEADER_ORIGIN);
	const char *site = header(connection, "Sec-Fetch-Site");
	const char *name = origin ? strstr(origin, "://") : NULL;

	return (site && strcmp(site, "same-origin") != 0) ||
	       (origin && (!name || !host || strcasecmp(name + 3, host) != 0));
}

/* Why the headers of a request that changes a choice are refused, with the status; NULL: they are
 * not. A form of another site cannot send JSON; a script cannot either, as OPTIONS is refused. */
static const char *refuse_change(struct MHD_Connection *connection, unsigned *code)
{
	const char *length = header(connection, MHD_HTTP_HEADER_CONTENT_LENGTH);
	const char *type = header(connection, MHD_HTTP_HEADER_CONTENT_TYPE);
	size_t len = type ? strcspn(type, "; ") : 0;

	*code = MHD_HTTP_BAD_REQUEST;
	if (!length || !*length || length[strspn(length, "0123456789")] ||
	    bodies_of(connection) != 2)
		return "a change needs a body, and one Content-Length\n";
	*code = CONTENT_TOO_LARGE;
	if (strtoull(length, NULL, 10) > CHOICES_BYTES)
		return "a change is too long: {\"choice\": \"NAME\", \"on\": true} is enough\n";
	*code = MHD_HTTP_FORBIDDEN;
	if (is_foreign(connection))
		return "a page of another site cannot change what is counted; a proxy must pass "
		       "the Host header\n";
	*code = MHD_HTTP_UNSUPPORTED_MEDIA_TYPE;
	return is_word("application/json", strlen("application/json"), type ? type : "", len)
		       ? NULL
		       : "a change needs Content-Type: application/json\n";
}

static enum MHD_Result answer_choices(struct http *h, struct MHD_Connection *connection,
				      unsigned code)
{
	struct buffer text = {0};

	json_print(choices_document(h->setup.choices), JSON_COMPACT, &text);
	return answer_document(h, connection, &text, code);
}

static enum MHD_Result change_choice(struct http *h, struct MHD_Connection *connection)
{
	struct connection *c = connection_of(connection);

	switch (choices_ask(h->setup.choices, c->body, c->body_len)) {
	case CHOICES_UNKNOWN:
		return answer_error(h, connection, MHD_HTTP_NOT_FOUND,
				    "no such choice; see /api/v1/choices\n");
	case CHOICES_TOO_MANY:
		return answer_error(h, connection, MHD_HTTP_TOO_MANY_REQUESTS,
				    "there were too many changes in the last minute\n");
	case CHOICES_MALFORMED:
		return answer_error(h, connection, MHD_HTTP_BAD_REQUEST,
				    "the body must be {\"choice\": \"NAME\", \"on\": true}\n");
	default:
		return answer_choices(h, connection, MHD_HTTP_ACCEPTED);
	}
}

/* libmicrohttpd calls it for the headers, for each piece of the body, and at its end. */
static enum MHD_Result take_change(struct http *h, struct MHD_Connection *connection,
				   const char *piece, size_t *len, bool first)
{
	struct connection *c = connection_of(connection);
	unsigned code;
	const char *why;

	if (first) {
		c->body_len = 0;
		why = refuse_change(connection, &code);
		if (why)
			return answer_error(h, connection, code, why);
		connection_set_deadline(h, connection, HEADERS_NS);
		return MHD_YES;
	}
	if (!*len)
		return change_choice(h, connection);
	if (*len > sizeof(c->body) - c->body_len)
		return MHD_NO; /* more than its Content-Length */
	memcpy(c->body + c->body_len, piece, *len);
	c->body_len += *len;
	*len = 0;
	return MHD_YES;
}

/* ---- health ---- */

/* A kubelet has no password, and the answer has no value: these paths are open to all. */
static bool is_health(const char *path)
{
	return strcmp(path, "/-/healthy") == 0 || strcmp(path, "/-/ready") == 0;
}

static enum MHD_Result answer_health(struct http *h, struct MHD_Connection *connection, bool ready)
{
	const struct health *health = h->setup.health;
	uint64_t until_ns = atomic_load(&health->until_ns);

	if (until_ns && cli_now_ns() > until_ns)
		return answer_error(h, connection, MHD_HTTP_SERVICE_UNAVAILABLE,
				    "no interval has ended in time: counting is blocked\n");
	if (ready && !atomic_load(&health->ready))
		return answer_error(h, connection, MHD_HTTP_SERVICE_UNAVAILABLE,
				    "no interval has ended yet\n");
	return answer_with(h, connection, MHD_HTTP_OK,
			   constant_response(ready ? "ready\n" : "healthy\n"), "text/plain");
}

/* ---- paths ---- */

static enum MHD_Result answer_path(struct http *h, struct MHD_Connection *connection,
				   const char *path)
{
	const struct http_page *page = h->setup.pages;
	struct buffer text = {0};
	const char *accept = header(connection, MHD_HTTP_HEADER_ACCEPT);

	if (is_health(path))
		return answer_health(h, connection, strcmp(path, "/-/ready") == 0);
	if (strcmp(path, "/metrics") == 0)
		return answer_text(h, connection,
				   prefers_openmetrics(accept) ? HTTP_OPENMETRICS : HTTP_METRICS);
	if (strcmp(path, "/api/v1/stream") == 0)
		return answer_with(h, connection, MHD_HTTP_OK, stream_response(h, connection),
				   "text/event-stream");
	if (strcmp(path, "/api/v1/values") == 0) {
		live_put_latest(h->setup.live, &text);
		return text.len ? answer_document(h, connection, &text, MHD_HTTP_OK)
				: answer_error(h, connection, MHD_HTTP_SERVICE_UNAVAILABLE,
					       "the first interval has not ended\n");
	}
	if (strcmp(path, "/api/v1/samples") == 0) {
		live_put_short_samples(h->setup.live,
				       MHD_lookup_connection_value(connection,
								   MHD_GET_ARGUMENT_KIND, "row"),
				       &text);
		return text.len ? answer_document(h, connection, &text, MHD_HTTP_OK)
				: answer_error(
					  h, connection, MHD_HTTP_NOT_FOUND,
					  "?row=INDEX of a row with short samples (--sample)\n");
	}
	if (strcmp(path, "/api/v1/choices") == 0 && h->setup.choices)
		return answer_choices(h, connection, MHD_HTTP_OK);
	for (; page->path; page++)
		if (strcmp(path, page->path) == 0)
			return answer_with(h, connection, MHD_HTTP_OK,
					   constant_response(page->text), page->type);
	return answer_error(h, connection, MHD_HTTP_NOT_FOUND, "not found; there is /metrics\n");
}

/* NOLINTNEXTLINE(readability-function-size): the parameters are libmicrohttpd's */
enum MHD_Result answer(void *context, struct MHD_Connection *connection, const char *path,
		       const char *method, const char *version, const char *upload,
		       size_t *upload_size, void **request)
{
	struct http *h = context;
	bool wait = false, first = !*request, open = is_health(path);
	bool change = h->setup.choices && strcmp(path, "/api/v1/choices") == 0 &&
		      strcmp(method, MHD_HTTP_METHOD_POST) == 0;

	(void)version;
	/* A piece of a body does not extend the time of its request. */
	if (first || !*upload_size)
		connection_set_deadline(h, connection, ANSWER_NS);
	if (!open && !has_certificate(h, connection))
		return answer_error(h, connection, MHD_HTTP_FORBIDDEN,
				    "a certificate of the client is needed\n");
	if (!open && !has_password(h, connection, &wait))
		return wait ? MHD_YES
			    : answer_error(h, connection, MHD_HTTP_UNAUTHORIZED,
					   "a user and password are needed\n");
	if (!change && strcmp(method, MHD_HTTP_METHOD_GET) != 0 &&
	    strcmp(method, MHD_HTTP_METHOD_HEAD) != 0)
		return answer_error(h, connection, MHD_HTTP_METHOD_NOT_ALLOWED,
				    "only GET and HEAD\n");
	if (!change && bodies_of(connection) > 1)
		return answer_error(h, connection, MHD_HTTP_BAD_REQUEST,
				    "a request has no body here\n");
	if (!is_known_host(h, header(connection, MHD_HTTP_HEADER_HOST)))
		return answer_error(h, connection, MHD_HTTP_MISDIRECTED_REQUEST,
				    "the Host header has a name that is not this machine's; "
				    "uncore serve --host NAME allows it\n");
	/* libmicrohttpd calls this twice. After an answer to the first call it would close the
	 * connection. */
	*request = h;
	if (change)
		return take_change(h, connection, upload, upload_size, first);
	if (first)
		return MHD_YES;
	return answer_path(h, connection, path);
}

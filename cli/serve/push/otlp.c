/* SPDX-License-Identifier: MIT */
/* The thread that sends requests of OTLP by libcurl. */
#include "serve/push/otlp.h"

#include <curl/curl.h>
#include <dlfcn.h>
#include <jansson.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>

#include "base/cli.h"

#define TIMEOUT_MS 10000       /* of a request; OpenTelemetry's default */
#define LAST_NS (3 * NS_PER_S) /* of the last request, when the process ends */
#define RETRY_NS NS_PER_S /* wait after the first failure; each further wait is twice as long */
#define RETRY_MOST_NS (60 * NS_PER_S)
#define ANSWER_ROOM 4096
#define AUTHORITY_MOST (16u << 20) /* bytes of OTEL_EXPORTER_OTLP_CERTIFICATE */

/* The functions of libcurl that are used, without their prefix. */
#define FUNCTIONS(DO)     \
	DO(global_init)   \
	DO(easy_init)     \
	DO(easy_setopt)   \
	DO(easy_perform)  \
	DO(easy_getinfo)  \
	DO(easy_strerror) \
	DO(easy_unescape) DO(easy_cleanup) DO(free) DO(slist_append) DO(slist_free_all)

/* libcurl and its dependencies would double the time of each start of the command. Therefore they
 * are loaded only for --otlp. */
struct curl_library {
	void *handle;
/* NOLINTNEXTLINE(bugprone-macro-parentheses): a declarator */
#define MEMBER(name) __typeof__(&curl_##name) name;
	FUNCTIONS(MEMBER)
};

struct otlp {
	struct curl_library lib;
	CURL *curl;
	char *url;
	struct curl_slist *headers;
	char *resource;    /* JSON */
	uint64_t start_ns; /* since 1970 */
	pthread_t thread;
	bool running;
	pthread_mutex_t lock; /* protects what follows */
	pthread_cond_t changed;
	struct buffer body; /* of the request to be sent; empty: none */
	bool stopping;
	uint64_t stop_ns; /* when the last request is aborted */
	/* Used by the thread. */
	bool failed;                /* the last request failed, and this was reported */
	uint64_t wait_ns, retry_ns; /* the wait before it tries again, and the end of the wait */
	char answer[ANSWER_ROOM];
	size_t answer_len;
};

/* ---- the library ---- */

static int load(struct curl_library *lib)
{
	/* First Debian's libcurl with GnuTLS, which serve has loaded already. Both have the same
	 * interface. */
	static const char *const names[] = {"libcurl-gnutls.so.4", "libcurl.so.4"};
	const struct {
		const char *name;
		size_t at;
	} functions[] = {
#define ROW(name) {"curl_" #name, offsetof(struct curl_library, name)},
		FUNCTIONS(ROW)};

	for (size_t i = 0; !lib->handle && i < sizeof(names) / sizeof(*names); i++)
		lib->handle = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
	for (size_t i = 0; lib->handle && i < sizeof(functions) / sizeof(*functions); i++) {
		void *function = dlsym(lib->handle, functions[i].name);

		if (!function)
			return CLI_RUNTIME;
		memcpy((char *)lib + functions[i].at, &function, sizeof(function));
	}
	return lib->handle ? CLI_OK : CLI_RUNTIME;
}

/* ---- the environment ---- */

static char *trim(char *text)
{
	char *end;

	text += strspn(text, " \t");
	for (end = text + strlen(text); end > text && strchr(" \t", end[-1]);)
		*--end = '\0';
	return text;
}

/* Calls take() for each pair of "name=value,name=value", in which characters may be "%2C". */
static void read_list(struct otlp *o, const char *variable, void *into,
		      void (*take)(struct otlp *o, void *into, const char *name, const char *value))
{
	auto_free char *copy = cli_copy(getenv(variable));
	char *rest = copy, *name, *value;

	while (rest && (name = strsep(&rest, ","))) {
		value = strchr(name, '=');
		if (!value)
			continue;
		*value++ = '\0';
		name = o->lib.easy_unescape(o->curl, trim(name), 0, NULL);
		value = o->lib.easy_unescape(o->curl, trim(value), 0, NULL);
		if (name && value && *name)
			take(o, into, name, value);
		o->lib.free(name);
		o->lib.free(value);
	}
}

static void add_header(struct otlp *o, void *into, const char *name, const char *value)
{
	auto_buffer line = {0};

	(void)into;
	buffer_printf(&line, "%s: %s", name, value);
	if (!line.data[strcspn(line.data, "\r\n")])
		o->headers = o->lib.slist_append(o->headers, line.data);
}

static void add_attribute(struct otlp *o, void *into, const char *name, const char *value)
{
	(void)o;
	/* A value that is not UTF-8 is left out. */
	json_object_set_new(into, name, json_string(value));
}

/* The resource is this process on this machine. Collectors turn service.name and
 * service.instance.id into Prometheus' labels `job` and `instance`. */
static char *make_resource(struct otlp *o)
{
	json_t *found = json_object(), *list = json_array(), *value;
	const char *service = getenv("OTEL_SERVICE_NAME");
	struct utsname system = {0};
	char *text;

	uname(&system);
	add_attribute(o, found, "service.name", "uncore");
	add_attribute(o, found, "service.instance.id", system.nodename);
	add_attribute(o, found, "service.version", uncore_version());
	add_attribute(o, found, "host.name", system.nodename);
	read_list(o, "OTEL_RESOURCE_ATTRIBUTES", found, add_attribute);
	if (service && *service)
		add_attribute(o, found, "service.name", service);
	for (void *i = json_object_iter(found); i; i = json_object_iter_next(found, i))
		json_array_append_new(list,
				      json_pack("{s:s, s:{s:O}}", "key", json_object_iter_key(i),
						"value", "stringValue", json_object_iter_value(i)));
	value = json_pack("{s:O}", "attributes", list);
	text = json_dumps(value, JSON_COMPACT);
	json_decref(value);
	json_decref(list);
	json_decref(found);
	return text;
}

/* ---- a request ---- */

static size_t take_answer(char *data, size_t size, size_t count, void *context)
{
	struct otlp *o = context;
	size_t len = size * count, room = sizeof(o->answer) - o->answer_len;

	memcpy(o->answer + o->answer_len, data, len < room ? len : room);
	o->answer_len += len < room ? len : room;
	return len;
}

/* libcurl calls it about once a second during a request. */
static int is_cut(void *context, curl_off_t a, curl_off_t b, curl_off_t c, curl_off_t d)
{
	struct otlp *o = context;
	bool cut;

	(void)a, (void)b, (void)c, (void)d;
	pthread_mutex_lock(&o->lock);
	cut = o->stopping && cli_now_ns() >= o->stop_ns;
	pthread_mutex_unlock(&o->lock);
	return cut;
}

static void set_request(struct otlp *o)
{
	const struct curl_library *lib = &o->lib;
	const char *authority = getenv("OTEL_EXPORTER_OTLP_CERTIFICATE");

	o->headers = lib->slist_append(o->headers, "Content-Type: application/json");
	/* Otherwise libcurl sends "Expect: 100-continue", and waits a second for servers that do
	 * not support it. */
	o->headers = lib->slist_append(o->headers, "Expect:");
	lib->easy_setopt(o->curl, CURLOPT_URL, o->url);
	lib->easy_setopt(o->curl, CURLOPT_HTTPHEADER, o->headers);
	lib->easy_setopt(o->curl, CURLOPT_USERAGENT, "uncore");
	lib->easy_setopt(o->curl, CURLOPT_NOSIGNAL, 1L);
	lib->easy_setopt(o->curl, CURLOPT_TIMEOUT_MS, (long)TIMEOUT_MS);
	lib->easy_setopt(o->curl, CURLOPT_WRITEFUNCTION, take_answer);
	lib->easy_setopt(o->curl, CURLOPT_WRITEDATA, o);
	lib->easy_setopt(o->curl, CURLOPT_XFERINFOFUNCTION, is_cut);
	lib->easy_setopt(o->curl, CURLOPT_XFERINFODATA, o);
	lib->easy_setopt(o->curl, CURLOPT_NOPROGRESS, 0L);
	if (authority && *authority)
		lib->easy_setopt(o->curl, CURLOPT_CAINFO, authority);
}

/* Adds the text of the collector: `message` of an error, or (`partial`) `errorMessage` if it has
 * rejected some values. */
static void put_answer(const struct otlp *o, struct buffer *reason, bool partial)
{
	json_t *answer = json_loadb(o->answer, o->answer_len, 0, NULL);
	json_t *part = partial ? json_object_get(answer, "partialSuccess") : answer;
	const char *message =
		json_string_value(json_object_get(part, partial ? "errorMessage" : "message"));
	json_t *rejected = json_object_get(part, "rejectedDataPoints");
	/* JSON of protobuf writes 64-bit numbers as strings, but some collectors write numbers. */
	long count = json_is_string(rejected) ? strtol(json_string_value(rejected), NULL, 10)
					      : (long)json_integer_value(rejected);

	if (partial && count > 0)
		buffer_printf(reason, "it refuses %ld values", count);
	if ((!partial || count > 0) && message && *message)
		buffer_printf(reason, ": %.300s", message);
	json_decref(answer);
}

/* Sends a request. Returns whether it may succeed later; `reason` stays empty if the collector has
 * accepted all of it. */
static bool post(struct otlp *o, const struct buffer *body, struct buffer *reason)
{
	const struct curl_library *lib = &o->lib;
	long code = 0;
	CURLcode err;

	o->answer_len = 0;
	lib->easy_setopt(o->curl, CURLOPT_POSTFIELDS, body->data);
	lib->easy_setopt(o->curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)body->len);
	err = lib->easy_perform(o->curl);
	if (err)
		buffer_puts(reason, lib->easy_strerror(err));
	else
		lib->easy_getinfo(o->curl, CURLINFO_RESPONSE_CODE, &code);
	if (!err && (code < 200 || code > 299))
		buffer_printf(reason, "HTTP status %ld", code);
	if (!err)
		put_answer(o, reason, !reason->len);
	return err || code == 429 || code == 502 || code == 503 || code == 504;
}

/* ---- the thread ---- */

/* Each wait is twice as long as the last one, or as the collector asks (Retry-After). */
static uint64_t next_wait(struct otlp *o)
{
	uint64_t wait_ns = o->wait_ns ? 2 * o->wait_ns : RETRY_NS;
	curl_off_t asked = 0;

	o->lib.easy_getinfo(o->curl, CURLINFO_RETRY_AFTER, &asked);
	if (asked > 0 && wait_ns < (uint64_t)asked * NS_PER_S)
		wait_ns = (uint64_t)asked * NS_PER_S;
	return wait_ns < RETRY_MOST_NS ? wait_ns : RETRY_MOST_NS;
}

/* Waits for a request, and after a failure until retry_ns. False: the end. */
static bool wait_for_body(struct otlp *o)
{
	while (!o->stopping && (!o->body.len || cli_now_ns() < o->retry_ns)) {
		const struct timespec until = cli_time_of(o->retry_ns);

		if (o->body.len)
			pthread_cond_timedwait(&o->changed, &o->lock, &until);
		else
			pthread_cond_wait(&o->changed, &o->lock);
	}
	return o->body.len && !(o->stopping && o->failed);
}

static void report(const struct otlp *o, const struct buffer *reason)
{
	if (reason->len && !o->failed)
		cli_error("--otlp: %s: %s", o->url, reason->data);
	else if (!reason->len && o->failed)
		cli_error("--otlp: %s accepts the sums again", o->url);
}

static void *run(void *context)
{
	struct otlp *o = context;

	pthread_mutex_lock(&o->lock);
	while (wait_for_body(o)) {
		struct buffer body = o->body, reason = {0};
		bool again;

		o->body = (struct buffer){0};
		pthread_mutex_unlock(&o->lock);
		again = post(o, &body, &reason);
		report(o, &reason);
		pthread_mutex_lock(&o->lock);
		o->failed = reason.len > 0;
		o->wait_ns = o->failed && again ? next_wait(o) : 0;
		o->retry_ns = o->wait_ns ? cli_now_ns() + o->wait_ns : 0;
		if (o->wait_ns && !o->body.len) {
			o->body = body;
			body = (struct buffer){0};
		}
		buffer_free(&body);
		buffer_free(&reason);
	}
	pthread_mutex_unlock(&o->lock);
	return NULL;
}

/* ---- the interface ---- */

/* libcurl opens this file at each request, and would wait for the writer of a FIFO. */
static int check_authority(void)
{
	const char *path = getenv("OTEL_EXPORTER_OTLP_CERTIFICATE");
	auto_buffer text = {0};
	const char *why = path && *path ? buffer_read_file(&text, path, AUTHORITY_MOST) : NULL;

	if (why)
		cli_error("OTEL_EXPORTER_OTLP_CERTIFICATE: %s: %s", path, why);
	return why ? CLI_RUNTIME : CLI_OK;
}

static int check_url(const char *url)
{
	const char *host = strncmp(url, "http://", 7) == 0    ? url + 7
			   : strncmp(url, "https://", 8) == 0 ? url + 8
							      : NULL;
	size_t len = host ? strcspn(host, "/?#") : 0;

	if (!len)
		cli_error("--otlp: '%s' is not http://HOST:PORT or https://HOST:PORT", url);
	else if (memchr(host, '@', len))
		cli_error("--otlp: a password is for OTEL_EXPORTER_OTLP_HEADERS: all users of the "
			  "machine see the command line");
	else
		return CLI_OK;
	return CLI_USAGE;
}

int otlp_open(struct otlp **out, const char *url)
{
	struct otlp *o;
	struct buffer whole = {0};
	pthread_condattr_t clock;
	int status = check_url(url);

	if (!status)
		status = check_authority();
	if (status)
		return status;
	o = cli_realloc(NULL, 1, sizeof(*o));
	*o = (struct otlp){.start_ns = cli_clock_ns(CLOCK_REALTIME)};
	pthread_condattr_init(&clock);
	pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
	pthread_cond_init(&o->changed, &clock);
	pthread_condattr_destroy(&clock);
	pthread_mutex_init(&o->lock, NULL);
	/* The standard's path, if the URL has none. */
	buffer_puts(&whole, url);
	if (!strchr(strstr(url, "://") + 3, '/'))
		buffer_puts(&whole, "/v1/metrics");
	o->url = whole.data;
	status = load(&o->lib);
	if (status || o->lib.global_init(CURL_GLOBAL_DEFAULT) || !(o->curl = o->lib.easy_init())) {
		cli_error("--otlp: libcurl.so.4 cannot be loaded: install libcurl");
		status = CLI_RUNTIME;
	} else {
		read_list(o, "OTEL_EXPORTER_OTLP_HEADERS", NULL, add_header);
		set_request(o);
		o->resource = make_resource(o);
	}
	if (status)
		otlp_close(o);
	else
		*out = o;
	return status;
}

int otlp_start(struct otlp *o)
{
	sigset_t all, old;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	o->running = !pthread_create(&o->thread, NULL, run, o);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (!o->running)
		cli_error("--otlp: its thread does not start");
	return o->running ? CLI_OK : CLI_RUNTIME;
}

void otlp_publish(struct otlp *o, const struct series_set *set, const struct uncore *u,
		  const struct exposition_self *self)
{
	struct buffer before, body = {0};

	otlp_json(&body, o->resource, o->start_ns, set, u, self);
	pthread_mutex_lock(&o->lock);
	before = o->body;
	o->body = body;
	pthread_cond_signal(&o->changed);
	pthread_mutex_unlock(&o->lock);
	buffer_free(&before);
}

void otlp_close(struct otlp *o)
{
	if (!o)
		return;
	if (o->running) {
		pthread_mutex_lock(&o->lock);
		o->stopping = true;
		o->stop_ns = cli_now_ns() + (o->failed ? 0 : LAST_NS);
		pthread_cond_signal(&o->changed);
		pthread_mutex_unlock(&o->lock);
		pthread_join(o->thread, NULL);
	}
	if (o->curl)
		o->lib.easy_cleanup(o->curl);
	if (o->headers)
		o->lib.slist_free_all(o->headers);
	/* The library stays loaded: otherwise LeakSanitizer would report what it keeps. */
	pthread_cond_destroy(&o->changed);
	pthread_mutex_destroy(&o->lock);
	buffer_free(&o->body);
	free(o->resource);
	free(o->url);
	free(o);
}

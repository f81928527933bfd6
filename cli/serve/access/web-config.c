/* SPDX-License-Identifier: MIT */
#include "serve/access/web-config.h"

#include <crypt.h>
#include <gnutls/crypto.h>
#include <gnutls/gnutls.h>
#include <gnutls/x509.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "base/buffer.h"
#include "base/cli.h"
#include "serve/access/settings.h"

#define WEB_SALTED 29        /* characters before the hash itself */
#define COST_LEAST 4         /* bcrypt's own limit */
#define COST_MOST 15         /* takes 3 s; each step doubles the time */
#define FILE_MOST (1u << 20) /* bytes of a certificate or key */

/* ---- keys ---- */

struct key {
	const char *name;
	/* Stores a value. Returns NULL, or the end of an error: "is ...". */
	const char *(*take)(struct web_config *w, const char *text, const struct key *k);
	size_t at;                /* offset in the configuration */
	const char *const *words; /* the end of an error, then the possible values */
};

static const char *take_text(struct web_config *w, const char *text, const struct key *k)
{
	*(char **)((char *)w + k->at) = cli_copy(text);
	return NULL;
}

/* Paths are relative to the directory of the configuration, as in Prometheus. */
static const char *take_path(struct web_config *w, const char *text, const struct key *k)
{
	const char *slash = strrchr(w->file.path, '/');
	struct buffer path = {0};

	if (*text != '/' && slash)
		buffer_add(&path, w->file.path, (size_t)(slash - w->file.path) + 1);
	buffer_puts(&path, text);
	*(char **)((char *)w + k->at) = path.data;
	return NULL;
}

static const char *take_word(struct web_config *w, const char *text, const struct key *k)
{
	const size_t i = cli_word(k->words + 1, text);

	if (!k->words[1 + i])
		return k->words[0];
	*(int *)((char *)w + k->at) = (int)i;
	return NULL;
}

static const char *const clients[] = {
	"is NoClientCert, VerifyClientCertIfGiven or RequireAndVerifyClientCert", "NoClientCert",
	"VerifyClientCertIfGiven", "RequireAndVerifyClientCert", NULL};
static const char *const versions[] = {
	"is TLS10, TLS11, TLS12 or TLS13", "TLS10", "TLS11", "TLS12", "TLS13", NULL};
static const char *const booleans[] = {"is true or false", "false", "true", NULL};
enum { TLS_1_2 = 2, TLS_1_3 };

#define AT(member) offsetof(struct web_config, member)
#define HEADER "http_server_config.headers."
#define USERS "basic_auth_users."
static const struct key keys[] = {
	{HEADER "X-Content-Type-Options", take_text, AT(headers[0]), NULL},
	{HEADER "Content-Security-Policy", take_text, AT(headers[1]), NULL},
	{HEADER "X-Frame-Options", take_text, AT(headers[2]), NULL},
	{HEADER "X-XSS-Protection", take_text, AT(headers[3]), NULL},
	{HEADER "Strict-Transport-Security", take_text, AT(headers[4]), NULL},
	{"http_server_config.http2", take_word, AT(http2),
	 booleans}, /* accepted, but not offered */
	{"tls_server_config.cert_file", take_path, AT(certificate.path), NULL},
	{"tls_server_config.key_file", take_path, AT(key.path), NULL},
	{"tls_server_config.client_ca_file", take_path, AT(client_ca.path), NULL},
	{"tls_server_config.client_auth_type", take_word, AT(client), clients},
	{"tls_server_config.min_version", take_word, AT(min_version), versions},
	{"tls_server_config.max_version", take_word, AT(max_version), versions},
	{NULL, NULL, 0, NULL},
};

const char *web_header_name(size_t i)
{
	return keys[i].name + strlen(HEADER);
}

static int cost_of(const char *hash)
{
	return (hash[4] - '0') * 10 + hash[5] - '0';
}

/* Refuses hashes that no password can have, since the user could not log in, and costs that take
 * minutes. */
static const char *check_hash(const char *hash)
{
	static const char
		digits[] = "0123456789",
		alphabet[] = "./ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
	int cost;

	if (strlen(hash) != WEB_HASH || strncmp(hash, "$2", 2) != 0 || !strchr("abxy", hash[2]) ||
	    hash[3] != '$' || !strchr(digits, hash[4]) || !strchr(digits, hash[5]) ||
	    hash[6] != '$' || strspn(hash + 7, alphabet) != WEB_HASH - 7)
		return "is a hash of bcrypt: htpasswd -nBC 10 ''";
	/* 23 bytes in 31 characters of 6 bits: the last two bits are 0. */
	if ((strchr(alphabet, hash[WEB_HASH - 1]) - alphabet) % 4)
		return "is no hash of bcrypt: its last character cannot be right";
	cost = cost_of(hash);
	if (cost < COST_LEAST || cost > COST_MOST)
		return "has a cost that is not 04 to 15: htpasswd -nBC 10 ''";
	return NULL;
}

static const char *take_user(struct web_config *w, const char *name, const char *hash)
{
	const char *wrong = check_hash(hash);

	if (!*name || strchr(name, ':'))
		return "is not a valid user name: it is empty, or has a colon";
	if (wrong)
		return wrong;
	w->users = cli_realloc(w->users, w->user_count + 1, sizeof(*w->users));
	w->users[w->user_count++] =
		(struct web_user){.name = cli_copy(name), .hash = cli_copy(hash)};
	return NULL;
}

static int take(struct web_config *w, const struct setting *s)
{
	bool user = strncmp(s->name, USERS, strlen(USERS)) == 0;
	const struct key *k = keys;
	auto_buffer known = {0};
	const char *wrong;

	while (k->name && strcmp(k->name, s->name) != 0)
		k++;
	if (!k->name && !user) {
		for (k = keys; k->name; k++)
			buffer_printf(&known, "%s, ", k->name);
		cli_error("%s:%d:%d: unknown key '%s'; there are: %s" USERS "USER", w->file.path,
			  s->line, s->column, s->name, buffer_text(&known));
		return CLI_RUNTIME;
	}
	/* A line break in a header would begin another header. */
	if (!s->text || !*s->text || strpbrk(s->text, "\r\n"))
		wrong = "is a text of one line";
	else
		wrong = user ? take_user(w, s->name + strlen(USERS), s->text)
			     : k->take(w, s->text, k);
	if (wrong)
		cli_error("%s:%d:%d: %s %s", w->file.path, s->text_line, s->text_column, s->name,
			  wrong);
	return wrong ? CLI_RUNTIME : CLI_OK;
}

static bool read_keys(struct web_config *w)
{
	struct settings settings;
	int status;

	if (!w->file.path)
		return true;
	if (stat(w->file.path, &w->file.st))
		w->file.st = (struct stat){0};
	status = settings_read(&settings, w->file.path);
	for (size_t i = 0; !status && i < settings.count; i++)
		status = settings.items[i].above ? CLI_OK : take(w, &settings.items[i]);
	settings_free(&settings);
	return !status;
}

/* ---- files ---- */

static bool read_file(struct web_file *file)
{
	struct buffer text = {0};
	const char *why;

	if (!file->path)
		return true;
	if (stat(file->path, &file->st))
		file->st = (struct stat){0};
	why = buffer_read_file(&text, file->path, FILE_MOST);
	file->text = text.data;
	if (!why && !text.len)
		why = "empty";
	if (why)
		cli_error("%s: %s", file->path, why);
	return !why;
}

static bool is_changed(const struct web_file *file)
{
	const struct stat *old = &file->st;
	struct stat now = {0};

	if (!file->path)
		return false;
	if (stat(file->path, &now))
		now = (struct stat){0};
	return now.st_ino != old->st_ino || now.st_dev != old->st_dev ||
	       now.st_size != old->st_size || now.st_mtim.tv_sec != old->st_mtim.tv_sec ||
	       now.st_mtim.tv_nsec != old->st_mtim.tv_nsec ||
	       now.st_ctim.tv_sec != old->st_ctim.tv_sec ||
	       now.st_ctim.tv_nsec != old->st_ctim.tv_nsec;
}

/* Checks keys that depend on each other. */
static bool check(struct web_config *w)
{
	static const char *const names[] = {"1.0", "1.1", "1.2", "1.3"};
	const char *wrong = NULL;
	size_t len = (size_t)snprintf(w->priorities, sizeof(w->priorities), "NORMAL:-VERS-ALL");

	for (int v = w->max_version; v >= w->min_version; v--)
		len += (size_t)snprintf(w->priorities + len, sizeof(w->priorities) - len,
					":+VERS-TLS%s", names[v]);
	if (!w->certificate.path != !w->key.path)
		wrong = "cert_file and key_file need each other";
	else if (!w->certificate.path && w->client_ca.path)
		wrong = "client_ca_file needs cert_file";
	else if ((w->client != WEB_NO_CERTIFICATE) != !!w->client_ca.path)
		wrong = "client_auth_type with a certificate and client_ca_file need each other";
	else if (w->min_version > w->max_version)
		wrong = "min_version is above max_version";
	if (wrong)
		cli_error("%s: tls_server_config: %s", w->file.path, wrong);
	return !wrong;
}

int web_read(struct web_config **out, const char *path)
{
	struct web_config *w = cli_realloc(NULL, 1, sizeof(*w));
	bool right;

	*w = (struct web_config){
		.file.path = cli_copy(path), .min_version = TLS_1_2, .max_version = TLS_1_3};
	right = read_keys(w) && check(w);
	/* All files are read after an error, too: web_changed() needs their times. */
	right &= read_file(&w->certificate);
	right &= read_file(&w->key);
	right &= read_file(&w->client_ca);
	if (!w->headers[0])
		w->headers[0] = cli_copy("nosniff");
	*out = w;
	return right ? CLI_OK : CLI_RUNTIME;
}

bool web_changed(const struct web_config *w)
{
	return is_changed(&w->file) || is_changed(&w->certificate) || is_changed(&w->key) ||
	       is_changed(&w->client_ca);
}

static void free_file(struct web_file *file)
{
	if (file->text)
		explicit_bzero(file->text, strlen(file->text));
	free(file->text);
	free(file->path);
}

void web_free(struct web_config *w)
{
	if (!w)
		return;
	free_file(&w->file);
	free_file(&w->certificate);
	free_file(&w->key);
	free_file(&w->client_ca);
	for (size_t i = 0; i < w->user_count; i++) {
		free(w->users[i].name);
		free(w->users[i].hash);
	}
	free(w->users);
	for (size_t i = 0; i < WEB_HEADERS; i++)
		free(w->headers[i]);
	free(w);
}

/* ---- clients ---- */

bool web_is_closed(const struct web_config *w)
{
	return w->user_count || w->client == WEB_REQUIRED;
}

bool web_has_certificate(const struct web_config *w, void *session)
{
	gnutls_typed_vdata_st purpose = {.type = GNUTLS_DT_KEY_PURPOSE_OID,
					 .data = (void *)(uintptr_t)GNUTLS_KP_TLS_WWW_CLIENT};
	unsigned status = 0, count = 0;

	if (w->client == WEB_NO_CERTIFICATE)
		return true;
	if (!session || !gnutls_certificate_get_peers(session, &count) || !count)
		return w->client == WEB_IF_GIVEN;
	return gnutls_certificate_verify_peers(session, &purpose, 1, &status) == 0 && !status;
}

static void digest(const char *authorization, unsigned char into[WEB_DIGEST])
{
	gnutls_hash_fast(GNUTLS_DIG_SHA256, authorization, strlen(authorization), into);
}

bool web_is_known(const struct web_config *w, const char *authorization)
{
	unsigned char found[WEB_DIGEST];
	bool known = false;

	digest(authorization, found);
	for (size_t i = 0; i < w->user_count; i++)
		known |= w->users[i].known &&
			 gnutls_memcmp(w->users[i].digest, found, WEB_DIGEST) == 0;
	return known;
}

/* Returns "user:password" of "Basic BASE64", or NULL. */
static char *decode(const char *authorization)
{
	static const char scheme[] = "Basic ";
	gnutls_datum_t coded, text;
	char *copy = NULL;

	if (strncasecmp(authorization, scheme, strlen(scheme)) != 0)
		return NULL;
	authorization += strlen(scheme);
	coded.data = (unsigned char *)(uintptr_t)authorization;
	coded.size = (unsigned)strlen(authorization);
	if (gnutls_base64_decode2(&coded, &text) < 0)
		return NULL;
	/* crypt_rn() would end the password at a NUL. */
	if (!memchr(text.data, '\0', text.size))
		copy = calloc(1, (size_t)text.size + 1);
	if (copy)
		memcpy(copy, text.data, text.size);
	gnutls_memset(text.data, 0, text.size);
	gnutls_free(text.data);
	return copy;
}

void web_login_begin(struct web_login *l, const struct web_config *w, const char *authorization)
{
	size_t i = 0, user = 0;

	*l = (struct web_login){.name = decode(authorization)};
	l->password = l->name ? strchr(l->name, ':') : NULL;
	if (!l->password || !w->user_count)
		return;
	*l->password++ = '\0';
	for (; i < w->user_count; i++) {
		if (strcmp(w->users[i].name, l->name) == 0) {
			l->is_user = true;
			user = i;
		}
		if (cost_of(w->users[i].hash) > l->most)
			l->most = cost_of(w->users[i].hash);
	}
	memcpy(l->hash, w->users[user].hash, sizeof(l->hash));
}

bool web_login_check(const struct web_login *l)
{
	struct crypt_data *data = calloc(1, sizeof(*data));
	char setting[WEB_HASH + 1];
	const char *found;
	bool right = false;

	if (l->most && data) {
		found = crypt_rn(l->password, l->hash, data, sizeof(*data));
		/* Without the salt, since not all of its bits count. */
		right = found && strlen(found) == WEB_HASH && l->is_user &&
			gnutls_memcmp(found + WEB_SALTED, l->hash + WEB_SALTED,
				      WEB_HASH - WEB_SALTED) == 0;
		/* Each cost takes twice the time of the cost below. The times of c (above), c,
		 * c + 1 ... m - 1 add up to the time of m. */
		memcpy(setting, l->hash, sizeof(setting));
		for (int cost = cost_of(l->hash); !right && cost < l->most; cost++) {
			setting[4] = (char)('0' + cost / 10);
			setting[5] = (char)('0' + cost % 10);
			crypt_rn(l->password, setting, data, sizeof(*data));
		}
		explicit_bzero(data, sizeof(*data));
	}
	free(data);
	return right;
}

void web_login_free(struct web_login *l)
{
	if (l->password)
		explicit_bzero(l->password, strlen(l->password));
	free(l->name);
}

bool web_remember(struct web_config *w, const char *authorization, const struct web_login *l)
{
	for (size_t i = 0; i < w->user_count; i++) {
		struct web_user *user = &w->users[i];

		if (strcmp(user->name, l->name) != 0 || strcmp(user->hash, l->hash) != 0)
			continue;
		digest(authorization, user->digest);
		user->known = true;
		return true;
	}
	return false;
}

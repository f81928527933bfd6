/* SPDX-License-Identifier: MIT */
/* The file of --web-config: TLS, passwords and headers, in the format of Prometheus'
 * exporter-toolkit. */
#ifndef CLI_WEB_CONFIG_H
#define CLI_WEB_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>

/* Certificates of clients. */
enum web_client { WEB_NO_CERTIFICATE, WEB_IF_GIVEN, WEB_REQUIRED };

/* A file that a change of is looked for. */
struct web_file {
	char *path; /* NULL: none */
	char *text;
	struct stat st; /* before it was read; all 0: it could not be */
};

#define WEB_HASH 60 /* of bcrypt: "$2y$10$", 22 of salt, 31 */
#define WEB_DIGEST 32
struct web_user {
	char *name, *hash;
	bool known;                       /* it has come with the right password, */
	unsigned char digest[WEB_DIGEST]; /* in this Authorization header */
};

#define WEB_HEADERS 5

struct web_config {
	struct web_file file, certificate, key, client_ca;
	int client; /* enum web_client */
	int min_version, max_version, http2;
	struct web_user *users;
	size_t user_count;
	char *headers[WEB_HEADERS]; /* values; NULL: not set */
	char priorities[80];        /* of GnuTLS */
};

/* Reads the file and the files that it names. NULL: no file, an empty configuration. Prints what is
 * wrong. Returns an exit code; after an error *out serves for web_changed() only: whether another
 * try is worth it. */
int web_read(struct web_config **out, const char *path);
bool web_changed(const struct web_config *w);
void web_free(struct web_config *w);

const char *web_header_name(size_t i);

/* Whether only clients with a password or certificate get an answer. */
bool web_is_closed(const struct web_config *w);

/* Whether GnuTLS' session (NULL: no TLS) has the certificate that is asked for. */
bool web_has_certificate(const struct web_config *w, void *session);

/* Whether the header has come with the right password before. */
bool web_is_known(const struct web_config *w, const char *authorization);

/* A login to be checked: copies, as the configuration may be replaced meanwhile. */
struct web_login {
	char *name, *password;   /* NULL: malformed */
	char hash[WEB_HASH + 1]; /* of an unknown user any */
	int most;                /* the highest cost of all users */
	bool is_user;
};
void web_login_begin(struct web_login *l, const struct web_config *w, const char *authorization);
/* Takes the time of the highest cost when the password is wrong, for any user. */
bool web_login_check(const struct web_login *l);
void web_login_free(struct web_login *l);
/* For web_is_known(), after a right password. False: the configuration has that user no more. */
bool web_remember(struct web_config *w, const char *authorization, const struct web_login *l);

#endif

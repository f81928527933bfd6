/* SPDX-License-Identifier: MIT */
/* The file of --web-config: TLS, passwords and headers, in the format of Prometheus'
 * exporter-toolkit. */
#ifndef CLI_WEB_CONFIG_H
#define CLI_WEB_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>

/* Whether clients need a certificate. */
enum web_client { WEB_NO_CERTIFICATE, WEB_IF_GIVEN, WEB_REQUIRED };

/* A file of which web_changed() looks for changes. */
struct web_file {
	char *path; /* NULL: none */
	char *text;
	struct stat st; /* before the file was read; all 0: stat() failed */
};

#define WEB_HASH 60 /* characters of bcrypt: "$2y$10$", 22 of the salt, 31 of the hash */
#define WEB_DIGEST 32
struct web_user {
	char *name, *hash;
	bool known;                       /* a request had the right password */
	unsigned char digest[WEB_DIGEST]; /* of the Authorization header of that request */
};

#define WEB_HEADERS 5

struct web_config {
	struct web_file file, certificate, key, client_ca;
	int client; /* enum web_client */
	int min_version, max_version, http2;
	struct web_user *users;
	size_t user_count;
	char *headers[WEB_HEADERS]; /* values; NULL: not set */
	char priorities[80];        /* TLS versions, as a priority string of GnuTLS */
};

/* Reads the file (NULL: none, the configuration is empty) and the files that it names. Prints an
 * error, and returns an exit code. After an error *out can only be used for web_changed(). */
int web_read(struct web_config **out, const char *path);
bool web_changed(const struct web_config *w);
void web_free(struct web_config *w);

const char *web_header_name(size_t i);

/* Whether only clients with a password or certificate get an answer. */
bool web_is_closed(const struct web_config *w);

/* Whether GnuTLS' session (NULL: no TLS) has the certificate that is asked for. */
bool web_has_certificate(const struct web_config *w, void *session);

/* Whether an earlier request with the same Authorization header had the right password. */
bool web_is_known(const struct web_config *w, const char *authorization);

/* A login to be checked. It has copies, since the configuration may be replaced during the
 * check. */
struct web_login {
	char *name, *password;   /* NULL: the header is malformed */
	char hash[WEB_HASH + 1]; /* of the user; of an unknown user that of another one */
	int most;                /* the highest bcrypt cost of all users */
	bool is_user;
};
void web_login_begin(struct web_login *l, const struct web_config *w, const char *authorization);
/* A wrong password takes the time of the highest cost, so that the time tells nothing about
 * users. */
bool web_login_check(const struct web_login *l);
void web_login_free(struct web_login *l);
/* Call after a right password: web_is_known() is true from then on. False: the configuration does
 * not have this user any more. */
bool web_remember(struct web_config *w, const char *authorization, const struct web_login *l);

#endif

/* SPDX-License-Identifier: MIT */
/* The thread that checks passwords: bcrypt takes long, and other threads must not wait for it. */
#include <stdlib.h>
#include <string.h>

#include "base/cli.h"
#include "serve/server.h"

#define FORGET_NS (60 * NS_PER_S) /* after which wrong passwords of an address do not count */

/* One client can have all addresses of an IPv6 network of 64 bits, which therefore counts as one
 * address. */
static void take_address(unsigned char into[ORIGIN_BYTES], int fd)
{
	union address a = {0};
	socklen_t length = sizeof(a);

	memset(into, 0, ORIGIN_BYTES);
	if (getpeername(fd, &a.any, &length))
		return;
	if (a.any.sa_family == AF_INET)
		memcpy(into, &a.in.sin_addr, 4);
	else if (a.any.sa_family == AF_INET6 && IN6_IS_ADDR_V4MAPPED(&a.in6.sin6_addr))
		memcpy(into, a.in6.sin6_addr.s6_addr + 12, 4);
	else if (a.any.sa_family == AF_INET6)
		memcpy(into, a.in6.sin6_addr.s6_addr, 8);
}

/* The origin of a client. A new one replaces the one that was seen longest ago, except for those
 * with passwords to be checked. */
static struct origin *origin_of(struct http *h, int fd)
{
	unsigned char address[ORIGIN_BYTES];
	struct origin *oldest = h->origins;
	uint64_t now = cli_now_ns();

	take_address(address, fd);
	for (size_t i = 0; i < ORIGINS; i++) {
		struct origin *o = &h->origins[i];

		if (memcmp(o->address, address, ORIGIN_BYTES) == 0) {
			if (now > o->seen_ns + FORGET_NS)
				o->failures = 0;
			o->seen_ns = now;
			return o;
		}
		if ((o->waiting ? UINT64_MAX : o->seen_ns) <
		    (oldest->waiting ? UINT64_MAX : oldest->seen_ns))
			oldest = o;
	}
	/* There may be more clients than origins: if all origins wait, two addresses share one. */
	if (!oldest->waiting)
		*oldest = (struct origin){.seen_ns = now};
	memcpy(oldest->address, address, ORIGIN_BYTES);
	return oldest;
}

void password_ask(struct http *h, struct connection *c, const char *authorization)
{
	c->check = ASKED;
	c->authorization = cli_copy(authorization);
	c->origin = origin_of(h, c->fd);
	c->origin->waiting++;
	MHD_suspend_connection(c->mhd);
	pthread_cond_signal(&h->asked);
}

/* The next password to check; NULL: none waits. The address with the fewest wrong passwords is
 * first, so that many of them from one address do not delay others. Among its passwords the oldest
 * one is first, which is the last of the list. Call with the lock held. */
static struct connection *next_asked(struct http *h)
{
	struct connection *next = NULL;

	for (struct connection *c = h->connections; c; c = c->next)
		if (c->check == ASKED && (!next || c->origin->failures <= next->origin->failures))
			next = c;
	return next;
}

/* libmicrohttpd does not free a suspended connection, so that `c` is valid. Call with the lock
 * held. */
static void answer_asked(struct connection *c, bool right)
{
	c->check = right ? RIGHT : WRONG;
	c->origin->waiting--;
	c->origin->failures += !right;
	free(c->authorization);
	c->authorization = NULL;
	MHD_resume_connection(c->mhd);
}

static void *run(void *context)
{
	struct http *h = context;
	struct connection *c;
	struct web_login login;
	bool right;

	pthread_mutex_lock(&h->lock);
	while (!h->stopping) {
		c = next_asked(h);
		if (!c) {
			pthread_cond_wait(&h->asked, &h->lock);
			continue;
		}
		right = false;
		/* A client that was cut meanwhile is refused without a check. */
		if (c->deadline_ns != UINT64_MAX) {
			web_login_begin(&login, h->servers->web, c->authorization);
			pthread_mutex_unlock(&h->lock);
			right = web_login_check(&login);
			pthread_mutex_lock(&h->lock);
			right = right && web_remember(h->servers->web, c->authorization, &login);
			web_login_free(&login);
		}
		answer_asked(c, right);
	}
	while ((c = next_asked(h)))
		answer_asked(c, false);
	pthread_mutex_unlock(&h->lock);
	return NULL;
}

bool passwords_start(struct http *h)
{
	h->checks = !pthread_create(&h->checker, NULL, run, h);
	return h->checks;
}

void passwords_stop(struct http *h)
{
	if (!h->checks)
		return;
	pthread_mutex_lock(&h->lock);
	pthread_cond_signal(&h->asked);
	pthread_mutex_unlock(&h->lock);
	pthread_join(h->checker, NULL);
}

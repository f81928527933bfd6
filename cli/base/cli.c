/* SPDX-License-Identifier: MIT */
/* What all commands share: clean text, error sentences, exit codes, memory, the clock, signals. */
#include "base/cli.h"

#include <errno.h>
#include <fnmatch.h>
#include <math.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>

/* The length of the character at `text` and its code; 0: this byte begins none. */
static size_t decode(const unsigned char *text, size_t len, uint32_t *code)
{
	static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
	size_t size = *text < 0x80 ? 1 : *text < 0xc0 ? 0 : *text < 0xe0 ? 2 : *text < 0xf0 ? 3 : 4;

	if (size > len || !size || *text >= 0xf8)
		return 0;
	*code = size == 1 ? *text : *text & (0x7fu >> size);
	for (size_t i = 1; i < size; i++) {
		if ((text[i] & 0xc0) != 0x80)
			return 0;
		*code = *code << 6 | (text[i] & 0x3fu);
	}
	return *code < least[size] || *code > 0x10ffff || *code >> 11 == 0xd800 >> 11 ? 0 : size;
}

#define EACH(byte) ((uint64_t)(byte)*0x0101010101010101)

size_t cli_clean(char *text, size_t len, const char *kept)
{
	/* Controls and invisible characters: zero width, direction of writing, tags. */
	static const struct {
		uint32_t first, last;
	} hidden[] = {
		{0, 0x1f},        {0x7f, 0x9f},       {0xad, 0xad},     {0x61c, 0x61c},
		{0x200b, 0x200f}, {0x2028, 0x202e},   {0x2060, 0x206f}, {0xfeff, 0xfeff},
		{0xfff9, 0xfffb}, {0xe0000, 0xe0fff},
	};
	size_t plain = 0, out;

	/* Checks eight bytes at once: the lowest byte that is not plain sets its highest bit in the
	 * difference or the sum. */
	for (uint64_t word; plain + sizeof(word) <= len; plain += sizeof(word)) {
		memcpy(&word, text + plain, sizeof(word));
		if (((word - EACH(' ')) | (word + EACH(1))) & EACH(0x80))
			break;
	}
	while (plain < len && ((text[plain] >= ' ' && text[plain] < 0x7f) ||
			       (text[plain] && strchr(kept, text[plain]))))
		plain++;
	out = plain;
	for (size_t at = plain, size; at < len; at += size) {
		uint32_t code = 0;
		bool seen;

		size = decode((const unsigned char *)text + at, len - at, &code);
		seen = size > 0;
		for (size_t i = 0; seen && i < sizeof(hidden) / sizeof(*hidden); i++)
			seen = code < hidden[i].first || code > hidden[i].last;
		if (seen || (size == 1 && code && strchr(kept, (int)code))) {
			memmove(text + out, text + at, size);
			out += size;
		} else {
			text[out++] = '?';
			size = size ? size : 1;
		}
	}
	return out;
}

static bool waiting;

void cli_wait(const char *fmt, ...)
{
	const char *term = getenv("TERM");
	va_list args;

	if (!isatty(STDERR_FILENO) || !term || strcmp(term, "dumb") == 0)
		return;
	cli_waited();
	va_start(args, fmt);
	vfprintf(stderr, fmt, args);
	va_end(args);
	waiting = true;
}

void cli_waited(void)
{
	if (waiting)
		fputs("\r\033[K", stderr);
	waiting = false;
}

/* On a terminal the text is folded to its width, except after its first line end: an event and a
 * caret follow there. */
static void put_sentence(const char *text)
{
	static const char label[] = "uncore: ";
	const size_t indent = sizeof(label) - 1;
	struct winsize size = {0};
	size_t room = SIZE_MAX, part;

	if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 2 * indent)
		room = size.ws_col - indent;
	fputs(label, stderr);
	while (strcspn(text, "\n") > room) {
		for (part = room; part && text[part] != ' '; part--)
			;
		/* A word that is too long is cut between characters. */
		for (part = part ? part : room; part > 1 && (text[part] & 0xc0) == 0x80; part--)
			;
		fprintf(stderr, "%.*s\n%*s", (int)part, text, (int)indent, "");
		text += part + (text[part] == ' ');
	}
	fprintf(stderr, "%s\n", text);
}

static void (*before_error)(void);

void cli_before_error(void (*call)(void))
{
	before_error = call;
}

void cli_error(const char *fmt, ...)
{
	char some[1024]; /* a fixed buffer, since memory may have run out */
	char *text = some, *more = NULL;
	va_list args;
	int len;

	va_start(args, fmt);
	len = vsnprintf(some, sizeof(some), fmt, args);
	va_end(args);
	if (len >= (int)sizeof(some)) {
		va_start(args, fmt);
		if (vasprintf(&more, fmt, args) >= 0)
			text = more;
		va_end(args);
	}
	text[cli_clean(text, strlen(text), "\n")] = '\0';
	/* The library may show a mistake on the lines below its message; a name may also have line
	 * ends. */
	for (char *end = text; (end = strchr(end, '\n')); end++)
		if (strncmp(end, "\n  ", 3) != 0)
			*end = '?';
	cli_waited();
	if (before_error)
		before_error();
	put_sentence(text);
	if (text == more)
		free(more);
}

int cli_exit_code(int err)
{
	switch (-err) {
	case 0:
		return CLI_OK;
	case EINVAL:
	case ENOENT: /* a metric, a source or a directory that the user named */
	case ENOTDIR:
		return CLI_USAGE;
	case ENODEV:
	case ENXIO:
	case ENOSYS:
	case EOPNOTSUPP:
		return CLI_UNAVAILABLE;
	case EACCES:
	case EPERM:
		return CLI_DENIED;
	default:
		return CLI_RUNTIME;
	}
}

int cli_fail(const struct cli *cli, int err)
{
	const char *why = cli->u ? uncore_error(cli->u) : "";

	cli_error("%s", *why ? why : strerror(-err));
	return cli_exit_code(err);
}

/* ---- time ---- */

uint64_t cli_ns_of(struct timespec time)
{
	return (uint64_t)time.tv_sec * NS_PER_S + (uint64_t)time.tv_nsec;
}

struct timespec cli_time_of(uint64_t ns)
{
	return (struct timespec){(time_t)(ns / NS_PER_S), (long)(ns % NS_PER_S)};
}

uint64_t cli_clock_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return cli_ns_of(now);
}

uint64_t cli_now_ns(void)
{
	return cli_clock_ns(CLOCK_MONOTONIC);
}

void cli_date(char into[DATE_ROOM], uint64_t wall_ns)
{
	const size_t size = DATE_ROOM;
	time_t seconds = (time_t)(wall_ns / NS_PER_S);
	struct tm tm;
	size_t len;

	gmtime_r(&seconds, &tm);
	len = strftime(into, size, "%Y-%m-%dT%H:%M:%S", &tm);
	snprintf(into + len, size - len, ".%03uZ", (unsigned)(wall_ns % NS_PER_S / NS_PER_MS));
}

int cli_sleep_until(uint64_t then_ns, int stop_fd)
{
	struct pollfd fd = {.fd = stop_fd, .events = POLLIN};
	uint64_t now;

	do {
		struct timespec rest;

		now = cli_now_ns();
		rest = cli_time_of(then_ns > now ? then_ns - now : 0);
		if (ppoll(&fd, 1, &rest, NULL) > 0)
			return -EINTR;
	} while (now < then_ns);
	return 0;
}

/* ---- memory ---- */

/* The monitor that counts. */
static struct uncore_monitor *running;

void cli_set_running(struct uncore_monitor *m)
{
	running = m;
}

void *cli_realloc(void *old, size_t count, size_t size)
{
	void *p = reallocarray(old, count ? count : 1, size);

	if (!p) {
		cli_error("out of memory");
		uncore_monitor_free(running);
		exit(CLI_RUNTIME);
	}
	return p;
}

void *cli_grow(void *old, size_t count, size_t size)
{
	bool full = (count & (count - 1)) == 0; /* 0, 1, 2, 4 ... */

	return full ? cli_realloc(old, 2 * count, size) : old;
}

void cli_free_local(void *pointer)
{
	free(*(void **)pointer);
}

char *cli_copy(const char *text)
{
	size_t size = text ? strlen(text) + 1 : 0;

	return text ? memcpy(cli_realloc(NULL, size, 1), text, size) : NULL;
}

const struct uncore_metric *cli_metric(const struct uncore *u, const struct uncore_row_query *of)
{
	for (size_t i = 0; of->family && i < uncore_metric_count(u); i++) {
		const struct uncore_metric *m = uncore_metric_at(u, i);

		if (strcmp(uncore_metric_name(m), of->name) == 0 &&
		    strcmp(uncore_metric_family(m), of->family) == 0)
			return m;
	}
	return NULL;
}

struct view_cell cli_view_cell(struct uncore *u, const char *metric)
{
	struct view_cell cell = {0};

	uncore_view_find(u, metric, &cell.view, &cell.column, &cell.rank, &cell.number);
	return cell;
}

size_t cli_number_length(const char *text)
{
	size_t whole = strspn(text, "0123456789");
	size_t fraction;

	if (text[whole] != '.')
		return whole;
	fraction = strspn(text + whole + 1, "0123456789");
	return fraction ? whole + 1 + fraction : 0;
}

bool cli_number(const char **text, double *into)
{
	size_t length = cli_number_length(*text);
	bool hexadecimal = (*text)[length] == 'x' || (*text)[length] == 'X';
	char *end;

	*into = strtod(*text, &end);
	*text = end;
	return length && !hexadecimal && isfinite(*into);
}

int cli_pin(struct cli *cli, const char *text)
{
	unsigned long number = strtoul(text, NULL, 10);
	struct cli_cpus one = {0};

	if (!*text || text[strspn(text, "0123456789")] || number >= 8 * sizeof(one))
		return cli_failure(CLI_USAGE, "--bind-cpu: '%s' is not a number of a CPU", text);
	cli_cpus_add(&one, (int)number);
	cli->pinned = sched_getaffinity(0, sizeof(cli->cpus), cli->cpus.parts) == 0;
	if (cli->pinned && sched_setaffinity(0, sizeof(one), one.parts) == 0)
		return CLI_OK;
	return cli_failure(CLI_USAGE, "--bind-cpu: CPU %lu cannot be used: %s", number,
			   strerror(errno));
}

bool cli_has_unnumbered(const struct uncore *u)
{
	for (size_t i = 0; i < uncore_cpu_count(u); i++)
		if (uncore_cpu_at(u, i)->online && uncore_cpu_at(u, i)->socket < 0)
			return true;
	return false;
}

size_t cli_node_count(const struct uncore *u)
{
	size_t nodes = 0;

	for (size_t i = 0; i < uncore_cpu_count(u); i++) {
		bool seen = uncore_cpu_at(u, i)->node < 0;

		for (size_t k = 0; !seen && k < i; k++)
			seen = uncore_cpu_at(u, k)->node == uncore_cpu_at(u, i)->node;
		nodes += !seen;
	}
	return nodes;
}

const char *cli_sockets(const struct uncore *u, char into[static SOCKETS_ROOM])
{
	size_t count = uncore_socket_count(u);

	if (cli_has_unnumbered(u))
		return "sockets unknown";
	snprintf(into, SOCKETS_ROOM, "%zu socket%s", count, count == 1 ? "" : "s");
	return into;
}

const char *cli_cpu(struct uncore *u, char into[static CPU_ROOM])
{
	const char *brand = uncore_cpu_brand(u), *name = uncore_cpu_name(u);

	if (brand)
		snprintf(into, CPU_ROOM, "%s%s%s", brand, name ? ", " : "", name ? name : "");
	else if (name)
		snprintf(into, CPU_ROOM, "%s (%s)", name, uncore_cpu_model(u));
	else
		snprintf(into, CPU_ROOM, "%s", uncore_cpu_model(u));
	return into;
}

int cli_compare_ints(const void *a, const void *b)
{
	const int *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

bool cli_same(const char *a, const char *b)
{
	return a && b ? strcmp(a, b) == 0 : a == b;
}

size_t cli_word(const char *const *words, const char *word)
{
	size_t i = 0;

	while (words[i] && strcmp(words[i], word) != 0)
		i++;
	return i;
}

bool cli_matches(const char *pattern, const char *text)
{
	if (strpbrk(pattern, "*?["))
		return fnmatch(pattern, text, FNM_CASEFOLD) == 0;
	return strcasestr(text, pattern) != NULL;
}

/* ---- signals ---- */

/* True if the default action ends the process; not for its own faults (SIGSEGV ...). */
static bool ends_process(int sig)
{
	static const int others[] = {SIGQUIT, SIGABRT, SIGALRM, SIGUSR1, SIGUSR2,  SIGVTALRM,
				     SIGPROF, SIGXCPU, SIGIO,   SIGPWR,  SIGSTKFLT};

	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		if (others[i] == sig)
			return true;
	return sig >= SIGRTMIN && sig <= SIGRTMAX;
}

int signals_open(struct signals *s, bool all)
{
	struct sigaction now;
	sigset_t child;

	sigemptyset(&s->stop);
	sigaddset(&s->stop, SIGINT);
	sigaddset(&s->stop, SIGTERM);
	sigaddset(&s->stop, SIGHUP);
	for (int sig = 1; all && sig <= SIGRTMAX; sig++)
		if (ends_process(sig) && sigaction(sig, NULL, &now) == 0 &&
		    now.sa_handler != SIG_IGN)
			sigaddset(&s->stop, sig);
	sigemptyset(&child);
	sigaddset(&child, SIGCHLD);
	/* If the parent ignored it, the exit status of the command would be lost. */
	signal(SIGCHLD, SIG_DFL);
	sigprocmask(SIG_BLOCK, &s->stop, &s->old);
	sigprocmask(SIG_BLOCK, &child, NULL);
	s->stop_fd = signalfd(-1, &s->stop, SFD_CLOEXEC | SFD_NONBLOCK);
	s->child_fd = signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK);
	if (s->stop_fd >= 0 && s->child_fd >= 0)
		return CLI_OK;
	return cli_failure(CLI_RUNTIME, "cannot wait for signals: %s", strerror(errno));
}

void signals_close(struct signals *s)
{
	if (s->stop_fd >= 0)
		close(s->stop_fd);
	if (s->child_fd >= 0)
		close(s->child_fd);
	s->stop_fd = -1;
	s->child_fd = -1;
}

struct signals_seen signals_take(struct signals *s)
{
	struct signals_seen seen = {0};
	struct signalfd_siginfo info;

	while (read(s->child_fd, &info, sizeof(info)) == (ssize_t)sizeof(info))
		seen.child = true;
	while (read(s->stop_fd, &info, sizeof(info)) == (ssize_t)sizeof(info)) {
		seen.stop = (int)info.ssi_signo;
		/* Ctrl-C, Ctrl-\ and a closed terminal reach the command, too; other signals, and
		 * those of SI_USER, SI_QUEUE and SI_TKILL, reach only uncore. */
		seen.personal = info.ssi_code <= 0 || (seen.stop != SIGINT &&
						       seen.stop != SIGQUIT && seen.stop != SIGHUP);
	}
	return seen;
}

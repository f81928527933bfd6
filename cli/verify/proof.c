/* SPDX-License-Identifier: MIT */
/* Reports that are kept, what they say of a metric, and whether they are of this machine. */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/cli.h"
#include "commands/proofs.h"
#include "verify/verify.h"

/* All members 0: there is no report. */
struct proof {
	bool kept;     /* a report of this machine would be kept */
	char *file;    /* the report, or NULL */
	char *ignored; /* why a report was not read, as a sentence; NULL: all were */
	struct verify_run run;
	struct verify_result *results; /* of metrics that this machine has */
	size_t count;
	/* Differences to the machine now, "the kernel (6.1.0 then, 6.8.0 now)"; empty: none. */
	struct buffer changed;
};

#define ENTRY "\nuncore/verify:\n"
#define RELEASE "\nproc/sys/kernel/osrelease = "
#define FILE_MOST ((off_t)64 << 20) /* the limit of snapshots, too */
#define PEAK_SAME 1e-6              /* a report has nine digits of it */
#define SYSTEM "/var/lib/uncore"    /* else systemd's STATE_DIRECTORY */

/* ---- the report that is kept on this machine ---- */

static bool is_absolute(const char *path)
{
	return path && *path == '/';
}

/* The path of the report of the system, written by root, or of this user. "": unknown. False: no
 * report is kept, because `cli` shows a recording, a simulation or another machine. Machines may
 * share a home directory, which therefore has a directory for each machine. */
static bool kept_path(const struct cli *cli, bool of_system, struct buffer *to)
{
	const char *name = NULL, *system = getenv("STATE_DIRECTORY");
	const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
	struct utsname machine;

	/* Reports on registers and on PMUs of the kernel are separate. */
	if (!cli->source || strcmp(cli->source, "kernel") == 0)
		name = "verified.uncore";
	else if (strncmp(cli->source, "regs:", 5) == 0)
		name = "verified-regs.uncore";
	if (!name || cli->root || cli->resctrl)
		return false;
	if (of_system)
		buffer_puts(to, is_absolute(system) ? system : SYSTEM);
	else if (uname(&machine) || !*machine.nodename || *machine.nodename == '.' ||
		 strchr(machine.nodename, '/'))
		return true;
	else if (is_absolute(state))
		buffer_printf(to, "%s/uncore/%s", state, machine.nodename);
	else if (is_absolute(home))
		buffer_printf(to, "%s/.local/state/uncore/%s", home, machine.nodename);
	if (to->len)
		buffer_printf(to, "/%s", name);
	return true;
}

/* Opens a directory that belongs to this user and that no other user can write to. Makes it; for a
 * user also those above it. */
static int open_directory(const char *path, bool of_system)
{
	auto_free char *copy = cli_copy(path);
	struct stat st;
	int fd;

	for (char *end = copy; !of_system && (end = strchr(end + 1, '/'));) {
		*end = '\0';
		mkdir(copy, 0700);
		*end = '/';
	}
	if (mkdir(path, of_system ? 0755 : 0700) && errno != EEXIST)
		return -errno;
	fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) == 0 && st.st_uid == geteuid() && !(st.st_mode & (S_IWGRP | S_IWOTH)))
		return fd;
	close(fd);
	return -EPERM;
}

void kept_write(const struct cli *cli, const struct buffer *report, bool tells)
{
	bool of_system = geteuid() == 0;
	auto_buffer path = {0}, temporary = {0};
	char *name;
	int dir, err;

	if (!kept_path(cli, of_system, &path))
		return;
	if (!path.len) {
		cli_error("note: the report is not kept on this machine: neither XDG_STATE_HOME "
			  "nor HOME is set, or there is no host name");
		return;
	}
	if (!tells && access(path.data, F_OK) == 0) {
		cli_error("note: the last report is kept on this machine, since all verdicts of "
			  "this one are 'cannot tell': %s",
			  path.data);
		return;
	}
	name = strrchr(path.data, '/');
	*name++ = '\0';
	dir = open_directory(path.data, of_system);
	buffer_printf(&temporary, ".%s.%d", name, (int)getpid());
	err = dir < 0 ? -dir : buffer_replace(report, dir, temporary.data, name, 0644, true);
	if (dir >= 0)
		close(dir);
	cli_error("note: the report %s kept on this machine, for doctor and explain: %s/%s%s%s",
		  err ? "is not" : "is", path.data, name, err ? ": " : "",
		  err ? strerror(err) : "");
}

/* ---- a file that may be a report ---- */

static void ignore(struct proof *p, const char *file, const char *why)
{
	struct buffer text = {0};

	if (p->ignored)
		return;
	buffer_printf(&text, "%s: %s", file, why);
	p->ignored = text.data;
}

struct candidate {
	const char *path;
	struct buffer text;
	int64_t written_ns; /* 0: it could not be read */
	bool own;           /* a kept report, which only root and this user may have written */
	bool named;         /* named by --show; may be a pipe */
};

/* Returns NULL, or why it cannot be read; "" for a file that does not exist. */
static const char *read_file(struct candidate *c)
{
	int fd = open(c->path, O_RDONLY | O_CLOEXEC | (c->named ? 0 : O_NONBLOCK) |
				       (c->own ? O_NOFOLLOW : 0));
	const char *why = NULL;
	struct stat st;
	ssize_t n = 1;

	if (fd < 0)
		return errno == ENOENT || errno == ENOTDIR ? "" : strerror(errno);
	if (fstat(fd, &st) || !(S_ISREG(st.st_mode) || c->named))
		why = "not a regular file";
	else if (c->own &&
		 ((st.st_uid != 0 && st.st_uid != geteuid()) || (st.st_mode & (S_IWGRP | S_IWOTH))))
		why = "users other than root and you can write it";
	else if (st.st_size > FILE_MOST)
		why = "larger than 64 MiB";
	while (!why && n > 0) {
		char piece[1 << 14];

		n = read(fd, piece, sizeof(piece));
		if (n < 0)
			why = strerror(errno);
		else
			buffer_add(&c->text, piece, (size_t)n);
		if (c->text.len > (size_t)FILE_MOST)
			why = "larger than 64 MiB";
	}
	close(fd);
	c->written_ns = why ? 0 : st.st_mtim.tv_sec * (int64_t)NS_PER_S + st.st_mtim.tv_nsec;
	return why;
}

const char *proof_read(struct verify_run *into, const char *path, char why[VERIFY_WHY])
{
	struct candidate c = {.path = path, .named = true};
	const char *wrong = read_file(&c);

	if (!wrong)
		wrong = verify_parse_run(into, buffer_text(&c.text), why) ? NULL : why;
	buffer_free(&c.text);
	return wrong && !*wrong ? strerror(ENOENT) : wrong;
}

static bool try_candidate(struct proof *p, const struct candidate *c)
{
	char why[VERIFY_WHY];

	if (verify_parse_run(&p->run, buffer_text(&c->text), why))
		p->file = cli_copy(c->path);
	else
		ignore(p, c->path, why);
	return p->file;
}

/* ---- its verdicts on this machine ---- */

static bool has_metric(const struct uncore *u, const char *name, const char *family)
{
	for (size_t i = 0; i < uncore_metric_count(u); i++) {
		const struct uncore_metric *m = uncore_metric_at(u, i);

		if (!uncore_metric_missing(m) && strcmp(uncore_metric_name(m), name) == 0 &&
		    (!family || strcmp(uncore_metric_family(m), family) == 0))
			return true;
	}
	return false;
}

/* Drops verdicts on PMUs that are not here now (a driver that is not loaded, another register
 * block), and on another peak than the one that is in use now. */
static void judge(struct proof *p, const struct cli *cli)
{
	const struct uncore_memory *memory = uncore_memory_get(cli->u);
	struct verify_cell peak = {.channel = -1};
	size_t all = verify_judge(&p->run, &p->results);

	if (memory->peak > 0)
		verify_name_peak(memory->from, &peak);
	for (size_t i = 0; i < all; i++) {
		const struct verify_result *r = &p->results[i];

		if (has_metric(cli->u, r->cell->metric, r->cell->family) ||
		    (strcmp(r->cell->metric, peak.metric) == 0 &&
		     strcmp(r->cell->family, peak.family) == 0 &&
		     !(fabs(memory->peak / r->known - 1) > PEAK_SAME)))
			p->results[p->count++] = *r;
	}
}

static void compare(struct proof *p, const char *what, const char *then, const char *now)
{
	if (*then && *now && strcmp(then, now) != 0)
		buffer_printf(&p->changed, "%s%s (%s then, %s now)", p->changed.len ? ", " : "",
			      what, then, now);
}

/* Compares with the machine of the report's snapshot, as the library reads it. */
static void find_changes(struct proof *p, const struct cli *cli, const struct candidate *c)
{
	const char *release = strstr(buffer_text(&c->text), RELEASE);
	struct uncore *then = NULL;
	struct utsname now;
	char nodes_then[24], nodes_now[24], release_then[sizeof(now.release)] = "";

	if (uncore_new(&then) == 0 && uncore_set_root(then, p->file) == 0 &&
	    uncore_scan(then) == 0) {
		compare(p, "the CPU", uncore_cpu_model(then), uncore_cpu_model(cli->u));
		snprintf(nodes_then, sizeof(nodes_then), "%zu", cli_node_count(then));
		snprintf(nodes_now, sizeof(nodes_now), "%zu", cli_node_count(cli->u));
		compare(p, "the number of NUMA nodes", nodes_then, nodes_now);
	}
	uncore_free(then);
	release = release ? release + strlen(RELEASE) : "";
	snprintf(release_then, sizeof(release_then), "%.*s", (int)strcspn(release, "\n"), release);
	if (uname(&now) == 0)
		compare(p, "the kernel", release_then, now.release);
	compare(p, "uncore", p->run.version, uncore_version());
}

/* The newer one of the two that root and this user keep, if it can be read. */
static void find_kept(struct proof *p, const struct cli *cli)
{
	struct candidate own[2] = {{.own = true}, {.own = true}};
	struct buffer paths[2] = {{0}, {0}};
	size_t newer;

	for (size_t i = 0; i < 2; i++) {
		const char *why = NULL;

		p->kept = kept_path(cli, i == 1, &paths[i]);
		own[i].path = paths[i].data;
		if (own[i].path)
			why = read_file(&own[i]);
		if (why && *why)
			ignore(p, own[i].path, why);
	}
	newer = own[1].written_ns > own[0].written_ns;
	for (size_t i = 0; i < 2; i++) {
		struct candidate *c = &own[newer ^ i];

		if (!p->file && c->written_ns && try_candidate(p, c))
			find_changes(p, cli, c);
		buffer_free(&c->text);
	}
	buffer_free(&paths[0]);
	buffer_free(&paths[1]);
}

static struct proof *find(const struct cli *cli)
{
	struct candidate root = {.path = cli->root};
	struct proof *p = cli_realloc(NULL, 1, sizeof(*p));

	*p = (struct proof){0};
	if (!cli->root || cli->source)
		find_kept(p, cli);
	/* A directory, or a snapshot without readings, is not a report. */
	else if (!read_file(&root) && strstr(buffer_text(&root.text), ENTRY))
		try_candidate(p, &root);
	if (p->file)
		judge(p, cli);
	buffer_free(&root.text);
	return p;
}

static void free_proof(struct proof *p)
{
	free(p->results);
	verify_run_free(&p->run);
	buffer_free(&p->changed);
	free(p->file);
	free(p->ignored);
	free(p);
}

/* ---- to people and programs ---- */

/* All verdicts on a metric, or on all metrics. */
struct summary {
	size_t tally[VERIFY_VERDICTS];
	enum verify_verdict verdict; /* the worst */
	double deviation;            /* the largest of sockets, 0.006; NaN: not known */
	double latency_ns, load_ns;  /* with the largest quotient; NaN: not a latency */
	const char *reason;          /* of the first with the worst verdict; NULL: none */
	size_t more;                 /* other reasons of that verdict */
};

static void add_result(struct summary *s, const struct verify_result *r)
{
	bool latency = r->series->load == VERIFY_CHASE, whole = r->cell->channel < 0;
	double deviation = whole && !latency ? fabs(r->fit.slope - 1) : NAN;
	double load_ns = r->series->load_ns;

	s->tally[r->verdict]++;
	s->deviation = fmax(s->deviation, deviation); /* fmax() of NaN and a number is the number */
	if (latency && whole && isfinite(r->latency) && load_ns > 0 &&
	    !(r->latency / load_ns <= s->latency_ns / s->load_ns)) {
		s->latency_ns = r->latency;
		s->load_ns = load_ns;
	}
	if (r->verdict > s->verdict) {
		s->verdict = r->verdict;
		s->reason = NULL;
		s->more = 0;
	}
	if (r->verdict != s->verdict || !*r->reason)
		return;
	s->more += s->reason && strcmp(s->reason, r->reason) != 0;
	s->reason = s->reason ? s->reason : r->reason;
}

/* `metric` or `family` NULL: any. False: no result matches. */
static bool summarize(const struct proof *p, const char *metric, const char *family,
		      struct summary *into)
{
	bool any = false;

	*into = (struct summary){
		.verdict = VERIFY_PROVED, .deviation = NAN, .latency_ns = NAN, .load_ns = NAN};
	for (size_t i = 0; i < p->count; i++) {
		const struct verify_result *r = &p->results[i];

		if ((metric && strcmp(r->cell->metric, metric) != 0) ||
		    (family && strcmp(r->cell->family, family) != 0))
			continue;
		add_result(into, r);
		any = true;
	}
	return any;
}

static void put_reason(const struct summary *s, struct buffer *to)
{
	buffer_printf(to, ": %s", s->reason ? s->reason : "no reason is known");
	if (s->more)
		buffer_printf(to, " (and %zu more)", s->more);
}

static void put_text(const struct proof *p, const char *metric, const char *family,
		     struct buffer *to)
{
	struct summary s;

	if (!summarize(p, metric, family, &s))
		return;
	buffer_printf(to, "%s on this machine on %s", verify_verdicts[s.verdict], p->run.date);
	if (s.verdict != VERIFY_PROVED)
		put_reason(&s, to);
	else if (isfinite(s.deviation)) /* rounded up, except for rounding errors of doubles */
		buffer_printf(to, ", within %.1f %%%s%s",
			      fmax(ceil(s.deviation * 1e3 - 1e-6), 1) / 10, s.reason ? ": " : "",
			      s.reason ? s.reason : "");
	if (s.verdict == VERIFY_PROVED && isfinite(s.latency_ns))
		buffer_printf(to, ", %.0f ns of the %.0f ns that a load took", s.latency_ns,
			      s.load_ns);
	if (p->changed.len)
		buffer_printf(to, "; changed since: %s", p->changed.data);
}

static json_t *record(const struct proof *p, const char *metric, const char *family)
{
	struct summary s;

	if (!summarize(p, metric, family, &s))
		return json_null();
	return json_record((const struct field[]){
		{"date", value_text(p->run.date)},
		{"verdict", value_text(verify_verdicts[s.verdict])},
		{"deviation", value_real(s.deviation)},
		{"reason", value_text(s.reason)},
		{"changed", value_text(p->changed.len ? p->changed.data : NULL)},
		{0},
	});
}

/* "memory.read.bandwidth (intel-imc): off: ...", each metric once. */
static void put_doubts(const struct proof *p, struct buffer *to)
{
	for (size_t i = 0; i < p->count; i++) {
		const struct verify_cell *c = p->results[i].cell;
		struct summary s;
		size_t before = 0;

		while (strcmp(p->results[before].cell->family, c->family) != 0 ||
		       strcmp(p->results[before].cell->metric, c->metric) != 0)
			before++;
		if (before < i)
			continue;
		summarize(p, c->metric, c->family, &s);
		if (s.verdict == VERIFY_PROVED)
			continue;
		buffer_printf(to, "%s%s (%s): %s", to->len ? "; " : "", c->metric, c->family,
			      verify_verdicts[s.verdict]);
		put_reason(&s, to);
	}
}

static bool put_finding(const struct proof *p, const struct cli *cli, struct buffer texts[3],
			struct uncore_finding *into)
{
	struct buffer *found = &texts[0], *why = &texts[1], *fix = &texts[2];
	struct summary s;

	if (summarize(p, NULL, NULL, &s)) {
		buffer_printf(found, "on %s: %zu proved, %zu off, %zu cannot tell", p->run.date,
			      s.tally[VERIFY_PROVED], s.tally[VERIFY_OFF], s.tally[VERIFY_UNKNOWN]);
		put_doubts(p, why);
		if (p->changed.len)
			buffer_printf(why, "%schanged since: %s", why->len ? "; " : "",
				      p->changed.data);
		if (s.verdict == VERIFY_OFF)
			buffer_printf(fix, "uncore verify --show %s", p->file);
	} else if (p->kept && (has_metric(cli->u, "memory.read.bandwidth", NULL) ||
			       has_metric(cli->u, "memory.write.bandwidth", NULL))) {
		buffer_puts(found, "uncore verify has not run here");
		buffer_puts(why, "no counter of this machine has been compared with known traffic");
	} else if (!p->ignored) {
		return false;
	} else {
		buffer_puts(found, "no report");
	}
	if (p->ignored)
		buffer_printf(why, "%sa report was not read: %s", why->len ? "; " : "", p->ignored);
	if (why->len && !fix->len && p->kept)
		buffer_puts(fix, "uncore verify");
	*into = (struct uncore_finding){
		.verdict = why->len ? UNCORE_VERDICT_NOTE : UNCORE_VERDICT_OK,
		.subject = "verified",
		.found = found->data,
		.why = why->data,
		.fix = fix->data,
	};
	return true;
}

const struct proofs verify_proofs = {
	.find = find,
	.free = free_proof,
	.text = put_text,
	.record = record,
	.finding = put_finding,
};

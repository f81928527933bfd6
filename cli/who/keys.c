/* SPDX-License-Identifier: MIT */
/* Names in paths of cgroups, as systemd, container runtimes, Kubernetes and Slurm make them. */
#include "who/keys.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#define ID_DIGITS 64    /* of a container */
#define SHOWN_DIGITS 12 /* of these, as the runtimes show them */
#define POD_LEAST 32    /* characters of the id of a pod */

const char *const who_by_words[] = {"process", "cgroup", "unit", "container", "job", "user", NULL};

/* A part of a path, between slashes. */
struct part {
	const char *text;
	size_t len;
};

/* The next part of the path, which ends with its line. False: the path has ended. */
static bool next_part(const char **path, struct part *into)
{
	*path += strspn(*path, "/");
	into->text = *path;
	into->len = strcspn(*path, "/\n");
	*path += into->len;
	return into->len;
}

static bool begins(struct part p, const char *with)
{
	return p.len > strlen(with) && memcmp(p.text, with, strlen(with)) == 0;
}

static bool ends(struct part p, const char *with)
{
	size_t len = strlen(with);

	return p.len > len && memcmp(p.text + p.len - len, with, len) == 0;
}

static bool contains(struct part p, const char *word)
{
	return memmem(p.text, p.len, word, strlen(word));
}

/* The path of a line "7:cpu,cpuacct:/a/b"; NULL: it is no such line. */
static const char *path_of(const char *line)
{
	const char *colon = strchr(line, ':');

	colon = colon ? strchr(colon + 1, ':') : NULL;
	return colon && colon < line + strcspn(line, "\n") ? colon + 1 : NULL;
}

static const char *next_line(const char *line)
{
	line += strcspn(line, "\n");
	return *line ? line + 1 : line;
}

static bool is_root(const char *path)
{
	return path[0] != '/' || !path[1] || path[1] == '\n';
}

/* The path that systemd manages: that of version 2, else of its own hierarchy, else of another one.
 * With both versions the one of version 2 may be the root. NULL: no hierarchy is mounted. */
static const char *main_path(const char *text)
{
	const char *best = NULL;
	int best_rank = 0;

	for (const char *line = text; *line; line = next_line(line)) {
		const char *path = path_of(line);
		int rank = !path                          ? 0
			   : is_root(path)                ? 1
			   : strncmp(line, "0::", 3) == 0 ? 4
			   : strstr(line, ":name=systemd:") && strstr(line, ":name=systemd:") < path
				   ? 3
				   : 2;

		if (rank > best_rank) {
			best = path;
			best_rank = rank;
		}
	}
	return best;
}

/* The path without what the kernel appends to one that was removed. */
static size_t length_of(const char *path)
{
	static const char deleted[] = " (deleted)";
	size_t len = strcspn(path, "\n"), tail = strlen(deleted);

	if (len > tail && memcmp(path + len - tail, deleted, tail) == 0)
		len -= tail;
	return len;
}

/* systemd writes other characters as \x2d. */
static void put_unescaped(struct buffer *to, const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		char digits[3] = "", c = text[i];

		if (c == '\\' && len - i >= 4 && text[i + 1] == 'x' &&
		    isxdigit((unsigned char)text[i + 2]) && isxdigit((unsigned char)text[i + 3])) {
			memcpy(digits, text + i + 2, 2);
			c = (char)strtol(digits, NULL, 16);
			i += 3;
		}
		buffer_add(to, &c, 1);
	}
}

/* ---- units ---- */

/* The last unit of the path. What else than slices is above it has a manager of its own, of a user
 * or in a container, whose units may have the same names: it is in the label. */
static bool find_unit(const char *text, struct buffer *id, struct buffer *label)
{
	const char *path = main_path(text), *at = path, *word = " of ";
	struct part p, unit = {0};

	while (at && next_part(&at, &p))
		if (ends(p, ".service") || ends(p, ".scope") || ends(p, ".slice"))
			unit = p;
	if (!unit.len)
		return false;
	buffer_add(id, path, (size_t)(unit.text + unit.len - path));
	put_unescaped(label, unit.text, unit.len);
	for (at = path; next_part(&at, &p) && p.text < unit.text;) {
		/* ".." leads out of a cgroup namespace. */
		if (ends(p, ".slice") || (p.len == 2 && memcmp(p.text, "..", 2) == 0))
			continue;
		buffer_puts(label, word);
		put_unescaped(label, p.text, p.len);
		word = "/";
	}
	return true;
}

/* ---- containers ---- */

/* The id of a container in "docker-ID.scope", "ID" ...; NULL: the part has no id. */
static const char *id_in(struct part p)
{
	size_t tail = ends(p, ".scope") ? strlen(".scope") : 0, len = p.len - tail, digits = 0;
	const char *id;

	if (len < ID_DIGITS)
		return NULL;
	id = p.text + len - ID_DIGITS;
	while (digits < ID_DIGITS && strchr("0123456789abcdef", id[digits]))
		digits++;
	if (digits < ID_DIGITS || (id > p.text && id[-1] != '-'))
		return NULL;
	/* "crio-conmon-ID.scope" has the process that watches a container. */
	return contains((struct part){p.text, (size_t)(id - p.text)}, "conmon") ? NULL : id;
}

/* The runtime, by the word before the id or by the part of the path above. */
static const char *runtime_of(struct part p, struct part above)
{
	static const struct {
		const char *begin, *runtime;
	} names[] = {
		{"docker", "docker"}, {"cri-containerd", "containerd"}, {"crio", "cri-o"},
		{"libpod", "podman"}, {"nerdctl", "nerdctl"},
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (begins(p, names[i].begin) ||
		    (above.len >= strlen(names[i].begin) &&
		     memcmp(above.text, names[i].begin, strlen(names[i].begin)) == 0))
			return names[i].runtime;
	return "container";
}

/* The id of a pod in "pod1234-...", "kubepods-burstable-pod1234_....slice"; systemd has '_' for the
 * dashes. False: it is no pod. */
static bool pod_in(struct part p, struct part *id)
{
	for (size_t i = 0; i + 3 + POD_LEAST <= p.len; i++) {
		size_t len = 0;

		if (memcmp(p.text + i, "pod", 3) != 0 || (i && p.text[i - 1] != '-'))
			continue;
		while (i + 3 + len < p.len && p.text[i + 3 + len] &&
		       strchr("0123456789abcdef-_", p.text[i + 3 + len]))
			len++;
		*id = (struct part){p.text + i + 3, len};
		if (len >= POD_LEAST)
			return true;
	}
	return false;
}

/* Containers and virtual machines that have a name instead of an id. */
static bool name_in(struct part p, struct part above, const char **kind, struct part *name)
{
	static const char lxc[] = "lxc.payload.", machine[] = "machine-";

	*kind = "lxc";
	if (begins(p, lxc))
		*name = (struct part){p.text + strlen(lxc), p.len - strlen(lxc)};
	else if (above.len == 3 && memcmp(above.text, "lxc", 3) == 0)
		*name = p;
	else if (begins(p, machine) && ends(p, ".scope"))
		*kind = "machine",
		*name = (struct part){p.text + strlen(machine),
				      p.len - strlen(machine) - strlen(".scope")};
	else
		return false;
	return true;
}

/* The innermost container of a path. */
static bool find_in_path(const char *path, struct buffer *id, struct buffer *label)
{
	struct part p, above = {0}, pod = {0}, name;
	const char *kind;
	bool found = false;

	for (; next_part(&path, &p); above = p) {
		const char *digits = id_in(p);

		if (pod_in(p, &pod) || (!digits && !name_in(p, above, &kind, &name)))
			continue;
		id->len = label->len = 0;
		found = true;
		if (!digits) {
			buffer_printf(id, "%s ", kind);
			buffer_add(id, name.text, name.len);
			buffer_printf(label, "%s ", kind);
			put_unescaped(label, name.text, name.len);
			continue;
		}
		buffer_add(id, digits, ID_DIGITS);
		buffer_printf(label, "%s %.*s", runtime_of(p, above), SHOWN_DIGITS, digits);
		if (!pod.len)
			continue;
		buffer_puts(label, " of pod ");
		for (size_t i = 0; i < pod.len; i++)
			buffer_add(label, pod.text[i] == '_' ? "-" : pod.text + i, 1);
	}
	return found;
}

/* In any hierarchy: with version 1 a runtime may use only some of them. */
static bool find_container(const char *text, struct buffer *id, struct buffer *label)
{
	for (const char *line = text; *line; line = next_line(line)) {
		const char *path = path_of(line);

		if (path && find_in_path(path, id, label))
			return true;
	}
	return false;
}

/* ---- jobs ---- */

/* "job_123" below a part of Slurm: "/slurm/uid_1000/job_123/step_0", or ".../slurmstepd.scope/
 * job_123/step_0/user/task_0". */
static bool find_job_in(const char *path, struct part *number)
{
	bool slurm = false;
	struct part p;

	for (; next_part(&path, &p); slurm = slurm || contains(p, "slurm")) {
		*number = (struct part){p.text + 4, begins(p, "job_") ? p.len - 4 : 0};
		if (slurm && number->len && strspn(number->text, "0123456789") == number->len)
			return true;
	}
	return false;
}

static bool find_job(const char *text, struct buffer *id, struct buffer *label)
{
	struct part number;

	for (const char *line = text; *line; line = next_line(line)) {
		const char *path = path_of(line);

		if (!path || !find_job_in(path, &number))
			continue;
		buffer_add(id, number.text, number.len);
		buffer_printf(label, "job %.*s", (int)number.len, number.text);
		return true;
	}
	return false;
}

bool key_find(enum who_by by, const char *cgroups, struct buffer *id, struct buffer *label)
{
	const char *path;

	switch (by) {
	case BY_CGROUP:
		path = main_path(cgroups);
		if (!path)
			return false;
		buffer_add(id, path, length_of(path));
		buffer_add(label, path, length_of(path));
		return true;
	case BY_UNIT:
		return find_unit(cgroups, id, label);
	case BY_CONTAINER:
		return find_container(cgroups, id, label);
	case BY_JOB:
		return find_job(cgroups, id, label);
	default:
		return false;
	}
}

/* SPDX-License-Identifier: MIT */
#include "output/owner.h"

#include <string.h>

#include "base/cli.h"

/* "containerd 4f8d1c0b2a3e of pod 8a1b2c3d-...": the parts of who/keys.c. */
static void put_container(const char *text, owner_put *put, void *context)
{
	size_t runtime = strcspn(text, " ");
	const char *id = text + runtime + strspn(text + runtime, " ");
	const char *pod = strstr(id, " of pod ");

	put(context, "runtime", text, runtime);
	put(context, "container", id, pod ? (size_t)(pod - id) : strlen(id));
	if (pod)
		put(context, "pod", pod + strlen(" of pod "), strlen(pod + strlen(" of pod ")));
}

/* "postgres (2411)", of which the name may have blanks and parentheses. */
static void put_numbered(const char *text, const char *const labels[2], owner_put *put,
			 void *context)
{
	const char *open = strrchr(text, '(');
	size_t len = open && open > text ? (size_t)(open - text) - 1 : strlen(text);

	put(context, labels[0], text, len);
	if (open && open > text)
		put(context, labels[1], open + 1, strcspn(open + 1, ")"));
}

static void put_key(const char *by, const char *text, owner_put *put, void *context)
{
	static const char *const process[] = {"process", "pid"}, *const user[] = {"user", "uid"};
	const char *job = text + strcspn(text, "0123456789");

	if (cli_same(by, "container"))
		put_container(text, put, context);
	else if (cli_same(by, "process"))
		put_numbered(text, process, put, context);
	else if (cli_same(by, "user"))
		put_numbered(text, user, put, context);
	else if (cli_same(by, "job"))
		put(context, "slurm_job", job, strlen(job));
	else
		put(context, by, text, strlen(text));
}

/* Where several keys would have the same labels, the pool has put "[ID]" behind the text. */
void owner_labels(const char *by, const char *role, const char *names, owner_put *put,
		  void *context)
{
	const char *last = names && *names ? names + strlen(names) - 1 : NULL;
	/* An id has no blanks. */
	const char *blank = last && *last == ']' ? strrchr(names, ' ') : NULL;
	const char *id = blank && blank[1] == '[' ? blank : NULL;
	auto_free char *key = names ? cli_copy(names) : NULL;

	if (id)
		key[id - names] = '\0';
	if (cli_same(role, OWNER_OTHER))
		put(context, "kind", OWNER_OTHER, strlen(OWNER_OTHER));
	else if (!names)
		put(context, "group", role, strlen(role));
	else
		put_key(by, key, put, context);
	if (id)
		put(context, "id", id + 2, (size_t)(last - id) - 2);
}

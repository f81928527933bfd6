/* SPDX-License-Identifier: MIT */
/* Processes that use GPUs of NVIDIA, whose driver has no counts in files of fdinfo: its library
 * lists them, with ids that in a container may be those of the host. There a process is only taken
 * for one of the list if it has an open file of the driver. */
#include "who/usage.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cli.h"

/* The initial namespace of ids has this number: linux include/uapi/linux/nsfs.h. */
#define FIRST_NAMESPACE "pid:[4026531836]"
/* No client of a file has such an id. */
#define LISTED (UINT64_C(1) << 63)

static bool in_container(const struct tasks *t)
{
	char name[64] = "";

	return readlinkat(t->proc, "self/ns/pid", name, sizeof(name) - 1) > 0 &&
	       strcmp(name, FIRST_NAMESPACE) != 0;
}

static bool has_device(const struct tasks *t, int pid)
{
	DIR *fds = tasks_directory(t, pid, "fd");
	bool found = false;

	for (struct dirent *d; fds && !found && (d = readdir(fds));)
		found = client_is_of(fds, d->d_name, "/dev/nvidia");
	if (fds)
		closedir(fds);
	return found;
}

static void tell(struct usage *u, const char *why)
{
	if (!u->told)
		cli_error("note: processes of GPUs are not shown: %s", why);
	u->told = true;
}

static void add_listed(struct usage *u, const struct tasks *t, const struct uncore_device *d,
		       size_t i)
{
	struct client c = {.sampled = true};
	double memory;

	c.pid = uncore_device_process_at(u->machine, i, &memory, &c.busy, &c.why);
	if (in_container(t) && !has_device(t, c.pid)) {
		tell(u, "some have ids of another namespace than this container's");
		return;
	}
	if (!tasks_find(t, c.pid))
		return; /* it is newer than the list, or has ended */
	snprintf(c.device, sizeof(c.device), "%s", d->address);
	c.id = LISTED | (uint64_t)c.pid;
	c.has_busy = !isnan(c.busy);
	c.has_memory = !isnan(memory);
	c.memory = c.has_memory ? (uint64_t)memory : 0;
	clients_add(u, &c);
}

void nvidia_read(struct usage *u, const struct tasks *t)
{
	size_t count = u->machine ? uncore_device_count(u->machine) : 0;

	for (size_t i = 0; i < count; i++) {
		const struct uncore_device *d = uncore_device_at(u->machine, i);
		int listed;

		if (!d->driver || strcmp(d->driver, "nvidia") != 0 || d->class_code >> 16 != 3)
			continue;
		listed = uncore_device_processes(u->machine, d);
		for (int k = 0; k < listed; k++)
			add_listed(u, t, d, (size_t)k);
		if (listed < 0)
			tell(u, uncore_error(u->machine));
		if (listed == -ETIMEDOUT)
			return; /* the others would not answer, either */
	}
}

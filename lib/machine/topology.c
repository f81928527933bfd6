/* SPDX-License-Identifier: MIT */
/* CPUs, sockets and NUMA nodes from sysfs; capabilities of this process from /proc/self. */
#include "machine/topology.h"

#define CPU_DIR "sys/devices/system/cpu"
#define NODE_DIR "sys/devices/system/node"

static int read_ids(struct unc_cpulist *out, const struct unc_root *root, const char *path,
		    bool is_map, struct unc_error *e)
{
	char *text;
	int err = unc_root_read_line(root, path, &text);

	if (err == -ENOMEM)
		return unc_nomem(e);
	if (err == -ENOENT || err == -ENOTDIR)
		return -ENOENT;
	if (err)
		return unc_fail(e, EBADMSG, "%s cannot be read: %s", path,
				err == -EBADMSG ? "it is not a text" : unc_errno_text(err));
	err = is_map ? unc_cpumap_parse(text, out) : unc_cpulist_parse(text, out);
	if (err == -ENOMEM)
		unc_nomem(e);
	else if (err)
		err = unc_fail(e, EBADMSG, "%s: '%.100s' is not a valid %s", path, text,
			       is_map ? "mask of CPUs such as 00000000,000000ff"
				      : "list of CPUs such as 0-3,8");
	free(text);
	return err;
}

int unc_cpulist_read(struct unc_cpulist *out, const struct unc_root *root, const char *path,
		     struct unc_error *e)
{
	return read_ids(out, root, path, false, e);
}

/* Adds the CPUs of a file. If it is absent or malformed, adds nothing and keeps the fault. Returns
 * 0 or -ENOMEM. */
static int add_listed(struct unc_cpulist *to, struct unc_topology *t, const struct unc_root *root,
		      const char *path, bool is_map)
{
	struct unc_cpulist more = {0};
	struct unc_error why;
	int err = read_ids(&more, root, path, is_map, &why);

	if (err == -EBADMSG)
		err = unc_names_add(&t->faults, why.text);
	for (size_t i = 0; i < more.count && err == 0; i++)
		err = UNC_ADD(&to->ids, &to->count, &more.ids[i]);
	unc_cpulist_finish(&more);
	return err == -ENOENT ? 0 : err;
}

/* Adds the CPUs that have a directory. */
static int add_directories(struct unc_cpulist *to, const struct unc_root *root, struct unc_error *e)
{
	struct unc_names names = {0};
	int err = unc_root_list(root, CPU_DIR, &names);
	const char *snapshot = unc_root_snapshot(root);

	if (err && err != -ENOMEM && snapshot)
		err = unc_fail(e, ENODEV,
			       "%s has no entry '" CPU_DIR "' (%s): it is not of a whole machine",
			       snapshot, unc_errno_text(err));
	else if (err && err != -ENOMEM)
		err = unc_fail(e, ENODEV, CPU_DIR " cannot be read (%s): is /sys mounted there?",
			       unc_errno_text(err));
	for (size_t i = 0; err == 0 && i < names.count; i++) {
		int id = unc_number_after(names.items[i], "cpu", UINT16_MAX);

		if (id >= 0)
			err = UNC_ADD(&to->ids, &to->count, &id);
	}
	unc_names_finish(&names);
	return err;
}

static int add_cpu(struct unc_topology *t, const struct unc_root *root, int id, bool online)
{
	const struct uncore_cpu cpu = {
		.id = id,
		.node = -1,
		.online = online,
		.socket = -1,
		.package = unc_root_read_int(
			root, UNC_PATH(CPU_DIR "/cpu%d/topology/physical_package_id", id), INT_MAX,
			-1),
		.die = unc_root_read_int(root, UNC_PATH(CPU_DIR "/cpu%d/topology/die_id", id),
					 INT_MAX, -1),
	};

	return UNC_ADD(&t->cpus, &t->cpu_count, &cpu);
}

/* Reads the CPUs. Old kernels, and copies of a part of /sys, have no file `present`. */
static int read_cpus(struct unc_topology *t, const struct unc_root *root, struct unc_error *e)
{
	struct unc_cpulist present = {0}, online = {0};
	int err = add_listed(&present, t, root, CPU_DIR "/present", false), last = -1;

	if (err == 0 && !present.count)
		err = add_directories(&present, root, e);
	if (err == 0)
		err = add_listed(&online, t, root, CPU_DIR "/online", false);
	for (size_t i = 0; err == 0 && i < online.count; i++)
		err = UNC_ADD(&present.ids, &present.count, &online.ids[i]);
	if (present.count)
		qsort(present.ids, present.count, sizeof(*present.ids), unc_compare_ints);
	for (size_t i = 0; err == 0 && i < present.count; i++) {
		int id = present.ids[i];

		if (id == last)
			continue;
		last = id;
		/* A CPU without a file `online` cannot be put offline. */
		err = add_cpu(t, root, id,
			      online.count
				      ? unc_cpulist_has(&online, id)
				      : unc_root_read_int(
						root, UNC_PATH(CPU_DIR "/cpu%d/online", id), 1, 1));
	}
	if (err == 0 && !t->cpu_count)
		err = unc_fail(e, ENODEV,
			       CPU_DIR
			       " names no CPU: it has no list `present` or `online`, and no "
			       "directory cpu0%s%s",
			       t->faults.count ? "; " : "",
			       t->faults.count ? t->faults.items[0] : "");
	unc_cpulist_finish(&present);
	unc_cpulist_finish(&online);
	return err == -ENOMEM ? unc_nomem(e) : err;
}

/* Reads the CPUs online of a node, from its list or otherwise from its mask. */
static int read_node(struct unc_topology *t, const struct unc_root *root, int node)
{
	struct unc_cpulist list = {0};
	int err = add_listed(&list, t, root, UNC_PATH(NODE_DIR "/node%d/cpulist", node), false);

	if (err == 0 && !list.count)
		err = add_listed(&list, t, root, UNC_PATH(NODE_DIR "/node%d/cpumap", node), true);
	for (size_t k = 0; err == 0 && k < t->cpu_count; k++)
		if (unc_cpulist_has(&list, t->cpus[k].id))
			t->cpus[k].node = node;
	unc_cpulist_finish(&list);
	return err;
}

/* Reads the offline CPUs of a node. They are in no list, but the node has a link to each. The
 * directory is listed, because looking up each CPU in each node takes seconds with thousands of
 * CPUs. */
static int read_node_links(struct unc_topology *t, const struct unc_root *root, const char *name)
{
	const char *dir = UNC_PATH(NODE_DIR "/%s", name);
	struct unc_names names = {0};
	int err = unc_root_list(root, dir, &names),
	    node = unc_number_after(name, "node", UINT16_MAX);

	for (size_t i = 0; node >= 0 && i < names.count; i++) {
		int id = unc_number_after(names.items[i], "cpu", UINT16_MAX);
		const struct uncore_cpu *cpu = id < 0 ? NULL : unc_topology_cpu(t, id);

		if (cpu && cpu->node < 0 && unc_root_exists(root, UNC_PATH("%s/cpu%d", dir, id)))
			t->cpus[cpu - t->cpus].node = node;
	}
	unc_names_finish(&names);
	return err == -ENOMEM ? err : 0;
}

/* Reads the nodes. A kernel without NUMA has none. */
static int read_nodes(struct unc_topology *t, const struct unc_root *root)
{
	struct unc_names names = {0};
	int err = unc_root_list(root, NODE_DIR, &names);
	bool all = true;

	err = err == -ENOMEM ? err : 0;
	for (size_t i = 0; err == 0 && i < names.count; i++) {
		int node = unc_number_after(names.items[i], "node", UINT16_MAX);

		if (node >= 0)
			err = read_node(t, root, node);
	}
	for (size_t k = 0; k < t->cpu_count; k++)
		all = all && t->cpus[k].node >= 0;
	for (size_t i = 0; err == 0 && !all && i < names.count; i++)
		err = read_node_links(t, root, names.items[i]);
	unc_names_finish(&names);
	return err;
}

int unc_topology_read(struct unc_topology *out, const struct unc_root *root, struct unc_error *e)
{
	struct unc_topology t = {0};
	int err = unc_platform_read(&t, root) < 0 ? unc_nomem(e) : read_cpus(&t, root, e);

	if (!err && (read_nodes(&t, root) < 0 || unc_topology_find_sockets(&t, root) < 0 ||
		     unc_topology_find_dies(&t) < 0))
		err = unc_nomem(e);
	if (err) {
		unc_topology_finish(&t);
		return err;
	}
	*out = t;
	return 0;
}

void unc_topology_finish(struct unc_topology *t)
{
	free(t->cpus);
	free(t->sockets);
	free(t->offline);
	free(t->dies);
	unc_names_finish(&t->faults);
	*t = (struct unc_topology){0};
}

/* ---- permission ---- */

#define CAP_SYS_ADMIN_BIT 21
#define CAP_PERFMON_BIT 38

void unc_permission_read(struct unc_permission *out, const struct unc_root *root)
{
	unsigned long inside, outside;
	const char *value;
	char *text, *at;
	size_t len;

	*out = (struct unc_permission){.by_group =
					       unc_root_exists(root, "usr/libexec/uncore/uncore")};
	if (unc_root_read_line(root, "proc/sys/kernel/perf_event_paranoid", &text) == 0) {
		out->level = strtol(text, &at, 10);
		out->level_known = at != text;
		free(text);
	}
	if (unc_root_read(root, "proc/self/status", &text) == 0) {
		value = unc_find_value(text, "CapEff", &len);
		if (value) {
			unsigned long long set = strtoull(value, NULL, 16);

			out->admin = set >> CAP_SYS_ADMIN_BIT & 1;
			out->held = set >> CAP_PERFMON_BIT & 1 ? "CAP_PERFMON"
				    : out->admin               ? "CAP_SYS_ADMIN"
							       : NULL;
		}
		value = unc_find_value(text, "Seccomp", &len);
		out->filtered = value && strtol(value, NULL, 10) != 0;
		free(text);
	}
	/* The first user namespace maps each user to itself. */
	if (unc_root_read(root, "proc/self/uid_map", &text) == 0) {
		inside = strtoul(text, &at, 10);
		outside = strtoul(at, &at, 10);
		out->in_user_namespace = inside || outside || strtoul(at, NULL, 10) < UINT32_MAX;
		free(text);
	}
	if (unc_root_read_line(root, "proc/sys/kernel/osrelease", &text) == 0) {
		out->before_perfmon = unc_is_digit(*text) && strverscmp(text, "5.8") < 0;
		free(text);
	}
}

bool unc_permission_granted(const struct unc_permission *p)
{
	return (p->level_known && p->level <= 0) || (p->held && !p->in_user_namespace);
}

bool unc_permission_doubtful(const struct unc_permission *p)
{
	return p->level_known && p->level > 2 && p->held && !p->admin && !p->in_user_namespace;
}

void unc_permission_advise(const struct unc_permission *p, bool refused, struct unc_text *why,
			   struct unc_text *fix)
{
	bool granted = unc_permission_granted(p), doubtful = unc_permission_doubtful(p);
	bool capability = refused || !granted;

	if (granted && !doubtful) {
		if (refused && p->filtered)
			unc_text_add(why,
				     "this process may count, so the seccomp filter it runs under "
				     "(of a container or a systemd unit) must forbid "
				     "perf_event_open: allow it there (docker: --cap-add PERFMON; "
				     "systemd: SystemCallFilter=perf_event_open)");
		else if (refused)
			unc_text_add(why,
				     "this process may count, so a security module (SELinux, "
				     "AppArmor, kernel lockdown) must forbid it: see the kernel's "
				     "log for the denial");
		return;
	}
	if (p->in_user_namespace) {
		unc_text_add(why,
			     "this process is in a user namespace (a container without root of "
			     "the host), and its privileges there do not reach perf events");
		unc_text_add(fix,
			     "sudo sysctl kernel.perf_event_paranoid=0   # on the host; or run "
			     "uncore there");
		return;
	}
	if (capability)
		unc_text_add(why,
			     "counting for the whole machine needs the capability %s, or a "
			     "perf_event_paranoid of 0 or below",
			     p->before_perfmon ? "CAP_SYS_ADMIN" : "CAP_PERFMON");
	if (p->level > 2 && !p->before_perfmon) {
		unc_text_add(why,
			     "%slevels above 2 are specific to distributions, and Debian's kernels "
			     "require CAP_SYS_ADMIN for them",
			     capability ? "; " : "");
		unc_text_add(fix, "sudo sysctl kernel.perf_event_paranoid=2%s",
			     capability ? " && " : "");
	}
	if (capability && p->by_group)
		unc_text_add(fix, "sudo adduser \"$USER\" uncore   # and log in again");
	else if (capability)
		unc_text_add(fix,
			     "sudo setcap %s=ep \"$(command -v uncore)\"   # or, for all users: "
			     "sudo sysctl kernel.perf_event_paranoid=0",
			     p->before_perfmon ? "cap_sys_admin" : "cap_perfmon");
}

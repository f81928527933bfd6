/* SPDX-License-Identifier: MIT */
/* Whether this process may count for the whole machine, as far as /proc shows. */
#include "machine/permission.h"

#define CAP_SYS_ADMIN_BIT 21
#define CAP_PERFMON_BIT 38

void unc_permission_read(struct unc_permission *out, const struct unc_root *root)
{
	unsigned long inside, outside;
	const char *value;
	char *text, *at;
	size_t len;
	long major, minor;

	*out = (struct unc_permission){.level_known = false};
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
	/* The first namespace maps every user to itself. */
	if (unc_root_read(root, "proc/self/uid_map", &text) == 0) {
		inside = strtoul(text, &at, 10);
		outside = strtoul(at, &at, 10);
		out->in_user_namespace = inside || outside || strtoul(at, NULL, 10) < UINT32_MAX;
		free(text);
	}
	if (unc_root_read_line(root, "proc/sys/kernel/osrelease", &text) == 0) {
		major = strtol(text, &at, 10);
		minor = *at == '.' ? strtol(at + 1, NULL, 10) : 0;
		out->before_perfmon = major > 0 && (major < 5 || (major == 5 && minor < 8));
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
	if (capability)
		unc_text_add(fix,
			     "sudo setcap %s=ep \"$(command -v uncore)\"   # or, for all users: "
			     "sudo sysctl kernel.perf_event_paranoid=0",
			     p->before_perfmon ? "cap_sys_admin" : "cap_perfmon");
}

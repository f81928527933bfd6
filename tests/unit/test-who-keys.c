/* SPDX-License-Identifier: MIT */
/* Names of containers, pods, units and jobs in /proc/PID/cgroup, as the programs that make the cgroups write them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "who/keys.h"

#define ID "4f8d1c0b2a3e5f60718293a4b5c6d7e8f90123456789abcdef0123456789abcd"
#define SHORT "4f8d1c0b2a3e"
#define OTHER "aaaaaaaaaaaabbbbbbbbbbbbccccccccccccddddddddddddeeeeeeeeeeeeffff"
#define POD "12345678-9abc-def0-1234-56789abcdef0"
#define POD_ "12345678_9abc_def0_1234_56789abcdef0"

struct expected {
	const char *text, *id, *label; /* NULL: no key */
};

static void check(enum who_by by, const struct expected *cases, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		struct buffer id = {0}, label = {0};
		bool found = key_find(by, cases[i].text, &id, &label);

		if (found != (cases[i].label != NULL) ||
		    strcmp(buffer_text(&id), cases[i].id ? cases[i].id : "") != 0 ||
		    strcmp(buffer_text(&label), cases[i].label ? cases[i].label : "") != 0)
			fail_msg("%s\n'%s' '%s', and not '%s' '%s'", cases[i].text,
				 buffer_text(&id), buffer_text(&label), cases[i].id,
				 cases[i].label);
		buffer_free(&id);
		buffer_free(&label);
	}
}

#define CHECK(by, cases) check(by, cases, sizeof(cases) / sizeof(*(cases)))

/* The hierarchies of version 1 of one process, which are all at the same path. */
#define V1(path) "12:memory:" path "\n5:cpu,cpuacct:" path "\n1:name=systemd:" path "\n"

static void containers(void **state)
{
	static const struct expected cases[] = {
		/* Docker: the drivers cgroupfs and systemd. */
		{V1("/docker/" ID), ID, "docker " SHORT},
		{"0::/docker/" ID "\n", ID, "docker " SHORT},
		{"0::/system.slice/docker-" ID ".scope\n", ID, "docker " SHORT},
		/* Kubernetes: containerd, CRI-O and cri-dockerd, with both drivers. */
		{V1("/kubepods/burstable/pod" POD "/" ID), ID, "container " SHORT " of pod " POD},
		{"0::/kubepods/besteffort/pod" POD "/" ID "\n", ID,
		 "container " SHORT " of pod " POD},
		{"0::/kubepods/pod" POD "/" ID "\n", ID, "container " SHORT " of pod " POD},
		{"0::/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod" POD_
		 ".slice/cri-containerd-" ID ".scope\n",
		 ID, "containerd " SHORT " of pod " POD},
		{V1("/kubepods.slice/kubepods-pod" POD_ ".slice/crio-" ID ".scope"), ID,
		 "cri-o " SHORT " of pod " POD},
		{"0::/kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-pod" POD_
		 ".slice/crio-" ID ".scope/container\n",
		 ID, "cri-o " SHORT " of pod " POD},
		{"0::/kubepods.slice/kubepods-pod" POD_ ".slice/docker-" ID ".scope\n", ID,
		 "docker " SHORT " of pod " POD},
		/* A static pod, whose id is a hash. */
		{"0::/kubepods/burstable/pod0123456789abcdef0123456789abcdef/" ID "\n", ID,
		 "container " SHORT " of pod 0123456789abcdef0123456789abcdef"},
		/* A node of kind: the container of a pod in the container of a node. */
		{"0::/docker/" OTHER
		 "/kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-pod" POD_
		 ".slice/cri-containerd-" ID ".scope\n",
		 ID, "containerd " SHORT " of pod " POD},
		/* Podman: of root, of a user, without systemd. */
		{"0::/machine.slice/libpod-" ID ".scope/container\n", ID, "podman " SHORT},
		{"0::/user.slice/user-1000.slice/user@1000.service/user.slice/libpod-" ID
		 ".scope/container\n",
		 ID, "podman " SHORT},
		{V1("/libpod_parent/libpod-" ID), ID, "podman " SHORT},
		{"0::/system.slice/nerdctl-" ID ".scope\n", ID, "nerdctl " SHORT},
		{"0::/default/" ID "\n", ID, "container " SHORT},
		/* Names instead of ids. */
		{"0::/lxc.payload.web/init.scope\n", "lxc web", "lxc web"},
		{V1("/lxc/db"), "lxc db", "lxc db"},
		{"0::/machine.slice/machine-qemu\\x2d1\\x2dvm.scope/libvirt/emulator\n",
		 "machine qemu\\x2d1\\x2dvm", "machine qemu-1-vm"},
		/* A runtime that uses the memory controller only, beside version 2. */
		{"4:memory:/docker/" ID "\n0::/init.scope\n", ID, "docker " SHORT},
		/* Monitors of containers, and what only looks like one. */
		{"0::/machine.slice/libpod-conmon-" ID ".scope\n", NULL, NULL},
		{"0::/kubepods.slice/kubepods-pod" POD_ ".slice/crio-conmon-" ID ".scope\n", NULL,
		 NULL},
		{"0::/system.slice/docker.service\n", NULL, NULL},
		{"0::/docker/" SHORT "\n", NULL, NULL},
		{"0::/x" ID "\n", NULL, NULL},
		{"0::/docker/4F8D1C0B2A3E5F60718293A4B5C6D7E8F90123456789ABCDEF0123456789ABCD\n",
		 NULL, NULL},
		{"0::/kubepods/burstable/pod" POD "\n", NULL, NULL},
		{"0::/\n", NULL, NULL},
		{"", NULL, NULL},
		{"nonsense", NULL, NULL},
		{"0:", NULL, NULL},
	};

	(void)state;
	CHECK(BY_CONTAINER, cases);
}

static void units(void **state)
{
	static const struct expected cases[] = {
		{"0::/system.slice/nginx.service\n", "/system.slice/nginx.service",
		 "nginx.service"},
		{"0::/system.slice/system-getty.slice/getty@tty1.service\n",
		 "/system.slice/system-getty.slice/getty@tty1.service", "getty@tty1.service"},
		{"0::/user.slice/user-1000.slice/session-3.scope\n",
		 "/user.slice/user-1000.slice/session-3.scope", "session-3.scope"},
		{"0::/user.slice/user-1000.slice/user@1000.service/app.slice/firefox.service\n",
		 "/user.slice/user-1000.slice/user@1000.service/app.slice/firefox.service",
		 "firefox.service of user@1000.service"},
		/* A container has a manager of its own, and its users have theirs. */
		{"0::/machine.slice/machine-web.scope/payload/system.slice/sshd.service\n",
		 "/machine.slice/machine-web.scope/payload/system.slice/sshd.service",
		 "sshd.service of machine-web.scope/payload"},
		{"0::/lxc.payload.a/user.slice/user-0.slice/user@0.service/app.slice/x.service\n",
		 "/lxc.payload.a/user.slice/user-0.slice/user@0.service/app.slice/x.service",
		 "x.service of lxc.payload.a/user@0.service"},
		{"0::/user.slice/user-1000.slice/user@1000.service/init.scope\n",
		 "/user.slice/user-1000.slice/user@1000.service/init.scope",
		 "init.scope of user@1000.service"},
		{"0::/init.scope\n", "/init.scope", "init.scope"},
		/* Cgroups below a unit belong to it. */
		{"0::/system.slice/docker-" ID ".scope/child\n",
		 "/system.slice/docker-" ID ".scope", "docker-" ID ".scope"},
		{"0::/system.slice/dev-disk\\x2dby\\x2dpath.service\n",
		 "/system.slice/dev-disk\\x2dby\\x2dpath.service", "dev-disk-by-path.service"},
		/* Version 1: its own hierarchy, wherever that is in the file. Both: that of version 2 is empty. */
		{"3:cpu:/\n2:memory:/other\n1:name=systemd:/system.slice/cron.service\n",
		 "/system.slice/cron.service", "cron.service"},
		{"1:name=systemd:/system.slice/cron.service\n0::/system.slice/cron.service\n",
		 "/system.slice/cron.service", "cron.service"},
		{"1:name=systemd:/system.slice/cron.service\n0::/\n", "/system.slice/cron.service",
		 "cron.service"},
		{"0::/docker/" ID "\n", NULL, NULL},
		{"0::/\n", NULL, NULL},
		{"0::/.service\n", NULL, NULL},
		/* Seen from a cgroup namespace beside it. */
		{"0::/../../system.slice/nginx.service\n", "/../../system.slice/nginx.service",
		 "nginx.service"},
		{"0::/../user@1000.service/app.slice/a.service\n",
		 "/../user@1000.service/app.slice/a.service", "a.service of user@1000.service"},
	};

	(void)state;
	CHECK(BY_UNIT, cases);
}

static void jobs(void **state)
{
	static const struct expected cases[] = {
		{V1("/slurm/uid_1000/job_123/step_0/task_0"), "123", "job 123"},
		{"9:cpuset:/slurm/uid_1000/job_77/step_batch\n1:name=systemd:/system.slice/slurmd.service\n",
		 "77", "job 77"},
		{"4:freezer:/slurm_node1/uid_0/job_8/step_extern\n", "8", "job 8"},
		{"0::/system.slice/slurmstepd.scope/job_4711/step_0/user/task_0\n", "4711",
		 "job 4711"},
		{"0::/system.slice/node1_slurmstepd.scope/job_5/step_batch/slurm\n", "5", "job 5"},
		{"0::/system.slice/slurmd.service\n", NULL, NULL},
		{"0::/system.slice/slurmstepd.scope/system\n", NULL, NULL},
		{"0::/build/job_5\n", NULL, NULL},
		{"0::/slurm/job_x\n", NULL, NULL},
		{"0::/slurm/job_\n", NULL, NULL},
		{"0::/slurm/job_5x/step_0\n", NULL, NULL},
	};

	(void)state;
	CHECK(BY_JOB, cases);
}

static void cgroups(void **state)
{
	static const struct expected cases[] = {
		{"0::/a/b\n", "/a/b", "/a/b"},
		{"0::/\n", "/", "/"},
		{"3:memory:/m\n2:cpu:/c\n", "/m", "/m"},
		{"3:memory:/m\n1:name=systemd:/s\n", "/s", "/s"},
		{"3:memory:/m\n1:name=systemd:/s\n0::/two\n", "/two", "/two"},
		{"0::/gone (deleted)\n", "/gone", "/gone"},
		{"0::/a:b\n", "/a:b", "/a:b"},
		{"0::/../sibling\n", "/../sibling", "/../sibling"},
		{"", NULL, NULL},
	};

	(void)state;
	CHECK(BY_CGROUP, cases);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(containers),
		cmocka_unit_test(units),
		cmocka_unit_test(jobs),
		cmocka_unit_test(cgroups),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}

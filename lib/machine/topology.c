/* SPDX-License-Identifier: MIT */
/* CPUs, sockets and NUMA nodes from sysfs; the CPU model from /proc/cpuinfo; the hypervisor from CPU flags,
 * firmware and clocks. */
#include "machine/topology.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CPU_DIR "sys/devices/system/cpu"
#define NODE_DIR "sys/devices/system/node"
#define PRODUCT "sys/class/dmi/id/product_name"
#define VENDOR "sys/class/dmi/id/sys_vendor"
#define CLOCKS "sys/devices/system/clocksource/clocksource0/available_clocksource"
#define FIRST_CPU 16384 /* bytes that hold what cpuinfo says of one CPU */

/* An id such as physical_package_id; -1 when the kernel does not know or does not say. -ENOMEM. */
static int read_id(const struct unc_root *root, int cpu, const char *name, int *out)
{
	char path[128];
	uint64_t value;
	int err;

	snprintf(path, sizeof(path), CPU_DIR "/cpu%d/topology/%s", cpu, name);
	*out = -1;
	err = unc_root_read_u64(root, path, &value);
	if (err == 0 && value <= INT_MAX)
		*out = (int)value;
	return err == -ENOMEM ? err : 0;
}

int unc_cpulist_read(struct unc_cpulist *out, const struct unc_root *root, const char *path,
		     struct unc_error *e)
{
	char *text;
	int err = unc_root_read_line(root, path, &text);

	if (err)
		return err == -ENOMEM ? unc_nomem(e) : err;
	err = unc_cpulist_parse(text, out);
	if (err == -ENOMEM)
		unc_nomem(e);
	else if (err)
		err = unc_fail(e, EBADMSG, "%s: '%.100s' is not a valid list of CPUs such as 0-3,8",
			       path, text);
	free(text);
	return err;
}

static int read_cpus(struct unc_topology *t, const struct unc_root *root, struct unc_error *e)
{
	struct unc_cpulist present = {0}, online = {0};
	int err = unc_cpulist_read(&present, root, CPU_DIR "/present", e), list = 0;

	if (err != -ENOMEM && err != -EBADMSG && !present.count)
		err = unc_fail(e, ENOENT,
			       CPU_DIR " names no CPU below the root: is /sys mounted there?");
	if (err == 0) {
		list = unc_cpulist_read(&online, root, CPU_DIR "/online", e);
		if (list < 0 && list != -ENOENT)
			err = list == -EBADMSG
				      ? list
				      : unc_fail(e, -list, CPU_DIR "/online cannot be read");
	}
	if (err == 0 && !(t->cpus = calloc(present.count, sizeof(*t->cpus))))
		err = -ENOMEM;
	for (size_t i = 0; err == 0 && i < present.count; i++) {
		struct uncore_cpu *cpu = &t->cpus[t->cpu_count++];

		cpu->id = present.ids[i];
		cpu->node = -1;
		/* Without that file all are. */
		cpu->online = list == -ENOENT || unc_cpulist_has(&online, cpu->id);
		err = read_id(root, cpu->id, "physical_package_id", &cpu->socket);
		if (err == 0)
			err = read_id(root, cpu->id, "die_id", &cpu->die);
	}
	if (err == -ENOMEM)
		unc_nomem(e);
	unc_cpulist_finish(&present);
	unc_cpulist_finish(&online);
	return err;
}

static int compare_cpus(const void *a, const void *b)
{
	const struct uncore_cpu *x = a, *y = b;

	return (x->id > y->id) - (x->id < y->id);
}

static struct uncore_cpu *find_cpu(const struct unc_topology *t, int id)
{
	const struct uncore_cpu searched = {.id = id};

	return t->cpu_count
		       ? bsearch(&searched, t->cpus, t->cpu_count, sizeof(*t->cpus), compare_cpus)
		       : NULL;
}

static int read_node(struct unc_topology *t, const struct unc_root *root, int node,
		     struct unc_error *e)
{
	struct unc_cpulist list = {0};
	char path[128];
	int err;

	snprintf(path, sizeof(path), NODE_DIR "/node%d/cpulist", node);
	err = unc_cpulist_read(&list, root, path, e);
	if (err == -ENOMEM || err == -EBADMSG)
		return err;
	if (err) /* a node that came or went: its CPUs stay without */
		return 0;
	for (size_t i = 0; i < list.count; i++) {
		struct uncore_cpu *cpu = find_cpu(t, list.ids[i]);

		if (cpu)
			cpu->node = node;
	}
	unc_cpulist_finish(&list);
	return 0;
}

/* A kernel without NUMA has no nodes. */
static int read_nodes(struct unc_topology *t, const struct unc_root *root, struct unc_error *e)
{
	struct unc_names names = {0};
	int err = unc_root_list(root, NODE_DIR, &names);

	if (err && err != -ENOMEM)
		return 0;
	for (size_t i = 0; err == 0 && i < names.count; i++) {
		const char *name = names.items[i];
		uint64_t node;

		if (strncmp(name, "node", 4) == 0 && unc_parse_u64(name + 4, &node) == 0 &&
		    node <= 65535)
			err = read_node(t, root, (int)node, e);
	}
	unc_names_finish(&names);
	return err == -ENOMEM ? unc_nomem(e) : err;
}

static int compare_dies(const void *a, const void *b)
{
	const struct unc_die *x = a, *y = b;

	if (x->socket != y->socket)
		return x->socket < y->socket ? -1 : 1;
	return x->id < y->id ? -1 : x->id > y->id;
}

/* Sorts and takes duplicates out. */
static size_t unique_dies(struct unc_die *dies, size_t count)
{
	size_t kept = 0;

	qsort(dies, count, sizeof(*dies), compare_dies);
	for (size_t i = 0; i < count; i++)
		if (!kept || compare_dies(&dies[i], &dies[kept - 1]) != 0)
			dies[kept++] = dies[i];
	return kept;
}

/* Sockets of online CPUs; dies of all whose socket is known. */
static int collect_sockets(struct unc_topology *t)
{
	size_t count = 0;

	t->sockets = calloc(t->cpu_count, sizeof(*t->sockets));
	t->dies = calloc(t->cpu_count, sizeof(*t->dies));
	if (!t->sockets || !t->dies)
		return -ENOMEM;
	for (size_t i = 0; i < t->cpu_count; i++)
		if (t->cpus[i].online && t->cpus[i].socket >= 0)
			t->dies[count++].socket = t->cpus[i].socket;
	t->socket_count = unique_dies(t->dies, count);
	for (size_t i = 0; i < t->socket_count; i++)
		t->sockets[i] = t->dies[i].socket;
	count = 0;
	for (size_t i = 0; i < t->cpu_count; i++)
		if (t->cpus[i].socket >= 0)
			t->dies[count++] = (struct unc_die){t->cpus[i].socket, t->cpus[i].die};
	t->die_count = unique_dies(t->dies, count);
	return 0;
}

/* ---- CPU model ---- */

/* In lower case, and only letters, digits, '_' and '-': vendors pad their names with spaces. False
 * when there is no such key. */
static bool get_key(const char *cpuinfo, const char *key, char *into, size_t room)
{
	size_t len = 0, n = 0;
	const char *value = unc_find_value(cpuinfo, key, &len);

	for (size_t i = 0; i < len && n + 1 < room; i++) {
		char c = unc_lower(value[i]);

		if ((c >= 'a' && c <= 'z') || unc_is_digit(c) || c == '_' || c == '-')
			into[n++] = c;
	}
	into[n] = '\0';
	return n > 0;
}

static void read_model(char *into, size_t room, const char *cpuinfo)
{
	static const char *const vendors[][2] = {
		{"genuineintel", "intel"},
		{"authenticamd", "amd"},
		{"hygongenuine", "hygon"},
	};
	char a[24], b[12], c[12];
	const char *vendor = a;

	get_key(cpuinfo, "vendor_id", a, sizeof(a));
	for (size_t i = 0; i < sizeof(vendors) / sizeof(*vendors); i++)
		if (strcmp(a, vendors[i][0]) == 0)
			vendor = vendors[i][1];
	if (*a && get_key(cpuinfo, "cpu family", b, sizeof(b)) &&
	    get_key(cpuinfo, "model", c, sizeof(c)))
		snprintf(into, room, "%s/%s/%s", vendor, b, c);
	else if (get_key(cpuinfo, "CPU implementer", b, sizeof(b)) &&
		 get_key(cpuinfo, "CPU part", c, sizeof(c)))
		snprintf(into, room, "arm/%s/%s", b, c);
}

/* ---- hypervisor ---- */

/* What the firmware calls the machine. `certain`: only virtual machines have this name. */
struct firmware {
	const char *file;
	const char *text; /* part of the file's */
	const char *name;
	bool certain;
};

static const struct firmware firmwares[] = {
	{PRODUCT, "KVM", "KVM", true},
	{VENDOR, "QEMU", "QEMU", true},
	{VENDOR, "VMware", "VMware", true},
	{PRODUCT, "VirtualBox", "VirtualBox", true},
	{PRODUCT, "Virtual Machine", "Hyper-V", true},
	{PRODUCT, "Google Compute Engine", "Google Compute Engine", false},
	{PRODUCT, ".metal", NULL, false}, /* Amazon's servers without a hypervisor */
	{VENDOR, "Amazon EC2", "Amazon EC2", true},
	{VENDOR, "Alibaba Cloud", "Alibaba Cloud", false},
	{VENDOR, "OpenStack", "OpenStack", true},
	{VENDOR, "Xen", "Xen", true},
	{VENDOR, "Parallels", "Parallels", true},
	{PRODUCT, "Apple Virtualization", "Apple Virtualization", true},
	{PRODUCT, "BHYVE", "bhyve", true},
	{VENDOR, "Microsoft", "Hyper-V", false},
	{VENDOR, "Google", "Google Compute Engine", false},
};

static bool file_contains(const struct unc_root *root, const char *path, const char *part)
{
	char *text;
	bool found;

	if (unc_root_read_line(root, path, &text) < 0)
		return false;
	found = strstr(text, part);
	free(text);
	return found;
}

static const struct firmware *find_firmware(const struct unc_root *root)
{
	for (size_t i = 0; i < sizeof(firmwares) / sizeof(*firmwares); i++)
		if (file_contains(root, firmwares[i].file, firmwares[i].text))
			return &firmwares[i];
	return NULL;
}

/* Clocks that only a hypervisor offers. */
static const char *find_clock(const struct unc_root *root)
{
	static const char *const clocks[][2] = {
		{"kvm-clock", "KVM"},
		{"hyperv_clocksource", "Hyper-V"},
		{"xen", "Xen"},
	};

	for (size_t i = 0; i < sizeof(clocks) / sizeof(*clocks); i++)
		if (file_contains(root, CLOCKS, clocks[i][0]))
			return clocks[i][1];
	return NULL;
}

/* On x86 a flag of the CPU decides; the firmware's vendor may be that of a rented server without a
 * hypervisor, too. */
static const char *x86_hypervisor(const struct unc_root *root, const char *flags)
{
	const struct firmware *firmware;
	const char *name;

	if (!unc_has_word(flags, "hypervisor"))
		return NULL;
	name = find_clock(root);
	if (name)
		return name;
	firmware = find_firmware(root);
	return firmware && firmware->name ? firmware->name : "an unknown hypervisor";
}

static const char *other_hypervisor(const struct unc_root *root)
{
	const struct firmware *firmware = find_firmware(root);

	if (firmware && firmware->certain)
		return firmware->name;
	if (unc_root_exists(root, "sys/firmware/devicetree/base/hypervisor"))
		return "an unknown hypervisor";
	return NULL;
}

static void read_hypervisor(char *into, size_t room, const struct unc_root *root,
			    const char *cpuinfo)
{
	const char *flags, *name;
	char *type = NULL;
	size_t len;

	/* /sys/hypervisor is there under Xen, also in its first domain, which has no CPU flag. */
	if (unc_root_read_line(root, "sys/hypervisor/type", &type) == 0 && *type) {
		name = strcmp(type, "xen") == 0 ? "Xen" : type;
	} else {
		flags = unc_find_value(cpuinfo, "flags", &len);
		name = flags ? x86_hypervisor(root, flags) : other_hypervisor(root);
	}
	snprintf(into, room, "%s", name ? name : "");
	free(type);
}

/* The CPU model and the hypervisor. */
static int read_platform(struct unc_topology *t, const struct unc_root *root)
{
	char *text = NULL;
	const char *cpuinfo;
	size_t len;

	if (unc_root_read_bytes(root, "proc/cpuinfo", FIRST_CPU, &text, &len) == -ENOMEM)
		return -ENOMEM;
	cpuinfo = text ? text : "";
	snprintf(t->cpu_model, sizeof(t->cpu_model), "unknown");
	read_model(t->cpu_model, sizeof(t->cpu_model), cpuinfo);
	read_hypervisor(t->hypervisor, sizeof(t->hypervisor), root, cpuinfo);
	free(text);
	if (t->hypervisor[0])
		snprintf(t->guest, sizeof(t->guest),
			 "this machine is a guest of %s: counters outside the cores usually belong "
			 "to the host",
			 t->hypervisor);
	return 0;
}

int unc_topology_read(struct unc_topology *out, const struct unc_root *root, struct unc_error *e)
{
	struct unc_topology t = {0};
	int err = read_cpus(&t, root, e);

	if (!err)
		err = read_nodes(&t, root, e);
	if (!err && (collect_sockets(&t) < 0 || read_platform(&t, root) < 0))
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
	free(t->dies);
	*t = (struct unc_topology){0};
}

const struct uncore_cpu *unc_topology_cpu(const struct unc_topology *t, int id)
{
	return find_cpu(t, id);
}

bool unc_topology_online(const struct unc_topology *t, int id)
{
	const struct uncore_cpu *cpu = find_cpu(t, id);

	return cpu && cpu->online;
}

int unc_topology_socket(const struct unc_topology *t, int id)
{
	const struct uncore_cpu *cpu = find_cpu(t, id);

	return cpu ? cpu->socket : -1;
}

int unc_topology_die(const struct unc_topology *t, int cpu)
{
	const struct uncore_cpu *own = find_cpu(t, cpu);
	const struct unc_die *found = NULL;

	if (own) {
		const struct unc_die die = {own->socket, own->die};

		found = bsearch(&die, t->dies, t->die_count, sizeof(die), compare_dies);
	}
	return found ? (int)(found - t->dies) : 0;
}

int unc_topology_die_socket(const struct unc_topology *t, int die)
{
	return die >= 0 && (size_t)die < t->die_count ? t->dies[die].socket : -1;
}

/* SPDX-License-Identifier: MIT */
/* Finds what the machine is: the CPU model from /proc/cpuinfo, the kernel's version, and the
 * hypervisor from CPU flags, firmware, device tree and clocks. */
#include "machine/topology.h"

#define PRODUCT "sys/class/dmi/id/product_name"
#define FIRMWARE "sys/class/dmi/id/bios_version"
#define VENDOR "sys/class/dmi/id/sys_vendor"
#define CLOCKS "sys/devices/system/clocksource/clocksource0/available_clocksource"
#define LONGEST_TREE 4096 /* maximum bytes of a file of the device tree */

/* ---- CPU model ---- */

/* How /proc/cpuinfo of each architecture names a CPU (show_cpuinfo() of arch/ARCH in Linux). The
 * first row that fits is used. */
static const struct model {
	const char *arch; /* the name begins with it; NULL: with the vendor */
	const char *key;  /* the row fits if this key's value contains `text` */
	const char *text;
	const char *parts[2]; /* the name continues with the values of these keys */
} models[] = {
	{"s390", "vendor_id", "IBM/S390", {"machine"}},
	{NULL, "vendor_id", "", {"cpu family", "model"}},
	{"arm", "CPU implementer", "", {"CPU implementer", "CPU part"}},
	{"ia64", "arch", "IA-64", {"family", "model"}},
	{"riscv", "mvendorid", "", {"mvendorid", "marchid"}},
	{"riscv", "uarch", "", {"uarch"}},
	{"riscv", "isa", "rv", {"isa"}},
	{"loongarch", "CPU Family", "", {"CPU Family", "Model Name"}},
	{"mips", "cpu model", "", {"cpu model"}},
	{"sparc", "type", "sun", {"cpu"}},
	{"power", "revision", "pvr", {"cpu"}},
};
#define MODELS (sizeof(models) / sizeof(*models))

size_t unc_cpuinfo_lines(const char *cpuinfo, const char *lines[static UNC_CPUINFO_LINES])
{
	static const char *const others[] = {"stepping", "flags"};
	size_t count = 0, len;

	for (size_t i = 0; i < 3 * MODELS + 2 && count < UNC_CPUINFO_LINES; i++) {
		const struct model *m = &models[i / 3 < MODELS ? i / 3 : 0];
		const char *key = i >= 3 * MODELS ? others[i - 3 * MODELS]
				  : i % 3 == 2    ? m->key
						  : m->parts[i % 3];
		const char *line = key ? unc_find_value(cpuinfo, key, &len) : NULL;
		bool known = !line;

		while (line && line > cpuinfo && line[-1] != '\n')
			line--;
		for (size_t k = 0; !known && k < count; k++)
			known = lines[k] == line;
		if (!known)
			lines[count++] = line;
	}
	return count;
}

/* Reads the value of a key, in lower case. Keeps only letters, digits, '_' and '-', since vendors
 * pad their names with spaces. Drops text in parentheses or after a comma, which is about the
 * chip's units. Returns false if the key does not exist. */
static bool get_key(const char *cpuinfo, const char *key, char *into, size_t room)
{
	size_t len = 0, n = 0;
	const char *value = unc_find_value(cpuinfo, key, &len);

	/* "processor 0: version = FF,  identification = 012345,  machine = 2817" */
	if (!value && strcmp(key, "machine") == 0 && (value = strstr(cpuinfo, "machine = "))) {
		value += strlen("machine = ");
		len = strcspn(value, "\n");
	}
	for (size_t i = 0; value && i < len && n + 1 < room; i++) {
		char c = unc_lower(value[i]);

		if (c == '(' || (c == ',' && value[i + 1] == ' '))
			break;
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
	char a[24], b[24], c[24];

	for (const struct model *m = models; m < models + MODELS; m++) {
		const char *arch = m->arch;
		size_t len = 0;
		const char *value = unc_find_value(cpuinfo, m->key, &len);

		if (!value || !memmem(value, len, m->text, strlen(m->text)) ||
		    !get_key(cpuinfo, m->key, a, sizeof(a)) ||
		    !get_key(cpuinfo, m->parts[0], b, sizeof(b)) ||
		    (m->parts[1] && !get_key(cpuinfo, m->parts[1], c, sizeof(c))))
			continue;
		for (size_t i = 0; !arch && i < sizeof(vendors) / sizeof(*vendors); i++)
			if (strcmp(a, vendors[i][0]) == 0)
				arch = vendors[i][1];
		snprintf(into, room, "%s/%s%s%s", arch ? arch : a, b, m->parts[1] ? "/" : "",
			 m->parts[1] ? c : "");
		return;
	}
}

/* Reads the name that the CPU has for people, without marks and words that all CPUs have:
 * "Intel(R) Xeon(R) Platinum 8480+", "AMD EPYC 9654 96-Core Processor". */
static void read_brand(char *into, size_t room, const char *cpuinfo)
{
	size_t len = 0, n = 0;
	const char *value = unc_find_value(cpuinfo, "model name", &len);
	const char *end = value ? value + len : NULL, *word;
	static const char *const common[] = {"CPU", "Processor", "@", "with"};

	for (; value && value < end; value += strspn(value, " ")) {
		size_t size = strcspn(value, " \n"), kept = strcspn(value, " (\n");
		bool plain = true;

		word = value;
		value += size;
		for (size_t i = 0; i < sizeof(common) / sizeof(*common); i++)
			plain = plain &&
				(size != strlen(common[i]) || memcmp(word, common[i], size) != 0);
		/* "@ 2.00GHz", "with Radeon Graphics" */
		if (*word == '@' || (!plain && *word == 'w'))
			break;
		plain = plain && !(size > 5 && memcmp(word + size - 5, "-Core", 5) == 0);
		if (!plain || !kept || word + kept > end || n + kept + 2 > room)
			continue;
		n += (size_t)snprintf(into + n, room - n, "%s%.*s", n ? " " : "", (int)kept, word);
	}
	into[n] = '\0';
}

/* ---- hypervisor ---- */

/* A name of the machine in the firmware. `certain`: only virtual machines have it. */
struct firmware {
	const char *file;
	const char *text; /* the file contains this */
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

/* Clocks that only a hypervisor offers. */
static const char *const clocks[][2] = {
	{"kvm-clock", "KVM"},
	{"hyperv_clocksource", "Hyper-V"},
	{"xen", "Xen"},
};

/* /proc/device-tree is a link to /sys. A copy may lack one of the two. */
static bool tree_contains(const struct unc_root *root, const char *path, const char *part)
{
	static const char *const bases[] = {"sys/firmware/devicetree/base", "proc/device-tree"};
	bool found = false;

	for (size_t i = 0; i < 2 && !found; i++) {
		char *data;
		size_t len;

		if (unc_root_read_bytes(root, UNC_PATH("%s/%s", bases[i], path), LONGEST_TREE,
					&data, &len) < 0) {
			found = !*part && unc_root_exists(root, UNC_PATH("%s/%s", bases[i], path));
			continue;
		}
		found = memmem(data, len, part, strlen(part));
		free(data);
	}
	return found;
}

/* Finds a hypervisor by names and texts of the device tree, as lscpu and systemd-detect-virt do. */
static const char *find_in_tree(const struct unc_root *root)
{
	if (tree_contains(root, "hypervisor/compatible", "kvm"))
		return "KVM";
	if (tree_contains(root, "hypervisor/compatible", "xen"))
		return "Xen";
	if (tree_contains(root, "hypervisor", ""))
		return "an unknown hypervisor";
	if (tree_contains(root, "compatible", "qemu") ||
	    tree_contains(root, "compatible", "linux,dummy-virt"))
		return "QEMU";
	if (tree_contains(root, "ibm,partition-name", "") &&
	    tree_contains(root, "hmc-managed?", "") &&
	    !tree_contains(root, "ibm,partition-name", "full"))
		return "PowerVM";
	return NULL;
}

/* Finds the control program of s390. The file has a block for each level of virtual machines.
 * "": there is no such file. */
static void find_control_program(const struct unc_root *root, char *into, size_t room)
{
	const char *value;
	size_t len;
	char *text;

	*into = '\0';
	if (unc_root_read(root, "proc/sysinfo", &text) < 0)
		return;
	value = unc_find_value(text, "VM00 Control Program", &len);
	if (value && strncmp(value, "KVM", 3) == 0)
		snprintf(into, room, "KVM");
	else if (value)
		snprintf(into, room, "%.*s", (int)strcspn(value, UNC_SPACES), value);
	free(text);
}

/* Finds the hypervisor; NULL: none was found. On x86 a flag of the CPU decides, since a rented
 * server without a hypervisor may have the same firmware vendor. */
static const char *find_hypervisor(const struct unc_root *root, const char *cpuinfo)
{
	const struct firmware *firmware = NULL;
	size_t len;
	const char *flags = unc_find_value(cpuinfo, "flags", &len);

	if (flags && !unc_has_word(flags, "hypervisor"))
		return NULL;
	for (size_t i = 0; flags && i < sizeof(clocks) / sizeof(*clocks); i++)
		if (file_contains(root, CLOCKS, clocks[i][0]))
			return clocks[i][1];
	for (size_t i = 0; !firmware && i < sizeof(firmwares) / sizeof(*firmwares); i++)
		if (file_contains(root, firmwares[i].file, firmwares[i].text))
			firmware = &firmwares[i];
	if (firmware && firmware->name && (flags || firmware->certain))
		return firmware->name;
	return flags ? "an unknown hypervisor" : find_in_tree(root);
}

/* Reads the CPU model, the kernel and the hypervisor. */
int unc_platform_read(struct unc_topology *t, const struct unc_root *root)
{
	char *text = NULL, *type = NULL, *release, stepping[12];
	const char *cpuinfo, *name;
	size_t len;

	if (unc_root_read_bytes(root, "proc/cpuinfo", UNC_FIRST_CPU, &text, &len) == -ENOMEM)
		return -ENOMEM;
	cpuinfo = text ? text : "";
	snprintf(t->cpu_model, sizeof(t->cpu_model), "unknown");
	read_model(t->cpu_model, sizeof(t->cpu_model), cpuinfo);
	read_brand(t->cpu_brand, sizeof(t->cpu_brand), cpuinfo);
	snprintf(t->cpu_names, sizeof(t->cpu_names), "%s", t->cpu_model);
	t->stepping = -1;
	/* The kernel may write "unknown". */
	if (get_key(cpuinfo, "stepping", stepping, sizeof(stepping)) && unc_is_digit(*stepping)) {
		t->stepping = (int)strtol(stepping, NULL, 10);
		snprintf(t->cpu_names, sizeof(t->cpu_names), "%s %s/%d", t->cpu_model, t->cpu_model,
			 t->stepping);
	}
	if (unc_root_read_line(root, "proc/sys/kernel/osrelease", &release) == 0) {
		snprintf(t->kernel, sizeof(t->kernel), "%s", release);
		free(release);
	}
	if (unc_root_read_line(root, FIRMWARE, &release) == 0) {
		snprintf(t->firmware, sizeof(t->firmware), "%s", release);
		free(release);
	}
	/* /sys/hypervisor exists under Xen, also in its first domain, which does not have the CPU
	 * flag. */
	if (unc_root_read_line(root, "sys/hypervisor/type", &type) == 0 && *type)
		name = strcmp(type, "xen") == 0 ? "Xen" : type;
	else
		name = find_hypervisor(root, cpuinfo);
	find_control_program(root, t->hypervisor, sizeof(t->hypervisor));
	if (name)
		snprintf(t->hypervisor, sizeof(t->hypervisor), "%s", name);
	if (*t->hypervisor)
		snprintf(t->guest, sizeof(t->guest),
			 "this machine is a guest of %s: counters outside the cores usually belong "
			 "to the host",
			 t->hypervisor);
	free(type);
	free(text);
	return 0;
}

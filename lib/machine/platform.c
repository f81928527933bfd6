/* SPDX-License-Identifier: MIT */
/* The CPU model from /proc/cpuinfo, and the hypervisor from the traces it leaves. */
#include "machine/platform.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DMI_DIR "sys/class/dmi/id"
#define FIRST_CPU 16384 /* bytes that hold what cpuinfo says of one CPU */

/* ---- CPU model ---- */

/* Lower case and nothing but letters, digits, '_' and '-': vendors pad their names with spaces. */
static void copy_word(char *into, size_t room, const char *text, size_t len)
{
	size_t n = 0;

	for (size_t i = 0; i < len && n + 1 < room; i++) {
		char c = text[i];

		if (c >= 'A' && c <= 'Z')
			c = (char)(c - 'A' + 'a');
		if ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '-')
			into[n++] = c;
	}
	into[n] = '\0';
}

/* The text after "key :" at the beginning of a line; NULL when the line is another. */
static const char *after_key(const char *line, const char *key)
{
	size_t len = strlen(key);

	if (strncmp(line, key, len) != 0)
		return NULL;
	line += len;
	line += strspn(line, " \t");
	return *line == ':' ? line + 1 : NULL;
}

/* The first value of the key, and its length up to the line's end; NULL without. */
static const char *find_key(const char *cpuinfo, const char *key, size_t *len)
{
	while (*cpuinfo) {
		const char *value = after_key(cpuinfo, key);

		if (value) {
			*len = strcspn(value, "\n");
			return value;
		}
		cpuinfo += strcspn(cpuinfo, "\n");
		cpuinfo += *cpuinfo == '\n';
	}
	return NULL;
}

/* False when there is no such key. */
static bool get_key(const char *cpuinfo, const char *key, char *into, size_t room)
{
	const char *value;
	size_t len;

	value = find_key(cpuinfo, key, &len);
	if (!value)
		return false;
	copy_word(into, room, value, len);
	return *into != '\0';
}

static const char *short_vendor(const char *vendor)
{
	static const char *const names[][2] = {
		{"genuineintel", "intel"},
		{"authenticamd", "amd"},
		{"hygongenuine", "hygon"},
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (strcmp(vendor, names[i][0]) == 0)
			return names[i][1];
	return vendor;
}

static void read_model(char *into, size_t room, const char *cpuinfo)
{
	char a[24], b[12], c[12];

	if (get_key(cpuinfo, "vendor_id", a, sizeof(a)) &&
	    get_key(cpuinfo, "cpu family", b, sizeof(b)) && get_key(cpuinfo, "model", c, sizeof(c)))
		snprintf(into, room, "%s/%s/%s", short_vendor(a), b, c);
	else if (get_key(cpuinfo, "CPU implementer", b, sizeof(b)) &&
		 get_key(cpuinfo, "CPU part", c, sizeof(c)))
		snprintf(into, room, "arm/%s/%s", b, c);
}

/* ---- hypervisor ---- */

/* A line of what the firmware says the machine is. `certain`: only virtual machines say it. */
struct firmware {
	const char *file;
	const char *text; /* part of the file's */
	const char *name;
	bool certain;
};

static const struct firmware firmwares[] = {
	{"product_name", "KVM", "KVM", true},
	{"sys_vendor", "QEMU", "QEMU", true},
	{"sys_vendor", "VMware", "VMware", true},
	{"product_name", "VirtualBox", "VirtualBox", true},
	{"product_name", "Virtual Machine", "Hyper-V", true},
	{"product_name", "Google Compute Engine", "Google Compute Engine", false},
	{"product_name", ".metal", NULL, false}, /* Amazon's servers without a hypervisor */
	{"sys_vendor", "Amazon EC2", "Amazon EC2", true},
	{"sys_vendor", "Alibaba Cloud", "Alibaba Cloud", false},
	{"sys_vendor", "OpenStack", "OpenStack", true},
	{"sys_vendor", "Xen", "Xen", true},
	{"sys_vendor", "Parallels", "Parallels", true},
	{"product_name", "Apple Virtualization", "Apple Virtualization", true},
	{"product_name", "BHYVE", "bhyve", true},
	{"sys_vendor", "Microsoft", "Hyper-V", false},
	{"sys_vendor", "Google", "Google Compute Engine", false},
};

static const struct firmware *find_firmware(const struct unc_root *root)
{
	for (size_t i = 0; i < sizeof(firmwares) / sizeof(*firmwares); i++) {
		char path[64], *text;
		bool found;

		snprintf(path, sizeof(path), DMI_DIR "/%s", firmwares[i].file);
		if (unc_root_read_line(root, path, &text) < 0)
			continue;
		found = strstr(text, firmwares[i].text);
		free(text);
		if (found)
			return &firmwares[i];
	}
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
	const char *name = NULL;
	char *text;

	if (unc_root_read_line(root,
			       "sys/devices/system/clocksource/clocksource0/available_clocksource",
			       &text) < 0)
		return NULL;
	for (size_t i = 0; !name && i < sizeof(clocks) / sizeof(*clocks); i++)
		if (strstr(text, clocks[i][0]))
			name = clocks[i][1];
	free(text);
	return name;
}

/* /sys/hypervisor is there under Xen, also in its first domain, which has no CPU flag. */
static bool read_hypervisor_type(char *into, size_t room, const struct unc_root *root)
{
	char *text;

	if (unc_root_read_line(root, "sys/hypervisor/type", &text) < 0)
		return false;
	snprintf(into, room, "%s", strcmp(text, "xen") == 0 ? "Xen" : text);
	free(text);
	return *into != '\0';
}

static bool has_word(const char *line, size_t len, const char *word)
{
	size_t word_len = strlen(word);

	while (len) {
		size_t skip = strspn(line, " \t"), n;

		if (skip >= len)
			return false;
		line += skip;
		len -= skip;
		n = strcspn(line, " \t\n");
		if (n == word_len && memcmp(line, word, n) == 0)
			return true;
		if (n >= len)
			return false;
		line += n;
		len -= n;
	}
	return false;
}

/* On x86 the CPU itself tells; the firmware's vendor also names servers that one rents bare. */
static const char *x86_hypervisor(const struct unc_root *root, const char *flags, size_t len)
{
	const struct firmware *firmware;
	const char *name;

	if (!has_word(flags, len, "hypervisor"))
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
	size_t len;

	if (read_hypervisor_type(into, room, root))
		return;
	flags = find_key(cpuinfo, "flags", &len);
	name = flags ? x86_hypervisor(root, flags, len) : other_hypervisor(root);
	snprintf(into, room, "%s", name ? name : "");
}

int unc_platform_read(struct unc_topology *t, const struct unc_root *root)
{
	char *cpuinfo;
	int err = unc_root_read_start(root, "proc/cpuinfo", FIRST_CPU, &cpuinfo);

	if (err == -ENOMEM)
		return err;
	if (err)
		cpuinfo = NULL;
	snprintf(t->cpu_model, sizeof(t->cpu_model), "unknown");
	read_model(t->cpu_model, sizeof(t->cpu_model), cpuinfo ? cpuinfo : "");
	read_hypervisor(t->hypervisor, sizeof(t->hypervisor), root, cpuinfo ? cpuinfo : "");
	free(cpuinfo);
	return 0;
}

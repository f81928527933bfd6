/* SPDX-License-Identifier: MIT */
/* The CPU model from /proc/cpuinfo; the hypervisor from CPU flags, firmware and clocks. */
#include "machine/platform.h"
#include "base/text.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PRODUCT "sys/class/dmi/id/product_name"
#define VENDOR "sys/class/dmi/id/sys_vendor"
#define CLOCKS "sys/devices/system/clocksource/clocksource0/available_clocksource"
#define FIRST_CPU 16384 /* bytes that hold what cpuinfo says of one CPU */

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
	size_t len;

	if (read_hypervisor_type(into, room, root))
		return;
	flags = unc_find_value(cpuinfo, "flags", &len);
	name = flags ? x86_hypervisor(root, flags) : other_hypervisor(root);
	snprintf(into, room, "%s", name ? name : "");
}

int unc_platform_read(const struct unc_root *root, char cpu_model[static UNC_MODEL_ROOM],
		      char hypervisor[static UNC_HYPERVISOR_ROOM])
{
	char *text = NULL;
	const char *cpuinfo;
	size_t len;

	if (unc_root_read_bytes(root, "proc/cpuinfo", FIRST_CPU, &text, &len) == -ENOMEM)
		return -ENOMEM;
	cpuinfo = text ? text : "";
	snprintf(cpu_model, UNC_MODEL_ROOM, "unknown");
	read_model(cpu_model, UNC_MODEL_ROOM, cpuinfo);
	read_hypervisor(hypervisor, UNC_HYPERVISOR_ROOM, root, cpuinfo);
	free(text);
	return 0;
}

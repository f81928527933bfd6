/* SPDX-License-Identifier: MIT */
/* PCI devices from sysfs. If a file is missing or malformed, its value is unknown. */
#include "machine/topology.h"

#include <math.h>

#define DEVICES "sys/bus/pci/devices"
#define FILE_OF(d, file) UNC_PATH(DEVICES "/%s/%s", (d)->shown.address, file)
/* PCI-to-PCI bridge; root ports and ports of switches are such bridges. */
#define CLASS_BRIDGE 0x0604
#define MOST_LANES 32

#define FIRST_EXTENDED 0x100

/* A malformed list of capabilities may be a loop. No list has more than these. */
#define MOST_CAPABILITIES 48 /* each has 4 bytes or more, from 0x40 to 0x100 */
#define MOST_EXTENDED 480    /* each has 8 bytes or more, from 0x100 to 0x1000 */

/* ---- addresses ---- */

bool unc_pci_parse(const char *text, uint64_t *out)
{
	return unc_take_function(&text, ':', out) && !*text;
}

bool unc_pci_parse_bus(const char *text, uint64_t *first)
{
	return unc_pci_parse(UNC_PATH("%.64s:00.0", text), first);
}

/* ---- one device ---- */

const char *unc_pci_keep(struct unc_pci *p, const char *text)
{
	const char *kept = unc_names_take(&p->strings, strdup(text));

	if (!kept)
		unc_nomem(p->error);
	return kept;
}

/* Reads a file of the device that is one number; `otherwise` if it is unknown. */
static int read_number(const struct unc_device *d, const char *file, int most, int otherwise)
{
	return unc_root_read_int(d->pci->root, FILE_OF(d, file), most, otherwise);
}

int unc_pci_config(const struct unc_device *d, size_t max, unsigned char **out, size_t *len)
{
	return unc_root_read_bytes(d->pci->root, FILE_OF(d, "config"), max, (char **)out, len);
}

#define MOST_DEPTH \
	32 /* maximum depth of directories: each SAS expander behind another one adds two */

/* Devices are directories. Links lead to other devices, or back. */
static bool is_link(const struct unc_root *root, const char *path)
{
	char *target = NULL;
	bool found = unc_root_link(root, path, &target) == 0;

	free(target);
	return found;
}

/* Adds the namespaces of an NVMe controller, such as "nvme0n1". */
static void add_namespaces(const struct unc_root *root, const char *controller,
			   struct unc_text *text)
{
	struct unc_names names = {0};

	unc_root_list(root, controller, &names);
	for (size_t i = 0; i < names.count; i++)
		if (unc_glob_matches("nvme[0-9]*n[0-9]*", names.items[i]))
			unc_text_add(text, " %s", names.items[i]);
	unc_names_finish(&names);
}

/* Adds the kernel's names of the objects that drivers made for the device: directories, inside
 * directories that are named by the kind of object. Those of disks and virtual devices are below
 * the directories of other buses. */
static void add_names(const struct unc_root *root, const char *dir, int depth,
		      struct unc_text *text)
{
	static const char *const kinds[] = {"infiniband", "net", "nvme", "block", "drm", "accel"};
	static const char *const buses[] = {
		"virtio[0-9]*",
		"host[0-9]*",
		"rport-*",
		"session*",
		"port-*",
		"expander-*",
		"end_device-*",
		"target*",
		"[0-9]*:[0-9]*",
		"ata[0-9]*",
		"usb[0-9]*",
		"[0-9]*-[0-9]*",
		/* A name such as "ice.roce.0" is an auxiliary device. */
		"mmc_host",
		"mmc[0-9]*",
		"*.*.[0-9]*",
	};
	struct unc_names names = {0}, made = {0};
	uint64_t address;

	if (depth > MOST_DEPTH || unc_root_list(root, dir, &names) < 0)
		return;
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
		if (!unc_names_has(&names, kinds[i]) ||
		    unc_root_list(root, UNC_PATH("%s/%s", dir, kinds[i]), &made) < 0)
			continue;
		for (size_t k = 0; k < made.count; k++) {
			unc_text_add(text, "%s%s", text->len ? " " : "", made.items[k]);
			if (strcmp(kinds[i], "nvme") == 0)
				add_namespaces(root, UNC_PATH("%s/nvme/%s", dir, made.items[k]),
					       text);
		}
		unc_names_finish(&made);
	}
	for (size_t i = 0; i < names.count; i++)
		for (size_t k = 0; k < sizeof(buses) / sizeof(*buses); k++) {
			if (!unc_glob_matches(buses[k], names.items[i]) ||
			    unc_pci_parse(names.items[i], &address) ||
			    is_link(root, UNC_PATH("%s/%s", dir, names.items[i])))
				continue;
			add_names(root, UNC_PATH("%s/%s", dir, names.items[i]), depth + 1, text);
			break;
		}
	unc_names_finish(&names);
}

static const char *read_names(const struct unc_device *d)
{
	struct unc_text text = {0};
	const char *kept;

	add_names(d->pci->root, FILE_OF(d, ""), 0, &text);
	if (!text.data && !text.failed)
		return NULL;
	kept = unc_names_take(&d->pci->strings, unc_text_take(&text));
	if (!kept)
		unc_nomem(d->pci->error);
	return kept;
}

/*
 * The rate of a link with this speed and number of lanes; NaN: no lanes, or an unknown speed.
 *
 * `share` is the part of the transfers that remains after the line code. Up to 32 GT/s it is the
 * same as in the kernel's PCIE_SPEED2MBS_ENC (drivers/pci/pci.h). At 64 GT/s there is no line code,
 * but flits of 256 bytes: 236 for packets, 6 for the data link layer, and 14 for error detection
 * and correction (PCI Express 6.0, Flit Mode). At the lower speeds the rate includes the data link
 * layer, so 242 of 256 is the comparable share.
 */
static double rate_of(double speed, unsigned width)
{
	static const struct {
		double speed, share;
	} codes[] = {
		{2.5, 8.0 / 10},   {5, 8.0 / 10},     {8, 128.0 / 130},
		{16, 128.0 / 130}, {32, 128.0 / 130}, {64, 242.0 / 256},
	};

	for (size_t i = 0; width && i < sizeof(codes) / sizeof(*codes); i++)
		if (codes[i].speed == speed)
			return speed * 1e9 * codes[i].share * width / 8;
	return NAN;
}

/* Reads a speed such as "16.0 GT/s PCIe". NaN for "Unknown", where there is no link. */
static double read_speed(const struct unc_device *d, const char *file)
{
	double speed = NAN;
	char *text = NULL;
	const char *end;

	unc_root_read_line(d->pci->root, FILE_OF(d, file), &text);
	if (text && (unc_scan_double(text, &end, &speed) < 0 || strncmp(end, " GT/s", 5) != 0))
		speed = NAN;
	free(text);
	return speed;
}

static void read_link(struct unc_device *device)
{
	struct uncore_device *d = &device->shown;

	d->width = (unsigned)read_number(device, "current_link_width", MOST_LANES, 0);
	d->speed = read_speed(device, "current_link_speed");
	d->link_rate = rate_of(d->speed, d->width);
}

/* Reading the link of a device that sleeps would wake it, or give nonsense. */
static bool sleeps(const struct unc_device *d)
{
	char *text = NULL;
	bool suspended;

	unc_root_read_line(d->pci->root, FILE_OF(d, "power/runtime_status"), &text);
	suspended = text && strcmp(text, "suspended") == 0;
	free(text);
	return suspended;
}

void unc_pci_read_links(struct unc_pci *p)
{
	for (size_t i = 0; i < p->count; i++)
		if (p->devices[i].shown.max_width && !sleeps(&p->devices[i]))
			read_link(&p->devices[i]);
}

static void read_device(struct unc_device *device)
{
	const struct unc_topology *t = device->pci->topology;
	struct uncore_device *d = &device->shown;
	char *uevent = NULL, *driver = NULL;
	size_t len;

	d->vendor = (unsigned)read_number(device, "vendor", UINT16_MAX, 0);
	d->device = (unsigned)read_number(device, "device", UINT16_MAX, 0);
	d->class_code = (unsigned)read_number(device, "class", 0xffffff, 0);
	d->is_bridge = d->class_code >> 8 == CLASS_BRIDGE;
	/* Not from the link `driver`, which a copied tree may not have, but from "DRIVER=nvme". */
	unc_root_read_line(device->pci->root, FILE_OF(device, "uevent"), &uevent);
	if (uevent)
		driver = (char *)unc_find_value(uevent, "DRIVER", &len);
	if (driver && len) {
		driver[len] = '\0';
		d->driver = unc_pci_keep(device->pci, driver);
	}
	free(uevent);
	d->names = d->is_bridge ? NULL : read_names(device);
	d->node = read_number(device, "numa_node", INT32_MAX, -1);
	d->socket = unc_topology_node_socket(t, d->node);
	if (d->socket < 0 && t->socket_count == 1 && !t->offline_count && !t->unplaced)
		d->socket = t->sockets[0];
	d->rc = d->rc_socket = d->index = -1;
	read_link(device);
	d->max_width = (unsigned)read_number(device, "max_link_width", MOST_LANES, 0);
	d->max_speed = read_speed(device, "max_link_speed");
	d->max_rate = rate_of(d->max_speed, d->max_width);
}

/* ---- capabilities in config space ---- */

static unsigned word16(const unsigned char *at)
{
	return (unsigned)(at[0] | at[1] << 8);
}

uint32_t unc_pci_word(const unsigned char *at)
{
	return word16(at) | (uint32_t)word16(at + 2) << 16;
}

/* Byte 0x34 has the offset of the list, if bit 4 of the status register (6) is 1. Each capability
 * has its id in byte 0 and the offset of the next one in byte 1. */
size_t unc_pci_capability(const unsigned char *config, size_t len, unsigned id)
{
	size_t at;

	if (len < 0x40 || !(config[6] & 0x10))
		return 0;
	at = config[0x34] & ~3U;
	for (int i = 0; i < MOST_CAPABILITIES && at >= 0x40 && at + 2 <= len; i++) {
		if (config[at] == id)
			return at;
		at = config[at + 1] & ~3U;
	}
	return 0;
}

/*
 * PCI Express Base Specification 5.0: extended capabilities begin at 0x100. Each has a header with
 * its id (15:0), version, and the offset of the next (31:20), 7.6.3. The designated vendor-specific
 * one has the id 0x23. Its header 1, at 4, has the vendor (15:0) and its length (31:20). Its header
 * 2, at 8, has the id that the vendor gave it (15:0), 7.9.6. The same is in linux
 * include/uapi/linux/pci_regs.h, PCI_DVSEC_HEADER1 and 2.
 */
size_t unc_pci_dvsec(const unsigned char *config, size_t len, unsigned vendor, unsigned id,
		     size_t *length)
{
	size_t at = FIRST_EXTENDED;

	for (int i = 0; i < MOST_EXTENDED && at >= FIRST_EXTENDED && at + 10 <= len; i++) {
		uint32_t header = unc_pci_word(config + at);

		if ((header & 0xffff) == 0x23 && word16(config + at + 4) == vendor &&
		    word16(config + at + 8) == id) {
			*length = unc_pci_word(config + at + 4) >> 20;
			return at;
		}
		at = header >> 20 & ~3U;
	}
	return 0;
}

/* ---- hierarchy ---- */

static int by_address(const void *a, const void *b)
{
	const struct unc_device *x = a, *y = b;

	return (x->address > y->address) - (x->address < y->address);
}

const struct unc_device *unc_pci_device(const struct unc_pci *p, uint64_t address)
{
	const struct unc_device searched = {.address = address};

	return p->count ? bsearch(&searched, p->devices, p->count, sizeof(searched), by_address)
			: NULL;
}

/* Cuts the last part off the path, and returns the device with this address; NULL: there is no such
 * device. */
static const struct unc_device *take_device(const struct unc_pci *p, char *path)
{
	char *slash = strrchr(path, '/');
	uint64_t address;

	if (!slash || !unc_pci_parse(slash + 1, &address))
		return NULL;
	*slash = '\0';
	return unc_pci_device(p, address);
}

/* Finds the bridge above a device. Its entry is a link to
 * ".../pci0000:17/0000:17:00.0/0000:18:00.0". The directory that contains the target is the bridge,
 * or the host bridge, which is no PCI device. In a segment that a driver made (VMD), the target is
 * below the driver's device: ".../pci0000:5d/0000:5d:05.5/pci10000:00/10000:00:02.0". */
static void find_parent(struct unc_device *d)
{
	const struct unc_device *parent;
	char *link, *slash;

	if (unc_root_link(d->pci->root, FILE_OF(d, ""), &link) < 0)
		return;
	take_device(d->pci, link);
	parent = take_device(d->pci, link);
	if (parent && parent < d) {
		d->shown.parent = &parent->shown;
		d->maker = parent->maker;
	}
	slash = strrchr(link, '/');
	if (!parent && slash && strncmp(slash, "/pci", 4) == 0) {
		*slash = '\0';
		d->maker = take_device(d->pci, link);
	}
	free(link);
}

/* Finds the device whose driver made the segment: the directory of VMD's device has a link "domain"
 * to ".../pci_bus/10000:00". */
static const struct unc_device *find_maker(const struct unc_device *d)
{
	const struct unc_device *maker = NULL;
	char *link;

	for (size_t i = 0; i < d->pci->count && !maker; i++) {
		const struct unc_device *other = &d->pci->devices[i];
		const char *driver = other->shown.driver;

		if (!driver || strcmp(driver, "vmd") != 0 ||
		    unc_root_link(d->pci->root, FILE_OF(other, "domain"), &link) < 0)
			continue;
		if (strrchr(link, '/') &&
		    strtoull(strrchr(link, '/') + 1, NULL, 16) == d->address >> 16)
			maker = other;
		free(link);
	}
	return maker;
}

/* True if the device is a bridge on a root bus, unless its PCI Express capability, which only root
 * can read, has another type: bits 7:4 at offset 2 are 4 for a root port. */
static bool is_root_port(const struct unc_device *d)
{
	unsigned char *config;
	bool is_port = true;
	size_t len, at;

	if (!d->shown.is_bridge || d->shown.parent)
		return false;
	if (unc_pci_config(d, 256, &config, &len) < 0)
		return true;
	at = unc_pci_capability(config, len, 0x10);
	if (at && at + 3 < len)
		is_port = config[at + 2] >> 4 == 4;
	else if (len == 256)
		is_port = false; /* conventional PCI */
	free(config);
	return is_port;
}

/* Limits the speed and width of a port to what both ends of its link support. The functions of a
 * device share the link, and virtual functions may not know it. */
static void limit_link(const struct unc_pci *p, struct uncore_device *port)
{
	double speed = NAN;
	unsigned width = 0;

	for (size_t i = 0; i < p->count; i++) {
		const struct uncore_device *d = &p->devices[i].shown;

		if (d->parent != port)
			continue;
		speed = fmax(speed, d->max_speed);
		width = d->max_width > width ? d->max_width : width;
	}
	if (speed < port->max_speed)
		port->max_speed = speed;
	if (width && width < port->max_width)
		port->max_width = width;
	port->max_rate = rate_of(port->max_speed, port->max_width);
}

/* ---- finding ---- */

int unc_pci_find(const struct unc_pci *p, const char *name, const struct uncore_device **out,
		 struct unc_error *e)
{
	struct unc_names all = {0}; /* addresses and the kernel's names, to suggest the nearest */
	uint64_t address;
	const struct unc_device *found = NULL;
	bool is_whole = unc_pci_parse(name, &address);
	bool is_address = is_whole || unc_pci_parse(UNC_PATH("0:%s", name), &address);

	if (is_address)
		found = unc_pci_device(p, address);
	/* Without a segment: the device in segment 0, or the only one with this address. */
	for (size_t i = 0; is_address && !is_whole && i < p->count; i++) {
		const struct unc_device *d = &p->devices[i];

		if ((uint16_t)d->address != address)
			continue;
		if (found && found->address > UINT16_MAX)
			return unc_fail(e, EINVAL, "there are %s and %s: write the address in full",
					found->shown.address, d->shown.address);
		if (!found)
			found = d;
	}
	for (size_t i = 0; !is_address && !found && i < p->count; i++)
		if (p->devices[i].shown.names && unc_has_word(p->devices[i].shown.names, name))
			found = &p->devices[i];
	if (found) {
		*out = &found->shown;
		return 0;
	}
	for (size_t i = 0; i < p->count; i++) {
		const struct uncore_device *d = &p->devices[i].shown;
		char *names = d->names ? strdup(d->names) : NULL, *rest = names, *word;

		unc_names_add(&all, d->address);
		while ((word = strsep(&rest, " ")))
			unc_names_add(&all, word);
		free(names);
	}
	unc_fail(e, ENOENT, "there is no PCI device '%s'", name);
	if (!unc_error_suggest(e, name, all.items, sizeof(*all.items), all.count))
		unc_error_append(e, " on this machine, which has %zu; 'uncore topo' shows them",
				 p->count);
	unc_names_finish(&all);
	return -ENOENT;
}

/* ---- all ---- */

/* Gives a root port the names of the devices below it. */
static int name_below(struct unc_pci *p, struct uncore_device *port)
{
	struct unc_text text = {0};

	for (size_t i = 0; i < p->count; i++) {
		const struct uncore_device *d = &p->devices[i].shown;

		if (d->port == port && d->names)
			unc_text_add(&text, "%s%s", text.len ? ", " : "", d->names);
	}
	if (!text.len && !text.failed)
		return 0;
	port->below = unc_names_take(&p->strings, unc_text_take(&text));
	return port->below ? 0 : unc_nomem(p->error);
}

int unc_pci_read(struct unc_pci *out, const struct unc_root *root, const struct unc_topology *t,
		 struct unc_error *error)
{
	struct unc_names names = {0};
	int err = unc_root_list(root, DEVICES, &names);

	*out = (struct unc_pci){.root = root, .topology = t, .error = error};
	if (err)
		return err == -ENOMEM ? unc_nomem(error) : 0;
	out->devices = calloc(names.count + 1, sizeof(*out->devices));
	for (size_t i = 0; out->devices && i < names.count; i++) {
		struct unc_device *d = &out->devices[out->count];

		if (!unc_pci_parse(names.items[i], &d->address))
			continue;
		d->pci = out;
		d->shown.address = unc_pci_keep(out, names.items[i]);
		if (!d->shown.address)
			break;
		out->count++;
	}
	unc_names_finish(&names);
	if (!out->devices)
		return unc_nomem(error);
	qsort(out->devices, out->count, sizeof(*out->devices), by_address);
	for (size_t i = 0; i < out->count; i++)
		read_device(&out->devices[i]);
	/* Bridges come before the devices below them, since their bus numbers are lower. Other
	 * links are not followed, so that malformed files cannot make a loop. */
	for (size_t i = 0; i < out->count; i++) {
		struct uncore_device *d = &out->devices[i].shown;

		find_parent(&out->devices[i]);
		if (!out->devices[i].maker && out->devices[i].address >> 16 > UINT16_MAX)
			out->devices[i].maker = find_maker(&out->devices[i]);
		d->is_port = is_root_port(&out->devices[i]);
		d->port = d->is_port ? d : d->parent ? d->parent->port : NULL;
	}
	for (size_t i = 0; i < out->count; i++)
		if (out->devices[i].shown.is_port)
			limit_link(out, &out->devices[i].shown);
	for (size_t i = 0; i < out->count && err == 0; i++)
		if (out->devices[i].shown.is_port)
			err = name_below(out, &out->devices[i].shown);
	return err;
}

void unc_pci_finish(struct unc_pci *p)
{
	free(p->devices);
	unc_names_finish(&p->strings);
	*p = (struct unc_pci){0};
}

/* SPDX-License-Identifier: MIT */
/* The health of PCIe links: negotiated speed and width, and errors that the kernel and drivers have
 * counted. */
#include "findings.h"

#include <math.h>

#define FILE_OF(d, file) UNC_PATH("sys/bus/pci/devices/%s/%s", (d)->address, file)
#define VENDOR_NVIDIA 0x10de
#define CLASS_DISPLAY 0x03
#define CLASS_ACCELERATOR 0x12

/* "nvme1 (0000:4b:00.0)", with the kernel's first name for it. */
static void add_device(const struct uncore_device *d, struct unc_text *to)
{
	int len = d->names ? (int)strcspn(d->names, " ") : 0;

	if (len)
		unc_text_add(to, "%.*s (%s)", len, d->names, d->address);
	else
		unc_text_add(to, "%s%s", d->is_bridge ? "port " : "", d->address);
}

/* ---- speed and width ---- */

/* Whether the link of a bridge that `speed` and `width` describe is the one below it: that of a
 * root port, and of the ports of a switch which devices are below. Ports of these kinds
 * alternate. */
static bool faces_down(const struct uncore_device *bridge)
{
	bool down = true;

	for (; bridge->parent; bridge = bridge->parent)
		down = !down;
	return down;
}

/* The first function of the device at the lower end of the link; NULL: there is none, or it does
 * not know its link, as virtual functions. */
static const struct uncore_device *lower_end(const struct unc_pci *p,
					     const struct uncore_device *port)
{
	for (size_t i = 0; i < p->count; i++) {
		const struct uncore_device *d = &p->devices[i].shown;

		if (d->parent == port && d->width && d->max_width && !isnan(d->speed) &&
		    !isnan(d->max_speed))
			return d;
	}
	return NULL;
}

/* Whether the link may be slower because its device is idle: GPUs lower speed and width then. Some
 * are below a switch that is part of them, and of the same vendor. */
static bool may_rest(const struct unc_pci *p, const struct uncore_device *lower)
{
	for (size_t i = 0; i < p->count; i++) {
		const struct uncore_device *d = &p->devices[i].shown, *top = d;
		unsigned kind = d->class_code >> 16;

		if (kind != CLASS_DISPLAY && kind != CLASS_ACCELERATOR)
			continue;
		while (top->parent && top->parent != lower->parent)
			top = top->parent;
		if (top->parent && (top == d || top->vendor == d->vendor))
			return true;
	}
	return false;
}

static bool is_suspended(const struct uncore *u, const struct uncore_device *d)
{
	return unc_device_sleeps(u->root, FILE_OF(d, "power/runtime_status"));
}

/* "2.5 GT/s x4"; not through the locale. */
static void add_rate(double speed, unsigned width, struct unc_text *to)
{
	long tenths = lround(fmin(speed, 1e6) * 10);

	unc_text_add(to, "%ld", tenths / 10);
	if (tenths % 10)
		unc_text_add(to, ".%ld", tenths % 10);
	unc_text_add(to, " GT/s x%u", width);
}

static int check_link(struct uncore *u, const struct uncore_device *port)
{
	struct unc_draft draft = {.verdict = UNCORE_VERDICT_NOTE, .subject = "PCIe link"};
	const struct uncore_device *d = lower_end(&u->pci, port);
	bool suspended = is_suspended(u, port), slow, narrow;
	double speed;
	unsigned width;

	if (!d || isnan(port->max_speed) || !port->max_width)
		return 0;
	suspended |= is_suspended(u, d);
	speed = fmin(d->max_speed, port->max_speed);
	width = d->max_width < port->max_width ? d->max_width : port->max_width;
	slow = d->speed < speed;
	narrow = d->width < width;
	/* A GPU at rest lowers the speed of its link; AMD's also its width (the levels in
	 * pp_dpm_pcie). */
	if (suspended || (!slow && !narrow) ||
	    (slow && may_rest(&u->pci, d) && !(narrow && d->vendor == VENDOR_NVIDIA)))
		return 0;
	add_device(d, &draft.found);
	unc_text_add(&draft.found, " below port %s: ", port->address);
	add_rate(d->speed, d->width, &draft.found);
	unc_text_add(&draft.found, ", and both ends support ");
	add_rate(speed, width, &draft.found);
	unc_text_add(&draft.why,
		     "possible reasons: a device, riser or cable that is not seated well; a slot "
		     "with fewer lanes than its port; a limit in the firmware");
	unc_text_add(&draft.fix,
		     "reseat the device or try another slot; see the link's limits in the BIOS");
	return unc_finding_add(u, &draft);
}

/* ---- errors ---- */

/* linux Documentation/ABI/testing/sysfs-bus-pci-devices-aer_stats. Of the corrected errors these
 * are the link's. Others, such as requests that a device does not support, also occur on a healthy
 * machine while it starts. */
static const char *const link_errors[] = {"RxErr", "BadTLP", "BadDLLP", "Rollover", "Timeout"};

/* Counts that a file of a PCI function has. */
struct counts {
	const char *file;
	const char *const *lines; /* the first words of its lines; NULL: the file is one number */
	size_t count;
	const char *subject, *one, *more, *why, *fix;
};

#define WATCH "if the number grows: reseat the device, or try another slot or cable"

static const struct counts counted[] = {
	{"aer_dev_correctable", link_errors, sizeof(link_errors) / sizeof(*link_errors),
	 "PCIe errors", "corrected error of its link", "corrected errors of its link",
	 "packets were damaged on the link and sent again: a few are harmless, many cost bandwidth",
	 WATCH},
	{"aer_dev_nonfatal", (const char *const[]){"TOTAL_ERR_NONFATAL"}, 1, "PCIe errors",
	 "uncorrected error that is not fatal", "uncorrected errors that are not fatal",
	 "requests of the device or to it have failed",
	 "sudo dmesg | grep -i -e AER -e 'PCIe Bus Error'   # which ones"},
	{"aer_dev_fatal", (const char *const[]){"TOTAL_ERR_FATAL"}, 1, "PCIe errors", "fatal error",
	 "fatal errors", "the link was not reliable any more, and was reset",
	 "sudo dmesg | grep -i -e AER -e 'PCIe Bus Error'   # which ones"},
	/* linux drivers/gpu/drm/amd/amdgpu/amdgpu_device.c, pcie_replay_count */
	{"pcie_replay_count", NULL, 1, "PCIe replays", "packet was sent again",
	 "packets were sent again",
	 "packets were damaged on the link: a few are harmless, many cost bandwidth", WATCH},
};

static int check_counts(struct uncore *u, const struct uncore_device *d, const struct counts *c)
{
	struct unc_draft draft = {.verdict = UNCORE_VERDICT_NOTE, .subject = c->subject};
	struct unc_text kinds = {0};
	uint64_t sum = 0;
	char *text;
	int r = 0;

	/* The counts of a driver are in the device, which may be suspended. */
	if (!unc_root_exists(u->root, FILE_OF(d, c->file)) || (!c->lines && is_suspended(u, d)) ||
	    unc_root_read(u->root, FILE_OF(d, c->file), &text) < 0)
		return 0;
	for (size_t i = 0; i < c->count; i++) {
		const struct unc_device_read read = {.line = c->lines ? c->lines[i] : NULL,
						     .column = c->lines ? 2 : 1};
		uint64_t value = 0;

		if (unc_field_take(&read, NULL, text, strlen(text), &value) || !value)
			continue;
		if (c->count > 1)
			unc_text_add(&kinds, "%s%llu %s", kinds.len ? ", " : " (",
				     (unsigned long long)value, c->lines[i]);
		sum += value;
	}
	free(text);
	if (sum) {
		add_device(d, &draft.found);
		unc_text_add(&draft.found, ": %llu %s since boot or hot-plug",
			     (unsigned long long)sum, sum == 1 ? c->one : c->more);
		if (kinds.data)
			unc_text_add(&draft.found, "%s)", kinds.data);
		unc_text_add(&draft.why, "%s", c->why);
		unc_text_add(&draft.fix, "%s", c->fix);
		draft.found.failed |= kinds.failed;
		r = unc_finding_add(u, &draft);
	}
	unc_text_finish(&kinds);
	return r;
}

/* ---- all ---- */

int unc_links_check(struct uncore *u)
{
	int r = unc_machine_pci(u);

	/* The ports of a guest are its hypervisor's, and say nothing about the slot. */
	for (size_t i = 0; r == 0 && i < u->pci.count && !u->topology.guest[0]; i++) {
		const struct uncore_device *port = &u->pci.devices[i].shown;

		if (port->is_bridge && faces_down(port))
			r = check_link(u, port);
	}
	for (size_t i = 0; r == 0 && i < sizeof(counted) / sizeof(*counted); i++)
		for (size_t k = 0; r == 0 && k < u->pci.count; k++)
			r = check_counts(u, &u->pci.devices[k].shown, &counted[i]);
	return r;
}

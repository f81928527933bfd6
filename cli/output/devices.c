/* SPDX-License-Identifier: MIT */
#include "output/devices.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cli.h"

#define BELOW_SHOWN 3            /* devices that are named below a port; one more is named, too */
#define PCI_IDS_MOST (16u << 20) /* bytes; the pci.ids of Debian 12 has 1.4 MB */

/* ---- names from pci.ids ---- */

/* The text of pci.ids, which is read at the first call; "" when there is no such file. */
static const char *pci_ids(void)
{
	static struct buffer text;
	const char *const paths[] = {getenv("UNCORE_PCI_IDS"), "/usr/share/misc/pci.ids",
				     "/usr/share/hwdata/pci.ids"};

	for (size_t i = 0; !text.len && i < 3; i++)
		if (paths[i])
			buffer_read_file(&text, paths[i], PCI_IDS_MOST);
	return buffer_text(&text);
}

/* The text behind an id at the beginning of a line: "15b3 " for a vendor, "\t101d " for its
 * device. */
static const char *find_id(const char *from, size_t len, const char *indent, unsigned id)
{
	char key[24];
	size_t size = (size_t)snprintf(key, sizeof(key), "\n%s%04x  ", indent, id);
	const char *found = memmem(from, len, key, size);

	return found ? found + size : NULL;
}

/* The length of a company's name without the legal form and other words that many names have. */
static size_t short_vendor(const char *name, size_t len)
{
	static const char *const common[] = {"Inc",          "Corporation", "Corp",       "Co",
					     "Ltd",          "Limited",     "LLC",        "GmbH",
					     "Technologies", "Technology",  "Electronics"};

	for (size_t at = 1; at < len; at++) {
		size_t word = strcspn(name + at + 1, " .,\r\n");

		for (size_t i = 0; name[at] == ' ' && i < sizeof(common) / sizeof(*common); i++)
			if (strlen(common[i]) == word &&
			    strncmp(name + at + 1, common[i], word) == 0)
				return name[at - 1] == ',' ? at - 1 : at;
	}
	return len;
}

/* The usual name stands in brackets: "GA100 [A100 PCIe 40GB]". */
static void put_name(struct buffer *to, const char *name, bool vendor)
{
	size_t len = strcspn(name, "\r\n");
	const char *open = memrchr(name, '[', len);
	const char *close = open ? memchr(open, ']', len - (size_t)(open - name)) : NULL;

	if (close && close > open + 1) {
		name = open + 1;
		len = (size_t)(close - name);
	}
	buffer_add(to, name, vendor ? short_vendor(name, len) : len);
}

static void look_up(struct buffer *name, const struct uncore_device *d)
{
	const char *text = pci_ids();
	const char *vendor = find_id(text, strlen(text), "", d->vendor);
	const char *end = vendor, *device;

	if (!vendor)
		return;
	while ((end = strchr(end, '\n')) && (end[1] == '\t' || end[1] == '#'))
		end++;
	device = find_id(vendor, end ? (size_t)(end - vendor) : strlen(vendor), "\t", d->device);
	put_name(name, vendor, true);
	if (device) {
		buffer_puts(name, " ");
		put_name(name, device, false);
	} else {
		buffer_printf(name, " device %04x", d->device);
	}
}

const char *device_name(const struct uncore_device *d)
{
	static struct {
		unsigned vendor, device;
		struct buffer name;
	} * known;
	static size_t count;

	for (size_t i = 0; i < count; i++)
		if (known[i].vendor == d->vendor && known[i].device == d->device)
			return known[i].name.data;
	known = cli_realloc(known, count + 1, sizeof(*known));
	memset(&known[count], 0, sizeof(*known));
	known[count].vendor = d->vendor;
	known[count].device = d->device;
	look_up(&known[count].name, d);
	return known[count++].name.data;
}

/* ---- links, devices below a port ---- */

static bool has_link(double speed, unsigned width)
{
	return isfinite(speed) && width > 0;
}

void link_text(char *into, size_t size, const struct uncore_device *port)
{
	if (has_link(port->speed, port->width))
		snprintf(into, size, "%g GT/s x%u", port->speed, port->width);
	else
		snprintf(into, size, "%s", isfinite(port->speed) ? "no link" : "?");
}

void link_of_text(char *into, size_t size, const struct uncore_device *port)
{
	char link[LINK_ROOM];

	link_text(link, sizeof(link), port);
	if (has_link(port->max_speed, port->max_width) &&
	    (!has_link(port->speed, port->width) || port->speed < port->max_speed ||
	     port->width < port->max_width))
		snprintf(into, size, "%s%s %g GT/s x%u", link,
			 has_link(port->speed, port->width) ? " of" : ", up to", port->max_speed,
			 port->max_width);
	else
		snprintf(into, size, "%s", link);
}

void device_text(struct buffer *to, const struct uncore_device *d)
{
	const char *name = device_name(d);

	buffer_puts(to, d->address);
	if (d->names)
		buffer_printf(to, " %s", d->names);
	if (name)
		buffer_printf(to, " %s", name);
	else
		buffer_printf(to, " %04x:%04x", d->vendor, d->device);
	buffer_printf(to, " (%s)", d->driver ? d->driver : "no driver");
}

static bool is_below(const struct uncore_device *d, const struct uncore_device *port)
{
	return d->port == port && !d->is_bridge;
}

bool devices_is_device(const struct uncore_row_place *place)
{
	return place->pmu && !place->port && (place->device || uncore_pmu_is_device(place->pmu));
}

bool devices_port_counted(const struct uncore_row_place *place, const struct uncore_device *port)
{
	bool counted = place->port == port;

	for (size_t i = 0; !place->port && !counted && i < uncore_device_pmu_count(port); i++)
		counted = uncore_device_pmu_at(port, i) == place->pmu;
	return counted;
}

void devices_below(struct buffer *to, const struct uncore *u, const struct uncore_device *port)
{
	size_t all = 0, shown = 0;

	for (size_t i = 0; i < uncore_device_count(u); i++)
		all += is_below(uncore_device_at(u, i), port);
	for (size_t i = 0; i < uncore_device_count(u) && shown < all; i++) {
		const struct uncore_device *d = uncore_device_at(u, i);

		if (!is_below(d, port))
			continue;
		if (shown)
			buffer_puts(to, "; ");
		if (shown == BELOW_SHOWN && all > BELOW_SHOWN + 1) {
			buffer_printf(to, "and %zu more", all - shown);
			return;
		}
		device_text(to, d);
		shown++;
	}
}

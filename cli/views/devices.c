/* SPDX-License-Identifier: MIT */
/* PCI devices in text: names, links, the devices below a root port. */
#include "views/devices.h"

#include <math.h>
#include <stdio.h>

#define BELOW_SHOWN 3 /* devices below a port that are named, when there are more than one more */

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
	const char *name = uncore_device_name(d);

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

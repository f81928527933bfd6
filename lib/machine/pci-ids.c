/* SPDX-License-Identifier: MIT */
/* Names of PCI devices from pci.ids: one pass over the file for all devices. */
#include "base/ascii.h"
#include "machine/pci.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LARGEST_FILE ((size_t)64 << 20)

/* Devices in the order of vendor and device. */
static int by_ids(const void *a, const void *b)
{
	const struct uncore_device *x = *(struct uncore_device *const *)a;
	const struct uncore_device *y = *(struct uncore_device *const *)b;

	if (x->vendor != y->vendor)
		return x->vendor < y->vendor ? -1 : 1;
	return (x->device > y->device) - (x->device < y->device);
}

struct naming {
	struct unc_pci *pci;
	const struct uncore_device **sorted;
	size_t first, end; /* those of the vendor whose lines are being read */
	char vendor[64];
};

/* Four hexadecimal digits and two blanks; the text behind them, else NULL. */
static char *numbered(char *line, unsigned *id)
{
	*id = 0;
	for (int i = 0; i < 4; i++) {
		if (unc_digit_value(line[i]) < 0)
			return NULL;
		*id = *id << 4 | (unsigned)unc_digit_value(line[i]);
	}
	return line[4] == ' ' && line[5] == ' ' ? line + 6 : NULL;
}

/* What people call it stands in brackets: "GA100 [A100 PCIe 40GB]". */
static char *in_brackets(char *name)
{
	char *open = strrchr(name, '[');
	char *close = open ? strchr(open, ']') : NULL;

	if (!close || close == open + 1)
		return name;
	*close = '\0';
	return open + 1;
}

/* Without the legal form and what else companies have in common. */
static void shorten_vendor(char *name)
{
	static const char *const common[] = {"Inc",          "Corporation", "Corp",       "Co",
					     "Ltd",          "Limited",     "LLC",        "GmbH",
					     "Technologies", "Technology",  "Electronics"};

	for (char *at = name; (at = strchr(at, ' ')); at++) {
		size_t len = strcspn(at + 1, " .,");

		for (size_t i = 0; at > name && i < sizeof(common) / sizeof(*common); i++)
			if (strlen(common[i]) == len && strncmp(at + 1, common[i], len) == 0) {
				*(at[-1] == ',' ? at - 1 : at) = '\0';
				return;
			}
	}
}

/* The first device in the order from `first` on whose ids are not below. */
static size_t position(const struct naming *n, unsigned vendor, unsigned device)
{
	const struct uncore_device wanted = {.vendor = vendor, .device = device}, *key = &wanted;
	size_t low = 0, high = n->pci->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (by_ids(&n->sorted[middle], &key) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static void put_name(struct naming *n, size_t at, const char *device)
{
	struct unc_text text = {0};

	unc_text_add(&text, "%s %s", n->vendor, device);
	if (!text.failed)
		n->pci->device_names[unc_device(n->sorted[at]) - n->pci->devices] =
			unc_pci_keep(n->pci, text.data);
	unc_text_finish(&text);
}

/* A new device is often not in the file yet, while its vendor is. */
static void take_vendor(struct naming *n, unsigned id, char *name)
{
	n->first = position(n, id, 0);
	n->end = position(n, id + 1, 0);
	if (n->first == n->end)
		return;
	name = in_brackets(name);
	shorten_vendor(name);
	snprintf(n->vendor, sizeof(n->vendor), "%.60s", name);
	for (size_t i = n->first; i < n->end; i++) {
		char device[16];

		snprintf(device, sizeof(device), "device %04x", n->sorted[i]->device & 0xffff);
		put_name(n, i, device);
	}
}

static void take_device(struct naming *n, unsigned id, char *name)
{
	size_t i = position(n, n->sorted[n->first]->vendor, id);

	name = in_brackets(name);
	for (; i < n->end && n->sorted[i]->device == id; i++)
		put_name(n, i, name);
}

/* "15b3  Mellanox Technologies", then "\t101b  MT28908 Family [ConnectX-6]" of that vendor;
 * subsystems have two tabulators, classes begin with a C. */
static void take_line(struct naming *n, char *line)
{
	unsigned id;
	char *name = numbered(line + (*line == '\t'), &id);

	line[strcspn(line, "\r")] = '\0';
	if (name && *line != '\t')
		take_vendor(n, id, name);
	else if (name && n->first < n->end)
		take_device(n, id, name);
}

static char *read_ids(const struct unc_root *root)
{
	static const char *const paths[] = {"usr/share/misc/pci.ids", "usr/share/hwdata/pci.ids"};
	size_t len;
	char *text;

	for (size_t i = 0; i < 2; i++)
		if (unc_root_read_bytes(root, paths[i], LARGEST_FILE, &text, &len) == 0)
			return text;
	return NULL;
}

void unc_pci_name(struct unc_pci *p)
{
	struct naming n = {.pci = p};
	char *text, *rest, *line;

	if (p->named)
		return;
	p->named = true;
	rest = text = read_ids(p->root);
	n.sorted = calloc(p->count + 1, sizeof(struct uncore_device *));
	p->device_names = calloc(p->count + 1, sizeof(*p->device_names));
	if (text && n.sorted && p->device_names) {
		for (size_t i = 0; i < p->count; i++)
			n.sorted[i] = &p->devices[i].shown;
		qsort(n.sorted, p->count, sizeof(struct uncore_device *), by_ids);
		while ((line = strsep(&rest, "\n")))
			take_line(&n, line);
	}
	free(n.sorted);
	free(text);
}

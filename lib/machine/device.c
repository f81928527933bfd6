/* SPDX-License-Identifier: MIT */
/* Devices that count themselves: which of the events of their family they have, and where. */
#include "machine/pmu.h"

bool unc_device_version(const struct unc_device_layout *layout, const char *data, size_t len,
			char into[static 64])
{
	const unsigned char *bytes = (const unsigned char *)data;
	size_t n = strcspn(data, "\n");

	if (!layout->binary) {
		snprintf(into, 64, "%.*s", (int)(n < 63 ? n : 63), data);
		return n;
	}
	if (len < 2 || len - 2 < layout->version || len - 2 < layout->size)
		return false;
	snprintf(into, 64, "%u.%u:%u", bytes[layout->version], bytes[layout->version + 1],
		 bytes[layout->size] | (unsigned)bytes[layout->size + 1] << 8);
	return true;
}

bool unc_device_has_version(const struct unc_device_read *read, const char *version)
{
	char number[64];

	snprintf(number, sizeof(number), "%.*s", (int)strcspn(version, ":"), version);
	return !read->versions || unc_has_word(read->versions, version) ||
	       unc_has_word(read->versions, number);
}

bool unc_device_is_suspended(const char *status)
{
	/* linux Documentation/ABI/testing/sysfs-devices-power: "suspended", also "suspending". */
	return strncmp(status, "suspend", 7) == 0;
}

bool unc_device_sleeps(const struct unc_root *root, const char *file)
{
	char *status = NULL;
	bool sleeps =
		unc_root_read_line(root, file, &status) == 0 && unc_device_is_suspended(status);

	free(status);
	return sleeps;
}

int unc_device_read_version(const struct uncore_pmu *p, const struct unc_root *root,
			    char into[static 64], struct unc_error *why)
{
	const char *path;
	char *data = NULL;
	size_t len = 0;
	int r;

	into[0] = '\0';
	if (!p->layout)
		return 0;
	path = UNC_PATH("%s/%s", p->directory, p->layout->file);
	r = unc_root_read_bytes(root, path, 4096, &data, &len);
	if (r < 0)
		unc_fail(why, -r, "/%s cannot be read: %s", path, unc_errno_text(r));
	else if (!unc_device_version(p->layout, data, len, into))
		r = unc_fail(why, ENODEV, "/%s does not have its version", path);
	free(data);
	return r;
}

static bool has_file(const struct uncore_pmu *p, const struct unc_root *root, const char *file)
{
	struct unc_names paths = {0};
	bool has;

	unc_root_glob(root, UNC_PATH("%s/%s", p->directory, file), &paths);
	has = paths.count;
	unc_names_finish(&paths);
	return has;
}

const struct unc_device_read *unc_device_find_read(const struct uncore_pmu *p,
						   const struct unc_root *root,
						   const struct unc_event_def *event,
						   const char *version, struct unc_error *why)
{
	size_t size = strcspn(version, ":");

	for (size_t i = 0; i < event->read_count; i++) {
		const struct unc_device_read *read = &event->reads[i];

		if (unc_device_has_version(read, version) &&
		    (event->read_count == 1 || has_file(p, root, read->file)))
			return read;
	}
	if (p->layout)
		unc_fail(why, ENODEV, "%s: version %.*s of /%s/%s%s%s%s does not have '%s'",
			 p->name, (int)size, version, p->directory, p->layout->file,
			 version[size] ? ", with " : "", version[size] ? version + size + 1 : "",
			 version[size] ? " bytes," : "", event->name);
	else
		unc_fail(why, ENODEV, "%s has no file with '%s'", p->name, event->name);
	return NULL;
}

/* Reads the version unless the device is suspended: reading it may then fail or wake the device. */
static char *version_of(const struct uncore_pmu *p)
{
	char version[64];

	if ((p->runtime_status &&
	     unc_device_sleeps(p->root, UNC_PATH("%s/%s", p->directory, p->runtime_status))) ||
	    unc_device_read_version(p, p->root, version, NULL) < 0)
		return NULL;
	return strdup(version);
}

char *unc_device_answers(const struct uncore_pmu *p)
{
	char *text = NULL;

	if (p->source != UNC_SOURCE_NVML || !p->pci || !p->root || unc_root_is_live(p->root))
		return NULL;
	unc_root_read(p->root, UNC_PATH(UNC_ANSWERS "/%s", p->pci), &text);
	return text;
}

/* Whether the library of GPUs refused the event when the snapshot was made. */
static bool was_refused(const struct uncore_pmu *p, const struct unc_event_def *event,
			struct unc_error *why)
{
	char *text = unc_device_answers(p);
	size_t len = 0;
	const char *answer = text ? unc_find_value(text, event->name, &len) : NULL;
	bool refused = answer && len > 2 && strncmp(answer, "! ", 2) == 0;

	if (refused)
		unc_fail(why, ENODEV, "%s did not have '%s' when the snapshot was made: %.*s",
			 p->name, event->name, (int)len - 2, answer + 2);
	free(text);
	return refused;
}

bool unc_device_lacks(const struct uncore_pmu *pmu, const struct unc_event_def *event,
		      struct unc_error *why)
{
	/* Reading at first use is not a change for the caller. */
	struct uncore_pmu *p = (struct uncore_pmu *)pmu;
	const char *path;

	if (event->has && p->root) {
		path = p->pci ? UNC_PATH("sys/bus/pci/devices/%s/%s", p->pci, event->has) : "";
		if (*path && unc_root_exists(p->root, path))
			return false;
		unc_fail(why, ENODEV, "%s does not have '%s': its PCI function has no %s", p->name,
			 event->name, event->has);
		return true;
	}
	if (p->source == UNC_SOURCE_NVML)
		return was_refused(p, event, why);
	if (!event->read_count || p->source != UNC_SOURCE_FILES || !p->root)
		return false;
	if (!p->version_read)
		p->version = version_of(p);
	p->version_read = true;
	return p->version && !unc_device_find_read(p, p->root, event, p->version, why);
}

/* SPDX-License-Identifier: MIT */
/* --perfmon: the bytes behind the first are a file of a vendor's events, mapfile.csv, or the text that the library takes. What
 * is accepted is encoded. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/cli.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct uncore *machine;
static char folder[] = "/tmp/uncore-fuzz-XXXXXX";

static void remove_folder(void)
{
	char path[64];

	snprintf(path, sizeof(path), "%s/a.json", folder);
	unlink(path);
	snprintf(path, sizeof(path), "%s/mapfile.csv", folder);
	unlink(path);
	rmdir(folder);
	uncore_free(machine);
}

static void prepare(void)
{
	if (machine)
		return;
	/* Most inputs are refused. What a sanitizer finds goes to the descriptor. */
	stderr = fopen("/dev/null", "w");
	if (!stderr || uncore_new(&machine) || uncore_set_source(machine, "sim:icx") ||
	    uncore_scan(machine) || !mkdtemp(folder))
		abort();
	atexit(remove_folder);
}

static void put_file(const char *name, const uint8_t *data, size_t size)
{
	char path[64];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	file = fopen(path, "w");
	if (!file)
		abort();
	fwrite(data, 1, size, file);
	fclose(file);
}

static void encode_events(const struct uncore_pmu *pmu)
{
	char event[2000];

	for (size_t i = 0; i < uncore_pmu_vendor_event_count(pmu) && i < 20; i++) {
		struct uncore_monitor *m = NULL;

		snprintf(event, sizeof(event), "%s/%s/", uncore_pmu_name(pmu),
			 uncore_pmu_vendor_event_at(pmu, i)->name);
		if (uncore_monitor_new(&m, machine) == 0 &&
		    uncore_monitor_add_events(m, event) == 0)
			uncore_monitor_plan(m);
		uncore_monitor_free(m);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	auto_buffer text = {0};
	int status = 0;

	if (size < 2)
		return 0;
	prepare();
	if (data[0] % 3 == 0) {
		buffer_add(&text, data + 1, size - 1);
	} else {
		put_file("mapfile.csv", data + 1, data[0] % 3 == 1 ? size - 1 : 0);
		put_file("a.json", data + 1, size - 1);
		status = perfmon_read(machine, folder, &text);
	}
	if (!status && uncore_set_vendor_events(machine, text.data) == 0)
		for (size_t i = 0; i < uncore_pmu_count(machine); i++)
			encode_events(uncore_pmu_at(machine, i));
	return 0;
}

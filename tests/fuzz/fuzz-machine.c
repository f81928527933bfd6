/* SPDX-License-Identifier: MIT */
/* From the scan of a machine to rows, with made readings. The first 8 bytes seed the readings; then come what to count, how the
 * readings go, a line of events, and the snapshot of the machine. Values that are measured are finite, and coverage is a share. */
#include <errno.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "uncore.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define COUNTERS 4096

static struct {
	uint64_t state, now_ns;
	uint64_t raw[COUNTERS];
	size_t count;
	bool wild; /* counts fall and jump */
} made;

static uint64_t random_below(uint64_t end)
{
	made.state ^= made.state << 13;
	made.state ^= made.state >> 7;
	made.state ^= made.state << 17;
	return made.state % end;
}

static int open_counters(void *context, struct uncore_counter *const *counters, size_t count,
			 const char **why)
{
	static const unsigned widths[] = {64, 48, 32, 40, 1};

	(void)context, (void)why;
	made.count = count < COUNTERS ? count : COUNTERS;
	for (size_t i = 0; i < count; i++) {
		counters[i]->width = widths[random_below(5)];
		counters[i]->most_per_s = random_below(4) ? 0 : 1e9;
		if (random_below(16) || i >= COUNTERS)
			continue;
		counters[i]->error = -EBUSY;
		counters[i]->why = "busy";
	}
	return 0;
}

static void change(uint64_t *raw)
{
	switch (random_below(made.wild ? 6 : 3)) {
	case 0:
	case 1:
		*raw += random_below(1000000);
		break;
	case 3:
		*raw += random_below(UINT64_MAX);
		break;
	case 4:
		*raw = random_below(1000);
		break;
	case 5:
		*raw -= random_below(100);
		break;
	default:
		break;
	}
}

static int read_counters(void *context, struct uncore_reading *const *readings,
			 uint64_t *monotonic_ns, uint64_t *wall_ns, const char **why)
{
	static const uint64_t steps[] = {0, 1, 1000000, 20000000, 1000000000, 3600000000000};

	(void)context, (void)why;
	made.now_ns += steps[random_below(6)];
	for (size_t i = 0; i < made.count; i++) {
		bool lost = random_below(40) == 0;

		change(&made.raw[i]);
		*readings[i] = (struct uncore_reading){
			.raw = made.raw[i],
			.enabled_ns = made.now_ns,
			.running_ns =
				random_below(5) ? made.now_ns : made.now_ns / (1 + random_below(9)),
			.at_ns = made.now_ns + (random_below(7) ? 0 : random_below(50000000)),
			.took_ns = random_below(9) ? 100 : random_below(900000000),
			.lost = lost,
			.wrapped = random_below(40) == 0,
			.why = lost ? "lost" : NULL,
		};
	}
	*monotonic_ns = made.now_ns;
	*wall_ns = 1795691448000000000 + made.now_ns;
	return random_below(9) == 0;
}

static void examine(struct uncore *u)
{
	uncore_diagnose(u);
	for (size_t i = 0; i < uncore_device_count(u) && i < 50; i++)
		uncore_device_pmu_count(uncore_device_at(u, i));
	for (size_t i = 0; i < uncore_pmu_count(u) && i < 50; i++) {
		const struct uncore_pmu *pmu = uncore_pmu_at(u, i);

		uncore_pmu_peer(u, pmu, uncore_pmu_cpu_count(pmu) ? uncore_pmu_cpu_at(pmu, 0) : 0);
	}
	uncore_memory_get(u);
}

static void check_rows(const struct uncore_sample *s)
{
	for (size_t i = 0; i < uncore_sample_count(s); i++) {
		const struct uncore_row *row = uncore_sample_row(s, i);
		double coverage = row->counted->coverage;

		if (row->quality == UNCORE_MEASURED && !isfinite(row->value))
			abort();
		if (!(coverage >= 0 && coverage <= 1.0000001))
			abort();
	}
}

static void count(struct uncore *u, unsigned choice, const char *events)
{
	static const char *const filters[] = {"from",    "to",  "port", "device",
					      "address", "gpu", "link", "cpu"};
	static const char *const patterns[] = {"*",        "memory.*",   "pcie.*", "*bandwidth",
					       "matrix.*", "*.latency*", "link.*"};
	struct uncore_monitor *m = NULL;
	struct uncore_sample *s = NULL;

	if (uncore_monitor_new(&m, u) == 0 && uncore_sample_new(&s) == 0) {
		uncore_monitor_set_level(m, (enum uncore_level)(choice % 7));
		if (choice & 128)
			uncore_monitor_set_filter(m, filters[choice / 8 % 8], "0");
		if (*events)
			uncore_monitor_add_events(m, events);
		uncore_monitor_add_metrics(m, patterns[choice / 7 % 7]);
		if (uncore_monitor_open(m) == 0 && uncore_monitor_start(m) == 0) {
			for (int i = 0; i < 4 && uncore_monitor_read(m, s) == 0; i++)
				check_rows(s);
			uncore_monitor_total(m, s);
			uncore_monitor_stop(m);
		}
	}
	uncore_sample_free(s);
	uncore_monitor_free(m);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct uncore_replay replay = {.size = sizeof(replay),
				       .name = "replay:fuzz",
				       .simulated = true,
				       .open = open_counters,
				       .read = read_counters};
	struct uncore *u = NULL;
	char *text, *newline;

	if (size < 12)
		return 0;
	memset(&made, 0, sizeof(made));
	memcpy(&made.state, data, 8);
	made.state |= 1;
	made.wild = data[9] % 3 == 0;
	made.now_ns = 1000000000;
	text = calloc(1, size - 9);
	if (text)
		memcpy(text, data + 10, size - 10);
	newline = text ? strchr(text, '\n') : NULL;
	if (newline) {
		*newline = '\0';
		replay.snapshot = newline + 1;
		if (uncore_new(&u) == 0 && uncore_set_replay(u, &replay) == 0 &&
		    uncore_scan(u) == 0) {
			examine(u);
			count(u, data[8], text);
		}
	}
	uncore_free(u);
	free(text);
	return 0;
}

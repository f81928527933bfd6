/* SPDX-License-Identifier: MIT */
/*
 * A program that was compiled with this release. It prints all members of all structs of the library, as it knows
 * them: old-program IBS_FILE. tests/check-old-program runs it with a later release, where each struct has a further
 * member. It fails if it has not printed each struct.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "printers.h"

#define READINGS 3

static struct uncore *u;

static void need(int r)
{
	if (r >= 0)
		return;
	fprintf(stderr, "%s\n", u ? uncore_error(u) : strerror(-r));
	exit(1);
}

static void open_machine(const char *source)
{
	uncore_free(u);
	u = NULL;
	need(uncore_new(&u));
	need(uncore_set_source(u, source));
	need(uncore_scan(u));
}

/* ---- the machine ---- */

static void print_pmu(const struct uncore_pmu *p)
{
	const int cpu = uncore_pmu_cpu_count(p) ? uncore_pmu_cpu_at(p, 0) : 0;

	print_uncore_driver(uncore_pmu_driver(p));
	print_uncore_peer(uncore_pmu_peer(u, p, cpu));
	for (size_t i = 0; i < uncore_pmu_term_count(p); i++)
		print_uncore_term(uncore_pmu_term_at(p, i));
	for (size_t i = 0; i < uncore_pmu_alias_count(p); i++)
		print_uncore_alias(uncore_pmu_alias_at(p, i));
	for (size_t i = 0; i < uncore_pmu_vendor_event_count(p) && i < 20; i++)
		print_uncore_alias(uncore_pmu_vendor_event_at(p, i));
	for (size_t i = 0; i < uncore_pmu_cap_count(p); i++)
		print_uncore_cap(uncore_pmu_cap_at(p, i));
}

static void print_metric(const struct uncore_metric *m)
{
	const struct uncore_alternative *other;
	const struct uncore_driver *driver;

	for (size_t i = 0; i < uncore_metric_event_count(m); i++)
		print_uncore_metric_event(uncore_metric_event_at(m, i));
	for (size_t i = 0; (driver = uncore_metric_driver_at(m, i)); i++)
		print_uncore_driver(driver);
	for (size_t i = 0; (other = uncore_metric_alternative_at(m, i)); i++)
		print_uncore_alternative(other);
}

static void print_machine(const char *source)
{
	open_machine(source);
	for (size_t i = 0; i < uncore_cpu_count(u); i++)
		print_uncore_cpu(uncore_cpu_at(u, i));
	for (size_t i = 0; i < uncore_pmu_count(u); i++)
		print_pmu(uncore_pmu_at(u, i));
	for (size_t i = 0; i < uncore_metric_count(u); i++)
		if (!uncore_metric_missing(uncore_metric_at(u, i)))
			print_metric(uncore_metric_at(u, i));
	for (size_t i = 0; i < uncore_device_count(u); i++)
		print_uncore_device(uncore_device_at(u, i));
	print_uncore_words(uncore_words_find(u, "llc"));
	print_uncore_memory(uncore_memory_get(u));
	need(uncore_diagnose(u));
	for (size_t i = 0; i < uncore_finding_count(u); i++)
		print_uncore_finding(uncore_finding_at(u, i));
}

/* ---- rows ---- */

static void print_sample(const struct uncore_sample *s)
{
	for (size_t i = 0; i < uncore_sample_count(s); i++) {
		const struct uncore_distribution *d = uncore_sample_distribution(s, i);

		print_uncore_row(uncore_sample_row(s, i));
		for (size_t k = 0; k < uncore_sample_input_count(s, i); k++)
			print_uncore_input(uncore_sample_input_at(s, i, k));
		print_uncore_distribution(d);
		for (size_t k = 0; d && k < d->bin_count; k++)
			printf("bin %lu %lu\n", d->bins[k], d->bins_ns[k]);
	}
}

/* `share`: of short samples; 0: without them. */
static void print_rows(double share)
{
	struct uncore_monitor *m;
	struct uncore_sample *s;

	need(uncore_sample_new(&s));
	need(uncore_monitor_new(&m, u));
	need(uncore_monitor_set_level(m, UNCORE_LEVEL_INSTANCE));
	need(uncore_monitor_add_metrics(m, "memory.*"));
	if (share > 0)
		need(uncore_monitor_set_short_samples(m, share));
	need(uncore_monitor_open(m));
	need(uncore_monitor_start(m));
	for (int i = 1; i < READINGS; i++) {
		if (share > 0)
			need(uncore_monitor_short_sample(m));
		need(uncore_monitor_read(m, s));
		print_sample(s);
	}
	for (size_t i = 0; i < uncore_monitor_counter_count(m); i++) {
		print_uncore_counter(uncore_monitor_counter_at(m, i));
		print_uncore_reading(uncore_monitor_reading_at(m, i));
	}
	need(uncore_monitor_total(m, s));
	print_sample(s);
	uncore_monitor_free(m);
	uncore_sample_free(s);
}

/* ---- readings of the caller ---- */

struct tape {
	size_t count;
	uint64_t next;
};

static int tape_open(void *context, struct uncore_counter *const *counters, size_t n,
		     const char **why)
{
	struct tape *t = context;

	*why = "";
	t->count = n;
	for (size_t i = 0; i < n; i++) {
		print_uncore_counter(counters[i]);
		counters[i]->width = i % 2 ? 48 : 64;
		counters[i]->most_per_s = 1e9 + (double)i;
		counters[i]->error = i == 3 ? -ENODEV : 0;
		counters[i]->why = i == 3 ? "it is not on the tape" : NULL;
	}
	return 0;
}

static int tape_read(void *context, struct uncore_reading *const *into, uint64_t *monotonic_ns,
		     uint64_t *wall_ns, const char **why)
{
	struct tape *t = context;
	const uint64_t ns = ++t->next * 1000000000;

	*why = "the tape is over";
	for (size_t i = 0; i < t->count; i++)
		*into[i] = (struct uncore_reading){
			.raw = t->next * (1000 + i), .enabled_ns = ns, .running_ns = ns};
	*monotonic_ns = *wall_ns = ns;
	return t->next > READINGS ? -ENODATA : 0;
}

/* What lies behind the struct cannot be read. */
static void print_replay(void)
{
	struct tape tape = {0};
	struct uncore_replay *replay;
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	char *pages =
		mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char *snapshot = NULL;

	if (pages == MAP_FAILED || mprotect(pages + page, page, PROT_NONE))
		need(-errno);
	replay = (struct uncore_replay *)(void *)(pages + page - sizeof(*replay));
	open_machine("sim:icx");
	need(uncore_snapshot(u, &snapshot));
	*replay = (struct uncore_replay){.size = sizeof(*replay),
					 .name = "replay:tape",
					 .snapshot = snapshot,
					 .context = &tape,
					 .open = tape_open,
					 .read = tape_read};
	seen[SEEN_uncore_replay].count++;
	need(uncore_set_replay(u, replay));
	need(uncore_scan(u));
	print_rows(0);
	free(snapshot);
	munmap(pages, 2 * page);
}

/* ---- sampled loads ---- */

static void print_latency(const char *path)
{
	struct uncore_latency *l;

	need(uncore_latency_open_file(&l, u, path, 0));
	for (size_t i = 0; i < uncore_latency_count(l); i++) {
		const struct uncore_latency_row *row = uncore_latency_at(l, i);

		print_uncore_latency_row(row);
		for (size_t k = 0; k < UNCORE_LATENCY_BINS; k++)
			printf("bin %lu\n", row->bins[k]);
	}
	print_uncore_latency_counts(uncore_latency_total(l));
	uncore_latency_free(l);
	need(uncore_latency_open_by(&l, u, path, 0, UNCORE_LATENCY_BY_PROCESS,
				    UNCORE_LATENCY_FROM_MEMORY));
	for (int i = 0; i < uncore_latency_keys(l, 3); i++)
		print_uncore_latency_key(uncore_latency_key_at(l, (size_t)i));
	uncore_latency_free(l);
}

int main(int argc, char **argv)
{
	size_t unseen = 0;

	if (argc != 2)
		return 2;
	print_machine("sim:t410,step=100ms");
	print_machine("sim:spr,step=100ms");
	print_machine("sim:icx,step=100ms");
	print_rows(0);
	print_rows(0.5);
	print_latency(argv[1]);
	print_replay();
	uncore_free(u);
	for (size_t i = 0; i < STRUCTS; i++) {
		fprintf(stderr, "%s: %zu\n", seen[i].name, seen[i].count);
		unseen += !seen[i].count;
	}
	return unseen ? 1 : 0;
}

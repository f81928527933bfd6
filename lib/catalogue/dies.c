/* SPDX-License-Identifier: MIT */
/* Finds the die to which a PMU's file `dieN` belongs. N is the kernel's number over all dies of the
 * machine, including offline ones. If it does not follow from the CPUs, the root buses in the files
 * are evidence: the NUMA node of a device on such a bus has CPUs of the die. */
#include "catalogue/catalogue.h"

/* The word for the number in file names of a family. */
#define DIE "die"

static int add_file(struct unc_die_files *out, const struct uncore_pmu *pmu, const char *pattern,
		    const char *file, bool is_bus)
{
	struct unc_die_file f = {.pmu = pmu};
	char *text;
	uint64_t number = 0;
	int r;

	if (!unc_pattern_value(pattern, file, DIE, &number) || number >= UNC_MOST_DIES)
		return 0;
	f.number = (unsigned)number;
	if (is_bus) {
		r = unc_pmu_attribute(pmu, file, &text);
		if (r < 0)
			return r == -ENOMEM ? r : 0;
		f.names_bus = unc_pci_parse_bus(text, &f.first);
		free(text);
	}
	return UNC_ADD(&out->items, &out->count, &f);
}

static int add_files(struct unc_die_files *out, const struct unc_root *root,
		     const struct uncore_pmu *pmu)
{
	const struct unc_family *f = pmu->family;
	const char *bus = f->ports ? f->ports->attribute : NULL;
	const char *const patterns[] = {bus, f->peer, f->role_attribute};
	struct unc_names names = {0};
	bool any = false;
	int r;

	for (size_t i = 0; i < 3; i++)
		any |= patterns[i] && strstr(patterns[i], "{" DIE "}");
	if (!any)
		return 0;
	r = unc_root_list(root, UNC_PATH("sys/bus/event_source/devices/%s", pmu->name), &names);
	r = r == -ENOMEM ? r : 0;
	for (size_t i = 0; i < 3; i++)
		for (size_t k = 0; r == 0 && patterns[i] && k < names.count; k++)
			if (strstr(patterns[i], "{" DIE "}"))
				r = add_file(out, pmu, patterns[i], names.items[k], i == 0);
	unc_names_finish(&names);
	return r;
}

/* A CPU of the die that has this root bus, by the NUMA node of a device on the bus; -1: unknown. */
static int cpu_of_bus(const struct unc_pci *pci, uint64_t first)
{
	const struct unc_topology *t = pci->topology;

	for (size_t i = 0; i < pci->count; i++) {
		const struct unc_device *d = &pci->devices[i];

		if (d->address < first || d->address > (first | 0xff) || d->shown.node < 0)
			continue;
		for (size_t k = 0; k < t->cpu_count; k++)
			if (t->cpus[k].node == d->shown.node && t->cpus[k].package >= 0)
				return t->cpus[k].id;
		return -1;
	}
	return -1;
}

/* True if the files of two dies are equal. If a die was offline when the driver was loaded, Linux
 * reads the registers of CPU 0 instead (linux arch/x86/events/intel/uncore_snbep.c,
 * die_to_cpu()). */
static bool are_copies(const struct unc_die_files *files, unsigned a, unsigned b)
{
	for (size_t i = 0; i < files->count; i++)
		for (size_t k = 0; k < files->count; k++) {
			const struct unc_die_file *x = &files->items[i], *y = &files->items[k];

			if (x->pmu == y->pmu && x->number == a && y->number == b &&
			    (x->names_bus != y->names_bus || x->first != y->first))
				return false;
		}
	return true;
}

/* Finds a CPU for each number, unless files give different dies. */
static void weigh(const struct unc_die_files *files, const struct unc_pci *pci,
		  int cpus[static UNC_MOST_DIES])
{
	const struct unc_topology *t = pci->topology;
	bool disputed[UNC_MOST_DIES] = {0};

	for (unsigned n = 0; n < UNC_MOST_DIES; n++)
		cpus[n] = -1;
	for (size_t i = 0; i < files->count; i++) {
		const struct unc_die_file *f = &files->items[i];
		int cpu = f->names_bus ? cpu_of_bus(pci, f->first) : -1;

		disputed[f->number] |= cpu >= 0 && cpus[f->number] >= 0 &&
				       !unc_topology_same_die(t, cpu, cpus[f->number]);
		cpus[f->number] = cpu >= 0 ? cpu : cpus[f->number];
	}
	/* A die has only one number. */
	for (unsigned a = 0; a < UNC_MOST_DIES; a++)
		for (unsigned b = a + 1; b < UNC_MOST_DIES; b++)
			if (cpus[a] >= 0 && cpus[b] >= 0 &&
			    unc_topology_same_die(t, cpus[a], cpus[b]) && !are_copies(files, a, b))
				disputed[a] = disputed[b] = true;
	for (unsigned n = 0; n < UNC_MOST_DIES; n++)
		cpus[n] = disputed[n] ? -1 : cpus[n];
}

int unc_dies_load(struct unc_die_files *out, struct unc_topology *t, const struct unc_pci *pci,
		  const struct unc_pmus *pmus)
{
	int cpus[UNC_MOST_DIES], r = 0;
	size_t count = 0;

	for (size_t i = 0; r == 0 && i < pmus->count; i++)
		if (pmus->items[i].family)
			r = add_files(out, pci->root, &pmus->items[i]);
	for (size_t i = 0; i < out->count; i++)
		count = out->items[i].number >= count ? out->items[i].number + 1 : count;
	if (r == 0 && !unc_topology_number_dies(t, count, NULL)) {
		weigh(out, pci, cpus);
		unc_topology_number_dies(t, count, cpus);
	}
	return r;
}

/* An offline CPU, if possible of a socket with no CPU online; -1: all are online. */
static int offline_cpu(const struct unc_topology *t)
{
	if (t->offline_count)
		return t->offline[0].cpu;
	for (size_t i = 0; i < t->cpu_count; i++)
		if (!t->cpus[i].online)
			return t->cpus[i].id;
	return -1;
}

bool unc_dies_explain(const struct unc_die_files *files, const struct unc_topology *t,
		      uint64_t address, struct unc_error *why)
{
	int cpu = offline_cpu(t);

	for (size_t i = 0; i < files->count; i++) {
		const struct unc_die_file *f = &files->items[i];

		if (!f->names_bus || address < f->first || address > (f->first | 0xff) ||
		    unc_topology_numbered_die(t, (int)f->number))
			continue;
		unc_fail(why, ENODEV, "%s counts it on die %u, %s", f->pmu->name, f->number,
			 unc_topology_knows_dies(t) ? "which has no CPU online"
						    : "and which die has this number is not known");
		if (cpu >= 0)
			unc_error_append(why, ". Fix: " UNC_BRING_ONLINE, cpu);
		return true;
	}
	return false;
}

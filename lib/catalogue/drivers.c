/* SPDX-License-Identifier: MIT */
/* Facts about the kernel's drivers that the files of PMUs do not show. Data files state them, with
 * evidence. */
#include "catalogue/catalogue.h"

/* ---- data files ---- */

#define DRIVER(member) UNC_AT(struct unc_driver, member)
#define SHOWN(member) UNC_AT(struct unc_driver, shown.member)

/* What one PMU counts from one CPU: the words of data files. */
static const char *const counted[] = {
	"channel", "subchannel", "controller", "package", "die",    "socket",  "node", "cluster",
	"slice",   "cache",      "agent",      "stack",   "port",   "link",    "core", "device",
	"cpu",     "machine",    "fabric",     "block",   "engine", "unknown", NULL,
};

/* In the order of the enums. */
static const char *const cpu_words[] = {"unknown", "near", "reader", "node", NULL};
static const char *const scopes[] = {"unknown", "cpu",     "core",    "cluster",
				     "die",     "package", "machine", NULL};
static const char *const number_scopes[] = {"unknown", "",        "",     "",  "die",
					    "package", "machine", "none", NULL};
static const char *const hardware_words[] = {"unknown", "never", "possible", NULL};

static int finish_driver(const struct unc_reader *r, const struct unc_yaml *map, void *into)
{
	const struct unc_yaml *absent = unc_yaml_get(map, "absent");
	struct unc_driver *driver = into;

	(void)r;
	driver->shown.absent = absent ? absent->text : NULL;
	driver->shown.cpu = cpu_words[driver->cpu];
	driver->shown.each = scopes[driver->each];
	driver->shown.number = number_scopes[driver->number];
	driver->shown.without_hardware = hardware_words[driver->hardware];
	return 0;
}

static const struct unc_field driver_fields[] = {
	UNC_FIELD("when", TEXT, .check = unc_family_when),
	UNC_FIELD("pmus", TEXT, SHOWN(pmus)),
	UNC_FIELD("!counts", TEXT, SHOWN(counts), .words = counted),
	UNC_FIELD("!cpu", WORD, DRIVER(cpu), .words = cpu_words),
	UNC_FIELD("!each", WORD, DRIVER(each), .words = scopes),
	UNC_FIELD("!without_hardware", WORD, DRIVER(hardware), .words = hardware_words),
	UNC_FIELD("absent", NAMES, DRIVER(absent), .what = "numbers of units", .numbers = true),
	UNC_FIELD("where", TEXT, SHOWN(where), .with = "absent"),
	UNC_FIELD("unless", TEXT, SHOWN(unless), .with = "absent"),
	UNC_FIELD("!number", WORD, DRIVER(number), .words = number_scopes),
	UNC_FIELD("!evidence", TEXT, SHOWN(evidence)),
	UNC_END,
};

const struct unc_shape unc_driver_shape = {.fields = driver_fields,
					   .size = sizeof(struct unc_driver),
					   .drops = true,
					   .check = finish_driver};

const struct uncore_driver *uncore_metric_driver_at(const struct uncore_metric *m, size_t i)
{
	const struct unc_family *f = m->family;

	/* One without `pmus` covers all PMUs that are left. */
	for (size_t k = 0; k < i; k++)
		if (k >= f->driver_count || !f->drivers[k].shown.pmus)
			return NULL;
	return i < f->driver_count ? &f->drivers[i].shown : NULL;
}

const struct uncore_driver *uncore_pmu_driver(const struct uncore_pmu *p)
{
	return p->driver ? &p->driver->shown : NULL;
}

/* ---- on PMUs ---- */

static const struct unc_driver *driver_of(const struct unc_family *f, const struct uncore_pmu *pmu)
{
	for (size_t i = 0; i < f->driver_count; i++) {
		const struct unc_driver *d = &f->drivers[i];

		if (!d->shown.pmus || unc_globs_match(d->shown.pmus, pmu->name))
			return d;
	}
	return NULL;
}

/* ---- places ---- */

/* True if the CPUs that the driver associates with the hardware are of several sockets. These are
 * all CPUs if the firmware names none (linux drivers/perf/arm_cspmu/arm_cspmu.c,
 * arm_cspmu_get_cpus()). */
static bool spans_sockets(const struct uncore_pmu *pmu, const struct unc_topology *t)
{
	const char *text = uncore_pmu_associated_cpus(pmu);
	struct unc_cpulist list = {0};
	int first = -1;
	bool spans = false;

	if (!text || unc_cpulist_parse(text, &list) < 0)
		return false;
	for (size_t i = 0; i < list.count; i++) {
		int socket = unc_topology_socket(t, list.ids[i]);

		first = first < 0 ? socket : first;
		spans = spans || (socket >= 0 && socket != first);
	}
	unc_cpulist_finish(&list);
	return spans;
}

/* The NUMA node of the PCI function that the PMU belongs to, of the root port in its name, or of
 * its parent in the device tree; -1: the firmware gives none. */
static int device_node(const struct uncore_pmu *pmu)
{
	uint64_t port = UINT64_MAX;
	const char *path;

	unc_pattern_value(pmu->pattern, pmu->name, "sbdf", &port);
	path = pmu->pci ? UNC_PATH("sys/bus/pci/devices/%s/numa_node", pmu->pci)
	       : port == UINT64_MAX
		       ? UNC_PATH("sys/bus/event_source/devices/%s/device/numa_node", pmu->name)
		       : UNC_PATH("sys/bus/pci/devices/%04x:%02x:%02x.%x/numa_node",
				  (unsigned)(port >> 16), (unsigned)(port >> 8 & 0xff),
				  (unsigned)(port >> 3 & 0x1f), (unsigned)(port & 7));
	return unc_root_read_int(pmu->root, path, INT_MAX, -1);
}

const char *unc_pmu_unplaced(const struct uncore_pmu *pmu, const struct unc_topology *t)
{
	const struct unc_driver *d = pmu->driver;

	if (t->socket_count + t->offline_count < 2 || pmu->in_package)
		return NULL;
	if (pmu->anywhere)
		return "its device has no NUMA node within one socket";
	if (!d)
		return NULL;
	if (d->cpu == UNC_CPU_NODE)
		return unc_topology_node_socket(t, pmu->node) < 0
			       ? "the firmware gives no NUMA node for its device"
			       : NULL;
	if (d->cpu == UNC_CPU_NEAR)
		return spans_sockets(pmu, t) ? "the firmware does not say which CPUs it belongs to"
					     : NULL;
	return d->cpu == UNC_CPU_READER
		       ? "its driver reads it from one CPU, wherever the hardware is"
		       : "it is not known whether its driver reads it from a CPU near the hardware";
}

int unc_counted_socket(const struct uncore_pmu *pmu, const struct unc_topology *t, int cpu)
{
	if (unc_pmu_unplaced(pmu, t))
		return -1;
	if (pmu->driver && pmu->driver->cpu == UNC_CPU_NODE && pmu->node >= 0)
		return unc_topology_node_socket(t, pmu->node);
	return unc_topology_socket(t, cpu);
}

/* ---- several CPUs of a mask that read one register ---- */

/* True if two CPUs are in the same part of the machine. Unknown packages count as different;
 * check_packages() refuses PMUs with them. */
static bool share(const struct unc_topology *t, enum unc_scope scope, int a, int b)
{
	const struct uncore_cpu *x = unc_topology_cpu(t, a), *y = unc_topology_cpu(t, b);

	if (scope == UNC_SCOPE_MACHINE)
		return true;
	if (!x || !y || x->socket < 0 || x->socket != y->socket)
		return false;
	return scope == UNC_SCOPE_PACKAGE || (scope == UNC_SCOPE_DIE && x->die == y->die);
}

bool unc_pmu_repeats(const struct uncore_pmu *pmu, const struct unc_topology *t, size_t i)
{
	for (size_t k = 0; k < i; k++)
		if (share(t, UNC_SCOPE_PACKAGE, pmu->cpus.ids[k], pmu->cpus.ids[i]))
			return true;
	return false;
}

/* Reads the CPUs that share a core or a cluster with a CPU; none if this is unknown. */
static void read_siblings(struct unc_cpulist *out, const struct unc_root *root,
			  enum unc_scope scope, int cpu)
{
	const char *dir = UNC_PATH("sys/devices/system/cpu/cpu%d/topology", cpu);

	if (scope == UNC_SCOPE_CLUSTER)
		unc_cpulist_read(out, root, UNC_PATH("%s/cluster_cpus_list", dir), NULL);
	else if (unc_cpulist_read(out, root, UNC_PATH("%s/core_cpus_list", dir), NULL) < 0)
		unc_cpulist_read(out, root, UNC_PATH("%s/thread_siblings_list", dir), NULL);
}

/* True if a CPU reads the same register as one of `kept`. */
static bool is_kept(const struct uncore_pmu *pmu, const struct unc_topology *t,
		    const struct unc_cpulist *kept, int cpu)
{
	enum unc_scope each = pmu->driver->each;
	struct unc_cpulist siblings = {0};
	bool found = false;

	if (kept->count && (each == UNC_SCOPE_CORE || each == UNC_SCOPE_CLUSTER))
		read_siblings(&siblings, pmu->root, each, cpu);
	for (size_t i = 0; !found && i < kept->count; i++)
		found = share(t, each, kept->ids[i], cpu) ||
			unc_cpulist_has(&siblings, kept->ids[i]);
	unc_cpulist_finish(&siblings);
	return found;
}

static bool is_online(const struct unc_topology *t, int id)
{
	const struct uncore_cpu *cpu = unc_topology_cpu(t, id);

	return cpu && cpu->online;
}

/* Keeps one CPU for each register, if possible one that is online. The others move behind these. */
static int keep_one_of_each(struct uncore_pmu *pmu, const struct unc_topology *t)
{
	size_t count = pmu->cpus.count, more = 0;
	struct unc_cpulist kept = {calloc(count + 1, sizeof(int)), 0};
	int *rest = calloc(count + 1, sizeof(*rest)), *ids = pmu->cpus.ids;

	if (!kept.ids || !rest) {
		free(kept.ids);
		free(rest);
		return -ENOMEM;
	}
	for (int online = 1; online >= 0; online--)
		for (size_t i = 0; i < count; i++)
			if (is_online(t, ids[i]) == online && !is_kept(pmu, t, &kept, ids[i]))
				kept.ids[kept.count++] = ids[i];
	for (size_t i = 0, at = 0; i < count; i++)
		if (unc_cpulist_has(&kept, ids[i]))
			ids[at++] = ids[i];
		else
			rest[more++] = ids[i];
	memcpy(ids + kept.count, rest, more * sizeof(*rest));
	pmu->cpus.count = kept.count;
	pmu->more_cpus = more;
	free(kept.ids);
	free(rest);
	return 0;
}

/* ---- units that do not exist ---- */

/* True if one of the globs matches a PMU of this machine. */
static bool is_there(const char *globs, const struct unc_pmus *pmus)
{
	for (size_t i = 0; i < pmus->count; i++)
		if (unc_globs_match(globs, pmus->items[i].name))
			return true;
	return false;
}

/* True if the number after the last '_' belongs to a unit that does not exist on this machine. */
static bool is_absent(const struct unc_driver *d, const struct uncore_pmu *pmu,
		      const struct unc_pmus *pmus)
{
	const char *number = strrchr(pmu->name, '_');

	return number && unc_names_has(&d->absent, number + 1) &&
	       (!d->shown.where || is_there(d->shown.where, pmus)) &&
	       !(d->shown.unless && is_there(d->shown.unless, pmus));
}

static int leave_family(struct unc_family *f, struct uncore_pmu *pmu)
{
	struct unc_text why = {0};
	size_t kept = 0;

	for (size_t i = 0; i < f->pmu_count; i++)
		if (f->pmus[i] != pmu)
			f->pmus[kept++] = f->pmus[i];
	f->pmu_count = kept;
	unc_text_add(&why,
		     "%s has no hardware: this machine has no such %s, and the driver does "
		     "not look",
		     pmu->name, f->instance);
	pmu->absent = unc_yaml_keep(f->file, unc_text_take(&why));
	return pmu->absent ? 0 : -ENOMEM;
}

/* If the package of a CPU in the mask is unknown, CPUs that read the same register cannot be found,
 * and a sum would count some registers twice. */
static int check_packages(struct uncore_pmu *pmu, const struct unc_topology *t)
{
	struct unc_text why = {0};
	bool by_package =
		pmu->driver->each == UNC_SCOPE_PACKAGE || pmu->driver->each == UNC_SCOPE_DIE;

	for (size_t i = 0; by_package && i < pmu->cpus.count; i++) {
		if (unc_topology_socket(t, pmu->cpus.ids[i]) >= 0)
			continue;
		unc_text_add(
			&why,
			"the package of CPU %d is not known, so that it is not known which CPUs of the "
			"cpumask of %s read one register",
			pmu->cpus.ids[i], pmu->name);
		free(pmu->broken);
		pmu->broken = unc_text_take(&why);
		return pmu->broken ? 0 : -ENOMEM;
	}
	return 0;
}

int unc_drivers_apply(struct unc_catalogue *c, struct unc_pmus *pmus, const struct unc_topology *t,
		      struct unc_error *e)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < pmus->count; i++) {
		struct uncore_pmu *pmu = &pmus->items[i];

		pmu->driver = pmu->family ? driver_of(pmu->family, pmu) : NULL;
		pmu->node = pmu->driver && pmu->driver->cpu == UNC_CPU_NODE ? device_node(pmu) : -1;
		if (pmu->driver && pmu->driver->each > UNC_SCOPE_CPU && pmu->cpus.count > 1)
			r = check_packages(pmu, t);
		if (r == 0 && pmu->driver && pmu->driver->each > UNC_SCOPE_CPU &&
		    pmu->cpus.count > 1)
			r = keep_one_of_each(pmu, t);
		for (size_t k = 0; r == 0 && pmu->driver && k < c->family_count; k++)
			if (c->families[k] == pmu->family && is_absent(pmu->driver, pmu, pmus))
				r = leave_family(c->families[k], pmu);
	}
	return r < 0 ? unc_nomem(e) : 0;
}

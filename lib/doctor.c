/* SPDX-License-Identifier: MIT */
/* Findings: usable PMUs, missing PMUs, the reason, and the command that fixes it. */
#include <math.h>

#include "findings.h"
#include "ibs/sampler.h"

static const char *plural(size_t count)
{
	return count == 1 ? "" : "s";
}

#define ON_THE_HOST "run uncore on the host (in a cloud: on a bare-metal instance)"

/* ---- permission ---- */

static int check_permission(struct uncore *u)
{
	struct unc_draft d = {.verdict = UNCORE_VERDICT_OK, .subject = "permission"};
	struct unc_permission p;

	if (u->sim || u->regs || !unc_root_is_live(u->root))
		return 0;
	unc_permission_read(&p, u->root);
	if (!p.level_known)
		return 0;
	unc_text_add(&d.found, "perf_event_paranoid is %ld, this process has %s", p.level,
		     p.held ? p.held : "neither CAP_PERFMON nor CAP_SYS_ADMIN");
	if (p.filtered)
		unc_text_add(&d.found, ", and a seccomp filter, which may forbid to count");
	unc_permission_advise(&p, false, &d.why, &d.fix);
	if (!unc_permission_granted(&p))
		d.verdict = UNCORE_VERDICT_DENIED;
	else if (unc_permission_doubtful(&p))
		d.verdict = UNCORE_VERDICT_NOTE;
	return unc_finding_add(u, &d);
}

/* ---- families ---- */

/* What the driver registers or names more than once. */
static void add_driver(const struct uncore *u, const struct unc_family *family, struct unc_text *to)
{
	const struct uncore_pmu *repeats = NULL, *absent = NULL;
	size_t count = 0;

	for (size_t i = 0; i < u->pmus.count; i++) {
		const struct uncore_pmu *pmu = &u->pmus.items[i];

		if (pmu->family != family)
			continue;
		if (pmu->more_cpus && !repeats)
			repeats = pmu;
		if (pmu->absent && !count++)
			absent = pmu;
	}
	if (repeats)
		unc_text_add(to,
			     "; the cpumask of %s has %zu CPUs for %zu register%s: one CPU of each "
			     "%s is counted",
			     repeats->name, unc_pmu_mask(repeats), repeats->cpus.count,
			     plural(repeats->cpus.count), repeats->driver->shown.each);
	if (absent)
		unc_text_add(to, "; %zu PMU%s without hardware, such as %s, left out", count,
			     plural(count), absent->name);
}

/* A CPU that would count a PMU without CPU, if it were online: of its hardware, where the driver
 * lists these CPUs, or of a socket that is offline; -1: not known. */
static int offline_cpu(const struct uncore *u, const struct uncore_pmu *pmu)
{
	const char *text = uncore_pmu_associated_cpus(pmu);
	struct unc_cpulist list = {0};
	int cpu = -1;

	if (text && unc_cpulist_parse(text, &list) == 0 && list.count)
		cpu = list.ids[0];
	else if (u->topology.offline_count)
		cpu = u->topology.offline[0].cpu;
	unc_cpulist_finish(&list);
	return cpu;
}

static int add_family(struct uncore *u, const struct unc_family *family)
{
	struct unc_draft d = {.verdict = UNCORE_VERDICT_OK, .subject = family->name};
	struct unc_error why = {0};                /* what is wrong with the first broken PMU */
	const struct uncore_metric *reason = NULL; /* one that this CPU model has */
	int cpu = -1;
	size_t metrics = 0, broken = 0;
	bool is_device = family->source != UNC_SOURCE_KERNEL;

	for (size_t i = 0; i < family->pmu_count; i++) {
		struct unc_error e;
		int r = -ENODEV;

		for (size_t k = 0; (r == 0 || r == -ENODEV) && k < family->metric_count; k++)
			r = unc_metric_on(&family->metrics[k], family->pmus[i], &e);
		if (r < 0 && r != -ENODEV && !broken++) {
			why = e;
			cpu = r == -ENXIO ? offline_cpu(u, family->pmus[i]) : -1;
		}
	}
	for (size_t i = 0; i < family->metric_count; i++)
		metrics += !uncore_metric_missing(&family->metrics[i]);
	unc_text_add(&d.found, "%s: %zu %s%s, %zu metric%s", family->title, family->pmu_count,
		     is_device ? "device" : "PMU", plural(family->pmu_count), metrics,
		     plural(metrics));
	add_driver(u, family, &d.found);
	if (broken) {
		/* No driver would help. */
		d.verdict = is_device ? UNCORE_VERDICT_NOTE : UNCORE_VERDICT_MISSING;
		unc_text_add(&d.found, "; %zu %s%s cannot be counted", broken,
			     is_device ? "device" : "PMU", plural(broken));
		unc_text_add(&d.why, "%s", why.text);
		if (cpu >= 0)
			unc_text_add(&d.fix, UNC_BRING_ONLINE, cpu);
	} else if (!metrics) {
		d.verdict = UNCORE_VERDICT_NOTE;
		for (size_t i = family->metric_count; i-- > 0 && !reason;)
			reason = family->metrics[i].formula ? &family->metrics[i] : NULL;
		unc_text_add(&d.why, "%s",
			     uncore_metric_missing(reason ? reason : family->metrics));
		unc_text_add(&d.fix, "uncore list events   # they can be counted by name");
	}
	return unc_finding_add(u, &d);
}

/* What this kernel does wrong with the family's PMUs, each bug alone. */
static int add_bugs(struct uncore *u, struct unc_family *family)
{
	bool here = family->pmu_count > 0;
	int r = 0;

	if (!here && (!family->names_this_cpu || u->topology.guest[0] || u->regs))
		return 0;
	if (!here && unc_family_find_bugs(family, u->catalogue.kernel) < 0)
		return unc_nomem(&u->error);
	for (size_t i = 0; r == 0 && i < family->bug_count; i++) {
		const struct unc_kernel_bug *bug = &family->bugs[i];
		struct unc_draft d = {.verdict = UNCORE_VERDICT_NOTE, .subject = family->name};
		char *fix;

		if (!bug->text || here == (bug->effect == UNC_BUG_MISSING))
			continue;
		unc_text_add(&d.found, "%s", bug->text);
		if (bug->suspect)
			unc_text_add(&d.why, "suspect are all events%s",
				     bug->terms.count ? " with" : "");
		for (size_t k = 0; bug->suspect && k < bug->terms.count; k++)
			unc_text_add(&d.why, "%s %s", k ? "," : "", bug->terms.items[k]);
		fix = unc_kernel_fix(bug, u->catalogue.kernel);
		if (fix)
			unc_text_add(&d.fix, "a kernel of version %s or newer%s", fix,
				     strverscmp(u->catalogue.kernel, fix) < 0
					     ? ""
					     : " of that branch; which later ones have the "
					       "correction is not known");
		free(fix);
		r = unc_finding_add(u, &d);
	}
	return r;
}

/* What a directory has. The lists are kept: most families look into the one of ACPI's devices,
 * where a snapshot reads the target of each. NULL: out of memory. */
static const struct unc_names *list_once(struct uncore *u, const char *dir)
{
	struct unc_findings *f = &u->findings;
	struct unc_listing new = {0};

	for (size_t i = 0; i < f->listing_count; i++)
		if (strcmp(f->listings[i].dir, dir) == 0)
			return &f->listings[i].names;
	new.dir = strdup(dir);
	if (!new.dir || UNC_ADD(&f->listings, &f->listing_count, &new) < 0) {
		free(new.dir);
		f->failed = true;
		return NULL;
	}
	unc_root_list(u->root, dir, &f->listings[f->listing_count - 1].names);
	return &f->listings[f->listing_count - 1].names;
}

/* True when something below the root matches the glob (in its last part only). */
static bool path_exists(struct uncore *u, const char *glob)
{
	const char *slash = strrchr(glob, '/'), *name = slash ? slash + 1 : glob;
	int len = slash ? (int)(slash - glob) : 0;
	const struct unc_names *names = list_once(u, UNC_PATH("%.*s", len, glob));

	for (size_t i = 0; names && i < names->count; i++)
		if (unc_glob_matches(name, names->items[i]))
			return true;
	return false;
}

/* Whether findings may be about the family: it names this CPU, its hardware is here, or it has the
 * name of one of the PMUs. */
static bool is_concerned(const struct unc_index *index, void *context)
{
	struct uncore *u = context;
	char path[256];
	int n;

	if (unc_has_one_of(index->cpus, u->topology.cpu_names))
		return true;
	if (strchr(index->devices, ':')) /* a device may lack its driver */
		return true;
	for (size_t i = 0; i < u->pmus.count; i++)
		for (size_t k = 0; k < index->count; k++)
			if (unc_pattern_matches(index->pmus[k].name, u->pmus.items[i].name))
				return true;
	for (const char *at = index->paths; sscanf(at, "%255s%n", path, &n) == 1; at += n)
		if (path_exists(u, path))
			return true;
	return false;
}

/* Why this machine should have the family; NULL: it need not. */
static const struct unc_expectation *expected(struct uncore *u, const struct unc_family *f)
{
	const struct unc_expectation *by_model = NULL;

	if (u->regs || u->ops == &unc_source_resctrl || f->pmu_count)
		return NULL; /* with a register block or resctrl only their PMUs are known */
	for (size_t i = 0; i < f->expectation_count; i++) {
		const struct unc_expectation *x = &f->expectations[i];

		if (x->path && path_exists(u, x->path))
			return x;
		if (x->on_this_cpu && !by_model)
			by_model = x;
	}
	return by_model;
}

/* A guest has the CPU model without the counters. A device below /sys is its own, and a CPU flag
 * shows that the hypervisor provides the counters. */
static bool is_hidden(const struct uncore *u, const struct unc_expectation *x)
{
	char *cpuinfo = NULL;
	const char *flags;
	bool hidden = true;
	size_t len;

	if (!u->topology.guest[0] || x->path)
		return false;
	if (x->flag &&
	    unc_root_read_bytes(u->root, "proc/cpuinfo", UNC_FIRST_CPU, &cpuinfo, &len) == 0) {
		flags = unc_find_value(cpuinfo, "flags", &len);
		hidden = !flags || !unc_has_word(flags, x->flag);
	}
	free(cpuinfo);
	return hidden;
}

#define BUILT_IN "lib/modules/%s/modules.builtin"

/* Kernels list what is built in by path: "kernel/arch/x86/events/intel/intel-uncore.ko". '-' and
 * '_' are the same. */
static bool is_built_in(const struct uncore *u, const char *module)
{
	char *list = NULL, *rest, *line;
	bool found = false;

	unc_root_read(u->root, UNC_PATH(BUILT_IN, u->topology.kernel), &list);
	for (rest = list; !found && (line = strsep(&rest, "\n"));) {
		char *name = strrchr(line, '/'), *dot = name ? strrchr(name, '.') : NULL;

		if (!dot)
			continue;
		*dot = '\0';
		for (char *c = name; *c; c++)
			*c = *c == '-' ? '_' : *c;
		found = strcmp(name + 1, module) == 0;
	}
	free(list);
	return found;
}

/* A PMU of another family, which the same driver registers; NULL: none. */
static const struct uncore_pmu *sibling(const struct uncore *u, const char *module)
{
	for (size_t i = 0; i < u->pmus.count; i++) {
		const struct unc_family *f = u->pmus.items[i].family;

		for (size_t k = 0; f && k < f->expectation_count; k++)
			if (strcmp(f->expectations[k].module, module) == 0)
				return &u->pmus.items[i];
	}
	return NULL;
}

/* The driver is there: a module that is loaded, or built into the kernel. */
static bool has_driver(const struct uncore *u, const char *module)
{
	return unc_root_exists(u->root, UNC_PATH("sys/module/%s", module)) ||
	       is_built_in(u, module);
}

/* The driver is there, or may be, and has registered no such PMU. */
static void explain_driver(const struct uncore *u, const struct unc_expectation *x,
			   const struct uncore_pmu *other, struct unc_draft *d)
{
	if (other)
		unc_text_add(&d->why, "the driver %s is there (%s is one of its PMUs)", x->module,
			     other->name);
	else
		unc_text_add(&d->why, "the driver %s is %s", x->module,
			     unc_root_exists(u->root, UNC_PATH("sys/module/%s", x->module))
				     ? "loaded"
				     : "built into this kernel");
	unc_text_add(&d->why,
		     " but registered no such PMU: this kernel does not know this model, or the "
		     "%s hides the counters",
		     u->topology.guest[0] ? "hypervisor" : "firmware");
	unc_text_add(&d->fix, "sudo dmesg | grep -i -e uncore -e pmu   # then ");
	if (x->since)
		unc_text_add(&d->fix, "a kernel of version %s or newer", x->since);
	else
		unc_text_add(&d->fix, "try a newer kernel");
}

/* Why the PMUs are not there, from what is certain to what only an absent file suggests. */
static void explain_missing(const struct uncore *u, const struct unc_expectation *x,
			    struct unc_draft *d)
{
	const char *kernel = u->topology.kernel;
	const struct uncore_pmu *other = sibling(u, x->module);

	if (is_hidden(u, x)) {
		/* The same reason for all, so that it can be printed once. */
		if (x->flag)
			unc_text_add(&d->found, "; the CPU flag %s is hidden", x->flag);
		else
			unc_text_add(&d->found, "; the driver %s does not start in a guest",
				     x->module);
		unc_text_add(&d->why, "%s", u->topology.guest);
		unc_text_add(&d->fix, ON_THE_HOST);
	} else if (x->since && *kernel && strverscmp(kernel, x->since) < 0) {
		unc_text_add(&d->why,
			     "this kernel (%s) is older than %s, the first version that has them%s",
			     kernel, x->since,
			     unc_kernel_is_patched(kernel)
				     ? ", unless its distribution has added them"
				     : "");
		unc_text_add(&d->fix, "a kernel of version %s or newer", x->since);
	} else if (!unc_root_exists(u->root, "sys/bus/event_source")) {
		unc_text_add(&d->why,
			     "there is no sys/bus/event_source: the kernel has no perf events, or "
			     "this is a container or a part of a copy of /sys");
		unc_text_add(&d->fix,
			     "ls -d /sys/bus/event_source   # on the machine itself, outside of "
			     "containers");
	} else if (other || has_driver(u, x->module)) {
		explain_driver(u, x, other, d);
	} else if (!unc_root_exists(u->root, "sys/module")) {
		unc_text_add(&d->why,
			     "there is no sys/module, so that it is not known whether the driver "
			     "%s is loaded",
			     x->module);
		unc_text_add(&d->fix, "sudo modprobe %s", x->module);
	} else {
		unc_text_add(&d->why, "the driver %s is not loaded", x->module);
		if (*kernel && !unc_root_exists(u->root, UNC_PATH(BUILT_IN, kernel)))
			unc_text_add(
				&d->why,
				", or it is built into the kernel and does not know this model: "
				"there is no " BUILT_IN,
				kernel);
		unc_text_add(&d->fix, "sudo modprobe %s", x->module);
	}
}

static int add_missing(struct uncore *u, const struct unc_family *family,
		       const struct unc_expectation *x)
{
	struct unc_draft d = {.verdict = UNCORE_VERDICT_MISSING, .subject = family->name};

	unc_text_add(&d.found, "%s: no PMU named %s, though this machine (%s) has the hardware",
		     family->title, family->patterns[0].name, u->topology.cpu_model);
	explain_missing(u, x, &d);
	return unc_finding_add(u, &d);
}

/* Families that count come first. */
static int check_families(struct uncore *u)
{
	size_t count = u->catalogue.family_count;
	int r = 0;

	for (size_t i = 0; r == 0 && i < 2 * count; i++) {
		struct unc_family *f = u->catalogue.families[i < count ? i : i - count];
		const struct unc_expectation *x = expected(u, f);

		if ((i >= count) != (x != NULL))
			continue;
		if (f->pmu_count && f->metric_count)
			r = add_family(u, f);
		else if (x)
			r = add_missing(u, f, x);
		if (r == 0)
			r = add_bugs(u, f);
	}
	return r;
}

/* Why devices of the family are not counted: another driver has them, or none. */
static void explain_driverless(struct uncore *u, const struct unc_family *f,
			       const struct unc_pmus *devices, struct unc_draft *d)
{
	const struct uncore_device *first = uncore_pmu_device(u, &devices->items[0]);
	const char *module;

	for (size_t k = 0; !(module = f->devices[k].module);)
		k++;
	unc_text_add(&d->found, "%s: %zu device%s not counted, such as %s", f->title,
		     devices->count, devices->count == 1 ? " is" : "s are",
		     first ? first->address : devices->items[0].name);
	if (first && first->driver) {
		unc_text_add(&d->why, "its driver is %s, and it counts with %s only", first->driver,
			     module);
		return;
	}
	unc_text_add(&d->why, "the driver %s is not loaded", module);
	unc_text_add(&d->fix, "sudo modprobe %s   # it may be in a package of the vendor", module);
}

/* Devices that would count themselves, if their vendor's driver had them. */
static int check_driverless(struct uncore *u)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < u->catalogue.family_count; i++) {
		const struct unc_family *f = u->catalogue.families[i];
		struct unc_draft d = {.verdict = UNCORE_VERDICT_NOTE, .subject = f->name};
		struct unc_pmus devices = {0};

		r = unc_devices_find_driverless(f, &devices, u->root, &u->topology, &u->error);
		if (r == 0 && devices.count)
			r = unc_machine_pci(u);
		if (r == 0 && devices.count) {
			explain_driverless(u, f, &devices, &d);
			r = unc_finding_add(u, &d);
		}
		unc_pmus_finish(&devices);
	}
	return r;
}

/* ---- PMUs ---- */

static int check_broken_pmus(struct uncore *u)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < u->pmus.count; i++) {
		const struct uncore_pmu *pmu = &u->pmus.items[i];
		struct unc_draft d = {.verdict = UNCORE_VERDICT_MISSING, .subject = pmu->name};

		if (!pmu->broken || uncore_pmu_family(pmu))
			continue;
		unc_text_add(&d.found, "it cannot be counted");
		unc_text_add(&d.why, "%s", pmu->broken);
		r = unc_finding_add(u, &d);
	}
	return r;
}

/* The family whose PMUs have the name of this one, which is of another part by its identifier;
 * NULL: none. */
static const struct unc_family *namesake(const struct uncore *u, const struct uncore_pmu *pmu)
{
	for (size_t i = 0; i < u->catalogue.family_count && pmu->identifier; i++) {
		const struct unc_pattern *pattern = u->catalogue.families[i]->patterns;

		if (pattern->identifier && unc_pattern_matches(pattern->name, pmu->name))
			return u->catalogue.families[i];
	}
	return NULL;
}

/* PMUs that no family describes; or, where there are none, that no uncore PMU is there and none is
 * missing. */
static int check_other_pmus(struct uncore *u)
{
	struct unc_draft d = {.verdict = UNCORE_VERDICT_NOTE};
	const struct uncore_pmu *first = NULL;
	const struct unc_family *same = NULL; /* has the name of `first` */
	size_t count = 0;

	for (size_t i = 0; i < u->pmus.count; i++) {
		const struct uncore_pmu *pmu = &u->pmus.items[i];

		if (pmu->is_core || uncore_pmu_family(pmu) || pmu->broken ||
		    unc_sampler_is(pmu->name))
			continue;
		count++;
		if (!same) {
			same = namesake(u, pmu);
			first = same || !first ? pmu : first;
		}
	}
	if (first) {
		d.subject = "other PMUs";
		unc_text_add(&d.found, "%zu PMU%s without metrics, such as %s", count,
			     plural(count), first->name);
		unc_text_add(&d.why, "%s",
			     strcmp(u->topology.cpu_model, "unknown")
				     ? "no family of the catalogue describes them"
				     : "proc/cpuinfo does not name the CPU model, which decides on "
				       "the families of most PMUs");
		if (same)
			unc_text_add(
				&d.why,
				"; %s has the name of %s, and the identifier %s of another part "
				"(not %s), whose events differ",
				first->name, same->title, first->identifier,
				same->patterns->identifier);
		unc_text_add(&d.fix,
			     "uncore list pmus   # their events can be counted: uncore stat -e "
			     "%s/.../",
			     first->name);
		return unc_finding_add(u, &d);
	}
	for (size_t i = 0; i < u->catalogue.family_count; i++) {
		const struct unc_family *f = u->catalogue.families[i];

		if ((f->pmu_count && (u->regs || !f->everywhere)) || expected(u, f))
			return 0;
	}
	d.subject = "uncore PMUs";
	unc_text_add(&d.found, "none on this machine (%s)", u->topology.cpu_model);
	if (u->topology.guest[0]) {
		d.verdict = UNCORE_VERDICT_MISSING;
		unc_text_add(&d.why, "%s", u->topology.guest);
		unc_text_add(&d.fix, ON_THE_HOST);
	} else if (strcmp(u->topology.cpu_model, "unknown") == 0) {
		unc_text_add(&d.why, "no driver has registered one, and proc/cpuinfo does not name "
				     "the CPU model, which would tell what to expect");
	} else {
		unc_text_add(&d.why,
			     "no family of the catalogue expects one on this CPU model, and "
			     "no driver has registered one");
	}
	return unc_finding_add(u, &d);
}

/* ---- root ports ---- */

static int check_ports(struct uncore *u)
{
	struct unc_draft d = {.verdict = UNCORE_VERDICT_NOTE, .subject = "root ports"};
	const char *first = NULL; /* why its PMUs are not known */
	size_t ports = 0, unknown = 0;
	int r = unc_machine_pci(u);
	bool buses = r == 0 && u->ports.buses.error == -EACCES;

	if (r < 0 || !(buses || u->ports.needs_root))
		return r;
	for (size_t i = 0; i < u->pci.count; i++) {
		const struct uncore_device *port = &u->pci.devices[i].shown;

		ports += port->is_port;
		if (port->is_port && port->unknown && !unknown++)
			first = port->unknown;
	}
	if (!first)
		return 0;
	unc_text_add(&d.found, "which PMU counts them is not known for %zu of %zu", unknown, ports);
	unc_text_add(&d.why, "%s", first);
	unc_text_add(&d.fix, buses ? "sudo uncore topo --learn" : "sudo uncore pcie");
	return unc_finding_add(u, &d);
}

/* ---- memory ---- */

static int check_memory(struct uncore *u)
{
	const struct uncore_memory *m = uncore_memory_get(u);
	struct unc_draft d = {.verdict = UNCORE_VERDICT_OK, .subject = "memory peak"};
	bool by_modules = m->channels && u->memory_peak <= 0;
	bool counted = !m->why;
	long hundredths;

	for (size_t i = 0; !counted && i < u->catalogue.metric_count; i++)
		counted = strncmp(u->catalogue.metrics[i]->name, "memory.", 7) == 0 &&
			  !uncore_metric_missing(u->catalogue.metrics[i]);
	if (u->regs || !counted)
		return 0;
	if (m->why) {
		d.verdict = UNCORE_VERDICT_NOTE;
		unc_text_add(&d.found, "unknown, so no value is compared with it");
		unc_text_add(&d.why, "%s", m->why);
		unc_text_add(&d.fix, "uncore --memory-peak RATE ...   # of one socket, such as "
				     "307.2GB/s: channels x MT/s x 8 bytes");
		return unc_finding_add(u, &d);
	}
	/* Whole numbers: others are not printed through the locale. */
	if (by_modules)
		unc_text_add(&d.found, "%u channel%s of %lu bits x %lu MT/s%s = ", m->channels,
			     m->channels == 1 ? "" : "s",
			     lround(m->peak * 8 / (m->channels * m->transfers * 1e6)),
			     lround(m->transfers), m->rated ? " (as rated)" : "");
	hundredths = lround(fmin(m->peak / 1e7, 1e15));
	unc_text_add(&d.found, "%ld.%02ld GB/s per socket (%s)", hundredths / 100, hundredths % 100,
		     m->from);
	return unc_finding_add(u, &d);
}

/* ---- other programs ---- */

/* Processes that write the registers of PMUs themselves: Intel's PCM, LIKWID. */
#define WRITERS "pcm pcm.x pcm-* likwid-perf* likwid-access*"

static int check_writers(struct uncore *u)
{
	struct unc_draft d = {.verdict = UNCORE_VERDICT_NOTE, .subject = "other programs"};
	struct unc_names processes = {0};
	bool registers = false;

	for (size_t i = 0; i < u->pmus.count; i++)
		registers |= u->pmus.items[i].register_bits != 0;
	if (!registers || u->sim || unc_root_list(u->root, "proc", &processes) < 0)
		return 0;
	for (size_t i = 0; i < processes.count; i++) {
		const char *number = processes.items[i];
		char *name;

		if (!unc_is_digit(*number) ||
		    unc_root_read_line(u->root, UNC_PATH("proc/%s/comm", number), &name) < 0)
			continue;
		if (unc_globs_match(WRITERS, name))
			unc_text_add(&d.found, "%s%s (process %s)",
				     d.found.data ? ", " : "running: ", name, number);
		free(name);
	}
	unc_names_finish(&processes);
	if (!d.found.data)
		return 0;
	unc_text_add(&d.why,
		     "it writes the registers that the kernel's driver uses: rows are suspect "
		     "when it begins, and may be too low while it runs");
	unc_text_add(&d.fix, "count with one of them at a time");
	return unc_finding_add(u, &d);
}

/* ---- files ---- */

/* Lists that are malformed: others were used instead, or what they say is not known. */
static int check_faults(struct uncore *u)
{
	const struct unc_names *faults = &u->topology.faults;
	int r = 0;

	for (size_t i = 0; r == 0 && i < faults->count; i++) {
		struct unc_draft d = {.verdict = UNCORE_VERDICT_NOTE, .subject = "/sys"};

		unc_text_add(&d.found, "%s", faults->items[i]);
		unc_text_add(&d.why, "the file is ignored, and others are used instead");
		r = unc_finding_add(u, &d);
	}
	return r;
}

static int check_scan(struct uncore *u)
{
	struct unc_draft d = {.verdict = UNCORE_VERDICT_MISSING};
	bool mounted = unc_root_exists(u->root, "sys/devices/system/cpu");

	if (u->scan_error.exhausted || !*u->scan_error.text)
		return 0;
	d.subject = mounted ? "machine" : "/sys";
	unc_text_add(&d.found, mounted ? "it cannot be scanned" : "no sys/devices/system/cpu");
	unc_text_add(&d.why, "%s", u->scan_error.text);
	if (!mounted && unc_root_is_live(u->root))
		unc_text_add(&d.fix, "mount -t sysfs sysfs /sys");
	return unc_finding_add(u, &d);
}

/* ---- all ---- */

/* In the order of the findings. */
static int (*const checks[])(struct uncore *u) = {
	check_permission, check_families,    check_driverless, check_broken_pmus, check_ports,
	unc_links_check,  unc_answers_check, unc_groups_check, unc_sampled_check, check_memory,
	check_other_pmus, check_writers,     check_faults,
};

/* Looks for the drivers of a family that the machine should have. */
static bool read_drivers(const struct unc_index *index, void *context)
{
	const struct uncore *u = context;
	char module[64];
	int n;

	if (!is_concerned(index, context))
		return false;
	for (const char *at = index->modules; sscanf(at, "%63s%n", module, &n) == 1; at += n)
		has_driver(u, module);
	return false;
}

int unc_diagnose_read(struct uncore *u)
{
	int r;

	unc_findings_finish(&u->findings);
	unc_root_exists(u->root, "sys/bus/event_source");
	unc_root_exists(u->root, "sys/module");
	r = unc_catalogue_add_built_in(&u->catalogue, read_drivers, u, &u->error);
	for (size_t i = 0; i < u->catalogue.family_count; i++) {
		const struct unc_expectation *x = expected(u, u->catalogue.families[i]);

		if (x)
			has_driver(u, x->module);
	}
	if (r == 0)
		r = unc_links_check(u);
	r = r == 0 && u->findings.failed ? unc_nomem(&u->error) : r;
	unc_findings_finish(&u->findings);
	return r;
}

int uncore_diagnose(struct uncore *u)
{
	int r;

	unc_findings_finish(&u->findings);
	if (!u->scanned)
		return check_scan(u);
	r = unc_catalogue_add_built_in(&u->catalogue, is_concerned, u, &u->error);
	for (size_t i = 0; r == 0 && i < sizeof(checks) / sizeof(*checks); i++)
		r = checks[i](u);
	return r == 0 && u->findings.failed ? unc_nomem(&u->error) : r;
}

size_t uncore_finding_count(const struct uncore *u)
{
	return u->findings.count;
}

const struct uncore_finding *uncore_finding_at(const struct uncore *u, size_t i)
{
	return &u->findings.items[i];
}

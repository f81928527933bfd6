/* SPDX-License-Identifier: MIT */
/* struct uncore: its root and source, the scan, and the public getters. */
#include "object.h"

#include <math.h>
#include <stdio.h>

#define DATA_DIR "/etc/uncore/platforms.d"

const char *uncore_version(void)
{
	return UNC_VERSION;
}

void unc_findings_finish(struct unc_findings *f)
{
	free(f->items);
	unc_names_finish(&f->strings);
	for (size_t i = 0; i < f->listing_count; i++) {
		unc_names_finish(&f->listings[i].names);
		free(f->listings[i].dir);
	}
	free(f->listings);
	*f = (struct unc_findings){0};
}

static void forget_scan(struct uncore *u)
{
	unc_findings_finish(&u->findings);
	unc_ports_finish(&u->ports);
	unc_pci_finish(&u->pci);
	unc_catalogue_finish(&u->catalogue);
	unc_pmus_finish(&u->pmus);
	unc_topology_finish(&u->topology);
	u->scanned = u->memory_known = false;
}

int uncore_new(struct uncore **out)
{
	struct uncore *u = calloc(1, sizeof(*u));

	if (!u)
		return -ENOMEM;
	u->ops = &unc_source_kernel;
	u->source = strdup("kernel");
	if (!u->source || unc_root_open_dir(&u->root, "/", &u->error) < 0) {
		uncore_free(u);
		return -ENOMEM;
	}
	*out = u;
	return 0;
}

void uncore_free(struct uncore *u)
{
	if (!u)
		return;
	forget_scan(u);
	unc_processes_free(u->processes);
	unc_names_finish(&u->data_dirs);
	unc_sim_free(u->sim);
	unc_regs_free(u->regs);
	unc_root_free(u->root);
	free(u->source);
	free(u);
}

static int refuse_while_monitored(struct uncore *u)
{
	if (!u->monitors)
		return 0;
	return unc_fail(
		&u->error, EBUSY,
		"a monitor of this machine still exists: free it before the machine changes");
}

/* Before its root or its source changes. Groups are below a root, and PMUs of what the kernel has
 * there. */
static int refuse_in_use(struct uncore *u)
{
	int r = refuse_while_monitored(u);

	if (r < 0 || !u->groups)
		return r;
	return unc_fail(&u->error, EBUSY,
			"this machine has groups of resctrl: free them before its root or its "
			"source changes");
}

/* Takes over what the source brings, and drops the scan, which borrows from the old root; NULL: the
 * root stays. */
static void change_source(struct uncore *u, const struct unc_source_ops *ops, struct unc_root *root,
			  char *name, struct unc_sim *sim, struct unc_regs *regs)
{
	forget_scan(u);
	if (root) {
		unc_root_free(u->root);
		u->root = root;
	}
	unc_sim_free(u->sim);
	unc_regs_free(u->regs);
	free(u->source);
	u->ops = ops;
	u->source = name;
	u->sim = sim;
	u->regs = regs;
	u->replay = (struct uncore_replay){0};
}

int uncore_set_root(struct uncore *u, const char *path)
{
	struct unc_root *root;
	int r = refuse_in_use(u);

	if (r == 0 && (u->sim || u->replay.read))
		r = unc_fail(&u->error, EINVAL,
			     "%s brings its own machine: it cannot have another root", u->source);
	if (r == 0)
		r = unc_root_open(&root, path, &u->error);
	if (r < 0)
		return r;
	forget_scan(u);
	unc_root_free(u->root);
	u->root = root;
	return 0;
}

/* What uncore_set_source() takes. */
static const struct source {
	const char *name; /* one that ends with a colon stands before an argument */
	const char *forms;
	const struct unc_source_ops *ops;
} sources[] = {
	{"kernel", "kernel", &unc_source_kernel},
	{"files", "files", &unc_source_files},
	{"resctrl", "resctrl", &unc_source_resctrl},
	{"sim:", "sim:NAME, sim:FILE.yaml", &unc_source_sim},
	{"regs:", "regs:NAME, regs:FILE.yaml", &unc_source_regs},
};

static int find_source(const char *spec, const struct unc_source_ops **ops, struct unc_error *e)
{
	const size_t count = sizeof(sources) / sizeof(*sources);

	for (size_t i = 0; i < count; i++) {
		size_t len = strlen(sources[i].name);

		if (strncmp(spec, sources[i].name, len) != 0 || (spec[len] && spec[len - 1] != ':'))
			continue;
		*ops = sources[i].ops;
		return 0;
	}
	unc_fail(e, EINVAL, "'%s' is not a valid source of counters; expected one of:", spec);
	for (size_t i = 0; i < count; i++)
		unc_error_append(e, "%s %s", i ? "," : "", sources[i].forms);
	return -EINVAL;
}

int uncore_set_source(struct uncore *u, const char *spec)
{
	const struct unc_source_ops *ops = NULL;
	struct unc_root *root = NULL;
	struct unc_regs *regs = NULL;
	struct unc_sim *sim = NULL;
	char *name = NULL;
	int r = refuse_in_use(u);

	if (r == 0)
		r = find_source(spec, &ops, &u->error);
	if (r < 0)
		return r;
	if (ops == &unc_source_sim)
		r = unc_sim_load(&sim, strchr(spec, ':') + 1, &root, &u->error);
	else if (ops == &unc_source_regs)
		r = unc_regs_load(&regs, strchr(spec, ':') + 1, &u->error);
	if (r == 0 && (u->sim || u->replay.read) &&
	    !sim) /* back from the machine of the source before */
		r = unc_root_open(&root, "/", &u->error);
	if (r == 0 && !(name = strdup(spec)))
		r = unc_nomem(&u->error);
	if (r < 0)
		goto fail;
	change_source(u, ops, root, name, sim, regs);
	return 0;
fail:
	unc_root_free(root);
	unc_sim_free(sim);
	unc_regs_free(regs);
	return r;
}

/* Copies what a program gives that was compiled with this release, an older or a newer one. */
static int copy_replay(struct uncore_replay *into, const struct uncore_replay *from,
		       struct unc_error *e)
{
	/* That of 0.1. */
	const size_t least = offsetof(struct uncore_replay, read) + sizeof(from->read);
	const char *bytes = (const char *)from;

	if (from->size < least)
		return unc_fail(e, EINVAL, "a replay of %zu bytes: its size is not set",
				from->size);
	for (size_t i = sizeof(*into); i < from->size; i++)
		if (bytes[i])
			return unc_fail(e, EINVAL,
					"the replay has members that libuncore %s does not know",
					uncore_version());
	*into = (struct uncore_replay){0};
	memcpy(into, from, from->size < sizeof(*into) ? from->size : sizeof(*into));
	return 0;
}

int uncore_set_replay(struct uncore *u, const struct uncore_replay *replay)
{
	struct unc_root *root = NULL;
	struct uncore_replay copy;
	char *name = NULL;
	int r = refuse_in_use(u);

	if (r == 0)
		r = copy_replay(&copy, replay, &u->error);
	if (r == 0 && !(name = strdup(copy.name)))
		r = unc_nomem(&u->error);
	if (r == 0)
		r = unc_root_open_text(&root, copy.name, copy.snapshot, strlen(copy.snapshot),
				       &u->error);
	if (r < 0) {
		free(name);
		return r;
	}
	change_source(u, &unc_source_replay, root, name, NULL, NULL);
	u->replay = copy;
	return 0;
}

int uncore_set_program(struct uncore *u, bool allowed)
{
	int r = refuse_while_monitored(u);

	if (r == 0)
		u->program = allowed;
	return r;
}

int uncore_add_data(struct uncore *u, const char *dir)
{
	struct unc_root *root;
	int r = unc_root_open_dir(&root, dir, &u->error);

	if (r < 0)
		return r;
	unc_root_free(root);
	return unc_names_add(&u->data_dirs, dir) < 0 ? unc_nomem(&u->error) : 0;
}

int uncore_set_vendor_events(struct uncore *u, const char *text)
{
	int r = refuse_while_monitored(u);

	if (r == 0 && u->pmus.vendor && unc_vendor_load(u->pmus.vendor, text) < 0)
		r = unc_nomem(&u->error);
	return r;
}

int uncore_cpu_stepping(const struct uncore *u)
{
	return u->topology.stepping;
}

/* Whether a simulation, or the recording of one, counts the PMU. */
static bool is_simulated(const struct uncore *u, const struct uncore_pmu *p)
{
	if (u->sim)
		return unc_sim_has(u->sim, p);
	return !u->replay.simulated || !u->replay.has || u->replay.has(u->replay.context, p->name);
}

/* A simulated machine has only those of its tree's devices that are simulated, too. */
static void drop_devices(struct uncore *u)
{
	size_t kept = 0;

	for (size_t i = 0; i < u->pmus.count; i++) {
		struct uncore_pmu *p = &u->pmus.items[i];

		if (!unc_pmu_is_device(p) || is_simulated(u, p))
			u->pmus.items[kept++] = *p;
		else
			unc_pmu_finish(p);
	}
	u->pmus.count = kept;
}

int uncore_scan(struct uncore *u)
{
	struct unc_family *f = NULL;
	int r = refuse_while_monitored(u);

	if (r < 0)
		return r;
	forget_scan(u);
	u->scan_error.text[0] = '\0';
	u->error.exhausted = 0;
	unc_root_exhausted(u->root);
	r = unc_topology_read(&u->topology, u->root, &u->error);
	if (r == 0 && u->regs)
		r = unc_regs_scan(u->regs, u->root, &u->topology, &u->pmus, &u->error);
	else if (r == 0 && u->ops == &unc_source_resctrl)
		r = unc_resctrl_scan(u->root, &u->topology, NULL, 0, &u->pmus, &u->error);
	else if (r == 0)
		r = unc_pmus_read(&u->pmus, u->root, &u->topology, &u->error);
	if (r == 0 && u->groups)
		r = unc_groups_scan(u->groups, &u->pmus);
	u->catalogue = (struct unc_catalogue){.cpu_model = u->topology.cpu_names,
					      .kernel = u->topology.kernel};
	/* The administrator's families, then the caller's. Built-in ones are loaded when PMUs match
	 * them. */
	if (r == 0 && unc_root_is_live(u->root) && unc_root_exists(u->root, &DATA_DIR[1]))
		r = unc_catalogue_load(&u->catalogue, DATA_DIR, &u->error);
	for (size_t i = 0; r == 0 && i < u->data_dirs.count; i++)
		r = unc_catalogue_load(&u->catalogue, u->data_dirs.items[i], &u->error);
	/* What a register block counts is a family like those of data files. */
	if (r == 0 && u->regs)
		r = unc_regs_family(&f, u->regs, u->topology.cpu_names, &u->error);
	if (r == 0 && f)
		r = unc_catalogue_add(&u->catalogue, f, &u->error);
	/* With a register block or resctrl only their PMUs are known. */
	if (r == 0 && !u->regs && u->ops != &unc_source_resctrl &&
	    (!u->sim || unc_sim_may_have_devices(u->sim, &u->pmus))) {
		r = unc_devices_find(&u->catalogue, &u->pmus, u->root, &u->topology, &u->error);
		if (r == 0)
			drop_devices(u);
	}
	if (r == 0)
		r = unc_catalogue_match(&u->catalogue, &u->pmus, &u->error);
	if (r == 0)
		r = unc_drivers_apply(&u->catalogue, &u->pmus, &u->topology, &u->error);
	if (r == 0 && u->sim)
		r = unc_sim_check(u->sim, &u->pmus, &u->error);
	if (uncore_check(u) < 0)
		r = -u->error.exhausted; /* the cause of what else failed */
	u->scanned = r == 0;
	if (r < 0) {
		u->scan_error = u->error;
		forget_scan(u);
	}
	return r;
}

int unc_machine_pci(struct uncore *u)
{
	int r;

	if (u->pci.root || !u->scanned)
		return 0;
	r = unc_pci_read(&u->pci, u->root, &u->topology, &u->error);
	if (r == 0 && unc_ports_load(&u->ports, &u->topology, &u->pci, &u->pmus) < 0)
		r = unc_nomem(&u->error);
	if (r == 0)
		r = uncore_check(u);
	if (r < 0) {
		unc_ports_finish(&u->ports);
		unc_pci_finish(&u->pci);
	}
	return r;
}

int unc_machine_ports_of(struct uncore *u, const struct uncore_pmu *pmu, int cpu,
			 const struct unc_port **ports, size_t *count, struct unc_error *why)
{
	int r = unc_machine_pci(u);

	return r < 0 ? r : unc_ports_of(&u->ports, pmu, cpu, ports, count, why);
}

const struct uncore_peer *uncore_pmu_peer(struct uncore *u, const struct uncore_pmu *p, int cpu)
{
	int r = unc_machine_pci(u);

	if (r == 0)
		r = unc_ports_peer(&u->pci, p, cpu, &u->peer, &u->error);
	return r < 0 ? NULL : &u->peer;
}

double uncore_pmu_link_speed(struct uncore *u, const struct uncore_pmu *p, int cpu,
			     const char **doubt)
{
	const char *why = NULL;
	double speed = NAN;

	if (unc_machine_pci(u) == 0)
		unc_ports_speed(&u->pci, p, cpu, &speed, &why, &u->error);
	if (doubt)
		*doubt = why;
	return speed;
}

/* The sources of PMUs and devices. */
static const struct unc_source_ops *const kernel_sources[UNC_SOURCE_KINDS] = {
	[UNC_SOURCE_KERNEL] = &unc_source_kernel,
	[UNC_SOURCE_FILES] = &unc_source_files,
	[UNC_SOURCE_NVML] = &unc_source_nvml,
	[UNC_SOURCE_RESCTRL] = &unc_source_resctrl,
};

bool unc_machine_has_sources(const struct uncore *u)
{
	return u->ops == &unc_source_kernel || u->ops == &unc_source_files;
}

int unc_machine_source(struct uncore *u, enum unc_source_kind kind, struct unc_source **out)
{
	struct unc_source from = {.ops = unc_machine_has_sources(u) ? kernel_sources[kind] : u->ops,
				  .root = u->root,
				  .topology = &u->topology,
				  .sim = u->sim,
				  .regs = u->regs,
				  .any_root = u->ops == &unc_source_files,
				  .write = u->program,
				  .replay = &u->replay};

	return unc_source_new(out, from) < 0 ? unc_nomem(&u->error) : 0;
}

int uncore_check(struct uncore *u)
{
	if (!u->error.exhausted)
		u->error.exhausted = unc_root_exhausted(u->root);
	switch (u->error.exhausted) {
	case 0:
		return 0;
	case ENOMEM:
		return unc_nomem(&u->error);
	case EMFILE:
		return unc_fail(&u->error, EMFILE,
				"out of file descriptors: allow this process more with ulimit -n");
	default:
		return unc_fail(&u->error, ENFILE,
				"the system is out of file descriptors: sysctl fs.file-max "
				"allows more");
	}
}

const char *uncore_error(const struct uncore *u)
{
	return u->error.text;
}

const char *uncore_source(const struct uncore *u)
{
	return u->source;
}

bool uncore_is_simulated(const struct uncore *u)
{
	return u->sim || u->replay.simulated;
}

size_t uncore_cpu_count(const struct uncore *u)
{
	return u->topology.cpu_count;
}

const struct uncore_cpu *uncore_cpu_at(const struct uncore *u, size_t i)
{
	return &u->topology.cpus[i];
}

size_t uncore_socket_count(const struct uncore *u)
{
	return u->topology.socket_count;
}

int uncore_socket_at(const struct uncore *u, size_t i)
{
	return u->topology.sockets[i];
}

const char *uncore_cpu_model(const struct uncore *u)
{
	return u->topology.cpu_model;
}

const char *uncore_cpu_brand(const struct uncore *u)
{
	return u->topology.cpu_brand[0] ? u->topology.cpu_brand : NULL;
}

const char *uncore_cpu_name(struct uncore *u)
{
	return unc_catalogue_cpu(&u->catalogue);
}

const char *uncore_kernel(const struct uncore *u)
{
	return u->topology.kernel[0] ? u->topology.kernel : NULL;
}

const char *uncore_firmware(const struct uncore *u)
{
	return u->topology.firmware[0] ? u->topology.firmware : NULL;
}

const char *uncore_hypervisor(const struct uncore *u)
{
	return u->topology.hypervisor[0] ? u->topology.hypervisor : NULL;
}

size_t uncore_pmu_count(const struct uncore *u)
{
	return u->pmus.count;
}

const struct uncore_pmu *uncore_pmu_at(const struct uncore *u, size_t i)
{
	return &u->pmus.items[i];
}

const char *uncore_pmu_instance(const struct uncore_pmu *p)
{
	return p->family ? p->family->instance : NULL;
}

const char *uncore_pmu_place(const struct uncore_pmu *p)
{
	return p->family ? unc_place_name(p->family->place) : NULL;
}

bool uncore_pmu_is_device(const struct uncore_pmu *p)
{
	return unc_pmu_is_device(p);
}

const struct uncore_device *uncore_pmu_device(const struct uncore *u, const struct uncore_pmu *p)
{
	for (size_t i = 0; p->pci && i < uncore_device_count(u); i++)
		if (strcmp(uncore_device_at(u, i)->address, p->pci) == 0)
			return uncore_device_at(u, i);
	return NULL;
}

const char *uncore_pmu_directory(const struct uncore_pmu *p)
{
	return p->source == UNC_SOURCE_FILES ? p->directory : NULL;
}

int uncore_pmu_socket(const struct uncore *u, const struct uncore_pmu *p, int cpu)
{
	return unc_counted_socket(p, &u->topology, cpu);
}

bool uncore_pmu_is_memory(const struct uncore_pmu *p)
{
	return p->family && p->family->place <= UNC_PLACE_MESH_PORT && !p->absent;
}

const char *uncore_pmu_family(const struct uncore_pmu *p)
{
	return p->family && p->family->metric_count ? p->family->name : NULL;
}

const char *uncore_pmu_kernel_bug(const struct uncore_pmu *p)
{
	return p->family ? unc_family_bug(p->family, true) : NULL;
}

size_t uncore_metric_count(const struct uncore *u)
{
	struct uncore *all = (struct uncore *)u;

	if (u->scanned)
		unc_catalogue_complete(&all->catalogue, &all->error);
	return u->catalogue.metric_count;
}

size_t uncore_metric_count_here(const struct uncore *u)
{
	return u->catalogue.here_count;
}

const struct uncore_metric *uncore_metric_at(const struct uncore *u, size_t i)
{
	return u->catalogue.metrics[i];
}

const struct uncore_words *uncore_words_find(struct uncore *u, const char *word)
{
	return unc_catalogue_words(&u->catalogue, word);
}

size_t uncore_view_count(struct uncore *u)
{
	return unc_catalogue_load_views(&u->catalogue, &u->error) < 0 ? 0 : u->catalogue.view_count;
}

const struct uncore_view *uncore_view_at(const struct uncore *u, size_t i)
{
	return &u->catalogue.views[i];
}

const char *uncore_view_name(const struct uncore_view *v)
{
	return v->name;
}

const char *uncore_view_title(const struct uncore_view *v)
{
	return v->title;
}

const char *uncore_view_screen(const struct uncore_view *v)
{
	return v->screen;
}

const char *uncore_view_table(const struct uncore_view *v)
{
	return v->table ? v->table : v->screen;
}

const char *uncore_view_column_title(const struct uncore_view *v, enum uncore_column column)
{
	const struct unc_view_column *c = unc_view_column(v, (int)column);

	return c ? c->title : NULL;
}

const char *uncore_view_column_about(const struct uncore_view *v, enum uncore_column column)
{
	const struct unc_view_column *c = unc_view_column(v, (int)column);

	return c ? c->about : NULL;
}

int uncore_view_find(struct uncore *u, const char *metric, const struct uncore_view **view,
		     enum uncore_column *column, unsigned *rank, int *number)
{
	int r = unc_catalogue_load_views(&u->catalogue, &u->error);
	const struct uncore_view *found =
		r < 0 ? NULL : unc_catalogue_find_view(&u->catalogue, metric);

	if (!found)
		return r < 0 ? r : -ENOENT;
	*view = found;
	uncore_view_has(found, metric, column, rank, number);
	return 0;
}

/* ---- PCI devices ---- */

int uncore_learn(struct uncore *u, const char **file)
{
	const struct unc_root_buses *b = &u->ports.buses;
	struct unc_text text = {0};
	int r = unc_machine_pci(u);

	if (r < 0)
		return r;
	if (!b->rule)
		return unc_fail(&u->error, ENODEV,
				"there is nothing to learn: no PMU of this machine needs registers "
				"that only root can read to find its root ports");
	r = b->kept ? -EACCES : b->error;
	if (r < 0)
		return unc_fail(&u->error, -r, "%s", b->why.text);
	unc_root_buses_print(b, &text);
	r = text.failed ? unc_nomem(&u->error)
			: unc_root_replace(u->root, UNC_ROOT_BUSES_DIR, UNC_ROOT_BUSES_FILE,
					   text.data, &u->error);
	unc_text_finish(&text);
	if (r == 0)
		*file = "/" UNC_ROOT_BUSES_DIR "/" UNC_ROOT_BUSES_FILE;
	return r;
}

size_t uncore_device_count(const struct uncore *u)
{
	/* Read at first use, as the contents of a PMU are. */
	return unc_machine_pci((struct uncore *)u) < 0 ? 0 : u->pci.count;
}

const struct uncore_device *uncore_device_at(const struct uncore *u, size_t i)
{
	return &u->pci.devices[i].shown;
}

void uncore_device_update_links(struct uncore *u)
{
	if (unc_machine_pci(u) == 0)
		unc_pci_read_links(&u->pci);
}

size_t uncore_device_pmu_count(const struct uncore_device *d)
{
	return unc_device(d)->pmu_count;
}

const struct uncore_pmu *uncore_device_pmu_at(const struct uncore_device *d, size_t i)
{
	return unc_device(d)->pmus[i];
}

#define NAMES_LISTED 12

void unc_machine_list_counting(struct uncore *u)
{
	size_t count = 0;

	for (size_t i = 0; i < u->pmus.count; i++) {
		const struct uncore_pmu *pmu = &u->pmus.items[i];

		if (!unc_pmu_is_own(pmu))
			continue;
		if (count < NAMES_LISTED)
			unc_error_append(
				&u->error, "%s%s",
				count ? ", " : "; devices that count themselves: ", pmu->name);
		count++;
	}
	if (count > NAMES_LISTED)
		unc_error_append(&u->error, " and %zu more", count - NAMES_LISTED);
}

int uncore_device_find(struct uncore *u, const char *name, const struct uncore_device **out)
{
	const struct uncore_device *counting = NULL; /* itself, under this name */
	int err;

	if (!u->scanned)
		return unc_fail(&u->error, EBUSY,
				"the machine is not scanned: uncore_scan() first");
	err = unc_machine_pci(u);
	if (err)
		return err;
	for (size_t i = 0; i < u->pmus.count && !counting; i++)
		if (strcmp(u->pmus.items[i].name, name) == 0)
			counting = uncore_pmu_device(u, &u->pmus.items[i]);
	err = unc_pci_find(&u->pci, name, out, &u->error);
	if (err == -ENOENT && counting) {
		*out = counting;
		return 0;
	}
	if (err == -ENOENT)
		unc_machine_list_counting(u);
	return err;
}

/* ---- memory ---- */

const struct uncore_memory *uncore_memory_get(struct uncore *u)
{
	struct uncore_memory *memory = &u->memory;
	size_t channels = 0; /* of the first socket that have a PMU; 0: not known */
	bool uncertain = false;

	if (u->memory_known)
		return memory;
	for (size_t i = 0; i < u->pmus.count; i++) {
		const struct uncore_pmu *p = &u->pmus.items[i];

		if (!p->family || p->family->place != UNC_PLACE_CHANNEL || p->absent)
			continue;
		/* It may have no hardware, and no file says which units have none. */
		uncertain |= p->driver && p->driver->hardware == UNC_HARDWARE_MAY_LACK &&
			     !p->driver->absent.count;
		for (size_t k = 0; k < p->cpus.count; k++)
			channels += unc_counted_socket(p, &u->topology, p->cpus.ids[k]) ==
				    u->topology.sockets[0];
	}
	*memory = (struct uncore_memory){.transfers = NAN, .peak = NAN, .used = NAN};
	if (!u->scanned)
		memory->why = "the machine has not been scanned";
	else if (u->topology.unnumbered)
		memory->why = "the number of sockets is not known: a CPU online has no "
			      "physical_package_id";
	else if (u->topology.unplaced)
		memory->why = "CPUs are offline, and it is not known how many sockets have the "
			      "memory modules";
	else if (unc_memory_read(memory, u->root,
				 u->topology.socket_count + u->topology.offline_count,
				 uncertain ? 0 : channels, &u->memory_why) < 0)
		memory->why = u->memory_why.text;
	if (u->memory_peak > 0) {
		memory->peak = u->memory_peak;
		memory->from = "the user";
		memory->why = NULL;
	}
	u->memory_known = u->scanned;
	return memory;
}

int uncore_set_memory_peak(struct uncore *u, double bytes_per_second_per_socket)
{
	int r = refuse_while_monitored(u);

	if (r < 0)
		return r;
	if (!isfinite(bytes_per_second_per_socket) || bytes_per_second_per_socket <= 0)
		return unc_fail(&u->error, EINVAL,
				"the peak of the memory must be more than 0 bytes per second");
	u->memory_peak = bytes_per_second_per_socket;
	u->memory_known = false;
	return 0;
}

double unc_ceiling_memory(struct uncore *u, int socket, bool one_channel)
{
	const struct uncore_memory *memory = uncore_memory_get(u);

	if (one_channel)
		return memory->channels ? memory->peak / memory->channels : NAN;
	if (socket >= 0)
		return memory->peak;
	return u->topology.unnumbered ? NAN : memory->peak * (double)u->topology.socket_count;
}

/* SPDX-License-Identifier: MIT */
/* The source of resctrl's groups (linux Documentation/filesystems/resctrl.rst): bytes that the
 * tasks of each group move between a last-level cache and memory. The part of a group on one cache,
 * or on one NUMA node of it, is a PMU. Groups are made in lib/groups.c; here they are only read. */
#include "source/source.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#define TOP UNC_RESCTRL
#define CPU_DIR "sys/devices/system/cpu"
/* A larger step is not traffic. The kernel has taken a counter that restarted for one that
 * wrapped. */
#define MOST_BYTES_PER_S 1e13

/* The events, in the order of their names, with the kernel's numbers. */
static const struct {
	const char *file, *terms;
	uint64_t number;
	bool level; /* a current value, not a sum */
} events[] = {
	{"llc_occupancy", "event=0x1", 1, true},
	{"mbm_local_bytes", "event=0x3", 3, false},
	{"mbm_total_bytes", "event=0x2", 2, false},
};

#define EVENTS (sizeof(events) / sizeof(*events))

/* ---- groups and caches as PMUs ---- */

struct scan {
	const struct unc_root *root;
	const struct unc_topology *topology;
	struct unc_error *e;
	struct unc_slot *slots; /* the groups of this process */
	size_t slot_count;
	int *caches; /* the cache of each CPU of the topology; -1: offline, or unknown */
	struct unc_pmus pmus;
	size_t groups;
};

static int add_events(struct uncore_pmu *p)
{
	const struct uncore_term term = {.name = "event", .format = "config:0-7", .bits = 0xff};
	int r = UNC_ADD(&p->terms, &p->term_count, &term);

	for (size_t i = 0; r == 0 && i < EVENTS; i++) {
		const struct uncore_alias alias = {.name = events[i].file,
						   .terms = events[i].terms,
						   .unit = "B",
						   .scale = 1,
						   .snapshot = events[i].level};

		if (unc_root_exists(p->root, UNC_PATH("%s/%s", p->directory, alias.name)))
			r = UNC_ADD(&p->aliases, &p->alias_count, &alias);
	}
	return r;
}

/* The slot of a monitor group of the default group, "/NAME"; NULL: it is not one of ours. */
static struct unc_slot *find_slot(const struct scan *s, const char *group)
{
	for (size_t i = 0; i < s->slot_count; i++)
		if (*group == '/' && strcmp(group + 1, s->slots[i].name) == 0)
			return &s->slots[i];
	return NULL;
}

/* Adds the PMU of a group on a cache or, if `node` is not -1, on a node of the cache. A CPU there
 * counts it. Returns 0 or -ENOMEM. */
static int add_pmu(struct scan *s, const char *group, const char *directory, int cache, int node)
{
	const struct unc_topology *t = s->topology;
	struct uncore_pmu *p = unc_append(&s->pmus.items, &s->pmus.count, sizeof(*p));
	bool whole = node < 0;

	if (!p)
		return -ENOMEM;
	p->name = strdup(whole ? UNC_PATH("resctrl_%zu_l3_%d", s->groups, cache)
			       : UNC_PATH("resctrl_%zu_l3_%d_node_%d", s->groups, cache, node));
	p->identifier =
		strdup(whole ? UNC_PATH("L3 %d", cache) : UNC_PATH("L3 %d node %d", cache, node));
	p->root = s->root;
	p->error = s->e;
	p->source = UNC_SOURCE_RESCTRL;
	p->slot = find_slot(s, group);
	p->no_files = p->has_mask = true;
	p->role = unc_names_take(&p->strings, strdup(group));
	p->directory = unc_names_take(&p->strings, strdup(directory));
	p->cpus.ids = calloc(1, sizeof(*p->cpus.ids));
	if (!p->name || !p->identifier || !p->role || !p->directory || !p->cpus.ids)
		return -ENOMEM;
	for (size_t i = 0; i < t->cpu_count; i++) {
		if (s->caches[i] != cache || (!whole && t->cpus[i].node != node))
			continue;
		if (!p->cpus.count)
			p->cpus.ids[p->cpus.count++] = t->cpus[i].id;
		p->spans_nodes |= t->cpus[i].node != unc_topology_cpu(t, p->cpus.ids[0])->node;
	}
	if (p->cpus.count)
		return add_events(p);
	p->broken = strdup(
		UNC_PATH("%s: no CPU online has the cache %d%s (" CPU_DIR "/cpu*/cache/index3/id)",
			 directory, cache, whole ? "" : UNC_PATH(" and is in node %d", node)));
	return p->broken ? 0 : -ENOMEM;
}

/* If the kernel counts each node of a cache, the files of the cache itself have their sums. */
static int add_cache(struct scan *s, const char *group, const char *directory, int cache)
{
	struct unc_names names = {0};
	int r = unc_root_list(s->root, directory, &names) == -ENOMEM ? -ENOMEM : 0;
	bool whole = true;

	for (size_t i = 0; r == 0 && i < names.count; i++) {
		int node = unc_number_after(names.items[i], "mon_sub_L3_", INT_MAX);

		if (node < 0)
			continue;
		whole = false;
		r = add_pmu(s, group, UNC_PATH("%s/%s", directory, names.items[i]), cache, node);
	}
	if (r == 0 && whole && names.count)
		r = add_pmu(s, group, directory, cache, -1);
	unc_names_finish(&names);
	return r;
}

/* Adds a group. One that is removed meanwhile has no such files. */
static int add_group(void *context, const char *path, const char *name)
{
	struct scan *s = context;
	const char *group = *name ? name : "/", *data = UNC_PATH("%s/mon_data", path);
	size_t before = s->pmus.count;
	struct unc_names names = {0};
	int r = unc_root_list(s->root, data, &names) == -ENOMEM ? -ENOMEM : 0;

	for (size_t i = 0; r == 0 && i < names.count; i++) {
		int cache = unc_number_after(names.items[i], "mon_L3_", INT_MAX);

		if (cache >= 0)
			r = add_cache(s, group, UNC_PATH("%s/%s", data, names.items[i]), cache);
	}
	s->groups += s->pmus.count > before;
	unc_names_finish(&names);
	return r;
}

bool unc_resctrl_is_gone(int err)
{
	return err == -ENOENT || err == -ENODEV;
}

int unc_resctrl_unreadable(struct unc_error *e, int err)
{
	return err == -ENOMEM ? unc_nomem(e)
			      : unc_fail(e, -err, "the groups below /" TOP " cannot be read: %s",
					 unc_errno_text(err));
}

/* A control group's monitor groups. */
static int each_below(const struct unc_root *root, const char *path, const char *name,
		      int (*each)(void *context, const char *path, const char *name), void *context)
{
	const char *below = UNC_PATH("%s/mon_groups", path);
	struct unc_names monitors = {0};
	int err = unc_root_list(root, below, &monitors);

	if (unc_resctrl_is_gone(err))
		return 0;
	for (size_t k = 0; err == 0 && k < monitors.count; k++)
		err = each(context, UNC_PATH("%s/%s", below, monitors.items[k]),
			   UNC_PATH("%s/%s", name, monitors.items[k]));
	unc_names_finish(&monitors);
	return err;
}

/* The counts of a control group include those of its monitor groups, which follow it. */
int unc_resctrl_each(const struct unc_root *root,
		     int (*each)(void *context, const char *path, const char *name), void *context)
{
	struct unc_names controls = {0};
	int err = unc_root_list(root, TOP, &controls);

	for (size_t i = 0; err == 0 && i <= controls.count; i++) {
		const char *name = i ? controls.items[i - 1] : "";
		const char *path = UNC_PATH(TOP "%s%s", i ? "/" : "", name);

		if (!unc_root_exists(root, UNC_PATH("%s/mon_data", path)))
			continue;
		err = each(context, path, name);
		if (err == 0)
			err = each_below(root, path, name, each, context);
	}
	unc_names_finish(&controls);
	return err;
}

/* Whether the CPU can monitor its cache, by the flags in /proc/cpuinfo; false, too, if they are not
 * known. */
static bool has_flags(const struct unc_root *root, bool *known)
{
	char *cpuinfo = NULL;
	const char *flags = NULL;
	size_t len;
	bool has = false;

	if (unc_root_read_bytes(root, "proc/cpuinfo", UNC_FIRST_CPU, &cpuinfo, &len) == 0)
		flags = unc_find_value(cpuinfo, "flags", &len);
	*known = flags && unc_has_word(flags, "fpu"); /* a snapshot may have only some */
	has = flags &&
	      (unc_has_word(flags, "cqm_mbm_total") || unc_has_word(flags, "cqm_occup_llc"));
	free(cpuinfo);
	return has;
}

int unc_resctrl_check(const struct unc_root *root, struct unc_error *e)
{
	struct unc_names names = {0};
	bool known, has = has_flags(root, &known), empty;

	if (unc_root_exists(root, TOP "/mon_data"))
		return 0;
	empty = unc_root_list(root, TOP, &names) < 0 || !names.count;
	unc_names_finish(&names);
	if (!empty)
		return unc_fail(e, ENODEV, "%s",
				"resctrl has no mon_data here: the CPU cannot monitor, or the "
				"kernel was booted without it (rdt=!mbmtotal)");
	if (known && !has && !unc_root_exists(root, TOP))
		return unc_fail(e, EOPNOTSUPP, "%s",
				"this CPU cannot monitor its L3 cache (no flag cqm_mbm_total or "
				"cqm_occup_llc in /proc/cpuinfo), or the hypervisor does not let a "
				"virtual machine do so");
	return unc_fail(e, ENODEV, "%s",
			"resctrl is not mounted. As root: " UNC_RESCTRL_MOUNT "; that needs a CPU "
			"with monitoring of its L3 cache (flags cqm_occup_llc, cqm_mbm_total in "
			"/proc/cpuinfo) and a kernel with CONFIG_X86_CPU_RESCTRL or "
			"CONFIG_ARM64_MPAM");
}

static int add_all(struct scan *s)
{
	const struct unc_topology *t = s->topology;
	struct unc_names names = {0};
	int r = unc_root_list(s->root, TOP, &names);

	if (r == -ENOMEM || !(s->caches = calloc(t->cpu_count, sizeof(*s->caches))))
		r = unc_nomem(s->e);
	else if (r < 0 && r != -ENOENT)
		r = unc_fail(s->e, -r, "/" TOP " cannot be read: %s", unc_errno_text(r));
	else
		r = unc_resctrl_check(s->root, s->e);
	unc_names_finish(&names);
	if (r < 0)
		return r;
	for (size_t i = 0; i < t->cpu_count; i++)
		s->caches[i] =
			!t->cpus[i].online
				? -1
				: unc_root_read_int(s->root,
						    UNC_PATH(CPU_DIR "/cpu%d/cache/index3/id",
							     t->cpus[i].id),
						    INT_MAX, -1);
	r = unc_resctrl_each(s->root, add_group, s);
	return r < 0 ? unc_resctrl_unreadable(s->e, r) : 0;
}

int unc_resctrl_scan(const struct unc_root *root, const struct unc_topology *topology,
		     struct unc_slot *slots, size_t slot_count, struct unc_pmus *out,
		     struct unc_error *e)
{
	struct scan s = {.root = root,
			 .topology = topology,
			 .slots = slots,
			 .slot_count = slot_count,
			 .e = e};
	int r = add_all(&s);

	free(s.caches);
	if (r == 0 && unc_pmus_join(out, &s.pmus) < 0)
		r = unc_nomem(e);
	unc_pmus_finish(&s.pmus);
	return r;
}

/* ---- counting ---- */

/* What a reading found. The kernel's count of a control group is the sum of those of its monitor
 * groups that have a number (linux fs/resctrl/monitor.c, mon_event_count()). UNREAD: it was refused
 * at the start. */
enum state { HAS_NUMBER, UNREAD, HAS_WORD, REMOVED };

struct counter {
	int fd; /* -1: its group or its cache does not exist */
	const char *directory, *file;
	const struct unc_slot *slot; /* of a group of this process; NULL: of another one */
	enum state state, before;    /* at the latest reading, and at the end of that before */
	/* The first counter of the same file of its control group, which may be itself; SIZE_MAX:
	 * that is not counted. */
	size_t control;
	bool is_part; /* of a monitor group */
	/* In that first counter, at the latest reading: */
	bool lacks;   /* a monitor group has no number */
	bool changed; /* one had none before, or has none now */
};

struct resctrl_source {
	struct unc_source base;            /* must be the first member: the pointer is cast */
	const struct uncore_counter *plan; /* borrowed from open to close */
	struct counter *counters; /* of the plan, then of other monitor groups of its groups */
	size_t count, all;
	struct unc_names directories; /* of the others */
};

/* Words that a file may contain instead of a number. */
static const struct {
	const char *text, *why;
} words[] = {
	{"Unavailable", "resctrl has 'Unavailable' there: the hardware has no count yet, or counts "
			"another group instead"},
	{"Unassigned", "resctrl has 'Unassigned' there: no counter of the hardware is assigned to "
		       "the group (info/L3_MON/mbm_assign_mode)"},
	{"Error", "resctrl has 'Error' there: the hardware reports one"},
};

/* Returns a descriptor or a negative errno. */
static int open_file(const struct resctrl_source *s, const struct counter *c)
{
	const char *path = UNC_PATH("%s/%s", c->directory, c->file);
	const char *below = c->slot ? strstr(path, "/mon_data/") : NULL;

	if (!below)
		return unc_root_open_file(s->base.root, path, O_RDONLY);
	/* Another program may have made a group of that name. */
	return unc_root_open_below(c->slot->dir, below + 1, O_RDONLY);
}

/* Reads the file from its beginning. NULL: the group or its cache was removed, and the file is
 * closed. */
static char *read_text(const struct resctrl_source *s, struct counter *c, char *into, size_t room)
{
	struct stat st;
	ssize_t got;

	if (c->fd < 0)
		c->fd = open_file(s, c);
	if (c->fd < 0)
		return NULL;
	do
		got = pread(c->fd, into, room - 1, 0);
	while (got < 0 && errno == EINTR);
	/* A file of the kernel is deleted with its group; a plain file can still be read then. */
	if (got < 0 || fstat(c->fd, &st) < 0 || !st.st_nlink) {
		close(c->fd);
		c->fd = -1;
		return NULL;
	}
	into[got] = '\0';
	return unc_trim(into);
}

static enum state state_of(const char *text, uint64_t *number)
{
	return !text ? REMOVED : unc_parse_u64(text, number) < 0 ? HAS_WORD : HAS_NUMBER;
}

/* After a word instead of a number, or with a new group, the count restarts. This reading is lost,
 * and so is the next interval, which begins with it. */
static void read_counter(struct resctrl_source *s, size_t i, struct uncore_reading *into)
{
	struct counter *c = &s->counters[i];
	const struct unc_slot *slot = c->slot;
	uint64_t begin_ns = unc_now_ns();
	char text[64], *at;

	*into = (struct uncore_reading){.lost = true};
	c->state = UNREAD;
	if (s->plan[i].error < 0)
		return;
	at = read_text(s, c, text, sizeof(text));
	c->state = state_of(at, &into->raw);
	/* Its base is read when it gets tasks. */
	if (slot && !*slot->next)
		into->why = "the group had no tasks";
	else if (slot && slot->denied && slot->denied == slot->wanted)
		into->why = "none of its tasks may be moved into a group: only root moves "
			    "those of other users";
	if (into->why)
		return;
	into->took_ns = into->uncertain_ns = unc_now_ns() - begin_ns;
	into->at_ns = begin_ns + into->took_ns / 2;
	into->enabled_ns = into->running_ns = into->at_ns - s->base.since_ns;
	if (!at) {
		into->why = "its group was removed, or the cache has no CPU online";
		return;
	}
	into->lost = c->state == HAS_WORD;
	into->why = into->lost ? "resctrl has no whole number there" : NULL;
	for (size_t w = 0; into->lost && w < sizeof(words) / sizeof(*words); w++)
		if (strcmp(at, words[w].text) == 0)
			into->why = words[w].why;
}

static int refuse(struct resctrl_source *s, struct uncore_counter *c, const char *file, int err)
{
	const char *directory = c->pmu->directory;
	struct unc_error why;

	unc_fail(&why, -err, "/%s/%s cannot be read: %s", directory, file, unc_errno_text(err));
	if (err == -EINVAL && strncmp(file, "mbm", 3) == 0)
		unc_error_append(&why, ". On Arm (MPAM) Linux counts llc_occupancy only");
	else if (err == -ENOENT && unc_root_exists(s->base.root, directory))
		unc_error_append(&why, ". A snapshot has no counts");
	return unc_counter_refuse(c, err, why.text, NULL);
}

static int open_counter(struct resctrl_source *s, size_t i, struct uncore_counter *c)
{
	char text[64];
	size_t event = 0;
	int err = 0;

	while (event < EVENTS && events[event].number != c->config[0])
		event++;
	s->counters[i] = (struct counter){.fd = -1,
					  .slot = c->pmu->slot,
					  .directory = c->pmu->directory,
					  .file = event < EVENTS ? events[event].file : "event"};
	c->width = 64;
	c->most_per_s = MOST_BYTES_PER_S;
	if (event < EVENTS)
		s->counters[i].fd = err = open_file(s, &s->counters[i]);
	else
		err = -EINVAL;
	if (err >= 0)
		err = pread(err, text, sizeof(text), 0) < 0 ? -errno : 0;
	if (err == 0)
		return 0;
	if (err == -EMFILE || err == -ENFILE || err == -ENOMEM)
		return err;
	return refuse(s, c, s->counters[i].file, err);
}

/* Whether `role` is that of a monitor group: "/db" in the default group "/", "web/db" in "web". */
static bool is_part(const char *role)
{
	const char *slash = strchr(role, '/');

	return slash && slash[1];
}

/* Whether a control group has the role of the other group, or contains it. */
static bool is_control_of(const char *control, const char *role)
{
	size_t len = strcmp(control, "/") == 0 ? 0 : strlen(control);

	return !is_part(control) && strncmp(role, control, len) == 0 &&
	       (role[len] == '/' || !role[len]);
}

/* Finds the control group of each counter. */
static void link_counters(struct resctrl_source *s)
{
	for (size_t i = 0; i < s->count; i++) {
		const struct uncore_pmu *pmu = s->plan[i].pmu;
		struct counter *c = &s->counters[i];
		size_t k = 0;

		while (k < s->count && (s->counters[k].file != c->file ||
					strcmp(s->plan[k].pmu->identifier, pmu->identifier) != 0 ||
					!is_control_of(s->plan[k].pmu->role, pmu->role)))
			k++;
		c->is_part = is_part(pmu->role);
		c->control = k < s->count ? k : SIZE_MAX;
	}
}

/* Adds the monitor groups of a counted control group that are not counted themselves. A group that
 * is made later begins at 0. */
static int add_others(struct resctrl_source *s, size_t control)
{
	const struct counter *c = &s->counters[control];
	const char *data = strstr(c->directory, "/mon_data/");
	const char *below = UNC_PATH("%.*s/mon_groups", (int)(data - c->directory), c->directory);
	struct unc_names names = {0};
	int r = unc_root_list(s->base.root, below, &names) == -ENOMEM ? -ENOMEM : 0;

	for (size_t i = 0; r == 0 && i < names.count; i++) {
		struct counter other = {
			.fd = -1, .file = c->file, .control = control, .is_part = true};
		size_t k = 0;

		other.directory = UNC_PATH("%s/%s%s", below, names.items[i], data);
		while (k < s->count && (s->counters[k].file != c->file ||
					strcmp(s->counters[k].directory, other.directory) != 0))
			k++;
		if (k < s->count)
			continue;
		other.directory = unc_names_take(&s->directories, strdup(other.directory));
		r = other.directory ? UNC_ADD(&s->counters, &s->all, &other) : -ENOMEM;
		c = &s->counters[control];
	}
	unc_names_finish(&names);
	return r;
}

static int resctrl_open(struct unc_source *source, struct uncore_counter *counters, size_t count,
			struct unc_names *notes, struct unc_error *e)
{
	const struct counter none = {.fd = -1};
	struct resctrl_source *s = (struct resctrl_source *)source;
	int r;

	(void)notes;
	s->plan = counters;
	while (s->count < count) {
		if (UNC_ADD(&s->counters, &s->all, &none) < 0)
			return unc_nomem(e);
		r = open_counter(s, s->count, &counters[s->count]);
		s->count++;
		if (r == -ENOMEM)
			return unc_nomem(e);
		if (r < 0)
			return unc_fail(
				e, -r,
				"out of file descriptors: each count takes one, and %zu are "
				"planned. Allow more with ulimit -n, or count less",
				count);
	}
	link_counters(s);
	for (size_t i = 0; i < count; i++)
		if (counters[i].error >= 0 && !s->counters[i].is_part &&
		    s->counters[i].control == i && add_others(s, i) < 0)
			return unc_nomem(e);
	return 0;
}

/* The interval that this reading ends was that of the tasks which the group got before it. */
static void end_interval(struct unc_slot *slot)
{
	memcpy(slot->label, slot->next, strlen(slot->next) + 1);
	slot->changed = false;
	slot->mixed = slot->since_ns && unc_now_ns() - slot->since_ns < UNC_SLOT_MIXED_NS;
}

/* What is in the count of a control group changes with its monitor groups: it has no value between
 * a reading with a group's count and one without it. */
static void compare_parts(struct resctrl_source *s, struct uncore_reading *into)
{
	for (size_t i = 0; i < s->count; i++)
		s->counters[i].lacks = s->counters[i].changed = false;
	for (size_t i = 0; i < s->all; i++) {
		struct counter *c = &s->counters[i];
		struct counter *control =
			c->is_part && c->control != SIZE_MAX ? &s->counters[c->control] : NULL;

		if (!control)
			continue;
		control->lacks |= c->state == HAS_WORD;
		/* A group that is made again begins at 0. */
		control->changed |=
			c->before != REMOVED && (c->state < HAS_WORD) != (c->before < HAS_WORD);
		c->before = c->state;
	}
	for (size_t i = 0; i < s->count; i++) {
		const struct counter *c = &s->counters[i];
		const struct counter *control =
			!c->is_part && c->control != SIZE_MAX ? &s->counters[c->control] : NULL;

		if (!control || into[i].lost)
			continue;
		if (control->changed && !s->plan[i].snapshot) {
			into[i].wrapped = true;
			into[i].why = "a monitor group below it was removed, or it got or lost its "
				      "count, which the kernel adds";
		} else if (control->lacks) {
			into[i].incomplete = true;
			into[i].why = "the kernel leaves out monitor groups below it that have a "
				      "word ('Unavailable', 'Unassigned') instead of a count";
		}
	}
}

static int resctrl_read(struct unc_source *source, struct uncore_reading *into, uint64_t *now_ns,
			struct unc_error *e)
{
	struct resctrl_source *s = (struct resctrl_source *)source;
	uint64_t begin_ns = unc_now_ns(), number;
	char text[64];

	(void)e;
	for (size_t i = 0; i < s->count; i++)
		read_counter(s, i, &into[i]);
	for (size_t i = s->count; i < s->all; i++)
		s->counters[i].state =
			state_of(read_text(s, &s->counters[i], text, sizeof(text)), &number);
	compare_parts(s, into);
	for (size_t i = 0; i < s->count; i++)
		if (s->plan[i].pmu->slot)
			end_interval(s->plan[i].pmu->slot);
	*now_ns = begin_ns + (unc_now_ns() - begin_ns) / 2;
	return 0;
}

static void resctrl_read_one(struct unc_source *source, size_t i, struct uncore_reading *into)
{
	read_counter((struct resctrl_source *)source, i, into);
}

static void resctrl_close(struct unc_source *source)
{
	struct resctrl_source *s = (struct resctrl_source *)source;

	for (size_t i = 0; i < s->all; i++)
		if (s->counters[i].fd >= 0)
			close(s->counters[i].fd);
	unc_names_finish(&s->directories);
	free(s->counters);
	free(s);
}

const struct unc_source_ops unc_source_resctrl = {
	.size = sizeof(struct resctrl_source),
	.open = resctrl_open,
	.read = resctrl_read,
	.read_one = resctrl_read_one,
	.close = resctrl_close,
};

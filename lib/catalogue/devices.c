/* SPDX-License-Identifier: MIT */
/* Finds devices that count themselves, by the rules of their families: disks, network cards, GPUs.
 * Each is a PMU. */
#include "catalogue/catalogue.h"

struct finder {
	const struct unc_root *root;
	const struct unc_topology *topology;
	struct unc_error *e;
	struct unc_pmus *pmus;
	const struct unc_family *family;
	const struct unc_device_rule *rule;
	bool driverless;      /* devices are wanted that lack the driver of the rule */
	const char *found[2]; /* the names of the directories that globs have found */
	size_t count;         /* the devices of the rule */
};

/* Where a device is; "": nowhere, or not known. */
struct position {
	char function[16]; /* its PCI function */
	char port[16];     /* the root port above, or the function itself on a root bus */
};

/* The last PCI function in the text of a link, "../pci0000:16/0000:16:01.0/0000:17:00.0/net/eth0",
 * and the first one below the root bus. */
static void take_function(const char *link, struct position *into)
{
	bool is_first = false;

	for (const char *at = link; *at; at += strcspn(at, "/"), at += *at == '/') {
		char part[16];
		uint64_t address;
		size_t n = strcspn(at, "/");

		if (n >= sizeof(part))
			continue;
		memcpy(part, at, n);
		part[n] = '\0';
		if (unc_pci_parse(part, &address)) {
			memcpy(into->function, part, n + 1);
			if (is_first)
				memcpy(into->port, part, n + 1);
			is_first = false;
		} else if (strncmp(part, "pci", 3) == 0 && strchr(part, ':')) {
			is_first = true;
		}
	}
}

/* The PCI function of a directory: the last one in the links that lead to it. The directories
 * before the first glob of the rule are the kernel's, and no links. */
static struct position find_function(const struct finder *f, const char *directory)
{
	struct position found = {0};
	const char *rule = f->rule->directories;
	size_t at = strcspn(rule, "*?[");

	if (!rule[at])
		at = 0;
	do {
		char *link = NULL;

		at += strcspn(directory + at, "/");
		if (unc_root_link(f->root, UNC_PATH("%.*s", (int)at, directory), &link) == 0)
			take_function(link, &found);
		free(link);
	} while (directory[at++] == '/');
	return found;
}

/* Adds the name of a directory. Characters that a PMU's name cannot have in an event are
 * replaced. */
static void add_name(struct unc_text *to, const char *name)
{
	for (; *name; name++)
		unc_text_add(to, "%c",
			     *name > ' ' && *name <= '~' && !strchr(",{}'=*?[]\\", *name) ? *name
											  : '_');
}

/* Fills the words of the rule's name. */
static char *name_of(const struct finder *f)
{
	struct unc_text name = {0};

	for (const char *at = f->rule->name; *at; at++) {
		if (at[0] != '{' || !strchr("12n", at[1]) || at[2] != '}') {
			unc_text_add(&name, "%c", *at);
			continue;
		}
		if (at[1] == 'n')
			unc_text_add(&name, "%zu", f->count);
		else if (f->found[at[1] - '1'])
			add_name(&name, f->found[at[1] - '1']);
		at += 2;
	}
	return unc_text_take(&name);
}

/* Why a device cannot be counted; NULL: it can. What is absent on the whole machine is not known:
 * snapshots of older versions do not have it. */
static const char *find_obstacle(const struct finder *f, const struct position *at)
{
	const struct unc_family *family = f->family;

	if (family->not_in_guests && f->topology->guest[0])
		return family->not_in_guests;
	for (size_t i = 0; i < family->need_count; i++) {
		const char *path = family->needs[i].name, *word = strstr(path, "{port}");
		int before = word ? (int)(word - path) : 0;

		if (word && (!*at->port || strcmp(at->port, at->function) == 0 ||
			     !unc_root_exists(f->root, UNC_PATH("%.*s", before, path))))
			continue;
		if (!unc_root_exists(f->root, word ? UNC_PATH("%.*s%s%s", before, path, at->port,
							      word + strlen("{port}"))
						   : path))
			return family->needs[i].text;
	}
	return NULL;
}

/* The number in the directory's name, or the first one in the text of its file. False: none. */
static bool find_number(const struct finder *f, const char *directory, const char *rule,
			const char *word, uint64_t *number)
{
	const char *name = strrchr(directory, '/');
	char *text = NULL, *at;
	bool found = false;

	if (!rule)
		return false;
	*number = UINT64_MAX;
	if (strchr(rule, '{'))
		return unc_pattern_value(rule, name ? name + 1 : directory, word, number) &&
		       *number <= INT_MAX;
	if (unc_root_read_line(f->root, UNC_PATH("%s/%s", directory, rule), &text) == 0) {
		at = text + strcspn(text, "0123456789");
		found = unc_take_digits((const char **)&at, 10, SIZE_MAX, number) > 0 &&
			*number <= INT_MAX;
	}
	free(text);
	return found;
}

/* The first CPU online of the device's package; -1: unknown, or none is online. */
static int find_package(const struct finder *f, const char *directory)
{
	const struct unc_die *die = NULL;
	uint64_t number;

	if (find_number(f, directory, f->rule->package, "package", &number))
		for (size_t i = 0; i < f->topology->cpu_count; i++) {
			const struct uncore_cpu *cpu = &f->topology->cpus[i];

			if (cpu->online && cpu->package == (int)number)
				return cpu->id;
		}
	else if (find_number(f, directory, f->rule->die, "die", &number))
		die = unc_topology_numbered_die(f->topology, (int)number);
	return die ? die->cpu : -1;
}

/* Fills a device; the caller frees one that is filled in part. -ENOMEM. */
static int fill_device(const struct finder *f, struct uncore_pmu *p, const char *directory,
		       const struct position *at)
{
	const char *obstacle = find_obstacle(f, at);
	const struct uncore_term term = {
		.name = UNC_DEVICE_TERM, .format = "config:0-63", .bits = UINT64_MAX};
	const struct uncore_term links = {.name = UNC_LINKS_TERM,
					  .format = "config1:0-63",
					  .bits = UINT64_MAX,
					  .word = UNC_LINKS_WORD};
	int node = -1, cpu = find_package(f, directory);

	p->family = f->family;
	p->root = f->root;
	p->error = f->e;
	p->source = f->family->source;
	p->layout = f->family->layout.file ? &f->family->layout : NULL;
	p->runtime_status = f->family->runtime_status;
	p->no_files = p->has_mask = true;
	p->name = name_of(f);
	p->directory = unc_names_take(&p->strings, strdup(directory));
	p->cpus.ids = calloc(1, sizeof(*p->cpus.ids));
	if (!p->name || !p->directory || !p->cpus.ids ||
	    UNC_ADD(&p->terms, &p->term_count, &term) < 0 ||
	    (f->family->links && UNC_ADD(&p->terms, &p->term_count, &links) < 0))
		return -ENOMEM;
	if (*at->function && !(p->pci = unc_names_take(&p->strings, strdup(at->function))))
		return -ENOMEM;
	if (obstacle && !(p->broken = strdup(UNC_PATH("%s: %s", p->name, obstacle))))
		return -ENOMEM;
	if (p->pci)
		node = unc_root_read_int(
			f->root, UNC_PATH("sys/bus/pci/devices/%s/numa_node", p->pci), INT_MAX, -1);
	p->node = node;
	if (cpu >= 0) {
		p->in_package = true;
		p->cpus.ids[p->cpus.count++] = cpu;
	}
	/* It is read by any CPU: the first one, if possible of its node. */
	for (int near = 1; near >= 0 && !p->cpus.count; near--)
		for (size_t i = 0; i < f->topology->cpu_count && !p->cpus.count; i++)
			if (f->topology->cpus[i].online &&
			    (!near || f->topology->cpus[i].node == node))
				p->cpus.ids[p->cpus.count++] = f->topology->cpus[i].id;
	return 0;
}

/* Whether the text of a file of the directory matches one of the globs. */
static bool has_text(const struct finder *f, const char *directory, const struct unc_word *word)
{
	char *text = NULL;
	bool has =
		unc_root_read_line(f->root, UNC_PATH("%s/%s", directory, word->name), &text) == 0 &&
		unc_globs_match(word->text, text);

	free(text);
	return has;
}

/* Whether the rule's module is there and, for a device behind PCI, is its driver: a GPU may have
 * another one, such as that for guests. */
static bool has_driver(const struct finder *f, const char *directory)
{
	const char *module = f->rule->module, *driver;
	struct position at;
	char *uevent = NULL;
	size_t len = 0;
	bool has = true;

	if (!module)
		return true;
	if (unc_root_is_live(f->root) &&
	    !unc_root_exists(f->root, UNC_PATH("sys/module/%s", module)))
		return false;
	at = find_function(f, directory);
	if (*at.function &&
	    unc_root_read_line(f->root, UNC_PATH("sys/bus/pci/devices/%s/uevent", at.function),
			       &uevent) == 0) {
		driver = unc_find_value(uevent, "DRIVER", &len);
		has = driver && len == strlen(module) && strncmp(driver, module, len) == 0;
	}
	free(uevent);
	return has;
}

/* Whether the files of the directory are those of a device of the rule. */
static bool fits(const struct finder *f, const char *directory)
{
	bool fit = !f->rule->has ||
		   unc_root_exists(f->root, UNC_PATH("%s/%s", directory, f->rule->has));

	for (size_t i = 0; fit && i < f->rule->only_count; i++)
		fit = has_text(f, directory, &f->rule->only[i]);
	for (size_t i = 0; fit && i < f->rule->not_if_count; i++)
		fit = !has_text(f, directory, &f->rule->not_if[i]);
	return fit && has_driver(f, directory) != f->driverless;
}

/* Whether the function's counts are those of a device that was found before. */
static bool has_function(const struct finder *f, const char *function)
{
	for (size_t i = 0; f->family->each_function && *function && i < f->pmus->count; i++) {
		const struct uncore_pmu *p = &f->pmus->items[i];

		if (p->family == f->family && p->pci && strcmp(p->pci, function) == 0)
			return true;
	}
	return false;
}

/* hwmon9 before hwmon10; addresses are of one length. */
static int compare_texts(const void *a, const void *b)
{
	const char *x = *(char *const *)a, *y = *(char *const *)b;
	size_t m = strlen(x), n = strlen(y);

	return m != n ? (m > n) - (m < n) : strcmp(x, y);
}

/* Adds the devices of a glob of which everything before `rest` is a directory. -ENOMEM. */
static int add_devices(struct finder *f, const char *directory, const char *rest, size_t depth)
{
	size_t plain = strcspn(rest, "*?["), begin = 0, n;
	struct unc_names names = {0};
	const char *path, *next;
	int r = 0;

	if (!rest[plain]) { /* the last part is found */
		struct position at;
		struct uncore_pmu *p;

		path = UNC_PATH("%s%s", directory, rest);
		if (!fits(f, path))
			return 0;
		at = find_function(f, path);
		if (has_function(f, at.function))
			return 0;
		p = unc_append(&f->pmus->items, &f->pmus->count, sizeof(*p));
		r = p ? fill_device(f, p, path, &at) : -ENOMEM;
		f->count++;
		return r;
	}
	for (size_t i = 0; i < plain; i++)
		begin = rest[i] == '/' ? i + 1 : begin;
	n = strcspn(rest + begin, "/");
	next = rest + begin + n;
	path = UNC_PATH("%s%.*s", directory, (int)begin, rest);
	r = unc_root_list(f->root, path, &names) == -ENOMEM ? -ENOMEM : 0;
	/* Devices are numbered by their addresses, which are hexadecimal: 4b comes after 27. */
	if (names.count && strstr(f->rule->name, "{n}"))
		qsort(names.items, names.count, sizeof(*names.items), compare_texts);
	for (size_t i = 0; r == 0 && i < names.count; i++) {
		if (!unc_glob_matches(UNC_PATH("%.*s", (int)n, rest + begin), names.items[i]) ||
		    unc_globs_match(f->rule->except, names.items[i]))
			continue;
		if (depth < 2)
			f->found[depth] = names.items[i];
		r = add_devices(f, UNC_PATH("%s%s", path, names.items[i]), next, depth + 1);
	}
	unc_names_finish(&names);
	return r;
}

/* Whether some directory of a rule may exist. A rule with a module begins with its name and a
 * colon. */
static bool may_have(const struct unc_index *index, void *context)
{
	const struct unc_root *root = context;
	char rule[264], *glob, *name;
	int n;

	for (const char *at = index->devices; sscanf(at, "%263s%n", rule, &n) == 1; at += n) {
		glob = strrchr(rule, ':');
		if (glob)
			*glob++ = '\0';
		if (glob && unc_root_is_live(root) &&
		    !unc_root_exists(root, UNC_PATH("sys/module/%s", rule)))
			continue;
		glob = glob ? glob : rule;
		glob[strcspn(glob, "*?[")] = '\0';
		name = strrchr(glob, '/');
		name = name ? name : glob;
		*name = '\0';
		if (unc_root_exists(root, glob))
			return true;
	}
	return false;
}

static bool has_name(const struct unc_pmus *pmus, size_t count, const char *name)
{
	for (size_t i = 0; i < count; i++)
		if (strcmp(pmus->items[i].name, name) == 0)
			return true;
	return false;
}

/* Names are unique: an interface may have the name of a PMU. -ENOMEM. */
static int name_apart(const struct unc_pmus *pmus, size_t count, struct uncore_pmu *device)
{
	char *plain = device->name;

	for (unsigned i = 1; has_name(pmus, count, device->name); i++) {
		struct unc_text name = {0};

		unc_text_add(&name, "%s_%s", device->family->name, plain);
		if (i > 1)
			unc_text_add(&name, "_%u", i);
		if (device->name != plain)
			free(device->name);
		device->name = unc_text_take(&name);
		if (!device->name) {
			device->name = plain;
			return -ENOMEM;
		}
	}
	if (device->name != plain)
		free(plain);
	return 0;
}

int unc_devices_find(struct unc_catalogue *c, struct unc_pmus *pmus, const struct unc_root *root,
		     const struct unc_topology *topology, struct unc_error *e)
{
	struct unc_pmus devices = {0};
	struct finder f = {.root = root, .topology = topology, .e = e, .pmus = &devices};
	int r = unc_catalogue_add_built_in(c, may_have, (void *)root, e);

	for (size_t i = 0; r == 0 && i < c->family_count; i++) {
		f.family = c->families[i];
		f.count = 0;
		for (size_t k = 0; r == 0 && k < f.family->device_count; k++) {
			f.rule = &f.family->devices[k];
			if (add_devices(&f, "", f.rule->directories, 0) < 0)
				r = unc_nomem(e);
		}
	}
	for (size_t i = 0; r == 0 && i < devices.count; i++)
		if (name_apart(pmus, pmus->count, &devices.items[i]) < 0 ||
		    name_apart(&devices, i, &devices.items[i]) < 0)
			r = unc_nomem(e);
	if (r == 0 && devices.count && unc_pmus_join(pmus, &devices) < 0)
		r = unc_nomem(e);
	unc_pmus_finish(&devices);
	return r;
}

int unc_devices_find_driverless(const struct unc_family *family, struct unc_pmus *into,
				const struct unc_root *root, const struct unc_topology *topology,
				struct unc_error *e)
{
	struct finder f = {.root = root,
			   .topology = topology,
			   .e = e,
			   .pmus = into,
			   .family = family,
			   .driverless = true};
	int r = 0;

	for (size_t k = 0; r == 0 && k < family->device_count; k++) {
		f.rule = &family->devices[k];
		if (f.rule->module && add_devices(&f, "", f.rule->directories, 0) < 0)
			r = unc_nomem(e);
	}
	return r;
}

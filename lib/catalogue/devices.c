/* SPDX-License-Identifier: MIT */
/* Families of devices that count themselves: disks, network cards, GPUs. Data files say how the
 * devices are found and where they have their counts; each device is a PMU. */
#include "catalogue/catalogue.h"

/* A term of 64 bits, whose value is a hash of the event's name: recordings have it, too. */
#define TERM "event"

/* ---- data files ---- */

#define RULE(member) UNC_AT(struct unc_device_rule, member)
#define READ(member) UNC_AT(struct unc_device_read, member)
#define LAYOUT(member) UNC_AT(struct unc_device_layout, member)
#define EVENT(member) UNC_AT(struct unc_event_def, member)

/* Checks a path below the root or a directory. */
static int check_path(const struct unc_reader *r, const struct unc_yaml *node, void *into)
{
	const char *at = node->text;

	(void)into;
	if (*at == '/' || strstr(at, "..") || strlen(at) > 200)
		return unc_reader_fail(r, node,
				       "'%s' is not a valid path: at most 200 characters, without "
				       "'..' and without a slash at its beginning",
				       at);
	return 0;
}

static const struct unc_field rule_fields[] = {
	UNC_FIELD("!directories", TEXT, RULE(directories), .check = check_path),
	UNC_FIELD("!name", TEXT, RULE(name)),
	UNC_FIELD("except", TEXT, RULE(except)),
	UNC_FIELD("only", WORDS, UNC_LIST(struct unc_device_rule, only, only_count)),
	UNC_FIELD("has", TEXT, RULE(has), .check = check_path),
	UNC_END,
};

const struct unc_shape unc_device_rule_shape = {.fields = rule_fields,
						.size = sizeof(struct unc_device_rule)};

static int finish_layout(const struct unc_reader *r, const struct unc_yaml *map, void *into)
{
	(void)r;
	((struct unc_device_layout *)into)->binary = unc_yaml_get(map, "version");
	return 0;
}

static const struct unc_field layout_fields[] = {
	UNC_FIELD("!file", TEXT, LAYOUT(file), .check = check_path),
	UNC_FIELD("version", NUMBER, LAYOUT(version), .with = "size", .most = 4094),
	UNC_FIELD("size", NUMBER, LAYOUT(size), .with = "version", .most = 4094),
	UNC_END,
};

int unc_device_layout(const struct unc_reader *r, const struct unc_yaml *node, void *into)
{
	struct unc_family *f = into;

	return unc_fill(r, node,
			UNC_SHAPE(struct unc_device_layout, layout_fields, .check = finish_layout),
			&f->layout);
}

/* Where a count is. The choices are: a file, or what NVML gives. */
static const struct unc_field read_fields[] = {
	UNC_FIELD("versions", TEXT, READ(versions)),
	UNC_FIELD("cheap", BOOL, READ(cheap)),
	UNC_FIELD("|file", TEXT, READ(file), .check = check_path),
	UNC_FIELD("line", TEXT, READ(line), .with = "file"),
	UNC_FIELD("column", NUMBER, READ(column), .with = "file", .least = 1, .most = 64),
	UNC_FIELD("bytes", NUMBER, READ(bytes), .with = "at", .least = 1, .most = 8),
	UNC_FIELD("at", NUMBER, READ(at), .with = "file", .most = 65528),
	UNC_FIELD("high", NUMBER, READ(high), .with = "at", .most = 65528),
	UNC_FIELD("attribute", NUMBER, READ(attribute), .with = "file", .most = 1023),
	UNC_FIELD("index", NUMBER, READ(index), .with = "attribute", .most = 1022),
	UNC_FIELD("|field", NUMBER, READ(field), .least = 1, .most = UINT16_MAX),
	UNC_FIELD("links", WORD, READ(all_links), .with = "field",
		  .words = (const char *const[]){"", "all", NULL}, .what = "links"),
	UNC_FIELD("|gpm", NUMBER, READ(gpm), .least = 1, .most = UINT16_MAX),
	UNC_FIELD(
		"|call", WORD, READ(call),
		.words =
			(const char *const[]){
				[UNC_NVML_NONE] = "", [UNC_NVML_MEMORY_PEAK] = "memory-peak", NULL},
		.what = "call"),
	UNC_END,
};

static int finish_read(const struct unc_reader *r, const struct unc_yaml *map, void *into)
{
	struct unc_device_read *read = into;
	const struct unc_yaml *bytes = unc_yaml_get(map, "bytes");
	bool is_file = read->file,
	     by_files = ((struct unc_family *)r->context)->source == UNC_SOURCE_FILES;

	if (is_file != by_files)
		return unc_reader_fail(r, map, "the source of this family is %s",
				       by_files ? "files, which needs 'file'"
						: "nvml, which reads no files");
	read->has_high = unc_yaml_get(map, "high");
	read->has_attribute = unc_yaml_get(map, "attribute");
	if (unc_yaml_get(map, "at") && !bytes)
		return unc_reader_fail(r, map, "the key 'bytes' is missing here");
	if (bytes && read->bytes != 1 && read->bytes != 2 && read->bytes != 4 && read->bytes != 8)
		return unc_reader_fail(r, bytes, "a number has 1, 2, 4 or 8 bytes");
	if (read->has_high && read->bytes != 4)
		return unc_reader_fail(r, map, "the halves of a number have 4 bytes each");
	if ((bytes || read->has_attribute) && (read->line || read->column))
		return unc_reader_fail(r, map, "a binary file has no lines");
	if (!read->column)
		read->column = read->line ? 2 : 1;
	return 0;
}

static const struct unc_shape read_shape = {
	.fields = read_fields, .size = sizeof(struct unc_device_read), .check = finish_read};

int unc_device_reads(const struct unc_reader *r, const struct unc_yaml *node, void *into)
{
	static const struct unc_field list =
		UNC_FIELD(NULL, LIST, UNC_LIST(struct unc_event_def, reads, read_count),
			  .of = &read_shape, .least = 1, .most = 64);
	struct unc_event_def *event = into;
	struct unc_device_read *one;
	int err;

	if (node->kind == UNC_YAML_LIST)
		return unc_fill_value(r, node, &list, event);
	one = unc_yaml_keep(r->file, calloc(1, sizeof(*one)));
	if (!one)
		return unc_nomem(r->e);
	err = unc_fill(r, node, &read_shape, one);
	event->reads = one;
	event->read_count = 1;
	return err;
}

int unc_device_event(const struct unc_reader *r, const struct unc_yaml *map, void *into)
{
	struct unc_event_def *event = into;
	struct unc_text terms = {0};

	if (((struct unc_family *)r->context)->source == UNC_SOURCE_KERNEL)
		return unc_reader_fail(r, map,
				       "only a family of devices has 'read': it needs 'source'");
	unc_text_add(&terms, TERM "=0x%llx", (unsigned long long)unc_device_code(event->name));
	event->terms = unc_yaml_keep(r->file, unc_text_take(&terms));
	return event->terms ? 0 : unc_nomem(r->e);
}

/* ---- finding devices ---- */

struct finder {
	const struct unc_root *root;
	const struct unc_topology *topology;
	struct unc_error *e;
	struct unc_pmus *pmus;
	const struct unc_family *family;
	const struct unc_device_rule *rule;
	const char *found[2]; /* the names of the directories that globs have found */
	size_t count;         /* the devices of the rule */
};

/* The last PCI function in the text of a link, "../0000:17:00.0/nvme/nvme0". */
static void take_function(const char *link, char into[static 16])
{
	for (const char *at = link; *at; at += strcspn(at, "/"), at += *at == '/') {
		char part[16];
		bool has_domain;
		uint64_t address;
		size_t n = strcspn(at, "/");

		if (n >= sizeof(part))
			continue;
		memcpy(part, at, n);
		part[n] = '\0';
		if (unc_pci_parse(part, &address, &has_domain) && has_domain)
			memcpy(into, part, n + 1);
	}
}

/* The PCI function of a directory: the last one in the links that lead to it. */
static void find_function(const struct finder *f, const char *directory, char into[static 16])
{
	for (const char *end = directory; end; end = strchr(end + 1, '/')) {
		char *link = NULL;
		size_t n = strcspn(end + 1, "/");

		if (unc_root_link(f->root,
				  UNC_PATH("%.*s", (int)((size_t)(end + 1 - directory) + n),
					   directory),
				  &link) == 0)
			take_function(link, into);
		free(link);
	}
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
		else
			unc_text_add(&name, "%s",
				     f->found[at[1] - '1'] ? f->found[at[1] - '1'] : "");
		at += 2;
	}
	return unc_text_take(&name);
}

/* Fills a device; the caller frees one that is filled in part. -ENOMEM. */
static int fill_device(const struct finder *f, struct uncore_pmu *p, const char *directory)
{
	const struct uncore_term term = {.name = TERM, .format = "config:0-63", .bits = UINT64_MAX};
	char function[16] = "";
	int node = -1;

	find_function(f, directory, function);
	p->family = f->family;
	p->root = f->root;
	p->error = f->e;
	p->source = f->family->source;
	p->layout = f->family->layout.file ? &f->family->layout : NULL;
	p->no_files = p->has_mask = true;
	p->name = name_of(f);
	p->directory = unc_names_take(&p->strings, strdup(directory));
	p->cpus.ids = calloc(1, sizeof(*p->cpus.ids));
	if (!p->name || !p->directory || !p->cpus.ids ||
	    UNC_ADD(&p->terms, &p->term_count, &term) < 0)
		return -ENOMEM;
	if (*function && !(p->pci = unc_names_take(&p->strings, strdup(function))))
		return -ENOMEM;
	if (p->pci)
		node = unc_root_read_int(
			f->root, UNC_PATH("sys/bus/pci/devices/%s/numa_node", p->pci), INT_MAX, -1);
	p->node = node;
	/* It is read by any CPU: the first one, if possible of its node. */
	for (int near = 1; near >= 0 && !p->cpus.count; near--)
		for (size_t i = 0; i < f->topology->cpu_count && !p->cpus.count; i++)
			if (f->topology->cpus[i].online &&
			    (!near || f->topology->cpus[i].node == node))
				p->cpus.ids[p->cpus.count++] = f->topology->cpus[i].id;
	return 0;
}

static bool is_excepted(const char *globs, const char *name)
{
	char glob[64];
	int n;

	for (const char *at = globs; at && sscanf(at, "%63s%n", glob, &n) == 1; at += n)
		if (unc_glob_matches(glob, name))
			return true;
	return false;
}

/* Whether the files of the directory are those of a device of the rule. */
static bool fits(const struct finder *f, const char *directory)
{
	bool fit = !f->rule->has ||
		   unc_root_exists(f->root, UNC_PATH("%s/%s", directory, f->rule->has));

	for (size_t i = 0; fit && i < f->rule->only_count; i++) {
		char *text = NULL;

		fit = unc_root_read_line(f->root,
					 UNC_PATH("%s/%s", directory, f->rule->only[i].name),
					 &text) == 0 &&
		      is_excepted(f->rule->only[i].text, text);
		free(text);
	}
	return fit;
}

/* Adds the devices of a glob of which everything before `rest` is a directory. -ENOMEM. */
static int add_devices(struct finder *f, const char *directory, const char *rest, size_t depth)
{
	size_t plain = strcspn(rest, "*?["), begin = 0, n;
	struct unc_names names = {0};
	const char *path, *next;
	int r = 0;

	if (!rest[plain]) { /* the last part is found */
		struct uncore_pmu *p;

		path = UNC_PATH("%s%s", directory, rest);
		if (!fits(f, path))
			return 0;
		p = unc_append(&f->pmus->items, &f->pmus->count, sizeof(*p));
		r = p ? fill_device(f, p, path) : -ENOMEM;
		f->count++;
		return r;
	}
	for (size_t i = 0; i < plain; i++)
		begin = rest[i] == '/' ? i + 1 : begin;
	n = strcspn(rest + begin, "/");
	next = rest + begin + n;
	path = UNC_PATH("%s%.*s", directory, (int)begin, rest);
	r = unc_root_list(f->root, path, &names) == -ENOMEM ? -ENOMEM : 0;
	for (size_t i = 0; r == 0 && i < names.count; i++) {
		if (!unc_glob_matches(UNC_PATH("%.*s", (int)n, rest + begin), names.items[i]) ||
		    is_excepted(f->rule->except, names.items[i]))
			continue;
		if (depth < 2)
			f->found[depth] = names.items[i];
		r = add_devices(f, UNC_PATH("%s%s", path, names.items[i]), next, depth + 1);
	}
	unc_names_finish(&names);
	return r;
}

static int compare_names(const void *a, const void *b)
{
	return strverscmp(((const struct uncore_pmu *)a)->name,
			  ((const struct uncore_pmu *)b)->name);
}

/* Whether some directory that the globs of a data file name may exist. */
static bool may_have(const struct unc_index *index, void *context)
{
	const struct unc_root *root = context;
	char glob[200];
	int n;

	for (const char *at = index->devices; sscanf(at, "%199s%n", glob, &n) == 1; at += n) {
		glob[strcspn(glob, "*?[")] = '\0';
		if (unc_root_exists(root, glob))
			return true;
	}
	return false;
}

/* Moves the devices to the PMUs. -ENOMEM. */
static int join(struct unc_pmus *pmus, struct unc_pmus *devices)
{
	struct uncore_pmu *all =
		reallocarray(pmus->items, pmus->count + devices->count + 1, sizeof(*all));

	if (!all)
		return -ENOMEM;
	for (size_t i = 0; i < devices->count; i++)
		all[pmus->count++] = devices->items[i];
	qsort(all, pmus->count, sizeof(*all), compare_names);
	pmus->items = all;
	free(devices->items);
	*devices = (struct unc_pmus){0};
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
	if (r == 0 && devices.count && join(pmus, &devices) < 0)
		r = unc_nomem(e);
	unc_pmus_finish(&devices);
	return r;
}

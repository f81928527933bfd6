/* SPDX-License-Identifier: MIT */
/* Filters: checks the user's words when a filter is set. split.c applies them. */
#include "count/monitor.h"

int unc_next_word(const char **at, char *word)
{
	size_t len = strcspn(*at, ",");

	if (!**at)
		return 0;
	if (!len || len >= UNC_WORD_ROOM || ((*at)[len] && !(*at)[len + 1]))
		return -EINVAL;
	memcpy(word, *at, len);
	word[len] = '\0';
	*at += len + ((*at)[len] == ',');
	return 1;
}

/* ---- GPUs at a link ---- */

int64_t unc_gpu_count(const struct uncore_pmu *pmu)
{
	const struct unc_family *f = pmu->family;
	const char *counted = f ? f->filters[UNC_FILTER_GPU].count : NULL, *at;
	struct unc_assignment a = {0};
	uint64_t count = 0;
	char *text = NULL;

	if (!counted || !f->role_attribute || unc_pmu_attribute(pmu, f->role_attribute, &text) < 0)
		return -1;
	at = text;
	if (unc_assignment_next(&at, &a) == 1 && strcmp(a.name, counted) == 0)
		unc_parse_u64(a.value, &count);
	free(text);
	return count < 64 ? (int64_t)count : -1;
}

int unc_gpus_check(const struct uncore_pmu *pmu, uint64_t gpus, int errnum, struct unc_error *e)
{
	int64_t count = unc_gpu_count(pmu);

	if (count < 0 || !(gpus >> count))
		return 0;
	unc_fail(e, errnum, "GPU %d: the link of %s has ", 63 - __builtin_clzll(gpus), pmu->name);
	if (count > 1)
		unc_error_append(e, "%lld GPUs, 0 to %lld", (long long)count, (long long)count - 1);
	else
		unc_error_append(e, count ? "one GPU, 0" : "no GPU");
	if (!count && pmu->role)
		unc_error_append(e, " at its other end, but %s", pmu->role);
	return -errnum;
}

/* ---- words of the user ---- */

/* One filter being set. */
struct setter {
	struct uncore_monitor *m;
	struct unc_error *e;
	enum unc_filter_kind kind;
	struct unc_filter_value *into;
};

static int refuse_word(const struct setter *x, const char *word, const char *expected)
{
	return unc_fail(x->e, EINVAL, "%s: '%s' is not a valid %s", unc_filter_words[x->kind].name,
			word, expected);
}

/* Lists the words of this filter, of the families on this machine or of all families. -ENOMEM. */
static int known_words(const struct setter *x, bool here, struct unc_names *words)
{
	const struct unc_catalogue *c = &x->m->machine->catalogue;
	int r = 0;

	for (size_t i = 0; i < c->family_count; i++) {
		const struct unc_filter *f = &c->families[i]->filters[x->kind];

		for (size_t k = 0; r == 0 && k < f->value_count; k++)
			if ((!here || c->families[i]->pmu_count) &&
			    !unc_names_has(words, f->values[k].name))
				r = unc_names_add(words, f->values[k].name);
	}
	return r;
}

/* Accepts a word of any family. When metrics are added, their family must have it. */
static int check_word(struct setter *x, const char *word)
{
	struct unc_names words = {0};
	int r = known_words(x, true, &words);

	if (r == 0 && !words.count)
		r = unc_catalogue_complete(&x->m->machine->catalogue, &x->m->machine->error);
	if (r == 0 && !words.count)
		r = known_words(x, false, &words);
	if (r < 0)
		r = unc_nomem(x->e);
	else if (words.count && !unc_names_has(&words, word)) {
		r = unc_fail(x->e, EINVAL, "%s: '%s' is not one of ",
			     unc_filter_words[x->kind].name, word);
		for (size_t i = 0; i < words.count; i++)
			unc_error_append(x->e, "%s%s", i ? ", " : "", words.items[i]);
	}
	unc_names_finish(&words);
	return r;
}

static int check_gpu(struct setter *x, const char *word)
{
	uint64_t number;

	if (unc_parse_u64(word, &number) < 0 || number > 63)
		return refuse_word(x, word, "number of a GPU: 0, 1 ...");
	x->into->choices[0].mask |= (uint64_t)1 << number;
	x->into->count = 1;
	return 0;
}

/* Finds the root port "SOCKET:RC:INDEX", as PMUs number it, or makes a device that represents it.
 * -EINVAL: the word is something else. -ENOMEM, or why the devices cannot be read: reading them
 * later would lose the device. */
static int find_numbered(struct uncore *u, const char *word, const struct uncore_device **out)
{
	char copy[UNC_WORD_ROOM], *rest = copy;
	uint64_t numbers[3];
	int r;

	snprintf(copy, sizeof(copy), "%s", word);
	for (size_t i = 0; i < 3; i++) {
		const char *number = strsep(&rest, ":");

		if (!number || unc_parse_u64(number, &numbers[i]) < 0)
			return -EINVAL;
	}
	if (rest || numbers[2] >= 64)
		return -EINVAL;
	r = unc_machine_pci(u);
	if (r < 0)
		return r;
	for (size_t i = 0; i < uncore_device_count(u); i++) {
		const struct uncore_device *d = uncore_device_at(u, i);

		if (d->is_port && d->rc >= 0 && (uint64_t)d->rc_socket == numbers[0] &&
		    (uint64_t)d->rc == numbers[1] && (uint64_t)d->index == numbers[2]) {
			*out = d;
			return 0;
		}
	}
	*out = unc_ports_numbered(&u->ports, numbers[0], numbers[1], numbers[2]);
	return *out ? 0 : unc_nomem(&u->error);
}

static int check_port(struct setter *x, const char *word)
{
	const struct uncore_device *d;
	int r = find_numbered(x->m->machine, word, &d);

	if (r == -EINVAL) {
		r = uncore_device_find(x->m->machine, word, &d);
		if (r < 0)
			unc_error_append(x->e, "; a root port is given by its address or as "
					       "SOCKET:RC:INDEX");
	}
	if (r < 0)
		return r;
	if (!d->is_port)
		return unc_fail(x->e, EINVAL,
				"%s is not a root port, but below %s: use the filter 'device'",
				d->address, d->port ? d->port->address : "none");
	x->into->choices[x->into->count++].device = d;
	return 0;
}

static int refuse_more(const struct setter *x)
{
	return unc_fail(x->e, EINVAL, "%s: more than %d are given", unc_filter_words[x->kind].name,
			UNC_FILTER_CHOICES);
}

/* Classes of devices that have a word: the first bits of their class code. */
static const struct device_class {
	const char *word;
	unsigned code, shift;
} device_classes[] = {
	{"gpu", 0x03, 16},   /* display controllers */
	{"gpu", 0x12, 16},   /* processing accelerators */
	{"nic", 0x02, 16},   /* network controllers */
	{"nvme", 0x0108, 8}, /* storage controllers for non-volatile memory */
};

#define DEVICE_CLASSES (sizeof(device_classes) / sizeof(*device_classes))

static bool is_class_word(const char *word)
{
	for (size_t i = 0; i < DEVICE_CLASSES; i++)
		if (strcmp(device_classes[i].word, word) == 0)
			return true;
	return false;
}

/* "8086:1592" */
static bool is_vendor_and_device(const char *word)
{
	return strlen(word) == 9 && word[4] == ':' && strspn(word, "0123456789abcdefABCDEF") == 4 &&
	       strspn(word + 5, "0123456789abcdefABCDEF") == 4;
}

/* Whether the word, which may mean several devices, means this one: a word for its class, or a
 * pattern of its address, a name, that of a PMU that counts it, or its vendor and device. */
static bool means_device(const struct uncore *u, const char *word, const struct uncore_device *d)
{
	char text[64];
	bool found = false;
	int n;

	for (size_t i = 0; i < DEVICE_CLASSES; i++)
		found |= strcmp(device_classes[i].word, word) == 0 &&
			 d->class_code >> device_classes[i].shift == device_classes[i].code;
	snprintf(text, sizeof(text), "%04x:%04x", d->vendor, d->device);
	found |= unc_glob_matches(word, d->address) || unc_glob_matches(word, text);
	for (const char *at = d->names; at && sscanf(at, "%63s%n", text, &n) == 1; at += n)
		found |= unc_glob_matches(word, text);
	for (size_t i = 0; i < u->pmus.count; i++)
		found |= u->pmus.items[i].pci && strcmp(u->pmus.items[i].pci, d->address) == 0 &&
			 unc_glob_matches(word, u->pmus.items[i].name);
	return found && !d->is_bridge;
}

/* Whether the device counts itself, or one below it does. */
static bool counts_itself(struct uncore *u, const struct uncore_device *device)
{
	for (size_t i = 0; i < u->pmus.count; i++) {
		const struct uncore_pmu *pmu = &u->pmus.items[i];
		const struct uncore_device *d = NULL;

		if (unc_pmu_is_device(pmu) && pmu->pci)
			uncore_device_find(u, pmu->pci, &d);
		for (; d; d = d->parent)
			if (d == device)
				return true;
	}
	return false;
}

static int add_device(struct setter *x, const struct uncore_device *d)
{
	for (size_t i = 0; i < x->into->count; i++)
		if (x->into->choices[i].device == d)
			return 0;
	if (x->into->count == UNC_FILTER_CHOICES)
		return refuse_more(x);
	x->into->choices[x->into->count++].device = d;
	return 0;
}

/* Adds devices that count themselves under such names and have no PCI function. */
static int add_others(struct setter *x, const char *word)
{
	static const struct unc_device nowhere;
	const struct unc_pmus *pmus = &x->m->machine->pmus;

	for (size_t i = 0; i < pmus->count; i++) {
		const struct uncore_pmu *pmu = &pmus->items[i];

		if (!uncore_pmu_is_device(pmu) || pmu->pci || !unc_glob_matches(word, pmu->name))
			continue;
		if (x->into->count == UNC_FILTER_CHOICES)
			return refuse_more(x);
		x->into->choices[x->into->count++] =
			(struct unc_filter_choice){.device = &nowhere.shown, .pmu = pmu};
	}
	return 0;
}

static int refuse_device(const struct setter *x, const struct uncore_device *d)
{
	return unc_fail(x->e, ENODEV,
			"%s is below no root port: what it moves is not counted by port",
			d->address);
}

/* Adds all devices that the word means and something here may count. */
static int check_devices(struct setter *x, const char *word)
{
	struct uncore *u = x->m->machine;
	const struct uncore_device *uncounted = NULL;
	size_t before = x->into->count;
	int r = unc_machine_pci(u);

	for (size_t i = 0; r == 0 && i < uncore_device_count(u); i++) {
		const struct uncore_device *d = uncore_device_at(u, i);

		if (!means_device(u, word, d))
			continue;
		if (d->port || counts_itself(u, d))
			r = add_device(x, d);
		else
			uncounted = d;
	}
	if (r == 0)
		r = add_others(x, word);
	if (r < 0 || x->into->count > before)
		return r;
	if (uncounted)
		return refuse_device(x, uncounted);
	unc_fail(x->e, ENODEV,
		 "device: this machine has no PCI device '%s'; 'uncore topo' shows its devices",
		 word);
	unc_machine_list_counting(u);
	return -ENODEV;
}

static int check_device(struct setter *x, const char *word)
{
	const struct uncore_device *d;
	size_t before = x->into->count;
	int r;

	if (is_class_word(word) || is_vendor_and_device(word) || strpbrk(word, "*?["))
		return check_devices(x, word);
	r = add_others(x, word);
	if (r < 0 || x->into->count > before)
		return r;
	r = uncore_device_find(x->m->machine, word, &d);
	if (r < 0)
		return r;
	return d->port || counts_itself(x->m->machine, d) ? add_device(x, d) : refuse_device(x, d);
}

/* ---- places ---- */

static bool has_socket(const struct unc_topology *t, uint64_t socket)
{
	bool found = false;

	for (size_t i = 0; i < t->socket_count; i++)
		found |= (uint64_t)t->sockets[i] == socket;
	for (size_t i = 0; i < t->offline_count; i++)
		found |= t->offline[i].socket >= 0 && (uint64_t)t->offline[i].socket == socket;
	return found;
}

static bool has_node(const struct unc_topology *t, uint64_t node)
{
	bool found = false;

	for (size_t i = 0; i < t->cpu_count; i++)
		found |= t->cpus[i].node >= 0 && (uint64_t)t->cpus[i].node == node;
	return found;
}

/* Refuses the number with a list of those of this machine. */
static int refuse_place(const struct setter *x, const char *word,
			bool (*has)(const struct unc_topology *t, uint64_t number))
{
	const char *name = unc_filter_words[x->kind].name;
	bool any = false;

	unc_fail(x->e, EINVAL, "%s: '%s' is not the number of a %s with CPUs here: ", name, word,
		 x->kind == UNC_FILTER_NODE ? "NUMA node" : "socket");
	for (uint64_t i = 0; i < 1024; i++) {
		if (!has(&x->m->machine->topology, i))
			continue;
		unc_error_append(x->e, "%s%d", any ? ", " : "", (int)i);
		any = true;
	}
	unc_error_append(x->e, "%s", any ? "" : "none is known");
	return -EINVAL;
}

static int check_socket(struct setter *x, const char *word)
{
	uint64_t number;

	if (unc_parse_u64(word, &number) < 0 || number > 63 ||
	    !has_socket(&x->m->machine->topology, number))
		return refuse_place(x, word, has_socket);
	x->into->choices[0].mask |= (uint64_t)1 << number;
	x->into->count = 1;
	return 0;
}

static int check_node(struct setter *x, const char *word)
{
	uint64_t number;

	if (unc_parse_u64(word, &number) < 0 || !has_node(&x->m->machine->topology, number))
		return refuse_place(x, word, has_node);
	x->into->choices[x->into->count++].base = number;
	return 0;
}

/* "4096", "64K", "1G": K, M, G, T are powers of 1024. */
static int parse_size(const char *text, uint64_t *out)
{
	static const char units[] = "KMGT";
	char digits[UNC_WORD_ROOM];
	size_t len = strlen(text);
	const char *unit = len ? strchr(units, text[len - 1]) : NULL;
	unsigned shift = unit ? 10 * (unsigned)(unit - units + 1) : 0;

	snprintf(digits, sizeof(digits), "%s", text);
	if (unit)
		digits[len - 1] = '\0';
	if (unc_parse_u64(digits, out) < 0 || (*out << shift) >> shift != *out)
		return -EINVAL;
	*out <<= shift;
	return 0;
}

static int check_range(struct setter *x, const char *word)
{
	struct unc_filter_choice *range = &x->into->choices[x->into->count];
	char copy[UNC_WORD_ROOM], *size_text = copy;
	const char *base_text;
	uint64_t base, size;

	snprintf(copy, sizeof(copy), "%s", word);
	base_text = strsep(&size_text, "/");
	if (!size_text || unc_parse_u64(base_text, &base) < 0 || parse_size(size_text, &size) < 0)
		return refuse_word(x, word,
				   "range of addresses, BASE/SIZE, such as 0x4000000000/64K");
	if (!size || size & (size - 1) || base & (size - 1))
		return refuse_word(
			x, word,
			"range that the hardware can match: its size must be a power of two, "
			"and its base a multiple of the size");
	*range = (struct unc_filter_choice){.base = base, .mask = ~(size - 1)};
	for (const struct unc_filter_choice *other = x->into->choices; other < range; other++)
		if (!((other->base ^ base) & other->mask & range->mask))
			return refuse_word(
				x, word,
				"range of its own: it overlaps another, and would be counted "
				"twice");
	x->into->count++;
	return 0;
}

bool uncore_filter_is_of_places(const char *kind)
{
	return strcmp(kind, unc_filter_words[UNC_FILTER_SOCKET].name) == 0 ||
	       strcmp(kind, unc_filter_words[UNC_FILTER_NODE].name) == 0;
}

/* ---- setting them ---- */

static int (*const checks[])(struct setter *x, const char *word) = {
	[UNC_FILTER_FROM] = check_word,     [UNC_FILTER_TO] = check_word,
	[UNC_FILTER_GPU] = check_gpu,       [UNC_FILTER_LINK] = check_word,
	[UNC_FILTER_PORT] = check_port,     [UNC_FILTER_DEVICE] = check_device,
	[UNC_FILTER_ADDRESS] = check_range, [UNC_FILTER_SOCKET] = check_socket,
	[UNC_FILTER_NODE] = check_node,
};
_Static_assert(sizeof(checks) / sizeof(*checks) == UNC_FILTER_KINDS, "each kind has a check");

static int check_list(struct setter *x, const char *list)
{
	const char *at = list;
	char word[UNC_WORD_ROOM];
	int r;

	while ((r = unc_next_word(&at, word)) == 1) {
		if (x->into->count == UNC_FILTER_CHOICES)
			return refuse_more(x);
		r = checks[x->kind](x, word);
		if (r < 0)
			return r;
	}
	if (r < 0 || !*list)
		return refuse_word(x, list, "list of words that commas separate");
	return 0;
}

int uncore_monitor_set_filter(struct uncore_monitor *m, const char *kind, const char *value)
{
	/* A device has one port and addresses of its own. */
	static const enum unc_filter_kind excluded[] = {UNC_FILTER_PORT, UNC_FILTER_ADDRESS};
	struct unc_filters filters = m->filters;
	struct setter x = {.m = m, .e = &m->machine->error};
	struct unc_text text = {0}, places = {0}; /* of all filters, and of places */
	int r = unc_monitor_refuse_planned(m);

	if (r < 0)
		return r;
	while (x.kind < UNC_FILTER_KINDS && strcmp(unc_filter_words[x.kind].name, kind) != 0)
		x.kind++;
	if (x.kind == UNC_FILTER_KINDS) {
		r = unc_fail(x.e, EINVAL, "there is no filter '%s'; there are", kind);
		for (size_t i = 0; i < UNC_FILTER_KINDS; i++)
			unc_error_append(x.e, "%s %s", i ? "," : "", unc_filter_words[i].name);
		return r;
	}
	x.into = &filters.values[x.kind];
	*x.into = (struct unc_filter_value){0};
	if (value) {
		r = check_list(&x, value);
		if (r < 0)
			return r;
		x.into->text = unc_monitor_keep(m, value);
		if (!x.into->text)
			return unc_nomem(x.e);
	}
	for (size_t i = 0; i < sizeof(excluded) / sizeof(*excluded); i++)
		if (filters.values[UNC_FILTER_DEVICE].text && filters.values[excluded[i]].text)
			return unc_fail(x.e, EINVAL, "the filters '%s' and '%s' exclude each other",
					unc_filter_words[UNC_FILTER_DEVICE].name,
					unc_filter_words[excluded[i]].name);
	filters.picks = filters.restricts = false;
	for (size_t i = 0; i < UNC_FILTER_KINDS; i++) {
		if (!filters.values[i].text)
			continue;
		filters.picks = filters.picks || unc_filter_words[i].picks;
		filters.restricts = filters.restricts || i < UNC_FILTERS;
		if (i >= UNC_FILTERS)
			unc_text_add(&places, "%s%s=%s", places.len ? " " : "",
				     unc_filter_words[i].name, filters.values[i].text);
		unc_text_add(&text, "%s%s=%s", text.len ? " " : "", unc_filter_words[i].name,
			     filters.values[i].text);
	}
	filters.text = text.len && !text.failed ? unc_monitor_keep(m, text.data) : NULL;
	filters.places = places.len && !places.failed ? unc_monitor_keep(m, places.data) : NULL;
	if (text.failed || (text.len && !filters.text) || places.failed ||
	    (places.len && !filters.places))
		r = unc_nomem(x.e);
	else
		m->filters = filters;
	unc_text_finish(&text);
	unc_text_finish(&places);
	return r;
}

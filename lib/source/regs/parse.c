/* SPDX-License-Identifier: MIT */
/* The description of a register block, checked strictly. */
#include "source/regs/parse.h"
#include "base/text.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define PCI_CONFIG_SIZE 4096

/* "generic_pmon_{port}": one {word}, which stands for the instance's number. */
static int parse_pmu(const struct unc_regs_parser *p)
{
	const struct unc_yaml *node = unc_yaml_get(p->file->root, "pmu");
	const char *open, *close;

	if (unc_regs_name(p, p->file->root, "pmu", "_{}", &p->r->pmu) < 0)
		return -EBADMSG;
	open = strchr(node->text, '{');
	close = open ? strchr(open, '}') : NULL;
	if (!close || close == open + 1 || strpbrk(close + 1, "{}") ||
	    memchr(open + 1, '{', (size_t)(close - open - 1)) || node->text[0] == '{')
		return unc_yaml_fail(p->file, node, p->e,
				     "'%s' must have one {word} for the number of the %s, as in "
				     "my_pmon_{port}",
				     node->text, p->r->instance);
	return 0;
}

/* "intel/6/62 intel/6/63" */
static int parse_models(const struct unc_regs_parser *p)
{
	const struct unc_yaml *node = unc_yaml_get(p->file->root, "models");

	if (unc_regs_line(p, p->file->root, "models", &p->r->models) < 0)
		return -EBADMSG;
	for (const char *at = node ? node->text : ""; *at; at += strspn(at, " ")) {
		size_t n = strcspn(at, " ");

		if (!memchr(at, '/', n))
			return unc_yaml_fail(p->file, node, p->e,
					     "'%.*s' is no CPU model such as intel/6/62", (int)n,
					     at);
		at += n;
	}
	return 0;
}

/* ---- where it is ---- */

static int parse_map(const struct unc_regs_parser *p)
{
	static const char *const keys[] = {"file", "pci", "uio", "memory", "bar", "map", NULL};
	static const char *const kinds[] = {"file", "pci", "uio", "memory"};
	static const uint64_t bars[] = {0, 5}, maps[] = {0, 4}, any[] = {0, UINT64_MAX};
	const struct unc_yaml *map = unc_yaml_get(p->file->root, "map");
	struct unc_regs_map *m = &p->r->map;
	size_t given = 0;

	if (!map)
		return 0;
	if (p->r->space == UNC_SPACE_MSR)
		return unc_yaml_fail(p->file, map, p->e,
				     "MSRs are read from their CPU: 'map' says nothing");
	if (unc_yaml_check(p->file, map, keys, p->e) < 0)
		return -EBADMSG;
	for (size_t i = 0; i < 4; i++)
		if (unc_yaml_get(map, kinds[i])) {
			m->kind = (enum unc_regs_map_kind)(UNC_MAP_FILE + i);
			given++;
		}
	if (given != 1 || (p->r->space == UNC_SPACE_PCI && m->kind > UNC_MAP_PCI))
		return unc_yaml_fail(p->file, map, p->e, "'map' needs exactly one of: %s",
				     p->r->space == UNC_SPACE_PCI ? "file, pci"
								  : "file, pci, uio, memory");
	if (unc_yaml_get(map, "bar") && (m->kind != UNC_MAP_PCI || p->r->space == UNC_SPACE_PCI))
		return unc_yaml_fail(p->file, unc_yaml_get(map, "bar"), p->e,
				     "only a PCI device's memory has a BAR");
	if (unc_yaml_get(map, "map") && m->kind != UNC_MAP_UIO)
		return unc_yaml_fail(p->file, unc_yaml_get(map, "map"), p->e,
				     "only a UIO device has maps");
	if (m->kind == UNC_MAP_MEMORY)
		return unc_regs_number(p, map, "memory", any, &m->physical);
	if (unc_regs_line(p, map, kinds[m->kind - UNC_MAP_FILE], &m->text) < 0)
		return -EBADMSG;
	return m->kind == UNC_MAP_PCI ? unc_regs_number(p, map, "bar", bars, &m->index)
				      : unc_regs_number(p, map, "map", maps, &m->index);
}

static int parse_size(const struct unc_regs_parser *p)
{
	static const uint64_t sizes[] = {4, UINT64_C(1) << 32}, widths[] = {32, 64},
			      instances[] = {1, UNC_REGS_INSTANCES},
			      strides[] = {1, UINT64_C(1) << 32};
	const struct unc_yaml *root = p->file->root;
	struct unc_regs *r = p->r;
	uint64_t bits = r->space == UNC_SPACE_PCI ? 32 : 64;
	bool mmio = r->space == UNC_SPACE_MMIO;

	r->instances = 1;
	r->size = r->space == UNC_SPACE_PCI ? PCI_CONFIG_SIZE : 0;
	for (size_t i = 0; i < 2; i++) {
		const char *key = i ? "access" : "size";

		if (mmio && !unc_yaml_get(root, key))
			return unc_yaml_fail(p->file, root, p->e,
					     "a block in memory needs the key '%s'", key);
		if (r->space == UNC_SPACE_MSR && unc_yaml_get(root, key))
			return unc_yaml_fail(p->file, unc_yaml_get(root, key), p->e,
					     "'%s' is for maps; an MSR has 64 bits", key);
	}
	if (unc_regs_number(p, root, "size", sizes, &r->size) < 0 ||
	    unc_regs_number(p, root, "access", widths, &bits) < 0 ||
	    unc_regs_number(p, root, "count", instances, &r->instances) < 0 ||
	    unc_regs_number(p, root, "stride", strides, &r->stride) < 0)
		return -EBADMSG;
	if ((bits != 32 && bits != 64) || (r->space == UNC_SPACE_PCI && bits != 32))
		return unc_yaml_fail(p->file, unc_yaml_get(root, "access"), p->e,
				     "one read is of %s bits",
				     r->space == UNC_SPACE_PCI ? "32" : "32 or 64");
	if (r->instances > 1 && !r->stride)
		return unc_yaml_fail(p->file, unc_yaml_get(root, "count"), p->e,
				     "%llu instances need a 'stride' between them",
				     (unsigned long long)r->instances);
	r->bytes = (unsigned)bits / 8;
	return 0;
}

/* ---- counters ---- */

static int parse_place(const struct unc_regs_parser *p, const struct unc_yaml *node,
		       struct unc_regs_counter *c)
{
	static const char *const latches[] = {"none", "low", "high", NULL};
	static const uint64_t any[] = {0, UINT64_C(1) << 32};
	const struct unc_yaml *high = unc_yaml_get(node, "high");
	unsigned latch = UNC_LATCH_NONE;

	c->split = unc_yaml_get(node, "low") || high;
	if (c->split == !!unc_yaml_get(node, "offset") ||
	    (c->split && !unc_yaml_get(node, "low")) || (c->split && !high))
		return unc_yaml_fail(
			p->file, node, p->e,
			"a counter needs 'offset', or 'low' and 'high' for its halves");
	if (unc_regs_number(p, node, c->split ? "low" : "offset", any, &c->offset) < 0 ||
	    unc_regs_number(p, node, "high", any, &c->high) < 0 ||
	    unc_regs_word(p, node, "latch", latches, &latch) < 0)
		return -EBADMSG;
	c->latch = (enum unc_regs_latch)latch;
	if (c->latch && !c->split)
		return unc_yaml_fail(p->file, unc_yaml_get(node, "latch"), p->e,
				     "only a counter with halves has a half that is held");
	if (c->split && !c->latch && p->r->window == UNC_WINDOW_CLEAR)
		return unc_yaml_fail(
			p->file, high, p->e,
			"halves that reading clears cannot be read twice: 'latch' must "
			"say which of them holds the other");
	if (c->split && p->r->bytes != 4)
		return unc_yaml_fail(p->file, high, p->e,
				     "halves have 32 bits, and here one read is of 64");
	return 0;
}

static int parse_width(const struct unc_regs_parser *p, const struct unc_yaml *node,
		       struct unc_regs_counter *c)
{
	static const uint64_t widths[] = {1, 64};
	unsigned bits = p->r->bytes * 8;
	uint64_t width = 0;

	if (unc_regs_number(p, node, "width", widths, &width) < 0)
		return -EBADMSG;
	c->width = (unsigned)width;
	if (!c->split && c->width > bits)
		return unc_yaml_fail(
			p->file, unc_yaml_get(node, "width"), p->e,
			"%u bits do not fit into one read of %u: give 'low' and 'high' "
			"for the halves",
			c->width, bits);
	if (c->split && c->width <= bits)
		return unc_yaml_fail(p->file, unc_yaml_get(node, "width"), p->e,
				     "%u bits need no halves", c->width);
	return 0;
}

static int parse_role(const struct unc_regs_parser *p, const struct unc_yaml *node,
		      struct unc_regs_counter *c)
{
	static const char *const roles[] = {"none",  "active",  "busy", "idle",
					    "bytes", "packets", "bin",  NULL};
	unsigned role = UNC_ROLE_NONE;

	if (unc_regs_word(p, node, "role", roles, &role) < 0 ||
	    unc_regs_positive(p, node, "per_cycle", &c->per_cycle) < 0 ||
	    unc_regs_positive(p, node, "per_second", &c->most_per_s) < 0 ||
	    unc_regs_positive(p, node, "packet_bytes", &c->packet_bytes) < 0)
		return -EBADMSG;
	c->role = (enum unc_regs_role)role;
	if (c->packet_bytes > 0 && c->role != UNC_ROLE_PACKETS)
		return unc_yaml_fail(p->file, unc_yaml_get(node, "packet_bytes"), p->e,
				     "only a counter of packets has a size of packets");
	/* One of these counts a cycle or does not. */
	if (!unc_yaml_get(node, "per_cycle") && c->role >= UNC_ROLE_ACTIVE &&
	    c->role <= UNC_ROLE_IDLE)
		c->per_cycle = 1;
	return 0;
}

/* A counter with a control register counts what that says. */
static int parse_programmable(const struct unc_regs_parser *p, const struct unc_yaml *node,
			      struct unc_regs_counter *c)
{
	static const uint64_t any[] = {0, UINT64_C(1) << 32};
	const struct unc_yaml *control = unc_yaml_get(node, "control");

	if (!control)
		return 0;
	c->programmable = true;
	if (unc_regs_number(p, node, "control", any, &c->control) < 0)
		return -EBADMSG;
	if (!p->r->select.at)
		return unc_yaml_fail(p->file, control, p->e,
				     "what is in the control register of a counter must be said: "
				     "'counter_control'");
	if (c->role != UNC_ROLE_NONE || c->split)
		return unc_yaml_fail(p->file, control, p->e,
				     "a counter that counts what it is told has no role and no "
				     "halves");
	return 0;
}

/* `text` with {n} replaced by the number; as long as the block lives. */
static const char *numbered(const struct unc_regs_parser *p, const char *text, uint64_t n)
{
	const char *mark = strstr(text, "{n}");
	struct unc_text t = {0};
	char *made;
	int err;

	if (!mark)
		return text;
	unc_text_add(&t, "%.*s%llu%s", (int)(mark - text), text, (unsigned long long)n, mark + 3);
	made = unc_text_take(&t);
	err = made ? unc_names_add(&p->r->strings, made) : -ENOMEM;
	free(made);
	return err ? NULL : p->r->strings.items[p->r->strings.count - 1];
}

/* One entry of `counters`, which may stand for a row of them. */
static int parse_counter(const struct unc_regs_parser *p, const struct unc_yaml *node)
{
	static const char *const keys[] = {"!title",       "offset",  "low",       "high",
					   "latch",        "!width",  "role",      "count",
					   "stride",       "control", "per_cycle", "per_second",
					   "packet_bytes", NULL};
	static const uint64_t counts[] = {1, UNC_REGS_COUNTERS}, strides[] = {1, 1 << 20};
	struct unc_yaml key = {.line = node->key_line, .col = node->key_col};
	struct unc_regs_counter one = {.at = node};
	uint64_t count = 1, stride = p->r->space == UNC_SPACE_MSR ? 1 : p->r->bytes;

	if (unc_yaml_check(p->file, node, keys, p->e) < 0 ||
	    unc_regs_line(p, node, "title", &one.title) < 0 || parse_place(p, node, &one) < 0 ||
	    parse_width(p, node, &one) < 0 || parse_role(p, node, &one) < 0 ||
	    parse_programmable(p, node, &one) < 0 ||
	    unc_regs_number(p, node, "count", counts, &count) < 0 ||
	    unc_regs_number(p, node, "stride", strides, &stride) < 0)
		return -EBADMSG;
	if (p->r->count + count > UNC_REGS_COUNTERS)
		return unc_yaml_fail(p->file, &key, p->e, "a block has at most %d counters",
				     UNC_REGS_COUNTERS);
	if (!strstr(node->key, "{n}") != !unc_yaml_get(node, "count"))
		return unc_yaml_fail(p->file, &key, p->e,
				     "a row of counters has a 'count', and {n} in its name");
	for (uint64_t i = 0; i < count; i++) {
		struct unc_regs_counter *c = &p->r->counters[p->r->count];

		*c = one;
		c->name = numbered(p, node->key, i);
		c->title = numbered(p, one.title, i);
		if (!c->name || !c->title)
			return unc_nomem(p->e);
		if (!unc_regs_is_name(c->name, "_"))
			return unc_yaml_fail(p->file, &key, p->e,
					     "'%s' is no name of a counter: lower case letters, "
					     "digits and _",
					     c->name);
		c->offset += i * stride;
		c->high += i * stride;
		c->control += i * stride;
		p->r->count++;
	}
	return 0;
}

static int parse_counters(const struct unc_regs_parser *p)
{
	const struct unc_yaml *map = unc_yaml_get(p->file->root, "counters");

	if (unc_yaml_expect(p->file, map, UNC_YAML_MAP, p->e) < 0)
		return -EBADMSG;
	if (!map->count)
		return unc_yaml_fail(p->file, map, p->e, "a block has at least one counter");
	p->r->counters = calloc(UNC_REGS_COUNTERS, sizeof(*p->r->counters));
	if (!p->r->counters)
		return unc_nomem(p->e);
	for (size_t i = 0; i < map->count; i++) {
		int r = parse_counter(p, &map->children[i]);

		if (r < 0)
			return r;
	}
	return 0;
}

/* How fast counters can be, once the clock is known. The clock's own counts each cycle. */
static void work_out_speeds(struct unc_regs *r)
{
	for (size_t i = 0; i < r->count; i++) {
		struct unc_regs_counter *c = &r->counters[i];
		double most;

		if (c == r->clock && !(c->per_cycle > 0))
			c->per_cycle = 1;
		most = c->per_cycle * r->hz;
		if (most > 0 && (most < c->most_per_s || !(c->most_per_s > 0)))
			c->most_per_s = most;
	}
}

/* ---- the whole ---- */

static int parse(const struct unc_regs_parser *p)
{
	static const char *const keys[] = {
		"!block",    "!title",          "!instance", "!evidence", "!pmu",
		"models",    "!space",          "!window",   "access",    "size",
		"count",     "stride",          "map",       "clock",     "quantity",
		"control",   "counter_control", "overflow",  "only",      "kernel",
		"!counters", "histogram",       NULL};
	static const char *const spaces[] = {"mmio", "pci", "msr", NULL};
	static const char *const windows[] = {"free-running", "freeze", "read-to-clear", NULL};
	const struct unc_yaml *root = p->file->root;
	struct unc_regs *r = p->r;
	unsigned space = 0, window = 0;
	int err;

	if (unc_yaml_check(p->file, root, keys, p->e) < 0 ||
	    unc_regs_name(p, root, "block", "-", &r->name) < 0 ||
	    unc_regs_line(p, root, "title", &r->title) < 0 ||
	    unc_regs_line(p, root, "instance", &r->instance) < 0 ||
	    unc_regs_line(p, root, "evidence", &r->evidence) < 0 ||
	    unc_regs_name(p, root, "quantity", "._", &r->quantity) < 0 || parse_pmu(p) < 0 ||
	    parse_models(p) < 0 || unc_regs_word(p, root, "space", spaces, &space) < 0 ||
	    unc_regs_word(p, root, "window", windows, &window) < 0)
		return -EBADMSG;
	r->space = (enum unc_regs_space)space;
	r->window = (enum unc_regs_window)window;
	if (parse_map(p) < 0 || parse_size(p) < 0)
		return -EBADMSG;
	err = unc_regs_parse_controls(p);
	if (err == 0)
		err = parse_counters(p);
	if (err == 0)
		err = unc_regs_parse_clock(p);
	work_out_speeds(r);
	if (err == 0)
		err = unc_regs_parse_histogram(p);
	return err < 0 ? err : unc_regs_check(r, p->e);
}

int unc_regs_parse(struct unc_regs **out, struct unc_yaml_file *file, struct unc_error *e)
{
	struct unc_regs *r = calloc(1, sizeof(*r));
	struct unc_regs_parser p = {.r = r, .file = file, .e = e};
	int err;

	if (!r) {
		unc_yaml_free(file);
		return unc_nomem(e);
	}
	r->file = file;
	err = parse(&p);
	if (err < 0) {
		unc_regs_free(r);
		return err;
	}
	*out = r;
	return 0;
}

void unc_regs_forget_devices(struct unc_regs *r)
{
	for (size_t i = 0; i < r->device_count; i++)
		free(r->devices[i].path);
	free(r->devices);
	r->devices = NULL;
	r->device_count = 0;
}

void unc_regs_free(struct unc_regs *r)
{
	if (!r)
		return;
	unc_regs_forget_devices(r);
	unc_names_finish(&r->strings);
	unc_yaml_free(r->file);
	free(r->counters);
	free(r->where);
	free(r);
}

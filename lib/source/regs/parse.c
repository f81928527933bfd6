/* SPDX-License-Identifier: MIT */
/* The description of a register block, checked strictly. */
#include "source/regs/parse.h"
#include "base/text.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define PCI_CONFIG_SIZE 4096

/* ---- names ---- */

static int check_name(const struct unc_reader *r, const struct unc_yaml *node, const char *others)
{
	int err = unc_regs_check_line(r, node, NULL);

	if (err < 0 || unc_regs_is_name(node->text, others))
		return err;
	return unc_reader_fail(r, node,
			       "'%s' is no name: lower case letters and digits, and one of %s",
			       node->text, others);
}

static int check_block(const struct unc_reader *r, const struct unc_yaml *node, void *into)
{
	(void)into;
	return check_name(r, node, "-");
}

static int check_quantity(const struct unc_reader *r, const struct unc_yaml *node, void *into)
{
	(void)into;
	return check_name(r, node, "._");
}

/* "generic_pmon_{port}": one {word}, which stands for the instance's number. */
static int check_pmu(const struct unc_reader *r, const struct unc_yaml *node, void *into)
{
	const struct unc_regs *block = into;
	const char *open = strchr(node->text, '{'), *close = open ? strchr(open, '}') : NULL;
	int err = check_name(r, node, "_{}");

	if (err < 0)
		return err;
	if (!close || close == open + 1 || strpbrk(close + 1, "{}") ||
	    memchr(open + 1, '{', (size_t)(close - open - 1)))
		return unc_reader_fail(r, node,
				       "'%s' must have one {word} for the number of the %s, as in "
				       "my_pmon_{port}",
				       node->text, block->instance);
	return 0;
}

/* "intel/6/62 intel/6/63" */
static int check_models(const struct unc_reader *r, const struct unc_yaml *node, void *into)
{
	int err = unc_regs_check_line(r, node, into);

	for (const char *at = node->text; err == 0 && *at; at += strspn(at, " ")) {
		size_t n = strcspn(at, " ");

		if (!memchr(at, '/', n))
			err = unc_reader_fail(r, node, "'%.*s' is no CPU model such as intel/6/62",
					      (int)n, at);
		at += n;
	}
	return err;
}

/* ---- where it is ---- */

static const struct unc_field map_fields[] = {
	UNC_FIELD("file", TEXT, UNC_AT(struct unc_regs_map, text), .check = unc_regs_check_line),
	UNC_FIELD("pci", TEXT, UNC_AT(struct unc_regs_map, text), .check = unc_regs_check_line),
	UNC_FIELD("uio", TEXT, UNC_AT(struct unc_regs_map, text), .check = unc_regs_check_line),
	UNC_FIELD("memory", NUMBER, UNC_AT(struct unc_regs_map, physical)),
	UNC_FIELD("bar", NUMBER, UNC_AT(struct unc_regs_map, index), .most = 5),
	UNC_FIELD("map", NUMBER, UNC_AT(struct unc_regs_map, index), .most = 4),
	UNC_END,
};

static int read_map(const struct unc_reader *r, const struct unc_yaml *map, void *into)
{
	static const struct unc_shape shape = {.fields = map_fields};
	struct unc_regs *block = into;
	bool pci = block->space == UNC_SPACE_PCI;
	size_t given = 0;

	if (block->space == UNC_SPACE_MSR)
		return unc_reader_fail(r, map, "MSRs are read from their CPU: 'map' says nothing");
	if (unc_fill(r, map, &shape, &block->map) < 0)
		return -EBADMSG;
	for (size_t i = 0; i < 4; i++)
		if (unc_yaml_get(map, map_fields[i].key)) {
			block->map.kind = (enum unc_regs_map_kind)(UNC_MAP_FILE + i);
			given++;
		}
	if (given != 1 || (pci && block->map.kind > UNC_MAP_PCI))
		return unc_reader_fail(r, map, "'map' needs exactly one of: %s",
				       pci ? "file, pci" : "file, pci, uio, memory");
	if (unc_yaml_get(map, "bar") && (block->map.kind != UNC_MAP_PCI || pci))
		return unc_reader_fail(r, unc_yaml_get(map, "bar"),
				       "only a PCI device's memory has a BAR");
	if (unc_yaml_get(map, "map") && block->map.kind != UNC_MAP_UIO)
		return unc_reader_fail(r, unc_yaml_get(map, "map"), "only a UIO device has maps");
	return 0;
}

/* What holds where the file does not say it. */
static int read_space(const struct unc_reader *r, const struct unc_yaml *node, void *into)
{
	struct unc_regs *block = into;

	(void)r;
	(void)node;
	block->instances = 1;
	block->bytes = block->space == UNC_SPACE_PCI ? 4 : 8;
	block->size = block->space == UNC_SPACE_PCI ? PCI_CONFIG_SIZE : 0;
	return 0;
}

/* `access` is in bits in the file. */
static int check_access(const struct unc_reader *r, const struct unc_yaml *node, void *into)
{
	struct unc_regs *block = into;
	bool pci = block->space == UNC_SPACE_PCI;

	if ((block->bytes != 32 && block->bytes != 64) || (pci && block->bytes != 32))
		return unc_reader_fail(r, node, "one read is of %s bits", pci ? "32" : "32 or 64");
	block->bytes /= 8;
	return 0;
}

static int check_size(const struct unc_reader *r)
{
	static const char *const keys[] = {"size", "access"};
	const struct unc_yaml *root = r->file->root;
	const struct unc_regs *block = r->context;

	for (size_t i = 0; i < 2; i++) {
		const struct unc_yaml *given = unc_yaml_get(root, keys[i]);

		if (block->space == UNC_SPACE_MMIO && !given)
			return unc_reader_fail(r, root, "a block in memory needs the key '%s'",
					       keys[i]);
		if (block->space == UNC_SPACE_MSR && given)
			return unc_reader_fail(r, given, "'%s' is for maps; an MSR has 64 bits",
					       keys[i]);
	}
	if (block->instances > 1 && !block->stride)
		return unc_reader_fail(r, unc_yaml_get(root, "count"),
				       "%llu instances need a 'stride' between them",
				       (unsigned long long)block->instances);
	return 0;
}

/* ---- counters ---- */

/* One entry of `counters`, which may stand for a row of them. */
struct row {
	struct unc_regs_counter first;
	uint64_t count, stride;
};

#define COUNTER(member) UNC_AT(struct row, first.member)

static const struct unc_field counter_fields[] = {
	UNC_FIELD("!title", TEXT, COUNTER(title), .check = unc_regs_check_line),
	UNC_FIELD("offset", NUMBER, COUNTER(offset), .most = UNC_REGS_OFFSET_MOST),
	UNC_FIELD("low", NUMBER, COUNTER(offset), .most = UNC_REGS_OFFSET_MOST),
	UNC_FIELD("high", NUMBER, COUNTER(high), .most = UNC_REGS_OFFSET_MOST),
	UNC_FIELD("latch", WORD, COUNTER(latch),
		  .words = (const char *const[]){"none", "low", "high", NULL}),
	UNC_FIELD("!width", NUMBER, COUNTER(width), .least = 1, .most = 64),
	UNC_FIELD("role", WORD, COUNTER(role),
		  .words = (const char *const[]){"none", "active", "busy", "idle", "bytes",
						 "packets", "bin", NULL}),
	UNC_FIELD("count", NUMBER, UNC_AT(struct row, count), .least = 1,
		  .most = UNC_REGS_COUNTERS),
	UNC_FIELD("stride", NUMBER, UNC_AT(struct row, stride), .least = 1, .most = 1 << 20),
	UNC_FIELD("control", NUMBER, COUNTER(control), .most = UNC_REGS_OFFSET_MOST),
	UNC_FIELD("per_cycle", DOUBLE, COUNTER(per_cycle), .range = &unc_regs_positive),
	UNC_FIELD("per_second", DOUBLE, COUNTER(most_per_s), .range = &unc_regs_positive),
	UNC_FIELD("packet_bytes", DOUBLE, COUNTER(packet_bytes), .range = &unc_regs_positive),
	UNC_END,
};

static int check_halves(const struct unc_reader *r, const struct unc_yaml *node,
			const struct unc_regs_counter *c)
{
	const struct unc_yaml *high = unc_yaml_get(node, "high");
	const struct unc_regs *block = r->context;
	unsigned bits = block->bytes * 8;

	if (c->split == !!unc_yaml_get(node, "offset") ||
	    (c->split && (!unc_yaml_get(node, "low") || !high)))
		return unc_reader_fail(
			r, node, "a counter needs 'offset', or 'low' and 'high' for its halves");
	if (c->latch && !c->split)
		return unc_reader_fail(r, unc_yaml_get(node, "latch"),
				       "only a counter with halves has a half that is held");
	if (c->split && !c->latch && block->window == UNC_WINDOW_CLEAR)
		return unc_reader_fail(
			r, high,
			"halves that reading clears cannot be read twice: 'latch' must say which "
			"of them holds the other");
	if (c->split && block->bytes != 4)
		return unc_reader_fail(r, high, "halves have 32 bits, and here one read is of 64");
	if (!c->split && c->width > bits)
		return unc_reader_fail(
			r, unc_yaml_get(node, "width"),
			"%u bits do not fit into one read of %u: give 'low' and 'high' for the "
			"halves",
			c->width, bits);
	if (c->split && c->width <= bits)
		return unc_reader_fail(r, unc_yaml_get(node, "width"), "%u bits need no halves",
				       c->width);
	return 0;
}

static int check_role(const struct unc_reader *r, const struct unc_yaml *node,
		      struct unc_regs_counter *c)
{
	const struct unc_regs *block = r->context;
	const struct unc_yaml *control = unc_yaml_get(node, "control");

	if (c->packet_bytes > 0 && c->role != UNC_ROLE_PACKETS)
		return unc_reader_fail(r, unc_yaml_get(node, "packet_bytes"),
				       "only a counter of packets has a size of packets");
	/* One of these counts a cycle or does not. */
	if (!unc_yaml_get(node, "per_cycle") && c->role >= UNC_ROLE_ACTIVE &&
	    c->role <= UNC_ROLE_IDLE)
		c->per_cycle = 1;
	if (control && !block->select.at)
		return unc_reader_fail(r, control,
				       "what is in the control register of a counter must be said: "
				       "'counter_control'");
	if (control && (c->role != UNC_ROLE_NONE || c->split))
		return unc_reader_fail(r, control,
				       "a counter that counts what it is told has no role and no "
				       "halves");
	return 0;
}

/* `text` with {n} replaced by the number; as long as the block lives. */
static const char *numbered(struct unc_regs *r, const char *text, uint64_t n)
{
	const char *mark = strstr(text, "{n}");
	struct unc_text t = {0};
	char *made;
	int err;

	if (!mark)
		return text;
	unc_text_add(&t, "%.*s%llu%s", (int)(mark - text), text, (unsigned long long)n, mark + 3);
	made = unc_text_take(&t);
	err = made ? unc_names_add(&r->strings, made) : -ENOMEM;
	free(made);
	return err ? NULL : r->strings.items[r->strings.count - 1];
}

static int read_counter(const struct unc_reader *r, const struct unc_yaml *node)
{
	static const struct unc_shape shape = {.fields = counter_fields};
	struct unc_regs *block = r->context;
	struct row row = {.first.at = node,
			  .count = 1,
			  .stride = block->space == UNC_SPACE_MSR ? 1 : block->bytes};

	if (unc_fill(r, node, &shape, &row) < 0)
		return -EBADMSG;
	row.first.split = unc_yaml_get(node, "low") || unc_yaml_get(node, "high");
	row.first.programmable = unc_yaml_get(node, "control");
	if (check_halves(r, node, &row.first) < 0 || check_role(r, node, &row.first) < 0)
		return -EBADMSG;
	if (block->count + row.count > UNC_REGS_COUNTERS)
		return unc_reader_fail_key(r, node, "a block has at most %d counters",
					   UNC_REGS_COUNTERS);
	if (!strstr(node->key, "{n}") != !unc_yaml_get(node, "count"))
		return unc_reader_fail_key(r, node,
					   "a row of counters has a 'count', and {n} in its name");
	for (uint64_t i = 0; i < row.count; i++) {
		struct unc_regs_counter *c = &block->counters[block->count];

		*c = row.first;
		c->name = numbered(block, node->key, i);
		c->title = numbered(block, row.first.title, i);
		if (!c->name || !c->title)
			return unc_nomem(r->e);
		if (!unc_regs_is_name(c->name, "_"))
			return unc_reader_fail_key(r, node,
						   "'%s' is no name of a counter: lower case "
						   "letters, digits and _",
						   c->name);
		c->offset += i * row.stride;
		c->high += i * row.stride;
		c->control += i * row.stride;
		block->count++;
	}
	return 0;
}

static int read_counters(const struct unc_reader *r, const struct unc_yaml *map, void *into)
{
	struct unc_regs *block = into;
	int err = check_size(r);

	if (err == 0)
		err = unc_regs_check_controls(r);
	if (err == 0)
		err = unc_reader_expect(r, map, UNC_YAML_MAP);
	if (err < 0)
		return err;
	if (!map->count)
		return unc_reader_fail(r, map, "a block has at least one counter");
	block->counters = calloc(UNC_REGS_COUNTERS, sizeof(*block->counters));
	if (!block->counters)
		return unc_nomem(r->e);
	for (size_t i = 0; err == 0 && i < map->count; i++)
		err = read_counter(r, &map->children[i]);
	return err;
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

#define BLOCK(member) UNC_AT(struct unc_regs, member)

/* In the order in which one part needs another. */
static const struct unc_field fields[] = {
	UNC_FIELD("!block", TEXT, BLOCK(name), .check = check_block),
	UNC_FIELD("!title", TEXT, BLOCK(title), .check = unc_regs_check_line),
	UNC_FIELD("!instance", TEXT, BLOCK(instance), .check = unc_regs_check_line),
	UNC_FIELD("!evidence", TEXT, BLOCK(evidence), .check = unc_regs_check_line),
	UNC_FIELD("!pmu", TEXT, BLOCK(pmu), .check = check_pmu),
	UNC_FIELD("models", TEXT, BLOCK(models), .check = check_models),
	UNC_FIELD("!space", WORD, BLOCK(space), .check = read_space,
		  .words = (const char *const[]){"mmio", "pci", "msr", NULL}),
	UNC_FIELD("!window", WORD, BLOCK(window),
		  .words = (const char *const[]){"free-running", "freeze", "read-to-clear", NULL}),
	UNC_FIELD("access", NUMBER, BLOCK(bytes), .least = 32, .most = 64, .check = check_access),
	UNC_FIELD("size", NUMBER, BLOCK(size), .least = 4, .most = UNC_REGS_OFFSET_MOST),
	UNC_FIELD("count", NUMBER, BLOCK(instances), .least = 1, .most = UNC_REGS_INSTANCES),
	UNC_FIELD("stride", NUMBER, BLOCK(stride), .least = 1, .most = UNC_REGS_OFFSET_MOST),
	UNC_FIELD("map", ANY, .check = read_map),
	UNC_FIELD("quantity", TEXT, BLOCK(quantity), .check = check_quantity),
	UNC_FIELD("control", ANY, .check = unc_regs_read_controls),
	UNC_FIELD("counter_control", ANY, .check = unc_regs_read_select),
	UNC_FIELD("overflow", ANY, .check = unc_regs_read_overflow),
	UNC_FIELD("only", ANY, .check = unc_regs_read_only),
	UNC_FIELD("kernel", ANY, .check = unc_regs_read_kernel),
	UNC_FIELD("!counters", ANY, .check = read_counters),
	UNC_FIELD("clock", ANY, .check = unc_regs_read_clock),
	UNC_FIELD("histogram", ANY, .check = unc_regs_read_histogram),
	UNC_END,
};

int unc_regs_parse(struct unc_regs **out, struct unc_yaml_file *file, struct unc_error *e)
{
	static const struct unc_shape shape = {.fields = fields};
	struct unc_regs *block = calloc(1, sizeof(*block));
	struct unc_reader r = {.file = file, .e = e, .context = block};
	int err;

	if (!block) {
		unc_yaml_free(file);
		return unc_nomem(e);
	}
	block->file = file;
	err = unc_fill(&r, file->root, &shape, block);
	if (err == 0) {
		work_out_speeds(block);
		err = unc_regs_check(&r);
	}
	if (err < 0)
		unc_regs_free(block);
	else
		*out = block;
	return err;
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

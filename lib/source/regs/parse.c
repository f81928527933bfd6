/* SPDX-License-Identifier: MIT */
/* The description of a register block, checked strictly. */
#include "source/regs/parse.h"
#include "base/embedded.h"
#include "base/text.h"

#include <errno.h>
#include <float.h>
#include <stdlib.h>
#include <string.h>

#define PCI_CONFIG_SIZE 4096

/* Whole cycles below are exact in a double. */
#define LAST_MOST 0x1p53

static const struct unc_bounds positive = {DBL_TRUE_MIN, DBL_MAX, "more than 0"};

/* ---- names ---- */

static int check_block(const struct unc_reader *r, const struct unc_yaml *node, void *into)
{
	(void)into;
	return unc_reader_check_name(r, node, node->text, "-", "name");
}

static int check_quantity(const struct unc_reader *r, const struct unc_yaml *node, void *into)
{
	(void)into;
	return unc_reader_check_name(r, node, node->text, "._", "name");
}

/* "generic_pmon_{port}": one {word}, which stands for the instance's number. */
static int check_pmu(const struct unc_reader *r, const struct unc_yaml *node, void *into)
{
	const struct unc_regs *block = into;
	const char *open = strchr(node->text, '{'), *close = open ? strchr(open, '}') : NULL;
	int err = unc_reader_check_name(r, node, node->text, "_{}", "name");

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
	const char *at = node->text;

	(void)into;
	do {
		size_t n = strcspn(at, " ");

		if (!memchr(at, '/', n))
			return unc_reader_fail(r, node,
					       "'%.*s' is not a valid CPU model such as intel/6/62",
					       (int)n, at);
		at += n + strspn(at + n, " ");
	} while (*at);
	return 0;
}

/* ---- where it is ---- */

static const struct unc_field map_fields[] = {
	UNC_FIELD("|file", TEXT, UNC_AT(struct unc_regs_map, text)),
	UNC_FIELD("|pci", TEXT, UNC_AT(struct unc_regs_map, text)),
	UNC_FIELD("bar", NUMBER, UNC_AT(struct unc_regs_map, bar), .most = 5),
	UNC_END,
};

static const struct unc_shape map_shape = {.fields = map_fields};

static int check_map(const struct unc_reader *r, const struct unc_yaml *map, void *into)
{
	struct unc_regs *block = into;
	bool pci = unc_yaml_get(map, "pci");

	block->map.kind = pci ? UNC_MAP_PCI : UNC_MAP_FILE;
	if (block->space == UNC_SPACE_MSR)
		return unc_reader_fail(r, map, "MSRs are read from their CPU: 'map' says nothing");
	if (unc_yaml_get(map, "bar") && (!pci || block->space == UNC_SPACE_PCI))
		return unc_reader_fail(r, unc_yaml_get(map, "bar"),
				       "only a PCI device's memory has a BAR");
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
	UNC_FIELD("!title", TEXT, COUNTER(title)),
	UNC_FIELD("offset", NUMBER, COUNTER(offset), .most = UNC_REGS_OFFSET_MOST),
	UNC_FIELD("low", NUMBER, COUNTER(offset), .most = UNC_REGS_OFFSET_MOST),
	UNC_FIELD("high", NUMBER, COUNTER(high), .most = UNC_REGS_OFFSET_MOST),
	UNC_FIELD("!width", NUMBER, COUNTER(width), .least = 1, .most = 64),
	UNC_FIELD("role", WORD, COUNTER(role),
		  .words = (const char *const[]){"none", "active", "busy", "idle", "bytes",
						 "packets", "bin", NULL}),
	UNC_FIELD("count", NUMBER, UNC_AT(struct row, count), .least = 1,
		  .most = UNC_REGS_COUNTERS),
	UNC_FIELD("stride", NUMBER, UNC_AT(struct row, stride), .least = 1, .most = 1 << 20),
	UNC_FIELD("control", NUMBER, COUNTER(control), .most = UNC_REGS_OFFSET_MOST),
	UNC_FIELD("per_cycle", DOUBLE, COUNTER(per_cycle), .range = &positive),
	UNC_FIELD("per_second", DOUBLE, COUNTER(most_per_s), .range = &positive),
	UNC_FIELD("packet_bytes", DOUBLE, COUNTER(packet_bytes), .range = &positive),
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
	if (c->split && block->window == UNC_WINDOW_CLEAR)
		return unc_reader_fail(r, high,
				       "halves must be read twice, and here reading clears them");
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
				       "a programmable counter has no role and no halves");
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
		struct unc_regs_counter *c = &block->counters[block->count++];

		*c = row.first;
		c->name = numbered(block, node->key, i);
		c->title = numbered(block, row.first.title, i);
		if (!c->name || !c->title)
			return unc_nomem(r->e);
		if (unc_reader_check_name(r, node, c->name, "_", "name of a counter") < 0)
			return -EBADMSG;
		c->offset += i * row.stride;
		c->high += i * row.stride;
		c->control += i * row.stride;
	}
	return 0;
}

static int read_counters(const struct unc_reader *r, const struct unc_yaml *map, void *into)
{
	struct unc_regs *block = into;
	int err = check_size(r);

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

/* ---- events that only some counters count; the kernel's driver ---- */

static const struct unc_field only_fields[] = {
	UNC_FIELD("!event", NUMBER, UNC_AT(struct unc_regs_only, event)),
	UNC_FIELD("!counters", BITS, UNC_AT(struct unc_regs_only, counters)),
	UNC_END,
};

static const struct unc_shape only = {.fields = only_fields, .size = sizeof(struct unc_regs_only)};

/* Both would write the same registers. */
static const struct unc_field kernel_fields[] = {
	UNC_FIELD("!pmu", TEXT, UNC_AT(struct unc_regs, kernel_pmu)),
	UNC_FIELD("!module", TEXT, UNC_AT(struct unc_regs, kernel_module)),
	UNC_END,
};

static const struct unc_shape kernel = {.fields = kernel_fields};

/* ---- clock ---- */

static int find_clock(const struct unc_reader *r, const struct unc_yaml *node, void *into)
{
	struct unc_regs *block = into;

	for (size_t i = 0; i < block->count; i++)
		if (strcmp(block->counters[i].name, node->text) == 0)
			block->clock = &block->counters[i];
	return block->clock ? 0
			    : unc_reader_fail(r, node, "'%s' is not a counter of this block",
					      node->text);
}

static int keep_hz(const struct unc_reader *r, const struct unc_yaml *node, void *into)
{
	(void)r;
	((struct unc_regs *)into)->clock_hz = node->text;
	return 0;
}

static const struct unc_field clock_fields[] = {
	UNC_FIELD("hz", DOUBLE, UNC_AT(struct unc_regs, hz), .range = &positive, .check = keep_hz),
	UNC_FIELD("counter", TEXT, .check = find_clock),
	UNC_END,
};

static int read_clock(const struct unc_reader *r, const struct unc_yaml *node, void *into)
{
	static const struct unc_shape shape = {.fields = clock_fields};
	struct unc_regs *block = into;

	block->host_clock = node->kind == UNC_YAML_TEXT && strcmp(node->text, "host") == 0;
	if (block->host_clock)
		return 0;
	if (node->kind != UNC_YAML_MAP || !node->count)
		return unc_reader_fail(r, node,
				       "the value of 'clock' must be 'host', or a map of 'hz', "
				       "'counter' or both");
	return unc_fill(r, node, &shape, block);
}

/* ---- histogram ---- */

/* Lower bounds of the bins. */
static int read_listed(const struct unc_reader *r, const struct unc_yaml *list, void *into)
{
	struct unc_histogram *h = into;

	if (unc_reader_expect(r, list, UNC_YAML_LIST) < 0)
		return -EBADMSG;
	if (list->count != h->count)
		return unc_reader_fail(r, list, "%zu bounds for %zu bins", list->count, h->count);
	for (size_t k = 0; k < h->count; k++) {
		const struct unc_yaml *one = &list->children[k];
		uint64_t bound;

		if (unc_reader_expect(r, one, UNC_YAML_TEXT) < 0)
			return -EBADMSG;
		if (unc_parse_u64(one->text, &bound) < 0 || (double)bound >= LAST_MOST ||
		    (k && (double)bound <= h->lower[k - 1]))
			return unc_reader_fail(r, one,
					       "bounds are whole cycles, each larger than the one "
					       "before");
		h->lower[k] = (double)bound;
	}
	return 0;
}

static int check_last(const struct unc_reader *r, const struct unc_yaml *node, void *into)
{
	const struct unc_histogram *h = into;

	if (h->last >= LAST_MOST)
		return unc_reader_fail(r, node, "no latency has so many cycles: less than 2^53");
	if (h->last < h->lower[h->count - 1])
		return unc_reader_fail(r, node, "what stands for the last bin lies below it");
	return 0;
}

static const struct unc_field histogram_fields[] = {
	UNC_FIELD("!listed", ANY, .check = read_listed),
	UNC_FIELD("!last", DOUBLE, UNC_AT(struct unc_histogram, last), .range = &positive,
		  .check = check_last),
	UNC_END,
};

static int read_histogram(const struct unc_reader *r, const struct unc_yaml *node, void *into)
{
	static const struct unc_shape shape = {.fields = histogram_fields};
	struct unc_regs *block = into;
	struct unc_histogram *h = &block->histogram;

	for (size_t i = 0; i < block->count; i++)
		h->count += block->counters[i].role == UNC_ROLE_BIN;
	if (h->count < 2 || h->count > UNC_HISTOGRAM_BINS)
		return unc_reader_fail(r, node,
				       "a histogram has 2 to %d counters with the role 'bin', and "
				       "here are %zu",
				       UNC_HISTOGRAM_BINS, h->count);
	block->has_histogram = true;
	return unc_fill(r, node, &shape, h);
}

/* ---- the whole ---- */

#define BLOCK(member) UNC_AT(struct unc_regs, member)

/* In the order in which one part needs another. */
static const struct unc_field fields[] = {
	UNC_FIELD("!block", TEXT, BLOCK(name), .check = check_block),
	UNC_FIELD("!title", TEXT, BLOCK(title)),
	UNC_FIELD("!instance", TEXT, BLOCK(instance)),
	UNC_FIELD("!evidence", TEXT, BLOCK(evidence)),
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
	UNC_FIELD("map", MAP, BLOCK(map), .of = &map_shape, .check = check_map),
	UNC_FIELD("quantity", TEXT, BLOCK(quantity), .check = check_quantity),
	UNC_FIELD("control", NAMED, UNC_LIST(struct unc_regs, controls, control_count),
		  .of = &unc_regs_control_shape, .most = UNC_REGS_CONTROLS,
		  .check = unc_regs_check_controls),
	UNC_FIELD("counter_control", MAP, BLOCK(select), .of = &unc_regs_select_shape),
	UNC_FIELD("overflow", WORD, BLOCK(overflow),
		  .words = (const char *const[]){"wraps", "freezes", "freezes-all", NULL}),
	UNC_FIELD("only", LIST, UNC_LIST(struct unc_regs, only, only_count), .of = &only),
	UNC_FIELD("kernel", MAP, .of = &kernel),
	UNC_FIELD("!counters", ANY, .check = read_counters),
	UNC_FIELD("clock", ANY, .check = read_clock),
	UNC_FIELD("histogram", ANY, .check = read_histogram),
	UNC_END,
};

static int finish_block(const struct unc_reader *r, const struct unc_yaml *map, void *into)
{
	work_out_speeds(into);
	return unc_regs_check(r, map, into);
}

int unc_regs_parse(struct unc_regs **out, struct unc_yaml_file *file, struct unc_error *e)
{
	static const struct unc_shape shape = {.fields = fields, .check = finish_block};
	struct unc_regs *block = calloc(1, sizeof(*block));
	struct unc_reader r = {.file = file, .e = e, .context = block};
	int err;

	if (!block) {
		unc_yaml_free(file);
		return unc_nomem(e);
	}
	block->file = file;
	err = unc_fill(&r, file->root, &shape, block);
	if (err < 0)
		unc_regs_free(block);
	else
		*out = block;
	return err;
}

void unc_regs_free(struct unc_regs *r)
{
	if (!r)
		return;
	unc_regs_forget_devices(r);
	unc_names_finish(&r->strings);
	unc_yaml_free(r->file);
	for (size_t i = 0; i < r->control_count; i++)
		free(r->controls[i].fields);
	free(r->controls);
	free(r->select.fields);
	free(r->only);
	free(r->counters);
	free(r->where);
	free(r);
}

int unc_regs_load(struct unc_regs **out, const char *spec, struct unc_error *e)
{
	const char *at = strstr(spec, ",at=");
	struct unc_yaml_file *file = NULL;
	struct unc_regs *r = NULL;
	char *name = at ? strndup(spec, (size_t)(at - spec)) : strdup(spec);
	int err = name ? unc_load_named(&file, name, unc_embedded_blocks, unc_embedded_blocks_count,
					"register block", e)
		       : unc_nomem(e);

	free(name);
	if (err == 0 && file)
		err = unc_regs_parse(&r, file, e);
	if (err < 0 || !r)
		return err;
	if (at && (r->space == UNC_SPACE_MSR || !at[4])) {
		err = unc_fail(e, EINVAL,
			       at[4] ? "%s: MSRs are read from their CPU; there is no other place"
				     : "%s: 'at=' must be followed by a path",
			       spec);
	} else if (at) {
		r->where = strdup(at + 4);
		err = r->where ? 0 : unc_nomem(e);
	}
	if (err < 0)
		unc_regs_free(r);
	else
		*out = r;
	return err;
}

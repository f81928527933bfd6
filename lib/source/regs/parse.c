/* SPDX-License-Identifier: MIT */
/* Parses and strictly checks the description of a register block. */
#include "source/regs/regs.h"

#include <float.h>

#define PCI_CONFIG_SIZE 4096

/* At 2^40 in a second, the most that any counter counts, a counter of this width does not wrap for
 * 16 s. */
#define LASTING_BITS 44

#define BLOCK(member) UNC_AT(struct unc_regs, member)

static const struct unc_bounds positive = {DBL_TRUE_MIN, DBL_MAX, "more than 0"};

/* A condition that must not hold, and its error sentence, at the value of `key` or at the whole
 * map. */
struct rule {
	bool broken;
	const char *key, *sentence;
};

static int check_rules(const struct unc_reader *r, const struct unc_yaml *map,
		       const struct rule *rules, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		const struct unc_yaml *at = unc_yaml_get(map, rules[i].key);

		if (rules[i].broken)
			return unc_reader_fail(r, at ? at : map, "%s", rules[i].sentence);
	}
	return 0;
}

#define CHECK_RULES(r, map, rules) check_rules(r, map, rules, sizeof(rules) / sizeof(*(rules)))

/* ---- names ---- */

/* A name such as "generic_pmon_{port}" has exactly one {word}, which stands for the instance's
 * number. */
static int check_pmu(const struct unc_reader *r, const struct unc_yaml *node, void *into)
{
	const struct unc_regs *block = into;
	const char *open = strchr(node->text, '{');
	size_t word = open ? strcspn(open + 1, "{}") : 0;
	int err = unc_reader_check_name(r, node, node->text, "_{}", "name");

	if (err < 0)
		return err;
	if (!word || open[1 + word] != '}' || strpbrk(open + 2 + word, "{}"))
		return unc_reader_fail(r, node,
				       "'%s' must have one {word} for the number of the %s, as in "
				       "my_pmon_{port}",
				       node->text, block->instance);
	return 0;
}

/* A list such as "intel/6/62 intel/6/63". */
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

/* ---- the place ---- */

static const struct unc_field map_fields[] = {
	UNC_FIELD("|file", TEXT, BLOCK(map_file)),
	UNC_FIELD("|pci", TEXT, BLOCK(map_pci)),
	UNC_FIELD("bar", NUMBER, BLOCK(bar), .most = 5),
	UNC_END,
};

static int check_map(const struct unc_reader *r, const struct unc_yaml *map, void *into)
{
	const struct unc_regs *block = into;
	const struct rule rules[] = {
		{block->space == UNC_SPACE_MSR, "",
		 "MSRs are read from their CPU and have no 'map'"},
		{unc_yaml_get(map, "bar") && (!block->map_pci || block->space == UNC_SPACE_PCI),
		 "bar", "only a PCI device's memory has a BAR"},
	};

	return CHECK_RULES(r, map, rules);
}

/* Sets and checks sizes by the space, after all keys that matter are read. In the file `access` is
 * in bits. */
static int check_size(const struct unc_reader *r)
{
	struct unc_regs *block = r->context;
	bool mmio = block->space == UNC_SPACE_MMIO, msr = block->space == UNC_SPACE_MSR;
	bool pci = block->space == UNC_SPACE_PCI;
	unsigned bits = block->bytes;
	const struct rule rules[] = {
		{mmio && !block->size, "", "a block in memory needs the key 'size'"},
		{mmio && !bits, "", "a block in memory needs the key 'access'"},
		{msr && block->size, "size", "'size' is for maps; an MSR has 64 bits"},
		{msr && bits, "access", "'access' is for maps; an MSR has 64 bits"},
		{pci && bits && bits != 32, "access", "one read is of 32 bits"},
		{bits && bits != 32 && bits != 64, "access", "one read is of 32 or 64 bits"},
		{block->instances > 1 && !block->stride, "count",
		 "several instances need a 'stride' between them"},
	};

	block->bytes = bits ? bits / 8 : pci ? 4 : 8;
	if (pci && !block->size)
		block->size = PCI_CONFIG_SIZE;
	return CHECK_RULES(r, r->file->root, rules);
}

/* ---- clock ---- */

static const struct unc_field clock_fields[] = {
	UNC_FIELD("hz", DOUBLE, BLOCK(hz), .range = &positive),
	UNC_FIELD("counter", TEXT, BLOCK(clock_name)),
	UNC_END,
};

static int read_clock(const struct unc_reader *r, const struct unc_yaml *node, void *into)
{
	const struct unc_yaml *hz = unc_yaml_get(node, "hz");
	struct unc_regs *block = into;

	block->host_clock = node->kind == UNC_YAML_TEXT && strcmp(node->text, "host") == 0;
	block->clock_hz = hz ? hz->text : NULL;
	if (block->host_clock)
		return 0;
	if (node->kind != UNC_YAML_MAP || !node->count)
		return unc_reader_fail(r, node,
				       "the value of 'clock' must be 'host', or a map of 'hz', "
				       "'counter' or both");
	return unc_fill(r, node, UNC_SHAPE(struct unc_regs, clock_fields), block);
}

/* ---- counters ---- */

/* An entry of `counters`. It may describe an array of counters. */
struct array {
	struct unc_regs_counter first;
	uint64_t count, stride;
};

#define COUNTER(member) UNC_AT(struct array, first.member)

static const struct unc_field counter_fields[] = {
	UNC_FIELD("!title", TEXT, COUNTER(title)),
	UNC_FIELD("offset", NUMBER, COUNTER(offset), .most = UNC_REGS_OFFSET_MOST),
	UNC_FIELD("low", NUMBER, COUNTER(offset), .most = UNC_REGS_OFFSET_MOST),
	UNC_FIELD("high", NUMBER, COUNTER(high), .most = UNC_REGS_OFFSET_MOST),
	UNC_FIELD("!width", NUMBER, COUNTER(width), .least = 1, .most = 64),
	UNC_FIELD("role", WORD, COUNTER(role),
		  .words = (const char *const[]){"none", "active", "busy", "idle", "bytes",
						 "packets", "bin", NULL}),
	UNC_FIELD("count", NUMBER, UNC_AT(struct array, count), .least = 1,
		  .most = UNC_REGS_COUNTERS),
	UNC_FIELD("stride", NUMBER, UNC_AT(struct array, stride), .least = 1, .most = 1 << 20),
	UNC_FIELD("control", NUMBER, COUNTER(control), .most = UNC_REGS_OFFSET_MOST),
	UNC_FIELD("per_cycle", DOUBLE, COUNTER(per_cycle), .range = &positive),
	UNC_FIELD("per_second", DOUBLE, COUNTER(most_per_s), .range = &positive),
	UNC_FIELD("packet_bytes", DOUBLE, COUNTER(packet_bytes), .range = &positive),
	UNC_END,
};

/* Returns `text` with {n} replaced by the number. The block owns the result. */
static const char *numbered(struct unc_regs *r, const char *text, uint64_t n)
{
	const char *mark = strstr(text, "{n}");
	struct unc_text t = {0};

	if (!mark)
		return text;
	unc_text_add(&t, "%.*s%llu%s", (int)(mark - text), text, (unsigned long long)n, mark + 3);
	return unc_yaml_keep(r->file, unc_text_take(&t));
}

/* Adds a counter and computes its greatest rate. A counter that metrics use must not wrap
 * unnoticed. */
static int add_counter(const struct unc_reader *r, const struct unc_regs_counter *made)
{
	struct unc_regs *block = r->context;
	struct unc_regs_counter *c = &block->counters[block->count++];
	const struct unc_regs_counter **role = &block->roles[made->role];
	double most;

	*c = *made;
	if (!c->name || !c->title)
		return unc_nomem(r->e);
	if (unc_reader_check_name(r, c->at, c->name, "_", "name of a counter") < 0)
		return -EBADMSG;
	for (const struct unc_regs_counter *other = block->counters; other < c; other++)
		if (strcmp(other->name, c->name) == 0)
			return unc_reader_fail(r, c->at, "there are two counters named '%s'",
					       c->name);
	if (*role && c->role != UNC_ROLE_NONE && c->role != UNC_ROLE_BIN)
		return unc_reader_fail(r, unc_yaml_get(c->at, "role"),
				       "'%s' has this role already: a block has one counter for "
				       "each role, and several bins",
				       (*role)->name);
	if (!*role)
		*role = c;
	block->has_roles = block->has_roles || c->role != UNC_ROLE_NONE;
	if (block->clock_name && strcmp(block->clock_name, c->name) == 0)
		block->clock = c;
	if (c->programmable)
		c->number = block->programmable++;
	if (c->programmable && c->width < block->narrowest)
		block->narrowest = c->width;
	/* A counter with one of these roles counts at most 1 in a cycle. */
	if (!(c->per_cycle > 0) &&
	    ((c->role >= UNC_ROLE_ACTIVE && c->role <= UNC_ROLE_IDLE) || c == block->clock))
		c->per_cycle = 1;
	most = c->per_cycle * block->hz;
	if (most > 0 && (most < c->most_per_s || !(c->most_per_s > 0)))
		c->most_per_s = most;
	if (c->width >= LASTING_BITS || c->most_per_s > 0 ||
	    (c->role == UNC_ROLE_NONE && c != block->clock))
		return 0;
	return unc_reader_fail(r, unc_yaml_get(c->at, "width"),
			       "'%s': %u bits may wrap between two readings: give the largest "
			       "increment in one cycle, 'per_cycle', with 'hz' in 'clock', or "
			       "in one second, 'per_second'",
			       c->name, c->width);
}

static int read_counter(const struct unc_reader *r, const struct unc_yaml *node)
{
	struct unc_regs *block = r->context;
	struct array array = {.first.at = node,
			      .count = 1,
			      .stride = block->space == UNC_SPACE_MSR ? 1 : block->bytes};
	struct unc_regs_counter *c = &array.first;
	bool low = unc_yaml_get(node, "low"), high = unc_yaml_get(node, "high");
	bool control = unc_yaml_get(node, "control");
	int err = unc_fill(r, node, UNC_SHAPE(struct array, counter_fields), &array);
	const struct rule rules[] = {
		{low != high || low == !!unc_yaml_get(node, "offset"), "",
		 "a counter needs 'offset', or 'low' and 'high' for its halves"},
		{high && block->window == UNC_WINDOW_CLEAR, "high",
		 "halves must be read twice, and here reading clears them"},
		{high && block->bytes != 4, "high",
		 "halves have 32 bits, and here one read is of 64"},
		{high && c->width <= 32, "width", "a counter of at most 32 bits needs no halves"},
		{!high && c->width > 8 * block->bytes, "width",
		 "more than 32 bits do not fit into one read: give 'low' and 'high' for the "
		 "halves"},
		{c->packet_bytes > 0 && c->role != UNC_ROLE_PACKETS, "packet_bytes",
		 "only a counter of packets has a size of packets"},
		{control && (c->role != UNC_ROLE_NONE || high), "control",
		 "a programmable counter has no role and no halves"},
	};

	if (err == 0)
		err = CHECK_RULES(r, node, rules);
	if (err < 0)
		return err;
	c->split = high;
	c->programmable = control;
	if (block->count + array.count > UNC_REGS_COUNTERS)
		return unc_reader_fail_key(r, node, "a block has at most %d counters",
					   UNC_REGS_COUNTERS);
	if (!strstr(node->key, "{n}") != !unc_yaml_get(node, "count"))
		return unc_reader_fail_key(
			r, node, "an array of counters has a 'count', and {n} in its name");
	for (uint64_t i = 0; err == 0 && i < array.count; i++) {
		struct unc_regs_counter made = *c;

		made.name = numbered(block, node->key, i);
		made.title = numbered(block, c->title, i);
		made.offset += i * array.stride;
		made.high += i * array.stride;
		made.control += i * array.stride;
		err = add_counter(r, &made);
	}
	return err;
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
	block->counters =
		unc_yaml_keep(r->file, calloc(UNC_REGS_COUNTERS, sizeof(*block->counters)));
	if (!block->counters)
		return unc_nomem(r->e);
	for (size_t i = 0; err == 0 && i < map->count; i++)
		err = read_counter(r, &map->children[i]);
	if (err == 0 && block->clock_name && !block->clock)
		err = unc_reader_fail(r,
				      unc_yaml_get(unc_yaml_get(r->file->root, "clock"), "counter"),
				      "'%s' is not a counter of this block", block->clock_name);
	block->all_cycles = block->roles[UNC_ROLE_ACTIVE] && block->roles[UNC_ROLE_BUSY] &&
			    block->roles[UNC_ROLE_IDLE];
	return err;
}

/* ---- registers that are written ---- */

/* Checks that the fields of a register do not overlap, and that only one field has each use, except
 * for filters. */
static int check_control(const struct unc_reader *r, const struct unc_yaml *map, void *into)
{
	const struct unc_yaml *fields = unc_yaml_get(map, "fields");
	struct unc_regs *block = r->context;
	struct unc_regs_control *c = into;
	bool select = c == &block->select;

	c->name = map->key;
	c->at = map;
	c->filter = -1;
	if (block->bytes == 4 && c->ones >> 32)
		return unc_reader_fail(r, unc_yaml_get(map, "ones"), "a register has 32 bits here");
	for (size_t i = 0; i < c->count; i++) {
		struct unc_regs_field *f = &c->fields[i];
		const struct unc_regs_field **use = &block->use[f->purpose];
		const struct unc_yaml *node = &fields->children[i];
		bool used = f->purpose != UNC_PURPOSE_NONE;
		bool filter = f->purpose == UNC_PURPOSE_FILTER;
		const struct rule rules[] = {
			{used && (f->access == UNC_ACCESS_RO) !=
					 (f->purpose == UNC_PURPOSE_FROZEN ||
					  f->purpose == UNC_PURPOSE_LATCHED),
			 "use", "only 'frozen' and 'latched' are read, and the others are written"},
			{(filter || block->bytes == 4) && f->bits >> 32, "bits",
			 filter ? "a filter's register has 32 bits"
				: "a register has 32 bits here"},
		};

		f->name = node->key;
		f->in = c;
		if (unc_reader_check_name(r, node, f->name, "_", "name of a field") < 0 ||
		    CHECK_RULES(r, node, rules) < 0)
			return -EBADMSG;
		for (const struct unc_regs_field *before = c->fields; before < f; before++)
			if (f->bits & before->bits)
				return unc_reader_fail(r, unc_yaml_get(node, "bits"),
						       "'%s' overlaps '%s'", f->name, before->name);
		if (used && select != (f->purpose >= UNC_PURPOSE_ENABLE &&
				       f->purpose <= UNC_PURPOSE_THRESHOLD))
			return unc_reader_fail(r, fields,
					       "'%s' has no such use in the control register of %s",
					       f->name, select ? "a counter" : "a whole instance");
		if (used && *use && !filter)
			return unc_reader_fail(r, unc_yaml_get(node, "use"),
					       "'%s' has this use already", (*use)->name);
		if (!*use)
			*use = f;
		/* Two registers of 32 bits make the configuration word of the filter. */
		if (filter && c->filter < 0)
			c->filter = block->filters++;
		if (c->filter > 1)
			return unc_reader_fail(r, map,
					       "an instance has at most two registers of filters");
		c->read_only |= f->access == UNC_ACCESS_RO ? f->bits : 0;
		c->write_only |= f->access == UNC_ACCESS_WO ? f->bits : 0;
	}
	return 0;
}

#define FIELD(member) UNC_AT(struct unc_regs_field, member)

static const struct unc_field field_fields[] = {
	UNC_FIELD("!bits", BITS, FIELD(bits)),
	UNC_FIELD("access", WORD, FIELD(access),
		  .words = (const char *const[]){"RW", "RO", "WO", NULL}),
	UNC_FIELD("use", WORD, FIELD(purpose),
		  .words = (const char *const[]){"none", "freeze", "frozen", "latch", "latched",
						 "clear", "reset", "enable", "event", "umask",
						 "edge", "threshold", "filter", NULL}),
	UNC_END,
};

#define CONTROL(member) UNC_AT(struct unc_regs_control, member)

static const struct unc_field control_fields[] = {
	UNC_FIELD("!offset", NUMBER, CONTROL(offset), .most = UNC_REGS_OFFSET_MOST),
	UNC_FIELD("ones", BITS, CONTROL(ones)),
	UNC_FIELD("!fields", NAMED, UNC_LIST(struct unc_regs_control, fields, count),
		  .of = UNC_SHAPE(struct unc_regs_field, field_fields), .most = 64),
	UNC_END,
};

static const struct unc_field only_fields[] = {
	UNC_FIELD("!event", NUMBER, UNC_AT(struct unc_regs_only, event)),
	UNC_FIELD("!counters", BITS, UNC_AT(struct unc_regs_only, counters)),
	UNC_END,
};

/* The kernel's driver for the same registers. */
static const struct unc_field kernel_fields[] = {
	UNC_FIELD("!pmu", TEXT, BLOCK(kernel_pmu)),
	UNC_FIELD("!module", TEXT, BLOCK(kernel_module)),
	UNC_END,
};

/* ---- the bins of a histogram: their bounds and values ---- */

/* Whole cycles up to this are exact in a double. */
#define LAST_MOST 0x1p53

/* Reads a list of cycles, one for each bin. Bounds are whole numbers that increase. */
static int read_cycles(const struct unc_reader *r, const struct unc_yaml *list, size_t count,
		       bool whole, double *into)
{
	if (unc_reader_expect(r, list, UNC_YAML_LIST) < 0)
		return -EBADMSG;
	if (list->count != count)
		return unc_reader_fail(r, list, "%zu %s for %zu bins", list->count,
				       whole ? "bounds" : "values", count);
	for (size_t k = 0; k < count; k++) {
		const struct unc_yaml *at = &list->children[k];
		uint64_t cycles = 0;
		double value = 0;

		if (unc_reader_expect(r, at, UNC_YAML_TEXT) < 0)
			return -EBADMSG;
		if (whole ? unc_parse_u64(at->text, &cycles) < 0
			  : unc_parse_double(at->text, &value) < 0)
			value = -1;
		value += (double)cycles;
		if (!(value >= 0) || value >= LAST_MOST || (whole && k && value <= into[k - 1]))
			return unc_reader_fail(
				r, at,
				whole ? "bounds are whole cycles, each larger than the one before"
				      : "a bin has a value from 0 to 2^53 cycles");
		into[k] = value;
	}
	return 0;
}

static const struct unc_bounds cycles = {DBL_TRUE_MIN, LAST_MOST - 1,
					 "more than 0 and less than 2^53"};

static const struct unc_field histogram_fields[] = {
	UNC_FIELD("listed", ANY),
	UNC_FIELD("thresholds", NUMBER, UNC_AT(struct unc_regs, thresholds),
		  .most = UNC_REGS_OFFSET_MOST),
	UNC_FIELD("|last", DOUBLE, UNC_AT(struct unc_regs, last), .range = &cycles),
	UNC_FIELD("|values", ANY),
	UNC_END,
};

bool unc_regs_set_middles(struct unc_regs *r)
{
	struct unc_histogram *h = &r->histogram;

	for (size_t k = 0; r->last > 0 && k < h->count; k++)
		h->value[k] = k + 1 < h->count ? (h->lower[k] + h->lower[k + 1]) / 2 : r->last;
	return !(r->last > 0) || r->last >= h->lower[h->count - 1];
}

static int read_bins(const struct unc_reader *r, const struct unc_yaml *node, void *into)
{
	const struct unc_yaml *list = unc_yaml_get(node, "listed");
	const struct unc_yaml *values = unc_yaml_get(node, "values");
	const struct unc_yaml *last = unc_yaml_get(node, "last");
	struct unc_regs *block = into;
	struct unc_histogram *h = &block->histogram;

	for (size_t i = 0; i < block->count; i++)
		h->count += block->counters[i].role == UNC_ROLE_BIN;
	if (h->count < 2 || h->count > UNC_HISTOGRAM_BINS)
		return unc_reader_fail(r, node,
				       "a histogram has 2 to %d counters with the role 'bin', and "
				       "here are %zu",
				       UNC_HISTOGRAM_BINS, h->count);
	block->thresholds_at = unc_yaml_get(node, "thresholds");
	block->bounds_written = list && block->thresholds_at;
	for (size_t k = 0; k < h->count; k++)
		h->lower[k] = (double)k; /* until a scan reads the bounds */
	if (unc_fill(r, node, UNC_SHAPE(struct unc_regs, histogram_fields), block) < 0)
		return -EBADMSG;
	if (!list && !block->thresholds_at)
		return unc_reader_fail(r, node, "a histogram needs 'listed' or 'thresholds'");
	if (list && read_cycles(r, list, h->count, true, h->lower) < 0)
		return -EBADMSG;
	if (list && block->thresholds_at && block->bytes == 4 &&
	    h->lower[h->count - 1] > UINT32_MAX)
		return unc_reader_fail(r, list, "a register has 32 bits here");
	if (values)
		return read_cycles(r, values, h->count, false, h->value);
	if (!unc_regs_set_middles(block) && list)
		return unc_reader_fail(r, last, "the value for the last bin is below its bound");
	return 0;
}

/* ---- the whole block ---- */

struct place {
	const char *name;
	const struct unc_yaml *at; /* its offset, as written in the file */
	uint64_t offset;           /* its offset in the first instance */
};

/* Checks the place of a register. It must be aligned and lie inside the map in all instances, and
 * no register `before` may have the same place. Aligned registers of the same size overlap only if
 * they begin at the same offset. */
static int check_place(const struct unc_reader *reader, const struct place *p,
		       const struct place *before)
{
	const struct unc_regs *r = reader->context;
	const struct unc_yaml *stride = unc_yaml_get(r->file->root, "stride");
	uint64_t bytes = r->space == UNC_SPACE_MSR ? 1 : r->bytes;
	uint64_t size = r->space == UNC_SPACE_MSR ? UINT64_C(1) << 32 : r->size;
	uint64_t last = p->offset + bytes + (r->instances - 1) * r->stride;

	if (p->offset % bytes)
		return unc_reader_fail(reader, p->at, "'%s': %#llx is not aligned to its %u bytes",
				       p->name, (unsigned long long)p->offset, r->bytes);
	if (r->instances > 1 && r->stride % bytes)
		return unc_reader_fail(reader, stride,
				       "'%s' of the next instance is not aligned to its %u bytes",
				       p->name, r->bytes);
	if (last > size)
		return unc_reader_fail(
			reader, p->at,
			"'%s' lies beyond the map: it ends at %#llx%s, and the map at %#llx",
			p->name, (unsigned long long)last,
			r->instances > 1 ? " in the last instance" : "", (unsigned long long)size);
	for (; before < p; before++) {
		uint64_t distance = p->offset > before->offset ? p->offset - before->offset
							       : before->offset - p->offset;

		if (!distance)
			return unc_reader_fail(reader, p->at, "'%s' overlaps '%s' (line %d)",
					       p->name, before->name, before->at->line);
		if (r->instances > 1 && distance % r->stride == 0 &&
		    distance / r->stride < r->instances)
			return unc_reader_fail(reader, stride,
					       "'%s' of one instance overlaps '%s' of another",
					       p->name, before->name);
	}
	return 0;
}

static int check_places(const struct unc_reader *reader)
{
	const struct unc_regs *r = reader->context;
	/* Room for the second half and the control register of each counter. */
	struct place all[UNC_REGS_CONTROLS + 2 * UNC_REGS_COUNTERS + UNC_HISTOGRAM_BINS];
	size_t count = 0;
	int err = 0;

	for (size_t i = 0; i < r->control_count; i++)
		all[count++] = (struct place){r->controls[i].name,
					      unc_yaml_get(r->controls[i].at, "offset"),
					      r->controls[i].offset};
	for (const struct unc_regs_counter *c = r->counters; c < r->counters + r->count; c++) {
		const char *first = c->split ? "low" : "offset";
		const char *second = c->split ? "high" : "control";

		all[count++] = (struct place){c->name, unc_yaml_get(c->at, first), c->offset};
		if (c->split || c->programmable)
			all[count++] = (struct place){c->name, unc_yaml_get(c->at, second),
						      c->split ? c->high : c->control};
	}
	for (size_t k = 1; r->thresholds_at && k < r->histogram.count; k++)
		all[count++] =
			(struct place){"thresholds", r->thresholds_at, unc_regs_threshold(r, k)};
	for (size_t i = 0; err == 0 && i < count; i++)
		err = check_place(reader, &all[i], all);
	return err;
}

/* Checks what needs several parts of the block, after the block is read. */
static int finish_block(const struct unc_reader *reader, const struct unc_yaml *root, void *into)
{
	const struct unc_regs *r = into;
	const struct unc_regs_counter *bytes = r->roles[UNC_ROLE_BYTES];
	const struct unc_regs_counter *rate = bytes ? bytes : r->roles[UNC_ROLE_PACKETS];
	const struct unc_regs_counter *bin = r->roles[UNC_ROLE_BIN];
	const struct unc_yaml *name = unc_yaml_get(root, "block");
	const struct unc_yaml *quantity = unc_yaml_get(root, "quantity");
	const struct rule rules[] = {
		{r->programmable && !r->select.at, "counters",
		 "the key 'counter_control' is missing: the fields of the control register of a "
		 "counter"},
		{r->window == UNC_WINDOW_FREEZE && !r->use[UNC_PURPOSE_FREEZE], "window",
		 "nothing can freeze this block: 'control' needs a field with 'use: freeze'"},
		{r->window == UNC_WINDOW_SNAPSHOT && !r->use[UNC_PURPOSE_LATCH], "window",
		 "nothing can latch these counters: 'control' needs a field with 'use: latch'"},
		{r->window == UNC_WINDOW_WRITE_CLEAR && !r->use[UNC_PURPOSE_CLEAR], "window",
		 "nothing can clear these counters: 'control' needs a field with 'use: clear'"},
		{r->select.at && !r->use[UNC_PURPOSE_EVENT], "counter_control",
		 "a programmable counter needs a field with 'use: event'"},
		{r->select.at && r->window != UNC_WINDOW_FREEZE, "window",
		 "counters that are programmed begin and end together: they need 'window: freeze'"},
		{r->has_roles && !r->quantity, "",
		 "counters with roles need the key 'quantity', the first part of the names of "
		 "their metrics, such as pcie.dma"},
	};

	if (check_places(reader) < 0 || CHECK_RULES(reader, root, rules) < 0)
		return -EBADMSG;
	/* A rate needs the block's own clock, or the host's if the file asks for it. */
	if (rate && !r->clock && !r->host_clock && !(r->hz > 0 && r->all_cycles))
		return unc_reader_fail(
			reader, unc_yaml_get(rate->at, "role"),
			"missing clock for a rate of '%s': give 'clock' a 'counter', or its 'hz', "
			"which gives time only with all cycles (the roles 'active', 'busy' and "
			"'idle'), or say 'clock: host'",
			rate->name);
	if (bin && !r->histogram.count)
		return unc_reader_fail(reader, unc_yaml_get(bin->at, "role"),
				       "bins need bounds: the key 'histogram'");
	if (unc_reader_check_name(reader, name, name->text, "-", "name") < 0 ||
	    (quantity && unc_reader_check_name(reader, quantity, quantity->text, "._", "name") < 0))
		return -EBADMSG;
	return 0;
}

/* In this order, since some parts need earlier ones. */
static const struct unc_field fields[] = {
	UNC_FIELD("!block", TEXT, BLOCK(name)),
	UNC_FIELD("!title", TEXT, BLOCK(title)),
	UNC_FIELD("!instance", TEXT, BLOCK(instance)),
	UNC_FIELD("place", WORD, BLOCK(place),
		  .words = (const char *const[]){"block", "port", "link", "device", NULL}),
	UNC_FIELD("!evidence", TEXT, BLOCK(evidence)),
	UNC_FIELD("!pmu", TEXT, BLOCK(pmu), .check = check_pmu),
	UNC_FIELD("models", TEXT, BLOCK(models), .check = check_models),
	UNC_FIELD("!space", WORD, BLOCK(space),
		  .words = (const char *const[]){"mmio", "pci", "msr", NULL}),
	UNC_FIELD("!window", WORD, BLOCK(window),
		  .words = (const char *const[]){"free-running", "freeze", "read-to-clear",
						 "snapshot", "write-to-clear", NULL}),
	UNC_FIELD("access", NUMBER, BLOCK(bytes), .least = 32, .most = 64),
	UNC_FIELD("size", NUMBER, BLOCK(size), .least = 4, .most = UNC_REGS_OFFSET_MOST),
	UNC_FIELD("count", NUMBER, BLOCK(instances), .least = 1, .most = UNC_REGS_INSTANCES),
	UNC_FIELD("stride", NUMBER, BLOCK(stride), .least = 1, .most = UNC_REGS_OFFSET_MOST),
	UNC_FIELD("map", MAP, .of = UNC_SHAPE(struct unc_regs, map_fields), .check = check_map),
	UNC_FIELD("quantity", TEXT, BLOCK(quantity)),
	UNC_FIELD("clock", ANY, .check = read_clock),
	UNC_FIELD("!counters", ANY, .check = read_counters),
	UNC_FIELD("control", NAMED, UNC_LIST(struct unc_regs, controls, control_count),
		  .of = UNC_SHAPE(struct unc_regs_control, control_fields, .check = check_control),
		  .most = UNC_REGS_CONTROLS),
	/* The counter itself has the offset of its control register. */
	UNC_FIELD("counter_control", MAP, BLOCK(select),
		  .of = UNC_SHAPE(struct unc_regs_control, &control_fields[1],
				  .check = check_control)),
	UNC_FIELD("overflow", WORD, BLOCK(overflow),
		  .words = (const char *const[]){"wraps", "freezes", "freezes-all", NULL}),
	UNC_FIELD("only", LIST, UNC_LIST(struct unc_regs, only, only_count),
		  .of = UNC_SHAPE(struct unc_regs_only, only_fields)),
	UNC_FIELD("kernel", MAP, .of = UNC_SHAPE(struct unc_regs, kernel_fields)),
	UNC_FIELD("histogram", ANY, .check = read_bins),
	UNC_END,
};

int unc_regs_parse(struct unc_regs **out, struct unc_yaml_file *file, struct unc_error *e)
{
	struct unc_regs *block = calloc(1, sizeof(*block));
	struct unc_reader r = {.file = file, .e = e, .context = block};
	int err;

	if (!block) {
		unc_yaml_free(file);
		return unc_nomem(e);
	}
	block->file = file;
	block->instances = 1;
	block->narrowest = 64;
	err = unc_fill(&r, file->root, UNC_SHAPE(struct unc_regs, fields, .check = finish_block),
		       block);
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
	unc_yaml_free(r->file);
	free(r);
}

/* SPDX-License-Identifier: MIT */
/* The parts of data files about devices that count themselves: how they are found, and where they
 * have their counts. */
#include "catalogue/catalogue.h"

#include <math.h>

#define RULE(member) UNC_AT(struct unc_device_rule, member)
#define READ(member) UNC_AT(struct unc_device_read, member)
#define LAYOUT(member) UNC_AT(struct unc_device_layout, member)
#define EVENT(member) UNC_AT(struct unc_event_def, member)

int unc_device_path(const struct unc_reader *r, const struct unc_yaml *node, void *into)
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
	UNC_FIELD("!directories", TEXT, RULE(directories), .check = unc_device_path),
	UNC_FIELD("!name", TEXT, RULE(name)),
	UNC_FIELD("except", TEXT, RULE(except)),
	UNC_FIELD("only", WORDS, UNC_LIST(struct unc_device_rule, only, only_count)),
	UNC_FIELD("not", WORDS, UNC_LIST(struct unc_device_rule, not_if, not_if_count)),
	UNC_FIELD("has", TEXT, RULE(has), .check = unc_device_path),
	UNC_FIELD("package", TEXT, RULE(package), .check = unc_device_path),
	UNC_FIELD("die", TEXT, RULE(die), .check = unc_device_path),
	UNC_FIELD("module", TEXT, RULE(module)),
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
	UNC_FIELD("!file", TEXT, LAYOUT(file), .check = unc_device_path),
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

static const struct unc_bounds shares = {0, 1, "a share from 0 to 1"};

/* Where a count is. The choices are: a file, or what NVML gives. */
static const struct unc_field read_fields[] = {
	UNC_FIELD("versions", TEXT, READ(versions)),
	UNC_FIELD("cheap", BOOL, READ(cheap)),
	UNC_FIELD("off_by", DOUBLE, READ(error_share), .range = &shares),
	UNC_FIELD("own", NUMBER, READ(own), .most = 1u << 30),
	UNC_FIELD("|file", TEXT, READ(file), .check = unc_device_path),
	UNC_FIELD("line", TEXT, READ(line), .with = "file"),
	UNC_FIELD("column", NUMBER, READ(column), .with = "file", .least = 1, .most = 64),
	UNC_FIELD("bytes", NUMBER, READ(bytes), .with = "at", .least = 1, .most = 8),
	UNC_FIELD("at", NUMBER, READ(at), .with = "file", .most = 65528),
	UNC_FIELD("high", NUMBER, READ(high), .with = "at", .most = 65528),
	UNC_FIELD("values", NUMBER, READ(values), .with = "file", .least = 1, .most = 1023),
	UNC_FIELD("bits", NUMBER, READ(bits), .with = "file", .least = 8, .most = 63),
	UNC_FIELD("times", NUMBER, READ(times), .with = "file", .least = 2, .most = 1000000000),
	UNC_FIELD("attribute", NUMBER, READ(attribute), .with = "file", .most = 1023),
	UNC_FIELD("index", NUMBER, READ(index), .with = "attribute", .most = 1022),
	UNC_FIELD("|field", NUMBER, READ(field), .least = 1, .most = UINT16_MAX),
	UNC_FIELD("links", WORD, READ(links), .with = "field",
		  .words = (const char *const[]){[UNC_LINKS_NONE] = "",
						 [UNC_LINKS_ALL] = "all",
						 [UNC_LINKS_SUM] = "sum",
						 NULL},
		  .what = "links"),
	UNC_FIELD("|gpm", NUMBER, READ(gpm), .least = 1, .most = UINT16_MAX),
	UNC_FIELD("first_link", NUMBER, READ(first_link), .with = "gpm", .least = 1,
		  .most = UINT16_MAX / 2),
	UNC_FIELD("|call", WORD, READ(call),
		  .words = (const char *const[]){[UNC_NVML_NONE] = "",
						 [UNC_NVML_MEMORY_PEAK] = "memory-peak",
						 [UNC_NVML_MEMORY_BYTES] = "memory-bytes",
						 [UNC_NVML_PACKET_SIZE] = "packet-size",
						 NULL},
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
	if (read->values && ((!bytes && !read->has_attribute) || read->has_high))
		return unc_reader_fail(r, map,
				       "'values' needs 'bytes' or 'attribute', without "
				       "'high'");
	if ((bytes || read->has_attribute) && (read->line || read->column))
		return unc_reader_fail(r, map, "a binary file has no lines");
	read->times = read->times ? read->times : 1;
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

static const char *const calls[] = {
	[UNC_NVML_MEMORY_PEAK] = "NVML: the greatest clock of the memory and the width of its bus",
	[UNC_NVML_MEMORY_BYTES] =
		"NVML metric 10 of GPM, the means of the GPU's firmware: the share of "
		"the memory's greatest bandwidth, times that",
	[UNC_NVML_PACKET_SIZE] = "Max_Payload_Size in the GPU's PCI configuration space",
};

/* Where a count is, in words. */
static void describe(const struct unc_device_read *read, struct unc_text *to)
{
	if (read->file)
		unc_text_add(to, "%s", read->file);
	if (read->has_attribute)
		unc_text_add(to, ", attribute %u", read->attribute);
	else if (read->bytes)
		unc_text_add(to, ", %u byte%s at %u", read->bytes, read->bytes == 1 ? "" : "s",
			     read->at);
	else if (read->line)
		unc_text_add(to, ", line %s, column %u", read->line, read->column);
	else if (read->file)
		unc_text_add(to, ", column %u", read->column);
	if (read->field)
		unc_text_add(to, "NVML field %u%s", read->field,
			     read->links == UNC_LINKS_ALL   ? " of all links"
			     : read->links == UNC_LINKS_SUM ? " of each link"
							    : "");
	else if (read->gpm)
		unc_text_add(to, "NVML metric %u of GPM, the means of the GPU's firmware",
			     read->gpm);
	else if (read->call)
		unc_text_add(to, "%s", calls[read->call]);
	if (read->times > 1)
		unc_text_add(to, ", times %u", read->times);
	if (read->versions)
		unc_text_add(to, " (version %s)", read->versions);
	if (read->error_share > 0)
		unc_text_add(to, ", right to %u.%u %%",
			     (unsigned)lround(read->error_share * 1000) / 10,
			     (unsigned)lround(read->error_share * 1000) % 10);
}

/* Where the event is counted: the ways in the order in which they are tried, and behind them the
 * ways that cost less. */
static void describe_all(const struct unc_event_def *event, struct unc_text *to)
{
	size_t exact = 0, cheap = 0;

	for (size_t i = 0; i < event->read_count; i++) {
		if (event->reads[i].cheap)
			continue;
		unc_text_add(to, "%s", exact++ ? "; else " : "");
		describe(&event->reads[i], to);
	}
	for (size_t i = 0; i < event->read_count; i++) {
		if (!event->reads[i].cheap)
			continue;
		unc_text_add(to, "%s",
			     cheap++ ? "; else "
			     : exact ? "; without it, and in serve and top, "
				     : "");
		describe(&event->reads[i], to);
	}
}

int unc_device_event(const struct unc_reader *r, const struct unc_yaml *map, void *into)
{
	struct unc_event_def *event = into;
	struct unc_text terms = {0}, where = {0};

	if (((struct unc_family *)r->context)->source == UNC_SOURCE_KERNEL)
		return unc_reader_fail(r, map,
				       "only a family of devices has 'read': it needs 'source'");
	unc_text_add(&terms, UNC_DEVICE_TERM "=0x%llx",
		     (unsigned long long)unc_device_code(event->name));
	event->terms = unc_yaml_keep(r->file, unc_text_take(&terms));
	for (size_t i = 0; i < event->read_count; i++) {
		/* A product would not wrap where its counter does. */
		if (event->reads[i].times > 1 && !event->state)
			return unc_reader_fail(r, map, "'times' is for a state, not for a count");
	}
	describe_all(event, &where);
	event->where = unc_yaml_keep(r->file, unc_text_take(&where));
	return event->terms && event->where ? 0 : unc_nomem(r->e);
}

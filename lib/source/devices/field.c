/* SPDX-License-Identifier: MIT */
/* Numbers in text and binary files. All files may be cut off, or have anything in them. */
#include "source/source.h"

/* A line of text, or a structure of a firmware, is smaller. */
#define LEAST_ROOM 4096
/* The bits of an attribute's encoding: how often its value is there, its number and its type. */
#define ATTRIBUTE_COUNT 0x3ff
#define ATTRIBUTE_ID_SHIFT 10
#define ATTRIBUTE_ID 0x3ff
#define ATTRIBUTE_TYPE_SHIFT 20
#define ATTRIBUTE_TYPE 0xf

static uint64_t number_at(const char *data, size_t bytes)
{
	const unsigned char *at = (const unsigned char *)data;
	uint64_t value = 0;

	for (size_t i = bytes; i-- > 0;)
		value = value << 8 | at[i];
	return value;
}

/* ---- text ---- */

static const char *take_text(const struct unc_device_read *read, const char *data, uint64_t *value)
{
	static const char no_number[] = "its file has no number there";
	char word[32];
	size_t n;

	for (size_t length = read->line ? strlen(read->line) : 0;
	     read->line && (strncmp(data, read->line, length) != 0 ||
			    (data[length] && !strchr(" \t:", data[length])));
	     data += strcspn(data, "\n") + 1)
		if (!data[strcspn(data, "\n")])
			return "its file has no such line";
	for (unsigned i = 1;; i++, data += n) {
		data += strspn(data, " \t");
		n = strcspn(data, " \t\n");
		if (i == read->column)
			break;
		if (!n)
			return no_number;
	}
	if (strncmp(data, "N/A", 3) == 0)
		return "its file has 'N/A' there: the device does not give it";
	if (!n || n >= sizeof(word))
		return no_number;
	memcpy(word, data, n);
	word[n] = '\0';
	return unc_parse_u64(word, value) < 0 ? no_number : NULL;
}

/* ---- binary ---- */

static const char not_given[] = "the device does not give it: all bits of the number are set";

static bool is_given(uint64_t value, size_t bytes)
{
	return value != UINT64_MAX >> (64 - 8 * bytes);
}

/* Adds up adjacent numbers that the device gives: one of its links may not exist. */
static const char *add_up(const char *data, size_t bytes, size_t count, uint64_t *value)
{
	bool given = false;
	uint64_t sum = 0;

	for (size_t i = 0; i < count; i++) {
		uint64_t one = number_at(data + i * bytes, bytes);

		sum += is_given(one, bytes) ? one : 0;
		given |= is_given(one, bytes);
	}
	*value = given ? sum : *value;
	return given ? NULL : not_given;
}

/*
 * The list of attributes of AMD's gpu_metrics 1.9: the number of attributes behind the header of 4
 * bytes, then for each one its encoding in 8 bytes and its values, without gaps (linux
 * drivers/gpu/drm/amd/include/kgd_pp_interface.h, AMDGPU_METRICS_ENC_ATTR).
 */
static const char *take_attribute(const struct unc_device_read *read, const char *data, size_t len,
				  uint64_t *value)
{
	static const unsigned char sizes[] = {1, 1, 2, 2, 4, 4, 8, 8};
	static const char cut[] = "its file ends before it";
	size_t at = 8, values = read->values ? read->values : 1;

	if (len < at)
		return cut;
	for (uint64_t left = number_at(data + 4, 4); left; left--) {
		uint64_t encoding;
		size_t type, count;

		if (len - at < 8)
			return cut;
		encoding = number_at(data + at, 8);
		count = encoding & ATTRIBUTE_COUNT;
		type = encoding >> ATTRIBUTE_TYPE_SHIFT & ATTRIBUTE_TYPE;
		at += 8;
		if (type >= sizeof(sizes))
			return "its file has an attribute of an unknown type before it";
		if ((len - at) / sizes[type] < count)
			return cut;
		if ((encoding >> ATTRIBUTE_ID_SHIFT & ATTRIBUTE_ID) == read->attribute) {
			if (read->index >= count)
				return "the attribute has fewer values";
			count -= read->index;
			return add_up(data + at + (size_t)read->index * sizes[type], sizes[type],
				      count < values ? count : values, value);
		}
		at += count * sizes[type];
	}
	return "its file does not have the attribute";
}

static const char *take_binary(const struct unc_device_read *read, const char *data, size_t len,
			       uint64_t *value)
{
	size_t count = read->values ? read->values : 1, size = count * read->bytes;
	uint64_t whole;

	if (len < size || len - size < read->at || (read->has_high && len - size < read->high))
		return "its file ends before it";
	if (!read->has_high)
		return add_up(data + read->at, read->bytes, count, value);
	whole = number_at(data + read->high, 4) << 32 | number_at(data + read->at, 4);
	*value = is_given(whole, 8) ? whole : *value;
	return is_given(whole, 8) ? NULL : not_given;
}

const char *unc_field_take(const struct unc_device_read *read,
			   const struct unc_device_layout *layout, const char *data, size_t len,
			   uint64_t *value)
{
	char version[64];
	size_t size;

	if (!read->bytes && !read->has_attribute)
		return take_text(read, data, value);
	if (layout && layout->binary && strcmp(layout->file, read->file) == 0) {
		if (len < 2 || len - 2 < layout->size)
			return "its file ends before it";
		/* The device may have come back with another firmware. */
		if (!unc_device_version(layout, data, len, version) ||
		    !unc_device_has_version(read, version))
			return "its file does not have the version that it had";
		size = (size_t)number_at(data + layout->size, 2);
		len = size < len ? size : len;
	}
	return read->has_attribute ? take_attribute(read, data, len, value)
				   : take_binary(read, data, len, value);
}

size_t unc_field_room(const struct unc_device_read *read)
{
	size_t last = read->has_high && read->high > read->at ? read->high : read->at;

	last += (size_t)(read->values ? read->values : 1) * read->bytes;
	return last > LEAST_ROOM ? last : LEAST_ROOM;
}

/* SPDX-License-Identifier: MIT */
/* Numbers in text and binary files. All files may be cut off, or have anything in them. */
#include "source/devices/field.h"

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
	if (!n || n >= sizeof(word))
		return no_number;
	memcpy(word, data, n);
	word[n] = '\0';
	return unc_parse_u64(word, value) < 0 ? no_number : NULL;
}

/* ---- binary ---- */

static const char *check_ones(uint64_t value, size_t bytes)
{
	return value == UINT64_MAX >> (64 - 8 * bytes)
		       ? "the device does not give it: all bits of the number are set"
		       : NULL;
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
	size_t at = 8;

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
			*value = number_at(data + at + read->index * sizes[type], sizes[type]);
			return check_ones(*value, sizes[type]);
		}
		at += count * sizes[type];
	}
	return "its file does not have the attribute";
}

static const char *take_binary(const struct unc_device_read *read, const char *data, size_t len,
			       uint64_t *value)
{
	if (len < read->bytes || len - read->bytes < read->at ||
	    (read->has_high && len - read->bytes < read->high))
		return "its file ends before it";
	*value = number_at(data + read->at, read->bytes);
	if (!read->has_high)
		return check_ones(*value, read->bytes);
	*value |= number_at(data + read->high, 4) << 32;
	return check_ones(*value, 8);
}

const char *unc_field_take(const struct unc_device_read *read,
			   const struct unc_device_layout *layout, const char *data, size_t len,
			   uint64_t *value)
{
	size_t size;

	if (!read->bytes && !read->has_attribute)
		return take_text(read, data, value);
	if (layout && layout->binary) {
		if (len < 2 || len - 2 < layout->size)
			return "its file ends before it";
		size = (size_t)number_at(data + layout->size, 2);
		len = size < len ? size : len;
	}
	return read->has_attribute ? take_attribute(read, data, len, value)
				   : take_binary(read, data, len, value);
}

bool unc_field_version(const struct unc_device_layout *layout, const char *data, size_t len,
		       char into[static 64])
{
	size_t n = strcspn(data, "\n");

	if (!layout->binary) {
		snprintf(into, 64, "%.*s", (int)(n < 63 ? n : 63), data);
		return n;
	}
	if (len < 2 || len - 2 < layout->version)
		return false;
	snprintf(into, 64, "%u.%u", (unsigned)(unsigned char)data[layout->version],
		 (unsigned)(unsigned char)data[layout->version + 1]);
	return true;
}

size_t unc_field_room(const struct unc_device_read *read)
{
	size_t last = read->has_high && read->high > read->at ? read->high : read->at;

	return last + read->bytes > LEAST_ROOM ? last + read->bytes : LEAST_ROOM;
}

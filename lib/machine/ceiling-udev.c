/* SPDX-License-Identifier: MIT */
/* Memory modules from udev's record of dmi/id: what dmi_memory_id(8) of systemd reads of the SMBIOS
 * table, which only root may read. */
#include "base/ascii.h"
#include "base/text.h"
#include "machine/ceiling.h"

#include <errno.h>
#include <string.h>

#define KEY "E:MEMORY_DEVICE_"

struct line {
	size_t module;
	const char *key, *value;
	size_t key_len, value_len;
};

/* "E:MEMORY_DEVICE_12_DATA_WIDTH=64": false for other lines. */
static bool take_line(const char *text, size_t len, struct line *out)
{
	const char *at = text + strlen(KEY), *end = text + len;
	const char *equals = memchr(text, '=', len);

	if (len <= strlen(KEY) || strncmp(text, KEY, strlen(KEY)) != 0 || !equals)
		return false;
	for (out->module = 0; unc_is_digit(*at) && out->module < 100000; at++)
		out->module = out->module * 10 + (size_t)(*at - '0');
	if (*at++ != '_' || at > equals)
		return false;
	*out = (struct line){out->module, at, equals + 1, (size_t)(equals - at),
			     (size_t)(end - equals - 1)};
	return true;
}

static bool is_key(const struct line *line, const char *key)
{
	return line->key_len == strlen(key) && memcmp(line->key, key, line->key_len) == 0;
}

static void take_value(struct unc_module *m, const struct line *line)
{
	uint64_t number = 0;
	char value[64];

	unc_module_name(value, line->value, line->value_len);
	if (unc_parse_u64(value, &number) < 0 || number > UINT32_MAX)
		number = is_key(line, "SIZE"); /* that in bytes may be larger */
	if (number == 0xffff) /* stands for larger speeds, which this does not tell */
		number = 0;
	if (is_key(line, "SIZE"))
		m->present = number != 0;
	else if (is_key(line, "LOCATOR"))
		memcpy(m->locator, value, sizeof(value));
	else if (is_key(line, "BANK_LOCATOR"))
		memcpy(m->bank, value, sizeof(value));
	else if (is_key(line, "DATA_WIDTH"))
		m->width = (unsigned)number;
	else if (is_key(line, "SPEED_MTS"))
		m->rated = (unsigned)number;
	else if (is_key(line, "CONFIGURED_SPEED_MTS"))
		m->configured = (unsigned)number;
	else if (is_key(line, "TYPE"))
		m->kind = unc_module_kind_of(value);
	else if (is_key(line, "MEMORY_TECHNOLOGY") &&
		 (strncmp(value, "Intel", 5) == 0 || strcmp(value, "NVDIMM-F") == 0 ||
		  strcmp(value, "NVDIMM-P") == 0))
		m->kind = unc_module_kind_of("Logical non-volatile device");
}

/* The entry of a module, which may be the first that is told of it. */
static struct unc_module *entry(struct unc_modules *all, size_t module, struct unc_error *e)
{
	while (all->count <= module)
		if (unc_modules_add(all, &(struct unc_module){0}, e) < 0)
			return NULL;
	return &all->items[module];
}

int unc_modules_udev(struct unc_modules *out, const char *text, struct unc_error *e)
{
	struct unc_modules all = {0};
	size_t kept = 0, len;
	struct line line;

	for (const char *at = text; *at; at += len + (at[len] == '\n')) {
		struct unc_module *m;

		len = strcspn(at, "\n");
		if (!take_line(at, len, &line))
			continue;
		m = entry(&all, line.module, e);
		if (!m) {
			unc_modules_finish(&all);
			return -EBADMSG;
		}
		take_value(m, &line);
	}
	for (size_t i = 0; i < all.count; i++)
		if (unc_module_is_dram(all.items[i].kind))
			all.items[kept++] = all.items[i];
	all.count = kept;
	*out = all;
	return 0;
}

/* SPDX-License-Identifier: MIT */
/* Memory modules, as an SMBIOS table and as udev's record: what is made of them is safe to print and
 * to divide by. The first byte tells sockets and PMUs. */
#include "machine/topology.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds)
{
	if (!holds)
		abort();
}

static void check(struct unc_modules *m, size_t sockets, size_t pmus)
{
	struct uncore_memory found = {.channels = 77};
	struct unc_error e = {0};
	int r = unc_memory_peak(&found, m, sockets, pmus, &e);

	for (size_t i = 0; i < m->count; i++)
		require(unc_module_is_dram(m->items[i].kind));
	if (r == 0) {
		require(found.channels >= 1 && found.channels * sockets <= found.modules);
		require(!pmus || found.channels <= pmus ||
			found.modules == found.channels * sockets);
		require(found.modules <= m->count && found.peak > 0 && found.transfers > 0);
	} else {
		require(r == -ENODATA && e.text[0] && found.channels == 77);
	}
	unc_modules_finish(m);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	size_t sockets, pmus;
	struct unc_modules m;
	struct unc_error e = {0};
	char *text;

	if (!size)
		return 0;
	sockets = 1 + (data[0] & 3);
	pmus = data[0] >> 4;
	if (unc_modules_smbios(&m, data + 1, size - 1, &e) == 0)
		check(&m, sockets, pmus);
	else
		require(e.text[0]);
	text = calloc(size, 1);
	require(text);
	memcpy(text, data + 1, size - 1);
	if (unc_modules_udev(&m, text, &e) == 0)
		check(&m, sockets, pmus);
	free(text);
	return 0;
}

/* SPDX-License-Identifier: MIT */
/* Snapshots: what is printed of one that parses parses again and prints the same. */

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "machine/root.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds)
{
	if (!holds)
		abort();
}

/* Each path can be asked for, through links, too. */
static void read_all(const struct unc_tree *t, const char *text, size_t len)
{
	struct unc_root *r;

	require(unc_root_open_text(&r, "fuzz", text, len, NULL) == 0);
	for (size_t i = 0; i < t->count && i < 100; i++) {
		struct unc_names names = {0};
		char *contents = NULL;
		size_t n;

		if (unc_root_read_bytes(r, t->entries[i].path, 100, &contents, &n) == 0)
			require(contents && n <= 100);
		if (unc_root_list(r, t->entries[i].path, &names) == 0)
			unc_names_finish(&names);
		free(contents);
	}
	unc_root_free(r);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct unc_text first = {0}, second = {0};
	struct unc_tree t, again;
	struct unc_error e = {0};

	if (unc_snapshot_parse(&t, "fuzz", (const char *)data, size, &e) < 0) {
		require(strncmp(e.text, "fuzz:", 5) == 0);
		return 0;
	}
	read_all(&t, (const char *)data, size);
	unc_snapshot_print(&t, &first);
	require(unc_snapshot_parse(&again, "printed", first.data, first.len, NULL) == 0);
	unc_snapshot_print(&again, &second);
	require(first.len == second.len && memcmp(first.data, second.data, first.len) == 0);
	unc_text_finish(&first);
	unc_text_finish(&second);
	unc_tree_finish(&t);
	unc_tree_finish(&again);
	return 0;
}

/* SPDX-License-Identifier: MIT */
/* What may explain that two machines give different numbers: CPU, kernel, firmware, memory, NUMA
 * nodes, PCIe links. */
#ifndef CLI_RECORDING_MACHINES_H
#define CLI_RECORDING_MACHINES_H

#include <stddef.h>

#include "base/buffer.h"
#include "base/json.h"
#include "uncore.h"

struct facts {
	struct fact {
		char *name, *value;
	} * items;
	size_t count;
};

/* Adds a fact, formatted as printf() does. */
void facts_add(struct facts *f, const char *name, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* Reads those of a machine. */
void facts_read(struct facts *f, struct uncore *u);
void facts_free(struct facts *f);

/* Prints the facts that differ, and the names of the others. */
void facts_print(const struct facts *a, const struct facts *b, struct buffer *to);
/* A list of all: name, a, b (null: that machine does not have it), differs. */
json_t *facts_document(const struct facts *a, const struct facts *b);

#endif

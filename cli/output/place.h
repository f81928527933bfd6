/* SPDX-License-Identifier: MIT */
/* The place of a row: its members for programs, and its text for people. */
#ifndef CLI_PLACE_H
#define CLI_PLACE_H

#include <stdbool.h>

#include "base/json.h"
#include "uncore.h"

/* In the order of labels for Prometheus. */
enum place_index {
	PLACE_SOCKET,
	PLACE_NODE,
	PLACE_CHANNEL,
	PLACE_PORT,
	PLACE_ROLE,
	PLACE_PMU,
	PLACE_CPU,
	PLACE_PLACED, /* new members are added from here on: their fields end a record */
	PLACE_DEVICE = PLACE_PLACED,
	PLACE_NAMES, /* of the device, or of those below the port */
	PLACE_LEVEL, /* "channel": sums over channels have other levels */
	PLACE_COUNT,
};

struct place_member {
	const char *name; /* the name of its field */
	bool follows;     /* from another member: it is no label of a series */
	/* Its label for Prometheus; NULL: its name. */
	const char *(*label)(const struct uncore_row_place *place);
};

extern const struct place_member place_members[PLACE_COUNT];

struct value place_value(const struct uncore_row_place *place, enum place_index member);
/* Appends the members from PLACE_PLACED on to the fields of a record, which must have room. */
void place_add(const struct uncore_row_place *place, struct field *fields);

/* Whether two rows have the same port, socket, node, CPU and PMU. */
bool out_same_place(const struct uncore_row_place *a, const struct uncore_row_place *b);
/* "port 0000:00:01.0", "uncore_imc_0, CPU 3", "socket 1, channel 2", "socket 1" ... "all" */
void out_place(struct buffer *to, const struct uncore_row_place *place);
/* Whether the row covers the whole machine. */
bool out_is_everywhere(const struct uncore_row_place *place);

#endif

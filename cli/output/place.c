/* SPDX-License-Identifier: MIT */
#include "output/place.h"

#include "base/cli.h"

/* ---- the members ---- */

/* The unit that the member `channel` numbers. */
static const char *channel_label(const struct uncore_row_place *place)
{
	const char *kind = place->pmu ? uncore_pmu_place(place->pmu) : NULL;

	return cli_same(kind, "controller") || cli_same(kind, "package-controller") ? "controller"
										    : "channel";
}

const struct place_member place_members[PLACE_COUNT] = {
	[PLACE_SOCKET] = {"socket", false, NULL},
	[PLACE_NODE] = {"node", false, NULL},
	[PLACE_CHANNEL] = {"channel", false, channel_label},
	[PLACE_PORT] = {"port", false, NULL},
	[PLACE_ROLE] = {"role", false, NULL},
	[PLACE_PMU] = {"pmu", false, NULL},
	[PLACE_CPU] = {"cpu", false, NULL},
	[PLACE_DEVICE] = {"device", false, NULL},
	[PLACE_NAMES] = {"names", true, NULL},
	[PLACE_LEVEL] = {"level", true, NULL},
};

static const char *level_of(const struct uncore_row_place *place)
{
	return place->port                                      ? "port"
	       : place->pmu && uncore_pmu_is_device(place->pmu) ? "device"
	       : place->channel >= 0                            ? "channel"
	       : place->pmu                                     ? "pmu"
	       : place->cpu >= 0                                ? "cpu"
	       : place->node >= 0                               ? "node"
	       : place->socket >= 0                             ? "socket"
								: "machine";
}

struct value place_value(const struct uncore_row_place *place, enum place_index member)
{
	switch (member) {
	case PLACE_SOCKET:
		return value_id(place->socket);
	case PLACE_NODE:
		return value_id(place->node);
	case PLACE_CHANNEL:
		return value_id(place->channel);
	case PLACE_PORT:
		return value_text(place->port ? place->port->address : NULL);
	case PLACE_ROLE:
		return value_text(place->role);
	case PLACE_PMU:
		return value_text(place->pmu ? uncore_pmu_name(place->pmu) : NULL);
	case PLACE_CPU:
		return value_id(place->cpu);
	case PLACE_DEVICE:
		return value_text(place->device ? place->device->address : NULL);
	case PLACE_NAMES:
		if (place->tasks)
			return value_text(*place->tasks ? place->tasks : NULL);
		return value_text(place->port     ? place->port->below
				  : place->device ? place->device->names
						  : NULL);
	case PLACE_LEVEL:
		return value_text(level_of(place));
	default:
		return value_none();
	}
}

void place_add(const struct uncore_row_place *place, struct field *fields)
{
	while (fields->name)
		fields++;
	for (int i = PLACE_PLACED; i < PLACE_COUNT; i++)
		*fields++ = (struct field){place_members[i].name,
					   place_value(place, (enum place_index)i)};
}

/* ---- for people ---- */

bool out_same_place(const struct uncore_row_place *a, const struct uncore_row_place *b)
{
	return a->port == b->port && a->socket == b->socket && a->node == b->node &&
	       a->cpu == b->cpu && a->pmu == b->pmu;
}

bool out_is_everywhere(const struct uncore_row_place *place)
{
	return !place->port && !place->pmu && place->cpu < 0 && place->node < 0 &&
	       place->socket < 0;
}

/* The word in front of the number of a channel. */
static const char *channel_word(const struct uncore_pmu *pmu)
{
	const char *kind = uncore_pmu_place(pmu);

	if (cli_same(kind, "channel") || cli_same(kind, "controller"))
		return kind;
	return cli_same(kind, "subchannel") ? "sub-channel" : uncore_pmu_instance(pmu);
}

void out_place(struct buffer *to, const struct uncore_row_place *place)
{
	if (place->port)
		buffer_printf(to, "port %s", place->port->address);
	else if (place->channel >= 0 && place->socket >= 0)
		buffer_printf(to, "socket %d, %s %d", place->socket, channel_word(place->pmu),
			      place->channel);
	else if (place->pmu && place->cpu >= 0 && uncore_pmu_cpu_count(place->pmu) > 1)
		buffer_printf(to, "%s, CPU %d", uncore_pmu_name(place->pmu), place->cpu);
	else if (place->pmu)
		buffer_puts(to, uncore_pmu_name(place->pmu));
	else if (place->cpu >= 0)
		buffer_printf(to, "CPU %d", place->cpu);
	else if (place->node >= 0)
		buffer_printf(to, "node %d", place->node);
	else if (place->socket >= 0)
		buffer_printf(to, "socket %d", place->socket);
	else
		buffer_puts(to, "all");
}

/* SPDX-License-Identifier: MIT */
/* What a person sees of a machine: the lines of each view (data/names/views.yaml), one for the
 * machine, each socket, memory channel, PCIe port or device, and link. Tables, `top` and the pages
 * draw it. It is made once, of the first rows. Later rows have the same numbers. */
#ifndef CLI_SCREEN_H
#define CLI_SCREEN_H

#include <stdbool.h>
#include <stddef.h>

#include "base/json.h"
#include "uncore.h"

#define SCREEN_NONE SIZE_MAX

enum screen_kind {
	SCREEN_MACHINE,
	SCREEN_SOCKET,
	SCREEN_NODE,
	SCREEN_CHANNEL, /* a memory channel or controller */
	SCREEN_PORT,    /* a root port, which is named after its device if it has one */
	SCREEN_DEVICE,  /* what a device counts itself */
	SCREEN_LINK,    /* the links to one other end */
	SCREEN_UNIT,    /* another PMU, or a CPU */
};

struct screen_line {
	const struct uncore_view *view;
	enum screen_kind kind;
	size_t parent; /* a line before this one; SCREEN_NONE: none */
	unsigned depth;
	int number;   /* of the part that is in the metric's name; -1: none */
	char *label;  /* "socket 0", "channel 3", "nvme0" */
	char *detail; /* "Samsung PM9A3, 0000:17:00.0", "8 GT/s x4"; "": none */
	const struct uncore_row_place *place; /* of its first row; borrowed */
	const struct uncore_device *device;   /* the root port, or the device; NULL: none */
	bool uncertain; /* which PMU counts the devices in the label is uncertain */
	size_t rows[UNCORE_TABLE_COLUMNS]; /* row numbers; SCREEN_NONE: no such metric */
};

struct screen {
	struct screen_line *lines; /* grouped by view, each line after its parent */
	size_t count;
};

/* A row by its number in the present interval. */
typedef const struct uncore_row *screen_row_at(const void *context, size_t i);

struct screen_rows {
	screen_row_at *at;
	const void *context; /* of `at` */
	size_t count;
	/* Lines of the views of this table, each sum as well; NULL: of the views of screens. */
	const char *table;
};

/* Makes the lines of rows. The machine, and the places of the rows, must stay until
 * screen_free(). */
void screen_make(struct screen *s, struct uncore *u, const struct screen_rows *rows);
void screen_free(struct screen *s);

/* The row of a cell; NULL: the line does not have this column. */
const struct uncore_row *screen_row(const struct screen_line *line, const struct screen_rows *rows,
				    enum uncore_column column);
/* The largest share of a ceiling of the line's traffic, else the metric of the column SHARE; NaN:
 * unknown. */
double screen_share(const struct screen_line *line, const struct screen_rows *rows);
/* The traffic in both directions: the column TOTAL, else the sum of IN and OUT; NaN: unknown. */
double screen_traffic(const struct screen_line *line, const struct screen_rows *rows);
/* The worst quality of the line's cells, and its reason (may be NULL). A latency, or a ratio, is
 * unavailable where nothing moves: this does not count. */
enum uncore_quality screen_quality(const struct screen_line *line, const struct screen_rows *rows,
				   const char **reason);
/* Whether next to nothing moves: less than 0.1 % of the ceiling, or 100 kB/s without one; of other
 * units nothing. */
bool screen_is_idle(const struct screen_line *line, const struct screen_rows *rows);
/* Whether it is a sum over places, which is shown even when it is idle. */
bool screen_is_sum(const struct screen_line *line);
/* Whether an overview has the same in another line: the only device of a port is the port (unless
 * it is uncertain which port counts it), and the only PMU is the sum above it. Such a line is not
 * one of the idle places either. */
bool screen_is_double(const struct screen *s, size_t line);
/* Whether the line is of a device that moves bytes in another line. */
bool screen_moves_elsewhere(const struct screen *s, const struct screen_line *line,
			    const struct screen_rows *rows);
/* The line that has the largest share of all places that are no sums; SCREEN_NONE: no share is
 * known. */
size_t screen_hottest(const struct screen *s, const struct screen_rows *rows);
/* Sorts the numbers of lines: the busiest place first, each before the places below it. Sockets,
 * nodes and channels keep their order. */
void screen_sort(const struct screen *s, const struct screen_rows *rows, size_t *lines,
		 size_t count);

/* The views and lines as a document for the pages: uncore-serve(8), SCREEN. NULL: out of
 * memory. */
json_t *screen_document(const struct screen *s);

#endif

/* SPDX-License-Identifier: MIT */
/* Values for people, and aligned columns of text. */
#ifndef CLI_TABLE_H
#define CLI_TABLE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buffer.h"
#include "base/terminal.h"

#define TABLE_COLUMNS 20

/* "12.34" "GB/s", and "12.34 GB/s" */
struct human {
	char number[40];
	char unit[32];
	char text[80];
};

enum units {
	UNITS_SI,  /* the default */
	UNITS_IEC, /* bytes with powers of 1024: GiB/s */
	UNITS_RAW, /* base units without prefix or separators */
	UNITS_COUNT,
};

/* Chooses the prefix: B/s becomes GB/s (1e9), s becomes ns, ratio becomes %; a plain count ("") and
 * units of the kernel keep theirs and get thousands separators. "-" when not finite. */
struct human human_in(double value, const char *unit, enum units units);
/* The same in the units of human_set_units(), for a sentence: human(rate, "B/s").text. */
struct human human(double value, const char *unit);

/* A reason of the library with its numbers as values are printed: "25000000000 B/s" becomes "25.00
 * GB/s". */
void human_text(struct buffer *to, const char *text);

/* Those of human() from now on: "si", "iec", "raw"; false: none of them. */
bool human_set_units(const char *name);

enum {
	TABLE_RIGHT = 1, /* aligned to the right */
	/* On a terminal that is too narrow for all columns, before any other but the first goes
	 * below, too: */
	TABLE_BELOW = 2, /* cells go below their row, with the title */
	TABLE_ALONE =
		4, /* a cell that is too long has a line of its own, the rest of its row follows */
	/* The width of a column of a steady table that has anything in it: */
	TABLE_RATE = 10 << 4, /* "999.9 GB/s" */
	TABLE_TIME = 8 << 4,  /* "999.9 ns" */
};

struct table_column {
	const char *title;
	int traits; /* the above; true: TABLE_RIGHT */
};

struct table {
	const struct table_column *columns; /* until one without title */
	size_t column_count;
	size_t widths[TABLE_COLUMNS]; /* only grow, so that interval after interval lines up */
	size_t shown[TABLE_COLUMNS];  /* what the terminal has room for of them */
	struct buffer cells;          /* NUL-terminated texts; a note ends each row */
	const char *alone;            /* the latest text that had a line of its own */
	size_t at;                    /* cell of the current row that comes next */
	bool titled;
	bool steady; /* printed again and again: the widths leave room for values to come */
	/* A text of the last column that makes a line longer than text_columns() goes below. */
	bool flows;
};

/* `columns` ends with an entry without title and must outlive the table. */
void table_init(struct table *t, const struct table_column *columns);
void table_free(struct table *t);
/* Freed where its block ends. */
#define auto_table __attribute__((cleanup(table_free))) struct table

/* The next cell of the current row. It is cleaned. */
void table_cell(struct table *t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Ends the row. A note stands behind it when the line keeps to text_columns(), else below it. */
void table_end_row(struct table *t, const char *note);

/* Appends the rows and clears them; titles come before the first ones. Columns that never held
 * anything are left out. */
void table_print(struct table *t, struct buffer *to);

#endif

/* SPDX-License-Identifier: MIT */
/* The outputs: text, CSV, JSON ... An output appends text to a buffer, and depends on no metric,
 * vendor or source. A new one is a file and a row of `outputs` in output.c. */
#ifndef CLI_OUTPUT_H
#define CLI_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buffer.h"
#include "base/cli.h"
#include "base/json.h"
#include "base/table.h"
#include "loop/sink.h"
#include "output/cells.h"
#include "output/place.h"
#include "uncore.h"

struct out;
struct grids;
struct windows;

/* An output for programs has `record`, an output for people only `window`. With both, it has one
 * record for each interval, and excludes rounds, runs and totals. */
struct output {
	/* "csv=wide" is a form of "csv", which the value of the option --csv selects. */
	const char *name;
	int key; /* the letter of its option --NAME; 0: there is no short option */
	/* The help of the option; NULL: there is no option, and a preset or default selects it. */
	const char *doc;
	/* Prints a record of these fields; NULL: that of out->row. */
	void (*record)(struct out *out, const struct field *fields);
	/* Puts a cell of a record. */
	void (*put)(struct out *out, const struct field *field);
	/* Prints a document, which contains lists and objects, and frees it; NULL: this output has
	 * only flat records. */
	void (*document)(json_t *document, struct buffer *to);
	/* Prints the head before the first window. Frees `about`, which describes the machine.
	 * NULL: there is no head. */
	void (*begin)(struct out *out, json_t *about);
	/* Prints all rows of a window. */
	void (*window)(struct out *out);
	const struct view *view;  /* for view_output_window(): view.h */
	const char *form;         /* a value of its option that selects another output, or NULL */
	const char *const *sorts; /* keys of --sort, first the default; NULL: it has no order */
	/* A bit for each level of rows that its table has at the same time; 0: one level. */
	unsigned levels;
	enum uncore_level device_level; /* of devices that count themselves; 0: as others */
	/* Appends what the table has of several rows to the fields of a row's record, where a
	 * preset with this output is printed as records. `texts` keeps them. NULL: nothing. */
	void (*add)(const struct out *out, const struct uncore_row *row, struct field *fields,
		    struct buffer *texts);
	bool extra; /* it has a picture of the machine, from rows of request.extra */
};

extern const struct output outputs[];
extern const size_t output_count;
const struct output *output_find(const char *name);

/* The same for all windows. */
struct out_setup {
	struct uncore *machine;
	const char *source;
	bool simulated;
	bool intervals;           /* there are several windows */
	bool timestamp;           /* text has their dates, and not the time since the start */
	enum uncore_level level;  /* of the request; MACHINE for all levels of an output */
	const char *sort;         /* a key of output->sorts; NULL: the first */
	const char *host;         /* NULL: unknown, or a simulation */
	const char *separator;    /* between the cells of CSV */
	bool header;              /* the header line of CSV is not yet printed */
	const char *command;      /* that is counted, for text; NULL: there is no command */
	const char *command_line; /* the command line of uncore */
	const char *recorded;     /* the command line of a recording; NULL: it is not known */
	const struct uncore_device *port; /* the root port of --check; NULL: none */
	const struct output *table;       /* the preset's own output; NULL: none */
	size_t lines_above; /* that the command has printed, of a text that is to fit a screen */
};

struct out_row {
	const struct uncore_row *row;
	const struct uncore_distribution *distribution; /* NULL: no short samples */
	/* The row is its row `index`; NULL: it is a mean of several runs. */
	const struct uncore_sample *sample;
	size_t index;
	double spread; /* the standard error of a mean, divided by the mean; NaN: it is no mean */
};

#define OUT_METRIC_ROOM 64

struct out {
	const struct output *output;
	struct out_setup setup;
	struct frame frame;
	char date[DATE_ROOM]; /* the date of its end */
	struct buffer *to;
	bool labelled; /* the warning of a simulation is printed */
	bool begun;    /* a window has been printed */
	int status;    /* exit status that follows from the last window */
	/* Kept for all windows, so that columns keep their widths: */
	struct table table, below;
	struct grids *grids;
	/* Columns of the table that are metrics: make_columns() in view.c. */
	struct table_column columns[TABLE_COLUMNS + 1];
	struct out_metric {
		char name[OUT_METRIC_ROOM], title[40];
	} metrics[TABLE_COLUMNS];
	size_t metric_count;
	struct out_html {
		uint64_t written;      /* windows so far */
		struct buffer quality; /* windows_quality() of the last window */
		struct windows *next;
	} html;
	struct buffer said;   /* texts of out_once() so far, each with a NUL */
	struct buffer cell;   /* a text that is being made */
	struct out_row *rows; /* of this window */
	size_t row_count, row_room;
	const struct out_row *row; /* whose record is printed; NULL: the record is of no row */
	/* Kept texts of parts of records: for each row, and for all rows of a window. */
	struct cells *cells;
	size_t cell_count;
	struct buffer shared[OUT_SHARED];
	bool names; /* cells are the names of their fields: the header line of CSV */
};

void out_free(struct out *out);

/* A window: first each of its rows, which must stay valid until out_print() returns. */
void out_row(struct out *out, struct out_row row);
void out_print(struct out *out, const struct frame *frame);

/* ---- parts that text outputs share: text.c ---- */

/* Warns that a machine is simulated; nothing for a real one. */
void out_text_simulated(const struct uncore *u, struct buffer *to);
/* Announces the number of rounds and their length in seconds. */
void out_text_rounds(struct out *out, size_t rounds, double seconds);
/* The head of a window: the warning of a simulation, the filter, the length of the window. */
void out_text_header(struct out *out);
/* The time at the end of the window, if there are several windows. */
void out_text_time(struct out *out);
/* Makes the table at the first window. */
void out_table(const struct out *out, struct table *t, const struct table_column *columns);
/* Prints a legend at the first call with this text. */
void out_once(struct out *out, const char *text);
/* Prints the reasons of rows that are not "measured", each once in all windows. `place`: of its
 * rows only; NULL: of all rows. */
void out_reasons(struct out *out, const struct uncore_row_place *place);
/* The mark of a quality: "~" for scaled, "!" for partial or suspect, "" for others. */
const char *out_mark(enum uncore_quality quality);
/* Puts a cell with the value, its unit and the mark of its quality. */
void out_value(struct table *t, const struct uncore_row *row);
/* Puts a cell with a share of the maximum, coloured by load; an empty cell for NaN. */
void out_share(struct table *t, double share);
/* Puts a line for each row. Only out->table has the time in it. */
void out_text_rows(struct out *out, struct table *t);
/* Removes one of two rows of a latency, in seconds and in clocks: the clocks, unless the seconds
 * are suspect. Documents contradict each other on the unit that Zen 4 counts. */
void out_choose_latencies(struct out *out);
/* True when the window has rows of the same name from another family. */
bool out_has_namesake(const struct out *out, const struct uncore_row *row);
bool out_same_query(const struct uncore_row *a, const struct uncore_row *b);
void out_place_cell(struct table *t, const struct uncore_row_place *place);

/* Puts a cell with what two rows of sums per second counted while the command ran. One of them may
 * be NULL. */
void out_amount(const struct out *out, struct table *t, const struct uncore_row *a,
		const struct uncore_row *b);
/* The rows of the window, for the lines of a table or (NULL) of screens. */
struct screen_rows out_screen_rows(const struct out *out, const char *table);

/* ---- grid.c ---- */

void grids_free(struct grids *g);

/* ---- ports.c ---- */

/* Whether two rows have the same port, or the same place where there is no port. PMUs of several
 * families can count one port. */
bool out_same_port(const struct uncore_row_place *a, const struct uncore_row_place *b);

/* ---- short samples: samples.c ---- */

#define OUT_UNIT_ROOM 64

/* Sets the unit of a metric's value or an event's rate. Where the kernel's unit is a multiple of
 * bytes, it is B/s. Returns the factor from the kernel's unit to this one. */
double out_rate_unit(const struct uncore_row *row, char unit[OUT_UNIT_ROOM]);
/* The same factor. */
double out_rate_scale(const struct uncore_row *row);
/* "3.0 % above 80.00 GB/s, longest 3.000 ms", as a share of `seconds`; nothing without a
 * threshold. */
void out_bursts(struct buffer *to, const struct uncore_distribution *d, const char *unit,
		double seconds);
/* Appends fields of the short samples to the fields of a row. A row has less than OUT_FIELDS_ROOM
 * fields with them. */
void out_add_distribution(struct out *out, const struct uncore_distribution *d, double scale,
			  struct field *row);

/* ---- the functions of `outputs`, each in the file of its name ---- */

void csv_output_record(struct out *out, const struct field *fields);
void csv_output_put(struct out *out, const struct field *field);
void wide_output_window(struct out *out);
void json_output_record(struct out *out, const struct field *fields);
void json_output_put(struct out *out, const struct field *field);
void json_output_document(json_t *document, struct buffer *to);
void html_output_begin(struct out *out, json_t *about);
void html_output_window(struct out *out);
void text_output_window(struct out *out);
void grid_output_window(struct out *out);
void view_output_window(struct out *out);
extern const char *const ports_sorts[], *const grid_sorts[];
void check_output_window(struct out *out);
void ends_output_window(struct out *out);
void ends_add_fields(const struct out *out, const struct uncore_row *row, struct field *fields,
		     struct buffer *texts);
void matrix_output_window(struct out *out);
void samples_output_window(struct out *out);
void screens_output_window(struct out *out);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * The forms of output: text, CSV, JSON ... An output appends to a buffer and knows nothing of
 * metrics, vendors or sources. A new one is a file and a row of `outputs` in output.c.
 */
#ifndef CLI_OUTPUT_H
#define CLI_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buffer.h"
#include "base/cli.h"
#include "base/json.h"
#include "base/table.h"
#include "loop/sink.h"
#include "output/place.h"
#include "uncore.h"

struct cells;
struct out;
struct html;

/* An output is for programs, with `record`, or for people, with `window` alone. One with both has
 * one record for each interval: no rounds, runs or totals. */
struct output {
	const char *name; /* "csv=wide": a form of another, by the value of its option */
	int key;          /* of its option --NAME: a letter, or 0 when it has only the long form */
	const char *doc; /* help of the option; NULL: it has none, a preset or default chooses it */
	/* Prints one record at once. */
	void (*record)(struct out *out, const struct field *fields);
	/* Prints a document with lists and objects in it; NULL: this output has only flat records.
	 * Frees the document. */
	void (*document)(json_t *document, struct buffer *to);
	/* Prints what stands before the first window, and frees `about`, the machine; NULL:
	 * nothing. */
	void (*begin)(struct out *out, json_t *about);
	/* Prints all rows of a window. */
	void (*window)(struct out *out);
	const struct view *view; /* that view_output_window() prints: view.h */
	const char *form; /* the value of its option that names another output; NULL: it has none */
	const char *const *sorts; /* keys of --sort, the first is the default; NULL: it has none */
	/* A bit for each level of rows that it shows beside each other; 0: one level. */
	unsigned levels;
};

extern const struct output outputs[];
extern const size_t output_count;
const struct output *output_find(const char *name);

/* What stays the same for all of them. */
struct out_setup {
	struct uncore *machine;
	const char *source;
	bool simulated;
	bool intervals;           /* several windows follow each other */
	enum uncore_level level;  /* that was asked for: of outputs with several, MACHINE for all */
	const char *sort;         /* one of the output's; NULL: its default */
	const char *host;         /* NULL: not known, as of a simulation */
	const char *separator;    /* CSV */
	bool header;              /* CSV: a header line is due */
	const char *command;      /* that is counted, for text; NULL: none */
	const char *command_line; /* of uncore, */
	const char *recorded;     /* and of the recording that is its source; NULL: none */
	const struct uncore_device *port; /* whose PMU is tested; NULL: none */
};

struct out_row {
	const struct uncore_row *row;
	const struct uncore_distribution *distribution; /* NULL: no short samples */
	const struct uncore_sample *sample; /* that it is row `index` of; NULL: of several runs */
	size_t index;
	double spread; /* of a mean: standard error over the mean; NaN when there is none */
};

#define OUT_METRIC_ROOM 64

struct out {
	const struct output *output;
	struct out_setup setup;
	struct frame frame;
	char date[DATE_ROOM]; /* of its end */
	struct buffer *to;
	bool labelled;             /* that it is simulated is printed */
	bool begun;                /* a window has been printed */
	int status;                /* of the command, by what the last window told */
	struct table table, below; /* of all windows: columns do not move from one to the next */
	/* Columns of the table that are metrics: view_columns(). */
	struct table_column columns[TABLE_COLUMNS + 1];
	struct out_metric {
		char name[OUT_METRIC_ROOM], title[40];
	} metrics[TABLE_COLUMNS];
	size_t metric_count;
	struct html *html;    /* the page's; NULL: another output */
	struct buffer said;   /* what out_once() has printed, each with a NUL */
	struct out_row *rows; /* of this window */
	size_t row_count, row_room;
	const struct out_row *row; /* whose record is printed; NULL: of something else */
	struct cells *cells;       /* of the latest record of each row */
	size_t cell_count;
};

void out_free(struct out *out);

/* A window: its rows, which are borrowed until it is printed. */
void out_row(struct out *out, struct out_row row);
void out_print(struct out *out, const struct frame *frame);

/* ---- parts that text outputs share: text.c ---- */

/* The head of texts about a machine: nothing for a real one. */
void out_text_simulated(const struct uncore *u, struct buffer *to);
/* Before counting in rounds: how many, and of how many seconds. */
void out_text_rounds(struct out *out, size_t rounds, double seconds);
/* The head of a window: that values are simulated, filters, the length of the window. */
void out_text_header(struct out *out);
/* The time of the end of the window, where several follow each other. */
void out_text_time(struct out *out);
/* Makes the table unless an earlier window did. */
void out_table(const struct out *out, struct table *t, const struct table_column *columns);
/* A legend: printed once, however many windows there are. */
void out_once(struct out *out, const char *text);
/* The reasons of rows that are not "measured", each once; only rows of `place` unless it is
 * NULL. */
void out_reasons(struct out *out, const struct uncore_row_place *place);
/* Behind a value that is not measured: "~" when it is scaled, "!" when it is partial or suspect. */
const char *out_mark(enum uncore_quality quality);
/* A cell: the value with its unit and a mark of its quality; empty without a row. */
void out_value(struct table *t, const struct uncore_row *row);
/* A cell: a share of the maximum, coloured by load; empty when it is not known. */
void out_share(struct table *t, double share);
/* A line for each row; with the time only in the first table of the output. */
void out_text_rows(struct out *out, struct table *t);
/* Keeps one row of a latency in seconds and in clocks: seconds, unless they are in doubt. Documents
 * contradict each other on which of them Zen 4 counts. */
void out_choose_latencies(struct out *out);
/* Another family has rows of the same name. */
bool out_has_namesake(const struct out *out, const struct uncore_row *row);
bool out_same_query(const struct uncore_row *a, const struct uncore_row *b);
void out_place_cell(struct table *t, const struct uncore_row_place *place);

/* ---- ports.c ---- */

/* Families of one machine meet in a port. */
bool out_same_port(const struct uncore_row_place *a, const struct uncore_row_place *b);

/* ---- short samples: samples.c ---- */

#define OUT_UNIT_ROOM 64
#define OUT_FIELDS_ROOM 64

/* The unit of a metric's value or an event's rate, in bytes where the kernel's unit is a multiple
 * of them: what the number is to be multiplied by. */
double out_rate_unit(const struct uncore_row *row, char unit[OUT_UNIT_ROOM]);
/* That number alone. */
double out_rate_scale(const struct uncore_row *row);
/* "3.0 % above 80.00 GB/s, longest 3.000 ms": of so many seconds; nothing without a threshold. */
void out_bursts(struct buffer *to, const struct uncore_distribution *d, const char *unit,
		double seconds);
/* Appends those of its short samples to the fields of a row, of which there are less than
 * OUT_FIELDS_ROOM then. */
void out_add_distribution(struct out *out, const struct uncore_distribution *d, double scale,
			  struct field *row);

/* ---- the functions of `outputs`, each in the file of its name ---- */

void csv_output_record(struct out *out, const struct field *fields);
void wide_output_window(struct out *out);
void json_output_record(struct out *out, const struct field *fields);
void json_output_document(json_t *document, struct buffer *to);
void html_output_begin(struct out *out, json_t *about);
void html_output_window(struct out *out);
void html_free(struct html *h);
void text_output_window(struct out *out);
void latencies_output_window(struct out *out);
void view_output_window(struct out *out);
extern const char *const ports_sorts[];
void ports_output_window(struct out *out);
void check_output_window(struct out *out);
void matrix_output_window(struct out *out);
void samples_output_window(struct out *out);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * Outputs: rows of a sample as text, CSV or JSON lines. An output appends to a buffer and knows
 * nothing of metrics, vendors or sources. A new one is a file with an `out_ops` and a row in out.c.
 */
#ifndef CLI_OUT_H
#define CLI_OUT_H

#include <stdbool.h>
#include <stddef.h>

#include "output/buffer.h"
#include "output/table.h"
#include "uncore.h"

/* What the rows of one window have in common. */
struct out_frame {
	double time;   /* seconds from the start of counting to the end of the window */
	double window; /* its length in seconds */
	bool total;    /* the whole time, after its intervals */
	unsigned runs; /* 0: one window; else the rows are means over so many runs */
};

/* What stays the same for all of them. */
struct out_setup {
	const struct uncore *machine;
	const char *source;
	bool simulated;
	bool intervals;        /* several windows follow each other */
	const char *separator; /* CSV */
	bool header;           /* CSV: a header line is due */
	const char *command;   /* that is counted, for text; NULL: none */
};

/* Text keeps the rows of a window until its end, when their widths are known. */
struct out_kept {
	const struct uncore_row *row;
	double spread;
};

struct out {
	const struct out_ops *ops;
	struct out_setup setup;
	struct out_frame frame;
	struct buffer *to;
	bool begun; /* a window has been printed */
	struct table table;
	struct out_kept *kept;
	size_t kept_count, kept_room;
	struct buffer prefix; /* CSV: the cells that all rows of a window begin with */
};

struct out_ops {
	const char *name;
	void (*begin)(struct out *out);
	/* `spread` of a mean: standard error over the mean; NaN when there is none. The row is
	 * borrowed until end(). */
	void (*row)(struct out *out, const struct uncore_row *row, double spread);
	void (*end)(struct out *out);
};

extern const struct out_ops out_text, out_csv, out_json, out_matrix, out_ports;

void out_init(struct out *out, const struct out_ops *ops, const struct out_setup *setup,
	      struct buffer *to);
void out_free(struct out *out);

void out_begin(struct out *out, const struct out_frame *frame);
void out_row(struct out *out, const struct uncore_row *row, double spread);
void out_end(struct out *out);

/* All rows of a sample. */
void out_sample(struct out *out, const struct out_frame *frame, const struct uncore_sample *sample);

/* Parts of outputs for people: rows are kept until the end of their window; what stands at the top. */
void out_keep_begin(struct out *out);
void out_keep_row(struct out *out, const struct uncore_row *row, double spread);
void out_text_header(struct out *out);
/* The end of the window, where several follow each other. */
void out_text_time(struct out *out);
/* Why kept rows are not right, each reason once; of those that are at `place` (NULL: all). */
void out_reasons(struct out *out, const struct uncore_row *place);
bool out_same_place(const struct uncore_row *a, const struct uncore_row *b);

/* "metric" or "event". */
const char *out_kind(const struct uncore_row *row);

#endif

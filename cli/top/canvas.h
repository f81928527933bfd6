/* SPDX-License-Identifier: MIT */
/* Characters on a rectangle of cells: texts, bars, charts. It knows no terminal. */
#ifndef CLI_TOP_CANVAS_H
#define CLI_TOP_CANVAS_H

#include <stdbool.h>
#include <wchar.h>

#include "base/buffer.h"

/* The meaning of a cell. display.c has colours and attributes for it. */
enum top_style {
	STYLE_PLAIN,
	STYLE_HEAD,   /* titles and keys */
	STYLE_FAINT,  /* idle, unavailable, details */
	STYLE_LOW,    /* below SHARE_WARN of the ceiling */
	STYLE_MIDDLE, /* below SHARE_BAD */
	STYLE_HIGH,
	STYLE_MARK, /* the value is scaled, partial, suspect or unavailable */
	STYLE_IN,   /* in a chart */
	STYLE_OUT,
	STYLE_COUNT,
};

struct top_cell {
	wchar_t character;
	unsigned char style;
	bool cursor; /* it is in the line of the cursor */
};

struct top_canvas {
	int width, height;
	bool ascii;
	struct top_cell *cells; /* width x height */
	unsigned overlaps;      /* letters and digits that others have replaced, for tests */
};

void canvas_resize(struct top_canvas *c, int width, int height);
void canvas_clear(struct top_canvas *c);
/* Outside of the canvas nothing is put. */
void canvas_put(struct top_canvas *c, int x, int y, wchar_t character, enum top_style style);
/* At most `width` columns; a longer text ends in "…". Returns the column after the text. */
int canvas_text(struct top_canvas *c, int x, int y, int width, enum top_style style,
		const char *text);
int canvas_format(struct top_canvas *c, int x, int y, int width, enum top_style style,
		  const char *fmt, ...) __attribute__((format(printf, 6, 7)));
/* The text ends before column `end`, and has at most `width` columns. */
void canvas_right(struct top_canvas *c, int end, int y, int width, enum top_style style,
		  const char *text);
/* The whole line `y` is a title. */
void canvas_head(struct top_canvas *c, int y);
/* The first `width` cells of the line are at the cursor. */
void canvas_cursor(struct top_canvas *c, int y, int width);

/* The style of a share of a ceiling; plain: it is unknown. */
enum top_style canvas_load_style(double share);
void canvas_bar(struct top_canvas *c, int x, int y, int width, double share, enum top_style style);
/* One character whose height is the share; nothing for NaN. */
void canvas_level(struct top_canvas *c, int x, int y, double share, enum top_style style);

/* A line of values from 0 to 1 over the rectangle; NaN: a gap. Each cell has 2 x 4 dots of braille,
 * or with `ascii` the character `mark`. There are canvas_points() values. */
struct canvas_area {
	int x, y, width, height;
};
int canvas_points(const struct top_canvas *c, const struct canvas_area *area);
void canvas_plot(struct top_canvas *c, const struct canvas_area *area, const float *values,
		 char mark, enum top_style style);

/* The lines of the canvas as text, without blanks at their ends. */
void canvas_save(const struct top_canvas *c, struct buffer *to);

#endif

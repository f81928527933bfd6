/* SPDX-License-Identifier: MIT */
/* Lines of cells from the model of `uncore top`, for any size: what the terminal then shows. */
#ifndef CLI_TOP_DRAW_H
#define CLI_TOP_DRAW_H

#include "base/table.h"
#include "top/model.h"

#define TOP_LEAST_WIDTH 60
#define TOP_LEAST_HEIGHT 15

/* What a cell means; the terminal chooses colours and attributes for that. */
enum top_style {
	STYLE_PLAIN,
	STYLE_HEAD,  /* title and key lines */
	STYLE_FAINT, /* idle, unavailable, devices */
	STYLE_LOW,   /* load below a half of the ceiling, */
	STYLE_MIDDLE,
	STYLE_HIGH, /* above four fifths */
	STYLE_MARK, /* quality is not measured */
	STYLE_COUNT,
};

struct top_cell {
	wchar_t character;
	unsigned char style;
	bool cursor; /* in the line of the cursor */
};

struct top_canvas {
	int width, height;
	bool ascii;
	struct top_cell *cells; /* width x height */
};

void top_resize(struct top_canvas *c, int width, int height);

/* What is drawn: the model, and the state of the screen. */
struct top_view {
	struct top_model model;
	const char *title;     /* the machine */
	const char *simulated; /* the source; NULL: real counters */
	bool ascii;
	enum units units;
	double interval;                                                 /* seconds */
	enum top_shown { TOP_MEAN, TOP_P99, TOP_MOST, TOP_SHOWN } shown; /* of short samples */
	bool paused, typing; /* a filter is being typed */
	size_t first;        /* line at the top of the list */
	char *text;          /* help or explanation instead of the list; NULL: none */
	long text_first, text_lines;
};

/* The style of a share; `limited`: there is a ceiling. */
enum top_style top_load_style(double share, bool limited);

void top_draw(struct top_canvas *c, struct top_view *v);

/* The node on that row of the screen; TOP_NONE: none. */
size_t top_line_at(const struct top_view *v, int height, int y);
/* Lines above the list; the last one has the titles. */
int top_head_lines(const struct top_view *v);
/* Lines of the list on a screen of that height. */
int top_list_height(const struct top_view *v, int height);

#endif

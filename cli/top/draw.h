/* SPDX-License-Identifier: MIT */
/* Draws the model of `uncore top` into cells, for a screen of any size. It knows no terminal. */
#ifndef CLI_TOP_DRAW_H
#define CLI_TOP_DRAW_H

#include "base/table.h"
#include "top/model.h"

#define TOP_LEAST_WIDTH 60
#define TOP_LEAST_HEIGHT 15

/* The meaning of a cell. screen.c has colours and attributes for it. */
enum top_style {
	STYLE_PLAIN,
	STYLE_HEAD,   /* lines of the title and of the keys */
	STYLE_FAINT,  /* idle, unavailable, devices */
	STYLE_LOW,    /* below 50 % of the ceiling */
	STYLE_MIDDLE, /* 50 % to 80 % */
	STYLE_HIGH,   /* 80 % or more */
	STYLE_MARK,   /* the value is scaled, partial, suspect or unavailable */
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
};

void top_resize(struct top_canvas *c, int width, int height);

/* The model, and what the keys have chosen. */
struct top_view {
	struct top_model model;
	const char *title;     /* describes the machine */
	const char *simulated; /* the source of simulated counts; NULL: counts are real */
	const char *missing;   /* what a guest cannot count; NULL: nothing, or it is no guest */
	bool ascii;
	enum units units;
	double interval;                                                 /* seconds */
	enum top_shown { TOP_MEAN, TOP_P99, TOP_MOST, TOP_SHOWN } shown; /* of short samples */
	bool paused, typing; /* typing: the keys go to the filter */
	size_t first;        /* the first visible line of the list */
	char *text;          /* shown instead of the list: help, notes, an explanation; or NULL */
	long text_first, text_lines;
};

/* The style of a share of the ceiling. Without one (`limited` false) it is plain. */
enum top_style top_load_style(double share, bool limited);

void top_draw(struct top_canvas *c, struct top_view *v);

/* The node at line `y` of the screen; TOP_NONE: none. */
size_t top_line_at(const struct top_view *v, int height, int y);
/* The number of lines above the list. The last of them has the titles of the columns. */
int top_head_lines(const struct top_view *v);
/* The number of lines of the list on a screen of that height. */
int top_list_height(const struct top_view *v, int height);

#endif

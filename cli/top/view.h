/* SPDX-License-Identifier: MIT */
/* What `uncore top` shows, as keys and settings have chosen it, and the functions that draw it. */
#ifndef CLI_TOP_VIEW_H
#define CLI_TOP_VIEW_H

#include "base/table.h"
#include "top/canvas.h"
#include "top/tree.h"

#define TOP_LEAST_WIDTH 60
#define TOP_LEAST_HEIGHT 15
#define TOP_SCREENS 9 /* at most: a key of a digit opens each */

/* The screens: the overview, those of the catalogue's views, and all metrics as a tree. */
#define TOP_OVERVIEW 0
struct top_screens {
	const char *names[TOP_SCREENS + 1]; /* end with NULL */
	size_t count;                       /* the last one has the metrics */
};

/* A line on a screen that is made of views. */
struct entry {
	enum entry_kind {
		ENTRY_HEAD, /* title and columns of the view of `line` */
		ENTRY_LINE,
		ENTRY_MORE, /* how many lines are not shown */
		ENTRY_BLANK,
	} kind;
	size_t line, more, idle;
};

/* From top to bottom. A height of 0: it is not shown. */
struct layout {
	int list, list_height; /* below two lines of titles */
	int chart, chart_height;
	int detail, detail_height;
};

struct top_view {
	struct top_data data;
	struct top_model tree;
	struct top_screens screens;
	size_t screen;
	char *title;           /* describes the machine */
	const char *simulated; /* the source of simulated counts; NULL: counts are real */
	const char *missing;   /* what a guest cannot count; NULL: nothing, or it is no guest */
	bool ascii;
	enum units units;
	double interval;                                                 /* seconds */
	enum top_shown { TOP_MEAN, TOP_P99, TOP_MOST, TOP_SHOWN } shown; /* of short samples */
	enum top_sort sort;
	size_t range;          /* of the chart: view_ranges */
	char filter[64];       /* "": none */
	bool idle;             /* idle lines are shown */
	bool paused, typing;   /* typing: the keys go to the filter */
	size_t line;           /* the selected one of data.screen; SCREEN_NONE: none */
	struct entry *entries; /* of this screen; not of that of the metrics */
	size_t entry_count;
	size_t first; /* the first visible entry or line of the list */
	char *text;   /* shown instead of the list: help, notes, an explanation; or NULL */
	long text_first, text_lines;
	char said[200]; /* shown in the line of the keys until the next key; "": nothing */
};

struct view_range {
	const char *name;
	unsigned seconds;
};
#define VIEW_RANGES 5
extern const struct view_range view_ranges[VIEW_RANGES];

static inline bool view_has_tree(const struct top_view *v)
{
	return v->screen + 1 == v->screens.count;
}

/* Makes the visible lines of the screen for this height, and keeps the cursor in them. Call it
 * after a change of what is shown. */
void view_arrange(struct top_view *v, int height);
struct layout view_layout(const struct top_view *v, int height);
/* Moves the cursor by so many lines. */
void view_move(struct top_view *v, long lines);
void view_draw(struct top_canvas *c, struct top_view *v);
void view_free(struct top_view *v);
extern const char view_help[]; /* the keys, and what is shown */

/* ---- blocks.c ---- */

/* The entries of a list. Those of the overview are at most `height`. */
void blocks_make(struct top_view *v, int height);
/* Draws them from v->first on. */
void blocks_draw(struct top_canvas *c, const struct top_view *v, int y, int height);

/* ---- chart.c ---- */

/* A graph of the selected line, or of the row `row` of the tree. */
void chart_draw(struct top_canvas *c, const struct top_view *v, int y, int height);
/* What a line's place in a sparkline is: its traffic (else its latency) as a share of its ceiling,
 * or of `scale`; `ago` and `per` as in data_mean(). */
float chart_level(const struct top_data *d, const struct screen_line *line, double scale,
		  unsigned ago, unsigned per);
/* The same without a ceiling: bytes per second, watts, seconds. */
float chart_value(const struct top_data *d, const struct screen_line *line, unsigned ago,
		  unsigned per);
/* The largest ceiling of the line's traffic; NaN: it has none. */
double chart_ceiling(const struct top_data *d, const struct screen_line *line);
/* Whether it has one, or a metric counts its share. */
bool chart_is_limited(const struct top_data *d, const struct screen_line *line);
/* A value with its unit. A count that is longer than `width` is in millions. */
void view_text(struct buffer *text, double value, const char *unit, enum units units, int width);

/* ---- save.c ---- */

/* Writes a file in the working directory, the screen as text or the visible rows as CSV, and says
 * so in v->said. */
void save_screen(struct top_view *v, const struct top_canvas *c);
void save_rows(struct top_view *v, int height);

/* ---- settings.c ---- */

/* $XDG_CONFIG_HOME/uncore/top. What cannot be read or written is left out without a message: they
 * are conveniences. */
void settings_load(struct top_view *v);
void settings_save(const struct top_view *v);

#endif

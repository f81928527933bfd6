/* SPDX-License-Identifier: MIT */
/* The terminal of `uncore top`: the only file that knows curses. */
#ifndef CLI_TOP_SCREEN_H
#define CLI_TOP_SCREEN_H

#include <curses.h>

#include "top/draw.h"

/* True when standard input and output are a terminal that can show a screen; it is taken over then,
 * until screen_close(), also when the process calls exit(). `ascii` is set when only ASCII can be
 * shown. */
bool screen_open(bool *ascii);
void screen_close(void);

void screen_size(int *width, int *height);
/* Shows the cells; ncurses writes those that differ from what the terminal shows. */
void screen_show(const struct top_canvas *c);
/* The next key that is there, an ASCII character or curses' number of it; ERR: none. Of KEY_MOUSE
 * `*y` is the line, and the wheel is KEY_SR and KEY_SF. */
int screen_key(int *y);

#endif

/* SPDX-License-Identifier: MIT */
/* The terminal of `uncore top`: the only file that knows curses. */
#ifndef CLI_TOP_DISPLAY_H
#define CLI_TOP_DISPLAY_H

#include <curses.h>

#include "top/canvas.h"

/* Takes over the terminal until display_close(), which exit() calls, too. False: standard input or
 * output is no terminal that can show a screen. Sets *ascii if it can show only ASCII. */
bool display_open(bool *ascii);
void display_close(void);

void display_size(int *width, int *height);
/* Shows the cells. ncurses writes only cells that have changed. */
void display_show(const struct top_canvas *c);
/* The next key that was typed, as an ASCII character or curses' number; ERR: none. The wheel of the
 * mouse is KEY_SR and KEY_SF; for KEY_MOUSE *y is the line. */
int display_key(int *y);

#endif

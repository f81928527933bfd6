/* SPDX-License-Identifier: MIT */
/* The terminal of `uncore top`: the only file that knows curses. */
#ifndef CLI_TOP_SCREEN_H
#define CLI_TOP_SCREEN_H

#include <curses.h>

#include "top/draw.h"

/* Takes over the terminal until screen_close(), which exit() calls, too. False: standard input or
 * output is no terminal that can show a screen. Sets *ascii if it can show only ASCII. */
bool screen_open(bool *ascii);
void screen_close(void);

void screen_size(int *width, int *height);
/* Shows the cells. ncurses writes only cells that have changed. */
void screen_show(const struct top_canvas *c);
/* The next key that was typed, as an ASCII character or curses' number; ERR: none. The wheel of the
 * mouse is KEY_SR and KEY_SF; for KEY_MOUSE *y is the line. */
int screen_key(int *y);

#endif

/* SPDX-License-Identifier: MIT */
/* What the terminal can show: columns, characters, colours. */
#ifndef CLI_TERMINAL_H
#define CLI_TERMINAL_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buffer.h"

/* The width of the terminal (or COLUMNS), at least 40; 0 when the output is no terminal. */
size_t terminal_columns(void);
/* Its lines; 0 when the output is no terminal. */
size_t terminal_rows(void);
/* Columns to which texts are wrapped: the same, or 100. */
size_t text_columns(void);
/* Lines of the terminal that a text takes, whose lines may be longer than its width. */
size_t text_rows(const char *text);

/* By LC_ALL, LC_CTYPE and LANG; without any of them false, as in the locale C. */
bool terminal_has_utf8(void);

/* "auto", "always" or "never"; false: none of them. */
bool terminal_set_color(const char *when);

/* By that, and when it is auto by NO_COLOR, TERM and whether the output is a terminal. */
bool terminal_has_color(void);

/* Folds long lines, and replaces colours and characters, so that the terminal can show the text. */
void terminal_fit(struct buffer *text);

#endif

/* SPDX-License-Identifier: MIT */
/* Shows cells on the terminal, and reads keys and the mouse. ncurses handles Ctrl-Z. Signals that
 * end the process are read from a descriptor, so that display_close() is called before. */
#include "top/display.h"

#include <langinfo.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>
#include <term.h>
#include <unistd.h>

#include "base/terminal.h"

static SCREEN *screen;
static bool coloured;

static const struct {
	short colour; /* -1: the terminal's */
	attr_t attribute;
} looks[STYLE_COUNT] = {
	[STYLE_PLAIN] = {-1, A_NORMAL},
	[STYLE_HEAD] = {-1, A_BOLD},
	[STYLE_FAINT] = {-1, A_DIM},
	[STYLE_LOW] = {COLOR_GREEN, A_NORMAL},
	[STYLE_MIDDLE] = {COLOR_YELLOW, A_NORMAL},
	[STYLE_HIGH] = {COLOR_RED, A_BOLD},
	[STYLE_MARK] = {COLOR_MAGENTA, A_BOLD},
	[STYLE_IN] = {COLOR_CYAN, A_NORMAL},
	[STYLE_OUT] = {COLOR_YELLOW, A_NORMAL},
};

static void open_colours(void)
{
	coloured = terminal_has_color() && has_colors() && start_color() == OK;
	if (!coloured)
		return;
	use_default_colors();
	for (int i = 0; i < STYLE_COUNT; i++)
		init_pair((short)(i + 1), looks[i].colour, -1);
}

bool display_open(bool *ascii)
{
	const char *term = getenv("TERM");
	static bool registered;

	if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO) || !term)
		return false;
	/* Only LC_CTYPE, since numbers must not follow the locale. */
	if (!setlocale(LC_CTYPE, "") || strcmp(nl_langinfo(CODESET), "UTF-8") != 0 ||
	    strcmp(term, "linux") == 0 || strncmp(term, "vt", 2) == 0)
		*ascii = true;
	screen = newterm(NULL, stdout, stdin);
	if (!screen)
		return false;
	if (!cursor_address) {
		display_close();
		return false;
	}
	if (!registered)
		atexit(display_close);
	registered = true;
	cbreak();
	noecho();
	nonl();
	keypad(stdscr, TRUE);
	nodelay(stdscr, TRUE);
	set_escdelay(25);
	curs_set(0);
	mousemask(BUTTON1_PRESSED | BUTTON4_PRESSED | BUTTON5_PRESSED, NULL);
	mouseinterval(0);
	open_colours();
	return true;
}

void display_close(void)
{
	if (!screen)
		return;
	endwin();
	delscreen(screen);
	screen = NULL;
}

void display_size(int *width, int *height)
{
	getmaxyx(stdscr, *height, *width);
}

/* Writes each run of cells with the same attributes at once. */
static void put_line(const struct top_cell *cells, int width, int y)
{
	wchar_t text[256];

	for (int x = 0, n; x < width; x += n) {
		const struct top_cell *first = &cells[x];
		attr_t attributes = looks[first->style].attribute;

		for (n = 0; x + n < width && n < 255 && cells[x + n].style == first->style &&
			    cells[x + n].cursor == first->cursor;
		     n++)
			text[n] = cells[x + n].character;
		if (first->cursor)
			attributes = (attributes & ~A_DIM) | A_REVERSE;
		attr_set(attributes, coloured ? (short)(first->style + 1) : 0, NULL);
		mvaddnwstr(y, x, text, n);
	}
}

void display_show(const struct top_canvas *c)
{
	for (int y = 0; y < c->height; y++)
		put_line(c->cells + (ptrdiff_t)y * c->width, c->width, y);
	refresh();
}

int display_key(int *y)
{
	wint_t key;
	MEVENT event;
	int kind = get_wch(&key);

	if (kind == KEY_CODE_YES && key == KEY_MOUSE) {
		if (getmouse(&event) != OK)
			return ERR;
		*y = event.y;
		return event.bstate & BUTTON4_PRESSED   ? KEY_SR
		       : event.bstate & BUTTON5_PRESSED ? KEY_SF
							: KEY_MOUSE;
	}
	return kind == KEY_CODE_YES || (kind == OK && key < 0x80) ? (int)key : ERR;
}

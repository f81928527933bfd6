/* SPDX-License-Identifier: MIT */
#include "top/canvas.h"

#include <ctype.h>
#include <math.h>
#include <stdarg.h>

#include "base/cli.h"

#define BRAILLE 0x2800

void canvas_resize(struct top_canvas *c, int width, int height)
{
	/* ncurses stores sizes as short integers: 65,535 columns become -1. */
	width = width > 0 ? width : 1;
	height = height > 0 ? height : 1;
	c->cells = cli_realloc(c->cells, (size_t)width * (size_t)height, sizeof(*c->cells));
	c->width = width;
	c->height = height;
}

void canvas_clear(struct top_canvas *c)
{
	c->overlaps = 0;
	for (int i = 0; i < c->width * c->height; i++)
		c->cells[i] = (struct top_cell){.character = L' '};
}

static struct top_cell *cell_at(struct top_canvas *c, int x, int y)
{
	bool inside = x >= 0 && y >= 0 && x < c->width && y < c->height;

	return inside ? &c->cells[y * c->width + x] : NULL;
}

void canvas_put(struct top_canvas *c, int x, int y, wchar_t character, enum top_style style)
{
	struct top_cell *cell = cell_at(c, x, y);

	if (!cell)
		return;
	c->overlaps += cell->character < 0x80 && isalnum((int)cell->character);
	cell->character = character;
	cell->style = (unsigned char)style;
}

/* Decodes UTF-8, which cli_clean() has made valid. mbrtowc() would depend on the locale. */
static wchar_t next(const char **text)
{
	const unsigned char *at = (const unsigned char *)*text;
	wchar_t code = *at++;

	if (code >= 0xc0) {
		code &= code >= 0xf0 ? 0x07 : code >= 0xe0 ? 0x0f : 0x1f;
		while ((*at & 0xc0) == 0x80)
			code = code << 6 | (*at++ & 0x3f);
	}
	*text = (const char *)at;
	return code;
}

/* The character for terminals that can show only ASCII. */
static wchar_t plain(wchar_t character)
{
	return character < 0x80    ? character
	       : character == L'µ' ? L'u'
	       : character == L'…' ? L'~'
	       : character == L'─' ? L'-'
	       : character == L'│' ? L'|'
				   : L'?';
}

int canvas_text(struct top_canvas *c, int x, int y, int width, enum top_style style,
		const char *text)
{
	size_t left = text_width(text);

	for (; *text && width > 0; x++, width--, left--) {
		wchar_t character = width == 1 && left > 1 ? L'…' : next(&text);

		canvas_put(c, x, y, c->ascii ? plain(character) : character, style);
	}
	return x;
}

int canvas_format(struct top_canvas *c, int x, int y, int width, enum top_style style,
		  const char *fmt, ...)
{
	auto_buffer text = {0};
	va_list args;

	va_start(args, fmt);
	buffer_vprintf(&text, fmt, args);
	va_end(args);
	text.len = cli_clean(text.data, text.len, "");
	text.data[text.len] = '\0';
	return canvas_text(c, x, y, width, style, text.data);
}

void canvas_right(struct top_canvas *c, int end, int y, int width, enum top_style style,
		  const char *text)
{
	int wide = (int)text_width(text);

	canvas_text(c, end - (wide < width ? wide : width), y, width, style, text);
}

void canvas_head(struct top_canvas *c, int y)
{
	for (int x = 0; x < c->width; x++)
		canvas_put(c, x, y, L' ', STYLE_HEAD);
}

void canvas_cursor(struct top_canvas *c, int y, int width)
{
	for (int x = 0; x < width; x++) {
		struct top_cell *cell = cell_at(c, x, y);

		if (cell)
			cell->cursor = true;
	}
}

/* ---- bars ---- */

enum top_style canvas_load_style(double share)
{
	return !isfinite(share)     ? STYLE_PLAIN
	       : share < SHARE_WARN ? STYLE_LOW
	       : share < SHARE_BAD  ? STYLE_MIDDLE
				    : STYLE_HIGH;
}

void canvas_bar(struct top_canvas *c, int x, int y, int width, double share, enum top_style style)
{
	int eighths = share <= 0 ? 0 : share >= 1 ? width * 8 : (int)(share * width * 8 + 0.5);

	for (int i = 0; i < width; i++, eighths -= 8) {
		int part = eighths >= 8 ? 8 : eighths < 0 ? 0 : eighths;
		wchar_t character = c->ascii ? L'#' : (wchar_t)(0x2590 - part);

		if (c->ascii && part < 4)
			part = 0;
		canvas_put(c, x + i, y,
			   part       ? character
			   : c->ascii ? L'.'
				      : L'·',
			   part ? style : STYLE_FAINT);
	}
}

void canvas_level(struct top_canvas *c, int x, int y, double share, enum top_style style)
{
	int level = share <= 0 ? 0 : share >= 1 ? 7 : (int)(share * 7 + 0.5);

	if (isfinite(share))
		canvas_put(c, x, y, c->ascii ? L"_.,-=+*#"[level] : (wchar_t)(0x2581 + level),
			   style);
}

/* ---- charts ---- */

int canvas_points(const struct top_canvas *c, const struct canvas_area *area)
{
	return c->ascii ? area->width : 2 * area->width;
}

static void put_dot(struct top_canvas *c, const struct canvas_area *area, int x, int y,
		    enum top_style style)
{
	static const wchar_t bits[4][2] = {{0x01, 0x08}, {0x02, 0x10}, {0x04, 0x20}, {0x40, 0x80}};
	struct top_cell *cell = cell_at(c, area->x + x / 2, area->y + y / 4);
	wchar_t bit = bits[y % 4][x % 2]; /* its sign is that of the architecture */

	if (!cell)
		return;
	cell->character = (cell->character >= BRAILLE && cell->character < BRAILLE + 0x100)
				  ? cell->character | bit
				  : (wchar_t)BRAILLE | bit;
	cell->style = (unsigned char)style;
}

/* Lines of a graph may cross. */
static void put_mark(struct top_canvas *c, int x, int y, char mark, enum top_style style)
{
	struct top_cell *cell = cell_at(c, x, y);

	if (cell)
		*cell = (struct top_cell){(wchar_t)mark, (unsigned char)style, cell->cursor};
}

void canvas_plot(struct top_canvas *c, const struct canvas_area *area, const float *values,
		 char mark, enum top_style style)
{
	int dots = c->ascii ? area->height : 4 * area->height, before = -1;

	for (int x = 0; x < canvas_points(c, area); x++) {
		double value = values[x] > 1 ? 1 : values[x];
		int y, from;

		if (!isfinite(value)) {
			before = -1;
			continue;
		}
		y = dots - 1 - (int)(value * (dots - 1) + 0.5);
		/* A step is a vertical line. */
		from = before < 0 ? y : before < y ? before + 1 : before > y ? before - 1 : y;
		for (int at = from < y ? from : y; at <= (from < y ? y : from); at++) {
			if (c->ascii)
				put_mark(c, area->x + x, area->y + at, mark, style);
			else
				put_dot(c, area, x, at, style);
		}
		before = y;
	}
}

/* ---- as text ---- */

static void put_utf8(struct buffer *to, wchar_t character)
{
	static const unsigned begins[] = {0, 0xc0, 0xe0, 0xf0};
	unsigned code = (unsigned)character;
	unsigned more = code < 0x80 ? 0 : code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
	char *at = buffer_more(to, more + 1);

	*at++ = (char)(begins[more] | code >> (6 * more));
	while (more--)
		*at++ = (char)(0x80 | ((code >> (6 * more)) & 0x3f));
}

void canvas_save(const struct top_canvas *c, struct buffer *to)
{
	for (int y = 0; y < c->height; y++) {
		const struct top_cell *line = c->cells + (ptrdiff_t)y * c->width;
		int end = c->width;

		while (end && line[end - 1].character == L' ')
			end--;
		for (int x = 0; x < end; x++)
			put_utf8(to, line[x].character);
		buffer_puts(to, "\n");
	}
}

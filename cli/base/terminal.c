/* SPDX-License-Identifier: MIT */
/* The last step of a text for people: lines as long as the terminal is wide, its colours and its
 * characters. */
#include "base/terminal.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/cli.h"

#define LEAST_COLUMNS 40
#define PLAIN_COLUMNS 100

static enum color { COLOR_AUTO, COLOR_ALWAYS, COLOR_NEVER } color;

size_t terminal_columns(void)
{
	const char *columns = getenv("COLUMNS");
	struct winsize size = {0};
	unsigned long width = columns ? strtoul(columns, NULL, 10) : 0;

	if (!width && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0)
		width = size.ws_col;
	return width && width < LEAST_COLUMNS ? LEAST_COLUMNS : width;
}

size_t terminal_rows(void)
{
	struct winsize size = {0};

	return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 ? size.ws_row : 0;
}

size_t text_columns(void)
{
	size_t columns = terminal_columns();

	return columns ? columns : PLAIN_COLUMNS;
}

size_t text_rows(const char *text)
{
	size_t rows = 0, columns = text_columns();

	while (*text) {
		size_t len = strcspn(text, "\n");
		auto_buffer line = {0};

		buffer_add(&line, text, len);
		rows += (text_width(buffer_text(&line)) + columns - 1) / columns + !len;
		text += len + (text[len] == '\n');
	}
	return rows;
}

bool terminal_has_utf8(void)
{
	static const char *const names[] = {"LC_ALL", "LC_CTYPE", "LANG"};
	const char *value = NULL;

	for (size_t i = 0; i < sizeof(names) / sizeof(*names) && (!value || !*value); i++)
		value = getenv(names[i]);
	return value && (strcasestr(value, "utf-8") || strcasestr(value, "utf8"));
}

bool terminal_set_color(const char *when)
{
	static const char *const names[] = {"auto", "always", "never", NULL};
	const size_t i = cli_word(names, when);

	if (names[i])
		color = (enum color)i;
	return names[i];
}

bool terminal_has_color(void)
{
	const char *none = getenv("NO_COLOR"), *term = getenv("TERM");

	if (color != COLOR_AUTO)
		return color == COLOR_ALWAYS;
	return !(none && *none) && isatty(STDOUT_FILENO) && term && strcmp(term, "dumb") != 0;
}

/* Where the line has to be broken: behind the last word that fits; when none does, in the first. */
static size_t fitting(const char *line, size_t len, size_t columns)
{
	size_t at = 0, space = 0, begin = strspn(line, " ");

	for (size_t column = 0; at < len; at++) {
		bool shown =
			((unsigned char)line[at] & 0xc0) != 0x80 && !strchr(TEXT_COLORS, line[at]);

		if (shown && column == columns)
			return space ? space : at;
		column += shown;
		if (line[at] == ' ' && at > begin)
			space = at;
	}
	return len;
}

static void fold(struct buffer *text, size_t columns)
{
	struct buffer folded = {0};
	const char *end = text->data + text->len;

	for (const char *line = text->data; line < end; line++) {
		size_t len = strcspn(line, "\n"), indent = 0, part;

		while ((part = fitting(line, len, columns - indent)) < len) {
			buffer_spaces(&folded, indent);
			buffer_add(&folded, line, part);
			while (folded.len && folded.data[folded.len - 1] == ' ')
				folded.len--;
			buffer_puts(&folded, "\n");
			if (!indent)
				indent =
					strspn(line, " ") < columns / 2 ? strspn(line, " ") + 4 : 4;
			part += strspn(line + part, " ");
			line += part;
			len -= part;
		}
		buffer_spaces(&folded, len ? indent : 0);
		buffer_add(&folded, line, len);
		buffer_puts(&folded, "\n");
		line += len;
	}
	buffer_free(text);
	*text = folded;
}

/* One of these for a character that is not ASCII. */
static const struct {
	const char *utf8, *ascii;
} characters[] = {{"µ", "u"}, {"±", "+-"}, {"≥", ">="}, {"×", "x"}, {"–", "-"}, {"", "?"}};

static const char *const sequences[] = {"", "\33[m", "\33[32m", "\33[33m", "\33[31m", "\33[2m"};

/* Whether it has characters that not every terminal shows. */
static bool has_more_than_ascii(const struct buffer *text)
{
	for (size_t i = 0; i < text->len; i++) {
		unsigned char c = (unsigned char)text->data[i];

		if (c >= 0x80 || (c && c < ' ' && strchr(TEXT_COLORS, c)))
			return true;
	}
	return false;
}

void terminal_fit(struct buffer *text)
{
	struct buffer out = {0};
	bool utf8, colored;

	if (terminal_columns())
		fold(text, terminal_columns());
	if (!has_more_than_ascii(text))
		return;
	utf8 = terminal_has_utf8();
	colored = terminal_has_color();
	for (const char *c = text->data, *end = c + text->len; c < end; c++) {
		if (*c && strchr(TEXT_COLORS, *c)) {
			buffer_puts(&out, colored ? sequences[(int)*c] : "");
		} else if (utf8 || (unsigned char)*c < 0x80) {
			buffer_add(&out, c, 1);
		} else if (((unsigned char)*c & 0xc0) != 0x80) {
			size_t i = 0;

			while (strncmp(c, characters[i].utf8, strlen(characters[i].utf8)) != 0)
				i++;
			buffer_puts(&out, characters[i].ascii);
		}
	}
	buffer_free(text);
	*text = out;
}

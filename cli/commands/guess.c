/* SPDX-License-Identifier: MIT */
/* What people type before they have read the manual: other names of options, options that mean
 * something else, names of subjects, words of the output. */
#include "commands/guess.h"

#include <stdio.h>
#include <string.h>

#include "base/buffer.h"
#include "base/terminal.h"
#include "base/writer.h"

const struct guess_synonym guess_synonyms[] = {
	{"interval-print", "interval", 0, true, false},
	{"interval-count", "count", 'n', false, false},
	{"timeout", "duration", 0, true, false},
	{0},
};

/* Options that programs of other kinds have, and which would be misunderstood here. */
static const struct {
	const char *option, *answer;
} refused[] = {
	{"cpu", "counters outside the cores belong to no CPU: --socket N counts one socket, and "
		"--bind-cpu N runs the counting loop on CPU N"},
	{"cpus", "counters outside the cores belong to no CPU: --socket N counts one socket"},
	{"time", "to end after a time write --timeout 1s, to print every second -I 1s, to print "
		 "the time of day --timestamp"},
	{"pid", "counters are those of the machine, and not of a process: uncore stat -- COMMAND "
		"counts while a command runs"},
	{"channel", "the rows of channels are those of --per-channel"},
	{"channels", "the rows of channels are those of --per-channel"},
	/* Letters of other programs */
	{"c", "the number of intervals is -n N: uncore mem -n 10"},
	{"d", "to end after a time write --duration 10s, to begin after a time -D 10s"},
	{"i", "the interval is -I 2s, or an argument: uncore mem 2 10"},
	{"p", "for a port write --port N, for a process uncore stat -- COMMAND"},
	{"s", "one socket is --socket N, rows of all sockets --per-socket"},
	{"t", "to end after a time write --duration 10s"},
	{"T", "the time of day is --timestamp"},
};

/* ---- similar names ---- */

bool guess_is_near(const char *a, const char *b, int mistakes)
{
	while (*a && *a == *b) {
		a++;
		b++;
	}
	if (!*a && !*b)
		return true;
	return mistakes && ((*a && guess_is_near(a + 1, b, mistakes - 1)) ||
			    (*b && guess_is_near(a, b + 1, mistakes - 1)) ||
			    (*a && *b && guess_is_near(a + 1, b + 1, mistakes - 1)) ||
			    (*a && a[1] == *b && *b && b[1] == *a &&
			     guess_is_near(a + 2, b + 2, mistakes - 1)));
}

const char *guess_refused(const char *option)
{
	for (size_t i = 0; i < sizeof(refused) / sizeof(*refused); i++)
		if (strcmp(refused[i].option, option) == 0)
			return refused[i].answer;
	return NULL;
}

/* ---- names of subjects ---- */

/* A device is an argument of the preset whose rows are of root ports. */
static bool guess_device(struct cli *cli, const char *about, const char *word)
{
	const struct uncore_device *device;

	if (!uncore_cpu_count(cli->u) && uncore_scan(cli->u))
		return false;
	if (uncore_device_find(cli->u, word, &device))
		return false;
	for (const struct command *c = cli->presets; c->name; c++)
		if (c->level == UNCORE_LEVEL_PORT) {
			cli_error("%s; for this device use: uncore %s %s", about, c->name, word);
			return true;
		}
	return false;
}

static const struct command *find_preset(const struct cli *cli, const char *name, size_t length)
{
	for (const struct command *c = cli->presets; name && c->name; c++)
		if (c->metrics && strlen(c->name) == length && strncmp(c->name, name, length) == 0)
			return c;
	return NULL;
}

bool guess_see(struct cli *cli, const char *about, const char *word, const char *next)
{
	static const char program[] = "uncore ";
	const size_t begin = sizeof(program) - 1;
	const struct uncore_words *known;
	size_t length;

	/* Words need no scan, which a guess in an option must not wait for. */
	if (!cli->u && cli_prepare(cli) != CLI_OK)
		return true; /* it has said why */
	known = uncore_words_find(cli->u, word);
	if (!known || !known->see)
		return false;
	length = strlen(known->see) < begin ? 0 : strcspn(known->see + begin, " ");
	if (!find_preset(cli, next, next ? strlen(next) : 0))
		cli_error("%s; for that use: %s", about, known->see);
	else if (find_preset(cli, known->see + begin, length))
		cli_error("%s; for that use: %s%s%s", about, program, next,
			  known->see + begin + length);
	else
		cli_error("%s; for that use: %s %s", about, known->see, next);
	return true;
}

bool guess_word(struct cli *cli, const char *about, const char *word)
{
	const struct uncore_words *known;
	size_t length = strlen(word);
	char plain[32];

	if (!cli->u && cli_open(cli) != CLI_OK)
		return true; /* it has said why */
	known = uncore_words_find(cli->u, word);
	if (guess_see(cli, about, word, NULL) || (!known && guess_device(cli, about, word)))
		return true;
	if (known && known->names)
		cli_error("%s; for metrics of that: uncore list metrics %s", about, word);
	if (known)
		return known->names;
	/* "socket1" is a socket. */
	while (length && strchr("0123456789", word[length - 1]))
		length--;
	if (!word[length] || length >= sizeof(plain))
		return false;
	snprintf(plain, sizeof(plain), "%.*s", (int)length, word);
	return guess_see(cli, about, plain, NULL);
}

/* ---- words of the output ---- */

static const struct {
	const char *word, *meaning;
} meanings[] = {
	{"measured", "every instance was counted for the whole interval"},
	{"scaled",
	 "the kernel multiplexed the counter, since the PMU has too few: it was counted for a part "
	 "of the interval, and the value is extrapolated. The share of the interval that was "
	 "counted (the coverage) is printed. To avoid it, request fewer metrics, or count one "
	 "interval of a fixed length, which is counted in rounds: uncore mem 1 1"},
	{"sampled", "from some events, which the hardware selects: latencies of loads"},
	{"partial",
	 "some instances are missing from the sum, or were counted for a part of the interval "
	 "only; the reason says which"},
	{"suspect", "the value is probably wrong; the reason says why"},
	{"unavailable",
	 "there is no value, and the reason says why; it is printed as -, as null in JSON and as "
	 "an empty cell in CSV, never as 0"},
};

const char *guess_meaning(const char *word)
{
	for (size_t i = 0; i < sizeof(meanings) / sizeof(*meanings); i++)
		if (strcasecmp(meanings[i].word, word) == 0)
			return meanings[i].meaning;
	return strcasecmp(word, "quality") == 0
		       ? "how good a value is. When several qualities apply, the worst is printed"
		       : NULL;
}

int guess_explain(const char *word)
{
	const bool all = strcasecmp(word, "quality") == 0;
	struct buffer text = {0};

	if (all)
		buffer_printf(&text, "quality: %s\n\n", guess_meaning(word));
	for (size_t i = 0; i < sizeof(meanings) / sizeof(*meanings); i++) {
		if (!all && strcasecmp(meanings[i].word, word) != 0)
			continue;
		buffer_printf(&text, "%s:", meanings[i].word);
		buffer_wrap(&text, 4, text_columns(), meanings[i].meaning);
	}
	buffer_puts(&text,
		    "The manual has more: man uncore, section QUALITY; man uncore-reasons\n");
	return writer_print(&text);
}

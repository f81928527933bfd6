/* SPDX-License-Identifier: MIT */
/* Answers to guesses: other names of options, words for subjects, and what an error suggests. */
#ifndef CLI_GUESS_H
#define CLI_GUESS_H

#include <stdbool.h>

#include "base/cli.h"

/* Another name of an option, which the parser, the help and the completion have, too. */
struct guess_synonym {
	const char *option, *also;
	int letter;      /* a short option, or 0 */
	bool needs_unit; /* a time without a unit is refused: users mean seconds or milliseconds */
	bool former;     /* deprecated: a note names the option */
};

/* Until one without `option`. */
extern const struct guess_synonym guess_synonyms[];

/* What to answer to an option that would be misunderstood here; NULL: it is not one. */
const char *guess_refused(const char *option);

/* Whether at most so many letters differ, or two are swapped. */
bool guess_is_near(const char *typed, const char *name, int mistakes);

/* Prints the command that shows the subject of a word ("upi": uncore link), from the catalogue's
 * words. `about` begins the sentence. False: it is not such a word; nothing is printed. */
bool guess_word(struct cli *cli, const char *about, const char *word);

/* The same, of words that have such a command only. `next` is the word behind it, or NULL: if that
 * is a preset, the command is the one for it ("watch link": uncore top link). */
bool guess_see(struct cli *cli, const char *about, const char *word, const char *next);

/* The meaning of a word of the output such as "scaled", or of "quality"; NULL: it is not one. */
const char *guess_meaning(const char *word);
/* Prints it as a page, and returns an exit code. */
int guess_explain(const char *word);

#endif

/* SPDX-License-Identifier: MIT */
/* The sink that prints windows with an output, to standard output or a file. */
#ifndef CLI_PRINT_H
#define CLI_PRINT_H

#include "base/writer.h"
#include "loop/request.h"
#include "loop/sink.h"
#include "output/output.h"
#include "output/repeat.h"

struct print_options {
	const struct output *output;
	const struct output *table; /* the preset's own output; NULL: none */
	const char *separator;      /* between the cells of CSV */
	const char *file;           /* NULL: standard output */
	bool append;
	const char *sort; /* NULL: the default of the output */
	bool summary;
	bool timestamp;                     /* text has the date of an interval */
	size_t lines_above;                 /* of the command's own text, for a screen */
	const struct uncore_device *port;   /* the root port of --check; NULL: none */
	json_t *(*about)(struct uncore *u); /* describes the machine for `begin` of an output */
};

struct print {
	struct cli *cli;
	const struct print_options *o;
	const struct request *request;
	struct sink sink;
	/* Private: */
	struct cli_collector *collector; /* of records; NULL: the text is written */
	struct writer writer;
	struct out out;
	struct buffer command; /* the words of the command */
	struct repeat repeat;
	bool taken; /* a window was taken */
};

/* Makes the sink; the options are borrowed until print_close(). */
void print_init(struct print *p, struct cli *cli, const struct request *request,
		const struct print_options *o);
/* Frees the sink. Returns `status` of the loop, or the status of the output if that is 0. */
int print_close(struct print *p, int status);

#endif

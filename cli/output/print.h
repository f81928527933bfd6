/* SPDX-License-Identifier: MIT */
/* The sink for people and programs that read text: any of the outputs, to standard output or a
 * file. */
#ifndef CLI_PRINT_H
#define CLI_PRINT_H

#include "base/writer.h"
#include "loop/request.h"
#include "loop/sink.h"
#include "output/output.h"
#include "output/repeat.h"

struct print_options {
	const struct output *output;
	const char *separator; /* CSV */
	const char *file;      /* NULL: standard output */
	bool append;
	const char *sort; /* NULL: the default of the output */
	bool summary;
	const struct uncore_device *port;   /* that the view is for; NULL: none */
	json_t *(*about)(struct uncore *u); /* the machine, for outputs with `begin` */
};

struct print {
	struct cli *cli;
	const struct print_options *o;
	const struct request *request;
	struct sink sink;
	/* Private: */
	struct writer writer;
	struct out out;
	struct buffer command; /* its words, for the header */
	struct repeat repeat;
	bool taken; /* a window */
};

/* Makes the sink; the options are borrowed until print_close(). */
void print_init(struct print *p, struct cli *cli, const struct request *request,
		const struct print_options *o);
/* Frees it. `status` is that of the loop; returns the one of the command. */
int print_close(struct print *p, int status);

#endif

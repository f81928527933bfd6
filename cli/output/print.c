/* SPDX-License-Identifier: MIT */
/* Gives windows to an output, and its text to a file or a collector. */
#include "output/print.h"

#include <math.h>
#include <string.h>

#include "base/replay.h"
#include "output/cells.h"

/* Whether it has a record for each interval: csv=wide. */
static bool is_wide(const struct output *o)
{
	return o->record && o->window;
}

static int check(void *context)
{
	const struct print *p = context;
	const struct output *o = p->o->output;

	if (!p->cli->collector || !(o->begin || is_wide(o)))
		return CLI_OK;
	return cli_failure(CLI_USAGE,
			   "--%s shows one recording: other recordings may have other columns",
			   o->name);
}

/* ---- text for a file or a collector ---- */

/* Gives the text to the collector. The header of CSV is kept, since it comes only once, before the
 * records of all recordings. */
static int collect(struct print *p)
{
	struct cli_collector *c = p->collector;
	struct buffer *text = &p->writer.text;
	char *line = !c->header && p->writer.empty && !p->o->output->document
			     ? memchr(text->data, '\n', text->len)
			     : NULL;
	size_t len = line ? (size_t)(line + 1 - text->data) : 0;

	if (len) {
		c->header = cli_realloc(NULL, len + 1, 1);
		memcpy(c->header, text->data, len);
		c->header[len] = '\0';
		memmove(text->data, text->data + len, text->len - len);
		text->len -= len;
	}
	return c->take(c->context, p->out.frame.wall_ns, text);
}

/* ---- opening ---- */

static int begin(struct print *p)
{
	struct uncore *u = p->cli->u;
	int err = uncore_diagnose(u);

	if (err)
		return cli_fail(p->cli, err);
	p->o->output->begin(&p->out, p->o->about(u));
	return CLI_OK;
}

static struct out_setup setup_of(struct print *p)
{
	const struct request *r = p->request;
	const struct replay *replay = p->cli->replay;
	bool titled = p->collector && p->collector->header;

	return (struct out_setup){.machine = p->cli->u,
				  .source = uncore_source(p->cli->u),
				  .simulated = uncore_is_simulated(p->cli->u),
				  .intervals = r->when.interval_ns > 0,
				  .timestamp = p->o->timestamp,
				  .level = r->level,
				  .sort = p->o->sort,
				  .host = cli_host(p->cli),
				  .separator = p->o->separator,
				  .header = p->writer.empty && !titled,
				  .command_line = p->cli->command_line,
				  .recorded = replay ? replay->command_line : NULL,
				  .command = r->when.command ? p->command.data : NULL,
				  .port = p->o->port,
				  .table = p->o->table,
				  .lines_above = p->o->lines_above};
}

static int open_print(void *context)
{
	struct print *p = context;
	const struct print_options *o = p->o;
	struct cli_collector *collector = p->cli->collector;
	bool later = collector && collector->later;
	char **words = p->request->when.command;
	int status = writer_open(&p->writer, o->file, o->append || later);

	if (collector && !later) {
		collector->file = o->file;
		collector->append = true;
	}
	for (char **word = words; word && *word; word++)
		buffer_printf(&p->command, "%s%s", word == words ? "" : " ", *word);
	buffer_add(&p->command, "", 1);
	p->writer.exact = o->output->record; /* records for programs are clean already */
	p->writer.piece = p->request->when.interval_ns ? "interval" : "result";
	p->out = (struct out){.output = o->output, .setup = setup_of(p), .to = &p->writer.text};
	return !status && o->output->begin ? begin(p) : status;
}

static int begin_rounds(void *context, size_t count, double seconds)
{
	struct print *p = context;

	p->writer.signal_fd = p->sink.stop_fd;
	/* Another run has other rows, which may be where those before were. */
	cells_free(&p->out);
	if (count <= 1 || !p->o->output->window)
		return CLI_OK;
	out_text_rounds(&p->out, count, seconds);
	return writer_flush(&p->writer);
}

/* Names the recording that the rows come from. A recording of a simulation has a label already. */
static int start(void *context, bool again)
{
	struct print *p = context;
	const struct replay *replay = p->cli->replay;
	const struct cli_collector *collector = p->cli->collector;
	char date[DATE_ROOM];

	if (!replay || again || p->o->output->record || p->out.setup.simulated)
		return CLI_OK;
	cli_date(date, replay->wall_ns);
	buffer_printf(&p->writer.text, "%s%s: recorded on %s from %s on\n",
		      p->taken || (collector && collector->later) ? "\n" : "", p->out.setup.source,
		      replay->host ? replay->host : "an unknown host", date);
	return CLI_OK;
}

/* ---- windows ---- */

static int take(void *context, const struct frame *f)
{
	struct print *p = context;

	p->taken = true;
	p->writer.signal_fd = p->sink.stop_fd;
	if (p->request->when.repeat > 1 && p->o->output->window) {
		repeat_add(&p->repeat, f);
		return CLI_OK;
	}
	for (size_t i = 0; i < f->row_count; i++) {
		struct out_row row = {.row = frame_row(f, i), .spread = NAN};

		row.index = f->origins ? f->origins[i] : f->recorded ? SIZE_MAX : i;
		if (row.index != SIZE_MAX) {
			row.sample = f->sample;
			row.distribution = uncore_sample_distribution(f->sample, row.index);
		}
		out_row(&p->out, row);
	}
	/* The head has the length of the first round, since the last one may be shorter. */
	if (!f->round)
		p->out.frame = *f;
	/* A table gets the rows of all rounds, and is printed at the end of the run. So are records
	 * with what the table has of several rows. */
	if (f->round_count == 1 || (p->o->output->record && !(p->o->table && p->o->table->add)))
		out_print(&p->out, f);
	return p->collector ? collect(p) : writer_flush(&p->writer);
}

static int end_run(void *context)
{
	struct print *p = context;

	if (p->out.row_count)
		out_print(&p->out, &p->out.frame);
	return CLI_OK;
}

static int end(void *context)
{
	struct print *p = context;

	if (p->request->when.repeat > 1)
		repeat_print(&p->repeat, &p->out);
	return writer_close(&p->writer);
}

void print_init(struct print *p, struct cli *cli, const struct request *request,
		const struct print_options *o)
{
	const struct output *output = o->output;

	*p = (struct print){.cli = cli,
			    .request = request,
			    .o = o,
			    .collector = output->record ? cli->collector : NULL,
			    .writer = {.fd = -1, .signal_fd = -1}};
	p->sink = (struct sink){
		.context = p,
		.total = o->summary || (output->begin && request->when.interval_ns),
		.rounds = !is_wide(output),
		.stop_fd = -1,
		.check = check,
		.open = open_print,
		.begin_rounds = begin_rounds,
		.start = start,
		.take = take,
		.end_run = end_run,
		.end = end,
	};
}

int print_close(struct print *p, int status)
{
	if (!status)
		status = p->out.status;
	out_free(&p->out);
	buffer_free(&p->command);
	return status;
}

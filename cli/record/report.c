/* SPDX-License-Identifier: MIT */
/* `uncore report`: prints summaries of recordings, or recordings in the form of another command.
 * Records of several recordings are merged by time; tables are printed one after another. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cli.h"
#include "base/writer.h"
#include "commands/options.h"
#include "record/regions.h"
#include "record/replay.h"
#include "record/summary.h"

/* The records of one interval, which are kept in a temporary file until all recordings are read. */
struct piece {
	uint64_t wall_ns;
	size_t number; /* in the order of reading */
	long at;
	size_t len;
};

struct report {
	struct cli_part part;
	bool regions;    /* only list them */
	bool summarized; /* a file */
	char **files;
	size_t file_count;
	struct cli_collector collector;
	FILE *kept;
	struct piece *pieces;
	size_t count;
};

/* ---- records of several recordings ---- */

static int keep(void *context, uint64_t wall_ns, struct buffer *text)
{
	struct report *r = context;

	r->pieces = cli_grow(r->pieces, r->count, sizeof(*r->pieces));
	r->pieces[r->count] = (struct piece){wall_ns, r->count, ftell(r->kept), text->len};
	r->count++;
	if (fwrite(text->data, 1, text->len, r->kept) != text->len)
		return cli_failure(
			CLI_RUNTIME,
			"the records of several recordings cannot be kept in a temporary file: %m");
	text->len = 0;
	return CLI_OK;
}

static int compare_pieces(const void *a, const void *b)
{
	const struct piece *p = a, *q = b;

	if (p->wall_ns != q->wall_ns)
		return p->wall_ns < q->wall_ns ? -1 : 1;
	return p->number < q->number ? -1 : 1;
}

/* The first piece, which may have a CSV header, remains the first. */
static int print_merged(struct report *r)
{
	struct writer w;
	int status = writer_open(&w, r->collector.file, r->collector.append);

	if (r->collector.header)
		buffer_add(&w.text, r->collector.header, strlen(r->collector.header));
	qsort(r->pieces, r->count, sizeof(*r->pieces), compare_pieces);
	w.exact = true;
	w.piece = "interval";
	for (size_t i = 0; !status && i < r->count; i++) {
		const struct piece *p = &r->pieces[i];
		char *text = buffer_more(&w.text, p->len);

		if (fseek(r->kept, p->at, SEEK_SET) || fread(text, 1, p->len, r->kept) != p->len)
			status = cli_failure(
				CLI_RUNTIME,
				"the records of several recordings cannot be read again: %m");
		if (!status && w.text.len > 0x10000)
			status = writer_flush(&w);
	}
	if (!status)
		status = writer_flush(&w);
	return writer_close(&w) ? w.status : status;
}

/* ---- the command ---- */

static void take_file(void *into, char *arg, struct argp_state *state)
{
	struct report *r = into;

	(void)state;
	r->files = cli_realloc(r->files, r->file_count + 1, sizeof(*r->files));
	r->files[r->file_count++] = arg;
}

static const struct command *find_view(const struct cli *cli, const char *name)
{
	static const char *const others[] = {"snapshot", "record",     "report",
					     "diff",     "demo-block", NULL};

	if (others[cli_word(others, name)])
		return NULL;
	for (const struct command *c = cli->presets; c->name; c++)
		if (strcmp(c->name, name) == 0)
			return c;
	return NULL;
}

/* argp would only print that it does not know the option. */
static void refuse_option(const char *word)
{
	cli_error("report has no option %s; options of VIEW come after FILE: uncore report FILE %s",
		  word, word);
	exit(CLI_USAGE);
}

/* The index of the view: after a file, the name of a command or an option of stat. */
static int view_at(const struct cli *cli, int argc, char **argv)
{
	static const char *const own[] = {"--begin",       "--end",  "--region", "--regions",
					  "--as-recorded", "--help", "--usage",  "--version"};
	bool file = false;

	for (int i = 1; i < argc; i++) {
		bool mine = false, begun = false;

		for (size_t k = 0; k < sizeof(own) / sizeof(*own) && !mine; k++) {
			size_t len = strlen(own[k]);

			begun |= strncmp(argv[i], own[k], strcspn(argv[i], "=")) == 0;
			if (strncmp(argv[i], own[k], len) != 0 ||
			    (argv[i][len] && argv[i][len] != '='))
				continue;
			mine = true;
			i += k < 3 && !argv[i][len];
		}
		if (mine)
			continue;
		if (file &&
		    (*argv[i] == '-' || strcmp(argv[i], "summary") == 0 || find_view(cli, argv[i])))
			return i;
		file = *argv[i] != '-';
		if (!file && !begun && !cli->commands && !cli_is_global(argv[i]))
			refuse_option(argv[i]);
	}
	return argc;
}

/* `*empty`: the file has no interval in the requested time or region; the error is printed. */
static int show(const struct cli *cli, struct report *r, const char *file, int argc, char **argv,
		bool *empty)
{
	const struct command *view = argc ? find_view(cli, argv[0]) : NULL;
	auto_buffer source = {0}, name = {0};
	struct cli one = *cli;
	auto_free char **words = cli_realloc(NULL, (size_t)argc + 2, sizeof(*words));
	bool named = argc && strcmp(argv[0], "summary") == 0;
	bool summary = named || (!r->part.as_recorded && summary_is_meant(argc, argv));
	size_t skip = view || named;
	int status;

	buffer_printf(&source, "replay:%s", file);
	view = view ? view : find_view(cli, "stat");
	buffer_printf(&name, "uncore report %s", summary ? "summary" : view->name);
	words[0] = name.data;
	memcpy(words + 1, argv + skip, ((size_t)argc - skip) * sizeof(*words));
	words[1 + (size_t)argc - skip] = NULL;
	one.source = source.data;
	one.part = &r->part;
	one.command = view;
	one.data = cli_realloc(NULL, cli->data_count + 1, sizeof(*one.data));
	for (size_t i = 0; i < cli->data_count; i++)
		one.data[i] = cli->data[i];
	if (r->file_count > 1 && !summary)
		one.collector = &r->collector;
	status = summary ? summary_run(&one, r->summarized, 1 + argc - (int)skip, words)
			 : view->run(&one, 1 + argc - (int)skip, words);
	r->summarized |= summary && !status;
	*empty = one.replay && one.replay->empty;
	r->collector.later |= r->collector.append && !*empty;
	cli_close(&one);
	free(one.data);
	return status;
}

/* An error in one file does not hide the others, but a wrong option is wrong for all. Files without
 * an interval are an error only if all are: a recorder has just begun them, or they are of another
 * time. */
static int show_all(const struct cli *cli, struct report *r, int argc, char **argv)
{
	int status = CLI_OK, none = CLI_OK;
	bool shown = false, usage = false;
	int one;

	for (size_t i = 0; !usage && i < r->file_count; i++) {
		bool empty;
		int *first;

		one = show(cli, r, r->files[i], argc, argv, &empty);
		first = empty ? &none : &status;
		*first = *first ? *first : one;
		shown |= one == CLI_OK;
		usage = one == CLI_USAGE && !empty;
	}
	one = r->count ? print_merged(r) : CLI_OK;
	if (!status)
		status = one;
	return status || shown ? status : none;
}

static int list_all_regions(const struct report *r)
{
	int status = CLI_OK;

	for (size_t i = 0; i < r->file_count; i++) {
		struct buffer text = {0};
		struct recording recording;
		int err = recording_open(&recording, r->files[i]);

		if (r->file_count > 1)
			buffer_printf(&text, "%s\n", r->files[i]);
		if (!err)
			err = regions_list(&recording, &text);
		if (err)
			cli_error("%s", recording.error);
		recording_close(&recording);
		if (writer_print(&text) || err)
			status = CLI_RUNTIME;
	}
	return status;
}

int cmd_report(struct cli *cli, int argc, char **argv)
{
	static const struct cli_option options[] = {
		{"begin", "TIME",
		 "From TIME on: 2026-11-22T23:50:32Z, or +10min from the beginning of FILE", 0, 1,
		 OPTION_TEXT, offsetof(struct report, part.begin)},
		{"end", "TIME", "Until TIME", 0, 1, OPTION_TEXT, offsetof(struct report, part.end)},
		{"region", "TEXT", "Only the region TEXT, which marks begin and end", 0, 1,
		 OPTION_TEXT, offsetof(struct report, part.region)},
		{"as-recorded", NULL, "Print the recorded values, and do not compute them again", 0,
		 1, OPTION_FLAG, offsetof(struct report, part.as_recorded)},
		{"regions", NULL, "List the regions instead of a view", 0, 1, OPTION_FLAG,
		 offsetof(struct report, regions)},
		{0},
	};
	static const struct cli_syntax syntax = {
		.doc = "Prints what a recording has: mean, p50, p99 and maximum of each metric and "
		       "place, and when; or prints it in the form of another command.\v"
		       "VIEW is summary (the default), stat (with its options), a preset, top, latency, list, topo, explain "
		       "or doctor, with its options: uncore report FILE mem -I 1min. Records (-j, "
		       "--csv) of several recordings are in the order of their time.",
		.args = "FILE ... [VIEW ...]",
		.no_args = "a recording is missing: uncore report FILE",
		.options = options,
		.argument = take_file,
	};
	int at = view_at(cli, argc, argv), status;
	struct report r = {.collector = {.take = keep}};

	r.collector.context = &r;
	cli_parse(cli, &syntax, &r, at, argv);
	if (cli->source || cli->root)
		status = cli_failure(CLI_USAGE,
				     "report reads its files: --source and --root cannot be used");
	else if (r.regions && (at < argc || r.part.begin || r.part.end || r.part.region))
		status = cli_failure(CLI_USAGE, "--regions excludes a view and times");
	else if (r.regions)
		status = list_all_regions(&r);
	else if (r.file_count > 1 && !(r.kept = tmpfile()))
		status = cli_failure(CLI_RUNTIME, "no temporary file can be made: %m");
	else
		status = show_all(cli, &r, argc - at, argv + at);
	if (r.kept)
		fclose(r.kept);
	free(r.collector.header);
	free(r.pieces);
	free(r.files);
	return status;
}

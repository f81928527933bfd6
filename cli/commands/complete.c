/* SPDX-License-Identifier: MIT */
/* Words that can complete a command line, for shells: from the tables of commands and options, and
 * the names of the machine's metrics, events and devices. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/writer.h"
#include "commands/options.h"

struct completion {
	struct cli *cli;
	const char *word;  /* the last one, which is completed */
	const char *typed; /* the part of it that is the beginning of a name */
	struct buffer text;
};

/* Prints a line: the whole word, a tab, and its meaning. */
static void offer(struct completion *c, const char *name, const char *end, const char *doc)
{
	if (strncmp(name, c->typed, strlen(c->typed)) != 0)
		return;
	buffer_printf(&c->text, "%.*s%s%s%s%s\n", (int)(c->typed - c->word), c->word, name, end,
		      doc ? "\t" : "", doc ? doc : "");
}

/* ---- names of the machine ---- */

/* The last of a list. The commas between the slashes of an event do not separate. */
static void skip_list(struct completion *c)
{
	bool inside = false;

	for (const char *at = c->typed; *at; at++) {
		inside ^= *at == '/';
		if (!inside && strchr(",{", *at))
			c->typed = at + 1;
	}
}

static void offer_metrics(struct completion *c)
{
	const struct uncore *u = c->cli->u;

	skip_list(c);
	for (size_t i = 0; i < uncore_metric_count(u); i++) {
		const struct uncore_metric *m = uncore_metric_at(u, i);

		if (!uncore_metric_missing(m))
			offer(c, uncore_metric_name(m), "", uncore_metric_title(m));
	}
}

static void offer_names(struct completion *c, const struct uncore_pmu *pmu, const char *end)
{
	for (size_t i = 0; *end && i < uncore_pmu_alias_count(pmu); i++)
		offer(c, uncore_pmu_alias_at(pmu, i)->name, end,
		      uncore_pmu_alias_at(pmu, i)->title);
	/* Thousands. */
	for (size_t i = 0; *c->typed && i < uncore_pmu_vendor_event_count(pmu); i++)
		offer(c, uncore_pmu_vendor_event_at(pmu, i)->name, end, NULL);
}

/* "PMU/NAME/", or the vendor's name alone. */
static void offer_events(struct completion *c)
{
	const struct uncore *u = c->cli->u;
	const char *slash;

	skip_list(c);
	slash = strchr(c->typed, '/');
	for (size_t i = 0; i < uncore_pmu_count(u); i++) {
		const struct uncore_pmu *pmu = uncore_pmu_at(u, i);
		const char *name = uncore_pmu_name(pmu);

		if (!slash) {
			offer(c, name, "/", NULL);
			offer_names(c, pmu, "");
		} else if (strlen(name) == (size_t)(slash - c->typed) &&
			   strncmp(name, c->typed, strlen(name)) == 0) {
			c->typed = slash + 1;
			offer_names(c, pmu, "/");
			return;
		}
	}
}

/* Whether the kernel has this name for the device. */
static bool has_name(const struct uncore_device *d, const char *name)
{
	char text[64];
	bool found = false;
	int n;

	for (const char *at = d ? d->names : NULL; at && sscanf(at, "%63s%n", text, &n) == 1;
	     at += n)
		found |= strcmp(text, name) == 0;
	return found;
}

static void offer_devices(struct completion *c)
{
	for (size_t i = 0; i < uncore_device_count(c->cli->u); i++) {
		const struct uncore_device *d = uncore_device_at(c->cli->u, i);
		char name[64];
		int n;

		offer(c, d->address, "", d->names ? d->names : d->driver);
		for (const char *at = d->names; at && sscanf(at, "%63s%n", name, &n) == 1; at += n)
			offer(c, name, "", d->driver);
	}
	for (size_t i = 0; i < uncore_pmu_count(c->cli->u); i++) {
		const struct uncore_pmu *pmu = uncore_pmu_at(c->cli->u, i);
		const struct uncore_device *d = uncore_pmu_device(c->cli->u, pmu);

		if ((d || uncore_pmu_is_device(pmu)) && !has_name(d, uncore_pmu_name(pmu)))
			offer(c, uncore_pmu_name(pmu), "", d ? d->address : NULL);
	}
}

static void offer_ports(struct completion *c)
{
	skip_list(c);
	for (size_t i = 0; i < uncore_device_count(c->cli->u); i++) {
		const struct uncore_device *d = uncore_device_at(c->cli->u, i);

		if (d->is_port)
			offer(c, d->address, "", NULL);
	}
}

static const struct {
	const char *name; /* of an option, or an argument of a command */
	void (*offer)(struct completion *c);
} machine_values[] = {
	{"metrics", offer_metrics}, {"METRIC", offer_metrics}, {"event", offer_events},
	{"device", offer_devices},  {"port", offer_ports},     {"check", offer_ports},
};

static bool offer_of_machine(struct completion *c, const char *name)
{
	for (size_t i = 0; i < sizeof(machine_values) / sizeof(*machine_values); i++) {
		if (strcmp(name, machine_values[i].name) != 0)
			continue;
		if (cli_open(c->cli) == CLI_OK)
			machine_values[i].offer(c);
		return true;
	}
	return false;
}

/* ---- options and their values ---- */

/* Offers the words after the colon of a help text: "Order of the rows: traffic, in or out". */
static void offer_words(struct completion *c, const char *doc)
{
	const char *at = strstr(doc, ": "), *end, *other;

	for (at = at ? at + 2 : ""; *at && *at != ';'; at = end) {
		size_t len;
		char word[32];

		at += strspn(at, ", ");
		at += strncmp(at, "or ", 3) == 0 ? 3 : 0;
		len = strspn(at, "abcdefghijklmnopqrstuvwxyz0123456789-");
		len += at[len] == ':';
		end = at + strcspn(at, ",;");
		other = strstr(at, " or ");
		end = other && other < end ? other : end;
		/* "sim:NAME", "si (GB/s)", "remote ..." */
		if (!len || len >= sizeof(word) ||
		    (at + len != end && at[len - 1] != ':' && strncmp(at + len, " (", 2) != 0 &&
		     strncmp(at + len, " ...", 4) != 0))
			continue;
		snprintf(word, len + 1, "%s", at);
		offer(c, word, "", NULL);
	}
}

/* "sim:" or "regs:" and a built-in name; the library lists these when a name does not exist. */
static void offer_sources(struct completion *c, const char *doc)
{
	const char *colon = strchr(c->typed, ':');
	auto_free char *kind = NULL;

	if (!colon) {
		offer_words(c, doc);
		return;
	}
	kind = cli_copy(c->typed);
	kind[colon + 1 - c->typed] = '\0';
	c->typed = colon + 1;
	if (uncore_new(&c->cli->u) == 0 && uncore_set_source(c->cli->u, kind) == -ENOENT)
		offer_words(c, uncore_error(c->cli->u));
}

static void offer_value(struct completion *c, const struct cli_option *o)
{
	if (o->type == OPTION_OUTPUT)
		offer(c, o->arg, "", NULL);
	else if (strcmp(o->name, "source") == 0)
		offer_sources(c, o->doc);
	else if (!offer_of_machine(c, o->name))
		offer_words(c, o->doc);
}

static void offer_options(struct completion *c, const struct cli_option *options)
{
	char name[64];

	for (const struct cli_option *o = options; o->doc; o++) {
		if (!o->name || !*o->doc)
			continue;
		snprintf(name, sizeof(name), "--%s", o->name);
		offer(c, name, "", o->doc);
		snprintf(name, sizeof(name), "-%c", o->key);
		if (o->key > 0 && o->key < 256 && strlen(c->word) < 2)
			offer(c, name, "", o->doc);
	}
}

/* A command, a preset, the machine's names, or "[pmus|events|metrics]". */
static void offer_arguments(struct completion *c, const char *args)
{
	const struct command *command = c->cli->commands;
	char word[32];
	int n;

	if (args && strcmp(args, "[COMMAND ...]") == 0) {
		for (; command->name; command++)
			offer(c, command->name, "", command->doc);
		offer(c, "help", "", "Print the help of a command");
	} else if (args && strncmp(args, "[PRESET", strlen("[PRESET")) == 0) {
		for (; command->name; command++)
			if (command->metrics)
				offer(c, command->name, "", command->doc);
	} else if (args && !offer_of_machine(c, args)) {
		for (const char *at = args; sscanf(at, "%*1[[|]%31[a-z]%n", word, &n) == 1; at += n)
			offer(c, word, "", NULL);
	}
}

/* "--name", "--name=VALUE", "-nVALUE". *value: the value in the same word; NULL: none. */
static const struct cli_option *find(const struct cli_option *options, char *word, char **value)
{
	for (const struct cli_option *o = options; o->doc; o++) {
		size_t len = o->name ? strlen(o->name) : 0;

		*value = NULL;
		if (word[1] != '-' && word[1] == o->key) {
			*value = word[2] ? word + 2 : NULL;
			return o;
		}
		if (!len || word[1] != '-' || strncmp(word + 2, o->name, len) != 0)
			continue;
		*value = word[2 + len] == '=' ? word + 3 + len : NULL;
		if (*value || !word[2 + len])
			return o;
	}
	return NULL;
}

int complete(struct cli *cli, const struct cli_option *options, const struct cli_option *globals,
	     const char *args, char **words)
{
	struct completion c = {.cli = cli};
	const struct cli_option *open = NULL; /* waits for its value */
	int i = 1;
	char *value;

	for (; words[i + 1]; i++) {
		const struct cli_option *o = open;

		value = words[i];
		if (!o && strcmp(value, "--") == 0)
			exit(CLI_OK);
		if (!o && *value != '-' && strcmp(args ? args : "", "[COMMAND ...]") == 0 &&
		    strcmp(value, "help") != 0)
			return i;
		if (!o && *value == '-')
			o = find(options, words[i], &value);
		/* The value of an output is optional, and in the same word. */
		open = o && o->arg && o->type != OPTION_OUTPUT && !value ? o : NULL;
		/* Options that select the machine. */
		if (o && value && o >= globals && o->type == OPTION_TEXT)
			*(const char **)((char *)cli + o->at) = value;
	}
	c.word = c.typed = words[i];
	if (!open && *c.word == '-') {
		open = find(options, words[i], &value);
		c.typed = open && open->arg && value ? value : c.word;
		if (c.typed == c.word)
			open = NULL;
	}
	if (open)
		offer_value(&c, open);
	else if (*c.word == '-')
		offer_options(&c, options);
	else
		offer_arguments(&c, args);
	c.text.len = cli_clean(c.text.data, c.text.len, "\n\t");
	exit(writer_print(&c.text));
}

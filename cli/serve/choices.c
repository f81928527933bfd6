/* SPDX-License-Identifier: MIT */
#include "serve/choices.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "commands/stat.h"

#define MINUTE_NS (60 * NS_PER_S)

struct choice {
	char *name;
	const struct command *preset; /* NULL: a metric or a pattern */
	bool on;                      /* it is counted */
	bool wanted;                  /* a client wants it counted */
	bool asked;                   /* so it is in `next`; between plans the same as `on` */
	char *refused;                /* why the last change failed; NULL: it did not */
};

struct choices {
	const struct request *base;
	struct request now, next;
	pthread_mutex_t lock; /* protects what follows */
	struct choice *list;
	size_t count;
	uint64_t changed_ns[CHOICES_CHANGES]; /* a ring of changes that were taken; 0: none */
	size_t at;                            /* the oldest one */
};

/* ---- which there are ---- */

static const struct command *find_preset(const struct cli *cli, const char *name)
{
	for (const struct command *c = cli->presets; c->name; c++)
		if (c->metrics && strcmp(c->name, name) == 0)
			return c;
	return NULL;
}

static bool is_metric(const struct uncore *u, const char *name)
{
	auto_free char *pattern = cli_pattern(u, name);

	for (size_t i = 0; i < uncore_metric_count(u); i++)
		if (uncore_metric_matches(uncore_metric_at(u, i), pattern))
			return true;
	return false;
}

/* The base with the choices that are `wanted`, or with all. False: there are too many presets. */
static bool make_request(struct choices *c, bool all, struct request *out)
{
	struct stat_options o = {.request = *c->base};
	struct request *r = &o.request;
	bool room = true;

	r->headline = r->headline || (!r->query_count && !r->preset_count);
	r->queries = cli_realloc(NULL, r->query_count + c->count, sizeof(*r->queries));
	for (size_t i = 0; i < r->query_count; i++)
		r->queries[i] = c->base->queries[i];
	for (size_t i = 0; i < c->count; i++) {
		const struct choice *choice = &c->list[i];

		if (!all && !choice->wanted)
			continue;
		if (choice->preset)
			room = room && stat_add_preset(&o, choice->preset);
		else
			r->queries[r->query_count++] = (struct request_query){choice->name, true};
	}
	*out = *r;
	return room;
}

int choices_new(struct choices **out, struct cli *cli, const struct request *base, const char *list)
{
	auto_free char *copy = cli_copy(list);
	char *rest = copy, *name;
	struct choices *c = cli_realloc(NULL, 1, sizeof(*c));
	int status = CLI_OK;

	*c = (struct choices){.base = base, .lock = PTHREAD_MUTEX_INITIALIZER};
	while (!status && (name = strsep(&rest, ","))) {
		const struct command *preset = find_preset(cli, name);

		if (!preset && (!*name || !is_metric(cli->u, name)))
			status = cli_failure(CLI_USAGE,
					     "--choices: '%s' is neither a preset nor a metric",
					     name);
		c->list = cli_realloc(c->list, c->count + 1, sizeof(*c->list));
		c->list[c->count++] = (struct choice){.name = cli_copy(name), .preset = preset};
	}
	if (!status && !make_request(c, true, &c->next))
		status = cli_failure(CLI_USAGE, "--choices: at most %d presets can be counted",
				     REQUEST_PRESETS);
	if (status)
		choices_free(c);
	else
		*out = c;
	return status;
}

void choices_free(struct choices *c)
{
	if (!c)
		return;
	for (size_t i = 0; i < c->count; i++) {
		free(c->list[i].name);
		free(c->list[i].refused);
	}
	free(c->list);
	free(c->now.queries);
	free(c->next.queries);
	free(c);
}

/* ---- clients ---- */

json_t *choices_document(struct choices *c)
{
	json_t *list = json_array();

	pthread_mutex_lock(&c->lock);
	for (size_t i = 0; i < c->count; i++) {
		const struct choice *choice = &c->list[i];

		json_push(list, json_record(RECORD(
					{"choice", value_text(choice->name)},
					{"title",
					 value_text(choice->preset ? choice->preset->doc : NULL)},
					{"on", value_flag(choice->on)},
					{"wanted", value_flag(choice->wanted)},
					{"refused", value_text(choice->refused)})));
	}
	pthread_mutex_unlock(&c->lock);
	return json_record(
		RECORD({"schema", value_count(JSON_SCHEMA)}, {"choices", value_json(list)}));
}

/* The changes of the last minute, and the ones that wait for the end of the interval. */
static unsigned count_changes(const struct choices *c)
{
	uint64_t now_ns = cli_now_ns();
	unsigned count = 0;

	for (size_t i = 0; i < CHOICES_CHANGES; i++)
		count += c->changed_ns[i] && now_ns < c->changed_ns[i] + MINUTE_NS;
	for (size_t i = 0; i < c->count; i++)
		count += c->list[i].wanted != c->list[i].asked;
	return count;
}

/* What is counted already, or was not taken yet, changes nothing. Call with the lock held. */
static enum choices_answer want(struct choices *c, const char *name, bool on)
{
	struct choice *choice = c->list, *end = c->list + c->count;

	while (choice < end && strcmp(choice->name, name) != 0)
		choice++;
	if (choice == end)
		return CHOICES_UNKNOWN;
	if (on != choice->wanted && on != choice->asked && count_changes(c) >= CHOICES_CHANGES)
		return CHOICES_TOO_MANY;
	choice->wanted = on;
	return CHOICES_TAKEN;
}

enum choices_answer choices_ask(struct choices *c, const char *body, size_t len)
{
	json_t *document = json_loadb(body, len, JSON_REJECT_DUPLICATES, NULL);
	const char *name = json_string_value(json_object_get(document, "choice"));
	const json_t *on = json_object_get(document, "on");
	enum choices_answer answer = CHOICES_MALFORMED;

	if (name && json_is_boolean(on) && json_object_size(document) == 2) {
		pthread_mutex_lock(&c->lock);
		answer = want(c, name, json_is_true(on));
		pthread_mutex_unlock(&c->lock);
	}
	json_decref(document);
	return answer;
}

/* ---- the loop ---- */

const struct request *choices_next(struct choices *c)
{
	bool differs = false;

	pthread_mutex_lock(&c->lock);
	for (size_t i = 0; i < c->count; i++) {
		if (c->list[i].wanted == c->list[i].asked)
			continue;
		c->list[i].asked = c->list[i].wanted;
		c->changed_ns[c->at] = cli_now_ns();
		c->at = (c->at + 1) % CHOICES_CHANGES;
		differs = true;
	}
	if (differs) {
		free(c->next.queries);
		make_request(c, false, &c->next);
	}
	pthread_mutex_unlock(&c->lock);
	return differs ? &c->next : NULL;
}

void choices_settle(struct choices *c, const char *why)
{
	pthread_mutex_lock(&c->lock);
	for (size_t i = 0; i < c->count; i++) {
		struct choice *choice = &c->list[i];

		if (choice->asked == choice->on)
			continue;
		free(choice->refused);
		choice->refused = why ? cli_copy(why) : NULL;
		if (!why)
			choice->on = choice->asked;
		else if (choice->wanted == choice->asked)
			choice->wanted = choice->on;
		choice->asked = choice->on;
	}
	pthread_mutex_unlock(&c->lock);
	if (why)
		return;
	/* The monitor may refer to the texts of its queries, which stay, but not to their list. */
	free(c->now.queries);
	c->now = c->next;
	c->next = (struct request){0};
}

/* SPDX-License-Identifier: MIT */
/* The lists of data/names: words that people use, names of CPUs, and views, which are the metrics
 * that stand beside each other on a screen. Each is read at its first use. */
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "catalogue/catalogue.h"

/* Reads the file at the first call. `fields` has the one list of it. */
static int load(struct unc_catalogue *c, struct unc_yaml_file **file, const char *name,
		const struct unc_field *fields, struct unc_error *e)
{
	const struct unc_shape shape = {.fields = fields, .size = sizeof(*c)};
	struct unc_catalogue read = {0};
	struct unc_reader r = {.e = e};
	int err;

	if (*file)
		return 0;
	err = unc_load_named(file, name, unc_embedded_names, unc_embedded_names_count, "list", e);
	if (err < 0)
		return err;
	r.file = *file;
	err = unc_fill(&r, r.file->root, &shape, &read);
	if (err < 0) {
		/* Without a part of the list: the next call reads it again. */
		unc_yaml_free(*file);
		*file = NULL;
		return err;
	}
	memcpy((char *)c + fields->offset, (char *)&read + fields->offset, fields->size);
	memcpy((char *)c + fields->count, (char *)&read + fields->count, sizeof(size_t));
	return 0;
}

/* ---- words that people use ---- */

static const struct unc_field word_fields[] = {
	UNC_FIELD("!words", TEXT, UNC_AT(struct uncore_words, words)),
	UNC_FIELD("names", TEXT, UNC_AT(struct uncore_words, names)),
	UNC_FIELD("see", TEXT, UNC_AT(struct uncore_words, see)),
	UNC_END,
};

static const struct unc_field words_fields[] = {
	UNC_FIELD("!words", LIST, UNC_LIST(struct unc_catalogue, words, word_count),
		  .of = UNC_SHAPE(struct uncore_words, word_fields)),
	UNC_END,
};

const struct uncore_words *unc_catalogue_words(struct unc_catalogue *c, const char *word)
{
	char plain[32];
	size_t len = strlen(word);

	load(c, &c->words_file, "words", words_fields, NULL);
	while (len && strchr("?!.,", word[len - 1]))
		len--;
	if (len >= sizeof(plain))
		return NULL;
	for (size_t i = 0; i < len; i++)
		plain[i] = unc_lower(word[i]);
	plain[len] = '\0';
	for (size_t i = 0; i < c->word_count; i++)
		if (unc_has_word(c->words[i].words, plain))
			return &c->words[i];
	return NULL;
}

/* ---- names of CPUs ---- */

static const struct unc_field cpu_fields[] = {
	UNC_FIELD("!name", TEXT, UNC_AT(struct unc_word, name)),
	UNC_FIELD("!models", TEXT, UNC_AT(struct unc_word, text)),
	UNC_END,
};

static const struct unc_field cpus_fields[] = {
	UNC_FIELD("!cpus", LIST, UNC_LIST(struct unc_catalogue, cpus, cpu_count),
		  .of = UNC_SHAPE(struct unc_word, cpu_fields)),
	UNC_END,
};

const char *unc_catalogue_cpu(struct unc_catalogue *c)
{
	load(c, &c->cpus_file, "cpus", cpus_fields, NULL);
	for (size_t i = 0; i < c->cpu_count; i++)
		if (unc_has_one_of(c->cpus[i].text, c->cpu_model))
			return c->cpus[i].name;
	return NULL;
}

/* ---- views ---- */

#define COLUMN(key, index)                                                              \
	UNC_FIELD(key, MAP, UNC_AT(struct uncore_view, columns[UNCORE_COLUMN_##index]), \
		  .of = UNC_SHAPE(struct unc_view_column, column_fields))

static const struct unc_field column_fields[] = {
	UNC_FIELD("!title", TEXT, UNC_AT(struct unc_view_column, title)),
	UNC_FIELD("!metrics", TEXT, UNC_AT(struct unc_view_column, metrics)),
	UNC_FIELD("about", TEXT, UNC_AT(struct unc_view_column, about)),
	UNC_END,
};

static const struct unc_field view_fields[] = {
	UNC_FIELD("!name", TEXT, UNC_AT(struct uncore_view, name)),
	UNC_FIELD("!title", TEXT, UNC_AT(struct uncore_view, title)),
	UNC_FIELD("screen", TEXT, UNC_AT(struct uncore_view, screen)),
	UNC_FIELD("table", TEXT, UNC_AT(struct uncore_view, table)),
	COLUMN("in", IN),
	COLUMN("out", OUT),
	COLUMN("total", TOTAL),
	COLUMN("share", SHARE),
	COLUMN("latency", LATENCY),
	UNC_FIELD("columns", LIST, UNC_LIST(struct uncore_view, more, more_count),
		  .of = UNC_SHAPE(struct unc_view_column, column_fields)),
	UNC_END,
};

static const struct unc_field views_fields[] = {
	UNC_FIELD("!views", LIST, UNC_LIST(struct unc_catalogue, views, view_count),
		  .of = UNC_SHAPE(struct uncore_view, view_fields)),
	UNC_END,
};

int unc_catalogue_load_views(struct unc_catalogue *c, struct unc_error *e)
{
	return load(c, &c->views_file, "views", views_fields, e);
}

/* The place of the metric among the column's names, from 0 on, and the number in its name, -1
 * without one. False: the column does not have the metric. */
static bool has_metric(const struct unc_view_column *column, const char *metric, unsigned *rank,
		       int *number)
{
	const char *at = column->metrics;
	char pattern[64];
	uint64_t value;
	int n;

	for (unsigned i = 0; at && sscanf(at, "%63s%n", pattern, &n) == 1; i++, at += n) {
		value = UINT64_MAX;
		if (!unc_pattern_value(pattern, metric, "n", &value))
			continue;
		*rank = i;
		*number = value <= INT_MAX ? (int)value : -1;
		return true;
	}
	return false;
}

const struct unc_view_column *unc_view_column(const struct uncore_view *v, int column)
{
	size_t more = column < UNCORE_COLUMN_MORE ? 0 : (size_t)(column - UNCORE_COLUMN_MORE);
	const struct unc_view_column *c =
		column < UNCORE_COLUMN_MORE ? &v->columns[column] : &v->more[more];

	return more < v->more_count || (column < UNCORE_COLUMN_MORE && c->title) ? c : NULL;
}

bool uncore_view_has(const struct uncore_view *v, const char *metric, enum uncore_column *column,
		     unsigned *rank, int *number)
{
	for (int k = 0; k < UNCORE_TABLE_COLUMNS; k++) {
		const struct unc_view_column *c = unc_view_column(v, k);

		if (!c || !has_metric(c, metric, rank, number))
			continue;
		*column = (enum uncore_column)k;
		return true;
	}
	return false;
}

const struct uncore_view *unc_catalogue_find_view(const struct unc_catalogue *c, const char *metric)
{
	enum uncore_column column;
	unsigned rank;
	int number;

	for (size_t i = 0; i < c->view_count; i++)
		if (c->views[i].screen &&
		    uncore_view_has(&c->views[i], metric, &column, &rank, &number))
			return &c->views[i];
	return NULL;
}

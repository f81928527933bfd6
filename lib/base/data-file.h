/* SPDX-License-Identifier: MIT */
/*
 * Data files: a strict loader for the YAML that they use, files built into the library, and maps
 * read into structs by tables. Fuzzed.
 *
 * The YAML has maps, lists and text; nothing is guessed from a scalar's looks. Refused with
 * file:line:col: anchors, aliases, tags, a second document, duplicate or empty keys, more than 16
 * levels or 4096 entries, files over 1 MiB, invalid UTF-8.
 */
#ifndef UNC_DATA_FILE_H
#define UNC_DATA_FILE_H

#include "base/text.h"

enum unc_yaml_kind { UNC_YAML_TEXT, UNC_YAML_LIST, UNC_YAML_MAP };

struct unc_yaml {
	enum unc_yaml_kind kind;
	char *key; /* this node's key in its map, or NULL */
	int key_line, key_col;
	char *text;                /* kind TEXT */
	bool plain;                /* TEXT: on one line, without quotes: text[i] is at col + i */
	struct unc_yaml *children; /* kinds LIST and MAP, in file order */
	size_t count;
	int line, col; /* 1-based, of the value */
};

struct unc_yaml_file {
	char *name; /* as shown in errors */
	struct unc_yaml *root;
	struct unc_names kept; /* arrays and texts that were made from it */
};

/* -EBADMSG with a sentence, -ENOMEM. An empty file is -EBADMSG. */
int unc_yaml_parse(struct unc_yaml_file **out, const char *name, const char *text, size_t len,
		   struct unc_error *e);
/* From disk (data files only; files of the machine go through root.h). -ENOENT, -EACCES, ... */
int unc_yaml_load(struct unc_yaml_file **out, const char *path, struct unc_error *e);
void unc_yaml_free(struct unc_yaml_file *f);
/* Frees it with the file, or now when memory runs out. Its argument; NULL: out of memory. */
void *unc_yaml_keep(struct unc_yaml_file *f, void *memory);

/* NULL when `map` has no such key, or is no map. Typed access is below. */
const struct unc_yaml *unc_yaml_get(const struct unc_yaml *map, const char *key);

/* ---- files built into the library by tools/embed.py ---- */

struct unc_file {
	const char *name; /* "intel-imc.yaml"; of simulations, blocks and machines "t410" */
	const char *text; /* a NUL behind it */
	size_t len;
};

/* A way to recognise the PMUs of a family. */
struct unc_pattern {
	const char *name;       /* "uncore_imc_{channel}": each {word} stands for a number */
	const char *identifier; /* such a pattern, or NULL */
	/* A path whose last part is the PCI function that the PMU belongs to, if it exists; or
	 * NULL. */
	const char *device;
};

/* What tells whether a machine has PMUs of a data file, so that only those files are parsed. */
struct unc_index {
	const char *family;
	bool everywhere; /* not only on the CPUs that it names */
	const struct unc_pattern *pmus;
	size_t count;
	const char *cpus;    /* the models that it names: "intel/6/143 intel/6/207" */
	const char *paths;   /* paths of its hardware: "sys/bus/acpi/devices/ARMHC600*" */
	const char *modules; /* the drivers of its PMUs */
	/* Globs of its devices' directories: "sys/class/nvme/nvme*". If they need a kernel module,
	 * its name and a colon stand before. */
	const char *devices;
};

extern const struct unc_file unc_embedded_data[]; /* data/<family>.yaml, sorted by name */
extern const size_t unc_embedded_data_count;
extern const struct unc_index unc_embedded_index[]; /* one for each of unc_embedded_data */
extern const struct unc_file unc_embedded_sims[];   /* data/sim/<name>.yaml */
extern const size_t unc_embedded_sims_count;
extern const struct unc_file unc_embedded_blocks[]; /* data/blocks/<name>.yaml */
extern const size_t unc_embedded_blocks_count;
extern const struct unc_file unc_embedded_machines[]; /* snapshots that the sims need */
extern const size_t unc_embedded_machines_count;
extern const struct unc_file unc_embedded_names[]; /* data/names/<vendor>.txt */
extern const size_t unc_embedded_names_count;

/* True for a path, false for the name of a built-in file. */
bool unc_is_path(const char *spec);
/* Whether it is the path of a file, whose name may have commas: then no option follows. */
bool unc_is_file(const char *spec);
/* The file of this path, or the built-in one of this name; `what` is in the sentence: "simulation".
 * -ENOENT, and the errors of unc_yaml_load(). */
int unc_load_named(struct unc_yaml_file **out, const char *spec, const struct unc_file *files,
		   size_t count, const char *what, struct unc_error *e);

/* ---- maps read into structs ---- */

/*
 * A table of keys:
 *
 *	static const struct unc_field fields[] = {
 *		UNC_FIELD("!name", TEXT, UNC_AT(struct pattern, name)),
 *		UNC_FIELD("count", NUMBER, UNC_AT(struct pattern, count), .least = 1, .most = 64),
 *		UNC_END,
 *	};
 *	static const struct unc_shape pattern = {.fields = fields, .size = sizeof(struct pattern)};
 *
 * Errors, with file:line:col, are: a key that is not in the table, a missing key that is marked
 * with '!', not exactly one of the keys marked with '|', and a value of the wrong kind. A key that
 * is absent leaves its member as it was. Keys are read in the order of the table, so a check may
 * use the keys above it.
 */

struct unc_reader {
	struct unc_yaml_file *file;
	struct unc_error *e;
	void *context; /* for checks */
};

/* Checks or reads one value. `into` is the struct that is filled. 0, or a negative errno with a
 * sentence. */
typedef int unc_read(const struct unc_reader *r, const struct unc_yaml *node, void *into);

/* A key and its text. */
struct unc_word {
	const char *name, *text;
};

/* Numbers allowed; `text` follows "the value of 'KEY' must be". */
struct unc_bounds {
	double low, high;
	const char *text;
};

enum unc_field_kind {
	UNC_FIELD_ANY,  /* read by `check`, or by the caller from the node */
	UNC_FIELD_TEXT, /* const char *; one of `words` if there are any; else a line, not empty */
	UNC_FIELD_BOOL, /* bool */
	UNC_FIELD_NUMBER, /* unsigned or uint64_t, from `least` to `most` (0: no bounds) */
	UNC_FIELD_DOUBLE, /* double within `range` */
	UNC_FIELD_BITS,   /* uint64_t: "8", "24-31", "0-7,21" */
	UNC_FIELD_WORD,   /* an enum: the place in `words`; a bool: not the first */
	UNC_FIELD_NAMES,  /* struct unc_names: names separated by blanks, not empty; see `what` */
	UNC_FIELD_MAP,    /* a map of `of`, filled into the struct at `offset` */
	/* Pointers to arrays: */
	UNC_FIELD_WORDS, /* struct unc_word: a map of any keys to text, not empty */
	UNC_FIELD_LIST,  /* a list of `least` to `most` (0: any) maps of `of` */
	UNC_FIELD_NAMED, /* a map of any keys to maps of `of`; the same */
};

struct unc_field {
	/* "!name": must be there; "|name": exactly one of these must; NULL ends the table. */
	const char *key;
	enum unc_field_kind kind;
	size_t offset, size; /* of the member; size 0: not stored */
	size_t count;        /* WORDS, LIST, NAMED: offset of the number of entries, a size_t */
	const char *with;    /* keys: only beside one of them it may be there; NULL: always */
	unc_read *check;     /* called when the member is set; NULL: none */
	const struct unc_shape *of;
	uint64_t least, most;
	const struct unc_bounds *range;
	bool numbers; /* NAMES: of digits only */
	/* NAMES: a name may have values, "event=0x83|0x84", or a bound, "umask>0xff". */
	bool values;
	const char *const *words; /* ends with NULL; gaps in the numbers of an enum are "" */
	const char *what; /* "'x' is not a valid WHAT; expected ...", "... valid list of WHAT" */
};

struct unc_shape {
	const struct unc_field *fields;
	size_t size; /* of the struct */
	/* The first member is a bool: an entry of a list that sets it is read, and then left out.
	 * A list of which nothing is left is NULL. */
	bool drops;
	/* Offset of an enum: the number, from 0, of the field that the map has among the fields
	 * marked with '|'. 0: not stored. */
	size_t choice;
	unc_read *check; /* called with the map when all is read; NULL: none */
};

/* Rows of a table: UNC_FIELD("!name", TEXT, UNC_AT(struct pattern, name)), ... UNC_END. */
#define UNC_FIELD(name, field_kind, ...)                                 \
	{                                                                \
		.key = name, .kind = UNC_FIELD_##field_kind, __VA_ARGS__ \
	}
#define UNC_END             \
	{                   \
		.key = NULL \
	}
#define UNC_AT(type, member) \
	.offset = offsetof(type, member), .size = sizeof(((type *)NULL)->member)
#define UNC_LIST(type, member, number) UNC_AT(type, member), .count = offsetof(type, number)
/* The value of `.of`: maps read into structs of this type. */
#define UNC_SHAPE(type, table, ...) \
	(&(const struct unc_shape){.fields = (table), .size = sizeof(type), __VA_ARGS__})

/* -EBADMSG with a sentence, -ENOMEM. Arrays in `into` are kept by the file; an entry that is filled
 * in part is counted. */
int unc_fill(const struct unc_reader *r, const struct unc_yaml *map, const struct unc_shape *shape,
	     void *into);

/* One value alone, by a field; its key says nothing. */
int unc_fill_value(const struct unc_reader *r, const struct unc_yaml *node,
		   const struct unc_field *f, void *into);

/* "file:line:col: ..." and -EBADMSG. */
#define unc_reader_fail_at(r, line, col, ...)                                        \
	(unc_error_put((r)->e, false, "%s:%d:%d: ", (r)->file->name, (line), (col)), \
	 unc_error_append((r)->e, __VA_ARGS__), unc_negative(EBADMSG))
/* At a value, at its key, and at a character of a text: exact where the file is written as it is
 * read. */
#define unc_reader_fail(r, node, ...) unc_reader_fail_at(r, (node)->line, (node)->col, __VA_ARGS__)
#define unc_reader_fail_key(r, node, ...) \
	unc_reader_fail_at(r, (node)->key_line, (node)->key_col, __VA_ARGS__)
#define unc_reader_fail_in(r, node, offset, ...)                                               \
	unc_reader_fail_at(r, (node)->line, (node)->col + ((node)->plain ? (int)(offset) : 0), \
			   __VA_ARGS__)
/* `name`, the key of `at` or its text, must be of lower case letters, digits and `others`, a letter
 * first, and fit into a list of terms: else "'NAME' is not a valid WHAT: at most 63 lower case
 * letters, digits ...". */
int unc_reader_check_name(const struct unc_reader *r, const struct unc_yaml *at, const char *name,
			  const char *others, const char *what);
/* The value's kind must be `kind`, else a sentence that names the key and what was expected. */
int unc_reader_expect(const struct unc_reader *r, const struct unc_yaml *node,
		      enum unc_yaml_kind kind);

#endif

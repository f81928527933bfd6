/* SPDX-License-Identifier: MIT */
/*
 * Maps of a YAML file, read into structs by a table of their keys:
 *
 *	static const struct unc_field fields[] = {
 *		UNC_FIELD("!name", TEXT, UNC_AT(struct pattern, name)),
 *		UNC_FIELD("count", NUMBER, UNC_AT(struct pattern, count), .least = 1, .most = 64),
 *		UNC_END,
 *	};
 *	static const struct unc_shape pattern = {.fields = fields, .size = sizeof(struct pattern)};
 *
 * A key that is not in the table, a missing one that is marked with '!', not exactly one of the keys
 * marked with '|' and a value of the wrong kind are errors with file:line:col. A key that is absent
 * leaves its member as it was. Keys are read in the order of the table, so a check may use what stands
 * above it.
 */
#ifndef UNC_FILL_H
#define UNC_FILL_H

#include "base/yaml-file.h"
#include <stdint.h>

struct unc_reader {
	const struct unc_yaml_file *file;
	struct unc_error *e;
	void *context; /* for checks */
};

/* Checks or reads one value. `into` is the struct that is filled. 0, or a negative errno with a sentence. */
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
	UNC_FIELD_NAMES, /* struct unc_names: names separated by blanks, not empty; `what` they are */
	UNC_FIELD_MAP,   /* a map of `of`, filled into the struct at `offset` */
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
	const char
		*with;   /* keys: the map may have this one only beside one of them; NULL: always */
	unc_read *check; /* called when the member is set; NULL: none */
	const struct unc_shape *of;
	uint64_t least, most;
	const struct unc_bounds *range;
	bool values; /* NAMES: a name may have values, "event=0x83|0x84", or a bound, "umask>0xff" */
	const char *const *words; /* ends with NULL; gaps in the numbers of an enum are "" */
	const char *
		what; /* "'x' is not a valid WHAT; expected one of: ...", "'x' is not a valid list of WHAT" */
};

struct unc_shape {
	const struct unc_field *fields;
	size_t size; /* of the struct */
	/* Offset of an enum: which of the fields marked with '|' the map has, counted among those from 0; 0: not stored */
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

/* -EBADMSG with a sentence, -ENOMEM. Arrays in `into` are the caller's, also on failure; an entry that
 * is filled in part is counted. */
int unc_fill(const struct unc_reader *r, const struct unc_yaml *map, const struct unc_shape *shape,
	     void *into);

/* One value alone, by a field; its key says nothing. */
int unc_fill_value(const struct unc_reader *r, const struct unc_yaml *node,
		   const struct unc_field *f, void *into);

/* "file:line:col: ..." and -EBADMSG. */
#define unc_reader_fail_at(r, line, col, ...)                                        \
	(unc_error_put((r)->e, false, "%s:%d:%d: ", (r)->file->name, (line), (col)), \
	 unc_error_append((r)->e, __VA_ARGS__), unc_negative(EBADMSG))
/* At a value, at its key, and at a character of a text: exact where the file is written as it is read. */
#define unc_reader_fail(r, node, ...) unc_reader_fail_at(r, (node)->line, (node)->col, __VA_ARGS__)
#define unc_reader_fail_key(r, node, ...) \
	unc_reader_fail_at(r, (node)->key_line, (node)->key_col, __VA_ARGS__)
#define unc_reader_fail_in(r, node, offset, ...)                                               \
	unc_reader_fail_at(r, (node)->line, (node)->col + ((node)->plain ? (int)(offset) : 0), \
			   __VA_ARGS__)
/* `name`, the key of `at` or its text, must be of lower case letters, digits and `others`, a letter first:
 * else "'NAME' is not a valid WHAT: lower case letters, digits and OTHERS". */
int unc_reader_check_name(const struct unc_reader *r, const struct unc_yaml *at, const char *name,
			  const char *others, const char *what);
/* The value's kind must be `kind`, else a sentence that names the key and what was expected. */
int unc_reader_expect(const struct unc_reader *r, const struct unc_yaml *node,
		      enum unc_yaml_kind kind);

#endif

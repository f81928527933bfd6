/* SPDX-License-Identifier: MIT */
/*
 * A recording: one SQLite file with the readings of all counters at each tick, the values that were
 * shown then, and the machine. uncore-recording(5) describes its tables.
 *
 * A session is one run of the recorder; --append adds another one to the file. Its first tick is
 * the reading at the start, which has no values; each further tick ends an interval. Tick numbers
 * that are multiples of RECORDING_KEY are keys: their readings are decoded without those of an
 * earlier tick. The first tick of a session is one.
 *
 * Functions return 0 or a negative errno; then `error` has the sentence.
 */
#ifndef CLI_RECORDING_H
#define CLI_RECORDING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "uncore.h"

struct sqlite3;
struct sqlite3_stmt;

#define RECORDING_FORMAT 1      /* user_version of the file */
#define RECORDING_ID 0x756e6372 /* its application_id: "uncr" */
#define RECORDING_KEY 64        /* ticks from one key to the next */
#define RECORDING_MARKS 1000    /* in memory, or copied to the next file */
#define RECORDING_REASONS 1000  /* of rows, in memory: those with numbers differ each time */
#define RECORDING_ERROR 1000

/* ---- readings: encode.c ---- */

struct recorded_reading {
	struct uncore_reading reading; /* `why` is set by recording_next(), not by the decoder */
	uint32_t why;                  /* id of that sentence in the table `reason`; 0: none */
};

/* The largest number of bytes for the readings of `count` counters. */
#define READINGS_ROOM(count) (1 + 66 * (size_t)(count))

/* Encodes the readings of one tick, in the order of the plan. `before`: those of the previous tick;
 * NULL makes a key. Returns the number of bytes. */
size_t readings_encode(uint8_t *to, const struct recorded_reading *now,
		       const struct recorded_reading *before, size_t count);

/* Decodes them. `readings` has those of the previous tick; for a key its contents are ignored.
 * -EBADMSG: the bytes are not the encoded readings of `count` counters; the contents of `readings`
 * are then undefined. */
int readings_decode(struct recorded_reading *readings, size_t count, const uint8_t *data,
		    size_t len);
/* Whether the bytes are those of a key. */
bool readings_are_key(const uint8_t *data, size_t len);

/* ---- the file ---- */

/* A planned counter, in the order of the plan: struct uncore_counter with names instead of
 * objects. */
struct recorded_counter {
	char *pmu, *event;
	int cpu;
	uint64_t config[UNCORE_CONFIG_WORDS];
	uint32_t modifiers;
	size_t group;
	bool leader;
	unsigned width;
	double most_per_s; /* 0: unknown */
	int error;
	char *why; /* NULL: it was opened */
};

struct recording_tick {
	uint64_t number;
	uint64_t monotonic_ns, wall_ns;
	uint64_t interval_ns; /* 0: the first of a session */
	bool start;           /* the first of a session: its counters start from 0 */
};

#define RECORDING_STATEMENTS 7

/* The latest reason of a row or a counter, and its id. */
struct recording_reason {
	char *text;
	uint32_t id;
};

struct recording {
	char error[RECORDING_ERROR];
	char *path;
	struct recorded_counter *counters;
	size_t counter_count;
	/* Those of the latest tick that was written or read. */
	struct recorded_reading *readings;
	/* Private: */
	struct sqlite3 *db;
	struct sqlite3_stmt *statements[RECORDING_STATEMENTS];
	uint64_t next_tick; /* to be written or read */
	/* of a reader: */
	uint64_t monotonic_ns; /* of the latest tick */
	char **reasons;        /* by id - 1 */
	size_t reason_count;
	/* of a writer: */
	int lock_fd;
	bool created; /* the file was not there before */
	bool in_batch, started;
	uint64_t batch_count;            /* intervals that are not committed yet */
	int64_t reasons_left;            /* of rows, which may still be stored */
	uint64_t interval_ns, batch_ns;  /* when the batch began */
	size_t row_count;                /* of this session */
	int64_t old_row_count;           /* in the recording that it is added to */
	struct recorded_reading *latest; /* room for the next readings */
	uint8_t *blob;
	struct recording_reason *row_reasons, *counter_reasons, latest_reason;
	struct buffer values, quality, distributions;
	struct buffer pending; /* ticks that no statement has inserted yet */
	char *quality_text;    /* the latest, and its id */
	int64_t quality_id;
};

/* ---- reading: store.c ---- */

/* Opens a recording for reading; it may be one that is being written. recording_close() also after
 * a failure. */
int recording_open(struct recording *r, const char *path);

/* A text of the table `meta`, or "command_line" of the first session; freed by the caller. NULL:
 * the recording has no such entry. */
int recording_meta(struct recording *r, const char *key, char **out);

/* Goes to the last tick that is not later than this time, or to the first one, so that
 * recording_next() returns it. The interval that contains the time begins there. */
int recording_seek(struct recording *r, uint64_t wall_ns);
/* Goes to the tick with this number. */
int recording_go(struct recording *r, uint64_t number);

/* Closes a recording that was written or read. Without recording_end() the file is as after a kill
 * of the process: it ends with the last commit. */
void recording_close(struct recording *r);
/* The same for the file alone: the latest readings remain for recording_continue(). */
void recording_close_file(struct recording *r);

/* Reads the next tick, and its readings into r->readings. Returns 1, or 0 at the end of the
 * recording. */
int recording_next(struct recording *r, struct recording_tick *tick);

/* ---- writing: append.c, tick.c ---- */

/* The data of a session. */
struct recording_head {
	const char *const *meta; /* keys and texts alternately, of a new file; ends with NULL */
	const char *command_line;
	uint64_t interval_ns, sample_ns; /* 0: none */
	uint64_t above; /* per cent of the ceiling at which a burst begins; 0: no short samples */
	const struct uncore_monitor *monitor; /* open: its counters */
	bool in_memory;                       /* the path is used in errors only */
	bool append;                          /* a session in a recording of the same counters */
};

/* Makes a recording, or opens it to append, with an exclusive lock. -EEXIST: the file exists and
 * `append` is false, or it is not a recording. -EBUSY: another process writes to it. */
int recording_create(struct recording *r, const char *path, const struct recording_head *head);

/* Stores the monitor's first readings, which become the first tick of the session when the first
 * interval is added. */
int recording_start(struct recording *r, const struct uncore_monitor *m);
/* The same with the latest readings of another recording, which may be closed. */
int recording_continue(struct recording *r, const struct recording *before);
/* Adds its latest readings and the rows of the interval. Commits intervals of a second or more at
 * once, others together about once a second. */
int recording_add(struct recording *r, const struct uncore_monitor *m,
		  const struct uncore_sample *sample);
/* Adds a mark at this time, and commits it. */
int recording_mark(struct recording *r, uint64_t wall_ns, uint64_t monotonic_ns, const char *text);
/* Adds the latest marks of another recording, so that regions that began there continue here. */
int recording_copy_marks(struct recording *r, const char *path);
/* Commits all that was added. */
int recording_commit(struct recording *r);
/* Ends the session, but not the file: nothing is recorded until recording_resume() begins the next
 * one. */
int recording_pause(struct recording *r, const char *end);
int recording_resume(struct recording *r, const struct recording_head *head);
/* Ends the session and the file; `end` is the reason. */
int recording_end(struct recording *r, const char *end);
/* The size of the file, including the pages of its write-ahead log. */
uint64_t recording_size(struct recording *r);

/* The name of the file system of `path`, if its file locks may not work across hosts; else NULL. */
const char *recording_network(const char *path);

/* ---- the flight recorder: flight.c ---- */

/* Deletes ticks before this time from a recording in memory, except those from the previous key
 * on. */
int flight_trim(struct recording *r, uint64_t before_ns);
/* Writes a recording in memory into a new file. */
int flight_write(struct recording *r, const char *path);

#endif

/* SPDX-License-Identifier: MIT */
/* The readings of a tick as bytes: differences from the previous tick, as varints. */
#include "record/recording.h"

#include <errno.h>
#include <string.h>

enum {
	KEY = 1, /* the first byte of a tick: 1 for a key, else 0 */
};

/* The flags of a counter. */
enum {
	RAW = 1 << 0,     /* the count has changed: its difference follows */
	TIMES = 1 << 1,   /* the times differ from those predicted: they follow */
	RUNNING = 1 << 2, /* and running did not advance as enabled: it follows, too */
	LOST = 1 << 3,
	WRAPPED = 1 << 4,
	WHY = 1 << 5, /* the id of the reason follows */
	INCOMPLETE = 1 << 6,
	ALL = (1 << 7) - 1,
};

/* The advance of a counter's times since the previous tick, which predicts that of the next
 * counter: counters of one group are read together, so that theirs are equal. */
struct advance {
	uint64_t at, enabled, running, took, uncertain; /* the last two: as they are */
};

static uint8_t *put_varint(uint8_t *to, uint64_t v)
{
	for (; v > 127; v >>= 7)
		*to++ = (uint8_t)(v | 128);
	*to++ = (uint8_t)v;
	return to;
}

/* Maps small negative differences to small numbers. Differences are modulo 2^64, so that any two
 * values have one. */
static uint64_t zigzag(uint64_t difference)
{
	return difference << 1 ^ (difference >> 63 ? UINT64_MAX : 0);
}

static uint64_t unzigzag(uint64_t v)
{
	return v >> 1 ^ (v & 1 ? UINT64_MAX : 0);
}

static struct advance advance_of(const struct uncore_reading *now,
				 const struct uncore_reading *before)
{
	return (struct advance){now->at_ns - before->at_ns, now->enabled_ns - before->enabled_ns,
				now->running_ns - before->running_ns, now->took_ns,
				now->uncertain_ns};
}

static uint8_t *encode_one(uint8_t *to, const struct recorded_reading *now,
			   const struct uncore_reading *before, struct advance *predicted)
{
	const struct uncore_reading *r = &now->reading;
	struct advance a = advance_of(r, before);
	uint8_t flags = (r->raw != before->raw ? RAW : 0) | (r->lost ? LOST : 0) |
			(r->wrapped ? WRAPPED : 0) | (now->why ? WHY : 0) |
			(r->incomplete ? INCOMPLETE : 0);

	if (memcmp(&a, predicted, sizeof(a)) != 0)
		flags |= TIMES | (a.running != a.enabled ? RUNNING : 0);
	*to++ = flags;
	if (flags & RAW)
		to = put_varint(to, zigzag(r->raw - before->raw));
	if (flags & TIMES) {
		to = put_varint(to, zigzag(a.at - predicted->at));
		to = put_varint(to, zigzag(a.enabled - predicted->enabled));
		to = put_varint(to, a.took);
		to = put_varint(to, a.uncertain);
	}
	if (flags & RUNNING)
		to = put_varint(to, zigzag(a.running - a.enabled));
	if (flags & WHY)
		to = put_varint(to, now->why);
	*predicted = a;
	return to;
}

size_t readings_encode(uint8_t *to, const struct recorded_reading *now,
		       const struct recorded_reading *before, size_t count)
{
	static const struct uncore_reading zero;
	struct advance predicted = {0};
	uint8_t *at = to;

	*at++ = before ? 0 : KEY;
	for (size_t i = 0; i < count; i++)
		at = encode_one(at, &now[i], before ? &before[i].reading : &zero, &predicted);
	return (size_t)(at - to);
}

/* ---- decoding ---- */

struct input {
	const uint8_t *at, *end;
	bool bad; /* the end came too early, or a number has more than 64 bits */
};

static uint64_t take_varint(struct input *in)
{
	uint64_t v = 0;

	for (unsigned shift = 0; shift < 64; shift += 7) {
		uint8_t byte;

		if (in->at == in->end)
			break;
		byte = *in->at++;
		if (shift == 63 && byte > 1)
			break;
		v |= (uint64_t)(byte & 127) << shift;
		if (byte < 128)
			return v;
	}
	in->bad = true;
	return 0;
}

static void decode_one(struct input *in, struct recorded_reading *into, struct advance *a)
{
	struct uncore_reading *r = &into->reading;
	uint64_t why;
	uint8_t flags;

	if (in->at == in->end) {
		in->bad = true;
		return;
	}
	flags = *in->at++;
	if (flags > ALL || (flags & RUNNING && !(flags & TIMES)))
		in->bad = true;
	if (flags & RAW)
		r->raw += unzigzag(take_varint(in));
	if (flags & TIMES) {
		a->at += unzigzag(take_varint(in));
		a->enabled += unzigzag(take_varint(in));
		a->took = take_varint(in);
		a->uncertain = take_varint(in);
		a->running = a->enabled;
	}
	if (flags & RUNNING)
		a->running += unzigzag(take_varint(in));
	why = flags & WHY ? take_varint(in) : 0;
	if (why > UINT32_MAX)
		in->bad = true;
	r->at_ns += a->at;
	r->enabled_ns += a->enabled;
	r->running_ns += a->running;
	r->took_ns = a->took;
	r->uncertain_ns = a->uncertain;
	r->lost = flags & LOST;
	r->wrapped = flags & WRAPPED;
	r->incomplete = flags & INCOMPLETE;
	r->why = NULL;
	into->why = (uint32_t)why;
}

bool readings_are_key(const uint8_t *data, size_t len)
{
	return len && data[0] == KEY;
}

int readings_decode(struct recorded_reading *readings, size_t count, const uint8_t *data,
		    size_t len)
{
	struct input in = {data, data + len, !len || data[0] > KEY};
	struct advance predicted = {0};

	if (in.bad)
		return -EBADMSG;
	if (*in.at++ == KEY)
		memset(readings, 0, count * sizeof(*readings));
	for (size_t i = 0; i < count && !in.bad; i++)
		decode_one(&in, &readings[i], &predicted);
	return in.bad || in.at != in.end ? -EBADMSG : 0;
}

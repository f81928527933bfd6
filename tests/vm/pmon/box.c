/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Counters, and the arithmetic of counting. */
#include "pmon.h"

#include <stdio.h>
#include <stdlib.h>

#define MAX_BOXES 1024

static struct box *boxes[MAX_BOXES];
static unsigned n_boxes;

static uint64_t mask(unsigned width)
{
	return width < 64 ? (UINT64_C(1) << width) - 1 : UINT64_MAX;
}

void box_init(struct box *box, unsigned n, unsigned width)
{
	if (n > BOX_COUNTERS || n_boxes == MAX_BOXES) {
		fprintf(stderr, "pmon: too many counters or boxes\n");
		exit(1);
	}
	*box = (struct box){.n = n, .tick = traffic_now()};
	for (unsigned i = 0; i < n; i++)
		box->ctr[i].width = width;
	boxes[n_boxes++] = box;
}

static void grow(struct counter *c, uint64_t by)
{
	uint64_t top = mask(c->width);

	if (c->saturates && by > top - c->value) {
		c->value = top;
		c->overflow = true;
	} else {
		c->value = (c->value + by) & top;
	}
}

/* What happened between two ticks. */
static uint64_t happened(struct counter *c, uint64_t from, uint64_t to)
{
	__extension__ unsigned __int128 share;
	uint64_t total, moved;

	if (!real_counts(&c->real))
		return c->weight * (to - from);
	share = c->weight * real_background();
	total = real_total(&c->real);
	moved = total - c->real_seen;
	c->real_seen = total;
	return moved + (uint64_t)(share * to / 1000 - share * from / 1000);
}

static void advance_to(struct box *box, uint64_t now)
{
	uint64_t from = box->tick;

	box->tick = now;
	for (unsigned i = 0; i < box->n; i++) {
		struct counter *c = &box->ctr[i];
		uint64_t by = happened(c, from, now);

		if (c->on && !box->frozen)
			grow(c, by);
	}
}

void counter_real(struct counter *c, const struct real *real)
{
	c->real = *real;
	c->real_seen = real_total(real);
}

void boxes_advance(void)
{
	for (unsigned b = 0; b < n_boxes; b++)
		box_advance(boxes[b]);
}

void boxes_restart(void)
{
	for (unsigned b = 0; b < n_boxes; b++)
		for (unsigned i = 0; i < boxes[b]->n; i++)
			boxes[b]->ctr[i].real_seen = real_total(&boxes[b]->ctr[i].real);
}

/* The tick in which a counter of the box first overflows. */
static uint64_t overflows_at(const struct box *box)
{
	uint64_t first = UINT64_MAX;

	for (unsigned i = 0; i < box->n && !box->frozen; i++) {
		const struct counter *c = &box->ctr[i];
		uint64_t at;

		if (!c->on || !c->weight)
			continue;
		at = box->tick + (mask(c->width) - c->value) / c->weight + 1;
		if (at < first)
			first = at;
	}
	return first;
}

/* No box passes the tick in which one of those that freeze together overflows. */
static void freeze_together(unsigned together, uint64_t now)
{
	uint64_t first = UINT64_MAX;

	for (unsigned b = 0; b < n_boxes; b++) {
		uint64_t at = boxes[b]->together == together ? overflows_at(boxes[b]) : UINT64_MAX;

		if (at < first)
			first = at;
	}
	for (unsigned b = 0; first <= now && b < n_boxes; b++) {
		if (boxes[b]->together != together)
			continue;
		advance_to(boxes[b], first);
		boxes[b]->frozen = true;
	}
}

void box_advance(struct box *box)
{
	uint64_t now = traffic_now();

	if (box->together)
		freeze_together(box->together, now);
	advance_to(box, now);
}

void box_freeze_together(struct box *box, unsigned together)
{
	if (together)
		freeze_together(together, traffic_now());
	box_advance(box);
	box->together = together;
}

void boxes_preset(uint64_t below)
{
	for (unsigned b = 0; b < n_boxes; b++) {
		box_advance(boxes[b]);
		for (unsigned i = 0; i < boxes[b]->n; i++) {
			struct counter *c = &boxes[b]->ctr[i];

			c->value = (0 - below) & mask(c->width);
			c->overflow = false;
		}
	}
}

/*
 * A prime modulus spreads wide selections (32-bit umasks, masks of ports) without letting a
 * weight grow so large that a 36-bit counter would wrap within a test.
 */
uint64_t pmon_weight(unsigned socket, unsigned instance, uint64_t event, uint64_t select)
{
	uint64_t unit = 1 + instance + 32 * (uint64_t)socket;

	return unit * (1000 * event + 1 + select % 997);
}

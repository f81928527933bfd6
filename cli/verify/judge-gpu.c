/* SPDX-License-Identifier: MIT */
/* What a GPU counts itself, by the bytes that its copy engines move. Its link counts packets: the
 * payload with headers, and requests. The sizes of packets depend on the GPU and the host. They are
 * found by series of copies in one direction, and all series must agree with them. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "verify/judge.h"

/* The largest deviations: of payload, of requests, and of the GPU's memory, which is counted as a
 * mean over a time that begins and ends up to 0.1 s beside the reading. */
#define PAYLOAD 0.001
#define REQUESTS 0.005
#define MEMORY 0.005
/* The largest part of the data that may be counted where nothing is expected. */
#define ASTRAY 0.001

/* In bytes of a packet's payload, or of what one request asks for. */
static const double sizes[] = {64, 128, 256, 512};
#define SIZES (sizeof(sizes) / sizeof(*sizes))

/* What is counted of each byte: `payload` + `header` / size of the packets. A header of 12 bytes
 * (completions) or 16 bytes (requests and writes with addresses of 64 bits) comes with 8 bytes of
 * framing and checksum. */
struct part {
	double payload, header, limit;
	const char *packets;
};

static const struct model {
	const char *metric;
	struct part reads, writes, copies; /* of host memory by the GPU, and within the GPU */
} models[] = {
	{"device.pcie.received.bandwidth", .reads = {1, 20, PAYLOAD, "completions"}},
	{"device.pcie.transmitted.bandwidth", .reads = {0, 24, REQUESTS, "read requests"},
	 .writes = {1, 24, PAYLOAD, "writes"}},
	{"device.pcie.inbound.read.bandwidth", .reads = {1, 0, PAYLOAD, NULL}},
	{"device.pcie.inbound.write.bandwidth", .writes = {1, 0, PAYLOAD, NULL}},
	{"device.memory.bandwidth", .copies = {2, 0, MEMORY, NULL}},
};

static const struct model *model_of(const struct verify_cell *c)
{
	const struct model *m = models;

	while (strcmp(m->metric, c->metric) != 0)
		m++;
	return m;
}

static double counted_of(const struct part *p, double size)
{
	return p->payload + (p->header > 0 ? p->header / size : 0);
}

static double nearest_size(const struct part *p, double slope)
{
	double size = sizes[0];

	for (size_t i = 1; i < SIZES; i++)
		if (fabs(slope - counted_of(p, sizes[i])) < fabs(slope - counted_of(p, size)))
			size = sizes[i];
	return size;
}

/* The size that the first series of this load and device gives for the own cell, if it is within
 * the limit of one. NaN: none does. */
static double find_size(const struct judged *j, enum verify_load load, const struct part *p)
{
	for (size_t i = 0; i < j->run->series_count; i++) {
		const struct verify_series *s = &j->run->series[i];
		struct verify_fit fit;
		double size, counted;

		if (s->load != load || strcmp(s->device, j->series->device) != 0 ||
		    !s->round_count || !verify_reading_of(s, 0, j->own))
			continue;
		judge_fit(s, j->own, false, &fit);
		size = nearest_size(p, fit.slope);
		counted = counted_of(p, size);
		if (fabs(fit.slope - counted) <= p->limit * counted + 2 * fit.error)
			return size;
	}
	return NAN;
}

/* What is counted of each byte of the series, and by how much it may differ. NaN: it depends on a
 * size that was not found. */
struct prediction {
	double counted, limit;
	char packets[80]; /* "read requests of 256 B, writes of 256 B" */
};

static void add_part(struct prediction *into, const struct judged *j, enum verify_load load,
		     const struct part *p)
{
	const double size = p->header > 0 ? find_size(j, load, p) : 0;
	const size_t len = strlen(into->packets);

	into->counted += counted_of(p, size);
	into->limit += p->limit * counted_of(p, size);
	if (p->packets && isfinite(size))
		snprintf(into->packets + len, sizeof(into->packets) - len, "%s%s of %.0f B",
			 len ? ", " : "", p->packets, size);
}

static struct prediction predict(const struct judged *j, const struct model *m)
{
	const enum verify_load load = j->series->load;
	struct prediction p = {0};

	if (load == VERIFY_GPU_READ || load == VERIFY_GPU_BOTH)
		add_part(&p, j, VERIFY_GPU_READ, &m->reads);
	if (load == VERIFY_GPU_WRITE || load == VERIFY_GPU_BOTH)
		add_part(&p, j, VERIFY_GPU_WRITE, &m->writes);
	if (load == VERIFY_GPU_COPY)
		add_part(&p, j, VERIFY_GPU_COPY, &m->copies);
	p.limit = p.counted > 0 ? p.limit : ASTRAY;
	return p;
}

static bool is_near(const struct judged *j, const struct prediction *p)
{
	return fabs(j->slope - p->counted) <= p->limit + j->tolerance;
}

/* ---- checks ---- */

/* Where nothing is expected, there is a verdict only if something is counted. */
static bool check_expected(struct judged *j)
{
	const struct prediction p = predict(j, model_of(j->cell));

	j->not_judged = p.counted <= 0 && !(fabs(j->slope) > ASTRAY + j->tolerance);
	return j->not_judged;
}

/* The data of one GPU must not be counted by another one. */
static bool check_others(struct judged *j)
{
	for (size_t i = 0; i < j->run->cell_count; i++) {
		const struct verify_cell *c = &j->run->cells[i];
		const struct verify_fit *f = &j->fits[i];
		const double least = ASTRAY + 2 * f->error;

		if (c->expected != j->expected || strcmp(c->port, j->cell->port) == 0 ||
		    !(f->slope > least) || f->error > JUDGE_PART_ERROR ||
		    f->slope <= judge_yield(j, f))
			continue;
		return judge_off(j, fabs(j->slope) <= least ? "other device" : "astray",
				 "%.1f %% of the data of %s is counted at %s", f->slope * 100,
				 j->series->device, c->port);
	}
	return false;
}

/* Other programs that use the GPU change the counts by amounts that differ from round to round. */
static bool check_error(struct judged *j)
{
	const double limit = predict(j, model_of(j->cell)).limit;

	return j->tolerance > limit &&
	       judge_unknown(
		       j, "busy",
		       "counts of the same amount vary: the error must be below %.4f, and other "
		       "programs moved about %s here: stop them, or use more --time",
		       limit / 2, human(fmax(j->fit->rate, 0), "B/s").text);
}

/* The other direction of the link is counted, or the payload without headers. */
static bool check_link(struct judged *j)
{
	const struct model *m = model_of(j->cell);
	const struct prediction own = predict(j, m);
	const struct prediction other = predict(j, &models[m == models]);

	if (m > models + 1 || is_near(j, &own))
		return false;
	if (other.counted > ASTRAY && is_near(j, &other))
		return judge_off(j, "directions swapped", "the other direction is counted");
	return !(own.counted < 1) && fabs(j->slope - 1) <= PAYLOAD + j->tolerance &&
	       judge_off(j, "payload", "the payload is counted without headers");
}

/* The size was not found: no series in one direction has it. */
static bool check_sizes(struct judged *j)
{
	const struct model *m = model_of(j->cell);
	const bool reads = j->series->load == VERIFY_GPU_READ;
	const struct part *p = reads ? &m->reads : &m->writes;
	const double size = nearest_size(p, j->slope), ratio = j->slope / counted_of(p, size);

	if (isfinite(predict(j, m).counted))
		return false;
	if (j->series->load == VERIFY_GPU_BOTH)
		return judge_unknown(j, NULL,
				     "the copies in one direction give no size of packets");
	/* A root port may answer a request by completions of different sizes. */
	if (m == models && fabs(ratio - 1) > JUDGE_FACTOR && j->slope < counted_of(p, sizes[0]) &&
	    j->slope > counted_of(p, sizes[SIZES - 1]))
		return judge_unknown(
			j, "mixed",
			"%.4f B for each byte is between what completions of two sizes "
			"give: the host may mix them",
			j->slope);
	return judge_off(j, NULL,
			 "%.4f B for each byte: %.1f %% too %s for %s of %.0f B (%.4f), and no "
			 "other size is nearer",
			 j->slope, fabs(ratio - 1) * 100, ratio < 1 ? "little" : "much", p->packets,
			 size, counted_of(p, size));
}

/* COUNTED is relative to the prediction. */
static bool check_counts(struct judged *j)
{
	const struct prediction p = predict(j, model_of(j->cell));
	struct verify_result *r = j->result;

	if (p.counted <= 0)
		return judge_off(j, "other direction",
				 "%.4f B are counted for each byte that was moved in the other "
				 "direction",
				 j->slope);
	r->value = j->slope;
	r->known = p.counted;
	r->unit = "B/B";
	r->basis = "packets";
	r->fit.slope = j->slope / p.counted;
	r->fit.error = j->fit->error / p.counted;
	if (is_near(j, &p))
		return judge_proved(j, "%.4f B for each byte%s%s%s", j->slope,
				    *p.packets ? " (" : "", p.packets, *p.packets ? ")" : "");
	return judge_off(j, NULL, "%.4f B for each byte: %.2f %% too %s (%.4f expected%s%s)",
			 j->slope, fabs(r->fit.slope - 1) * 100,
			 r->fit.slope < 1 ? "little" : "much", p.counted, *p.packets ? ", " : "",
			 p.packets);
}

/* The sizes of packets may be unknown, but something must be counted. */
static bool check_nothing(struct judged *j)
{
	return fabs(j->slope) <= ASTRAY + j->tolerance &&
	       judge_off(j, "nothing", "nothing is counted");
}

judge_check *const gpu_checks[] = {
	check_expected, judge_rounds, check_others, check_error, check_nothing,
	check_link,     check_sizes,  check_counts, NULL,
};

/* SPDX-License-Identifier: MIT */
/* What a GPU counts itself, by the bytes that its copy engines move. Its link counts packets: the
 * payload with headers, and requests. The sizes of packets depend on the GPU and the host. They are
 * found by the first series of copies in one direction, and other series must agree with them. */
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
	double payload, header;
	const char *packets;
};

static const struct model {
	const char *metric;
	struct part reads, writes, copies; /* of host memory by the GPU, and within the GPU */
	double limit;                      /* of copies */
} models[] = {
	{"device.pcie.received.bandwidth", .reads = {1, 20, "completions"}},
	{"device.pcie.transmitted.bandwidth", .reads = {0, 24, "read requests"},
	 .writes = {1, 24, "writes"}},
	{"device.pcie.inbound.read.bandwidth", .reads = {1, 0, NULL}},
	{"device.pcie.inbound.write.bandwidth", .writes = {1, 0, NULL}},
	{"device.memory.bandwidth", .copies = {2, 0, NULL}},
};
#define MODELS (sizeof(models) / sizeof(*models))

static const struct model *model_of(const struct verify_cell *c)
{
	for (size_t i = 0; i < MODELS; i++)
		if (strcmp(models[i].metric, c->metric) == 0)
			return &models[i];
	return NULL;
}

static double limit_of(const struct part *p)
{
	return p->payload >= 2 ? MEMORY : p->payload > 0 ? PAYLOAD : REQUESTS;
}

static double counted_of(const struct part *p, double size)
{
	return p->payload + (p->header > 0 ? p->header / size : 0);
}

/* The size of packets that gives the slope; NaN: none does. */
static double size_of(const struct part *p, const struct verify_fit *fit)
{
	for (size_t i = 0; p->header > 0 && i < SIZES; i++) {
		const double counted = counted_of(p, sizes[i]);

		if (fabs(fit->slope - counted) <= limit_of(p) * counted + 2 * fit->error)
			return sizes[i];
	}
	return NAN;
}

/* The size in the first series of this load and device that has one, for the own cell. */
static double first_size(const struct judged *j, enum verify_load load, const struct part *p)
{
	double size = NAN;

	for (size_t i = 0; !isfinite(size) && i < j->run->series_count; i++) {
		const struct verify_series *s = &j->run->series[i];
		struct verify_fit fit;

		if (s->load != load || strcmp(s->device, j->series->device) != 0 ||
		    !s->round_count || !verify_reading_of(s, 0, j->own))
			continue;
		judge_fit(s, j->own, false, &fit);
		size = size_of(p, &fit);
	}
	return size;
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
	const size_t len = strlen(into->packets);
	double size;

	if (!(p->payload > 0 || p->header > 0))
		return;
	size = p->header > 0 ? first_size(j, load, p) : 0;
	into->counted += counted_of(p, size);
	into->limit += limit_of(p) * counted_of(p, size);
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
	return p;
}

static bool is_near(const struct judged *j, const struct prediction *p)
{
	return fabs(j->slope - p->counted) <= p->limit + j->tolerance;
}

/* ---- checks ---- */

/* The series gives no verdict on a metric that has nothing to do with its load. */
static bool check_load(struct judged *j)
{
	const struct model *m = model_of(j->cell);

	j->not_judged = !m || (j->series->load == VERIFY_GPU_COPY) != (m->copies.payload > 0);
	return j->not_judged || judge_few_rounds(j, j->fit->count);
}

/* The data of one GPU must not be counted by another one. */
static bool check_others(struct judged *j)
{
	for (size_t i = 0; i < j->run->cell_count; i++) {
		const struct verify_cell *c = &j->run->cells[i];
		const struct verify_fit *f = &j->fits[i];
		const double least = ASTRAY + 2 * f->error;

		if (c->expected != j->expected || strcmp(c->family, j->cell->family) != 0 ||
		    strcmp(c->port, j->cell->port) == 0 || !(f->slope > least) ||
		    f->error > JUDGE_PART_ERROR || f->slope <= judge_yield(j, f))
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
	const struct prediction p = predict(j, model_of(j->cell));
	const double most = p.limit > 0 ? p.limit : ASTRAY;

	if (j->tolerance <= most)
		return false;
	return judge_unknown(j, "busy",
			     "counts of the same amount vary: the error must be below %.4f, and "
			     "other programs moved about %s here: stop them, or use more --time",
			     most / 2, human(fmax(j->fit->rate, 0), "B/s").text);
}

/* Faults with a name: the other direction is counted, or the payload without headers, or in another
 * unit. */
static bool check_names(struct judged *j)
{
	static const struct judge_factor known[] = {
		{2, "double", NULL, "counted twice"},
		{0.5, "half", NULL, "half of it is counted"},
		{1.024, "units", NULL, "decimal and binary units are confused: 1.024"},
		{1 / 1.024, "units", NULL, "decimal and binary units are confused: 1/1.024"},
		{1.048576, "units", NULL, "decimal and binary units are confused: 1.024^2"},
		{1 / 1.048576, "units", NULL, "decimal and binary units are confused: 1/1.024^2"},
		{0, NULL, NULL, NULL},
	};
	const struct model *m = model_of(j->cell), *other;
	const struct prediction own = predict(j, m);
	const struct judge_factor *f;

	if (is_near(j, &own))
		return false;
	other = m < models + 2 ? &models[m == models] : NULL;
	if (other && j->series->load != VERIFY_GPU_BOTH) {
		const struct prediction p = predict(j, other);

		if (isfinite(p.counted) && p.counted > ASTRAY && is_near(j, &p))
			return judge_off(j, "directions swapped", "the other direction is counted");
	}
	if (other && fabs(j->slope - 1) <= PAYLOAD + j->tolerance && !(own.counted < 0.9))
		return judge_off(j, "payload", "the payload is counted without headers");
	f = own.counted > 0
		    ? judge_find_factor(known, j->slope / own.counted, PAYLOAD, j->tolerance, 0.01)
		    : NULL;
	return f && judge_off(j, f->fault, "%s", f->sentence);
}

/* The nearest size to a slope that no size gives. */
static double nearest(const struct part *p, double slope)
{
	double size = sizes[0];

	for (size_t i = 1; i < SIZES; i++)
		if (fabs(slope - counted_of(p, sizes[i])) < fabs(slope - counted_of(p, size)))
			size = sizes[i];
	return size;
}

/* The size was not found: by this series, or by an earlier one. */
static bool judge_sizes(struct judged *j, const struct model *m)
{
	const bool reads = j->series->load == VERIFY_GPU_READ;
	const struct part *p = reads ? &m->reads : &m->writes;
	const double size = nearest(p, j->slope), ratio = j->slope / counted_of(p, size);

	if (j->series->load == VERIFY_GPU_BOTH)
		return judge_unknown(j, NULL,
				     "the size of packets is unknown: see the copies in one "
				     "direction");
	if (fabs(j->slope) <= ASTRAY + j->tolerance)
		return judge_off(j, "nothing", "nothing is counted");
	/* A root port may answer a request by completions of different sizes. */
	if (p->payload > 0 && reads && fabs(ratio - 1) > JUDGE_FACTOR &&
	    j->slope > counted_of(p, sizes[SIZES - 1]) && j->slope < counted_of(p, sizes[0]))
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

/* COUNTED is relative to the prediction. Where nothing is expected there is a verdict only if
 * something is counted. */
static bool check_counts(struct judged *j)
{
	const struct model *m = model_of(j->cell);
	const struct prediction p = predict(j, m);
	struct verify_result *r = j->result;
	double ratio;

	if (!isfinite(p.counted))
		return judge_sizes(j, m);
	if (!(p.counted > 0)) {
		j->not_judged = fabs(j->slope) <= ASTRAY + j->tolerance;
		return j->not_judged ||
		       judge_off(j, "other direction",
				 "%.4f B are counted for each byte, and nothing was moved in this "
				 "direction",
				 j->slope);
	}
	ratio = j->slope / p.counted;
	r->value = j->slope;
	r->known = p.counted;
	r->unit = "B/B";
	r->basis = "packets";
	r->fit.slope = ratio;
	r->fit.error = j->fit->error / p.counted;
	if (is_near(j, &p))
		return judge_proved(j, "%.4f B for each byte%s%s%s", j->slope,
				    *p.packets ? " (" : "", p.packets, *p.packets ? ")" : "");
	if (fabs(j->slope) <= ASTRAY + j->tolerance)
		return judge_off(j, "nothing", "nothing is counted");
	return judge_off(j, NULL, "%.4f B for each byte: %.2f %% too %s (%.4f expected%s%s)",
			 j->slope, fabs(ratio - 1) * 100, ratio < 1 ? "little" : "much", p.counted,
			 *p.packets ? ", " : "", p.packets);
}

judge_check *const gpu_checks[] = {
	check_load, check_others, check_error, check_names, check_counts, NULL,
};

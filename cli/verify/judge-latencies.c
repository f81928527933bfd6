/* SPDX-License-Identifier: MIT */
/* Latencies are compared with a pointer chase: the time that a load waited by the counters between
 * core and memory, and the whole time of the load. */
#include <math.h>
#include <string.h>

#include "verify/judge.h"

/* Limits of the requests of each load. Prefetchers may add a request for the neighbour of each
 * line. */
#define REQUESTS_LEAST 0.95
#define REQUESTS_MOST 2.1
#define REQUESTS_NONE 0.05
#define HALF_OFF 0.02
/* The largest standard error of a latency with which there is a verdict. It is smaller than the
 * distance of the limits. */
#define ERROR_MOST 0.05
/* Allowance, as a part of a load's time: the two clocks differ, and there is some time between two
 * loads. */
#define CLOCKS_OFF 0.02
/* With a lower limit of at least this part of the load's time, an error by a factor of two is
 * detected. */
#define TIGHT 0.5
/* The shortest latency of DRAM: the column access alone takes so long (JEDEC, tAA of DDR4 and
 * DDR5). */
#define DRAM_NS 12.0

/* The requests of each family. Those of Intel's caches and of AMD's L3 begin when a load misses
 * that cache and end when its data arrive. The time before is less than that of a hit, and a hit
 * takes less than half as long as a load from memory (with lmbench 25 to 27 ns of 90 ns on Skylake
 * SP, at most 42 ns of 95 ns on Broadwell EP, and less for AMD's smaller caches: AnandTech, "Sizing
 * Up Servers", July 2017). For other families the part of a load's time before the request is
 * unknown. */
static const struct unit {
	const char *family;
	double requests; /* of a load; NaN: they are sampled, or the documents do not tell */
	double least;    /* the smallest possible part of a load's time; 0: unknown */
} units[] = {
	{"intel-cha", 1, TIGHT}, {"intel-cbox", 1, TIGHT},   {"intel-imc", 1, 0},
	{"amd-l3", NAN, TIGHT},  {"nvidia-t410-cmem", 2, 0}, /* 32 bytes each */
	{NULL, NAN, 0},                                      /* others */
};

/* The counts of the own cell: requests of each load, and the ns of each request. */
struct waited {
	double requests, requests_error, others; /* requests per second */
	double latency, error;                   /* NaN: there are no requests */
};

static const struct unit *unit_of(const struct judged *j)
{
	const struct unit *u = units;

	while (u->family && strcmp(u->family, j->cell->family) != 0)
		u++;
	return u;
}

/* The two errors are not independent, but partly cancel in the quotient: a request of another
 * program adds to both counts. */
static struct waited own_of(const struct judged *j)
{
	const struct verify_fit *time = j->fit;
	struct verify_fit requests;
	struct waited w;

	judge_fit(j->series, j->own, true, &requests);
	w = (struct waited){requests.slope, requests.error, requests.rate, NAN, NAN};
	if (requests.slope > 2 * requests.error) {
		w.latency = time->slope / requests.slope;
		w.error = fabs(w.latency) *
			  hypot(time->error / time->slope, requests.error / requests.slope);
	}
	return w;
}

/* The requests of a load; for a unit that samples, the number that is counted at its own place. */
static double whole_load(const struct judged *j, double own)
{
	double requests = unit_of(j)->requests;

	return isfinite(requests) ? requests : fmax(own, 0);
}

/* ---- other places, by the requests that they count ---- */

static bool count_there(const struct judged *j, size_t cell, struct verify_fit *into)
{
	if (!judge_is_other(j, cell))
		return false;
	judge_fit(j->series, cell, true, into);
	return isfinite(into->slope);
}

static bool is_all_there(const struct judged *j, const struct verify_fit *fit)
{
	return fit->slope > 2 * fit->error &&
	       fit->slope >= REQUESTS_LEAST * whole_load(j, fit->slope);
}

static const struct judge_view others = {count_there, is_all_there};

static bool check_chase(struct judged *j)
{
	const struct verify_series *s = j->series;
	struct waited w = own_of(j);
	double cache = j->run->cache;

	j->result->requests = w.requests;
	j->result->latency = w.latency;
	if (s->memory / 2 < 2 * cache) /* one of every two lines is loaded */
		return judge_unknown(j, NULL,
				     "caches of %.0f MiB may hold the loaded data: four times as "
				     "much memory is needed, and %.0f MiB were used",
				     cache / 0x1p20, s->memory / 0x1p20);
	return !(s->load_ns > 0) &&
	       judge_unknown(j, NULL, "the report does not say how long a load took");
}

/* The error of the requests, also where there are none, and that of the latency where there are
 * some. */
static bool check_busy(struct judged *j)
{
	struct waited w = own_of(j);
	double whole = whole_load(j, w.requests);

	if (w.requests_error <= REQUESTS_NONE * fmax(whole, w.requests) &&
	    !(w.error > ERROR_MOST * w.latency))
		return false;
	return judge_unknown(j, "busy",
			     "other programs made %.0f requests per second here: a verdict needs "
			     "fewer of them, or more --time",
			     fmax(w.others, 0));
}

static bool check_nothing(struct judged *j)
{
	const struct judge_places at = judge_find_all(j, &others);
	const char *name = j->expected->name;
	struct waited w = own_of(j);

	if (w.requests > REQUESTS_NONE * whole_load(j, w.requests) + 2 * w.requests_error)
		return false;
	if (at.place)
		return judge_off(
			j, "sockets swapped",
			"socket %d's counters count the loads of CPU %d, which is of socket %d",
			at.place->socket, j->series->cpu, j->series->cpu_socket);
	if (at.kind)
		return judge_off(j, "kinds swapped", "%s are counted as %s", name,
				 at.kind->expected->name);
	if (at.both)
		return judge_off(j, "sockets and kinds swapped",
				 "%s of node %d are counted as %s of socket %d", name,
				 j->series->node, at.both->expected->name, at.both->socket);
	return judge_off(j, "nothing", "none of the loads is counted");
}

static struct judge_part find_part(const struct judged *j)
{
	const double least = REQUESTS_NONE * whole_load(j, own_of(j).requests);

	return judge_find_part(j, &others, least, least);
}

/* A part of the loads is counted at another place. */
static bool check_astray(struct judged *j)
{
	const struct judge_part part = find_part(j);

	return part.cell &&
	       judge_off(j, "astray",
			 "%.1f %% of the loads of node %d are counted as %s of socket %d",
			 part.fit.slope / whole_load(j, own_of(j).requests) * 100, j->series->node,
			 part.cell->expected->name, part.cell->socket);
}

/* Caches answer at most as many loads as lines fit into them, if they never evict these. */
static bool check_requests(struct judged *j)
{
	struct waited w = own_of(j);
	double whole = whole_load(j, w.requests);
	double part = w.requests / whole, tolerance = 2 * w.requests_error / whole;
	double least = 1 - j->run->cache / (j->series->memory / 2);

	if (part >= REQUESTS_LEAST - tolerance && part <= REQUESTS_MOST + tolerance)
		return false;
	if (fabs(part - 0.5) <= HALF_OFF + tolerance && part < least - HALF_OFF - tolerance)
		return judge_off(j, "half",
				 "half of the loads are counted: every second request, or one of "
				 "two PMUs is missing");
	if (part < REQUESTS_LEAST)
		return judge_unknown(j, NULL,
				     "%.1f %% of the loads are counted: the others hit caches, or "
				     "counters are missing",
				     part * 100);
	return judge_off(j, "requests", "%.2f requests are counted for each load", w.requests);
}

static bool check_time(struct judged *j)
{
	struct waited w = own_of(j);
	double load = j->series->load_ns, tolerance = 2 * w.error, share = unit_of(j)->least;
	/* The shortest time that a load can have waited there. */
	double least = j->expected->group == VERIFY_QUEUES ? 0 : share > 0 ? share * load : DRAM_NS;
	struct judge_part part;

	if (w.latency - tolerance > load * (1 + CLOCKS_OFF))
		return judge_off(j, "longer than the load",
				 "a request takes %.1f ns, and a load took %.1f ns in all: %s, or "
				 "requests are missing",
				 w.latency, load,
				 w.latency / 2 <= load && w.latency / 2 >= least
					 ? "half of it is possible, so that its clock may be twice "
					   "as fast as the formula assumes"
					 : "the formula divides by another clock");
	if (w.latency <= 0 || w.latency + tolerance < least * (1 - CLOCKS_OFF))
		return judge_off(j, "shorter than memory",
				 "a request takes %.1f ns, and a load took %.1f ns in all, at "
				 "least %.1f ns of them there: the formula divides by another "
				 "clock, or requests are counted twice",
				 w.latency, load, least);
	if (least < TIGHT * load)
		return judge_unknown(j, NULL,
				     "possible, but not proved: it is unknown how much of a load's "
				     "time this counter measures, so that an error by a factor of "
				     "two would not be detected");
	part = find_part(j);
	return judge_is_noisy(j, &part, whole_load(j, w.requests), NULL) ||
	       judge_proved(j, "%s", "");
}

judge_check *const latency_checks[] = {
	judge_rounds, check_chase,    check_busy, check_nothing,
	check_astray, check_requests, check_time, NULL,
};

/* SPDX-License-Identifier: MIT */
/* The YAML of a simulation, and whether it fits the machine it plays. */
#include "base/error.h"
#include "base/text.h"
#include "base/yaml-file.h"
#include "source/sim/sim.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const struct {
	const char *unit;
	double ns;
} units[] = {
	{"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}, {"min", 60e9}, {"h", 3600e9},
};

int unc_sim_duration(const char *text, uint64_t *ns)
{
	size_t len = strcspn(text, "abcdefghijklmnopqrstuvwxyz"); /* so "1e3s" is none */
	char number[32];
	double value;

	if (len == 0 || len >= sizeof(number))
		return -EINVAL;
	memcpy(number, text, len);
	number[len] = '\0';
	if (unc_parse_double(number, &value) < 0)
		return -EINVAL;
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		if (strcmp(text + len, units[i].unit) != 0)
			continue;
		value = value * units[i].ns + 0.5;
		if (!(value >= 1 && value < 1e18))
			return -EINVAL;
		*ns = (uint64_t)value;
		return 0;
	}
	return -EINVAL;
}

struct range {
	double low, high;
	const char *text;
};

static const struct range rates = {0, 1e15, "a rate from 0 to 1e15 counts per second"};
static const struct range shares = {0, 1, "a share from 0 to 1"};
static const struct range spreads = {0, 0.999, "a share from 0 to less than 1"};

/* *out stays as it was when there is no such key. */
static int number(const struct unc_yaml_file *f, const struct unc_yaml *map, const char *key,
		  const struct range *range, double *out, struct unc_error *e)
{
	double value = *out;
	int ret = unc_yaml_double(f, map, key, &value, e);

	if (ret < 0)
		return ret;
	if (unc_yaml_get(map, key) && !(value >= range->low && value <= range->high))
		return unc_yaml_fail(f, unc_yaml_get(map, key), e, "the value of '%s' must be %s",
				     key, range->text);
	*out = value;
	return 0;
}

/* ---- waves --------------------------------------------------------------------------------- */

static const struct shape {
	const char *key;
	enum unc_wave_kind kind;
	const char *a, *b; /* keys of the map */
	const char *const keys[5];
} shapes[] = {
	{"sine", UNC_WAVE_SINE, "mean", "amplitude", {"!mean", "!amplitude", "!period"}},
	{"burst", UNC_WAVE_BURST, "low", "high", {"!low", "!high", "!period", "!duty"}},
	{"ramp", UNC_WAVE_RAMP, "from", "to", {"!from", "!to", "!period"}},
};

#define SHAPE_COUNT (sizeof(shapes) / sizeof(shapes[0]))

static int parse_period(const struct unc_yaml_file *f, const struct unc_yaml *map, uint64_t *out,
			struct unc_error *e)
{
	const char *text = NULL;
	int ret = unc_yaml_text(f, map, "period", &text, e);

	if (ret < 0)
		return ret;
	if (unc_sim_duration(text, out) < 0)
		return unc_yaml_fail(f, unc_yaml_get(map, "period"), e,
				     "the value of 'period' must be a duration such as 20ms or 1s, "
				     "not '%s'",
				     text);
	return 0;
}

static int parse_shape(const struct unc_yaml_file *f, const struct unc_yaml *map,
		       const struct shape *s, struct unc_wave *out, struct unc_error *e)
{
	int ret = unc_yaml_check(f, map, s->keys, e);

	out->kind = s->kind;
	if (ret == 0)
		ret = number(f, map, s->a, &rates, &out->a, e);
	if (ret == 0)
		ret = number(f, map, s->b, &rates, &out->b, e);
	if (ret == 0)
		ret = parse_period(f, map, &out->period_ns, e);
	if (ret == 0)
		ret = number(f, map, "duty", &shares, &out->duty, e);
	if (ret == 0 && s->kind == UNC_WAVE_SINE && out->b > out->a)
		ret = unc_yaml_fail(
			f, unc_yaml_get(map, "amplitude"), e,
			"the amplitude is larger than the mean: the rate would be negative");
	return ret;
}

static int parse_wave(const struct unc_yaml_file *f, const struct unc_yaml *map,
		      struct unc_wave *out, struct unc_error *e)
{
	const struct shape *found = NULL;
	size_t count = unc_yaml_get(map, "constant") != NULL;

	for (size_t i = 0; i < SHAPE_COUNT; i++) {
		if (!unc_yaml_get(map, shapes[i].key))
			continue;
		found = &shapes[i];
		count++;
	}
	if (count != 1)
		return unc_yaml_fail(f, map, e,
				     "a rate has exactly one of constant, sine, burst and ramp");
	if (found)
		return parse_shape(f, unc_yaml_get(map, found->key), found, out, e);
	out->kind = UNC_WAVE_CONSTANT;
	return number(f, map, "constant", &rates, &out->a, e);
}

/* ---- one rate ------------------------------------------------------------------------------ */

/* A number is the share of the period itself, anything else is a name. */
static int parse_phase(const struct unc_yaml_file *f, const struct unc_yaml *map,
		       struct unc_sim_rate *r, struct unc_error *e)
{
	const char *text = NULL;
	double phase;
	int ret = unc_yaml_text(f, map, "phase", &text, e);

	if (ret < 0 || !text)
		return ret;
	r->phase_name = text;
	r->phase_kind = UNC_PHASE_NAMED;
	if (unc_parse_double(text, &phase) < 0)
		return 0;
	r->phase_kind = UNC_PHASE_FIXED;
	r->phase = phase;
	if (phase >= 0 && phase < 1)
		return 0;
	return unc_yaml_fail(f, unc_yaml_get(map, "phase"), e,
			     "the value of 'phase' must be a name, or a share of the period from 0 "
			     "to less than 1");
}

static int parse_width(const struct unc_yaml_file *f, const struct unc_yaml *map,
		       struct unc_sim_rate *r, struct unc_error *e)
{
	uint64_t width = 64;
	int ret = unc_yaml_u64(f, map, "width", &width, e);

	if (ret == 0)
		ret = unc_yaml_u64(f, map, "start", &r->start, e);
	if (ret < 0)
		return ret;
	if (width < 1 || width > 64)
		return unc_yaml_fail(f, unc_yaml_get(map, "width"), e,
				     "the value of 'width' must be from 1 to 64 bits");
	r->width = (unsigned)width;
	if (width < 64 && r->start >> width != 0)
		return unc_yaml_fail(f, unc_yaml_get(map, "start"), e,
				     "the value of 'start' does not fit into %u bits", r->width);
	return 0;
}

static int parse_refusal(const struct unc_yaml_file *f, const struct unc_yaml *map,
			 struct unc_sim_rate *r, struct unc_error *e)
{
	const char *text = NULL;
	int ret = unc_yaml_text(f, map, "refuse", &text, e);

	if (ret < 0 || !text)
		return ret;
	r->refuse = unc_errno_number(text);
	if (r->refuse != 0)
		return 0;
	return unc_yaml_fail(f, unc_yaml_get(map, "refuse"), e,
			     "the value of 'refuse' must be an error that opening a counter can "
			     "give, such as EINVAL or ENODEV, not '%s'",
			     text);
}

static int parse_rate(const struct unc_yaml_file *f, const struct unc_yaml *map,
		      struct unc_sim_rate *r, struct unc_error *e)
{
	static const char *const keys[] = {"!pmu",  "!event", "constant", "sine",    "burst",
					   "ramp",  "spread", "phase",    "running", "start",
					   "width", "refuse", NULL};
	int ret = unc_yaml_check(f, map, keys, e);

	r->line = map->line;
	r->running = 1;
	if (ret == 0)
		ret = unc_yaml_text(f, map, "pmu", &r->pmu, e);
	if (ret == 0)
		ret = unc_yaml_text(f, map, "event", &r->event, e);
	if (ret == 0)
		ret = parse_wave(f, map, &r->wave, e);
	if (ret == 0)
		ret = number(f, map, "spread", &spreads, &r->spread, e);
	if (ret == 0)
		ret = number(f, map, "running", &shares, &r->running, e);
	if (ret == 0)
		ret = parse_phase(f, map, r, e);
	if (ret == 0)
		ret = parse_width(f, map, r, e);
	return ret < 0 ? ret : parse_refusal(f, map, r, e);
}

static int check_twice(const struct unc_yaml_file *f, const struct unc_sim *sim,
		       const struct unc_yaml *at, struct unc_error *e)
{
	const struct unc_sim_rate *last = &sim->rates[sim->count - 1];

	for (const struct unc_sim_rate *r = sim->rates; r < last; r++)
		if (strcmp(r->pmu, last->pmu) == 0 && strcmp(r->event, last->event) == 0)
			return unc_yaml_fail(f, at, e, "line %d has a rate for %s/%s/ already",
					     r->line, r->pmu, r->event);
	return 0;
}

int unc_sim_parse(struct unc_sim *sim, struct unc_yaml_file *file, const char **machine,
		  struct unc_error *e)
{
	static const char *const keys[] = {"!sim", "title", "!machine", "seed", "!rates", NULL};
	const struct unc_yaml *list;
	const char *title = NULL;
	int ret;

	sim->file = file;
	ret = unc_yaml_check(file, file->root, keys, e);
	if (ret == 0)
		ret = unc_yaml_text(file, file->root, "sim", &sim->name, e);
	if (ret == 0)
		ret = unc_yaml_text(file, file->root, "title", &title, e);
	if (ret == 0)
		ret = unc_yaml_text(file, file->root, "machine", machine, e);
	if (ret == 0)
		ret = unc_yaml_u64(file, file->root, "seed", &sim->seed, e);
	if (ret < 0)
		return ret;
	list = unc_yaml_get(file->root, "rates");
	ret = unc_yaml_expect(file, list, UNC_YAML_LIST, e);
	if (ret < 0)
		return ret;
	sim->rates = calloc(list->count + 1, sizeof(*sim->rates));
	if (!sim->rates)
		return unc_nomem(e);
	for (size_t i = 0; i < list->count && ret == 0; i++) {
		ret = parse_rate(file, &list->children[i], &sim->rates[sim->count++], e);
		if (ret == 0)
			ret = check_twice(file, sim, &list->children[i], e);
	}
	return ret;
}

/* ---- against the machine ------------------------------------------------------------------- */

static int no_such_pmu(const struct unc_sim *sim, const struct unc_yaml *map,
		       const struct unc_pmus *pmus, struct unc_error *e)
{
	const struct unc_yaml *at = unc_yaml_get(map, "pmu");
	const char **names = calloc(pmus->count + 1, sizeof(*names));
	const char *near;
	int ret;

	if (!names)
		return unc_nomem(e);
	for (size_t i = 0; i < pmus->count; i++)
		names[i] = pmus->items[i].name;
	ret = unc_yaml_fail(sim->file, at, e, "no PMU of the machine matches '%s'", at->text);
	near = unc_nearest(at->text, names, pmus->count);
	if (near)
		unc_error_append(e, " (did you mean '%s'?)", near);
	free(names);
	return ret;
}

/* One PMU that has the event is enough: a pattern may span different ones. */
static int check_rate(const struct unc_sim *sim, size_t i, const struct unc_pmus *pmus,
		      struct unc_error *e)
{
	const struct unc_yaml *map = &unc_yaml_get(sim->file->root, "rates")->children[i];
	struct unc_error why = {""}, first = {""};
	struct unc_encoding encoding;

	for (size_t k = 0; k < pmus->count; k++) {
		const struct uncore_pmu *pmu = &pmus->items[k];
		int ret;

		if (!unc_pmu_matches(pmu, sim->rates[i].pmu))
			continue;
		ret = unc_pmu_encode(pmu, sim->rates[i].event, &encoding, &why);
		if (ret == 0)
			return 0;
		if (ret == -ENOMEM)
			return unc_nomem(e);
		if (first.text[0] == '\0')
			first = why;
	}
	if (first.text[0] == '\0')
		return no_such_pmu(sim, map, pmus, e);
	return unc_yaml_fail(sim->file, unc_yaml_get(map, "event"), e, "%s", first.text);
}

int unc_sim_check(const struct unc_sim *sim, const struct unc_root *root, struct unc_error *e)
{
	struct unc_topology topology = {0};
	struct unc_pmus pmus = {0};
	int ret = unc_topology_read(&topology, root, e);

	if (ret == 0)
		ret = unc_pmus_read(&pmus, root, &topology, e);
	for (size_t i = 0; i < sim->count && ret == 0; i++)
		ret = check_rate(sim, i, &pmus, e);
	unc_pmus_finish(&pmus);
	unc_topology_finish(&topology);
	return ret;
}

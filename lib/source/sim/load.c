/* SPDX-License-Identifier: MIT */
/* Simulations: found by name, parsed from YAML, and checked against the machine that they simulate. */
#include "base/embedded.h"
#include "base/fill.h"
#include "base/text.h"
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
	size_t len = strcspn(text, "abcdefghijklmnopqrstuvwxyz"); /* so "1e3s" is no duration */
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

static const struct unc_bounds rates = {0, 1e15, "a rate from 0 to 1e15 counts per second"};
static const struct unc_bounds shares = {0, 1, "a share from 0 to 1"};
static const struct unc_bounds spreads = {0, 0.999, "a share from 0 to less than 1"};

/* ---- waves --------------------------------------------------------------------------------- */

static int read_period(const struct unc_reader *r, const struct unc_yaml *node, void *into)
{
	if (unc_sim_duration(node->text, &((struct unc_wave *)into)->period_ns) == 0)
		return 0;
	return unc_reader_fail(r, node,
			       "the value of 'period' must be a duration such as 20ms or 1s, not "
			       "'%s'",
			       node->text);
}

static int check_amplitude(const struct unc_reader *r, const struct unc_yaml *node, void *into)
{
	const struct unc_wave *wave = into;

	if (wave->b <= wave->a)
		return 0;
	return unc_reader_fail(r, node,
			       "the amplitude is larger than the mean: the rate would be negative");
}

#define RATE(key, member, ...) \
	UNC_FIELD(key, DOUBLE, UNC_AT(struct unc_wave, member), .range = &rates, __VA_ARGS__)
#define PERIOD UNC_FIELD("!period", TEXT, .check = read_period)

static const struct unc_field sine_fields[] = {
	RATE("!mean", a),
	RATE("!amplitude", b, .check = check_amplitude),
	PERIOD,
	UNC_END,
};

static const struct unc_field burst_fields[] = {
	RATE("!low", a),
	RATE("!high", b),
	PERIOD,
	UNC_FIELD("!duty", DOUBLE, UNC_AT(struct unc_wave, duty), .range = &shares),
	UNC_END,
};

static const struct unc_field ramp_fields[] = {
	RATE("!from", a),
	RATE("!to", b),
	PERIOD,
	UNC_END,
};

static const struct unc_shape sine = {.fields = sine_fields};
static const struct unc_shape burst = {.fields = burst_fields};
static const struct unc_shape ramp = {.fields = ramp_fields};

/* ---- one rate ------------------------------------------------------------------------------ */

/* A number is the share of the period itself, anything else is a name. */
static int read_phase(const struct unc_reader *r, const struct unc_yaml *node, void *into)
{
	struct unc_sim_rate *rate = into;

	rate->phase_name = node->text;
	rate->phase_kind = UNC_PHASE_NAMED;
	if (unc_parse_double(node->text, &rate->phase) < 0)
		return 0;
	rate->phase_kind = UNC_PHASE_FIXED;
	if (rate->phase >= 0 && rate->phase < 1)
		return 0;
	return unc_reader_fail(
		r, node,
		"the value of 'phase' must be a name, or a share of the period from 0 "
		"to less than 1");
}

static int read_refusal(const struct unc_reader *r, const struct unc_yaml *node, void *into)
{
	struct unc_sim_rate *rate = into;

	rate->refuse = unc_errno_number(node->text);
	if (rate->refuse != 0)
		return 0;
	return unc_reader_fail(r, node,
			       "the value of 'refuse' must be an error that opening a counter can "
			       "give, such as EINVAL or ENODEV, not '%s'",
			       node->text);
}

#define MEMBER(member) UNC_AT(struct unc_sim_rate, member)

static const struct unc_field rate_fields[] = {
	UNC_FIELD("!pmu", TEXT, MEMBER(pmu)),
	UNC_FIELD("!event", TEXT, MEMBER(event)),
	/* In the order of enum unc_wave_kind. */
	UNC_FIELD("|constant", DOUBLE, MEMBER(wave.a), .range = &rates),
	UNC_FIELD("|sine", MAP, MEMBER(wave), .of = &sine),
	UNC_FIELD("|burst", MAP, MEMBER(wave), .of = &burst),
	UNC_FIELD("|ramp", MAP, MEMBER(wave), .of = &ramp),
	UNC_FIELD("spread", DOUBLE, MEMBER(spread), .range = &spreads),
	UNC_FIELD("phase", TEXT, .check = read_phase),
	UNC_FIELD("running", DOUBLE, MEMBER(running), .range = &shares),
	UNC_FIELD("start", NUMBER, MEMBER(start)),
	UNC_FIELD("width", NUMBER, MEMBER(width), .least = 1, .most = 64),
	UNC_FIELD("refuse", TEXT, .check = read_refusal),
	UNC_END,
};

static int finish_rate(const struct unc_reader *r, const struct unc_yaml *map, void *into)
{
	const struct unc_sim *sim = r->context;
	struct unc_sim_rate *rate = into;

	rate->line = map->line;
	rate->wave.kind = (enum unc_wave_kind)unc_fill_choice(map, rate_fields);
	if (!unc_yaml_get(map, "running"))
		rate->running = 1;
	if (!unc_yaml_get(map, "width"))
		rate->width = 64;
	if (rate->width < 64 && rate->start >> rate->width != 0)
		return unc_reader_fail(r, unc_yaml_get(map, "start"),
				       "the value of 'start' does not fit into %u bits",
				       rate->width);
	for (const struct unc_sim_rate *same = sim->rates; same < rate; same++)
		if (strcmp(same->pmu, rate->pmu) == 0 && strcmp(same->event, rate->event) == 0)
			return unc_reader_fail(r, map, "line %d has a rate for %s/%s/ already",
					       same->line, same->pmu, same->event);
	return 0;
}

static const struct unc_shape rate = {
	.fields = rate_fields, .size = sizeof(struct unc_sim_rate), .check = finish_rate};

static const struct unc_field sim_fields[] = {
	UNC_FIELD("!sim", TEXT, UNC_AT(struct unc_sim, name)),
	UNC_FIELD("title", TEXT),
	UNC_FIELD("!machine", TEXT, UNC_AT(struct unc_sim, machine)),
	UNC_FIELD("seed", NUMBER, UNC_AT(struct unc_sim, seed)),
	UNC_FIELD("!rates", LIST, UNC_LIST(struct unc_sim, rates, count), .of = &rate),
	UNC_END,
};

int unc_sim_parse(struct unc_sim *sim, struct unc_yaml_file *file, struct unc_error *e)
{
	static const struct unc_shape shape = {.fields = sim_fields};
	const struct unc_reader r = {.file = file, .e = e, .context = sim};

	sim->file = file;
	return unc_fill(&r, file->root, &shape, sim);
}

/* ---- against the machine ------------------------------------------------------------------- */

/* One PMU that has the event is enough: a pattern may span different ones. */
static int check_rate(const struct unc_sim *sim, size_t i, const struct unc_pmus *pmus,
		      struct unc_error *e)
{
	const struct unc_yaml *map = &unc_yaml_get(sim->file->root, "rates")->children[i];
	const struct unc_reader r = {.file = sim->file, .e = e};
	struct unc_error why = {""}, first = {""};
	const char *name;
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
	if (first.text[0] != '\0')
		return unc_reader_fail(&r, unc_yaml_get(map, "event"), "%s", first.text);
	name = sim->rates[i].pmu;
	unc_reader_fail(&r, unc_yaml_get(map, "pmu"), "no PMU of the machine matches '%s'", name);
	if (pmus->count)
		unc_error_suggest(e, name, &pmus->items->name, sizeof(*pmus->items), pmus->count);
	return -EBADMSG;
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

/* ---- the machine --------------------------------------------------------------------------- */

/* `machine` relative to the directory of the file that names it; NULL when out of memory. */
static char *beside(const char *file, const char *machine)
{
	const char *slash = strrchr(file, '/');
	struct unc_text path = {0};

	if (slash && machine[0] != '/')
		unc_text_add(&path, "%.*s", (int)(slash + 1 - file), file);
	unc_text_add(&path, "%s", machine);
	return unc_text_take(&path);
}

static int open_machine(struct unc_root **root, const struct unc_sim *sim, bool from_disk,
			struct unc_error *e)
{
	const struct unc_reader r = {.file = sim->file, .e = e};
	const char *machine = sim->machine;
	const struct unc_yaml *at = unc_yaml_get(sim->file->root, "machine");
	struct unc_error why = {""};
	char *dir;
	int ret;

	for (size_t i = 0; i < unc_embedded_machines_count; i++) {
		const struct unc_file *f = &unc_embedded_machines[i];

		if (strcmp(f->name, machine) == 0)
			return unc_root_open_text(root, f->name, f->text, f->len, e);
	}
	if (!from_disk)
		return unc_reader_fail(&r, at, "there is no built-in machine '%s'", machine);
	dir = beside(sim->file->name, machine);
	if (!dir)
		return unc_nomem(e);
	ret = unc_root_open(root, dir, &why);
	if (ret == -ENOENT || ret == -ENOTDIR)
		ret = unc_reader_fail(
			&r, at,
			"'%s' is neither a built-in machine nor a directory or snapshot (%s)",
			machine, dir);
	else if (ret < 0)
		ret = unc_fail(e, -ret, "%s", why.text);
	free(dir);
	return ret;
}

/* ---- the name ------------------------------------------------------------------------------ */

/* Cuts ",step=..." off `spec`. */
static int take_options(char *spec, uint64_t *step_ns, struct unc_error *e)
{
	char *comma = strrchr(spec, ',');
	const char *value;

	if (!comma || !strchr(comma, '='))
		return 0;
	value = strchr(comma, '=') + 1;
	if (strncmp(comma, ",step=", strlen(",step=")) != 0)
		return unc_fail(e, EINVAL,
				"a simulation has no option '%s'; it has step=DURATION, as in "
				"t410,step=20ms",
				comma + 1);
	if (unc_sim_duration(value, step_ns) < 0)
		return unc_fail(e, EINVAL, "step must be a duration such as 20ms or 1s, not '%s'",
				value);
	*comma = '\0';
	return 0;
}

int unc_sim_load(struct unc_sim **out, const char *spec, struct unc_root **root,
		 struct unc_error *e)
{
	struct unc_sim *sim = calloc(1, sizeof(*sim));
	struct unc_yaml_file *file = NULL;
	struct unc_root *opened = NULL;
	char *name = strdup(spec);
	int ret;

	if (!sim || !name) {
		free(name);
		unc_sim_free(sim);
		return unc_nomem(e);
	}
	ret = take_options(name, &sim->step_ns, e);
	if (ret == 0)
		ret = unc_load_named(&file, name, unc_embedded_sims, unc_embedded_sims_count,
				     "simulation", e);
	if (ret == 0)
		ret = unc_sim_parse(sim, file, e);
	if (ret == 0)
		ret = open_machine(&opened, sim, unc_is_path(name), e);
	if (ret == 0)
		ret = unc_sim_check(sim, opened, e);
	free(name);
	if (ret < 0) {
		unc_root_free(opened);
		unc_sim_free(sim);
		return ret;
	}
	*root = opened;
	*out = sim;
	return 0;
}

void unc_sim_free(struct unc_sim *sim)
{
	if (!sim)
		return;
	free(sim->rates);
	unc_yaml_free(sim->file);
	free(sim);
}

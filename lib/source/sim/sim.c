/* SPDX-License-Identifier: MIT */
/* Simulations: read from YAML, checked against the simulated machine, and counted as rates that are
 * integrated over time. */
#define _GNU_SOURCE
#include "source/source.h"
#include <math.h>

#define NS 1e9L /* nanoseconds in a second */

/* One entry of `rates`. */
struct rate {
	const char *pmu, *event; /* as in the file */
	struct unc_wave wave;
	double spread;
	double phase;           /* share of the period; negative: from a name */
	const char *phase_name; /* NULL: the name of the PMU */
	double running;
	uint64_t start;
	unsigned width;
	int refuse; /* the errno of a refused event; 0: it is counted */
	int line;   /* line in the file, for error sentences */
};

/* Terms that restrict any event of some PMUs to a part of its counts. */
struct part_of_rate {
	const char *pmu, *terms;
	double share;
};

struct unc_sim {
	struct unc_yaml_file *file;
	const char *name, *machine;
	uint64_t seed;
	uint64_t step_ns; /* 0: time is that of the clock */
	struct rate *rates;
	size_t count;
	struct part_of_rate *parts;
	size_t part_count;
};

struct counter {
	const struct rate *rate; /* NULL: not open */
	uint64_t phase_ns;
	long double factor; /* the rate's factor of this instance */
	bool state;         /* it is a value, and not a count */
	uint64_t counted;   /* at the last reading, without start value and width */
};

struct sim_source {
	struct unc_source base; /* must be the first member: the pointer is cast */
	struct counter *counters;
	size_t count;
	uint64_t readings;
	bool enabled;
	uint64_t since_ns;   /* the time when it was enabled */
	uint64_t elapsed_ns; /* if disabled: how long it was enabled */
};

/* ---- the file ---- */

/* Reads the length of a period or a step. */
static bool read_duration(const char *text, uint64_t *ns)
{
	return uncore_duration_parse(text, 0, ns) == 0 && *ns;
}

static const struct unc_bounds rates = {0, 1e15, "a rate from 0 to 1e15 counts per second"};
static const struct unc_bounds shares = {0, 1, "a share from 0 to 1"};
static const struct unc_bounds spreads = {0, 0.999, "a share from 0 to less than 1"};

static int read_period(const struct unc_reader *r, const struct unc_yaml *node, void *into)
{
	if (read_duration(node->text, &((struct unc_wave *)into)->period_ns))
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

/* Reads a phase: a number is the share of the period, anything else is a name. */
static int read_phase(const struct unc_reader *r, const struct unc_yaml *node, void *into)
{
	struct rate *rate = into;

	if (unc_parse_double(node->text, &rate->phase) < 0) {
		rate->phase = -1;
		rate->phase_name = node->text;
		return 0;
	}
	if (rate->phase >= 0 && rate->phase < 1)
		return 0;
	return unc_reader_fail(
		r, node,
		"the value of 'phase' must be a name, or a share of the period from 0 "
		"to less than 1");
}

static int read_refusal(const struct unc_reader *r, const struct unc_yaml *node, void *into)
{
	struct rate *rate = into;

	rate->refuse = -unc_errno_number(node->text);
	if (rate->refuse != 0)
		return 0;
	return unc_reader_fail(r, node,
			       "the value of 'refuse' must be an error that opening a counter can "
			       "give, such as EINVAL or ENODEV, not '%s'",
			       node->text);
}

#define MEMBER(member) UNC_AT(struct rate, member)

static const struct unc_field rate_fields[] = {
	UNC_FIELD("!pmu", TEXT, MEMBER(pmu)),
	UNC_FIELD("!event", TEXT, MEMBER(event)),
	/* In the order of enum unc_wave_kind. */
	UNC_FIELD("|constant", DOUBLE, MEMBER(wave.a), .range = &rates),
	UNC_FIELD("|sine", MAP, MEMBER(wave), .of = UNC_SHAPE(struct unc_wave, sine_fields)),
	UNC_FIELD("|burst", MAP, MEMBER(wave), .of = UNC_SHAPE(struct unc_wave, burst_fields)),
	UNC_FIELD("|ramp", MAP, MEMBER(wave), .of = UNC_SHAPE(struct unc_wave, ramp_fields)),
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
	struct rate *rate = into;

	rate->line = map->line;
	if (!unc_yaml_get(map, "phase"))
		rate->phase = -1;
	if (!unc_yaml_get(map, "running"))
		rate->running = 1;
	if (!unc_yaml_get(map, "width"))
		rate->width = 64;
	if (rate->width < 64 && rate->start >> rate->width != 0)
		return unc_reader_fail(r, unc_yaml_get(map, "start"),
				       "the value of 'start' does not fit into %u bits",
				       rate->width);
	for (const struct rate *same = sim->rates; same < rate; same++)
		if (strcmp(same->pmu, rate->pmu) == 0 && strcmp(same->event, rate->event) == 0)
			return unc_reader_fail(r, map, "line %d has a rate for %s/%s/ already",
					       same->line, same->pmu, same->event);
	return 0;
}

static const struct unc_field part_fields[] = {
	UNC_FIELD("!pmu", TEXT, UNC_AT(struct part_of_rate, pmu)),
	UNC_FIELD("!terms", TEXT, UNC_AT(struct part_of_rate, terms)),
	UNC_FIELD("!share", DOUBLE, UNC_AT(struct part_of_rate, share), .range = &shares),
	UNC_END,
};

static const struct unc_field sim_fields[] = {
	UNC_FIELD("!sim", TEXT, UNC_AT(struct unc_sim, name)),
	UNC_FIELD("title", TEXT),
	UNC_FIELD("!machine", TEXT, UNC_AT(struct unc_sim, machine)),
	UNC_FIELD("seed", NUMBER, UNC_AT(struct unc_sim, seed)),
	UNC_FIELD("!rates", LIST, UNC_LIST(struct unc_sim, rates, count),
		  .of = UNC_SHAPE(struct rate, rate_fields,
				  .choice = offsetof(struct rate, wave.kind),
				  .check = finish_rate)),
	UNC_FIELD("filters", LIST, UNC_LIST(struct unc_sim, parts, part_count),
		  .of = UNC_SHAPE(struct part_of_rate, part_fields)),
	UNC_END,
};

/* ---- the machine ---- */

/* A rate needs only one PMU that has its event: its pattern may match different PMUs. */
int unc_sim_check(const struct unc_sim *sim, const struct unc_pmus *pmus, struct unc_error *e)
{
	const struct unc_yaml *list = unc_yaml_get(sim->file->root, "rates");
	const struct unc_reader r = {.file = sim->file, .e = e};
	struct unc_encoding encoding;

	for (size_t i = 0; i < sim->count; i++) {
		const struct unc_yaml *map = &list->children[i];
		const char *name = sim->rates[i].pmu;
		struct unc_error why = {0}, first = {0};
		int ret = -ENODEV;

		for (size_t k = 0; ret < 0 && ret != -ENOMEM && k < pmus->count; k++) {
			if (!unc_pmu_matches(&pmus->items[k], name))
				continue;
			ret = unc_pmu_encode(&pmus->items[k], sim->rates[i].event, &encoding, &why);
			if (!first.text[0])
				first = why;
		}
		if (ret == 0)
			continue;
		if (ret == -ENOMEM)
			return unc_nomem(e);
		if (first.text[0])
			return unc_reader_fail(&r, unc_yaml_get(map, "event"), "%s", first.text);
		unc_reader_fail(&r, unc_yaml_get(map, "pmu"), "no PMU of the machine matches '%s'",
				name);
		if (pmus->count)
			unc_error_suggest(e, name, &pmus->items->name, sizeof(*pmus->items),
					  pmus->count);
		return -EBADMSG;
	}
	return 0;
}

static int open_machine(struct unc_root **root, const struct unc_sim *sim, bool from_disk,
			struct unc_error *e)
{
	const struct unc_reader r = {.file = sim->file, .e = e};
	const char *machine = sim->machine;
	const struct unc_yaml *at = unc_yaml_get(sim->file->root, "machine");
	struct unc_error why = {0};
	const char *file = sim->file->name, *slash = strrchr(file, '/'), *dir;
	int ret;

	for (size_t i = 0; i < unc_embedded_machines_count; i++) {
		const struct unc_file *f = &unc_embedded_machines[i];

		if (strcmp(f->name, machine) == 0)
			return unc_root_open_text(root, f->name, f->text, f->len, e);
	}
	if (!from_disk)
		return unc_reader_fail(&r, at, "there is no built-in machine '%s'", machine);
	dir = UNC_PATH("%.*s%s", slash && machine[0] != '/' ? (int)(slash + 1 - file) : 0, file,
		       machine);
	ret = unc_root_open(root, dir, &why);
	if (ret == -ENOENT || ret == -ENOTDIR)
		return unc_reader_fail(
			&r, at,
			"'%s' is neither a built-in machine nor a directory or snapshot (%s)",
			machine, dir);
	return ret < 0 ? unc_fail(e, -ret, "%s", why.text) : 0;
}

int unc_sim_load(struct unc_sim **out, const char *spec, struct unc_root **root,
		 struct unc_error *e)
{
	struct unc_sim *sim = calloc(1, sizeof(*sim));
	char *name = strdup(spec), *option;
	int ret = 0;

	if (!sim || !name) {
		free(name);
		unc_sim_free(sim);
		return unc_nomem(e);
	}
	option = unc_is_file(spec) ? NULL : strrchr(name, ',');
	if (option && strchr(option, '=')) {
		*option++ = '\0';
		if (strncmp(option, "step=", strlen("step=")) != 0)
			ret = unc_fail(
				e, EINVAL,
				"a simulation has no option '%s'; it has step=DURATION, as in "
				"t410,step=20ms",
				option);
		else if (!read_duration(option + strlen("step="), &sim->step_ns))
			ret = unc_fail(e, EINVAL,
				       "step must be a duration such as 20ms or 1s, not '%s'",
				       option + strlen("step="));
	}
	if (ret == 0)
		ret = unc_load_named(&sim->file, name, unc_embedded_sims, unc_embedded_sims_count,
				     "simulation", e);
	if (ret == 0)
		ret = unc_fill(&(struct unc_reader){.file = sim->file, .e = e, .context = sim},
			       sim->file->root, UNC_SHAPE(struct unc_sim, sim_fields), sim);
	if (ret == 0)
		ret = open_machine(root, sim, unc_is_path(name), e);
	free(name);
	if (ret < 0)
		unc_sim_free(sim);
	else
		*out = sim;
	return ret;
}

void unc_sim_free(struct unc_sim *sim)
{
	if (!sim)
		return;
	unc_yaml_free(sim->file);
	free(sim);
}

/* ---- rates over time: integrals in closed form, so without step size or drift ---- */

/* The counts during the first `t` ns of a period. */
static long double part(const struct unc_wave *w, uint64_t t)
{
	const long double pi = 3.14159265358979323846264338327950288L;
	long double period = (long double)w->period_ns, at = (long double)t, a = w->a, b = w->b;
	long double high;

	switch (w->kind) {
	case UNC_WAVE_SINE:
		return (a * at + b * period * (1 - cosl(2 * pi * at / period)) / (2 * pi)) / NS;
	case UNC_WAVE_BURST:
		high = floorl(w->duty * period);
		return (at < high ? b * at : b * high + a * (at - high)) / NS;
	case UNC_WAVE_RAMP:
		return (a * at + (b - a) * at * at / (2 * period)) / NS;
	default:
		return a * at / NS;
	}
}

long double unc_wave_integral(const struct unc_wave *w, uint64_t phase_ns, uint64_t t_ns)
{
	const uint64_t ends[] = {phase_ns, phase_ns + t_ns};
	long double counts[2];

	/* Whole periods are multiplied, not added up. */
	for (size_t i = 0; i < 2; i++) {
		uint64_t periods = w->period_ns ? ends[i] / w->period_ns : 0;

		counts[i] = (long double)periods * part(w, w->period_ns) +
			    part(w, ends[i] - periods * w->period_ns);
	}
	return counts[1] - counts[0];
}

/* A hash: FNV-1a over the bytes, then the finaliser of splitmix64, which spreads them over all
 * bits. */
double unc_sim_chance(uint64_t seed, const char *name, int cpu)
{
	uint64_t h = UINT64_C(0xcbf29ce484222325) ^ seed;

	for (const char *c = name; *c; c++)
		h = (h ^ (unsigned char)*c) * UINT64_C(0x100000001b3);
	h += UINT64_C(0x9e3779b97f4a7c15) * ((uint64_t)(unsigned)cpu + 1);
	h = (h ^ (h >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	h = (h ^ (h >> 27)) * UINT64_C(0x94d049bb133111eb);
	h ^= h >> 31;
	return (double)(h >> 11) * 0x1p-53;
}

/* ---- opening ---- */

/* Finds the first rate for an event; *found is NULL if there is none. A rate whose event this PMU
 * does not have is not for this PMU: a pattern may match different PMUs. Returns 0 or -ENOMEM. */
static int find_rate(const struct unc_sim *sim, const struct uncore_pmu *pmu,
		     const struct unc_config *config, const struct rate **found)
{
	struct unc_encoding encoding;
	struct unc_error why;

	*found = NULL;
	for (size_t i = 0; !*found && i < sim->count; i++) {
		int ret = -ENOENT;

		if (unc_pmu_matches(pmu, sim->rates[i].pmu))
			ret = unc_pmu_encode(pmu, sim->rates[i].event, &encoding, &why);
		if (ret == -ENOMEM)
			return -ENOMEM;
		if (ret == 0 && memcmp(&encoding.config, config, sizeof(*config)) == 0)
			*found = &sim->rates[i];
	}
	return 0;
}

/* Removes the terms of filters, and multiplies *share by the part of the rate that they leave.
 * Returns 0 or -ENOMEM. */
static int take_filters(const struct unc_sim *sim, const struct uncore_pmu *pmu,
			struct unc_config *config, long double *share)
{
	for (size_t i = 0; i < sim->part_count; i++) {
		const struct part_of_rate *part = &sim->parts[i];
		struct unc_encoding terms;
		struct unc_error why;
		bool has = unc_pmu_matches(pmu, part->pmu);
		int ret = has ? unc_pmu_encode(pmu, part->terms, &terms, &why) : 0;

		if (ret == -ENOMEM)
			return ret;
		for (size_t k = 0; has && ret == 0 && k < UNCORE_CONFIG_WORDS; k++)
			has = (config->word[k] & terms.config.word[k]) == terms.config.word[k];
		for (size_t k = 0; has && ret == 0 && k < UNCORE_CONFIG_WORDS; k++)
			config->word[k] &= ~terms.config.word[k];
		*share *= has && ret == 0 ? (long double)part->share : 1;
	}
	return 0;
}

static int open_counter(const struct unc_sim *sim, struct counter *c, struct uncore_counter *plan,
			struct unc_error *e)
{
	const char *pmu = plan->pmu->name, *file = sim->file->name;
	const struct rate *rate = NULL;
	struct unc_config config;
	struct unc_error why;
	long double chance, share = 1;
	double phase;
	int ret;

	memcpy(config.word, plan->config, sizeof(plan->config));
	ret = find_rate(sim, plan->pmu, &config, &rate);
	if (ret == 0 && !rate && sim->part_count)
		ret = take_filters(sim, plan->pmu, &config, &share);
	if (ret == 0 && !rate && sim->part_count)
		ret = find_rate(sim, plan->pmu, &config, &rate);
	if (ret < 0)
		return unc_nomem(e);
	if (!rate)
		plan->error = unc_fail(
			&why,
			unc_pmu_is_own(plan->pmu) && unc_device_link(plan->config) >= 0 ? ENOLINK
											: ENODEV,
			"the simulation %s has no rate for %s/%s/: add one to %s, or count "
			"something else",
			sim->name, pmu, plan->event, file);
	else if (rate->refuse != 0)
		plan->error = unc_fail(
			&why, rate->refuse,
			"%s/%s/ on CPU %d: the simulation refuses it with %s, as %s says in "
			"line %d",
			pmu, plan->event, plan->cpu, unc_errno_name(rate->refuse), file,
			rate->line);
	if (plan->error < 0)
		return unc_counter_refuse(plan, plan->error, why.text, e);
	plan->width = rate->width;
	c->state = plan->snapshot;
	c->rate = rate;
	phase = rate->phase;
	if (phase < 0)
		phase = unc_sim_chance(sim->seed, rate->phase_name ? rate->phase_name : pmu,
				       plan->cpu);
	c->phase_ns = (uint64_t)((long double)phase * (long double)rate->wave.period_ns);
	/* Uses another seed. With the same one, the instances that are ahead would also be the busy
	 * ones. */
	chance = (long double)unc_sim_chance(~sim->seed, pmu, plan->cpu);
	c->factor = share * (1 + (long double)rate->spread * (2 * chance - 1));
	return 0;
}

static int sim_open(struct unc_source *source, struct uncore_counter *counters, size_t count,
		    struct unc_names *notes, struct unc_error *e)
{
	struct sim_source *s = (struct sim_source *)source;
	bool opened = false;
	int ret;

	(void)notes;
	source->own_time = source->sim->step_ns;
	s->count = count;
	s->counters = calloc(count + 1, sizeof(*s->counters));
	if (!s->counters)
		return unc_nomem(e);
	for (size_t i = 0; i < count; i++) {
		ret = open_counter(source->sim, &s->counters[i], &counters[i], e);
		if (ret < 0)
			return ret;
		/* These errors refuse the whole plan in the kernel's source, so they do in a
		 * simulation. */
		ret = counters[i].error;
		if (ret == -EMFILE || ret == -ENFILE || ret == -ENOMEM ||
		    (!opened && !counters[i].round && (ret == -EACCES || ret == -EPERM)))
			return unc_fail(e, -ret, "%s", counters[i].why);
		opened = opened || ret == 0;
	}
	return 0;
}

bool unc_sim_has(const struct unc_sim *sim, const struct uncore_pmu *pmu)
{
	for (size_t i = 0; i < sim->count; i++)
		if (unc_pmu_matches(pmu, sim->rates[i].pmu))
			return true;
	return false;
}

bool unc_sim_may_have_devices(const struct unc_sim *sim, const struct unc_pmus *pmus)
{
	for (size_t i = 0; i < sim->count; i++) {
		const char *name = sim->rates[i].pmu;
		size_t k = 0;

		while (k < pmus->count && !unc_pmu_matches(&pmus->items[k], name))
			k++;
		if (k == pmus->count || strpbrk(name, "*?["))
			return true;
	}
	return false;
}

/* ---- counting ---- */

/* The time now; with a step, the time of the next reading. */
static uint64_t sim_now(const struct sim_source *s)
{
	return s->base.sim->step_ns ? s->readings * s->base.sim->step_ns : unc_now_ns();
}

static int sim_enable(struct unc_source *source, struct unc_error *e)
{
	struct sim_source *s = (struct sim_source *)source;

	(void)e;
	s->enabled = true;
	s->since_ns = sim_now(s);
	/* With a step, counting starts at the previous reading: a reading, a start and a reading
	 * count for one step. */
	if (s->readings != 0)
		s->since_ns -= s->base.sim->step_ns;
	return 0;
}

static int sim_disable(struct unc_source *source, struct unc_error *e)
{
	struct sim_source *s = (struct sim_source *)source;

	(void)e;
	if (s->enabled)
		s->elapsed_ns = sim_now(s) - s->since_ns;
	s->enabled = false;
	return 0;
}

static int sim_read(struct unc_source *source, struct uncore_reading *into, uint64_t *now_ns,
		    struct unc_error *e)
{
	struct sim_source *s = (struct sim_source *)source;
	uint64_t now = sim_now(s), elapsed = s->enabled ? now - s->since_ns : s->elapsed_ns;

	(void)e;
	for (size_t i = 0; i < s->count; i++) {
		struct counter *c = &s->counters[i];
		const struct rate *r = c->rate;
		long double counted;
		uint64_t count;

		if (!r) {
			into[i] = (struct uncore_reading){.lost = true};
			continue;
		}
		counted = (long double)r->running * c->factor *
			  unc_wave_integral(&r->wave, c->phase_ns, elapsed);
		if (c->state) /* the rate is its value: the mean of a second */
			counted = c->factor *
				  unc_wave_integral(&r->wave, c->phase_ns + elapsed, (uint64_t)NS);
		/* Rounding may make a wave decrease by one where its rate is almost zero. */
		count = (uint64_t)fmodl(floorl(fmaxl(counted, 0)), 0x1p64L);
		if (c->state || (int64_t)(count - c->counted) > 0)
			c->counted = count;
		into[i] = (struct uncore_reading){
			.raw = (r->start + c->counted) & (UINT64_MAX >> (64 - r->width)),
			.enabled_ns = elapsed,
			.running_ns = (uint64_t)((long double)r->running * (long double)elapsed),
		};
	}
	s->readings++;
	*now_ns = source->wall_ns = now;
	return 0;
}

static void sim_close(struct unc_source *source)
{
	struct sim_source *s = (struct sim_source *)source;

	free(s->counters);
	free(s);
}

const struct unc_source_ops unc_source_sim = {
	.size = sizeof(struct sim_source),
	.open = sim_open,
	.enable = sim_enable,
	.disable = sim_disable,
	.read = sim_read,
	.close = sim_close,
};

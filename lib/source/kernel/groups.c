/* SPDX-License-Identifier: MIT */
/* Packs counters into groups of the kernel by trial: only the driver knows which counters fit. */
#include "source/kernel/perf.h"

#define NAMES_SHOWN 8

/* A set: adjacent counters of the plan. */
struct span {
	size_t first, end;
};

struct pack {
	struct unc_groups *out;
	struct uncore_counter *counters;
	const struct unc_opener *o;
	struct unc_names *notes;
	struct unc_error *e;
	struct unc_group *current; /* the group that the next set may join; NULL: none */
	bool opened;               /* something could be opened */
};

static struct span set_at(const struct pack *p, size_t first, size_t limit)
{
	struct span s = {first, first + 1};

	while (s.end < limit && p->counters[s.end].group == p->counters[first].group)
		s.end++;
	return s;
}

/* The modifiers that only the leader has, for the group as a whole. */
static uint32_t leader_modifiers(const struct pack *p, struct span s)
{
	uint32_t modifiers = 0;

	for (size_t i = s.first; i < s.end; i++)
		modifiers |= p->counters[i].modifiers;
	return modifiers & (UNC_MOD_PINNED | UNC_MOD_EXCLUSIVE);
}

/* True for an error that ends the open, because further counters would be refused for the same
 * reason. In a later round other counters were opened before, so a lack of permission concerns
 * these PMUs only. */
static bool is_fatal(const struct pack *p, int err)
{
	return err == -EMFILE || err == -ENFILE || err == -ENOMEM ||
	       (!p->opened && !p->counters[0].round && (err == -EACCES || err == -EPERM));
}

static int fail_with(const struct pack *p, size_t i, int err)
{
	p->o->why(p->o->ctx, &p->counters[i], err, p->e);
	return err == -ENFILE ? -EMFILE : err == -EPERM ? -EACCES : err;
}

static void remove_set(struct pack *p, struct unc_group *g, struct span s)
{
	for (size_t i = s.end; i-- > s.first;) {
		p->out->shares[i] = UNC_SHARES_NONE;
		if (p->out->fds[i] < 0)
			continue;
		p->o->close(p->o->ctx, p->out->fds[i]);
		p->out->fds[i] = -1;
		g->members--;
	}
}

/* A counter of another set of the group that has the same event; or UNC_SHARES_NONE. */
static size_t find_equal(const struct pack *p, const struct unc_group *g, size_t i)
{
	const struct uncore_counter *c = &p->counters[i];

	for (size_t k = g->first; k < i; k++) {
		const struct uncore_counter *other = &p->counters[k];

		if (p->out->fds[k] >= 0 && other->group != c->group &&
		    other->modifiers == c->modifiers &&
		    memcmp(&other->config, &c->config, sizeof(c->config)) == 0)
			return k;
	}
	return UNC_SHARES_NONE;
}

/* Adds the whole set or nothing. If a counter is refused, *bad is its index. */
static int add_set(struct pack *p, struct unc_group *g, struct span s, size_t *bad)
{
	uint32_t modifiers = leader_modifiers(p, s);

	for (size_t i = s.first; i < s.end; i++) {
		int fd;

		if (p->counters[i].error)
			continue;
		p->out->shares[i] = find_equal(p, g, i);
		if (p->out->shares[i] != UNC_SHARES_NONE)
			continue;
		fd = p->o->open(p->o->ctx, &p->counters[i], g->members ? g->leader : -1, modifiers);
		if (fd < 0) {
			remove_set(p, g, s);
			*bad = i;
			return fd;
		}
		p->out->fds[i] = fd;
		if (g->members++ == 0) {
			g->leader = fd;
			g->modifiers = modifiers;
		}
		p->opened = true;
	}
	g->end = s.end;
	g->sets++;
	return 0;
}

static int place_alone(struct pack *p, struct span s);

/* Splits a set that fits into no group, though `bad` can be opened alone. Each counter gets a group
 * of its own. It is an error if the user wants one group for all. */
static int split(struct pack *p, struct span s, size_t bad, int err)
{
	const struct uncore_counter *c = &p->counters[bad];
	size_t shown = s.end - s.first > NAMES_SHOWN ? NAMES_SHOWN : s.end - s.first;
	struct unc_text text = {0};
	int ret = 0;

	for (size_t i = 0; i < shown; i++)
		unc_text_add(&text, "%s%s", i ? ", " : "", p->counters[s.first + i].event);
	if (shown < s.end - s.first)
		unc_text_add(&text, " and %zu more", s.end - s.first - shown);
	if (c->strict)
		ret = unc_fail(
			p->e, EINVAL,
			"the group {%s} does not fit: PMU %s on CPU %d refuses %s beside those "
			"before it (%s), and takes it alone. %s. Put fewer events into the braces, or "
			"write ':W' after them so that the group may be split",
			text.data ? text.data : "", c->pmu->name, c->cpu, c->event,
			unc_errno_name(err),
			err == -E2BIG
				? "The kernel takes no groups this large"
				: "The PMU has too few counters for all of them, or their filters "
				  "contradict one another");
	for (size_t i = s.first; i < s.end && ret == 0; i++)
		ret = place_alone(p, (struct span){i, i + 1});
	if (ret == 0) {
		p->current = NULL;
		unc_text_add(&text, " do not fit into one group: each is counted on its own");
		/* One note for a set, not one for each instance of its PMU. */
		if (text.failed ||
		    (!unc_names_has(p->notes, text.data) && unc_names_add(p->notes, text.data) < 0))
			ret = unc_nomem(p->e);
	}
	unc_text_finish(&text);
	return ret;
}

/* Puts a set into a group of its own. A counter that is also refused alone keeps its error, and the
 * others are tried without it. */
static int place_alone(struct pack *p, struct span s)
{
	struct unc_group *g = &p->out->items[p->out->count];
	size_t bad;
	int err;

	*g = (struct unc_group){.first = s.first, .end = s.first, .leader = -1};
	while ((err = add_set(p, g, s, &bad)) < 0) {
		struct span one = {bad, bad + 1};
		struct uncore_counter *c = &p->counters[bad];
		struct unc_error why = {0};
		int fd = err;

		if (!is_fatal(p, err))
			fd = p->o->open(p->o->ctx, c, -1, leader_modifiers(p, one));
		if (fd >= 0) {
			p->o->close(p->o->ctx, fd);
			return split(p, s, bad, err);
		}
		if (is_fatal(p, fd))
			return fail_with(p, bad, fd);
		p->o->why(p->o->ctx, c, fd, &why);
		if (unc_counter_refuse(c, fd, why.text, p->e) < 0)
			return -ENOMEM;
	}
	if (g->members == 0)
		return 0;
	p->out->count++;
	p->current = leader_modifiers(p, s) ? NULL : g;
	return 0;
}

static int place(struct pack *p, struct span s)
{
	struct unc_group *g = p->current;
	size_t bad;
	int err;

	if (g && leader_modifiers(p, s) == 0 &&
	    g->members + (s.end - s.first) <= UNC_GROUP_MERGE_MAX) {
		err = add_set(p, g, s, &bad);
		if (err == 0)
			return 0;
		if (is_fatal(p, err))
			return fail_with(p, bad, err);
	}
	return place_alone(p, s);
}

/*
 * Packs all counters of one PMU and CPU. Some drivers (AMD's before 7.x) accept any number of
 * members, but a group with too many never runs. So each merged group is tried. If it does not run,
 * each of its sets gets a group of its own. A merged group may also fail the trial because another
 * program uses counters of the PMU. Smaller groups have a better chance in that case, too.
 */
static int pack_pmu(struct pack *p, size_t first, size_t end)
{
	struct unc_groups *out = p->out;
	size_t k = out->count;
	struct span s;
	int ret;

	p->current = NULL;
	for (size_t i = first; i < end; i = s.end) {
		s = set_at(p, i, end);
		ret = place(p, s);
		if (ret < 0)
			return ret;
	}
	while (k < out->count) {
		struct unc_group merged = out->items[k];

		if (merged.sets < 2 || p->o->runs(p->o->ctx, &merged)) {
			k++;
			continue;
		}
		out->items[k] = out->items[--out->count];
		remove_set(p, &merged, (struct span){merged.first, merged.end});
		for (size_t i = merged.first; i < merged.end; i = s.end) {
			s = set_at(p, i, merged.end);
			ret = place_alone(p, s);
			if (ret < 0)
				return ret;
		}
	}
	return 0;
}

int unc_groups_open(struct unc_groups *out, struct uncore_counter *counters, size_t count,
		    const struct unc_opener *o, struct unc_names *notes, struct unc_error *e)
{
	struct unc_groups groups = {
		/* One more than there can be, since a set is tried in the place behind the last
		 * group. */
		.items = calloc(count + 1, sizeof(*groups.items)),
		.fds = malloc((count + 1) * sizeof(*groups.fds)),
		.shares = malloc((count + 1) * sizeof(*groups.shares)),
	};
	struct pack p = {&groups, counters, o, notes, e, NULL, false};
	int ret = 0;

	if (!groups.items || !groups.fds || !groups.shares) {
		ret = unc_nomem(e);
		goto fail;
	}
	groups.counter_count = count;
	for (size_t i = 0; i < count; i++) {
		groups.fds[i] = -1;
		groups.shares[i] = UNC_SHARES_NONE;
	}
	for (size_t first = 0, end; first < count; first = end) {
		for (end = first + 1; end < count && counters[end].cpu == counters[first].cpu &&
				      counters[end].pmu == counters[first].pmu;)
			end++;
		ret = pack_pmu(&p, first, end);
		if (ret < 0)
			goto fail;
	}
	*out = groups;
	return 0;
fail:
	unc_groups_finish(&groups, o);
	return ret;
}

static void close_fds(const int *fds, size_t count, const struct unc_opener *o)
{
	for (size_t i = 0; i < count; i++)
		if (fds[i] >= 0)
			o->close(o->ctx, fds[i]);
}

int unc_groups_reopen(struct unc_groups *groups, struct unc_group *g,
		      const struct uncore_counter *counters, int cpu, uint32_t type,
		      const struct unc_opener *o)
{
	/* a copy, for the type that the PMU has now */
	struct uncore_pmu pmu = *counters[g->first].pmu;
	size_t count = g->end - g->first;
	int *fds = malloc(count * sizeof(*fds));
	int leader = -1, err;

	if (!fds)
		return -ENOMEM;
	pmu.type = type;
	for (size_t i = 0; i < count; i++) {
		struct uncore_counter c = counters[g->first + i];

		fds[i] = -1;
		if (groups->fds[g->first + i] < 0)
			continue;
		c.cpu = cpu;
		c.pmu = &pmu;
		fds[i] = o->open(o->ctx, &c, leader, g->modifiers);
		if (fds[i] < 0) {
			err = fds[i];
			close_fds(fds, i, o);
			free(fds);
			return err;
		}
		if (leader < 0)
			leader = fds[i];
	}
	close_fds(groups->fds + g->first, count, o);
	memcpy(groups->fds + g->first, fds, count * sizeof(*fds));
	g->leader = leader;
	free(fds);
	return 0;
}

void unc_groups_finish(struct unc_groups *g, const struct unc_opener *o)
{
	close_fds(g->fds, g->counter_count, o);
	free(g->fds);
	free(g->shares);
	free(g->items);
	memset(g, 0, sizeof(*g));
}

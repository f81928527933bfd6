/* SPDX-License-Identifier: MIT */
/* Finds codes that earlier CPUs have for other events, by the vendors' names. */
#include "machine/pmu.h"

#define SHOWN_NAMES 3

/* An event of PMUs of the same kind. */
struct code {
	const char *base, *rest; /* the parts of its name: "UNC_M_CAS_COUNT", ".RD" */
	uint64_t event, umask;
	uint64_t models; /* a bit for each CPU model that has it, in the order of the file */
};

struct codes {
	struct code *items;
	size_t count;
	struct unc_vendor_reader text; /* has the models, from the oldest to that of this CPU */
};

/* Reads all events of the PMU's kind, for this CPU and older ones. */
static int read_codes(struct codes *c, const struct uncore_pmu *p)
{
	const struct unc_vendor_reader *text = &c->text;

	while (unc_vendor_next(&c->text)) {
		const struct code code = {.base = text->base,
					  .rest = text->rest,
					  .event = strtoull(text->event, NULL, 16),
					  .umask = strtoull(text->umask, NULL, 16),
					  .models = text->of_models};

		if (unc_pmu_name_matches(p->name, text->pmu) &&
		    UNC_ADD(&c->items, &c->count, &code) < 0)
			return -ENOMEM;
	}
	return 0;
}

/* Gets the value of a term in the configuration. Returns false if the PMU has no such term. */
static bool value_of(const struct uncore_pmu *p, const struct unc_config *config, const char *name,
		     uint64_t *value)
{
	const struct uncore_term *t = unc_pmu_term(p, name);
	unsigned bit = 0;

	*value = 0;
	for (uint64_t left = t && t->word >= 0 ? t->bits : 0; left; left &= left - 1, bit++)
		if (config->word[t->word] & left & -left)
			*value |= UINT64_C(1) << bit;
	return bit;
}

static bool same_name(const struct code *a, const struct code *b)
{
	return strcmp(a->base, b->base) == 0 && strcmp(a->rest, b->rest) == 0;
}

/* The CPU models on which a code has the name that it has here. */
static uint64_t models_of(const struct codes *c, const struct code *code)
{
	uint64_t models = 0;

	for (const struct code *o = c->items; o < c->items + c->count; o++)
		if (o->event == code->event && o->umask == code->umask && same_name(code, o))
			models |= o->models;
	return models;
}

/* Finds the event of this CPU that counts an older CPU's event ("event=0x5,umask=0xcf"): it has the
 * same name, or one with a longer base ("UNC_M_CAS_COUNT_SCH0.RD"). */
static const struct code *found_here(const struct codes *c, const struct code *old)
{
	const struct code *like = NULL;

	for (const struct code *k = c->items; k < c->items + c->count; k++) {
		if (!(k->models & c->text.here))
			continue;
		if (same_name(k, old))
			return k;
		if (!like && strncmp(k->base, old->base, strlen(old->base)) == 0 &&
		    strcmp(k->rest, old->rest) == 0)
			like = k;
	}
	return like;
}

/* Appends "UNC_M_CAS_COUNT.WR on ivt hsx (here event=0x4,umask=0x30)". */
static void add_old(struct unc_text *to, const struct codes *c, const struct code *old,
		    uint64_t models)
{
	const struct code *now = found_here(c, old);

	unc_text_add(to, "%s%s on", old->base, old->rest);
	for (size_t i = 0; i < c->text.model_count; i++)
		if (models >> i & 1)
			unc_text_add(to, " %s", c->text.models[i]);
	if (now)
		unc_text_add(to, " (here%s%s event=0x%llx,umask=0x%llx)",
			     same_name(now, old) ? "" : " ", same_name(now, old) ? "" : now->base,
			     (unsigned long long)now->event, (unsigned long long)now->umask);
}

static void describe(struct unc_text *to, const struct codes *c, uint64_t event, uint64_t umask)
{
	const struct code *here = NULL, *with_umask = NULL;
	uint64_t same = c->text.here, done = 0;
	size_t shown = 0;

	for (const struct code *k = c->items; k < c->items + c->count; k++) {
		if (k->event != event || !(k->models & c->text.here))
			continue;
		if (k->umask == umask && !here)
			here = k;
		if (k->umask != umask && !with_umask)
			with_umask = k;
		/* Older CPUs on which the code has a name that it also has on this CPU. */
		if (k->umask == umask)
			same |= models_of(c, k);
	}
	for (size_t i = c->count; i-- > 0 && shown < SHOWN_NAMES;) {
		const struct code *k = &c->items[i];
		uint64_t models = 0;

		if (k->event == event && k->umask == umask)
			models = models_of(c, k) & ~same & ~done;
		if (!models)
			continue;
		if (!shown++ && here)
			unc_text_add(to, "is %s%s on this CPU; it is ", here->base, here->rest);
		else if (shown == 1)
			unc_text_add(to, "is not in the vendor's list for this CPU; it is ");
		else
			unc_text_add(to, ", ");
		add_old(to, c, k, models);
		done |= models;
	}
	if (!shown && !here && !umask && with_umask)
		unc_text_add(to,
			     "has no umask: the vendor's list for this CPU has the event only with "
			     "one, such as umask=0x%llx, %s%s",
			     (unsigned long long)with_umask->umask, with_umask->base,
			     with_umask->rest);
}

int unc_vendor_describe(const struct uncore_pmu *p, const struct unc_config *config, char **out)
{
	struct unc_text text = {0};
	struct codes c = {0};
	uint64_t event, umask;
	char *copy;
	int r;

	*out = NULL;
	if (!p->vendor || !value_of(p, config, "event", &event))
		return 0;
	value_of(p, config, "umask", &umask);
	copy = strdup(unc_vendor_text(p->vendor->topology));
	c.text = (struct unc_vendor_reader){.topology = p->vendor->topology, .text = copy};
	r = copy ? read_codes(&c, p) : -ENOMEM;
	if (r == 0 && c.text.here && c.count)
		describe(&text, &c, event, umask);
	if (text.len)
		*out = unc_text_take(&text);
	if (text.failed || (r == 0 && text.len && !*out))
		r = -ENOMEM;
	unc_text_finish(&text);
	free(c.items);
	free(copy);
	return r;
}

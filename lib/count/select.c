/* SPDX-License-Identifier: MIT */
/* From metrics and events to queries: where each of them counts (targets), and the parts that are
 * not counted (gaps). encode.c makes the requests of a target, split.c the parts that filters
 * select. */
#include "count/monitor.h"

/* An event of which the driver says that it counts a whole package is read once for each. */
static bool is_repeated(const struct uncore_monitor *m, const struct uncore_alias *alias,
			const struct uncore_pmu *pmu, size_t i)
{
	return alias && alias->per_package && unc_pmu_repeats(pmu, &m->machine->topology, i);
}

/* ---- events ---- */

/* One call of uncore_monitor_add_events(). */
struct adder {
	struct uncore_monitor *m;
	struct unc_error *e;
	const struct unc_event *event; /* being added */
	size_t first_query;            /* of this event */
	size_t first_set;              /* of this call */
	struct unc_gap *failed;        /* PMUs on which this event cannot be counted */
	size_t failed_count;
};

/* The query of this event for values of one unit and scale: PMUs that differ in these are not added
 * up. NULL: out of memory. */
static struct unc_query *find_query(struct adder *a, const struct unc_encoding *enc)
{
	const struct uncore_alias *alias = enc->alias;
	const char *unit = alias && alias->unit ? alias->unit : "";
	double scale = alias ? alias->scale : 1;
	bool snapshot = alias && alias->snapshot;
	struct unc_query *q;

	for (size_t i = a->first_query; i < a->m->query_count; i++) {
		q = &a->m->queries[i];
		if (q->scales[0] == scale && strcmp(q->shown.unit, unit) == 0 &&
		    q->snapshot == snapshot)
			return q;
	}
	q = unc_monitor_query(a->m, 1);
	if (!q)
		return NULL;
	q->shown.name = unc_monitor_keep(a->m, enc->name[0] ? enc->name : a->event->text);
	q->shown.unit = unc_monitor_keep(a->m, unit);
	q->shown.filter = a->m->filters.places;
	q->scales[0] = scale;
	q->snapshot = snapshot;
	return q->shown.name && q->shown.unit ? q : NULL;
}

static int add_event_on(struct adder *a, const struct uncore_pmu *pmu,
			const struct unc_encoding *enc)
{
	const struct uncore_alias *alias = enc->alias;
	struct unc_query *q = find_query(a, enc);
	int r = q ? 0 : unc_nomem(a->e);

	for (size_t i = 0; r == 0 && i < unc_pmu_mask(pmu); i++) {
		struct unc_target target = {.pmu = pmu, .cpu = pmu->cpus.ids[i], .terms = ""};

		if (enc->cpu >= 0 ? target.cpu != enc->cpu
				  : i >= pmu->cpus.count || is_repeated(a->m, alias, pmu, i))
			continue;
		r = unc_filters_select(a->m, &target, a->e);
		if (r <= 0)
			continue;
		r = unc_encode_event(a->m, q, target, a->event, enc, a->first_set);
	}
	return r;
}

/* Only an event of a driver may be written without its PMU, since the catalogue has names that
 * events of cores also have ("cycles"). */
static bool has_alias(const struct uncore_pmu *pmu, const char *name)
{
	const struct uncore_alias *alias = unc_pmu_event(pmu, name);

	return alias && !alias->evidence;
}

/* Adds the vendors' names of the machine's events, once for PMUs of the same kind. */
static int add_vendor_names(const struct uncore *u, struct unc_names *names)
{
	const struct uncore_alias *last = NULL, *events;
	size_t count;
	int r = 0;

	for (size_t i = 0; i < uncore_pmu_count(u); i++, last = events) {
		events = unc_pmu_vendor_events(uncore_pmu_at(u, i), &count);
		for (size_t k = 0; r == 0 && events != last && k < count; k++)
			r = unc_names_add(names, events[k].name);
	}
	return r;
}

/* The error for an event whose PMU does not exist, with similar names of PMUs or (for a word
 * without PMU) of events. */
static int no_such_pmu(struct adder *a)
{
	const struct uncore *u = a->m->machine;
	const char *pmu = a->event->pmu;
	struct unc_names names = {0};
	bool any;
	int r = 0;

	for (size_t i = 0; r == 0 && i < uncore_pmu_count(u); i++) {
		const struct uncore_pmu *p = uncore_pmu_at(u, i);

		if (p->is_core)
			continue;
		if (pmu)
			r = unc_names_add(&names, p->name);
		for (size_t k = 0; r == 0 && !pmu && k < uncore_pmu_alias_count(p); k++)
			if (has_alias(p, uncore_pmu_alias_at(p, k)->name) &&
			    !unc_names_has(&names, uncore_pmu_alias_at(p, k)->name))
				r = unc_names_add(&names, uncore_pmu_alias_at(p, k)->name);
	}
	if (pmu)
		unc_fail(a->e, ENODEV, "%.200s: this machine has no PMU named '%.80s'",
			 a->event->text, pmu);
	else
		unc_fail(a->e, ENODEV,
			 "%.200s: no PMU of this machine has an event of this name; events of a "
			 "PMU are written pmu/event/, and core events are not counted here",
			 a->event->text);
	any = unc_error_suggest(a->e, pmu ? pmu : a->event->terms, names.items,
				sizeof(*names.items), names.count);
	if (!any && !pmu && r == 0) {
		r = add_vendor_names(u, &names);
		any = unc_error_suggest(a->e, a->event->terms, names.items, sizeof(*names.items),
					names.count);
	}
	for (size_t i = 0; !any && pmu && i < names.count && i < 8; i++)
		unc_error_append(a->e, "%s%s", i ? ", " : "; it has ", names.items[i]);
	if (!any && u->topology.guest[0])
		unc_error_append(a->e, "; %s", u->topology.guest);
	unc_names_finish(&names);
	return r < 0 ? unc_nomem(a->e) : -ENODEV;
}

/* Some PMUs of the name cannot be counted. If all have one name, they are gaps of the rows. A glob
 * may match PMUs of different kinds, of which only some have the event. */
static int leave_out(struct adder *a)
{
	const char *pmu = a->event->pmu;
	int r = 0;

	if (!pmu || strpbrk(pmu, "*?["))
		return unc_monitor_note(a->m, "left out: %s", a->failed[0].why);
	for (size_t i = a->first_query; i < a->m->query_count; i++)
		for (size_t k = 0; r == 0 && k < a->failed_count; k++)
			r = unc_query_add_pmu_gap(a->m, &a->m->queries[i], a->failed[k].pmu,
						  a->failed[k].why);
	return r;
}

/* Adds the event on every PMU that matches the name and can count it. `cpu=` selects, as in perf,
 * the PMUs that are counted from that CPU. */
static int add_event(struct adder *a)
{
	const struct uncore *u = a->m->machine;
	const struct unc_event *ev = a->event;
	const struct uncore_pmu *elsewhere = NULL; /* not counted from the CPU that is picked */
	const char *absent = NULL;                 /* why one has no hardware */
	const struct uncore_pmu *outside = NULL;   /* not in the places that filters select */
	int r = 0, error = 0, cpu = -1;
	bool added = false;

	for (size_t i = 0; r == 0 && i < uncore_pmu_count(u); i++) {
		const struct uncore_pmu *pmu = uncore_pmu_at(u, i);
		struct unc_error why = {0};
		struct unc_encoding enc;
		int err;

		if (ev->pmu ? !unc_pmu_matches(pmu, ev->pmu) : !has_alias(pmu, ev->terms))
			continue;
		if (pmu->absent) {
			absent = pmu->absent;
			continue;
		}
		if (!unc_filters_select_pmu(a->m, pmu)) {
			outside = pmu;
			continue;
		}
		err = unc_pmu_encode(pmu, ev->terms, &enc, &why);
		if (err == 0 && !pmu->cpus.count)
			err = unc_fail(&why, ENODEV,
				       "%s has no CPU to be counted from: its cpumask is empty",
				       pmu->name);
		if (err < 0) {
			struct unc_gap *gap =
				unc_append(&a->failed, &a->failed_count, sizeof(*gap));

			if (!error)
				error = err;
			if (gap)
				*gap = (struct unc_gap){.pmu = pmu,
							.why = unc_monitor_keep(a->m, why.text)};
			r = gap && gap->why ? 0 : unc_nomem(a->e);
		} else if (enc.cpu >= 0 && !unc_pmu_has_cpu(pmu, enc.cpu)) {
			if (!elsewhere)
				elsewhere = pmu;
			cpu = enc.cpu;
		} else {
			added = true;
			r = add_event_on(a, pmu, &enc);
		}
	}
	if (r == 0 && added)
		r = a->failed_count ? leave_out(a) : 0;
	else if (r == 0 && a->failed_count)
		r = unc_fail(a->e, -error, "%s", a->failed[0].why);
	else if (r == 0 && elsewhere)
		r = unc_fail(a->e, EINVAL, "%s: %s is not counted from CPU %d", ev->text,
			     elsewhere->name, cpu);
	else if (r == 0 && outside)
		r = unc_fail(a->e, ENODEV, "%s: no PMU counts it where '%s' selects", ev->text,
			     a->m->filters.places);
	else if (r == 0 && absent)
		r = unc_fail(a->e, ENODEV, "%s: %s", ev->text, absent);
	else if (r == 0)
		r = no_such_pmu(a);
	free(a->failed);
	a->failed = NULL;
	a->failed_count = 0;
	return r;
}

int uncore_monitor_add_events(struct uncore_monitor *m, const char *text)
{
	struct unc_checkpoint before = {m->query_count, m->set_count};
	struct adder a = {.m = m, .e = &m->machine->error, .first_set = before.sets};
	struct unc_events list;
	int r = unc_monitor_refuse_planned(m);

	if (r == 0)
		r = unc_events_parse(text, &list, a.e);
	if (r < 0)
		return r;
	for (size_t i = 0; r == 0 && i < list.count; i++) {
		a.event = &list.items[i];
		a.first_query = m->query_count;
		r = add_event(&a);
	}
	for (size_t i = before.sets; r == 0 && i < m->set_count; i++) {
		const struct unc_request_set *set = &m->sets[i];
		size_t members = 0;

		for (size_t k = 0; set->group >= 0 && k < list.count; k++)
			members += list.items[k].group == set->group;
		if (set->count < members)
			r = unc_monitor_note(
				m, "a {} group names events of different PMUs; the kernel groups "
				   "only events of one PMU, so each PMU has its own group");
	}
	if (r < 0)
		unc_monitor_roll_back(m, before);
	unc_events_finish(&list);
	return r;
}

/* ---- metrics ---- */

/* "memory.*", or "intel-imc/memory.*". A pattern for all metrics does not include the cells of a
 * matrix, which are many and duplicate other metrics. */
static bool matches(const struct uncore_metric *metric, const char *pattern)
{
	const char *slash = strchr(pattern, '/');
	const char *name = slash ? slash + 1 : pattern;

	if (*name && strchr("*?[", *name) && strncmp(metric->name, "matrix.", 7) == 0)
		return false;
	return uncore_metric_matches(metric, pattern);
}

/* The same of an event of the metric. */
static bool is_metric_repeated(const struct uncore_monitor *m, const struct uncore_metric *metric,
			       const struct uncore_pmu *pmu, size_t i)
{
	struct unc_encoding enc;

	for (size_t k = 0; i && k < metric->formula->names.count; k++)
		if (unc_event_encode(metric->events[k], pmu, &enc, NULL) == 0 &&
		    is_repeated(m, enc.alias, pmu, i))
			return true;
	return false;
}

/* Adds the PMU on each of its CPUs, or the parts that the filters select; on failure nothing.
 * -ENODEV with `why`: it cannot be restricted as requested. */
static int add_metric_on(struct uncore_monitor *m, struct unc_query *q,
			 const struct uncore_pmu *pmu, struct unc_error *why)
{
	bool in_parts =
		q->shown.filter || m->level == UNCORE_LEVEL_PORT || m->level == UNCORE_LEVEL_PART;
	struct unc_checkpoint before = {m->query_count, m->set_count};
	size_t targets = q->target_count;
	int r = 0;

	for (size_t i = 0; r == 0 && i < pmu->cpus.count; i++) {
		struct unc_target whole = {.pmu = pmu, .cpu = pmu->cpus.ids[i], .terms = ""};

		if (is_metric_repeated(m, q->metric, pmu, i))
			continue;
		r = unc_filters_select(m, &whole, why);
		if (r <= 0)
			continue;
		r = in_parts ? unc_filters_encode(m, q, &whole, why)
			     : unc_encode_metric(m, q, whole, why);
	}
	if (r < 0) {
		q->target_count = targets;
		unc_monitor_roll_back(m, before);
	}
	return r;
}

/* Which of the root ports that the user named a metric counts. */
struct requested_ports {
	uint64_t counted;                    /* bit n: the n-th of them */
	const char *why[UNC_FILTER_CHOICES]; /* a PMU has it and cannot count it so; NULL */
};

/* Tries one PMU of the family. -ENODEV with `why`: it cannot be counted as requested. */
static int try_pmu(struct uncore_monitor *m, struct unc_query *q, const struct uncore_pmu *pmu,
		   struct requested_ports *requested, struct unc_error *why)
{
	bool counted = false;
	uint64_t ports;
	int r = unc_metric_on(q->metric, pmu, why);

	if (r == -ENODEV || !unc_filters_select_pmu(m, pmu))
		return 0;
	if (r < 0) {
		r = unc_query_add_pmu_gap(m, q, pmu, why->text);
	} else {
		r = add_metric_on(m, q, pmu, why);
		counted = r == 0;
	}
	if (!q->filtered || unc_pmu_is_own(pmu) || (r < 0 && r != -ENODEV))
		return r;
	ports = unc_filters_requested_ports(m, pmu);
	if (counted)
		requested->counted |= ports;
	for (size_t i = 0; !counted && i < UNC_FILTER_CHOICES; i++) {
		if (!(ports >> i & 1) || requested->why[i])
			continue;
		requested->why[i] = unc_monitor_keep(m, why->text);
		if (!requested->why[i])
			return -ENOMEM;
	}
	return r;
}

/* Whether another family has the same metric and counts the port. */
static bool counted_elsewhere(const struct uncore_metric *metric, const struct uncore_device *port)
{
	for (size_t i = 0; i < uncore_device_pmu_count(port); i++) {
		const struct uncore_pmu *pmu = uncore_device_pmu_at(port, i);
		const struct unc_family *f = pmu->family;

		for (size_t k = 0; f != metric->family && k < f->metric_count; k++)
			if (strcmp(f->metrics[k].name, metric->name) == 0 &&
			    unc_metric_on(&f->metrics[k], pmu, NULL) == 0)
				return true;
	}
	return false;
}

/* Adds gaps for the named root ports, or those of devices, that no PMU counts. */
static int find_port_gaps(struct uncore_monitor *m, struct unc_query *q,
			  const struct requested_ports *requested)
{
	const struct unc_filter_value *values = m->filters.values;
	const struct unc_filter_value *named = values[UNC_FILTER_DEVICE].text
						       ? &values[UNC_FILTER_DEVICE]
						       : &values[UNC_FILTER_PORT];
	int r = 0;

	for (size_t i = 0; r == 0 && i < named->count; i++) {
		const struct uncore_device *port = named->choices[i].device->port;

		if (!(requested->counted >> i & 1) && port &&
		    unc_filters_select_socket(m, port->socket) &&
		    !counted_elsewhere(q->metric, port))
			r = unc_query_add_port_gap(
				m, q, port, requested->why[i] ? requested->why[i] : port->unknown);
	}
	return r;
}

/* The error for a metric that cannot be counted as requested: the most specific reason. */
static int fail_metric(struct uncore_monitor *m, const struct unc_query *q,
		       const struct requested_ports *requested, const struct unc_error *unsuited)
{
	struct unc_error ports = {0}, *e = &m->machine->error;
	const char *refused = NULL; /* why a PMU cannot count a port that it has */
	const char *pmu = NULL;     /* why the first one is left out */
	bool known = false;         /* why a port is not counted */

	/* Not the reason of a port, whose other metrics are counted. */
	if (m->filters.restricts && !unc_query_is_restrictable(q) && unsuited->text[0])
		return unc_fail(e, ENODEV, "%s", unsuited->text);
	for (size_t i = 0; i < UNC_FILTER_CHOICES && !refused; i++)
		refused = requested->why[i];
	for (size_t i = 0; i < q->gap_count; i++) {
		const struct unc_gap *gap = &q->gaps[i];

		if (gap->what == UNC_GAP_PMU && !pmu)
			pmu = gap->why;
		if (gap->what != UNC_GAP_PORT)
			continue;
		known = known || refused || gap->port->unknown;
		unc_error_append(&ports, "%s%s", ports.text[0] ? "; " : "", gap->why);
	}
	if (known || refused)
		return unc_fail(e, ENODEV, "%s", known ? ports.text : refused);
	if (unsuited->text[0])
		return unc_fail(e, ENODEV, "%s", unsuited->text);
	if (q->filtered || m->filters.places)
		return unc_fail(e, ENODEV, "no PMU of %s counts what '%s' names here",
				q->metric->family->name, q->shown.filter);
	return unc_fail(e, ENODEV, "%s: %s", q->metric->name,
			pmu ? pmu : "no PMU here has its events");
}

/* Notes on a metric that is counted. */
static int note_metric(struct uncore_monitor *m, const struct unc_query *q,
		       const struct unc_error *unsuited)
{
	int r = 0;

	/* A port or device that the user named was found: other PMUs cannot have it. */
	if (unsuited->text[0] && !q->filtered)
		r = unc_monitor_note(m, "left out: %s", unsuited->text);
	for (size_t i = 0; r == 0 && q->filtered && i < q->gap_count; i++)
		if (q->gaps[i].what == UNC_GAP_PORT)
			r = unc_monitor_note(m, "%s", q->gaps[i].why);
	return r;
}

/* The query of a metric, with the filters and the level that are set; NULL: none. */
static struct unc_query *added_query(struct uncore_monitor *m, const struct uncore_metric *metric)
{
	for (size_t i = 0; i < m->query_count; i++)
		if (m->queries[i].metric == metric && m->queries[i].level == m->level &&
		    m->queries[i].shown.filter == m->filters.text)
			return &m->queries[i];
	return NULL;
}

/* Adds the metric on every PMU of the family that can be counted as requested. */
static int add_metric(struct uncore_monitor *m, const struct uncore_metric *metric)
{
	struct unc_query *q = unc_monitor_query(m, metric->formula->names.count);
	const struct unc_family *f = metric->family;
	struct unc_error unsuited = {0};
	struct requested_ports requested = {0};
	int r = 0;

	if (!q)
		return -ENOMEM;
	q->metric = metric;
	q->shown = (struct uncore_row_query){.name = metric->name,
					     .family = f->name,
					     .unit = metric->unit,
					     .filter = m->filters.text,
					     .at_port = metric->at_port,
					     .cell = metric->cell,
					     .of_device = uncore_metric_is_of_device(metric)};
	q->filtered = m->filters.picks;
	q->sockets = m->filters.values[UNC_FILTER_SOCKET].choices[0].mask;
	q->in_nodes = m->filters.values[UNC_FILTER_NODE].count > 0;
	q->extra = m->extra && unc_catalogue_find_view(&m->machine->catalogue, metric->name);
	q->levels = m->by_port ? 0 : q->levels;
	q->input_count += metric->over != NULL;
	for (size_t i = 0; r == 0 && i < f->pmu_count; i++) {
		struct unc_error why = {0};

		r = try_pmu(m, q, f->pmus[i], &requested, &why);
		if (r != -ENODEV)
			continue;
		if (!unsuited.text[0])
			unsuited = why;
		/* Another PMU may have the port or device of the filter. */
		r = q->filtered ? 0 : unc_query_add_pmu_gap(m, q, f->pmus[i], why.text);
	}
	if (r == 0 && !(f->pmu_count && unc_pmu_is_own(f->pmus[0])))
		r = q->filtered ? find_port_gaps(m, q, &requested) : unc_query_find_gaps(m, q);
	if (r == 0)
		r = q->target_count ? note_metric(m, q, &unsuited)
				    : fail_metric(m, q, &requested, &unsuited);
	return r == -ENOMEM ? unc_nomem(&m->machine->error) : r;
}

/* Why filters do not suit metrics: of several reasons that of a family that has these filters. */
struct unsuited {
	struct unc_error why;
	bool has_filters;
};

/* Adds the metrics whose values this metric needs, of all families on this machine; they are
 * reported only if they are also requested. A metric that cannot be counted, or not together with
 * this one, has no value. */
static int add_needed(struct uncore_monitor *m, const char *name)
{
	const struct unc_catalogue *c = &m->machine->catalogue;
	int r = 0;

	for (size_t i = 0; r == 0 && i < c->metric_count; i++) {
		struct unc_checkpoint before = {m->query_count, m->set_count};

		if (strcmp(c->metrics[i]->name, name) != 0 ||
		    (c->metrics[i]->separate && !m->in_rounds) ||
		    uncore_metric_missing(c->metrics[i]) || added_query(m, c->metrics[i]))
			continue;
		r = add_metric(m, c->metrics[i]);
		if (r == 0)
			m->queries[m->query_count - 1].silent = true;
		if (r == 0)
			m->queries[m->query_count - 1].extra = m->extra;
		if (r == -ENODEV) {
			unc_monitor_roll_back(m, before);
			r = 0;
		}
	}
	return r;
}

/* True when the metric cannot be counted because all CPUs are offline that could count it. */
static bool has_no_cpu(const struct uncore_metric *metric)
{
	bool any = false;

	for (size_t i = 0; i < metric->family->pmu_count; i++) {
		int r = unc_metric_on(metric, metric->family->pmus[i], NULL);

		if (r == 0)
			return false;
		any |= r == -ENXIO;
	}
	return any;
}

/* Adds a matching metric, or not (with the reason in `unsuited`), if it does not support the
 * filters or has no CPU: others may match. */
static int try_metric(struct uncore_monitor *m, const struct uncore_metric *metric,
		      struct unsuited *unsuited)
{
	struct unc_checkpoint before = {m->query_count, m->set_count};
	struct unc_query *query = added_query(m, metric);
	bool has_filters = true;
	int r;

	if (query) {
		query->silent = false;
		return 0;
	}
	/* It would have no rows. */
	if (m->by_port && !unc_catalogue_find_view(&m->machine->catalogue, metric->name))
		return 0;
	r = add_metric(m, metric);
	for (size_t i = 0; r == 0 && metric->unless && i < metric->unless->names.count; i++)
		if (strchr(metric->unless->names.items[i], '.'))
			r = add_needed(m, metric->unless->names.items[i]);
	if (r == 0 && metric->over)
		r = add_needed(m, metric->over);
	if (r != -ENODEV || (!m->filters.text && !has_no_cpu(metric)))
		return r;
	unc_monitor_roll_back(m, before);
	for (size_t i = 0; i < UNC_FILTERS; i++)
		if (m->filters.values[i].text && !metric->family->filters[i].title)
			has_filters = false;
	/* A link whose other end is not a GPU does not have the number of GPUs. */
	if (m->filters.values[UNC_FILTER_GPU].text && metric->family->pmu_count &&
	    unc_gpu_count(metric->family->pmus[0]) == 0)
		has_filters = false;
	if (!unsuited->why.text[0] || (has_filters && !unsuited->has_filters))
		*unsuited = (struct unsuited){m->machine->error, has_filters};
	return unc_monitor_note(m, "left out: %s", m->machine->error.text);
}

/* "xgmi", "xgmi.bandwidth": appends " (did you mean link.*?)". False: not such a word, or not on
 * this machine. */
static bool suggest_for_word(struct unc_catalogue *c, const char *pattern, struct unc_error *e)
{
	const struct uncore_words *words;
	char word[32];
	bool any = false;
	int n;

	if (sscanf(pattern, "%31[^.*]", word) != 1)
		return false;
	words = unc_catalogue_words(c, word);
	for (const char *at = words ? words->names : NULL;
	     at && sscanf(at, "%31s%n", word, &n) == 1; at += n) {
		size_t i = 0;

		while (i < c->metric_count && (!unc_glob_matches(word, c->metrics[i]->name) ||
					       uncore_metric_missing(c->metrics[i])))
			i++;
		if (i == c->metric_count)
			continue;
		unc_error_append(e, "%s%s", any ? " or " : " (did you mean ", word);
		any = true;
	}
	if (any)
		unc_error_append(e, "?)");
	return any;
}

static int no_such_metric(const struct uncore_monitor *m, const char *pattern)
{
	struct unc_catalogue *c = &m->machine->catalogue;
	struct unc_error *e = &m->machine->error;
	const char **names = calloc(c->metric_count + 1, sizeof(*names));
	const char *slash = strchr(pattern, '/');

	if (!names)
		return unc_nomem(e);
	for (size_t i = 0; i < c->metric_count; i++)
		names[i] = c->metrics[i]->name;
	unc_fail(e, ENOENT, "no metric of the catalogue is named '%s'", pattern);
	if (!suggest_for_word(c, pattern, e))
		unc_error_suggest(e, slash ? slash + 1 : pattern, names, sizeof(*names),
				  c->metric_count);
	free(names);
	return -ENOENT;
}

/* No metric of the pattern can be counted here: the sentence that says most. `excluded` could be by
 * its name; `missing`: why one of a family with PMUs here cannot. */
static int fail_pattern(struct uncore_monitor *m, const char *pattern,
			const struct uncore_metric *excluded, const char *missing)
{
	struct unc_catalogue *c = &m->machine->catalogue;
	struct unc_error *e = &m->machine->error;
	const char *guest = m->machine->topology.guest;
	const struct uncore_metric *general = NULL;
	bool known = false;
	int r = unc_catalogue_complete(c, e);

	if (r < 0)
		return r;
	if (excluded)
		return unc_fail(e, ENODEV, "%s is not in %s: %s; name it to count it",
				excluded->name, pattern, excluded->separate);
	/* If PMUs are missing, the reason is that of the most general metric: for memory.* that of
	 * memory.bandwidth. */
	for (size_t i = 0; i < c->metric_count; i++) {
		const struct uncore_metric *metric = c->metrics[i];

		if (!matches(metric, pattern))
			continue;
		known = true;
		if (metric->family->names_this_cpu && metric->text &&
		    (!general || strlen(metric->name) < strlen(general->name)))
			general = metric;
	}
	if (!known)
		return no_such_metric(m, pattern);
	unc_fail(e, ENODEV, "%s: nothing on this machine can count it", pattern);
	if (!missing && m->machine->ops == &unc_source_resctrl)
		unc_error_append(e, ": the source resctrl has only what groups move");
	else if (!missing && guest[0])
		unc_error_append(e, "; %s", guest);
	else if (!missing && !general)
		unc_error_append(
			e, "%s",
			strcmp(m->machine->topology.cpu_model, "unknown")
				? ": the catalogue has it for other PMUs than those of this machine"
				: ": proc/cpuinfo does not name the CPU model, which decides on the "
				  "families of most PMUs");
	else
		unc_error_append(e, ": %s", missing ? missing : uncore_metric_missing(general));
	return -ENODEV;
}

int uncore_monitor_add_metrics(struct uncore_monitor *m, const char *pattern)
{
	const struct unc_catalogue *c = &m->machine->catalogue;
	struct unc_checkpoint before = {m->query_count, m->set_count};
	struct unsuited unsuited = {0};
	struct unc_error *e = &m->machine->error;
	bool here = false;
	const struct uncore_metric *excluded = NULL;
	const char *slash = strchr(pattern, '/'), *name = slash ? slash + 1 : pattern;
	/* Patterns such as "memory.*" leave out metrics that do not fit into the counters together
	 * with the others. A name, and "*", which does not fit anyway, do not. With rounds all
	 * fit. */
	bool leaves_out = !m->in_rounds && strcmp(pattern, "*") != 0 && strpbrk(pattern, "*?[");
	const char *missing = NULL;
	int r = unc_monitor_refuse_planned(m);

	for (size_t i = 0; r == 0 && i < c->metric_count; i++) {
		const struct uncore_metric *metric = c->metrics[i];

		if (!matches(metric, pattern))
			continue;
		if (!uncore_metric_missing(metric) && leaves_out && metric->separate) {
			excluded = metric;
			r = unc_monitor_note(m, "%s is not in %s: %s; name it to count it",
					     metric->name, pattern, metric->separate);
		} else if (!uncore_metric_missing(metric)) {
			here = true;
			r = try_metric(m, metric, &unsuited);
			if (r == 0 && metric->formerly && !unc_glob_matches(name, metric->name))
				r = unc_monitor_note(m, "%s: the name is now %s", pattern,
						     metric->name);
		} else if (metric->family->pmu_count && !missing) {
			missing = uncore_metric_missing(metric);
		}
	}
	if (r == 0 && !here)
		r = fail_pattern(m, pattern, excluded, missing);
	else if (r == 0 && m->query_count == before.queries && unsuited.why.text[0])
		r = unc_fail(e, ENODEV, "%s", unsuited.why.text);
	if (r < 0)
		unc_monitor_roll_back(m, before);
	return r;
}

/* SPDX-License-Identifier: MIT */
/* What is here, what ought to be here and is not, why, and the one command that mends it. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "machine/permission.h"
#include "object.h"

/* Keeps a string that was put together, and frees it in any case; NULL stays NULL. False: out of
 * memory. */
static bool keep(struct unc_findings *f, struct unc_text *text, const char **out)
{
	bool kept = !text->failed;

	*out = NULL;
	if (kept && text->data) {
		kept = unc_names_add(&f->strings, text->data) == 0;
		if (kept)
			*out = f->strings.items[f->strings.count - 1];
	}
	unc_text_finish(text);
	return kept;
}

/* What a finding is put together from. */
struct draft {
	enum uncore_verdict verdict;
	struct unc_text subject, found, why, fix;
};

static int file_draft(struct uncore *u, struct draft *d)
{
	struct unc_findings *f = &u->findings;
	struct uncore_finding *items = reallocarray(f->items, f->count + 1, sizeof(*items));
	struct uncore_finding finding = {.verdict = d->verdict};
	bool kept = items;

	if (items)
		f->items = items;
	kept &= keep(f, &d->subject, &finding.subject);
	kept &= keep(f, &d->found, &finding.found);
	kept &= keep(f, &d->why, &finding.why);
	kept &= keep(f, &d->fix, &finding.fix);
	if (!kept)
		return unc_nomem(&u->error);
	items[f->count++] = finding;
	return 0;
}

/* PMUs of the family that cannot be counted; `why` is what is wrong with the first. */
static size_t count_broken(const struct unc_family *family, struct unc_error *why)
{
	size_t broken = 0;

	for (size_t i = 0; i < family->pmu_count; i++) {
		struct unc_error e = {0};

		for (size_t k = 0; !e.text[0] && k < family->metric_count; k++)
			unc_metric_broken_on(&family->metrics[k], family->pmus[i], &e);
		if (e.text[0] && !broken++)
			*why = e;
	}
	return broken;
}

static int find_family(struct uncore *u, const struct unc_family *family)
{
	struct draft d = {.verdict = UNCORE_VERDICT_OK};
	struct unc_error why = {0};
	size_t metrics = 0, broken = count_broken(family, &why);

	for (size_t i = 0; i < family->metric_count; i++)
		metrics += !uncore_metric_missing(&family->metrics[i]);
	unc_text_add(&d.subject, "%s", family->name);
	unc_text_add(&d.found, "%s: %zu PMU%s, %zu metric%s", family->title, family->pmu_count,
		     family->pmu_count == 1 ? "" : "s", metrics, metrics == 1 ? "" : "s");
	if (broken) {
		d.verdict = UNCORE_VERDICT_MISSING;
		unc_text_add(&d.found, "; %zu PMU%s cannot be counted", broken,
			     broken == 1 ? "" : "s");
		unc_text_add(&d.why, "%s", why.text);
	}
	return file_draft(u, &d);
}

/* ---- families that ought to be here ---- */

/* True when something below the root matches the glob (in its last part only). */
static bool path_exists(const struct unc_root *root, const char *glob)
{
	const char *slash = strrchr(glob, '/');
	struct unc_names names = {0};
	bool found = false;
	char *dir;

	if (!slash)
		return unc_root_exists(root, glob);
	dir = strndup(glob, (size_t)(slash - glob));
	if (dir && unc_root_list(root, dir, &names) == 0)
		for (size_t i = 0; i < names.count && !found; i++)
			found = unc_glob_matches(slash + 1, names.items[i]);
	unc_names_finish(&names);
	free(dir);
	return found;
}

static const struct unc_expectation *expected(const struct uncore *u, const struct unc_family *f)
{
	for (size_t i = 0; i < f->expectation_count; i++) {
		const struct unc_expectation *x = &f->expectations[i];

		if (x->on_this_cpu || (x->path && path_exists(u->root, x->path)))
			return x;
	}
	return NULL;
}

static bool module_loaded(const struct uncore *u, const char *module)
{
	char path[256];
	size_t len = strlen(module);

	if (len > 128)
		return false;
	memcpy(path, "sys/module/", 11);
	memcpy(path + 11, module, len + 1);
	return unc_root_exists(u->root, path);
}

static int find_missing(struct uncore *u, const struct unc_family *family,
			const struct unc_expectation *x)
{
	struct draft d = {.verdict = UNCORE_VERDICT_MISSING};

	unc_text_add(&d.subject, "%s", family->name);
	unc_text_add(&d.found, "%s: no PMU named %s, though this machine (%s) has the hardware",
		     family->title, family->patterns[0].name, u->topology.cpu_model);
	if (u->topology.hypervisor[0]) {
		unc_text_add(&d.why,
			     "this is a guest of %s: the counters usually belong to the host, and "
			     "most drivers do not start in a guest (%s is %sloaded)",
			     u->topology.hypervisor, x->module,
			     module_loaded(u, x->module) ? "" : "not ");
		unc_text_add(&d.fix, "run uncore on the host");
	} else if (!module_loaded(u, x->module)) {
		unc_text_add(&d.why, "the driver %s is not loaded", x->module);
		unc_text_add(&d.fix, "sudo modprobe %s", x->module);
	} else {
		unc_text_add(&d.why,
			     "the driver %s is loaded but registered no such PMU: this kernel does "
			     "not know this model, or the firmware hides the counters",
			     x->module);
		unc_text_add(&d.fix, "sudo dmesg | grep -i -e uncore -e pmu   # then ");
		if (x->since)
			unc_text_add(&d.fix, "a kernel of version %s or newer", x->since);
		else
			unc_text_add(&d.fix, "try a newer kernel");
	}
	return file_draft(u, &d);
}

/* ---- permission ---- */

static void lower_level(struct draft *d)
{
	unc_text_add(&d->why,
		     "%slevels above 2 are a distribution's own, and Debian's kernels "
		     "want CAP_SYS_ADMIN for them",
		     d->why.len ? "; " : "");
	unc_text_add(&d->fix, "sudo sysctl kernel.perf_event_paranoid=2");
}

static void explain_denial(struct draft *d, const struct unc_permission *p)
{
	d->verdict = UNCORE_VERDICT_DENIED;
	if (p->in_user_namespace) {
		unc_text_add(&d->why, "this process is in a user namespace (a container without "
				      "root of the host), and what it is privileged to there does "
				      "not reach perf events");
		unc_text_add(&d->fix, "sudo sysctl kernel.perf_event_paranoid=0   # on the host; "
				      "or run uncore there");
		return;
	}
	unc_text_add(&d->why, "counting system-wide needs %s, or perf_event_paranoid at 0 or below",
		     p->before_perfmon ? "CAP_SYS_ADMIN" : "CAP_PERFMON");
	if (p->level > 2 && !p->before_perfmon) {
		lower_level(d);
		unc_text_add(&d->fix, " && ");
	}
	unc_text_add(&d->fix, "sudo setcap %s=ep \"$(command -v uncore)\"",
		     p->before_perfmon ? "cap_sys_admin" : "cap_perfmon");
}

static int find_permission(struct uncore *u)
{
	struct draft d = {.verdict = UNCORE_VERDICT_OK};
	struct unc_permission p;

	if (u->sim || u->regs || !unc_root_is_live(u->root))
		return 0;
	unc_permission_read(&p, u->root);
	if (!p.level_known)
		return 0;
	unc_text_add(&d.subject, "permission");
	unc_text_add(&d.found, "perf_event_paranoid is %ld, this process has %s", p.level,
		     p.held ? p.held : "neither CAP_PERFMON nor CAP_SYS_ADMIN");
	if (p.filtered)
		unc_text_add(&d.found, ", and a seccomp filter, which may forbid to count");
	if (!unc_permission_granted(&p)) {
		explain_denial(&d, &p);
	} else if (unc_permission_doubtful(&p)) {
		d.verdict = UNCORE_VERDICT_NOTE;
		lower_level(&d);
	}
	return file_draft(u, &d);
}

/* ---- what else is there ---- */

static bool is_stranger(const struct uncore_pmu *pmu)
{
	return !pmu->is_core && !pmu->family && !pmu->broken;
}

static int find_broken(struct uncore *u, const struct uncore_pmu *pmu)
{
	struct draft d = {.verdict = UNCORE_VERDICT_MISSING};

	unc_text_add(&d.subject, "%s", pmu->name);
	unc_text_add(&d.found, "it cannot be counted");
	unc_text_add(&d.why, "%s", pmu->broken);
	return file_draft(u, &d);
}

static size_t count_strangers(const struct uncore *u)
{
	size_t count = 0;

	for (size_t i = 0; i < u->pmus.count; i++)
		count += is_stranger(&u->pmus.items[i]);
	return count;
}

static int find_strangers(struct uncore *u, size_t count)
{
	struct draft d = {.verdict = UNCORE_VERDICT_NOTE};
	const struct uncore_pmu *first = u->pmus.items;

	while (!is_stranger(first))
		first++;
	unc_text_add(&d.subject, "other PMUs");
	unc_text_add(&d.found, "%zu PMU%s without metrics, such as %s", count,
		     count == 1 ? "" : "s", first->name);
	unc_text_add(&d.why, "no family of the catalogue describes them");
	unc_text_add(&d.fix,
		     "uncore list pmus   # their events can be counted: uncore stat -e %s/.../",
		     first->name);
	return file_draft(u, &d);
}

/* ---- ceilings ---- */

static bool counts_memory(const struct uncore *u)
{
	for (size_t i = 0; i < u->catalogue.metric_count; i++)
		if (strncmp(u->catalogue.metrics[i]->name, "memory.", 7) == 0 &&
		    !uncore_metric_missing(u->catalogue.metrics[i]))
			return true;
	return false;
}

static int find_memory(struct uncore *u)
{
	const struct uncore_memory *m = uncore_memory_get(u);
	struct draft d = {.verdict = UNCORE_VERDICT_OK};
	bool told = m->channels && u->memory_peak <= 0;
	long hundredths;

	if (m->why && !counts_memory(u))
		return 0;
	unc_text_add(&d.subject, "memory peak");
	if (m->why) {
		d.verdict = UNCORE_VERDICT_NOTE;
		unc_text_add(&d.found, "not known, so no value is held against it");
		unc_text_add(&d.why, "%s", m->why);
		unc_text_add(&d.fix, "uncore --memory-peak RATE ...   # of one socket, such as "
				     "307.2GB/s: channels x MT/s x 8 bytes");
		return file_draft(u, &d);
	}
	/* Whole numbers: others are not printed through the locale. */
	if (told)
		unc_text_add(&d.found, "%u channel%s of %lu bits x %lu MT/s%s = ", m->channels,
			     m->channels == 1 ? "" : "s",
			     lround(m->peak * 8 / (m->channels * m->transfers * 1e6)),
			     lround(m->transfers), m->rated ? " (as rated)" : "");
	hundredths = lround(fmin(m->peak / 1e7, 1e15));
	unc_text_add(&d.found, "%ld.%02ld GB/s per socket (%s)", hundredths / 100, hundredths % 100,
		     m->from);
	return file_draft(u, &d);
}

static int find_nothing(struct uncore *u)
{
	struct draft d = {.verdict = UNCORE_VERDICT_MISSING};

	unc_text_add(&d.subject, "uncore PMUs");
	unc_text_add(&d.found, "none on this machine (%s)", u->topology.cpu_model);
	if (u->topology.hypervisor[0]) {
		unc_text_add(&d.why,
			     "this is a guest of %s: the counters outside the cores belong to the "
			     "host",
			     u->topology.hypervisor);
		unc_text_add(&d.fix, "run uncore on the host");
	} else {
		unc_text_add(&d.why,
			     "no family of the catalogue expects one on this CPU model, and "
			     "no driver has registered one");
		unc_text_add(&d.fix, "ls /sys/bus/event_source/devices");
	}
	return file_draft(u, &d);
}

int uncore_diagnose(struct uncore *u)
{
	const struct unc_catalogue *c = &u->catalogue;
	size_t strangers = count_strangers(u), uncore = strangers, missing = 0;
	int r;

	unc_findings_finish(&u->findings);
	r = find_permission(u);
	for (size_t i = 0; r == 0 && i < c->family_count; i++) {
		const struct unc_family *f = c->families[i];
		const struct unc_expectation *x;

		if (f->pmu_count) {
			uncore += !f->everywhere;
			r = find_family(u, f);
			continue;
		}
		x = u->regs ? NULL : expected(u, f); /* then only the block was looked for */
		if (!x)
			continue;
		missing++;
		r = find_missing(u, f, x);
	}
	for (size_t i = 0; r == 0 && i < u->pmus.count; i++)
		if (u->pmus.items[i].broken && !u->pmus.items[i].family)
			r = find_broken(u, &u->pmus.items[i]);
	if (r == 0 && !u->regs)
		r = find_memory(u);
	if (r == 0 && strangers)
		r = find_strangers(u, strangers);
	if (r == 0 && !uncore && !missing)
		r = find_nothing(u);
	return r;
}

size_t uncore_finding_count(const struct uncore *u)
{
	return u->findings.count;
}

const struct uncore_finding *uncore_finding_at(const struct uncore *u, size_t i)
{
	return &u->findings.items[i];
}

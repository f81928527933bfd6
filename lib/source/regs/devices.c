/* SPDX-License-Identifier: MIT */
/* Finds the devices of a register block on this machine, and makes PMUs of their instances. */
#include "source/regs/regs.h"

#define PCI_DEVICES "sys/bus/pci/devices"

/* ---- the block, and the place that the user gives ---- */

int unc_regs_load(struct unc_regs **out, const char *spec, struct unc_error *e)
{
	const char *at = unc_is_file(spec) ? NULL : strstr(spec, ",at=");
	struct unc_yaml_file *file = NULL;
	struct unc_regs *r = NULL;
	char *name = at ? strndup(spec, (size_t)(at - spec)) : strdup(spec);
	int err = name ? unc_load_named(&file, name, unc_embedded_blocks, unc_embedded_blocks_count,
					"register block", e)
		       : unc_nomem(e);

	free(name);
	if (err == 0)
		err = unc_regs_parse(&r, file, e);
	if (!r)
		return err;
	if (at && !at[4])
		err = unc_fail(e, EINVAL, "%s: 'at=' must be followed by a path", spec);
	else if (at && r->space == UNC_SPACE_MSR)
		err = unc_fail(e, EINVAL,
			       "%s: MSRs are read from their CPU; there is no other place", spec);
	else if (at) {
		r->where = unc_yaml_keep(r->file, strdup(at + 4));
		err = r->where ? 0 : unc_nomem(e);
	}
	if (err < 0)
		unc_regs_free(r);
	else
		*out = r;
	return err;
}

/* ---- devices ---- */

/* Adds a device, unless its registers would not be aligned. Copies `path`. */
static int add_device(struct unc_regs *r, const char *path, uint64_t offset, int cpu,
		      struct unc_error *e)
{
	const struct unc_regs_device d = {strdup(path), offset, cpu, false};

	if (!d.path || UNC_ADD(&r->devices, &r->device_count, &d) < 0) {
		free(d.path);
		return unc_nomem(e);
	}
	if (offset % r->bytes)
		return unc_fail(e, EINVAL,
				"%s: it would begin at byte 0x%llx of %s, and registers of %u "
				"bits begin at multiples of %u",
				r->name, (unsigned long long)offset, path, r->bytes * 8, r->bytes);
	return 0;
}

/* Adds the file of "PATH" or "PATH@OFFSET". */
static int add_file(struct unc_regs *r, const struct unc_root *root, struct unc_error *e)
{
	const char *place = r->where ? r->where : r->map_file, *mark = strrchr(place, '@');
	char *path = mark ? strndup(place, (size_t)(mark - place)) : strdup(place), *whole = NULL;
	uint64_t offset = 0;
	int err;

	if (!path)
		return unc_nomem(e);
	/* The user's relative path begins in the working directory, not in the root. */
	if (r->where && unc_root_is_live(root))
		whole = realpath(path, NULL);
	if (mark && unc_parse_u64(mark + 1, &offset) < 0)
		err = unc_fail(e, EINVAL,
			       "'%s' is not a valid offset: decimal or 0x hexadecimal; behind a "
			       "path with an @ of its own write @0",
			       mark + 1);
	else
		err = add_device(r, whole ? whole : path, offset, -1, e);
	free(whole);
	free(path);
	return err;
}

/* Adds the PCI devices with this address, or with these ids ("10ee:9038"). */
static int add_pci(struct unc_regs *r, const struct unc_root *root,
		   const struct unc_topology *topology, struct unc_error *e)
{
	char file[32] = "config";
	struct unc_names names = {0};
	int err = unc_root_list(root, PCI_DEVICES, &names) == -ENOMEM ? unc_nomem(e) : 0;

	if (r->space != UNC_SPACE_PCI)
		snprintf(file, sizeof(file), "resource%llu", (unsigned long long)r->bar);
	for (size_t i = 0; err == 0 && i < names.count; i++) {
		const char *name = names.items[i];
		char ids[48];
		size_t same = 0;
		int cpu = -1, node;

		snprintf(ids, sizeof(ids), "%04x:%04x",
			 (unsigned)unc_root_read_int(root, UNC_PATH(PCI_DEVICES "/%s/vendor", name),
						     UINT16_MAX, -1),
			 (unsigned)unc_root_read_int(root, UNC_PATH(PCI_DEVICES "/%s/device", name),
						     UINT16_MAX, -1));
		while (ids[same] && unc_lower(r->map_pci[same]) == ids[same])
			same++;
		if ((r->map_pci[same] || ids[same]) && strcmp(name, r->map_pci) != 0)
			continue;
		/* The first online CPU of the device's node reads it. */
		node = unc_root_read_int(root, UNC_PATH(PCI_DEVICES "/%s/numa_node", name), INT_MAX,
					 -1);
		for (size_t k = topology->cpu_count; k-- > 0;)
			if (topology->cpus[k].online && node >= 0 && topology->cpus[k].node == node)
				cpu = topology->cpus[k].id;
		err = add_device(r, UNC_PATH(PCI_DEVICES "/%s/%s", name, file), 0, cpu, e);
		if (err == 0)
			r->devices[r->device_count - 1].placed =
				unc_topology_node_socket(topology, node) >= 0;
	}
	unc_names_finish(&names);
	return err;
}

/* ---- PMUs ---- */

/* Chooses the CPUs that read an instance. MSRs belong to a socket, so one CPU of each socket reads
 * them. Another device is read by a CPU of its node. */
static int set_cpus(const struct unc_regs *r, const struct unc_topology *t,
		    const struct unc_regs_device *d, struct uncore_pmu *p)
{
	p->cpus.ids = calloc(t->cpu_count + 1, sizeof(*p->cpus.ids));
	if (!p->cpus.ids)
		return -ENOMEM;
	p->has_mask = true;
	p->anywhere = r->space != UNC_SPACE_MSR && !d->placed;
	for (size_t i = 0; i < t->cpu_count; i++) {
		const struct uncore_cpu *cpu = &t->cpus[i];
		bool seen = !cpu->online || (d->cpu >= 0 && cpu->id != d->cpu);

		for (size_t k = 0; k < p->cpus.count; k++)
			seen = seen || r->space != UNC_SPACE_MSR ||
			       unc_topology_socket(t, p->cpus.ids[k]) == cpu->socket;
		if (!seen)
			p->cpus.ids[p->cpus.count++] = cpu->id;
	}
	return 0;
}

/* Adds a term for some bits of a configuration word, with a `format` like the kernel's. */
static int add_term(struct uncore_pmu *p, const char *name, int word, uint64_t bits)
{
	struct uncore_term term = {.name = name, .word = word, .bits = bits};
	struct unc_text format = {0};
	char before = ':';

	unc_text_add(&format, "config%.0d", word);
	for (int low = 0, high; low < 64; low = high + 1) {
		high = low;
		if (!(bits >> low & 1))
			continue;
		while (high < 63 && bits >> (high + 1) & 1)
			high++;
		unc_text_add(&format, "%c%d", before, low);
		before = ',';
		if (high > low)
			unc_text_add(&format, "-%d", high);
	}
	term.format = unc_names_take(&p->strings, unc_text_take(&format));
	return term.format ? UNC_ADD(&p->terms, &p->term_count, &term) : -ENOMEM;
}

/* Adds a field that events may not set. A field with a use, such as the bits that clear counters,
 * is set when it is needed. */
static int add_fixed(const struct unc_regs *r, struct uncore_pmu *p, const struct unc_regs_field *f)
{
	static const enum unc_field_purpose clears[] = {UNC_PURPOSE_CLEAR, UNC_PURPOSE_RESET};
	struct unc_text text = {0};
	bool any = false;

	unc_text_add(&text, "%s: %s", f->name,
		     f->purpose != UNC_PURPOSE_NONE ? "it is set when counting needs it"
		     : f->access == UNC_ACCESS_WO   ? "it is write-only"
		     : f->access == UNC_ACCESS_RO   ? "it is read-only"
						    : "it is not in an event's register");
	for (size_t i = 0; i < 2; i++) {
		const struct unc_regs_field *use = r->use[clears[i]];

		if (f->purpose == UNC_PURPOSE_NONE && f->access == UNC_ACCESS_WO && use)
			unc_text_add(&text, "%s%s", any ? " and " : "; counters are cleared with ",
				     use->name);
		any = any || use;
	}
	return unc_names_take(&p->fixed, unc_text_take(&text)) ? 0 : -ENOMEM;
}

/* Adds the fields that events may set, under the document's names and under the names that the
 * kernel's driver would use. */
static int add_fields(const struct unc_regs *r, struct uncore_pmu *p,
		      const struct unc_regs_control *c, int word, unsigned shift)
{
	static const char *const usual[UNC_PURPOSES] = {[UNC_PURPOSE_EVENT] = "event",
							[UNC_PURPOSE_UMASK] = "umask",
							[UNC_PURPOSE_EDGE] = "edge",
							[UNC_PURPOSE_THRESHOLD] = "thresh"};
	int err = 0;

	for (const struct unc_regs_field *f = c->fields; err == 0 && f < c->fields + c->count;
	     f++) {
		const char *name = usual[f->purpose];

		if (f->access != UNC_ACCESS_RW || f->purpose == UNC_PURPOSE_ENABLE ||
		    (word == UNC_REGS_FILTER_WORD && f->purpose != UNC_PURPOSE_FILTER)) {
			err = add_fixed(r, p, f);
			continue;
		}
		if (name && strcmp(name, f->name) != 0)
			err = add_term(p, name, word, f->bits << shift);
		if (err == 0)
			err = add_term(p, f->name, word, f->bits << shift);
	}
	return err;
}

/* Adds the terms of programmable counters. Each other counter is an event; its configuration is its
 * number, from 1. */
static int set_events(const struct unc_regs *r, struct uncore_pmu *p)
{
	int err = add_fields(r, p, &r->select, UNC_REGS_SELECT_WORD, 0);

	for (size_t i = 0; err == 0 && r->select.at && i < r->control_count; i++)
		err = add_fields(r, p, &r->controls[i], UNC_REGS_FILTER_WORD,
				 r->controls[i].filter > 0 ? 32 : 0);
	if (err == 0 && r->select.at && r->overflow)
		err = add_term(p, "after", UNC_REGS_AFTER_WORD, UINT64_MAX >> (64 - r->narrowest));
	if (err == 0)
		err = add_term(p, "counter", UNC_REGS_COUNTER_WORD, 0xffff);
	for (size_t i = 0; err == 0 && i < r->count; i++) {
		const struct unc_regs_counter *c = &r->counters[i];
		struct uncore_alias a = {.name = c->name, .scale = 1};

		if (c->programmable)
			continue;
		a.terms = unc_names_take(&p->strings, strdup(UNC_PATH("counter=%zu", i + 1)));
		a.unit = c->role == UNC_ROLE_BYTES ? "B" : NULL;
		err = a.terms ? UNC_ADD(&p->aliases, &p->alias_count, &a) : -ENOMEM;
	}
	return err;
}

/* Reads the bounds of the histogram's bins if the file leaves them to registers. They must be the
 * same in all instances. If they are not set yet, only the bins are refused: other counters can be
 * read. */
static int read_thresholds(struct unc_regs *r, const struct unc_root *root,
			   const struct unc_pmus *pmus, struct unc_error *e)
{
	struct unc_histogram *h = &r->histogram;
	struct unc_error *wrong = &r->bins_refused;
	int err = 0;

	for (size_t i = 0; err == 0 && i < pmus->count; i++) {
		const struct uncore_pmu *p = &pmus->items[i];
		const struct uncore_counter c = {.pmu = p,
						 .cpu = p->cpus.count ? p->cpus.ids[0] : 0};
		struct unc_regs_io io;

		err = unc_regs_io_open(&io, r, root, &c, false, e);
		for (size_t k = 1; err == 0 && k < h->count; k++) {
			uint64_t value = 0;

			err = unc_regs_io_load(&io, unc_regs_threshold(r, k), &value);
			if (err < 0)
				unc_fail(e, -err, "%s: the threshold of bin %zu cannot be read: %s",
					 p->name, k, unc_errno_text(err));
			else if (i && (double)value != h->lower[k])
				err = unc_fail(
					wrong, EINVAL,
					"%s: the threshold of bin %zu is %llu, and that of %s "
					"is %llu: the bins of all must be the same",
					p->name, k, (unsigned long long)value, pmus->items[0].name,
					(unsigned long long)h->lower[k]);
			else if (value >> 53 || (double)value <= h->lower[k - 1])
				err = unc_fail(
					wrong, EINVAL,
					"%s: the thresholds of its bins do not ascend: %llu is "
					"that of bin %zu; they may not be set yet",
					p->name, (unsigned long long)value, k);
			h->lower[k] = (double)value;
		}
		unc_regs_io_close(&io);
	}
	if (err == 0 && !unc_regs_set_middles(r))
		err = unc_fail(wrong, EINVAL,
			       "%s: 'last' lies below the last bin, which begins at %llu", r->name,
			       (unsigned long long)h->lower[h->count - 1]);
	if (!wrong->text[0])
		return err;
	for (size_t k = 0; k < h->count; k++)
		h->lower[k] = (double)k;
	return 0;
}

int unc_regs_scan(struct unc_regs *r, const struct unc_root *root,
		  const struct unc_topology *topology, struct unc_pmus *out, struct unc_error *e)
{
	size_t before = strcspn(r->pmu, "{"), count;
	struct unc_pmus pmus = {0};
	int err;

	unc_regs_forget_devices(r);
	r->bins_refused.text[0] = '\0';
	/* Another CPU model has other registers with the same numbers. */
	if (r->models && !unc_has_word(r->models, topology->cpu_model))
		return unc_fail(e, ENODEV,
				"%s: %s: only the CPU models %s have it, and this one is %s, "
				"where its registers may have another meaning",
				r->name, r->title, r->models, topology->cpu_model);
	if (r->space == UNC_SPACE_MSR)
		err = add_device(r, "MSRs", 0, -1, e);
	else if (r->where || r->map_file)
		err = add_file(r, root, e);
	else if (r->map_pci)
		err = add_pci(r, root, topology, e);
	else
		err = unc_fail(e, EINVAL,
			       "the block %s does not say where it is: add ',at=PATH' to the "
			       "source, or a 'map' to the file",
			       r->name);
	if (err < 0)
		return err;
	count = r->device_count * r->instances;
	if (!count)
		return unc_fail(e, ENODEV, "%s: there is no device '%s' on this machine", r->name,
				r->map_pci);
	pmus.items = calloc(count, sizeof(*pmus.items));
	pmus.vendor = calloc(1, sizeof(*pmus.vendor));
	if (!pmus.items || !pmus.vendor) {
		unc_pmus_finish(&pmus);
		return unc_nomem(e);
	}
	pmus.vendor->topology = topology;
	for (size_t unit = 0; unit < count; unit++) {
		struct uncore_pmu *p = &pmus.items[pmus.count++];

		p->name = strdup(
			UNC_PATH("%.*s%zu%s", (int)before, r->pmu, unit, strchr(r->pmu, '}') + 1));
		p->root = root;
		p->error = e;
		p->unit = unit;
		p->no_files = true;
		/* The vendor's names of events are codes for programmable counters. */
		p->vendor = r->select.at ? pmus.vendor : NULL;
		if (!p->name || set_cpus(r, topology, &r->devices[unit / r->instances], p) < 0 ||
		    set_events(r, p) < 0) {
			unc_pmus_finish(&pmus);
			return unc_nomem(e);
		}
	}
	err = r->thresholds_at && !r->bounds_written ? read_thresholds(r, root, &pmus, e) : 0;
	if (err < 0)
		unc_pmus_finish(&pmus);
	else
		*out = pmus;
	return err;
}

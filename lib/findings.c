/* SPDX-License-Identifier: MIT */
#include "findings.h"

int unc_finding_add(struct uncore *u, struct unc_draft *d)
{
	struct unc_findings *f = &u->findings;
	struct unc_text *const texts[] = {&d->found, &d->why, &d->fix};
	const char *kept[3] = {NULL}, *subject = unc_names_take(&f->strings, strdup(d->subject));
	struct uncore_finding finding;
	bool failed = !subject;

	for (size_t i = 0; i < 3; i++) {
		bool empty = !texts[i]->data && !texts[i]->failed;

		kept[i] = empty ? NULL : unc_names_take(&f->strings, unc_text_take(texts[i]));
		failed |= !empty && !kept[i];
	}
	finding = (struct uncore_finding){d->verdict, subject, kept[0], kept[1], kept[2]};
	return failed || UNC_ADD(&f->items, &f->count, &finding) < 0 ? unc_nomem(&u->error) : 0;
}

/* SPDX-License-Identifier: MIT */
/* What other commands and outputs show of a command. */
#ifndef CLI_DOCUMENTS_H
#define CLI_DOCUMENTS_H

#include "base/buffer.h"
#include "base/cli.h"
#include "base/json.h"

json_t *topo_document(struct uncore *u);
/* That of topo, and that of doctor after uncore_diagnose(), for pages. */
json_t *machine_document(struct uncore *u);

/* A finding as text, for doctor and the overview. */
void doctor_finding(const struct uncore_finding *f, const struct uncore_finding *next,
		    struct buffer *to);

/* Formula, events, evidence and verdicts of metrics as text, for explain and top. */
void explain_text(const struct cli *cli, const struct uncore_metric **metrics, size_t count,
		  struct buffer *to);

#endif

/* SPDX-License-Identifier: MIT */
/* What other commands and outputs show of a command. */
#ifndef CLI_DOCUMENTS_H
#define CLI_DOCUMENTS_H

#include "base/buffer.h"
#include "base/cli.h"
#include "base/json.h"

/* The documents of topo, and of doctor after uncore_diagnose(). */
json_t *topo_document(struct uncore *u);
json_t *doctor_document(struct uncore *u);
/* Both, for pages. */
json_t *machine_document(struct uncore *u);

/* A finding as text, for doctor and the overview. */
void doctor_finding(const struct uncore_finding *f, const struct uncore_finding *next,
		    struct buffer *to);

/* Formula, events, evidence and verdicts of metrics as text, for explain and top. */
void explain_text(const struct cli *cli, const struct uncore_metric **metrics, size_t count,
		  struct buffer *to);

#endif

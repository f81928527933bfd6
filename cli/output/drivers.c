/* SPDX-License-Identifier: MIT */
#include "output/drivers.h"

#include <string.h>

#include "output/output.h"

/* The sentence for a word of a data file. The last entry has no word: it is for all other words,
 * and puts the word between `text` and `rest`. */
struct sentence {
	const char *word, *text, *rest;
};

static const struct sentence counts[] = {
	{"unknown", "It is unknown what one PMU counts.", NULL},
	{NULL, "One PMU counts one ", "."},
};

static const struct sentence cpus[] = {
	{"near", "A CPU of the cpumask is where the hardware is.", NULL},
	{"reader",
	 "A CPU of the cpumask only reads: it does not show the socket and NUMA node of the hardware.",
	 NULL},
	{"node",
	 "A CPU of the cpumask only reads: the hardware is in the NUMA node of the PMU's device.",
	 NULL},
	{NULL, "Whether a CPU of the cpumask is where the hardware is, is ", "."},
};

static const struct sentence each[] = {
	{"cpu", "Each CPU of the cpumask has a register of its own.", NULL},
	{"machine", "Any CPU of the cpumask reads the same register, and one is counted.", NULL},
	{"unknown", "It is unknown which CPUs of the cpumask read the same register.", NULL},
	{NULL,
	 "One CPU of the cpumask is counted where several read the same register: all of one ",
	 "."},
};

static const struct sentence hardware[] = {
	{"never", "Every PMU has its hardware.", NULL},
	{"possible", "PMUs may be registered for hardware that is absent or not populated.", NULL},
	{NULL, "Whether PMUs may be registered for hardware that is absent or not populated, is ",
	 "."},
};

static const struct sentence numbers[] = {
	{"none", "Names have no number of a unit.", NULL},
	{"unknown", "It is unknown within what the number in a name is unique.", NULL},
	{NULL, "The number in a name is unique within the ", "."},
};

static void put_fact(struct buffer *to, const struct sentence *s, const char *word)
{
	while (s->word && strcmp(s->word, word) != 0)
		s++;
	buffer_printf(to, "%s%s%s%s", to->len ? " " : "", s->text, s->word ? "" : word,
		      s->word ? "" : s->rest);
}

void driver_text(const struct uncore_driver *d, struct buffer *to)
{
	put_fact(to, counts, d->counts);
	put_fact(to, cpus, d->cpu);
	put_fact(to, each, d->each);
	put_fact(to, hardware, d->without_hardware);
	if (d->absent)
		buffer_printf(to, " Units %s have none%s%s%s%s.", d->absent,
			      d->where ? " where there is " : "", d->where ? d->where : "",
			      d->unless ? " unless there is " : "", d->unless ? d->unless : "");
	put_fact(to, numbers, d->number);
	if (d->pmus)
		buffer_printf(to, " (PMUs %s)", d->pmus);
}

json_t *driver_records(const struct uncore_metric *m)
{
	json_t *array = json_array();
	const struct uncore_driver *d;

	for (size_t i = 0; (d = uncore_metric_driver_at(m, i)); i++)
		json_push(array, json_record((const struct field[]){
					 {"pmus", value_text(d->pmus)},
					 {"counts", value_text(d->counts)},
					 {"cpu", value_text(d->cpu)},
					 {"each", value_text(d->each)},
					 {"without_hardware", value_text(d->without_hardware)},
					 {"absent", value_text(d->absent)},
					 {"where", value_text(d->where)},
					 {"unless", value_text(d->unless)},
					 {"number", value_text(d->number)},
					 {"evidence", value_text(d->evidence)},
					 {0},
				 }));
	return array;
}

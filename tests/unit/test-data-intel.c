/* SPDX-License-Identifier: MIT */
/*
 * The data files of Intel's PMUs, right on each generation: on machines with one PMU of each kind, as
 * the driver would register it, and on those of tests/machines. intel-words.txt says what right is.
 */
#include <errno.h>
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "data.h"

static const struct model {
	const char *name;
	int family, model;
	const char *machine; /* of tests/machines, or NULL */
	int stepping;
	const char *like; /* whose words it has, too; or NULL */
} models[] = {
	{"snbep", 6, 45, NULL, 0, NULL},
	{"ivt", 6, 62, "intel-ivt-1socket", 0, NULL},
	{"hsx", 6, 63, NULL, 0, NULL},
	{"bdx", 6, 79, NULL, 0, NULL},
	{"skx", 6, 85, "intel-skx-1socket", 0, NULL},
	{"skx", 6, 85, NULL, 4, NULL},
	{"clx", 6, 85, NULL, 7, "skx"},
	{"snr", 6, 134, NULL, 0, NULL},
	{"icx", 6, 106, "intel-icx-1socket", 0, NULL},
	{"icx", 6, 108, NULL, 0, NULL},
	{"spr", 6, 143, "intel-spr-1socket", 0, NULL},
	{"emr", 6, 207, NULL, 0, NULL},
	{"gnr", 6, 173, NULL, 0, NULL},
	{"gnr", 6, 174, NULL, 0, NULL},
	{"srf", 6, 175, NULL, 0, NULL},
	{"grr", 6, 182, NULL, 0, NULL},
	{"cwf", 6, 221, NULL, 0, NULL},
	{"dmr", 19, 1, NULL, 0, NULL},
	{"snb", 6, 42, NULL, 0, NULL},
	{"ivb", 6, 58, NULL, 0, NULL},
	{"hsw", 6, 60, NULL, 0, NULL},
	{"hsw", 6, 69, NULL, 0, NULL},
	{"hsw", 6, 70, NULL, 0, NULL},
	{"bdw", 6, 61, NULL, 0, NULL},
	{"bdw", 6, 71, NULL, 0, NULL},
	{"skl", 6, 78, NULL, 0, NULL},
	{"skl", 6, 94, NULL, 0, NULL},
	{"skl", 6, 142, NULL, 0, NULL},
	{"skl", 6, 158, NULL, 0, NULL},
	{"skl", 6, 165, NULL, 0, NULL},
	{"skl", 6, 166, NULL, 0, NULL},
	{"icl", 6, 125, NULL, 0, NULL},
	{"icl", 6, 126, NULL, 0, NULL},
	{"icl", 6, 157, NULL, 0, NULL},
	{"rkl", 6, 167, NULL, 0, NULL},
	{"tgl", 6, 140, NULL, 0, NULL},
	{"tgl", 6, 141, NULL, 0, NULL},
	{"adl", 6, 151, NULL, 0, NULL},
	{"adl", 6, 154, NULL, 0, NULL},
	{"adl", 6, 190, NULL, 0, NULL},
	{"rpl", 6, 183, NULL, 0, NULL},
	{"rpl", 6, 186, NULL, 0, NULL},
	{"rpl", 6, 191, NULL, 0, NULL},
	{"mtl", 6, 170, NULL, 0, NULL},
	{"mtl", 6, 172, NULL, 0, NULL},
	{"mtl", 6, 181, NULL, 0, NULL},
	{"arl", 6, 197, NULL, 0, NULL},
	{"arl", 6, 198, NULL, 0, NULL},
	{"lnl", 6, 189, NULL, 0, NULL},
	{"ptl", 6, 204, NULL, 0, NULL},
	{"ptl", 6, 213, NULL, 0, NULL},
	{"knl", 6, 87, NULL, 0, NULL},
	{"knl", 6, 133, NULL, 0, NULL},
};

#define SERVERS "snbep ivt hsx bdx skx snr icx spr emr gnr srf grr cwf"
#define SINCE_SPR "spr emr gnr srf grr cwf"
#define TID "tid_en=config:19 "

/* What the driver registers on them, and what the PMU's format has beside the usual or in its place. */
static const struct kind {
	const char *models, *pmu, *format;
} kinds[] = {
	{SERVERS, "uncore_imc_0", ""},
	{SERVERS, "uncore_irp_0", ""},
	{"snbep ivt skx snr icx gnr srf grr cwf", "uncore_ubox", ""},
	{"spr emr", "uncore_type_5", ""},
	{"spr emr", "uncore_mdf_0", ""},
	{"gnr srf cwf", "uncore_mdf_sbo_0", ""},
	{"gnr srf cwf", "uncore_b2upi_0", ""},
	{"gnr srf cwf", "uncore_b2hot_0", ""},
	{"snbep ivt hsx bdx", "uncore_pcu", "occ_sel=config:14-15"},
	{"skx snr icx " SINCE_SPR, "uncore_pcu", ""},
	{"snbep ivt hsx bdx", "uncore_qpi_0", "event=config:0-7,21"},
	{"skx", "uncore_upi_0", "umask=config:8-15,32-43,45-55"},
	{"icx spr emr gnr srf cwf", "uncore_upi_0", "umask=config:8-15,32-55"},
	{"snbep ivt hsx bdx", "uncore_ha_0", ""},
	{"skx", "uncore_m2m_0", ""},
	{"snr icx", "uncore_m2m_0", "umask=config:8-15,32-39"},
	{"spr emr", "uncore_m2m_0", "umask=config:8-15,32-55"},
	{"gnr srf grr cwf", "uncore_b2cmi_0", "umask=config:8-15,32-55"},
	{"spr emr gnr srf cwf", "uncore_cxlcm_0", "umask=config:8-15,32-55"},
	{"spr", "uncore_hbm_0", "umask=config:8-15,32-55"},
	{"spr emr gnr srf cwf", "uncore_cxldp_0", "umask=config:8-15,32-55"},
	{"snbep", "uncore_cbox_0", TID "filter_tid=config1:0-4 filter_opc=config1:23-31"},
	{"ivt", "uncore_cbox_0", TID "filter_tid=config1:0-4 filter_opc=config1:52-60"},
	{"hsx bdx", "uncore_cbox_0", TID "filter_tid=config1:0-5 filter_opc=config1:52-60"},
	{"skx", "uncore_cha_0",
	 "filter_rem=config1:32 filter_loc=config1:33 filter_nm=config1:36 "
	 "filter_not_nm=config1:37 filter_opc0=config1:41-50"},
	{"snr icx", "uncore_cha_0", "umask=config:8-15,32-57"},
	{SINCE_SPR, "uncore_cha_0", "umask=config:8-15,32-63"},
	{"skx", "uncore_iio_0", "ch_mask=config:36-43 fc_mask=config:44-46"},
	{"snr icx " SINCE_SPR, "uncore_iio_0", "ch_mask=config:36-47 fc_mask=config:48-50"},
	{"skx snr icx dmr " SINCE_SPR, "uncore_iio_free_running_0", ""},
	{"snr icx spr emr tgl adl rpl mtl arl lnl ptl", "uncore_imc_free_running_0", ""},
	{"snb ivb hsw bdw skl icl rkl", "uncore_imc", ""},
	{"adl rpl mtl arl lnl ptl knl dmr", "uncore_imc_0", ""},
	{"knl", "uncore_edc_eclk_0", ""},
	{"knl", "uncore_edc_uclk_0", ""},
};

/* Whether `word` is one of those in `list`, which spaces part. */
static bool among(const char *list, const char *word)
{
	size_t length = strlen(word);

	for (const char *at = list; (at = strstr(at, word)); at += length)
		if ((at == list || at[-1] == ' ') && (at[length] == ' ' || at[length] == '\0'))
			return true;
	return false;
}

static bool is_for(const char *list, const struct model *model)
{
	return among(list, model->name) || (model->like && among(list, model->like));
}

static void add_pmu(const struct tree *t, const struct kind *kind, int type)
{
	char number[16], format[300], *save, *equals;

	snprintf(number, sizeof(number), "%d\n", type);
	machine_pmu(t, kind->pmu, number, "0\n");
	snprintf(format, sizeof(format), "%s", kind->format);
	for (char *term = strtok_r(format, " ", &save); term; term = strtok_r(NULL, " ", &save)) {
		char file[64], bits[64];

		equals = strchr(term, '=');
		assert_non_null(equals);
		snprintf(file, sizeof(file), "format/%.*s", (int)(equals - term), term);
		snprintf(bits, sizeof(bits), "%s\n", equals + 1);
		tree_pmu(t, kind->pmu, file, bits);
	}
}

static struct uncore *scan_model(struct tree *t, const struct model *model)
{
	char cpuinfo[200];

	tree_make(t);
	snprintf(cpuinfo, sizeof(cpuinfo),
		 "processor\t: 0\nvendor_id\t: GenuineIntel\ncpu family\t: %d\nmodel\t\t: %d\n"
		 "stepping\t: %d\n\n",
		 model->family, model->model, model->stepping);
	tree_put(t, "proc/cpuinfo", cpuinfo);
	machine_cpus(t, (const int[]){0}, 1);
	for (size_t i = 0; i < COUNT(kinds); i++)
		if (is_for(kinds[i].models, model))
			add_pmu(t, &kinds[i], 17 + (int)i);
	return scan(t->dir);
}

/* ---- intel-words.txt -------------------------------------------------------------------------- */

/* Where reading is: names and formula of what a line with words is about. */
struct place {
	char family[64], metric[100], formula[300];
};

/* One event of "name=0x1:0x2 name=...". */
static void assert_event(const struct uncore_metric_event *event, const struct place *at,
			 const char *model, char *text)
{
	char *equals = strchr(text, '='), *end;
	uint64_t words[2] = {0, 0};

	assert_non_null(equals);
	*equals = '\0';
	words[0] = strtoull(equals + 1, &end, 16);
	if (*end == ':')
		words[1] = strtoull(end + 1, &end, 16);
	assert_int_equal(*end, '\0');
	assert_string_equal(event->name, text);
	if (event->config[0] != words[0] || event->config[1] != words[1])
		fail_msg("%s %s/%s, %s: 0x%" PRIx64 " 0x%" PRIx64, model, at->family, at->metric,
			 text, event->config[0], event->config[1]);
	assert_int_equal(event->config[2], 0);
	assert_true(event->pmu_count > 0);
}

static void assert_words(const struct uncore *u, const char *model, const struct place *at,
			 char *words)
{
	const struct uncore_metric *m = find(u, at->family, at->metric);
	size_t count = uncore_metric_event_count(m), k = 0;
	char *save;

	if (uncore_metric_missing(m))
		fail_msg("%s %s/%s: %s", model, at->family, at->metric, uncore_metric_missing(m));
	assert_string_equal(uncore_metric_formula(m), at->formula);
	for (char *w = strtok_r(words, " \n", &save); w; w = strtok_r(NULL, " \n", &save)) {
		assert_true(k < count);
		assert_event(uncore_metric_event_at(m, k++), at, model, w);
	}
	assert_int_equal(k, count);
}

/* Every line with words of this model; how many there are. On a real machine some families may have
 * no PMU. */
static size_t assert_all_words(const struct uncore *u, const struct model *model, bool real)
{
	char path[600], line[1200], *bar;
	struct place at = {{0}, {0}, {0}};
	size_t held = 0;
	FILE *f;

	f = fopen(tree_source("tests/unit/intel-words.txt", path, sizeof(path)), "r");
	assert_non_null(f);
	while (fgets(line, sizeof(line), f)) {
		if (sscanf(line, "family %63s", at.family) == 1 || line[0] == '#')
			continue;
		if (line[0] != ' ') {
			sscanf(line, "%99s", at.metric);
		} else if (line[2] == '=') {
			snprintf(at.formula, sizeof(at.formula), "%.*s",
				 (int)strcspn(line + 4, "\n"), line + 4);
		} else {
			bar = strstr(line, " | ");
			assert_non_null(bar);
			*bar = '\0';
			if (!is_for(line, model) ||
			    (real && uncore_metric_missing(find(u, at.family, at.metric))))
				continue;
			assert_words(u, model->name, &at, bar + 3);
			held++;
		}
	}
	fclose(f);
	return held;
}

/* Those of families with PMUs: a machine has no others. */
static size_t metrics_of_intel(const struct uncore *u)
{
	size_t here = 0;

	for (size_t i = 0; i < u->catalogue.metric_count; i++) {
		const struct uncore_metric *m = uncore_metric_at(u, i);

		here += strncmp(uncore_metric_family(m), "intel-", 6) == 0 &&
			!uncore_metric_missing(m);
	}
	return here;
}

/* The models have these metrics and no others. */
static void each_model(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(models); i++) {
		struct tree t;
		struct uncore *u = scan_model(&t, &models[i]);
		size_t held = assert_all_words(u, &models[i], false);

		if (held == 0 || held != metrics_of_intel(u))
			fail_msg("%s, model %d: %zu metrics, and %zu in intel-words.txt",
				 models[i].name, models[i].model, metrics_of_intel(u), held);
		uncore_free(u);
		tree_remove(&t);
	}
}

/* What the drivers themselves wrote. */
static void real_machines(void **state)
{
	size_t machines = 0;

	(void)state;
	for (size_t i = 0; i < COUNT(models); i++) {
		struct uncore *u;

		if (!models[i].machine)
			continue;
		u = scan_fixture(models[i].machine);
		assert_int_equal(assert_all_words(u, &models[i], true), metrics_of_intel(u));
		assert_true(metrics_of_intel(u) > 15);
		uncore_free(u);
		machines++;
	}
	assert_int_equal(machines, 4);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_model),
		cmocka_unit_test(real_machines),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: MIT */
/* Integrals of rates against sums of small steps, and what may never happen to a count. */
#include "source/source.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include "helpers.h"

#define SECOND UINT64_C(1000000000)
#define PI 3.14159265358979323846

static const struct unc_wave waves[] = {
	{.kind = UNC_WAVE_CONSTANT, .a = 1.8e11},
	{.kind = UNC_WAVE_SINE, .a = 1e9, .b = 5e8, .period_ns = 10 * SECOND},
	{.kind = UNC_WAVE_SINE, .a = 1e9, .b = 1e9, .period_ns = 7 * SECOND / 10},
	{.kind = UNC_WAVE_BURST, .a = 1e6, .b = 1e9, .duty = 0.25, .period_ns = 2 * SECOND},
	{.kind = UNC_WAVE_BURST, .a = 0, .b = 1e9, .duty = 1, .period_ns = 2 * SECOND},
	{.kind = UNC_WAVE_RAMP, .a = 0, .b = 1e9, .period_ns = 3 * SECOND},
	{.kind = UNC_WAVE_RAMP, .a = 5e8, .b = 1e8, .period_ns = SECOND},
};

/* The rate as the man page describes it. */
static double rate_at(const struct unc_wave *w, double seconds)
{
	double period = (double)w->period_ns / 1e9;
	double share = w->period_ns ? fmod(seconds, period) / period : 0;

	switch (w->kind) {
	case UNC_WAVE_SINE:
		return w->a + w->b * sin(2 * PI * share);
	case UNC_WAVE_BURST:
		return share < w->duty ? w->b : w->a;
	case UNC_WAVE_RAMP:
		return w->a + (w->b - w->a) * share;
	default:
		return w->a;
	}
}

static double mean_of(const struct unc_wave *w)
{
	switch (w->kind) {
	case UNC_WAVE_BURST:
		return w->b * w->duty + w->a * (1 - w->duty);
	case UNC_WAVE_RAMP:
		return (w->a + w->b) / 2;
	default:
		return w->a;
	}
}

static void check_integral(const struct unc_wave *w, uint64_t phase_ns)
{
	const int steps = 200000;
	const double step = 3.7e-5; /* 7.4 s in all, not a multiple of any period */
	double sum = 0, scale = fmax(w->a, w->b);

	for (int i = 0; i < steps; i++) {
		sum += rate_at(w, (double)phase_ns / 1e9 + (i + 0.5) * step) * step;
		if (i % 9973 != 0)
			continue;
		/* A jump of the rate within a step is placed wrongly by at most half of it. */
		double got = (double)unc_wave_integral(w, phase_ns,
						       (uint64_t)llround((i + 1) * step * 1e9));
		if (fabs(got - sum) > scale * step * 8 + 1e-6 * sum)
			fail_msg("kind %d, phase %llu, step %d: %.1f, not %.1f", (int)w->kind,
				 (unsigned long long)phase_ns, i, got, sum);
	}
}

static void integrals_agree_with_sums_of_small_steps(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(waves); i++) {
		check_integral(&waves[i], 0);
		check_integral(&waves[i], 123456789);
		check_integral(&waves[i], waves[i].period_ns * 9 / 10);
	}
}

static void whole_periods_never_drift(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(waves); i++) {
		const struct unc_wave *w = &waves[i];
		uint64_t period = w->period_ns ? w->period_ns : SECOND;
		uint64_t month = SECOND * 86400 * 30 / period * period;
		long double want = (long double)mean_of(w) * (long double)month / 1e9L;

		for (uint64_t phase = 0; phase < period; phase += period / 7) {
			long double got = unc_wave_integral(w, phase, month);

			if (fabsl(got - want) > 1e-15L * want + 1)
				fail_msg("kind %d: %.1Lf, not %.1Lf", (int)w->kind, got, want);
		}
	}
}

static void integrals_begin_at_zero_and_never_fall(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(waves); i++) {
		const struct unc_wave *w = &waves[i];
		long double last = 0;

		assert_true(unc_wave_integral(w, 345678, 0) == 0);
		for (uint64_t t = 0; t < 30 * SECOND; t += 1234567) {
			long double now = unc_wave_integral(w, 345678, t);

			if (now < last - 1e-6L)
				fail_msg("kind %d: %.9Lf after %.9Lf", (int)w->kind, now, last);
			last = now;
		}
	}
}

static void chances_are_even_and_repeat(void **state)
{
	size_t tenths[10] = {0};
	char name[32];

	(void)state;
	for (int i = 0; i < 10000; i++) {
		double c;

		snprintf(name, sizeof(name), "uncore_imc_%d", i / 10);
		c = unc_sim_chance(1, name, i % 10);
		assert_true(c >= 0 && c < 1);
		assert_true(c == unc_sim_chance(1, name, i % 10));
		tenths[(size_t)(c * 10)]++;
	}
	for (size_t i = 0; i < 10; i++)
		assert_in_range(tenths[i], 880, 1120);
	assert_true(unc_sim_chance(1, "a", 0) != unc_sim_chance(2, "a", 0));
	assert_true(unc_sim_chance(1, "a", 0) != unc_sim_chance(1, "b", 0));
	assert_true(unc_sim_chance(1, "a", 0) != unc_sim_chance(1, "a", 1));
	/* Golden results depend on it. */
	assert_true(unc_sim_chance(1, "uncore_imc_0", 0) == 0x1.98a92bd9444cep-2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(integrals_agree_with_sums_of_small_steps),
		cmocka_unit_test(whole_periods_never_drift),
		cmocka_unit_test(integrals_begin_at_zero_and_never_fall),
		cmocka_unit_test(chances_are_even_and_repeat),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}

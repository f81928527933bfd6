/* SPDX-License-Identifier: MIT */
/* Least squares with two terms: the moved amount, and the time, for the traffic of other programs.
 * In rounds of equal length the two are independent. */
#include <math.h>

#include "verify/verify.h"

/* The largest value, by which the values are scaled before they are squared. */
static double largest(const double *values, size_t count)
{
	double most = 0;

	for (size_t i = 0; i < count; i++)
		most = fmax(most, fabs(values[i]));
	return most;
}

bool verify_fit(struct verify_fit *into, const double *moved, const double *seconds,
		const double *counted, size_t count)
{
	double xmost = largest(moved, count), tmost = largest(seconds, count);
	double xx = 0, xt = 0, tt = 0, xy = 0, ty = 0, rest = 0, det, b, c;

	if (count < 4 || xmost <= 0 || tmost <= 0)
		return false;
	for (size_t i = 0; i < count; i++) {
		double x = moved[i] / xmost, t = seconds[i] / tmost, y = counted[i] / xmost;

		xx += x * x;
		xt += x * t;
		tt += t * t;
		xy += x * y;
		ty += t * y;
	}
	det = xx * tt - xt * xt;
	/* Amounts in proportion to time cannot be distinguished from the traffic of other
	 * programs. */
	if (det <= 1e-3 * xx * tt)
		return false;
	b = (xy * tt - ty * xt) / det;
	c = (ty * xx - xy * xt) / det;
	for (size_t i = 0; i < count; i++) {
		double r = (counted[i] - b * moved[i]) / xmost - c * seconds[i] / tmost;

		rest += r * r;
	}
	*into = (struct verify_fit){.slope = b,
				    .error = sqrt(rest / (double)(count - 2) * tt / det),
				    .rate = c * xmost / tmost,
				    .count = count};
	return true;
}

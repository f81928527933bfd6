/* SPDX-License-Identifier: MIT */
/* The smallest user of the library: a simulated machine, one metric, one row. */
#include <stdio.h>

#include <uncore.h>

int main(void)
{
	struct uncore *u = NULL;
	struct uncore_monitor *m = NULL;
	struct uncore_sample *s = NULL;
	int r = uncore_new(&u);

	if (r < 0)
		return 1;
	if ((r = uncore_set_source(u, "sim:skx,step=1s")) < 0 || (r = uncore_scan(u)) < 0 ||
	    (r = uncore_monitor_new(&m, u)) < 0 ||
	    (r = uncore_monitor_add_metrics(m, "memory.bandwidth")) < 0 ||
	    (r = uncore_monitor_open(m)) < 0 || (r = uncore_monitor_start(m)) < 0 ||
	    (r = uncore_sample_new(&s)) < 0 || (r = uncore_monitor_read(m, s)) < 0)
		fprintf(stderr, "%s\n", uncore_error(u));
	else
		r = uncore_sample_count(s) == 1 &&
				    uncore_sample_row(s, 0)->quality == UNCORE_MEASURED
			    ? 0
			    : -1;
	uncore_sample_free(s);
	uncore_monitor_free(m);
	uncore_free(u);
	return r < 0;
}

/* SPDX-License-Identifier: MIT */
/* The limit of open files, which sources that open one for each counter may need raised. */
#include "source/source.h"
#include <sys/resource.h>

bool unc_limit_raise(struct unc_names *notes)
{
	struct rlimit limit;
	rlim_t before;

	if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
		return false;
	before = limit.rlim_cur;
	limit.rlim_cur = limit.rlim_max;
	if (before >= limit.rlim_max || setrlimit(RLIMIT_NOFILE, &limit) != 0)
		return false;
	unc_names_add(notes,
		      UNC_PATH("raised the limit of open files from %llu to %llu",
			       (unsigned long long)before, (unsigned long long)limit.rlim_max));
	return true;
}

/* SPDX-License-Identifier: MIT */
#include "base/rights.h"

#include <linux/capability.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/cli.h"

#define INSTALLED UNCORE_PREFIX "/bin/uncore"
#define COPY UNCORE_PREFIX "/libexec/uncore/uncore"
#define KEPT "UNCORE_ENV_"

/* ld.so(8), secure-execution mode: of glibc 2.36, and MALLOC_* of others. */
static bool is_taken(const char *variable)
{
	static const char *const names[] = {
		"GCONV_PATH=",       "GETCONF_DIR=", "GLIBC_TUNABLES=", "HOSTALIASES=", "LD_",
		"LOCALDOMAIN=",      "LOCPATH=",     "MALLOC_",         "NIS_PATH=",    "NLSPATH=",
		"RESOLV_HOST_CONF=", "RES_OPTIONS=", "TMPDIR=",         "TZDIR=",
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (strncmp(variable, names[i], strlen(names[i])) == 0)
			return true;
	return false;
}

void rights_become_copy(char **argv)
{
	char self[sizeof(INSTALLED) + 1];
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self));
	size_t count = 0, kept = 0;
	char **variables;

	if (geteuid() == 0 || n != (ssize_t)strlen(INSTALLED) ||
	    memcmp(self, INSTALLED, (size_t)n) != 0 || access(COPY, X_OK) != 0 ||
	    prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_IS_SET, CAP_PERFMON, 0, 0) > 0)
		return;
	while (environ[count])
		count++;
	variables = cli_realloc(NULL, 2 * count + 1, sizeof(*variables));
	memcpy(variables, environ, count * sizeof(*variables));
	for (size_t i = 0; i < count; i++) {
		struct buffer text = {0};

		if (!is_taken(environ[i]))
			continue;
		buffer_printf(&text, KEPT "%s", environ[i]);
		variables[count + kept++] = text.data;
	}
	variables[count + kept] = NULL;
	execve(COPY, argv, variables);
	for (size_t i = 0; i < kept; i++)
		free(variables[count + i]);
	free(variables);
}

void rights_restore_environment(char **environment)
{
	for (; *environment; environment++)
		if (strncmp(*environment, KEPT, strlen(KEPT)) == 0)
			*environment += strlen(KEPT);
}

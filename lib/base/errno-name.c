/* SPDX-License-Identifier: MIT */
/* Names of the error numbers that opening and reading a counter can give. */
#include "base/errno-name.h"
#include <errno.h>
#include <stddef.h>
#include <string.h>

static const struct {
	int number;
	const char *name;
} names[] = {
	{EACCES, "EACCES"}, {EPERM, "EPERM"},   {ENOENT, "ENOENT"},
	{ENODEV, "ENODEV"}, {EINVAL, "EINVAL"}, {EOPNOTSUPP, "EOPNOTSUPP"},
	{EBUSY, "EBUSY"},   {ENOSPC, "ENOSPC"}, {EMFILE, "EMFILE"},
	{ENFILE, "ENFILE"}, {E2BIG, "E2BIG"},   {ESRCH, "ESRCH"},
	{ENOSYS, "ENOSYS"}, {ENOMEM, "ENOMEM"}, {ENXIO, "ENXIO"},
	{EIO, "EIO"},       {EAGAIN, "EAGAIN"}, {EINTR, "EINTR"},
	{EBADF, "EBADF"},   {EFAULT, "EFAULT"}, {EOVERFLOW, "EOVERFLOW"},
	{ERANGE, "ERANGE"},
};

#define NAME_COUNT (sizeof(names) / sizeof(names[0]))

const char *unc_errno_name(int err)
{
	for (size_t i = 0; i < NAME_COUNT; i++)
		if (names[i].number == err || names[i].number == -err)
			return names[i].name;
	return "an unknown error";
}

int unc_errno_number(const char *name)
{
	for (size_t i = 0; i < NAME_COUNT; i++)
		if (strcmp(names[i].name, name) == 0)
			return names[i].number;
	return 0;
}

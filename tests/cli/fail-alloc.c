/* SPDX-License-Identifier: MIT */
/* Preloaded into the command: the allocation with the number FAIL_ALLOC fails. 0: none does, and their
 * number is printed at the end. */
#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *old, size_t size);

static atomic_long allocations;

static bool fails(void)
{
	static long failing = -1;
	const char *number = getenv("FAIL_ALLOC");

	if (failing < 0)
		failing = number ? strtol(number, NULL, 10) : 0;
	if (atomic_fetch_add(&allocations, 1) + 1 != failing)
		return false;
	errno = ENOMEM;
	return true;
}

void *malloc(size_t size)
{
	return fails() ? NULL : __libc_malloc(size);
}

void *calloc(size_t count, size_t size)
{
	return fails() ? NULL : __libc_calloc(count, size);
}

void *realloc(void *old, size_t size)
{
	return fails() ? NULL : __libc_realloc(old, size);
}

void *reallocarray(void *old, size_t count, size_t size)
{
	if (__builtin_mul_overflow(count, size, &size)) {
		errno = ENOMEM;
		return NULL;
	}
	return realloc(old, size);
}

__attribute__((destructor)) static void print_count(void)
{
	const char *number = getenv("FAIL_ALLOC");
	char text[40];
	int len;

	if (!number || strtol(number, NULL, 10))
		return;
	len = snprintf(text, sizeof(text), "allocations: %ld\n", atomic_load(&allocations));
	if (write(STDERR_FILENO, text, (size_t)len) != len)
		_exit(1);
}

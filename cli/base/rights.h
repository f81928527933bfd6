/* SPDX-License-Identifier: MIT */
/* A package can let members of a group count: by a copy of the installed command that has
 * CAP_PERFMON, and that no other user may execute (docs/adr/0028-a-copy-that-may-count.md). */
#ifndef CLI_RIGHTS_H
#define CLI_RIGHTS_H

/* Goes on as the copy, if this is the installed command, its user is not root, may execute the
 * copy, and did not get the capability from its parent, which programs would lose. Returns
 * otherwise. */
void rights_become_copy(char **argv);

/* For a program that is to be executed: gives it the variables that the dynamic linker has taken
 * from a process with more rights than its user, such as LD_LIBRARY_PATH. */
void rights_restore_environment(char **environment);

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Watches the instructions of the kernel that go to the register window. */
#ifndef RIG_X86_WINDOW_H
#define RIG_X86_WINDOW_H

#include <stddef.h>
#include <stdint.h>

struct qemu_plugin_insn;

/* Watches an instruction of the kernel if it may be one of them. */
void x86_window_look(struct qemu_plugin_insn *insn, const uint8_t *code, size_t size);

/* PMON hardware has been written to: from now on modules are watched, too. */
void x86_window_driver(void);

#endif

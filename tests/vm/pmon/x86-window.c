/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Loads and stores of the kernel in the register window: the extended PCI configuration space, and
 * MMIO registers. The window is memory that QEMU and the plugin share (an NVDIMM: not the kernel's
 * RAM, so it can be mapped as registers), so the instructions run as they are. The model is asked to
 * bring the memory up to date before a load, and told after a store.
 *
 * Not every MOV of the kernel is given callbacks, only those that can be meant:
 * - in the kernel proper, the accessors of configuration space. They must use (register) and al, ax
 *   or eax, and the three widths are near each other, which is so in a few other places only;
 * - in modules, those that are first translated after PMON hardware has been written to by MSR, that
 *   is, after the driver has come: it sets up the boxes with MSRs before those with MMIO.
 * A MOV that goes elsewhere when it first runs is taken to do so always.
 */
#include "x86-window.h"
#include "pmon.h"
#include "qemu-api.h"

#include <stdlib.h>

#define MODULES UINT64_C(0xffffffffc0000000)

#define NEAR 64 /* bytes between the accessors of different widths, at most */

/* What is known of an instruction, since it was translated. */
enum state { UNKNOWN, WINDOW, ELSEWHERE };

static bool driver_is_there;

void x86_window_driver(void)
{
	driver_is_there = true;
}

/* Before it. Where it goes is not known before the first time: all of the window, then. */
static void before(unsigned vcpu, void *data)
{
	const enum state *state = data;

	(void)vcpu;
	if (*state == ELSEWHERE)
		return;
	pmon_lock();
	pmon_model->window_load(0, 0);
	pmon_unlock();
}

static void after(unsigned vcpu, qemu_plugin_meminfo_t info, uint64_t vaddr, void *data)
{
	enum state *state = data;
	struct qemu_plugin_hwaddr *where;
	uint64_t offset;

	(void)vcpu;
	if (*state == ELSEWHERE)
		return;
	where = qemu_plugin_get_hwaddr(info, vaddr);
	offset = where ? qemu_plugin_hwaddr_phys_addr(where) - PMON_WINDOW_X86 : UINT64_MAX;
	if (offset >= pmon_window_size) {
		*state = ELSEWHERE;
		return;
	}
	*state = WINDOW;
	if (!qemu_plugin_mem_is_store(info))
		return;
	pmon_lock();
	pmon_count_write();
	pmon_model->window_store(offset, 1u << qemu_plugin_mem_size_shift(info));
	pmon_unlock();
}

/* A MOV between memory and a register: 8A and 8B load, 88 and 89 store. `modrm`: its operands. */
static bool is_mov(const uint8_t *c, size_t size, bool *store, uint8_t *modrm)
{
	size_t i = 0;

	if (i < size && c[i] == 0x66)
		i++;
	if (i < size && (c[i] & 0xf0) == 0x40)
		i++;
	if (i + 1 >= size || (c[i] & 0xfc) != 0x88)
		return false;
	*store = !(c[i] & 2);
	*modrm = c[i + 1];
	return *modrm < 0xc0;
}

/* (register), without a displacement, and al, ax or eax. */
static bool is_plain(uint8_t modrm)
{
	return modrm < 8 && modrm != 4 && modrm != 5;
}

static bool is_config_accessor(uint64_t pc, bool store)
{
	static __thread GByteArray *buf;
	uint8_t op = store ? 0x88 : 0x8a;
	bool byte = false, word = false;

	buf = buf ? buf : g_byte_array_new();
	if (!qemu_plugin_read_memory_vaddr(pc - NEAR, buf, 2 * NEAR))
		return false;
	for (unsigned i = 0; i + 2 < buf->len; i++) {
		const uint8_t *c = buf->data + i;

		byte |= c[0] == op && is_plain(c[1]);
		word |= c[0] == 0x66 && c[1] == (op | 1) && is_plain(c[2]);
	}
	return byte && word;
}

void x86_window_look(struct qemu_plugin_insn *insn, const uint8_t *code, size_t size)
{
	uint64_t pc = qemu_plugin_insn_vaddr(insn);
	enum state *state;
	uint8_t modrm;
	bool store;

	if (!pmon_window || !is_mov(code, size, &store, &modrm))
		return;
	if (pc >= MODULES ? !driver_is_there : !is_plain(modrm) || !is_config_accessor(pc, store))
		return;
	state = calloc(1, sizeof(*state)); /* never freed: QEMU may keep the translation */
	if (!state)
		abort();
	if (!store)
		qemu_plugin_register_vcpu_insn_exec_cb(insn, before, QEMU_PLUGIN_CB_NO_REGS, state);
	qemu_plugin_register_vcpu_mem_cb(insn, after, QEMU_PLUGIN_CB_NO_REGS, QEMU_PLUGIN_MEM_RW,
					 state);
}

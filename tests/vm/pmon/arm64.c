/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The instructions of arm64 that reach PMON registers: loads and stores of driver modules in the
 * register window. The window is memory that QEMU and the plugin share, so the instructions run
 * as they are; the model is asked to bring the memory up to date before a load, and told after a
 * store.
 *
 * Looking at every access would be slow. readl() and readq() are a load and then DMB OSHLD,
 * writel() and writeq() DMB OSHST and then a store: only those are watched, and, as a translation
 * may end between the two, loads at the end and stores at the beginning of a translation of module
 * code.
 */
#include "pmon.h"
#include "qemu-api.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WINDOW_BASE UINT64_C(0xc0000000) /* the NVDIMM: guest RAM is 2 GiB from 1 GiB on */

/* Where the kernel puts modules when it is not told to put itself elsewhere (nokaslr). */
#define MODULES_START UINT64_C(0xffff800000000000)
#define MODULES_END UINT64_C(0xffff800080000000)

#define DMB_OSHLD 0xd50331bfu
#define DMB_OSHST 0xd50332bfu
#define DOORBELL 0xd5032ddfu /* hint #0x6e: does nothing on any machine, any program may run it */
#define NEAR 4               /* instructions between a barrier and its access, at most */

enum { N_REGS = 31 };

struct load {
	unsigned base, offset, size;
};

static struct qemu_plugin_register *regs[RIG_MAX_CPUS][N_REGS];

void arm64_vcpu_init(unsigned vcpu)
{
	GArray *all = qemu_plugin_get_registers();

	for (unsigned i = 0; i < all->len; i++) {
		const qemu_plugin_reg_descriptor *d =
			(qemu_plugin_reg_descriptor *)(void *)all->data + i;
		char name[8];

		for (int r = 0; r < N_REGS; r++) {
			snprintf(name, sizeof(name), "x%d", r);
			if (!strcmp(d->name, name))
				regs[vcpu][r] = d->handle;
		}
	}
	g_array_free(all, 1);
}

static void on_doorbell(unsigned vcpu, void *data)
{
	uint64_t result;

	(void)data;
	pmon_lock();
	result = pmon_doorbell(reg_read(regs[vcpu][0]), reg_read(regs[vcpu][1]));
	pmon_unlock();
	reg_write(regs[vcpu][0], result);
}

static void on_load(unsigned vcpu, void *data)
{
	const struct load *load = data;
	uint64_t vaddr = reg_read(regs[vcpu][load->base]) + load->offset, phys;

	if (!qemu_plugin_translate_vaddr(vaddr, &phys) || phys < WINDOW_BASE ||
	    phys - WINDOW_BASE + load->size > pmon_window_size)
		return;
	pmon_lock();
	pmon_model->window_load(phys - WINDOW_BASE, load->size);
	pmon_unlock();
}

static void on_store(unsigned vcpu, qemu_plugin_meminfo_t info, uint64_t vaddr, void *data)
{
	const unsigned *size = data;
	uint64_t phys;

	(void)vcpu;
	(void)info;
	if (!qemu_plugin_translate_vaddr(vaddr, &phys) || phys < WINDOW_BASE ||
	    phys - WINDOW_BASE + *size > pmon_window_size)
		return;
	pmon_lock();
	pmon_count_write();
	pmon_model->window_store(phys - WINDOW_BASE, *size);
	pmon_unlock();
}

/* LDR and LDAR of 4 and 8 bytes by base register; the compiler uses no others for device memory. */
static bool is_load(uint32_t insn, struct load *load)
{
	unsigned size = insn >> 30 == 3 ? 8 : 4;

	*load = (struct load){.base = insn >> 5 & 31, .size = size};
	if ((insn & 0xbfc00000) == 0xb9400000)
		load->offset = (insn >> 10 & 0xfff) * size;
	else if ((insn & 0xbffffc00) != 0x88dffc00)
		return false;
	return load->base < N_REGS;
}

/* STR of 4 and 8 bytes, with a scaled or an unscaled offset. */
static bool is_store(uint32_t insn)
{
	return (insn & 0xbfc00000) == 0xb9000000 || (insn & 0xbfe00c00) == 0xb8000000;
}

/* LDNP and STNP of programs. */
static bool is_non_temporal(const struct qemu_plugin_insn *insn, uint32_t code)
{
	return (code & 0x3b800000) == 0x28000000 && !(qemu_plugin_insn_vaddr(insn) >> 63);
}

static void hook_load(struct qemu_plugin_insn *insn, const struct load *load)
{
	/* Never freed: QEMU may keep the translation for as long as it runs. */
	struct load *kept = malloc(sizeof(*kept));

	if (!kept)
		abort();
	*kept = *load;
	qemu_plugin_register_vcpu_insn_exec_cb(insn, on_load, QEMU_PLUGIN_CB_R_REGS, kept);
}

static void hook_store(struct qemu_plugin_insn *insn, uint32_t code)
{
	static unsigned sizes[] = {4, 8};

	qemu_plugin_register_vcpu_mem_cb(insn, on_store, QEMU_PLUGIN_CB_NO_REGS, QEMU_PLUGIN_MEM_W,
					 &sizes[code >> 30 & 1]);
}

static uint32_t code_of(const struct qemu_plugin_tb *tb, size_t i)
{
	uint32_t code = 0;

	qemu_plugin_insn_data(qemu_plugin_tb_get_insn(tb, i), &code, sizeof(code));
	return code;
}

/*
 * Is there `barrier` within NEAR instructions from `i` on in steps of `step`? The edge counts as
 * one.
 */
static bool near_barrier(const struct qemu_plugin_tb *tb, size_t i, int step, uint32_t barrier)
{
	size_t n = qemu_plugin_tb_n_insns(tb);
	uint64_t vaddr = qemu_plugin_insn_vaddr(qemu_plugin_tb_get_insn(tb, i));

	for (int k = 1; k <= NEAR; k++) {
		size_t at = i + (size_t)(step * k); /* below 0 is beyond n, too */

		if (at >= n)
			return vaddr >= MODULES_START && vaddr < MODULES_END;
		if (code_of(tb, at) == barrier)
			return true;
	}
	return false;
}

void arm64_translate(struct qemu_plugin_tb *tb, void *data)
{
	size_t n = qemu_plugin_tb_n_insns(tb);

	(void)data;
	for (size_t i = 0; i < n; i++) {
		struct qemu_plugin_insn *insn = qemu_plugin_tb_get_insn(tb, i);
		uint32_t code = code_of(tb, i);
		struct load load;

		if (code == DOORBELL)
			qemu_plugin_register_vcpu_insn_exec_cb(insn, on_doorbell,
							       QEMU_PLUGIN_CB_RW_REGS, NULL);
		else if (is_load(code, &load) && near_barrier(tb, i, 1, DMB_OSHLD))
			hook_load(insn, &load);
		else if (pmon_watches_real() && is_non_temporal(insn, code))
			real_look(insn);
		else if (is_store(code) && near_barrier(tb, i, -1, DMB_OSHST))
			hook_store(insn, code);
	}
}

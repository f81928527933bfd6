/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The instructions of x86 that reach PMON registers: RDMSR, WRMSR, RDPMC, CPUID, port I/O to the PCI
 * configuration ports, and loads from the local APIC. A callback before the instruction asks the
 * model; when the register is the model's own, the instruction is stepped over. CPUID is not: a callback
 * before the instruction after it changes QEMU's answer.
 */
#include "pmon.h"
#include "qemu-api.h"
#include "x86-window.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DOORBELL 0x554e4350 /* CPUID leaf "UNCP", for programs in the guest */
#define PCI_ADDRESS 0xcf8
#define PCI_DATA 0xcfc

enum { RAX, RBX, RCX, RDX, R8, RDI, N_REGS };

#define CPUID_REGS 4
#define MAX_INSN 15

struct site {
	uint64_t next;  /* the address after the instruction */
	unsigned width; /* of port I/O, in bytes */
};

static struct qemu_plugin_register *regs[RIG_MAX_CPUS][N_REGS];
static struct {
	uint32_t leaf, sub;
} asked[RIG_MAX_CPUS];       /* of CPUID, by the kernel */
static uint32_t pci_address; /* what was last written to CF8 */

void x86_vcpu_init(unsigned vcpu)
{
	static const char *const names[N_REGS] = {"rax", "rbx", "rcx", "rdx", "r8", "rdi"};
	GArray *all = qemu_plugin_get_registers();

	for (unsigned i = 0; i < all->len; i++) {
		const qemu_plugin_reg_descriptor *d =
			(qemu_plugin_reg_descriptor *)(void *)all->data + i;

		for (int r = 0; r < N_REGS; r++)
			if (!strcmp(d->name, names[r]))
				regs[vcpu][r] = d->handle;
	}
	g_array_free(all, 1);
}

static uint64_t get(unsigned vcpu, int r)
{
	return reg_read(regs[vcpu][r]);
}

static void put(unsigned vcpu, int r, uint64_t value)
{
	reg_write(regs[vcpu][r], value);
}

/* RDMSR and RDPMC: ecx says which register, edx:eax takes its value. */
static void read_wide(unsigned vcpu, const struct site *site,
		      bool (*read)(unsigned cpu, uint32_t which, uint64_t *value))
{
	uint64_t value = 0;
	bool mine;

	if (!read)
		return;
	pmon_lock();
	mine = read(vcpu, (uint32_t)get(vcpu, RCX), &value);
	pmon_unlock();
	if (!mine)
		return;
	put(vcpu, RAX, value & UINT32_MAX);
	put(vcpu, RDX, value >> 32);
	pmon_stall();
	qemu_plugin_set_pc(site->next);
}

static bool read_msr(unsigned cpu, uint32_t msr, uint64_t *value)
{
	return rdt_rdmsr(cpu, msr, value) ||
	       (pmon_model->rdmsr && pmon_model->rdmsr(cpu, msr, value));
}

static void on_rdmsr(unsigned vcpu, void *data)
{
	read_wide(vcpu, data, read_msr);
}

static void on_rdpmc(unsigned vcpu, void *data)
{
	read_wide(vcpu, data, pmon_model->rdpmc);
}

/*
 * QEMU executes it, too, and does nothing for a register that it does not know. To step over it would leave flags that
 * QEMU has not worked out yet, from the SHR before it: with an interrupt right then, bits of the value are taken for
 * those of EFLAGS.
 */
static void on_wrmsr(unsigned vcpu, void *data)
{
	uint64_t value = get(vcpu, RDX) << 32 | (get(vcpu, RAX) & UINT32_MAX);

	uint32_t msr = (uint32_t)get(vcpu, RCX);

	(void)data;
	pmon_lock();
	if (!rdt_wrmsr(vcpu, msr, value) && pmon_model->wrmsr &&
	    pmon_model->wrmsr(vcpu, msr, value)) {
		pmon_count_write();
		x86_window_driver();
	}
	pmon_unlock();
}

/*
 * The doorbell leaves its result in r8 and lets QEMU's own CPUID run: one translation of a program
 * serves every address that it is mapped at, so there is no one address to step to. For the same
 * reason a model answers the kernel only.
 */
static void on_user_cpuid(unsigned vcpu, void *data)
{
	uint64_t result;

	(void)data;
	if ((uint32_t)get(vcpu, RAX) != DOORBELL)
		return;
	pmon_lock();
	result = pmon_doorbell(get(vcpu, RCX), get(vcpu, RBX));
	pmon_unlock();
	put(vcpu, R8, result);
}

static void on_kernel_cpuid(unsigned vcpu, void *data)
{
	(void)data;
	asked[vcpu].leaf = (uint32_t)get(vcpu, RAX);
	asked[vcpu].sub = (uint32_t)get(vcpu, RCX);
}

/* Before the next instruction: QEMU has answered. */
static void on_kernel_answer(unsigned vcpu, void *data)
{
	uint32_t r[CPUID_REGS];

	(void)data;
	for (int i = 0; i < CPUID_REGS; i++)
		r[i] = (uint32_t)get(vcpu, i);
	rdt_cpuid(asked[vcpu].leaf, asked[vcpu].sub, r);
	if (pmon_model->cpuid)
		pmon_model->cpuid(asked[vcpu].leaf, asked[vcpu].sub, r);
	for (int i = 0; i < CPUID_REGS; i++)
		put(vcpu, i, r[i]);
}

/* The kernel's function that reads a register of the local APIC: edi says which. */
static void on_apic_read(unsigned vcpu, void *data)
{
	const struct site *site = data;
	uint32_t value = 0;
	bool mine;

	if (!pmon_model->apic_read)
		return;
	pmon_lock();
	mine = pmon_model->apic_read((uint32_t)get(vcpu, RDI), &value);
	pmon_unlock();
	if (!mine)
		return;
	put(vcpu, RAX, value);
	qemu_plugin_set_pc(site->next);
}

/* Configuration space by address and data port. True: the model's own device has answered. */
static bool config_access(uint16_t port, unsigned width, bool out, uint32_t *value)
{
	unsigned offset = (pci_address & 0xfc) + (port & 3u);
	uint32_t bdf = pci_address >> 8 & 0xffff;

	if (!(pci_address >> 31))
		return false;
	if (!out)
		return pmon_model->pci_read && pmon_model->pci_read(bdf, offset, width, value);
	if (!pmon_model->pci_write || !pmon_model->pci_write(bdf, offset, width, *value))
		return false;
	pmon_count_write();
	return true;
}

static uint64_t low_bits(unsigned bytes)
{
	return bytes < 4 ? (1u << 8 * bytes) - 1 : UINT32_MAX;
}

/* QEMU writes to no device then: it has none of the model's. See on_wrmsr(). */
static void on_out(unsigned vcpu, void *data)
{
	const struct site *site = data;
	uint16_t port = (uint16_t)get(vcpu, RDX);
	uint32_t value;

	if (port < PCI_ADDRESS || port > PCI_DATA + 3)
		return;
	value = (uint32_t)(get(vcpu, RAX) & low_bits(site->width));
	pmon_lock();
	if (port == PCI_ADDRESS && site->width == 4)
		pci_address = value; /* QEMU keeps its own copy */
	if (port >= PCI_DATA)
		config_access(port, site->width, true, &value);
	pmon_unlock();
}

static void on_in(unsigned vcpu, void *data)
{
	const struct site *site = data;
	uint16_t port = (uint16_t)get(vcpu, RDX);
	uint64_t rax = get(vcpu, RAX), keep = ~low_bits(site->width);
	uint32_t value = 0;
	bool mine;

	if (port < PCI_DATA || port > PCI_DATA + 3)
		return;
	pmon_lock();
	mine = config_access(port, site->width, false, &value);
	pmon_unlock();
	if (!mine)
		return;
	if (site->width == 4)
		keep = 0; /* a 32-bit result clears the upper half */
	put(vcpu, RAX, (rax & keep) | (value & low_bits(site->width)));
	qemu_plugin_set_pc(site->next);
}

static void hook(struct qemu_plugin_insn *insn, size_t size, unsigned width,
		 void (*cb)(unsigned vcpu, void *data))
{
	/* Never freed: QEMU may keep the translation for as long as it runs. */
	struct site *site = malloc(sizeof(*site));

	if (!site)
		abort();
	*site = (struct site){.next = qemu_plugin_insn_vaddr(insn) + size, .width = width};
	qemu_plugin_register_vcpu_insn_exec_cb(insn, cb, QEMU_PLUGIN_CB_RW_REGS_PC, site);
}

static bool is_cpuid(const uint8_t *code, size_t size)
{
	return size == 2 && code[0] == 0x0f && code[1] == 0xa2;
}

static bool is_kernel(const struct qemu_plugin_insn *insn)
{
	return qemu_plugin_insn_vaddr(insn) >> 63;
}

/*
 * Only the kernel does MSR accesses, and only its port I/O is of interest: the firmware need not see
 * the model's devices. CPUID is anybody's.
 */
static void look(struct qemu_plugin_insn *insn, const uint8_t *c, size_t size)
{
	if (size == 2 && c[0] == 0x0f && c[1] == 0x32)
		hook(insn, size, 0, on_rdmsr);
	else if (size == 2 && c[0] == 0x0f && c[1] == 0x30)
		hook(insn, size, 0, on_wrmsr);
	else if (size == 2 && c[0] == 0x0f && c[1] == 0x33 && is_kernel(insn))
		hook(insn, size, 0, on_rdpmc);
	else if (is_cpuid(c, size))
		hook(insn, size, 0, is_kernel(insn) ? on_kernel_cpuid : on_user_cpuid);
	else if (!is_kernel(insn))
		return;
	else if (size == 6 && c[0] == 0x8b && c[1] == 0x87 && c[4] == 0x5f && c[5] == 0xff)
		hook(insn, size, 0, on_apic_read); /* mov eax, [rdi + where the APIC is mapped] */
	else if (size == 1 && (c[0] == 0xec || c[0] == 0xed))
		hook(insn, size, c[0] == 0xec ? 1 : 4, on_in);
	else if (size == 1 && (c[0] == 0xee || c[0] == 0xef))
		hook(insn, size, c[0] == 0xee ? 1 : 4, on_out);
	else if (size == 2 && c[0] == 0x66 && c[1] == 0xed)
		hook(insn, size, 2, on_in);
	else if (size == 2 && c[0] == 0x66 && c[1] == 0xef)
		hook(insn, size, 2, on_out);
}

/* Before the opcode: other segments, sizes and repetition. */
static bool is_prefix(uint8_t byte)
{
	return byte == 0x26 || byte == 0x2e || byte == 0x36 || byte == 0x3e ||
	       (byte >= 0x64 && byte <= 0x67) || byte == 0xf2 || byte == 0xf3;
}

/* MOVNTI, MOVNTQ and MOVNTDQ, MOVNTPS and MOVNTPD, MOVNTDQA, and their VEX forms; no other has these codes. */
static bool is_non_temporal(const uint8_t *c, size_t size)
{
	size_t i = 0;
	bool wide = false;

	for (; i < size && is_prefix(c[i]); i++)
		wide |= c[i] == 0x66;
	if (i + 2 < size && c[i] == 0xc5)
		return c[i + 2] == 0xe7 || c[i + 2] == 0x2b;
	if (i + 3 < size && c[i] == 0xc4)
		return (c[i + 1] & 0x1f) == 1 ? c[i + 3] == 0xe7 || c[i + 3] == 0x2b
					      : (c[i + 1] & 0x1f) == 2 && c[i + 3] == 0x2a;
	if (i < size && (c[i] & 0xf0) == 0x40)
		i++;
	if (i + 2 >= size || c[i] != 0x0f)
		return false;
	if (c[i + 1] == 0x38)
		return wide && c[i + 2] == 0x2a;
	return c[i + 1] == 0xc3 || c[i + 1] == 0xe7 || c[i + 1] == 0x2b;
}

void x86_translate(struct qemu_plugin_tb *tb, void *data)
{
	size_t n = qemu_plugin_tb_n_insns(tb);
	bool asks = false;

	(void)data;
	for (size_t i = 0; i < n; i++) {
		struct qemu_plugin_insn *insn = qemu_plugin_tb_get_insn(tb, i);
		size_t size = qemu_plugin_insn_size(insn);
		uint8_t code[MAX_INSN] = {0};

		qemu_plugin_insn_data(insn, code, size < sizeof(code) ? size : sizeof(code));
		if (is_kernel(insn))
			x86_window_look(insn, code, size);
		else if (pmon_watches_real() && is_non_temporal(code, size))
			real_look(insn);
		if (asks)
			hook(insn, size, 0, on_kernel_answer);
		asks = is_kernel(insn) && is_cpuid(code, size);
		look(insn, code, size);
	}
	if (asks)
		fprintf(stderr, "pmon: the answer to a CPUID at the end of a block stays QEMU's\n");
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The part of QEMU's plugin interface, version 7 (QEMU 11), that the rig uses. Debian ships no
 * header for it; these are the names and types that the program exports. So are the few of glib,
 * which QEMU brings along: the rig needs no development packages for its plugin.
 */
#ifndef RIG_QEMU_API_H
#define RIG_QEMU_API_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define QEMU_PLUGIN_EXPORT __attribute__((visibility("default")))
#define QEMU_PLUGIN_VERSION 7

typedef struct {
	char *data;
	unsigned len; /* elements */
} GArray;

typedef struct {
	uint8_t *data;
	unsigned len;
} GByteArray;

GByteArray *g_byte_array_new(void);
GByteArray *g_byte_array_set_size(GByteArray *array, unsigned length);
GByteArray *g_byte_array_append(GByteArray *array, const uint8_t *data, unsigned length);
char *g_array_free(GArray *array, int free_segment);

typedef uint64_t qemu_plugin_id_t;

typedef struct {
	const char *target_name;
	struct {
		int min, cur;
	} version;
	bool system_emulation;
	struct {
		int smp_vcpus, max_vcpus;
	} system;
} qemu_info_t;

typedef struct {
	struct qemu_plugin_register *handle;
	const char *name;
	const char *feature;
	bool is_readonly;
} qemu_plugin_reg_descriptor;

struct qemu_plugin_tb;
struct qemu_plugin_insn;
struct qemu_plugin_register;
struct qemu_plugin_hwaddr;

typedef uint32_t qemu_plugin_meminfo_t;

enum {
	QEMU_PLUGIN_CB_NO_REGS = 0,
	QEMU_PLUGIN_CB_R_REGS,
	QEMU_PLUGIN_CB_RW_REGS,
	QEMU_PLUGIN_CB_RW_REGS_PC
};
enum { QEMU_PLUGIN_MEM_R = 1, QEMU_PLUGIN_MEM_W, QEMU_PLUGIN_MEM_RW };

GArray *qemu_plugin_get_registers(void);
bool qemu_plugin_read_register(struct qemu_plugin_register *handle, GByteArray *buf);
bool qemu_plugin_write_register(struct qemu_plugin_register *handle, GByteArray *buf);
void qemu_plugin_set_pc(uint64_t vaddr) __attribute__((noreturn));

size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *tb);
struct qemu_plugin_insn *qemu_plugin_tb_get_insn(const struct qemu_plugin_tb *tb, size_t index);
size_t qemu_plugin_insn_data(const struct qemu_plugin_insn *insn, void *dest, size_t len);
size_t qemu_plugin_insn_size(const struct qemu_plugin_insn *insn);
uint64_t qemu_plugin_insn_vaddr(const struct qemu_plugin_insn *insn);

void qemu_plugin_register_vcpu_insn_exec_cb(struct qemu_plugin_insn *insn,
					    void (*cb)(unsigned vcpu, void *data), int flags,
					    void *data);
void qemu_plugin_register_vcpu_mem_cb(struct qemu_plugin_insn *insn,
				      void (*cb)(unsigned vcpu, qemu_plugin_meminfo_t info,
						 uint64_t vaddr, void *data),
				      int flags, int rw, void *data);
void qemu_plugin_register_vcpu_tb_trans_cb(qemu_plugin_id_t id,
					   void (*cb)(struct qemu_plugin_tb *tb, void *data),
					   void *data);
void qemu_plugin_register_vcpu_init_cb(qemu_plugin_id_t id, void (*cb)(unsigned vcpu, void *data),
				       void *data);

void qemu_plugin_reset(qemu_plugin_id_t id, void (*cb)(void *data), void *data);

bool qemu_plugin_read_memory_vaddr(uint64_t addr, GByteArray *data, size_t len);
bool qemu_plugin_translate_vaddr(uint64_t vaddr, uint64_t *hwaddr);
bool qemu_plugin_mem_is_store(qemu_plugin_meminfo_t info);
unsigned qemu_plugin_mem_size_shift(qemu_plugin_meminfo_t info);
struct qemu_plugin_hwaddr *qemu_plugin_get_hwaddr(qemu_plugin_meminfo_t info, uint64_t vaddr);
bool qemu_plugin_hwaddr_is_io(const struct qemu_plugin_hwaddr *haddr);
uint64_t qemu_plugin_hwaddr_phys_addr(const struct qemu_plugin_hwaddr *haddr);

#endif

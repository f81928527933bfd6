/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The frame of the plugin: arguments, the model, the lock, the doorbell.
 *
 *   -plugin pmon.so,model=ivt,cpus=4,sockets=2,ram=MIB[,window=FILE][,nodes=N]
 *           [,rmids=N[,mbm-bits=N][,mbm-cntrs=N]]
 */
#include "pmon.h"
#include "qemu-api.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

QEMU_PLUGIN_EXPORT int qemu_plugin_version = QEMU_PLUGIN_VERSION;
QEMU_PLUGIN_EXPORT int qemu_plugin_install(qemu_plugin_id_t id, const qemu_info_t *info, int argc,
					   char **argv);

struct pmon_config pmon_config = {.cpus = 1, .sockets = 1, .nodes = 1};
const struct pmon_model *pmon_model;
void *pmon_window;
size_t pmon_window_size;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t writes;
static uint64_t stall_ms;
static bool is_x86;
static qemu_plugin_id_t plugin_id;
static bool watches_real;

static const struct pmon_model *const models[] = {
	&model_ivt, &model_skx,  &model_icx,     &model_spr,   &model_gnr,
	&model_amd, &model_t410, &model_t410min, &model_grace,
};

enum {
	DB_IDENTIFY,
	DB_STEP,
	DB_RATE,
	DB_CLOCK,
	DB_RAMP,
	DB_PRESET,
	DB_WRITES,
	DB_STALL,
	DB_RDT,
	DB_REAL = 16
};

#define ARM64_RAM UINT64_C(0x40000000) /* where it begins on QEMU's "virt" */

#define IDENTITY 0x756e636f /* "unco" */
#define STALL_EVERY 29      /* reads of counters */
#define MOST_STALL_MS 900

void pmon_lock(void)
{
	pthread_mutex_lock(&lock);
}

void pmon_unlock(void)
{
	pthread_mutex_unlock(&lock);
}

unsigned pmon_socket(unsigned cpu)
{
	return cpu / (pmon_config.cpus / pmon_config.sockets);
}

unsigned pmon_node(unsigned cpu)
{
	return cpu / (pmon_config.cpus / pmon_config.sockets / pmon_config.nodes);
}

void pmon_count_write(void)
{
	writes++;
}

/* As a host that takes the CPU away from a guest, or an SMI: between two reads of counters. */
void pmon_stall(void)
{
	static uint64_t reads;
	uint64_t ms = __atomic_load_n(&stall_ms, __ATOMIC_RELAXED);
	struct timespec pause = {.tv_nsec = (long)ms * 1000000};

	if (ms && __atomic_add_fetch(&reads, 1, __ATOMIC_RELAXED) % STALL_EVERY == 0)
		nanosleep(&pause, NULL);
}

uint64_t pmon_doorbell(uint64_t command, uint64_t argument)
{
	if (command >= DB_REAL && command < DB_REAL + REAL_SETTINGS)
		real_set((enum real_setting)(command - DB_REAL), argument);
	switch (command) {
	case DB_IDENTIFY:
		return IDENTITY;
	case DB_STEP:
		traffic_step(argument);
		break;
	case DB_RATE:
		traffic_rate(argument);
		break;
	case DB_RAMP:
		traffic_ramp(argument & UINT32_MAX, argument >> 32);
		break;
	case DB_PRESET:
		boxes_preset(argument);
		break;
	case DB_WRITES:
		return writes;
	case DB_STALL:
		__atomic_store_n(&stall_ms, argument < MOST_STALL_MS ? argument : MOST_STALL_MS,
				 __ATOMIC_RELAXED);
		break;
	case DB_RDT:
		rdt_answer(argument);
		break;
	case DB_CLOCK:
	default:
		break;
	}
	return traffic_now();
}

static GByteArray *scratch(void)
{
	static __thread GByteArray *buf;

	if (!buf)
		buf = g_byte_array_new();
	g_byte_array_set_size(buf, 0);
	return buf;
}

uint64_t reg_read(struct qemu_plugin_register *reg)
{
	GByteArray *buf = scratch();
	uint64_t value = 0;

	qemu_plugin_read_register(reg, buf);
	memcpy(&value, buf->data, buf->len < sizeof(value) ? buf->len : sizeof(value));
	return value;
}

void reg_write(struct qemu_plugin_register *reg, uint64_t value)
{
	GByteArray *buf = scratch();

	g_byte_array_append(buf, (const uint8_t *)&value, sizeof(value));
	qemu_plugin_write_register(reg, buf);
}

static void vcpu_init(unsigned vcpu, void *data)
{
	(void)data;
	if (vcpu >= RIG_MAX_CPUS) {
		fprintf(stderr, "pmon: at most %d CPUs\n", RIG_MAX_CPUS);
		exit(1);
	}
	if (is_x86)
		x86_vcpu_init(vcpu);
	else
		arm64_vcpu_init(vcpu);
}

static bool is_arg(const char *arg, const char *key, const char **value)
{
	size_t n = strlen(key);

	if (strncmp(arg, key, n) != 0 || arg[n] != '=')
		return false;
	*value = arg + n + 1;
	return true;
}

static void look_at_code(void)
{
	qemu_plugin_register_vcpu_tb_trans_cb(plugin_id, is_x86 ? x86_translate : arm64_translate,
					      NULL);
}

static void look_again(void *data)
{
	(void)data;
	look_at_code();
}

bool pmon_watches_real(void)
{
	return __atomic_load_n(&watches_real, __ATOMIC_RELAXED);
}

/* The code that QEMU has translated has no callbacks for it: all of it is dropped, before the next
 * instruction but a few, and translated again as it is needed. */
void pmon_watch_real(bool watch)
{
	if (watch == watches_real)
		return;
	__atomic_store_n(&watches_real, watch, __ATOMIC_RELAXED);
	qemu_plugin_reset(plugin_id, look_again, NULL);
}

/* Arguments that are numbers. */
static bool parse_number(const char *arg)
{
	const struct {
		const char *name;
		unsigned *value;
	} numbers[] = {
		{"cpus", &pmon_config.cpus},         {"nodes", &pmon_config.nodes},
		{"sockets", &pmon_config.sockets},   {"rmids", &pmon_config.rmids},
		{"mbm-bits", &pmon_config.mbm_bits}, {"mbm-cntrs", &pmon_config.mbm_cntrs},
	};
	const char *v;

	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
		if (!is_arg(arg, numbers[i].name, &v))
			continue;
		*numbers[i].value = (unsigned)strtoul(v, NULL, 10);
		return true;
	}
	return false;
}

static int parse_args(int argc, char **argv)
{
	const char *v;

	for (int i = 0; i < argc; i++) {
		if (is_arg(argv[i], "model", &v)) {
			snprintf(pmon_config.model, sizeof(pmon_config.model), "%s", v);
		} else if (is_arg(argv[i], "ram", &v)) {
			pmon_config.ram = strtoull(v, NULL, 10) << 20;
		} else if (is_arg(argv[i], "window", &v)) {
			snprintf(pmon_config.window, sizeof(pmon_config.window), "%s", v);
		} else if (!parse_number(argv[i])) {
			fprintf(stderr,
				"pmon: unknown argument '%s': model, cpus, sockets, nodes, ram, window, rmids, "
				"mbm-bits, mbm-cntrs\n",
				argv[i]);
			return -1;
		}
	}
	if (!pmon_config.sockets || !pmon_config.nodes || !pmon_config.cpus ||
	    pmon_config.cpus % (pmon_config.sockets * pmon_config.nodes)) {
		fprintf(stderr, "pmon: %u CPUs do not divide into %u sockets with %u nodes\n",
			pmon_config.cpus, pmon_config.sockets, pmon_config.nodes);
		return -1;
	}
	if (rdt_init()) {
		fprintf(stderr, "pmon: at most 256 RMIDs and 32 counters, of 24 to 62 bits\n");
		return -1;
	}
	return 0;
}

static int find_model(void)
{
	for (size_t i = 0; i < sizeof(models) / sizeof(models[0]); i++) {
		if (models[i] && !strcmp(models[i]->name, pmon_config.model)) {
			pmon_model = models[i];
			return 0;
		}
	}
	fprintf(stderr, "pmon: no model '%s'\n", pmon_config.model);
	return -1;
}

static int map_window(void)
{
	struct stat st;
	int fd;

	if (!pmon_config.window[0])
		return 0;
	fd = open(pmon_config.window, O_RDWR | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) < 0) {
		fprintf(stderr, "pmon: %s: %s\n", pmon_config.window, strerror(errno));
		return -1;
	}
	pmon_window_size = (size_t)st.st_size;
	pmon_window = mmap(NULL, pmon_window_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	if (pmon_window == MAP_FAILED) {
		fprintf(stderr, "pmon: %s: cannot be mapped: %s\n", pmon_config.window,
			strerror(errno));
		return -1;
	}
	return 0;
}

int qemu_plugin_install(qemu_plugin_id_t id, const qemu_info_t *info, int argc, char **argv)
{
	if (parse_args(argc, argv) || find_model() || map_window())
		return -1;
	plugin_id = id;
	is_x86 = !strcmp(info->target_name, "x86_64");
	pmon_config.ram_at = is_x86 ? 0 : ARM64_RAM;
	if (pmon_model->init && pmon_model->init())
		return -1;
	qemu_plugin_register_vcpu_init_cb(id, vcpu_init, NULL);
	look_at_code();
	return 0;
}

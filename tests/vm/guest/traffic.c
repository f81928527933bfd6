/* SPDX-License-Identifier: MIT */
/*
 * Rings the doorbell of the emulated PMON hardware from inside the guest. It needs no privilege.
 *
 *   traffic step N        advance the traffic clock by N ticks
 *   traffic rate R        run it at R ticks per second from now on; 0: idle
 *   traffic ramp R MS     change the rate to R, linearly, within MS milliseconds
 *   traffic clock         print the ticks so far
 *   traffic stall MS      some reads of MSRs take so long, from the next one on: 0 ends it
 *   traffic preset N      put every counter N below its wrap
 *   traffic rdt counts|unavailable|error  what the counters of resctrl's groups answer
 *   traffic writes        print how many register writes the guest has done
 *
 * Real traffic. F is a number of thousandths.
 *
 *   traffic real nt|off   memory controllers, home agents and links count the guest's non-temporal loads and
 *                         stores, instead of the clock; both reset what is set by those below
 *   traffic background F  F thousandths of what the clock makes them count on top
 *   traffic cache KIB     each CPU's loads go through a cache of this size; 0: there is none
 *   traffic allocate on|off  stores do, too: they read the line first, and write it when it has to go
 *
 *   traffic disk NAME     ring for what /sys/block/NAME/stat says that the disk has read or written, every
 *                         millisecond until it is killed: I/O stacks and caches count that
 *   traffic at STACK PART the stack and its part that count it; at first those of the disk's root port
 *   traffic found F       this share of it is in the last-level cache, at first all
 *
 *   traffic faults memory|ports|agents|links|stacks|slices  whose counters have the faults that follow; at first memory
 *   traffic swap on|off   each socket's count the other's
 *   traffic turn on|off   reads are counted as writes, and writes as reads; of links what goes out as what comes in
 *   traffic reads on|off  writes are counted as reads
 *   traffic remote on|off what its own CPUs move is counted as that of other sockets, and the reverse
 *   traffic stray F       this share of socket 0's is counted on socket 1
 *   traffic scale SOCKET|all UNIT|all F    what channels, ports, agents or links count: 2000 twice, 0 nothing
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { IDENTIFY, STEP, RATE, CLOCK, RAMP, PRESET, WRITES, STALL, RDT };
enum {
	REAL = 16,
	BACKGROUND,
	CACHE,
	ALLOCATE,
	FAULTS,
	SWAP,
	TURN,
	READS,
	REMOTE,
	STRAY,
	SCALE,
	DISK,
	DISK_AT,
	DISK_FOUND
};

#define IDENTITY 0x756e636f

static uint64_t ring(uint64_t command, uint64_t argument)
{
#if defined(__x86_64__)
	uint64_t a = 0x554e4350, b = argument, c = command, d = 0;
	register uint64_t result __asm__("r8") = 0;

	__asm__ volatile("cpuid" : "+a"(a), "+b"(b), "+c"(c), "+d"(d), "+r"(result) : : "memory");
	return result;
#elif defined(__aarch64__)
	register uint64_t x0 __asm__("x0") = command;
	register uint64_t x1 __asm__("x1") = argument;

	__asm__ volatile("hint #0x6e" : "+r"(x0) : "r"(x1) : "memory");
	return x0;
#else
#error "there is no doorbell on this architecture"
#endif
}

static int usage(void)
{
	fprintf(stderr,
		"usage: traffic step N | rate R | ramp R MS | clock | preset N | writes | stall MS |\n"
		"               rdt counts|unavailable|error |\n"
		"               real nt|off | background F | cache KIB | allocate on|off |\n"
		"               disk NAME | at STACK PART | found F |\n"
		"               faults memory|ports|agents|links|stacks|slices | swap on|off | turn on|off | reads on|off |\n"
		"               remote on|off | stray F | scale SOCKET|all UNIT|all F\n");
	return 2;
}

static int number(const char *text, uint64_t *out)
{
	static const struct {
		const char *word;
		uint64_t value;
	} words[] = {{"off", 0},    {"on", 1},          {"nt", 1},    {"all", 255},  {"memory", 1},
		     {"ports", 2},  {"agents", 3},      {"links", 4}, {"stacks", 5}, {"slices", 6},
		     {"counts", 0}, {"unavailable", 1}, {"error", 2}};
	char *end;

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		if (!strcmp(words[i].word, text)) {
			*out = words[i].value;
			return 0;
		}
	}
	*out = strtoull(text, &end, 0);
	return *text && !*end ? 0 : -1;
}

#define SECTOR 512

/* Bytes that the disk has read, and written. */
static int disk_moved(const char *name, uint64_t bytes[2])
{
	unsigned long long reads, writes;
	char path[128];
	FILE *f;
	int n;

	snprintf(path, sizeof(path), "/sys/block/%s/stat", name);
	f = fopen(path, "r");
	if (!f)
		return -1;
	n = fscanf(f, "%*u %*u %llu %*u %*u %*u %llu", &reads, &writes);
	fclose(f);
	bytes[0] = reads * SECTOR;
	bytes[1] = writes * SECTOR;
	return n == 2 ? 0 : -1;
}

/* A disk that reads its medium writes memory. */
static int follow_disk(const char *name)
{
	const struct timespec pause = {.tv_nsec = 1000000};
	uint64_t before[2], now[2];

	if (disk_moved(name, before)) {
		perror(name);
		return 1;
	}
	printf("following\n");
	fflush(stdout);
	for (; disk_moved(name, now) == 0; nanosleep(&pause, NULL))
		for (int i = 0; i < 2; i++) {
			if (now[i] != before[i])
				ring(DISK, (now[i] - before[i]) << 1 | (i == 0));
			before[i] = now[i];
		}
	return 1;
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		int args;
		uint64_t command;
		int prints;
	} table[] = {
		{"step", 1, STEP, 0},        {"rate", 1, RATE, 0},
		{"ramp", 2, RAMP, 0},        {"clock", 0, CLOCK, 1},
		{"preset", 1, PRESET, 0},    {"writes", 0, WRITES, 1},
		{"stall", 1, STALL, 0},      {"rdt", 1, RDT, 0},
		{"real", 1, REAL, 0},        {"background", 1, BACKGROUND, 0},
		{"cache", 1, CACHE, 0},      {"allocate", 1, ALLOCATE, 0},
		{"faults", 1, FAULTS, 0},    {"swap", 1, SWAP, 0},
		{"turn", 1, TURN, 0},        {"reads", 1, READS, 0},
		{"remote", 1, REMOTE, 0},    {"stray", 1, STRAY, 0},
		{"scale", 3, SCALE, 0},      {"at", 2, DISK_AT, 0},
		{"found", 1, DISK_FOUND, 0},
	};
	uint64_t arg[3] = {0};

	if (argc < 2)
		return usage();
	if (argc == 3 && strcmp(argv[1], "disk") == 0)
		return ring(IDENTIFY, 0) == IDENTITY ? follow_disk(argv[2]) : 1;
	for (int i = 2; i < argc; i++)
		if (i > 4 || number(argv[i], &arg[i - 2]))
			return usage();
	if (ring(IDENTIFY, 0) != IDENTITY) {
		fprintf(stderr,
			"traffic: this is not a guest of the rig: nobody answers the doorbell\n");
		return 1;
	}
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		uint64_t result;

		if (strcmp(table[i].name, argv[1]) != 0 || table[i].args != argc - 2)
			continue;
		result = ring(table[i].command,
			      table[i].args == 3            ? arg[0] | arg[1] << 8 | arg[2] << 32
			      : table[i].command == DISK_AT ? arg[0] | arg[1] << 8
							    : arg[0] | arg[1] << 32);
		if (table[i].prints)
			printf("%llu\n", (unsigned long long)result);
		return 0;
	}
	return usage();
}

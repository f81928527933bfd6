/* SPDX-License-Identifier: MIT */
/*
 * Rings the doorbell of the emulated PMON hardware from inside the guest. It needs no privilege.
 *
 *   traffic step N        advance the traffic clock by N ticks
 *   traffic rate R        run it at R ticks per second from now on; 0: idle
 *   traffic ramp R MS     change the rate to R, linearly, within MS milliseconds
 *   traffic clock         print the ticks so far
 *   traffic preset N      put every counter N below its wrap
 *   traffic writes        print how many register writes the guest has done
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { IDENTIFY, STEP, RATE, CLOCK, RAMP, PRESET, WRITES };

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
	fprintf(stderr, "usage: traffic step N | rate R | ramp R MS | clock | preset N | writes\n");
	return 2;
}

static int number(const char *text, uint64_t *out)
{
	char *end;

	*out = strtoull(text, &end, 0);
	return *text && !*end ? 0 : -1;
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		int args;
		uint64_t command;
		int prints;
	} table[] = {
		{"step", 1, STEP, 0},   {"rate", 1, RATE, 0},     {"ramp", 2, RAMP, 0},
		{"clock", 0, CLOCK, 1}, {"preset", 1, PRESET, 0}, {"writes", 0, WRITES, 1},
	};
	uint64_t arg[2] = {0};

	if (argc < 2)
		return usage();
	for (int i = 2; i < argc; i++)
		if (i > 3 || number(argv[i], &arg[i - 2]))
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
		result = ring(table[i].command, arg[0] | arg[1] << 32);
		if (table[i].prints)
			printf("%llu\n", (unsigned long long)result);
		return 0;
	}
	return usage();
}

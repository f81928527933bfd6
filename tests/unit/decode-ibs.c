/* SPDX-License-Identifier: MIT */
/* Prints what the library makes of each sample of a perf.data, for check-ibs.py: names and numbers
 * with an equals sign between them, then what answered. */
#include "ibs/ibs.h"

#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char bytes[1 << 24];

static void print_sample(const char *raw)
{
	struct unc_ibs_op op;
	uint32_t size;

	memcpy(&size, raw, sizeof(size));
	if (unc_ibs_decode(raw + sizeof(size), size, &op) < 0) {
		puts("broken");
		return;
	}
	printf("valid=%d LdOp=%d DcMiss=%d L2Miss=%d DcUcMemAcc=%d DcMissNoMabAlloc=%d "
	       "SwPf=%d DataSrc=%u RmtNode=%d DcMissLat=%u :%s\n",
	       op.valid, op.load, op.miss, op.l2_miss, op.uncached, op.no_mab, op.prefetch,
	       op.data_source, op.remote, op.latency, unc_ibs_places[unc_ibs_source_of(&op)].name);
}

int main(int argc, char **argv)
{
	FILE *f = argc == 2 ? fopen(argv[1], "rb") : NULL;
	struct unc_ibs_file file;
	struct unc_error e;
	struct perf_event_header h;
	const char *at = NULL;

	if (!f || unc_ibs_file_parse(&file, bytes, fread(bytes, 1, sizeof(bytes), f), &e) < 0) {
		fprintf(stderr, "%s\n", f ? e.text : "no file");
		return EXIT_FAILURE;
	}
	at = file.records;
	for (size_t left = file.size; left; at += h.size, left -= h.size) {
		memcpy(&h, at, sizeof(h));
		if (h.type == PERF_RECORD_SAMPLE)
			print_sample(at + sizeof(h) + file.layout.skip);
	}
	fclose(f);
	return EXIT_SUCCESS;
}

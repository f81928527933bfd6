/* SPDX-License-Identifier: MIT */
/* Numbers and durations as users type them. */
#ifndef CLI_PARSE_H
#define CLI_PARSE_H

#include <stdbool.h>
#include <stdint.h>

#define NS_PER_MS 1000000ULL
#define NS_PER_S 1000000000ULL

/* "100", "100ms", "0.5s"; a number without unit counts `plain_ns` each. NULL when understood, else
 * the error, to be printed behind the text: "is longer than a year". */
const char *parse_duration(const char *text, uint64_t plain_ns, uint64_t *ns);

/* "307.2GB/s", "300 GiB/s". */
const char *parse_rate(const char *text, double *bytes_per_second);

/* A whole number from 1 to a thousand million. */
const char *parse_count(const char *text, uint64_t *count);

/* True when it begins as a number does: then it is no command. */
bool parse_looks_numeric(const char *text);

#endif

#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The JSON of `uncore latency --ibs --input` on standard input, worked out anew from the ops that
ibs_file.py wrote:  check-latency.py CPU LEAST"""

import json
import sys

import ibs_file
from rows import Wrong, check

BEFORE = {2: "L3 or another cache of the node", 3: "memory", 4: "cache of another node"}
SINCE = {1: "L3 or a core of the same complex", 2: "cache of another core complex", 3: "memory",
         8: "extension memory (CXL)"}


def bits(word, first, count):
    return word >> first & ((1 << count) - 1)


def source_of(data2, data3, genoa):
    """What answered."""
    if bits(data3, 16, 1):
        return "a miss already under way"
    if not bits(data3, 20, 1):
        return "L2 cache"
    name = SINCE[bits(data2, 0, 3) + 8 * bits(data2, 6, 2)] if genoa else BEFORE[bits(data2, 0, 3)]
    return f"{'remote' if bits(data2, 4, 1) else 'local'} {name}" if "memory" in name else name


def latencies(cpu, least):
    """{source: [latency]}, and how many loads there were."""
    found, loads = {}, 0
    for _, _, _, data2, data3, *_ in ibs_file.loads(cpu):
        loads += bits(data3, 0, 1)
        usable = bits(data3, 0, 1) and bits(data3, 7, 1) and not bits(data3, 14, 1) and not bits(data3, 21, 1)
        if usable and bits(data3, 32, 16) >= max(least, 1):
            found.setdefault(source_of(data2, data3, cpu == "genoa"), []).append(bits(data3, 32, 16))
    return found, loads


def check_row(row, values):
    """One source's."""
    name = row["name"]
    check(row["samples"] == len(values), f"{name}: {row['samples']} samples and not {len(values)}")
    check(abs(row["mean"] - sum(values) / len(values)) < 1e-9 * row["mean"], f"{name}: mean {row['mean']}")
    check(row["quality"] == "partial", f"{name}: {row['quality']}")
    check(row["reason"] == "17 samples lost, the buffer was full; 1 times the kernel throttled sampling", row["reason"])
    values = sorted(values)
    for share in (50, 90, 99):
        exact = values[-(-len(values) * share // 100) - 1]
        shown = row[f"p{share}"]
        bin_of = next(b for b in row["histogram"] if b["from"] <= exact <= b["to"])
        check(shown == bin_of["to"], f"{name}: {share} % at {shown}, exact {exact}")
    for b in row["histogram"]:
        inside = sum(b["from"] <= v <= b["to"] for v in values)
        check(inside == b["samples"], f"{name}: bin {b} and {inside} samples")
        check(b["to"] - b["from"] <= b["from"] / 8, f"{name}: bin {b} is too wide")
    check(sum(b["samples"] for b in row["histogram"]) == len(values), f"{name}: the bins are not all")


def main():
    cpu, least = sys.argv[1], int(sys.argv[2])
    shown = json.load(sys.stdin)
    found, loads = latencies(cpu, least)
    check({row["name"] for row in shown["rows"]} == set(found), f"other sources than {set(found)}")
    for row in shown["rows"]:
        check_row(row, found[row["name"]])
    check(shown["loads"] == loads and shown["used"] == sum(map(len, found.values())), "counts of loads")
    check((shown["lost"], shown["throttled"], shown["broken"]) == (17, 1, 0), "what is missing")
    check(shown["unit"] == "cycles" and shown["least"] == least, "unit")
    check("not the average latency of memory" in shown["about"], "what it is not")
    print(f"{cpu}, {least} or more: {shown['used']} samples of {len(found)} sources are right")


if __name__ == "__main__":
    try:
        main()
    except Wrong as wrong:
        sys.exit(f"check-latency {' '.join(sys.argv[1:])}: {wrong}")

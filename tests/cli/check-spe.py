#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`uncore latency --spe --input` on a recording of known loads, worked out anew; and the same by perf where there is
one that decodes SPE:  check-spe.py"""

import collections
import json
import os
import re
import shutil
import subprocess
import sys

import ibs_file
import spe_file
from rows import Wrong, check

FILE = "spe.data"


def ours(*options):
    argv = [os.environ["UNCORE"], "latency", "--spe", "--input", FILE, "-j", *options]
    run = subprocess.run(argv, capture_output=True, text=True, check=False)
    check(run.returncode == 0 and not run.stderr, f"{argv}: {run.stderr}")
    return json.loads(run.stdout)


def check_sources(truth):
    """Counts, means and percentiles by data source."""
    shown = ours()
    found = {row["name"]: row for row in shown["rows"]}
    check(set(found) == {t["source"] for t in truth}, f"sources {set(found)}")
    for name, row in found.items():
        values = sorted(t["latency"] for t in truth if t["source"] == name)
        check(row["samples"] == len(values), f"{name}: {row['samples']} samples, not {len(values)}")
        check(abs(row["mean"] - sum(values) / len(values)) < 1e-9 * row["mean"], f"{name}: mean {row['mean']}")
        exact = values[-(-len(values) * 99 // 100) - 1]
        check(exact <= row["p99"] <= exact * 9 / 8, f"{name}: 99 % at {row['p99']}, exact {exact}")
    check((shown["lost"], shown["broken"], shown["unusable"]) == (1, 0, 0), "what is missing")
    check("dispatch" in shown["about"], f"about {shown['about']}")


def check_keys(truth):
    """Threads by context packets, and pages without the tags of addresses."""
    found = {(k["pid"], k["tid"], k["process"]): k["samples"] for k in ours("--by", "thread")["keys"]}
    expected = collections.Counter((t["pid"], t["tid"], t["thread"]) for t in truth)
    check(found == expected, f"threads {found}, not {expected}")
    found = {(k["pid"], int(k["page"], 16)): k["samples"] for k in ours("--by", "address", "--top", "999")["keys"]}
    expected = collections.Counter((t["pid"], t["page"]) for t in truth)
    check(found == expected, "pages")
    found = {k["object"]: 0 for k in ours("--by", "symbol", "--top", "999")["keys"]}
    check(set(found) == {"[kernel]", "/no/such/program", "/no/such/library"}, f"objects {found}")
    memory = sum(t["source"] == "local memory" for t in truth)
    check(ours("--from", "memory")["used"] == memory, "from memory")


def check_perf(truth):
    """The same packets as perf's decoder shows them: process, addresses, latency and data source of each load."""
    run = subprocess.run(["perf", "report", "-D", "--stdio", "-i", FILE], capture_output=True, text=True, check=False,
                         env={**os.environ, "LC_ALL": "C"}, timeout=100)
    found, words = collections.Counter(), {}
    for name, value in re.findall(r"  (PC|CONTEXT|LD|EV|LAT|VA|DATA-SOURCE|TS|END) ?(.*)$", run.stdout, re.M):
        if name == "LAT" and not value.endswith("TOT"):
            continue
        words[name] = value.split()[0] if value and name != "EV" else value
        if name not in ("TS", "END"):
            continue
        if "LD" in words and "L1D-REFILL" in words["EV"]:
            found[int(words["CONTEXT"], 16), int(words["PC"], 16), int(words["VA"], 16) & ((1 << 56) - 4096),
                  int(words["LAT"]), spe_file.SOURCES[int(words["DATA-SOURCE"])]] += 1
        words = {}
    if not found:
        return "this perf does not show SPE"
    expected = collections.Counter((t["tid"], t["ip"] & ((1 << 56) - 1), t["page"], t["latency"], t["source"])
                                   for t in truth)
    check(found == expected, f"perf: {list((found - expected).items())[:3]}, not {list((expected - found).items())[:3]}")
    return f"{sum(found.values())} loads as perf has them"


def main():
    records, truth = spe_file.loads("/no/such/library", 9, 0x5000)
    ibs_file.perf_data(FILE, spe_file.N1, records, spe_file.SAMPLE_TYPE)
    check_sources(truth)
    check_keys(truth)
    said = check_perf(truth) if shutil.which("perf") else "no perf here"
    # A CPU whose data sources mean something else.
    ibs_file.perf_data(FILE, spe_file.UNKNOWN, records, spe_file.SAMPLE_TYPE)
    check([(row["name"], row["samples"]) for row in ours()["rows"]] == [("not said", len(truth))], "another CPU")
    print(f"{len(truth)} loads; {said}")


if __name__ == "__main__":
    try:
        main()
    except Wrong as wrong:
        sys.exit(f"check-spe: {wrong}")

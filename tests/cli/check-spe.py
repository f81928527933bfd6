#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`uncore latency --spe --input` on a recording of known loads, worked out anew; and the same by perf where there is
one that decodes SPE:  check-spe.py

With UNCORE_EMULATE_SPE, a library to be preloaded: the same while it is sampled."""

import collections
import json
import os
import pathlib
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


def threads(records, flags=0):
    """{(pid, tid): samples} of a recording with these records."""
    ibs_file.perf_data(FILE, spe_file.N1, [*spe_file.head(), *records], spe_file.SAMPLE_TYPE, flags=flags)
    return {(k["pid"], k["tid"]): k["samples"] for k in ours("--by", "thread")["keys"]}


def check_tasks():
    """Which thread a load is of, without packets that say so: a thread's buffer, or switches on the buffer's CPU."""
    def loads(*ticks):
        return b"".join(spe_file.sampled(0x401000, 0x7F0000000008, 100, 0xE, 0xE, time=t) for t in ticks)

    first, second, third, unknown = (7, 7), (8, 9), (3, 3), (None, None)
    names = [ibs_file.comm(first, "first", 0), ibs_file.comm(second, "second", 0)]
    check(threads([*names, spe_file.auxtrace(loads(None), 7, spe_file.NO_CPU)]) == {first: 1}, "a thread's buffer")
    check(threads([*names, spe_file.auxtrace(loads(None), 7, 0)]) == {unknown: 1}, "a CPU's buffer is no thread's")
    begin = spe_file.with_id(spe_file.started(first, 1000, 0))
    switches = [spe_file.with_id(spe_file.switch(second, first, spe_file.ns(30), 0)),
                spe_file.with_id(spe_file.switch(first, second, spe_file.ns(10), 0, out=True)),
                spe_file.with_id(spe_file.switch(second, third, spe_file.ns(5), 1))]
    data = spe_file.auxtrace(loads(1, 2, 3, 11, 12, 31), 7, 0)
    flag = spe_file.SWITCHES
    check(threads([begin, *switches, data], flag) == {first: 4, second: 2}, "switches")
    check(threads([begin, data]) == {unknown: 6}, "who ran at first says nothing of later, without switches")
    check(threads([begin, data], flag) == {first: 6}, "no switch came")
    data = spe_file.auxtrace(loads(None), 7, 0)
    check(threads([begin, *switches, data], flag) == {unknown: 1}, "loads without a time")
    data = spe_file.auxtrace(loads(40), 7, 2)
    check(threads([begin, *switches, data], flag) == {unknown: 1}, "another CPU")


# ---- sampling ----

def run_live(*options, status=0, **environment):
    """What the command says on a machine with SPE, whose files are in the working directory."""
    argv = [os.environ.get("UNCORE_PLAIN") or os.environ["UNCORE"], "latency", *options]
    env = {**os.environ, "LD_PRELOAD": os.environ["UNCORE_EMULATE_SPE"], "SPE": os.getcwd(), **environment}
    pathlib.Path("log").write_text("", encoding="ascii")
    run = subprocess.run(argv, capture_output=True, text=True, check=False, env=env)
    check(run.returncode == status, f"{argv}: status {run.returncode}: {run.stderr}")
    return run


def check_rows(shown, truth, quality):
    found = {row["name"]: (row["samples"], row["quality"]) for row in shown["rows"]}
    expected = {name: (count, quality) for name, count in collections.Counter(t["source"] for t in truth).items()}
    check(found == expected, f"sources {found}, not {expected}")
    for row in shown["rows"]:
        values = [t["latency"] for t in truth if t["source"] == row["name"]]
        check(abs(row["mean"] - sum(values) / len(values)) < 1e-9 * row["mean"], f"{row['name']}: mean")


def check_live():
    cpus = sorted(os.sched_getaffinity(0))[:2]
    spe_file.tree(".", cpus)
    # More than the ring of packets has room for at once: it is gone round.
    truth = spe_file.live(".", cpus)
    shown = json.loads(run_live("--spe", "--timeout", "3s", "-j", "--by", "thread", "--top", "99").stdout)
    check_rows(shown, truth, "sampled")
    check((shown["source"], shown["lost"], shown["broken"], shown["note"]) == ("spe", 0, 0, None), f"head {shown}")
    check("dispatch" in shown["about"], "about")
    found = {(k["tid"], k["process"]): (k["samples"], k["quality"]) for k in shown["keys"]}
    expected = {key: (count, "sampled") for key, count in
                collections.Counter((t["tid"], t["thread"]) for t in truth).items()}
    check(found == expected, f"threads {found}, not {expected}")
    log = pathlib.Path("log").read_text(encoding="ascii").splitlines()
    check(len(log) == 2 * len(cpus) and all("switches 1 comm 1 mmap2 1" in line for line in log[1::2]), f"events {log}")
    # The latency is filtered by the hardware; without keys there is one event for each CPU.
    memory = [t for t in truth if t["source"] == "local memory" and t["latency"] >= 500]
    shown = json.loads(run_live("--ibs", "--timeout", "3s", "-j", "--min-latency", "500", "--from", "memory").stdout)
    check_rows(shown, memory, "sampled")
    log = pathlib.Path("log").read_text(encoding="ascii").splitlines()
    check(log == [f"cpu {cpu} type 77 config 0x200000001 config2 0x1f4 switches 0 comm 0 mmap2 0" for cpu in cpus],
          f"events {log}")
    run_live("--spe", "--timeout", "100ms", "-j", "--min-latency", "9999")
    check("config2 0xfff" in pathlib.Path("log").read_text(encoding="ascii"), "the hardware's longest latency")
    text = run_live("--spe", "--timeout", "3s", "--by", "process", "--from", "memory").stdout
    check("sampled" in text and "local memory" in text and "reader" in text, text)
    check_missing(cpus, truth)
    print(f"{len(truth)} loads")


def check_missing(cpus, truth):
    """What has no room, and what the kernel says of gaps, is said."""
    more = spe_file.live(".", cpus, big=3)
    run = run_live("--spe", "--timeout", "3s", "-j", "--by", "process")
    shown = json.loads(run.stdout)
    check(len(truth) < len(more) and shown["used"] < len(more) and shown["lost"] == 1, f"cut off: {shown['lost']}")
    rows = shown["rows"] + shown["keys"]
    check(all(r["quality"] == "partial" and "1 times samples were cut off" in r["reason"] for r in rows), "cut off")
    # Later stops are there: sampling went on.
    check(shown["used"] > len(truth) * 0.95, f"{shown['used']} of {len(more)}")
    truth = spe_file.live(".", cpus, flags=8)
    run = run_live("--spe", "--timeout", "3s", "--csv")
    check("collision" in run.stdout and ",partial," in run.stdout and ",sampled," not in run.stdout, run.stdout)
    # No permission; and another profiler.
    check("no permission" in run_live("--spe", status=4, SPE_ERROR="13").stderr, "EACCES")
    check("another program" in run_live("--spe", status=1, SPE_ERROR="16").stderr, "EBUSY")


def main():
    if os.environ.get("UNCORE_EMULATE_SPE"):
        check_live()
        return
    check_tasks()
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

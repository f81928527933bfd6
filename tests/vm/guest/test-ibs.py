#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`uncore latency --ibs` with the kernel's own driver. What must be sampled is known: an NMI to all CPUs
but this one, and each of those has an op, the next of the eight at the head of pmon/amd-ibs.c. Then the
same in a recording of perf, and who may. On other models: a sentence, and status 3."""

import json
import os
import pathlib
import signal
import subprocess
import time

import rig

SAMPLED = pathlib.Path("/tmp/ibs.jsonl")
RECORDED = "/tmp/ibs.data"
TIMES = 24  # NMIs: three times all eight ops
LATENCIES = {"local memory": 300, "remote memory": 700, "L3 or a core of the same complex": 60,
             "cache of another core complex": 150, "L2 cache": 20, "remote extension memory (CXL)": 1200}


def interrupt(times):
    """NMIs to all other CPUs; each time they have all had theirs."""
    for _ in range(times):
        pathlib.Path("/proc/sysrq-trigger").write_text("l", encoding="ascii")


def windows():
    """What uncore has printed so far."""
    return [json.loads(line) for line in SAMPLED.read_text(encoding="utf-8").splitlines()]


def wait_for(count):
    """Until there are so many windows."""
    end = time.monotonic() + rig.TIME_LIMIT
    while len(windows()) < count and time.monotonic() < end:
        time.sleep(0.05)


def sample(*options):
    """Sums over windows while the NMIs came: {source: (samples, mean)}, and the counts."""
    with open(SAMPLED, "w", encoding="utf-8") as output:
        argv = ["uncore", "latency", "--ibs", "-j", "-I", "300", *options]
        with subprocess.Popen(argv, stdout=output, stderr=subprocess.PIPE, text=True) as process:
            wait_for(1)
            interrupt(TIMES)
            wait_for(len(windows()) + 2)
            process.send_signal(signal.SIGINT)
            errors = process.communicate(timeout=rig.TIME_LIMIT)[1]
    if process.returncode or not windows():
        raise rig.Failed(f"{argv}: status {process.returncode}: {errors}")
    if any(not 0.9 < w["coverage"] < 1.1 or w["throttled"] for w in windows()):
        raise rig.Failed(f"{argv}: not sampled all the time: {windows()}")
    return summed(windows())


def summed(objects):
    """The rows of several windows as one."""
    rows, counts = {}, {}
    for window in objects:
        for key in ("ops", "loads", "used", "unusable", "lost", "broken"):
            counts[key] = counts.get(key, 0) + window[key]
        for row in window["rows"]:
            samples, clocks = rows.get(row["name"], (0, 0))
            rows[row["name"]] = (samples + row["samples"], clocks + row["mean"] * row["samples"])
            counts["sampled"] = counts.get("sampled", True) and row["quality"] == "sampled"
    return {name: (samples, clocks / samples) for name, (samples, clocks) in rows.items()}, counts


def judge(name, rows, counts, ops, least=0):
    """Each place has its share of the ops, with its latency."""
    each = ops // 8
    expected = {place: (each, float(latency)) for place, latency in LATENCIES.items() if latency >= least}
    rig.ok(rows == expected and counts["sampled"], f"{name}: every op is where it belongs",
           f"{rows}\nand not\n{expected}")
    left = (counts["lost"], counts["broken"], counts["unusable"])
    used = each * len(expected)
    seen = {ops: 7 * each, used: used}.get(counts["ops"])
    rig.ok(counts["used"] == used and counts["loads"] == seen and left == (0, 0, 0), f"{name}: counts", counts)


def recorded(ops):
    """perf records the same; uncore reads its file."""
    argv = ["perf", "record", "-q", "-a", "-e", "ibs_op/cnt_ctl=1/", "-c", "1000000", "--raw-samples", "-o", RECORDED,
            "--", "sleep", "1000"]
    with subprocess.Popen(argv, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        end = time.monotonic() + rig.TIME_LIMIT
        while b"sleep" not in children_of(process.pid) and time.monotonic() < end:
            time.sleep(0.1)
        time.sleep(1)
        interrupt(TIMES)
        process.send_signal(signal.SIGINT)
        process.wait(timeout=rig.TIME_LIMIT)
    shown = rig.run(["perf", "report", "-D", "--stdio", "-i", RECORDED]).stdout.count("\nibs_op_data3:")
    rows, counts = summed([json.loads(rig.run(["uncore", "latency", "--ibs", "-j", "--input", RECORDED]).stdout)])
    rig.ok(shown == counts["ops"], "a recording: as many ops as perf shows", f"{shown} {counts}")
    judge("a recording", rows, counts, ops)


def children_of(pid):
    """Names of a process's children."""
    path = pathlib.Path(f"/proc/{pid}/task/{pid}/children")
    return b" ".join(pathlib.Path(f"/proc/{child}/comm").read_bytes() for child in path.read_text().split())


def permission():
    """As with counters."""
    pathlib.Path("/proc/sys/kernel/perf_event_paranoid").write_text("2", encoding="ascii")
    done = rig.run(["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "uncore", "latency", "--ibs"],
                   status=None)
    rig.ok(done.returncode == 4 and "no permission" in done.stderr and not done.stdout, "as nobody: 4, and why", done)


def main():
    """All of it where there is IBS."""
    if rig.MODEL != "amd":
        done = rig.run(["uncore", "latency", "--ibs"], status=None)
        rig.ok(done.returncode == 3 and "has no IBS" in done.stderr and not done.stdout, "no IBS: 3, and why", done)
        rig.done()
    rig.run(["dmesg", "-n", "1"])  # a backtrace of every CPU comes with each NMI
    # Emulated interrupts take long: the kernel would hold sampling back.
    pathlib.Path("/proc/sys/kernel/perf_cpu_time_max_percent").write_text("0", encoding="ascii")
    os.sched_setaffinity(0, {0})
    ops = TIMES * (rig.CPUS - 1)
    judge("sampled", *sample(), ops)
    judge("the hardware's filter", *sample("--min-latency", "250"), ops, 250)
    judge("the filter of ours", *sample("--min-latency", "100"), ops, 100)
    recorded(ops)
    permission()
    rig.done()


if __name__ == "__main__":
    main()

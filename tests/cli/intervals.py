#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Intervals lose nothing and drift nowhere: intervals.py MS COUNT

Runs `uncore stat -e msr/tsc/ -I MS --interval-count COUNT --summary -j` and checks the number of
intervals, that they touch, that their counts add up to the total to the last tick, that the last
one ends on the grid, and the rates against the processor's own counter, read here. Grid and rates
must be right in one of ten runs: a busy machine wakes us late, and a program that opens counters
at the same time makes the kernel stop ours for a moment."""

import ctypes
import mmap
import os
import platform
import re
import subprocess
import sys
import time

import rows
from rows import check

TRIES = 10
RDTSC = b"\x0f\x31\x48\xc1\xe2\x20\x48\x09\xd0\xc3"  # rdtsc; shl $32,%rdx; or %rdx,%rax; ret


def tsc_hz(seconds=0.25):
    """Ticks per second of CLOCK_MONOTONIC, without the kernel's counters; None: not an x86-64."""
    if platform.machine() != "x86_64":
        return None
    code = mmap.mmap(-1, mmap.PAGESIZE, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    code.write(RDTSC)
    read = ctypes.CFUNCTYPE(ctypes.c_uint64)(ctypes.addressof(ctypes.c_char.from_buffer(code)))

    def both():
        # The try with the shortest time between the clock readings is the most exact one.
        tries = []
        for _ in range(20):
            before = time.monotonic_ns()
            ticks = read()
            after = time.monotonic_ns()
            tries.append((after - before, ticks, (before + after) / 2))
        return min(tries)[1:]

    ticks0, ns0 = both()
    time.sleep(seconds)
    ticks1, ns1 = both()
    return (ticks1 - ticks0) / (ns1 - ns0) * 1e9


def run(milliseconds, count):
    done = subprocess.run(
        [os.environ["UNCORE"], "stat", "-e", "msr/tsc/", "-I", f"{milliseconds}ms"]
        + ["--interval-count", str(count), "--summary", "-j"],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    check(done.returncode == 0, f"status {done.returncode}: {done.stderr}")
    missed = re.search(r"(\d+) intervals? (?:was|were) missed", done.stderr)
    return rows.json_rows(done.stdout), int(missed.group(1)) if missed else 0


def check_windows(windows, missed, step, count):
    check(len(windows) == count, f"{len(windows)} intervals and not {count}")
    end = 0.0
    for w in windows:
        begin = w["time"] - w["interval"]
        check(abs(begin - end) < 2e-9, f"begins at {begin} and not at {end}: {w}")
        # On a busy machine a reading may be late: then it says so.
        late = w["quality"] == "suspect" and w["reason"].startswith("it was not read when")
        check(w["interval"] > 0 and (w["quality"] == "measured" or late), f"{w}")
        end = w["time"]
    wanted = (count + missed) * step
    print(f"end {end:.6f} s, grid {wanted:.3f} s, {missed} intervals missed")
    return abs(end - wanted) < 0.02


def check_total(windows, total):
    counted = sum(w["count"] for w in windows)
    enabled = sum(w["enabled_ns"] for w in windows)
    length = sum(w["interval"] for w in windows)
    check(total["count"] == counted, f"total {total['count']}, sum of intervals {counted}")
    check(total["enabled_ns"] == enabled, f"enabled {total['enabled_ns']}, sum {enabled}")
    check(abs(total["interval"] - length) < 1e-6, f"lasts {total['interval']}, sum {length}")
    check(total["time"] == windows[-1]["time"], f"total ends at {total['time']}")


def check_rates(windows, total, hz):
    cpus = total["instances"]
    measured = [w["rate"] for w in windows if w["quality"] == "measured"]
    if len(measured) < len(windows) / 2:
        return False
    mean = sum(measured) / len(measured) / cpus
    whole = total["count"] / cpus / total["interval"]
    print(f"mean of rates {mean:.0f} Hz, of the whole {whole:.0f} Hz, the processor's {hz:.0f} Hz")
    return abs(mean / hz - 1) < 0.005 and abs(whole / hz - 1) < 0.005


def right_run(milliseconds, count, hz):
    """One run; what is not a matter of time must be right every time."""
    windows, missed = run(milliseconds, count)
    total = windows.pop()
    on_grid = check_windows(windows, missed, milliseconds / 1000, count)
    check_total(windows, total)
    return on_grid and (not hz or check_rates(windows, total, hz))


def main():
    milliseconds, count = int(sys.argv[1]), int(sys.argv[2])
    hz = tsc_hz()
    try:
        results = (right_run(milliseconds, count, hz) for _ in range(TRIES))
        check(any(results), f"{TRIES} times off the grid, or a rate wrong by more than 0.5 %")
    except rows.Wrong as wrong:
        sys.exit(f"intervals {milliseconds} ms x {count}: {wrong}")


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The grid of intervals does not move, whatever holds the reader up: grid.py DIRECTORY MS COUNT

Counts a block that moves (uncore demo-block in DIRECTORY) in COUNT intervals of MS, and stops the
reader meanwhile: once for so long that one tick is late, once for so long that some are missed. Rows
that are not said to be late must end within half an interval of their own tick (but for a few, which
were woken in time and then lost the CPU), and what is said of late and missed ticks at the end must be
what was said of each. On a busy machine, which may stop anybody, one of ten runs must be right."""

import os
import re
import signal
import subprocess
import sys
import time

import rows
from rows import check

TRIES = 10
UNCORE = os.environ["UNCORE"]


def read_rows(directory, step, count):
    """Rows and what was said, of a reader that is held up."""
    command = [UNCORE, "--source", f"regs:{directory}/block.yaml", "stat", "-v", "-j"]
    command += ["-I", f"{step * 1000:g}ms", "--interval-count", str(count), "-M", "demo.cycles"]
    first = b""
    # Without a buffer of ours, in which rows could stay behind.
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, bufsize=0
    ) as reader:
        # Stopped at 0.3, going on at 0.8 of an interval: where a grid that moves would move to.
        for intervals in (1.5, 3.5):
            first += reader.stdout.readline()
            time.sleep(0.3 * step)
            reader.send_signal(signal.SIGSTOP)
            time.sleep(intervals * step)
            reader.send_signal(signal.SIGCONT)
        out, err = reader.communicate(timeout=120)
    check(reader.returncode == 0, f"status {reader.returncode}: {err}")
    return (first + out).decode(), err.decode()


def late_windows(err):
    """Ticks missed by number of the window."""
    each = re.findall(r"interval (\d+) is late by [\d.]+ ms \(intervals missed: (\d+)\)", err)
    return {int(number): int(missed) for number, missed in each}


def check_total(late, err):
    total = re.search(r"(\d+) intervals? (?:was|were) late by more than half an interval, and (\S+)", err)
    check(total is not None, f"no total of late ticks: {err}")
    check(int(total[1]) == len(late), f"{total[1]} late in all, one by one {len(late)}: {err}")
    missed = 0 if total[2] == "none" else int(total[2])
    check(missed == sum(late.values()), f"{missed} missed in all, one by one {late}: {err}")
    check(missed >= 2, f"3.5 intervals were slept through, and {missed} ticks missed")


def on_grid(found, late, step):
    """Whether rows that are said to be in time are: on another grid than that of the start none is."""
    missed, in_time = 0, []
    for number, row in enumerate(found, 1):
        missed += late.get(number, 0)
        off = row["time"] - (number + missed) * step
        if number not in late:
            in_time.append(abs(off) < step / 2)
        print(f"row {number}: {row['time']:.4f} s, {off / step:+.2f} intervals off its tick")
    return len(in_time) >= len(found) / 2 and sum(in_time) >= 0.75 * len(in_time)


def right_run(directory, step, count):
    with subprocess.Popen(
        [UNCORE, "demo-block", directory, "--rate", "10000000"], stdout=subprocess.PIPE
    ) as block:
        try:
            block.stdout.readline()
            out, err = read_rows(directory, step, count)
        finally:
            block.terminate()
            block.stdout.read()
    found = [row for row in rows.json_rows(out) if row["name"] == "demo.cycles"]
    late = late_windows(err)
    check(len(found) == count, f"{len(found)} intervals and not {count}")
    check_total(late, err)
    rate = sum(row["value"] for row in found) / found[-1]["time"]
    print(f"{rate:.0f} cycles/s; late: {late}")
    return on_grid(found, late, step) and abs(rate / 1e7 - 1) < 0.1


def main():
    directory, step, count = sys.argv[1], float(sys.argv[2]) / 1000, int(sys.argv[3])
    try:
        check(
            any(right_run(directory, step, count) for _ in range(TRIES)),
            f"{TRIES} times off the grid, or cycles lost",
        )
    except (rows.Wrong, subprocess.TimeoutExpired) as wrong:
        sys.exit(f"grid {' '.join(sys.argv[1:])}: {wrong}")


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs uncore and `perf stat` in parallel over the same command and compares what they counted.

  perf-parity.py once EVENTS SECONDS          rates (count/enabled) within 0.1 %, counted while the command runs
  perf-parity.py intervals EVENT MS COUNT     mean of the intervals' rates within 1 %
  perf-parity.py scaled PMU ALIAS SECONDS     value = count x the kernel's .scale, as perf prints it

A busy machine starts one of the two late, and a third program that opens counters at the same time
makes the kernel stop all others for a moment. So numbers are compared up to ten times; what does
not depend on the moment (names, scale, qualities) must be right at the first time."""

import os
import pathlib
import subprocess
import sys
import time

import rows
from rows import check

UNCORE = os.environ["UNCORE"]
TRIES = 10


def text_of(process):
    out, err = process.communicate(timeout=60)
    check(process.returncode == 0, f"{process.args}: status {process.returncode}: {err}")
    return out, err


def in_parallel(uncore_args, perf_args):
    """(rows of uncore, lines of perf split at the commas)."""
    environment = dict(os.environ, LC_ALL="C")
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    perf = subprocess.Popen(["perf", "stat", *perf_args], env=environment, **pipes)
    uncore = subprocess.Popen([UNCORE, "stat", *uncore_args], **pipes)
    ours = rows.json_rows(text_of(uncore)[0])
    theirs = [line.split(",") for line in text_of(perf)[1].splitlines() if line.count(",") > 3]
    return ours, theirs


def near(a, b, share):
    return abs(a - b) <= share * max(abs(a), abs(b))


def by_event(theirs, column=0):
    """perf's lines as {event: (value, running ns)}; `column` is where the value stands."""
    events = {}
    for fields in theirs:
        share = float(fields[column + 4])
        check(share == 100, f"perf multiplexed: {fields}")
        events.setdefault(fields[column + 2], []).append(
            (float(fields[column]), int(fields[column + 3]))
        )
    return events


def compare_once(events, seconds):
    """True when the counts agree; what must always agree is checked."""
    tail = ["--", "sleep", seconds]
    begin = time.monotonic()
    ours, theirs = in_parallel(
        ["-a", "-e", events, "-j", *tail], ["-a", "-e", events, "-x,", *tail]
    )
    longest = time.monotonic() - begin
    theirs = by_event(theirs)
    names = [row["name"] for row in ours]
    check(len(ours) == len(theirs), f"{len(ours)} rows, and perf has {len(theirs)}: {names}")
    agree = True
    for row in ours:
        check(row["name"] in theirs, f"perf has no {row['name']}, but {list(theirs)}")
        count, ran = theirs[row["name"]][0]
        check(row["coverage"] == 1, f"not always counted: {row}")
        check(float(seconds) <= row["interval"] <= longest, f"not as long as the command: {row}")
        check(row["enabled_ns"] == row["running_ns"], f"not always running: {row}")
        check(row["value"] == row["count"], f"a plain count's value is its count: {row}")
        rate, their_rate = row["count"] / row["enabled_ns"], count / ran
        agree = agree and row["quality"] == "measured" and near(rate, their_rate, 0.001)
        print(f"{row['name']}: {row['count']} perf {count:.0f}; per ns {rate:.6f} {their_rate:.6f}")
    return agree


def once(events, seconds):
    results = (compare_once(events, seconds) for _ in range(TRIES))
    check(any(results), f"{TRIES} times rates differ by more than 0.1 %, or not measured")


def intervals(event, milliseconds, count):
    results = (compare_intervals(event, milliseconds, count) for _ in range(TRIES))
    check(any(results), f"{TRIES} times the mean rates differ by more than 1 %, or times by more")


def compare_intervals(event, milliseconds, count):
    ours, theirs = in_parallel(
        ["-a", "-e", event, "-I", milliseconds, "--interval-count", count, "-j"],
        ["-a", "-e", event, "-I", milliseconds, "--interval-count", count, "-x,"],
    )
    check(len(ours) == int(count), f"{len(ours)} intervals and not {count}")
    check(len(theirs) == int(count), f"perf: {len(theirs)} intervals and not {count}")
    agree = True
    for row in ours:
        expected = row["value"] / (row["enabled_ns"] / row["instances"] / 1e9)
        # Each counter's rate is over its own time, and these differ on a busy machine.
        agree = agree and near(row["rate"], expected, 0.001)
        # The counters were enabled for as long as the interval lasted.
        per_counter = row["enabled_ns"] / row["instances"] / 1e9
        agree = agree and abs(per_counter - row["interval"]) < 0.02
    # Per nanosecond of one CPU, as perf's run time is summed over the CPUs.
    our_rate = sum(row["count"] / row["enabled_ns"] for row in ours) / len(ours)
    their_rate = sum(v / ran for v, ran in by_event(theirs, 1)[event]) / len(theirs)
    print(f"{event}: mean per ns {our_rate:.6f}, perf {their_rate:.6f}")
    return agree and near(our_rate, their_rate, 0.01)


def scaled(pmu, alias, seconds):
    events = pathlib.Path("/sys/bus/event_source/devices", pmu, "events")
    scale = float((events / f"{alias}.scale").read_text(encoding="ascii"))
    unit = (events / f"{alias}.unit").read_text(encoding="ascii").strip()
    event = f"{pmu}/{alias}/"
    tail = ["--", "sleep", seconds]
    ours, theirs = in_parallel(["-a", "-e", event, "-j", *tail], ["-a", "-e", event, "-x,", *tail])
    check(len(ours) == 1 and len(theirs) == 1, f"one row each: {ours} {theirs}")
    row, value = ours[0], float(theirs[0][0])
    check(row["unit"] == unit == theirs[0][1], f"unit: {row['unit']} {unit} {theirs[0][1]}")
    check(near(row["value"], row["count"] * scale, 1e-9), f"value is not count x {scale}: {row}")
    print(f"{event}: {row['value']} {unit} perf {value}")
    # perf prints two decimals, the counter moves in steps of a millisecond, and power varies.
    check(abs(row["value"] - value) <= 0.02 + 0.05 * value, f"{row['value']} and perf {value}")


def main():
    commands = {"once": once, "intervals": intervals, "scaled": scaled}
    try:
        commands[sys.argv[1]](*sys.argv[2:])
    except rows.Wrong as wrong:
        sys.exit(f"perf-parity {' '.join(sys.argv[1:])}: {wrong}")


if __name__ == "__main__":
    main()

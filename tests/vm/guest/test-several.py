#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Two copies of uncore and a perf on one box at once, each with all its counters: the kernel shares
them, and each gives the truth of its own window."""

import pathlib
import subprocess

import behaviour
import rig

RATE = 1000000
WINDOW = "1.2"
STEP = 1000


def at_once(argvs):
    """Starts all commands, then waits for all."""
    running = [subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL) for argv in argvs]
    return [process.wait(timeout=rig.TIME_LIMIT) for process in running]


def crowded(events, other):
    """Three observers under a steady rate."""
    want = ",".join([*events, other])
    outputs = [pathlib.Path(f"/tmp/several-{who}") for who in ("a", "b", "perf")]
    argvs = [rig.uncore_argv(want, outputs[0]), rig.uncore_argv(want, outputs[1]),
             rig.perf_argv(want, outputs[2], "each")]
    rig.traffic("rate", RATE)
    status = at_once([[*argv, "--", "sleep", WINDOW] for argv in argvs])
    rig.traffic("rate", 0)
    rig.ok(status == [0, 0, 0], "all three end well", status)
    checks = []
    for output in outputs[:2]:
        *rows, reference = rig.uncore_rows(output)
        rig.ok(all(row["quality"] == "scaled" and 0 < row["coverage"] < 1 for row in rows), "uncore: scaled",
               behaviour.short(rows))
        checks += compare("uncore", [row["value"] for row in rows], [row["coverage"] for row in rows], events,
                          reference["value"] / behaviour.weight(other), None)
    # perf's sum over sockets would be wrong: it scales once for all of them.
    cpu = rig.pmus()[behaviour.pmu()].cpus[0]
    *counts, reference = [c for c in rig.perf_counts(outputs[2]) if c.cpu == cpu]
    return checks + compare("perf", [c.value for c in counts], [c.share / 100 for c in counts], events,
                            reference.value / behaviour.weight(other, cpu=cpu), cpu)


def compare(who, values, shares, events, ticks, cpu):
    """Values of the events against the ticks that a box nobody shares has seen."""
    off = [value / (behaviour.weight(event, cpu=cpu) * ticks) - 1 for value, event in zip(values, events)]
    text = (f"share {' '.join(f'{share:.2f}' for share in shares)}, "
            f"off by {' '.join(f'{100 * share:.2f}' for share in off)} %")
    rig.diag(f"{who}:", text)
    return [(max(map(abs, off)) < 0.03, f"{who}: the truth within 3 %", text)]


def enough_for_all(event, per_tick):
    """One event each: there are counters for all, and each is exact."""
    outputs = [pathlib.Path(f"/tmp/several-{who}") for who in ("a", "b", "perf")]
    argv = [*rig.uncore_argv(event, outputs[0]), "--", *rig.perf_argv(event, outputs[2]), "--",
            *rig.uncore_argv(event, outputs[1]), "--", "traffic", "step", STEP]
    rig.run(argv)
    rows = [rig.uncore_rows(output)[0] for output in outputs[:2]]
    count = rig.perf_counts(outputs[2])[0]
    truth = STEP * per_tick
    rig.ok(count.value == truth, "one event each: perf is exact", count)
    rig.ok(all(behaviour.counted(row, truth) for row in rows),
           "one event each: both uncores are exact", behaviour.short(rows))


def main():
    events, other = behaviour.events(behaviour.MODEL.counters), behaviour.neighbour()
    behaviour.rotate_slowly({event.split("/")[0] for event in [*events, other]})
    behaviour.by_timing(lambda: crowded(events, other))
    enough_for_all(events[0], behaviour.weight(events[0]))
    rig.done()


main()

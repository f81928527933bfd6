#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Counters that pass their width while they are counted: the sum of what is read is exact."""

import behaviour
import rig

# Others than the behaviour box, and their widths.
MORE = {
    "ivt": [("uncore_pcu/event=0x3/", 48)],
    "skx": [("uncore_iio_free_running_0/bw_in_port0/", 36), ("uncore_pcu/event=0x3/", 48),
            ("uncore_imc_0/event=0x4/", 48)],
    "t410": [("nvidia_pcie_pmu_0_rc_0/event=0x1/", 48)],
}


def agree(count, row, truth):
    """uncore's count is the truth, and perf's value is uncore's: with a scale and unit for some."""
    return behaviour.counted(row, truth) and abs(count.value - row["value"]) <= 1e-6


def just_below(event, per_tick):
    """The counters stand short of their wrap when counting begins; the traffic takes them across."""
    rig.traffic("preset", per_tick * 500)
    counts, rows = rig.both(event, event, ["traffic", "step", 1000])
    rig.ok(agree(counts[0], rows[0], 1000 * per_tick),
           f"{event}: across the wrap: perf = uncore = truth", f"{counts} {rows} {1000 * per_tick}")


# What a driver writes to its counters when it starts them: a preset does not last.
REWRITTEN = {"amd": "the driver starts its counters at 0",
             "t410": "the driver starts its counters half way", "grace": "the driver starts its counters half way"}


HALVES = ("uncore_imc_",)  # read in two halves


def moved(event, width, step):
    """What the sockets count of a step, as far as a reader can tell: the registers move modulo their width. Unless another
    program wrote them, that is no more than a quarter of it, or 2^40 in halves. A list; None for what is impossible."""
    most = max(1 << 40, 1 << (width - 2)) if not event.startswith(HALVES) else 1 << 40
    counts = [behaviour.weight(event, socket) * step % (1 << width) for socket in range(rig.SOCKETS)]
    return [count if count <= most else None for count in counts]


def again_and_again(event, width, per_tick):
    """More than two wraps' worth of traffic, in steps that are read one by one. Of a wide register such a step is more than
    it can count: the interval lacks this socket, and what comes after is right."""
    step, steps = (1 << width) * 9 // 20 // per_tick, 5
    counts = moved(event, width, step)
    impossible, counted = counts.count(None), sum(count or 0 for count in counts)
    with behaviour.Running(event) as running:
        for _ in range(steps):
            rig.traffic("step", step)
            running.wait_rows()
        if impossible:
            rig.traffic("step", 1000)
            running.wait_rows()
    got = sum(row["count"] or 0 for row in running.rows_of())
    if impossible:
        told = [row for row in running.rows_of() if row["quality"] == "suspect"]  # sockets are not read at once
        rig.ok(got == steps * counted + 1000 * per_tick and len(told) >= steps,
               f"{event}: steps that are impossible have no value",
               f"{got} {steps * counted + 1000 * per_tick} {behaviour.short(running.rows_of())}")
        return
    rig.ok(got == steps * step * per_tick > 2 << width,
           f"{event}: the intervals add up across wraps of {width} bits", f"{got} {steps * step * per_tick}")
    rig.ok(behaviour.counted(running.total[0], got),
           f"{event}: and so does the total", running.total)


def too_far(event, width, per_tick):
    """Nobody reads the counter between two wraps: what passed before is lost to every reader, as the
    driver sees no more than the difference modulo the width."""
    step = 5 * (1 << width) // 2 // per_tick
    counts, rows = rig.both(event, event, ["traffic", "step", step])
    rig.diag(f"{event}: {step * per_tick / 2 ** width:.2f} times the width between two reads: perf",
             counts[0].text, "uncore", rows[0]["count"], rows[0]["quality"], "truth", step * per_tick)
    left = moved(event, width, step)
    if None in left:
        rest = sum(count or 0 for count in left)
        rig.ok(rows[0]["quality"] == "suspect" and rows[0]["value"] == (rest if rest else None),
               f"{event}: what is left of twice around is impossible, too: no value of it", behaviour.short(rows))
        return
    rig.ok(agree(counts[0], rows[0], step * per_tick % (1 << width)),
           f"{event}: twice around between two reads: perf = uncore = truth modulo the width", f"{counts} {behaviour.short(rows)}")


def main():
    have = rig.pmus()
    for event, width in [(behaviour.events(1)[0], behaviour.MODEL.width), *MORE.get(rig.MODEL, [])]:
        if event.split("/")[0] not in have:
            rig.skip(event, "this guest has no such PMU")
            continue
        if width == 64:
            rig.skip(event, "64 bits do not wrap")
            continue
        per_tick = behaviour.weight(event)
        if rig.MODEL in REWRITTEN:
            rig.skip(f"{event}: across the wrap after a preset", REWRITTEN[rig.MODEL])
        else:
            just_below(event, per_tick)
        again_and_again(event, width, per_tick)
        too_far(event, width, per_tick)
    rig.done()


main()

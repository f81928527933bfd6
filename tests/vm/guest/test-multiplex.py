#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""More events than counters: the kernel shares the counters, uncore says so, its coverage is the
share that was really counted, and its values are extrapolated to the truth."""

import behaviour
import rig

RATE = 1000000
WINDOW = "1"


def is_true(rows, ticks, per_tick, who):
    """rows: (value, coverage) of each event: true values, and counters that are shared evenly."""
    worst = max(abs(value / (w * ticks) - 1) for (value, _), w in zip(rows, per_tick))
    mean = sum(coverage for _, coverage in rows) / len(rows)
    text = f"worst {100 * worst:.2f} %, coverage {' '.join(f'{c:.2f}' for _, c in rows)}"
    rig.diag(f"{who}:", text)
    return [(worst <= 0.02, f"{who}: values extrapolated to the truth within 2 %", text),
            (0.4 <= mean <= 0.6, f"{who}: half of the window was counted", text)]


def with_uncore(want, per_tick, other_weight, cpu):
    """A steady rate; the neighbour, which shares its box with nobody, tells the ticks."""
    before = rig.traffic("clock")
    rows = [row for row in rig.uncore(want, ["sleep", WINDOW], "each") if row["cpu"] == cpu]
    most = rig.traffic("clock") - before
    *rows, reference = rows
    ticks = reference["count"] / other_weight
    rig.ok(all(row["quality"] == "scaled" for row in rows), "uncore: every event is scaled", behaviour.short(rows))
    rig.ok(all(row["low"] is None and row["high"] is None for row in rows), "uncore: scaled rows have no bounds", rows)
    rig.ok(all(behaviour.within(row["coverage"], row["running_ns"] / row["enabled_ns"], 1e-9)
               for row in rows), "uncore: coverage is running over enabled time", behaviour.short(rows))
    really = [row["count"] / (w * ticks) for row, w in zip(rows, per_tick)]
    off = max(abs(row["coverage"] / share - 1) for row, share in zip(rows, really))
    return [(reference["quality"] == "measured" and reference["coverage"] == 1 and ticks <= most,
             "uncore: a box that is not shared is measured", f"{ticks} of {most} {behaviour.short([reference])}"),
            (off <= 0.02, "uncore: coverage is the share of the ticks that was counted", f"{off} {really}"),
            *is_true([(row["value"], row["coverage"]) for row in rows], ticks, per_tick, "uncore")]


def with_perf(want, per_tick, other_weight, cpu):
    """The same under perf. Its sum over sockets would be wrong: it scales once for all of them."""
    *counts, reference = [c for c in rig.perf(want, ["sleep", WINDOW], "each") if c.cpu == cpu]
    return is_true([(c.value, c.share / 100) for c in counts], reference.value / other_weight, per_tick, "perf")


def ramp(want, per_tick, cpu):
    """While the rate changes an extrapolated value is a guess, and labelled as one."""
    before = rig.traffic("clock")
    rows = rig.uncore(want, ["sh", "-c", f"traffic ramp {2 * RATE} 600; sleep 0.6; traffic rate 0"], "each")
    ticks = rig.traffic("clock") - before
    rows = [row for row in rows if row["cpu"] == cpu]
    off = [row["value"] / (w * ticks) - 1 for row, w in zip(rows, per_tick)]
    rig.ok(all(row["quality"] == "scaled" and row["coverage"] < 1 for row in rows), "a ramp: scaled",
           behaviour.short(rows))
    text = "off by " + " ".join(f"{100 * share:.1f} %" for share in off)
    rig.diag("a ramp:", text)
    return [(all(abs(share) < 0.3 for share in off), "a ramp: within 30 %", text)]


def is_honest(row, truth):
    """What had no turn has no value; what had some of it says so; what had all of it is right."""
    if row["quality"] == "measured":
        return row["coverage"] == 1 and row["count"] == truth
    if row["quality"] == "partial" and row["coverage"] < 1:
        return False
    return row["quality"] in ("scaled", "partial", "suspect", "unavailable") and (row["reason"] or row["coverage"] < 1)


def burst(want, per_tick):
    """A window too short for all to have their turn."""
    rows = rig.uncore(want, ["traffic", "step", 1000])
    rig.ok(all(is_honest(row, 1000 * w) for row, w in zip(rows, per_tick)),
           "a burst in a short window: scaled, or the reason why not, or exact", behaviour.short(rows))


def main():
    events, other = behaviour.events(2 * behaviour.MODEL.counters), behaviour.neighbour()
    behaviour.rotate_slowly({event.split("/")[0] for event in [*events, other]})
    cpu = rig.pmus()[behaviour.pmu()].cpus[0]
    per_tick = [behaviour.weight(event, cpu=cpu) for event in events]
    other_weight, want = behaviour.weight(other, cpu=cpu), ",".join([*events, other])
    rig.traffic("rate", RATE)
    behaviour.by_timing(lambda: with_uncore(want, per_tick, other_weight, cpu))
    behaviour.by_timing(lambda: with_perf(want, per_tick, other_weight, cpu))
    rig.traffic("rate", 0)
    behaviour.by_timing(lambda: ramp(",".join(events), per_tick, cpu))
    burst(",".join(events), [behaviour.weight(event) for event in events])
    rig.done()


main()

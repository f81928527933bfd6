#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Ratios and latencies while some reads of MSRs take long, so that the counters of a group are read at different
times: the truth is within the bounds of a row, or the row has none and is right."""

import importlib
import json
import os

import rig

metrics = importlib.import_module("test-metrics")

SECONDS = 20
LEAST = 0.95  # of the rows
CLOSE = 0.005  # without bounds
STALL = 8  # ms that some reads take


def quotients():
    """Metrics of several counters that have no time in them, and those that are times; as many as are counted at once."""
    found = [m for m in metrics.metrics() if m.formula and m.unit in ("ratio", "s") and len(m.events) > 1 and
             not (m.in_turns or m.in_rounds or m.suspect or m.doubt)]
    return [m for m in found if m.value(lambda *a: metrics.weight(*a) * metrics.RATE, None, 1.0) <= 1 or m.unit == "s"]


def verdict(row, expected):
    """Whether a row is right, and whether it says by how much it may be off."""
    if row["low"] is not None:
        return row["low"] <= expected * (1 + 1e-6) and expected * (1 - 1e-6) <= row["high"], True
    return metrics.near(row["value"], expected, CLOSE), False


def stalled(batch):
    """Rows of each counter at a short interval, while reads take long."""
    rig.traffic("stall", STALL)
    done = rig.run(["uncore", "stat", "-j", "-M", metrics.listed(batch), "-A", "-I", "100ms", "--timeout", f"{SECONDS}s"],
                   status=None)
    rig.traffic("stall", 0)
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    for metric in batch:
        mine = [r for r in rows if not r["total"] and (r["family"], r["name"]) == (metric.family, metric.short) and
                r["value"] is not None and r["quality"] == "measured"]
        right, bounded = 0, 0
        wrong = []
        for row in mine:
            good, has = verdict(row, metrics.at_rate(metric, (row["pmu"], row["cpu"]))[0])
            right, bounded = right + good, bounded + has
            wrong += [] if good else [(row["pmu"], row["cpu"], row["low"], row["value"], row["high"])]
        rig.diag(f"{metric.name}: {len(mine)} rows, {bounded} with bounds, {len(mine) - right} wrong")
        rig.ok(len(mine) > 20 and right >= LEAST * len(mine), f"{metric.name} within its bounds while reads take long",
               f"{right} of {len(mine)}: {wrong[:5]}")


def main():
    rig.traffic("rate", metrics.RATE)
    found = quotients() if os.uname().machine == "x86_64" else []
    if not found:
        rig.skip("ratios", "this model has no metric of several counters in MSRs")
    for batch in metrics.batches(found)[:3]:
        stalled(batch)
    rig.traffic("rate", 0)
    rig.done()


if __name__ == "__main__":
    main()

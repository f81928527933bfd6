#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The perf lines that `uncore explain` prints, run by perf: every event counts, and with each name the
counts of all of its PMUs come to the truth."""

import json
import re
import shlex

import rig
import truth

MODEL = truth.model(rig.MODEL)
PMUS = rig.pmus()
TICKS = 1009


def events_of(line):
    """The events of "perf stat -a -e '...' -e '...' -- sleep 1", as one list."""
    words = shlex.split(line)
    return ",".join(words[i + 1] for i, word in enumerate(words) if word == "-e")


def weight(pmu, terms, cpu):
    """Counts per tick, as in test-metrics.py."""
    return MODEL.weight(re.sub(r"\d+$", "0", pmu) if MODEL.broken(pmu) else pmu, PMUS[pmu].encode(terms), cpu)


def scale(pmu, terms):
    """The factor by which perf multiplies the counts of an alias."""
    return float(PMUS[pmu].scales.get(terms.split(",")[0], 1))


def check(metric, family):
    """Why the metric's line is wrong, or None; with too few counters perf has them by turns."""
    counts = {}
    for count in rig.perf(events_of(metric["perf"]), ["traffic", "step", TICKS]):
        if count.value is None:
            return f"{count.name} is not counted: {count}"
        if count.share < 100:
            return None
        counts[count.name] = counts.get(count.name, 0) + count.value
    for event in metric["events"]:
        # One that not all PMUs have is printed with the name of the first.
        if event["pmu"] is None or event["pmu_count"] != len(family):
            continue
        expected = TICKS * sum(weight(p, event["terms"], cpu) * scale(p, event["terms"])
                               for p in family for cpu in PMUS[p].cpus)
        # perf prints six digits after the point of what it has multiplied.
        if not abs(counts.get(event["name"], 0) - expected) <= 1e-6 * len(family):
            return f"{event['name']}: {counts.get(event['name'])} and not {expected}"
    return None


def main():
    rig.traffic("rate", 0)
    families = {}
    for pmu in json.loads(rig.run(["uncore", "list", "-j"]).stdout)["pmus"]:
        if pmu["family"] and pmu["name"] in PMUS:
            families.setdefault(pmu["family"], []).append(pmu["name"])
    every = json.loads(rig.run(["uncore", "explain", "-j", "*"]).stdout)["metrics"]
    lines = [m for m in every if m["perf"] and m["family"] in families and m["missing"] is None]
    rig.ok(len(lines) > 5, "there are lines to run", len(lines))
    for metric in lines:
        try:
            why = check(metric, families[metric["family"]])
        except rig.Failed as error:
            why = repr(error)
        rig.ok(why is None, f"{metric['family']}/{metric['name']}", f"{why}\n{metric['perf']}")
    rig.done()


if __name__ == "__main__":
    main()

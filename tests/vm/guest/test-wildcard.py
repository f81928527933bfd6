#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Names that mean several PMUs: a prefix, a glob, a name without its kernel prefix. The row is the
sum of its instances, and -A shows each."""

import re

import behaviour
import rig

STEP = 1000


def main():
    name, terms, _ = behaviour.events(1)[0].split("/")
    stem = re.sub(r"_\d+$", "", name)
    alike = [pmu for pmu in rig.pmus() if re.fullmatch(re.escape(stem) + r"(_\d+)?", pmu)]
    if len(alike) < 2:
        rig.skip("wildcard", f"this guest has {alike} only: nothing to sum over")
        rig.done()
    truth = STEP * sum(behaviour.weight(f"{pmu}/{terms}/") for pmu in alike)
    count = sum(len(rig.pmus()[pmu].cpus) for pmu in alike)
    forms = [stem, stem + "_*", stem + "_[0-9]*"] + ([stem[7:]] if stem.startswith("uncore_") else [])
    rows = rig.uncore(",".join(f"{form}/{terms}/" for form in forms), ["traffic", "step", STEP])
    rig.ok(len(rows) == len(forms), "a row for each form", behaviour.short(rows))
    for form, row in zip(forms, rows):
        rig.ok(behaviour.counted(row, truth) and row["instances"] == count,
               f"{form}: the sum of {count}", f"{row} {truth}")
    counts = rig.perf(f"{stem}/{terms}/", ["traffic", "step", STEP])
    rig.ok(sum(c.value for c in counts) == truth, "perf gives the same for the prefix", f"{counts} {truth}")
    rows = rig.uncore(f"{stem}/{terms}/", ["traffic", "step", STEP], "each")
    rig.ok({row["pmu"] for row in rows} == set(alike) and len(rows) == count, "-A: a row for each", behaviour.short(rows))
    rig.ok(sum(row["count"] for row in rows) == truth, "-A: they add up", behaviour.short(rows))
    rows = rig.uncore(f"{stem}/{terms}/", ["traffic", "step", STEP], "socket")
    rig.ok([row["socket"] for row in rows] == rig.sockets() and sum(row["count"] for row in rows) == truth,
           "--per-socket: they add up", behaviour.short(rows))
    rig.done()


main()

#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Hardware with less than the catalogue knows (t410min): what needs a cycle counter that is not there is
unavailable and says so, and nothing else is; a GPU that is not there is an error."""

import json

import rig

PMUS = rig.pmus()
CYCLES = ("nvidia-t410-ucf", "nvidia-t410-pcie")  # families whose PMUs have no cycle counter here
C2C = "nvidia_nvlink_c2c_pmu_0"


def without_cycles():
    """Metrics that need cycles, by the drivers' own lists of events."""
    bare = [name for name in PMUS if name.startswith(("nvidia_ucf_pmu", "nvidia_pcie_pmu"))]
    rig.ok(bare and not [name for name in bare if "cycles" in PMUS[name].aliases], "no PMU shows cycles", bare)
    every = json.loads(rig.run(["uncore", "explain", "-j", "*"]).stdout)["metrics"]
    every = [m for m in every if m["family"].startswith("nvidia-t410-")]
    needy = [m for m in every if m["family"] in CYCLES and "cycles" in [e["name"] for e in m["events"]]]
    rig.ok(len(needy) > 3 and all("'cycles'" in (m["missing"] or "") for m in needy), "what needs them is missing",
           [(m["name"], m["missing"]) for m in needy])
    others = [m for m in every if m not in needy]
    wrong = [m["name"] for m in others if "'cycles'" in (m["missing"] or "")]
    rig.ok(len(others) > 30 and not wrong, "nothing else lacks them", wrong)
    for metric in needy:
        name = f"{metric['family']}/{metric['name']}"
        done = rig.run(["uncore", "stat", "-M", name, "--", "true"], status=None)
        rig.ok(done.returncode == 3 and "does not have the event 'cycles'" in done.stderr, f"{name} is refused", done)
    done = rig.run(["uncore", "stat", "-e", "nvidia_ucf_pmu_0/cycles/", "--", "true"], status=None)
    rig.ok(done.returncode == 2 and "no term or event 'cycles'" in done.stderr, "and the event, too", done)


def one_gpu():
    """--gpu is held against the `peer` of the link."""
    rig.ok(PMUS[C2C].read("peer") == "nr_gpu=1", "the link has one GPU", PMUS[C2C].read("peer"))
    argv = ["uncore", "stat", "-j", "-M", "nvidia-t410-nvlink-c2c/link.in.read.requests"]
    done = rig.run([*argv, "--gpu", "1", "--", "true"], status=None)
    rig.ok(done.returncode == 3 and f"GPU 1: the link of {C2C} has one GPU, 0" in done.stderr, "another one is refused",
           done)
    done = rig.run([*argv, "--gpu", "0", "--", "sh", "-c", "traffic step 1000; sleep 0.2"])
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    rig.ok(len(rows) == 1 and rows[0]["value"] > 0, "the one that is there is counted", rows)


def main():
    if rig.MODEL != "t410min":
        rig.skip("hardware that lacks something", "of t410min only")
        rig.done()
    without_cycles()
    one_gpu()
    rig.done()


main()

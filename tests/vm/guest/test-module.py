#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The driver is unloaded and loaded again: not while uncore counts, unless its devices are taken away; without it
uncore says what is missing; with it the PMUs are found again, whatever their type numbers are now."""

import pathlib
import time

import behaviour
import rig

STEP = 1000
SKX = pathlib.Path("/sys/bus/pci/drivers/skx_uncore")


def gone_and_back(module):
    """The driver is removed and comes back while uncore counts. An open counter keeps its module in use, until
    the device is taken from the driver. Another PMU gets the old type number meanwhile."""
    event = "uncore_imc_0/event=0x4/"
    devices = [path.name for path in SKX.glob("*:0a.2")]
    if not devices:
        rig.skip("a driver that is removed while uncore counts", "no driver here whose devices can be taken away")
        return
    expected, old_type = behaviour.weight(event) * STEP, rig.pmus()["uncore_imc_0"].type
    with behaviour.Running(event, "all", "50ms") as running, behaviour.Recorded(event) as recorded, \
            behaviour.Served(event) as served:
        rig.traffic("step", STEP)
        running.wait_rows()
        recorded.wait_rows()
        served.wait_intervals(2)
        for device in devices:
            (SKX / "unbind").write_text(device, encoding="ascii")
        running.wait_rows()
        served.wait_intervals(2)
        removed = behaviour.busybox("rmmod", module)
        without = behaviour.pmu() not in rig.pmus()
        other = behaviour.load("rapl")
        rig.traffic("step", STEP)
        running.wait_rows()
        loaded = behaviour.load(module)
        running.wait_rows(lambda row: row["quality"] == "measured")
        recorded.wait_rows(lambda row: row["quality"] == "measured")
        served.wait_intervals(4)
        rig.traffic("step", STEP)
        running.wait_rows()
        recorded.wait_rows()
        served.wait_intervals(20)
    new_type = rig.pmus()["uncore_imc_0"].type
    behaviour.busybox("rmmod", "rapl")
    rig.ok(removed.returncode == 0 and without and loaded.returncode == 0, "the driver is removed and comes back",
           f"{removed} {loaded}")
    rig.ok(new_type != old_type, f"the PMU has type {new_type} instead of {old_type}", other)
    rig.ok(served.seen[-3:] == [expected, expected, 2 * expected],
           "serve: the sum stands while the driver is away, and goes on after it", f"{served.seen} {expected}")
    for shown, name in ((running, "stat"), (recorded, "record")):
        check_gap(shown, name, expected)


def check_gap(running, name, expected):
    """Unavailable while the driver was away, and what was counted before and after that."""
    rows = running.rows_of()
    gap = [n for n, row in enumerate(rows) if row["quality"] == "unavailable"]
    rig.ok(gap and all(rows[n]["value"] is None and "its driver was removed" in rows[n]["reason"] for n in gap),
           f"{name}: unavailable between, with the reason", behaviour.short(rows))
    sums = [sum(row["count"] or 0 for row in part) for part in (rows[:gap[0]], rows[gap[0]:])] if gap else []
    rig.ok(sums == [expected, expected], f"{name}: the counts before and after are right",
           f"{sums} {expected} {behaviour.short(rows)}")
    rig.ok(running.total[0]["quality"] == "partial" and running.total[0]["count"] == 2 * expected,
           f"{name}: the total is partial", behaviour.short(running.total))
    rig.ok(running.status == 0, f"{name} ends well", f"{running.status} {running.errors}")


def while_counting(module, event, per_tick):
    """A driver whose counters are open stays, and they go on."""
    with behaviour.Running(event) as running:
        refused = behaviour.busybox("rmmod", module)
        rig.traffic("step", STEP)
        running.wait_rows()
    rig.ok(refused.returncode != 0 and behaviour.is_loaded(module), "not unloaded while uncore counts", refused)
    got = sum(row["count"] for row in running.rows_of())
    rig.ok(got == STEP * per_tick and behaviour.counted(running.total[0], got), "counting goes on",
           f"{got} {running.total}")


def unloaded(module, event):
    """Without the driver."""
    done = behaviour.busybox("rmmod", module)
    rig.ok(done.returncode == 0 and behaviour.pmu() not in rig.pmus(), "it is unloaded afterwards", done)
    done = rig.run(["uncore", "stat", "-e", event, "--", "true"], status=None)
    rig.ok(done.returncode == 3 and behaviour.pmu() in done.stderr, "uncore: no such PMU, status 3", done)
    done = rig.run(["uncore", "doctor", "-j"], status=None)
    missing = [f for f in rig.json.loads(done.stdout)["findings"] if f["verdict"] == "missing"]
    # "uncore PMUs" stands for families that nothing in /sys announces without their driver.
    named = [f for f in missing if f["subject"] != "uncore PMUs"]
    rig.ok(done.returncode == (3 if missing else 0) and all("is not loaded" in f["why"] for f in named),
           "uncore doctor: what is missing lacks its driver", missing)
    rig.diag("missing:", " ".join(f["subject"] for f in missing))


def again(module, event, per_tick, old_type):
    """Loaded again, once more after another PMU took a type number."""
    done = behaviour.load(module)
    deadline = time.monotonic() + rig.TIME_LIMIT
    while behaviour.pmu() not in rig.pmus() and time.monotonic() < deadline:
        time.sleep(0.05)
    rig.ok(done.returncode == 0 and behaviour.pmu() in rig.pmus(), "it is loaded again", done)
    rows = rig.uncore(event, ["traffic", "step", STEP])
    rig.ok(behaviour.counted(rows[0], STEP * per_tick), "and counts as before", behaviour.short(rows))
    rig.diag("type number: before", old_type, "now", rig.pmus()[behaviour.pmu()].type)


def main():
    module, event = behaviour.MODEL.module, behaviour.events(1)[0]
    if not behaviour.is_loaded(module):
        rig.skip("module", f"{module} is no module of this kernel, but built in")
        rig.done()
    per_tick = behaviour.weight(event)
    old_type = rig.pmus()[behaviour.pmu()].type
    while_counting(module, event, per_tick)
    gone_and_back(module)
    unloaded(module, event)
    again(module, event, per_tick, old_type)
    rig.done()


main()

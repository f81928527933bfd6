#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Windows one after the other: nothing is lost or counted twice between them, whatever the traffic
does, and each window's rate is that of the traffic in it."""

import signal
import time

import behaviour
import rig

RATE = 1000000


def clock():
    """Ramps upon ramps: the clock of the traffic neither jumps nor goes back."""
    def look():
        return time.monotonic(), rig.traffic("clock"), time.monotonic()

    seen = [look()]
    for rate in (RATE, 3 * RATE, 0, 2 * RATE, RATE, 0):
        rig.traffic("ramp", rate, 30)
        seen.append(look())
    time.sleep(0.03)
    rig.traffic("rate", 0)
    steps = [(b[1] - a[1], b[2] - a[0]) for a, b in zip(seen, seen[1:])]
    rig.ok(all(0 <= ticks <= 3 * RATE * (seconds + 0.01) for ticks, seconds in steps),
           "ramps upon ramps: the clock neither jumps nor goes back", steps)


def sums(event, per_tick):
    """Idle, bursts, ramps: the traffic stands still at both ends, so every sum is exact."""
    before = rig.traffic("clock")
    with behaviour.Running(event, interval="50ms") as running:
        rig.traffic("step", 12345)
        rig.traffic("ramp", 3 * RATE, 200)
        time.sleep(0.3)
        rig.traffic("step", 1)
        rig.traffic("ramp", 0, 100)
        time.sleep(0.25)
        running.wait_rows()
        rig.traffic("step", 999)
        running.wait_rows()
        ticks = rig.traffic("clock") - before
    rows = running.rows_of()
    got = sum(row["count"] for row in rows)
    rig.ok(running.status == 0, "Ctrl-C ends it well", f"{running.status} {running.errors}")
    rig.ok(got == ticks * per_tick, f"{len(rows)} windows add up to the truth", f"{got} {ticks * per_tick}")
    rig.ok(running.total[0]["count"] == got, "so does the total", running.total)
    bad = [row for row in rows if not (row["quality"] == "measured" or behaviour.late(row)) or row["coverage"] < 1]
    rig.ok(not bad, "all are measured, or late where the guest was stopped", behaviour.short(bad))
    rig.ok(any(row["count"] == 0 for row in rows), "idle windows are 0", behaviour.short(rows))
    ends = [row["time"] for row in rows]
    rig.ok(all(behaviour.within(b - a, row["interval"], 1e-6) for a, b, row in zip(ends, ends[1:], rows[1:])),
           "windows lie end to end", list(zip(ends, rows)))


def rates(event, per_tick, other, other_weight):
    """A steady rate: by the clock of the traffic, and by another box in the same windows."""
    rig.traffic("rate", RATE)
    # Long windows: a guest that the host stops for half a millisecond must not be 0.5 % off.
    with behaviour.Running(f"{event},{other}", interval="200ms") as running:
        time.sleep(2.4)
    rig.traffic("rate", 0)
    # The first window is that of uncore's own start.
    rows = running.rows_of(name=event)[1:-1]
    others = running.rows_of(name=other)[1:-1]
    off = sorted(abs(row["rate"] / (per_tick * RATE) - 1) for row in rows)
    apart = sorted(abs(a["rate"] / per_tick / (b["rate"] / other_weight) - 1) for a, b in zip(rows, others))
    total = running.total[0]["rate"] / (per_tick * RATE) - 1
    few = max(len(rows) * 4 // 5, 1)  # A guest that the host stops between a counter and its time is off.
    text = (f"{len(rows)} windows: off by at most {100 * off[few - 1]:.3f} % in 80 % of them, "
            f"worst {100 * off[-1]:.2f} %, total {100 * total:.3f} %, other box {100 * apart[few - 1]:.3f} %")
    rig.diag(text)
    return [(len(rows) >= 8 and off[few - 1] <= 0.005, "rates of the windows within 0.5 %", text),
            (apart[few - 1] <= 0.005, "two boxes agree on the rate within 0.5 %", text),
            (abs(total) <= 0.005, "the rate of the whole within 0.5 %", text)]


def stopped(event, per_tick):
    """A recorder that does not run for a while loses no count, and its report says what it missed."""
    if not behaviour.Recorded.possible():
        rig.skip("record: SIGSTOP loses no count", "this uncore was built without `record`")
        return
    with behaviour.Recorded(event) as recorded:
        rig.traffic("step", RATE)
        recorded.wait_rows()
        recorded.process.send_signal(signal.SIGSTOP)
        rig.traffic("step", RATE)
        time.sleep(0.5)
        recorded.process.send_signal(signal.SIGCONT)
        recorded.wait_rows()
    rows = recorded.rows_of()
    got, missed = (sum(row[name] for row in rows) for name in ("count", "missed"))
    rig.ok(got == recorded.total[0]["count"] == 2 * RATE * per_tick, "record: SIGSTOP loses no count",
           f"{got} {recorded.total} {2 * RATE * per_tick}")
    rig.ok(missed >= 40 and "missed when this was recorded" in recorded.said, "and the report says what was missed",
           f"{missed} {recorded.said}")


def main():
    event, other = behaviour.events(1)[0], behaviour.neighbour()
    per_tick = behaviour.weight(event)
    clock()
    sums(event, per_tick)
    stopped(event, per_tick)
    other_weight = behaviour.weight(other)
    behaviour.by_timing(lambda: rates(event, per_tick, other, other_weight))
    rig.done()


main()

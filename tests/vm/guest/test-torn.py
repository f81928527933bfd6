#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Registers in PCI configuration space, which the driver reads in two halves, carry every 14 to 21 ms: no interval shows what
such a reading adds, and the sums are the truth.

  UNCORE_TORN_SECONDS   how long each counter is read, 20"""

import os
import time

import behaviour
import rig

SECONDS = float(os.environ.get("UNCORE_TORN_SECONDS") or 20)
CARRY = 0.0175  # seconds from one carry to the next
AT_ONCE = 60  # seconds of one run
FAR = 3  # times the mean: above the jitter of 4 ms in a guest, below the 2^32 of a torn reading

# PMUs that are read in halves. Those of memory are read at once since Ice Lake: MMIO, readq().
EVENTS = {
    "skx": ["uncore_imc_0/event=0x4,umask=0x3/", "uncore_m2m_0/event=0x37,umask=0x1/"],
    "icx": ["uncore_m2m_0/event=0x37,umask=0x1/"],
    "spr": ["uncore_m2m_0/event=0x37,umask=0x1/", "uncore_imc_0/event=0x5,umask=0xcf/"],
}


def count(event, weight, seconds):
    """Reads it every 4 ms while it counts fast for a time; the ended command, and how many ticks there were."""
    with behaviour.Running(event, interval="4ms", place="socket") as running:
        before = rig.traffic("clock")
        rig.traffic("rate", round((1 << 32) / CARRY / weight))
        time.sleep(seconds)
        rig.traffic("rate", 0)
        ticks = rig.traffic("clock") - before
        running.wait_rows()
    return running, ticks


class Seen:
    """What the intervals of a socket showed."""

    def __init__(self):
        self.intervals, self.moved, self.fixed, self.carries = 0, 0, 0, 0
        self.far, self.none, self.wrong = [], [], []

    def add(self, running, socket, truth, seconds):
        """One run."""
        rows = running.rows_of(socket=socket)
        moved = [row for row in rows if row["count"]]
        mean = truth / seconds / 1e9
        total = next(row for row in running.total if row["socket"] == socket)
        self.intervals += len(rows)
        self.moved += len(moved)
        self.carries += truth >> 32
        self.fixed += sum("which is corrected" in (row["reason"] or "") for row in rows)
        self.far += [row for row in moved if row["quality"] == "measured" and row["count"] > (1 << 32) and
                     row["count"] > FAR * mean * row["enabled_ns"]]
        self.none += [row for row in rows if row["value"] is None]
        if total["count"] != truth:
            self.wrong.append(f"{total['count']} of {truth}, {behaviour.short([total])}")


def judge(event):
    """The checks of one counter. A long time is cut into several: the rows of each are kept in memory."""
    cpus = {rig.socket_of(cpu): cpu for cpu in rig.Pmu(rig.DEVICES / event.split("/")[0]).cpus}
    weights = {socket: behaviour.weight(event, cpu=cpu) for socket, cpu in cpus.items()}
    seen = {socket: Seen() for socket in cpus}
    left = SECONDS
    while left > 0:
        seconds = min(left, AT_ONCE)
        running, ticks = count(event, max(weights.values()), seconds)
        for socket, weight in weights.items():
            seen[socket].add(running, socket, ticks * weight, seconds)
        left -= seconds
    for socket, s in seen.items():
        rig.diag(f"{event} socket {socket}: {s.intervals} intervals, {s.moved} that moved, {s.fixed} corrected, "
                 f"{len(s.none)} without a value, {s.carries} carries")
        rig.ok(s.moved > 20 * SECONDS and not s.far and not s.none,
               f"{event}, socket {socket}: no impossible interval is measured", behaviour.short(s.far + s.none))
        rig.ok(not s.wrong, f"{event}, socket {socket}: the total is the truth", s.wrong)


def main():
    have = rig.pmus()
    for event in EVENTS.get(rig.MODEL, []):
        if event.split("/")[0] in have:
            judge(event)
    if rig.MODEL not in EVENTS:
        rig.skip("registers in halves", "no driver of this model reads halves")
    rig.done()


main()

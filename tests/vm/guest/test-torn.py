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
FAR = 3  # times the mean: above the jitter of 4 ms in a guest, below the 2^32 of a torn reading

# PMUs that are read in halves. Those of memory are read at once since Ice Lake: MMIO, readq().
EVENTS = {
    "skx": ["uncore_imc_0/event=0x4,umask=0x3/", "uncore_m2m_0/event=0x37,umask=0x1/"],
    "icx": ["uncore_m2m_0/event=0x37,umask=0x1/"],
    "spr": ["uncore_m2m_0/event=0x37,umask=0x1/", "uncore_imc_0/event=0x5,umask=0xcf/"],
}


def count(event, weight):
    """Reads it every 4 ms while it counts fast for a time; the ended command, and how many ticks there were."""
    with behaviour.Running(event, interval="4ms", place="socket") as running:
        before = rig.traffic("clock")
        rig.traffic("rate", round((1 << 32) / CARRY / weight))
        time.sleep(SECONDS)
        rig.traffic("rate", 0)
        ticks = rig.traffic("clock") - before
        running.wait_rows()
    return running, ticks


def judge(event):
    """The checks of one counter."""
    cpus = {rig.socket_of(cpu): cpu for cpu in rig.Pmu(rig.DEVICES / event.split("/")[0]).cpus}
    running, ticks = count(event, max(behaviour.weight(event, cpu=cpu) for cpu in cpus.values()))
    for socket, cpu in cpus.items():
        truth = ticks * behaviour.weight(event, cpu=cpu)
        rows = running.rows_of(socket=socket)
        moved = [row for row in rows if row["count"]]
        mean = truth / SECONDS / 1e9
        far = [row for row in moved if row["quality"] == "measured" and row["count"] > (1 << 32) and
               row["count"] > FAR * mean * row["enabled_ns"]]
        fixed = [row for row in rows if "which is corrected" in (row["reason"] or "")]
        none = [row for row in rows if row["value"] is None]
        total = next(row for row in running.total if row["socket"] == socket)
        rig.diag(f"{event} socket {socket}: {len(rows)} intervals, {len(moved)} that moved, {len(fixed)} corrected, "
                 f"{len(none)} without a value, {mean * 1e9:.4g} counts a second, {truth >> 32} carries")
        rig.ok(len(moved) > 20 * SECONDS and not far and not none,
               f"{event}, socket {socket}: no impossible interval is measured", behaviour.short(far + none))
        rig.ok(total["count"] == truth, f"{event}, socket {socket}: the total is the truth",
               f"{total['count']} of {truth}, {behaviour.short([total])}")


def main():
    have = rig.pmus()
    for event in EVENTS.get(rig.MODEL, []):
        if event.split("/")[0] in have:
            judge(event)
    if rig.MODEL not in EVENTS:
        rig.skip("registers in halves", "no driver of this model reads halves")
    rig.done()


main()

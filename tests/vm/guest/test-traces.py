#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""uncore leaves nothing behind: when it has ended, also by SIGKILL, no register is written any more
and no counter is enabled. Between intervals it writes nothing either."""

import os
import signal
import struct
import subprocess
import time

import behaviour
import rig

ENABLE = 1 << 22


def enabled_counters():
    """Numbers of the box's counters whose control register has the enable bit."""
    with open("/dev/cpu/0/msr", "rb", buffering=0) as msr:
        controls = [struct.unpack("Q", os.pread(msr.fileno(), 8, behaviour.MODEL.controls + i))[0]
                    for i in range(behaviour.MODEL.counters)]
    return [i for i, control in enumerate(controls) if control & ENABLE]


def quiet(name, seconds=0.2):
    """No register is written meanwhile; returns how many were."""
    before = rig.traffic("writes")
    time.sleep(seconds)
    written = rig.traffic("writes") - before
    rig.ok(written == 0, f"{name}: no register is written", written)


def off(name):
    """No counter of the box counts."""
    if behaviour.MODEL.controls:
        rig.ok(enabled_counters() == [], f"{name}: no counter is enabled", enabled_counters())
    else:
        rig.skip(f"{name}: no counter is enabled", "the control registers of this model cannot be seen from here")


def main():
    events = ",".join(behaviour.events(behaviour.MODEL.counters))
    before = rig.traffic("writes")
    rig.uncore(events, ["true"])
    rig.diag(f"{behaviour.MODEL.counters} counters opened, counted, closed:",
             rig.traffic("writes") - before, "register writes")
    quiet("after a run")
    off("after a run")

    with behaviour.Running(events, interval="50ms") as running:
        if behaviour.MODEL.controls:
            rig.ok(len(enabled_counters()) == behaviour.MODEL.counters, "while it runs counters are enabled",
                   enabled_counters())
        before = rig.traffic("writes")
        for _ in range(3):
            running.wait_rows()
        written = rig.traffic("writes") - before
    rig.ok(written == 0, "reading intervals writes no register", written)
    quiet("after Ctrl-C")
    off("after Ctrl-C")

    process = subprocess.Popen(["uncore", "stat", "-I", "20ms", "-e", events], stdin=subprocess.DEVNULL,
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    process.stdout.readline()
    process.send_signal(signal.SIGKILL)
    process.communicate()
    quiet("after SIGKILL")
    off("after SIGKILL")
    rows = rig.uncore(events, ["traffic", "step", 1000])
    rig.ok(all(behaviour.counted(row, 1000 * behaviour.weight(row["name"])) for row in rows),
           "all counters are free again", behaviour.short(rows))
    rig.done()


main()

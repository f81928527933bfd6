#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The emulated Cbo against the Intel Xeon E5 v2 uncore manual (329468-002, tables 2-13 and 2-14), register
by register, on a box that the driver does not use: freeze, resets, enable, threshold and edge, width."""

import rig

BOX = 14  # the last of 15; the driver takes one for each core of the guest
BASE = 0xD00 + 0x20 * BOX
BOX_CTL, CTL0, CTR0 = BASE + 0x04, BASE + 0x10, BASE + 0x16
FREEZE, RESET_COUNTERS, RESET_CONTROL = 1 << 8, 1 << 1, 1 << 0
ENABLE, EDGE, RESET = 1 << 22, 1 << 18, 1 << 17
WIDTH = 44
WEIGHT = (1 + BOX) * (1000 * 0x11 + 1 + 0x3)  # of event 0x11, umask 0x3
EVENT = 0x11 | 0x3 << 8


def counted(msr, control, ticks=10):
    """What counter 0 counts in some ticks with this control word."""
    msr[CTL0] = control
    before = msr[CTR0]
    rig.traffic("step", ticks)
    return (msr[CTR0] - before) % (1 << WIDTH)


def control_of_a_counter(msr):
    """Table 2-14."""
    rig.ok(counted(msr, EVENT) == 0, "without the enable bit nothing is counted")
    rig.ok(counted(msr, EVENT | ENABLE) == 10 * WEIGHT, "with it the event is")
    rig.ok(msr[CTL0] == EVENT | ENABLE, "the control register reads back")
    msr[CTL0] = EVENT | ENABLE | RESET
    rig.ok(msr[CTR0] == 0, "rst clears the counter")
    rig.ok(msr[CTL0] == EVENT | ENABLE, "and is write-only: it reads 0")
    rig.ok(counted(msr, EVENT | ENABLE | 1 << 24) == 10, "thresh: cycles in which as many happened")
    rig.ok(counted(msr, EVENT | ENABLE | EDGE) == 0, "edge_det comes after thresh: without one there is no edge")
    rig.ok(counted(msr, EVENT | ENABLE | EDGE | 1 << 24) == 10, "with thresh 1 it counts rising edges")
    small = ENABLE  # event 0, umask 0: 1 + BOX for each tick
    rig.ok(counted(msr, small | (1 + BOX) << 24) == 10 and counted(msr, small | (2 + BOX) << 24) == 0,
           "thresh is compared with what happens in a cycle")
    msr[CTL0] = EVENT | ENABLE
    msr[CTR0] = (1 << WIDTH) - WEIGHT
    rig.traffic("step", 3)
    rig.ok(msr[CTR0] == 2 * WEIGHT, "a counter is 44 bits wide")
    msr[CTR0] = (1 << 63) + 5
    rig.ok(msr[CTR0] == 5, "and no wider when it is written")


def control_of_the_box(msr):
    """Table 2-13."""
    msr[CTL0] = EVENT | ENABLE | RESET
    msr[BOX_CTL] = FREEZE
    rig.traffic("step", 10)
    rig.ok(msr[CTR0] == 0, "frz: the counters stand")
    rig.ok(msr[BOX_CTL] & (FREEZE | RESET_COUNTERS | RESET_CONTROL) == 0, "frz is write-only: it reads 0")
    msr[BOX_CTL] = 0
    rig.traffic("step", 10)
    rig.ok(msr[CTR0] == 10 * WEIGHT, "and go on when it is taken away, without what passed")
    msr[BOX_CTL] = RESET_COUNTERS
    rig.ok(msr[CTR0] == 0 and msr[CTL0] == EVENT | ENABLE, "rst_ctrs: counters are 0, controls stay")
    rig.traffic("step", 1)
    msr[BOX_CTL] = RESET_CONTROL
    rig.ok(msr[CTL0] == 0 and msr[CTR0] == WEIGHT, "rst_ctrl: controls are 0, counters stay")
    rig.traffic("step", 1)
    rig.ok(msr[CTR0] == WEIGHT, "and nothing is enabled any more")


def overflow(msr):
    """Sections 2.1.1 and 2.3.3.2, see ivt.c: the boxes of a socket freeze in the tick in which a counter of
    one of them overflows."""
    obey = 3 << 16
    boxes = {12: 0, 13: obey, BOX: obey}
    ctr = {box: 0xD16 + 0x20 * box for box in boxes}
    for box, control in boxes.items():
        msr[0xD04 + 0x20 * box] = control
        msr[0xD10 + 0x20 * box] = EVENT | ENABLE
        msr[ctr[box]] = 0
    weight = {box: WEIGHT // (1 + BOX) * (1 + box) for box in boxes}
    msr[CTL0 + 1], msr[CTR0 + 1] = ENABLE, 0
    msr[CTR0] = (1 << WIDTH) - 5 * WEIGHT
    rig.traffic("step", 3)
    rig.ok(msr[CTR0] == (1 << WIDTH) - 2 * WEIGHT, "a counter set to 2^44 - N counts")
    rig.traffic("step", 10)
    rig.ok(msr[CTR0] == 0 and msr[CTR0 + 1] == 5 * (1 + BOX), "with the Nth event it overflows, and its box freezes")
    rig.ok(msr[ctr[13]] == 5 * weight[13], "so do the others of the socket", msr[ctr[13]])
    rig.ok(msr[ctr[12]] == 13 * weight[12], "but not one whose bits 17:16 are 0", msr[ctr[12]])
    rig.ok(msr[BOX_CTL] == obey, "the control register does not show it")
    msr[BOX_CTL] = obey
    rig.traffic("step", 2)
    rig.ok(msr[CTR0] == 2 * WEIGHT and msr[ctr[13]] == 5 * weight[13], "one that is written without frz goes on")
    msr[CTR0] = (1 << WIDTH) - WEIGHT - 1
    rig.traffic("step", 10)
    rig.ok(msr[CTR0] == WEIGHT - 1, "the tick in which it overflows is counted whole", msr[CTR0])
    for box in boxes:
        msr[0xD10 + 0x20 * box] = 0
        msr[0xD04 + 0x20 * box] = RESET_COUNTERS | RESET_CONTROL


def main():
    if rig.MODEL != "ivt":
        rig.skip("registers", "only the Cbo of the E5 v2 has its manual here")
        rig.done()
    msr = rig.Msr(0)
    control_of_a_counter(msr)
    control_of_the_box(msr)
    overflow(msr)
    rig.done()


main()

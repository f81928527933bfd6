#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Another program writes the registers of the driver's boxes, as LIKWID and PCM do: at their start they freeze the box, set
their own events and clear the counters; at their end they clear the control registers. uncore says so within an
interval, and is right again within two. Registers are those of linux arch/x86/events/intel/uncore_snbep.c."""

import pathlib
import statistics
import struct
import time

import behaviour
import rig

INTERVAL = 0.5  # seconds
BEFORE, AFTER = 4, 5  # intervals
NEAR = 0.3  # of the rate before: a guest on a busy host jitters

ENABLE, FREEZE, FREEZE_ENABLE = 1 << 22, 1 << 8, 1 << 16
OTHER_EVENTS = [0x2 | 0xB << 8, 0x4 | 0xF << 8, 0x1, 0x81]


class PciBox:
    """A box in PCI configuration space."""

    BOX, CTL, CTR, STEP = 0xF4, 0xD8, 0xA0, 4

    def __init__(self, path):
        self.path = path / "config"

    def write(self, offset, value):
        """One register of 32 bits."""
        with open(self.path, "r+b", buffering=0) as file:
            file.seek(offset)
            file.write(struct.pack("<I", value))

    def box(self, value):
        """The control register of the box."""
        self.write(self.BOX, value)

    def control(self, i, value):
        """That of a counter."""
        self.write(self.CTL + 4 * i, value)

    def clear(self, i):
        """The counter."""
        self.write(self.CTR + 8 * i, 0)
        self.write(self.CTR + 8 * i + 4, 0)


class MsrBox:
    """A box of model-specific registers."""

    def __init__(self, cpu, box, ctl, ctr):
        self.msr, self.at = rig.Msr(cpu), (box, ctl, ctr)

    def box(self, value):
        """The control register of the box."""
        self.msr[self.at[0]] = value

    def control(self, i, value):
        """That of a counter."""
        self.msr[self.at[1] + i] = value

    def clear(self, i):
        """The counter."""
        self.msr[self.at[2] + i] = 0


def pci_boxes(*ids):
    """All boxes with these device ids of Intel."""
    devices = sorted(pathlib.Path("/sys/bus/pci/devices").iterdir())
    return [PciBox(d) for d in devices if (d / "vendor").read_text(encoding="ascii").strip() == "0x8086" and
            int((d / "device").read_text(encoding="ascii"), 0) in ids]


def msr_boxes(name, base, step, offsets):
    """The boxes of PMU name_0 to name_N on all sockets."""
    boxes = []
    for pmu in rig.pmus().values():
        stem, _, number = pmu.name.rpartition("_")
        if stem == name:
            at = base + step * int(number)
            boxes += [MsrBox(cpu, *(at + offset for offset in offsets)) for cpu in pmu.cpus]
    return boxes


# PMU, events, its boxes.
MODELS = {
    "ivt": [("uncore_cbox", ["event=0x3,umask=0x1"], lambda: msr_boxes("uncore_cbox", 0xD04, 0x20, (0, 12, 18)))],
    "skx": [("uncore_imc", ["event=0x4,umask=0x3", "event=0x4,umask=0xc"],
             lambda: pci_boxes(0x2042, 0x2046, 0x204A)),
            ("uncore_cha", ["event=0x3,umask=0x1"], lambda: msr_boxes("uncore_cha", 0xE00, 0x10, (0, 1, 8)))],
    "spr": [("uncore_cha", ["event=0x3,umask=0x1"], lambda: msr_boxes("uncore_cha", 0x2000, 0x10, (0, 2, 8)))],
}


def begin(boxes):
    """A profiler begins: its own events, counters cleared."""
    for box in boxes:
        box.box(FREEZE_ENABLE | FREEZE)
        for i, event in enumerate(OTHER_EVENTS):
            box.control(i, event | ENABLE)
            box.clear(i)
        box.box(FREEZE_ENABLE)


def end(boxes):
    """A profiler ends: nothing is enabled any more."""
    for box in boxes:
        for i in range(len(OTHER_EVENTS)):
            box.control(i, 0)
        box.box(0)


def zeroed(boxes):
    """The same, and the counters are cleared, too."""
    end(boxes)
    for box in boxes:
        for i in range(len(OTHER_EVENTS)):
            box.clear(i)


def watch(name, terms, boxes, write):
    """uncore counts while the registers are written."""
    events = [f"{name}/{t}/" for t in terms]
    what = f"{name}, {write.__name__}"
    rig.traffic("rate", 100000)
    with behaviour.Running(",".join(events), interval=f"{INTERVAL}s", place="socket") as running:
        for _ in range(BEFORE):
            running.wait_rows()
        written = time.clock_gettime(time.CLOCK_MONOTONIC)
        last = float(running._last())  # pylint: disable=protected-access
        write(boxes)
        took = time.clock_gettime(time.CLOCK_MONOTONIC) - written
        for _ in range(AFTER):
            running.wait_rows()
    rig.traffic("rate", 0)
    for event in events:
        for socket in rig.sockets():
            rows = [row for row in running.rows_of(socket=socket) if row["name"] == event]
            before = [row["rate"] for row in rows if row["time"] <= last and row["rate"]]
            after = [row for row in rows if row["time"] > last]
            usual = statistics.median(before)
            told = [i for i, row in enumerate(after) if row["quality"] == "suspect" and
                    "another program writes these registers" in row["reason"]]
            # In interval 0 it was written; the next one shows what stands still. Then all is right.
            right = [abs(row["rate"] / usual - 1) < NEAR if row["rate"] is not None else False for row in after[2:]]
            impossible = [row for row in after if row["quality"] == "measured" and row["rate"] > 2 * usual]
            rig.ok(not impossible, f"{what}: {event} socket {socket}: no impossible interval is measured",
                   behaviour.short(impossible))
            rig.ok(told and told[0] <= 1, f"{what}: {event} socket {socket}: it is told within an interval",
                   f"{took:.2f} s to write; {behaviour.short(after)}")
            rig.ok(len(right) >= 2 and sum(right) >= len(right) - 1, f"{what}: {event} socket {socket}: "
                   "it is right again within two intervals", f"{usual} {behaviour.short(after)}")
            total = next(row for row in running.total if row["socket"] == socket and row["name"] == event)
            rig.ok(total["value"] is not None and total["rate"] < 1.3 * usual,
                   f"{what}: {event} socket {socket}: the total has no jump", behaviour.short([total]))


def main():
    if rig.MODEL not in MODELS:
        rig.skip("registers that other programs write", "of other models only")
    for name, terms, find in MODELS.get(rig.MODEL, []):
        boxes = find()
        rig.ok(boxes, f"{name} has boxes")
        for write in (begin, end, zeroed):
            watch(name, terms, boxes, write)
    rig.done()


main()

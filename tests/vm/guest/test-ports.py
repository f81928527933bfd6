#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""I/O stacks by root port, on every socket: exact over a step, and within half a percent at a steady rate.

Which root ports there are is read from sysfs here, without uncore: bridges on the bus of a stack. On Skylake the
driver names that bus, and a bit of ch_mask is a port's device number (Intel PCM's pcm-iio). On Sapphire Rapids it is
the device number less 1, and the bus is one of those at the head of tests/vm/pmon/spr.c."""

import pathlib

import rig
import truth

MODEL = truth.model(rig.MODEL)
PMUS = {name: pmu for name, pmu in rig.pmus().items() if name.startswith("uncore_iio_") and "free" not in name}
DEVICES = pathlib.Path("/sys/bus/pci/devices")
TICKS = 100003  # of a step
FEW_TICKS = 53  # of a step in which no port moves more than its link can
RATE = 200000  # ticks per second
TRIES = 4
OUTPUT = pathlib.Path("/tmp/ports.json")
SPR = rig.MODEL == "spr"
# For each socket, the root bus of the stack that a PMU counts.
SPR_UNITS = ("1", "2", "4", "6", "7", "9")
SPR_BUSES = ((0x15, 0x26, 0x37, 0x48, 0x59, 0x6A), (0x95, 0xA6, 0xB7, 0xC8, 0xD9, 0xEA))
PARTS, FIRST = (8, 1) if SPR else (4, 0)  # bits of ch_mask, and the device number of the lowest
METRICS = {  # name: event and mask
    "pcie.inbound.read.bandwidth": (0x83, 4),
    "pcie.inbound.write.bandwidth": (0x83, 1),
    "pcie.outbound.read.bandwidth": (0xC0, 4),
    "pcie.outbound.write.bandwidth": (0xC0, 1),
}


def bridges(bus):
    """Root ports on a root bus "ssss:bb": {address: bit of ch_mask}."""
    found = {}
    for path in DEVICES.iterdir():
        if path.name.startswith(f"{bus}:") and (path / "class").read_text().startswith("0x0604"):
            found[path.name] = int(path.name[8:10], 16) - FIRST
    return found


def bus_of(name, pmu, socket):
    """The root bus of a stack, "ssss:bb"; "" for none."""
    if not SPR:
        return pmu.read(f"die{socket}", "")
    unit = name.rpartition("_")[2]
    return f"0000:{SPR_BUSES[socket][SPR_UNITS.index(unit)]:02x}" if unit in SPR_UNITS else ""


def places():
    """{(PMU, CPU, port or None): bits of ch_mask}: what must have a row."""
    wanted = {}
    for name, pmu in PMUS.items():
        for cpu in pmu.cpus:
            bus = bus_of(name, pmu, rig.socket_of(cpu))
            here = bridges(bus) if bus else {}
            for port, bit in here.items():
                wanted[(name, cpu, port)] = 1 << bit
            if not here:
                wanted[(name, cpu, None)] = (1 << PARTS) - 1
    return wanted


def is_right(row):
    """The quality of a port's row: on Sapphire Rapids it is known from Intel's PCM only which part counts it."""
    return row["quality"] == ("suspect" if SPR else "measured") and (not SPR or "Intel's pcm" in row["reason"])


def terms_of(mask, metric):
    """The event of a metric, for some ports."""
    code, umask = METRICS[metric]
    return f"event={code:#x},umask={umask:#x},ch_mask={mask:#x},fc_mask=0x7"


def expected(place, mask, metric):
    """Counts of 4 bytes per tick."""
    return MODEL.weight(place[0], PMUS[place[0]].encode(terms_of(mask, metric)), place[1])


def test_stepped(metric):
    """Exact: counts for each bit of ch_mask, perf's of one step and uncore's of another, as there are two
    counters for these events."""
    bad = []
    for bits in zip(range(0, PARTS, 2), range(1, PARTS, 2)):
        names = [f"uncore_iio/{terms_of(1 << bit, metric)},name=bit{bit}/" for bit in bits]
        each = [f"{pmu}/{terms_of(1 << bit, metric)},name={pmu}:bit{bit}/" for pmu in PMUS for bit in bits]
        counts = rig.perf(",".join(each), ["traffic", "step", TICKS], "each")
        rows = rig.uncore(",".join(names), ["traffic", "step", TICKS], "each")
        perf = {(*c.name.split(":bit"), c.cpu): c.value for c in counts}
        if len(rows) != len(counts) or len(rows) != len(bits) * sum(len(p.cpus) for p in PMUS.values()):
            bad.append(f"{len(rows)} rows, {len(counts)} counts of perf")
        for row in rows:
            bit, theirs = int(row["name"][3:]), perf.get((row["pmu"], row["name"][3:], row["cpu"]))
            right = expected((row["pmu"], row["cpu"]), 1 << bit, metric) * TICKS
            verdict = "exact" if row["count"] == right == theirs else "differs"
            rig.record(row["pmu"], f"{metric} of port {bit}, CPU {row['cpu']}", theirs, row["count"], right, verdict)
            if verdict != "exact":
                bad.append(f"{row['pmu']} port {bit} CPU {row['cpu']}: perf {theirs} {row['count']} truth {right}")
    rig.ok(not bad, f"{metric}: every port over a step", "\n".join(bad))


def rows_of(metric, command):
    """{place: row}, once they are not partial."""
    for _ in range(TRIES):
        rows = rig.uncore(f"intel-iio/{metric}", command, more=["--per-port"], what="-M")
        if all(r["quality"] != "partial" for r in rows):
            break
    return {(r["pmu"], r["cpu"], r["port"]): r for r in rows}


def test_steady(metric, wanted):
    """Within half a percent of the known rate."""
    for window in ("1", "2", "4"):
        rows = rows_of(metric, ["sleep", window])
        bad = [f"{place}: {rows.get(place)}" for place, mask in wanted.items()
               if place not in rows or not rows[place]["value"] or
               abs(rows[place]["value"] / (4 * expected(place, mask, metric) * RATE) - 1) > 0.005]
        bad += [f"{place}: not expected" for place in rows.keys() - wanted.keys()]
        if not bad:
            break
    rig.ok(not bad, f"{metric}: {len(wanted)} ports and stacks at a steady rate", "\n".join(bad))


def of_device(device, event):
    """Rows of `uncore pcie --device` over a step: (those of metrics, those of the event), when none is partial.
    What the device counts itself, as a disk does, is not the rig's traffic."""
    argv = ["uncore", "pcie", "-j", "-o", OUTPUT, "-e", event, "--device", device]
    for _ in range(TRIES):
        rig.run([*argv, "--", "sh", "-c", f"traffic step {FEW_TICKS}; sleep 0.2"])
        rows = rig.uncore_rows(OUTPUT)
        if all(r["quality"] != "partial" for r in rows):
            break
    rows = [r for r in rows if r["device"] != device]
    return [r for r in rows if r["kind"] == "metric"], [r for r in rows if r["kind"] == "event"]


def test_device(place, mask):
    """Exact: a device behind a port is counted by one part of one stack. The event beside the metrics is the counter
    of one of them, and its row has the time that it was enabled."""
    pmu, cpu, port = place
    for device in sorted(path.name for path in (DEVICES / port).glob("0000:*")):
        first = next(iter(METRICS))
        metrics, events = of_device(device, f"{pmu}/{terms_of(mask, first)}/")
        own = [r for r in events if expected(place, mask, first) * FEW_TICKS == r["count"]]
        rig.ok(len(own) == 1 and {r["name"] for r in metrics} == METRICS.keys() and len(metrics) == len(METRICS),
               f"{device} behind {port}: one row for each metric", f"{metrics} {events}")
        for row in metrics if own else []:
            moved = row["value"] and row["value"] * own[0]["enabled_ns"] / 1e9
            right = 4 * expected(place, mask, row["name"]) * FEW_TICKS
            good = moved and abs(moved / right - 1) < 1e-9 and is_right(row) and row["port"] == port
            rig.record(pmu, f"{row['name']} of {device}", None, moved, right, "exact" if good else "differs")
            rig.ok(good, f"{row['name']} of {device}: {mask:#x} of {pmu} and nothing else", f"{moved} {right} {row}")


def main():
    """All metrics of the stacks."""
    if rig.MODEL not in ("skx", "spr"):
        rig.skip("I/O stacks by port", "this machine's have no root ports")
        rig.done()
    wanted = places()
    ports = {port for _, _, port in wanted if port}
    disk = 0 if SPR else 1  # of the first socket
    rig.ok(len(ports) == (5 if SPR else 4) * rig.SOCKETS + disk, "four root ports on each socket, of spr five, and the disk's",
           ports)
    for metric in METRICS:
        test_stepped(metric)
    for place, mask in wanted.items():
        if place[2]:
            test_device(place, mask)
    rig.traffic("rate", RATE)
    for metric in METRICS:
        test_steady(metric, wanted)
    rig.traffic("rate", 0)
    rig.done()


if __name__ == "__main__":
    main()

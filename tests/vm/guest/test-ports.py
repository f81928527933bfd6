#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""I/O stacks by root port, on every socket: exact over a step, and within half a percent at a steady rate.

Which root ports there are is read from sysfs here, without uncore: bridges on the bus that the driver
names for a stack. A bit of ch_mask is a port's device number (Intel PCM's pcm-iio, Skylake)."""

import pathlib

import rig
import truth

MODEL = truth.model(rig.MODEL)
PMUS = {name: pmu for name, pmu in rig.pmus().items() if name.startswith("uncore_iio_") and "free" not in name}
DEVICES = pathlib.Path("/sys/bus/pci/devices")
TICKS = 100003  # of a step
RATE = 200000  # ticks per second
TRIES = 4
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
            found[path.name] = int(path.name[8:10], 16)
    return found


def places():
    """{(PMU, CPU, port or None): bits of ch_mask}: what must have a row."""
    wanted = {}
    for name, pmu in PMUS.items():
        for cpu in pmu.cpus:
            bus = pmu.read(f"die{rig.socket_of(cpu)}", "")
            here = bridges(bus) if bus else {}
            for port, bit in here.items():
                wanted[(name, cpu, port)] = 1 << bit
            if not here:
                wanted[(name, cpu, None)] = 0xF
    return wanted


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
    for bits in ((0, 1), (2, 3)):
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
        if all(r["quality"] == "measured" for r in rows):
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


def main():
    """All metrics of the stacks."""
    if rig.MODEL != "skx":
        rig.skip("I/O stacks by port", "this machine's have no root ports")
        rig.done()
    wanted = places()
    ports = {port for _, _, port in wanted if port}
    rig.ok(len(ports) == 4 * rig.SOCKETS, "four root ports on each socket", ports)
    for metric in METRICS:
        test_stepped(metric)
    rig.traffic("rate", RATE)
    for metric in METRICS:
        test_steady(metric, wanted)
    rig.traffic("rate", 0)
    rig.done()


if __name__ == "__main__":
    main()

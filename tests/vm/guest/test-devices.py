#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""PCIe traffic by device and by root port, on root complex 0 of the Tegra410: two devices of QEMU's, behind
a root port each, that the model gives different traffic. Stepped everything is exact, with perf as judge;
at a steady rate it is within 0.5 %. The guest's root ports get what the hardware's have and QEMU's have
not: the capability that says which root complex they belong to (nvidia-tegra410-pmu.rst, "Mapping the RC#
to lspci segment number")."""

import json
import pathlib
import struct

import rig
import truth

PMU = "nvidia_pcie_pmu_0_rc_0"
TICKS, RATE = 100003, 200000
WINDOWS = ("1s", "2s", "4s")
PAUSES = (0, 0.5, 2)
EVENTS = ("rd_bytes", "wr_req", "rd_cum_outs")
# Address, BDF, root port by its index; tests/vm/models/t410.sh puts them there.
DEVICES = (("0000:01:00.0", 0x100, 0), ("0000:02:00.0", 0x200, 1))
DVSEC, NVIDIA, MAPPING = 0x23, 0x10DE, 0x4
MODEL = truth.model(rig.MODEL) if rig.MODEL == "t410" else None


# ---- what QEMU's root ports lack ------------------------------------------------------------------


def with_mapping(config, port):
    """A configuration space with the capability that names root complex 0 of socket 0."""
    config, at, place = bytearray(config), 0x100, 0xE00
    header = struct.unpack_from("<I", config, at)[0]
    while header >> 20:
        at = header >> 20
        header = struct.unpack_from("<I", config, at)[0]
    struct.pack_into("<I", config, at, header & 0xFFFFF | place << 20)
    struct.pack_into("<IIH", config, place, DVSEC | 1 << 16, NVIDIA | 0x14 << 20, MAPPING)
    # Bus, segment, root port, root complex, socket, from byte 0xc on.
    config[place + 0xC:place + 0x11] = bytes([0, 0, port, 0, 0])
    return bytes(config)


def show_mapping():
    """Over each root port's file lies a copy with the capability."""
    for address, _, port in DEVICES:
        above = pathlib.Path(f"/sys/bus/pci/devices/{address}").resolve().parent
        copy = pathlib.Path(f"/tmp/config-{port}")
        copy.write_bytes(with_mapping((above / "config").read_bytes(), port))
        rig.run(["mount", "--bind", copy, above / "config"])


# ---- counting -------------------------------------------------------------------------------------


def words(event, more):
    """Terms of the PMU, and the counts per tick that they must give."""
    terms = f"{event}{more and ','}{more}"
    pmu = rig.Pmu(rig.DEVICES / PMU)
    return f"{PMU}/{terms}/", MODEL.weight(PMU, pmu.encode(terms), pmu.cpus[0])


def event_stepped(event, more):
    """One event over one step, perf around uncore: counts per step that both have, or None."""
    text, weight = words(event, more)
    for pause in PAUSES:  # beside a short step the start of the counters may take so long that it shows
        counts, rows = rig.both(text, text, ["sh", "-c", f"traffic step {TICKS}; sleep {pause}"])
        if rows[0]["quality"] != "partial":
            break
    verdict = "exact"
    if rows[0]["count"] != weight * TICKS or rows[0]["quality"] != "measured" or counts[0].value != weight * TICKS:
        verdict = "differs"
    rig.record(PMU, text, counts[0].value, rows[0]["value"], weight * TICKS, verdict)
    return rows[0]["count"] if verdict == "exact" else None


def event_steady(event, more):
    """One event at a rate: why it is wrong, or None."""
    text, weight = words(event, more)
    why = "not counted"
    for window in WINDOWS:
        if not why:
            break
        output = "/tmp/devices.json"
        rig.run([*rig.uncore_argv(text, output), "--timeout", window])
        row = rig.uncore_rows(output)[0]
        rate = row["count"] / row["enabled_ns"] * 1e9 if row["enabled_ns"] else float("nan")
        good = row["quality"] == "measured" and abs(rate - weight * RATE) <= 0.005 * weight * RATE
        why = None if good else f"{row}: {rate} and not {weight * RATE}"
    return why


def test_events():
    """By BDF and by root port; the parts are the whole."""
    devices = {address: f"src_bdf={bdf:#x},src_bdf_en=0x1" for address, bdf, _ in DEVICES}
    ports = {f"root port {port}": f"src_rp_mask={1 << port:#x}" for _, _, port in DEVICES}
    for event in EVENTS:
        whole = event_stepped(event, "")
        counted = {}
        for name, terms in {**devices, **ports}.items():
            counted[name] = event_stepped(event, terms)
            rig.ok(counted[name], f"{event} of {name}: exact, by perf and uncore")
        of_devices, of_ports = ([counted[name] for name in table] for table in (devices, ports))
        rig.ok(whole and None not in of_devices and len(set(of_devices)) == 2 and sum(of_devices) == whole,
               f"{event}: two devices, unlike each other, are the whole", f"{whole} {counted}")
        rig.ok(of_devices == of_ports, f"{event}: a device alone is its root port", counted)
    rig.ok(event_stepped("rd_bytes", "src_bdf=0x300,src_bdf_en=0x1") == 0, "a device that is not there moves nothing")
    rig.traffic("rate", RATE)
    for name, terms in {**devices, **ports}.items():
        why = event_steady("rd_bytes", terms)
        rig.ok(why is None, f"rd_bytes of {name} at a steady rate", why)
    rig.traffic("rate", 0)


# ---- in our words ---------------------------------------------------------------------------------

METRICS = {"pcie.inbound.read.bandwidth": "rd_bytes", "pcie.inbound.write.requests": "wr_req"}


def metric_rows(option, value, metric, command):
    """Rows of a metric with --device or --port, and of what stands in the command."""
    output = "/tmp/devices.json"
    rig.run(["uncore", "stat", "-j", "-o", output, option, value, "-M", metric, *command])
    return rig.uncore_rows(output)


def metric_stepped(option, value, metric, text, weight):
    """A metric of a device over one step: why it is wrong, or None. The same event is asked for as it
    stands, too: it shares the counter, and beside it stands how long that was enabled."""
    for pause in PAUSES:
        rows = metric_rows(option, value, metric, ["-e", text, "--", "sh", "-c", f"traffic step {TICKS}; sleep {pause}"])
        if all(row["quality"] != "partial" for row in rows):
            break
    by_kind = {row["kind"]: row for row in rows}
    if len(rows) != 2 or len(by_kind) != 2 or any(row["quality"] != "measured" for row in rows):
        return f"{rows}"
    count, found = weight * TICKS, by_kind["metric"]["value"]
    expected = count / by_kind["event"]["enabled_ns"] * 1e9
    exact = by_kind["event"]["count"] == count and abs(found - expected) <= 1e-9 * expected
    rig.record(PMU, f"{metric} with {option} {value}", None, found, expected, "exact" if exact else "uncore differs")
    return None if exact else f"{rows} and not {count}, {expected}"


def metric_steady(option, value, metric, weight):
    """A metric of a device at a rate: why it is wrong, or None."""
    why = "not counted"
    for window in WINDOWS:
        if not why:
            break
        rows = [row for row in metric_rows(option, value, metric, ["--timeout", window]) if row["kind"] == "metric"]
        good = (len(rows) == 1 and rows[0]["quality"] == "measured" and rows[0]["filter"]
                and abs(rows[0]["value"] - weight * RATE) <= 0.005 * weight * RATE)
        why = None if good else f"{rows} and not {weight * RATE}"
    return why


def encoded(option, value, metric):
    """The counters that --dry-run plans: {(PMU, words)}."""
    done = rig.run(["uncore", "stat", "-j", "--dry-run", option, value, "-M", metric])
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    return {(row["pmu"], *row["config"][:3]) for row in rows}


def test_filters():
    """--device and --port take a device's address and the root port's."""
    for address, bdf, port in DEVICES:
        above = pathlib.Path(f"/sys/bus/pci/devices/{address}").resolve().parent.name
        ways = (("--device", address, f"src_bdf={bdf:#x},src_bdf_en=0x1", f"{bdf << 8 | 1 << 24:#x}"),
                ("--port", above, f"src_rp_mask={1 << port:#x}", f"{1 << port:#x}"),
                ("--port", f"0:0:{port}", f"src_rp_mask={1 << port:#x}", f"{1 << port:#x}"))
        for option, value, terms, word in ways:
            found = encoded(option, value, "pcie.inbound.read.bandwidth")
            rig.ok(found == {(PMU, "0x0", word, "0x0")}, f"{option} {value}: one PMU, the right filter", found)
            for metric, event in METRICS.items():
                why = metric_stepped(option, value, metric, *words(event, terms))
                rig.ok(why is None, f"{metric} with {option} {value} stepped", why)
            rig.traffic("rate", RATE)
            for metric, event in METRICS.items():
                why = metric_steady(option, value, metric, words(event, terms)[1])
                rig.ok(why is None, f"{metric} with {option} {value} at a steady rate", why)
            rig.traffic("rate", 0)


def main():
    """All of it."""
    if rig.MODEL != "t410":
        rig.skip("devices", "only the model t410 has some")
        rig.done()
    rig.traffic("rate", 0)
    missing = [address for address, _, _ in DEVICES if not pathlib.Path(f"/sys/bus/pci/devices/{address}").exists()]
    if not rig.ok(not missing, "the devices are here", rig.run(["ls", "/sys/bus/pci/devices"]).stdout):
        rig.done()
    test_events()
    show_mapping()
    test_filters()
    rig.done()


main()

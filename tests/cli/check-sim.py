#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Simulated results must be what the rates in data/sim say.

  check-sim.py MACHINE         counts every event of the simulation for some seconds and compares
  check-sim.py MACHINE FILE    compares the metrics in a .jsonl or .csv, one second per interval

The counts are worked out by simulation.py, the formulas below are written by hand."""

import json
import os
import pathlib
import subprocess
import sys

import rows
from rows import check
from simulation import Simulation, rate_of, wave_of

ROOT = pathlib.Path(os.environ["UNCORE_SOURCE_ROOT"])
UCF, CMEM = "nvidia_ucf_pmu_0", "nvidia_cmem_latency_pmu_0"
RC = [f"nvidia_pcie_pmu_0_rc_{i}" for i in range(6)]
TGT = [f"nvidia_pcie_tgt_pmu_0_rc_{i}" for i in range(6)]
C2C, DLINK = "nvidia_nvlink_c2c_pmu_0", "nvidia_nvdlink_pmu_0"
SCF, GRACE_PCIE = "nvidia_scf_pmu_0", ["nvidia_pcie_pmu_0"]
GRACE_C2C = ["nvidia_nvlink_c2c0_pmu_0", "nvidia_nvlink_c2c1_pmu_0"]
IMC = [f"uncore_imc_{i}" for i in range(8)]
CHA = [f"uncore_cha_{i}" for i in range(8)]
UPI = [f"uncore_upi_{i}" for i in range(4)]
IIO = [f"uncore_iio_{i}" for i in range(6)]
FREE = [f"uncore_iio_free_running_{i}" for i in range(6)]
PORTS = [f"bw_in_port{i}" for i in range(8)]
UMC = [f"amd_umc_{i}" for i in range(12)]


def ucf(event):
    return lambda n: n(UCF, event)


def imc(event):
    return lambda n: total(n, IMC, event)


def iio(event, *umasks):
    """All ports and all kinds of completion, in bytes."""
    masks = "ch_mask=0xff,fc_mask=0x07"
    words = [f"event={event:#04x},umask={umask:#04x},{masks}" for umask in umasks]
    return lambda n: 4 * sum(n(pmu, word) for pmu in IIO for word in words)


def ports_of_spr():
    """Free-running, 32 bytes per count."""

    def one(event):
        return lambda n: total(n, FREE, event) * 32

    return {f"pcie.port{i}.in.bandwidth": one(event) for i, event in enumerate(PORTS)}


def tor(umask):
    """Data reads that miss, of one kind."""
    return lambda n: latency(
        n, CHA, [f"event=0x36,umask={umask}"], [f"event=0x35,umask={umask}"], "event=0x01"
    )


def home(umask):
    return lambda n: total(n, CHA, f"event=0x50,umask={umask}") * 64


def umc(event):
    return lambda n: total(n, UMC, event)


def l3(umask):
    """One PMU, counted on a CPU of each core complex."""
    return lambda n: sum(n("amd_l3", f"event=0x04,umask={umask:#04x}", cpu) for cpu in (0, 2))


def df(events, *umasks):
    """Beats of 64 bytes at places of the fabric, in bytes."""
    words = [f"event={event:#05x},umask={umask:#05x}" for event in events for umask in umasks]
    return lambda n: 64 * sum(n("amd_df", word) for word in words)


def total(n, pmus, *events):
    return sum(n(pmu, event) for pmu in pmus for event in events)


def clock(pmus, cycles="cycles"):
    """The mean of the clocks that were counted."""

    def mean(n):
        clocks = [n(pmu, cycles) for pmu in pmus if n(pmu, cycles)]
        return sum(clocks) / len(clocks)

    return mean


def latency(n, pmus, in_flight, requests, cycles="cycles"):
    """Little's law, with the mean of the clocks."""
    return total(n, pmus, *in_flight) / total(n, pmus, *requests) / clock(pmus, cycles)(n)


def pcie_of_t410(direction, pmus):
    """Both directions of the Tegra410's PCIe have these."""
    p = f"pcie.{direction}"
    return {
        f"{p}.read.bandwidth": lambda n: total(n, pmus, "rd_bytes"),
        f"{p}.write.bandwidth": lambda n: total(n, pmus, "wr_bytes"),
        f"{p}.bandwidth": lambda n: total(n, pmus, "rd_bytes", "wr_bytes"),
        f"{p}.read.requests": lambda n: total(n, pmus, "rd_req"),
        f"{p}.write.requests": lambda n: total(n, pmus, "wr_req"),
        f"{p}.read.request.rate": lambda n: total(n, pmus, "rd_req") / total(n, pmus, "cycles"),
        f"{p}.write.request.rate": lambda n: total(n, pmus, "wr_req") / total(n, pmus, "cycles"),
    }


def c2c_of_t410(direction, kind):
    event = f"{direction}_{kind[0]}{'d' if kind == 'read' else 'r'}"
    return {
        f"link.c2c.{direction}.{kind}.latency": lambda n: latency(
            n, [C2C], [f"{event}_cum_outs"], [f"{event}_req"]
        ),
        f"link.c2c.{direction}.{kind}.requests": lambda n: n(C2C, f"{event}_req"),
    }


def link_of_grace(prefix, pmus):
    """PCIe and NVLink-C2C of Grace: to memory of this socket (loc) and of others (rem)."""

    def both(event):
        return lambda n: total(n, pmus, f"{event}_loc", f"{event}_rem")

    return {
        f"{prefix}.read.bandwidth": both("rd_bytes"),
        f"{prefix}.write.bandwidth": both("wr_bytes"),
        f"{prefix}.bandwidth": lambda n: both("rd_bytes")(n) + both("wr_bytes")(n),
        f"{prefix}.remote.bandwidth": lambda n: total(n, pmus, "rd_bytes_rem", "wr_bytes_rem"),
        f"{prefix}.read.requests": both("rd_req"),
        f"{prefix}.write.requests": both("wr_req"),
        f"{prefix}.requests": lambda n: both("rd_req")(n) + both("wr_req")(n),
        f"{prefix}.read.latency": lambda n: latency(
            n, pmus, ["rd_cum_outs_loc", "rd_cum_outs_rem"], ["rd_req_loc", "rd_req_rem"]
        ),
    }


def memory_of_grace(prefix, event):
    return {
        f"{prefix}.read.bandwidth": lambda n: n(SCF, f"{event}_rd_data") * 32,
        f"{prefix}.write.bandwidth": lambda n: n(SCF, f"{event}_wr_total_bytes"),
        f"{prefix}.read.latency": lambda n: latency(
            n, [SCF], [f"{event}_rd_outstanding"], [f"{event}_rd_access"]
        ),
    }


def rates_of_grace(prefix, event):
    return {
        f"{prefix}.read.request.rate": lambda n: n(SCF, f"{event}_rd_access") / n(SCF, "cycles"),
        f"{prefix}.write.request.rate": lambda n: total(
            n, [SCF], f"{event}_wr_access", f"{event}_wb_access"
        )
        / n(SCF, "cycles"),
    }


CLOCKTICKS = "event=0x01,umask=0x01"
RD, WR, DCLK = imc("cas_count_read"), imc("cas_count_write"), imc(CLOCKTICKS)
CAS_RD, CAS_WR = umc("event=0x0a,rdwrmask=0x1"), umc("event=0x0a,rdwrmask=0x2")
MEMCLK, SLOTS = umc("event=0x00"), umc("event=0x14")
LOOKUPS, MISSES = l3(0xFF), l3(0x01)
STATIONS = [0x1F, 0x5F, 0x9F, 0xDF, 0x11F, 0x15F, 0x19F, 0x1DF, 0x21F, 0x25F, 0x29F, 0x2DF]
MODERATORS = [0x81F, 0x85F, 0x89F, 0x8DF]
LINKS = [0xB5F, 0xB9F, 0xBDF, 0xC1F, 0xC5F, 0xC9F, 0xCDF, 0xD1F]

# Each window lasts one second, so "/ seconds" is nothing.
FORMULAS = {
    "t410": {
        "memory.read.bandwidth": ucf("mem_bytes_rd"),
        "memory.write.bandwidth": ucf("mem_bytes_wr"),
        "memory.bandwidth": lambda n: n(UCF, "mem_bytes_rd") + n(UCF, "mem_bytes_wr"),
        "memory.read.request.rate": lambda n: n(UCF, "mem_access_rd") / n(UCF, "cycles"),
        "memory.write.request.rate": lambda n: n(UCF, "mem_access_wr") / n(UCF, "cycles"),
        "memory.local.read.bandwidth": lambda n: n(CMEM, "rd_req") * 32,
        "memory.read.latency": lambda n: n(CMEM, "rd_cum_outs")
        / n(CMEM, "rd_req")
        / n(CMEM, "cycles"),
        **pcie_of_t410("inbound", RC),
        **pcie_of_t410("outbound", TGT),
        "pcie.inbound.read.latency": lambda n: latency(n, RC, ["rd_cum_outs"], ["rd_req"]),
        "pcie.clock.frequency": clock(RC),
        **c2c_of_t410("in", "read"),
        **c2c_of_t410("in", "write"),
        **c2c_of_t410("out", "read"),
        **c2c_of_t410("out", "write"),
        "link.c2c.clock.frequency": clock([C2C]),
        "link.cxl.read.latency": lambda n: latency(n, [DLINK], ["in_rd_cum_outs"], ["in_rd_req"]),
        "link.cxl.read.requests": lambda n: n(DLINK, "in_rd_req"),
        "link.cxl.clock.frequency": clock([DLINK]),
    },
    "grace": {
        **memory_of_grace("memory", "cmem"),
        **memory_of_grace("memory.gpu", "gmem"),
        **memory_of_grace("memory.remote", "remote_socket"),
        **rates_of_grace("memory", "cmem"),
        **rates_of_grace("memory.gpu", "gmem"),
        "memory.bandwidth": lambda n: n(SCF, "cmem_rd_data") * 32 + n(SCF, "cmem_wr_total_bytes"),
        "cache.hit.ratio": lambda n: 1 - n(SCF, "scf_cache_refill") / n(SCF, "scf_cache"),
        "cache.request.rate": lambda n: n(SCF, "scf_cache") / n(SCF, "cycles"),
        "cache.refills": lambda n: n(SCF, "scf_cache_refill"),
        "cache.allocations": lambda n: n(SCF, "scf_cache_allocate"),
        "cache.writebacks": lambda n: n(SCF, "scf_cache_wb"),
        "fabric.clock.frequency": clock([SCF]),
        "fabric.bus.clock.frequency": lambda n: n(SCF, "bus_cycles"),
        **link_of_grace("pcie.inbound", GRACE_PCIE),
        "pcie.clock.frequency": clock(GRACE_PCIE),
        **link_of_grace("link.c2c.in", GRACE_C2C),
        "link.c2c.clock.frequency": clock(GRACE_C2C),
    },
    "spr": {
        "memory.read.bandwidth": lambda n: RD(n) * 64,
        "memory.write.bandwidth": lambda n: WR(n) * 64,
        "memory.bandwidth": lambda n: (RD(n) + WR(n)) * 64,
        "memory.utilization": lambda n: (RD(n) + WR(n)) * 4 / DCLK(n),
        "memory.clock.frequency": clock(IMC, CLOCKTICKS),
        "memory.read.latency": tor("0xc8178601"),
        "memory.local.read.latency": tor("0xc816fe01"),
        "memory.remote.read.latency": tor("0xc8177e01"),
        "memory.local.read.bandwidth": home("0x01"),
        "memory.local.write.bandwidth": home("0x04"),
        "memory.remote.read.bandwidth": home("0x02"),
        "memory.remote.write.bandwidth": home("0x08"),
        "cache.miss.latency": tor("0xc817fe01"),
        "fabric.clock.frequency": clock(CHA, "event=0x01"),
        "link.out.bandwidth": lambda n: total(n, UPI, "event=0x02,umask=0x0f") * 64 / 9,
        "link.in.bandwidth": lambda n: total(n, UPI, "event=0x03,umask=0x0f") * 64 / 9,
        "link.clock.frequency": clock(UPI, "event=0x01"),
        "pcie.inbound.read.bandwidth": iio(0x83, 4),
        "pcie.inbound.write.bandwidth": iio(0x83, 1),
        "pcie.inbound.bandwidth": iio(0x83, 4, 1),
        "pcie.outbound.read.bandwidth": iio(0xC0, 4),
        "pcie.outbound.write.bandwidth": iio(0xC0, 1),
        "pcie.outbound.bandwidth": iio(0xC0, 4, 1),
        "pcie.in.bandwidth": lambda n: total(n, FREE, *PORTS) * 32,
        **ports_of_spr(),
        "pcie.clock.frequency": clock(FREE, "ioclk"),
    },
    "zen4": {
        "memory.read.bandwidth": lambda n: CAS_RD(n) * 64,
        "memory.write.bandwidth": lambda n: CAS_WR(n) * 64,
        "memory.bandwidth": lambda n: (CAS_RD(n) + CAS_WR(n)) * 64,
        "memory.utilization": lambda n: SLOTS(n) / 2 / MEMCLK(n),
        "memory.clock.frequency": clock(UMC, "event=0x00"),
        "memory.local.read.bandwidth": df(STATIONS, 0x7FE),
        "memory.local.write.bandwidth": df(STATIONS, 0x7FF),
        "memory.remote.read.bandwidth": df(STATIONS, 0xBFE),
        "memory.remote.write.bandwidth": df(STATIONS, 0xBFF),
        "pcie.inbound.read.bandwidth": df(MODERATORS, 0x7FE, 0xBFE),
        "pcie.inbound.write.bandwidth": df(MODERATORS, 0x7FF, 0xBFF),
        "link.out.bandwidth": df(LINKS, 0xF3E),
        "cache.hit.ratio": lambda n: 1 - MISSES(n) / LOOKUPS(n),
    },
}


def near(a, b):
    # Phases are cut to whole nanoseconds.
    return abs(a - b) <= 1e-7 * abs(b)


def check_metric(simulation, machine, row, begin, end):
    formulas, pmu = FORMULAS[machine], row["pmu"]  # "" or None: the row is of all

    def counted(name, event, cpu=0):
        if pmu and (pmu != name or int(row["cpu"]) != cpu):
            return 0.0
        since = [int(simulation.counts(name, event, cpu, t)) for t in (begin, end)]
        return (since[1] - since[0]) / (end - begin)

    name, value = row["name"], float(row["value"])
    check(name in formulas, f"no formula for {name} in this test")
    expected = formulas[name](counted)
    check(near(value, expected), f"{name} from {begin} to {end} s: {value}, and not {expected}")


def check_file(machine, path):
    simulation = Simulation(ROOT / f"data/sim/{machine}.yaml")
    text = pathlib.Path(path).read_text(encoding="utf-8")
    found = rows.csv_rows(text) if path.endswith(".csv") else rows.json_rows(text)
    for row in found:
        end = float(row["time"])
        begin = end - float(row["interval"])
        check(begin == int(begin) and end == int(end), f"not in steps of a second: {row}")
        check_metric(simulation, machine, row, begin, end)
    seen = {row["name"] for row in found}
    kinds = {name.split(".")[0] for name in seen}
    wanted = {name for name in FORMULAS[machine] if name.split(".")[0] in kinds}
    check(seen == wanted, f"metrics without a row, or more: {seen ^ wanted}")
    print(f"{path}: {len(found)} values are right")


def check_events(machine, seconds=3):
    simulation = Simulation(ROOT / f"data/sim/{machine}.yaml")
    args = [os.environ["UNCORE"], "--source", f"sim:{machine},step=1s", "stat", "-j", "--no-merge"]
    args += ["-I", "1", "--interval-count", str(seconds)]
    for i, rate in enumerate(simulation.rates):
        args += ["-e", f"{rate['pmu']}/{rate['event']},name=rate{i}/"]
    done = subprocess.run(args, capture_output=True, text=True, timeout=120, check=False)
    check(done.returncode == 0, f"status {done.returncode}: {done.stderr}")
    found = rows.json_rows(done.stdout)
    names = {f"rate{i}" for i in range(len(simulation.rates))}
    check({row["name"] for row in found} == names, "some have no row")
    for row in found:
        event = simulation.rates[int(row["name"][4:])]["event"]
        rate = rate_of(simulation.rates, row["pmu"], event)
        begin, end = row["time"] - row["interval"], row["time"]
        before = int(simulation.counts(row["pmu"], event, row["cpu"], begin))
        expected = int(simulation.counts(row["pmu"], event, row["cpu"], end)) - before
        what = f"{row['pmu']}/{event}/ on CPU {row['cpu']} until {end} s"
        check(row["simulated"], f"not labelled: {json.dumps(row)}")
        check(row["count"] is not None, f"{what}: {row['reason']}")
        # Counts are cut to whole numbers, the phase is cut to whole nanoseconds.
        allowed = 2 + 2e-9 * sum(wave_of(rate)[1].values())
        apart = abs(row["count"] - expected)
        check(apart <= allowed, f"{what}: {row['count']}, and not {expected}")
    print(f"{machine}: {len(found)} counts of {len(simulation.rates)} rates are right")


def main():
    try:
        if len(sys.argv) == 3:
            check_file(sys.argv[1], sys.argv[2])
        else:
            check_events(sys.argv[1])
    except rows.Wrong as wrong:
        sys.exit(f"check-sim {' '.join(sys.argv[1:])}: {wrong}")


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: MIT
"""Formulas of the simulated AMD machines, written by hand from the documents."""

from formulas import clock, doubted, msr, total

UMC = [f"amd_umc_{i}" for i in range(12)]


def umc(event):
    return lambda n: total(n, UMC, event)


def l3(event):
    """One PMU, counted on a CPU of each core complex."""
    return lambda n: sum(n("amd_l3", event, cpu) for cpu in (0, 2))


def df(events, *umasks, size=64):
    """Beats or packets at places of the fabric, in bytes."""
    words = [f"event={event:#05x},umask={umask:#04x}" for umask in umasks for event in events]
    return lambda n: size * sum(n("amd_df", word) for word in words)


def sampled(code, *sources):
    """Samples of misses that these sources answered, or their latency."""
    masks = [f"event={code:#x},umask={s:#04x},enallcores=1,enallslices=1,sliceid=3,threadmask=3" for s in sources]
    return lambda n: sum(l3(mask)(n) for mask in masks)


def ticks(*sources, unit=1e-9):
    """Mean latency: units of 10 ns for each sampled miss."""
    return lambda n: sampled(0xAC, *sources)(n) / sampled(0xAD, *sources)(n) * 10 * unit


def from_near(n):
    return sampled(0xAD, 0x01)(n) / sampled(0xAD, 0x01, 0x02)(n)


CAS_RD, CAS_WR = umc("event=0x0a,rdwrmask=0x1"), umc("event=0x0a,rdwrmask=0x2")
MEMCLK, SLOTS, CAS = umc("event=0x00"), umc("event=0x14"), umc("event=0x0a")
ACT, PCHG = umc("event=0x05"), umc("event=0x06")
LOOKUPS, MISSES = l3("event=0x04,umask=0xff"), l3("event=0x04,umask=0x01")
OLD_CHANNELS = [0x07, 0x47, 0x87, 0xC7, 0x107, 0x147, 0x187, 0x1C7]
OLD_LINKS = [0x7C7, 0x807, 0x847, 0x887]
CHANNELS = [0x1F, 0x5F, 0x9F, 0xDF, 0x11F, 0x15F, 0x19F, 0x1DF, 0x21F, 0x25F, 0x29F, 0x2DF]
MODERATORS = [0x81F, 0x85F, 0x89F, 0x8DF]
COMPLEXES = [*MODERATORS, 0x91F, 0x95F, 0x99F, 0x9DF]
CORES = [0x41E, 0x45E, 0x49E, 0x4DE, 0x51E, 0x55E, 0x59E, 0x5DE,
         0x41F, 0x45F, 0x49F, 0x4DF, 0x51F, 0x55F, 0x59F, 0x5DF]
LINKS = [0xB5F, 0xB9F, 0xBDF, 0xC1F, 0xC5F, 0xC9F, 0xCDF, 0xD1F]
ZEN5_LINKS = [0xD5F, 0xD9F, 0xDDF, 0xE1F, 0xE5F, 0xE9F]

CONTROLLERS = {
    "memory.read.bandwidth": lambda n: CAS_RD(n) * 64,
    "memory.write.bandwidth": lambda n: CAS_WR(n) * 64,
    "memory.bandwidth": lambda n: (CAS_RD(n) + CAS_WR(n)) * 64,
    "memory.utilization": lambda n: SLOTS(n) / 2 / MEMCLK(n),
    "memory.clock.frequency": clock(UMC, "event=0x00"),
    "dram.activate.rate": ACT,
    "dram.read.ratio": lambda n: CAS_RD(n) / (CAS_RD(n) + CAS_WR(n)),
    "dram.precharge.rate": PCHG,
    "dram.activate.ratio": lambda n: ACT(n) / CAS(n),
}
CACHE = {
    "clock.tsc.frequency": msr(range(4))["clock.tsc.frequency"],
    "cache.hit.ratio": lambda n: 1 - MISSES(n) / LOOKUPS(n),
}
ANY_FABRIC = {
    "memory.local.write.bandwidth": df(CHANNELS, 0x7FF),
    "memory.from.remote.write.bandwidth": df(CHANNELS, 0xBFF),
    "fabric.cpu.local.read.bandwidth": df(CORES, 0x7FE, size=32),
    "fabric.cpu.local.write.bandwidth": df(CORES, 0x7FF),
    "fabric.cpu.remote.read.bandwidth": df(CORES, 0xBFE, size=32),
    "fabric.cpu.remote.write.bandwidth": df(CORES, 0xBFF),
    "matrix.cpu.memory.read.bandwidth": df(CORES, 0x7FE, size=32),
    "matrix.cpu.memory.write.bandwidth": df(CORES, 0x7FF),
    "matrix.cpu.remote.read.bandwidth": df(CORES, 0xBFE, size=32),
    "matrix.cpu.remote.write.bandwidth": df(CORES, 0xBFF),
    "matrix.remote.memory.write.bandwidth": df(CHANNELS, 0xBFF),
}


def devices(places):
    """Their rows of the matrix."""
    return {
        "matrix.device.memory.read.bandwidth": df(places, 0x7FE),
        "matrix.device.memory.write.bandwidth": df(places, 0x7FF),
        "matrix.device.remote.read.bandwidth": df(places, 0xBFE),
        "matrix.device.remote.write.bandwidth": df(places, 0xBFF),
    }


def each_link(direction, links, mask, size=64):
    return {f"link.{n}.{direction}.bandwidth": df([link], mask, size=size) for n, link in enumerate(links)}


# Each window lasts one second, so "/ seconds" is nothing.
FORMULAS = {
    "zen3": {
        **CACHE,
        "memory.bandwidth": df(OLD_CHANNELS, 0x38),
        "cache.miss.latency.cycles": lambda n: 16 * l3("event=0x90")(n) / l3("event=0x9a,umask=0xff")(n),
        "link.out.bandwidth": df(OLD_LINKS, 0x02, size=32),
        **each_link("out", OLD_LINKS, 0x02, size=32),
    },
    "zen4": {
        **CACHE,
        **CONTROLLERS,
        **ANY_FABRIC,
        **devices(MODERATORS),
        "memory.local.read.bandwidth": df(CHANNELS, 0x7FE),
        "memory.from.remote.read.bandwidth": df(CHANNELS, 0xBFE),
        "matrix.remote.memory.read.bandwidth": df(CHANNELS, 0xBFE),
        "pcie.inbound.read.bandwidth": df(MODERATORS, 0x7FE, 0xBFE),
        "pcie.inbound.write.bandwidth": df(MODERATORS, 0x7FF, 0xBFF),
        **{f"pcie.inbound.complex{i}.bandwidth": df([place], 0x7FE, 0xBFE, 0x7FF, 0xBFF)
           for i, place in enumerate(MODERATORS)},
        "link.out.bandwidth": df(LINKS, 0xF3E),
        **each_link("out", LINKS, 0xF3E),
        # Core clocks by the table, nanoseconds by that of Zen 5.
        "cache.miss.latency.cycles": doubted(ticks(0x3F, unit=1)),
        "memory.read.latency.cycles": doubted(ticks(0x01, 0x02, unit=1)),
        "memory.local.read.latency.cycles": doubted(ticks(0x01, unit=1)),
        "memory.remote.read.latency.cycles": doubted(ticks(0x02, unit=1)),
        "memory.read.latency": doubted(ticks(0x01, 0x02)),
        "memory.local.read.latency": doubted(ticks(0x01)),
        "memory.remote.read.latency": doubted(ticks(0x02)),
        "memory.local.read.ratio": from_near,
        "memory.remote.read.ratio": lambda n: 1 - from_near(n),
    },
    "zen5": {
        **CACHE,
        **CONTROLLERS,
        **ANY_FABRIC,
        **devices(COMPLEXES),
        "pcie.inbound.read.bandwidth": df(COMPLEXES, 0xFFE),
        "pcie.inbound.write.bandwidth": df(COMPLEXES, 0xFFF),
        **{f"pcie.inbound.complex{i}.bandwidth": df([place], 0xFFE, 0xFFF) for i, place in enumerate(COMPLEXES)},
        "link.out.bandwidth": df(ZEN5_LINKS, 0xF3E),
        "link.in.bandwidth": df(ZEN5_LINKS, 0xF3F),
        **each_link("out", ZEN5_LINKS, 0xF3E),
        **each_link("in", ZEN5_LINKS, 0xF3F),
        "memory.local.read.ratio": from_near,
        "memory.remote.read.ratio": lambda n: 1 - from_near(n),
        "cache.miss.latency": ticks(0x3F),
        "memory.read.latency": ticks(0x01, 0x02),
        "memory.local.read.latency": ticks(0x01),
        "memory.remote.read.latency": ticks(0x02),
        "cache.peer.read.latency": ticks(0x04, 0x08),
        "memory.cxl.read.latency": ticks(0x10, 0x20),
    },
}

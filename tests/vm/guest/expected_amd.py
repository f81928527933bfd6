# SPDX-License-Identifier: MIT
"""Formulas of the metrics of AMD's data files, written by hand from the documents: the kernel's tables
amdzen4, memory-controller.json, data-fabric.json, cache.json and recommended.json. What a formula gets:
see test-metrics.py."""

DF, L3, UMC = "amd_df", "amd_l3", "amd_umc_*"
CAS_RD, CAS_WR = "event=0x0a,rdwrmask=0x1", "event=0x0a,rdwrmask=0x2"
CHANNELS = range(0x1F, 0x2E0, 0x40)
IO = range(0x81F, 0x8E0, 0x40)
LINKS = range(0xB5F, 0xD20, 0x40)
CORES = [*range(0x41E, 0x5DF, 0x40), *range(0x41F, 0x5E0, 0x40)]


def beats(places, *umasks, size=64):
    """Bytes per second: data beats at places of the fabric."""
    words = [f"event={place:#x},umask={umask:#x}" for umask in umasks for place in places]
    return lambda c, n, s: size * sum(c(DF, word) for word in words) / s


FABRIC = {
    "memory.local.read.bandwidth": beats(CHANNELS, 0x7FE),
    "memory.local.write.bandwidth": beats(CHANNELS, 0x7FF),
    "memory.from.remote.read.bandwidth": beats(CHANNELS, 0xBFE),
    "memory.from.remote.write.bandwidth": beats(CHANNELS, 0xBFF),
    "pcie.inbound.read.bandwidth": beats(IO, 0x7FE, 0xBFE),
    "pcie.inbound.write.bandwidth": beats(IO, 0x7FF, 0xBFF),
    "link.out.bandwidth": beats(LINKS, 0xF3E),
    **{f"link.{n}.out.bandwidth": beats([link], 0xF3E) for n, link in enumerate(LINKS)},
    "fabric.cpu.local.read.bandwidth": beats(CORES, 0x7FE, size=32),
    "fabric.cpu.local.write.bandwidth": beats(CORES, 0x7FF),
    "fabric.cpu.remote.read.bandwidth": beats(CORES, 0xBFE, size=32),
    "fabric.cpu.remote.write.bandwidth": beats(CORES, 0xBFF),
    "matrix.cpu.memory.read.bandwidth": beats(CORES, 0x7FE, size=32),
    "matrix.cpu.memory.write.bandwidth": beats(CORES, 0x7FF),
    "matrix.cpu.remote.read.bandwidth": beats(CORES, 0xBFE, size=32),
    "matrix.cpu.remote.write.bandwidth": beats(CORES, 0xBFF),
    "matrix.device.memory.read.bandwidth": beats(IO, 0x7FE),
    "matrix.device.memory.write.bandwidth": beats(IO, 0x7FF),
    "matrix.device.remote.read.bandwidth": beats(IO, 0xBFE),
    "matrix.device.remote.write.bandwidth": beats(IO, 0xBFF),
    "matrix.remote.memory.read.bandwidth": beats(CHANNELS, 0xBFE),
    "matrix.remote.memory.write.bandwidth": beats(CHANNELS, 0xBFF),
}
CONTROLLERS = {
    "memory.read.bandwidth": lambda c, n, s: c(UMC, CAS_RD) * 64 / s,
    "memory.write.bandwidth": lambda c, n, s: c(UMC, CAS_WR) * 64 / s,
    "memory.bandwidth": lambda c, n, s: (c(UMC, CAS_RD) + c(UMC, CAS_WR)) * 64 / s,
    "memory.utilization": lambda c, n, s: c(UMC, "event=0x14") / 2 / c(UMC, "event=0"),
    "memory.clock.frequency": lambda c, n, s: c(UMC, "event=0") / n(UMC) / s,
    "dram.activate.rate": lambda c, n, s: c(UMC, "event=0x05") / s,
    "dram.precharge.rate": lambda c, n, s: c(UMC, "event=0x06") / s,
    "dram.activate.ratio": lambda c, n, s: c(UMC, "event=0x05") / c(UMC, "event=0x0a"),
    "dram.read.ratio": lambda c, n, s: c(UMC, CAS_RD) / (c(UMC, CAS_RD) + c(UMC, CAS_WR)),
}
CACHE = {
    "cache.hit.ratio": lambda c, n, s: 1 - c(L3, "event=4,umask=1") / c(L3, "event=4,umask=0xff"),
}
EXPECTED = {
    ("amd", f"{family}/{name}"): formula
    for family, table in (("amd-df", FABRIC), ("amd-umc", CONTROLLERS), ("amd-l3", CACHE))
    for name, formula in table.items()
}
# The guest's memory modules tell no rate, so that nothing contradicts the kernel's table.
SETTLED = {("amd", "amd-umc/memory.clock.frequency"): lambda c, n, s: True}

# SPDX-License-Identifier: MIT
"""Formulas of the simulated AMD machines, written by hand from the documents."""

from formulas import clock, msr, total

UMC = [f"amd_umc_{i}" for i in range(12)]


def umc(event):
    return lambda n: total(n, UMC, event)


def l3(umask):
    """One PMU, counted on a CPU of each core complex."""
    return lambda n: sum(n("amd_l3", f"event=0x04,umask={umask:#04x}", cpu) for cpu in (0, 2))


def df(events, *umasks):
    """Beats of 64 bytes at places of the fabric, in bytes."""
    words = [f"event={event:#05x},umask={umask:#05x}" for event in events for umask in umasks]
    return lambda n: 64 * sum(n("amd_df", word) for word in words)


CAS_RD, CAS_WR = umc("event=0x0a,rdwrmask=0x1"), umc("event=0x0a,rdwrmask=0x2")
MEMCLK, SLOTS = umc("event=0x00"), umc("event=0x14")
LOOKUPS, MISSES = l3(0xFF), l3(0x01)
STATIONS = [0x1F, 0x5F, 0x9F, 0xDF, 0x11F, 0x15F, 0x19F, 0x1DF, 0x21F, 0x25F, 0x29F, 0x2DF]
MODERATORS = [0x81F, 0x85F, 0x89F, 0x8DF]
LINKS = [0xB5F, 0xB9F, 0xBDF, 0xC1F, 0xC5F, 0xC9F, 0xCDF, 0xD1F]

# Each window lasts one second, so "/ seconds" is nothing.
FORMULAS = {
    "zen4": {
        "clock.frequency": msr(range(4))["clock.frequency"],
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

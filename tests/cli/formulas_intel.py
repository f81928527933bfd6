# SPDX-License-Identifier: MIT
"""Formulas of the simulated Intel machines, written by hand from the documents."""

from formulas import clock, latency, msr, total

IMC = [f"uncore_imc_{i}" for i in range(8)]
CHA = [f"uncore_cha_{i}" for i in range(8)]
UPI = [f"uncore_upi_{i}" for i in range(4)]
IIO = [f"uncore_iio_{i}" for i in range(6)]
FREE = [f"uncore_iio_free_running_{i}" for i in range(6)]
PORTS = [f"bw_in_port{i}" for i in range(8)]


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


CLOCKTICKS = "event=0x01,umask=0x01"
RD, WR, DCLK = imc("cas_count_read"), imc("cas_count_write"), imc(CLOCKTICKS)

# Each window lasts one second, so "/ seconds" is nothing.
FORMULAS = {
    "spr": {
        **msr(range(4)),
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
}

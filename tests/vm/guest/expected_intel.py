# SPDX-License-Identifier: MIT
"""Formulas of the metrics of Intel's data files, written by hand from the documents: the kernel's tables
ivytown, skylakex, icelakex and sapphirerapids, its driver's free-running counters, perf's iostat.c. What
a formula gets: see test-metrics.py."""

IMC, CHA, CBOX = "uncore_imc_[0-9]*", "uncore_cha_*", "uncore_cbox_*"
M2M, UPI, PCU = "uncore_m2m_*", "uncore_upi_*", "uncore_pcu"
IIO, FREE, IRP = "uncore_iio_[0-9]*", "uncore_iio_free_running_*", "uncore_irp*"
IMC_FREE = "uncore_imc_free_running_*"
HBM = "uncore_hbm_*"


def event(code, umask=0, rest=""):
    """Terms as perf takes them."""
    return f"event={code:#x},umask={umask:#x}{rest}" if umask else f"event={code:#x}{rest}"


def rate(pmus, *terms, size=1):
    """Counts per second, each of so many bytes."""
    return lambda c, n, s: size * sum(c(pmus, t) for t in terms) / s


def lines(pmus, *terms):
    """Bytes per second, 64 a count."""
    return rate(pmus, *terms, size=64)


def share(pmus, over, under, factor=1):
    """Counts over counts, times a factor."""
    return lambda c, n, s: factor * sum(c(pmus, t) for t in over) / sum(c(pmus, t) for t in under)


def clock(pmus, terms):
    """The mean of the clocks."""
    return lambda c, n, s: c(pmus, terms) / n(pmus) / s


def little(pmus, occupancy, inserts, cycles):
    """Little's law in clocks of the boxes; a clock's length is n x s / clocks."""
    return lambda c, n, s: c(pmus, occupancy) / c(pmus, inserts) * (n(pmus) * s / c(pmus, cycles))


# ---- memory ----------------------------------------------------------------------------------------


def controllers(rd, wr, act, dclk):
    """64 bytes for each CAS, which take four clocks."""
    return {
        "memory.read.bandwidth": lines(IMC, rd),
        "memory.write.bandwidth": lines(IMC, wr),
        "memory.bandwidth": lines(IMC, rd, wr),
        "memory.utilization": share(IMC, [rd, wr], [dclk], 4),
        "memory.clock.frequency": clock(IMC, dclk),
        "dram.activate.rate": rate(IMC, act),
        "dram.activate.ratio": share(IMC, [act], [rd, wr]),
    }


def queues(dclk, **pairs):
    """Occupancy and inserts of each queue."""
    return {f"dram.{name.replace('_', '.')}.latency": little(IMC, *pair, dclk) for name, pair in pairs.items()}


def near(pmus, hit, *misses):
    """DRAM as a cache of other memory."""
    return {
        "dram.cache.hit.ratio": share(pmus, [hit], [hit, *misses]),
        "dram.cache.miss.bandwidth": lines(pmus, *misses),
    }


def far(occupancy, rd, wr_occupancy, dclk):
    """Queues of persistent memory in a controller, which may also be its cache."""
    def read(c, n, s):
        return sum(c(IMC, o) for o in occupancy) / c(IMC, rd) * (n(IMC) * s / c(IMC, dclk))

    return {
        "persistent.read.queue.latency": read,
        "persistent.write.queue.latency": little(IMC, wr_occupancy, event(0xE7), dclk),
        **near(IMC, event(0xD3, 1), event(0xD3, 2), event(0xD3, 4)),
    }


def persistent(pmus, rd, wr):
    """Reads, writes and both."""
    return {
        "memory.persistent.read.bandwidth": lines(pmus, rd),
        "memory.persistent.write.bandwidth": lines(pmus, wr),
        "memory.persistent.bandwidth": lines(pmus, rd, wr),
    }


def package(rd, wr, dclk):
    """Memory on the package, 32 bytes for each CAS."""
    return {
        "memory.package.read.bandwidth": rate(HBM, rd, size=32),
        "memory.package.write.bandwidth": rate(HBM, wr, size=32),
        "memory.package.bandwidth": rate(HBM, rd, wr, size=32),
        "memory.package.clock.frequency": clock(HBM, dclk),
    }


def halves(read, write, both, act, dclk):
    """Granite Rapids: events of two halves of a channel. A CAS takes four clocks of one half, and of these clocks
    there are four to a transfer of a half."""
    rd, wr, cas = ([event(code, mask) for code in (5, 6)] for mask in (read, write, both))
    return {
        "memory.read.bandwidth": lines(IMC, *rd),
        "memory.write.bandwidth": lines(IMC, *wr),
        "memory.bandwidth": lines(IMC, *rd, *wr),
        "memory.utilization": share(IMC, cas, [dclk], 2),
        "memory.clock.frequency": lambda c, n, s: 2 * c(IMC, dclk) / n(IMC) / s,
        "dram.activate.rate": rate(IMC, act),
        "dram.activate.ratio": share(IMC, [act], cas),
        "dram.underfill.read.bandwidth": lines(IMC, event(5, 0xCC), event(6, 0xCC)),
    }


def behind(pmus, rd, wr):
    """What is sent to the memory controllers."""
    return {"fabric.memory.read.bandwidth": lines(pmus, rd), "fabric.memory.write.bandwidth": lines(pmus, wr)}


def home(pmus, code):
    """Requests at home agents: reads and writes from here (1, 4) and from other sockets (2, 8)."""
    return {
        "memory.local.read.bandwidth": lines(pmus, event(code, 1)),
        "memory.from.remote.read.bandwidth": lines(pmus, event(code, 2)),
        "memory.local.write.bandwidth": lines(pmus, event(code, 4)),
        "memory.from.remote.write.bandwidth": lines(pmus, event(code, 8)),
        "matrix.remote.memory.read.bandwidth": lines(pmus, event(code, 2)),
        "matrix.remote.memory.write.bandwidth": lines(pmus, event(code, 8)),
    }


# ---- cache slices ----------------------------------------------------------------------------------


def agents(cycles):
    """What is the same in all caching and home agents."""
    return {
        **home(CHA, 0x50),
        "fabric.clock.frequency": clock(CHA, cycles),
        "fabric.directory.update.cha.bandwidth": lines(CHA, event(0x54, 1), event(0x54, 2)),
        "coherence.directory.lookups": rate(CHA, event(0x53, 1), event(0x53, 2)),
        "coherence.directory.snoop.ratio": share(CHA, [event(0x53, 1)], [event(0x53, 1), event(0x53, 2)]),
    }


def ddio(read, write, full, partial):
    """What devices find in the cache: of each kind of request the events that hit and those that miss."""
    def of(name, hits, misses):
        return {
            f"pcie.inbound.{name}.llc.bandwidth": lines(CHA, *hits, *misses),
            f"pcie.inbound.{name}.llc.hit.bandwidth": lines(CHA, *hits),
            f"pcie.inbound.{name}.llc.miss.bandwidth": lines(CHA, *misses),
            f"pcie.inbound.{name}.llc.hit.ratio": share(CHA, hits, hits + misses),
            f"pcie.inbound.{name}.llc.miss.ratio": share(CHA, misses, hits + misses),
        }

    return {
        **of("read", *read),
        **of("write", *write),
        "pcie.inbound.write.full.llc.miss.ratio": share(CHA, full[1], full[0] + full[1]),
        "pcie.inbound.write.partial.llc.miss.ratio": share(CHA, partial[1], partial[0] + partial[1]),
    }


def long_masks(cycles):
    """Since Ice Lake. Lookups of data reads: the misses are those of the lowest state. Of a device's requests byte 1
    of the mask is 0xfd for those that hit, 0xfe for those that miss, 0x7f for other sockets; full writes are ItoM,
    others ItoMCacheNear and RFO."""
    def missed(mask):
        return little(CHA, event(0x36, mask), event(0x35, mask), cycles)

    def cell(*masks):
        return lines(CHA, *(event(0x35, mask) for mask in masks))

    def found(*requests):
        return [[event(0x35, request | byte << 8) for request in requests] for byte in (0xFD, 0xFE)]

    read, full, near, rfo = 0xC8F30004, 0xCC430004, 0xCD430004, 0xC8030004
    home, away = [event(0x35, m) for m in (0xC816FE01, 0xC896FE01)], [event(0x35, m) for m in (0xC8177E01, 0xC8977E01)]
    return {
        **agents(cycles),
        **ddio(found(read), found(full, near), found(full), found(near, rfo)),
        "pcie.inbound.read.local.bandwidth": cell(0xC8F2FF04),
        "pcie.inbound.read.remote.bandwidth": cell(0xC8F37F04),
        "pcie.inbound.write.local.bandwidth": cell(0xCC42FF04, 0xCD42FF04),
        "pcie.inbound.write.remote.bandwidth": cell(0xCC437F04, 0xCD437F04),
        "memory.local.read.ratio": share(CHA, home, home + away),
        "memory.remote.read.ratio": share(CHA, away, home + away),
        "memory.persistent.read.latency": missed(0xC8178A01),
        "cache.miss.latency": missed(0xC817FE01),
        "cache.hit.ratio": lambda c, n, s: 1 - c(CHA, event(0x34, 0x1BC101)) / c(CHA, event(0x34, 0x1BC1FF)),
        "cache.read.requests": rate(CHA, event(0x34, 0x1BC1FF)),
        "coherence.speci2m.bandwidth": cell(0xCC57FF01),
        "memory.read.latency": missed(0xC8178601),
        "memory.local.read.latency": missed(0xC816FE01),
        "memory.remote.read.latency": missed(0xC8177E01),
        "matrix.cpu.memory.read.bandwidth": cell(
            0xC816FE01, 0xC896FE01, 0xC806FE01, 0xC886FE01, 0xC80EFE01, 0xC88EFE01),
        "matrix.cpu.remote.read.bandwidth": cell(
            0xC8177E01, 0xC8977E01, 0xC8077E01, 0xC8877E01, 0xC80F7E01, 0xC88F7E01),
        "matrix.device.memory.read.bandwidth": cell(0xC8F2FF04),
        "matrix.device.memory.write.bandwidth": cell(0xCC42FF04, 0xCD42FF04),
        "matrix.device.remote.read.bandwidth": cell(0xC8F37F04),
        "matrix.device.remote.write.bandwidth": cell(0xCC437F04, 0xCD437F04),
    }


def filters(cycles):
    """Skylake: the filter's upper half, opcodes 0x202, 0x200 and 0x201 from its bit 9 on."""
    def word(low, opcode=0x202):
        return f",config1={(opcode << 9 | 0x30 | low) << 32:#x}"

    def missed(low):
        return little(CHA, event(0x36, 0x21, word(low)), event(0x35, 0x21, word(low)), cycles)

    def cell(low):
        return lines(CHA, *(event(0x35, 0x21, word(low, opcode)) for opcode in (0x202, 0x200, 0x201)))

    def found(*opcodes):  # umask 0x14 of those that hit, 0x24 of those that miss
        return [[event(0x35, mask, word(3, opcode)) for opcode in opcodes] for mask in (0x14, 0x24)]

    read, full, rfo = 0x21E, 0x248, 0x200
    return {
        **agents(cycles),
        **ddio(found(read), found(full, rfo), found(full), found(rfo)),
        "memory.local.read.ratio": share(CHA, [event(0x35, 0x21, word(2))],
                                         [event(0x35, 0x21, word(low)) for low in (2, 1)]),
        "memory.remote.read.ratio": share(CHA, [event(0x35, 0x21, word(1))],
                                          [event(0x35, 0x21, word(low)) for low in (2, 1)]),
        "cache.miss.latency": missed(3),
        "memory.local.read.latency": missed(2),
        "memory.remote.read.latency": missed(1),
        "matrix.cpu.memory.read.bandwidth": cell(2),
        "matrix.cpu.remote.read.bandwidth": cell(1),
        "fabric.backpressure": share(CHA, [event(0xA5, 1)], [cycles]),
    }


def boxes(cycles):
    """Before Skylake: opcode 0x182 in the filter's bits 52 to 60."""
    def missed(mask):
        opcode = f",config1={0x182 << 52:#x}"
        return little(CBOX, event(0x36, mask, opcode), event(0x35, mask, opcode), cycles)

    return {
        "cache.miss.latency": missed(0x03),
        "memory.local.read.latency": missed(0x23),
        "memory.remote.read.latency": missed(0x83),
        "fabric.clock.frequency": clock(CBOX, cycles),
    }


# ---- links, power, I/O -----------------------------------------------------------------------------


def upi(twenty_lanes):
    """Nine slots for 64 bytes; a flit of three slots is 192 bits, and 160 go in a clock."""
    sent, other, cycles = event(2, 0x0F), event(2, 0x97), event(1)
    table = {
        "link.out.bandwidth": rate(UPI, sent, size=64 / 9),
        "link.in.bandwidth": rate(UPI, event(3, 0x0F), size=64 / 9),
        "link.clock.frequency": clock(UPI, cycles),
        "power.link.out.l0p.ratio": share(UPI, [event(0x27)], [cycles]),
        "power.link.l1.ratio": share(UPI, [event(0x21)], [cycles]),
    }
    if twenty_lanes:
        table["link.out.utilization"] = share(UPI, [sent, other], [cycles], 192 / 160 / 3)
    else:
        table["link.out.utilization"] = share(UPI, [sent, other], [event(2, 0xFF)])
    return table


def pcu(c0, c3, c6, cycles):
    """Cores of all sockets, counted each cycle of their own."""
    def cores(terms):
        return lambda c, n, s: c(PCU, terms) / c(PCU, cycles) * n(PCU)

    return {
        "power.cores.c0.count": cores(c0),
        "power.cores.c3.count": cores(c3),
        "power.cores.c6.count": cores(c6),
        "power.clock.frequency": clock(PCU, cycles),
        "power.limit.thermal.ratio": share(PCU, [event(4)], [cycles]),
        "power.limit.power.ratio": share(PCU, [event(5)], [cycles]),
        "power.limit.prochot.ratio": share(PCU, [event(0x0A)], [cycles]),
    }


def ubox(pmus="uncore_ubox*"):
    return {
        "interrupt.msi.rate": rate(pmus, event(0x42, 2)),
        "interrupt.ipi.rate": rate(pmus, event(0x42, 4)),
    }


def iio(ports):
    """In pieces of 4 bytes; ports are all bits of ch_mask."""
    def of(code, *masks):
        return rate(IIO, *(event(code, mask, f",ch_mask={ports:#x},fc_mask=7") for mask in masks), size=4)

    return {
        "pcie.inbound.read.bandwidth": of(0x83, 4),
        "pcie.inbound.write.bandwidth": of(0x83, 1),
        "pcie.inbound.bandwidth": of(0x83, 4, 1),
        "pcie.outbound.read.bandwidth": of(0xC0, 4),
        "pcie.outbound.write.bandwidth": of(0xC0, 1),
        "pcie.outbound.bandwidth": of(0xC0, 4, 1),
    }


def free(size, **first):
    """Counters that never stop: of each way, four ports on Skylake, later eight."""
    ports = 4 if size == 4 else 8
    table = {"pcie.clock.frequency": clock(FREE, event(0xFF, 0x10))}
    for way, mask in ((way[:-1], mask) for way, mask in first.items()):
        words = [event(0xFF, mask + port) for port in range(ports)]
        table[f"pcie.{way}.bandwidth"] = rate(FREE, *words, size=size)
        for port, word in enumerate(words):
            table[f"pcie.port{port}.{way}.bandwidth"] = rate(FREE, word, size=size)
    return table


def irp(lost=0x1F, **operations):
    """The coherent side since Skylake."""
    return {
        "io.coherent.ownership.losses": rate(IRP, event(lost, 0x10), event(lost, 0x20)),
        "pcie.inbound.read.requests": rate(IRP, event(0x18)),
        "pcie.inbound.write.requests": rate(IRP, event(0x11, 8)),
        "io.coherent.read.queue.occupancy": share(IRP, [event(0x19)], [event(1)]),
        "io.coherent.clock.frequency": clock(IRP, event(1)),
        **{f"io.coherent.{name}.requests": rate(IRP, event(0x10, mask)) for name, mask in operations.items()},
    }


# ---- models ----------------------------------------------------------------------------------------

ACTIVATES = event(1, 0x0B)
FAMILIES = {
    "ivt": {  # this guest has no more boxes
        "intel-cbox": boxes(event(0)),
        "intel-ubox": ubox(),
        "intel-pcu": pcu(*(event(0x80, 0, f",occ_sel={state}") for state in (1, 2, 3)), event(0)),
    },
    "skx": {
        "intel-imc": {
            **controllers(event(4, 3), event(4, 0x0C), ACTIVATES, event(0)),
            **queues(event(0), read_queue=(event(0x80), event(0x10)), write_queue=(event(0x81), event(0x20))),
            "dram.underfill.read.bandwidth": lines(IMC, event(4, 2)),
        },
        "intel-m2m": {
            **behind(M2M, event(0x37, 4), event(0x38, 0x10)),
            "fabric.directory.update.m2m.bandwidth": lines(M2M, event(0x2E, 1)),
        },
        "intel-cha": filters(event(0)),
        "intel-upi": upi(True),
        "intel-iio": iio(0x0F),
        "intel-iio-free-running": free(4, in_=0x20, out_=0x24),
        "intel-irp": irp(0x1D, read=1, itom=0x10, rfo=8, writeback=0x40),
        "intel-ubox": ubox(),
        "intel-pcu": pcu(event(0x80, 0x40), event(0x80, 0x80), event(0x80, 0xC0), event(0)),
    },
    "icx": {
        "intel-imc": {
            **controllers(event(4, 0x0F), event(4, 0x30), ACTIVATES, event(0)),
            **far([event(0xE0, 1)], event(0xE3), event(0xE4, 1), event(0)),
            "dram.underfill.read.bandwidth": lines(IMC, event(4, 0x0C)),
            **queues(
                event(0),
                read_queue_pch0=(event(0x80), event(0x10, 1)), read_queue_pch1=(event(0x81), event(0x10, 2)),
                write_queue_pch0=(event(0x82), event(0x20, 1)), write_queue_pch1=(event(0x83), event(0x20, 2))),
        },
        "intel-imc-free-running": persistent(IMC_FREE, event(0xFF, 0x30), event(0xFF, 0x31)),
        "intel-m2m": {"fabric.directory.update.m2m.bandwidth": lines(M2M, event(0x2E, 1))},
        "intel-cha": {
            **long_masks(event(0)),
            "fabric.backpressure": share(CHA, [event(0xAF, 1)], [event(0)]),
        },
        "intel-upi": upi(True),
        "intel-iio": iio(0xFF),
        "intel-iio-free-running": free(32, in_=0x20),
        "intel-irp": irp(itom=0x10, rfo=8, writeback=0x40),
        "intel-ubox": ubox(),
        "intel-pcu": pcu(event(0x80, 0x40), event(0x80, 0x80), event(0x80, 0xC0), event(0)),
    },
    "spr": {
        "intel-imc": {
            **controllers(event(5, 0xCF), event(5, 0xF0), event(2, 0xFF), event(1, 1)),
            **far([event(0xE0, 1), event(0xE0, 2)], event(0xE3), event(0xE4, 3), event(1, 1)),
            "dram.underfill.read.bandwidth": lines(IMC, event(5, 0xCC)),
            **queues(
                event(1, 1),
                read_queue_pch0=(event(0x80), event(0x10, 1)), read_queue_pch1=(event(0x81), event(0x10, 2)),
                write_queue_pch0=(event(0x82), event(0x20, 1)), write_queue_pch1=(event(0x83), event(0x20, 2))),
        },
        "intel-hbm": package(event(5, 0xCF), event(5, 0xF0), event(1, 1)),
        "intel-m2m": {
            **behind(M2M, event(0x24, 0x304), event(0x25, 0x1810)),
            **persistent(M2M, event(0x24, 0x320), event(0x25, 0x1880)),
            "fabric.directory.update.m2m.bandwidth": lines(M2M, event(0x21, 0x301)),
        },
        "intel-cha": long_masks(event(1)),
        "intel-upi": upi(False),
        "intel-iio": iio(0xFF),
        "intel-iio-free-running": free(32, in_=0x20),
        "intel-irp": irp(),
        "intel-ubox": ubox("uncore_type"),
        "intel-mdf": {"clock.mdf.frequency": clock("uncore_mdf_*", event(1))},
        "intel-pcu": pcu(event(0x35), event(0x36), event(0x37), event(1)),
        "intel-cxlcm": {"memory.cxl.read.bandwidth": lines("uncore_cxlcm_*", event(0x41, 0x10))},
        "intel-cxldp": {"memory.cxl.write.bandwidth": lines("uncore_cxldp_*", event(2, 0x20))},
    },
    "gnr": {
        "intel-imc": halves(0xCF, 0xF0, 0xFF, event(2, 0xF7), event(1, 1)),
        "intel-m2m": {
            **behind(M2M, event(0x24, 0x104), event(0x25, 0x110)),
            **near(M2M, event(0x1F, 0x0F), event(0x4B, 0x0F)),
            "fabric.directory.update.m2m.bandwidth": lines(M2M, event(0x21, 0x301)),
        },
        "intel-cha": {name: formula for name, formula in long_masks(event(1)).items() if "persistent" not in name},
        "intel-upi": upi(False),
        "intel-iio": iio(0xFF),
        "intel-iio-free-running": free(32, in_=0x20),
        "intel-irp": {
            **irp(),
            "pcie.inbound.read.queue.latency": little(IRP, event(0x19), event(0x18), event(1)),
        },
        "intel-ubox": ubox("uncore_type"),
        "intel-mdf": {"clock.mdf.frequency": clock("uncore_mdf_*", event(1))},
        "intel-pcu": pcu(event(0x35), event(0x36), event(0x37), event(1)),
        "intel-cxlcm": {"memory.cxl.read.bandwidth": lines("uncore_cxlcm_*", event(0x41, 0x10))},
        "intel-cxldp": {"memory.cxl.write.bandwidth": lines("uncore_cxldp_*", event(2, 0x20))},
    },
}
EXPECTED = {
    (model, f"{family}/{name}"): formula
    for model, families in FAMILIES.items()
    for family, table in families.items()
    for name, formula in table.items()
}
# Half of the data rate above 1.6 GHz, a quarter below 2.3 GHz: the modules' rate is not known here.
SETTLED = {
    (model, f"intel-imc/memory.{name}"): rule
    for model, rule in (("spr", lambda c, n, s: c(IMC, event(1, 1)) > 1.6e9 * n(IMC) * s),
                        ("gnr", lambda c, n, s: c(IMC, event(1, 1)) < 2.3e9 * n(IMC) * s))
    for name in ("utilization", "clock.frequency")
}
# Counted in rounds: six events for four counters, and on Skylake several filters for the one that a slice has.
IN_ROUNDS = {
    (model, f"intel-cha/matrix.cpu.{to}.read.bandwidth")
    for model in ("skx", "icx", "spr", "gnr") for to in ("memory", "remote")
} | {("skx", f"intel-cha/pcie.inbound.write.llc.{what}bandwidth") for what in ("", "hit.", "miss.")}
# Quotients that need as much are counted in turns; three events for the two counters of an IRP, too.
IN_TURNS = {
    ("skx", f"intel-cha/{metric}")
    for metric in ("memory.local.read.ratio", "memory.remote.read.ratio", "pcie.inbound.write.llc.hit.ratio",
                   "pcie.inbound.write.llc.miss.ratio")
} | {("gnr", "intel-irp/pcie.inbound.read.queue.latency")}

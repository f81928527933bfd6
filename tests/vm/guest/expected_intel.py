# SPDX-License-Identifier: MIT
"""Formulas of the metrics of Intel's data files, written by hand from the documents: the kernel's tables
ivytown, skylakex, icelakex and sapphirerapids, its driver's free-running counters, perf's iostat.c. What
a formula gets: see test-metrics.py."""

IMC, CHA, CBOX = "uncore_imc_[0-9]*", "uncore_cha_*", "uncore_cbox_*"
M2M, UPI, PCU = "uncore_m2m_*", "uncore_upi_*", "uncore_pcu"
IIO, FREE, IRP = "uncore_iio_[0-9]*", "uncore_iio_free_running_*", "uncore_irp*"
IMC_FREE = "uncore_imc_free_running_*"


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


def persistent(pmus, rd, wr):
    """Reads, writes and both."""
    return {
        "memory.persistent.read.bandwidth": lines(pmus, rd),
        "memory.persistent.write.bandwidth": lines(pmus, wr),
        "memory.persistent.bandwidth": lines(pmus, rd, wr),
    }


def behind(pmus, rd, wr):
    """What is sent to the memory controllers."""
    return {"fabric.memory.read.bandwidth": lines(pmus, rd), "fabric.memory.write.bandwidth": lines(pmus, wr)}


def home(pmus, code):
    """Requests at home agents: reads and writes from here (1, 4) and from other sockets (2, 8)."""
    return {
        "memory.local.read.bandwidth": lines(pmus, event(code, 1)),
        "memory.served.read.bandwidth": lines(pmus, event(code, 2)),
        "memory.local.write.bandwidth": lines(pmus, event(code, 4)),
        "memory.served.write.bandwidth": lines(pmus, event(code, 8)),
        "matrix.remote.memory.read.bandwidth": lines(pmus, event(code, 2)),
        "matrix.remote.memory.write.bandwidth": lines(pmus, event(code, 8)),
    }


# ---- cache slices ----------------------------------------------------------------------------------


def agents(cycles):
    """What is the same in all caching and home agents."""
    return {
        **home(CHA, 0x50),
        "fabric.clock.frequency": clock(CHA, cycles),
        "fabric.directory.home.write.bandwidth": lines(CHA, event(0x54, 1), event(0x54, 2)),
    }


def long_masks(cycles):
    """Since Ice Lake. Lookups of data reads: the misses are those of the lowest state."""
    def missed(mask):
        return little(CHA, event(0x36, mask), event(0x35, mask), cycles)

    def cell(*masks):
        return lines(CHA, *(event(0x35, mask) for mask in masks))

    return {
        **agents(cycles),
        "cache.miss.latency": missed(0xC817FE01),
        "cache.hit.ratio": lambda c, n, s: 1 - c(CHA, event(0x34, 0x1BC101)) / c(CHA, event(0x34, 0x1BC1FF)),
        "cache.read.requests": rate(CHA, event(0x34, 0x1BC1FF)),
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

    return {
        **agents(cycles),
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
    }
    if twenty_lanes:
        table["link.out.utilization"] = share(UPI, [sent, other], [cycles], 192 / 160 / 3)
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


def irp(**operations):
    """The coherent side since Skylake."""
    return {
        "pcie.inbound.read.requests": rate(IRP, event(0x18)),
        "pcie.inbound.write.requests": rate(IRP, event(0x11, 8)),
        "io.coherent.read.queue.length": share(IRP, [event(0x19)], [event(1)]),
        "io.coherent.clock.frequency": clock(IRP, event(1)),
        **{f"io.coherent.{name}.requests": rate(IRP, event(0x10, mask)) for name, mask in operations.items()},
    }


# ---- models ----------------------------------------------------------------------------------------

ACTIVATES = event(1, 0x0B)
FAMILIES = {
    "ivt": {  # this guest has no more boxes
        "intel-cbox": boxes(event(0)),
        "intel-pcu": pcu(*(event(0x80, 0, f",occ_sel={state}") for state in (1, 2, 3)), event(0)),
    },
    "skx": {
        "intel-imc": {
            **controllers(event(4, 3), event(4, 0x0C), ACTIVATES, event(0)),
            **queues(event(0), read_queue=(event(0x80), event(0x10)), write_queue=(event(0x81), event(0x20))),
        },
        "intel-m2m": {
            **behind(M2M, event(0x37, 4), event(0x38, 0x10)),
            "fabric.directory.memory.write.bandwidth": lines(M2M, event(0x2E, 1)),
        },
        "intel-cha": filters(event(0)),
        "intel-upi": upi(True),
        "intel-iio": iio(0x0F),
        "intel-iio-free-running": free(4, in_=0x20, out_=0x24),
        "intel-irp": irp(read=1, itom=0x10, rfo=8, writeback=0x40),
        "intel-pcu": pcu(event(0x80, 0x40), event(0x80, 0x80), event(0x80, 0xC0), event(0)),
    },
    "icx": {
        "intel-imc": {
            **controllers(event(4, 0x0F), event(4, 0x30), ACTIVATES, event(0)),
            **queues(
                event(0),
                read_queue_pch0=(event(0x80), event(0x10, 1)), read_queue_pch1=(event(0x81), event(0x10, 2)),
                write_queue_pch0=(event(0x82), event(0x20, 1)), write_queue_pch1=(event(0x83), event(0x20, 2))),
        },
        "intel-imc-free-running": persistent(IMC_FREE, event(0xFF, 0x30), event(0xFF, 0x31)),
        "intel-m2m": {"fabric.directory.memory.write.bandwidth": lines(M2M, event(0x2E, 1))},
        "intel-cha": {
            **long_masks(event(0)),
            "fabric.backpressure": share(CHA, [event(0xAF, 1)], [event(0)]),
        },
        "intel-upi": upi(True),
        "intel-iio": iio(0xFF),
        "intel-iio-free-running": free(32, in_=0x20),
        "intel-irp": irp(itom=0x10, rfo=8, writeback=0x40),
        "intel-pcu": pcu(event(0x80, 0x40), event(0x80, 0x80), event(0x80, 0xC0), event(0)),
    },
    "spr": {
        "intel-imc": controllers(event(5, 0xCF), event(5, 0xF0), event(2, 0xFF), event(1, 1)),
        "intel-m2m": {
            **behind(M2M, event(0x24, 0x304), event(0x25, 0x1810)),
            **persistent(M2M, event(0x24, 0x320), event(0x25, 0x1880)),
            "fabric.directory.memory.write.bandwidth": lines(M2M, event(0x21, 0x301)),
        },
        "intel-cha": long_masks(event(1)),
        "intel-upi": upi(False),
        "intel-iio": iio(0xFF),
        "intel-iio-free-running": free(32, in_=0x20),
        "intel-irp": irp(),
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
# Counted in turns: six events for four counters, and on Skylake three filters for the one that a slice has.
IN_TURNS = {
    (model, f"intel-cha/matrix.cpu.{to}.read.bandwidth")
    for model in ("skx", "icx", "spr") for to in ("memory", "remote")
}

# SPDX-License-Identifier: MIT
"""Formulas of the simulated Intel machines, written by hand from the documents."""

from formulas import clock, doubted, latency, msr, total

# Each window lasts one second, so "/ seconds" is nothing.


def boxes(name, count):
    return [f"uncore_{name}_{i}" for i in range(count)]


def event(code, umask=None, rest=""):
    """Terms as the simulations write them."""
    return f"event={code:#04x}" + (f",umask={umask:#04x}" if umask is not None else "") + rest


def lines(pmus, *events, size=64):
    """Bytes, where a count is a line (or `size` bytes)."""
    return lambda n: size * total(n, pmus, *events)


def rate(pmus, *events):
    return lambda n: total(n, pmus, *events)


def share(pmus, over, under):
    return lambda n: total(n, pmus, *over) / total(n, pmus, *under)


def little(pmus, occupancy, inserts, cycles):
    return lambda n: latency(n, pmus, [occupancy], [inserts], cycles)


# ---- memory --------------------------------------------------------------------------------------


def memory(imc, rd, wr, act, dclk, underfill):
    """Controllers: a command moves 64 bytes and keeps the bus for four clocks."""
    return {
        "memory.read.bandwidth": lines(imc, rd),
        "memory.write.bandwidth": lines(imc, wr),
        "memory.bandwidth": lines(imc, rd, wr),
        "memory.utilization": lambda n: 4 * share(imc, [rd, wr], [dclk])(n),
        "memory.clock.frequency": clock(imc, dclk),
        "dram.activate.rate": rate(imc, act),
        "dram.activate.ratio": share(imc, [act], [rd, wr]),
        "dram.underfill.read.bandwidth": lines(imc, underfill),
    }


UNDERFILL = event(0x04, 2)  # up to Skylake


def behind_dram(imc, dclk, reads, writes, of):
    """DRAM as a cache, and the queues of persistent memory: occupancies, and `of` for metrics in doubt."""
    hit, clean, dirty = (event(0xD3, mask) for mask in (1, 2, 4))
    return {
        "dram.cache.hit.ratio": share(imc, [hit], [hit, clean, dirty]),
        "dram.cache.miss.bandwidth": lines(imc, clean, dirty),
        "persistent.read.queue.latency": of(lambda n: latency(n, imc, reads, [event(0xE3)], dclk)),
        "persistent.write.queue.latency": of(lambda n: latency(n, imc, writes, [event(0xE7)], dclk)),
    }


def in_front_of_memory(mesh):
    """DRAM as a cache of other memory, by the tags that the mesh looks up."""
    hit, miss = event(0x1F, 0x0F), event(0x4B, 0x0F)
    return {
        "dram.cache.hit.ratio": share(mesh, [hit], [hit, miss]),
        "dram.cache.miss.bandwidth": lines(mesh, miss),
    }


def home(pmus, code):
    """Requests at home agents: a bit of the mask for who asks and what for."""
    return {
        f"{prefix}.{who}.{kind}.bandwidth": lines(pmus, event(code, mask))
        for prefix, who, kind, mask in (
            ("memory", "local", "read", 1),
            ("memory", "from.remote", "read", 2),
            ("memory", "local", "write", 4),
            ("memory", "from.remote", "write", 8),
            ("matrix", "remote.memory", "read", 2),
            ("matrix", "remote.memory", "write", 8),
        )
    }


def behind_the_fabric(pmus, rd, wr):
    return {
        "fabric.memory.read.bandwidth": lines(pmus, rd),
        "fabric.memory.write.bandwidth": lines(pmus, wr),
    }


def persistent(pmus, rd, wr):
    return {
        "memory.persistent.read.bandwidth": lines(pmus, rd),
        "memory.persistent.write.bandwidth": lines(pmus, wr),
        "memory.persistent.bandwidth": lines(pmus, rd, wr),
    }


# ---- cache slices --------------------------------------------------------------------------------

def missed(pmus, terms, cycles):
    """terms(code) are those of what is in flight (0x36) and what entered (0x35)."""
    return little(pmus, terms(0x36), terms(0x35), cycles)


def slices(pmus, cycles):
    """All of a caching and home agent that is the same since Skylake."""
    return {
        **home(pmus, 0x50),
        "fabric.clock.frequency": clock(pmus, cycles),
        "fabric.directory.update.cha.bandwidth": lines(pmus, event(0x54, 1), event(0x54, 2)),
        "coherence.directory.lookups": rate(pmus, event(0x53, 1), event(0x53, 2)),
        "coherence.directory.snoop.ratio": share(pmus, [event(0x53, 1)], [event(0x53, 1), event(0x53, 2)]),
    }


def of_devices(pmus, terms, part):
    """What devices find in the cache: reads, writes of whole lines and of parts, requests for ownership."""
    kinds = {"read": ["read"], "write": ["full", part], "write.full": ["full"],
             "write.partial": sorted({part, "rfo"})}

    def counted(name, how):
        return lambda n: total(n, pmus, *(terms(kind, how) for kind in kinds[name]))

    def ratio(name, how):
        hit, miss = counted(name, "hit"), counted(name, "miss")
        return lambda n: (hit if how == "hit" else miss)(n) / (hit(n) + miss(n))

    table = {f"pcie.inbound.{name}.llc.miss.ratio": ratio(name, "miss") for name in kinds}
    for name in ("read", "write"):
        table[f"pcie.inbound.{name}.llc.hit.ratio"] = ratio(name, "hit")
        table[f"pcie.inbound.{name}.llc.bandwidth"] = (
            lambda n, hit=counted(name, "hit"), miss=counted(name, "miss"): 64 * (hit(n) + miss(n))
        )
        for how in ("hit", "miss"):
            table[f"pcie.inbound.{name}.llc.{how}.bandwidth"] = (
                lambda n, of=counted(name, how): 64 * of(n)
            )
    return table


def since_ice_lake(pmus, cycles):
    """What misses is told by a long mask: here DRd, of all, to DRAM, to one socket or another."""

    def of(mask):
        return missed(pmus, lambda code: f"event={code:#04x},umask={mask}", cycles)

    def cell(*masks):
        return lines(pmus, *(f"event=0x35,umask={mask}" for mask in masks))

    local = ("c816fe01", "c896fe01", "c806fe01", "c886fe01", "c80efe01", "c88efe01")
    remote = ("c8177e01", "c8977e01", "c8077e01", "c8877e01", "c80f7e01", "c88f7e01")
    # DATA_RD, not DATA_READ_ALL (0x1fc1ff), which holds snoops.
    lookups, misses = "event=0x34,umask=0x1bc1ff", "event=0x34,umask=0x1bc101"

    def device(kind, how):
        mask = {"read": "c8f3", "full": "cc43", "partial": "cd43", "rfo": "c803"}[kind]
        return f"event=0x35,umask=0x{mask}{'fd' if how == 'hit' else 'fe'}04"

    near, far = ([f"event=0x35,umask=0x{mask}" for mask in masks[:2]] for masks in (local, remote))
    return {
        **slices(pmus, cycles),
        **of_devices(pmus, device, "partial"),
        "memory.local.read.ratio": share(pmus, near, near + far),
        "memory.remote.read.ratio": share(pmus, far, near + far),
        "pcie.inbound.read.local.bandwidth": cell("0xc8f2ff04"),
        "pcie.inbound.write.local.bandwidth": cell("0xcc42ff04", "0xcd42ff04"),
        "pcie.inbound.read.remote.bandwidth": cell("0xc8f37f04"),
        "pcie.inbound.write.remote.bandwidth": cell("0xcc437f04", "0xcd437f04"),
        "cache.hit.ratio": lambda n: 1 - total(n, pmus, misses) / total(n, pmus, lookups),
        "cache.read.requests": lambda n: total(n, pmus, lookups),
        "coherence.speci2m.bandwidth": cell("0xcc57ff01"),
        "cache.miss.latency": of("0xc817fe01"),
        "memory.read.latency": of("0xc8178601"),
        "memory.local.read.latency": of("0xc816fe01"),
        "memory.remote.read.latency": of("0xc8177e01"),
        "matrix.cpu.memory.read.bandwidth": cell(*(f"0x{mask}" for mask in local)),
        "matrix.cpu.remote.read.bandwidth": cell(*(f"0x{mask}" for mask in remote)),
        "matrix.device.memory.read.bandwidth": cell("0xc8f2ff04"),
        "matrix.device.memory.write.bandwidth": cell("0xcc42ff04", "0xcd42ff04"),
        "matrix.device.remote.read.bandwidth": cell("0xc8f37f04"),
        "matrix.device.remote.write.bandwidth": cell("0xcc437f04", "0xcd437f04"),
    }


def to_persistent(pmus, cycles):
    read = missed(pmus, lambda code: f"event={code:#04x},umask=0xc8178a01", cycles)
    return {"memory.persistent.read.latency": read}


def of_skylake(pmus, cycles):
    """What misses is told by filters: of memory (loc, rem) and opcode (DRd, RFO, CRd)."""
    near = "filter_nm=1,filter_not_nm=1,filter_opc0="

    def terms(code, where, opcode=0x202):
        return f"event={code:#04x},umask=0x21,{where}{near}{opcode:#05x}"

    def of(where):
        return missed(pmus, lambda code: terms(code, where), cycles)

    def cell(where):
        return lines(pmus, *(terms(0x35, where, opcode) for opcode in (0x202, 0x200, 0x201)))

    def device(kind, how):
        opcode = {"read": 0x21E, "full": 0x248, "rfo": 0x200}[kind]
        return f"event=0x35,umask={'0x14' if how == 'hit' else '0x24'},filter_rem=1,filter_loc=1,{near}{opcode:#05x}"

    here, there = terms(0x35, "filter_loc=1,"), terms(0x35, "filter_rem=1,")
    return {
        **slices(pmus, cycles),
        **of_devices(pmus, device, "rfo"),
        "memory.local.read.ratio": share(pmus, [here], [here, there]),
        "memory.remote.read.ratio": share(pmus, [there], [here, there]),
        "cache.miss.latency": of("filter_rem=1,filter_loc=1,"),
        "memory.local.read.latency": of("filter_loc=1,"),
        "memory.remote.read.latency": of("filter_rem=1,"),
        "matrix.cpu.memory.read.bandwidth": cell("filter_loc=1,"),
        "matrix.cpu.remote.read.bandwidth": cell("filter_rem=1,"),
        "fabric.backpressure": share(pmus, [event(0xA5, 1)], [cycles]),
    }


# ---- links, power --------------------------------------------------------------------------------


def upi(pmus, twenty_lanes):
    """Nine slots carry 64 bytes; with 20 lanes 5/6 of a flit of three slots go in a clock."""
    sent, other, cycles = event(0x02, 0x0F), event(0x02, 0x97), event(0x01)
    table = {
        "link.out.bandwidth": lambda n: total(n, pmus, sent) * 64 / 9,
        "link.in.bandwidth": lambda n: total(n, pmus, event(0x03, 0x0F)) * 64 / 9,
        "link.clock.frequency": clock(pmus, cycles),
        "power.link.out.l0p.ratio": share(pmus, [event(0x27)], [cycles]),
        "power.link.l1.ratio": share(pmus, [event(0x21)], [cycles]),
    }
    if twenty_lanes:
        table["link.out.utilization"] = (
            lambda n: share(pmus, [sent, other], [cycles])(n) / 3 / (5 / 6)
        )
    else:  # of the slots that were sent, which are those of a whole flit a clock in all simulations
        table["link.out.utilization"] = share(pmus, [sent, other], [event(0x02, 0xFF)])
        table["link.out.flits.per.cycle"] = lambda n: share(pmus, [event(0x02, 0xFF)], [cycles])(n) / 3
    return table


def qpi(pmus, flits_per_clock):
    """A flit carries 8 bytes."""
    sent, other, cycles = event(0x00, 2), event(0x00, 4), event(0x14)
    return {
        "link.out.bandwidth": lines(pmus, sent, size=8),
        "link.clock.frequency": clock(pmus, cycles),
        "link.out.utilization": lambda n: share(pmus, [sent, other], [cycles])(n) / flits_per_clock,
        "power.link.out.l0p.ratio": share(pmus, [event(0x0D)], [cycles]),
    }


def pcu(c0, c3, c6, cycles, name="uncore_pcu"):
    """One for the socket: cores are counted each cycle."""
    unit = [name]
    return {
        "power.cores.c0.count": share(unit, [c0], [cycles]),
        "power.cores.c3.count": share(unit, [c3], [cycles]),
        "power.cores.c6.count": share(unit, [c6], [cycles]),
        "power.clock.frequency": clock(unit, cycles),
        "power.limit.thermal.ratio": share(unit, [event(0x04)], [cycles]),
        "power.limit.power.ratio": share(unit, [event(0x05)], [cycles]),
        "power.limit.prochot.ratio": share(unit, [event(0x0A)], [cycles]),
    }


def ubox(name="uncore_ubox", of=lambda formula: formula):
    """Interrupts of devices and of CPUs; `of` where it is in doubt what the PMU is."""
    return {
        "interrupt.msi.rate": of(rate([name], event(0x42, 2))),
        "interrupt.ipi.rate": of(rate([name], event(0x42, 4))),
    }


def mesh_clocks(mdf, b2, b2hot):
    return {
        "clock.mdf.frequency": clock(mdf, event(0x01)),
        "clock.b2.frequency": clock(b2, event(0x01)),
        "clock.b2hot.frequency": clock(b2hot, event(0x01, 1)),
    }


# ---- I/O -----------------------------------------------------------------------------------------


def iio(pmus, ports):
    """All ports and all kinds of completion, in pieces of 4 bytes."""

    def of(code, *masks):
        rest = f",ch_mask={ports},fc_mask=0x07"
        return lines(pmus, *(event(code, mask, rest) for mask in masks), size=4)

    return {
        "pcie.inbound.read.bandwidth": of(0x83, 4),
        "pcie.inbound.write.bandwidth": of(0x83, 1),
        "pcie.inbound.bandwidth": of(0x83, 4, 1),
        "pcie.outbound.read.bandwidth": of(0xC0, 4),
        "pcie.outbound.write.bandwidth": of(0xC0, 1),
        "pcie.outbound.bandwidth": of(0xC0, 4, 1),
    }


MSI = event(0x8E, 4, ",ch_mask=0xff,fc_mask=0x01")


def free(pmus, way, ports, size):
    """Counters that never stop, one for each port."""
    names = [f"bw_{way}_port{i}" for i in range(ports)]
    return {
        f"pcie.{way}.bandwidth": lines(pmus, *names, size=size),
        **{
            f"pcie.port{i}.{way}.bandwidth": lines(pmus, name, size=size)
            for i, name in enumerate(names)
        },
    }


def operations(pmus, code, *kinds):
    """What the coherent side does for devices: a bit of the mask for each kind."""
    masks = {"read": 1, "rfo": 8, "itom": 0x10, "writeback": 0x40}
    return {
        f"io.coherent.{kind}.requests": rate(pmus, event(code, masks[kind])) for kind in kinds
    }


def irp(pmus, lost=0x1F):
    """The coherent side since Skylake."""
    cycles = event(0x01)
    return {
        "io.coherent.ownership.losses": rate(pmus, event(lost, 0x10), event(lost, 0x20)),
        "pcie.inbound.read.requests": rate(pmus, event(0x18)),
        "pcie.inbound.write.requests": rate(pmus, event(0x11, 8)),
        "io.coherent.read.queue.occupancy": share(pmus, [event(0x19)], [cycles]),
        "io.coherent.clock.frequency": clock(pmus, cycles),
    }


# ---- machines ------------------------------------------------------------------------------------

STACKS, FREE, IRP = boxes("iio", 6), boxes("iio_free_running", 6), boxes("irp", 6)
CHA, M2M2, M2M4 = boxes("cha", 8), boxes("m2m", 2), boxes("m2m", 4)
CPUS = range(4)


def directory(pmus, terms):
    return {"fabric.directory.update.m2m.bandwidth": lines(pmus, terms)}


def before_skylake(dclk, flits_per_clock):
    """Ivy Bridge to Broadwell: four channels, four slices, two home agents, two links."""
    imc, cbox, homes = boxes("imc", 4), boxes("cbox", 4), boxes("ha", 2)

    def of(mask):
        return missed(cbox, lambda code: event(code, mask, ",filter_opc=0x182"), event(0x00))

    return {
        **memory(imc, "cas_count_read", "cas_count_write", event(0x01, 0x0B), dclk, UNDERFILL),
        **home(homes, 0x01),
        # The table's reads are those of the queue; those that bypass it are an event of their own.
        "fabric.memory.read.bandwidth": lines(homes, event(0x17, 1), event(0x14, 1)),
        "fabric.memory.write.bandwidth": lines(homes, event(0x1A, 0x0F)),
        "cache.miss.latency": of(0x03),
        "memory.local.read.latency": of(0x23),
        "memory.remote.read.latency": of(0x83),
        "fabric.clock.frequency": clock(cbox, event(0x00)),
        **qpi(boxes("qpi", 2), flits_per_clock),
        "io.coherent.clock.frequency": clock(["uncore_irp"], event(0x00)),
        **pcu(*(event(0x80, None, f",occ_sel={i}") for i in (1, 2, 3)), event(0x00)),
    }


def ivt():
    def requests(*opcodes):
        return lines(boxes("cbox", 4), *(event(0x35, 1, f",filter_opc={opcode:#x}") for opcode in opcodes))

    return {
        **msr(CPUS),
        **before_skylake("clockticks", 2),
        "pcie.inbound.read.bandwidth": requests(0x19E, 0x1E4),
        "pcie.inbound.write.bandwidth": requests(0x194, 0x19C, 0x1E5, 0x1E6),
        "link.in.bandwidth": lines(boxes("qpi", 2), event(0x01, 2), size=8),
        **ubox(),
    }


def bdx():
    """Devices are told by opcode, their writes by the number of a thread that no core has, too."""
    cbox = boxes("cbox", 4)
    writes = [
        event(0x35, 1, f",tid_en=1,filter_opc={opcode:#05x},filter_tid=0x3e")
        for opcode in (0x1C8, 0x180)
    ]
    reads = event(0x35, 1, ",filter_opc=0x19e")
    missed_io = [terms.replace("umask=0x01", "umask=0x03") for terms in (reads, *writes)]
    near, far = (event(0x35, mask, ",filter_opc=0x182") for mask in (0x23, 0x83))

    def ddio(name, every, missed):
        def hits(n):
            return total(n, cbox, *every) - total(n, cbox, *missed)

        return {
            f"pcie.inbound.{name}.llc.bandwidth": lines(cbox, *every),
            f"pcie.inbound.{name}.llc.hit.bandwidth": lambda n: 64 * hits(n),
            f"pcie.inbound.{name}.llc.miss.bandwidth": lines(cbox, *missed),
            f"pcie.inbound.{name}.llc.hit.ratio": lambda n: hits(n) / total(n, cbox, *every),
            f"pcie.inbound.{name}.llc.miss.ratio": share(cbox, missed, every),
        }

    return {
        **before_skylake("clockticks", 1),
        "memory.local.read.ratio": share(cbox, [near], [near, far]),
        "memory.remote.read.ratio": share(cbox, [far], [near, far]),
        "link.in.bandwidth": lines(boxes("qpi", 2), event(0x102, 8), event(0x103, 4), size=8),
        "pcie.inbound.read.bandwidth": lines(cbox, reads),
        "pcie.inbound.write.bandwidth": lines(cbox, *writes),
        **ddio("read", [reads], missed_io[:1]),
        **ddio("write", writes, missed_io[1:]),
        "pcie.inbound.write.full.llc.miss.ratio": share(cbox, missed_io[1:2], writes[:1]),
        "pcie.inbound.write.partial.llc.miss.ratio": share(cbox, missed_io[2:], writes[1:]),
        "fabric.backpressure": share(cbox, [event(0x09)], [event(0x00)]),
        "io.coherent.ownership.losses": rate(["uncore_irp"], event(0x15, 0x10), event(0x15, 0x20)),
        **operations(["uncore_irp"], 0x13, "read", "itom", "rfo", "writeback"),
    }


def skx():
    imc, dclk = boxes("imc", 6), event(0x00)
    return {
        **msr(CPUS),
        **memory(imc, event(0x04, 3), event(0x04, 0x0C), event(0x01, 0x0B), dclk, UNDERFILL),
        "dram.read.queue.latency": little(imc, event(0x80), event(0x10), dclk),
        "dram.write.queue.latency": little(imc, event(0x81), event(0x20), dclk),
        **behind_the_fabric(M2M2, event(0x37, 4), event(0x38, 0x10)),
        **directory(M2M2, event(0x2E, 1)),
        **of_skylake(CHA, event(0x00)),
        **upi(boxes("upi", 3), True),
        **iio(STACKS, "0x0f"),
        **free(FREE, "in", 4, 4),
        **free(FREE, "out", 4, 4),
        "pcie.clock.frequency": clock(FREE, "ioclk"),
        **irp(IRP, 0x1D),
        **ubox(),
        **operations(IRP, 0x10, "read", "itom", "rfo", "writeback"),
        **pcu(*(event(0x80, mask) for mask in (0x40, 0x80, 0xC0)), event(0x00)),
    }


QUEUES = {  # of each pseudo-channel: occupancy, inserts
    "read.queue.pch0": (event(0x80), event(0x10, 1)),
    "read.queue.pch1": (event(0x81), event(0x10, 2)),
    "write.queue.pch0": (event(0x82), event(0x20, 1)),
    "write.queue.pch1": (event(0x83), event(0x20, 2)),
}


def icx():
    # Of three channels of each controller that have a PMU, two are there: Linux 496a18f09374.
    imc, dclk = [f"uncore_imc_{i}" for i in range(12) if i % 3 < 2], event(0x00)
    return {
        **msr(CPUS),
        **memory(imc, event(0x04, 0x0F), event(0x04, 0x30), event(0x01, 0x0B), dclk, event(0x04, 0x0C)),
        **{f"dram.{name}.latency": little(imc, *pair, dclk) for name, pair in QUEUES.items()},
        **behind_dram(imc, dclk, [event(0xE0, 1)], [event(0xE4, 1)], doubted),
        **persistent(boxes("imc_free_running", 4), "ddrt_read", "ddrt_write"),
        **directory(M2M4, event(0x2E, 1)),
        **since_ice_lake(CHA, event(0x00)),
        **to_persistent(CHA, event(0x00)),
        "fabric.backpressure": share(CHA, [event(0xAF, 1)], [event(0x00)]),
        **upi(boxes("upi", 3), True),
        **iio(STACKS, "0xff"),
        "iommu.iotlb.lookups": rate(STACKS, event(0x40, 1)),
        "iommu.iotlb.miss.ratio": share(STACKS, [event(0x40, 0x20)], [event(0x40, 1)]),
        **free(FREE, "in", 8, 32),
        "pcie.clock.frequency": clock(FREE, "ioclk"),
        **irp(IRP),
        **ubox(),
        **operations(IRP, 0x10, "itom", "rfo", "writeback"),
        **pcu(*(event(0x80, mask) for mask in (0x40, 0x80, 0xC0)), event(0x00)),
    }


def spr():
    imc = boxes("imc", 8)
    return {
        **msr(CPUS),
        **memory(imc, "cas_count_read", "cas_count_write", event(0x02, 0xFF), event(0x01, 1), event(0x05, 0xCC)),
        # DCLK is a guess.
        **{
            f"dram.{name}.latency": doubted(little(imc, *pair, event(0x01, 1)))
            for name, pair in QUEUES.items()
        },
        **behind_dram(imc, event(0x01, 1), [event(0xE0, 1), event(0xE0, 2)], [event(0xE4, 3)], doubted),
        **behind_the_fabric(M2M4, "event=0x24,umask=0x304", "event=0x25,umask=0x1810"),
        **persistent(M2M4, "event=0x24,umask=0x320", "event=0x25,umask=0x1880"),
        **directory(M2M4, "event=0x21,umask=0x301"),
        **since_ice_lake(CHA, event(0x01)),
        **to_persistent(CHA, event(0x01)),
        **upi(boxes("upi", 4), False),
        **iio(STACKS, "0xff"),
        "io.interrupts": rate(STACKS, MSI),
        **free(FREE, "in", 8, 32),
        "pcie.clock.frequency": clock(FREE, "ioclk"),
        **irp(IRP),
        **ubox("uncore_type_5", doubted),
        "clock.mdf.frequency": clock(boxes("mdf", 2), event(0x01)),
        **pcu(event(0x35), event(0x36), event(0x37), event(0x01)),
    }


def two_schedulers(imc, reads, writes):
    """The tables of Linux 7.2: "DCLK is 1/4 of DRAM data rate". 64 bytes are 16 transfers on one of two halves."""
    both, dclk = [event(0x05, 0xFF), event(0x06, 0xFF)], event(0x01, 1)
    return {
        "memory.read.bandwidth": lines(imc, *reads),
        "memory.write.bandwidth": lines(imc, *writes),
        "memory.bandwidth": lines(imc, *reads, *writes),
        "memory.utilization": lambda n: 16 / 2 / 4 * share(imc, both, [dclk])(n),
        "memory.clock.frequency": lambda n: 4 * clock(imc, dclk)(n) / 2,
        "dram.activate.rate": rate(imc, event(0x02, 0xF7)),
        "dram.activate.ratio": share(imc, [event(0x02, 0xF7)], both),
        "dram.underfill.read.bandwidth": lines(imc, event(0x05, 0xCC), event(0x06, 0xCC)),
    }


def gnr():
    stacks, coherent = boxes("iio", 2), boxes("irp", 2)
    free_running = boxes("iio_free_running", 2)
    reads = [f"cas_count_read_sch{i}" for i in range(2)]
    writes = [f"cas_count_write_sch{i}" for i in range(2)]
    return {
        **two_schedulers(boxes("imc", 4), reads, writes),
        **behind_the_fabric(boxes("b2cmi", 4), "event=0x24,umask=0x104", "event=0x25,umask=0x110"),
        **directory(boxes("b2cmi", 4), "event=0x21,umask=0x301"),
        **in_front_of_memory(boxes("b2cmi", 4)),
        "memory.cxl.read.bandwidth": lines(["uncore_cxlcm_0"], event(0x41, 0x10)),
        "memory.cxl.write.bandwidth": lines(["uncore_cxldp_0"], event(0x02, 0x20)),
        **since_ice_lake(boxes("cha", 4), event(0x01)),
        **upi(boxes("upi", 2), False),
        **iio(stacks, "0xff"),
        "io.interrupts": rate(stacks, MSI),
        **free(free_running, "in", 8, 32),
        "pcie.clock.frequency": clock(free_running, "ioclk"),
        **irp(coherent),
        **ubox(),
        **mesh_clocks(boxes("mdf_sbo", 2), boxes("b2upi", 2) + boxes("b2cxl", 1), boxes("b2hot", 2)),
        "pcie.inbound.read.queue.latency": little(coherent, event(0x19), event(0x18), event(0x01)),
        **pcu(event(0x35), event(0x36), event(0x37), event(0x01)),
    }


def gnr_generic():
    """What 8 bits of umask can tell, of types 6 (IMC), 0 (CHA), 8 (UPI), 2 (IRP), 4 (PCU), 16 (B2CMI), 5 (UBOX),
    20 (MDF), 18 (B2UPI), 17 (B2CXL) and 15 (B2HOT)."""
    cas = [[event(0x05 + i, mask) for i in range(2)] for mask in (0xCF, 0xF0)]
    return {
        **two_schedulers(boxes("type_6", 4), *cas),
        **slices(boxes("type_0", 4), event(0x01)),
        **upi(boxes("type_8", 2), False),
        **irp(boxes("type_2", 2)),
        "pcie.inbound.read.queue.latency": little(boxes("type_2", 2), event(0x19), event(0x18), event(0x01)),
        **pcu(event(0x35), event(0x36), event(0x37), event(0x01), name="uncore_type_4"),
        **in_front_of_memory(boxes("type_16", 4)),
        **ubox("uncore_type_5"),
        **mesh_clocks(boxes("type_20", 2), boxes("type_18", 2) + boxes("type_17", 1), boxes("type_15", 2)),
    }


def hbm(pmus):
    rd, wr = event(0x05, 0xCF), event(0x05, 0xF0)
    return {
        "memory.package.read.bandwidth": doubted(lines(pmus, rd, size=32)),
        "memory.package.write.bandwidth": doubted(lines(pmus, wr, size=32)),
        "memory.package.bandwidth": doubted(lines(pmus, rd, wr, size=32)),
        "memory.package.clock.frequency": clock(pmus, event(0x01, 1)),
    }


def accelerators(name, pmus, size):
    of = [f"event_category={category:#x},event={code:#x}" for category, code in ((1, 1), (1, 2), (0, 5), (0, 16))]
    return {
        f"accelerator.{name}.in.bandwidth": doubted(lines(pmus, of[0], size=32)),
        f"accelerator.{name}.out.bandwidth": doubted(lines(pmus, of[1], size=size)),
        f"accelerator.{name}.shared.requests": doubted(rate(pmus, of[2])),
        f"accelerator.{name}.dedicated.requests": doubted(rate(pmus, of[3])),
    }


def xeon_max():
    imc, units = boxes("imc", 2), ["dmar0"]

    def misses(lookups, *hits):
        return lambda n: 1 - share(units, hits, [lookups])(n)

    return {
        **memory(imc, "cas_count_read", "cas_count_write", event(0x02, 0xFF), event(0x01, 1), event(0x05, 0xCC)),
        **{
            f"dram.{name}.latency": doubted(little(imc, *pair, event(0x01, 1)))
            for name, pair in QUEUES.items()
        },
        **behind_dram(imc, event(0x01, 1), [event(0xE0, 1), event(0xE0, 2)], [event(0xE4, 3)], doubted),
        **hbm(boxes("hbm", 32)),
        **behind_the_fabric(M2M4, "event=0x24,umask=0x304", "event=0x25,umask=0x1810"),
        **persistent(M2M4, "event=0x24,umask=0x320", "event=0x25,umask=0x1880"),
        **directory(M2M4, "event=0x21,umask=0x301"),
        "iommu.requests": rate(units, "iommu_requests"),
        "iommu.iotlb.lookups": rate(units, "iotlb_lookup"),
        "iommu.iotlb.miss.ratio": misses("iotlb_lookup", "iotlb_hit"),
        "iommu.context.miss.ratio": misses("ctxt_cache_lookup", "ctxt_cache_hit"),
        "iommu.pasid.miss.ratio": misses("pasid_cache_lookup", "pasid_cache_hit"),
        "iommu.interrupt.miss.ratio": misses(
            "int_cache_lookup", "int_cache_hit_nonposted", "int_cache_hit_posted"
        ),
        "iommu.page.walk.occupancy": share(units, ["pw_occupancy"], ["iommu_clocks"]),
        "iommu.memory.reads": rate(units, "iommu_mrds"),
        "iommu.clock.frequency": clock(units, "iommu_clocks"),
        **accelerators("dsa", ["dsa0"], 32),
        **accelerators("iaa", ["iax0"], 512),
    }


def moved(pmus, rd, wr, size=64):
    return {
        "memory.read.bandwidth": lines(pmus, rd, size=size),
        "memory.write.bandwidth": lines(pmus, wr, size=size),
        "memory.bandwidth": lines(pmus, rd, wr, size=size),
    }


def skl():
    imc = ["uncore_imc"]
    return {
        **moved(imc, "data_reads", "data_writes"),
        "memory.from.cpu.bandwidth": lines(imc, "ia_requests"),
        "memory.from.gpu.bandwidth": lines(imc, "gt_requests"),
        "memory.from.device.bandwidth": lines(imc, "io_requests"),
    }


def mtl():
    imc = boxes("imc", 2)
    return {
        **moved(imc, event(0x3A), event(0x3B), 32),
        "memory.bandwidth": lines(imc, event(0x3C), size=32),
    }


def knl():
    imc, edc = boxes("imc", 6), boxes("edc_eclk", 8)
    rd, wr, hits, misses = event(0x03, 1), event(0x03, 2), [1, 2], [4, 8]
    cache = [event(0x02, mask) for mask in hits], [event(0x02, mask) for mask in hits + misses]
    return {
        **moved(imc, rd, wr),
        "memory.utilization": lambda n: 4 * share(imc, [rd, wr], [event(0x00)])(n),
        "memory.clock.frequency": clock(imc, event(0x00)),
        "memory.package.read.bandwidth": lines(edc, event(0x01, 1)),
        "memory.package.write.bandwidth": lines(edc, event(0x02, 1)),
        "memory.package.clock.frequency": clock(edc, event(0x00)),
        "memory.package.hit.ratio": share(boxes("edc_uclk", 8), *cache),
    }


def dmr():
    free_running = boxes("iio_free_running", 2)
    return {
        **free(free_running, "in", 8, 4),
        **free(free_running, "out", 8, 4),
        "pcie.clock.frequency": clock(free_running, "clockticks"),
    }


FORMULAS = {
    "ivt": ivt(),
    "skx": skx(),
    "icx": icx(),
    "spr": spr(),
    # On trees of tests/machines/make-intel:
    "bdx": bdx(),
    "gnr": gnr(),
    "gnr-generic": gnr_generic(),
    "max": xeon_max(),
    "max-generic": hbm(boxes("type_14", 4)),
    "skl": skl(),
    "adl": moved(boxes("imc_free_running", 2), "data_read", "data_write"),
    "mtl": mtl(),
    "knl": knl(),
    "dmr": dmr(),
}

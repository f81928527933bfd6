# SPDX-License-Identifier: MIT
"""Formulas of the metrics of NVIDIA's data files, written by hand from the documents:
nvidia-tegra410-pmu.rst and nvidia-tegra241-pmu.rst, event codes from the drivers. What a formula gets:
see test-metrics.py."""

UCF, CMEM = "nvidia_ucf_pmu_*", "nvidia_cmem_latency_pmu_*"
RC, TGT = "nvidia_pcie_pmu_*_rc_*", "nvidia_pcie_tgt_pmu_*"
C2C, CLINK, DLINK = "nvidia_nvlink_c2c_pmu_*", "nvidia_nvclink_pmu_*", "nvidia_nvdlink_pmu_*"
SCF, PCIE = "nvidia_scf_pmu_*", "nvidia_pcie_pmu_*"
GRACE_C2C, CNVLINK = "nvidia_nvlink_c2c[01]_pmu_*", "nvidia_cnvlink_pmu_*"
CYCLES = "config=0x100000000"  # of a CoreSight PMU


def rate(pmus, *codes, factor=1):
    """Counts per second; a code may have filters."""
    words = [f"event={code:#x}" if isinstance(code, int) else f"event={code}" for code in codes]
    return lambda c, n, s: factor * sum(c(pmus, word) for word in words) / s


def ratio(pmus, above, below):
    """Counts for each count of another event."""
    return lambda c, n, s: c(pmus, f"event={above:#x}") / c(pmus, below)


def clock(pmus, cycles=CYCLES):
    """The mean of the clocks."""
    return lambda c, n, s: c(pmus, cycles) / n(pmus) / s


def latency(pmus, in_flight, requests, cycles=CYCLES):
    """Little's law in clocks; one takes n x s / cycles."""
    def seconds(c, n, s):
        flying, asked = (sum(c(pmus, f"event={code:#x}") for code in codes) for codes in (in_flight, requests))
        return flying / asked * (n(pmus) * s / c(pmus, cycles))

    return seconds


# ---- Tegra410 -------------------------------------------------------------------------------------

FABRIC = {
    "memory.read.bandwidth": rate(UCF, 0x123),
    "memory.write.bandwidth": rate(UCF, 0x124),
    "memory.bandwidth": rate(UCF, 0x123, 0x124),
    "memory.read.requests.per.cycle": ratio(UCF, 0x121, CYCLES),
    "memory.write.requests.per.cycle": ratio(UCF, 0x122, CYCLES),
    "cache.read.bandwidth": rate(UCF, 0x113),
    "cache.write.bandwidth": rate(UCF, 0x114),
    "cache.read.requests.per.cycle": ratio(UCF, 0x111, CYCLES),
    "cache.write.requests.per.cycle": ratio(UCF, 0x112, CYCLES),
    "cache.hit.ratio": ratio(UCF, 0x119, "event=0x111"),
    "cache.refills": rate(UCF, 0x109, 0x10A),
    "cache.read.refills": rate(UCF, 0x109),
    "cache.write.refills": rate(UCF, 0x10A),
    "cache.allocations": rate(UCF, 0xF0),
    "cache.writebacks": rate(UCF, 0xF3),
    "cache.dataless.requests": rate(UCF, 0x183),
    "cache.atomic.requests": rate(UCF, 0x184),
    "cache.snoop.local.requests": rate(UCF, 0x180),
    "cache.snoop.external.accesses": rate(UCF, 0x181),
    "cache.snoop.external.evictions": rate(UCF, 0x182),
    "fabric.clock.frequency": clock(UCF),
    "fabric.bus.clock.frequency": clock(UCF, "event=0x1d"),
    **{f"matrix.{who}.{to}.{kind}.bandwidth": rate(UCF, f"{code},{source}=1,{target}=1")
       for who, source in (("cpu", "src_loc_cpu"), ("device", "src_loc_noncpu"), ("remote", "src_rem"))
       for to, target in (("memory", "dst_loc_cmem"), ("gpu", "dst_loc_gmem"), ("cxl", "dst_loc_other"),
                          ("remote", "dst_rem"))
       for kind, code in (("read", "0x123"), ("write", "0x124"))},
}
MEMORY = {
    "memory.read.latency": latency(CMEM, [2], [1], "event=0"),
    "memory.read.latency.cycles": ratio(CMEM, 2, "event=0x1"),
    "memory.dram.read.bandwidth": rate(CMEM, 1, factor=32),  # requests of 32 bytes
}


def pcie(way, pmus, cycles):
    """What both directions of Tegra410's PCIe have."""
    return {
        f"pcie.{way}.read.bandwidth": rate(pmus, 0),
        f"pcie.{way}.write.bandwidth": rate(pmus, 1),
        f"pcie.{way}.bandwidth": rate(pmus, 0, 1),
        f"pcie.{way}.read.requests": rate(pmus, 2),
        f"pcie.{way}.write.requests": rate(pmus, 3),
        f"pcie.{way}.read.requests.per.cycle": ratio(pmus, 2, cycles),
        f"pcie.{way}.write.requests.per.cycle": ratio(pmus, 3, cycles),
    }


INBOUND = {
    **pcie("inbound", RC, CYCLES),
    "pcie.inbound.read.latency": latency(RC, [4], [2]),
    "pcie.inbound.read.latency.cycles": ratio(RC, 4, "event=0x2"),
    "pcie.clock.frequency": clock(RC),
}


def link(pmus, **codes):
    """Latency and requests of each way of a link, and its clock, which is event 0: in_read=1 says that the
    requests in flight are event 1, and then the requests event 2."""
    table = {"link.clock.frequency": clock(pmus, "event=0")}
    for way, code in codes.items():
        way = way.replace("_", ".")
        table[f"link.{way}.latency"] = latency(pmus, [code], [code + 1], "event=0")
        table[f"link.{way}.latency.cycles"] = ratio(pmus, code, f"event={code + 1:#x}")
        table[f"link.{way}.requests"] = rate(pmus, code + 1)
    return table


T410 = {
    "nvidia-t410-ucf": FABRIC,
    "nvidia-t410-cmem": MEMORY,
    "nvidia-t410-pcie": INBOUND,
    "nvidia-t410-pcie-tgt": pcie("outbound", TGT, "event=4"),
    "nvidia-t410-nvlink-c2c": link(C2C, in_read=1, in_write=3, out_read=5, out_write=7),
    "nvidia-t410-nvclink": link(CLINK, in_read=1, out_read=5),
    # The driver's "in" are reads of CXL memory.
    "nvidia-t410-nvdlink": {
        "memory.cxl.read.latency": latency(DLINK, [1], [2], "event=0"),
        "memory.cxl.read.latency.cycles": ratio(DLINK, 1, "event=0x2"),
        "memory.cxl.read.requests": rate(DLINK, 2),
        "link.cxl.clock.frequency": clock(DLINK, "event=0"),
    },
}

# ---- Grace ----------------------------------------------------------------------------------------


def memory(prefix, data, written, outstanding, access):
    """One kind of memory as CPUs see it: a beat of data is 32 bytes."""
    return {
        f"{prefix}.read.bandwidth": rate(SCF, data, factor=32),
        f"{prefix}.write.bandwidth": rate(SCF, written),
        f"{prefix}.read.latency": latency(SCF, [outstanding], [access]),
    }


def request_rates(prefix, reads, writes, write_backs):
    """Requests for each clock."""
    return {
        f"{prefix}.read.requests.per.cycle": ratio(SCF, reads, CYCLES),
        f"{prefix}.write.requests.per.cycle": lambda c, n, s:
            (c(SCF, f"event={writes:#x}") + c(SCF, f"event={write_backs:#x}")) / c(SCF, CYCLES),
    }


def cells(pmus, **pairs):
    """Pairs of the matrix: reads, writes, and the size of what a read counts."""
    table = {}
    for pair, (reads, writes, size) in pairs.items():
        pair = pair.replace("_", ".")
        table[f"matrix.{pair}.read.bandwidth"] = rate(pmus, reads, factor=size)
        table[f"matrix.{pair}.write.bandwidth"] = rate(pmus, writes)
    return table


SCALABLE = {
    **memory("memory", 0x1A5, 0x1DB, 0x1A7, 0x1A6),
    **memory("memory.gpu", 0x16D, 0x1A0, 0x16F, 0x16E),
    **memory("memory.remote", 0x1A2, 0x1A1, 0x1A3, 0x1A4),
    **request_rates("memory", 0x1A6, 0x1CA, 0x1AC),
    **request_rates("memory.gpu", 0x16E, 0x17B, 0x174),
    "memory.bandwidth": lambda c, n, s: (32 * c(SCF, "event=0x1a5") + c(SCF, "event=0x1db")) / s,
    "cache.hit.ratio": lambda c, n, s: 1 - c(SCF, "event=0xf1") / c(SCF, "event=0xf2"),
    "cache.requests.per.cycle": ratio(SCF, 0xF2, CYCLES),
    "cache.refills": rate(SCF, 0xF1),
    "cache.allocations": rate(SCF, 0xF0),
    "cache.writebacks": rate(SCF, 0xF3),
    "fabric.clock.frequency": clock(SCF),
    "fabric.bus.clock.frequency": clock(SCF, "event=0x1d"),
    **cells(SCF, cpu_memory=(0x1A5, 0x1DB, 32), cpu_gpu=(0x16D, 0x1A0, 32), cpu_remote=(0x1A2, 0x1A1, 32)),
}


def traffic(prefix, pmus):
    """PCIe, NVLink-C2C and CNVLink: to memory of this socket (even codes) and of others (odd ones)."""
    return {
        f"{prefix}.read.bandwidth": rate(pmus, 0, 1),
        f"{prefix}.write.bandwidth": rate(pmus, 2, 3),
        f"{prefix}.bandwidth": rate(pmus, 4, 5),
        f"{prefix}.read.requests": rate(pmus, 6, 7),
        f"{prefix}.write.requests": rate(pmus, 8, 9),
        f"{prefix}.requests": rate(pmus, 10, 11),
        f"{prefix}.read.latency": latency(pmus, [12, 13], [6, 7]),
    }


GRACE = {
    "nvidia-grace-scf": SCALABLE,
    "nvidia-grace-pcie": {
        **traffic("pcie.inbound", PCIE),
        "pcie.inbound.remote.bandwidth": rate(PCIE, 5),
        "pcie.clock.frequency": clock(PCIE),
        **cells(PCIE, device_memory=(0, 2, 1), device_remote=(1, 3, 1)),
    },
    "nvidia-grace-c2c": {
        **traffic("link.in", GRACE_C2C),
        "link.in.remote.bandwidth": rate(GRACE_C2C, 5),
        "link.clock.frequency": clock(GRACE_C2C),
        **cells(GRACE_C2C, gpu_memory=(0, 2, 1), gpu_remote=(1, 3, 1)),
    },
    "nvidia-grace-cnvlink": {
        **traffic("link.in", CNVLINK),
        "link.clock.frequency": clock(CNVLINK),
        **cells(CNVLINK, remote_memory=(0, 2, 1)),
    },
}

EXPECTED = {
    (model, f"{family}/{name}"): formula
    for model, families in (("t410", T410), ("grace", GRACE))
    for family, table in families.items()
    for name, formula in table.items()
}

# SPDX-License-Identifier: MIT
"""Formulas of the simulated NVIDIA machines, written by hand from the documents."""

import re

from formulas import clock, latency, total

SOCKETS = (0, 1)


def each(stem, tail=""):
    return [f"nvidia_{stem}_pmu_{socket}{tail}" for socket in SOCKETS]


UCF, CMEM, C2C, CLINK, DLINK = map(each, ("ucf", "cmem_latency", "nvlink_c2c", "nvclink", "nvdlink"))
RC = [name for i in range(6) for name in each("pcie", f"_rc_{i}")]
TGT = [name for i in range(6) for name in each("pcie_tgt", f"_rc_{i}")]
SCF, GRACE_PCIE = "nvidia_scf_pmu_0", ["nvidia_pcie_pmu_0"]
GRACE_C2C = ["nvidia_nvlink_c2c0_pmu_0", "nvidia_nvlink_c2c1_pmu_0"]


def on_its_socket(formula):
    """A PMU of the Tegra410 is counted on the first of its socket's four CPUs."""

    def cpu_of(pmu):
        return 4 * int(re.search(r"_pmu_(\d)", pmu).group(1))

    return lambda n: formula(lambda pmu, event: n(pmu, event, cpu_of(pmu)))


def ucf(*events):
    return lambda n: total(n, UCF, *events)


def ucf_share(over, under):
    return lambda n: total(n, UCF, over) / total(n, UCF, under)


def pcie_of_t410(direction, pmus):
    """Both directions of the Tegra410's PCIe have these."""
    p = f"pcie.{direction}"
    return {
        f"{p}.read.bandwidth": lambda n: total(n, pmus, "rd_bytes"),
        f"{p}.write.bandwidth": lambda n: total(n, pmus, "wr_bytes"),
        f"{p}.bandwidth": lambda n: total(n, pmus, "rd_bytes", "wr_bytes"),
        f"{p}.read.requests": lambda n: total(n, pmus, "rd_req"),
        f"{p}.write.requests": lambda n: total(n, pmus, "wr_req"),
        f"{p}.read.requests.per.cycle": lambda n: total(n, pmus, "rd_req") / total(n, pmus, "cycles"),
        f"{p}.write.requests.per.cycle": lambda n: total(n, pmus, "wr_req") / total(n, pmus, "cycles"),
    }


def in_cycles(pmus, event):
    """Little's law, in cycles of the clock that the requests in flight are summed over."""
    return lambda n: total(n, pmus, f"{event}_cum_outs") / total(n, pmus, f"{event}_req")


def link_of_t410(family, pmus, way, event):
    """One direction of a link: latency and requests. Other links have metrics of these names."""
    return {
        f"{family}/link.{way}.latency": lambda n: latency(
            n, pmus, [f"{event}_cum_outs"], [f"{event}_req"]
        ),
        f"{family}/link.{way}.latency.cycles": in_cycles(pmus, event),
        f"{family}/link.{way}.requests": lambda n: total(n, pmus, f"{event}_req"),
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
        f"{prefix}.read.requests.per.cycle": lambda n: n(SCF, f"{event}_rd_access") / n(SCF, "cycles"),
        f"{prefix}.write.requests.per.cycle": lambda n: total(
            n, [SCF], f"{event}_wr_access", f"{event}_wb_access"
        )
        / n(SCF, "cycles"),
    }


def matrix_of_t410():
    """Filters of the document: a source and a destination for each cell."""
    sources = {"cpu": "src_loc_cpu", "device": "src_loc_noncpu", "remote": "src_rem"}
    targets = {"memory": "cmem", "gpu": "gmem", "cxl": "other"}
    targets = {**{to: f"dst_loc_{name}" for to, name in targets.items()}, "remote": "dst_rem"}
    return {
        f"matrix.{who}.{to}.{kind}.bandwidth": ucf(f"event={code},{source}=0x1,{target}=0x1")
        for kind, code in (("read", "0x123"), ("write", "0x124"))
        for who, source in sources.items()
        for to, target in targets.items()
    }


def matrix_of_grace():
    """What each PMU covers: SCF the CPUs, PCIe the devices, NVLink-C2C the GPU."""

    def cells(pair, read, write):
        return {f"matrix.{pair}.read.bandwidth": read, f"matrix.{pair}.write.bandwidth": write}

    def fabric(event):
        return (lambda n: n(SCF, f"{event}_rd_data") * 32, lambda n: n(SCF, f"{event}_wr_total_bytes"))

    def link(pmus, to):
        return (lambda n: total(n, pmus, f"rd_bytes_{to}"), lambda n: total(n, pmus, f"wr_bytes_{to}"))

    return {
        **cells("cpu.memory", *fabric("cmem")),
        **cells("cpu.gpu", *fabric("gmem")),
        **cells("cpu.remote", *fabric("remote_socket")),
        **cells("device.memory", *link(GRACE_PCIE, "loc")),
        **cells("device.remote", *link(GRACE_PCIE, "rem")),
        **cells("gpu.memory", *link(GRACE_C2C, "loc")),
        **cells("gpu.remote", *link(GRACE_C2C, "rem")),
    }


# Each window lasts one second, so "/ seconds" is nothing.
T410 = {
    "memory.read.bandwidth": ucf("mem_bytes_rd"),
    "memory.write.bandwidth": ucf("mem_bytes_wr"),
    "memory.bandwidth": ucf("mem_bytes_rd", "mem_bytes_wr"),
    "memory.read.requests.per.cycle": ucf_share("mem_access_rd", "cycles"),
    "memory.write.requests.per.cycle": ucf_share("mem_access_wr", "cycles"),
    "cache.read.bandwidth": ucf("slc_bytes_rd"),
    "cache.write.bandwidth": ucf("slc_bytes_wr"),
    "cache.read.requests.per.cycle": ucf_share("slc_access_rd", "cycles"),
    "cache.write.requests.per.cycle": ucf_share("slc_access_wr", "cycles"),
    "cache.hit.ratio": ucf_share("slc_hit_rd", "slc_access_rd"),
    "cache.refills": ucf("slc_refill_rd", "slc_refill_wr"),
    "cache.read.refills": ucf("slc_refill_rd"),
    "cache.write.refills": ucf("slc_refill_wr"),
    "cache.allocations": ucf("slc_allocate"),
    "cache.writebacks": ucf("slc_wb"),
    "cache.dataless.requests": ucf("slc_access_dataless"),
    "cache.atomic.requests": ucf("slc_access_atomic"),
    "cache.snoop.local.requests": ucf("local_snoop"),
    "cache.snoop.external.accesses": ucf("ext_snp_access"),
    "cache.snoop.external.evictions": ucf("ext_snp_evict"),
    "fabric.clock.frequency": clock(UCF),
    "fabric.bus.clock.frequency": clock(UCF, "bus_cycles"),
    "memory.dram.read.bandwidth": lambda n: total(n, CMEM, "rd_req") * 32,
    "memory.read.latency": lambda n: latency(n, CMEM, ["rd_cum_outs"], ["rd_req"]),
    "memory.read.latency.cycles": in_cycles(CMEM, "rd"),
    "pcie.inbound.read.latency.cycles": in_cycles(RC, "rd"),
    "memory.cxl.read.latency.cycles": in_cycles(DLINK, "in_rd"),
    **pcie_of_t410("inbound", RC),
    **pcie_of_t410("outbound", TGT),
    "pcie.inbound.read.latency": lambda n: latency(n, RC, ["rd_cum_outs"], ["rd_req"]),
    "pcie.clock.frequency": clock(RC),
    **link_of_t410("nvidia-t410-nvlink-c2c", C2C, "in.read", "in_rd"),
    **link_of_t410("nvidia-t410-nvlink-c2c", C2C, "in.write", "in_wr"),
    **link_of_t410("nvidia-t410-nvlink-c2c", C2C, "out.read", "out_rd"),
    **link_of_t410("nvidia-t410-nvlink-c2c", C2C, "out.write", "out_wr"),
    "nvidia-t410-nvlink-c2c/link.clock.frequency": clock(C2C),
    **link_of_t410("nvidia-t410-nvclink", CLINK, "in.read", "in_rd"),
    **link_of_t410("nvidia-t410-nvclink", CLINK, "out.read", "out_rd"),
    "nvidia-t410-nvclink/link.clock.frequency": clock(CLINK),
    # The driver's word is "in" for what the socket reads from CXL memory.
    "memory.cxl.read.latency": lambda n: latency(n, DLINK, ["in_rd_cum_outs"], ["in_rd_req"]),
    "memory.cxl.read.requests": lambda n: total(n, DLINK, "in_rd_req"),
    "link.cxl.clock.frequency": clock(DLINK),
    **matrix_of_t410(),
}

FORMULAS = {
    "t410": {name: on_its_socket(formula) for name, formula in T410.items()},
    "grace": {
        **memory_of_grace("memory", "cmem"),
        **memory_of_grace("memory.gpu", "gmem"),
        **memory_of_grace("memory.remote", "remote_socket"),
        **rates_of_grace("memory", "cmem"),
        **rates_of_grace("memory.gpu", "gmem"),
        "memory.bandwidth": lambda n: n(SCF, "cmem_rd_data") * 32 + n(SCF, "cmem_wr_total_bytes"),
        "cache.hit.ratio": lambda n: 1 - n(SCF, "scf_cache_refill") / n(SCF, "scf_cache"),
        "cache.requests.per.cycle": lambda n: n(SCF, "scf_cache") / n(SCF, "cycles"),
        "cache.refills": lambda n: n(SCF, "scf_cache_refill"),
        "cache.allocations": lambda n: n(SCF, "scf_cache_allocate"),
        "cache.writebacks": lambda n: n(SCF, "scf_cache_wb"),
        "fabric.clock.frequency": clock([SCF]),
        "fabric.bus.clock.frequency": lambda n: n(SCF, "bus_cycles"),
        **link_of_grace("pcie.inbound", GRACE_PCIE),
        "pcie.clock.frequency": clock(GRACE_PCIE),
        **link_of_grace("link.in", GRACE_C2C),
        "link.clock.frequency": clock(GRACE_C2C),
        **matrix_of_grace(),
    },
}

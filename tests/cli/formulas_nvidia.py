# SPDX-License-Identifier: MIT
"""Formulas of the simulated NVIDIA machines, written by hand from the documents."""

import re

from formulas import clock, doubted, latency, total

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


def client_of_thor(prefix, pmu, code=None):
    """Memory traffic of I/O, vision, or (code: with these terms behind event numbers) of the root ports."""

    def both(event):
        return lambda n: sum(n(pmu, code(event, at) if code else f"{event}_{at}") for at in ("loc", "rem"))

    def mean_latency(n):
        return both("rd_cum_outs")(n) / both("rd_req")(n) / n(pmu, "cycles")

    own = {
        f"{prefix}.read.bandwidth": both("rd_bytes"),
        f"{prefix}.write.bandwidth": both("wr_bytes"),
        f"{prefix}.read.requests": both("rd_req"),
        f"{prefix}.write.requests": both("wr_req"),
        f"{prefix}.read.latency": mean_latency,
    }
    if not code:
        own[f"{prefix}.bandwidth"] = lambda n: both("rd_bytes")(n) + both("wr_bytes")(n)
        own[f"{prefix}.requests"] = lambda n: both("rd_req")(n) + both("wr_req")(n)
    return own


def root_ports(event, at):
    number = ("rd_bytes", "wr_bytes", "total_bytes", "rd_req", "wr_req", "total_req", "rd_cum_outs").index(event)
    ports = ",".join(f"pcie_rp_{i}=0x1" for i in range(1, 6))
    return f"event={2 * number + (at == 'rem'):#x},{ports}"


THOR, UPHY, VISION, DISPLAY, THOR_GPU = (
    f"nvidia_{name}_pmu_0" for name in ("ucf", "uphy", "vision", "display", "ucf_gpu"))


def of_thor(event):
    return lambda n: n(THOR, event)


def waits_of_thor(event):
    return doubted(lambda n: n(THOR, f"{event}_outstanding_rd") / n(THOR, f"{event}_access_rd") / n(THOR, "cycles"))


FORMULAS = {
    "thor": {
        "memory.read.bandwidth": of_thor("local_dram_byte_rd"),
        "memory.write.bandwidth": of_thor("local_dram_byte_wr"),
        "memory.bandwidth": lambda n: n(THOR, "local_dram_byte_rd") + n(THOR, "local_dram_byte_wr"),
        "memory.read.requests.per.cycle": lambda n: n(THOR, "local_dram_access_rd") / n(THOR, "cycles"),
        "memory.write.requests.per.cycle": lambda n: n(THOR, "local_dram_access_wr") / n(THOR, "cycles"),
        "fabric.read.bandwidth": of_thor("any_byte_rd"),
        "fabric.write.bandwidth": of_thor("any_byte_wr"),
        "fabric.read.latency": waits_of_thor("any"),
        "mmio.read.bandwidth": of_thor("mmio_byte_rd"),
        "mmio.write.bandwidth": of_thor("mmio_byte_wr"),
        "mmio.read.latency": waits_of_thor("mmio"),
        "cache.hit.ratio": lambda n: n(THOR, "slc_hit_rd") / n(THOR, "any_access_rd"),
        "cache.refills": of_thor("slc_refill"),
        "cache.read.refills": of_thor("slc_refill_rd"),
        "cache.write.refills": of_thor("slc_refill_wr"),
        "cache.allocations": of_thor("slc_allocate"),
        "cache.writebacks": of_thor("slc_wb"),
        "cache.dataless.requests": of_thor("slc_access_dataless"),
        "cache.atomic.requests": of_thor("slc_access_atomic"),
        "cache.snoop.local.requests": of_thor("local_snoop"),
        "cache.snoop.external.accesses": of_thor("ext_snp_access"),
        "cache.snoop.external.evictions": of_thor("ext_snp_evict"),
        "fabric.clock.frequency": clock([THOR]),
        "fabric.bus.clock.frequency": of_thor("ucf_bus_cycles"),
        **{
            f"matrix.{who}.memory.{kind}.bandwidth": of_thor(f"event={code},{source}=0x1,dst_loc=0x1")
            for who, source in (("cpu", "src_loc_cpu"), ("device", "src_loc_noncpu"))
            for kind, code in (("read", "0x123"), ("write", "0x124"))
        },
        **client_of_thor("pcie.inbound", UPHY, code=root_ports),
        **client_of_thor("memory.from.io", UPHY),
        "fabric.io.clock.frequency": clock([UPHY]),
        **client_of_thor("memory.from.vision", VISION),
        "fabric.vision.clock.frequency": clock([VISION]),
        "memory.from.display.read.bandwidth": lambda n: n(DISPLAY, "rd_bytes_loc"),
        "memory.from.display.read.requests": lambda n: n(DISPLAY, "rd_req_loc"),
        "memory.from.display.read.latency": lambda n: latency(n, [DISPLAY], ["rd_cum_outs_loc"], ["rd_req_loc"]),
        "fabric.display.clock.frequency": clock([DISPLAY]),
        "memory.from.gpu.read.bandwidth": lambda n: n(THOR_GPU, "rd_bytes_loc_rem"),
        "memory.from.gpu.write.bandwidth": lambda n: total(n, [THOR_GPU], "wr_bytes_loc", "wr_bytes_rem"),
        "memory.from.gpu.read.requests": lambda n: n(THOR_GPU, "rd_req_loc_rem"),
        "memory.from.gpu.write.requests": lambda n: total(n, [THOR_GPU], "wr_req_loc", "wr_req_rem"),
        "memory.from.gpu.read.latency": lambda n: latency(
            n, [THOR_GPU], ["rd_cum_outs_loc_rem"], ["rd_req_loc_rem"]
        ),
        "fabric.gpu.clock.frequency": clock([THOR_GPU]),
    },
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

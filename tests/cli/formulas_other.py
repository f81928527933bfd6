# SPDX-License-Identifier: MIT
"""Formulas of the simulated machines of other vendors, written by hand from the documents."""

from formulas import clock, latency, total


def rate(pmus, *events, size=1):
    """Counts of all these, so many bytes each."""
    return lambda n: size * total(n, pmus, *events)


def share(pmus, part, whole):
    return lambda n: total(n, pmus, *part) / total(n, pmus, *whole)


def misses(pmus, missed, whole):
    return lambda n: 1 - total(n, pmus, missed) / total(n, pmus, whole)


# ---- Arm -----------------------------------------------------------------------------------------

CMN, CXL = ["arm_cmn_0"], ["cxl_pmu_mem0.0"]
DMC = ["arm_dmc620_10008c000", "arm_dmc620_100090000"]
PORTS = ["dwc_rootport_10000", "dwc_rootport_13018"]
CLUSTERS = {"arm_dsu_0": 0, "arm_dsu_1": 2}  # and the CPU that counts


def clusters(event):
    return lambda n: sum(n(pmu, event, cpu) for pmu, cpu in CLUSTERS.items())


def cluster_clock(n):
    clocks = [n(pmu, "cycles", cpu) for pmu, cpu in CLUSTERS.items()]
    return sum(clocks) / sum(c > 0 for c in clocks)


NEOVERSE = {
    "cache.hit.ratio": misses(CMN, "hnf_cache_miss", "hnf_slc_sf_cache_access"),
    "cache.snoop.hit.ratio": share(CMN, ["hnf_sf_hit"], ["hnf_slc_sf_cache_access"]),
    "cache.request.latency": lambda n: latency(
        n, CMN, ["hnf_qos_pocq_occupancy_all"], ["hnf_pocq_reqs_recvd"], "dtc_cycles"
    ),
    "cache.memory.requests": rate(CMN, "hnf_mc_reqs"),
    "fabric.retry.ratio": share(CMN, ["hnf_pocq_retry"], ["hnf_pocq_reqs_recvd"]),
    "fabric.memory.retry.ratio": share(CMN, ["hnf_mc_retries"], ["hnf_mc_reqs"]),
    "fabric.io.read.bandwidth": rate(CMN, "rnid_rxdat_flits", size=32),
    "fabric.io.write.bandwidth": rate(CMN, "rnid_txdat_flits", size=32),
    "fabric.io.retry.ratio": share(CMN, ["rnid_txreq_flits_retried"], ["rnid_txreq_flits_total"]),
    "fabric.axi.write.bandwidth": rate(CMN, "sbsx_txdat_flitv", size=32),
    "fabric.clock.frequency": clock(CMN, "dtc_cycles"),
    "cache.cluster.hit.ratio": lambda n: 1 - clusters("l3d_cache_refill")(n) / clusters("l3d_cache")(n),
    "cache.cluster.refills": clusters("l3d_cache_refill"),
    "cache.cluster.allocations": clusters("l3d_cache_allocate"),
    "cache.cluster.writebacks": clusters("l3d_cache_wb"),
    "cache.cluster.clock.frequency": cluster_clock,
    "memory.requests": rate(DMC, "clkdiv2_rdwr"),
    "dram.activate.rate": rate(DMC, "clkdiv2_activate"),
    "memory.controller.clock.frequency": clock(DMC, "clk_cycle_count"),
    "pcie.in.bandwidth": rate(PORTS, "rx_pcie_tlp_data_payload"),
    "pcie.out.bandwidth": rate(PORTS, "tx_pcie_tlp_data_payload"),
    "memory.cxl.read.bandwidth": rate(CXL, "s2m_drs_memdata", size=64),
    "memory.cxl.write.bandwidth": rate(CXL, "m2s_rwd_memwr", size=64),
    "memory.cxl.bandwidth": rate(CXL, "s2m_drs_memdata", "m2s_rwd_memwr", size=64),
    "memory.cxl.partial.write.requests": rate(CXL, "m2s_rwd_memwrptl"),
    "memory.cxl.dram.read.requests": rate(CXL, "ddr_casrd"),
    "memory.cxl.dram.write.requests": rate(CXL, "ddr_caswr"),
    "memory.cxl.clock.frequency": clock(CXL, "clock_ticks"),
}

# ---- HiSilicon -----------------------------------------------------------------------------------

DDRC_V1 = ["hisi_sccl1_ddrc0", "hisi_sccl1_ddrc1"]
DDRC_V2 = ["hisi_sccl3_ddrc0_0", "hisi_sccl3_ddrc0_1"]
HHA_V1, HHA_V2 = ["hisi_sccl1_hha0"], ["hisi_sccl3_hha0"]
L3C_V1, L3C_V2 = ["hisi_sccl1_l3c0"], ["hisi_sccl3_l3c0"]
PA, CPA, PCIE = ["hisi_sicl2_pa0"], ["hisi_sicl2_cpa0"], ["hisi_pcie0_core0"]


def ddrc(pmus):
    """Any version: units of 32 bytes."""
    return {
        "memory.read.bandwidth": rate(pmus, "flux_rd", size=32),
        "memory.write.bandwidth": rate(pmus, "flux_wr", size=32),
        "memory.bandwidth": rate(pmus, "flux_rd", "flux_wr", size=32),
    }


def hha(pmus):
    return {
        "fabric.home.requests": rate(pmus, "rx_ops_num"),
        "fabric.home.remote.ratio": share(pmus, ["rx_outer"], ["rx_ops_num"]),
        "fabric.home.die.ratio": share(pmus, ["rx_sccl"], ["rx_ops_num"]),
    }


def payload(event):
    """Doublewords of all ports."""
    return rate(PCIE, f"event={event:#x},port=0xffff,len_mode=1", size=4)


def packets(event):
    return rate(PCIE, f"event={event | 0x10000:#x},port=0xffff")


def nanoseconds(event):
    """Delay over packets."""
    return lambda n: rate(PCIE, f"event={event:#x},port=0xffff")(n) * 1e-9 / packets(event)(n)


HIP08 = {
    **ddrc(DDRC_V1),
    "memory.read.requests": rate(DDRC_V1, "flux_rcmd"),
    "memory.write.requests": rate(DDRC_V1, "flux_wcmd"),
    "dram.activate.rate": rate(DDRC_V1, "act_cmd"),
    **hha(HHA_V1),
    "fabric.memory.read.bandwidth": lambda n: rate(HHA_V1, "rd_ddr_64b", size=64)(n)
    + rate(HHA_V1, "rd_ddr_128b", size=128)(n),
    "fabric.memory.write.bandwidth": lambda n: rate(HHA_V1, "wr_ddr_64b", size=64)(n)
    + rate(HHA_V1, "wr_ddr_128b", size=128)(n),
    "cache.hit.ratio": share(L3C_V1, ["rd_hit_cpipe", "wr_hit_cpipe"], ["rd_cpipe", "wr_cpipe"]),
    "cache.local.hit.ratio": share(L3C_V1, ["rd_hit_spipe", "wr_hit_spipe"], ["rd_spipe", "wr_spipe"]),
}

HIP09 = {
    **ddrc(DDRC_V2),
    "memory.controller.clock.frequency": clock(DDRC_V2),
    **hha(HHA_V2),
    "fabric.home.clock.frequency": clock(HHA_V2),
    "cache.clock.frequency": clock(L3C_V2),
    "link.in.requests": rate(PA, "rx_req"),
    "link.out.requests": rate(PA, "tx_req"),
    "link.clock.frequency": clock(PA, "cycle"),
    "fabric.port0.bandwidth": lambda n: rate(CPA, "cpa_p0_wr_dat", "event=0x83", size=64)(n)
    + rate(CPA, "event=0x84", size=32)(n),
    "fabric.port1.bandwidth": lambda n: rate(CPA, "cpa_p1_wr_dat", "event=0x3", size=64)(n)
    + rate(CPA, "event=0x4", size=32)(n),
    "fabric.clock.frequency": clock(CPA, "cpa_cycles"),
    "pcie.inbound.read.bandwidth": payload(0x1005),
    "pcie.inbound.write.bandwidth": payload(0x104),
    "pcie.outbound.read.bandwidth": payload(0x2004),
    "pcie.outbound.write.bandwidth": payload(0x105),
    "pcie.inbound.read.requests": packets(0x210),
    "pcie.inbound.write.requests": packets(0x10),
    "pcie.outbound.read.requests": packets(0x11),
    "pcie.inbound.read.latency": nanoseconds(0x210),
    "pcie.inbound.write.latency": nanoseconds(0x10),
    "pcie.outbound.read.latency": nanoseconds(0x11),
}

# ---- others --------------------------------------------------------------------------------------

MCU = ["ampere_mcu_pmu_0", "ampere_mcu_pmu_1"]
DDR = ["mrvl_ddr_pmu_87e1c0000000", "mrvl_ddr_pmu_87e1c1000000"]
PEM, TAD = ["mrvl_pcie_rc_pmu_8e0000006000"], ["tad"]
MAC, PCI = ["mac_iod0_mac0_ch0", "mac_iod0_mac0_ch1"], ["pci_iod0_pci0"]
DRW = ["ali_drw_21000", "ali_drw_21080"]

IMX8, IMX9 = ["imx8_ddr0"], ["imx9_ddr0"]
MP_READ, MP_WRITE = (f"event={event},axi_mask=0xffff,axi_id=0x0" for event in ("0x41", "0x42"))
IMX93_WRITE = {f"ddrc_pm_{i}": 32 if i % 2 else -32 for i in range(2, 10)}  # odd ones less even ones


def imx(pmus, read, write, size):
    return {
        "memory.read.bandwidth": rate(pmus, read, size=size),
        "memory.write.bandwidth": rate(pmus, write, size=size),
        "memory.bandwidth": rate(pmus, read, write, size=size),
        "memory.controller.clock.frequency": clock(pmus),
    }


# Each window lasts one second, so "/ seconds" is nothing.
FORMULAS = {
    "neoverse": NEOVERSE,
    "hip08": HIP08,
    "hip09": HIP09,
    "ampereone": {
        "memory.read.bandwidth": rate(MCU, "rd_rda_sent", size=64),
        "memory.write.bandwidth": rate(MCU, "wr_wra_sent", size=64),
        "memory.bandwidth": rate(MCU, "rd_rda_sent", "wr_wra_sent", size=64),
        "dram.activate.rate": rate(MCU, "act_sent"),
        "memory.controller.clock.frequency": clock(MCU, "cycle_count"),
    },
    "odyssey": {
        "cache.hits": rate(TAD, "tad_hit_any"),
        "cache.allocations": rate(TAD, "tad_alloc_any"),
        "memory.read.requests": rate(DDR, "ddr_ddr_reads"),
        "memory.write.requests": rate(DDR, "ddr_ddr_writes"),
        "dram.activate.rate": rate(DDR, "ddr_cam_active_access"),
        "memory.controller.clock.frequency": clock(DDR, "ddr_dfi_cycles"),
        "pcie.inbound.write.bandwidth": rate(PEM, "ib_tlp_dwords_pr", size=4),
        "pcie.inbound.write.requests": rate(PEM, "ib_tlp_pr"),
        "pcie.inbound.read.requests": rate(PEM, "ib_reads"),
    },
    "monaka": {
        "memory.read.requests": rate(MAC, "memory-read-count"),
        "memory.write.requests": rate(MAC, "memory-write-count", "memory-pwrite-count"),
        "memory.controller.clock.frequency": clock(MAC),
        "pcie.any.read.requests": rate(PCI, "pci-port0-read-count", "pci-port1-read-count"),
        "pcie.any.write.requests": rate(PCI, "pci-port0-write-count", "pci-port1-write-count"),
        "pcie.port0.any.read.requests": rate(PCI, "pci-port0-read-count"),
        "pcie.port0.any.write.requests": rate(PCI, "pci-port0-write-count"),
        "pcie.port1.any.read.requests": rate(PCI, "pci-port1-read-count"),
        "pcie.port1.any.write.requests": rate(PCI, "pci-port1-write-count"),
        "pcie.clock.frequency": clock(PCI, "pci-port0-cycles"),
    },
    "yitian710": {
        "memory.read.bandwidth": rate(DRW, "hif_rd", size=64),
        "memory.write.bandwidth": rate(DRW, "hif_wr", "hif_rmw", size=64),
        "memory.bandwidth": rate(DRW, "hif_rd", "hif_wr", "hif_rmw", size=64),
        "dram.activate.rate": rate(DRW, "op_is_activate"),
        "memory.controller.clock.frequency": clock(DRW, "cycle"),
    },
    "imx8mm": imx(IMX8, "read-cycles", "write-cycles", 16),
    "imx8mn": imx(IMX8, "read-cycles", "write-cycles", 8),
    "imx8mp": imx(IMX8, MP_READ, MP_WRITE, 1),
    "imx93": {
        "memory.read.bandwidth": rate(IMX9, "ddrc_pm_0", size=16),
        "memory.write.bandwidth": lambda n: sum(
            size * total(n, IMX9, event) for event, size in IMX93_WRITE.items()
        ),
    },
    "imx95": imx(IMX9, "eddrtq_pm_rd_beat_filt0", "eddrtq_pm_wr_beat_filt", 32),
}

#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Whole outputs on the synthetic machines, to the byte, as in golden.bats. UPDATE=1 writes the goldens.

load helpers

@test "overview" {
	local machine

	for machine in neoverse hip08 hip09 ampereone odyssey monaka yitian710 imx8mp thor; do
		session_of --source "sim:$machine,step=1s"
	done
	golden overview-other.txt <"$SESSION"
}

@test "pcie by root port and by device" {
	session_of --source sim:neoverse,step=1s pcie --timeout 1ms
	session_of --source sim:hip09,step=1s pcie --timeout 1ms
	expect 0 "$UNCORE" --source sim:hip09,step=1s pcie --timeout 1ms --device mlx5_0
	says 'left out: hisi-pcie/pcie.inbound.read.latency'
	stderr="" add_to_session --source sim:hip09,step=1s pcie --timeout 1ms --device mlx5_0
	golden pcie-other.txt <"$SESSION"
}

@test "explain" {
	session_of --root "$MACHINES/hisilicon-hip08.txt" explain memory.read.bandwidth
	session_of --root "$MACHINES/hisilicon-hip09.txt" explain memory.read.bandwidth
	session_of --root "$MACHINES/hisilicon-hip09.txt" explain pcie.inbound.read.latency
	session_of --root "$MACHINES/ampere-ampereone.txt" explain memory.read.bandwidth
	session_of --root "$MACHINES/alibaba-yitian710.txt" explain memory.read.bandwidth
	session_of --root "$MACHINES/arm-neoverse-cmn.txt" explain memory.cxl.read.bandwidth
	session_of --root "$MACHINES/arm-neoverse-cmn.txt" explain cache.hit.ratio
	golden explain-other.txt <"$SESSION"
}

@test "stat --dry-run: the inputs of a ratio are in one group" {
	session_of --root "$MACHINES/arm-neoverse-cmn.txt" stat --dry-run -M 'arm-cmn/*.ratio'
	session_of --root "$MACHINES/hisilicon-hip09.txt" stat --dry-run -M 'pcie.*'
	golden dry-run-other.txt <"$SESSION"
}

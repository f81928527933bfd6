#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Whole outputs on the synthetic machines, to the byte, as in golden.bats. UPDATE=1 writes the goldens.

load helpers

# golden_of NAME ARGUMENTS...
golden_of() {
	expect 0 "$UNCORE" "${@:2}"
	# A busy machine may miss an interval; simulated time does not.
	[ -z "$stderr" ] || [[ $stderr =~ interval(\ was|s\ were)\ late\ by ]] || fail 'a word on standard error'
	golden "$1" <<<"$output"
}

@test "overview" {
	local machine

	for machine in neoverse hip08 hip09 ampereone odyssey monaka yitian710 imx8mp; do
		golden_of "overview-$machine.txt" --source "sim:$machine,step=1s"
	done
}

@test "pcie by root port and by device" {
	golden_of pcie-neoverse.txt --source sim:neoverse,step=1s pcie --timeout 1
	golden_of pcie-hip09.txt --source sim:hip09,step=1s pcie --timeout 1
	expect 0 "$UNCORE" --source sim:hip09,step=1s pcie --timeout 1 --device mlx5_0
	golden pcie-hip09-device.txt <<<"$output"
	says 'left out: hisi-pcie/pcie.inbound.read.latency'
}

@test "explain" {
	golden_of explain-hip08.txt --root "$MACHINES/hisilicon-hip08.txt" explain memory.read.bandwidth
	golden_of explain-hip09.txt --root "$MACHINES/hisilicon-hip09.txt" explain memory.read.bandwidth
	golden_of explain-hip09-pcie.txt --root "$MACHINES/hisilicon-hip09.txt" explain pcie.inbound.read.latency
	golden_of explain-ampereone.txt --root "$MACHINES/ampere-ampereone.txt" explain memory.read.bandwidth
	golden_of explain-yitian710.txt --root "$MACHINES/alibaba-yitian710.txt" explain memory.read.bandwidth
	golden_of explain-neoverse.txt --root "$MACHINES/arm-neoverse-cmn.txt" explain memory.cxl.read.bandwidth
	golden_of explain-neoverse-cache.txt --root "$MACHINES/arm-neoverse-cmn.txt" explain cache.hit.ratio
}

@test "stat --dry-run: the inputs of a ratio are in one group" {
	golden_of dry-run-neoverse.txt --root "$MACHINES/arm-neoverse-cmn.txt" stat --dry-run -M 'arm-cmn/*.ratio'
	golden_of dry-run-hip09.txt --root "$MACHINES/hisilicon-hip09.txt" stat --dry-run -M 'pcie.*'
}

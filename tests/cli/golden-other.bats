#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Whole outputs on the synthetic machines, to the byte, as in golden.bats. UPDATE=1 writes the goldens.

load helpers

# golden_of NAME ARGUMENTS...
golden_of() {
	expect 0 "$UNCORE" "${@:2}"
	# A busy machine may miss a tick; simulated time does not.
	[ -z "$stderr" ] || [[ $stderr =~ tick(\ was|s\ were)\ late\ by ]] || fail 'a word on standard error'
	golden "$1" <<<"$output"
}

@test "the trees are what make-others writes" {
	"$MACHINES/make-others" "$BATS_TEST_TMPDIR"
	for tree in "$BATS_TEST_TMPDIR"/*/; do
		diff -r -x 'pci*' -x usr "$tree" "$MACHINES/$(basename "$tree")" # by make-pci
	done
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
	golden_of explain-hip08.txt --root "$MACHINES/hisilicon-hip08" explain memory.read.bandwidth
	golden_of explain-hip09.txt --root "$MACHINES/hisilicon-hip09" explain memory.read.bandwidth
	golden_of explain-hip09-pcie.txt --root "$MACHINES/hisilicon-hip09" explain pcie.inbound.read.latency
	golden_of explain-ampereone.txt --root "$MACHINES/ampere-ampereone" explain memory.read.bandwidth
	golden_of explain-yitian710.txt --root "$MACHINES/alibaba-yitian710" explain memory.read.bandwidth
	golden_of explain-neoverse.txt --root "$MACHINES/arm-neoverse-cmn" explain memory.cxl.read.bandwidth
	golden_of explain-neoverse-cache.txt --root "$MACHINES/arm-neoverse-cmn" explain cache.hit.ratio
}

@test "stat --dry-run: the inputs of a ratio are in one group" {
	golden_of dry-run-neoverse.txt --root "$MACHINES/arm-neoverse-cmn" stat --dry-run -M 'arm-cmn/*.ratio'
	golden_of dry-run-hip09.txt --root "$MACHINES/hisilicon-hip09" stat --dry-run -M 'pcie.*'
}

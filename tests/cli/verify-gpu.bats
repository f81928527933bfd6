#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# `uncore verify` with a GPU: stand-ins for the libraries of its vendor copy known bytes (tests/cuda/libcuda.c), and
# count them (tests/nvml/stand-in.c). The GPU is a directory that only the command sees, in namespaces of its own.

load helpers

GPU=0000:01:00.0

# alone COMMAND...: on a machine with one GPU.
alone() {
	# shellcheck disable=SC2016 # the inner shell expands them
	unshare -mn bash -c '
		mount -t tmpfs none /sys/bus/pci/devices && mount -t tmpfs none /sys/module && mkdir /sys/module/nvidia &&
			ln -s "$0" /sys/bus/pci/devices/ && exec "$@"' "$gpu" "$@"
}

setup() {
	cd "$BATS_TEST_TMPDIR" || return
	export STATE_DIRECTORY=$PWD/state UNCORE_CUDA_GPU=$GPU UNCORE_CUDA_LOG=$PWD/log
	export LD_LIBRARY_PATH=$UNCORE_BUILD_ROOT/tests:$UNCORE_BUILD_ROOT/tests/cuda
	gpu=$PWD/pci0000:00/$GPU
	mkdir -p "$gpu"
	: >log
	printf '0x10de\n' >"$gpu/vendor"
	printf '0x2330\n' >"$gpu/device"
	printf '0x030200\n' >"$gpu/class"
	printf '%s\n' -1 >"$gpu/numa_node"
	alone true 2>/dev/null || skip 'namespaces and mounts need root'
}

@test "the link and the memory of a GPU count what its copies move" {
	local link='device.pcie.(received|transmitted|inbound.(read|write))'

	# Known exactly; the memory is counted as a mean, whose time is not.
	expect 0 alone "$UNCORE" verify --gpu all -M 'device.pcie.*' --time 4s -o report
	says "verify copies data to, from and within GPU $GPU "
	shows ' gpu-read +device.pcie.received +device 0000:01:00.0 +[0-9.]+ GB +1.0000  ±0.0000  proved' \
		'1.0781 B for each byte \(completions of 256 B\)' \
		'1.1875 B for each byte \(read requests of 256 B, writes of 256 B\)' '14 proved, 0 off, 0 cannot tell' || return 1
	[ "$(grep -cE "$link +device $GPU .* proved" <<<"$output")" = 14 ]
	expect 0 "$UNCORE" verify --show report -j
	helper check-schema <<<"$output"
	[ "$(jq -cs 'map([.direction, .device, .port]) | unique' <<<"$output")" = \
		'[["gpu-both","'$GPU'",null],["gpu-read","'$GPU'",null],["gpu-write","'$GPU'",null]]' ]
	memory() {
		expect 0 alone "$UNCORE" verify --gpu $GPU -M device.memory.bandwidth && shows 'proved'
	}
	eventually memory
}

@test "a GPU that cannot be used is left out with a note" {
	refuses 2 alone "$UNCORE" verify --gpu 0000:99:00.0
	says '0000:99:00.0'
	refuses 2 alone "$UNCORE" verify --gpu $GPU --time 1s
	says '--time: '
	UNCORE_CUDA_FAULT='no device' expect 3 alone "$UNCORE" verify --gpu $GPU -M 'device.pcie.*' --time 15s
	says 'note: --gpu 0000:01:00.0: cuInit failed: CUDA_ERROR_NO_DEVICE, 100: its counters are not judged'
	UNCORE_CUDA_FAULT=crash expect 3 alone "$UNCORE" verify --gpu $GPU -M 'device.pcie.*' --time 15s
	says 'note: --gpu 0000:01:00.0: its vendor.s library crashed: signal 6, Aborted: its verdicts are left out'
	unset LD_LIBRARY_PATH
	expect 3 alone "$UNCORE" verify --gpu $GPU -M 'device.pcie.*' --time 15s
	says 'note: --gpu 0000:01:00.0: the library cannot be loaded: libcuda.so.1: '
}

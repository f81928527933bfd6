#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Sockets and CPUs that are offline: nothing of another socket has other values, names or places because of them.

load helpers

MACHINE=$MACHINES/intel-skx-4socket-offline.txt

# Whose stack counts the network card ethN of package N. N of the file dieN is the kernel's number of the die, also while
# others are offline (linux arch/x86/events/intel/uncore_snbep.c, pmu_set_mapping(), topology_logical_die_id()).
@test "a device is counted on its own socket while another one is offline" {
	local number

	for number in 0 2 3; do
		expect 0 "$UNCORE" --root "$MACHINE" stat --dry-run -M pcie.inbound.read.bandwidth --device "eth$number"
		shows "uncore_iio_1 +37 +0x701000000483 +$number "
	done
	refuses 3 "$UNCORE" --root "$MACHINE" stat --dry-run -M pcie.inbound.read.bandwidth --device eth1
	says 'root port 0000:57:00.0 is not counted: uncore_iio_1 counts it on die 1, which has no CPU online' \
		'Fix: echo 1 . sudo tee /sys/devices/system/cpu/cpu1/online'
	[[ ! $stderr =~ modprobe ]] || fail 'another fix'
}

@test "topo shows the root bus of a socket that is offline at no other socket" {
	local number

	expect 0 "$UNCORE" --root "$MACHINE" topo --json
	for number in 0:0000:17 2:0000:97 3:0000:d7; do
		jq -e --arg bus "${number#*:}" --argjson socket "${number%%:*}" \
			'any(.root_ports[]; .address == $bus + ":00.0" and .socket == $socket and .pmus == ["uncore_iio_1"])' \
			<<<"$output" || fail "$number"
	done
	jq -e 'any(.root_ports[]; .address == "0000:57:00.0" and .socket == null and .pmus == [])' <<<"$output"
}

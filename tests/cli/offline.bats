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

# bats test_tags=slow
@test "rows, ports, devices and links keep their socket when the other socket or a CPU goes offline" {
	mkdir "$BATS_TEST_TMPDIR/machine"
	helper offline "${UNCORE_PLAIN:-$UNCORE}" "$BATS_TEST_TMPDIR/machine"
}

# two SOCKET: Tegra410 without the CPUs of a socket, in two.txt; simulated by two.yaml.
two() {
	local gone=$1 first=$((4 * $1))

	sed -E "/cpu[$first-$((first + 3))]\/topology\//d
		s|^(.*cpu/online) = .*|\1 = $((4 - first))-$((7 - first))|
		s|^(.*node$gone/cpulist) = .*|\1 = |
		s|^(.*_pmu_${gone}[_/].*cpumask) = .*|\1 = |" "$MACHINES/nvidia-t410-2socket.txt" >"$BATS_TEST_TMPDIR/two.txt"
	for cpu in $(seq "$first" $((first + 3))); do
		echo "sys/devices/system/node/node$gone/cpu$cpu/online = 0"
	done >>"$BATS_TEST_TMPDIR/two.txt"
	sed 's|^machine: .*|machine: ./two.txt|' "$UNCORE_SOURCE_ROOT/data/sim/t410.yaml" >"$BATS_TEST_TMPDIR/two.yaml"
}

@test "a socket is not partial because the other one has no CPU online" {
	local gone

	for gone in 0 1; do
		two "$gone"
		expect 0 "$UNCORE" --source "sim:$BATS_TEST_TMPDIR/two.yaml,step=1s" stat -M memory.read.bandwidth --per-socket \
			--json 1ms 1
		jq -es --argjson gone "$gone" 'length == 2
			and (.[] | select(.socket == 1 - $gone) | .quality == "measured" and .value > 0)
			and (.[] | select(.socket == $gone) | .quality == "unavailable" and .value == null
				and (.reason | contains("Fix: echo 1 | sudo tee /sys/devices/system/cpu/cpu")))' <<<"$output" ||
			fail "socket $gone"
	done
}

@test "doctor has the fix for PMUs without CPU" {
	two 1
	expect 3 "$UNCORE" --root "$BATS_TEST_TMPDIR/two.txt" doctor
	shows 'nvidia_ucf_pmu_1 has no CPU to be counted from' 'echo 1 . sudo tee /sys/devices/system/cpu/cpu4/online'
}

@test "the nodes of two dies of a package stay known when a CPU of a die is offline" {
	local drivers=$UNCORE_SOURCE_ROOT/tests/drivers node

	{
		sed -E 's|^(.*cpu/(present\|possible)) = .*|\1 = 0-4|' "$drivers/two-dies.txt"
		echo 'sys/devices/system/node/node0/cpu4/online = 0'
	} >"$BATS_TEST_TMPDIR/dies.txt"
	sed 's|^machine: .*|machine: ./dies.txt|' "$drivers/two-dies.yaml" >"$BATS_TEST_TMPDIR/dies.yaml"
	expect 0 "$UNCORE" --source "sim:$BATS_TEST_TMPDIR/dies.yaml,step=1s" stat -j -M memory.bandwidth --per-node 1ms 1
	for node in 0 1 2 3; do
		# 1 + 2 + ... + 6 times 960 MB/s
		jq -es --argjson node "$node" 'any(.[]; .node == $node and .value == 20160000000 and .quality == "measured")' \
			<<<"$output" || fail "node $node"
	done
}

# All sums that differ are those of the die that is offline; channel 6 is the first of die 1, whatever is online.
@test "an offline die of a package is a gap, and other channels and nodes keep their place" {
	local drivers=$UNCORE_SOURCE_ROOT/tests/drivers dir=$BATS_TEST_TMPDIR gone left socket

	cp "$drivers/two-dies.txt" "$dir/all.txt"
	sed 's|^machine: .*|machine: ./all.txt|' "$drivers/two-dies.yaml" >"$dir/all.yaml"
	for gone in 0 1 2 3; do
		left=$(echo "0,1,2,3" | sed "s/$gone//; s/^,//; s/,,/,/; s/,\$//")
		socket=$((gone / 2))
		{
			sed -E "/cpu$gone\/topology\//d
				s/(cpumask|cpu\/online) = .*/\1 = $left/
				s/(node$gone\/cpulist) = .*/\1 = /" "$drivers/two-dies.txt"
			for node in 0 1 2 3; do
				echo "sys/devices/system/node/node$node/cpu$node/online = $((node != gone))"
			done
			printf 'sys/devices/system/node/node%s\n' '0/distance = 10 11 21 21' '1/distance = 11 10 21 21' \
				'2/distance = 21 21 10 11' '3/distance = 21 21 11 10'
		} >"$dir/off.txt"
		sed 's|^machine: .*|machine: ./off.txt|' "$drivers/two-dies.yaml" >"$dir/off.yaml"
		expect 0 "$UNCORE" --source "sim:$dir/off.yaml,step=1s" stat -j -M memory.bandwidth --per-socket 1ms 1
		jq -es --argjson socket "$socket" --arg fix "cpu$gone/online" '
			(.[] | select(.socket == $socket) | .quality == "partial" and .value == 20160000000
				and (.reason | contains("1 of the 2 dies of socket \($socket)") and contains($fix)))
			and (.[] | select(.socket != $socket) | .quality == "measured" and .value == 40320000000)' <<<"$output" ||
			fail "socket of die $gone"
		for level in channel node; do
			rows=".[] | select(.value) | [.socket, .channel, .node, .cpu, .value, .quality]"
			expect 0 "$UNCORE" --source "sim:$dir/all.yaml,step=1s" stat -j -M memory.bandwidth "--per-$level" 1ms 1
			jq -cs "$rows" <<<"$output" >"$dir/before"
			expect 0 "$UNCORE" --source "sim:$dir/off.yaml,step=1s" stat -j -M memory.bandwidth "--per-$level" 1ms 1
			jq -cs "$rows" <<<"$output" >"$dir/after"
			[ "$(comm -13 <(sort "$dir/before") <(sort "$dir/after"))" = "" ] || fail "moved at $level without die $gone"
			[ "$(wc -l <"$dir/after")" = "$(($(wc -l <"$dir/before") * 3 / 4))" ] || fail "lost at $level without die $gone"
		done
	done
}

# One register for each package, read from a CPU of whichever die has one (linux arch/x86/events/rapl.c, rapl_pkg_pmu_is_pkg_scope()).
@test "an offline die is no gap of PMUs that count its package" {
	local dir=$BATS_TEST_TMPDIR drivers=$UNCORE_SOURCE_ROOT/tests/drivers

	{
		sed -E '/cpu2\/topology\//d; /uncore_imc/d
			s/(cpu\/online) = .*/\1 = 0-1,3/; s/(node2\/cpulist) = .*/\1 = /
			s/^(\tmodel\t\t: ).*/\1143/' "$drivers/two-dies.txt"
		grep -F /devices/power/ "$drivers/rapl-all-cpus.txt" | sed 's/cpumask = .*/cpumask = 0,3/'
	} >"$dir/package.txt"
	sed 's|^machine: .*|machine: ./package.txt|' "$drivers/rapl-all-cpus.yaml" >"$dir/package.yaml"
	expect 0 "$UNCORE" --source "sim:$dir/package.yaml,step=1s" stat -j -M power.package --per-socket 1ms 1
	jq -es 'map([.socket, .value, .quality]) == [[0, 200, "measured"], [1, 200, "measured"]]' <<<"$output" || fail "$output"
}

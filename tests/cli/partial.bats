#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Machines whose files are few, old or odd: tests/machines/partial/NAME.txt. Expected values are those of hwloc and
# lscpu for the machines that the files are from, see tests/machines/README.md.

load helpers

PARTIAL=$MACHINES/partial

# sockets NAME: [id, CPUs, nodes] of each socket, and what is offline.
sockets() {
	expect 0 "$UNCORE" --root "$PARTIAL/$1.txt" topo --json
	helper check-schema <<<"$output"
	jq -c '[[.sockets[] | [.id, .cpus, .nodes]], .offline.cpus, .offline.nodes]' <<<"$output"
}

@test "sockets and nodes from the files that exist" {
	[ "$(sockets no-present)" = '[[[0,[0],[0]],[1,[1],[1]]],[],[]]' ]
	[ "$(sockets nul-cpulist)" = '[[[0,[0,1],[0]]],[],[]]' ]
	[ "$(sockets node-cpumap-only)" = '[[[0,[0],[0]],[1,[1],[1]]],[],[]]' ]
	[ "$(sockets power-offline)" = '[[[0,[0],[0]]],[8,40],[0,1]]' ]
	[ "$(sockets package-minus-one)" = '[[[null,[0,1],[0]]],[],[]]' ]
	[ "$(sockets old-arm-cpuinfo)" = '[[[0,[0,1],[]]],[],[]]' ]
	expect 0 "$UNCORE" --root "$PARTIAL/power-offline.txt" topo
	shows 'socket 0: CPU 0, NUMA node 0' 'offline: CPUs 8,40, NUMA nodes 0,1'
}

# -1 is an unknown package (linux include/linux/topology.h): no CPU of this machine is offline.
@test "if a package is unknown, the reason is not offline CPUs of a die" {
	local tree=$BATS_TEST_TMPDIR/unknown cpus cpu

	unpack "$MACHINES/intel-skx-4socket-offline.txt" "$tree"
	cpus=$tree/sys/devices/system/cpu
	rm -r "$tree"/sys/devices/system/node/node[23] "$tree"/sys/bus/event_source/devices/*/die[23] "$tree"/sys/devices/pci0000:[9d]7
	mkdir -p "$cpus/cpu1/topology"
	rm "$cpus/cpu1/online"
	for cpu in 0:0 1:0 2:-1 3:1; do echo "${cpu#*:}" >"$cpus/cpu${cpu%:*}/topology/physical_package_id"; done
	echo 0-3 | tee "$cpus/present" "$cpus/possible" >"$cpus/online"
	echo 0-1 >"$tree/sys/devices/system/node/node0/cpulist"
	echo 2-3 >"$tree/sys/devices/system/node/node1/cpulist"
	echo 0,2 >"$tree/sys/bus/event_source/devices/uncore_iio_1/cpumask"
	expect 0 "$UNCORE" --root "$tree" topo
	[[ $(tr -s '\n ' ' ' <<<"$output") == *"'dieN' belongs to CPU 2: its package is not known"* ]]
	[[ $output != *'CPUs are offline'* ]]
}

@test "PMUs of an unknown CPU model are not reported as other PMUs" {
	local tree=$BATS_TEST_TMPDIR/model

	unpack "$UNCORE_SOURCE_ROOT/tests/drivers/icx-12-imc.txt" "$tree"
	rm "$tree/proc/cpuinfo"
	expect 0 "$UNCORE" --root "$tree" doctor
	shows 'proc/cpuinfo does not name the CPU model' 'PMUs without metrics, such as uncore_imc_0'
	refuses 3 "$UNCORE" --root "$tree" stat --dry-run -M memory.bandwidth
	says 'nothing on this machine can count it: proc/cpuinfo does not name the CPU model'
}

# Half of a copied /sys: the drivers of all families give their PMUs terms.
@test "a PMU without format files is a missing channel, not a PMU with other events" {
	local tree=$BATS_TEST_TMPDIR/icx

	unpack "$UNCORE_SOURCE_ROOT/tests/drivers/icx-12-imc.txt" "$tree"
	rm -r "$tree/sys/bus/event_source/devices/uncore_imc_1/format"
	sed "s|^machine:.*|machine: $tree|; /pmu: uncore_imc_1,/d" "$UNCORE_SOURCE_ROOT/tests/drivers/icx-12-imc.yaml" >"$tree.yaml"
	expect 0 "$UNCORE" --source "sim:$tree.yaml,step=1s" stat -j -M memory.bandwidth 1 1
	[ "$(jq -r .quality <<<"$output")" = partial ]
}

# A line that was lost of a snapshot, or half of a copied /sys.
@test "a PMU without a term that its siblings have is a missing channel; without siblings it has other events" {
	local tree=$BATS_TEST_TMPDIR/icx devices

	unpack "$UNCORE_SOURCE_ROOT/tests/drivers/icx-12-imc.txt" "$tree"
	devices=$tree/sys/bus/event_source/devices
	rm "$devices/uncore_imc_1/format/event"
	sed "s|^machine:.*|machine: $tree|; /pmu: uncore_imc_1,/d" "$UNCORE_SOURCE_ROOT/tests/drivers/icx-12-imc.yaml" >"$tree.yaml"
	expect 0 "$UNCORE" --source "sim:$tree.yaml,step=1s" stat -j -M memory.bandwidth 1 1
	[ "$(jq -r .quality <<<"$output")" = partial ]
	jq -e '.reason | contains("uncore_imc_1") and contains("no term '"'event'"'")' <<<"$output"
	expect 3 "$UNCORE" --root "$tree" doctor --json
	jq -e '.findings[] | select(.subject == "intel-imc") | .verdict == "missing" and
		(.why | contains("uncore_imc_1") and contains("no term '"'event'"'"))' <<<"$output"
	rm "$devices"/uncore_imc_*/format/event
	expect 0 "$UNCORE" --root "$tree" list --json
	jq -e '[.metrics[] | select(.family == "intel-imc" and .missing == null)] == []' <<<"$output"
}

@test "a machine without socket numbers shows all its PMUs" {
	local sim=$BATS_TEST_TMPDIR/unplaced.yaml

	expect 0 "$UNCORE" --root "$PARTIAL/package-minus-one.txt" topo
	shows 'socket unknown: CPUs 0,1, NUMA node 0' 'memory controller: imx8_ddr0'
	[[ $output != *scanned* ]]
	expect 0 "$UNCORE" --root "$PARTIAL/package-minus-one.txt" topo --json
	[ "$(jq -c '.memory | map([.pmu, .socket, .cpu])' <<<"$output")" = '[["imx8_ddr0",null,0]]' ]
	expect 0 "$UNCORE" --root "$PARTIAL/package-minus-one.txt" list --json
	[ "$(jq -c .machine.sockets <<<"$output")" = '[null]' ]
	expect 0 "$UNCORE" --root "$PARTIAL/package-minus-one.txt" doctor
	shows 'the number of sockets is not known'
	sed "s|^machine: .*|machine: $PARTIAL/package-minus-one.txt|" \
		"$UNCORE_SOURCE_ROOT/data/sim/imx8mm.yaml" >"$sim"
	expect 0 "$UNCORE" --source "sim:$sim,step=1s" stat -M memory.bandwidth --per-socket 1 1
	shows 'socket unknown'
	# A peak of each socket does not limit a machine with an unknown number of them.
	expect 0 "$UNCORE" --source "sim:$sim,step=1s" --memory-peak 12GB/s stat -M memory.bandwidth -j 1 1
	[ "$(jq -c '[.quality, .ceiling]' <<<"$output")" = '["measured",null]' ]
	expect 0 "$UNCORE" --source "sim:$sim,step=1s"
	shows 'sockets unknown, 2 CPUs'
}

@test "a directory, its snapshot, and the snapshot of that are the same machine" {
	local machine name command words dir=$BATS_TEST_TMPDIR/dir one=$BATS_TEST_TMPDIR/1.txt two=$BATS_TEST_TMPDIR/2.txt

	for machine in "$PARTIAL"/*.txt; do
		name=$(basename "$machine" .txt)
		python3 "$MACHINES/snapshot.py" unpack "$machine" "$dir/$name"
		expect 0 "$UNCORE" --root "$dir/$name" snapshot "$one"
		[ -z "$output$stderr" ] || fail "$name"
		expect 0 "$UNCORE" --root "$one" snapshot "$two"
		cmp "$one" "$two"
		! grep -qi serial "$one" || fail "$name: a serial number"
		for command in 'topo --json' 'doctor --json' 'list pmus --json'; do
			read -ra words <<<"$command"
			diff <("$UNCORE" --root "$dir/$name" "${words[@]}" 2>&1) \
				<("$UNCORE" --root "$one" "${words[@]}" 2>&1) || fail "$name: $command"
		done
	done
}

@test "hardware that no family expects is not reported as missing" {
	expect 0 "$UNCORE" --root "$PARTIAL/old-arm-cpuinfo.txt" doctor
	shows 'note     uncore PMUs: none on this machine \(arm/0x41/0xc09\)'
	[[ $output != *fix:* ]]
	expect 0 "$UNCORE" --root "$PARTIAL/power-offline.txt" doctor
	shows 'does not name'
}

@test "a machine that cannot be scanned: doctor, snapshot and the others name the file" {
	local root=$BATS_TEST_TMPDIR/root

	mkdir -p "$root/sys"
	refuses 3 "$UNCORE" --root "$root" snapshot "$BATS_TEST_TMPDIR/none.txt"
	says 'is /sys mounted there'
	[ ! -e "$BATS_TEST_TMPDIR/none.txt" ]
	mkdir -p "$root/sys/devices/system/cpu"
	printf '0-\001\n' >"$root/sys/devices/system/cpu/present"
	expect 0 "$UNCORE" --root "$root" snapshot -
	shows '# This machine could not be scanned: sys/devices/system/cpu names no CPU' 'present = 0-'
	says 'could not be scanned' 'cpu/present: '
	expect 3 "$UNCORE" --root "$root" doctor --json
	[ "$(jq -c '[.findings[] | [.verdict, .subject]]' <<<"$output")" = '[["missing","machine"]]' ]
	jq -e '.findings[0].why | contains("cpu/present: ")' <<<"$output"
	refuses 3 "$UNCORE" --root "$root" topo
	# One malformed list costs nothing where others have the same.
	mkdir -p "$root/sys/devices/system/cpu/cpu0"
	expect 0 "$UNCORE" --root "$root" doctor
	shows 'note     /sys: sys/devices/system/cpu/present: '
	expect 0 "$UNCORE" --root "$root" topo
	shows 'socket unknown: CPU 0'
}

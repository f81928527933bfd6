#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Devices that count in files, on trees made by devices.py with the layouts of kernels, and on the disk and the network
# interface of this machine. A number that is not there is unavailable, with the reason, and never 0.

load helpers

setup() {
	TREE=$BATS_TEST_TMPDIR/tree
	MAKE=("${PYTHON:-$(type -P python3)}" -S "$BATS_TEST_DIRNAME/devices.py")
	mkdir -p "$TREE"/{proc,sys/devices/system/cpu/cpu0/topology,sys/bus/pci/devices,sys/class/{drm,net,nvme}}
	printf '%s\n' 'processor : 0' 'vendor_id : AuthenticAMD' 'cpu family : 25' 'model : 17' 'stepping : 1' >"$TREE/proc/cpuinfo"
	echo 0 | tee "$TREE"/sys/devices/system/cpu/{online,present,possible} >"$TREE/sys/devices/system/cpu/cpu0/topology/physical_package_id"
}

# function_of NUMBER: the directory of a PCI function, 0000:NUMBER:00.0 below a root port.
function_of() {
	local at=sys/devices/pci0000:00/0000:00:01.0/0000:$1:00.0

	mkdir -p "$TREE/$at/power"
	[ -e "$TREE/sys/bus/pci/devices/0000:$1:00.0" ] || ln -s "../../../../$at" "$TREE/sys/bus/pci/devices/0000:$1:00.0"
	echo active >"$TREE/$at/power/runtime_status"
	echo "$TREE/$at"
}

# a_gpu N: card N, an AMD GPU; its directory.
a_gpu() {
	local at

	at=$(function_of "0$((3 + $1))")
	mkdir -p "$at/drm/card$1"
	ln -s "../../../0000:0$((3 + $1)):00.0" "$at/drm/card$1/device"
	ln -s "../../devices/pci0000:00/0000:00:01.0/0000:0$((3 + $1)):00.0/drm/card$1" "$TREE/sys/class/drm/card$1"
	echo "$at"
}

# a_port DEVICE PORT: of an InfiniBand adapter; the directory of its counters.
a_port() {
	local at=$TREE/sys/class/infiniband/$1/ports/$2/counters name

	mkdir -p "$at"
	for name in port_{rcv,xmit}_{data,packets}; do echo 0 >"$at/$name"; done
	echo "$at"
}

# counts WHAT... -- COMMAND...: rows of `stat` during the command.
counts() {
	expect 0 "$UNCORE" --root "$TREE" --source files stat -j "$@"
}

# row NAME KEY: of the only row of this name.
row() {
	jq -r --arg name "$1" "select(.name == \$name) | $2" <<<"$output"
}

# input METRIC EVENT: the exact count of an event of a metric.
input() {
	row "$1" ".inputs[] | select(.name == \"$2\") | .count"
}

# put FILE TEXT: in place, as a driver.
put() {
	printf '%s\n' "$2" | dd of="$1" conv=notrunc status=none
}

# sectors DISK: read and written, from a table that is not in /sys.
sectors() {
	awk -v disk="$1" '$3 == disk { print $6, $10 }' /proc/diskstats
}

# bytes INTERFACE: received and sent, by another program.
bytes() {
	ip -s -j link show dev "$1" | jq -r '.[] | .stats64 | "\(.rx.bytes) \(.tx.bytes)"'
}

@test "gpu_metrics: each version has its numbers where its structure has them" {
	local at version before after

	at=$(a_gpu 0)
	before='samples=4294967000 pcie_samples=7 memory_samples=4294967290 memory_peak=5325 memory_busy=40 power=200 energy=65536
		xgmi_read=5,6,-,8,9,10,11,12 xgmi_write=1,-,3,4,5,6,7,8 dram_reads=500 dram_writes=600'
	after='samples=704 pcie_samples=20007 memory_samples=49994 memory_peak=5325 memory_busy=41 power=65534 energy=131072
		xgmi_read=1005,6,-,8,9,10,11,22 xgmi_write=101,-,3,4,5,6,2007,1008 dram_reads=501 dram_writes=601'
	for version in 1.0 1.1 1.2 1.3 1.4 1.5 1.6:312 1.6:384 1.7 1.8 1.9 3.0; do
		# shellcheck disable=SC2086 # words
		helper devices metrics $version "$at/gpu_metrics" $before
		# shellcheck disable=SC2086
		counts -M 'device.*' -- "${MAKE[@]}" metrics $version "$at/gpu_metrics" $after
		case $version in
		1.*) [ "$(row device.memory.busy .value) $(row device.power .value)" = '0.41 65534' ] ;;
		3.0) [ "$(row device.memory.read.bandwidth .value) $(row device.memory.write.bandwidth .value)" = '501000000 601000000' ] ;;
		esac
		case $version in
		1.0 | 3.0) [ -z "$(row device.energy.power .quality)" ] ;;
		*) [ "$(input device.energy.power energy)" = 65536 ] ;;
		esac
		case $version in
		1.[4-9]*)
			[ "$(input device.link.in.bandwidth xgmi_read)" = 1010 ]
			[ "$(input device.link.out.bandwidth xgmi_write)" = 3100 ]
			;;
		*) [ -z "$(row device.link.in.bandwidth .quality)" ] ;;
		esac
		case $version in
		1.[6-9]*) # 1000 samples over the end of 32 bits
			[ "$(row device.pcie.bandwidth '[.quality, .value] | @tsv')" = $'suspect\t20000000000' ]
			[ "$(row device.memory.utilization '[.quality, .value] | @tsv')" = $'measured\t0.5' ]
			;;
		*) [ -z "$(row device.pcie.bandwidth .quality)" ] ;;
		esac
		case $version in
		1.[7-9]) [ "$(row device.memory.bandwidth .value)" = 2662500000000 ] ;;
		*) [ -z "$(row device.memory.bandwidth .quality)" ] ;;
		esac
	done
}

@test "gpu_metrics: the machine's bandwidth is the sum of unequal GPUs, not a mean share of the sum of their peaks" {
	local first second

	first=$(a_gpu 0)
	second=$(a_gpu 1)
	before='samples=0 pcie_samples=0 memory_samples=0'
	# shellcheck disable=SC2086 # words
	both() {
		helper devices metrics 1.8 "$first/gpu_metrics" $1 memory_peak=5325
		helper devices metrics 1.8 "$second/gpu_metrics" $2 memory_peak=8000
	}
	both "$before" "$before"
	# 50 % of 5325 GB/s and 10 % of 8000; 20 and 2 GB/s, of which the second GPU took half as many samples.
	cat >"$BATS_TEST_TMPDIR/after" <<-END
		${MAKE[*]} metrics 1.8 $first/gpu_metrics samples=1000 pcie_samples=20000 memory_samples=50000 memory_peak=5325
		${MAKE[*]} metrics 1.8 $second/gpu_metrics samples=500 pcie_samples=1000 memory_samples=5000 memory_peak=8000
	END
	counts -M device.memory.bandwidth,device.pcie.bandwidth -- bash "$BATS_TEST_TMPDIR/after"
	[ "$(row device.memory.bandwidth '[.quality, .value] | @tsv')" = $'measured\t3462500000000' ]
	[ "$(row device.pcie.bandwidth '[.quality, .value] | @tsv')" = $'suspect\t22000000000' ]
	# One that has no new samples has no value, and neither has the sum.
	both "$before" "$before"
	sed -i 's/samples=500 /samples=0 /' "$BATS_TEST_TMPDIR/after"
	counts -M device.memory.bandwidth -- bash "$BATS_TEST_TMPDIR/after"
	[ "$(row device.memory.bandwidth '[.quality, .value] | @json')" = '["unavailable",null]' ]
	# One whose version does not have it is left out, with the reason.
	helper devices metrics 1.3 "$second/gpu_metrics" energy=1
	sed -i '2d' "$BATS_TEST_TMPDIR/after"
	helper devices metrics 1.8 "$first/gpu_metrics" samples=0 pcie_samples=0 memory_samples=0 memory_peak=5325
	counts -M device.memory.bandwidth -- bash "$BATS_TEST_TMPDIR/after"
	[ "$(row device.memory.bandwidth .value)" = 2662500000000 ]
	expect 0 "$UNCORE" --root "$TREE" explain device.memory.bandwidth
	shows 'sum over PMUs of: memory_samples / 100'
}

@test "gpu_metrics: each link of xGMI has a row" {
	local at version

	at=$(a_gpu 0)
	for version in 1.4 1.6:384 1.8 1.9; do
		helper devices metrics $version "$at/gpu_metrics" xgmi_read=5,6,-,8,9,10,11,12 xgmi_write=1,-,3,4,5,6,7,8
		counts --per-link -M 'device.link.*' -- "${MAKE[@]}" metrics $version "$at/gpu_metrics" \
			xgmi_read=1005,6,-,8,9,10,11,22 xgmi_write=101,-,3,4,5,6,2007,1008
		# What was counted on each; link 2 has no reads, and link 1 no writes.
		[ "$(jq -rs 'map(select(.name == "device.link.in.bandwidth" or .name == "device.link.out.bandwidth")) | group_by(.name) |
			.[] | map("\(.role[5:]):\(.inputs[0].count)") | sort | join(" ")' <<<"$output")" = \
			$'0:1000 1:0 3:0 4:0 5:0 6:0 7:10\n0:100 2:0 3:0 4:0 5:0 6:2000 7:1000' ] || fail "$version"
	done
	# All links together, and one by its bit.
	counts -e amd_gpu_0/xgmi_read/,amd_gpu_0/xgmi_read,links=0x80/ -- "${MAKE[@]}" metrics 1.9 "$at/gpu_metrics" xgmi_read=1006,6,-,8,9,10,11,29
	[ "$(jq -r .value <<<"$output" | xargs)" = '8 7' ]
	refuses 3 "$UNCORE" --root "$TREE" --source files stat -e amd_gpu_0/xgmi_read,links=3/ 1 1
	says "does not have 'xgmi_read' of one such link"
}

@test "NVMe namespaces that are attached or detached while they are counted" {
	local nvme=$TREE/sys/class/nvme/nvme0 out=$BATS_TEST_TMPDIR/out pid

	mkdir -p "$nvme"/nvme0n{1,2}
	echo pcie >"$nvme/transport"
	echo 1 0 0 0 >"$nvme/nvme0n1/stat"
	echo 1 0 5000000 0 >"$nvme/nvme0n2/stat"
	"$UNCORE" --root "$TREE" --source files stat -j -e nvme0/read_sectors/ -I 200ms --interval-count=20 >"$out" 3>&- &
	pid=$!
	# next LINES: so many more lines are there.
	next() {
		local want=$(($(wc -l <"$out") + $1))

		until [ "$(wc -l <"$out")" -ge "$want" ] || ! kill -0 "$pid"; do sleep 0.02; done
	}
	next 2
	mkdir "$nvme/new"
	echo 1 0 7000000 0 >"$nvme/new/stat"
	mv "$nvme/new" "$nvme/nvme0n3"
	next 2
	put "$nvme/nvme0n3/stat" '1 0 7000300 0'
	next 2
	rm -r "$nvme/nvme0n2"
	next 2
	put "$nvme/nvme0n1/stat" '1 0 40 0'
	next 2
	rm -r "$nvme/nvme0n1"
	mkdir "$nvme/new"
	echo 1 0 10 0 >"$nvme/new/stat"
	mv "$nvme/new" "$nvme/nvme0n1" # another one of this name
	next 2
	touch "$nvme"
	next 2
	put "$nvme/nvme0n1/stat" '1 0 12 0'
	wait $pid
	output=$(<"$out")
	# Attached, detached, and detached with another one attached: no count in these intervals, and none is wrong.
	[ "$(jq -r 'select(.value != null and .value != 0) | .value' "$out" | xargs)" = '300 40 2' ] || fail values
	[ "$(grep -c 'attached or detached in it' "$out")" -ge 2 ] || fail sentences
	[ "$(jq -r 'select(.value == null) | .quality' "$out" | sort | uniq -c | xargs)" = '3 suspect' ] || fail quality
}

@test "more disks than file descriptors: the limit is raised, and a note says so" {
	local i

	for i in {100..220}; do
		mkdir -p "$TREE/sys/class/nvme/nvme$i/nvme${i}n1"
		echo pcie >"$TREE/sys/class/nvme/nvme$i/transport"
		echo 1 0 8 0 1 0 8 0 >"$TREE/sys/class/nvme/nvme$i/nvme${i}n1/stat"
	done
	run --separate-stderr bash -c 'ulimit -Sn 64; exec "$@"' _ \
		"$UNCORE" --root "$TREE" --source files stat -v --csv --no-merge -M storage.read.bandwidth -I 200ms --interval-count=1
	[ "$status" -eq 0 ] || fail status
	says 'raised the limit of open files from 64 to [0-9]+'
	[ "$(grep -c ,measured, <<<"$output")" = 121 ] || fail rows
}

@test "gpu_metrics: what a version does not have is named, and unknown versions have nothing" {
	local at

	at=$(a_gpu 0)
	helper devices metrics 1.3 "$at/gpu_metrics" energy=1
	refuses 3 "$UNCORE" --root "$TREE" --source files stat -M device.pcie.bandwidth 1 1
	says "version 1.3 of /sys/class/drm/card0/device/gpu_metrics, with 120 bytes, does not have 'pcie_samples'"
	refuses 3 "$UNCORE" --root "$TREE" --source files stat -e amd_gpu_0/pcie_samples/ 1 1
	says "with 120 bytes, does not have 'pcie_samples'"
	printf '\x0a' | dd of="$at/gpu_metrics" bs=1 seek=3 conv=notrunc status=none # 1.10
	refuses 3 "$UNCORE" --root "$TREE" --source files stat -M device.energy.power 1 1
	says "amd_gpu_0: version 1.10 of /sys/class/drm/card0/device/gpu_metrics, with 120 bytes, does not have 'energy'"
	helper devices metrics 1.6 "$at/gpu_metrics" energy=1 # with a size that no kernel is known to have
	printf '\x58\x01' | dd of="$at/gpu_metrics" bs=1 conv=notrunc status=none
	refuses 3 "$UNCORE" --root "$TREE" --source files stat -M device.energy.power 1 1
	says "version 1.6 .* with 344 bytes, does not have 'energy'"
}

@test "gpu_metrics: energy of 64 bits in an interval in which 32 bits would have wrapped" {
	local at version

	at=$(a_gpu 0)
	for version in 1.4 1.5 1.6 1.7 1.8 1.9; do
		helper devices metrics $version "$at/gpu_metrics" energy=4294967290
		counts -M device.energy.power -- "${MAKE[@]}" metrics $version "$at/gpu_metrics" energy=12884901880
		[ "$(row device.energy.power .quality) $(input device.energy.power energy)" = 'measured 8589934590' ]
	done
	# That of graphics cards has 32.
	helper devices metrics 1.3 "$at/gpu_metrics" energy=4294967290
	counts -M device.energy.power -- "${MAKE[@]}" metrics 1.3 "$at/gpu_metrics" energy=10
	[ "$(row device.energy.power .quality) $(input device.energy.power energy)" = 'measured 16' ]
}

@test "power of a GPU whose gpu_metrics does not have it is that of its hwmon" {
	local at

	at=$(a_gpu 0)
	helper devices metrics 3.0 "$at/gpu_metrics"
	refuses 3 "$UNCORE" --root "$TREE" --source files stat -M device.power 1 1
	says "version 3.0 of .* does not have 'power'"
	mkdir -p "$at/hwmon/hwmon7"
	echo 15250000 >"$at/hwmon/hwmon7/power1_input"
	counts -M device.power -- sh -c "echo 15500000 >$at/hwmon/hwmon7/power1_input"
	[ "$(row device.power '[.quality, .value] | @tsv')" = $'measured\t15.5' ]
	echo 9000000 >"$at/hwmon/hwmon7/power1_average"
	counts -M device.power -- sleep 0.03
	[ "$(row device.power .value)" = 9 ]
	helper devices metrics 1.3 "$at/gpu_metrics" power=100
	counts -M device.power -- sleep 0.03
	[ "$(row device.power .value)" = 100 ]
}

@test "a device without an event has no row of its metrics, and list and explain say why" {
	local at both

	at=$(a_gpu 0) both=$(a_gpu 1)
	helper devices metrics 1.3 "$at/gpu_metrics" energy=1 memory_busy=5
	helper devices metrics 1.8 "$both/gpu_metrics" energy=1 pcie_samples=1 samples=1 memory_samples=1 memory_peak=5 xgmi_read=1 xgmi_write=1
	counts --no-merge -M 'device.*' -- sleep 0.03
	[ "$(jq -r 'select(.pmu == "amd_gpu_0") | .name' <<<"$output" | sort | tr '\n' ' ')" = 'device.energy.power device.memory.busy device.power ' ]
	[ "$(jq -r 'select(.pmu == "amd_gpu_1") | .name' <<<"$output" | grep -c .)" = 8 ]
	[ "$(jq -c 'select(.name and (.reason // "" | test("version")))' <<<"$output")" = '' ]
	rm -r "$TREE/sys/class/drm/card1"
	# The overview of a graphics card has only what it can have.
	counts -- sleep 0.03
	[ "$(jq -c 'select(.name) | [.name, .quality]' <<<"$output")" = $'["device.memory.busy","measured"]\n["device.power","unavailable"]\n["device.energy.power","measured"]' ]
	expect 0 "$UNCORE" --root "$TREE" list metrics -j --all
	[ "$(jq -r '.metrics[] | select(.name == "device.pcie.bandwidth" and .family == "amd-gpu") | .missing' <<<"$output")" = \
		"amd_gpu_0: version 1.3 of /sys/class/drm/card0/device/gpu_metrics, with 120 bytes, does not have 'pcie_samples'" ]
	expect 0 "$UNCORE" --root "$TREE" list events amd_gpu_0
	shows $'\namd_gpu_0/pcie_samples/ +amd-gpu\n +amd_gpu_0: version 1.3 of '
	expect 0 "$UNCORE" --root "$TREE" explain amd-gpu/device.pcie.bandwidth
	shows '  missing +amd_gpu_0: version 1.3 of /sys/class/drm/card0/device/gpu_metrics, with 120 bytes'
	# Its version is not known while it is suspended: it may have all events.
	echo suspended >"$at/power/runtime_status"
	refuses 3 "$UNCORE" --root "$TREE" --source files stat -M device.pcie.bandwidth 1 1
	says 'amd_gpu_0 is suspended, and reading it would wake it'
}

@test "a device has the socket of its NUMA node" {
	local at node

	at=$(a_gpu 0)
	helper devices metrics 1.3 "$at/gpu_metrics" energy=1
	echo 0-1 | tee "$TREE"/sys/devices/system/cpu/{online,present,possible} >/dev/null
	mkdir -p "$TREE/sys/devices/system/cpu/cpu1/topology" "$TREE"/sys/devices/system/node/node{0,1}
	echo 1 >"$TREE/sys/devices/system/cpu/cpu1/topology/physical_package_id"
	echo 0-1 | tee "$TREE"/sys/devices/system/node/{online,possible,has_cpu} >/dev/null
	for node in 0 1; do echo $node >"$TREE/sys/devices/system/node/node$node/cpulist"; done
	for node in 0 1 -1; do
		echo $node >"$at/numa_node"
		counts --no-merge -M device.energy.power -- sleep 0.03
		[ "$(row device.energy.power .socket)" = "$([ $node -ge 0 ] && echo $node || echo null)" ]
	done
}

@test "gpu_metrics: a file that is cut off, empty, grows or is all ones" {
	local at

	at=$(a_gpu 0)
	helper devices metrics 1.8 "$at/gpu_metrics" energy=65536 xgmi_read=1
	cp "$at/gpu_metrics" "$BATS_TEST_TMPDIR/whole"
	counts -e amd_gpu_0/energy/,amd_gpu_0/xgmi_read/ -- truncate -s 130 "$at/gpu_metrics"
	[ "$(row amd_gpu_0/energy/ '[.quality, .value] | @tsv')" = $'measured\t0' ]
	[ "$(row amd_gpu_0/xgmi_read/ '[.quality, .value] | @tsv')" = $'unavailable\t' ]
	[[ $(row amd_gpu_0/xgmi_read/ .reason) == 'amd_gpu_0/xgmi_read/ could not be read: its file ends before it' ]]
	refuses 3 "$UNCORE" --root "$TREE" --source files stat -e amd_gpu_0/dram_reads/ 1 1
	: >"$at/gpu_metrics"
	refuses 3 "$UNCORE" --root "$TREE" --source files stat -e amd_gpu_0/energy/ 1 1
	says 'gpu_metrics does not have its version'
	# More members behind those that are known.
	{ cat "$BATS_TEST_TMPDIR/whole"; head -c 9000 /dev/zero; } >"$at/gpu_metrics"
	helper devices metrics 1.8 "$BATS_TEST_TMPDIR/after" energy=131072 xgmi_read=5
	counts -e amd_gpu_0/energy/,amd_gpu_0/xgmi_read/ -- dd if="$BATS_TEST_TMPDIR/after" of="$at/gpu_metrics" conv=notrunc status=none
	[ "$(row amd_gpu_0/energy/ .value) $(row amd_gpu_0/xgmi_read/ .value)" = '65536 4' ]
	# A function of a GPU in a guest has none of the numbers.
	helper devices metrics 1.8 "$at/gpu_metrics"
	counts -M 'device.*' -- sleep 0.03
	[ "$(jq -r 'select(.name) | .quality' <<<"$output" | sort -u)" = unavailable ]
	[[ $(row device.energy.power .reason) == *'the device does not give it: all bits of the number are set' ]]
	[ "$(jq 'select(.name) | .value' <<<"$output" | sort -u)" = null ]
}

@test "a GPU that is suspended is not read, and said to be suspended" {
	local at

	at=$(a_gpu 0)
	helper devices metrics 1.8 "$at/gpu_metrics" energy=65536
	counts -e amd_gpu_0/energy/ -- sh -c "echo suspended >$at/power/runtime_status"
	[ "$(row amd_gpu_0/energy/ '[.quality, .reason] | @tsv')" = $'unavailable\tamd_gpu_0/energy/ could not be read: the device is suspended' ]
	refuses 3 "$UNCORE" --root "$TREE" --source files stat -e amd_gpu_0/energy/ 1 1
	says 'amd_gpu_0 is suspended, and reading it would wake it'
	rm "$at/power/runtime_status" # old kernels
	counts -e amd_gpu_0/energy/ -- sleep 0.03
	[ "$(row amd_gpu_0/energy/ .quality)" = measured ]
}

@test "pcie: a GPU that counts both directions together has a column with a title" {
	local at

	at=$(a_gpu 0)
	helper devices metrics 1.8 "$at/gpu_metrics" pcie_samples=1000 samples=500
	helper devices metrics 1.8 "$BATS_TEST_TMPDIR/after" pcie_samples=1400 samples=520
	expect 0 "$UNCORE" --root "$TREE" --source files pcie -- \
		dd if="$BATS_TEST_TMPDIR/after" of="$at/gpu_metrics" conv=notrunc status=none
	shows $'\nDEVICE +BOTH' $'\n  amd_gpu_0 +20\\.00 GB/s'
}

@test "a device that is removed and comes back, or becomes another, loses intervals and has no wrong number" {
	local at rows

	at=$(a_gpu 0)
	helper devices metrics 1.8 "$at/gpu_metrics" xgmi_read=1000000
	expect 0 "$UNCORE" --root "$TREE" --source files stat -j -e amd_gpu_0/xgmi_read/ -I 100ms -- sh -c "
		sleep 0.35; : >$at/gpu_metrics; sleep 0.35
		${MAKE[*]} metrics 1.3 $at/gpu_metrics energy=50; sleep 0.35
		${MAKE[*]} metrics 1.8 $at/gpu_metrics xgmi_read=60; sleep 0.4"
	rows=$(jq -r 'select(.name and .total == false) | "\(.quality) \(.value) \(.reason)"' <<<"$output" | uniq)
	[ "$rows" = 'measured 0 null
unavailable null amd_gpu_0/xgmi_read/ could not be read: its file ends before it
unavailable null amd_gpu_0/xgmi_read/ could not be read: its file does not have the version that it had
measured 0 null' ] || fail "$rows"
}

@test "counts that change under the reader: intervals add up to what was written" {
	local at writer rows

	at=$(a_port mlx5_0 1)
	echo 18446744073709000000 >"$at/port_rcv_data" # near the end of 64 bits
	"${MAKE[@]}" advance "$at/port_xmit_data" 1000 3>&- &
	writer=$!
	counts -M network.transmitted.bandwidth -e mlx5_0_port_1/transmitted_words/ -I 50ms --interval-count 20 --summary
	kill $writer
	wait $writer || :
	rows=$(jq -s '[.[] | select(.kind == "event" and .total == false) | .value] | [length, add]' -c <<<"$output")
	[ "$rows" = "$(jq -s '[.[] | select(.kind == "event" and .total)] | [20, .[0].value]' -c <<<"$output")" ] || fail "$rows"
	[ "$(jq -s '[.[] | select(.kind == "event" and .total == false) | .value % 1000] | add' <<<"$output")" = 0 ]
	[ "$(jq -s '[.[] | select(.kind == "metric" and .total) | .value / 4 / (1000 / 0.005)] | .[0] > 0.3 and .[0] < 1.05' <<<"$output")" = true ]
	[ "$(jq -r 'select(.name) | .quality' <<<"$output" | sort -u)" = measured ]
}

@test "InfiniBand: units of 4 bytes, saturated counters, N/A, and a counter that was reset" {
	local a b

	a=$(a_port mlx5_0 1) b=$(a_port mlx5_1 1)
	counts -M network.received.bandwidth -- sh -c "echo 1000 >$a/port_rcv_data; echo 500 >$b/port_rcv_data"
	[ "$(input network.received.bandwidth received_words)" = 1500 ]
	[ "$(row network.received.bandwidth '.value * .inputs[0].enabled_ns / 1e9 / 12000 | . > 0.9 and . < 1.1')" = true ]
	echo 5000000000 >"$a/port_rcv_data"
	counts -e mlx5_0_port_1/received_words/ -- sh -c "echo 5000000004 >$a/port_rcv_data"
	[ "$(row mlx5_0_port_1/received_words/ .value)" = 4 ]
	counts -e mlx5_0_port_1/received_words/ -- sh -c "echo 3 >$a/port_rcv_data" # perfquery -R
	[ "$(row mlx5_0_port_1/received_words/ .quality)" = suspect ]
	echo 4294967290 >"$a/port_rcv_data"
	counts -M network.received.bandwidth --no-merge -- sh -c "echo 4294967295 >$a/port_rcv_data; echo 600 >$b/port_rcv_data"
	[ "$(jq -r 'select(.name) | "\(.pmu) \(.quality)"' <<<"$output")" = $'mlx5_0_port_1 unavailable\nmlx5_1_port_1 measured' ]
	[[ $(jq -r 'select(.pmu == "mlx5_0_port_1") | .reason' <<<"$output") == *'the counter stands at its greatest value until it is reset' ]]
	echo 'N/A (no PMA)' >"$a/port_rcv_data"
	counts -e mlx5_0_port_1/received_words/ -- sleep 0.03
	[[ $(row mlx5_0_port_1/received_words/ .reason) == *"'N/A' there: the device does not give it" ]]
}

@test "Intel telemetry: halves in both orders, channels added up, root's file, an unknown GUID" {
	local at=$TREE/sys/class/intel_pmt/telem3

	mkdir -p "$at"
	helper devices telemetry 0x5e2f8210 "$at/telem" 276:4=1 280:4=4294967290 284:4=0 288:4=5
	counts -M device.pcie.received.bandwidth,device.pcie.transmitted.bandwidth -- "${MAKE[@]}" telemetry 0x5e2f8210 "$at/telem" 276:4=2 280:4=10 284:4=0 288:4=50
	[ "$(input device.pcie.received.bandwidth pcie_received) $(input device.pcie.transmitted.bandwidth pcie_transmitted)" = '16 45' ]
	[ "$(row device.memory.read.bandwidth .value)" = '' ]
	helper devices telemetry 0x5e2f8211 "$at/telem" 284:4=1 280:4=4294967290 292:4=0 288:4=5
	counts -M device.pcie.received.bandwidth -- "${MAKE[@]}" telemetry 0x5e2f8211 "$at/telem" 284:4=2 280:4=10 292:4=0 288:4=50
	[ "$(input device.pcie.received.bandwidth pcie_received)" = 16 ]
	helper devices telemetry 0x4f9302 "$at/telem"
	counts -M device.memory.read.bandwidth,device.memory.write.bandwidth -- "${MAKE[@]}" telemetry 0x4f9302 "$at/telem" 1096:8=1 1216:8=2 1224:8=10 1344:8=20 1352:8=99
	[ "$(input device.memory.read.bandwidth idi_reads) $(input device.memory.write.bandwidth idi_writes)" = '3 30' ]
	echo 0x12345678 >"$at/guid"
	refuses 3 "$UNCORE" --root "$TREE" --source files stat -M device.pcie.received.bandwidth 1 1
	[ "$(id -u)" -ne 0 ] || return 0
	echo 0x5e2f8211 >"$at/guid"
	chmod 0 "$at/telem"
	refuses 4 "$UNCORE" --root "$TREE" --source files stat -M device.pcie.received.bandwidth 1 1
	says 'root can read it'
}

@test "NVMe: a controller has the sum of its paths, and those of fabrics are left out" {
	local k

	for k in 0 1; do
		mkdir -p "$TREE/sys/class/nvme/nvme$k"/{nvme0c${k}n1,nvme0c${k}n2,hwmon$k,ng${k}n1}
		echo pcie >"$TREE/sys/class/nvme/nvme$k/transport"
		printf '%8d %8d %8d %8d' 1 0 8 0 >"$TREE/sys/class/nvme/nvme$k/nvme0c${k}n1/stat"
		printf '%8d %8d %8d %8d' 1 0 16 0 >"$TREE/sys/class/nvme/nvme$k/nvme0c${k}n2/stat"
	done
	echo tcp >"$TREE/sys/class/nvme/nvme1/transport"
	counts -e nvme0/read_sectors/ -- sh -c "echo 3 0 108 0 5 0 7 0 >$TREE/sys/class/nvme/nvme0/nvme0c0n1/stat; echo 3 0 1016 0 >$TREE/sys/class/nvme/nvme0/nvme0c0n2/stat"
	[ "$(row nvme0/read_sectors/ .value)" = 1100 ]
	expect 0 "$UNCORE" --root "$TREE" list pmus
	[[ $output == *nvme0* && $output != *nvme1* ]]
	rm -r "$TREE"/sys/class/nvme/nvme0/nvme0*
	refuses 3 "$UNCORE" --root "$TREE" --source files stat -e nvme0/read_sectors/ 1 1
	says "nvme0 has no file /sys/class/nvme/nvme0/nvme\*n\*/stat"
}

@test "network: hardware only, each byte once, and names that events can have" {
	local name at

	at=$(function_of 21)
	# name, type, phys_port_name, hardware
	while read -r name type port hardware; do
		mkdir -p "$TREE/sys/class/net/$name/statistics"
		echo "$type" >"$TREE/sys/class/net/$name/type"
		[ "$port" = - ] || echo "$port" >"$TREE/sys/class/net/$name/phys_port_name"
		[ "$hardware" = no ] || ln -s ../../../bus/pci/devices/0000:21:00.0 "$TREE/sys/class/net/$name/device"
		for file in {rx,tx}_{bytes,packets}; do echo 0 >"$TREE/sys/class/net/$name/statistics/$file"; done
	done <<-'END'
		eth0 1 p0 yes
		eth0_rep 1 pf0vf3 yes
		ib0 32 - yes
		bond0 1 - no
		lo 772 - no
		vlan,7 1 - yes
		{odd}* 1 - yes
		nvme0 1 - yes
		lan1 1 p0 yes
		azure0 1 - yes
		azvf0 1 - yes
		bonded 1 - yes
	END
	# A port of a switch chip; an interface of Hyper-V with the virtual function that it has; a member of a bond.
	printf 'DEVTYPE=dsa\nINTERFACE=lan1\nIFINDEX=7\n' >"$TREE/sys/class/net/lan1/uevent"
	rm "$TREE/sys/class/net/azure0/device"
	mkdir -p "$TREE/sys/devices/vmbus"
	printf 'DRIVER=hv_netvsc\nMODALIAS=vmbus:63\n' >"$TREE/sys/devices/vmbus/uevent"
	ln -s ../../../devices/vmbus "$TREE/sys/class/net/azure0/device"
	ln -s ../azure0 "$TREE/sys/class/net/azvf0/master"
	ln -s ../bond0 "$TREE/sys/class/net/bonded/master"
	mkdir -p "$TREE/sys/class/nvme/nvme0/nvme0n1"
	echo pcie >"$TREE/sys/class/nvme/nvme0/transport"
	echo 0 0 0 0 >"$TREE/sys/class/nvme/nvme0/nvme0n1/stat"
	expect 0 "$UNCORE" --root "$TREE" list pmus -j
	[ "$(jq -c '[.pmus[].name]' <<<"$output")" = '["_odd__","azure0","bonded","eth0","nvme0","nvme_nvme0","vlan_7"]' ] || fail names
	counts -e '_odd__/received_bytes/,nvme0/received_bytes/,vlan_7/received_bytes/' -- sh -c "
		echo 5 >'$TREE/sys/class/net/{odd}*/statistics/rx_bytes'; echo 6 >$TREE/sys/class/net/nvme0/statistics/rx_bytes
		echo 7 >$TREE/sys/class/net/vlan,7/statistics/rx_bytes"
	[ "$(jq -s -c '[.[] | select(.name) | .value]' <<<"$output")" = '[5,6,7]' ]
}

@test "network: of a master with hardware and its members the master only, of a bond its members" {
	local name

	for name in eth0 vf0 eth1 eth2 bond0; do
		mkdir -p "$TREE/sys/class/net/$name/statistics"
		for file in {rx,tx}_{bytes,packets}; do echo 0 >"$TREE/sys/class/net/$name/statistics/$file"; done
	done
	mkdir -p "$TREE/sys/bus/vmbus/devices/0" "$(function_of 21)" "$(function_of 22)" "$(function_of 23)"
	printf '%s\n' DRIVER=hv_netvsc >"$TREE/sys/bus/vmbus/devices/0/uevent"
	ln -s ../../../bus/vmbus/devices/0 "$TREE/sys/class/net/eth0/device"
	ln -s ../../../bus/pci/devices/0000:21:00.0 "$TREE/sys/class/net/vf0/device"
	ln -s ../../../bus/pci/devices/0000:22:00.0 "$TREE/sys/class/net/eth1/device"
	ln -s ../../../bus/pci/devices/0000:23:00.0 "$TREE/sys/class/net/eth2/device"
	ln -s ../eth0 "$TREE/sys/class/net/vf0/master"
	ln -s ../bond0 "$TREE/sys/class/net/eth1/master"
	ln -s ../bond0 "$TREE/sys/class/net/eth2/master"
	expect 0 "$UNCORE" --root "$TREE" list pmus -j
	[ "$(jq -c '[.pmus[].name]' <<<"$output")" = '["eth0","eth1","eth2"]' ] || fail names
	: >"$TREE/sys/bus/vmbus/devices/0/uevent"
	expect 0 "$UNCORE" --root "$TREE" list pmus -j
	[ "$(jq -c '[.pmus[].name]' <<<"$output")" = '["eth0","eth1","eth2"]' ] || fail 'without words'
}

@test "links: corrected errors by the kernel's lines" {
	local at errors

	at=$(a_gpu 0)
	errors='RxErr 1\nBadTLP 2\nBadDLLP 3\nRollover 4\nTimeout %d\nNonFatalErr 0\nCorrIntErr 0\nHeaderOF 0\nTOTAL_ERR_COR %d\n'
	# shellcheck disable=SC2059
	printf "$errors" 5 15 >"$at/aer_dev_correctable"
	counts -M 'device.pcie.errors,device.pcie.replays' -e pcie_card0/bad_tlps/ -- sh -c "printf '$errors' 25 35 >$at/aer_dev_correctable"
	[ "$(input device.pcie.errors errors) $(input device.pcie.replays replay_timeouts) $(row pcie_card0/bad_tlps/ .value)" = '20 20 0' ]
	counts -M device.pcie.errors.received -- sh -c "printf '$errors' 25 35 | sed 's/BadDLLP 3/BadDLLP 13/' >$at/aer_dev_correctable"
	[ "$(input device.pcie.errors.received bad_dllps)" = 10 ]
}

@test "power: clocks of the uncore with their limits, temperatures of packages" {
	local at=$TREE/sys/devices/system/cpu/intel_uncore_frequency/package_01_die_00 hwmon=$TREE/sys/class/hwmon

	mkdir -p "$at" "$hwmon"/hwmon{0,1,2}
	echo 2300000 >"$at/current_freq_khz"
	echo 800000 >"$at/min_freq_khz"
	echo 2500000 >"$at/max_freq_khz"
	echo coretemp >"$hwmon/hwmon0/name"
	echo 45500 >"$hwmon/hwmon0/temp1_input"
	# A disk's temperature is not that of a package.
	echo nvme >"$hwmon/hwmon1/name"
	echo 91000 >"$hwmon/hwmon1/temp1_input"
	# Old models have no sensor of the package.
	echo coretemp >"$hwmon/hwmon2/name"
	echo 60000 >"$hwmon/hwmon2/temp2_input"
	expect 0 "$UNCORE" --root "$TREE" --source files power -j --no-merge -- sh -c "echo 1200000 >$at/current_freq_khz"
	[ "$(jq -c '[.name, .pmu, .value, .unit]' <<<"$output" | sort)" = '["clock.uncore.frequency","package_01_die_00",1200000000,"Hz"]
["clock.uncore.least.frequency","package_01_die_00",800000000,"Hz"]
["clock.uncore.most.frequency","package_01_die_00",2500000000,"Hz"]
["temperature.package","cpu_temperature_0",45.5,"°C"]' ] || fail 'the rows'
	# Several packages have a mean, and not a sum.
	mkdir "$hwmon/hwmon3"
	echo k10temp >"$hwmon/hwmon3/name"
	echo 55500 >"$hwmon/hwmon3/temp1_input"
	expect 0 "$UNCORE" --root "$TREE" --source files power -j --per-socket -M temperature.package
	[ "$(row temperature.package .value | sort -u)" = 50.5 ] || fail 'the mean'
	# hwmon3 comes before hwmon10.
	mkdir "$hwmon/hwmon10"
	echo coretemp >"$hwmon/hwmon10/name"
	echo 70500 >"$hwmon/hwmon10/temp1_input"
	expect 0 "$UNCORE" --root "$TREE" --source files power -j --no-merge -M temperature.package
	[ "$(jq -r 'select(.name == "temperature.package") | "\(.pmu) \(.value)"' <<<"$output" | sort -u)" = \
		'cpu_temperature_0 45.5
cpu_temperature_1 55.5
cpu_temperature_2 70.5' ] || fail 'the order of the sensors'
	rm -r "$hwmon"/hwmon{3,10}
	# The present clock is for root.
	rm "$at/current_freq_khz"
	expect 0 "$UNCORE" --root "$TREE" --source files power -j -M clock.uncore.frequency --no-merge
	[ "$(row clock.uncore.frequency .quality | sort -u)" = unavailable ] || fail 'a clock that cannot be read'
	expect 0 "$UNCORE" --root "$TREE" --source files power
	[[ $output == *'45.50 °C'* && $output == *'2.500 GHz'* ]] || expect 0 "$UNCORE" --root "$TREE" --source files power --no-merge
	[[ $output == *temperature.package*45.50*°C* && $output == *most.frequency*2.500*GHz* ]] || fail 'the text'
}

# a_package DIRECTORY DRIVER LABEL MILLIDEGREES: a sensor.
a_package() {
	mkdir -p "$1"
	echo "$2" >"$1/name"
	echo "$3" >"$1/temp1_label"
	echo "$4" >"$1/temp1_input"
}

@test "power: packages are in their sockets: clocks by the name of their directory or a file, temperatures by their die or node" {
	local cpu=$TREE/sys/devices/system/cpu at hwmon=$TREE/sys/class/hwmon

	# Packages 0 and 3, each with a node of its own.
	mkdir -p "$cpu/cpu1/topology" "$TREE"/sys/devices/system/node/node{0,1}
	echo 0-1 | tee "$cpu"/{online,present} >"$cpu/possible"
	echo 3 >"$cpu/cpu1/topology/physical_package_id"
	echo 0 | tee "$cpu"/cpu{0,1}/topology/die_id >"$TREE/sys/devices/system/node/node0/cpulist"
	echo 1 >"$TREE/sys/devices/system/node/node1/cpulist"
	for at in package_00_die_00 package_03_die_00 uncore00 uncore01; do
		mkdir -p "$cpu/intel_uncore_frequency/$at"
		echo "${at//[^1-9]/}800000" >"$cpu/intel_uncore_frequency/$at/min_freq_khz"
	done
	echo 3 >"$cpu/intel_uncore_frequency/uncore00/package_id"
	echo 7 >"$cpu/intel_uncore_frequency/uncore01/package_id" # no CPU of it is online
	# The number of a label is that of the die, from 0.
	a_package "$hwmon/hwmon0" coretemp 'Package id 1' 61000
	a_package "$hwmon/hwmon1" coretemp 'Package id 0' 52000
	in_socket() {
		expect 0 "$UNCORE" --root "$TREE" --source files stat -j -I 100ms --interval-count=1 -M "$@"
	}
	in_socket clock.uncore.least.frequency --no-merge
	[ "$(jq -r '"\(.pmu) \(.socket)"' <<<"$output" | sort)" = 'intel_uncore00 1
intel_uncore01 null
package_00_die_00 0
package_03_die_00 1' ]
	in_socket clock.uncore.least.frequency --socket 1
	[ "$(jq .value <<<"$output")" = 2300000000 ] || fail "a mean of 3.8 and 0.8 GHz: $output"
	in_socket temperature.package --per-socket
	[ "$(jq -c '[.socket, .value]' <<<"$output")" = '[0,52]
[1,61]' ]
	in_socket temperature.package --socket 1
	[ "$(jq .value <<<"$output")" = 61 ]
	# AMD's sensors are of PCI functions.
	rm -r "${hwmon:?}"/hwmon{0,1}
	at=$(function_of 18)
	echo 1 >"$at/numa_node"
	a_package "$at/hwmon/hwmon0" k10temp Tctl 70000
	ln -s "../../devices/pci0000:00/0000:00:01.0/0000:18:00.0/hwmon/hwmon0" "$hwmon/hwmon0"
	in_socket temperature.package --per-socket
	[ "$(jq -c '[.socket, .value]' <<<"$output")" = '[1,70]' ]
}

# The promise of uncore-data(5): lines of YAML, and no C.
@test "a card that nobody has heard of needs a data file only" {
	local at

	at=$TREE/sys/class/fpga/acme3
	mkdir -p "$at/dma" "$BATS_TEST_TMPDIR/data"
	cat >"$BATS_TEST_TMPDIR/data/acme.yaml" <<-'END'
		family: acme
		title: FPGA cards of ACME
		instance: card
		place: device
		source: files
		devices:
		  - directories: sys/class/fpga/acme*
		    name: "{1}"
		drivers:
		  - counts: device
		    cpu: node
		    each: machine
		    without_hardware: never
		    number: machine
		    evidence: drivers/fpga/acme.c
		events:
		  blocks_read:
		    title: blocks of 256 bytes that the card read
		    read:
		      file: dma/channel*
		      line: read
		    evidence: drivers/fpga/acme.c
		  blocks_written:
		    title: blocks of 256 bytes that the card wrote
		    bits: 16
		    read:
		      file: dma/channel*
		      line: written
		      column: 3
		    evidence: drivers/fpga/acme.c
		  temperature:
		    title: temperature in units of 0.1 K
		    state: true
		    read:
		      file: temperature
		    evidence: drivers/fpga/acme.c
		metrics:
		  device.pcie.inbound.read.bandwidth:
		    title: Data that cards read from memory
		    unit: B/s
		    ceiling: link
		    formula: blocks_read * 256 / seconds
		    evidence: drivers/fpga/acme.c
	END
	printf 'read 10\nwritten at 65530\n' | tee "$at/dma/channel0" >"$at/dma/channel1"
	echo 3000 >"$at/temperature"
	expect 0 "$UNCORE" --data "$BATS_TEST_TMPDIR/data" --root "$TREE" --source files stat -j -M 'device.*' \
		-e 'acme3/blocks_written/,acme3/temperature/' -- sh -c "printf 'read 15\nwritten at 4\n' >$at/dma/channel0; echo 3001 >$at/temperature"
	[ "$(input device.pcie.inbound.read.bandwidth blocks_read)" = 5 ]
	[ "$(row acme3/blocks_written/ .value) $(row acme3/temperature/ .value)" = '10 3001' ]
	rm "$at/dma/channel1"
	expect 0 "$UNCORE" --data "$BATS_TEST_TMPDIR/data" --root "$TREE" --source files stat -j -M 'device.*' -- sleep 0.03
	[ "$(row device.pcie.inbound.read.bandwidth .quality)" = measured ]
	sed -i 's/column: 3/times: 3/' "$BATS_TEST_TMPDIR/data/acme.yaml"
	refuses 1 "$UNCORE" --data "$BATS_TEST_TMPDIR/data" --root "$TREE" list
	says "acme.yaml:.*'times' is for a state, not for a count"
}

# The disk and the interfaces of this machine. What other programs move at the same time is in both counts: between the
# two inner readings of the kernel's tables lies less than the command counts, and between the outer ones more.

@test "a disk: reads and writes of a known size are counted, and what /proc/diskstats has" {
	local file=$BATS_TEST_TMPDIR/known disk inner outer first last count

	disk=$(basename "$(readlink -f "/sys/dev/block/$(stat -c '%Hd:%Ld' "$BATS_TEST_TMPDIR")")")
	[ -e "/sys/class/block/$disk/device" ] || disk=$(basename "$(readlink -f "/sys/class/block/$disk/..")")
	[[ $disk != nvme* && -e /sys/block/$disk/device ]] || skip "no disk of its own holds $BATS_TEST_TMPDIR"
	dd if=/dev/zero of="$file" bs=1M count=1 oflag=direct status=none || skip 'no direct I/O here'
	cat >"$BATS_TEST_TMPDIR/move" <<-END
		awk '\$3 == "$disk" { print \$6, \$10 }' /proc/diskstats
		dd if=/dev/zero of=$file bs=1M count=16 oflag=direct conv=fsync status=none
		dd if=$file of=/dev/null bs=1M iflag=direct status=none
		awk '\$3 == "$disk" { print \$6, \$10 }' /proc/diskstats
	END
	read -ra first <<<"$(sectors "$disk")"
	expect 0 "$UNCORE" stat -j -o "$BATS_TEST_TMPDIR/rows" -e "$disk/read_sectors/,$disk/write_sectors/" -- bash "$BATS_TEST_TMPDIR/move"
	read -ra last <<<"$(sectors "$disk")"
	read -ra inner <<<"${lines[*]}"
	for k in 0 1; do
		count=$(jq -s ".[$k].count" "$BATS_TEST_TMPDIR/rows")
		outer=$((last[k] - first[k]))
		echo "at least $((inner[k + 2] - inner[k])), counted $count, at most $outer"
		[ "$count" -ge 32768 ] && [ "$count" -ge $((inner[k + 2] - inner[k])) ] && [ "$count" -le "$outer" ]
	done
}

@test "a network interface: known traffic is counted, and what ip(8) has" {
	local first last inner count

	ip -s -j link show dev lo >/dev/null 2>&1 || skip 'no ip(8) with JSON here'
	# The loopback interface has no hardware, so that the built-in family leaves it out.
	mkdir "$BATS_TEST_TMPDIR/data"
	sed '/has: device/d' "$UNCORE_SOURCE_ROOT/data/network.yaml" >"$BATS_TEST_TMPDIR/data/network.yaml"
	cat >"$BATS_TEST_TMPDIR/move.py" <<-'END'
		import socket, subprocess
		table = ["ip", "-s", "-j", "link", "show", "dev"]
		def show(name): print(subprocess.run([*table, name], capture_output=True, text=True, check=True).stdout, flush=True)
		receiver = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
		receiver.bind(("127.0.0.1", 0))
		show("lo")
		for _ in range(2000):
		    receiver.sendto(bytes(1000), receiver.getsockname())
		    receiver.recv(2000)
		show("lo")
	END
	read -ra first <<<"$(bytes lo)"
	expect 0 "$UNCORE" --data "$BATS_TEST_TMPDIR/data" stat -j -o "$BATS_TEST_TMPDIR/rows" \
		-e 'lo/received_bytes/,lo/transmitted_bytes/,lo/received_packets/' -- "${MAKE[@]:0:2}" "$BATS_TEST_TMPDIR/move.py"
	read -ra last <<<"$(bytes lo)"
	read -ra inner <<<"$(jq -r '.[] | .stats64 | "\(.rx.bytes) \(.tx.bytes)"' <<<"$output" | xargs)"
	for k in 0 1; do
		count=$(jq -s ".[$k].count" "$BATS_TEST_TMPDIR/rows")
		echo "at least $((inner[k + 2] - inner[k])), counted $count, at most $((last[k] - first[k]))"
		[ "$count" -ge $((2000 * 1028)) ] && [ "$count" -ge $((inner[k + 2] - inner[k])) ] && [ "$count" -le $((last[k] - first[k])) ]
	done
	[ "$(jq -s '.[2].count >= 2000' "$BATS_TEST_TMPDIR/rows")" = true ]
}

@test "pcie has the numbers of each disk in its own line, also where names have no numbers" {
	local letter at

	for letter in a b; do
		at=$(function_of "0$letter")
		mkdir -p "$at/virtio/block/vd$letter" "$TREE/sys/block"
		ln -s ../../../virtio "$at/virtio/block/vd$letter/device"
		ln -s "../${at#"$TREE/sys/"}/virtio/block/vd$letter" "$TREE/sys/block/vd$letter"
		echo '105 0 3536 20 7 0 8 0 0 20 20 0 0 0 0 0 0' >"$TREE/sys/block/vd$letter/stat"
	done
	expect 0 "$UNCORE" --source files --root "$TREE" pcie -I 50ms -n 1
	shows $'\n  vda +0 B/s +0 B/s' $'\n  vdb +0 B/s +0 B/s'
}

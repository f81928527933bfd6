#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Filters on the command line: the configuration words they come to, one row for each port, and
# what is said when they cannot be. The families are those of tests/families, whatever the built-in
# ones may do; words of the drivers' formats are as in t410-examples.bats.

load helpers

FAMILIES=$UNCORE_SOURCE_ROOT/tests/families

filtered() {
	"$UNCORE" --root "$T410" --data "$FAMILIES" "$@"
}

# encodes "OPTIONS" METRIC "PMU WORDS"...: one argument for each counter, in order.
encodes() {
	local options=$1 metric=$2 wanted

	shift 2
	wanted=$(printf '%s\n' "$@")
	# shellcheck disable=SC2086 # words are meant
	expect 0 filtered stat --dry-run -j -M "$metric" $options || return 1
	[ "$(jq -r '"\(.pmu) \(.config[:3] | join(" "))"' <<<"$output")" = "$wanted" ] ||
		fail "$options should be" "$wanted"
}

# counters OPTION...: the PMUs of the counters that would be opened.
counters() {
	expect 0 "$UNCORE" --source "$SIM_T410" stat --dry-run -j "$@"
	jq -r .pmu <<<"$output" | sort -u | paste -sd ' '
}

# port_rows OPTION...: the rows of `pcie`, which are those of these ports.
port_rows() {
	expect 0 "$UNCORE" --source "$SIM_T410" pcie -j "$@"
	jq -r 'select(.name == "pcie.inbound.read.bandwidth") | .port' <<<"$output" | sort | paste -sd ' '
}

@test "sources and targets of requests" {
	encodes '--from cpu --to memory' memory.read.bandwidth 'nvidia_ucf_pmu_0 0x123 0x102 0x0'
	encodes '--from device --to remote' memory.read.bandwidth 'nvidia_ucf_pmu_0 0x123 0x801 0x0'
	encodes '--from cpu,device' memory.read.bandwidth 'nvidia_ucf_pmu_0 0x123 0x3 0x0'
	encodes '--gpu 0' link.in.read.requests 'nvidia_nvlink_c2c_pmu_0 0x2 0x1 0x0'
	encodes '--gpu 0,1' link.in.read.requests 'nvidia_nvlink_c2c_pmu_0 0x2 0x3 0x0'
}

@test "ports of a link are not sources of requests" {
	expect 0 "$UNCORE" --root "$GRACE" stat --dry-run -j -M link.in.remote.bandwidth --link port1
	[ "$(jq -r '"\(.pmu) \(.config[:3] | join(" "))"' <<<"$output")" = \
		$'nvidia_nvlink_c2c0_pmu_0 0x5 0x2 0x0\nnvidia_nvlink_c2c1_pmu_0 0x5 0x2 0x0' ] || fail
	refuses 3 "$UNCORE" --root "$GRACE" stat --dry-run -M link.in.remote.bandwidth --from socket1
	says 'nvidia-grace-c2c cannot be restricted by .from.; they can by link'
	refuses 2 "$UNCORE" --root "$GRACE" stat --dry-run -M link.in.remote.bandwidth --link port2
	says "link: 'port2' is not one of port0, port1"
}

@test "root ports, devices, addresses" {
	encodes '--port 0005:c0:00.0 --to memory' pcie.inbound.read.bandwidth \
		'nvidia_pcie_pmu_0_rc_4 0x0 0x4 0x1'
	encodes '--port 0:4:2 --to memory' pcie.inbound.read.bandwidth \
		'nvidia_pcie_pmu_0_rc_4 0x0 0x4 0x1'
	encodes '--port 0005:00:00.0,0005:40:00.0' pcie.inbound.read.bandwidth \
		'nvidia_pcie_pmu_0_rc_4 0x0 0x3 0x0'
	# 0x8301 in bits 8-23, and bit 24.
	encodes '--device 0002:83:00.1' pcie.inbound.read.bandwidth \
		'nvidia_pcie_pmu_0_rc_1 0x0 0x1830100 0x0'
	# 0x3 in bits 3-10, as of a device without known addresses no better is known.
	encodes '--port 0:1:1,0:1:2' pcie.outbound.read.bandwidth \
		'nvidia_pcie_tgt_pmu_0_rc_1 0x30 0x0 0x0'
	expect 0 filtered stat --dry-run -j -M pcie.outbound.read.bandwidth --address 0x10000/256
	[ "$(jq -c '.config[:3]' <<<"$output" | sort -u)" = '["0x800","0x10000","0xffffffffffffff00"]' ]
}

@test "clocks are not filtered, and are in one group with the counts that they divide" {
	encodes '--port 0:4:1' pcie.inbound.read.requests.per.cycle \
		'nvidia_pcie_pmu_0_rc_4 0x2 0x2 0x0' 'nvidia_pcie_pmu_0_rc_4 0x100000000 0x0 0x0'
	[ "$(jq -r .group <<<"$output" | sort -u | wc -l)" -eq 1 ] || fail 'two groups'
}

@test "--per-port: a set of counters for each root port" {
	expect 0 filtered stat --dry-run -j -M pcie.inbound.read.bandwidth --per-port
	[ "$(jq -r '"\(.pmu) \(.config[1])"' <<<"$output" | sort -u | wc -l)" -eq 11 ] ||
		fail 'there are eleven root ports'
	[ "$(jq -r 'select(.pmu == "nvidia_pcie_pmu_0_rc_4") | .config[1]' <<<"$output" | xargs)" = \
		'0x1 0x2 0x4' ] || fail 'root complex 4 has three'
	# Where their numbers are not known, a row for the PMU as a whole, and a note.
	unpack "$T410" "$BATS_TEST_TMPDIR/t410"
	rm -r "$BATS_TEST_TMPDIR/t410/sys/bus/pci"
	expect 0 "$UNCORE" --root "$BATS_TEST_TMPDIR/t410" --data "$FAMILIES" stat --dry-run -j \
		-M pcie.inbound.read.bandwidth --per-port
	[ "$(jq -r '.config[1]' <<<"$output" | xargs)" = '0x0 0x0 0x0 0x0 0x0 0x0' ] || fail 'six PMUs'
}

@test "a device that shares its number: a note names the other devices" {
	expect 0 filtered stat --dry-run -M pcie.outbound.read.bandwidth --device 0002:83:00.0
	says 'note: nvidia-t410-pcie-tgt: what is counted for 0002:83:00.0 is root port 0002:80:00.0, '\
'which it shares with 0002:83:00.1'
	expect 0 filtered stat --dry-run -M pcie.inbound.read.bandwidth --device 0002:83:00.0
	[ -z "$stderr" ] || fail 'the device alone is counted'
}

@test "an unknown value: exit 2, and the valid values" {
	refuses 2 filtered stat -M memory.read.bandwidth --from nobody
	says "from: 'nobody' is not one of cpu, device, remote"
	refuses 2 filtered stat -M memory.read.bandwidth --gpu zero
	says "gpu: 'zero' is not a valid number"
	refuses 2 filtered pcie --port 0002:83:00.0
	says '0002:83:00.0 is not a root port, but below 0002:80:00.0'
	refuses 2 filtered pcie --device nvme77
	says nvme77
	refuses 2 filtered pcie --address 0/3K
	says 'power of two'
	refuses 2 filtered pcie --device 0002:83:00.0 --port 0:1:0
	says "'device' and 'port' exclude each other"
	refuses 2 filtered stat -M 'memory.*' --from cpu --from device
	says 'from is given twice'
	refuses 2 filtered stat -M 'memory.*' --per-port --per-socket
	refuses 2 filtered stat -e nvidia_ucf_pmu_0/cycles/ --from cpu
	says 'not events'
}

@test "a preset prints the same reason as its pattern" {
	refuses 3 "$UNCORE" --source "$SIM_T410" link --gpu 2
	says 'GPU 2: the link of nvidia_nvlink_c2c_pmu_0 has 2 GPUs, 0 to 1'
	refuses 3 "$UNCORE" --source "$SIM_T410" link --from cpu
	says 'cannot be restricted by .from'
	refuses 3 "$UNCORE" --source "$SIM_T410" link --link port0
	says 'the PMUs of nvidia-t410-nvclink cannot be restricted by .link.; this works here: uncore link'
	refuses 3 "$UNCORE" --source "$SIM_T410" pcie --gpu 0
	says 'cannot be restricted by .gpu.; they can by to, port, device'
	refuses 3 "$UNCORE" --source "$SIM_T410" cache --gpu 0
	says 'the PMUs of nvidia-t410-ucf cannot be restricted by .gpu.; they can by from, to'
}

@test "a clock that is the same for all is left out; its port is counted" {
	expect 0 "$UNCORE" --source "$SIM_T410" stat -M 'pcie.*' --port 0005:c0:00.0 --timeout 10ms
	shows 'pcie.inbound.read.bandwidth +port 0005:c0:00.0 '
	says 'note: left out: nvidia-t410-pcie/pcie.clock.frequency is the same for all'
	[[ $stderr != *'is not counted'* ]] || fail 'the port is counted'
}

@test "a metric without such a filter: exit 3, and the filters that it has" {
	refuses 3 filtered stat -M memory.read.bandwidth --gpu 0
	says 'the PMUs of nvidia-t410-ucf cannot be restricted by .gpu.; they can by from, to'
	refuses 3 filtered stat -M pcie.inbound.read.bandwidth --to cxl
	says 'know no to=cxl; they know memory, gpu, remote'
	refuses 3 filtered stat -M pcie.clock.frequency --to gpu
	says 'is the same for all'
	refuses 3 filtered pcie --port 0:7:0
	says 'counts what .port=0:7:0. names'
}

@test "presets leave out metrics without such a filter, with a note for each family" {
	expect 0 filtered pcie --to gpu --dry-run
	says 'note: left out: the PMUs of nvidia-t410-pcie-tgt cannot be restricted by .to.; they can '\
'by port, address'
	[ "$(grep -c 'pcie-tgt' <<<"$stderr")" -eq 1 ] || fail 'one note for each family'
	[[ ! $output =~ pcie_tgt ]] || fail 'a PMU is counted that cannot be restricted'
}

@test "a sum without a PMU that cannot be restricted is partial" {
	local file=$BATS_TEST_TMPDIR/cut.yaml

	grep -v 'pcie_pmu_0_rc_1/format/dst_loc_gmem' \
		"$UNCORE_SOURCE_ROOT/tests/machines/nvidia-t410-1socket.txt" >"$BATS_TEST_TMPDIR/cut.txt"
	cat >"$file" <<-YAML
		sim: cut
		machine: cut.txt
		rates:
		  - {pmu: "nvidia_pcie_pmu_0_rc_[02345]", event: "rd_bytes,dst_loc_gmem=1", constant: 1e9}
	YAML
	expect 0 "$UNCORE" --source "sim:$file,step=1s" stat --timeout 1 -j --to gpu \
		-M nvidia-t410-pcie/pcie.inbound.read.bandwidth
	[ "$(jq -r '"\(.value == 5e9) \(.quality) \(.reason[:50])"' <<<"$output")" = \
		'true partial 1 PMU left out: nvidia_pcie_pmu_0_rc_1/rd_bytes,ds' ] || fail 'a PMU is lost'
	[ "$(grep -c 'left out' <<<"$stderr")" -eq 1 ] || fail 'one note'
}

@test "rows have the filter, the port, and the share of its link" {
	local file=$BATS_TEST_TMPDIR/ports.yaml

	cat >"$file" <<-YAML
		sim: ports
		machine: t410
		rates:
		  - {pmu: nvidia_pcie_pmu_0_rc_4, event: "rd_bytes,src_rp_mask=0x1,dst_loc_cmem=1", constant: 1e9}
		  - {pmu: nvidia_pcie_pmu_0_rc_4, event: "rd_bytes,src_rp_mask=0x2,dst_loc_cmem=1", constant: 2e9}
		  - {pmu: nvidia_pcie_pmu_0_rc_4, event: "rd_bytes,src_rp_mask=0x4,dst_loc_cmem=1", constant: 4e12}
	YAML
	ports() {
		expect 0 "$UNCORE" --source "sim:$file,step=1s" --data "$FAMILIES" stat --timeout 1 \
			-M pcie.inbound.read.bandwidth --to memory --port 0:4:0,0:4:1,0:4:2 --per-port "$@"
	}
	ports -j
	helper check-rows json N=3 <<<"$output"
	[ "$(jq -r '"\(.port) \(.filter) \(.value == 1e9)"' <<<"$output" | head -n 1)" = \
		'0005:00:00.0 to=memory port=0:4:0,0:4:1,0:4:2 true' ] || fail 'the first port'
	ports --csv
	helper check-rows csv N=3 <<<"$output"
	ports
	shows 'Metrics are restricted by to=memory port=0:4:0,0:4:1,0:4:2\.' 'port 0005:40:00.0 +2\.000  GB/s'
}

@test "ports whose addresses are unknown have rows by their numbers" {
	local file=$BATS_TEST_TMPDIR/numbers.yaml

	unpack "$T410" "$BATS_TEST_TMPDIR/t410"
	rm -r "$BATS_TEST_TMPDIR/t410/sys/bus/pci"
	cat >"$file" <<-YAML
		sim: numbers
		machine: $BATS_TEST_TMPDIR/t410
		rates:
		  - {pmu: nvidia_pcie_pmu_0_rc_1, event: "rd_bytes,src_rp_mask=0x2", constant: 1e9}
		  - {pmu: nvidia_pcie_pmu_0_rc_1, event: "rd_bytes,src_rp_mask=0x4", constant: 2e9}
	YAML
	ports() {
		expect 0 "$UNCORE" --source "sim:$file,step=1s" --data "$FAMILIES" "$@" \
			--port 0:1:1,0:1:2
	}
	ports stat --timeout 1 -M pcie.inbound.read.bandwidth --per-port -j
	helper check-rows json N=2 <<<"$output"
	[ "$(jq -r '"\(.port) \(.value | round)"' <<<"$output" | xargs)" = '0:1:1 1000000000 0:1:2 2000000000' ] ||
		fail 'a row for each port'
	ports stat --timeout 1 -M pcie.inbound.read.bandwidth --per-port
	shows 'port 0:1:1 +1\.000  GB/s' 'port 0:1:2 +2\.000  GB/s'
	ports pcie
	shows $'\n0:1:1 +\\? +1\.000 GB/s' $'\n0:1:2 +\\? +2\.000 GB/s' $'\nsum +3\.000 GB/s'
}

@test "root ports that no PMU counts: rows with the reason; if no port is counted: exit 3" {
	local tree=$BATS_TEST_TMPDIR/spr vmd=$BATS_TEST_TMPDIR/vmd

	hide_vmd "$vmd"
	ports() {
		local wanted=$1

		shift
		expect "$wanted" "$UNCORE" --source "sim:$vmd/sim.yaml,step=1s" "$@"
	}
	ports 0 stat --timeout 1 -j -M pcie.inbound.read.bandwidth --port 0000:3a:00.0,10000:00:03.0
	helper check-rows json N=1 <<<"$output"
	[ "$(jq -r '"\(.port) \(.quality) \(.reason)"' <<<"$output")" = "null partial root port \
10000:00:03.0 is not counted: a driver made its segment (VMD), and neither its path nor a link 'domain' says on which root \
bus it is" ] || fail 'the sum lacks a port'
	says 'note: root port 10000:00:03\.0 is not counted: .*\(VMD\)'
	ports 0 pcie --port 0000:3a:00.0,10000:00:03.0
	shows $'\n10000:00:03\\.0 .* - +- +- +- +\\?' $'\nsum +381\\.7 MB/s !' 'unavailable:'
	refuses 3 "$UNCORE" --source "sim:$vmd/sim.yaml,step=1s" pcie --port 10000:00:03.0
	says 'root port 10000:00:03\.0 is not counted: .*\(VMD\)'
	refuses 3 "$UNCORE" --source "sim:$vmd/sim.yaml,step=1s" pcie --device nvme2
	says 'root port 10000:00:03\.0 is not counted: .*\(VMD\)'
	# Config space as the kernel shows it to everybody.
	unpack "$SPR" "$tree"
	truncate -s 64 "$tree"/sys/bus/pci/devices/*/config
	sed "s|^machine:.*|machine: $tree|" "$UNCORE_SOURCE_ROOT/data/sim/spr.yaml" >"$tree/sim.yaml"
	refuses 3 "$UNCORE" --source "sim:$tree/sim.yaml,step=1s" pcie --port 0000:15:01.0,0000:26:01.0
	says 'root port 0000:26:01\.0 is not counted: mapping needs root: only root'
}

@test "a socket whose root port is not counted has a row with the reason" {
	local copy=$BATS_TEST_TMPDIR/t410 file=$BATS_TEST_TMPDIR/two.yaml

	unpack "$MACHINES/nvidia-t410-2socket.txt" "$copy"
	head -c 64 "$copy/sys/bus/pci/devices/000e:00:00.0/config" >"$copy/short"
	cp "$copy/short" "$copy/sys/bus/pci/devices/000e:00:00.0/config"
	cat >"$file" <<-YAML
		sim: two
		machine: $copy
		rates:
		  - {pmu: 'nvidia_pcie_pmu_*', event: "rd_bytes,src_rp_mask=0x1", constant: 1e9}
	YAML
	expect 0 "$UNCORE" --source "sim:$file,step=1s" --data "$FAMILIES" stat --timeout 1 -j \
		-M pcie.inbound.read.bandwidth --port 0001:00:00.0,000e:00:00.0 --per-socket
	helper check-rows json N=2 <<<"$output"
	[ "$(jq -r '"\(.quality) \(.port)"' <<<"$output" | xargs)" = \
		'measured 0001:00:00.0 unavailable null' ] || fail 'a row for each socket'
	[ "$(jq -r '.reason // empty' <<<"$output")" = "root port 000e:00:00.0 is not counted: the part of \
its config space that names its PMU cannot be read without root" ] || fail 'the reason'
}

@test "the share of the ceiling; above the ceiling both numbers" {
	peak() {
		expect 0 "$UNCORE" --source "$SIM_T410" --data "$FAMILIES" --memory-peak "$1" stat \
			--timeout 1 -M memory.read.bandwidth
	}
	peak 300GB/s
	shows '519\.9  GB/s  measured  86\.6 % of 600\.0 GB/s'
	peak 200GB/s
	shows '519\.9  GB/s  suspect' '519\.9 GB/s are more than the ceiling of 400\.0 GB/s'
}

@test "a GPU that no link has: the error lists the GPUs of the link, and not the other socket" {
	refuses 3 "$UNCORE" --source sim:t410 stat --gpu 7 --dry-run
	says '^uncore: GPU 7: the link of nvidia_nvlink_c2c_pmu_0 has 2 GPUs, 0 to 1'
}

@test "sockets and NUMA nodes: their counters alone are opened, and their rows are those of all" {
	local option wanted level

	for option in --socket --node; do
		[ "$(counters -M memory.bandwidth $option 1)" = nvidia_ucf_pmu_1 ] || fail "$option 1"
		[ "$(counters -M memory.bandwidth $option 0,1)" = 'nvidia_ucf_pmu_0 nvidia_ucf_pmu_1' ] || fail "$option 0,1"
		[ "$(counters -e nvidia_ucf_pmu/cycles/ $option 1)" = nvidia_ucf_pmu_1 ] || fail "an event with $option 1"
		expect 0 "$UNCORE" --source "$SIM_T410" mem --per-socket -j
		wanted=$(jq -c 'select(.level == "socket" and .socket == 1) | [.name, .value]' <<<"$output")
		expect 0 "$UNCORE" --source "$SIM_T410" mem $option 1 -j
		for level in machine socket; do
			[ "$(jq -c "select(.level == \"$level\") | [.name, .value]" <<<"$output")" = "$wanted" ] || fail "mem $option 1, $level" "$wanted"
		done
		[ "$(jq -r .filter <<<"$output" | sort -u)" = "${option#--}=1" ]
		helper check-rows json <<<"$output"
		expect 0 "$UNCORE" --source "$SIM_T410" mem $option 1
		shows "restricted by ${option#--}=1" $'\nsocket 1 ' $'\nsum '
		[[ $output != *machine* && $output != *'socket 0'* ]] || fail 'the sum is not that of the machine'
	done
	# What is shown without options does not change.
	expect 0 "$UNCORE" --source "$SIM_T410" stat --socket 1 -j 0.01 1
	wanted=$(jq -r .name <<<"$output" | sort -u)
	expect 0 "$UNCORE" --source "$SIM_T410" stat -j 0.01 1
	[ "$(jq -r .name <<<"$output" | sort -u)" = "$wanted" ] || fail 'other metrics'
	refuses 2 "$UNCORE" --source "$SIM_T410" mem --socket 2
	says "^uncore: socket: '2' is not the number of a socket with CPUs here: 0, 1$"
	refuses 3 "$UNCORE" --source "$SIM_T410" stat -e nvidia_ucf_pmu_0/cycles/ --socket 1 --dry-run
	says "no PMU counts it where 'socket=1' selects"
	refuses 3 "$UNCORE" --source "$SIM_T410" pcie --port 0003:00:00.0 --socket 1
	says "counts what 'port=0003:00:00.0 socket=1' names here|what .socket=1 port"
}

@test "the ceiling is that of the sockets that are counted" {
	expect 0 "$UNCORE" --source "$SIM_T410" --memory-peak 500GB/s --data "$FAMILIES" stat --timeout 1 -j -M memory.read.bandwidth --socket 1
	[ "$(jq .ceiling <<<"$output")" = 500000000000 ] || fail 'one socket'
	expect 0 "$UNCORE" --source "$SIM_T410" --memory-peak 500GB/s --data "$FAMILIES" stat --timeout 1 -j -M memory.read.bandwidth --socket 0,1
	[ "$(jq .ceiling <<<"$output")" = 1000000000000 ] || fail 'both'
}

@test "a PMU whose socket is not known is left out" {
	local copy=$BATS_TEST_TMPDIR/t410

	unpack "$MACHINES/nvidia-t410-2socket.txt" "$copy"
	# Both sockets' CPUs: the PMU may be on any of them.
	cp "$copy/sys/devices/system/cpu/online" "$copy/sys/bus/event_source/devices/nvidia_ucf_pmu_1/associated_cpus"
	expect 0 "$UNCORE" --root "$copy" stat --dry-run -j -M memory.bandwidth --socket 0
	[ "$(jq -r .pmu <<<"$output" | sort -u)" = nvidia_ucf_pmu_0 ]
	says 'note: left out: the socket of nvidia_ucf_pmu_1 is not known: the firmware does not say'
}

@test "several devices: names, patterns, vendor:device, classes" {
	local wanted

	[ "$(port_rows --device nvme0,nvme1)" = '0001:00:00.0 0009:00:00.0' ] || fail 'names'
	[ "$(port_rows nvme0 nvme1)" = '0001:00:00.0 0009:00:00.0' ] || fail 'arguments'
	[ "$(port_rows --device 'nvme*')" = '0001:00:00.0 0009:00:00.0' ] || fail 'a pattern'
	[ "$(port_rows --device nvme)" = '0001:00:00.0 0009:00:00.0' ] || fail 'a class'
	[ "$(port_rows --device 144d:a824)" = '0001:00:00.0 0009:00:00.0' ] || fail 'vendor and device'
	[ "$(port_rows --device '144d:*,0003:01:00.0')" = '0001:00:00.0 0003:00:00.0 0009:00:00.0' ] || fail 'a vendor'
	[ "$(port_rows --device gpu)" = 0003:00:00.0 ] || fail 'GPUs'
	[ "$(port_rows --device nic)" = '0002:80:00.0 0004:00:00.0 000b:00:00.0 000c:00:00.0' ] || fail 'NICs'
	[ "$(port_rows --device nvme --socket 1)" = 0009:00:00.0 ] || fail 'of one socket'
	# Two functions of one card: their port, once, and not each of them with it.
	expect 0 "$UNCORE" --source "$SIM_T410" pcie -j --port 0002:80:00.0
	wanted=$(jq -c 'select(.name | startswith("pcie.")) | [.name, .port, .value]' <<<"$output")
	expect 0 "$UNCORE" --source "$SIM_T410" pcie -j --device 0002:83:00.0,0002:83:00.1
	[ "$(jq -c 'select(.name | startswith("pcie.")) | [.name, .port, .value]' <<<"$output")" = "$wanted" ] ||
		fail 'both functions' "$wanted"
	refuses 3 "$UNCORE" --source "$SIM_T410" pcie --device 'sda*'
	says "^uncore: device: this machine has no PCI device 'sda\*'; 'uncore topo' shows its devices$"
	# On Intel's stacks, of which each counts several ports.
	expect 0 "$UNCORE" --source "$SIM_SPR" pcie -j --device nvme
	[ "$(jq -r 'select(.name == "pcie.inbound.read.bandwidth") | .port' <<<"$output" | paste -sd ' ')" = \
		'0000:37:01.0 0000:37:03.0' ] || fail 'two ports of one stack'
}

@test "a device that counts itself needs no root port" {
	expect 0 "$UNCORE" --root "$MACHINES/nvidia-h200-guest.txt" pcie --device gpu --dry-run -j
	[ "$(jq -r .pmu <<<"$output" | sort -u)" = nvidia_gpu_0 ]
}

@test "a recording and an exporter have only the places and devices of their filters" {
	[[ $("$UNCORE" --help) == *' record '* ]] || skip 'built without record'
	cd "$BATS_TEST_TMPDIR" || return
	expect 0 "$UNCORE" --source "$SIM_T410" record one.db mem --socket 1 0.01 2
	expect 0 "$UNCORE" report one.db stat -j
	[ "$(jq -r .filter <<<"$output" | sort -u)" = socket=1 ] || fail 'the recorded filter'
	expect 0 "$UNCORE" --source "$SIM_T410" record all.db mem 0.01 2
	expect 0 "$UNCORE" report all.db stat -j
	wanted=$(jq -c 'select(.name == "memory.bandwidth" and .socket == 1) | .value' <<<"$output")
	expect 0 "$UNCORE" report all.db mem --socket 1 -j
	[ "$(jq -c 'select(.name == "memory.bandwidth") | .value' <<<"$output" | sort -u)" = \
		"$("$UNCORE" report one.db mem -j | jq -c 'select(.name == "memory.bandwidth") | .value' | sort -u)" ] ||
		fail 'one socket of a recording of both'
	refuses 3 "$UNCORE" report one.db mem --socket 0
	says 'one.db has no counter of these'
}

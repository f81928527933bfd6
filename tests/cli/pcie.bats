#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# PCIe by root port and device: which port, which device, and how much of its link.

load helpers

pcie() {
	expect 0 "$UNCORE" --source "$SIM_T410" pcie --timeout 1 "$@"
}

# value NAME PORT: of the JSON rows in $output.
value() {
	jq -r --arg name "$1" --arg port "$2" 'select(.name == $name and .port == $port) | .value' \
		<<<"$output"
}

@test "text: a line for each root port, its link, what hangs below, the share of the link" {
	pcie
	shows 'PORT +LINK +IN READ +IN WRITE +OUT READ +OUT WRITE +LATENCY +OF LINK'
	shows '0001:00:00.0 +32 GT/s x4 .* 41\.77 %' '0001:01:00.0 nvme0 .*\(nvme\)'
	shows '0002:83:00.1 mlx5_1' $'\nsum +101\.5 GB/s'
}

@test "text: the busiest port first, or in another order; idle ports in one sentence" {
	local key ports

	pcie
	shows $'\n14 idle ports: 0002:a0:00\.0, 0002:c0:00\.0, .*,.000e:00:00\.0\n'
	while read -r key ports; do
		pcie --sort "$key"
		[ "$(grep -o '^00[^ ]*:00\.0  ' <<<"$output" | cut -c 1-4 | head -3 | paste -s -d ' ')" = "$ports" ] ||
			fail "--sort $key is not $ports"
	done <<-'END'
		traffic 000b 0003 0002
		in 000b 0003 0002
		out 0003 000b 0002
		share 0003 0001 0009
		place 0001 0002 0003
	END
	refuses 2 "$UNCORE" --source "$SIM_T410" pcie --sort size
	says "--sort: 'size' is not one of: traffic, in, out, share, latency, place"
	refuses 2 "$UNCORE" --source "$SIM_T410" mem --sort in
}

@test "text: a PMU that every socket has is named with its socket, not with a CPU" {
	sed -E 's|^(.*/uncore_.*/cpumask) = 0$|\1 = 0,2|
		s|^(.*cpu[23]/topology/physical_package_id) = 0$|\1 = 1|' \
		"$MACHINES/intel-skx-1socket.txt" >"$BATS_TEST_TMPDIR/two.txt"
	sed 's|^machine: .*|machine: ./two.txt|' "$UNCORE_SOURCE_ROOT/data/sim/skx.yaml" >"$BATS_TEST_TMPDIR/two.yaml"
	expect 0 "$UNCORE" --source "sim:$BATS_TEST_TMPDIR/two.yaml,step=1s" pcie
	shows $'\nsocket 0, uncore_iio_4 +[1-9]' $'\nsocket 1, uncore_iio_4 +[1-9]'
	[[ ! $output =~ CPU\ [0-9] ]]
}

@test "text: traffic that passes no root port is not in the sum; --per-socket counts it" {
	local sum total

	expect 0 "$UNCORE" --source sim:skx,step=1s pcie
	shows "The sum is of these lines; 'uncore pcie --per-socket' counts all devices" 'one I/O stack; its traffic cannot be split'
	sum=$(awk '/^sum/ { print $2 }' <<<"$output")
	expect 0 "$UNCORE" --source sim:skx,step=1s pcie --per-socket
	[[ ! $output =~ 'The sum' && $output =~ PLACE ]]
	total=$(awk '/^socket/ { print $3 }' <<<"$output")
	expect 0 "$UNCORE" --source sim:skx,step=1s stat -M pcie.inbound.read.bandwidth --timeout 1
	shows "pcie.inbound.read.bandwidth +all +$total +GB/s"
	awk "BEGIN { exit !($sum < $total) }"
	expect 0 "$UNCORE" --source sim:ivt,step=1s pcie
	shows $'\nPMU +IN READ' 'one cache slice; its traffic cannot be split'
}

@test "text: the missing latency of an idle port is not reported" {
	pcie --port 0002:a0:00.0
	shows '0002:a0:00.0 +no link +0 B/s .* - +\?' 'LATENCY: - where nothing was read'
	[[ ! $output =~ unavailable ]]
}

@test "the sum of the ports is the count of the root complexes without a filter" {
	local sums totals

	pcie -j
	sums=$(jq -s -c 'map(select(.unit == "B/s")) | group_by(.name) |
		map({(.[0].name): (map(.value) | add | round)}) | add' <<<"$output")
	expect 0 "$UNCORE" --source "$SIM_T410" stat --timeout 1 -j \
		-M 'pcie.*bound.read.bandwidth,pcie.*bound.write.bandwidth'
	totals=$(jq -s -c 'map({(.name): (.value | round)}) | add' <<<"$output")
	# Each counter is cut to a whole count.
	jq -n -e --argjson a "$sums" --argjson b "$totals" \
		'($a | keys) == ($b | keys) and ([$a | to_entries[] | (.value - $b[.key]) | fabs] | max) < 12' ||
		fail "$sums" "$totals"
}

@test "--device: one of two functions behind a switch, where the hardware can tell them apart" {
	local all one other

	pcie -j
	all=$(value pcie.inbound.read.bandwidth 0002:80:00.0)
	pcie -j --device mlx5_0
	one=$(value pcie.inbound.read.bandwidth 0002:80:00.0)
	says 'pcie-tgt: what is counted for mlx5_0|0002:83:00.0 is root port 0002:80:00.0, which it shares with 0002:83:00.1 \(mlx5_1 enP2p131s0f1np1\)'
	pcie -j --device 0002:83:00.1
	other=$(value pcie.inbound.read.bandwidth 0002:80:00.0)
	jq -n -e --argjson a "$all" --argjson b "$one" --argjson c "$other" \
		'(($a - $b - $c) | fabs) < 3 and (($b / $a - 0.75) | fabs) < 1e-6' || fail "$all $one $other"
	pcie --device mlx5_0
	shows 'restricted by device=mlx5_0'
	# A port of the switch stands for what is behind it.
	pcie --device 0002:82:00.0
	says '0002:82:00.0, with 0002:83:00.0 \(mlx5_0 .*\), 0002:83:00.1 \(mlx5_1 .*\) behind it, is root port 0002:80:00.0'
	[[ ! $stderr =~ shares ]] || fail 'what is behind it is no neighbour'
}

@test "--port takes an address or the PMUs' numbers; an unknown port is an error" {
	pcie -j --port 0003:00:00.0
	[ "$(jq -r .port <<<"$output" | sort -u)" = 0003:00:00.0 ] || fail 'other ports, too'
	refuses 2 "$UNCORE" --source "$SIM_T410" pcie --device nvme7
	says "nvme7" 'nvme0'
}

@test "JSON and CSV have the usual rows, with the port and the rate of its link" {
	pcie -j
	helper check-rows json simulated <<<"$output"
	[ "$(jq -r 'select(.port == "0001:00:00.0" and .unit == "B/s") | .ceiling | round' \
		<<<"$output" | sort -u)" = 15753846154 ] || fail 'PCIe 5.0 x4 carries 15.75 GB/s'
	pcie --csv
	helper check-rows csv simulated <<<"$output"
}

@test "a row of several root ports has no single port" {
	expect 0 "$UNCORE" --source sim:skx,step=1s pcie
	shows $'\nuncore_iio_0 +63' '0000:02:00.0 card0'
	[[ ! $output =~ 0000:00:1c.0 ]] || fail 'the whole stack as its root port'
	expect 0 "$UNCORE" --source sim:skx,step=1s pcie --device card0
	says 'what is counted for (card0|0000:02:00.0) is uncore_iio_0'
}

# linux drivers/pci/controller/vmd.c: the host bridge of VMD's segment is a child of the VMD device, which also gets a link
# 'domain'. Skylake's ports keep their numbers there (spdk, issue 1155), which no document says.
@test "a drive behind VMD is counted by the stack of the VMD device, with a doubt" {
	expect 0 "$UNCORE" --source sim:skx,step=1s stat --dry-run -M pcie.inbound.read.bandwidth --device nvme2
	shows 'event=0x83,umask=0x04,fc_mask=0x07,ch_mask=0x8 +uncore_iio_3'
	expect 0 "$UNCORE" --source sim:skx,step=1s stat --timeout 1 -j -M pcie.inbound.read.bandwidth --device nvme2
	[ "$(jq -r '"\(.quality) \(.reason)"' <<<"$output")" = 'suspect the port is behind VMD: its I/O stack is known, but no document says that ports keep their numbers there' ] || fail 'no doubt'
	# Only the link 'domain' says it.
	sed 's|pci0000:5d/0000:5d:05.5/pci10000|pci10000|' "$MACHINES/intel-skx-1socket.txt" >"$BATS_TEST_TMPDIR/skx"
	expect 0 "$UNCORE" --root "$BATS_TEST_TMPDIR/skx" topo
	shows $'root bus 10000:00\n +counted by uncore_iio_3; suspect:'
}

@test "a root port that no PMU counts has a line with the reason, and is not in the sum" {
	local vmd=$BATS_TEST_TMPDIR/vmd

	hide_vmd "$vmd"
	expect 0 "$UNCORE" --source "sim:$vmd/sim.yaml,step=1s" pcie
	shows $'\n10000:00:03\\.0 +8 GT/s x4( +-){4} +\\?\n +10000:01:00\\.0 nvme2 ' $'\nsum +1\\.972 GB/s !' \
		'unavailable:.*root port 10000:00:03\.0 is not counted: a driver made its segment \(VMD\)'
	expect 0 "$UNCORE" --source "sim:$vmd/sim.yaml,step=1s" pcie -j
	helper check-rows json simulated <<<"$output"
	[ "$(jq -r 'select(.port == "10000:00:03.0") | "\(.quality) \(.value) \(.pmu)"' <<<"$output" |
		sort -u)" = 'unavailable null null' ] || fail 'rows without a value'
	# What is the same for all ports is not that of one.
	expect 0 "$UNCORE" --source sim:hip09,step=1s pcie
	shows $'\n0000:90:00\\.0 +no link +- +- +n/a +n/a +n/a'
}

@test "root ports that may be in the rows of several PMUs have no row, and a note names them" {
	local tree=$BATS_TEST_TMPDIR/spr sim=$BATS_TEST_TMPDIR/spr.yaml

	# Config space as the kernel shows it to everybody.
	unpack "$SPR" "$tree"
	truncate -s 64 "$tree"/sys/bus/pci/devices/*/config
	sed "s|^machine:.*|machine: $tree|" "$UNCORE_SOURCE_ROOT/data/sim/spr.yaml" >"$sim"
	expect 0 "$UNCORE" --source "sim:$sim,step=1s" pcie -v
	says 'note: root ports 0000:15:01\.0, .*, 0000:37:03\.0 have no rows of their own: mapping needs root: only root'
	shows $'\nsum +19\\.68 GB/s  4'
	unpack "$T410" "$BATS_TEST_TMPDIR/t410"
	for config in "$BATS_TEST_TMPDIR"/t410/sys/bus/pci/devices/*/config; do
		head -c 64 "$config" >"$BATS_TEST_TMPDIR/config"
		cp "$BATS_TEST_TMPDIR/config" "$config"
	done
	expect 0 "$UNCORE" --root "$BATS_TEST_TMPDIR/t410" pcie --dry-run
	expect 0 "$UNCORE" --root "$BATS_TEST_TMPDIR/t410" stat --dry-run -M pcie.inbound.read.bandwidth \
		--per-port -v --to memory
	says 'note: root ports 0001:00:00\.0, .*, 0006:00:00\.0 have no rows of their own: .* without root'
}

# parts PMU=PART...: --check of 0000:37:01.0, which is uncore_iio_4, part 0, while these move 1 GB/s each
parts() {
	local sim=$BATS_TEST_TMPDIR/parts.yaml umask part moved

	printf '%s\n' 'sim: parts' 'title: x' "machine: ${machine:-spr}" 'seed: 1' 'rates:' >"$sim"
	for umask in 1 4; do
		for part in 0 1 2 3 4 5 6 7; do
			for moved in "$@"; do
				[ "${moved#*=}" = $part ] || continue
				printf '  - {pmu: %s, event: "event=0x83,umask=%d,ch_mask=%d,fc_mask=7", constant: 125e6}\n' \
					"${moved%=*}" $umask $((1 << part)) >>"$sim"
			done
			printf '  - {pmu: uncore_iio, event: "event=0x83,umask=%d,ch_mask=%d,fc_mask=7", constant: 1e5}\n' \
				$umask $((1 << part)) >>"$sim"
		done
	done
	expect "$verdict" "$UNCORE" --source "sim:$sim,step=1s" pcie --check nvme0 "${more[@]}"
}

@test "--check: exactly the part of the mapped port must count" {
	local more=() verdict=0

	parts uncore_iio_4=0
	shows $'\nuncore_iio_4, part 0 +1\\.000 GB/s\ncheck of 0000:37:01\\.0: proved: uncore_iio_4, part 0 counts it'
	verdict=1
	parts uncore_iio_4=2
	shows 'check of 0000:37:01\.0: another part moved: uncore_iio_4, part 2'$'\nexpected: uncore_iio_4, part 0'
	parts uncore_iio_3=0
	shows 'check of 0000:37:01\.0: another part moved: uncore_iio_3, part 0'$'\nexpected: uncore_iio_4, part 0'
	verdict=3
	parts uncore_iio_4=0 uncore_iio_1=7
	shows 'uncore_iio_1, part 7 ' 'uncore_iio_4, part 0 ' ': cannot tell: several parts moved'
	parts
	shows ': cannot tell: nothing moved; copy data'
	# While a command runs; rows for programs have no verdict, but all parts.
	more=(-- sh -c 'exit 7')
	verdict=7
	parts uncore_iio_4=0
	shows 'check of 0000:37:01\.0: '
	more=(--json)
	verdict=0
	parts uncore_iio_4=0
	[ "$(jq -r 'select(.value * 1 > 1e8) | "\(.pmu) \(.port) \(.name)"' <<<"$output")" = "$(printf '%s\n' \
		'uncore_iio_4 0:4:0 pcie.inbound.read.bandwidth' 'uncore_iio_4 0:4:0 pcie.inbound.write.bandwidth')" ] ||
		fail 'rows'
	# The PMU counts in two sockets.
	sed -e 's|\(uncore_iio_[0-9]*/cpumask\) = 0$|\1 = 0,3|' \
		-e 's|\(cpu3/topology/physical_package_id\) = 0$|\1 = 1|' "$SPR" >"$BATS_TEST_TMPDIR/two.txt"
	more=()
	verdict=3
	machine=./two.txt parts
	shows ': cannot tell: nothing moved' $'\nexpected: socket 0, uncore_iio_4, part 0'
	expect 2 "$UNCORE" --source "$SIM_SPR" pcie --check nvme9
	says "there is no PCI device 'nvme9'"
	expect 3 "$UNCORE" --source "$SIM_SPR" pcie --check fe:03.0
	says '0000:fe:03\.0 is below no root port'
	expect 2 "$UNCORE" --source "$SIM_SPR" pcie --check nvme0 --ddio
	says 'exclude each other'
	expect 2 "$UNCORE" --source "$SIM_SPR" pcie --ddio --ddio
	says 'exclude each other'
}

@test "a sum without inputs is unavailable, not 0" {
	sed '/^filters:/,$d' "$UNCORE_SOURCE_ROOT/data/sim/t410.yaml" >"$BATS_TEST_TMPDIR/unfiltered.yaml"
	expect 0 "$UNCORE" --source "sim:$BATS_TEST_TMPDIR/unfiltered.yaml,step=1s" pcie --timeout 1 --to cxl
	[[ $output =~ sum\ +- ]] || fail 'a sum where nothing was counted'
}

@test "the simulation has traffic for each target, and the targets add up to the total" {
	local to all parts=0

	total() {
		jq -s 'map(select(.name == "pcie.inbound.read.bandwidth") | .value) | add' <<<"$output"
	}
	pcie -j
	all=$(total)
	for to in memory gpu cxl device remote; do
		pcie -j --to "$to"
		[ "$(jq -r 'select(.name == "pcie.inbound.read.latency" and .value) | .value * 1e9 | round' \
			<<<"$output" | sort -u)" = 650 ] || fail "the latency to $to"
		parts=$(jq -n "$parts + $(total)")
	done
	[ "$(jq -n "($parts / $all * 1e6 | round)")" = 1000000 ] || fail "$parts is not $all"
}

@test "without a tree of PCI, a root complex has one line" {
	awk '/^[^\t]/ { drop = /^sys\/(devices\/pci|bus\/pci\/)/ } !drop' \
		"$UNCORE_SOURCE_ROOT/tests/machines/nvidia-t410-2socket.txt" >"$BATS_TEST_TMPDIR/bare.txt"
	sed 's/^machine: .*/machine: bare.txt/' "$UNCORE_SOURCE_ROOT/data/sim/t410.yaml" >"$BATS_TEST_TMPDIR/bare.yaml"
	expect 0 "$UNCORE" --source "sim:$BATS_TEST_TMPDIR/bare.yaml,step=1s" pcie --timeout 1 --sort out
	shows 'PMU +IN READ +IN WRITE +OUT READ +OUT WRITE +LATENCY' \
		'nvidia_pcie_pmu_0_rc_2 +[0-9.]+ GB/s +[0-9.]+ GB/s +[0-9.]+ kB/s +[0-9.]+ MB/s +650\.0 ns'
	[ "$(grep -c '^nvidia_pcie_pmu_' <<<"$output")" = 12 ] || fail 'a line for each root complex'
	[[ ! $output =~ nvidia_pcie_tgt|n/a ]] || fail 'a second line'
}

@test "machines whose ports cannot be distinguished have a line for each PMU" {
	expect 0 "$UNCORE" --source "$SIM_SPR" pcie
	shows 'uncore_iio_0 '
}

@test "root ports that one PMU counts and cannot distinguish: the error names them" {
	local icx=$BATS_TEST_TMPDIR/icx.txt

	# The map of Ice Lake has devices 2 to 5 of a root bus.
	sed 's/0000:4a:04\.0/0000:4a:08.0/g' "$MACHINES/intel-icx-1socket.txt" >"$icx"
	sed "s|^machine:.*|machine: $icx|" "$UNCORE_SOURCE_ROOT/data/sim/icx.yaml" >"$BATS_TEST_TMPDIR/icx.yaml"
	refuses 3 "$UNCORE" --source "sim:$BATS_TEST_TMPDIR/icx.yaml,step=1s" stat -M pcie.inbound.read.bandwidth \
		--port 0000:4a:02.0 --timeout 1
	says 'uncore_iio_2 counts the root ports 0000:4a:02\.0, 0000:4a:08\.0 together'
}

#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Devices that count themselves, below the root ports that count them, too: what every command shows of them, and both
# ends of a link in one line.

load helpers

setup_file() {
	"$MACHINES/make-devices" "$BATS_FILE_TMPDIR"
	export SPR_DEVICES=sim:$BATS_FILE_TMPDIR/spr-devices.yaml,step=1s
	export SPR_ROCE=sim:$BATS_FILE_TMPDIR/spr-roce.yaml,step=1s
	export SPR_SWITCH=sim:$BATS_FILE_TMPDIR/spr-switch.yaml,step=1s
	export ZEN4_DEVICES=sim:$BATS_FILE_TMPDIR/zen4-devices.yaml,step=1s
	export GRACE_DEVICES=sim:$BATS_FILE_TMPDIR/grace-devices.yaml,step=1s
	export T410_DEVICES=sim:$BATS_FILE_TMPDIR/t410-devices.yaml,step=1s
}

# changed NAME EVENT RATE...: the simulation of a machine in which events have other rates.
changed() {
	local name=$1 yaml=$BATS_FILE_TMPDIR/changed-$BATS_TEST_NUMBER.yaml

	shift
	cp "$BATS_FILE_TMPDIR/$name.yaml" "$yaml"
	while [ $# -gt 1 ]; do
		grep -q "{pmu: ${1%/*}, event: \"\\?${1#*/}" "$yaml" || fail "no rate of $1"
		sed -i "s|\({pmu: ${1%/*}, event: \"\?${1#*/}\"\?\), constant: [^}]*}|\1, $2}|" "$yaml"
		shift 2
	done
	simulation=sim:$yaml,step=1s
}

# verdicts SOURCE: "PORT DIRECTION VERDICT" of each line of --ends.
verdicts() {
	expect 0 "$UNCORE" --source "$1" pcie --ends
	awk '/^[^ ]+ +(read|write) / { match($0, /(agree|idle|device more|port more|cannot tell)/)
		print $1, $2, substr($0, RSTART, RLENGTH) }' <<<"$output"
}

# ceiling_alone: that of the GPU that is alone below the switch of $tree, in GB/s.
ceiling_alone() {
	expect 0 "$UNCORE" --source "sim:$BATS_TEST_TMPDIR/alone.yaml,step=1s" stat -j -M device.pcie.received.bandwidth \
		--device 0000:4b:00.0 --timeout 1ms
	jq '.ceiling / 1e9 * 10 | round / 10' <<<"$output"
}

# rows_of: of the records of standard input, which rows there are, and whether they have a value. Links that a device does
# not have are not counted, and so not recorded.
rows_of() {
	jq -r 'select(.name and .reason != "it is not in the recording") | "\(.name) \(.family) \(.socket) \(.channel) \(.port) \(.pmu) \(.role) \(.value != null) \(.verdict)"' | sort -u
}

# views_of_recording SOURCE: each view shows the same rows of a default recording as of the machine.
views_of_recording() {
	local view rows file=$BATS_TEST_TMPDIR/night.db

	rm -f "$file"
	expect 0 "$UNCORE" --source "$1" record "$file" -I 1s -n 2
	for view in pcie mem link power 'pcie --ends' 'link --per-link'; do
		# shellcheck disable=SC2086 # words
		expect 0 "$UNCORE" --source "$1" $view -I 1s -n 1 -j
		rows=$(rows_of <<<"$output")
		# shellcheck disable=SC2086 # words
		expect 0 "$UNCORE" report "$file" $view -j
		[ "$(rows_of <<<"$output")" = "$rows" ] || fail "$1 $view: $(diff <(echo "$rows") <(rows_of <<<"$output"))"
	done
	# What a first look shows of a machine: the lines without numbers, and without those at rest.
	expect 0 "$UNCORE" --source "$1"
	rows=$(awk '/^(Memory of GPUs|Power) / { on = 1; next } /^[A-Z?]/ || !NF { on = 0 } on { print $1 }' <<<"$output")
	[[ $rows == *nvidia_gpu_0*nvidia_gpu_0* ]] || fail 'the first look has no GPU'
	expect 0 "$UNCORE" report "$file"
	[ "$(awk '/^(Memory of GPUs|Power) / { on = 1; next } !NF { on = 0 } on && $1 != "OF" { print $1 }' <<<"$output")" = "$rows" ] || fail "$1: $rows"
	expect 0 "$UNCORE" report "$file" --html
	[[ $output == *nvidia_gpu_0* && $output == *device.memory.bandwidth* ]] || fail "$1: the page"
	expect 0 "$UNCORE" report "$file" top
	shows 'device.memory.bandwidth'
}

# in_terminal WIDTHxHEIGHT OPTION...: what `uncore` alone shows there, when it has ended.
in_terminal() {
	local tmux=(tmux -u -f /dev/null -S "$BATS_TEST_TMPDIR/socket") size=$1 count

	shift
	"${tmux[@]}" new-session -d -x "${size%x*}" -y "${size#*x}" "$(printf '%q ' env "UNCORE_SKIP_WAITS=${SKIP_WAITS-}" "$UNCORE" "$@"); echo \$? >$BATS_TEST_TMPDIR/ended; sleep 100" 3>&-
	for ((count = 0; count < 1500; count++)); do
		[ ! -s "$BATS_TEST_TMPDIR/ended" ] || break
		sleep 0.02
	done
	output=$("${tmux[@]}" capture-pane -p)
	"${tmux[@]}" kill-server || true
	rm "$BATS_TEST_TMPDIR/ended"
}

@test "an interface with a name made of its address is found in a recording of it" {
	local name=enx0c42a1123456 file=$BATS_TEST_TMPDIR/file.uncore

	[[ $("$UNCORE" --help) == *' record '* ]] || skip 'built without record'
	sed "s/ens1np0/$name/g" "$BATS_FILE_TMPDIR/spr-devices.txt" >"$BATS_TEST_TMPDIR/machine.txt"
	unpack "$BATS_TEST_TMPDIR/machine.txt" "$BATS_TEST_TMPDIR/root"
	expect 0 "$UNCORE" --root "$BATS_TEST_TMPDIR/root" --source files record -M 'network.*' -I 10ms --timeout 50ms -o "$file"
	expect 0 "$UNCORE" report "$file" stat -j -M 'network.*'
	jq -es 'length == 4 and all(.[]; .quality == "measured" and .value != null)' <<<"$output"
	expect 0 "$UNCORE" report "$file" list
	shows "$name"
}

@test "pcie: devices are below their ports, what they read and write in the columns of the port" {
	expect 0 "$UNCORE" --source "$SPR_DEVICES" pcie
	shows $'\n0000:26:01\\.0 +32 GT/s x16 +40\\.00 GB/s ! +20\\.00 GB/s !.*\n +0000:27:00\\.0 card0 .*\n  nvidia_gpu_0 +40\\.00 GB/s +20\\.00 GB/s +n/a +n/a +63\\.48 %' \
		$'\n0000:48:01\\.0 .*\n +0000:49:00\\.0 card1 .*\n  nvidia_gpu_1 +24\\.00 GB/s +10\\.00 GB/s' \
		$'\n0000:15:01\\.0 .*\n.*\n  ens1np0 +8\\.000 GB/s +12\\.00 GB/s' \
		$'\n0000:37:01\\.0 .*\n.*\n  nvme0 +2\\.048 GB/s +6\\.144 GB/s +n/a +n/a +39\\.00 %' \
		$'\n1 idle device: nvme1\n' 'Indented: what devices count themselves'
	# The sum is that of the ports: a byte of a device is in it once.
	shows $'\nsum +74\\.12 GB/s ! +48\\.26 GB/s !'
}

@test "pcie: devices of a socket whose ports are counted together are behind it, with their names" {
	expect 0 "$UNCORE" --source "$ZEN4_DEVICES" pcie
	shows $'\namd_df +43\\.46 GB/s +31\\.19 GB/s' \
		$'\n  nvidia_gpu_0 +20\\.00 GB/s +10\\.00 GB/s .*\n +0000:c1:00\\.0 card0 ' \
		$'\n  nvme0 +1\\.024 GB/s +5\\.120 GB/s .*32\\.50 %\n' $'\nsum +43\\.46 GB/s +31\\.19 GB/s' \
		$'\n1 idle device: enp97s0f1np1\n'
}

@test "pcie: a guest has the devices alone" {
	local sim=$BATS_TEST_TMPDIR/guest.yaml

	{
		printf '%s\n' 'sim: guest' 'title: x' "machine: $BATS_FILE_TMPDIR/zen4-devices.txt" 'seed: 1' 'rates:'
		grep 'pmu: \(enp97\|nvme0\|nvidia_gpu_0\)' "$BATS_FILE_TMPDIR/zen4-devices.yaml"
	} >"$sim"
	sed '/event_source\/devices\/amd/d' "$BATS_FILE_TMPDIR/zen4-devices.txt" >"$BATS_TEST_TMPDIR/guest.txt"
	sed -i "s|^machine: .*|machine: ./guest.txt|" "$sim"
	expect 0 "$UNCORE" --source "sim:$sim,step=1s" pcie
	shows $'\nDEVICE +IN READ +IN WRITE +OF LINK\n  nvidia_gpu_0 +20\\.00 GB/s ' $'\n  nvme0 ' \
		'OF LINK: the largest bandwidth' $'\n  enp97s0f1np1 +0 B/s '
	[[ ! $output =~ nvidia_gpu_1 ]] || fail 'a device without rates is simulated'
	expect 0 "$UNCORE" --source "sim:$sim,step=1s" pcie --ends
	shows 'No device that counts itself is below a root port or link whose bytes are counted: there is nothing to compare'
}

@test "pcie --ends: both ends agree; idle ones are called so" {
	[ "$(verdicts "$SPR_DEVICES" | sort | uniq -c | awk '{ print $2, $3, $4 }' | paste -s -d ,)" = \
		'0000:15:01.0 read agree,0000:15:01.0 write agree,0000:26:01.0 read agree,0000:26:01.0 write agree,0000:37:01.0 read agree,0000:37:01.0 write agree,0000:37:03.0 read idle,0000:37:03.0 write idle,0000:48:01.0 read agree,0000:48:01.0 write agree' ] ||
		fail "$(verdicts "$SPR_DEVICES")"
	expect 0 "$UNCORE" --source "$SPR_DEVICES" pcie --ends
	shows 'PORT +DIRECTION +AT THE PORT +AT THE DEVICES +RATIO +VERDICT +DEVICES' \
		$'\n0000:15:01\\.0 +read +8\\.060 GB/s ! +8\\.000 GB/s +0\\.993 +agree +ens1np0\n' \
		$'\n0000:37:03\\.0 +write +0 B/s ! +0 B/s +- +idle +nvme1\n' 'RATIO: devices / port'
	expect 0 "$UNCORE" --source "$ZEN4_DEVICES" pcie --ends
	shows $'\namd_df +read +43\\.46 GB/s +43\\.42 GB/s +0\\.999 +agree +nvidia_gpu_0, nvidia_gpu_1, nvme0,' \
		$'\namd_df +write +31\\.19 GB/s +31\\.12 GB/s +0\\.998 +agree '
}

@test "pcie --ends: devices below a switch move more than passes the port" {
	expect 0 "$UNCORE" --source "$SPR_SWITCH" pcie --ends
	shows $'\n0000:48:01\\.0 +read +6\\.000 GB/s ! +26\\.00 GB/s +4\\.333 +device more +nvidia_gpu_1, nvidia_gpu_2, ens2np0\n +peer-to-peer traffic below the switch\n' \
		$'\n0000:48:01\\.0 +write +4\\.000 GB/s ! +24\\.00 GB/s +6\\.000 +device more '
	[ "$(verdicts "$SPR_SWITCH" | grep -c agree)" -eq 6 ] || fail 'the other ports'
	# A device that is directly below its port has no peer there.
	changed spr-devices nvme0/read_sectors 'constant: 13e6'
	expect 0 "$UNCORE" --source "$simulation" pcie --ends
	shows $'0000:37:01\\.0 +write .* device more +nvme0\n +peer-to-peer traffic, small packets, or one of them is wrong'
}

@test "pcie --ends: the port moves more, by other devices below it or by what the device does not count" {
	changed spr-devices nvme0/write_sectors 'constant: 2e6'
	expect 0 "$UNCORE" --source "$simulation" pcie --ends
	shows $'0000:37:01\\.0 +read +2\\.060 GB/s ! +1\\.024 GB/s +0\\.497 +port more +nvme0\n +descriptors, traffic that the device does not count, or one of them is wrong'
	grep -v 'pmu: nvidia_gpu_[12]' "$BATS_FILE_TMPDIR/spr-switch.yaml" >"$BATS_FILE_TMPDIR/no-gpu.yaml"
	expect 0 "$UNCORE" --source "sim:$BATS_FILE_TMPDIR/no-gpu.yaml,step=1s" pcie --ends
	shows $'0000:48:01\\.0 +read .* port more +ens2np0\n +other devices below it: card1 renderD129, card2 renderD130\n'
	grep -v 'pmu: nvidia_gpu' "$BATS_FILE_TMPDIR/zen4-devices.yaml" >"$BATS_FILE_TMPDIR/no-gpu4.yaml"
	expect 0 "$UNCORE" --source "sim:$BATS_FILE_TMPDIR/no-gpu4.yaml,step=1s" pcie --ends
	shows $'amd_df +read .* port more .*\n +other devices of the socket: card0 renderD128, card1 renderD129\n'
}

@test "pcie --ends: without the value of one end there is no verdict, unless the rest is too much" {
	changed spr-devices nvme0/read_sectors 'constant: 1, refuse: EIO'
	expect 0 "$UNCORE" --source "$simulation" pcie --ends
	shows $'0000:37:01\\.0 +write +6\\.170 GB/s ! +- +- +cannot tell +nvme0\n +no value of nvme0\n' \
		$'0000:37:01\\.0 +read .* agree +nvme0\n'
	changed spr-devices 'uncore_iio_4/event=0x83,umask=0x01,ch_mask=0x01,fc_mask=0x07' 'constant: 1, refuse: EIO'
	expect 0 "$UNCORE" --source "$simulation" pcie --ends
	shows $'0000:37:01\\.0 +write +- +6\\.144 GB/s +- +cannot tell +nvme0\n +the port has no value\n'
	changed spr-switch ens2np0/received_bytes 'constant: 1, refuse: EIO'
	expect 0 "$UNCORE" --source "$simulation" pcie --ends
	shows $'0000:48:01\\.0 +write +4\\.000 GB/s ! +20\\.00 GB/s ! +5\\.000 +device more +nvidia_gpu_1, nvidia_gpu_2, ens2np0\n'
}

@test "pcie --ends: of a RoCE card the kernel's traffic and RDMA's are between the largest and their sum" {
	expect 0 "$UNCORE" --source "$SPR_ROCE" pcie --ends
	shows $'\n0000:15:01\\.0 +read +8\\.060 GB/s ! +6\\.500 GB/s to 8\\.000 GB/s +0\\.806 to 0\\.993 +agree +mlx5_0_port_1 \\(infiniband\\), ens1np0 \\(network\\)\n' \
		$'\n0000:15:01\\.0 +write +12\\.09 GB/s ! +10\\.00 GB/s to 12\\.04 GB/s +0\\.827 to 0\\.996 +agree ' \
		$'\n0000:26:01\\.0 +read +40\\.00 GB/s ! +40\\.00 GB/s +1\\.000 +agree +nvidia_gpu_0\n' 'A to B: the largest count'
	expect 0 "$UNCORE" --source "$SPR_ROCE" pcie --ends -j
	helper check-schema <<<"$output"
	[ "$(jq -c 'select(.verdict and .port == "0000:15:01.0") | [.name[13:17], .verdict, .devices_value, .devices_low, .devices_high, .devices]' <<<"$output")" = \
		$'["read","agree",6500000000,6500000000,8000000000,"mlx5_0_port_1 (infiniband), ens1np0 (network)"]\n["writ","agree",10000000000,10000000000,12040000000,"mlx5_0_port_1 (infiniband), ens1np0 (network)"]' ] ||
		fail "$(jq -c 'select(.verdict)' <<<"$output")"
	expect 0 "$UNCORE" --source "$SPR_ROCE" pcie --ends --csv
	helper check-rows csv simulated <<<"$output"
	# Neither is in the sum, or in the largest.
	changed spr-roce ens1np0/received_bytes 'constant: 1e9'
	expect 0 "$UNCORE" --source "$simulation" pcie --ends
	shows $'0000:15:01\\.0 +write +12\\.09 GB/s ! +10\\.00 GB/s to 11\\.00 GB/s +0\\.827 to 0\\.910 +port more '
	changed spr-roce mlx5_0_port_1/received_words 'constant: 4e9'
	expect 0 "$UNCORE" --source "$simulation" pcie --ends
	shows $'0000:15:01\\.0 +write +12\\.09 GB/s ! +16\\.00 GB/s to 18\\.04 GB/s .* device more '
	changed spr-roce mlx5_0_port_1/received_words 'constant: 1, refuse: EIO'
	expect 0 "$UNCORE" --source "$simulation" pcie --ends
	shows $'0000:15:01\\.0 +write +12\\.09 GB/s ! +2\\.040 GB/s ! +0\\.169 +cannot tell .*\n +no value of mlx5_0_port_1\n'
}

# The port of an adapter has all bytes, and its interface a part of them (IPoIB).
@test "pcie --ends: a device that two families count is between the larger of them and the sum" {
	local tree=$BATS_TEST_TMPDIR/ib

	unpack "$BATS_FILE_TMPDIR/spr-devices.txt" "$tree"
	mkdir -p "$tree/sys/class/infiniband/mlx5_0/ports/1/counters"
	echo 5 >"$tree/sys/class/infiniband/mlx5_0/ports/1/counters/port_xmit_data"
	ln -s ../../../devices/pci0000:15/0000:15:01.0/0000:16:00.0 "$tree/sys/class/infiniband/mlx5_0/device"
	{
		sed "s|^machine:.*|machine: $tree|" "$BATS_FILE_TMPDIR/spr-devices.yaml"
		printf '  - {pmu: mlx5_0_port_1, event: %s_words, constant: %s}\n' received 3.01e9 transmitted 1e9
	} >"$BATS_TEST_TMPDIR/ib.yaml"
	expect 0 "$UNCORE" --source "sim:$BATS_TEST_TMPDIR/ib.yaml,step=1s" pcie --ends
	shows $'0000:15:01\\.0 +write +12\\.09 GB/s ! +12\\.04 GB/s to 24\\.04 GB/s +0\\.996 to 1\\.988 +agree +mlx5_0_port_1' \
		$'0000:15:01\\.0 +read +8\\.060 GB/s ! +8\\.000 GB/s to 12\\.00 GB/s +0\\.993 to 1\\.489 +agree +mlx5_0_port_1'
}

# ends_of JSON: of each row with a verdict, what --ends adds, with the sums in GB/s.
ends_of() {
	jq -r 'select(.verdict) | "\(.port // .pmu) \(.name | split(".")[2]) \(.verdict) \(.ratio) \(.port_value / 1e9) \(.devices_value / 1e9) \(.devices) \(.verdict_reason)"' <<<"$1"
}

@test "pcie --ends: JSON and CSV have the verdict in the rows of ports" {
	expect 0 "$UNCORE" --source "$SPR_SWITCH" pcie --ends -j
	helper check-schema <<<"$output"
	[ "$(ends_of "$output" | grep 0000:48)" = '0000:48:01.0 read device more 4.33333333333333 6 26 nvidia_gpu_1, nvidia_gpu_2, ens2np0 peer-to-peer traffic below the switch
0000:48:01.0 write device more 6 4 24 nvidia_gpu_1, nvidia_gpu_2, ens2np0 peer-to-peer traffic below the switch' ] ||
		fail "$(ends_of "$output")"
	# The other rows have the fields, too, and null in them: those of devices, and of ports without one.
	[ "$(jq -r 'select(.verdict == null) | [.ratio, .port_value, .devices_value, .devices_low, .devices_high, .devices, .verdict_reason] | @json' \
		<<<"$output" | sort -u)" = '[null,null,null,null,null,null,null]' ] || fail 'rows without a verdict'
	expect 0 "$UNCORE" --source "$SPR_DEVICES" pcie --ends -j 1s 2
	[ "$(ends_of "$output" | grep -c ' agree ')" -eq 16 ] || fail "$(ends_of "$output")"
	[ "$(ends_of "$output" | grep ' idle ' | sort -u)" = '0000:37:03.0 read idle null 0 0 nvme1 null
0000:37:03.0 write idle null 0 0 nvme1 null' ] || fail "$(ends_of "$output")"
	expect 0 "$UNCORE" --source "$SPR_SWITCH" pcie --ends --csv
	helper check-rows csv simulated <<<"$output"
	shows ',device,names,level,verdict,ratio,port_value,devices_value,devices_low,devices_high,devices,verdict_reason'$'\n' \
		',0000:48:01\.0,.*,device more,4\.33333333333333,6000000000,26000000000,26000000000,26000000000,"nvidia_gpu_1, nvidia_gpu_2, ens2np0",peer-to-peer traffic below the switch'$'\n'
	changed spr-devices nvme0/read_sectors 'constant: 1, refuse: EIO'
	expect 0 "$UNCORE" --source "$simulation" pcie --ends -j
	helper check-schema <<<"$output"
	[ "$(jq -c 'select(.port == "0000:37:01.0" and (.name | contains("write"))) | [.verdict, .ratio, .devices_value, .verdict_reason]' \
		<<<"$output")" = '["cannot tell",null,null,"no value of nvme0"]' ] || fail 'a device without a value'
	expect 0 "$UNCORE" --source "$SPR_DEVICES" pcie -j
	[[ ! $output =~ verdict ]] || fail 'a verdict without --ends'
}

@test "link: what a GPU counts of NVLink-C2C is beside what CPUs count, and --ends compares the bytes" {
	expect 0 "$UNCORE" --source "$GRACE_DEVICES" link
	shows $'\nGPU or another socket +256\\.5 GB/s\n' $'\nnvidia_gpu_0 +171\\.0 GB/s +85\\.50 GB/s '
	expect 0 "$UNCORE" --source "$GRACE_DEVICES" link --ends
	shows $'\nsocket 0 +read +171\\.0 GB/s +171\\.0 GB/s +1\\.000 +agree +nvidia_gpu_0\n' \
		$'\nsocket 0 +write +85\\.50 GB/s +85\\.50 GB/s +1\\.000 +agree +nvidia_gpu_0\n' \
		'also count what CPUs read and write in them'
	expect 0 "$UNCORE" --source "$GRACE_DEVICES" link --ends -j
	helper check-schema <<<"$output"
	[ "$(jq -r 'select(.verdict) | "\(.pmu) \(.name) \(.verdict) \(.ratio) \(.port_value == .devices_value)"' <<<"$output")" = \
		'nvidia_nvlink_c2c0_pmu_0 link.in.read.bandwidth agree 1 true
nvidia_nvlink_c2c0_pmu_0 link.in.write.bandwidth agree 1 true' ] || fail 'the sum of both PMUs of the link'
	sed 's/mean: 129.28e9/mean: 149.28e9/; s/mean: 64.64e9/mean: 54.64e9/' "$BATS_FILE_TMPDIR/grace-devices.yaml" \
		>"$BATS_FILE_TMPDIR/grace-other.yaml"
	expect 0 "$UNCORE" --source "sim:$BATS_FILE_TMPDIR/grace-other.yaml,step=1s" link --ends
	shows $'\nsocket 0 +read .* device more +nvidia_gpu_0\n +CPUs access the device' $'\nsocket 0 +write .* port more '
	# The sum has the worst quality of both PMUs.
	sed 's/{pmu: nvidia_nvlink_c2c1_pmu, event: rd_bytes_loc/&, running: 0.5/' "$BATS_FILE_TMPDIR/grace-devices.yaml" >"$BATS_FILE_TMPDIR/grace-other.yaml"
	expect 0 "$UNCORE" --source "sim:$BATS_FILE_TMPDIR/grace-other.yaml,step=1s" link --ends
	shows $'\nsocket 0 +read +171\\.0 GB/s ~ .*\nsocket 0 +write +85\\.50 GB/s  '
	# The PMU of Tegra410's link counts requests, whose size is unknown.
	expect 0 "$UNCORE" --source "$T410_DEVICES" link
	shows $'\nReads on links .*\nGPU +[0-9.]+ G/s ' $'\nGPU.s end of C2C links .* 96\\.00 GB/s'
	expect 0 "$UNCORE" --source "$T410_DEVICES" link --ends
	shows 'whose bytes are counted: there is nothing to compare'
}

@test "pcie --all: all metrics of devices, those without a column below the table" {
	expect 0 "$UNCORE" --source "$SPR_DEVICES" pcie --all
	shows $'\n  nvidia_gpu_0 +40\\.00 GB/s +20\\.00 GB/s ' 'device.memory.bandwidth +nvidia_gpu_0 +1\.200 +TB/s' \
		'storage.read.requests +nvme0 ' 'network.received.packets +ens1np0 ' \
		'pcie.inbound.write.llc.miss.ratio +uncore_cha_0 '
}

@test "pcie by socket: what devices count has a line of its own, and is not in the sum" {
	expect 0 "$UNCORE" --source "$ZEN4_DEVICES" pcie --per-socket
	shows $'\nsocket 0 +43\\.46 GB/s +31\\.19 GB/s' $'\nsocket 0, devices +36\\.00 GB/s +18\\.00 GB/s' \
		$'\nsum +43\\.46 GB/s +31\\.19 GB/s' 'it is not in the sum'
	# Devices at rest have no name there.
	sed -E 's/(constant|mean|amplitude): [0-9.e]+/\1: 0/g' "$BATS_FILE_TMPDIR/zen4-devices.yaml" >"$BATS_FILE_TMPDIR/rest.yaml"
	expect 0 "$UNCORE" --source "sim:$BATS_FILE_TMPDIR/rest.yaml,step=1s" pcie --per-socket
	shows 'socket 0, devices'
}

@test "the ceiling of a device that is alone below a switch, as on a card, is the slowest link up to the root port" {
	local tree=$BATS_TEST_TMPDIR/tree port end

	unpack "$BATS_FILE_TMPDIR/spr-switch.txt" "$tree"
	port=$tree/sys/devices/pci0000:48/0000:48:01.0
	end=$port/0000:49:00.0/0000:4a:00.0
	rm -r "$port/0000:49:00.0"/0000:4a:0[12].0 "$tree"/sys/bus/pci/devices/0000:4a:0[12].0 \
		"$tree"/sys/bus/pci/devices/0000:4[cd]:00.0 "$tree/sys/class/net/ens2np0" "$tree/sys/class/drm/card2"
	sed -e "s|^machine:.*|machine: $tree|" -e '/nvidia_gpu_2,\|ens2np0/d' "$BATS_FILE_TMPDIR/spr-switch.yaml" >"$BATS_TEST_TMPDIR/alone.yaml"
	[ "$(ceiling_alone)" = 63 ] || fail '32 GT/s x16'
	echo 8 | tee "$port/max_link_width" "$port/0000:49:00.0/max_link_width" >/dev/null
	[ "$(ceiling_alone)" = 31.5 ] || fail 'the root port has eight lanes'
	# What the functions of some cards say of the link to the switch on them.
	echo 1 | tee "$end/max_link_width" "$end/0000:4b:00.0/max_link_width" >/dev/null
	echo '2.5 GT/s PCIe' | tee "$end/max_link_speed" "$end/0000:4b:00.0/max_link_speed" >/dev/null
	[ "$(ceiling_alone)" = 31.5 ] || fail 'the link within the card'
}

@test "the ceiling of a device below a switch is its own link, and a busy port of unknown width is not idle" {
	# The root port and the switch above have an eighth of the GPUs' links.
	sed -E '/0000:48:01\.0(\/0000:49:00\.0)?\/[a-z_]+_link_speed/s/32\.0/4.0/' "$BATS_FILE_TMPDIR/spr-switch.txt" >"$BATS_FILE_TMPDIR/narrow.txt"
	sed 's/spr-switch\.txt/narrow.txt/' "$BATS_FILE_TMPDIR/spr-switch.yaml" >"$BATS_FILE_TMPDIR/narrow.yaml"
	expect 0 "$UNCORE" --source "sim:$BATS_FILE_TMPDIR/narrow.yaml,step=1s" pcie -j
	[ "$(jq -c 'select(.pmu == "nvidia_gpu_1" and (.name | contains("inbound.read"))) | [.value, (.ceiling / 1e9 | round), .quality]' \
		<<<"$output")" = '[12000000000,63,"measured"]' ] || fail 'the ceiling'
	grep -vE '0000:26:01\.0(\/0000:27:00\.0)?\/[a-z_]+_link_(speed|width)' "$BATS_FILE_TMPDIR/spr-devices.txt" >"$BATS_FILE_TMPDIR/unknown.txt"
	sed 's/spr-devices\.txt/unknown.txt/' "$BATS_FILE_TMPDIR/spr-devices.yaml" >"$BATS_FILE_TMPDIR/unknown.yaml"
	expect 0 "$UNCORE" --source "sim:$BATS_FILE_TMPDIR/unknown.yaml,step=1s" record -o "$BATS_TEST_TMPDIR/unknown.uncore" -I 1s --interval-count 1
	expect 0 "$UNCORE" report "$BATS_TEST_TMPDIR/unknown.uncore"
	shows 'card0 +TO DEVICE +40\.00 GB/s'
}

@test "JSON and CSV: rows of devices have their PCI function, those of ports the port" {
	local command

	for command in pcie 'pcie --ends'; do
		# shellcheck disable=SC2086 # words
		expect 0 "$UNCORE" --source "$SPR_DEVICES" $command -j
		helper check-rows json simulated <<<"$output"
		helper check-schema <<<"$output"
		[ "$(jq -r 'select(.pmu == "nvme0" and .name == "storage.read.bandwidth") |
			"\(.device) \(.port) \(.value) \(.socket)"' <<<"$output")" = '0000:38:00.0 null 6144000000 0' ] ||
			fail 'the row of a disk'
		[ "$(jq -r 'select(.port == "0000:37:01.0" and .name == "pcie.inbound.write.bandwidth") |
			"\(.device) \(.value)"' <<<"$output")" = 'null 6170000000' ] || fail 'the row of its port'
		[ "$(jq -r 'select(.device) | .device' <<<"$output" | sort -u | paste -s -d ' ')" = \
			'0000:16:00.0 0000:27:00.0 0000:38:00.0 0000:39:00.0 0000:49:00.0' ] || fail 'the devices'
		# shellcheck disable=SC2086 # words
		expect 0 "$UNCORE" --source "$SPR_DEVICES" $command --csv
		helper check-rows csv simulated <<<"$output"
		grep -q ',nvidia_gpu_0,.*,0000:27:00\.0,card0 renderD128\(,\|$\)' <<<"$output" || fail 'CSV'
	done
}

@test "--device and --port select a device with its port" {
	local filter

	for filter in '--device nvme0' '--device 0000:38:00.0' '--port 0000:37:01.0'; do
		# shellcheck disable=SC2086 # words
		expect 0 "$UNCORE" --source "$SPR_DEVICES" pcie $filter
		shows $'\n0000:37:01\\.0 .*\n.*\n  nvme0 +2\\.048 GB/s +6\\.144 GB/s'
		[[ ! $output =~ nvidia_gpu|ens1np0|nvme1 ]] || fail "$filter: other devices"
		# shellcheck disable=SC2086 # words
		expect 0 "$UNCORE" --source "$SPR_DEVICES" pcie --ends $filter
		[ "$(grep -c '^0000' <<<"$output")" -eq 2 ] || fail "$filter: two lines"
		shows 'read .* agree +nvme0' 'write .* agree +nvme0'
	done
}

@test "topo and list: devices count themselves under a name, without type and CPUs" {
	expect 0 "$UNCORE" --source "$SPR_DEVICES" topo
	shows '0000:38:00\.0 nvme0 .*\(nvme\); counts itself: nvme0' '0000:16:00\.0 .*; counts itself: ens1np0' \
		'0000:27:00\.0 .*counts itself: nvidia_gpu_0'
	expect 0 "$UNCORE" --source "$SPR_DEVICES" topo -j
	helper check-schema <<<"$output"
	[ "$(jq -c '.devices[] | select(.pmus != []) | [.address, .pmus]' <<<"$output" | paste -s -d ' ')" = \
		'["0000:16:00.0",["ens1np0"]] ["0000:27:00.0",["nvidia_gpu_0"]] ["0000:38:00.0",["nvme0"]] ["0000:39:00.0",["nvme1"]] ["0000:49:00.0",["nvidia_gpu_1"]]' ] ||
		fail 'the names'
	expect 0 "$UNCORE" --source "$SPR_DEVICES" list
	shows $'\nnvme0 +1 +- +- +nvme' $'\nnvidia_gpu_\\{0,1\\} +2 +- +- +nvidia-gpu' \
		$'\nnvme0/read_sectors/ +nvme +nvme\\*n\\*/stat, column 3' \
		$'\nnvidia_gpu/power/ +nvidia-gpu +NVML field 186'
	expect 0 "$UNCORE" --source "$SPR_DEVICES" list -j
	helper check-schema <<<"$output"
	[ "$(jq -c '.pmus[] | select(.name == "nvme0") | [.type, .cpus, .events[0].where]' <<<"$output")" = \
		'[null,[],"nvme*n*/stat, column 3"]' ] || fail 'JSON'
}

@test "GPUs are numbered by their addresses, which are hexadecimal" {
	expect 0 "$UNCORE" --source "$SPR_SWITCH" topo -j
	[ "$(jq -r '.devices[] | select(.pmus[0] // "" | startswith("nvidia")) | "\(.address) \(.pmus[0])"' <<<"$output" |
		paste -s -d ' ')" = '0000:27:00.0 nvidia_gpu_0 0000:4b:00.0 nvidia_gpu_1 0000:4c:00.0 nvidia_gpu_2' ] ||
		fail 'the numbers'
}

@test "matrix: a GPU is a source and a target by its name" {
	expect 0 "$UNCORE" --source "$T410_DEVICES" matrix
	shows $'\nREADS +to memory +to gpu +to cxl +to remote\n' $'\nfrom cpu +240\\.. GB/s ' $'\nFROM +TO +READS +WRITES\n' \
		$'\nnvidia_gpu_0 +pcie +0 B/s +0 B/s\n' $'\nnvidia_gpu_0 +c2c +96\\.00 GB/s +48\\.00 GB/s\nc2c +nvidia_gpu_0 +<= 48\\.00 GB/s +<= 96\\.00 GB/s\n' \
		'who asked for them' 'it is memory or several devices, which are not counted'
	expect 0 "$UNCORE" --source "$SPR_SWITCH" matrix
	shows $'\nREADS +to memory +to remote\n' $'\nnvidia_gpu_0 +pcie +16\\.00 GB/s +4\\.000 GB/s\npcie +nvidia_gpu_0 +<= 4\\.000 GB/s +<= 16\\.00 GB/s\n' \
		$'\nnvidia_gpu_1 +pcie +12\\.00 GB/s +10\\.00 GB/s\n'
	[[ ! $output =~ nvlink|c2c ]] || fail 'links that these GPUs do not have'
	expect 0 "$UNCORE" --source "$SPR_SWITCH" matrix -j
	helper check-schema <<<"$output"
	[ "$(jq -r 'select(.device and (.name | contains("read"))) | "\(.pmu) \(.value)"' <<<"$output" | paste -s -d ' ')" = \
		'nvidia_gpu_0 16000000000 nvidia_gpu_1 12000000000 nvidia_gpu_2 12000000000' ] || fail 'JSON'
	expect 0 "$UNCORE" --source "$SPR_SWITCH" matrix --per-socket
	shows $'\nSocket 0\n' $'\ngpu +pcie +40\\.00 GB/s +24\\.00 GB/s\n' $'\npcie +gpu +<= 24\\.00 GB/s +<= 40\\.00 GB/s\n'
	# Two links, of which each counts 3 GB/s, are one line.
	{
		cat "$BATS_FILE_TMPDIR/spr-switch.yaml"
		printf '  - {pmu: nvidia_gpu_1, event: "nvlink_%s,links=0x%u", constant: 3e9}\n' in 1 in 2 out 1
	} >"$BATS_FILE_TMPDIR/linked.yaml"
	expect 0 "$UNCORE" --source "sim:$BATS_FILE_TMPDIR/linked.yaml,step=1s" matrix
	shows $'\nnvidia_gpu_1 +nvlink +6\\.000 GB/s +3\\.000 GB/s\n' $'\nnvlink +nvidia_gpu_1 +<= 3\\.000 GB/s +<= 6\\.000 GB/s\n'
}

@test "--device takes the names by which devices count themselves, in all commands" {
	local command

	for command in pcie 'stat -M device.*' 'record -o '"$BATS_TEST_TMPDIR/x.uncore"' -M device.*' top; do
		# shellcheck disable=SC2086 # words
		expect 0 "$UNCORE" --source "$SPR_DEVICES" $command --device nvidia_gpu_1 -I 1s --interval-count 1
	done
	expect 0 "$UNCORE" --source "$SPR_DEVICES" pcie --device nvidia_gpu_1
	shows $'\n  nvidia_gpu_1 +24\\.00 GB/s +10\\.00 GB/s'
	[[ ! $output =~ nvidia_gpu_0 ]] || fail 'another device'
	expect 0 "$UNCORE" --source "$SPR_DEVICES" pcie nvidia_gpu_1
	shows $'\n  nvidia_gpu_1 +24'
	expect 0 "$UNCORE" --source "$SPR_DEVICES" pcie --device 'nvidia_gpu_*'
	shows $'\n  nvidia_gpu_0 ' $'\n  nvidia_gpu_1 '
	expect 0 "$UNCORE" --source "sim:$BATS_FILE_TMPDIR/intel-gpus.yaml,step=1s" pcie -j --device i915_0000_49_00.0
	[ "$(jq -r 'select(.device) | .pmu' <<<"$output" | sort -u)" = i915_0000_49_00.0 ] || fail 'a PMU of the kernel'
	refuses 2 "$UNCORE" --source "$SPR_DEVICES" pcie --device nvidia_gpu_9
	says "there is no PCI device 'nvidia_gpu_9'.*; devices that count themselves: ens1np0, nvidia_gpu_0, nvidia_gpu_1, nvme0, nvme1"
	refuses 3 "$UNCORE" --source "$SPR_DEVICES" pcie --device 'amd_gpu_*'
	says "no PCI device 'amd_gpu_\*'.*; devices that count themselves: ens1np0, "
}

@test "--device: a device without a PCI function has the name of its PMU" {
	local tree=$BATS_TEST_TMPDIR/vm

	mkdir -p "$tree/sys/devices/virtual-bus/virtio0/block/vdz" "$tree/sys/class/block" "$tree/sys/block" "$tree/sys/devices/system/cpu/cpu0/topology"
	echo 0 | tee "$tree/sys/devices/system/cpu/online" "$tree/sys/devices/system/cpu/cpu0/topology/"{core_id,physical_package_id} >/dev/null
	for name in vdy vdz; do
		mkdir -p "$tree/sys/devices/virtual-bus/$name/block/$name"
		echo '1000 0 8000 10 1000 0 8000 10 0 10 20' >"$tree/sys/devices/virtual-bus/$name/block/$name/stat"
		ln -s ../.. "$tree/sys/devices/virtual-bus/$name/block/$name/device"
		ln -s "../devices/virtual-bus/$name/block/$name" "$tree/sys/block/$name"
		ln -s "../../devices/virtual-bus/$name/block/$name" "$tree/sys/class/block/$name"
	done
	expect 0 "$UNCORE" --root "$tree" --source files list pmus
	shows $'\nvd' || skip 'no disk in this tree'
	expect 0 "$UNCORE" --root "$tree" --source files stat -j --no-merge --device vdz -M storage.read.bandwidth -I 20ms --interval-count 1
	[ "$(jq -r 'select(.pmu) | .pmu' <<<"$output")" = vdz ] || fail 'the disk'
}

@test "a GPU that uses NVLink-C2C or NVLink alone is not idle" {
	expect 0 "$UNCORE" --source "$GRACE_DEVICES"
	shows $'\nGPU.s end of C2C links +IN +OUT\nnvidia_gpu_0 +171\\.0 GB/s +85\\.50 GB/s '
	[[ ! $output =~ idle:[^$'\n']*nvidia_gpu ]] || fail 'idle'
	shows $'\n  1 without traffic here: nvidia_gpu_0\n'
	sed -E 's/(nvidia_gpu_0, event: )(rx_bytes|tx_bytes|memory_bytes), constant: [^}]*/\1\2, constant: 0/; s/(nvidia_gpu_0, event: nvlink_(in|out)), constant: [^}]*/\1, constant: 5e9/' \
		"$BATS_FILE_TMPDIR/spr-devices.yaml" >"$BATS_FILE_TMPDIR/nvlink.yaml"
	expect 0 "$UNCORE" --source "sim:$BATS_FILE_TMPDIR/nvlink.yaml,step=1s"
	shows $'\nLinks of GPUs +IN +OUT\nnvidia_gpu_0 +5\\.000 GB/s +5\\.000 GB/s '
	[[ ! $output =~ idle:[^$'\n']*nvidia_gpu_0 ]] || fail 'idle'
	[[ ! $output =~ C2C ]] || fail 'links that these GPUs do not have'
	expect 0 "$UNCORE" --source "$GRACE_DEVICES" top 1s 1
	shows 'device.c2c.in.bandwidth +all +171\.0 +GB/s'
}

@test "pcie: each family of GPUs of Intel has its line below the port" {
	expect 0 "$UNCORE" --source "sim:$BATS_FILE_TMPDIR/intel-gpus.yaml,step=1s" pcie
	shows ' COPY UTILIZATION +RECEIVED +TRANSMITTED ' $'\n0000:48:03\\.0 [^\n]*\n[^\n]*\n  intel_gpu_0 [^\n]* 8\\.000 GB/s +2\\.000 GB/s +25\\.39 %\n  xe_0000_4a_00\\.0 [^\n]* 10\\.00 % ' \
		$'\n0000:48:02\\.0 [^\n]*\n[^\n]*\n  i915_0000_49_00\\.0 ' $'\n  i915 '
	# Families that count payload do not have the bytes with headers beside it.
	expect 0 "$UNCORE" --source "$SPR_DEVICES" pcie
	[[ ! $output =~ RECEIVED ]] || fail 'two counts of one traffic'
}

@test "html: devices have charts with their names, and are named in the tree of the machine" {
	command -v node >/dev/null || skip 'there is no node here'
	expect 0 "$UNCORE" --source "$SPR_DEVICES" pcie --html -o "$BATS_TEST_TMPDIR/page.html" 1s 2
	node "$BATS_TEST_DIRNAME/draw-page.js" "$BATS_TEST_TMPDIR/page.html" >"$BATS_TEST_TMPDIR/drawn.html"
	output=$(sed 's/<[^>]*>//g' "$BATS_TEST_TMPDIR/drawn.html")
	shows 'nvidia_gpu_0: *40\.00 GB/s; nvidia_gpu_1: *24\.00 GB/s' 'nvme0: *6\.144 GB/s; nvme1: *0 B/s' \
		'0000:27:00\.0 card0 renderD128 [^;]*nvidia, 32 GT/s x16, 63\.02 GB/s, counts itself: nvidia_gpu_0'
}

@test "explain says where a device has its counts, and nothing of perf and cpumasks" {
	expect 0 "$UNCORE" --source "$SPR_DEVICES" explain nvme/storage.read.bandwidth
	shows 'nvme0/read_sectors/ is in /sys/class/nvme/nvme0: nvme\*n\*/stat, column 3; 2 devices' \
		'Each device counts itself, and no PMU of the kernel is read'
	[[ ! $output =~ perf\ |cpumask ]] || fail 'perf or cpumasks'
	expect 0 "$UNCORE" --source "$SPR_DEVICES" explain nvidia-gpu/device.power
	shows 'nvidia_gpu_0/power/ is NVML field 186'
	# The exact way comes first.
	expect 0 "$UNCORE" --source "$SPR_DEVICES" explain nvidia-gpu/device.pcie.inbound.read.bandwidth
	shows $'nvidia_gpu_0/rx_bytes/ is NVML field 198; without it, and in serve and top,[ \n]+NVML metric[ \n]+21 of GPM' \
		'nvidia_gpu_0/packet_bytes/ is Max_Payload_Size in'
	expect 0 "$UNCORE" --root "$SPR" explain nvme/storage.read.bandwidth
	shows 'missing +NVMe controllers: this machine has none that count'
	[[ ! $output =~ cpumask ]] || fail 'cpumasks'
	expect 0 "$UNCORE" --source "$SPR_DEVICES" explain nvme0/reads/
	shows 'where +nvme\*n\*/stat, column 1'
	[[ ! $output =~ perf\ stat|terms ]] || fail 'what perf cannot count'
	expect 0 "$UNCORE" --source "$SPR_DEVICES" explain nvme/storage.read.bandwidth -j
	helper check-schema <<<"$output"
	[ "$(jq -c '.metrics[0] | [.perf, .events[0].where]' <<<"$output")" = '[null,"nvme*n*/stat, column 3"]' ] || fail JSON
}

@test "doctor: a GPU without its vendor's driver is a note with the fix" {
	local machine=$BATS_TEST_TMPDIR/machine.txt

	expect 0 "$UNCORE" --root "$BATS_FILE_TMPDIR/spr-devices.txt" doctor
	shows $'\nok +nvidia-gpu: GPUs of NVIDIA: 2 devices, ' $'\nok +nvme: NVMe controllers: 2 devices, '
	sed 's/DRIVER=nvidia$/DRIVER=vfio-pci/' "$BATS_FILE_TMPDIR/spr-devices.txt" >"$machine"
	expect 0 "$UNCORE" --root "$machine" doctor
	shows $'\nnote +nvidia-gpu: GPUs of NVIDIA: 2 devices are not counted, such as 0000:27:00\\.0\n +its driver is vfio-pci, and it counts with nvidia only\n'
	expect 0 "$UNCORE" --root "$machine" topo
	[[ ! $output =~ nvidia_gpu ]] || fail 'a GPU of a guest counts itself'
	sed '/DRIVER=nvidia$/d' "$BATS_FILE_TMPDIR/spr-devices.txt" >"$machine"
	expect 0 "$UNCORE" --root "$machine" doctor
	shows $'such as 0000:27:00\\.0\n +the driver nvidia is not loaded\n +fix: sudo modprobe nvidia'
}

@test "serve: a device has series of its own, with its name and PCI function" {
	cd "$BATS_TEST_TMPDIR" || return
	serve --source "${SPR_DEVICES%,*}" serve --listen 127.0.0.1:0
	# shellcheck disable=SC2154 # set by serve
	output=$(scrape wait "$address" 1 | grep -v '^#')
	stop TERM
	shows 'uncore_storage_read_bytes_total\{family="nvme",socket="0",pmu="nvme0",device="0000:38:00\.0"\} ' \
		'uncore_device_pcie_received_bytes_total\{family="nvidia-gpu",socket="0",pmu="nvidia_gpu_1",device="0000:49:00\.0"\} ' \
		'uncore_memory_read_bytes_total\{family="intel-imc",socket="0"\} '
	[[ ! $output =~ storage_read_bytes_total\{family=.nvme.,socket=.0.\} ]] || fail 'a sum counts the bytes again'
}

@test "record: a recording has the devices of its machine, and compares both ends later" {
	cd "$BATS_TEST_TMPDIR" || return
	expect 0 "$UNCORE" --source "$SPR_DEVICES" record -o a.uncore pcie 1s 3
	expect 0 "$UNCORE" --source replay:a.uncore pcie --ends
	shows $'\n0000:26:01\\.0 +read +40\\.00 GB/s ! +40\\.00 GB/s +1\\.000 +agree +nvidia_gpu_0\n'
	expect 0 "$UNCORE" report a.uncore pcie
	shows $'\n  nvidia_gpu_0 +40\\.00 GB/s +20\\.00 GB/s' $'\n1 idle device: nvme1\n'
	expect 0 "$UNCORE" --source replay:a.uncore topo
	shows '0000:38:00\.0 nvme0 .*; counts itself: nvme0'
}

@test "top: the sums of devices, each device below them, and below its root port" {
	expect 0 "$UNCORE" --source "$SPR_DEVICES" top 1s 1
	shows 'storage.read.bandwidth +all +6\.144 +GB/s' 'device.memory.bandwidth +all +2\.000 +TB/s' \
		'device.pcie.inbound.read.bandwidth +all +64\.00 +GB/s'
}

@test "top: a device is below its root port, with what it counts of this traffic" {
	local tmux=(tmux -u -f /dev/null -S "$BATS_TEST_TMPDIR/socket") count

	command -v tmux >/dev/null || skip 'there is no tmux here'
	# Intervals are an hour: the space bar reads.
	XDG_CONFIG_HOME=/proc/none "${tmux[@]}" new-session -d -x 110 -y 30 "$UNCORE --source ${SPR_DEVICES@Q} top 3600s" 3>&-
	for ((count = 0; count < 300; count++)); do
		output=$("${tmux[@]}" capture-pane -p)
		[[ $output != *' 2.048 GB/s'* ]] || break
		[[ $output != *'Waiting'* ]] || "${tmux[@]}" send-keys Space 7 / 'nvme0: ' Enter
		sleep 0.2
	done
	"${tmux[@]}" send-keys q
	sleep 0.2
	"${tmux[@]}" kill-server || true
	shows 'pcie\.inbound\.read\.bandwidth .*uncore_iio_4 +2\.060 GB/s .*nvme0: 0000:38:00\.0 nvme0 .* +2\.048 GB/s +13\.0 %'
}

@test "Intel GPUs: what the PMUs of i915 and xe count belongs to the device of its other counters" {
	local sim=sim:$BATS_FILE_TMPDIR/intel-gpus.yaml,step=1s machine=$BATS_FILE_TMPDIR/intel-gpus.txt pmus

	expect 0 "$UNCORE" --source "$sim" stat -j --no-merge -M 'device.*' -I 1s --interval-count 1
	[ "$(jq -r 'select(.pmu == "i915" and .value != 0) | "\(.name[7:]) \(.value)"' <<<"$output")" = 'engine.render.utilization 0.25
clock.frequency 600000000
clock.requested.frequency 700000000
sleep.ratio 0.5
interrupts 100' ]
	[ "$(jq -r 'select(.pmu == "i915_0000_49_00.0" and .value != 0) | "\(.name[7:]) \(.value)"' <<<"$output" | head -5)" = 'engine.render.utilization 0.75
engine.compute.utilization 0.4
engine.copy.utilization 0.1
engine.video.utilization 0.2
engine.video1.utilization 0.3' ]
	[ "$(jq -r 'select(.pmu == "xe_0000_4a_00.0") | "\(.name[7:]) \(.value)"' <<<"$output")" = 'engine.render.utilization 0.25
engine.compute.utilization 0.5
engine.copy.utilization 0.1
engine.video.utilization 0.75
engine.video1.utilization 0.1
engine.enhance.utilization 0
sleep.ratio 0.2
sleep.media.ratio 0.9' ]
	# Engines that the driver refuses have no rows, and no other words than one note.
	[ "$(grep -c 'left out: parts that xe_0000_4a_00.0 does not have' <<<"$output")" -le 1 ]
	[[ $output != *compute1.*xe_0000* && $output != *ENOENT* ]]
	[ "$(jq -r 'select(.pmu == "intel_gpu_clock_0") | "\(.name[7:]) \(.value)"' <<<"$output")" = 'clock.frequency 2400000000
clock.media.frequency 1200000000' ]
	# Ticks are added up before they are divided; a share of time is that of a mean GPU.
	expect 0 "$UNCORE" --source "$sim" stat -j -M intel-gpu-i915/device.engine.render.utilization -I 1s --interval-count 1
	[ "$(jq 'select(.name) | .value' <<<"$output")" = 0.5 ]

	expect 0 "$UNCORE" --source "$sim" stat -j --no-merge -M 'device.*' --device 0000:4a:00.0 -I 1s --interval-count 1
	pmus=$(jq -r 'select(.name) | .pmu' <<<"$output" | sort -u | tr '\n' ' ')
	[ "$pmus" = 'intel_gpu_0 intel_gpu_clock_0 intel_gpu_energy_0 xe_0000_4a_00.0 ' ] || fail "$pmus"
	[ "$(jq -r 'select(.name) | .device' <<<"$output" | sort -u)" = 0000:4a:00.0 ]
	expect 0 "$UNCORE" --source "$sim" stat -j --no-merge -M 'device.engine.render.*' --port 0000:48:02.0 -I 1s --interval-count 1
	[ "$(jq -r 'select(.name) | .pmu' <<<"$output")" = i915_0000_49_00.0 ]
	expect 0 "$UNCORE" --root "$machine" topo
	shows $'0000:4a:00\\.0 card3 .*\\(xe\\); counts itself: intel_gpu_0,[ \n]+intel_gpu_clock_0,[ \n]+intel_gpu_energy_0,[ \n]+xe_0000_4a_00\\.0\n' \
		$'0000:49:00\\.0 card2 [^\n]*; counts itself: i915_0000_49_00\\.0\n' $'0000:00:02\\.0 card1 [^\n]*; counts itself: i915\n'
}

@test "Intel GPUs: xe's events have the numbers of the kernel, and engines that a GPU does not have are missing" {
	local tree=$BATS_TEST_TMPDIR/tree gt

	unpack "$BATS_FILE_TMPDIR/intel-gpus.txt" "$tree"
	# linux drivers/gpu/drm/xe/xe_pmu.c: GT in bits 63:60, class in 27:20, instance in 19:12, event in 11:0
	expect 0 "$UNCORE" --root "$tree" explain -j 'intel-gpu-xe/device.*'
	[ "$(jq -r '.. | objects | select(.config?) | "\(.name) \(.config[0])"' <<<"$output")" = 'render_active 0x2
render_total 0x3
compute_active 0x400002
compute_total 0x400003
compute1_active 0x401002
compute1_total 0x401003
compute2_active 0x402002
compute2_total 0x402003
compute3_active 0x403002
compute3_total 0x403003
copy_active 0x100002
copy_total 0x100003
copy1_active 0x101002
copy1_total 0x101003
copy2_active 0x102002
copy2_total 0x102003
copy3_active 0x103002
copy3_total 0x103003
copy4_active 0x104002
copy4_total 0x104003
copy5_active 0x105002
copy5_total 0x105003
copy6_active 0x106002
copy6_total 0x106003
copy7_active 0x107002
copy7_total 0x107003
video_active 0x1000000000200002
video_total 0x1000000000200003
video1_active 0x1000000000201002
video1_total 0x1000000000201003
video2_active 0x1000000000202002
video2_total 0x1000000000202003
video3_active 0x1000000000203002
video3_total 0x1000000000203003
video4_active 0x1000000000204002
video4_total 0x1000000000204003
video5_active 0x1000000000205002
video5_total 0x1000000000205003
video6_active 0x1000000000206002
video6_total 0x1000000000206003
video7_active 0x1000000000207002
video7_total 0x1000000000207003
enhance_active 0x1000000000300002
enhance_total 0x1000000000300003
enhance1_active 0x1000000000301002
enhance1_total 0x1000000000301003
enhance2_active 0x1000000000302002
enhance2_total 0x1000000000302003
enhance3_active 0x1000000000303002
enhance3_total 0x1000000000303003
c6 0x1
media_c6 0x1000000000000001' ]
	gt=$(echo "$tree"/sys/devices/pci*/0000:48:03.0/0000:4a:00.0/tile0/gt1)
	rm -r "$gt/engines/vecs"
	expect 0 "$UNCORE" --root "$tree" list metrics -j --all
	[ "$(jq -r '.metrics[] | select(.family == "intel-gpu-xe" and .missing) | .missing' <<<"$output")" = \
		"$(printf "xe_0000_4a_00.0 does not have 'enhance%s_active': its PCI function has no tile0/gt1/engines/vecs\n" '' 1 2 3)" ]
	rm -r "$gt"
	expect 0 "$UNCORE" --root "$tree" list metrics -j --all
	[ "$(jq -r '.metrics[] | select(.family == "intel-gpu-xe" and .missing) | .name' <<<"$output" | tr '\n' ' ')" = \
		"device.engine.video.utilization $(printf 'device.engine.video%s.utilization ' {1..7})device.engine.enhance.utilization $(
			printf 'device.engine.enhance%s.utilization ' {1..3})device.sleep.media.ratio " ]
	# Built-in graphics whose function has another driver, or another place, belongs to no known device.
	rm "$tree/sys/bus/pci/drivers/i915/0000:00:02.0"
	expect 0 "$UNCORE" --root "$tree" topo
	[[ $output != *'counts itself: i915'$'\n'* ]]
}

# shellcheck disable=SC2030,SC2031 # output is that of the latest expect
@test "a default recording has what the views show of devices" {
	[[ $("$UNCORE" --help) == *' record '* ]] || skip 'built without record'
	views_of_recording "$SPR_DEVICES"
	views_of_recording "$ZEN4_DEVICES"
	# The rows of the picture are not among the records, and are in no sum.
	expect 0 "$UNCORE" --source "$SPR_DEVICES" record "$BATS_TEST_TMPDIR/spr.db" -I 1s -n 2
	expect 0 "$UNCORE" report "$BATS_TEST_TMPDIR/spr.db" -j
	[ "$(jq -r 'select(.name) | [.name, .family, .socket, .channel, .port, .pmu, .role] | join(" ")' <<<"$output" | sort | uniq -d)" = '' ] || fail 'twice'
	[ "$(jq -r 'select(.role == "sum" and .name == "pcie.inbound.read.bandwidth") | .mean' <<<"$output")" = 74120000000 ] || fail 'the sum'
}

# bats test_tags=slow
@test "a default recording has what the views show of devices on Arm, too" {
	[[ $("$UNCORE" --help) == *' record '* ]] || skip 'built without record'
	views_of_recording "$T410_DEVICES"
	views_of_recording "$GRACE_DEVICES"
}

@test "uncore alone fits the terminal: the busiest places, and the sum of the others in a line" {
	local size

	command -v tmux >/dev/null || skip 'there is no tmux here'
	cd "$BATS_FILE_TMPDIR" # a long path would take lines
	for size in 100x24 100x30 100x50 200x60; do
		in_terminal "$size" --source sim:t410-devices.yaml,step=1s
		shows $'^CPU +NVIDIA Olympus' $'\nHottest: Devices: socket 0, card0, 60 % of its peak\n' $'\nMemory +READ' $'\nDevices +TO DEVICE'
	done
	# 6.580 + 0.767 + 2.873 + 2.380, and 3.380 + 1.534 + 6.073 + 1.100; sockets are no places of their own.
	in_terminal 100x24 --source sim:t410-devices.yaml,step=1s
	shows $'\n +mlx5_2 +29\\.44 GB/s +27\\.52 GB/s .*\n  4 more +12\\.60 GB/s +12\\.09 GB/s\n' "More in 'uncore top':"
	# All of it when the output is no terminal, and there is room.
	expect 0 "$UNCORE" --source sim:t410-devices.yaml,step=1s
	[ "$(wc -l <<<"$output")" -le 50 ] || fail 'more than 50 lines'
	shows $'\n    enP12p1s0 +2\\.380 GB/s'
	[[ ! $output =~ ' more' ]] || fail 'folded'
}

@test "uncore alone counts for a second, in rounds of equal parts if there are several" {
	expect 0 "$UNCORE" --source "${T410_DEVICES%,*}"
	shows $'\nCounting in 2 rounds of 500\\.0 ms\nCounted for (49|5)[0-9.]+ ms\n'
	expect 0 "$UNCORE" --source "${SPR_DEVICES%,*}"
	shows $'\nCounted for (9[89].* ms|1\\.0.* s)\n'
}

@test "shares of links and of GPU memory are on the first screen" {
	expect 0 "$UNCORE" --source "$SPR_DEVICES"
	shows $'\nLinks .* OF PEAK\nmachine .* 6 %\n  uncore_upi_0 .* 9 %\n' $'\nMemory of GPUs .* OF PEAK\nnvidia_gpu_0 .* 36 %'
	# A round for the share would halve the time of all others.
	[[ ! $output =~ rounds ]] || fail 'rounds'
}

@test "a small terminal: tables have room beside reasons, and a sum without some values is partial" {
	sed 's/{pmu: nvidia_pcie_pmu_0_rc_3, event: \(rd_bytes\|wr_bytes\), /&running: 0, /' "$UNCORE_SOURCE_ROOT/data/sim/t410.yaml" >"$BATS_TEST_TMPDIR/t410.yaml"
	in_terminal 100x24 --source "sim:$BATS_TEST_TMPDIR/t410.yaml,step=1s"
	shows $'\nMemory +READ +WRITE' $'\nmachine +[0-9.]+ GB/s' "More in 'uncore top': .*more reasons" 'is partial:'
	in_terminal 100x36 --source "sim:$BATS_TEST_TMPDIR/t410.yaml,step=1s"
	shows $'\n  [34] more +[0-9.]+ GB/s ! +[0-9.]+ GB/s !'
	# With enough room all reasons are there.
	in_terminal 100x60 --source "sim:$BATS_TEST_TMPDIR/t410.yaml,step=1s"
	shows 'write.bandwidth is unavailable:'
	[[ $output != *'more reasons'* ]] || fail
	in_terminal 40x24 --source "$T410_DEVICES"
	shows $'PMUs    [0-9]+ families in .uncore list.\n' $'\nLinks of GPUs: 1 without traffic here\n'
}

@test "a device that is alone below its port is in an overview once" {
	expect 0 "$UNCORE" --source "$T410_DEVICES"
	local newline=$'\n'

	shows $'\n    card0 +37' 'idle:'
	[[ ! $output =~ idle:[^$newline]*nvidia_gpu_0 ]] || fail 'the idle end of a busy port'
}

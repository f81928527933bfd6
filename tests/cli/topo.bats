#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# `uncore topo`: what hangs together, and which PMU counts it. UPDATE=1 writes the goldens.
# shellcheck disable=SC2030,SC2031 # $output is that of run, and $tree that of the test

load helpers

T410_2=$MACHINES/nvidia-t410-2socket.txt

@test "every machine with PCI devices: text is golden, JSON agrees with the files" {
	local tree count=0 compared=0

	for tree in "$MACHINES"/*.txt; do
		grep -q ^sys/bus/pci/ "$tree" || continue
		tree=$(basename "$tree" .txt)
		expect 0 "$UNCORE" --root "$MACHINES/$tree.txt" topo
		[ -z "$stderr" ] || fail "$tree"
		# A contributed machine comes without one.
		if [ -e "$GOLDEN/topo-$tree.txt" ]; then
			golden "topo-$tree.txt" <<<"$output"
			compared=$((compared + 1))
		fi
		[ "$(wc -L <<<"$output")" -le 100 ] || fail "$tree: a line is too long"
		expect 0 "$UNCORE" --root "$MACHINES/$tree.txt" topo --json
		helper check-topo "$MACHINES/$tree.txt" <<<"$output"
		case $tree in
		arm-neoverse-cmn | nvidia-grace-1socket) sorted_json <<<"$output" | golden "topo-$tree.json" ;;
		esac
		count=$((count + 1))
	done
	[ "$count" -ge 7 ] || fail "only $count machines have PCI devices"
	[ "$compared" -ge 7 ] || fail "only $compared machines were compared with a golden file"
}

# Example output of linux Documentation/admin-guide/perf/nvidia-tegra410-pmu.rst, typed from there:
# 11 root ports on socket 0 and 10 on socket 1.
t410_document() {
	cat <<'END'
0001:00:00.0: Bus=00, Segment=01, RP=00, RC=00, Socket=00
0002:80:00.0: Bus=80, Segment=02, RP=01, RC=01, Socket=00
0002:a0:00.0: Bus=a0, Segment=02, RP=02, RC=01, Socket=00
0002:c0:00.0: Bus=c0, Segment=02, RP=03, RC=01, Socket=00
0002:e0:00.0: Bus=e0, Segment=02, RP=04, RC=01, Socket=00
0003:00:00.0: Bus=00, Segment=03, RP=00, RC=02, Socket=00
0004:00:00.0: Bus=00, Segment=04, RP=00, RC=03, Socket=00
0005:00:00.0: Bus=00, Segment=05, RP=00, RC=04, Socket=00
0005:40:00.0: Bus=40, Segment=05, RP=01, RC=04, Socket=00
0005:c0:00.0: Bus=c0, Segment=05, RP=02, RC=04, Socket=00
0006:00:00.0: Bus=00, Segment=06, RP=00, RC=05, Socket=00
0009:00:00.0: Bus=00, Segment=09, RP=00, RC=00, Socket=01
000a:80:00.0: Bus=80, Segment=0a, RP=01, RC=01, Socket=01
000a:a0:00.0: Bus=a0, Segment=0a, RP=02, RC=01, Socket=01
000a:e0:00.0: Bus=e0, Segment=0a, RP=03, RC=01, Socket=01
000b:00:00.0: Bus=00, Segment=0b, RP=00, RC=02, Socket=01
000c:00:00.0: Bus=00, Segment=0c, RP=00, RC=03, Socket=01
000d:00:00.0: Bus=00, Segment=0d, RP=00, RC=04, Socket=01
000d:40:00.0: Bus=40, Segment=0d, RP=01, RC=04, Socket=01
000d:c0:00.0: Bus=c0, Segment=0d, RP=02, RC=04, Socket=01
000e:00:00.0: Bus=00, Segment=0e, RP=00, RC=05, Socket=01
END
}

t410_ports() {
	jq -r '.root_ports[] | "\(.address) \(.bus) \(.segment) \(.index) \(.root_complex) \(.pmu_socket)"' |
		while read -r address bus segment rp rc socket; do
			printf '%s: Bus=%02x, Segment=%02x, RP=%02x, RC=%02x, Socket=%02x\n' \
				"$address" "$bus" "$segment" "$rp" "$rc" "$socket"
		done
}

@test "Tegra410: the table of the document, with the PMUs of each port" {
	expect 0 "$UNCORE" --root "$T410_2" topo --json
	diff <(t410_document) <(t410_ports <<<"$output")
	jq -e '.root_ports | all(.root_complex as $rc | .pmu_socket as $s |
		.pmus == ["nvidia_pcie_pmu_\($s)_rc_\($rc)", "nvidia_pcie_tgt_pmu_\($s)_rc_\($rc)"])' \
		<<<"$output"
}

@test "without root the config space has no capability: the ports are reported as unknown" {
	unpack "$T410" "$BATS_TEST_TMPDIR/t410"
	find "$BATS_TEST_TMPDIR/t410/sys/devices" -name config -exec truncate -s 64 {} +
	expect 0 "$UNCORE" --root "$BATS_TEST_TMPDIR/t410" topo
	shows 'no PMU: .* without root' '0001:00:00.0 +32 GT/s x4'
	[[ ! $output =~ 'root complex' ]]
	expect 0 "$UNCORE" --root "$BATS_TEST_TMPDIR/t410" topo --json
	jq -e '.root_ports | length == 11 and all(.pmus == [] and .index == null and
		(.unknown | contains("without root")))' <<<"$output"
}

@test "--learn: the file that it writes below the root" {
	local tree=$BATS_TEST_TMPDIR/learn

	unpack "$SPR" "$tree"
	mkdir -p "$tree/var/lib"
	chmod 755 "$tree/var" "$tree/var/lib"
	expect 0 "$UNCORE" --root "$tree/" topo --learn
	[ "$output" = "written: $tree/var/lib/uncore/root-buses.yaml" ] || fail 'the path'
	[ "$(tail -n 1 "$tree/var/lib/uncore/root-buses.yaml")" = 'end: true' ] || fail 'the end'
}

# add_device TREE ADDRESS CLASS [BRIDGE ABOVE]
add_device() {
	local place=pci${2%:*}${4:+/$4}/$2
	local dir=$1/sys/devices/$place

	mkdir -p "$dir" "$1/sys/bus/pci/devices"
	ln -s "../../../devices/$place" "$1/sys/bus/pci/devices/$2"
	echo 0x8086 >"$dir/vendor"
	echo 0x1234 >"$dir/device"
	echo "$3" >"$dir/class"
}

@test "names of devices: shortened, with CR LF, a vendor alone, unknown, no file" {
	local tree=$BATS_TEST_TMPDIR/names i=0 ids

	mkdir "$tree"
	unpack "$SPR" "$tree"
	rm -r "$tree/sys/bus/pci"
	for ids in 10de:2331 15b3:101d 15b3:ffff 1022:14ab 1af4:1000 9999:0001 0108:0001; do
		add_device "$tree" "0000:00:0$i.0" 0x020000
		echo "0x${ids%:*}" >"$tree/sys/devices/pci0000:00/0000:00:0$i.0/vendor"
		echo "0x${ids#*:}" >"$tree/sys/devices/pci0000:00/0000:00:0$i.0/device"
		i=$((i + 1))
	done
	printf '%s\n' '# comment' '' $'10de  NVIDIA Corporation\r' $'\t2331  GH100 [H100 PCIe]\r' \
		$'\t\t10de 1626  A subsystem' '15b3  Mellanox Technologies' \
		$'\t101d  MT2892 Family [ConnectX-6 Dx]' '1022  Advanced Micro Devices, Inc. [AMD]' \
		$'\t14ab  A []bridge' '1af4  Red Hat, Inc.' $'\t1000  Virtio network device' \
		'C 01  Mass storage controller' $'\t08  Not a device' $'\tx' $'\t' 1 15b3 >"$tree/pci.ids"
	UNCORE_PCI_IDS=$tree/pci.ids expect 0 "$UNCORE" --root "$tree" topo --json
	jq -e '[.devices[].name] == ["NVIDIA H100 PCIe", "Mellanox ConnectX-6 Dx", "Mellanox device ffff",
		"AMD A []bridge", "Red Hat Virtio network device", null, null]' <<<"$output" || fail names
	: >"$tree/pci.ids"
	UNCORE_PCI_IDS=$tree/pci.ids expect 0 "$UNCORE" --root "$tree" topo --json
	[ -e /usr/share/misc/pci.ids ] || [ -e /usr/share/hwdata/pci.ids ] ||
		jq -e '[.devices[].name] | unique == [null]' <<<"$output" || fail 'no file'
}

@test "links between sockets: the other end, and links without this information" {
	local tree=$BATS_TEST_TMPDIR/skx pmus

	unpack "$MACHINES/intel-skx-1socket.txt" "$tree"
	pmus=$tree/sys/bus/event_source/devices
	echo upi_1,die_0 >"$pmus/uncore_upi_0/die0"
	expect 0 "$UNCORE" --root "$tree" topo
	shows 'uncore_upi_0 to socket 0 \(upi_1,die_0\)' 'uncore_upi_\{1,2\} to unknown'
	expect 0 "$UNCORE" --root "$tree" topo --json
	jq -e '.links[0] | .pmu == "uncore_upi_0" and .peer == "upi_1,die_0" and .peer_socket == 0' \
		<<<"$output"
}

# put_upi BUS LINK VALUE [NODE]: a UPI device, and its function with the register 0x2e0.
put_upi() {
	local function address

	for function in 1 2; do
		address=0000:$1:0$(($2 + 1)).$function
		add_device "$tree" "$address" 0x088000
		echo 0x324$function >"$tree/sys/bus/pci/devices/$address/device"
		echo "${4:--1}" >"$tree/sys/bus/pci/devices/$address/numa_node"
		printf '%0.s\377' {1..4096} >"$tree/sys/bus/pci/devices/$address/config"
	done
	printf '%b' "\\x$3\\x12\\0\\0" | dd of="$tree/sys/bus/pci/devices/$address/config" bs=1 seek=$((0x2e0)) conv=notrunc status=none
}

# speeds VALUE...: of the links, in MT/s
speeds() {
	expect 0 "$UNCORE" --root "$tree" topo --json
	[ "$(jq -r '.links[].transfers' <<<"$output" | paste -sd ' ')" = "$*" ] || fail "not $*"
}

@test "the speed of links of Sapphire Rapids, from a register that root can read" {
	local tree=$BATS_TEST_TMPDIR/spr

	unpack "$SPR" "$tree"
	speeds null null null null
	put_upi 7e 0 0b # bits 2-0 are 3
	put_upi 7e 1 03
	put_upi 7e 2 f9
	put_upi 7e 3 05
	speeds 16000 16000 12800 null
	jq -e '[.links[].doubt] | .[0] == .[2] and (.[0] | contains("pcm")) and .[3] == null' <<<"$output" || fail
	expect 0 "$UNCORE" --root "$tree" topo
	shows 'uncore_upi_\{0,1\} to unknown .*, 16 GT/s \(suspect: the register and its values are known only' \
		'12\.8 GT/s \(suspect'
	expect 0 "$UNCORE" --root "$tree" snapshot "$BATS_TEST_TMPDIR/copy"
	tree=$BATS_TEST_TMPDIR/copy speeds 16000 16000 12800 null
	# Nothing of the other registers of such a device is in the snapshot.
	[ "$(sed -n '/7e:01\.2\/config: hex/,/ = /s/^\t\([0-9a-f]*\)  .*/\1/p' "$BATS_TEST_TMPDIR/copy" | paste -sd ' ')" = \
		'0000 0010 0020 0030 0090 0190 01a0 01c0 02e0' ] || fail 'others are kept'
	# As the kernel shows config space to everybody.
	truncate -s 64 "$tree/sys/bus/pci/devices/0000:7e:01.2/config"
	speeds null 16000 12800 null
	# Other models have no such register.
	sed -i 's/^\(model\t*: \)143$/\1207/' "$tree/proc/cpuinfo"
	speeds null null null null
}

@test "the speed of links if the kernel does not show the socket of a device" {
	local tree=$BATS_TEST_TMPDIR/spr

	unpack "$SPR" "$tree"
	put_upi 7e 0 03
	put_upi fe 0 03
	put_upi 7e 1 03
	put_upi fe 1 02
	speeds 16000 null null null
	# That of another socket does not matter.
	mkdir "$tree/sys/devices/system/node/node1"
	echo 3 >"$tree/sys/devices/system/node/node1/cpulist"
	echo 1 >"$tree/sys/devices/system/cpu/cpu3/topology/physical_package_id"
	echo 0-2 >"$tree/sys/devices/system/node/node0/cpulist"
	echo 1 | tee "$tree"/sys/bus/pci/devices/0000:fe:0[12].[12]/numa_node
	echo 0 | tee "$tree"/sys/bus/pci/devices/0000:7e:0[12].[12]/numa_node
	speeds 16000 16000 null null
}

@test "many functions below a port, an unknown link, devices without socket" {
	local tree=$BATS_TEST_TMPDIR/many i

	unpack "$SPR" "$tree"
	rm -r "$tree/sys/bus/pci" "$tree"/sys/devices/pci*
	add_device "$tree" 0000:15:01.0 0x060400
	for i in {0..9} {a..f} 10 11 12; do
		add_device "$tree" "0000:16:$(printf %02x "0x$i").0" 0x020000 0000:15:01.0
	done
	expect 0 "$UNCORE" --root "$tree" topo
	shows '0000:15:01.0  \?' '0000:16:0f.0 Intel device 1234 \(no driver\)' 'and 3 more'
	[[ ! $output =~ 0000:16:10 ]]
	rm -r "$tree/sys/bus/pci"
	expect 0 "$UNCORE" --root "$tree" topo
	shows 'no PCI devices'
}

@test "2,500 devices: within seconds" {
	local tree=$BATS_TEST_TMPDIR/large out=$BATS_TEST_TMPDIR/out

	# The limit is generous: this takes a fraction of a second, with sanitizers.
	ulimit -t 5

	unpack "$T410_2" "$tree"
	python3 - "$tree/sys" <<'END'
import pathlib, sys

def device(path, file, text):
    directory = pathlib.Path(sys.argv[1], "devices", path)
    directory.mkdir(parents=True)
    (directory / file).write_text(text + "\n")
    pathlib.Path(sys.argv[1], "bus/pci/devices", directory.name).symlink_to(f"../../../devices/{path}")

for segment in range(0x20, 0x34):
    port = f"pci{segment:04x}:00/{segment:04x}:00:00.0"
    device(port, "class", "0x060400")
    for function in range(124):
        device(f"{port}/{segment:04x}:01:{function >> 3:02x}.{function & 7}", "vendor", "0x15b3")
END
	"$UNCORE" --root "$tree" topo --json >"$out"
	jq -e '.devices | length > 2480' "$out"
	"$UNCORE" --root "$tree" topo >"$out"
	[ "$(grep -c 'and 108 more' "$out")" -eq 20 ]
}

@test "the peak of the memory" {
	expect 0 "$UNCORE" --root "$T410" topo --memory-peak 800GB/s
	shows 'memory  peak 800.0 GB/s \(the user\)'
	expect 0 "$UNCORE" --root "$T410" topo --json --memory-peak 800GB/s
	jq -e '.memory_peak | .peak == 800e9 and .from == "the user" and .unknown == null' <<<"$output"
	expect 0 "$UNCORE" --root "$T410" topo
	shows 'memory  peak unknown'
}

@test "plurals; caches are not counters of memory" {
	expect 0 "$UNCORE" --root "$MACHINES/intel-icx-1socket.txt" topo
	shows '8 memory channels: ' '4 memory ports of the mesh: '
	expect 0 "$UNCORE" --root "$MACHINES/amd-zen3-1socket.txt" topo
	shows 'counted together by amd_df'$'\n'
}

@test "wrong usage" {
	refuses 2 "$UNCORE" topo nvme0
	says 'takes no arguments'
}

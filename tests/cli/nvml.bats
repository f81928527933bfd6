#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# GPUs of NVIDIA, with a stand-in for their vendor's library: tests/nvml/stand-in.c moves known bytes, and has planted
# faults. Values that the tests expect are those of its script.

load helpers

setup_file() {
	# Eight GPUs, and the configuration of their PCI functions: Max_Payload_Size of 256 bytes.
	make_gpus 8 256
}

setup() {
	export LD_LIBRARY_PATH=$UNCORE_BUILD_ROOT/tests UNCORE_NVML_SCRIPT=$BATS_TEST_TMPDIR/script
	root=$BATS_FILE_TMPDIR/8-256
}

# make_gpus COUNT BYTES: a tree of a machine with so many GPUs.
make_gpus() {
	[ ! -e "$BATS_FILE_TMPDIR/$1-$2" ] || return 0
	python3 -S - "$BATS_FILE_TMPDIR/$1-$2" "$1" "$2" <<'END'
import os, pathlib, sys
root, count, packet = pathlib.Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
cpu, pci = root / "sys/devices/system/cpu", root / "sys/bus/pci/devices"
(cpu / "cpu0/topology").mkdir(parents=True)
(cpu / "online").write_text("0\n")
(cpu / "cpu0/topology/physical_package_id").write_text("0\n")
(cpu / "cpu0/topology/core_id").write_text("0\n")
pci.mkdir(parents=True)
config = bytearray(256 if packet else 64)
if packet:
    config[0x34], config[0x40], config[0x41], config[0x60] = 0x40, 0x01, 0x60, 0x10
    config[0x68] = (packet // 128).bit_length() - 1 << 5 | 0x0e
for i in range(1, count + 1):
    name = f"0000:{i:02x}:00.0"
    device = root / "sys/devices/pci0000:00" / name
    device.mkdir(parents=True)
    os.symlink(f"../../../devices/pci0000:00/{name}", pci / name)
    for file, text in {"vendor": "0x10de", "device": "0x2330", "class": "0x030200", "numa_node": "0",
                       "max_link_speed": "32.0 GT/s PCIe", "current_link_speed": "32.0 GT/s PCIe",
                       "max_link_width": "16", "current_link_width": "16"}.items():
        (device / file).write_text(text + "\n")
    (device / "config").write_bytes(config)
END
}

# script LINE...: what the stand-in does.
script() {
	printf '%s\n' "$@" >"$UNCORE_NVML_SCRIPT"
}

count() {
	"$UNCORE" --source files --root "$root" stat --no-merge "$@"
}

examine() {
	"$UNCORE" --source files --root "$root" doctor "$@"
}

PCIE='device.pcie.received.bandwidth,device.pcie.transmitted.bandwidth,device.pcie.inbound.*'

# near METRIC VALUE SHARE ROWS: so many rows of $output (CSV) have this value, but for a share of it, and are measured.
near() {
	awk -F, -v name="$1" -v value="$2" -v share="$3" -v rows="$4" '
		$6 == name { n++; d = $11 - value; if ($14 != "measured" || (d < 0 ? -d : d) > share * value) bad = $0 }
		END { if (n != rows || bad) { print n " rows of " name ", expected " value ": " bad; exit 1 } }' <<<"$output"
}

# ends_well GPU: its last row is measured.
ends_well() {
	local last

	last=$(grep ",$1," <<<"$output" | tail -1)
	[[ $last =~ ,measured, ]] || fail "the last row of $1: $last"
}

# process: the number of the process that this test's command started; not one that has ended and waits to be reaped.
process() {
	local pid

	for pid in $(pgrep -x uncore-nvml); do
		grep -qsz "^UNCORE_NVML_SCRIPT=$UNCORE_NVML_SCRIPT\$" "/proc/$pid/environ" && echo "$pid" && return
	done
	return 1
}

gone() {
	! process
}

payload() {
	expect 0 count --csv -M "$PCIE" -I "$1" --interval-count=3 || return 1
	near device.pcie.received.bandwidth "$2" 1e-4 24 &&
		near device.pcie.transmitted.bandwidth "$3" 1e-4 24 &&
		near device.pcie.inbound.read.bandwidth "$4" 1e-4 24 &&
		near device.pcie.inbound.write.bandwidth "$5" 1e-4 24
}

per_link() {
	"$UNCORE" --source files --root "$root" stat --per-link "$@"
}

# link DIRECTION GPU ROLE VALUE: the row of a link of $output (CSV).
link() {
	awk -F, -v name="device.link.$1.bandwidth" -v pmu="nvidia_gpu_$2" -v role="$3" -v value="$4" '
		$6 == name && $0 ~ "," pmu "," && $0 ~ "," role "," { n++; d = $11 - value; good = $14 == "measured" && (d < 0 ? -d : d) <= 1e-3 * value }
		END { if (n != 1 || !good) { print n " rows of " pmu ", " role ", expected " value; exit 1 } }' <<<"$output"
}

@test "payload is right to 1e-4 at any rate, over many wraps of 32 bits" {
	script 'gpus 8' 'h2d 26e9' 'd2h 52e9' 'delay 20'
	# x 276 / 256; x 280 / 256 and x 24 / 256. The counter wraps 14 times a second.
	eventually payload 1s 28.03125e9 59.3125e9 26e9 52e9
	eventually payload 100ms 28.03125e9 59.3125e9 26e9 52e9
	script 'gpus 8'
	eventually payload 100ms 0 0 0 0
	eventually gone
}

@test "payload is right to 1e-4 over intervals of 1 ms" {
	in_sum() {
		expect 0 count --csv --summary -M "$PCIE" -I 1ms --interval-count=300 || return 1
		output=$(awk -F, '$3 == "true"' <<<"$output")
		near device.pcie.received.bandwidth 28.03125e9 1e-4 8 &&
			near device.pcie.transmitted.bandwidth 59.3125e9 1e-4 8 &&
			near device.pcie.inbound.read.bandwidth 26e9 1e-4 8 &&
			near device.pcie.inbound.write.bandwidth 52e9 1e-4 8
	}
	in_each() { # the library's times are in microseconds
		expect 0 count --csv -M "$PCIE" -I 1ms --interval-count=300 || return 1
		near device.pcie.received.bandwidth 28.03125e9 4e-3 2400 && near device.pcie.inbound.write.bandwidth 52e9 4e-3 2400
	}
	script 'gpus 8' 'h2d 26e9' 'd2h 52e9' 'delay 20'
	eventually in_sum
	eventually in_each
}

# bats test_tags=slow
@test "payload is right to 1e-4 over 60 s, in which the counters wrap 800 times" {
	script 'gpus 8' 'h2d 26e9' 'd2h 52e9' 'delay 20'
	expect 0 count --csv -M "$PCIE" -I 60s --interval-count=2
	# On a busy machine one of the intervals may be suspect.
	output=$(grep ,measured, <<<"$output")
	near device.pcie.received.bandwidth 28.03125e9 1e-6 "$(grep -c received <<<"$output")"
	near device.pcie.inbound.write.bandwidth 52e9 1e-6 "$(grep -c inbound.write <<<"$output")"
}

@test "packets of another or unknown size make the payload suspect, and only that" {
	script 'h2d 25e9'
	for size in 512 0; do
		make_gpus 1 "$size"
		root=$BATS_FILE_TMPDIR/1-$size
		expect 0 count --csv -M "$PCIE" -I 100ms --interval-count=1
		near device.pcie.received.bandwidth 26.953125e9 1e-3 1
		shows 'inbound.read.bandwidth,[^,]*,[^,]*,nvidia_gpu_0,0,[0-9.]+,B/s,,suspect.*packets of 256 bytes.*, or unknown'
	done
	# 26.953125e9 x 512 / 532 where packets have 512 bytes, x 256 / 276 where it is not known.
	root=$BATS_FILE_TMPDIR/1-512
	expect 0 count --csv -M "$PCIE" -I 100ms --interval-count=1
	shows 'inbound.read.bandwidth,[^,]*,[^,]*,nvidia_gpu_0,0,259[0-9]{8}\.'
}

@test "a row says what of it are our own readings, if that is not negligible" {
	# 18700 bytes each, 37 times a second and at each reading.
	make_gpus 1 256
	root=$BATS_FILE_TMPDIR/1-256
	script 'h2d 1e6'
	expect 0 count --csv -M "$PCIE" -I 1s --interval-count=2
	near device.pcie.received.bandwidth 1.078125e6 0.01 2
	shows 'pcie.received.bandwidth,[^,]*,[^,]*,nvidia_gpu_0,[^'$'\n'']*,measured,[^'$'\n'']*,about [4-8][0-9]{5} B/s of it are uncore.s own readings' \
		'inbound.read.bandwidth,[^'$'\n'']*,about [4-7][0-9]{5} B/s of it'
	expect 0 count -M device.pcie.received.bandwidth 1s 1
	shows 'about [4-8][0-9]{2}\.[0-9] kB/s of it are'
	script 'h2d 25e9'
	expect 0 count --csv -M 'device.pcie.received.bandwidth,device.pcie.inbound.read.bandwidth' -I 1s --interval-count=1
	[[ ! $output =~ own\ readings ]] || fail 'of a busy GPU, too'
}

@test "means of the GPU's firmware: memory, and PCIe in the absence of counters" {
	script 'gpus 8' 'memory 0.5' 'h2d 25e9' 'status 197 3' 'status 198 3'
	expect 0 count --csv -M 'device.memory.*,device.pcie.received.bandwidth' -I 1s --interval-count=2
	# Half of 2 x 2619 MHz x 5120 / 8.
	near device.memory.bandwidth 1.67616e12 0.01 16
	near device.memory.utilization 0.5 0.01 16
	near device.pcie.received.bandwidth 26.953125e9 0.01 16
	shows 'received.bandwidth,.*,measured,.*exact counter cannot be read here'
	# They are not those of a short interval.
	expect 0 count --csv -M device.memory.bandwidth -I 10ms --interval-count=1
	shows "unavailable,.*new mean only every 0.1 s"
	script 'memory 0.5' 'nan 0.5'
	expect 0 count --csv -M device.memory.bandwidth -I 400ms --interval-count=3
	shows "unavailable,.*firmware has no value of this time"
	script 'h2d 25e9' 'frozen 0.5' 'status 197 3'
	expect 0 count --csv -M device.pcie.transmitted.bandwidth -I 400ms --interval-count=3
	shows "firmware gave 0, while another counter of the GPU moved"
}

@test "each NVLink has a row with its number and its other end, and the GPU keeps the sum" {
	local blackwell gpu links=('gpus 2' 'nvlinks 4' 'nvlink 0 1e6' 'nvlink 1 2e6' 'nvlink 3 4e6' 'peer 0 1' 'peer 1 -1' 'down 2')

	make_gpus 2 256
	root=$BATS_FILE_TMPDIR/2-256
	# Since NVLink 5 the library has the count of one link at a time only, in bytes.
	for blackwell in '' 'status 138 3 status 139 3'; do
		# shellcheck disable=SC2086 # words
		script "${links[@]}" ${blackwell:+'status 138 3' 'status 139 3'}
		expect 0 per_link --csv -M 'device.link.*' -I 200ms --interval-count=1
		link in 0 'link 0 to 0000:02:00.0' 1024e6
		for gpu in 0 1; do
			link in $gpu 'link 1 to NVSwitch' 2048e6
			link in $gpu 'link 3' 4096e6
			link out $gpu 'link 3' 8192e6
		done
		[ "$(grep -c ',device.link.in.bandwidth,' <<<"$output")" -eq 8 ]
		shows 'link 2,.*unavailable,.*the link is not active, though others of the GPU are'
		expect 0 count --csv -M 'device.link.*' -I 200ms --interval-count=1
		near device.link.in.bandwidth 7168e6 1e-3 2
		near device.link.out.bandwidth 14336e6 1e-3 2
	done
}

@test "each run of a command has the ends of its own links" {
	local swap='peers="1 -1"; if grep -q "peer 0 1" "$1"; then peers="-1 0"; fi
		printf "%s\n" "gpus 2" "nvlinks 2" "nvlink 0 1000" "peer 0 ${peers% *}" "peer 1 ${peers#* }" >"$1"; sleep 0.15'

	make_gpus 2 256
	root=$BATS_FILE_TMPDIR/2-256
	script 'gpus 2' 'nvlinks 2' 'nvlink 0 1000' 'peer 0 1' 'peer 1 -1'
	# Without sanitizers, which do not use memory again soon: rows are where those of an earlier run were.
	UNCORE=$UNCORE_PLAIN expect 0 per_link -M device.link.in.bandwidth -r 14 -j -- bash -c "$swap" - "$UNCORE_NVML_SCRIPT"
	output=$(jq -r 'select(.pmu == "nvidia_gpu_0" and (.role | startswith("link 0"))) | .role' <<<"$output" | sort | uniq -c)
	[[ $output =~ ^\ *7\ link\ 0\ to\ 0000:02:00.0$'\n'\ *7\ link\ 0\ to\ NVSwitch$ ]] || fail "$output"
}

@test "a GPU without NVLink has no rows of links, and says so" {
	# shellcheck disable=SC2030
	local root=$BATS_FILE_TMPDIR/1-256 fault

	make_gpus 1 256
	for fault in '' 'nvlinks 18'; do
		script "$fault" 'down 0' 'down 1' 'down 2' 'down 3' 'down 4' 'down 5' 'down 6' 'down 7' 'down 8' 'down 9' \
			'down 10' 'down 11' 'down 12' 'down 13' 'down 14' 'down 15' 'down 16' 'down 17'
		refuses 3 per_link -M device.link.in.bandwidth 1 1
		says 'nvidia_gpu_0: the GPU has no active NVLink of this number'
		expect 0 per_link --csv -v -M device.link.in.bandwidth,device.power -I 200ms --interval-count=1
		[ "$(grep -c nvidia_gpu_0, <<<"$output")" -eq 1 ]
	done
	expect 0 count -e nvidia_gpu_0/power/,nvidia_gpu_0/packet_bytes,links=2/,nvidia_gpu_0/power,links=0x6/ -I 200ms --interval-count=1
	shows 'the GPU does not have this count of one link'
	[ "$(grep -c ' unavailable' <<<"$output")" = 2 ]
}

@test "a GPU without NVLink-C2C has no rows of it in the overview, and says so where it is named" {
	script 'gpus 8'
	# shellcheck disable=SC2031 # that of setup
	expect 0 "$UNCORE" --source files --root "$root"
	[[ ! $output =~ C2C|c2c ]] || fail 'the overview'
	[[ ! $output =~ notes ]] || fail 'notes that no option prints'
	expect 0 count --csv -v -M device.c2c.in.bandwidth,device.power -I 200ms --interval-count=1
	[ "$(grep -c ',device.c2c' <<<"$output")" -eq 0 ] || fail 'rows'
	refuses 3 count -M device.c2c.in.bandwidth 1 1
	says 'nvidia_gpu_0: the GPU or its driver does not have this count'
}

@test "matrix: the other end of a link is a GPU by its name, or a switch" {
	make_gpus 2 256
	root=$BATS_FILE_TMPDIR/2-256
	script 'gpus 2' 'nvlinks 4' 'nvlink 0 1e6' 'nvlink 1 2e6' 'nvlink 3 4e6' 'peer 0 1' 'peer 1 -1' 'down 2' 'h2d 0' 'd2h 0'
	expect 0 "$UNCORE" --source files --root "$root" matrix -I 300ms --interval-count=1
	shows $'\nnvidia_gpu_0 +nvidia_gpu_1 +1\\.02. GB/s +2\\.04. GB/s\n' $'\nnvidia_gpu_0 +NVSwitch +2\\.04. GB/s +4\\.09. GB/s\n' \
		$'\nNVSwitch +nvidia_gpu_0 +<= 4\\.09. GB/s +<= 2\\.04. GB/s\n' 'who asked for them'
	[[ ! $output =~ nvidia_gpu_1\ +nvidia_gpu_0\ +\<= ]] || fail 'what the other GPU counts itself'
}

@test "a program that counts all the time gets means with bounds" {
	[ -d "$UNCORE_BUILD_ROOT/python/uncore" ] || skip 'there is no Python module here'
	export PYTHONPATH=$UNCORE_BUILD_ROOT/python UNCORE_LIBRARY=$UNCORE_BUILD_ROOT/tests/libuncore-plain.so
	[ -e "$UNCORE_LIBRARY" ] || UNCORE_LIBRARY=$UNCORE_BUILD_ROOT/libuncore.so.0
	script 'h2d 25e9' 'd2h 0' 'frozen 2.2'
	expect 0 python3 -S - "$BATS_FILE_TMPDIR/8-256" <<'END'
import sys, time, uncore
machine = uncore.Machine(root=sys.argv[1], source="files")
with machine.monitor("device.pcie.received.bandwidth", level="instance", cheap=True) as monitor:
    for want in ("measured", "measured", "unavailable"):
        time.sleep(1)
        row = next(row for row in monitor.read().rows if row.pmu == "nvidia_gpu_0")
        assert row.quality == want, row
        if want == "measured":
            assert abs(row.value - 26.953125e9) < 0.01e9, row
            assert "in the way that costs least, as means of the GPU's firmware" in row.reason, row
            assert 0.9 * 26.95e9 < row.low < 0.985 * 26.95e9 < 1.015 * 26.95e9 < row.high < 1.1 * 26.95e9, row
assert "moved" in row.reason, row
END
}

@test "reasons why there is no count" {
	local -A reasons=(
		['init 18']='3 library and the loaded driver have different versions'
		['init 9']='3 driver is not loaded'
		['init 17']='4 control group'
		['init 4']='4 root can read it'
		['init 999']='1 library failed'
		['crash 0']='1 uncore-nvml ended at once'
	)
	for fault in "${!reasons[@]}"; do
		script "$fault"
		refuses "${reasons[$fault]%% *}" count -M device.pcie.received.bandwidth 1 1
		says "${reasons[$fault]#* }"
	done
	script
	LD_LIBRARY_PATH=/nonexistent refuses 3 count -M device.pcie.received.bandwidth 1 1
	says 'libnvidia-ml.so.1, which is a part of NVIDIA.s driver, cannot be loaded: .*No such file'
	script 'gpus 8' 'mig 1' 'status 198 3'
	expect 0 count -M device.memory.bandwidth -I 200ms --interval-count=1
	shows 'nvidia_gpu_1: the GPU is partitioned \(MIG\)'
	script 'gpus 7' 'vgpu 3' 'status 83 3'
	expect 0 count -M device.energy.power,device.power -I 200ms --interval-count=1
	shows 'nvidia_gpu_3: this is a virtual GPU' 'nvidia_gpu_2: the GPU or its driver does not have this count' \
		'nvidia_gpu_7: NVIDIA.s library does not find this GPU' 'device.power *nvidia_gpu_3 *300.0 *W *measured'
	# A field of status 0 without a time has no value.
	script 'gpus 8' 'empty 186'
	refuses 3 count -M device.power 1 1
	says 'gives no value, and no error'
}

@test "packets that a GPU sent again: a rate; not 0 where the driver does not count them" {
	script 'gpus 8' 'replays 500 1000'
	expect 0 count -M device.pcie.replays -I 1s --interval-count=1 -j
	[ "$(jq -s '[.[] | select(.pmu == "nvidia_gpu_3") | .value > 490 and .value < 510] == [true]' <<<"$output")" = true ] || fail 'rate'
	script 'gpus 8' 'status 94 3'
	refuses 3 count -M device.pcie.replays 1 1
	says 'the GPU or its driver does not have this count'
}

@test "doctor: packets that GPUs sent again; nothing without them, or without the library" {
	script 'gpus 7' 'replays 0 1000'
	expect 0 examine
	shows $'\nnote +nvidia_gpu_0: packets that were sent again on PCI Express: 1000 so far\n +packets were damaged on the link'
	[ "$(grep -c 'that were sent again' <<<"$output")" = 7 ] || fail 'one for each GPU that answers'
	expect 0 examine -j
	helper check-schema <<<"$output"
	[ "$(jq '[.findings[] | select(.found | test("sent again"))] | length' <<<"$output")" = 7 ] || fail JSON
	script 'gpus 8'
	expect 0 examine
	[[ ! $output =~ 'sent again' ]] || fail 'there are none'
	script 'replays 0 1000'
	LD_LIBRARY_PATH=/nonexistent expect 0 examine
	[[ ! $output =~ 'sent again' ]] || fail 'without the library'
	shows 'MISSING +nvidia_gpu_0: its counters cannot be read'
}

@test "a snapshot has what the library and binary files say of GPUs, and no UUID, serial number or count" {
	local file=$BATS_TEST_TMPDIR/file.txt at

	make_gpus 2 256
	root=$BATS_TEST_TMPDIR/root
	cp -r "$BATS_FILE_TMPDIR/2-256" "$root"
	at=$root/proc/driver/nvidia/gpus/0000:01:00.0
	mkdir -p "$at" "$root/sys/class/drm"
	printf '%s\n' 'Model: 		 NVIDIA H100 80GB HBM3' 'GPU UUID: 	 GPU-2d1f2c3b-aaaa-bbbb-cccc-0123456789ab' >"$at/information"
	at=$root/sys/devices/pci0000:00/0000:05:00.0
	mkdir -p "$at/drm/card0"
	ln -s ../../../devices/pci0000:00/0000:05:00.0 "$root/sys/bus/pci/devices/0000:05:00.0"
	ln -s ../../../0000:05:00.0 "$at/drm/card0/device"
	ln -s ../../devices/pci0000:00/0000:05:00.0/drm/card0 "$root/sys/class/drm/card0"
	helper devices metrics 1.7 "$at/gpu_metrics" samples=1000 pcie_samples=2000 memory_samples=3000 memory_peak=5325 energy=77777
	echo 0123456789 >"$at/serial_number"
	script 'gpus 2' 'mig 1'
	expect 0 "$UNCORE" --source files --root "$root" snapshot "$file"
	! grep -iE 'uuid|serial|[0-9a-f]{8}-[0-9a-f]{4}-|0123456789|77777' "$file" || fail 'what identifies a GPU'
	# Of gpu_metrics the size and version, 1.7 with 2208 bytes; the rest is 0.
	unpack "$file" "$BATS_TEST_TMPDIR/unpacked"
	at="$BATS_TEST_TMPDIR/unpacked/sys/devices/pci0000:00/0000:05:00.0/gpu_metrics"
	[ "$(od -An -tx1 -N4 "$at") $(stat -c %s "$at") $(tr -d '\0' <"$at" | wc -c)" = ' a0 08 01 07 2208 4' ] || fail 'gpu_metrics'
	expect 0 "$UNCORE" --root "$file" list metrics -j --all
	[ "$(jq -r '.metrics[] | select(.name == "device.pcie.bandwidth") | .missing' <<<"$output")" = null ]
	[ "$(jq -r '.metrics[] | select(.name == "device.c2c.in.bandwidth") | .missing' <<<"$output")" = \
		"nvidia_gpu_0 did not have 'c2c_in' when the snapshot was made: the GPU or its driver does not have this count" ]
	expect 0 "$UNCORE" --root "$file" doctor
	shows "note +nvidia_gpu_0: NVIDIA H100 80GB HBM3; NVIDIA's library gave 10 of 12 counts when the" 'its memory transfers at most 3352 GB/s' \
		'c2c_in, c2c_out: the GPU or its driver does not have this count' 'memory_bytes, c2c_in, c2c_out: the GPU is partitioned \(MIG\)' \
		'GPUs can be counted on the running machine only'
	expect 0 "$UNCORE" --root "$file" topo
	shows 'counts itself: nvidia_gpu_0' 'counts itself: amd_gpu_0'
	refuses 3 "$UNCORE" --root "$file" pcie
	says 'running machine only'
	expect 0 "$UNCORE" --root "$file" snapshot -
	diff "$file" <(echo "$output") || fail 'a snapshot of the snapshot'
	# Without the library each event has the reason.
	LD_LIBRARY_PATH=/nonexistent expect 0 "$UNCORE" --source files --root "$root" snapshot "$file"
	[ "$(grep -c ': ! .*libnvidia-ml.so.1' "$file")" = 22 ] || grep uncore/nvml -A30 "$file"
}

@test "a GPU that sleeps is not woken" {
	make_gpus 1 128
	root=$BATS_FILE_TMPDIR/1-128
	mkdir "$root/sys/devices/pci0000:00/0000:01:00.0/power"
	echo suspended >"$root/sys/devices/pci0000:00/0000:01:00.0/power/runtime_status"
	script 'crash 0'
	refuses 3 count -M device.power 1 1
	says 'nvidia_gpu_0 is suspended, and .* would wake it'
	echo active >"$root/sys/devices/pci0000:00/0000:01:00.0/power/runtime_status"
	script
	expect 0 count -M device.power -I 200ms --interval-count=1
	shows measured
}

@test "a GPU that is lost costs only its own rows, until it is back" {
	script 'gpus 8' 'h2d 1e9' 'lost 2 0.8 1.2'
	expect 0 count --csv -M device.pcie.received.bandwidth -I 500ms --interval-count=5
	[ "$(grep -c 'nvidia_gpu_2.*unavailable.*the GPU is lost' <<<"$output")" -ge 1 ]
	ends_well nvidia_gpu_2
	[ "$(grep -v nvidia_gpu_2 <<<"$output" | grep -c ,measured,)" -eq 35 ]
}

@test "a GPU that is lost when the process is started again counts from when it is back, with a new handle" {
	local out=$BATS_TEST_TMPDIR/out

	# In the second process GPU 1 is lost for 1.5 s, and GPU 2 later, until it has a new handle.
	script 'gpus 3' 'h2d 1e9' 'memory 0.5'
	count --csv -M device.pcie.received.bandwidth,device.memory.bandwidth,device.energy.power -I 500ms --interval-count=24 >"$out" 3>&- &
	eventually process >/dev/null
	sleep 0.7
	script 'gpus 3' 'h2d 1e9' 'memory 0.5' 'lost 1 0 1.5' 'stale 1 1.5' 'lost 2 2 3' 'stale 2 3'
	kill -KILL "$(process)"
	wait $!
	output=$(<"$out")
	for gpu in 0 1 2; do
		ends_well nvidia_gpu_$gpu
	done
	grep -q 'nvidia_gpu_1.*unavailable.*the GPU is lost' <<<"$output"
	grep -q 'nvidia_gpu_2.*unavailable.*the GPU is lost' <<<"$output"
	# Whatever has a value is right: there is no difference across the loss.
	output=$(grep ,measured, <<<"$output")
	near device.pcie.received.bandwidth 1.078125e9 1e-3 "$(grep -c pcie.received <<<"$output")"
	near device.memory.bandwidth 1.67616e12 1e-2 "$(grep -c memory.bandwidth <<<"$output")"
	near device.energy.power 300 1e-2 "$(grep -c energy.power <<<"$output")"
	# It came back within about a second, so that most of the last rows have values.
	[ "$(grep -c 'pcie.received.*,nvidia_gpu_1,' <<<"$output")" -ge 4 ]
}

@test "a sum over links that lose one is suspect once, with the reason, and right before and after it" {
	script 'status 138 3' 'status 139 3' 'nvlinks 20' 'nvlink 0 1000000' 'nvlink 19 2000000' 'silent 0 1.2 2.4' 'gpus 1'
	expect 0 count --csv -M device.link.in.bandwidth -I 300ms --interval-count=12
	rows=$(grep nvidia_gpu_0 <<<"$output")
	[ "$(grep -c 'suspect.*an NVLink of the GPU began or ceased to answer' <<<"$rows")" -eq 2 ]
	# 1e6 and 2e6 KiB/s, the latter on a link beyond the 18 of earlier GPUs; nothing else.
	awk -F, '$14 == "measured" { n++; all = $11 / 3.072e9; rest = $11 / 2.048e9
			if ((all < 0.98 || all > 1.02) && (rest < 0.98 || rest > 1.02)) bad = $0; left += rest > 0.98 && rest < 1.02 }
		END { exit n < 9 || left < 2 || bad != "" }' <<<"$rows"
}

@test "a library that hangs, and a process that ended, cost readings and no time" {
	script 'gpus 8' 'h2d 1e9' 'hang 0.7 1.3'
	expect 0 count --csv -M device.pcie.received.bandwidth -I 500ms --interval-count=5
	shows 'unavailable.*library did not answer within 250 ms'
	ends_well nvidia_gpu_0
	script 'gpus 8' 'crash 0.7'
	expect 0 count --csv -M device.pcie.received.bandwidth -I 500ms --interval-count=4
	shows 'unavailable.*the process uncore-nvml has ended'
	# It ends with the command while a thread hangs in the library.
	script 'hang 0.2 1000'
	expect 0 count -M device.pcie.received.bandwidth -I 500ms --interval-count=1
	eventually gone
	# It is started again after 5 s, and counts.
	script 'h2d 1e9'
	count --csv -M device.pcie.received.bandwidth -I 500ms --interval-count=15 >"$BATS_TEST_TMPDIR/out" 3>&- &
	eventually process >/dev/null
	kill -KILL "$(process)"
	wait $!
	output=$(<"$BATS_TEST_TMPDIR/out")
	shows 'has ended, since'
	ends_well nvidia_gpu_0
}

@test "a library that crashes for ever is started less and less often, and leaves no zombies" {
	local out=$BATS_TEST_TMPDIR/out pid parent zombies

	# The command gets processes without a parent, as it does where it is the first one of a container.
	script 'crash 1.5'
	"${PYTHON:-$(type -P python3)}" -S -c 'import ctypes, os, sys
ctypes.CDLL(None).prctl(36, 1) # PR_SET_CHILD_SUBREAPER
os.execv(sys.argv[1], sys.argv[1:])' "$UNCORE" --source files --root "$BATS_FILE_TMPDIR/8-256" stat --no-merge --csv \
		-M device.pcie.received.bandwidth -I 500ms --interval-count=22 >"$out" 3>&- &
	pid=$!
	until process >/dev/null || ! kill -0 "$pid"; do sleep 0.05; done
	parent=$(ps -o ppid= -p "$(process)")
	[ "$((parent))" = "$pid" ]
	until grep -q 'started again after 10 s' "$out"; do
		kill -0 "$pid" || break
		sleep 0.2
		zombies=$(ps -o stat= --ppid "$pid" | awk '/Z/ {n++} END {print n + 0}')
	done
	# The latest one may be waited for at the next reading.
	[ "$zombies" -le 1 ]
	wait $pid
	output=$(<"$out")
	shows 'uncore-nvml has ended, since .* started again after 5 s"' 'started again after 10 s: it fails again and again'
}

@test "a counter that was not read in time is suspect, with both times" {
	script 'gpus 8' 'h2d 50e9'
	count --csv -M device.pcie.received.bandwidth -I 1s --interval-count=3 >"$BATS_TEST_TMPDIR/out" 3>&- &
	eventually process >/dev/null
	sleep 0.3
	kill -STOP "$(process)"
	sleep 0.2
	kill -CONT "$(process)"
	wait $!
	output=$(<"$BATS_TEST_TMPDIR/out")
	shows ',suspect,.*the 32-bit counter was read after [0-9]{2,4} ms, and is unique for 68 ms only'
	ends_well nvidia_gpu_0
	# Stopped for longer than a reading waits.
	count --csv -M device.pcie.received.bandwidth -I 500ms --interval-count=10 >"$BATS_TEST_TMPDIR/out" 3>&- &
	eventually process >/dev/null
	sleep 0.3
	kill -STOP "$(process)"
	sleep 3
	kill -CONT "$(process)"
	wait $!
	output=$(<"$BATS_TEST_TMPDIR/out")
	shows 'unavailable,.*library did not answer within 250 ms'
	output=$(tail -8 <<<"$output")
	near device.pcie.received.bandwidth 53.90625e9 1e-4 8
}

@test "links slower than generation 5 are read less often, and not at all without a need" {
	script 'gpus 1' 'link 3 8'
	polls() { # METRIC: context switches of the process in a second
		count -M "$1" 2 1 >"$BATS_TEST_TMPDIR/out" 3>&- &
		eventually process >"$BATS_TEST_TMPDIR/pid"
		sleep 0.5
		before=$(switches "$(process)")
		sleep 1
		after=$(switches "$(process)")
		wait $!
	}
	switches() {
		cat /proc/"$1"/task/*/status | awk '/^voluntary_ctxt/ { n += $2 } END { print n }'
	}
	# 2^32 / 7.877 GB/s = 545 ms: every 218 ms.
	polls device.pcie.received.bandwidth
	[ $((after - before)) -le 10 ]
	[ $((after - before)) -ge 3 ]
	polls device.power
	[ $((after - before)) -le 2 ]
}

@test "a count that root or another mode could read is unavailable with that reason, and not left out" {
	make_gpus 1 256
	# shellcheck disable=SC2030
	local root=$BATS_FILE_TMPDIR/1-256

	script 'nvlinks 18' 'mig 0' 'status 138 3' 'status 139 3' 'status 202 3' 'status 204 3'
	refuses 3 count --csv -M device.link.in.bandwidth -I 100ms --interval-count=1
	says 'MIG'
	expect 0 count --csv -M device.link.in.bandwidth,device.power -I 100ms --interval-count=1
	shows 'device.link.in.bandwidth,[^'$'\n'']*,unavailable,[^'$'\n'']*MIG'
}

# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# What the tests of `uncore who` share: a machine of plain files in which tests/cli/resctrl.c does what the kernel does with groups.
# Each task moves bytes at a known rate, and the group that it is in counts them.

setup() {
	export RESCTRL=$BATS_TEST_TMPDIR/machine
	# shellcheck disable=SC2034 # for tests
	emulated=(LD_PRELOAD="$UNCORE_BUILD_ROOT/tests/emulate-resctrl.so" "${UNCORE_PLAIN:-$UNCORE}" --root "$RESCTRL")
	who=(env "${emulated[@]}" who)
}

# group PATH: the files of a group on two caches.
group() {
	local cache

	for cache in 00 01; do
		mkdir -p "$RESCTRL/sys/fs/resctrl/$1/mon_data/mon_L3_$cache"
		printf '0\n' | tee "$RESCTRL/sys/fs/resctrl/$1/mon_data/mon_L3_$cache"/{llc_occupancy,mbm_total_bytes,mbm_local_bytes} \
			>/dev/null
	done
	: >"$RESCTRL/sys/fs/resctrl/$1/tasks"
}

# machine IDS: two sockets with a cache each, and resctrl with so many ids of groups (RMIDs).
machine() {
	local cpu

	mkdir -p "$RESCTRL"/{proc,sys/devices/system/cpu,sys/fs/resctrl/mon_groups,sys/fs/resctrl/info/L3_MON}
	echo 0-1 | tee "$RESCTRL/sys/devices/system/cpu/present" >"$RESCTRL/sys/devices/system/cpu/online"
	for cpu in 0 1; do
		mkdir -p "$RESCTRL/sys/devices/system/cpu/cpu$cpu"/{topology,cache/index3} "$RESCTRL/sys/devices/system/node/node$cpu"
		echo $cpu | tee "$RESCTRL/sys/devices/system/cpu/cpu$cpu/topology/physical_package_id" \
			"$RESCTRL/sys/devices/system/cpu/cpu$cpu/cache/index3/id" >"$RESCTRL/sys/devices/system/node/node$cpu/cpulist"
	done
	echo "$1" >"$RESCTRL/sys/fs/resctrl/info/L3_MON/num_rmids"
	group ''
	: >"$RESCTRL/loads"
	: >"$RESCTRL/log"
}

# process ID NAME CGROUP CPU TOTAL0 LOCAL0 TOTAL1 LOCAL1: it uses that share of a CPU, and moves so many bytes per second.
process() {
	mkdir -p "$RESCTRL/proc/$1/task/$1"
	echo "$1 ($2) R 1 $1 $1 0 -1 4194304 100 0 0 0 @ 0 0 0 20 0 1 0 $1 0 0" >"$RESCTRL/proc/$1/stat"
	echo "0::$3" >"$RESCTRL/proc/$1/cgroup"
	printf 'Name:\t%s\nUid:\t%s\t0\t0\t0\n' "$2" "${9:-0}" >"$RESCTRL/proc/$1/status"
	echo "$1 $4 $5 $6 $7 $8" >>"$RESCTRL/loads"
}

# say_groups ID...: /proc says which group a task is in, as it does since Linux 5.6; for no task, and for these.
say_groups() {
	local id

	mkdir -p "$RESCTRL/proc/self"
	for id in self "$@"; do echo %groups >"$RESCTRL/proc/$id/cpu_resctrl_groups"; done
}

# without_rights: from now on root reads no files whose mode forbids it, as other users do not; false: that is not possible here.
without_rights() {
	local -a drop=(setpriv --bounding-set '-dac_override,-dac_read_search')

	[ "$(id -u)" -eq 0 ] || return 0
	"${drop[@]}" true 2>/dev/null && who=("${drop[@]}" "${who[@]}")
}

# begin OPTION...: starts it in the background, and waits until it has printed something.
begin() {
	: >"$BATS_TEST_TMPDIR/out"
	"${who[@]}" "$@" >"$BATS_TEST_TMPDIR/out" 2>"$BATS_TEST_TMPDIR/err" &
	begun=$!
	for ((i = 0; i < 100; i++)); do [ -s "$BATS_TEST_TMPDIR/out" ] && break; sleep 0.05; done
}

# finish: waits for its end.
finish() {
	wait "$begun"
	output=$(<"$BATS_TEST_TMPDIR/out")
}

# near VALUE EXPECTED [PERCENT]: within so many, by default 1.
near() {
	awk -v v="$1" -v e="$2" -v p="${3-1}" 'BEGIN { exit !(v >= e * (1 - p / 100) && v <= e * (1 + p / 100)) }' || fail "$1 and not $2"
}

# value NAMES METRIC SOCKET [N]: of the N-th interval (default: the last one) in the rows of JSON.
value() {
	jq -rs --arg names "$1" --arg metric "$2" --argjson socket "$3" \
		'map(select(.names == $names and .name == $metric and .socket == $socket)) | last | .value' <<<"$output"
}

no_group_left() {
	[ -z "$(find "$RESCTRL/sys/fs/resctrl/mon_groups" -name 'uncore-*')" ] || fail 'a group is left'
}

# io ID READ WRITTEN: the sums of the process since it began.
io() {
	printf 'rchar: 0\nwchar: 0\nread_bytes: %s\nwrite_bytes: %s\ncancelled_write_bytes: 0\n' "$2" "$3" >"$RESCTRL/proc/$1/io.new"
	mv "$RESCTRL/proc/$1/io.new" "$RESCTRL/proc/$1/io"
}

# nvidia LINE...: a GPU of NVIDIA, with a stand-in for its library that does this (tests/nvml/stand-in.c).
nvidia() {
	local at=$RESCTRL/sys/devices/pci0000:00/0000:01:00.0

	mkdir -p "$at" "$RESCTRL/sys/bus/pci/devices" "$RESCTRL/proc/self/ns"
	ln -s ../../../devices/pci0000:00/0000:01:00.0 "$RESCTRL/sys/bus/pci/devices"
	echo DRIVER=nvidia >"$at/uevent"
	echo 0x10de >"$at/vendor"
	echo 0x2330 >"$at/device"
	echo 0x030200 >"$at/class"
	ln -s 'pid:[4026531836]' "$RESCTRL/proc/self/ns/pid"
	nvidia_says "$@"
	who=(env "UNCORE_NVML_SCRIPT=$BATS_TEST_TMPDIR/script" "LD_LIBRARY_PATH=$UNCORE_BUILD_ROOT/tests" "${emulated[@]}"
		--source files who --io)
}

# nvidia_says LINE...: what the stand-in does from now on.
nvidia_says() {
	printf '%s\n' 'gpus 1' "$@" >"$BATS_TEST_TMPDIR/script"
}

# gpu NAMES METRIC: value and quality of each interval.
gpu() {
	jq -rs --arg names "$1" --arg metric "$2" 'map(select(.names == $names and .name == $metric) | "\(.value) \(.quality)") | unique | join(", ")' \
		<<<"$output"
}

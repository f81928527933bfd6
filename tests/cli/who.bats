#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# `uncore who` with groups of plain files, in which tests/cli/resctrl.c does what the kernel does: each task moves bytes at a
# known rate, and the group that it is in counts them. tests/vm has the kernel's own groups.

load helpers

setup() {
	export RESCTRL=$BATS_TEST_TMPDIR/machine
	who=(env LD_PRELOAD="$UNCORE_BUILD_ROOT/tests/emulate-resctrl.so" "${UNCORE_PLAIN:-$UNCORE}" --root "$RESCTRL" who)
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

@test "bytes of each process, local and remote, by socket; what is left" {
	machine 16
	process 100 alpha / 0.5 4000000000 3000000000 0 0
	process 101 beta / 0.5 1000000000 0 500000000 500000000
	process 102 quiet / 0 20000000 20000000 0 0
	expect 0 "${who[@]}" -I 200ms -n 2
	[[ $output =~ 'alpha (100)'\ +4.0[0-9]*\ GB/s ]] || fail
}

#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# `uncore latency`: means of counters, and distributions of sampled loads out of recordings of IBS.
# That the samples are decoded right is checked against perf by tests/unit/check-ibs.py.

load helpers

# record CPU: a recording in $PWD, by that name.
record() {
	cd "$BATS_TEST_TMPDIR" || return
	python3 "$BATS_TEST_DIRNAME/ibs_file.py" "$1.data" "$1"
}

@test "mean latencies of counters, in all outputs" {
	expect 0 "$UNCORE" --source "$SIM_ZEN5" latency
	shows $'\nReads .* MEMORY .* CXL\n' $'\nmachine .*127\\.3 ns .*304\\.0 ns\n?'
	[[ ! $output =~ bandwidth ]]
	expect 0 "$UNCORE" --source "$SIM_ZEN5" latency -j -I 10 --interval-count 2
	[ "$(jq -r .time <<<"$output" | sort -u | wc -l)" = 2 ]
	expect 0 "$UNCORE" --source "$SIM_T410" latency --csv --timeout 1
	shows memory.read.latency
}

@test "latency in seconds or in clocks: the one without doubt is printed, as in mem" {
	expect 0 "$UNCORE" --source "$SIM_ZEN4" latency
	shows '400\.0 cycle !'
	! grep -q "^machine.* ns" <<<"$output" || fail "seconds"
	expect 0 "$UNCORE" --source "$SIM_ZEN4" mem
	shows '400\.0 cycle !'
	# What may be clocks is no time: from 150 on nothing says which one it is.
	expect 0 "$UNCORE" --source "$SIM_ZEN4" stat -M memory.read.latency -I 1ms --interval-count 1
	shows 'memory.read.latency +all +- +unavailable' 'it is 150 or more, which may be core clocks'
	expect 0 "$UNCORE" --source "$SIM_ZEN4" top memory -I 1ms --interval-count 1
	[[ ! $output =~ " ns " ]] || fail 'clocks as nanoseconds'
	sed "s/constant: 36e6/constant: 10e6/; s/constant: 12e6/constant: 3e6/" "$UNCORE_SOURCE_ROOT/data/sim/zen4.yaml" \
		>"$BATS_TEST_TMPDIR/ns.yaml"
	expect 0 "$UNCORE" --source "sim:$BATS_TEST_TMPDIR/ns.yaml,step=1s" latency
	shows $'\nmachine +[^\n]*108\\.3 ns'
	expect 0 "$UNCORE" --source "$SIM_T410" latency
	shows $'\nmachine +103\\.1 ns'
	[[ ! $output =~ cycle ]]
	expect 0 "$UNCORE" --source "$SIM_ZEN3" latency
	shows $'\nmachine +[0-9.]+ cycle'
	# Programs get both.
	expect 0 "$UNCORE" --source "$SIM_ZEN4" latency -j
	shows '"memory.read.latency"' '"memory.read.latency.cycles"'
}

@test "without latencies of counters: sampled loads are offered where the CPU has them" {
	grep -v 'devices/amd_l3/' "$ZEN3" >"$BATS_TEST_TMPDIR/zen3.txt"
	refuses 3 "$UNCORE" --root "$BATS_TEST_TMPDIR/zen3.txt" latency
	# shellcheck disable=SC2154 # expect sets it
	[[ ! $stderr =~ ibs ]]
	printf 'sys/bus/event_source/devices/ibs_op/type = 11\\\n' >>"$BATS_TEST_TMPDIR/zen3.txt"
	refuses 3 "$UNCORE" --root "$BATS_TEST_TMPDIR/zen3.txt" latency
	says 'nothing on this machine' 'uncore latency --ibs'
}

@test "a recording as text, CSV, JSON: goldens" {
	record genoa
	expect 0 "$UNCORE" latency --ibs --input genoa.data
	golden latency-genoa.txt <<<"$output"
	expect 0 "$UNCORE" latency --ibs --input genoa.data --csv
	golden latency-genoa.csv <<<"$output"
	record milan
	expect 0 "$UNCORE" latency --ibs --input milan.data -j
	golden latency-milan.jsonl <<<"$output"
	expect 0 "$UNCORE" latency --ibs --input milan.data --min-latency 300
	golden latency-milan-300.txt <<<"$output"
}

@test "each row has the values of the recorded ops" {
	local cpu least

	for cpu in rome milan genoa; do
		record "$cpu"
		expect 0 "$UNCORE" latency --ibs --input "$cpu.data" -j
		helper check-latency "$cpu" 0 <<<"$output"
		for least in 1 300 1000; do
			expect 0 "$UNCORE" latency --ibs --input "$cpu.data" -j --min-latency "$least"
			helper check-latency "$cpu" "$least" <<<"$output"
		done
	done
}

@test "loads by process, thread, symbol and page: those of a made recording, and as perf has them" {
	cd "$BATS_TEST_TMPDIR"
	helper check-keys "$(readlink -f "$UNCORE_BUILD_ROOT/libuncore.so")" uncore_latency_keys
}

@test "loads of Arm's SPE: those of a made recording, and as perf has them" {
	cd "$BATS_TEST_TMPDIR"
	helper check-spe
}

@test "loads of Arm's SPE while they are sampled: rings that go round, switches, what has no room, who may" {
	cd "$BATS_TEST_TMPDIR"
	UNCORE_EMULATE_SPE=$UNCORE_BUILD_ROOT/tests/emulate-spe.so helper check-spe
}

@test "doctor says why there is no SPE" {
	local root=$BATS_TEST_TMPDIR/arm event_source=sys/bus/event_source/devices

	mkdir -p "$root"/{proc,$event_source,sys/devices/system/cpu/vulnerabilities}
	printf 'processor\t: 0\nCPU implementer\t: 0x41\nCPU part\t: 0xd4f\n' >"$root/proc/cpuinfo"
	echo 0 >"$root/sys/devices/system/cpu/online"
	expect 0 "$UNCORE" --root "$root" doctor
	[[ ! $output =~ sampled ]] || fail 'nothing says that the CPU has SPE'
	mkdir -p "$root/sys/bus/platform/devices/arm,spe-v1"
	expect 0 "$UNCORE" --root "$root" doctor
	shows 'note +sampled loads' 'arm_spe_pmu is not loaded' 'fix: sudo modprobe arm_spe_pmu'
	mkdir -p "$root/sys/module/arm_spe_pmu"
	expect 0 "$UNCORE" --root "$root" doctor
	shows 'note +sampled loads' 'has not accepted the hardware'
	echo 'Mitigation: PTI' >"$root/sys/devices/system/cpu/vulnerabilities/meltdown"
	expect 0 "$UNCORE" --root "$root" doctor
	shows 'note +sampled loads' 'KPTI' 'kpti=off'
	mkdir "$root/$event_source/arm_spe_0"
	echo 9 >"$root/$event_source/arm_spe_0/type"
	expect 0 "$UNCORE" --root "$root" doctor
	shows 'ok       sampled loads: arm_spe_0 samples loads on 1 CPU: uncore latency --spe'
	[[ ! $output =~ 'without metrics' ]] || fail 'it has no events to count'
	refuses 3 "$UNCORE" --root "$root" latency
	says 'uncore latency --spe'
}

@test "doctor names the PMUs of IBS" {
	local root=$BATS_TEST_TMPDIR/amd name event_source=sys/bus/event_source/devices

	mkdir -p "$root"/{proc,sys/devices/system/cpu,$event_source/ibs_op,$event_source/ibs_fetch}
	printf 'processor\t: 0\nvendor_id\t: AuthenticAMD\ncpu family\t: 25\nmodel\t\t: 17\n' >"$root/proc/cpuinfo"
	echo 0 >"$root/sys/devices/system/cpu/online"
	for name in ibs_op ibs_fetch; do echo 10 >"$root/$event_source/$name/type"; done
	run "$UNCORE" --root "$root" doctor
	shows 'ok +sampled loads: ibs_op samples loads on 1 CPU: uncore latency --ibs; ibs_fetch samples'
	[[ ! $output =~ 'without metrics' ]] || fail 'they have no events to count'
}

@test "keys as text and CSV: goldens" {
	cd "$BATS_TEST_TMPDIR"
	PYTHONPATH=$BATS_TEST_DIRNAME python3 -B -c 'import ibs_file as f
f.perf_data("keys.data", "genoa", f.tasks("/no/such/library", 7, 0x5000)[0], f.WITH_TASKS, (f.SOFTWARE,))'
	for by in process thread symbol address; do
		expect 0 "$UNCORE" latency --ibs --input keys.data --by "$by" --top 4
		golden "latency-by-$by.txt" <<<"$output"
	done
	expect 0 "$UNCORE" latency --ibs --input keys.data --by symbol --from memory --csv
	golden latency-by-symbol.csv <<<"$output"
	expect 0 "$UNCORE" latency --ibs --input keys.data --by process -j
	helper check-schema <<<"$output"
	# Samples that do not say of which process they are.
	record genoa
	expect 0 "$UNCORE" latency --ibs --input genoa.data --by process
	shows 'loads do not say what the key is made of' 'other +- '
	expect 0 "$UNCORE" latency --ibs --input genoa.data --by process --from local --min-latency 60000 --csv
	shows 'no sampled load had such a miss'
}

@test "a machine without IBS, one that is a file, one that is simulated: 3, and why" {
	[ -d /sys/bus/event_source/devices/ibs_op ] || {
		refuses 3 "$UNCORE" latency --ibs --timeout 10
		says IBS
	}
	refuses 3 "$UNCORE" --root "$ZEN4" latency --ibs
	says 'running machine only' 'recording'
	refuses 3 "$UNCORE" --source "$SIM_ZEN4" latency --ibs
	says 'running machine only'
}

@test "files that are not recordings of IBS" {
	local file

	cd "$BATS_TEST_TMPDIR"
	record genoa
	refuses 2 "$UNCORE" latency --ibs --input missing.data
	says 'missing.data: No such file'
	: >empty.data
	mkfifo fifo.data
	for file in empty.data fifo.data; do
		refuses 1 timeout 60 "$UNCORE" latency --ibs --input "$file"
		says 'not a regular file, or empty'
	done
	refuses 1 "$UNCORE" latency --ibs --input "$ZEN4"
	says 'first bytes are not those of perf.data'
	head -c 5000 genoa.data >cut.data
	refuses 1 "$UNCORE" latency --ibs --input cut.data
	says 'truncated or empty'
	# Without raw data: the sample type stands in the first event, behind the header and its id.
	{ head -c 136 genoa.data && printf '\1\0' && tail -c +139 genoa.data; } >cooked.data
	refuses 1 "$UNCORE" latency --ibs --input cooked.data
	says 'record with --raw-samples'
	sed 's/ibs_op/ibs_xx/g' genoa.data >other.data
	refuses 1 "$UNCORE" latency --ibs --input other.data
	says 'no PMU ibs_op'
}

@test "options that do not go together" {
	refuses 2 "$UNCORE" latency --min-latency 200
	says 'need --ibs or --spe'
	for option in '--by process' '--from memory' '--top 3'; do
		# shellcheck disable=SC2086 # words
		refuses 2 "$UNCORE" latency $option
		says 'need --ibs'
	done
	refuses 2 "$UNCORE" latency --ibs --input x --by place
	says '--by place: it is one of source, process, thread, symbol, address'
	refuses 2 "$UNCORE" latency --ibs --input x --from disk
	says '--from disk: it is one of memory, local, remote, cxl, cache'
	refuses 2 "$UNCORE" latency --ibs --input x --top 3
	says '--top needs --by'
	refuses 2 "$UNCORE" latency --ibs --input x -I 100
	refuses 2 "$UNCORE" latency --ibs --min-latency 70000
	says '65535'
	for option in '--socket 0' '--node 0' '--device gpu' '--per-socket' '-M x' '--summary' '-- true'; do
		# shellcheck disable=SC2086 # words
		refuses 2 "$UNCORE" latency --ibs -I 1s $option
		says '--ibs samples the loads of all CPUs together' 'uncore latency without --ibs'
	done
	refuses 2 "$UNCORE" latency word
}

# values ARGUMENTS...: "NAME PLACE VALUE" of each row
values() {
	"$UNCORE" --source "$1" "${@:2}" -j | jq -r '"\(.name) \(.socket) \(.port) \(.value)"'
}

@test "latencies of a socket, a node and a device, as with stat" {
	local filter

	# The table has a line for each socket, too.
	for filter in '--socket 1' '--node 1' '--socket 1 --per-socket' '--socket 0,1 --no-merge'; do
		# shellcheck disable=SC2086 # words
		[ "$(values "$SIM_T410" latency $filter --timeout 10ms -M '*.latency,*.latency.cycles' | sort)" = \
			"$(values "$SIM_T410" stat -M '*.latency,*.latency.cycles' $filter --timeout 10ms | sort)" ] || fail "$filter"
	done
	[[ $(values "$SIM_T410" latency --socket 1 --timeout 10ms) == *memory.read.latency* ]]
	expect 0 "$UNCORE" --source "$SIM_T410" latency --device nvme0 --timeout 10ms
	shows $'\nDevices +IN READ\nnvme0 +[0-9]'
	[[ $output != *memory.read.latency* ]] || fail 'a latency of the whole machine'
	expect 0 "$UNCORE" --source "$SIM_T410" latency -o "$BATS_TEST_TMPDIR/x.csv" -- true
	helper check-rows csv <"$BATS_TEST_TMPDIR/x.csv"
}

@test "only one output at a time" {
	refuses 2 "$UNCORE" --source "$SIM_ZEN5" latency --csv -j
	says 'CSV and JSON exclude each other'
}

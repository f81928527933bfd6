#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# `uncore verify`: latencies beside a pointer chase, on readings of reports with and without planted faults. The chase itself is
# tested by tests/unit/test-verify-latency.c, and by verify.bats: two at once refuse each other.
# shellcheck disable=SC2030,SC2031 # $output is that of run

load helpers

# report FAULT: in $PWD/FAULT.uncore a snapshot with the readings of two sockets: a load takes 97 ns, far 142 ns, and misses
# are counted with 75 and 119 ns of that.
report() {
	python3 -S - "$SPR" "$1" >"$1.uncore" <<-'PYTHON'
		import random, sys
		machine, fault = sys.argv[1:]
		random.seed(16)
		metrics = ("cache.miss.latency", "memory.local.read.latency", "memory.remote.read.latency")
		requests, time = {"slow": (1, 2), "fast": (1, 0.4), "half": (0.5, 0.5), "none": (0, 0), "cached": (0.8, 0.8)}.get(fault, (1, 1))

		print(open(machine).read(), end="")
		print("uncore/verify:\n\tversion 1\n\tuncore 0.1.0\n\tdate 2026-12-01\n\tcache 33554432")
		cells = [(metric, socket) for metric in metrics for socket in (0, 1)]
		for metric, socket in cells:
		    print(f"\tcell {metric} intel-cha socket {socket} channel -1")
		for node in (0, 1):
		    for cpu in (0, 1):
		        load, waited = (97, 75) if cpu == node else (142, 119)
		        memory = 67108864 if fault == "small" else 167772160
		        print(f"\tseries chase node {node} socket {node} cpu {cpu} of {cpu} memory {memory} elsewhere 0",
		              *([] if fault == "old" else ["ns", f"{load}.000"]))
		        for quarters in (0, 4, 1, 2, 2, 0, 4, 1, 4, 2, 0, 1):
		            loads, seconds, readings = quarters * 262144, 0.5 + random.random() / 1000, []
		            for metric, socket in cells:
		                kind = metric.split(".")[1]
		                seen = kind == "miss" or (kind == "remote") == (cpu != node)
		                here = socket == (1 - cpu if fault == "sockets" else cpu)
		                n = loads * requests if seen and here else 0
		                ns = loads * time * waited if seen and here else 0
		                # Others, 110 ns each.
		                n, ns = n + 2e6 * seconds, ns + 2e6 * seconds * 110
		                readings.append(f"{ns:.0f}@{seconds:.9f}/{n:.0f}")
		            print(f"\tround {loads}", *readings)
	PYTHON
}

# found FAULT STATUS SENTENCE: the fault is named, and no other.
found() {
	expect "$2" "$UNCORE" verify --show "$1.uncore"
	output=$(tr -s '\n ' ' ' <<<"$output")
	shows "$3" || return 1
	expect "$2" "$UNCORE" verify --show "$1.uncore" -j
	[ "$(jq -s length <<<"$output")" = 8 ] || fail 'other results'
	[ "$(jq -r .fault <<<"$output" | sort -u | wc -l)" = 1 ] || fail 'several faults'
}

# flowing COMMAND...: a success, its output in one line.
flowing() {
	expect 0 "$@"
	output=$(tr -s '\n ' ' ' <<<"$output")
}

setup() {
	cd "$BATS_TEST_TMPDIR" || return
	# Reports are kept here, by root and by other users.
	export STATE_DIRECTORY=$PWD/system XDG_STATE_HOME=$PWD/state
}

@test "a clean report is proved: the table has both times" {
	report clean
	expect 0 "$UNCORE" verify --show clean.uncore
	shows ' 0  chase +cache.miss.latency +socket 0  5,505,024 loads +75.0 ns  ±0.0 ns  proved' \
		'    75.000? ns of the 97.000? ns that a load took, 1.00 requests each' \
		' 0  far chase +cache.miss.latency +socket 1 +5,505,024 loads +119.0 ns' \
		' 0  chase +memory.local.read.latency +socket 0 ' ' 1  far chase +memory.remote.read.latency +socket 0 ' \
		'8 proved, 0 off, 0 cannot tell' 'each byte that was moved, or the time of a request\.'
	# No lines for local reads from afar, or remote ones nearby.
	[ "$(grep -c ' chase ' <<<"$output")" = 8 ]
}

@test "planted faults are named, and the status is 1" {
	local fault

	for fault in slow fast half none sockets; do
		report $fault
	done
	found slow 1 'a request takes 150.0 ns, and a load took 97.0 ns in all: half of it is possible'
	found fast 1 'a request takes 30.0 ns, and a load took 97.0 ns in all, at least 48.5 ns of them there'
	found half 1 'half of the loads are counted: every second request, or one of two PMUs is missing'
	found none 1 'none of the loads is counted'
	found sockets 1 "socket 1's counters count the loads of CPU 0, which is of socket 0"
}

@test "no conclusion: the status is 3, and the reason is printed" {
	local fault

	for fault in cached small old; do
		report $fault
	done
	found cached 3 '80.0 % of the loads are counted: the others hit caches'
	found small 3 'four times as much memory is needed, and 64 MiB were used'
	found old 3 'does not say how long a load took'
}

@test "JSON conforms to the schema, CSV has the same values" {
	report clean
	expect 0 "$UNCORE" verify --show clean.uncore -j
	helper check-schema <<<"$output"
	[ "$(jq -rs '.[0] | [.name, .direction, .far, .requests * 1e3, .latency_ns * 10, .load_ns, .counted * 10] | map(if type == "number" then round else . end) | tojson' <<<"$output")" = \
		'["cache.miss.latency","chase",false,1000,750,97,750]' ]
	expect 0 "$UNCORE" verify --show clean.uncore --csv
	[ "$(wc -l <<<"$output")" = 9 ]
	shows ',verdict,fault,reason,.*,requests,latency_ns,load_ns'
}

@test "explain, doctor and docs/proved.md have times, not percentages" {
	report clean
	flowing "$UNCORE" --root clean.uncore explain memory.local.read.latency
	shows ' verified proved on this machine on 2026-12-01, 75 ns of the 97 ns that a load took event '
	flowing "$UNCORE" --root clean.uncore explain cache.miss.latency
	shows ' verified proved on this machine on 2026-12-01, 119 ns of the 142 ns that a load took event '
	expect 0 "$UNCORE" --root clean.uncore explain cache.miss.latency -j
	helper check-schema <<<"$output"
	[ "$(jq -c '.metrics[0].verified' <<<"$output")" = \
		'{"date":"2026-12-01","verdict":"proved","deviation":null,"reason":null,"changed":null}' ]
	expect 0 "$UNCORE" --root clean.uncore doctor
	shows 'ok +verified: on 2026-12-01: 8 proved, 0 off, 0 cannot tell'
	report slow
	flowing "$UNCORE" --root slow.uncore explain memory.local.read.latency
	shows 'verified off on this machine on 2026-12-01: a request takes 150.0 ns'
	mkdir machines
	mv clean.uncore machines/clean.txt
	python3 -S "$UNCORE_SOURCE_ROOT/tools/proved" "$UNCORE" machines >proved.md
	grep -F "| \`cache.miss.latency\` | \`intel-cha\` | intel/6/143 | 1 | 119 of 142 ns | \`clean\` |" proved.md
}

#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Whole outputs on recorded and simulated machines, to the byte. UPDATE=1 writes the goldens;
# what the simulations give is also worked out by check-sim.py from their rates.

load helpers

# golden_of NAME ARGUMENTS...
golden_of() {
	expect 0 "$UNCORE" "${@:2}"
	# A busy machine may miss an interval; simulated time does not.
	[ -z "$stderr" ] || [[ $stderr =~ interval(\ was|s\ were)\ late\ by ]] || fail 'a word on standard error'
	golden "$1" <<<"$output"
}

@test "explain memory.read.bandwidth" {
	session_of --root "$T410" explain memory.read.bandwidth
	session_of --root "$SPR" explain memory.read.bandwidth
	session_of --root "$ZEN4" explain memory.read.bandwidth
	session_of --root "$MACHINES/intel-ivt-1socket.txt" explain memory.read.bandwidth
	golden_of explain-spr.json --root "$SPR" explain --json memory.utilization
	session_of --root "$MACHINES/intel-skx-1socket.txt" explain memory.read.bandwidth
	session_of --root "$MACHINES/intel-icx-1socket.txt" explain memory.read.bandwidth
	golden explain.txt <"$SESSION"
}

@test "doctor" {
	local tree

	for tree in nvidia-t410-1socket nvidia-grace-1socket intel-spr-1socket amd-zen4-1socket; do
		run --separate-stderr "$UNCORE" --root "$MACHINES/$tree.txt" doctor
		no_sanitizer_report
		[ "$status" -eq 0 ] || [ "$status" -eq 3 ] || fail "$tree"
		output+=$'\n'"exit status $status" stderr="" add_to_session --root "$MACHINES/$tree.txt" doctor
	done
	golden doctor.txt <"$SESSION"
	for tree in nvidia-t410-1socket intel-spr-1socket; do
		run --separate-stderr "$UNCORE" --root "$MACHINES/$tree.txt" doctor --json
		no_sanitizer_report
		sorted_json <<<"$output" | golden "doctor-$tree.json"
	done
}

@test "stat --dry-run" {
	session_of --root "$T410" stat --dry-run -M 'memory.*'
	session_of --root "$SPR" stat --dry-run -M 'memory.*'
	# The inputs of a ratio are in one group.
	session_of --root "$T410" stat --dry-run -M '*.latency,*.per.cycle'
	session_of --root "$GRACE" stat --dry-run -M '*.latency,*.per.cycle'
	golden_of dry-run-spr.json --root "$SPR" stat --dry-run -j -M 'memory.*'
	session_of --root "$ZEN4" stat --dry-run -M 'amd-umc/*,cache.*,link.*'
	session_of --root "$MACHINES/intel-ivt-1socket.txt" stat --dry-run -M 'memory.*'
	golden dry-run.txt <"$SESSION"
}

@test "without -M: at most a dozen lines, bandwidth first, one group for each PMU" {
	local machine

	for machine in ivt skx icx spr zen3 zen4 zen5 t410 grace hip09 neoverse; do
		expect 0 "$UNCORE" --source "sim:$machine,step=1s" stat --timeout 1ms -j
		jq -se 'length <= 12 and (length == 1 or all(.quality == "measured")) and
			any(.name | startswith("memory."))' <<<"$output" || fail "$machine"
	done
	# What the most common controllers have four counters for. GPUs count all at once.
	for machine in "$SPR" "$MACHINES/intel-skx-1socket.txt" "$MACHINES/intel-icx-1socket.txt"; do
		expect 0 "$UNCORE" --root "$machine" stat --dry-run -j
		jq -se 'map(select(.type > 0)) | group_by(.pmu) | all([.[].config] | unique | length <= 4)' <<<"$output" ||
			fail "$machine: $(jq -s -c 'group_by(.pmu) | map([.[0].pmu, ([.[].config] | unique | length)])' <<<"$output")"
	done
}

@test "list as text" {
	golden_of list-t410.txt --root "$T410" list
	golden_of list-spr.txt --root "$SPR" list pmus
}

@test "the simulated machines: overview" {
	session_of --source "$SIM_T410"
	session_of --source "$SIM_GRACE"
	session_of --source "$SIM_SPR"
	session_of --source "$SIM_ZEN3"
	session_of --source "$SIM_ZEN4"
	session_of --source "$SIM_ZEN5"
	session_of --source sim:ivt,step=1s
	session_of --source sim:skx,step=1s
	session_of --source sim:icx,step=1s
	golden overview.txt <"$SESSION"
}

@test "the simulated machines: text" {
	local machine

	for machine in t410 spr ivt skx icx; do
		session_of --source "sim:$machine,step=1s" mem --timeout 1ms
	done
	for machine in ivt skx icx; do
		session_of --source "sim:$machine,step=1s" link --timeout 1ms
	done
	session_of --source "$SIM_SPR" mem --all --timeout 1ms
	session_of --source "$SIM_T410" pcie
	session_of --source "$SIM_SPR" pcie --ddio
	session_of --source "$SIM_T410" matrix
	session_of --source "$SIM_GRACE" matrix
	session_of --source "$SIM_T410" mem -I 10ms --interval-count 3 --summary
	golden presets.txt <"$SESSION"
}

@test "latency, cache and link on 80 columns" {
	local machine

	export COLUMNS=80
	for machine in spr icx zen4 t410 grace neoverse; do
		session_of --source "sim:$machine,step=1s" latency --timeout 1ms
		session_of --source "sim:$machine,step=1s" cache --timeout 1ms
		# No family of the CMN counts links.
		[ "$machine" = neoverse ] || session_of --source "sim:$machine,step=1s" link --timeout 1ms
	done
	golden tables.txt <"$SESSION"
}

# check-sim.py works out each row below for the other machines, and in the other forms.
@test "the simulated machines: JSON and CSV, with the values of their rates" {
	golden_of mem-t410.jsonl --source "$SIM_T410" mem --all -j -I 10ms --interval-count 5
	golden_of all-spr.jsonl --source "$SIM_SPR" stat -j -I 10ms --interval-count 3 \
		-M 'cache.*,fabric.*,link.*width,link.out.utilization,link.out.flits.per.cycle,link.clock.frequency,pcie.*'
	golden_of matrix-t410.jsonl --source "$SIM_T410" matrix -j -I 10ms --interval-count 2
	golden_of mem-t410.csv --source "$SIM_T410" mem --all --csv -I 10ms --interval-count 5
	golden_of mem-spr.csv --source "$SIM_SPR" mem --all --timeout 1ms --csv --no-merge
	golden_of pcie-each-t410.csv --source "$SIM_T410" stat -M "pcie.*" --timeout 1ms --csv --no-merge
	golden_of link-gpu-t410.csv --source "$SIM_T410" stat --gpu 1 --timeout 1ms --csv \
		-M 'nvidia-t410-nvlink-c2c/link.*.latency,nvidia-t410-nvlink-c2c/link.*.requests'
	helper check-sim t410 "$GOLDEN"/{mem-t410,matrix-t410}.jsonl "$GOLDEN"/{mem,pcie-each}-t410.csv
	helper check-sim spr "$GOLDEN/all-spr.jsonl" "$GOLDEN/mem-spr.csv"
}

# bats test_tags=slow
@test "every event and metric of each simulation has the value of its rates" {
	helper check-sim all
}

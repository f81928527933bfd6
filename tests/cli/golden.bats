#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Whole outputs on recorded and simulated machines, to the byte. UPDATE=1 writes the goldens;
# what the simulations give is also worked out by check-sim.py from their rates.

load helpers

# golden_of NAME STATUS ARGUMENTS...
golden_of() {
	local name=$1

	shift
	expect "$1" "$UNCORE" "${@:2}"
	# A busy machine may miss an interval; simulated time does not.
	[ -z "$stderr" ] || [[ $stderr =~ interval(\ was|s\ were)\ late\ by ]] || fail 'a word on standard error'
	golden "$name" <<<"$output"
}

@test "explain memory.read.bandwidth" {
	golden_of explain-t410.txt 0 --root "$T410" explain memory.read.bandwidth
	golden_of explain-spr.txt 0 --root "$SPR" explain memory.read.bandwidth
	golden_of explain-zen4.txt 0 --root "$ZEN4" explain memory.read.bandwidth
	golden_of explain-ivt.txt 0 --root "$MACHINES/intel-ivt-1socket.txt" explain memory.read.bandwidth
	golden_of explain-spr.json 0 --root "$SPR" explain --json memory.utilization
	golden_of explain-skx.txt 0 --root "$MACHINES/intel-skx-1socket.txt" explain memory.read.bandwidth
	golden_of explain-icx.txt 0 --root "$MACHINES/intel-icx-1socket.txt" explain memory.read.bandwidth
}

@test "doctor" {
	local tree

	for tree in nvidia-t410-1socket nvidia-grace-1socket intel-spr-1socket amd-zen4-1socket; do
		run --separate-stderr "$UNCORE" --root "$MACHINES/$tree.txt" doctor
		no_sanitizer_report
		[ "$status" -eq 0 ] || [ "$status" -eq 3 ] || fail "$tree"
		golden "doctor-$tree.txt" <<<"exit status $status"$'\n'"$output"
	done
	for tree in nvidia-t410-1socket intel-spr-1socket; do
		run --separate-stderr "$UNCORE" --root "$MACHINES/$tree.txt" doctor --json
		no_sanitizer_report
		sorted_json <<<"$output" | golden "doctor-$tree.json"
	done
}

@test "stat --dry-run" {
	golden_of dry-run-t410.txt 0 --root "$T410" stat --dry-run -M 'memory.*'
	golden_of dry-run-spr.txt 0 --root "$SPR" stat --dry-run -M 'memory.*'
	# The inputs of a ratio are in one group.
	golden_of dry-run-t410-ratios.txt 0 --root "$T410" stat --dry-run -M '*.latency,*.per.cycle'
	golden_of dry-run-grace-ratios.txt 0 --root "$GRACE" stat --dry-run -M '*.latency,*.per.cycle'
	golden_of dry-run-spr.json 0 --root "$SPR" stat --dry-run -j -M 'memory.*'
	golden_of dry-run-zen4.txt 0 --root "$ZEN4" stat --dry-run -M 'amd-umc/*,cache.*,link.*'
	golden_of dry-run-ivt.txt 0 --root "$MACHINES/intel-ivt-1socket.txt" stat --dry-run -M 'memory.*'
}

@test "without -M: at most a dozen lines, bandwidth first, one group for each PMU" {
	local machine

	for machine in ivt skx icx spr zen3 zen4 zen5 t410 grace hip09 neoverse; do
		expect 0 "$UNCORE" --source "sim:$machine,step=1s" stat --timeout 1 -j
		jq -se 'length <= 12 and (length == 1 or all(.quality == "measured")) and
			(.[0].name | startswith("memory."))' <<<"$output" || fail "$machine"
	done
	# What the most common controllers have four counters for.
	for machine in "$SPR" "$MACHINES/intel-skx-1socket.txt" "$MACHINES/intel-icx-1socket.txt"; do
		expect 0 "$UNCORE" --root "$machine" stat --dry-run -j
		jq -se 'group_by(.pmu) | all([.[].config] | unique | length <= 4)' <<<"$output" ||
			fail "$machine: $(jq -s -c 'group_by(.pmu) | map([.[0].pmu, ([.[].config] | unique | length)])' <<<"$output")"
	done
}

@test "list as text" {
	golden_of list-t410.txt 0 --root "$T410" list
	golden_of list-spr.txt 0 --root "$SPR" list pmus
}

@test "the simulated machines: overview" {
	golden_of overview-t410.txt 0 --source "$SIM_T410"
	golden_of overview-grace.txt 0 --source "$SIM_GRACE"
	golden_of overview-spr.txt 0 --source "$SIM_SPR"
	golden_of overview-zen3.txt 0 --source "$SIM_ZEN3"
	golden_of overview-zen4.txt 0 --source "$SIM_ZEN4"
	golden_of overview-zen5.txt 0 --source "$SIM_ZEN5"
	golden_of overview-ivt.txt 0 --source sim:ivt,step=1s
	golden_of overview-skx.txt 0 --source sim:skx,step=1s
	golden_of overview-icx.txt 0 --source sim:icx,step=1s
}

@test "the simulated machines: text" {
	local machine

	for machine in t410 spr ivt skx icx; do
		golden_of "mem-$machine.txt" 0 --source "sim:$machine,step=1s" mem --timeout 1
	done
	for machine in ivt skx icx; do
		golden_of "link-$machine.txt" 0 --source "sim:$machine,step=1s" link --timeout 1
	done
	golden_of mem-all-spr.txt 0 --source "$SIM_SPR" mem --all --timeout 1
	golden_of pcie-t410.txt 0 --source "$SIM_T410" pcie
	golden_of pcie-ddio-spr.txt 0 --source "$SIM_SPR" pcie --ddio
	golden_of matrix-t410.txt 0 --source "$SIM_T410" matrix
	golden_of matrix-grace.txt 0 --source "$SIM_GRACE" matrix
	golden_of intervals-t410.txt 0 --source "$SIM_T410" mem -I 10 --interval-count 3 --summary
}

# Of the other machines, and in the other forms, check-sim.py works out each row below.
@test "the simulated machines: JSON and CSV, and what their rates say" {
	golden_of mem-t410.jsonl 0 --source "$SIM_T410" mem --all -j -I 10 --interval-count 5
	golden_of all-spr.jsonl 0 --source "$SIM_SPR" stat -j -I 10 --interval-count 3 \
		-M 'cache.*,fabric.*,link.*width,link.out.utilization,link.out.flits.per.cycle,link.clock.frequency,pcie.*'
	golden_of matrix-t410.jsonl 0 --source "$SIM_T410" matrix -j -I 10 --interval-count 2
	golden_of mem-t410.csv 0 --source "$SIM_T410" mem --all --csv -I 10 --interval-count 5
	golden_of mem-spr.csv 0 --source "$SIM_SPR" mem --all --timeout 1 --csv --no-merge
	golden_of pcie-each-t410.csv 0 --source "$SIM_T410" stat -M "pcie.*" --timeout 1 --csv --no-merge
	golden_of link-gpu-t410.csv 0 --source "$SIM_T410" stat --gpu 1 --timeout 1 --csv \
		-M 'nvidia-t410-nvlink-c2c/link.*.latency,nvidia-t410-nvlink-c2c/link.*.requests'
	helper check-sim t410 "$GOLDEN"/{mem-t410,matrix-t410}.jsonl "$GOLDEN"/{mem,pcie-each}-t410.csv
	helper check-sim spr "$GOLDEN/all-spr.jsonl" "$GOLDEN/mem-spr.csv"
}

@test "every event and every metric of each simulation is what its rates say" {
	helper check-sim all
}

#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Interval mode: a grid that does not move, deltas that add up to the total.

load helpers

setup() {
	needs_msr
}

@test "200 intervals of 10 ms: right mean rate, no gap, no drift between deltas and total" {
	helper intervals 10 200
}

@test "intervals of 1 ms, the shortest there is" {
	helper intervals 1 100
}

@test "INTERVAL COUNT as vmstat has them: seconds, and so many intervals" {
	expect 0 "$UNCORE" stat -e msr/tsc/ -j 0.1 3
	[ "$(jq -s length <<<"$output")" -eq 3 ]
	[ "$(jq -s 'map(.time) | (.[2] > 0.28 and .[2] < 60)' <<<"$output")" = true ]
}

@test "presets take INTERVAL and COUNT, too" {
	expect 0 "$UNCORE" --source "$SIM_T410" mem -j 0.02 3
	[ "$(jq -s 'map(.time) | unique == [1, 2, 3]' <<<"$output")" = true ]
}

@test "metrics that do not fit into the counters are counted in rounds" {
	local machine count sim
	names() { # of a table's rows
		"$UNCORE" "${sim[@]}" -I "${1}0" --interval-count "$2" |
			awk '$1 ~ /^[0-9.]+$/ && $2 ~ /^[0-9.]+$/ { print $4, $5 }'
	}
	for machine in skx spr; do
		sim=(--source "sim:$machine,step=1s" stat -M '*')
		expect 0 "$UNCORE" "${sim[@]}" 1 1 --dry-run -j
		# Four counters of a PMU at most, free-running ones aside; and a ratio has its own.
		[ "$(jq -s 'map(select(.pmu | test("free_running|msr") | not)) | group_by([.pmu, .cpu, .round])
			| map(length) | max' <<<"$output")" -eq 4 ]
		count=$(jq -s 'map(.round) | max + 1' <<<"$output")
		[ "$count" -gt 2 ]
		expect 0 "$UNCORE" "${sim[@]}" 0.01 1
		[[ ${lines[0]} == SIMULATED* && ${lines[1]} == "Counting in $count rounds of 10.00 ms" ]]
		# The rows, and in a table their order, are those of one round with all.
		names 1 1 >"$BATS_TEST_TMPDIR/rounds"
		names 1 2 | head -n "$(wc -l <"$BATS_TEST_TMPDIR/rounds")" | diff - "$BATS_TEST_TMPDIR/rounds"
		expect 0 "$UNCORE" "${sim[@]}" -j 0.01 1
		[ "$(jq -s 'map([.family, .name]) | (unique | length) == length' <<<"$output")" = true ]
	done
}

# bats test_tags=slow
@test "metrics of presets fit into the counters of a PMU, in one round or few" {
	local machine preset plan code plain=${UNCORE_PLAIN:-$UNCORE} rounds most count=0
	# By the documents that the data files name, not by these; four where nothing is here. The clock of
	# CoreSight PMUs has a counter of its own.
	local has='{"amd_l3": 6, "nvidia_scf_pmu": 6, "nvidia_pcie_pmu": 6, "imx_ddr": 11,
		"hisi_pcie_core": 8, "zen4 amd_df": 16, "zen5 amd_df": 16, "dwc_rootport": 1,
		"thor nvidia_ucf_pmu": 6, "thor nvidia_uphy_pmu": 6}'
	declare -A needs=(
		[zen3-mem]=2                           # one sum over eight channels; the fabric has four counters
		[skx-pcie]=2 [icx-pcie]=2 [spr-pcie]=2 # reads and writes of four ports or more of a stack
		[t410-pcie]=6                          # devices' data, their requests, and latency of four ports, CPUs' data
		[ivt-pcie]=6                           # one filter for each cache slice: two opcodes of reads, four of writes
		[neoverse-pcie]=2                      # the PMU has one counter
		[grace-pcie]=2 [thor-pcie]=2           # bandwidths, then latency
		# Everything about caches, and each cell of the matrix.
		[grace-cache]=2 [hip08-cache]=2 [hip09-cache]=2 [icx-cache]=3 [neoverse-cache]=5 [skx-cache]=2 [spr-cache]=2
		[t410-cache]=5 [thor-cache]=3 [zen4-cache]=4 [zen5-cache]=4
		[icx-matrix]=5 [skx-matrix]=6 [spr-matrix]=5 [t410-matrix]=6 [zen4-matrix]=7 [zen5-matrix]=7)

	for machine in "$UNCORE_SOURCE_ROOT"/data/sim/*.yaml; do
		machine=${machine##*/} machine=${machine%.yaml}
		for preset in mem pcie link cache matrix; do
			code=0
			"$plain" --source "sim:$machine" "$preset" --dry-run -j >"$BATS_TEST_TMPDIR/plan" || code=$?
			[ "$code" -ne 3 ] || continue
			[ "$code" -eq 0 ] || fail "$machine $preset"
			sed "s/^{/{\"plan\":\"$machine-$preset\",/" "$BATS_TEST_TMPDIR/plan" >>"$BATS_TEST_TMPDIR/plans"
			count=$((count + 1))
			[[ $preset =~ cache|matrix ]] ||
				"$plain" --source "sim:$machine" "$preset" --all --dry-run >/dev/null || fail "$machine $preset --all"
		done
	done
	while read -r plan rounds most; do
		machine=${plan%-*} preset=${plan##*-}
		[ -z "$most" ] || fail "$plan: $most"
		[ "$rounds" -eq "${needs[$plan]:-1}" ] || fail "$plan: $rounds rounds"
		[ "$rounds" -eq 1 ] || "$plain" --source "sim:$machine,step=1s" "$preset" 0.01 1 |
			grep -q "^Counting in $rounds rounds of 10.00 ms" || fail "$plan does not say so"
		count=$((count - 1))
	done < <(jq -sr --argjson has "$has" 'group_by(.plan)[] | (.[0].plan | split("-")[0]) as $machine |
		"\(.[0].plan) \(map(.round) | max + 1) \(group_by([.pmu, .cpu, .round])
			| map({pmu: (.[0].pmu | gsub("_?[0-9]+(?=_|$)"; "")), needs: length})
			| map(select(.needs > ($has["\($machine) \(.pmu)"] // $has[.pmu] // 4)))
			| group_by(.pmu) | map("\(.[0].pmu) \(map(.needs) | max)") | join(", "))"' "$BATS_TEST_TMPDIR/plans")
	[ "$count" -eq 0 ] || fail "nothing is planned in $count views"
}

@test "multiplexed rows are noted below each table" {
	local file=$BATS_TEST_TMPDIR/scaled.yaml view

	# Counters of the caches and of the I/O stacks run for 60 % of the time.
	sed -E -e 's/^(  - \{pmu: uncore_(cha|iio),.*)\}/\1, running: 0.6}/' \
		-e 's/^  - pmu: uncore_(cha|iio)(_[0-9]+)?$/&\n    running: 0.6/' \
		"$UNCORE_SOURCE_ROOT/data/sim/spr.yaml" >"$file"
	for view in mem pcie 'pcie --ddio' matrix cache latency; do
		# shellcheck disable=SC2086 # words
		expect 0 "$UNCORE" --source "sim:$file,step=1s" $view
		shows '[0-9] [a-zA-Z/]+ ~' '~ scaled: the kernel multiplexed the counters; each was counted for at least 60 % of the time'
	done
}

@test "rounds in which nothing at all can be counted are an error" {
	printf '%s\n' 'sim: none' 'title: nothing counts' 'machine: spr' 'seed: 1' 'rates:' \
		'  - {pmu: msr, event: "tsc", constant: 1e9}' >"$BATS_TEST_TMPDIR/none.yaml"
	run "$UNCORE" --source "sim:$BATS_TEST_TMPDIR/none.yaml,step=1s" stat -M 'memory.*' 1 1
	[[ $status -eq 3 && $output =~ 'Counting in ' && $output =~ 'has no rate for' ]]
}

@test "the overview of Zen 4 and 5 needs one round: their data fabric has 16 counters" {
	local sim

	for sim in zen4 zen5; do
		expect 0 "$UNCORE" --source sim:$sim stat --dry-run -j --timeout 1
		[ "$(jq -s 'map(.round) | max' <<<"$output")" -eq 0 ] || fail "$sim"
		[ "$(jq -s 'map(select(.pmu == "amd_df")) | length' <<<"$output")" -gt 4 ] || fail "$sim"
	done
}

@test "no rounds where the time is not fixed, or intervals follow each other" {
	local sim=(--source "sim:spr,step=1s" stat -M '*' -j --dry-run) options
	for options in "" "1" "1 2" "-I 100 --timeout 1s" "1 1 --summary" "-- true"; do
		# shellcheck disable=SC2086
		expect 0 "$UNCORE" "${sim[@]}" $options
		[ "$(jq -s 'map(.round) | max' <<<"$output")" -eq 0 ]
	done
}

@test "-I takes milliseconds, or a unit" {
	expect 0 "$UNCORE" stat -e msr/tsc/ -j -I 20 --interval-count 2
	[ "$(jq -s 'map(.interval) | add | . > 0.03 and . < 15' <<<"$output")" = true ]
	expect 0 "$UNCORE" stat -e msr/tsc/ -j -I 0.02s --interval-count 2
	[ "$(jq -s 'map(.interval) | add | . > 0.03 and . < 15' <<<"$output")" = true ]
}

@test "--timeout at the end of an interval begins no further interval" {
	on_the_grid() {
		expect 0 "$UNCORE" stat -e msr/tsc/ -j -I 50 --timeout 200 &&
			jq -se 'length <= 4 and (map(.interval) | min > 0.03) and (last.time | . > 0.19 and . < 0.5)' \
				<<<"$output"
	}
	eventually on_the_grid
}

@test "--timeout alone: one window as long as it says" {
	expect 0 "$UNCORE" stat -e msr/tsc/ -j --timeout 150
	[ "$(jq -s length <<<"$output")" -eq 1 ]
	[ "$(jq '.interval | . > 0.149 and . < 60' <<<"$output")" = true ]
}

@test "text: titles once, a line for each interval, the total last" {
	expect 0 "$UNCORE" stat -e msr/tsc/ -I 20 --interval-count 3 --summary
	[ "$(grep -c VALUE <<<"$output")" -eq 1 ]
	# A reason may follow.
	[ "$(grep -cE '^ *([0-9.]+|total) .* msr/tsc/ +all' <<<"$output")" -eq 4 ]
	[[ $(grep -E ' msr/tsc/ +all' <<<"$output" | tail -n 1) =~ ^\ *total ]]
}

@test "a reader that stops for a while loses no counts: they are in the next rows" {
	"$UNCORE" stat -e msr/tsc/ -j -I 2ms --timeout 3s --summary 2>"$BATS_TEST_TMPDIR/err" |
		{ read -r && echo "$REPLY" && sleep 1.5 && cat; } >"$BATS_TEST_TMPDIR/rows"
	expect 0 cat "$BATS_TEST_TMPDIR/err"
	shows 'late by more than half an interval, and [1-9][0-9]* intervals? w'
	# The counts and times of the total, though it ran on all the time; and all ticks are there.
	jq -es 'map(select(.total | not)) as $rows | .[-1] as $total | $total.total
		and ($rows | map(.count) | add) == $total.count
		and ($rows | map(.enabled_ns) | add) == $total.enabled_ns
		and ($total.enabled_ns / $total.instances / 1e9 / $total.time | . > 0.95 and . < 1.05)
		and ($rows | map(.interval) | add / $total.time | . > 0.999999 and . < 1.000001)
		and ($rows | map(.missed) | add) == $total.missed and $total.missed > 100
		and ($rows | map(select(.missed > 100 and .interval < .missed * 0.001)) | length) == 0
		and ($rows | length) + $total.missed >= 1499' "$BATS_TEST_TMPDIR/rows"
	missed=$(jq -s '.[-1].missed' "$BATS_TEST_TMPDIR/rows")
	shows "and $missed interval"
}

@test "suspend and a step of the wall clock are reported, and do not change intervals" {
	local step plain=${UNCORE_PLAIN:-$UNCORE}

	for step in suspend set; do
		STEP_CLOCK=$step LD_PRELOAD=$UNCORE_BUILD_ROOT/tests/delay-read.so DELAY_READ_PER_CENT=0 \
			"$plain" stat -e msr/tsc/ -j -I 20ms --interval-count 20 --summary \
			>"$BATS_TEST_TMPDIR/$step" 2>"$BATS_TEST_TMPDIR/err"
		expect 0 cat "$BATS_TEST_TMPDIR/err"
		[ "$step" = set ] || shows 'was suspended for 100\.0 s, in which nothing was counted'
		[ "$step" = suspend ] || shows 'wall clock was set by -(3600|3599)\.[0-9]+ s: dates follow it'
		[ "$(grep -c 'suspended\|wall clock' "$BATS_TEST_TMPDIR/err")" -eq 1 ]
		jq -es --argjson step "$([ "$step" = set ] && echo -3600 || echo 100)" '.[-1] as $total
			| map(select(.total | not)) | (map(.interval) | max < 90)
			and (map(.interval) | add / $total.time | . > 0.999999 and . < 1.000001)
			and ((.[-1].wall_ns - .[0].wall_ns - (.[-1].monotonic_ns - .[0].monotonic_ns)) / 1e9 - $step
				| fabs < 30)' "$BATS_TEST_TMPDIR/$step"
	done
}

@test "nothing is allocated after the start, by readers least of all" {
	local events plain=${UNCORE_PLAIN:-$UNCORE} options first more

	[ -n "${UNCORE_FAIL_ALLOC-}" ] || skip 'UNCORE_FAIL_ALLOC names no library'
	# Pinned counters are groups of their own: enough for a thread on each CPU.
	events='msr/tsc/D,msr/tsc,config1=1/D,msr/tsc,config1=2/D,msr/tsc,config1=3/D'
	allocations() { # SECONDS OPTION...
		FAIL_ALLOC=0 LD_PRELOAD=$UNCORE_FAIL_ALLOC "$plain" stat -e "$events" --timeout "$1" "${@:2}" \
			2>&1 >/dev/null | sed -n 's/^allocations: //p'
	}
	for options in '--sample 1ms' '-I 2ms --csv' '-I 10ms --sample 1ms --csv'; do
		# A machine that stops for a while lets counters be opened again: then once more.
		for _ in 1 2 3; do
			# shellcheck disable=SC2086 # several words
			first=$(allocations 100ms $options)
			# shellcheck disable=SC2086
			more=$(allocations 500ms $options)
			[ "$first" -ne "$more" ] || break
		done
		echo "$options: $first $more" && [ "$first" -gt 0 ] && [ "$first" -eq "$more" ]
	done
}

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

@test "-I takes milliseconds, or a unit" {
	expect 0 "$UNCORE" stat -e msr/tsc/ -j -I 20 --interval-count 2
	[ "$(jq -s 'map(.interval) | add | . > 0.03 and . < 15' <<<"$output")" = true ]
	expect 0 "$UNCORE" stat -e msr/tsc/ -j -I 0.02s --interval-count 2
	[ "$(jq -s 'map(.interval) | add | . > 0.03 and . < 15' <<<"$output")" = true ]
}

@test "--timeout ends intervals on the grid: no sliver of another one" {
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

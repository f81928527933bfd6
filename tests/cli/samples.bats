#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# --sample: what short samples show and the mean of an interval hides.

load helpers

setup() {
	BURST=$BATS_TEST_TMPDIR/burst.yaml
	# 3 ms of ten times as much, every 100 ms; 64 bytes on each of 6 controllers.
	cat >"$BURST" <<-END
		sim: burst
		machine: skx
		rates:
		  - {pmu: uncore_imc, event: cas_count_read, burst: {low: 20e6, high: 200e6, period: 100ms, duty: 0.03}, phase: 0}
		  - {pmu: uncore_imc, event: cas_count_write, constant: 20e6}
		  - {pmu: uncore_imc, event: clockticks, constant: 1.2e9}
	END
	SIM=(--source "sim:$BURST,step=1ms")
	PEAK=(--memory-peak 100GB/s)
}

# Rows of one interval of at least 100 samples of 1 ms: each reading is 1 ms later than the one before.
sampled() {
	expect 0 "$UNCORE" "${SIM[@]}" "${PEAK[@]}" stat -I 1s --interval-count 1 --sample 1ms -j "$@"
	check "all(.samples >= 100)"
}

check() {
	[ "$(jq -s "$1" <<<"$output")" = true ] || fail "not $1: $output"
}

@test "a burst of 3 ms every 100 ms is in p99, max and the longest burst, and not in the mean" {
	local low=7.68e9 high=76.8e9 # 20e6 and 200e6 x 64 bytes x 6
	sampled -M memory.read.bandwidth --above 50
	check "all(.p50 > $low * 0.98 and .p50 < $low * 1.02)"
	check "all(.p90 > $low * 0.98 and .p90 < $low * 1.02)"
	check "all(.p99 > $high * 0.98 and .p99 < $high * 1.02 and .max > $high * 0.999 and .max < $high * 1.001)"
	check "all(.value < $low * 1.5 and .threshold == 50e9)"
	check "all(.burst > 0.00299 and .burst < 0.00301)"
	check "all(.burst_time > -0.0001 and .burst_time < 0.0001 or .burst_time > 0.0999)"
	# The time above it: 3 of 100 samples, give or take the last period.
	check "all(.above / .interval > 0.029 and .above / .interval < 0.031 + 0.003 / .interval)"
	check "all(.longest_sample == 0.001 and .samples_missing == 0 and .samples_suspect == 0)"
}

@test "short samples change no value: the mean over them is the value of the interval" {
	sampled -M memory.read.bandwidth,memory.write.bandwidth,memory.bandwidth --per-channel
	[ "$(wc -l <<<"$output")" -gt 6 ]
	check "all((.mean - .value | fabs) < .value * 1e-9)"
	check "all((.samples / 1000 - .interval | fabs) < 1e-9)"
}

@test "the summary has the distribution of all intervals" {
	expect 0 "$UNCORE" "${SIM[@]}" "${PEAK[@]}" stat -M memory.read.bandwidth \
		-I 200ms --interval-count 3 --sample 1ms --above 50 --summary -j
	[ "$(wc -l <<<"$output")" -eq 4 ]
	check '(.[:3] | map(.samples) | add) == .[3].samples'
	check '(.[:3] | map(.above) | add) - .[3].above | fabs < 1e-9'
	check '(.[:3] | map(.max) | max) == .[3].max and (.[:3] | map(.min) | min) == .[3].min'
	check '(.[:3] | map(.burst) | max) == .[3].burst'
	check '(.[3].mean - .[3].value | fabs) < .[3].value * 1e-9'
}

@test "JSON of the whole time has the histogram: all samples, the percentiles, and a burst as a second mode" {
	# By the histogram alone: the middle of the bin in which a share of the time ends, and within min and max.
	local percentile='def percentile(share): (.bins | map(.[2]) | add) as $all | . as $row |
		reduce .bins[] as [$i, $n, $s] ([0, null]; if .[0] < share * $all * 0.9999999 and share * $all <= (.[0] + $s) * 1.0000001
		then [.[0] + $s, pow(2; ($i - 0.5) / 32)] else [.[0] + $s, .[1]] end) | [[.[1], $row.min] | max, $row.max] | min;'

	# At least 100 samples, however slow the machine is.
	local whole=(-I 10ms --interval-count 100 --sample 1ms --summary -j)
	expect 0 "$UNCORE" "${SIM[@]}" stat -M memory.read.bandwidth,memory.bandwidth "${whole[@]}"
	output=$(jq -c 'select(.total)' <<<"$output")
	check 'all(.samples >= 100)'
	check 'all((.bins | map(.[1]) | add) == .samples)'
	check 'all((.bins | map(.[2]) | add) - .interval | fabs < 1e-6)'
	check "$percentile all([.p50, percentile(0.5)] | (.[0] - .[1] | fabs) < .[0] * 1e-9)"
	check "$percentile all([.p90, percentile(0.9)] | (.[0] - .[1] | fabs) < .[0] * 1e-9)"
	check "$percentile all([.p99, percentile(0.99)] | (.[0] - .[1] | fabs) < .[0] * 1e-9)"
	# A tenth of the height, 3.3 octaves below it.
	check 'map(select(.name == "memory.read.bandwidth"))[0] | (.bins | length) == 2 and
		(.bins[1][0] - .bins[0][0] - 32 * (10 | log2) | fabs) <= 1 and
		.bins[1][2] / .interval > 0.029 and .bins[1][2] / .interval < 0.031 + 0.003 / .interval'
	# The total has it, and no interval.
	expect 0 "$UNCORE" "${SIM[@]}" stat -M memory.read.bandwidth,memory.local.read.bandwidth -I 20ms --interval-count 6 \
		--sample 1ms --summary -j
	check 'map(has("bins")) == map(.total) and (map(.bins // empty | map(.[1] // 0) | add // 0) == map(select(.total).samples))'
	check 'map(select(.total) | .bins)[1] == []'
	helper check-schema <<<"$output"
	# The bins of an event that counts a multiple of bytes are of its rate in bytes; 0 is a bin without an index.
	sed -i 's/cas_count_write, constant: 20e6/cas_count_write, burst: {low: 0, high: 16e6, period: 100ms, duty: 0.5}, phase: 0/' "$BURST"
	expect 0 "$UNCORE" "${SIM[@]}" stat -e uncore_imc/cas_count_write/ "${whole[@]}"
	output=$(jq -c 'select(.total)' <<<"$output")
	check '.[0] | .bins[0][0] == null and (.bins | length) == 2 and pow(2; .bins[1][0] / 32) >= .max * 0.999 and
		pow(2; (.bins[1][0] - 1) / 32) < .max'
}

@test "text: a line for each row with percentiles and bursts" {
	expect 0 "$UNCORE" "${SIM[@]}" "${PEAK[@]}" stat -M memory.read.bandwidth -I 500ms \
		--interval-count 1 --sample 1ms --above 50
	[[ $output =~ ' TIME  NAME  '.*'MEAN   P50   P90   P99    MAX  UNIT  BURSTS' ]]
	[[ $output =~ 'all    '[0-9.]+'  7.68  7.68  76.8  76.80  GB/s'.*' % above 50.00 GB/s, longest 3.000 ms at ' ]]
	# Without a ceiling there are no bursts; a ratio has one.
	expect 0 "$UNCORE" "${SIM[@]}" stat -M memory.read.bandwidth,memory.utilization -I 500ms \
		--interval-count 1 --sample 1ms
	[[ $output =~ 'memory.read.bandwidth  '.*'GB/s'[[:space:]]+'0' && $output =~ %' '+'none above 80.00 %' ]]
}

@test "CSV has the columns, and only with --sample; all of it is what the schema says" {
	expect 0 "$UNCORE" "${SIM[@]}" stat -M memory.bandwidth -I 100ms --interval-count 1 --sample 1ms --csv
	[[ ${lines[0]} == *',host,missed,device,names,level,samples,samples_suspect,samples_missing,longest_sample,mean,min,p50,p90,p99,max,threshold,above,burst,burst_time' ]]
	python3 -c 'import csv, sys; sys.exit(len({len(row) for row in csv.reader(sys.stdin)}) != 1)' <<<"$output"
	expect 0 "$UNCORE" "${SIM[@]}" stat -M memory.bandwidth -I 100ms --interval-count 1 --csv
	[[ ${lines[0]} == *,host,missed,device,names,level ]]
	sampled -M memory.read.bandwidth,memory.bandwidth
	helper check-schema <<<"$output"
}

@test "real counters: the time stamp counter is as fast in each sample as in the interval" {
	needs_msr
	expect 0 "$UNCORE" stat -e msr/tsc/ -A --timeout 500ms --sample 1ms -j
	# A sample of a machine that was stopped is longer, and weighs more.
	check 'all(.samples >= 1 and (.mean - .rate | fabs) < .rate * 0.01)'
	check 'all(.max >= .p99 and .p99 >= .p90 and .p90 >= .p50 and .p50 >= .min)'
}

@test "short samples that were not counted are missing, not 0" {
	expect 0 "$UNCORE" "${SIM[@]}" stat -M memory.read.bandwidth,memory.local.read.bandwidth -I 100ms \
		--interval-count 1 --sample 1ms -j
	check 'map(select(.name == "memory.local.read.bandwidth")) | length == 1 and
		all(.samples == 0 and .samples_missing > 0 and .mean == null and .p50 == null and .max == null)'
}

@test "metrics that are counted in rounds: each burst began within the run" {
	expect 0 "$UNCORE" --source sim:spr stat -M 'memory.*' --sample 10ms --above 1 --timeout 200ms
	[[ $output =~ 'longest '[0-9] ]]
	[[ ! $output =~ ' at -' ]]
}

@test "text: percentiles of three digits; top without a screen" {
	sed -i 's/low: 20e6/low: 403e6/; s/high: 200e6/high: 403e6/' "$BURST" # 154.75 GB/s
	expect 0 "$UNCORE" "${SIM[@]}" top -M memory.read.bandwidth 100ms 1 --sample 1ms
	# Rounded to three digits they would be above the largest value.
	[[ $output =~ 154.8' '+154.8' '+154.8' '+154.8' '+154.8' '+GB/s ]]
	# 107.14 GB/s, and a share of 0.0017 %, whose number has an exponent.
	sed -i 's/403e6/279e6/g' "$BURST"
	expect 0 "$UNCORE" "${SIM[@]}" stat -M memory.read.bandwidth --timeout 20ms --sample 1ms
	[[ $output =~ 107.1' '+107' '+107' '+107' '+107.1' '+GB/s ]]
	sed -i 's/279e6/5e3/g; s/constant: 20e6/constant: 0/' "$BURST"
	expect 0 "$UNCORE" "${SIM[@]}" stat -M memory.utilization --timeout 20ms --sample 1ms --units=raw
	[[ $output =~ 1\.[0-9]+e-05' '+1\.[0-9]+e-05' '+1\.[0-9]+e-05' '+1\.[0-9]+e-05' '+1\.[0-9]+e-05 ]]
}

@test "errors" {
	local args words
	for args in '--sample 0' '--sample 10us' '--sample x' '--above 50' '--sample 1ms --above 0' \
		'--sample 1ms --above 101' '-I 10ms --sample 3ms' '-I 10ms --sample 1ms --csv=wide' '-I 1ms --sample 10ms'; do
		read -ra words <<<"$args"
		run "$UNCORE" --source sim:skx stat -M memory.bandwidth "${words[@]}"
		[ "$status" -eq 2 ] || fail "$args: $status $output"
	done
	run "$UNCORE" --source sim:skx stat -r 2 --sample 1ms -M memory.bandwidth -- true
	[[ $status -eq 2 && $output =~ 'exclude each other' ]]
}

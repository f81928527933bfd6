#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# The worked example of PCIe and DMA monitors, through the command: every number in it.
# shellcheck disable=SC2154 # set by run

load helpers

setup() {
	MAP=$BATS_TEST_TMPDIR/map
	AT0="125000000 25000000 100000000 8000000000 1000000 600000 200000 20000 5000"
	AT1="215000000 55000000 105000000 20000000000 1180000 690000 220000 24000 6000"
	cat >"$BATS_TEST_TMPDIR/set" <<-'SET'
		#!/usr/bin/env python3
		import struct, sys
		with open(sys.argv[1], "r+b") as f:
		    f.write(struct.pack("<9Q", *map(int, sys.argv[2].split())))
	SET
	chmod +x "$BATS_TEST_TMPDIR/set"
	truncate -s 72 "$MAP"
	set_counters "$AT0"
}

set_counters() {
	"$BATS_TEST_TMPDIR/set" "$MAP" "$1"
}

explained() {
	"$UNCORE" --source "regs:generic-pmon,at=$MAP" explain -j "$1" | jq -r '.metrics[].formula'
}

@test "the metrics, as text" {
	expect 0 "$UNCORE" --source "regs:generic-pmon,at=$MAP" stat -- \
		"$BATS_TEST_TMPDIR/set" "$MAP" "$AT1"
	shows 'pcie.dma.cycles +all +125,000,000 +cycle +measured' \
		'pcie.dma.bytes_per_cycle +all +96.00 +B/cycle' \
		'pcie.dma.bandwidth +all +96.00 +GB/s' \
		'pcie.dma.utilization +all +72.00 +%' \
		'pcie.dma.backpressure +all +24.00 +%' \
		'pcie.dma.latency.packets +all +295,000 +packet' \
		'pcie.dma.latency.cycles +all +17.30 +cycle' \
		'pcie.dma.latency +all +17.30 +ns' \
		'pcie.dma.latency.p50 +all +0 to 15.00 +cycle' \
		'pcie.dma.latency.p90 +all +16.00 to 31.00 +cycle' \
		'pcie.dma.latency.p90.time +all +16.00 to 31.00 +ns' \
		'pcie.dma.latency.p99 +all +64.00 to 127.0 +cycle' \
		'pcie.dma.latency.p99.9 +all +≥ 128.0 +cycle' \
		'pcie.dma.latency.bin.0_to_15 +all +180,000 +packet +measured +61.0 % of 295,000 packet' \
		'pcie.dma.latency.bin.128_up +all +1,000.0 +packet +measured +0.3 % of 295,000 packet'
}

@test "the same as JSON and CSV" {
	expect 0 "$UNCORE" --source "regs:generic-pmon,at=$MAP" stat -j -- \
		"$BATS_TEST_TMPDIR/set" "$MAP" "$AT1"
	[ "$(jq -sc 'map({key: .name, value: ([.value, .low, .high] | map(if . then round else . end))}) | from_entries |
		[."pcie.dma.bandwidth", ."pcie.dma.latency.p50", ."pcie.dma.latency.p99.9"]' \
		<<<"$output")" = '[[96000000000,null,null],[15,0,15],[128,128,null]]' ]
	set_counters "$AT0"
	expect 0 "$UNCORE" --source "regs:generic-pmon,at=$MAP" stat --csv \
		-M pcie.dma.latency.p90 -- "$BATS_TEST_TMPDIR/set" "$MAP" "$AT1"
	shows 'pcie.dma.latency.p90,generic-pmon,,,,31,cycle,,measured,1,1,,,,,,,,,16,31'
}

@test "percentiles of several runs are bounds, not means" {
	local again="215000001 55000000 105000000 20000000000 1180000 690000 220000 25000 6000"

	# p50 is in the bins 0 to 15 and 64 to 127, p99.9 in the open one and 64 to 127.
	# shellcheck disable=SC2016 # of the command
	expect 0 "$UNCORE" --source "regs:generic-pmon,at=$MAP" stat -r 2 -- sh -c '
		[ -e "$1/ran" ] && exec "$1/set" "$2" "$4"
		: >"$1/ran"
		exec "$1/set" "$2" "$3"' sh "$BATS_TEST_TMPDIR" "$MAP" "$AT1" "$again"
	shows 'pcie.dma.latency.p50 +all +0 to 127.0 +cycle +measured' \
		'pcie.dma.latency.p99.9 +all +≥ 64.00 +cycle +measured' \
		'pcie.dma.latency.cycles +all +56.65 +cycle +± '
}

@test "a block that was reset is suspect, and has no value" {
	sed 's/width: 64/width: 48/' "$UNCORE_SOURCE_ROOT/data/blocks/generic-pmon.yaml" \
		>"$BATS_TEST_TMPDIR/narrow.yaml"
	expect 0 "$UNCORE" --source "regs:$BATS_TEST_TMPDIR/narrow.yaml,at=$MAP" stat \
		-M pcie.dma.bandwidth,pcie.dma.cycles -- "$BATS_TEST_TMPDIR/set" "$MAP" \
		"215000000 55000000 105000000 100 0 0 0 0 0"
	shows 'pcie.dma.bandwidth +all +- +suspect' 'pcie.dma.cycles +all +125,000,000 ' \
		'byte_cnt/ on CPU 0 fell between two readings: the count, from 8000000000 to 100'
	[[ $output != *'suspect 0 %'* ]] || fail 'a share of no value'
}

@test "each bin is an event" {
	expect 0 "$UNCORE" --source "regs:generic-pmon,at=$MAP" stat \
		-e 'generic_pmon/hist_bin_0/,generic_pmon_0/hist_bin_4/,generic_pmon/byte_cnt/' -- \
		"$BATS_TEST_TMPDIR/set" "$MAP" "$AT1"
	shows 'generic_pmon/hist_bin_0/ +all +180,000 ' 'hist_bin_4/ +all +1,000 ' \
		'generic_pmon/byte_cnt/ +all +12.00 +GB'
}

@test "the block's events and metrics are listed and explained" {
	expect 0 "$UNCORE" --source "regs:generic-pmon,at=$MAP" list metrics
	shows pcie.dma.bandwidth
	expect 0 "$UNCORE" --source "regs:generic-pmon,at=$MAP" explain pcie.dma.bandwidth
	[[ ! $output =~ 'perf stat' ]] || fail 'perf does not know these PMUs'
	shows 'byte_cnt / \(active_cnt \+ busy_cnt \+ idle_cnt\) \* 1000000000'
	expect 0 "$UNCORE" --source "regs:generic-pmon,at=$MAP" explain -j pcie.dma.bandwidth
	[ "$(jq -c '[.metrics[].perf]' <<<"$output")" = '[null]' ]
	expect 0 "$UNCORE" --source "regs:generic-pmon,at=$MAP" explain pcie.dma.latency.p99.time
	shows 'bins? as in latency.p99' '/ 1000000000'
	# A percentile and a bin are no sums: what they are of the bins, with their bounds.
	[ "$(explained pcie.dma.latency.p99.9)" = "the bin of percentile 99.9 among hist_bin_0 (0 to 15 cycles), $(
		)hist_bin_1 (16 to 31 cycles), hist_bin_2 (32 to 63 cycles), hist_bin_3 (64 to 127 cycles), $(
		)hist_bin_4 (128 cycles or more)" ]
	[[ $(explained pcie.dma.latency.p50.time) = *'(128 cycles or more); its bounds / 1000000000' ]]
	[ "$(explained pcie.dma.latency.bin.16_to_31)" = "hist_bin_1 (16 to 31 cycles); its share is hist_bin_1 / $(
		)(hist_bin_0 + hist_bin_1 + hist_bin_2 + hist_bin_3 + hist_bin_4)" ]
	expect 0 "$UNCORE" --source "regs:generic-pmon,at=$MAP"
	shows 'PMUs +generic-pmon'
	[[ ! $output =~ 'on the host' ]] || fail 'the block is what is here'
	expect 0 "$UNCORE" --source "regs:generic-pmon,at=$MAP" doctor
	[[ ! $output =~ 'on the host' ]] || fail 'the block is what is here'
	expect 0 "$UNCORE" --source "regs:generic-pmon,at=$MAP" pcie -- \
		"$BATS_TEST_TMPDIR/set" "$MAP" "$AT1"
	shows 'PORT +DMA +DMA UTILIZATION +DMA LATENCY' \
		'generic_pmon_0 +96.00 GB/s( !)? +72.00 % +17.30 ns'
}

@test "a rate over cycles that are not those of the interval is suspect" {
	# shellcheck disable=SC2016 # of the command
	expect 0 "$UNCORE" --source "regs:generic-pmon,at=$MAP" stat -M pcie.dma.bandwidth -- \
		sh -c 'sleep 1; exec "$1/set" "$2" "$3"' sh "$BATS_TEST_TMPDIR" "$MAP" "$AT1"
	shows 'pcie.dma.bandwidth +all +96.00 +GB/s +suspect' \
		'its clock counted the cycles of 125 ms in [0-9]{4,} ms'
}

@test "a latency with another frequency than that of the clock is suspect" {
	# shellcheck disable=SC2016 # of the command
	expect 0 "$UNCORE" --source "regs:generic-pmon,at=$MAP" stat \
		-M 'pcie.dma.latency,pcie.dma.latency.p*' -- \
		sh -c 'sleep 1; exec "$1/set" "$2" "$3"' sh "$BATS_TEST_TMPDIR" "$MAP" "$AT1"
	shows 'pcie.dma.latency +all +17.30 +ns +suspect' \
		'pcie.dma.latency.p50.time +all +0 to 15.00 +ns +suspect' \
		'pcie.dma.latency.p99.9.time +all +≥ 128.0 +ns +suspect' \
		'pcie.dma.latency.p99.9 +all +≥ 128.0 +cycle +measured'
}

@test "intervals follow each other" {
	expect 0 "$UNCORE" --source "regs:generic-pmon,at=$MAP" stat -I 20ms --interval-count 5 \
		-j -M pcie.dma.cycles
	[ "$(jq -sc '[.[] | .value] | [length, add]' <<<"$output")" = '[5,0]' ]
}

@test "a delayed reader: no drift, and late and missed ticks are counted" {
	helper grid "$BATS_TEST_TMPDIR/demo" 100 16
}

@test "errors name their place, and a device that does not match is not read" {
	sed 's/width: 64/width: 65/' "$UNCORE_SOURCE_ROOT/data/blocks/generic-pmon.yaml" \
		>"$BATS_TEST_TMPDIR/wrong.yaml"
	refuses 1 "$UNCORE" --source "regs:$BATS_TEST_TMPDIR/wrong.yaml" list
	says 'wrong.yaml:[0-9]+:[0-9]+: .*64'
	truncate -s 64 "$MAP"
	refuses 3 "$UNCORE" --source "regs:generic-pmon,at=$MAP" stat 1 1
	says '64 bytes from there, and the block needs 72'
	mkdir "$BATS_TEST_TMPDIR/a@b"
	truncate -s 72 "$BATS_TEST_TMPDIR/a@b/map"
	refuses 2 "$UNCORE" --source "regs:generic-pmon,at=$BATS_TEST_TMPDIR/a@b/map" list
	says "'b/map' is not a valid offset" 'with an @ of its own write @0'
	expect 0 "$UNCORE" --source "regs:generic-pmon,at=$BATS_TEST_TMPDIR/a@b/map@0" list metrics
	refuses 2 "$UNCORE" --source regs:generic stat 1 1
	says 'built in: '
}

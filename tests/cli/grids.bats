#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# The tables of mem, link, latency and cache: a line for each place, columns by data/names/views.yaml, the numbers of the
# rows that programs get.

load helpers

TIME=(--timeout 1) # a step of the simulation

# table TABLE COMMAND...: the text, 80 columns wide at most, and the rows of the same interval agree.
table() {
	local table=$1 widest

	expect 0 env COLUMNS=80 "$UNCORE" "${@:2}" "${TIME[@]}"
	printf '%s\n' "$output" >"$BATS_TEST_TMPDIR/text"
	widest=$(wc -L <"$BATS_TEST_TMPDIR/text")
	[ "$widest" -le 80 ] || fail "$* is $widest columns wide" || return
	[[ ! $output =~ (^|$'\n')NAME ]] || [ "$table" = memory ] || fail "$*: a metric has no column" || return
	expect 0 "$UNCORE" "${@:2}" "${TIME[@]}" -j
	helper check-schema <<<"$output"
	printf '%s\n' "$output" >"$BATS_TEST_TMPDIR/rows"
	helper check-grid "$table" "$BATS_TEST_TMPDIR/text" "$BATS_TEST_TMPDIR/rows"
}

# tables TABLE VIEW MACHINE...
tables() {
	local sim

	for sim in "${@:3}"; do
		table "$1" --source "sim:$sim,step=1s" "$2" || [ "$2 $sim" = 'latency hip08' ] || fail "$sim"
	done
}

@test "latency, cache and link are tables of 80 columns, with the numbers of -j" {
	tables latency latency spr zen5 t410 hip08
	tables cache cache spr zen5 t410 hip08
	tables links link spr zen5 t410
	tables memory mem spr zen5 t410
}

# bats test_tags=slow
@test "they are on the other machines, too" {
	tables latency latency icx skx zen4 grace neoverse thor hip09
	tables cache cache icx skx zen4 grace neoverse thor hip09
	tables links link icx zen4 grace
	tables memory mem icx zen4 grace
}

@test "the tables hold with sockets, filters, time stamps and commands" {
	local option

	for option in --per-socket '--socket 1' '--timestamp'; do
		# shellcheck disable=SC2086 # words
		{
			table memory --source "$SIM_T410" mem $option
			table links --source "$SIM_T410" link $option
			table cache --source "$SIM_T410" cache $option
			table latency --source "$SIM_T410" latency $option
		}
	done
	# Both intervals have their titles where there are several tables.
	expect 0 "$UNCORE" --source "$SIM_T410" cache --timestamp 0.01 2
	[ "$(grep -c '^Snoops ' <<<"$output")" = 2 ] || fail 'titles'
	shows $'\n1970-01-01T00:00:02\\.000Z\nLast-level cache '
	expect 0 "$UNCORE" --source "$SIM_T410" link -- true
	shows $'\nReads on links +IN +OUT +IN ALL\n'
	expect 0 "$UNCORE" --source "$SIM_T410" mem -- true
	shows $'\nmachine .* 779\\.8 GB/s .* 779\\.8 GB'
	expect 0 "$UNCORE" --source "$SIM_T410" mem --socket 1 --timeout 1
	shows $'\nsum '
	expect 0 "$UNCORE" --source "$SIM_T410" latency -- true
	shows "of 'true'" $'\nReads +MEMORY '
}

@test "records have the rows of the table, and their level" {
	local form

	expect 0 "$UNCORE" --source "$SIM_SPR" mem -j --timeout 1
	[ "$(jq -rs 'map(select(.name == "memory.bandwidth") | .level) | group_by(.) | map("\(.[0]) \(length)") | join(", ")' <<<"$output")" = \
		'channel 8, machine 1, socket 1' ] || fail 'mem -j'
	# Each level has all of the traffic.
	[ "$(jq -s 'map(select(.name == "memory.bandwidth")) | group_by(.level) | map(map(.value) | add) | unique | length' <<<"$output")" = 1 ] || fail 'sums'
	expect 0 "$UNCORE" --source "$SIM_SPR" mem --csv --timeout 1
	helper check-rows csv <<<"$output"
	[ "$(grep -c '^.*,memory\.bandwidth,.*,channel$' <<<"$output")" = 8 ] || fail 'mem --csv'
	expect 0 "$UNCORE" --source "$SIM_SPR" mem --csv=wide 0.01 1
	[[ $output == *'memory.bandwidth (B/s)'*'memory.bandwidth socket 0 channel 7 (B/s)'* ]] || fail 'mem --csv=wide'
	for form in link:pmu latency:socket cache:socket; do
		expect 0 "$UNCORE" --source "$SIM_T410" "${form%:*}" -j --timeout 1
		[[ $(jq -r .level <<<"$output" | sort -u | paste -sd ' ') == machine*"${form#*:}"* ]] || fail "$form"
	done
	expect 0 "$UNCORE" --source "$SIM_SPR" mem --html --timeout 1
	[[ $output == *'socket 0, channel 7</td>'* ]] || fail 'mem --html'
	# What is asked for keeps its level.
	for form in 'stat -M memory.bandwidth' 'stat -M memory.bandwidth --per-socket' 'mem -M memory.bandwidth'; do
		# shellcheck disable=SC2086 # words
		expect 0 "$UNCORE" --source "$SIM_SPR" $form -j 0.01 1
		[ "$(jq -r .level <<<"$output" | sort -u | wc -l)" = 1 ] || fail "$form"
	done
}

@test "a recording shows the table of its interval" {
	[[ $("$UNCORE" --help) == *' record '* ]] || skip 'built without record'
	cd "$BATS_TEST_TMPDIR" || return
	expect 0 "$UNCORE" --source "$SIM_SPR" record -o one -I 1s --interval-count 1
	TIME=()
	table memory report one mem
	table links report one link
}

@test "marks of cells, and what they mean" {
	sed -E -e 's/^(  - \{pmu: uncore_(cha|upi),.*)\}/\1, running: 0.6}/' \
		-e 's/^  - pmu: uncore_(cha|upi)(_[0-9]+)?$/&\n    running: 0.6/' \
		"$UNCORE_SOURCE_ROOT/data/sim/spr.yaml" >"$BATS_TEST_TMPDIR/scaled.yaml"
	for command in cache latency link; do
		table "${command/link/links}" --source "sim:$BATS_TEST_TMPDIR/scaled.yaml,step=1s" $command
		expect 0 "$UNCORE" --source "sim:$BATS_TEST_TMPDIR/scaled.yaml,step=1s" $command --timeout 1
		shows '[0-9] [a-zA-Z/]+ ~' '~ scaled: the kernel multiplexed'
	done
	expect 0 "$UNCORE" --source "$SIM_SPR" latency --timeout 1
	shows '16\.74 ns !' '! dram.read.queue.pch0.latency is suspect' 'PERSISTENT.* -'
}

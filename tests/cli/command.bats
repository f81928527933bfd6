#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# `stat -- command`: its status, its signals, its files; -r, -D, --timeout.

load helpers

stat_sim() {
	"$UNCORE" --source sim:t410 stat -e nvidia_ucf_pmu_0/mem_bytes_rd/ "$@"
}

# Standard output holds the rows, too: the command under it writes to a file.
note=
setup() {
	note=$BATS_TEST_TMPDIR/note
}

@test "the exit status is that of the command" {
	expect 0 stat_sim -j -- true
	helper check-rows json N=1 <<<"$output"
	expect 1 stat_sim -j -- false
	helper check-rows json N=1 <<<"$output"
	expect 42 stat_sim -j -- sh -c 'exit 42'
	helper check-rows json N=1 <<<"$output"
}

@test "the exit status is that of the command with the kernel's counters, too" {
	needs_msr
	expect 1 "$UNCORE" stat -e msr/tsc/ -- false
	shows msr/tsc/
}

@test "a command killed by a signal: 128 and its number" {
	expect 137 stat_sim -j -- sh -c 'kill -9 $$'
	helper check-rows json N=1 <<<"$output"
	expect 143 stat_sim -j -- sh -c 'kill -TERM $$'
}

@test "a command that does not exist: 127 and an error" {
	refuses 127 stat_sim -j -- /nonexistent
	says /nonexistent 'No such file'
	refuses 127 stat_sim -j -- no-such-command-anywhere
}

@test "a command that cannot be executed: 126 and an error" {
	refuses 126 stat_sim -j -- "$BATS_TEST_DIRNAME/helpers.bash"
	says helpers.bash
	refuses 126 stat_sim -j -- /tmp
}

@test "-- may be left out, as with perf; the command keeps its options" {
	expect 0 stat_sim -j sh -c 'echo "$1" >"$2"' _ -e "$note"
	[ "$(cat "$note")" = -e ]
	expect 0 stat_sim -j -- sh -c 'echo "$#" >"$1"' _ "$note" --help
	[ "$(cat "$note")" = 2 ]
}

@test "the command gets standard input, environment and arguments" {
	expect 0 with_input stat_sim -j -- sh -c 'cat >"$0"; echo "$VARIABLE" >>"$0"' "$note"
	[ "$(cat "$note")" = $'input\nhere' ]
}

with_input() {
	echo input | VARIABLE=here "$@"
}

@test "the command inherits no descriptors, and its signals are unchanged" {
	needs_msr
	expect 0 "$UNCORE" stat -e msr/tsc/ -j -- sh -c 'ls /proc/$$/fd >"$0"' "$note"
	# bats keeps descriptors open itself: what we were given is what may be there.
	[ "$(cat "$note")" = "$(sh -c 'ls /proc/$$/fd >"$0"; cat "$0"' "$BATS_TEST_TMPDIR/mine")" ] ||
		fail "$(cat "$note")"
	expect 0 "$UNCORE" stat -e msr/tsc/ -j -- sh -c 'grep ^Sig.*: /proc/self/status >"$0"' "$note"
	[ "$(grep -v SigQ "$note")" = "$(grep '^Sig[^Q].*:' /proc/self/status)" ] ||
		fail "$(cat "$note")" "$(grep '^Sig.*:' /proc/self/status)"
}

@test "neither uncore nor the command is bound to a CPU" {
	needs_msr
	expect 0 "$UNCORE" stat -e msr/tsc/ -j -- sh -c 'nproc >"$0"' "$note"
	[ "$(cat "$note")" = "$(nproc)" ]
}

@test "-r runs the command so often; text has mean and spread, JSON every run" {
	expect 0 stat_sim -r 3 -- sh -c 'echo run >>"$0"' "$note"
	[ "$(wc -l <"$note")" -eq 3 ]
	shows 'Mean of 3 runs' '±'
	expect 0 stat_sim -r 3 -j -- true
	helper check-rows json N=3 <<<"$output"
	expect 0 stat_sim -r 3 --csv -- true
	helper check-rows csv N=3 <<<"$output"
}

@test "-r: what was counted in all is the mean of all runs, as the value is" {
	local seconds rate amount

	# The first run is short, the second one is long.
	expect 0 "$UNCORE" --units raw --source sim:spr stat -r 2 -M memory.bandwidth -- \
		sh -c 'echo run >>"$0"; [ "$(wc -l <"$0")" -eq 1 ] || exec sleep 1.5' "$note"
	seconds=$(sed -n 's/^Mean of 2 runs, \([0-9.]*\) s each.*/\1/p' <<<"$output")
	read -r rate amount < <(awk '$1 == "memory.bandwidth" { print $3, $(NF - 1) }' <<<"$output")
	awk -v s="$seconds" -v r="$rate" -v a="$amount" 'BEGIN { exit !(s > 0.7 && a > 0.9 * r * s && a < 1.1 * r * s) }' || fail "$output"
}

@test "-r: the exit status is the first one that is not 0, after all runs" {
	expect 3 stat_sim -r 3 -j -- sh -c 'echo run >>"$0"; [ "$(wc -l <"$0")" -ne 2 ] || exit 3' "$note"
	[ "$(wc -l <"$note")" -eq 3 ]
}

@test "-D begins while the command runs" {
	local begin

	needs_msr
	begin=${EPOCHREALTIME/./}
	# The command runs until something was counted.
	expect 0 "$UNCORE" stat -e msr/tsc/ -j -D 200 -I 100 -o "$BATS_TEST_TMPDIR/rows" -- \
		sh -c 'until [ -s "$0" ]; do sleep 0.02; done' "$BATS_TEST_TMPDIR/rows"
	jq -se --argjson us $((${EPOCHREALTIME/./} - begin)) 'map(.interval) | add > 0 and add < $us / 1e6 - 0.2' \
		"$BATS_TEST_TMPDIR/rows" || fail 'the delay was counted, too'
}

@test "a command that ends before the delay: an error says that nothing was counted" {
	expect 0 stat_sim -j -D 5000 -- true
	[ -z "$output" ]
	says 'nothing was counted'
}

@test "--timeout ends the command and counts until then" {
	expect 143 timeout 100 "$UNCORE" --source sim:t410 stat -j --timeout 100 \
		-e nvidia_ucf_pmu_0/mem_bytes_rd/ -- sleep 200
	[ "$(jq '.interval | . > 0.09 and . < 100' <<<"$output")" = true ] || fail 'the window'
}

@test "intervals while a command runs: the last one ends with it" {
	needs_msr
	ends_with_it() {
		expect 0 "$UNCORE" stat -e msr/tsc/ -j -I 100 -- sleep 0.35 &&
			jq -se 'length >= 4 and last.interval < 0.099' <<<"$output"
	}
	eventually ends_with_it
}

@test "--interval-count ends counting, not the command" {
	expect 0 stat_sim -j -I 10 --interval-count 2 -- sh -c 'sleep 0.2; echo end >"$0"' "$note"
	helper check-rows json N=2 <<<"$output"
	[ "$(cat "$note")" = end ]
}

@test "the text says what was counted, and for how long" {
	expect 0 stat_sim -- sh -c 'exit 0'
	shows 'Counted for' "'sh -c exit 0'"
}

@test "--per-socket and --no-merge: places, and counts with the same sum" {
	local merged

	expect 0 "$UNCORE" --source "$SIM_SPR" stat -j -e 'uncore_imc/event=0x5,umask=0xcf/' --timeout 1
	merged=$(jq .count <<<"$output")
	helper check-rows json N=1 simulated <<<"$output"
	[ "$(jq -c '[.socket,.pmu,.cpu,.instances]' <<<"$output")" = '[null,null,null,8]' ]
	expect 0 "$UNCORE" --source "$SIM_SPR" stat -j -e 'uncore_imc/event=0x5,umask=0xcf/' \
		--timeout 1 --per-socket
	helper check-rows json N=1 simulated <<<"$output"
	[ "$(jq -c '[.socket,.pmu,.cpu,.count]' <<<"$output")" = "[0,null,null,$merged]" ]
	expect 0 "$UNCORE" --source "$SIM_SPR" stat -j -e 'uncore_imc/event=0x5,umask=0xcf/' \
		--timeout 1 --no-merge
	helper check-rows json N=8 simulated <<<"$output"
	[ "$(jq -s -c 'map(.pmu) | unique | length' <<<"$output")" -eq 8 ]
	[ "$(jq -s 'map(.count) | add' <<<"$output")" -eq "$merged" ]
	[ "$(jq -s 'map(.instances) | unique == [1]' <<<"$output")" = true ]
}

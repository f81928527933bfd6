#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# shellcheck disable=SC2154 # set by run
# --when CONDITION --exec COMMAND.

load helpers

READ=memory.read.bandwidth

setup() {
	cd "$BATS_TEST_TMPDIR" || return 1
	# 7.68 GB/s for 50 ms, then 76.8 GB/s for 50 ms.
	cat >burst.yaml <<-END
		sim: burst
		machine: skx
		rates:
		  - {pmu: uncore_imc, event: cas_count_read, burst: {low: 20e6, high: 200e6, period: 100ms, duty: 0.5}, phase: 0.5}
		  - {pmu: uncore_imc, event: cas_count_write, constant: 20e6}
		  - {pmu: uncore_imc, event: clockticks, constant: 1.2e9}
	END
}

teardown() {
	[ -z "${server-}" ] || kill "$server" 2>/dev/null || :
}

burst() {
	"$UNCORE" --source sim:burst.yaml,step=10ms "$@"
}

@test "a command runs once each time when the condition becomes true" {
	# shellcheck disable=SC2016 # of the command
	expect 0 burst stat -M $READ -I 30ms --interval-count 40 -j --when "$READ > 20e9" \
		--exec 'echo "$UNCORE_METRIC|$UNCORE_PLACE|$UNCORE_VALUE|$UNCORE_UNIT|$UNCORE_QUALITY|$UNCORE_DATE|$UNCORE_CONDITION"; echo twice >&2; exit 3'
	# The output of uncore is not touched.
	[ "$(jq -s length <<<"$output")" -eq 40 ]
	[ "$(grep -c 'the command is started' <<<"$stderr")" -eq 4 ] || fail 'runs'
	says "--exec 1: $READ\\|all\\|76800000000\\|B/s\\|measured\\|1970-01-01T00:00:00.060Z\\|$READ > 20e9" \
		'--exec 1: twice' '--exec 1: the command ended with status 3' '00:00:00.160Z' '--exec 4: the command ended with status 3'
	expect 0 burst stat -M $READ -I 10ms --interval-count 20 --when "$READ > 1e15" --exec 'touch ran'
	[ ! -e ran ] || fail 'a false condition'
	# It must hold for some time.
	expect 0 burst stat -M $READ -I 30ms --interval-count 10 -j --when "$READ > 20e9 for 40ms" --exec 'true'
	[ "$(grep -c 'the command is started' <<<"$stderr")" -eq 1 ] || fail 'runs'
}

@test "a slow command does not delay an interval, and is not started a second time" {
	local begin=$EPOCHSECONDS

	expect 0 burst stat -M $READ -I 10ms --interval-count 40 -j --when "$READ > 20e9" \
		--exec "echo begin; sleep 2; echo end; kill \$\$"
	[ "$(jq -s length <<<"$output")" -eq 40 ]
	[ "$(grep -c 'the command is started' <<<"$stderr")" -eq 1 ] || fail 'runs'
	says 'is true again while the command still runs' '--exec 1: begin' '--exec 1: end' 'the command was ended by signal 15'
	[ "$EPOCHSECONDS" -gt "$begin" ] || fail 'its end was not waited for'
	# Much output is cut, and the command does not wait for ever.
	expect 0 burst stat -M $READ -I 10ms --interval-count 40 -j --when "$READ > 20e9" --exec 'yes | head -c 300000'
	says 'further bytes of its output are left out' 'the command ended with status 0'
}

@test "record and serve run a command, too" {
	if "$UNCORE" --help | grep -q '^ *record '; then
		expect 0 burst record -o a -M $READ -I 10ms --interval-count 20 --when "$READ > 20e9" --exec 'echo recorded'
		says '--exec 1: recorded' 'recorded 20 intervals'
		refuses 2 "$UNCORE" report a stat --when "$READ > 1" --exec true
		says '--exec cannot be used with a recording'
		expect 0 burst record -o b -M $READ -I 10ms --interval-count 20 --flight 50ms --when "$READ > 20e9" --exec 'echo both'
		says '--exec 1: both' 'b: written \('
	fi
	"$UNCORE" --help | grep -q '^ *serve ' || return 0
	serve --source sim:burst.yaml,step=10ms serve --listen 127.0.0.1:0 -M $READ -I 20ms --when "$READ > 20e9" --exec 'echo served'
	for _ in {1..100}; do
		! grep -q -- '--exec 1: the command ended with status 0' errors || break
		sleep 0.1
	done
	grep -q -- '--exec 1: served' errors
	stop TERM
}

@test "usage of --when and --exec" {
	refuses 2 burst stat -M $READ -I 10ms --interval-count 1 --exec true
	says '--exec needs a condition: --when'
	refuses 2 burst stat -M $READ -I 10ms --interval-count 1 --when "$READ > 1"
	says '--when needs a command: --exec'
	refuses 2 burst stat -M $READ -I 10ms --interval-count 1 --when 'very hot' --exec true
	says "--when: 'very hot' is not METRIC > VALUE"
	expect 2 burst stat -M $READ -I 10ms --interval-count 1 --when 'memory.other > 1' --exec true
	says "no row of 'memory.other' is counted"
	refuses 2 burst top --interval-count 1 --when "$READ > 1" --exec true
	says 'top cannot run --exec'
}

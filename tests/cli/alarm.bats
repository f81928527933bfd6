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
	refuses 2 burst stat -M $READ -I 10ms --interval-count 1 --when 'memory.other > 1' --exec true
	says "--when: no metric of the catalogue is named 'memory.other'"
	refuses 2 burst top --interval-count 1 --when "$READ > 1" --exec true
	says 'top cannot run --exec'
}

# refused SENTENCE CONDITION ARGUMENTS...: before anything is counted.
refused() {
	refuses 2 "$UNCORE" --source "$SIM_T410" stat -M $READ,memory.read.latency -I 10ms -n 1 --exec 'touch ran' --when "${@:2}" || return 1
	[ "$(wc -l <<<"$stderr")" -eq 1 ] || fail 'one line'
	[[ $stderr == *"$1"* ]] || fail "$1"
	[ ! -e ran ]
}

@test "a condition that cannot be met is refused before counting, with one that can" {
	refused "no row of 'memory.read.latency' has a ceiling, which % needs: write a value, 'memory.read.latency > 40ns'" 'memory.read.latency > 80%'
	[[ $stderr != *--memory-peak* ]] || fail 'what has nothing to do with it'
	refused "'$READ' has values in B/s, and '80' is not a likely one: write '$READ > 80GB/s'" "$READ > 80"
	refused "write '$READ < 80GB/s'" "$READ < 80ns"
	refused "write 'memory.read.latency > 100ns'" 'memory.read.latency > 100'
	refused "'cache.hit.ratio' is not among what is counted: add -M cache.hit.ratio" 'cache.hit.ratio < 50%'
	refused "for: '5' has no unit: write for 5s" "$READ > 80GB/s for 5"
	# What they name works.
	expect 0 "$UNCORE" --source "$SIM_SPR" --memory-peak 307.2GB/s stat -M memory.bandwidth -I 10ms -n 1 --when 'memory.bandwidth > 30%' --exec 'echo yes'
	says '--exec 1: yes'
	expect 0 "$UNCORE" --source "$SIM_T410" stat -M $READ,cache.hit.ratio -I 10ms -n 1 --when 'cache.hit.ratio < 101%' --exec 'echo yes'
	says '--exec 1: yes'
	# A metric that is the share itself
	refuses 2 "$UNCORE" --source "$SIM_SPR" mem -n 1 --when 'memory.bandwidth > 30%' --exec true
	says "write 'memory.utilization > 30%' or a value, 'memory.bandwidth > 40GB/s'; --memory-peak 307.2GB/s sets the ceiling of memory for each socket: there is no SMBIOS table"
	expect 0 "$UNCORE" --source "$SIM_SPR" mem -I 10ms -n 1 --when 'memory.utilization > 30%' --exec 'echo yes'
	says '--exec 1: yes'
	refuses 2 "$UNCORE" --source "$SIM_SPR" mem -n 1 --when 'memory.utilization > 80' --exec true
	says "write 'memory.utilization > 80%'"
	refuses 3 "$UNCORE" --source "$SIM_T410" mem -n 1 --when 'memory.utilization > 80%' --exec true
	says '--when: memory.utilization: nothing on this machine can count it'
	"$UNCORE" --help | grep -q '^ *record ' || return 0
	refuses 2 "$UNCORE" --source "$SIM_T410" record f.db --flight 1s -n 2 --when 'memory.bandwidth > 80%'
	says "no row of 'memory.bandwidth' has a ceiling"
	[ ! -e f.db ]
}

@test "a limit has a unit" {
	local condition

	# 76.8 GB/s in the second half of 100 ms
	for condition in "$READ > 70GB/s" "$READ > 70 GB/s" "$READ > 70e9" "$READ > 70000MB/s" "$READ > 65GiB/s" "$READ > 70GB/s for 10ms"; do
		expect 0 burst stat -M $READ -I 10ms --interval-count 10 --when "$condition" --exec 'echo yes'
		says '--exec 1: yes'
	done
	for condition in "$READ > 77GB/s" "$READ > 72GiB/s"; do
		expect 0 burst stat -M $READ -I 10ms --interval-count 10 --when "$condition" --exec 'echo yes'
		[[ $stderr != *--exec* ]] || fail "$condition"
	done
}

#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# shellcheck disable=SC2030,SC2031 # each test is a process of its own
# Recordings of counts that no register can have: halves of a register that were read while it carried, as
# linux arch/x86/events/intel/uncore_snbep.c reads them, snbep_uncore_pci_read_counter().

load helpers

HALF=0x100000000             # 2^32
REST=0xffff00000000          # 2^48 - 2^32
WHOLE=0x1000000000000        # 2^48
TICK=0.1

setup() {
	"$UNCORE" --help | grep -q '^ *record ' || skip 'built without SQLite'
	cd "$BATS_TEST_TMPDIR" || return 1
	"$UNCORE" --source "sim:skx,step=${TICK}s" record -o right.uncore -I "${TICK}s" --interval-count 8 \
		-M memory.read.bandwidth,memory.clock.frequency 2>errors
	cp right.uncore torn.uncore
}

tear() {
	python3 "$UNCORE_SOURCE_ROOT/tests/cli/tear.py" torn.uncore "$@"
}

# values FILE [OPTION...]: the values of all intervals and of the total, without words.
values() {
	"$UNCORE" --source "replay:$1" stat -M memory.read.bandwidth "${@:2}" -j | jq -c '[.time, .value]'
	"$UNCORE" --source "replay:$1" stat -e uncore_imc/cas_count_read/ "${@:2}" -j | jq -c '[.time, .count]'
}

# words FILE: the qualities of the intervals of the metric.
words() {
	"$UNCORE" --source "replay:$1" stat -M memory.read.bandwidth -I "${TICK}s" -j |
		jq -r 'select(.time) | .quality' | xargs
}

same() {
	diff <(values right.uncore "$@") <(values torn.uncore "$@")
}

@test "a torn pair over two intervals: each interval is right, and the second is suspect" {
	[ "$(tear "uncore_imc_0,0,3,$HALF" "uncore_imc_0,0,4,$REST")" = 4 ]
	same -I "${TICK}s"
	same
	words torn.uncore
	[ "$(words torn.uncore)" = "measured measured measured suspect measured measured measured measured" ]
	"$UNCORE" --source replay:torn.uncore stat -M memory.read.bandwidth >text
	tr -s ' \n' ' ' <text | grep -F 'the driver read the two halves of its register while it carried; the count was 1 x 2^48 too high, which is corrected'
}

@test "a torn pair within an interval, and pairs of all counters" {
	tear "uncore_imc_0,0,3,$WHOLE" "*,*,5,$HALF" "*,*,6,$REST"
	same -I "${TICK}s"
	same
	[ "$(words torn.uncore)" = "measured measured suspect measured measured suspect measured measured" ]
}

@test "the first and the last reading are torn" {
	tear "uncore_imc_1,0,0,$HALF" "uncore_imc_1,0,1,$REST" "uncore_imc_2,0,7,$HALF" "uncore_imc_2,0,8,$REST"
	same -I "${TICK}s"
	same
}


@test "2^48 - 2^32 in a single interval is not taken for a count" {
	tear "uncore_imc_0,0,4,$REST"
	"$UNCORE" --source replay:torn.uncore stat -M memory.read.bandwidth -I "${TICK}s" -j >rows
	jq -es 'map(select(.time and .quality != "measured")) | length == 1 and .[0].quality == "suspect"' rows
	jq -es 'map(select(.time)) | (map(.value) | max) < 2 * (map(.value) | min)' rows
}

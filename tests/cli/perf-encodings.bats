#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# perf is the judge: for the same event it opens the same type and the same configuration words.

load helpers

# A PMU that has what no machine here has: whole words, ranges between the bits of others, overlaps,
# placeholders, whole words in events, an event with the name of a term. (The term goes before the
# event; perf 6.12 wants a value for one of more than one bit.)
make_odd() {
	local odd=$1/sys/bus/event_source/devices/odd

	mkdir -p "$odd/format" "$odd/events"
	echo 90 >"$odd/type"
	echo 0 >"$odd/cpumask"
	echo config:0-3,12-15,63 >"$odd/format/split"
	echo config:40,32-35,38 >"$odd/format/unordered"
	echo config:8-13 >"$odd/format/overlap"
	echo config:62 >"$odd/format/bit"
	echo config1:0-63 >"$odd/format/whole"
	echo config2:0-63 >"$odd/format/word"
	echo config2:63 >"$odd/format/top"
	echo split=0x1f1,bit >"$odd/events/halves"
	echo overlap=0x3f,split=0xff >"$odd/events/overlapping"
	echo overlap=0x2a >"$odd/events/bit"
	echo config=0x5,config2=0x8000000000000000 >"$odd/events/words"
	echo whole=0xffffffffffffffff >"$odd/events/ones"
	echo 'overlap=0x3,unordered=?,top=?' >"$odd/events/asking"
}

# Copies of the machines, whose types no kernel has: perf opens nothing here, whoever runs it.
setup_file() {
	local copies=$BATS_FILE_TMPDIR/machines file

	mkdir "$copies"
	for file in "$MACHINES"/*.txt; do
		unpack "$file" "$copies/$(basename "$file" .txt)"
	done
	unpack "$T410" "$copies/made-up"
	make_odd "$copies/made-up"
	sed -i 's/^/10000/' "$copies"/*/sys/bus/event_source/devices/*/type
	# perf asks the kernel nothing about CPUs that this machine does not have.
	for file in "$copies"/*/sys/bus/event_source/devices/*/cpumask; do
		echo 0 >"$file"
	done
	# Random events break rules, as they may: perf learns of it from the kernel.
	export NO_RULES=$BATS_FILE_TMPDIR/no-rules
	mkdir "$NO_RULES"
	grep -lZ '^rules:' "$UNCORE_SOURCE_ROOT"/data/*.yaml | xargs -0 cp -t "$NO_RULES"
	sed -i '/^rules:/,/^$/d' "$NO_RULES"/*.yaml
}

setup() {
	local code=0 words

	command -v perf >/dev/null || skip 'there is no perf here'
	words=$(helper perf-encodings able "$BATS_FILE_TMPDIR/machines") || code=$?
	[ "$code" -ne 77 ] || skip "$words"
	[ "$code" -eq 0 ]
}

# agrees COMMAND LEAST: for at least so many events.
agrees() {
	local total

	expect 0 helper perf-encodings "$1" "$BATS_FILE_TMPDIR/machines"
	shows 'intel-spr-1socket: [1-9]' 'nvidia-t410-1socket: [1-9]' 'made-up: [1-9]'
	total=$(sed -n 's/^total: \([0-9]*\) events$/\1/p' <<<"$output")
	[ "$total" -ge "$2" ] || fail 'too few events: this test tests nothing'
}

@test "every event that the kernels of all machines name" {
	agrees aliases 500
}

@test "every named event with terms that it leaves open" {
	agrees more 150
}

# bats test_tags=slow
@test "random lists of terms, for the formats of every PMU" {
	agrees random 9000
}

# notices COMMAND PMU FORMAT BITS: perf alone is given a tree in which the format has other bits.
notices() {
	local copies=$BATS_FILE_TMPDIR/machines broken=$BATS_TEST_TMPDIR/$2-$3 name

	name=$(basename "$SPR" .txt)
	mkdir "$broken"
	cp -r "$copies/$name" "$broken"
	echo "$4" >"$broken/$name/sys/bus/event_source/devices/$2/format/$3"
	expect 1 helper perf-encodings "$1" "$copies" "$broken"
	says "events are encoded differently:[[:space:]]+$name: $2/"
}

@test "a format with one wrong bit is noticed" {
	notices aliases uncore_imc_3 event config:0-1,3-8
	notices more uncore_imc_3 edge config:20
	notices random uncore_cha_0 umask config:8-14,16,32-63
}

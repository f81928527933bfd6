#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# `uncore verify` of the peak of memory: made reports. How CPUs read at once is tested by tests/unit/test-verify-ceiling.c, and by
# verify.bats: two at once refuse each other.
# shellcheck disable=SC2030,SC2031 # $output is that of run

load helpers

setup() {
	cd "$BATS_TEST_TMPDIR" || return
	export STATE_DIRECTORY=$PWD/system XDG_STATE_HOME=$PWD/state
}

# report PART COUNTED FROM: in peak.uncore the best round of socket 1 is PART of its peak of 307.2 GB/s, and of that controllers
# count COUNTED.
report() {
	python3 -S - "$SPR" "$@" >peak.uncore <<-'PYTHON'
		import sys
		machine, part, counted, source = sys.argv[1:]
		print(open(machine).read(), end="")
		print("uncore/verify:\n\tversion 1\n\tuncore 0.1.0\n\tdate 2026-12-01\n\tcache 117440512\n\tcaches 241172480")
		for socket in (0, 1):
		    print(f"\tcell memory.read.bandwidth intel-imc socket {socket} channel -1")
		print(f"\tcell memory.peak {source} socket 0 channel -1\n\tcell memory.peak {source} socket 1 channel -1")
		print("\tseries read-all node 1 socket 1 cpu 111 of 1 memory 964689920 elsewhere 0 cpus 112")
		for slower in (0.97, 1, 0.99):
		    moved = float(part) * slower * 30.72e9
		    print(f"\tround {moved:.0f} 5e6@0.1 {moved * float(counted):.0f}@0.1 - 30720000000@0.1")
	PYTHON
}

# judged STATUS SENTENCE: of peak.uncore.
judged() {
	expect "$1" "$UNCORE" verify --show peak.uncore
	output=$(tr -s '\n ' ' ' <<<"$output")
	shows "$2"
}

@test "the best stream is compared with the peak" {
	report 0.8 1.001 SMBIOS
	judged 0 ' 1 read-all memory.peak socket 1 72.74 GB 0.8000 - proved consistent: 80 % of the peak of 307.2 GB/s; memory.read counts 100.1 % of it'
	shows '1 proved, 0 off, 0 cannot tell' 'For the peak: the best stream divided by the peak.'
	report 0.4 1 SMBIOS
	judged 3 'the usable CPUs \(112\) reach only 40 % of the peak of 307.2 GB/s'
	report 1.2 1 SMBIOS
	judged 1 'off the best stream moves 368.6 GB/s, more than the peak of 307.2 GB/s: the peak is too low \(modules or channels are missing in the table of the firmware'
	report 1.2 1 user
	judged 1 'the peak is too low \(--memory-peak is wrong\)'
	report 1.2 0.8 SMBIOS
	judged 3 'memory.read counts 80 % of the loaded data'
	# Four times the last-level cache, and not twice all of them.
	report 1.2 1 SMBIOS
	sed -i 's/^\tcaches .*/\tcaches 500000000/' peak.uncore
	judged 3 'caches of 477 MiB may hold a part of the 920 MiB'
	sed -i '/^\tcaches /d' peak.uncore
	judged 1 'the peak is too low'
}

@test "JSON has both bandwidths, and the source of the peak" {
	report 0.8 1 hsmp
	expect 0 "$UNCORE" verify --show peak.uncore -j
	helper check-schema <<<"$output"
	[ "$(jq -c '[.name, .direction, .socket, (.counted * 1000 | round), (.value / 1e8 | round), .known, .unit, .basis, .error, .rounds]' <<<"$output")" = \
		'["memory.peak","read-all",1,800,2458,307200000000,"B/s","hsmp",null,3]' ]
}

@test "doctor reports that the peak is too low, until the peak changes" {
	report 1.2 1 user
	expect 0 "$UNCORE" --root peak.uncore --memory-peak 307.2GB/s doctor
	output=$(tr -s '\n ' ' ' <<<"$output")
	shows 'memory.peak \(user\): off: the best stream moves 368.6 GB/s'
	expect 0 "$UNCORE" --root peak.uncore --memory-peak 400GB/s doctor
	[[ $output != *memory.peak* ]]
}
